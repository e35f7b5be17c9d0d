/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as configuration: accepted or refused, and with an error no application is left to run. */
#include "fuzz.h"

#include "agent/config.h"

static void check_app(const struct config *c, const struct config_app *app) {
        struct manifest_protection p = config_protection(c, app);

        HOLDS(app->name.n > 0 && app->instance.n > 0 && app->source_count > 0);
        for (size_t i = 0; i < app->source_count; i++)
                HOLDS(app->sources[i].repo_url.n > 0 && app->sources[i].path.n > 0 && app->sources[i].revision.n > 0);
        HOLDS(str_find(app->instance, ':', 0) < 0);
        HOLDS(app->retry.limit >= -1 && app->retry.factor >= 1 && app->retry.first_ms >= 0 && app->retry.max_ms >= 0);
        HOLDS(p.own_namespace.n > 0);
        for (size_t i = 0; i < app->policy.count; i++)
                HOLDS(app->policy.rules[i].name && app->policy.rules[i].place);
}

static void check_problems(const struct config *c) {
        struct buf b = buf_make(SIZE_MAX / 4);

        for (size_t i = 0; i < c->problem_count; i++) {
                HOLDS(c->problems[i].message.n > 0);
                config_problem_print(&c->problems[i], &b);
        }
        buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct config *c = NULL;
        struct err err = { 0 };
        int r = config_load_text((struct str){ (const char *)data, n }, STR("c.yaml"), &c, &err);

        HOLDS(r == 0 || r == ERR_INVAL);
        HOLDS(r == 0 || c->app_count == 0);
        config_settle(c);
        for (size_t i = 0; i < c->app_count; i++)
                check_app(c, &c->apps[i]);
        check_problems(c);
        config_free(c);
        return 0;
}
