/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must not be deleted, nor go with what is deleted, because some application of this agent wants it or has it for
 * good. Of one whose commit or inventory is not known yet all that it has, or may have, counts as wanted.
 */
#include "agent/app_impl.h"

/* What goes with an object, and whether a thing is of it. */
struct holder {
        struct str ns;          /* a Namespace's name; empty: a definition */
        struct str group, kind; /* of the definition */
};

/* Itself at 0, then the others. */
static const struct app *app_at(const struct app *app, size_t at) {
        return at ? app->env.hooks.other(app->env.ctx, app, at - 1) : app;
}

bool app_is_wanted_elsewhere(const struct app *app, struct str id) {
        const struct app *other;

        for (size_t i = 1; (other = app_at(app, i)); i++)
                if (other->desired && desired_find(other->desired, id))
                        return true;
        return false;
}

bool app_has_namesake(const struct app *app, const struct inventory_id *id) {
        const struct app *one;

        for (size_t at = 0; (one = app_at(app, at)); at++) {
                for (size_t i = 0; one->desired && i < one->desired->count; i++) {
                        const struct desired *d = &one->desired->objects[i];

                        if (d->id.n == 0 && str_eq(d->name, id->name))
                                return true;
                }
        }
        return false;
}

static bool goes_with(const struct holder *h, struct str group, struct str kind, struct str ns) {
        return h->ns.n ? str_eq(ns, h->ns) : str_eq(kind, h->kind) && str_eq(group, h->group);
}

static bool wants_of(const struct app *app, const struct holder *h) {
        for (size_t i = 0; app->desired && i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];

                if (goes_with(h, d->gvk.group, d->gvk.kind, d->ns))
                        return true;
        }
        return false;
}

/*
 * What is never pruned must not go with its holder either. What another application has stays until that one has deleted
 * it: whether it does is its own to say (its prune may be off, or stopped by its budget).
 */
static bool stays(const struct app *app, const struct inventory_entry *e, const struct holder *h, bool is_others) {
        struct cluster_kind *k = app_kind_of(app, str_from(e->id), str_from(e->version));
        struct inventory_id id;
        const struct live *live;

        if (!inventory_id_split(str_from(e->id), &id) || !goes_with(h, id.group, id.kind, id.namespace))
                return false;
        if (!app->desired)
                return true;
        live = k ? cluster_find(k, id.namespace, id.name) : NULL;
        if (!live || is_others || (e->flags & (INVENTORY_ADOPTED | INVENTORY_KEEP)))
                return live;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct managed owners;
        return manifest_value_is_kept(live_value(live, a, &owners));
}

static bool keeps_of(const struct app *app, const struct holder *h, bool is_others) {
        _cleanup_(mem_freep) struct inventory_entry **list = NULL;
        size_t count;
        bool any = false;

        if (!app->inventory)
                return true; /* it may have anything */
        list = inventory_sorted(app->inventory, &count);
        for (size_t i = 0; !any && i < count; i++)
                any = stays(app, list[i], h, is_others);
        return any;
}

/* False when the object takes nothing along. */
static bool holder_of(const struct app *app, const struct inventory_id *id, struct holder *ret) {
        struct str name = id->name, group, plural;
        const struct kube_resource *r;
        ptrdiff_t dot = str_find(name, '.', 0);

        *ret = (struct holder){ 0 };
        if (manifest_is_namespace(id->group, id->kind)) {
                ret->ns = name;
                return true;
        }
        if (!manifest_is_crd(id->group, id->kind) || dot < 0)
                return false;
        plural = str_sub(name, 0, (size_t)dot);
        group = str_sub(name, (size_t)dot + 1, name.n);
        r = kube_discovery_find_plural(cluster_discovery(app->env.cluster), group, plural);
        if (!r)
                return false; /* not served: it has no objects */
        ret->group = group;
        ret->kind = r->kind;
        return true;
}

bool app_takes_wanted_along(const struct app *app, const struct inventory_id *id) {
        const struct app *one;
        struct holder h;

        if (!holder_of(app, id, &h))
                return false;
        for (size_t at = 0; (one = app_at(app, at)); at++)
                if (wants_of(one, &h) || keeps_of(one, &h, at > 0))
                        return true;
        return false;
}
