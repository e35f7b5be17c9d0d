/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce test DIR…`, for people's own CI: suites of ignore rules, a folder a case (cli/suite.h), and of health rules
 * (cli/health_suite.h), found below the folders.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/option.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/suite.h"
#include "cli/test_health.h"
#include "cli/verb.h"

#define COMPLAINTS_MAX_BYTES (16 * 1024 * 1024)

struct test_flags {
        int output;
        struct str file, coverage;
};

static const char *const outputs[] = { "plain", "tap", "junit", "json", NULL };
static const struct option_def test_options[] = {
        { .name = "output", .letter = 'o', .type = OPTION_CHOICE, .at = offsetof(struct test_flags, output),
          .choices = outputs, .help = "how to print it" },
        { .name = "output-file", .type = OPTION_TEXT, .at = offsetof(struct test_flags, file), .word = "FILE",
          .help = "write that to this file; what people read is printed beside it" },
        { .name = "coverage", .type = OPTION_TEXT, .at = offsetof(struct test_flags, coverage), .word = "FILE",
          .help = "write which lines of health rules were run, as JSON" },
};
const struct option_group cli_test_flags = { "Test", test_options, ARRAY_LEN(test_options), NULL };

struct testing {
        struct test_flags flags;
        struct arena *arena;
        struct loop *loop;
        struct jq_engine *jq;
        struct report report;
        struct coverage coverage;
        FILE *file;
        size_t found; /* of anything that is run */
};

/* ---- ignore rules ---- */

static struct str parent_of(struct str path) {
        size_t at = path.n;

        while (at > 0 && path.p[at - 1] != '/')
                at--;
        return at > 1 ? str_sub(path, 0, at - 1) : STR(".");
}

static struct str base_of(struct str path) {
        size_t at = path.n;

        while (at > 0 && path.p[at - 1] != '/')
                at--;
        return str_sub(path, at, path.n);
}

static void run_ignore_case(struct testing *t, struct str folder) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf complaints = buf_make(COMPLAINTS_MAX_BYTES);

        suite_run(&(struct suite_case){ .folder = folder, .arena = a, .loop = t->loop, .jq = t->jq }, &complaints);
        report_add(&t->report, &(struct report_case){
                .suite = parent_of(folder), .name = base_of(folder), .path = folder,
                .result = complaints.n ? REPORT_FAILED : REPORT_PASSED,
                .complaints = arena_str(t->arena, buf_str(&complaints)),
        });
}

static int start_loop(struct testing *t, struct err *err) {
        if (t->loop)
                return 0;
        t->loop = loop_new(1, 1, err);
        if (!t->loop)
                return err->code;
        t->jq = jq_worker_new(t->loop, &(struct jq_worker_spec){ 0 });
        return 0;
}

/* ---- all of it ---- */

static int64_t wall_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_REALTIME, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int run_found(struct testing *t, const struct test_found *found, struct err *err) {
        struct test_health health = { .report = &t->report, .now_ms = wall_ms(),
                                      .coverage = t->flags.coverage.n ? &t->coverage : NULL };
        int r = found->case_count ? start_loop(t, err) : 0;

        for (size_t i = 0; r == 0 && i < found->case_count; i++)
                run_ignore_case(t, found->cases[i]);
        if (r == 0)
                test_health_run(&health, found);
        t->report.action_suites += found->action_suites;
        t->found += found->case_count + found->folder_count;
        return r;
}

/* Nothing is run before every folder has been looked at. */
static int run_folders(struct testing *t, const struct str *folders, size_t count, struct err *err) {
        struct test_found *found = arena_zalloc(t->arena, count * sizeof *found);
        int r = 0;

        for (size_t i = 0; r == 0 && i < count; i++) {
                found[i].arena = t->arena;
                r = test_find(&found[i], folders[i], err);
                t->found += found[i].case_count + found[i].folder_count;
        }
        if (r == 0 && !t->found)
                r = err_set(err, ERR_NOTFOUND,
                            "no case there: a folder with desired.yaml, expected.yaml and the like, or "
                            "GROUP/KIND with " TEST_SCRIPT " and " TEST_SUITE);
        if (r == 0)
                report_begin(&t->report);
        for (size_t i = 0; r == 0 && i < count; i++)
                r = run_found(t, &found[i], err);
        for (size_t i = 0; i < count; i++)
                test_found_done(&found[i]);
        return r;
}

static int open_sinks(struct testing *t, struct err *err) {
        struct report_sink asked = { .format = (enum report_format)t->flags.output, .out = stdout };

        if (t->flags.file.n) {
                t->file = asked.out = fopen(t->flags.file.p, "we");
                if (!t->file)
                        return err_set_errno(err, errno, "cannot write %s", t->flags.file.p);
                t->report.sinks[t->report.sink_count++] = (struct report_sink){ REPORT_PLAIN, stdout };
        }
        t->report.sinks[t->report.sink_count++] = asked;
        return 0;
}

static int close_file(struct testing *t, struct err *err) {
        FILE *f = TAKE_PTR(t->file);

        errno = 0;
        bool failed = f && ferror(f);
        failed |= f && fclose(f) != 0;
        return failed ? err_set_errno(err, errno, "cannot write %s", t->flags.file.p) : 0;
}

static int run_all(struct testing *t, const struct str *folders, size_t count, struct err *err) {
        int r = open_sinks(t, err);

        if (r == 0)
                r = run_folders(t, folders, count, err);
        if (r == 0)
                report_end(&t->report);
        if (r == 0 && t->flags.coverage.n)
                r = coverage_write(&t->coverage, t->flags.coverage, err);
        return r == 0 ? close_file(t, err) : r;
}

static void print_help(void) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

        options_help(&cli_test_flags, 1, &out);
        cli_print_head("test");
        fputs(out.p, stdout);
}

static void testing_done(struct testing *t) {
        struct err err;

        close_file(t, &err);
        jq_engine_free(t->jq);
        loop_free(t->loop);
        report_done(&t->report);
        coverage_done(&t->coverage);
        arena_free(t->arena);
}

int cli_test(int argc, char **argv) {
        struct testing t = { .arena = arena_new(0) };
        const struct option_group own = option_group_of(&cli_test_flags, &t.flags);
        const struct str *operands;
        int r, result = CLI_OK;
        struct err err;
        size_t count;

        t.report.arena = t.coverage.arena = t.arena;
        if (options_want_help(argc, argv)) {
                print_help();
                testing_done(&t);
                return CLI_OK;
        }
        options_default(&own, 1, t.arena);
        r = options_parse(&own, 1, argc, argv, t.arena, &operands, &count, &err);
        if (r == 0 && !count)
                r = err_set(&err, ERR_INVAL, "usage: truce test DIR…");
        if (r == 0)
                r = run_all(&t, operands, count, &err);
        if (r < 0 || t.report.errors)
                result = CLI_ERROR;
        else if (t.report.failed)
                result = CLI_DIFFERENT;
        testing_done(&t);
        return r < 0 ? session_fail(&err) : result;
}
