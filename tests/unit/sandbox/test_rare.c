/* SPDX-License-Identifier: Apache-2.0 */
/* What random requests brought up (tests/cluster/fidelity): answers as a v1.37.2 API server gave them. */
#include "sandbox/world.h"

#define NS          "/api/v1/namespaces/default"
#define SERVICES    NS "/services"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define JOBS        "/apis/batch/v1/namespaces/default/jobs"
#define BUDGETS     "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define POLICIES    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
#define ROLES       "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
#define THINGS      "/apis/example.com/v1/namespaces/default/things"
#define META(name)  "\"metadata\":{\"name\":\"" name "\"}"
#define POD_SPEC    "{\"containers\":[{\"name\":\"main\",\"image\":\"img:1\"}],\"restartPolicy\":\"Never\"}"
#define NO_STACK    "this cluster is not configured for dual-stack services"

static int setup(void **state) {
        *state = world_new(NULL);
        return 0;
}

static int teardown(void **state) {
        world_free(*state);
        return 0;
}

static void define_things(struct world *w) {
        assert_int_equal(
                post(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                     "{\"metadata\":{\"name\":\"things.example.com\"},\"spec\":{\"group\":\"example.com\","
                     "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"things\",\"singular\":\"thing\",\"kind\":"
                     "\"Thing\","
                     "\"listKind\":\"ThingList\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                     "\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":\".spec.replicas\","
                     "\"statusReplicasPath\":\".status.replicas\"}},"
                     "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"
                     "\"spec\":{\"type\":\"object\",\"properties\":{\"replicas\":{\"type\":\"integer\"}}},"
                     "\"status\":{\"type\":\"object\",\"properties\":{\"replicas\":{\"type\":\"integer\"},"
                     "\"seen\":{\"type\":\"integer\"}}}}}}}]}}"),
                201);
        world_run(w, 1000);
}

/* --- Services --- */

static void a_service_that_takes_one_stack_keeps_its_preference(void **state) {
        struct world *w = *state;

        assert_int_equal(
                post(w, SERVICES,
                     "{" META("s") ",\"spec\":{\"ipFamilyPolicy\":\"PreferDualStack\",\"ports\":[{\"port\":80}]}}"),
                201);
        assert_at(w, "spec.ipFamilies", "[\"IPv4\"]");
        assert_int_equal(ask(w, KUBE_PUT, SERVICES "/s", "{" META("s") ",\"spec\":{\"ports\":[{\"port\":81}]}}"), 200);
        assert_at(w, "spec.ipFamilyPolicy", "PreferDualStack");
}

static void families_are_refused_before_anything_else(void **state) {
        struct world *w = *state;

        assert_int_equal(
                post(w, SERVICES, "{" META("s") ",\"spec\":{\"clusterIP\":\"None\",\"ports\":[{\"port\":80}]}}"), 201);
        assert_at(w, "spec.ipFamilyPolicy", "RequireDualStack");
        assert_int_equal(patch(w, SERVICES "/s", STRATEGIC_TYPE,
                               "{\"spec\":{\"externalTrafficPolicy\":\"Cluster\",\"selector\":{\"app\":\"a\"}}}"),
                         422);
        assert_message(w,
                       "Service \"s\" is invalid: [spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": " NO_STACK
                       ", spec.ipFamilies[1]: Invalid value: \"IPv6\": not configured on this cluster]");
}

static void a_service_that_is_no_balancer_any_more_shows_no_points(void **state) {
        struct world *w = *state;

        assert_int_equal(
                post(w, SERVICES, "{" META("s") ",\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80}]}}"),
                201);
        assert_int_equal(patch(w, SERVICES "/s/status", MERGE_TYPE,
                               "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.9\"}]}}}"),
                         200);
        assert_at(w, "status.loadBalancer.ingress.0.ipMode", "VIP");
        assert_int_equal(patch(w, SERVICES "/s", MERGE_TYPE, "{\"spec\":{\"type\":\"ClusterIP\"}}"), 200);
        assert_at(w, "status", "{\"loadBalancer\":{}}");
        assert_at(w, "spec.allocateLoadBalancerNodePorts", "");
        assert_at(w, "spec.ports.0.nodePort", "");
}

static void a_balancer_that_is_local_gets_a_port_for_its_health(void **state) {
        struct world *w = *state;

        assert_int_equal(
                post(w, SERVICES,
                     "{" META("s") ",\"spec\":{\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":\"Local\"}}"),
                422);
        assert_message(w, "Service \"s\" is invalid: spec.ports: Required value");
}

/* --- options and versions --- */

static void options_and_versions_are_read_to_the_letter(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, CM, "{" META("a") "}"), 201);
        assert_int_equal(ask(w, KUBE_DELETE, CM "/a", "{\"propagationPolicy\":\"\"}"), 422);
        assert_message(
                w, "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"\": supported "
                   "values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
        assert_int_equal(ask(w, KUBE_PUT, CM "/a", "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"UPPER\"}}"),
                         500);
        assert_message(w, "strconv.ParseUint: parsing \"UPPER\": invalid syntax");
        assert_at(w, "reason", "");
}

static void a_dry_run_that_would_end_an_object_shows_a_blank_one(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, CM, "{" META("a") "}"), 201);
        assert_int_equal(post(w, BUDGETS, "{" META("b") ",\"spec\":{}}"), 201);
        assert_int_equal(patch(w, BUDGETS "/b", MERGE_TYPE, "{\"metadata\":{\"finalizers\":[\"foregroundDeletion\"]}}"),
                         200);
        assert_int_equal(del(w, BUDGETS "/b?propagationPolicy=Background&dryRun=All"), 200);
        assert_at(w, "kind", "PodDisruptionBudget");
        assert_at(w, "metadata", "{}");
        assert_int_equal(get(w, BUDGETS "/b"), 200);
}

/* --- empty and null --- */

static void a_null_name_is_a_name(void **state) {
        struct world *w = *state;

        assert_int_equal(apply(w, DEPLOYMENTS "/d?fieldManager=m",
                               "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"," META(
                                       "d") ",\"spec\":{\"selector\":{"
                                            "\"matchLabels\":{\"app\":\"a\"}},\"template\":{\"metadata\":{\"labels\":{"
                                            "\"app\":\"a\"}},\"spec\":{"
                                            "\"containers\":[{\"image\":\"x\",\"name\":null}]}}}}"),
                         422);
        assert_message(w, "Deployment.apps \"d\" is invalid: spec.template.spec.containers[0].name: Required value");
}

static void empty_labels_are_quoted_as_such(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, DEPLOYMENTS,
                              "{" META("d") ",\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"a\"}},\"template\":{"
                                            "\"metadata\":{\"labels\":{}},\"spec\":{\"containers\":[{\"image\":\"x\","
                                            "\"name\":\"c\"}]}}}}"),
                         422);
        assert_message(w,
                       "Deployment.apps \"d\" is invalid: spec.template.metadata.labels: Invalid value: {}: `selector` "
                       "does not match template `labels`");
}

static void an_empty_map_counts_as_another_policy(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, POLICIES, "{" META("p") ",\"spec\":{\"podSelector\":{}}}"), 201);
        assert_int_equal(patch(w, POLICIES "/p", MERGE_TYPE, "{\"spec\":{\"podSelector\":{\"matchLabels\":{}}}}"), 200);
        assert_at(w, "metadata.generation", "2");
        assert_at(w, "spec.podSelector", "{}");
        assert_int_equal(patch(w, POLICIES "/p", MERGE_TYPE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 200);
        assert_at(w, "metadata.generation", "2");
}

static void empty_data_is_a_change_of_what_is_immutable(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, CM, "{" META("a") ",\"immutable\":true}"), 201);
        assert_int_equal(patch(w, CM "/a", MERGE_TYPE, "{\"binaryData\":{}}"), 422);
        assert_message(w,
                       "ConfigMap \"a\" is invalid: binaryData: Forbidden: field is immutable when `immutable` is set");
}

static void an_empty_list_of_rules_has_an_owner_and_is_null(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, ROLES "?fieldManager=m", "{" META("r") ",\"rules\":[]}"), 201);
        assert_at(w, "rules", "null");
        assert_at(w, "metadata.managedFields.0.fieldsV1", "{\"f:rules\":{}}");
}

/* --- what is stored and not read --- */

static void what_nobody_reads_makes_the_next_write_one(void **state) {
        static const char body[] = "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"t\","
                                   "\"labels\":{}}}";
        struct world *w = *state;
        const char *rv;

        define_things(w);
        assert_int_equal(apply(w, THINGS "/t?fieldManager=m", body), 201);
        rv = at(w, "metadata.resourceVersion");
        assert_int_equal(apply(w, THINGS "/t?fieldManager=m", body), 200);
        assert_string_not_equal(at(w, "metadata.resourceVersion"), rv);
        assert_at(w, "metadata.labels", "");
}

static void a_job_is_stored_without_its_templates_labels(void **state) {
        static const char body[] =
                "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"," META("j") ",\"spec\":{\"template\":{"
                                                                           "\"spec\":" POD_SPEC "}}}";
        struct world *w = *state;
        const char *rv;

        assert_int_equal(apply(w, JOBS "/j?fieldManager=m", body), 201);
        assert_at(w, "metadata.labels.job-name", "j");
        rv = at(w, "metadata.resourceVersion");
        assert_int_equal(apply(w, JOBS "/j?fieldManager=m", body), 200);
        assert_string_not_equal(at(w, "metadata.resourceVersion"), rv);
        rv = at(w, "metadata.resourceVersion");
        assert_int_equal(apply(w, JOBS "/j?fieldManager=m", body), 200);
        assert_at(w, "metadata.resourceVersion", rv);
}

static void references_to_secrets_are_cut_after_owners(void **state) {
        struct world *w = *state;

        assert_int_equal(apply(w, NS "/serviceaccounts/s?fieldManager=m",
                               "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\"," META(
                                       "s") ",\"secrets\":[{\"name\":\"three\",\"namespace\":\"x\"}]}"),
                         201);
        assert_at(w, "secrets", "[{\"name\":\"three\"}]");
        assert_int_equal(patch(w, NS "/serviceaccounts/s?fieldManager=o", MERGE_TYPE,
                               "{\"secrets\":[{\"name\":\"three\",\"namespace\":\"x\"}]}"),
                         200);
        assert_at(w, "metadata.managedFields.0.manager", "o");
        assert_at(w, "metadata.managedFields.0.fieldsV1", "{\"f:secrets\":{\"k:{\\\"name\\\":\\\"three\\\"}\":{}}}");
}

/* --- scales and statuses --- */

static void scales_of_custom_resources_are_not_applied(void **state) {
        static const char scale[] =
                "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\"," META("t") ",\"spec\":{\"replicas\":2}}";
        struct world *w = *state;

        define_things(w);
        assert_int_equal(apply(w, THINGS "/t?fieldManager=m",
                               "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\"," META("t") ",\"spec\":{}}"),
                         201);
        assert_int_equal(apply(w, THINGS "/t/scale?fieldManager=m", scale), 500);
        assert_message(
                w, "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, "
                   "Kind=Scale) to proper version: request to convert CR to an invalid group/version: "
                   "autoscaling/v1");
        assert_int_equal(
                apply(w, THINGS "/t?fieldManager=o",
                      "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\"," META("t") ",\"spec\":{\"replicas\":1}}"),
                200);
        assert_int_equal(apply(w, THINGS "/t/scale?fieldManager=m&force=true", scale), 500);
        assert_message(w, "failed to convert new object (/t; autoscaling/v1, Kind=Scale) to proper version: request to "
                          "convert CR to an invalid group/version: autoscaling/v1");
}

static void a_status_is_validated_by_itself(void **state) {
        struct world *w = *state;

        define_things(w);
        assert_int_equal(
                post(w, THINGS, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\"," META("t") ",\"spec\":{}}"),
                201);
        assert_int_equal(patch(w, THINGS "/t/status", MERGE_TYPE, "{\"status\":{\"seen\":\"7\"}}"), 422);
        assert_message(
                w, "Thing.example.com \"t\" is invalid: status.seen: Invalid value: \"string\": seen in body must be "
                   "of type integer: \"string\"");
        assert_int_equal(post(w, BUDGETS, "{" META("b") ",\"spec\":{}}"), 201);
        assert_int_equal(patch(w, BUDGETS "/b/status", MERGE_TYPE,
                               "{\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":\"True\",\"reason\":\"R\","
                               "\"message\":\"\","
                               "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"A\",\"status\":\"True\","
                               "\"reason\":\"R\","
                               "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}"),
                         422);
        assert_message(w, "PodDisruptionBudget.policy \"b\" is invalid: status.conditions[1]: Duplicate value: \"A\"");
}

static void a_job_that_runs_keeps_its_start(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, JOBS, "{" META("j") ",\"spec\":{\"template\":{\"spec\":" POD_SPEC "}}}"), 201);
        assert_int_equal(
                patch(w, JOBS "/j/status", MERGE_TYPE, "{\"status\":{\"startTime\":\"2026-01-01T00:00:00Z\"}}"), 200);
        assert_int_equal(patch(w, JOBS "/j/status", MERGE_TYPE, "{\"status\":{\"startTime\":null}}"), 422);
        assert_message(w, "Job.batch \"j\" is invalid: status.startTime: Invalid value: null: field is immutable for "
                          "unsuspended job once set");
}

/* --- texts --- */

static void a_refused_patch_quotes_what_it_left_alone_in_gos_order(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, BUDGETS,
                              "{" META("b") ",\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
                                            "\"minAvailable\":1}}"),
                         201);
        assert_int_equal(patch(w, BUDGETS "/b", MERGE_TYPE, "{\"metadata\":7}"), 422);
        assert_true(str_contains(str_from(at(w, "message")),
                                 STR("\\\"metadata\\\":7,\\\"spec\\\":{\\\"minAvailable\\\":1,\\\"selector\\\":{")));
}

static void tables_list_the_points_of_an_ingress(void **state) {
        static const char path[] = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
        struct world *w = *state;
        char one[128];

        snprintf(one, sizeof one, "%s/i/status", path);
        assert_int_equal(post(w, path,
                              "{" META("i") ",\"spec\":{\"defaultBackend\":{\"service\":{\"name\":\"w\",\"port\":{"
                                            "\"number\":80}}}}}"),
                         201);
        assert_int_equal(patch(w, one, MERGE_TYPE,
                               "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"a.example.com\"},"
                               "{\"ip\":\"192.0.2.9\"}]}}}"),
                         200);
        assert_int_equal(ask_as(w, KUBE_GET, path, NULL, NULL, "application/json;as=Table;v=v1;g=meta.k8s.io"), 200);
        assert_at(w, "rows.0.cells.3", "192.0.2.9,a.example.com");
        assert_int_equal(ask_as(w, KUBE_GET, ROLES, NULL, NULL, "application/json;as=Table;v=v1;g=meta.k8s.io"), 200);
        assert_at(w, "rows", "null");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_service_that_takes_one_stack_keeps_its_preference),
                CASE(families_are_refused_before_anything_else),
                CASE(a_service_that_is_no_balancer_any_more_shows_no_points),
                CASE(a_balancer_that_is_local_gets_a_port_for_its_health),
                CASE(options_and_versions_are_read_to_the_letter),
                CASE(a_dry_run_that_would_end_an_object_shows_a_blank_one),
                CASE(a_null_name_is_a_name),
                CASE(empty_labels_are_quoted_as_such),
                CASE(an_empty_map_counts_as_another_policy),
                CASE(empty_data_is_a_change_of_what_is_immutable),
                CASE(an_empty_list_of_rules_has_an_owner_and_is_null),
                CASE(what_nobody_reads_makes_the_next_write_one),
                CASE(a_job_is_stored_without_its_templates_labels),
                CASE(references_to_secrets_are_cut_after_owners),
                CASE(scales_of_custom_resources_are_not_applied),
                CASE(a_status_is_validated_by_itself),
                CASE(a_job_that_runs_keeps_its_start),
                CASE(a_refused_patch_quotes_what_it_left_alone_in_gos_order),
                CASE(tables_list_the_points_of_an_ingress),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
