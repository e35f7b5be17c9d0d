/* SPDX-License-Identifier: Apache-2.0 */
/* deploy/web, watched beside the agent: what the story says of it is what the API server says, not what truce says. */
#include "base/json.h"
#include "cli/demo_impl.h"
#include "kube/watch.h"

static int64_t number(const struct value *v) {
        int64_t n = 0;

        value_to_i64(v, &n);
        return n;
}

static struct str image_of(const struct value *object) {
        const struct value *containers = value_path(object, "spec", "template", "spec", "containers", NULL);

        return value_count(containers) ? value_text(value_getc(containers->list.items[0], "image")) : STR("");
}

static void show(struct demo *d, struct str text) {
        struct web before = d->web, now = { .arena = arena_new(0) };

        if (text.n && json_parse(text, now.arena, &now.object, NULL) == 0) {
                now.replicas = number(value_path(now.object, "spec", "replicas", NULL));
                now.generation = number(value_path(now.object, "metadata", "generation", NULL));
                now.image = image_of(now.object);
        }
        d->web = now;
        if (d->live)
                demo_live_web(d, &before);
        arena_free(before.arena);
}

static void on_item(void *ctx, struct str object) {
        show(ctx, object);
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str resource_version) {
        (void)resource_version;
        show(ctx, event == KUBE_WATCH_DELETED ? STR("") : object);
}

void demo_watch_web(struct demo *d) {
        static const struct kube_watch_handler handler = { .item = on_item, .event = on_event };
        const struct kube_watch_spec spec = {
                .at = { STR("apps"), STR("v1"), STR("deployments"), d->flags.ns, { 0 }, { 0 } },
                .list_field_selector = STR("metadata.name=web"),
                .watch_field_selector = STR("metadata.name=web"),
        };

        d->watch = kube_watch_new(d->client, &spec, &handler, d);
}

void demo_unwatch_web(struct demo *d) {
        kube_watch_free(d->watch);
        arena_free(d->web.arena);
        d->watch = NULL;
        d->web = (struct web){ 0 };
}

void demo_replicas_owner(const struct value *object, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct managed_entry *owners[8], *newest = NULL;
        struct managed managed;
        struct field_path path;

        if (managed_parse(object, a, &managed, NULL) < 0 ||
            field_path_from_dotted(STR("spec.replicas"), a, &path, NULL) < 0)
                return;
        size_t count = managed_owners(&managed, NULL, path, owners, ARRAY_LEN(owners));
        for (size_t i = 0; i < count && i < ARRAY_LEN(owners); i++) {
                bool better = !newest || managed_is_ours(newest) || str_cmp(owners[i]->time, newest->time) > 0;

                if (better && !(newest && managed_is_ours(owners[i])))
                        newest = owners[i];
        }
        if (newest)
                buf_addf(out, "%.*s%s", STR_FMT(newest->manager), newest->subresource.n ? " (scale)" : "");
}
