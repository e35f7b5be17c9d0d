/* SPDX-License-Identifier: Apache-2.0 */
/* Private to own/: the work of one decision. decide.c opens and closes it, the other decide_*.c add. */
#ifndef TRUCE_OWN_DECIDE_IMPL_H
#define TRUCE_OWN_DECIDE_IMPL_H

#include "own/decide.h"
#include "own/path_read.h"
#include "own/path_set.h"

/* Sets that become one, in place k of 2^k of them each: putting n together costs n log n, not their square. */
#define PILE_PLACES 32
struct pile {
        const struct fieldset *places[PILE_PLACES]; /* NULL: none */
};

/* What a patch is to change in other owners' entries, one row an entry and direction; its set is made when it is sent. */
struct strips {
        struct handover_strip *rows;
        struct pile *piles; /* of the rows */
        size_t count;
};

struct desk {
        const struct decide_input *in;
        struct arena *arena;
        const struct schema *type;
        const struct value *wanted; /* in->desired, spelt as the live object has it where it means the same */
        struct managed managed;
        const struct managed_entry *ours; /* may be NULL */
        const struct scale_path *scaled; /* the object's number of replicas, and those of its parts */
        size_t scaled_count;
        struct policy_object object;
        struct path_list yields;    /* left out of the body */
        struct path_list tolerated; /* may differ: own/tolerate.h */
        struct path_list leaving;   /* those that are still in out.effective, until desk_settle() */
        const struct value *masked; /* effective, with due hand-overs at their live value (dry-runs) */
        bool needs_version;         /* the request must carry the resourceVersion */
        struct strips strips;       /* extra paths to be moved into our entry, leftovers to be cleared */
        const struct value *last_applied; /* what client-side apply says it applied; NULL: not looked for, or none */
        bool has_last_applied;            /* it was looked for */
        struct path_set *told, *removed;  /* during desk_extra(): paths of EXTRA and REMOVED, of REMOVED */
        struct decision out;
};

int desk_open(struct desk *d, const struct decide_input *in, struct arena *a, struct err *err);
/* Leaves out what scalers, rules and earlier conflicts leave to others. */
void desk_yield(struct desk *d);
bool desk_converged(struct desk *d);
/*
 * What is asked about, of out.effective: in a dry-run hand-overs that are due and what may differ stand at their live
 * value.
 */
void desk_mask(struct desk *d);
/* Makes the apply or dry-run with uid, and resourceVersion where it is needed. */
void desk_send(struct desk *d, const struct value *object);

void desk_note(struct desk *d, struct decide_note note);
/* Of what stays as a whole its parts are no news: leaves out what is EXTRA below a path that stays. */
size_t desk_without_parts(const struct decide_note *notes, size_t count, struct arena *a, const struct decide_note **ret_notes);
void desk_reason(struct desk *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* out.effective is what is left after all that was yielded: before it is read. */
void desk_settle(struct desk *d);
/* Leaves the path out of the body, and out of what we own; the note's path is set here. */
void desk_yield_path(struct desk *d, struct field_path p, struct decide_note note);
/*
 * The same by a rule that names no owner. A new object gets Git's value: it may be one that the kind asks for, and a
 * hand-over keeps it from being written a second time.
 */
void desk_yield_or_seed(struct desk *d, struct field_path p, struct decide_note note);
/* Leaves it to its owner, as the policy answered. */
void desk_withhold(struct desk *d, const struct decide_withheld *w, const struct policy_answer *answer);
enum decide_note_kind desk_note_kind(const struct policy_answer *answer);
bool desk_is_yielded(const struct desk *d, struct field_path p);
/* Is it, or a part of it, one of those that are left to nobody? COVERS: itself; BELOW: something in it. */
enum pattern_fit desk_kept_fit(const struct desk *d, struct field_path p);
/* Is it, or an ancestor of it, left to others or let differ? */
bool desk_is_let_be(const struct desk *d, struct field_path p);
struct policy_answer desk_ask(const struct desk *d, const struct managed_entry *e, struct field_path p);

/* decide_scale.c: numbers of replicas. */
void desk_scale_open(struct desk *d);
void desk_yield_scaled(struct desk *d);
/* After what rules yield: numbers whose scaler went away a short while ago. */
void desk_hold_scaled(struct desk *d);
/* What a creation sends: with seeds, and without what the kind refuses then. */
const struct value *desk_newborn(struct desk *d);
/* Would Git's number replace one that a scaler, now gone, has set? */
bool desk_takes_replicas_back(const struct desk *d);
/* Does this commit set the path, or change what it is set to? */
bool desk_is_set_by_commit(const struct desk *d, struct field_path p);
/* Yields what its former scaler or rule left to the keeper, for as long as the hold goes on. */
void desk_hold(struct desk *d, struct field_path p, const char *rule);
/* Does a hold go on for the path, if it would be taken back? */
bool desk_in_hold(const struct desk *d, struct field_path p);
/* The number at or below `p`; NULL: none. */
const struct scale_path *desk_scaled_at(const struct desk *d, struct field_path p);
/* Is it a number of replicas, or above or below one? */
bool desk_meets_scaled(const struct desk *d, struct field_path p);

/* decide_guard.c: refuses what would lose data. True: decided. */
bool desk_guard(struct desk *d);

/* decide_rules.c: leaves out what rules without an owner yield (own/policy.h). */
void desk_yield_rules(struct desk *d);
/* decide_leave.c: paths we own and Git no longer has. May set PATCH (a take-over) or REFUSE. */
int desk_leave(struct desk *d, struct err *err);
/*
 * The topmost paths of the set that `desired` does not have. *ret_unsure: a list could not be matched with the set, and
 * what is below it is not told.
 */
struct path_list desk_absent(struct desk *d, const struct fieldset *set, const struct value *desired, bool *ret_unsure);
void desk_strip(struct desk *d, struct strips *s, const struct managed_entry *e, const struct fieldset *set, bool into_ours);
/* A PATCH of what was gathered. */
int desk_send_strips(struct desk *d, struct strips *s, struct err *err);
/* Is the path, or an ancestor of it, left to others? */

/* decide_extra.c: notes what people's tools added to the live object, and gathers what is to go. Once a desk. */
void desk_extra(struct desk *d);
/* decide_override.c: leaves people's changes of what Git has as they are. */
void desk_yield_overridden(struct desk *d);
/* Has Git a value for the path, as it is sent now, that is not what stands there? */
bool desk_differs(const struct desk *d, struct field_path p);
/* decide_leftover.c: gathers what leftovers own and we own as well. */
void desk_leftovers(struct desk *d);
/*
 * Is it an entry of what deployed the object before us and no longer does: client-side apply, before-first-apply, Helm,
 * Argo CD once it is given up?
 */
bool desk_is_leftover(const struct desk *d, const struct managed_entry *e);
/* Is it an entry of a person's tool, client-side apply among them? */
/* A person or a leftover: what such a one has and Git has not is told. */
bool desk_is_told_about(const struct desk *d, const struct managed_entry *e);
bool desk_is_person(const struct managed_entry *e);
/* Can our entry take paths of this one: is it there, and both in the version that is applied? */
bool desk_can_move(const struct desk *d, const struct managed_entry *e);
/* The annotation in which client-side apply keeps what it applied. */
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
/* decide_conflict.c: withholds what the entry would conflict with and policy leaves to it. */
void desk_foresee(struct desk *d, const struct managed_entry *e);

#endif
