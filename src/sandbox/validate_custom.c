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

static void check_named(struct check *c, const struct at *at, const struct value *name) {
        if (!name)
                fault_required(c, at, "");
        else if (value_is(name, VALUE_STRING) && !name->text.n)
                fault_invalid_str(c, at, name->text, "must not be empty");
}

/* apiVersion and kind of resources within. */
static void check_embedded(struct check *c, const struct at *at, const struct value *schema, const struct value *v) {
        static const char *const fields[] = { "apiVersion", "kind" };
        const struct value *rest = get(schema, "additionalProperties");

        if (value_is(v, VALUE_MAP) && value_truth(get(schema, "x-kubernetes-embedded-resource"), false))
                for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                        check_named(c, AT_STR(at, str_from(fields[i])), get(v, fields[i]));
        for (EACH(i, v))
                check_embedded(c, AT_INDEX(at, i), get(schema, "items"), item_of(v, i));
        for (EACH_MEMBER(m, v)) {
                const struct value *sub = value_get(get(schema, "properties"), m->key);

                check_embedded(c, AT_STR(at, m->key), sub ? sub : rest, m->value);
        }
}

void check_custom_odd(struct check *c) {
        struct str v = text_of(c->object, "apiVersion"), k = text_of(c->object, "kind");

        if (!str_eq(k, c->kind))
                fault_invalid_str(c, AT(NULL, "kind"), k, arena_strf(c->a, "must be %.*s", STR_FMT(c->kind)).p);
        if (!str_eq(v, c->api_version))
                fault_invalid_str(c, AT(NULL, "apiVersion"), v, arena_strf(c->a, "must be %.*s", STR_FMT(c->api_version)).p);
        check_embedded(c, NULL, c->type->rules, c->object);
        check_custom_lists(c);
}

void check_custom(struct check *c) {
        check_schema(c, NULL, c->type->rules, c->object, c->live);
        check_embedded(c, NULL, c->type->rules, c->object);
        check_custom_lists(c);
}

void check_custom_status(struct check *c) {
        const struct value *schema = value_path(c->type->rules, "properties", "status", NULL);
        const struct value *status = get(c->object, "status");

        if (schema && status)
                check_schema(c, AT(NULL, "status"), schema, status, get(c->live, "status"));
        check_custom_lists(c);
}
