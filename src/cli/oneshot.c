/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/oneshot.h"

#include "git/deadline.h"

static bool is_healthy(const struct app *app) {
        struct app_health now;

        app_health(app, &now);
        return now.is_current && now.code == HEALTH_HEALTHY;
}

/* What was waited for is there, or nothing more is to be expected; how it is, is stored before the end. */
static bool health_is_done(struct app *app) {
        struct app_health now;

        app_health(app, &now);
        if (!now.is_current || (now.code != HEALTH_HEALTHY && app_sync_status(app) == APP_SYNCED && !app_is_given_up(app)))
                return false;
        return !app_save_health(app);
}

static bool app_is_done(const struct oneshot *o, struct app *app) {
        if (!app_desired(app) || !app_is_settled(app))
                return false;
        if (o->wait != ONESHOT_SETTLED && !(app_is_observed(app) && app_sync_status(app) == APP_SYNCED) && !app_is_final(app))
                return false;
        return o->wait != ONESHOT_HEALTHY || health_is_done(app);
}

static bool all_are_synced(const struct oneshot *o) {
        for (size_t i = 0; i < agent_app_count(o->agent); i++)
                if (app_sync_status(agent_app(o->agent, i)) != APP_SYNCED)
                        return false;
        return true;
}

static bool all_are_healthy(const struct oneshot *o) {
        for (size_t i = 0; i < agent_app_count(o->agent); i++)
                if (!is_healthy(agent_app(o->agent, i)))
                        return false;
        return true;
}

static void check_end(struct oneshot *o) {
        size_t done = 0;

        for (size_t i = 0; i < agent_app_count(o->agent); i++) {
                struct app *app = agent_app(o->agent, i);

                done += o->ended[i] || app_is_done(o, app);
        }
        if (done < agent_app_count(o->agent) || o->over)
                return;
        o->over = true;
        o->synced = all_are_synced(o);
        o->healthy = all_are_healthy(o);
        loop_stop(o->session.loop);
}

/* False when it had ended before. */
static bool end_app(struct oneshot *o, const struct app *app) {
        for (size_t i = 0; i < agent_app_count(o->agent); i++) {
                if (agent_app(o->agent, i) != app || o->ended[i])
                        continue;
                o->ended[i] = true;
                o->rejected++;
                check_end(o);
                return true;
        }
        return false;
}

static void on_outcome(void *ctx, struct app *app, const struct outcome *outcome) {
        struct oneshot *o = ctx;

        o->hooks.outcome(o->ctx, app, outcome);
}

static void on_waiting(void *ctx, struct app *app, const char *what) {
        struct oneshot *o = ctx;

        o->hooks.waiting(o->ctx, app, what);
}

static void on_revision(void *ctx, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                        const struct err *rejected) {
        struct oneshot *o = ctx;

        o->hooks.revision(o->ctx, app, r, set, rejected);
        if (rejected)
                end_app(o, app);
}

static void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        struct oneshot *o = ctx;

        o->hooks.settled(o->ctx, app, prune_err);
        if (o->wait != ONESHOT_APPLIED)
                check_end(o); /* what is stored for health alone settles it again, and no more */
}

static void on_observed(void *ctx, struct app *app, const struct agent_timeline *timeline) {
        struct oneshot *o = ctx;

        o->hooks.observed(o->ctx, app, timeline);
        if (o->wait != ONESHOT_SETTLED)
                check_end(o);
        if (o->wait == ONESHOT_HEALTHY && !o->over)
                o->hooks.health(o->ctx, app, AGENT_HEALTH_AS_IT_WAS);
}

static void say_of(const struct app *app, const struct err *err) {
        _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);

        buf_addf(&line, "%.*s: %s", STR_FMT(app_config(app)->name), err->msg);
        session_say(buf_str(&line));
}

/* A repository without the revision that was asked for is no trouble, if it is there: oneshot_check_revision(). */
static bool lacks_revision(struct oneshot *o, const struct app *app, const char *what, const struct err *err) {
        bool lacks = app && o->session.revision.n && strcmp(what, "git") == 0 && err->code == ERR_NOTFOUND;

        for (size_t i = 0; lacks && i < agent_app_count(o->agent); i++)
                if (agent_app(o->agent, i) == app)
                        o->lacking[i] = *err;
        if (lacks && end_app(o, app))
                o->rejected--;
        return lacks;
}

/* What a daemon would wait out is the end of a one-shot command, save for single kinds: their objects fail by name. */
static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        struct oneshot *o = ctx;
        static const char *const whole[] = { "git", "name", "discovery", "inventory" };
        size_t i = 0;

        if (app && o->mode == DECIDE_DIFF && strcmp(what, "namespace") == 0)
                say_of(app, err);
        while (i < ARRAY_LEN(whole) && strcmp(what, whole[i]) != 0)
                i++;
        if (i == ARRAY_LEN(whole) || lacks_revision(o, app, what, err))
                return;
        if (app) {
                if (end_app(o, app))
                        o->hooks.trouble(o->ctx, app, what, err);
                return;
        }
        o->err = *err;
        loop_stop(o->session.loop);
}

static void on_remark(void *ctx, struct app *app, const char *place, const char *text) {
        struct oneshot *o = ctx;

        o->hooks.remark(o->ctx, app, place, text);
}

/* Only what is waited for is told: until it is applied, the objects' own health is another commit's. */
static void on_health(void *ctx, struct app *app, enum agent_health_news news) {
        struct oneshot *o = ctx;

        if (o->wait != ONESHOT_HEALTHY || !app_desired(app) || !app_is_observed(app))
                return;
        o->hooks.health(o->ctx, app, news);
        check_end(o);
}

static void on_timeout(void *ctx) {
        struct oneshot *o = ctx;

        o->timed_out = true;
        loop_stop(o->session.loop);
}

/*
 * A commit of 40 digits is taken at its word until it is fetched. Only a repository that can be read is known to lack it.
 */
static bool lacks(const struct oneshot *o, const struct config_source *from, struct str word) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct git_deadline d = { git_now_ms() + o->session.config->agent.git_timeout_ms, NULL };
        struct git_source *source = NULL;
        struct git_revision rev;
        bool known = false;

        if (agent_open_remote(o->session.config, from, &source, NULL) < 0)
                return false;
        int r = git_source_resolve(source, word, d, a, &rev, NULL);
        if (r >= 0)
                r = git_source_fetch(source, &rev, d, NULL);
        if (r == ERR_NOTFOUND)
                known = git_source_resolve(source, from->revision, d, a, &rev, NULL) >= 0;
        git_source_free(source);
        return known;
}

/* What cannot be asked takes it, too: the agent tells why it cannot. */
static bool takes_revision(const struct oneshot *o, struct config_app *app) {
        bool taken = false;

        for (size_t i = 0; i < app->source_count; i++) {
                if (lacks(o, &app->sources[i], o->session.revision))
                        continue;
                app->sources[i].revision = o->session.revision;
                taken = true;
        }
        return taken;
}

static int choose_revisions(struct oneshot *o, struct err *err) {
        struct config *c = o->session.config;
        size_t left_out = 0;

        for (size_t i = 0; o->session.revision.n && i < c->app_count; i++) {
                _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);

                if (c->apps[i].source_count == 1 || takes_revision(o, &c->apps[i]))
                        continue;
                c->apps[i].suspended = true;
                left_out++;
                buf_addf(&line, "%.*s is left out: none of its sources' repositories has it", STR_FMT(c->apps[i].name));
                session_say(buf_str(&line));
        }
        if (!left_out || left_out < c->app_count)
                return 0;
        return err_set(err, ERR_NOTFOUND, "--revision %.*s: no repository has it", STR_FMT(o->session.revision));
}

int oneshot_open(struct oneshot *o, struct err *err) {
        static const struct agent_hooks hooks = { on_outcome,  on_waiting, on_revision, on_settled,
                                                  on_observed, on_trouble, on_remark, on_health };
        struct agent_options options = {
                .read_only = o->mode == DECIDE_DIFF, .watch_only = o->watch_only, .foretell = o->foretell, .poll_once = true,
                .follow = o->wait == ONESHOT_HEALTHY,
        };
        int r = session_connect(&o->session, err);

        o->hooks = agent_hooks_completed(&o->hooks);
        if (r == 0)
                r = choose_revisions(o, err);
        if (r == 0)
                r = agent_new(o->session.loop, o->session.transport, o->session.config, &options, &hooks, o, &o->agent, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < agent_app_count(o->agent); i++)
                app_set_mode(agent_app(o->agent, i), o->mode);
        o->ended = mem_zalloc((agent_app_count(o->agent) + 1) * sizeof *o->ended);
        o->lacking = mem_zalloc((agent_app_count(o->agent) + 1) * sizeof *o->lacking);
        o->timer = loop_timer_new(o->session.loop, on_timeout, o);
        if (o->timeout_ms)
                loop_timer_start(o->timer, o->timeout_ms);
        return 0;
}

void oneshot_run(struct oneshot *o) {
        agent_start(o->agent);
        loop_run(o->session.loop);
}

/* A repository that has what its application names, but not the revision that was asked for. */
static bool is_there(const struct oneshot *o, const struct config_app *app, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct session *s = &o->session;
        struct git_deadline d = { git_now_ms() + s->config->agent.git_timeout_ms, NULL };
        struct git_source *source = NULL;
        struct git_revision rev;
        int r = agent_open_remote(s->config, app->sources, &source, err);

        if (r >= 0)
                r = git_source_resolve(source, s->own_revisions[app - s->config->apps], d, a, &rev, err);
        git_source_free(source);
        return r >= 0;
}

int oneshot_check_revision(struct oneshot *o, struct err *err) {
        size_t apps = agent_app_count(o->agent), left_out = 0;
        const struct err *why = NULL;

        for (size_t i = 0; i < apps; i++) {
                const struct config_app *app = app_config(agent_app(o->agent, i));
                _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);
                struct err lost;

                if (!o->lacking[i].code)
                        continue;
                if (!is_there(o, app, &lost)) {
                        o->rejected++;
                        o->hooks.trouble(o->ctx, agent_app(o->agent, i), "git", &lost);
                        continue;
                }
                why = &o->lacking[i];
                left_out++;
                if (apps == 1)
                        continue;
                buf_addf(&line, "%.*s is left out: %s", STR_FMT(app->name), why->msg);
                session_say(buf_str(&line));
        }
        if (!left_out || left_out < apps)
                return 0;
        *err = *why;
        return err_wrap(err, ERR_NOTFOUND, "--revision %.*s", STR_FMT(o->session.revision));
}

void oneshot_close(struct oneshot *o) {
        loop_timer_free(o->timer);
        agent_free(o->agent);
        free(o->ended);
        free(o->lacking);
        session_close(&o->session);
}
