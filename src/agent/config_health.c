/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health rules of the user's, in Lua: from argocd-cm
 *
 *   resource.customizations.health.<group>_<Kind>       the script
 *   resource.customizations.useOpenLibs.<group>_<Kind>  "true": with Argo CD's further libraries
 *   resource.customizations                             the older form: "<group>/<Kind>" → health.lua, with globs
 *
 * and from a folder (`healthDir`) in the layout of Argo CD's own scripts: <group>/<Kind>/health.lua, <Kind>/health.lua
 * of the core group, `_` in a folder's name is any run of letters. Those have the further libraries, as Argo CD's own
 * do.
 *
 * Of two scripts for one kind that of the folder counts, for it is meant for truce alone; else the first one.
 */
#include "agent/config_impl.h"

/* Lines of a script that is quoted or folded are none of the file: "argocd-cm.yaml:7, script:2: …". */
#define SCRIPT ", script"

static void add(struct config *c, const struct config_health *rule) {
        struct config_health *all = config_grow(c, c->healths.rules, c->healths.count, sizeof *all);

        all[c->healths.count] = *rule;
        c->healths = (struct config_healths){ all, c->healths.count + 1 };
}

void config_read_health(struct reader *r, const struct value_member *m, const char *where, struct str group,
                        struct str kind, bool open_libs) {
        bool has_lines = r->o->line > 0, is_folded = m->value->layout == VALUE_FOLDED;
        uint32_t first = has_lines ? config_line_before(m->value) + 1 : 0;
        struct config_health rule = {
                .group = group, .kind = kind, .open_libs = open_libs, .place = { r->o->file, first },
        };

        if (!value_is(m->value, VALUE_STRING)) {
                reader_error(r, m->line, "%s must be a script in Lua, not a %s", where, value_kind_name(m->value->kind));
                return;
        }
        if (!str_trim(m->value->text).n)
                return;
        rule.lua = (struct lua_source){
                .text = m->value->text, .line = has_lines && !is_folded ? first : 1, .name = r->o->file,
        };
        /* An object of the cluster has no lines: those of the script are told with the key. */
        if (!has_lines)
                rule.lua.name = arena_strf(r->a, "%.*s: %s", STR_FMT(r->o->file), where);
        else if (is_folded)
                rule.lua.name = arena_strf(r->a, "%.*s:%u" SCRIPT, STR_FMT(r->o->file), first);
        add(r->c, &rule);
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

static void complain(struct config *c, enum config_severity severity, struct config_place place, struct str message) {
        config_add_problem(c, (struct config_problem){ .severity = severity, .place = place, .message = message });
}

static void read_script(struct config *c, const struct config_script *script) {
        struct config_health rule = {
                .group = script->group, .kind = script->kind, .open_libs = true, .place = { script->path, 1 },
                .lua = { .name = script->path, .line = 1 },
        };
        struct err err;

        if (config_read_file(script->path, c->arena, &rule.lua.text, &err) < 0)
                complain(c, CONFIG_ERROR, (struct config_place){ .file = script->path },
                         arena_str(c->arena, str_from(err.msg)));
        else
                add(c, &rule);
}

static void read_folder(struct config *c) {
        struct str dir = c->agent.health_dir;
        const struct config_script *scripts;
        struct err err;
        size_t count;

        if (!dir.n)
                return;
        if (config_list_scripts(dir, c->arena, &scripts, &count, &err) < 0) {
                complain(c, CONFIG_ERROR, (struct config_place){ .file = dir }, arena_str(c->arena, str_from(err.msg)));
                return;
        }
        if (!count)
                complain(c, CONFIG_WARNING, (struct config_place){ .file = dir },
                         STR("there is no health rule in it: they are <group>/<Kind>/health.lua"));
        for (size_t i = 0; i < count; i++)
                read_script(c, &scripts[i]);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* The same of which the first is earlier in the list. */
static const struct config_health *find_same(const struct config *c, size_t count, const struct config_health *rule) {
        for (size_t i = 0; i < count; i++)
                if (str_eq(c->healths.rules[i].group, rule->group) && str_eq(c->healths.rules[i].kind, rule->kind))
                        return &c->healths.rules[i];
        return NULL;
}

/* "NAME:LINE: text" of a script: the line is that of the file, when it has lines. */
static void tell_broken(struct config *c, const struct config_health *rule, const char *msg) {
        struct str text = str_from(msg), number;
        struct config_place place = rule->place;
        struct str before = arena_strf(c->arena, "%.*s:", STR_FMT(rule->lua.name));
        uint64_t line;

        if (place.line && str_starts(text, before)) {
                struct str rest = str_sub(text, before.n, text.n);

                if (str_next(&rest, ':', &number) && str_to_u64(number, &line) && line <= UINT32_MAX) {
                        bool is_known = str_eq(rule->lua.name, place.file);

                        place.line = is_known ? (uint32_t)line : place.line;
                        text = str_trim(rest);
                        if (!is_known)
                                text = arena_strf(c->arena, "line %llu of the script: %.*s", (unsigned long long)line,
                                                  STR_FMT(text));
                }
        }
        complain(c, CONFIG_ERROR, place, arena_strf(c->arena, "this health rule cannot be used: %.*s", STR_FMT(text)));
}

/* Whether no cluster has an object of it: the core group gets no new kinds. What has wildcards is not looked at. */
static bool is_of_no_kind(const struct config_health *rule) {
        static const char *const core[] = {
                "Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node",
                "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController",
                "ResourceQuota", "Secret", "Service", "ServiceAccount",
        };

        if (rule->group.n)
                return false;
        for (size_t i = 0; i < ARRAY_LEN(core); i++)
                if (str_eqc(rule->kind, core[i]))
                        return false;
        for (size_t i = 0; i < rule->kind.n; i++)
                if (rule->kind.p[i] == '*' || rule->kind.p[i] == '?' || rule->kind.p[i] == '[')
                        return false;
        return true;
}

static bool is_good(struct config *c, const struct config_health *rule) {
        struct health_source source = { .group = rule->group, .kind = rule->kind, .lua = rule->lua,
                                        .open_libs = rule->open_libs };
        struct err err;

        if (rule->place.line)
                source.place = config_place_text(rule->place, c->arena);
        if (health_rules_add(c->health, &source, &err) == 0)
                return true;
        tell_broken(c, rule, err.msg);
        return false;
}

void config_settle_health(struct config *c) {
        struct config_healths told = c->healths;
        struct config_health *kept;
        size_t count = 0;

        health_rules_unref(c->health);
        c->health = health_rules_new();
        c->healths = (struct config_healths){ 0 };
        read_folder(c);
        for (size_t i = 0; i < told.count; i++)
                add(c, &told.rules[i]);
        kept = arena_alloc(c->arena, (c->healths.count + 1) * sizeof *kept);
        for (size_t i = 0; i < c->healths.count; i++) {
                const struct config_health *rule = &c->healths.rules[i], *same = find_same(c, i, rule);

                if (same)
                        complain(c, CONFIG_NOTICE, rule->place,
                                 arena_strf(c->arena, "another health rule for %.*s%s%.*s counts, at %.*s",
                                            STR_FMT(rule->group), rule->group.n ? "/" : "", STR_FMT(rule->kind),
                                 STR_FMT(config_place_text(same->place, c->arena))));
                else if (is_good(c, rule))
                        kept[count++] = *rule;
                if (is_of_no_kind(rule))
                        complain(c, CONFIG_WARNING, rule->place, arena_strf(c->arena,
                                 "there is no kind %.*s in the core group, so that this health rule judges nothing: "
                                 "its group is missing", STR_FMT(rule->kind)));
        }
        c->healths = (struct config_healths){ kept, count };
}
