/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool_impl.h"

#include <signal.h>

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_DROPPED };

struct pool_job {
        struct loop_work work; /* first: the caller's handle */
        struct pool *pool;
        struct pool_job *next, *prev;
        enum job_state state; /* guarded by the pool's lock */
};

/* On the loop thread, by loop_post(). */
static void finish(void *ctx) {
        struct pool_job *job = ctx;

        job->work.loop->busy--;
        job->pool->untold--;
        job->work.done(job->work.ctx, job->state == JOB_DROPPED);
        free(job);
}

static void append(struct pool *p, struct pool_job *job) {
        job->prev = p->last;
        if (p->last)
                p->last->next = job;
        else
                p->first = job;
        p->last = job;
}

static void unlink_job(struct pool *p, struct pool_job *job) {
        if (job->prev)
                job->prev->next = job->next;
        else
                p->first = job->next;
        if (job->next)
                job->next->prev = job->prev;
        else
                p->last = job->prev;
}

static void drop(struct pool *p, struct pool_job *job) {
        unlink_job(p, job);
        job->state = JOB_DROPPED;
        loop_post(p->loop, finish, job);
}

/* The next job, or NULL when the pool closes. */
static struct pool_job *take(struct pool *p) {
        pthread_mutex_lock(&p->lock);
        while (!p->first && !p->closing)
                pthread_cond_wait(&p->more, &p->lock);

        struct pool_job *job = p->first;
        if (job) {
                unlink_job(p, job);
                job->state = JOB_RUNNING;
        }
        pthread_mutex_unlock(&p->lock);
        return job;
}

static void *thread_main(void *arg) {
        struct pool *p = arg;
        struct pool_job *job;

        while ((job = take(p))) {
                job->work.run(job->work.ctx);
                loop_post(p->loop, finish, job);
        }
        return NULL;
}

static void ask_for_stack(pthread_attr_t *attr) {
        size_t bytes;

        if (pthread_attr_getstacksize(attr, &bytes) == 0 && bytes < POOL_STACK_BYTES)
                pthread_attr_setstacksize(attr, POOL_STACK_BYTES);
}

/* Signals are the loop thread's: the new threads inherit a mask that blocks them all. */
static int start_threads(struct pool *p, unsigned threads) {
        sigset_t all, before;
        pthread_attr_t attr;
        int r = 0;

        pthread_attr_init(&attr);
        ask_for_stack(&attr);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        while (r == 0 && p->thread_count < threads) {
                r = pthread_create(&p->threads[p->thread_count], &attr, thread_main, p);
                if (r == 0)
                        p->thread_count++;
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attr);
        return r;
}

int pool_init(struct pool *p, struct loop *l, unsigned threads, struct err *err) {
        if (threads < 1 || threads > POOL_MAX_THREADS)
                return err_set(err, ERR_INVAL, "a pool has 1 to %d threads, not %u", POOL_MAX_THREADS, threads);

        *p = (struct pool){ .loop = l };
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->more, NULL);
        int r = start_threads(p, threads);
        if (r == 0)
                return 0;

        pool_close(p);
        pool_done(p);
        return err_set_errno(err, r, "cannot start a pool thread");
}

void pool_close(struct pool *p) {
        pthread_mutex_lock(&p->lock);
        p->closing = true;
        while (p->first)
                drop(p, p->first);
        pthread_cond_broadcast(&p->more);
        pthread_mutex_unlock(&p->lock);

        for (unsigned i = 0; i < p->thread_count; i++)
                pthread_join(p->threads[i], NULL);
}

void pool_done(struct pool *p) {
        pthread_cond_destroy(&p->more);
        pthread_mutex_destroy(&p->lock);
}

struct loop_work *pool_start(struct pool *p, void (*run)(void *ctx), void (*done)(void *ctx, bool cancelled),
                             void *ctx) {
        struct pool_job *job = mem_zalloc(sizeof *job);

        job->work = (struct loop_work){ .loop = p->loop, .run = run, .done = done, .ctx = ctx };
        job->pool = p;
        p->loop->busy++;
        p->untold++;
        pthread_mutex_lock(&p->lock);
        append(p, job);
        if (p->closing)
                drop(p, job);
        pthread_cond_signal(&p->more);
        pthread_mutex_unlock(&p->lock);
        return &job->work;
}

void pool_cancel(struct loop_work *w) {
        struct pool_job *job = CONTAINER_OF(w, struct pool_job, work);
        struct pool *p = job->pool;

        pthread_mutex_lock(&p->lock);
        if (job->state == JOB_WAITING)
                drop(p, job);
        pthread_mutex_unlock(&p->lock);
}
