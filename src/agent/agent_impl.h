/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agent.c (wiring), agent_commit.c (from a commit to a desired set), agent_status.c (what `truce status` shows) and
 * agent_events.c (what `kubectl describe` shows) share.
 */
#ifndef TRUCE_AGENT_AGENT_IMPL_H
#define TRUCE_AGENT_AGENT_IMPL_H

#include "agent/agent.h"

struct events;
struct render;

/* A word of a remote that an application follows. Sources that follow the same one share it. */
struct feed {
        struct entry *entry;
        const struct config_source *source; /* the first of them */
        struct poll_subscription *poll;
        struct arena *news_arena;
        struct poll_news news;      /* newest fetched commit; strings in news_arena */
        bool has_news;
        struct err err;             /* why it cannot be looked at; code 0: it can */
};

/* One application and the way its commits take. */
struct entry {
        struct agent *agent;
        const struct config_app *config;
        struct app *app;
        struct feed *feeds;
        size_t feed_count;
        size_t *feed_of;            /* of each source */
        bool stale;                 /* a feed has a newer commit than what was rendered last */
        bool held_back;             /* and it cannot be rendered, as another feed cannot be looked at */
        struct render *render;      /* under way */
        bool render_again;
        struct agent_revision revision; /* in force */
        struct arena *revision_arena;
        struct err err;
        struct err rejected;        /* why the newest commit is not in force; code 0: it is */
        int64_t rejected_since_ms;  /* loop time of the first of those that were rejected, or held back, in a row */
        bool unread;                /* the newest commit is to be rendered again though it is known */
        bool told_settled;          /* of the commit in force */
        int64_t asked_ms;           /* when its Git was looked at for another application; 0: never */
        bool wants_record;          /* the stored status is being read, to bring the last good commit back */
        bool brought_back;          /* that has been tried to its end */
        bool wants_recall;          /* the stored status is being read, for the commit that was applied last */
        struct desired_set *ahead;  /* newest commit that was read while it stands by; NULL: none */
        bool recalled;              /* what that one wanted is known, as far as it can be */
        bool health_known;          /* its health was known once */
        bool degraded;              /* it was, and has not recovered since */
        char *degraded_id;          /* whose Event tells it; NULL: none does */
};

/* Parsed files. A render that outlives the agent keeps it, so that the agent need not wait for pool threads. */
struct cache {
        struct manifest_cache *files;
        unsigned users;
};

struct agent {
        struct loop *loop;
        const struct config *config;
        struct agent_options options;
        struct agent_hooks hooks;
        void *ctx;
        struct kube_transport *transport;
        struct kube_client *client;
        struct cluster *cluster;
        struct store *store;
        char *config_trouble;       /* of the newest configuration; NULL: it is in force */
        struct events *events;      /* NULL: none are sent */
        struct groups *groups;      /* NULL: groups are not run */
        struct judge *judge;        /* NULL: health is no matter */
        struct scaler_index *scalers;
        struct jq_engine *jq, *own_jq; /* NULL: no rule has a program; another's engine is none of ours to free */
        struct map *scaler_targets; /* id of a scaler → id of what it scales */
        struct map *desired_targets; /* what scalers of Git scale: id → itself */
        char *scaler_coming; /* id of the definition of a kind of scaler, or of groups, that is not served yet; NULL: none */
        struct loop_timer *scaler_look; /* asks whether it is */
        int scaler_tries;
        struct loop_timer *know; /* asks again which scalers there are */
        int64_t know_asked_ms;   /* when it was asked last */
        bool know_asking;        /* an answer is waited for */
        bool know_wanted;        /* somebody waits for scalers to be known */
        struct poller *poller;
        struct cache *cache;
        struct entry *entries;
        size_t count;
        struct loop_timer *retry;
        unsigned attempts;
        bool begun;                 /* agent_start() was called; else it stands by, and nothing is decided on */
        bool looks_again;           /* standing by, it is to discover anew */
        bool opened, discovering, discovered;
        bool *ignores_told; /* of the rules for all applications: whether one does anything is known, and told */
        struct agent_stats stats;
};

/* Why Git cannot be looked at, or else what is wrong with its newest commits; code 0: nothing is. */
struct err entry_git_err(const struct entry *e);
/* Is there a commit of each of its sources? */
bool entry_has_news(const struct entry *e);
/* Are its newest commits, all of them, those in force? */
bool entry_is_current(const struct entry *e);
/* Are its newest commits not in force, for what is wrong with one of them or with a look at another? */
bool entry_is_behind(const struct entry *e);

/* The entry of one of its applications. */
struct entry *agent_entry_of(const struct agent *agent, const struct app *app);

struct cache *cache_new(void);
void cache_unref(struct cache *c);

/*
 * Renders the newest commits that were fetched; a render under way is given up for them. Of several sources each is looked
 * at first, unless that was done since the newest commit of all was noticed; the news of the last one brings it back here.
 */
void entry_render(struct entry *e);
/* It stands by no more: what was rendered ahead was for looking at the cluster only. */
void entry_end_ahead(struct entry *e);
/* A kind of what was rendered ahead is not served yet. */
void agent_look_ahead_again(struct agent *agent);
/* Nobody wants the result of the render under way any more. */
void entry_drop_render(struct entry *e);
/* The kinds that the cluster serves have changed: the commit in force is rendered again. */
void entry_rebind(struct entry *e);
/*
 * While nothing is in force and the newest commit cannot be: the commit that was applied last, by this agent or the one
 * before it, is put in force again, to heal by. Does nothing when that is not so, or has been tried.
 */
void entry_bring_back(struct entry *e);

/* What status() would say has changed: it is composed and stored anew. */
void entry_tell_status(struct entry *e);
/* INVAL when the application that the cluster knows by this name is another one. After app_hooks.loaded. */
int entry_check_name(const struct entry *e, struct err *err);
/* The hook app_hooks.status. */
void entry_status(struct entry *e, struct str old_text, struct buf *out);
/* Sends the Events that an outcome is worth. */
void agent_events_of(struct events *events, const struct outcome *o);
/* The same, where the outcome does not have the object: of one that could not be deleted. */
void agent_tell_outcome(struct agent *agent, const struct app *app, const struct outcome *o);
/* Scalers that Git wants changed with the set in force. */
void agent_index_desired_scalers(struct agent *agent);
/* A live one came, changed or went (`live` NULL). */
void agent_scaler_changed(struct agent *agent, struct str id, const struct live *live);
/* --- agent_others.c: hooks of app_hooks -------------------------------------------------------------------------- */

struct str agent_rival(void *ctx, const struct app *app, struct str id, struct str tracked_by);
bool agent_given_up(void *ctx, const struct app *app, struct str id, struct str tracked_by, bool *ret_made);
bool agent_others_begin(void *ctx, const struct app *app);
struct app *agent_other(void *ctx, const struct app *app, size_t at);
bool agent_others_known(void *ctx, const struct app *app, bool again);
void agent_pruned(void *ctx, struct app *app);
struct str agent_unread_by(void *ctx, const struct app *app);

/* --- agent_health.c: the hook app_hooks.health -------------------------------------------------------------------- */

void agent_health(void *ctx, struct app *app);

/* --- scalers ------------------------------------------------------------------------------------------------------ */

/* The hook app_hooks.knows_scalers. */
bool agent_knows_scalers(void *ctx, int64_t since_ms);
/* Timer function: asks for what agent_knows_scalers() lacked. */
void agent_ask_for_scalers(void *ctx);
/* A kind was listed: those who wait for scalers to be known may look again. */
void agent_scalers_may_be_known(struct agent *agent);
/* Watches every kind of scaler that is served: also one that was installed later. */
void agent_want_scalers(void *ctx);
/* Is it the definition of a kind of scaler? */
bool agent_defines_scaler(struct str id);
void agent_scaler_is_coming(struct agent *agent, struct str id);
void agent_look_for_scaler(void *ctx);

/* --- agent_groups.c: the group reconciler of an agent that stays --------------------------------------------------- */

void agent_open_groups(struct agent *agent);
/* Does it define the kind that the reconciler runs? */
bool agent_defines_groups(const struct agent *agent, struct str id);
/* An object of any kind came, changed or went (`live` NULL). */
void agent_groups_see(struct agent *agent, const struct kube_resource *r, struct str id, const struct live *live);

#endif
