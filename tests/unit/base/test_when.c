/* SPDX-License-Identifier: Apache-2.0 */
#include "base/when.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void moments_are_read(void **state) {
        static const struct {
                const char *text;
                int64_t ms;
        } cases[] = {
                { "1970-01-01T00:00:00Z", 0 },
                { "1969-12-31T23:59:59Z", -1000 },
                { "2025-11-29T20:16:00Z", INT64_C(1764447360000) },
                { "2025-11-29T20:16:00.25Z", INT64_C(1764447360250) },
                { "2025-11-29T20:16:00.123456789Z", INT64_C(1764447360123) },
                { "2025-11-29T21:46:00+01:30", INT64_C(1764447360000) },
                { "2025-11-29t18:16:00-02:00", INT64_C(1764447360000) },
                { "2024-02-29T00:00:00z", INT64_C(1709164800000) },
                { "2016-12-31T23:59:60Z", INT64_C(1483228800000) },
                { "0001-01-01T00:00:00Z", INT64_C(-62135596800000) },
                { "9999-12-31T23:59:59Z", INT64_C(253402300799000) },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                int64_t ms = 77;

                assert_true(when_parse(str_from(cases[i].text), &ms));
                assert_int_equal(ms, cases[i].ms);
        }
}

static void expect_printed(int64_t ms, const char *want) {
        _cleanup_(buf_done) struct buf out = buf_make(100);

        when_print(ms, &out);
        assert_string_equal(out.p, want);
}

static void moments_are_written_to_the_second(void **state) {
        (void)state;
        expect_printed(0, "1970-01-01T00:00:00Z");
        expect_printed(999, "1970-01-01T00:00:00Z");
        expect_printed(-1, "1969-12-31T23:59:59Z");
        expect_printed(INT64_C(1764447360250), "2025-11-29T20:16:00Z");
        expect_printed(INT64_C(1709164800000), "2024-02-29T00:00:00Z");
        expect_printed(INT64_C(951782400000), "2000-02-29T00:00:00Z");
        expect_printed(INT64_C(-2203891200000), "1900-03-01T00:00:00Z");
        expect_printed(INT64_C(-62135596800000), "0001-01-01T00:00:00Z");
        expect_printed(INT64_C(253402300799000), "9999-12-31T23:59:59Z");
        expect_printed(INT64_MIN, "0001-01-01T00:00:00Z");
        expect_printed(INT64_MAX, "9999-12-31T23:59:59Z");
}

static void every_day_of_150_years_is_read_back(void **state) {
        (void)state;
        for (int64_t day = -3653; day < 51500; day++) {
                _cleanup_(buf_done) struct buf out = buf_make(100);
                int64_t ms = day * 86400000 + 45296000, read;

                when_print(ms, &out);
                assert_true(when_parse(buf_str(&out), &read));
                assert_int_equal(read, ms);
        }
}

static void anything_else_is_refused(void **state) {
        static const char *const bad[] = {
                "",
                "yesterday",
                "2025-11-29",
                "2025-11-29T20:16:00",
                "2025-11-29 20:16:00Z",
                "2025-13-01T00:00:00Z",
                "2025-00-01T00:00:00Z",
                "2025-02-29T00:00:00Z",
                "1900-02-29T00:00:00Z",
                "2025-11-31T00:00:00Z",
                "2025-11-00T00:00:00Z",
                "2025-11-29T24:00:00Z",
                "2025-11-29T20:60:00Z",
                "2025-11-29T20:16:61Z",
                "2025-11-29T20:16:00.Z",
                "2025-11-29T20:16:00Zx",
                "2025-11-29T20:16:00+1:00",
                "2025-11-29T20:16:00+24:00",
                "+025-11-29T20:16:00Z",
                "0000-01-01T00:00:00Z",
                "2025-11-29T20:16Z",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                int64_t ms = 77;

                assert_false(when_parse(str_from(bad[i]), &ms));
                assert_int_equal(ms, 77);
        }
}

static void ages_use_the_largest_unit(void **state) {
        static const struct {
                int64_t age_ms;
                const char *text;
        } cases[] = {
                { -5000, "now" },
                { 0, "now" },
                { 999, "now" },
                { 1000, "1 s" },
                { 59999, "59 s" },
                { 60000, "1 m" },
                { 3599999, "59 m" },
                { 3600000, "1 h" },
                { 86399999, "23 h" },
                { 86400000, "1 d" },
                { INT64_C(31) * 86400000, "31 d" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(buf_done) struct buf b = buf_make(64);

                when_print_age(1000000, 1000000 + cases[i].age_ms, &b);
                assert_string_equal(b.p, cases[i].text);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(moments_are_read),
                cmocka_unit_test(moments_are_written_to_the_second),
                cmocka_unit_test(every_day_of_150_years_is_read_back),
                cmocka_unit_test(anything_else_is_refused),
                cmocka_unit_test(ages_use_the_largest_unit),
        };

        return cmocka_run_group_tests_name("when", tests, NULL, NULL);
}
