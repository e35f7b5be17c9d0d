/* SPDX-License-Identifier: Apache-2.0 */
/* The engine for virtual time and tests: libjq on the loop's thread, one question a turn. */
#include "agent/jq_impl.h"

#include "base/limits.h"
#include "base/map.h"

/* A program, or why there is none. */
struct jq_known {
        struct jq_program *program;
        struct err refusal;
};

struct engine {
        struct jq_engine base;
        struct loop_timer *kick;
        struct map *known; /* text → struct jq_known */
        uint64_t evaluations;
};

static void known_free(void *ctx) {
        struct jq_known *k = ctx;

        jq_program_free(k->program);
        free(k);
}

static const struct jq_known *know(struct engine *e, struct str text) {
        struct jq_known *k = map_find(e->known, text);

        if (k)
                return k;
        k = mem_zalloc(sizeof *k);
        jq_program_new(text, &k->program, &k->refusal);
        map_set(e->known, text, k);
        return k;
}

static void run_rule(struct engine *e, struct jq_eval *eval, size_t rule, const struct jq_known *k,
                     const struct jq_object *o) {
        _cleanup_(buf_done) struct buf out = buf_make(JQ_MAX_PATHS_BYTES);
        struct err err;
        int r = jq_program_run(k->program, o, &out, &err);

        e->evaluations++;
        if (r == 0)
                r = jq_eval_paths(eval, rule, buf_str(&out), &err);
        if (r < 0)
                jq_eval_failed(eval, rule, &err);
}

static void answer_rule(struct engine *e, struct jq_eval *eval, size_t rule, const struct jq_object *o) {
        const struct jq_known *k;

        if (!map_find(e->known, eval->rules[rule].text) && map_count(e->known) >= JQ_MAX_PROGRAMS) {
                jq_eval_refuse(eval, rule, JQ_INVALID, ERR_LIMIT, "there are too many jq expressions");
                return;
        }
        k = know(e, eval->rules[rule].text);
        if (!k->program)
                jq_eval_refuse(eval, rule, JQ_INVALID, k->refusal.code, k->refusal.msg);
        else if (o)
                run_rule(e, eval, rule, k, o);
        else
                eval->results[rule].verdict = JQ_PATHS;
}

static void answer(struct engine *e, struct jq_eval *eval) {
        _cleanup_(jq_object_freep) struct jq_object *o = NULL;
        struct err err;

        if (eval->object.n > 0 && jq_object_new(eval->object, &o, &err) < 0)
                jq_eval_refuse_rest(eval, JQ_FAILED, err.code, err.msg);
        for (size_t i = 0; i < eval->count; i++)
                if (eval->results[i].verdict == JQ_PENDING)
                        answer_rule(e, eval, i, o);
}

static void on_kick(void *ctx) {
        struct engine *e = ctx;
        struct jq_eval *eval = jq_engine_next(&e->base);

        if (!eval)
                return;
        if (!eval->is_cancelled)
                answer(e, eval);
        if (e->base.waiting)
                loop_timer_start(e->kick, 0);
        jq_eval_tell(eval);
}

static void wake(struct jq_engine *base) {
        struct engine *e = CONTAINER_OF(base, struct engine, base);

        if (!loop_timer_is_running(e->kick))
                loop_timer_start(e->kick, 0);
}

static void keep(struct jq_engine *base, const struct jq_rule *rules, size_t count) {
        struct engine *e = CONTAINER_OF(base, struct engine, base);
        struct str text;
        void *k;

        for (size_t at = 0; map_next(e->known, &at, &text, &k);)
                if (!jq_rules_have(rules, count, text))
                        map_remove(e->known, text);
}

static void stats(const struct jq_engine *base, struct jq_stats *ret) {
        const struct engine *e = CONTAINER_OF(base, struct engine, base);

        ret->evaluations = e->evaluations;
        ret->programs = (unsigned)map_count(e->known);
}

static void engine_free(struct jq_engine *base) {
        struct engine *e = CONTAINER_OF(base, struct engine, base);

        jq_engine_done(base);
        loop_timer_free(e->kick);
        map_free(e->known);
        free(e);
}

static const struct jq_engine_ops ops = { .wake = wake, .keep = keep, .stats = stats, .free = engine_free };

struct jq_engine *jq_in_process_new(struct loop *l) {
        struct engine *e = mem_zalloc(sizeof *e);

        jq_engine_init(&e->base, &ops, l);
        e->kick = loop_timer_new(l, on_kick, e);
        e->known = map_new(known_free);
        return &e->base;
}
