/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds: a path whose scaler or rule has gone is not taken back for a while. Each path has its own; the inventory remembers
 * since when, so that a restart begins none anew and shortens none.
 */
#include "agent/app_impl.h"

static struct inventory_entry *entry_of(const struct item *item) {
        return app_entry(item->app, item->desired->id);
}

static struct item_hold *find(const struct item *item, uint64_t id) {
        for (size_t i = 0; i < item->hold_count; i++)
                if (item->holds[i].id == id)
                        return &item->holds[i];
        return NULL;
}

static bool is_among(const uint64_t *ids, size_t count, uint64_t id) {
        for (size_t i = 0; i < count; i++)
                if (ids[i] == id)
                        return true;
        return false;
}

static void add(struct item *item, uint64_t id, int64_t until_ms) {
        item->holds = mem_grow(item->holds, &item->hold_cap, item->hold_count + 1, sizeof *item->holds);
        item->holds[item->hold_count++] = (struct item_hold){ id, until_ms };
}

static void drop(struct item *item, size_t at) {
        struct inventory_entry *e = entry_of(item);

        if (e && inventory_end_hold(e, item->holds[at].id))
                item->app->inventory_dirty = true;
        item->holds[at] = item->holds[--item->hold_count];
}

static bool is_over(const struct item *item, const struct item_hold *h) {
        return h->until_ms <= loop_now_ms(item->app->env.loop);
}

/*
 * A scaler may have come of a kind that was installed in the hold, which nobody told where no definitions are watched: a
 * hold does not end before discovery and the lists of what it shows are newer than its time.
 */
static bool ends(const struct item *item, const struct item_hold *h) {
        const struct app_env *env = &item->app->env;

        return is_over(item, h) && env->hooks.knows_scalers(env->ctx, h->until_ms);
}

/*
 * One that began in the future, by a clock that was set since, begins anew. One that ended while nobody looked has its
 * time all the same: what was learnt since then is enough.
 */
static void recall(struct item *item) {
        struct app *app = item->app;
        struct inventory_entry *e = entry_of(item);
        int64_t hold_ms = app->env.agent->replicas_hold_ms, wall_ms = loop_wall_ms(app->env.loop);

        for (size_t i = 0; e && i < e->hold_count; i++) {
                struct inventory_hold *h = &e->holds[i];
                int64_t until_ms;

                if (find(item, h->id))
                        continue;
                if (h->since_ms > wall_ms) {
                        h->since_ms = wall_ms;
                        app->inventory_dirty = true;
                }
                until_ms = loop_now_ms(app->env.loop) + hold_ms - (wall_ms - h->since_ms);
                add(item, h->id, until_ms < 1 ? 1 : until_ms);
        }
}

void item_hold(struct item *item) {
        if (item->app->env.agent->replicas_hold_ms == 0)
                return;
        for (size_t i = item->hold_count; i-- > 0;)
                if (is_over(item, &item->holds[i]))
                        drop(item, i);
        recall(item);
        item->hold_begins = true;
}

bool item_is_held(const struct item *item) {
        return item->hold_begins || item->hold_count;
}

bool item_hold_is_to_end(const struct item *item) {
        for (size_t i = 0; i < item->hold_count; i++)
                if (is_over(item, &item->holds[i]))
                        return true;
        return false;
}

size_t item_holds_over(const struct item *item, struct arena *a, const uint64_t **ret_ids) {
        uint64_t *ids = arena_alloc(a, (item->hold_count + 1) * sizeof *ids);
        size_t count = 0;

        for (size_t i = 0; i < item->hold_count; i++)
                if (ends(item, &item->holds[i]))
                        ids[count++] = item->holds[i].id;
        *ret_ids = ids;
        return count;
}

void item_keep_holds(struct item *item, const struct decide_input *in, const struct decision *d) {
        struct app *app = item->app;
        struct inventory_entry *e = entry_of(item);
        int64_t until_ms = loop_now_ms(app->env.loop) + app->env.agent->replicas_hold_ms;

        item->hold_begins = false;
        for (size_t i = item->hold_count; i-- > 0;)
                if (!is_among(d->held, d->held_count, item->holds[i].id) && !is_among(in->unheld, in->unheld_count, item->holds[i].id))
                        drop(item, i);
        for (size_t i = 0; i < d->held_count; i++) {
                if (find(item, d->held[i]))
                        continue;
                add(item, d->held[i], until_ms);
                if (e)
                        inventory_begin_hold(e, d->held[i], loop_wall_ms(app->env.loop));
                app->inventory_dirty |= e != NULL;
        }
        item_wake_for_holds(item);
}

void item_drop_holds(struct item *item, const uint64_t *ids, size_t count) {
        for (size_t i = item->hold_count; i-- > 0;)
                if (is_among(ids, count, item->holds[i].id))
                        drop(item, i);
}

void item_end_holds(struct item *item) {
        struct inventory_entry *e = entry_of(item);

        item->hold_begins = false;
        item->hold_count = 0;
        if (e && e->hold_count) {
                e->hold_count = 0;
                item->app->inventory_dirty = true;
        }
}

/* One that is over is not waited for by time. */
int64_t item_hold_due_ms(const struct item *item) {
        int64_t due_ms = 0;

        for (size_t i = 0; i < item->hold_count; i++) {
                const struct item_hold *h = &item->holds[i];

                if ((!is_over(item, h) || ends(item, h)) && (!due_ms || h->until_ms < due_ms))
                        due_ms = h->until_ms;
        }
        return due_ms;
}

void item_wake_for_holds(struct item *item) {
        for (size_t i = 0; i < item->hold_count; i++)
                app_wake(item->app, item->holds[i].until_ms);
}
