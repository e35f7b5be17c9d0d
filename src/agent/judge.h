/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the health of live objects on a pool thread: one job at a time for all applications of an agent, so that
 * renders find a thread whatever a script does, with as many objects as the last jobs were quick.
 *
 * Who has an object keeps a ticket for it. A ticket that was handed in waits in the lane of its rule; when its turn comes
 * the object's text is asked for and copied, and later the answer is given. Meanwhile it may be handed in again: then it
 * is judged again.
 *
 * Lanes share the thread: the next object is of the lane whose rule was the least work so far, as one that begins to wait
 * counts no less than who is served then (start-time fair queuing). So objects of a quick rule wait for about as much of
 * others' work as is done on themselves, and one object; none waits for ever. A rule that is much work for an object gets
 * jobs of its own, and a job ends when it has become more than JUDGE_MAX_WORK_NS. Work is counted, not measured
 * (lua/script.h), so it is the same order in each run.
 *
 * Scripts fail one object each. What a script did wrong is remembered by its name, so that it can be told once.
 *
 * Thread rule: loop thread; rules are read on pool threads. Life cycle: tickets are withdrawn before the judge is
 * freed; a job under way may outlive it.
 */
#ifndef TRUCE_AGENT_JUDGE_H
#define TRUCE_AGENT_JUDGE_H

#include "base/loop.h"
#include "health/rules.h"

#define JUDGE_MAX_OBJECTS 32               /* of one job */
#define JUDGE_MAX_BYTES   (256 * 1024)     /* of their texts, but for the last one */
#define JUDGE_SLOW_MS     20               /* a job that took longer is followed by a smaller one */
#define JUDGE_MAX_WORK_NS (20 * UINT64_C(1000000)) /* of one job, but for its last object */
#define JUDGE_BUSY_MS     1000             /* before each job, while somebody writes */

struct judge;
struct judge_lane;
struct judge_slot;

/* Zeroed at first; belongs to the judge while it is handed in. */
struct judge_ticket {
        struct judge_ticket *next, *prev;
        struct judge_lane *lane; /* of its kind's rule, once it was handed in */
        struct judge_slot *slot; /* of the job that has it */
        bool waits;
};

/* What is asked. */
struct judge_input {
        struct str text;    /* the live object as JSON; empty: there is nothing to be judged any more */
        struct str class;   /* the StorageClass of a claim as JSON; empty: it is not known, or no matter */
        int64_t applied_ms; /* as in struct health_question */
};

/* What is known of an object now. Borrowed during the call. */
struct judgement {
        struct health health;
        bool publishes_generation; /* health_publishes_generation() */
};

struct judge_hooks {
        /* Its turn has come. Nothing may be handed in here. */
        struct judge_input (*input)(struct judge_ticket *t);
        void (*judged)(struct judge_ticket *t, const struct judgement *j);
        /* A script failed, the first time in this way: `rule` is its name. */
        void (*failed)(void *ctx, struct judge_ticket *t, const char *rule, struct str message);
};

/* Why scripts failed. */
enum judge_failure { JUDGE_ERROR, JUDGE_TIMEOUT, JUDGE_MEMORY, JUDGE_FAILURES };

struct judge_stats {
        uint64_t evaluations, failures[JUDGE_FAILURES];
        int64_t took_us; /* on pool threads */
};

/* Keeps the rules. */
struct judge *judge_new(struct loop *l, struct health_rules *rules, const struct judge_hooks *hooks, void *ctx);
void judge_free(struct judge *j);
DEFINE_CLEANUP(struct judge *, judge_free)

/*
 * Behind all that wait for the same rule: the one of that kind, which is always the same for a ticket. One that waits
 * already stays where it is.
 */
void judge_hand_in(struct judge *j, struct judge_ticket *t, struct str group, struct str kind);
/* Nothing is answered to it any more; also one that was never handed in. */
void judge_withdraw(struct judge *j, struct judge_ticket *t);
/* Waits, or is being judged. */
bool judge_has(const struct judge_ticket *t);
/* Somebody begins to write, or has ended: what is written now will change again in a moment. Calls are counted. */
void judge_busy(struct judge *j, bool busy);
/* Is there a rule for the kind, beside that for kinds nobody knows? */
bool judge_has_rule(const struct judge *j, struct str group, struct str kind);
void judge_stats(const struct judge *j, struct judge_stats *ret_stats);

#endif
