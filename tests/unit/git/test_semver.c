/* SPDX-License-Identifier: Apache-2.0 */
#include "git/semver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/macro.h"

static void versions_are_read_as_people_write_tags(void **state) {
        static const struct {
                const char *text;
                uint64_t major, minor, patch;
                const char *pre;
        } rows[] = {
                { "1.2.3", 1, 2, 3, "" },
                { "v1.2.3", 1, 2, 3, "" },
                { "1.2", 1, 2, 0, "" },
                { "v7", 7, 0, 0, "" },
                { "1.2.3-rc.1", 1, 2, 3, "rc.1" },
                { "1.2.3-rc.1+build.5", 1, 2, 3, "rc.1" },
                { "1.2.3+001", 1, 2, 3, "" },
                { "2024.01.05", 2024, 1, 5, "" },
                { "1-alpha", 1, 0, 0, "alpha" },
                { "1.2.3--", 1, 2, 3, "-" },
                { "18446744073709551615.0.0", UINT64_MAX, 0, 0, "" },
        };
        static const char *const none[] = { "", "v", "V1.2", "1.", "1..2", ".1", "1.2.3.4", "1.2.x", "1.2.3-", "1.2.3-a..b",
                                            "1.2.3-01", "1.2.3+", "1.2.3 ", " 1.2.3", "latest", "1.2.3_4", "vv1", "-1",
                                            "18446744073709551616.0.0", "1,2" };
        struct semver v;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                if (!semver_parse(str_from(rows[i].text), &v) || v.major != rows[i].major || v.minor != rows[i].minor ||
                    v.patch != rows[i].patch || !str_eqc(v.pre, rows[i].pre))
                        fail_msg("%s is read as something else", rows[i].text);
        }
        for (size_t i = 0; i < ARRAY_LEN(none); i++)
                if (semver_parse(str_from(none[i]), &v))
                        fail_msg("\"%s\" is read as a version", none[i]);
}

/* semver.org, 11, and numbers longer than any integer. */
static void precedence_is_semver_org_s(void **state) {
        static const char *const rows[] = {
                "0.0.1", "0.1.0", "1.0.0-0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-99999999999999999999",
                "1.0.0-100000000000000000000", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
                "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
                        struct semver a, b;

                        assert_true(semver_parse(str_from(rows[i]), &a) && semver_parse(str_from(rows[k]), &b));
                        int r = semver_cmp(&a, &b);
                        if ((r > 0) - (r < 0) != (i > k) - (i < k))
                                fail_msg("%s against %s", rows[i], rows[k]);
                }
        }
}

/* Versions in the range, then those that are not; parted by blanks. */
static const struct {
        const char *range, *in, *out;
} ranges[] = {
        /* open parts */
        { "*", "0.0.0 1.2.3 99", "1.0.0-rc.1" },
        { "1.*", "1.0.0 1.99.0 v1", "0.9.9 2.0.0 1.5.0-rc.1" },
        { "1.x", "1.0.0 1.2.3", "2.0.0" },
        { "v1.x", "1.0.0 v1.2.3", "v2.0.0" },
        { "1.X.X", "1.7.0", "2.0.0" },
        { "1.2.*", "1.2.0 1.2.99", "1.1.9 1.3.0" },
        { "1.2.x", "1.2.3", "1.3.0 1.2.3-rc.1" },
        { "1.x.3", "1.0.0 1.9.1", "2.0.3" },
        { "x.2 || 1", "1.4 2.2", "" }, /* nothing behind an open part counts */
        /* equal, not equal */
        { "=1.2.3", "1.2.3 v1.2.3 1.2.3+build", "1.2.4 1.2.3-rc.1" },
        { "= 1.2.3", "1.2.3", "1.2.2" },
        { "=1", "1.0.0 1.9.0", "2.0.0" },
        { "=1.2", "1.2.0 1.2.9", "1.3.0" },
        { "=1.2.3-rc.1", "1.2.3-rc.1", "1.2.3 1.2.3-rc.2" },
        { "!=1.2.3", "1.2.2 1.2.4", "1.2.3" },
        { "!=1", "0.9.0 2.0.0", "1.0.0 1.4.2" },
        { "!=1.2.x", "1.1.0 1.3.0", "1.2.0 1.2.9" },
        { ">=1.0 !=1.2.3", "1.2.2 1.2.4", "1.2.3 0.9.0" },
        /* by precedence */
        { ">1.2.3", "1.2.4 2.0.0", "1.2.3 1.2.2" },
        { ">1.2", "1.3.0 2.0.0", "1.2.0 1.2.9 1.1.0" },
        { ">1", "2.0.0", "1.0.0 1.9.9 0.1.0" },
        { ">1.2.3-rc.1", "1.2.3-rc.2 1.2.3", "1.2.3-rc.1 1.2.3-alpha" },
        { ">=1.2.3", "1.2.3 1.2.4", "1.2.2 1.3.0-rc.1" },
        { ">=1.2", "1.2.0 3.0.0", "1.1.9" },
        { "=>1", "1.0.0", "0.9.9" },
        { ">=1.2.2-0", "1.2.2-rc.1 1.2.2 1.3.0-alpha 2.0.0", "1.2.1" },
        { "<2.0.0", "1.9.9 0.0.1", "2.0.0 2.0.0-rc.1 1.0.0-rc.1" },
        { "<1.2", "1.1.9", "1.2.0" },
        { "<2.0.0-0", "1.9.9 1.9.9-rc.1", "2.0.0-0 2.0.0-rc.1" },
        { "<=1.2.3", "1.2.3 1.0.0", "1.2.4" },
        { "<=1.2", "1.2.0 1.2.9 0.1.0", "1.3.0" },
        { "=<1", "1.9.9 0.5.0", "2.0.0" },
        /* tilde */
        { "~1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0" },
        { "~1.2", "1.2.0 1.2.9", "1.1.9 1.3.0" },
        { "~1", "1.0.0 1.9.0", "0.9.0 2.0.0" },
        { "~> 1.2.3", "1.2.4", "1.3.0" },
        { "~1.2.x", "1.2.7", "1.3.0" },
        { "~1.2.3-beta", "1.2.3-beta 1.2.3-rc.1 1.2.4 1.2.9-alpha", "1.2.3-alpha 1.3.0" },
        { "~0.0.0", "0.0.0 3.2.1", "3.2.1-rc.1" },
        { "~0.0.1", "0.0.1 0.0.9", "0.1.0 0.0.0" },
        { "~*", "0.0.1 5.0.0", "5.0.0-rc.1" },
        /* caret */
        { "^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0" },
        { "^1.2", "1.2.0 1.9.0", "1.1.9 2.0.0" },
        { "^1", "1.0.0 1.9.0", "0.9.0 2.0.0" },
        { "^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0 1.2.3" },
        { "^0.2", "0.2.0 0.2.9", "0.3.0" },
        { "^0.0.3", "0.0.3", "0.0.4 0.0.2 0.1.0" },
        { "^0.0", "0.0.0 0.0.9", "0.1.0" },
        { "^0", "0.0.0 0.9.9", "1.0.0" },
        { "^*", "0.0.0 7.1.0", "7.1.0-rc.1" },
        { "^1.2.3-rc.1", "1.2.3-rc.1 1.2.3 1.9.0 1.9.0-rc.1", "1.2.3-beta 2.0.0" },
        /* joined */
        { ">=1.0.0 <2.0.0", "1.0.0 1.9.9", "0.9.9 2.0.0 2.0.0-rc.1" },
        { ">=1.0.0, <2.0.0", "1.0.0 1.9.9", "2.0.0" },
        { ">=1.0.0,<2.0.0", "1.0.0 1.9.9", "2.0.0" },
        { ">= 1.0.0 , < 2.0.0", "1.0.0", "2.0.0" },
        { ">=1.0.0-0 <2.0.0", "1.0.0-rc.1 1.4.0-beta 2.0.0-rc.1", "2.0.0" },
        { "1 || 3", "1.0.0 1.5.0 3.1.0", "2.0.0" },
        { "1.2.3 || 1.2.5", "1.2.3 1.2.5", "1.2.4" },
        { "^1||^3", "1.1.0 3.0.0", "2.0.0 4.0.0" },
        { "~1.2 || >=2.0.0-0 <3", "1.2.4 2.1.0-rc.1 2.5.0", "1.2.4-rc.1 3.0.0" },
        { "1.0 - 1.4", "1.0.0 1.2.0 1.4.9", "0.9.9 1.5.0" },
        { "1.2.3 - 2.0.0", "1.2.3 2.0.0", "1.2.2 2.0.1" },
        { "1 - 2 || 5 - 6.1", "1.0.0 2.9.0 5.0.0 6.1.7", "3.0.0 6.2.0" },
        { "v1.0.0  -  v1.4.0", "v1.2.0", "v1.4.1" },
        { "*-0", "1.0.0-rc.1 0.0.1-alpha 2.0.0", "" },
        { "1.x-0", "1.0.0-rc.1 1.5.0", "2.0.0 0.9.0" },
        { ">=1.2.3+build", "1.2.3 1.2.4", "1.2.2" },
};

static void check(const char *range_text, const char *versions, bool in) {
        struct str rest = str_from(versions), one;
        struct semver_range range;

        if (!semver_range_parse(str_from(range_text), &range))
                fail_msg("\"%s\" is no range", range_text);
        while (str_next(&rest, ' ', &one)) {
                struct semver v;

                assert_true(semver_parse(one, &v));
                if (semver_range_has(&range, &v) != in)
                        fail_msg("%.*s is %sin \"%s\"", STR_FMT(one), in ? "not " : "", range_text);
        }
}

static void ranges_hold_what_argo_cd_s_hold(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
                check(ranges[i].range, ranges[i].in, true);
                check(ranges[i].range, ranges[i].out, false);
        }
}

static void other_text_is_no_range(void **state) {
        static const char *const rows[] = {
                "", " ", "main", "x", "X", "x || X", "1", "1.2", "v1.2.3", "1.2.3-rc.1", "HEAD", "refs/heads/1.x", "release-1.x",
                ">=", "> = 1", ">=1.2.3.4", "1.2.*.4", ">=1 |", ">=1 ||", "|| 1", "1 | 2", "^1^2", ">=1<2", "**", "1**", "=v",
                "~~1", "^>1", "1.2 -1.4", "1.2- 1.4", "1 - ", "1 - >2", ">1 - 2", ",1.x", "1.x,", ">=1,,<2", "1.x\n", ">=1.0.0-",
                ">=1.0.0-01", "1.-x", ">=18446744073709551616",
        };
        struct semver_range range;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (semver_range_parse(str_from(rows[i]), &range))
                        fail_msg("\"%s\" is read as a range", rows[i]);
}

static void a_range_of_too_many_terms_is_none(void **state) {
        char text[4 * (SEMVER_MAX_TERMS + 1) + 1] = "";
        struct semver_range range;

        (void)state;
        for (size_t i = 0; i < SEMVER_MAX_TERMS; i++)
                memcpy(text + 4 * i, " >=1", 5);
        assert_true(semver_range_parse(str_from(text), &range));
        assert_int_equal(range.count, SEMVER_MAX_TERMS);
        memcpy(text + 4 * (size_t)SEMVER_MAX_TERMS, " >=1", 5);
        assert_false(semver_range_parse(str_from(text), &range));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(versions_are_read_as_people_write_tags),
                cmocka_unit_test(precedence_is_semver_org_s),
                cmocka_unit_test(ranges_hold_what_argo_cd_s_hold),
                cmocka_unit_test(other_text_is_no_range),
                cmocka_unit_test(a_range_of_too_many_terms_is_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
