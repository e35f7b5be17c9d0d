/* SPDX-License-Identifier: Apache-2.0 */
#include "git/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/buf.h"

struct fixture {
        struct git_memory *m;
        struct git_source *source;
        struct arena *a;
        struct err err;
};

static const struct git_memory_file files_a[] = { { "a.yaml", GIT_MEMORY_FILE, STR("a: 1\n") } };
static const struct git_memory_file files_b[] = { { "a.yaml", GIT_MEMORY_FILE, STR("a: 2\n") } };

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->m = git_memory_new();
        f->source = git_memory_source(f->m);
        f->a = arena_new(0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        git_source_free(f->source);
        arena_free(f->a);
        free(f);
        return 0;
}

static int resolve(struct fixture *f, const char *word, struct git_revision *ret) {
        struct git_deadline d = { .at_ms = 1000 };

        return git_source_resolve(f->source, str_from(word), d, f->a, ret, &f->err);
}

static int fetch(struct fixture *f, const struct git_revision *rev) {
        struct git_deadline d = { .at_ms = 1000 };

        return git_source_fetch(f->source, rev, d, &f->err);
}

static void assert_is(struct fixture *f, const char *word, struct git_id id, const char *name) {
        struct git_revision rev;

        assert_int_equal(resolve(f, word, &rev), 0);
        assert_true(git_id_eq(&rev.commit, &id));
        assert_true(str_eqc(rev.name, name));
}

static void words_mean_what_they_mean_on_a_server(void **state) {
        struct fixture *f = *state;
        struct git_id first = git_memory_push(f->m, files_a, 1), second = git_memory_push(f->m, files_b, 1);
        struct git_id tag = git_memory_tag(f->m, &first);
        char hex[GIT_OID_HEX_BYTES + 1], seven[8];

        git_memory_set_ref(f->m, "refs/tags/v1", &tag);
        git_memory_set_ref(f->m, "refs/tags/main", &first);
        git_id_hex(&first, hex);
        snprintf(seven, sizeof seven, "%.7s", hex);
        assert_is(f, "HEAD", second, "refs/heads/main");
        assert_is(f, "main", second, "refs/heads/main");
        assert_is(f, "tags/main", first, "refs/tags/main");
        assert_is(f, "v1", first, "refs/tags/v1");
        assert_is(f, hex, first, hex);
        assert_is(f, seven, first, hex);
}

static void refs_move_and_vanish(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;
        struct git_id first = git_memory_push(f->m, files_a, 1);

        git_memory_set_ref(f->m, "refs/heads/dev", &first);
        git_memory_set_head(f->m, "refs/heads/dev");
        git_memory_push(f->m, files_b, 1);
        assert_is(f, "HEAD", first, "refs/heads/dev");
        git_memory_set_ref(f->m, "refs/heads/dev", NULL);
        assert_int_equal(resolve(f, "dev", &rev), ERR_NOTFOUND);
        assert_int_equal(resolve(f, "HEAD", &rev), ERR_NOTFOUND);
        assert_int_equal(resolve(f, "-dev", &rev), ERR_INVAL);
}

static void a_commit_must_be_fetched_before_it_is_read(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_commit_info info;
        struct git_revision rev;
        struct str content;
        size_t n;

        git_memory_push(f->m, files_a, 1);
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR(""), true, f->a, &files, &n, &f->err),
                         ERR_NOTFOUND);
        assert_int_equal(git_source_describe(f->source, &rev.commit, f->a, &info, &f->err), ERR_NOTFOUND);
        assert_int_equal(fetch(f, &rev), 0);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR(""), true, f->a, &files, &n, &f->err), 0);
        assert_int_equal(git_source_describe(f->source, &rev.commit, f->a, &info, &f->err), 0);
        assert_true(str_eqc(info.subject, "pushed"));
        assert_int_equal(git_source_read(f->source, &files[0].blob, 5, f->a, &content, &f->err), 0);
        assert_string_equal(content.p, "a: 1\n");
        assert_int_equal(git_source_read(f->source, &files[0].blob, 4, f->a, &content, &f->err), ERR_LIMIT);
}

static void equal_content_has_equal_ids(void **state) {
        struct fixture *f = *state;
        const struct git_file *first, *second;
        struct git_revision rev;
        size_t n;

        for (int i = 0; i < 2; i++) {
                git_memory_push(f->m, files_a, 1);
                assert_int_equal(resolve(f, "main", &rev), 0);
                assert_int_equal(fetch(f, &rev), 0);
                assert_int_equal(
                        git_source_list(f->source, &rev.commit, STR(""), true, f->a, i ? &second : &first, &n, NULL),
                        0);
        }
        assert_true(git_id_eq(&first[0].blob, &second[0].blob));
}

static void failures_come_as_scripted(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        git_memory_push(f->m, files_a, 1);
        git_memory_fail(f->m, GIT_MEMORY_RESOLVE, ERR_UNREACHABLE, "the cable is out", 2);
        assert_int_equal(resolve(f, "main", &rev), ERR_UNREACHABLE);
        assert_string_equal(f->err.msg, "the cable is out");
        assert_int_equal(resolve(f, "main", &rev), ERR_UNREACHABLE);
        assert_int_equal(resolve(f, "main", &rev), 0);
        git_memory_fail(f->m, GIT_MEMORY_FETCH, ERR_UNAUTH, "no", 1);
        assert_int_equal(fetch(f, &rev), ERR_UNAUTH);
        assert_int_equal(fetch(f, &rev), 0);
        assert_int_equal(git_memory_calls(f->m, GIT_MEMORY_RESOLVE), 3);
        assert_int_equal(git_memory_calls(f->m, GIT_MEMORY_FETCH), 2);
}

static int64_t at_700(void *ctx) {
        (void)ctx;
        return 700;
}

static void delays_are_measured_against_the_deadline(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        git_memory_push(f->m, files_a, 1);
        git_memory_delay(f->m, GIT_MEMORY_RESOLVE, 1000);
        assert_int_equal(resolve(f, "main", &rev), 0);
        git_memory_delay(f->m, GIT_MEMORY_RESOLVE, 1001);
        assert_int_equal(resolve(f, "main", &rev), ERR_TIMEOUT);
        git_memory_set_clock(f->m, at_700, NULL);
        git_memory_delay(f->m, GIT_MEMORY_RESOLVE, 301);
        assert_int_equal(resolve(f, "main", &rev), ERR_TIMEOUT);
        git_memory_delay(f->m, GIT_MEMORY_RESOLVE, 300);
        assert_int_equal(resolve(f, "main", &rev), 0);
}

static void a_raised_flag_cancels(void **state) {
        struct fixture *f = *state;
        atomic_bool flag = true;
        struct git_deadline d = { .at_ms = 1000, .cancelled = &flag };
        struct git_revision rev;

        git_memory_push(f->m, files_a, 1);
        assert_int_equal(git_source_resolve(f->source, STR("main"), d, f->a, &rev, &f->err), ERR_CANCELLED);
}

static void push_more(void *ctx, enum git_memory_op op) {
        if (op == GIT_MEMORY_RESOLVE)
                git_memory_push(ctx, files_b, 1);
}

static void a_hook_may_change_the_repository_midway(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;
        struct git_id first = git_memory_push(f->m, files_a, 1);

        git_memory_set_hook(f->m, push_more, f->m);
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_false(git_id_eq(&rev.commit, &first));
}

static void a_commit_that_never_was_is_not_found(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        assert_int_equal(resolve(f, "1234567890123456789012345678901234567890", &rev), 0);
        assert_int_equal(fetch(f, &rev), ERR_NOTFOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(words_mean_what_they_mean_on_a_server),
                TEST(refs_move_and_vanish),
                TEST(a_commit_must_be_fetched_before_it_is_read),
                TEST(equal_content_has_equal_ids),
                TEST(failures_come_as_scripted),
                TEST(delays_are_measured_against_the_deadline),
                TEST(a_raised_flag_cancels),
                TEST(a_hook_may_change_the_repository_midway),
                TEST(a_commit_that_never_was_is_not_found),
        };

        return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
