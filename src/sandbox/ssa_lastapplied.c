/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotation of kubectl's client-side apply. Only for the manager "kubectl": fields that the annotation says
 * kubectl wrote, and that still have that value, are its own already; and while the annotation is there it follows
 * what is applied.
 */
#include "base/json.h"
#include "base/limits.h"
#include "sandbox/ssa_impl.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* The API server's limit for all annotations of an object together. */
#define MAX_ANNOTATIONS_BYTES (256 * KIB)

static const struct str annotations_path[] = {
        { "metadata", 8 },
        { "annotations", 11 },
        { LAST_APPLIED, sizeof LAST_APPLIED - 1 },
};

static struct str last_applied_of(const struct value *object) {
        return value_text(value_path(object, "metadata", "annotations", LAST_APPLIED, NULL));
}

/* What kubectl wrote and what is still so; NULL when the annotation cannot be used. */
static const struct fieldset *written_by_kubectl(const struct ssa_run *r, const struct value *live) {
        struct str text = last_applied_of(live);
        const struct schema *type = r->type->schema;
        const struct value *config;

        if (text.n == 0 || json_parse(text, r->arena, &config, NULL) < 0)
                return NULL;
        if (!str_eq(value_text(value_getc(config, "apiVersion")), r->how->api_version) ||
            ssa_validate(r->type, config, NULL) < 0)
                return NULL;
        struct ssa_comparison c = ssa_compare(type, config, live, r->arena);
        const struct fieldset *set = fieldset_of_all(config, type, r->arena);

        set = fieldset_subtract(r->arena, set, c.modified);
        set = fieldset_subtract(r->arena, set, c.added);
        return fieldset_subtract(r->arena, set, c.removed);
}

bool ssa_last_applied_allows(const struct ssa_run *r, const struct value *live, struct ssa_conflicts *conflicts) {
        const struct fieldset *own = written_by_kubectl(r, live);
        struct ssa_conflict *left = arena_alloc(r->arena, conflicts->count * sizeof *left);
        size_t count = 0;

        if (!own)
                return false;
        for (size_t i = 0; i < conflicts->count; i++)
                if (!fieldset_contains(own, conflicts->items[i].path))
                        left[count++] = conflicts->items[i];
        if (count == 0)
                return true;
        *conflicts = (struct ssa_conflicts){ left, count };
        return false;
}

static size_t annotations_bytes(const struct value *object) {
        const struct value *all = value_path(object, "metadata", "annotations", NULL);
        size_t bytes = 0;

        for (size_t i = 0; i < value_count(all); i++)
                bytes += all->map.members[i].key.n + value_text(all->map.members[i].value).n;
        return bytes;
}

const struct value *ssa_last_applied_update(const struct value *object, const struct value *config, struct arena *a) {
        _cleanup_(buf_done) struct buf text = buf_make(KUBE_MAX_OBJECT_BYTES);

        if (last_applied_of(object).n == 0)
                return object;
        value_print_go(value_with_path(a, config, annotations_path, ARRAY_LEN(annotations_path), NULL), &text);
        buf_addch(&text, '\n');
        const struct value *new = value_with_path(a, object, annotations_path, ARRAY_LEN(annotations_path),
                                                  value_string(a, buf_str(&text), 0));

        if (annotations_bytes(new) > MAX_ANNOTATIONS_BYTES)
                return value_with_path(a, object, annotations_path, ARRAY_LEN(annotations_path), NULL);
        return new;
}
