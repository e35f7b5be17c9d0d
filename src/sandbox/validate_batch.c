/* SPDX-License-Identifier: Apache-2.0 */
/* Job and CronJob. */
#include "sandbox/go_struct.h"
#include "sandbox/validate_cron.h"
#include "sandbox/validate_job.h"
#include "sandbox/validate_kinds.h"

#include <string.h>

#define MANY                 100000 /* indexes */
#define MANAGED_BY_MAX_BYTES 63

static bool is_indexed(const struct value *spec) {
        return str_eqc(text_of(spec, "completionMode"), "Indexed");
}

/* --- failure and success policies --- */

static bool has_container(const struct value *template, struct str name) {
        static const char *const lists[] = { "containers", "initContainers" };

        for (size_t i = 0; i < 2; i++) {
                const struct value *containers = get(get(template, "spec"), lists[i]);

                for (EACH(j, containers))
                        if (str_eq(text_of(item_of(containers, j), "name"), name))
                                return true;
        }
        return false;
}

static void check_exit_values(struct check *c, const struct at *at, const struct value *values, bool is_in) {
        bool ordered = true;
        int64_t before = INT64_MIN, n = 0;

        if (!list_count(values))
                fault_invalid(c, at, values ? values : &value_null, "at least one value is required");
        else if (list_count(values) > 255)
                fault_too_many(c, at, list_count(values), 255);
        for (EACH(i, values)) {
                bool seen = false;

                value_to_i64(item_of(values, i), &n);
                if (is_in && n == 0)
                        fault_invalid_int(c, AT_INDEX(at, i), n, "must not be 0 for the In operator");
                for (size_t j = 0; j < i; j++)
                        seen = seen || same(item_of(values, j), item_of(values, i));
                if (seen)
                        fault_duplicate(c, AT_INDEX(at, i), item_of(values, i));
                ordered = ordered && n >= before;
                before = n;
        }
        if (!ordered)
                fault_invalid(c, at, values, "must be ordered");
}

static void check_exit_codes(struct check *c, const struct at *at, const struct value *codes,
                             const struct value *spec) {
        struct str operator= text_of(codes, "operator");
        const struct value *container = get(codes, "containerName");

        if (!operator.n)
                fault_required(c, AT(at, "operator"), "valid values: [\"In\" \"NotIn\"]");
        else if (!str_eqc(operator, "In") && !str_eqc(operator, "NotIn"))
                fault_unsupported(c, AT(at, "operator"), operator, "\"In\", \"NotIn\"");
        if (container && !has_container(get(spec, "template"), value_text(container)))
                fault_invalid(c, AT(at, "containerName"), container,
                              "must be one of the container or initContainer names in the pod template");
        check_exit_values(c, AT(at, "values"), get(codes, "values"), str_eqc(operator, "In"));
}

static void check_pod_conditions(struct check *c, const struct at *above, const struct value *patterns) {
        static const char *const states[] = { "False", "True", "Unknown", NULL };

        for (EACH(i, patterns)) {
                const struct at *at = AT_INDEX(above, i);
                struct str status = text_of(item_of(patterns, i), "status");

                check_text(c, AT(at, "type"), TEXT_LABEL_KEY, text_of(item_of(patterns, i), "type"));
                if (!status.n)
                        fault_required(c, AT(at, "status"), "valid values: [\"False\" \"True\" \"Unknown\"]");
                else if (!is_one_of(status, states))
                        fault_unsupported(c, AT(at, "status"), status, "\"False\", \"True\", \"Unknown\"");
        }
}

static void check_failure_rule(struct check *c, const struct at *at, const struct value *rule,
                               const struct value *spec) {
        static const char *const actions[] = { "Count", "FailIndex", "FailJob", "Ignore", NULL };
        struct str action = text_of(rule, "action");
        bool codes = get(rule, "onExitCodes") != NULL, conditions = count_of(rule, "onPodConditions") > 0;

        if (!action.n)
                fault_required(c, AT(at, "action"), "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
        else if (!is_one_of(action, actions))
                fault_unsupported(c, AT(at, "action"), action, "\"Count\", \"FailIndex\", \"FailJob\", \"Ignore\"");
        else if (str_eqc(action, "FailIndex") && !get(spec, "backoffLimitPerIndex"))
                fault_invalid_str(c, AT(at, "action"), action, "requires the backoffLimitPerIndex to be set");
        if (codes)
                check_exit_codes(c, AT(at, "onExitCodes"), get(rule, "onExitCodes"), spec);
        check_pod_conditions(c, AT(at, "onPodConditions"), get(rule, "onPodConditions"));
        if (codes == conditions)
                fault_invalid_raw(c, at, STR(""),
                                  codes ? "specifying both OnExitCodes and OnPodConditions is not supported"
                                        : "specifying one of OnExitCodes and OnPodConditions is required");
}

static void check_failure_policy(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *rules = value_path(spec, "podFailurePolicy", "rules", NULL);

        if (list_count(rules) > 20)
                fault_too_many(c, AT(at, "rules"), list_count(rules), 20);
        for (EACH(i, rules))
                check_failure_rule(c, AT_INDEX(AT(at, "rules"), i), item_of(rules, i), spec);
}

/* --- the spec --- */

/* Above so many completions with a limit for each index, others must be lower. */
static void check_many(struct check *c, const struct at *at, const struct value *spec, bool has_failed) {
        static const char *const fields[] = { "parallelism", "maxFailedIndexes" };

        if (!has_failed)
                fault_required(c, AT(at, "maxFailedIndexes"), "must be specified when completions is above 100000");
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                if (int_of(spec, fields[i]) > 10000)
                        fault_invalid_int(
                                c, AT_STR(at, str_from(fields[i])), int_of(spec, fields[i]),
                                "must be less than or equal to 10000 when completions are above 100000 and used "
                                "with backoff limit per index");
}

static void check_indexed(struct check *c, const struct at *at, const struct value *spec) {
        int64_t completions = 0, failed = 0;
        bool has_completions = value_to_i64(get(spec, "completions"), &completions);
        bool has_failed = value_to_i64(get(spec, "maxFailedIndexes"), &failed);

        if (!has_completions)
                fault_required(c, AT(at, "completions"), "when completion mode is Indexed");
        if (int_of(spec, "parallelism") > MANY)
                fault_invalid_int(c, AT(at, "parallelism"), int_of(spec, "parallelism"),
                                  "must be less than or equal to 100000 when completion mode is Indexed");
        if (has_completions && has_failed && failed > completions)
                fault_invalid_int(c, AT(at, "maxFailedIndexes"), failed, "must be less than or equal to completions");
        if (failed > MANY)
                fault_invalid_int(c, AT(at, "maxFailedIndexes"), failed, "must be less than or equal to 100000");
        if (completions > MANY && get(spec, "backoffLimitPerIndex"))
                check_many(c, at, spec, has_failed);
}

static void check_mode(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const only_indexed[] = { "backoffLimitPerIndex", "maxFailedIndexes" };
        const struct value *mode = get(spec, "completionMode");

        if (mode && !is_indexed(spec) && !str_eqc(value_text(mode), "NonIndexed"))
                fault_unsupported(c, AT(at, "completionMode"), value_text(mode), "\"NonIndexed\", \"Indexed\"");
        if (is_indexed(spec))
                check_indexed(c, at, spec);
        for (size_t i = 0; i < 2; i++)
                if ((!mode || str_eqc(value_text(mode), "NonIndexed")) && get(spec, only_indexed[i]))
                        fault_invalid(c, AT_STR(at, str_from(only_indexed[i])), get(spec, only_indexed[i]),
                                      "requires indexed completion mode");
}

static void check_replacement(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *policy = get(spec, "podReplacementPolicy");
        struct str s = value_text(policy);

        if (!policy || str_eqc(s, "Failed"))
                return;
        if (get(spec, "podFailurePolicy"))
                fault_unsupported(c, at, s, "\"Failed\"");
        else if (!str_eqc(s, "TerminatingOrFailed"))
                fault_unsupported(c, at, s, "\"Failed\", \"TerminatingOrFailed\"");
}

static void check_job_restart(struct check *c, const struct at *at, const struct value *spec) {
        struct str policy = text_of(value_path(spec, "template", "spec", NULL), "restartPolicy");

        if (!policy.n || str_eqc(policy, "Always"))
                fault_required(c, at, "valid values: \"OnFailure\", \"Never\"");
        else if (!str_eqc(policy, "OnFailure") && !str_eqc(policy, "Never"))
                fault_unsupported(c, at, policy, "\"OnFailure\", \"Never\"");
        else if (get(spec, "podFailurePolicy") && !str_eqc(policy, "Never"))
                fault_invalid_str(c, at, policy, "only \"Never\" is supported when podFailurePolicy is specified");
}

static void check_managed_by(struct check *c, const struct at *at, const struct value *name) {
        if (!name)
                return;
        check_prefixed_path(c, at, name->text);
        if (name->text.n > MANAGED_BY_MAX_BYTES)
                fault_too_long(c, at, MANAGED_BY_MAX_BYTES);
}

static void check_job_spec(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const numbers[] = { "parallelism",
                                               "completions",
                                               "activeDeadlineSeconds",
                                               "backoffLimit",
                                               "ttlSecondsAfterFinished",
                                               "backoffLimitPerIndex",
                                               "maxFailedIndexes" };

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                check_nonnegative_field(c, at, spec, numbers[i]);
        if (get(spec, "maxFailedIndexes") && !get(spec, "backoffLimitPerIndex"))
                fault_required(c, AT(at, "backoffLimitPerIndex"), "when maxFailedIndexes is specified");
        check_managed_by(c, AT(at, "managedBy"), get(spec, "managedBy"));
        check_mode(c, at, spec);
        if (get(spec, "podFailurePolicy"))
                check_failure_policy(c, AT(at, "podFailurePolicy"), spec);
        check_success_policy(c, AT(at, "successPolicy"), spec);
        check_replacement(c, AT(at, "podReplacementPolicy"), spec);
        check_pod_template(c, AT(at, "template"), get(spec, "template"));
        check_job_restart(c, AT(AT(AT(at, "template"), "spec"), "restartPolicy"), spec);
}

/* --- Job --- */

static void check_has_label(struct check *c, const struct value *labels, const char *key, struct str expected) {
        const struct at *at = AT_KEY(AT(AT(AT(AT(NULL, "spec"), "template"), "metadata"), "labels"), str_from(key));
        const struct value *actual = value_getc(labels, key);

        if (!actual)
                fault_required(c, at, arena_strf(c->a, "must be '%.*s'", STR_FMT(expected)).p);
        else if (!str_eq(value_text(actual), expected))
                fault_invalid(c, AT(AT(AT(AT(NULL, "spec"), "template"), "metadata"), "labels"),
                              value_path(c->object, "spec", "template", "metadata", "labels", NULL),
                              arena_strf(c->a, "must be '%.*s'", STR_FMT(expected)).p);
}

/* The labels and the selector that the server gives a Job itself. */
static void check_generated(struct check *c, const struct value *spec) {
        const struct value *labels = value_path(spec, "template", "metadata", "labels", NULL);
        const struct value *meta = get(c->object, "metadata"), *selector = get(spec, "selector"), *expected = NULL;
        static const char *const uids[] = { "controller-uid", "batch.kubernetes.io/controller-uid" };
        static const char *const names[] = { "job-name", "batch.kubernetes.io/job-name" };

        if (truth_of(spec, "manualSelector") || !selector)
                return;
        for (size_t i = 0; i < 2; i++) {
                check_has_label(c, labels, uids[i], text_of(meta, "uid"));
                check_has_label(c, labels, names[i], text_of(meta, "name"));
                expected = value_with(c->a, expected, str_from(uids[i]), get(meta, "uid"));
                expected = value_with(c->a, expected, str_from(names[i]), get(meta, "name"));
        }
        if (selector_is_usable(selector) && !selector_matches(selector, expected))
                fault_invalid_raw(c, AT(AT(NULL, "spec"), "selector"), selector_json(selector, c->a),
                                  "`selector` not auto-generated");
}

static void check_job_selector(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *selector = get(spec, "selector");
        const struct value *labels = value_path(spec, "template", "metadata", "labels", NULL);

        if (!selector)
                fault_required(c, AT(at, "selector"), "");
        else
                check_selector(c, AT(at, "selector"), selector);
        if ((!selector || selector_is_usable(selector)) && !selector_matches(selector, labels))
                fault_invalid(c, AT(AT(AT(at, "template"), "metadata"), "labels"), labels,
                              "`selector` does not match template `labels`");
}

/* What a suspended Job without Pods may change in its template. */
static const struct value *with_free_parts(struct check *c, const struct value *old, const struct value *now) {
        static const char *const spec_fields[] = { "nodeSelector", "tolerations", "schedulingGates" };
        const struct value *spec = get(old, "spec"), *now_spec = get(now, "spec");
        const struct value *affinity = value_with(c->a, get(spec, "affinity"), STR("nodeAffinity"),
                                                  value_path(now_spec, "affinity", "nodeAffinity", NULL));

        for (size_t i = 0; i < 3; i++)
                spec = value_with(c->a, spec, str_from(spec_fields[i]), get(now_spec, spec_fields[i]));
        spec = value_with(c->a, spec, STR("affinity"), value_count(affinity) ? affinity : NULL);
        old = value_with(c->a, old, STR("metadata"), get(now, "metadata"));
        return value_with(c->a, old, STR("spec"), spec);
}

/* Resources of containers may change, too, as long as their number and names stay. */
static const struct value *with_resources(struct check *c, const struct value *old, const struct value *now) {
        static const char *const lists[] = { "containers", "initContainers" };

        for (size_t i = 0; i < 2; i++) {
                const struct value *before = get(old, lists[i]), *after = get(now, lists[i]);
                struct value_list_builder b = { 0 };

                if (list_count(before) != list_count(after))
                        continue;
                for (EACH(j, before)) {
                        const struct value *one = item_of(before, j);

                        if (same(get(one, "name"), get(item_of(after, j), "name")))
                                one = value_with(c->a, one, STR("resources"), get(item_of(after, j), "resources"));
                        value_list_add(&b, one);
                }
                old = value_with(c->a, old, str_from(lists[i]), value_list_end(&b, c->a, 0));
        }
        return old;
}

static bool is_suspended(const struct value *job) {
        const struct value *list = value_path(job, "status", "conditions", NULL);

        for (EACH(i, list))
                if (str_eqc(text_of(item_of(list, i), "type"), "Suspended"))
                        return str_eqc(text_of(item_of(list, i), "status"), "True");
        return false;
}

/* Of structs behind pointers: an empty one is not an absent one. */
static bool same_pointer(const struct value *a, const struct value *b) {
        return !a == !b && same_semantically(a, b);
}

static bool same_template(struct check *c, const struct value *a, const struct value *b) {
        return same_semantically(get(a, "metadata"), get(b, "metadata")) &&
               go_struct_same("core.PodSpec", get(a, "spec"), get(b, "spec"), c->a);
}

static void check_job_update(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const fixed[] = { "backoffLimitPerIndex", "managedBy" };
        const struct value *before = get(c->live, "spec"), *old_template = get(before, "template");
        bool rests = truth_of(before, "suspend") && int_of(get(c->live, "status"), "active") == 0 &&
                     (!value_path(c->live, "status", "startTime", NULL) || is_suspended(c->live));

        if (!is_indexed(spec))
                check_immutable(c, AT(at, "completions"), get(spec, "completions"), get(before, "completions"));
        else if (!same(get(spec, "completions"), get(before, "completions")) && get(spec, "completions") &&
                 !same(get(spec, "completions"), get(spec, "parallelism")))
                fault_invalid(c, AT(at, "completions"), get(spec, "completions"),
                              "can only be modified in tandem with spec.parallelism");
        if (!same_semantically(get(spec, "selector"), get(before, "selector")))
                fault_invalid_raw(c, AT(at, "selector"), selector_json(get(spec, "selector"), c->a),
                                  "field is immutable");
        if (rests) {
                const struct value *pod = value_path(spec, "template", "spec", NULL);

                old_template = with_free_parts(c, old_template, get(spec, "template"));
                if (!go_struct_same("core.PodSpec", pod, with_resources(c, get(old_template, "spec"), pod), c->a))
                        fault_invalid_raw(c, AT(at, "template.spec"), go_struct_json("core.PodSpec", pod, c->a),
                                          "field is immutable");
        } else if (!same_template(c, get(spec, "template"), old_template))
                fault_invalid_raw(c, AT(at, "template"), go_template_text(get(spec, "template"), c->a),
                                  "field is immutable");
        check_immutable(c, AT(at, "completionMode"), get(spec, "completionMode"), get(before, "completionMode"));
        if (!same_pointer(get(spec, "podFailurePolicy"), get(before, "podFailurePolicy")))
                fault_invalid_raw(c, AT(at, "podFailurePolicy"),
                                  go_failure_policy_text(get(spec, "podFailurePolicy"), c->a), "field is immutable");
        for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
                check_immutable(c, AT_STR(at, str_from(fixed[i])), get(spec, fixed[i]), get(before, fixed[i]));
        if (!same_pointer(get(spec, "successPolicy"), get(before, "successPolicy")))
                fault_invalid_raw(c, AT(at, "successPolicy"), success_policy_text(get(spec, "successPolicy"), c->a),
                                  "field is immutable");
}

static void check_indexed_name(struct check *c, const struct value *spec) {
        struct str name = text_of(get(c->object, "metadata"), "name"), host;
        int64_t completions = int_of(spec, "completions");

        if (!is_indexed(spec) || completions <= 0)
                return;
        host = arena_strf(c->a, "%.*s-%lld", STR_FMT(name), (long long)completions - 1);
        if (!text_keeps(TEXT_DNS_LABEL, host))
                fault_invalid_str(
                        c, AT(AT(NULL, "metadata"), "name"), name,
                        arena_strf(c->a, "will not able to create pod with invalid DNS label: %.*s", STR_FMT(host)).p);
}

void check_job(struct check *c) {
        const struct value *spec = get(c->object, "spec");
        const struct at *at = AT(NULL, "spec");

        if (!c->live)
                check_generated(c, spec);
        check_job_spec(c, at, spec);
        check_job_selector(c, at, spec);
        if (c->live)
                check_job_update(c, at, spec);
        check_indexed_name(c, spec);
}

/* --- CronJob --- */

static void check_schedule(struct check *c, const struct at *at, struct str schedule) {
        struct str before = text_of(get(c->live, "spec"), "schedule"), fault;
        bool zone = str_contains(schedule, STR("TZ")), had_zone = str_contains(before, STR("TZ"));

        if (!schedule.n) {
                late_required(c, at);
                return;
        }
        fault = cron_fault(schedule, c->a);
        if (fault.n)
                fault_invalid_str(c, at, schedule, fault.p);
        if (zone && !had_zone)
                fault_invalid_str(c, at, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
        else if (zone && get(get(c->object, "spec"), "timeZone"))
                fault_invalid_str(c, at, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
}

static void check_time_zone(struct check *c, const struct at *at, const struct value *zone) {
        struct str rest = value_text(zone), part;

        if (!zone || same(zone, value_path(c->live, "spec", "timeZone", NULL)))
                return;
        if (!rest.n) {
                fault_invalid_str(c, at, rest, "timeZone must be nil or non-empty string");
                return;
        }
        while (str_next(&rest, '/', &part))
                if (!part.n || part.n > 14 || part.p[0] == '-' || !text_keeps(TEXT_LABEL_KEY, part)) {
                        fault_invalid(c, at, zone,
                                      arena_strf(c->a, "unknown time zone %.*s", STR_FMT(value_text(zone))).p);
                        return;
                }
        if (!cron_zone_exists(value_text(zone)))
                fault_invalid(c, at, zone, arena_strf(c->a, "unknown time zone %.*s", STR_FMT(value_text(zone))).p);
}

void check_cron_job(struct check *c) {
        static const char *const policies[] = { "Allow", "Forbid", "Replace", NULL };
        const struct value *spec = get(c->object, "spec"), *job = value_path(spec, "jobTemplate", "spec", NULL);
        const struct at *at = AT(NULL, "spec"), *job_at = AT(AT(at, "jobTemplate"), "spec");
        struct str policy = text_of(spec, "concurrencyPolicy");

        check_schedule(c, AT(at, "schedule"), text_of(spec, "schedule"));
        check_nonnegative_field(c, at, spec, "startingDeadlineSeconds");
        check_time_zone(c, AT(at, "timeZone"), get(spec, "timeZone"));
        if (!policy.n)
                fault_required(c, AT(at, "concurrencyPolicy"), "");
        else if (!is_one_of(policy, policies))
                fault_unsupported(c, AT(at, "concurrencyPolicy"), policy, "\"Allow\", \"Forbid\", \"Replace\"");
        check_job_spec(c, job_at, job);
        if (get(job, "selector"))
                fault_invalid_raw(c, AT(job_at, "selector"), selector_json(get(job, "selector"), c->a),
                                  "`selector` will be auto-generated");
        if (truth_of(job, "manualSelector"))
                fault_unsupported_raw(c, AT(job_at, "manualSelector"), STR("true"), "\"nil\", \"false\"");
        check_nonnegative_field(c, at, spec, "successfulJobsHistoryLimit");
        check_nonnegative_field(c, at, spec, "failedJobsHistoryLimit");
        if (!c->live && text_of(get(c->object, "metadata"), "name").n > 52)
                fault_invalid(c, AT(AT(NULL, "metadata"), "name"), get(get(c->object, "metadata"), "name"),
                              "must be no more than 52 characters");
}
