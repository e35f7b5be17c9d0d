/* SPDX-License-Identifier: Apache-2.0 */
/* One question to an engine, the loop run until it is answered, and the answers kept. */
#ifndef TRUCE_TESTS_JQ_TEST_H
#define TRUCE_TESTS_JQ_TEST_H

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "agent/jq.h"
#include "base/value.h"

#define JQ_TEST_PATIENCE_MS (600 * INT64_C(1000))

struct answers {
        struct loop *l;
        struct jq_result results[400];
        char msgs[400][ERR_MSG_MAX_BYTES];
        enum err_code codes[400];
        size_t count;
        unsigned calls;
        struct arena *arena;
};

static inline const struct jq_path *keep_paths(struct arena *a, const struct jq_result *r) {
        struct jq_path *paths = arena_alloc(a, r->count * sizeof *paths);

        for (size_t i = 0; i < r->count; i++) {
                struct jq_step *steps = arena_alloc(a, r->paths[i].count * sizeof *steps);

                for (size_t k = 0; k < r->paths[i].count; k++) {
                        steps[k] = r->paths[i].steps[k];
                        steps[k].key = arena_str(a, steps[k].key);
                }
                paths[i] = (struct jq_path){ steps, r->paths[i].count };
        }
        return paths;
}

static inline void on_answers(void *ctx, const struct jq_result *results, size_t count) {
        struct answers *to = ctx;

        assert_true(count <= ARRAY_LEN(to->results));
        to->calls++;
        to->count = count;
        for (size_t i = 0; i < count; i++) {
                to->results[i] = results[i];
                to->results[i].paths = results[i].verdict == JQ_PATHS ? keep_paths(to->arena, &results[i]) : NULL;
                assert_int_equal(results[i].err != NULL, results[i].verdict != JQ_PATHS);
                to->results[i].err = NULL; /* it is borrowed */
                to->codes[i] = results[i].err ? results[i].err->code : ERR_OK;
                snprintf(to->msgs[i], sizeof to->msgs[i], "%s", results[i].err ? results[i].err->msg : "");
        }
        loop_stop(to->l);
}

static inline struct answers *answers_new(struct loop *l) {
        struct answers *to = mem_zalloc(sizeof *to);

        to->l = l;
        to->arena = arena_new(0);
        return to;
}

static inline void answers_free(struct answers *to) {
        arena_free(to->arena);
        free(to);
}
DEFINE_CLEANUP(struct answers *, answers_free)

/* The texts become rules at rules:1, rules:2 … */
static inline struct jq_eval *question(struct jq_engine *e, struct answers *to, const char *object,
                                       const char *const *texts, size_t count) {
        struct jq_rule *rules = mem_zalloc(count * sizeof *rules + 1);
        char(*places)[32] = mem_zalloc(count * sizeof *places + 1);

        for (size_t i = 0; i < count; i++) {
                snprintf(places[i], sizeof places[i], "rules:%zu", i + 1);
                rules[i] = (struct jq_rule){ str_from(texts[i]), str_from(places[i]) };
        }
        const struct jq_question q = { .object = str_from(object), .rules = rules, .count = count };
        struct jq_eval *eval = jq_engine_eval(e, &q, on_answers, to);
        assert_int_equal(to->calls, 0);
        free(rules);
        free(places);
        return eval;
}

static inline void ask_all(struct jq_engine *e, struct answers *to, const char *object, const char *const *texts,
                           size_t count) {
        to->calls = 0;
        question(e, to, object, texts, count);
        loop_run_for(to->l, JQ_TEST_PATIENCE_MS);
        assert_int_equal(to->calls, 1);
        assert_int_equal(to->count, count);
}

#define ASK(engine, to, object, ...)                                                                                   \
        ask_all(engine, to, object, (const char *const[]){ __VA_ARGS__ },                                              \
                ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })))

/* As JSON, which is how jq prints them. */
static inline char *paths_text(const struct jq_result *r) {
        struct buf out = buf_make(64 * 1024 * 1024);

        buf_addch(&out, '[');
        for (size_t i = 0; i < r->count; i++) {
                buf_addc(&out, i > 0 ? ",[" : "[");
                for (size_t k = 0; k < r->paths[i].count; k++) {
                        const struct jq_step *s = &r->paths[i].steps[k];

                        if (k > 0)
                                buf_addch(&out, ',');
                        if (s->is_index)
                                buf_addf(&out, "%lld", (long long)s->index);
                        else
                                value_print_string(s->key, &out);
                }
                buf_addch(&out, ']');
        }
        buf_addch(&out, ']');
        return buf_take(&out);
}

#define EXPECT_PATHS(to, i, text)                                                                                      \
        do {                                                                                                           \
                _cleanup_(mem_freep) char *_got = NULL;                                                                \
                assert_string_equal((to)->msgs[i], "");                                                                \
                assert_int_equal((to)->results[i].verdict, JQ_PATHS);                                                  \
                _got = paths_text(&(to)->results[i]);                                                                  \
                assert_string_equal(_got, text);                                                                       \
        } while (0)

#define EXPECT_REFUSED(to, i, how, errcode, text)                                                                      \
        do {                                                                                                           \
                assert_string_equal((to)->msgs[i], text);                                                              \
                assert_int_equal((to)->results[i].verdict, how);                                                       \
                assert_int_equal((to)->codes[i], errcode);                                                             \
        } while (0)

#endif
