/* SPDX-License-Identifier: Apache-2.0 */
/* One source used by several threads at once, and one store by several sources and processes. */
#include "git/remote.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "http_backend.h"

#define SOON 60000
#define THREADS 4
#define ROUNDS 6

struct fixture {
        struct scratch s;
        struct backend b;
        char url[128], store[600];
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        scratch_init(&f->s);
        scratch_repo(&f->s, "served.git");
        for (int i = 0; i < THREADS; i++) {
                char name[32], path[64];

                snprintf(name, sizeof name, "side-%d", i);
                snprintf(path, sizeof path, "served.git/f%d/a.yaml", i);
                scratch_write(&f->s, path, name);
                free(scratch_commit(&f->s, "served.git", name));
                GIT(&f->s, "served.git", "branch", name);
        }
        backend_start(&f->b, f->s.dir);
        snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d/served.git", f->b.port);
        snprintf(f->store, sizeof f->store, "%s", scratch_path(&f->s, "store"));
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        backend_stop(&f->b);
        scratch_done(&f->s);
        free(f);
        return 0;
}

static struct git_source *open_source(struct fixture *f) {
        struct git_remote_options o = { .url = str_from(f->url), .store_dir = str_from(f->store) };
        struct git_source *source;
        struct err err;

        if (git_remote_open(&o, &source, &err) < 0)
                scratch_die(err.msg);
        return source;
}

struct worker {
        struct git_source *source;
        int number;
        int result;
        struct err err;
};

/* What a pool thread does for one application, over and over. Asserts belong to the main thread. */
static int work_once(struct worker *w) {
        struct arena *a = arena_new(0);
        const struct git_file *files;
        struct git_commit_info info;
        struct git_revision rev;
        struct str content;
        char name[32];
        size_t n = 0;
        int r;

        snprintf(name, sizeof name, "side-%d", w->number);
        r = git_source_resolve(w->source, str_from(name), scratch_deadline(SOON), a, &rev, &w->err);
        if (r == 0)
                r = git_source_fetch(w->source, &rev, scratch_deadline(SOON), &w->err);
        if (r == 0)
                r = git_source_describe(w->source, &rev.commit, a, &info, &w->err);
        if (r == 0 && !str_eqc(info.subject, name))
                r = err_set(&w->err, ERR_INTERNAL, "wrong commit");
        if (r == 0)
                r = git_source_list(w->source, &rev.commit, STR(""), true, a, &files, &n, &w->err);
        if (r == 0 && n != (size_t)w->number + 1)
                r = err_set(&w->err, ERR_INTERNAL, "%zu files", n);
        if (r == 0)
                r = git_source_read(w->source, &files[n - 1].blob, 100, a, &content, &w->err);
        if (r == 0 && !str_eqc(content, name))
                r = err_set(&w->err, ERR_INTERNAL, "wrong content");
        arena_free(a);
        return r;
}

static void *work(void *ctx) {
        struct worker *w = ctx;

        for (int i = 0; i < ROUNDS && w->result == 0; i++)
                w->result = work_once(w);
        return NULL;
}

static void run_workers(struct worker *workers) {
        pthread_t threads[THREADS];

        for (int i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++) {
                if (workers[i].result < 0)
                        fail_msg("thread %d: %s", i, workers[i].err.msg);
        }
}

static void threads_share_one_source(void **state) {
        struct git_source *source = open_source(*state);
        struct worker workers[THREADS] = { 0 };

        for (int i = 0; i < THREADS; i++)
                workers[i] = (struct worker){ .source = source, .number = i };
        run_workers(workers);
        git_source_free(source);
}

static void sources_share_one_store(void **state) {
        struct worker workers[THREADS] = { 0 };

        for (int i = 0; i < THREADS; i++)
                workers[i] = (struct worker){ .source = open_source(*state), .number = i };
        run_workers(workers);
        for (int i = 0; i < THREADS; i++)
                git_source_free(workers[i].source);
}

static void processes_share_one_store(void **state) {
        pid_t pids[THREADS];
        int status;

        for (int i = 0; i < THREADS; i++) {
                pids[i] = fork();
                if (pids[i] == 0) {
                        struct worker w = { .source = open_source(*state), .number = i };

                        work(&w);
                        if (w.result < 0)
                                fprintf(stderr, "process %d: %s\n", i, w.err.msg);
                        _exit(w.result < 0);
                }
        }
        for (int i = 0; i < THREADS; i++) {
                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                /* Processes first: a fork() from a program that has run threads is not what a second agent is. */
                TEST(processes_share_one_store),
                TEST(threads_share_one_source),
                TEST(sources_share_one_store),
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
