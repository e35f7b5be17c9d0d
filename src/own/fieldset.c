/* SPDX-License-Identifier: Apache-2.0 */
#include "own/fieldset.h"

#include "base/json.h"
#include "base/limits.h"

const struct fieldset fieldset_empty = { .member = false };

/* Children being gathered; on the heap until they are copied into an arena. */
struct gather {
        struct fieldset_child *children;
        size_t count, cap;
};

static void gather_add(struct gather *g, struct fieldset_child child) {
        g->children = mem_grow(g->children, &g->cap, g->count + 1, sizeof *g->children);
        g->children[g->count++] = child;
}

static void gather_done(struct gather *g) {
        free(g->children);
}

static struct fieldset gather_end(struct gather *g, struct arena *a, bool member) {
        struct fieldset set = { .member = member, .count = g->count };

        if (g->count) {
                struct fieldset_child *children = arena_alloc(a, g->count * sizeof *children);

                memcpy(children, g->children, g->count * sizeof *children);
                set.children = children;
        }
        return set;
}

static const struct fieldset *boxed(struct arena *a, struct fieldset set) {
        struct fieldset *box = arena_alloc(a, sizeof *box);

        *box = set;
        return box;
}

static int child_cmp(const void *x, const void *y) {
        const struct fieldset_child *a = x, *b = y;

        return path_element_cmp(&a->element, &b->element);
}

static int check_sorted(const struct gather *g, struct err *err) {
        for (size_t i = 1; i < g->count; i++)
                if (child_cmp(&g->children[i - 1], &g->children[i]) == 0)
                        return err_set(err, ERR_PARSE, "a path element occurs twice in one set");
        return 0;
}

static int parse_node(const struct value *fields, struct arena *a, bool is_root, struct fieldset *ret, struct err *err);

static int parse_member(const struct value_member *m, struct arena *a, struct gather *g, bool *member,
                        struct err *err) {
        struct fieldset_child child;
        int res;

        if (str_eqc(m->key, ".")) {
                if (value_count(m->value) != 0 || !value_is(m->value, VALUE_MAP))
                        return err_set(err, ERR_PARSE, "\".\" of a set has content");
                *member = true;
                return 0;
        }
        res = path_element_parse(m->key, a, &child.element, err);
        if (res < 0)
                return res;
        res = parse_node(m->value, a, false, &child.set, err);
        if (res < 0)
                return res;
        gather_add(g, child);
        return 0;
}

static int parse_node(const struct value *fields, struct arena *a, bool is_root, struct fieldset *ret,
                      struct err *err) {
        _cleanup_(gather_done) struct gather g = { 0 };
        bool member = false;
        int res = 0;

        if (!value_is(fields, VALUE_MAP))
                return err_set(err, ERR_PARSE, "a node of a set is a %s, not a map", value_kind_name(fields->kind));
        for (size_t i = 0; res >= 0 && i < fields->map.count; i++)
                res = parse_member(&fields->map.members[i], a, &g, &member, err);
        if (res < 0)
                return res;
        if (g.count)
                qsort(g.children, g.count, sizeof *g.children, child_cmp);
        res = check_sorted(&g, err);
        if (res < 0)
                return res;
        *ret = gather_end(&g, a, !is_root && (member || g.count == 0));
        return 0;
}

int fieldset_parse(const struct value *fields, struct arena *a, const struct fieldset **ret_set, struct err *err) {
        struct fieldset root = { 0 };
        int res = fields && fields->kind != VALUE_NULL ? parse_node(fields, a, true, &root, err) : 0;

        if (res < 0)
                return res;
        *ret_set = boxed(a, root);
        return 0;
}

int fieldset_parse_text(struct str text, struct arena *a, const struct fieldset **ret_set, struct err *err) {
        const struct value *fields;
        int res = json_parse(text, a, &fields, err);

        return res < 0 ? res : fieldset_parse(fields, a, ret_set, err);
}

void fieldset_print(const struct fieldset *set, struct buf *out) {
        _cleanup_(buf_done) struct buf name = buf_make(out->max);

        buf_addch(out, '{');
        if (set->member && set->count)
                buf_addc(out, "\".\":{}");
        for (size_t i = 0; i < set->count; i++) {
                if (i || set->member)
                        buf_addch(out, ',');
                buf_clear(&name);
                path_element_spell(&set->children[i].element, &name);
                value_print_string(buf_str(&name), out);
                buf_addch(out, ':');
                fieldset_print(&set->children[i].set, out);
        }
        buf_addch(out, '}');
}

struct str fieldset_text(struct arena *a, const struct fieldset *set) {
        _cleanup_(buf_done) struct buf b = buf_make(KUBE_MAX_OBJECT_BYTES);

        fieldset_print(set, &b);
        return arena_str(a, buf_str(&b));
}

const struct value *fieldset_to_value(struct arena *a, const struct fieldset *set) {
        struct value_map_builder b = { 0 };

        if (set->member && set->count)
                value_map_add(&b, STR("."), &value_empty_map, 0);
        for (size_t i = 0; i < set->count; i++) {
                _cleanup_(buf_done) struct buf name = buf_make(KUBE_MAX_OBJECT_BYTES);

                path_element_spell(&set->children[i].element, &name);
                value_map_add(&b, arena_str(a, buf_str(&name)), fieldset_to_value(a, &set->children[i].set), 0);
        }
        return value_map_end(&b, a, 0);
}

bool fieldset_is_empty(const struct fieldset *set) {
        return !set || (set->count == 0 && !set->member);
}

bool fieldset_equal(const struct fieldset *a, const struct fieldset *b) {
        if (a->member != b->member || a->count != b->count)
                return false;
        if (a->children == b->children)
                return true;
        for (size_t i = 0; i < a->count; i++) {
                if (child_cmp(&a->children[i], &b->children[i]) != 0)
                        return false;
                if (!fieldset_equal(&a->children[i].set, &b->children[i].set))
                        return false;
        }
        return true;
}

struct hash128 fieldset_hash(const struct hash_key *key, const struct fieldset *set) {
        _cleanup_(buf_done) struct buf b = buf_make(KUBE_MAX_OBJECT_BYTES);

        fieldset_print(set, &b);
        return hash128(key, buf_str(&b));
}

enum combine_op {
        COMBINE_UNION,
        COMBINE_INTERSECT,
        COMBINE_SUBTRACT,
};

static bool combine_member(enum combine_op op, bool x, bool y) {
        switch (op) {
        case COMBINE_UNION:
                return x || y;
        case COMBINE_INTERSECT:
                return x && y;
        default:
                return x && !y;
        }
}

static struct fieldset combine(struct arena *a, enum combine_op op, const struct fieldset *x,
                               const struct fieldset *y) {
        _cleanup_(gather_done) struct gather g = { 0 };
        size_t i = 0, j = 0;

        while (i < x->count || j < y->count) {
                int order = i == x->count ? 1 : j == y->count ? -1 : child_cmp(&x->children[i], &y->children[j]);

                if (order < 0) {
                        if (op != COMBINE_INTERSECT)
                                gather_add(&g, x->children[i]);
                        i++;
                } else if (order > 0) {
                        if (op == COMBINE_UNION)
                                gather_add(&g, y->children[j]);
                        j++;
                } else {
                        struct fieldset_child both = { x->children[i].element,
                                                       combine(a, op, &x->children[i].set, &y->children[j].set) };

                        if (!fieldset_is_empty(&both.set))
                                gather_add(&g, both);
                        i++, j++;
                }
        }
        return gather_end(&g, a, combine_member(op, x->member, y->member));
}

const struct fieldset *fieldset_union(struct arena *a, const struct fieldset *x, const struct fieldset *y) {
        return boxed(a, combine(a, COMBINE_UNION, x, y));
}

const struct fieldset *fieldset_intersect(struct arena *a, const struct fieldset *x, const struct fieldset *y) {
        return boxed(a, combine(a, COMBINE_INTERSECT, x, y));
}

const struct fieldset *fieldset_subtract(struct arena *a, const struct fieldset *x, const struct fieldset *y) {
        return boxed(a, combine(a, COMBINE_SUBTRACT, x, y));
}

const struct fieldset *fieldset_child(const struct fieldset *set, const struct path_element *e) {
        size_t from = 0, to = set->count;

        while (from < to) {
                size_t mid = from + (to - from) / 2;
                int order = path_element_cmp(&set->children[mid].element, e);

                if (order == 0)
                        return &set->children[mid].set;
                if (order < 0)
                        from = mid + 1;
                else
                        to = mid;
        }
        return NULL;
}

const struct fieldset *fieldset_at(const struct fieldset *set, struct field_path p) {
        for (size_t i = 0; set && i < p.count; i++)
                set = fieldset_child(set, &p.elements[i]);
        return set;
}

bool fieldset_contains(const struct fieldset *set, struct field_path p) {
        const struct fieldset *node = fieldset_at(set, p);

        return node && node->member;
}

bool fieldset_touches(const struct fieldset *set, struct field_path p) {
        const struct fieldset *node = fieldset_at(set, p);

        return node && !fieldset_is_empty(node);
}

/* Is the owner of this node alone, which holds the element, not the owner of that? */
static bool is_granular(const struct schema *type, const struct path_element *e) {
        switch (schema_form(type)) {
        case SCHEMA_STRUCT:
        case SCHEMA_MAP:
        case SCHEMA_LIST_SET:
        case SCHEMA_LIST_MAP:
                return true;
        case SCHEMA_DEDUCED:
                return e->kind == PATH_FIELD;
        default:
                return false;
        }
}

bool fieldset_covers(const struct fieldset *set, const struct schema *type, struct field_path p) {
        for (size_t i = 0; set && i < p.count; i++) {
                const struct path_element *e = &p.elements[i];

                if (set->member && set->count == 0)
                        return !is_granular(type, e);
                set = fieldset_child(set, e);
                type = e->kind == PATH_FIELD ? schema_field(type, e->name) : schema_item(type);
        }
        return set && set->member;
}

/* A set with nothing but `node` at the path. */
static struct fieldset chain(struct arena *a, struct field_path p, struct fieldset node) {
        for (size_t i = p.count; i-- > 0;) {
                struct fieldset_child *child = arena_alloc(a, sizeof *child);

                *child = (struct fieldset_child){ p.elements[i], node };
                node = (struct fieldset){ .children = child, .count = 1 };
        }
        return node;
}

static struct fieldset single(struct arena *a, struct field_path p) {
        return chain(a, p, (struct fieldset){ .member = p.count > 0 });
}

const struct fieldset *fieldset_insert(struct arena *a, const struct fieldset *set, struct field_path p) {
        struct fieldset one = single(a, p);

        return fieldset_union(a, set, &one);
}

const struct fieldset *fieldset_remove(struct arena *a, const struct fieldset *set, struct field_path p) {
        struct fieldset one = single(a, p);

        return fieldset_subtract(a, set, &one);
}

const struct fieldset *fieldset_under(struct arena *a, const struct fieldset *set, struct field_path p) {
        const struct fieldset *node = fieldset_at(set, p);

        return node && !fieldset_is_empty(node) ? boxed(a, chain(a, p, *node)) : &fieldset_empty;
}

const struct fieldset *fieldset_without(struct arena *a, const struct fieldset *set, struct field_path p) {
        return fieldset_subtract(a, set, fieldset_under(a, set, p));
}

size_t fieldset_count(const struct fieldset *set) {
        size_t count = set->member;

        for (size_t i = 0; i < set->count; i++)
                count += fieldset_count(&set->children[i].set);
        return count;
}

struct lister {
        struct arena *arena;
        struct field_path *paths;
        size_t count;
};

static void list_paths(struct lister *l, const struct fieldset *set, struct field_path at) {
        if (set->member)
                l->paths[l->count++] = at;
        for (size_t i = 0; i < set->count; i++)
                list_paths(l, &set->children[i].set, field_path_join(l->arena, at, set->children[i].element));
}

size_t fieldset_paths(const struct fieldset *set, struct arena *a, const struct field_path **ret_paths) {
        struct lister l = { .arena = a, .paths = arena_alloc(a, fieldset_count(set) * sizeof *l.paths) };

        list_paths(&l, set, (struct field_path){ 0 });
        *ret_paths = l.paths;
        return l.count;
}

static const char *const stripped_metadata[] = {
        "name",     "namespace",         "uid",         "generation",    "resourceVersion",
        "selfLink", "creationTimestamp", "clusterName", "managedFields",
};

static bool is_stripped_metadata(struct str name) {
        for (size_t i = 0; i < ARRAY_LEN(stripped_metadata); i++)
                if (str_eqc(name, stripped_metadata[i]))
                        return true;
        return false;
}

bool fieldset_is_stripped(struct field_path p) {
        if (p.count == 0 || p.elements[0].kind != PATH_FIELD)
                return false;
        struct str first = p.elements[0].name;

        if (p.count == 1)
                return str_eqc(first, "apiVersion") || str_eqc(first, "kind") || str_eqc(first, "metadata");
        return str_eqc(first, "metadata") && p.elements[1].kind == PATH_FIELD &&
               is_stripped_metadata(p.elements[1].name);
}

const struct fieldset *fieldset_strip(struct arena *a, const struct fieldset *set) {
        struct path_element two[2] = { path_field(STR("metadata")) };
        struct field_path top = { two, 1 };

        for (size_t i = 0; i < ARRAY_LEN(stripped_metadata); i++) {
                two[1] = path_field(str_from(stripped_metadata[i]));
                set = fieldset_without(a, set, (struct field_path){ two, 2 });
        }
        set = fieldset_remove(a, set, top);
        two[0] = path_field(STR("apiVersion"));
        set = fieldset_without(a, set, top);
        two[0] = path_field(STR("kind"));
        return fieldset_without(a, set, top);
}

struct collector {
        struct arena *arena;
        bool exact;
};

static struct fieldset collect(struct collector *c, const struct value *v, const struct schema *type);

static void collect_field(struct collector *c, const struct value_member *m, const struct schema *type,
                          struct gather *g) {
        struct fieldset set = collect(c, m->value, schema_field(type, m->key));
        bool empty_map = value_is(m->value, VALUE_MAP) && m->value->map.count == 0;
        enum schema_form form = schema_form(type);
        bool free_key = form == SCHEMA_MAP || form == SCHEMA_DEDUCED ||
                        (form == SCHEMA_STRUCT && type->item && !schema_declares(type, m->key));

        if (value_is(m->value, VALUE_NULL) || empty_map || free_key)
                set.member = true;
        if (!fieldset_is_empty(&set))
                gather_add(g, (struct fieldset_child){ path_field(m->key), set });
}

static void collect_item(struct collector *c, const struct value *item, size_t at, const struct schema *type,
                         struct gather *g) {
        struct fieldset_child child = { .element = { .kind = PATH_INDEX, .index = (int64_t)at } };

        if (!path_item_element(item, type, c->arena, &child.element))
                c->exact = false;
        child.set = collect(c, item, schema_item(type));
        child.set.member = true;
        gather_add(g, child);
}

/* Of items with one key the server keeps one, owned as a whole. */
static void drop_repeated(struct gather *g) {
        size_t out = 0;

        for (size_t i = 0; i < g->count; i++) {
                if (out > 0 && child_cmp(&g->children[out - 1], &g->children[i]) == 0)
                        g->children[out - 1].set = (struct fieldset){ .member = true };
                else
                        g->children[out++] = g->children[i];
        }
        g->count = out;
}

static struct fieldset collect(struct collector *c, const struct value *v, const struct schema *type) {
        _cleanup_(gather_done) struct gather g = { 0 };
        bool composite = v->kind == VALUE_MAP || v->kind == VALUE_LIST;

        if (!composite || schema_is_atomic(type, v))
                return (struct fieldset){ .member = v->kind != VALUE_NULL || schema_is_atomic(type, v) };
        if (!schema_is_granular(type, v)) {
                c->exact = c->exact && value_count(v) == 0 && v->kind == VALUE_MAP;
                if (v->kind == VALUE_LIST)
                        return (struct fieldset){ .member = true };
        }
        for (size_t i = 0; v->kind == VALUE_MAP && i < v->map.count; i++)
                collect_field(c, &v->map.members[i], type, &g);
        for (size_t i = 0; v->kind == VALUE_LIST && i < v->list.count; i++)
                collect_item(c, v->list.items[i], i, type, &g);
        if (g.count)
                qsort(g.children, g.count, sizeof *g.children, child_cmp);
        drop_repeated(&g);
        return gather_end(&g, c->arena, false);
}

const struct fieldset *fieldset_of_value(const struct value *object, const struct schema *type, struct arena *a,
                                         bool *ret_exact) {
        struct collector c = { .arena = a, .exact = true };
        struct fieldset set = object ? collect(&c, object, type) : fieldset_empty;

        if (ret_exact)
                *ret_exact = c.exact;
        set.member = false;
        return fieldset_strip(a, boxed(a, set));
}

const struct fieldset *fieldset_of_all(const struct value *object, const struct schema *type, struct arena *a) {
        struct collector c = { .arena = a };
        struct fieldset set = object ? collect(&c, object, type) : fieldset_empty;

        set.member = false;
        return boxed(a, set);
}
