/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How `truce groups` shows a LeaderWorkerSet: a line of sums, then a line a group; or the same as a value.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_CLI_GROUPS_VIEW_H
#define TRUCE_CLI_GROUPS_VIEW_H

#include "group/plan.h"

/* Everything is borrowed. */
struct groups_view {
        const struct group_spec *spec;
        const struct group_plan *plan;
        const struct value *status; /* live; NULL: none */
        bool ours;                  /* it is one that truce runs */
        struct str foreign;         /* who else runs it; empty: nobody */
        struct str scaler;          /* "HPA ml/llama"; empty: none */
};

/* The line above all tables. `width` is of the first column: groups_view_width() of the longest. */
void groups_view_head(size_t width, struct buf *out);
size_t groups_view_width(const struct groups_view *v);
void groups_view_table(const struct groups_view *v, size_t width, bool color, struct buf *out);
const struct value *groups_view_value(const struct groups_view *v, struct arena *a);

#endif
