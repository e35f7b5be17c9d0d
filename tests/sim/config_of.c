/* SPDX-License-Identifier: Apache-2.0 */
#include "config_of.h"

#include "scenario.h"
#include "world.h"

#define URL "https://git.example/shop.git"

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

/* An Agent document with this spec, and Argo CD's documents. */
static int read_documents(const struct value *spec, const struct value *documents, struct config **ret, struct err *err) {
        static const char head[] = "{\"apiVersion\":\"truce.dev/v1alpha1\",\"kind\":\"Agent\",\"metadata\":{\"name\":\"a\"},\"spec\":";
        _cleanup_(buf_done) struct buf text = buf_make(1 << 20);

        if (spec) {
                buf_addc(&text, head);
                value_print(spec, &text);
                buf_addc(&text, "}\n---\n");
        }
        for (size_t i = 0; i < value_count(documents); i++) {
                value_print(documents->list.items[i], &text);
                buf_addc(&text, "\n---\n");
        }
        int r = config_load_text(buf_str(&text), STR("config"), ret, err);

        if (r < 0)
                err_set(err, ERR_INVAL, "line %u, %s: %.*s", spec ? spec->line : documents->line,
                        spec ? "agent" : "documents", STR_FMT((*ret)->problems[0].message));
        return r;
}

struct config *config_of(const struct value *scenario, const struct value *agent, struct err *err) {
        const struct value *apps = value_getc(scenario, "apps"), *documents = value_getc(scenario, "documents");
        _cleanup_(config_freep) struct config *c = NULL;
        int r = 0;

        if (!agent)
                agent = value_getc(scenario, "agent");
        if (agent || documents)
                r = read_documents(agent, documents, &c, err);
        else
                c = config_new();
        if (r < 0)
                return NULL;
        c->agent.installation_id = STR(SIM_INSTALLATION);
        c->agent.ns = STR(SIM_NAMESPACE);
        for (size_t i = 0; r == 0 && i < value_count(apps); i++)
                r = add_app(c, apps->list.items[i], err);
        if (r == 0 && !apps && !c->app_count)
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
