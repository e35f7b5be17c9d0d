/* SPDX-License-Identifier: Apache-2.0 */
#include "config_of.h"

#include "scenario.h"
#include "world.h"

#define URL "https://git.example/shop.git"

static void complain(void *ctx, uint32_t line, const char *message) {
        err_set(ctx, ERR_INVAL, "line %u, agent: %s", line, message);
}

static int add_app(struct config *c, const struct value *app, struct err *err) {
        struct config_app_flags flags = {
                .name = scenario_text(app, "name", "shop"),
                .repo = STR(URL),
                .path = scenario_text(app, "path", "app"),
                .revision = scenario_text(app, "revision", "main"),
                .ns = scenario_text(app, "namespace", "shop"),
                .create_namespace = scenario_bool(app, "createNamespace", false),
                .no_sync = scenario_bool(app, "detectOnly", false),
                .self_heal = scenario_bool(app, "selfHeal", true),
                .prune = scenario_bool(app, "prune", true),
                .allow_empty = scenario_bool(app, "allowEmpty", false),
        };

        return config_add_flags(c, &flags, err);
}

struct config *config_of(const struct value *scenario, struct err *err) {
        const struct value *apps = value_getc(scenario, "apps"), *agent = value_getc(scenario, "agent");
        _cleanup_(config_freep) struct config *c = config_new();
        struct option_group group = { "agent", config_agent_options, config_agent_option_count, &c->agent };
        int r = 0;

        c->agent.installation_id = STR(SIM_INSTALLATION);
        c->agent.ns = STR(SIM_NAMESPACE);
        if (agent && options_read(&group, 1, agent, c->arena, complain, err))
                return NULL;
        for (size_t i = 0; r == 0 && i < value_count(apps); i++)
                r = add_app(c, apps->list.items[i], err);
        if (r == 0 && !apps)
                r = add_app(c, NULL, err);
        if (r < 0)
                return NULL;
        config_settle(c);
        if (c->refused_count) {
                err_set(err, ERR_INVAL, "%.*s", STR_FMT(c->problems[0].message));
                return NULL;
        }
        return TAKE_PTR(c);
}
