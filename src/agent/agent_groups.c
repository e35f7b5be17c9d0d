/* SPDX-License-Identifier: Apache-2.0 */
/* Where an agent and its group reconciler meet. */
#include "agent/agent_impl.h"

#define DEFINITION "leaderworkersets.leaderworkerset.x-k8s.io"

static void on_trouble(void *ctx, const char *what, const struct err *err) {
        struct agent *agent = ctx;

        agent->hooks.trouble(agent->ctx, NULL, what, err);
}

void agent_open_groups(struct agent *agent) {
        const struct agent_options *o = &agent->options;
        enum groups_mode mode = (enum groups_mode)agent->config->agent.lws_controller;
        struct groups_env env = { .loop = agent->loop,
                                  .client = agent->client,
                                  .cluster = agent->cluster,
                                  .events = agent->events,
                                  .mode = mode,
                                  .trouble = on_trouble,
                                  .ctx = agent };

        if (mode != GROUPS_OFF && !o->poll_once && !o->read_only && !o->watch_only)
                agent->groups = groups_new(&env);
}

bool agent_defines_groups(const struct agent *agent, struct str id) {
        struct object_key key;

        return agent->groups && object_key_from_id(id, &key) && manifest_is_crd(key.group, key.kind) &&
               str_eqc(key.name, DEFINITION);
}

void agent_groups_see(struct agent *agent, const struct kube_resource *r, struct str id, const struct live *live) {
        struct gvk gvk = groups_gvk();

        if (agent->groups && str_eq(r->group, gvk.group) && str_eq(r->kind, gvk.kind) &&
            str_eq(r->version, gvk.version))
                groups_changed(agent->groups, id, live);
}
