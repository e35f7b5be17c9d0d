/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: the one thread that owns all state of an agent, and everything it may wait for: timers, descriptors,
 * posted calls, pool work, child processes, signals. First of the three seams (docs/ARCHITECTURE.md).
 *
 * Two implementations stand behind the same functions: the real one on libuv (loop_new), and virtual time for tests
 * (loop_new_virtual): there the clock stands still while anything is ready to run and jumps to the next timer when
 * nothing is, pool work runs inside the loop in an order drawn from the seed, and children are scripted by the test.
 *
 * Rules: every function is called on the loop's thread, save loop_post() and work functions. A callback never runs
 * inside the call that started it: timers and posts that a callback starts wait for the next turn. After _free() or
 * _cancel() of a thing no callback of it runs any more (jobs are the exception, see there). Timers, descriptors and
 * signals are freed by the caller; jobs and children are gone when their done() returns. libuv's close callbacks are
 * hidden inside. Callbacks may free or cancel the thing they are called for. Out of memory or descriptors aborts,
 * except where a function takes `err`.
 */
#ifndef TRUCE_BASE_LOOP_H
#define TRUCE_BASE_LOOP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"

struct loop;

/* The real loop. `cpu_threads` and `git_threads` (1 … 16) size the two pools. NULL and *err when libuv refuses. */
struct loop *loop_new(unsigned cpu_threads, unsigned git_threads, struct err *err);
/* Virtual time from `start_wall_ms`; never fails. */
struct loop *loop_new_virtual(uint64_t seed, int64_t start_wall_ms);
/*
 * Timers, descriptors and signals must have been freed. Queued jobs are dropped and running ones waited for, and every
 * done() is called in here; children are killed and reaped without a word; calls still posted may be dropped. Not to be
 * called in a callback. No other thread may still post.
 */
void loop_free(struct loop *l);
DEFINE_CLEANUP(struct loop *, loop_free)

/*
 * Runs until loop_stop(), or until nothing is left that could ever call back: no running timer, posted call, job or
 * child, and no descriptor with wanted events. Signals alone do not keep it going. May be called again later.
 */
void loop_run(struct loop *l);
/* Ends the run at the end of this turn. When none is going on, the next one ends at once. */
void loop_stop(struct loop *l);
/*
 * As loop_run(), but at most `ms` of the loop's time, for tests and one-shot commands; true when loop_stop() ended it.
 * In virtual time what is ready at the last moment still runs, and unless stopped the clock stands at the end of the
 * span afterwards, also when nothing was left to do.
 */
bool loop_run_for(struct loop *l, int64_t ms);

/*
 * Monotonic ms that also count suspend (CLOCK_BOOTTIME), never 0; virtual: the virtual clock. While the loop runs it
 * is read once a turn. Timers run on this clock: one that was started with d fires when it has advanced by at least d.
 */
int64_t loop_now_ms(const struct loop *l);
/* Unix time in ms, for people and for the API server. */
int64_t loop_wall_ms(const struct loop *l);
/*
 * fn(ctx) is called first in each turn, before anything that the turn brings, with the clock read anew: what must not go on
 * after the process stood still (SIGSTOP, a suspended machine) is ended there. It may free and cancel things, and must be
 * quick. One a loop; NULL: none.
 */
void loop_on_turn(struct loop *l, void (*fn)(void *ctx), void *ctx);
/* The longest turn since the last call of this function, in µs. */
int64_t loop_longest_turn_us(struct loop *l);
/* Uniform in [0, bound), 0 when bound is 0; from the seed in virtual time. Jitter comes from here and nowhere else. */
uint64_t loop_random(struct loop *l, uint64_t bound);

/*
 * Virtual time only, outside of loop_run(): the process stood still for `ms`. What came due meanwhile is due now, in its
 * order.
 */
void loop_virtual_stand_still(struct loop *l, int64_t ms);
/* Virtual time only: somebody set the wall clock by so much, which no timer notices. */
void loop_virtual_set_wall(struct loop *l, int64_t by_ms);

/*
 * Timers: one shot; start again to repeat. Starting a running timer moves it. Timers that are due together fire in the
 * order they were started. A negative delay is 0.
 */
struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *l, void (*fire)(void *ctx), void *ctx);
void loop_timer_start(struct loop_timer *t, int64_t delay_ms);
void loop_timer_stop(struct loop_timer *t);
bool loop_timer_is_running(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t);
DEFINE_CLEANUP(struct loop_timer *, loop_timer_free)

/* Calls fn(ctx) once in a later turn, in the order of the posts. The only function that any thread may call. */
void loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx);

/* Descriptors; not available in virtual time (aborts): what uses them has a twin of its own there. */
enum loop_io_events { LOOP_IO_READ = 1, LOOP_IO_WRITE = 2 };
struct loop_io;
struct loop_io *loop_io_new(struct loop *l, int fd, void (*ready)(void *ctx, unsigned events), void *ctx);
/*
 * Level-triggered; 0 pauses (as at birth). On an error of the descriptor ready() gets all wanted events: the next read
 * or write tells what it is. One loop_io per descriptor; it may be closed once loop_io_free() has returned.
 */
void loop_io_want(struct loop_io *io, unsigned events);
void loop_io_free(struct loop_io *io);
DEFINE_CLEANUP(struct loop_io *, loop_io_free)

/*
 * Work: run(ctx) on a pool thread, then done(ctx) on the loop thread. run() sees immutable input and its own memory
 * and never touches loop state. Cancelling a queued job drops run(); done() is then called with cancelled = true, in a
 * later turn. A running or finished job is not touched by it: it must look at deadlines or flags of its own, and gets
 * done() with cancelled = false. So done() is called exactly once, and frees what belongs to the job. The handle is
 * gone when done() returns. Thousands may be queued; each pool begins them in the order they were started. The git
 * pool is separate so that a slow remote never starves a diff.
 */
enum loop_pool { LOOP_POOL_CPU, LOOP_POOL_GIT };
struct loop_work;
struct loop_work *loop_work_start(struct loop *l, enum loop_pool pool, void (*run)(void *ctx),
                                  void (*done)(void *ctx, bool cancelled), void *ctx);
/* NULL is accepted. */
void loop_work_cancel(struct loop_work *w);
/* Virtual time only: jobs of the pool that begin from now on take so long from their run() to their done(). */
void loop_virtual_slow_pool(struct loop *l, enum loop_pool pool, int64_t takes_ms);

/*
 * Child processes: own session and process group, a deadline (SIGTERM to the group, SIGKILL CHILD_KILL_AFTER_MS later),
 * capped output, only the environment given, standard input from memory (or /dev/null when empty), no other open
 * descriptor, no core dump. No shell, ever.
 *
 * loop_child_start() returns NULL and *err when the program cannot be started: NOTFOUND, FORBIDDEN, or what else the
 * system said; done() is then not called. Otherwise it is, once, with the exit and the bytes read so far. `err` is NULL
 * when the child ended by itself; passing max_stdout_bytes kills the group and gives LIMIT, the deadline gives TIMEOUT.
 * A child that exits non-zero is no error: look at `exit_code`. When it has exited, what is left of its group is killed
 * and the pipes are read empty but not waited for, whoever still holds them.
 * loop_child_cancel() kills the whole group at once; done() is then not called. NULL is accepted.
 *
 * PATH is searched only in absolute folders. An argv[0] with a slash is taken as it is, relative to `dir`.
 * In virtual time a child must be scripted (NOTFOUND otherwise); its caps and deadline count, its limits do not.
 *
 * With `heard` it is a conversation: standard input stays open and takes what loop_child_write() gives it, standard
 * output goes to heard() as it arrives, at most 64 KiB a turn, and done() gets none of it. There need be no deadline.
 * heard() is never called after done(), and may write, close the input or cancel. Not available in virtual time
 * (aborts): what talks has a twin of its own there.
 */
#define CHILD_KILL_AFTER_MS 2000
struct loop_child_spec {
        const char *const *argv;       /* argv[0] is a path or found in PATH of `env` */
        const char *const *env;        /* "KEY=value", NULL-ended; NULL: empty environment */
        const char *dir;               /* working directory; NULL: "/" */
        struct str input;              /* copied; a child that does not read all of it is no error */
        void (*heard)(void *ctx, struct str bytes); /* NULL: no conversation; `bytes` are borrowed during the call */
        int64_t deadline_ms;           /* from now; must be > 0, in a conversation 0: none */
        size_t max_stdout_bytes;       /* 0: CHILD_MAX_OUTPUT_BYTES, in a conversation any number */
        size_t max_stderr_bytes;       /* kept, the rest is dropped; 0: CHILD_MAX_STDERR_BYTES */
        uint64_t rlimit_as_bytes;      /* 0: not limited */
        uint64_t rlimit_cpu_s;         /* 0: not limited; SIGXCPU at the limit, SIGKILL one second later */
};
struct loop_child_result {
        int exit_code;       /* 128 + signal when killed by one */
        struct str out, err; /* borrowed during done() */
};
struct loop_child;
struct loop_child *loop_child_start(struct loop *l, const struct loop_child_spec *spec,
                                    void (*done)(void *ctx, const struct loop_child_result *result,
                                                 const struct err *err),
                                    void *ctx, struct err *err);
void loop_child_cancel(struct loop_child *c);
/*
 * In a conversation: sends these bytes, which are copied, behind what was given before, as the child reads it; never
 * blocks. LIMIT, and nothing is sent, when more than CHILD_MAX_UNSENT_BYTES would wait. A child that has closed its
 * input or ended takes nothing more, which is no error: done() tells.
 */
int loop_child_write(struct loop_child *c, struct str bytes, struct err *err);
/* Closes its standard input once all of that was read. */
void loop_child_close_input(struct loop_child *c);

/*
 * Virtual time only: what the next child with exactly this argv[0] does. Each script serves one child; those for one
 * argv[0] are used in the order given. Everything is copied.
 */
struct loop_child_script {
        const char *argv0;
        int64_t takes_ms;
        int exit_code;
        struct str out, err;
};
void loop_virtual_script_child(struct loop *l, const struct loop_child_script *script);

/* Signals (real loop only; aborts in virtual time): SIGTERM, SIGINT, SIGHUP. SIGPIPE is ignored by loop_new(). */
struct loop_signal;
struct loop_signal *loop_signal_new(struct loop *l, int signum, void (*fire)(void *ctx, int signum), void *ctx);
void loop_signal_free(struct loop_signal *s);
DEFINE_CLEANUP(struct loop_signal *, loop_signal_free)

#endif
