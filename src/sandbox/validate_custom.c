/* SPDX-License-Identifier: Apache-2.0 */
/* Custom resources. Source: apiextensions-apiserver's pkg/registry/customresource. */
#include "sandbox/validate_kinds.h"
#include "sandbox/validate_schema.h"

static bool has_list_faults(struct check *c, const struct value *object) {
        struct causes found = { .arena = c->a };
        struct check other = { .out = &found, .late = { .arena = c->a }, .a = c->a };

        check_lists(&other, NULL, c->type->rules, object);
        bool any = found.count + other.late.count > 0;
        causes_done(&found);
        causes_done(&other.late);
        return any;
}

/* An object with lists that were wrong before may stay so. */
static void check_custom_lists(struct check *c) {
        if (!c->live || !has_list_faults(c, c->live))
                check_lists(c, NULL, c->type->rules, c->object);
}

void check_custom(struct check *c) {
        check_schema(c, NULL, c->type->rules, c->object, c->live);
        check_custom_lists(c);
}

void check_custom_status(struct check *c) {
        const struct value *schema = value_path(c->type->rules, "properties", "status", NULL);
        const struct value *status = get(c->object, "status");

        if (schema && status)
                check_schema(c, AT(NULL, "status"), schema, status, get(c->live, "status"));
        check_custom_lists(c);
}
