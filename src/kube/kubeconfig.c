/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubeconfig.h"

#include <errno.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/yaml.h"
#include "kube/files.h"
#include "kube/kubeconfig_impl.h"

#define KUBECONFIG_MAX_FILES 64

static void pem_done(struct kube_pem *pem) {
        if (pem->data)
                explicit_bzero(pem->data, pem->data_bytes);
        free(pem->data);
        free(pem->path);
        free(pem->origin);
}

static void free_all(char **texts, size_t count) {
        for (size_t i = 0; i < count; i++)
                free(texts[i]);
        free(texts);
}

void kube_config_free(struct kube_config *config) {
        if (!config)
                return;

        char *texts[] = { config->server,  config->shown,  config->scheme, config->host,      config->port,
                          config->prefix,  config->origin, config->context,   config->cluster,
                          config->user,    config->namespace, config->tls_server_name, config->token_file };
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                free(texts[i]);
        if (config->token)
                explicit_bzero(config->token, strlen(config->token));
        free(config->token);
        pem_done(&config->ca);
        pem_done(&config->client_cert);
        pem_done(&config->client_key);
        free_all(config->headers, config->header_count);
        free_all(config->warnings, config->warning_count);
        free(config);
}

void kubeconfig_warn(struct kube_config *config, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf text = buf_make(4096);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);

        config->warnings = mem_realloc(config->warnings, (config->warning_count + 1) * sizeof(char *));
        config->warnings[config->warning_count++] = buf_take(&text);
}

/* What a file may hold: checked as a whole, before anything is looked up in it. */

static const struct section {
        const char *list; /* top-level key */
        const char *kind; /* key of the entry's own map */
} sections[] = { { "contexts", "context" }, { "clusters", "cluster" }, { "users", "user" } };

static uint32_t line_of(const struct value *v) {
        return v && v->line ? v->line : 1;
}

static int check_entry(const char *path, const struct section *section, const struct value *item, struct map *names,
                       struct err *err) {
        struct str name = value_text(value_getc(item, "name"));
        const struct value *fields = value_getc(item, section->kind);

        if (!name.n)
                return err_set(err, ERR_INVAL, "%s:%u: an entry of %s has no name", path, line_of(item), section->list);
        if (map_find(names, name))
                return err_set(err, ERR_INVAL, "%s:%u: %s names \"%.*s\" twice", path, line_of(item), section->list,
                               STR_FMT(name));
        map_set(names, name, (void *)item);
        if (fields && !value_is(fields, VALUE_MAP) && !value_is(fields, VALUE_NULL))
                return err_set(err, ERR_INVAL, "%s:%u: %s \"%.*s\" must be a map", path, line_of(fields), section->kind,
                               STR_FMT(name));
        return 0;
}

static int check_section(const char *path, const struct section *section, const struct value *root, struct err *err) {
        const struct value *list = value_getc(root, section->list);
        _cleanup_(map_freep) struct map *names = NULL;
        int r = 0;

        if (!list || value_is(list, VALUE_NULL))
                return 0;
        if (!value_is(list, VALUE_LIST))
                return err_set(err, ERR_INVAL, "%s:%u: %s must be a list", path, line_of(list), section->list);
        names = map_new(NULL);
        for (size_t i = 0; i < value_count(list) && r == 0; i++)
                r = check_entry(path, section, list->list.items[i], names, err);
        return r;
}

static int check_heading(const char *path, const struct value *root, const char *key, const char *wanted,
                         struct err *err) {
        const struct value *v = value_getc(root, key);
        struct str text = value_text(v);

        if (!v || value_is(v, VALUE_NULL) || str_eqc(text, wanted))
                return 0;
        return err_set(err, ERR_INVAL, "%s:%u: not a kubeconfig: %s is \"%.*s\", not %s", path, line_of(v), key,
                       STR_FMT(text), wanted);
}

static int check_file(const char *path, const struct value *root, struct err *err) {
        const struct value *current = value_getc(root, "current-context");
        int r;

        if (!value_is(root, VALUE_MAP))
                return err_set(err, ERR_INVAL, "%s:%u: not a kubeconfig: a map is expected", path, line_of(root));
        r = check_heading(path, root, "kind", "Config", err);
        if (r == 0)
                r = check_heading(path, root, "apiVersion", "v1", err);
        if (r == 0 && current && !value_is(current, VALUE_STRING) && !value_is(current, VALUE_NULL))
                r = err_set(err, ERR_INVAL, "%s:%u: current-context must be a string", path, line_of(current));
        for (size_t i = 0; i < ARRAY_LEN(sections) && r == 0; i++)
                r = check_section(path, &sections[i], root, err);
        return r;
}

static int parse_file(struct str text, const char *path, struct arena *arena, struct kubeconfig_file *ret_file,
                      struct err *err) {
        const struct yaml_document *docs = NULL;
        size_t count = 0;
        int r = yaml_parse(text, arena, &docs, &count, err);

        if (r < 0)
                return err_wrap(err, r, "%s", path);

        *ret_file = (struct kubeconfig_file){ .path = path };
        for (size_t i = 0; i < count; i++) {
                if (!docs[i].value || value_is(docs[i].value, VALUE_NULL))
                        continue;
                if (ret_file->root)
                        return err_set(err, ERR_INVAL, "%s:%u: a kubeconfig is one document, this is another", path,
                                       docs[i].line);
                ret_file->root = docs[i].value;
        }
        return ret_file->root ? check_file(path, ret_file->root, err) : 0;
}

/* Looking up: the first file that has the entry wins with all of it. */

static bool find_entry(const struct kubeconfig_file *files, size_t count, const struct section *section,
                       struct str name, struct kubeconfig_entry *ret_entry) {
        for (size_t f = 0; f < count; f++) {
                const struct value *list = value_getc(files[f].root, section->list);

                for (size_t i = 0; i < value_count(list); i++) {
                        const struct value *item = list->list.items[i];

                        if (!str_eq(value_text(value_getc(item, "name")), name))
                                continue;
                        *ret_entry = (struct kubeconfig_entry){ .path = files[f].path,
                                                                .kind = section->kind,
                                                                .name = name,
                                                                .line = line_of(item),
                                                                .fields = value_getc(item, section->kind) };
                        return true;
                }
        }
        return false;
}

static struct str current_context(const struct kubeconfig_file *files, size_t count) {
        for (size_t f = 0; f < count; f++) {
                struct str name = value_text(value_getc(files[f].root, "current-context"));

                if (name.n)
                        return name;
        }
        return (struct str){ 0 };
}

/* "dev, prod", at most a line of them. */
static void add_names(const struct kubeconfig_file *files, size_t count, const struct section *section,
                      struct buf *out) {
        for (size_t f = 0; f < count; f++) {
                const struct value *list = value_getc(files[f].root, section->list);

                for (size_t i = 0; i < value_count(list) && out->n < 400; i++)
                        buf_addf(out, "%s%.*s", out->n ? ", " : "",
                                 STR_FMT(value_text(value_getc(list->list.items[i], "name"))));
        }
        if (!out->n)
                buf_addc(out, "none");
}

static int no_context(const struct kubeconfig_file *files, size_t count, struct str wanted, struct err *err) {
        _cleanup_(buf_done) struct buf names = buf_make(64 * KIB);

        add_names(files, count, &sections[0], &names);
        if (!wanted.n)
                return err_set(err, ERR_NOTFOUND, "%s: current-context is not set and no context was named (there are: %s)",
                               files[0].path, names.p);
        return err_set(err, ERR_NOTFOUND, "%s: there is no context \"%.*s\" (there are: %s)", files[0].path,
                       STR_FMT(wanted), names.p);
}

/* The cluster or user that a context names; an unnamed user is fine and stays empty. */
static int find_named(const struct kubeconfig_file *files, size_t count, const struct section *section,
                      const struct kubeconfig_entry *context, struct kubeconfig_entry *ret_entry, struct err *err) {
        struct str name = { 0 };
        int r = kubeconfig_text(context, section->kind, &name, err);

        if (r < 0 || (!name.n && strcmp(section->kind, "user") == 0))
                return r;
        if (!name.n)
                return err_set(err, ERR_INVAL, "%s:%u: context \"%.*s\" names no %s", context->path, context->line,
                               STR_FMT(context->name), section->kind);
        if (!find_entry(files, count, section, name, ret_entry))
                return err_set(err, ERR_INVAL, "%s:%u: context \"%.*s\" names the %s \"%.*s\", which does not exist",
                               context->path, kubeconfig_line(context, section->kind), STR_FMT(context->name),
                               section->kind, STR_FMT(name));
        return 0;
}

static int use_context(struct kube_config *config, const struct kubeconfig_entry *context, struct err *err) {
        static const char *const known[] = { "cluster", "user", "namespace", "extensions", NULL };
        struct str namespace = { 0 };
        int r = kubeconfig_text(context, "namespace", &namespace, err);

        if (r < 0)
                return r;
        config->context = str_dup(context->name);
        config->namespace = str_dup(namespace.n ? namespace : STR("default"));
        kubeconfig_warn_unknown(config, context, known);
        return 0;
}

static int build(const struct kubeconfig_file *files, size_t count, const char *wanted, struct kube_config **ret_config,
                 struct err *err) {
        _cleanup_(kube_config_freep) struct kube_config *config = mem_zalloc(sizeof *config);
        struct kubeconfig_entry context = { 0 }, cluster = { 0 }, user = { 0 };
        struct str name = wanted && *wanted ? str_from(wanted) : current_context(files, count);
        int r;

        if (!name.n || !find_entry(files, count, &sections[0], name, &context))
                return no_context(files, count, name, err);

        r = find_named(files, count, &sections[1], &context, &cluster, err);
        if (r == 0)
                r = find_named(files, count, &sections[2], &context, &user, err);
        if (r == 0)
                r = use_context(config, &context, err);
        if (r == 0)
                r = kubeconfig_use_cluster(config, &cluster, err);
        if (r == 0 && user.path)
                r = kubeconfig_use_user(config, &user, err);
        if (r < 0)
                return r;

        *ret_config = TAKE_PTR(config);
        return 0;
}

int kube_config_from_text(struct str text, const char *path, const char *context, struct kube_config **ret_config,
                          struct err *err) {
        _cleanup_(arena_freep) struct arena *arena = arena_new(0);
        struct kubeconfig_file file = { 0 };
        int r = parse_file(text, path, arena, &file, err);

        return r < 0 ? r : build(&file, 1, context, ret_config, err);
}

/* The parsed bytes of all files hold keys and tokens until the arena goes; they are never shown. */
static int read_file(const char *path, struct arena *arena, struct kubeconfig_file *ret_file, struct err *err) {
        _cleanup_(buf_done) struct buf text = buf_make(CONFIG_MAX_FILE_BYTES);
        int r = files_read(path, &text, err);

        return r < 0 ? r : parse_file(buf_str(&text), path, arena, ret_file, err);
}

static int none_exists(const char *const *paths, size_t count, struct err *err) {
        if (count == 1)
                return err_set(err, ERR_NOTFOUND, "the kubeconfig %s does not exist", paths[0]);
        return err_set(err, ERR_NOTFOUND, "none of the %zu kubeconfig files exists (the first is %s)", count, paths[0]);
}

int kube_config_from_files(const char *const *paths, size_t count, const char *context,
                           struct kube_config **ret_config, struct err *err) {
        _cleanup_(arena_freep) struct arena *arena = arena_new(0);
        struct kubeconfig_file files[KUBECONFIG_MAX_FILES] = { 0 };
        size_t found = 0;

        if (count > KUBECONFIG_MAX_FILES)
                return err_set(err, ERR_LIMIT, "more than %d kubeconfig files", KUBECONFIG_MAX_FILES);
        for (size_t i = 0; i < count; i++) {
                struct err unread = { 0 };
                int r = read_file(paths[i], arena, &files[found], &unread);

                if (r == ERR_NOTFOUND)
                        continue;
                if (r < 0)
                        return err_set(err, r, "%s", unread.msg);
                found++;
        }
        if (!found)
                return none_exists(paths, count, err);
        return build(files, found, context, ret_config, err);
}
