/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <assert.h>
#include <time.h>

#include "base/loop_impl.h"

/* In virtual time this many turns in one moment are no work any more but a ring of calls that feeds itself. */
#define STANDSTILL_TURNS 10000000

struct loop_timer {
        struct loop *loop;
        void (*fire)(void *ctx);
        void *ctx;
        int64_t due_ms;
        uint64_t seq;
        size_t place; /* in the heap; SIZE_MAX when not running */
};

/* ---- life cycle ---- */

void loop_init(struct loop *l, const struct loop_ops *ops, uint64_t seed, int64_t now_ms) {
        *l = (struct loop){ .ops = ops, .random = seed, .now_ms = now_ms };
        l->last_post = &l->posts;
        pthread_mutex_init(&l->post_lock, NULL);
}

void loop_done(struct loop *l) {
        while (l->posts) {
                struct loop_post *p = l->posts;

                l->posts = p->next;
                free(p);
        }
        free(l->timers);
        pthread_mutex_destroy(&l->post_lock);
}

void loop_free(struct loop *l) {
        if (l)
                l->ops->free(l);
}

/* ---- time and chance ---- */

int64_t loop_now_ms(const struct loop *l) {
        return l->running ? l->now_ms : l->ops->now_ms(l);
}

/* `ms` from now, but never as far as LOOP_NEVER_MS. */
static int64_t moment_ms(const struct loop *l, int64_t ms) {
        int64_t now_ms = loop_now_ms(l);

        if (ms <= 0)
                return now_ms;
        return ms < LOOP_NEVER_MS - now_ms ? now_ms + ms : LOOP_NEVER_MS - 1;
}

int64_t loop_wall_ms(const struct loop *l) {
        return l->ops->wall_ms(l);
}

void loop_on_turn(struct loop *l, void (*fn)(void *ctx), void *ctx) {
        l->on_turn = fn;
        l->on_turn_ctx = ctx;
}

/* splitmix64 (Steele, Lea, Flood 2014): one word of state, every seed is good. */
static uint64_t next_random(struct loop *l) {
        uint64_t z = l->random += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

uint64_t loop_random(struct loop *l, uint64_t bound) {
        if (bound == 0)
                return 0;

        /* Numbers from the incomplete last run of `bound` would favour the small results: draw again. */
        uint64_t reject_below = -bound % bound, drawn;
        do
                drawn = next_random(l);
        while (drawn < reject_below);

        return drawn % bound;
}

/* ---- timers ---- */

static bool is_before(const struct loop_timer *a, const struct loop_timer *b) {
        return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->seq < b->seq;
}

static void put_at(struct loop *l, size_t place, struct loop_timer *t) {
        l->timers[place] = t;
        t->place = place;
}

static void sift_up(struct loop *l, size_t place, struct loop_timer *t) {
        while (place > 0 && is_before(t, l->timers[(place - 1) / 2])) {
                put_at(l, place, l->timers[(place - 1) / 2]);
                place = (place - 1) / 2;
        }
        put_at(l, place, t);
}

static void sift_down(struct loop *l, size_t place, struct loop_timer *t) {
        for (;;) {
                size_t child = 2 * place + 1;

                if (child + 1 < l->timer_count && is_before(l->timers[child + 1], l->timers[child]))
                        child++;
                if (child >= l->timer_count || !is_before(l->timers[child], t))
                        break;
                put_at(l, place, l->timers[child]);
                place = child;
        }
        put_at(l, place, t);
}

struct loop_timer *loop_timer_new(struct loop *l, void (*fire)(void *ctx), void *ctx) {
        struct loop_timer *t = mem_zalloc(sizeof *t);

        *t = (struct loop_timer){ .loop = l, .fire = fire, .ctx = ctx, .place = SIZE_MAX };
        return t;
}

void loop_timer_start(struct loop_timer *t, int64_t delay_ms) {
        struct loop *l = t->loop;

        loop_timer_stop(t);
        t->due_ms = moment_ms(l, delay_ms);
        t->seq = l->timer_seq++;
        l->timers = mem_grow(l->timers, &l->timer_cap, l->timer_count + 1, sizeof *l->timers);
        sift_up(l, l->timer_count++, t);
}

void loop_timer_stop(struct loop_timer *t) {
        struct loop *l = t->loop;

        if (t->place == SIZE_MAX)
                return;

        struct loop_timer *last = l->timers[--l->timer_count];
        size_t place = t->place;
        t->place = SIZE_MAX;
        if (last == t)
                return;
        /* The last one fills the gap; it may belong above or below it. */
        if (place > 0 && is_before(last, l->timers[(place - 1) / 2]))
                sift_up(l, place, last);
        else
                sift_down(l, place, last);
}

bool loop_timer_is_running(const struct loop_timer *t) {
        return t->place != SIZE_MAX;
}

void loop_timer_free(struct loop_timer *t) {
        if (!t)
                return;
        loop_timer_stop(t);
        free(t);
}

static int64_t next_due_ms(const struct loop *l) {
        return l->timer_count > 0 ? l->timers[0]->due_ms : LOOP_NEVER_MS;
}

/* A timer that a callback starts with delay 0 has a later number and waits for the next turn. */
static void fire_due_timers(struct loop *l) {
        uint64_t born_before = l->timer_seq;

        while (next_due_ms(l) <= l->now_ms && l->timers[0]->seq < born_before) {
                struct loop_timer *t = l->timers[0];

                loop_timer_stop(t);
                t->fire(t->ctx);
        }
}

/* ---- posted calls ---- */

void loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx) {
        struct loop_post *p = mem_alloc(sizeof *p);

        *p = (struct loop_post){ .fn = fn, .ctx = ctx };
        pthread_mutex_lock(&l->post_lock);
        *l->last_post = p;
        l->last_post = &p->next;
        /* Under the lock: whoever frees the loop takes it once, and then no poster is left inside wake(). */
        if (l->ops->wake)
                l->ops->wake(l);
        pthread_mutex_unlock(&l->post_lock);
}

static bool has_posts(struct loop *l) {
        pthread_mutex_lock(&l->post_lock);
        bool has = l->posts != NULL;
        pthread_mutex_unlock(&l->post_lock);

        return has;
}

void loop_run_posts(struct loop *l) {
        pthread_mutex_lock(&l->post_lock);
        struct loop_post *posts = l->posts;
        l->posts = NULL;
        l->last_post = &l->posts;
        pthread_mutex_unlock(&l->post_lock);

        while (posts) {
                struct loop_post *p = posts;

                posts = p->next;
                p->fn(p->ctx);
                free(p);
        }
}

/* ---- turns ---- */

static int64_t monotonic_us(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void loop_turn_begin(struct loop *l, int64_t now_ms) {
        if (l->in_turn)
                return;
        l->in_turn = true;
        l->now_ms = now_ms;
        l->turn_began_us = monotonic_us();
        if (l->on_turn)
                l->on_turn(l->on_turn_ctx);
}

static void turn_end(struct loop *l) {
        int64_t took_us = monotonic_us() - l->turn_began_us;

        l->in_turn = false;
        if (took_us > l->longest_turn_us)
                l->longest_turn_us = took_us;
}

static void turn(struct loop *l, int64_t end_ms) {
        int64_t until_ms = next_due_ms(l) < end_ms ? next_due_ms(l) : end_ms;

        l->ops->wait(l, has_posts(l) ? l->now_ms : until_ms);
        fire_due_timers(l);
        loop_run_posts(l);
        turn_end(l);
}

static bool could_call_back(struct loop *l) {
        return l->busy > 0 || l->timer_count > 0 || has_posts(l);
}

/* In virtual time what is ready at the very end still belongs to the span: it takes no time. */
static bool is_over(struct loop *l, int64_t end_ms) {
        if (l->stopped || !could_call_back(l))
                return true;
        if (l->now_ms < end_ms)
                return false;
        return !l->ops->is_virtual || (l->busy == 0 && next_due_ms(l) > l->now_ms && !has_posts(l));
}

static void expect_progress(const struct loop *l, int64_t *seen_ms, unsigned *turns) {
        if (!l->ops->is_virtual)
                return;
        *turns = l->now_ms == *seen_ms ? *turns + 1 : 0;
        *seen_ms = l->now_ms;
        if (*turns < STANDSTILL_TURNS)
                return;
        fputs("loop: virtual time stands still: something calls itself without end\n", stderr);
        abort();
}

/* Returns whether loop_stop() ended it. */
static bool run_until(struct loop *l, int64_t end_ms) {
        int64_t seen_ms = l->now_ms;
        unsigned turns = 0;

        assert(!l->running);
        l->running = true;
        if (!l->stopped && could_call_back(l)) {
                do {
                        turn(l, end_ms);
                        expect_progress(l, &seen_ms, &turns);
                } while (!is_over(l, end_ms));
        }
        l->running = false;

        bool stopped = l->stopped;
        l->stopped = false;
        return stopped;
}

void loop_run(struct loop *l) {
        run_until(l, LOOP_NEVER_MS);
}

bool loop_run_for(struct loop *l, int64_t ms) {
        int64_t end_ms = moment_ms(l, ms);
        bool stopped = run_until(l, end_ms);

        if (l->ops->is_virtual && !stopped)
                l->now_ms = end_ms;
        return stopped;
}

void loop_stop(struct loop *l) {
        l->stopped = true;
}

int64_t loop_longest_turn_us(struct loop *l) {
        int64_t us = l->longest_turn_us;

        l->longest_turn_us = 0;
        return us;
}

/* ---- what the implementations make ---- */

struct loop_io *loop_io_new(struct loop *l, int fd, void (*ready)(void *ctx, unsigned events), void *ctx) {
        return l->ops->io_new(l, fd, ready, ctx);
}

void loop_io_want(struct loop_io *io, unsigned events) {
        io->loop->ops->io_want(io, events);
}

void loop_io_free(struct loop_io *io) {
        if (io)
                io->loop->ops->io_free(io);
}

struct loop_work *loop_work_start(struct loop *l, enum loop_pool pool, void (*run)(void *ctx),
                                  void (*done)(void *ctx, bool cancelled), void *ctx) {
        return l->ops->work_start(l, pool, run, done, ctx);
}

void loop_work_cancel(struct loop_work *w) {
        if (w)
                w->loop->ops->work_cancel(w);
}

struct loop_child *loop_child_start(struct loop *l, const struct loop_child_spec *spec,
                                    void (*done)(void *ctx, const struct loop_child_result *result,
                                                 const struct err *err),
                                    void *ctx, struct err *err) {
        assert(spec->argv && spec->argv[0] && (spec->heard || spec->deadline_ms > 0));
        return l->ops->child_start(l, spec, done, ctx, err);
}

void loop_child_cancel(struct loop_child *c) {
        if (c)
                c->loop->ops->child_cancel(c);
}

int loop_child_write(struct loop_child *c, struct str bytes, struct err *err) {
        return c->loop->ops->child_write(c, bytes, err);
}

void loop_child_close_input(struct loop_child *c) {
        c->loop->ops->child_close_input(c);
}

struct loop_signal *loop_signal_new(struct loop *l, int signum, void (*fire)(void *ctx, int signum), void *ctx) {
        return l->ops->signal_new(l, signum, fire, ctx);
}

void loop_signal_free(struct loop_signal *s) {
        if (s)
                s->loop->ops->signal_free(s);
}
