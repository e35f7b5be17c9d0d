/* SPDX-License-Identifier: Apache-2.0 */
/* Claims that hold on both loops run on both (BOTH below); the rest says which loop it is about. */
#include "base/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "base/limits.h"

#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)
#define REAL_THREADS 2 /* of each pool */

/* What happened, as letters in the order it happened. */
struct trace {
        struct loop *l;
        char seen[64];
        unsigned n;
};

/* A callback's context: writes its letter. */
struct mark {
        struct trace *t;
        char letter;
        struct loop_timer *timer;
};

static void note(struct trace *t, char letter) {
        assert_true(t->n < sizeof t->seen - 1);
        t->seen[t->n++] = letter;
}

static void on_mark(void *ctx) {
        struct mark *m = ctx;

        note(m->t, m->letter);
}

static void on_stop(void *ctx) {
        loop_stop(ctx);
}

static void count(void *ctx) {
        ++*(unsigned *)ctx;
}

static int real_setup(void **state) {
        *state = loop_new(REAL_THREADS, REAL_THREADS, NULL);
        return *state ? 0 : -1;
}

static int virtual_setup(void **state) {
        *state = loop_new_virtual(7, 1764000000000);
        return 0;
}

static int teardown(void **state) {
        loop_free(*state);
        return 0;
}

/* ---- both: the run ---- */

static void an_empty_loop_ends_at_once(void **state) {
        loop_run(*state);
        assert_false(loop_run_for(*state, 0));
}

static void stop_ends_a_run_with_timers_left(void **state) {
        struct loop *l = *state;
        unsigned fired = 0;
        _cleanup_(loop_timer_freep) struct loop_timer *far = loop_timer_new(l, count, &fired);

        loop_timer_start(far, HOUR);
        loop_post(l, on_stop, l);
        loop_run(l);

        assert_int_equal(fired, 0);
        assert_true(loop_timer_is_running(far));
}

static void a_stop_between_runs_ends_the_next_one(void **state) {
        struct loop *l = *state;
        unsigned called = 0;

        loop_post(l, count, &called);
        loop_stop(l);
        loop_run(l);
        assert_int_equal(called, 0);

        loop_run(l);
        assert_int_equal(called, 1);
}

static void run_for_tells_who_ended_it(void **state) {
        struct loop *l = *state;
        unsigned fired = 0;
        _cleanup_(loop_timer_freep) struct loop_timer *far = loop_timer_new(l, count, &fired);

        loop_timer_start(far, HOUR);
        assert_false(loop_run_for(l, 5));
        assert_int_equal(fired, 0);

        loop_post(l, on_stop, l);
        assert_true(loop_run_for(l, HOUR));
}

static void sleep_20_ms(void *ctx) {
        const struct timespec ts = { .tv_nsec = 20 * 1000000 };

        (void)ctx;
        nanosleep(&ts, NULL);
}

static void a_slow_callback_makes_a_long_turn_that_is_told_once(void **state) {
        struct loop *l = *state;

        loop_post(l, sleep_20_ms, NULL);
        loop_run(l);
        assert_true(loop_longest_turn_us(l) >= 20000);
        assert_int_equal(loop_longest_turn_us(l), 0);
}

static void random_stays_below_its_bound_and_reaches_all_of_it(void **state) {
        unsigned seen[5] = { 0 };

        for (int i = 0; i < 1000; i++) {
                uint64_t n = loop_random(*state, 5);

                assert_true(n < 5);
                seen[n]++;
        }
        for (int i = 0; i < 5; i++)
                assert_true(seen[i] > 100);
        assert_int_equal(loop_random(*state, 1), 0);
        assert_int_equal(loop_random(*state, 0), 0);
}

/* ---- both: timers ---- */

#define LETTERS 5

/* All in one turn, so that the clock stands between them. */
static void start_the_letters(void *ctx) {
        static const int64_t delays_ms[LETTERS] = { 9, 3, 6, 3, 0 };
        struct mark *marks = ctx;

        for (size_t i = 0; i < LETTERS; i++)
                loop_timer_start(marks[i].timer, delays_ms[i]);
}

static void timers_fire_when_due_and_ties_in_the_order_of_their_start(void **state) {
        struct loop *l = *state;
        struct trace t = { .l = l };
        struct mark marks[LETTERS];

        for (size_t i = 0; i < LETTERS; i++) {
                marks[i] = (struct mark){ .t = &t, .letter = (char)('a' + i) };
                marks[i].timer = loop_timer_new(l, on_mark, &marks[i]);
        }
        loop_post(l, start_the_letters, marks);
        loop_run(l);

        assert_string_equal(t.seen, "ebdca");
        for (size_t i = 0; i < LETTERS; i++)
                loop_timer_free(marks[i].timer);
}

static void a_timer_never_fires_early(void **state) {
        struct loop *l = *state;
        unsigned fired = 0;
        _cleanup_(loop_timer_freep) struct loop_timer *t = loop_timer_new(l, count, &fired);
        int64_t start_ms = loop_now_ms(l);

        loop_timer_start(t, 30);
        loop_run(l);
        assert_int_equal(fired, 1);
        assert_false(loop_timer_is_running(t));
        assert_true(loop_now_ms(l) - start_ms >= 30);
}

static void a_stopped_timer_stays_silent_and_a_restarted_one_moves(void **state) {
        struct loop *l = *state;
        struct trace t = { .l = l };
        struct mark a = { .t = &t, .letter = 'a' }, b = { .t = &t, .letter = 'b' }, c = { .t = &t, .letter = 'c' };
        _cleanup_(loop_timer_freep) struct loop_timer *stopped = loop_timer_new(l, on_mark, &a);
        _cleanup_(loop_timer_freep) struct loop_timer *moved = loop_timer_new(l, on_mark, &b);
        _cleanup_(loop_timer_freep) struct loop_timer *still = loop_timer_new(l, on_mark, &c);

        loop_timer_start(stopped, 1);
        loop_timer_start(moved, 1);
        loop_timer_start(still, 2);
        loop_timer_stop(stopped);
        loop_timer_stop(stopped);
        loop_timer_start(moved, 3);
        loop_run(l);

        assert_string_equal(t.seen, "cb");
}

static void free_own_timer(void *ctx) {
        struct mark *m = ctx;

        note(m->t, m->letter);
        loop_timer_free(TAKE_PTR(m->timer));
}

static void a_timer_may_free_itself_while_it_fires(void **state) {
        struct loop *l = *state;
        struct trace t = { .l = l };
        struct mark m = { .t = &t, .letter = 'x' };

        m.timer = loop_timer_new(l, free_own_timer, &m);
        loop_timer_start(m.timer, 0);
        loop_run(l);

        assert_string_equal(t.seen, "x");
        loop_timer_free(NULL);
}

static void free_the_other(void *ctx) {
        struct mark *m = ctx;

        note(m->t, m->letter);
        loop_timer_free(TAKE_PTR(m->timer));
}

static void a_timer_freed_by_another_that_is_due_with_it_stays_silent(void **state) {
        struct loop *l = *state;
        struct trace t = { .l = l };
        struct mark victim = { .t = &t, .letter = 'v' }, killer = { .t = &t, .letter = 'k' };
        _cleanup_(loop_timer_freep) struct loop_timer *first = loop_timer_new(l, free_the_other, &killer);

        killer.timer = loop_timer_new(l, on_mark, &victim);
        loop_timer_start(first, 1);
        loop_timer_start(killer.timer, 1);
        loop_run(l);

        assert_string_equal(t.seen, "k");
}

struct again {
        struct loop_timer *timer;
        unsigned left;
        struct trace *t;
};

static void fire_again(void *ctx) {
        struct again *a = ctx;

        note(a->t, 't');
        if (a->left-- > 0)
                loop_timer_start(a->timer, 0);
}

static void a_timer_that_restarts_itself_at_once_starves_nobody(void **state) {
        struct loop *l = *state;
        struct trace t = { .l = l };
        struct mark posted = { .t = &t, .letter = 'p' };
        struct again a = { .left = 3, .t = &t };

        a.timer = loop_timer_new(l, fire_again, &a);
        loop_timer_start(a.timer, 0);
        loop_post(l, on_mark, &posted);
        loop_run(l);

        assert_string_equal(t.seen, "tpttt");
        loop_timer_free(a.timer);
}

#define MANY 2000

struct crowd;

struct due {
        struct crowd *crowd;
        struct loop_timer *timer;
        int64_t due_ms;
};

struct crowd {
        struct loop *l;
        struct due due[MANY];
        int64_t last_ms;
        unsigned fired, expected;
};

static void expect_due_order(void *ctx) {
        struct due *d = ctx;
        struct crowd *c = d->crowd;

        assert_true(d->due_ms <= loop_now_ms(c->l));
        assert_true(d->due_ms >= c->last_ms);
        c->last_ms = d->due_ms;
        c->fired++;
}

static void start_at_random(struct due *d) {
        int64_t delay_ms = (int64_t)loop_random(d->crowd->l, 40);

        loop_timer_start(d->timer, delay_ms);
        d->due_ms = loop_now_ms(d->crowd->l) + delay_ms;
}

/* Takes every path of the heap: all are started, then a third is moved and a third is stopped. */
static void start_the_crowd(void *ctx) {
        struct crowd *c = ctx;

        for (size_t i = 0; i < MANY; i++) {
                c->due[i].crowd = c;
                c->due[i].timer = loop_timer_new(c->l, expect_due_order, &c->due[i]);
                start_at_random(&c->due[i]);
        }
        for (size_t i = 0; i < MANY; i++) {
                uint64_t fate = loop_random(c->l, 3);

                if (fate == 0)
                        loop_timer_stop(c->due[i].timer);
                if (fate == 1)
                        start_at_random(&c->due[i]);
                c->expected += fate != 0;
        }
}

static void thousands_of_moved_and_stopped_timers_keep_their_order(void **state) {
        static struct crowd c;

        c = (struct crowd){ .l = *state };
        loop_post(c.l, start_the_crowd, &c);
        loop_run(c.l);

        assert_int_equal(c.fired, c.expected);
        assert_true(c.expected > MANY / 2);
        for (size_t i = 0; i < MANY; i++)
                loop_timer_free(c.due[i].timer);
}

/* ---- both: posts ---- */

static void post_inner(void *ctx) {
        struct mark *m = ctx;

        loop_post(m->t->l, on_mark, m);
        note(m->t, 'o');
}

static void a_post_runs_later_and_in_order(void **state) {
        struct loop *l = *state;
        struct trace t = { .l = l };
        struct mark inner = { .t = &t, .letter = 'i' }, last = { .t = &t, .letter = 'l' };

        loop_post(l, post_inner, &inner);
        loop_post(l, on_mark, &last);
        assert_int_equal(t.n, 0);
        loop_run(l);

        assert_string_equal(t.seen, "oli");
}

#define POSTERS 4
#define POSTS_EACH 2000

struct poster {
        struct loop *l;
        unsigned *count;
};

static void count_and_stop_at_the_last(void *ctx) {
        struct poster *p = ctx;

        if (++*p->count == POSTERS * POSTS_EACH)
                loop_stop(p->l);
}

static void *post_many(void *arg) {
        struct poster *p = arg;

        for (int i = 0; i < POSTS_EACH; i++)
                loop_post(p->l, count_and_stop_at_the_last, p);
        return NULL;
}

static void posts_of_many_threads_all_arrive(void **state) {
        struct loop *l = *state;
        unsigned arrived = 0, fired = 0;
        struct poster p = { l, &arrived };
        pthread_t threads[POSTERS];
        _cleanup_(loop_timer_freep) struct loop_timer *alive = loop_timer_new(l, count, &fired);

        for (int i = 0; i < POSTERS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, post_many, &p), 0);
        /* Some arrive while the loop runs, the rest (in virtual time most of them) after it was left. */
        loop_timer_start(alive, HOUR);
        loop_run_for(l, 5);
        for (int i = 0; i < POSTERS; i++)
                pthread_join(threads[i], NULL);
        if (arrived < POSTERS * POSTS_EACH)
                loop_run(l);
        assert_int_equal(arrived, POSTERS * POSTS_EACH);
}

/* ---- both: work ---- */

struct job {
        struct loop *l;
        struct loop_work *work;
        atomic_uint *ran;
        unsigned *done, *dropped;
};

static void job_run(void *ctx) {
        struct job *j = ctx;

        ++*j->ran;
}

static void job_done(void *ctx, bool cancelled) {
        struct job *j = ctx;

        ++*j->done;
        *j->dropped += cancelled;
        /* Allowed, and without effect. */
        loop_work_cancel(j->work);
}

static void thousands_of_jobs_are_each_told_once(void **state) {
        struct loop *l = *state;
        static struct job jobs[5000];
        atomic_uint ran = 0;
        unsigned done = 0, dropped = 0;

        for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
                jobs[i] = (struct job){ .l = l, .ran = &ran, .done = &done, .dropped = &dropped };
                jobs[i].work = loop_work_start(l, i % 2 ? LOOP_POOL_CPU : LOOP_POOL_GIT, job_run, job_done, &jobs[i]);
        }
        assert_int_equal(done, 0);
        loop_run(l);

        assert_int_equal(ran, ARRAY_LEN(jobs));
        assert_int_equal(done, ARRAY_LEN(jobs));
        assert_int_equal(dropped, 0);
}

/* Whether a thread takes a job before the loop cancels it is the scheduler's choice: most runs see both ends. */
static void a_cancelled_job_either_ran_or_was_dropped(void **state) {
        struct loop *l = *state;
        static struct job jobs[3000];
        atomic_uint ran = 0;
        unsigned done = 0, dropped = 0;

        for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
                jobs[i] = (struct job){ .l = l, .ran = &ran, .done = &done, .dropped = &dropped };
                jobs[i].work = loop_work_start(l, LOOP_POOL_CPU, job_run, job_done, &jobs[i]);
        }
        for (size_t i = ARRAY_LEN(jobs); i > 0; i--) {
                loop_work_cancel(jobs[i - 1].work);
                loop_work_cancel(jobs[i - 1].work);
        }
        assert_int_equal(done, 0);
        loop_run(l);

        assert_int_equal(done, ARRAY_LEN(jobs));
        assert_int_equal(ran + dropped, ARRAY_LEN(jobs));
        loop_work_cancel(NULL);
}

struct chain {
        struct loop *l;
        unsigned left, done;
};

static void nothing(void *ctx) {
        (void)ctx;
}

static void start_the_next(void *ctx, bool cancelled) {
        struct chain *c = ctx;

        assert_false(cancelled);
        c->done++;
        if (c->left-- > 0)
                loop_work_start(c->l, LOOP_POOL_GIT, nothing, start_the_next, c);
}

static void done_may_start_the_next_job(void **state) {
        struct chain c = { .l = *state, .left = 100 };

        loop_work_start(c.l, LOOP_POOL_GIT, nothing, start_the_next, &c);
        loop_run(c.l);
        assert_int_equal(c.done, 101);
}

static void start_one_more(void *ctx, bool cancelled) {
        struct job *j = ctx;

        (void)cancelled;
        ++*j->done;
        loop_work_start(j->l, LOOP_POOL_CPU, job_run, job_done, j);
}

static void freeing_the_loop_tells_every_job(void **state) {
        struct loop *l = *state;
        atomic_uint ran = 0;
        unsigned done = 0, dropped = 0;
        struct job j = { .l = l, .ran = &ran, .done = &done, .dropped = &dropped };

        for (int i = 0; i < 500; i++)
                loop_work_start(l, LOOP_POOL_CPU, job_run, job_done, &j);
        loop_work_start(l, LOOP_POOL_GIT, job_run, start_one_more, &j);
        loop_free(l);
        *state = NULL;

        assert_int_equal(done, 502);
        assert_true(ran + dropped >= 501);
}

static void freeing_the_loop_drops_posts(void **state) {
        unsigned called = 0;

        loop_post(*state, count, &called);
        loop_free(*state);
        *state = NULL;
        assert_int_equal(called, 0);
}

/* ---- the real loop ---- */

static void thread_counts_out_of_bounds_are_refused(void **state) {
        struct err err;

        (void)state;
        assert_null(loop_new(0, 1, &err));
        assert_int_equal(err.code, ERR_INVAL);
        assert_null(loop_new(1, 17, &err));
        assert_int_equal(err.code, ERR_INVAL);
        assert_null(loop_new(1, 0, NULL));
}

static void note_stack(void *ctx) {
        pthread_attr_t attr;
        size_t *bytes = ctx;

        pthread_getattr_np(pthread_self(), &attr);
        pthread_attr_getstacksize(&attr, bytes);
        pthread_attr_destroy(&attr);
}

static void no_end(void *ctx, bool cancelled) {
        (void)ctx;
        assert_false(cancelled);
}

static void threads_have_stack_enough_whatever_the_limit_is(void **state) {
        pthread_attr_t before, small;
        size_t bytes = 0;

        (void)state;
        pthread_getattr_default_np(&before);
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 256 * KIB);
        assert_int_equal(pthread_setattr_default_np(&small), 0);
        struct loop *l = loop_new(1, 1, NULL);
        loop_work_start(l, LOOP_POOL_CPU, note_stack, no_end, &bytes);
        loop_run(l);
        loop_free(l);
        pthread_setattr_default_np(&before);
        pthread_attr_destroy(&before);
        pthread_attr_destroy(&small);
        assert_true(bytes >= 2 * MIB);
}

struct gate {
        sem_t sem;
        unsigned blocked, git_done, cpu_done;
};

static void wait_at_the_gate(void *ctx) {
        struct gate *g = ctx;

        sem_wait(&g->sem);
}

static void git_job_done(void *ctx, bool cancelled) {
        struct gate *g = ctx;

        assert_false(cancelled);
        g->git_done++;
}

static void open_the_gate(void *ctx, bool cancelled) {
        struct gate *g = ctx;

        assert_false(cancelled);
        assert_int_equal(g->git_done, 0);
        g->cpu_done++;
        for (unsigned i = 0; i < g->blocked; i++)
                sem_post(&g->sem);
}

/* Every git thread hangs until the job on the cpu pool is told: were it one pool, this would never end. */
static void a_full_git_pool_does_not_hold_up_the_cpu_pool(void **state) {
        struct loop *l = *state;
        struct gate g = { .blocked = 10 };

        sem_init(&g.sem, 0, 0);
        for (unsigned i = 0; i < g.blocked; i++)
                loop_work_start(l, LOOP_POOL_GIT, wait_at_the_gate, git_job_done, &g);
        loop_work_start(l, LOOP_POOL_CPU, nothing, open_the_gate, &g);
        loop_run(l);

        assert_int_equal(g.cpu_done, 1);
        assert_int_equal(g.git_done, g.blocked);
        sem_destroy(&g.sem);
}

#define CANCELLED 20

/* Started and cancelled where none of them can have begun; the run is the caller's. */
struct cancelled {
        struct job jobs[CANCELLED];
        atomic_uint ran;
        unsigned done, dropped;
};

static void start_and_cancel(struct cancelled *c, struct loop *l) {
        *c = (struct cancelled){ 0 };
        for (size_t i = 0; i < CANCELLED; i++) {
                c->jobs[i] = (struct job){ .l = l, .ran = &c->ran, .done = &c->done, .dropped = &c->dropped };
                c->jobs[i].work = loop_work_start(l, LOOP_POOL_GIT, job_run, job_done, &c->jobs[i]);
        }
        for (size_t i = 0; i < CANCELLED; i++)
                loop_work_cancel(c->jobs[i].work);
}

static void expect_none_ran(struct cancelled *c) {
        assert_int_equal(c->done, CANCELLED);
        assert_int_equal(c->dropped, CANCELLED);
        assert_int_equal(c->ran, 0);
}

/* The threads of the pool are all at the gate. */
static void a_job_cancelled_behind_a_full_pool_never_runs(void **state) {
        struct loop *l = *state;
        struct gate g = { .blocked = REAL_THREADS };
        struct cancelled c;

        sem_init(&g.sem, 0, 0);
        for (unsigned i = 0; i < g.blocked; i++)
                loop_work_start(l, LOOP_POOL_GIT, wait_at_the_gate, git_job_done, &g);
        start_and_cancel(&c, l);
        for (unsigned i = 0; i < g.blocked; i++)
                sem_post(&g.sem);
        loop_run(l);

        assert_int_equal(g.git_done, g.blocked);
        expect_none_ran(&c);
        sem_destroy(&g.sem);
}

static void *post_after_20_ms(void *arg) {
        struct loop *l = arg;

        sleep_20_ms(NULL);
        loop_post(l, on_stop, l);
        return NULL;
}

static void a_post_wakes_a_waiting_loop(void **state) {
        struct loop *l = *state;
        unsigned fired = 0;
        pthread_t thread;
        _cleanup_(loop_timer_freep) struct loop_timer *far = loop_timer_new(l, count, &fired);

        loop_timer_start(far, HOUR);
        assert_int_equal(pthread_create(&thread, NULL, post_after_20_ms, l), 0);
        loop_run(l);
        pthread_join(thread, NULL);
        assert_int_equal(fired, 0);
}

/* A pipe with its reading end on the loop. */
struct reader {
        int fds[2];
        struct loop_io *io;
        unsigned calls, events;
        char bytes[16];
        size_t n, expected; /* pauses when it has so many */
};

static void on_readable(void *ctx, unsigned events) {
        struct reader *r = ctx;
        ssize_t n = read(r->fds[0], r->bytes + r->n, 1);

        r->calls++;
        r->events |= events;
        if (n > 0)
                r->n += (size_t)n;
        if (r->n == r->expected)
                loop_io_want(r->io, 0);
}

static void reader_open(struct reader *r, struct loop *l) {
        *r = (struct reader){ .expected = 1 };
        assert_int_equal(pipe2(r->fds, O_CLOEXEC | O_NONBLOCK), 0);
        r->io = loop_io_new(l, r->fds[0], on_readable, r);
}

static void reader_close(struct reader *r) {
        loop_io_free(TAKE_PTR(r->io));
        close(r->fds[0]);
        close(r->fds[1]);
}

/* One byte per call is read: being called again for the rest is what level-triggered means. */
static void a_descriptor_calls_until_it_is_read_empty(void **state) {
        struct reader r;

        reader_open(&r, *state);
        r.expected = 3;
        assert_int_equal(write(r.fds[1], "abc", 3), 3);
        loop_run(*state);
        assert_int_equal(r.calls, 0);

        loop_io_want(r.io, LOOP_IO_READ);
        loop_io_want(r.io, LOOP_IO_READ);
        loop_run(*state);
        assert_int_equal(r.calls, 3);
        assert_int_equal(r.events, LOOP_IO_READ);
        assert_memory_equal(r.bytes, "abc", 3);
        reader_close(&r);
}

struct clock_reader {
        struct loop *l;
        int64_t before_ms, after_ms;
};

static void read_clock_around_a_sleep(void *ctx) {
        struct clock_reader *r = ctx;

        r->before_ms = loop_now_ms(r->l);
        sleep_20_ms(NULL);
        r->after_ms = loop_now_ms(r->l);
}

static void the_clock_is_read_once_a_turn(void **state) {
        struct clock_reader first = { .l = *state }, second = first;
        int64_t start_ms = loop_now_ms(*state);

        /* Outside of a run it is never stale: a slow start must not eat the first delays. */
        sleep_20_ms(NULL);
        assert_true(loop_now_ms(*state) >= start_ms + 20);

        loop_post(*state, read_clock_around_a_sleep, &first);
        loop_run(*state);
        loop_post(*state, read_clock_around_a_sleep, &second);
        loop_run(*state);
        assert_int_equal(first.before_ms, first.after_ms);
        assert_true(second.before_ms >= first.after_ms + 20);
}

static void free_own_io(void *ctx, unsigned events) {
        struct reader *r = ctx;

        (void)events;
        r->calls++;
        loop_io_free(TAKE_PTR(r->io));
        close(r->fds[0]);
}

static void a_descriptor_may_be_freed_and_closed_in_its_callback(void **state) {
        struct reader r = { 0 };

        assert_int_equal(pipe2(r.fds, O_CLOEXEC | O_NONBLOCK), 0);
        r.io = loop_io_new(*state, r.fds[0], free_own_io, &r);
        loop_io_want(r.io, LOOP_IO_READ);
        assert_int_equal(write(r.fds[1], "a", 1), 1);
        loop_run(*state);

        assert_int_equal(r.calls, 1);
        close(r.fds[1]);
        loop_io_free(NULL);
}

/* --- first in a turn --- */

struct warden {
        struct loop *l;
        struct reader *ward; /* freed first thing in the next turn */
        unsigned turns;
        int64_t seen_ms;
};

static void guard(void *ctx) {
        struct warden *w = ctx;

        w->turns++;
        w->seen_ms = loop_now_ms(w->l);
        if (w->ward)
                reader_close(TAKE_PTR(w->ward));
}

static void what_comes_first_may_free_the_descriptor_that_is_ready(void **state) {
        struct reader r;
        struct warden w = { .l = *state, .ward = &r };

        reader_open(&r, *state);
        loop_io_want(r.io, LOOP_IO_READ);
        assert_int_equal(write(r.fds[1], "x", 1), 1);
        loop_on_turn(*state, guard, &w);
        loop_run(*state);
        assert_int_equal(w.turns, 1);
        assert_int_equal(r.calls, 0);
        loop_on_turn(*state, NULL, NULL);
}

static void see(void *ctx) {
        struct warden *w = ctx;

        assert_true(w->turns > 0);
        assert_int_equal(w->seen_ms, loop_now_ms(w->l));
}

static void what_comes_first_sees_the_clock_before_any_timer(void **state) {
        struct warden w = { .l = *state };
        _cleanup_(loop_timer_freep) struct loop_timer *t = loop_timer_new(*state, see, &w);

        loop_on_turn(*state, guard, &w);
        loop_timer_start(t, 20);
        loop_run(*state);
        assert_true(w.seen_ms > 0);
        loop_on_turn(*state, NULL, NULL);
        unsigned turns = w.turns;
        loop_run_for(*state, 1);
        assert_int_equal(w.turns, turns);
}

/* The kernel gives the number away again at once: the new owner must not hear of the old one, nor be deaf. */
static void a_closed_descriptors_number_can_be_watched_again_at_once(void **state) {
        struct reader old, new;

        reader_open(&old, *state);
        loop_io_want(old.io, LOOP_IO_READ);
        assert_int_equal(write(old.fds[1], "x", 1), 1);
        int number = old.fds[0];
        reader_close(&old);

        reader_open(&new, *state);
        assert_int_equal(new.fds[0], number);
        loop_io_want(new.io, LOOP_IO_READ);
        assert_int_equal(write(new.fds[1], "y", 1), 1);
        loop_run(*state);

        assert_int_equal(old.calls, 0);
        assert_int_equal(new.bytes[0], 'y');
        reader_close(&new);
}

struct writer {
        int fds[2];
        struct loop_io *io;
        unsigned calls, events;
        int sys_errno;
};

static void on_writable(void *ctx, unsigned events) {
        struct writer *w = ctx;

        w->events = events;
        /* Not before the third call is the error looked at: the descriptor must stay watched until then. */
        if (++w->calls < 3)
                return;
        if (write(w->fds[1], "a", 1) < 0)
                w->sys_errno = errno;
        loop_io_want(w->io, 0);
}

static void a_broken_pipe_is_told_to_its_writer_and_kills_nobody(void **state) {
        struct writer w = { 0 };

        assert_int_equal(pipe2(w.fds, O_CLOEXEC | O_NONBLOCK), 0);
        close(w.fds[0]);
        w.io = loop_io_new(*state, w.fds[1], on_writable, &w);
        loop_io_want(w.io, LOOP_IO_WRITE);
        loop_run(*state);

        assert_int_equal(w.calls, 3);
        assert_int_equal(w.events, LOOP_IO_WRITE);
        assert_int_equal(w.sys_errno, EPIPE);
        loop_io_free(w.io);
        close(w.fds[1]);
}

struct caught {
        struct loop *l;
        int signum;
};

static void on_signal(void *ctx, int signum) {
        struct caught *c = ctx;

        c->signum = signum;
        loop_stop(c->l);
}

static void raise_hup(void *ctx) {
        (void)ctx;
        raise(SIGHUP);
}

static void a_signal_calls_back_but_does_not_keep_the_loop_going(void **state) {
        struct loop *l = *state;
        struct caught c = { .l = l };
        unsigned fired = 0;
        _cleanup_(loop_signal_freep) struct loop_signal *s = loop_signal_new(l, SIGHUP, on_signal, &c);
        _cleanup_(loop_timer_freep) struct loop_timer *far = loop_timer_new(l, count, &fired);

        loop_run(l);
        assert_int_equal(c.signum, 0);

        loop_timer_start(far, HOUR);
        loop_post(l, raise_hup, NULL);
        loop_run(l);
        assert_int_equal(c.signum, SIGHUP);
        assert_int_equal(fired, 0);
}

static int64_t unix_ms(void) {
        struct timespec ts;

        /* Not time(): it reads a clock that is some milliseconds behind. */
        clock_gettime(CLOCK_REALTIME, &ts);
        return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void wall_time_is_unix_time(void **state) {
        int64_t before_ms = unix_ms(), wall_ms = loop_wall_ms(*state);

        assert_in_range(wall_ms, before_ms, unix_ms());
        assert_true(loop_now_ms(*state) > 0);
}

/* ---- virtual time ---- */

static void hours_pass_in_no_time(void **state) {
        struct loop *l = *state;
        unsigned fired = 0;
        int64_t start_ms = loop_now_ms(l), wall_ms = loop_wall_ms(l);
        _cleanup_(loop_timer_freep) struct loop_timer *t = loop_timer_new(l, count, &fired);

        assert_int_equal(wall_ms, 1764000000000);
        loop_timer_start(t, 1000 * HOUR);
        loop_run(l);

        assert_int_equal(fired, 1);
        assert_int_equal(loop_now_ms(l) - start_ms, 1000 * HOUR);
        assert_int_equal(loop_wall_ms(l) - wall_ms, 1000 * HOUR);
}

static void what_came_due_while_it_stood_still_is_due_at_once(void **state) {
        struct loop *l = *state;
        unsigned fired = 0, later = 0;
        int64_t start_ms = loop_now_ms(l);
        struct warden w = { .l = l };
        _cleanup_(loop_timer_freep) struct loop_timer *a = loop_timer_new(l, count, &fired);
        _cleanup_(loop_timer_freep) struct loop_timer *b = loop_timer_new(l, count, &later);

        loop_timer_start(a, 5 * SECOND);
        loop_timer_start(b, 30 * SECOND);
        loop_on_turn(l, guard, &w);
        loop_virtual_stand_still(l, 20 * SECOND);
        loop_run_for(l, 1);
        assert_int_equal(fired, 1);
        assert_int_equal(later, 0);
        assert_int_equal(loop_now_ms(l) - start_ms, 20 * SECOND + 1);
        assert_true(w.turns > 0);
        loop_on_turn(l, NULL, NULL);
}

static void the_wall_clock_may_be_set_and_no_timer_notices(void **state) {
        struct loop *l = *state;
        int64_t wall_ms = loop_wall_ms(l);
        unsigned fired = 0;
        _cleanup_(loop_timer_freep) struct loop_timer *t = loop_timer_new(l, count, &fired);

        loop_timer_start(t, SECOND);
        loop_virtual_set_wall(l, HOUR);
        assert_int_equal(loop_wall_ms(l) - wall_ms, HOUR);
        loop_run_for(l, SECOND - 1);
        assert_int_equal(fired, 0);
        loop_run_for(l, 1);
        assert_int_equal(fired, 1);
}

static void run_for_leaves_the_clock_at_the_end_of_the_span(void **state) {
        struct loop *l = *state;
        int64_t start_ms = loop_now_ms(l);

        assert_false(loop_run_for(l, 5 * SECOND));
        assert_int_equal(loop_now_ms(l) - start_ms, 5 * SECOND);
}

struct work_at_end {
        struct loop *l;
        bool is_told;
};

static void is_told(void *ctx, bool cancelled) {
        struct work_at_end *w = ctx;

        assert_false(cancelled);
        w->is_told = true;
}

static void start_work(void *ctx) {
        struct work_at_end *w = ctx;

        loop_work_start(w->l, LOOP_POOL_CPU, nothing, is_told, w);
}

static void what_is_ready_at_the_very_end_still_runs_and_what_is_not_does_not(void **state) {
        struct loop *l = *state;
        struct work_at_end w = { .l = l };
        unsigned late = 0;
        _cleanup_(loop_timer_freep) struct loop_timer *at_end = loop_timer_new(l, start_work, &w);
        _cleanup_(loop_timer_freep) struct loop_timer *after = loop_timer_new(l, count, &late);

        loop_timer_start(at_end, 10);
        loop_timer_start(after, 11);
        assert_false(loop_run_for(l, 10));
        assert_true(w.is_told);
        assert_int_equal(late, 0);

        loop_run_for(l, 1);
        assert_int_equal(late, 1);
}

struct clocked {
        struct loop *l;
        int64_t at_ms;
        unsigned left;
};

static void post_again(void *ctx) {
        struct clocked *c = ctx;

        assert_int_equal(loop_now_ms(c->l), c->at_ms);
        if (c->left-- > 0)
                loop_post(c->l, post_again, c);
}

static void the_clock_stands_while_anything_is_ready(void **state) {
        struct loop *l = *state;
        struct clocked c = { .l = l, .at_ms = loop_now_ms(l), .left = 100 };
        unsigned fired = 0;
        _cleanup_(loop_timer_freep) struct loop_timer *t = loop_timer_new(l, count, &fired);

        loop_timer_start(t, 1);
        loop_post(l, post_again, &c);
        loop_run(l);
        assert_int_equal(fired, 1);
        assert_int_equal(loop_now_ms(l), c.at_ms + 1);
}

static void a_job_cancelled_before_the_run_never_runs(void **state) {
        struct cancelled c;

        start_and_cancel(&c, *state);
        loop_run(*state);
        expect_none_ran(&c);
}

static void mark_done(void *ctx, bool cancelled) {
        (void)cancelled;
        on_mark(ctx);
}

/* The order in which 20 jobs are told under `seed`. */
static void order_of_jobs(uint64_t seed, struct trace *t) {
        _cleanup_(loop_freep) struct loop *l = loop_new_virtual(seed, 0);
        struct mark marks[20];

        *t = (struct trace){ .l = l };
        for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
                marks[i] = (struct mark){ .t = t, .letter = (char)('a' + i) };
                loop_work_start(l, i % 2 ? LOOP_POOL_CPU : LOOP_POOL_GIT, nothing, mark_done, &marks[i]);
        }
        loop_run(l);
}

static void the_seed_alone_decides_the_order_of_jobs(void **state) {
        struct trace first, again, other;

        (void)state;
        order_of_jobs(1, &first);
        order_of_jobs(1, &again);
        order_of_jobs(2, &other);
        assert_int_equal(first.n, 20);
        assert_string_equal(first.seen, again.seen);
        assert_string_not_equal(first.seen, other.seen);
}

static void note_end(void *ctx, bool cancelled) {
        struct trace *t = ctx;

        assert_false(cancelled);
        t->n++;
}

/* A remote that answers late is told late; the other pool goes on meanwhile. */
static void jobs_of_a_slow_pool_end_when_their_time_is_over(void **state) {
        struct loop *l = *state;
        struct trace git = { .l = l }, cpu = { .l = l }, late = { .l = l };

        loop_virtual_slow_pool(l, LOOP_POOL_GIT, 5 * SECOND);
        loop_work_start(l, LOOP_POOL_GIT, nothing, note_end, &git);
        loop_work_start(l, LOOP_POOL_CPU, nothing, note_end, &cpu);
        loop_run_for(l, SECOND);
        loop_run_for(l, 4 * SECOND - 1);
        assert_int_equal(cpu.n, 1);
        assert_int_equal(git.n, 0);
        loop_run_for(l, 1);
        assert_int_equal(git.n, 1);
        loop_work_start(l, LOOP_POOL_GIT, nothing, note_end, &late);
        loop_run_for(l, SECOND);
        assert_int_equal(late.n, 0);
        loop_virtual_slow_pool(l, LOOP_POOL_GIT, 0);
        loop_run(l);
        assert_int_equal(late.n, 1);
}

struct ended {
        struct loop *l;
        unsigned calls;
        int exit_code;
        enum err_code code;
        char out[32], err[32];
        int64_t at_ms;
        struct loop_child *child;
};

static void on_end(void *ctx, const struct loop_child_result *result, const struct err *err) {
        struct ended *e = ctx;

        e->calls++;
        e->exit_code = result->exit_code;
        e->code = err ? err->code : ERR_OK;
        e->at_ms = loop_now_ms(e->l);
        snprintf(e->out, sizeof e->out, "%.*s", STR_FMT(result->out));
        snprintf(e->err, sizeof e->err, "%.*s", STR_FMT(result->err));
        loop_child_cancel(e->child);
}

static struct loop_child *start_child(struct ended *e, struct loop *l, const char *name, size_t max_bytes,
                                      struct err *err) {
        const char *const argv[] = { name, NULL };
        const struct loop_child_spec spec = {
                .argv = argv,
                .deadline_ms = 10 * SECOND,
                .max_stdout_bytes = max_bytes,
                .max_stderr_bytes = max_bytes,
        };

        *e = (struct ended){ .l = l };
        e->child = loop_child_start(l, &spec, on_end, e, err);
        return e->child;
}

static void scripted_children_answer_in_order(void **state) {
        struct loop *l = *state;
        struct ended a, b, c;
        int64_t start_ms = loop_now_ms(l);
        struct err err;

        loop_virtual_script_child(
                l, &(struct loop_child_script){ .argv0 = "ssh", .takes_ms = 300, .out = STR("one"), .err = STR("w") });
        loop_virtual_script_child(l, &(struct loop_child_script){ .argv0 = "helm", .exit_code = 3 });
        loop_virtual_script_child(l, &(struct loop_child_script){ .argv0 = "ssh", .takes_ms = 1, .out = STR("two") });
        assert_non_null(start_child(&a, l, "ssh", 0, NULL));
        assert_non_null(start_child(&b, l, "ssh", 0, NULL));
        assert_non_null(start_child(&c, l, "helm", 0, NULL));
        loop_run(l);

        assert_string_equal(a.out, "one");
        assert_string_equal(a.err, "w");
        assert_int_equal(a.at_ms - start_ms, 300);
        assert_string_equal(b.out, "two");
        assert_int_equal(b.at_ms - start_ms, 1);
        assert_int_equal(c.exit_code, 3);
        assert_null(start_child(&a, l, "ssh", 0, &err));
        assert_int_equal(err.code, ERR_NOTFOUND);
}

static void a_scripted_child_has_a_deadline_and_caps(void **state) {
        struct loop *l = *state;
        struct ended slow, loud;
        int64_t start_ms = loop_now_ms(l);

        loop_virtual_script_child(l, &(struct loop_child_script){ .argv0 = "slow", .takes_ms = HOUR });
        loop_virtual_script_child(
                l, &(struct loop_child_script){ .argv0 = "loud", .out = STR("12345"), .err = STR("abcde") });
        start_child(&slow, l, "slow", 0, NULL);
        start_child(&loud, l, "loud", 4, NULL);
        loop_run(l);

        assert_int_equal(slow.code, ERR_TIMEOUT);
        assert_int_equal(slow.at_ms - start_ms, 10 * SECOND);
        assert_int_equal(loud.code, ERR_LIMIT);
        assert_string_equal(loud.out, "1234");
        assert_string_equal(loud.err, "abcd");
}

static void a_cancelled_scripted_child_stays_silent_and_unused_scripts_are_freed(void **state) {
        struct loop *l = *state;
        struct ended e;

        loop_virtual_script_child(l, &(struct loop_child_script){ .argv0 = "a", .takes_ms = 5 });
        loop_virtual_script_child(l, &(struct loop_child_script){ .argv0 = "never", .out = STR("x") });
        loop_child_cancel(start_child(&e, l, "a", 0, NULL));
        loop_run(l);
        assert_int_equal(e.calls, 0);
        loop_child_cancel(NULL);
}

/* In a process of its own: it must abort. */
static int how_it_ends(void (*what)(struct loop *l), struct loop *l) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                close(2);
                what(l);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void watch_stdin(struct loop *l) {
        loop_io_new(l, 0, NULL, NULL);
}

static void watch_signal(struct loop *l) {
        loop_signal_new(l, SIGHUP, NULL, NULL);
}

static void hear_nothing(void *ctx, struct str bytes) {
        (void)ctx;
        (void)bytes;
}

static void talk_to_cat(struct loop *l) {
        const struct loop_child_spec spec = { .argv = (const char *const[]){ "cat", NULL }, .heard = hear_nothing };

        loop_child_start(l, &spec, NULL, NULL, NULL);
}

static void what_needs_descriptors_is_refused_in_virtual_time(void **state) {
        assert_int_equal(how_it_ends(watch_stdin, *state), SIGABRT);
        assert_int_equal(how_it_ends(watch_signal, *state), SIGABRT);
        assert_int_equal(how_it_ends(talk_to_cat, *state), SIGABRT);
}

#define ON(kind, claim) { #kind ": " #claim, claim, kind##_setup, teardown, NULL }
#define REAL(claim)     ON(real, claim)
#define VIRTUAL(claim)  ON(virtual, claim)
#define BOTH(claim)     REAL(claim), VIRTUAL(claim)

int main(void) {
        const struct CMUnitTest tests[] = {
                BOTH(an_empty_loop_ends_at_once),
                BOTH(stop_ends_a_run_with_timers_left),
                BOTH(a_stop_between_runs_ends_the_next_one),
                BOTH(run_for_tells_who_ended_it),
                BOTH(a_slow_callback_makes_a_long_turn_that_is_told_once),
                BOTH(random_stays_below_its_bound_and_reaches_all_of_it),
                BOTH(timers_fire_when_due_and_ties_in_the_order_of_their_start),
                BOTH(a_timer_never_fires_early),
                BOTH(a_stopped_timer_stays_silent_and_a_restarted_one_moves),
                BOTH(a_timer_may_free_itself_while_it_fires),
                BOTH(a_timer_freed_by_another_that_is_due_with_it_stays_silent),
                BOTH(a_timer_that_restarts_itself_at_once_starves_nobody),
                BOTH(thousands_of_moved_and_stopped_timers_keep_their_order),
                BOTH(a_post_runs_later_and_in_order),
                BOTH(posts_of_many_threads_all_arrive),
                BOTH(thousands_of_jobs_are_each_told_once),
                BOTH(a_cancelled_job_either_ran_or_was_dropped),
                BOTH(done_may_start_the_next_job),
                BOTH(freeing_the_loop_tells_every_job),
                BOTH(freeing_the_loop_drops_posts),
                REAL(thread_counts_out_of_bounds_are_refused),
                REAL(threads_have_stack_enough_whatever_the_limit_is),
                REAL(a_full_git_pool_does_not_hold_up_the_cpu_pool),
                REAL(a_job_cancelled_behind_a_full_pool_never_runs),
                REAL(a_post_wakes_a_waiting_loop),
                REAL(a_descriptor_calls_until_it_is_read_empty),
                REAL(the_clock_is_read_once_a_turn),
                REAL(a_descriptor_may_be_freed_and_closed_in_its_callback),
                REAL(what_comes_first_may_free_the_descriptor_that_is_ready),
                BOTH(what_comes_first_sees_the_clock_before_any_timer),
                REAL(a_closed_descriptors_number_can_be_watched_again_at_once),
                REAL(a_broken_pipe_is_told_to_its_writer_and_kills_nobody),
                REAL(a_signal_calls_back_but_does_not_keep_the_loop_going),
                REAL(wall_time_is_unix_time),
                VIRTUAL(hours_pass_in_no_time),
                VIRTUAL(what_came_due_while_it_stood_still_is_due_at_once),
                VIRTUAL(the_wall_clock_may_be_set_and_no_timer_notices),
                VIRTUAL(run_for_leaves_the_clock_at_the_end_of_the_span),
                VIRTUAL(what_is_ready_at_the_very_end_still_runs_and_what_is_not_does_not),
                VIRTUAL(the_clock_stands_while_anything_is_ready),
                VIRTUAL(a_job_cancelled_before_the_run_never_runs),
                VIRTUAL(the_seed_alone_decides_the_order_of_jobs),
                VIRTUAL(jobs_of_a_slow_pool_end_when_their_time_is_over),
                VIRTUAL(scripted_children_answer_in_order),
                VIRTUAL(a_scripted_child_has_a_deadline_and_caps),
                VIRTUAL(a_cancelled_scripted_child_stays_silent_and_unused_scripts_are_freed),
                VIRTUAL(what_needs_descriptors_is_refused_in_virtual_time),
        };

        return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
