/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/gvk.h"
#include "kube/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct kube_location web = {
        .group = { "apps", 4 },
        .version = { "v1", 2 },
        .plural = { "deployments", 11 },
        .namespace = { "shop", 4 },
        .name = { "web", 3 },
};

static void assert_path(const struct kube_location *at, const struct kube_query *query, const char *want) {
        _cleanup_(buf_done) struct buf out = buf_make(KUBE_MAX_PATH_BYTES);
        struct err err = { 0 };

        assert_int_equal(kube_path(at, query, &out, &err), 0);
        assert_string_equal(out.p, want);
}

static void assert_refused(const struct kube_location *at, enum err_code code) {
        _cleanup_(buf_done) struct buf out = buf_make(KUBE_MAX_PATH_BYTES);
        struct err err = { 0 };

        buf_addc(&out, "before");
        assert_int_equal(kube_path(at, NULL, &out, &err), code);
        assert_int_equal(err.code, code);
        assert_string_equal(out.p, "before");
}

static void each_kind_of_place_has_its_path(void **state) {
        struct kube_location at = web;

        (void)state;
        assert_path(&at, NULL, "/apis/apps/v1/namespaces/shop/deployments/web");
        at.subresource = STR("scale");
        assert_path(&at, NULL, "/apis/apps/v1/namespaces/shop/deployments/web/scale");
        at.subresource = at.name = (struct str){ 0 };
        assert_path(&at, NULL, "/apis/apps/v1/namespaces/shop/deployments");
        at.namespace = (struct str){ 0 };
        assert_path(&at, NULL, "/apis/apps/v1/deployments");
        at = (struct kube_location){ .version = STR("v1"), .plural = STR("namespaces"), .name = STR("shop") };
        assert_path(&at, NULL, "/api/v1/namespaces/shop");
}

static void names_are_percent_encoded(void **state) {
        struct kube_location at = web;

        (void)state;
        at.name = STR("system:a b?c#d&\xc3\xa4");
        assert_path(&at, NULL, "/apis/apps/v1/namespaces/shop/deployments/system%3Aa%20b%3Fc%23d%26%C3%A4");
        at.name = STR("a.b-c_d~e");
        assert_path(&at, NULL, "/apis/apps/v1/namespaces/shop/deployments/a.b-c_d~e");
}

static void the_longest_legal_name_fits(void **state) {
        char name[253], want[512];
        struct kube_location at = web;

        (void)state;
        memset(name, 'x', sizeof name);
        at.name = (struct str){ name, sizeof name };
        snprintf(want, sizeof want, "/apis/apps/v1/namespaces/shop/deployments/%.253s", name);
        assert_path(&at, NULL, want);
}

static void a_segment_that_would_change_the_path_is_refused(void **state) {
        static const struct str bad[] = { { ".", 1 }, { "..", 2 }, { "a/b", 3 }, { "a%2fb", 5 }, { "a\0b", 3 } };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                struct kube_location at = web;

                at.name = bad[i];
                assert_refused(&at, ERR_INVAL);
                at = web;
                at.namespace = bad[i];
                assert_refused(&at, ERR_INVAL);
                at = web;
                at.plural = bad[i];
                assert_refused(&at, ERR_INVAL);
                assert_false(kube_path_segment_is_legal(bad[i]));
        }
        assert_false(kube_path_segment_is_legal((struct str){ 0 }));
        assert_true(kube_path_segment_is_legal(STR("...")));
}

static void a_place_without_version_resource_or_name_is_refused(void **state) {
        struct kube_location at = web;

        (void)state;
        at.version = (struct str){ 0 };
        assert_refused(&at, ERR_INVAL);
        at = web;
        at.plural = (struct str){ 0 };
        assert_refused(&at, ERR_INVAL);
        at = web;
        at.name = (struct str){ 0 };
        at.subresource = STR("status");
        assert_refused(&at, ERR_INVAL);
}

static void a_path_above_its_limit_is_refused(void **state) {
        char name[KUBE_MAX_PATH_BYTES];
        struct kube_location at = web;

        (void)state;
        memset(name, 'x', sizeof name);
        at.name = (struct str){ name, sizeof name - strlen("/apis/apps/v1/namespaces/shop/deployments/") };
        _cleanup_(buf_done) struct buf out = buf_make(KUBE_MAX_PATH_BYTES);
        assert_int_equal(kube_path(&at, NULL, &out, NULL), 0);
        assert_int_equal(out.n, KUBE_MAX_PATH_BYTES);
        at.name.n++;
        assert_refused(&at, ERR_LIMIT);
}

static void write_parameters_are_spelled_as_the_server_reads_them(void **state) {
        const struct kube_query query = {
                .field_manager = STR("truce keeper"),
                .force = true,
                .dry_run = true,
                .validation = KUBE_VALIDATION_STRICT,
        };

        (void)state;
        assert_path(&web, &query,
                    "/apis/apps/v1/namespaces/shop/deployments/web"
                    "?fieldManager=truce%20keeper&force=true&dryRun=All&fieldValidation=Strict");
        assert_path(&web, &(struct kube_query){ .validation = KUBE_VALIDATION_WARN },
                    "/apis/apps/v1/namespaces/shop/deployments/web?fieldValidation=Warn");
        assert_path(&web, &(struct kube_query){ .validation = KUBE_VALIDATION_IGNORE },
                    "/apis/apps/v1/namespaces/shop/deployments/web?fieldValidation=Ignore");
        assert_path(&web, &(struct kube_query){ 0 }, "/apis/apps/v1/namespaces/shop/deployments/web");
}

static void read_parameters_are_spelled_as_the_server_reads_them(void **state) {
        struct kube_location at = web;

        (void)state;
        at.name = (struct str){ 0 };
        assert_path(&at,
                    &(struct kube_query){ .label_selector = STR("a in (b,c)"),
                                          .field_selector = STR("metadata.name=x"),
                                          .limit = 500,
                                          .resource_version = STR("7"),
                                          .resource_version_match = STR("NotOlderThan") },
                    "/apis/apps/v1/namespaces/shop/deployments?labelSelector=a%20in%20%28b%2Cc%29"
                    "&fieldSelector=metadata.name%3Dx&limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan");
        assert_path(&at,
                    &(struct kube_query){
                            .watch = true, .allow_bookmarks = true, .send_initial_events = true, .timeout_s = 300 },
                    "/apis/apps/v1/namespaces/shop/deployments?watch=true&allowWatchBookmarks=true"
                    "&sendInitialEvents=true&timeoutSeconds=300");
}

static void a_continued_list_names_no_resource_version(void **state) {
        struct kube_location at = web;

        (void)state;
        at.name = (struct str){ 0 };
        assert_path(&at,
                    &(struct kube_query){ .limit = 2,
                                          .continue_token = STR("abc=="),
                                          .resource_version = STR("7"),
                                          .resource_version_match = STR("NotOlderThan") },
                    "/apis/apps/v1/namespaces/shop/deployments?limit=2&continue=abc%3D%3D");
}

static void kinds_and_keys_print_as_users_know_them(void **state) {
        const struct gvk gvk = gvk_from(STR("apps/v1"), STR("Deployment"));
        const struct object_key key = { STR("apps"), STR("Deployment"), STR("shop"), STR("web") };
        const struct object_key core = { STR(""), STR("Namespace"), STR(""), STR("shop") };
        _cleanup_(buf_done) struct buf out = buf_make(1024);

        (void)state;
        object_print(&out, gvk, STR("shop"), STR("web"));
        assert_string_equal(out.p, "apps/v1 Deployment shop/web");
        buf_clear(&out);
        object_print(&out, gvk_from(STR("v1"), STR("Namespace")), STR(""), STR("shop"));
        assert_string_equal(out.p, "v1 Namespace shop");
        buf_clear(&out);
        object_key_print(&out, &key);
        assert_string_equal(out.p, "Deployment.apps shop/web");
        buf_clear(&out);
        object_key_print(&out, &core);
        assert_string_equal(out.p, "Namespace shop");
        buf_clear(&out);
        kube_location_print(&out, &web);
        assert_string_equal(out.p, "apps/v1 deployments shop/web");
}

static void a_key_survives_its_id(void **state) {
        const struct object_key keys[] = {
                { STR("apps"), STR("Deployment"), STR("shop"), STR("web") },
                { STR(""), STR("Namespace"), STR(""), STR("shop") },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                _cleanup_(buf_done) struct buf id = buf_make(1024);
                struct object_key back;

                object_key_add_id(&id, &keys[i]);
                assert_true(object_key_from_id(buf_str(&id), &back));
                assert_true(object_key_eq(&keys[i], &back));
        }
        struct object_key unused;
        assert_false(object_key_from_id(STR("a/b/c"), &unused));
        assert_false(object_key_from_id(STR("a/b/c/d/e"), &unused));
        assert_true(object_key_cmp(&keys[0], &keys[1]) > 0);
        assert_true(gvk_eq(gvk_from(STR("apps/v1"), STR("A")), (struct gvk){ STR("apps"), STR("v1"), STR("A") }));
        assert_false(gvk_eq(gvk_from(STR("v1"), STR("A")), (struct gvk){ STR("apps"), STR("v1"), STR("A") }));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_kind_of_place_has_its_path),
                cmocka_unit_test(names_are_percent_encoded),
                cmocka_unit_test(the_longest_legal_name_fits),
                cmocka_unit_test(a_segment_that_would_change_the_path_is_refused),
                cmocka_unit_test(a_place_without_version_resource_or_name_is_refused),
                cmocka_unit_test(a_path_above_its_limit_is_refused),
                cmocka_unit_test(write_parameters_are_spelled_as_the_server_reads_them),
                cmocka_unit_test(read_parameters_are_spelled_as_the_server_reads_them),
                cmocka_unit_test(a_continued_list_names_no_resource_version),
                cmocka_unit_test(kinds_and_keys_print_as_users_know_them),
                cmocka_unit_test(a_key_survives_its_id),
        };

        return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
