/* SPDX-License-Identifier: Apache-2.0 */
/* CustomResourceDefinitions: names, versions, and schemas that are structural. */
#include "sandbox/validate_kinds.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- structural schemas --- */

enum level { LEVEL_ROOT, LEVEL_ITEM, LEVEL_FIELD };

static void check_nested(struct check *c, const struct at *at, const struct value *schema);

static void check_composed(struct check *c, const struct at *at, const struct value *schema) {
        static const char *const lists[] = { "anyOf", "allOf", "oneOf" };

        for (size_t i = 0; i < 3; i++) {
                const struct value *list = get(schema, lists[i]);

                /* { anyOf: [{type: integer}, {type: string}] } belongs to int-or-string. */
                if (i == 0 && truth_of(schema, "x-kubernetes-int-or-string"))
                        continue;
                for (EACH(j, list))
                        check_nested(c, AT_INDEX(AT_STR(at, str_from(lists[i])), j), item_of(list, j));
        }
        if (get(schema, "not"))
                check_nested(c, AT(at, "not"), get(schema, "not"));
}

/* Below anyOf and the like there are only rules for values. */
static void check_nested(struct check *c, const struct at *at, const struct value *schema) {
        static const struct {
                const char *field, *text;
        } forbidden[] = {
                { "type", "must be empty to be structural" },
                { "additionalProperties", "must be undefined to be structural" },
                { "default", "must be undefined to be structural" },
                { "title", "must be empty to be structural" },
                { "description", "must be empty to be structural" },
                { "nullable", "must be false to be structural" },
                { "x-kubernetes-preserve-unknown-fields", "must be false to be structural" },
                { "x-kubernetes-embedded-resource", "must be false to be structural" },
                { "x-kubernetes-int-or-string", "must be false to be structural" },
                { "x-kubernetes-list-map-keys", "must be empty to be structural" },
                { "x-kubernetes-list-type", "must be undefined to be structural" },
                { "x-kubernetes-map-type", "must be undefined to be structural" },
        };

        check_composed(c, at, schema);
        if (get(schema, "items"))
                check_nested(c, AT(at, "items"), get(schema, "items"));
        for (EACH_MEMBER(m, get(schema, "properties")))
                check_nested(c, AT_KEY(AT(at, "properties"), m->key), m->value);
        for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
                if (get(schema, forbidden[i].field))
                        fault_forbidden(c, AT_STR(at, str_from(forbidden[i].field)), forbidden[i].text);
}

static void check_type_given(struct check *c, const struct at *at, const struct value *schema, enum level level) {
        static const char *const texts[] = { "must not be empty at the root",
                                             "must not be empty for specified array items",
                                             "must not be empty for specified object fields" };
        struct str type = text_of(schema, "type");
        bool embedded = truth_of(schema, "x-kubernetes-embedded-resource");

        if (embedded && !str_eqc(type, "object")) {
                if (!type.n)
                        fault_required(c, AT(at, "type"), "must be object if x-kubernetes-embedded-resource is true");
                else
                        fault_invalid_str(c, AT(at, "type"), type,
                                          "must be object if x-kubernetes-embedded-resource is true");
        } else if (!type.n && !truth_of(schema, "x-kubernetes-int-or-string") &&
                   !truth_of(schema, "x-kubernetes-preserve-unknown-fields"))
                fault_required(c, AT(at, "type"), texts[level]);
        if (level == LEVEL_ROOT && type.n && !str_eqc(type, "object"))
                fault_invalid_str(c, AT(at, "type"), type, "must be object at the root");
}

static void check_root_metadata(struct check *c, const struct at *at, const struct value *schema) {
        const struct value *meta = get(get(schema, "properties"), "metadata");
        const struct at *meta_at = AT_KEY(AT(at, "properties"), STR("metadata"));
        bool more = false;

        if (!meta)
                return;
        if (!str_eqc(text_of(meta, "type"), "object"))
                fault_invalid_str(c, AT(meta_at, "type"), text_of(meta, "type"), "must be object");
        for (EACH_MEMBER(m, meta))
                more = more ||
                       (!str_eqc(m->key, "type") && !str_eqc(m->key, "properties") && !str_eqc(m->key, "default"));
        for (EACH_MEMBER(m, get(meta, "properties")))
                more = more || (!str_eqc(m->key, "name") && !str_eqc(m->key, "generateName"));
        if (more)
                fault_forbidden(
                        c, meta_at,
                        "must not specify anything other than name and generateName, but metadata is implicitly "
                        "specified");
}

static void check_invariants(struct check *c, const struct at *at, const struct value *schema, enum level level) {
        const struct value *items = get(schema, "items"), *rest = get(schema, "additionalProperties");

        if (str_eqc(text_of(schema, "type"), "array") && !items)
                fault_required(c, AT(at, "items"), "must be specified");
        if (items)
                check_invariants(c, AT(at, "items"), items, LEVEL_ITEM);
        for (EACH_MEMBER(m, get(schema, "properties")))
                check_invariants(c, AT_KEY(AT(at, "properties"), m->key), m->value, LEVEL_FIELD);
        if (rest && level == LEVEL_ROOT)
                fault_forbidden(c, AT(at, "additionalProperties"), "must not be used at the root");
        if (value_is(rest, VALUE_MAP))
                check_invariants(c, AT(at, "additionalProperties"), rest, LEVEL_FIELD);
        if (truth_of(schema, "x-kubernetes-int-or-string") && truth_of(schema, "x-kubernetes-preserve-unknown-fields"))
                fault_invalid(c, AT(at, "x-kubernetes-preserve-unknown-fields"), &value_true,
                              "must be false if x-kubernetes-int-or-string is true");
        check_composed(c, at, schema);
        check_type_given(c, at, schema, level);
        if (level == LEVEL_ROOT)
                check_root_metadata(c, at, schema);
}

static int by_message(const void *a, const void *b) {
        const struct cause *x = a, *y = b;
        int order = str_cmp(x->field, y->field);

        return order ? order : str_cmp(x->message, y->message);
}

/* --- rules for every schema node --- */

static void check_keys_exist(struct check *c, const struct at *at, const struct value *keys,
                             const struct value *items) {
        const struct at *properties_at = AT(AT(at, "items"), "properties");

        for (EACH(i, keys)) {
                struct str key = value_text(item_of(keys, i));
                const struct value *property = value_get(get(items, "properties"), key);
                struct str type = text_of(property, "type");

                if (!property)
                        fault_invalid(c, AT(at, "x-kubernetes-list-map-keys"), keys,
                                      "entries must all be names of item properties");
                else if (str_eqc(type, "array") || str_eqc(type, "object"))
                        fault_invalid_str(c, AT(AT_KEY(properties_at, key), "type"), text_of(items, "type"),
                                          "must be a scalar type if parent array's x-kubernetes-list-type is map");
        }
}

static bool is_in(const struct value *list, struct str text) {
        for (EACH(i, list))
                if (value_is(item_of(list, i), VALUE_STRING) && str_eq(value_text(item_of(list, i)), text))
                        return true;
        return false;
}

static void check_key_has_value(struct check *c, const struct at *at, struct str key, const struct value *items) {
        const struct value *property = value_get(get(items, "properties"), key);
        const struct at *property_at = AT_KEY(AT(AT(at, "items"), "properties"), key);

        if (property && !is_in(get(items, "required"), key) && !value_getc(property, "default"))
                fault_required(c, AT(property_at, "default"),
                               "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
                               "required property");
        if (truth_of(property, "nullable"))
                fault_forbidden(c, AT(property_at, "nullable"),
                                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
}

static void check_list_map(struct check *c, const struct at *at, const struct value *schema) {
        const struct value *keys = get(schema, "x-kubernetes-list-map-keys"), *items = get(schema, "items");

        if (!list_count(keys))
                fault_required(c, AT(at, "x-kubernetes-list-map-keys"),
                               "must not be empty if x-kubernetes-list-type is map");
        if (!items)
                fault_required(c, AT(at, "items"), "must have a schema if x-kubernetes-list-type is map");
        else if (!str_eqc(text_of(items, "type"), "object"))
                fault_invalid_str(c, AT(AT(at, "items"), "type"), text_of(items, "type"),
                                  "must be object if parent array's x-kubernetes-list-type is map");
        else
                check_keys_exist(c, at, keys, items);
        for (EACH(i, keys))
                check_key_has_value(c, at, value_text(item_of(keys, i)), items);
}

static void check_list_type(struct check *c, const struct at *at, const struct value *schema) {
        static const char *const types[] = { "atomic", "set", "map", NULL };
        const struct value *list_type = get(schema, "x-kubernetes-list-type");
        struct str type = text_of(schema, "type"), name = value_text(list_type);

        if (!list_type)
                return;
        if (!type.n)
                fault_required(c, AT(at, "type"), "must be array if x-kubernetes-list-type is specified");
        else if (!str_eqc(type, "array"))
                fault_invalid_str(c, AT(at, "type"), type, "must be array if x-kubernetes-list-type is specified");
        if (!is_one_of(name, types))
                fault_unsupported(c, AT(at, "x-kubernetes-list-type"), name, "\"atomic\", \"set\", \"map\"");
        if (!str_eqc(name, "map") && count_of(schema, "x-kubernetes-list-map-keys"))
                fault_invalid_str(c, AT(at, "x-kubernetes-list-type"), name,
                                  "must be map if x-kubernetes-list-map-keys is non-empty");
        if (str_eqc(name, "map"))
                check_list_map(c, at, schema);
}

static void check_schema_node(struct check *c, const struct at *at, const struct value *schema) {
        static const char *const types[] = { "array", "boolean", "integer", "number", "object", "string", NULL };
        static const char *const lists[] = { "allOf", "oneOf", "anyOf" };
        const struct value *rest = get(schema, "additionalProperties");
        struct str type = text_of(schema, "type");

        if (type.n && !is_one_of(type, types))
                fault_unsupported(c, AT(at, "type"), type,
                                  "\"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"");
        if (truth_of(schema, "uniqueItems"))
                fault_forbidden(c, AT(at, "uniqueItems"),
                                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
        if (rest && count_of(schema, "properties") && (value_is(rest, VALUE_MAP) || !value_truth(rest, true)))
                fault_forbidden(c, AT(at, "additionalProperties"),
                                "additionalProperties and properties are mutual exclusive");
        if (value_is(rest, VALUE_MAP))
                check_schema_node(c, AT(at, "additionalProperties"), rest);
        for (EACH_MEMBER(m, get(schema, "properties")))
                check_schema_node(c, AT_KEY(AT(at, "properties"), m->key), m->value);
        for (size_t i = 0; i < 3; i++) {
                const struct value *list = get(schema, lists[i]);

                for (EACH(j, list))
                        check_schema_node(c, AT_INDEX(AT_STR(at, str_from(lists[i])), j), item_of(list, j));
        }
        if (get(schema, "items"))
                check_schema_node(c, AT(at, "items"), get(schema, "items"));
        check_list_type(c, at, schema);
}

static void check_open_api(struct check *c, const struct at *at, const struct value *schema) {
        struct causes structural = { .arena = c->a };
        struct check inner = *c;

        if (truth_of(schema, "nullable"))
                fault_forbidden(c, AT(at, "openAPIV3Schema.nullable"), "nullable cannot be true at the root");
        inner.out = &structural;
        check_invariants(&inner, AT(at, "openAPIV3Schema"), schema, LEVEL_ROOT);
        if (structural.count)
                qsort(structural.items, structural.count, sizeof *structural.items, by_message);
        for (size_t i = 0; i < structural.count; i++)
                causes_add(c->out, structural.items[i].reason.p, structural.items[i].field, "%s",
                           structural.items[i].message.p);
        causes_done(&structural);
        check_schema_node(c, AT(at, "openAPIV3Schema"), schema);
}

/* --- versions --- */

static void check_scale_path(struct check *c, const struct at *at, struct str path, const char *prefix) {
        if (!path.n)
                fault_required(c, at, "");
        else if (path.p[0] != '.')
                fault_invalid_str(c, at, path, "must be a simple json path starting with .");
        else if (!str_starts(path, str_from(prefix)))
                fault_invalid_str(
                        c, at, path,
                        arena_strf(c->a, "should be a json path under %.*s", (int)strlen(prefix) - 1, prefix).p);
}

static void check_subresources(struct check *c, const struct at *at, const struct value *subresources) {
        const struct value *scale = get(subresources, "scale");

        if (!scale)
                return;
        check_scale_path(c, AT(at, "scale.specReplicasPath"), text_of(scale, "specReplicasPath"), ".spec.");
        check_scale_path(c, AT(at, "scale.statusReplicasPath"), text_of(scale, "statusReplicasPath"), ".status.");
}

static void check_column(struct check *c, const struct at *at, const struct value *column) {
        static const char *const types[] = { "boolean", "date", "integer", "number", "string", NULL };
        struct str type = text_of(column, "type"), path = text_of(column, "jsonPath");

        if (!text_of(column, "name").n)
                fault_required(c, AT(at, "name"), "");
        if (!type.n)
                fault_required(c, AT(at, "type"), "must be one of boolean,date,integer,number,string");
        else if (!is_one_of(type, types))
                fault_invalid_str(c, AT(at, "type"), type, "must be one of boolean,date,integer,number,string");
        if (!path.n)
                fault_required(c, AT(at, "JSONPath"), "");
        else if (path.p[0] != '.')
                fault_invalid_str(c, AT(at, "JSONPath"), path, "must be a simple json path starting with .");
}

/* The parts of a version. What all versions have alike the server keeps, and reports, once for all of them. */
enum part { PART_SCHEMA, PART_SUBRESOURCES, PART_COLUMNS, PART_COUNT };
static const char *const part_fields[] = { "schema", "subresources", "additionalPrinterColumns" };

static bool is_shared(const struct value *versions, enum part part) {
        for (EACH(i, versions))
                if (!same_semantically(get(item_of(versions, i), part_fields[part]),
                                       get(item_of(versions, 0), part_fields[part])))
                        return false;
        return true;
}

static void check_part(struct check *c, const struct at *at, const struct value *version, enum part part) {
        const struct value *v = get(version, part_fields[part]);

        if (part == PART_SCHEMA && get(v, "openAPIV3Schema"))
                check_open_api(c, at, get(v, "openAPIV3Schema"));
        if (part == PART_SUBRESOURCES)
                check_subresources(c, at, v);
        for (size_t i = 0; part == PART_COLUMNS && i < list_count(v); i++)
                check_column(c, AT_INDEX(at, i), item_of(v, i));
}

static void check_version(struct check *c, const struct at *at, const struct value *versions, size_t i) {
        const struct value *version = item_of(versions, i);

        check_text_joined(c, AT(at, "name"), TEXT_DNS_1035_LABEL, text_of(version, "name"), ",");
        for (enum part part = PART_SCHEMA; part < PART_COUNT; part++)
                if (!is_shared(versions, part))
                        check_part(c, AT_STR(at, str_from(part_fields[part])), version, part);
}

static void check_shared(struct check *c, const struct at *at, const struct value *versions) {
        static const char *const names[] = { "validation", "subresources", "additionalPrinterColumns" };

        for (enum part part = PART_SCHEMA; list_count(versions) && part < PART_COUNT; part++)
                if (is_shared(versions, part))
                        check_part(c, AT_STR(at, str_from(names[part])), item_of(versions, 0), part);
}

/* Go's struct of a version is long; its text is not rebuilt, and the message goes without the value. */
static void check_versions(struct check *c, const struct at *at, const struct value *versions) {
        size_t storage = 0;
        bool unique = true;

        for (EACH(i, versions))
                if (!value_path(item_of(versions, i), "schema", "openAPIV3Schema", NULL))
                        fault_required(c, AT(AT(AT_INDEX(at, i), "schema"), "openAPIV3Schema"), "");
        for (EACH(i, versions)) {
                storage += truth_of(item_of(versions, i), "storage");
                for (size_t j = 0; j < i; j++)
                        unique = unique && !same(get(item_of(versions, j), "name"), get(item_of(versions, i), "name"));
                check_version(c, AT_INDEX(at, i), versions, i);
        }
        if (!unique)
                fault_invalid(c, at, versions, "must contain unique version names");
        if (storage != 1)
                fault_invalid(c, at, versions, "must have exactly one version marked as storage version");
}

/* --- names --- */

static struct str lowered(struct str s, struct arena *a) {
        struct str copy = arena_str(a, s);

        for (size_t i = 0; i < copy.n; i++)
                ((char *)copy.p)[i] = (char)tolower((unsigned char)copy.p[i]);
        return copy;
}

static void check_mixed_case(struct check *c, const struct at *at, struct str name) {
        struct text_faults f = text_faults(TEXT_DNS_1035_LABEL, lowered(name, c->a), c->a);

        if (name.n && f.count)
                fault_invalid_str(c, at, name,
                                  arena_strf(c->a, "may have mixed case, but should otherwise match: %s",
                                             text_joined(&f, ",", c->a).p)
                                          .p);
}

static void check_names(struct check *c, const struct at *at, const struct value *names) {
        static const char *const plain[] = { "plural", "singular" }, *const mixed[] = { "kind", "listKind" };
        static const char *const lists[] = { "shortNames", "categories" };

        for (size_t i = 0; i < 2; i++)
                if (text_of(names, plain[i]).n)
                        check_text_joined(c, AT_STR(at, str_from(plain[i])), TEXT_DNS_1035_LABEL,
                                          text_of(names, plain[i]), ",");
        for (size_t i = 0; i < 2; i++)
                check_mixed_case(c, AT_STR(at, str_from(mixed[i])), text_of(names, mixed[i]));
        for (size_t i = 0; i < 2; i++) {
                const struct value *list = get(names, lists[i]);

                for (EACH(j, list))
                        check_text_joined(c, AT_INDEX(AT_STR(at, str_from(lists[i])), j), TEXT_DNS_1035_LABEL,
                                          value_text(item_of(list, j)), ",");
                if (i == 0 && text_of(names, "kind").n && same(get(names, "kind"), get(names, "listKind")))
                        fault_invalid(c, AT(at, "listKind"), get(names, "listKind"),
                                      "kind and listKind may not be the same");
        }
}

static void check_group(struct check *c, const struct at *at, struct str group) {
        if (!group.n)
                fault_required(c, at, "");
        else if (!text_keeps(TEXT_DNS_SUBDOMAIN, group))
                check_text_joined(c, at, TEXT_DNS_SUBDOMAIN, group, ",");
        else if (str_find(group, '.', 0) < 0)
                fault_invalid_str(c, at, group, "should be a domain with at least one dot");
}

static void check_crd_meta(struct check *c, const struct value *spec) {
        static const struct meta_rules rules = { .name = TEXT_DNS_SUBDOMAIN };
        const struct value *meta = get(c->object, "metadata");
        struct str wanted = arena_strf(c->a, "%.*s.%.*s", STR_FMT(text_of(get(spec, "names"), "plural")),
                                       STR_FMT(text_of(spec, "group")));
        size_t before = c->out->count;

        check_meta(c, meta, &rules, AT(NULL, "metadata"));
        if (!str_eq(text_of(meta, "name"), wanted)) {
                struct cause moved;

                fault_invalid_str(c, AT(AT(NULL, "metadata"), "name"), text_of(meta, "name"),
                                  "must be spec.names.plural+\".\"+spec.group");
                /* It is one of the name's findings, and these come first. */
                moved = c->out->items[c->out->count - 1];
                while (before < c->out->count - 1 && str_eqc(c->out->items[before].field, "metadata.name"))
                        before++;
                memmove(c->out->items + before + 1, c->out->items + before,
                        (c->out->count - 1 - before) * sizeof *c->out->items);
                c->out->items[before] = moved;
        }
}

static void check_fixed(struct check *c, const struct at *at, const struct value *now, const struct value *before) {
        if (!same(now, before))
                fault_invalid(c, at, now, "field is immutable");
}

/* The first storage version is what a new CRD's status says; the server then holds that against the versions. */
static void check_stored(struct check *c, const struct value *versions) {
        const struct at *at = AT(AT(NULL, "status"), "storedVersions");
        struct value_list_builder b = { 0 };
        const struct value *first = NULL, *stored;

        for (EACH(i, versions))
                if (!first && truth_of(item_of(versions, i), "storage"))
                        first = get(item_of(versions, i), "name");
        if (!first) {
                fault_invalid(c, at, NULL, "must have at least one stored version");
                return;
        }
        value_list_add(&b, first);
        stored = value_list_end(&b, c->a, 0);
        for (EACH(i, versions)) {
                struct str name = text_of(item_of(versions, i), "name");

                if (truth_of(item_of(versions, i), "storage") && !str_eq(name, value_text(first)))
                        fault_invalid(c, at, stored,
                                      arena_strf(c->a, "must have the storage version %.*s", STR_FMT(name)).p);
        }
}

void check_crd(struct check *c) {
        static const char *const needed[] = { "plural", "singular", "kind", "listKind" };
        const struct value *spec = get(c->object, "spec"), *names = get(spec, "names"), *old = get(c->live, "spec");
        const struct at *at = AT(NULL, "spec"), *names_at = AT(at, "names");
        struct str scope = text_of(spec, "scope");

        if (!c->live)
                check_crd_meta(c, spec);
        check_group(c, AT(at, "group"), text_of(spec, "group"));
        if (!scope.n)
                fault_required(c, AT(at, "scope"), "");
        else if (!str_eqc(scope, "Cluster") && !str_eqc(scope, "Namespaced"))
                fault_unsupported(c, AT(at, "scope"), scope, "\"Cluster\", \"Namespaced\"");
        check_versions(c, AT(at, "versions"), get(spec, "versions"));
        if (count_of(spec, "versions"))
                check_text_joined(c, AT(at, "version"), TEXT_DNS_1035_LABEL,
                                  text_of(item_of(get(spec, "versions"), 0), "name"), ",");
        for (size_t i = 0; i < 4; i++)
                if (!text_of(names, needed[i]).n)
                        fault_required(c, AT_STR(names_at, str_from(needed[i])), "");
        check_names(c, names_at, names);
        check_shared(c, at, get(spec, "versions"));
        if (!c->live) {
                check_stored(c, get(spec, "versions"));
                return;
        }
        check_fixed(c, AT(at, "scope"), get(spec, "scope"), get(old, "scope"));
        check_fixed(c, AT(names_at, "kind"), get(names, "kind"), get(get(old, "names"), "kind"));
        check_fixed(c, AT(at, "group"), get(spec, "group"), get(old, "group"));
        check_fixed(c, AT(names_at, "plural"), get(names, "plural"), get(get(old, "names"), "plural"));
}
