/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to `truce adopt`: what it gathers (adopt_gather.c and adopt_matters.c, from outcomes; adopt_cluster.c, from reads
 * of its own), the steps to take (adopt_steps.c), and how both are shown (adopt_view*.c, adopt_json.c; adopt_words.c).
 *
 * All text lives in the arena of the report and is as it came: it is made fit for a terminal where it is printed. Values
 * of Secrets are masked.
 */
#ifndef TRUCE_CLI_ADOPT_IMPL_H
#define TRUCE_CLI_ADOPT_IMPL_H

#include "agent/agent.h"
#include "diff/compare.h"

/* The annotation in which client-side apply keeps what it applied. */
#define ADOPT_LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* What becomes of an object of Git at the next sync. */
enum adopt_fate {
        ADOPT_TAKEN,   /* taken on */
        ADOPT_HELD,    /* refused for its tracker's sake; the rest is what comes when that has let go */
        ADOPT_CREATED, /* does not exist */
        ADOPT_OURS,    /* is truce's already */
        ADOPT_REFUSED, /* refused for another reason */
        ADOPT_FAILED,  /* the server does not take it, or it cannot be told */
        ADOPT_PARKED,  /* its kind is not served */
        ADOPT_SKIPPED, /* being deleted, or left out by its own annotation */
};

/* How many paths of one owner go one way. */
struct adopt_share {
        enum hand_kind kind;
        struct str owner; /* in words: "helm", "argocd-controller"; empty: NEW, OURS */
        struct str operation, subresource;
        size_t paths;
};

struct adopt_path {
        struct str path, spelled; /* for people; as rules take it */
        enum hand_kind kind;
        struct str owner, why;
        bool atomic;
};

enum adopt_matter_kind {
        ADOPT_VALUE,  /* a value that changes */
        ADOPT_STAYS,  /* a value that stays though Git has another, or lacks it, by a rule */
        ADOPT_GOES,   /* something that is there goes */
        ADOPT_DECIDE, /* stays, and somebody should say what is to be */
        ADOPT_LOOK,   /* odd in Git: nothing is done otherwise because of it */
};

/* One path about which there is something to say. */
struct adopt_matter {
        enum adopt_matter_kind kind;
        struct str path, spelled;
        const struct value *before, *after; /* live and then; of STAYS and DECIDE Git's; may be NULL */
        struct str owner;   /* in words; may be empty */
        struct str word;    /* what truce does: "yields", "takes back" */
        struct str rule;    /* by which rule, with its place; may be empty */
        struct str paste;   /* DECIDE: the rule that leaves it to its owner; may be empty */
        uint32_t line;
        bool atomic, bookkeeping; /* bookkeeping: kubectl's own annotation */
};

struct adopt_tracker;

struct adopt_object {
        struct app *app;
        struct str group, kind, ns, name;
        struct str file;
        uint32_t line;
        enum adopt_fate fate;
        struct str reason;  /* REFUSED, FAILED, PARKED, SKIPPED; or what stays open */
        struct str today;   /* who has it, in words; empty: nobody, as far as can be told */
        struct adopt_tracker **trackers; /* whose marks it has, or kubectl's */
        size_t tracker_count;
        const struct str *appliers; /* managers of other deployers that own some of it beside truce then, by server-side apply */
        size_t applier_count;
        const struct adopt_share *shares;
        size_t share_count;
        const struct adopt_path *paths;
        size_t path_count;
        const struct adopt_matter *matters;
        size_t matter_count;
};

/* How the application, Kustomization or release stands in the cluster. */
enum adopt_state {
        ADOPT_UNREAD,    /* cannot be told: not a kind that is read, or not readable (`note`) */
        ADOPT_GONE,      /* does not exist */
        ADOPT_SUSPENDED, /* exists and writes nothing by itself */
        ADOPT_LIVE,      /* exists and writes */
};

struct adopt_step {
        struct str text;
        struct str command; /* empty: none */
};

struct adopt_extra {
        struct str group, kind, ns, name;
};

struct adopt_tracker {
        struct tracker who;
        struct str words;      /* `Argo CD application "shop"`, `kubectl apply` */
        bool holds;            /* some object of Git is refused because of it */
        size_t objects;
        enum adopt_state state;
        struct str note;       /* how it stands, in words */
        bool has_finalizer, self_heals, prunes;
        struct adopt_extra *extras; /* it has them, Git does not */
        size_t extra_count, extra_cap;
        struct adopt_step *steps;
        size_t step_count, step_cap;
};

struct adopt_report {
        struct arena *arena;
        struct agent *agent;
        struct str control_ns;       /* where Argo CD's own applications are */
        const bool *stop;            /* the time is over */
        struct adopt_object **objects; /* in the order in which they were looked at */
        size_t count, cap;
        struct map *by_id; /* application and id → struct adopt_object */
        struct adopt_tracker **trackers;
        size_t tracker_count, tracker_cap;
        struct str unread;     /* kinds that could not be listed, in words; may be empty */
        size_t listed;         /* kinds that were */
        size_t problems;       /* of documents and applications; told on stderr */
};

/* Takes an outcome in; a later one of the same object takes the place of an earlier one. */
void adopt_gather(struct adopt_report *r, struct app *app, const struct outcome *o);
/* adopt_matters.c: of an outcome with an adoption that could be foretold. */
void adopt_gather_matters(struct adopt_report *r, struct adopt_object *x, const struct outcome *o);
/* Puts objects in the order of Git's files, and trackers in that of their names: answers come in any order. */
void adopt_sort(struct adopt_report *r);
/* The tracker by that name in words, made when it is new. `who` NULL: kubectl. */
struct adopt_tracker *adopt_tracker_of(struct adopt_report *r, const struct tracker *who, struct str words);
void adopt_add_extra(struct adopt_report *r, struct adopt_tracker *t, struct str group, struct str kind, struct str ns,
                     struct str name);
/* Has the object this tracker's mark? */
bool adopt_is_tracked(const struct adopt_object *o, const struct adopt_tracker *t);
/* Is it desired by an application of the agent? */
bool adopt_is_desired(const struct adopt_report *r, struct str group, struct str kind, struct str ns, struct str name);

/*
 * Reads how the trackers stand, and what they have that Git does not: by reads only. Runs the loop. What cannot be read is
 * noted, never an error, but for a stop from outside.
 */
void adopt_read_cluster(struct adopt_report *r, struct loop *loop, struct kube_transport *transport);

/* Fills in the steps of each tracker. */
void adopt_find_steps(struct adopt_report *r);

/* Things that somebody has to decide, or do, first. */
size_t adopt_decisions(const struct adopt_report *r);
bool adopt_object_asks(const struct adopt_object *o);
/* In the report's arena. */
struct str adopt_text(struct adopt_report *r, struct buf *b);
struct str adopt_owner_words(struct adopt_report *r, struct str owner, struct str subresource);
struct str adopt_path_words(struct adopt_report *r, struct field_path p);
/* As rules take it. */
struct str adopt_path_spelled(struct adopt_report *r, struct field_path p);
struct str adopt_rule_words(struct adopt_report *r, const char *rule, const char *place);
const char *adopt_fate_word(enum adopt_fate fate);
const char *adopt_state_word(enum adopt_state state);

struct adopt_style {
        bool all;   /* every path */
        bool color;
};
void adopt_view(const struct adopt_report *r, const struct adopt_style *style, int exit_code, struct buf *out);
const struct value *adopt_value(const struct adopt_report *r, bool all, struct arena *a);

#endif
