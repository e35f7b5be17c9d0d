/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: as many successful Pods as wanted, or the failure. Not here: podFailurePolicy, successPolicy, per-index limits.
 */
#include "sandbox/controllers_job.h"

#include "base/duration.h"

#define BACKOFF_MS     (10 * SECOND_MS)
#define BACKOFF_MAX_MS (600 * SECOND_MS)

/* How it ends. */
struct verdict {
        const char *target, *type; /* NULL: it goes on */
        const char *reason, *message;
};

static int64_t min(int64_t a, int64_t b) {
        return a < b ? a : b;
}

static bool is_finished(const struct job *j) {
        return condition_is(j->conditions, "Complete", "True") || condition_is(j->conditions, "Failed", "True");
}

static bool is_suspended(const struct job *j) {
        return value_truth(value_getc(j->spec, "suspend"), false);
}

static int64_t all_succeeded(const struct job *j) {
        return j->succeeded + (int64_t)j->new_succeeded;
}

static int64_t all_failed(const struct job *j) {
        return j->failed + (int64_t)j->new_failed;
}

/* ---- conditions ---- */

static void put(struct job *j, const char *type, const char *status, const char *reason, const char *message) {
        struct arena *a = j->l->a;
        const struct value *now = make_str(a, j->l->c->now), *old = condition_find(j->conditions, type);
        const struct value *c =
                make_map(a, "type", make_text(a, type), "status", make_text(a, status), "reason", make_text(a, reason),
                         "message", make_text(a, message), "lastProbeTime", now, "lastTransitionTime", now, NULL);
        struct value_list_builder b = { 0 };

        if (condition_is(j->conditions, type, status))
                return;
        for (size_t i = 0; value_is(j->conditions, VALUE_LIST) && i < j->conditions->list.count; i++)
                value_list_add(&b, j->conditions->list.items[i] == old ? c : j->conditions->list.items[i]);
        if (!old)
                value_list_add(&b, c);
        j->conditions = value_list_end(&b, a, 0);
}

/* ---- how it stands ---- */

static int64_t started_ms(const struct job *j) {
        return time_ms(value_path(j->v->value, "status", "startTime", NULL));
}

/* Looks again when the deadline comes. */
static bool is_overdue(const struct job *j) {
        int64_t deadline_s = int_or(value_getc(j->spec, "activeDeadlineSeconds"), 0);

        if (!deadline_s || is_suspended(j) || !started_ms(j))
                return false;
        int64_t left = started_ms(j) + duration_of_seconds(deadline_s) - look_wall_ms(j->l);
        if (left > 0)
                look_again(j->l, left);
        return left <= 0;
}

static bool has_enough(const struct job *j) {
        if (!value_getc(j->spec, "completions"))
                return all_succeeded(j) > 0 && j->active_count == 0;
        return all_succeeded(j) >= j->completions;
}

static struct verdict judge(const struct job *j) {
        const struct value *failure = condition_find(j->conditions, "FailureTarget");

        if (failure)
                return (struct verdict){ "FailureTarget", "Failed", value_text(value_getc(failure, "reason")).p,
                                         value_text(value_getc(failure, "message")).p };
        if (has_enough(j))
                return (struct verdict){ "SuccessCriteriaMet", "Complete", "CompletionsReached",
                                         "Reached expected number of succeeded pods" };
        if (all_failed(j) > int_or(value_getc(j->spec, "backoffLimit"), 6))
                return (struct verdict){ "FailureTarget", "Failed", "BackoffLimitExceeded",
                                         "Job has reached the specified backoff limit" };
        if (is_overdue(j))
                return (struct verdict){ "FailureTarget", "Failed", "DeadlineExceeded",
                                         "Job was active longer than specified deadline" };
        return (struct verdict){ 0 };
}

/* ---- telling ---- */

static const struct value *unless_zero(struct arena *a, int64_t n) {
        return n ? make_int(a, n) : NULL;
}

static const struct value *status_of(const struct job *j, bool is_counted) {
        const struct value *old = value_getc(j->v->value, "status"), *started = value_getc(old, "startTime");
        struct arena *a = j->l->a;
        const struct value *uncounted = make_map(a, "succeeded", is_counted ? NULL : j->succeeded_uids, "failed",
                                                 is_counted ? NULL : j->failed_uids, NULL);

        if (is_suspended(j) && !is_finished(j))
                started = NULL;
        else if (!started)
                started = make_str(a, j->l->c->now);
        return make_map(a, "startTime", started, "completionTime",
                        condition_is(j->conditions, "Complete", "True") && !value_getc(old, "completionTime")
                                ? make_str(a, j->l->c->now)
                                : value_getc(old, "completionTime"),
                        "conditions", j->conditions, "active", unless_zero(a, (int64_t)j->active_count), "ready",
                        make_int(a, j->ready), "terminating", make_int(a, j->terminating), "succeeded",
                        unless_zero(a, is_counted ? all_succeeded(j) : j->succeeded), "failed",
                        unless_zero(a, is_counted ? all_failed(j) : j->failed), "uncountedTerminatedPods", uncounted,
                        "completedIndexes", job_indexes(j), NULL);
}

static bool tell(struct job *j, bool is_counted) {
        if (!look_status(j->l, j->v, status_of(j, is_counted)))
                return false;
        j->v = look_find(j->l, RES_JOB, j->l->name);
        return j->v;
}

/* Two writes, as on a cluster: which ends are about to be counted, and then their count. */
static bool count_ends(struct job *j) {
        if (!j->new_succeeded && !j->new_failed)
                return job_free_ended(j);
        return tell(j, false) && job_free_ended(j);
}

/* ---- acting ---- */

static void tell_end(struct job *j, const struct verdict *verdict) {
        if (str_eqc(str_from(verdict->type), "Complete"))
                look_event(j->l, j->v->value, NORMAL, "Completed", "Job completed");
        else
                look_event(j->l, j->v->value, WARNING, verdict->reason, "%s", verdict->message);
}

static bool finish(struct job *j, const struct verdict *verdict) {
        bool ok = job_delete_active(j, 0, str_eqc(str_from(verdict->type), "Complete"));

        j->ready = 0;
        put(j, verdict->target, "True", verdict->reason, verdict->message);
        ok = count_ends(j) && ok;
        bool ends = j->terminating == 0;
        if (ends)
                put(j, verdict->type, "True", verdict->reason, verdict->message);
        ok = tell(j, true) && ok;
        if (ok && ends)
                tell_end(j, verdict);
        return ok;
}

/* Failed Pods are replaced after a pause that doubles. */
static bool is_backing_off(const struct job *j) {
        int64_t pause = BACKOFF_MS, failed = all_failed(j);

        if (failed == 0 || j->last_failure_ms == 0)
                return false;
        for (; failed > 1 && pause < BACKOFF_MAX_MS; failed--)
                pause *= 2;
        int64_t left = j->last_failure_ms + min(pause, BACKOFF_MAX_MS) - look_wall_ms(j->l);
        if (left > 0)
                look_again(j->l, left);
        return left > 0;
}

static bool go_on(struct job *j) {
        int64_t parallelism = int_or(value_getc(j->spec, "parallelism"), 1), wanted = parallelism;

        if (value_getc(j->spec, "completions"))
                wanted = min(parallelism, j->completions - all_succeeded(j));
        else if (all_succeeded(j) > 0)
                wanted = min(parallelism, (int64_t)j->active_count);
        if ((int64_t)j->active_count > wanted)
                return job_delete_active(j, (size_t)wanted, true);
        if ((int64_t)j->active_count == wanted || is_backing_off(j))
                return true;
        return job_make_pods(j, (size_t)wanted - j->active_count);
}

static bool suspend(struct job *j) {
        if (!condition_is(j->conditions, "Suspended", "True"))
                look_event(j->l, j->v->value, NORMAL, "Suspended", "Job suspended");
        put(j, "Suspended", "True", "JobSuspended", "Job suspended");
        bool ok = job_delete_active(j, 0, true);
        j->ready = 0;
        return ok;
}

static bool work(struct job *j) {
        struct verdict verdict = judge(j);
        bool ok;

        if (verdict.type)
                return finish(j, &verdict);
        ok = count_ends(j);
        if (is_suspended(j)) {
                ok = suspend(j) && ok;
        } else {
                if (condition_is(j->conditions, "Suspended", "True"))
                        look_event(j->l, j->v->value, NORMAL, "Resumed", "Job resumed");
                if (condition_find(j->conditions, "Suspended"))
                        put(j, "Suspended", "False", "JobResumed", "Job resumed");
                ok = go_on(j) && ok;
        }
        return tell(j, true) && ok;
}

/* ttlSecondsAfterFinished. */
static bool expire(struct job *j) {
        const struct value *ttl = value_getc(j->spec, "ttlSecondsAfterFinished");
        static const struct delete_options foreground = { .propagation = { "Foreground", 10 } };
        const struct value *end = condition_find(j->conditions, "Complete");

        if (!ttl)
                return true;
        if (!end)
                end = condition_find(j->conditions, "Failed");
        int64_t left = time_ms(value_getc(end, "lastTransitionTime")) + duration_of_seconds(int_or(ttl, 0)) - look_wall_ms(j->l);
        if (left > 0)
                look_again(j->l, left);
        return left > 0 || look_delete(j->l, RES_JOB, j->v, &foreground);
}

bool job_run(struct look *l, struct version *v) {
        struct job j = { .l = l, .v = v };
        struct str manager = value_text(value_path(v->value, "spec", "managedBy", NULL));

        if (manager.n && !str_eqc(manager, "kubernetes.io/job-controller"))
                return true;
        job_gather(&j);
        if (is_deleting(v->value))
                return job_free_ended(&j);
        if (is_finished(&j))
                return job_free_ended(&j) && expire(&j);
        return work(&j);
}
