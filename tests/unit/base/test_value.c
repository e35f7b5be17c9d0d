/* SPDX-License-Identifier: Apache-2.0 */
#include "base/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"
#include "arena_test.h"

static const struct value *json(const char *text) {
        const struct value *v;

        assert_int_equal(json_parse(str_from(text), a, &v, NULL), 0);
        return v;
}

static void assert_prints(const struct value *v, const char *text) {
        assert_string_equal(value_canonical(a, v).p, text);
}

static void numbers_keep_what_the_text_said(void **state) {
        (void)state;
        assert_int_equal(value_number(a, STR("-5"), 0)->kind, VALUE_INT);
        assert_int_equal(value_number(a, STR("9223372036854775807"), 0)->kind, VALUE_INT);
        assert_int_equal(value_number(a, STR("9223372036854775808"), 0)->kind, VALUE_UINT);
        assert_int_equal(value_number(a, STR("18446744073709551616"), 0)->kind, VALUE_DECIMAL);
        assert_prints(value_number(a, STR("1.10"), 0), "1.10");
        assert_prints(value_number(a, STR("-0"), 0), "-0");
        assert_int_equal(value_uint(a, 5, 3)->kind, VALUE_INT);
        assert_int_equal(value_uint(a, 5, 3)->line, 3);
        assert_prints(value_uint(a, UINT64_MAX, 0), "18446744073709551615");
        assert_prints(value_int(a, INT64_MIN, 0), "-9223372036854775808");
}

static void a_map_is_sorted_and_its_last_equal_key_wins(void **state) {
        struct value_map_builder b = { 0 };

        (void)state;
        value_map_add(&b, STR("b"), value_int(a, 1, 0), 1);
        value_map_add(&b, STR("a"), value_int(a, 2, 0), 2);
        value_map_add(&b, STR("b"), value_int(a, 3, 0), 3);
        value_map_add(&b, STR(""), &value_null, 4);

        const struct value *map = value_map_end(&b, a, 9);
        assert_prints(map, "{\"\":null,\"a\":2,\"b\":3}");
        assert_int_equal(map->line, 9);
        assert_int_equal(value_member_find(map, STR("b"))->line, 3);
        value_map_drop(&b);
}

static void large_maps_sort_stably(void **state) {
        struct value_map_builder b = { 0 };
        char key[16];

        (void)state;
        for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 500; i++) {
                        snprintf(key, sizeof key, "%03d", (i * 7919 + round) % 500);
                        value_map_add(&b, arena_str(a, str_from(key)), value_int(a, round, 0), 0);
                }
        }

        const struct value *map = value_map_end(&b, a, 0);
        assert_int_equal(value_count(map), 500);
        for (size_t i = 0; i < 500; i++) {
                snprintf(key, sizeof key, "%03zu", i);
                assert_true(str_eqc(map->map.members[i].key, key));
                assert_int_equal(map->map.members[i].value->i64, 2);
        }
}

static void keys_are_copied_at_the_end(void **state) {
        struct value_map_builder b = { 0 };
        char key[] = "abc";

        (void)state;
        value_map_add(&b, str_from(key), &value_true, 0);
        const struct value *map = value_map_end(&b, a, 0);
        key[0] = 'x';
        assert_non_null(value_getc(map, "abc"));
        assert_string_equal(map->map.members[0].key.p, "abc");
}

static void dropped_builders_leave_nothing(void **state) {
        struct value_list_builder list = { 0 };
        struct value_map_builder map = { 0 };

        (void)state;
        value_list_add(&list, &value_null);
        value_map_add(&map, STR("a"), &value_null, 0);
        value_list_drop(&list);
        value_map_drop(&map);
        assert_int_equal(list.count, 0);
        assert_prints(value_list_end(&list, a, 0), "[]");
        assert_prints(value_map_end(&map, a, 0), "{}");
}

static void reading_accepts_anything(void **state) {
        const struct value *v = json("{\"a\":{\"b\":[1,true,\"x\"]},\"n\":null,\"f\":false}");
        int64_t n = 7;

        (void)state;
        assert_null(value_get(NULL, STR("a")));
        assert_null(value_getc(value_getc(v, "n"), "a"));
        assert_null(value_path(v, "a", "x", "y", NULL));
        assert_int_equal(value_count(value_path(v, "a", "b", NULL)), 3);
        assert_int_equal(value_count(NULL), 0);
        assert_int_equal(value_count(value_getc(v, "f")), 0);
        assert_true(value_is(value_getc(v, "n"), VALUE_NULL));
        assert_false(value_is(value_getc(v, "absent"), VALUE_NULL));
        assert_int_equal(value_text(value_getc(v, "n")).n, 0);
        assert_false(value_truth(value_getc(v, "f"), true));
        assert_true(value_truth(value_getc(v, "n"), true));
        assert_false(value_to_i64(value_getc(v, "f"), &n));
        assert_false(value_to_i64(NULL, &n));
        assert_int_equal(n, 7);
        assert_true(value_to_i64(json("5"), &n) && n == 5);
        assert_true(str_eqc(value_text(json("\"x\"")), "x"));
}

static void with_sets_replaces_and_removes(void **state) {
        const struct value *v = json("{\"a\":1,\"b\":2}");

        (void)state;
        assert_prints(value_with(a, v, STR("c"), json("3")), "{\"a\":1,\"b\":2,\"c\":3}");
        assert_prints(value_with(a, v, STR("a"), json("[]")), "{\"a\":[],\"b\":2}");
        assert_prints(value_with(a, v, STR("a"), NULL), "{\"b\":2}");
        assert_prints(value_with(a, v, STR("x"), NULL), "{\"a\":1,\"b\":2}");
        assert_prints(value_with(a, NULL, STR("x"), &value_null), "{\"x\":null}");
        assert_prints(value_with(a, &value_null, STR("x"), &value_true), "{\"x\":true}");
        assert_prints(v, "{\"a\":1,\"b\":2}");
}

static void with_path_makes_maps_and_removes_leaves(void **state) {
        const struct str path[] = { STR("a"), STR("b"), STR("c") };
        const struct value *v = json("{\"a\":{\"b\":{\"c\":1,\"d\":2}},\"x\":1}");

        (void)state;
        assert_prints(value_with_path(a, v, path, 3, json("9")), "{\"a\":{\"b\":{\"c\":9,\"d\":2}},\"x\":1}");
        assert_prints(value_with_path(a, v, path, 3, NULL), "{\"a\":{\"b\":{\"d\":2}},\"x\":1}");
        assert_prints(value_with_path(a, NULL, path, 3, json("9")), "{\"a\":{\"b\":{\"c\":9}}}");
        assert_prints(value_with_path(a, json("{\"x\":1}"), path, 3, NULL), "{\"x\":1}");
        assert_prints(value_with_path(a, NULL, path, 3, NULL), "{}");
        assert_prints(value_with_path(a, json("{\"a\":\"text\"}"), path, 3, NULL), "{\"a\":\"text\"}");
        assert_prints(value_with_path(a, json("{\"a\":\"text\"}"), path, 2, json("1")), "{\"a\":{\"b\":1}}");
}

static void a_copy_outlives_its_original(void **state) {
        struct arena *other = arena_new(0);
        const struct value *copy = value_dup(other, json("{\"a\":[1,2.50,\"x\",null,true,{}],\"b\":{\"c\":\"y\"}}"));

        (void)state;
        arena_free(a);
        a = arena_new(0);
        assert_prints(copy, "{\"a\":[1,2.50,\"x\",null,true,{}],\"b\":{\"c\":\"y\"}}");
        arena_free(other);
}

/* Each row holds equal values; values of different rows differ and ascend. */
static const char *const ladder[][4] = {
        { "null" },
        { "false" },
        { "true" },
        { "-1e400" },
        { "-9223372036854775809" },
        { "-9223372036854775808", "-9223372036854775808.0" },
        { "-10" },
        { "-9", "-9.0" },
        { "-1.5", "-1.50", "-15e-1" },
        { "0", "-0", "0.0", "0e5" },
        { "1e-400", "0.0001e-396" },
        { "0.001", "1e-3", "0.10e-2" },
        { "0.1", "0.10", "1e-1" },
        { "0.10000000000000000000000001" },
        { "1", "1.0", "1e0", "10E-1" },
        { "10", "1e1", "10.00" },
        { "10.01", "1001e-2" },
        { "9007199254740993", "9007199254740993.0" },
        { "9223372036854775807" },
        { "9223372036854775808", "9223372036854775808.0" },
        { "18446744073709551615" },
        { "18446744073709551616", "1.8446744073709551616e19" },
        { "123456789012345678901234567890", "1234567890.12345678901234567890e20" },
        { "123456789012345678901234567891" },
        { "1e400", "0.001e403", "10000e396", "1E+400" },
        { "1e99999" },
        { "\"\"" },
        { "\"a\"", "\"\\u0061\"" },
        { "\"a\\u0000\"" },
        { "\"b\"" },
        { "[]", "[ ]" },
        { "[1]", "[1.0]" },
        { "[1,null]" },
        { "[2]" },
        { "{}" },
        { "{\"a\":null}" },
        { "{\"a\":1}", "{\"a\":1.0}" },
        { "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}" },
        { "{\"b\":0}" },
};

static void order_and_equality_agree(void **state) {
        const struct hash_key key = { 1, 2 };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(ladder); i++) {
                const struct value *v = json(ladder[i][0]);

                for (size_t k = 1; k < 4 && ladder[i][k]; k++) {
                        const struct value *same = json(ladder[i][k]);

                        assert_true(value_equal(v, same) && value_cmp(same, v) == 0);
                        assert_true(hash128_eq(value_hash(&key, v), value_hash(&key, same)));
                }
                for (size_t k = i + 1; k < ARRAY_LEN(ladder); k++) {
                        const struct value *larger = json(ladder[k][0]);

                        assert_true(value_cmp(v, larger) < 0 && value_cmp(larger, v) > 0);
                        assert_false(value_equal(v, larger));
                        assert_false(hash128_eq(value_hash(&key, v), value_hash(&key, larger)));
                }
        }
        assert_true(value_equal(NULL, NULL));
        assert_false(value_equal(NULL, &value_null));
        assert_true(value_cmp(NULL, &value_null) < 0 && value_cmp(&value_null, NULL) > 0);
}

static void lines_do_not_count(void **state) {
        (void)state;
        assert_true(value_equal(value_int(a, 1, 5), value_int(a, 1, 6)));
        assert_true(value_equal(value_bool(a, true, 5), &value_true));
}

static void canonical_text_has_the_least_escapes(void **state) {
        (void)state;
        assert_prints(value_string(a, STR("\"\\/\n\r\t\b\f\x01\x1f\x7f\xc3\xa9\0z"), 0),
                      "\"\\\"\\\\/\\n\\r\\t\\u0008\\u000c\\u0001\\u001f\x7f\xc3\xa9\\u0000z\"");
        assert_prints(json(" { \"b\" : [ 1 , 2 ] , \"a\" : { } } "), "{\"a\":{},\"b\":[1,2]}");
}

static void pretty_text_is_indented(void **state) {
        _cleanup_(buf_done) struct buf out = buf_make(1000);

        (void)state;
        value_print_pretty(json("{\"a\":[1,{\"b\":2}],\"c\":[],\"d\":{}}"), 2, &out);
        assert_string_equal(out.p, "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n"
                                   "  \"c\": [],\n  \"d\": {}\n}");
}

static void kinds_have_names_for_people(void **state) {
        (void)state;
        assert_string_equal(value_kind_name(VALUE_NULL), "null");
        assert_string_equal(value_kind_name(VALUE_BOOL), "bool");
        assert_string_equal(value_kind_name(VALUE_INT), "number");
        assert_string_equal(value_kind_name(VALUE_UINT), "number");
        assert_string_equal(value_kind_name(VALUE_DECIMAL), "number");
        assert_string_equal(value_kind_name(VALUE_STRING), "string");
        assert_string_equal(value_kind_name(VALUE_LIST), "list");
        assert_string_equal(value_kind_name(VALUE_MAP), "map");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(numbers_keep_what_the_text_said, setup, teardown),
                cmocka_unit_test_setup_teardown(a_map_is_sorted_and_its_last_equal_key_wins, setup, teardown),
                cmocka_unit_test_setup_teardown(large_maps_sort_stably, setup, teardown),
                cmocka_unit_test_setup_teardown(keys_are_copied_at_the_end, setup, teardown),
                cmocka_unit_test_setup_teardown(dropped_builders_leave_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(reading_accepts_anything, setup, teardown),
                cmocka_unit_test_setup_teardown(with_sets_replaces_and_removes, setup, teardown),
                cmocka_unit_test_setup_teardown(with_path_makes_maps_and_removes_leaves, setup, teardown),
                cmocka_unit_test_setup_teardown(a_copy_outlives_its_original, setup, teardown),
                cmocka_unit_test_setup_teardown(order_and_equality_agree, setup, teardown),
                cmocka_unit_test_setup_teardown(lines_do_not_count, setup, teardown),
                cmocka_unit_test_setup_teardown(canonical_text_has_the_least_escapes, setup, teardown),
                cmocka_unit_test_setup_teardown(pretty_text_is_indented, setup, teardown),
                cmocka_unit_test_setup_teardown(kinds_have_names_for_people, setup, teardown),
        };

        return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
