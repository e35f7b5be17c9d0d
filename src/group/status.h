/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a LeaderWorkerSet: counters and conditions from what is observed. Types, reasons and messages are those
 * of the LeaderWorkerSet API (Available/AllGroupsReady, Progressing/GroupsProgressing,
 * UpdateInProgress/GroupsUpdating), so that `kubectl wait`, dashboards and health rules need not know who wrote it.
 * Counters are counted anew each time.
 *
 * One status, one write: all that a pass found is in the value that it returns. Where nothing changed it is `before`.
 *
 * Where it differs from the LeaderWorkerSet controller's (docs/groups.md says it for people): the three conditions are
 * there from the first write, also as False; one that is False says why in reason and message (the controller leaves
 * the words of when it was True); all of them carry observedGeneration; hpaPodSelector is repaired.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_GROUP_STATUS_H
#define TRUCE_GROUP_STATUS_H

#include "base/value.h"
#include "group/rollout.h"

struct group_spec;

#define GROUP_CONDITION_AVAILABLE   "Available"
#define GROUP_CONDITION_PROGRESSING "Progressing"
#define GROUP_CONDITION_UPDATING    "UpdateInProgress"
#define GROUP_CONDITION_DEGRADED    "Degraded"
#define GROUP_CONDITION_STALLED     "Stalled"
#define GROUP_CONDITION_BACKOFF     "RestartBackoff"
#define GROUP_CONDITION_WAITING     "WaitingForCapacity"
#define GROUP_CONDITION_STUCK       "TerminatingStuck"
#define GROUP_CONDITION_BLOCKED     "WritesBlocked"     /* of who sends the writes; group_status_ours() keeps it */
#define GROUP_REASON_FOREIGN        "ForeignController" /* of Stalled */
#define GROUP_CONDITION_MEMORY      "truce.dev/Groups"  /* message: group_memory_text() */

struct group_count {
        int32_t groups;       /* existing, surge included: HPA sees these */
        int32_t ready;        /* of them: every pod Running and Ready */
        int32_t updated;      /* of them: of the wanted revision */
        int32_t ready_within; /* of the ready ones: index < replicas */
        int32_t behind;       /* existing at index partition ≤ i < replicas, not of the wanted revision */
};

/* Counts `count` groups by index. `partition` is the user's. */
struct group_count group_count_of(const struct group_rollout_group *groups, size_t count, int32_t replicas,
                                  int32_t partition);

/* A condition beside the three. */
struct group_condition {
        const char *type;
        bool on;
        const char *reason;
        struct str message;
};

enum group_status_scope {
        GROUP_STATUS_WHOLE,   /* counters, the three conditions, `extra`, memory */
        GROUP_STATUS_STALLED, /* the spec cannot be acted on: Progressing is False, Available as it was; the rest as
                                 WHOLE */
        GROUP_STATUS_FOREIGN, /* somebody else runs the object: `extra` alone; all else is as it was */
};

struct group_status_in {
        const struct group_spec *s;
        const struct value *before; /* the live status; NULL: none yet */
        enum group_status_scope scope;
        struct group_count count;
        bool update_in_progress; /* groups that should be updated are not: count.behind > 0 */
        /*
         * Those that are off are written only when they were there before; our types (above) that are not listed count
         * as off. Of Degraded and Stalled, being on also makes Progressing False (but for an update in progress).
         */
        const struct group_condition *extra;
        size_t extra_count;
        struct str memory; /* empty: what was stored stays */
        int64_t now_ms;    /* Unix time */
};

/*
 * The whole status to write; value_equal() to `before` when nothing changed, whatever the order of its conditions.
 * Fields and conditions that are not ours are kept as they are.
 */
const struct value *group_status_build(const struct group_status_in *in, struct arena *a);

/*
 * The part of a status that is ours: what a server-side apply of it must hold. To apply others' conditions would make
 * us an owner of them, and nobody could remove them again. With scope FOREIGN only conditions of our own types: the
 * rest is the other one's to write from then on.
 */
const struct value *group_status_ours(const struct value *status, enum group_status_scope scope, struct arena *a);
/* Of which scope the status is that was written last: FOREIGN where it says that somebody else runs the object. */
enum group_status_scope group_status_scope_of(const struct value *status);

/* What people are told (an Event on the object) because a condition flipped. Strings live as long as `after` and the
 * arena. */
struct group_told {
        bool warning;
        struct str reason, message;
};

/*
 * What to tell of the step from `before` to `after` (NULL: no status yet); nothing when both say the same. The change
 * of phase is told as the LeaderWorkerSet controller does: "Replicas are progressing, with 2 groups ready of total 3
 * groups". A condition that is a trouble (our types) is a warning when it comes on, with its own words.
 */
void group_status_events(const struct value *before, const struct value *after, int32_t replicas, struct arena *a,
                         const struct group_told **ret_told, size_t *ret_count);

#endif
