/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define KIBI 1024

struct pair {
        struct str in;
        const char *out;
};

static void what_could_steer_a_terminal_is_escaped(void **state) {
        static const struct pair pairs[] = {
                { { "plain ä 漢 ✓", 16 }, "plain ä 漢 ✓" },
                { { "a\nb\tc\rd", 7 }, "a\\nb\\tc\\rd" },
                { { "\033[31mred", 8 }, "\\x1b[31mred" },
                { { "\0\a\x7f", 3 }, "\\x00\\x07\\x7f" },
                { { "\xc2\x9b"
                    "31m",
                    5 },
                  "\\x9b31m" },
                { { "\xe2\x80\xae", 3 }, "\\u202e" },
                { { "\xe2\x81\xa6", 3 }, "\\u2066" },
                { { "\xef\xbb\xbf", 3 }, "\\ufeff" },
                { { "\xf3\xa0\x81\x81", 4 }, "\\ue0041" },
                { { "\xff\xc3", 2 }, "\\xff\\xc3" },
                { { "\xc3(", 2 }, "\\xc3(" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
                _cleanup_(buf_done) struct buf b = buf_make(KIBI);

                text_add(&b, pairs[i].in);
                assert_string_equal(b.p, pairs[i].out);
                buf_clear(&b);
                text_add(&b, str_from(pairs[i].out));
                assert_string_equal(b.p, pairs[i].out);
        }
}

static void long_texts_are_cut_to_the_column(void **state) {
        static const struct {
                const char *in;
                size_t max;
                const char *out;
        } cases[] = {
                { "abcdef", 6, "abcdef" },
                { "abcdef", 5, "abcd…" },
                { "abcdef", 1, "…" },
                { "abcdef", 0, "" },
                { "漢字漢", 6, "漢字漢" },
                { "漢字漢", 5, "漢字…" },
                { "漢字漢", 4, "漢…" },
                { "\x1b\x1b", 8, "\\x1b\\x1b" },
                { "\x1b\x1b", 7, "\\x1b…" },
                { "e\xcc\x81"
                  "e\xcc\x81"
                  "e",
                  2, "e\xcc\x81…" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(buf_done) struct buf b = buf_make(KIBI);

                text_add_cut(&b, str_from(cases[i].in), cases[i].max);
                assert_string_equal(b.p, cases[i].out);
                assert_true(text_columns(buf_str(&b)) <= cases[i].max);
        }
}

static void a_window_shows_the_place_where_texts_differ(void **state) {
        _cleanup_(buf_done) struct buf in = buf_make(KIBI), out = buf_make(KIBI);

        (void)state;
        for (int i = 0; i < 200; i++)
                buf_addc(&in, "ä");
        buf_addc(&in, "HERE and on");
        text_add_window(&out, buf_str(&in), 400, 60);
        assert_non_null(strstr(out.p, "HERE"));
        assert_true(str_starts(buf_str(&out), STR("…ä")));
        assert_true(text_columns(buf_str(&out)) <= 60);
        assert_true(str_is_utf8(buf_str(&out)));

        /* The place may be given inside a character, or past the end. */
        buf_clear(&out);
        text_add_window(&out, buf_str(&in), 201, 60);
        assert_true(str_is_utf8(buf_str(&out)));
        buf_clear(&out);
        text_add_window(&out, STR("short"), 99, 60);
        assert_string_equal(out.p, "short");
}

static void padding_counts_columns_not_bytes(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(KIBI);

        (void)state;
        buf_addc(&b, "12");
        buf_addc(&b, "ä漢");
        text_pad(&b, 2, 5);
        assert_string_equal(b.p, "12ä漢  ");
        text_pad(&b, 2, 3);
        assert_string_equal(b.p, "12ä漢  ");
        text_pad(&b, 99, 500);
        assert_string_equal(b.p, "12ä漢  ");
}

static void json_keeps_its_meaning_and_loses_its_teeth(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(KIBI);

        (void)state;
        text_add_json(&b, STR("{\"a\": \"\\u001b\xc2\x9b\xe2\x80\xae\x7f ä\xf3\xa0\x81\x81\"}\n"));
        assert_string_equal(b.p, "{\"a\": \"\\u001b\\u009b\\u202e\\u007f ä\\udb40\\udc41\"}\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_could_steer_a_terminal_is_escaped),
                cmocka_unit_test(long_texts_are_cut_to_the_column),
                cmocka_unit_test(a_window_shows_the_place_where_texts_differ),
                cmocka_unit_test(padding_counts_columns_not_bytes),
                cmocka_unit_test(json_keeps_its_meaning_and_loses_its_teeth),
        };

        return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
