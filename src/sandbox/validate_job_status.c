/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a Job: its counters, its ends and what belongs to them. A rule about an end holds only for a write that
 * brings it about; uncounted pods and indexes are not looked at.
 *
 * Source: ValidateJobUpdateStatus in pkg/apis/batch/validation, getStatusValidationOptions of the Job's strategy.
 */
#include "sandbox/validate_kinds.h"

static bool condition_is(const struct value *job, const char *type, const char *status) {
        const struct value *list = value_path(job, "status", "conditions", NULL);

        for (EACH(i, list))
                if (str_eqc(text_of(item_of(list, i), "type"), type))
                        return str_eqc(text_of(item_of(list, i), "status"), status);
        return false;
}

static bool has_condition(const struct value *job, const char *type) {
        return condition_is(job, type, "True");
}

static bool is_finished(const struct value *job) {
        return has_condition(job, "Complete") || has_condition(job, "Failed");
}

/* Invalid, without showing the value. */
static void refuse(struct check *c, const char *field, const char *why) {
        causes_add(c->out, "FieldValueInvalid", at_text(AT_STR(AT(NULL, "status"), str_from(field)), c->a),
                   "Invalid value: %s", why);
}

static void check_completion(struct check *c, const struct value *status) {
        bool complete = has_condition(c->object, "Complete");
        const struct at *at = AT(AT(NULL, "status"), "completionTime");

        if (get(status, "completionTime") && !complete)
                fault_invalid(c, at, get(status, "completionTime"),
                              "cannot set completionTime when there is no Complete=True condition");
        if (!get(status, "completionTime") && complete)
                fault_required(c, at, "completionTime is required for Complete jobs");
}

static void check_finish(struct check *c, const struct value *status) {
        const struct at *at = AT(NULL, "status");

        if (int_of(status, "active") > 0)
                fault_invalid_int(c, AT(at, "active"), int_of(status, "active"), "active>0 is invalid for finished job");
        if (!get(status, "startTime"))
                fault_required(c, AT(at, "startTime"), "startTime is required for finished job");
}

static void check_ends(struct check *c, const struct value *status) {
        bool complete = has_condition(c->object, "Complete"), was_complete = has_condition(c->live, "Complete");
        bool failed = has_condition(c->object, "Failed"), was_failed = has_condition(c->live, "Failed");
        bool succeeds = has_condition(c->object, "SuccessCriteriaMet"), fails = has_condition(c->object, "FailureTarget");

        if (complete != was_complete && complete && failed)
                refuse(c, "conditions", "cannot set Complete=True and Failed=true conditions");
        if (complete != was_complete && complete && fails)
                refuse(c, "conditions", "cannot set Complete=True and FailureTarget=true conditions");
        if (complete != was_complete || get(status, "completionTime"))
                check_completion(c, status);
        if (failed && !was_failed && !fails)
                refuse(c, "conditions", "cannot set Failed=True condition without the FailureTarget=true condition");
        if (complete && !was_complete && !succeeds)
                refuse(c, "conditions", "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
        if (is_finished(c->object) && !is_finished(c->live))
                check_finish(c, status);
        if (succeeds && failed)
                refuse(c, "conditions", "cannot set SuccessCriteriaMet=True and Failed=true conditions");
        if (succeeds && fails)
                refuse(c, "conditions", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
}

/* An Indexed Job may be scaled down to fewer indexes than had succeeded. */
static bool may_shrink(struct check *c, const char *counter) {
        const struct value *spec = get(c->object, "spec");

        return strcmp(counter, "succeeded") == 0 && str_eqc(text_of(spec, "completionMode"), "Indexed") &&
               same(get(spec, "completions"), get(spec, "parallelism"));
}

static void check_no_way_back(struct check *c, const struct value *status) {
        static const char *const terminal[] = { "Failed", "Complete", "FailureTarget" };
        static const char *const counters[] = { "failed", "succeeded" };
        const struct value *before = get(c->live, "status");

        for (size_t i = 0; i < sizeof terminal / sizeof *terminal; i++)
                if (has_condition(c->live, terminal[i]) && !has_condition(c->object, terminal[i]))
                        refuse(c, "conditions",
                               arena_strf(c->a, "cannot disable the terminal %s=True condition", terminal[i]).p);
        for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
                if (int_of(status, counters[i]) < int_of(before, counters[i]) && !may_shrink(c, counters[i]))
                        fault_invalid_int(c, AT_STR(AT(NULL, "status"), str_from(counters[i])), int_of(status, counters[i]),
                                          arena_strf(c->a, "cannot decrease the %s counter", counters[i]).p);
}

static bool is_resuming(const struct check *c) {
        return has_condition(c->live, "Suspended") && condition_is(c->object, "Suspended", "False");
}

static void check_times(struct check *c, const struct value *status) {
        const struct value *before = get(c->live, "status"), *start = get(status, "startTime");
        const struct value *end = get(status, "completionTime"), *old_end = get(before, "completionTime");
        const struct at *at = AT(NULL, "status");

        if (end && old_end && !same(end, old_end))
                fault_invalid(c, AT(at, "completionTime"), end, "field is immutable");
        if (get(before, "startTime") && !same(start, get(before, "startTime")) && !is_resuming(c) &&
            !truth_of(get(c->object, "spec"), "suspend"))
                fault_invalid(c, AT(at, "startTime"), start ? start : &value_null,
                              "field is immutable for unsuspended job once set");
}

void check_job_status(struct check *c) {
        static const char *const numbers[] = { "active", "succeeded", "failed", "ready", "terminating" };
        const struct value *status = get(c->object, "status");

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                check_nonnegative_field(c, AT(NULL, "status"), status, numbers[i]);
        check_ends(c, status);
        check_no_way_back(c, status);
        check_times(c, status);
}
