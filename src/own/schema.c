/* SPDX-License-Identifier: Apache-2.0 */
#include "own/schema_impl.h"

const struct schema schema_scalar = { .form = SCHEMA_SCALAR };
const struct schema schema_atomic = { .form = SCHEMA_ATOMIC };
const struct schema schema_list_set = { .form = SCHEMA_LIST_SET, .item = &schema_scalar };
const struct schema schema_deduced = { .form = SCHEMA_DEDUCED };

enum schema_form schema_form(const struct schema *s) {
        return s ? s->form : SCHEMA_UNKNOWN;
}

static const struct schema_field *declared_field(const struct schema *s, struct str name) {
        size_t from = 0, to = schema_form(s) == SCHEMA_STRUCT ? s->field_count : 0;

        while (from < to) {
                size_t mid = from + (to - from) / 2;
                int order = str_cmp(s->fields[mid].name, name);

                if (order == 0)
                        return &s->fields[mid];
                if (order < 0)
                        from = mid + 1;
                else
                        to = mid;
        }
        return NULL;
}

const struct schema *schema_field(const struct schema *s, struct str name) {
        const struct schema_field *field = declared_field(s, name);

        if (field)
                return field->type;
        switch (schema_form(s)) {
        case SCHEMA_STRUCT:
        case SCHEMA_MAP:
                return s->item;
        case SCHEMA_DEDUCED:
                return &schema_deduced;
        default:
                return NULL;
        }
}

bool schema_declares(const struct schema *s, struct str name) {
        return declared_field(s, name) != NULL;
}

const struct schema *schema_item(const struct schema *s) {
        enum schema_form form = schema_form(s);

        return form == SCHEMA_LIST_MAP || form == SCHEMA_LIST_SET ? s->item : NULL;
}

bool schema_is_atomic(const struct schema *s, const struct value *v) {
        enum schema_form form = schema_form(s);

        return form == SCHEMA_ATOMIC || (form == SCHEMA_DEDUCED && value_is(v, VALUE_LIST));
}

bool schema_is_granular(const struct schema *s, const struct value *v) {
        switch (schema_form(s)) {
        case SCHEMA_STRUCT:
        case SCHEMA_MAP:
        case SCHEMA_DEDUCED:
                return value_is(v, VALUE_MAP);
        case SCHEMA_LIST_SET:
        case SCHEMA_LIST_MAP:
                return value_is(v, VALUE_LIST);
        default:
                return false;
        }
}

struct schema *schema_make(struct arena *a, enum schema_form form) {
        struct schema *s = arena_zalloc(a, sizeof *s);

        s->form = form;
        return s;
}

/* Insertion sort: stable, and the lists are short and nearly sorted. */
static void sort_fields(struct schema_field *fields, size_t count) {
        for (size_t i = 1; i < count; i++) {
                struct schema_field moving = fields[i];
                size_t j = i;

                for (; j > 0 && str_cmp(fields[j - 1].name, moving.name) > 0; j--)
                        fields[j] = fields[j - 1];
                fields[j] = moving;
        }
}

void schema_set_fields(struct arena *a, struct schema *s, struct schema_field *fields, size_t count) {
        struct schema_field *out = arena_alloc(a, count * sizeof *out);
        size_t n = 0;

        sort_fields(fields, count);
        for (size_t i = 0; i < count; i++)
                if (i + 1 == count || !str_eq(fields[i].name, fields[i + 1].name))
                        out[n++] = fields[i];
        s->fields = out;
        s->field_count = n;
}

struct str schema_group(struct str api_version) {
        ptrdiff_t slash = str_find(api_version, '/', 0);

        return slash < 0 ? STR("") : str_sub(api_version, 0, (size_t)slash);
}

struct str schema_version(struct str api_version) {
        ptrdiff_t slash = str_find(api_version, '/', 0);

        return str_sub(api_version, (size_t)(slash + 1), api_version.n);
}
