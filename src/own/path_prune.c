/* SPDX-License-Identifier: Apache-2.0 */
/* Many paths leave an object in one walk: path by path each would copy the map that it stands in, thousands of times. */
#include "own/path.h"

#include <stdlib.h>

static int cmp_paths(const void *x, const void *y) {
        const struct field_path *a = x, *b = y;

        for (size_t i = 0; i < a->count && i < b->count; i++) {
                int order = path_element_cmp(&a->elements[i], &b->elements[i]);

                if (order)
                        return order;
        }
        return (a->count > b->count) - (a->count < b->count);
}

struct pruning {
        struct arena *a;
        bool empties_go; /* with what they held */
};

/* Sorted paths that have their first elements in common. */
struct bunch {
        const struct field_path *paths;
        size_t count;
};

static const struct path_element *element_at(const struct bunch *b, size_t depth) {
        return &b->paths[0].elements[depth];
}

/* Takes the paths that go on alike at this depth from the front; false: there are none left. */
static bool next_bunch(struct bunch *rest, size_t depth, struct bunch *ret) {
        size_t n = 1;

        if (rest->count == 0)
                return false;
        while (n < rest->count &&
               path_element_cmp(element_at(rest, depth), &rest->paths[n].elements[depth]) == 0)
                n++;
        *ret = (struct bunch){ rest->paths, n };
        rest->paths += n;
        rest->count -= n;
        return true;
}

static const struct value *prune_at(const struct pruning *p, const struct value *v, struct bunch b, size_t depth,
                                    const struct schema *type);

static const struct value *prune_map(const struct pruning *p, const struct value *v, struct bunch rest, size_t depth,
                                     const struct schema *type) {
        struct value_map_builder left = { 0 };
        struct bunch b;
        bool more = next_bunch(&rest, depth, &b), changed = false;

        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];
                const struct value *new = m->value;

                while (more && (element_at(&b, depth)->kind != PATH_FIELD || str_cmp(element_at(&b, depth)->name, m->key) < 0))
                        more = next_bunch(&rest, depth, &b);
                if (more && str_eq(element_at(&b, depth)->name, m->key))
                        new = prune_at(p, m->value, b, depth + 1, schema_field(type, m->key));
                if (new)
                        value_map_add(&left, m->key, new, m->line);
                changed |= new != m->value;
        }
        const struct value *map = value_map_end(&left, p->a, v->line);

        return changed ? map : v;
}

static const struct value *prune_list(const struct pruning *p, const struct value *v, struct bunch rest, size_t depth,
                                      const struct schema *type) {
        const struct value **items = arena_alloc(p->a, (v->list.count + 1) * sizeof *items);
        struct value_list_builder left = { 0 };
        struct bunch b;
        bool changed = false;
        size_t at;

        for (size_t i = 0; i < v->list.count; i++)
                items[i] = v->list.items[i];
        while (next_bunch(&rest, depth, &b)) {
                if (element_at(&b, depth)->kind == PATH_FIELD || !path_item_find(v, element_at(&b, depth), type, &at) ||
                    !items[at])
                        continue;
                items[at] = prune_at(p, items[at], b, depth + 1, schema_item(type));
                changed |= items[at] != v->list.items[at];
        }
        if (!changed)
                return v;
        for (size_t i = 0; i < v->list.count; i++)
                if (items[i])
                        value_list_add(&left, items[i]);
        return value_list_end(&left, p->a, v->line);
}

/* What is left of `v`, which the first `depth` elements of all the paths name; NULL: nothing. */
static const struct value *prune_at(const struct pruning *p, const struct value *v, struct bunch b, size_t depth,
                                    const struct schema *type) {
        const struct value *new = v;

        if (b.paths[0].count == depth)
                return NULL;
        if (v->kind == VALUE_MAP)
                new = prune_map(p, v, b, depth, type);
        else if (v->kind == VALUE_LIST)
                new = prune_list(p, v, b, depth, type);

        bool is_item = depth > 0 && b.paths[0].elements[depth - 1].kind != PATH_FIELD;
        return p->empties_go && new != v && value_count(new) == 0 && depth > 0 && !is_item ? NULL : new;
}

static const struct value *prune(const struct pruning *p, const struct value *root, const struct field_path *paths,
                                 size_t count, const struct schema *type) {
        struct field_path *sorted = arena_alloc(p->a, (count + 1) * sizeof *sorted);
        size_t n = 0;

        for (size_t i = 0; i < count; i++) {
                if (paths[i].count)
                        sorted[n++] = paths[i];
        }
        if (n == 0)
                return root;
        qsort(sorted, n, sizeof *sorted, cmp_paths);
        return prune_at(p, root, (struct bunch){ sorted, n }, 0, type);
}

const struct value *field_paths_remove(struct arena *a, const struct value *root, const struct field_path *paths,
                                       size_t count, const struct schema *type) {
        return prune(&(struct pruning){ a, false }, root, paths, count, type);
}

const struct value *field_paths_prune(struct arena *a, const struct value *root, const struct field_path *paths,
                                      size_t count, const struct schema *type) {
        return prune(&(struct pruning){ a, true }, root, paths, count, type);
}
