/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the rest of an Application document: it is used, refused by name, or an error. What is told has a place in
 * the text, what is used is whole, and the same text says the same again.
 */
#include "fuzz.h"

#include "agent/config.h"

#define HEAD "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop}\n"

/* No fewer than YAML counts: a break may also be NEL, LS or PS, and what is missing at the end is missing a line later. */
static uint32_t most_lines(struct str text) {
        uint32_t n = 2;

        for (size_t i = 0; i < text.n; i++)
                n += strchr("\n\r\x85\xa8\xa9", text.p[i]) != NULL;
        return n;
}

static void check_ignores(const struct config_ignores *ignores) {
        for (size_t i = 0; i < ignores->count; i++) {
                const struct config_ignore *rule = &ignores->rules[i];

                HOLDS(rule->place && rule->name && rule->kind.n > 0);
                for (size_t k = 0; k < rule->pointer_count; k++)
                        HOLDS(rule->pointers[k].count > 0);
                for (size_t k = 0; k < rule->program_count; k++)
                        HOLDS(str_trim(rule->programs[k].text).n > 0 && rule->programs[k].place);
        }
}

static void check_source(const struct config_source *source, bool has_title) {
        HOLDS(source->repo_url.n > 0 && source->revision.n > 0 && source->path.n > 0);
        HOLDS(str_find(source->repo_url, '\0', 0) < 0 && str_find(source->path, '\0', 0) < 0);
        HOLDS((source->title.n > 0) == has_title);
}

static void check_app(const struct config_app *app) {
        HOLDS(app->name.n > 0 && app->instance.n > 0 && app->source_count > 0 && app->source_count <= CONFIG_MAX_SOURCES);
        for (size_t i = 0; i < app->source_count; i++)
                check_source(&app->sources[i], app->source_count > 1);
        HOLDS(app->retry.limit >= -1 && app->retry.factor >= 1 && app->retry.first_ms >= 0 && app->retry.max_ms >= 0);
        HOLDS(app->ignores.count >= app->own_ignores.count);
        check_ignores(&app->ignores);
}

static bool has_problem(const struct config *c, enum config_severity severity) {
        for (size_t i = 0; i < c->problem_count; i++)
                if (c->problems[i].severity == severity)
                        return true;
        return false;
}

static int load(struct str text, struct config **ret) {
        struct err err = { 0 };
        int r = config_load_text(text, STR("shop.yaml"), ret, &err);

        HOLDS(r == 0 || (r == ERR_INVAL && err.msg[0]));
        HOLDS(r == 0 || ((*ret)->app_count == 0 && has_problem(*ret, CONFIG_ERROR)));
        config_settle(*ret);
        HOLDS((*ret)->refused_count == 0 || has_problem(*ret, CONFIG_REFUSED));
        for (size_t i = 0; i < (*ret)->app_count; i++)
                check_app(&(*ret)->apps[i]);
        for (size_t i = 0; i < (*ret)->problem_count; i++)
                HOLDS((*ret)->problems[i].message.n > 0 && (*ret)->problems[i].place.line <= most_lines(text));
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct config *c, *again;
        struct buf text = buf_make(SIZE_MAX / 4);

        buf_add(&text, STR(HEAD));
        buf_add(&text, (struct str){ (const char *)data, n });
        HOLDS(load(buf_str(&text), &c) == load(buf_str(&text), &again));
        HOLDS(c->app_count == again->app_count && c->problem_count == again->problem_count);
        config_free(c);
        config_free(again);
        buf_done(&text);
        return 0;
}
