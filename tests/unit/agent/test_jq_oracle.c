/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each expression of tests/cases/jq/NAME.jq, on the object NAME.json: the worker and the program jq must agree. jq
 * says `[path(EXPRESSION)]`. Where that is spelled with slices or counted from the end, which are indexes to us, what is
 * left after removing our paths must be what `del(EXPRESSION)` leaves; removing is our own, on our own tree.
 */
#include "jq_test.h"

#include <dirent.h>
#include <stdio.h>

#include "base/json.h"

#define CASES TRUCE_SOURCE_DIR "/tests/cases/jq"

struct fixture {
        struct loop *l;
        struct jq_engine *engine;
        struct arena *a;
};

static char *read_file(const char *path) {
        FILE *f = fopen(path, "re");
        char *text = mem_zalloc(1 << 20);

        if (!f)
                fail_msg("%s cannot be read", path);
        if (fread(text, 1, (1 << 20) - 1, f) == 0)
                fail_msg("%s is empty", path);
        fclose(f);
        return text;
}

/* ---- the program jq ---- */

struct said {
        struct loop *l;
        char *text; /* NULL: an error */
};

static void on_jq_end(void *ctx, const struct loop_child_result *result, const struct err *err) {
        struct said *s = ctx;

        if (err)
                fail_msg("%s", err->msg);
        if (result->exit_code == 0)
                s->text = str_dup(str_trim(result->out));
        else
                assert_in_range(result->exit_code, 2, 5); /* 127 would be no jq at all */
        loop_stop(s->l);
}

/* `before` EXPRESSION `after`, run on the file. free() it; NULL when jq calls it an error. */
static char *jq(struct fixture *f, const char *before, const char *expression, const char *after, const char *file) {
        char program[1024];
        struct said s = { .l = f->l };
        struct err err;

        snprintf(program, sizeof program, "%s%s%s", before, expression, after);
        const struct loop_child_spec spec = {
                .argv = (const char *const[]){ "jq", "-c", program, file, NULL },
                .env = (const char *const[]){ "PATH=/usr/local/bin:/usr/bin:/bin", NULL },
                .deadline_ms = 60 * 1000,
        };
        if (!loop_child_start(f->l, &spec, on_jq_end, &s, &err))
                fail_msg("%s", err.msg);
        loop_run(f->l);
        return s.text;
}

/* ---- comparing ---- */

static const struct value *parse(struct arena *a, const char *text) {
        const struct value *v = NULL;

        assert_int_equal(json_parse(str_from(text), a, &v, NULL), 0);
        return v;
}

/* Only names, and indexes from the begin that a list may have. */
static bool is_plain(const struct value *paths) {
        for (size_t i = 0; i < paths->list.count; i++) {
                const struct value *path = paths->list.items[i];

                for (size_t k = 0; k < path->list.count; k++) {
                        const struct value *step = path->list.items[k];

                        if (!value_is(step, VALUE_STRING) && (!value_is(step, VALUE_INT) || step->i64 < 0 || step->i64 >= INT32_MAX))
                                return false;
                }
        }
        return true;
}

static const struct value *without(struct arena *a, const struct value *v, const struct jq_path *paths, size_t count,
                                   size_t depth);

/* The paths that go on through this key, or this index. */
static const struct value *child_without(struct arena *a, const struct value *child, const char *key, size_t index,
                                         const struct jq_path *paths, size_t count, size_t depth) {
        struct jq_path *through = arena_alloc(a, count * sizeof *through);
        size_t n = 0;

        for (size_t i = 0; i < count; i++) {
                const struct jq_step *s = &paths[i].steps[depth];

                if (key ? !s->is_index && str_eqc(s->key, key) : s->is_index && (size_t)s->index == index)
                        through[n++] = paths[i];
        }
        return n > 0 ? without(a, child, through, n, depth + 1) : child;
}

/* NULL: nothing is left. */
static const struct value *without(struct arena *a, const struct value *v, const struct jq_path *paths, size_t count,
                                   size_t depth) {
        struct value_map_builder map = { 0 };
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < count; i++)
                if (paths[i].count == depth)
                        return NULL;
        for (size_t i = 0; value_is(v, VALUE_MAP) && i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];
                const struct value *left = child_without(a, m->value, m->key.p, 0, paths, count, depth);

                if (left)
                        value_map_add(&map, m->key, left, 0);
        }
        for (size_t i = 0; value_is(v, VALUE_LIST) && i < v->list.count; i++) {
                const struct value *left = child_without(a, v->list.items[i], NULL, i, paths, count, depth);

                if (left)
                        value_list_add(&list, left);
        }
        if (value_is(v, VALUE_MAP))
                return value_map_end(&map, a, 0);
        return value_is(v, VALUE_LIST) ? value_list_end(&list, a, 0) : v;
}

static bool same_rest(struct fixture *f, const struct jq_result *ours, const char *expression, const char *file) {
        _cleanup_(mem_freep) char *object = jq(f, "", ".", "", file);
        _cleanup_(mem_freep) char *theirs = jq(f, "del(", expression, "\n)", file);
        const struct value *rest;

        if (!theirs || ours->verdict != JQ_PATHS)
                return !theirs && ours->verdict == JQ_FAILED;
        rest = without(f->a, parse(f->a, object), ours->paths, ours->count, 0);
        return value_equal(rest ? rest : &value_null, parse(f->a, theirs));
}

/* What is said about a difference; NULL: there is none. */
static const char *difference(struct fixture *f, const struct jq_result *ours, const char *expression, const char *file,
                              bool *ret_plain) {
        _cleanup_(mem_freep) char *theirs = jq(f, "[path(", expression, "\n)]", file);
        _cleanup_(mem_freep) char *text = paths_text(ours);

        *ret_plain = true;
        if (!theirs)
                return ours->verdict == JQ_FAILED || ours->verdict == JQ_INVALID ? NULL : "jq calls it an error";
        *ret_plain = is_plain(parse(f->a, theirs));
        if (!*ret_plain)
                return same_rest(f, ours, expression, file) ? NULL : "something else is left than jq leaves";
        if (ours->verdict != JQ_PATHS)
                return same_rest(f, ours, expression, file) ? NULL : "jq calls it no error";
        return value_equal(parse(f->a, text), parse(f->a, theirs)) ? NULL : "other paths than jq's";
}

/* ---- the cases ---- */

static size_t read_expressions(char *text, const char **expressions, size_t max) {
        struct str rest = str_from(text), line;
        size_t count = 0;

        while (str_next(&rest, '\n', &line)) {
                if (line.n == 0 || str_starts(line, STR("# ")))
                        continue;
                assert_true(count < max);
                text[line.p + line.n - text] = '\0';
                expressions[count++] = line.p;
        }
        return count;
}

/* Prints what differs; returns how much. */
static unsigned compare_file(struct fixture *f, const char *name, size_t *ret_count) {
        const char *expressions[400];
        char jq_path[512], json_path[512];
        unsigned failures = 0, refused = 0, plain = 0;
        bool is_plain_case;
        _cleanup_(answers_freep) struct answers *to = answers_new(f->l);

        snprintf(jq_path, sizeof jq_path, CASES "/%s.jq", name);
        snprintf(json_path, sizeof json_path, CASES "/%s.json", name);
        _cleanup_(mem_freep) char *text = read_file(jq_path);
        _cleanup_(mem_freep) char *object = read_file(json_path);
        size_t count = read_expressions(text, expressions, ARRAY_LEN(expressions));

        ask_all(f->engine, to, object, expressions, count);
        for (size_t i = 0; i < count; i++) {
                const char *what = difference(f, &to->results[i], expressions[i], json_path, &is_plain_case);
                _cleanup_(mem_freep) char *ours = paths_text(&to->results[i]);

                refused += to->results[i].verdict != JQ_PATHS;
                plain += to->results[i].verdict == JQ_PATHS && is_plain_case;
                failures += what != NULL;
                if (what)
                        print_error("%s: %s: %s: %s %s\n", name, expressions[i], what, ours, to->msgs[i]);
                else if (to->msgs[i][0])
                        print_message("%s  %s\n", expressions[i], to->msgs[i]);
        }
        print_message("%s: %zu expressions: %u by their paths, %u errors, the rest by what is left\n", name, count, plain,
                      refused);
        *ret_count += count;
        return failures;
}

static void the_worker_and_jq_agree(void **state) {
        struct fixture *f = *state;
        DIR *dir = opendir(CASES);
        const struct dirent *d;
        unsigned failures = 0;
        size_t count = 0;

        assert_non_null(dir);
        while ((d = readdir(dir))) {
                const char *dot = strrchr(d->d_name, '.');
                char name[256];

                if (!dot || strcmp(dot, ".jq") != 0)
                        continue;
                snprintf(name, sizeof name, "%.*s", (int)(dot - d->d_name), d->d_name);
                failures += compare_file(f, name, &count);
        }
        closedir(dir);
        assert_int_equal(failures, 0);
        assert_true(count >= 80);
}

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->l = loop_new(1, 1, NULL);
        f->engine = jq_worker_new(f->l, &(struct jq_worker_spec){ 0 });
        f->a = arena_new(0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        jq_engine_free(f->engine);
        loop_free(f->l);
        arena_free(f->a);
        free(f);
        return 0;
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_worker_and_jq_agree, setup, teardown),
        };

        /* The worker of this test is this program. */
        if (argc == 2 && strcmp(argv[1], JQ_WORKER_VERB) == 0)
                return jq_worker_main();
        return cmocka_run_group_tests_name("jq_oracle", tests, NULL, NULL);
}
