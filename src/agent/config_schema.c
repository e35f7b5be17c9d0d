/* SPDX-License-Identifier: Apache-2.0 */
/* The Agent document as a JSON Schema, for editors: from the tables that read it. */
#include "agent/config_impl.h"

static const struct value *map_of(struct arena *a, const char *key, const struct value *value) {
        return value_with(a, NULL, str_from(key), value);
}

static const struct value *constant(struct arena *a, const char *text) {
        return map_of(a, "const", value_stringc(a, text));
}

static const struct value *list_of(struct arena *a, const char *const *words) {
        struct value_list_builder list = { 0 };

        for (; *words; words++)
                value_list_add(&list, value_stringc(a, *words));
        return value_list_end(&list, a, 0);
}

/* A list of rules at `map`.rules of the spec. */
static const struct value *with_rules(const struct value *spec, const char *map, const struct value *rule,
                                      struct arena *a) {
        const struct str path[] = { STR("properties"), str_from(map), STR("properties"), STR("rules") };
        const struct value *v = value_path(spec, "properties", map, "properties", "rules", NULL);

        v = value_with(a, v, STR("type"), list_of(a, (const char *const[]){ "array", "null", NULL }));
        v = value_with(a, v, STR("maxItems"), value_int(a, CONFIG_MAX_RULES, 0));
        return value_with_path(a, spec, path, ARRAY_LEN(path), value_with(a, v, STR("items"), rule));
}

static const struct value *spec_schema(struct arena *a) {
        const struct option_group group = { "Agent", config_agent_options, config_agent_option_count, NULL };
        const struct value *spec = options_schema(&group, 1, a);

        spec = with_rules(spec, "ownership", config_rule_schema(a), a);
        return with_rules(spec, "ignore", config_ignore_schema(a), a);
}

/* What every object has; what else may be there is the API server's. */
static const struct value *metadata_schema(struct arena *a) {
        const struct value *name = map_of(a, "type", value_stringc(a, "string")), *v;

        name = value_with(a, name, STR("minLength"), value_int(a, 1, 0));
        v = map_of(a, "type", value_stringc(a, "object"));
        v = value_with(a, v, STR("required"), list_of(a, (const char *const[]){ "name", NULL }));
        return value_with(a, v, STR("properties"), map_of(a, "name", name));
}

const struct value *config_agent_schema(struct arena *a) {
        const struct value *properties, *schema;

        properties = map_of(a, "apiVersion", constant(a, "truce.dev/v1alpha1"));
        properties = value_with(a, properties, STR("kind"), constant(a, "Agent"));
        properties = value_with(a, properties, STR("metadata"), metadata_schema(a));
        properties = value_with(a, properties, STR("spec"), spec_schema(a));
        schema = map_of(a, "$schema", value_stringc(a, "http://json-schema.org/draft-07/schema#"));
        schema = value_with(a, schema, STR("title"), value_stringc(a, "Agent: what concerns the whole of truce"));
        schema = value_with(a, schema, STR("type"), value_stringc(a, "object"));
        schema = value_with(a, schema, STR("additionalProperties"), &value_false);
        schema = value_with(a, schema, STR("required"),
                            list_of(a, (const char *const[]){ "apiVersion", "kind", "metadata", NULL }));
        return value_with(a, schema, STR("properties"), properties);
}
