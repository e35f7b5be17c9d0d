/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: what to do now so that a LeaderWorkerSet's groups become what is wanted. A pure function of what is wanted,
 * what is observed and the time; whoever calls it performs the actions and calls again when something changed.
 *
 * Rules that hold whatever is observed, and after a crash between any two actions:
 *  - at most one incarnation of a group lives: members of a new one are created when no pod of that index is left;
 *  - a group is wholly of one revision, and goes as one, in one phase;
 *  - members of a group are created with a scheduling gate that is taken off when all exist: an ungated member says
 * that the group was complete, a missing one is a failure from then on;
 *  - what must be remembered is stored (GROUP_STATUS) in a phase before what it is about;
 *  - only what the object controls (uid of the controller reference) is deleted or changed, each with uid and
 *    resourceVersion;
 *  - the same input gives the same plan, and nothing is to be done when everything is as wanted.
 *
 * Not for: I/O, retries, knowing what was sent already. The caller plans again only when its caches have seen the
 * writes of the plan before.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_GROUP_PLAN_H
#define TRUCE_GROUP_PLAN_H

#include "group/observed.h"
#include "group/spec.h"

enum group_action_kind {
        GROUP_CREATE,
        GROUP_DELETE,
        GROUP_RELEASE, /* take our scheduling gate off a pod */
        GROUP_STATUS,  /* write the status */
};

enum group_object {
        GROUP_POD,
        GROUP_SERVICE,
        GROUP_CLAIM,
        GROUP_REVISION,
};

struct group_action {
        enum group_action_kind kind;
        enum group_object object; /* GROUP_STATUS: without meaning */
        /*
         * Ascending. Actions of one phase may run at once and each is tried; the next phase begins when all of this one
         * succeeded. "Already there with our uid as controller" is a success of GROUP_CREATE, and so is a claim that
         * is there, whoever made it, and is not being deleted: as with a StatefulSet a claim outlives who used it. "Not
         * there" and "there with another uid" is one of GROUP_DELETE.
         */
        unsigned phase;
        struct str name;
        struct str uid, resource_version; /* preconditions of DELETE and RELEASE */
        const struct value *body;         /* CREATE: the object; STATUS: the whole status */
        int32_t group;                    /* its index; -1: none */
        bool force;                       /* DELETE with gracePeriodSeconds 0: the pod's node is provably gone */
        const char *why;                  /* constant, for log and trace: "scale down", "roll" … */
};

/* To be told once it is true; aggregated by whoever sends it. */
struct group_event {
        bool warning;
        const char *reason; /* upstream's, or one of our condition types */
        struct str message;
        int32_t group; /* true as soon as a pod of it is made; -1: with what is done for all, the status first of all */
};

/* One group for people, ascending by index. */
struct group_row {
        int32_t index;
        struct str revision;
        bool updated, ready, surge;
        int32_t members, ready_members, size, restarts;
        struct str state; /* Ready Starting Gated Pending Restarting BackOff Rolling Terminating Failed NameTaken … */
        struct str waiting_for; /* a sentence without a full stop; empty: nothing */
};

struct group_input {
        const struct group_spec *spec;
        const struct group_problems *problems; /* of reading the spec; NULL: none */
        const struct value *status;            /* live; NULL: none */
        const struct group_observed *observed;
        int64_t now_ms; /* Unix time; never behind a time that is observed by more than clocks differ */
};

struct group_plan {
        struct group_action *actions; /* ascending by phase */
        size_t action_count;
        struct group_event *events;
        size_t event_count;
        struct group_row *rows;
        size_t row_count;
        int64_t again_ms; /* look again after so long at the latest; 0: only when something changes */
};

/*
 * Everything lives in the arena. INVAL when the spec cannot even be stalled properly (no uid, no name), else 0:
 * problems of the spec, foreign controllers and the like are conditions of the status that is planned.
 */
int group_plan_make(const struct group_input *in, struct arena *a, struct group_plan *ret_plan, struct err *err);

#endif
