/* SPDX-License-Identifier: Apache-2.0 */
/* Custom resources. */
#include "sandbox/validate_kinds.h"
#include "sandbox/validate_schema.h"

void check_custom(struct check *c) {
        const struct value *schema = c->type->rules;

        check_schema(c, NULL, schema, c->object, c->live);
        check_lists(c, NULL, schema, c->object);
}
