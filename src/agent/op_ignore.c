/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration's ignore rules, for the object of an op: found before it is decided on. */
#include "agent/op_impl.h"

static size_t owning_managers(const struct op *op, const struct config_ignore *rule) {
        size_t count = 0;

        for (size_t i = 0; i < rule->manager_count; i++)
                for (size_t k = 0; k < op->managed.count; k++)
                        if (op->in.live && policy_name_fits(rule->managers[i], op->managed.entries[k].manager)) {
                                count++;
                                break;
                        }
        return count;
}

static void note_uses(struct op *op, const struct ignore_answer *answer) {
        struct app *app = op->app;

        op->item->ignores_sought = true;
        for (size_t i = 0; i < answer->rule_count; i++) {
                const struct config_ignore *rule = &app->config->ignores.rules[answer->rules[i]];
                struct ignore_use *use = &app->ignore_uses[answer->rules[i]];

                use->found += answer->found[i];
                op->ignores |= answer->found[i] > 0;
                use->managers += owning_managers(op, rule);
                if (answer->advice[i] && !use->advised) {
                        use->advised = true;
                        app->env.hooks.remark(app->env.ctx, app, rule->place, answer->advice[i]);
                }
        }
}

static void take_answer(struct op *op) {
        struct ignore_answer answer = ignore_answer(op->ignoring);
        struct policy *policy = arena_alloc(op->arena, sizeof *policy);

        op->ignoring = NULL;
        *policy = answer.policy;
        op->in.policy = policy;
        op->in.ignored = answer.paths;
        op->in.ignored_count = answer.count;
        note_uses(op, &answer);
}

static void on_found(void *ctx, const struct err *err) {
        struct op *op = ctx;

        if (err) {
                op->ignoring = NULL;
                op->go_on(op, err);
                return;
        }
        take_answer(op);
        op->go_on(op, NULL);
}

static struct str place_of(const struct op *op) {
        const struct desired *d = op->item->desired;

        return config_place_text((struct config_place){ d->file, d->line }, op->arena);
}

void op_ignore(struct op *op, void (*go_on)(struct op *op, const struct err *err)) {
        const struct desired *d = op->item->desired;

        if (!op->app->config->ignores.count && !ignore_is_annotated(op->in.desired)) {
                go_on(op, NULL);
                return;
        }
        op->go_on = go_on;
        op->ignoring = ignore_begin(&(struct ignore_object){ .app = op->app->config, .group = d->gvk.group,
                                                            .kind = d->gvk.kind, .ns = d->ns, .name = d->name,
                                                            .place = place_of(op),
                                                            .secret = d->secret, .desired = op->in.desired,
                                                            .live = op->in.live, .type = op->in.type },
                                   op->arena);
        if (ignore_asks(op->ignoring)) {
                ignore_ask(op->ignoring, op->app->env.jq, on_found, op);
        } else {
                take_answer(op);
                go_on(op, NULL);
        }
}
