/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of scalers, a row each, and how one of their objects is read. */
#include "own/scaler_impl.h"

#define NO_LIMIT (-1)

/*
 * Where a kind names its target and its limits, and what its API takes where the object is silent. Rows are of the APIs'
 * types: kubernetes autoscaling/v2, KEDA keda.sh/v1alpha1, Knative, GKE, Datadog, AIBrix, Dynamo v1alpha1 and v1beta1,
 * RBG, LWS's DisaggregatedSet (KEP-849), llm-d's workload-variant-autoscaler.
 */
static const struct scaler_kind {
        const char *group, *kind;
        const char *ref;                        /* NULL: the controller of the object is the target */
        const char *target_group, *target_kind; /* when the reference is silent; name: the object's own for advisers */
        const char *components[3];              /* fields of the reference that name a part of the target */
        const char *component_label;
        const char *min, *max; /* "#name": an annotation */
        int64_t min_default, max_default;
        const char *idle_when, *idle_value; /* with this value there it only advises */
        bool advises, stops_at_zero;
} scaler_kinds[] = {
        { .group = "autoscaling", .kind = "HorizontalPodAutoscaler", .ref = "spec.scaleTargetRef",
          .min = "spec.minReplicas", .max = "spec.maxReplicas", .min_default = 1, .max_default = NO_LIMIT,
          .stops_at_zero = true },
        { .group = "keda.sh", .kind = "ScaledObject", .ref = "spec.scaleTargetRef", .target_group = "apps",
          .target_kind = "Deployment", .min = "spec.minReplicaCount", .max = "spec.maxReplicaCount", .min_default = 0,
          .max_default = 100 },
        { .group = "autoscaling.internal.knative.dev", .kind = "PodAutoscaler", .ref = "spec.scaleTargetRef",
          .min = "#autoscaling.knative.dev/min-scale", .max = "#autoscaling.knative.dev/max-scale",
          .max_default = NO_LIMIT },
        { .group = "autoscaling.k8s.io", .kind = "MultidimPodAutoscaler", .ref = "spec.scaleTargetRef",
          .min = "spec.constraints.minReplicas", .max = "spec.constraints.maxReplicas", .min_default = 1,
          .max_default = NO_LIMIT },
        { .group = "autoscaling.gke.io", .kind = "MultidimPodAutoscaler", .ref = "spec.scaleTargetRef",
          .min = "spec.constraints.global.minReplicas", .max = "spec.constraints.global.maxReplicas", .min_default = 1,
          .max_default = NO_LIMIT },
        { .group = "datadoghq.com", .kind = "DatadogPodAutoscaler", .ref = "spec.targetRef",
          .min = "spec.constraints.minReplicas", .max = "spec.constraints.maxReplicas", .min_default = 1,
          .max_default = NO_LIMIT, .idle_when = "spec.applyPolicy.mode", .idle_value = "Preview" },
        { .group = "datadoghq.com", .kind = "WatermarkPodAutoscaler", .ref = "spec.scaleTargetRef",
          .min = "spec.minReplicas", .max = "spec.maxReplicas", .min_default = 1, .max_default = NO_LIMIT },
        { .group = "autoscaling.aibrix.ai", .kind = "PodAutoscaler", .ref = "spec.scaleTargetRef",
          .min = "spec.minReplicas", .max = "spec.maxReplicas", .max_default = NO_LIMIT },
        { .group = "nvidia.com", .kind = "DynamoGraphDeploymentScalingAdapter", .ref = "spec.dgdRef",
          .target_group = "nvidia.com", .target_kind = "DynamoGraphDeployment",
          .components = { "serviceName", "componentName", "componentGroupName" }, .max_default = NO_LIMIT },
        { .group = "workloads.x-k8s.io", .kind = "RoleBasedGroupScalingAdapter", .ref = "spec.scaleTargetRef",
          .target_group = "workloads.x-k8s.io", .target_kind = "RoleBasedGroup", .components = { "role" },
          .max_default = NO_LIMIT },
        { .group = "disaggregatedset.x-k8s.io", .kind = "DisaggregatedSetRoleScaler",
          .target_group = "disaggregatedset.x-k8s.io", .target_kind = "DisaggregatedSet",
          .component_label = "disaggregatedset.x-k8s.io/role", .max_default = NO_LIMIT },
        { .group = "llmd.ai", .kind = "VariantAutoscaling", .ref = "spec.scaleTargetRef", .target_group = "apps",
          .target_kind = "Deployment", .max_default = NO_LIMIT, .advises = true },
};

const struct scaler_kind *scaler_kind_find(struct str group, struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(scaler_kinds); i++)
                if (str_eqc(group, scaler_kinds[i].group) && str_eqc(kind, scaler_kinds[i].kind))
                        return &scaler_kinds[i];
        return NULL;
}

bool scaler_is_kind(struct str group, struct str kind) {
        return scaler_kind_find(group, kind) != NULL;
}

bool scaler_kind_at(size_t i, const char **ret_group, const char **ret_kind) {
        if (i >= ARRAY_LEN(scaler_kinds))
                return false;
        *ret_group = scaler_kinds[i].group;
        *ret_kind = scaler_kinds[i].kind;
        return true;
}

const struct value *scaler_value_at(const struct value *v, const char *dotted) {
        struct str rest = str_from(dotted);

        while (v && rest.n) {
                ptrdiff_t dot = str_find(rest, '.', 0);
                size_t end = dot < 0 ? rest.n : (size_t)dot;

                v = value_get(v, str_sub(rest, 0, end));
                rest = str_sub(rest, dot < 0 ? rest.n : end + 1, rest.n);
        }
        return v;
}

static struct str annotation(const struct value *object, const char *name) {
        return value_text(value_getc(value_path(object, "metadata", "annotations", NULL), name));
}

static bool number_of_text(struct str text, int64_t *ret) {
        int64_t n = 0;

        if (!text.n || text.n > 9)
                return false;
        for (size_t i = 0; i < text.n; i++) {
                if (text.p[i] < '0' || text.p[i] > '9')
                        return false;
                n = n * 10 + (text.p[i] - '0');
        }
        *ret = n;
        return true;
}

static int64_t number_at(const struct value *object, const char *where, int64_t otherwise) {
        int64_t n = otherwise;

        if (where && where[0] == '#')
                number_of_text(annotation(object, where + 1), &n);
        else if (where)
                value_to_i64(scaler_value_at(object, where), &n);
        return n;
}

static struct str text_or(const struct value *map, const char *name, const char *otherwise) {
        struct str text = value_text(value_getc(map, name));

        return text.n ? text : str_from(otherwise);
}

static void read_owner(const struct value *object, struct scaler *s) {
        const struct value *owners = value_path(object, "metadata", "ownerReferences", NULL);

        for (size_t i = 0; value_is(owners, VALUE_LIST) && i < owners->list.count; i++) {
                const struct value *o = owners->list.items[i];

                if (!value_truth(value_getc(o, "controller"), false))
                        continue;
                s->owner_kind = value_text(value_getc(o, "kind"));
                s->owner_name = value_text(value_getc(o, "name"));
        }
}

static void read_target(const struct value *object, const struct scaler_kind *kind, struct scaler *s) {
        const struct value *ref = kind->ref ? scaler_value_at(object, kind->ref) : NULL;
        struct str api_version = value_text(value_getc(ref, "apiVersion"));

        s->target = (struct scale_target){
                .group = api_version.n ? schema_group(api_version) : str_from(kind->target_group),
                .kind = text_or(ref, "kind", kind->target_kind),
                .ns = s->ns,
                .name = value_text(value_getc(ref, "name")),
        };
        for (size_t i = 0; i < ARRAY_LEN(kind->components) && kind->components[i] && !s->component.n; i++)
                s->component = value_text(value_getc(ref, kind->components[i]));
        if (kind->advises && !s->target.name.n)
                s->target.name = s->name;
        if (kind->ref)
                return;
        s->component = value_text(value_getc(value_path(object, "metadata", "labels", NULL), kind->component_label));
        if (str_eqc(s->owner_kind, kind->target_kind))
                s->target.name = s->owner_name;
}

/* Names a target, and the part of it where the kind is about parts? */
static bool is_complete(const struct scaler *s, const struct scaler_kind *kind) {
        bool of_parts = kind->components[0] || kind->component_label;

        return s->target.kind.n && s->target.name.n && (!of_parts || s->component.n);
}

/*
 * KEDA: https://keda.sh/docs (ScaledObject specification, "Pause autoscaling"). The HPA is its own, or one that it takes
 * over by name.
 */
static void read_keda(const struct value *object, struct arena *a, struct scaler *s) {
        struct str hpa = value_text(scaler_value_at(object, "status.hpaName"));

        if (!hpa.n)
                hpa = value_text(scaler_value_at(object, "spec.advanced.horizontalPodAutoscalerConfig.name"));
        s->hpa = hpa.n ? hpa : arena_strf(a, "keda-hpa-%.*s", STR_FMT(s->name));
        s->idle_replicas = number_at(object, "spec.idleReplicaCount", -1);
        s->paused = str_eqc(annotation(object, "autoscaling.keda.sh/paused"), "true") ||
                    annotation(object, "autoscaling.keda.sh/paused-replicas").n;
}

struct scaler scaler_read(const struct value *object, const struct scaler_kind *kind, struct arena *a) {
        struct scale_target self = scale_target_of(object);
        struct scaler s = {
                .kind = self.kind,
                .group = self.group,
                .ns = self.ns,
                .name = self.name,
                .min_replicas = number_at(object, kind->min, kind->min_default),
                .max_replicas = number_at(object, kind->max, kind->max_default),
                .idle_replicas = -1,
                .advises = kind->advises,
                .stops_at_zero = kind->stops_at_zero,
        };

        read_owner(object, &s);
        read_target(object, kind, &s);
        if (!is_complete(&s, kind))
                s.target = (struct scale_target){ 0 };
        if (str_eqc(s.kind, "ScaledObject"))
                read_keda(object, a, &s);
        if (kind->idle_when && str_eqc(value_text(scaler_value_at(object, kind->idle_when)), kind->idle_value))
                s.advises = true;
        return s;
}
