/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration documents that are objects of the cluster: the Applications and AppProjects of one namespace, its
 * repository Secrets (by Argo CD's label), and the ConfigMaps of Argo CD that are read (agent/config.h), all of them only
 * where they carry the selector. Listed, then watched.
 *
 * What it gives are texts for config_load_with(), and only of a whole picture: every kind was listed, and no watch of one
 * fails now. While the API server is away, forbids a kind, or has stopped serving it, the documents of before stay: what
 * cannot be seen is never taken for gone. A kind that was not served when it was first asked for has no objects; it is
 * watched all the same. Who deletes a kind's definition deletes its objects first, one by one: when the last one of such a
 * kind goes, CONFIG_CLUSTER_EMPTIED_MS must pass before that is believed.
 *
 * Of an object what a reader of documents looks at is kept: `status`, `operation` and what controllers note in
 * annotations change all the time. One that is being deleted is gone: its own deployer may be taking its objects away.
 * Nothing is ever written.
 *
 * Limits: CONFIG_CLUSTER_MAX_OBJECTS. Thread rule: loop thread; what a snapshot holds is immutable and may be read from
 * any. Life cycle: free it before its client.
 */
#ifndef TRUCE_AGENT_CONFIG_CLUSTER_H
#define TRUCE_AGENT_CONFIG_CLUSTER_H

#include "agent/config.h"
#include "base/hash.h"
#include "kube/client.h"

#define CONFIG_CLUSTER_MAX_OBJECTS 20000
#define CONFIG_CLUSTER_EMPTIED_MS 10000

struct config_cluster;

/* The documents at one time; kept by who refers to it. Loop thread only, but for reading `documents`. */
struct config_snapshot {
        struct config_documents documents; /* by kind and name; "Application argocd/shop" stands for the file */
        struct hash128 stamp;              /* equal: so are the documents */
        struct arena *arena;
        unsigned refs;
};

struct config_snapshot *config_snapshot_ref(struct config_snapshot *s);
void config_snapshot_unref(struct config_snapshot *s);
DEFINE_CLEANUP(struct config_snapshot *, config_snapshot_unref)

/*
 * Begins to list and watch. `selector` is a label selector as kubectl has it; empty: all. `changed` is called when the
 * picture has become whole, or is not any more, or why not is another reason; it must not free the config_cluster.
 */
struct config_cluster *config_cluster_new(struct loop *l, struct kube_client *client, struct str ns, struct str selector,
                                          void (*changed)(void *ctx), void *ctx);
void config_cluster_free(struct config_cluster *c);
DEFINE_CLEANUP(struct config_cluster *, config_cluster_free)

/* Why the newest documents cannot be seen; code 0: they can, or were not yet asked for to the end. */
const struct err *config_cluster_err(const struct config_cluster *c);

/* The newest documents of a whole picture; borrowed until the next turn. NULL before the first one. */
struct config_snapshot *config_cluster_snapshot(struct config_cluster *c);

#endif
