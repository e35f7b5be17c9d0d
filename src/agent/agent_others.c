/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What applications of one agent have to do with each other: whose an object is that several want, and what must be known
 * of all before one of them deletes anything.
 */
#include "agent/agent_impl.h"

#define OTHERS_WAIT_MS  (60 * INT64_C(1000)) /* for others, after a commit came into force */
#define OTHERS_AGAIN_MS 5000                 /* between two looks at the Git of one that could not be read */
#define UNREAD_WAIT_MS  (3600 * INT64_C(1000)) /* for others whose commits cannot be read: one must not stop all for ever */

/* What one makes along with it gives way to what another has in Git. */
static bool wants(const struct entry *e, struct str id) {
        const struct desired *d = desired_find(app_desired(e->app), id);

        return d && d->state == DESIRED_OK && !d->along;
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

/* Did it make the object, or may an apply of it that was given up have made it anew? */
static bool has_made(const struct inventory *inv, struct str id) {
        const struct inventory_entry *e = inv ? inventory_find(inv, id) : NULL;

        return e && (e->uid || (e->flags & INVENTORY_PENDING)) && !(e->flags & INVENTORY_ADOPTED);
}

bool agent_given_up(void *ctx, const struct app *app, struct str id, struct str tracked_by, bool *ret_made) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++) {
                const struct entry *e = &agent->entries[i];

                if (e->app == app || !str_eq(tracked_by, e->config->instance))
                        continue;
                *ret_made = has_made(app_inventory_so_far(e->app), id);
                return app_desired(e->app) && !desired_find(app_desired(e->app), id);
        }
        return false;
}

static bool is_to_be_loaded(const struct entry *e) {
        return app_desired(e->app) && !app_inventory(e->app) && !app_err(e->app)->code;
}

bool agent_others_begin(void *ctx, const struct app *app) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++) {
                const struct entry *e = &agent->entries[i];

                if (e->app != app && (is_to_be_loaded(e) || (entry_has_news(e) && !app_desired(e->app) && !entry_is_behind(e))))
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
        return entry_has_news(e) && !entry_is_behind(e) && !entry_is_current(e);
}

static bool has_news_at(const struct entry *e, const struct git_id *commit) {
        for (size_t i = 0; i < e->feed_count; i++)
                if (e->feeds[i].has_news && git_id_eq(&e->feeds[i].news.commit, commit))
                        return true;
        return false;
}

/* Was it looked at when the commit in force of another application was seen, or later? Else it is now, if that is due. */
static bool is_looked_at(struct feed *feed, const struct entry *mine, bool again) {
        if (poll_looked_ms(feed->poll) >= mine->revision.timeline.noticed_ms ||
            (feed->has_news && has_news_at(mine, &feed->news.commit)))
                return true;
        if (again)
                poll_now(feed->poll);
        return false;
}

static bool are_looked_at(struct entry *other, const struct entry *mine) {
        int64_t now_ms = loop_now_ms(other->agent->loop);
        bool all = true, again = !other->asked_ms || now_ms - other->asked_ms >= OTHERS_AGAIN_MS;

        for (size_t i = 0; i < other->feed_count; i++)
                all &= is_looked_at(&other->feeds[i], mine, again);
        if (!all && again)
                other->asked_ms = now_ms;
        return all;
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
                return entry_has_news(other) || other->err.code;
        return are_looked_at(other, mine);
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
        bool known = !mine->render && (!mine->stale || mine->held_back); /* its own newer commit may want it again */

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

static bool shares_commit(const struct entry *e, const struct desired_set *set) {
        for (size_t i = 0; i < set->commit_count; i++)
                if (has_news_at(e, &set->commits[i]))
                        return true;
        return false;
}

/* May its newest commit, which cannot be read, want what is not in the one that `app` has in force? */
static bool may_want_more(const struct entry *e, const struct app *app) {
        if (e->agent->options.poll_once && !app_desired(e->app))
                return true;
        if (!entry_is_behind(e) || e->app == app)
                return entry_is_behind(e);
        return shares_commit(e, app_desired(app)) &&
               loop_now_ms(e->agent->loop) - e->rejected_since_ms < UNREAD_WAIT_MS;
}

struct str agent_unread_by(void *ctx, const struct app *app) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++)
                if (may_want_more(&agent->entries[i], app))
                        return agent->entries[i].config->name;
        return STR("");
}
