/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What app.c (the pump), op.c (one object) and app_prune.c (deletion) share.
 */
#ifndef TRUCE_AGENT_APP_IMPL_H
#define TRUCE_AGENT_APP_IMPL_H

#include "agent/app.h"
#include "agent/failpoint.h"
#include "agent/judge.h"
#include "agent/lease.h"
#include "agent/types.h"
#include "health/settle.h"
#include "health/total.h"
#include "own/fight.h"
#include "sync/backoff.h"
#include "sync/prune.h"

/* Objects begun in one turn of the loop: each costs some 0.2 ms of parsing and deciding. */
#define APP_STARTS_PER_TURN 16

/*
 * Stages of an apply: a stage begins when the one before has nothing queued or running. Services and the rest go together,
 * see app_apply.c.
 */
enum stage { STAGE_NAMESPACES, STAGE_CRDS, STAGE_SERVICES, STAGE_REST, STAGE_COUNT };

enum item_state {
        ITEM_QUEUED,
        ITEM_RUNNING,
        ITEM_SYNCED,
        ITEM_OUT_OF_SYNC, /* looked at only */
        ITEM_WAITING,     /* for a deletion to end: an event brings it back */
        ITEM_FAILED,      /* retry_at_ms, or never before Git or the schema changes */
        ITEM_PARKED,
        ITEM_REFUSED,
        ITEM_SKIPPED,
};

struct op;

struct item_hold {
        uint64_t id;      /* of the path, decide_hold_id() */
        int64_t until_ms; /* of the loop's clock */
};

/* What is known of an object's health; app_health.c. */
struct item_health {
        struct judge_ticket ticket;
        struct health_settle settle;
        char *message;       /* of what was judged last, when it is not Healthy; NULL: none */
        int64_t applied_ms;  /* Unix time of our last write; 0: none in this process */
        int64_t again_ms;    /* of the loop's clock: its rule wants to look again; 0: only when it changes */
        int64_t settles_ms;  /* of the loop's clock: what is shown may change; 0: it will not by itself */
        uint64_t asked, judged; /* versions of the live object: given to the judge last, judged last */
        uint8_t counted;     /* one more than its place among the counts of the application; 0: none yet */
        bool known;          /* it was judged, or is not there to be */
        bool publishes;      /* health_publishes_generation() */
        bool terminal;
        bool written;        /* what was judged last is from before our last write */
        bool answers_write;  /* and what is being judged is not */
        bool sought, has_rule; /* whether there is one for its kind, once that was asked */
};

/* One desired object's state. Lives as long as its id is desired. */
struct item {
        struct app *app;
        const struct desired *desired; /* of the set in force */
        enum item_state state;
        enum stage stage;
        struct op *op;          /* while RUNNING */
        struct item *next;      /* in its stage's queue */
        char *awaited_rv;       /* our write's resourceVersion, not seen in the watch yet */
        int64_t noticed_ms;     /* when a change was noticed that has not been decided on yet; 0: none */
        int64_t retry_at_ms;    /* FAILED; 0: no retry */
        struct hash128 refused_hash; /* FAILED for good: the object that was refused a change, but for its status */
        bool lost;              /* FAILED because the API server could not be reached */
        unsigned attempts;      /* failures in a row */
        int64_t ended_ms;       /* of the last attempt */
        char *stray;            /* text of an apply that was given up, and may arrive all the same; NULL: none */
        struct hash128 stray_desired; /* of what Git wanted then */
        int64_t stray_until_ms; /* not later than that */
        struct item_hold *holds; /* paths that are not taken back yet */
        size_t hold_count, hold_cap;
        bool hold_begins;       /* what can be held and is not yet begins its hold with the next decision */
        char *previous;         /* text of what Git wanted before, until what changed since is acted on; may be NULL */
        bool again;             /* something changed while it was RUNNING */
        bool ignores_sought;    /* ignore rules were evaluated on it */
        bool look_only;         /* self-heal is off: drift is told, not healed */
        bool read_first;        /* GET it before deciding: the cache may not know it */
        uint64_t epoch;         /* of cluster_begin_epoch() when it became desired */
        struct arena *withheld_arena; /* NULL: nothing is withheld */
        const struct decide_withheld *withheld;
        size_t withheld_count;
        struct hash128 told_notes;    /* of the notes that were told last */
        struct hash128 written;       /* of the desired text that was written last: a write of the same is a heal */
        struct fight_book fights;
        int64_t pause_until_ms;       /* SYNCED: a path that was left alone is tried again then; 0: none is */
        char *lease;                  /* text of the override lease that was read last; NULL: there was none */
        int64_t lease_wall_ms;        /* its end, Unix time; 0: it could not be read */
        int64_t lease_until_ms;       /* SYNCED: it runs until then; 0: none runs */
        size_t yielded, reported;     /* paths, as it was decided last */
        char *report;                 /* the reported ones for people, a line each; NULL: none */
        char *kept;                   /* the same of those that are left as they are for a while */
        struct item_health health;
};

struct queue {
        struct item *first, *last;
        unsigned running;
};

/* What was told last of one thing that is waited for. */
struct told {
        char *what;
        int64_t at_ms;
};

/* What came of one ignore rule, over all objects of the application. */
struct ignore_use {
        size_t found;    /* paths */
        size_t managers; /* of its managers, those that own something */
        bool judged;     /* whether it does anything was told, where it does not; only of the application's own rules */
        bool advised;    /* what it does that is hardly meant was told */
};

struct look;
struct prune_run;
struct census;

struct app {
        struct app_env env;
        const struct config_app *config;
        enum decide_mode mode;
        struct app_sync_options options;
        struct store_app *store;
        struct inventory *inventory;  /* NULL: not read yet */
        struct inventory *inventory_before; /* while it is read anew; NULL: it is not */
        int64_t loaded_ms;            /* when it was read last */
        bool loading;
        bool barred;                  /* nothing is done any more */
        bool looked_back;             /* whether an earlier process attempted the first set is known */
        bool begun;                   /* the first set is being worked on */
        bool wanted;                  /* inventory and status, though no set is in force */
        bool status_due;              /* the status is to be composed anew, and stored when it is a new one */
        int64_t status_at_ms;         /* not before, when it could not be stored */
        bool reload_due;              /* the inventory at hand is not what is stored: read again when nothing runs */
        bool superset_saved;          /* the stored inventory covers the set in force */
        bool inventory_dirty;
        unsigned save_failures;       /* in a row */
        struct desired_set *desired;
        struct desired_set *remembered; /* of an earlier process, until the first one is in force; may be NULL */
        struct map *items;            /* id → struct item */
        struct queue queue[STAGE_COUNT];
        unsigned running;
        bool any_lost;                /* some items may have failed only because the server could not be reached */
        struct look *looks;           /* first looks under way */
        int64_t definitions_again_ms; /* one could not be asked for: not before this */
        bool looked;
        bool kinds_read;              /* every kind in question is synced, failed or not served */
        const struct desired **crds;  /* of the set in force */
        size_t crd_count;
        bool parked_told;             /* of this set */
        struct ignore_use *ignore_uses; /* of config->ignores */
        bool ignores_told;
        struct types *types;
        struct loop_timer *pump, *retry;
        int64_t wake_at_ms;           /* when `retry` fires, while it runs */
        int64_t set_ms;           /* when the set came into force */
        int64_t forget_at_ms;     /* when creations that may be under way count as lost; 0: there are none */
        struct told told_crd;         /* the CRD that is waited for */
        struct told told_slow;        /* answers that are waited for */
        struct prune_run *prune;      /* while deletions go on */
        struct census *censuses;      /* under way */
        struct map *census_texts;     /* id of a Namespace that is to go → what goes with it; NULL: none was asked about */
        bool prune_done;              /* for the set in force */
        struct err prune_err;
        bool prune_awaits_others;     /* one of them cannot read its commit */
        bool prune_again;             /* the set in force was judged before: what others have changed since counts, too */
        struct kube_op *namespace_op; /* CreateNamespace */
        bool namespace_ready;
        bool discovering;
        int64_t discovered_ms;        /* when discovery was asked last because of parked kinds */
        unsigned discoveries;         /* in a row without effect */
        bool promised;                /* a CRD of this set that was applied gives a kind that is still parked */
        int64_t promised_since_ms;    /* 0: not yet looked at; the promise is believed for a while only */
        size_t awaited;               /* items with awaited_rv */
        struct app_counts counts;
        struct app_fights *fights;    /* rows of the metric */
        size_t fights_count, fights_cap;
        struct err err;
        struct buf status;
        struct {
                struct loop_timer *tell, *again, *save;
                int64_t again_ms;             /* when `again` fires, while it runs */
                size_t counts[APP_HEALTH_COUNTS]; /* items by code, and those of which it is not known */
                size_t pending;               /* that the judge has */
                int64_t awaited_until_ms;     /* 0: it is not waited for */
                bool was_degraded;            /* as the stored status says, when it was read */
                bool was_known;               /* once; what is new since counts as Progressing until it is looked at */
                bool due;                     /* it is stored though nothing else is new */
                bool busy;                    /* the judge knows that we write */
        } health;
        size_t extra;                 /* objects that would be pruned, were it allowed */
        bool concluded;               /* the last save was begun */
        bool settled;
        bool acted_on;                /* the set in force was settled once */
        bool observed;
};

/* The pump runs in a later turn; more calls before that are one. */
void app_kick(struct app *app);
void item_queue(struct item *item);
/* Its op ends without a verdict: it is begun anew when its turn comes. */
void item_postpone(struct item *item);
/* Ends the item's work: state, outcome hook, retry. `err` for FAILED and REFUSED. */
void item_finish(struct item *item, enum item_state state, const struct outcome *outcome, const struct err *err);
/* The same without an op: the kind cannot be read, the object is parked … */
void item_finish_unstarted(struct item *item, enum item_state state, enum outcome_kind kind, const struct err *err,
                           const char *reason);
/* Says whether the next op on it may write: without self-heal drift is only looked at. */
void item_look_or_heal(struct item *item);
/* What a kube-apiserver may take for a request (--request-timeout), whether somebody waits or not. */
#define APP_STRAY_MS 60000
/*
 * An apply that an earlier process gave up may make the object (anew). True while it may. One that ends at once waits for
 * none; the next one looks again.
 */
bool app_expect_of_earlier(const struct app *app, struct inventory_entry *e);
/*
 * An apply of it was given up, and may arrive all the same. Where the live object is then what that apply makes of it, it is no
 * drift, and put right without self-heal, too.
 */
void item_note_stray(struct item *item, const struct value *body, struct arena *scratch);
/*
 * What fails is not tried with every change of its status, only after a pause that grows with the failures: also what
 * the server calls invalid, for a change may be the cure. False when it may be tried now.
 */
bool item_is_too_soon(struct item *item);
void item_free(void *item);
enum stage item_stage(const struct desired *d);
/* The first item of a queue that is not empty. */
struct item *queue_take(struct queue *q);
/* Timer function: items whose time has come go back to their queues. */
void app_retry_due(void *app);

/*
 * The steps of the pump, in order. Those that answer a question start what is missing and say whether the next step must
 * wait; each kicks the pump when there is an answer.
 */
bool app_kinds_are_pending(struct app *app);
void app_begin_looks(struct app *app); /* app->looks is NULL when all have ended */
void app_look_free(struct look *look);
bool app_superset_is_saved(struct app *app);
/* The first set waits a little for those of the others: whose an object is that several want is to be known. */
bool app_may_begin(struct app *app);
bool app_namespace_is_ready(struct app *app);
bool app_apply(struct app *app); /* true: something is left to do or under way */
const struct kube_resource *app_served_resource(const struct app *app, const struct desired *d); /* NULL: its kind is not */
/* Why it is parked, with what may be meant instead; a constant or in the arena. */
const char *app_parked_reason(const struct app *app, const struct desired *d, struct arena *a);
bool app_look_for_parked_kinds(struct app *app);
/* Which of its own ignore rules do nothing: each once, when it was evaluated on all objects that it speaks of. */
void app_tell_idle_ignores(struct app *app);
void app_forget_parked_kinds(struct app *app);
void app_tell_parked(struct app *app);
/* Stores the inventory with this status text. */
void app_save(struct app *app, struct str status);
bool app_status_is_due(const struct app *app);
/*
 * Composes the status and stores it: with the inventory, or alone when the application is detect-only. False when it
 * could not be stored a short while ago.
 */
bool app_save_status(struct app *app);
/* The kind of a scaler, when it is served and watched. */
struct cluster_kind *app_scaler_kind(const struct app *app, const char *group, const char *kind);
/* Tells that something of the whole application does not work now. */
void app_trouble(struct app *app, const char *what, const struct err *err);

/* Starts working on a queued item. */
void op_start(struct item *item);
void op_free(struct op *op);
/* What an op of a diff would decide now; see app_explain(). */
int op_explain(struct item *item, struct str whole, struct arena *a, struct app_explanation *ret, app_explained done,
               void *ctx, struct err *err);

/* The server refused for good what we want of the object as it is live; NULL: it did not. */
void item_note_refused(struct item *item, const struct value *live);
/* Is it what was refused already: nothing but its status has changed? */
bool item_is_refused(const struct item *item, const struct live *live);

/*
 * Holds (app_holds.c): what a scaler or rule had left stays as it is for as long as configured, each path from when it was to
 * be taken back first, or since when the inventory says.
 */
void item_hold(struct item *item);
/* One goes on, or is to begin. */
bool item_is_held(const struct item *item);
/* The time of one is over, and it may wait for what scalers there are to be known. */
bool item_hold_is_to_end(const struct item *item);
/* Those of which nothing more is waited for. Asks for what the others wait for. */
size_t item_holds_over(const struct item *item, struct arena *a, const uint64_t **ret_ids);
/* After a decision with in->replicas_hold: what it held and was not held yet begins, what held nothing is over. */
void item_keep_holds(struct item *item, const struct decide_input *in, const struct decision *d);
/* They were taken back. */
void item_drop_holds(struct item *item, const uint64_t *ids, size_t count);
/* There is nothing to wait for, nor to remember. */
void item_end_holds(struct item *item);
/* When one is to be looked at; 0: none. */
int64_t item_hold_due_ms(const struct item *item);
void item_wake_for_holds(struct item *item);
/* Keeps what there is to tell of an object's owners. */
void item_keep_notes(struct item *item, const struct outcome *outcome);
/* Keeps what a decision left out of our apply, for the next one. */
void item_keep_withheld(struct item *item, const struct decision *decision);

/*
 * A write has answered: what it wrote back over others' values counts in fights when it was a heal. `before` and `owners`
 * are of the live object it was decided on, `ours` what we own of `after`.
 */
void item_note_write(struct item *item, const struct value *before, const struct managed *owners,
                     const struct value *after, const struct fieldset *ours, const struct schema *type, struct arena *a);
/* Paths that are fought over and not enforced now; both live in the arena. */
size_t item_paused(const struct item *item, struct arena *a, const struct decide_paused **ret_paused);
void app_fights_free(struct app *app);
/*
 * The override lease of a live object: its text for people, in the arena, or NULL when none runs. False: the object must be
 * read anew, with times, to tell.
 */
bool item_read_lease(struct item *item, const struct value *live, const struct managed *owners, bool full,
                     struct arena *a, const char **ret_text);
/*
 * A decision was carried out: pauses and leases that are over need no more looks of their own, and what runs is waited
 * for.
 */
void item_respites_are_looked_at(struct item *item);
/* Makes sure that retries and holds are looked at by `at_ms` of the loop's clock. */
void app_wake(struct app *app, int64_t at_ms);

/*
 * Health (app_health.c). An object is looked at whenever it may have changed, which costs next to nothing where it has
 * not.
 */
void app_health_new(struct app *app);
void app_health_free(struct app *app);
void item_look_at_health(struct item *item);
/* The stored status was read. */
void app_recall_health(struct app *app);
/* Before another set comes into force. */
void app_health_begins(struct app *app);
/* All of them: kinds can be read that could not before. */
void app_look_at_health(struct app *app);
/*
 * Before it is settled: may what is being judged be known in a moment? Then the status says how it is, not how it was.
 * A one-shot command waits for that; an agent not for long.
 */
bool app_health_is_awaited(struct app *app);
/* A write of ours was answered. */
void item_note_applied(struct item *item);

/* --- app_claims.c: StorageClasses, of which the health of claims depends -------------------------------------------- */

/* What the rule of its live object would like to see; NULL: nothing, or it is not known (yet). */
const struct live *item_storage_class(const struct item *item, const struct live *live);
/* From now on StorageClasses are read, should that object's rule like to see one. */
void item_want_storage_class(struct item *item, const struct live *live);
/* What Git says of it may be another. */
void item_count_health(struct item *item);
void item_forget_health(struct item *item);

/* The status is stored in a while, when it says something new. */
void app_store_soon(struct app *app);

/* Deletions. app_prune_start() gives false when there is nothing to delete (kept ones are told to the hooks). */
bool app_prune_start(struct app *app);
void app_prune_free(struct prune_run *run);
/* A live object that may be among those to go changed. */
void app_prune_live_changed(struct app *app, struct str id, const struct live *live);
/* What others want or have is another by now, or may be: what was not pruned for their sake is judged again. */
void app_prune_others_changed(struct app *app);
void app_prune_look_at_others(struct app *app);
/* A kind may be readable now that was not when something of it was to be pruned: the plan is made anew. */
void app_prune_kinds_changed(struct app *app);

/*
 * Did an application of this agent, which has given the object up, have it? Then this one goes on with it as it is.
 * *ret_made (may be NULL), also when it has not given it up: it need not be adopted.
 */
bool app_inherits(const struct app *app, struct str id, const struct tracker *who, bool *ret_made);
/* Is it to be adopted: has somebody else made it, as far as marks tell? */
bool app_adopts(const struct app *app, struct str id, const struct tracker *who);

bool app_has_controller(const struct value *object);

/*
 * What else goes with each Namespace of the plan. True while it is being looked up; in the end app_census_of() has a text
 * for people: "with it at least 3 objects of others: 2 ConfigMap, 1 Pod". Until app_census_clear().
 */
bool app_census_is_pending(struct app *app, const struct prune_plan *plan);
const char *app_census_of(const struct app *app, const char *id); /* NULL: it was not asked about */
void app_census_clear(struct app *app);

/* Has another application of this agent it in Git, whatever becomes of it there? */
bool app_is_wanted_elsewhere(const struct app *app, struct str id);
/* Has Git, here or elsewhere, an object of its name of a kind that is not served? The kind may be mistyped. */
bool app_has_namesake(const struct app *app, const struct inventory_id *id);
/*
 * Would an object that some application of this agent wants, or that is never pruned, go with it? A Namespace takes along
 * what is in it, a definition the objects of its kind.
 */
bool app_takes_wanted_along(const struct app *app, const struct inventory_id *id);

/* The kind of an id in a version, when it is read; NULL otherwise. */
struct cluster_kind *app_kind_of(const struct app *app, struct str id, struct str version);
/*
 * Somebody else wrote the inventory: it is read again and decided on anew. What is under way ends first, for its answers
 * are noted in the one at hand.
 */
void app_reload(struct app *app);
struct inventory_entry *app_entry(const struct app *app, struct str id);

/* Tells what is waited for: when it is another thing than before, and as a reminder once a minute. */
void app_tell_waiting(struct app *app, struct told *told, const char *what);
/* Of each request of the application: an answer that takes long is told, not ended: the transport has a deadline of its own. */
#define APP_SLOW_MS 5000
void app_tell_slow(void *app);
/* Gives back the call. */
struct kube_op *app_sent(struct app *app, struct kube_op *call);
void told_clear(struct told *told);

#endif
