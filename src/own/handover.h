/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving ownership without moving a value: JSON patches on metadata.managedFields alone.
 *
 * When a path leaves what we apply while we are its only owner, the API server deletes the field, or its default comes
 * back (replicas: 1). A hand-over prevents that: one patch takes the path out of our Apply entry and puts it into an
 * Update entry of `truce-keeper`. An Update entry, not an Apply entry: it vanishes by itself when the scaler writes
 * /scale, and does not keep a container or a list item alive. A take-back is the same patch in reverse. A take-over
 * strips the path from a leftover co-owner, so that our removal has an effect, or moves what a person added into our
 * entry, so that our next apply, which is without it, removes it.
 *
 * Every patch replaces /metadata/resourceVersion (a stale one is a 409; with `test` it would be a 422) and the whole
 * managedFields list. The server answers 200 to a malformed set and drops the entry: handover_check() must see every
 * response.
 *
 * Moved is what our set has at and below each path, never the `.` of a list item above it; parents left with nothing
 * vanish; an entry left with nothing goes. Facts: a real server, 2026-11.
 */
#ifndef TRUCE_OWN_HANDOVER_H
#define TRUCE_OWN_HANDOVER_H

#include "own/policy.h"

enum handover_kind {
        HANDOVER_NOTHING,    /* we do not own the path, or own it and may simply keep it */
        HANDOVER_JUST_LEAVE, /* another owner holds it: an apply without it (under resourceVersion) is enough */
        HANDOVER_GIVE,       /* we are the only owner: patch first, then apply without it */
        HANDOVER_TAKE_BACK,  /* the keeper holds it and it is ours again: patch, then an ordinary apply */
        HANDOVER_WAIT,       /* the keeper holds it and may soon be ours again: the hold is not over */
};

/* What a path's way should be. */
enum handover_wish {
        HANDOVER_YIELD, /* it is scaled, ignored or yielded: it must leave what we own */
        HANDOVER_OWN,   /* Git has it and nobody else is to have it */
        HANDOVER_DROP,  /* Git removed it (or an ancestor) and no scaler or rule wants it: it must come back to go
                           cleanly */
};

/*
 * Decides for one path. `type`: the root's, NULL: unknown. `hold`: a scaler or rule left so recently that a take-back must
 * still wait.
 */
enum handover_kind handover_decide(const struct managed *m, const struct schema *type, struct field_path path,
                                   enum handover_wish wish, bool hold);

/*
 * The patch that moves `paths` from our entry to the keeper (an Update entry of our entry's apiVersion, merged with one
 * that exists). `live` is a whole object as the server sent it, with managedFields and resourceVersion. NOTFOUND when
 * our entry has none of the paths, INVAL when live lacks what is needed. *ret_patch is a list, ready as a body of
 * application/json-patch+json; *ret_after are the changed owners, as the
 * response must show them.
 */
int handover_give(const struct value *live, const struct field_path *paths, size_t count, struct arena *a,
                  const struct value **ret_patch, struct managed *ret_after, struct err *err);
/* The reverse: from every keeper entry into our entry, which is made when it is missing (`api_version`: the desired
 * one). */
int handover_take_back(const struct value *live, const struct field_path *paths, size_t count, struct str api_version,
                       struct arena *a, const struct value **ret_patch, struct managed *ret_after, struct err *err);
/* What a take-over strips from one entry of another owner. */
struct handover_strip {
        const struct managed_entry *entry; /* found in live by manager, operation, subresource and apiVersion */
        const struct fieldset *set;        /* exactly these members go */
        bool into_ours;                    /* and are added to our entry */
};
/*
 * Strips members from other owners' entries. Our entry changes only by what is moved into it; it is made when it is
 * missing (`api_version`: the desired one).
 */
int handover_take_over(const struct value *live, const struct handover_strip *strips, size_t count,
                       struct str api_version, struct arena *a, const struct value **ret_patch,
                       struct managed *ret_after, struct err *err);

/*
 * Holds the response of such a patch against what was meant: every entry it changed must be there as sent, or be gone
 * when nothing was left of it (`after` shows it with an empty set). CONFLICT when one is not (the caller lists the
 * object anew and decides again); what we own is then unknown.
 */
int handover_check(const struct value *response, const struct managed *after, struct arena *a, struct err *err);

#endif
