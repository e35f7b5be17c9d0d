/* SPDX-License-Identifier: Apache-2.0 */
/* AppProject documents: what applications of a project may take from where, and may hold. */
#include "agent/config_impl.h"
#include "base/glob.h"

#define USED SETTING_USED, NULL
#define IRRELEVANT SETTING_IRRELEVANT, NULL

static const struct config_key keys[] = {
        { "spec.clusterResourceBlacklist", USED },
        { "spec.clusterResourceWhitelist", USED },
        { "spec.description", IRRELEVANT },
        { "spec.destinationServiceAccounts", SETTING_LATER, "impersonation is not implemented yet" },
        { "spec.destinations", USED },
        { "spec.namespaceResourceBlacklist", USED },
        { "spec.namespaceResourceWhitelist", USED },
        { "spec.orphanedResources", IRRELEVANT },
        { "spec.permitOnlyProjectScopedClusters", IRRELEVANT },
        { "spec.roles", IRRELEVANT },
        { "spec.signatureKeys", SETTING_LATER, "signatures are not verified yet" },
        { "spec.sourceIntegrity", SETTING_LATER, "signatures are not verified yet" },
        { "spec.sourceNamespaces", IRRELEVANT },
        { "spec.sourceRepos", USED },
        { "spec.syncWindows", SETTING_LATER, "sync windows are not implemented yet" },
};

/* Zero rules that are there: nothing passes. */
static const struct manifest_rule no_rules[1];

static const struct value *list_at(struct reader *r, const char *path) {
        const struct value *v = config_find(r, path);

        if (v && !value_is(v, VALUE_LIST)) {
                reader_error(r, config_line(r, path), "%s must be a list", path);
                return NULL;
        }
        return v;
}

static struct str text_of(struct reader *r, const struct value *map, const char *key, const char *path) {
        const struct value *v = value_getc(map, key);
        struct err err;

        if (v && !value_is(v, VALUE_STRING) && !value_is(v, VALUE_NULL))
                reader_error(r, v->line, "%s: %s must be a string", path, key);
        if (v && glob_check(value_text(v), &err) < 0)
                reader_error(r, v->line, "%s: %s: %s", path, key, err.msg);
        return value_text(v);
}

/* Lists of {group, kind}. Absent: `otherwise`. */
static void read_kinds(struct reader *r, const char *path, struct manifest_rules otherwise, struct manifest_rules *ret) {
        const struct value *list = list_at(r, path);
        struct manifest_rule *rules;

        *ret = otherwise;
        if (!list)
                return;
        rules = arena_zalloc(r->a, (list->list.count + 1) * sizeof(*rules));
        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *entry = list->list.items[i];

                rules[i].group = text_of(r, entry, "group", path);
                rules[i].kind = text_of(r, entry, "kind", path);
                if (rules[i].kind.n == 0)
                        reader_error(r, entry->line, "%s: an entry has no kind", path);
                if (value_count(value_getc(entry, "name")) > 0 || value_text(value_getc(entry, "name")).n > 0)
                        reader_refuse(r, entry->line, "%s: names of objects are not implemented yet", path);
        }
        *ret = (struct manifest_rules){ rules, list->list.count };
}

static void read_repos(struct reader *r, struct config_project *p) {
        const struct value *list = list_at(r, "spec.sourceRepos");
        size_t count = value_count(list);
        struct manifest_rule *rules = arena_zalloc(r->a, (count + 1) * sizeof(*rules));

        for (size_t i = 0; i < count; i++) {
                rules[i].name = value_text(list->list.items[i]);
                if (rules[i].name.n == 0)
                        reader_error(r, list->list.items[i]->line, "spec.sourceRepos must be a list of strings");
        }
        p->source_repos = (struct manifest_rules){ rules, count };
}

static bool is_this_cluster(struct str server, struct str name) {
        if (server.n > 0)
                return glob_match(server, STR(IN_CLUSTER_SERVER));
        return name.n > 0 && glob_match(name, STR(IN_CLUSTER_NAME));
}

static void read_destinations(struct reader *r, struct config_project *p) {
        static const char path[] = "spec.destinations";
        const struct value *list = list_at(r, path);
        size_t count = value_count(list), kept = 0;
        struct manifest_rule *rules = arena_zalloc(r->a, (count + 1) * sizeof(*rules));

        for (size_t i = 0; i < count; i++) {
                const struct value *entry = list->list.items[i];
                struct str server = text_of(r, entry, "server", path), name = text_of(r, entry, "name", path);
                struct str ns = text_of(r, entry, "namespace", path);

                if (str_starts(server, STR("!")) || str_starts(name, STR("!")) || str_starts(ns, STR("!")))
                        reader_refuse(r, entry->line, "%s: negated destinations are not implemented yet", path);
                else if (is_this_cluster(server, name) && ns.n > 0)
                        rules[kept++].ns = ns;
        }
        p->destinations = (struct manifest_rules){ rules, kept };
}

void config_read_project(struct reader *r) {
        struct manifest_rules none = { no_rules, 0 }, any = { 0 };
        struct config_project p = { .name = r->o->name, .place = { r->o->file, r->o->line } }, *all;

        config_check_keys(r, keys, ARRAY_LEN(keys));
        read_repos(r, &p);
        read_destinations(r, &p);
        /* Argo CD: without a list no cluster-scoped kind is permitted, and every namespaced one. */
        read_kinds(r, "spec.clusterResourceWhitelist", none, &p.cluster_allow);
        read_kinds(r, "spec.clusterResourceBlacklist", none, &p.cluster_deny);
        read_kinds(r, "spec.namespaceResourceWhitelist", any, &p.namespaced_allow);
        read_kinds(r, "spec.namespaceResourceBlacklist", none, &p.namespaced_deny);
        p.refusal = r->refusal;
        p.refusal_place = r->refusal_place;

        for (size_t i = 0; i < r->c->project_count; i++)
                if (str_eq(r->c->projects[i].name, p.name))
                        reader_error(r, r->o->line, "AppProject %.*s is defined twice, first at %s", STR_FMT(p.name),
                                     config_place_text(r->c->projects[i].place, r->a).p);
        all = arena_alloc(r->a, (r->c->project_count + 1) * sizeof(*all));
        if (r->c->project_count > 0)
                memcpy(all, r->c->projects, r->c->project_count * sizeof(*all));
        all[r->c->project_count++] = p;
        r->c->projects = all;
}
