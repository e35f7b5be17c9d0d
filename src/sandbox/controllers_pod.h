/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scheduler and kubelets need of each other: the status a Pod should have (controllers_pod_status.c), the
 * simulated Nodes (controllers_node.c), which Node a Pod fits on (controllers_place.c), and the steps of a Pod's life
 * (controllers_pod.c).
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_CONTROLLERS_POD_H
#define TRUCE_SANDBOX_CONTROLLERS_POD_H

#include "sandbox/controllers_impl.h"

#define PODSIM "podsim.truce.dev/"

/* What is remembered of a Pod in loop time, as its times have whole seconds only. 0: not yet. */
struct pod_clock {
        int64_t up_ms;     /* bound, or restarted last; INT64_MIN / 2: long ago */
        int64_t ending_ms; /* its deletion was seen */
        int64_t lost_ms;   /* nobody answers for it any more */
        bool is_up, is_ending, is_lost;
};

/* A container of a Pod that crashes, as the annotations say. */
struct crash {
        struct str container, reason;
        int64_t count, code;
        bool is_init;  /* it is one that runs to its end before the others */
        bool restarts; /* it is started again; else it stays down */
};

struct pod_wanted {
        const struct value *status;
        int64_t again_ms; /* for how long it stays true by itself; 0: for ever */
        bool restarted;   /* a container has just crashed: up_ms is now */
};

bool pod_is_annotated(const struct value *pod, const char *name, const char *value);
/* The duration in an annotation, or `otherwise`. */
int64_t pod_duration_ms(const struct value *pod, const char *name, int64_t otherwise);
/* An item of a list by its name, or NULL. */
const struct value *named_item(const struct value *list, struct str name);
/* A list of conditions with one set; NULL `why_not`: True. Its time moves when its status does. */
const struct value *pod_set_condition(struct look *l, const struct value *pod, const struct value *conditions,
                                      const char *type, const char *why_not);
/* The status of a Pod that a Node answers for. `up_ms`: see struct pod_clock. */
struct pod_wanted pod_status_wanted(struct look *l, const struct value *pod, int64_t up_ms);
/* … and of one that nobody answers for: not Ready. */
const struct value *pod_status_lost(struct look *l, const struct value *pod);

/* --- Nodes --- */

enum node_state {
        NODE_FOREIGN, /* nobody here answers for it */
        NODE_UP,
        NODE_DOWN,
        NODE_GONE, /* deleted, with all that ran there */
};
/* *ret_node (may be NULL): the Node, borrowed; NULL when it is missing. */
enum node_state node_state_of(const struct controllers *ctl, struct str name, const struct value **ret_node);
bool node_is_simulated(const struct controllers *ctl, const struct value *node);
bool node_is_down(const struct value *node);
/* The Node that takes every Pod, as long as it is alone and answers; else empty. */
struct str node_only(const struct controllers *ctl);
/* A taint of this key and (NULL: any) effect, or NULL. */
const struct value *node_taint(const struct value *node, const char *key, const char *effect);
/* *ret_seconds (may be NULL): for how long, the least that any toleration says; -1: for ever. */
bool pod_tolerates(const struct value *pod, const struct value *taint, int64_t *ret_seconds);

/* One pass over all Pods that wait for a Node. */
bool place_run(struct look *l);
bool pod_wants_binding(const struct value *pod);
/* Is it one that nodeSelector and required node affinity ask for? A template will do for a Pod. */
bool pod_matches_node(struct arena *a, const struct value *node, const struct value *pod);

#endif
