/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of the replicas, in 64 bits on the way. */
#include "group/budget.h"

static int32_t at_most(int64_t groups, int32_t replicas) {
        return groups < replicas ? (int32_t)groups : replicas;
}

int32_t group_budget_down(struct group_budget b, int32_t replicas) {
        int64_t n = b.number;

        return at_most(b.percent ? n * replicas / 100 : n, replicas);
}

int32_t group_budget_up(struct group_budget b, int32_t replicas) {
        int64_t n = b.number;

        return at_most(b.percent ? (n * replicas + 99) / 100 : n, replicas);
}
