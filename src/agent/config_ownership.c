/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ownership rules, the same maps in the Agent document and in an Application's annotation:
 *
 *   - {name: text, manager: istio-*, class: person, subresource: status, group: apps, kind: Deployment, namespace: shop,
 *      objectName: web, application: shop, path: '.spec.template.metadata.annotations', action: yield}
 */
#include "agent/config_impl.h"

#define AT(field) offsetof(struct policy_rule, field)

static const struct rule_key {
        const char *key;
        size_t at;
        bool may_be_empty; /* "" is the core group; "" is the object itself */
        bool is_pattern;
        const char *help;
} texts[] = {
        { "name", AT(name), false, false, "what the rule is called; file and line when left out" },
        { "manager", AT(manager), false, true, "the field manager that owns the path" },
        { "subresource", AT(subresource), true, false, "through which it wrote; empty is the object itself" },
        { "group", AT(group), true, true, "API group of the object; empty is the core group" },
        { "kind", AT(kind), false, true, "kind of the object" },
        { "namespace", AT(ns), false, true, "namespace of the object" },
        { "objectName", AT(object), false, true, "name of the object" },
        { "application", AT(application), false, true, "name of the application" },
};

static const char *const actions[] = { "take", "yield", "report" };

/* One list of rules while it is read. */
struct rules_reader {
        struct reader *r;
        const char *where;
        uint32_t line_before;
        uint32_t line; /* of the rule at hand, in its file */
        struct policy_rule rule;
};

static uint32_t line_in_file(const struct rules_reader *x, uint32_t line) {
        return x->line_before + line;
}

static void read_text(struct rules_reader *x, const struct rule_key *k, const struct value_member *m) {
        const char **at = (const char **)((char *)&x->rule + k->at);
        uint32_t line = line_in_file(x, m->line);

        if (!value_is(m->value, VALUE_STRING))
                reader_error(x->r, line, "%s: %s must be a string, not a %s", x->where, k->key,
                             value_kind_name(m->value->kind));
        else if (!m->value->text.n && !k->may_be_empty)
                reader_error(x->r, line, "%s: %s is empty; leave it out where any is meant", x->where, k->key);
        else if (k->is_pattern && !policy_is_name_pattern(m->value->text))
                reader_error(x->r, line, "%s: %s \"%.*s\": a \"*\" may only stand at the end", x->where, k->key,
                             STR_FMT(m->value->text));
        else
                *at = arena_str(x->r->a, m->value->text).p;
}

static void complain_of_word(struct rules_reader *x, const struct value_member *m, const char *what,
                             const char *const *words, size_t count) {
        struct str word = value_text(m->value);
        const char *near = option_nearest(word, words, count);

        reader_error(x->r, line_in_file(x, m->line), "%s: unknown %s \"%.*s\"%s%s%s", x->where, what, STR_FMT(word),
                     near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
}

static void read_class(struct rules_reader *x, const struct value_member *m) {
        const char *words[16];
        enum policy_class class;
        size_t count = 0;

        while (count < ARRAY_LEN(words) && policy_class_word(count)) {
                words[count] = policy_class_word(count);
                count++;
        }
        if (policy_class_from_word(value_text(m->value), &class))
                x->rule.classes = 1u << class;
        else
                complain_of_word(x, m, "class", words, count);
}

static void read_action(struct rules_reader *x, const struct value_member *m) {
        if (!policy_action_from_word(value_text(m->value), &x->rule.action))
                complain_of_word(x, m, "action", actions, ARRAY_LEN(actions));
}

/* Without these an object would be another one, or none. */
static bool holds_identity(struct field_path pattern) {
        static const struct path_element name[] = {
                { .kind = PATH_FIELD, .name = { "metadata", 8 } }, { .kind = PATH_FIELD, .name = { "name", 4 } }
        };
        static const struct path_element ns[] = {
                { .kind = PATH_FIELD, .name = { "metadata", 8 } }, { .kind = PATH_FIELD, .name = { "namespace", 9 } }
        };
        static const struct path_element version[] = { { .kind = PATH_FIELD, .name = { "apiVersion", 10 } } };
        static const struct path_element kind[] = { { .kind = PATH_FIELD, .name = { "kind", 4 } } };
        static const struct field_path all[] = { { name, 2 }, { ns, 2 }, { version, 1 }, { kind, 1 } };
        bool holds = false;

        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                holds |= field_pattern_fit(pattern, all[i]) == PATTERN_COVERS;
        return holds;
}

static void read_path(struct rules_reader *x, const struct value_member *m) {
        struct field_path path, *kept;
        uint32_t line = line_in_file(x, m->line);
        struct err err;

        if (!value_is(m->value, VALUE_STRING))
                reader_error(x->r, line, "%s: path must be a string, not a %s", x->where, value_kind_name(m->value->kind));
        else if (field_path_read(m->value->text, x->r->a, &path, &err) < 0)
                reader_error(x->r, line, "%s: %s", x->where, err.msg);
        else if (field_path_has_index(path))
                reader_error(x->r, line, "%s: path \"%.*s\": list items go by their keys, not by their places: "
                             "[name=\"api\"]", x->where, STR_FMT(m->value->text));
        else if (holds_identity(path))
                reader_error(x->r, line, "%s: path \"%.*s\" is what an object is known by", x->where,
                             STR_FMT(m->value->text));
        else {
                kept = arena_alloc(x->r->a, sizeof *kept);
                *kept = path;
                x->rule.path = kept;
        }
}

static const struct rule_key *find_text(struct str key) {
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                if (str_eqc(key, texts[i].key))
                        return &texts[i];
        return NULL;
}

static void read_unknown(struct rules_reader *x, const struct value_member *m) {
        const char *keys[ARRAY_LEN(texts) + 3] = { "class", "path", "action" }, *near;

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                keys[i + 3] = texts[i].key;
        near = option_nearest(m->key, keys, ARRAY_LEN(keys));
        reader_error(x->r, line_in_file(x, m->line), "%s: unknown key %.*s%s%s%s", x->where, STR_FMT(m->key),
                     near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
}

static void read_member(struct rules_reader *x, const struct value_member *m) {
        const struct rule_key *text = find_text(m->key);

        if (text)
                read_text(x, text, m);
        else if (str_eqc(m->key, "class"))
                read_class(x, m);
        else if (str_eqc(m->key, "path"))
                read_path(x, m);
        else if (str_eqc(m->key, "action"))
                read_action(x, m);
        else
                read_unknown(x, m);
}

/* What it does to autoscalers should be meant. */
static void warn_of_all(struct rules_reader *x) {
        const struct policy_rule *r = &x->rule;

        if (r->action == POLICY_TAKE && !r->path && policy_rule_is_ownerless(r))
                reader_notice(x->r, x->line, "%s: this rule takes every path, replicas under an autoscaler too", x->where);
        if (r->manager && policy_is_own_name(str_from(r->manager)))
                reader_warn(x->r, x->line, "%s: this rule never has an effect: what %s owns is Git's", x->where, r->manager);
}

static void read_rule(struct rules_reader *x, const struct value *map) {
        x->line = line_in_file(x, map->line);
        x->rule = (struct policy_rule){ 0 };
        if (!value_is(map, VALUE_MAP)) {
                reader_error(x->r, x->line, "%s: a rule is a map, not a %s", x->where, value_kind_name(map->kind));
                return;
        }
        for (size_t i = 0; i < map->map.count; i++)
                if (!value_is(map->map.members[i].value, VALUE_NULL))
                        read_member(x, &map->map.members[i]);
        if (!value_getc(map, "action"))
                reader_error(x->r, x->line, "%s: action is missing: take, yield or report", x->where);
        x->rule.place = reader_place(x->r, x->line);
        if (!x->rule.name)
                x->rule.name = x->rule.place;
        warn_of_all(x);
}

struct config_rules config_read_rules(struct reader *r, const struct value *list, const char *where,
                                      uint32_t line_before) {
        struct rules_reader x = { .r = r, .where = where, .line_before = line_before };
        struct config_rules none = { NULL, 0 };

        if (!list || value_is(list, VALUE_NULL))
                return none;
        if (!value_is(list, VALUE_LIST) || list->list.count > CONFIG_MAX_RULES) {
                reader_error(r, line_in_file(&x, list->line), "%s must be a list of at most %d rules", where,
                             CONFIG_MAX_RULES);
                return none;
        }
        struct policy_rule *rules = arena_alloc(r->a, (list->list.count + 1) * sizeof *rules);
        for (size_t i = 0; i < list->list.count; i++) {
                read_rule(&x, list->list.items[i]);
                rules[i] = x.rule;
        }
        return (struct config_rules){ rules, list->list.count };
}

/* ---- as a schema ---- */

static const struct value *described(struct arena *a, const char *help) {
        return value_with(a, NULL, STR("description"), value_stringc(a, help));
}

static const struct value *string_schema(struct arena *a, const char *help) {
        struct value_list_builder types = { 0 };

        value_list_add(&types, value_stringc(a, "string"));
        value_list_add(&types, value_stringc(a, "null"));
        return value_with(a, described(a, help), STR("type"), value_list_end(&types, a, 0));
}

static const struct value *text_schema(const struct rule_key *k, struct arena *a) {
        const struct value *v = string_schema(a, k->help);

        if (!k->may_be_empty)
                v = value_with(a, v, STR("minLength"), value_int(a, 1, 0));
        if (k->is_pattern)
                v = value_with(a, v, STR("pattern"), value_stringc(a, "^[^*]*[*]?$"));
        return v;
}

static const struct value *class_schema(struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; policy_class_word(i); i++)
                value_list_add(&list, value_stringc(a, policy_class_word(i)));
        value_list_add(&list, &value_null);
        return value_with(a, described(a, "what kind of owner it is"), STR("enum"), value_list_end(&list, a, 0));
}

static const struct value *action_schema(struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(actions); i++)
                value_list_add(&list, value_stringc(a, actions[i]));
        return value_with(a,
                          described(a, "take: Git wins, by force; yield: left to its owner; report: left, and told"),
                          STR("enum"), value_list_end(&list, a, 0));
}

const struct value *config_rule_schema(struct arena *a) {
        struct value_list_builder required = { 0 };
        struct value_map_builder properties = { 0 };
        const struct value *rule;

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                value_map_add(&properties, str_from(texts[i].key), text_schema(&texts[i], a), 0);
        value_map_add(&properties, STR("path"),
                      string_schema(a, "this path and all below, as truce owners prints it, or a JSON pointer"), 0);
        value_map_add(&properties, STR("class"), class_schema(a), 0);
        value_map_add(&properties, STR("action"), action_schema(a), 0);
        value_list_add(&required, value_stringc(a, "action"));
        rule = value_with(a, NULL, STR("type"), value_stringc(a, "object"));
        rule = value_with(a, rule, STR("additionalProperties"), &value_false);
        rule = value_with(a, rule, STR("required"), value_list_end(&required, a, 0));
        return value_with(a, rule, STR("properties"), value_map_end(&properties, a, 0));
}

/* ---- annotations ---- */

#define PREFIX "truce.dev/"
#define OWNERSHIP PREFIX "ownership"

static void check_annotation(struct reader *r, const struct value_member *m) {
        static const char *const known[] = { OWNERSHIP, PREFIX "extra-paths" };
        const char *near;

        if (!str_starts(m->key, STR(PREFIX)))
                return;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
                if (str_eqc(m->key, known[i]))
                        return;
        near = option_nearest(m->key, known, ARRAY_LEN(known));
        reader_error(r, m->line, "unknown annotation %.*s%s%s%s", STR_FMT(m->key), near ? ", did you mean " : "",
                     near ? near : "", near ? "?" : "");
}

static struct config_rules read_annotation(struct reader *r, const struct value_member *m) {
        uint32_t line_before;
        const struct value *list = config_yaml_in(r, m, OWNERSHIP, &line_before);

        return config_read_rules(r, list, OWNERSHIP, line_before);
}

struct config_rules config_read_app_rules(struct reader *r) {
        const struct value *annotations = value_path(r->o->value, "metadata", "annotations", NULL);
        struct config_rules rules = { NULL, 0 };

        for (size_t i = 0; value_is(annotations, VALUE_MAP) && i < annotations->map.count; i++) {
                const struct value_member *m = &annotations->map.members[i];

                check_annotation(r, m);
                if (str_eqc(m->key, OWNERSHIP) && !value_is(m->value, VALUE_NULL))
                        rules = read_annotation(r, m);
        }
        return rules;
}
