/* SPDX-License-Identifier: Apache-2.0 */
#include "own/path_read.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/pointer.h"

/* --- reading ---------------------------------------------------------------------------------------------------- */

struct reading {
        struct str text;
        size_t at;
        struct arena *a;
        struct field_path path;
        struct err *err;
};

static bool looking_at(const struct reading *r, char c) {
        return r->at < r->text.n && r->text.p[r->at] == c;
}

static void add(struct reading *r, struct path_element e) {
        r->path = field_path_join(r->a, r->path, e);
}

/* Up to the next of these characters, or the end. */
static struct str take_until(struct reading *r, const char *ends) {
        size_t from = r->at;

        while (r->at < r->text.n && !strchr(ends, r->text.p[r->at]))
                r->at++;
        return str_sub(r->text, from, r->at);
}

/* The bytes of one JSON scalar: a string with its quotes, or anything up to what may follow one. */
static struct str take_scalar(struct reading *r) {
        size_t from = r->at;

        if (!looking_at(r, '"'))
                return take_until(r, ",]");
        for (r->at++; r->at < r->text.n && r->text.p[r->at] != '"'; r->at++)
                r->at += r->text.p[r->at] == '\\';
        r->at = r->at < r->text.n ? r->at + 1 : r->text.n;
        return str_sub(r->text, from, r->at);
}

static int bad(struct reading *r, const char *what) {
        return err_set(r->err, ERR_INVAL, "path \"%.*s\": %s", STR_FMT(r->text), what);
}

/* NULL: what is there is bad. */
static const struct value *read_scalar(struct reading *r) {
        struct str text = take_scalar(r);
        const struct value *value;

        if (text.n && json_parse(text, r->a, &value, NULL) == 0 && value->kind != VALUE_LIST && value->kind != VALUE_MAP)
                return value;
        bad(r, "the value of a key is JSON: [name=\"api\"], [port=80]");
        return NULL;
}

/* `name="api",port=80` */
static int read_keys(struct reading *r) {
        struct value_map_builder b = { 0 };
        const struct value *value;
        size_t count = 0;
        int res = 0;

        do {
                r->at += count > 0;
                struct str name = take_until(r, "=,]\"[");

                if (!name.n || !looking_at(r, '='))
                        res = bad(r, "in brackets stands [key=\"value\"] of a list item, or [\"name\"] of a map");
                else if (r->at++, (value = read_scalar(r)))
                        value_map_add(&b, arena_str(r->a, name), value, 0);
                else
                        res = ERR_INVAL;
                count++;
        } while (res == 0 && looking_at(r, ','));
        value = value_map_end(&b, r->a, 0);
        if (res == 0 && value_count(value) != count)
                res = bad(r, "a key is given twice");
        if (res == 0)
                add(r, (struct path_element){ .kind = PATH_KEY, .value = value });
        return res;
}

static int read_name_in_brackets(struct reading *r) {
        const struct value *name = read_scalar(r);

        if (!name)
                return ERR_INVAL;
        add(r, path_field(name->text));
        return 0;
}

static int read_set_item(struct reading *r) {
        const struct value *value;

        r->at++;
        value = read_scalar(r);
        if (!value)
                return ERR_INVAL;
        if (value->kind == VALUE_NULL)
                return bad(r, "an item of a set is no null");
        add(r, (struct path_element){ .kind = PATH_VALUE, .value = value });
        return 0;
}

/* An index, or the keys of an item. */
static int read_index_or_keys(struct reading *r) {
        size_t from = r->at;
        struct str word = take_until(r, "=,]\"[");
        int64_t index;

        if (looking_at(r, ']') && str_to_i64(word, &index) && index >= 0) {
                add(r, (struct path_element){ .kind = PATH_INDEX, .index = index });
                return 0;
        }
        if (looking_at(r, ']') && str_eqc(word, "*"))
                return bad(r, "wildcards are not understood; a path covers everything below it");
        r->at = from;
        return read_keys(r);
}

static int read_brackets(struct reading *r) {
        int res;

        r->at++;
        if (looking_at(r, '"'))
                res = read_name_in_brackets(r);
        else if (looking_at(r, '='))
                res = read_set_item(r);
        else
                res = read_index_or_keys(r);
        if (res == 0 && !looking_at(r, ']'))
                res = bad(r, "a \"]\" is missing");
        r->at++;
        return res;
}

static int read_name(struct reading *r) {
        struct str name = take_until(r, ".[");

        if (str_contains(name, STR("…")))
                return bad(r, "\"…\" stands for parts left out; give the whole path (truce owners -o yaml prints it)");
        add(r, path_field(arena_str(r->a, name)));
        return 0;
}

static int read_printed(struct reading *r) {
        int res = 0;

        /* The short form of tables begins without a dot. */
        if (!looking_at(r, '.') && !looking_at(r, '['))
                res = read_name(r);
        while (res == 0 && r->at < r->text.n) {
                if (looking_at(r, '[')) {
                        res = read_brackets(r);
                } else if (looking_at(r, '.')) {
                        r->at++;
                        res = read_name(r);
                } else {
                        res = bad(r, "after a \"]\" stands a dot or a bracket");
                }
        }
        return res;
}

static bool is_number(struct str s) {
        for (size_t i = 0; i < s.n; i++)
                if (s.p[i] < '0' || s.p[i] > '9')
                        return false;
        return s.n > 0;
}

static int read_pointer(struct reading *r) {
        struct pointer p;
        int res = pointer_parse(r->text, r->a, &p, r->err);

        if (res < 0)
                return res;
        for (size_t i = 0; i < p.count; i++) {
                if (is_number(p.tokens[i]) || str_eqc(p.tokens[i], "-"))
                        return bad(r, "a pointer cannot name list items, whose places change: write "
                                      ".spec.containers[name=\"api\"]; a key of a map that is a number, .data[\"0\"]");
                add(r, path_field(arena_str(r->a, p.tokens[i])));
        }
        return 0;
}

int field_path_read(struct str text, struct arena *a, struct field_path *ret_path, struct err *err) {
        struct reading r = { .text = text, .a = a, .err = err };
        int res;

        if (text.n > FIELD_PATH_MAX_BYTES)
                return err_set(err, ERR_LIMIT, "a path of more than %d bytes", FIELD_PATH_MAX_BYTES);
        if (!text.n)
                return err_set(err, ERR_INVAL, "the path is empty; leave it out where every path is meant");
        if (!str_is_utf8(text))
                return err_set(err, ERR_INVAL, "the path is not UTF-8, as all names are");
        res = str_starts(text, STR("/")) ? read_pointer(&r) : read_printed(&r);
        if (res == 0)
                *ret_path = r.path;
        return res;
}

/* --- spelling --------------------------------------------------------------------------------------------------- */

static bool needs_brackets(struct str name) {
        if (!name.n)
                return true;
        for (size_t i = 0; i < name.n; i++)
                if (strchr(".[]\"", name.p[i]) || (unsigned char)name.p[i] < 0x20)
                        return true;
        return str_contains(name, STR("…"));
}

void field_path_spell(struct field_path p, struct buf *out) {
        for (size_t i = 0; i < p.count; i++) {
                const struct path_element *e = &p.elements[i];

                if (e->kind != PATH_FIELD || !needs_brackets(e->name)) {
                        field_path_print((struct field_path){ e, 1 }, out);
                        continue;
                }
                buf_addch(out, '[');
                value_print_string(e->name, out);
                buf_addch(out, ']');
        }
}

/* --- fitting ---------------------------------------------------------------------------------------------------- */

/* How many parts of the pattern, from `at` on, are this name; 0: they are not. */
static size_t parts_of(struct field_path pattern, size_t at, struct str name) {
        size_t used = 0;

        for (size_t i = at; i < pattern.count && pattern.elements[i].kind == PATH_FIELD; i++) {
                struct str part = pattern.elements[i].name;

                if (!str_starts(str_sub(name, used, name.n), part))
                        return 0;
                used += part.n;
                if (used == name.n)
                        return i - at + 1;
                if (name.p[used++] != '.')
                        return 0;
        }
        return 0;
}

static bool key_fits(const struct value *pattern, const struct value *key) {
        for (size_t i = 0; i < pattern->map.count; i++) {
                const struct value *have = value_get(key, pattern->map.members[i].key);

                if (!have || !value_equal(have, pattern->map.members[i].value))
                        return false;
        }
        return true;
}

static size_t item_fits(struct field_path pattern, size_t at, const struct path_element *e) {
        const struct path_element *want = &pattern.elements[at];

        if (want->kind != e->kind)
                return 0;
        return e->kind == PATH_KEY ? key_fits(want->value, e->value) : path_element_cmp(want, e) == 0;
}

static size_t fits(struct field_path pattern, size_t at, const struct path_element *e) {
        return e->kind == PATH_FIELD ? parts_of(pattern, at, e->name) : item_fits(pattern, at, e);
}

enum pattern_fit field_pattern_fit(struct field_path pattern, struct field_path p) {
        size_t at = 0;

        for (size_t i = 0; i < p.count && at < pattern.count; i++) {
                size_t parts = fits(pattern, at, &p.elements[i]);

                if (!parts)
                        return PATTERN_APART;
                at += parts;
        }
        return at == pattern.count ? PATTERN_COVERS : PATTERN_BELOW;
}

/* --- finding ---------------------------------------------------------------------------------------------------- */

void path_list_add(struct path_list *list, struct arena *a, struct field_path p) {
        size_t n = list->count;

        /* Doubles at each power of two; the old places stay in the arena. */
        if ((n & (n - 1)) == 0) {
                struct field_path *grown = arena_alloc(a, (n ? 2 * n : 1) * sizeof *grown);

                if (n)
                        memcpy(grown, list->paths, n * sizeof *grown);
                list->paths = grown;
        }
        list->paths[list->count++] = p;
}

struct finding {
        struct field_path pattern;
        struct arena *a;
        struct path_list *list;
};

static void found(struct finding *f, struct field_path p) {
        for (size_t i = 0; i < f->list->count; i++)
                if (field_path_equal(f->list->paths[i], p))
                        return;
        path_list_add(f->list, f->a, p);
}

static void find_in_value(struct finding *f, size_t at, const struct value *v, const struct schema *type,
                          struct field_path here);

static void find_in_map(struct finding *f, size_t at, const struct value *map, const struct schema *type,
                        struct field_path here) {
        for (size_t i = 0; i < map->map.count; i++) {
                const struct value_member *m = &map->map.members[i];
                size_t parts = parts_of(f->pattern, at, m->key);

                if (parts)
                        find_in_value(f, at + parts, m->value, schema_field(type, m->key),
                                      field_path_join(f->a, here, path_field(m->key)));
        }
}

/* Without keys of a schema an item is what the pattern says of it. */
static bool guess_item(const struct path_element *want, const struct value *item, size_t at) {
        if (want->kind == PATH_INDEX)
                return want->index == (int64_t)at;
        if (want->kind == PATH_VALUE)
                return value_equal(want->value, item);
        return want->kind == PATH_KEY && value_is(item, VALUE_MAP) && key_fits(want->value, item);
}

static void find_in_list(struct finding *f, size_t at, const struct value *list, const struct schema *type,
                         struct field_path here) {
        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *item = list->list.items[i];
                struct path_element e = f->pattern.elements[at];
                bool known = path_item_element(item, type, f->a, &e);
                bool fit = known ? item_fits(f->pattern, at, &e) : guess_item(&e, item, i);

                if (fit)
                        find_in_value(f, at + 1, item, schema_item(type), field_path_join(f->a, here, e));
        }
}

static void find_in_value(struct finding *f, size_t at, const struct value *v, const struct schema *type,
                          struct field_path here) {
        if (at == f->pattern.count)
                found(f, here);
        else if (value_is(v, VALUE_MAP))
                find_in_map(f, at, v, type, here);
        else if (value_is(v, VALUE_LIST))
                find_in_list(f, at, v, type, here);
}

void field_pattern_find(struct field_path pattern, const struct value *root, const struct schema *type, struct arena *a,
                        struct path_list *list) {
        struct finding f = { pattern, a, list };

        find_in_value(&f, 0, root, type, (struct field_path){ 0 });
}

static void find_in_set(struct finding *f, size_t at, const struct fieldset *set, struct field_path here) {
        if (at == f->pattern.count) {
                found(f, here);
                return;
        }
        for (size_t i = 0; i < set->count; i++) {
                size_t parts = fits(f->pattern, at, &set->children[i].element);

                if (parts)
                        find_in_set(f, at + parts, &set->children[i].set,
                                    field_path_join(f->a, here, set->children[i].element));
        }
}

void field_pattern_find_in(struct field_path pattern, const struct fieldset *set, struct arena *a,
                           struct path_list *list) {
        struct finding f = { pattern, a, list };

        find_in_set(&f, 0, set, (struct field_path){ 0 });
}
