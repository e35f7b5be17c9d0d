/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Pod's row: what of its containers is ready, how it is, how often they were started again.
 *
 * Source: printPod() in k8s.io/kubernetes/pkg/printers/internalversion/printers.go.
 */
#include "sandbox/table_cells.h"

/* What several cells are told from. */
struct pod {
        const struct value *o;
        struct arena *a;
        struct str reason;
        size_t ready, total;
        int64_t restarts;
        struct str restarted; /* when last, or empty */
};

/* ---- reading ---- */

static const struct value *list_at(const struct value *o, const char *path) {
        const struct value *list = table_value(o, path);

        return value_is(list, VALUE_LIST) ? list : &value_empty_list;
}

static struct str text_at(const struct value *o, const char *path) {
        return value_text(table_value(o, path));
}

/* The first condition of the type decides. */
static bool has_condition(const struct value *o, const char *type) {
        const struct value *list = list_at(o, "status.conditions");

        for (size_t i = 0; i < list->list.count; i++)
                if (str_eqc(text_at(list->list.items[i], "type"), type))
                        return str_eqc(text_at(list->list.items[i], "status"), "True");
        return false;
}

static bool is_sidecar(const struct value *container) {
        return str_eqc(text_at(container, "restartPolicy"), "Always");
}

static const struct value *init_container(const struct value *o, struct str name) {
        const struct value *list = list_at(o, "spec.initContainers");

        for (size_t i = 0; i < list->list.count; i++)
                if (str_eq(text_at(list->list.items[i], "name"), name))
                        return list->list.items[i];
        return NULL;
}

/* ---- reasons ---- */

static struct str end_reason(const struct pod *p, const struct value *terminated) {
        struct str reason = text_at(terminated, "reason");

        if (reason.n)
                return reason;
        if (number_at(terminated, "signal"))
                return arena_strf(p->a, "Signal:%" PRId64, number_at(terminated, "signal"));
        return arena_strf(p->a, "ExitCode:%" PRId64, number_at(terminated, "exitCode"));
}

static struct str own_reason(const struct value *o) {
        const struct value *list = list_at(o, "status.conditions");
        struct str reason = text_at(o, "status.reason");

        if (!reason.n)
                reason = text_at(o, "status.phase");
        for (size_t i = 0; i < list->list.count; i++)
                if (str_eqc(text_at(list->list.items[i], "type"), "PodScheduled") &&
                    str_eqc(text_at(list->list.items[i], "reason"), "SchedulingGated"))
                        reason = STR("SchedulingGated");
        return reason;
}

static void note_restarts(struct pod *p, const struct value *status) {
        struct str ended = text_at(status, "lastState.terminated.finishedAt");

        p->restarts += number_at(status, "restartCount");
        if (str_cmp(ended, p->restarted) > 0)
                p->restarted = ended;
}

/* ---- init containers ---- */

/* False when the Pod does not get beyond this one. */
static bool is_passed(struct pod *p, const struct value *status, bool sidecar) {
        const struct value *terminated = table_value(status, "state.terminated");

        if (terminated && number_at(terminated, "exitCode") == 0)
                return true;
        if (!sidecar || !value_truth(value_getc(status, "started"), false))
                return false;
        p->ready += value_truth(value_getc(status, "ready"), false);
        return true;
}

static struct str init_reason(const struct pod *p, const struct value *status, size_t at) {
        const struct value *terminated = table_value(status, "state.terminated");
        struct str waiting = text_at(status, "state.waiting.reason");

        if (terminated)
                return arena_strf(p->a, "Init:%.*s", STR_FMT(end_reason(p, terminated)));
        if (waiting.n && !str_eqc(waiting, "PodInitializing"))
                return arena_strf(p->a, "Init:%.*s", STR_FMT(waiting));
        return arena_strf(p->a, "Init:%zu/%zu", at, list_at(p->o, "spec.initContainers")->list.count);
}

/* True while one of them is under way. `sidecars` gets the restarts of those that stay. */
static bool read_init(struct pod *p, struct pod *sidecars) {
        const struct value *list = list_at(p->o, "status.initContainerStatuses");

        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *status = list->list.items[i];
                bool sidecar = is_sidecar(init_container(p->o, text_at(status, "name")));

                note_restarts(p, status);
                if (sidecar)
                        note_restarts(sidecars, status);
                if (is_passed(p, status, sidecar))
                        continue;
                p->reason = init_reason(p, status, i);
                return true;
        }
        return false;
}

/* ---- containers ---- */

/* "Completed" is not the whole truth while another one runs or has failed. */
static void settle_completed(struct pod *p, bool runs, struct str failure) {
        if (!str_eqc(p->reason, "Completed"))
                return;
        if (runs && has_condition(p->o, "Ready"))
                p->reason = STR("Running");
        else if (failure.n)
                p->reason = failure;
        else if (runs)
                p->reason = STR("NotReady");
}

static void read_containers(struct pod *p) {
        const struct value *list = list_at(p->o, "status.containerStatuses");
        struct str failure = { 0 };
        bool runs = false;

        for (size_t i = list->list.count; i-- > 0;) {
                const struct value *status = list->list.items[i];
                const struct value *terminated = table_value(status, "state.terminated");
                struct str waiting = text_at(status, "state.waiting.reason");

                note_restarts(p, status);
                if (waiting.n) {
                        p->reason = waiting;
                } else if (terminated) {
                        p->reason = end_reason(p, terminated);
                        failure = number_at(terminated, "exitCode") ? p->reason : failure;
                } else if (value_truth(value_getc(status, "ready"), false) && table_value(status, "state.running")) {
                        runs = true;
                        p->ready++;
                }
        }
        settle_completed(p, runs, failure);
}

static size_t count_containers(const struct value *o) {
        const struct value *init = list_at(o, "spec.initContainers");
        size_t n = list_at(o, "spec.containers")->list.count;

        for (size_t i = 0; i < init->list.count; i++)
                n += is_sidecar(init->list.items[i]);
        return n;
}

static bool has_ended(const struct value *o) {
        struct str phase = text_at(o, "status.phase");

        return str_eqc(phase, "Failed") || str_eqc(phase, "Succeeded");
}

static struct pod read_pod(const struct value *o, struct arena *a) {
        struct pod p = { .o = o, .a = a, .reason = own_reason(o), .total = count_containers(o) }, sidecars = { 0 };

        if (!read_init(&p, &sidecars) || has_condition(o, "Initialized")) {
                p.restarts = sidecars.restarts;
                p.restarted = sidecars.restarted;
                read_containers(&p);
        }
        if (table_value(o, "metadata.deletionTimestamp") && str_eqc(text_at(o, "status.reason"), "NodeLost"))
                p.reason = STR("Unknown");
        else if (table_value(o, "metadata.deletionTimestamp") && !has_ended(o))
                p.reason = STR("Terminating");
        return p;
}

/* ---- cells ---- */

static void pod_ready(struct buf *out, const struct value *o, const char *path, now_t *now) {
        struct pod p = read_pod(o, now->arena);

        (void)path;
        buf_addf(out, "\"%zu/%zu\"", p.ready, p.total);
}

static void pod_status(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)path;
        value_print_string(read_pod(o, now->arena).reason, out);
}

static void pod_restarts(struct buf *out, const struct value *o, const char *path, now_t *now) {
        struct pod p = read_pod(o, now->arena);

        (void)path;
        buf_addf(out, "\"%" PRId64, p.restarts);
        if (p.restarts && p.restarted.n) {
                buf_addc(out, " (");
                table_add_since(out, p.restarted, now);
                buf_addc(out, " ago)");
        }
        buf_addch(out, '"');
}

static void pod_ip(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *ips = list_at(o, "status.podIPs");

        (void)path;
        (void)now;
        text_or(out, ips->list.count ? value_getc(ips->list.items[0], "ip") : NULL, "<none>");
}

static void pod_gates(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *gates = list_at(o, "spec.readinessGates");
        size_t open = 0;

        (void)path;
        (void)now;
        for (size_t i = 0; i < gates->list.count; i++)
                open += has_condition(o, text_at(gates->list.items[i], "conditionType").p);
        if (gates->list.count)
                buf_addf(out, "\"%zu/%zu\"", open, gates->list.count);
        else
                buf_addc(out, "\"<none>\"");
}

/* kubectl leaves rows out by these. */
static void pod_conditions(struct buf *out, const struct value *o) {
        bool failed = str_eqc(text_at(o, "status.phase"), "Failed");

        if (has_ended(o))
                buf_addf(out,
                         ",\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"%s\",\"message\":"
                         "\"%s\"}]",
                         failed ? "Failed" : "Succeeded",
                         failed ? "The pod failed." : "The pod has completed successfully.");
}

COLUMNS(columns, { "Ready", "string", 0, pod_ready, "" }, { "Status", "string", 0, pod_status, "" },
        { "Restarts", "string", 0, pod_restarts, "" }, AGE, { "IP", "string", 1, pod_ip, "" },
        { "Node", "string", 1, text_or_none, "spec.nodeName" },
        { "Nominated Node", "string", 1, text_or_none, "status.nominatedNodeName" },
        { "Readiness Gates", "string", 1, pod_gates, "" });

const struct table_kind table_pod = { "", "Pod", columns, false, pod_conditions };
