/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/limits.h"
#include "sandbox/selector.h"
#include "sandbox/table_cells.h"

/* ---- cells ---- */

static void data_count(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)path;
        (void)now;
        buf_addf(out, "%zu", value_count(value_getc(o, "data")) + value_count(value_getc(o, "binaryData")));
}

static void selector(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *v = table_value(o, path);

        if (value_is(v, VALUE_MAP) && !value_getc(v, "matchLabels") && !value_getc(v, "matchExpressions"))
                v = value_with(now->arena, NULL, STR("matchLabels"), v);
        struct str t = label_selector_text(v, now->arena);
        value_print_string(t.n ? t : STR("<none>"), out);
}

/* "1/2" of two numbers; path is "FIRST SECOND". */
static void ratio(struct buf *out, const struct value *o, const char *path, now_t *now) {
        struct str rest = str_from(path), first, second = { 0 };

        str_next(&rest, ' ', &first);
        str_next(&rest, ' ', &second);
        buf_addf(out, "\"%" PRId64 "/%" PRId64 "\"", number_at(o, arena_str(now->arena, first).p),
                 number_at(o, arena_str(now->arena, second).p));
}

/* ---- Service ---- */

static int by_text(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Addresses of a load balancer, its name where it has no address: sorted, each once. */
static void add_points(struct buf *t, const struct value *o) {
        const struct value *list = value_path(o, "status", "loadBalancer", "ingress", NULL);
        struct str *points = mem_alloc((value_count(list) + 1) * sizeof *points);
        size_t count = 0;

        for (size_t i = 0; i < value_count(list); i++) {
                struct str ip = value_text(value_getc(list->list.items[i], "ip"));

                points[count] = ip.n ? ip : value_text(value_getc(list->list.items[i], "hostname"));
                count += points[count].n > 0;
        }
        qsort(points, count, sizeof *points, by_text);
        for (size_t i = 0; i < count; i++)
                if (i == 0 || !str_eq(points[i], points[i - 1]))
                        buf_addf(t, "%s%.*s", t->n ? "," : "", STR_FMT(points[i]));
        free(points);
}

static void service_balanced(struct buf *out, const struct value *o) {
        const struct value *ips = value_path(o, "spec", "externalIPs", NULL);
        _cleanup_(buf_done) struct buf t = buf_make(64 * KIB);

        add_points(&t, o);
        for (size_t i = 0; i < value_count(ips); i++)
                buf_addf(&t, "%s%.*s", t.n ? "," : "", STR_FMT(value_text(ips->list.items[i])));
        if (t.n == 0)
                buf_addc(&t, "<pending>");
        string(out, &t);
}

static void service_external(struct buf *out, const struct value *o, const char *path, now_t *now) {
        struct str type = value_text(value_path(o, "spec", "type", NULL));

        (void)path;
        (void)now;
        if (str_eqc(type, "ExternalName"))
                value_print_string(value_text(value_path(o, "spec", "externalName", NULL)), out);
        else if (str_eqc(type, "LoadBalancer"))
                service_balanced(out, o);
        else
                joined(out, value_path(o, "spec", "externalIPs", NULL), "");
}

static void service_ports(struct buf *out, const struct value *o, const char *path, now_t *now) {
        _cleanup_(buf_done) struct buf t = buf_make(64 * KIB);
        const struct value *list = value_path(o, "spec", "ports", NULL);

        (void)path;
        (void)now;
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *p = list->list.items[i];

                buf_addf(&t, "%s%" PRId64, i ? "," : "", number_at(p, "port"));
                if (number_at(p, "nodePort"))
                        buf_addf(&t, ":%" PRId64, number_at(p, "nodePort"));
                buf_addf(&t, "/%.*s", STR_FMT(value_text(value_getc(p, "protocol"))));
        }
        if (t.n == 0)
                buf_addc(&t, "<none>");
        string(out, &t);
}

/* ---- Job, CronJob ---- */

/* The first of the type decides. */
static bool has_condition(const struct value *o, const char *type) {
        const struct value *list = value_path(o, "status", "conditions", NULL);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), type))
                        return str_eqc(value_text(value_getc(list->list.items[i], "status")), "True");
        return false;
}

static void age_or_none(struct buf *out, const struct value *o, const char *path, now_t *now) {
        if (table_value(o, path))
                age(out, o, path, now);
        else
                buf_addc(out, "\"<none>\"");
}

static const char *job_state(const struct value *o) {
        static const char *const ends[] = { "Complete", "Failed" };
        static const char *const others[] = { "Suspended", "FailureTarget", "SuccessCriteriaMet" };

        for (size_t i = 0; i < ARRAY_LEN(ends); i++)
                if (has_condition(o, ends[i]))
                        return ends[i];
        if (value_path(o, "metadata", "deletionTimestamp", NULL))
                return "Terminating";
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
                if (has_condition(o, others[i]))
                        return others[i];
        return "Running";
}

static void job_status(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)path;
        (void)now;
        buf_addf(out, "\"%s\"", job_state(o));
}

static void job_completions(struct buf *out, const struct value *o, const char *path, now_t *now) {
        int64_t wanted = number_at(o, "spec.completions"), done = number_at(o, "status.succeeded");
        int64_t parallel = number_at(o, "spec.parallelism");

        (void)path;
        (void)now;
        if (value_path(o, "spec", "completions", NULL))
                buf_addf(out, "\"%" PRId64 "/%" PRId64 "\"", done, wanted);
        else if (parallel > 1)
                buf_addf(out, "\"%" PRId64 "/1 of %" PRId64 "\"", done, parallel);
        else
                buf_addf(out, "\"%" PRId64 "/1\"", done);
}

static void job_duration(struct buf *out, const struct value *o, const char *path, now_t *now) {
        struct str start = value_text(table_value(o, "status.startTime"));
        struct str end = value_text(table_value(o, "status.completionTime"));

        (void)path;
        buf_addch(out, '"');
        if (start.n && end.n)
                table_add_between(out, start, end);
        else if (start.n)
                table_add_since(out, start, now);
        buf_addch(out, '"');
}

/* ---- HorizontalPodAutoscaler ---- */

static void hpa_reference(struct buf *out, const struct value *o, const char *path, now_t *now) {
        _cleanup_(buf_done) struct buf t = buf_make(4 * KIB);
        const struct value *target = value_path(o, "spec", "scaleTargetRef", NULL);

        (void)path;
        (void)now;
        buf_addf(&t, "%.*s/%.*s", STR_FMT(value_text(value_getc(target, "kind"))),
                 STR_FMT(value_text(value_getc(target, "name"))));
        string(out, &t);
}

static struct str quantity_at(const struct value *v, const char *group, const char *field) {
        return value_text(value_path(v, group, field, NULL));
}

/* "CURRENT/TARGET" of one source; both are amounts, or shares of what was asked for. */
static void add_source(struct buf *out, const struct value *spec, const struct value *status, bool by_pod) {
        struct str target = quantity_at(spec, "target", "averageValue");
        bool is_average = target.n > 0;
        const char *field = is_average || by_pod ? "averageValue" : "value";
        struct str current = quantity_at(status, "current", field);

        if (!is_average)
                target = quantity_at(spec, "target", "value");
        buf_addf(out, "%.*s/%.*s%s", STR_FMT(current.n ? current : STR("<unknown>")),
                 STR_FMT(target.n ? target : STR("0")), is_average && !by_pod ? " (avg)" : "");
}

static void add_resource(struct buf *out, const struct value *spec, const struct value *status) {
        const struct value *share = value_path(status, "current", "averageUtilization", NULL);
        const struct value *wanted = value_path(spec, "target", "averageUtilization", NULL);

        buf_addf(out, "%.*s: ", STR_FMT(value_text(value_getc(spec, "name"))));
        if (quantity_at(spec, "target", "averageValue").n) {
                add_source(out, spec, status, true);
                return;
        }
        if (share)
                buf_addf(out, "%" PRId64 "%%", share->i64);
        else
                buf_addc(out, "<unknown>");
        if (wanted)
                buf_addf(out, "/%" PRId64 "%%", wanted->i64);
        else
                buf_addc(out, "/<auto>");
}

static void add_metric(struct buf *out, const struct value *spec, const struct value *status) {
        static const struct {
                const char *type, *field;
        } types[] = {
                { "External", "external" },
                { "Object", "object" },
                { "Pods", "pods" },
                { "Resource", "resource" },
                { "ContainerResource", "containerResource" },
        };
        struct str type = value_text(value_getc(spec, "type"));

        for (size_t i = 0; i < ARRAY_LEN(types); i++) {
                if (!str_eqc(type, types[i].type))
                        continue;
                spec = value_getc(spec, types[i].field);
                status = value_getc(status, types[i].field);
                if (i < 3)
                        add_source(out, spec, status, i == 2);
                else
                        add_resource(out, spec, status);
                return;
        }
        buf_addc(out, "<unknown type>");
}

#define HPA_METRICS_SHOWN 2

static void hpa_targets(struct buf *out, const struct value *o, const char *path, now_t *now) {
        _cleanup_(buf_done) struct buf t = buf_make(4 * KIB);
        const struct value *metrics = value_path(o, "spec", "metrics", NULL);
        const struct value *current = value_path(o, "status", "currentMetrics", NULL);
        size_t count = value_count(metrics);

        (void)path;
        (void)now;
        for (size_t i = 0; i < count && i < HPA_METRICS_SHOWN; i++) {
                buf_addc(&t, i ? ", " : "");
                add_metric(&t, metrics->list.items[i], i < value_count(current) ? current->list.items[i] : NULL);
        }
        if (count > HPA_METRICS_SHOWN)
                buf_addf(&t, " + %zu more...", count - HPA_METRICS_SHOWN);
        if (count == 0)
                buf_addc(&t, "<none>");
        string(out, &t);
}

/* ---- the rest ---- */

/* Names of the subjects of the kind that `path` is. */
static void subjects(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *list = value_getc(o, "subjects");
        _cleanup_(buf_done) struct buf t = buf_make(64 * KIB);
        bool is_account = str_eqc(str_from(path), "ServiceAccount");

        (void)now;
        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *s = list->list.items[i];

                if (!str_eqc(value_text(value_getc(s, "kind")), path))
                        continue;
                buf_addf(&t, "%s%.*s%s%.*s", t.n ? ", " : "",
                         STR_FMT(is_account ? value_text(value_getc(s, "namespace")) : STR("")), is_account ? "/" : "",
                         STR_FMT(value_text(value_getc(s, "name"))));
        }
        string(out, &t);
}

static void ingress_hosts(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *rules = value_path(o, "spec", "rules", NULL);
        _cleanup_(buf_done) struct buf t = buf_make(4 * KIB);
        size_t shown = 0, left = 0;

        (void)path;
        (void)now;
        for (size_t i = 0; i < value_count(rules); i++) {
                struct str host = value_text(value_getc(rules->list.items[i], "host"));

                left += shown == 3;
                if (shown < 3 && host.n)
                        buf_addf(&t, "%s%.*s", shown++ ? "," : "", STR_FMT(host));
        }
        if (shown == 0)
                buf_addch(&t, '*');
        if (left)
                buf_addf(&t, " + %zu more...", value_count(rules) - 3);
        string(out, &t);
}

static void ingress_address(struct buf *out, const struct value *o, const char *path, now_t *now) {
        _cleanup_(buf_done) struct buf t = buf_make(64 * KIB);

        (void)path;
        (void)now;
        add_points(&t, o);
        string(out, &t);
}

static void ingress_ports(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)path;
        (void)now;
        buf_addc(out, value_count(value_path(o, "spec", "tls", NULL)) ? "\"80, 443\"" : "\"80\"");
}

static void role_ref(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)path;
        value_print_string(arena_strf(now->arena, "%.*s/%.*s",
                                      STR_FMT(value_text(value_path(o, "roleRef", "kind", NULL))),
                                      STR_FMT(value_text(value_path(o, "roleRef", "name", NULL)))),
                           out);
}

#define CREATED_AT                                                                                                     \
        { "Created At", "date", 0, text, "metadata.creationTimestamp" }
#define WORKLOAD_WIDE                                                                                                  \
        { "Containers", "string", 1, container_names, "spec.template.spec.containers" },                               \
                { "Images", "string", 1, container_images, "spec.template.spec.containers" }, {                        \
                "Selector", "string", 1, selector, "spec.selector"                                                     \
        }

COLUMNS(config_map, { "Data", "string", 0, data_count, "" }, AGE);
COLUMNS(secret, { "Type", "string", 0, text, "type" }, { "Data", "string", 0, data_count, "" }, AGE);
COLUMNS(service, { "Type", "string", 0, text, "spec.type" },
        { "Cluster-IP", "string", 0, text_or_none, "spec.clusterIP" },
        { "External-IP", "string", 0, service_external, "" }, { "Port(s)", "string", 0, service_ports, "" }, AGE,
        { "Selector", "string", 1, selector, "spec.selector" });
COLUMNS(namespace, { "Status", "string", 0, text, "status.phase" }, AGE);
COLUMNS(service_account, AGE);
COLUMNS(deployment, { "Ready", "string", 0, ratio, "status.readyReplicas spec.replicas" },
        { "Up-to-date", "string", 0, number, "status.updatedReplicas" },
        { "Available", "string", 0, number, "status.availableReplicas" }, AGE, WORKLOAD_WIDE);
COLUMNS(replica_set, { "Desired", "integer", 0, number, "spec.replicas" },
        { "Current", "integer", 0, number, "status.replicas" },
        { "Ready", "integer", 0, number, "status.readyReplicas" }, AGE, WORKLOAD_WIDE);
COLUMNS(stateful_set, { "Ready", "string", 0, ratio, "status.readyReplicas spec.replicas" }, AGE,
        { "Containers", "string", 1, container_names, "spec.template.spec.containers" },
        { "Images", "string", 1, container_images, "spec.template.spec.containers" });
COLUMNS(daemon_set, { "Desired", "integer", 0, number, "status.desiredNumberScheduled" },
        { "Current", "integer", 0, number, "status.currentNumberScheduled" },
        { "Ready", "integer", 0, number, "status.numberReady" },
        { "Up-to-date", "integer", 0, number, "status.updatedNumberScheduled" },
        { "Available", "integer", 0, number, "status.numberAvailable" },
        { "Node Selector", "string", 0, selector, "spec.template.spec.nodeSelector" }, AGE, WORKLOAD_WIDE);
COLUMNS(job, { "Status", "string", 0, job_status, "" }, { "Completions", "string", 0, job_completions, "" },
        { "Duration", "string", 0, job_duration, "" }, AGE, WORKLOAD_WIDE);
COLUMNS(cron_job, { "Schedule", "string", 0, text, "spec.schedule" },
        { "Timezone", "string", 0, text_or_none, "spec.timeZone" }, { "Suspend", "boolean", 0, truth, "spec.suspend" },
        { "Active", "integer", 0, count, "status.active" },
        { "Last Schedule", "string", 0, age_or_none, "status.lastScheduleTime" }, AGE,
        { "Containers", "string", 1, container_names, "spec.jobTemplate.spec.template.spec.containers" },
        { "Images", "string", 1, container_images, "spec.jobTemplate.spec.template.spec.containers" },
        { "Selector", "string", 1, selector, "spec.jobTemplate.spec.selector" });
COLUMNS(hpa, { "Reference", "string", 0, hpa_reference, "" }, { "Targets", "string", 0, hpa_targets, "" },
        { "MinPods", "string", 0, number_or_unset, "spec.minReplicas" },
        { "MaxPods", "string", 0, number, "spec.maxReplicas" },
        { "Replicas", "string", 0, number, "status.currentReplicas" }, AGE);
COLUMNS(budget, { "Min Available", "string", 0, amount, "spec.minAvailable" },
        { "Max Unavailable", "string", 0, amount, "spec.maxUnavailable" },
        { "Allowed Disruptions", "integer", 0, number, "status.disruptionsAllowed" }, AGE);
COLUMNS(ingress, { "Class", "string", 0, text_or_none, "spec.ingressClassName" },
        { "Hosts", "string", 0, ingress_hosts, "" }, { "Address", "string", 0, ingress_address, "" },
        { "Ports", "string", 0, ingress_ports, "" }, AGE);
COLUMNS(network_policy, { "Pod-Selector", "string", 0, selector, "spec.podSelector" }, AGE);
COLUMNS(role, CREATED_AT);
COLUMNS(role_binding, { "Role", "string", 0, role_ref, "" }, AGE, { "Users", "string", 1, subjects, "User" },
        { "Groups", "string", 1, subjects, "Group" }, { "ServiceAccounts", "string", 1, subjects, "ServiceAccount" });
COLUMNS(lease, { "Holder", "string", 0, text, "spec.holderIdentity" }, AGE);
COLUMNS(priority_class, { "Value", "integer", 0, number, "value" },
        { "Global-Default", "boolean", 0, boolean, "globalDefault" }, AGE,
        { "PreemptionPolicy", "string", 0, text, "preemptionPolicy" });

static const struct table_kind kinds[] = {
        { "", "ConfigMap", config_map, false },
        { "", "Namespace", namespace, false },
        { "", "ReplicationController", replica_set, false },
        { "", "Secret", secret, false },
        { "", "Service", service, false },
        { "", "ServiceAccount", service_account, false },
        { "apps", "DaemonSet", daemon_set, false },
        { "apps", "Deployment", deployment, false },
        { "apps", "ReplicaSet", replica_set, false },
        { "apps", "StatefulSet", stateful_set, false },
        { "autoscaling", "HorizontalPodAutoscaler", hpa, false },
        { "batch", "CronJob", cron_job, false },
        { "batch", "Job", job, false },
        { "coordination.k8s.io", "Lease", lease, false },
        { "networking.k8s.io", "Ingress", ingress, false },
        { "networking.k8s.io", "NetworkPolicy", network_policy, false },
        { "policy", "PodDisruptionBudget", budget, false },
        { "rbac.authorization.k8s.io", "ClusterRole", role, false },
        { "rbac.authorization.k8s.io", "ClusterRoleBinding", role_binding, false },
        { "rbac.authorization.k8s.io", "Role", role, false },
        { "rbac.authorization.k8s.io", "RoleBinding", role_binding, false },
        { "scheduling.k8s.io", "PriorityClass", priority_class, false },
};

const struct table_kind *table_kind_find(struct str group, struct str kind) {
        if (str_eqc(kind, table_pod.kind) && !group.n)
                return &table_pod;
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (str_eqc(kind, kinds[i].kind) && str_eqc(group, kinds[i].group))
                        return &kinds[i];
        return table_cluster_find(group, kind);
}
