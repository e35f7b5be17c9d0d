/* SPDX-License-Identifier: Apache-2.0 */
#include "base/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/limits.h"

/* What came out: pieces, each in <>. */
struct collector {
        struct buf pieces;
        unsigned count;
        unsigned refuse_at; /* the piece with this number is refused; 0: none */
};

static int collect(void *ctx, struct str piece, struct err *err) {
        struct collector *c = ctx;

        c->count++;
        if (c->count == c->refuse_at)
                return err_set(err, ERR_CANCELLED, "enough");
        buf_addch(&c->pieces, '<');
        buf_add(&c->pieces, piece);
        buf_addch(&c->pieces, '>');
        return 0;
}

static struct collector collector_make(void) {
        return (struct collector){ .pieces = buf_make(64 * MIB) };
}

static void collector_done(struct collector *c) {
        buf_done(&c->pieces);
}

/* Feeds the text in chunks of `step` bytes; returns what _end() or the first failing _feed() returns. */
static int feed_list(struct split_list *s, struct str text, size_t step, struct str *ret_shell, struct err *err) {
        for (size_t at = 0; at < text.n; at += step) {
                int r = split_list_feed(s, str_sub(text, at, at + step), err);

                if (r < 0)
                        return r;
        }
        return split_list_end(s, ret_shell, err);
}

/* The same for every way to cut the text into equal chunks. */
static void assert_splits(const char *text, const char *pieces, const char *shell) {
        size_t n = strlen(text);

        for (size_t step = 1; step <= n; step++) {
                _cleanup_(split_list_freep) struct split_list *s = NULL;
                _cleanup_(collector_done) struct collector c = collector_make();
                struct err err = { 0 };
                struct str got;

                s = split_list_new(100, collect, &c);
                if (feed_list(s, str_from(text), step, &got, &err) < 0)
                        fail_msg("%s: %s", text, err.msg);
                assert_string_equal(c.pieces.p, pieces);
                assert_true(str_eqc(got, shell));
        }
}

static void assert_list_refuses(struct str text, size_t max, int code, const char *msg) {
        for (size_t step = 1; step <= text.n + 1; step += text.n + !text.n) {
                _cleanup_(split_list_freep) struct split_list *s = NULL;
                _cleanup_(collector_done) struct collector c = collector_make();
                struct err err = { 0 };
                struct str shell;

                s = split_list_new(max, collect, &c);
                assert_int_equal(feed_list(s, text, step, &shell, &err), code);
                assert_string_equal(err.msg, msg);
        }
}

static void items_are_handed_out_and_the_rest_is_kept(void **state) {
        (void)state;
        assert_splits("{\"kind\":\"PodList\",\"items\":[{\"a\":1},{\"b\":[2]}],\"metadata\":{\"continue\":\"x\"}}",
                      "<{\"a\":1}><{\"b\":[2]}>",
                      "{\"kind\":\"PodList\",\"items\":[],\"metadata\":{\"continue\":\"x\"}}");
        assert_splits("{\"items\":[]}", "", "{\"items\":[]}");
        assert_splits("{ \"items\" : [ { } , [ ] ] } ", "<{ }><[ ]>", "{ \"items\" : [] }");
        assert_splits("\n{\"items\":\n[\n{}\n,\n{}\n]\n}\n", "<{}><{}>", "{\"items\":\n[]\n}");
}

static void brackets_and_quotes_in_strings_mean_nothing(void **state) {
        (void)state;
        assert_splits("{\"items\":[{\"a\":\"]}\\\"],{\"},{\"b\\\\\":\"\\\\\"}]}",
                      "<{\"a\":\"]}\\\"],{\"}><{\"b\\\\\":\"\\\\\"}>", "{\"items\":[]}");
        assert_splits("{\"a\":\"\\\"items\\\":[1]\",\"items\":[1]}", "<1>",
                      "{\"a\":\"\\\"items\\\":[1]\",\"items\":[]}");
        assert_splits("{\"items\":[\"\xf0\x9f\x8e\x89\",\"\\ud83c\\udf89\"]}",
                      "<\"\xf0\x9f\x8e\x89\"><\"\\ud83c\\udf89\">",
                      "{\"items\":[]}");
}

static void bare_items_are_items_too(void **state) {
        (void)state;
        assert_splits("{\"items\":[1,-2.5 ,true, null,\"x\" ]}", "<1><-2.5><true><null><\"x\">", "{\"items\":[]}");
}

static void only_the_top_level_items_count(void **state) {
        (void)state;
        assert_splits("{\"metadata\":{\"items\":[1,2]},\"items\":[{\"items\":[3]}]}", "<{\"items\":[3]}>",
                      "{\"metadata\":{\"items\":[1,2]},\"items\":[]}");
        assert_splits("{\"a\":\"items\",\"b\":[1]}", "", "{\"a\":\"items\",\"b\":[1]}");
        assert_splits("{\"items\":null,\"b\":[1]}", "", "{\"items\":null,\"b\":[1]}");
        assert_splits("{\"items\":{\"a\":[1]},\"b\":[1]}", "", "{\"items\":{\"a\":[1]},\"b\":[1]}");
        assert_splits("{\"Items\":[1],\"items2\":[2]}", "", "{\"Items\":[1],\"items2\":[2]}");
        assert_splits("{\"kind\":\"Status\",\"code\":410}", "", "{\"kind\":\"Status\",\"code\":410}");
        assert_splits("{}", "", "{}");
}

static void what_is_no_list_is_refused(void **state) {
        (void)state;
        assert_list_refuses(STR("[]"), 10, ERR_PARSE, "not a list in JSON: it does not begin with {");
        assert_list_refuses(STR("<html>"), 10, ERR_PARSE, "not a list in JSON: it does not begin with {");
        assert_list_refuses(STR("{\"a\":[]]}"), 10, ERR_PARSE, "not a list in JSON: more text after it");
        assert_list_refuses(STR("{\"items\":[]} {"), 10, ERR_PARSE, "not a list in JSON: more text after it");
        assert_list_refuses(STR("{\"items\":[1,,2]}"), 10, ERR_PARSE, "not a list in JSON: an item is missing");
        assert_list_refuses(STR("{\"items\":[,1]}"), 10, ERR_PARSE, "not a list in JSON: an item is missing");
        assert_list_refuses(STR("{\"items\":[1,]}"), 10, ERR_PARSE, "not a list in JSON: an item is missing");
        assert_list_refuses(STR("{\"items\":[}"), 10, ERR_PARSE, "not a list in JSON: an item is missing");
        assert_list_refuses(STR("{\"items\":[{} {}]}"), 10, ERR_PARSE,
                            "not a list in JSON: items without a comma between them");
        assert_list_refuses(STR("{\"items\":[1}"), 10, ERR_PARSE,
                            "not a list in JSON: items without a comma between them");
        assert_list_refuses(STR("{\"\\u0069tems\":[1]}"), 10, ERR_PARSE,
                            "not a list in JSON: escape in a top-level key");
}

static void a_text_that_ends_early_is_refused(void **state) {
        const char *whole = "{\"items\":[{\"a\":\"x\"},2],\"b\":1}";

        (void)state;
        for (size_t n = 0; n < strlen(whole); n++)
                assert_list_refuses((struct str){ whole, n }, 10, ERR_PARSE, "not a list in JSON: it ends early");
}

static void an_item_may_reach_its_maximum(void **state) {
        (void)state;
        assert_splits("{\"items\":[\"12345678901234567890123456789012345678901234567890123456789012345678901234567890"
                      "123456789012345678\"  ]}",
                      "<\"12345678901234567890123456789012345678901234567890123456789012345678901234567890"
                      "123456789012345678\">",
                      "{\"items\":[]}");
        assert_list_refuses(STR("{\"items\":[1234,12345]}"), 4, ERR_LIMIT, "an item of a list is larger than 4 bytes");
        assert_list_refuses(STR("{\"items\":[[1,2]]}"), 4, ERR_LIMIT, "an item of a list is larger than 4 bytes");
}

/* A list whose text outside of the items has `n` bytes. */
static struct str shell_of(size_t n, struct buf *out) {
        buf_clear(out);
        buf_addc(out, "{\"items\":[1],\"a\":\"");
        while (out->n < n - 1)
                buf_addch(out, 'x');
        buf_addc(out, "\"}");
        return buf_str(out);
}

static void the_shell_is_capped(void **state) {
        _cleanup_(split_list_freep) struct split_list *s = NULL;
        _cleanup_(collector_done) struct collector c = collector_make();
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        struct str shell;

        (void)state;
        s = split_list_new(10, collect, &c);
        assert_int_equal(feed_list(s, shell_of(KUBE_MAX_ERROR_BYTES, &text), 1000, &shell, NULL), 0);
        assert_int_equal(shell.n, KUBE_MAX_ERROR_BYTES);
        assert_list_refuses(shell_of(KUBE_MAX_ERROR_BYTES + 1, &text), 10, ERR_LIMIT,
                            "the part of a list around its items is larger than 262144 bytes");
}

static void a_refused_item_ends_the_list_for_good(void **state) {
        _cleanup_(split_list_freep) struct split_list *s = NULL;
        _cleanup_(collector_done) struct collector c = collector_make();
        struct str shell = STR("untouched");
        struct err err = { 0 };

        (void)state;
        c.refuse_at = 2;
        s = split_list_new(10, collect, &c);
        assert_int_equal(split_list_feed(s, STR("{\"items\":[1,2,3]}"), &err), ERR_CANCELLED);
        assert_string_equal(err.msg, "enough");
        assert_string_equal(c.pieces.p, "<1>");
        assert_int_equal(split_list_feed(s, STR(" "), &err), ERR_CANCELLED);
        assert_int_equal(split_list_end(s, &shell, &err), ERR_CANCELLED);
        assert_string_equal(err.msg, "the list failed before");
        assert_true(str_eqc(shell, "untouched"));
        assert_int_equal(c.count, 2);
        split_list_free(NULL);
}

static void a_thousand_items_need_the_memory_of_one(void **state) {
        _cleanup_(split_list_freep) struct split_list *s = NULL;
        _cleanup_(collector_done) struct collector c = collector_make();
        _cleanup_(buf_done) struct buf item = buf_make(KIB);
        struct str shell;

        (void)state;
        s = split_list_new(KIB, collect, &c);
        buf_addc(&item, ",{\"a\":\"");
        while (item.n < KIB - 2)
                buf_addch(&item, 'x');
        buf_addc(&item, "\"}");
        assert_int_equal(split_list_feed(s, STR("{\"items\":[0"), NULL), 0);
        for (int i = 0; i < 1000; i++) {
                buf_clear(&c.pieces);
                assert_int_equal(split_list_feed(s, buf_str(&item), NULL), 0);
        }
        assert_int_equal(split_list_feed(s, STR("]}"), NULL), 0);
        assert_int_equal(split_list_end(s, &shell, NULL), 0);
        assert_int_equal(c.count, 1001);
}

static int feed_lines(struct str text, size_t max, size_t step, struct collector *c, struct err *err) {
        struct split_lines s = split_lines_make(max);
        int r = 0;

        for (size_t at = 0; at < text.n && r == 0; at += step)
                r = split_lines_feed(&s, str_sub(text, at, at + step), collect, c, err);
        split_lines_done(&s);
        return r;
}

static void complete_lines_are_handed_out(void **state) {
        const struct str text = STR("{\"a\":1}\n\n  \n{\"b\":2}\r\n\r\n \t{\"c\":3} \n{\"incomplete\":");

        (void)state;
        for (size_t step = 1; step <= text.n; step++) {
                _cleanup_(collector_done) struct collector c = collector_make();

                assert_int_equal(feed_lines(text, 100, step, &c, NULL), 0);
                assert_string_equal(c.pieces.p, "<{\"a\":1}><{\"b\":2}><{\"c\":3}>");
        }
}

static void a_line_may_reach_its_maximum(void **state) {
        struct err err = { 0 };

        (void)state;
        for (size_t step = 1; step <= 12; step++) {
                _cleanup_(collector_done) struct collector c = collector_make();

                assert_int_equal(feed_lines(STR("1234\n1234\n"), 4, step, &c, &err), 0);
                assert_string_equal(c.pieces.p, "<1234><1234>");
                assert_int_equal(feed_lines(STR("12\n12345\n6\n"), 4, step, &c, &err), ERR_LIMIT);
                assert_string_equal(err.msg, "a line of a stream is larger than 4 bytes");
                assert_string_equal(c.pieces.p, "<1234><1234><12>");
        }
}

static void a_line_without_end_is_not_waited_for_forever(void **state) {
        _cleanup_(collector_done) struct collector c = collector_make();
        struct err err = { 0 };

        (void)state;
        assert_int_equal(feed_lines(STR("123"), 2, 1, &c, &err), ERR_LIMIT);
}

static void a_refused_line_stops_the_feed(void **state) {
        _cleanup_(collector_done) struct collector c = collector_make();
        struct err err = { 0 };

        (void)state;
        c.refuse_at = 2;
        assert_int_equal(feed_lines(STR("1\n2\n3\n"), 10, 6, &c, &err), ERR_CANCELLED);
        assert_string_equal(c.pieces.p, "<1>");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(items_are_handed_out_and_the_rest_is_kept),
                cmocka_unit_test(brackets_and_quotes_in_strings_mean_nothing),
                cmocka_unit_test(bare_items_are_items_too),
                cmocka_unit_test(only_the_top_level_items_count),
                cmocka_unit_test(what_is_no_list_is_refused),
                cmocka_unit_test(a_text_that_ends_early_is_refused),
                cmocka_unit_test(an_item_may_reach_its_maximum),
                cmocka_unit_test(the_shell_is_capped),
                cmocka_unit_test(a_refused_item_ends_the_list_for_good),
                cmocka_unit_test(a_thousand_items_need_the_memory_of_one),
                cmocka_unit_test(complete_lines_are_handed_out),
                cmocka_unit_test(a_line_may_reach_its_maximum),
                cmocka_unit_test(a_line_without_end_is_not_waited_for_forever),
                cmocka_unit_test(a_refused_line_stops_the_feed),
        };

        return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
