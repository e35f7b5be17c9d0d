/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What things of a LeaderWorkerSet are called: labels and annotations, names of pods, keys of groups and subgroups.
 *
 * All of it is upstream's (API package of kubernetes-sigs/lws), so that Services, dashboards, autoscalers and
 * schedulers that know upstream's objects find ours; only the last few constants are our own. A group is `<lws>-<g>`,
 * which is its leader's name too; its workers are `<lws>-<g>-<w>`, w from 1. Indices are never negative here.
 *
 * Thread rule: pure; results live in the arena given.
 */
#ifndef TRUCE_GROUP_NAMES_H
#define TRUCE_GROUP_NAMES_H

#include "base/arena.h"

#define GROUP_API_VERSION "leaderworkerset.x-k8s.io/v1"
#define GROUP_KIND        "LeaderWorkerSet"

#define GROUP_PREFIX "leaderworkerset.sigs.k8s.io/"

/* Labels of pods. The first is on everything that is made for an object, the second on what belongs to one group. */
#define GROUP_LABEL_NAME           GROUP_PREFIX "name"
#define GROUP_LABEL_GROUP_INDEX    GROUP_PREFIX "group-index"
#define GROUP_LABEL_WORKER_INDEX   GROUP_PREFIX "worker-index" /* "0": the leader */
#define GROUP_LABEL_GROUP_KEY      GROUP_PREFIX "group-key"
#define GROUP_LABEL_REVISION       GROUP_PREFIX "template-revision-hash"
#define GROUP_LABEL_SUBGROUP_INDEX GROUP_PREFIX "subgroup-index"
#define GROUP_LABEL_SUBGROUP_KEY   GROUP_PREFIX "subgroup-key"

/* Annotations of pods. */
#define GROUP_ANNOTATION_SIZE                GROUP_PREFIX "size"
#define GROUP_ANNOTATION_LEADER_NAME         GROUP_PREFIX "leader-name" /* workers only */
#define GROUP_ANNOTATION_SUBGROUP_SIZE       GROUP_PREFIX "subgroup-size"
#define GROUP_ANNOTATION_SUBGROUP_TYPE       GROUP_PREFIX "subgroup-policy-type"
#define GROUP_ANNOTATION_SUBDOMAIN_POLICY    GROUP_PREFIX "subdomainPolicy"      /* leaders only, unless Shared */
#define GROUP_ANNOTATION_LEADER_REQUESTS_TPU GROUP_PREFIX "leader-requests-tpus" /* workers only */
/* Annotations of the object; the first two are repeated on its pods. */
#define GROUP_ANNOTATION_EXCLUSIVE          GROUP_PREFIX "exclusive-topology"
#define GROUP_ANNOTATION_SUBGROUP_EXCLUSIVE GROUP_PREFIX "subgroup-exclusive-topology"
#define GROUP_ANNOTATION_AFTER_START        GROUP_PREFIX "experimental-recreate-group-after-start"
/* Upstream's leader StatefulSet; nothing of ours has it. */
#define GROUP_ANNOTATION_REPLICAS GROUP_PREFIX "replicas"

/* What every container is told. */
#define GROUP_ENV_LEADER_ADDRESS "LWS_LEADER_ADDRESS"
#define GROUP_ENV_GROUP_SIZE     "LWS_GROUP_SIZE"
#define GROUP_ENV_WORKER_INDEX   "LWS_WORKER_INDEX"

/* Our own. */
#define GROUP_LABEL_INCARNATION "truce.dev/incarnation" /* which life of its group a pod belongs to */
#define GROUP_GATE              "truce.dev/group"       /* the scheduling gate of members that wait for the others */

/* "<lws>-<g>": the leader, and the Service of a group that has its own. */
struct str group_name_leader(struct arena *a, struct str lws, int32_t g);
/* "<lws>-<g>-<w>". */
struct str group_name_worker(struct arena *a, struct str lws, int32_t g, int32_t w);
/* Either: worker 0 is the leader. */
struct str group_name_pod(struct arena *a, struct str lws, int32_t g, int32_t w);
/* "<lws>-<hash>-<number>": a ControllerRevision. */
struct str group_name_revision(struct arena *a, struct str lws, struct str hash, int64_t number);
/* "<template>-<pod>": the claim that a StatefulSet makes for a pod from a template of claims. */
struct str group_name_claim(struct arena *a, struct str claim_template, struct str pod);

/* Key of a group: 40 hex digits, SHA-1 of "<namespace>/<leader's name>". */
struct str group_key(struct arena *a, struct str ns, struct str leader);
/* Key of a subgroup: SHA-1 of "<leader's name>/<index>". */
struct str group_subgroup_key(struct arena *a, struct str leader, int32_t index);

/*
 * The reverse of names: "a-1-0" is ordinal 0 of "a-1". *ret_parent borrows from `name`. False, with outputs untouched:
 * the name does not end in "-" and decimal digits, or the number is above INT32_MAX.
 */
bool group_parent_ordinal(struct str name, struct str *ret_parent, int32_t *ret_ordinal);

#endif
