/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/judge.h"

#include <time.h>

#include "base/json.h"
#include "base/map.h"
#include "diff/mask.h"

#define FIRST_ROOM 4

struct judge_slot {
        struct judge_ticket *ticket; /* NULL: it was withdrawn */
        struct judge_input input;
        struct judgement answer;
        bool was_judged;
};

/* What a pool thread works on; it outlives the judge when that is freed meanwhile. */
struct job {
        struct judge *judge; /* NULL: nobody wants to know any more */
        struct health_rules *rules;
        int64_t now_ms, began_ms, took_us;
        struct arena *arena;
        struct judge_slot slots[JUDGE_MAX_OBJECTS];
        size_t count;
};

struct judge {
        struct loop *loop;
        struct health_rules *rules;
        struct judge_hooks hooks;
        void *ctx;
        struct loop_timer *begin; /* the next job begins in a later turn */
        struct judge_ticket *first, *last;
        struct job *job;          /* under way */
        size_t room;              /* objects of the next one */
        size_t busy;              /* those who write */
        struct map *told;         /* name of a rule → what was told of it last */
        struct judge_stats stats;
};

static void begin_later(struct judge *j) {
        if (j->first && !j->job && !loop_timer_is_running(j->begin))
                loop_timer_start(j->begin, j->busy ? JUDGE_BUSY_MS : 0);
}

void judge_busy(struct judge *j, bool busy) {
        j->busy += busy ? 1 : (size_t)-1;
        if (j->busy)
                return;
        loop_timer_stop(j->begin);
        begin_later(j);
}

bool judge_has_rule(const struct judge *j, struct str group, struct str kind) {
        struct health_rule_view view;

        return health_rules_find(j->rules, group, kind, &view);
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

static void take_out(struct judge *j, struct judge_ticket *t) {
        if (!t->waits)
                return;
        *(t->prev ? &t->prev->next : &j->first) = t->next;
        *(t->next ? &t->next->prev : &j->last) = t->prev;
        t->next = t->prev = NULL;
        t->waits = false;
}

void judge_hand_in(struct judge *j, struct judge_ticket *t) {
        if (t->waits)
                return;
        t->waits = true;
        t->prev = j->last;
        *(j->last ? &j->last->next : &j->first) = t;
        j->last = t;
        begin_later(j);
}

void judge_withdraw(struct judge *j, struct judge_ticket *t) {
        if (j)
                take_out(j, t);
        if (t->slot)
                t->slot->ticket = NULL;
        t->slot = NULL;
}

bool judge_has(const struct judge_ticket *t) {
        return t->waits || t->slot;
}

/* --- on a pool thread --------------------------------------------------------------------------------------------- */

static void judge_one(struct job *job, struct judge_slot *slot) {
        _cleanup_(arena_freep) struct arena *a = arena_new(slot->input.text.n * 4);
        struct health_question q = { .now_ms = job->now_ms, .guard = true, .applied_ms = slot->input.applied_ms };
        struct health *h = &slot->answer.health;

        slot->was_judged = true;
        if (json_parse(slot->input.text, a, &q.object, NULL) < 0 ||
            (slot->input.class.n && json_parse(slot->input.class, a, &q.storage_class, NULL) < 0))
                abort(); /* the texts are of our own making */
        q.object = mask_if_secret(q.object, a); /* what a rule says is shown */
        slot->answer.publishes_generation = health_publishes_generation(q.object);
        health_judge(job->rules, &q, a, h);
        h->message = arena_str(job->arena, h->message);
}

static int64_t now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* A script that took all its time is the last one of its job: others wait for the thread. */
static void run(void *ctx) {
        struct job *job = ctx;
        int64_t began_us = now_us();

        for (size_t i = 0; i < job->count; i++) {
                judge_one(job, &job->slots[i]);
                if (job->slots[i].answer.health.failure == ERR_TIMEOUT)
                        break;
        }
        job->took_us = now_us() - began_us;
}

/* --- the jobs ----------------------------------------------------------------------------------------------------- */

static void job_free(struct job *job) {
        health_rules_unref(job->rules);
        arena_free(job->arena);
        free(job);
}

static void count_failure(struct judge *j, const struct health *h) {
        bool late = h->failure == ERR_TIMEOUT, large = h->failure == ERR_LIMIT;

        j->stats.failures[late ? JUDGE_TIMEOUT : large ? JUDGE_MEMORY : JUDGE_ERROR]++;
}

/* What is wrong with a script is told once, whatever objects it is wrong with. */
static void tell_failure(struct judge *j, struct judge_ticket *t, const struct health *h) {
        struct str rule = str_from(h->rule);

        count_failure(j, h);
        if (!rule.n || map_find(j->told, rule))
                return;
        map_set(j->told, rule, j);
        j->hooks.failed(j->ctx, t, h->rule, h->message);
}

static void answer(struct judge *j, struct judge_slot *slot) {
        struct judge_ticket *t = slot->ticket;

        if (!t)
                return;
        t->slot = NULL;
        if (!slot->was_judged) {
                judge_hand_in(j, t);
                return;
        }
        j->stats.evaluations++;
        if (slot->answer.health.failure)
                tell_failure(j, t, &slot->answer.health);
        j->hooks.judged(t, &slot->answer);
}

/* What takes long, for whatever reason, is done in small pieces: others want the thread, too. */
static void adapt(struct judge *j, int64_t took_ms) {
        if (took_ms > JUDGE_SLOW_MS)
                j->room = j->room > 1 ? j->room / 2 : 1;
        else if (j->room < JUDGE_MAX_OBJECTS)
                j->room *= 2;
}

static void done(void *ctx, bool cancelled) {
        struct job *job = ctx;
        struct judge *j = job->judge;

        (void)cancelled;
        if (j) {
                j->job = NULL;
                j->stats.took_us += job->took_us;
                adapt(j, loop_now_ms(j->loop) - job->began_ms);
                for (size_t i = 0; i < job->count; i++)
                        answer(j, &job->slots[i]);
                begin_later(j);
        }
        job_free(job);
}

static struct job *fill(struct judge *j) {
        struct job *job = mem_zalloc(sizeof *job);
        size_t bytes = 0;

        *job = (struct job){ .judge = j, .rules = health_rules_ref(j->rules), .arena = arena_new(0),
                             .now_ms = loop_wall_ms(j->loop), .began_ms = loop_now_ms(j->loop) };
        while (j->first && job->count < j->room && bytes < JUDGE_MAX_BYTES) {
                struct judge_ticket *t = j->first;
                struct judge_slot *slot = &job->slots[job->count];
                struct judge_input input;

                take_out(j, t);
                input = j->hooks.input(t);
                if (!input.text.n)
                        continue;
                bytes += input.text.n;
                input.text = arena_str(job->arena, input.text);
                input.class = arena_str(job->arena, input.class);
                *slot = (struct judge_slot){ .ticket = t, .input = input };
                t->slot = slot;
                job->count++;
        }
        return job;
}

static void begin(void *ctx) {
        struct judge *j = ctx;
        struct job *job;

        if (j->job || !j->first)
                return;
        job = fill(j);
        if (!job->count) {
                job_free(job);
                return;
        }
        j->job = job;
        loop_work_start(j->loop, LOOP_POOL_CPU, run, done, job);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

struct judge *judge_new(struct loop *l, struct health_rules *rules, const struct judge_hooks *hooks, void *ctx) {
        struct judge *j = mem_zalloc(sizeof *j);

        *j = (struct judge){ .loop = l, .rules = health_rules_ref(rules), .hooks = *hooks, .ctx = ctx, .room = FIRST_ROOM };
        j->begin = loop_timer_new(l, begin, j);
        j->told = map_new(NULL);
        return j;
}

void judge_free(struct judge *j) {
        if (!j)
                return;
        if (j->job)
                j->job->judge = NULL;
        loop_timer_free(j->begin);
        map_free(j->told);
        health_rules_unref(j->rules);
        free(j);
}

void judge_stats(const struct judge *j, struct judge_stats *ret_stats) {
        *ret_stats = j->stats;
}
