/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a scratch folder, git(1) run in it, and files written into it. Every failure here ends the test program,
 * for it says nothing about the code under test.
 */
#ifndef TRUCE_TEST_GIT_SCRATCH_H
#define TRUCE_TEST_GIT_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "git/deadline.h"

#define SCRATCH_PATH_BYTES 512
#define SCRATCH_MAX_ARGS 24

#ifdef __SANITIZE_ADDRESS__
/* libgit2 1.5's git_regexp_match() keeps its match data when nothing matches; opening a v1 repository uses it. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void) {
        return "leak:libpcre2-8.so\n";
}
#endif

struct scratch {
        char dir[SCRATCH_PATH_BYTES];
};

static inline void scratch_die(const char *what) {
        fprintf(stderr, "scratch: %s failed\n", what);
        abort();
}

static inline void scratch_init(struct scratch *s) {
        const char *tmp = getenv("TMPDIR");

        snprintf(s->dir, sizeof s->dir, "%s/truce-git-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(s->dir))
                scratch_die("mkdtemp");
        /* Nobody's own configuration, proxies or identity may play a part. */
        setenv("HOME", s->dir, 1);
        setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
        setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
        setenv("GIT_AUTHOR_NAME", "A U Thor", 1);
        setenv("GIT_AUTHOR_EMAIL", "author@example.com", 1);
        setenv("GIT_COMMITTER_NAME", "C O Mitter", 1);
        setenv("GIT_COMMITTER_EMAIL", "committer@example.com", 1);
        setenv("no_proxy", "*", 1);
        setenv("GIT_TERMINAL_PROMPT", "0", 1);
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk) {
        (void)st;
        (void)kind;
        (void)walk;
        return remove(path);
}

static inline void scratch_remove(const char *path) {
        nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void scratch_done(struct scratch *s) {
        scratch_remove(s->dir);
}

/* "DIR/name", in one of a few buffers that take turns. */
static inline const char *scratch_path(const struct scratch *s, const char *name) {
        static char paths[8][2 * SCRATCH_PATH_BYTES];
        static unsigned next;
        char *p = paths[next++ % 8];

        snprintf(p, sizeof paths[0], "%s/%s", s->dir, name);
        return p;
}

/* Runs git in DIR/repo; its output is returned (free it), without the final newline. */
static inline char *scratch_git(const struct scratch *s, const char *repo, ...) {
        const char *argv[SCRATCH_MAX_ARGS] = { "git" };
        char piece[4096];
        struct buf out = buf_make(1 << 24);
        int pipe_fds[2], status, argc = 1;
        va_list ap;
        ssize_t n;

        va_start(ap, repo);
        while (argc < SCRATCH_MAX_ARGS - 1 && (argv[argc] = va_arg(ap, const char *)))
                argc++;
        va_end(ap);
        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                scratch_die("pipe");

        pid_t pid = fork();
        if (pid == 0) {
                dup2(pipe_fds[1], 1);
                if (chdir(scratch_path(s, repo)) == 0)
                        execvp("git", (char *const *)argv);
                _exit(127);
        }
        close(pipe_fds[1]);
        while ((n = read(pipe_fds[0], piece, sizeof piece)) > 0)
                buf_add(&out, (struct str){ piece, (size_t)n });
        close(pipe_fds[0]);
        if (waitpid(pid, &status, 0) < 0 || status != 0)
                scratch_die(argv[1]);
        if (out.n && out.p[out.n - 1] == '\n')
                buf_truncate(&out, out.n - 1);
        return buf_take(&out);
}

/* As scratch_git(), output thrown away. */
#define GIT(s, repo, ...) free(scratch_git(s, repo, __VA_ARGS__, NULL))

static inline void scratch_write(const struct scratch *s, const char *name, const char *content) {
        char path[2 * SCRATCH_PATH_BYTES];
        FILE *f;

        snprintf(path, sizeof path, "%s/%s", s->dir, name);
        for (char *slash = strchr(path + strlen(s->dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                mkdir(path, 0755);
                *slash = '/';
        }
        f = fopen(path, "w");
        if (!f || fputs(content, f) < 0 || fclose(f) != 0)
                scratch_die(path);
}

/* An empty repository with a work tree, on branch main. */
static inline void scratch_repo(const struct scratch *s, const char *repo) {
        if (mkdir(scratch_path(s, repo), 0755) < 0)
                scratch_die("mkdir");
        GIT(s, repo, "init", "-q", "-b", "main");
}

/* Commits all that is there; the commit's hex (free it). */
static inline char *scratch_commit(const struct scratch *s, const char *repo, const char *message) {
        GIT(s, repo, "add", "-A");
        GIT(s, repo, "commit", "-q", "--allow-empty", "-m", message);
        return scratch_git(s, repo, "rev-parse", "HEAD", NULL);
}

static inline struct git_deadline scratch_deadline(int64_t in_ms) {
        return (struct git_deadline){ .at_ms = git_now_ms() + in_ms };
}

#endif
