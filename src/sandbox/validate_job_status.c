/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a Job: its counters, its ends and what belongs to them. Most rules hold only for a write that changes
 * what they are about.
 *
 * Source: ValidateJobUpdateStatus in pkg/apis/batch/validation, getStatusValidationOptions of the Job's strategy.
 */
#include "sandbox/validate_job.h"
#include "sandbox/validate_kinds.h"

/* A Job at one time. */
struct moment {
        const struct value *status;
        bool complete, failed, target, met; /* conditions: Complete, Failed, FailureTarget, SuccessCriteriaMet */
        bool finished;
};

static bool condition_is(const struct value *job, const char *type, const char *status) {
        const struct value *list = value_path(job, "status", "conditions", NULL);

        for (EACH(i, list))
                if (str_eqc(text_of(item_of(list, i), "type"), type) &&
                    str_eqc(text_of(item_of(list, i), "status"), status))
                        return true;
        return false;
}

static struct moment moment_of(const struct value *job) {
        struct moment m = { get(job, "status"),
                            condition_is(job, "Complete", "True"),
                            condition_is(job, "Failed", "True"),
                            condition_is(job, "FailureTarget", "True"),
                            condition_is(job, "SuccessCriteriaMet", "True"),
                            false };

        m.finished = m.complete || m.failed;
        return m;
}

static bool is_other(const struct moment *now, const struct moment *before, const char *field) {
        return !same(get(now->status, field), get(before->status, field));
}

static bool is_other_number(const struct moment *now, const struct moment *before, const char *field) {
        return int_of(now->status, field) != int_of(before->status, field);
}

/* Invalid, without showing the value. */
static void refuse(struct check *c, const char *why) {
        causes_add(c->out, "FieldValueInvalid", STR("status.conditions"), "Invalid value: %s", why);
}

/* ---- ends ---- */

static void check_complete(struct check *c, const struct moment *now, const struct moment *before) {
        bool ends = now->complete != before->complete;

        if ((ends || now->failed != before->failed) && now->complete && now->failed)
                refuse(c, "cannot set Complete=True and Failed=true conditions");
        if ((ends || now->target != before->target) && now->complete && now->target)
                refuse(c, "cannot set Complete=True and FailureTarget=true conditions");
}

static void check_completion_time(struct check *c, const struct moment *now, const struct moment *before) {
        const struct value *start = get(now->status, "startTime"), *end = get(now->status, "completionTime");
        const struct at *at = AT(AT(NULL, "status"), "completionTime");
        bool changed = is_other(now, before, "completionTime");

        if ((changed || now->complete != before->complete) && end && !now->complete)
                fault_invalid(c, at, end, "cannot set completionTime when there is no Complete=True condition");
        if ((changed || now->complete != before->complete) && !end && now->complete)
                fault_required(c, at, "completionTime is required for Complete jobs");
        /* RFC 3339 in UTC and seconds: the order of the texts is that of the times. */
        if ((changed || is_other(now, before, "startTime")) && start && end &&
            str_cmp(value_text(end), value_text(start)) < 0)
                fault_invalid(c, at, end, "must be equal to or after `startTime`");
}

static void check_reasons(struct check *c, const struct moment *now, const struct moment *before) {
        bool has_ended = now->failed != before->failed || is_other(now, before, "failedIndexes");

        if (has_ended && now->failed && !now->target)
                refuse(c, "cannot set Failed=True condition without the FailureTarget=true condition");
        if ((now->complete != before->complete || now->met != before->met) && now->complete && !now->met)
                refuse(c, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
}

static bool is_suspended_for_good(const struct value *job) {
        const struct value *spec = get(job, "spec");

        return truth_of(spec, "suspend") && get(spec, "completions") && int_of(spec, "completions") == 0;
}

static size_t uncounted_count(const struct moment *now) {
        const struct value *pods = get(now->status, "uncountedTerminatedPods");

        return count_of(pods, "failed") + count_of(pods, "succeeded");
}

static struct str list_text(const struct value *list, struct arena *a) {
        return list_count(list) ? value_canonical(a, list) : STR("null");
}

/* As the server's Go struct prints. */
static struct str uncounted_text(const struct value *pods, struct arena *a) {
        return arena_strf(a, "{\"Succeeded\":%.*s,\"Failed\":%.*s}", STR_FMT(list_text(get(pods, "succeeded"), a)),
                          STR_FMT(list_text(get(pods, "failed"), a)));
}

static void check_finished(struct check *c, const struct moment *now, const struct moment *before) {
        const struct at *at = AT(NULL, "status");
        bool ends = now->finished != before->finished;

        if (!now->finished)
                return;
        if ((ends || is_other_number(now, before, "active")) && int_of(now->status, "active") > 0)
                fault_invalid_int(c, AT(at, "active"), int_of(now->status, "active"),
                                  "active>0 is invalid for finished job");
        if ((ends || is_other(now, before, "startTime")) && !is_suspended_for_good(c->object) &&
            !get(now->status, "startTime"))
                fault_required(c, AT(at, "startTime"), "startTime is required for finished job");
        if ((ends || is_other(now, before, "uncountedTerminatedPods")) && uncounted_count(now))
                fault_invalid_raw(c, AT(at, "uncountedTerminatedPods"),
                                  uncounted_text(get(now->status, "uncountedTerminatedPods"), c->a),
                                  "must be empty for finished job");
}

/* ---- pods that wait to be counted ---- */

static void check_uncounted(struct check *c, const struct value *pods) {
        static const char *const lists[] = { "succeeded", "failed" };
        const struct value *seen = NULL;

        for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
                const struct value *list = get(pods, lists[k]);
                const struct at *at = AT_STR(AT(AT(NULL, "status"), "uncountedTerminatedPods"), str_from(lists[k]));

                for (EACH(i, list)) {
                        struct str uid = value_text(item_of(list, i));

                        if (!uid.n)
                                fault_invalid_str(c, AT_INDEX(at, i), uid, "must not be empty");
                        else if (value_get(seen, uid))
                                fault_duplicate_str(c, AT_INDEX(at, i), uid);
                        else
                                seen = value_with(c->a, seen, uid, &value_true);
                }
        }
}

/* ---- the whole ---- */

static void check_state(struct check *c, const struct moment *now, const struct moment *before) {
        static const char *const numbers[] = { "active", "succeeded", "failed", "ready", "terminating" };
        const struct at *at = AT(NULL, "status");
        int64_t terminating = int_of(now->status, "terminating"), ready = int_of(now->status, "ready");

        for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
                check_nonnegative_field(c, at, now->status, numbers[i]);
        check_uncounted(c, get(now->status, "uncountedTerminatedPods"));
        check_complete(c, now, before);
        check_completion_time(c, now, before);
        check_reasons(c, now, before);
        check_finished(c, now, before);
        check_job_indexes(c, now->status, before->status);
        if ((now->finished != before->finished || is_other(now, before, "terminating")) && terminating > 0 &&
            now->finished)
                fault_invalid_int(c, AT(at, "terminating"), terminating, "terminating>0 is invalid for finished job");
        if ((is_other(now, before, "ready") || is_other_number(now, before, "active")) &&
            ready > int_of(now->status, "active") && get(now->status, "ready"))
                fault_invalid_int(c, AT(at, "ready"), ready, "cannot set more ready pods than active");
        if (now->met && now->failed)
                refuse(c, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
        if (now->met && now->target)
                refuse(c, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
        if (get(get(c->object, "spec"), "successPolicy") && !now->met && now->complete)
                refuse(c, "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
}

/* An Indexed Job may be scaled down to fewer indexes than had succeeded. */
static bool may_shrink(struct check *c) {
        const struct value *spec = get(c->object, "spec");

        return str_eqc(text_of(spec, "completionMode"), "Indexed") &&
               same(get(spec, "completions"), get(spec, "parallelism"));
}

static void check_counter(struct check *c, const struct moment *now, const struct moment *before, const char *counter) {
        if (int_of(now->status, counter) < int_of(before->status, counter))
                fault_invalid_int(c, AT_STR(AT(NULL, "status"), str_from(counter)), int_of(now->status, counter),
                                  arena_strf(c->a, "cannot decrease the %s counter", counter).p);
}

static void check_no_way_back(struct check *c, const struct moment *now, const struct moment *before) {
        if (before->failed && !now->failed)
                refuse(c, "cannot disable the terminal Failed=True condition");
        if (before->complete && !now->complete)
                refuse(c, "cannot disable the terminal Complete=True condition");
        if (before->target && !now->target)
                refuse(c, "cannot disable the terminal FailureTarget=True condition");
        check_counter(c, now, before, "failed");
        if (!may_shrink(c))
                check_counter(c, now, before, "succeeded");
}

static bool is_resuming(const struct check *c) {
        return condition_is(c->live, "Suspended", "True") && condition_is(c->object, "Suspended", "False");
}

static void check_times(struct check *c, const struct moment *now, const struct moment *before) {
        const struct value *start = get(now->status, "startTime"), *old_start = get(before->status, "startTime");
        const struct value *end = get(now->status, "completionTime"), *old_end = get(before->status, "completionTime");
        const struct at *at = AT(NULL, "status");

        if (end && old_end && !same(end, old_end))
                fault_invalid(c, AT(at, "completionTime"), end, "field is immutable");
        if (old_start && !same(start, old_start) && !is_resuming(c) && !truth_of(get(c->object, "spec"), "suspend"))
                fault_invalid(c, AT(at, "startTime"), start ? start : &value_null,
                              "field is immutable for unsuspended job once set");
}

void check_job_status(struct check *c) {
        struct moment now = moment_of(c->object), before = moment_of(c->live);

        check_state(c, &now, &before);
        check_no_way_back(c, &now, &before);
        check_times(c, &now, &before);
        if (before.met && !now.met)
                refuse(c, "cannot disable the SuccessCriteriaMet=True condition");
        if (before.complete && !before.met && now.met)
                refuse(c, "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
}
