/* SPDX-License-Identifier: Apache-2.0 */
/* The agent runs LeaderWorkerSets that Git has, on a sandbox in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "groups_world.h"

static void a_set_of_git_becomes_groups_of_pods_and_then_nothing_is_written(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("2", "main:1"));
        assert_int_equal(pod_count(&w), 6);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        assert_int_equal(status_number(&w, "demo", "readyReplicas"), 2);
        assert_true(is_true(&w, "demo", "Available"));
        assert_null(condition(&w, "demo", GROUP_CONDITION_BLOCKED));
        assert_int_equal(groups_state(agent_groups(w.agent)), GROUPS_STATE_RUNNING);

        size_t writes = w.writes, requests = w.requests;
        loop_run_for(w.loop, 10 * A_MINUTE);
        assert_int_equal(w.writes, writes);
        assert_int_equal(w.requests, requests);
        end(&w);
}

static void a_scaler_says_how_many_and_git_never_does(void **state) {
        struct world w;

        (void)state;
        begin(&w,
              DEMO("2",
                   "main:1") "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: demo}\n"
                             "spec:\n  scaleTargetRef: {apiVersion: leaderworkerset.x-k8s.io/v1, kind: "
                             "LeaderWorkerSet, name: demo}\n"
                             "  minReplicas: 1\n  maxReplicas: 9\n"
                             "  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, "
                             "averageUtilization: 50}}}]\n");
        assert_int_equal(pod_count(&w), 6);
        scale(&w, "demo", 3);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(pod_count(&w), 9);
        assert_int_equal(ready_pods(&w, "demo"), 9);

        struct str first = uids(&w, "demo", "0");
        scale(&w, "demo", 1);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(pod_count(&w), 3);
        assert_true(str_eq(first, uids(&w, "demo", "0")));
        assert_int_equal(w.replicas_written, 0);
        end(&w);
}

static void a_new_template_rolls_from_the_highest_group_down(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("4", "main:1"));
        push(&w, DEMO("4", "main:2"));
        loop_run_for(w.loop, 5 * A_MINUTE);
        assert_string_equal(w.trace, "3 2 1 0 ");
        assert_int_equal(ready_pods(&w, "demo"), 12);
        assert_int_equal(status_number(&w, "demo", "updatedReplicas"), 4);
        assert_true(is_true(&w, "demo", "Available"));
        assert_int_equal(w.created, 24);
        end(&w);
}

static void a_worker_that_is_killed_takes_its_group_with_it_and_no_other(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("2", "main:1"));
        struct str other = uids(&w, "demo", "1");
        ask(&w, KUBE_DELETE, SHOP_PODS "/demo-0-1", NULL, NULL, 200);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        assert_int_equal(w.created, 9);
        assert_true(str_eq(other, uids(&w, "demo", "1")));

        struct groups_set_stats stats;
        size_t at = 0;
        assert_true(groups_next(agent_groups(w.agent), &at, &stats));
        assert_int_equal(stats.restarts, 1);
        assert_int_equal(stats.recreate.count, 1);
        assert_int_equal(stats.ready, 2);
        end(&w);
}

static void a_restart_of_the_agent_changes_no_pod(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("2", "main:1"));
        stop_agent(&w);
        w.git = git_memory_new();
        push(&w, DEMO("2", "main:1"));
        start_agent(&w);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(w.created, 6);
        assert_int_equal(w.deleted, 0);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        end(&w);
}

static void an_agent_without_groups_asks_for_none(void **state) {
        struct world w;

        (void)state;
        begin(&w, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
        assert_int_equal(w.pod_requests, 0);
        assert_int_equal(groups_state(agent_groups(w.agent)), GROUPS_STATE_IDLE);
        end(&w);
}

static void a_set_without_the_annotation_is_left_alone(void **state) {
        struct world w;

        (void)state;
        begin(&w, LWS_OF("demo", "labels: {a: b}", "2", "3", "main:1", ""));
        assert_non_null(lws(&w, "demo"));
        assert_int_equal(pod_count(&w), 0);
        assert_int_equal(w.pod_requests, 0);
        end(&w);
}

static void a_definition_that_comes_later_is_noticed(void **state) {
        struct world w;

        (void)state;
        prepare(&w, DEMO("1", "main:1"));
        w.config->agent.lws_controller = GROUPS_ALL;
        start_agent(&w);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(groups_state(agent_groups(w.agent)), GROUPS_STATE_ABSENT);
        assert_non_null(w.trouble);
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        loop_run_for(w.loop, 10 * A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 3);
        end(&w);
}

/* By another uid: what belonged to the old object goes with it. */
static void a_set_that_is_made_anew_gets_groups_of_its_own(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("1", "main:1"));
        struct str before = uids(&w, "demo", "0");
        ask(&w, KUBE_DELETE, SHOP_LWS "/demo", NULL, NULL, 200);
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_non_null(lws(&w, "demo")); /* Git has it */
        assert_int_equal(ready_pods(&w, "demo"), 3);
        assert_false(str_eq(before, uids(&w, "demo", "0")));
        assert_true(is_true(&w, "demo", "Available"));
        end(&w);
}

static void what_is_refused_is_a_condition_until_it_is_not(void **state) {
        struct world w;

        (void)state;
        prepare(&w, DEMO("2", "main:1"));
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        set_rules(&w, NO_PODS("not today"));
        start_agent(&w);
        loop_run_for(w.loop, A_MINUTE / 2);
        assert_true(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        assert_string_equal(value_text(value_getc(condition(&w, "demo", GROUP_CONDITION_BLOCKED), "reason")).p,
                            "AdmissionDenied");

        size_t requests = w.requests;
        loop_run_for(w.loop, A_MINUTE / 3); /* a policy's refusal is not asked about again within a minute */
        assert_true(w.requests - requests < 3);
        set_rules(&w, NO_RULES);
        loop_run_for(w.loop, 15 * A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        assert_false(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        end(&w);
}

static void a_namespace_that_ends_is_left_to_end(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("1", "main:1"));
        size_t created = w.created;
        ask(&w, KUBE_DELETE, "/api/v1/namespaces/shop", NULL, NULL, 200);
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_int_equal(w.created, created);
        assert_int_equal(pod_count(&w), 0);
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_set_of_git_becomes_groups_of_pods_and_then_nothing_is_written),
                cmocka_unit_test(a_scaler_says_how_many_and_git_never_does),
                cmocka_unit_test(a_new_template_rolls_from_the_highest_group_down),
                cmocka_unit_test(a_worker_that_is_killed_takes_its_group_with_it_and_no_other),
                cmocka_unit_test(a_restart_of_the_agent_changes_no_pod),
                cmocka_unit_test(an_agent_without_groups_asks_for_none),
                cmocka_unit_test(a_set_without_the_annotation_is_left_alone),
                cmocka_unit_test(a_definition_that_comes_later_is_noticed),
                cmocka_unit_test(a_set_that_is_made_anew_gets_groups_of_its_own),
                cmocka_unit_test(what_is_refused_is_a_condition_until_it_is_not),
                cmocka_unit_test(a_namespace_that_ends_is_left_to_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
