/* SPDX-License-Identifier: Apache-2.0 */
/* The keyed queue, in virtual time: single promises, then all of them over random histories against a model. */
#include "agent/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/map.h"

#define MAX_RUNS 4096
#define CAP_MS   300000

struct run {
        char key;
        int64_t at_ms;
};

struct world {
        struct loop *loop;
        struct queue *queue;
        struct run runs[MAX_RUNS];
        size_t count;
        enum queue_end end;
        int64_t after_ms;
        bool hold; /* runs end when the test says so */
};

static void run(void *ctx, struct str key) {
        struct world *w = ctx;

        assert_true(w->count < MAX_RUNS);
        w->runs[w->count++] = (struct run){ key.p[0], loop_now_ms(w->loop) };
        if (!w->hold)
                queue_done(w->queue, key, w->end, w->after_ms);
}

static void begin(struct world *w, unsigned workers) {
        memset(w, 0, sizeof *w);
        w->loop = loop_new_virtual(1, 1000000);
        w->queue = queue_new(w->loop, &(struct queue_options){ workers, CAP_MS, run, w });
}

static void end(struct world *w) {
        queue_free(w->queue);
        loop_free(w->loop);
}

static void adds_while_a_key_waits_are_one_run(void **state) {
        struct world w;

        (void)state;
        begin(&w, 1);
        for (int i = 0; i < 5; i++)
                queue_add(w.queue, STR("a"), QUEUE_NOW);
        loop_run_for(w.loop, 1000);
        assert_int_equal(w.count, 1);
        end(&w);
}

static void adds_during_a_run_are_one_more_run_after_it(void **state) {
        struct world w;

        (void)state;
        begin(&w, 4);
        w.hold = true;
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        loop_run_for(w.loop, 10);
        for (int i = 0; i < 5; i++)
                queue_add(w.queue, STR("a"), QUEUE_NOW);
        loop_run_for(w.loop, 1000);
        assert_int_equal(w.count, 1);
        queue_done(w.queue, STR("a"), QUEUE_DONE, 0);
        loop_run_for(w.loop, 1000);
        assert_int_equal(w.count, 2);
        queue_done(w.queue, STR("a"), QUEUE_DONE, 0);
        loop_run_for(w.loop, 1000);
        assert_int_equal(w.count, 2);
        end(&w);
}

static void no_more_keys_run_at_once_than_there_are_workers(void **state) {
        struct world w;

        (void)state;
        begin(&w, 2);
        w.hold = true;
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        queue_add(w.queue, STR("b"), QUEUE_NOW);
        queue_add(w.queue, STR("c"), QUEUE_NOW);
        loop_run_for(w.loop, 1000);
        assert_int_equal(w.count, 2);
        queue_done(w.queue, STR("a"), QUEUE_DONE, 0);
        loop_run_for(w.loop, 1000);
        assert_int_equal(w.count, 3);
        assert_int_equal(w.runs[2].key, 'c');
        end(&w);
}

static void of_two_times_the_earlier_one_counts(void **state) {
        struct world w;
        int64_t start;

        (void)state;
        begin(&w, 1);
        start = loop_now_ms(w.loop);
        queue_add_after(w.queue, STR("a"), 500);
        queue_add_after(w.queue, STR("a"), 200);
        queue_add_after(w.queue, STR("a"), 900);
        loop_run_for(w.loop, 5000);
        assert_int_equal(w.count, 1);
        assert_int_equal(w.runs[0].at_ms - start, 200);
        end(&w);
}

static void failures_wait_longer_each_time_up_to_the_cap(void **state) {
        struct world w;
        int64_t want = QUEUE_FIRST_BACKOFF_MS;

        (void)state;
        begin(&w, 1);
        w.end = QUEUE_FAILED;
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        loop_run_for(w.loop, 30 * CAP_MS);
        for (size_t i = 1; i < 30; i++) {
                int64_t waited = w.runs[i].at_ms - w.runs[i - 1].at_ms;

                assert_true(waited >= want && waited <= want + want / 10 + 1);
                want = want * 2 < CAP_MS ? want * 2 : CAP_MS;
        }
        w.end = QUEUE_DONE;
        loop_run_for(w.loop, 2 * CAP_MS);
        assert_int_equal(queue_failures(w.queue, STR("a")), 0);
        end(&w);
}

static void a_failure_is_not_repeated_before_the_time_that_was_named(void **state) {
        struct world w;

        (void)state;
        begin(&w, 1);
        w.end = QUEUE_FAILED;
        w.after_ms = 60000;
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        loop_run_for(w.loop, 59999);
        assert_int_equal(w.count, 1);
        loop_run_for(w.loop, 2);
        assert_int_equal(w.count, 2);
        end(&w);
}

static void a_terminal_failure_stays_until_it_is_released(void **state) {
        struct world w;

        (void)state;
        begin(&w, 1);
        w.end = QUEUE_TERMINAL;
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        loop_run_for(w.loop, 1000);
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        queue_add_after(w.queue, STR("a"), 10);
        loop_run_for(w.loop, CAP_MS);
        assert_int_equal(w.count, 1);
        assert_true(queue_is_terminal(w.queue, STR("a")));
        w.end = QUEUE_DONE;
        queue_release(w.queue, STR("a"));
        loop_run_for(w.loop, 1000);
        assert_int_equal(w.count, 2);
        assert_false(queue_is_terminal(w.queue, STR("a")));
        end(&w);
}

static void a_release_during_the_run_is_not_lost(void **state) {
        struct world w;

        (void)state;
        begin(&w, 1);
        w.hold = true;
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        loop_run_for(w.loop, 10);
        queue_release(w.queue, STR("a"));
        queue_done(w.queue, STR("a"), QUEUE_TERMINAL, 0);
        loop_run_for(w.loop, 10);
        assert_int_equal(w.count, 2);
        end(&w);
}

/* One key of a low priority, and others that come and come. */
static void a_low_priority_is_late_but_does_not_starve(void **state) {
        struct world w;
        size_t at = 0;

        (void)state;
        begin(&w, 1);
        w.hold = true;
        queue_add(w.queue, STR("z"), QUEUE_NOW);
        loop_run_for(w.loop, 1);
        queue_add(w.queue, STR("a"), QUEUE_LATER);
        queue_add(w.queue, STR("b"), QUEUE_NOW);
        for (int i = 0; i < 300; i++) {
                char key[2] = { w.runs[w.count - 1].key, 0 };

                queue_add(w.queue, i % 2 ? STR("c") : STR("d"), QUEUE_NOW);
                loop_run_for(w.loop, 10);
                queue_done(w.queue, str_from(key), QUEUE_DONE, 0);
                loop_run_for(w.loop, 0);
        }
        while (at < w.count && w.runs[at].key != 'a')
                at++;
        assert_int_equal(w.runs[1].key, 'b');
        assert_true(at > 50 && at < 150);
        end(&w);
}

static void what_is_forgotten_does_not_run(void **state) {
        struct world w;

        (void)state;
        begin(&w, 1);
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        queue_add_after(w.queue, STR("b"), 10);
        queue_forget(w.queue, STR("a"));
        queue_forget(w.queue, STR("b"));
        loop_run_for(w.loop, 1000);
        assert_int_equal(w.count, 0);
        end(&w);
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

#define KEYS 6

/* What must be true of a key: is it under way; must it run again, and when at the latest. */
struct expected {
        bool running, owed;
        int64_t due_ms; /* -1: no time was named */
};

struct model {
        struct loop *loop;
        struct queue *queue;
        struct expected keys[KEYS];
        unsigned running, workers;
        size_t runs;
};

static void model_run(void *ctx, struct str key) {
        struct model *m = ctx;
        struct expected *e = &m->keys[key.p[0] - 'a'];

        assert_false(e->running);
        assert_true(e->owed || (e->due_ms >= 0 && e->due_ms <= loop_now_ms(m->loop)));
        *e = (struct expected){ .running = true, .due_ms = -1 };
        assert_true(++m->running <= m->workers);
        m->runs++;
}

static void name_time(struct expected *e, int64_t due_ms) {
        if (e->due_ms < 0 || due_ms < e->due_ms)
                e->due_ms = due_ms;
}

static void end_run(struct model *m, char letter) {
        struct expected *e = &m->keys[letter - 'a'];
        struct str key = { &letter, 1 };
        int64_t now = loop_now_ms(m->loop), after = (int64_t)loop_random(m->loop, 200);
        enum queue_end how = (enum queue_end)loop_random(m->loop, QUEUE_TERMINAL);

        if (!e->running)
                return;
        e->running = false;
        m->running--;
        if (how == QUEUE_AGAIN)
                name_time(e, now + after);
        if (how == QUEUE_FAILED) /* some time, at the latest after the cap and its jitter */
                name_time(e, now);
        queue_done(m->queue, key, how, how == QUEUE_AGAIN ? after : 0);
}

static void step(struct model *m) {
        char letter = (char)('a' + loop_random(m->loop, KEYS));
        struct expected *e = &m->keys[letter - 'a'];
        struct str key = { &letter, 1 };
        int64_t delay = (int64_t)loop_random(m->loop, 300);

        switch (loop_random(m->loop, 4)) {
        case 0:
                e->owed = true;
                queue_add(m->queue, key, loop_random(m->loop, 2) ? QUEUE_NOW : QUEUE_LATER);
                break;
        case 1:
                name_time(e, loop_now_ms(m->loop) + delay);
                queue_add_after(m->queue, key, delay);
                break;
        case 2:
                end_run(m, letter);
                break;
        default:
                loop_run_for(m->loop, (int64_t)loop_random(m->loop, 50));
        }
}

static void random_histories_keep_every_promise(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 200; seed++) {
                struct model m = { .loop = loop_new_virtual(seed, 1000000), .workers = 1 + (unsigned)(seed % 4) };

                for (size_t i = 0; i < KEYS; i++)
                        m.keys[i].due_ms = -1;
                m.queue = queue_new(m.loop, &(struct queue_options){ m.workers, 1000, model_run, &m });
                for (int i = 0; i < 1000; i++)
                        step(&m);
                /* Nothing that is owed is lost: let all end well. */
                for (int i = 0; i < 100; i++) {
                        for (char c = 'a'; c < 'a' + KEYS; c++) {
                                struct expected *e = &m.keys[c - 'a'];

                                if (!e->running)
                                        continue;
                                e->running = false;
                                m.running--;
                                queue_done(m.queue, (struct str){ &c, 1 }, QUEUE_DONE, 0);
                        }
                        loop_run_for(m.loop, 2000);
                }
                for (size_t i = 0; i < KEYS; i++)
                        assert_false(m.keys[i].running || m.keys[i].owed || m.keys[i].due_ms >= 0);
                assert_true(m.runs > 15);
                queue_free(m.queue);
                loop_free(m.loop);
        }
}

static void numbers_add_up(void **state) {
        struct world w;
        struct queue_stats s;

        (void)state;
        begin(&w, 3);
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        queue_add(w.queue, STR("a"), QUEUE_NOW);
        loop_run_for(w.loop, 10);
        w.hold = true;
        queue_add(w.queue, STR("b"), QUEUE_NOW);
        loop_run_for(w.loop, 250);
        queue_stats(w.queue, &s);
        assert_int_equal(s.adds, 3);
        assert_int_equal(s.active, 1);
        assert_int_equal(s.workers, 3);
        assert_int_equal(s.ends[QUEUE_DONE], 1);
        assert_int_equal(s.worked.count, 1);
        assert_int_equal(s.waited.count, 2);
        assert_true(s.longest_ms >= 249 && s.unfinished_ms == s.longest_ms);
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(adds_while_a_key_waits_are_one_run),
                cmocka_unit_test(adds_during_a_run_are_one_more_run_after_it),
                cmocka_unit_test(no_more_keys_run_at_once_than_there_are_workers),
                cmocka_unit_test(of_two_times_the_earlier_one_counts),
                cmocka_unit_test(failures_wait_longer_each_time_up_to_the_cap),
                cmocka_unit_test(a_failure_is_not_repeated_before_the_time_that_was_named),
                cmocka_unit_test(a_terminal_failure_stays_until_it_is_released),
                cmocka_unit_test(a_release_during_the_run_is_not_lost),
                cmocka_unit_test(a_low_priority_is_late_but_does_not_starve),
                cmocka_unit_test(what_is_forgotten_does_not_run),
                cmocka_unit_test(random_histories_keep_every_promise),
                cmocka_unit_test(numbers_add_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
