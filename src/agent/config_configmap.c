/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Argo CD's ConfigMap argocd-cm. What has no meaning here is passed over with the common notice; what would change what a
 * sync does and is not implemented is an error, since it concerns every application.
 *
 *   resource.customizations.<type>.<group>_<Kind>   one setting of one kind; of the core group only <Kind>; `all` is any
 *   resource.customizations                         the older form: a map, "<group>/<Kind>" → type → setting, with globs
 */
#include "agent/config_impl.h"
#include "base/glob.h"

#define CUSTOMIZATIONS "resource.customizations"
#define HEALTH CUSTOMIZATIONS ".health."
#define LIBS CUSTOMIZATIONS ".useOpenLibs."
#define IGNORE CUSTOMIZATIONS ".ignoreDifferences."
#define KNOWN CUSTOMIZATIONS ".knownTypeFields."
#define COMPARE "resource.compareoptions"
#define MASK "resource.sensitive.mask.annotations"
#define EXCLUSIONS "resource.exclusions"
#define INCLUSIONS "resource.inclusions"

/* argocd-cm, by prefix; the longest that fits counts. */
static const struct config_key prefixes[] = {
        { "accounts.", SETTING_IRRELEVANT, NULL },
        { "admin.", SETTING_IRRELEVANT, NULL },
        { "application.allowedNodeLabels", SETTING_IRRELEVANT, NULL },
        { "application.instanceLabelKey", SETTING_IRRELEVANT, NULL },
        { "application.links", SETTING_IRRELEVANT, NULL },
        { "application.resourceTrackingMethod", SETTING_IRRELEVANT, NULL },
        { "application.sync.impersonation.enabled", SETTING_LATER, "impersonation is not implemented yet" },
        { "cluster.inClusterEnabled", SETTING_IRRELEVANT, NULL },
        { "configManagementPlugins", SETTING_IRRELEVANT, NULL }, /* who asks for one is refused */
        { "controller.", SETTING_IRRELEVANT, NULL },
        { "dex.config", SETTING_IRRELEVANT, NULL },
        { "exec.", SETTING_IRRELEVANT, NULL },
        { "extension.config", SETTING_IRRELEVANT, NULL },
        { "ga.", SETTING_IRRELEVANT, NULL },
        { "globalProjects", SETTING_LATER, "global projects are not implemented yet" },
        { "helm.", SETTING_IRRELEVANT, NULL },
        { "help.", SETTING_IRRELEVANT, NULL },
        { "installationID", SETTING_IRRELEVANT, NULL },
        { "jsonnet.", SETTING_IRRELEVANT, NULL },
        { "kustomize.", SETTING_IRRELEVANT, NULL },
        { "oidc.", SETTING_IRRELEVANT, NULL },
        { "passwordPattern", SETTING_IRRELEVANT, NULL },
        { "project.links", SETTING_IRRELEVANT, NULL },
        { COMPARE, SETTING_USED, NULL },
        { "resource.customLabels", SETTING_IRRELEVANT, NULL },
        { CUSTOMIZATIONS, SETTING_USED, NULL },
        { "resource.customizations.actions.", SETTING_IRRELEVANT, NULL },
        { HEALTH, SETTING_USED, NULL },
        { IGNORE, SETTING_USED, NULL },
        { "resource.customizations.ignoreResourceUpdates.", SETTING_IRRELEVANT, NULL },
        { KNOWN, SETTING_USED, NULL },
        { LIBS, SETTING_USED, NULL },
        { EXCLUSIONS, SETTING_USED, NULL },
        { "resource.ignoreResourceUpdatesEnabled", SETTING_IRRELEVANT, NULL },
        { INCLUSIONS, SETTING_USED, NULL },
        { "resource.includeEventLabelKeys", SETTING_IRRELEVANT, NULL },
        { "resource.excludeEventLabelKeys", SETTING_IRRELEVANT, NULL },
        { "resource.links", SETTING_IRRELEVANT, NULL },
        { "resource.respectRBAC", SETTING_IRRELEVANT, NULL },
        { MASK, SETTING_USED, NULL },
        { "server.", SETTING_IRRELEVANT, NULL },
        { "statusbadge.", SETTING_IRRELEVANT, NULL },
        { "timeout.", SETTING_IRRELEVANT, NULL },
        { "ui.", SETTING_IRRELEVANT, NULL },
        { "url", SETTING_IRRELEVANT, NULL },
        { "users.", SETTING_IRRELEVANT, NULL },
        { "webhook.", SETTING_IRRELEVANT, NULL },
};

static const struct config_key *find_prefix(struct str key) {
        const struct config_key *best = NULL;

        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
                struct str p = str_from(prefixes[i].path);

                if (str_starts(key, p) && (!best || p.n > strlen(best->path)))
                        best = &prefixes[i];
        }
        return best;
}

static void unknown_key(struct reader *r, uint32_t line, const char *where, struct str key, const char *const *known,
                        size_t count) {
        const char *near = option_nearest(key, known, count);

        reader_error(r, line, "unknown key %s%.*s%s%s%s", where, STR_FMT(key), near ? ", did you mean " : "",
                     near ? near : "", near ? "?" : "");
}

/* --- resource.customizations -------------------------------------------------------------------------------------- */

/* The kind that a key is about. */
struct kind_key {
        struct str group, kind;
};

/* "all", "<group>_<Kind>", "<Kind>" of the core group. */
static bool read_id(struct reader *r, const struct value_member *m, struct str id, struct kind_key *ret) {
        ptrdiff_t bar = str_find(id, '_', 0);

        if (str_eqc(id, "all")) {
                *ret = (struct kind_key){ STR("*"), STR("*") };
                return true;
        }
        *ret = (struct kind_key){ str_sub(id, 0, bar < 0 ? 0 : (size_t)bar), str_sub(id, (size_t)(bar + 1), id.n) };
        if (ret->kind.n && str_find(ret->kind, '_', 0) < 0)
                return true;
        reader_error(r, m->line, "%.*s: must end in <group>_<Kind>, <Kind> or all", STR_FMT(m->key));
        return false;
}

/* A setting that truce uses, in the newer form or in the older one. */
struct customization {
        const char *type, *prefix;
        void (*read)(struct reader *r, const struct value *value, const char *where, uint32_t line_before, struct str group,
                     struct str kind);
};

static const struct customization customizations[] = {
        { "ignoreDifferences", IGNORE, config_read_system_ignore },
        { "knownTypeFields", KNOWN, config_read_known_fields },
};

static void read_customization(struct reader *r, const struct value_member *m, const struct customization *c) {
        const char *where = arena_str(r->a, m->key).p;
        struct kind_key key;
        uint32_t line_before;
        const struct value *value;

        if (!read_id(r, m, str_sub(m->key, strlen(c->prefix), m->key.n), &key))
                return;
        value = config_yaml_in(r, m, where, &line_before);
        if (value)
                c->read(r, value, where, line_before, key.group, key.kind);
}

/* What the newer form says of a kind, which replaces what the older one does; NULL: nothing. */
static const struct value *given_by_key(const struct reader *r, const char *prefix, struct kind_key key) {
        bool all = str_eqc(key.group, "*") && str_eqc(key.kind, "*");
        struct str id = all ? STR("all")
                            : arena_strf(r->a, "%.*s%s%.*s", STR_FMT(key.group), key.group.n ? "_" : "", STR_FMT(key.kind));

        return value_get(value_getc(r->o->value, "data"), arena_strf(r->a, "%s%.*s", prefix, STR_FMT(id)));
}

static void read_nested_customization(struct reader *r, const struct value_member *m, const struct customization *c,
                                      const char *where, uint32_t line_before, struct kind_key key) {
        struct value_member here = config_member_in(r, m, line_before);
        const struct value *value = m->value;

        where = arena_strf(r->a, "%s: %s", where, c->type).p;
        if (value_is(m->value, VALUE_STRING))
                value = config_yaml_in(r, &here, where, &line_before);
        if (value && !value_is(value, VALUE_NULL) && !given_by_key(r, c->prefix, key))
                c->read(r, value, where, line_before, key.group, key.kind);
}

/* "true", as in the ConfigMap, or true, as in YAML. */
static bool is_true(const struct value *v) {
        return value_is(v, VALUE_BOOL) ? v->boolean : str_eqc(value_text(v), "true");
}

static void check_libs(struct reader *r, const struct value_member *m, const char *where, uint32_t line) {
        if (!value_is(m->value, VALUE_BOOL) && !value_is(m->value, VALUE_NULL) && !is_true(m->value) &&
            !str_eqc(value_text(m->value), "false"))
                reader_error(r, line, "%s must be true or false", where);
}

static void read_health(struct reader *r, const struct value_member *m) {
        const char *where = arena_str(r->a, m->key).p;
        struct kind_key key;

        if (read_id(r, m, str_sub(m->key, strlen(HEALTH), m->key.n), &key))
                config_read_health(r, m, where, key.group, key.kind, is_true(given_by_key(r, LIBS, key)));
}

static void read_libs(struct reader *r, const struct value_member *m) {
        struct kind_key key;

        if (read_id(r, m, str_sub(m->key, strlen(LIBS), m->key.n), &key))
                check_libs(r, m, arena_str(r->a, m->key).p, m->line);
}

/* The member `lua` of `kind`, both of the older form. */
static void read_nested_health(struct reader *r, const struct value *kind, const struct value_member *lua, const char *where,
                               uint32_t line_before, struct kind_key key) {
        struct value_member here = config_member_in(r, lua, line_before);
        bool open = is_true(value_getc(kind, "health.lua.useOpenLibs")) || is_true(value_getc(kind, "useOpenLibs"));

        if (!value_is(lua->value, VALUE_NULL) && !given_by_key(r, HEALTH, key))
                config_read_health(r, &here, arena_strf(r->a, "%s: health.lua", where).p, key.group, key.kind, open);
}

static void read_nested_type(struct reader *r, const struct value *kind, const struct value_member *m, const char *where,
                             uint32_t line_before, struct kind_key key) {
        static const char *const passed_over[] = { "actions", "ignoreResourceUpdates" };
        static const char *const libs[] = { "health.lua.useOpenLibs", "useOpenLibs" };
        static const char *const known[] = { "ignoreDifferences", "knownTypeFields", "health.lua",
                                             "health.lua.useOpenLibs", "useOpenLibs", "actions",
                                             "ignoreResourceUpdates" };
        uint32_t line = line_before + m->line;

        for (size_t i = 0; i < ARRAY_LEN(passed_over); i++)
                if (str_eqc(m->key, passed_over[i])) {
                        reader_irrelevant(r, line, arena_strf(r->a, "%s: %s", where, passed_over[i]));
                        return;
                }
        for (size_t i = 0; i < ARRAY_LEN(libs); i++)
                if (str_eqc(m->key, libs[i])) {
                        check_libs(r, m, arena_strf(r->a, "%s: %s", where, libs[i]).p, line);
                        return;
                }
        if (str_eqc(m->key, "health.lua")) {
                read_nested_health(r, kind, m, where, line_before, key);
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(customizations); i++)
                if (str_eqc(m->key, customizations[i].type)) {
                        read_nested_customization(r, m, &customizations[i], where, line_before, key);
                        return;
                }
        unknown_key(r, line, arena_strf(r->a, "%s: ", where).p, m->key, known, ARRAY_LEN(known));
}

/* "<group>/<Kind>", "<Kind>" of the core group; globs. */
static void read_nested_kind(struct reader *r, const struct value_member *m, uint32_t line_before) {
        const char *where = arena_strf(r->a, CUSTOMIZATIONS ": %.*s", STR_FMT(m->key)).p;
        ptrdiff_t slash = str_find(m->key, '/', 0);
        struct kind_key key = { str_sub(m->key, 0, slash < 0 ? 0 : (size_t)slash),
                                str_sub(m->key, (size_t)(slash + 1), m->key.n) };
        struct err err;

        if (key.kind.n == 0)
                reader_error(r, line_before + m->line, "%s names no kind: <group>/<Kind>, or <Kind> of the core group",
                             where);
        else if (glob_check(key.group, &err) < 0 || glob_check(key.kind, &err) < 0)
                reader_error(r, line_before + m->line, "%s: %s", where, err.msg);
        else if (!value_is(m->value, VALUE_MAP) && !value_is(m->value, VALUE_NULL))
                reader_error(r, line_before + m->line, "%s must be a map, not a %s", where, value_kind_name(m->value->kind));
        for (size_t i = 0; !r->bad && value_is(m->value, VALUE_MAP) && i < m->value->map.count; i++)
                read_nested_type(r, m->value, &m->value->map.members[i], where, line_before, key);
}

static void read_nested(struct reader *r, const struct value_member *m) {
        uint32_t line_before;
        const struct value *kinds = config_yaml_in(r, m, CUSTOMIZATIONS, &line_before);

        if (!kinds)
                return;
        if (!value_is(kinds, VALUE_MAP)) {
                reader_error(r, m->line, CUSTOMIZATIONS " must be a map, not a %s", value_kind_name(kinds->kind));
                return;
        }
        for (size_t i = 0; i < kinds->map.count; i++)
                read_nested_kind(r, &kinds->map.members[i], line_before);
}

/* --- resource.compareoptions -------------------------------------------------------------------------------------- */

/* What a ClusterRole holds that gathers others' rules is its controller's. */
static void ignore_aggregated_roles(struct reader *r, uint32_t line) {
        static const struct str rules[] = { { "rules", 5 } };
        static const struct pointer pointer = { rules, 1 };

        config_add_ignore(r->c, &(struct config_ignore){
                .place = reader_place(r, line), .name = "ignoreAggregatedRoles", .group = STR("rbac.authorization.k8s.io"),
                .kind = STR("*Role"), .pointers = &pointer, .pointer_count = 1, .aggregated = true,
        });
}

static void read_compare_option(struct reader *r, const struct value_member *m, uint32_t line) {
        static const char *const known[] = { "ignoreAggregatedRoles", "ignoreResourceStatusField",
                                             "ignoreDifferencesOnResourceUpdates" };
        bool is_flag = !str_eqc(m->key, "ignoreResourceStatusField");

        for (size_t i = 0; i < ARRAY_LEN(known); i++) {
                if (!str_eqc(m->key, known[i]))
                        continue;
                if (is_flag && !value_is(m->value, VALUE_BOOL))
                        reader_error(r, line, COMPARE ": %s must be true or false, not a %s", known[i],
                                     value_kind_name(m->value->kind));
                else if (i == 0 && m->value->boolean)
                        ignore_aggregated_roles(r, line);
                else if (!is_flag && !str_eqc(value_text(m->value), "all"))
                        reader_notice(r, line, COMPARE ": ignoreResourceStatusField: status is never compared");
                return;
        }
        unknown_key(r, line, COMPARE ": ", m->key, known, ARRAY_LEN(known));
}

static void read_compare_options(struct reader *r, const struct value_member *m) {
        uint32_t line_before;
        const struct value *map = config_yaml_in(r, m, COMPARE, &line_before);

        if (!map)
                return;
        if (!value_is(map, VALUE_MAP)) {
                reader_error(r, m->line, COMPARE " must be a map, not a %s", value_kind_name(map->kind));
                return;
        }
        for (size_t i = 0; i < map->map.count; i++)
                read_compare_option(r, &map->map.members[i], line_before + map->map.members[i].line);
}

/* --- resource.sensitive.mask.annotations -------------------------------------------------------------------------- */

/* Keys with commas between. */
static void read_masks(struct reader *r, const struct value_member *m) {
        struct str rest = value_text(m->value), key;
        struct str *keys;
        size_t count = 0;

        if (!value_is(m->value, VALUE_STRING)) {
                reader_error(r, m->line, MASK " must be keys of annotations with commas between, not a %s",
                             value_kind_name(m->value->kind));
                return;
        }
        keys = arena_alloc(r->a, (rest.n + 1) * sizeof *keys);
        while (str_next(&rest, ',', &key))
                if (str_trim(key).n)
                        keys[count++] = arena_str(r->a, str_trim(key));
        r->c->mask = (struct mask_annotations){ keys, count };
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void read_used(struct reader *r, const struct value_member *m) {
        for (size_t i = 0; i < ARRAY_LEN(customizations); i++)
                if (str_starts(m->key, str_from(customizations[i].prefix))) {
                        read_customization(r, m, &customizations[i]);
                        return;
                }
        if (str_starts(m->key, STR(HEALTH)))
                read_health(r, m);
        else if (str_starts(m->key, STR(LIBS)))
                read_libs(r, m);
        else if (str_eqc(m->key, COMPARE))
                read_compare_options(r, m);
        else if (str_eqc(m->key, EXCLUSIONS))
                r->c->filter.excluded = config_read_kinds(r, m, &r->c->filter.excluded_count);
        else if (str_eqc(m->key, INCLUSIONS))
                r->c->filter.included = config_read_kinds(r, m, &r->c->filter.included_count);
        else if (str_eqc(m->key, CUSTOMIZATIONS))
                read_nested(r, m);
        else if (str_eqc(m->key, MASK))
                read_masks(r, m);
        else
                reader_error(r, m->line, "unknown key data.%.*s: the types of " CUSTOMIZATIONS ".<type>.<group>_<Kind> are "
                             "actions, health, ignoreDifferences, ignoreResourceUpdates, knownTypeFields and useOpenLibs",
                             STR_FMT(m->key));
}

static void read_setting(struct reader *r, const struct value_member *m) {
        const struct config_key *key = find_prefix(m->key);
        const char *names[ARRAY_LEN(prefixes)];

        if (key && key->class == SETTING_USED)
                read_used(r, m);
        if (key && key->class == SETTING_LATER && value_text(m->value).n > 0 && !str_eqc(value_text(m->value), "false"))
                reader_error(r, m->line, "%.*s: %s", STR_FMT(m->key), key->reason);
        if (key && key->class == SETTING_IRRELEVANT)
                reader_irrelevant(r, m->line, m->key);
        if (key)
                return;
        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
                names[i] = prefixes[i].path;
        unknown_key(r, m->line, "data.", m->key, names, ARRAY_LEN(names));
}

void config_read_configmap(struct reader *r) {
        static const char *const passed_over[] = { "argocd-cmd-params-cm", "argocd-rbac-cm", "argocd-gpg-keys-cm",
                                                   "argocd-notifications-cm" };
        const struct value *data = value_getc(r->o->value, "data");

        for (size_t i = 0; i < ARRAY_LEN(passed_over); i++)
                if (str_eqc(r->o->name, passed_over[i])) {
                        reader_notice(r, r->o->line, "ConfigMap %s has no meaning here: left out", passed_over[i]);
                        return;
                }
        if (str_eqc(r->o->name, CONFIG_TLS_CERTS)) {
                config_read_tls_certs(r);
                return;
        }
        if (str_eqc(r->o->name, CONFIG_KNOWN_HOSTS)) {
                config_read_known_hosts(r);
                return;
        }
        if (!str_eqc(r->o->name, CONFIG_SETTINGS)) {
                reader_error(r, r->o->line, "ConfigMap %.*s is nothing that truce reads", STR_FMT(r->o->name));
                return;
        }
        for (size_t i = 0; value_is(data, VALUE_MAP) && i < data->map.count; i++)
                read_setting(r, &data->map.members[i]);
}
