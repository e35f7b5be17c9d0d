/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce adopt`: what a first sync would make of a cluster that Argo CD, Flux, Helm or kubectl manage. Who has each object
 * today, which paths change hands, which values change, what stays with whom and by which rule, what somebody has to decide
 * first, and the steps of the hand-over.
 *
 * It is the engine of `truce sync` that decides, in the mode in which nothing is written: reads and dry-runs, as
 * `truce diff`. What comes after the first apply is foretold by the same decisions (own/foretell.h).
 *
 * Exit 0: nothing is to be decided, 1: something is, 2: it could not be found out, 3: --timeout passed.
 */
#include "cli/adopt_impl.h"

#include <stdio.h>

#include "cli/cli.h"
#include "cli/oneshot.h"
#include "cli/verb.h"
#include "cli/words.h"

#define OUT_MAX_BYTES (64 * 1024 * 1024)

enum output { OUTPUT_TABLE, OUTPUT_JSON };

struct adopt_flags {
        int output;
        bool all;
        int64_t timeout_ms;
};

struct adopt {
        struct oneshot oneshot;
        struct adopt_flags flags;
        struct adopt_report report;
};

static const char *const outputs[] = { "table", "json", NULL };
static const struct option_def adopt_options[] = {
        { .name = "output", .letter = 'o', .type = OPTION_CHOICE, .at = offsetof(struct adopt_flags, output),
          .choices = outputs, .help = "how to print it" },
        { .name = "all", .type = OPTION_BOOL, .at = offsetof(struct adopt_flags, all),
          .help = "every path with its owners now and then, and every object that Git does not have" },
        { .name = "timeout", .type = OPTION_DURATION, .at = offsetof(struct adopt_flags, timeout_ms), .fallback = "5m",
          .min = 1000, .max = 24 * 3600 * INT64_C(1000), .help = "give up after this" },
};
const struct option_group cli_adopt_flags = { "Adopt", adopt_options, ARRAY_LEN(adopt_options), NULL };

static void on_outcome(void *ctx, struct app *app, const struct outcome *o) {
        struct adopt *x = ctx;

        adopt_gather(&x->report, app, o);
}

static void say(struct adopt *x, const struct app *app, const char *text) {
        _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);

        x->report.problems++;
        buf_addf(&line, "%.*s: %s", STR_FMT(app_config(app)->name), text);
        session_say(buf_str(&line));
}

static void on_revision(void *ctx, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                        const struct err *rejected) {
        struct adopt *x = ctx;

        (void)r;
        for (size_t i = 0; set && i < set->error_count; i++) {
                _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);

                manifest_problem_print(&set->errors[i], &line);
                say(x, app, line.p);
        }
        if (rejected)
                say(x, app, rejected->msg);
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        (void)what;
        say(ctx, app, err->msg);
}

static int exit_of(const struct adopt *x) {
        if (x->oneshot.timed_out)
                return CLI_TIMED_OUT;
        if (x->report.problems)
                return CLI_ERROR;
        return adopt_decisions(&x->report) ? CLI_DIFFERENT : CLI_OK;
}

static void print(const struct adopt *x, int exit_code) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(OUT_MAX_BYTES);
        struct adopt_style style = { .all = x->flags.all, .color = words_in_color(STDOUT_FILENO) };

        if (x->flags.output == OUTPUT_JSON) {
                words_add_json(adopt_value(&x->report, x->flags.all, a), &out);
        } else {
                adopt_view(&x->report, &style, exit_code, &out);
        }
        if (out.overflow)
                session_say(STR("the report is too long: the end of it, or parts, are not printed"));
        fwrite(out.p, 1, out.n, stdout);
        fflush(stdout);
}

static int finish(struct adopt *x) {
        struct oneshot *o = &x->oneshot;

        if (o->err.code || oneshot_check_revision(o, &o->err) < 0)
                return session_fail(&o->err);
        adopt_sort(&x->report);
        adopt_read_cluster(&x->report, o->session.loop, o->session.transport);
        adopt_find_steps(&x->report);
        if (o->timed_out)
                session_say(STR("gave up: Git or the cluster did not answer in time (--timeout); what follows is not all"));
        int exit_code = exit_of(x);
        print(x, exit_code);
        return exit_code;
}

static void report_done(struct adopt_report *r) {
        for (size_t i = 0; i < r->tracker_count; i++) {
                free(r->trackers[i]->extras);
                free(r->trackers[i]->steps);
        }
        free(r->trackers);
        free(r->objects);
        map_free(r->by_id);
        arena_free(r->arena);
}

static int open_agent(struct adopt *x, struct err *err) {
        struct oneshot *o = &x->oneshot;
        int r;

        o->ctx = x;
        o->mode = DECIDE_DIFF;
        o->foretell = true;
        o->timeout_ms = x->flags.timeout_ms;
        r = oneshot_open(o, err);
        x->report.agent = o->agent;
        x->report.control_ns = r < 0 ? STR("") : o->session.config->agent.control_ns;
        x->report.stop = &o->timed_out;
        return r;
}

int cli_adopt(int argc, char **argv) {
        struct adopt x = { .oneshot.hooks = { .outcome = on_outcome, .revision = on_revision, .trouble = on_trouble },
                           .report = { .arena = arena_new(0), .by_id = map_new(NULL) } };
        struct oneshot *o = &x.oneshot;
        const struct option_group own = option_group_of(&cli_adopt_flags, &x.flags);
        struct err err;
        int result = CLI_OK, r;

        o->session.takes_revision = true;
        r = session_configure(&o->session, "adopt", argc, argv, &own, &err);
        if (r == 0 && !o->session.help)
                r = open_agent(&x, &err);
        if (r == 0 && !o->session.help) {
                oneshot_run(o);
                result = finish(&x);
        }
        report_done(&x.report);
        oneshot_close(o);
        return r < 0 ? session_fail(&err) : result;
}
