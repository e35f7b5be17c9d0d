/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers, as a v1.37.2 API server gave them. */
#include "sandbox/world.h"

static int setup(void **state) {
        *state = world_new(NULL);
        return 0;
}

static int teardown(void **state) {
        world_free(*state);
        return 0;
}

static void a_config_map_is_created_with_its_managed_fields(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, CM,
                              "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"b\"},"
                              "\"data\":{\"x\":\"1\"}}"),
                         201);
        assert_at(w, "metadata.namespace", "default");
        assert_at(w, "metadata.creationTimestamp", "2027-01-15T08:00:00Z");
        assert_at(w, "metadata.managedFields",
                  "[{\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\".\":{},\"f:x\":{}}},"
                  "\"manager\":\"curl\",\"operation\":\"Update\",\"time\":\"2027-01-15T08:00:00Z\"}]");
        assert_int_equal(get(w, CM "/b"), 200);
        assert_at(w, "data", "{\"x\":\"1\"}");
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"b\"}}"), 409);
        assert_message(w, "configmaps \"b\" already exists");
        assert_at(w, "reason", "AlreadyExists");
}

static void what_does_not_exist_is_named(void **state) {
        struct world *w = *state;

        assert_int_equal(get(w, CM "/nope"), 404);
        assert_message(w, "configmaps \"nope\" not found");
        assert_at(w, "details", "{\"kind\":\"configmaps\",\"name\":\"nope\"}");
        assert_int_equal(get(w, "/api/v1/nope"), 404);
        assert_message(w, "the server could not find the requested resource");
        assert_int_equal(get(w, "/apis/foo/v1/bars"), 404);
        assert_string_equal(w->reply.body.p, "404 page not found\n");
        assert_int_equal(get(w, CM "/b/status"), 404);
        assert_int_equal(ask(w, KUBE_PUT, CM, "{}"), 405);
        assert_message(w, "the server does not allow this method on the requested resource");
        assert_int_equal(post(w, "/api/v1/namespaces/nope/configmaps", "{\"metadata\":{\"name\":\"a\"}}"), 404);
        assert_message(w, "namespaces \"nope\" not found");
}

static void an_apply_creates_changes_conflicts_and_does_nothing(void **state) {
        struct world *w = *state;
        char rv[32];

        assert_int_equal(apply(w, CM "/s",
                               "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\"},"
                               "\"data\":{\"x\":\"1\"}}"),
                         422);
        assert_message(w,
                       "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply "
                       "patch");
        assert_int_equal(apply(w, CM "/s?fieldManager=m1",
                               "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\"},"
                               "\"data\":{\"x\":\"1\"}}"),
                         201);
        assert_at(w, "metadata.managedFields.0.fieldsV1", "{\"f:data\":{\"f:x\":{}}}");
        assert_at(w, "metadata.managedFields.0.operation", "Apply");
        snprintf(rv, sizeof rv, "%s", at(w, "metadata.resourceVersion"));
        world_run(w, 5000);
        assert_int_equal(apply(w, CM "/s?fieldManager=m1",
                               "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\"},"
                               "\"data\":{\"x\":\"1\"}}"),
                         200);
        assert_at(w, "metadata.resourceVersion", rv);
        assert_at(w, "metadata.managedFields.0.time", "2027-01-15T08:00:00Z");
        assert_int_equal(apply(w, CM "/s?fieldManager=m2",
                               "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\"},"
                               "\"data\":{\"x\":\"2\"}}"),
                         409);
        assert_message(w, "Apply failed with 1 conflict: conflict with \"m1\": .data.x");
        assert_at(w, "details.causes",
                  "[{\"field\":\".data.x\",\"message\":\"conflict with "
                  "\\\"m1\\\"\",\"reason\":\"FieldManagerConflict\"}]");
        assert_int_equal(apply(w, CM "/s?fieldManager=m1",
                               "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\"},"
                               "\"data\":{\"x\":\"1\"},\"foo\":1}"),
                         500);
        assert_message(w, "failed to create typed patch object (/s; /v1, Kind=ConfigMap): .foo: field not declared in "
                          "schema");
}

static void a_deployment_gets_its_defaults_and_generations(void **state) {
        struct world *w = *state;
        const char *d = "/apis/apps/v1/namespaces/default/deployments";

        assert_int_equal(
                post(w, d,
                     "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"},\"spec\":{"
                     "\"replicas\":0,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{"
                     "\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}}}"),
                201);
        assert_at(w, "metadata.generation", "1");
        assert_at(w, "status", "{}");
        assert_at(w, "spec.strategy",
                  "{\"rollingUpdate\":{\"maxSurge\":\"25%\",\"maxUnavailable\":\"25%\"},"
                  "\"type\":\"RollingUpdate\"}");
        assert_int_equal(get(w, "/apis/apps/v1/namespaces/default/deployments/web/scale"), 200);
        assert_at(w, "spec", "{}");
        assert_at(w, "status", "{\"replicas\":0,\"selector\":\"a=b\"}");
        assert_int_equal(patch(w, "/apis/apps/v1/namespaces/default/deployments/web/scale", MERGE_TYPE,
                               "{\"spec\":{\"replicas\":2}}"),
                         200);
        assert_at(w, "spec", "{\"replicas\":2}");
        assert_int_equal(get(w, "/apis/apps/v1/namespaces/default/deployments/web"), 200);
        assert_at(w, "metadata.generation", "2");
        assert_at(w, "metadata.managedFields.0.fieldsV1", "{\"f:spec\":{\"f:replicas\":{}}}");
        assert_at(w, "metadata.managedFields.0.subresource", "scale");
        assert_int_equal(patch(w, "/apis/apps/v1/namespaces/default/deployments/web/status?fieldManager=st", MERGE_TYPE,
                               "{\"spec\":{\"replicas\":9},\"status\":{\"replicas\":1},\"metadata\":{\"labels\":{"
                               "\"x\":\"y\"}}}"),
                         200);
        assert_at(w, "metadata.generation", "2");
        assert_at(w, "metadata.labels", "");
        assert_at(w, "spec.replicas", "2");
        assert_at(w, "status.replicas", "1");
        assert_int_equal(patch(w, "/apis/apps/v1/namespaces/default/deployments/web/scale", MERGE_TYPE,
                               "{\"spec\":{\"replicas\":-1}}"),
                         422);
        assert_message(w,
                       "Scale.autoscaling \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than "
                       "or equal to 0");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_config_map_is_created_with_its_managed_fields, setup, teardown),
                cmocka_unit_test_setup_teardown(what_does_not_exist_is_named, setup, teardown),
                cmocka_unit_test_setup_teardown(an_apply_creates_changes_conflicts_and_does_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(a_deployment_gets_its_defaults_and_generations, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
