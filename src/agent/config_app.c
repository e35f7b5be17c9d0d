/* SPDX-License-Identifier: Apache-2.0 */
/* Application documents (argoproj.io/v1alpha1), and applications from flags. */
#include "agent/config_impl.h"
#include "git/refs.h"
#include "git/tree.h"
#include "git/url.h"
#include "base/glob.h"

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
        { "spec.source.name", USED },
        { "spec.source.path", USED },
        { "spec.source.plugin", SETTING_LATER, "plug-ins are not implemented yet" },
        { "spec.source.ref", IRRELEVANT }, /* values for Helm */
        { "spec.source.repoURL", USED },
        { "spec.source.targetRevision", USED },
        { "spec.sourceHydrator", SETTING_LATER, "hydration is not implemented yet" },
        { "spec.sources", USED },
        { "spec.syncPolicy.automated.allowEmpty", USED },
        { "spec.syncPolicy.automated.enabled", USED },
        { "spec.syncPolicy.automated.prune", USED },
        { "spec.syncPolicy.automated.selfHeal", USED },
        { "spec.syncPolicy.managedNamespaceMetadata.annotations", USED },
        { "spec.syncPolicy.managedNamespaceMetadata.labels", USED },
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
                .project_name = STR("default"),
                .retry = { .limit = -1, .first_ms = 5000, .factor = 2, .max_ms = 3 * 60 * 1000 },
        };
}

struct config_source config_source_default(void) {
        return (struct config_source){ .path = STR("."), .revision = STR("HEAD") };
}

int config_clean_source(struct config_source *source, struct arena *a, struct config_repository *ret_inline,
                        struct err *err) {
        struct git_url url;
        struct str path;
        int r = git_url_parse(source->repo_url, a, &url, err);

        if (r < 0)
                return r;
        r = tree_clean_path(source->path, a, &path, err);
        if (r < 0)
                return r;

        source->repo_url = url.text;
        source->path = path.n ? path : STR(".");
        *ret_inline = (struct config_repository){ .url = url.text, .username = url.username, .password = url.password };
        return 0;
}

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

/* Parts of the document. */

static void read_glob(struct reader *r, const char *path, struct str *ret) {
        struct err err;

        config_text(r, path, ret);
        if (glob_check(*ret, &err) < 0)
                reader_error(r, config_line(r, path), "%s: %s", config_shown(r, path), err.msg);
}

/* Only the repository knows whether there is such a thing; whether there can be is known here. */
static void read_revision(struct reader *r, struct config_source *source) {
        static const char path[] = "spec.source.targetRevision";
        enum git_word_kind kind;
        struct git_id id;
        struct err err;

        config_text(r, path, &source->revision);
        if (source->revision.n == 0)
                source->revision = STR("HEAD");
        if (git_word_check(source->revision, &kind, &id, &err) < 0)
                reader_refuse(r, config_line(r, path), "%s: %s", config_shown(r, path), err.msg);
}

static void read_url(struct reader *r, struct config_source *source) {
        const char *where = config_shown(r, "spec.source");
        struct config_repository in_url;
        struct err err;

        /* A chart's URL is no Git repository's: refused for that already. */
        if (r->refused && (source->repo_url.n == 0 || config_find(r, "spec.source.chart")))
                return;
        if (source->repo_url.n == 0) {
                reader_error(r, config_line(r, "spec.source"), "%s.repoURL is missing", where);
        } else if (config_clean_source(source, r->a, &in_url, &err) < 0) {
                if (err.code == ERR_UNSUPPORTED)
                        reader_refuse(r, config_line(r, "spec.source.repoURL"), "%s", err.msg);
                else
                        reader_error(r, config_line(r, "spec.source"), "%s: %s", where, err.msg);
        } else if (in_url.username.n > 0 || in_url.password.n > 0) {
                in_url.place = (struct config_place){ r->o->file, r->o->line };
                config_add_repository(r->c, &in_url);
        }
}

/* Of `spec.source`, or of the element that stands for it. */
static struct config_source read_source(struct reader *r) {
        struct config_source source = config_source_default();

        source.place = (struct config_place){ r->o->file, config_line(r, "spec.source") };
        config_text(r, "spec.source.repoURL", &source.repo_url);
        config_text(r, "spec.source.path", &source.path);
        config_bool(r, "spec.source.directory.recurse", &source.recurse);
        config_bool(r, "spec.source.directory.disableExtensionFilter", &source.any_extension);
        read_glob(r, "spec.source.directory.include", &source.include);
        read_glob(r, "spec.source.directory.exclude", &source.exclude);
        read_revision(r, &source);
        read_url(r, &source);
        return source;
}

static void add_source(struct reader *r, struct config_app *app, struct config_source source) {
        app->sources = config_grow(r->c, app->sources, app->source_count, sizeof source);
        app->sources[app->source_count++] = source;
}

/* The name that it was given, else the repository's. */
static struct str title_of(struct reader *r, const struct config_source *source) {
        struct str name = { 0 };

        config_text(r, "spec.source.name", &name);
        return name.n ? name : name_from_url(source->repo_url, r->a);
}

/* Only gives values to Helm: nothing of it is rendered. */
static bool is_for_values(const struct reader *r) {
        return config_find(r, "spec.source.ref") && !config_find(r, "spec.source.path") && !config_find(r, "spec.source.chart");
}

static void read_element(struct reader *r, struct config_app *app, const struct value *element, size_t i) {
        struct config_source source;

        if (!value_is(element, VALUE_MAP)) {
                reader_error(r, element->line, "spec.sources[%zu] must be a map, not a %s", i, value_kind_name(element->kind));
                return;
        }
        r->alias.path = "spec.source";
        r->alias.shown = arena_strf(r->a, "spec.sources[%zu]", i).p;
        r->alias.value = element;
        config_check_keys(r, keys, ARRAY_LEN(keys));
        source = read_source(r);
        source.title = title_of(r, &source);
        if (!is_for_values(r))
                add_source(r, app, source);
        r->alias.value = NULL;
}

/* Two that are read at two revisions, or are of two repositories, and go by one name. */
static bool shares_title(const struct config_app *app, size_t i) {
        const struct config_source *s = &app->sources[i];

        for (size_t k = 0; k < app->source_count; k++) {
                const struct config_source *other = &app->sources[k];

                if (str_eq(s->title, other->title) &&
                    (!str_eq(s->repo_url, other->repo_url) || !str_eq(s->revision, other->revision)))
                        return true;
        }
        return false;
}

static void settle_titles(struct reader *r, struct config_app *app) {
        struct str *titles = arena_alloc(r->a, (app->source_count + 1) * sizeof *titles);

        for (size_t i = 0; i < app->source_count; i++)
                titles[i] = shares_title(app, i) ? arena_strf(r->a, "%.*s#%zu", STR_FMT(app->sources[i].title), i + 1)
                                                 : app->sources[i].title;
        for (size_t i = 0; i < app->source_count; i++)
                app->sources[i].title = app->source_count > 1 ? titles[i] : STR("");
}

static void read_sources(struct reader *r, struct config_app *app, const struct value *list) {
        if (!value_is(list, VALUE_LIST) || value_count(list) > CONFIG_MAX_SOURCES) {
                reader_error(r, config_line(r, "spec.sources"), "spec.sources must be a list of at most %d sources",
                             CONFIG_MAX_SOURCES);
                return;
        }
        for (size_t i = 0; i < list->list.count; i++)
                read_element(r, app, list->list.items[i], i);
        if (app->source_count == 0 && !r->refused && !r->bad)
                reader_refuse(r, config_line(r, "spec.sources"), "spec.sources: none of them has anything to render");
        settle_titles(r, app);
}

/*
 * As in Argo CD `sources` are what counts where there are both. Takes `source` out of the document then, and returns the
 * list; NULL: there is no list.
 */
static const struct value *choose_sources(struct reader *r, struct manifest_object *o) {
        static const struct str path[] = { { "spec", 4 }, { "source", 6 } };
        const struct value *list = config_find(r, "spec.sources");

        if (!list || (value_is(list, VALUE_LIST) && value_count(list) == 0))
                return NULL;
        if (config_find(r, "spec.source")) {
                reader_irrelevant(r, config_line(r, "spec.source"), STR("spec.source"));
                o->value = value_with_path(r->a, o->value, path, ARRAY_LEN(path), NULL);
        }
        return list;
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

/* Of several the last one counts. */
static void read_propagation(struct config_app *app, struct str option) {
        static const struct {
                const char *option;
                enum kube_propagation propagation;
        } all[] = {
                { "PrunePropagationPolicy=background", KUBE_PROPAGATION_BACKGROUND },
                { "PrunePropagationPolicy=foreground", KUBE_PROPAGATION_FOREGROUND },
                { "PrunePropagationPolicy=orphan", KUBE_PROPAGATION_ORPHAN },
        };

        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                if (str_eqc(option, all[i].option))
                        app->prune_propagation = all[i].propagation;
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
                read_propagation(app, text);
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

#define METADATA "spec.syncPolicy.managedNamespaceMetadata"

static void add_metadata(struct reader *r, struct value_map_builder *b, const char *key, const char *path) {
        const struct value *map = config_find(r, path);

        for (size_t i = 0; value_is(map, VALUE_MAP) && i < map->map.count; i++) {
                const struct value_member *m = &map->map.members[i];

                if (!value_is(m->value, VALUE_STRING))
                        reader_error(r, m->line, "%s.%.*s must be a string, not a %s", path, STR_FMT(m->key),
                                     value_kind_name(m->value->kind));
        }
        if (map && !value_is(map, VALUE_MAP))
                reader_error(r, config_line(r, path), "%s must be a map, not a %s", path, value_kind_name(map->kind));
        else if (map)
                value_map_add(b, str_from(key), map, 0);
}

/* As in Argo CD only with CreateNamespace=true: the namespace with these labels and annotations, and nothing else. */
static void read_namespace_metadata(struct reader *r, struct config_app *app) {
        struct value_map_builder metadata = { 0 }, object = { 0 };

        add_metadata(r, &metadata, "labels", METADATA ".labels");
        add_metadata(r, &metadata, "annotations", METADATA ".annotations");
        value_map_add(&metadata, STR("name"), value_string(r->a, app->destination_namespace, 0), 0);
        value_map_add(&object, STR("apiVersion"), value_stringc(r->a, "v1"), 0);
        value_map_add(&object, STR("kind"), value_stringc(r->a, "Namespace"), 0);
        value_map_add(&object, STR("metadata"), value_map_end(&metadata, r->a, 0), 0);
        const struct value *namespace = value_map_end(&object, r->a, 0);

        if (!config_find(r, METADATA) || r->bad)
                return;
        if (app->create_namespace && app->destination_namespace.n)
                app->namespace_text = value_canonical(r->a, namespace);
        else
                reader_warn(r, config_line(r, METADATA), METADATA " does nothing without %s",
                            app->create_namespace ? "spec.destination.namespace" : "the sync option CreateNamespace=true");
        app->namespace_place = (struct config_place){ r->o->file, config_line(r, METADATA) };
}

/* Annotations of the Application document that are ours. */
static void read_annotations(struct reader *r, struct config_app *app) {
        const struct value *v = value_path(r->o->value, "metadata", "annotations", EXTRA_PATHS, NULL);

        app->report_extra = str_eqc(value_text(v), "report");
        if (v && !app->report_extra && !str_eqc(value_text(v), "remove"))
                reader_error(r, v->line, "annotation " EXTRA_PATHS " takes remove or report");
}

static void read_app(struct reader *r, struct manifest_object *o) {
        struct config_app app = config_app_default();
        const struct value *list = choose_sources(r, o);

        app.name = r->o->name;
        app.ns = r->o->ns;
        app.place = (struct config_place){ r->o->file, r->o->line };
        app.suspended = r->o->skip_reconcile;
        if (str_find(app.name, ':', 0) >= 0)
                reader_error(r, r->o->line, "metadata.name may not hold \":\"");

        config_check_keys(r, keys, ARRAY_LEN(keys));
        config_text(r, "spec.project", &app.project_name);
        if (list)
                read_sources(r, &app, list);
        else
                add_source(r, &app, read_source(r));
        read_destination(r, &app);
        read_policy(r, &app);
        read_namespace_metadata(r, &app);
        read_annotations(r, &app);
        read_compare_options(r);
        app.own_rules = config_read_app_rules(r);
        app.own_ignores = config_read_app_ignores(r);
        if (r->refused)
                r->c->refused_count++;
        else if (!r->bad)
                config_add_app(r->c, &app);
}

void config_read_app(struct reader *r) {
        struct manifest_object o = *r->o;
        const struct manifest_object *whole = r->o;

        r->o = &o;
        read_app(r, &o);
        r->o = whole;
}

/* Flags. */

#define AT(field) offsetof(struct config_app_flags, field)

const struct option_def config_app_options[] = {
        { .name = "repo", .type = OPTION_TEXT, .at = AT(repo), .word = "URL",
          .help = "Git repository: http(s)://, file:// or a path of this machine" },
        { .name = "path", .type = OPTION_TEXT, .at = AT(path), .fallback = ".", .word = "DIR",
          .help = "folder with the manifests, from the root of the repository" },
        { .name = "revision", .type = OPTION_TEXT, .at = AT(revision), .word = "REV",
          .help = "branch, tag, commit or range of versions; HEAD when left out. 'diff' and 'adopt' take it with --config as well: in place of "
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

/* "." and "../shop" are the folder that they mean. */
static struct str without_dots(struct str url, struct arena *a) {
        _cleanup_(mem_freep) char *real = NULL;

        if (url.p[0] != '/' && str_find(url, ':', 0) < 0)
                real = realpath(url.p, NULL);
        return real ? arena_str(a, str_from(real)) : url;
}

static int add_flag_credentials(struct config *c, const struct config_source *source, const struct config_app_flags *flags,
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
        repo.url = source->repo_url;
        if (repo.username.n > 0 || repo.password.n > 0)
                config_add_repository(c, &repo);
        return 0;
}

static int check_flags(const struct config *c, const struct config_app *app, struct err *err) {
        int r = glob_check(app->sources->include, err);

        if (r < 0)
                return err_wrap(err, r, "--include");
        r = glob_check(app->sources->exclude, err);
        if (r < 0)
                return err_wrap(err, r, "--exclude");
        if (str_find(app->name, ':', 0) >= 0 || str_find(app->name, '/', 0) >= 0)
                return err_set(err, ERR_INVAL, "--name may hold neither \":\" nor \"/\"");
        if (config_find_app(c, app->name))
                return err_set(err, ERR_INVAL, "application %.*s is configured already", STR_FMT(app->name));
        return 0;
}

int config_add_flags(struct config *c, const struct config_app_flags *flags, struct err *err) {
        struct config_source *source = arena_alloc(c->arena, sizeof *source);
        struct config_app app = config_app_default();
        struct config_repository in_url;
        int r;

        if (flags->repo.n == 0)
                return err_set(err, ERR_INVAL, "--repo is missing");
        *source = config_source_default();
        source->repo_url = without_dots(flags->repo, c->arena);
        source->path = flags->path;
        r = config_clean_source(source, c->arena, &in_url, err);
        if (r < 0)
                return r;
        app.sources = source;
        app.source_count = 1;

        app.from_flags = true;
        app.name_is_guessed = flags->name.n == 0;
        app.name = flags->name.n ? arena_str(c->arena, flags->name) : name_from_url(source->repo_url, c->arena);
        source->revision = arena_str(c->arena, flags->revision.n ? flags->revision : STR("HEAD"));
        app.destination_namespace = arena_str(c->arena, flags->ns);
        source->recurse = flags->recurse;
        source->include = arena_str(c->arena, flags->include);
        source->exclude = arena_str(c->arena, flags->exclude);
        app.create_namespace = flags->create_namespace;
        app.automated = !flags->no_sync;
        app.self_heal = flags->self_heal;
        app.prune = flags->prune;
        app.allow_empty = flags->allow_empty;

        r = check_flags(c, &app, err);
        if (r < 0)
                return r;
        r = add_flag_credentials(c, source, flags, &in_url, err);
        if (r < 0)
                return r;
        config_add_app(c, &app);
        return 0;
}
