/* SPDX-License-Identifier: Apache-2.0 */
#include "own/path.h"

#include "base/json.h"
#include "base/limits.h"

struct path_element path_field(struct str name) {
        return (struct path_element){ .kind = PATH_FIELD, .name = name };
}

/* structured-merge-diff's order of kinds. The last three occur in refused objects only, and null in their keys. */
static int kind_rank(const struct value *v) {
        switch (v->kind) {
        case VALUE_INT:
        case VALUE_UINT:
        case VALUE_DECIMAL:
                return 0;
        case VALUE_STRING:
                return 1;
        case VALUE_BOOL:
                return 2;
        case VALUE_LIST:
                return 3;
        case VALUE_MAP:
                return 4;
        default:
                return 5;
        }
}

static int scalar_cmp(const struct value *a, const struct value *b) {
        int order = kind_rank(a) - kind_rank(b);

        return order ? order : value_cmp(a, b);
}

static int key_cmp(const struct value *a, const struct value *b) {
        size_t count = a->map.count < b->map.count ? a->map.count : b->map.count;

        for (size_t i = 0; i < count; i++) {
                int order = str_cmp(a->map.members[i].key, b->map.members[i].key);

                if (!order)
                        order = scalar_cmp(a->map.members[i].value, b->map.members[i].value);
                if (order)
                        return order;
        }
        return (a->map.count > b->map.count) - (a->map.count < b->map.count);
}

int path_element_cmp(const struct path_element *a, const struct path_element *b) {
        if (a->kind != b->kind)
                return a->kind < b->kind ? -1 : 1;
        switch (a->kind) {
        case PATH_FIELD:
                return str_cmp(a->name, b->name);
        case PATH_KEY:
                return key_cmp(a->value, b->value);
        case PATH_VALUE:
                return scalar_cmp(a->value, b->value);
        default:
                return (a->index > b->index) - (a->index < b->index);
        }
}

bool field_path_covers(struct field_path a, struct field_path b) {
        if (a.count > b.count)
                return false;
        for (size_t i = 0; i < a.count; i++)
                if (path_element_cmp(&a.elements[i], &b.elements[i]) != 0)
                        return false;
        return true;
}

bool field_path_equal(struct field_path a, struct field_path b) {
        return a.count == b.count && field_path_covers(a, b);
}

static bool is_scalar(const struct value *v) {
        return v->kind != VALUE_NULL && v->kind != VALUE_LIST && v->kind != VALUE_MAP;
}

static bool is_key(const struct value *v) {
        if (v->kind != VALUE_MAP || v->map.count == 0)
                return false;
        for (size_t i = 0; i < v->map.count; i++)
                if (!is_scalar(v->map.members[i].value) && v->map.members[i].value->kind != VALUE_NULL)
                        return false;
        return true;
}

static int parse_json_element(struct str text, enum path_kind kind, struct arena *a, struct path_element *ret,
                              struct err *err) {
        const struct value *v;
        int res = json_parse(str_sub(text, 2, text.n), a, &v, err);

        if (res < 0)
                return err_wrap(err, res, "path element");
        if (kind == PATH_KEY ? !is_key(v) : !is_scalar(v))
                return err_set(err, ERR_PARSE, "path element \"%.*s\" is neither a key nor a scalar", STR_FMT(text));
        *ret = (struct path_element){ .kind = kind, .value = v };
        return 0;
}

int path_element_parse(struct str text, struct arena *a, struct path_element *ret_element, struct err *err) {
        int64_t index;

        if (str_starts(text, STR("f:"))) {
                *ret_element = path_field(str_sub(text, 2, text.n));
                return 0;
        }
        if (str_starts(text, STR("k:")))
                return parse_json_element(text, PATH_KEY, a, ret_element, err);
        if (str_starts(text, STR("v:")))
                return parse_json_element(text, PATH_VALUE, a, ret_element, err);
        if (str_starts(text, STR("i:")) && str_to_i64(str_sub(text, 2, text.n), &index)) {
                *ret_element = (struct path_element){ .kind = PATH_INDEX, .index = index };
                return 0;
        }
        return err_set(err, ERR_PARSE, "unknown path element \"%.*s\"", STR_FMT(text));
}

void path_element_spell(const struct path_element *e, struct buf *out) {
        switch (e->kind) {
        case PATH_FIELD:
                buf_addc(out, "f:");
                buf_add(out, e->name);
                return;
        case PATH_KEY:
                buf_addc(out, "k:");
                value_print_go(e->value, out);
                return;
        case PATH_VALUE:
                buf_addc(out, "v:");
                value_print_go(e->value, out);
                return;
        case PATH_INDEX:
                buf_addf(out, "i:%lld", (long long)e->index);
        }
}

int field_path_from_dotted(struct str text, struct arena *a, struct field_path *ret_path, struct err *err) {
        struct str rest = str_starts(text, STR(".")) ? str_sub(text, 1, text.n) : text, part;
        struct field_path p = { 0 };

        if (rest.n == 0 || str_ends(rest, STR(".")) || str_find(rest, '[', 0) >= 0)
                return err_set(err, ERR_INVAL, "\"%.*s\" is no dotted path of fields", STR_FMT(text));
        while (str_next(&rest, '.', &part)) {
                if (part.n == 0)
                        return err_set(err, ERR_INVAL, "\"%.*s\" has an empty name", STR_FMT(text));
                p = field_path_join(a, p, path_field(arena_str(a, part)));
        }
        *ret_path = p;
        return 0;
}

struct field_path field_path_join(struct arena *a, struct field_path parent, struct path_element last) {
        struct path_element *elements = arena_alloc(a, (parent.count + 1) * sizeof *elements);

        if (parent.count)
                memcpy(elements, parent.elements, parent.count * sizeof *elements);
        elements[parent.count] = last;
        return (struct field_path){ elements, parent.count + 1 };
}

bool field_path_has_index(struct field_path p) {
        for (size_t i = 0; i < p.count; i++)
                if (p.elements[i].kind == PATH_INDEX)
                        return true;
        return false;
}

struct field_path field_path_dup(struct arena *a, struct field_path p) {
        struct path_element *elements = arena_alloc(a, p.count * sizeof *elements);

        for (size_t i = 0; i < p.count; i++) {
                elements[i] = p.elements[i];
                elements[i].name = arena_str(a, p.elements[i].name);
                elements[i].value = p.elements[i].value ? value_dup(a, p.elements[i].value) : NULL;
        }
        return (struct field_path){ elements, p.count };
}

/* structured-merge-diff's ToString. A key that is no scalar occurs in refused objects only. */
static void print_part(const struct value *v, struct buf *out) {
        if (v->kind == VALUE_LIST)
                buf_addch(out, '[');
        for (size_t i = 0; v->kind == VALUE_LIST && i < v->list.count; i++) {
                if (i)
                        buf_addch(out, ',');
                print_part(v->list.items[i], out);
        }
        for (size_t i = 0; v->kind == VALUE_MAP && i < v->map.count; i++) {
                buf_add(out, v->map.members[i].key);
                buf_addch(out, '=');
                print_part(v->map.members[i].value, out);
        }
        if (v->kind == VALUE_LIST)
                buf_addch(out, ']');
        else if (v->kind != VALUE_MAP)
                value_print(v, out);
}

static void print_key(const struct value *key, bool names, struct buf *out) {
        for (size_t i = 0; i < key->map.count; i++) {
                const struct value_member *m = &key->map.members[i];

                if (i)
                        buf_addch(out, ',');
                if (names) {
                        buf_add(out, m->key);
                        buf_addch(out, '=');
                }
                if (!names && m->value->kind == VALUE_STRING)
                        buf_add(out, m->value->text);
                else
                        print_part(m->value, out);
        }
}

static void print_element(const struct path_element *e, bool full, struct buf *out) {
        if (e->kind == PATH_FIELD) {
                buf_addch(out, '.');
                buf_add(out, e->name);
                return;
        }
        buf_addch(out, '[');
        if (e->kind == PATH_KEY)
                print_key(e->value, full, out);
        else if (e->kind == PATH_INDEX)
                buf_addf(out, "%lld", (long long)e->index);
        else if (full)
                buf_addch(out, '='), value_print(e->value, out);
        else if (e->value->kind == VALUE_STRING)
                buf_add(out, e->value->text);
        else
                value_print(e->value, out);
        buf_addch(out, ']');
}

void field_path_print(struct field_path p, struct buf *out) {
        for (size_t i = 0; i < p.count; i++)
                print_element(&p.elements[i], true, out);
}

struct str field_path_text(struct arena *a, struct field_path p) {
        _cleanup_(buf_done) struct buf b = buf_make(64 * KIB);

        field_path_print(p, &b);
        return arena_str(a, buf_str(&b));
}

void field_path_print_short(struct field_path p, struct buf *out) {
        for (size_t i = 0; i < p.count; i++) {
                if (i == 0 && p.elements[0].kind == PATH_FIELD)
                        buf_add(out, p.elements[0].name);
                else
                        print_element(&p.elements[i], false, out);
        }
}

/* The value of one key field of an item, the schema's default when it is not spelt out. */
static const struct value *key_of_item(const struct value *item, struct str name, const struct schema *list_type) {
        const struct value *v = value_get(item, name);

        if (v || schema_form(list_type) != SCHEMA_LIST_MAP)
                return v;
        for (size_t i = 0; i < list_type->key_count; i++)
                if (str_eq(list_type->keys[i].name, name))
                        return list_type->keys[i].fallback;
        return NULL;
}

/* A keyed list's item has exactly these key fields and no other of the schema's. */
static bool item_has_key(const struct value *item, const struct value *key, const struct schema *list_type) {
        if (!value_is(item, VALUE_MAP))
                return false;
        for (size_t i = 0; i < key->map.count; i++) {
                const struct value *v = key_of_item(item, key->map.members[i].key, list_type);

                if (!v || !value_equal(v, key->map.members[i].value))
                        return false;
        }
        if (schema_form(list_type) != SCHEMA_LIST_MAP)
                return true;
        for (size_t i = 0; i < list_type->key_count; i++)
                if (key_of_item(item, list_type->keys[i].name, list_type) && !value_get(key, list_type->keys[i].name))
                        return false;
        return true;
}

static bool item_matches(const struct value *item, size_t at, const struct path_element *e, const struct schema *type) {
        switch (e->kind) {
        case PATH_KEY:
                return item_has_key(item, e->value, type);
        case PATH_VALUE:
                return value_equal(item, e->value);
        case PATH_INDEX:
                return e->index >= 0 && (uint64_t)e->index == at;
        default:
                return false;
        }
}

const struct value *path_item_find(const struct value *list, const struct path_element *e, const struct schema *type,
                                   size_t *ret_at) {
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                if (!item_matches(list->list.items[i], i, e, type))
                        continue;
                if (ret_at)
                        *ret_at = i;
                return list->list.items[i];
        }
        return NULL;
}

static bool keyed_element(const struct value *item, const struct schema *type, struct arena *a,
                          struct path_element *ret) {
        struct value_map_builder key = { 0 };

        if (!value_is(item, VALUE_MAP))
                return false;
        for (size_t i = 0; i < type->key_count; i++) {
                const struct value *v = key_of_item(item, type->keys[i].name, type);

                if (v)
                        value_map_add(&key, type->keys[i].name, v, 0);
        }
        bool found = key.count > 0;
        *ret = (struct path_element){ .kind = PATH_KEY, .value = value_map_end(&key, a, 0) };
        return found;
}

bool path_item_element(const struct value *item, const struct schema *list_type, struct arena *a,
                       struct path_element *ret_element) {
        switch (schema_form(list_type)) {
        case SCHEMA_LIST_MAP:
                return keyed_element(item, list_type, a, ret_element);
        case SCHEMA_LIST_SET:
                if (!item || !is_scalar(item))
                        return false;
                *ret_element = (struct path_element){ .kind = PATH_VALUE, .value = item };
                return true;
        default:
                return false;
        }
}

const struct schema *field_path_type(const struct schema *type, struct field_path p) {
        for (size_t i = 0; type && i < p.count; i++)
                type = p.elements[i].kind == PATH_FIELD ? schema_field(type, p.elements[i].name) : schema_item(type);
        return type;
}

const struct value *field_path_find(const struct value *root, struct field_path p, const struct schema *type) {
        const struct value *v = root;

        for (size_t i = 0; v && i < p.count; i++) {
                const struct path_element *e = &p.elements[i];

                if (e->kind == PATH_FIELD) {
                        v = value_get(v, e->name);
                        type = schema_field(type, e->name);
                } else {
                        v = path_item_find(v, e, type, NULL);
                        type = schema_item(type);
                }
        }
        return v;
}

enum edit_kind {
        EDIT_REMOVE,
        EDIT_PRUNE,
        EDIT_SET,
};

struct edit {
        struct arena *arena;
        struct field_path path;
        enum edit_kind kind;
        const struct value *value;
};

static const struct value *edit_at(const struct edit *e, const struct value *v, size_t depth,
                                   const struct schema *type);

/* A list with item `at` replaced, or removed when `item` is NULL. */
static const struct value *list_with(struct arena *a, const struct value *list, size_t at, const struct value *item) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < list->list.count; i++) {
                if (i != at)
                        value_list_add(&b, list->list.items[i]);
                else if (item)
                        value_list_add(&b, item);
        }
        return value_list_end(&b, a, list->line);
}

static const struct value *edit_field(const struct edit *e, const struct value *v, size_t depth,
                                      const struct schema *type) {
        struct str name = e->path.elements[depth].name;
        const struct value *old = value_get(v, name);

        if (v && v->kind != VALUE_MAP && v->kind != VALUE_NULL)
                return v;
        if (!old && e->kind != EDIT_SET)
                return v;
        const struct value *new = edit_at(e, old, depth + 1, schema_field(type, name));
        return new == old ? v : value_with(e->arena, v, name, new);
}

static const struct value *edit_item(const struct edit *e, const struct value *v, size_t depth,
                                     const struct schema *type) {
        size_t at;
        const struct value *old = path_item_find(v, &e->path.elements[depth], type, &at);

        if (!old)
                return v;
        const struct value *new = edit_at(e, old, depth + 1, schema_item(type));
        return new == old ? v : list_with(e->arena, v, at, new);
}

/* The new value at this depth; NULL: it is gone. */
static const struct value *edit_at(const struct edit *e, const struct value *v, size_t depth,
                                   const struct schema *type) {
        if (depth == e->path.count)
                return e->kind == EDIT_SET ? e->value : NULL;

        bool field = e->path.elements[depth].kind == PATH_FIELD;
        const struct value *new = field ? edit_field(e, v, depth, type) : edit_item(e, v, depth, type);
        bool item_itself = depth > 0 && e->path.elements[depth - 1].kind != PATH_FIELD;
        bool emptied = new != v &&value_count(new) == 0;

        return e->kind == EDIT_PRUNE && emptied && depth > 0 && !item_itself ? NULL : new;
}

const struct value *field_path_remove(struct arena *a, const struct value *root, struct field_path p,
                                      const struct schema *type) {
        struct edit e = { .arena = a, .path = p, .kind = EDIT_REMOVE };

        return p.count ? edit_at(&e, root, 0, type) : root;
}

const struct value *field_path_prune(struct arena *a, const struct value *root, struct field_path p,
                                     const struct schema *type) {
        struct edit e = { .arena = a, .path = p, .kind = EDIT_PRUNE };

        return p.count ? edit_at(&e, root, 0, type) : root;
}

int field_path_set(struct arena *a, const struct value *root, struct field_path p, const struct schema *type,
                   const struct value *value, const struct value **ret_root, struct err *err) {
        struct edit e = { .arena = a, .path = p, .kind = EDIT_SET, .value = value };
        const struct value *new = edit_at(&e, root, 0, type);

        if (field_path_find(new, p, type) != value)
                return err_set(err, ERR_NOTFOUND, "nothing to set %.*s in", STR_FMT(field_path_text(a, p)));
        *ret_root = new;
        return 0;
}
