/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent: wires Git, the cluster and the applications together on one loop. `truce run` is an agent that stays,
 * `truce sync` and `truce diff` are agents that end when their application is settled.
 *
 * Start: key and inventory namespace → discovery → scalers are watched → Git is polled → each new commit is rendered and
 * bound on a pool thread → put in force (agent/app.h). A step that fails is told and tried again with back-off; nothing
 * is ever applied on a part of the picture.
 *
 * A commit of which some document cannot be read is not put in force: the last good one stays, also when the agent was
 * started anew meanwhile: the commit that was applied last is then fetched by its id, as long as the repository has it.
 * Objects that are refused one by one (hooks, waves, protected ones) do not hold up the rest.
 *
 * An application of several sources has a commit of each, and they are put in force together or not at all: when one of
 * them is new, the others are looked at as of then, and while one cannot be looked at, fetched or rendered, the last
 * combination that could be stays.
 *
 * Thread rule: loop thread only. Life cycle: loop, transport and configuration outlive the agent.
 */
#ifndef TRUCE_AGENT_AGENT_H
#define TRUCE_AGENT_AGENT_H

#include "agent/app.h"
#include "agent/groups.h"
#include "agent/poller.h"
#include "kube/transport.h"

struct agent;

/* Where a commit's way to the cluster stands, in ms of the loop's clock; 0: not yet. */
struct agent_timeline {
        int64_t noticed_ms, fetched_ms, rendered_ms, applied_ms, observed_ms;
};

/* The commit of one source. */
struct agent_commit {
        char id[GIT_OID_HEX_BYTES + 1];
        struct str ref, subject;
};

/* What is in force of an application: a commit of each of its sources. Borrowed until the next event. */
struct agent_revision {
        struct str text;                    /* desired_revision_text(); empty: nothing is in force yet */
        const struct agent_commit *commits; /* in the order of config_app.sources */
        size_t count;
        struct agent_timeline timeline;     /* noticed and fetched: the last of them */
        bool stands_in; /* an older commit, while the newest one cannot be put in force: heals, prunes nothing */
};

/* What has become of the health of an application since it was told last. */
enum agent_health_news {
        AGENT_HEALTH_AS_IT_WAS, /* or it is of no interest to who is not waiting for it */
        AGENT_HEALTH_DEGRADED,  /* also when the agent finds it so as it starts */
        AGENT_HEALTH_RECOVERED, /* it was Degraded, and is Healthy or Suspended now */
};

/* Functions that are NULL are not called. */
struct agent_hooks {
        void (*outcome)(void *ctx, struct app *app, const struct outcome *outcome);
        void (*waiting)(void *ctx, struct app *app, const char *what);
        /* A commit was put in force (rejected NULL), or was not: its problems are in the set. */
        void (*revision)(void *ctx, struct app *app, const struct agent_revision *revision,
                         const struct desired_set *set, const struct err *rejected);
        void (*settled)(void *ctx, struct app *app, const struct err *prune_err);
        /* Every write of a commit has come back; once a commit, with poll_once each time. */
        void (*observed)(void *ctx, struct app *app, const struct agent_timeline *timeline);
        /* Something of the whole does not work now; `what` names it ("git", "discovery", "inventory", …). Tried again. */
        void (*trouble)(void *ctx, struct app *app, const char *what, const struct err *err);
        /* A setting at `place` ("file:line") does not do what it says; told once. */
        void (*remark)(void *ctx, struct app *app, const char *place, const char *text);
        /* What app_health() or app_health_message() say may be another; at most once a turn. */
        void (*health)(void *ctx, struct app *app, enum agent_health_news news);
};

/* The same with a function that does nothing in each empty place: for those who pass calls on. */
struct agent_hooks agent_hooks_completed(const struct agent_hooks *hooks);

struct agent_options {
        bool read_only;            /* diff: nothing is ever written, not even the key */
        bool watch_only;           /* owners: nothing is decided on by itself, see app_explain() */
        bool foretell;             /* adopt: with read_only, see struct adoption */
        /* NULL: a real remote by git_remote_open(). The twin for tests otherwise. */
        struct git_source *(*open_source)(void *ctx, const struct config_source *source, struct err *err);
        void *open_ctx;
        struct jq_engine *jq;      /* for ignore rules with programs; NULL: a worker process, made when there are such rules */
        bool poll_once;            /* one-shot commands */
        bool follow;               /* with poll_once: Git is looked at again as configured, for newer commits */
        bool keep_sources;         /* Git's side with its lines stays in memory, as in one-shot commands */
};

/* `config` must have been settled. INVAL for an URL that is none; what cannot be opened is trouble, and tried again. */
int agent_new(struct loop *l, struct kube_transport *t, const struct config *config,
              const struct agent_options *options, const struct agent_hooks *hooks, void *ctx,
              struct agent **ret_agent, struct err *err);
void agent_free(struct agent *agent);
DEFINE_CLEANUP(struct agent *, agent_free)

/* The remote repository of a source, with its credentials and the agent's settings. Errors as git_remote_open(). */
int agent_open_remote(const struct config *c, const struct config_source *source, struct git_source **ret_source,
                      struct err *err);

/* How a source's folder is rendered for an application. */
struct manifest_source agent_manifest_source(const struct config *c, const struct config_app *app,
                                             const struct config_source *source);

/* Begins; callbacks come from the loop. */
void agent_start(struct agent *agent);
/*
 * Before agent_start(), for one that may be the next to write: reads ahead what will be wanted (discovery, scalers, the
 * kinds of what Git has, what groups are made of) and keeps it current, so that agent_start() lists no kind anew. Nothing is
 * decided on or written, and of inventories nothing is read: they are another one's by now.
 */
void agent_stand_by(struct agent *agent);
/* Looks at Git now (webhook, SIGHUP). */
void agent_poll_now(struct agent *agent);

/*
 * The configuration as it is now cannot be used, and why; the one before stays in force. NULL: it can. Shown in statuses and
 * metrics.
 */
void agent_note_config(struct agent *agent, const char *why);
const char *agent_config_trouble(const struct agent *agent); /* NULL: none */

size_t agent_app_count(const struct agent *agent);
struct app *agent_app(const struct agent *agent, size_t i);
void agent_app_revision(const struct agent *agent, size_t i, struct agent_revision *ret_revision);
/* Why the application's source cannot be read or its newest commit is not in force; code 0: all is well. */
const struct err *agent_app_err(const struct agent *agent, size_t i);
/* What is shown of an application: Unknown as well while its newest commit cannot be compared with. */
enum app_sync_status agent_sync_status(const struct agent *agent, const struct app *app);

/* Ready: the picture is complete and kept current (key, discovery, a revision in force, the API server is there). */
bool agent_is_ready(const struct agent *agent);
struct cluster *agent_cluster(const struct agent *agent);
/* The group reconciler; NULL: it is off, or the agent is not one that stays. */
const struct groups *agent_groups(const struct agent *agent);

struct agent_stats {
        struct poller_stats polls;
        uint64_t commits_applied, outcomes[OUTCOME_FAILED + 1];
        struct agent_timeline last; /* of the newest observed commit */
        uint64_t heals;
        int64_t last_heal_ms;       /* from the watch event to the end of the write */
        size_t kinds, live;
        struct kube_transport_stats api; /* requests to the API server */
        struct judge_stats health;
};
void agent_stats(const struct agent *agent, struct agent_stats *ret_stats);

#endif
