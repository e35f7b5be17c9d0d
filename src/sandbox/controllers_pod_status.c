/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status a Pod should have by now. What others wrote into it (restartCount, conditions of readiness gates) is kept,
 * so that a test can set it. The twin of tests/cluster/controlplane/sim/podstatus.go: the same annotations mean the
 * same.
 */
#include <arpa/inet.h>

#include "base/duration.h"
#include "sandbox/controllers_pod.h"

#define READY_MS      200
#define HOST_IP       "10.0.0.1"
#define FIRST_ADDRESS 0x0a800000u /* 10.128.0.0/9 */
#define ADDRESS_MASK  0x7fffffu
#define CREATING      "ContainerCreating"
#define INITIALIZING  "PodInitializing"
#define CRASH_LOOPING "CrashLoopBackOff"
#define KILLED        137

/* Where a container is in its life. */
struct stage {
        struct str waiting; /* for this reason; empty: it runs or ran */
        struct str message;
        struct str reason; /* of its end; empty: as the code says */
        bool starting;     /* it runs again after a crash, and is not ready yet */
        bool ready, exited;
        int64_t code;
};

struct sim {
        struct look *l;
        const struct value *pod;
        const struct value *init, *main; /* statuses of containers, as far as they are made */
        struct crash crash;
        int64_t left_ms;    /* until its containers are up */
        struct stage stage; /* of containers that have no fate of their own */
        const char *phase;
};

/* ---- annotations ---- */

bool pod_is_annotated(const struct value *pod, const char *name, const char *value) {
        return str_eqc(annotation(pod, name), value);
}

int64_t pod_duration_ms(const struct value *pod, const char *name, int64_t otherwise) {
        int64_t ms = otherwise;

        duration_parse(annotation(pod, name), &ms);
        return ms;
}

static int64_t count_in(const struct value *pod, const char *name, int64_t otherwise) {
        int64_t n;

        return str_to_i64(annotation(pod, name), &n) && n >= 0 && n <= INT32_MAX ? n : otherwise;
}

static bool ends_by_itself(const struct value *pod) {
        return str_eqc(value_text(value_getc(controller_of(pod), "kind")), "Job") &&
               !pod_is_annotated(pod, PODSIM "hold", "running");
}

static bool is_sidecar(const struct value *container) {
        return str_eqc(value_text(value_getc(container, "restartPolicy")), "Always");
}

const struct value *named_item(const struct value *list, struct str name) {
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eq(value_text(value_getc(list->list.items[i], "name")), name))
                        return list->list.items[i];
        return NULL;
}

static struct crash crash_of(const struct value *pod) {
        struct crash c = {
                .container = annotation(pod, PODSIM "crash-container"),
                .reason = annotation(pod, PODSIM "crash-reason"),
                .count = count_in(pod, PODSIM "crashes", 0),
                .code = count_in(pod, PODSIM "crash-code", 1),
        };
        struct str policy = value_text(value_path(pod, "spec", "restartPolicy", NULL));
        const struct value *main = value_path(pod, "spec", "containers", NULL);

        if (c.container.n == 0 && value_count(main))
                c.container = value_text(value_getc(main->list.items[0], "name"));
        const struct value *init = named_item(value_path(pod, "spec", "initContainers", NULL), c.container);
        c.is_init = init && !is_sidecar(init);
        if (str_eqc(policy, "OnFailure"))
                c.restarts = c.is_init || c.code != 0;
        else
                c.restarts = !str_eqc(policy, "Never");
        c.restarts |= init && is_sidecar(init);
        return c;
}

/* ---- a crash ---- */

/* What has not begun cannot crash. */
static bool may_crash(const struct sim *p) {
        struct str waiting = annotation(p->pod, PODSIM "waiting");

        return waiting.n ? str_eqc(waiting, CRASH_LOOPING) : p->left_ms <= 0 || p->crash.is_init;
}

static const struct value *terminated(struct arena *a, int64_t code, struct str reason, const struct value *started,
                                      const struct value *now) {
        return make_map(a, "exitCode", make_int(a, code), "reason",
                        reason.n ? make_str(a, reason) : make_text(a, code ? "Error" : "Completed"), "startedAt",
                        started ? started : now, "finishedAt", now, NULL);
}

static const struct value *with_item(struct arena *a, const struct value *list, const struct value *old,
                                     const struct value *item) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                value_list_add(&b, list->list.items[i] == old ? item : list->list.items[i]);
        if (!old)
                value_list_add(&b, item);
        return value_list_end(&b, a, 0);
}

static const struct value *crashed(const struct sim *p, const struct value *old) {
        struct arena *a = p->l->a;
        const struct value *now = make_str(a, p->l->c->now), *item = old;
        const struct value *last = terminated(a, p->crash.code, p->crash.reason,
                                              value_path(old, "state", "running", "startedAt", NULL), now);

        if (value_getc(old, "containerID"))
                last = value_with(a, last, STR("containerID"), value_getc(old, "containerID"));
        if (!item)
                item = make_map(a, "name", make_str(a, p->crash.container), NULL);
        item = value_with(a, item, STR("lastState"), make_map(a, "terminated", last, NULL));
        item = value_with(a, item, STR("restartCount"), make_int(a, p->crash.count));
        return value_with(a, item, STR("state"), make_map(a, "running", make_map(a, "startedAt", now, NULL), NULL));
}

/* Lets a container crash that has crashed less often than it should. */
static bool crash_now(struct sim *p, int64_t delay_ms) {
        bool is_init = named_item(value_path(p->pod, "spec", "initContainers", NULL), p->crash.container);
        const struct value **list = is_init ? &p->init : &p->main;
        const struct value *old = named_item(*list, p->crash.container);

        if (!p->crash.count || !p->crash.restarts || !may_crash(p) ||
            int_or(value_getc(old, "restartCount"), 0) >= p->crash.count)
                return false;
        *list = with_item(p->l->a, *list, old, crashed(p, old));
        p->left_ms = delay_ms;
        return true;
}

/* ---- stages ---- */

static bool is_running(const struct value *status) {
        return value_path(status, "state", "running", NULL);
}

/* The containers are not up, but they were, or those that come first have begun. */
static bool has_restarted(const struct sim *p) {
        const struct value *init = named_item(p->init, p->crash.container);

        if (p->crash.is_init)
                return p->crash.restarts && int_or(value_getc(init, "restartCount"), 0) > 0 && is_running(init);
        for (size_t i = 0; i < value_count(p->main); i++)
                if (is_running(p->main->list.items[i]))
                        return true;
        return false;
}

static struct stage stage_below(const struct sim *p) {
        if (!has_restarted(p))
                return (struct stage){ .waiting = STR(CREATING) };
        if (p->crash.is_init)
                return (struct stage){ .waiting = STR(INITIALIZING) };
        return (struct stage){ .starting = true };
}

static struct stage stage_up(const struct sim *p, int64_t up_ms, int64_t *ret_again_ms) {
        int64_t load_ms = pod_duration_ms(p->pod, PODSIM "load", 0),
                turn_ms = pod_duration_ms(p->pod, PODSIM "flap", 0);
        bool is_held = pod_is_annotated(p->pod, PODSIM "hold", "unready");

        if (up_ms < load_ms) {
                *ret_again_ms = load_ms - up_ms;
                return (struct stage){ 0 };
        }
        if (is_held || turn_ms <= 0)
                return (struct stage){ .ready = !is_held };
        up_ms -= load_ms;
        *ret_again_ms = turn_ms - up_ms % turn_ms;
        return (struct stage){ .ready = up_ms / turn_ms % 2 == 0 };
}

/* *ret_again_ms: how long it stays; 0: for ever. */
static struct stage stage_of(const struct sim *p, int64_t *ret_again_ms) {
        struct str waiting = annotation(p->pod, PODSIM "waiting");
        int64_t code = 0;

        *ret_again_ms = 0;
        if (waiting.n)
                return (struct stage){ .waiting = waiting };
        if (p->left_ms > 0) {
                *ret_again_ms = p->left_ms;
                return stage_below(p);
        }
        if (p->crash.count && p->crash.is_init && !p->crash.restarts)
                return (struct stage){ .waiting = STR(INITIALIZING) };
        if (str_to_i64(annotation(p->pod, PODSIM "exit"), &code) || ends_by_itself(p->pod))
                return (struct stage){ .exited = true, .code = code };
        return stage_up(p, -p->left_ms, ret_again_ms);
}

static struct stage crash_stage(const struct crash *c) {
        return (struct stage){ .starting = c->restarts, .exited = !c->restarts, .code = c->code, .reason = c->reason };
}

static struct stage main_stage(const struct sim *p, const struct value *container) {
        struct str image = value_text(value_getc(container, "image"));

        if (p->stage.waiting.n)
                return p->stage;
        if (str_ends(image, STR(":bad")))
                return (struct stage){
                        .waiting = STR("ImagePullBackOff"),
                        .message = arena_strf(p->l->a, "Back-off pulling image \"%.*s\": not found", STR_FMT(image)),
                };
        if (p->crash.count && !p->crash.restarts && !p->stage.exited &&
            str_eq(value_text(value_getc(container, "name")), p->crash.container))
                return crash_stage(&p->crash);
        return p->stage;
}

/* Init containers are over when the others begin; a sidecar goes with them. After the one that crashes all wait. */
static struct stage init_stage(const struct sim *p, const struct value *container, bool *is_behind) {
        if (is_sidecar(container) || str_eqc(p->stage.waiting, CREATING))
                return p->stage;
        if (!str_eqc(p->stage.waiting, INITIALIZING))
                return (struct stage){ .exited = true };
        if (str_eq(value_text(value_getc(container, "name")), p->crash.container)) {
                *is_behind = true;
                return crash_stage(&p->crash);
        }
        return *is_behind ? p->stage : (struct stage){ .exited = true };
}

/* ---- containers ---- */

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
                return make_map(a, "terminated", terminated(a, s->code, s->reason, now, now), NULL);
        return value_getc(old, "running") ? old : make_map(a, "running", make_map(a, "startedAt", now, NULL), NULL);
}

/* While one starts again the others are as they were. */
static bool is_ready(const struct sim *p, const struct stage *s, struct str name, const struct value *old) {
        if (s->starting)
                return value_truth(value_getc(old, "ready"), false) && !str_eq(name, p->crash.container);
        return s->ready || (s->exited && s->code == 0);
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
                        s->waiting.n && !str_eqc(s->waiting, CRASH_LOOPING)
                                ? make_text(a, "")
                                : make_textf(a, "sim://%.*s", STR_FMT(image)),
                        "containerID", id, "ready", value_bool(a, is_ready(p, s, name, old), 0), "started",
                        value_bool(a, s->waiting.n == 0 && !s->exited, 0), "restartCount", make_int(a, restarts),
                        "state", container_state(p, s, value_getc(old, "state")), "lastState",
                        value_getc(old, "lastState") ? value_getc(old, "lastState") : &value_empty_map, NULL);
}

/* NULL: none. */
static const struct value *container_statuses(const struct sim *p, const char *field, const struct value *old) {
        const struct value *list = value_path(p->pod, "spec", field, NULL);
        bool is_init = field[0] == 'i', is_behind = false;
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *container = list->list.items[i];
                struct stage s = is_init ? init_stage(p, container, &is_behind) : main_stage(p, container);

                value_list_add(&b, container_status(p, container, &s,
                                                    named_item(old, value_text(value_getc(container, "name")))));
        }
        bool is_empty = b.count == 0;
        const struct value *statuses = value_list_end(&b, p->l->a, 0);
        return is_empty ? NULL : statuses;
}

/* ---- the Pod ---- */

static int64_t exit_code(const struct value *status) {
        return int_or(value_path(status, "state", "terminated", "exitCode", NULL), -1);
}

static bool waits(const struct value *status) {
        struct str reason = value_text(value_path(status, "state", "waiting", "reason", NULL));

        return reason.n && !str_eqc(reason, CRASH_LOOPING);
}

/* It follows from the containers, as the kubelet's does. */
static const char *phase_of(const struct sim *p) {
        size_t ended = 0, failed = 0;

        for (size_t i = 0; i < value_count(p->init); i++)
                if (exit_code(p->init->list.items[i]) > 0)
                        return "Failed"; /* only where nothing starts it again */
        for (size_t i = 0; i < value_count(p->main); i++) {
                if (waits(p->main->list.items[i]))
                        return "Pending";
                ended += exit_code(p->main->list.items[i]) >= 0;
                failed += exit_code(p->main->list.items[i]) > 0;
        }
        if (ended < value_count(p->main))
                return "Running";
        return failed ? "Failed" : "Succeeded";
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

const struct value *pod_set_condition(struct look *l, const struct value *pod, const struct value *conditions,
                                      const char *type, const char *why_not) {
        struct arena *a = l->a;
        const struct value *old = condition_find(conditions, type);
        bool is_same = old && condition_is(conditions, type, why_not ? "False" : "True");
        const struct value *c =
                make_map(a, "type", make_text(a, type), "status", make_text(a, why_not ? "False" : "True"), "reason",
                         why_not ? make_text(a, why_not) : NULL, "lastProbeTime", &value_null, "lastTransitionTime",
                         is_same ? value_getc(old, "lastTransitionTime") : make_str(a, l->c->now), "observedGeneration",
                         value_path(pod, "metadata", "generation", NULL), NULL);

        return with_item(a, conditions, old, c);
}

static bool all_are_ready(const struct sim *p) {
        const struct value *list = value_path(p->pod, "spec", "initContainers", NULL);

        for (size_t i = 0; i < value_count(p->main); i++)
                if (!value_truth(value_getc(p->main->list.items[i], "ready"), false))
                        return false;
        for (size_t i = 0; i < value_count(list); i++) {
                struct str name = value_text(value_getc(list->list.items[i], "name"));

                if (is_sidecar(list->list.items[i]) &&
                    !value_truth(value_getc(named_item(p->init, name), "ready"), false))
                        return false;
        }
        return strcmp(p->phase, "Running") == 0;
}

static const char *not_ready_reason(const char *phase) {
        return strcmp(phase, "Succeeded") == 0 ? "PodCompleted"
               : strcmp(phase, "Failed") == 0  ? "PodFailed"
                                               : "ContainersNotReady";
}

static const struct value *pod_conditions(const struct sim *p, const struct value *list) {
        const char *why_not = not_ready_reason(p->phase);
        bool ready = all_are_ready(p);
        bool initialized = (!str_eqc(p->stage.waiting, CREATING) && !str_eqc(p->stage.waiting, INITIALIZING)) ||
                           !value_count(value_path(p->pod, "spec", "initContainers", NULL));

        list = pod_set_condition(p->l, p->pod, list, "PodReadyToStartContainers", NULL);
        list = pod_set_condition(p->l, p->pod, list, "Initialized", initialized ? NULL : "ContainersNotInitialized");
        list = pod_set_condition(p->l, p->pod, list, "ContainersReady", ready ? NULL : why_not);
        if (ready && !gates_are_open(p->pod))
                return pod_set_condition(p->l, p->pod, list, "Ready", "ReadinessGatesNotReady");
        return pod_set_condition(p->l, p->pod, list, "Ready", ready ? NULL : why_not);
}

/* ---- addresses ---- */

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

static const struct value *host_address(struct look *l, const struct value *pod) {
        const struct value *node, *list;

        node_state_of(l->ctl, value_text(value_path(pod, "spec", "nodeName", NULL)), &node);
        list = value_path(node, "status", "addresses", NULL);
        for (size_t i = 0; i < value_count(list); i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), "InternalIP"))
                        return value_getc(list->list.items[i], "address");
        return make_text(l->a, HOST_IP);
}

/* ---- eviction ---- */

static const struct value *stopped(struct look *l, const struct value *list) {
        struct value_list_builder b = { 0 };
        const struct value *now = make_str(l->a, l->c->now);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *s = list->list.items[i];
                const struct value *end = terminated(l->a, KILLED, (struct str){ 0 },
                                                     value_path(s, "state", "running", "startedAt", NULL), now);

                s = value_with(l->a, s, STR("ready"), &value_false);
                s = value_with(l->a, s, STR("started"), &value_false);
                if (!value_path(s, "state", "terminated", NULL))
                        s = value_with(l->a, s, STR("state"), make_map(l->a, "terminated", end, NULL));
                value_list_add(&b, s);
        }
        return value_list_end(&b, l->a, 0);
}

static const struct value *evicted(struct look *l, const struct value *pod, const struct value *status,
                                   struct str message) {
        static const char *const fields[] = { "initContainerStatuses", "containerStatuses" };
        const struct value *list = value_getc(status, "conditions"), *text;

        text = str_eqc(message, "true") ? make_text(l->a, "The node was low on resource: memory. ")
                                        : make_str(l->a, message);
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                if (value_getc(status, fields[i]))
                        status = value_with(l->a, status, str_from(fields[i]),
                                            stopped(l, value_getc(status, fields[i])));
        list = pod_set_condition(l, pod, list, "DisruptionTarget", NULL);
        const struct value *target = condition_find(list, "DisruptionTarget"), *told;
        told = value_with(l->a, target, STR("reason"), make_text(l->a, "TerminationByKubelet"));
        told = value_with(l->a, told, STR("message"), text);
        list = with_item(l->a, list, target, told);
        list = pod_set_condition(l, pod, list, "ContainersReady", "PodFailed");
        list = pod_set_condition(l, pod, list, "Ready", "PodFailed");
        status = value_with(l->a, status, STR("phase"), make_text(l->a, "Failed"));
        status = value_with(l->a, status, STR("reason"), make_text(l->a, "Evicted"));
        status = value_with(l->a, status, STR("message"), text);
        return value_with(l->a, status, STR("conditions"), list);
}

/* ---- the whole ---- */

static const struct value *with_addresses(struct look *l, const struct value *pod, const struct value *status) {
        const struct value *ip = value_getc(status, "podIP"), *host = host_address(l, pod);

        if (!ip)
                ip = new_address(l);
        if (!value_getc(status, "startTime"))
                status = value_with(l->a, status, STR("startTime"), make_str(l->a, l->c->now));
        status = value_with(l->a, status, STR("observedGeneration"), value_path(pod, "metadata", "generation", NULL));
        status = value_with(l->a, status, STR("hostIP"), host);
        status = value_with(l->a, status, STR("hostIPs"), make_list(l->a, make_map(l->a, "ip", host, NULL)));
        status = value_with(l->a, status, STR("podIP"), ip);
        return value_with(l->a, status, STR("podIPs"), make_list(l->a, make_map(l->a, "ip", ip, NULL)));
}

struct pod_wanted pod_status_wanted(struct look *l, const struct value *pod, int64_t up_ms) {
        int64_t ready_ms = l->ctl->s->options.pod_ready_ms ? l->ctl->s->options.pod_ready_ms : READY_MS;
        int64_t delay_ms = pod_duration_ms(pod, PODSIM "delay", ready_ms);
        const struct value *status = with_addresses(l, pod, value_getc(pod, "status"));
        struct str why_evicted = annotation(pod, PODSIM "evict");
        struct pod_wanted wanted = { 0 };
        struct sim p = {
                .l = l,
                .pod = pod,
                .init = value_getc(status, "initContainerStatuses"),
                .main = value_getc(status, "containerStatuses"),
                .crash = crash_of(pod),
                .left_ms = up_ms + delay_ms - loop_now_ms(l->ctl->s->loop),
        };

        if (why_evicted.n) {
                wanted.status = evicted(l, pod, status, why_evicted);
                return wanted;
        }
        wanted.restarted = crash_now(&p, delay_ms);
        p.stage = stage_of(&p, &wanted.again_ms);
        p.init = container_statuses(&p, "initContainers", p.init);
        p.main = container_statuses(&p, "containers", p.main);
        p.phase = phase_of(&p);
        status = value_with(l->a, status, STR("phase"), make_text(l->a, p.phase));
        if (p.init)
                status = value_with(l->a, status, STR("initContainerStatuses"), p.init);
        status = value_with(l->a, status, STR("containerStatuses"), p.main);
        wanted.status =
                value_with(l->a, status, STR("conditions"), pod_conditions(&p, value_getc(status, "conditions")));
        return wanted;
}

const struct value *pod_status_lost(struct look *l, const struct value *pod) {
        const struct value *status = value_getc(pod, "status"), *list = value_getc(status, "conditions");
        const struct value *old = condition_find(list, "Ready"), *now;

        if (!pod_is_ready(pod))
                return status;
        now = value_with(l->a, old, STR("status"), make_text(l->a, "False"));
        now = value_with(l->a, now, STR("lastTransitionTime"), make_str(l->a, l->c->now));
        return value_with(l->a, status, STR("conditions"), with_item(l->a, list, old, now));
}
