/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: what they begin with, and how they end. */
#include "sandbox/world.h"

static int setup(void **state) {
        struct world *w = world_new(NULL);

        world_run(w, 1000);
        assert_int_equal(post(w, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
        *state = w;
        return 0;
}

static int teardown(void **state) {
        world_free(*state);
        return 0;
}

static void a_namespace_begins_with_label_finalizer_and_phase(void **state) {
        struct world *w = *state;

        assert_at(w, "metadata.labels", "{\"kubernetes.io/metadata.name\":\"n\"}");
        assert_at(w, "spec.finalizers", "[\"kubernetes\"]");
        assert_at(w, "status.phase", "Active");
        assert_int_equal(get(w, "/api/v1/namespaces/n/serviceaccounts/default"), 404);
        world_run(w, 100);
        assert_int_equal(get(w, "/api/v1/namespaces/n/serviceaccounts/default"), 200);
        assert_int_equal(get(w, "/api/v1/namespaces/n/configmaps/kube-root-ca.crt"), 200);
        assert_at(w, "metadata.managedFields.0.manager", "kube-controller-manager");
}

static void what_every_namespace_has_comes_back(void **state) {
        struct world *w = *state;

        world_run(w, 100);
        assert_int_equal(del(w, "/api/v1/namespaces/n/serviceaccounts/default"), 200);
        assert_int_equal(get(w, "/api/v1/namespaces/n/serviceaccounts/default"), 404);
        world_run(w, 100);
        assert_int_equal(get(w, "/api/v1/namespaces/n/serviceaccounts/default"), 200);
}

static void a_deleted_namespace_takes_its_content_along(void **state) {
        struct world *w = *state;

        post(w, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"a\"}}");
        assert_int_equal(del(w, "/api/v1/namespaces/n"), 200);
        assert_at(w, "status.phase", "Terminating");
        assert_true(at(w, "metadata.deletionTimestamp")[0]);
        assert_int_equal(post(w, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"f2\"}}"), 403);
        assert_message(
                w, "configmaps \"f2\" is forbidden: unable to create new content in namespace n because it is being "
                   "terminated");
        assert_at(w, "details.causes.0.reason", "NamespaceTerminating");
        world_run(w, 4000);
        assert_int_equal(get(w, "/api/v1/namespaces/n/configmaps/a"), 200);
        world_run(w, 2000);
        assert_int_equal(get(w, "/api/v1/namespaces/n"), 404);
        assert_int_equal(get(w, "/api/v1/namespaces/n/configmaps/a"), 404);
        assert_int_equal(post(w, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"a\"}}"), 404);
}

static void a_finalizer_holds_the_namespace_and_conditions_say_so(void **state) {
        struct world *w = *state;

        post(w, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"a.b/c\"]}}");
        del(w, "/api/v1/namespaces/n");
        world_run(w, 6000);
        assert_int_equal(get(w, "/api/v1/namespaces/n"), 200);
        assert_at(w, "status.conditions.3.message",
                  "Some resources are remaining: configmaps. has 1 resource instances");
        assert_at(w, "status.conditions.4.message",
                  "Some content in the namespace has finalizers remaining: a.b/c in 1 resource instances");
        assert_int_equal(del(w, "/api/v1/namespaces/n"), 200);
        patch(w, "/api/v1/namespaces/n/configmaps/a", MERGE_TYPE, "{\"metadata\":{\"finalizers\":null}}");
        world_run(w, 10000);
        assert_int_equal(get(w, "/api/v1/namespaces/n"), 404);
}

static void some_namespaces_stay(void **state) {
        struct world *w = *state;

        assert_int_equal(del(w, "/api/v1/namespaces/default"), 403);
        assert_message(w, "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_namespace_begins_with_label_finalizer_and_phase, setup, teardown),
                cmocka_unit_test_setup_teardown(what_every_namespace_has_comes_back, setup, teardown),
                cmocka_unit_test_setup_teardown(a_deleted_namespace_takes_its_content_along, setup, teardown),
                cmocka_unit_test_setup_teardown(a_finalizer_holds_the_namespace_and_conditions_say_so, setup, teardown),
                cmocka_unit_test_setup_teardown(some_namespaces_stay, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
