/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between two typed values (typed.Compare): leaves, and nodes that came or went as a whole. A path is in
 * one of the three sets at most, except where one side is a map and the other is not (deduced types).
 */
#include <stdlib.h>

#include "sandbox/ssa_impl.h"

/* The three sets of one node. */
struct triple {
        struct fieldset added, modified, removed;
};

struct triple_builder {
        struct fieldset_builder added, modified, removed;
};

static void triple_add(struct triple_builder *b, struct path_element e, const struct triple *t) {
        fieldset_build_add(&b->added, e, t->added);
        fieldset_build_add(&b->modified, e, t->modified);
        fieldset_build_add(&b->removed, e, t->removed);
}

static struct triple triple_end(struct triple_builder *b, struct arena *a) {
        return (struct triple){
                .added = fieldset_build_end(&b->added, a, false),
                .modified = fieldset_build_end(&b->modified, a, false),
                .removed = fieldset_build_end(&b->removed, a, false),
        };
}

static void mark_leaf(struct triple *t, const struct value *l, const struct value *r) {
        if (!l)
                t->added.member = true;
        else if (!r)
                t->removed.member = true;
        else if (!value_equal(l, r))
                t->modified.member = true;
}

static struct triple compare_node(const struct schema *type, const struct value *l, const struct value *r,
                                  struct arena *a);

static struct triple compare_members(const struct schema *type, const struct value *l, const struct value *r,
                                     struct arena *a) {
        size_t left = value_is(l, VALUE_MAP) ? l->map.count : 0, right = value_is(r, VALUE_MAP) ? r->map.count : 0;
        struct triple_builder b = { 0 };

        for (size_t i = 0, j = 0; i < left || j < right;) {
                const struct value_member *x = i < left ? &l->map.members[i] : NULL;
                const struct value_member *y = j < right ? &r->map.members[j] : NULL;
                int order = i == left ? 1 : j == right ? -1 : str_cmp(x->key, y->key);
                struct str key = order > 0 ? y->key : x->key;
                const struct schema *below = schema_field(type, key);
                struct triple t = compare_node(below, order <= 0 ? x->value : NULL, order >= 0 ? y->value : NULL, a);

                triple_add(&b, path_field(key), &t);
                i += order <= 0;
                j += order >= 0;
        }
        return triple_end(&b, a);
}

/* An item with the element that names it, as both lists are merged into one order. */
struct named_item {
        struct path_element e;
        const struct value *item;
        size_t place;
};

static int named_cmp(const void *x, const void *y) {
        const struct named_item *a = x, *b = y;
        int order = path_element_cmp(&a->e, &b->e);

        return order ? order : (a->place > b->place) - (a->place < b->place);
}

static struct named_item *name_items(const struct schema *type, const struct value *list, struct arena *a,
                                     size_t *ret_count) {
        size_t count = value_is(list, VALUE_LIST) ? list->list.count : 0, out = 0;
        struct named_item *items = arena_alloc(a, count * sizeof *items);

        for (size_t i = 0; i < count; i++) {
                items[out] = (struct named_item){ .item = list->list.items[i], .place = i };
                out += path_item_element(items[out].item, type, a, &items[out].e);
        }
        if (out)
                qsort(items, out, sizeof *items, named_cmp);
        *ret_count = out;
        return items;
}

/* How many items from `at` on have the same name. */
static size_t run_length(const struct named_item *items, size_t at, size_t count) {
        size_t n = 1;

        while (at + n < count && path_element_cmp(&items[at].e, &items[at + n].e) == 0)
                n++;
        return n;
}

static bool same_items(const struct named_item *x, size_t n, const struct named_item *y, size_t m) {
        for (size_t i = 0; n == m && i < n; i++)
                if (!value_equal(x[i].item, y[i].item))
                        return false;
        return n == m;
}

/* `n` items of one name on the left, `m` on the right. Repeated ones are compared, and owned, as one. */
static struct triple compare_named(const struct schema *item, const struct named_item *x, size_t n,
                                   const struct named_item *y, size_t m, struct arena *a) {
        struct triple t = { 0 };

        if (n <= 1 && m <= 1)
                return compare_node(item, n ? x->item : NULL, m ? y->item : NULL, a);
        if (n >= 2 && m >= 2) {
                t.modified.member = !same_items(x, n, y, m);
                return t;
        }
        if (n == 1)
                t = compare_node(item, x->item, NULL, a);
        else if (m == 1)
                t = compare_node(item, NULL, y->item, a);
        if (n >= 2)
                t.removed.member = true;
        else
                t.added.member = true;
        return t;
}

static struct triple compare_items(const struct schema *type, const struct value *l, const struct value *r,
                                   struct arena *a) {
        size_t left, right;
        struct named_item *x = name_items(type, l, a, &left), *y = name_items(type, r, a, &right);
        struct triple_builder b = { 0 };

        for (size_t i = 0, j = 0; i < left || j < right;) {
                int order = i == left ? 1 : j == right ? -1 : path_element_cmp(&x[i].e, &y[j].e);
                size_t n = order <= 0 ? run_length(x, i, left) : 0, m = order >= 0 ? run_length(y, j, right) : 0;
                struct triple t = compare_named(schema_item(type), x + i, n, y + j, m, a);

                triple_add(&b, order <= 0 ? x[i].e : y[j].e, &t);
                i += n;
                j += m;
        }
        return triple_end(&b, a);
}

static bool is_full(const struct value *v, enum value_kind kind) {
        return value_is(v, kind) && value_count(v) > 0;
}

/* Granular nodes. Two empty ones are a leaf, so that null, {} and absence are told apart. */
static struct triple compare_granular(const struct schema *type, enum value_kind kind, const struct value *l,
                                      const struct value *r, struct arena *a) {
        struct triple t = { 0 };

        if (!is_full(l, kind) && !is_full(r, kind)) {
                mark_leaf(&t, l, r);
                return t;
        }
        t = kind == VALUE_MAP ? compare_members(type, l, r, a) : compare_items(type, l, r, a);
        t.added.member = t.added.member || !l;
        t.removed.member = t.removed.member || !r;
        return t;
}

/* Does a value without a declared type read as a map? null does, as the server tries that first. */
static bool maybe_map(const struct value *v) {
        return !v || v->kind == VALUE_MAP || v->kind == VALUE_NULL;
}

static struct triple compare_deduced(const struct schema *type, const struct value *l, const struct value *r,
                                     struct arena *a) {
        bool map = is_full(l, VALUE_MAP) || is_full(r, VALUE_MAP);
        struct triple t = { 0 };

        if (map)
                t = compare_granular(type, VALUE_MAP, l, r, a);
        if (!map || !maybe_map(l) || !maybe_map(r))
                mark_leaf(&t, l, r);
        return t;
}

static struct triple compare_node(const struct schema *type, const struct value *l, const struct value *r,
                                  struct arena *a) {
        struct triple t = { 0 };

        if (l == r)
                return t;
        switch (schema_form(type)) {
        case SCHEMA_STRUCT:
        case SCHEMA_MAP:
                return compare_granular(type, VALUE_MAP, l, r, a);
        case SCHEMA_LIST_SET:
        case SCHEMA_LIST_MAP:
                return compare_granular(type, VALUE_LIST, l, r, a);
        case SCHEMA_DEDUCED:
                return compare_deduced(type, l, r, a);
        default:
                mark_leaf(&t, l, r);
                return t;
        }
}

static const struct fieldset *boxed(struct fieldset set, struct arena *a) {
        struct fieldset *box = arena_alloc(a, sizeof *box);

        set.member = false; /* nobody owns the whole object */
        *box = set;
        return box;
}

struct ssa_comparison ssa_compare(const struct schema *type, const struct value *from, const struct value *to,
                                  struct arena *a) {
        struct triple t = compare_node(type, from, to, a);

        return (struct ssa_comparison){
                .added = boxed(t.added, a),
                .modified = boxed(t.modified, a),
                .removed = boxed(t.removed, a),
        };
}
