/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/buf.h"

static const struct {
        const char *pattern, *text;
        bool match;
} cases[] = {
        { "", "", true },                 { "", "a", false },                { "a", "a", true },
        { "a", "ab", false },             { "*", "", true },                 { "*", "a/b/c", true },
        { "*.yaml", "a.yaml", true },     { "*.yaml", "sub/a.yaml", true },  { "*.yaml", "a.yml", false },
        { "**/*.yaml", "a.yaml", false }, { "**/*.yaml", "s/a.yaml", true }, { "**/*.yaml", "s/t/a.yaml", true },
        { "a*c", "abbbc", true },         { "a*c", "ac", true },             { "a*c", "acb", false },
        { "a?c", "abc", true },           { "a?c", "ac", false },            { "?", "\xc3\xa4", true },
        { "??", "\xc3\xa4", false },      { "[abc]x", "bx", true },          { "[abc]x", "dx", false },
        { "[a-c]", "b", true },           { "[a-c]", "d", false },           { "[!a-c]", "d", true },
        { "[!a-c]", "b", false },         { "[]]", "]", true },              { "[a-]", "-", true },
        { "{a,b}", "a", true },           { "{a,b}", "b", true },            { "{a,b}", "c", false },
        { "{a,b}", "ab", false },         { "x{a,b}y", "xby", true },        { "{a*,*b}c", "xxbc", true },
        { "{,a}b", "b", true },           { "{a,}b", "b", true },            { "{}b", "b", true },
        { "{a,{b,c}d}", "cd", true },     { "{a,{b,c}d}", "c", false },      { "{a,b}{c,d}", "bd", true },
        { "\\*", "*", true },             { "\\*", "a", false },             { "\\{a", "{a", true },
        { "{a\\,b,c}", "a,b", true },     { "{a\\,b,c}", "c", true },        { "a\\\\[b]", "a\\b", true },
        { "{**/*.yaml,*.yml}", "d/x.yaml", true }, { "{dir/*,nothing.yaml}", "dir/a", true },
        { "***a", "xya", true },          { "}", "}", true },                { "{[a,b]}", "b]", true },
};

static void patterns_match_as_they_say(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                if (glob_match(str_from(cases[i].pattern), str_from(cases[i].text)) != cases[i].match)
                        fail_msg("%s against %s", cases[i].pattern, cases[i].text);
}

static void broken_patterns_are_refused_and_match_nothing(void **state) {
        static const char *const bad[] = { "[", "[a", "[]", "{", "{a", "{a,{b}", "\\", "a\\", "{[}" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                struct err err;

                assert_int_equal(glob_check(str_from(bad[i]), &err), ERR_INVAL);
                assert_false(glob_match(str_from(bad[i]), str_from(bad[i])));
                assert_false(glob_match(str_from(bad[i]), STR("")));
        }
}

static void length_and_nesting_are_limited(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(2 * GLOB_MAX_BYTES);

        (void)state;
        for (int i = 0; i < GLOB_MAX_BYTES; i++)
                buf_addch(&b, 'a');
        assert_int_equal(glob_check(buf_str(&b), NULL), 0);
        assert_true(glob_match(buf_str(&b), buf_str(&b)));
        buf_addch(&b, 'a');
        assert_int_equal(glob_check(buf_str(&b), NULL), ERR_LIMIT);

        assert_int_equal(glob_check(STR("{{{{{{{{a}}}}}}}}"), NULL), 0);
        assert_true(glob_match(STR("{{{{{{{{a}}}}}}}}"), STR("a")));
        assert_int_equal(glob_check(STR("{{{{{{{{{a}}}}}}}}}"), NULL), ERR_LIMIT);
}

/* Without a limit this takes longer than anybody waits. */
static void a_pattern_that_explodes_ends(void **state) {
        _cleanup_(buf_done) struct buf p = buf_make(GLOB_MAX_BYTES), s = buf_make(GLOB_MAX_BYTES);

        (void)state;
        for (int i = 0; i < 60; i++)
                buf_addc(&p, "*{a,aa}");
        buf_addch(&p, 'b');
        for (int i = 0; i < 2000; i++)
                buf_addch(&s, 'a');
        assert_false(glob_match(buf_str(&p), buf_str(&s)));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(patterns_match_as_they_say),
                cmocka_unit_test(broken_patterns_are_refused_and_match_nothing),
                cmocka_unit_test(length_and_nesting_are_limited),
                cmocka_unit_test(a_pattern_that_explodes_ends),
        };

        return cmocka_run_group_tests_name("glob", tests, NULL, NULL);
}
