/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce diff`: what a sync would change, from the server's own dry-run. Writes nothing. Exit 0: nothing, 1: something,
 * 2: could not be found out.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/oneshot.h"
#include "cli/show.h"
#include "cli/verb.h"

struct diff_flags {
        int output;
        int64_t timeout_ms;
};

struct diff {
        struct oneshot oneshot;
        struct diff_flags flags;
        struct show *show;
};

static const char *const outputs[] = { "text", "json", "markdown", NULL };
static const struct option_def diff_options[] = {
        { .name = "output", .letter = 'o', .type = OPTION_CHOICE, .at = offsetof(struct diff_flags, output),
          .choices = outputs, .help = "how to print it; markdown is a plan for a pull request" },
        { .name = "timeout", .type = OPTION_DURATION, .at = offsetof(struct diff_flags, timeout_ms), .fallback = "5m",
          .min = 1000, .max = 24 * 3600 * INT64_C(1000), .help = "give up after this" },
};
const struct option_group cli_diff_flags = { "Diff", diff_options, ARRAY_LEN(diff_options), NULL };

static void on_outcome(void *ctx, struct app *app, const struct outcome *o) {
        struct diff *d = ctx;

        show_outcome(d->show, app, o);
}

static void on_revision(void *ctx, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                        const struct err *rejected) {
        struct diff *d = ctx;

        show_revision(d->show, app, r, set, rejected);
}

static void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        struct diff *d = ctx;

        show_settled(d->show, app, prune_err);
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        struct diff *d = ctx;

        (void)what;
        show_trouble(d->show, app, err);
}

static void on_remark(void *ctx, struct app *app, const char *place, const char *text) {
        struct diff *d = ctx;

        show_setting(d->show, app, place, text);
}

static int finish(struct diff *d) {
        struct oneshot *o = &d->oneshot;

        if (o->err.code || oneshot_check_revision(o, &o->err) < 0)
                return session_fail(&o->err);
        if (o->timed_out)
                show_timed_out(d->show, o->timeout_ms);
        int exit_code = show_diff_exit(d->show);
        show_end(d->show, o->agent, 0, exit_code);
        return exit_code;
}

int cli_diff(int argc, char **argv) {
        struct diff d = { .oneshot.hooks = { .outcome = on_outcome,
                                          .revision = on_revision,
                                          .settled = on_settled,
                                          .trouble = on_trouble,
                                          .remark = on_remark } };
        struct oneshot *o = &d.oneshot;
        const struct option_group own = option_group_of(&cli_diff_flags, &d.flags);
        struct err err;
        int result = CLI_OK, r;

        o->session.takes_revision = true;
        r = session_configure(&o->session, "diff", argc, argv, &own, &err);
        if (r == 0 && !o->session.help) {
                o->ctx = &d;
                o->mode = DECIDE_DIFF;
                o->timeout_ms = d.flags.timeout_ms;
                r = oneshot_open(o, &err);
        }
        if (r == 0 && !o->session.help) {
                d.show = show_new((enum show_format)d.flags.output, SHOW_DIFF, o->session.loop);
                oneshot_run(o);
                result = finish(&d);
        }
        show_free(d.show);
        oneshot_close(o);
        return r < 0 ? session_fail(&err) : result;
}
