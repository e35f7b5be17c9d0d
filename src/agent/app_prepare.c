/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be known and saved before anything is written: every kind read, objects looked at that may exist unseen, the
 * inventory stored as a superset, the destination namespace.
 */
#include "agent/app_impl.h"

#define DEFINITION_AGAIN_MS 5000
#define BEGIN_WAIT_MS 10000 /* from rendering on, which takes moments, for those that are rendered at the same time */

/* --- step: kinds ------------------------------------------------------------------------------------------------ */

/* Wants the kind; true while it is being read for the first time. */
static bool kind_is_pending(struct app *app, struct gvk gvk, enum cluster_scope scope) {
        struct cluster_kind *k = cluster_want(app->env.cluster, gvk, scope);

        return k && cluster_kind_state(k) == CLUSTER_KIND_SYNCING;
}

struct cluster_kind *app_scaler_kind(const struct app *app, const char *group, const char *kind) {
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
                const struct cluster_kind *k = app_scaler_kind(app, group, kind);

                if (k && cluster_kind_state(k) == CLUSTER_KIND_SYNCING)
                        return true;
        }
        return false;
}

/* What is only compared, or made along, never gets our label, by which the others are watched. A single look needs no watch. */
static enum cluster_scope scope_of(const struct app *app) {
        return app->mode == DECIDE_DIFF && !app->env.read_only ? CLUSTER_FILTERED : CLUSTER_TRACKED;
}

/* Claims are judged by their classes, whoever made those: what Git has of them is not read twice for that. */
static enum cluster_scope scope_for(const struct app *app, const struct desired *d) {
        if (app->env.judge && app_is_storage_class(d->gvk.group, d->gvk.kind))
                return CLUSTER_ALL;
        return d->along ? CLUSTER_FILTERED : scope_of(app);
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
void app_look_free(struct look *look) {
        *look->prev = look->next;
        if (look->next)
                look->next->prev = look->prev;
        kube_op_cancel(look->call);
        free(look->id);
        free(look);
}

static void begin_look(struct app *app, struct cluster_kind *kind, struct str id, kube_done_fn done) {
        struct look *look = mem_zalloc(sizeof *look);
        struct object_key key;

        *look = (struct look){ .app = app, .next = app->looks, .prev = &app->looks, .id = str_dup(id), .kind = kind };
        if (look->next)
                look->next->prev = &look->next;
        app->looks = look;
        object_key_from_id(id, &key);
        struct kube_location at = kube_resource_location(cluster_kind_resource(kind), key.namespace, key.name);
        app->counts.requests++;
        look->call = app_sent(app, kube_client_get(app->env.client, &at, 0, done, look));
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
        app_look_free(look);
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

void app_begin_looks(struct app *app) {
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];
                struct item *item = d->id.n ? map_find(app->items, d->id) : NULL;

                if (!item || !needs_look(app, item))
                        continue;
                begin_look(app, cluster_find_kind(app->env.cluster, d->gvk), d->id, looked_at);
        }
        app->looked = true;
}

/* --- step: definitions ------------------------------------------------------------------------------------------ */

/* Without an answer nothing is decided: a value could be lost in a list of which it is not known how it is applied. */
static void definition_looked_at(void *ctx, const struct kube_result *result) {
        struct look *look = ctx;
        struct app *app = look->app;
        enum err_code code = result->err.code;
        bool answered = code == 0 || code == ERR_NOTFOUND || code == ERR_FORBIDDEN;

        look->call = NULL;
        if (code == 0)
                cluster_put(look->kind, result->body, NULL);
        if (answered)
                types_have_looked(app->types, str_from(look->id));
        else
                app->definitions_again_ms = loop_now_ms(app->env.loop) + DEFINITION_AGAIN_MS;
        app_look_free(look);
        app_kick(app);
}

/* False: there is none that it is not known of. */
static bool look_for_definition(struct app *app, struct gvk gvk) {
        const struct cluster_kind *kind = cluster_find_kind(app->env.cluster, gvk);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str id = kind ? types_unseen_crd(app->types, kind, a) : (struct str){ 0 };

        for (const struct look *l = app->looks; id.n && l; l = l->next)
                if (str_eqc(id, l->id))
                        return true;
        if (id.n)
                begin_look(app, cluster_find_kind(app->env.cluster, types_crd_gvk()), id, definition_looked_at);
        return id.n;
}

static bool definitions_are_pending(struct app *app) {
        bool pending = app->looks;

        if (app->definitions_again_ms > loop_now_ms(app->env.loop)) {
                app_wake(app, app->definitions_again_ms);
                return true;
        }
        for (size_t i = 0; i < app->desired->count; i++) {
                struct gvk gvk = app->desired->objects[i].gvk;
                bool is_asked = i > 0 && gvk_eq(gvk, app->desired->objects[i - 1].gvk);

                pending |= !is_asked && !manifest_group_is_builtin(gvk.group) && look_for_definition(app, gvk);
        }
        return pending;
}

/* Wants the kinds of a set; how many of its objects have to wait for theirs. */
static size_t count_pending(struct app *app, const struct desired_set *set) {
        bool custom = false;
        size_t pending = 0;

        for (size_t i = 0; i < set->count; i++) {
                const struct desired *d = &set->objects[i];

                pending += kind_is_pending(app, d->gvk, scope_for(app, d));
                custom |= !manifest_group_is_builtin(d->gvk.group);
        }
        if (custom)
                pending += kind_is_pending(app, types_crd_gvk(), CLUSTER_FILTERED);
        return pending;
}

bool app_kinds_are_pending(struct app *app) {
        size_t pending = scalers_are_pending(app) + count_pending(app, app->desired);

        return inventory_kinds_are_pending(app) || pending > 0 || definitions_are_pending(app);
}

bool app_want_kinds(struct app *app, const struct desired_set *set) {
        count_pending(app, set);
        for (size_t i = 0; i < set->count; i++)
                if (set->objects[i].state == DESIRED_PARKED)
                        return false;
        return true;
}

/* --- step: the superset ----------------------------------------------------------------------------------------- */

static void saved(void *ctx, const struct err *err) {
        struct app *app = ctx;

        if (err) {
                /* Somebody else wrote it, or it could not be written: nothing may be applied on it. Read it again. */
                app->err = *err;
                app->superset_saved = false;
                app->inventory_dirty = true;
                if (err->code == ERR_CONFLICT)
                        app_reload(app);
                else
                        app_trouble(app, "inventory", err);
                app_wake(app, loop_now_ms(app->env.loop) + backoff_after(&BACKOFF_SYNC, ++app->save_failures, err,
                                                                         (unsigned)loop_random(app->env.loop, 1000)));
                return;
        }
        app->err.code = 0;
        app->save_failures = 0;
        app_kick(app);
}

void app_save(struct app *app, struct str status) {
        app->inventory_dirty = false;
        store_save(app->store, app->inventory, status, saved, app);
}

bool app_inherits(const struct app *app, struct str id, const struct tracker *who, bool *ret_made) {
        bool made = false;
        bool given_up = who->kind == TRACKER_OUR_OTHER_APP &&
                        app->env.hooks.given_up(app->env.ctx, app, id, who->app, &made);

        if (ret_made)
                *ret_made = made;
        return given_up;
}

bool app_adopts(const struct app *app, struct str id, const struct tracker *who) {
        bool made;

        app_inherits(app, id, who, &made);
        return who->kind != TRACKER_OURS && !made;
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
        return app_adopts(app, d->id, &who);
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
        e->flags = INVENTORY_PENDING | (is_adoption(app, d) ? INVENTORY_ADOPTED : 0) | (d->kept ? INVENTORY_KEEP : 0) |
                   (d->along ? INVENTORY_ALONG : 0);
        inventory_set_file(e, d->file);
        app->inventory_dirty = true;
}

/* Announces everything this set may create. True when the stored inventory covers it already. */
bool app_superset_is_saved(struct app *app) {
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
        app_save(app, buf_str(&app->status));
        return false;
}

/* --- step: others ----------------------------------------------------------------------------------------------- */

bool app_may_begin(struct app *app) {
        int64_t until_ms = app->set_ms + BEGIN_WAIT_MS;

        if (app->begun)
                return true;
        app->begun = loop_now_ms(app->env.loop) >= until_ms || !app->env.hooks.others_begin(app->env.ctx, app);
        if (!app->begun)
                app_wake(app, until_ms);
        return app->begun;
}

/* --- step: CreateNamespace -------------------------------------------------------------------------------------- */

static void namespace_answered(void *ctx, const struct kube_result *result) {
        struct app *app = ctx;

        app->namespace_op = NULL;
        app->namespace_ready = true;
        if (result->err.code && result->status.conflict != KUBE_CONFLICT_RESOURCE_VERSION)
                app_trouble(app, "namespace", &result->err);
        app_kick(app);
}

/* Only a look: what would be done is decided all the same. Who may not read namespaces is not told. */
static void namespace_looked_at(void *ctx, const struct kube_result *result) {
        struct app *app = ctx;
        struct err err;

        app->namespace_op = NULL;
        app->namespace_ready = true;
        if (result->err.code == ERR_NOTFOUND) {
                err_set(&err, ERR_NOTFOUND, "namespace %.*s does not exist, and nothing can be created in it: "
                        "--create-namespace, or the sync option CreateNamespace=true, makes it",
                        STR_FMT(app->config->destination_namespace));
                app->env.hooks.trouble(app->env.ctx, app, "namespace", &err);
        }
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

/* Is the namespace an object of its own, which makes it? One that may not be given its metadata is made without. */
static bool is_desired_namespace(const struct app *app, struct str ns) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct desired *d = desired_find(app->desired, manifest_id(STR(""), STR("Namespace"), STR(""), ns, a));

        return d && (!d->along || d->state == DESIRED_OK);
}

/*
 * CreateNamespace=true: as Argo CD, the destination namespace is made when it is missing, without marks of ours, and is
 * never pruned; a Namespace object in Git has precedence. Asked only when something is about to be created in it. The
 * resourceVersion is one that no object has: a namespace that exists is left as it is. Without CreateNamespace
 * `truce diff` looks whether it is there, as it foresees what a sync says.
 */
bool app_namespace_is_ready(struct app *app) {
        struct str ns = app->config->destination_namespace;
        bool looks = app->mode == DECIDE_DIFF;
        _cleanup_(arena_freep) struct arena *a = NULL;

        if (app->namespace_ready || !ns.n || app->config->create_namespace == looks || (looks && !app->env.read_only))
                return true;
        a = arena_new(0);
        if (is_desired_namespace(app, ns) || !anything_to_create_in(app, ns)) {
                app->namespace_ready = true;
                return true;
        }
        struct kube_location at = { .version = STR("v1"), .plural = STR("namespaces"), .name = ns };
        struct kube_write how = { .field_manager = STR(OWN_MANAGER) };
        struct str body = arena_strf(a, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%.*s\","
                                     "\"resourceVersion\":\"1\"}}", STR_FMT(ns));
        app->counts.requests++;
        if (looks) {
                app->namespace_op = app_sent(app, kube_client_get(app->env.client, &at, 0, namespace_looked_at, app));
                return false;
        }
        app->namespace_op = app_sent(app, kube_client_apply(app->env.client, &at, body, &how, namespace_answered, app));
        return false;
}
