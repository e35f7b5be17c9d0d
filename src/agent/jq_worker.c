/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine on a child: what is asked of it, what it must answer, and what becomes of the two when it dies.
 *
 * One question at a time is with the child, with all its rules at once. `expected` is what the child has still to
 * answer, in order; its head is what the child works at, so it is the one to blame when the child dies. Then a new child
 * gets the rest of the question, beginning with the culprit unless that is convicted.
 */
#include "agent/jq_impl.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "sync/backoff.h"

/* A child whose answers tell that it has used up this much is replaced when it is idle; the limit only bites a liar. */
#define LIFE_CPU_S       120
#define LIFE_CPU_WORN_MS (60 * 1000)
/* So many deaths in a row without an evaluation in between cost no wait. */
#define FREE_DEATHS 3
/* Conviction: what is beyond doubt counts in full. */
#define CONVICTED 3

static_assert(KUBE_MAX_OBJECT_BYTES + JQ_MAX_PROGRAMS * (JQ_MAX_PROGRAM_BYTES + 64) < CHILD_MAX_UNSENT_BYTES,
              "one question must fit into what may wait for a child");

/* What is known about a text. */
struct jq_known {
        char *text;
        uint32_t slot;
        uint64_t life;     /* in which it has the slot */
        bool is_compiled;  /* in that life */
        unsigned strikes;
        enum jq_verdict refusal; /* JQ_PENDING: none */
        enum err_code code;
        char *why;
};

struct expected {
        uint32_t kind;       /* of the frame that it answers; READY: the child's first word */
        struct jq_known *k;  /* NULL: of no program */
        size_t rule;         /* of an EVAL */
};

struct worker {
        struct jq_engine base;
        struct jq_worker_spec spec;
        struct map *known; /* text → struct jq_known */

        struct loop_child *child; /* NULL: none */
        uint64_t life;            /* counts children */
        uint32_t slots;           /* given in this life */
        uint64_t life_evals;
        uint32_t cpu_ms;
        bool is_stale; /* holds programs that were forgotten */
        struct buf heard;
        struct expected *expected;
        size_t expected_count, expected_cap, expected_at;
        unsigned deaths;       /* since the last evaluation */
        int64_t not_before_ms; /* … which is why no child is started before */

        struct jq_eval *now;
        struct jq_eval *finished, **last_finished;

        struct loop_timer *kick, *again, *wall, *idle;
        struct jq_stats stats;
};

static struct worker *of(struct jq_engine *e) {
        return CONTAINER_OF(e, struct worker, base);
}

/* ---- what is known about a text ---- */

static void known_free(void *ctx) {
        struct jq_known *k = ctx;

        free(k->text);
        free(k->why);
        free(k);
}

/* NULL: there are too many. */
static struct jq_known *know(struct worker *w, struct str text) {
        struct jq_known *k = map_find(w->known, text);

        if (k || map_count(w->known) >= JQ_MAX_PROGRAMS)
                return k;
        k = mem_zalloc(sizeof *k);
        k->text = str_dup(text);
        map_set(w->known, text, k);
        return k;
}

static void refuse_from_now_on(struct jq_known *k, enum jq_verdict verdict, enum err_code code, const char *why) {
        free(k->why);
        k->refusal = verdict;
        k->code = code;
        k->why = str_dup(str_from(why));
}

static bool is_open(const struct jq_eval *eval, size_t rule) {
        return eval->results[rule].verdict == JQ_PENDING;
}

/* All open rules with this text get what is known about it. */
static void tell_refusal(struct jq_eval *eval, const struct jq_known *k) {
        for (size_t i = 0; i < eval->count; i++)
                if (eval->known[i] == k && is_open(eval, i))
                        jq_eval_refuse(eval, i, k->refusal, k->code, k->why);
}

static const char *place_of(const struct jq_eval *eval, const struct jq_known *k) {
        for (size_t i = 0; i < eval->count; i++)
                if (eval->known[i] == k)
                        return eval->rules[i].place.p;
        return "";
}

/* ---- the child ---- */

static void go_on(struct worker *w) {
        if (!loop_timer_is_running(w->kick))
                loop_timer_start(w->kick, 0);
}

static void forget_child(struct worker *w) {
        w->child = NULL;
        w->life_evals = 0;
        w->slots = 0;
        w->cpu_ms = 0;
        w->is_stale = false;
        w->expected_count = w->expected_at = 0;
        buf_done(&w->heard);
        loop_timer_stop(w->wall);
        loop_timer_stop(w->idle);
}

static void end_child(struct worker *w) {
        loop_child_cancel(w->child);
        forget_child(w);
}

static void expect(struct worker *w, uint32_t kind, struct jq_known *k, size_t rule) {
        w->expected = mem_grow(w->expected, &w->expected_cap, w->expected_count + 1, sizeof *w->expected);
        w->expected[w->expected_count++] = (struct expected){ .kind = kind, .k = k, .rule = rule };
}

static bool is_waiting(const struct worker *w) {
        return w->expected_at < w->expected_count;
}

static void say(struct worker *w, uint32_t kind, uint32_t slot, struct str payload) {
        const struct jq_frame f = { .kind = kind, .slot = slot, .bytes = (uint32_t)payload.n };

        /* Cannot fail: see the assertion above. */
        loop_child_write(w->child, (struct str){ (const char *)&f, sizeof f }, NULL);
        loop_child_write(w->child, payload, NULL);
}

static void on_heard(void *ctx, struct str bytes);
static void on_end(void *ctx, const struct loop_child_result *result, const struct err *err);

/* The sanitizers map terabytes for their own use. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAX_ADDRESS_SPACE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MAX_ADDRESS_SPACE 0
#endif
#endif
#ifndef MAX_ADDRESS_SPACE
#define MAX_ADDRESS_SPACE JQ_MAX_MEMORY_BYTES
#endif

static int start_child(struct worker *w, struct err *err) {
        const struct loop_child_spec spec = {
                .argv = w->spec.argv,
                .heard = on_heard,
                .rlimit_as_bytes = MAX_ADDRESS_SPACE,
                .rlimit_cpu_s = LIFE_CPU_S,
        };

        w->child = loop_child_start(w->base.loop, &spec, on_end, w, err);
        if (!w->child)
                return err ? err->code : ERR_INTERNAL;
        w->life++;
        w->stats.starts++;
        w->heard = buf_make(JQ_MAX_PATHS_BYTES + 2 * sizeof(struct jq_frame) + 64 * KIB);
        expect(w, JQ_FRAME_READY, NULL, 0);
        return 0;
}

/* ---- asking ---- */

/* A check of a program that this child has compiled already, or a text that is refused, needs no child. */
static void answer_known(struct worker *w, struct jq_eval *eval) {
        for (size_t i = 0; i < eval->count; i++) {
                struct jq_known *k = eval->known[i];

                if (!is_open(eval, i))
                        continue;
                if (k->refusal != JQ_PENDING)
                        jq_eval_refuse(eval, i, k->refusal, k->code, k->why);
                else if (eval->object.n == 0 && k->is_compiled && k->life == w->life)
                        eval->results[i].verdict = JQ_PATHS;
        }
}

static bool has_open(const struct jq_eval *eval) {
        for (size_t i = 0; i < eval->count; i++)
                if (is_open(eval, i))
                        return true;
        return false;
}

static void ask_rule(struct worker *w, struct jq_eval *eval, size_t rule) {
        struct jq_known *k = eval->known[rule];

        if (k->life != w->life) {
                k->life = w->life;
                k->is_compiled = false;
                k->slot = w->slots++;
                say(w, JQ_FRAME_PROGRAM, k->slot, str_from(k->text));
                expect(w, JQ_FRAME_PROGRAM, k, 0);
        }
        if (eval->object.n > 0) {
                say(w, JQ_FRAME_EVAL, k->slot, STR(""));
                expect(w, JQ_FRAME_EVAL, k, rule);
        }
}

static void finish(struct worker *w) {
        struct jq_eval *eval = TAKE_PTR(w->now);

        *w->last_finished = eval;
        w->last_finished = &eval->next;
        go_on(w);
}

/* After deaths in a row, and where none can be started, the next child waits. */
static void count_death(struct worker *w) {
        static const struct backoff pause = { .first_ms = 100, .factor = 2, .max_ms = 30 * 1000 };

        w->deaths++;
        if (w->deaths > FREE_DEATHS)
                w->not_before_ms = loop_now_ms(w->base.loop) + backoff_ms(&pause, w->deaths - FREE_DEATHS);
}

/* False: there is none now; either `again` will look, or it was told. */
static bool have_child(struct worker *w) {
        int64_t pause_ms = w->not_before_ms - loop_now_ms(w->base.loop);
        struct err err;

        if (w->child)
                return true;
        if (pause_ms > 0) {
                loop_timer_start(w->again, pause_ms);
                return false;
        }
        if (start_child(w, &err) == 0)
                return true;
        count_death(w);
        log_event_limited(LOG_ERROR, "jq", "the worker does not start", "err", err.msg, NULL);
        err_wrap(&err, err.code, "there is no jq worker");
        jq_eval_refuse_rest(w->now, JQ_UNAVAILABLE, ERR_UNREACHABLE, err.msg);
        finish(w);
        return false;
}

/* Asks what is open in `now`; the child, if there is one, has answered all before. */
static void ask(struct worker *w) {
        struct jq_eval *eval = w->now;

        answer_known(w, eval);
        if (!has_open(eval) || eval->is_cancelled) {
                finish(w);
                return;
        }
        if (!have_child(w))
                return;
        loop_timer_start(w->wall, w->spec.wall_ms);
        if (eval->object.n > 0) {
                say(w, JQ_FRAME_OBJECT, 0, eval->object);
                expect(w, JQ_FRAME_OBJECT, NULL, 0);
        }
        for (size_t i = 0; i < eval->count; i++)
                if (is_open(eval, i))
                        ask_rule(w, eval, i);
}

static void on_again(void *ctx) {
        struct worker *w = ctx;

        if (w->now && !is_waiting(w))
                ask(w);
}

static void take_up(struct worker *w, struct jq_eval *eval) {
        for (size_t i = 0; i < eval->count; i++) {
                eval->known[i] = is_open(eval, i) ? know(w, eval->rules[i].text) : NULL;
                if (is_open(eval, i) && !eval->known[i])
                        jq_eval_refuse(eval, i, JQ_INVALID, ERR_LIMIT, "there are too many jq expressions");
        }
        w->now = eval;
        ask(w);
}

/* Owners are told one a turn, last, as they may do anything; the next question is with the child by then. */
static void tell_one(struct worker *w) {
        struct jq_eval *eval = w->finished;

        if (!eval)
                return;
        w->finished = eval->next;
        if (!w->finished)
                w->last_finished = &w->finished;
        else
                go_on(w);
        jq_eval_tell(eval);
}

static void on_kick(void *ctx) {
        struct worker *w = ctx;

        if (!w->now && w->child && (w->is_stale || w->cpu_ms >= LIFE_CPU_WORN_MS))
                end_child(w);
        if (!w->now && w->base.waiting) {
                loop_timer_stop(w->idle);
                take_up(w, jq_engine_next(&w->base));
        }
        if (!w->now && !w->base.waiting && w->child)
                loop_timer_start(w->idle, w->spec.idle_ms);
        tell_one(w);
}

static void on_idle(void *ctx) {
        end_child(ctx);
}

/* ---- answers ---- */

static int take_done(struct worker *w, const struct expected *x) {
        if (x->kind != JQ_FRAME_PROGRAM)
                return 0;
        x->k->is_compiled = true;
        for (size_t i = 0; w->now->object.n == 0 && i < w->now->count; i++)
                if (w->now->known[i] == x->k && is_open(w->now, i))
                        w->now->results[i].verdict = JQ_PATHS;
        return 0;
}

static int take_failure(struct worker *w, const struct expected *x, struct str payload, struct err *err) {
        struct err failure;
        int r = jq_failure_read(payload, &failure, err);

        if (r < 0)
                return r;
        if (x->kind == JQ_FRAME_PROGRAM) {
                refuse_from_now_on(x->k, JQ_INVALID, failure.code, failure.msg);
                tell_refusal(w->now, x->k);
        } else if (is_open(w->now, x->rule)) {
                jq_eval_failed(w->now, x->rule, &failure);
        }
        return 0;
}

/* Does this kind of answer belong to what was asked? */
static bool fits(const struct expected *x, const struct jq_frame *f) {
        switch (f->kind) {
        case JQ_FRAME_READY:
                return x->kind == JQ_FRAME_READY && f->bytes == 0;
        case JQ_FRAME_DONE:
                return (x->kind == JQ_FRAME_PROGRAM || x->kind == JQ_FRAME_OBJECT) && f->bytes == 0;
        case JQ_FRAME_PATHS:
                return x->kind == JQ_FRAME_EVAL;
        case JQ_FRAME_FAILED:
                return x->kind == JQ_FRAME_PROGRAM || x->kind == JQ_FRAME_EVAL;
        default:
                return false;
        }
}

static bool is_of_program(const struct expected *x) {
        return x->kind == JQ_FRAME_PROGRAM || x->kind == JQ_FRAME_EVAL;
}

static int take_answer(struct worker *w, const struct jq_frame *f, struct str payload, struct err *err) {
        struct expected x;
        int r = 0;

        if (!is_waiting(w))
                return err_set(err, ERR_PARSE, "an answer that nobody asked for");
        x = w->expected[w->expected_at];
        if (!fits(&x, f) || (x.k ? x.k->slot != f->slot : is_of_program(&x)))
                return err_set(err, ERR_PARSE, "an answer to something else");

        if (f->kind == JQ_FRAME_DONE)
                r = take_done(w, &x);
        else if (f->kind == JQ_FRAME_FAILED)
                r = take_failure(w, &x, payload, err);
        else if (f->kind == JQ_FRAME_PATHS && !is_open(w->now, x.rule))
                r = err_set(err, ERR_PARSE, "paths of a program that does not compile");
        else if (f->kind == JQ_FRAME_PATHS)
                r = jq_eval_paths(w->now, x.rule, payload, err);
        if (r < 0)
                return r;
        if (x.kind == JQ_FRAME_EVAL && x.k->refusal == JQ_PENDING) {
                w->stats.evaluations++;
                w->life_evals++;
                w->deaths = 0;
        }
        w->cpu_ms = f->cpu_ms;
        w->expected_at++;
        return 0;
}

static void all_is_answered(struct worker *w) {
        w->expected_count = w->expected_at = 0;
        loop_timer_stop(w->wall);
        finish(w);
}

/* ---- deaths ---- */

/* How a child ended, and what that says about what it worked at. */
struct death {
        int status;      /* of its exit; 0: see `death_of` */
        unsigned weight; /* against the program; CONVICTED: proof */
        bool is_certain; /* … also when it was not the first in this child */
        enum err_code code;
        const char *words;
};

static const struct death deaths[] = {
        { 128 + SIGPROF, CONVICTED, true, ERR_TIMEOUT, "it takes more than 1 s of processor time" },
        { 128 + SIGXCPU, CONVICTED, false, ERR_TIMEOUT, "it takes more than 1 s of processor time" },
        { JQ_EXIT_MEMORY, CONVICTED, false, ERR_LIMIT, "it takes more than 256 MiB of memory" },
        { 128 + SIGKILL, 1, false, ERR_UNREACHABLE, "the jq worker was killed" },
        { 128 + SIGTERM, 1, false, ERR_UNREACHABLE, "the jq worker was killed" },
};
static const struct death crash = { 0, CONVICTED, false, ERR_LIMIT, "jq crashes on it" };
static const struct death nonsense = { 0, CONVICTED, false, ERR_LIMIT, "the jq worker's answer was no answer" };
static const struct death silence = { 0, 1, true, ERR_TIMEOUT, "the jq worker did not answer in time" };

static_assert(JQ_RULE_CPU_MS == 1000 && JQ_MAX_MEMORY_BYTES / MIB == 256, "the words above name them");

static const struct death *death_of(int status) {
        for (size_t i = 0; i < ARRAY_LEN(deaths); i++)
                if (deaths[i].status == status)
                        return &deaths[i];
        return &crash;
}

static void convict(struct worker *w, struct jq_known *k, const struct death *d) {
        char why[256];

        snprintf(why, sizeof why, "this jq expression is not evaluated any more until it changes: %s", d->words);
        refuse_from_now_on(k, JQ_QUARANTINED, d->code, why);
        w->stats.quarantined++;
        log_event(LOG_WARN, "jq", "a rule is not evaluated any more until it changes", "rule", place_of(w->now, k),
                  "why", d->words, NULL);
}

static void blame_program(struct worker *w, struct jq_known *k, const struct death *d) {
        k->strikes += d->weight;
        if (k->strikes >= CONVICTED) {
                convict(w, k, d);
                tell_refusal(w->now, k);
                return;
        }
        for (size_t i = 0; i < w->now->count; i++)
                if (w->now->known[i] == k && is_open(w->now, i))
                        jq_eval_refuse(w->now, i, JQ_UNAVAILABLE, d->code, d->words);
}

/* What is not blamed stays open, and is asked again. */
static void blame(struct worker *w, const struct expected *x, const struct death *d, bool is_fresh) {
        if (!is_fresh && !d->is_certain)
                return;
        if (x->kind == JQ_FRAME_READY)
                jq_eval_refuse_rest(w->now, JQ_UNAVAILABLE, ERR_UNREACHABLE, "the jq worker does not start");
        else if (x->k)
                blame_program(w, x->k, d);
        else
                jq_eval_refuse_rest(w->now, JQ_FAILED, d->code, "the jq worker does not survive the object");
}

/* `status`: of its exit, as text. */
static void on_death(struct worker *w, const struct death *d, const char *status) {
        bool was_working = is_waiting(w), is_fresh = w->life_evals == 0;
        struct expected x = { 0 };

        if (was_working)
                x = w->expected[w->expected_at];
        forget_child(w);
        w->stats.deaths++;
        count_death(w);
        if (!was_working)
                return;
        log_event_limited(LOG_WARN, "jq", "the worker ended", "why",
                          x.kind == JQ_FRAME_READY ? "it did not start" : d->words, "status", status, NULL);
        blame(w, &x, d, is_fresh);
        ask(w);
}

static void on_end(void *ctx, const struct loop_child_result *result, const struct err *err) {
        char status[16];

        (void)err; /* it has no deadline and no cap there */
        snprintf(status, sizeof status, "%d", result->exit_code);
        on_death(ctx, death_of(result->exit_code), status);
}

static void kill_for(struct worker *w, const struct death *d) {
        loop_child_cancel(TAKE_PTR(w->child));
        on_death(w, d, "ended by us");
}

static void on_wall(void *ctx) {
        kill_for(ctx, &silence);
}

static void on_heard(void *ctx, struct str bytes) {
        struct worker *w = ctx;
        struct jq_frame f;
        struct str payload;
        struct err err;
        size_t at = 0, before = w->expected_at;
        int r;

        buf_add(&w->heard, bytes);
        while ((r = jq_frame_next(buf_str(&w->heard), &at, &f, &payload, &err)) > 0) {
                r = take_answer(w, &f, payload, &err);
                if (r < 0)
                        break;
        }
        if (r < 0 || w->heard.overflow) {
                kill_for(w, &nonsense);
                return;
        }
        buf_consume(&w->heard, at);
        if (w->heard.n == 0)
                buf_done(&w->heard);
        if (!is_waiting(w))
                all_is_answered(w);
        else if (w->expected_at > before)
                loop_timer_start(w->wall, w->spec.wall_ms);
}

/* ---- the engine ---- */

static void wake(struct jq_engine *base) {
        struct worker *w = of(base);

        if (!w->now)
                go_on(w);
}

static bool is_with_child(const struct worker *w, const struct jq_known *k) {
        for (size_t i = 0; w->now && i < w->now->count; i++)
                if (w->now->known[i] == k)
                        return true;
        return false;
}

static void keep(struct jq_engine *base, const struct jq_rule *rules, size_t count) {
        struct worker *w = of(base);
        struct str text;
        void *value;

        for (size_t at = 0; map_next(w->known, &at, &text, &value);) {
                struct jq_known *k = value;

                if (jq_rules_have(rules, count, text) || is_with_child(w, k))
                        continue;
                w->is_stale |= w->child && k->life == w->life;
                w->stats.quarantined -= k->refusal == JQ_QUARANTINED;
                map_remove(w->known, text);
        }
}

static void stats(const struct jq_engine *base, struct jq_stats *ret) {
        const struct worker *w = CONTAINER_OF(base, struct worker, base);

        *ret = w->stats;
        ret->programs = (unsigned)map_count(w->known);
}

static void worker_free(struct jq_engine *base) {
        struct worker *w = of(base);

        end_child(w);
        jq_engine_done(base);
        jq_eval_free(w->now);
        while (w->finished) {
                struct jq_eval *eval = w->finished;

                w->finished = eval->next;
                jq_eval_free(eval);
        }
        loop_timer_free(w->kick);
        loop_timer_free(w->again);
        loop_timer_free(w->wall);
        loop_timer_free(w->idle);
        free(w->expected);
        map_free(w->known);
        free(w);
}

static const struct jq_engine_ops ops = { .wake = wake, .keep = keep, .stats = stats, .free = worker_free };

struct jq_engine *jq_worker_new(struct loop *l, const struct jq_worker_spec *spec) {
        static const char *const ourselves[] = { "/proc/self/exe", JQ_WORKER_VERB, NULL };
        struct worker *w = mem_zalloc(sizeof *w);

        jq_engine_init(&w->base, &ops, l);
        w->spec = (struct jq_worker_spec){
                .argv = spec->argv ? spec->argv : ourselves,
                .wall_ms = spec->wall_ms ? spec->wall_ms : JQ_RULE_WALL_MS,
                .idle_ms = spec->idle_ms ? spec->idle_ms : JQ_IDLE_MS,
        };
        w->known = map_new(known_free);
        w->heard = buf_make(0);
        w->last_finished = &w->finished;
        w->kick = loop_timer_new(l, on_kick, w);
        w->again = loop_timer_new(l, on_again, w);
        w->wall = loop_timer_new(l, on_wall, w);
        w->idle = loop_timer_new(l, on_idle, w);
        return &w->base;
}

/* ---- a check that waits ---- */

struct check {
        struct loop *l;
        jq_done_fn done;
        void *ctx;
};

static void on_checked(void *ctx, const struct jq_result *results, size_t count) {
        const struct check *c = ctx;

        c->done(c->ctx, results, count);
        loop_stop(c->l);
}

int jq_check(const struct jq_worker_spec *spec, const struct jq_rule *rules, size_t count, jq_done_fn done, void *ctx,
             struct err *err) {
        const struct jq_question q = { .rules = rules, .count = count };
        _cleanup_(loop_freep) struct loop *l = loop_new(1, 1, err);
        struct check c = { .l = l, .done = done, .ctx = ctx };

        if (!l)
                return err ? err->code : ERR_INTERNAL;
        /* Freed before the loop is: it has timers there. */
        struct jq_engine *e = jq_worker_new(l, spec);
        jq_engine_eval(e, &q, on_checked, &c);
        loop_run(l);
        jq_engine_free(e);
        return 0;
}
