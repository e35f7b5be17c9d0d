/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/compare_impl.h"

/* Does anyone but us own what stands at the path, or something in it? */
static bool is_others(const struct managed *m, const struct schema *type, struct field_path path) {
        const struct managed_entry *owners[MANAGED_MAX_ENTRIES];
        size_t count = managed_touching(m, type, path, owners, MANAGED_MAX_ENTRIES);

        for (size_t i = 0; i < count && i < MANAGED_MAX_ENTRIES; i++)
                if (!managed_is_ours(owners[i]))
                        return true;
        return false;
}

static bool is_ours_in(const struct fieldset *set, const struct schema *type, struct field_path path) {
        return fieldset_touches(set, path) || fieldset_covers(set, type, path);
}

enum diff_class walk_class(const struct walk *w) {
        const struct schema *type = w->in->type;
        struct field_path path = walk_path(w);

        if (w->blind || path.count == 0 || is_ours_in(w->ours_after, type, path) || is_ours_in(w->ours_before, type, path))
                return DIFF_OURS;
        if (is_others(&w->after_owners, type, path) || is_others(&w->before_owners, type, path))
                return DIFF_FOREIGN;
        return DIFF_ADMISSION;
}

#define BIT(class) (1u << (class))

/* The classes of all that stands at the path and below, as bits. */
static unsigned classes_below(struct walk *w, const struct value *v, const struct schema *type) {
        unsigned classes = 0;

        if (v->kind != VALUE_MAP || v->map.count == 0 || w->depth == JSON_MAX_DEPTH)
                return BIT(walk_class(w));
        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];

                w->stack[w->depth++] = path_field(m->key);
                classes |= classes_below(w, m->value, schema_field(type, m->key));
                w->depth--;
        }
        return classes;
}

/* Labels, annotations. */
static bool is_in_metadata(const struct walk *w) {
        return w->depth == 2 && w->stack[0].kind == PATH_FIELD && str_eqc(w->stack[0].name, "metadata");
}

/*
 * Is a sub-tree that only one side has shown in parts? Not when it is ours itself (an item of a keyed list), nor for
 * the defaults a server adds to a struct of ours. In maps whose keys are the users' own, what others put there is no
 * part of what we put there; annotations that admission adds are named one by one.
 */
static bool is_mixed(struct walk *w, const struct value *v, const struct schema *type) {
        struct field_path path = walk_path(w);
        unsigned classes;

        if (v->kind != VALUE_MAP || v->map.count == 0 || fieldset_contains(w->ours_after, path) ||
            fieldset_contains(w->ours_before, path))
                return false;
        classes = classes_below(w, v, type);
        if (classes == BIT(DIFF_ADMISSION))
                return is_in_metadata(w);
        if (classes == (BIT(DIFF_OURS) | BIT(DIFF_ADMISSION)))
                return is_in_metadata(w) || schema_form(type) == SCHEMA_MAP;
        return (classes & (classes - 1)) != 0;
}

static void walk_alone(struct walk *w, const struct value *v, bool added, const struct schema *type) {
        if (w->depth == JSON_MAX_DEPTH || !is_mixed(w, v, type)) {
                walk_emit(w, added ? DIFF_ADDED : DIFF_REMOVED, added ? NULL : v, added ? v : NULL);
                return;
        }
        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];

                walk_step(w, path_field(m->key), added ? NULL : m->value, added ? m->value : NULL,
                          schema_field(type, m->key));
        }
}

static void walk_maps(struct walk *w, const struct value *before, const struct value *after,
                      const struct schema *type) {
        for (size_t i = 0, j = 0; i < before->map.count || j < after->map.count;) {
                const struct value_member *x = i < before->map.count ? &before->map.members[i] : NULL;
                const struct value_member *y = j < after->map.count ? &after->map.members[j] : NULL;
                int order = i == before->map.count ? 1 : j == after->map.count ? -1 : str_cmp(x->key, y->key);
                struct str key = order <= 0 ? x->key : y->key;

                walk_step(w, path_field(key), order <= 0 ? x->value : NULL, order >= 0 ? y->value : NULL,
                          schema_field(type, key));
                i += order <= 0;
                j += order >= 0;
        }
}

void walk_step(struct walk *w, struct path_element step, const struct value *before, const struct value *after,
               const struct schema *type) {
        w->stack[w->depth++] = step;
        walk_values(w, before, after, type);
        w->depth--;
}

void walk_values(struct walk *w, const struct value *before, const struct value *after, const struct schema *type) {
        if (before == after || value_equal(before, after))
                return;
        if (!before || !after)
                walk_alone(w, before ? before : after, !before, type);
        else if (w->depth < JSON_MAX_DEPTH && before->kind == VALUE_MAP && after->kind == VALUE_MAP)
                walk_maps(w, before, after, type);
        else if (w->depth < JSON_MAX_DEPTH && before->kind == VALUE_LIST && after->kind == VALUE_LIST)
                walk_lists(w, before, after, type);
        else
                walk_emit(w, DIFF_CHANGED, before, after);
}
