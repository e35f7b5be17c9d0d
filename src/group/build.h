/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a LeaderWorkerSet as they are created: pods, headless Services, PersistentVolumeClaims and
 * ControllerRevisions. They look like what upstream's controller, its webhook and the StatefulSets between them make
 * (kubernetes-sigs/lws; k8s.io/api for StatefulSets), with two differences: the LeaderWorkerSet itself is the
 * controller of everything, and pods carry the label of their incarnation.
 *
 * What a user wrote in a pod template stays: labels, annotations, finalizers, affinity terms, volumes, environment,
 * scheduling gates. Set here, whatever the template says: name, namespace, owner, hostname, subdomain, the labels and
 * annotations of names.h, the three LWS_ variables, volumes that have the name of a claim template. Kueue's queue and
 * priority class come from the object's labels when it has them, as Kueue's own webhook does it: it never comes back to
 * objects that it missed (kueue#13968).
 *
 * Everything of a group comes from one revision's template, never from the object's newest; from the object come name,
 * namespace, uid, labels and the annotations about topology.
 *
 * Thread rule: pure. Results live in the arena given and share parts of the spec and template, which must live as long.
 */
#ifndef TRUCE_GROUP_BUILD_H
#define TRUCE_GROUP_BUILD_H

#include "base/value.h"

struct group_spec;
struct group_template;

struct group_place {
        int32_t group, worker;  /* worker 0: the leader; below the template's size */
        struct str incarnation; /* label's value */
        /* The value that the leader's (or first of the subgroup's) node has for the topology's key; workers are pinned
         * to it. Empty: the leader, or no exclusive placement. */
        struct str topology_value, subgroup_topology_value;
        bool gated; /* with the scheduling gate GROUP_GATE, unless the template names the pod's node */
};

const struct value *group_build_pod(const struct group_spec *s, const struct group_template *t,
                                    const struct group_place *at, struct arena *a);

/* Headless, with addresses of pods that are not ready: `group` -1 is the one that all groups share. */
const struct value *group_build_service(const struct group_spec *s, int32_t group, struct arena *a);

/*
 * The claim of one pod from one of the template's claim templates. Of its spec accessModes, storageClassName,
 * volumeMode and resources are kept, as upstream does. Owned by the object only when claims are deleted with it.
 */
const struct value *group_build_claim(const struct group_spec *s, const struct group_template *t,
                                      const struct value *claim_template, const struct group_place *at,
                                      struct arena *a);

const struct value *group_build_revision(const struct group_spec *s, const struct group_template *t, int64_t number,
                                         struct arena *a);

/* Names of a pod's claims in the order of t's claim templates; 0: the template has none. */
size_t group_claim_names(const struct group_template *t, struct str pod, struct arena *a, const struct str **ret_names);

/* The DNS subdomain of a group's pods, which is the name of its headless Service. */
struct str group_subdomain(const struct group_spec *s, const struct group_template *t, int32_t group, struct arena *a);

/*
 * Which subgroup a member is in, from 0; -1: none. (Sizes s of a group and n of a subgroup: where n divides s − 1 and
 * not s, the leader is the additional member of subgroup 0.)
 */
int32_t group_subgroup_index(const struct group_template *t, int32_t worker);

#endif
