/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects are brought to work stage by stage; those whose kind is not served are parked (app_parked.c).
 */
#include "agent/app_impl.h"

#include "manifest/order.h"

#define REMIND_MS (60 * INT64_C(1000))

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

void app_tell_slow(void *ctx) {
        struct app *app = ctx;

        app_tell_waiting(app, &app->told_slow, "the API server to answer");
}

struct kube_op *app_sent(struct app *app, struct kube_op *call) {
        kube_op_tell_slow(call, APP_SLOW_MS, app_tell_slow, app);
        return call;
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

/* False when the item cannot be worked on now and was ended instead. */
static bool may_start(struct app *app, struct item *item) {
        struct cluster_kind *k = cluster_find_kind(app->env.cluster, item->desired->gvk);
        struct err err;

        const struct kube_resource *resource = app_served_resource(app, item->desired);
        if (!k && resource && !kube_resource_is_watchable(resource)) {
                err_set(&err, ERR_UNSUPPORTED, "the server lets nobody list and watch this kind: it cannot be kept in sync, "
                                               "take it out of the folder");
                item_finish_unstarted(item, ITEM_FAILED, OUTCOME_FAILED, &err, "");
                return false;
        }
        if (!k || cluster_kind_state(k) == CLUSTER_KIND_UNKNOWN) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);

                item_finish_unstarted(item, ITEM_PARKED, OUTCOME_PARKED, NULL, app_parked_reason(app, item->desired, a));
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
        if (app->env.watch_only || (item->desired->along && app_is_wanted_elsewhere(app, item->desired->id)))
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
