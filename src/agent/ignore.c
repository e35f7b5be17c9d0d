/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ignore.h"

#include "diff/ignore.h"
#include "manifest/glob.h"

enum side { SIDE_GIT, SIDE_LIVE, SIDES };

struct ignore_search {
        struct ignore_object o;
        struct arena *a;
        size_t *rules;
        size_t count;
        size_t managers, programs; /* of all of them */
        struct ignore_finding *findings;
        struct question {
                struct ignore_search *search;
                struct jq_eval *eval;
                enum side side;
        } questions[SIDES];
        unsigned pending;
        const struct err *err; /* the first, in the arena */
        void (*done)(void *ctx, const struct err *err);
        void *ctx;
};

/* --- selection ---------------------------------------------------------------------------------------------------- */

static bool fits(struct str glob, struct str name) {
        return !glob.n || glob_match(glob, name);
}

bool ignore_selects(const struct config_ignore *rule, struct str group, struct str kind, struct str ns, struct str name) {
        return (rule->group.n ? glob_match(rule->group, group) : !group.n) && glob_match(rule->kind, kind) &&
               fits(rule->ns, ns) && fits(rule->object, name);
}

static bool speaks_of(const struct ignore_object *o, const struct config_ignore *rule) {
        bool gathers = value_getc(o->desired, "aggregationRule") || value_getc(o->live, "aggregationRule");

        return ignore_selects(rule, o->group, o->kind, o->ns, o->name) && (!rule->aggregated || gathers);
}

static const struct config_ignore *rule_at(const struct ignore_search *s, size_t i) {
        return &s->o.app->ignores.rules[s->rules[i]];
}

struct ignore_search *ignore_begin(const struct ignore_object *o, struct arena *a) {
        const struct config_ignores *all = &o->app->ignores;
        struct ignore_search *s = arena_zalloc(a, sizeof *s);

        s->o = *o;
        s->a = a;
        s->rules = arena_alloc(a, (all->count + 1) * sizeof *s->rules);
        for (size_t i = 0; i < all->count; i++) {
                if (!speaks_of(o, &all->rules[i]))
                        continue;
                s->rules[s->count++] = i;
                s->managers += all->rules[i].manager_count;
                s->programs += all->rules[i].program_count;
        }
        s->findings = arena_zalloc(a, (s->programs + 1) * sizeof *s->findings);
        return s;
}

/* --- asking --------------------------------------------------------------------------------------------------------- */

bool ignore_asks(const struct ignore_search *s) {
        return s->programs > 0;
}

static const struct value *step_value(const struct jq_step *step, struct arena *a) {
        return step->is_index ? value_int(a, step->index, 0) : value_string(a, step->key, 0);
}

static const struct value *paths_value(const struct jq_result *result, struct arena *a) {
        struct value_list_builder paths = { 0 };

        for (size_t i = 0; i < result->count; i++) {
                struct value_list_builder steps = { 0 };

                for (size_t k = 0; k < result->paths[i].count; k++)
                        value_list_add(&steps, step_value(&result->paths[i].steps[k], a));
                value_list_add(&paths, value_list_end(&steps, a, 0));
        }
        return value_list_end(&paths, a, 0);
}

static void take_result(struct ignore_search *s, size_t i, enum side side, const struct jq_result *result) {
        if (result->verdict == JQ_PATHS && side == SIDE_GIT)
                s->findings[i].in_git = paths_value(result, s->a);
        else if (result->verdict == JQ_PATHS)
                s->findings[i].in_live = paths_value(result, s->a);
        else if (result->verdict != JQ_FAILED && !s->err) {
                struct err *err = arena_alloc(s->a, sizeof *err);

                *err = *result->err;
                s->err = err;
        }
}

static void answered(void *ctx, const struct jq_result *results, size_t count) {
        struct question *q = ctx;
        struct ignore_search *s = q->search;

        q->eval = NULL;
        for (size_t i = 0; i < count; i++)
                take_result(s, i, q->side, &results[i]);
        if (--s->pending == 0)
                s->done(s->ctx, s->err);
}

static void ask(struct ignore_search *s, struct jq_engine *e, enum side side, const struct jq_rule *rules) {
        const struct value *object = side == SIDE_GIT ? s->o.desired : s->o.live;
        struct question *q = &s->questions[side];

        if (!object)
                return;
        *q = (struct question){ .search = s, .side = side };
        s->pending++;
        q->eval = jq_engine_eval(e,
                                 &(struct jq_question){ .object = value_canonical(s->a, object), .is_secret = s->o.secret,
                                                        .rules = rules, .count = s->programs },
                                 answered, q);
}

void ignore_ask(struct ignore_search *s, struct jq_engine *e, void (*done)(void *ctx, const struct err *err), void *ctx) {
        struct jq_rule *rules = arena_alloc(s->a, (s->programs + 1) * sizeof *rules);
        size_t n = 0;

        s->done = done;
        s->ctx = ctx;
        for (size_t i = 0; i < s->count; i++)
                for (size_t k = 0; k < rule_at(s, i)->program_count; k++)
                        rules[n++] = (struct jq_rule){ rule_at(s, i)->programs[k].text,
                                                       str_from(rule_at(s, i)->programs[k].place) };
        ask(s, e, SIDE_GIT, rules);
        ask(s, e, SIDE_LIVE, rules);
}

void ignore_cancel(struct ignore_search *s) {
        for (size_t i = 0; s && i < SIDES; i++)
                jq_eval_cancel(TAKE_PTR(s->questions[i].eval));
}

/* --- the answer ----------------------------------------------------------------------------------------------------- */

/* Fields of a trusted manager are its own: as a rule of ownership would say it, after those that are configured. */
static struct policy with_managers(const struct ignore_search *s) {
        const struct policy *configured = &s->o.app->policy;
        size_t count = configured->count;
        struct policy_rule *rules;

        if (!s->managers)
                return *configured;
        rules = arena_alloc(s->a, (count + s->managers) * sizeof *rules);
        if (count)
                memcpy(rules, configured->rules, count * sizeof *rules);
        for (size_t i = 0; i < s->count; i++)
                for (size_t k = 0; k < rule_at(s, i)->manager_count; k++)
                        rules[count++] = (struct policy_rule){ .name = "managedFieldsManagers", .place = rule_at(s, i)->place,
                                                               .manager = rule_at(s, i)->managers[k], .action = POLICY_YIELD };
        return (struct policy){ rules, count };
}

struct ignore_answer ignore_answer(struct ignore_search *s) {
        struct ignore_rule *rules = arena_alloc(s->a, (s->count + 1) * sizeof *rules);

        for (size_t i = 0; i < s->count; i++)
                rules[i] = (struct ignore_rule){
                        .name = rule_at(s, i)->name,
                        .place = rule_at(s, i)->place,
                        .at_sync = s->o.app->respect_ignores,
                        .pointers = rule_at(s, i)->pointers,
                        .pointer_count = rule_at(s, i)->pointer_count,
                        .program_count = rule_at(s, i)->program_count,
                };
        struct ignore_result found = ignore_paths(
                &(struct ignore_input){ .desired = s->o.desired, .live = s->o.live, .type = s->o.type, .rules = rules,
                                        .rule_count = s->count, .findings = s->findings },
                s->a);
        return (struct ignore_answer){ found.paths, found.count, with_managers(s), s->rules, s->count, found.found };
}
