/* SPDX-License-Identifier: Apache-2.0 */
/* Private to own/: the work of one decision. decide.c opens and closes it, the other decide_*.c add. */
#ifndef TRUCE_OWN_DECIDE_IMPL_H
#define TRUCE_OWN_DECIDE_IMPL_H

#include "own/decide.h"
#include "own/path_read.h"

struct desk {
        const struct decide_input *in;
        struct arena *arena;
        const struct schema *type;
        struct managed managed;
        const struct managed_entry *ours; /* may be NULL */
        bool has_replicas;
        struct field_path replicas;
        struct scale_state scale;
        struct policy_object object;
        struct path_list yields;    /* left out of the body */
        const struct value *masked; /* effective, with due hand-overs at their live value (dry-runs) */
        bool needs_version;         /* the request must carry the resourceVersion */
        struct decision out;
};

int desk_open(struct desk *d, const struct decide_input *in, struct arena *a, struct err *err);
/* Leaves out what scalers, rules and earlier conflicts leave to others. */
void desk_yield(struct desk *d);
bool desk_converged(struct desk *d);
/* Makes the apply or dry-run with uid, and resourceVersion where it is needed. */
void desk_send(struct desk *d, const struct value *object);

void desk_note(struct desk *d, struct decide_note note);
void desk_reason(struct desk *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Leaves the path out of the body, and out of what we own; the note's path is set here. */
void desk_yield_path(struct desk *d, struct field_path p, struct decide_note note);
/* Leaves it to its owner, as the policy answered. */
void desk_withhold(struct desk *d, const struct decide_withheld *w, const struct policy_answer *answer);
bool desk_is_yielded(const struct desk *d, struct field_path p);
struct policy_answer desk_ask(const struct desk *d, const struct managed_entry *e, struct field_path p);

/* decide_rules.c: leaves out what rules without an owner yield (own/policy.h). */
void desk_yield_rules(struct desk *d);
/* decide_leave.c: paths we own and Git no longer has. May set PATCH (a take-over) or REFUSE. */
int desk_leave(struct desk *d, struct err *err);
/*
 * The topmost paths of the set that `desired` does not have. *ret_unsure: a list could not be matched with the set, and
 * what is below it is not told.
 */
struct path_list desk_absent(struct desk *d, const struct fieldset *set, const struct value *desired, bool *ret_unsure);
/* decide_extra.c: notes what people's tools added to the live object. */
void desk_extra(struct desk *d);
/* decide_override.c: leaves people's changes of what Git has as they are. */
void desk_yield_overridden(struct desk *d);
/* Has Git a value for the path, as it is sent now, that is not what stands there? */
bool desk_differs(const struct desk *d, struct field_path p);
/* decide_conflict.c: withholds what the entry would conflict with and policy leaves to it. */
void desk_foresee(struct desk *d, const struct managed_entry *e);

#endif
