/* SPDX-License-Identifier: Apache-2.0 */
/* The zero value of a built-in kind's Go type, as structured-merge-diff sees it through reflection. */
#include "sandbox/ssa_impl.h"

static const struct value *zero_of(const struct type_field *f, struct arena *a);

static const struct value *zero_struct(const struct type *t, struct arena *a) {
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < t->field_count; i++) {
                const struct type_field *f = &t->fields[i];
                /* Go never omits a struct, and its times are structs. */
                bool is_struct = !f->pointer && (f->type->kind == TYPE_STRUCT || f->type->kind == TYPE_TIME ||
                                                 f->type->kind == TYPE_MICRO_TIME);

                if (f->omit_zero || (f->omit_empty && !is_struct))
                        continue;
                value_map_add(&b, f->name, zero_of(f, a), 0);
        }
        return value_map_end(&b, a, 0);
}

static const struct value *zero_of(const struct type_field *f, struct arena *a) {
        if (f->pointer)
                return &value_null;
        switch (f->type->kind) {
        case TYPE_STRUCT:
                return zero_struct(f->type, a);
        case TYPE_STRING:
                return value_string(a, STR(""), 0);
        case TYPE_BOOL:
                return &value_false;
        case TYPE_INT32:
        case TYPE_INT64:
        case TYPE_NUMBER:
        case TYPE_INT_OR_STRING:
                return value_int(a, 0, 0);
        case TYPE_QUANTITY:
        case TYPE_DURATION:
                return value_string(a, STR("0"), 0);
        default:
                return &value_null;
        }
}

const struct value *ssa_zero(const struct type *type, struct str api_version, struct str kind, struct arena *a) {
        const struct value *zero = type->name ? zero_struct(type, a) : &value_empty_map;

        zero = value_with(a, zero, STR("apiVersion"), value_string(a, api_version, 0));
        return value_with(a, zero, STR("kind"), value_string(a, kind, 0));
}
