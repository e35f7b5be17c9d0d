/* SPDX-License-Identifier: Apache-2.0 */
/* Values that refusals of updates quote as the API server's own Go structs: templates and claims of workloads. */
#include "base/limits.h"
#include "sandbox/go_struct.h"
#include "sandbox/validate_kinds.h"

/* The members of the embedded ObjectMeta, in its order, each with a comma behind it. */
static void add_metadata(const struct value *meta, struct buf *out) {
        static const char *const order[] = { "name",      "generateName",    "namespace",
                                             "uid",       "resourceVersion", "generation",
                                             "labels",    "annotations",     "ownerReferences",
                                             "finalizers" };

        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
                const struct value *v = get(meta, order[i]);

                if (!v)
                        continue;
                buf_addf(out, "\"%s\":", order[i]);
                value_print(v, out);
                buf_addch(out, ',');
        }
}

static void add_object(const struct value *object, const char *spec_type, struct arena *a, struct buf *out) {
        add_metadata(get(object, "metadata"), out);
        buf_addc(out, "\"Spec\":");
        buf_add(out, go_struct_json(spec_type, get(object, "spec"), a));
}

struct str go_template_text(const struct value *template, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(4 * KUBE_MAX_OBJECT_BYTES);

        buf_addch(&out, '{');
        add_object(template, "core.PodSpec", a, &out);
        buf_addch(&out, '}');
        return arena_str(a, buf_str(&out));
}

struct str go_claims_text(const struct value *claims, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(4 * KUBE_MAX_OBJECT_BYTES);

        if (!list_count(claims))
                return STR("null");
        buf_addch(&out, '[');
        for (EACH(i, claims)) {
                buf_addc(&out, i ? ",{" : "{");
                add_object(item_of(claims, i), "core.PersistentVolumeClaimSpec", a, &out);
                buf_addf(
                        &out,
                        ",\"Status\":{\"Phase\":\"%.*s\",\"AccessModes\":null,\"Capacity\":null,\"Conditions\":null,"
                        "\"AllocatedResources\":null,\"AllocatedResourceStatuses\":null,"
                        "\"CurrentVolumeAttributesClassName\":null,\"ModifyVolumeStatus\":null,\"HealthStatus\":null}}",
                        STR_FMT(text_of(get(item_of(claims, i), "status"), "phase")));
        }
        buf_addch(&out, ']');
        return arena_str(a, buf_str(&out));
}

static void add_text_or_null(const struct value *v, struct buf *out) {
        if (v)
                value_print(v, out);
        else
                buf_addc(out, "null");
}

static void add_failure_rule(const struct value *rule, struct buf *out) {
        const struct value *codes = get(rule, "onExitCodes"), *conditions = get(rule, "onPodConditions");

        buf_addf(out, "{\"Action\":\"%.*s\",\"OnExitCodes\":", STR_FMT(text_of(rule, "action")));
        if (codes) {
                buf_addc(out, "{\"ContainerName\":");
                add_text_or_null(get(codes, "containerName"), out);
                buf_addf(out, ",\"Operator\":\"%.*s\",\"Values\":", STR_FMT(text_of(codes, "operator")));
                add_text_or_null(get(codes, "values"), out);
                buf_addch(out, '}');
        } else
                buf_addc(out, "null");
        buf_addc(out, list_count(conditions) ? ",\"OnPodConditions\":[" : ",\"OnPodConditions\":null");
        for (EACH(i, conditions))
                buf_addf(out, "%s{\"Type\":\"%.*s\",\"Status\":\"%.*s\"}", i ? "," : "",
                         STR_FMT(text_of(item_of(conditions, i), "type")),
                         STR_FMT(text_of(item_of(conditions, i), "status")));
        buf_addc(out, list_count(conditions) ? "]}" : "}");
}

struct str go_failure_policy_text(const struct value *policy, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(4 * KUBE_MAX_OBJECT_BYTES);
        const struct value *rules = get(policy, "rules");

        if (!policy)
                return STR("null");
        buf_addc(&out, rules ? "{\"Rules\":[" : "{\"Rules\":null");
        for (EACH(i, rules)) {
                buf_addc(&out, i ? "," : "");
                add_failure_rule(item_of(rules, i), &out);
        }
        buf_addc(&out, rules ? "]}" : "}");
        return arena_str(a, buf_str(&out));
}
