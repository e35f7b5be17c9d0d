/* SPDX-License-Identifier: Apache-2.0 */
/* Events: what controllers, scheduler and kubelet tell, in a cluster's words; what is counted, combined and left out.
 */
#include <unistd.h>

#include "sandbox/workloads.h"

#define EVENTS "/api/v1/namespaces/default/events"

static int setup(void **state) {
        *state = world_new(&(struct sandbox_options){ .events = true });
        world_run(*state, SECOND);
        return 0;
}

#define EVENTS_TEST(f) cmocka_unit_test_setup_teardown(f, setup, workloads_teardown)

/* The time behind the last dot of its name. */
static struct str stamp(const void *event) {
        struct str name = value_text(value_path(*(const struct value *const *)event, "metadata", "name", NULL));

        return str_sub(name, name.n - 16, name.n);
}

static int by_time(const void *a, const void *b) {
        return str_cmp(stamp(a), stamp(b));
}

/* A line "REASON: MESSAGE" for each Event of a kind, in the order in which they were made; "3x " before it for three.
 */
static const char *events(struct world *w, const char *kind) {
        struct buf b = buf_make(64 * 1024);

        assert_int_equal(get(w, EVENTS), 200);
        const struct value *list = value_getc(w->body, "items");
        qsort((void *)list->list.items, value_count(list), sizeof *list->list.items, by_time);
        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *e = list->list.items[i];
                int64_t count = 1;

                if (!str_eqc(value_text(value_path(e, "involvedObject", "kind", NULL)), kind))
                        continue;
                value_to_i64(value_getc(e, "count"), &count);
                if (count > 1)
                        buf_addf(&b, "%dx ", (int)count);
                buf_addf(&b, "%.*s: %.*s\n", STR_FMT(value_text(value_getc(e, "reason"))),
                         STR_FMT(value_text(value_getc(e, "message"))));
        }
        const char *text = arena_str(w->arena, buf_str(&b)).p;
        buf_done(&b);
        return text;
}

static size_t lines_with(const char *text, const char *part) {
        size_t n = 0;

        for (const char *at = text; (at = strstr(at, part)); at++)
                n++;
        return n;
}

/* Some text has names drawn at random: `wanted` has a '*' for each. */
static void assert_like(const char *text, const char *wanted) {
        const char *t = text;

        for (const char *w = wanted; *w; w++) {
                if (*w != '*') {
                        if (*w != *t)
                                fail_msg("got:\n%s\nwanted:\n%s", text, wanted);
                        t++;
                        continue;
                }
                t += strspn(t, "bcdfghjklmnpqrstvwxz2456789");
        }
        if (*t)
                fail_msg("got:\n%s\nwanted:\n%s", text, wanted);
}

static void a_rollout_is_told(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":1", ""));
        world_run(w, 2 * SECOND);
        change(w, DEPLOYMENTS "/web", IMAGE("two"));
        world_run(w, 2 * SECOND);
        assert_like(events(w, "Deployment"), "ScalingReplicaSet: Scaled up replica set web-* from 0 to 1\n"
                                             "ScalingReplicaSet: Scaled up replica set web-* from 0 to 1\n"
                                             "ScalingReplicaSet: Scaled down replica set web-* from 1 to 0\n");
        assert_like(events(w, "ReplicaSet"), "SuccessfulCreate: Created pod: web-*-*\n"
                                             "SuccessfulCreate: Created pod: web-*-*\n"
                                             "SuccessfulDelete: Deleted pod: web-*-*\n");
        assert_like(events(w, "Pod"),
                    "Scheduled: Successfully assigned default/web-*-* to sandbox\n"
                    "Pulled: Container image \"img\" already present on machine and can be accessed by the pod\n"
                    "Created: Container created\n"
                    "Started: Container started\n"
                    "Scheduled: Successfully assigned default/web-*-* to sandbox\n"
                    "Pulled: Container image \"two\" already present on machine and can be accessed by the pod\n"
                    "Created: Container created\n"
                    "Started: Container started\n"
                    "Killing: Stopping container c\n");
}

static void an_event_has_what_a_recorder_writes(void **state) {
        struct world *w = *state;

        make(w, PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{" CONTAINERS("img") "}}");
        world_run(w, SECOND);
        get(w, EVENTS "?fieldSelector=source=default-scheduler");
        assert_at(w, "items.0.reason", "Scheduled");
        get(w, EVENTS "?fieldSelector=reason=Started,source=kubelet");
        assert_at(w, "items.0.involvedObject.fieldPath", "spec.containers{c}");
        assert_at(w, "items.0.involvedObject.apiVersion", "v1");
        assert_at(w, "items.0.source", "{\"component\":\"kubelet\",\"host\":\"sandbox\"}");
        assert_at(w, "items.0.reportingComponent", "kubelet");
        assert_at(w, "items.0.type", "Normal");
        assert_at(w, "items.0.count", "1");
        assert_at(w, "items.0.eventTime", "null");
        assert_at(w, "items.0.firstTimestamp", "2027-01-15T08:00:01Z");
        assert_at(w, "items.0.metadata.managedFields.0.manager", "kubelet");
        get(w, "/apis/events.k8s.io/v1/namespaces/default/"
               "events?fieldSelector=reason=Scheduled,regarding.name=p,reportingController=default-scheduler");
        assert_at(w, "items.0.action", "Binding");
        assert_at(w, "items.0.reportingController", "default-scheduler");
        assert_at(w, "items.0.note", "Successfully assigned default/p to sandbox");
        assert_at(w, "items.0.regarding.name", "p");
}

static void what_goes_wrong_is_a_warning(void **state) {
        struct world *w = *state;

        make(w, PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{" CONTAINERS("img:bad") "}}");
        make(w, PODS,
             "{\"metadata\":{\"name\":\"q\",\"annotations\":{\"podsim.truce.dev/waiting\":\"CrashLoopBackOff\"}},"
             "\"spec\":{" CONTAINERS("img") "}}");
        world_run(w, SECOND);
        get(w, EVENTS "?fieldSelector=type=Warning,involvedObject.name=q");
        assert_at(w, "items.0.reason", "BackOff");
        get(w, EVENTS "?fieldSelector=type=Warning,involvedObject.name=p");
        assert_at(w, "items.0.message", "Failed to pull image \"img:bad\": not found");
        assert_at(w, "items.1.message", "Error: ErrImagePull");
        assert_at(w, "items.2.message", "Error: ImagePullBackOff");
}

static void other_controllers_tell_as_well(void **state) {
        struct world *w = *state;

        make(w, STATEFUL, WEB("\"serviceName\":\"web\",\"replicas\":1", ""));
        make(w, JOBS,
             "{\"metadata\":{\"name\":\"job\"},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":"
             "\"Never\"," CONTAINERS("img") "}}}}");
        make(w, DAEMONS, WEB("\"minReadySeconds\":0", ""));
        make(w, CRONS,
             "{\"metadata\":{\"name\":\"tick\"},\"spec\":{\"schedule\":\"* * * * *\",\"jobTemplate\":{\"spec\":{"
             "\"template\":{\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS("img") "}}}}}}");
        world_run(w, MINUTE + 5 * SECOND);
        assert_string_equal(events(w, "StatefulSet"),
                            "SuccessfulCreate: Create Pod web-0 in StatefulSet web successful\n");
        assert_like(events(w, "DaemonSet"), "SuccessfulCreate: Created pod: web-*\n");
        assert_string_equal(events(w, "CronJob"), "SuccessfulCreate: Created job tick-30000001\n"
                                                  "SawCompletedJob: Saw completed job: tick-30000001, condition: "
                                                  "Complete\n");
        assert_like(events(w, "Job"), "SuccessfulCreate: Created pod: job-*\n"
                                      "Completed: Job completed\n"
                                      "SuccessfulCreate: Created pod: tick-30000001-*\n"
                                      "Completed: Job completed\n");
}

static void an_autoscaler_tells_its_reason(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":1", "\"sandbox.truce.dev/cpu\":\"150m\""));
        make(w, SCALERS,
             "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"maxReplicas\":5,\"scaleTargetRef\":{\"apiVersion\":\"apps/"
             "v1\","
             "\"kind\":\"Deployment\",\"name\":\"web\"},\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":"
             "\"cpu\","
             "\"target\":{\"type\":\"Utilization\",\"averageUtilization\":80}}}]}}");
        world_run(w, 20 * SECOND);
        assert_non_null(
                strstr(events(w, "HorizontalPodAutoscaler"),
                       "SuccessfulRescale: New size: 2; reason: cpu resource utilization (percentage of request) "
                       "above target\n"));
}

static void set_rule(struct world *w, const char *text) {
        const struct value *v;

        assert_int_equal(json_parse(str_from(text), w->arena, &v, NULL), 0);
        assert_int_equal(sandbox_set_rules(w->s, v, NULL), 0);
}

static void the_same_again_only_counts(void **state) {
        struct world *w = *state;

        set_rule(w, "{\"rules\":[{\"name\":\"no\",\"match\":{\"kinds\":[\"Pod\"]},\"deny\":\"not here\"}]}");
        make(w, SETS, WEB("\"replicas\":1", ""));
        world_run(w, 10 * SECOND);
        get(w, EVENTS);
        assert_int_equal(value_count(value_getc(w->body, "items")), 1);
        assert_at(w, "items.0.reason", "FailedCreate");
        assert_at(w, "items.0.message", "Error creating: admission webhook \"no\" denied the request: not here");
        assert_true(number(value_getc(w->body, "items")->list.items[0], "count", NULL) > 2);
        assert_string_not_equal(at(w, "items.0.firstTimestamp"), at(w, "items.0.lastTimestamp"));
}

static void many_that_are_alike_are_combined_and_bounded(void **state) {
        struct world *w = *state;

        make(w, SETS, WEB("\"replicas\":60", ""));
        world_run(w, 10 * SECOND);
        const char *told = events(w, "ReplicaSet");
        assert_int_equal(lines_with(told, "SuccessfulCreate: Created pod: "), 10);
        assert_int_equal(lines_with(told, "15x SuccessfulCreate: (combined from similar events): Created pod: "), 1);
        assert_int_equal(lines_with(told, "\n"), 11);
        /* One more in five minutes. */
        world_run(w, 5 * MINUTE);
        change(w, SETS "/web", "{\"spec\":{\"replicas\":58}}");
        world_run(w, SECOND);
        assert_int_equal(lines_with(events(w, "ReplicaSet"), "SuccessfulDelete: Deleted pod: "), 1);
}

static void take(void *ctx, struct str line) {
        *(size_t *)ctx += str_contains(line, STR("DELETED"));
}

static void over(void *ctx) {
        (void)ctx;
}

static void an_event_lives_an_hour_from_its_last_write(void **state) {
        static const struct sandbox_watcher watcher = { take, over };
        struct world *w = *state;
        size_t deleted = 0;

        make(w, EVENTS, "{\"metadata\":{\"name\":\"a\"},\"involvedObject\":{\"namespace\":\"default\"}}");
        make(w, EVENTS, "{\"metadata\":{\"name\":\"b\"},\"involvedObject\":{\"namespace\":\"default\"}}");
        world_run(w, HOUR / 2);
        assert_int_equal(patch(w, EVENTS "/b", MERGE_TYPE, "{\"count\":2}"), 200);
        get(w, EVENTS "?watch=true");
        struct sandbox_watch *watch = w->reply.watch;
        sandbox_watch_start(watch, &watcher, &deleted);
        world_run(w, HOUR / 2 - SECOND);
        assert_int_equal(count(w, EVENTS), 2);
        world_run(w, 2 * SECOND);
        assert_int_equal(get(w, EVENTS "/a"), 404);
        assert_int_equal(get(w, EVENTS "/b"), 200);
        assert_int_equal(deleted, 1);
        sandbox_watch_close(watch);
        run_until_idle(w);
        assert_int_equal(get(w, EVENTS "/b"), 404);
}

static void after_loading_they_live_an_hour_more(void **state) {
        struct world *w = *state, *other = world_new(&(struct sandbox_options){ .events = true });
        char path[] = "/tmp/sandbox-events-XXXXXX";
        int fd = mkstemp(path);

        close(fd);
        make(w, PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{" CONTAINERS("img") "}}");
        world_run(w, SECOND);
        assert_int_equal(sandbox_save(w->s, path, NULL), 0);
        assert_int_equal(sandbox_load(other->s, path, NULL), 0);
        unlink(path);
        world_run(other, MINUTE);
        assert_int_equal(count(other, EVENTS), 4); /* a restart tells nothing again */
        world_run(other, HOUR);
        assert_int_equal(count(other, EVENTS), 0);
        world_free(other);
}

static void without_the_option_there_are_none(void **state) {
        struct world *w = world_new(NULL);

        make(w, DEPLOYMENTS, WEB("\"replicas\":2", ""));
        world_run(w, MINUTE);
        assert_int_equal(count(w, EVENTS), 0);
        world_free(w);
        (void)state;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                EVENTS_TEST(a_rollout_is_told),
                EVENTS_TEST(an_event_has_what_a_recorder_writes),
                EVENTS_TEST(what_goes_wrong_is_a_warning),
                EVENTS_TEST(other_controllers_tell_as_well),
                EVENTS_TEST(an_autoscaler_tells_its_reason),
                EVENTS_TEST(the_same_again_only_counts),
                EVENTS_TEST(many_that_are_alike_are_combined_and_bounded),
                EVENTS_TEST(an_event_lives_an_hour_from_its_last_write),
                EVENTS_TEST(after_loading_they_live_an_hour_more),
                cmocka_unit_test(without_the_option_there_are_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
