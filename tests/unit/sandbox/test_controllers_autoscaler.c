/* SPDX-License-Identifier: Apache-2.0 */
/* HorizontalPodAutoscalers. Conditions and messages were recorded from kube-controller-manager v1.37.2. */
#include "sandbox/workloads.h"

#define SCALER(more)                                                                                                   \
        "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"maxReplicas\":10," more                                          \
        "\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\","                                                              \
        "\"kind\":\"Deployment\",\"name\":\"web\"},\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":"        \
        "\"cpu\","                                                                                                     \
        "\"target\":{\"type\":\"Utilization\",\"averageUtilization\":50}}}]}}"
#define LOAD(cpu) "{\"metadata\":{\"annotations\":{\"sandbox.truce.dev/load-cpu\":\"" cpu "\"}}}"
#define WITHIN    "ScalingLimited=False/DesiredWithinRange"
#define ACTIVE    "ScalingActive=True/ValidMetricFound"

static void assert_replicas(struct world *w, const char *wanted) {
        assert_int_equal(get(w, DEPLOYMENTS "/web"), 200);
        assert_at(w, "spec.replicas", wanted);
}

/* 3 Pods that ask for 100m each; 150m in all is what is wanted of them. */
static void begin(struct world *w, const char *scaler) {
        make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
        make(w, SCALERS, scaler);
        world_run(w, MINUTE);
}

static void without_metrics_nothing_is_scaled(void **state) {
        struct world *w = *state;

        begin(w, SCALER(""));
        assert_conditions(w, SCALERS "/web",
                          "AbleToScale=True/SucceededGetScale ScalingActive=False/FailedGetResourceMetric");
        assert_at(w, "status.conditions.0.message", "the HPA controller was able to get the target's current scale");
        assert_at(
                w, "status.conditions.1.message",
                "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics "
                "for resource cpu: no metrics returned from resource metrics API");
        assert_at(w, "status.currentReplicas", "3");
        assert_at(w, "status.desiredReplicas", "0");
        assert_at(w, "status.currentMetrics", "[{\"type\":\"\"}]");
        assert_at(w, "status.observedGeneration", "1");
        assert_replicas(w, "3");
}

static void load_scales_up_and_its_end_down_after_the_window(void **state) {
        struct world *w = *state;

        begin(w, SCALER(""));
        change(w, DEPLOYMENTS "/web", LOAD("240m"));
        world_run(w, 20 * SECOND);
        assert_replicas(w, "5");
        world_run(w, MINUTE);
        assert_conditions(w, SCALERS "/web",
                          "AbleToScale=True/ReadyForNewScale " ACTIVE " " WITHIN " ScaledToZero=False/NotScaledToZero");
        assert_at(w, "status.currentMetrics",
                  "[{\"resource\":{\"current\":{\"averageUtilization\":48,\"averageValue\":\"48m\"},\"name\":\"cpu\"},"
                  "\"type\":"
                  "\"Resource\"}]");
        assert_at(w, "status.currentReplicas", "5");
        assert_at(w, "status.desiredReplicas", "5");
        assert_string_equal(at(w, "status.conditions.1.message"),
                            "the HPA was able to successfully calculate a replica count from cpu resource utilization "
                            "(percentage of request)");
        assert_string_not_equal(at(w, "status.lastScaleTime"), "");
        change(w, DEPLOYMENTS "/web", LOAD("50m"));
        world_run(w, 4 * MINUTE);
        assert_replicas(w, "5");
        assert_conditions(w, SCALERS "/web",
                          "AbleToScale=True/ScaleDownStabilized " ACTIVE " " WITHIN
                          " ScaledToZero=False/NotScaledToZero");
        world_run(w, 2 * MINUTE);
        assert_replicas(w, "1");
        world_run(w, HOUR);
        assert_replicas(w, "1");
        assert_int_equal(run_until_idle(w), 0);
}

static void the_size_is_written_through_scale(void **state) {
        struct world *w = *state;

        begin(w, SCALER(""));
        change(w, DEPLOYMENTS "/web", LOAD("240m"));
        world_run(w, MINUTE);
        get(w, DEPLOYMENTS "/web");
        const struct value *entries = value_path(w->body, "metadata", "managedFields", NULL), *found = NULL;
        for (size_t i = 0; i < value_count(entries); i++)
                if (str_eqc(value_text(value_getc(entries->list.items[i], "subresource")), "scale"))
                        found = entries->list.items[i];
        assert_non_null(found);
        assert_true(str_eqc(value_text(value_getc(found, "manager")), "kube-controller-manager"));
        assert_string_equal(value_canonical(w->arena, value_getc(found, "fieldsV1")).p,
                            "{\"f:spec\":{\"f:replicas\":{}}}");
}

static void growth_is_limited_by_rate_and_maximum(void **state) {
        struct world *w = *state;

        begin(w, SCALER(""));
        change(w, DEPLOYMENTS "/web", LOAD("2"));
        world_run(w, 16 * SECOND);
        assert_replicas(w, "6");
        assert_conditions(w, SCALERS "/web",
                          "AbleToScale=True/SucceededRescale " ACTIVE
                          " ScalingLimited=True/ScaleUpLimit ScaledToZero=False/NotScaledToZero");
        assert_at(w, "status.conditions.0.message", "the HPA controller was able to update the target scale to 6");
        world_run(w, MINUTE);
        assert_replicas(w, "10");
        assert_conditions(w, SCALERS "/web",
                          "AbleToScale=True/ReadyForNewScale " ACTIVE
                          " ScalingLimited=True/TooManyReplicas ScaledToZero=False/NotScaledToZero");
}

static void the_minimum_holds(void **state) {
        struct world *w = *state;

        begin(w, SCALER("\"minReplicas\":2,"));
        change(w, DEPLOYMENTS "/web", LOAD("1m"));
        world_run(w, 10 * MINUTE);
        assert_replicas(w, "2");
        get(w, SCALERS "/web");
        assert_at(w, "status.conditions.2.reason", "TooFewReplicas");
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"replicas\":1}}");
        world_run(w, 20 * SECOND);
        assert_replicas(w, "2");
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"replicas\":20}}");
        world_run(w, 20 * SECOND);
        assert_replicas(w, "10");
}

static void small_differences_are_tolerated(void **state) {
        struct world *w = *state;

        begin(w, SCALER(""));
        change(w, DEPLOYMENTS "/web", LOAD("163m"));
        world_run(w, 10 * MINUTE);
        assert_replicas(w, "3");
        change(w, DEPLOYMENTS "/web", LOAD("170m"));
        world_run(w, 10 * MINUTE);
        assert_replicas(w, "4");
}

static void a_target_without_replicas_is_left_alone(void **state) {
        struct world *w = *state;

        begin(w, SCALER(""));
        change(w, DEPLOYMENTS "/web", LOAD("2"));
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"replicas\":0}}");
        world_run(w, 5 * MINUTE);
        assert_replicas(w, "0");
        get(w, SCALERS "/web");
        assert_at(w, "status.conditions.1.reason", "ScalingDisabled");
}

static void a_missing_target_is_told_and_found_later(void **state) {
        struct world *w = *state;

        make(w, SCALERS, SCALER(""));
        world_run(w, MINUTE);
        assert_conditions(w, SCALERS "/web", "AbleToScale=False/FailedGetScale");
        assert_at(
                w, "status.conditions.0.message",
                "the HPA controller was unable to get the target's current scale: deployments.apps \"web\" not found");
        make(w, DEPLOYMENTS, WEB("\"replicas\":3", "\"sandbox.truce.dev/cpu\":\"100m\""));
        world_run(w, 2 * MINUTE);
        assert_replicas(w, "10");
}

static void a_pod_without_request_is_named(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS,
             "{\"metadata\":{\"name\":\"web\",\"annotations\":{\"sandbox.truce.dev/"
             "load-cpu\":\"1\"}},\"spec\":{\"selector\":{"
             "\"matchLabels\":{\"app\":\"web\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{"
             "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
        make(w, SCALERS, SCALER(""));
        world_run(w, MINUTE);
        get(w, SCALERS "/web");
        assert_non_null(strstr(at(w, "status.conditions.1.message"),
                               "failed to get cpu utilization: missing request for cpu in container c of Pod web-"));
}

static void behavior_slows_both_ways(void **state) {
        struct world *w = *state;

        begin(w,
              SCALER("\"behavior\":{\"scaleUp\":{\"policies\":[{\"type\":\"Pods\",\"value\":1,\"periodSeconds\":60}]},"
                     "\"scaleDown\":{\"stabilizationWindowSeconds\":0,\"policies\":[{\"type\":\"Pods\",\"value\":2,"
                     "\"periodSeconds\":60}]}},"));
        change(w, DEPLOYMENTS "/web", LOAD("300m"));
        world_run(w, 30 * SECOND);
        assert_replicas(w, "4");
        world_run(w, MINUTE);
        assert_replicas(w, "5");
        world_run(w, MINUTE);
        assert_replicas(w, "6");
        world_run(w, 2 * MINUTE);
        change(w, DEPLOYMENTS "/web", LOAD("50m"));
        world_run(w, 30 * SECOND);
        assert_replicas(w, "4");
        world_run(w, MINUTE);
        assert_replicas(w, "2");
        world_run(w, MINUTE);
        assert_replicas(w, "1");
}

static void scaling_down_can_be_disabled(void **state) {
        struct world *w = *state;

        begin(w, SCALER("\"behavior\":{\"scaleDown\":{\"selectPolicy\":\"Disabled\"}},"));
        change(w, DEPLOYMENTS "/web", LOAD("1m"));
        world_run(w, HOUR);
        assert_replicas(w, "3");
        get(w, SCALERS "/web");
        assert_at(w, "status.conditions.2.reason", "ScaleDownLimit");
}

/* ---- other sources, other targets ---- */

#define METRICS_CRD                                                                                                    \
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"    \
        "\"pods.metrics.k8s.io\",\"annotations\":{\"api-approved.kubernetes.io\":\"unapproved, test "                  \
        "only\"}},\"spec\":{"                                                                                          \
        "\"group\":\"metrics.k8s.io\",\"scope\":\"Namespaced\",\"names\":{\"kind\":\"PodMetrics\",\"listKind\":"       \
        "\"PodMetricsList\",\"plural\":\"pods\",\"singular\":\"podmetrics\"},\"versions\":[{\"name\":\"v1beta1\","     \
        "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","                       \
        "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}"
#define WIDGET_CRD                                                                                                     \
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"    \
        "\"widgets.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"kind\":"   \
        "\"Widget\",\"listKind\":\"WidgetList\",\"plural\":\"widgets\",\"singular\":\"widget\"},\"versions\":[{"       \
        "\"name\":"                                                                                                    \
        "\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":"     \
        "\".spec.replicas\",\"statusReplicasPath\":\".status.replicas\",\"labelSelectorPath\":\".status.selector\"}}," \
        "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","          \
        "\"properties\":{"                                                                                             \
        "\"replicas\":{\"type\":\"integer\"}}},\"status\":{\"type\":\"object\",\"properties\":{\"replicas\":{"         \
        "\"type\":"                                                                                                    \
        "\"integer\"},\"selector\":{\"type\":\"string\"}}}}}}}]}}"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

static void pod_metrics_objects_count(void **state) {
        struct world *w = *state;

        make(w, CRDS, METRICS_CRD);
        world_run(w, 5 * SECOND);
        begin(w, SCALER(""));
        get(w, PODS);
        const struct value *pods = value_getc(w->body, "items");
        for (size_t i = 0; i < value_count(pods); i++)
                make(w, "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods",
                     arena_strf(w->arena,
                                "{\"apiVersion\":\"metrics.k8s.io/"
                                "v1beta1\",\"kind\":\"PodMetrics\",\"metadata\":{\"name\":"
                                "\"%.*s\"},\"containers\":[{\"name\":\"c\",\"usage\":{\"cpu\":\"80m\"}}]}",
                                STR_FMT(value_text(value_path(pods->list.items[i], "metadata", "name", NULL))))
                             .p);
        world_run(w, 20 * SECOND);
        assert_replicas(w, "5");
}

static void custom_resources_are_scaled_too(void **state) {
        struct world *w = *state;

        make(w, CRDS, WIDGET_CRD);
        world_run(w, 5 * SECOND);
        make(w, "/apis/example.com/v1/namespaces/default/widgets",
             "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"w\",\"annotations\":{"
             "\"sandbox.truce.dev/load-cpu\":\"200m\"}},\"spec\":{\"replicas\":1}}");
        assert_int_equal(patch(w, "/apis/example.com/v1/namespaces/default/widgets/w/status", MERGE_TYPE,
                               "{\"status\":{\"replicas\":1,\"selector\":\"app=w\"}}"),
                         200);
        make(w, PODS, "{\"metadata\":{\"name\":\"p\",\"labels\":{\"app\":\"w\"}},\"spec\":{" CONTAINERS("img") "}}");
        make(w, SCALERS,
             "{\"metadata\":{\"name\":\"w\"},\"spec\":{\"maxReplicas\":3,\"scaleTargetRef\":{\"apiVersion\":\"example."
             "com/v1\","
             "\"kind\":\"Widget\",\"name\":\"w\"},\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\","
             "\"target\":{\"type\":\"AverageValue\",\"averageValue\":\"100m\"}}}]}}");
        world_run(w, MINUTE);
        get(w, "/apis/example.com/v1/namespaces/default/widgets/w");
        assert_at(w, "spec.replicas", "2");
        get(w, SCALERS "/w");
        assert_at(w, "status.currentMetrics.0.resource.current", "{\"averageValue\":\"200m\"}");
}

static void an_autoscaler_at_rest_has_no_timer(void **state) {
        struct world *w = *state;

        begin(w, SCALER(""));
        change(w, DEPLOYMENTS "/web", LOAD("150m"));
        assert_true(run_until_idle(w) < 10 * MINUTE);
        assert_int_equal(run_until_idle(w), 0);
        assert_replicas(w, "3");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORKLOAD_TEST(without_metrics_nothing_is_scaled),
                WORKLOAD_TEST(load_scales_up_and_its_end_down_after_the_window),
                WORKLOAD_TEST(the_size_is_written_through_scale),
                WORKLOAD_TEST(growth_is_limited_by_rate_and_maximum),
                WORKLOAD_TEST(the_minimum_holds),
                WORKLOAD_TEST(small_differences_are_tolerated),
                WORKLOAD_TEST(a_target_without_replicas_is_left_alone),
                WORKLOAD_TEST(a_missing_target_is_told_and_found_later),
                WORKLOAD_TEST(a_pod_without_request_is_named),
                WORKLOAD_TEST(behavior_slows_both_ways),
                WORKLOAD_TEST(scaling_down_can_be_disabled),
                WORKLOAD_TEST(pod_metrics_objects_count),
                WORKLOAD_TEST(custom_resources_are_scaled_too),
                WORKLOAD_TEST(an_autoscaler_at_rest_has_no_timer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
