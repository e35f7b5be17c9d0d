/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two typed values into one (structured-merge-diff's typed.Merge with "keep the right side"). Nothing goes by a merge.
 * Lists of items with identity: those only on the left keep their place among their neighbours, all others come in the
 * order of the right side.
 */
#include <stdlib.h>

#include "sandbox/ssa_impl.h"

/* A list's items under the elements that name them, with an index to find them by. */
struct items {
        const struct value *list;
        struct path_element *elements;
        const struct path_element **sorted;
        size_t count;
};

static int place_cmp(const void *x, const void *y) {
        const struct path_element *const *a = x, *const *b = y;
        int order = path_element_cmp(*a, *b);

        return order ? order : (*a > *b) - (*a < *b);
}

static struct items index_items(const struct value *list, const struct schema *type, struct arena *a) {
        struct items all = { .list = list, .count = value_count(list) };

        all.elements = arena_zalloc(a, all.count * sizeof *all.elements);
        all.sorted = arena_alloc(a, all.count * sizeof *all.sorted);
        for (size_t i = 0; i < all.count; i++) {
                if (!path_item_element(list->list.items[i], type, a, &all.elements[i]))
                        all.elements[i] = (struct path_element){ .kind = PATH_INDEX, .index = (int64_t)i };
                all.sorted[i] = &all.elements[i];
        }
        if (all.count)
                qsort(all.sorted, all.count, sizeof *all.sorted, place_cmp);
        return all;
}

/* The place of the first item of that name, or -1; *ret_more: there are others. */
static ptrdiff_t find_item(const struct items *in, const struct path_element *e, bool *ret_more) {
        size_t from = 0, to = in->count;

        while (from < to) {
                size_t mid = from + (to - from) / 2;

                if (path_element_cmp(in->sorted[mid], e) < 0)
                        from = mid + 1;
                else
                        to = mid;
        }
        if (from == in->count || path_element_cmp(in->sorted[from], e) != 0)
                return -1;
        if (ret_more)
                *ret_more = from + 1 < in->count && path_element_cmp(in->sorted[from + 1], e) == 0;
        return in->sorted[from] - in->elements;
}

static bool has_item(const struct items *in, const struct path_element *e) {
        return find_item(in, e, NULL) >= 0;
}

/* What an item of the right side is merged with: NULL when it is new, null when the left side has it twice. */
static const struct value *left_item(const struct items *left, const struct path_element *e) {
        bool more = false;
        ptrdiff_t at = find_item(left, e, &more);

        if (at < 0)
                return NULL;
        return more ? &value_null : left->list->list.items[at];
}

static const struct value *merge_node(const struct schema *type, const struct value *l, const struct value *r,
                                      struct arena *a);

struct list_merge {
        const struct schema *type;
        struct arena *arena;
        struct items left, right;
        size_t li, ri;
        size_t shared; /* the coming item of the right side that the left one has too */
        bool *merged;  /* of the right side, by place: done already */
        const struct value **out;
        size_t count;
};

/* The next place of the right side, from `at` on, whose item the left side has too. */
static size_t next_shared(const struct list_merge *m, size_t at) {
        while (at < m->right.count && !has_item(&m->left, &m->right.elements[at]))
                at++;
        return at;
}

static void take_right(struct list_merge *m) {
        const struct path_element *e = &m->right.elements[m->ri];
        const struct value *item = m->right.list->list.items[m->ri];

        m->out[m->count++] = merge_node(schema_item(m->type), left_item(&m->left, e), item, m->arena);
        m->merged[m->ri] = true;
        if (m->ri == m->shared)
                m->shared = next_shared(m, m->ri + 1);
        m->ri++;
}

static bool is_merged(const struct list_merge *m, const struct path_element *e) {
        ptrdiff_t at = find_item(&m->right, e, NULL);

        return at >= 0 && m->merged[at];
}

/* One turn: moves at least one of the two cursors. */
static void list_step(struct list_merge *m) {
        const struct path_element *e = m->li < m->left.count ? &m->left.elements[m->li] : NULL;
        bool both = e && m->ri < m->right.count;

        if (both && path_element_cmp(e, &m->right.elements[m->ri]) == 0) {
                take_right(m);
                m->li++;
                return;
        }
        if (both && m->shared < m->right.count && has_item(&m->right, e) &&
            path_element_cmp(e, &m->right.elements[m->shared]) != 0) {
                /* A shared one, but not the one whose turn it is: it comes where the right side has it. */
                m->li++;
                return;
        }
        if (e && !has_item(&m->right, e)) {
                m->out[m->count++] = m->left.list->list.items[m->li++];
                return;
        }
        if (e && is_merged(m, e))
                m->li++;
        if (m->ri < m->right.count)
                take_right(m);
}

static const struct value *list_of(const struct list_merge *m, const struct value *like) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < m->count; i++)
                value_list_add(&b, m->out[i]);
        return value_list_end(&b, m->arena, like->line);
}

static const struct value *merge_items(const struct schema *type, const struct value *l, const struct value *r,
                                       struct arena *a) {
        struct list_merge m = {
                .type = type,
                .arena = a,
                .left = index_items(l, type, a),
                .right = index_items(r, type, a),
        };

        m.merged = arena_zalloc(a, m.right.count * sizeof *m.merged);
        m.out = arena_alloc(a, (m.left.count + m.right.count) * sizeof *m.out);
        m.shared = next_shared(&m, 0);
        while (m.li < m.left.count || m.ri < m.right.count)
                list_step(&m);
        return list_of(&m, l);
}

static const struct value *merge_list(const struct schema *type, const struct value *l, const struct value *r,
                                      struct arena *a) {
        /* Empty meets empty: the right spelling of "empty" stays. */
        if (value_count(r) == 0)
                return value_is(l, VALUE_LIST) && value_count(l) ? l : r;
        if (!value_is(r, VALUE_LIST) || !value_is(l, VALUE_LIST))
                return r;
        return merge_items(type, l, r, a);
}

static const struct value *merge_members(const struct schema *type, const struct value *l, const struct value *r,
                                         struct arena *a) {
        size_t max = l->map.count + r->map.count, count = 0, i = 0, j = 0;
        struct value_member *members = arena_alloc(a, max * sizeof *members);

        while (i < l->map.count || j < r->map.count) {
                const struct value_member *x = i < l->map.count ? &l->map.members[i] : NULL;
                const struct value_member *y = j < r->map.count ? &r->map.members[j] : NULL;
                int order = i == l->map.count ? 1 : j == r->map.count ? -1 : str_cmp(x->key, y->key);

                members[count] = order > 0 ? *y : *x;
                if (order == 0)
                        members[count].value = merge_node(schema_field(type, x->key), x->value, y->value, a);
                count++;
                i += order <= 0;
                j += order >= 0;
        }
        return value_map_of(a, members, count, l->line);
}

static const struct value *merge_map(const struct schema *type, const struct value *l, const struct value *r,
                                     struct arena *a) {
        bool left = value_is(l, VALUE_MAP) && value_count(l);

        if (value_is(r, VALUE_MAP) && value_count(r))
                return left ? merge_members(type, l, r, a) : r;
        /* A null or an empty map takes nothing away; anything else (where types are deduced) stands for itself. */
        return left && (r->kind == VALUE_NULL || r->kind == VALUE_MAP) ? l : r;
}

static const struct value *merge_node(const struct schema *type, const struct value *l, const struct value *r,
                                      struct arena *a) {
        if (!l || !r || l == r)
                return l ? (r ? r : l) : r;
        switch (schema_form(type)) {
        case SCHEMA_STRUCT:
        case SCHEMA_MAP:
        case SCHEMA_DEDUCED:
                return merge_map(type, l, r, a);
        case SCHEMA_LIST_SET:
        case SCHEMA_LIST_MAP:
                return merge_list(type, l, r, a);
        default:
                return r;
        }
}

const struct value *ssa_merge(const struct schema *type, const struct value *live, const struct value *config,
                              struct arena *a) {
        return merge_node(type, live, config, a);
}
