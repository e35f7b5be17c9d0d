/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in resources: what a real API server's discovery says it serves. The rows are printed into
 * resources_table.inc by tests/cluster/openapi_table.py and read once.
 *
 * Order is the server's: groups as /apis lists them (the core group first), versions of a group with the preferred one
 * first, resources by name. A resource row without a type in types_table.inc does not exist here: resources are listed
 * only when type_table_find() knows their kind.
 *
 * Thread rule: everything given out is immutable; resource_table_new() may be called from any thread.
 */
#ifndef TRUCE_SANDBOX_RESOURCES_H
#define TRUCE_SANDBOX_RESOURCES_H

#include "base/str.h"
#include "base/macro.h"

enum resource_verb {
        RESOURCE_CREATE = 1 << 0,
        RESOURCE_DELETE = 1 << 1,
        RESOURCE_DELETECOLLECTION = 1 << 2,
        RESOURCE_GET = 1 << 3,
        RESOURCE_LIST = 1 << 4,
        RESOURCE_PATCH = 1 << 5,
        RESOURCE_UPDATE = 1 << 6,
        RESOURCE_WATCH = 1 << 7,
};

/* Bit i is resource_verb_names[i]; discovery prints them in this (alphabetical) order. */
#define RESOURCE_VERBS 8
extern const char *const resource_verb_names[RESOURCE_VERBS];

struct resource_sub {
        struct str name;                 /* "scale", "status", "log" … */
        struct str group, version, kind; /* of the body; group and version empty: the resource's own */
        unsigned verbs;                  /* enum resource_verb */
};

struct resource {
        struct str group; /* empty: core */
        struct str version, kind, list_kind, plural, singular;
        struct str short_names, categories; /* comma-separated, empty: none */
        struct str storage_hash;            /* storageVersionHash of the old discovery; empty: none */
        bool namespaced;
        unsigned verbs; /* enum resource_verb; 0: only its subresources are served */
        bool has_status, has_scale;
        const struct resource_sub *subs; /* by name */
        size_t sub_count;
};

struct resource_table {
        const struct resource *rows; /* in discovery's order: versions of one group stand together */
        size_t count;
};

struct resource_table *resource_table_new(void);
void resource_table_free(struct resource_table *t);
DEFINE_CLEANUP(struct resource_table *, resource_table_free)

/* NULL when there is none. `group` empty is core. */
const struct resource *resource_find(const struct resource_table *t, struct str group, struct str version,
                                     struct str plural);
const struct resource *resource_of_kind(const struct resource_table *t, struct str group, struct str version,
                                        struct str kind);
/* The subresource, or NULL. */
const struct resource_sub *resource_sub_find(const struct resource *r, struct str name);

#endif
