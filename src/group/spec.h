/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a LeaderWorkerSet (leaderworkerset.x-k8s.io/v1) asks for: read, defaulted, checked.
 *
 * No webhook stands before us, and the definition (CRD) may be anybody's: so each default is made here again, each rule
 * of upstream's webhook and of its schema is checked here, all at once, and a field that is not known here is reported
 * with its path instead of passed over. Newer fields that ask for what truce does anyway are accepted. Pod and claim
 * templates are looked into no further than is needed to build on them: what is wrong inside, the API server says when
 * a pod is made.
 *
 * Where the rules differ from upstream's:
 *  - maxUnavailable and maxSurge are refused when both *are* 0, not when a percentage rounds to 0 for the number of
 *    replicas of the moment: an autoscaler may come by there, and the rollout then uses 1;
 *  - the name may be as long as the host names of its pods allow, with the replicas and the size it has;
 *  - an object that asks for more pods than a cluster may have is refused: what is planned is bounded by that.
 */
#ifndef TRUCE_GROUP_SPEC_H
#define TRUCE_GROUP_SPEC_H

#include "group/budget.h"
#include "group/revision.h"

#define GROUP_MAX_REPLICAS   1000000
#define GROUP_MAX_PODS       150000 /* (replicas + maxSurge) × size; Kubernetes supports no larger cluster */
#define GROUP_MAX_NAME_BYTES 63     /* of a label's value, a Service's name, a pod's host name */

enum group_startup { GROUP_STARTUP_LEADER_CREATED, GROUP_STARTUP_LEADER_READY };

/* Annotations of ours on the LeaderWorkerSet: what upstream has no field for. */
struct group_options {
        bool victims_by_health;  /* truce.dev/scale-down: broken-first; otherwise highest-ordinal */
        int64_t gang_timeout_ms; /* truce.dev/gang-timeout, 60 s; 0: no gang, pods are made without gates */
        int64_t unreachable_ms;  /* truce.dev/unreachable-timeout, 60 s: how long a node may be lost */
        int64_t stuck_ms;        /* truce.dev/termination-timeout, 10 min: then TerminatingStuck is told */
        int32_t max_restarts;    /* truce.dev/max-group-restarts; -1: no budget */
        struct str
                budget_reset; /* truce.dev/reset-restarts: a value that differs from the remembered one: a new budget */
};

struct group_spec {
        struct str ns, name, uid, resource_version;
        int64_t generation;
        bool deleting;
        const struct value *labels, *annotations;                   /* of the object; NULL: none */
        struct str exclusive_topology, subgroup_exclusive_topology; /* annotations' values; empty: none */
        bool restart_after_start_annotation;
        int32_t replicas; /* groups */
        enum group_startup startup;
        int32_t partition;
        struct group_budget max_unavailable, max_surge;
        bool no_subdomain;         /* networkConfig says no policy: Shared by default */
        struct group_template now; /* the revision that is wanted */
        struct group_options options;
};

/*
 * Reads a LeaderWorkerSet. All problems at once, in the order of the object's paths as read; *ret_problems is
 * overwritten. 0, or INVAL when there is one: the rest of *ret_spec is then filled as far as it can be, with defaults
 * in place of what cannot be read. Never crashes on any value; nothing borrows from `object`.
 */
int group_spec_read(const struct value *object, struct arena *a, struct group_spec *ret_spec,
                    struct group_problems *ret_problems);

/*
 * What forbids going from `before`, the template of the newest stored revision, to the wanted one: subgroups that come,
 * go or change their size, a subdomain policy that is taken away. Appended.
 */
void group_spec_check_update(const struct group_spec *s, const struct group_template *before, struct arena *a,
                             struct group_problems *problems);

#endif
