/* SPDX-License-Identifier: Apache-2.0 */
#include "git/author.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "git/remote.h"
#include "scratch.h"

struct fixture {
        struct scratch s;
        struct err err;
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        scratch_init(&f->s);
        *state = f;
        return git_init_library(&f->err);
}

static int teardown(void **state) {
        struct fixture *f = *state;

        scratch_done(&f->s);
        free(f);
        return 0;
}

static struct git_author_file file(const char *path, const char *content) {
        return (struct git_author_file){ str_from(path), str_from(content) };
}

static int commit(struct fixture *f, const char *subject, struct git_author_file one, struct git_id *ret) {
        return git_author_commit(scratch_path(&f->s, "repo"), subject, &one, 1, ret, &f->err);
}

static void assert_git_says(struct fixture *f, const char *want, const char *verb, const char *arg, const char *arg2) {
        char *got = scratch_git(&f->s, "repo", verb, arg, arg2, NULL);

        assert_string_equal(got, want);
        free(got);
}

static void init(struct fixture *f) {
        assert_int_equal(git_author_init(scratch_path(&f->s, "repo"), &f->err), 0);
}

static void git_reads_what_was_committed(void **state) {
        struct fixture *f = *state;
        char hex[GIT_OID_HEX_BYTES + 1];
        struct git_id id;

        init(f);
        assert_int_equal(commit(f, "first", file("a.yaml", "a: 1\n"), &id), 0);
        git_id_hex(&id, hex);
        assert_git_says(f, hex, "rev-parse", "main", NULL);
        assert_git_says(f, "a: 1", "show", "HEAD:a.yaml", NULL);
        assert_git_says(f, "first", "log", "--format=%s", NULL);
        assert_git_says(f, "", "status", "--porcelain", NULL);
}

static void a_commit_stands_on_the_last_one_and_keeps_its_files(void **state) {
        struct fixture *f = *state;
        struct git_id id;

        init(f);
        assert_int_equal(commit(f, "first", file("a.yaml", "a: 1\n"), &id), 0);
        assert_int_equal(commit(f, "second", file("b.yaml", "b: 1\n"), &id), 0);
        assert_int_equal(commit(f, "third", file("a.yaml", "a: 2\n"), &id), 0);
        assert_git_says(f, "third\nsecond\nfirst", "log", "--format=%s", NULL);
        assert_git_says(f, "a.yaml\nb.yaml", "ls-tree", "--name-only", "HEAD");
        assert_git_says(f, "a: 2", "show", "HEAD:a.yaml", NULL);
        assert_git_says(f, "a: 1", "show", "HEAD~1:a.yaml", NULL);
}

static void a_person_can_go_on_with_git(void **state) {
        struct fixture *f = *state;
        struct git_id id;

        init(f);
        assert_int_equal(commit(f, "first", file("a.yaml", "a: 1\n"), &id), 0);
        scratch_write(&f->s, "repo/a.yaml", "a: 2\n");
        GIT(&f->s, "repo", "commit", "-q", "-a", "-m", "by hand");
        assert_int_equal(commit(f, "second", file("a.yaml", "a: 3\n"), &id), 0);
        assert_git_says(f, "second\nby hand\nfirst", "log", "--format=%s", NULL);
}

static void a_folder_that_is_there_is_not_touched(void **state) {
        struct fixture *f = *state;

        scratch_write(&f->s, "mine", "x");
        assert_int_not_equal(git_author_init(scratch_path(&f->s, "mine"), &f->err), 0);
        assert_int_not_equal(git_author_init(scratch_path(&f->s, "missing/repo"), &f->err), 0);
}

static void paths_with_folders_are_refused(void **state) {
        static const char *const paths[] = { "", "a/b.yaml", "../b.yaml", "/b.yaml" };
        struct fixture *f = *state;
        struct git_id id;

        init(f);
        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
                assert_int_equal(commit(f, "first", file(paths[i], "x"), &id), ERR_INVAL);
        assert_int_not_equal(commit(f, "first", file(".git", "x"), &id), 0);
}

static void where_there_is_no_repository_nothing_is_committed(void **state) {
        struct fixture *f = *state;
        struct git_id id;

        assert_int_equal(commit(f, "first", file("a.yaml", "x"), &id), ERR_NOTFOUND);
        assert_true(str_contains(str_from(f->err.msg), STR("cannot open the repository")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(git_reads_what_was_committed, setup, teardown),
                cmocka_unit_test_setup_teardown(a_commit_stands_on_the_last_one_and_keeps_its_files, setup, teardown),
                cmocka_unit_test_setup_teardown(a_person_can_go_on_with_git, setup, teardown),
                cmocka_unit_test_setup_teardown(a_folder_that_is_there_is_not_touched, setup, teardown),
                cmocka_unit_test_setup_teardown(paths_with_folders_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(where_there_is_no_repository_nothing_is_committed, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
