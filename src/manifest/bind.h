/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding: what can be said of a desired object only once the API server told which kinds have namespaces.
 *
 * A namespaced object without a namespace gets the default one; a cluster-scoped object that names one loses it, with a
 * warning (the server would refuse or ignore it). Then the tracking marks are set and `id` and `canonical` computed:
 * a bound object is exactly what is sent, but for what yield and ignore rules take out.
 *
 * Thread rule: pure; runs on a pool thread.
 */
#ifndef TRUCE_MANIFEST_BIND_H
#define TRUCE_MANIFEST_BIND_H

#include "manifest/protect.h"
#include "manifest/render.h"
#include "manifest/tracking.h"

enum manifest_scope {
        MANIFEST_SCOPE_UNKNOWN, /* not served (yet): the object is parked */
        MANIFEST_SCOPE_CLUSTER,
        MANIFEST_SCOPE_NAMESPACED,
};

struct manifest_binding {
        struct str default_namespace;   /* empty: a namespaced object without one is refused */
        const struct tracking *tracking; /* NULL: no marks (render and diff of plain files) */
        const struct manifest_protection *protection; /* NULL: nothing is protected */
        enum manifest_scope (*scope)(void *ctx, struct str group, struct str version, struct str kind);
        void *ctx;
        /* May refuse an object because of one of its annotations, *ret_annotation: INVAL … NULL: none is looked at. */
        int (*check)(const struct value *object, const char **ret_annotation, struct err *err);
};

/*
 * Binds one object. ret_warned tells whether a namespace was dropped (may be NULL). INVAL when a namespaced object has
 * no namespace; `in` may be bound already (binding again gives the same).
 */
int manifest_bind_scope(const struct manifest_object *in, bool namespaced, const struct manifest_binding *b,
                        struct arena *a, struct manifest_object *ret_object, bool *ret_warned, struct err *err);

/*
 * All objects of a set at once. Every object of the set is in exactly one of the three arrays:
 *  - bound: to be compared and applied;
 *  - parked: the kind is not served (bind again when discovery changed). Counts as desired. When a CRD of the same set
 *    defines the kind, its scope is known from there and the object is bound all the same, so that its id can enter the
 *    inventory; else it is not bound and has no id;
 *  - refused: the set's own refused objects and those that fail here (protected, no namespace, an annotation that cannot be
 *    read, duplicates that show only now that namespaces are known). Counts as desired; bound where the scope is known.
 */
struct manifest_bound {
        struct manifest_object *objects;
        size_t object_count;
        struct manifest_object *parked;
        size_t parked_count;
        struct manifest_object *refused;
        size_t refused_count;
        struct manifest_problem *errors;   /* those that arose here; the set's own are in the set */
        size_t error_count;
        struct manifest_problem *warnings;
        size_t warning_count;
        struct arena *arena;
};

/* The result borrows from the set, which must outlive it. Orders are the set's. */
struct manifest_bound *manifest_bind(const struct manifest_set *set, const struct manifest_binding *b);
void manifest_bound_free(struct manifest_bound *bound);
DEFINE_CLEANUP(struct manifest_bound *, manifest_bound_free)

#endif
