/* SPDX-License-Identifier: Apache-2.0 */
/* HorizontalPodAutoscaler, of any version: v2 has conditions in its status, v1 in an annotation. */
#include "health/builtin.h"

#include "base/json.h"

#define CONDITIONS_ANNOTATION "autoscaling.alpha.kubernetes.io/conditions"

/* Metrics are late for minutes after a start or a restart; a target may be made after its autoscaler. */
#define METRIC_GRACE_MS (5 * MINUTE_MS)
#define TARGET_GRACE_MS MINUTE_MS

/* What is wrong when the condition is False for that reason, and for how long that is nothing yet. */
static const struct {
        const char *type, *reason;
        int64_t grace_ms;
} failures[] = {
        { "AbleToScale", "FailedGetScale", TARGET_GRACE_MS },
        { "AbleToScale", "FailedUpdateScale", TARGET_GRACE_MS },
        { "ScalingActive", "FailedGetResourceMetric", METRIC_GRACE_MS },
        { "ScalingActive", "FailedGetContainerResourceMetric", METRIC_GRACE_MS },
        { "ScalingActive", "FailedGetObjectMetric", METRIC_GRACE_MS },
        { "ScalingActive", "FailedGetPodsMetric", METRIC_GRACE_MS },
        { "ScalingActive", "FailedGetExternalMetric", METRIC_GRACE_MS },
        { "ScalingActive", "FailedComputeMetricsReplicas", METRIC_GRACE_MS },
        { "ScalingActive", "InvalidMetricSourceType", 0 },
        { "ScalingActive", "InvalidSelector", 0 },
};

/* False: the annotation cannot be read, and that was said. NULL: there are none yet. */
static bool read_conditions(const struct rule *r, const struct value **ret_list) {
        struct str text = rule_annotation(r, CONDITIONS_ANNOTATION);
        struct err err;

        *ret_list = value_getc(r->status, "conditions");
        if (*ret_list || text.n == 0)
                return true;
        if (json_parse(text, r->a, ret_list, &err) == 0 && value_is(*ret_list, VALUE_LIST))
                return true;
        rule_say(r, HEALTH_UNKNOWN, "annotation " CONDITIONS_ANNOTATION " is no list in JSON");
        r->h->failure = ERR_INVAL;
        return false;
}

/* Since when the condition is what it is: never before the object was. */
static bool since(const struct rule *r, const struct value *condition, int64_t *ret_ms) {
        return rule_time(condition, "lastTransitionTime", ret_ms) ||
               rule_time(value_getc(r->object, "metadata"), "creationTimestamp", ret_ms);
}

/* Says what is wrong with that row of the table, if it holds. Degraded replaces Progressing, never the other way. */
static bool says_failure(const struct rule *r, const struct value *list, size_t row) {
        const struct value *c = rule_condition_in(list, failures[row].type);
        int64_t since_ms, until_ms = 0, before_ms = r->h->again_ms;

        if (!rule_condition_is(c, "False") || !str_eqc(rule_text(c, "reason"), failures[row].reason))
                return false;
        if (since(r, c, &since_ms) && r->q->now_ms - since_ms < failures[row].grace_ms)
                until_ms = since_ms + failures[row].grace_ms;
        rule_say_text(r, until_ms ? HEALTH_PROGRESSING : HEALTH_DEGRADED, rule_says(c, r->a));
        r->h->again_ms = before_ms > 0 && before_ms < until_ms ? before_ms : until_ms;
        return true;
}

/* Is anything wrong? Rows with less patience come first. */
static bool says_failures(const struct rule *r, const struct value *list) {
        bool said = false;

        for (size_t i = 0; i < ARRAY_LEN(failures) && r->h->code != HEALTH_DEGRADED; i++)
                said |= says_failure(r, list, i);
        return said;
}

void builtin_autoscaler(const struct rule *r) {
        const struct value *list, *able, *active;

        if (!read_conditions(r, &list) || says_failures(r, list))
                return;
        able = rule_condition_in(list, "AbleToScale");
        active = rule_condition_in(list, "ScalingActive");
        if (rule_condition_is(active, "False") && str_eqc(rule_text(active, "reason"), "ScalingDisabled"))
                rule_say(r, HEALTH_SUSPENDED, "its target is scaled to 0");
        else if (rule_condition_is(able, "True") ||
                 rule_condition_is(rule_condition_in(list, "ScalingLimited"), "True"))
                rule_say_only(r, HEALTH_HEALTHY);
        else if (able)
                rule_say_text(r, HEALTH_PROGRESSING, rule_says(able, r->a));
        else
                rule_say(r, HEALTH_PROGRESSING, "waiting for its first look at its target");
}
