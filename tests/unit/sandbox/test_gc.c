/* SPDX-License-Identifier: Apache-2.0 */
/* Owner references: background, foreground, orphan, and owners that never were. */
#include "sandbox/world.h"

static int setup(void **state) {
        struct world *w = world_new(NULL);

        world_run(w, 1000);
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"owner\"}}"), 201);
        *state = w;
        return 0;
}

static int teardown(void **state) {
        world_free(*state);
        return 0;
}

static void own(struct world *w, const char *name, const char *uid, const char *more) {
        char body[512];

        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                 "\"name\":\"owner\",\"uid\":\"%s\"%s}]}}",
                 name, uid, more);
        assert_int_equal(post(w, CM, body), 201);
}

static const char *owner_uid(struct world *w) {
        get(w, CM "/owner");
        return at(w, "metadata.uid");
}

static void dependents_follow_their_owner(void **state) {
        struct world *w = *state;

        own(w, "d", owner_uid(w), "");
        world_run(w, 1000);
        assert_int_equal(get(w, CM "/d"), 200);
        assert_int_equal(del(w, CM "/owner"), 200);
        assert_int_equal(get(w, CM "/d"), 200);
        world_run(w, 1000);
        assert_int_equal(get(w, CM "/d"), 404);
}

static void an_owner_deleted_in_the_foreground_goes_last(void **state) {
        struct world *w = *state;

        own(w, "d", owner_uid(w), ",\"blockOwnerDeletion\":true");
        patch(w, CM "/d", MERGE_TYPE, "{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}");
        assert_int_equal(del(w, CM "/owner?propagationPolicy=Foreground"), 200);
        assert_at(w, "metadata.finalizers", "[\"foregroundDeletion\"]");
        assert_at(w, "metadata.deletionGracePeriodSeconds", "0");
        world_run(w, 1000);
        assert_int_equal(get(w, CM "/owner"), 200);
        get(w, CM "/d");
        assert_true(at(w, "metadata.deletionTimestamp")[0]);
        patch(w, CM "/d", MERGE_TYPE, "{\"metadata\":{\"finalizers\":null}}");
        world_run(w, 1000);
        assert_int_equal(get(w, CM "/d"), 404);
        assert_int_equal(get(w, CM "/owner"), 404);
}

static void orphans_lose_the_reference_and_live(void **state) {
        struct world *w = *state;

        own(w, "d", owner_uid(w), "");
        assert_int_equal(ask(w, KUBE_DELETE, CM "/owner", "{\"propagationPolicy\":\"Orphan\"}"), 200);
        assert_at(w, "metadata.finalizers", "[\"orphan\"]");
        world_run(w, 1000);
        assert_int_equal(get(w, CM "/owner"), 404);
        assert_int_equal(get(w, CM "/d"), 200);
        assert_at(w, "metadata.ownerReferences", "");
}

static void an_absent_owner_is_as_good_as_a_deleted_one(void **state) {
        struct world *w = *state;

        own(w, "d", "11111111-1111-1111-1111-111111111111", "");
        world_run(w, 1000);
        assert_int_equal(get(w, CM "/d"), 404);
}

static void one_living_owner_is_enough(void **state) {
        struct world *w = *state;
        char body[600];

        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"d\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                 "\"name\":\"owner\",\"uid\":\"%s\"},{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"gone\","
                 "\"uid\":\"11111111-1111-1111-1111-111111111111\"}]}}",
                 owner_uid(w));
        assert_int_equal(post(w, CM, body), 201);
        world_run(w, 1000);
        assert_int_equal(get(w, CM "/d"), 200);
        assert_at(w, "metadata.ownerReferences.0.name", "owner");
        assert_at(w, "metadata.ownerReferences.1", "");
}

static void without_controllers_nothing_is_collected(void **state) {
        struct world *w = world_new(&(struct sandbox_options){ .no_controllers = true });

        (void)state;
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"owner\"}}"), 201);
        own(w, "d", "11111111-1111-1111-1111-111111111111", "");
        world_run(w, 60000);
        assert_int_equal(get(w, CM "/d"), 200);
        world_free(w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(dependents_follow_their_owner, setup, teardown),
                cmocka_unit_test_setup_teardown(an_owner_deleted_in_the_foreground_goes_last, setup, teardown),
                cmocka_unit_test_setup_teardown(orphans_lose_the_reference_and_live, setup, teardown),
                cmocka_unit_test_setup_teardown(an_absent_owner_is_as_good_as_a_deleted_one, setup, teardown),
                cmocka_unit_test_setup_teardown(one_living_owner_is_enough, setup, teardown),
                cmocka_unit_test(without_controllers_nothing_is_collected),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
