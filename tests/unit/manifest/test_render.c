/* SPDX-License-Identifier: Apache-2.0 */
/* Rendering from a repository: cache, failures, limits, threads. What files mean is in test_render_cases.c. */
#include "manifest/render.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/limits.h"
#include "git/memory.h"

#define CONFIGMAP(name) "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " name "}\n"

struct fixture {
        struct git_memory *m;
        struct git_source *git;
        struct manifest_cache *cache;
        struct manifest_set *set;
        struct git_deadline deadline;
        struct manifest_source source;
        struct err err;
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof(*f));

        f->m = git_memory_new();
        f->git = git_memory_source(f->m);
        f->cache = manifest_cache_new(0);
        f->deadline = (struct git_deadline){ INT64_MAX, NULL };
        f->source = (struct manifest_source){ .path = STR("."), .recurse = true };
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        manifest_set_free(f->set);
        manifest_cache_free(f->cache);
        git_source_free(f->git);
        free(f);
        return 0;
}

static struct git_id push(struct fixture *f, const struct git_memory_file *files, size_t count) {
        struct git_id commit = git_memory_push(f->m, files, count);
        struct git_revision rev = { .commit = commit };

        assert_int_equal(git_source_fetch(f->git, &rev, f->deadline, NULL), 0);
        return commit;
}

static int render(struct fixture *f, const struct git_id *commit) {
        manifest_set_free(f->set);
        f->set = NULL;
        return manifest_render(f->git, commit, &f->source, f->cache, f->deadline, &f->set, &f->err);
}

static const struct git_memory_file first[] = {
        { "a.yaml", GIT_MEMORY_FILE, STR(CONFIGMAP("a")) },
        { "b.yaml", GIT_MEMORY_FILE, STR(CONFIGMAP("b")) },
};
static const struct git_memory_file second[] = {
        { "a.yaml", GIT_MEMORY_FILE, STR(CONFIGMAP("changed")) },
        { "moved/b.yaml", GIT_MEMORY_FILE, STR(CONFIGMAP("b")) },
};

static void unchanged_blobs_are_neither_read_nor_parsed_again(void **state) {
        struct fixture *f = *state;
        struct git_id one = push(f, first, 2), two = push(f, second, 2);

        assert_int_equal(render(f, &one), 0);
        assert_int_equal(f->set->parsed_count, 2);
        assert_int_equal(render(f, &one), 0);
        assert_int_equal(f->set->parsed_count, 0);
        assert_int_equal(git_memory_calls(f->m, GIT_MEMORY_READ), 2);
        assert_int_equal(render(f, &two), 0);
        assert_int_equal(f->set->parsed_count, 1);
        assert_int_equal(f->set->object_count, 2);
        assert_true(str_eqc(f->set->objects[0].file, "moved/b.yaml"));
        assert_int_equal(manifest_cache_count(f->cache), 3);
}

static void a_set_outlives_the_cache(void **state) {
        struct fixture *f = *state;
        struct git_id one = push(f, first, 2);

        assert_int_equal(render(f, &one), 0);
        manifest_cache_free(f->cache);
        f->cache = NULL;
        assert_true(str_eqc(value_text(value_path(f->set->objects[1].value, "metadata", "name", NULL)), "b"));
}

static void the_cache_stays_below_its_maximum(void **state) {
        struct fixture *f = *state;
        struct git_id one = push(f, first, 2);
        size_t each;

        assert_int_equal(render(f, &one), 0);
        each = manifest_cache_bytes(f->cache) / 2;
        manifest_cache_free(f->cache);
        f->cache = manifest_cache_new(each + each / 2);
        for (int i = 0; i < 5; i++) {
                assert_int_equal(render(f, &one), 0);
                assert_int_equal(f->set->object_count, 2);
                assert_int_equal(manifest_cache_count(f->cache), 1);
                assert_true(manifest_cache_bytes(f->cache) <= each + each / 2);
        }

        manifest_cache_free(f->cache);
        f->cache = manifest_cache_new(10);
        assert_int_equal(render(f, &one), 0);
        assert_int_equal(manifest_cache_count(f->cache), 0);
}

static void a_repository_somewhat_larger_than_the_cache_still_finds_much_in_it(void **state) {
        struct fixture *f = *state;
        struct git_memory_file files[100] = { 0 };
        char names[100][16], texts[100][80];
        size_t parsed = 0;
        struct git_id one;

        for (int i = 0; i < 100; i++) {
                snprintf(names[i], sizeof(names[i]), "f%02d.yaml", i);
                snprintf(texts[i], sizeof(texts[i]), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%02d}\n", i);
                files[i] = (struct git_memory_file){ names[i], GIT_MEMORY_FILE, str_from(texts[i]) };
        }
        one = push(f, files, 100);
        assert_int_equal(render(f, &one), 0);
        size_t all = manifest_cache_bytes(f->cache);

        manifest_cache_free(f->cache);
        f->cache = manifest_cache_new(all * 8 / 10);
        for (int i = 0; i < 10; i++) {
                assert_int_equal(render(f, &one), 0);
                parsed += i > 0 ? f->set->parsed_count : 0;
        }
        assert_true(parsed < 9 * 60);
}

static void the_same_bytes_as_yaml_and_json_are_two_things(void **state) {
        static const struct git_memory_file files[] = {
                { "a.json", GIT_MEMORY_FILE, STR(CONFIGMAP("a")) },
                { "a.yaml", GIT_MEMORY_FILE, STR(CONFIGMAP("a")) },
        };
        struct fixture *f = *state;
        struct git_id one = push(f, files, 2);

        assert_int_equal(render(f, &one), 0);
        assert_int_equal(f->set->parsed_count, 2);
        assert_int_equal(f->set->object_count, 1);
        assert_int_equal(f->set->error_count, 1);
        assert_int_equal(f->set->errors[0].code, ERR_PARSE);
}

static void failures_of_the_repository_fail_the_render(void **state) {
        static const enum err_code codes[] = { ERR_UNREACHABLE, ERR_TIMEOUT, ERR_CANCELLED, ERR_CORRUPT, ERR_NOTFOUND };
        struct fixture *f = *state;
        struct git_id one = push(f, first, 2);

        for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
                git_memory_fail(f->m, GIT_MEMORY_READ, codes[i], "scripted", 1);
                assert_int_equal(render(f, &one), codes[i]);
                assert_string_equal(f->err.msg, "a.yaml: scripted");
                assert_null(f->set);
                git_memory_fail(f->m, GIT_MEMORY_LIST, codes[i], "scripted", 1);
                assert_int_equal(render(f, &one), codes[i]);
        }
        assert_int_equal(manifest_cache_count(f->cache), 0);
        assert_int_equal(render(f, &one), 0);
}

static void a_file_that_cannot_be_had_leaves_the_rest_but_not_complete(void **state) {
        struct fixture *f = *state;
        struct git_id one = push(f, first, 2);

        git_memory_fail(f->m, GIT_MEMORY_READ, ERR_LIMIT, "too large", 1);
        assert_int_equal(render(f, &one), 0);
        assert_false(f->set->complete);
        assert_int_equal(f->set->object_count, 1);
        assert_int_equal(f->set->error_count, 1);
        assert_int_equal(f->set->errors[0].code, ERR_LIMIT);
        assert_true(str_eqc(f->set->errors[0].file, "a.yaml"));
}

static void a_cancelled_render_ends_even_when_all_is_cached(void **state) {
        struct fixture *f = *state;
        struct git_id one = push(f, first, 2);
        atomic_bool cancelled = true;

        assert_int_equal(render(f, &one), 0);
        f->deadline.cancelled = &cancelled;
        assert_int_equal(render(f, &one), ERR_CANCELLED);
        f->deadline = (struct git_deadline){ 0, NULL };
        assert_int_equal(render(f, &one), ERR_TIMEOUT);
}

static void an_unknown_commit_is_not_found(void **state) {
        struct fixture *f = *state;
        struct git_id none = { { 1 } };

        assert_int_equal(render(f, &none), ERR_NOTFOUND);
}

static void objects_are_limited(void **state) {
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf b = buf_make(8 * MIB);
        struct manifest_file file = { STR("a.yaml"), { 0 } };

        for (int i = 0; i <= MANIFEST_MAX_OBJECTS; i++) {
                if (i == MANIFEST_MAX_OBJECTS) {
                        file.text = buf_str(&b);
                        assert_int_equal(manifest_render_files(&file, 1, &f->source, &f->set, &f->err), 0);
                        assert_int_equal(f->set->object_count, MANIFEST_MAX_OBJECTS);
                        manifest_set_free(TAKE_PTR(f->set));
                }
                buf_addf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i);
        }
        file.text = buf_str(&b);
        assert_int_equal(manifest_render_files(&file, 1, &f->source, &f->set, &f->err), ERR_LIMIT);
        assert_null(f->set);
}

struct worker {
        struct fixture *f;
        const struct git_id *commits;
        size_t objects;
};

static void *work(void *arg) {
        struct worker *w = arg;

        for (int i = 0; i < 50; i++) {
                struct manifest_set *set = NULL;

                if (manifest_render(w->f->git, &w->commits[i % 2], &w->f->source, w->f->cache, w->f->deadline, &set,
                                    NULL) == 0)
                        w->objects += set->object_count;
                manifest_set_free(set);
        }
        return NULL;
}

static void several_threads_share_one_small_cache(void **state) {
        struct fixture *f = *state;
        struct git_id commits[2] = { push(f, first, 2), push(f, second, 2) };
        struct worker workers[4];
        pthread_t threads[4];

        manifest_cache_free(f->cache);
        f->cache = manifest_cache_new(3000);
        for (size_t i = 0; i < 4; i++) {
                workers[i] = (struct worker){ f, commits, 0 };
                assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (size_t i = 0; i < 4; i++) {
                pthread_join(threads[i], NULL);
                assert_int_equal(workers[i].objects, 100);
        }
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(unchanged_blobs_are_neither_read_nor_parsed_again),
                T(a_set_outlives_the_cache),
                T(the_cache_stays_below_its_maximum),
                T(a_repository_somewhat_larger_than_the_cache_still_finds_much_in_it),
                T(the_same_bytes_as_yaml_and_json_are_two_things),
                T(failures_of_the_repository_fail_the_render),
                T(a_file_that_cannot_be_had_leaves_the_rest_but_not_complete),
                T(a_cancelled_render_ends_even_when_all_is_cached),
                T(an_unknown_commit_is_not_found),
                T(objects_are_limited),
                T(several_threads_share_one_small_cache),
        };

        return cmocka_run_group_tests_name("render", tests, NULL, NULL);
}
