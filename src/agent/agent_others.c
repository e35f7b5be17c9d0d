/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What applications of one agent have to do with each other: whose an object is that several want, and what must be known
 * of all before one of them deletes anything.
 */
#include "agent/agent_impl.h"

#define OTHERS_WAIT_MS  (60 * INT64_C(1000)) /* for others, after a commit came into force */
#define OTHERS_AGAIN_MS 5000                 /* between two looks at the Git of one that could not be read */
#define UNREAD_WAIT_MS  (3600 * INT64_C(1000)) /* for others whose commits cannot be read: one must not stop all for ever */

static bool wants(const struct entry *e, struct str id) {
        const struct desired *d = desired_find(app_desired(e->app), id);

        return d && d->state == DESIRED_OK;
}

struct str agent_rival(void *ctx, const struct app *app, struct str id, struct str tracked_by) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++) {
                const struct entry *e = &agent->entries[i];

                if (wants(e, id) && (!tracked_by.n || str_eq(tracked_by, e->config->instance)))
                        return e->app == app ? STR("") : e->config->name;
        }
        return STR("");
}

bool agent_given_up(void *ctx, const struct app *app, struct str id, struct str tracked_by, bool *ret_made) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++) {
                const struct entry *e = &agent->entries[i];

                if (e->app == app || !str_eq(tracked_by, e->config->instance))
                        continue;
                const struct inventory_entry *had =
                        app_inventory(e->app) ? inventory_find(app_inventory(e->app), id) : NULL;
                *ret_made = had && had->uid && !(had->flags & INVENTORY_ADOPTED);
                return app_desired(e->app) && !desired_find(app_desired(e->app), id);
        }
        return false;
}

bool agent_others_begin(void *ctx, const struct app *app) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++) {
                const struct entry *e = &agent->entries[i];

                if (e->app != app && e->has_news && !app_desired(e->app) && !e->rejected.code)
                        return true;
        }
        return false;
}

struct app *agent_other(void *ctx, const struct app *app, size_t at) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++) {
                if (agent->entries[i].app != app && at-- == 0)
                        return agent->entries[i].app;
        }
        return NULL;
}

/* Has the newest commit that was fetched neither come into force nor been rejected yet? */
static bool is_to_be_rendered(const struct entry *e) {
        const struct desired_set *set = app_desired(e->app);

        return e->has_news && !e->rejected.code && !(set && git_id_eq(&set->commit, &e->news.commit));
}

static bool is_to_be_loaded(const struct entry *e) {
        return app_desired(e->app) && !app_inventory(e->app) && !app_err(e->app)->code;
}

/* Where each is looked at once, that look must have ended; else one must have begun when `mine` was seen, or later. */
static bool is_known(struct entry *other, const struct entry *mine) {
        struct agent *agent = other->agent;
        int64_t now_ms = loop_now_ms(agent->loop);

        if (other->render)
                return false;
        if (!agent->options.poll_once && now_ms - mine->revision.timeline.rendered_ms > OTHERS_WAIT_MS)
                return true;
        if (is_to_be_rendered(other) || is_to_be_loaded(other))
                return false;
        if (agent->options.poll_once)
                return other->has_news || other->err.code;
        if (poll_looked_ms(other->poll) >= mine->revision.timeline.noticed_ms ||
            (other->has_news && git_id_eq(&other->news.commit, &mine->news.commit)))
                return true;
        if (!other->asked_ms || now_ms - other->asked_ms >= OTHERS_AGAIN_MS) {
                other->asked_ms = now_ms;
                poll_now(other->poll);
        }
        return false;
}

static const struct entry *newest(const struct agent *agent, const struct entry *e) {
        for (size_t i = 0; i < agent->count; i++)
                if (agent->entries[i].revision.timeline.noticed_ms > e->revision.timeline.noticed_ms)
                        e = &agent->entries[i];
        return e;
}

bool agent_others_known(void *ctx, const struct app *app, bool again) {
        struct agent *agent = ctx;
        const struct entry *mine = agent_entry_of(agent, app), *since = again ? newest(agent, mine) : mine;
        bool known = !mine->render; /* its own newer commit may want it again */

        for (size_t i = 0; i < agent->count; i++)
                if (&agent->entries[i] != mine)
                        known &= is_known(&agent->entries[i], since);
        return known;
}

void agent_pruned(void *ctx, struct app *app) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++)
                if (agent->entries[i].app != app)
                        app_others_pruned(agent->entries[i].app);
}

/* May its newest commit, which cannot be read, want what is not in the one that `app` has in force? */
static bool may_want_more(const struct entry *e, const struct app *app) {
        if (e->agent->options.poll_once && !app_desired(e->app))
                return true;
        if (!e->rejected.code || e->app == app)
                return e->rejected.code;
        return e->has_news && git_id_eq(&e->news.commit, &app_desired(app)->commit) &&
               loop_now_ms(e->agent->loop) - e->rejected_since_ms < UNREAD_WAIT_MS;
}

struct str agent_unread_by(void *ctx, const struct app *app) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++)
                if (may_want_more(&agent->entries[i], app))
                        return agent->entries[i].config->name;
        return STR("");
}
