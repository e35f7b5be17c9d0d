/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduler, kubelets and what looks after Pods that no kubelet looks after: the steps of a Pod's life. Nothing is
 * executed; what is written is what those programs write.
 */
#include "sandbox/controllers_pod.h"

#include <inttypes.h>

#include "sandbox/controllers_job.h"
#include "sandbox/serve.h"

#define COLLECT_MS INT64_C(20000) /* the Pod collector's period … */
#define ORPHAN_MS  INT64_C(60000) /* … and what it waits for a Node that is missing, with it */

/* ---- Events ---- */

static bool has_run(const struct value *status) {
        return value_path(status, "state", "running", NULL) || value_path(status, "state", "terminated", NULL);
}

/* What became of one container since `old`. */
static void tell_container(struct look *l, const struct value *pod, const char *field, const struct value *old,
                           const struct value *now) {
        struct str name = value_text(value_getc(now, "name")), image = value_text(value_getc(now, "image"));
        struct str reason = value_text(value_path(now, "state", "waiting", "reason", NULL));
        struct str path = arena_strf(l->a, "spec.%s{%.*s}", field, STR_FMT(name));
        bool has_changed = has_run(old) && !value_equal(value_getc(old, "image"), value_getc(now, "image"));
        bool has_restarted = has_changed || (has_run(old) && !value_equal(value_getc(old, "restartCount"),
                                                                          value_getc(now, "restartCount")));

        if (value_equal(value_path(old, "state", "waiting", "reason", NULL),
                        value_path(now, "state", "waiting", "reason", NULL)) &&
            has_run(old) == has_run(now) && !has_restarted)
                return;
        if (has_changed)
                look_container_event(l, pod, path, NORMAL, "Killing",
                                     "Container %.*s definition changed, will be restarted", STR_FMT(name));
        if (str_eqc(reason, "ImagePullBackOff")) {
                look_container_event(l, pod, path, NORMAL, "Pulling", "Pulling image \"%.*s\"", STR_FMT(image));
                look_container_event(l, pod, path, WARNING, "Failed", "Failed to pull image \"%.*s\": not found",
                                     STR_FMT(image));
                look_container_event(l, pod, path, WARNING, "Failed", "Error: ErrImagePull");
                look_container_event(l, pod, path, NORMAL, "BackOff", "Back-off pulling image \"%.*s\": not found",
                                     STR_FMT(image));
                look_container_event(l, pod, path, WARNING, "Failed", "Error: ImagePullBackOff");
        } else if (str_eqc(reason, "CrashLoopBackOff")) {
                look_container_event(l, pod, path, WARNING, "BackOff",
                                     "Back-off restarting failed container %.*s in pod %.*s_%.*s(%.*s)", STR_FMT(name),
                                     STR_FMT(l->name), STR_FMT(l->namespace), STR_FMT(meta_text(pod, "uid")));
        } else if (has_run(now)) {
                look_container_event(
                        l, pod, path, NORMAL, "Pulled",
                        "Container image \"%.*s\" already present on machine and can be accessed by the pod",
                        STR_FMT(image));
                look_container_event(l, pod, path, NORMAL, "Created", "Container created");
                look_container_event(l, pod, path, NORMAL, "Started", "Container started");
        }
}

static void tell_containers(struct look *l, const struct value *pod, const struct value *status, const char *field,
                            const char *statuses) {
        const struct value *now = value_getc(status, statuses), *old = value_path(pod, "status", statuses, NULL);

        for (size_t i = 0; l->ctl->recorder && i < value_count(now); i++)
                tell_container(l, pod, field, named_item(old, value_text(value_getc(now->list.items[i], "name"))),
                               now->list.items[i]);
}

static void tell_stopping(struct look *l, const struct value *pod) {
        const struct value *list = value_path(pod, "status", "containerStatuses", NULL);

        for (size_t i = 0; l->ctl->recorder && i < value_count(list); i++) {
                struct str name = value_text(value_getc(list->list.items[i], "name"));

                if (value_path(list->list.items[i], "state", "running", NULL))
                        look_container_event(l, pod, arena_strf(l->a, "spec.containers{%.*s}", STR_FMT(name)), NORMAL,
                                             "Killing", "Stopping container %.*s", STR_FMT(name));
        }
}

/* ---- steps ---- */

static bool was_started(const struct value *pod) {
        const struct value *list = value_path(pod, "status", "containerStatuses", NULL);

        for (size_t i = 0; i < value_count(list); i++)
                if (!str_eqc(value_text(value_path(list->list.items[i], "state", "waiting", "reason", NULL)),
                             "ContainerCreating"))
                        return true;
        return false;
}

static struct pod_clock *clock_of(struct look *l, const struct value *pod) {
        struct str uid = meta_text(pod, "uid");
        struct pod_clock *clock = map_find(l->ctl->clocks, uid);

        if (!clock) {
                clock = mem_zalloc(sizeof *clock);
                map_set(l->ctl->clocks, uid, clock);
        }
        return clock;
}

/* When it was seen first, in loop time. */
static int64_t first_ms(struct look *l, bool *is_seen, int64_t *ms) {
        if (!*is_seen)
                *ms = loop_now_ms(l->ctl->s->loop);
        *is_seen = true;
        return *ms;
}

/* When its containers were begun. Those of a Pod that was loaded begin now, or did long ago when they are there. */
static int64_t up_ms(struct look *l, const struct value *pod) {
        struct pod_clock *clock = clock_of(l, pod);

        if (!clock->is_up && was_started(pod))
                *clock = (struct pod_clock){ .is_up = true, .up_ms = INT64_MIN / 2 };
        return first_ms(l, &clock->is_up, &clock->up_ms);
}

static bool live_on(struct look *l, struct version *v) {
        const struct value *pod = v->value;

        if (pod_is_ended(pod))
                return true;
        struct pod_wanted wanted = pod_status_wanted(l, pod, up_ms(l, pod));
        if (wanted.again_ms > 0)
                look_again(l, wanted.again_ms);
        if (!look_status(l, v, wanted.status))
                return false;
        if (wanted.restarted)
                clock_of(l, pod)->up_ms = loop_now_ms(l->ctl->s->loop);
        tell_containers(l, pod, wanted.status, "initContainers", "initContainerStatuses");
        tell_containers(l, pod, wanted.status, "containers", "containerStatuses");
        return true;
}

/* Takes it away without asking anybody. */
static bool remove_now(struct look *l, struct version *v) {
        const struct delete_options now = {
                .has_grace = true,
                .has_uid = true,
                .uid = arena_str(l->a, meta_text(v->value, "uid")),
        };

        return look_delete(l, RES_POD, v, &now);
}

/* How long the containers still take to stop: what they need, and no more than what they are given. */
static int64_t stopping_ms(struct look *l, const struct value *pod, bool *ret_is_new) {
        struct pod_clock *clock = clock_of(l, pod);
        int64_t given = time_ms(value_path(pod, "metadata", "deletionTimestamp", NULL)) - look_wall_ms(l);

        *ret_is_new = !clock->is_ending;
        int64_t left = first_ms(l, &clock->is_ending, &clock->ending_ms) + pod_duration_ms(pod, PODSIM "stop", 0) -
                       loop_now_ms(l->ctl->s->loop);
        return left < given ? left : given;
}

/* A deletion ends when the containers have stopped. With finalizers the Pod outlives it, hence the look at the grace.
 */
static bool end(struct look *l, struct version *v) {
        bool is_new;

        if (int_or(value_path(v->value, "metadata", "deletionGracePeriodSeconds", NULL), 0) == 0)
                return job_free_orphan(l, v);
        int64_t left = stopping_ms(l, v->value, &is_new);
        if (is_new)
                tell_stopping(l, v->value);
        if (left <= 0 || pod_is_ended(v->value))
                return remove_now(l, v);
        look_again(l, left);
        return true;
}

/* ---- Pods that nobody answers for ---- */

static void act_as(struct look *l, const char *controller) {
        l->c->manager = STR("kube-controller-manager");
        l->c->user = arena_strf(l->a, "system:serviceaccount:kube-system:%s", controller);
}

/* The status of a Pod that has to go for a reason of the cluster's. */
static const struct value *with_disruption(struct look *l, const struct value *pod, const char *reason,
                                           const char *message) {
        const struct value *status = value_getc(pod, "status"), *c;
        const struct value *list =
                pod_set_condition(l, pod, value_getc(status, "conditions"), "DisruptionTarget", NULL);

        c = value_with(l->a, condition_find(list, "DisruptionTarget"), STR("reason"), make_text(l->a, reason));
        c = value_with(l->a, c, STR("message"), make_text(l->a, message));
        return value_with(l->a, status, STR("conditions"),
                          items_with(l->a, condition_without(l->a, list, "DisruptionTarget"), c));
}

/* As the Pod collector does it: Failed first, by force then. The write of the first wakes for the second. */
static bool collect(struct look *l, struct version *v, const struct value *status) {
        act_as(l, "pod-garbage-collector");
        if (pod_is_ended(v->value))
                return remove_now(l, v);
        return look_status(l, v, value_with(l->a, status, STR("phase"), make_text(l->a, "Failed")));
}

static bool collect_after(struct look *l, struct version *v, int64_t wait_ms, const struct value *status) {
        struct pod_clock *clock = clock_of(l, v->value);
        int64_t left = first_ms(l, &clock->is_lost, &clock->lost_ms) + wait_ms - loop_now_ms(l->ctl->s->loop);

        if (left <= 0)
                return collect(l, v, status);
        look_again(l, left);
        return true;
}

static bool orphaned(struct look *l, struct version *v) {
        return collect_after(l, v, ORPHAN_MS,
                             with_disruption(l, v->value, "DeletionByPodGC", "PodGC: node no longer exists"));
}

/* Where no Node answers it is the cluster that is lost, and a node controller evicts nobody. */
static bool some_node_is_up(const struct look *l) {
        const struct shelf *nodes = store_shelf(l->ctl->s->store, (struct str){ 0 }, STR("nodes"));

        for (size_t i = 0; i < nodes->count; i++)
                if (node_is_simulated(l->ctl, nodes->items[i]->value) && !node_is_down(nodes->items[i]->value))
                        return true;
        return false;
}

/* The taint that forbids it to stay is tolerated for some time (admission says five minutes), then it is deleted. */
static bool leave(struct look *l, struct version *v, const struct value *node) {
        const struct value *taint = node_taint(node, "node.kubernetes.io/unreachable", "NoExecute");
        int64_t seconds, left = 0;

        if (!taint || !some_node_is_up(l))
                return true;
        if (pod_tolerates(v->value, taint, &seconds)) {
                if (seconds < 0)
                        return true;
                left = time_ms(value_getc(taint, "timeAdded")) + seconds * SECOND_MS - look_wall_ms(l);
        }
        if (left > 0) {
                look_again(l, left);
                return true;
        }
        act_as(l, "taint-eviction-controller");
        const struct value *status = with_disruption(l, v->value, "DeletionByTaintManager",
                                                     "Taint manager: deleting due to NoExecute taint");
        if (!value_equal(status, value_getc(v->value, "status")))
                return look_status(l, v, status);
        return look_delete(l, RES_POD, v, NULL);
}

/* Its Node does not answer: deletions wait, until somebody says that the Node is out of service for good. */
static bool lost_on(struct look *l, struct version *v, const struct value *node) {
        const struct value *status = pod_status_lost(l, v->value);

        if (!value_equal(status, value_getc(v->value, "status"))) {
                act_as(l, "node-controller");
                return look_status(l, v, status);
        }
        if (!is_deleting(v->value))
                return pod_is_ended(v->value) || leave(l, v, node);
        if (node_taint(node, "node.kubernetes.io/out-of-service", NULL))
                return collect_after(l, v, COLLECT_MS, status);
        return true;
}

/* ---- the step that is due ---- */

static bool wait_for_node(struct look *l, struct version *v) {
        struct str node = node_only(l->ctl);

        if (!pod_wants_binding(v->value))
                return true;
        if (node.n == 0)
                return place_run(l);
        l->c->at.name = l->name;
        serve_bind(l->c, v, node);
        look_scheduled(l, v->value, node);
        return true;
}

bool pod_run(struct look *l, struct version *v) {
        struct str name = value_text(value_path(v->value, "spec", "nodeName", NULL));
        const struct value *node;

        if (name.n == 0)
                return is_deleting(v->value) ? end(l, v) : wait_for_node(l, v);
        enum node_state state = node_state_of(l->ctl, name, &node);
        if (state == NODE_DOWN)
                return lost_on(l, v, node);
        if (state == NODE_GONE)
                return orphaned(l, v);
        if (state == NODE_FOREIGN)
                return !is_deleting(v->value) || job_free_orphan(l, v);
        clock_of(l, v->value)->is_lost = false;
        l->c->user = arena_strf(l->a, "system:node:%.*s", STR_FMT(name));
        return is_deleting(v->value) ? end(l, v) : live_on(l, v);
}
