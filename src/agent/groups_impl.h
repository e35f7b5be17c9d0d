/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What groups.c (which sets, and when), groups_pass.c (one look at one set), groups_do.c (its writes), groups_refuse.c
 * (writes that are refused) and groups_tell.c (metrics) share.
 */
#ifndef TRUCE_AGENT_GROUPS_IMPL_H
#define TRUCE_AGENT_GROUPS_IMPL_H

#include "agent/gates.h"
#include "agent/groups.h"
#include "agent/groups_cache.h"
#include "group/plan.h"
#include "group/status.h"

struct pass;

/* A write that the server refused. */
struct refusal {
        enum group_action_kind kind;
        enum group_object object;
        char *name;
        enum err_code code;
        char *text; /* the server's words */
        unsigned tries;
        int64_t until_ms;     /* not sent again before; INT64_MAX: not for what is asked for now */
        struct hash128 asked; /* what was asked for then */
};

/* What is remembered of a group for metrics. */
struct row_seen {
        int32_t index, restarts;
        int64_t since_ms; /* of a restart that did not end yet; 0: none */
};

/* One LeaderWorkerSet that is ours. */
struct set {
        struct groups *groups;
        char *key;           /* "namespace/name" */
        struct str ns, name; /* in `key` */
        char *uid;
        struct hash128 asked; /* of its generation, annotations and deletion: what a person or Git can change */
        struct gates gates;   /* own writes that the cache must show before it is looked at again */
        struct refusal *refusals;
        size_t refusal_count, refusal_cap;
        struct map *made; /* name of a Pod → when it was created, struct moment */
        bool checked;     /* its Pods were read since groups_begin() */
        bool outdated;    /* the object was another one by now than what a status was for */
        bool unsure;      /* what was created went: it may be another object by now */
        int64_t terminating_until_ms;
        unsigned mishaps;      /* runs in a row with a request that broke, or that the server could not serve */
        int64_t rest_until_ms; /* nothing is sent before: what is read after each of them wakes the set */
        char *mishap;          /* the server's words of the newest; NULL: it had none */
        struct row_seen *rows;
        size_t row_count;
        struct groups_set_stats stats;
        struct pass *pass; /* under way */
};

/* From so many on people are told. */
#define GROUPS_MISHAPS_TOLD 3

struct moment {
        int64_t at_ms;
};

struct groups {
        struct groups_env env;
        struct cluster_kind *kind;  /* NULL: not served, or not wanted */
        struct groups_cache *cache; /* NULL: no object was ever ours */
        struct queue *queue;
        struct map *sets;        /* key → struct set */
        struct loop_timer *look; /* asks whether the kind is served */
        bool begun;              /* groups_begin() was called */
        int64_t doubt_until_ms; /* what the cache read ahead may be behind what the one before wrote; 0: it read nothing
                                 */
        bool was_synced;        /* the cache, when it told of itself last */
        enum err_code was_err;
        bool told_absent;
};

/* --- groups.c ------------------------------------------------------------------------------------------------- */
const struct live *set_live(const struct set *s);
/* Takes over what is known of the object by now, which may be another one; false: it is gone, or not ours. */
bool set_take(struct set *s);
/* The table of what an action is about. */
enum groups_table table_of(enum group_object object);

/* --- groups_pass.c: begun by the queue's run() ---------------------------------------------------------------- */

struct doing {
        struct pass *pass;
        const struct group_action *action;
        struct kube_op *op;
};

struct pass {
        struct set *set;
        struct arena *arena;
        struct group_spec spec;
        struct group_problems problems;
        struct group_observed observed;
        struct group_plan plan;
        struct hash128 asked;   /* what the plan is about: by the time of an answer the set may be asked for more */
        bool *went;             /* which of its actions did */
        size_t next;            /* action */
        bool mishap;            /* is counted */
        bool failed;            /* a write of this phase did: nothing of a later one is sent */
        const int32_t *skipped; /* groups of which a write is refused: nothing more of them is sent */
        size_t skipped_count;
        enum queue_end end;
        int64_t after_ms;
        struct doing doing[GROUPS_PARALLEL];
        size_t in_flight;
        struct kube_op *op; /* of the look itself: a GET, or the condition */
        struct informer_check *check;
        struct str rv;             /* of the object that the plan is about */
        enum groups_table doubted; /* what that GET is about */
        struct str doubted_name;
};

void pass_begin(struct set *s);
/* Ends it; first the condition that tells of refusals is written when it is not as it should be. */
void pass_done(struct pass *p);
/* Applies what is ours of a status of the object, which was decided on when it had this resourceVersion. */
struct kube_op *pass_write_status(struct pass *p, const struct value *status, struct str rv, kube_done_fn done,
                                  void *ctx);
/* Ends it without a word to the queue. */
void pass_free(struct pass *p);

/* --- groups_do.c ---------------------------------------------------------------------------------------------- */
/* Sends what the plan has; pass_done() in a later turn, or in here. */
void pass_perform(struct pass *p);

/* --- groups_refuse.c ------------------------------------------------------------------------------------------ */
void refusals_clear(struct set *s);
/* Takes the values of environment variables that Git has in what was to be made out of what the server said of it. */
void conceal_env(const struct value *body, struct err *err);
/* `asked`: what the action was planned for. */
void refuse(struct set *s, const struct group_action *action, struct hash128 asked, const struct err *err);
/* The action works now. */
void refusal_over(struct set *s, const struct group_action *action);
/* Those of writes that are not planned any more are forgotten. */
void refusals_keep(struct set *s, const struct group_plan *plan);
/* Is it to be left out now? Then *soonest_ms may become the time until it is worth another try. */
bool is_refused(const struct set *s, const struct group_action *action, int64_t *soonest_ms);
/* False: neither is anything refused, nor does the object say so. */
bool may_be_blocked(const struct set *s, const struct live *live);
/* The status with the condition WritesBlocked as it should be, in the arena; NULL: it is so. */
const struct value *blocked_status(struct set *s, const struct value *lws, struct arena *a);

/* --- groups_tell.c -------------------------------------------------------------------------------------------- */
/* Those of the plan that became true. */
void tell_events(const struct pass *p);
void tell_refusal(const struct set *s, const struct group_action *action, const struct err *err);
void note_rows(struct set *s, const struct group_plan *plan);

#endif
