/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values against a CRD's schema, as kube-openapi's validator goes through them: type, composition, strings, formats,
 * numbers, lists, enum, objects. Where the server walks a Go map (properties) its order is random; here it is the
 * keys'.
 *
 * Not done: x-kubernetes-validations (CEL), metadata of embedded resources.
 */
#ifndef TRUCE_SANDBOX_VALIDATE_SCHEMA_H
#define TRUCE_SANDBOX_VALIDATE_SCHEMA_H

#include "sandbox/validate_impl.h"

/*
 * Adds what is wrong with `v` to c->out. `root` is where it stands (NULL: the object itself). `old` is what stood there
 * before an update: faults of a part that did not change are let through (ratcheting).
 */
void check_schema(struct check *c, const struct at *root, const struct value *schema, const struct value *v,
                  const struct value *old);
/* Items twice in lists of type set, keys twice in lists of type map. */
void check_lists(struct check *c, const struct at *at, const struct value *schema, const struct value *v);

/* Does the text keep the format? Unknown formats are kept by everything. */
bool format_is_known(struct str format);
bool format_keeps(struct str format, struct str s, struct arena *a);

#endif
