/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warn.h"

#include <stdlib.h>

#include "sandbox/validate_impl.h"

#define OWNERS_TWICE                                                                                                   \
        "; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix "    \
        "your requests; duplicate UID(s) observed: "

/* A place that a warning names, as text. */
#define PLACE(c, ...) arena_strf((c)->a, __VA_ARGS__)

static bool is_pod(const struct call *c) {
        return c->at.group.n == 0 && str_eqc(c->kind->resource->kind, "Pod");
}

static bool is_cron_job(const struct call *c) {
        return str_eqc(c->at.group, "batch") && str_eqc(c->kind->resource->kind, "CronJob");
}

/* Where the spec of pods is. */
static const char *spec_place(const struct call *c) {
        return is_pod(c) ? "spec" : is_cron_job(c) ? "spec.jobTemplate.spec.template.spec" : "spec.template.spec";
}

static const struct value *spec_of(const struct call *c, const struct value *object) {
        if (is_pod(c))
                return value_getc(object, "spec");
        return is_cron_job(c) ? value_path(object, "spec", "jobTemplate", "spec", "template", "spec", NULL)
                              : value_path(object, "spec", "template", "spec", NULL);
}

static void warn(struct call *c, struct str place, const char *what) {
        call_warn(c, arena_strf(c->a, "%.*s: %s", STR_FMT(place), what));
}

static const struct value *item(const struct value *list, size_t i) {
        return list->list.items[i];
}

/* ---- owners ---- */

static bool list_has(const struct value_list_builder *list, const struct value *v) {
        for (size_t i = 0; i < list->count; i++)
                if (value_equal(list->items[i], v))
                        return true;
        return false;
}

const struct value *warn_of_owners(struct call *c, const struct value *object, bool after) {
        const struct value *owners = value_path(object, "metadata", "ownerReferences", NULL);
        _cleanup_(buf_done) struct buf twice = buf_make(64 * 1024);
        struct value_list_builder kept = { 0 };

        if (!value_is(owners, VALUE_LIST))
                return object;
        for (size_t i = 0; i < owners->list.count; i++) {
                if (!list_has(&kept, item(owners, i)))
                        value_list_add(&kept, item(owners, i));
                else
                        buf_addf(&twice, "%s%.*s", twice.n ? ", " : "",
                                 STR_FMT(value_text(value_getc(item(owners, i), "uid"))));
        }
        if (kept.count == owners->list.count) {
                value_list_drop(&kept);
                return object;
        }
        call_warn(c, arena_strf(c->a, ".metadata.ownerReferences contains duplicate entries%s" OWNERS_TWICE "%s",
                                after ? " after mutating admission happens" : "", twice.p));
        return meta_with(object, "ownerReferences", value_list_end(&kept, c->a, 0), c->a);
}

/* ---- pod templates ---- */

static void warn_of_doubled(struct call *c, const struct value *spec, const char *list_name, const char *key,
                            const char *what) {
        const struct value *list = value_getc(spec, list_name);

        for (size_t i = 1; i < value_count(list); i++)
                for (size_t j = 0; j < i; j++)
                        if (str_eq(value_text(value_getc(item(list, i), key)), value_text(value_getc(item(list, j), key)))) {
                                call_warn(c, arena_strf(c->a, "%s.%s[%zu].%s: duplicate %s \"%.*s\"", spec_place(c), list_name, i, key, what,
                                                        STR_FMT(value_text(value_getc(item(list, i), key)))));
                                break;
                        }
}

static void warn_of_terms(struct call *c, const struct value *affinity, const char *kind) {
        static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
        static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
        static const char text[] = "a null labelSelector results in matching no pod";
        const struct value *must = value_path(affinity, kind, required, NULL);
        const struct value *may = value_path(affinity, kind, preferred, NULL);

        for (size_t i = 0; i < value_count(must); i++)
                if (!value_getc(item(must, i), "labelSelector"))
                        warn(c, PLACE(c, "%s.affinity.%s.%s[%zu].labelSelector", spec_place(c), kind, required, i), text);
        for (size_t i = 0; i < value_count(may); i++)
                if (!value_path(item(may, i), "podAffinityTerm", "labelSelector", NULL))
                        warn(c,
                             PLACE(c, "%s.affinity.%s.%s[%zu].podAffinityTerm.labelSelector", spec_place(c), kind,
                                   preferred, i),
                             text);
}

/* A second variable of a name, unless it builds on the first. */
static bool is_hidden(const struct value *env, size_t at, struct arena *a) {
        struct str name = value_text(value_getc(item(env, at), "name")), value = value_text(value_getc(item(env, at), "value"));
        struct str reference = arena_strf(a, "$(%.*s)", STR_FMT(name));
        bool found = false;

        for (size_t i = 0; i < at && !found; i++)
                found = str_eq(value_text(value_getc(item(env, i), "name")), name);
        return found && (value_getc(item(env, at), "valueFrom") || str_eq(value, reference) || !str_contains(value, reference));
}

static void warn_of_fractions(struct call *c, struct str place, const struct value *container, const char *which) {
        static const char *const names[] = { "ephemeral-storage", "memory" };

        for (size_t i = ARRAY_LEN(names); i-- > 0;) {
                struct str text = value_text(value_path(container, "resources", which, names[i], NULL));

                if (text.n && text.p[text.n - 1] == 'm')
                        warn(c, PLACE(c, "%.*s.resources.%s[%s]", STR_FMT(place), which, names[i]),
                             arena_strf(c->a, "fractional byte value \"%.*s\" is invalid, must be an integer", STR_FMT(text))
                                     .p);
        }
}

static void warn_of_container(struct call *c, struct str place, const struct value *container) {
        const struct value *env = value_getc(container, "env");

        warn_of_fractions(c, place, container, "limits");
        warn_of_fractions(c, place, container, "requests");
        for (size_t i = 1; i < value_count(env); i++)
                if (is_hidden(env, i, c->a))
                        warn(c, PLACE(c, "%.*s.env[%zu]", STR_FMT(place), i),
                             arena_strf(c->a, "hides previous definition of \"%.*s\", which may be dropped when using apply",
                                        STR_FMT(value_text(value_getc(item(env, i), "name"))))
                                     .p);
}

/* One port of one container, with where it stands. */
struct port {
        struct str place;
        const struct value *v;
};

struct ports {
        struct port *items;
        size_t count, cap;
};

static bool same_field(const struct port *a, const struct port *b, const char *field) {
        const struct value *x = value_getc(a->v, field), *y = value_getc(b->v, field);

        return x == y || (x && y && value_equal(x, y));
}

static void warn_of_port(struct call *c, const struct ports *ports, const struct port *p) {
        for (size_t i = 0; i < ports->count; i++) {
                const struct port *other = &ports->items[i];
                bool none = !value_getc(p->v, "hostPort") || !value_getc(other->v, "hostPort");
                bool exact = same_field(p, other, "hostIP") && same_field(p, other, "hostPort");

                if (!same_field(p, other, "containerPort") || !same_field(p, other, "protocol"))
                        continue;
                if (exact || none)
                        warn(c, p->place,
                             arena_strf(c->a, "%s port definition with %.*s", exact ? "duplicate" : "overlapping",
                                        STR_FMT(other->place))
                                     .p);
        }
}

static void warn_of_port_name(struct call *c, const struct ports *ports, const struct port *p) {
        struct str name = value_text(value_getc(p->v, "name"));

        for (size_t i = 0; i < ports->count && name.n; i++)
                if (str_eq(value_text(value_getc(ports->items[i].v, "name")), name)) {
                        struct str other = ports->items[i].place;

                        warn(c, p->place,
                             arena_strf(c->a,
                                        "duplicate port name \"%.*s\" with %.*s, services and probes that select ports by "
                                        "name will use %.*s",
                                        STR_FMT(name), STR_FMT(other), STR_FMT(other))
                                     .p);
                        return;
                }
}

static const char *const container_lists[] = { "initContainers", "containers" };

static void each_port(struct call *c, const struct value *spec,
                      void (*fn)(struct call *c, const struct ports *before, const struct port *p)) {
        struct ports ports = { 0 };

        for (size_t l = 0; l < ARRAY_LEN(container_lists); l++) {
                const struct value *list = value_getc(spec, container_lists[l]);

                for (size_t i = 0; i < value_count(list); i++) {
                        const struct value *of = value_getc(item(list, i), "ports");

                        for (size_t j = 0; j < value_count(of); j++) {
                                struct port p = { PLACE(c, "%s.%s[%zu].ports[%zu]", spec_place(c), container_lists[l], i, j),
                                                  item(of, j) };

                                fn(c, &ports, &p);
                                ports.items = mem_grow(ports.items, &ports.cap, ports.count + 1, sizeof p);
                                ports.items[ports.count++] = p;
                        }
                }
        }
        free(ports.items);
}

static void warn_of_template(struct call *c, const struct value *object) {
        const struct value *spec = spec_of(c, object);
        const struct value *spread = value_getc(spec, "topologySpreadConstraints");
        const struct value *secrets = value_getc(spec, "imagePullSecrets");
        int64_t grace = 0;

        for (size_t i = 0; i < value_count(spread); i++)
                if (!value_getc(item(spread, i), "labelSelector"))
                        warn(c, PLACE(c, "%s.topologySpreadConstraints[%zu].labelSelector", spec_place(c), i),
                             "a null labelSelector results in matching no pod");
        warn_of_doubled(c, spec, "hostAliases", "ip", "ip");
        warn_of_doubled(c, spec, "imagePullSecrets", "name", "name");
        for (size_t i = 0; i < value_count(secrets); i++)
                if (value_text(value_getc(item(secrets, i), "name")).n == 0)
                        warn(c, PLACE(c, "%s.imagePullSecrets[%zu].name", spec_place(c), i), "invalid empty name \"\"");
        for (size_t l = 0; l < ARRAY_LEN(container_lists); l++) {
                const struct value *list = value_getc(spec, container_lists[l]);

                for (size_t i = 0; i < value_count(list); i++)
                        warn_of_container(c, PLACE(c, "%s.%s[%zu]", spec_place(c), container_lists[l], i), item(list, i));
        }
        each_port(c, spec, warn_of_port);
        each_port(c, spec, warn_of_port_name);
        if (value_to_i64(value_getc(spec, "terminationGracePeriodSeconds"), &grace) && grace < 0)
                warn(c, PLACE(c, "%s.terminationGracePeriodSeconds", spec_place(c)),
                     "must be >= 0; negative values are invalid and will be treated as 1");
        warn_of_terms(c, value_getc(spec, "affinity"), "podAffinity");
        warn_of_terms(c, value_getc(spec, "affinity"), "podAntiAffinity");
}

/* Pods are named after it, or it is one. */
static void warn_of_name(struct call *c, const struct value *object) {
        struct text_faults faults = text_faults(TEXT_DNS_LABEL, meta_text(object, "name"), c->a);

        if (faults.count)
                warn(c, STR("metadata.name"),
                     arena_strf(c->a,
                                "this is used in %s, which can result in surprising behavior; a DNS label is recommended: "
                                "[%.*s]",
                                is_pod(c) ? "the Pod's hostname" : "Pod names and hostnames",
                                STR_FMT(text_joined(&faults, " ", c->a)))
                             .p);
}

static void warn_of_pod(struct call *c, const struct value *live, const struct value *object) {
        if (live)
                return;
        warn_of_name(c, object);
        warn_of_template(c, object);
}

/* What tells that the template, or at least something, changed. */
static const struct value *revision_of(const struct call *c, const struct value *object) {
        return str_eqc(c->kind->resource->kind, "DaemonSet")
                       ? value_path(object, "metadata", "annotations", "deprecated.daemonset.template.generation", NULL)
                       : value_path(object, "metadata", "generation", NULL);
}

static void warn_of_workload(struct call *c, const struct value *live, const struct value *object) {
        const struct value *before = revision_of(c, live), *now = revision_of(c, object);
        struct str kind = c->kind->resource->kind;
        int64_t limit = 0;

        if (!live && !str_eqc(kind, "StatefulSet") && !str_eqc(kind, "DaemonSet"))
                warn_of_name(c, object);
        if (!live || !before || !now || !value_equal(before, now))
                warn_of_template(c, object);
        if (str_eqc(kind, "StatefulSet") &&
            value_to_i64(value_path(object, "spec", "revisionHistoryLimit", NULL), &limit) && limit < 0)
                warn(c, STR("spec.revisionHistoryLimit"),
                     "a negative value retains all historical revisions; a value >= 0 is recommended");
}

static void warn_of_cron_job(struct call *c, const struct value *live, const struct value *object) {
        warn_of_workload(c, live, object);
        if (live && str_contains(value_text(value_path(object, "spec", "schedule", NULL)), STR("TZ")))
                call_warn(c, STR("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
                                 "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"));
}

/* ---- Service, Ingress ---- */

static void warn_of_service(struct call *c, const struct value *live, const struct value *object) {
        const struct value *spec = value_getc(object, "spec");
        struct str type = value_text(value_getc(spec, "type"));
        bool is_external = str_eqc(type, "ExternalName"), has_ips = value_count(value_getc(spec, "externalIPs")) > 0;
        bool is_headless = str_eqc(type, "ClusterIP") && str_eqc(value_text(value_getc(spec, "clusterIP")), "None");

        (void)live;
        if (is_headless && value_text(value_getc(spec, "loadBalancerIP")).n)
                call_warn(c, STR("spec.loadBalancerIP is ignored for headless services"));
        if (is_headless && has_ips)
                call_warn(c, STR("spec.externalIPs is ignored for headless services"));
        if (is_headless && !str_eqc(value_text(value_getc(spec, "sessionAffinity")), "None"))
                call_warn(c, STR("spec.SessionAffinity is ignored for headless services"));
        if (has_ips && !is_headless && !is_external)
                call_warn(c, STR("spec.externalIPs is deprecated and may no longer be implemented in some clusters"));
        if (is_external && has_ips)
                call_warn(c, STR("spec.externalIPs is ignored when spec.type is \"ExternalName\""));
        if (!is_external && value_text(value_getc(spec, "externalName")).n)
                call_warn(c, STR("spec.externalName is ignored when spec.type is not \"ExternalName\""));
        if (str_eqc(value_text(value_getc(spec, "trafficDistribution")), "PreferClose"))
                call_warn(c, STR("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""));
}

static void warn_of_ingress(struct call *c, const struct value *live, const struct value *object) {
        if (!live && value_path(object, "metadata", "annotations", "kubernetes.io/ingress.class", NULL) &&
            !value_path(object, "spec", "ingressClassName", NULL))
                call_warn(c, STR("annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
                                 "'spec.ingressClassName' instead"));
}

static void warn_of_volume(struct call *c, const struct value *live, const struct value *object) {
        (void)live;
        if (str_eqc(value_text(value_path(object, "spec", "persistentVolumeReclaimPolicy", NULL)), "Recycle"))
                call_warn(c, STR("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
                                 "the recommended approach is to use dynamic provisioning."));
}

/* ---- custom resources ---- */

static bool has_finalizer(const struct value *object, struct str name, size_t end) {
        const struct value *list = value_path(object, "metadata", "finalizers", NULL);

        for (size_t i = 0; i < value_count(list) && i < end; i++)
                if (str_eq(value_text(item(list, i)), name))
                        return true;
        return false;
}

static void warn_of_finalizers(struct call *c, const struct value *live, const struct value *object) {
        const struct value *list = value_path(object, "metadata", "finalizers", NULL);

        for (size_t i = 0; i < value_count(list); i++) {
                struct str name = value_text(item(list, i));

                if (str_find(name, '/', 0) < 0 && !has_finalizer(live, name, SIZE_MAX) && !has_finalizer(object, name, i) &&
                    !str_eqc(name, "orphan") && !str_eqc(name, "foregroundDeletion"))
                        call_warn(c, arena_strf(c->a,
                                                "metadata.finalizers: \"%.*s\": prefer a domain-qualified finalizer name "
                                                "%sto avoid accidental conflicts with other finalizer writers",
                                                STR_FMT(name),
                                                str_find(name, '.', 0) < 0 ? "" : "including a path (/) "));
        }
}

static const struct {
        const char *group, *kind;
        void (*warn)(struct call *c, const struct value *live, const struct value *object);
} kinds[] = {
        { "apps", "Deployment", warn_of_workload }, { "apps", "StatefulSet", warn_of_workload },
        { "apps", "DaemonSet", warn_of_workload },  { "apps", "ReplicaSet", warn_of_workload },
        { "batch", "Job", warn_of_workload },       { "batch", "CronJob", warn_of_cron_job },
        { "", "Service", warn_of_service },
        { "networking.k8s.io", "Ingress", warn_of_ingress },
        { "", "Pod", warn_of_pod },
        { "", "PersistentVolume", warn_of_volume },
};

void warn_of(struct call *c, const struct value *live, const struct value *object) {
        if (str_eqc(c->at.subresource, "status") || !c->req)
                return;
        if (c->kind->is_custom)
                warn_of_finalizers(c, live, object);
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (str_eqc(c->kind->resource->kind, kinds[i].kind) && str_eqc(c->at.group, kinds[i].group))
                        kinds[i].warn(c, live, object);
}
