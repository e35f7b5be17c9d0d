/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maxUnavailable and maxSurge: a number of groups, or a share of them. A share becomes a number as in every workload of
 * Kubernetes: rounded down where it says how many may be missing, up where it says how many may be added.
 */
#ifndef TRUCE_GROUP_BUDGET_H
#define TRUCE_GROUP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct group_budget {
        bool percent;
        int32_t number; /* groups, or percent of the replicas; not negative */
};

/* Groups of `replicas`, rounded down (maxUnavailable); 0 to replicas. */
int32_t group_budget_down(struct group_budget b, int32_t replicas);

/* The same rounded up (maxSurge); 0 to replicas, as upstream caps it. */
int32_t group_budget_up(struct group_budget b, int32_t replicas);

#endif
