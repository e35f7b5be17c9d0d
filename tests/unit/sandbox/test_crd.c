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
        assert_int_equal(
                patch(w, CRDS "/widgets.example.com", MERGE_TYPE, "{\"metadata\":{\"finalizers\":[\"x.y/z\"]}}"), 200);
        assert_int_equal(del(w, CRDS "/widgets.example.com"), 200);
        world_run(w, 5000);
        assert_int_equal(get(w, CRDS "/widgets.example.com"), 200);
        assert_at(w, "metadata.finalizers", "[\"x.y/z\"]");
        assert_int_equal(patch(w, CRDS "/widgets.example.com", MERGE_TYPE, "{\"metadata\":{\"finalizers\":null}}"),
                         200);
        assert_int_equal(get(w, CRDS "/widgets.example.com"), 404);
}

/* A definition with one version. */
static int define(struct world *w, const char *plural, const char *names) {
        return post(
                w, CRDS,
                arena_strf(w->arena,
                           "{\"metadata\":{\"name\":\"%s.n.example\"},\"spec\":{\"group\":\"n.example\",\"scope\":"
                           "\"Namespaced\",\"names\":{\"plural\":\"%s\",%s},\"versions\":[{\"name\":\"v1\",\"served\":"
                           "true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
                           plural, plural, names)
                        .p);
}

static void assert_refused(struct world *w, const char *plural, const char *reason, const char *message,
                           const char *accepted) {
        assert_int_equal(get(w, arena_strf(w->arena, CRDS "/%s.n.example", plural).p), 200);
        assert_at(w, "status.conditions.0.status", "False");
        assert_at(w, "status.conditions.0.reason", reason);
        assert_at(w, "status.conditions.0.message", message);
        assert_at(w, "status.conditions.1.status", "False");
        assert_at(w, "status.conditions.1.reason", "NotAccepted");
        assert_at(w, "status.acceptedNames", accepted);
        assert_int_equal(get(w, arena_strf(w->arena, "/apis/n.example/v1/%s", plural).p), 404);
        assert_string_equal(w->reply.body.p, "404 page not found\n");
}

/* What a v1.37.2 API server answered to the same. */
static void names_that_another_has_are_refused(void **state) {
        struct world *w = *state;

        assert_int_equal(define(w, "foos", "\"kind\":\"Foo\",\"shortNames\":[\"fo\",\"fu\"]"), 201);
        world_run(w, 100);
        assert_int_equal(define(w, "foo2s", "\"kind\":\"Foo\""), 201);
        assert_int_equal(define(w, "bars", "\"kind\":\"Bar\",\"shortNames\":[\"fo\",\"b\",\"fu\"]"), 201);
        assert_int_equal(define(w, "bazs", "\"kind\":\"Baz\",\"singular\":\"foos\""), 201);
        assert_int_equal(define(w, "quxs", "\"kind\":\"Qux\",\"listKind\":\"Foo\""), 201);
        world_run(w, 1000);
        assert_refused(w, "foo2s", "ListKindConflict", "\"FooList\" is already in use",
                       "{\"kind\":\"\",\"plural\":\"foo2s\"}");
        assert_refused(w, "bars", "ShortNamesConflict", "[\"fo\" is already in use, \"fu\" is already in use]",
                       "{\"kind\":\"Bar\",\"listKind\":\"BarList\",\"plural\":\"bars\",\"singular\":\"bar\"}");
        assert_refused(w, "bazs", "SingularConflict", "\"foos\" is already in use",
                       "{\"kind\":\"Baz\",\"listKind\":\"BazList\",\"plural\":\"bazs\"}");
        assert_refused(w, "quxs", "ListKindConflict", "\"Foo\" is already in use",
                       "{\"kind\":\"Qux\",\"plural\":\"quxs\",\"singular\":\"qux\"}");
        assert_int_equal(get(w, "/apis/n.example/v1/foos"), 200);
}

static void names_that_become_free_are_given(void **state) {
        struct world *w = *state;

        define(w, "foos", "\"kind\":\"Foo\",\"shortNames\":[\"f\"]");
        world_run(w, 100);
        define(w, "bars", "\"kind\":\"Bar\",\"shortNames\":[\"f\"]");
        define(w, "bazs", "\"kind\":\"Foo\"");
        world_run(w, 100);
        assert_int_equal(get(w, "/apis/n.example/v1/bars"), 404);
        assert_int_equal(
                patch(w, CRDS "/foos.n.example", MERGE_TYPE, "{\"spec\":{\"names\":{\"shortNames\":[\"g\"]}}}"), 200);
        world_run(w, 100);
        assert_int_equal(get(w, "/apis/n.example/v1/bars"), 200);
        assert_int_equal(get(w, CRDS "/foos.n.example"), 200);
        assert_at(w, "status.acceptedNames.shortNames", "[\"g\"]");
        /* One that is served keeps the names it has. */
        assert_int_equal(
                patch(w, CRDS "/foos.n.example", MERGE_TYPE, "{\"spec\":{\"names\":{\"shortNames\":[\"f\"]}}}"), 200);
        world_run(w, 100);
        assert_int_equal(get(w, CRDS "/foos.n.example"), 200);
        assert_at(w, "status.conditions.0.reason", "ShortNamesConflict");
        assert_at(w, "status.conditions.1.status", "True");
        assert_at(w, "status.acceptedNames.shortNames", "[\"g\"]");
        assert_int_equal(get(w, "/apis/n.example/v1/foos"), 200);
        assert_int_equal(del(w, CRDS "/foos.n.example"), 200);
        world_run(w, 2000);
        assert_int_equal(get(w, "/apis/n.example/v1/bazs"), 200);
        assert_at(w, "kind", "FooList");
}

static void a_definition_may_have_many_versions(void **state) {
        struct world *w = *state;
        _cleanup_(buf_done) struct buf body = buf_make(1 << 20);

        buf_addc(&body, "{\"metadata\":{\"name\":\"manys.m.example\"},\"spec\":{\"group\":\"m.example\",\"scope\":"
                        "\"Cluster\",\"names\":{\"plural\":\"manys\",\"kind\":\"Many\"},\"versions\":[");
        for (int i = 1; i <= 100; i++)
                buf_addf(&body,
                         "%s{\"name\":\"v%d\",\"served\":true,\"storage\":%s,\"subresources\":{\"scale\":{"
                         "\"specReplicasPath\":\".spec.replicas\",\"statusReplicasPath\":\".status.replicas\"}},"
                         "\"schema\":{"
                         "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}",
                         i == 1 ? "" : ",", i, i == 1 ? "true" : "false");
        buf_addc(&body, "]}}");
        assert_int_equal(post(w, CRDS, body.p), 201);
        world_run(w, 100);
        assert_int_equal(post(w, "/apis/m.example/v100/manys",
                              "{\"apiVersion\":\"m.example/v100\",\"kind\":\"Many\",\"metadata\":{\"name\":\"a\"}}"),
                         201);
        assert_int_equal(get(w, "/apis/m.example/v1/manys/a"), 200);
        assert_int_equal(get(w, "/apis/m.example"), 200);
        assert_at(w, "preferredVersion.version", "v100");
        assert_at(w, "versions.99.version", "v1");
        /* Whoever scales takes the number from its owner in any of them. */
        assert_int_equal(
                post(w, "/apis/m.example/v1/manys?fieldManager=m",
                     "{\"apiVersion\":\"m.example/v1\",\"kind\":\"Many\",\"metadata\":{\"name\":\"b\"},\"spec\":{"
                     "\"replicas\":2,\"x\":1}}"),
                201);
        assert_int_equal(patch(w, "/apis/m.example/v100/manys/b/scale", MERGE_TYPE, "{\"spec\":{\"replicas\":5}}"),
                         200);
        assert_int_equal(get(w, "/apis/m.example/v1/manys/b"), 200);
        assert_at(w, "metadata.managedFields.1.fieldsV1", "{\"f:spec\":{\".\":{},\"f:x\":{}}}");
}

/* Garbage collection, a namespace's end and the definition's own reach what is stored in a version that is not served.
 */
static void a_version_of_storage_need_not_be_served(void **state) {
        static const char *const ends[] = { "/api/v1/namespaces/shop", CRDS "/uns.u.example" };
        static const char path[] = "/apis/u.example/v2/namespaces/shop/uns";
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
                post(w, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"shop\"}}");
                post(w, CRDS,
                     "{\"metadata\":{\"name\":\"uns.u.example\"},\"spec\":{\"group\":\"u.example\",\"scope\":"
                     "\"Namespaced\",\"names\":{\"kind\":\"Un\",\"plural\":\"uns\"},\"versions\":[{\"name\":\"v1\","
                     "\"served\":false,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}},"
                     "{\"name\":\"v2\",\"served\":true,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":"
                     "\"object\"}}}]}}");
                world_run(w, 100);
                assert_int_equal(
                        post(w, path,
                             "{\"apiVersion\":\"u.example/v2\",\"kind\":\"Un\",\"metadata\":{\"name\":\"a\","
                             "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"no\","
                             "\"uid\":\"11111111-1111-1111-1111-111111111111\"}]}}"),
                        201);
                world_run(w, 1000);
                assert_int_equal(get(w, arena_strf(w->arena, "%s/a", path).p), 404);
                assert_int_equal(
                        post(w, path,
                             "{\"apiVersion\":\"u.example/v2\",\"kind\":\"Un\",\"metadata\":{\"name\":\"b\"}}"),
                        201);
                assert_int_equal(del(w, ends[i]), 200);
                world_run(w, 30000);
                assert_int_equal(get(w, ends[i]), 404);
                assert_int_equal(get(w, arena_strf(w->arena, "%s/b", path).p), 404);
        }
}

/* Writes `status` to an object of a custom kind `kind`. */
static void write_status_of(struct world *w, const char *kind, const char *plural, const char *status) {
        const char *objects = arena_strf(w->arena, "/apis/example.com/v1/namespaces/default/%s", plural).p;

        assert_int_equal(
                post(w, CRDS,
                     arena_strf(w->arena,
                                "{\"metadata\":{\"name\":\"%s.example.com\"},\"spec\":{\"group\":\"example.com\","
                                "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%s\",\"kind\":\"%s\"},"
                                "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                                "\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":"
                                "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}",
                                plural, plural, kind)
                             .p),
                201);
        world_run(w, 100);
        assert_int_equal(
                post(w, objects,
                     arena_strf(w->arena,
                                "{\"apiVersion\":\"example.com/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"a\"}}",
                                kind)
                             .p),
                201);
        assert_int_equal(patch(w, arena_strf(w->arena, "%s/a/status", objects).p, MERGE_TYPE, status), 200);
}

static void a_kind_of_the_name_of_a_built_in_one_is_its_own(void **state) {
        struct world *w = *state;

        write_status_of(w, "DaemonSet", "daemonsets", "{\"status\":{\"numberReady\":-1}}");
        assert_at(w, "metadata.annotations", "");
        write_status_of(w, "Service", "services", "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"x\"}]}}}");
        write_status_of(w, "Namespace", "namespaces", "{\"status\":{\"phase\":\"Fine\"}}");
        write_status_of(w, "Job", "jobs", "{\"status\":{\"failed\":-1}}");
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
                cmocka_unit_test_setup_teardown(names_that_another_has_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(names_that_become_free_are_given, setup, teardown),
                cmocka_unit_test_setup_teardown(a_definition_may_have_many_versions, setup, teardown),
                cmocka_unit_test_setup_teardown(a_version_of_storage_need_not_be_served, setup, teardown),
                cmocka_unit_test_setup_teardown(a_kind_of_the_name_of_a_built_in_one_is_its_own, setup, teardown),
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
