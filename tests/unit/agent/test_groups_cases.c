/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tests/cases/group/table.tsv that need the agent, an API server and time, but no real cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "groups_world.h"

#define TWO_ZEROS "  rolloutStrategy: {rollingUpdateConfiguration: {maxUnavailable: 0, maxSurge: 0}}\n"
#define NOTHING   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nothing}\n"
#define NO_GRACE  "{\"gracePeriodSeconds\":0}"
#define IMAGE_IS(tag)                                                                                                  \
        "{\"spec\":{\"leaderWorkerTemplate\":{\"workerTemplate\":{\"spec\":{\"containers\":[{\"name\":\"main\","       \
        "\"image\":\"main:" tag "\"}]}}}}}"

/* With annotations for the pods, which the sandbox's kubelet obeys, and more of the object's. */
#define ACTING(notes, image, pod_notes)                                                                                \
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata:\n  name: demo\n"                    \
        "  annotations: {truce.dev/group-controller: embedded" notes "}\n"                                             \
        "spec:\n  replicas: 2\n  leaderWorkerTemplate:\n    size: 3\n    workerTemplate:\n"                            \
        "      metadata: {annotations: {" pod_notes "}}\n"                                                             \
        "      spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: \"" image "\"}]}\n"

static const char made_by_hand[] =
        "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\",\"metadata\":{\"name\":\"demo\","
        "\"annotations\":{\"truce.dev/group-controller\":\"embedded\"}},\"spec\":{\"replicas\":2,"
        "\"leaderWorkerTemplate\":{\"size\":3,\"workerTemplate\":{\"spec\":{\"terminationGracePeriodSeconds\":1,"
        "\"containers\":[{\"name\":\"main\",\"image\":\"main:1\"}]}}}}}";

static struct groups_set_stats stats_of(struct world *w) {
        struct groups_set_stats stats = { 0 };
        size_t at = 0;

        assert_true(groups_next(agent_groups(w->agent), &at, &stats));
        return stats;
}

static const struct value *pod_named(struct world *w, const char *name) {
        return sandbox_get(w->sandbox, STR(""), STR("pods"), STR("shop"), str_from(name));
}

static struct str uid_of(struct world *w, const struct value *object) {
        return arena_str(w->arena, value_text(value_path(object, "metadata", "uid", NULL)));
}

/* Is any "NAME=UID" of one list in the other? */
static bool share_a_pod(struct str a, struct str b) {
        struct str word;

        while (str_next(&a, ' ', &word))
                if (word.n && str_contains(b, word))
                        return true;
        return false;
}

static size_t warnings(struct world *w) {
        const struct value *const *all;
        size_t count = sandbox_list(w->sandbox, STR(""), STR("events"), w->arena, &all), found = 0;

        for (size_t i = 0; i < count; i++)
                found += str_eqc(value_text(value_getc(all[i], "type")), "Warning") &&
                         str_eqc(value_text(value_path(all[i], "involvedObject", "kind", NULL)), "LeaderWorkerSet");
        return found;
}

/* T65: one without our labels, and one that a person gave them. */
static void pods_of_others_are_not_touched(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("2", "main:1"));
        post(&w, SHOP_PODS,
             "{\"metadata\":{\"name\":\"mine\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}");
        post(&w, SHOP_PODS,
             "{\"metadata\":{\"name\":\"demo-copy\",\"labels\":{\"" PREFIX "name\":\"demo\",\"" PREFIX
             "group-index\":\"0\",\"" PREFIX "worker-index\":\"1\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
             "\"image\":\"x\"}]}}");
        loop_run_for(w.loop, A_MINUTE);
        struct str mine = uid_of(&w, pod_named(&w, "mine")), copy = uid_of(&w, pod_named(&w, "demo-copy"));
        ask(&w, KUBE_DELETE, SHOP_PODS "/demo-0-1", NULL, NULL, 200);
        loop_run_for(w.loop, A_MINUTE);
        push(&w, DEMO("2", "main:2"));
        loop_run_for(w.loop, 2 * A_MINUTE);
        push(&w, DEMO("1", "main:2"));
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(pod_count(&w), 5);
        assert_true(str_eq(mine, uid_of(&w, pod_named(&w, "mine"))));
        assert_true(str_eq(copy, uid_of(&w, pod_named(&w, "demo-copy"))));
        assert_null(value_path(pod_named(&w, "demo-copy"), "metadata", "deletionTimestamp", NULL));
        assert_true(is_true(&w, "demo", "Available"));
        end(&w);
}

/* T69: what no schema can refuse, as it is about two revisions. */
static void a_change_that_is_not_allowed_touches_nothing(void **state) {
        struct world w;

        (void)state;
        begin(&w, LWS_OF("demo", EMBEDDED, "1", "4", "main:1", ""));
        struct str before = uids(&w, "demo", "0");
        push(&w, LWS_OF("demo", EMBEDDED, "1", "4\n    subGroupPolicy: {subGroupSize: 2}", "main:1", ""));
        loop_run_for(w.loop, 2 * A_MINUTE);
        const struct value *stalled = condition(&w, "demo", "Stalled");
        assert_true(is_true(&w, "demo", "Stalled"));
        assert_true(str_contains(value_text(value_getc(stalled, "message")),
                                 STR("cannot enable subGroupSize after the lws is already created")));
        assert_true(str_eq(before, uids(&w, "demo", "0")));
        push(&w, LWS_OF("demo", EMBEDDED, "1", "4", "main:1", ""));
        loop_run_for(w.loop, A_MINUTE);
        assert_false(is_true(&w, "demo", "Stalled"));
        assert_true(str_eq(before, uids(&w, "demo", "0")));
        end(&w);
}

/* K7 */
static void what_cannot_be_acted_on_costs_nothing_until_it_changes(void **state) {
        struct world w;

        (void)state;
        begin(&w, LWS_OF("demo", EMBEDDED, "2", "3", "main:1", TWO_ZEROS));
        assert_true(is_true(&w, "demo", "Stalled"));
        assert_int_equal(pod_count(&w), 0);

        size_t requests = w.requests;
        loop_run_for(w.loop, 5 * A_MINUTE);
        assert_int_equal(w.requests, requests);
        push(&w, DEMO("2", "main:1"));
        loop_run_for(w.loop, A_MINUTE);
        assert_false(is_true(&w, "demo", "Stalled"));
        assert_int_equal(ready_pods(&w, "demo"), 6);
        end(&w);
}

/* K8, L15 */
static void what_loads_for_long_is_waited_for_without_a_word_of_trouble(void **state) {
        struct world w;
        struct queue_stats queue;

        (void)state;
        begin(&w, ACTING("", "main:1", "podsim.truce.dev/load: 120s"));
        assert_int_equal(ready_pods(&w, "demo"), 0);
        assert_true(is_true(&w, "demo", "Progressing"));
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 6);

        push(&w, ACTING("", "main:2", "podsim.truce.dev/load: 120s"));
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(pod_count(&w), 6);
        assert_int_equal(ready_pods(&w, "demo"), 3); /* one group is away, not both */
        loop_run_for(w.loop, 5 * A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        assert_int_equal(w.created, 12);
        assert_string_equal(w.trace, "1 0 ");
        assert_int_equal(warnings(&w), 0);
        groups_queue_stats(agent_groups(w.agent), &queue);
        assert_int_equal(queue.ends[QUEUE_FAILED] + queue.ends[QUEUE_TERMINAL], 0);
        end(&w);
}

/* K17 */
static void edits_while_nobody_looked_are_one_roll(void **state) {
        static const char *const edits[] = { IMAGE_IS("2"), IMAGE_IS("3"), IMAGE_IS("4"), IMAGE_IS("5"),
                                             IMAGE_IS("6") };
        struct world w;

        (void)state;
        begin(&w, NOTHING);
        post(&w, SHOP_LWS, made_by_hand);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        stop_agent(&w);
        for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
                merge(&w, SHOP_LWS "/demo", edits[i]);
                loop_run_for(w.loop, 1000);
        }
        w.git = git_memory_new();
        push(&w, NOTHING);
        start_agent(&w);
        loop_run_for(w.loop, 3 * A_MINUTE);
        assert_string_equal(w.trace, "1 0 ");
        assert_int_equal(w.created, 12);
        assert_int_equal(w.deleted, 6);
        assert_true(is_true(&w, "demo", "Available"));
        assert_int_equal(status_number(&w, "demo", "updatedReplicas"), 2);
        end(&w);
}

/* K20 */
static void a_set_made_anew_a_hundred_times_keeps_the_pods_of_the_last_one(void **state) {
        struct world w;

        (void)state;
        begin(&w, NOTHING);
        post(&w, SHOP_LWS, made_by_hand);
        for (int i = 0; i < 100; i++) {
                loop_run_for(w.loop, 50 + (int64_t)loop_random(w.loop, 2000));
                ask(&w, KUBE_DELETE, SHOP_LWS "/demo", NULL, NULL, 200);
                post(&w, SHOP_LWS, made_by_hand);
        }
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_int_equal(pod_count(&w), 6);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        struct str first = uids(&w, "demo", "0"), second = uids(&w, "demo", "1");
        loop_run_for(w.loop, 10 * A_MINUTE);
        assert_true(str_eq(first, uids(&w, "demo", "0")));
        assert_true(str_eq(second, uids(&w, "demo", "1")));
        end(&w);
}

/* L1: gone at once, as by `kubectl delete --force --grace-period=0`. */
static void a_worker_that_vanishes_fifty_times_takes_its_group_each_time(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("2", "main:1"));
        struct str other = uids(&w, "demo", "1");
        for (int i = 0; i < 50; i++) {
                struct str before = uids(&w, "demo", "0");

                ask(&w, KUBE_DELETE, SHOP_PODS "/demo-0-1", "application/json", NO_GRACE, 200);
                loop_run_for(w.loop, 11 * A_MINUTE); /* the next one comes at once again */
                assert_int_equal(ready_pods(&w, "demo"), 6);
                assert_false(share_a_pod(before, uids(&w, "demo", "0")));
        }
        assert_true(str_eq(other, uids(&w, "demo", "1")));
        assert_int_equal(stats_of(&w).restarts, 50);
        assert_int_equal(w.created, 6 + 50 * 3);
        end(&w);
}

/* L14: each life of each group ends by a crash. */
static void a_crash_loop_gets_slow_and_ends_with_its_budget(void **state) {
        struct world w;

        (void)state;
        begin(&w, ACTING("", "main:1", "podsim.truce.dev/crashes: \"1\""));
        loop_run_for(w.loop, 9 * A_MINUTE);
        uint64_t restarts = stats_of(&w).restarts;
        assert_in_range(restarts, 2 * 5, 2 * 8);
        assert_false(is_true(&w, "demo", "Available"));
        assert_true(warnings(&w) > 0);

        push(&w, ACTING(", truce.dev/max-group-restarts: \"3\"", "main:1", "podsim.truce.dev/crashes: \"1\""));
        loop_run_for(w.loop, 15 * A_MINUTE);
        assert_true(is_true(&w, "demo", "Degraded"));
        assert_int_equal(pod_count(&w), 0);
        restarts = stats_of(&w).restarts;
        loop_run_for(w.loop, 30 * A_MINUTE);
        assert_int_equal(stats_of(&w).restarts, restarts);
        end(&w);
}

/* K1: a watch of which nothing comes any more is noticed by its silence; one that ends, at once. */
static void a_pod_that_goes_while_its_watch_is_silent_is_noticed(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("1", "main:1"));
        loop_run_for(w.loop, 5 * A_MINUTE);
        struct str before = uids(&w, "demo", "0");
        w.fault = blind_for_pods;
        w.blind_until_ms = loop_now_ms(w.loop) + 60 * A_MINUTE;
        sandbox_drop_watches(w.sandbox);
        loop_run_for(w.loop, 2000);
        ask(&w, KUBE_DELETE, SHOP_PODS "/demo-0-1", "application/json", NO_GRACE, 200);
        loop_run_for(w.loop, 3 * A_MINUTE); /* two silences of 72 s, and a LIST */
        assert_int_equal(ready_pods(&w, "demo"), 3);
        assert_false(share_a_pod(before, uids(&w, "demo", "0")));
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pods_of_others_are_not_touched),
                cmocka_unit_test(a_change_that_is_not_allowed_touches_nothing),
                cmocka_unit_test(what_cannot_be_acted_on_costs_nothing_until_it_changes),
                cmocka_unit_test(what_loads_for_long_is_waited_for_without_a_word_of_trouble),
                cmocka_unit_test(edits_while_nobody_looked_are_one_roll),
                cmocka_unit_test(a_set_made_anew_a_hundred_times_keeps_the_pods_of_the_last_one),
                cmocka_unit_test(a_worker_that_vanishes_fifty_times_takes_its_group_each_time),
                cmocka_unit_test(a_crash_loop_gets_slow_and_ends_with_its_budget),
                cmocka_unit_test(a_pod_that_goes_while_its_watch_is_silent_is_noticed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
