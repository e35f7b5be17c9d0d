/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How `truce owners`, and the demo, show who owns what in an object: a table for people, a value for machines. The words
 * are those of `truce diff` (diff/print.h).
 */
#ifndef TRUCE_CLI_OWNERS_VIEW_H
#define TRUCE_CLI_OWNERS_VIEW_H

#include "agent/app.h"

struct owners_view {
        const struct app_explanation *object;
        const struct app *app;
        int64_t now_ms; /* wall clock, for "3 m" */
        bool all;       /* every path, defaults too; else sub-trees that say the same are one row */
        bool color;
};

/* One row's cells; escaped. */
void owners_view_path(struct field_path p, size_t columns, struct buf *out);
void owners_view_owner(const struct explain_row *r, struct buf *out);
void owners_view_since(const struct explain_row *r, int64_t now_ms, struct buf *out);
const char *owners_view_fate(const struct explain_row *r);
void owners_view_by(const struct app_explanation *x, const struct explain_row *r, struct buf *out);

/* The table, with what it does not show counted, and the rules that settle what is reported. */
void owners_view_table(const struct owners_view *v, struct buf *out);

/*
 * Where a scaler has the number of replicas, and Git names one, too: both, a line. "spec.replicas: Git's 2 (web.yaml:7) is the
 * seed of a new object; HPA shop/web (scale) says 5". Nothing where that is not so.
 */
void owners_view_seed(const struct owners_view *v, struct buf *out);

/*
 * {object {group, kind, namespace, name}, application, file, exists, decision, reason, paths [{path, paths, owner,
 * operation, subresource, since, owners, truce, rule, place, file, line}], reports [rule]}. No value of the object.
 */
const struct value *owners_view_value(const struct owners_view *v, struct arena *a);

#endif
