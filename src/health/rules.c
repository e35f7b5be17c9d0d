/* SPDX-License-Identifier: Apache-2.0 */
#include "health/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "health/bundle.h"
#include "health/rules_impl.h"

/* Group and kind of an object fit well; what does not is no name of a kind. */
#define SUBJECT_MAX_BYTES 512

/* --- compiled texts ---------------------------------------------------------------------------------------------- */

struct lua_script *compiled_script(struct compiled *c, struct err *err) {
        struct lua_script *script = atomic_load(&c->script), *fresh;

        if (script)
                return script;
        fresh = lua_script_new(&c->source, err);
        /* Two threads may compile it at once; the first one's is kept. */
        if (fresh && !atomic_compare_exchange_strong(&c->script, &script, fresh)) {
                lua_script_unref(fresh);
                return script;
        }
        return fresh;
}

static void take_script(struct compiled *c, const struct compiled *old) {
        struct lua_script *script = atomic_load(&old->script);

        if (script && !atomic_load(&c->script))
                atomic_store(&c->script, lua_script_ref(script));
}

static void compiled_done(struct compiled *c) {
        lua_script_unref(atomic_load(&c->script));
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static struct str join(struct str group, struct str kind, char *ret_text, size_t size) {
        size_t n = group.n + (group.n > 0) + kind.n;

        if (n > size)
                return (struct str){ 0 };
        if (group.n > 0) {
                memcpy(ret_text, group.p, group.n);
                ret_text[group.n] = '/';
        }
        if (kind.n > 0)
                memcpy(ret_text + n - kind.n, kind.p, kind.n);
        return (struct str){ ret_text, n };
}

static struct str join_new(struct str group, struct str kind) {
        size_t n = group.n + (group.n > 0) + kind.n;

        return join(group, kind, mem_alloc(n + 1), n);
}

static size_t literal_bytes(struct str pattern) {
        size_t n = 0;

        while (n < pattern.n && str_find(STR("*?[{\\"), pattern.p[n], 0) < 0)
                n++;
        return n;
}

static void add_bundled(struct health_rules *r) {
        const struct bundle_rule *rules;

        r->bundled_count = bundle_rules(&rules);
        r->bundled = mem_zalloc((r->bundled_count + 1) * sizeof(*r->bundled));
        for (size_t i = 0; i < r->bundled_count; i++) {
                struct lua_rule *rule = &r->bundled[i];

                rule->pattern = join_new(rules[i].group, rules[i].kind);
                rule->literal = literal_bytes(rule->pattern);
                rule->name = rules[i].name;
                rule->open_libs = true;
                rule->code.source = (struct lua_source){ .text = rules[i].text, .name = str_from(rules[i].file) };
        }
}

static void add_modules(struct health_rules *r) {
        const struct bundle_module *modules;

        r->module_count = bundle_modules(&modules);
        r->modules = mem_zalloc((r->module_count + 1) * sizeof(*r->modules));
        for (size_t i = 0; i < r->module_count; i++)
                r->modules[i].source =
                        (struct lua_source){ .text = modules[i].text, .name = str_from(modules[i].file) };
}

struct health_rules *health_rules_new(void) {
        struct health_rules *r = mem_zalloc(sizeof(*r));

        atomic_init(&r->refs, 1);
        add_bundled(r);
        add_modules(r);
        return r;
}

/* "argocd-cm.yaml:14" */
static char *place_of(const struct lua_source *source) {
        struct buf out = buf_make(SIZE_MAX / 2);

        buf_add(&out, source->name);
        if (source->line > 0)
                buf_addf(&out, ":%u", source->line);
        return buf_take(&out);
}

static void user_done(struct lua_rule *rule) {
        free((char *)rule->pattern.p);
        free((char *)rule->name);
        free((char *)rule->code.source.text.p);
        free((char *)rule->code.source.name.p);
        compiled_done(&rule->code);
}

static int check_source(const struct health_rules *r, const struct health_source *source, const struct lua_rule *rule,
                        struct err *err) {
        int q;

        if (r->user_count >= HEALTH_MAX_RULES)
                return err_set(err, ERR_LIMIT, "%s: more than %d health rules", rule->name, HEALTH_MAX_RULES);
        if (source->kind.n == 0)
                return err_set(err, ERR_INVAL, "%s: health rule without a kind", rule->name);
        q = glob_check(rule->pattern, err);
        return q < 0 ? err_wrap(err, q, "%s", rule->name) : 0;
}

int health_rules_add(struct health_rules *r, const struct health_source *source, struct err *err) {
        struct lua_rule rule = {
                .pattern = join_new(source->group, source->kind),
                .name = source->place.n ? str_dup(source->place) : place_of(&source->lua),
                .open_libs = source->open_libs,
                .code.source = { .text = { str_dup(source->lua.text), source->lua.text.n },
                                 .name = { str_dup(source->lua.name), source->lua.name.n },
                                 .line = source->lua.line },
        };
        int q = check_source(r, source, &rule, err);

        rule.literal = literal_bytes(rule.pattern);
        if (q == 0 && !compiled_script(&rule.code, err))
                q = err ? (int)err->code : ERR_INVAL;
        if (q < 0) {
                user_done(&rule);
                return q;
        }
        r->users = mem_grow(r->users, &r->user_cap, r->user_count + 1, sizeof(*r->users));
        r->users[r->user_count++] = rule;
        return 0;
}

/* Did the rule before, of the same text and libraries for the same kinds? If there was none: any of that text? */
static bool text_timed_out(const struct health_rules *r, const struct lua_rule *rule) {
        bool timed_out = false;

        for (size_t i = 0; i < r->user_count; i++) {
                const struct lua_rule *before = &r->users[i];

                if (!str_eq(before->code.source.text, rule->code.source.text) || before->open_libs != rule->open_libs)
                        continue;
                if (str_eq(before->pattern, rule->pattern))
                        return atomic_load(&before->timed_out);
                timed_out |= atomic_load(&before->timed_out);
        }
        return timed_out;
}

void health_rules_inherit(struct health_rules *r, const struct health_rules *old) {
        for (size_t i = 0; i < r->user_count; i++)
                atomic_store(&r->users[i].timed_out, text_timed_out(old, &r->users[i]));
        for (size_t i = 0; i < r->bundled_count; i++) {
                atomic_store(&r->bundled[i].timed_out, atomic_load(&old->bundled[i].timed_out));
                take_script(&r->bundled[i].code, &old->bundled[i].code);
        }
        for (size_t i = 0; i < r->module_count; i++)
                take_script(&r->modules[i], &old->modules[i]);
}

struct health_rules *health_rules_ref(struct health_rules *r) {
        atomic_fetch_add(&r->refs, 1);
        return r;
}

void health_rules_unref(struct health_rules *r) {
        if (!r || atomic_fetch_sub(&r->refs, 1) > 1)
                return;
        for (size_t i = 0; i < r->user_count; i++)
                user_done(&r->users[i]);
        for (size_t i = 0; i < r->bundled_count; i++) {
                free((char *)r->bundled[i].pattern.p);
                compiled_done(&r->bundled[i].code);
        }
        for (size_t i = 0; i < r->module_count; i++)
                compiled_done(&r->modules[i]);
        free(r->users);
        free(r->bundled);
        free(r->modules);
        free(r);
}

/* --- lookup ------------------------------------------------------------------------------------------------------- */

/* An exact one, else the glob with the longest literal beginning; of equals the first. */
static struct lua_rule *best_of(struct lua_rule *rules, size_t count, struct str subject) {
        struct lua_rule *best = NULL;

        for (size_t i = 0; i < count; i++) {
                struct lua_rule *rule = &rules[i];

                if (rule->literal == rule->pattern.n && str_eq(rule->pattern, subject))
                        return rule;
                if (rule->literal < rule->pattern.n && (!best || rule->literal > best->literal) &&
                    str_starts(subject, str_sub(rule->pattern, 0, rule->literal)) && glob_match(rule->pattern, subject))
                        best = rule;
        }
        return best;
}

struct judge rules_lookup(const struct health_rules *r, struct str group, struct str kind) {
        char text[SUBJECT_MAX_BYTES];
        struct str subject = join(group, kind, text, sizeof(text));
        struct judge judge = { 0 };

        if (subject.n > 0)
                judge.user = best_of(r->users, r->user_count, subject);
        if (subject.n > 0 && !judge.user)
                judge.bundled = best_of(r->bundled, r->bundled_count, subject);
        if (judge.user || judge.bundled)
                return judge;
        judge.builtin = builtin_find(group, kind);
        if (!judge.builtin)
                judge.builtin = &builtin_standard;
        return judge;
}

bool health_rules_find(const struct health_rules *r, struct str group, struct str kind, struct health_rule_view *ret) {
        struct judge judge = rules_lookup(r, group, kind);
        const struct lua_rule *rule = judge.user ? judge.user : judge.bundled;

        if (judge.builtin == &builtin_standard)
                return false;
        *ret = (struct health_rule_view){
                .name = rule ? rule->name : judge.builtin->name,
                .bundled = judge.bundled != NULL,
                .user = judge.user != NULL,
        };
        if (rule)
                ret->text = rule->code.source.text;
        return true;
}

bool health_bundled_at(size_t i, struct str *ret_group, struct str *ret_kind, struct str *ret_text) {
        const struct bundle_rule *rules;

        if (i >= bundle_rules(&rules))
                return false;
        *ret_group = rules[i].group;
        *ret_kind = rules[i].kind;
        *ret_text = rules[i].text;
        return true;
}
