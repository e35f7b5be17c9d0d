/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What else would go with a Namespace that is about to be pruned: objects in it that are not this application's. Each
 * namespaced kind is listed there, once a set and Namespace, and never when none is to be pruned.
 *
 * "At least": of a kind no more than CENSUS_MAX_OBJECTS are counted, kinds that may not be listed are named as such, and
 * what comes later is not seen. Left out is what goes and comes with other objects anyway: what a controller owns, what
 * every namespace holds, events and metrics.
 */
#include "agent/app_impl.h"

#include "base/json.h"
#include "kube/list.h"

#define CENSUS_MAX_OBJECTS 100
#define CENSUS_MAX_KINDS 500
#define CENSUS_MAX_BYTES (4 * 1024)
#define CENSUS_TOLD_KINDS 8

struct census_kind {
        struct census *census;
        struct kube_list *list;
        char *group, *kind;
        unsigned count;
        bool more, unread;
};

struct census {
        struct app *app;
        struct census *next;
        char *id; /* of the Namespace */
        struct census_kind *kinds;
        size_t count, left;
};

static void census_free(struct census *c) {
        for (size_t i = 0; i < c->count; i++) {
                kube_list_cancel(c->kinds[i].list);
                free(c->kinds[i].group);
                free(c->kinds[i].kind);
        }
        free(c->kinds);
        free(c->id);
        free(c);
}

void app_census_clear(struct app *app) {
        while (app->censuses) {
                struct census *c = app->censuses;

                app->censuses = c->next;
                census_free(c);
        }
        map_free(TAKE_PTR(app->census_texts));
}

/* --- counting --------------------------------------------------------------------------------------------------- */

/* Made in every namespace, or gone with what it tells of. */
static bool is_furniture(struct str group, struct str kind, struct str name) {
        static const struct {
                const char *group, *kind, *name; /* NULL: any */
        } rows[] = {
                { "", "ConfigMap", "kube-root-ca.crt" },
                { "", "ServiceAccount", "default" },
                { "", "Endpoints", NULL },
                { NULL, "Event", NULL },
                { "metrics.k8s.io", NULL, NULL },
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                if ((!rows[i].group || str_eqc(group, rows[i].group)) && (!rows[i].kind || str_eqc(kind, rows[i].kind)) &&
                    (!rows[i].name || str_eqc(name, rows[i].name)))
                        return true;
        }
        return false;
}

static bool counts(const struct census_kind *k, const struct value *object, struct arena *a) {
        const struct value *meta = value_getc(object, "metadata");
        struct str name = value_text(value_getc(meta, "name"));
        struct str id = manifest_id(str_from(k->group), str_from(k->kind), value_text(value_getc(meta, "namespace")), name, a);

        return !app_entry(k->census->app, id) && !value_getc(meta, "deletionTimestamp") && !app_has_controller(object) &&
               !is_furniture(str_from(k->group), str_from(k->kind), name);
}

static int on_item(void *ctx, struct str bytes, struct err *err) {
        struct census_kind *k = ctx;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;
        int r = json_parse(bytes, a, &object, err);

        if (r < 0)
                return r;
        if (!counts(k, object, a))
                return 0;
        if (k->count == CENSUS_MAX_OBJECTS) {
                k->more = true;
                return err_set(err, ERR_LIMIT, "enough was counted");
        }
        k->count++;
        return 0;
}

static void on_restart(void *ctx) {
        struct census_kind *k = ctx;

        k->count = 0;
        k->more = false;
}

/* --- the result ------------------------------------------------------------------------------------------------- */

static int most_first(const void *x, const void *y) {
        const struct census_kind *a = x, *b = y;

        if (a->count != b->count)
                return a->count > b->count ? -1 : 1;
        return strcmp(a->kind, b->kind);
}

static void print(struct census *c, struct buf *out) {
        size_t objects = 0, kinds = 0, unread = 0;

        qsort(c->kinds, c->count, sizeof *c->kinds, most_first);
        for (size_t i = 0; i < c->count; i++) {
                objects += c->kinds[i].count;
                kinds += c->kinds[i].count > 0;
                unread += c->kinds[i].unread;
        }
        if (objects)
                buf_addf(out, "with it at least %zu %s of others: ", objects, objects == 1 ? "object" : "objects");
        else
                buf_addc(out, "nothing of others was found in it");
        for (size_t i = 0; i < kinds && i < CENSUS_TOLD_KINDS; i++)
                buf_addf(out, "%s%u%s %s", i ? ", " : "", c->kinds[i].count, c->kinds[i].more ? "+" : "", c->kinds[i].kind);
        if (kinds > CENSUS_TOLD_KINDS)
                buf_addf(out, ", %zu more kinds", kinds - CENSUS_TOLD_KINDS);
        if (unread)
                buf_addf(out, "; %zu %s could not be looked at", unread, unread == 1 ? "kind" : "kinds");
}

static void end(struct census *c) {
        struct app *app = c->app;
        _cleanup_(buf_done) struct buf text = buf_make(CENSUS_MAX_BYTES);

        print(c, &text);
        map_set(app->census_texts, str_from(c->id), buf_take(&text));
        for (struct census **at = &app->censuses; *at; at = &(*at)->next) {
                if (*at == c) {
                        *at = c->next;
                        break;
                }
        }
        census_free(c);
        app_kick(app);
}

static void on_done(void *ctx, struct str resource_version, const struct kube_status *status, const struct err *err) {
        struct census_kind *k = ctx;

        (void)resource_version;
        (void)status;
        k->list = NULL;
        k->unread = err && !k->more && err->code != ERR_NOTFOUND;
        if (--k->census->left == 0)
                end(k->census);
}

/* --- the beginning ---------------------------------------------------------------------------------------------- */

static bool is_listed(const struct kube_resource *r) {
        return r->namespaced && r->preferred && (r->verbs & KUBE_VERB_LIST) && !is_furniture(r->group, r->kind, STR(""));
}

static void list(struct census_kind *k, const struct kube_resource *r, struct str ns) {
        static const struct kube_list_handler handler = { on_item, on_restart, on_done };
        struct kube_list_spec spec = {
                .at = kube_resource_location(r, ns, STR("")), .page_items = CENSUS_MAX_OBJECTS,
        };

        k->group = str_dup(r->group);
        k->kind = str_dup(r->kind);
        k->census->app->counts.requests++;
        k->list = kube_list_start(k->census->app->env.client, &spec, &handler, k);
        kube_list_tell_slow(k->list, APP_SLOW_MS, app_tell_slow, k->census->app);
}

static void start(struct app *app, const char *id) {
        struct census *c = mem_zalloc(sizeof *c);
        struct inventory_id parts;
        size_t count;
        const struct kube_resource *all = kube_discovery_resources(cluster_discovery(app->env.cluster), &count);

        inventory_id_split(str_from(id), &parts);
        *c = (struct census){ .app = app, .next = app->censuses, .id = str_dup(str_from(id)) };
        c->kinds = mem_zalloc(CENSUS_MAX_KINDS * sizeof *c->kinds);
        app->censuses = c;
        for (size_t i = 0; i < count && c->count < CENSUS_MAX_KINDS; i++) {
                if (!is_listed(&all[i]))
                        continue;
                c->kinds[c->count].census = c;
                list(&c->kinds[c->count++], &all[i], parts.name);
        }
        c->left = c->count;
        if (!c->left)
                end(c);
}

bool app_census_is_pending(struct app *app, const struct prune_plan *plan) {
        if (!app->census_texts)
                app->census_texts = map_new(free);
        for (size_t i = 0; !app->censuses && i < plan->count; i++) {
                const struct inventory_entry *e = plan->steps[i].entry;
                struct inventory_id id;

                if (plan->steps[i].verdict == PRUNE_DELETE && inventory_id_split(str_from(e->id), &id) &&
                    manifest_is_namespace(id.group, id.kind) && !map_find(app->census_texts, str_from(e->id)))
                        start(app, e->id);
        }
        return app->censuses != NULL;
}

const char *app_census_of(const struct app *app, const char *id) {
        return app->census_texts ? map_find(app->census_texts, str_from(id)) : NULL;
}
