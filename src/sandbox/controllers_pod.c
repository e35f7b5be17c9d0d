/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduler and kubelet: binds Pods, and writes the status they should have by now. What others wrote into the status
 * (restartCount, conditions of readiness gates) is kept, so that a test can set it.
 */
#include <arpa/inet.h>
#include <inttypes.h>

#include "base/duration.h"
#include "sandbox/controllers_job.h"
#include "sandbox/serve.h"

#define READY_MS      200
#define HOST_IP       "10.0.0.1"
#define FIRST_ADDRESS 0x0a800000u /* 10.128.0.0/9 */
#define ADDRESS_MASK  0x7fffffu

/* Where a container is in its life. */
struct stage {
        struct str waiting; /* for this reason; empty: it runs or ran */
        struct str message;
        bool ready, exited;
        int64_t code;
};

struct sim {
        struct look *l;
        const struct value *pod;
        struct stage stage; /* of the whole Pod */
        bool has_bad_image;
};

/* ---- what should be ---- */

static bool is_annotated(const struct value *pod, const char *name, const char *value) {
        return str_eqc(annotation(pod, name), value);
}

static bool ends_by_itself(const struct value *pod) {
        return str_eqc(value_text(value_getc(controller_of(pod), "kind")), "Job") &&
               !is_annotated(pod, "podsim.truce.dev/hold", "running");
}

static struct stage stage_of(const struct value *pod, bool is_due) {
        struct str waiting = annotation(pod, "podsim.truce.dev/waiting");
        int64_t code = 0;

        if (waiting.n)
                return (struct stage){ .waiting = waiting };
        if (!is_due)
                return (struct stage){ .waiting = STR("ContainerCreating") };
        if (str_to_i64(annotation(pod, "podsim.truce.dev/exit"), &code) || ends_by_itself(pod))
                return (struct stage){ .exited = true, .code = code };
        return (struct stage){ .ready = !is_annotated(pod, "podsim.truce.dev/hold", "unready") };
}

/* The Pod's stage, save for a container whose image cannot be had. */
static struct stage container_stage(struct arena *a, const struct stage *s, const struct value *container) {
        struct str image = value_text(value_getc(container, "image"));

        if (!str_ends(image, STR(":bad")) || str_eqc(s->waiting, "ContainerCreating"))
                return *s;
        return (struct stage){
                .waiting = STR("ImagePullBackOff"),
                .message = arena_strf(a, "Back-off pulling image \"%.*s\": not found", STR_FMT(image)),
        };
}

/* Init containers are over when the others begin; a sidecar goes with them. */
static struct stage init_stage(const struct stage *s, const struct value *container) {
        if (str_eqc(value_text(value_getc(container, "restartPolicy")), "Always") ||
            str_eqc(s->waiting, "ContainerCreating"))
                return *s;
        return (struct stage){ .exited = true };
}

static bool has_bad_image(const struct value *pod) {
        const struct value *list = value_path(pod, "spec", "containers", NULL);

        for (size_t i = 0; i < value_count(list); i++)
                if (str_ends(value_text(value_getc(list->list.items[i], "image")), STR(":bad")))
                        return true;
        return false;
}

/* ---- containers ---- */

static const struct value *named_item(const struct value *list, struct str name) {
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eq(value_text(value_getc(list->list.items[i], "name")), name))
                        return list->list.items[i];
        return NULL;
}

static const struct value *container_state(const struct sim *p, const struct stage *s, const struct value *old) {
        struct arena *a = p->l->a;
        const struct value *now = make_str(a, p->l->c->now);

        if (s->waiting.n)
                return make_map(a, "waiting",
                                make_map(a, "reason", make_str(a, s->waiting), "message",
                                         s->message.n ? make_str(a, s->message) : NULL, NULL),
                                NULL);
        if (s->exited && value_getc(old, "terminated"))
                return old;
        if (s->exited)
                return make_map(a, "terminated",
                                make_map(a, "exitCode", make_int(a, s->code), "reason",
                                         make_text(a, s->code ? "Error" : "Completed"), "startedAt", now, "finishedAt",
                                         now, NULL),
                                NULL);
        return value_getc(old, "running") ? old : make_map(a, "running", make_map(a, "startedAt", now, NULL), NULL);
}

static const struct value *container_status(const struct sim *p, const struct value *container, const struct stage *s,
                                            const struct value *old) {
        struct arena *a = p->l->a;
        struct str name = value_text(value_getc(container, "name")), image = value_text(value_getc(container, "image"));
        struct str old_image = value_text(value_getc(old, "image"));
        int64_t restarts = int_or(value_getc(old, "restartCount"), 0);
        const struct value *id =
                s->waiting.n ? value_getc(old, "containerID") : make_textf(a, "sim://%.*s", STR_FMT(name));

        /* An image changed in place restarts its container. */
        if (old_image.n && !str_eq(old_image, image))
                restarts++;
        return make_map(a, "name", make_str(a, name), "image", make_str(a, image), "imageID",
                        s->waiting.n && !str_eqc(s->waiting, "CrashLoopBackOff")
                                ? make_text(a, "")
                                : make_textf(a, "sim://%.*s", STR_FMT(image)),
                        "containerID", id, "ready", value_bool(a, s->ready || (s->exited && s->code == 0), 0),
                        "started", value_bool(a, s->waiting.n == 0 && !s->exited, 0), "restartCount",
                        make_int(a, restarts), "state", container_state(p, s, value_getc(old, "state")), "lastState",
                        value_getc(old, "lastState") ? value_getc(old, "lastState") : &value_empty_map, NULL);
}

static const struct value *container_statuses(const struct sim *p, const char *field, const struct value *old) {
        const struct value *list = value_path(p->pod, "spec", field, NULL);
        bool is_init = field[0] == 'i';
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *container = list->list.items[i];
                struct stage s =
                        is_init ? init_stage(&p->stage, container) : container_stage(p->l->a, &p->stage, container);

                value_list_add(&b, container_status(p, container, &s,
                                                    named_item(old, value_text(value_getc(container, "name")))));
        }
        bool is_empty = b.count == 0;
        const struct value *statuses = value_list_end(&b, p->l->a, 0);
        return is_empty ? NULL : statuses;
}

/* ---- the Pod ---- */

static const char *phase_of(const struct sim *p) {
        if (p->stage.exited && !p->has_bad_image)
                return p->stage.code == 0 ? "Succeeded" : "Failed";
        if (p->has_bad_image)
                return "Pending";
        return p->stage.waiting.n == 0 || str_eqc(p->stage.waiting, "CrashLoopBackOff") ? "Running" : "Pending";
}

static bool gates_are_open(const struct value *pod) {
        const struct value *gates = value_path(pod, "spec", "readinessGates", NULL);
        const struct value *conditions = value_path(pod, "status", "conditions", NULL);

        for (size_t i = 0; value_is(gates, VALUE_LIST) && i < gates->list.count; i++) {
                const struct value *type = value_getc(gates->list.items[i], "conditionType");

                if (value_is(type, VALUE_STRING) && !condition_is(conditions, type->text.p, "True"))
                        return false;
        }
        return true;
}

static const struct value *set_condition(const struct sim *p, const struct value *conditions, const char *type,
                                         const char *why_not) {
        struct arena *a = p->l->a;
        const struct value *old = condition_find(conditions, type);
        bool is_same = old && condition_is(conditions, type, why_not ? "False" : "True");
        const struct value *c =
                make_map(a, "type", make_text(a, type), "status", make_text(a, why_not ? "False" : "True"), "reason",
                         why_not ? make_text(a, why_not) : NULL, "lastProbeTime", &value_null, "lastTransitionTime",
                         is_same ? value_getc(old, "lastTransitionTime") : make_str(a, p->l->c->now),
                         "observedGeneration", value_path(p->pod, "metadata", "generation", NULL), NULL);
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(conditions, VALUE_LIST) && i < conditions->list.count; i++)
                value_list_add(&b, conditions->list.items[i] == old ? c : conditions->list.items[i]);
        if (!old)
                value_list_add(&b, c);
        return value_list_end(&b, a, 0);
}

static const struct value *pod_conditions(const struct sim *p, const struct value *list) {
        const char *why_not = p->stage.exited ? "PodCompleted" : "ContainersNotReady";
        bool ready = p->stage.ready && !p->has_bad_image;
        bool initialized = !str_eqc(p->stage.waiting, "ContainerCreating") ||
                           !value_count(value_path(p->pod, "spec", "initContainers", NULL));

        list = set_condition(p, list, "PodReadyToStartContainers", NULL);
        list = set_condition(p, list, "Initialized", initialized ? NULL : "ContainersNotInitialized");
        list = set_condition(p, list, "ContainersReady", ready ? NULL : why_not);
        if (ready && !gates_are_open(p->pod))
                return set_condition(p, list, "Ready", "ReadinessGatesNotReady");
        return set_condition(p, list, "Ready", ready ? NULL : why_not);
}

/* A Pod that was loaded has its address: later ones get others. */
void pod_note_address(struct controllers *ctl, const struct value *pod) {
        struct str text = value_text(value_path(pod, "status", "podIP", NULL));
        struct in_addr ip;

        if (text.n == 0 || inet_pton(AF_INET, text.p, &ip) != 1)
                return;
        uint32_t at = ntohl(ip.s_addr) - FIRST_ADDRESS;
        if (at <= ADDRESS_MASK && at > ctl->addresses)
                ctl->addresses = at;
}

static const struct value *new_address(struct look *l) {
        uint32_t ip = FIRST_ADDRESS + (++l->ctl->addresses & ADDRESS_MASK);

        return make_textf(l->a, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 0xff, ip >> 8 & 0xff, ip & 0xff);
}

static const struct value *pod_status(const struct sim *p) {
        struct arena *a = p->l->a;
        const struct value *status = value_getc(p->pod, "status");
        const struct value *ip = value_getc(status, "podIP"), *host = make_text(a, HOST_IP);
        const struct value *init = container_statuses(p, "initContainers", value_getc(status, "initContainerStatuses"));

        if (!ip)
                ip = new_address(p->l);
        if (!value_getc(status, "startTime"))
                status = value_with(a, status, STR("startTime"), make_str(a, p->l->c->now));
        status = value_with(a, status, STR("observedGeneration"), value_path(p->pod, "metadata", "generation", NULL));
        status = value_with(a, status, STR("hostIP"), host);
        status = value_with(a, status, STR("hostIPs"), make_list(a, make_map(a, "ip", host, NULL)));
        status = value_with(a, status, STR("podIP"), ip);
        status = value_with(a, status, STR("podIPs"), make_list(a, make_map(a, "ip", ip, NULL)));
        status = value_with(a, status, STR("phase"), make_text(a, phase_of(p)));
        if (init)
                status = value_with(a, status, STR("initContainerStatuses"), init);
        status = value_with(a, status, STR("containerStatuses"),
                            container_statuses(p, "containers", value_getc(status, "containerStatuses")));
        return value_with(a, status, STR("conditions"), pod_conditions(p, value_getc(status, "conditions")));
}

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
        bool has_restarted = has_run(old) && !value_equal(value_getc(old, "image"), value_getc(now, "image"));

        if (value_equal(value_path(old, "state", "waiting", "reason", NULL),
                        value_path(now, "state", "waiting", "reason", NULL)) &&
            has_run(old) == has_run(now) && !has_restarted)
                return;
        if (has_restarted)
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
                look_container_event(l, pod, path, NORMAL, "Pulled",
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
                tell_container(l, pod, field,
                               named_item(old, value_text(value_getc(now->list.items[i], "name"))), now->list.items[i]);
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

static int64_t ready_delay_ms(const struct look *l, const struct value *pod) {
        int64_t ms = l->ctl->s->options.pod_ready_ms ? l->ctl->s->options.pod_ready_ms : READY_MS;

        duration_parse(annotation(pod, "podsim.truce.dev/delay"), &ms);
        return ms;
}

static bool was_started(const struct value *pod) {
        const struct value *list = value_path(pod, "status", "containerStatuses", NULL);

        for (size_t i = 0; i < value_count(list); i++)
                if (!str_eqc(value_text(value_path(list->list.items[i], "state", "waiting", "reason", NULL)),
                             "ContainerCreating"))
                        return true;
        return false;
}

/* When the Pod was bound, in loop time. One that was loaded is bound now, or long ago when its containers are there. */
static int64_t bound_ms(struct look *l, const struct value *pod) {
        struct str uid = meta_text(pod, "uid");
        int64_t *at = map_find(l->ctl->bound, uid);

        if (!at) {
                at = mem_alloc(sizeof *at);
                *at = was_started(pod) ? INT64_MIN / 2 : loop_now_ms(l->ctl->s->loop);
                map_set(l->ctl->bound, uid, at);
        }
        return *at;
}

static bool live_on(struct look *l, struct version *v) {
        const struct value *pod = v->value;
        int64_t left = bound_ms(l, pod) + ready_delay_ms(l, pod) - loop_now_ms(l->ctl->s->loop);
        struct sim p = { .l = l, .pod = pod };

        if (pod_is_ended(pod))
                return true;
        p.stage = stage_of(pod, left <= 0);
        p.has_bad_image = p.stage.waiting.n == 0 && has_bad_image(pod);
        if (left > 0)
                look_again(l, left);
        const struct value *status = pod_status(&p);
        if (!look_status(l, v, status))
                return false;
        tell_containers(l, pod, status, "initContainers", "initContainerStatuses");
        tell_containers(l, pod, status, "containers", "containerStatuses");
        return true;
}

/* The containers have stopped. With finalizers the Pod outlives it, hence the look at the grace period. */
static bool end(struct look *l, struct version *v) {
        const struct delete_options now = {
                .has_grace = true,
                .has_uid = true,
                .uid = arena_str(l->a, meta_text(v->value, "uid")),
        };

        if (int_or(value_path(v->value, "metadata", "deletionGracePeriodSeconds", NULL), 0) == 0)
                return job_free_orphan(l, v);
        tell_stopping(l, v->value);
        return look_delete(l, RES_POD, v, &now);
}

static bool wants_binding(const struct value *pod) {
        return value_count(value_path(pod, "spec", "schedulingGates", NULL)) == 0 &&
               !is_annotated(pod, "podsim.truce.dev/hold", "pending");
}

bool pod_run(struct look *l, struct version *v) {
        struct str node = value_text(value_path(v->value, "spec", "nodeName", NULL));

        if (is_deleting(v->value))
                return node.n == 0 || str_eqc(node, SANDBOX_NODE) ? end(l, v) : job_free_orphan(l, v);
        if (str_eqc(node, SANDBOX_NODE))
                return live_on(l, v);
        if (node.n == 0 && wants_binding(v->value)) {
                l->c->at.name = l->name;
                serve_bind(l->c, v, STR(SANDBOX_NODE));
                look_scheduled(l, v->value);
        }
        return true;
}
