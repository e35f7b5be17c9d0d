/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time: nothing ever waits. Each turn takes one step of one job, drawn from the seed, while there are jobs
 * (running it and telling its owner are two steps, as two threads would interleave them); when there are none and
 * nothing else is ready, the clock jumps to the next timer.
 */
#include "base/loop_impl.h"

#include <assert.h>

#include "base/child_impl.h"
#include "base/limits.h"

/* Not 0: a moment of 0 is "never" in more than one struct. */
#define START_MS 1000000

struct virtual_work {
        struct loop_work work;
        size_t place; /* in loop_virtual.jobs, or in .slow */
        enum { WORK_WAITING, WORK_RAN, WORK_DROPPED, WORK_TOLD } state;
        enum loop_pool pool;
        struct loop_timer *end; /* of a slow one that ran */
};

struct script {
        struct script *next;
        char *argv0;
        int64_t takes_ms;
        int exit_code;
        char *out, *err;
        size_t out_bytes, err_bytes;
};

struct virtual_child {
        struct loop_child head;
        struct loop_timer *timer;
        struct script *script;
        bool is_told;
        struct err failure; /* code ERR_OK: none */
};

struct loop_virtual {
        struct loop base;
        int64_t wall_minus_now_ms;
        struct virtual_work **jobs;
        size_t job_count, job_cap;
        struct virtual_work **slow; /* they ran, and their time is not over */
        size_t slow_count, slow_cap;
        int64_t takes_ms[LOOP_POOL_GIT + 1];
        struct script *scripts, **last_script;
};

static struct loop_virtual *of_loop(const struct loop *l) {
        return CONTAINER_OF(l, struct loop_virtual, base);
}

static _Noreturn void only_real(const char *what) {
        fprintf(stderr, "loop: there are no %s in virtual time\n", what);
        abort();
}

/* ---- time ---- */

static int64_t virtual_now_ms(const struct loop *l) {
        return l->now_ms;
}

static int64_t virtual_wall_ms(const struct loop *l) {
        return l->now_ms + of_loop(l)->wall_minus_now_ms;
}

void loop_virtual_stand_still(struct loop *base, int64_t ms) {
        assert(base->ops->is_virtual && !base->running);
        base->now_ms += ms;
}

void loop_virtual_set_wall(struct loop *base, int64_t by_ms) {
        assert(base->ops->is_virtual);
        of_loop(base)->wall_minus_now_ms += by_ms;
}

static void step_job(struct loop_virtual *l);

static void virtual_wait(struct loop *base, int64_t until_ms) {
        struct loop_virtual *l = of_loop(base);
        bool may_jump = l->job_count == 0 && until_ms > base->now_ms && until_ms != LOOP_NEVER_MS;

        loop_turn_begin(base, may_jump ? until_ms : base->now_ms);
        if (l->job_count > 0)
                step_job(l);
}

/* ---- work ---- */

static void forget_job(struct loop_virtual *l, struct virtual_work *v) {
        struct virtual_work **list = v->end ? l->slow : l->jobs;
        size_t *count = v->end ? &l->slow_count : &l->job_count;

        list[v->place] = list[--*count];
        list[v->place]->place = v->place;
        if (!v->end)
                l->base.busy--;
}

static void tell_job(struct loop_virtual *l, struct virtual_work *v) {
        bool dropped = v->state == WORK_DROPPED;

        forget_job(l, v);
        v->state = WORK_TOLD;
        v->work.done(v->work.ctx, dropped);
        loop_timer_free(v->end);
        free(v);
}

static void on_slow_end(void *ctx) {
        struct virtual_work *v = ctx;

        tell_job(of_loop(v->work.loop), v);
}

/* Not busy any more: the timer keeps the loop going, and the clock may jump. */
static void wait_for_end(struct loop_virtual *l, struct virtual_work *v) {
        forget_job(l, v);
        v->end = loop_timer_new(&l->base, on_slow_end, v);
        loop_timer_start(v->end, l->takes_ms[v->pool]);
        v->place = l->slow_count;
        l->slow = mem_grow(l->slow, &l->slow_cap, l->slow_count + 1, sizeof *l->slow);
        l->slow[l->slow_count++] = v;
}

static void step_job(struct loop_virtual *l) {
        struct virtual_work *v = l->jobs[loop_random(&l->base, l->job_count)];

        if (v->state == WORK_WAITING) {
                v->work.run(v->work.ctx);
                v->state = WORK_RAN;
                if (l->takes_ms[v->pool] > 0)
                        wait_for_end(l, v);
        } else {
                tell_job(l, v);
        }
}

static struct loop_work *virtual_work_start(struct loop *base, enum loop_pool pool, void (*run)(void *ctx),
                                            void (*done)(void *ctx, bool cancelled), void *ctx) {
        struct loop_virtual *l = of_loop(base);
        struct virtual_work *v = mem_zalloc(sizeof *v);

        v->pool = pool;
        v->work = (struct loop_work){ .loop = base, .run = run, .done = done, .ctx = ctx };
        v->place = l->job_count;
        l->jobs = mem_grow(l->jobs, &l->job_cap, l->job_count + 1, sizeof *l->jobs);
        l->jobs[l->job_count++] = v;
        base->busy++;
        return &v->work;
}

static void virtual_work_cancel(struct loop_work *w) {
        struct virtual_work *v = CONTAINER_OF(w, struct virtual_work, work);

        if (v->state == WORK_WAITING)
                v->state = WORK_DROPPED;
}

void loop_virtual_slow_pool(struct loop *base, enum loop_pool pool, int64_t takes_ms) {
        assert(base->ops->is_virtual);
        of_loop(base)->takes_ms[pool] = takes_ms;
}

/* ---- children ---- */

void loop_virtual_script_child(struct loop *base, const struct loop_child_script *script) {
        struct loop_virtual *l = of_loop(base);
        struct script *s = mem_zalloc(sizeof *s);

        assert(base->ops->is_virtual);
        *s = (struct script){
                .argv0 = str_dup(str_from(script->argv0)),
                .takes_ms = script->takes_ms,
                .exit_code = script->exit_code,
                .out = str_dup(script->out),
                .err = str_dup(script->err),
                .out_bytes = script->out.n,
                .err_bytes = script->err.n,
        };
        *l->last_script = s;
        l->last_script = &s->next;
}

static void script_free(struct script *s) {
        free(s->argv0);
        free(s->out);
        free(s->err);
        free(s);
}

static struct script *take_script(struct loop_virtual *l, const char *argv0) {
        for (struct script **here = &l->scripts; *here; here = &(*here)->next) {
                struct script *s = *here;

                if (!str_eqc(str_from(argv0), s->argv0))
                        continue;
                *here = s->next;
                if (l->last_script == &s->next)
                        l->last_script = here;
                return s;
        }
        return NULL;
}

static void virtual_child_free(struct virtual_child *c) {
        loop_timer_free(c->timer);
        script_free(c->script);
        free(c);
}

static void on_child_end(void *ctx) {
        struct virtual_child *c = ctx;
        const struct loop_child_result result = {
                .exit_code = c->script->exit_code,
                .out = { c->script->out, c->script->out_bytes },
                .err = { c->script->err, c->script->err_bytes },
        };

        c->is_told = true;
        c->head.done(c->head.ctx, &result, c->failure.code == ERR_OK ? NULL : &c->failure);
        virtual_child_free(c);
}

/* The caps and the deadline of `spec` bite as they do on a real child. */
static void bound_child(struct virtual_child *c, const struct loop_child_spec *spec) {
        struct script *s = c->script;
        size_t max_out = spec->max_stdout_bytes ? spec->max_stdout_bytes : CHILD_MAX_OUTPUT_BYTES;
        size_t max_err = spec->max_stderr_bytes ? spec->max_stderr_bytes : CHILD_MAX_STDERR_BYTES;

        if (s->err_bytes > max_err)
                s->err_bytes = max_err;
        if (s->out_bytes > max_out) {
                s->out_bytes = max_out;
                s->exit_code = 128 + 9;
                child_err_output(s->argv0, max_out, &c->failure);
        }
        if (s->takes_ms > spec->deadline_ms) {
                s->takes_ms = spec->deadline_ms;
                s->exit_code = 128 + 15;
                child_err_deadline(s->argv0, spec->deadline_ms, &c->failure);
        }
}

static struct loop_child *virtual_child_start(struct loop *l, const struct loop_child_spec *spec,
                                              void (*done)(void *ctx, const struct loop_child_result *result,
                                                           const struct err *err),
                                              void *ctx, struct err *err) {
        if (spec->heard)
                only_real("conversations with children");

        struct script *s = take_script(of_loop(l), spec->argv[0]);
        if (!s) {
                err_set(err, ERR_NOTFOUND, "cannot run %s: no script of it is left", spec->argv[0]);
                return NULL;
        }

        struct virtual_child *c = mem_zalloc(sizeof *c);
        c->head = (struct loop_child){ .loop = l, .done = done, .ctx = ctx };
        c->script = s;
        c->timer = loop_timer_new(l, on_child_end, c);
        bound_child(c, spec);
        loop_timer_start(c->timer, s->takes_ms);
        return &c->head;
}

static void virtual_child_cancel(struct loop_child *head) {
        struct virtual_child *c = CONTAINER_OF(head, struct virtual_child, head);

        if (!c->is_told)
                virtual_child_free(c);
}

/* ---- what does not exist here ---- */

static struct loop_io *virtual_io_new(struct loop *l, int fd, void (*ready)(void *ctx, unsigned events), void *ctx) {
        (void)l;
        (void)fd;
        (void)ready;
        (void)ctx;
        only_real("descriptors");
}

static struct loop_signal *virtual_signal_new(struct loop *l, int signum, void (*fire)(void *ctx, int signum),
                                              void *ctx) {
        (void)l;
        (void)signum;
        (void)fire;
        (void)ctx;
        only_real("signals");
}

/* ---- life cycle ---- */

/* As on the real loop: no run() begins any more, but every done() is called. */
static void finish_jobs(struct loop_virtual *l) {
        while (l->job_count > 0) {
                struct virtual_work *v = l->jobs[l->job_count - 1];

                virtual_work_cancel(&v->work);
                tell_job(l, v);
        }
        while (l->slow_count > 0)
                tell_job(l, l->slow[l->slow_count - 1]);
}

static void virtual_free(struct loop *base) {
        struct loop_virtual *l = of_loop(base);

        finish_jobs(l);
        while (l->scripts) {
                struct script *s = l->scripts;

                l->scripts = s->next;
                script_free(s);
        }
        free(l->jobs);
        free(l->slow);
        loop_done(base);
        free(l);
}

static const struct loop_ops virtual_ops = {
        .is_virtual = true,
        .free = virtual_free,
        .wait = virtual_wait,
        .now_ms = virtual_now_ms,
        .wall_ms = virtual_wall_ms,
        .io_new = virtual_io_new,
        .work_start = virtual_work_start,
        .work_cancel = virtual_work_cancel,
        .child_start = virtual_child_start,
        .child_cancel = virtual_child_cancel,
        .signal_new = virtual_signal_new,
};

struct loop *loop_new_virtual(uint64_t seed, int64_t start_wall_ms) {
        struct loop_virtual *l = mem_zalloc(sizeof *l);

        loop_init(&l->base, &virtual_ops, seed, START_MS);
        l->wall_minus_now_ms = start_wall_ms - START_MS;
        l->last_script = &l->scripts;
        return &l->base;
}
