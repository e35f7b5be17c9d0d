/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accidents of Pods and Nodes, and Pods for which there is no room. What the annotations do was compared with
 * tests/cluster/test_podsim.sh, which says the same of a real API server.
 */
#include "sandbox/workloads.h"

#define NODES "/api/v1/nodes"

static int nodes_setup(void **state) {
        *state = world_new(&(struct sandbox_options){ .events = true,
                                                      .nodes = { .count = 3, .zones = 3, .cpu = STR("4"), .gpu = 8 } });
        world_run(*state, SECOND);
        return 0;
}

#define NODES_TEST(f) cmocka_unit_test_setup_teardown(f, nodes_setup, workloads_teardown)

static void make_pod(struct world *w, const char *name, const char *annotations, const char *spec) {
        make(w, PODS,
             arena_strf(w->arena,
                        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"name\":\"%s\"},\"annotations\":{%s}},\"spec\":{%s"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"img\"}]}}",
                        name, name, annotations, spec)
                     .p);
}

static void make_gpu_pod(struct world *w, const char *name, int gpus) {
        make(w, PODS,
             arena_strf(w->arena,
                        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"img\","
                        "\"resources\":{\"limits\":{\"nvidia.com/gpu\":%d}}}]}}",
                        name, gpus)
                     .p);
}

static const char *path_of(struct world *w, const char *name) {
        return arena_strf(w->arena, PODS "/%s", name).p;
}

static void annotate(struct world *w, const char *name, const char *annotations) {
        change(w, path_of(w, name), arena_strf(w->arena, "{\"metadata\":{\"annotations\":{%s}}}", annotations).p);
}

/* "PHASE READY RESTARTS", of the first container. */
static const char *state_of(struct world *w, const char *name) {
        assert_int_equal(get(w, path_of(w, name)), 200);
        const struct value *list = value_path(w->body, "status", "conditions", NULL);
        struct str ready = STR("-");

        for (size_t i = 0; i < value_count(list); i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), "Ready"))
                        ready = value_text(value_getc(list->list.items[i], "status"));
        return arena_strf(w->arena, "%s %.*s %s", at(w, "status.phase"), STR_FMT(ready),
                          at(w, "status.containerStatuses.0.restartCount"))
                .p;
}

#define assert_state(w, name, wanted) assert_string_equal(state_of(w, name), wanted)

/* "REASON: MESSAGE" of PodScheduled, or the name of the Node. */
static const char *place_of(struct world *w, const char *name) {
        assert_int_equal(get(w, path_of(w, name)), 200);
        const struct value *list = value_path(w->body, "status", "conditions", NULL);

        if (*at(w, "spec.nodeName"))
                return at(w, "spec.nodeName");
        for (size_t i = 0; i < value_count(list); i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), "PodScheduled"))
                        return arena_strf(w->arena, "%.*s: %.*s",
                                          STR_FMT(value_text(value_getc(list->list.items[i], "reason"))),
                                          STR_FMT(value_text(value_getc(list->list.items[i], "message"))))
                                .p;
        return "";
}

#define assert_place(w, name, wanted) assert_string_equal(place_of(w, name), wanted)

static void down(struct world *w, const char *node, const char *is_down) {
        change(w, arena_strf(w->arena, NODES "/%s", node).p,
               arena_strf(w->arena, "{\"metadata\":{\"annotations\":{\"podsim.truce.dev/down\":%s}}}", is_down).p);
        world_run(w, SECOND);
}

/* ---- one Pod ---- */

static void a_crash_is_counted_once_with_its_end(void **state) {
        struct world *w = *state;

        make_pod(w, "p", "", "");
        world_run(w, 5 * SECOND);
        assert_state(w, "p", "Running True 0");
        annotate(w, "p", "\"podsim.truce.dev/crashes\":\"1\",\"podsim.truce.dev/delay\":\"3s\"");
        world_run(w, SECOND);
        assert_state(w, "p", "Running False 1");
        assert_at(w, "status.containerStatuses.0.lastState.terminated.exitCode", "1");
        assert_at(w, "status.containerStatuses.0.lastState.terminated.reason", "Error");
        assert_at(w, "status.containerStatuses.0.lastState.terminated.startedAt", "2027-01-15T08:00:00Z");
        assert_at(w, "status.containerStatuses.0.lastState.terminated.finishedAt", "2027-01-15T08:00:05Z");
        assert_at(w, "status.containerStatuses.0.state.running.startedAt", "2027-01-15T08:00:05Z");
        world_run(w, 5 * SECOND);
        assert_state(w, "p", "Running True 1");
        annotate(w, "p",
                 "\"podsim.truce.dev/crashes\":\"4\",\"podsim.truce.dev/crash-code\":\"137\","
                 "\"podsim.truce.dev/crash-reason\":\"OOMKilled\"");
        world_run(w, 5 * SECOND);
        assert_state(w, "p", "Running True 4");
        assert_at(w, "status.containerStatuses.0.lastState.terminated.reason", "OOMKilled");
        assert_int_equal(run_until_idle(w), 0);
}

static void a_crash_that_is_in_the_template_waits_until_the_container_is_up(void **state) {
        struct world *w = *state;

        make_pod(w, "p", "\"podsim.truce.dev/crashes\":\"1\",\"podsim.truce.dev/delay\":\"10s\"", "");
        world_run(w, 9 * SECOND);
        assert_state(w, "p", "Pending False 0");
        world_run(w, 2 * SECOND);
        assert_state(w, "p", "Running False 1");
        world_run(w, 10 * SECOND);
        assert_state(w, "p", "Running True 1");
}

static void an_init_container_crashes_while_its_pod_is_pending(void **state) {
        struct world *w = *state;

        make_pod(w, "p",
                 "\"podsim.truce.dev/crashes\":\"1\",\"podsim.truce.dev/crash-container\":\"second\","
                 "\"podsim.truce.dev/delay\":\"10s\"",
                 "\"initContainers\":[{\"name\":\"first\",\"image\":\"i\"},{\"name\":\"second\",\"image\":\"i\"}],");
        world_run(w, 5 * SECOND);
        assert_state(w, "p", "Pending False 0");
        assert_at(w, "status.initContainerStatuses.0.state.terminated.exitCode", "0");
        assert_at(w, "status.initContainerStatuses.1.restartCount", "1");
        assert_at(w, "status.initContainerStatuses.1.lastState.terminated.exitCode", "1");
        assert_at(w, "status.containerStatuses.0.state.waiting.reason", "PodInitializing");
        assert_non_null(strstr(conditions(w, PODS "/p"), "Initialized=False/ContainersNotInitialized"));
        world_run(w, 10 * SECOND);
        assert_state(w, "p", "Running True 0");
        assert_at(w, "status.initContainerStatuses.1.restartCount", "1");
        assert_at(w, "status.initContainerStatuses.1.state.terminated.exitCode", "0");
}

static void what_is_not_restarted_stays_down(void **state) {
        struct world *w = *state;

        make_pod(w, "p", "\"podsim.truce.dev/crashes\":\"1\",\"podsim.truce.dev/crash-code\":\"3\"",
                 "\"restartPolicy\":\"Never\",");
        world_run(w, 5 * SECOND);
        assert_state(w, "p", "Failed False 0");
        assert_at(w, "status.containerStatuses.0.state.terminated.exitCode", "3");
        make_pod(w, "q", "\"podsim.truce.dev/crashes\":\"1\",\"podsim.truce.dev/crash-container\":\"first\"",
                 "\"restartPolicy\":\"Never\",\"initContainers\":[{\"name\":\"first\",\"image\":\"i\"}],");
        world_run(w, 5 * SECOND);
        assert_state(w, "q", "Failed False 0");
}

static void slow_and_flapping_pods_take_their_time(void **state) {
        struct world *w = *state;

        make_pod(w, "slow", "\"podsim.truce.dev/load\":\"120s\"", "");
        make_pod(w, "flap", "\"podsim.truce.dev/flap\":\"10s\"", "");
        world_run(w, 5 * SECOND);
        assert_state(w, "slow", "Running False 0");
        assert_state(w, "flap", "Running True 0");
        world_run(w, 10 * SECOND);
        assert_state(w, "flap", "Running False 0");
        world_run(w, 10 * SECOND);
        assert_state(w, "flap", "Running True 0");
        world_run(w, 100 * SECOND);
        assert_state(w, "slow", "Running True 0");
}

static void an_evicted_pod_has_failed_and_its_set_replaces_it(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":1", ""));
        world_run(w, 5 * SECOND);
        get(w, PODS);
        const char *name = at(w, "items.0.metadata.name");
        annotate(w, name, "\"podsim.truce.dev/evict\":\"true\"");
        world_run(w, 5 * SECOND);
        assert_state(w, name, "Failed False 0");
        assert_at(w, "status.reason", "Evicted");
        assert_at(w, "status.containerStatuses.0.state.terminated.exitCode", "137");
        assert_non_null(strstr(conditions(w, path_of(w, name)), "DisruptionTarget=True/TerminationByKubelet"));
        assert_int_equal(count(w, PODS), 2);
        get(w, DEPLOYMENTS "/web");
        assert_at(w, "status.readyReplicas", "1");
}

static void a_termination_takes_its_time_within_the_grace_period(void **state) {
        struct world *w = *state;

        make_pod(w, "p", "\"podsim.truce.dev/stop\":\"20s\"", "");
        make_pod(w, "q", "\"podsim.truce.dev/stop\":\"1h\"", "");
        world_run(w, 5 * SECOND);
        assert_int_equal(del(w, PODS "/p?gracePeriodSeconds=600"), 200);
        assert_int_equal(del(w, PODS "/q"), 200);
        world_run(w, 19 * SECOND);
        assert_int_equal(count(w, PODS), 2);
        world_run(w, 2 * SECOND);
        assert_int_equal(get(w, PODS "/p"), 404);
        world_run(w, 8 * SECOND);
        assert_int_equal(get(w, PODS "/q"), 200);
        world_run(w, 2 * SECOND);
        assert_int_equal(get(w, PODS "/q"), 404);
}

/* ---- room ---- */

static void a_pod_that_does_not_fit_waits_for_room(void **state) {
        struct world *w = *state;

        make_gpu_pod(w, "a", 8);
        make_gpu_pod(w, "b", 8);
        make_gpu_pod(w, "c", 8);
        world_run(w, 5 * SECOND);
        assert_state(w, "a", "Running True 0");
        assert_state(w, "b", "Running True 0");
        assert_state(w, "c", "Running True 0");
        make_gpu_pod(w, "d", 8);
        world_run(w, 5 * SECOND);
        assert_place(w, "d", "Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.");
        assert_state(w, "d", "Pending - ");
        assert_at(w, "metadata.managedFields.1.manager", "kube-scheduler");
        const char *node = place_of(w, "b");
        assert_int_equal(del(w, PODS "/b"), 200);
        world_run(w, 5 * SECOND);
        assert_place(w, "d", node);
        assert_state(w, "d", "Running True 0");
        make_gpu_pod(w, "e", 4);
        world_run(w, 5 * SECOND);
        make(w, NODES,
             "{\"metadata\":{\"name\":\"later\",\"annotations\":{\"podsim.truce.dev/node\":\"true\"}},"
             "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"nvidia.com/gpu\":\"4\",\"pods\":\"1\"}}}");
        world_run(w, 5 * SECOND);
        assert_place(w, "e", "later");
        assert_state(w, "e", "Running True 0");
        make_pod(w, "f", "", "\"nodeSelector\":{\"kubernetes.io/hostname\":\"later\"},");
        world_run(w, 5 * SECOND);
        assert_place(w, "f",
                     "Unschedulable: 0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector.");
        change(w, NODES "/later", "{\"metadata\":{\"labels\":{\"kubernetes.io/hostname\":\"later\"}}}");
        world_run(w, 5 * SECOND);
        assert_place(w, "f",
                     "Unschedulable: 0/4 nodes are available: 1 Too many pods, 3 node(s) didn't match Pod's node "
                     "affinity/selector.");
}

static void a_gated_pod_is_left_alone(void **state) {
        struct world *w = *state;

        make_pod(w, "p", "", "\"schedulingGates\":[{\"name\":\"truce.dev/group\"}],");
        world_run(w, 5 * SECOND);
        assert_place(w, "p", "SchedulingGated: Scheduling is blocked due to non-empty scheduling gates");
        assert_int_equal(
                patch(w, PODS "/p", JSON_PATCH_TYPE, "[{\"op\":\"remove\",\"path\":\"/spec/schedulingGates\"}]"), 200);
        world_run(w, 5 * SECOND);
        assert_state(w, "p", "Running True 0");
}

/* As the scheduler does it: a Pod that was gated has the condition since it was made. */
static void a_gated_pod_that_does_not_fit_keeps_its_time(void **state) {
        struct world *w = *state;

        make_pod(w, "p", "",
                 "\"schedulingGates\":[{\"name\":\"truce.dev/group\"}],\"nodeSelector\":{\"no\":\"where\"},");
        world_run(w, 5 * SECOND);
        assert_int_equal(
                patch(w, PODS "/p", JSON_PATCH_TYPE, "[{\"op\":\"remove\",\"path\":\"/spec/schedulingGates\"}]"), 200);
        world_run(w, 5 * SECOND);
        get(w, PODS "/p");
        assert_at(w, "status.conditions.0.reason", "Unschedulable");
        assert_at(w, "status.conditions.0.lastTransitionTime", "2027-01-15T08:00:01Z");
}

#define TERM(kind, key, selector)                                                                                      \
        "\"" kind "\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"" key                    \
        "\",\"labelSelector\":" selector "}]}"
#define ZONE       "topology.kubernetes.io/zone"
#define NAMED(who) "{\"matchLabels\":{\"name\":\"" who "\"}}"

static void pods_go_near_and_far_from_others(void **state) {
        struct world *w = *state;

        make_pod(w, "here", "", "\"nodeSelector\":{\"" ZONE "\":\"zone-2\"},");
        world_run(w, SECOND);
        assert_place(w, "here", "node-2");
        make_pod(w, "near", "", "\"affinity\":{" TERM("podAffinity", ZONE, NAMED("here")) "},");
        make_pod(w, "far", "",
                 "\"affinity\":{" TERM("podAntiAffinity", ZONE, NAMED("here")) "},\"nodeSelector\":{\"" ZONE
                                                                               "\":\"zone-2\"},");
        make_pod(w, "lonely", "", "\"affinity\":{" TERM("podAffinity", ZONE, NAMED("friend")) "},");
        world_run(w, SECOND);
        assert_place(w, "near", "node-2");
        assert_place(
                w, "far",
                "Unschedulable: 0/3 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 2 node(s) "
                "didn't match Pod's node affinity/selector.");
        assert_place(w, "lonely", "Unschedulable: 0/3 nodes are available: 3 node(s) didn't match pod affinity rules.");
        make_pod(w, "friend", "", "");
        world_run(w, SECOND);
        assert_string_equal(place_of(w, "lonely"), place_of(w, "friend"));
        assert_int_equal(del(w, PODS "/here"), 200);
        world_run(w, SECOND);
        assert_place(w, "far", "node-2");
        make_pod(w, "here", "", "\"nodeSelector\":{\"" ZONE "\":\"zone-2\"},");
        world_run(w, SECOND);
        assert_place(w, "here",
                     "Unschedulable: 0/3 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity "
                     "rules, 2 node(s) didn't match Pod's node affinity/selector.");
}

static void make_exclusive(struct world *w, const char *name, const char *group) {
        make_pod(w, name, "",
                 arena_strf(w->arena,
                            "\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
                            "\"topologyKey\":\"" ZONE "\",\"labelSelector\":{\"matchExpressions\":[{\"key\":\"group\","
                            "\"operator\":\"In\",\"values\":[\"%s\"]}]}}]},\"podAntiAffinity\":{"
                            "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"" ZONE
                            "\",\"labelSelector\":{\"matchExpressions\":[{\"key\":\"group\",\"operator\":\"Exists\"},"
                            "{\"key\":\"group\",\"operator\":\"NotIn\",\"values\":[\"%s\"]}]}}]}},"
                            "\"schedulingGates\":[{\"name\":\"g\"}],",
                            group, group)
                         .p);
        change(w, path_of(w, name), arena_strf(w->arena, "{\"metadata\":{\"labels\":{\"group\":\"%s\"}}}", group).p);
        assert_int_equal(
                patch(w, path_of(w, name), JSON_PATCH_TYPE, "[{\"op\":\"remove\",\"path\":\"/spec/schedulingGates\"}]"),
                200);
        world_run(w, SECOND);
}

static void exclusive_placement_gives_a_zone_to_a_group(void **state) {
        struct world *w = *state;

        make_exclusive(w, "a-0", "a");
        make_exclusive(w, "b-0", "b");
        make_exclusive(w, "a-1", "a");
        make_exclusive(w, "c-0", "c");
        make_exclusive(w, "d-0", "d");
        assert_place(w, "a-0", "node-1");
        assert_place(w, "b-0", "node-2");
        assert_place(w, "a-1", "node-1");
        assert_place(w, "c-0", "node-3");
        assert_place(w, "d-0",
                     "Unschedulable: 0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.");
}

static void cordons_and_taints_are_kept(void **state) {
        struct world *w = *state;

        change(w, NODES "/node-1", "{\"spec\":{\"unschedulable\":true}}");
        change(w, NODES "/node-2",
               "{\"spec\":{\"taints\":[{\"key\":\"gpu\",\"value\":\"a\",\"effect\":\"NoSchedule\"}]}}");
        change(w, NODES "/node-3",
               "{\"spec\":{\"taints\":[{\"key\":\"gpu\",\"value\":\"b\",\"effect\":\"NoExecute\"}]}}");
        make_pod(w, "p", "", "");
        make_pod(w, "q", "",
                 "\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Equal\",\"value\":\"a\",\"effect\":\"NoSchedule\"}]"
                 ",");
        world_run(w, SECOND);
        assert_place(w, "p",
                     "Unschedulable: 0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated "
                     "taint(s).");
        assert_place(w, "q", "node-2");
        change(w, NODES "/node-1", "{\"spec\":{\"unschedulable\":null}}");
        world_run(w, SECOND);
        assert_place(w, "p", "node-1");
}

static void the_important_go_first(void **state) {
        struct world *w = *state;

        make(w, "/apis/scheduling.k8s.io/v1/priorityclasses", "{\"metadata\":{\"name\":\"high\"},\"value\":1000}");
        for (int i = 0; i < 3; i++)
                make_gpu_pod(w, arena_strf(w->arena, "full-%d", i).p, 8);
        world_run(w, SECOND);
        make_pod(w, "a", "", "");
        make_gpu_pod(w, "low", 8);
        world_run(w, SECOND);
        make(w, PODS,
             "{\"metadata\":{\"name\":\"urgent\"},\"spec\":{\"priorityClassName\":\"high\",\"containers\":[{\"name\":"
             "\"c\","
             "\"image\":\"img\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":8}}}]}}");
        world_run(w, SECOND);
        assert_int_equal(del(w, PODS "/full-1"), 200);
        world_run(w, SECOND);
        assert_state(w, "urgent", "Running True 0");
        assert_state(w, "low", "Pending - ");
}

static void a_stateful_set_waits_for_room_in_order(void **state) {
        struct world *w = *state;

        make(w, STATEFUL,
             "{\"metadata\":{\"name\":\"db\"},\"spec\":{\"replicas\":5,\"selector\":{\"matchLabels\":{\"app\":\"web\"}}"
             ","
             "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
             "\"image\":\"img\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":8}}}]}}}}");
        world_run(w, 10 * SECOND);
        assert_int_equal(count(w, PODS), 4);
        assert_place(w, "db-3", "Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.");
        get(w, STATEFUL "/db");
        assert_at(w, "status.readyReplicas", "3");
        change(w, STATEFUL "/db", "{\"spec\":{\"replicas\":3}}");
        world_run(w, 10 * SECOND);
        assert_int_equal(count(w, PODS), 3);
}

static void a_deployment_tells_that_some_of_it_do_not_fit(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS,
             "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":4,\"progressDeadlineSeconds\":60,\"selector\":{"
             "\"matchLabels\":{\"app\":\"web\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{"
             "\"containers\":[{\"name\":\"c\",\"image\":\"img\",\"resources\":{\"limits\":{\"nvidia.com/"
             "gpu\":8}}}]}}}}");
        world_run(w, 2 * MINUTE);
        assert_conditions(w, DEPLOYMENTS "/web",
                          "Available=True/MinimumReplicasAvailable Progressing=False/ProgressDeadlineExceeded");
        assert_at(w, "status.readyReplicas", "3");
        assert_at(w, "status.unavailableReplicas", "1");
}

/* 80m of 100m each on three of four, and 50 % is wanted: with the fourth, counted as idle, five are enough. */
static void an_autoscaler_counts_a_pod_that_does_not_fit_as_idle(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS,
             "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":4,\"selector\":{\"matchLabels\":{\"app\":\"web\"}"
             "},"
             "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"},\"annotations\":{\"sandbox.truce.dev/"
             "cpu\":\"80m\"}},"
             "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"img\",\"resources\":{\"requests\":{\"cpu\":"
             "\"100m\"},"
             "\"limits\":{\"nvidia.com/gpu\":8}}}]}}}}");
        make(w, SCALERS,
             "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"maxReplicas\":10,\"scaleTargetRef\":{\"apiVersion\":\"apps/"
             "v1\","
             "\"kind\":\"Deployment\",\"name\":\"web\"},\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":"
             "\"cpu\","
             "\"target\":{\"type\":\"Utilization\",\"averageUtilization\":50}}}]}}");
        world_run(w, 30 * SECOND);
        get(w, DEPLOYMENTS "/web");
        assert_at(w, "spec.replicas", "5");
        world_run(w, 10 * MINUTE);
        get(w, DEPLOYMENTS "/web");
        assert_at(w, "spec.replicas", "5"); /* with two idle ones the ratio is below the tolerance */
}

static void a_daemon_set_has_a_pod_on_each_node_and_replaces_one_at_a_time(void **state) {
        struct world *w = *state;

        make(w, DAEMONS, WEB("\"minReadySeconds\":10", ""));
        world_run(w, 20 * SECOND);
        get(w, DAEMONS "/web");
        assert_at(w, "status.desiredNumberScheduled", "3");
        assert_at(w, "status.numberAvailable", "3");
        change(w, DAEMONS "/web", IMAGE("two"));
        for (int i = 0; i < 3; i++) {
                world_run(w, 5 * SECOND);
                get(w, DAEMONS "/web");
                assert_at(w, "status.numberAvailable", "2");
                assert_at(w, "status.updatedNumberScheduled", arena_strf(w->arena, "%d", i + 1).p);
                world_run(w, 6 * SECOND);
        }
        world_run(w, 20 * SECOND);
        get(w, DAEMONS "/web");
        assert_at(w, "status.numberAvailable", "3");
        change(w, DAEMONS "/web", "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"" ZONE "\":\"zone-3\"}}}}}");
        world_run(w, 30 * SECOND);
        assert_int_equal(count(w, PODS), 1);
        get(w, PODS);
        assert_at(w, "items.0.spec.nodeName", "node-3");
}

/* ---- lost Nodes ---- */

static void a_node_that_is_lost_answers_no_more(void **state) {
        struct world *w = *state;

        make_pod(w, "lost", "", "\"nodeSelector\":{\"" ZONE "\":\"zone-1\"},");
        make_pod(w, "kept", "", "\"nodeSelector\":{\"" ZONE "\":\"zone-1\"},");
        world_run(w, 5 * SECOND);
        down(w, "node-1", "\"true\"");
        assert_conditions(w, NODES "/node-1", "Ready=Unknown/NodeStatusUnknown");
        assert_at(w, "spec.taints.0.key", "node.kubernetes.io/unreachable");
        assert_at(w, "spec.taints.0.effect", "NoSchedule");
        assert_at(w, "spec.taints.1.effect", "NoExecute");
        assert_state(w, "lost", "Running False 0");
        assert_at(w, "status.containerStatuses.0.ready", "true");
        assert_int_equal(del(w, PODS "/lost"), 200);
        make_pod(w, "more", "", "\"nodeSelector\":{\"" ZONE "\":\"zone-1\"},");
        world_run(w, MINUTE);
        assert_int_equal(get(w, PODS "/lost"), 200);
        assert_place(
                w, "more",
                "Unschedulable: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match "
                "Pod's node affinity/selector.");
        down(w, "node-1", "null");
        world_run(w, SECOND);
        assert_conditions(w, NODES "/node-1", "Ready=True/KubeletReady");
        assert_at(w, "spec.taints", "");
        assert_int_equal(get(w, PODS "/lost"), 404);
        assert_state(w, "kept", "Running True 0");
        assert_state(w, "more", "Running True 0");
}

static void the_pods_of_a_lost_node_are_deleted_after_five_minutes(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
        world_run(w, 5 * SECOND);
        down(w, "node-2", "\"true\"");
        world_run(w, 4 * MINUTE);
        assert_int_equal(count(w, PODS), 3);
        world_run(w, 2 * MINUTE);
        assert_int_equal(count(w, PODS), 4); /* the lost one, being deleted, and the one in its place */
        get(w, DEPLOYMENTS "/web");
        assert_at(w, "status.readyReplicas", "3");
        change(w, NODES "/node-2",
               "{\"spec\":{\"taints\":[{\"key\":\"node.kubernetes.io/out-of-service\",\"effect\":\"NoExecute\"}]}}");
        world_run(w, MINUTE);
        assert_int_equal(count(w, PODS), 3);
}

/* Then the cluster is what is lost, and nobody is evicted. */
static void no_pod_is_deleted_when_all_nodes_are_lost(void **state) {
        struct world *w = *state;

        make_pod(w, "p", "", "");
        world_run(w, 5 * SECOND);
        for (int i = 1; i <= 3; i++)
                down(w, arena_strf(w->arena, "node-%d", i).p, "\"true\"");
        world_run(w, HOUR);
        assert_state(w, "p", "Running False 0");
        assert_at(w, "metadata.deletionTimestamp", "");
}

static void a_node_that_was_lost_and_deleted_stays_away_and_its_pods_are_collected(void **state) {
        struct world *w = *state;

        make_pod(w, "p", "", "\"nodeSelector\":{\"" ZONE "\":\"zone-2\"},");
        make_pod(w, "q", "", "\"nodeSelector\":{\"" ZONE "\":\"zone-2\"},");
        world_run(w, 5 * SECOND);
        down(w, "node-2", "\"true\"");
        assert_int_equal(del(w, NODES "/node-2"), 200);
        assert_int_equal(del(w, PODS "/p"), 200);
        world_run(w, 30 * SECOND);
        assert_int_equal(count(w, PODS), 2);
        assert_int_equal(del(w, PODS "/p?gracePeriodSeconds=0"), 200);
        assert_int_equal(get(w, PODS "/p"), 404);
        world_run(w, MINUTE);
        assert_int_equal(count(w, PODS), 0);
        assert_int_equal(get(w, NODES "/node-2"), 404);
}

/* ---- the Node that takes everything ---- */

static void one_endless_node_takes_every_pod_until_there_is_a_second(void **state) {
        struct world *w = *state;

        make_pod(w, "p", "", "\"nodeSelector\":{\"no\":\"where\"},");
        world_run(w, 5 * SECOND);
        assert_place(w, "p", "sandbox");
        make(w, NODES,
             "{\"metadata\":{\"name\":\"second\",\"annotations\":{\"podsim.truce.dev/node\":\"true\"},\"labels\":{"
             "\"disk\":\"ssd\"}}}");
        make_pod(w, "q", "", "\"nodeSelector\":{\"disk\":\"ssd\"},");
        make_pod(w, "r", "", "\"nodeSelector\":{\"no\":\"where\"},");
        world_run(w, 5 * SECOND);
        assert_place(w, "q", "second");
        assert_state(w, "q", "Running True 0");
        assert_place(w, "r",
                     "Unschedulable: 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.");
        assert_int_equal(del(w, NODES "/second"), 200);
        world_run(w, 5 * SECOND);
        assert_place(w, "r", "sandbox");
        down(w, "sandbox", "\"true\"");
        make_pod(w, "s", "", "");
        world_run(w, SECOND);
        assert_place(w, "s", "Unschedulable: 0/1 nodes are available: 1 node(s) had untolerated taint(s).");
        assert_state(w, "p", "Running False 0");
        down(w, "sandbox", "null");
        world_run(w, SECOND);
        assert_state(w, "s", "Running True 0");
        assert_state(w, "p", "Running True 0");
}

static void the_node_of_a_pod_stands_in_its_events(void **state) {
        struct world *w = *state;
        bool is_told = false;

        make_pod(w, "p", "", "\"nodeSelector\":{\"" ZONE "\":\"zone-3\"},");
        world_run(w, 5 * SECOND);
        get(w, "/api/v1/namespaces/default/events");
        const struct value *list = value_getc(w->body, "items");
        for (size_t i = 0; i < value_count(list); i++)
                is_told |= str_eqc(value_text(value_getc(list->list.items[i], "message")),
                                   "Successfully assigned default/p to node-3");
        assert_true(is_told);
        get(w, PODS "/p");
        assert_at(w, "status.hostIP", "10.0.0.3");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORKLOAD_TEST(a_crash_is_counted_once_with_its_end),
                WORKLOAD_TEST(a_crash_that_is_in_the_template_waits_until_the_container_is_up),
                WORKLOAD_TEST(an_init_container_crashes_while_its_pod_is_pending),
                WORKLOAD_TEST(what_is_not_restarted_stays_down),
                WORKLOAD_TEST(slow_and_flapping_pods_take_their_time),
                WORKLOAD_TEST(an_evicted_pod_has_failed_and_its_set_replaces_it),
                WORKLOAD_TEST(a_termination_takes_its_time_within_the_grace_period),
                NODES_TEST(a_pod_that_does_not_fit_waits_for_room),
                NODES_TEST(a_gated_pod_is_left_alone),
                NODES_TEST(a_gated_pod_that_does_not_fit_keeps_its_time),
                NODES_TEST(pods_go_near_and_far_from_others),
                NODES_TEST(exclusive_placement_gives_a_zone_to_a_group),
                NODES_TEST(cordons_and_taints_are_kept),
                NODES_TEST(the_important_go_first),
                NODES_TEST(a_stateful_set_waits_for_room_in_order),
                NODES_TEST(a_deployment_tells_that_some_of_it_do_not_fit),
                NODES_TEST(an_autoscaler_counts_a_pod_that_does_not_fit_as_idle),
                NODES_TEST(a_daemon_set_has_a_pod_on_each_node_and_replaces_one_at_a_time),
                NODES_TEST(a_node_that_is_lost_answers_no_more),
                NODES_TEST(the_pods_of_a_lost_node_are_deleted_after_five_minutes),
                NODES_TEST(no_pod_is_deleted_when_all_nodes_are_lost),
                NODES_TEST(a_node_that_was_lost_and_deleted_stays_away_and_its_pods_are_collected),
                NODES_TEST(the_node_of_a_pod_stands_in_its_events),
                WORKLOAD_TEST(one_endless_node_takes_every_pod_until_there_is_a_second),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
