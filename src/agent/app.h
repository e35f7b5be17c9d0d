/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One application: its desired objects, its inventory, and the work that brings the cluster to the one and keeps the
 * other true.
 *
 * What drives it: a new set of desired objects (app_set_desired), changes of live objects (app_live_changed), kinds that
 * become readable (app_kinds_changed), timers for retries. Everything ends in one function, the pump (app.c), which
 * takes the next step that is due and returns:
 *
 *   kinds read → objects looked at that may exist unseen → inventory saved as a superset → namespaces → CRDs, until they
 *   are Established → everything else, in parallel → prune, stage by stage → inventory saved → settled
 *
 * A new desired set may come at any time: what is in flight is finished, waits and retries of the old set are dropped.
 * One object's failure stops nothing but what depends on it. Objects are worked on by struct op (op.c), one at a time
 * each.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_AGENT_APP_H
#define TRUCE_AGENT_APP_H

#include "agent/cluster.h"
#include "agent/config.h"
#include "agent/desired.h"
#include "agent/judge.h"
#include "agent/store.h"
#include "manifest/tracking.h"
#include "own/explain.h"
#include "own/foretell.h"

enum outcome_kind {
        OUTCOME_UNCHANGED,
        OUTCOME_CREATED,
        OUTCOME_CONFIGURED,
        OUTCOME_HANDED_OVER, /* ownership moved, no value */
        OUTCOME_DIFFERS,     /* diff mode: an apply would change it */
        OUTCOME_MISSING,     /* diff mode: an apply would create it */
        OUTCOME_EXTRA,       /* diff mode or prune off: it would be pruned */
        OUTCOME_PRUNED,
        OUTCOME_KEPT,        /* left Git, stays: `reason` */
        OUTCOME_PARKED,
        OUTCOME_WAITING,     /* being deleted, or waited for */
        OUTCOME_SKIPPED,
        OUTCOME_REFUSED,
        OUTCOME_FAILED,
};

/*
 * What a sync that takes an object on would make of it (app_env's `foretell`). Marks of other deployers are looked past as
 * far as they can be lifted: what is decided and foretold is what comes when they are gone.
 */
struct adoption {
        struct tracker tracker;      /* whose the live object is by its marks */
        struct str held_by;          /* the `owner` of the first because of which a sync refuses the object today; empty: none */
        bool ours;                   /* it is in our inventory already */
        const struct decide_input *in; /* what was decided on; in->live NULL: it does not exist */
        const struct foretold *foretold; /* NULL: it cannot be told, see the outcome */
};

/* What happened to one object. Borrowed during the hook. */
struct outcome {
        enum outcome_kind kind;
        const char *id;
        struct str file;              /* empty: not known */
        uint32_t line;
        bool secret;
        const struct mask_annotations *mask; /* what else nobody may see; the agent sets it */
        const struct err *err;        /* REFUSED, FAILED */
        bool mishap;                  /* the request got lost, or lost a race: it says nothing about the object */
        const char *reason;           /* in words; may be "" */
        int64_t retry_in_ms;          /* FAILED: -1 not until Git or the schema changes */
        const struct value *before;   /* the live object before, NULL: none or not needed */
        const struct value *after;    /* the live object now, or what a dry-run answered */
        const struct managed *before_owners, *after_owners;
        const struct value *desired;
        const struct value *source;   /* Git's side with lines; NULL: not kept */
        const struct schema *type;
        const struct decide_note *notes;
        size_t note_count;
        bool notes_are_new;           /* they differ from what was told of this object last */
        bool first_look;              /* nothing was told of it before, in this process */
        int64_t noticed_ms;           /* loop time at which a change of the live object was noticed; 0: none was */
        const struct adoption *adoption; /* NULL: nobody wants to know */
};

/*
 * Who owns what in one object, and what the engine decides about it now. Lives in the arena given and, until the next turn
 * of the loop, in the app.
 */
struct app_explanation {
        const struct desired *desired;
        struct decide_input in;
        struct decision decision;
        struct explanation paths;
};

enum app_sync_status { APP_UNKNOWN, APP_SYNCED, APP_OUT_OF_SYNC };

/* What became of a patch that moves ownership. */
enum handover_result {
        HANDOVER_DONE,    /* the server's answer shows what was meant */
        HANDOVER_LOST,    /* it shows something else, or another writer came first: decided anew */
        HANDOVER_REFUSED, /* the server did not take it */
        HANDOVER_RESULTS,
};

struct app_counts {
        size_t objects, synced, out_of_sync, failed, parked, refused, pruned, kept;
        size_t by_fingerprint, by_proof, dry_runs, writes, requests;
        size_t yielded;  /* paths left to their owners, by rule or to a scaler */
        size_t reported; /* paths of other owners that differ from Git: somebody should decide */
        size_t handovers[HANDOVER_RESULTS];
};

/* Fights that began (own/fight.h), by opponent and kind. */
struct app_fights {
        char *manager, *kind;
        uint64_t count;
};

struct app;

struct app_hooks {
        void (*outcome)(void *ctx, struct app *app, const struct outcome *outcome);
        /*
         * What it is waiting for, for progress lines: "waiting for crd/widgets.example.io". Told when it changes, and
         * once a minute.
         */
        void (*waiting)(void *ctx, struct app *app, const char *what);
        /* Everything that can be done now is done; `prune_err` says why nothing was pruned, or NULL. */
        void (*settled)(void *ctx, struct app *app, const struct err *prune_err);
        /* After settled(): every write has come back through the watches. */
        void (*observed)(void *ctx, struct app *app);
        /*
         * Composes what `truce status` shows, as JSON with "commit" and "applied" among its members, after `old` (empty:
         * none): the same text again when nothing changed, so that nothing is written.
         */
        void (*status)(void *ctx, struct app *app, struct str old, struct buf *ret_status);
        /*
         * The inventory cannot be read or written, the namespace not be made ("inventory", "namespace"); tried again.
         * Where nothing is ever written, "namespace": it is missing.
         */
        void (*trouble)(void *ctx, struct app *app, const char *what, const struct err *err);
        /* A setting at `place` ("file:line") does not do what it says: told when the first set has settled. */
        void (*remark)(void *ctx, struct app *app, const char *place, const char *text);
        /*
         * Two applications may want one object: the name of the one it belongs to instead of `app`, empty: none.
         * `tracked_by` is the instance that the live object's marks name; without one the first in the configuration wins.
         */
        struct str (*rival)(void *ctx, const struct app *app, struct str id, struct str tracked_by);
        /*
         * Has another application, the instance that the live object's marks name, given it up by a commit in force?
         * *ret_made, also when it has not: that one made it, as its inventory knows.
         */
        bool (*given_up)(void *ctx, const struct app *app, struct str id, struct str tracked_by, bool *ret_made);
        /*
         * Is every scaler known that there was at `since_ms` of the loop's clock? If not, they are looked for, and
         * app_scalers_are_known() is called when it may be so.
         */
        bool (*knows_scalers)(void *ctx, int64_t since_ms);
        /* Has another one a commit and no set in force yet, or has one its inventory is yet to be read for? */
        bool (*others_begin)(void *ctx, const struct app *app);
        /* The others of this agent, `at` from 0; NULL: there are no more. */
        struct app *(*other)(void *ctx, const struct app *app, size_t at);
        /*
         * Is what the others want known as it was when the commit in force of this one was seen, and no newer one of its own
         * being read? They may want what it has no use for any more. If not, they are asked; a minute after the commit came
         * into force it must do as it is. `again`: as it was when the newest commit was seen that any of them has in force,
         * for it is one of these that let go of something.
         */
        bool (*others_known)(void *ctx, const struct app *app, bool again);
        /* Deletions have ended: what they were of is in its inventory no more. */
        void (*pruned)(void *ctx, struct app *app);
        /*
         * The name of one that cannot read the commit which is in force here, or any; its own when it cannot read the newest
         * one. Empty: none, or they could not for an hour.
         */
        struct str (*unread_by)(void *ctx, const struct app *app);
        /* The scope of some parked kind is known now: render and bind again. */
        void (*rebind)(void *ctx, struct app *app);
        /* The inventory, and with it the status, was read. Nothing was written yet; app_bar() may be called. */
        void (*loaded)(void *ctx, struct app *app);
        /* app_health() may say something else, or app_health_message(). */
        void (*health)(void *ctx, struct app *app);
};

/* What all applications share; outlives them. */
struct app_env {
        struct loop *loop;
        struct kube_client *client;
        struct cluster *cluster;
        struct store *store;
        struct scaler_index *scalers;
        struct jq_engine *jq; /* NULL where no ignore rule has a program */
        struct judge *judge;  /* with app_judge_hooks; NULL: health is no matter */
        const struct config_agent *agent;
        struct app_hooks hooks;
        void *ctx;
        bool read_only;  /* nothing is ever written, not even a status */
        bool watch_only; /* objects are not even decided on: for app_explain() */
        bool one_shot;   /* the process ends when it is settled: that waits for objects to be judged */
        bool foretell;   /* with read_only: outcomes come with what an adoption would be */
};

struct app *app_new(const struct app_env *env, const struct config_app *config);
/* Cancels everything under way, without callbacks. Requests already sent may still take effect. */
void app_free(struct app *app);
DEFINE_CLEANUP(struct app *, app_free)

const struct config_app *app_config(const struct app *app);
struct tracking app_tracking(const struct app *app);

/* How far work may go. AUTO heals and applies; MANUAL looks by dry-run first; DIFF only looks. */
void app_set_mode(struct app *app, enum decide_mode mode);
/* Flags of a manual sync, over the application's configuration. */
struct app_sync_options {
        bool prune;
        bool allow_empty;
        int64_t prune_max_count;   /* -1: as configured */
        bool no_prune_budget;
};
void app_set_sync_options(struct app *app, const struct app_sync_options *options);

/* Puts a set in force (taken). The inventory is read first when it was not yet. */
void app_set_desired(struct app *app, struct desired_set *set);
/* Lists and watches the kinds of a set that is not in force. False: one is not served. */
bool app_want_kinds(struct app *app, const struct desired_set *set);
/* Before the first set: what was in force before this process (taken). What the first one changes is seen by it. */
void app_remember(struct app *app, struct desired_set *set);
const struct desired_set *app_desired(const struct app *app);

/* Reads inventory and status though no set is in force; hooks.loaded() when they are there. */
void app_load(struct app *app);
/* What hooks.status() says has changed; it is asked in a later turn, and its text stored when it is a new one. */
void app_status_changed(struct app *app);
/* The status as it is stored; empty: none, or not read yet. Borrowed until the next turn. */
struct str app_status_text(const struct app *app);
/* Does it write what it compares (it is not detect-only)? */
bool app_applies(const struct app *app);
/* Is what a stored status tells of the sources that the application has, in their order? */
bool app_is_recorded(const struct value *status, const struct config_app *c);
/* The commit that a status says was applied last; empty: none. */
struct str app_applied_commit(const struct value *status);
/* The commit to go on from: applied, or for a detect-only application compared, last. */
struct str app_recorded_commit(const struct app *app, const struct value *status);

/* Does the application want the object, or has it in its inventory? */
bool app_knows(const struct app *app, struct str id);
/* A live object changed; `live` NULL: it is gone, no longer carries our label, or cannot be read. */
void app_live_changed(struct app *app, struct str id, const struct live *live);
/* The object's scaler came or went: it is looked at again soon, and when none is left a hold of its replicas begins. */
void app_scaler_changed(struct app *app, struct str id, bool is_gone);
/* The cluster knows it no more, and tells nothing else. */
void app_live_dropped(struct app *app, struct str id);
/* After app_hooks.knows_scalers() said no: it is worth asking again. */
void app_scalers_are_known(struct app *app);
/* What other applications want has changed: an object that belonged to one of them may be this one's now. */
void app_others_changed(struct app *app);
/*
 * Another application has deleted what it had, or is known not to have it: a Namespace or definition may hold nothing
 * any more.
 */
void app_others_pruned(struct app *app);
/* Kinds or discovery changed. */
void app_kinds_changed(struct app *app);
/* A StorageClass came or went: claims may be well without a volume, or not. */
void app_storage_class_changed(struct app *app);
bool app_is_storage_class(struct str group, struct str kind);
/* The API server can be reached again, say its watches: what failed only for that is tried within a second. */
void app_server_is_back(struct app *app);

/* *ret of app_explain() is filled in; err: it could not be (errors of decide(), of jq programs). */
typedef void (*app_explained)(void *ctx, const struct err *err);
/*
 * Explains a desired object, whose live one is `whole` as the API server sends it (empty: it does not exist). Nothing is
 * sent or written. NOTFOUND when it is not desired, UNSUPPORTED when its kind cannot be read now or it is not applied,
 * PARSE for a bad `whole`; done() is then not called. Else it is, before this returns where no jq program is to be asked;
 * arena and application must live until then.
 */
int app_explain(struct app *app, struct str id, struct str whole, struct arena *a, struct app_explanation *ret,
                app_explained done, void *ctx, struct err *err);

/* From now on nothing is done for it, in the cluster or in its inventory. */
void app_bar(struct app *app);

bool app_is_settled(const struct app *app);
/* And every write has come back through the watches. */
bool app_is_observed(const struct app *app);
/* It is settled, and only a new commit or somebody else can change how it stands: nothing is tried again. */
bool app_is_final(const struct app *app);
enum app_sync_status app_sync_status(const struct app *app);

#define APP_HEALTH_COUNTS (HEALTH_UNKNOWN + 2)

struct app_health {
        enum health_code code;            /* of the worst; Healthy where none has a health; Unknown while it is not known */
        bool is_known;                    /* every object was judged; once that was so, new ones are Progressing until they are */
        bool is_current;                  /* every one was, as it is now */
        size_t counts[APP_HEALTH_COUNTS]; /* objects that count, by code; last those that are not known yet */
};
void app_health(const struct app *app, struct app_health *ret);
/* Who is to blame: "deploy/web: 1 of 3 available", in the arena; empty: nobody, or it is not known. */
struct str app_health_message(const struct app *app, struct arena *a);
/* The first of those; NULL: none. */
const struct desired *app_worst(const struct app *app);
/* Is one Degraded for good? */
bool app_is_given_up(const struct app *app);
/* Is a status to be stored when nothing but health is new? Seldom: it comes and goes. */
bool app_tells_health(const struct app *app);
/* Stores what the status says of health. False: that is stored. Else it is settled again when it is. */
bool app_save_health(struct app *app);
/* The request got lost, or lost a race: it says nothing about the object, and is tried again soon and without end. */
bool app_is_mishap(enum err_code code);
/* Whether all of the commit in force was applied, what left Git being gone. */
bool app_has_applied(const struct app *app);
/* For judge_new(). */
extern const struct judge_hooks app_judge_hooks;

/* What an application makes of an ignore rule that is for all of them. */
enum app_ignore_use {
        APP_IGNORE_OPEN,      /* it was not evaluated on all objects yet */
        APP_IGNORE_ELSEWHERE, /* it speaks of no object here */
        APP_IGNORE_IDLE,      /* it does, and does nothing */
        APP_IGNORE_USED,
};
/* Of the i-th rule of the configuration's `ignores`; *ret_why says why it is idle. */
enum app_ignore_use app_ignore_use(const struct app *app, size_t i, const char **ret_why);

/* "deploy/web spec.paused, owned by argocd-controller": a line each of the reported paths, `max` at most. */
void app_reports(const struct app *app, size_t max, struct buf *out);
/*
 * The same of what is left as it is for a while: a person's override runs, or the hold of a scaler or rule that went.
 */
void app_kept(const struct app *app, size_t max, struct buf *out);
void app_counts(const struct app *app, struct app_counts *ret_counts);
/* Fights since the start; borrowed. */
const struct app_fights *app_fights(const struct app *app, size_t *ret_count);
/* Fights that go on, a line of text each: who with whom about what, until when nothing is done. A list of texts. */
const struct value *app_fight_lines(const struct app *app, struct arena *a);
/* Why there is trouble with the application as a whole (inventory unreadable …); code 0: none. */
const struct err *app_err(const struct app *app);
const struct inventory *app_inventory(const struct app *app); /* NULL before it was read */
/* What is known of it while it is read anew, too: what it was before. NULL before it was read at all. */
const struct inventory *app_inventory_so_far(const struct app *app);

#endif
