/* SPDX-License-Identifier: Apache-2.0 */
/* What single kinds do at a write, as a v1.37.2 API server answered. */
#include "sandbox/world.h"

#define NS       "/api/v1/namespaces"
#define IN       "/api/v1/namespaces/default/"
#define POD_SPEC "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]"

static int setup(void **state) {
        *state = world_new(NULL);
        return 0;
}

static int teardown(void **state) {
        world_free(*state);
        return 0;
}

static void what_a_closed_gate_takes_away_has_an_owner(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, "/apis/coordination.k8s.io/v1/namespaces/default/leases",
                              "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"me\",\"preferredHolder\":\"\"}}"),
                         201);
        assert_at(w, "spec", "{\"holderIdentity\":\"me\"}");
        assert_at(w, "metadata.managedFields.0.fieldsV1",
                  "{\"f:spec\":{\"f:holderIdentity\":{},\"f:preferredHolder\":{}}}");
}

static void a_gated_pod_says_so(void **state) {
        struct world *w = *state;

        assert_int_equal(
                post(w, IN "pods",
                     "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"schedulingGates\":[{\"name\":\"a.b/c\"}]," POD_SPEC "}}"),
                201);
        assert_at(w, "status.conditions",
                  "[{\"lastProbeTime\":null,\"lastTransitionTime\":\"2027-01-15T08:00:00Z\",\"message\":\"Scheduling is "
                  "blocked due to non-empty scheduling gates\",\"reason\":\"SchedulingGated\",\"status\":\"False\",\"type\":"
                  "\"PodScheduled\"}]");
}

static void a_pods_priority_is_that_of_its_class(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, IN "pods", "{\"metadata\":{\"name\":\"one\"},\"spec\":{\"priority\":7," POD_SPEC "}}"),
                         403);
        assert_message(w, "pods \"one\" is forbidden: the integer value of priority (7) must not be provided in pod spec; "
                          "priority admission controller computed 0 from the given PriorityClass name");
        assert_int_equal(post(w, IN "pods",
                              "{\"metadata\":{\"generateName\":\"made-\"},\"spec\":{\"priorityClassName\":\"nope\"," POD_SPEC
                              "}}"),
                         403);
        assert_message(w, "pods \"made-\" is forbidden: no PriorityClass with name nope was found");
        assert_int_equal(post(w, IN "pods", "{\"metadata\":{\"name\":\"one\"},\"spec\":{\"priority\":0," POD_SPEC "}}"),
                         201);
}

static void what_is_filled_in_at_a_pods_creation_comes_back(void **state) {
        struct world *w = *state;

        post(w, IN "pods", "{\"metadata\":{\"name\":\"p\"},\"spec\":{" POD_SPEC "}}");
        assert_int_equal(patch(w, IN "pods/p", MERGE_TYPE,
                               "{\"spec\":{\"priority\":null,\"tolerations\":[{\"key\":\"a\",\"operator\":\"Exists\"},{\"key\":"
                               "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
                               "\"tolerationSeconds\":300}]}}"),
                         200);
        assert_at(w, "spec.priority", "0");
        assert_at(w, "spec.tolerations.2.key", "node.kubernetes.io/unreachable");
}

static void labels_of_pod_security_must_be_known(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, NS,
                              "{\"metadata\":{\"name\":\"n\",\"labels\":{\"pod-security.kubernetes.io/enforce\":\"odd\"}}}"),
                         422);
        assert_message(w, "Namespace \"n\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "
                          "\"odd\": must be one of privileged, baseline, restricted");
        assert_int_equal(
                post(w, NS, "{\"metadata\":{\"name\":\"n\",\"labels\":{\"pod-security.kubernetes.io/enforce\":\"baseline\"}}}"),
                201);
}

static void a_namespace_ends_only_by_its_deletion(void **state) {
        struct world *w = *state;

        post(w, NS, "{\"metadata\":{\"name\":\"n\"}}");
        assert_int_equal(patch(w, NS "/n/status", MERGE_TYPE, "{\"status\":{\"phase\":\"Terminating\"}}"), 422);
        assert_message(w, "Namespace \"n\" is invalid: status.Phase: Invalid value: \"Terminating\": may only be 'Active' if "
                          "`deletionTimestamp` is empty");
        assert_int_equal(ask(w, KUBE_DELETE, NS "/n", "{\"preconditions\":{\"resourceVersion\":\"1\"}}"), 409);
        assert_true(str_starts(str_from(at(w, "message")),
                               STR("Operation cannot be fulfilled on namespaces \"n\": Precondition failed: ResourceVersion "
                                   "in precondition: 1, ResourceVersion in object meta: ")));
        assert_int_equal(ask(w, KUBE_DELETE, NS "/n", "{\"orphanDependents\":false}"), 202);
        assert_at(w, "metadata.finalizers", "[\"foregroundDeletion\"]");
        assert_at(w, "status.phase", "Terminating");
}

static void a_claims_source_is_told_twice(void **state) {
        struct world *w = *state;
#define CLAIM(name, source)                                                                                            \
        "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{" \
        "\"storage\":\"1Gi\"}}," source "}}"

        assert_int_equal(post(w, IN "persistentvolumeclaims",
                              CLAIM("a", "\"dataSourceRef\":{\"apiGroup\":\"a.example.com\",\"kind\":\"X\",\"name\":\"s\"}")),
                         201);
        assert_at(w, "spec.dataSource", "{\"apiGroup\":\"a.example.com\",\"kind\":\"X\",\"name\":\"s\"}");
        assert_int_equal(post(w, IN "persistentvolumeclaims", CLAIM("b", "\"dataSource\":{\"kind\":\"Other\",\"name\":\"x\"}")),
                         201);
        assert_at(w, "spec.dataSource", "");
        assert_at(w, "metadata.managedFields.0.fieldsV1.f:spec.f:dataSource", "{}");
}

static void a_claim_grows_when_it_is_bound(void **state) {
        struct world *w = *state;

        post(w, IN "persistentvolumeclaims", CLAIM("a", "\"storageClassName\":\"s\""));
        patch(w, IN "persistentvolumeclaims/a/status", MERGE_TYPE, "{\"status\":{\"phase\":\"Bound\"}}");
        assert_int_equal(patch(w, IN "persistentvolumeclaims/a", MERGE_TYPE,
                               "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}"),
                         403);
        assert_message(w, "persistentvolumeclaims \"a\" is forbidden: only dynamically provisioned pvc can be resized and "
                          "the storageclass that provisions the pvc must support resize");
}

static void a_volume_knows_since_when_it_waits(void **state) {
        struct world *w = *state;
        const char *const url = "/api/v1/persistentvolumes";

        assert_int_equal(post(w, url,
                              "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":["
                              "\"ReadWriteOnce\"],\"hostPath\":{\"path\":\"/x\"},\"claimRef\":{\"name\":\"c\"}}}"),
                         201);
        assert_at(w, "status", "{\"lastPhaseTransitionTime\":\"2027-01-15T08:00:00Z\",\"phase\":\"Pending\"}");
        assert_at(w, "metadata.managedFields.0.fieldsV1.f:spec.f:claimRef", "{\".\":{},\"f:name\":{}}");
        world_run(w, 5000);
        assert_int_equal(patch(w, "/api/v1/persistentvolumes/v/status", MERGE_TYPE, "{\"status\":{\"phase\":\"Bound\"}}"), 200);
        assert_at(w, "status.lastPhaseTransitionTime", "2027-01-15T08:00:05Z");
}

static void a_daemon_sets_template_generation_is_inside(void **state) {
        struct world *w = *state;
        const char *const url = "/apis/apps/v1/namespaces/default/daemonsets/d";

        post(w, "/apis/apps/v1/namespaces/default/daemonsets",
             "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{"
             "\"labels\":{\"a\":\"b\"}},\"spec\":{" POD_SPEC "}}}}");
        assert_at(w, "metadata.annotations", "{\"deprecated.daemonset.template.generation\":\"1\"}");
        ask_as(w, KUBE_GET, url, NULL, NULL, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        assert_at(w, "kind", "PartialObjectMetadata");
        assert_at(w, "metadata.annotations", "");
}

static void a_pod_is_warned_of_when_it_is_made(void **state) {
        struct world *w = *state;

        post(w, IN "pods",
             "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
             "\"whenUnsatisfiable\":\"DoNotSchedule\"}]," POD_SPEC "}}");
        assert_int_equal(w->reply.warning_count, 1);
        assert_string_equal(w->reply.warnings[0].p,
                            "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_a_closed_gate_takes_away_has_an_owner, setup, teardown),
                cmocka_unit_test_setup_teardown(a_gated_pod_says_so, setup, teardown),
                cmocka_unit_test_setup_teardown(a_pods_priority_is_that_of_its_class, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_filled_in_at_a_pods_creation_comes_back, setup, teardown),
                cmocka_unit_test_setup_teardown(labels_of_pod_security_must_be_known, setup, teardown),
                cmocka_unit_test_setup_teardown(a_namespace_ends_only_by_its_deletion, setup, teardown),
                cmocka_unit_test_setup_teardown(a_claims_source_is_told_twice, setup, teardown),
                cmocka_unit_test_setup_teardown(a_claim_grows_when_it_is_bound, setup, teardown),
                cmocka_unit_test_setup_teardown(a_volume_knows_since_when_it_waits, setup, teardown),
                cmocka_unit_test_setup_teardown(a_daemon_sets_template_generation_is_inside, setup, teardown),
                cmocka_unit_test_setup_teardown(a_pod_is_warned_of_when_it_is_made, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
