/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pump of an application. Each turn it asks, in order, what the next step is, and does that one; every callback ends
 * in app_kick(), so the order of events does not matter. See app.h for the steps; app_prepare.c, app_apply.c and
 * app_prune.c take them.
 */
#include "agent/app_impl.h"

#include "base/json.h"

#define LOAD_AGAIN_MS 5000

/* --- life cycle ------------------------------------------------------------------------------------------------- */

static void pump(void *ctx);

struct app *app_new(const struct app_env *env, const struct config_app *config) {
        struct app *app = mem_zalloc(sizeof *app);

        app->env = *env;
        app->config = config;
        app->mode = config->automated ? DECIDE_AUTO : DECIDE_DIFF;
        app->options = (struct app_sync_options){ .prune = config->prune, .allow_empty = config->allow_empty,
                                                  .prune_max_count = -1, .no_prune_budget = !env->agent->prune_budget };
        app->store = store_app_new(env->store, config->instance);
        store_on_slow(app->store, APP_SLOW_MS, app_tell_slow, app);
        app->items = map_new(item_free);
        app->types = types_new(env->cluster);
        app->pump = loop_timer_new(env->loop, pump, app);
        app->retry = loop_timer_new(env->loop, app_retry_due, app);
        app->status = buf_make(STORE_MAX_STATUS_BYTES);
        app_health_new(app);
        app->ignore_uses = mem_zalloc((config->ignores.count + 1) * sizeof *app->ignore_uses);
        return app;
}

void app_free(struct app *app) {
        if (!app)
                return;
        app_prune_free(app->prune);
        app_census_clear(app);
        kube_op_cancel(app->namespace_op);
        while (app->looks)
                app_look_free(app->looks);
        map_free(app->items);
        store_app_free(app->store);
        loop_timer_free(app->pump);
        loop_timer_free(app->retry);
        app_health_free(app);
        types_free(app->types);
        inventory_free(app->inventory);
        inventory_free(app->inventory_before);
        desired_set_free(app->desired);
        desired_set_free(app->remembered);
        free(app->crds);
        free(app->ignore_uses);
        told_clear(&app->told_crd);
        told_clear(&app->told_slow);
        app_fights_free(app);
        buf_done(&app->status);
        free(app);
}

void app_kick(struct app *app) {
        if (!loop_timer_is_running(app->pump))
                loop_timer_start(app->pump, 0);
}

const struct config_app *app_config(const struct app *app) {
        return app->config;
}

struct tracking app_tracking(const struct app *app) {
        return (struct tracking){ app->env.agent->installation_id, app->config->instance,
                                  app->config->destination_namespace };
}

void app_set_mode(struct app *app, enum decide_mode mode) {
        app->mode = mode;
}

void app_set_sync_options(struct app *app, const struct app_sync_options *options) {
        app->options = *options;
}

const struct desired_set *app_desired(const struct app *app) {
        return app->desired;
}

const struct inventory *app_inventory(const struct app *app) {
        return app->inventory;
}

const struct inventory *app_inventory_so_far(const struct app *app) {
        return app->inventory ? app->inventory : app->inventory_before;
}

const struct err *app_err(const struct app *app) {
        return &app->err;
}

struct inventory_entry *app_entry(const struct app *app, struct str id) {
        return app->inventory ? inventory_find(app->inventory, id) : NULL;
}

struct cluster_kind *app_kind_of(const struct app *app, struct str id, struct str version) {
        struct inventory_id parts;

        if (!inventory_id_split(id, &parts))
                return NULL;
        return cluster_find_kind(app->env.cluster, (struct gvk){ parts.group, version, parts.kind });
}

/* --- a new set -------------------------------------------------------------------------------------------------- */

/* Stops work on an item; what was sent may still take effect, so it is read before the next decision. */
static void stop_op(struct item *item) {
        if (item->state != ITEM_RUNNING)
                return;
        op_free(TAKE_PTR(item->op));
        item->app->queue[item->stage].running--;
        item->app->running--;
        item->state = ITEM_OUT_OF_SYNC;
        item->again = false;
        item->read_first = true;
}

static void drop_item(struct app *app, struct str id, struct item *item) {
        stop_op(item);
        app->awaited -= item->awaited_rv != NULL;
        map_remove(app->items, id);
}

static void drop_left_items(struct app *app) {
        size_t at = 0;
        struct str id;
        void *p;

        while (map_next(app->items, &at, &id, &p)) {
                if (!desired_find(app->desired, id))
                        drop_item(app, id, p);
        }
}

/* The CRDs of the set, so that waiting for them does not walk everything. */
static void collect_crds(struct app *app) {
        app->crds = mem_realloc(app->crds, (app->desired->count + 1) * sizeof *app->crds);
        app->crd_count = 0;
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];

                if (d->id.n && item_stage(d) == STAGE_CRDS)
                        app->crds[app->crd_count++] = d;
        }
}

static void set_item(struct app *app, const struct desired *d, const struct desired *old, uint64_t epoch) {
        struct item *item = map_find(app->items, d->id);

        if (!item) {
                item = mem_zalloc(sizeof *item);
                item->app = app;
                item->epoch = epoch;
                item->state = ITEM_PARKED;
                map_set(app->items, d->id, item);
        }
        bool same = old && old->state == d->state && str_eq(old->text, d->text) && gvk_eq(old->gvk, d->gvk);
        item->desired = d;
        item->stage = item_stage(d);
        item_count_health(item);
        item_wake_for_holds(item);
        if (same && (item->state == ITEM_SYNCED || item->state == ITEM_RUNNING))
                return;
        stop_op(item);
        if (!same && !item->previous && old && old->text.n)
                item->previous = str_dup(old->text);
        item->look_only = false;
        item->noticed_ms = 0;
        item->attempts = 0;
        item->retry_at_ms = 0;
        if (d->state == DESIRED_OK)
                item_queue(item);
        else
                item->state = d->state == DESIRED_PARKED    ? ITEM_PARKED
                              : d->state == DESIRED_REFUSED ? ITEM_REFUSED
                                                            : ITEM_SKIPPED;
}

/* Queues are rebuilt from scratch, so that the new set's order holds. */
static void empty_queues(struct app *app) {
        for (size_t s = 0; s < STAGE_COUNT; s++) {
                while (app->queue[s].first)
                        queue_take(&app->queue[s])->state = ITEM_OUT_OF_SYNC;
        }
}

/* Did an earlier run sync this very commit of these sources? Without self-heal it is then not applied again, as in Argo CD. */
static bool was_attempted(struct app *app) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *status;

        return json_parse(store_status(app->store), a, &status, NULL) == 0 &&
               str_eq(app_applied_commit(status), app->desired->revision) && app_is_recorded(status, app->config);
}

/*
 * Asked once a process, of its first set: when the stored status names that, drift is only looked at without self-heal. Later
 * the status may name what this process has begun and not done. What the inventory does not have was never applied: the
 * configuration has changed.
 */
static void look_only_again(struct app *app) {
        size_t at = 0;
        void *p;

        if (app->looked_back || !app->desired || !app->inventory)
                return;
        app->looked_back = true;
        if (app->config->self_heal || !was_attempted(app))
                return;
        while (map_next(app->items, &at, NULL, &p)) {
                struct item *item = p;

                item->look_only = app->mode == DECIDE_AUTO && app_entry(app, item->desired->id);
        }
}

void app_trouble(struct app *app, const char *what, const struct err *err) {
        app->err = *err;
        app->env.hooks.trouble(app->env.ctx, app, what, err);
}

/* What was learnt since the inventory was stored is not in it: what is synced is looked at, which costs no request. */
static void note_all_again(struct app *app) {
        size_t at = 0;
        void *p;

        while (map_next(app->items, &at, NULL, &p)) {
                struct item *item = p;

                if (item->state != ITEM_SYNCED)
                        continue;
                item_look_or_heal(item);
                item_queue(item);
        }
}

bool app_expect_of_earlier(const struct app *app, struct inventory_entry *e) {
        int64_t until_ms = app->loaded_ms + APP_STRAY_MS;

        if (!app->env.one_shot && e->stray_until_ms < until_ms)
                e->stray_until_ms = until_ms;
        return e->stray_until_ms > loop_now_ms(app->env.loop);
}

static void note_stray(struct app *app, struct inventory_entry *e, const struct inventory_entry *before) {
        if (!before || !before->stray_until_ms) {
                if (e->flags & INVENTORY_PENDING)
                        app_expect_of_earlier(app, e);
                return;
        }
        e->stray_until_ms = before->stray_until_ms;
        if (e->stray_until_ms <= loop_now_ms(app->env.loop))
                return;
        if (!before->uid)
                inventory_set_uid(e, STR(""));
        e->flags |= INVENTORY_PENDING;
        app->inventory_dirty = true;
}

/* What this process did and has not stored is remembered when the inventory is read anew. */
static void recall_requests(struct app *app) {
        size_t count;
        _cleanup_(mem_freep) struct inventory_entry **list = inventory_sorted(app->inventory, &count);

        for (size_t i = 0; i < count; i++) {
                const struct inventory_entry *before =
                        app->inventory_before ? inventory_find(app->inventory_before, str_from(list[i]->id)) : NULL;

                note_stray(app, list[i], before);
                if (!before)
                        continue;
                list[i]->asked = before->asked;
                list[i]->kept = before->kept;
        }
}

static void loaded(void *ctx, struct inventory *inv, const struct err *err) {
        struct app *app = ctx;

        app->loading = false;
        if (err) {
                app_trouble(app, "inventory", err);
                app_wake(app, loop_now_ms(app->env.loop) + LOAD_AGAIN_MS);
                return;
        }
        app->err.code = 0;
        inventory_free(app->inventory);
        app->inventory = inv;
        app->loaded_ms = loop_now_ms(app->env.loop);
        recall_requests(app);
        inventory_free(TAKE_PTR(app->inventory_before));
        app_recall_health(app);
        look_only_again(app);
        note_all_again(app);
        app->env.hooks.loaded(app->env.ctx, app);
        app_kick(app);
}

void app_reload(struct app *app) {
        app->reload_due = true;
        app_prune_free(TAKE_PTR(app->prune));
        app->prune_again |= app->prune_done;
        app->prune_done = false;
        app_kick(app);
}

/* True when it may go on with the inventory at hand, or without one. */
static bool inventory_is_at_hand(struct app *app) {
        if (!app->reload_due)
                return true;
        if (app->running)
                return false;
        app->reload_due = false;
        if (!app->inventory)
                return true;
        inventory_free(app->inventory_before);
        app->inventory_before = TAKE_PTR(app->inventory);
        return true;
}

void app_remember(struct app *app, struct desired_set *set) {
        desired_set_free(app->remembered);
        app->remembered = set;
}

void app_set_desired(struct app *app, struct desired_set *set) {
        struct desired_set *old = app->desired ? app->desired : TAKE_PTR(app->remembered);
        uint64_t epoch = cluster_begin_epoch(app->env.cluster);

        loop_timer_stop(app->retry);
        app->set_ms = loop_now_ms(app->env.loop);
        app->forget_at_ms = 0;
        empty_queues(app);
        app_health_begins(app);
        app->desired = set;
        collect_crds(app);
        drop_left_items(app);
        for (size_t i = 0; i < set->count; i++) {
                if (set->objects[i].id.n)
                        set_item(app, &set->objects[i], desired_find(old, set->objects[i].id), epoch);
        }
        look_only_again(app);
        app_prune_free(TAKE_PTR(app->prune));
        app_census_clear(app);
        told_clear(&app->told_crd);
        app->prune_done = false;
        app->prune_again = false;
        app->kinds_read = false;
        app->superset_saved = false;
        app->looked = false;
        app->namespace_ready = false;
        app->acted_on = false;
        app->settled = false;
        app->concluded = false;
        app->observed = false;
        app_forget_parked_kinds(app);
        app->parked_told = false;
        desired_set_free(old);
        app_kick(app);
}

/* --- the pump --------------------------------------------------------------------------------------------------- */

static bool prune_is_running(struct app *app) {
        if (app->prune)
                return true;
        if (app->prune_done || app->env.watch_only)
                return false;
        app->prune_done = true;
        return app_prune_start(app);
}

/* All that the commit asked for is done, its deletions, too: a scaler that goes from now on is none that it took away. */
static void forget_previous(struct app *app) {
        size_t at = 0;
        void *p;

        app->acted_on = true;
        while (map_next(app->items, &at, NULL, &p)) {
                struct item *item = p;

                if (item->state == ITEM_SYNCED)
                        free(TAKE_PTR(item->previous));
        }
}

/* The last step: what was learnt is saved, then it is told that all is done. Nothing new to save is no request. */
static void settle(struct app *app) {
        if (app->settled)
                return;
        app_tell_parked(app);
        if (app_health_is_awaited(app))
                return;
        if (!app->concluded && !app->env.read_only) {
                app->concluded = true;
                failpoint("before-last-save");
                if (app_save_status(app))
                        return;
        }
        app->settled = true;
        told_clear(&app->told_slow);
        app_tell_idle_ignores(app);
        if (!app->acted_on)
                forget_previous(app);
        app->env.hooks.settled(app->env.ctx, app, app->prune_err.code ? &app->prune_err : NULL);
}

static void pump(void *ctx) {
        struct app *app = ctx;

        if (app->barred || (!app->desired && !app->wanted) || app->loading || store_is_busy(app->store) ||
            app->namespace_op || !inventory_is_at_hand(app))
                return;
        if (!app->inventory) {
                app->loading = true;
                store_load(app->store, loaded, app);
                return;
        }
        if (app_status_is_due(app))
                app->concluded = app->settled = false;
        if (!app->desired) {
                if (app_status_is_due(app))
                        app_save_status(app);
                return;
        }
        if (!app->kinds_read) {
                if (app_kinds_are_pending(app))
                        return;
                app->kinds_read = true;
                app_look_at_health(app);
        }
        if (!app->looked)
                app_begin_looks(app);
        if (app->looks || !app_superset_is_saved(app))
                return;
        failpoint("after-superset");
        if (!app_may_begin(app))
                return;
        if (!app_namespace_is_ready(app) || app_apply(app) || app_look_for_parked_kinds(app) || prune_is_running(app))
                return;
        settle(app);
        if (app->settled && !app->observed && app->awaited == 0) {
                app->observed = true;
                app->env.hooks.observed(app->env.ctx, app);
        }
}

/* --- events ----------------------------------------------------------------------------------------------------- */

bool app_knows(const struct app *app, struct str id) {
        return map_find(app->items, id) || (app->inventory && inventory_find(app->inventory, id));
}

static void note_echo(struct app *app, struct item *item, const struct live *live) {
        int order;

        if (!item->awaited_rv || !live)
                return;
        if (kube_rv_cmp(str_from(live->rv), str_from(item->awaited_rv), &order) && order < 0)
                return;
        free(TAKE_PTR(item->awaited_rv));
        app->awaited--;
        app_kick(app);
}

void app_live_changed(struct app *app, struct str id, const struct live *live) {
        struct item *item = map_find(app->items, id);

        app_prune_live_changed(app, id, live);
        if (!item)
                return;
        item_look_at_health(item);

        bool echo = item->awaited_rv && live && str_eqc(str_from(live->rv), item->awaited_rv);
        note_echo(app, item, live);
        if (echo || item->state == ITEM_QUEUED || item->state == ITEM_SKIPPED || item->desired->state != DESIRED_OK)
                return;
        if (item_is_refused(item, live))
                return;
        if (!item->noticed_ms)
                item->noticed_ms = loop_now_ms(app->env.loop);
        item->read_first |= live == NULL;
        item_look_or_heal(item);
        if (live && item_is_too_soon(item))
                return;
        item_queue(item);
}

void app_live_dropped(struct app *app, struct str id) {
        struct item *item = map_find(app->items, id);

        if (item)
                item_look_at_health(item);
}

void app_scaler_changed(struct app *app, struct str id, bool is_gone) {
        struct item *item = map_find(app->items, id);

        if (!item || item->desired->state != DESIRED_OK)
                return;
        /* What a scaler that comes ends is the decision's to say: the hold of a rule goes on. */
        if (is_gone)
                item_hold(item);
        item_queue(item);
}

void app_scalers_are_known(struct app *app) {
        app_wake(app, loop_now_ms(app->env.loop));
}

void app_others_changed(struct app *app) {
        size_t at = 0;
        void *p;

        while (map_next(app->items, &at, NULL, &p)) {
                struct item *item = p;

                if (item->state == ITEM_REFUSED && item->desired->state == DESIRED_OK)
                        item_queue(item);
        }
        app_prune_others_changed(app);
        app_kick(app);
}

void app_others_pruned(struct app *app) {
        app_prune_others_changed(app);
        if (!app->begun)
                app_kick(app);
}

void app_kinds_changed(struct app *app) {
        app->kinds_read = false;
        app_prune_kinds_changed(app);
        app_kick(app);
}

void app_bar(struct app *app) {
        app->barred = true;
}
