/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real loop. libuv does the waiting: descriptors, signals, and the wake-up from other threads. Timers are our own
 * (loop.c) and wait on one timerfd, because libuv's clock stands still while the machine is suspended and a lease or
 * a deadline does not.
 *
 * libuv forgets a handle only in a later turn: what is freed here is closed, and its memory goes in the close callback.
 */
#include "base/loop_impl.h"

#include <errno.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <uv.h>

#include "base/child_impl.h"
#include "base/pool_impl.h"

struct loop_uv {
        struct loop base;
        uv_loop_t uv;
        uv_async_t wake;
        uv_poll_t alarm;
        int alarm_fd;
        int64_t alarm_ms; /* what alarm_fd is set to; LOOP_NEVER_MS: nothing */
        struct pool pools[2];
};

struct real_io {
        struct loop_io io;
        uv_poll_t poll;
        unsigned wanted;
};

struct real_sig {
        struct loop_signal sig;
        uv_signal_t handle;
};

static struct loop_uv *of_loop(struct loop *l) {
        return CONTAINER_OF(l, struct loop_uv, base);
}

/* libuv fails here only when memory or descriptors are out, or a caller broke a rule of loop.h. */
static void must(int r, const char *what) {
        if (r >= 0)
                return;
        fprintf(stderr, "loop: %s: %s\n", what, uv_strerror(r));
        abort();
}

/* ---- waiting ---- */

static int64_t clock_ms(clockid_t id) {
        struct timespec ts;

        clock_gettime(id, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t real_now_ms(const struct loop *l) {
        (void)l;
        return clock_ms(CLOCK_BOOTTIME);
}

static int64_t real_wall_ms(const struct loop *l) {
        (void)l;
        return clock_ms(CLOCK_REALTIME);
}

static void begin(struct loop *l) {
        if (!l->in_turn)
                loop_turn_begin(l, real_now_ms(l));
}

/* The same for what a handle tells; false: what comes first in the turn has freed its owner. */
static bool begin_with(struct loop *l, const void *handle) {
        begin(l);
        return !uv_is_closing(handle);
}

static void set_alarm(struct loop_uv *l, int64_t at_ms) {
        const struct itimerspec when = { .it_value = { .tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000 } };

        if (l->alarm_ms == at_ms)
                return;
        must(timerfd_settime(l->alarm_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0 ? -errno : 0, "timerfd_settime");
        l->alarm_ms = at_ms;
}

static void on_alarm(uv_poll_t *poll, int status, int events) {
        struct loop_uv *l = poll->data;
        uint64_t expirations;

        (void)status;
        (void)events;
        /* Only to make it unreadable; loop.c looks at the clock itself. */
        if (read(l->alarm_fd, &expirations, sizeof expirations) > 0)
                l->alarm_ms = LOOP_NEVER_MS;
}

static void real_wait(struct loop *base, int64_t until_ms) {
        struct loop_uv *l = of_loop(base);
        bool may_wait = until_ms > real_now_ms(base);

        if (may_wait && until_ms != LOOP_NEVER_MS)
                set_alarm(l, until_ms);
        uv_run(&l->uv, may_wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
        begin(base);
}

static void real_wake(struct loop *l) {
        uv_async_send(&of_loop(l)->wake);
}

/* The posted calls themselves run in the turn; this only ends the wait. */
static void on_wake(uv_async_t *wake) {
        (void)wake;
}

/* ---- descriptors ---- */

static void free_data(uv_handle_t *handle) {
        free(handle->data);
}

static void on_ready(uv_poll_t *poll, int status, int events) {
        struct real_io *u = poll->data;
        unsigned ready = 0;

        if (!begin_with(u->io.loop, poll))
                return;
        if (events & UV_READABLE)
                ready |= LOOP_IO_READ;
        if (events & UV_WRITABLE)
                ready |= LOOP_IO_WRITE;
        if (status < 0) {
                /* libuv stopped the handle. The owner's next read or write will tell what is wrong; keep watching. */
                unsigned wanted = u->wanted;

                ready = wanted;
                u->wanted = 0;
                u->io.loop->busy--;
                loop_io_want(&u->io, wanted);
        }
        u->io.ready(u->io.ctx, ready);
}

static struct loop_io *real_io_new(struct loop *l, int fd, void (*ready)(void *ctx, unsigned events), void *ctx) {
        struct real_io *u = mem_zalloc(sizeof *u);

        u->io = (struct loop_io){ .loop = l, .ready = ready, .ctx = ctx };
        must(uv_poll_init(&of_loop(l)->uv, &u->poll, fd), "watching a descriptor");
        u->poll.data = u;
        return &u->io;
}

static void real_io_want(struct loop_io *io, unsigned events) {
        struct real_io *u = CONTAINER_OF(io, struct real_io, io);
        int uv_events = (events & LOOP_IO_READ ? UV_READABLE : 0) | (events & LOOP_IO_WRITE ? UV_WRITABLE : 0);

        if (events == u->wanted)
                return;
        io->loop->busy += (events != 0) - (u->wanted != 0);
        u->wanted = events;
        must(events ? uv_poll_start(&u->poll, uv_events, on_ready) : uv_poll_stop(&u->poll), "watching a descriptor");
}

static void real_io_free(struct loop_io *io) {
        struct real_io *u = CONTAINER_OF(io, struct real_io, io);

        real_io_want(io, 0);
        uv_close((uv_handle_t *)&u->poll, free_data);
}

/* ---- work ---- */

static struct loop_work *real_work_start(struct loop *l, enum loop_pool pool, void (*run)(void *ctx),
                                       void (*done)(void *ctx, bool cancelled), void *ctx) {
        return pool_start(&of_loop(l)->pools[pool], run, done, ctx);
}

/* ---- signals ---- */

static void on_signal(uv_signal_t *handle, int signum) {
        struct real_sig *u = handle->data;

        if (begin_with(u->sig.loop, handle))
                u->sig.fire(u->sig.ctx, signum);
}

static struct loop_signal *real_sig_new(struct loop *l, int signum, void (*fire)(void *ctx, int signum), void *ctx) {
        struct real_sig *u = mem_zalloc(sizeof *u);

        u->sig = (struct loop_signal){ .loop = l, .fire = fire, .ctx = ctx };
        must(uv_signal_init(&of_loop(l)->uv, &u->handle), "watching a signal");
        u->handle.data = u;
        must(uv_signal_start(&u->handle, on_signal, signum), "watching a signal");
        return &u->sig;
}

static void real_sig_free(struct loop_signal *s) {
        struct real_sig *u = CONTAINER_OF(s, struct real_sig, sig);

        uv_close((uv_handle_t *)&u->handle, free_data);
}

/* ---- life cycle ---- */

static void close_uv(struct loop_uv *l) {
        if (l->alarm_fd >= 0) {
                uv_close((uv_handle_t *)&l->alarm, NULL);
                close(l->alarm_fd);
        }
        uv_close((uv_handle_t *)&l->wake, NULL);
        uv_run(&l->uv, UV_RUN_DEFAULT);
        must(uv_loop_close(&l->uv), "freeing a loop with things still on it");
}

static void real_free(struct loop *base) {
        struct loop_uv *l = of_loop(base);

        for (size_t i = 0; i < ARRAY_LEN(l->pools); i++)
                pool_close(&l->pools[i]);
        /* Every job's done() is called, whatever happens: its memory is freed there. */
        while (l->pools[LOOP_POOL_CPU].untold + l->pools[LOOP_POOL_GIT].untold > 0)
                loop_run_posts(base);
        for (size_t i = 0; i < ARRAY_LEN(l->pools); i++)
                pool_done(&l->pools[i]);
        child_done_all(base);
        close_uv(l);
        loop_done(base);
        free(l);
}

static const struct loop_ops real_ops = {
        .free = real_free,
        .wait = real_wait,
        .wake = real_wake,
        .now_ms = real_now_ms,
        .wall_ms = real_wall_ms,
        .io_new = real_io_new,
        .io_want = real_io_want,
        .io_free = real_io_free,
        .work_start = real_work_start,
        .work_cancel = pool_cancel,
        .child_start = child_start,
        .child_cancel = child_cancel,
        .child_write = child_write,
        .child_close_input = child_close_input,
        .signal_new = real_sig_new,
        .signal_free = real_sig_free,
};

static int open_uv(struct loop_uv *l, struct err *err) {
        int r = uv_loop_init(&l->uv);

        if (r < 0)
                return err_set_errno(err, -r, "cannot start the event loop");
        r = uv_async_init(&l->uv, &l->wake, on_wake);
        if (r < 0) {
                uv_loop_close(&l->uv);
                return err_set_errno(err, -r, "cannot start the event loop");
        }
        l->alarm_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
        if (l->alarm_fd < 0) {
                r = err_set_errno(err, errno, "cannot create a timer");
                close_uv(l);
                return r;
        }
        must(uv_poll_init(&l->uv, &l->alarm, l->alarm_fd), "watching the timer");
        l->alarm.data = l;
        must(uv_poll_start(&l->alarm, UV_READABLE, on_alarm), "watching the timer");
        return 0;
}

static int open_pools(struct loop_uv *l, unsigned cpu_threads, unsigned git_threads, struct err *err) {
        int r = pool_init(&l->pools[LOOP_POOL_CPU], &l->base, cpu_threads, err);

        if (r < 0)
                return r;
        r = pool_init(&l->pools[LOOP_POOL_GIT], &l->base, git_threads, err);
        if (r < 0) {
                pool_close(&l->pools[LOOP_POOL_CPU]);
                pool_done(&l->pools[LOOP_POOL_CPU]);
        }
        return r;
}

static uint64_t random_seed(void) {
        uint64_t seed;

        if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
                seed = (uint64_t)clock_ms(CLOCK_REALTIME) ^ (uint64_t)getpid() << 32;
        return seed;
}

struct loop *loop_new(unsigned cpu_threads, unsigned git_threads, struct err *err) {
        struct loop_uv *l = mem_zalloc(sizeof *l);

        l->alarm_ms = LOOP_NEVER_MS;
        if (open_uv(l, err) < 0) {
                free(l);
                return NULL;
        }
        loop_init(&l->base, &real_ops, random_seed(), 0);
        if (open_pools(l, cpu_threads, git_threads, err) < 0) {
                close_uv(l);
                loop_done(&l->base);
                free(l);
                return NULL;
        }
        /* A peer that hangs up is an EPIPE for whoever wrote, not the end of the process. */
        signal(SIGPIPE, SIG_IGN);
        return &l->base;
}
