/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's storage, in etcd's place: objects by resource, namespace and name; one counter of resourceVersions; the
 * recent history of events; who wants to hear of new ones.
 *
 * An object is a chain of immutable versions, each one block of memory with a reference count. Lists, watches, history
 * and the JSON text made for them share it. A shelf holds the objects of one resource (all its API versions), sorted as
 * etcd sorts keys: bytewise by "namespace/name".
 *
 * History: the last `history_events` events of all shelves together. What was before them is compacted: looking at it
 * is 410 Gone. Shelves live as long as the store.
 *
 * This module knows nothing of kinds, validation or managedFields; whoever writes has decided already.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_STORE_H
#define TRUCE_SANDBOX_STORE_H

#include "base/value.h"

#define STORE_HISTORY_EVENTS 10000

/* Something else, nobody needs to know what; of a custom resource with a fingerprint of it in the bits without a name.
 */
#define UNREAD_OTHER 1
/* As its creation left it: whatever is written next differs, and may have no other change. */
#define UNREAD_NEW 2
/* An ExternalName's internalTrafficPolicy, which is left out whenever it is read: Cluster, Local. */
#define UNREAD_CLUSTER 4
#define UNREAD_LOCAL   8
/* A null among a map's bytes, which is read as an empty one. */
#define UNREAD_NO_BYTES 16
/* managedFields stand in another order than writes give them but one of /scale. */
#define UNREAD_ORDER ((uint64_t)1 << 63)
#define UNREAD_NAMED (UNREAD_OTHER | UNREAD_NEW | UNREAD_CLUSTER | UNREAD_LOCAL | UNREAD_NO_BYTES | UNREAD_ORDER)
/* What stays when only the server's own metadata changes; of built-in kinds, as custom resources have fingerprints. */
#define UNREAD_KEPT (UNREAD_ORDER | UNREAD_CLUSTER | UNREAD_LOCAL)

/* One version of one object. */
struct version {
        unsigned refs;
        uint64_t rv;
        const struct value *value;  /* whole: apiVersion, kind, metadata with resourceVersion */
        struct str key;             /* "namespace/name", or "name" of a cluster-wide object */
        struct str namespace, name; /* parts of the key */
        uint64_t unread; /* of what is stored beside `value` and nobody reads: UNREAD_… and a fingerprint */
        char *text;      /* see version_text() */
        size_t text_bytes;
};

struct version *version_ref(struct version *v);
void version_unref(struct version *v);
DEFINE_CLEANUP(struct version *, version_unref)
/* A version outside any shelf: `value` copied into one block. */
struct version *version_new(const struct value *value, uint64_t rv);
/*
 * The JSON of the object without its opening brace, apiVersion and kind: `"metadata":{…},"spec":{…}}`, so that each
 * face (single object, list item, event, another API version) puts its own beginning in front. Made at first use.
 */
struct str version_text(struct version *v);

enum event_type { EVENT_ADDED, EVENT_MODIFIED, EVENT_DELETED };

struct event {
        enum event_type type;
        uint64_t rv;
        struct version *before; /* NULL: ADDED */
        struct version *after;  /* of DELETED: the last state, with the resourceVersion of the deletion */
};

struct shelf_watcher {
        void (*event)(void *ctx, const struct event *e);
        void *ctx;
        struct shelf_watcher *prev, *next;
};

struct shelf {
        struct store *store;
        struct str group, plural;
        struct version **items; /* sorted by key */
        size_t count, cap;
        struct event *events; /* oldest first, from `first` on */
        size_t first, event_count, event_cap;
        struct shelf_watcher *watchers;
};

struct store;

/* `history_events` 0: STORE_HISTORY_EVENTS. */
struct store *sandbox_store_new(unsigned history_events);
void sandbox_store_free(struct store *s);
DEFINE_CLEANUP(struct store *, sandbox_store_free)

/* The newest resourceVersion, and the newest one that is compacted (0: none). */
uint64_t store_rv(const struct store *s);
uint64_t store_compacted_rv(const struct store *s);
/* Sets the counter, past which nothing is known then; for loading. */
void store_set_rv(struct store *s, uint64_t rv);
void store_compact(struct store *s);

/* Finds or makes. */
struct shelf *store_shelf(struct store *s, struct str group, struct str plural);
/* All shelves: `size_t at = 0; while ((shelf = store_next_shelf(s, &at)))`, in the order they were made. */
struct shelf *store_next_shelf(const struct store *s, size_t *at);

/* The current version, borrowed, or NULL. */
struct version *shelf_find(const struct shelf *shelf, struct str namespace, struct str name);
/* The current versions of one namespace (empty: all): [*ret_from, *ret_to) of shelf->items. */
void shelf_range(const struct shelf *shelf, struct str namespace, size_t *ret_from, size_t *ret_to);
/* Index of the first key that is not less. */
size_t shelf_lower_bound(const struct shelf *shelf, struct str key);

/*
 * Creates or replaces the object that `value` names, with the next resourceVersion put into it, and tells the watchers.
 * The version is borrowed. `a` is scratch.
 */
struct version *shelf_put(struct shelf *shelf, const struct value *value, struct arena *a);
/* Removes it; `value` is what the DELETED event shows. The returned version holds one reference: unref it. */
struct version *shelf_remove(struct shelf *shelf, struct version *v, const struct value *value, struct arena *a);
/* Puts a version back as it was saved, in the place of one with its key, without event. Borrowed. */
struct version *shelf_restore(struct shelf *shelf, const struct value *value, uint64_t rv);

/* Takes all out without events; for loading. */
void shelf_clear(struct shelf *shelf);

/*
 * The versions as they were at `rv`, not compacted and not above store_rv(), sorted; borrowed until the next change of
 * the store. The array lives in the arena.
 */
size_t shelf_at(const struct shelf *shelf, uint64_t rv, struct arena *a, struct version *const **ret_items);
/* Events after `rv`, oldest first: [*ret_from, shelf->event_count) counted from shelf->first; see shelf_event(). */
size_t shelf_events_after(const struct shelf *shelf, uint64_t rv);
const struct event *shelf_event(const struct shelf *shelf, size_t i);

void shelf_watch(struct shelf *shelf, struct shelf_watcher *w);
void shelf_unwatch(struct shelf *shelf, struct shelf_watcher *w);

#endif
