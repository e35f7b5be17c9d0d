/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects are brought to work stage by stage; those whose kind is not served are parked until it is.
 */
#include "agent/app_impl.h"

#include "base/json.h"
#include "manifest/order.h"

#define REDISCOVER_FIRST_MS 5000
#define REDISCOVER_MAX_MS (60 * INT64_C(1000))
#define PARKED_REASON "the cluster does not serve its kind yet"
#define REMIND_MS (60 * INT64_C(1000))

/*
 * A kind whose definition this set holds comes within moments: the server may take a while from Established to discovery.
 * So long nothing counts as settled, and a single sync does not end.
 */
#define PROMISED_FIRST_MS 250
#define PROMISED_MAX_MS (30 * INT64_C(1000))

static const struct backoff rediscover = { REDISCOVER_FIRST_MS, 2, REDISCOVER_MAX_MS };
static const struct backoff rediscover_promised = { PROMISED_FIRST_MS, 2, 4000 };

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

/* --- step: apply ------------------------------------------------------------------------------------------------ */

/* Scalers that cannot be seen may scale what we would write to. */
static const struct err *blind_for_scalers(const struct app *app) {
        const char *group, *kind;

        for (size_t i = 0; scaler_kind_at(i, &group, &kind); i++) {
                const struct cluster_kind *k = app_scaler_kind(app, group, kind);

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
                item_finish_unstarted(item, ITEM_FAILED, OUTCOME_FAILED, &err, "");
                return false;
        }
        if (!k || cluster_kind_state(k) == CLUSTER_KIND_UNKNOWN) {
                item_finish_unstarted(item, ITEM_PARKED, OUTCOME_PARKED, NULL, PARKED_REASON);
                return false;
        }
        if (cluster_kind_state(k) == CLUSTER_KIND_FAILED) {
                err = *cluster_kind_err(k);
                item_finish_unstarted(item, ITEM_FAILED, OUTCOME_FAILED, &err, "");
                return false;
        }
        const struct err *blind = blind_for_scalers(app);
        if (blind && is_scalable(app, item, k)) {
                err = *blind;
                err_wrap(&err, err.code, "not touched while autoscalers cannot be seen");
                item_finish_unstarted(item, ITEM_FAILED, OUTCOME_FAILED, &err, "");
                return false;
        }
        return true;
}

static void start_item(struct app *app, struct queue *q) {
        struct item *item = queue_take(q);

        item->state = ITEM_RUNNING;
        q->running++;
        app->running++;
        if (app->env.watch_only)
                item_finish_unstarted(item, ITEM_SKIPPED, OUTCOME_SKIPPED, NULL, "");
        else if (may_start(app, item))
                op_start(item);
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

/*
 * The server gives out cluster IPs one at a time (MetaAllocator.AllocateNextService() holds a lock while it writes the
 * IPAddress), so Services that fill all places only wait for each other and keep the server idle. While there is other
 * work they get a quarter of the places, and begin together with what they do not depend on: accounts, Secrets,
 * ConfigMaps, storage, RBAC. What kind order puts behind them still begins after the last of them was sent.
 */
static struct queue *next_queue(struct app *app) {
        struct queue *services = &app->queue[STAGE_SERVICES], *rest = &app->queue[STAGE_REST];
        unsigned places = (unsigned)app->env.agent->apply_parallel;

        if (!services->first)
                return rest->first ? rest : NULL;
        if (!rest->first)
                return services;
        if (rest->first->desired->rank < manifest_apply_rank(STR(""), STR("ServiceAccount")))
                return rest;
        if (services->running < (places + 3) / 4)
                return services;
        return rest->first->desired->rank < services->first->desired->rank ? rest : NULL;
}

static struct queue *queue_of(struct app *app, enum stage stage) {
        if (stage >= STAGE_SERVICES)
                return next_queue(app);
        return app->queue[stage].first ? &app->queue[stage] : NULL;
}

/* True when something is left to do or under way. */
bool app_apply(struct app *app) {
        unsigned starts_left = APP_STARTS_PER_TURN;
        struct queue *q;

        for (enum stage s = 0; s <= STAGE_SERVICES; s++) {
                while (app->running < (unsigned)app->env.agent->apply_parallel && (q = queue_of(app, s))) {
                        if (!app->superset_saved && app->mode != DECIDE_DIFF) {
                                app_kick(app); /* an op found something that must be stored first */
                                return true;
                        }
                        if (!starts_left--) {
                                app_kick(app);
                                return true;
                        }
                        start_item(app, q);
                }
                if (!stage_is_done(app, s))
                        return true;
        }
        return app->running > 0 || app->queue[STAGE_REST].first;
}

/* --- step: parked kinds ----------------------------------------------------------------------------------------- */

/* Queues parked objects whose kind is served by now; `rebind` when one without an id could be bound. */
static void unpark(struct app *app) {
        bool rebind = false;

        for (size_t i = 0; i < app->desired->count; i++) {
                struct desired *d = &app->desired->objects[i];
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
                d->state = DESIRED_OK; /* from now on its changes count */
                item_queue(item);
        }
        if (rebind)
                app->env.hooks.rebind(app->env.ctx, app);
}

static bool is_parked(const struct app *app, const struct desired *d) {
        const struct item *item = d->id.n ? map_find(app->items, d->id) : NULL;

        return item ? item->state == ITEM_PARKED : d->state == DESIRED_PARKED;
}

static bool anything_parked(const struct app *app) {
        for (size_t i = 0; i < app->desired->count; i++)
                if (is_parked(app, &app->desired->objects[i]))
                        return true;
        return false;
}

static bool serves_version(const struct value *crd, struct str version) {
        const struct value *versions = value_path(crd, "spec", "versions", NULL);

        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++) {
                const struct value *v = versions->list.items[i];

                if (str_eq(value_text(value_getc(v, "name")), version) && value_truth(value_getc(v, "served"), false))
                        return true;
        }
        return false;
}

/* Does this definition, which was applied, give the kind? */
static bool gives(const struct app *app, const struct desired *crd, struct gvk gvk) {
        const struct item *item = map_find(app->items, crd->id);
        const struct value *v, *spec;

        if (!item || item->state != ITEM_SYNCED || !str_ends(crd->name, gvk.group))
                return false;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        if (json_parse(crd->text, a, &v, NULL) < 0)
                return false;
        spec = value_getc(v, "spec");
        return str_eq(value_text(value_getc(spec, "group")), gvk.group) &&
               str_eq(value_text(value_path(spec, "names", "kind", NULL)), gvk.kind) && serves_version(v, gvk.version);
}

static bool anything_promised(const struct app *app) {
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];

                if (!is_parked(app, d))
                        continue;
                for (size_t c = 0; c < app->crd_count; c++)
                        if (gives(app, app->crds[c], d->gvk))
                                return true;
        }
        return false;
}

/* After each look: is a kind still to come for sure? */
static void note_promised(struct app *app) {
        int64_t now_ms = loop_now_ms(app->env.loop);

        if (!app->promised_since_ms)
                app->promised_since_ms = now_ms;
        app->promised = now_ms - app->promised_since_ms < PROMISED_MAX_MS && anything_promised(app);
}

/*
 * Once a set; what is found to be parked later is told by may_start(). An object whose scope is not known has no id yet:
 * it goes by the namespace that it names.
 */
void app_tell_parked(struct app *app) {
        if (app->parked_told)
                return;
        app->parked_told = true;
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];

                if (d->state != DESIRED_PARKED || !is_parked(app, d))
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
        note_promised(app);
        app_kick(app);
}

void app_forget_parked_kinds(struct app *app) {
        app->discoveries = 0;
        app->promised = false;
        app->promised_since_ms = 0;
}

/* True while the answer may still come in this step; later attempts come by timer and hold nothing up. */
bool app_look_for_parked_kinds(struct app *app) {
        int64_t now_ms = loop_now_ms(app->env.loop), due_ms;

        if (app->discovering)
                return app->discoveries <= 1 || app->promised;
        if (!anything_parked(app)) {
                app_forget_parked_kinds(app);
                return false;
        }
        due_ms = now_ms;
        if (app->discoveries)
                due_ms = app->discovered_ms +
                         backoff_ms(app->promised ? &rediscover_promised : &rediscover, app->discoveries);
        if (due_ms > now_ms) {
                app_wake(app, due_ms);
                return app->promised;
        }
        app->discovering = true;
        app->discoveries++;
        cluster_discover(app->env.cluster, rediscovered, app);
        return app->discoveries <= 1 || app->promised;
}
