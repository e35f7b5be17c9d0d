/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery: which kinds the API server serves, where, and what may be done with them.
 *
 * struct kube_discovery is an immutable snapshot, shared by reference count. It is read with two requests (aggregated
 * discovery, apidiscovery.k8s.io v2 or v2beta1); a server that answers with the plain documents instead is asked group
 * by group. What counts is the kind and apiVersion in the reply, not what was asked for.
 *
 * Partial failure: a group version that is stale or does not answer keeps the entries of the previous snapshot, marked
 * `stale`, and is named in a warning; the rest is fresh. Only when the core group or the list of groups cannot be had
 * at all does a fetch fail.
 *
 * Order: groups as the server ranks them (core first), in a group the preferred version first. "Preferred" for a kind
 * is the first version in that order that serves the kind.
 *
 * Limits: KUBE_DISCOVERY_MAX_RESOURCES; replies at most KUBE_MAX_REPLY_BYTES. Entries that make no sense (no kind or
 * plural) are left out with a warning.
 * Thread rule: a snapshot may be read by any thread; ref, unref and fetching on the loop thread only.
 */
#ifndef TRUCE_KUBE_DISCOVERY_H
#define TRUCE_KUBE_DISCOVERY_H

#include "kube/client.h"
#include "kube/gvk.h"

#define KUBE_DISCOVERY_MAX_RESOURCES 20000
#define KUBE_DISCOVERY_MAX_GROUP_VERSIONS 2000

enum kube_verb {
        KUBE_VERB_GET = 1 << 0,
        KUBE_VERB_LIST = 1 << 1,
        KUBE_VERB_WATCH = 1 << 2,
        KUBE_VERB_CREATE = 1 << 3,
        KUBE_VERB_UPDATE = 1 << 4,
        KUBE_VERB_PATCH = 1 << 5,
        KUBE_VERB_DELETE = 1 << 6,
};

/* Strings live as long as the snapshot. */
struct kube_resource {
        struct str group, version, kind;
        struct str plural, singular; /* singular may be empty */
        const struct str *short_names;
        size_t short_name_count;
        bool namespaced;
        unsigned verbs; /* enum kube_verb */
        bool has_status, has_scale;
        bool preferred; /* the version to use for this group and kind */
        bool stale;     /* taken over from the previous snapshot */
};

struct kube_discovery;

struct kube_discovery *kube_discovery_ref(struct kube_discovery *d);
void kube_discovery_unref(struct kube_discovery *d);
DEFINE_CLEANUP(struct kube_discovery *, kube_discovery_unref)

/* All resources in the order above. */
const struct kube_resource *kube_discovery_resources(const struct kube_discovery *d, size_t *ret_count);
/* What was wrong with it, one text each, for people. */
const struct str *kube_discovery_warnings(const struct kube_discovery *d, size_t *ret_count);

/* Did the fetch fail to read a version of the group? What is served of it now is not known then. */
bool kube_discovery_lacks(const struct kube_discovery *d, struct str group);

/* Lookups; NULL when there is none. */
const struct kube_resource *kube_discovery_find(const struct kube_discovery *d, struct gvk gvk);
/* The preferred version of the kind. */
const struct kube_resource *kube_discovery_find_kind(const struct kube_discovery *d, struct str group, struct str kind);
/* The preferred version of "deployments" in "apps". */
const struct kube_resource *kube_discovery_find_plural(const struct kube_discovery *d, struct str group,
                                                       struct str plural);
/*
 * What a user typed: "deploy", "deployment", "Deployments", "deploy.apps", "deployments.v1.apps"; letter case does not
 * matter. As in kubectl a full name beats a short one, and the group ranked first wins.
 */
const struct kube_resource *kube_discovery_find_word(const struct kube_discovery *d, struct str word);

static inline bool kube_resource_is_watchable(const struct kube_resource *r) {
        return (r->verbs & (KUBE_VERB_LIST | KUBE_VERB_WATCH)) == (KUBE_VERB_LIST | KUBE_VERB_WATCH);
}

/* The object's place; the namespace is dropped for cluster-wide kinds. Borrows from r and the arguments. */
struct kube_location kube_resource_location(const struct kube_resource *r, struct str namespace, struct str name);
struct gvk kube_resource_gvk(const struct kube_resource *r);

/*
 * Starts a fetch. done() runs once in a later turn: `d` with err NULL, borrowed (ref it to keep it), or d NULL and the
 * error of the transport or of kube/status.h. `previous` (may be NULL) is held until then. Dies with the client.
 */
struct kube_discovery_fetch;
typedef void (*kube_discovery_done_fn)(void *ctx, struct kube_discovery *d, const struct err *err);
struct kube_discovery_fetch *kube_discovery_fetch(struct kube_client *c, struct kube_discovery *previous,
                                                  kube_discovery_done_fn done, void *ctx);
/* done() will not run. NULL is fine; not after done() began. */
void kube_discovery_fetch_cancel(struct kube_discovery_fetch *f);

/*
 * A snapshot from documents already at hand: `texts` are APIGroupDiscoveryLists or APIResourceLists, in order of rank.
 * PARSE or LIMIT. For tests and for the cache of a one-shot command.
 */
int kube_discovery_parse(const struct str *texts, size_t count, struct kube_discovery **ret_discovery, struct err *err);

#endif
