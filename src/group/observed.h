/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is seen of one LeaderWorkerSet: its pods, services, claims and revisions, the nodes that its pods are on, and
 * what else decides about it. The runtime fills it from its caches; plan.h decides from nothing else.
 *
 * A whole Pod is large and there are many: of each only what a decision or a sentence for people needs is kept. The
 * readers below are the only places that know how the API spells these things.
 *
 * Thread rule: plain data; texts and arrays live in the arena of whoever made them.
 */
#ifndef TRUCE_GROUP_OBSERVED_H
#define TRUCE_GROUP_OBSERVED_H

#include "base/value.h"

enum group_phase {
        GROUP_POD_PENDING,
        GROUP_POD_RUNNING,
        GROUP_POD_SUCCEEDED,
        GROUP_POD_FAILED,
        GROUP_POD_UNKNOWN,
};

struct group_pod {
        struct str name, uid, resource_version;
        struct str owner_uid;   /* the controller's; empty: none */
        struct str revision;    /* label template-revision-hash */
        struct str incarnation; /* label truce.dev/incarnation */
        struct str node;        /* empty: not bound */
        struct str size_annotation;
        int32_t group, worker; /* from the labels; -1: missing or no number */
        enum group_phase phase;
        bool ready;           /* condition Ready is True */
        bool gated;           /* our scheduling gate is on it */
        bool gated_by_others; /* another scheduling gate is on it */
        /*
         * Condition PodScheduled is False with reason Unschedulable. Its lastTransitionTime says nothing of since when:
         * for a pod that had a gate it is when that came.
         */
        bool unschedulable;
        int64_t created_ms;
        int64_t deleting_ms;     /* deletionTimestamp; 0: it is not being deleted */
        bool deleting_at_once;   /* nobody is waited for any more but finalizers */
        int64_t ready_ms;        /* since when it is ready; 0: it is not, or the condition does not say */
        int32_t restarts;        /* the highest restartCount of its containers and init containers */
        struct str last_failure; /* "container main: exit code 137 (OOMKilled)": the newest one, for people; empty */
};

struct group_node {
        struct str name;
        const struct value *labels; /* NULL: none */
        bool out_of_service;        /* it has the taint node.kubernetes.io/out-of-service */
        int64_t out_of_service_ms;  /* since when that is known; 0: for long */
        bool gone;                  /* there is no such Node */
        int64_t lost_ms;            /* since when its Ready is not True, or since when it is gone; 0: it is fine */
};

struct group_service {
        struct str name, uid, resource_version, owner_uid;
        bool headless, publishes_not_ready;
        const struct value *selector;
};

struct group_claim {
        struct str name, uid, resource_version, owner_uid;
        struct str set; /* label leaderworkerset.sigs.k8s.io/name; empty: none */
        bool deleting;
};

struct group_stored_revision {
        struct str name, uid, resource_version, owner_uid;
        struct str hash; /* label template-revision-hash */
        int64_t number;
        const struct value *data;
};

struct group_observed {
        /*
         * Pods with the label of the set in its namespace. Also those that a create found under one of our names and
         * that carry no such label: the plan tells about them.
         */
        const struct group_pod *pods;
        size_t pod_count;
        /* The nodes that pods name. One that is not listed is one of which nothing is known: it counts as fine. */
        const struct group_node *nodes;
        size_t node_count;
        const struct group_service *services; /* by label of the set, and those found under one of our names */
        size_t service_count;
        const struct group_claim *claims; /* as services */
        size_t claim_count;
        const struct group_stored_revision *revisions;
        size_t revision_count;
        struct str foreign;  /* who else runs this object ("StatefulSet demo"); empty: nobody */
        int64_t capacity_ms; /* the newest time at which a node came, became ready or grew; 0: unknown */
        bool namespace_terminating;
};

/*
 * The readers. What is missing or of another type is empty, 0, -1 or false; only an object without a name or a uid is
 * refused (PARSE). Texts are copied into the arena; values (labels, selector, data) are borrowed from the object.
 */
int group_pod_read(const struct value *pod, struct arena *a, struct group_pod *ret_pod);
int group_service_read(const struct value *service, struct arena *a, struct group_service *ret_service);
int group_claim_read(const struct value *claim, struct arena *a, struct group_claim *ret_claim);
int group_stored_revision_read(const struct value *controller_revision, struct arena *a,
                               struct group_stored_revision *ret_revision);
/*
 * lost_ms is the last transition of the condition Ready when that is not True, the Node's creation when it has no such
 * condition yet. `gone` is the runtime's to set, with lost_ms.
 */
int group_node_read(const struct value *node, struct arena *a, struct group_node *ret_node);

#endif
