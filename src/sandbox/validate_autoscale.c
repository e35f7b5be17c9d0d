/* SPDX-License-Identifier: Apache-2.0 */
/* HorizontalPodAutoscaler (both versions) and PodDisruptionBudget. */
#include "sandbox/validate_kinds.h"

#include <string.h>

static void check_segment(struct check *c, const struct at *at, const struct value *map, const char *field) {
        if (!text_of(map, field).n)
                fault_required(c, AT_STR(at, str_from(field)), "");
        else
                check_text(c, AT_STR(at, str_from(field)), TEXT_PATH_SEGMENT, text_of(map, field));
}

static void check_reference(struct check *c, const struct at *at, const struct value *ref) {
        struct str version = text_of(ref, "apiVersion");
        ptrdiff_t slash = str_find(version, '/', 0);

        check_segment(c, at, ref, "kind");
        check_segment(c, at, ref, "name");
        if (slash >= 0 && str_find(version, '/', (size_t)slash + 1) >= 0)
                fault_invalid_str(c, AT(at, "apiVersion"), version,
                                  arena_strf(c->a, "unexpected GroupVersion string: %.*s", STR_FMT(version)).p);
}

/* What is scaled has a group, ReplicationControllers aside. Targets that did not change are not looked at. */
static void check_scaled(struct check *c, const struct at *at, const struct value *ref) {
        const struct value *before = value_path(c->live, "spec", "scaleTargetRef", NULL);
        struct str version = text_of(ref, "apiVersion");

        check_reference(c, at, ref);
        if (str_find(version, '/', 0) >= 0 || str_eqc(text_of(ref, "kind"), "ReplicationController") ||
            (before && same(get(before, "apiVersion"), get(ref, "apiVersion")) &&
             same(get(before, "kind"), get(ref, "kind"))))
                return;
        fault_invalid_str(c, AT(at, "apiVersion"), version, "apiVersion must specify API group");
}

static void check_target(struct check *c, const struct at *at, const struct value *target) {
        static const char *const kinds[] = { "Utilization", "Value", "AverageValue", NULL };
        static const char *const quantities[] = { "value", "averageValue" };
        struct str type = text_of(target, "type");
        int64_t utilization = 0;

        if (!type.n)
                fault_required(c, AT(at, "type"), "must specify a metric target type");
        if (!is_one_of(type, kinds))
                fault_invalid_str(c, AT(at, "type"), type, "must be either Utilization, Value, or AverageValue");
        for (size_t i = 0; i < 2; i++)
                if (get(target, quantities[i]) && quantity_of(get(target, quantities[i])) <= 0)
                        fault_invalid(c, AT_STR(at, str_from(quantities[i])), get(target, quantities[i]),
                                      "must be positive");
        if (value_to_i64(get(target, "averageUtilization"), &utilization) && utilization < 1)
                fault_invalid_int(c, AT(at, "averageUtilization"), utilization, "must be greater than 0");
}

static void check_metric_name(struct check *c, const struct at *at, const struct value *metric) {
        if (!text_of(metric, "name").n)
                fault_required(c, AT(at, "name"), "must specify a metric name");
        else
                check_text(c, AT(at, "name"), TEXT_PATH_SEGMENT, text_of(metric, "name"));
}

static void check_object_source(struct check *c, const struct at *at, const struct value *s) {
        const struct value *target = get(s, "target");

        check_reference(c, AT(at, "describedObject"), get(s, "describedObject"));
        check_metric_name(c, AT(at, "metric"), get(s, "metric"));
        check_target(c, AT(at, "target"), target);
        if (!get(target, "value") && !get(target, "averageValue"))
                fault_required(c, AT(AT(at, "target"), "averageValue"),
                               "must set either a target value or averageValue");
}

static void check_external_source(struct check *c, const struct at *at, const struct value *s) {
        const struct value *target = get(s, "target");

        check_metric_name(c, AT(at, "metric"), get(s, "metric"));
        check_target(c, AT(at, "target"), target);
        if (!get(target, "value") && !get(target, "averageValue"))
                fault_required(c, AT(AT(at, "target"), "averageValue"),
                               "must set either a target value for metric or a per-pod target");
        if (get(target, "value") && get(target, "averageValue"))
                fault_forbidden(c, AT(AT(at, "target"), "value"),
                                "may not set both a target value for metric and a per-pod target");
}

static void check_pods_source(struct check *c, const struct at *at, const struct value *s) {
        check_metric_name(c, AT(at, "metric"), get(s, "metric"));
        check_target(c, AT(at, "target"), get(s, "target"));
        if (!get(get(s, "target"), "averageValue"))
                fault_required(c, AT(AT(at, "target"), "averageValue"), "must specify a positive target averageValue");
}

static void check_resource_target(struct check *c, const struct at *at, const struct value *target) {
        check_target(c, at, target);
        if (!get(target, "averageUtilization") && !get(target, "averageValue"))
                fault_required(c, AT(at, "averageUtilization"),
                               "must set either a target raw value or a target utilization");
        if (get(target, "averageUtilization") && get(target, "averageValue"))
                fault_forbidden(c, AT(at, "averageValue"),
                                "may not set both a target raw value and a target utilization");
}

static void check_resource_source(struct check *c, const struct at *at, const struct value *s) {
        if (!text_of(s, "name").n)
                fault_required(c, AT(at, "name"), "must specify a resource name");
        check_resource_target(c, AT(at, "target"), get(s, "target"));
}

static void check_container_source(struct check *c, const struct at *at, const struct value *s) {
        if (!text_of(s, "name").n)
                fault_required(c, AT(at, "name"), "must specify a resource name");
        else
                check_container_resource_name(c, AT(at, "name"), text_of(s, "name"));
        if (!text_of(s, "container").n)
                fault_required(c, AT(at, "container"), "must specify a container");
        else
                check_text(c, AT(at, "container"), TEXT_DNS_LABEL, text_of(s, "container"));
        check_resource_target(c, AT(at, "target"), get(s, "target"));
}

static const struct {
        const char *type, *field;
        void (*check)(struct check *c, const struct at *at, const struct value *source);
} metric_sources[] = {
        { "Object", "object", check_object_source },
        { "External", "external", check_external_source },
        { "Pods", "pods", check_pods_source },
        { "Resource", "resource", check_resource_source },
        { "ContainerResource", "containerResource", check_container_source },
};
#define METRIC_SOURCES (sizeof metric_sources / sizeof *metric_sources)
#define METRICS_LISTED "\"ContainerResource\", \"External\", \"Object\", \"Pods\", \"Resource\""

static void check_metric(struct check *c, const struct at *at, const struct value *metric) {
        struct str type = text_of(metric, "type");
        const char *expected = NULL;
        size_t found = 0;

        for (size_t i = 0; i < METRIC_SOURCES; i++)
                if (str_eqc(type, metric_sources[i].type))
                        expected = metric_sources[i].field;
        if (!type.n)
                fault_required(c, AT(at, "type"), "must specify a metric source type");
        if (!expected)
                fault_unsupported(c, AT(at, "type"), type, METRICS_LISTED);
        for (size_t i = 0; i < METRIC_SOURCES; i++)
                if (get(metric, metric_sources[i].field) && found++ == 0)
                        metric_sources[i].check(c, AT_STR(at, str_from(metric_sources[i].field)),
                                                get(metric, metric_sources[i].field));
        if (!expected)
                fault_unsupported(c, AT(at, "type"), type, METRICS_LISTED);
        else if (!get(metric, expected))
                fault_required(c, AT_STR(at, str_from(expected)),
                               "must populate information for the given metric source");
        for (size_t i = 0; found != 1 && i < METRIC_SOURCES; i++)
                if (get(metric, metric_sources[i].field) &&
                    (!expected || strcmp(expected, metric_sources[i].field) != 0))
                        fault_forbidden(c, AT_STR(at, str_from(metric_sources[i].field)),
                                        "must populate the given metric source only");
}

/* --- behavior --- */

static void check_policy(struct check *c, const struct at *at, const struct value *policy) {
        int64_t period = int_of(policy, "periodSeconds");
        struct str type = text_of(policy, "type");

        if (!str_eqc(type, "Pods") && !str_eqc(type, "Percent"))
                fault_unsupported(c, AT(at, "type"), type, "\"Percent\", \"Pods\"");
        if (int_of(policy, "value") <= 0)
                fault_invalid_int(c, AT(at, "value"), int_of(policy, "value"), "must be greater than zero");
        if (period <= 0)
                fault_invalid_int(c, AT(at, "periodSeconds"), period, "must be greater than zero");
        if (period > 1800)
                fault_invalid_int(c, AT(at, "periodSeconds"), period, "must be less than or equal to 1800");
}

static void check_scaling(struct check *c, const struct at *at, const struct value *rules) {
        static const char *const choices[] = { "Disabled", "Max", "Min", NULL };
        const struct value *policies = get(rules, "policies"), *choice = get(rules, "selectPolicy");
        const struct at *window_at = AT(at, "stabilizationWindowSeconds");
        int64_t window = int_of(rules, "stabilizationWindowSeconds");

        if (!rules)
                return;
        if (window < 0)
                fault_invalid_int(c, window_at, window, "must be greater than or equal to zero");
        if (window > 3600)
                fault_invalid_int(c, window_at, window, "must be less than or equal to 3600");
        if (choice && !is_one_of(value_text(choice), choices))
                fault_unsupported(c, AT(at, "selectPolicy"), value_text(choice), "\"Disabled\", \"Max\", \"Min\"");
        if (!list_count(policies))
                fault_required(c, AT(at, "policies"), "must specify at least one Policy");
        for (EACH(i, policies))
                check_policy(c, AT_INDEX(AT(at, "policies"), i), item_of(policies, i));
        if (get(rules, "tolerance"))
                check_nonnegative_quantity(c, AT(at, "tolerance"), get(rules, "tolerance"));
}

static bool has_metric_of(const struct value *metrics, const char *type) {
        for (EACH(i, metrics))
                if (str_eqc(text_of(item_of(metrics, i), "type"), type))
                        return true;
        return false;
}

/* Version 1 has one target; the server checks it as the metric that it stands for. */
static void check_old_target(struct check *c, const struct at *at, const struct value *spec) {
        int64_t percent = 0;

        if (value_to_i64(get(spec, "targetCPUUtilizationPercentage"), &percent) && percent < 1)
                fault_invalid_int(
                        c, AT(AT(AT(AT_INDEX(AT(at, "metrics"), 0), "resource"), "target"), "averageUtilization"),
                        percent, "must be greater than 0");
}

void check_hpa(struct check *c) {
        const struct value *spec = get(c->object, "spec"), *metrics = get(spec, "metrics");
        const struct at *at = AT(NULL, "spec");
        int64_t least = 0, most = int_of(spec, "maxReplicas");
        bool has_least = value_to_i64(get(spec, "minReplicas"), &least);

        if (has_least && least < 0)
                late_invalid(c, AT(at, "minReplicas"), get(spec, "minReplicas"), "must be greater than or equal to 0");
        if (most == 0)
                late_required(c, AT(at, "maxReplicas"));
        else if (most < 0)
                late_invalid(c, AT(at, "maxReplicas"), get(spec, "maxReplicas"), "must be greater than or equal to 1");
        if (has_least && most < least)
                fault_invalid_int(c, AT(at, "maxReplicas"), most, "must be greater than or equal to `minReplicas`");
        check_scaled(c, AT(at, "scaleTargetRef"), get(spec, "scaleTargetRef"));
        for (EACH(i, metrics))
                check_metric(c, AT_INDEX(AT(at, "metrics"), i), item_of(metrics, i));
        check_old_target(c, at, spec);
        if (has_least && least == 0 && !has_metric_of(metrics, "Object") && !has_metric_of(metrics, "External"))
                fault_forbidden(
                        c, AT(at, "metrics"),
                        "must specify at least one Object or External metric to support scaling to zero replicas");
        check_scaling(c, AT(AT(at, "behavior"), "scaleUp"), get(get(spec, "behavior"), "scaleUp"));
        check_scaling(c, AT(AT(at, "behavior"), "scaleDown"), get(get(spec, "behavior"), "scaleDown"));
}

/* --- PodDisruptionBudget --- */

static void check_budget(struct check *c, const struct at *at, const struct value *v) {
        if (!v)
                return;
        check_int_or_percent(c, at, v);
        check_at_most_100_percent(c, at, v);
}

void check_pdb(struct check *c) {
        const struct value *spec = get(c->object, "spec"), *policy = get(spec, "unhealthyPodEvictionPolicy");
        const struct at *at = AT(NULL, "spec");

        if (get(spec, "minAvailable") && get(spec, "maxUnavailable"))
                fault_invalid_raw(c, at,
                                  arena_strf(c->a,
                                             "{\"MinAvailable\":%s,\"Selector\":%s,\"MaxUnavailable\":%s,"
                                             "\"UnhealthyPodEvictionPolicy\":%s}",
                                             go_json(get(spec, "minAvailable"), c->a).p,
                                             selector_json(get(spec, "selector"), c->a).p,
                                             go_json(get(spec, "maxUnavailable"), c->a).p, go_json(policy, c->a).p),
                                  "minAvailable and maxUnavailable cannot be both set");
        check_budget(c, AT(at, "minAvailable"), get(spec, "minAvailable"));
        check_budget(c, AT(at, "maxUnavailable"), get(spec, "maxUnavailable"));
        check_selector(c, AT(at, "selector"), get(spec, "selector"));
        if (policy && !str_eqc(value_text(policy), "IfHealthyBudget") && !str_eqc(value_text(policy), "AlwaysAllow"))
                fault_unsupported(c, AT(at, "unhealthyPodEvictionPolicy"), value_text(policy),
                                  "\"AlwaysAllow\", \"IfHealthyBudget\"");
}
