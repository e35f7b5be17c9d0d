/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a strategic merge leaves of its patch, for a refusal quotes that: directives that were followed, and nulls in
 * what is new, are gone.
 *
 * Source: apimachinery's strategicpatch, which changes the patch while it walks it.
 */
#include "sandbox/patch_impl.h"

static bool is_directive(const struct value *v) {
        return value_is(v, VALUE_MAP) && value_getc(v, "$patch");
}

/* --- what is new (removeDirectives) --- */

static const struct value *new_in_map(const struct value *v, struct arena *a);

/* A new list is made, without the items that are directives. */
static const struct value *new_list(const struct value *v, struct arena *a) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < v->list.count; i++) {
                const struct value *item = v->list.items[i];

                if (value_is(item, VALUE_LIST))
                        value_list_add(&b, new_list(item, a));
                else if (!is_directive(item))
                        value_list_add(&b, new_in_map(item, a));
        }
        return value_list_end(&b, a, v->line);
}

static const struct value *new_in_map(const struct value *v, struct arena *a) {
        struct value_map_builder b = { 0 };

        if (!value_is(v, VALUE_MAP))
                return v;
        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];

                if (!is_directive(m->value))
                        value_map_add(&b, m->key,
                                      value_is(m->value, VALUE_LIST) ? new_list(m->value, a) : new_in_map(m->value, a),
                                      m->line);
        }
        return value_map_end(&b, a, v->line);
}

/* … which the patch does not get where it has the list itself: only the maps in it change. */
static const struct value *left_of_new(const struct value *v, struct arena *a) {
        struct value_list_builder b = { 0 };

        if (!value_is(v, VALUE_LIST))
                return is_directive(v) ? v : new_in_map(v, a);
        for (size_t i = 0; i < v->list.count; i++)
                value_list_add(&b, left_of_new(v->list.items[i], a));
        return value_list_end(&b, a, v->line);
}

/* --- what is merged --- */

static bool has_key(const struct value *other, struct str key, const struct value *item) {
        return value_get(item, key) && value_equal(value_get(other, key), value_get(item, key));
}

static const struct value *live_item(const struct value *live, struct str key, const struct value *item) {
        for (size_t i = 0; i < value_count(live); i++)
                if (has_key(live->list.items[i], key, item))
                        return live->list.items[i];
        return NULL;
}

/* What a new item and a later one of the same key become: the server's list and the patch share the new one. */
static const struct value *joined(const struct type *type, const struct value *item, const struct value *later,
                                  struct arena *a) {
        const struct patch_run r = { a, NULL };
        const struct value *both = item;

        patch_merge_map(&r, type, item, later, &both);
        return both;
}

static const struct value *left_of_list(const struct type *list, const struct value *live, const struct value *given,
                                        struct arena *a) {
        const struct value **left = arena_alloc(a, (given->list.count + 1) * sizeof *left), *old;
        struct str key = list->patch_merge_key;
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < given->list.count; i++) {
                const struct value *item = left[i] = given->list.items[i];
                size_t j = 0;

                if (is_directive(item))
                        continue;
                while (j < i && (is_directive(left[j]) || !has_key(left[j], key, item)))
                        j++;
                old = live_item(live, key, item);
                if (old || j < i)
                        left[i] = patch_left(list->item, old ? old : left[j], item, a);
                if (!old && j < i)
                        left[j] = joined(list->item, left[j], item, a);
        }
        for (size_t i = 0; i < given->list.count; i++)
                value_list_add(&b, left[i]);
        return value_list_end(&b, a, given->line);
}

static const struct value *left_of_member(const struct type *t, const struct value *live, const struct value_member *m,
                                          struct arena *a) {
        const struct type_field *f = type_field(t, m->key);
        const struct value *old = value_get(live, m->key);

        if (str_starts(m->key, STR("$deleteFromPrimitiveList")) || m->value->kind == VALUE_NULL)
                return m->value;
        if (!old || old->kind != m->value->kind)
                return left_of_new(patch_without_nulls(m->value, a), a);
        if (f && m->value->kind == VALUE_MAP && !(f->type->patch & TYPE_PATCH_WHOLE))
                return patch_left(f->type, old, m->value, a);
        if (f && m->value->kind == VALUE_LIST && (f->type->patch & TYPE_PATCH_MERGE) && f->type->patch_merge_key.n)
                return left_of_list(f->type, old, m->value, a);
        return m->value;
}

static bool is_followed(const struct value *patch, struct str key, struct arena *a) {
        return str_starts(key, STR("$setElementOrder/")) || str_eqc(key, "$retainKeys") ||
               value_get(patch, arena_strf(a, "$setElementOrder/%.*s", STR_FMT(key)));
}

const struct value *patch_left(const struct type *t, const struct value *doc, const struct value *patch,
                               struct arena *a) {
        struct value_map_builder b = { 0 };

        if (is_directive(patch))
                return str_eqc(value_text(value_getc(patch, "$patch")), "replace")
                               ? value_with(a, patch, STR("$patch"), NULL)
                               : patch;
        for (size_t i = 0; i < patch->map.count; i++) {
                const struct value_member *m = &patch->map.members[i];

                if (!is_followed(patch, m->key, a))
                        value_map_add(&b, m->key, left_of_member(t, doc, m, a), m->line);
        }
        return value_map_end(&b, a, patch->line);
}
