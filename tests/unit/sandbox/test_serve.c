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

static void make(struct world *w, const char *name) {
        char body[128];

        snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\"}}", name);
        assert_int_equal(post(w, "/api/v1/namespaces/default/secrets", body), 201);
}

/* The path with the continue token of the last answer. */
static const char *next_page(struct world *w) {
        return arena_strf(w->arena, "/api/v1/namespaces/default/secrets?limit=2&continue=%s",
                          at(w, "metadata.continue"))
                .p;
}

static void pages_show_one_moment(void **state) {
        struct world *w = *state;

        make(w, "a");
        make(w, "b");
        make(w, "c");
        assert_int_equal(get(w, "/api/v1/namespaces/default/secrets?limit=2"), 200);
        assert_at(w, "items.1.metadata.name", "b");
        assert_at(w, "metadata.remainingItemCount", "1");
        const char *rv = at(w, "metadata.resourceVersion"), *path = next_page(w);
        del(w, "/api/v1/namespaces/default/secrets/c");
        make(w, "d");
        assert_int_equal(get(w, path), 200);
        assert_at(w, "items.0.metadata.name", "c");
        assert_at(w, "items.1", "");
        assert_at(w, "metadata.resourceVersion", rv);
        assert_at(w, "metadata.continue", "");
        sandbox_compact(w->s);
        assert_int_equal(get(w, path), 410);
        assert_at(w, "reason", "Expired");
        assert_int_equal(get(w, next_page(w)), 200); /* the token in the refusal goes on with what is there now */
        assert_at(w, "items.0.metadata.name", "d");
        assert_int_equal(get(w, "/api/v1/namespaces/default/secrets?limit=1&continue=xx"), 400);
}

static void lists_can_be_asked_for_a_resource_version(void **state) {
        struct world *w = *state;
        char path[128];

        make(w, "a");
        snprintf(path, sizeof path, "/api/v1/namespaces/default/secrets?resourceVersion=%s&resourceVersionMatch=Exact",
                 at(w, "metadata.resourceVersion"));
        make(w, "b");
        assert_int_equal(get(w, path), 200);
        assert_at(w, "items.1", "");
        assert_int_equal(get(w, "/api/v1/namespaces/default/secrets?resourceVersion=99999999"), 504);
        assert_at(w, "details.causes.0.reason", "ResourceVersionTooLarge");
        assert_int_equal(w->reply.retry_after_s, 1);
        assert_int_equal(get(w, "/api/v1/namespaces/default/secrets?resourceVersion=0&limit=1"), 200);
        assert_at(w, "items.1.metadata.name", "b"); /* from the cache, whole */
        assert_int_equal(get(w, "/api/v1/namespaces/default/secrets?limit=abc"), 400);
        assert_message(w, "strconv.ParseInt: parsing \"abc\": invalid syntax");
}

static void a_dry_run_leaves_no_trace(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, CM "?dryRun=All", "{\"metadata\":{\"name\":\"a\"}}"), 201);
        assert_at(w, "metadata.resourceVersion", "");
        assert_int_equal(get(w, CM "/a"), 404);
        assert_int_equal(post(w, CM "?dryRun=Foo", "{\"metadata\":{\"name\":\"a\"}}"), 422);
        assert_message(
                w, "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Foo\"]: supported values: "
                   "\"All\"");
        make(w, "s");
        assert_int_equal(del(w, "/api/v1/namespaces/default/secrets/s?dryRun=All"), 200);
        assert_int_equal(get(w, "/api/v1/namespaces/default/secrets/s"), 200);
}

static void a_deletion_keeps_its_preconditions(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"a\"}}"), 201);
        assert_int_equal(ask(w, KUBE_DELETE, CM "/a", "{\"preconditions\":{\"uid\":\"x\"}}"), 409);
        assert_true(str_contains(
                str_from(at(w, "message")),
                STR("Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (x) does "
                    "not match the UID in record (")));
        assert_int_equal(ask(w, KUBE_DELETE, CM "/a", "{\"propagationPolicy\":\"Foo\"}"), 422);
        assert_int_equal(del(w, CM "/a"), 200);
        assert_at(w, "status", "Success");
        assert_at(w, "details.kind", "configmaps");
        assert_int_equal(del(w, CM "/a"), 404);
}

static void a_running_pod_goes_in_its_grace(void **state) {
        struct world *w = *state;
        const char *p = "/api/v1/namespaces/default/pods/p";

        assert_int_equal(
                post(w, "/api/v1/namespaces/default/pods",
                     "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\","
                     "\"image\":\"x\"}]}}"),
                201);
        assert_at(w, "status", "{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\"}");
        assert_at(w, "spec.tolerations.1.key", "node.kubernetes.io/unreachable");
        assert_int_equal(del(w, p), 200);
        assert_at(w, "metadata.deletionGracePeriodSeconds", "30");
        assert_at(w, "metadata.deletionTimestamp", "2027-01-15T08:00:30Z");
        assert_at(w, "metadata.generation", "2");
        assert_int_equal(del(w, "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0"), 200);
        assert_at(w, "kind", "Pod");
        assert_int_equal(get(w, p), 404);
}

static void a_service_gets_an_address_and_keeps_it(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, "/api/v1/namespaces/default/services",
                              "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":80}]}}"),
                         201);
        const char *ip = at(w, "spec.clusterIP");
        assert_true(str_starts(str_from(ip), STR("10.96.")));
        assert_int_equal(
                ask(w, KUBE_PUT, "/api/v1/namespaces/default/services/s",
                    "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":80}]}}"),
                200);
        assert_at(w, "spec.clusterIP", ip);
        assert_true(strtol(at(w, "spec.ports.0.nodePort"), NULL, 10) >= 30000);
        assert_int_equal(post(w, "/api/v1/namespaces/default/services",
                              "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"clusterIP\":\"10.96.0.1\",\"ports\":[{"
                              "\"port\":80}]}}"),
                         422);
        assert_message(
                w, "Service \"t\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.0.1\"]: failed to allocate IP "
                   "10.96.0.1: provided IP is already allocated");
}

static void kubectl_gets_tables(void **state) {
        struct world *w = *state;

        make(w, "a");
        world_run(w, 125000);
        assert_int_equal(ask_as(w, KUBE_GET, "/api/v1/namespaces/default/secrets", NULL, NULL,
                                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
                         200);
        assert_at(w, "rows.0.cells", "[\"a\",\"Opaque\",0,\"2m5s\"]");
        assert_at(w, "rows.0.object.kind", "PartialObjectMetadata");
        assert_int_equal(ask_as(w, KUBE_GET, CM, NULL, NULL, "text/foo"), 406);
}

static void bodies_that_cannot_be_read_are_refused(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, CM, "{\"kind\":\"ConfigMap\""), 400);
        assert_message(
                w, "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json "
                   "parse error: unexpected end of JSON input ({\"kind\":\"ConfigMap\")");
        assert_int_equal(ask_as(w, KUBE_POST, CM, "text/foo", "{}", NULL), 415);
        assert_int_equal(post(w, CM, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v2\",\"metadata\":{\"name\":\"c\"}}"),
                         400);
        assert_message(
                w, "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered "
                   "for version \"v2\" in scheme \"pkg/runtime/scheme.go:111\"");
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"c\",\"resourceVersion\":\"5\"}}"), 500);
        assert_message(w, "resourceVersion should not be set on objects to be created");
        assert_int_equal(patch(w, CM "/x", "application/json", "{}"), 415);
        assert_int_equal(patch(w, CM "/x", MERGE_TYPE, "{}"), 404);
}

static void a_json_patch_that_is_no_list_is_refused(void **state) {
        struct world *w = *state;

        post(w, CM, "{\"metadata\":{\"name\":\"a\"}}");
        assert_int_equal(patch(w, CM "/a", JSON_PATCH_TYPE, "{\"apiVersion\":\"x\",\"kind\":\"y\"}"), 400);
        assert_message(w, "error decoding patch: json: cannot unmarshal object into Go value of type "
                          "[]handlers.jsonPatchOp");
        assert_int_equal(patch(w, CM "/a?fieldValidation=Ignore", JSON_PATCH_TYPE, "{\"apiVersion\":\"x\"}"), 400);
        assert_message(w, "json: cannot unmarshal object into Go value of type jsonpatch.Patch");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_config_map_is_created_with_its_managed_fields, setup, teardown),
                cmocka_unit_test_setup_teardown(what_does_not_exist_is_named, setup, teardown),
                cmocka_unit_test_setup_teardown(a_json_patch_that_is_no_list_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(an_apply_creates_changes_conflicts_and_does_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(a_deployment_gets_its_defaults_and_generations, setup, teardown),
                cmocka_unit_test_setup_teardown(pages_show_one_moment, setup, teardown),
                cmocka_unit_test_setup_teardown(lists_can_be_asked_for_a_resource_version, setup, teardown),
                cmocka_unit_test_setup_teardown(a_dry_run_leaves_no_trace, setup, teardown),
                cmocka_unit_test_setup_teardown(a_deletion_keeps_its_preconditions, setup, teardown),
                cmocka_unit_test_setup_teardown(a_running_pod_goes_in_its_grace, setup, teardown),
                cmocka_unit_test_setup_teardown(a_service_gets_an_address_and_keeps_it, setup, teardown),
                cmocka_unit_test_setup_teardown(kubectl_gets_tables, setup, teardown),
                cmocka_unit_test_setup_teardown(bodies_that_cannot_be_read_are_refused, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
