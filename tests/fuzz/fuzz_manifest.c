/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a manifest file: objects come out with legal keys, and what is cleaned stays as it is when read again. */
#include "fuzz.h"

#include "manifest/bind.h"

static void check_again(const struct manifest_object *o, struct arena *a) {
        struct manifest_parsed p;
        struct str text = value_canonical(a, o->value);

        /* A list-like kind may have been told from a list by its status, which is gone. */
        if (str_ends(o->kind, STR("List")))
                return;
        manifest_parse(text, MANIFEST_JSON, a, &p);
        if (p.irrelevant)
                return;
        HOLDS(p.error_count == 0 && p.warning_count == 0 && p.object_count == 1);
        HOLDS(str_eq(value_canonical(a, p.objects[0].value), text));
        HOLDS(manifest_is_kept(&p.objects[0]) == manifest_is_kept(o));
}

static void check_bound(const struct manifest_object *o, struct arena *a) {
        struct tracking t = { STR("i"), STR("a"), STR("d") };
        struct manifest_binding b = { .default_namespace = STR("d"), .tracking = &t };
        struct manifest_object bound, again;
        struct tracker tracker;

        for (int namespaced = 0; namespaced < 2; namespaced++) {
                HOLDS(manifest_bind_scope(o, namespaced, &b, a, &bound, NULL, NULL) == 0);
                HOLDS(manifest_bind_scope(&bound, namespaced, &b, a, &again, NULL, NULL) == 0);
                HOLDS(str_eq(bound.canonical, again.canonical));
                tracking_read(&t, bound.value, NULL, a, &tracker);
                HOLDS(tracker.kind == TRACKER_OURS);
        }
}

static void check_key(const struct manifest_object *o, struct arena *a) {
        HOLDS(o->kind.n > 0 && o->version.n > 0 && o->name.n > 0 && o->name.n <= 253);
        HOLDS(str_find(o->name, '/', 0) < 0 && str_find(o->name, '\t', 0) < 0 && str_find(o->name, '\n', 0) < 0);
        HOLDS(o->ns.n <= 63 && o->line > 0);
        HOLDS(value_is(value_getc(o->value, "metadata"), VALUE_MAP));
        HOLDS(!value_getc(o->value, "status"));
        HOLDS(manifest_title(o, a).n > 0);
}

/* The same file in a set: nothing is lost on the way but duplicates. */
static void check_set(struct str text, enum manifest_format format, const struct manifest_parsed *p, struct arena *a) {
        struct manifest_file file = { format == MANIFEST_JSON ? STR("a.json") : STR("a.yaml"), text };
        struct manifest_source source = { .default_namespace = STR("d") };
        struct manifest_set *set;

        HOLDS(manifest_render_files(&file, 1, &source, &set, NULL) == 0);
        HOLDS(set->complete == p->complete && set->error_count >= p->error_count);
        HOLDS(set->object_count + set->refused_count <= p->object_count + p->refused_count);
        HOLDS(set->object_count == p->object_count || set->error_count > p->error_count);
        for (size_t i = 0; i < set->object_count; i++) {
                check_key(&set->objects[i], a);
                value_canonical(a, set->objects[i].value);
        }
        manifest_set_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct arena *a = arena_new(0);
        enum manifest_format format = n > 0 && data[0] == '{' ? MANIFEST_JSON : MANIFEST_YAML;
        struct manifest_parsed p;

        manifest_parse((struct str){ (const char *)data, n }, format, a, &p);
        HOLDS(p.complete || p.error_count > 0);
        HOLDS(p.refused_count == 0 || p.error_count > 0);
        HOLDS(!p.irrelevant || p.object_count + p.refused_count + p.error_count == 0);
        check_set((struct str){ (const char *)data, n }, format, &p, a);
        for (size_t i = 0; i < p.refused_count; i++)
                check_key(&p.refused[i], a);
        for (size_t i = 0; i < p.object_count; i++) {
                check_key(&p.objects[i], a);
                check_again(&p.objects[i], a);
                check_bound(&p.objects[i], a);
        }
        arena_free(a);
        return 0;
}
