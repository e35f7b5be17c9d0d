/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The group reconciler: makes the Pods of LeaderWorkerSets what group/plan.h says they should be. This is the part that
 * waits, asks and writes; every decision is the plan's.
 *
 * Which objects: those with the annotation `truce.dev/group-controller: embedded` that no controller owns (an owner
 * would write the object anew), or all, as the Agent document says. LeaderWorkerSets are read from the sync side's
 * cache; the rest is watched (groups_cache.h) from the first object on that is ours, so an agent without one sends no
 * request for it.
 *
 * A set is looked at when it, or anything that carries its label, changes; when the plan asks for it; and every
 * GROUPS_RESYNC_MS, which sends nothing when nothing is to be done. What was written is waited for before it is looked
 * at again: planning on a picture from before would do things twice.
 *
 * What a write answers:
 *  - 409, 404 or a patch whose test failed: the picture was old; it is looked at again.
 *  - "Already there": what it is decides. Ours: done. Another's: the plan is shown it, and says so in a condition.
 *  - Refused (403, an admission policy, an object that is not valid): that one write is tried again after a while that
 *    grows, one that is not valid is not; all are when the LeaderWorkerSet was changed. The condition WritesBlocked and
 *    an Event say so. Other groups go on.
 *  - A namespace that is being deleted: quietly nothing for GROUPS_TERMINATING_MS.
 *  - No answer, or one that the server could not serve (5xx): what the request touched is read anew first, and the set
 *    rests for a while that grows; when it goes on like that, WritesBlocked tells the server's words.
 *
 * Nothing is created for an object whose uid is not the one that was just read.
 *
 * Thread rule: loop thread only. Life cycle: loop, client, cluster and events outlive it.
 */
#ifndef TRUCE_AGENT_GROUPS_H
#define TRUCE_AGENT_GROUPS_H

#include "agent/cluster.h"
#include "agent/events.h"
#include "agent/queue.h"

#define GROUPS_ANNOTATION     "truce.dev/group-controller"
#define GROUPS_EMBEDDED       "embedded"
#define GROUPS_MANAGER        "truce-groups"
#define GROUPS_RESYNC_MS      30000
#define GROUPS_TERMINATING_MS 30000
#define GROUPS_LOOK_AGAIN_MS  60000 /* for a definition that is missing, when all objects are ours */
#define GROUPS_WORKERS        8     /* sets at a time */
#define GROUPS_PARALLEL       8     /* writes of a set at a time */

/* In the order of the words of the Agent document. */
enum groups_mode { GROUPS_ANNOTATED, GROUPS_ALL, GROUPS_OFF };

struct groups;

struct groups_env {
        struct loop *loop;
        struct kube_client *client;
        struct cluster *cluster;
        struct events *events; /* NULL: none are sent */
        enum groups_mode mode;
        /* Something of the whole does not work now, and is tried again. */
        void (*trouble)(void *ctx, const char *what, const struct err *err);
        void *ctx;
};

/* Until groups_begin() it only reads what it will want. */
struct groups *groups_new(const struct groups_env *env);
void groups_begin(struct groups *g);
void groups_free(struct groups *g);
DEFINE_CLEANUP(struct groups *, groups_free)

struct gvk groups_gvk(void);
/* Is it one that truce runs? `lws` is the object. */
bool groups_is_ours(const struct value *lws, enum groups_mode mode);

/* From the cluster's hooks: discovery was read; an object of the kind changed, or went (`live` NULL). */
void groups_discovered(struct groups *g);
void groups_changed(struct groups *g, struct str id, const struct live *live);

/* --- for metrics ---------------------------------------------------------------------------------------------- */

enum groups_state {
        GROUPS_STATE_OFF,
        GROUPS_STATE_ABSENT, /* the cluster does not serve the kind */
        GROUPS_STATE_IDLE,   /* no object is ours */
        GROUPS_STATE_SYNCING,
        GROUPS_STATE_RUNNING,
        GROUPS_STATE_FAILED, /* a kind cannot be read */
};
enum groups_state groups_state(const struct groups *g);

/* One LeaderWorkerSet. Texts are borrowed until the next turn. */
struct groups_set_stats {
        struct str ns, name;
        size_t groups, ready;        /* that exist */
        uint64_t restarts;           /* counted while this agent ran */
        struct queue_times recreate; /* from a restart to Ready again */
};
/* Walks all in no order, none before groups_begin(): size_t at = 0; while (groups_next(g, &at, &stats)) … */
bool groups_next(const struct groups *g, size_t *at, struct groups_set_stats *ret_stats);
void groups_queue_stats(const struct groups *g, struct queue_stats *ret_stats);

#endif
