/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ignore rules (Argo CD's ignoreDifferences), of Applications and of argocd-cm:
 *
 *   - {group: apps, kind: Deployment, name: web, namespace: shop, jsonPointers: [/spec/replicas],
 *      jqPathExpressions: ['.spec.template.spec.containers[] | select(.name == "proxy")'],
 *      managedFieldsManagers: [kube-controller-manager]}
 *
 * and our own, in the Agent document, where what is left out is any:
 *
 *   - {group: apps, kind: Deployment, name: web, namespace: shop, application: shop,
 *      paths: ['.spec.template.spec.containers[name="istio-proxy"]'], managers: [istiod]}
 *
 * What Argo CD takes without a word and what then never has an effect is told: a group that is left out for a kind that
 * has one, a kind in small letters, a rule that names nothing.
 */
#include "agent/config_impl.h"
#include "diff/ignore.h"
#include "base/glob.h"

#define WHERE "spec.ignoreDifferences"
#define RULE_NAME "ignoreDifferences"
#define AGENT_WHERE "spec.ignore.rules"
#define AGENT_RULE_NAME "ignore.rules"

/* Where a rule stands; a key is for some of them. */
enum ignore_home {
        OF_APP = 1,
        OF_SYSTEM = 2,
        OF_AGENT = 4,
};

/* One rule while it is read. */
struct ignore_reader {
        struct reader *r;
        const char *where;
        enum ignore_home home;
        uint32_t line_before;
        struct config_ignore rule;
};

static uint32_t line_in_file(const struct ignore_reader *x, uint32_t line) {
        return line ? x->line_before + line : 0;
}

/* --- what it names -------------------------------------------------------------------------------------------------- */

/* The strings of a list, one after the other; NULL when it is none. */
static const struct value *list_of(struct ignore_reader *x, const struct value_member *m) {
        uint32_t line = line_in_file(x, m->line);

        if (!value_is(m->value, VALUE_LIST)) {
                reader_error(x->r, line, "%s: %.*s must be a list of strings, not a %s", x->where, STR_FMT(m->key),
                             value_kind_name(m->value->kind));
                return NULL;
        }
        if (m->value->list.count > CONFIG_MAX_RULES) {
                reader_error(x->r, line, "%s: %.*s holds more than %d", x->where, STR_FMT(m->key), CONFIG_MAX_RULES);
                return NULL;
        }
        for (size_t i = 0; i < m->value->list.count; i++) {
                const struct value *item = m->value->list.items[i];

                if (!value_is(item, VALUE_STRING) || !str_trim(item->text).n) {
                        reader_error(x->r, line_in_file(x, item->line), "%s: %.*s must be a list of strings", x->where,
                                     STR_FMT(m->key));
                        return NULL;
                }
        }
        return m->value;
}

static void read_pointers(struct ignore_reader *x, const struct value *list) {
        struct pointer *all = arena_alloc(x->r->a, (value_count(list) + 1) * sizeof *all);
        struct err err;

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *item = list->list.items[i];

                if (ignore_pointer_read(item->text, x->r->a, &all[x->rule.pointer_count], &err) < 0)
                        reader_error(x->r, line_in_file(x, item->line), "%s: %s", x->where, err.msg);
                else
                        x->rule.pointer_count++;
        }
        x->rule.pointers = all;
}

static void read_programs(struct ignore_reader *x, const struct value *list) {
        struct config_program *all = arena_alloc(x->r->a, (value_count(list) + 1) * sizeof *all);

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *item = list->list.items[i];

                all[i] = (struct config_program){ item->text, reader_place(x->r, line_in_file(x, item->line)) };
        }
        x->rule.programs = all;
        x->rule.program_count = value_count(list);
}

static void read_paths(struct ignore_reader *x, const struct value *list) {
        struct field_path *all = arena_alloc(x->r->a, (value_count(list) + 1) * sizeof *all);
        struct err err;

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *item = list->list.items[i];

                if (ignore_path_read(item->text, x->r->a, &all[x->rule.path_count], &err) < 0)
                        reader_error(x->r, line_in_file(x, item->line), "%s: %s", x->where, err.msg);
                else
                        x->rule.path_count++;
        }
        x->rule.paths = all;
}

static void warn_of_manager(struct ignore_reader *x, const struct value *item) {
        uint32_t line = line_in_file(x, item->line);

        if (!policy_is_name_pattern(item->text))
                reader_warn(x->r, line, "%s: manager \"%.*s\" never has an effect: a \"*\" may only stand at the end", x->where,
                            STR_FMT(item->text));
        else if (policy_is_own_name(item->text))
                reader_warn(x->r, line, "%s: manager \"%.*s\" never has an effect: what it owns is Git's", x->where,
                            STR_FMT(item->text));
}

static void read_managers(struct ignore_reader *x, const struct value *list) {
        const char **all = arena_alloc(x->r->a, (value_count(list) + 1) * sizeof *all);

        for (size_t i = 0; i < value_count(list); i++) {
                all[i] = arena_str(x->r->a, list->list.items[i]->text).p;
                warn_of_manager(x, list->list.items[i]);
        }
        x->rule.managers = all;
        x->rule.manager_count = value_count(list);
}

static void read_glob(struct ignore_reader *x, const struct value_member *m, struct str *ret) {
        uint32_t line = line_in_file(x, m->line);
        struct err err;

        if (!value_is(m->value, VALUE_STRING))
                reader_error(x->r, line, "%s: %.*s must be a string, not a %s", x->where, STR_FMT(m->key),
                             value_kind_name(m->value->kind));
        else if (glob_check(m->value->text, &err) < 0)
                reader_error(x->r, line, "%s: %.*s: %s", x->where, STR_FMT(m->key), err.msg);
        else
                *ret = m->value->text;
}

static const struct {
        const char *key;
        unsigned homes;
        void (*read)(struct ignore_reader *x, const struct value *list);
} lists[] = {
        { "jsonPointers", OF_APP | OF_SYSTEM, read_pointers },
        { "jqPathExpressions", OF_APP | OF_SYSTEM, read_programs },
        { "managedFieldsManagers", OF_APP | OF_SYSTEM, read_managers },
        { "paths", OF_AGENT, read_paths },
        { "managers", OF_AGENT, read_managers },
};

static const struct {
        const char *key;
        unsigned homes;
        size_t at;
} selectors[] = {
        { "group", OF_APP | OF_AGENT, offsetof(struct config_ignore, group) },
        { "kind", OF_APP | OF_AGENT, offsetof(struct config_ignore, kind) },
        { "namespace", OF_APP | OF_AGENT, offsetof(struct config_ignore, ns) },
        { "name", OF_APP | OF_AGENT, offsetof(struct config_ignore, object) },
        { "application", OF_AGENT, offsetof(struct config_ignore, application) },
};

static const struct value *typed(struct arena *a, const char *type) {
        return value_with(a, NULL, STR("type"), value_stringc(a, type));
}

/* What may be null, which is as absent. */
static const struct value *optional(struct arena *a, const char *type) {
        struct value_list_builder types = { 0 };

        value_list_add(&types, value_stringc(a, type));
        value_list_add(&types, value_stringc(a, "null"));
        return value_with(a, NULL, STR("type"), value_list_end(&types, a, 0));
}

const struct value *config_ignore_schema(struct arena *a) {
        const struct value *strings = value_with(a, optional(a, "array"), STR("items"), typed(a, "string"));
        struct value_map_builder properties = { 0 };

        strings = value_with(a, strings, STR("maxItems"), value_int(a, CONFIG_MAX_RULES, 0));
        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
                if (lists[i].homes & OF_AGENT)
                        value_map_add(&properties, str_from(lists[i].key), strings, 0);
        for (size_t i = 0; i < ARRAY_LEN(selectors); i++)
                if (selectors[i].homes & OF_AGENT)
                        value_map_add(&properties, str_from(selectors[i].key), optional(a, "string"), 0);
        const struct value *rule = value_with(a, typed(a, "object"), STR("additionalProperties"), &value_false);
        return value_with(a, rule, STR("properties"), value_map_end(&properties, a, 0));
}

static void read_unknown(struct ignore_reader *x, const struct value_member *m) {
        const char *keys[ARRAY_LEN(lists) + ARRAY_LEN(selectors)], *near;
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
                if (lists[i].homes & x->home)
                        keys[n++] = lists[i].key;
        for (size_t i = 0; i < ARRAY_LEN(selectors); i++)
                if (selectors[i].homes & x->home)
                        keys[n++] = selectors[i].key;
        near = option_nearest(m->key, keys, n);
        reader_error(x->r, line_in_file(x, m->line), "%s: unknown key %.*s%s%s%s", x->where, STR_FMT(m->key),
                     near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
}

static void read_member(struct ignore_reader *x, const struct value_member *m) {
        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
                if ((lists[i].homes & x->home) && str_eqc(m->key, lists[i].key)) {
                        lists[i].read(x, list_of(x, m));
                        return;
                }
        for (size_t i = 0; i < ARRAY_LEN(selectors); i++)
                if ((selectors[i].homes & x->home) && str_eqc(m->key, selectors[i].key)) {
                        read_glob(x, m, (struct str *)((char *)&x->rule + selectors[i].at));
                        return;
                }
        read_unknown(x, m);
}

/* --- what never has an effect ------------------------------------------------------------------------------------- */

/* Kinds of Kubernetes itself that are in a group. */
static const char *group_of_kind(struct str kind) {
        static const struct {
                const char *group, *kinds;
        } groups[] = {
                { "apps", "Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision" },
                { "batch", "Job CronJob" },
                { "autoscaling", "HorizontalPodAutoscaler" },
                { "policy", "PodDisruptionBudget" },
                { "networking.k8s.io", "Ingress IngressClass NetworkPolicy" },
                { "rbac.authorization.k8s.io", "Role RoleBinding ClusterRole ClusterRoleBinding" },
                { "apiextensions.k8s.io", "CustomResourceDefinition" },
                { "apiregistration.k8s.io", "APIService" },
                { "admissionregistration.k8s.io", "MutatingWebhookConfiguration ValidatingWebhookConfiguration" },
                { "storage.k8s.io", "StorageClass CSIDriver VolumeAttachment" },
                { "scheduling.k8s.io", "PriorityClass" },
                { "coordination.k8s.io", "Lease" },
        };

        for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
                struct str rest = str_from(groups[i].kinds), word;

                while (str_next(&rest, ' ', &word))
                        if (str_eq(word, kind))
                                return groups[i].group;
        }
        return NULL;
}

static void warn_of_selectors(struct ignore_reader *x, uint32_t line) {
        const char *group = group_of_kind(x->rule.kind);

        if (!x->rule.group.n && group)
                reader_warn(x->r, line, "%s: this rule never has an effect: without a group it is about the core group, and "
                            "%.*s is in %s; write group: %s", x->where, STR_FMT(x->rule.kind), group, group);
        else if (x->rule.kind.n && x->rule.kind.p[0] >= 'a' && x->rule.kind.p[0] <= 'z')
                reader_warn(x->r, line, "%s: this rule never has an effect: no kind begins with a small letter (%.*s)",
                            x->where, STR_FMT(x->rule.kind));
}

static void read_rule(struct ignore_reader *x, const struct value *map) {
        uint32_t line = line_in_file(x, map->line);
        bool own = x->home == OF_AGENT;

        x->rule.place = reader_place(x->r, line);
        x->rule.name = own ? AGENT_RULE_NAME : RULE_NAME;
        if (own)
                x->rule.group = x->rule.kind = STR("*");
        for (size_t i = 0; i < map->map.count; i++)
                if (!value_is(map->map.members[i].value, VALUE_NULL))
                        read_member(x, &map->map.members[i]);
        if (!x->rule.kind.n)
                reader_error(x->r, line, "%s: kind is missing; \"*\" is any", x->where);
        if (!x->rule.pointer_count && !x->rule.program_count && !x->rule.manager_count && !x->rule.path_count && !x->r->bad)
                reader_warn(x->r, line, "%s: this rule never has an effect: it has no %s", x->where,
                            own ? "paths or managers" : "jsonPointers, jqPathExpressions or managedFieldsManagers");
        warn_of_selectors(x, line);
}

/* A list of rules, each given to `add` when it could be read. */
static void read_list(struct reader *r, const struct value *list, const char *where, enum ignore_home home,
                      void (*add)(void *ctx, const struct config_ignore *rule), void *ctx) {
        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *map = list->list.items[i];
                struct ignore_reader x = { .r = r, .where = where, .home = home };

                if (!value_is(map, VALUE_MAP)) {
                        reader_error(r, map->line, "%s: a rule is a map, not a %s", where, value_kind_name(map->kind));
                        continue;
                }
                read_rule(&x, map);
                add(ctx, &x.rule);
        }
}

static bool is_list_of_rules(struct reader *r, const struct value *list, const char *where) {
        if (value_is(list, VALUE_LIST) && list->list.count <= CONFIG_MAX_RULES)
                return true;
        reader_error(r, config_line(r, where), "%s must be a list of at most %d rules", where, CONFIG_MAX_RULES);
        return false;
}

/* --- the two places they stand in --------------------------------------------------------------------------------- */

struct app_rules {
        struct config_ignore *rules;
        size_t count;
};

static void add_to_app(void *ctx, const struct config_ignore *rule) {
        struct app_rules *all = ctx;

        all->rules[all->count++] = *rule;
}

struct config_ignores config_read_app_ignores(struct reader *r) {
        const struct value *list = config_find(r, WHERE);
        struct app_rules all = { 0 };

        if (!list || !is_list_of_rules(r, list, WHERE))
                return (struct config_ignores){ 0 };
        all.rules = arena_alloc(r->a, (list->list.count + 1) * sizeof *all.rules);
        read_list(r, list, WHERE, OF_APP, add_to_app, &all);
        return (struct config_ignores){ all.rules, all.count };
}

void config_add_ignore(struct config *c, const struct config_ignore *rule) {
        struct config_ignore *all = config_grow(c, c->ignores.rules, c->ignores.count, sizeof *all);

        all[c->ignores.count] = *rule;
        c->ignores = (struct config_ignores){ all, c->ignores.count + 1 };
}

static void add_to_system(void *ctx, const struct config_ignore *rule) {
        config_add_ignore(ctx, rule);
}

void config_read_agent_ignores(struct reader *r, const struct value *list) {
        if (list && !value_is(list, VALUE_NULL) && is_list_of_rules(r, list, AGENT_WHERE))
                read_list(r, list, AGENT_WHERE, OF_AGENT, add_to_system, r->c);
}

void config_read_system_ignore(struct reader *r, const struct value *value, const char *where, uint32_t line_before,
                               struct str group, struct str kind) {
        struct ignore_reader x = {
                .r = r, .where = where, .home = OF_SYSTEM, .line_before = line_before,
                .rule = { .group = group, .kind = kind },
        };

        if (!value_is(value, VALUE_MAP)) {
                reader_error(r, line_in_file(&x, value->line), "%s must be a map, not a %s", where,
                             value_kind_name(value->kind));
                return;
        }
        read_rule(&x, value);
        config_add_ignore(r->c, &x.rule);
}

bool config_ignore_is_own(const struct config_ignore *rule) {
        return str_eqc(str_from(rule->name), AGENT_RULE_NAME);
}

static bool have_programs(const struct config_ignores *rules) {
        for (size_t i = 0; i < rules->count; i++)
                if (rules->rules[i].program_count)
                        return true;
        return false;
}

bool config_has_programs(const struct config *c) {
        bool have = have_programs(&c->ignores);

        for (size_t i = 0; i < c->app_count && !have; i++)
                have = have_programs(&c->apps[i].own_ignores);
        return have;
}
