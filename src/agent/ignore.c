/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ignore.h"

#include "diff/ignore.h"
#include "base/glob.h"
#include "manifest/tracking.h"

enum side { SIDE_GIT, SIDE_LIVE, SIDES };

struct ignore_search {
        struct ignore_object o;
        struct arena *a;
        size_t *rules;
        size_t count;
        size_t programs;           /* of all of them */
        struct config_ignore noted; /* what the object's own annotations say */
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

bool ignore_selects(const struct config_ignore *rule, const struct policy_object *o) {
        return (rule->group.n ? glob_match(rule->group, o->group) : !o->group.n) && glob_match(rule->kind, o->kind) &&
               fits(rule->ns, o->ns) && fits(rule->object, o->name) && fits(rule->application, o->application);
}

static struct policy_object selected(const struct ignore_object *o) {
        return (struct policy_object){ o->group, o->kind, o->ns, o->name, o->app->name };
}

static bool speaks_of(const struct ignore_object *o, const struct config_ignore *rule) {
        bool gathers = value_getc(o->desired, "aggregationRule") || value_getc(o->live, "aggregationRule");
        struct policy_object object = selected(o);

        return ignore_selects(rule, &object) && (!rule->aggregated || gathers);
}

static const struct config_ignore *rule_at(const struct ignore_search *s, size_t i) {
        return i < s->count ? &s->o.app->ignores.rules[s->rules[i]] : &s->noted;
}

/* The annotations' rule comes last. */
static size_t rules_in_all(const struct ignore_search *s) {
        return s->count + (s->noted.path_count || s->noted.manager_count);
}

/* --- annotations -------------------------------------------------------------------------------------------------- */

static struct str annotation(const struct value *object, const char *key) {
        return value_text(value_getc(value_path(object, "metadata", "annotations", NULL), key));
}

bool ignore_is_annotated(const struct value *object) {
        return annotation(object, IGNORE_ANNOTATION).n || annotation(object, IGNORE_MANAGERS_ANNOTATION).n;
}

static int check_manager(struct str name, struct err *err) {
        if (str_eqc(name, "*"))
                return err_set(err, ERR_INVAL, "\"*\" would leave all to everybody; skip-reconcile does that");
        if (!policy_is_name_pattern(name))
                return err_set(err, ERR_INVAL, "\"%.*s\": a \"*\" may only stand at the end", STR_FMT(name));
        if (policy_is_own_name(name))
                return err_set(err, ERR_INVAL, "\"%.*s\": what it owns is Git's", STR_FMT(name));
        return 0;
}

/* The end of the name that begins at `from`: a comma, or a line's end. */
static size_t name_end(struct str text, size_t from) {
        while (from < text.n && text.p[from] != ',' && text.p[from] != '\n')
                from++;
        return from;
}

static int read_managers(struct str text, struct arena *a, const char *const **ret_managers, size_t *ret_count,
                         struct err *err) {
        const char **managers = arena_alloc(a, (IGNORE_MAX_LISTED + 1) * sizeof *managers);
        size_t count = 0;

        for (size_t from = 0; from < text.n;) {
                size_t to = name_end(text, from);
                struct str one = str_trim(str_sub(text, from, to));

                from = to + 1;
                if (!one.n)
                        continue;
                if (count == IGNORE_MAX_LISTED)
                        return err_set(err, ERR_LIMIT, "it holds more than %d managers", IGNORE_MAX_LISTED);
                if (check_manager(one, err) < 0)
                        return ERR_INVAL;
                managers[count++] = arena_str(a, one).p;
        }
        *ret_managers = managers;
        *ret_count = count;
        return 0;
}

static int read_noted(const struct value *object, struct arena *a, struct config_ignore *ret, const char **ret_key,
                      struct err *err) {
        struct config_ignore rule = { .name = IGNORE_ANNOTATION };
        int r;

        *ret_key = IGNORE_ANNOTATION;
        r = ignore_paths_read(annotation(object, IGNORE_ANNOTATION), a, &rule.paths, &rule.path_count, err);
        if (r < 0)
                return r;
        *ret_key = IGNORE_MANAGERS_ANNOTATION;
        r = read_managers(annotation(object, IGNORE_MANAGERS_ANNOTATION), a, &rule.managers, &rule.manager_count, err);
        if (r == 0)
                *ret = rule;
        return r;
}

int ignore_check_annotations(const struct value *object, const char **ret_key, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = NULL;
        struct config_ignore rule;

        if (!ignore_is_annotated(object))
                return 0;
        a = arena_new(0);
        int r = read_noted(object, a, &rule, ret_key, err);
        return r < 0 ? err_wrap(err, r, "annotation %s", *ret_key) : 0;
}

/* An object whose annotations cannot be read was refused when it was bound. */
static void note_annotations(struct ignore_search *s) {
        const char *key;

        if (ignore_is_annotated(s->o.desired) && read_noted(s->o.desired, s->a, &s->noted, &key, NULL) == 0)
                s->noted.place = s->o.place.n ? arena_str(s->a, s->o.place).p : NULL;
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
                s->programs += all->rules[i].program_count;
        }
        note_annotations(s);
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

static size_t policy_rules_of(const struct ignore_search *s, const struct config_ignore *rule) {
        return rule->manager_count * (rule->path_count && rule != &s->noted ? rule->path_count : 1);
}

/* The k-th of them. Our own rules name both: whose, and which of it. */
static struct policy_rule trust(const struct ignore_search *s, const struct config_ignore *rule, size_t k) {
        bool by_manager_alone = !rule->path_count || rule == &s->noted;

        return (struct policy_rule){
                .name = config_ignore_is_own(rule) || rule == &s->noted ? rule->name : "managedFieldsManagers",
                .place = rule->place,
                .manager = rule->managers[k % rule->manager_count],
                .path = by_manager_alone ? NULL : &rule->paths[k / rule->manager_count],
                .action = POLICY_YIELD,
        };
}

/* Fields of a trusted manager are its own: as a rule of ownership would say it, after those that are configured. */
static struct policy with_managers(const struct ignore_search *s) {
        const struct policy *configured = &s->o.app->policy;
        size_t count = configured->count, more = 0, all = rules_in_all(s);
        struct policy_rule *rules;

        for (size_t i = 0; i < all; i++)
                more += policy_rules_of(s, rule_at(s, i));
        if (!more)
                return *configured;
        rules = arena_alloc(s->a, (count + more) * sizeof *rules);
        if (count)
                memcpy(rules, configured->rules, count * sizeof *rules);
        for (size_t i = 0; i < all; i++) {
                const struct config_ignore *rule = rule_at(s, i);

                for (size_t k = 0; k < policy_rules_of(s, rule); k++)
                        rules[count++] = trust(s, rule, k);
        }
        return (struct policy){ rules, count };
}

/* The annotations are two rules in one: what may differ, and whose fields are theirs. */
static bool narrows_managers(const struct ignore_search *s, const struct config_ignore *rule) {
        return rule != &s->noted && rule->manager_count;
}

#define FIELD(text) { .kind = PATH_FIELD, .name = { text, sizeof(text) - 1 } }

const struct field_path *ignore_marks(void) {
        static const struct path_element annotation[] = { FIELD("metadata"), FIELD("annotations"),
                                                          FIELD(TRACKING_ANNOTATION) };
        static const struct path_element label[] = { FIELD("metadata"), FIELD("labels"), FIELD(TRACKING_LABEL) };
        static const struct field_path marks[IGNORE_MARKS] = {
                { annotation, ARRAY_LEN(annotation) },
                { label, ARRAY_LEN(label) },
        };

        return marks;
}

static struct ignore_rule rule_in_force(const struct ignore_search *s, const struct config_ignore *rule) {
        return (struct ignore_rule){
                .name = rule->name,
                .place = rule->place,
                .at_sync = s->o.app->respect_ignores,
                .pointers = rule->pointers,
                .pointer_count = rule->pointer_count,
                .program_count = rule->program_count,
                .patterns = rule->paths,
                .pattern_count = narrows_managers(s, rule) ? 0 : rule->path_count,
        };
}

/* An ownership rule that says of the very path that it is to be taken. */
static const struct policy_rule *taken_by(const struct ignore_search *s, struct field_path path) {
        const struct policy *policy = &s->o.app->policy;
        struct policy_object object = selected(&s->o);

        for (size_t i = 0; i < policy->count; i++) {
                const struct policy_rule *r = &policy->rules[i];

                if (r->action == POLICY_TAKE && r->path && policy_rule_selects(r, &object) &&
                    field_pattern_fit(*r->path, path) == PATTERN_COVERS)
                        return r;
        }
        return NULL;
}

/* What is ignored and taken as well is not told to be different, so it is not taken back either. */
static void advise_of_takes(const struct ignore_search *s, const struct ignore_result *found, const struct ignore_rule *rules,
                            const char **advice) {
        for (size_t i = 0; i < found->count; i++) {
                const struct ignored_path *p = &found->paths[i];
                const struct policy_rule *taker = taken_by(s, p->path);

                for (size_t k = 0; taker && k < s->count; k++)
                        if (rules[k].place == p->place && !advice[k])
                                advice[k] = arena_strf(s->a, "this ignore rule names %.*s, which the ownership rule %s takes: as "
                                                       "no difference is seen there, nothing is taken back; remove one of them",
                                                       STR_FMT(field_path_text(s->a, p->path)), taker->name).p;
        }
}

struct ignore_answer ignore_answer(struct ignore_search *s) {
        size_t all = rules_in_all(s);
        struct ignore_rule *rules = arena_alloc(s->a, (all + 1) * sizeof *rules);
        const char **advice = arena_alloc(s->a, (all + 1) * sizeof *advice);

        for (size_t i = 0; i < all; i++)
                rules[i] = rule_in_force(s, rule_at(s, i));
        struct ignore_result found = ignore_paths(
                &(struct ignore_input){ .desired = s->o.desired, .live = s->o.live, .type = s->o.type, .rules = rules,
                                        .rule_count = all, .findings = s->findings, .kept = ignore_marks(),
                                        .kept_count = IGNORE_MARKS },
                s->a);
        memcpy(advice, found.advice, all * sizeof *advice);
        advise_of_takes(s, &found, rules, advice);
        return (struct ignore_answer){
                .paths = found.paths, .count = found.count, .policy = with_managers(s), .rules = s->rules,
                .rule_count = s->count, .found = found.found, .advice = advice,
        };
}
