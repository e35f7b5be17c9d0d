/* SPDX-License-Identifier: Apache-2.0 */
/* What can only be said once documents and flags are all read: names, projects, credentials, permissions. */
#include "agent/config_impl.h"
#include "base/glob.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

static bool is_alnum(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The Kubernetes rule for label values; empty is allowed here: agent/ makes one. */
static bool is_label_value(struct str s) {
        if (s.n == 0)
                return true;
        if (s.n > 63 || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1]))
                return false;
        for (size_t i = 0; i < s.n; i++)
                if (!is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_' && s.p[i] != '.')
                        return false;
        return true;
}

static void refuse(struct config *c, const struct config_app *app, struct config_place place, struct str message) {
        config_add_problem(c, (struct config_problem){
                .severity = CONFIG_REFUSED,
                .place = place.file.n ? place : app->place,
                .app = config_app_title(app->ns, app->name, c->arena),
                .message = message,
        });
        c->refused_count++;
}

static void set_instance(const struct config *c, struct config_app *app) {
        bool bare = app->ns.n == 0 || str_eq(app->ns, c->agent.ns) || str_eq(app->ns, c->agent.control_ns);

        app->instance = bare ? app->name
                             : arena_strf(c->arena, "%.*s_%.*s", STR_FMT(app->ns), STR_FMT(app->name));
}

/* Projects. */

static size_t slashes(struct str s) {
        size_t n = 0;

        for (size_t i = 0; i < s.n; i++)
                n += s.p[i] == '/';
        return n;
}

/* Argo CD: in these globs `*` stops at a slash, `**` does not, and a lone `*` is everything. */
static bool repo_fits(struct str glob, struct str url) {
        if (str_eqc(glob, "*"))
                return true;
        return glob_match(glob, url) && (str_contains(glob, STR("**")) || slashes(glob) == slashes(url));
}

static bool repo_is_permitted(const struct manifest_rules *repos, struct str url) {
        bool permitted = false;

        for (size_t i = 0; i < repos->count; i++) {
                struct str glob = repos->rules[i].name;

                if (str_starts(glob, STR("!")) && repo_fits(str_sub(glob, 1, glob.n), url))
                        return false;
                permitted |= repo_fits(glob, url);
        }
        return permitted;
}

static const struct config_project *find_project(const struct config *c, struct str name) {
        for (size_t i = 0; i < c->project_count; i++)
                if (str_eq(c->projects[i].name, name))
                        return &c->projects[i];
        return NULL;
}

/* " https://…", where it is not clear which one is meant. */
static const char *which(const struct config *c, const struct config_app *app, const struct config_source *source) {
        return app->source_count > 1 ? arena_strf(c->arena, " %.*s", STR_FMT(source->repo_url)).p : "";
}

static bool permits_sources(struct config *c, struct config_app *app, const struct config_project *p) {
        for (size_t i = 0; i < app->source_count; i++) {
                const struct config_source *source = &app->sources[i];

                if (repo_is_permitted(&p->source_repos, source->repo_url) ||
                    config_has_repository_of(c, source->repo_url, app->project_name))
                        continue;
                refuse(c, app, app->source_count > 1 ? source->place : app->place,
                       arena_strf(c->arena, "its project %.*s does not permit the repository%s", STR_FMT(p->name),
                                  which(c, app, source)));
                return false;
        }
        return true;
}

/* Without any AppProject, projects are not in use; with some, an unknown one may be a boundary that was left out. */
static bool settle_project(struct config *c, struct config_app *app) {
        const struct config_project *p = app->from_flags ? NULL : find_project(c, app->project_name);

        app->project = p;
        if (!p && (app->from_flags || c->project_count == 0 || str_eqc(app->project_name, "default")))
                return true;
        if (!p)
                refuse(c, app, app->place, arena_strf(c->arena, "project %.*s is not in the configuration",
                                                      STR_FMT(app->project_name)));
        else if (p->refusal.n > 0)
                refuse(c, app, p->refusal_place, arena_strf(c->arena, "its project %.*s: %.*s", STR_FMT(p->name),
                                                            STR_FMT(p->refusal)));
        else
                return permits_sources(c, app, p);
        return false;
}

static bool settle_repository(struct config *c, struct config_app *app, struct config_source *source) {
        const struct config_repository *repo = config_find_repository(c, source->repo_url,
                                                                      app->from_flags ? STR("") : app->project_name);

        source->repository = repo;
        if (!app->from_flags && !c->agent.allow_file_repositories && str_starts(source->repo_url, STR("file://"))) {
                refuse(c, app, app->place, STR("repositories of this machine need --allow-file-repositories, or "
                                               "allowFileRepositories in the Agent document"));
                return false;
        }
        if (repo && repo->refusal.n > 0) {
                refuse(c, app, repo->refusal_place, arena_strf(c->arena, "its repository%s: %.*s",
                                                               which(c, app, source), STR_FMT(repo->refusal)));
                return false;
        }
        return true;
}

static bool settle_repositories(struct config *c, struct config_app *app) {
        for (size_t i = 0; i < app->source_count; i++)
                if (!settle_repository(c, app, &app->sources[i]))
                        return false;
        return true;
}

/* Two applications of one instance name would take each other's objects for their own. */
static bool settle_name(struct config *c, struct config_app *app, size_t before) {
        set_instance(c, app);
        for (size_t i = 0; i < before; i++)
                if (str_eq(c->apps[i].instance, app->instance)) {
                        refuse(c, app, app->place,
                               arena_strf(c->arena, "it would have the tracking name of the application at %s",
                                          config_place_text(c->apps[i].place, c->arena).p));
                        return false;
                }
        return true;
}

/* The rule of namespaces' names (RFC 1123); empty is none. */
static bool is_namespace(struct str s) {
        bool legal = s.n <= 63;

        for (size_t i = 0; i < s.n; i++) {
                bool edge = i == 0 || i + 1 == s.n;

                legal &= (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] == '-' && !edge);
        }
        return legal;
}

static bool settle_namespaces(struct config *c, struct config_app *app) {
        _cleanup_(buf_done) struct buf quoted = buf_make(4096);
        struct str ns = is_namespace(c->agent.ns) ? app->destination_namespace : c->agent.ns;

        if (is_namespace(ns))
                return true;
        value_print_string(str_sub(ns, 0, 100), &quoted);
        refuse(c, app, app->place, arena_strf(c->arena, "%s is no legal name of a namespace", quoted.p));
        return false;
}

/* Two that make one namespace would write over each other for ever: the first one's metadata count. */
static void settle_namespace_metadata(struct config *c, struct config_app *app, size_t before) {
        for (size_t i = 0; app->namespace_text.n && i < before; i++) {
                const struct config_app *other = &c->apps[i];

                if (other->suspended || !other->namespace_text.n ||
                    !str_eq(other->destination_namespace, app->destination_namespace))
                        continue;
                if (!str_eq(other->namespace_text, app->namespace_text))
                        config_add_problem(c, (struct config_problem){
                                .severity = CONFIG_WARNING, .place = app->namespace_place,
                                .app = config_app_title(app->ns, app->name, c->arena),
                                .message = arena_strf(c->arena, "other metadata of namespace %.*s stand at %.*s, and those count",
                                                      STR_FMT(app->destination_namespace),
                                                      STR_FMT(config_place_text(other->namespace_place, c->arena))),
                        });
                app->namespace_text = STR("");
        }
}

static bool settle_app(struct config *c, struct config_app *app, size_t before) {
        if (!settle_namespaces(c, app))
                return false;
        if (!is_label_value(c->agent.installation_id)) {
                refuse(c, app, app->place, STR("the installation id is no legal label value"));
                return false;
        }
        return settle_name(c, app, before) && settle_project(c, app) && settle_repositories(c, app);
}

/* First match wins: the application's own rules come before the agent's. */
static void settle_rules(const struct config *c, struct config_app *app) {
        struct config_rules own = app->own_rules, all = c->agent.rules;
        struct policy_rule *rules = arena_alloc(c->arena, (own.count + all.count + 1) * sizeof *rules);

        if (own.count)
                memcpy(rules, own.rules, own.count * sizeof *rules);
        if (all.count)
                memcpy(rules + own.count, all.rules, all.count * sizeof *rules);
        app->policy = (struct policy){ rules, own.count + all.count };
}

/* All of them count; none can take another back. */
static void settle_ignores(const struct config *c, struct config_app *app) {
        struct config_ignores own = app->own_ignores, all = c->ignores;
        struct config_ignore *rules = arena_alloc(c->arena, (own.count + all.count + 1) * sizeof *rules);

        if (own.count)
                memcpy(rules, own.rules, own.count * sizeof *rules);
        if (all.count)
                memcpy(rules + own.count, all.rules, all.count * sizeof *rules);
        app->ignores = (struct config_ignores){ rules, own.count + all.count };
}

void config_settle(struct config *c) {
        size_t kept = 0;

        for (size_t i = 0; i < c->app_count; i++) {
                struct config_app app = c->apps[i];

                settle_rules(c, &app);
                settle_ignores(c, &app);
                app.filter = c->filter;
                app.known_fields = c->known_fields;
                if (!settle_app(c, &app, kept))
                        continue;
                settle_namespace_metadata(c, &app, kept);
                c->apps[kept++] = app;
        }
        c->app_count = kept;
        config_settle_health(c);
}

struct manifest_protection config_protection(const struct config *c, const struct config_app *app) {
        /* deploy/ names everything it makes outside truce's namespace so. */
        static const struct manifest_rule own[] = {
                { { RBAC_GROUP, sizeof(RBAC_GROUP) - 1 }, { "ClusterRole*", 12 }, { NULL, 0 }, { "truce", 5 } },
                { { RBAC_GROUP, sizeof(RBAC_GROUP) - 1 }, { "ClusterRole*", 12 }, { NULL, 0 }, { "truce-*", 7 } },
        };
        struct manifest_protection p = {
                .own_namespace = c->agent.ns,
                /* Whoever keeps truce's records in "default" shares it with others. */
                .whole_namespace = !str_eqc(c->agent.ns, "default"),
                .own = { own, ARRAY_LEN(own) },
                .allow_own = c->agent.allow_own,
                .filter = app->filter,
        };

        if (app->project) {
                p.cluster_allow = app->project->cluster_allow;
                p.cluster_deny = app->project->cluster_deny;
                p.namespaced_allow = app->project->namespaced_allow;
                p.namespaced_deny = app->project->namespaced_deny;
                p.destinations = app->project->destinations;
        }
        return p;
}
