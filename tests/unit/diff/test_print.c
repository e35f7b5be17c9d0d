/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/limits.h"
#include "diff/text.h"

static const struct value *config_map(struct arena *a, const char *key, struct str text) {
        const struct value *o = value_with(a, &value_empty_map, STR("kind"), value_stringc(a, "ConfigMap"));

        o = value_with(a, o, STR("apiVersion"), value_stringc(a, "v1"));
        return value_with(a, o, STR("data"), value_with(a, &value_empty_map, str_from(key), value_string(a, text, 0)));
}

static void print(struct arena *a, const struct diff_input *in, struct diff_printer p, struct buf *out) {
        struct diff d;

        assert_int_equal(diff_compare(in, a, &d, NULL), 0);
        diff_print_begin(&p, out);
        diff_print_object(&p, &d, out);
        diff_print_end(&p, &(struct diff_totals){ .differ = 1, .exit_code = 1 }, out);
}

static void strip_colors(struct str s, struct buf *out) {
        for (size_t i = 0; i < s.n; i++) {
                if (s.p[i] == '\033')
                        while (i < s.n && s.p[i] != 'm')
                                i++;
                else
                        buf_addch(out, s.p[i]);
        }
}

static void colour_only_repeats_what_the_text_says(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf plain = buf_make(MIB), color = buf_make(MIB), stripped = buf_make(MIB);
        struct diff_input in = { .before = config_map(a, "k", STR("old")), .after = config_map(a, "k", STR("new")) };

        (void)state;
        print(a, &in, (struct diff_printer){ 0 }, &plain);
        print(a, &in, (struct diff_printer){ .style = { .color = true } }, &color);
        assert_null(strchr(plain.p, '\033'));
        assert_non_null(strstr(color.p, "\033[31m- old\033[0m"));
        assert_non_null(strstr(color.p, "\033[32m+ new\033[0m"));
        strip_colors(buf_str(&color), &stripped);
        assert_string_equal(stripped.p, plain.p);
}

static struct str many_lines(struct arena *a, size_t count, const char *word) {
        _cleanup_(buf_done) struct buf b = buf_make(4 * MIB);

        for (size_t i = 0; i < count; i++)
                buf_addf(&b, "%s %zu\n", word, i);
        return arena_str(a, buf_str(&b));
}

static size_t count_of(const char *text, const char *part) {
        size_t count = 0;

        for (const char *p = strstr(text, part); p; p = strstr(p + 1, part))
                count++;
        return count;
}

static void huge_texts_are_summed_up(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        struct diff_input in = { .before = config_map(a, "k", many_lines(a, 20000, "old")),
                                 .after = config_map(a, "k", many_lines(a, 30000, "new")) };

        (void)state;
        print(a, &in, (struct diff_printer){ 0 }, &out);
        assert_int_equal(count_of(out.p, "\n    -") + count_of(out.p, "\n    +"), 2 * DIFF_PRINT_LINES);
        assert_non_null(strstr(out.p, "… 49952 more lines"));
}

static void no_line_is_wider_than_the_page(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(MIB), wide = buf_make(MIB);
        struct str rest, line;

        (void)state;
        for (int i = 0; i < 1000; i++)
                buf_addc(&wide, "漢\033");
        struct diff_input in = { .before = config_map(a, "k", buf_str(&wide)),
                                 .after = config_map(a, "k", STR("short")) };
        print(a, &in, (struct diff_printer){ 0 }, &out);
        for (rest = buf_str(&out); str_next(&rest, '\n', &line);)
                assert_true(text_columns(line) <= DIFF_PRINT_COLUMNS);
}

static const struct value *numbered(struct arena *a, size_t count, const char *value) {
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < count; i++)
                value_map_add(&b, arena_strf(a, "k%05zu", i), value_stringc(a, value), 0);
        return value_with(a, &value_empty_map, STR("data"), value_map_end(&b, a, 0));
}

static void fields_beyond_the_cap_are_counted(void **state) {
        for (size_t over = 0; over < 2; over++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                _cleanup_(buf_done) struct buf text = buf_make(MIB), markdown = buf_make(MIB), json = buf_make(MIB);
                size_t count = DIFF_PRINT_ENTRIES + over;
                struct diff_input in = { .before = numbered(a, count, "x"), .after = numbered(a, count, "y") };

                (void)state;
                print(a, &in, (struct diff_printer){ .format = DIFF_TEXT }, &text);
                print(a, &in, (struct diff_printer){ .format = DIFF_MARKDOWN }, &markdown);
                print(a, &in, (struct diff_printer){ .format = DIFF_JSON }, &json);
                assert_int_equal(count_of(text.p, "    - x\n"), DIFF_PRINT_ENTRIES);
                assert_int_equal(count_of(text.p, "… 1 more field\n"), over);
                assert_int_equal(count_of(markdown.p, "| `x` | `y` |"), DIFF_PRINT_ENTRIES);
                assert_int_equal(count_of(markdown.p, "… 1 more"), over);
                assert_int_equal(count_of(json.p, "\"before\":\"x\""), count);
        }
}

static void markdown_cannot_be_left(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        struct diff_input in = { .before = config_map(a, "a|b`c", STR("`` @team <script>")),
                                 .after = config_map(a, "a|b`c", STR("x | y\n```\n# heading\n````\n")),
                                 .file = STR("f|`.yaml") };

        (void)state;
        print(a, &in, (struct diff_printer){ .format = DIFF_MARKDOWN }, &out);
        assert_non_null(strstr(out.p, "``data[a\\|b`c]``"));
        assert_non_null(strstr(out.p, "``f\\|`.yaml``"));
        /* The fence is longer than anything inside. */
        assert_int_equal(count_of(out.p, "\n`````"), 2);
        assert_null(strstr(out.p, "\n#  heading"));
        assert_null(strstr(out.p, "\n# heading"));
        assert_non_null(strstr(out.p, "\n+ # heading"));
}

static void a_title_at_the_start_of_a_file_is_aligned(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        struct diff_input in = { .before = config_map(a, "k", STR("old")),
                                 .after = config_map(a, "k", STR("new")),
                                 .file = STR("some/file.yaml") };

        (void)state;
        print(a, &in, (struct diff_printer){ 0 }, &out);
        assert_int_equal(strstr(out.p, "some/file.yaml") - out.p, 65);
}

static void a_full_buffer_is_reported_not_overrun(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct diff_input in = { .before = config_map(a, "k", STR("old")), .after = config_map(a, "k", STR("new")) };

        (void)state;
        for (int format = DIFF_TEXT; format <= DIFF_JSON; format++) {
                _cleanup_(buf_done) struct buf out = buf_make(40);

                print(a, &in, (struct diff_printer){ .format = (enum diff_format)format }, &out);
                assert_int_equal(buf_check(&out, "output", NULL), ERR_LIMIT);
        }
}

static void an_empty_run_is_valid_in_every_format(void **state) {
        static const char *const want[] = { "3 same · exit 0\n", "**3 same · exit 0**\n", "[]\n" };
        struct diff d = { 0 };

        (void)state;
        for (int format = DIFF_TEXT; format <= DIFF_JSON; format++) {
                _cleanup_(buf_done) struct buf out = buf_make(KIB);
                struct diff_printer p = { .format = (enum diff_format)format };

                diff_print_begin(&p, &out);
                diff_print_object(&p, &d, &out);
                diff_print_end(&p, &(struct diff_totals){ .same = 3 }, &out);
                assert_string_equal(out.p, want[format]);
        }
}

static void totals_name_what_there_is(void **state) {
        _cleanup_(buf_done) struct buf out = buf_make(KIB);
        struct diff_printer p = { 0 };

        (void)state;
        diff_print_end(&p, &(struct diff_totals){ .differ = 2, .created = 1, .parked = 5, .pruned = 3, .same = 10, .failed = 4,
                                                    .exit_code = 2 },
                       &out);
        assert_string_equal(out.p, "2 objects differ · 1 to create · 5 parked · 3 to prune · 4 failed · 10 same · exit 2\n");
        buf_clear(&out);
        diff_print_end(&p, &(struct diff_totals){ .differ = 1, .exit_code = -1 }, &out);
        assert_string_equal(out.p, "1 object differs · 0 same\n");
}

static void times_are_shown_as_they_are_without_a_clock(void **state) {
        static const char owners[] = "{\"metadata\":{\"managedFields\":[{\"manager\":\"kubectl-edit\",\"operation\":"
                                     "\"Update\",\"apiVersion\":\"v1\","
                                     "\"time\":\"2025-11-29T19:57:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:"
                                     "data\":{\"f:k\":{}}}}]}}";
        static const char ours[] = "{\"metadata\":{\"managedFields\":[{\"manager\":\"truce\",\"operation\":\"Apply\","
                                   "\"apiVersion\":\"v1\","
                                   "\"time\":\"2025-11-29T19:57:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:"
                                   "data\":{\"f:k\":{}}}}]}}";
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        const struct value *before, *after;

        (void)state;
        assert_int_equal(json_parse(str_from(owners), a, &before, NULL), 0);
        assert_int_equal(json_parse(str_from(ours), a, &after, NULL), 0);
        before = value_with(a, before, STR("data"), value_getc(config_map(a, "k", STR("old")), "data"));
        after = value_with(a, after, STR("data"), value_getc(config_map(a, "k", STR("new")), "data"));
        struct diff_input in = { .before = before, .after = after };
        print(a, &in, (struct diff_printer){ 0 }, &out);
        assert_non_null(strstr(out.p, "set by kubectl-edit at 2025-11-29T19:57:00Z → will be taken back"));
        buf_clear(&out);
        print(a, &in, (struct diff_printer){ .style = { .now_ms = INT64_C(1764446220000), .done = true } }, &out);
        assert_non_null(strstr(out.p, "set by kubectl-edit now → taken back"));
}

static void summaries_fit_into_their_column(void **state) {
        static const char *const words[] = { "a", "web:1.4", "a rather long value that goes on",
                                             "漢字漢字漢字漢字漢字漢字漢字漢字漢字" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
                for (size_t j = 0; j < ARRAY_LEN(words); j++) {
                        _cleanup_(arena_freep) struct arena *a = arena_new(0);
                        _cleanup_(buf_done) struct buf out = buf_make(KIB);
                        struct diff_input in = {
                                .before = config_map(a, "a-name-that-is-much-too-long", str_from(words[i])),
                                .after = config_map(a, "a-name-that-is-much-too-long", str_from(words[j]))
                        };
                        struct diff d;

                        assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
                        diff_summary(&d, &out);
                        assert_true(text_columns(buf_str(&out)) <= DIFF_SUMMARY_COLUMNS);
                        assert_int_equal(out.n == 0, i == j);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(colour_only_repeats_what_the_text_says),
                cmocka_unit_test(huge_texts_are_summed_up),
                cmocka_unit_test(no_line_is_wider_than_the_page),
                cmocka_unit_test(fields_beyond_the_cap_are_counted),
                cmocka_unit_test(markdown_cannot_be_left),
                cmocka_unit_test(a_title_at_the_start_of_a_file_is_aligned),
                cmocka_unit_test(a_full_buffer_is_reported_not_overrun),
                cmocka_unit_test(an_empty_run_is_valid_in_every_format),
                cmocka_unit_test(totals_name_what_there_is),
                cmocka_unit_test(times_are_shown_as_they_are_without_a_clock),
                cmocka_unit_test(summaries_fit_into_their_column),
        };

        return cmocka_run_group_tests_name("print", tests, NULL, NULL);
}
