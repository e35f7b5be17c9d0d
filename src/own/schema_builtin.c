/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in types, kept as text and read when a kind is asked for.
 *
 * A row is one kind or one struct: `field:type` separated by blanks. Scalars and `status` are left out, so a field that
 * is not here is a scalar or something this table does not know; a composite value there is "unknown". Types:
 *
 *      .           scalar (only as `*.`)
 *      =           atomic map or list
 *      set         list of unique scalars
 *      ?           deduced (free-form)
 *      +           struct of scalars only
 *      Name        struct, another row
 *      *TYPE       map with free keys
 *      [a,b=X]TYPE list keyed by a and b, b being X when absent (a number when X is digits)
 */
#include "own/schema_impl.h"

struct kind_row {
        const char *api_version, *kind, *fields;
};

struct type_row {
        const char *name, *fields;
};

#include "own/schema_builtin.inc"

#define MAX_FIELDS 128

/* One call's work: each row is made at most once, so cycles end. */
struct maker {
        struct arena *arena;
        struct schema *made[ARRAY_LEN(type_rows)];
};

static const struct schema *make_type(struct maker *m, struct str text);

static size_t read_keys(struct maker *m, struct str text, struct schema_key *keys) {
        struct str rest = text, part;
        size_t count = 0;

        while (str_next(&rest, ',', &part)) {
                ptrdiff_t eq = str_find(part, '=', 0);
                struct schema_key *key = &keys[count++];
                int64_t number;

                key->name = eq < 0 ? part : str_sub(part, 0, (size_t)eq);
                key->fallback = NULL;
                if (eq < 0)
                        continue;
                struct str fallback = str_sub(part, (size_t)eq + 1, part.n);
                key->fallback = str_to_i64(fallback, &number) ? value_int(m->arena, number, 0)
                                                              : value_string(m->arena, fallback, 0);
        }
        return count;
}

static const struct schema *make_keyed_list(struct maker *m, struct str text) {
        size_t close = (size_t)str_find(text, ']', 0);
        struct schema *s = schema_make(m->arena, SCHEMA_LIST_MAP);
        struct schema_key *keys = arena_zalloc(m->arena, SCHEMA_MAX_KEYS * sizeof *keys);

        s->key_count = read_keys(m, str_sub(text, 1, close), keys);
        s->keys = keys;
        s->item = make_type(m, str_sub(text, close + 1, text.n));
        return s;
}

static void read_fields(struct maker *m, const char *text, struct schema *s, bool with_metadata) {
        struct schema_field fields[MAX_FIELDS];
        struct str rest = str_from(text), part;
        size_t count = 0;

        while (count < MAX_FIELDS - 1 && str_next(&rest, ' ', &part)) {
                size_t colon = (size_t)str_find(part, ':', 0);

                fields[count++] = (struct schema_field){ str_sub(part, 0, colon),
                                                         make_type(m, str_sub(part, colon + 1, part.n)) };
        }
        if (with_metadata)
                fields[count++] = (struct schema_field){ STR("metadata"), make_type(m, STR("ObjectMeta")) };
        schema_set_fields(m->arena, s, fields, count);
}

static const struct schema *make_row(struct maker *m, struct str name) {
        for (size_t i = 0; i < ARRAY_LEN(type_rows); i++) {
                if (!str_eqc(name, type_rows[i].name))
                        continue;
                if (!m->made[i]) {
                        m->made[i] = schema_make(m->arena, SCHEMA_STRUCT);
                        read_fields(m, type_rows[i].fields, m->made[i], false);
                }
                return m->made[i];
        }
        return NULL;
}

static const struct schema *make_type(struct maker *m, struct str text) {
        struct schema *s;

        if (str_eqc(text, "set"))
                return &schema_list_set;
        switch (text.p[0]) {
        case '.':
                return &schema_scalar;
        case '=':
                return &schema_atomic;
        case '?':
                return &schema_deduced;
        case '+':
                return schema_make(m->arena, SCHEMA_STRUCT);
        case '[':
                return make_keyed_list(m, text);
        case '*':
                s = schema_make(m->arena, SCHEMA_MAP);
                s->item = make_type(m, str_sub(text, 1, text.n));
                return s;
        default:
                return make_row(m, text);
        }
}

static const struct kind_row *find_kind(struct str api_version, struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(kind_rows); i++)
                if (str_eqc(api_version, kind_rows[i].api_version) && str_eqc(kind, kind_rows[i].kind))
                        return &kind_rows[i];
        return NULL;
}

bool schema_is_builtin(struct str api_version, struct str kind) {
        return find_kind(api_version, kind) != NULL;
}

const struct schema *schema_builtin(struct arena *a, struct str api_version, struct str kind) {
        const struct kind_row *row = find_kind(api_version, kind);
        struct maker m = { .arena = a };
        struct schema *s = schema_make(a, SCHEMA_STRUCT);

        read_fields(&m, row ? row->fields : "", s, true);
        return s;
}

const struct schema *schema_object_meta(struct arena *a) {
        struct maker m = { .arena = a };

        return make_type(&m, STR("ObjectMeta"));
}
