/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the makers of types share: types_table.c for built-in kinds, types_crd.c for CRDs.
 */
#ifndef TRUCE_SANDBOX_TYPES_IMPL_H
#define TRUCE_SANDBOX_TYPES_IMPL_H

#include "sandbox/types.h"

extern const struct schema types_schema_scalar, types_schema_atomic, types_schema_set, types_schema_deduced;

/* An empty type with an empty schema of that form, both in the arena. */
struct type *types_make(struct arena *a, enum type_kind kind, enum schema_form form);
/* Gives a STRUCT its fields (sorted here) and its schema the same. */
void types_set_fields(struct arena *a, struct type *t, struct type_field *fields, size_t count);

/* A struct type of the table by its short name ("meta.v1.ObjectMeta"); never NULL for names the table has. */
const struct type *types_named(struct type_table *t, struct str name);

#endif
