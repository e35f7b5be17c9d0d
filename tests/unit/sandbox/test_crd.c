/* SPDX-License-Identifier: Apache-2.0 */
/* CustomResourceDefinitions: coming into service, subresources, versions, the end. */
#include "sandbox/world.h"

#define CRDS    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define WIDGETS "/apis/example.com/v1/namespaces/default/widgets"

static const char crd[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
        "\"widgets.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"plural\":"
        "\"widgets\",\"singular\":\"widget\",\"kind\":\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
        "\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":\".spec.replicas\","
        "\"statusReplicasPath\":\".status.replicas\"}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
        "\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{\"replicas\":{\"type\":\"integer\"},\"color\":{"
        "\"type\":\"string\",\"default\":\"red\"}}},\"status\":{\"type\":\"object\","
        "\"x-kubernetes-preserve-unknown-fields\":true}}}},\"additionalPrinterColumns\":[{\"name\":\"Color\",\"type\":"
        "\"string\",\"jsonPath\":\".spec.color\"}]},{\"name\":\"v1beta1\",\"served\":true,\"storage\":false,\"schema\":"
        "{"
        "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

static int setup(void **state) {
        struct world *w = world_new(NULL);

        world_run(w, 1000);
        assert_int_equal(post(w, CRDS, crd), 201);
        *state = w;
        return 0;
}

static int teardown(void **state) {
        world_free(*state);
        return 0;
}

static void a_crd_is_served_a_moment_later(void **state) {
        struct world *w = *state;

        assert_at(w, "status.storedVersions", "[\"v1\"]");
        assert_at(w, "spec.names.listKind", "WidgetList");
        assert_int_equal(get(w, WIDGETS), 404);
        world_run(w, 100);
        assert_int_equal(get(w, WIDGETS), 200);
        assert_at(w, "kind", "WidgetList");
        assert_int_equal(get(w, CRDS "/widgets.example.com"), 200);
        assert_at(w, "status.conditions.0.type", "NamesAccepted");
        assert_at(w, "status.conditions.1.reason", "InitialNamesAccepted");
        assert_at(w, "status.acceptedNames.kind", "Widget");
        assert_at(w, "metadata.managedFields.1.subresource", "status");
}

static void unknown_fields_are_pruned_and_defaults_filled(void **state) {
        struct world *w = *state;

        world_run(w, 100);
        assert_int_equal(post(w, WIDGETS,
                              "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":"
                              "\"a\"},\"spec\":{\"replicas\":2,\"foo\":1},\"status\":{\"x\":1}}"),
                         201);
        assert_at(w, "spec", "{\"color\":\"red\",\"replicas\":2}");
        assert_at(w, "status", "");
        assert_at(w, "metadata.generation", "1");
        assert_int_equal(w->reply.warning_count, 1);
        assert_string_equal(w->reply.warnings[0].p, "unknown field \"spec.foo\"");
        assert_int_equal(post(w, WIDGETS "?fieldValidation=Strict",
                              "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"b\"},"
                              "\"spec\":{\"foo\":1}}"),
                         400);
        assert_message(w,
                       "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field "
                       "\"spec.foo\"");
}

static void subresources_have_their_own_entries(void **state) {
        struct world *w = *state;

        world_run(w, 100);
        post(w, WIDGETS,
             "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"a\"},\"spec\":{"
             "\"replicas\":2}}");
        assert_int_equal(patch(w, WIDGETS "/a/scale", MERGE_TYPE, "{\"spec\":{\"replicas\":5}}"), 200);
        assert_at(w, "spec.replicas", "5");
        assert_int_equal(patch(w, WIDGETS "/a/status", MERGE_TYPE, "{\"spec\":{\"replicas\":9},\"status\":{\"y\":1}}"),
                         200);
        assert_at(w, "spec.replicas", "5");
        assert_at(w, "metadata.generation", "2");
        assert_at(w, "metadata.managedFields.0.subresource", "scale");
        assert_at(w, "metadata.managedFields.2.subresource", "status");
        assert_int_equal(patch(w, WIDGETS "/a", STRATEGIC_TYPE, "{}"), 415);
        assert_int_equal(ask(w, KUBE_PUT, WIDGETS "/a",
                             "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"a\"}}"),
                         422);
        assert_message(w, "widgets.example.com \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be "
                          "specified for an update");
}

static void another_version_differs_in_its_api_version(void **state) {
        struct world *w = *state;

        world_run(w, 100);
        post(w, WIDGETS, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"a\"}}");
        assert_int_equal(get(w, "/apis/example.com/v1beta1/namespaces/default/widgets/a"), 200);
        assert_at(w, "apiVersion", "example.com/v1beta1");
        assert_int_equal(get(w, "/apis/example.com"), 200);
        assert_at(w, "preferredVersion.version", "v1");
        assert_int_equal(ask_as(w, KUBE_GET, WIDGETS, NULL, NULL, "application/json;as=Table;v=v1;g=meta.k8s.io"), 200);
        assert_at(w, "columnDefinitions.1.name", "Color");
}

static void deleting_a_crd_deletes_its_objects_first(void **state) {
        struct world *w = *state;

        world_run(w, 100);
        post(w, WIDGETS,
             "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"c\","
             "\"finalizers\":[\"x.y/z\"]}}");
        assert_int_equal(del(w, CRDS "/widgets.example.com"), 200);
        assert_at(w, "metadata.finalizers", "[\"customresourcecleanup.apiextensions.k8s.io\"]");
        assert_at(w, "status.conditions.2.reason", "InstanceDeletionPending");
        world_run(w, 500);
        assert_int_equal(get(w, WIDGETS "/c"), 200);
        assert_true(at(w, "metadata.deletionTimestamp")[0]);
        assert_int_equal(post(w, WIDGETS,
                              "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":"
                              "\"d\"}}"),
                         403);
        assert_message(w,
                       "widgets.example.com \"d\" is forbidden: create not allowed while custom resource definition is "
                       "terminating");
        assert_int_equal(patch(w, WIDGETS "/c", MERGE_TYPE, "{\"metadata\":{\"finalizers\":null}}"), 200);
        world_run(w, 2000);
        assert_int_equal(get(w, WIDGETS), 404);
        assert_string_equal(w->reply.body.p, "404 page not found\n");
        assert_int_equal(get(w, CRDS "/widgets.example.com"), 404);
}

static void a_crd_that_somebody_holds_stays(void **state) {
        struct world *w = *state;

        world_run(w, 100);
        assert_int_equal(patch(w, CRDS "/widgets.example.com", MERGE_TYPE, "{\"metadata\":{\"finalizers\":[\"x.y/z\"]}}"),
                         200);
        assert_int_equal(del(w, CRDS "/widgets.example.com"), 200);
        world_run(w, 5000);
        assert_int_equal(get(w, CRDS "/widgets.example.com"), 200);
        assert_at(w, "metadata.finalizers", "[\"x.y/z\"]");
        assert_int_equal(patch(w, CRDS "/widgets.example.com", MERGE_TYPE, "{\"metadata\":{\"finalizers\":null}}"), 200);
        assert_int_equal(get(w, CRDS "/widgets.example.com"), 404);
}

static void a_number_that_no_float_can_hold_is_refused(void **state) {
        struct world *w = *state;

        world_run(w, 100);
        assert_int_equal(post(w, WIDGETS,
                              "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"a\"},"
                              "\"spec\":{\"sizes\":[1,{\"most\":1e999}]}}"),
                         400);
        assert_message(w, "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number 1e999 "
                          "into Go value of type float64");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_number_that_no_float_can_hold_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(a_crd_is_served_a_moment_later, setup, teardown),
                cmocka_unit_test_setup_teardown(unknown_fields_are_pruned_and_defaults_filled, setup, teardown),
                cmocka_unit_test_setup_teardown(subresources_have_their_own_entries, setup, teardown),
                cmocka_unit_test_setup_teardown(another_version_differs_in_its_api_version, setup, teardown),
                cmocka_unit_test_setup_teardown(deleting_a_crd_deletes_its_objects_first, setup, teardown),
                cmocka_unit_test_setup_teardown(a_crd_that_somebody_holds_stays, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
