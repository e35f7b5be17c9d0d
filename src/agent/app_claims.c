/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StorageClasses: whether a claim that no pod uses yet is well depends on its class (health/builtin_core.c). They are
 * listed and watched from the first such claim on. Without the right to read them a claim is judged without.
 *
 * What counts of a class, its binding mode, cannot be changed: only one that is made anew is another one.
 */
#include "agent/app_impl.h"

#include "base/json.h"

static struct gvk class_gvk(void) {
        return (struct gvk){ STR("storage.k8s.io"), STR("v1"), STR("StorageClass") };
}

bool app_is_storage_class(struct str group, struct str kind) {
        return str_eq(group, class_gvk().group) && str_eq(kind, class_gvk().kind);
}

static bool is_claim(const struct item *item) {
        struct gvk gvk = item->desired->gvk;

        return !gvk.group.n && str_eqc(gvk.kind, "PersistentVolumeClaim");
}

/* In the arena. */
static struct str name_of_class(const struct item *item, const struct live *live, struct arena *a) {
        const struct value *object;

        if (!is_claim(item) || json_parse((struct str){ live->text, live->text_bytes }, a, &object, NULL) < 0)
                return (struct str){ 0 };
        return health_storage_class(object);
}

const struct live *item_storage_class(const struct item *item, const struct live *live) {
        const struct cluster_kind *classes = is_claim(item) ? cluster_find_kind(item->app->env.cluster, class_gvk()) : NULL;

        if (!classes || cluster_kind_state(classes) != CLUSTER_KIND_SYNCED)
                return NULL;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str name = name_of_class(item, live, a);
        return name.n ? cluster_find(classes, STR(""), name) : NULL;
}

void item_want_storage_class(struct item *item, const struct live *live) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        if (name_of_class(item, live, a).n)
                cluster_want(item->app->env.cluster, class_gvk(), CLUSTER_ALL);
}

void app_storage_class_changed(struct app *app) {
        size_t at = 0;
        void *p;

        while (map_next(app->items, &at, NULL, &p))
                if (is_claim(p))
                        item_look_at_health(p);
}
