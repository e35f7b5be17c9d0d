/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes of the real loop, on top of its own descriptors, timers and one SIGCHLD watcher.
 *
 * We fork ourselves instead of calling uv_spawn(): between fork and exec the limits are set (prlimit() from outside
 * comes after the program has begun to run), every inherited descriptor is closed and core dumps are turned off.
 *
 * A child leads a session and process group of its own. Its exit is first only looked at (WNOWAIT): while it is a
 * zombie its number cannot be given away, so the group can be killed without hitting a stranger. Then it is reaped.
 */
#ifndef TRUCE_BASE_CHILD_IMPL_H
#define TRUCE_BASE_CHILD_IMPL_H

#include <sys/types.h>

#include "base/loop_impl.h"

struct loop_child *child_start(struct loop *l, const struct loop_child_spec *spec,
                               void (*done)(void *ctx, const struct loop_child_result *result, const struct err *err),
                               void *ctx, struct err *err);
void child_cancel(struct loop_child *c);
int child_write(struct loop_child *c, struct str bytes, struct err *err);
void child_close_input(struct loop_child *c);
/* Kills and reaps all that is left and stops watching; for loop_free(). No done() is called. */
void child_done_all(struct loop *l);

/* What both loops answer when a child passes its deadline or its output cap; return the code. */
int child_err_deadline(const char *name, int64_t deadline_ms, struct err *err);
int child_err_output(const char *name, size_t max_bytes, struct err *err);

/*
 * Runs spec->argv with fds[0 … 2] as its standard streams and nothing else open, in its own session, without waiting
 * for it. Returns when the program runs, or with NOTFOUND, FORBIDDEN or what else the system said (child_spawn.c).
 */
int child_spawn(const struct loop_child_spec *spec, const int fds[3], pid_t *ret_pid, struct err *err);

#endif
