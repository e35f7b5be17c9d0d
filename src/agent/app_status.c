/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of an application is written with its inventory at the end of a sync, and besides when it says something
 * new: when a commit cannot be rendered, or Git not be read, also before anything was in force.
 *
 * A detect-only application writes nothing but this. What it learnt of objects stays out of the stored inventory: an
 * object that was compared was not applied, and must not be pruned for it one day.
 */
#include "agent/app_impl.h"

#define STATUS_AGAIN_MS (60 * INT64_C(1000))

void app_load(struct app *app) {
        app->wanted = true;
        app_kick(app);
}

void app_status_changed(struct app *app) {
        app->wanted = app->status_due = true;
        app_kick(app);
}

bool app_status_is_due(const struct app *app) {
        return app->status_due && app->status_at_ms <= loop_now_ms(app->env.loop);
}

struct str app_status_text(const struct app *app) {
        return store_status(app->store);
}

bool app_applies(const struct app *app) {
        return app->mode != DECIDE_DIFF;
}

/* Before there were statuses of what was not applied, "commit" was all that there was. */
struct str app_applied_commit(const struct value *status) {
        const struct value *applied = value_getc(status, "applied");

        return value_text(applied ? applied : value_getc(status, "commit"));
}

static bool is_place(const struct value *record, const struct config_source *source) {
        return str_eq(value_text(value_getc(record, "repo")), source->repo_url) &&
               str_eq(value_text(value_getc(record, "path")), source->path);
}

bool app_is_recorded(const struct value *status, const struct config_app *c) {
        const struct value *all = value_getc(status, "revisions");
        bool same = c->source_count == 1 || value_count(all) == c->source_count;

        for (size_t i = 0; same && i < c->source_count; i++)
                same = is_place(c->source_count == 1 ? status : all->list.items[i], &c->sources[i]);
        return same;
}

struct str app_recorded_commit(const struct app *app, const struct value *status) {
        return app_applies(app) ? app_applied_commit(status) : value_text(value_getc(status, "commit"));
}

/*
 * It is no part of the work: what does not let it be written is told, tried again later, and holds up nothing. CONFLICT:
 * `truce sync` was here, and the status is to be composed on what it left.
 */
static void status_saved(void *ctx, const struct err *err) {
        struct app *app = ctx;

        app_kick(app);
        if (!err)
                return;
        app->status_due = true;
        app->status_at_ms = loop_now_ms(app->env.loop) + (err->code == ERR_CONFLICT ? 0 : STATUS_AGAIN_MS);
        app_wake(app, app->status_at_ms);
        if (err->code == ERR_CONFLICT)
                app_reload(app);
        else
                app->env.hooks.trouble(app->env.ctx, app, "status", err);
}

bool app_save_status(struct app *app) {
        if (!app_applies(app) && app->status_at_ms > loop_now_ms(app->env.loop)) {
                app->status_due = true;
                app_wake(app, app->status_at_ms);
                return false;
        }
        app->status_due = false;
        buf_clear(&app->status);
        app->env.hooks.status(app->env.ctx, app, store_status(app->store), &app->status);
        app->health.due = false;
        if (app_applies(app))
                app_save(app, buf_str(&app->status));
        else
                store_save_status(app->store, buf_str(&app->status), status_saved, app);
        return true;
}
