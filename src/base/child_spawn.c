/* SPDX-License-Identifier: Apache-2.0 */
/* fork() and exec() of one child. After the fork only async-signal-safe calls are made: other threads held locks. */
#include "base/child_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum step { STEP_STREAMS, STEP_LIMITS, STEP_DIR, STEP_EXEC };

/* What the child writes to its parent when it could not become the program. */
struct failure {
        enum step step;
        int sys_errno;
};

/* ---- finding the program ---- */

static struct str path_of(const char *const *env) {
        for (; env && *env; env++)
                if (strncmp(*env, "PATH=", 5) == 0)
                        return str_from(*env + 5);
        return STR("");
}

/*
 * Puts the program's path into `path`. Only absolute folders of PATH are searched: an empty or relative one would make
 * the working directory decide what runs. 0, ENOENT, EACCES (found, but nothing that may be executed), ENAMETOOLONG.
 */
static int find_program(const char *name, const char *const *env, char path[PATH_MAX]) {
        struct str rest = path_of(env), dir;
        int r = ENOENT;

        if (strchr(name, '/'))
                return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? 0 : ENAMETOOLONG;

        while (str_next(&rest, ':', &dir)) {
                if (!str_starts(dir, STR("/")))
                        continue;
                if (snprintf(path, PATH_MAX, "%.*s/%s", STR_FMT(dir), name) >= PATH_MAX)
                        continue;
                if (access(path, X_OK) == 0)
                        return 0;
                if (errno == EACCES)
                        r = EACCES;
        }
        return r;
}

/* ---- in the child ---- */

static _Noreturn void give_up(int report_fd, enum step step) {
        const struct failure f = { .step = step, .sys_errno = errno };
        ssize_t n = write(report_fd, &f, sizeof f);

        _exit(n == (ssize_t)sizeof f ? 127 : 126);
}

/* All above the standard streams first, so that none is overwritten before it was copied. */
static int set_streams(const int fds[3]) {
        int high[3];

        for (int i = 0; i < 3; i++) {
                high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
                if (high[i] < 0)
                        return -1;
        }
        for (int i = 0; i < 3; i++)
                if (dup2(high[i], i) < 0)
                        return -1;
        /* All descriptors of ours are close-on-exec already; this is for those of libraries that forgot. */
        close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
        return 0;
}

static int set_limit(int what, uint64_t soft, uint64_t hard) {
        const struct rlimit limit = { .rlim_cur = soft, .rlim_max = hard };

        return setrlimit(what, &limit);
}

static int set_limits(const struct loop_child_spec *spec) {
        /* A core dump of a credential helper is a file full of secrets. */
        if (set_limit(RLIMIT_CORE, 0, 0) < 0)
                return -1;
        if (spec->rlimit_as_bytes > 0 && set_limit(RLIMIT_AS, spec->rlimit_as_bytes, spec->rlimit_as_bytes) < 0)
                return -1;
        /* SIGXCPU at the limit, SIGKILL one second later. */
        if (spec->rlimit_cpu_s > 0 && set_limit(RLIMIT_CPU, spec->rlimit_cpu_s, spec->rlimit_cpu_s + 1) < 0)
                return -1;
        return 0;
}

static void reset_signals(void) {
        const struct sigaction dfl = { .sa_handler = SIG_DFL };
        sigset_t none;

        for (int i = 1; i < NSIG; i++)
                sigaction(i, &dfl, NULL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become(const struct loop_child_spec *spec, const char *path, const int fds[3], int report_fd) {
        static const char *const no_env[] = { NULL };
        const char *const *env = spec->env ? spec->env : no_env;

        setsid();
        reset_signals();
        report_fd = fcntl(report_fd, F_DUPFD_CLOEXEC, 3);
        if (set_streams(fds) < 0)
                give_up(report_fd, STEP_STREAMS);
        if (chdir(spec->dir ? spec->dir : "/") < 0)
                give_up(report_fd, STEP_DIR);
        if (set_limits(spec) < 0)
                give_up(report_fd, STEP_LIMITS);
        /* execve() changes neither array; its prototype is older than const. */
        execve(path, (char *const *)(uintptr_t)spec->argv, (char *const *)(uintptr_t)env);
        give_up(report_fd, STEP_EXEC);
}

/* ---- in the parent ---- */

static int explain(const struct loop_child_spec *spec, const struct failure *f, struct err *err) {
        switch (f->step) {
        case STEP_STREAMS:
                return err_set_errno(err, f->sys_errno, "cannot set up the streams of %s", spec->argv[0]);
        case STEP_LIMITS:
                return err_set_errno(err, f->sys_errno, "cannot limit %s", spec->argv[0]);
        case STEP_DIR:
                return err_set_errno(err, f->sys_errno, "cannot enter %s", spec->dir);
        case STEP_EXEC:
                break;
        }
        return err_set_errno(err, f->sys_errno, "cannot run %s", spec->argv[0]);
}

/* Waits until the program runs (the pipe closes on exec) or says why it does not. */
static int await_exec(const struct loop_child_spec *spec, pid_t pid, int report_fd, struct err *err) {
        struct failure f;
        ssize_t n;

        do
                n = read(report_fd, &f, sizeof f);
        while (n < 0 && errno == EINTR);
        if (n == 0)
                return 0;

        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        if (n != (ssize_t)sizeof f)
                return err_set(err, ERR_INTERNAL, "cannot run %s: no word from the child", spec->argv[0]);
        return explain(spec, &f, err);
}

/* No signal may arrive in the child before its handlers are reset: they would act on the parent's pipes. */
static pid_t fork_quietly(sigset_t *ret_before) {
        sigset_t all;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, ret_before);
        return fork();
}

int child_spawn(const struct loop_child_spec *spec, const int fds[3], pid_t *ret_pid, struct err *err) {
        char path[PATH_MAX];
        int report[2];
        sigset_t before;
        int r = find_program(spec->argv[0], spec->env, path);

        if (r != 0)
                return err_set_errno(err, r, "cannot run %s", spec->argv[0]);
        if (pipe2(report, O_CLOEXEC) < 0)
                return err_set_errno(err, errno, "cannot run %s", spec->argv[0]);

        pid_t pid = fork_quietly(&before);
        if (pid == 0)
                become(spec, path, fds, report[1]);
        r = errno;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        close(report[1]);
        r = pid < 0 ? err_set_errno(err, r, "cannot run %s", spec->argv[0]) : await_exec(spec, pid, report[0], err);
        close(report[0]);
        if (r < 0)
                return r;
        *ret_pid = pid;
        return 0;
}
