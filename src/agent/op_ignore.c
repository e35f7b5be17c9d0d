/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration's ignore rules, for the object of an op. */
#include "agent/op_impl.h"

#include "diff/ignore.h"

/* The rules that speak of the object, as indexes of the application's. */
struct selection {
        size_t *rules;
        size_t count;
        size_t managers;
};


static bool is_aggregated(const struct op *op) {
        return value_getc(op->in.desired, "aggregationRule") || value_getc(op->in.live, "aggregationRule");
}

static bool speaks_of(const struct op *op, const struct config_ignore *rule) {
        return app_ignore_selects(rule, op->item->desired) && (!rule->aggregated || is_aggregated(op));
}

static struct selection select_rules(const struct op *op) {
        const struct config_ignores *all = &op->app->config->ignores;
        struct selection s = { .rules = arena_alloc(op->arena, (all->count + 1) * sizeof *s.rules) };

        for (size_t i = 0; i < all->count; i++)
                if (speaks_of(op, &all->rules[i])) {
                        s.rules[s.count++] = i;
                        s.managers += all->rules[i].manager_count;
                }
        return s;
}

/* Fields of a trusted manager are its own: as a rule of ownership would say it, after those that are configured. */
static void trust_managers(struct op *op, const struct selection *s) {
        const struct config_app *app = op->app->config;
        size_t configured = app->policy.count, count = configured;
        struct policy_rule *rules = arena_alloc(op->arena, (configured + s->managers) * sizeof *rules);
        struct policy *policy = arena_alloc(op->arena, sizeof *policy);

        if (configured)
                memcpy(rules, app->policy.rules, configured * sizeof *rules);
        for (size_t i = 0; i < s->count; i++) {
                const struct config_ignore *rule = &app->ignores.rules[s->rules[i]];

                for (size_t k = 0; k < rule->manager_count; k++)
                        rules[count++] = (struct policy_rule){ .name = "managedFieldsManagers", .place = rule->place,
                                                               .manager = rule->managers[k], .action = POLICY_YIELD };
        }
        *policy = (struct policy){ rules, count };
        op->in.policy = policy;
}

static size_t owning_managers(const struct op *op, const struct config_ignore *rule) {
        size_t count = 0;

        for (size_t i = 0; i < rule->manager_count; i++)
                for (size_t k = 0; k < op->managed.count; k++)
                        if (op->in.live && str_eqc(op->managed.entries[k].manager, rule->managers[i])) {
                                count++;
                                break;
                        }
        return count;
}

/* The application's own rules come first. */
static void note_uses(struct op *op, const struct selection *s, const struct ignore_result *found) {
        struct app *app = op->app;

        op->item->ignores_sought = true;
        for (size_t i = 0; i < s->count && s->rules[i] < app->config->own_ignores.count; i++) {
                struct ignore_use *use = &app->ignore_uses[s->rules[i]];

                use->found += found->found[i];
                use->managers += owning_managers(op, &app->config->ignores.rules[s->rules[i]]);
        }
}

static void find_paths(struct op *op, const struct selection *s) {
        const struct config_app *app = op->app->config;
        struct ignore_rule *rules = arena_alloc(op->arena, (s->count + 1) * sizeof *rules);

        for (size_t i = 0; i < s->count; i++) {
                const struct config_ignore *rule = &app->ignores.rules[s->rules[i]];

                rules[i] = (struct ignore_rule){
                        .name = rule->name,
                        .place = rule->place,
                        .at_sync = app->respect_ignores,
                        .pointers = rule->pointers,
                        .pointer_count = rule->pointer_count,
                };
        }
        struct ignore_result found = ignore_paths(
                &(struct ignore_input){ .desired = op->in.desired, .live = op->in.live, .type = op->in.type, .rules = rules,
                                        .rule_count = s->count },
                op->arena);
        op->in.ignored = found.paths;
        op->in.ignored_count = found.count;
        note_uses(op, s, &found);
}

void op_ignore(struct op *op) {
        struct selection s;

        if (!op->app->config->ignores.count)
                return;
        s = select_rules(op);
        if (s.managers)
                trust_managers(op, &s);
        if (s.count)
                find_paths(op, &s);
}
