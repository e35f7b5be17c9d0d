/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-side apply and managedFields: what the API server does between "this is what the manager wants" and "this is
 * what is stored". Pure: objects in, object out.
 *
 * Source of the rules: sigs.k8s.io/structured-merge-diff/v6 (merge.Updater, typed.Merge, typed.RemoveItems) and
 * apimachinery's managedfields package (the stack of managers: structured merge, build manager info, cap of ten Update
 * entries, before-first-apply, last-applied and skip-non-applied, probabilistic parts left out). Checked against a
 * real API server by tests/cluster/fidelity.
 *
 * Objects here are decoded and defaulted already. managedFields of `live` are read from it; those of the result are
 * written into it. Times: an entry whose set and apiVersion did not change keeps its time.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_SSA_H
#define TRUCE_SANDBOX_SSA_H

#include "own/fieldset.h"
#include "own/managed.h"

struct ssa_request {
        struct str manager;     /* of an Apply: the fieldManager; of an Update: fieldManager or first part of User-Agent */
        struct str subresource; /* "status", "scale" or empty */
        struct str api_version; /* of the request's object */
        bool force;
        struct str now;         /* RFC 3339, seconds */
        /*
         * Fields that are never owned through this endpoint (a kind's reset fields: status through the main resource,
         * spec through /status). Empty set: none.
         */
        const struct fieldset *reset;
};

/* One field that another manager owns with another value. */
struct ssa_conflict {
        struct str manager; /* as the message shows it: "NAME" with subresource "scale" using apps/v1 … */
        struct field_path path;
};

struct ssa_conflicts {
        const struct ssa_conflict *items;
        size_t count;
};

/*
 * Applies `config` (without managedFields) to `live` (NULL: creation). CONFLICT fills *ret_conflicts in the server's
 * order; INVAL is the "failed to create typed patch object" of a config that does not fit the type (duplicate keys or
 * set items, missing keys): the server answers it with 500, the message ends as the server's. On success *ret_object
 * holds the merged object with managedFields. When nothing but times would change, *ret_object is `live` itself.
 */
int ssa_apply(const struct schema *type, const struct value *live, const struct value *config,
              const struct ssa_request *how, struct arena *a, const struct value **ret_object,
              struct ssa_conflicts *ret_conflicts, struct err *err);

/*
 * After any other write: `object` is what will be stored, with the managedFields the writer sent (an empty list clears
 * all; one that cannot be read keeps the live ones). Gives it the managedFields that follow.
 */
int ssa_update(const struct schema *type, const struct value *live, const struct value *object,
               const struct ssa_request *how, struct arena *a, const struct value **ret_object, struct err *err);

/* The parts, for tests: merge two typed values; remove what a set names (items whole, fields of structs). */
const struct value *ssa_merge(const struct schema *type, const struct value *live, const struct value *config,
                              struct arena *a);
const struct value *ssa_remove(const struct schema *type, const struct value *object, const struct fieldset *set,
                               struct arena *a);
/* What differs between two values: changed and removed and added leaf paths, as structured-merge-diff compares. */
struct ssa_comparison {
        const struct fieldset *added, *modified, *removed;
};
struct ssa_comparison ssa_compare(const struct schema *type, const struct value *from, const struct value *to,
                                  struct arena *a);

#endif
