/* SPDX-License-Identifier: Apache-2.0 */
#include "own/overlay.h"

#include "own/path.h"

static const struct value *overlay_map(struct arena *a, const struct value *base, const struct value *top,
                                       const struct schema *type) {
        for (size_t i = 0; i < top->map.count; i++) {
                const struct value_member *m = &top->map.members[i];
                const struct value *below = own_overlay(a, value_get(base, m->key), m->value, schema_field(type, m->key));

                base = value_with(a, base, m->key, below);
        }
        return base;
}

/* The item of `list` that `like` stands for; NULL when there is none, or it cannot be told. */
static const struct value *find_like(struct arena *a, const struct value *list, const struct value *like,
                                     const struct schema *type) {
        struct path_element e;

        return path_item_element(like, type, a, &e) ? path_item_find(list, &e, type, NULL) : NULL;
}

static const struct value *overlay_list(struct arena *a, const struct value *base, const struct value *top,
                                        const struct schema *type) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < base->list.count; i++) {
                const struct value *old = base->list.items[i], *new = find_like(a, top, old, type);

                value_list_add(&b, new ? own_overlay(a, old, new, schema_item(type)) : old);
        }
        for (size_t i = 0; i < top->list.count; i++)
                if (!find_like(a, base, top->list.items[i], type))
                        value_list_add(&b, top->list.items[i]);
        return value_list_end(&b, a, base->line);
}

const struct value *own_overlay(struct arena *a, const struct value *base, const struct value *top,
                                const struct schema *type) {
        enum schema_form form = schema_form(type);

        if (!base || base->kind != top->kind || schema_is_atomic(type, top))
                return top;
        if (top->kind == VALUE_MAP)
                return overlay_map(a, base, top, type);
        if (top->kind == VALUE_LIST && (form == SCHEMA_LIST_MAP || form == SCHEMA_LIST_SET))
                return overlay_list(a, base, top, type);
        return top;
}
