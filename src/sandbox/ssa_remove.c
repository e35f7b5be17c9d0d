/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value without what a set names (typed.RemoveItems): members of maps and items of lists that are members of the set
 * go whole. What is left empty by that, and atomic things with paths below them, become null, not absent: the caller's
 * decoding settles what null means for the type.
 */
#include "sandbox/ssa_impl.h"

static const struct value *remove_node(const struct schema *type, const struct value *v, const struct fieldset *set,
                                       struct arena *a);

static const struct value *remove_members(const struct schema *type, const struct value *v, const struct fieldset *set,
                                          struct arena *a) {
        struct value_member *members = arena_alloc(a, v->map.count * sizeof *members);
        size_t count = 0;

        for (size_t i = 0; i < v->map.count; i++) {
                struct value_member m = v->map.members[i];
                struct path_element e = path_field(m.key);
                const struct fieldset *below = fieldset_child(set, &e);

                if (below && below->member)
                        continue;
                if (below)
                        m.value = remove_node(schema_field(type, m.key), m.value, below, a);
                members[count++] = m;
        }
        return count ? value_map_of(a, members, count, v->line) : &value_null;
}

static const struct value *remove_items(const struct schema *type, const struct value *v, const struct fieldset *set,
                                        struct arena *a) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < v->list.count; i++) {
                const struct value *item = v->list.items[i];
                const struct fieldset *below = NULL;
                struct path_element e;

                if (path_item_element(item, type, a, &e))
                        below = fieldset_child(set, &e);
                if (below && below->member)
                        continue;
                value_list_add(&b, below ? remove_node(schema_item(type), item, below, a) : item);
        }
        bool empty = b.count == 0;
        const struct value *out = value_list_end(&b, a, v->line);

        return empty ? &value_null : out;
}

/* `set` is not empty. */
static const struct value *remove_node(const struct schema *type, const struct value *v, const struct fieldset *set,
                                       struct arena *a) {
        bool composite = v->kind == VALUE_MAP || v->kind == VALUE_LIST;

        switch (schema_form(type)) {
        case SCHEMA_STRUCT:
        case SCHEMA_MAP:
                return v->kind == VALUE_MAP ? remove_members(type, v, set, a) : &value_null;
        case SCHEMA_LIST_SET:
        case SCHEMA_LIST_MAP:
                return v->kind == VALUE_LIST ? remove_items(type, v, set, a) : &value_null;
        case SCHEMA_DEDUCED:
                if (v->kind == VALUE_MAP)
                        return remove_members(type, v, set, a);
                return composite ? &value_null : v;
        case SCHEMA_ATOMIC:
                return composite ? &value_null : v;
        default:
                return v;
        }
}

const struct value *ssa_remove(const struct schema *type, const struct value *object, const struct fieldset *set,
                               struct arena *a) {
        return fieldset_is_empty(set) ? object : remove_node(type, object, set, a);
}
