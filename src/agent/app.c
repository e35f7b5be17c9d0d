/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pump of an application. Each turn it asks, in order, what the next step is, and does that one; every callback ends
 * in app_kick(), so the order of events does not matter. See app.h for the steps.
 */
#include "agent/app_impl.h"

#include "base/json.h"

#define REDISCOVER_FIRST_MS 5000
#define REDISCOVER_MAX_MS (60 * INT64_C(1000))
#define PARKED_REASON "the cluster does not serve its kind yet"

#define REMIND_MS (60 * INT64_C(1000))

static const struct backoff rediscover = { REDISCOVER_FIRST_MS, 2, REDISCOVER_MAX_MS };

/* --- items ------------------------------------------------------------------------------------------------------ */

static void item_free(void *p) {
        struct item *item = p;

        op_free(item->op);
        arena_free(item->withheld_arena);
        free(item->awaited_rv);
        free(item);
}

static enum stage stage_of(const struct desired *d) {
        if (manifest_is_namespace(d->gvk.group, d->gvk.kind))
                return STAGE_NAMESPACES;
        return manifest_is_crd(d->gvk.group, d->gvk.kind) ? STAGE_CRDS : STAGE_REST;
}

void item_queue(struct item *item) {
        struct queue *q = &item->app->queue[item->stage];

        if (item->state == ITEM_QUEUED)
                return;
        if (item->state == ITEM_RUNNING) {
                item->again = true;
                return;
        }
        item->state = ITEM_QUEUED;
        item->next = NULL;
        if (q->last)
                q->last->next = item;
        else
                q->first = item;
        q->last = item;
        item->app->settled = false;
        item->app->concluded = false;
        item->app->observed = false;
        app_kick(item->app);
}

static struct item *take_first(struct queue *q) {
        struct item *item = q->first;

        q->first = item->next;
        if (!q->first)
                q->last = NULL;
        return item;
}

void app_wake(struct app *app, int64_t at_ms) {
        int64_t now_ms = loop_now_ms(app->env.loop);

        if (loop_timer_is_running(app->retry) && app->wake_at_ms <= at_ms)
                return;
        app->wake_at_ms = at_ms;
        loop_timer_start(app->retry, at_ms > now_ms ? at_ms - now_ms : 0);
}

void item_hold(struct item *item) {
        int64_t hold_ms = item->app->env.agent->replicas_hold_ms;

        if (hold_ms == 0)
                return;
        item->hold_until_ms = loop_now_ms(item->app->env.loop) + hold_ms;
        app_wake(item->app, item->hold_until_ms);
}

/* The request got lost, or lost a race: it says nothing about the object, and is tried again soon and without end. */
static bool is_mishap(int code) {
        return code == ERR_CONFLICT || code == ERR_UNREACHABLE || code == ERR_TIMEOUT || code == ERR_THROTTLED ||
               code == ERR_GONE;
}

/* What the server refuses is tried again as syncPolicy.retry says. */
static void schedule_retry(struct item *item, const struct err *err) {
        struct app *app = item->app;
        const struct config_retry *retry = &app->config->retry;
        struct backoff slow = { retry->first_ms, (double)retry->factor, retry->max_ms };
        bool mishap = is_mishap(err->code);

        item->attempts++;
        item->retry_at_ms = 0;
        if (!err_is_transient(err->code) || (!mishap && retry->limit >= 0 && item->attempts > retry->limit))
                return;
        item->retry_at_ms = loop_now_ms(app->env.loop) + backoff_after(mishap ? &BACKOFF_OBJECT : &slow, item->attempts, err,
                                                                       (unsigned)loop_random(app->env.loop, 1000));
        app_wake(app, item->retry_at_ms);
}

/* Without self-heal what this commit has brought about is only looked at; what it has not yet is still applied. */
static void look_or_heal(struct item *item) {
        const struct app *app = item->app;

        if (item->state == ITEM_SYNCED || item->state == ITEM_OUT_OF_SYNC)
                item->look_only = app->mode == DECIDE_AUTO && !app->config->self_heal;
}

void item_finish(struct item *item, enum item_state state, const struct outcome *outcome, const struct err *err) {
        struct app *app = item->app;
        struct outcome o = *outcome;

        if (item->state == ITEM_RUNNING) {
                app->queue[item->stage].running--;
                app->running--;
        }
        item->state = state;
        item->ended_ms = loop_now_ms(app->env.loop);
        o.retry_in_ms = -1;
        if (state == ITEM_FAILED || state == ITEM_REFUSED) {
                schedule_retry(item, err);
                if (item->retry_at_ms)
                        o.retry_in_ms = item->retry_at_ms - loop_now_ms(app->env.loop);
        } else {
                item->attempts = 0;
        }
        app->env.hooks.outcome(app->env.ctx, app, &o);
        if (item->again) {
                item->again = false;
                look_or_heal(item);
                item_queue(item);
        }
        app_kick(app);
}

/* An end without an op: the kind cannot be read, the object is parked … */
static void finish_unstarted(struct item *item, enum item_state state, enum outcome_kind kind, const struct err *err,
                             const char *reason) {
        struct outcome o = {
                .kind = kind, .id = item->desired->id.p, .file = item->desired->file, .line = item->desired->line,
                .secret = item->desired->secret, .err = err, .reason = reason,
        };

        item_finish(item, state, &o, err);
}

/* When the item wants to be looked at again by itself; 0: it does not. */
static int64_t item_due_ms(const struct item *item) {
        if (item->state == ITEM_FAILED || item->state == ITEM_REFUSED)
                return item->retry_at_ms;
        return item->state == ITEM_SYNCED ? item->hold_until_ms : 0;
}

/* Items whose time has come go back to their queues; the timer is set for the next one. */
static void retry_due(void *ctx) {
        struct app *app = ctx;
        int64_t now_ms = loop_now_ms(app->env.loop);
        size_t at = 0;
        void *p;

        while (map_next(app->items, &at, NULL, &p)) {
                struct item *item = p;
                int64_t due_ms = item_due_ms(item);

                if (!due_ms)
                        continue;
                if (due_ms > now_ms) {
                        app_wake(app, due_ms);
                        continue;
                }
                item->read_first = true;
                item_queue(item);
        }
        app_kick(app);
}

/* --- life cycle ------------------------------------------------------------------------------------------------- */

static void pump(void *ctx);
static void look_free(struct look *look);

struct app *app_new(const struct app_env *env, const struct config_app *config) {
        struct app *app = mem_zalloc(sizeof *app);

        app->env = *env;
        app->config = config;
        app->mode = config->automated ? DECIDE_AUTO : DECIDE_DIFF;
        app->options = (struct app_sync_options){ .prune = config->prune, .allow_empty = config->allow_empty,
                                                  .prune_max_count = -1, .no_prune_budget = !env->agent->prune_budget };
        app->store = store_app_new(env->store, config->instance);
        app->items = map_new(item_free);
        app->types = types_new(env->cluster);
        app->pump = loop_timer_new(env->loop, pump, app);
        app->retry = loop_timer_new(env->loop, retry_due, app);
        app->status = buf_make(STORE_MAX_STATUS_BYTES);
        return app;
}

void app_free(struct app *app) {
        if (!app)
                return;
        app_prune_free(app->prune);
        kube_op_cancel(app->namespace_op);
        while (app->looks)
                look_free(app->looks);
        map_free(app->items);
        store_app_free(app->store);
        loop_timer_free(app->pump);
        loop_timer_free(app->retry);
        types_free(app->types);
        inventory_free(app->inventory);
        desired_set_free(app->desired);
        free(app->crds);
        told_clear(&app->told_crd);
        told_clear(&app->told_slow);
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

                if (d->id.n && stage_of(d) == STAGE_CRDS)
                        app->crds[app->crd_count++] = d;
        }
}

/* What a commit does to replicas decides how soon they come back from the keeper. */
static void note_replicas(struct item *item, const struct desired *old, const struct desired *new) {
        _cleanup_(arena_freep) struct arena *a = NULL;
        _cleanup_(buf_done) struct buf api_version = buf_make(1024);
        const struct value *before, *after;
        struct field_path path;

        if (!old || !old->text.n || !new->text.n || new->state != DESIRED_OK)
                return;
        a = arena_new(0);
        gvk_add_api_version(&api_version, new->gvk);
        if (!scaler_replicas_path(buf_str(&api_version), new->gvk.kind, NULL, a, &path) ||
            json_parse(old->text, a, &before, NULL) < 0 || json_parse(new->text, a, &after, NULL) < 0)
                return;
        before = field_path_find(before, path, NULL);
        after = field_path_find(after, path, NULL);
        item->replicas_left = before && !after;
        item->no_hold = after && !value_equal(before, after);
        if (item->no_hold || item->replicas_left)
                item->hold_until_ms = 0;
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
        item->stage = stage_of(d);
        if (item->hold_until_ms)
                app_wake(app, item->hold_until_ms);
        item->no_hold = false;
        if (same && (item->state == ITEM_SYNCED || item->state == ITEM_RUNNING))
                return;
        stop_op(item);
        note_replicas(item, old, d);
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
                        take_first(&app->queue[s])->state = ITEM_OUT_OF_SYNC;
        }
}

/* Did an earlier run sync this very commit? Without self-heal it is then not applied again, as in Argo CD. */
static bool was_attempted(struct app *app) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        char hex[GIT_OID_HEX_BYTES + 1];
        const struct value *status;

        git_id_hex(&app->desired->commit, hex);
        return json_parse(store_status(app->store), a, &status, NULL) == 0 &&
               str_eqc(value_text(value_getc(status, "commit")), hex);
}

static void look_only(struct app *app) {
        size_t at = 0;
        void *p;

        while (map_next(app->items, &at, NULL, &p))
                ((struct item *)p)->look_only = app->mode == DECIDE_AUTO;
}

static void trouble(struct app *app, const char *what, const struct err *err) {
        app->err = *err;
        app->env.hooks.trouble(app->env.ctx, app, what, err);
}

static void loaded(void *ctx, struct inventory *inv, const struct err *err) {
        struct app *app = ctx;

        app->loading = false;
        if (err) {
                trouble(app, "inventory", err);
                app_wake(app, loop_now_ms(app->env.loop) + REDISCOVER_FIRST_MS);
                return;
        }
        app->err.code = 0;
        inventory_free(app->inventory);
        app->inventory = inv;
        if (!app->config->self_heal && was_attempted(app))
                look_only(app);
        app_kick(app);
}

void app_set_desired(struct app *app, struct desired_set *set) {
        struct desired_set *old = app->desired;
        uint64_t epoch = cluster_begin_epoch(app->env.cluster);

        loop_timer_stop(app->retry);
        empty_queues(app);
        app->desired = set;
        collect_crds(app);
        drop_left_items(app);
        for (size_t i = 0; i < set->count; i++) {
                if (set->objects[i].id.n)
                        set_item(app, &set->objects[i], desired_find(old, set->objects[i].id), epoch);
        }
        app_prune_free(TAKE_PTR(app->prune));
        told_clear(&app->told_crd);
        app->prune_done = false;
        app->kinds_read = false;
        app->superset_saved = false;
        app->looked = false;
        app->namespace_ready = false;
        app->settled = false;
        app->concluded = false;
        app->observed = false;
        app->discoveries = 0;
        app->parked_told = false;
        desired_set_free(old);
        app_kick(app);
}

/* --- step: kinds ------------------------------------------------------------------------------------------------ */

/* Wants the kind; true while it is being read for the first time. */
static bool kind_is_pending(struct app *app, struct gvk gvk, enum cluster_scope scope) {
        struct cluster_kind *k = cluster_want(app->env.cluster, gvk, scope);

        return k && cluster_kind_state(k) == CLUSTER_KIND_SYNCING;
}

static struct cluster_kind *scaler_kind(const struct app *app, const char *group, const char *kind) {
        const struct kube_resource *r = kube_discovery_find_kind(cluster_discovery(app->env.cluster), str_from(group),
                                                                 str_from(kind));

        return r ? cluster_find_kind(app->env.cluster, kube_resource_gvk(r)) : NULL;
}

static bool inventory_kinds_are_pending(struct app *app) {
        size_t count, pending = 0;
        _cleanup_(mem_freep) struct inventory_entry **list = inventory_sorted(app->inventory, &count);

        for (size_t i = 0; i < count; i++) {
                struct inventory_id id;

                if (inventory_id_split(str_from(list[i]->id), &id))
                        pending += kind_is_pending(app, (struct gvk){ id.group, str_from(list[i]->version), id.kind },
                                                   CLUSTER_TRACKED);
        }
        return pending > 0;
}

/* Until it is known who scales what, nothing that can be scaled may be decided on. */
static bool scalers_are_pending(const struct app *app) {
        const char *group, *kind;

        for (size_t i = 0; scaler_kind_at(i, &group, &kind); i++) {
                const struct cluster_kind *k = scaler_kind(app, group, kind);

                if (k && cluster_kind_state(k) == CLUSTER_KIND_SYNCING)
                        return true;
        }
        return false;
}

static bool kinds_are_pending(struct app *app) {
        bool custom = false;
        size_t pending = scalers_are_pending(app);

        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];

                pending += kind_is_pending(app, d->gvk, CLUSTER_TRACKED);
                custom |= !manifest_group_is_builtin(d->gvk.group);
        }
        if (custom)
                pending += kind_is_pending(app, types_crd_gvk(), CLUSTER_FILTERED);
        return inventory_kinds_are_pending(app) || pending > 0;
}

/* --- step: first looks ------------------------------------------------------------------------------------------ */

struct look {
        struct app *app;
        struct look *next, **prev; /* *prev is this one */
        char *id;
        struct cluster_kind *kind;
        struct kube_op *call;
};

/* Takes it off the application's list, too. */
static void look_free(struct look *look) {
        *look->prev = look->next;
        if (look->next)
                look->next->prev = look->prev;
        kube_op_cancel(look->call);
        free(look->id);
        free(look);
}

static void looked_at(void *ctx, const struct kube_result *result) {
        struct look *look = ctx;
        struct app *app = look->app;
        struct item *item = map_find(app->items, str_from(look->id));

        look->call = NULL;
        if (result->err.code == 0)
                cluster_put(look->kind, result->body, NULL);
        else if (result->err.code != ERR_NOTFOUND && item)
                item->read_first = true;
        look_free(look);
        app_kick(app);
}

/*
 * Objects that became wanted after their kind was listed may exist without our label: a GET each tells, before anything
 * is written. On a cold start there are none.
 */
static bool needs_look(const struct app *app, const struct item *item) {
        const struct desired *d = item->desired;
        struct cluster_kind *k = cluster_find_kind(app->env.cluster, d->gvk);

        return item->state == ITEM_QUEUED && k && cluster_kind_state(k) == CLUSTER_KIND_SYNCED &&
               !cluster_kind_covers(k, item->epoch) && !cluster_find(k, d->ns, d->name) &&
               !app_entry(app, d->id);
}

static void begin_looks(struct app *app) {
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];
                struct item *item = d->id.n ? map_find(app->items, d->id) : NULL;

                if (!item || !needs_look(app, item))
                        continue;
                struct look *look = mem_zalloc(sizeof *look);
                *look = (struct look){ .app = app, .next = app->looks, .prev = &app->looks, .id = str_dup(d->id),
                                       .kind = cluster_find_kind(app->env.cluster, d->gvk) };
                if (look->next)
                        look->next->prev = &look->next;
                app->looks = look;
                struct kube_location at = kube_resource_location(cluster_kind_resource(look->kind), d->ns, d->name);
                app->counts.requests++;
                look->call = kube_client_get(app->env.client, &at, 0, looked_at, look);
        }
        app->looked = true;
}

/* --- step: the superset ----------------------------------------------------------------------------------------- */

static void saved(void *ctx, const struct err *err) {
        struct app *app = ctx;

        if (err) {
                /* Somebody else wrote it, or it could not be written: nothing may be applied on it. Read it again. */
                app->err = *err;
                app->superset_saved = false;
                app->inventory_dirty = true;
                if (err->code == ERR_CONFLICT) {
                        inventory_free(app->inventory);
                        app->inventory = NULL;
                } else {
                        trouble(app, "inventory", err);
                }
                app_wake(app, loop_now_ms(app->env.loop) + backoff_ms(&BACKOFF_SYNC, 1));
                return;
        }
        app->err.code = 0;
        app_kick(app);
}

static void save(struct app *app, struct str status) {
        app->inventory_dirty = false;
        store_save(app->store, app->inventory, status, saved, app);
}

/* Existed before us, as far as marks and inventory tell. */
static bool is_adoption(struct app *app, const struct desired *d) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct cluster_kind *k = cluster_find_kind(app->env.cluster, d->gvk);
        const struct live *live = k ? cluster_find(k, d->ns, d->name) : NULL;
        struct tracking t = app_tracking(app);
        struct managed owners;
        struct tracker who;

        if (!live)
                return false;
        tracking_read(&t, live_value(live, a, &owners), NULL, a, &who);
        return who.kind != TRACKER_OURS;
}

static void announce(struct app *app, const struct desired *d) {
        struct inventory_entry *e = inventory_find(app->inventory, d->id);

        if (e) {
                if (e->flags & INVENTORY_TOMBSTONE) {
                        e->flags &= ~(unsigned)INVENTORY_TOMBSTONE;
                        app->inventory_dirty = true;
                }
                return;
        }
        e = inventory_add(app->inventory, d->id, d->gvk.version);
        e->flags = INVENTORY_PENDING | (is_adoption(app, d) ? INVENTORY_ADOPTED : 0) | (d->kept ? INVENTORY_KEEP : 0);
        inventory_set_file(e, d->file);
        app->inventory_dirty = true;
}

/* Announces everything this set may create. True when the stored inventory covers it already. */
static bool superset_is_saved(struct app *app) {
        if (app->superset_saved || app->mode == DECIDE_DIFF)
                return true;
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];

                if (d->id.n && (d->state == DESIRED_OK || d->state == DESIRED_PARKED))
                        announce(app, d);
        }
        app->superset_saved = true;
        if (!app->inventory_dirty)
                return true;
        buf_clear(&app->status);
        buf_add(&app->status, store_status(app->store));
        save(app, buf_str(&app->status));
        return false;
}

/* --- step: CreateNamespace -------------------------------------------------------------------------------------- */

static void namespace_answered(void *ctx, const struct kube_result *result) {
        struct app *app = ctx;

        app->namespace_op = NULL;
        app->namespace_ready = true;
        if (result->err.code)
                trouble(app, "namespace", &result->err);
        app_kick(app);
}

static bool anything_to_create_in(struct app *app, struct str ns) {
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];
                struct cluster_kind *k = cluster_find_kind(app->env.cluster, d->gvk);

                if (d->state == DESIRED_OK && str_eq(d->ns, ns) && k && !cluster_find(k, d->ns, d->name))
                        return true;
        }
        return false;
}

/*
 * CreateNamespace=true: as Argo CD, the destination namespace is made when it is missing, without marks of ours, and is
 * never pruned; a Namespace object in Git has precedence. Asked only when something is about to be created in it.
 */
static bool namespace_is_ready(struct app *app) {
        struct str ns = app->config->destination_namespace;
        _cleanup_(arena_freep) struct arena *a = NULL;

        if (app->namespace_ready || !app->config->create_namespace || !ns.n || app->mode == DECIDE_DIFF)
                return true;
        a = arena_new(0);
        if (desired_find(app->desired, manifest_id(STR(""), STR("Namespace"), STR(""), ns, a)) ||
            !anything_to_create_in(app, ns)) {
                app->namespace_ready = true;
                return true;
        }
        struct kube_location at = { .version = STR("v1"), .plural = STR("namespaces"), .name = ns };
        struct kube_write how = { .field_manager = STR(OWN_MANAGER) };
        struct str body = arena_strf(a, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%.*s\"}}",
                                     STR_FMT(ns));
        app->counts.requests++;
        app->namespace_op = kube_client_apply(app->env.client, &at, body, &how, namespace_answered, app);
        return false;
}

/* --- step: apply ------------------------------------------------------------------------------------------------ */

/* Scalers that cannot be seen may scale what we would write to. */
static const struct err *blind_for_scalers(const struct app *app) {
        const char *group, *kind;

        for (size_t i = 0; scaler_kind_at(i, &group, &kind); i++) {
                const struct cluster_kind *k = scaler_kind(app, group, kind);

                if (k && cluster_kind_state(k) == CLUSTER_KIND_FAILED)
                        return cluster_kind_err(k);
        }
        return NULL;
}

static bool is_scalable(struct app *app, const struct item *item, const struct cluster_kind *kind) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf api_version = buf_make(1024);
        struct field_path path;

        gvk_add_api_version(&api_version, item->desired->gvk);
        return scaler_replicas_path(buf_str(&api_version), item->desired->gvk.kind, types_find(app->types, kind).crd, a,
                                    &path);
}

static const struct kube_resource *served_resource(const struct app *app, const struct desired *d) {
        return kube_discovery_find(cluster_discovery(app->env.cluster), d->gvk);
}

/* False when the item cannot be worked on now and was ended instead. */
static bool may_start(struct app *app, struct item *item) {
        struct cluster_kind *k = cluster_find_kind(app->env.cluster, item->desired->gvk);
        struct err err;

        const struct kube_resource *resource = served_resource(app, item->desired);
        if (!k && resource && !kube_resource_is_watchable(resource)) {
                err_set(&err, ERR_UNSUPPORTED, "the server lets nobody list and watch this kind: it cannot be kept in sync, "
                                               "take it out of the folder");
                finish_unstarted(item, ITEM_FAILED, OUTCOME_FAILED, &err, "");
                return false;
        }
        if (!k || cluster_kind_state(k) == CLUSTER_KIND_UNKNOWN) {
                finish_unstarted(item, ITEM_PARKED, OUTCOME_PARKED, NULL, PARKED_REASON);
                return false;
        }
        if (cluster_kind_state(k) == CLUSTER_KIND_FAILED) {
                err = *cluster_kind_err(k);
                finish_unstarted(item, ITEM_FAILED, OUTCOME_FAILED, &err, "");
                return false;
        }
        const struct err *blind = blind_for_scalers(app);
        if (blind && is_scalable(app, item, k)) {
                err = *blind;
                err_wrap(&err, err.code, "not touched while autoscalers cannot be seen");
                finish_unstarted(item, ITEM_FAILED, OUTCOME_FAILED, &err, "");
                return false;
        }
        return true;
}

static void start_item(struct app *app, struct queue *q) {
        struct item *item = take_first(q);

        item->state = ITEM_RUNNING;
        q->running++;
        app->running++;
        if (may_start(app, item))
                op_start(item);
}

void told_clear(struct told *told) {
        free(told->what);
        *told = (struct told){ 0 };
}

void app_tell_waiting(struct app *app, struct told *told, const char *what) {
        int64_t now_ms = loop_now_ms(app->env.loop);

        if (told->what && strcmp(told->what, what) == 0 && now_ms - told->at_ms < REMIND_MS)
                return;
        told_clear(told);
        *told = (struct told){ str_dup(str_from(what)), now_ms };
        app->env.hooks.waiting(app->env.ctx, app, what);
}

/* A CRD of this set that was applied and is not Established yet, by id; NULL: none. */
static const char *waiting_crd(struct app *app) {
        for (size_t i = 0; i < app->crd_count; i++) {
                const struct desired *d = app->crds[i];
                struct item *item = map_find(app->items, d->id);
                struct cluster_kind *k = cluster_find_kind(app->env.cluster, d->gvk);
                const struct live *live = item && k ? cluster_find(k, STR(""), d->name) : NULL;

                if (!live || item->state != ITEM_SYNCED)
                        continue;
                _cleanup_(arena_freep) struct arena *a = arena_new(live->text_bytes);
                struct managed owners;
                if (!types_crd_is_established(live_value(live, a, &owners)))
                        return d->id.p;
        }
        return NULL;
}

static bool stage_is_done(struct app *app, enum stage stage) {
        const struct queue *q = &app->queue[stage];

        if (q->first || q->running)
                return false;
        if (stage != STAGE_CRDS || app->mode == DECIDE_DIFF)
                return true;

        const char *crd = waiting_crd(app);
        if (crd)
                app_tell_waiting(app, &app->told_crd, crd);
        else
                told_clear(&app->told_crd);
        return !crd;
}

/* True when something is left to do or under way. */
static bool apply(struct app *app) {
        unsigned started = 0;

        for (enum stage s = 0; s < STAGE_COUNT; s++) {
                struct queue *q = &app->queue[s];

                while (q->first && app->running < (unsigned)app->env.agent->apply_parallel &&
                       started++ < APP_STARTS_PER_TURN)
                        start_item(app, q);
                if (!stage_is_done(app, s)) {
                        if (q->first && app->running < (unsigned)app->env.agent->apply_parallel)
                                app_kick(app);
                        return true;
                }
        }
        return app->running > 0;
}

/* --- step: parked kinds ----------------------------------------------------------------------------------------- */

/* Queues parked objects whose kind is served by now; `rebind` when one without an id could be bound. */
static void unpark(struct app *app) {
        bool rebind = false;

        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];
                struct item *item = d->id.n ? map_find(app->items, d->id) : NULL;

                if (item ? item->state != ITEM_PARKED : d->state != DESIRED_PARKED)
                        continue;
                if (!served_resource(app, d))
                        continue;
                if (!item) {
                        rebind = true;
                        continue;
                }
                app->kinds_read = false;
                item_queue(item);
        }
        if (rebind)
                app->env.hooks.rebind(app->env.ctx, app);
}

static bool anything_parked(const struct app *app) {
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];
                const struct item *item = d->id.n ? map_find(app->items, d->id) : NULL;

                if (item ? item->state == ITEM_PARKED : d->state == DESIRED_PARKED)
                        return true;
        }
        return false;
}

/*
 * Once a set; what is found to be parked later is told by may_start(). An object whose scope is not known has no id yet:
 * it goes by the namespace that it names.
 */
static void tell_parked(struct app *app) {
        if (app->parked_told)
                return;
        app->parked_told = true;
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];

                if (d->state != DESIRED_PARKED)
                        continue;
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                struct str id = d->id.n ? d->id : manifest_id(d->gvk.group, d->gvk.kind, d->ns, d->name, a);
                struct outcome o = {
                        .kind = OUTCOME_PARKED, .id = id.p, .file = d->file, .line = d->line, .secret = d->secret,
                        .reason = PARKED_REASON, .retry_in_ms = -1,
                };

                app->env.hooks.outcome(app->env.ctx, app, &o);
        }
}

static void rediscovered(void *ctx, const struct err *err) {
        struct app *app = ctx;

        (void)err;
        app->discovering = false;
        app->discovered_ms = loop_now_ms(app->env.loop);
        unpark(app);
        app_kick(app);
}

/* True while the answer may still come in this step; later attempts come by timer and hold nothing up. */
static bool look_for_parked_kinds(struct app *app) {
        int64_t now_ms = loop_now_ms(app->env.loop), due_ms;

        if (app->discovering)
                return app->discoveries <= 1;
        if (!anything_parked(app)) {
                app->discoveries = 0;
                return false;
        }
        due_ms = app->discoveries ? app->discovered_ms + backoff_ms(&rediscover, app->discoveries) : now_ms;
        if (due_ms > now_ms) {
                app_wake(app, due_ms);
                return false;
        }
        app->discovering = true;
        app->discoveries++;
        cluster_discover(app->env.cluster, rediscovered, app);
        return app->discoveries <= 1;
}

/* --- the pump --------------------------------------------------------------------------------------------------- */

static bool prune_is_running(struct app *app) {
        if (app->prune)
                return true;
        if (app->prune_done)
                return false;
        app->prune_done = true;
        return app_prune_start(app);
}

/* The last step: what was learnt is saved, then it is told that all is done. Nothing new to save is no request. */
static void settle(struct app *app) {
        if (app->settled)
                return;
        tell_parked(app);
        if (!app->concluded && app->mode != DECIDE_DIFF) {
                app->concluded = true;
                buf_clear(&app->status);
                app->env.hooks.status(app->env.ctx, app, store_status(app->store), &app->status);
                failpoint("before-last-save");
                save(app, buf_str(&app->status));
                return;
        }
        app->settled = true;
        app->env.hooks.settled(app->env.ctx, app, app->prune_err.code ? &app->prune_err : NULL);
}

static void pump(void *ctx) {
        struct app *app = ctx;

        if (!app->desired || app->loading || store_is_busy(app->store) || app->namespace_op)
                return;
        if (!app->inventory) {
                app->loading = true;
                store_load(app->store, loaded, app);
                return;
        }
        if (!app->kinds_read && kinds_are_pending(app))
                return;
        app->kinds_read = true;
        if (!app->looked)
                begin_looks(app);
        if (app->looks || !superset_is_saved(app))
                return;
        failpoint("after-superset");
        if (!namespace_is_ready(app) || apply(app) || look_for_parked_kinds(app) || prune_is_running(app))
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

/*
 * What fails is not tried with every change of its status, only after a pause that grows with the failures: also what
 * the server calls invalid, for a change may be the cure. False when it may be tried now.
 */
static bool is_too_soon(struct item *item) {
        struct app *app = item->app;
        int64_t due_ms = item->retry_at_ms;

        if (item->state != ITEM_FAILED)
                return false;
        if (!due_ms)
                due_ms = item->ended_ms + backoff_ms(&BACKOFF_OBJECT, item->attempts);
        if (due_ms <= loop_now_ms(app->env.loop))
                return false;
        item->retry_at_ms = due_ms;
        app_wake(app, due_ms);
        return true;
}

void app_live_changed(struct app *app, struct str id, const struct live *live) {
        struct item *item = map_find(app->items, id);

        app_prune_live_changed(app, id, live);
        if (!item || !app->inventory)
                return;

        bool echo = item->awaited_rv && live && str_eqc(str_from(live->rv), item->awaited_rv);
        note_echo(app, item, live);
        if (echo || item->state == ITEM_QUEUED || item->state == ITEM_SKIPPED || item->desired->state != DESIRED_OK)
                return;
        if (!item->noticed_ms)
                item->noticed_ms = loop_now_ms(app->env.loop);
        item->read_first |= live == NULL;
        look_or_heal(item);
        if (live && is_too_soon(item))
                return;
        item_queue(item);
}

void app_scaler_changed(struct app *app, struct str id, bool is_gone) {
        struct item *item = map_find(app->items, id);

        if (!item || item->desired->state != DESIRED_OK)
                return;
        if (!is_gone)
                item->hold_until_ms = 0;
        else if (!item->no_hold)
                item_hold(item);
        item_queue(item);
}

void app_kinds_changed(struct app *app) {
        app->kinds_read = false;
        app_kick(app);
}

/* --- what others ask -------------------------------------------------------------------------------------------- */

bool app_is_settled(const struct app *app) {
        return app->settled;
}

void app_counts(const struct app *app, struct app_counts *ret_counts) {
        struct app_counts c = app->counts;
        size_t at = 0;
        void *p;

        c.objects = app->desired ? app->desired->count : 0;
        c.synced = c.out_of_sync = c.failed = c.parked = c.refused = 0;
        while (map_next(app->items, &at, NULL, &p)) {
                const struct item *item = p;

                c.synced += item->state == ITEM_SYNCED || item->state == ITEM_SKIPPED;
                c.out_of_sync += item->state == ITEM_OUT_OF_SYNC;
                c.failed += item->state == ITEM_FAILED;
                c.parked += item->state == ITEM_PARKED;
                c.refused += item->state == ITEM_REFUSED;
        }
        /* Without a known scope there is no id, and no item. */
        for (size_t i = 0; i < c.objects; i++)
                c.parked += app->desired->objects[i].id.n == 0;
        *ret_counts = c;
}

enum app_sync_status app_sync_status(const struct app *app) {
        struct app_counts c;

        if (!app->desired || !app->inventory)
                return APP_UNKNOWN;
        app_counts(app, &c);
        return c.synced == c.objects && app->prune_done && !app->prune && !app->prune_err.code && !app->extra ? APP_SYNCED
                                                                                              : APP_OUT_OF_SYNC;
}
