/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jq.h"

#include "agent/jq_impl.h"
#include "base/limits.h"

/* ---- what both engines are made of ---- */

void jq_engine_init(struct jq_engine *e, const struct jq_engine_ops *ops, struct loop *l) {
        *e = (struct jq_engine){ .ops = ops, .loop = l };
        e->last_waiting = &e->waiting;
}

void jq_engine_done(struct jq_engine *e) {
        struct jq_eval *eval;

        while ((eval = jq_engine_next(e)))
                jq_eval_free(eval);
}

void jq_engine_free(struct jq_engine *e) {
        if (e)
                e->ops->free(e);
}

void jq_engine_keep(struct jq_engine *e, const struct jq_rule *rules, size_t count) {
        e->ops->keep(e, rules, count);
}

void jq_engine_stats(const struct jq_engine *e, struct jq_stats *ret) {
        *ret = (struct jq_stats){ 0 };
        e->ops->stats(e, ret);
}

bool jq_rules_have(const struct jq_rule *rules, size_t count, struct str text) {
        for (size_t i = 0; i < count; i++)
                if (str_eq(rules[i].text, text))
                        return true;
        return false;
}

/* ---- questions ---- */

static struct jq_eval *eval_new(struct jq_engine *e, const struct jq_question *q) {
        struct arena *a = arena_new(0);
        struct jq_eval *eval = arena_zalloc(a, sizeof *eval);

        *eval = (struct jq_eval){
                .engine = e,
                .arena = a,
                .object = q->object.n > KUBE_MAX_OBJECT_BYTES ? STR("") : arena_str(a, q->object),
                .is_secret = q->is_secret,
                .rules = arena_zalloc(a, q->count * sizeof *eval->rules),
                .known = arena_zalloc(a, q->count * sizeof(*eval->known)),
                .results = arena_zalloc(a, q->count * sizeof *eval->results),
                .count = q->count,
        };
        for (size_t i = 0; i < q->count; i++)
                eval->rules[i] = (struct jq_rule){ arena_str(a, q->rules[i].text), arena_str(a, q->rules[i].place) };
        return eval;
}

struct jq_eval *jq_engine_eval(struct jq_engine *e, const struct jq_question *q, jq_done_fn done, void *ctx) {
        struct jq_eval *eval = eval_new(e, q);

        eval->done = done;
        eval->ctx = ctx;
        if (q->object.n > KUBE_MAX_OBJECT_BYTES)
                jq_eval_refuse_rest(eval, JQ_FAILED, ERR_LIMIT, "the object is too large");
        *e->last_waiting = eval;
        e->last_waiting = &eval->next;
        e->ops->wake(e);
        return eval;
}

struct jq_eval *jq_engine_next(struct jq_engine *e) {
        struct jq_eval *eval = e->waiting;

        if (!eval)
                return NULL;
        e->waiting = eval->next;
        if (!e->waiting)
                e->last_waiting = &e->waiting;
        eval->next = NULL;
        return eval;
}

void jq_eval_free(struct jq_eval *eval) {
        if (eval)
                arena_free(eval->arena);
}

void jq_eval_tell(struct jq_eval *eval) {
        if (!eval->is_cancelled) {
                eval->is_cancelled = true;
                eval->done(eval->ctx, eval->results, eval->count);
        }
        jq_eval_free(eval);
}

/* Whatever is done about it already, nobody hears of it. */
void jq_eval_cancel(struct jq_eval *eval) {
        if (eval)
                eval->is_cancelled = true;
}

/* ---- results ---- */

void jq_eval_refuse(struct jq_eval *eval, size_t rule, enum jq_verdict verdict, enum err_code code, const char *why) {
        struct err *err = arena_zalloc(eval->arena, sizeof *err);

        err_set(err, code, "%.*s: %s", STR_FMT(eval->rules[rule].place), why);
        eval->results[rule] = (struct jq_result){ .verdict = verdict, .err = err };
}

void jq_eval_refuse_rest(struct jq_eval *eval, enum jq_verdict verdict, enum err_code code, const char *why) {
        for (size_t i = 0; i < eval->count; i++)
                if (eval->results[i].verdict == JQ_PENDING)
                        jq_eval_refuse(eval, i, verdict, code, why);
}

void jq_eval_failed(struct jq_eval *eval, size_t rule, const struct err *failure) {
        bool may_quote = failure->code != ERR_LIMIT;

        jq_eval_refuse(eval, rule, JQ_FAILED, failure->code,
                       eval->is_secret && may_quote ? "this jq expression fails on the object" : failure->msg);
}

int jq_eval_paths(struct jq_eval *eval, size_t rule, struct str json, struct err *err) {
        struct jq_result result = { .verdict = JQ_PATHS };
        int r = jq_paths_read(json, eval->arena, &result.paths, &result.count, err);

        if (r == 0)
                eval->results[rule] = result;
        return r;
}
