/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/list.h"
#include "kube/script_transport.h"
#include "kube/skim_impl.h"

#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define PATH "/api/v1/namespaces/shop/configmaps"

static const struct kube_list_spec configmaps = {
        .at = { .version = { "v1", 2 }, .plural = { "configmaps", 10 }, .namespace = { "shop", 4 } },
};

struct fixture {
        struct loop *loop;
        struct script *script;
        struct kube_client *client;
        struct buf items; /* "a b c ", "|" where it starts over */
        struct buf rv;
        struct err err;
        bool rv_too_large;
        unsigned done;
        const char *refuse_item; /* end the list at this item */
};

static int set_up(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->loop = loop_new_virtual(7, 0);
        f->script = script_new(f->loop);
        f->client = kube_client_new(script_transport(f->script), f->loop);
        f->items = buf_make(MIB);
        f->rv = buf_make(1024);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        struct fixture *f = *state;

        kube_client_free(f->client);
        script_free(f->script);
        loop_free(f->loop);
        buf_done(&f->items);
        buf_done(&f->rv);
        free(f);
        return 0;
}

static int on_item(void *ctx, struct str object, struct err *err) {
        struct fixture *f = ctx;

        buf_add(&f->items, object);
        buf_addch(&f->items, ' ');
        if (f->refuse_item && str_eqc(object, f->refuse_item))
                return err_set(err, ERR_CORRUPT, "I do not like it");
        return 0;
}

static void on_restart(void *ctx) {
        buf_addch(&((struct fixture *)ctx)->items, '|');
}

static void on_done(void *ctx, struct str rv, const struct kube_status *status, const struct err *err) {
        struct fixture *f = ctx;

        f->done++;
        buf_add(&f->rv, rv);
        f->err = err ? *err : (struct err){ 0 };
        f->rv_too_large = status->rv_too_large;
}

static const struct kube_list_handler handler = { .item = on_item, .restart = on_restart, .done = on_done };

static void list(struct fixture *f, const struct kube_list_spec *spec) {
        unsigned before = f->done;

        buf_clear(&f->items);
        buf_clear(&f->rv);
        kube_list_start(f->client, spec, &handler, f);
        assert_int_equal(f->done, before);
        loop_run(f->loop);
        assert_int_equal(f->done, before + 1);
}

static void page(struct fixture *f, const char *pattern, const char *body, unsigned times) {
        script_on(f->script, KUBE_GET, pattern, &(struct script_answer){ .body = str_from(body), .times = times });
}

#define GONE_BODY                                                                                                      \
        "{\"kind\":\"Status\",\"reason\":\"Expired\",\"message\":\"the continue token is too old\",\"code\":410}"

static void serve_three_pages(struct fixture *f) {
        page(f, PATH, "{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"t1\"},\"items\":[\"a\",\"b\"]}", 0);
        page(f, PATH "?*continue=t1*",
             "{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"t2\"},\"items\":[\"c\"]}", 0);
        page(f, PATH "?*continue=t2*", "{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"\"},\"items\":[\"d\"]}",
             0);
}

static void a_page_that_falls_silent_starts_the_list_over(void **state) {
        struct script_answer half = { .body = STR("{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[\"a\",\"b"),
                                      .stream = true, .times = 2 };
        struct fixture *f = *state;
        int64_t began_ms = loop_now_ms(f->loop);

        page(f, PATH, "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[\"a\",\"b\"]}", 0);
        script_on(f->script, KUBE_GET, PATH, &half);
        list(f, &configmaps);

        assert_int_equal(f->err.code, 0);
        assert_string_equal(f->items.p, "\"a\" |\"a\" |\"a\" \"b\" ");
        assert_int_equal(loop_now_ms(f->loop) - began_ms, 2 * KUBE_LIST_SILENCE_MS);
}

static void a_server_that_stays_silent_ends_the_list(void **state) {
        struct script_answer silent = { .stream = true };
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, PATH, &silent);
        list(f, &configmaps);

        assert_int_equal(f->err.code, ERR_TIMEOUT);
        assert_int_equal(script_count(f->script, KUBE_GET, PATH), KUBE_LIST_MAX_STALLS + 1);
}

static void items_come_one_by_one_and_then_the_version(void **state) {
        struct fixture *f = *state;

        page(f, PATH,
             "{\"kind\":\"ConfigMapList\",\"items\":[{\"a\":1},{\"b\":[2]}],\"metadata\":{\"resourceVersion\":\"7\"}}",
             0);
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_OK);
        assert_string_equal(f->items.p, "{\"a\":1} {\"b\":[2]} ");
        assert_string_equal(f->rv.p, "7");
        assert_true(str_eqc(script_request_at(f->script, 0)->path, PATH "?limit=500"));
}

static void an_empty_list_is_complete(void **state) {
        struct fixture *f = *state;

        page(f, PATH, "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}", 0);
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_OK);
        assert_string_equal(f->rv.p, "7");
        page(f, PATH, "{\"metadata\":{\"resourceVersion\":\"8\"},\"items\":null}", 0);
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_OK);
        assert_string_equal(f->items.p, "");
}

static void pages_follow_each_other(void **state) {
        struct fixture *f = *state;

        serve_three_pages(f);
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_OK);
        assert_string_equal(f->items.p, "\"a\" \"b\" \"c\" \"d\" ");
        assert_string_equal(f->rv.p, "9");
        assert_int_equal(script_request_count(f->script), 3);
}

static void a_page_in_small_pieces_is_the_same(void **state) {
        struct fixture *f = *state;

        for (size_t bytes = 1; bytes < 9; bytes++) {
                script_on(f->script, KUBE_GET, PATH,
                          &(struct script_answer){ .chunk_bytes = bytes,
                                                   .body = STR("{\"items\":[{\"a\":\"}\\\"]\"},{}],\"metadata\":{"
                                                               "\"resourceVersion\":\"7\"}}") });
                list(f, &configmaps);
                assert_string_equal(f->items.p, "{\"a\":\"}\\\"]\"} {} ");
        }
}

static void selectors_and_the_oldest_moment_are_asked_for(void **state) {
        struct kube_list_spec spec = configmaps;
        struct fixture *f = *state;

        spec.label_selector = STR("a=b");
        spec.field_selector = STR("metadata.name=x");
        spec.not_older_than = STR("42");
        spec.page_items = 2;
        serve_three_pages(f);
        list(f, &spec);
        assert_true(str_eqc(script_request_at(f->script, 0)->path,
                            PATH "?labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=2&resourceVersion=42"
                                 "&resourceVersionMatch=NotOlderThan"));
        assert_true(str_eqc(script_request_at(f->script, 1)->path,
                            PATH "?labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=2&continue=t1"));
}

static void a_compacted_continuation_starts_over_once(void **state) {
        struct fixture *f = *state;

        serve_three_pages(f);
        script_on(f->script, KUBE_GET, PATH "?*continue=t2*",
                  &(struct script_answer){ .status = 410, .body = STR(GONE_BODY), .times = 1 });
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_OK);
        assert_string_equal(f->items.p, "\"a\" \"b\" \"c\" |\"a\" \"b\" \"c\" \"d\" ");

        script_on(f->script, KUBE_GET, PATH "?*continue=t2*",
                  &(struct script_answer){ .status = 410, .body = STR(GONE_BODY) });
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_GONE);
        assert_string_equal(f->items.p, "\"a\" \"b\" \"c\" |\"a\" \"b\" \"c\" ");
        assert_non_null(strstr(f->err.msg, "list configmaps: the continue token is too old"));
}

static void an_expired_moment_is_the_callers_business(void **state) {
        struct kube_list_spec spec = configmaps;
        struct fixture *f = *state;

        spec.not_older_than = STR("42");
        script_on(f->script, KUBE_GET, PATH, &(struct script_answer){ .status = 410, .body = STR(GONE_BODY) });
        list(f, &spec);
        assert_int_equal(f->err.code, ERR_GONE);
        assert_int_equal(script_request_count(f->script), 1);
}

static void a_moment_of_the_future_is_told_at_once(void **state) {
        struct kube_list_spec spec = configmaps;
        struct fixture *f = *state;

        spec.not_older_than = STR("42");
        script_on(f->script, KUBE_GET, PATH,
                  &(struct script_answer){
                          .status = 504,
                          .retry_after_ms = 1000,
                          .body = STR("{\"kind\":\"Status\",\"reason\":\"Timeout\",\"details\":{\"causes\":["
                                      "{\"reason\":\"ResourceVersionTooLarge\"}]},\"code\":504}") });
        list(f, &spec);
        assert_true(f->rv_too_large);
        assert_int_equal(script_request_count(f->script), 1);
}

static void a_throttled_page_waits(void **state) {
        struct fixture *f = *state;

        serve_three_pages(f);
        script_on(f->script, KUBE_GET, PATH "?*continue=t1*",
                  &(struct script_answer){ .status = 429, .retry_after_ms = 3000, .times = 2 });
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_OK);
        assert_string_equal(f->items.p, "\"a\" \"b\" \"c\" \"d\" ");
        assert_int_equal(script_request_count(f->script), 5);
}

static void a_page_that_breaks_before_its_first_byte_is_asked_again(void **state) {
        struct fixture *f = *state;

        serve_three_pages(f);
        script_on(f->script, KUBE_GET, PATH "?*continue=t1*",
                  &(struct script_answer){ .error = ERR_UNREACHABLE, .times = 1 });
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_OK);
        assert_string_equal(f->items.p, "\"a\" \"b\" \"c\" \"d\" ");
}

static void a_page_that_breaks_off_is_not_repeated(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, PATH,
                  &(struct script_answer){ .body = STR("{\"items\":[\"a\","), .error = ERR_UNREACHABLE });
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_UNREACHABLE);
        assert_string_equal(f->items.p, "\"a\" ");
        assert_int_equal(script_request_count(f->script), 1);
}

static void text_that_is_no_list_is_refused(void **state) {
        static const char *const bad[] = { "",
                                           "[]",
                                           "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[\"a\"",
                                           "<html>",
                                           "{\"items\":[]}",
                                           "{\"metadata\":{\"continue\":5},\"items\":[]}" };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                page(f, PATH, bad[i], 0);
                list(f, &configmaps);
                assert_int_equal(f->err.code, ERR_PARSE);
        }
}

static void a_list_without_a_version_has_none(void **state) {
        struct fixture *f = *state;

        page(f, PATH, "{\"metadata\":{},\"items\":[1]}", 0);
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_OK);
        assert_string_equal(f->rv.p, "");
}

static void an_item_above_its_limit_ends_the_list(void **state) {
        struct fixture *f = *state;
        struct buf body = buf_make(KUBE_MAX_OBJECT_BYTES + KIB);
        char *item = mem_alloc(KUBE_MAX_OBJECT_BYTES);

        memset(item, 'x', KUBE_MAX_OBJECT_BYTES);
        for (size_t extra = 0; extra < 2; extra++) {
                buf_clear(&body);
                buf_addc(&body, "{\"items\":[\"");
                buf_add(&body, (struct str){ item, KUBE_MAX_OBJECT_BYTES - 2 + extra });
                buf_addc(&body, "\"],\"metadata\":{}}");
                script_on(f->script, KUBE_GET, PATH,
                          &(struct script_answer){ .body = buf_str(&body), .chunk_bytes = 100000 });
                list(f, &configmaps);
                assert_int_equal(f->err.code, extra ? ERR_LIMIT : ERR_OK);
        }
        free(item);
        buf_done(&body);
}

static void the_callers_error_comes_back(void **state) {
        struct fixture *f = *state;

        f->refuse_item = "\"c\"";
        serve_three_pages(f);
        list(f, &configmaps);
        assert_int_equal(f->err.code, ERR_CORRUPT);
        assert_string_equal(f->err.msg, "list configmaps: I do not like it");
}

static void a_place_that_cannot_be_asked_is_told_later(void **state) {
        struct kube_list_spec spec = configmaps;
        struct fixture *f = *state;

        spec.at.namespace = STR("..");
        list(f, &spec);
        assert_int_equal(f->err.code, ERR_INVAL);
        assert_int_equal(script_request_count(f->script), 0);
}

static void a_cancelled_list_says_nothing_more(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, PATH, &(struct script_answer){ .delay_ms = 10 });
        struct kube_list *l = kube_list_start(f->client, &configmaps, &handler, f);
        loop_run_for(f->loop, 5);
        kube_list_cancel(l);
        kube_list_cancel(NULL);
        loop_run(f->loop);
        assert_int_equal(f->done, 0);
        assert_true(script_request_at(f->script, 0)->cancelled);
}

static void a_list_dies_with_its_client(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, PATH, &(struct script_answer){ .status = 429, .retry_after_ms = 1000 });
        kube_list_start(f->client, &configmaps, &handler, f);
        loop_run_for(f->loop, 500);
        kube_client_free(TAKE_PTR(f->client));
        loop_run(f->loop);
        assert_int_equal(f->done, 0);
}

/* --- skim --- */

static void a_member_is_found_without_a_tree(void **state) {
        const struct str json = STR(" {\"a\\\"\":1, \"b\" : {\"x\":\"},]\\\\\"} ,\"c\":[1,{\"a\":2}],\"a\":\"t\"} ");
        struct str raw;

        (void)state;
        assert_true(skim_member(json, STR("b"), &raw));
        assert_true(str_eqc(raw, "{\"x\":\"},]\\\\\"}"));
        assert_true(skim_member(json, STR("c"), &raw));
        assert_true(str_eqc(raw, "[1,{\"a\":2}]"));
        assert_true(skim_string(json, STR("a"), &raw));
        assert_true(str_eqc(raw, "t"));
        assert_false(skim_member(json, STR("x"), &raw));
        assert_false(skim_string(json, STR("b"), &raw));
        assert_false(skim_string(STR("{\"a\":\"\\u0041\"}"), STR("a"), &raw));
        assert_false(skim_string(STR("{\"a\":\"1\t2\"}"), STR("a"), &raw));
}

static void damaged_text_has_no_members(void **state) {
        static const char *const bad[] = {
                "",         "{",          "[]",        "{\"a",          "{\"a\"",    "{\"a\":",
                "{\"a\":1", "{\"a\":[1}", "{\"b\":\"", "{\"b\":1,a:2}", "{\"a\" 1}", "{\"b\":1]\"a\":2}"
        };
        struct str raw;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_false(skim_member(str_from(bad[i]), STR("a"), &raw));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_page_that_falls_silent_starts_the_list_over),
                TEST(a_server_that_stays_silent_ends_the_list),
                TEST(items_come_one_by_one_and_then_the_version),
                TEST(an_empty_list_is_complete),
                TEST(pages_follow_each_other),
                TEST(a_page_in_small_pieces_is_the_same),
                TEST(selectors_and_the_oldest_moment_are_asked_for),
                TEST(a_compacted_continuation_starts_over_once),
                TEST(an_expired_moment_is_the_callers_business),
                TEST(a_moment_of_the_future_is_told_at_once),
                TEST(a_throttled_page_waits),
                TEST(a_page_that_breaks_before_its_first_byte_is_asked_again),
                TEST(a_page_that_breaks_off_is_not_repeated),
                TEST(text_that_is_no_list_is_refused),
                TEST(a_list_without_a_version_has_none),
                TEST(an_item_above_its_limit_ends_the_list),
                TEST(the_callers_error_comes_back),
                TEST(a_place_that_cannot_be_asked_is_told_later),
                TEST(a_cancelled_list_says_nothing_more),
                TEST(a_list_dies_with_its_client),
                cmocka_unit_test(a_member_is_found_without_a_tree),
                cmocka_unit_test(damaged_text_has_no_members),
        };

        return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
