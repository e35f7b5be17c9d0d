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

/* --- resources within --- */

static void check_embedded_version(struct check *c, const struct at *at, struct str version) {
        ptrdiff_t slash = str_find(version, '/', 0);

        if (!version.n)
                fault_invalid_str(c, at, version, "must not be empty");
        else if (slash >= 0 && str_find(version, '/', (size_t)slash + 1) >= 0)
                fault_invalid_str(c, at, version,
                                  arena_strf(c->a, "unexpected GroupVersion string: %.*s", STR_FMT(version)).p);
}

static void check_embedded_kind(struct check *c, const struct at *at, struct str kind) {
        struct text_faults f = text_faults(TEXT_DNS_1035_LABEL, text_lower(kind, c->a), c->a);

        if (!kind.n)
                fault_invalid_str(c, at, kind, "must not be empty");
        else if (f.count)
                fault_invalid_str(c, at, kind,
                                  arena_strf(c->a, "may have mixed case, but should otherwise match: %.*s",
                                             STR_FMT(text_joined(&f, ",", c->a)))
                                          .p);
}

static void check_embedded_meta(struct check *c, const struct at *at, const struct value *meta) {
        const struct meta_rules rules = { .name = TEXT_PATH_SEGMENT, .namespaced = text_of(meta, "namespace").n > 0 };

        if (!text_of(meta, "name").n)
                meta = value_with(c->a, meta, STR("name"), value_stringc(c->a, "fakename"));
        check_meta(c, meta, &rules, at);
}

static void check_embedded_resource(struct check *c, const struct at *at, const struct value *v) {
        const struct value *version = get(v, "apiVersion"), *kind = get(v, "kind"), *meta = get(v, "metadata");

        if (!version)
                fault_required(c, AT(at, "apiVersion"), "");
        if (!kind)
                fault_required(c, AT(at, "kind"), "");
        if (version && value_is(version, VALUE_STRING))
                check_embedded_version(c, AT(at, "apiVersion"), version->text);
        if (kind && value_is(kind, VALUE_STRING))
                check_embedded_kind(c, AT(at, "kind"), kind->text);
        if (value_is(meta, VALUE_MAP))
                check_embedded_meta(c, AT(at, "metadata"), meta);
}

static void check_embedded(struct check *c, const struct at *at, const struct value *schema, const struct value *v) {
        const struct value *rest = get(schema, "additionalProperties");

        if (value_is(v, VALUE_MAP) && value_truth(get(schema, "x-kubernetes-embedded-resource"), false))
                check_embedded_resource(c, at, v);
        for (EACH(i, v))
                check_embedded(c, AT_INDEX(at, i), get(schema, "items"), item_of(v, i));
        for (EACH_MEMBER(m, v)) {
                const struct value *sub = value_get(get(schema, "properties"), m->key);

                if (sub)
                        check_embedded(c, AT_STR(at, m->key), sub, m->value);
                else
                        check_embedded(c, AT_KEY(at, m->key), rest, m->value);
        }
}

/* --- whole resources --- */

void check_custom_odd(struct check *c) {
        struct str v = text_of(c->object, "apiVersion"), k = text_of(c->object, "kind");

        if (!str_eq(k, c->kind))
                fault_invalid_str(c, AT(NULL, "kind"), k, arena_strf(c->a, "must be %.*s", STR_FMT(c->kind)).p);
        if (!str_eq(v, c->api_version))
                fault_invalid_str(c, AT(NULL, "apiVersion"), v,
                                  arena_strf(c->a, "must be %.*s", STR_FMT(c->api_version)).p);
        check_embedded(c, NULL, c->type->rules, c->object);
        check_custom_lists(c);
}

static void tell_scale(struct check *c) {
        if (c->scale)
                causes_append(c->out, c->scale);
}

void check_custom(struct check *c) {
        check_schema(c, NULL, c->type->rules, c->object, c->live);
        tell_scale(c);
        check_embedded(c, NULL, c->type->rules, c->object);
        check_custom_lists(c);
}

void check_custom_status(struct check *c) {
        const struct value *schema = value_path(c->type->rules, "properties", "status", NULL);
        const struct value *status = get(c->object, "status");

        if (schema && status)
                check_schema(c, AT(NULL, "status"), schema, status, get(c->live, "status"));
        tell_scale(c);
        check_custom_lists(c);
}
