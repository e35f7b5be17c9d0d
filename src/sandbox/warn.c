/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warn.h"

#include <stdlib.h>

#include "sandbox/warn_impl.h"

#define OWNERS_TWICE                                                                                                   \
        "; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix "    \
        "your requests; duplicate UID(s) observed: "

void warn_at(struct call *c, struct str place, const char *what) {
        call_warn(c, arena_strf(c->a, "%.*s: %s", STR_FMT(place), what));
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
                if (!list_has(&kept, warn_item(owners, i)))
                        value_list_add(&kept, warn_item(owners, i));
                else
                        buf_addf(&twice, "%s%.*s", twice.n ? ", " : "",
                                 STR_FMT(value_text(value_getc(warn_item(owners, i), "uid"))));
        }
        if (kept.count == owners->list.count) {
                value_list_drop(&kept);
                return object;
        }
        call_warn(c, arena_strf(c->a, ".metadata.ownerReferences contains duplicate entries%s" OWNERS_TWICE "%s",
                                after ? " after mutating admission happens" : "", twice.p));
        return meta_with(object, "ownerReferences", value_list_end(&kept, c->a, 0), c->a);
}

/* ---- workloads ---- */

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
        if (str_eqc(kind, "StatefulSet"))
                warn_of_claim_templates(c, live, value_path(object, "spec", "volumeClaimTemplates", NULL));
        if (str_eqc(kind, "StatefulSet") &&
            value_to_i64(value_path(object, "spec", "revisionHistoryLimit", NULL), &limit) && limit < 0)
                warn_at(c, STR("spec.revisionHistoryLimit"),
                        "a negative value retains all historical revisions; a value >= 0 is recommended");
}

static void warn_of_cron_job(struct call *c, const struct value *live, const struct value *object) {
        warn_of_workload(c, live, object);
        if (live && str_contains(value_text(value_path(object, "spec", "schedule", NULL)), STR("TZ")))
                call_warn(c,
                          STR("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
                              "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"));
}

/* ---- Service, Ingress, storage ---- */

#define STORAGE_CLASS_ANNOTATION "volume.beta.kubernetes.io/storage-class"

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

static void warn_of_claim(struct call *c, const struct value *live, const struct value *object) {
        (void)live;
        if (value_path(object, "metadata", "annotations", STORAGE_CLASS_ANNOTATION, NULL))
                warn_at(c, STR("metadata.annotations[" STORAGE_CLASS_ANNOTATION "]"),
                        "deprecated since v1.8; use \"storageClassName\" attribute instead");
        warn_of_claim_spec(c, STR("spec"), value_getc(object, "spec"));
}

static void warn_of_volume(struct call *c, const struct value *live, const struct value *object) {
        (void)live;
        if (str_eqc(value_text(value_path(object, "spec", "persistentVolumeReclaimPolicy", NULL)), "Recycle"))
                call_warn(c,
                          STR("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
                              "the recommended approach is to use dynamic provisioning."));
}

/* ---- custom resources ---- */

static bool has_finalizer(const struct value *object, struct str name, size_t end) {
        const struct value *list = value_path(object, "metadata", "finalizers", NULL);

        for (size_t i = 0; i < value_count(list) && i < end; i++)
                if (str_eq(value_text(warn_item(list, i)), name))
                        return true;
        return false;
}

static void warn_of_finalizers(struct call *c, const struct value *live, const struct value *object) {
        const struct value *list = value_path(object, "metadata", "finalizers", NULL);

        for (size_t i = 0; i < value_count(list); i++) {
                struct str name = value_text(warn_item(list, i));

                if (str_find(name, '/', 0) < 0 && !has_finalizer(live, name, SIZE_MAX) &&
                    !has_finalizer(object, name, i) && !str_eqc(name, "orphan") && !str_eqc(name, "foregroundDeletion"))
                        call_warn(c,
                                  arena_strf(c->a,
                                             "metadata.finalizers: \"%.*s\": prefer a domain-qualified finalizer name "
                                             "%sto avoid accidental conflicts with other finalizer writers",
                                             STR_FMT(name), str_find(name, '.', 0) < 0 ? "" : "including a path (/) "));
        }
}

static const struct {
        const char *group, *kind;
        void (*warn)(struct call *c, const struct value *live, const struct value *object);
} kinds[] = {
        { "apps", "Deployment", warn_of_workload },
        { "apps", "StatefulSet", warn_of_workload },
        { "apps", "DaemonSet", warn_of_workload },
        { "apps", "ReplicaSet", warn_of_workload },
        { "batch", "Job", warn_of_workload },
        { "batch", "CronJob", warn_of_cron_job },
        { "", "Service", warn_of_service },
        { "networking.k8s.io", "Ingress", warn_of_ingress },
        { "", "Pod", warn_of_pod },
        { "", "PersistentVolume", warn_of_volume },
        { "", "PersistentVolumeClaim", warn_of_claim },
};

void warn_of(struct call *c, const struct value *live, const struct value *object) {
        bool is_status = str_eqc(c->at.subresource, "status");

        if ((is_status && live) || !c->req) /* an apply to the status of what is not there makes it, as any creation */
                return;
        if (c->kind->is_custom)
                warn_of_finalizers(c, live, object);
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (str_eqc(c->kind->resource->kind, kinds[i].kind) && str_eqc(c->at.group, kinds[i].group))
                        kinds[i].warn(c, live, object);
}
