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
 * inside the call that started it. After _free()/_cancel() of a thing no callback of it runs any more. Objects are
 * freed by the caller; libuv's close callbacks are hidden inside. Callbacks may free the thing they are called for.
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
/* Everything made on the loop must have been freed. Waits for work functions that still run. */
void loop_free(struct loop *l);
DEFINE_CLEANUP(struct loop *, loop_free)

/* Runs until loop_stop(), or until nothing is left that could ever call back. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);
/* Runs at most `ms` of the loop's time, for tests and one-shot commands; true when loop_stop() ended it. */
bool loop_run_for(struct loop *l, int64_t ms);

/* Monotonic ms that also count suspend (CLOCK_BOOTTIME), read once a turn; virtual: the virtual clock. */
int64_t loop_now_ms(const struct loop *l);
/* Unix time in ms, for people and for the API server. */
int64_t loop_wall_ms(const struct loop *l);
/* The longest turn since the last call of this function, in µs. */
int64_t loop_longest_turn_us(struct loop *l);
/* Uniform in [0, bound); from the seed in virtual time. Jitter comes from here and nowhere else. */
uint64_t loop_random(struct loop *l, uint64_t bound);

/* Timers: one shot; start again to repeat. Starting a running timer moves it. */
struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *l, void (*fire)(void *ctx), void *ctx);
void loop_timer_start(struct loop_timer *t, int64_t delay_ms);
void loop_timer_stop(struct loop_timer *t);
bool loop_timer_is_running(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t);
DEFINE_CLEANUP(struct loop_timer *, loop_timer_free)

/* Calls fn(ctx) once in a later turn. The only function that any thread may call. */
void loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx);

/* Descriptors; not available in virtual time (aborts): what uses them has a twin of its own there. */
enum loop_io_events { LOOP_IO_READ = 1, LOOP_IO_WRITE = 2 };
struct loop_io;
struct loop_io *loop_io_new(struct loop *l, int fd, void (*ready)(void *ctx, unsigned events), void *ctx);
/* Level-triggered; 0 pauses. */
void loop_io_want(struct loop_io *io, unsigned events);
void loop_io_free(struct loop_io *io);
DEFINE_CLEANUP(struct loop_io *, loop_io_free)

/*
 * Work: run(ctx) on a pool thread, then done(ctx) on the loop thread. run() sees immutable input and its own memory
 * and never touches loop state. Cancelling a queued job drops run(); done() is then called with cancelled = true. A
 * running job is not stopped: it must look at deadlines or flags of its own. done() is called exactly once.
 * Thousands may be queued. The git pool is separate so that a slow remote never starves a diff.
 */
enum loop_pool { LOOP_POOL_CPU, LOOP_POOL_GIT };
struct loop_work;
struct loop_work *loop_work_start(struct loop *l, enum loop_pool pool, void (*run)(void *ctx),
                                  void (*done)(void *ctx, bool cancelled), void *ctx);
void loop_work_cancel(struct loop_work *w);

/*
 * Child processes: own process group, a deadline (SIGTERM, then SIGKILL after CHILD_KILL_AFTER_MS), capped output,
 * only the environment given, standard input from memory (or /dev/null when empty). No shell, ever.
 * `done` gets the exit and the bytes; passing max_stdout_bytes kills the child and gives LIMIT, the deadline TIMEOUT,
 * a program that cannot be started NOTFOUND or FORBIDDEN. A child that exits non-zero is no error: look at `exit_code`.
 * loop_child_cancel() kills the whole group; done is then not called. The group is killed when the child has exited
 * and its pipes are still held open by grandchildren.
 */
#define CHILD_KILL_AFTER_MS 2000
struct loop_child_spec {
        const char *const *argv;       /* argv[0] is a path or found in PATH of `env` */
        const char *const *env;        /* "KEY=value", NULL-ended; NULL: empty environment */
        const char *dir;               /* working directory; NULL: "/" */
        struct str input;              /* copied */
        int64_t deadline_ms;           /* from now; must be > 0 */
        size_t max_stdout_bytes;       /* 0: CHILD_MAX_OUTPUT_BYTES */
        size_t max_stderr_bytes;       /* kept, the rest is dropped; 0: CHILD_MAX_STDERR_BYTES */
        uint64_t rlimit_as_bytes;      /* 0: not limited */
        uint64_t rlimit_cpu_s;         /* 0: not limited */
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

/* Virtual time only: what the next children named argv[0] do. Scripted answers are consumed in order. */
struct loop_child_script {
        const char *argv0;
        int64_t takes_ms;
        int exit_code;
        struct str out, err;
};
void loop_virtual_script_child(struct loop *l, const struct loop_child_script *script);

/* Signals (real loop only): SIGTERM, SIGINT, SIGHUP. SIGPIPE is ignored by loop_new(). */
struct loop_signal;
struct loop_signal *loop_signal_new(struct loop *l, int signum, void (*fire)(void *ctx, int signum), void *ctx);
void loop_signal_free(struct loop_signal *s);
DEFINE_CLEANUP(struct loop_signal *, loop_signal_free)

#endif
