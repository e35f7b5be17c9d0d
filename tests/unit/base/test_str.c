/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void equal_strings_have_equal_bytes(void **state) {
        (void)state;
        assert_true(str_eq(STR("a"), STR("a")));
        assert_false(str_eq(STR("a"), STR("b")));
        assert_false(str_eq(STR("a"), STR("ab")));
        assert_true(str_eq(STR("a\0b"), STR("a\0b")));
        assert_false(str_eq(STR("a\0b"), STR("a\0c")));
        assert_true(str_eq((struct str){ NULL, 0 }, (struct str){ "x", 0 }));
        assert_true(str_eqc(str_from(NULL), ""));
}

static void order_is_bytewise_and_a_prefix_sorts_first(void **state) {
        (void)state;
        assert_int_equal(str_cmp(STR("a"), STR("a")), 0);
        assert_true(str_cmp(STR("a"), STR("ab")) < 0);
        assert_true(str_cmp(STR("b"), STR("ab")) > 0);
        assert_true(str_cmp(STR("\x7f"), STR("\x80")) < 0);
        assert_true(str_cmp((struct str){ 0 }, STR("a")) < 0);
}

static void ends_are_found(void **state) {
        (void)state;
        assert_true(str_starts(STR("abc"), STR("ab")));
        assert_true(str_starts(STR("abc"), STR("")));
        assert_false(str_starts(STR("a"), STR("ab")));
        assert_true(str_ends(STR("abc"), STR("bc")));
        assert_false(str_ends(STR("c"), STR("bc")));
        assert_true(str_ends(STR("abc"), STR("abc")));
}

static void find_gives_the_first_at_or_after(void **state) {
        (void)state;
        assert_int_equal(str_find(STR("abcb"), 'b', 0), 1);
        assert_int_equal(str_find(STR("abcb"), 'b', 1), 1);
        assert_int_equal(str_find(STR("abcb"), 'b', 2), 3);
        assert_int_equal(str_find(STR("abcb"), 'b', 4), -1);
        assert_int_equal(str_find(STR("abcb"), 'x', 0), -1);
        assert_int_equal(str_find((struct str){ 0 }, 'x', 0), -1);
        assert_true(str_contains(STR("abcb"), STR("cb")));
        assert_false(str_contains(STR("abcb"), STR("ca")));
        assert_true(str_contains((struct str){ 0 }, STR("")));
        assert_false(str_contains(STR("a"), STR("aa")));
}

static void sub_clamps_both_ends(void **state) {
        (void)state;
        assert_true(str_eqc(str_sub(STR("abc"), 1, 2), "b"));
        assert_true(str_eqc(str_sub(STR("abc"), 1, 9), "bc"));
        assert_true(str_eqc(str_sub(STR("abc"), 5, 9), ""));
        assert_true(str_eqc(str_sub(STR("abc"), 2, 1), ""));
        assert_true(str_eqc(str_sub((struct str){ 0 }, 1, 2), ""));
}

static void trim_takes_blanks_off_both_ends(void **state) {
        (void)state;
        assert_true(str_eqc(str_trim(STR(" \t a b\r\n")), "a b"));
        assert_true(str_eqc(str_trim(STR(" \n ")), ""));
        assert_true(str_eqc(str_trim(STR("\va")), "\va"));
}

static void parts_between_separators_are_cut_off_in_turn(void **state) {
        struct str rest = STR("a,,b,"), part;

        (void)state;
        assert_true(str_next(&rest, ',', &part) && str_eqc(part, "a"));
        assert_true(str_next(&rest, ',', &part) && str_eqc(part, ""));
        assert_true(str_next(&rest, ',', &part) && str_eqc(part, "b"));
        assert_false(str_next(&rest, ',', &part));
        rest = STR("");
        assert_false(str_next(&rest, ',', &part));
        rest = STR(",");
        assert_true(str_next(&rest, ',', &part) && part.n == 0);
        assert_false(str_next(&rest, ',', &part));
}

static void signed_numbers_keep_to_their_range(void **state) {
        int64_t n = 7;

        (void)state;
        assert_true(str_to_i64(STR("9223372036854775807"), &n) && n == INT64_MAX);
        assert_true(str_to_i64(STR("-9223372036854775808"), &n) && n == INT64_MIN);
        assert_true(str_to_i64(STR("-1"), &n) && n == -1);
        n = 7;
        assert_false(str_to_i64(STR("9223372036854775808"), &n));
        assert_false(str_to_i64(STR("-9223372036854775809"), &n));
        assert_false(str_to_i64(STR("-"), &n));
        assert_false(str_to_i64(STR("--1"), &n));
        assert_false(str_to_i64(STR("+1"), &n));
        assert_false(str_to_i64(STR(" 1"), &n));
        assert_false(str_to_i64(STR(""), &n));
        assert_int_equal(n, 7);
}

static void unsigned_numbers_keep_to_their_range(void **state) {
        uint64_t n = 7;

        (void)state;
        assert_true(str_to_u64(STR("18446744073709551615"), &n) && n == UINT64_MAX);
        assert_true(str_to_u64(STR("007"), &n) && n == 7);
        assert_false(str_to_u64(STR("18446744073709551616"), &n));
        assert_false(str_to_u64(STR("99999999999999999999999"), &n));
        assert_false(str_to_u64(STR("-1"), &n));
        assert_false(str_to_u64(STR("1x"), &n));
        assert_int_equal(n, 7);
}

static void utf8_is_what_rfc_3629_says(void **state) {
        (void)state;
        assert_true(str_is_utf8(STR("")));
        assert_true(str_is_utf8(STR("a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x8e\x89")));
        assert_true(str_is_utf8(STR("\xf4\x8f\xbf\xbf")));
        assert_true(str_is_utf8(STR("a\0b")));
        assert_false(str_is_utf8(STR("\x80")));
        assert_false(str_is_utf8(STR("\xff")));
        assert_false(str_is_utf8(STR("\xc3")));
        assert_false(str_is_utf8(STR("\xc3(")));
        assert_false(str_is_utf8(STR("\xe6\x97")));
        assert_false(str_is_utf8(STR("\xc0\xaf")));
        assert_false(str_is_utf8(STR("\xe0\x9f\xbf")));
        assert_false(str_is_utf8(STR("\xf0\x8f\xbf\xbf")));
        assert_false(str_is_utf8(STR("\xed\xa0\x80")));
        assert_false(str_is_utf8(STR("\xf4\x90\x80\x80")));
        assert_false(str_is_utf8(STR("\xf8\x88\x80\x80\x80")));
}

static void a_copy_ends_in_a_nul(void **state) {
        char *copy = str_dup(STR("a\0b"));

        (void)state;
        assert_memory_equal(copy, "a\0b", 4);
        free(copy);
        copy = str_dup((struct str){ 0 });
        assert_string_equal(copy, "");
        free(copy);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(equal_strings_have_equal_bytes),
                cmocka_unit_test(order_is_bytewise_and_a_prefix_sorts_first),
                cmocka_unit_test(ends_are_found),
                cmocka_unit_test(find_gives_the_first_at_or_after),
                cmocka_unit_test(sub_clamps_both_ends),
                cmocka_unit_test(trim_takes_blanks_off_both_ends),
                cmocka_unit_test(parts_between_separators_are_cut_off_in_turn),
                cmocka_unit_test(signed_numbers_keep_to_their_range),
                cmocka_unit_test(unsigned_numbers_keep_to_their_range),
                cmocka_unit_test(utf8_is_what_rfc_3629_says),
                cmocka_unit_test(a_copy_ends_in_a_nul),
        };

        return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
