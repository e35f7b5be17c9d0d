/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults of the remaining groups.
 */
#include "sandbox/default_impl.h"

/* --- autoscaling --- */

#define CPU_AT_80                                                                                                      \
        "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","                 \
        "\"averageUtilization\":80}}}]"
#define SCALE_UP_POLICIES                                                                                              \
        "[{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15},{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":" \
        "15}]"
#define SCALE_DOWN_POLICIES "[{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]"

static const struct value *scaling_rules(const struct value *rules, const char *policies, struct arena *a) {
        rules = default_set_pointer(rules, "selectPolicy", "Max", a);
        return value_getc(rules, "policies") ? rules : value_with(a, rules, STR("policies"), default_json(policies, a));
}

/* One rule given means that all are spelt out. */
static const struct value *behavior(const struct value *o, struct arena *a) {
        const struct value *up = scaling_rules(value_getc(o, "scaleUp"), SCALE_UP_POLICIES, a);
        const struct value *down = scaling_rules(value_getc(o, "scaleDown"), SCALE_DOWN_POLICIES, a);

        o = value_with(a, o, STR("scaleUp"), default_set_int(up, "stabilizationWindowSeconds", 0, a));
        return value_with(a, o, STR("scaleDown"), down);
}

static const struct value *autoscaler_spec(const struct value *o, struct arena *a) {
        if (!value_count(value_getc(o, "metrics")))
                o = value_with(a, o, STR("metrics"), default_json(CPU_AT_80, a));
        return default_in(o, "behavior", behavior, a);
}

/* The first version: without metrics (the others are kept in an annotation) it means CPU at 80 %. */
static const struct value *autoscaler_v1(const struct value *o, struct arena *a) {
        static const struct str path[] = { { "spec", 4 }, { "targetCPUUtilizationPercentage", 30 } };

        if (value_path(o, "spec", "targetCPUUtilizationPercentage", NULL) ||
            value_path(o, "metadata", "annotations", "autoscaling.alpha.kubernetes.io/metrics", NULL))
                return o;
        return value_with_path(a, o, path, 2, value_int(a, 80, 0));
}

/* --- networking, rbac --- */

static const struct value *network_policy_spec(const struct value *o, struct arena *a) {
        bool egress = value_count(value_getc(o, "egress")) > 0;

        if (value_count(value_getc(o, "policyTypes")))
                return o;
        return value_with(a, o, STR("policyTypes"),
                          default_json(egress ? "[\"Ingress\",\"Egress\"]" : "[\"Ingress\"]", a));
}

static const struct value *subject(const struct value *o, struct arena *a) {
        if (default_text_is(o, "kind", "User") || default_text_is(o, "kind", "Group"))
                return default_set_text(o, "apiGroup", "rbac.authorization.k8s.io", a);
        return o;
}

/* --- custom resource definitions --- */

static struct str lower(struct str s, struct arena *a) {
        char *copy = arena_alloc(a, s.n + 1);

        for (size_t i = 0; i < s.n; i++)
                copy[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] - 'A' + 'a' : s.p[i]);
        copy[s.n] = '\0';
        return (struct str){ copy, s.n };
}

static const struct value *crd_names(const struct value *o, struct arena *a) {
        struct str kind = value_text(value_getc(o, "kind"));

        if (kind.n == 0)
                return o;
        o = default_set_text(o, "singular", lower(kind, a).p, a);
        return default_set_text(o, "listKind", arena_strf(a, "%.*sList", STR_FMT(kind)).p, a);
}

static const struct value *crd_spec(const struct value *o, struct arena *a) {
        o = default_in(o, "names", crd_names, a);
        return default_set(o, "conversion", default_json("{\"strategy\":\"None\"}", a), a);
}

static const struct value *crd(const struct value *o, struct arena *a) {
        static const struct str path[] = { { "status", 6 }, { "storedVersions", 14 } };
        const struct value *versions;

        o = default_in(o, "spec", crd_spec, a);
        versions = value_path(o, "spec", "versions", NULL);
        if (value_count(value_path(o, "status", "storedVersions", NULL)))
                return o;
        for (size_t i = 0; i < value_count(versions); i++) {
                const struct value *v = versions->list.items[i];
                struct value_list_builder b = { 0 };

                if (!value_truth(value_getc(v, "storage"), false))
                        continue;
                value_list_add(&b, value_getc(v, "name"));
                return value_with_path(a, o, path, 2, value_list_end(&b, a, 0));
        }
        return o;
}

const struct default_rule default_rules_other[] = {
        { "apiextensions.v1.CustomResourceDefinition", crd },
        { "autoscaling.v1.HorizontalPodAutoscaler", autoscaler_v1 },
        { "autoscaling.v2.HorizontalPodAutoscalerSpec", autoscaler_spec },
        { "networking.v1.NetworkPolicySpec", network_policy_spec },
        { "rbac.v1.Subject", subject },
        { NULL, NULL },
};
