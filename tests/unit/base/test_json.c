/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/limits.h"
#include "arena_test.h"

static void assert_reads(struct str text, const char *canonical) {
        const struct value *v;
        struct err err = { 0 };

        if (json_parse(text, a, &v, &err) < 0)
                fail_msg("%.*s: %s", STR_FMT(text), err.msg);
        assert_string_equal(value_canonical(a, v).p, canonical);
}

static void assert_refuses(struct str text, int code, const char *msg) {
        const struct value *v = &value_true;
        struct err err = { 0 };

        if (json_parse(text, a, &v, &err) != code)
                fail_msg("%.*s is not refused as it should be: %s", STR_FMT(text), err.msg);
        assert_int_equal(err.code, code);
        assert_true(str_starts(str_from(err.msg), str_from(msg)));
        assert_ptr_equal(v, &value_true);
        assert_int_equal(json_parse(text, a, &v, NULL), code);
}

static void every_kind_is_read(void **state) {
        (void)state;
        assert_reads(STR("{\"s\":\"x\",\"n\":null,\"t\":true,\"f\":false,\"i\":-12,\"l\":[1,[]],\"m\":{\"\":{}}}"),
                     "{\"f\":false,\"i\":-12,\"l\":[1,[]],\"m\":{\"\":{}},\"n\":null,\"s\":\"x\",\"t\":true}");
        assert_reads(STR(" \t\r\n[ 1 , 2 ]\n "), "[1,2]");
}

static void a_bare_scalar_is_a_text(void **state) {
        (void)state;
        assert_reads(STR("12"), "12");
        assert_reads(STR("-0"), "-0");
        assert_reads(STR("null"), "null");
        assert_reads(STR("true"), "true");
        assert_reads(STR("\"\""), "\"\"");
        assert_reads(STR("1e5 "), "1e5");
}

static void numbers_keep_their_text_exactly(void **state) {
        (void)state;
        assert_reads(STR("[9223372036854775807,9223372036854775808,18446744073709551615,-9223372036854775808]"),
                     "[9223372036854775807,9223372036854775808,18446744073709551615,-9223372036854775808]");
        assert_reads(STR("[18446744073709551616,-9223372036854775809,123456789012345678901234567890]"),
                     "[18446744073709551616,-9223372036854775809,123456789012345678901234567890]");
        assert_reads(STR("[1.10,1e3,1E+3,1e-3,0.0,-0.0,-0,1e400,1e-400]"),
                     "[1.10,1e3,1E+3,1e-3,0.0,-0.0,-0,1e400,1e-400]");
}

/* The spellings that json.c uses inside must stay apart from the same text outside. */
static void numbers_that_look_like_our_own_spelling_survive(void **state) {
        (void)state;
        assert_reads(STR("[1e+00,1e+000,1e+0,1E+00,-0e+00,18446744073709551616e+00,18446744073709551616]"),
                     "[1e+00,1e+000,1e+0,1E+00,-0e+00,18446744073709551616e+00,18446744073709551616]");
        assert_reads(STR("{\"18446744073709551616\":\"18446744073709551616\"}"),
                     "{\"18446744073709551616\":\"18446744073709551616\"}");
}

static void integers_have_their_kinds(void **state) {
        const struct value *v;

        (void)state;
        const struct str text = STR("[9223372036854775807,9223372036854775808,18446744073709551616]");
        assert_int_equal(json_parse(text, a, &v, NULL), 0);
        assert_int_equal(v->list.items[0]->kind, VALUE_INT);
        assert_int_equal(v->list.items[1]->kind, VALUE_UINT);
        assert_int_equal(v->list.items[2]->kind, VALUE_DECIMAL);
        assert_string_equal(v->list.items[2]->text.p, "18446744073709551616");
}

static void escapes_are_decoded(void **state) {
        (void)state;
        assert_reads(STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\""),
                     "\"\\\"\\\\/\\u0008\\u000c\\n\\r\\tA\xc3\xa9\"");
        assert_reads(STR("\"\\ud83c\\udf89\""), "\"\xf0\x9f\x8e\x89\"");
        assert_reads(STR("\"\\ud83c\""), "\"\xef\xbf\xbd\"");
        assert_reads(STR("\"a\\udf89b\""), "\"a\xef\xbf\xbd" "b\"");
}

static void nuls_survive_in_texts_and_keys(void **state) {
        const struct value *v;

        (void)state;
        assert_reads(STR("\"a\\u0000b\""), "\"a\\u0000b\"");
        assert_int_equal(json_parse(STR("{\"a\\u0000b\":1,\"a\\u0001b\":2,\"a\\u00010b\":3,\"a\":4}"), a, &v, NULL), 0);
        assert_int_equal(value_count(v), 4);
        assert_int_equal(value_get(v, STR("a\0b"))->i64, 1);
        assert_int_equal(value_get(v, STR("a\1" "b"))->i64, 2);
        assert_int_equal(value_get(v, STR("a\1" "0b"))->i64, 3);
        assert_int_equal(value_get(v, STR("a"))->i64, 4);
}

static void the_last_of_equal_keys_wins(void **state) {
        (void)state;
        assert_reads(STR("{\"a\":1,\"b\":2,\"a\":{\"c\":3}}"), "{\"a\":{\"c\":3},\"b\":2}");
        assert_reads(STR("{\"a\":1,\"\\u0061\":2}"), "{\"a\":2}");
}

static void what_other_parsers_let_pass_is_refused(void **state) {
        static const struct str texts[] = {
                STR("{'a':1}"),      STR("['a']"),          STR("{a:1}"),      STR("[1,]"),         STR("{\"a\":1,}"),
                STR("[,1]"),         STR("[1,,2]"),         STR("[1 2]"),      STR("{\"a\" 1}"),    STR("{\"a\":}"),
                STR("{\"a\"}"),      STR("{1:2}"),          STR("NaN"),        STR("[NaN]"),        STR("Infinity"),
                STR("-Infinity"),    STR("nan"),            STR("True"),       STR("nul"),          STR("nulll"),
                STR("01"),           STR("-01"),            STR("+1"),         STR(".5"),           STR("1."),
                STR("1.e1"),         STR("1e"),             STR("1e+"),        STR("-"),            STR("0x10"),
                STR("1_0"),          STR("--1"),            STR("1.2.3"),      STR("/*x*/1"),       STR("1//x"),
                STR("#x\n1"),        STR("1 2"),            STR("{} {}"),      STR("[]]"),          STR("]"),
                STR("[}"),           STR("{]"),             STR(""),           STR(" \n"),          STR("["),
                STR("{"),            STR("{\"a\""),         STR("{\"a\":"),    STR("{\"a\":1"),     STR("[1"),
                STR("[1,"),          STR("\""),             STR("\"a"),        STR("\"\\"),         STR("\"\\\""),
                STR("\"\\x41\""),    STR("\"\\u12\""),      STR("\"\\u12g4\""), STR("\"\\'\""),     STR("\"a\nb\""),
                STR("\"a\tb\""),     STR("\"\x01\""),       STR("\"a\0b\""),   STR("\0"),           STR("1\0"),
                STR("[1\0]"),        STR("\xef\xbb\xbf{}"), STR("\v1"),        STR("\xc2\xa0" "1"), STR("tru\0"),
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                assert_refuses(texts[i], ERR_PARSE, "not JSON at byte ");
}

static void bytes_that_are_no_utf8_are_refused(void **state) {
        static const struct str texts[] = {
                STR("\"\xff\""),         STR("\"\xc3\""),     STR("\"\xc0\xaf\""),         STR("\"\xed\xa0\x80\""),
                STR("\"\xf4\x90\x80\x80\""), STR("\"\xe6\x97\""), STR("{\"\xff\":1}"), STR("[\"ok\",\"caf\xe9\"]"),
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                assert_refuses(texts[i], ERR_PARSE, "not JSON at byte ");
        assert_reads(STR("\"\xf4\x8f\xbf\xbf\""), "\"\xf4\x8f\xbf\xbf\"");
}

static void the_message_names_the_byte_and_never_the_text(void **state) {
        (void)state;
        assert_refuses(STR("{\"a\":1, \"password\"; 2}"), ERR_PARSE, "not JSON at byte 18: expected :");
        assert_refuses(STR("[1, [2, 3"), ERR_PARSE, "not JSON at byte 4: unterminated list");
        assert_refuses(STR("{\"a\": \"secret"), ERR_PARSE, "not JSON at byte 6: unterminated string");
        assert_refuses(STR("[] x"), ERR_PARSE, "not JSON at byte 3: more text after the value");
}

static struct str nested(const char *open, const char *close, size_t depth, struct buf *out) {
        buf_clear(out);
        for (size_t i = 0; i < depth; i++)
                buf_addc(out, open);
        buf_addc(out, "1");
        for (size_t i = 0; i < depth; i++)
                buf_addc(out, close);
        return buf_str(out);
}

static void depth_is_capped(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        const struct value *v;

        (void)state;
        assert_int_equal(json_parse(nested("[", "]", 200, &text), a, &v, NULL), 0);
        assert_int_equal(json_parse(nested("[", "]", JSON_MAX_DEPTH, &text), a, &v, NULL), 0);
        assert_int_equal(json_parse(nested("{\"a\":", "}", JSON_MAX_DEPTH, &text), a, &v, NULL), 0);
        assert_refuses(nested("[", "]", JSON_MAX_DEPTH + 1, &text), ERR_LIMIT,
                       "JSON nests deeper than 256 at byte 256");
        assert_refuses(nested("{\"a\":", "}", JSON_MAX_DEPTH + 1, &text), ERR_LIMIT, "JSON nests deeper than 256");
        assert_refuses(nested("[", "", 400 * KIB, &text), ERR_LIMIT, "JSON nests deeper than 256");
}

static void assert_member(const char *text, const char *key, const char *want) {
        struct str got = json_member(str_from(text), str_from(key));

        assert_int_equal(got.n, strlen(want));
        assert_memory_equal(got.n ? got.p : "", want, got.n);
}

static void a_member_is_found_in_a_text_that_is_too_deep(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(JSON_MAX_BYTES), all = buf_make(JSON_MAX_BYTES);
        struct str name;

        (void)state;
        buf_addc(&all, "{\"spec\":");
        buf_add(&all, nested("{\"a\":", "}", 1000, &text));
        buf_addc(&all, ",\"metadata\":{\"managedFields\":[");
        buf_add(&all, nested("[", "]", 1000, &text));
        buf_addc(&all, "],\"name\" : \"web\"}}");
        name = json_member(json_member(buf_str(&all), STR("metadata")), STR("name"));
        assert_true(str_eqc(name, "\"web\""));
}

static void members_stand_where_they_stand(void **state) {
        (void)state;
        assert_member(" { \"a\" : 1 , \"b\" : [1,{\"c\":2}] } ", "b", "[1,{\"c\":2}]");
        assert_member("{\"a\":1,\"b\":2}", "a", "1");
        assert_member("{\"x\":{\"a\":1},\"a\":2}", "a", "2");
        assert_member("{\"x\":\"\\\"a\\\":1,}\",\"a\":\"y, \\\\\"}", "a", "\"y, \\\\\"");
        assert_member("{\"a\":1,\"a\":2}", "a", "1");
        assert_member("{\"a\":{}}", "a", "{}");
}

static void what_is_no_map_or_ends_early_has_no_members(void **state) {
        static const char *const texts[] = {
                "", "{", "{}", "[]", "\"a\"", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":\"1", "{\"a\":[1",
                "{\"a\":{\"a\":1}", "{\"b\":1}", "{\"b\":1,", "{\"b\":1,\"", "{\"b\":{\"a\":1}}", "{\"ab\":1}", "{1:2}", "[\"a\",1]",
                "{\"b\"\"a\":1}", "{\"a\\",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                assert_member(texts[i], "a", "");
}

static void long_texts_are_read_and_too_long_ones_refused(void **state) {
        size_t n = JSON_MAX_BYTES + 1;
        char *text = mem_alloc(n);
        const struct value *v;

        (void)state;
        memset(text, ' ', n);
        text[0] = '1';
        assert_int_equal(json_parse((struct str){ text, n - 1 }, a, &v, NULL), 0);
        assert_refuses((struct str){ text, n }, ERR_LIMIT, "JSON is larger than");
        memset(text, 'x', n);
        text[0] = text[10 * MIB] = '"';
        assert_int_equal(json_parse((struct str){ text, 10 * MIB + 1 }, a, &v, NULL), 0);
        assert_int_equal(value_text(v).n, 10 * MIB - 1);
        free(text);
}

static void the_text_need_not_end_in_a_nul(void **state) {
        char *text = mem_alloc(3);
        const struct value *v;

        (void)state;
        memcpy(text, "123", 3);
        assert_int_equal(json_parse((struct str){ text, 3 }, a, &v, NULL), 0);
        assert_int_equal(v->i64, 123);
        free(text);
        assert_int_equal(v->i64, 123);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(every_kind_is_read, setup, teardown),
                cmocka_unit_test_setup_teardown(a_bare_scalar_is_a_text, setup, teardown),
                cmocka_unit_test_setup_teardown(numbers_keep_their_text_exactly, setup, teardown),
                cmocka_unit_test_setup_teardown(numbers_that_look_like_our_own_spelling_survive, setup, teardown),
                cmocka_unit_test_setup_teardown(integers_have_their_kinds, setup, teardown),
                cmocka_unit_test_setup_teardown(escapes_are_decoded, setup, teardown),
                cmocka_unit_test_setup_teardown(nuls_survive_in_texts_and_keys, setup, teardown),
                cmocka_unit_test_setup_teardown(the_last_of_equal_keys_wins, setup, teardown),
                cmocka_unit_test_setup_teardown(what_other_parsers_let_pass_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(bytes_that_are_no_utf8_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(the_message_names_the_byte_and_never_the_text, setup, teardown),
                cmocka_unit_test_setup_teardown(depth_is_capped, setup, teardown),
                cmocka_unit_test_setup_teardown(a_member_is_found_in_a_text_that_is_too_deep, setup, teardown),
                cmocka_unit_test_setup_teardown(members_stand_where_they_stand, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_no_map_or_ends_early_has_no_members, setup, teardown),
                cmocka_unit_test_setup_teardown(long_texts_are_read_and_too_long_ones_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(the_text_need_not_end_in_a_nul, setup, teardown),
        };

        return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
