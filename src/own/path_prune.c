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

/* What is walked, beside what the live object has there. */
struct spot {
        const struct value *v, *live;
        const struct schema *type;
        bool is_member; /* of a map with free keys */
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

static const struct value *prune_at(const struct pruning *p, struct spot at, struct bunch b, size_t depth);

static bool has_free_keys(const struct schema *map, struct str key) {
        enum schema_form form = schema_form(map);

        return form == SCHEMA_MAP || form == SCHEMA_DEDUCED ||
               (form == SCHEMA_STRUCT && map->item && !schema_declares(map, key));
}

static struct spot spot_of_member(const struct spot *map, const struct value_member *m) {
        return (struct spot){ m->value, value_get(map->live, m->key), schema_field(map->type, m->key),
                              has_free_keys(map->type, m->key) };
}

static const struct value *prune_map(const struct pruning *p, const struct spot *at, struct bunch rest, size_t depth) {
        const struct value *v = at->v;
        struct value_map_builder left = { 0 };
        struct bunch b;
        bool more = next_bunch(&rest, depth, &b), changed = false;

        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];
                const struct value *new = m->value;

                while (more && (element_at(&b, depth)->kind != PATH_FIELD || str_cmp(element_at(&b, depth)->name, m->key) < 0))
                        more = next_bunch(&rest, depth, &b);
                if (more && str_eq(element_at(&b, depth)->name, m->key))
                        new = prune_at(p, spot_of_member(at, m), b, depth + 1);
                if (new)
                        value_map_add(&left, m->key, new, m->line);
                changed |= new != m->value;
        }
        const struct value *map = value_map_end(&left, p->a, v->line);

        return changed ? map : v;
}

static struct spot spot_of_item(const struct spot *list, const struct value *item, const struct path_element *e) {
        return (struct spot){ item, path_item_find(list->live, e, list->type, NULL), schema_item(list->type), false };
}

static const struct value *prune_list(const struct pruning *p, const struct spot *spot, struct bunch rest, size_t depth) {
        const struct value *v = spot->v;
        const struct value **items = arena_alloc(p->a, (v->list.count + 1) * sizeof *items);
        struct value_list_builder left = { 0 };
        struct bunch b;
        bool changed = false;
        size_t at;

        for (size_t i = 0; i < v->list.count; i++)
                items[i] = v->list.items[i];
        while (next_bunch(&rest, depth, &b)) {
                if (element_at(&b, depth)->kind == PATH_FIELD || !path_item_find(v, element_at(&b, depth), spot->type, &at) ||
                    !items[at])
                        continue;
                items[at] = prune_at(p, spot_of_item(spot, items[at], element_at(&b, depth)), b, depth + 1);
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
static bool holds_others(const struct spot *at) {
        return at->is_member && value_is(at->live, VALUE_MAP) && value_count(at->live) > 0 &&
               schema_is_granular(at->type, at->live);
}

static const struct value *prune_at(const struct pruning *p, struct spot at, struct bunch b, size_t depth) {
        const struct value *v = at.v, *new = v;

        if (b.paths[0].count == depth)
                return NULL;
        if (v->kind == VALUE_MAP)
                new = prune_map(p, &at, b, depth);
        else if (v->kind == VALUE_LIST)
                new = prune_list(p, &at, b, depth);

        bool is_item = depth > 0 && b.paths[0].elements[depth - 1].kind != PATH_FIELD;
        bool goes = p->empties_go && new != v && value_count(new) == 0 && depth > 0 && !is_item && !holds_others(&at);

        return goes ? NULL : new;
}

static const struct value *prune(const struct pruning *p, const struct value *root, const struct field_path *paths,
                                 size_t count, const struct schema *type, const struct value *live) {
        struct field_path *sorted = arena_alloc(p->a, (count + 1) * sizeof *sorted);
        size_t n = 0;

        for (size_t i = 0; i < count; i++) {
                if (paths[i].count)
                        sorted[n++] = paths[i];
        }
        if (n == 0)
                return root;
        qsort(sorted, n, sizeof *sorted, cmp_paths);
        return prune_at(p, (struct spot){ root, live, type, false }, (struct bunch){ sorted, n }, 0);
}

const struct value *field_paths_remove(struct arena *a, const struct value *root, const struct field_path *paths,
                                       size_t count, const struct schema *type) {
        return prune(&(struct pruning){ a, false }, root, paths, count, type, NULL);
}

const struct value *field_paths_prune(struct arena *a, const struct value *root, const struct field_path *paths,
                                      size_t count, const struct schema *type) {
        return prune(&(struct pruning){ a, true }, root, paths, count, type, NULL);
}

const struct value *field_paths_leave(struct arena *a, const struct value *root, const struct field_path *paths,
                                      size_t count, const struct schema *type, const struct value *live) {
        return prune(&(struct pruning){ a, true }, root, paths, count, type, live);
}
