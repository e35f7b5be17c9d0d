/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a roll of groups may go now: the arithmetic of partition, maxSurge and maxUnavailable, and nothing else.
 *
 * The two numbers that a LeaderWorkerSet's rollout moves are the partition p (groups with an index ≥ p become the
 * wanted revision, those below keep theirs) and the number of groups n that should exist (above `replicas` while surge
 * groups stand in). The caller carries them out: it replaces what is outdated at or above p, makes and removes groups
 * until there are n, remembers both, and asks again when something changed. The order in which p and n move is the one
 * that users of the LeaderWorkerSet controller see; docs/groups.md says it for people.
 *
 * With R replicas, S maxSurge (rounded up, at most R) and U maxUnavailable (rounded down, at most R):
 *  - n is R, or between R and R + S while there are groups of an older revision or surge groups of the roll;
 *  - p goes down only, from R to the user's partition; a new revision, and the user's partition, may raise it;
 *  - p goes down to R − U − t, where t is how many groups in a row, from the top, are ready and updated; for each group
 *    below that is not ready it stays one higher. Groups that are not ready cost nothing when they come next;
 *  - so a roll by itself, from all ready, keeps R − U groups ready and at most R + S at every moment.
 *
 * Where it differs from the LeaderWorkerSet controller's arithmetic, in trouble only:
 *  - p is not lowered, and n not, where that takes away a ready group and leaves fewer than R − U; unless it is above
 *    R + S (the replicas went down). By their places alone, several broken groups, or a new revision in the middle of a
 *    roll, would. A recorded p that was not carried out yet stays, but one that takes more than U + S at once (it is
 *    wrong, or of another spec) is raised;
 *  - broken groups of the old revision use up maxUnavailable, and the controller waits for them for ever, though the
 * new revision may be what repairs them. When nothing else can move, `repair` names such a group;
 *  - both budgets round to zero (25 % of 3, no surge): 1 is used for maxUnavailable, and `clamped` says so, as there
 *    would be no end;
 *  - without another revision among the groups there is no roll, whatever partition was recorded: n is R at once.
 *
 * Any input is answered, also one that contradicts itself; counts below zero are taken as zero. O(count + replicas).
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_GROUP_ROLLOUT_H
#define TRUCE_GROUP_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "group/budget.h"

/* One group. One whose old pods are not gone yet, or whose new ones are not made, does not exist. */
struct group_rollout_group {
        bool exists;
        bool ready;   /* every pod is Running and Ready */
        bool updated; /* carries the wanted revision */
};

struct group_rollout_in {
        int32_t replicas;
        int32_t partition; /* the user's */
        struct group_budget max_unavailable, max_surge;
        bool rolling; /* groups of another revision exist, or the roll is not over; also seen from `groups` and the
                         record */
        bool fresh;   /* the first pass of a new revision */
        int32_t now_partition, now_groups, recorded_replicas; /* as remembered of the last pass; -1: unknown */
        const struct group_rollout_group *groups;             /* by index, from 0 */
        size_t count;
};

struct group_rollout {
        int32_t partition; /* the lowest index that may change; may be above `groups` (the user's partition) */
        int32_t groups;    /* how many should exist */
        /*
         * A group below `partition` that is to be replaced (or, when it does not exist, made) by the wanted revision as
         * well: it is not ready, and nothing else can move. -1: none.
         */
        int32_t repair;
        int32_t max_unavailable, max_surge; /* as used: in groups, at most `replicas` */
        bool clamped;                       /* both rounded to zero: a maxUnavailable of 1 is used */
};

/*
 * The next partition and number of groups. Record `partition`, `groups` and `replicas`, and hand them in again. Asked
 * again about the same groups, the answer settles after at most three calls.
 */
struct group_rollout group_rollout_step(const struct group_rollout_in *in);

#endif
