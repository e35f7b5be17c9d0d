/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in types, kept as text and read when a kind is asked for. A row is one struct, its fields in Go's order,
 * separated by blanks:
 *
 *      name<Embedded>MARKS:TYPE'goname=default
 *
 * MARKS: ! required, * pointer, ? omitempty, 0 omitzero. <Embedded>: Go's embedded structs that the field stands in.
 * 'goname: the Go name, where it is not what the type says. default: compact JSON. TYPE:
 *
 *      s i I n b y        string, int32, int64, number, bool, bytes
 *      q x t u d          quantity, int-or-string, time, micro time, duration
 *      a a?               any JSON: atomic; deduced
 *      a+NAME             any JSON in which maps are JSONSchemaProps
 *      NAME =NAME         a struct, another row; atomic
 *      {}TYPE {=}TYPE     map with free keys; atomic
 *      []TYPE [set]TYPE   list: atomic; set
 *      [a,b=X]TYPE        list keyed by a and b, b being X when absent (a number when X is digits)
 *      %mr,key%TYPE       strategic merge patch: m merge (by key), r retainKeys, w replace a map
 */
#include <stdlib.h>

#include "base/json.h"
#include "sandbox/default_impl.h"
#include "sandbox/types_impl.h"

struct kind_row {
        const char *api_version, *kind, *type;
};

struct type_row {
        const char *name, *fields;
};

#include "sandbox/types_table.inc"

#define MAX_FIELDS 128

/* A struct seen through a field that makes it atomic or patches it its own way; filled when its base is complete. */
struct variant {
        struct type *type;
        const struct type *base;
        struct variant *next;
};

struct type_table {
        struct arena *arena;
        struct type *made[ARRAY_LEN(type_rows)];
        struct variant *pending;
};

/* What stands around a type in a field's text. */
struct spelling {
        struct str type, go_name, fallback, patch_key;
        unsigned patch;
};

static const struct {
        char letter;
        enum type_kind kind;
        const char *go_name;
} scalars[] = {
        { 's', TYPE_STRING, "string" },
        { 'i', TYPE_INT32, "int32" },
        { 'I', TYPE_INT64, "int64" },
        { 'n', TYPE_NUMBER, "float64" },
        { 'b', TYPE_BOOL, "bool" },
        { 'y', TYPE_BYTES, "[]uint8" },
        { 'q', TYPE_QUANTITY, "resource.Quantity" },
        { 'x', TYPE_INT_OR_STRING, "intstr.IntOrString" },
        { 't', TYPE_TIME, "v1.Time" },
        { 'u', TYPE_MICRO_TIME, "v1.MicroTime" },
        { 'd', TYPE_DURATION, "v1.Duration" },
};

static const struct type *make_type(struct type_table *t, struct spelling how);

static struct type *make_scalar(struct type_table *t, char letter) {
        for (size_t i = 0; i < ARRAY_LEN(scalars); i++) {
                if (scalars[i].letter != letter)
                        continue;
                struct type *s = types_make(t->arena, scalars[i].kind, SCHEMA_SCALAR);

                s->go_name = str_from(scalars[i].go_name);
                return s;
        }
        return NULL;
}

static size_t read_keys(struct type_table *t, struct str text, struct schema_key *keys) {
        struct str rest = text, part;
        size_t count = 0;

        while (count < SCHEMA_MAX_KEYS && str_next(&rest, ',', &part)) {
                ptrdiff_t eq = str_find(part, '=', 0);
                struct schema_key *key = &keys[count++];
                int64_t number;

                key->name = eq < 0 ? part : str_sub(part, 0, (size_t)eq);
                if (eq < 0)
                        continue;
                struct str fallback = str_sub(part, (size_t)eq + 1, part.n);
                key->fallback = str_to_i64(fallback, &number) ? value_int(t->arena, number, 0)
                                                              : value_string(t->arena, fallback, 0);
        }
        return count;
}

static struct type *make_list(struct type_table *t, struct str text) {
        size_t close = (size_t)str_find(text, ']', 0);
        struct str form = str_sub(text, 1, close);
        struct type *list = types_make(t->arena, TYPE_LIST, SCHEMA_LIST_MAP);
        struct schema *s = (struct schema *)list->schema;

        list->item = make_type(t, (struct spelling){ .type = str_sub(text, close + 1, text.n) });
        list->go_name = arena_strf(t->arena, "[]%.*s", STR_FMT(list->item->go_name));
        if (form.n == 0 || str_eqc(form, "set")) {
                list->schema = form.n == 0 ? &types_schema_atomic : &types_schema_set;
                return list;
        }
        struct schema_key *keys = arena_zalloc(t->arena, SCHEMA_MAX_KEYS * sizeof *keys);

        s->key_count = read_keys(t, form, keys);
        s->keys = keys;
        s->item = list->item->schema;
        return list;
}

static struct type *make_map(struct type_table *t, struct str text) {
        bool atomic = text.p[1] == '=';
        struct type *map = types_make(t->arena, TYPE_MAP, atomic ? SCHEMA_ATOMIC : SCHEMA_MAP);

        map->item = make_type(t, (struct spelling){ .type = str_sub(text, atomic ? 3 : 2, text.n) });
        map->go_name = arena_strf(t->arena, "map[string]%.*s", STR_FMT(map->item->go_name));
        if (!atomic)
                ((struct schema *)map->schema)->item = map->item->schema;
        return map;
}

static struct type *make_any(struct type_table *t, struct str text) {
        bool deduced = text.n > 1;
        struct type *any = types_make(t->arena, TYPE_ANY, deduced ? SCHEMA_DEDUCED : SCHEMA_ATOMIC);

        any->preserve_unknown = true;
        if (deduced && text.p[1] == '+') {
                any->item = types_named(t, STR("apiextensions.v1.JSONSchemaProps"));
                any->go_name = arena_strf(t->arena, "v1.%.*s", STR_FMT(str_sub(text, 2, text.n)));
        }
        return any;
}

static struct type *make_variant(struct type_table *t, struct spelling how, bool atomic) {
        struct type *made = arena_zalloc(t->arena, sizeof *made);
        struct variant *v = arena_zalloc(t->arena, sizeof *v);

        v->base = types_named(t, how.type);
        *made = *v->base;
        v->type = made;
        v->next = t->pending;
        t->pending = v;
        made->patch = how.patch;
        made->patch_merge_key = how.patch_key;
        if (atomic)
                made->schema = &types_schema_atomic;
        return made;
}

static const struct type *make_struct(struct type_table *t, struct spelling how) {
        bool atomic = how.type.p[0] == '=';

        if (!atomic && how.patch == 0)
                return types_named(t, how.type);
        how.type = str_sub(how.type, atomic, how.type.n);
        return make_variant(t, how, atomic);
}

/* Items of "[]v1.Mode" are of the Go type v1.Mode, whatever they look like in JSON. */
static void name_item(struct type_table *t, struct type *list) {
        struct type *item;

        if (list->kind != TYPE_LIST || !str_starts(list->go_name, STR("[]")) || list->item->kind >= TYPE_STRUCT)
                return;
        item = arena_alloc(t->arena, sizeof *item);
        *item = *list->item;
        item->go_name = str_sub(list->go_name, 2, list->go_name.n);
        list->item = item;
}

static const struct type *make_type(struct type_table *t, struct spelling how) {
        char first = how.type.p[0];
        struct type *made;

        if (how.type.n == 1 && first != 'a')
                made = make_scalar(t, first);
        else if (first == '[')
                made = make_list(t, how.type);
        else if (first == '{')
                made = make_map(t, how.type);
        else if (first == 'a' && (how.type.n == 1 || how.type.p[1] == '?' || how.type.p[1] == '+'))
                made = make_any(t, how.type);
        else
                return make_struct(t, how);
        made->patch = how.patch;
        made->patch_merge_key = how.patch_key;
        if (how.go_name.n) {
                made->go_name = how.go_name;
                name_item(t, made);
        }
        return made;
}

/* Cuts everything from the first `c` (outside of a list's brackets) off *text. */
static struct str cut_tail(struct str *text, char c, size_t from) {
        ptrdiff_t at = str_find(*text, c, from);

        if (at < 0)
                return (struct str){ 0 };
        struct str tail = str_sub(*text, (size_t)at + 1, text->n);

        *text = str_sub(*text, 0, (size_t)at);
        return tail;
}

static struct spelling read_spelling(struct str text) {
        struct spelling how = { 0 };

        if (text.p[0] == '%') {
                size_t comma = (size_t)str_find(text, ',', 1), end = (size_t)str_find(text, '%', 1);
                struct str letters = str_sub(text, 1, comma);

                how.patch |= str_find(letters, 'm', 0) >= 0 ? TYPE_PATCH_MERGE : 0;
                how.patch |= str_find(letters, 'r', 0) >= 0 ? TYPE_PATCH_RETAIN_KEYS : 0;
                how.patch |= str_find(letters, 'w', 0) >= 0 ? TYPE_PATCH_WHOLE : 0;
                how.patch_key = str_sub(text, comma + 1, end);
                text = str_sub(text, end + 1, text.n);
        }
        ptrdiff_t bracket = text.p[0] == '[' ? str_find(text, ']', 0) : text.p[0] == '{' ? str_find(text, '}', 0) : -1;
        size_t from = (size_t)(bracket + 1);

        /* An item of a list or map may be atomic: that '=' is no default. */
        if (from < text.n && text.p[from] == '=')
                from++;
        how.fallback = cut_tail(&text, '=', from);
        how.go_name = cut_tail(&text, '\'', from);
        how.type = text;
        return how;
}

static struct type_field read_field(struct type_table *t, struct str text) {
        size_t colon = (size_t)str_find(text, ':', 0);
        struct str name = str_sub(text, 0, colon);
        struct spelling how = read_spelling(str_sub(text, colon + 1, text.n));
        struct type_field f = { .type = make_type(t, how) };

        for (; name.n; name.n--) {
                char mark = name.p[name.n - 1];

                if (mark == '!')
                        f.required = true;
                else if (mark == '*')
                        f.pointer = true;
                else if (mark == '?')
                        f.omit_empty = true;
                else if (mark == '0')
                        f.omit_zero = true;
                else
                        break;
        }
        f.embedded = cut_tail(&name, '<', 0);
        if (f.embedded.n)
                f.embedded.n--;
        f.name = name;
        if (how.fallback.n)
                json_parse(how.fallback, t->arena, &f.fallback, NULL);
        return f;
}

static void read_fields(struct type_table *t, struct type *s, const char *text) {
        struct type_field fields[MAX_FIELDS];
        struct str rest = str_from(text), part;
        size_t count = 0;

        while (count < MAX_FIELDS && str_next(&rest, ' ', &part)) {
                fields[count] = read_field(t, part);
                fields[count].order = (uint16_t)count;
                count++;
        }
        default_attach(s, fields, count, t->arena);
        types_set_fields(t->arena, s, fields, count);
}

static int row_cmp(const void *name, const void *row) {
        return str_cmp(*(const struct str *)name, str_from(((const struct type_row *)row)->name));
}

const struct type *types_named(struct type_table *t, struct str name) {
        const struct type_row *row = bsearch(&name, type_rows, ARRAY_LEN(type_rows), sizeof *type_rows, row_cmp);

        if (!row)
                return NULL;
        size_t at = (size_t)(row - type_rows);
        struct type *s = t->made[at];

        if (s)
                return s;
        s = types_make(t->arena, TYPE_STRUCT, SCHEMA_STRUCT);
        t->made[at] = s; /* before its fields, which may be of its own type */
        s->name = row->name;
        if (!*row->fields)
                s->schema = &types_schema_deduced; /* OpenAPI says just "object" */
        s->go_name = str_sub(name, (size_t)str_find(name, '.', 0) + 1, name.n);
        read_fields(t, s, row->fields);
        return s;
}

static void fill_variants(struct type_table *t) {
        for (struct variant *v = t->pending; v; v = v->next) {
                struct type *made = v->type, seen = *made;

                *made = *v->base;
                made->patch = seen.patch;
                made->patch_merge_key = seen.patch_merge_key;
                made->schema = seen.schema;
        }
        t->pending = NULL;
}

struct type_table *type_table_new(void) {
        struct type_table *t = mem_zalloc(sizeof *t);

        t->arena = arena_new(0);
        return t;
}

void type_table_free(struct type_table *t) {
        if (!t)
                return;
        arena_free(t->arena);
        free(t);
}

const struct type *type_table_find(struct type_table *t, struct str api_version, struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(kind_rows); i++) {
                if (!str_eqc(kind, kind_rows[i].kind) || !str_eqc(api_version, kind_rows[i].api_version))
                        continue;
                const struct type *type = types_named(t, str_from(kind_rows[i].type));

                fill_variants(t);
                return type;
        }
        return NULL;
}
