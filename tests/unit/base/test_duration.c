/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct {
        const char *text;
        int64_t ms;
} good[] = {
        { "0", 0 },          { "30", 30000 },        { "5s", 5000 },           { "3m", 180000 },
        { "1h30m", 5400000 }, { "1.5h", 5400000 },   { "250ms", 250 },         { "2d", 172800000 },
        { "1s500ms", 1500 }, { ".5s", 500 },         { "1.0009s", 1000 },      { "999999ns", 0 },
        { "1500us", 1 },     { "2000\xc2\xb5s", 2 }, { "0.1234567890123456789s", 123 }, { "3660d", 316224000000 },
};

static const char *const bad[] = {
        "", " ", "s", "5 s", "-5s", "+5s", "5x", "5s3", "1.5", ".s", "1..5s", "5S", "3661d", "99999999999999999999",
        "9223372036854775807h", "5s ", "1e3s", "0x5s",
};

static void durations_read_as_in_go_with_days_and_plain_seconds(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
                int64_t ms = -1;

                if (!duration_parse(str_from(good[i].text), &ms) || ms != good[i].ms)
                        fail_msg("%s gave %lld", good[i].text, (long long)ms);
        }
}

static void what_is_no_duration_is_refused_and_changes_nothing(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                int64_t ms = -7;

                if (duration_parse(str_from(bad[i]), &ms) || ms != -7)
                        fail_msg("\"%s\" was read", bad[i]);
        }
}

static void the_limit_holds_and_one_more_does_not(void **state) {
        int64_t ms;

        (void)state;
        assert_true(duration_parse(STR("316224000s"), &ms));
        assert_int_equal(ms, DURATION_MAX_MS);
        assert_true(duration_parse(STR("316224000"), &ms));
        assert_false(duration_parse(STR("316224001"), &ms));
        assert_false(duration_parse(STR("316224000001ms"), &ms));
}

static void printing_reads_back(void **state) {
        static const int64_t all[] = { 0, 1, 250, 1000, 61000, 5400000, 86400000, 90061001, DURATION_MAX_MS };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
                _cleanup_(buf_done) struct buf b = buf_make(64);
                int64_t ms = -1;

                duration_print(all[i], &b);
                assert_true(duration_parse(buf_str(&b), &ms));
                assert_int_equal(ms, all[i]);
        }
}

static void printing_is_short(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(64);

        (void)state;
        duration_print(5400000, &b);
        assert_string_equal(b.p, "1h30m");
        buf_clear(&b);
        duration_print(0, &b);
        assert_string_equal(b.p, "0s");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(durations_read_as_in_go_with_days_and_plain_seconds),
                cmocka_unit_test(what_is_no_duration_is_refused_and_changes_nothing),
                cmocka_unit_test(the_limit_holds_and_one_more_does_not),
                cmocka_unit_test(printing_reads_back),
                cmocka_unit_test(printing_is_short),
        };

        return cmocka_run_group_tests_name("duration", tests, NULL, NULL);
}
