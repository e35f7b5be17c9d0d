/* SPDX-License-Identifier: Apache-2.0 */
/* Private to own/: making schemas. */
#ifndef TRUCE_OWN_SCHEMA_IMPL_H
#define TRUCE_OWN_SCHEMA_IMPL_H

#include "own/schema.h"

extern const struct schema schema_scalar, schema_atomic, schema_list_set, schema_deduced;

/* An empty one of this form. */
struct schema *schema_make(struct arena *a, enum schema_form form);
/* Copies the fields into the arena, sorted by name; the later of two with one name wins. Sorts `fields` in place. */
void schema_set_fields(struct arena *a, struct schema *s, struct schema_field *fields, size_t count);
/* The type of metadata. */
const struct schema *schema_object_meta(struct arena *a);

#endif
