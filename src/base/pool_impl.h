/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads for the real loop. libuv has one pool for the whole process; we need two that cannot starve each
 * other, and jobs that can be taken back while they wait.
 *
 * Jobs run in the order they were started. A finished or cancelled job comes back to the loop thread through
 * loop_post(). Everything here is called on the loop thread.
 */
#ifndef TRUCE_BASE_POOL_IMPL_H
#define TRUCE_BASE_POOL_IMPL_H

#include "base/limits.h"
#include "base/loop_impl.h"

#define POOL_MAX_THREADS 16
/* At least, whatever `ulimit -s` or the C library give: a script of health may need half of it (lua/script.h). */
#define POOL_STACK_BYTES ((size_t)2 * MIB)

struct pool_job;

struct pool {
        struct loop *loop;
        pthread_mutex_t lock;
        pthread_cond_t more;
        struct pool_job *first, *last; /* waiting jobs */
        bool closing;
        unsigned untold; /* jobs whose done() was not called yet; the loop thread's */
        pthread_t threads[POOL_MAX_THREADS];
        unsigned thread_count;
};

/* Starts `threads` (1 … POOL_MAX_THREADS) threads; INTERNAL or INVAL, and then nothing is left behind. */
int pool_init(struct pool *p, struct loop *l, unsigned threads, struct err *err);
/*
 * Drops all waiting jobs and waits for the running ones; their done() calls are posted. Jobs that such a call starts
 * are dropped as well.
 */
void pool_close(struct pool *p);
/* After pool_close(), when no job is left. */
void pool_done(struct pool *p);

struct loop_work *pool_start(struct pool *p, void (*run)(void *ctx), void (*done)(void *ctx, bool cancelled),
                             void *ctx);
void pool_cancel(struct loop_work *w);

#endif
