/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/judge.h"

#include <time.h>

#include "base/json.h"
#include "base/map.h"
#include "diff/mask.h"

#define FIRST_ROOM 4
/* What an object is beside its script: to be copied, read and answered. */
#define OBJECT_NS  UINT64_C(20000)
#define BYTE_NS    10
/* How fast it is forgotten that a rule was much work. */
#define FORGETTING 8

/* Those that wait for one rule. Lives as long as the judge. */
struct judge_lane {
        struct judge_ticket *first, *last;
        struct judge_lane *next; /* of those in which somebody waits */
        uint64_t had_ns;         /* the work that it was served, or was let go by */
        uint64_t object_ns;      /* what an object of it is expected to be */
};

struct judge_slot {
        struct judge_ticket *ticket; /* NULL: it was withdrawn */
        struct judge_lane *lane;
        uint64_t expected_ns, work_ns;
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
        struct map *lanes;          /* name of a rule → its lane */
        struct judge_lane *waiting; /* lanes in which somebody waits, in the order in which they began to */
        uint64_t now_ns;            /* what the lane that was served last had before */
        struct job *job;          /* under way */
        size_t room;              /* objects of the next one */
        size_t busy;              /* those who write */
        struct map *told;         /* name of a rule → what was told of it last */
        struct judge_stats stats;
};

static void begin_later(struct judge *j) {
        if (j->waiting && !j->job && !loop_timer_is_running(j->begin))
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

/* --- the lanes ---------------------------------------------------------------------------------------------------- */

static struct judge_lane *lane_of(struct judge *j, struct str group, struct str kind) {
        struct health_rule_view view = { .name = "" };
        struct judge_lane *lane;

        health_rules_find(j->rules, group, kind, &view);
        lane = map_find(j->lanes, str_from(view.name));
        if (!lane) {
                lane = mem_zalloc(sizeof *lane);
                lane->object_ns = OBJECT_NS;
                map_set(j->lanes, str_from(view.name), lane);
        }
        return lane;
}

/* Who comes to wait has nothing saved up. */
static void join(struct judge *j, struct judge_lane *lane) {
        struct judge_lane **end = &j->waiting;

        if (lane->had_ns < j->now_ns)
                lane->had_ns = j->now_ns;
        while (*end)
                end = &(*end)->next;
        *end = lane;
}

static void leave(struct judge *j, struct judge_lane *lane) {
        struct judge_lane **at = &j->waiting;

        while (*at && *at != lane)
                at = &(*at)->next;
        if (*at)
                *at = lane->next;
        lane->next = NULL;
}

static void take_out(struct judge *j, struct judge_ticket *t) {
        struct judge_lane *lane = t->lane;

        if (!t->waits)
                return;
        *(t->prev ? &t->prev->next : &lane->first) = t->next;
        *(t->next ? &t->next->prev : &lane->last) = t->prev;
        t->next = t->prev = NULL;
        t->waits = false;
        if (!lane->first)
                leave(j, lane);
}

/* `before`: the one that it goes before; NULL: it is the last. */
static void put_in(struct judge *j, struct judge_ticket *t, struct judge_ticket *before) {
        struct judge_lane *lane = t->lane;

        if (!lane->first)
                join(j, lane);
        t->waits = true;
        t->next = before;
        t->prev = before ? before->prev : lane->last;
        *(t->prev ? &t->prev->next : &lane->first) = t;
        *(t->next ? &t->next->prev : &lane->last) = t;
        begin_later(j);
}

void judge_hand_in(struct judge *j, struct judge_ticket *t, struct str group, struct str kind) {
        if (t->waits)
                return;
        if (!t->lane)
                t->lane = lane_of(j, group, kind);
        put_in(j, t, NULL);
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

        if (json_parse(slot->input.text, a, &q.object, NULL) < 0 ||
            (slot->input.class.n && json_parse(slot->input.class, a, &q.storage_class, NULL) < 0))
                abort(); /* the texts are of our own making */
        q.object = mask_if_secret(q.object, a); /* what a rule says is shown */
        slot->answer.publishes_generation = health_publishes_generation(q.object);
        health_judge(job->rules, &q, a, h);
        h->message = arena_str(job->arena, h->message);
        slot->work_ns = OBJECT_NS + slot->input.text.n * BYTE_NS + h->work_ns;
        slot->was_judged = true;
}

static int64_t now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* A script that took much is the last one of its job: others wait for the thread. */
static void run(void *ctx) {
        struct job *job = ctx;
        int64_t began_us = now_us();
        uint64_t work_ns = 0;

        for (size_t i = 0; i < job->count && work_ns <= JUDGE_MAX_WORK_NS; i++) {
                judge_one(job, &job->slots[i]);
                work_ns += job->slots[i].work_ns;
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

/* It was expected to be so much work, and was less or more. */
static void settle_up(const struct judge_slot *slot) {
        struct judge_lane *lane = slot->lane;

        lane->had_ns += slot->work_ns;
        lane->had_ns -= slot->expected_ns;
        if (slot->work_ns > lane->object_ns)
                lane->object_ns = slot->work_ns;
        else
                lane->object_ns -= (lane->object_ns - slot->work_ns) / FORGETTING;
}

static void answer(struct judge *j, struct judge_slot *slot) {
        struct judge_ticket *t = slot->ticket;

        settle_up(slot);
        if (!t)
                return;
        t->slot = NULL;
        j->stats.evaluations++;
        if (slot->answer.health.failure)
                tell_failure(j, t, &slot->answer.health);
        j->hooks.judged(t, &slot->answer);
}

/* Its turn has come already. */
static void put_back(struct judge *j, const struct judge_slot *slot) {
        struct judge_ticket *t = slot->ticket;

        slot->lane->had_ns -= slot->expected_ns;
        if (!t)
                return;
        t->slot = NULL;
        if (!t->waits)
                put_in(j, t, t->lane->first);
}

/* What takes long, for whatever reason, is done in small pieces: others want the thread, too. One object is a piece. */
static void adapt(struct judge *j, int64_t took_ms, size_t judged) {
        if (took_ms <= JUDGE_SLOW_MS)
                j->room = j->room < JUDGE_MAX_OBJECTS ? j->room * 2 : j->room;
        else if (judged > 1)
                j->room = j->room > 1 ? j->room / 2 : 1;
}

static size_t count_judged(const struct job *job) {
        size_t count = 0;

        while (count < job->count && job->slots[count].was_judged)
                count++;
        return count;
}

static void done(void *ctx, bool cancelled) {
        struct job *job = ctx;
        struct judge *j = job->judge;
        size_t judged = count_judged(job);

        (void)cancelled;
        if (j) {
                j->job = NULL;
                j->stats.took_us += job->took_us;
                adapt(j, loop_now_ms(j->loop) - job->began_ms, judged);
                for (size_t i = job->count; i > judged; i--)
                        put_back(j, &job->slots[i - 1]);
                for (size_t i = 0; i < judged; i++)
                        answer(j, &job->slots[i]);
                begin_later(j);
        }
        job_free(job);
}

/* The lane that had the least, of equals who waits longest; NULL: nobody waits, or nobody who still fits into the job. */
static struct judge_lane *next_lane(const struct judge *j, const struct job *job, uint64_t expected_ns) {
        struct judge_lane *least = j->waiting;

        for (struct judge_lane *lane = j->waiting; lane; lane = lane->next)
                if (lane->had_ns < least->had_ns)
                        least = lane;
        return least && job->count > 0 && expected_ns + least->object_ns > JUDGE_MAX_WORK_NS ? NULL : least;
}

/* True: there is something to judge. */
static bool add_next(struct judge *j, struct judge_lane *lane, struct job *job) {
        struct judge_slot *slot = &job->slots[job->count];
        struct judge_ticket *t = lane->first;
        struct judge_input input;

        take_out(j, t);
        input = j->hooks.input(t);
        if (!input.text.n)
                return false;
        input.text = arena_str(job->arena, input.text);
        input.class = arena_str(job->arena, input.class);
        *slot = (struct judge_slot){ .ticket = t, .lane = lane, .input = input, .expected_ns = lane->object_ns };
        j->now_ns = lane->had_ns;
        lane->had_ns += slot->expected_ns;
        t->slot = slot;
        job->count++;
        return true;
}

static struct job *fill(struct judge *j) {
        struct job *job = mem_zalloc(sizeof *job);
        uint64_t expected_ns = 0;
        struct judge_lane *lane;
        size_t bytes = 0;

        *job = (struct job){ .judge = j, .rules = health_rules_ref(j->rules), .arena = arena_new(0),
                             .now_ms = loop_wall_ms(j->loop), .began_ms = loop_now_ms(j->loop) };
        while (job->count < j->room && bytes < JUDGE_MAX_BYTES && (lane = next_lane(j, job, expected_ns)) != NULL) {
                if (!add_next(j, lane, job))
                        continue;
                bytes += job->slots[job->count - 1].input.text.n;
                expected_ns += job->slots[job->count - 1].expected_ns;
        }
        return job;
}

static void begin(void *ctx) {
        struct judge *j = ctx;
        struct job *job;

        if (j->job || !j->waiting)
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
        j->lanes = map_new(free);
        j->told = map_new(NULL);
        return j;
}

void judge_free(struct judge *j) {
        if (!j)
                return;
        if (j->job)
                j->job->judge = NULL;
        loop_timer_free(j->begin);
        map_free(j->lanes);
        map_free(j->told);
        health_rules_unref(j->rules);
        free(j);
}

void judge_stats(const struct judge *j, struct judge_stats *ret_stats) {
        *ret_stats = j->stats;
}
