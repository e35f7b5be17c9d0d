/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-side apply and managedFields: what the API server does between "this is what the manager wants" and "this is
 * what is stored". Pure: objects in, object out.
 *
 * Source of the rules: sigs.k8s.io/structured-merge-diff/v6 (merge.Updater, typed.Merge, typed.RemoveItems) and
 * apimachinery's managedfields package (the stack of managers: structured merge, stripped metadata, times, manager's
 * identity, cap of ten Update entries, before-first-apply, last-applied annotation). Checked against a real API server
 * by tests/cases/ssa (recorded by tests/cluster/record_ssa.py) and tests/cluster/fidelity.
 *
 * Where it stands in a write (the server's order):
 *   PATCH apply:  ssa_apply → decode and default the result → admission → validate → ssa_settle → store
 *   other writes: decode, (patch), default → ssa_update → admission → validate → ssa_settle → store
 *   /scale:       ssa_scale_entries → the above on the Scale object → ssa_scale_adopt on the parent
 * Live objects are decoded and defaulted; the config of an apply is as the client sent it. managedFields of `live` are
 * read from it; those of the result are written into it. An entry whose set and apiVersion did not change keeps its
 * time.
 *
 * What owns what follows from type->schema; struct type itself is asked only whether a config fits.
 *
 * Known to differ: where the server's answer depends on the order of a Go map (which of several errors comes first, the
 * order of conflicts between managers) ours is the sorted one.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_SSA_H
#define TRUCE_SANDBOX_SSA_H

#include "own/fieldset.h"
#include "own/managed.h"
#include "sandbox/types.h"

/*
 * The kind's other versions, for entries of managedFields that name them. `type` gives NULL for a version that does not
 * exist: its entries vanish at the next write, or (`gone_fails`, custom resources) applies fail with 500 and other
 * writes leave managedFields as they are. `convert` NULL: only apiVersion differs (a CRD's strategy None).
 */
struct ssa_versions {
        void *ctx;
        const struct type *(*type)(void *ctx, struct str api_version);
        const struct fieldset *(*reset)(void *ctx, struct str api_version); /* NULL: none */
        const struct value *(*convert)(void *ctx, const struct value *object, struct str api_version, struct arena *a);
        bool gone_fails;
};

struct ssa_request {
        struct str manager;     /* fieldManager; of an Update perhaps the first part of User-Agent */
        struct str subresource; /* "status", "scale" or empty */
        struct str api_version; /* of the request's object */
        struct str now;         /* RFC 3339, seconds */
        bool force;
        /*
         * Fields that are never owned through this endpoint (a kind's reset fields: status through the main resource,
         * spec through /status), all below them too. NULL or empty: none.
         */
        const struct fieldset *reset;
        const struct ssa_versions *versions; /* NULL: the kind has one version */
        /*
         * What a creation, and what stood there before a first apply, is compared with; decides which structs are owned
         * with their own `.`. NULL, which is right for all kinds: ssa_zero() of the type.
         */
        const struct value *zero;
};

/* One field that another manager owns with another value. */
struct ssa_conflict {
        struct str id; /* of the manager, unique in an object; conflicts come in the order of ids, then of paths */
        struct field_path path;
};

struct ssa_conflicts {
        const struct ssa_conflict *items;
        size_t count;
};

/*
 * Applies `config` to `live` (NULL: creation). On success *ret_object holds the merged object with managedFields: still
 * to be decoded and defaulted (it may hold nulls), or `live` itself when nothing at all changed.
 *
 * Errors, with the server's status in err->http_status and its message: CONFLICT 409 fills *ret_conflicts (message and
 * causes by the functions below); INVAL 400 for a config with managedFields; INVAL 500 for a config that does not fit
 * the type (`failed to create typed patch object (NAMESPACE/NAME; GROUP/VERSION, Kind=KIND): .spec.foo: field not
 * declared in schema`), for managedFields of `live` that cannot be read and for versions that are gone.
 */
int ssa_apply(const struct type *type, const struct value *live, const struct value *config,
              const struct ssa_request *how, struct arena *a, const struct value **ret_object,
              struct ssa_conflicts *ret_conflicts, struct err *err);

/*
 * After any other write: `object` is what will be stored, with the managedFields the writer sent (an empty list or one
 * empty entry clears all; none, or some that cannot be read, count as the live ones; through a subresource they are
 * ignored). Gives it the managedFields that follow.
 */
const struct value *ssa_update(const struct type *type, const struct value *live, const struct value *object,
                               const struct ssa_request *how, struct arena *a);

/*
 * The last step before storing: when `object` differs from `live` in times of managedFields only, those are put back,
 * and when nothing differs at all `live` itself is given, so that nothing is written.
 */
const struct value *ssa_settle(const struct value *live, const struct value *object, struct arena *a);

/* Can these managedFields (the list, or NULL) be read? The message is the one of the server's warning. */
int ssa_check_entries(const struct value *entries, struct err *err);

/*
 * An object of the kind before anything is set. Of a built-in kind, as Go has it: structs and fields without omitempty;
 * of a custom resource apiVersion and kind alone.
 */
const struct value *ssa_zero(const struct type *type, struct str api_version, struct str kind, struct arena *a);

/* `conflict with "kubectl" using v1`: the message of one cause (reason FieldManagerConflict, field: the path). */
struct str ssa_conflict_cause(const struct ssa_conflict *c, struct arena *a);
/* `Apply failed with 2 conflicts: conflicts with …`: the message of the Status. */
struct str ssa_conflict_message(const struct ssa_conflicts *c, struct arena *a);

/*
 * managedFields across /scale. A version's path may be empty: the version has no scale subresource. Entries of versions
 * that are not listed are dropped, as the server does.
 */
struct ssa_scale_version {
        struct str api_version;
        struct field_path replicas; /* .spec.replicas of the parent */
};
struct ssa_scale {
        const struct ssa_scale_version *versions;
        size_t count;
        struct str api_version; /* the one the parent is served in here */
};
/* What the Scale object starts with: those of the parent's entries that own its replicas. A list or NULL. */
const struct value *ssa_scale_entries(const struct ssa_scale *s, const struct value *parent, struct arena *a);
/*
 * ssa_scale_adopt() takes the fields of every owner through a JSON map, which sorts by text. Does that change what is
 * stored of them (items with numbers as keys: 443 stands before 80)?
 */
bool ssa_scale_reorders(const struct value *entries, struct arena *a);
/* The parent's managedFields (a list, or NULL: none) after the Scale object came out with `scale_entries`. */
const struct value *ssa_scale_adopt(const struct ssa_scale *s, const struct value *parent,
                                    const struct value *scale_entries, struct arena *a);

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

/* Does a value fit its type? INVAL with the server's words, several as "errors:\n  …". */
int ssa_validate(const struct type *type, const struct value *object, struct err *err);

#endif
