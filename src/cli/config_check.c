/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce config check FILE…`: what truce makes of configuration documents, without looking at Git, and without a
 * cluster unless it is told to read the documents there, too: the applications that it would run, and why others not;
 * ignore rules; what has no meaning here; what is wrong, with file, line and the nearest known key. `truce config
 * schema`: a JSON Schema of the Agent document, for editors.
 */
#include <stdio.h>

#include "base/limits.h"
#include "base/option.h"
#include "cli/cli.h"
#include "cli/grid.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "cli/words.h"
#include "diff/text.h"

#define OUTPUT_MAX_BYTES (64 * 1024 * 1024)

struct check_flags {
        int output;
        struct str ns, selector, kubeconfig, context, health_dir;
};

static const char *const outputs[] = { "text", "json", NULL };
static const struct option_def check_options[] = {
        { .name = "output", .letter = 'o', .type = OPTION_CHOICE, .at = offsetof(struct check_flags, output),
          .choices = outputs, .help = "how to print it" },
        { .name = "config-namespace", .type = OPTION_TEXT, .at = offsetof(struct check_flags, ns), .word = "NAMESPACE",
          .help = "read the documents that the cluster has in this namespace as well" },
        { .name = "config-selector", .type = OPTION_TEXT, .at = offsetof(struct check_flags, selector), .word = "SELECTOR",
          .help = "only those that carry these labels" },
        { .name = "kubeconfig", .type = OPTION_TEXT, .at = offsetof(struct check_flags, kubeconfig), .word = "FILE",
          .help = "of that cluster; $KUBECONFIG, the pod's own account or ~/.kube/config when left out" },
        { .name = "context", .type = OPTION_TEXT, .at = offsetof(struct check_flags, context), .word = "NAME",
          .help = "context of the kubeconfig" },
        { .name = "health-dir", .type = OPTION_TEXT, .at = offsetof(struct check_flags, health_dir), .word = "DIR",
          .help = "folder of health rules in Lua, <group>/<Kind>/health.lua" },
};
const struct option_group cli_check_flags = { "Check", check_options, ARRAY_LEN(check_options), NULL };

static const char *const severities[] = {
        [CONFIG_NOTICE] = "notice", [CONFIG_WARNING] = "warning", [CONFIG_REFUSED] = "refused", [CONFIG_ERROR] = "error",
};

/* --- what to say of each ---------------------------------------------------------------------------------------- */

static struct str place_text(struct config_place p, struct arena *a) {
        return config_place_text(p, a);
}

static void add_word(struct buf *out, bool is_so, const char *word) {
        if (is_so)
                buf_addf(out, "%s%s", out->n ? ", " : "", word);
}

static struct str policy_text(const struct config_app *app, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(4096);

        add_word(&out, app->suspended, "left out (skip-reconcile)");
        add_word(&out, !app->automated, "compared only");
        add_word(&out, app->automated, "automated");
        add_word(&out, app->prune, "prune");
        add_word(&out, app->self_heal, "self-heal");
        add_word(&out, app->create_namespace, "CreateNamespace");
        return arena_str(a, buf_str(&out));
}

static struct str source_text(const struct config_app *app, struct arena *a) {
        struct str text = { 0 };

        for (size_t i = 0; i < app->source_count; i++) {
                const struct config_source *s = &app->sources[i];

                text = arena_strf(a, "%.*s%s%.*s%s%.*s %.*s @ %.*s", STR_FMT(text), i ? " + " : "", STR_FMT(s->title),
                                  s->title.n ? " " : "", STR_FMT(s->repo_url), STR_FMT(s->path), STR_FMT(s->revision));
        }
        return text;
}

/* "apps/Deployment web-* in shop" */
static struct str objects_text(const struct config_ignore *rule, struct arena *a) {
        return arena_strf(a, "%.*s%s%.*s%s%.*s%s%.*s", STR_FMT(rule->group), rule->group.n ? "/" : "", STR_FMT(rule->kind),
                          rule->object.n ? " " : "", STR_FMT(rule->object), rule->ns.n ? " in " : "", STR_FMT(rule->ns));
}

static const struct value *pointers_value(const struct config_ignore *rule, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < rule->pointer_count; i++) {
                _cleanup_(buf_done) struct buf text = buf_make(64 * 1024);

                for (size_t k = 0; k < rule->pointers[i].count; k++)
                        pointer_add_token(&text, rule->pointers[i].tokens[k]);
                value_list_add(&list, value_string(a, buf_str(&text), 0));
        }
        return value_list_end(&list, a, 0);
}

static const struct value *programs_value(const struct config_ignore *rule, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < rule->program_count; i++)
                value_list_add(&list, value_string(a, rule->programs[i].text, 0));
        return value_list_end(&list, a, 0);
}

static const struct value *managers_value(const struct config_ignore *rule, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < rule->manager_count; i++)
                value_list_add(&list, value_string(a, str_from(rule->managers[i]), 0));
        return value_list_end(&list, a, 0);
}

static const struct value *paths_value(const struct config_ignore *rule, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < rule->path_count; i++) {
                _cleanup_(buf_done) struct buf text = buf_make(64 * 1024);

                field_path_spell(rule->paths[i], &text);
                value_list_add(&list, value_string(a, buf_str(&text), 0));
        }
        return value_list_end(&list, a, 0);
}

/* --- the model: what both forms print --------------------------------------------------------------------------- */

static void add(struct value_map_builder *b, struct arena *a, const char *key, struct str text) {
        if (text.n)
                value_map_add(b, str_from(key), value_string(a, text, 0), 0);
}

static const struct value *app_value(const struct config_app *app, struct arena *a) {
        struct value_map_builder b = { 0 };

        add(&b, a, "name", config_app_title(app->ns, app->name, a));
        add(&b, a, "source", source_text(app, a));
        add(&b, a, "namespace", app->destination_namespace);
        add(&b, a, "policy", policy_text(app, a));
        add(&b, a, "at", place_text(app->place, a));
        return value_map_end(&b, a, 0);
}

static const struct value *rule_value(const struct config_ignore *rule, const struct config_app *app, struct arena *a) {
        struct value_map_builder b = { 0 };

        add(&b, a, "at", str_from(rule->place));
        add(&b, a, "application", app ? config_app_title(app->ns, app->name, a) : rule->application);
        add(&b, a, "objects", objects_text(rule, a));
        if (rule->pointer_count)
                value_map_add(&b, STR("jsonPointers"), pointers_value(rule, a), 0);
        if (rule->program_count)
                value_map_add(&b, STR("jqPathExpressions"), programs_value(rule, a), 0);
        if (rule->path_count)
                value_map_add(&b, STR("paths"), paths_value(rule, a), 0);
        if (rule->manager_count)
                value_map_add(&b, config_ignore_is_own(rule) ? STR("managers") : STR("managedFieldsManagers"),
                              managers_value(rule, a), 0);
        add(&b, a, "counts", !app ? STR("") : app->respect_ignores ? STR("at sync, too") : STR("in comparisons"));
        return value_map_end(&b, a, 0);
}

static const struct value *apps_value(const struct config *c, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < c->app_count; i++)
                value_list_add(&list, app_value(&c->apps[i], a));
        return value_list_end(&list, a, 0);
}

static const struct value *rules_value(const struct config *c, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < c->app_count; i++)
                for (size_t k = 0; k < c->apps[i].own_ignores.count; k++)
                        value_list_add(&list, rule_value(&c->apps[i].own_ignores.rules[k], &c->apps[i], a));
        for (size_t i = 0; i < c->ignores.count; i++)
                value_list_add(&list, rule_value(&c->ignores.rules[i], NULL, a));
        return value_list_end(&list, a, 0);
}

/* What is built in is no part of a configuration. */
static const struct value *known_fields_value(const struct config *c, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < c->known_fields.count; i++) {
                const struct config_known_field *f = &c->known_fields.fields[i];
                struct value_map_builder b = { 0 };
                _cleanup_(buf_done) struct buf field = buf_make(64 * 1024);

                if (!f->place)
                        continue;
                for (size_t k = 0; k < f->field.count; k++)
                        buf_addf(&field, "%s%.*s", k ? "." : "", STR_FMT(f->field.names[k]));
                add(&b, a, "at", str_from(f->place));
                add(&b, a, "objects", arena_strf(a, "%.*s%s%.*s", STR_FMT(f->group), f->group.n ? "/" : "", STR_FMT(f->kind)));
                add(&b, a, "field", buf_str(&field));
                add(&b, a, "type", f->field.type);
                value_list_add(&list, value_map_end(&b, a, 0));
        }
        return value_list_end(&list, a, 0);
}

static const struct value *health_value(const struct config *c, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < c->healths.count; i++) {
                const struct config_health *rule = &c->healths.rules[i];
                struct value_map_builder b = { 0 };

                add(&b, a, "at", place_text(rule->place, a));
                add(&b, a, "objects", arena_strf(a, "%.*s%s%.*s", STR_FMT(rule->group), rule->group.n ? "/" : "",
                                                 STR_FMT(rule->kind)));
                add(&b, a, "libraries", rule->open_libs ? STR("open") : STR("closed"));
                value_list_add(&list, value_map_end(&b, a, 0));
        }
        return value_list_end(&list, a, 0);
}

static const struct value *irrelevant_value(const struct config *c, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < c->irrelevant_count; i++) {
                struct value_map_builder b = { 0 };

                add(&b, a, "at", place_text(c->irrelevant[i].place, a));
                add(&b, a, "key", c->irrelevant[i].key);
                value_list_add(&list, value_map_end(&b, a, 0));
        }
        return value_list_end(&list, a, 0);
}

/* The notice that sums up what is irrelevant has no place: each key of it has one, in a list of their own. */
static const struct value *problems_value(const struct config *c, struct arena *a) {
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < c->problem_count; i++) {
                const struct config_problem *p = &c->problems[i];
                struct value_map_builder b = { 0 };

                if (!p->place.file.n)
                        continue;
                add(&b, a, "severity", str_from(severities[p->severity]));
                add(&b, a, "at", place_text(p->place, a));
                add(&b, a, "application", p->app);
                add(&b, a, "message", p->message);
                value_list_add(&list, value_map_end(&b, a, 0));
        }
        return value_list_end(&list, a, 0);
}

static const struct value *model_of(const struct config *c, struct arena *a) {
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("applications"), apps_value(c, a), 0);
        value_map_add(&b, STR("ignoreRules"), rules_value(c, a), 0);
        value_map_add(&b, STR("knownTypeFields"), known_fields_value(c, a), 0);
        value_map_add(&b, STR("healthRules"), health_value(c, a), 0);
        value_map_add(&b, STR("irrelevant"), irrelevant_value(c, a), 0);
        value_map_add(&b, STR("problems"), problems_value(c, a), 0);
        return value_map_end(&b, a, 0);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static struct str text_of(const struct value *row, const char *key) {
        return value_text(value_getc(row, key));
}

static struct str safe(struct str text, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(OUTPUT_MAX_BYTES);

        text_add(&out, text);
        return arena_str(a, buf_str(&out));
}

/* The texts of a list, with commas. */
static void add_list(struct buf *out, const struct value *list, const char *before) {
        for (size_t i = 0; i < value_count(list); i++) {
                buf_addc(out, i ? ", " : before);
                text_add(out, list->list.items[i]->text);
        }
}

static void app_cells(const struct value *row, struct arena *a, struct str *cells) {
        struct str source = text_of(row, "source"), ns = text_of(row, "namespace");

        cells[0] = safe(text_of(row, "name"), a);
        cells[1] = safe(ns.n ? arena_strf(a, "%.*s → %.*s", STR_FMT(source), STR_FMT(ns)) : source, a);
        cells[2] = safe(text_of(row, "policy"), a);
        cells[3] = safe(text_of(row, "at"), a);
}

static struct str ignored_text(const struct value *row, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(OUTPUT_MAX_BYTES);

        add_list(&out, value_getc(row, "jsonPointers"), "");
        add_list(&out, value_getc(row, "jqPathExpressions"), out.n ? ", " : "");
        add_list(&out, value_getc(row, "paths"), out.n ? ", " : "");
        add_list(&out, value_getc(row, "managers"), value_getc(row, "paths") ? " where owned by " : "what is owned by ");
        add_list(&out, value_getc(row, "managedFieldsManagers"), out.n ? ", what is owned by " : "what is owned by ");
        return arena_str(a, buf_str(&out));
}

static void rule_cells(const struct value *row, struct arena *a, struct str *cells) {
        struct str app = text_of(row, "application");

        cells[0] = app.n ? safe(app, a) : STR("all applications");
        cells[1] = safe(text_of(row, "objects"), a);
        cells[2] = ignored_text(row, a);
        cells[3] = text_of(row, "counts");
        cells[4] = safe(text_of(row, "at"), a);
}

static void known_field_cells(const struct value *row, struct arena *a, struct str *cells) {
        cells[0] = safe(text_of(row, "objects"), a);
        cells[1] = safe(text_of(row, "field"), a);
        cells[2] = safe(text_of(row, "type"), a);
        cells[3] = safe(text_of(row, "at"), a);
}

static void health_cells(const struct value *row, struct arena *a, struct str *cells) {
        cells[0] = safe(text_of(row, "objects"), a);
        cells[1] = str_eqc(text_of(row, "libraries"), "open") ? STR("open libraries") : STR("");
        cells[2] = safe(text_of(row, "at"), a);
}

static void irrelevant_cells(const struct value *row, struct arena *a, struct str *cells) {
        cells[0] = safe(text_of(row, "key"), a);
        cells[1] = safe(text_of(row, "at"), a);
}

static void problem_cells(const struct value *row, struct arena *a, struct str *cells) {
        struct str app = text_of(row, "application"), at = text_of(row, "at"), message = text_of(row, "message");

        cells[0] = text_of(row, "severity");
        cells[1] = safe(app.n ? arena_strf(a, "%.*s: %.*s: %.*s", STR_FMT(at), STR_FMT(app), STR_FMT(message))
                              : arena_strf(a, "%.*s: %.*s", STR_FMT(at), STR_FMT(message)),
                        a);
}

static const struct {
        const char *key, *title;
        size_t columns;
        void (*cells)(const struct value *row, struct arena *a, struct str *cells);
} sections[] = {
        { "applications", "Applications", 4, app_cells },
        { "ignoreRules", "Ignored", 5, rule_cells },
        { "knownTypeFields", "Known types", 4, known_field_cells },
        { "healthRules", "Health rules", 3, health_cells },
        { "irrelevant", "No meaning here", 2, irrelevant_cells },
        { "problems", "To be looked at", 2, problem_cells },
};

static void print_section(const struct value *rows, size_t section, struct arena *a, struct buf *out) {
        struct grid grid = grid_make(a, sections[section].columns);

        for (size_t i = 0; i < value_count(rows); i++) {
                struct str cells[GRID_MAX_COLUMNS];

                sections[section].cells(rows->list.items[i], a, cells);
                grid_add(&grid, cells, false);
        }
        if (!grid.count)
                return;
        buf_addf(out, "%s%s\n", out->n ? "\n" : "", sections[section].title);
        grid_print(&grid, "  ", false, out);
}

static void print_model(const struct value *model, int output, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(OUTPUT_MAX_BYTES);

        if (output == 1) {
                words_add_json(model, &out);
        } else {
                for (size_t i = 0; i < ARRAY_LEN(sections); i++)
                        print_section(value_getc(model, sections[i].key), i, a, &out);
        }
        fputs(out.p, stdout);
}

/* --- the verb ----------------------------------------------------------------------------------------------------- */

static int exit_status(const struct config *c) {
        enum config_severity worst = CONFIG_NOTICE;

        for (size_t i = 0; i < c->problem_count; i++)
                if (c->problems[i].severity > worst)
                        worst = c->problems[i].severity;
        if (worst == CONFIG_ERROR)
                return CLI_ERROR;
        return worst == CONFIG_NOTICE ? CLI_OK : CLI_DIFFERENT;
}

/* The session has what the cluster says, when it was asked. */
static int fetch(struct session *s, const struct check_flags *flags, struct err *err) {
        if (!flags->ns.n)
                return 0;
        s->config = config_new();
        s->config->agent.config_ns = flags->ns;
        s->config->agent.config_selector = flags->selector;
        s->config->agent.kubeconfig = flags->kubeconfig;
        s->config->agent.context = flags->context;
        return session_fetch(s, err);
}

static int check(const struct session *s, const struct str *paths, size_t count, const struct check_flags *flags,
                 struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(config_freep) struct config *c = NULL;
        int r = config_load_with(paths, count, s->snapshot ? &s->snapshot->documents : NULL, &c, err);

        if (r < 0 && !c)
                return r;
        /* With errors in it there are no applications; its health rules are looked at all the same. */
        if (flags->health_dir.n)
                c->agent.health_dir = flags->health_dir;
        config_settle(c);
        if (r == 0)
                r = config_check_programs(c, err);
        if (r < 0 && r != ERR_INVAL)
                return r;
        if (!c->document_count && !c->problem_count && !c->agent.health_dir.n)
                return err_set(err, ERR_NOTFOUND, "no document is there (of a folder: *.yaml, *.yml, *.json directly in it)");
        print_model(model_of(c, a), flags->output, a);
        return exit_status(c);
}

static void print_help(const struct option_group *group) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

        options_help(group, 1, &out);
        cli_print_head("config");
        fputs(out.p, stdout);
}

static int print_schema(void) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(MIB);

        words_add_json(config_agent_schema(a), &out);
        fputs(out.p, stdout);
        return CLI_OK;
}

int cli_config(int argc, char **argv) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(session_close) struct session session = { 0 };
        struct check_flags flags = { 0 };
        const struct option_group group = option_group_of(&cli_check_flags, &flags);
        const struct str *operands;
        struct err err;
        size_t count;
        int r;

        if (options_want_help(argc, argv)) {
                print_help(&group);
                return CLI_OK;
        }
        options_default(&group, 1, a);
        r = options_parse(&group, 1, argc, argv, a, &operands, &count, &err);
        if (r == 0 && count == 1 && str_eqc(operands[0], "schema"))
                return print_schema();
        if (r == 0 && (count < (flags.ns.n || flags.health_dir.n ? 1 : 2) || !str_eqc(operands[0], "check")))
                r = err_set(&err, ERR_INVAL, "usage: truce config check FILE…, or truce config schema");
        if (r == 0)
                r = fetch(&session, &flags, &err);
        if (r == 0)
                r = check(&session, operands + 1, count - 1, &flags, &err);
        return r < 0 ? session_fail(&err) : r;
}
