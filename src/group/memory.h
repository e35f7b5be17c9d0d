/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a set of groups must remember across a restart of the agent, and the one line of text that it is stored as.
 *
 * Almost everything is derived from what is observed. What cannot be: how far a roll has come, how many replicas were
 * asked for last, which indices a choice of victims left out, how often a group was restarted (and for which
 * incarnation that was counted already), since when a group waits for room. The text is the message of the condition
 * GROUP_CONDITION_MEMORY (status.h) in the LeaderWorkerSet's status: one line that a person can read and that we parse.
 *
 *     revision 1f2e3d4c5b partition 2 groups 5 replicas 4; group 0: 3 restarts, 2 in a row, last
 *     2026-11-30T10:00:00Z, revision 1f2e3d4c5b, incarnation ab12cd34, why worker demo-0-1 failed
 *
 * Lost or unreadable memory never leads to a deletion: see plan_memory.c and rollout.h.
 *
 * Limits: GROUP_MEMORY_MAX_GROUPS groups are remembered, the text is at most GROUP_MEMORY_MAX_BYTES long; what matters
 * least is dropped: where room is short the reasons, and what decides nothing now.
 *
 * Thread rule: plain data in an arena.
 */
#ifndef TRUCE_GROUP_MEMORY_H
#define TRUCE_GROUP_MEMORY_H

#include "base/arena.h"

#define GROUP_MEMORY_MAX_GROUPS 256
#define GROUP_MEMORY_MAX_BYTES  30000 /* a condition's message may have 32,768 */
#define GROUP_WHY_MAX_BYTES     200

/* One group's history. A group without one never failed. */
struct group_restarts {
        int32_t group;
        int32_t count;          /* restarts since its revision began or the budget was given anew */
        int32_t streak;         /* of these, in a row: sets the back-off; 0 after it was ready for long enough */
        int64_t last_ms;        /* of the last restart; 0: none */
        struct str revision;    /* that it had then, and is made from again while it is not rolled */
        struct str incarnation; /* counted last; empty: none */
        bool spent;             /* the budget is used up: it is not made again */
        struct str why;         /* of the last restart; empty */
        int64_t waiting_ms;     /* released, and a member finds no node, since; 0: no */
        int32_t yields;         /* how often in a row it let go of its nodes for want of room; 0: never */
        int64_t yielded_ms;     /* when it last did */
        struct str yielded;     /* which incarnation; empty: none */
};

struct group_memory {
        struct str revision;     /* hash that was wanted; empty: unknown */
        int32_t partition;       /* lowest position that may change; -1: unknown */
        int32_t groups;          /* that should exist, surge included; -1: unknown */
        int32_t replicas;        /* spec.replicas at the time; -1: unknown */
        bool rolling;            /* a roll was under way */
        struct str budget_reset; /* value of the annotation that was acted on last */
        const int32_t *absent;   /* indices below the highest one that were chosen as victims, ascending */
        size_t absent_count;
        struct group_restarts *restarts; /* ascending by group */
        size_t restart_count;
};

/* Memory that knows nothing. */
struct group_memory group_memory_unknown(void);
/* Reads what group_memory_text() wrote. PARSE when it is anything else; *ret is untouched then. */
int group_memory_read(struct str text, struct arena *a, struct group_memory *ret_memory);
/* The text, in the arena. Equal memories have equal texts. Times are kept to the second. */
struct str group_memory_text(const struct group_memory *m, struct arena *a);

#endif
