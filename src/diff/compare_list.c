/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/align.h"
#include "diff/compare_impl.h"

/* An item with the element it is filed under. */
struct filed {
        struct path_element element;
        const struct value *item;
        size_t at;
        bool met; /* on the other side too */
};

static int filed_cmp(const void *x, const void *y) {
        return path_element_cmp(&((const struct filed *)x)->element, &((const struct filed *)y)->element);
}

/* Files all items, sorted by element. NULL when one cannot be filed or two are filed alike. */
static struct filed *file_items(const struct walk *w, const struct value *list, const struct schema *type) {
        size_t count = list->list.count;
        struct filed *filed = arena_zalloc(w->arena, count * sizeof *filed);

        for (size_t i = 0; i < count; i++) {
                filed[i].item = list->list.items[i];
                filed[i].at = i;
                if (!path_item_element(filed[i].item, type, w->arena, &filed[i].element))
                        return NULL;
        }
        qsort(filed, count, sizeof *filed, filed_cmp);
        for (size_t i = 1; i < count; i++)
                if (filed_cmp(&filed[i - 1], &filed[i]) == 0)
                        return NULL;
        return filed;
}

/* Do the items both lists have stand in another order? `to` holds, by place, the place in the other list. */
static bool is_reordered(const size_t *to, size_t count) {
        size_t last = 0;
        bool any = false;

        for (size_t i = 0; i < count; i++) {
                if (to[i] == ALIGN_NONE)
                        continue;
                if (any && to[i] < last)
                        return true;
                last = to[i];
                any = true;
        }
        return false;
}

struct meeting {
        const struct value *before, *after;
        const struct filed **before_at, **after_at; /* by place */
        size_t *to;                                 /* for each item of after its place in before, or ALIGN_NONE */
};

static const struct filed **by_place(struct arena *a, const struct filed *filed, size_t count) {
        const struct filed **places = arena_alloc(a, count * sizeof *places);

        for (size_t i = 0; i < count; i++)
                places[filed[i].at] = &filed[i];
        return places;
}

static bool meet(const struct walk *w, struct meeting *m, const struct schema *type) {
        size_t n = m->before->list.count, k = m->after->list.count;
        struct filed *x = file_items(w, m->before, type), *y = x ? file_items(w, m->after, type) : NULL;

        if (!x || !y)
                return false;
        m->to = arena_alloc(w->arena, k * sizeof *m->to);
        for (size_t j = 0; j < k; j++) {
                struct filed *same = bsearch(&y[j], x, n, sizeof *x, filed_cmp);

                m->to[y[j].at] = same ? same->at : ALIGN_NONE;
                if (same)
                        same->met = true;
        }
        m->before_at = by_place(w->arena, x, n);
        m->after_at = by_place(w->arena, y, k);
        return true;
}

static bool walk_by_element(struct walk *w, const struct value *before, const struct value *after,
                            const struct schema *type) {
        struct meeting m = { .before = before, .after = after };
        const struct schema *item_type = schema_item(type);

        if (!meet(w, &m, type))
                return false;
        if (is_reordered(m.to, after->list.count))
                walk_emit(w, DIFF_REORDERED, before, after);
        for (size_t j = 0; j < after->list.count; j++) {
                const struct value *old = m.to[j] == ALIGN_NONE ? NULL : before->list.items[m.to[j]];

                walk_step(w, m.after_at[j]->element, old, m.after_at[j]->item, item_type);
        }
        for (size_t i = 0; i < before->list.count; i++)
                if (!m.before_at[i]->met)
                        walk_step(w, m.before_at[i]->element, m.before_at[i]->item, NULL, item_type);
        return true;
}

static int value_order(const void *x, const void *y) {
        return value_cmp(*(const struct value *const *)x, *(const struct value *const *)y);
}

static const struct value **sorted_items(struct arena *a, const struct value *list) {
        const struct value **items = arena_alloc(a, list->list.count * sizeof *items);

        if (list->list.count)
                memcpy(items, list->list.items, list->list.count * sizeof *items);
        qsort(items, list->list.count, sizeof *items, value_order);
        return items;
}

static bool same_items(struct arena *a, const struct value *x, const struct value *y) {
        if (x->list.count != y->list.count)
                return false;
        const struct value **p = sorted_items(a, x), **q = sorted_items(a, y);
        for (size_t i = 0; i < x->list.count; i++)
                if (!value_equal(p[i], q[i]))
                        return false;
        return true;
}

struct lists {
        const struct value *before, *after;
};

static bool items_equal(const void *ctx, size_t i, size_t j) {
        const struct lists *l = ctx;

        return value_equal(l->before->list.items[i], l->after->list.items[j]);
}

static struct path_element index_step(size_t at) {
        return (struct path_element){ .kind = PATH_INDEX, .index = (int64_t)at };
}

/* Between two items that are the same: what stands there on each side is paired in order, the rest comes or goes. */
static void walk_gap(struct walk *w, const struct lists *l, size_t i, size_t i_end, size_t j, size_t j_end) {
        for (; i < i_end && j < j_end; i++, j++)
                walk_step(w, index_step(j), l->before->list.items[i], l->after->list.items[j], NULL);
        for (; j < j_end; j++)
                walk_step(w, index_step(j), NULL, l->after->list.items[j], NULL);
        for (; i < i_end; i++)
                walk_step(w, index_step(i), l->before->list.items[i], NULL, NULL);
}

static void walk_by_place(struct walk *w, const struct lists *l) {
        size_t n = l->before->list.count, m = l->after->list.count;
        const size_t *to;

        if (same_items(w->arena, l->before, l->after)) {
                walk_emit(w, DIFF_REORDERED, l->before, l->after);
                return;
        }
        to = align(n, m, items_equal, l, w->arena);
        for (size_t i = 0, j = 0; i < n || j < m; i++, j++) {
                size_t i_end = i;

                while (i_end < n && to[i_end] == ALIGN_NONE)
                        i_end++;
                size_t j_end = i_end < n ? to[i_end] : m;
                walk_gap(w, l, i, i_end, j, j_end);
                i = i_end;
                j = j_end;
        }
}

/* The set at the path in one manager's entry, if it names items there. */
static bool add_keys(const struct fieldset *set, struct schema_key *keys, struct schema *type) {
        for (size_t i = 0; i < set->count; i++) {
                const struct path_element *e = &set->children[i].element;
                enum schema_form form = e->kind == PATH_KEY ? SCHEMA_LIST_MAP : SCHEMA_LIST_SET;

                if ((e->kind != PATH_KEY && e->kind != PATH_VALUE) ||
                    (type->form != SCHEMA_UNKNOWN && type->form != form))
                        return false;
                type->form = form;
                for (size_t k = 0; e->kind == PATH_KEY && k < e->value->map.count; k++) {
                        struct str name = e->value->map.members[k].key;
                        size_t at = 0;

                        while (at < type->key_count && !str_eq(keys[at].name, name))
                                at++;
                        if (at == SCHEMA_MAX_KEYS)
                                return false;
                        if (at == type->key_count)
                                keys[type->key_count++] = (struct schema_key){ .name = name };
                }
        }
        return true;
}

static bool add_keys_of(const struct walk *w, const struct managed *m, struct schema_key *keys, struct schema *type) {
        for (size_t i = 0; i < m->count; i++) {
                const struct fieldset *set = m->entries[i].set ? fieldset_at(m->entries[i].set, walk_path(w)) : NULL;

                if (set && !add_keys(set, keys, type))
                        return false;
        }
        return true;
}

static int key_cmp(const void *x, const void *y) {
        return str_cmp(((const struct schema_key *)x)->name, ((const struct schema_key *)y)->name);
}

bool walk_guess_keys(const struct walk *w, struct schema *ret_type) {
        struct schema_key *keys = arena_zalloc(w->arena, SCHEMA_MAX_KEYS * sizeof *keys);
        struct schema type = { .form = SCHEMA_UNKNOWN };

        if (!add_keys_of(w, &w->before_owners, keys, &type) || !add_keys_of(w, &w->after_owners, keys, &type) ||
            type.form == SCHEMA_UNKNOWN)
                return false;
        qsort(keys, type.key_count, sizeof *keys, key_cmp);
        type.keys = keys;
        *ret_type = type;
        return true;
}

static bool all_have_names(const struct value *list) {
        for (size_t i = 0; i < list->list.count; i++)
                if (!value_is(value_getc(list->list.items[i], "name"), VALUE_STRING))
                        return false;
        return true;
}

void walk_lists(struct walk *w, const struct value *before, const struct value *after, const struct schema *type) {
        static const struct schema_key name_key = { .name = { "name", 4 } };
        static const struct schema named = { .form = SCHEMA_LIST_MAP, .keys = &name_key, .key_count = 1 };
        const struct lists lists = { before, after };
        enum schema_form form = schema_form(type);
        struct schema guessed;

        if ((form == SCHEMA_LIST_MAP || form == SCHEMA_LIST_SET) && walk_by_element(w, before, after, type))
                return;
        if (form == SCHEMA_UNKNOWN && walk_guess_keys(w, &guessed) && walk_by_element(w, before, after, &guessed))
                return;
        if (all_have_names(before) && all_have_names(after) && walk_by_element(w, before, after, &named))
                return;
        walk_by_place(w, &lists);
}
