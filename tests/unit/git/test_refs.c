/* SPDX-License-Identifier: Apache-2.0 */
#include "git/refs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/buf.h"

static struct arena *arena;
static struct err err;

static int setup(void **state) {
        (void)state;
        arena = arena_new(0);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        arena_free(arena);
        return 0;
}

/* An id whose hex is `digit` forty times. */
static struct git_id id(char digit) {
        char hex[GIT_OID_HEX_BYTES];
        struct git_id ret;

        memset(hex, digit, sizeof hex);
        assert_true(git_id_from_hex((struct str){ hex, sizeof hex }, &ret));
        return ret;
}

static int check(const char *word) {
        enum git_word_kind kind;
        struct git_id commit;
        int r = git_word_check(str_from(word), &kind, &commit, &err);

        return r < 0 ? r : (int)kind;
}

static void words_have_kinds(void **state) {
        (void)state;
        assert_int_equal(check("1234567890123456789012345678901234567890"), GIT_WORD_COMMIT);
        assert_int_equal(check("ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD"), GIT_WORD_COMMIT);
        assert_int_equal(check("1234567"), GIT_WORD_SHORT);
        assert_int_equal(check("123456789012345678901234567890123456789"), GIT_WORD_SHORT);
        assert_int_equal(check("123456"), GIT_WORD_NAME);
        assert_int_equal(check("12345678901234567890123456789012345678901"), GIT_WORD_NAME);
        assert_int_equal(check("1234567g"), GIT_WORD_NAME);
        assert_int_equal(check(""), GIT_WORD_NAME);
        assert_int_equal(check("feature/a-b_c.d"), GIT_WORD_NAME);
        assert_int_equal(check("v1.2.3"), GIT_WORD_NAME);
        assert_int_equal(check("grün"), GIT_WORD_NAME);
}

static void dangerous_words_are_refused(void **state) {
        static const char *const rows[] = {
                "-x",     "--upload-pack=evil",
                "a b",    "a\nb",
                "a\x7fz", "a..b",
                "a@{1}",  "main^",
                "main~1", "a:b",
                "a\\b",   "/a",
                "a/",     "a//b",
                ".a",     "a/.b",
                "a.lock", "a.lock/b",
                "a.",     "@",
                "a[b",    "a?b",
                "\xff",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                if (check(rows[i]) != ERR_INVAL)
                        fail_msg("\"%s\" was not refused", rows[i]);
                assert_null(strchr(err.msg, '\n'));
        }
}

static void a_long_word_is_refused(void **state) {
        char word[GIT_REVISION_MAX_BYTES + 2];

        (void)state;
        memset(word, 'x', sizeof word);
        word[GIT_REVISION_MAX_BYTES] = '\0';
        assert_int_equal(check(word), GIT_WORD_NAME);
        word[GIT_REVISION_MAX_BYTES] = 'x';
        word[GIT_REVISION_MAX_BYTES + 1] = '\0';
        assert_int_equal(check(word), ERR_INVAL);
        assert_true(strlen(err.msg) < 200);
}

static void version_ranges_are_known(void **state) {
        static const char *const rows[] = { "v1.*", "*", ">=1.2", "^1.2", "~1.2.0", "<2", "=1", "1.2.*", "1.x",
                                            ">=1.0.0 <2.0.0", "1 || 3", "1.0 - 1.4", ">=1, <3", "prod/v1.*", "a/b/^2" };
        static const char *const names[] = { "v1.2.3", "1.2", "1", "x", "release/1.x", "a/b/1.2" };
        static const char *const neither[] = { ">=one", "^", "**", "1.2.*.4", "~main", "!=", ">= 1 |", "a b/v1.*", "../v1.*" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(check(rows[i]), GIT_WORD_RANGE);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                assert_int_equal(check(names[i]), GIT_WORD_NAME);
        for (size_t i = 0; i < ARRAY_LEN(neither); i++)
                assert_int_equal(check(neither[i]), ERR_INVAL);
}

static const char *found(struct git_ref_list list, const char *word) {
        const struct git_ref *ref = git_refs_find(list, str_from(word), arena);

        return ref ? ref->name.p : NULL;
}

static void branch_beats_tag_and_full_names_beat_both(void **state) {
        const struct git_ref refs[] = {
                { .name = STR("refs/tags/x") }, { .name = STR("refs/heads/x") }, { .name = STR("refs/tags/y") },
                { .name = STR("refs/heads/refs/pull/1/head") }, { .name = STR("refs/pull/1/head") },
                { .name = STR("refs/heads/heads/z") }, { .name = STR("refs/heads/z") }, { .name = STR("HEAD") },
                { .name = STR("refs/heads/HEAD") },
        };
        struct git_ref_list list = { refs, ARRAY_LEN(refs) };

        (void)state;
        assert_string_equal(found(list, "x"), "refs/heads/x");
        assert_string_equal(found(list, "refs/tags/x"), "refs/tags/x");
        assert_string_equal(found(list, "tags/x"), "refs/tags/x");
        assert_string_equal(found(list, "y"), "refs/tags/y");
        assert_string_equal(found(list, "refs/pull/1/head"), "refs/pull/1/head");
        assert_string_equal(found(list, "heads/z"), "refs/heads/heads/z");
        assert_string_equal(found(list, "heads/x"), "refs/heads/x");
        assert_string_equal(found(list, "HEAD"), "HEAD");
        assert_string_equal(found(list, ""), "HEAD");
        assert_null(found(list, "nothing"));
        assert_null(found(list, "X"));
}

static void a_range_is_the_highest_tag_in_it(void **state) {
        const struct git_ref refs[] = {
                { .name = STR("refs/heads/1.5.0") },      { .name = STR("refs/heads/1.x") },
                { .name = STR("refs/heads/4.x") },        { .name = STR("refs/tags/1.10.0") },
                { .name = STR("refs/tags/1.9.0") },       { .name = STR("refs/tags/2.0.0-rc.1") },
                { .name = STR("refs/tags/latest") },      { .name = STR("refs/tags/prod/v1.0.0") },
                { .name = STR("refs/tags/prod/v1.2.0") }, { .name = STR("refs/tags/v1.10.0") },
                { .name = STR("refs/tags/v3") },
        };
        struct git_ref_list list = { refs, ARRAY_LEN(refs) };

        (void)state;
        assert_string_equal(found(list, "1.*"), "refs/tags/1.10.0"); /* not the one with "v": it is the same version */
        assert_string_equal(found(list, "1.x"), "refs/tags/1.10.0");
        assert_string_equal(found(list, "*"), "refs/tags/v3");
        assert_string_equal(found(list, ">=1 <3"), "refs/tags/1.10.0");
        assert_string_equal(found(list, ">=1-0 <3"), "refs/tags/2.0.0-rc.1");
        assert_string_equal(found(list, "prod/v1.*"), "refs/tags/prod/v1.2.0");
        assert_string_equal(found(list, "4.x"), "refs/heads/4.x");
        assert_null(found(list, "5.x"));
        assert_null(found(list, "test/v1.*"));
        assert_int_equal(git_refs_not_found(list, STR("^7"), &err), ERR_NOTFOUND);
        assert_string_equal(err.msg, "no tag is in the range \"^7\"; the highest version among the tags is v3");
        assert_int_equal(git_refs_not_found((struct git_ref_list){ refs, 2 }, STR("^7"), &err), ERR_NOTFOUND);
        assert_string_equal(err.msg, "no tag is in the range \"^7\"; no tag is a version");
}

static void a_server_is_asked_for_the_tags_of_a_range(void **state) {
        struct str names[GIT_WORD_MAX_NAMES];

        (void)state;
        assert_int_equal(git_word_names(STR("^1.2"), arena, names), 1);
        assert_string_equal(names[0].p, "refs/tags/");
        assert_int_equal(git_word_names(STR("prod/v1.*"), arena, names), 1);
        assert_string_equal(names[0].p, "refs/tags/prod/");
        assert_int_equal(git_word_names(STR("1.x"), arena, names), 3);
        assert_string_equal(names[1].p, "refs/heads/1.x");
}

static void an_annotated_tag_stands_for_its_commit(void **state) {
        struct git_ref tag = { .id = id('a'), .peeled = id('b') }, branch = { .id = id('c') };
        struct git_id a = git_ref_commit(&tag), b = git_ref_commit(&branch), b_wanted = id('b'), c_wanted = id('c');

        (void)state;
        assert_true(git_id_eq(&a, &b_wanted));
        assert_true(git_id_eq(&b, &c_wanted));
}

static void short_commits_must_be_unique(void **state) {
        const struct git_ref refs[] = {
                { .id = id('a') }, { .id = id('b') }, { .id = id('a') }, { .id = id('c'), .peeled = id('d') }
        };
        struct git_ref_list list = { refs, ARRAY_LEN(refs) };
        struct git_id got, wanted = id('a'), peeled = id('d');

        (void)state;
        assert_int_equal(git_refs_find_short(list, STR("aaaaaaa"), &got, &err), 0); /* twice the same is no doubt */
        assert_true(git_id_eq(&got, &wanted));
        assert_int_equal(git_refs_find_short(list, STR("DDDDDDDD"), &got, &err), 0);
        assert_true(git_id_eq(&got, &peeled));
        assert_int_equal(git_refs_find_short(list, STR("ccccccc"), &got, &err),
                         ERR_NOTFOUND); /* a tag object is no commit */

        struct git_id near = id('a');
        near.bytes[19] = 0;
        const struct git_ref two[] = { { .id = id('a') }, { .id = near } };
        assert_int_equal(git_refs_find_short((struct git_ref_list){ two, 2 }, STR("aaaaaaa"), &got, &err), ERR_INVAL);
        assert_non_null(strstr(err.msg, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa00"));
        assert_int_equal(git_refs_find_short((struct git_ref_list){ two, 2 },
                                             STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0"), &got, &err), 0);
        assert_true(git_id_eq(&got, &near));
}

static void a_missing_name_brings_its_neighbours(void **state) {
        const struct git_ref refs[] = {
                { .name = STR("HEAD") },
                { .name = STR("refs/heads/main") },
                { .name = STR("refs/heads/release-1.2") },
                { .name = STR("refs/heads/release-1.3") },
                { .name = STR("refs/tags/release-1.4") },
                { .name = STR("refs/heads/release-1.5") },
                { .name = STR("refs/heads/zebra") },
                { .name = STR("refs/pull/1") },
        };
        struct git_ref_list list = { refs, ARRAY_LEN(refs) };

        (void)state;
        assert_int_equal(git_refs_not_found(list, STR("relase-1.3"), &err), ERR_NOTFOUND);
        assert_non_null(strstr(err.msg, "near it: \"release-1.3\", \"release-1.2\", \"release-1.4\""));
        assert_null(strstr(err.msg, "1.5"));
        git_refs_not_found(list, STR("qwertyuiop"), &err);
        assert_null(strstr(err.msg, "near"));
        assert_non_null(strstr(err.msg, "among 6 branches and tags"));
        git_refs_not_found((struct git_ref_list){ 0 }, STR("main"), &err);
        assert_non_null(strstr(err.msg, "the repository is empty"));
}

static void hex_is_read_strictly(void **state) {
        struct git_id got;
        char hex[GIT_OID_HEX_BYTES + 1];

        (void)state;
        assert_true(git_id_from_hex(STR("0123456789abcdefABCDEF0123456789abcdef01"), &got));
        git_id_hex(&got, hex);
        assert_string_equal(hex, "0123456789abcdefabcdef0123456789abcdef01");
        assert_false(git_id_from_hex(STR("0123456789abcdefABCDEF0123456789abcdef0"), &got));
        assert_false(git_id_from_hex(STR("0123456789abcdefABCDEF0123456789abcdefg1"), &got));
        assert_true(git_id_has_prefix(&got, STR("")));
        assert_true(git_id_has_prefix(&got, STR("0123")));
        assert_false(git_id_has_prefix(&got, STR("0124")));
        assert_false(git_id_has_prefix(&got, STR("0123456789abcdefabcdef0123456789abcdef012")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_have_kinds),
                cmocka_unit_test(dangerous_words_are_refused),
                cmocka_unit_test(a_long_word_is_refused),
                cmocka_unit_test(version_ranges_are_known),
                cmocka_unit_test(branch_beats_tag_and_full_names_beat_both),
                cmocka_unit_test(a_range_is_the_highest_tag_in_it),
                cmocka_unit_test(a_server_is_asked_for_the_tags_of_a_range),
                cmocka_unit_test(an_annotated_tag_stands_for_its_commit),
                cmocka_unit_test(short_commits_must_be_unique),
                cmocka_unit_test(a_missing_name_brings_its_neighbours),
                cmocka_unit_test(hex_is_read_strictly),
        };

        return cmocka_run_group_tests_name("refs", tests, setup, teardown);
}
