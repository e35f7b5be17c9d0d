/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, CronJobs and their schedules. Conditions were recorded from kube-controller-manager v1.37.2. */
#include "sandbox/workloads.h"

#include "sandbox/controllers_schedule.h"

#define JOB(spec, annotations)                                                                                         \
        "{\"metadata\":{\"name\":\"j\"},\"spec\":{" spec "\"template\":{\"metadata\":{\"annotations\":{" annotations   \
        "}},"                                                                                                          \
        "\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS("img") "}}}}"
#define COMPLETE       "SuccessCriteriaMet=True/CompletionsReached Complete=True/CompletionsReached"
#define FAILED(reason) "FailureTarget=True/" reason " Failed=True/" reason
#define EXIT(code)     "\"podsim.truce.dev/exit\":\"" code "\""

/* ---- Jobs ---- */

static void a_job_completes(void **state) {
        struct world *w = *state;

        make(w, JOBS, JOB("", ""));
        world_run(w, 5 * SECOND);
        assert_conditions(w, JOBS "/j", COMPLETE);
        assert_at(w, "status.succeeded", "1");
        assert_at(w, "status.ready", "0");
        assert_at(w, "status.terminating", "0");
        assert_at(w, "status.active", "");
        assert_at(w, "status.uncountedTerminatedPods", "{}");
        assert_at(w, "status.completionTime", "2027-01-15T08:00:00Z");
        assert_at(w, "status.conditions.1.message", "Reached expected number of succeeded pods");
        assert_int_equal(count(w, PODS), 1);
        assert_at(w, "items.0.status.phase", "Succeeded");
        assert_at(w, "items.0.metadata.finalizers", "");
        assert_int_equal(run_until_idle(w), 0);
}

/* The target is told in a write of its own, before the end. */
static void on_job(void *ctx, const struct sandbox_commit *c) {
        struct buf *b = ctx;
        const struct value *list = value_path(c->after, "status", "conditions", NULL);

        if (!str_eqc(c->kind, "Job") || value_equal(list, value_path(c->before, "status", "conditions", NULL)))
                return;
        for (size_t i = 0; i < value_count(list); i++)
                buf_addf(b, "%.*s ", STR_FMT(value_text(value_getc(list->list.items[i], "type"))));
        buf_addc(b, "| ");
}

static void success_is_met_before_the_job_is_complete(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(1 << 12);
        struct world *w = *state;

        sandbox_observe(w->s, on_job, &b);
        make(w, JOBS, JOB("", ""));
        world_run(w, 5 * SECOND);
        assert_string_equal(b.p, "SuccessCriteriaMet | SuccessCriteriaMet Complete | ");
}

static void completions_come_in_parallel(void **state) {
        struct world *w = *state;

        make(w, JOBS, JOB("\"completions\":3,\"parallelism\":2,", ""));
        world_run(w, 100);
        assert_int_equal(count(w, PODS), 2);
        assert_at(w, "items.0.metadata.finalizers", "[\"batch.kubernetes.io/job-tracking\"]");
        get(w, JOBS "/j");
        assert_at(w, "status.active", "2");
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, PODS), 3);
        assert_conditions(w, JOBS "/j", COMPLETE);
        assert_at(w, "status.succeeded", "3");
}

static void a_job_fails_beyond_its_backoff_limit(void **state) {
        struct world *w = *state;

        make(w, JOBS, JOB("\"backoffLimit\":1,", EXIT("1")));
        world_run(w, 5 * SECOND);
        assert_conditions(w, JOBS "/j", "");
        assert_at(w, "status.failed", "1");
        assert_int_equal(count(w, PODS), 1);
        world_run(w, 15 * SECOND);
        assert_conditions(w, JOBS "/j", FAILED("BackoffLimitExceeded"));
        assert_at(w, "status.failed", "2");
        assert_at(w, "status.conditions.1.message", "Job has reached the specified backoff limit");
        assert_int_equal(run_until_idle(w), 0);
}

static void a_job_fails_at_its_deadline(void **state) {
        struct world *w = *state;

        make(w, JOBS, JOB("\"activeDeadlineSeconds\":30,", "\"podsim.truce.dev/hold\":\"running\""));
        world_run(w, 20 * SECOND);
        assert_conditions(w, JOBS "/j", "");
        assert_at(w, "status.ready", "1");
        world_run(w, 20 * SECOND);
        assert_conditions(w, JOBS "/j", FAILED("DeadlineExceeded"));
        assert_at(w, "status.active", "");
        assert_int_equal(count(w, PODS), 0);
}

static void a_suspended_job_waits(void **state) {
        struct world *w = *state;

        make(w, JOBS, JOB("\"suspend\":true,", ""));
        world_run(w, 5 * SECOND);
        assert_conditions(w, JOBS "/j", "Suspended=True/JobSuspended");
        assert_at(w, "status.startTime", "");
        assert_int_equal(count(w, PODS), 0);
        assert_int_equal(patch(w, JOBS "/j", MERGE_TYPE, "{\"spec\":{\"suspend\":false}}"), 200);
        world_run(w, 5 * SECOND);
        assert_conditions(w, JOBS "/j", "Suspended=False/JobResumed " COMPLETE);
}

static void a_running_job_can_be_suspended(void **state) {
        struct world *w = *state;

        make(w, JOBS, JOB("", "\"podsim.truce.dev/hold\":\"running\""));
        world_run(w, 5 * SECOND);
        assert_int_equal(patch(w, JOBS "/j", MERGE_TYPE, "{\"spec\":{\"suspend\":true}}"), 200);
        world_run(w, 5 * SECOND);
        assert_conditions(w, JOBS "/j", "Suspended=True/JobSuspended");
        assert_at(w, "status.failed", "");
        assert_int_equal(count(w, PODS), 0);
}

static void a_finished_job_expires(void **state) {
        struct world *w = *state;

        make(w, JOBS, JOB("\"ttlSecondsAfterFinished\":60,", ""));
        world_run(w, 50 * SECOND);
        assert_int_equal(get(w, JOBS "/j"), 200);
        world_run(w, 15 * SECOND);
        assert_int_equal(get(w, JOBS "/j"), 404);
        assert_int_equal(count(w, PODS), 0);
}

static void an_indexed_job_has_each_index_once(void **state) {
        struct world *w = *state;

        make(w, JOBS, JOB("\"completionMode\":\"Indexed\",\"completions\":4,\"parallelism\":2,", ""));
        world_run(w, 100);
        assert_int_equal(count(w, PODS), 2);
        assert_at(w, "items.0.spec.hostname", "j-0");
        assert_at(w, "items.0.metadata.generateName", "j-0-");
        assert_at(w, "items.0.spec.containers.0.env.0.name", "JOB_COMPLETION_INDEX");
        world_run(w, 5 * SECOND);
        assert_conditions(w, JOBS "/j", COMPLETE);
        assert_at(w, "status.completedIndexes", "0-3");
        assert_int_equal(count(w, PODS), 4);
}

static void a_deleted_job_leaves_no_pod_behind(void **state) {
        static const char *const policies[] = { "Background", "Foreground" };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
                make(w, JOBS, JOB("", "\"podsim.truce.dev/hold\":\"running\""));
                world_run(w, 5 * SECOND);
                assert_int_equal(count(w, PODS), 1);
                assert_int_equal(ask(w, KUBE_DELETE, JOBS "/j",
                                     arena_strf(w->arena, "{\"propagationPolicy\":\"%s\"}", policies[i]).p),
                                 200);
                world_run(w, 5 * SECOND);
                assert_int_equal(count(w, PODS), 0);
                assert_int_equal(get(w, JOBS "/j"), 404);
        }
}

static void a_job_of_somebody_else_is_left_alone(void **state) {
        struct world *w = *state;

        make(w, JOBS, JOB("\"managedBy\":\"example.com/queue\",", ""));
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, PODS), 0);
}

/* ---- schedules ---- */

/* 2027-01-15 is a Friday. */
static void schedules_have_their_times(void **state) {
        static const struct {
                const char *text;
                int64_t first_s; /* after 2027-01-15T08:00:00Z */
        } cases[] = {
                { "* * * * *", 60 },
                { "*/15 * * * *", 900 },
                { "30 9 * * *", 5400 },
                { "0 8 * * *", 86400 },
                { "0 0 * * SUN", 40 * 3600 },
                { "0 0 1 * *", 16 * 3600 + 16 * 86400 },
                { "0 0 16 * 1", 16 * 3600 }, /* either day */
                { "5,10 8-9 * jan *", 300 },
                { "@hourly", 3600 },
                { "@daily", 16 * 3600 },
                { "@every 90s", 90 },
                { "0 0 29 2 *", 16 * 3600 + INT64_C(409) * 86400 },
                { "0 0 30 2 *", -1 },
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct schedule s;

                assert_true(schedule_parse(str_from(cases[i].text), &s));
                int64_t next = schedule_next(&s, WORLD_START_MS);
                assert_int_equal(next < 0 ? next : (next - WORLD_START_MS) / 1000, cases[i].first_s);
        }
        (void)state;
}

static void wrong_schedules_are_not_read(void **state) {
        static const char *const cases[] = { "",          "* * * *",     "* * * * * *", "60 * * * *",
                                             "a * * * *", "*/0 * * * *", "5-1 * * * *", "@often",
                                             "@every x",  "@every 10ms" };
        struct schedule s;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_false(schedule_parse(str_from(cases[i]), &s));
        (void)state;
}

/* ---- CronJobs ---- */

#define CRON(schedule, more, annotations)                                                                              \
        "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"schedule\":\"" schedule "\"," more                                 \
        "\"jobTemplate\":{\"metadata\":{"                                                                              \
        "\"labels\":{\"x\":\"y\"}},\"spec\":{\"template\":{\"metadata\":{\"annotations\":{" annotations                \
        "}},\"spec\":{"                                                                                                \
        "\"restartPolicy\":\"Never\"," CONTAINERS("img") "}}}}}}"

static void a_cron_job_starts_jobs_when_due(void **state) {
        struct world *w = *state;

        make(w, CRONS, CRON("*/5 * * * *", "", ""));
        world_run(w, 4 * MINUTE);
        assert_int_equal(count(w, JOBS), 0);
        world_run(w, 2 * MINUTE);
        assert_int_equal(count(w, JOBS), 1);
        assert_at(w, "items.0.metadata.name", "c-30000005");
        assert_at(w, "items.0.metadata.labels.x", "y");
        assert_at(w, "items.0.metadata.annotations",
                  "{\"batch.kubernetes.io/cronjob-scheduled-timestamp\":\"2027-01-15T08:05:00Z\"}");
        assert_at(w, "items.0.metadata.ownerReferences.0.kind", "CronJob");
        get(w, CRONS "/c");
        assert_at(w, "status",
                  "{\"lastScheduleTime\":\"2027-01-15T08:05:00Z\",\"lastSuccessfulTime\":\"2027-01-15T08:05:00Z\"}");
        world_run(w, HOUR);
        assert_int_equal(count(w, JOBS), 3);
}

static void forbidden_concurrency_waits(void **state) {
        struct world *w = *state;

        make(w, CRONS, CRON("* * * * *", "\"concurrencyPolicy\":\"Forbid\",", "\"podsim.truce.dev/hold\":\"running\""));
        world_run(w, 5 * MINUTE);
        assert_int_equal(count(w, JOBS), 1);
        get(w, CRONS "/c");
        assert_at(w, "status.active.0.name", "c-30000001");
}

static void replaced_jobs_go_first(void **state) {
        struct world *w = *state;

        make(w, CRONS,
             CRON("* * * * *", "\"concurrencyPolicy\":\"Replace\",", "\"podsim.truce.dev/hold\":\"running\""));
        world_run(w, 3 * MINUTE + 5 * SECOND);
        assert_int_equal(count(w, JOBS), 1);
        assert_at(w, "items.0.metadata.name", "c-30000003");
}

static void a_suspended_cron_job_has_no_timer(void **state) {
        struct world *w = *state;

        make(w, CRONS, CRON("* * * * *", "\"suspend\":true,", ""));
        assert_true(run_until_idle(w) < MINUTE);
        assert_int_equal(count(w, JOBS), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORKLOAD_TEST(a_job_completes),
                WORKLOAD_TEST(success_is_met_before_the_job_is_complete),
                WORKLOAD_TEST(completions_come_in_parallel),
                WORKLOAD_TEST(a_job_fails_beyond_its_backoff_limit),
                WORKLOAD_TEST(a_job_fails_at_its_deadline),
                WORKLOAD_TEST(a_suspended_job_waits),
                WORKLOAD_TEST(a_running_job_can_be_suspended),
                WORKLOAD_TEST(a_finished_job_expires),
                WORKLOAD_TEST(an_indexed_job_has_each_index_once),
                WORKLOAD_TEST(a_deleted_job_leaves_no_pod_behind),
                WORKLOAD_TEST(a_job_of_somebody_else_is_left_alone),
                cmocka_unit_test(schedules_have_their_times),
                cmocka_unit_test(wrong_schedules_are_not_read),
                WORKLOAD_TEST(a_cron_job_starts_jobs_when_due),
                WORKLOAD_TEST(forbidden_concurrency_waits),
                WORKLOAD_TEST(replaced_jobs_go_first),
                WORKLOAD_TEST(a_suspended_cron_job_has_no_timer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
