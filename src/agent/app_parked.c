/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects whose kind the cluster does not serve: they are parked, and discovery is asked again until it is.
 */
#include "agent/app_impl.h"

#include "base/json.h"
#include "base/option.h"

#define REDISCOVER_FIRST_MS 5000
#define REDISCOVER_MAX_MS (60 * INT64_C(1000))
#define PARKED_REASON "the cluster does not serve its kind yet"

/*
 * A kind whose definition this set holds comes within moments: the server may take a while from Established to discovery.
 * So long nothing counts as settled, and a single sync does not end.
 */
#define PROMISED_FIRST_MS 250
#define PROMISED_MAX_MS (30 * INT64_C(1000))

static const struct backoff rediscover = { REDISCOVER_FIRST_MS, 2, REDISCOVER_MAX_MS };
static const struct backoff rediscover_promised = { PROMISED_FIRST_MS, 2, 4000 };

/* --- why -------------------------------------------------------------------------------------------------------- */

const struct kube_resource *app_served_resource(const struct app *app, const struct desired *d) {
        return kube_discovery_find(cluster_discovery(app->env.cluster), d->gvk);
}

/*
 * The kind under another apiVersion: one that has gone with an upgrade, or the wrong group of Kubernetes' own. The same
 * word of two vendors means two things.
 */
static const struct kube_resource *served_elsewhere(const struct kube_discovery *d, struct gvk gvk) {
        size_t count;
        const struct kube_resource *all = kube_discovery_resources(d, &count);
        bool any_group = manifest_group_is_builtin(gvk.group);

        for (size_t i = 0; i < count; i++) {
                if (str_eq(all[i].kind, gvk.kind) && all[i].preferred && (any_group || str_eq(all[i].group, gvk.group)))
                        return &all[i];
        }
        return NULL;
}

/* A kind of the same group that is spelt nearly so; NULL: none is. */
static const char *near_kind(const struct kube_discovery *d, struct gvk gvk, struct arena *a) {
        size_t count, near_count = 0;
        const struct kube_resource *all = kube_discovery_resources(d, &count);
        _cleanup_(mem_freep) const char **kinds = mem_zalloc((count + 1) * sizeof *kinds);

        for (size_t i = 0; i < count; i++) {
                if (str_eq(all[i].group, gvk.group))
                        kinds[near_count++] = arena_str(a, all[i].kind).p;
        }
        return option_nearest(gvk.kind, kinds, near_count);
}

const char *app_parked_reason(const struct app *app, const struct desired *d, struct arena *a) {
        const struct kube_discovery *known = cluster_discovery(app->env.cluster);
        const struct kube_resource *other = served_elsewhere(known, d->gvk);
        const char *near = other ? NULL : near_kind(known, d->gvk, a);

        if (other)
                return arena_strf(a, PARKED_REASON "; %.*s is served as %.*s%s%.*s", STR_FMT(other->kind),
                                  STR_FMT(other->group), other->group.n ? "/" : "", STR_FMT(other->version)).p;
        return near ? arena_strf(a, PARKED_REASON "; did you mean %s?", near).p : PARKED_REASON;
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
                if (!app_served_resource(app, d))
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
                        .reason = app_parked_reason(app, d, a), .retry_in_ms = -1,
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
