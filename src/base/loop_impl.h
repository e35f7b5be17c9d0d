/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two loops share (loop.c): timers, posted calls, the turn, the pseudo-random numbers. An implementation adds
 * how to wait, what the time is, and the things that come from outside: descriptors, pools, children, signals.
 *
 * One turn is: wait (descriptors and signals call back in there), fire the timers that are due, run the calls that
 * were posted before this point. What a callback starts belongs to a later turn, so nothing can starve the rest.
 *
 * loop_run() ends when no timer runs, no call is posted and `busy` is 0. Jobs not yet done and descriptors with wanted
 * events count as busy; signals do not; a child is kept alive by its deadline's timer, a conversation
 * is busy.
 */
#ifndef TRUCE_BASE_LOOP_IMPL_H
#define TRUCE_BASE_LOOP_IMPL_H

#include <pthread.h>

#include "base/loop.h"

#define LOOP_NEVER_MS INT64_MAX

struct loop_ops {
        bool is_virtual;
        void (*free)(struct loop *l);
        /*
         * Waits until something happens, but not beyond `until_ms`; a moment that has passed means: only look. Sets
         * l->now_ms, and calls loop_turn_begin() before the first callback.
         */
        void (*wait)(struct loop *l, int64_t until_ms);
        /* Makes wait() return soon; any thread. NULL: nothing ever waits. */
        void (*wake)(struct loop *l);
        /* The clock as it is now; loop_now_ms() of a run that is going on is l->now_ms. */
        int64_t (*now_ms)(const struct loop *l);
        int64_t (*wall_ms)(const struct loop *l);
        struct loop_io *(*io_new)(struct loop *l, int fd, void (*ready)(void *ctx, unsigned events), void *ctx);
        struct loop_work *(*work_start)(struct loop *l, enum loop_pool pool, void (*run)(void *ctx),
                                        void (*done)(void *ctx, bool cancelled), void *ctx);
        struct loop_child *(*child_start)(struct loop *l, const struct loop_child_spec *spec,
                                          void (*done)(void *ctx, const struct loop_child_result *result,
                                                       const struct err *err),
                                          void *ctx, struct err *err);
        struct loop_signal *(*signal_new)(struct loop *l, int signum, void (*fire)(void *ctx, int signum), void *ctx);
        void (*io_want)(struct loop_io *io, unsigned events);
        void (*io_free)(struct loop_io *io);
        void (*work_cancel)(struct loop_work *w);
        void (*child_cancel)(struct loop_child *c);
        int (*child_write)(struct loop_child *c, struct str bytes, struct err *err); /* of the real loop only */
        void (*child_close_input)(struct loop_child *c);                             /* likewise */
        void (*signal_free)(struct loop_signal *s);
};

struct loop_post {
        struct loop_post *next;
        void (*fn)(void *ctx);
        void *ctx;
};

/* An implementation embeds this as its first member. */
struct loop {
        const struct loop_ops *ops;
        int64_t now_ms;
        uint64_t random;

        /* A binary heap by (due_ms, seq): timers that are due together fire in the order they were started. */
        struct loop_timer **timers;
        size_t timer_count, timer_cap;
        uint64_t timer_seq;

        pthread_mutex_t post_lock; /* guards the two below, nothing else */
        struct loop_post *posts, **last_post;

        unsigned busy; /* what else may call back */

        struct real_child *children;   /* child.c: those not reaped yet */
        struct loop_signal *child_sig; /* NULL before the first child */

        void (*on_turn)(void *ctx); /* NULL: nothing comes first */
        void *on_turn_ctx;

        bool running, stopped;
        bool in_turn;
        int64_t turn_began_us, longest_turn_us;
};

/* Heads of the things an implementation makes; embedded as the first member. */
struct loop_io {
        struct loop *loop;
        void (*ready)(void *ctx, unsigned events);
        void *ctx;
};
struct loop_work {
        struct loop *loop;
        void (*run)(void *ctx);
        void (*done)(void *ctx, bool cancelled);
        void *ctx;
};
struct loop_child {
        struct loop *loop;
        void (*done)(void *ctx, const struct loop_child_result *result, const struct err *err);
        void *ctx;
};
struct loop_signal {
        struct loop *loop;
        void (*fire)(void *ctx, int signum);
        void *ctx;
};

void loop_init(struct loop *l, const struct loop_ops *ops, uint64_t seed, int64_t now_ms);
/* Drops calls that are still posted and frees what loop_init() made, but not `l` itself. */
void loop_done(struct loop *l);
/*
 * Something is about to call back: the clock is read, the turn's length counts from here, and what comes first in a
 * turn is called, which may have freed what is about to call. Does nothing within a turn.
 */
void loop_turn_begin(struct loop *l, int64_t now_ms);
/* Runs the calls that are posted by now. */
void loop_run_posts(struct loop *l);

#endif
