/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster as the agent sees it: which kinds it serves, and the live objects that matter to us, kept current by one
 * LIST and one WATCH a kind.
 *
 * What is kept of a kind: objects that carry our installation label, objects that an application wants or has in its
 * inventory (hooks.keep), and every object of a kind that was wanted with CLUSTER_ALL (scalers). Everything else of a LIST
 * passes through and is forgotten. The WATCH selects our label on the server, so an untracked object is known as of the
 * LIST or of cluster_put() only; writes to it carry its uid and are safe against that.
 *
 * A live object is canonical text without managedFields, and the reduced managedFields (own/managed.h). The
 * newest resourceVersion wins whatever the order of arrival: an answer to our own write is put in at once, its echo from
 * the watch changes nothing.
 *
 * Objects are found by (group, version, kind, namespace, name): a kind is read in the version that Git uses, as only
 * objects of one version compare.
 *
 * Thread rule: loop thread only. Life cycle: the client and the loop outlive it.
 */
#ifndef TRUCE_AGENT_CLUSTER_H
#define TRUCE_AGENT_CLUSTER_H

#include "base/map.h"
#include "base/value.h"
#include "kube/client.h"
#include "kube/discovery.h"
#include "kube/watch.h"
#include "own/managed.h"

struct cluster;
struct cluster_kind;

struct live {
        char *id;            /* "group/Kind/namespace/name", as sync/inventory.h */
        char *uid, *rv;
        char *text;          /* canonical, without managedFields */
        size_t text_bytes;
        struct managed_packed *managed; /* who owns what: entries of the object and of scale, no times */
        bool tracked;        /* carries our installation label */
        bool deleting;       /* has a deletionTimestamp */
        bool put;            /* by cluster_put(), and neither LIST nor WATCH has shown it yet */
        unsigned seen;       /* number of the LIST that showed it last */
};

struct cluster_hooks {
        /* Is this untracked object of interest? Asked for each item of a LIST. */
        bool (*keep)(void *ctx, struct str id);
        /*
         * A kept object changed or vanished (then `live` is NULL). Not called for cluster_put(), but when what was put
         * is seen. Must not call back into the cluster's changing functions: note the id and act in a later turn.
         */
        void (*changed)(void *ctx, const struct cluster_kind *kind, struct str id, const struct live *live);
        /* A kept object is known to be gone before a watch showed it, cluster_drop(), or its kind is. `changed` will not tell. */
        void (*dropped)(void *ctx, const struct cluster_kind *kind, struct str id);
        /* An object of interest cannot be read: it is too deep. Told when that begins; rules as for `changed`. */
        void (*unread)(void *ctx, const struct cluster_kind *kind, struct str id);
        /* A kind became synced, failed, or was read again. */
        void (*kind_changed)(void *ctx, const struct cluster_kind *kind);
        /* The API server answers for a kind again, after a while in which it could not be reached. */
        void (*back)(void *ctx);
        /* Discovery was read: kinds may be served that were not before. Before the done() of those who asked. */
        void (*discovered)(void *ctx);
};

enum cluster_kind_state {
        CLUSTER_KIND_UNKNOWN, /* the server does not serve it (yet) */
        CLUSTER_KIND_SYNCING,
        CLUSTER_KIND_SYNCED,
        CLUSTER_KIND_FAILED,  /* cannot be listed or watched now; tried again by itself */
};

/* `installation` is the value of our label; copied. */
struct cluster *cluster_new(struct loop *l, struct kube_client *c, struct str installation, const struct cluster_hooks *hooks,
                            void *ctx);
void cluster_free(struct cluster *c);
DEFINE_CLEANUP(struct cluster *, cluster_free)

/*
 * Reads discovery (again). done(ctx, NULL) on success, also of a partial one; several callers share one fetch.
 */
void cluster_discover(struct cluster *c, void (*done)(void *ctx, const struct err *err), void *ctx);
/* NULL before the first success. */
const struct kube_discovery *cluster_discovery(const struct cluster *c);
/* When it was asked for, by the loop's clock; it knows what was served before. */
int64_t cluster_discovered_ms(const struct cluster *c);

/* What of a kind is watched and kept; a later wish for more widens it. */
enum cluster_scope {
        CLUSTER_TRACKED,  /* watch what carries our label; keep that and what hooks.keep wants of a LIST */
        CLUSTER_FILTERED, /* watch all, keep the same */
        CLUSTER_ALL,      /* watch and keep all (scalers) */
};

/*
 * Makes sure the kind is listed and watched, from now on until cluster_free(). NULL when discovery does not know it or
 * says that this cannot be done.
 */
struct cluster_kind *cluster_want(struct cluster *c, struct gvk gvk, enum cluster_scope scope);
/* The kind when it is wanted already, or NULL. */
struct cluster_kind *cluster_find_kind(const struct cluster *c, struct gvk gvk);
enum cluster_kind_state cluster_kind_state(const struct cluster_kind *k);
/* Why it failed; code 0 otherwise. */
const struct err *cluster_kind_err(const struct cluster_kind *k);
const struct kube_resource *cluster_kind_resource(const struct cluster_kind *k);
/* Kinds that are listed and watched, and streams opened so far (for metrics). */
/*
 * Why the API server as a whole cannot be watched now (unreachable, silent, credentials refused); code 0: it can, whatever
 * is wrong with single kinds.
 */
const struct err *cluster_err(const struct cluster *c);
size_t cluster_kind_count(const struct cluster *c);
size_t cluster_live_count(const struct cluster *c);

const struct live *cluster_find(const struct cluster_kind *k, struct str namespace, struct str name);
/* Walks the kept objects of a kind: size_t at = 0; while ((live = cluster_next(k, &at))) … */
const struct live *cluster_next(const struct cluster_kind *k, size_t *at);

/* Was it seen in a form that cannot be read (too deep)? What cluster_find() has of it, if anything, is older. */
bool cluster_is_unread(const struct cluster_kind *k, struct str namespace, struct str name);

/*
 * Takes in what a write or a GET answered (full JSON of the object), unless something newer is known. Returns the kept
 * object, or NULL when the bytes are no object (PARSE), or nest too deep (LIMIT, in words for a person). No hook is called.
 */
const struct live *cluster_put(struct cluster_kind *k, struct str object, struct err *err);
/* Forgets an object that a GET answered 404 for. */
void cluster_drop(struct cluster_kind *k, struct str namespace, struct str name);

/*
 * What applications want changes: a new epoch begins, its number is returned. An object that became wanted in an epoch
 * later than its kind's newest LIST may exist untracked without our knowing (cluster_kind_covers() is false): GET it
 * before you create it.
 */
uint64_t cluster_begin_epoch(struct cluster *c);
bool cluster_kind_covers(const struct cluster_kind *k, uint64_t epoch);

/*
 * The object as a value in the arena, without managedFields; who owns what goes to *ret_managed. Nothing of it is
 * borrowed from `live`, which the next event may free while a request is under way.
 */
const struct value *live_value(const struct live *live, struct arena *a, struct managed *ret_managed);

#endif
