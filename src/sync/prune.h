/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which objects go, in which order, and why others stay. Pure: the caller describes each inventory entry that is no
 * longer desired (struct prune_candidate) and performs the plan.
 *
 * Rules (docs/ARCHITECTURE.md, "Prune"):
 *  - Nothing is pruned after a render that failed or came out empty, nor when the budget is exceeded.
 *  - Adopted and protected objects (Prune=false, Delete=false, helm keep, on Git's side as last applied or on the live
 *    side), objects another tracker owns, objects with a controller ownerReference and Namespaces that still hold desired
 *    objects stay; each with its reason.
 *  - An object stays while Git has one of its name of a kind that is not served: "kind: Deploymnet" is a typing error,
 *    and no reason to delete what is running.
 *  - Order: custom resources first (each waited for until it is gone, while its operator still runs), then everything
 *    else in reverse apply order, then CRDs, then Namespaces. A stage starts when the one before is gone.
 *
 * The budget is exceeded when the objects to go are more than `max_count` *and* more than `max_percent` of the inventory:
 * a small application may lose half of itself, a large one a quarter.
 */
#ifndef TRUCE_SYNC_PRUNE_H
#define TRUCE_SYNC_PRUNE_H

#include "base/value.h"
#include "sync/inventory.h"

#define PRUNE_DEFAULT_MAX_COUNT 20
#define PRUNE_DEFAULT_MAX_PERCENT 25

enum prune_stage {
        PRUNE_CUSTOM_RESOURCES,
        PRUNE_ORDINARY,
        PRUNE_CRDS,
        PRUNE_NAMESPACES,
        PRUNE_STAGES,
};

enum prune_verdict {
        PRUNE_DELETE,
        PRUNE_FORGET,          /* gone already, or replaced by an object that is not ours */
        PRUNE_KEEP_ADOPTED,
        PRUNE_KEEP_PROTECTED,
        PRUNE_KEEP_WANTED,     /* another application of this agent wants it */
        PRUNE_KEEP_FOREIGN,    /* another tracker's, or a controller's */
        PRUNE_KEEP_NAMESPACE,  /* holds desired or protected objects */
        PRUNE_KEEP_DEFINITION, /* of a kind of which there are such */
        PRUNE_KEEP_NAMESAKE,   /* Git has an object of this name whose kind is not served: it may be this one */
        PRUNE_KEEP_EXCLUDED,   /* the configuration keeps truce away from its kind */
        PRUNE_KEEP_UNSURE,     /* whether it exists could not be found out (kind not served, list failed) */
};

/* What is known of an inventory entry that is not desired any more. */
struct prune_candidate {
        const struct inventory_entry *entry;
        bool known;            /* the live side was read */
        bool exists;
        struct str live_uid;   /* borrowed; empty: not known */
        bool live_protected;   /* an annotation on the live object asks to keep it */
        bool live_foreign;     /* the live object's tracker is not this application of this installation */
        bool wanted;           /* another application of this agent wants it now */
        bool handed_on;        /* and has it already */
        bool excluded;         /* the configuration excludes its kind */
        bool custom;           /* its kind is defined by a CRD */
        bool namesake;         /* Git has an object of its name of a kind that the cluster does not serve */
        bool holds_wanted;    /* a Namespace or a definition: objects would go with it that are desired or never pruned */
        int rank;              /* apply order, manifest/order.h: higher was applied later */
};

struct prune_step {
        const struct inventory_entry *entry;
        enum prune_verdict verdict;
        enum prune_stage stage; /* when verdict is PRUNE_DELETE */
};

struct prune_limits {
        unsigned max_count;    /* UINT_MAX: no budget */
        unsigned max_percent;
        bool allow_empty;      /* an empty render may prune everything */
};

struct prune_input {
        const struct prune_candidate *candidates;
        size_t count;
        size_t inventory_objects; /* entries that are not tombstones of earlier syncs, for the percentage */
        size_t desired_objects;
        bool render_complete;     /* every document was read; false: nothing may go */
        bool stands_in;           /* the set is an older commit's, as the newest one cannot be read: nothing may go */
        struct str empty_source;  /* one of several sources that came out empty; empty: none did */
        struct str unread_by;     /* an application that cannot read this commit, and may want what goes; empty: none */
};

/* steps are sorted in the order of deletion, kept ones last; free() with prune_plan_done(). */
struct prune_plan {
        struct prune_step *steps;
        size_t count;
        size_t deletions;
};

void prune_plan_done(struct prune_plan *plan);

/*
 * Makes the plan. When nothing at all may be pruned: DENIED with the reason and what to do, in words for a person; the
 * plan is then empty. Never fails when there is nothing to delete.
 */
int prune_plan(const struct prune_input *in, const struct prune_limits *limits, struct prune_plan *ret_plan,
               struct err *err);

/* Why a Namespace or a definition stays that others would go with. */
enum prune_verdict prune_keeps_holder(const struct inventory_entry *e);

/* "adopted: it existed before truce" …: why an object stays; "" for DELETE and FORGET. */
const char *prune_reason(enum prune_verdict verdict);

#endif
