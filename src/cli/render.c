/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce render`: the objects of a revision as Git says them after cleaning, without a cluster: default namespaces and
 * marks, which need the cluster's word on scopes, are not in it. Secrets' values, and those of annotations that are to be
 * masked, are shown as "(hidden)".
 */
#include <stdio.h>

#include "base/yaml.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "cli/words.h"
#include "diff/text.h"
#include "git/deadline.h"
#include "git/remote.h"
#include "manifest/join.h"

#define OUTPUT_MAX_BYTES (256 * 1024 * 1024)

struct render_flags {
        int output;
};

static const char *const outputs[] = { "yaml", "json", NULL };
static const struct option_def render_options[] = {
        { .name = "output", .letter = 'o', .type = OPTION_CHOICE, .at = offsetof(struct render_flags, output),
          .choices = outputs, .help = "how to print the objects" },
};
const struct option_group cli_render_flags = { "Render", render_options, ARRAY_LEN(render_options), NULL };

static const struct value *hide_data(const struct value *secret, struct arena *a) {
        const struct value *data = value_getc(secret, "data");
        struct value_map_builder hidden = { 0 };

        if (!value_is(data, VALUE_MAP))
                return secret;
        for (size_t i = 0; i < data->map.count; i++)
                value_map_add(&hidden, data->map.members[i].key, value_stringc(a, "(hidden)"), 0);
        return value_with(a, secret, STR("data"), value_map_end(&hidden, a, 0));
}

static const struct value *hide_annotations(const struct value *object, const struct mask_annotations *mask, struct arena *a) {
        for (size_t i = 0; i < mask->count; i++) {
                const struct str way[] = { STR("metadata"), STR("annotations"), mask->keys[i] };

                if (value_get(value_path(object, "metadata", "annotations", NULL), mask->keys[i]))
                        object = value_with_path(a, object, way, ARRAY_LEN(way), value_stringc(a, "(hidden)"));
        }
        return object;
}

static void print_object(const struct manifest_object *o, const struct mask_annotations *mask, int output) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(OUTPUT_MAX_BYTES), file = buf_make(64 * 1024);
        const struct value *value = hide_annotations(o->secret ? hide_data(o->value, a) : o->value, mask, a);

        if (output == 1) {
                value_print(value, &out);
                printf("%s\n", out.p);
        } else {
                yaml_print(value, &out);
                text_add(&file, o->file);
                words_add_line(o->line, &file);
                printf("---\n# %s\n%s", file.p, out.p);
        }
}

static void print_problems(const struct manifest_problem *problems, size_t count, const char *word) {
        for (size_t i = 0; i < count; i++) {
                _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);

                buf_addc(&line, word);
                manifest_problem_print(&problems[i], &line);
                session_say(buf_str(&line));
        }
}

static int render_source(const struct config *c, const struct config_app *app, const struct config_source *from,
                         struct manifest_set **ret_set, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct git_deadline d = { git_now_ms() + c->agent.git_timeout_ms, NULL };
        struct manifest_source spec = agent_manifest_source(c, app, from);
        struct git_source *source = NULL;
        struct git_revision rev;
        int r = agent_open_remote(c, from, &source, err);

        if (r >= 0)
                r = git_source_resolve(source, from->revision, d, a, &rev, err);
        if (r >= 0)
                r = git_source_fetch(source, &rev, d, err);
        if (r >= 0)
                r = manifest_render(source, &rev.commit, &spec, NULL, d, ret_set, err);
        git_source_free(source);
        return r < 0 && from->title.n ? err_wrap(err, r, "source %.*s", STR_FMT(from->title)) : r;
}

static int render_sources(const struct config *c, const struct config_app *app, struct manifest_set **ret_set,
                          struct err *err) {
        struct manifest_part parts[CONFIG_MAX_SOURCES];
        size_t n = 0;
        int r = 0;

        while (n < app->source_count && (r = render_source(c, app, &app->sources[n], &parts[n].set, err)) >= 0) {
                parts[n].title = app->sources[n].title;
                n++;
        }
        if (r >= 0)
                return manifest_join(parts, n, app->destination_namespace, ret_set, err);
        while (n > 0)
                manifest_set_free(parts[--n].set);
        return r;
}

static int render(const struct config *c, const struct config_app *app, int output, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(manifest_set_freep) struct manifest_set *set = NULL;
        int r = render_sources(c, app, &set, err);

        if (r < 0)
                return err_wrap(err, r, "%.*s", STR_FMT(app->name));

        for (size_t i = 0; i < set->object_count; i++)
                print_object(&set->objects[i], &c->mask, output);
        print_problems(set->warnings, set->warning_count, "warning: ");
        print_problems(set->errors, set->error_count, "");
        if (!set->object_count && !set->error_count)
                session_say(arena_strf(a, "%.*s: %s", STR_FMT(app->name), words_nothing(app, a).p));
        return set->error_count ? CLI_DIFFERENT : CLI_OK;
}

/* One application that cannot be rendered holds up no other. */
static int render_all(const struct config *c, int output) {
        int result = CLI_OK;

        for (size_t i = 0; i < c->app_count; i++) {
                struct err err;
                int r = render(c, &c->apps[i], output, &err);

                if (r < 0)
                        r = session_fail(&err);
                result = r > result ? r : result;
        }
        return result;
}

int cli_render(int argc, char **argv) {
        struct session s = { 0 };
        struct render_flags flags = { 0 };
        const struct option_group own = option_group_of(&cli_render_flags, &flags);
        struct err err;
        int result = CLI_OK, r = session_configure(&s, "render", argc, argv, &own, &err);

        if (r == 0 && !s.help)
                r = git_init_library(&err);
        if (r < 0)
                result = session_fail(&err);
        else if (!s.help)
                result = render_all(s.config, flags.output);
        session_close(&s);
        return result;
}
