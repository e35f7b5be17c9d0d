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

/* A ConfigMap with one reference: apiVersion, kind, name, uid. */
static void own_as(struct world *w, const char *path, const char *name, const char *ref) {
        char body[600];

        snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[%s]}}", name, ref);
        assert_int_equal(post(w, path, body), 201);
}

static const char *ref_to(struct world *w, const char *name, const char *more) {
        char path[128];

        snprintf(path, sizeof path, CM "/%s", name);
        assert_int_equal(get(w, path), 200);
        return arena_strf(w->arena,
                          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%s\",\"uid\":\"%s\"%s}", name,
                          at(w, "metadata.uid"), more)
                .p;
}

/* The three own each other in a circle, and the one that is deleted waits for all of them. */
static void owners_that_wait_for_each_other_go(void **state) {
        static const char *const blocks[] = { ",\"blockOwnerDeletion\":true", "" };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
                own_as(w, CM, "a", ref_to(w, "owner", ""));
                own_as(w, CM, "b", ref_to(w, "a", blocks[i]));
                own_as(w, CM, "c", ref_to(w, "b", blocks[i]));
                assert_int_equal(patch(w, CM "/a", MERGE_TYPE,
                                       arena_strf(w->arena, "{\"metadata\":{\"ownerReferences\":[%s]}}",
                                                  ref_to(w, "c", blocks[i]))
                                               .p),
                                 200);
                assert_int_equal(del(w, CM "/b?propagationPolicy=Foreground"), 200);
                world_run(w, 2000);
                assert_int_equal(get(w, CM "/a"), 404);
                assert_int_equal(get(w, CM "/b"), 404);
                assert_int_equal(get(w, CM "/c"), 404);
        }
}

/* As a real server's collector does, to which the same was shown. */
static void an_owner_is_what_the_whole_reference_names(void **state) {
        static const struct {
                const char *name, *api_version, *kind, *owner;
                int status;
        } cases[] = {
                { "it", "v1", "ConfigMap", "owner", 200 },
                { "other-name", "v1", "ConfigMap", "other", 404 },
                { "other-kind", "v1", "Secret", "owner", 404 },
                { "other-group", "apps/v1", "Deployment", "owner", 404 },
                { "no-version", "v2", "ConfigMap", "owner", 200 },
                { "no-kind", "none.example/v1", "None", "owner", 200 },
        };
        struct world *w = *state;
        const char *uid = owner_uid(w);

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                own_as(w, CM, cases[i].name,
                       arena_strf(w->arena, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\"}",
                                  cases[i].api_version, cases[i].kind, cases[i].owner, uid)
                               .p);
        own_as(w, "/api/v1/namespaces/kube-public/configmaps", "far", ref_to(w, "owner", ""));
        world_run(w, 1000);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                if (get(w, arena_strf(w->arena, CM "/%s", cases[i].name).p) != cases[i].status)
                        fail_msg("%s: %d", cases[i].name, w->reply.status);
        assert_int_equal(get(w, "/api/v1/namespaces/kube-public/configmaps/far"), 404);
}

#define NOBODY "\"uid\":\"11111111-1111-1111-1111-111111111111\""

static void what_an_unknown_kind_owns_stays_until_it_is_served(void **state) {
        struct world *w = *state;

        own_as(w, CM, "d", "{\"apiVersion\":\"late.example/v1\",\"kind\":\"Late\",\"name\":\"x\"," NOBODY "}");
        world_run(w, 60000);
        assert_int_equal(get(w, CM "/d"), 200);
        assert_int_equal(
                post(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                     "{\"metadata\":{\"name\":\"lates.late.example\"},\"spec\":{\"group\":\"late.example\",\"scope\":"
                     "\"Namespaced\",\"names\":{\"kind\":\"Late\",\"plural\":\"lates\"},\"versions\":[{\"name\":\"v1\","
                     "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}"),
                201);
        world_run(w, 1000);
        assert_int_equal(get(w, CM "/d"), 404);
}

static void an_owner_in_a_namespace_says_nothing_of_what_is_in_none(void **state) {
        static const char roles[] = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        struct world *w = *state;

        own_as(w, roles, "r", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"x\"," NOBODY "}");
        own_as(w, roles, "n", "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"name\":\"x\"," NOBODY "}");
        world_run(w, 1000);
        assert_int_equal(get(w, arena_strf(w->arena, "%s/r", roles).p), 200);
        assert_int_equal(get(w, arena_strf(w->arena, "%s/n", roles).p), 404);
}

static void a_reference_that_blocks_no_more_lets_its_owner_go(void **state) {
        static const char *const now[] = { "{\"metadata\":{\"ownerReferences\":null}}", NULL };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(now); i++) {
                post(w, CM, "{\"metadata\":{\"name\":\"o\"}}");
                own_as(w, CM, "d", ref_to(w, "o", ",\"blockOwnerDeletion\":true"));
                patch(w, CM "/d", MERGE_TYPE, "{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}");
                assert_int_equal(del(w, CM "/o?propagationPolicy=Foreground"), 200);
                world_run(w, 1000);
                const char *unblocked = arena_strf(w->arena, "{\"metadata\":{\"ownerReferences\":[%s]}}",
                                                   ref_to(w, "o", ",\"blockOwnerDeletion\":false"))
                                                .p;
                assert_int_equal(patch(w, CM "/d", MERGE_TYPE, now[i] ? now[i] : unblocked), 200);
                world_run(w, 1000);
                assert_int_equal(get(w, CM "/o"), 404);
                patch(w, CM "/d", MERGE_TYPE, "{\"metadata\":{\"finalizers\":null}}");
                world_run(w, 1000);
                assert_int_equal(get(w, CM "/d"), 404);
        }
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
                cmocka_unit_test_setup_teardown(owners_that_wait_for_each_other_go, setup, teardown),
                cmocka_unit_test_setup_teardown(an_owner_is_what_the_whole_reference_names, setup, teardown),
                cmocka_unit_test_setup_teardown(what_an_unknown_kind_owns_stays_until_it_is_served, setup, teardown),
                cmocka_unit_test_setup_teardown(an_owner_in_a_namespace_says_nothing_of_what_is_in_none, setup, teardown),
                cmocka_unit_test_setup_teardown(a_reference_that_blocks_no_more_lets_its_owner_go, setup, teardown),
                cmocka_unit_test(without_controllers_nothing_is_collected),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
