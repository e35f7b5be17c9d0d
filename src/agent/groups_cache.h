/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the group reconciler sees of a cluster beside the LeaderWorkerSets themselves: their Pods, Services, claims and
 * ControllerRevisions, StatefulSets (another controller's), and Nodes. One LIST and one WATCH a kind, of objects that
 * carry the label leaderworkerset.sigs.k8s.io/name; Nodes are all read.
 *
 * Kept of an object is what struct group_observed has of it, found by its own name and by the set its label names:
 * about a kibibyte a Pod. Nothing is kept of an object that cannot be read but that there is something.
 *
 * Thread rule: loop thread only. Life cycle: loop and client outlive it.
 */
#ifndef TRUCE_AGENT_GROUPS_CACHE_H
#define TRUCE_AGENT_GROUPS_CACHE_H

#include "agent/informer.h"
#include "group/observed.h"

enum groups_table {
        GROUPS_PODS,
        GROUPS_SERVICES,
        GROUPS_CLAIMS,
        GROUPS_REVISIONS,
        GROUPS_SETS, /* StatefulSets */
        GROUPS_NODES,
        GROUPS_TABLES,
};

struct groups_cache;

/* Called inside the turn in which it was seen: note it and act later. */
struct groups_cache_hooks {
        /* An object of the set "namespace/name" came, changed or went. */
        void (*changed)(void *ctx, struct str set);
        /* Any set may have to be looked at again: Nodes came or grew. */
        void (*capacity)(void *ctx);
        /* A kind became readable, or cannot be read. */
        void (*state)(void *ctx);
};

/* Begins to list and watch. */
struct groups_cache *groups_cache_new(struct loop *l, struct kube_client *c, const struct groups_cache_hooks *hooks,
                                      void *ctx);
void groups_cache_free(struct groups_cache *c);
DEFINE_CLEANUP(struct groups_cache *, groups_cache_free)

/* Was everything listed once? */
bool groups_cache_is_synced(const struct groups_cache *c);
/* The first kind that cannot be read now: its plural, and why. NULL: all can. */
const struct err *groups_cache_err(const struct groups_cache *c, const char **ret_what);

/* All that is known of a set, in the arena; nothing of it is borrowed from the cache. */
void groups_cache_observe(struct groups_cache *c, struct str ns, struct str name, struct str uid, struct arena *a,
                          struct group_observed *ret);

/*
 * A create found this object under one of the set's names. What does not carry the set's label, or another set's, is
 * part of it all the same; no watch tells of it, so it is in doubt after GROUPS_FOUND_MS: one that is still there is
 * found again, another is lost. Sets "a" and "a-0" have names in common.
 */
#define GROUPS_FOUND_MS 20000
void groups_cache_found(struct groups_cache *c, enum groups_table table, struct str set, struct str object);
void groups_cache_lost(struct groups_cache *c, enum groups_table table, struct str set, struct str ns, struct str name);
/* It was deleted, or is to be: what no watch tells of is in doubt at once. */
void groups_cache_deleted(struct groups_cache *c, enum groups_table table, struct str ns, struct str name);
/* One of the set's that is in doubt; the name is borrowed until the next change. */
bool groups_cache_doubts(const struct groups_cache *c, struct str set, enum groups_table *ret_table,
                         struct str *ret_name);

/* Where objects of the kind live, the namespace and the name empty. */
struct kube_location groups_cache_location(enum groups_table table);
/* What is kept of the kind, for gates. */
struct informer *groups_cache_informer(const struct groups_cache *c, enum groups_table table);

#endif
