/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/config_impl.h"

#include <stdarg.h>

#include "base/yaml.h"
#include "base/glob.h"

/* Problems. */

void *config_grow(struct config *c, const void *list, size_t n, size_t size) {
        char *all = (char *)list;

        /* Doubles at each power of two; the old places stay in the arena. */
        if ((n & (n - 1)) == 0) {
                all = arena_alloc(c->arena, (n ? 2 * n : 1) * size);
                if (n > 0)
                        memcpy(all, list, n * size);
        }
        return all;
}

void config_add_problem(struct config *c, struct config_problem p) {
        c->problems = config_grow(c, c->problems, c->problem_count, sizeof p);
        c->problems[c->problem_count++] = p;
}

static PRINTF_LIKE(2, 0) struct str vformat(struct arena *a, const char *fmt, va_list ap) {
        _cleanup_(buf_done) struct buf b = buf_make(ERR_MSG_MAX_BYTES);

        buf_vaddf(&b, fmt, ap);
        return arena_str(a, buf_str(&b));
}

static struct config_place place_of(const struct reader *r, uint32_t line) {
        /* An object of the cluster has no lines; those inside the text of one of its values would be taken for its own. */
        return (struct config_place){ r->o->file, line && r->o->line ? line : r->o->line };
}

void reader_error(struct reader *r, uint32_t line, const char *fmt, ...) {
        struct config_problem p = { .severity = CONFIG_ERROR, .place = place_of(r, line), .app = r->app };
        va_list ap;

        va_start(ap, fmt);
        p.message = vformat(r->a, fmt, ap);
        va_end(ap);
        config_add_problem(r->c, p);
        r->bad = true;
}

void reader_refuse(struct reader *r, uint32_t line, const char *fmt, ...) {
        struct config_problem p = { .severity = CONFIG_REFUSED, .place = place_of(r, line), .app = r->app };
        va_list ap;

        va_start(ap, fmt);
        p.message = vformat(r->a, fmt, ap);
        va_end(ap);
        if (!r->refused) {
                r->refusal = p.message;
                r->refusal_place = p.place;
        }
        r->refused = true;
        /* What is wrong with a project or repository is told with each application that needs it. */
        if (r->app.n > 0)
                config_add_problem(r->c, p);
}

void reader_notice(struct reader *r, uint32_t line, const char *fmt, ...) {
        struct config_problem p = { .severity = CONFIG_NOTICE, .place = place_of(r, line), .app = r->app };
        va_list ap;

        va_start(ap, fmt);
        p.message = vformat(r->a, fmt, ap);
        va_end(ap);
        config_add_problem(r->c, p);
}

void reader_warn(struct reader *r, uint32_t line, const char *fmt, ...) {
        struct config_problem p = { .severity = CONFIG_WARNING, .place = place_of(r, line), .app = r->app };
        va_list ap;

        va_start(ap, fmt);
        p.message = vformat(r->a, fmt, ap);
        va_end(ap);
        config_add_problem(r->c, p);
}

void reader_irrelevant(struct reader *r, uint32_t line, struct str key) {
        struct config *c = r->c;

        c->irrelevant = config_grow(c, c->irrelevant, c->irrelevant_count, sizeof *c->irrelevant);
        c->irrelevant[c->irrelevant_count++] = (struct config_irrelevant){ place_of(r, line), r->app, key };
}

const char *reader_place(struct reader *r, uint32_t line) {
        return config_place_text(place_of(r, line), r->a).p;
}

struct str config_place_text(struct config_place p, struct arena *a) {
        return p.line ? arena_strf(a, "%.*s:%u", STR_FMT(p.file), p.line) : arena_str(a, p.file);
}

void config_problem_print(const struct config_problem *p, struct buf *out) {
        if (p->place.file.n > 0 && p->place.line)
                buf_addf(out, "%.*s:%u: ", STR_FMT(p->place.file), p->place.line);
        else if (p->place.file.n > 0)
                buf_addf(out, "%.*s: ", STR_FMT(p->place.file));
        if (p->app.n > 0)
                buf_addf(out, "application %.*s%s: ", STR_FMT(p->app),
                         p->severity == CONFIG_REFUSED ? " is not run" : "");
        buf_add(out, p->message);
}

/* The whole. */

struct config *config_new(void) {
        struct config *c = mem_zalloc(sizeof(*c));
        struct option_group group = { "Agent", config_agent_options, config_agent_option_count, &c->agent };

        c->arena = arena_new(0);
        c->users = 1;
        options_default(&group, 1, c->arena);
        config_add_built_in_known_fields(c);
        return c;
}

struct config *config_ref(struct config *c) {
        c->users++;
        return c;
}

void config_free(struct config *c) {
        if (!c || --c->users)
                return;
        health_rules_unref(c->health);
        arena_free(c->arena);
        free(c);
}

struct str config_app_title(struct str ns, struct str name, struct arena *a) {
        return ns.n ? arena_strf(a, "%.*s/%.*s", STR_FMT(ns), STR_FMT(name)) : name;
}

void config_add_app(struct config *c, const struct config_app *app) {
        c->apps = config_grow(c, c->apps, c->app_count, sizeof *app);
        c->apps[c->app_count++] = *app;
}

void config_add_repository(struct config *c, const struct config_repository *repo) {
        c->repositories = config_grow(c, c->repositories, c->repository_count, sizeof *repo);
        c->repositories[c->repository_count++] = *repo;
}

/* Reading documents. */

struct loading {
        struct config *c;
        struct reader r;
        struct config_place agent;    /* where the Agent document stands; empty: none yet */
        size_t bytes;
        uint32_t first_line;          /* of the text at hand; 0: it has none */
};

static void read_app(struct loading *l) {
        struct reader *r = &l->r;

        r->app = config_app_title(r->o->ns, r->o->name, r->a);
        if (l->c->app_count >= CONFIG_MAX_APPS)
                reader_error(r, r->o->line, "more than %d applications", CONFIG_MAX_APPS);
        else
                config_read_app(r);
}

static void read_agent(struct loading *l) {
        if (l->agent.file.n > 0)
                reader_error(&l->r, l->r.o->line, "there is an Agent document already, at %s",
                             config_place_text(l->agent, l->r.a).p);
        l->agent = place_of(&l->r, 0);
        config_read_agent(&l->r);
}

static void read_project(struct loading *l) {
        config_read_project(&l->r);
}

static void read_secret(struct loading *l) {
        config_read_repository(&l->r);
}

static void read_configmap(struct loading *l) {
        config_read_configmap(&l->r);
}

/* The applications that it would make are not there; those beside it are. */
static void read_application_set(struct loading *l) {
        struct reader *r = &l->r;

        r->app = config_app_title(r->o->ns, r->o->name, r->a);
        reader_refuse(r, r->o->line, "ApplicationSet is not implemented yet");
        l->c->refused_count++;
}

static const struct {
        const char *group, *kind, *version; /* version NULL: any */
        void (*read)(struct loading *l);
} documents[] = {
        { "argoproj.io", "Application", "v1alpha1", read_app },
        { "argoproj.io", "AppProject", "v1alpha1", read_project },
        { "argoproj.io", "ApplicationSet", NULL, read_application_set },
        { "truce.dev", "Agent", "v1alpha1", read_agent },
        { "", "Secret", "v1", read_secret },
        { "", "ConfigMap", "v1", read_configmap },
};

static void unknown_document(struct reader *r) {
        const char *names[ARRAY_LEN(documents)], *near;

        for (size_t i = 0; i < ARRAY_LEN(documents); i++)
                names[i] = documents[i].kind;
        near = option_nearest(r->o->kind, names, ARRAY_LEN(documents));
        reader_error(r, r->o->line, "%.*s%s%.*s %.*s is nothing that truce reads%s%s%s", STR_FMT(r->o->group),
                     r->o->group.n ? "/" : "", STR_FMT(r->o->version), STR_FMT(r->o->kind),
                     near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
}

static void read_document(struct loading *l, const struct manifest_object *o, struct str file) {
        struct manifest_object here = *o;
        struct reader *r = &l->r;

        l->c->document_count++;
        here.file = file;
        if (!l->first_line)
                here.line = 0;
        r->o = &here;
        r->app = (struct str){ 0 };
        r->refused = r->bad = false;
        r->refusal = (struct str){ 0 };
        for (size_t i = 0; i < o->duplicate_key_count; i++)
                reader_error(r, o->duplicate_keys[i].line, "the key \"%.*s\" is given twice, first in line %u",
                             STR_FMT(o->duplicate_keys[i].key), o->duplicate_keys[i].first_line);

        for (size_t i = 0; i < ARRAY_LEN(documents); i++)
                if (str_eqc(o->group, documents[i].group) && str_eqc(o->kind, documents[i].kind) &&
                    (!documents[i].version || str_eqc(o->version, documents[i].version))) {
                        documents[i].read(l);
                        return;
                }
        unknown_document(r);
}

/* manifest/ does not mind what is no manifest; here it is meant to be one. */
static struct str why_irrelevant(struct config *c, struct str text) {
        const struct yaml_document *docs;
        size_t count;
        struct err err;

        if (yaml_parse(text, c->arena, &docs, &count, &err) == 0)
                return STR("holds no configuration");
        return arena_strf(c->arena, "holds no configuration: %s", err.msg);
}

/*
 * manifest/ refuses hooks and waves of objects; an Application may carry them for the benefit of whoever applies it, so
 * what is merely unsupported does not count here.
 */
static void read_text(struct loading *l, struct str text, struct str file, enum manifest_format format) {
        struct manifest_parsed p;

        manifest_parse(text, format, l->c->arena, &p);
        for (size_t i = 0; i < p.error_count; i++)
                if (p.errors[i].code != ERR_UNSUPPORTED)
                        config_add_problem(l->c, (struct config_problem){
                                .severity = CONFIG_ERROR,
                                .place = { file, p.errors[i].line ? p.errors[i].line : l->first_line },
                                .message = p.errors[i].message,
                        });
        if (p.irrelevant)
                config_add_problem(l->c, (struct config_problem){
                        .severity = CONFIG_ERROR, .place = { file, l->first_line }, .message = why_irrelevant(l->c, text),
                });
        for (size_t i = 0; i < p.object_count; i++)
                read_document(l, &p.objects[i], file);
        for (size_t i = 0; i < p.refused_count; i++)
                read_document(l, &p.refused[i], file);
}

static int cmp_app(const void *x, const void *y) {
        const struct config_app *a = x, *b = y;
        int r = str_cmp(a->ns, b->ns);

        return r ? r : str_cmp(a->name, b->name);
}

static int in_order(const void *x, const void *y) {
        const struct config_app *a = x, *b = y;
        int r = cmp_app(a, b);

        r = r ? r : str_cmp(a->place.file, b->place.file);
        return r ? r : (a->place.line > b->place.line) - (a->place.line < b->place.line);
}

static void refuse_double(struct config *c, const struct config_app *app, const struct config_app *other) {
        config_add_problem(c, (struct config_problem){
                .severity = CONFIG_REFUSED, .place = app->place, .app = config_app_title(app->ns, app->name, c->arena),
                .message = arena_strf(c->arena, "another application has its name, at %s",
                                      config_place_text(other->place, c->arena).p),
        });
        c->refused_count++;
}

static bool same_app(const struct config *c, size_t i, size_t k) {
        return k < c->app_count && cmp_app(&c->apps[i], &c->apps[k]) == 0;
}

/* Of two applications of one name nobody knows which is meant: neither is run, the rest is. */
static void refuse_double_apps(struct config *c) {
        bool *is_double = arena_zalloc(c->arena, (c->app_count + 1) * sizeof *is_double);
        size_t kept = 0;

        for (size_t i = 0; i < c->app_count; i++) {
                bool before = i > 0 && same_app(c, i, i - 1);

                is_double[i] = before || same_app(c, i, i + 1);
                if (is_double[i])
                        refuse_double(c, &c->apps[i], &c->apps[before ? i - 1 : i + 1]);
        }
        for (size_t i = 0; i < c->app_count; i++) {
                if (!is_double[i])
                        c->apps[kept++] = c->apps[i];
        }
        c->app_count = kept;
}

static int loading_end(struct loading *l, struct err *err) {
        struct config *c = l->c;
        size_t errors = 0;
        const struct config_problem *first = NULL;

        if (c->app_count > 1)
                qsort(c->apps, c->app_count, sizeof(*c->apps), in_order);
        refuse_double_apps(c);
        if (c->irrelevant_count > 0)
                config_add_problem(c, (struct config_problem){
                        .severity = CONFIG_NOTICE,
                        .message = arena_strf(c->arena, "%zu settings have no meaning here and are left out (%.*s%s)",
                                              c->irrelevant_count, STR_FMT(c->irrelevant[0].key),
                                              c->irrelevant_count > 1 ? ", …" : ""),
                });

        for (size_t i = c->problem_count; i > 0; i--)
                if (c->problems[i - 1].severity == CONFIG_ERROR) {
                        first = &c->problems[i - 1];
                        errors++;
                }
        if (errors == 0)
                return 0;
        c->app_count = 0;
        return err_set(err, ERR_INVAL, "%s: %.*s%s", config_place_text(first->place, c->arena).p, STR_FMT(first->message),
                       errors > 1 ? " (and more errors)" : "");
}

static enum manifest_format format_of(struct str file) {
        return str_ends(file, STR(".json")) ? MANIFEST_JSON : MANIFEST_YAML;
}

static int load_path(struct loading *l, struct str path, struct err *err) {
        const struct str *files;
        size_t count;
        int r = config_list_files(path, l->c->arena, &files, &count, err);

        for (size_t i = 0; r == 0 && i < count; i++) {
                struct str text;

                r = config_read_file(files[i], l->c->arena, &text, err);
                if (r == 0)
                        read_text(l, text, files[i], format_of(files[i]));
        }
        return r;
}

static struct loading loading_begin(void) {
        struct config *c = config_new();

        return (struct loading){ .c = c, .r = { .c = c, .a = c->arena }, .first_line = 1 };
}

int config_load_with(const struct str *paths, size_t count, const struct config_documents *documents,
                     struct config **ret_config, struct err *err) {
        struct loading l = loading_begin();
        int r = 0;

        for (size_t i = 0; r == 0 && i < count; i++)
                r = load_path(&l, paths[i], err);
        if (r < 0) {
                config_free(l.c);
                return r;
        }
        l.first_line = 0;
        for (size_t i = 0; documents && i < documents->count; i++) {
                const struct config_document *d = &documents->items[i];

                read_text(&l, arena_str(l.c->arena, d->text), arena_str(l.c->arena, d->name), MANIFEST_JSON);
        }
        *ret_config = l.c;
        return loading_end(&l, err);
}

int config_load(const struct str *paths, size_t count, struct config **ret_config, struct err *err) {
        return config_load_with(paths, count, NULL, ret_config, err);
}

int config_load_text(struct str text, struct str file, struct config **ret_config, struct err *err) {
        struct loading l = loading_begin();

        read_text(&l, text, arena_str(l.c->arena, file), format_of(file));
        *ret_config = l.c;
        return loading_end(&l, err);
}

const struct config_app *config_find_app(const struct config *c, struct str name) {
        ptrdiff_t slash = str_find(name, '/', 0);
        struct str ns = str_sub(name, 0, slash < 0 ? 0 : (size_t)slash);
        struct str rest = str_sub(name, (size_t)(slash + 1), name.n);

        for (size_t i = 0; i < c->app_count; i++)
                if (str_eq(c->apps[i].name, rest) && (slash < 0 || str_eq(c->apps[i].ns, ns)))
                        return &c->apps[i];
        return NULL;
}
