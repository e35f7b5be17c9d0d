/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Deployment and its ReplicaSets during one look. controllers_deployment.c gathers and tells, controllers_rollout.c
 * decides on sizes.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_CONTROLLERS_ROLLOUT_H
#define TRUCE_SANDBOX_CONTROLLERS_ROLLOUT_H

#include "sandbox/controllers_impl.h"

#define DESIRED_ANNOTATION  "deployment.kubernetes.io/desired-replicas"
#define MAX_ANNOTATION      "deployment.kubernetes.io/max-replicas"
#define REVISION_ANNOTATION "deployment.kubernetes.io/revision"
#define HISTORY_ANNOTATION  "deployment.kubernetes.io/revision-history"

struct set {
        struct version *v;
        int64_t size;                                  /* wanted */
        int64_t actual, ready, available, terminating; /* its status */
        int64_t revision;
};

struct rollout {
        struct look *l;
        struct version *v; /* the Deployment as it is now */
        struct set *sets;  /* oldest first; room for one more */
        size_t count;
        struct set *current; /* the one of today's template, or NULL */
        int64_t replicas, surge, unavailable;
        bool is_rolling;
};

struct set set_read(struct version *v);
int64_t sets_size(const struct rollout *r);

/* The size of the current set when it may grow. */
int64_t rollout_new_size(const struct rollout *r);
/* Was spec.replicas changed since the sets were sized? */
bool rollout_is_scaling(const struct rollout *r);
/* Sizes all sets anew in proportion. Each of these: false when a write was refused. */
bool rollout_scale(struct rollout *r);
/* One step of a rolling update; *ret_moved: did it write? */
bool rollout_roll(struct rollout *r, bool *ret_moved);
/* Old sets to 0. */
bool rollout_drain(struct rollout *r, bool *ret_moved);
bool rollout_resize(struct rollout *r, struct set *s, int64_t size, bool always);
/* Deletes old, empty sets beyond revisionHistoryLimit. */
bool rollout_clean(struct rollout *r);

#endif
