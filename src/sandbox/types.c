/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/types_impl.h"

#include <stdlib.h>

const struct schema types_schema_scalar = { .form = SCHEMA_SCALAR };
const struct schema types_schema_atomic = { .form = SCHEMA_ATOMIC };
const struct schema types_schema_set = { .form = SCHEMA_LIST_SET, .item = &types_schema_scalar };
const struct schema types_schema_deduced = { .form = SCHEMA_DEDUCED };

struct type *types_make(struct arena *a, enum type_kind kind, enum schema_form form) {
        struct type *t = arena_zalloc(a, sizeof *t);
        struct schema *s = arena_zalloc(a, sizeof *s);

        s->form = form;
        t->kind = kind;
        t->schema = s;
        return t;
}

static int field_cmp(const void *a, const void *b) {
        return str_cmp(((const struct type_field *)a)->name, ((const struct type_field *)b)->name);
}

void types_set_fields(struct arena *a, struct type *t, struct type_field *fields, size_t count) {
        struct type_field *kept = arena_alloc(a, count * sizeof *kept);
        struct schema_field *owned = arena_alloc(a, count * sizeof *owned);
        struct schema *s = (struct schema *)t->schema;

        qsort(fields, count, sizeof *fields, field_cmp);
        for (size_t i = 0; i < count; i++) {
                kept[i] = fields[i];
                owned[i] = (struct schema_field){ fields[i].name, fields[i].type->schema };
        }
        t->fields = kept;
        t->field_count = count;
        if (s->form != SCHEMA_STRUCT)
                return;
        s->fields = owned;
        s->field_count = count;
}

bool type_is_zero(const struct value *v) {
        if (!v)
                return true;
        switch (v->kind) {
        case VALUE_NULL:
                return true;
        case VALUE_BOOL:
                return !v->boolean;
        case VALUE_INT:
                return v->i64 == 0;
        case VALUE_STRING:
                return v->text.n == 0;
        case VALUE_LIST:
        case VALUE_MAP:
                return value_count(v) == 0;
        default:
                return false;
        }
}

const struct type_field *type_field(const struct type *t, struct str name) {
        size_t low = 0, high = t ? t->field_count : 0;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = str_cmp(t->fields[middle].name, name);

                if (order == 0)
                        return &t->fields[middle];
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}
