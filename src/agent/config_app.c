/* SPDX-License-Identifier: Apache-2.0 */
/* Application documents (argoproj.io/v1alpha1), and applications from flags. */
#include "agent/config_impl.h"
#include "git/tree.h"
#include "git/url.h"
#include "manifest/glob.h"

#define USED SETTING_USED, NULL
#define IRRELEVANT SETTING_IRRELEVANT, NULL
#define COMPARE_OPTIONS "argocd.argoproj.io/compare-options"
#define EXTRA_PATHS "truce.dev/extra-paths"

static const struct config_key keys[] = {
        { "operation", IRRELEVANT },
        { "spec.destination.name", USED },
        { "spec.destination.namespace", USED },
        { "spec.destination.server", USED },
        { "spec.ignoreDifferences", USED },
        { "spec.info", IRRELEVANT },
        { "spec.project", USED },
        { "spec.revisionHistoryLimit", IRRELEVANT },
        { "spec.source.chart", SETTING_LATER, "Helm is not implemented yet" },
        { "spec.source.directory.disableExtensionFilter", USED },
        { "spec.source.directory.exclude", USED },
        { "spec.source.directory.include", USED },
        { "spec.source.directory.jsonnet", SETTING_LATER, "Jsonnet is not implemented yet" },
        { "spec.source.directory.recurse", USED },
        { "spec.source.helm", SETTING_LATER, "Helm is not implemented yet" },
        { "spec.source.kustomize", SETTING_LATER, "Kustomize is not implemented yet" },
        { "spec.source.name", IRRELEVANT },
        { "spec.source.path", USED },
        { "spec.source.plugin", SETTING_LATER, "plug-ins are not implemented yet" },
        { "spec.source.ref", SETTING_LATER, "several sources are not implemented yet" },
        { "spec.source.repoURL", USED },
        { "spec.source.targetRevision", USED },
        { "spec.sourceHydrator", SETTING_LATER, "hydration is not implemented yet" },
        { "spec.sources", SETTING_LATER, "several sources are not implemented yet" },
        { "spec.syncPolicy.automated.allowEmpty", USED },
        { "spec.syncPolicy.automated.enabled", USED },
        { "spec.syncPolicy.automated.prune", USED },
        { "spec.syncPolicy.automated.selfHeal", USED },
        { "spec.syncPolicy.managedNamespaceMetadata", SETTING_LATER,
          "labels and annotations of a created namespace are not implemented yet" },
        { "spec.syncPolicy.retry.backoff.duration", USED },
        { "spec.syncPolicy.retry.backoff.factor", USED },
        { "spec.syncPolicy.retry.backoff.maxDuration", USED },
        { "spec.syncPolicy.retry.limit", USED },
        /* A newer revision always pre-empts the retries of an older one. */
        { "spec.syncPolicy.retry.refresh", IRRELEVANT },
        { "spec.syncPolicy.syncOptions", USED },
};

struct config_app config_app_default(void) {
        return (struct config_app){
                .path = STR("."),
                .revision = STR("HEAD"),
                .project_name = STR("default"),
                .retry = { .limit = -1, .first_ms = 5000, .factor = 2, .max_ms = 3 * 60 * 1000 },
        };
}

int config_clean_source(struct config_app *app, struct arena *a, struct config_repository *ret_inline,
                        struct err *err) {
        struct git_url url;
        struct str path;
        int r = git_url_parse(app->repo_url, a, &url, err);

        if (r < 0)
                return r;
        r = tree_clean_path(app->path, a, &path, err);
        if (r < 0)
                return r;

        app->repo_url = url.text;
        app->path = path.n ? path : STR(".");
        *ret_inline = (struct config_repository){ .url = url.text, .username = url.username, .password = url.password };
        return 0;
}

/* Parts of the document. */

static void read_glob(struct reader *r, const char *path, struct str *ret) {
        struct err err;

        config_text(r, path, ret);
        if (glob_check(*ret, &err) < 0)
                reader_error(r, config_line(r, path), "%s: %s", path, err.msg);
}

/* "1.2.*", ">=1.0": Argo CD takes the newest tag that fits. No name of a ref has these characters. */
static bool is_constraint(struct str revision) {
        static const char signs[] = "*^~<> ";

        for (size_t i = 0; i < revision.n; i++)
                if (strchr(signs, revision.p[i]))
                        return true;
        return str_starts(revision, STR("="));
}

static void read_source(struct reader *r, struct config_app *app) {
        struct config_repository in_url;
        struct err err;

        config_text(r, "spec.source.repoURL", &app->repo_url);
        config_text(r, "spec.source.path", &app->path);
        config_text(r, "spec.source.targetRevision", &app->revision);
        config_bool(r, "spec.source.directory.recurse", &app->recurse);
        config_bool(r, "spec.source.directory.disableExtensionFilter", &app->any_extension);
        read_glob(r, "spec.source.directory.include", &app->include);
        read_glob(r, "spec.source.directory.exclude", &app->exclude);
        if (app->revision.n == 0)
                app->revision = STR("HEAD");
        if (is_constraint(app->revision))
                reader_refuse(r, config_line(r, "spec.source.targetRevision"),
                              "spec.source.targetRevision: version constraints are not implemented yet");

        /* Several sources, or a chart, whose URL is no Git repository's: refused for that already. */
        if (r->refused && (app->repo_url.n == 0 || config_find(r, "spec.source.chart")))
                return;
        if (app->repo_url.n == 0) {
                reader_error(r, config_line(r, "spec.source"), "spec.source.repoURL is missing");
        } else if (config_clean_source(app, r->a, &in_url, &err) < 0) {
                if (err.code == ERR_UNSUPPORTED)
                        reader_refuse(r, config_line(r, "spec.source.repoURL"), "%s", err.msg);
                else
                        reader_error(r, config_line(r, "spec.source"), "spec.source: %s", err.msg);
        } else if (in_url.username.n > 0 || in_url.password.n > 0) {
                in_url.place = (struct config_place){ r->o->file, r->o->line };
                config_add_repository(r->c, &in_url);
        }
}

static void read_destination(struct reader *r, struct config_app *app) {
        struct str server = { 0 }, name = { 0 };

        config_text(r, "spec.destination.server", &server);
        config_text(r, "spec.destination.name", &name);
        config_text(r, "spec.destination.namespace", &app->destination_namespace);

        if (server.n > 0 && name.n > 0)
                reader_error(r, config_line(r, "spec.destination"), "spec.destination takes a server or a name, not both");
        else if (server.n > 0 && !str_eqc(server, IN_CLUSTER_SERVER))
                reader_refuse(r, config_line(r, "spec.destination.server"),
                              "spec.destination.server: other clusters than " IN_CLUSTER_SERVER
                              " are not implemented yet");
        else if (name.n > 0 && !str_eqc(name, IN_CLUSTER_NAME))
                reader_refuse(r, config_line(r, "spec.destination.name"),
                              "spec.destination.name: other clusters than " IN_CLUSTER_NAME
                              " are not implemented yet");
}

static void read_sync_option(struct reader *r, struct config_app *app, const struct value *option) {
        const char *reason;
        struct str text = str_trim(value_text(option));

        if (!value_is(option, VALUE_STRING)) {
                reader_error(r, option->line, "spec.syncPolicy.syncOptions must be a list of strings");
                return;
        }
        switch (sync_option_class(text, SYNC_OPTION_APPLICATION, &reason)) {
        case SETTING_LATER:
                reader_refuse(r, option->line, "sync option \"%.*s\": %s", STR_FMT(text), reason);
                break;
        case SETTING_UNKNOWN:
                reader_error(r, option->line, "unknown sync option \"%.*s\"%s%s%s", STR_FMT(text),
                             reason[0] ? ", did you mean " : "", reason, reason[0] ? "?" : "");
                break;
        case SETTING_IRRELEVANT:
                reader_irrelevant(r, option->line, text);
                break;
        case SETTING_USED:
                app->create_namespace |= str_eqc(text, "CreateNamespace=true");
                app->prune_disabled |= str_eqc(text, "Prune=false");
                app->respect_ignores |= str_eqc(text, "RespectIgnoreDifferences=true");
                break;
        }
}

static void read_policy(struct reader *r, struct config_app *app) {
        const struct value *options = config_find(r, "spec.syncPolicy.syncOptions");

        app->automated = config_find(r, "spec.syncPolicy.automated") != NULL;
        config_bool(r, "spec.syncPolicy.automated.enabled", &app->automated);
        config_bool(r, "spec.syncPolicy.automated.prune", &app->prune);
        config_bool(r, "spec.syncPolicy.automated.selfHeal", &app->self_heal);
        config_bool(r, "spec.syncPolicy.automated.allowEmpty", &app->allow_empty);

        config_number(r, "spec.syncPolicy.retry.limit", -1, 1000000, &app->retry.limit);
        config_duration(r, "spec.syncPolicy.retry.backoff.duration", &app->retry.first_ms);
        config_number(r, "spec.syncPolicy.retry.backoff.factor", 1, 1000, &app->retry.factor);
        config_duration(r, "spec.syncPolicy.retry.backoff.maxDuration", &app->retry.max_ms);

        if (!options)
                return;
        if (!value_is(options, VALUE_LIST)) {
                reader_error(r, config_line(r, "spec.syncPolicy.syncOptions"),
                             "spec.syncPolicy.syncOptions must be a list of strings");
                return;
        }
        for (size_t i = 0; i < options->list.count; i++)
                read_sync_option(r, app, options->list.items[i]);
}

/* Argo CD's compare options: of an Application none that truce does not do anyway. */
static void read_compare_options(struct reader *r) {
        const struct value_member *m =
                value_member_find(value_path(r->o->value, "metadata", "annotations", NULL), STR(COMPARE_OPTIONS));
        struct str rest, option;
        const char *reason;

        if (!m)
                return;
        rest = value_text(m->value);
        while (str_next(&rest, ',', &option)) {
                option = str_trim(option);
                if (!option.n)
                        continue;
                switch (compare_option_class(option, SYNC_OPTION_APPLICATION, &reason)) {
                case SETTING_UNKNOWN:
                        reader_warn(r, m->line, COMPARE_OPTIONS ": unknown option \"%.*s\"%s%s%s", STR_FMT(option),
                                    reason[0] ? ", did you mean " : "", reason, reason[0] ? "?" : "");
                        break;
                case SETTING_IRRELEVANT:
                        reader_notice(r, m->line, COMPARE_OPTIONS ": %.*s: %s", STR_FMT(option), reason);
                        break;
                default:
                        break;
                }
        }
}

/* Annotations of the Application document that are ours. */
static void read_annotations(struct reader *r, struct config_app *app) {
        const struct value *v = value_path(r->o->value, "metadata", "annotations", EXTRA_PATHS, NULL);

        app->report_extra = str_eqc(value_text(v), "report");
        if (v && !app->report_extra && !str_eqc(value_text(v), "remove"))
                reader_error(r, v->line, "annotation " EXTRA_PATHS " takes remove or report");
}

void config_read_app(struct reader *r) {
        struct config_app app = config_app_default();

        app.name = r->o->name;
        app.ns = r->o->ns;
        app.place = (struct config_place){ r->o->file, r->o->line };
        app.suspended = r->o->skip_reconcile;
        if (str_find(app.name, ':', 0) >= 0)
                reader_error(r, r->o->line, "metadata.name may not hold \":\"");

        config_check_keys(r, keys, ARRAY_LEN(keys));
        config_text(r, "spec.project", &app.project_name);
        read_source(r, &app);
        read_destination(r, &app);
        read_policy(r, &app);
        read_annotations(r, &app);
        read_compare_options(r);
        app.own_rules = config_read_app_rules(r);
        app.own_ignores = config_read_app_ignores(r);
        if (r->refused)
                r->c->refused_count++;
        else if (!r->bad)
                config_add_app(r->c, &app);
}

/* Flags. */

#define AT(field) offsetof(struct config_app_flags, field)

const struct option_def config_app_options[] = {
        { .name = "repo", .type = OPTION_TEXT, .at = AT(repo), .word = "URL",
          .help = "Git repository: http(s)://, file:// or a path of this machine" },
        { .name = "path", .type = OPTION_TEXT, .at = AT(path), .fallback = ".", .word = "DIR",
          .help = "folder with the manifests, from the root of the repository" },
        { .name = "revision", .type = OPTION_TEXT, .at = AT(revision), .word = "REV",
          .help = "branch, tag or commit; HEAD when left out. 'diff' and 'adopt' take it with --config as well: in place of "
                  "the targetRevision of the applications whose repository has it, the others are left out" },
        { .name = "name", .type = OPTION_TEXT, .at = AT(name), .max = 200, .word = "NAME",
          .help = "name of the application; the repository's when left out. Another folder or namespace is another "
                  "application" },
        { .name = "namespace", .letter = 'n', .type = OPTION_TEXT, .at = AT(ns), .max = 63, .word = "NAMESPACE",
          .help = "namespace of objects that name none" },
        { .name = "recurse", .type = OPTION_BOOL, .at = AT(recurse), .help = "read the folders below too" },
        { .name = "include", .type = OPTION_TEXT, .at = AT(include), .word = "GLOB",
          .help = "only files that match" },
        { .name = "exclude", .type = OPTION_TEXT, .at = AT(exclude), .word = "GLOB",
          .help = "no files that match" },
        { .name = "create-namespace", .type = OPTION_BOOL, .at = AT(create_namespace),
          .help = "make the namespace when it is missing" },
        { .name = "detect-only", .type = OPTION_BOOL, .at = AT(no_sync),
          .help = "report differences, write nothing but the status" },
        { .name = "self-heal", .type = OPTION_BOOL, .at = AT(self_heal), .fallback = "true",
          .help = "undo changes made in the cluster" },
        { .name = "prune", .type = OPTION_BOOL, .at = AT(prune), .fallback = "true",
          .help = "delete what left Git, within the budget" },
        { .name = "allow-empty", .type = OPTION_BOOL, .at = AT(allow_empty),
          .help = "let an empty folder prune everything" },
        { .name = "username", .type = OPTION_TEXT, .at = AT(username), .word = "USER",
          .help = "user for the repository" },
        { .name = "password-file", .type = OPTION_TEXT, .at = AT(password_file), .word = "FILE",
          .help = "file that holds the password or token" },
};
const size_t config_app_option_count = ARRAY_LEN(config_app_options);

/* "https://host/team/shop.git" gives "shop", and so does /srv/shop/.git; what no name can hold becomes "-". */
static struct str name_from_url(struct str url, struct arena *a) {
        size_t from;
        char *p;

        if (str_ends(url, STR(".git")))
                url.n -= strlen(".git");
        while (url.n > 0 && url.p[url.n - 1] == '/')
                url.n--;
        from = url.n;
        while (from > 0 && url.p[from - 1] != '/')
                from--;
        url = str_sub(url, from, url.n);
        p = arena_alloc(a, url.n + 1);
        for (size_t i = 0; i < url.n; i++) {
                char c = url.p[i];
                bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

                p[i] = plain ? c : (c >= 'A' && c <= 'Z') ? (char)(c - 'A' + 'a') : '-';
        }
        p[url.n] = '\0';
        return url.n ? (struct str){ p, url.n } : STR("app");
}

/* "." and "../shop" are the folder that they mean. */
static struct str without_dots(struct str url, struct arena *a) {
        _cleanup_(mem_freep) char *real = NULL;

        if (url.p[0] != '/' && str_find(url, ':', 0) < 0)
                real = realpath(url.p, NULL);
        return real ? arena_str(a, str_from(real)) : url;
}

static int add_flag_credentials(struct config *c, const struct config_app *app, const struct config_app_flags *flags,
                                const struct config_repository *in_url, struct err *err) {
        struct config_repository repo = *in_url;
        struct str text;
        int r;

        if (flags->username.n > 0)
                repo.username = arena_str(c->arena, flags->username);
        if (flags->password_file.n > 0) {
                r = config_read_file(flags->password_file, c->arena, &text, err);
                if (r < 0)
                        return err_wrap(err, r, "--password-file");
                repo.password = str_trim(text);
        }
        repo.url = app->repo_url;
        if (repo.username.n > 0 || repo.password.n > 0)
                config_add_repository(c, &repo);
        return 0;
}

static int check_flags(const struct config *c, const struct config_app *app, struct err *err) {
        int r = glob_check(app->include, err);

        if (r < 0)
                return err_wrap(err, r, "--include");
        r = glob_check(app->exclude, err);
        if (r < 0)
                return err_wrap(err, r, "--exclude");
        if (str_find(app->name, ':', 0) >= 0 || str_find(app->name, '/', 0) >= 0)
                return err_set(err, ERR_INVAL, "--name may hold neither \":\" nor \"/\"");
        if (config_find_app(c, app->name))
                return err_set(err, ERR_INVAL, "application %.*s is configured already", STR_FMT(app->name));
        return 0;
}

int config_add_flags(struct config *c, const struct config_app_flags *flags, struct err *err) {
        struct config_app app = config_app_default();
        struct config_repository in_url;
        int r;

        if (flags->repo.n == 0)
                return err_set(err, ERR_INVAL, "--repo is missing");
        app.repo_url = without_dots(flags->repo, c->arena);
        app.path = flags->path;
        r = config_clean_source(&app, c->arena, &in_url, err);
        if (r < 0)
                return r;

        app.from_flags = true;
        app.name_is_guessed = flags->name.n == 0;
        app.name = flags->name.n ? arena_str(c->arena, flags->name) : name_from_url(app.repo_url, c->arena);
        app.revision = arena_str(c->arena, flags->revision.n ? flags->revision : STR("HEAD"));
        app.destination_namespace = arena_str(c->arena, flags->ns);
        app.recurse = flags->recurse;
        app.include = arena_str(c->arena, flags->include);
        app.exclude = arena_str(c->arena, flags->exclude);
        app.create_namespace = flags->create_namespace;
        app.automated = !flags->no_sync;
        app.self_heal = flags->self_heal;
        app.prune = flags->prune;
        app.allow_empty = flags->allow_empty;

        r = check_flags(c, &app, err);
        if (r < 0)
                return r;
        r = add_flag_credentials(c, &app, flags, &in_url, err);
        if (r < 0)
                return r;
        config_add_app(c, &app);
        return 0;
}
