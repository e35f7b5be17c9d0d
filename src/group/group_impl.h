/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan in its making. group_plan_make() (plan.c) goes through the steps below in their order; each reads what those
 * before it found and adds to the planner, and none looks ahead:
 *
 *     see       plan_see.c      stored revisions; pods, by group; what each group is
 *     memory    plan_memory.c   what is remembered, or derived where that is lost
 *     scale     plan_scale.c    which indices are wanted, whom a scale-down takes
 *     roll      plan_roll.c     how far the roll may go; which revision a group is made from
 *     judge     plan_failure.c  which groups or members go, and why
 *     gang      plan_gang.c     groups that hold nodes without being whole; who may be released
 *     things    plan_things.c   services, claims, revisions
 *     carry out plan_create.c   deletions, creations, releases
 *     tell      plan_explain.c, plan_status.c
 *
 * An **index** is the number in a group's name. A **position** counts the wanted groups from the lowest index: both are
 * the same until a scale-down has taken a broken group out of the middle. Partition and budgets count positions.
 *
 * A pod's name says its group and worker, and so do its labels; one for which they differ, or cannot be read, is a
 * **stray**: ours, but of no group. So there is at most one pod for a place in a group. It **lives** until it has a
 * deletionTimestamp and **leaves** from then on.
 */
#ifndef TRUCE_GROUP_GROUP_IMPL_H
#define TRUCE_GROUP_GROUP_IMPL_H

#include "group/build.h"
#include "group/memory.h"
#include "group/plan.h"
#include "group/status.h"

#define SECOND_MS        INT64_C(1000)
#define BACKOFF_FIRST_MS (10 * SECOND_MS) /* of the second restart in a row; the first comes at once */
#define BACKOFF_MAX_MS   (300 * SECOND_MS)
#define FORGET_MS        (600 * SECOND_MS) /* ready for so long: the next restart comes at once again */
#define SETTLE_MS        (15 * SECOND_MS)  /* what one group let go of may help another within it */
/*
 * A node's taint makes the cluster's eviction controller delete its pods, by their names alone: a successor that is
 * made before that is done is deleted in its predecessor's place. So that long nothing is done for the taint's sake.
 */
#define EVICTION_MS (5 * SECOND_MS)

/* When a plan makes so many pods no other group begins in it: all of them are in memory until they are made. */
#define PODS_AT_ONCE 2000

/* Phases of actions (group_action.phase). */
enum phase {
        PHASE_REMEMBER, /* the status, when it holds memory that what follows relies on */
        PHASE_MAIN,
        PHASE_AFTER, /* pods whose service, claims or revision are made in PHASE_MAIN */
        PHASE_LAST,  /* without gates: who is made last, and so says that all of its group were there */
};

/* What a group can be made from: a stored revision, or the wanted one that is not stored yet. */
struct revision {
        struct group_template t;
        int64_t number;
        const struct group_stored_revision *stored; /* NULL: not yet */
        bool readable;
};

/* What becomes of a group's living members. */
enum fate {
        FATE_STAY,
        FATE_SCALE,  /* it is not wanted any more */
        FATE_ROLL,   /* it is of another revision, and its turn has come */
        FATE_FAILED, /* it failed as a whole and is made anew */
        FATE_SPENT,  /* it failed too often and is not made anew */
        FATE_UNFIT,  /* it has members of two lives, and never ran: it is made anew, and that is no restart */
        FATE_YIELD,  /* it lets go of nodes that are too few for it */
};

struct group {
        int32_t index;
        int32_t position;              /* among those wanted; -1: none */
        const struct group_pod **pods; /* by worker; those that leave too */
        size_t count;
        /* Of those that live, at places below `size`: */
        int32_t live, ready_members, bound, gated, pending, unschedulable;
        int32_t leaving;                  /* all that leave */
        const struct group_pod *leader;   /* living; NULL: none */
        struct str incarnation, revision; /* of the first that lives; empty: none does */
        const struct revision *own;       /* of `revision`; NULL: not known any more */
        int32_t size;                     /* of its revision */
        int64_t created_ms;               /* of the first that was made; 0: none lives */
        int64_t ready_ms;                 /* of the last that became ready */
        bool mixed;                       /* several incarnations or revisions live */
        bool complete;                    /* all members were there at a time: a missing one is a failure */
        bool whole;                       /* all members live */
        bool ready;                       /* whole, each one Running and Ready, none leaves */

        enum fate fate;
        bool *drop;             /* by `pods`: this member goes alone; NULL: none does */
        bool half;              /* it holds nodes, or asks for them, and cannot have all: see plan_gang.c */
        bool makes;             /* members are made in this plan */
        bool releases;          /* gates come off in this plan */
        bool waits_for_service; /* its service is made in this plan */
        const char *state;      /* what keeps it, for people: a word … */
        struct str waiting_for; /* … and a sentence; NULL and empty: nothing special */
};

struct planner {
        const struct group_input *in;
        const struct group_spec *s;
        const struct group_observed *o;
        struct arena *a;
        int64_t now_ms, second_ms; /* the latter without fractions: what is remembered */

        struct revision *revisions;
        size_t revision_count;
        const struct revision *want, *previous; /* the latter: the newest other one; NULL: none */

        const struct group_node **nodes; /* by name */
        const struct group_pod **ours;   /* by group and worker */
        size_t our_count;
        const struct group_pod **strays;
        size_t stray_count;
        struct group *groups; /* ascending by index; those below `dense` without a gap */
        size_t group_count, dense;
        struct group **wanted; /* by position */
        int32_t wanted_count;

        struct str memory_text; /* as stored */
        struct group_memory before, after;
        size_t restart_cap;
        bool remembered; /* `before` was read, not derived */
        struct group_rollout roll;

        bool tight;            /* there is too little room for all groups: see plan_gang.c */
        int64_t hold_until_ms; /* no group is released before; 0: at once */
        bool shared_service_pending, revision_pending;
        size_t pods_made;
        struct group_condition conditions[8];
        size_t condition_count;
        struct str name_taken; /* the first object of another's under one of our names; empty: none */

        struct group_plan out;
        size_t action_cap, event_cap;
};

/* plan.c: adding to the plan. */
struct group_action *plan_act(struct planner *p, enum group_action_kind kind, enum group_object object, unsigned phase,
                              const char *why);
void plan_tell(struct planner *p, bool warning, const char *reason, struct str message);
/* Look again at that time at the latest. Times that have passed do not count. */
void plan_again_at(struct planner *p, int64_t at_ms);
void plan_condition(struct planner *p, const char *type, const char *reason, struct str message);
/* A copy that can hold `count` + 1 items of `size` bytes, when the array is full. */
void *plan_grow(struct planner *p, void *items, size_t *cap, size_t count, size_t size);

/* plan_see.c */
void plan_see_revisions(struct planner *p);
void plan_see_nodes(struct planner *p);
/* Sorts pods out; `dense` groups are there without a gap, whether they have pods or not. */
void plan_see_pods(struct planner *p);
void plan_see_groups(struct planner *p, int32_t dense);
struct group *plan_find_group(const struct planner *p, int32_t index);
const struct revision *plan_find_revision(const struct planner *p, struct str hash);
const struct group_node *plan_find_node(const struct planner *p, struct str name);
/* The pod at a place, living or not; NULL: none. */
const struct group_pod *plan_member_at(const struct group *g, int32_t worker);
bool plan_is_ours(const struct planner *p, struct str owner_uid);
bool plan_is_leaving(const struct group_pod *pod);
/* Is the leader made alone first, and the workers when it is ready or has a node? */
bool plan_is_staged(const struct planner *p, int32_t size);
/* Are members made with gates? */
bool plan_has_gang(const struct planner *p, int32_t size);

/* plan_memory.c */
void plan_remember(struct planner *p);
/* What was derived when nothing (readable) was remembered; needs plan_see_groups(). */
void plan_derive_memory(struct planner *p);
void plan_forget(struct planner *p);
/* The history of a group: NULL when there is none; or a new, empty one. Borrowed until the next plan_memo_of(). */
struct group_restarts *plan_memo_find(const struct planner *p, int32_t group);
struct group_restarts *plan_memo_of(struct planner *p, int32_t group);
/* How long after the last restart, or the last letting go, a group waits. */
int64_t plan_restart_backoff_ms(int32_t streak);
int64_t plan_yield_backoff_ms(const struct planner *p, const struct group_restarts *r);

/* plan_scale.c */
void plan_choose_indices(struct planner *p);
/* Gives the `count` lowest indices that are not absent their positions. */
void plan_place_groups(struct planner *p, int32_t count);

/* plan_roll.c */
void plan_roll(struct planner *p);
/* What a group is made from when it is made anew. */
const struct revision *plan_target_of(const struct planner *p, const struct group *g);
bool plan_may_roll(const struct planner *p, const struct group *g);
/* Does the roll that is under way repair it? It fails again and again as it was, or was given up. `r` may be NULL. */
bool plan_is_repaired_by_roll(const struct planner *p, const struct group *g, const struct group_restarts *r);
bool plan_is_updated(const struct planner *p, const struct group *g);

/* plan_failure.c */
void plan_judge(struct planner *p);
/* When it may be made anew after its last failure; 0: at once. */
int64_t plan_held_until_ms(const struct planner *p, const struct group *g);
/* The same for one member that was replaced alone. */
int64_t plan_member_held_until_ms(const struct planner *p, const struct group *g, int32_t worker);

/* plan_gang.c */
void plan_judge_gangs(struct planner *p);
/* May the group take nodes now? If not, *ret_why says what it waits for. */
bool plan_may_take_nodes(struct planner *p, struct group *g, struct str *ret_why);

/* plan_things.c */
void plan_keep_services(struct planner *p);
void plan_keep_revisions(struct planner *p);
void plan_drop_claims(struct planner *p);
/* Makes what is missing of a pod's claims. False: one is being deleted (*ret_wait names it); nothing is made then. */
bool plan_claims_can_be(const struct planner *p, const struct group_template *t, struct str pod, struct str *ret_wait);
/* Number of claims that were planned. */
size_t plan_make_claims(struct planner *p, const struct group_template *t, const struct group_place *at);

/* plan_create.c */
void plan_delete_pods(struct planner *p);
void plan_make_pods(struct planner *p);

/* plan_explain.c */
void plan_explain(struct planner *p);
/* "leader demo-0", "worker demo-0-1". */
struct str plan_member_name(const struct planner *p, const struct group_pod *pod);
struct str plan_time_text(const struct planner *p, int64_t ms);

/* plan_status.c */
void plan_write_status(struct planner *p);
void plan_write_stalled(struct planner *p, enum group_status_scope scope);
/* What forbids any action, as the condition Stalled. False: nothing does. */
bool plan_is_stalled(struct planner *p, enum group_status_scope *ret_scope);

#endif
