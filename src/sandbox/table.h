/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns that `kubectl get` shows for built-in kinds, behind the name. Ages are computed by the server: cells take
 * the time from the object's creation to the call's.
 *
 * Source: k8s.io/kubernetes/pkg/printers/internalversion/printers.go.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_TABLE_H
#define TRUCE_SANDBOX_TABLE_H

#include "sandbox/serve.h"

struct table_now {
        int64_t wall_ms;
        struct arena *arena;
};

struct table_column {
        const char *name, *type; /* name NULL ends the list */
        int priority;            /* above 0: with -o wide only */
        /* Appends one JSON value; `path` is the column's own: dotted field names. */
        void (*cell)(struct buf *out, const struct value *object, const char *path, const struct table_now *now);
        const char *path;
};

struct table_kind {
        const char *group, *kind;
        const struct table_column *columns;
        bool has_own_name; /* among the columns; else it comes before them */
        /* Appends the row's `,"conditions":[…]` where it has some; NULL: never. */
        void (*conditions)(struct buf *out, const struct value *object);
};

/* "5m32s": how long ago a time was, as the server shows it; "<unknown>" for none. */
void table_add_age(struct buf *out, const struct value *timestamp, const struct table_now *now);
/* The same without quotes, and of the time between two. */
void table_add_since(struct buf *out, struct str timestamp, const struct table_now *now);
void table_add_between(struct buf *out, struct str from, struct str to);
/* The value at dotted field names, or NULL. */
const struct value *table_value(const struct value *v, const char *path);

extern const struct table_kind table_pod;
/* NULL: name and time of creation only. */
const struct table_kind *table_kind_find(struct str group, struct str kind);
/* The same for what is not a workload and what it needs: events, nodes, volumes, definitions, … */
const struct table_kind *table_cluster_find(struct str group, struct str kind);

#endif
