/* SPDX-License-Identifier: Apache-2.0 */
/* `truce test DIR…`: suites of ignore rules, for people's own CI: a folder a case, no code (cli/suite.h). */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "base/option.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/suite.h"

#define COMPLAINTS_MAX_BYTES (16 * 1024 * 1024)
#define MAX_CASES 100000

struct testing {
        struct loop *loop;
        struct jq_engine *jq;
        struct arena *arena;
        struct str *cases;
        size_t count, cap;
        size_t failed;
};

static int add_case(struct testing *t, struct str folder, struct err *err) {
        if (t->count >= MAX_CASES)
                return err_set(err, ERR_LIMIT, "more than %d cases", MAX_CASES);
        t->cases = mem_grow(t->cases, &t->cap, t->count + 1, sizeof *t->cases);
        t->cases[t->count++] = folder;
        return 0;
}

/* The folder itself, or those directly in it. */
static int find_cases(struct testing *t, struct str folder, struct err *err) {
        struct dirent *e;
        DIR *dir;
        int r = 0;

        folder = arena_str(t->arena, folder);
        if (suite_is_case(folder, t->arena))
                return add_case(t, folder, err);
        dir = opendir(folder.p);
        if (!dir)
                return err_set_errno(err, errno, "%s", folder.p);
        while (r == 0 && (e = readdir(dir))) {
                struct str below = arena_strf(t->arena, "%.*s/%s", STR_FMT(folder), e->d_name);

                if (e->d_name[0] != '.' && suite_is_case(below, t->arena))
                        r = add_case(t, below, err);
        }
        closedir(dir);
        return r;
}

static int by_name(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void run_case(struct testing *t, struct str folder) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf complaints = buf_make(COMPLAINTS_MAX_BYTES);
        struct str rest, line;

        suite_run(&(struct suite_case){ .folder = folder, .arena = a, .loop = t->loop, .jq = t->jq }, &complaints);
        printf("%s - %s\n", complaints.n ? "not ok" : "ok", folder.p);
        rest = buf_str(&complaints);
        while (str_next(&rest, '\n', &line))
                if (line.n)
                        printf("    %.*s\n", STR_FMT(line));
        t->failed += complaints.n > 0;
}

static int run_all(struct testing *t, const struct str *folders, size_t count, struct err *err) {
        int r = 0;

        t->loop = loop_new(1, 1, err);
        if (!t->loop)
                return err->code;
        t->jq = jq_worker_new(t->loop, &(struct jq_worker_spec){ 0 });
        for (size_t i = 0; r == 0 && i < count; i++)
                r = find_cases(t, folders[i], err);
        if (r == 0 && !t->count)
                r = err_set(err, ERR_NOTFOUND, "no case there: a folder with desired.yaml, expected.yaml and the like");
        if (t->count > 1)
                qsort(t->cases, t->count, sizeof *t->cases, by_name);
        for (size_t i = 0; r == 0 && i < t->count; i++)
                run_case(t, t->cases[i]);
        if (r == 0)
                printf("%zu %s, %zu failed\n", t->count, t->count == 1 ? "case" : "cases", t->failed);
        return r;
}

int cli_test(int argc, char **argv) {
        struct testing t = { .arena = arena_new(0) };
        const struct str *operands;
        struct err err;
        size_t count;
        int r;

        if (options_want_help(argc, argv)) {
                cli_print_head("test");
                arena_free(t.arena);
                return CLI_OK;
        }
        r = options_parse(NULL, 0, argc, argv, t.arena, &operands, &count, &err);
        if (r == 0 && !count)
                r = err_set(&err, ERR_INVAL, "usage: truce test DIR…");
        if (r == 0)
                r = run_all(&t, operands, count, &err);
        jq_engine_free(t.jq);
        loop_free(t.loop);
        free(t.cases);
        arena_free(t.arena);
        if (r < 0)
                return session_fail(&err);
        return t.failed ? CLI_DIFFERENT : CLI_OK;
}
