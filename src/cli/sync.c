/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce sync`: one pass of what the daemon does, told as it happens. Failures come together at the end.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/oneshot.h"
#include "cli/show.h"
#include "cli/verb.h"

struct sync_flags {
        bool dry_run;
        int wait; /* as `waits` */
        int64_t timeout_ms;
        int64_t prune_limit;
        int output;
};

struct sync {
        struct oneshot oneshot;
        struct sync_flags flags;
        struct show *show;
        int64_t started_ms;
        bool prune_asked; /* --prune was said, not only its default */
        bool prune_stopped;
};

/* In the order of enum oneshot_wait. */
static const char *const waits[] = { "false", "applied", "healthy", NULL };
_Static_assert(ONESHOT_APPLIED == 1 && ONESHOT_HEALTHY == 2, "the words follow the enum");
static const char *const outputs[] = { "text", "json", NULL };
#define AT(field) offsetof(struct sync_flags, field)
static const struct option_def sync_options[] = {
        { .name = "wait", .type = OPTION_CHOICE, .at = AT(wait), .choices = waits, .bare = "healthy", .word = "WHAT",
          .help = "until everything is applied and seen back, retrying what fails, and then until it is healthy" },
        { .name = "timeout", .type = OPTION_DURATION, .at = AT(timeout_ms), .fallback = "10m", .min = 1000,
          .max = 24 * 3600 * INT64_C(1000), .help = "give up after this" },
        { .name = "dry-run", .type = OPTION_BOOL, .at = AT(dry_run), .help = "look only; as diff, in the words of sync" },
        { .name = "prune-limit", .type = OPTION_NUMBER, .at = AT(prune_limit), .fallback = "-1", .min = -1, .max = 1000000,
          .help = "let this many objects be pruned, whatever the budget says; -1: by the budget" },
        { .name = "output", .letter = 'o', .type = OPTION_CHOICE, .at = AT(output), .choices = outputs,
          .help = "how to print it" },
};
const struct option_group cli_sync_flags = { "Sync", sync_options, ARRAY_LEN(sync_options), NULL };

static void on_outcome(void *ctx, struct app *app, const struct outcome *o) {
        struct sync *s = ctx;

        show_outcome(s->show, app, o);
}

static void on_waiting(void *ctx, struct app *app, const char *what) {
        struct sync *s = ctx;

        show_waiting(s->show, app, what);
}

static void on_revision(void *ctx, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                        const struct err *rejected) {
        struct sync *s = ctx;

        show_revision(s->show, app, r, set, rejected);
}

static void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        struct sync *s = ctx;

        s->prune_stopped |= prune_err != NULL;
        show_settled(s->show, app, prune_err);
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        struct sync *s = ctx;

        (void)what;
        show_trouble(s->show, app, err);
}

static void on_remark(void *ctx, struct app *app, const char *place, const char *text) {
        struct sync *s = ctx;

        show_setting(s->show, app, place, text);
}

/* As Argo CD's: a document without `prune: true` is pruned when that is asked for. */
static bool asks_for_prune(int argc, char **argv) {
        for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
                if (strcmp(argv[i], "--prune") == 0)
                        return true;
        }
        return false;
}

static void set_options(struct sync *s) {
        struct oneshot *o = &s->oneshot;

        for (size_t i = 0; i < agent_app_count(o->agent); i++) {
                const struct config_app *c = app_config(agent_app(o->agent, i));
                struct app_sync_options options = {
                        .prune = o->session.app_flags.prune && (c->prune || s->prune_asked),
                        .allow_empty = c->allow_empty || o->session.app_flags.allow_empty,
                        .prune_max_count = s->flags.prune_limit,
                        .no_prune_budget = !o->session.config->agent.prune_budget,
                };

                app_set_sync_options(agent_app(o->agent, i), &options);
        }
}

static void on_health(void *ctx, struct app *app, enum agent_health_news news) {
        struct sync *s = ctx;

        (void)news;
        show_health(s->show, app, s->started_ms);
}

static int finish(struct sync *s) {
        struct oneshot *o = &s->oneshot;
        bool synced = o->rejected == 0 && !s->prune_stopped && o->synced && (o->healthy || o->wait != ONESHOT_HEALTHY);

        if (o->err.code)
                return session_fail(&o->err);
        if (o->timed_out)
                show_timed_out(s->show, o->timeout_ms);
        int exit_code = o->timed_out ? CLI_TIMED_OUT : o->rejected ? CLI_ERROR : synced ? CLI_OK : CLI_DIFFERENT;
        show_end(s->show, o->agent, loop_now_ms(o->session.loop) - s->started_ms, exit_code);
        return exit_code;
}

int cli_sync(int argc, char **argv) {
        struct sync s = { .oneshot.hooks = { on_outcome, on_waiting, on_revision, on_settled, .trouble = on_trouble,
                                         .remark = on_remark, .health = on_health } };
        struct oneshot *o = &s.oneshot;
        const struct option_group own = option_group_of(&cli_sync_flags, &s.flags);
        struct err err;
        int result = CLI_OK, r = session_configure(&o->session, "sync", argc, argv, &own, &err);

        if (r == 0 && !o->session.help) {
                o->ctx = &s;
                s.prune_asked = asks_for_prune(argc, argv);
                o->mode = s.flags.dry_run ? DECIDE_DIFF : DECIDE_MANUAL;
                o->wait = s.flags.dry_run ? ONESHOT_SETTLED : (enum oneshot_wait)s.flags.wait;
                o->timeout_ms = s.flags.timeout_ms;
                r = oneshot_open(o, &err);
        }
        if (r == 0 && !o->session.help) {
                s.show = show_new(s.flags.output == 1 ? SHOW_JSON : SHOW_TEXT, SHOW_SYNC, o->session.loop);
                s.started_ms = loop_now_ms(o->session.loop);
                if (o->wait != ONESHOT_SETTLED)
                        show_retries(s.show);
                set_options(&s);
                oneshot_run(o);
                result = finish(&s);
        }
        show_free(s.show);
        oneshot_close(o);
        return r < 0 ? session_fail(&err) : result;
}
