/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct informer: what a controller keeps of one kind of object, and is told of it. With a queue (agent/queue.h), own
 * writes (agent/gates.h) and a leader (agent/leader.h) this is what a reconciler is made of; what it does with all that
 * is its own. groups_cache.c has six of them; a whole small reconciler is tests/bench/modelcache.c.
 *
 * Kept of an object is what read() makes of its bytes, no more: for a Pod about a kibibyte, where the object's tree
 * would be tens. It is found by its own key, and with all others of the same owner: the key of what is to be looked
 * at when it changes (that of its controller, or of what a label names; an object that is looked at for its own sake is
 * its own owner). wake() names the owner whenever something of it came, changed or went, and the old one, too, when the
 * owner changed. Nothing older than what is kept is taken in, wherever it comes from.
 *
 * Own writes: an answer tells a resourceVersion, and informer_saw() says whether what is kept is as new as that. What a
 * request without an answer did is known after informer_refresh(), a consistent read.
 *
 * Thread rule: loop thread only. Life cycle: loop and client outlive it.
 */
#ifndef TRUCE_AGENT_INFORMER_H
#define TRUCE_AGENT_INFORMER_H

#include "base/value.h"
#include "kube/watch.h"

/* The first member of what read() makes. Texts are its own, and do not change once it was taken in. */
struct kept {
        struct str key;   /* "namespace/name"; of a cluster-wide object its name */
        struct str owner; /* empty: none, nobody is woken */
        struct str name, uid, rv;
        bool deleting;
        bool pinned;   /* no watch tells of it: a list that lacks it does not end it */
        unsigned seen; /* the informer's own */
};

struct informer;

struct informer_options {
        struct kube_location at;   /* of the kind; namespace empty: all; name empty. Its texts outlive the informer */
        struct str label_selector; /* empty: all */
        /* NULL: nothing is kept of it. */
        struct kept *(*read)(void *ctx, struct str bytes);
        void (*release)(struct kept *kept);
        /* Called inside the turn in which it was seen: note it and act later. */
        void (*wake)(void *ctx, struct str owner);
        /* It came (`old` NULL), changed or went (`now` NULL); before wake(), while what was kept still is. May be NULL.
         */
        void (*changed)(void *ctx, const struct kept *old, const struct kept *now);
        /* The kind became readable, was listed anew, or cannot be read. */
        void (*state)(void *ctx);
        void *ctx;
};

/* Begins to list and watch. */
struct informer *informer_new(struct kube_client *c, const struct informer_options *options);
void informer_free(struct informer *i);
DEFINE_CLEANUP(struct informer *, informer_free)

/* Namespace and name as a key: the name alone where there is no namespace. */
struct str informer_key(struct str ns, struct str name, struct arena *a);
/* Key, name, uid, resourceVersion and deletion of an object, in the arena. False: it has no name. */
bool kept_read(const struct value *object, struct arena *a, struct kept *ret);
/* The entry of metadata.ownerReferences that is its controller; NULL: none. */
const struct value *kept_controller(const struct value *object);

/* Was everything listed once? */
bool informer_is_synced(const struct informer *i);
/* Why it cannot be read now; NULL: it can. */
const struct err *informer_err(const struct informer *i);
const struct kube_location *informer_location(const struct informer *i);

/* What is found is borrowed until the next turn. */
size_t informer_count(const struct informer *i);
const struct kept *informer_find(const struct informer *i, struct str key);
const struct kept *informer_at(const struct informer *i, struct str ns, struct str name);
/* Walks all in no order: size_t at = 0; while ((k = informer_next(i, &at))) … */
const struct kept *informer_next(const struct informer *i, size_t *at);
/* All of an owner, by name, as a decision must not depend on the order in which they came; the array in the arena. */
size_t informer_of(const struct informer *i, struct str owner, struct arena *a, const struct kept *const **ret_items);

/* An answer of the server's, made by read(): taken in unless something as new is kept already; then it is released. */
bool informer_put(struct informer *i, struct kept *now);
/* It is known to be gone. */
void informer_drop(struct informer *i, struct str key);

/* Is what a write answered for this object, or anything newer, kept, or was it here and is gone? */
bool informer_saw(const struct informer *i, struct str ns, struct str name, struct str rv);
/* Is the object with this uid gone, or being deleted, as far as is known? */
bool informer_saw_end(const struct informer *i, struct str ns, struct str name, struct str uid);
/* Reads the kind anew; informer_is_fresh() of the number that is returned says when that was done. */
unsigned informer_refresh(struct informer *i);
bool informer_is_fresh(const struct informer *i, unsigned number);

/*
 * Reads what belongs to one owner anew, consistently: then all of it is kept as it is, whatever the watch has shown
 * yet. `label_selector` and `ns` select it on the server. done() comes in a later turn, once; err NULL: it was read.
 */
struct informer_check;
struct informer_check *informer_check_new(struct informer *i, struct str owner, struct str ns,
                                          struct str label_selector, void (*done)(void *ctx, const struct err *err),
                                          void *ctx);
/* Also while it runs (no callback then), and in done(). NULL is fine. */
void informer_check_free(struct informer_check *check);

#endif
