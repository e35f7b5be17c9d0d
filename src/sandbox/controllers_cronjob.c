/* SPDX-License-Identifier: Apache-2.0 */
/* CronJobs: a Job at each due time, and as many finished ones kept as wanted. Time zones other than UTC are not known.
 */
#include <inttypes.h>

#include "base/duration.h"
#include "sandbox/controllers_impl.h"
#include "sandbox/controllers_schedule.h"

#define MINUTE_MS       (60 * SECOND_MS)
#define TIME_ANNOTATION "batch.kubernetes.io/cronjob-scheduled-timestamp"

struct cron {
        struct look *l;
        struct version *v;
        const struct value *spec;
        struct version **jobs;
        size_t job_count;
        const struct value *active; /* references, or NULL */
        size_t active_count;
        const struct value *last_time, *last_success;
};

static bool is_finished(const struct version *job, const char *type) {
        return condition_is(value_path(job->value, "status", "conditions", NULL), type, "True");
}

static const struct value *reference(struct arena *a, const struct version *job) {
        const struct value *o = job->value;

        return make_map(a, "apiVersion", make_text(a, "batch/v1"), "kind", make_text(a, "Job"), "namespace",
                        value_path(o, "metadata", "namespace", NULL), "name", value_path(o, "metadata", "name", NULL),
                        "uid", value_path(o, "metadata", "uid", NULL), "resourceVersion",
                        value_path(o, "metadata", "resourceVersion", NULL), NULL);
}

/* The old reference stays as it is: its resourceVersion is that of the Job's creation. */
static void note_active(struct cron *k, const struct version *job) {
        const struct value *old = value_path(k->v->value, "status", "active", NULL), *found = NULL;

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                if (value_equal(value_getc(old->list.items[i], "uid"), value_path(job->value, "metadata", "uid", NULL)))
                        found = old->list.items[i];
        k->active = items_with(k->l->a, k->active, found ? found : reference(k->l->a, job));
        k->active_count++;
}

static bool was_active(const struct cron *k, const struct version *job) {
        const struct value *list = value_path(k->v->value, "status", "active", NULL);
        struct str uid = meta_text(job->value, "uid");

        for (size_t i = 0; i < value_count(list); i++)
                if (str_eq(value_text(value_getc(list->list.items[i], "uid")), uid))
                        return true;
        return false;
}

static void gather(struct cron *k) {
        const struct value *status = value_getc(k->v->value, "status");

        k->last_time = value_getc(status, "lastScheduleTime");
        k->last_success = value_getc(status, "lastSuccessfulTime");
        k->job_count = look_owned(k->l, RES_JOB, meta_text(k->v->value, "uid"), &k->jobs);
        for (size_t i = 0; i < k->job_count; i++) {
                const struct value *end = value_path(k->jobs[i]->value, "status", "completionTime", NULL);

                if (!is_finished(k->jobs[i], "Complete") && !is_finished(k->jobs[i], "Failed"))
                        note_active(k, k->jobs[i]);
                else if (was_active(k, k->jobs[i]))
                        look_event(k->l, k->v->value, NORMAL, "SawCompletedJob", "Saw completed job: %.*s, condition: %s",
                                   STR_FMT(k->jobs[i]->name),
                                   is_finished(k->jobs[i], "Complete") ? "Complete" : "Failed");
                if (is_finished(k->jobs[i], "Complete") && time_ms(end) > time_ms(k->last_success))
                        k->last_success = end;
        }
}

/* ---- history ---- */

static int by_start(const void *left, const void *right) {
        const struct value *a = (*(struct version *const *)left)->value, *b = (*(struct version *const *)right)->value;
        int64_t at = time_ms(value_path(a, "status", "startTime", NULL));
        int64_t bt = time_ms(value_path(b, "status", "startTime", NULL));

        return at != bt ? (at < bt ? -1 : 1) : str_cmp(meta_text(a, "name"), meta_text(b, "name"));
}

static bool delete_job(struct cron *k, struct version *job) {
        struct str name = arena_str(k->l->a, job->name);

        if (!look_delete(k->l, RES_JOB, job, NULL))
                return false;
        look_event(k->l, k->v->value, NORMAL, "SuccessfulDelete", "Deleted job %.*s", STR_FMT(name));
        return true;
}

static bool trim(struct cron *k, const char *type, const char *limit, int64_t otherwise) {
        struct version **list = arena_alloc(k->l->a, k->job_count * sizeof *list);
        int64_t keep = int_or(value_getc(k->spec, limit), otherwise);
        size_t n = 0;
        bool ok = true;

        for (size_t i = 0; i < k->job_count; i++)
                if (is_finished(k->jobs[i], type) && !is_deleting(k->jobs[i]->value))
                        list[n++] = k->jobs[i];
        qsort(list, n, sizeof *list, by_start);
        for (size_t i = 0; (int64_t)i < (int64_t)n - keep; i++)
                ok &= delete_job(k, list[i]);
        return ok;
}

/* ---- due times ---- */

/* The last due time that has passed since the last run; 0: none. Looks again at the next one. */
static int64_t due_ms(const struct cron *k, const struct schedule *schedule) {
        int64_t now = look_wall_ms(k->l), last = time_ms(k->last_time), due = 0;
        int64_t late_s = int_or(value_getc(k->spec, "startingDeadlineSeconds"), -1);

        if (!last)
                last = time_ms(value_path(k->v->value, "metadata", "creationTimestamp", NULL));
        if (late_s >= 0 && last < now - duration_of_seconds(late_s))
                last = now - duration_of_seconds(late_s);
        /* After a long pause it is enough to look at the end of it. */
        if (last < now - 24 * 60 * MINUTE_MS && schedule_next(schedule, now - 24 * 60 * MINUTE_MS) <= now)
                last = now - 24 * 60 * MINUTE_MS;
        int64_t next = schedule_next(schedule, last);
        for (; next >= 0 && next <= now; next = schedule_next(schedule, next))
                due = next;
        if (next >= 0)
                look_again(k->l, next - now);
        return due;
}

static bool make_job(struct cron *k, int64_t due) {
        struct arena *a = k->l->a;
        const struct value *template = value_getc(k->spec, "jobTemplate");
        struct str name = arena_strf(a, "%.*s-%" PRId64, STR_FMT(k->v->name), due / MINUTE_MS);
        const struct value *job =
                make_map(a, "metadata",
                         make_map(a, "name", make_str(a, name), "labels",
                                  value_path(template, "metadata", "labels", NULL), "annotations",
                                  value_with(a, value_path(template, "metadata", "annotations", NULL),
                                             STR(TIME_ANNOTATION), make_str(a, rfc3339(due, a))),
                                  "ownerReferences", make_list(a, owner_reference(a, RES_CRONJOB, k->v->value)), NULL),
                         "spec", value_getc(template, "spec"), NULL);

        if (look_find(k->l, RES_JOB, name))
                return true;
        if (!look_create(k->l, RES_JOB, job, NULL)) {
                look_event(k->l, k->v->value, WARNING, "FailedCreate", "Error creating job: %.*s",
                           STR_FMT(look_why(k->l)));
                return false;
        }
        look_event(k->l, k->v->value, NORMAL, "SuccessfulCreate", "Created job %.*s", STR_FMT(name));
        note_active(k, look_find(k->l, RES_JOB, name));
        return true;
}

static bool stop_active(struct cron *k) {
        bool ok = true;

        for (size_t i = 0; i < k->job_count; i++)
                if (!is_finished(k->jobs[i], "Complete") && !is_finished(k->jobs[i], "Failed"))
                        ok &= delete_job(k, k->jobs[i]);
        k->active = NULL;
        k->active_count = 0;
        return ok;
}

static bool start(struct cron *k) {
        struct str policy = value_text(value_getc(k->spec, "concurrencyPolicy"));
        struct schedule schedule;

        if (value_truth(value_getc(k->spec, "suspend"), false) ||
            !schedule_parse(value_text(value_getc(k->spec, "schedule")), &schedule))
                return true;
        int64_t due = due_ms(k, &schedule);
        if (!due)
                return true;
        if (str_eqc(policy, "Forbid") && k->active_count) {
                look_event(k->l, k->v->value, NORMAL, "JobAlreadyActive",
                           "Not starting job because prior execution is running and concurrency policy is Forbid");
                return true;
        }
        if (str_eqc(policy, "Replace") && !stop_active(k))
                return false;
        if (!make_job(k, due))
                return false;
        k->last_time = make_str(k->l->a, rfc3339(due, k->l->a));
        return true;
}

bool cronjob_run(struct look *l, struct version *v) {
        struct cron k = { .l = l, .v = v, .spec = value_getc(v->value, "spec") };

        if (is_deleting(v->value))
                return true;
        gather(&k);
        bool ok = trim(&k, "Complete", "successfulJobsHistoryLimit", 3);
        ok = trim(&k, "Failed", "failedJobsHistoryLimit", 1) && ok;
        ok = start(&k) && ok;
        return look_status(l, v,
                           make_map(l->a, "active", k.active, "lastScheduleTime", k.last_time, "lastSuccessfulTime",
                                    k.last_success, NULL)) &&
               ok;
}
