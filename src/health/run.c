/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule in Lua: running it, and reading what it returns as Argo CD does (util/lua, ExecuteHealthLua): nil or an empty
 * table is no health; a table has `status`, one of the words, and `message`, text; anything else makes this one object
 * Unknown. Of our own: `terminal` (a boolean) and `again` (seconds).
 */
#include <strings.h>

#include "health/bundle.h"
#include "health/message.h"
#include "health/rules_impl.h"

/* Looking again is not put off for longer than a day, whatever a script says. */
#define AGAIN_MAX_S (24 * 3600)

static void fail(const struct rule *r, enum err_code code, struct str why) {
        rule_say_text(r, HEALTH_UNKNOWN, why);
        r->h->failure = code;
}

/* --- what it returns ---------------------------------------------------------------------------------------------- */

/* Go's decoder, which upstream reads the table with, does not mind the case of keys. */
static const struct value *member(const struct value *map, struct str key) {
        const struct value *exact = value_get(map, key);

        for (size_t i = 0; !exact && i < map->map.count; i++) {
                struct str k = map->map.members[i].key;

                if (k.n == key.n && strncasecmp(k.p, key.p, k.n) == 0)
                        return map->map.members[i].value;
        }
        return exact;
}

static const char *type_of(const struct value *v) {
        return v->kind == VALUE_MAP || v->kind == VALUE_LIST ? "table" : value_kind_name(v->kind);
}

/* Text, or nothing. */
static bool is_text(const struct rule *r, const struct value *v, const char *field) {
        if (!v || v->kind == VALUE_NULL || v->kind == VALUE_STRING)
                return true;
        fail(r, ERR_INVAL, arena_strf(r->a, "Lua returned a %s as its %s, which must be text", type_of(v), field));
        return false;
}

/* Whole seconds; a number with a fraction is cut. */
static int64_t seconds(const struct value *v) {
        int64_t s = 0;

        if (value_is(v, VALUE_DECIMAL)) {
                ptrdiff_t point = str_find(v->text, '.', 0);

                if (point < 0 || !str_to_i64(str_sub(v->text, 0, (size_t)point), &s))
                        return 0;
        } else if (!value_to_i64(v, &s)) {
                return 0;
        }
        return s < AGAIN_MAX_S ? s : AGAIN_MAX_S;
}

static void read_table(const struct rule *r, const struct value *table) {
        const struct value *status = member(table, STR("status")), *message = member(table, STR("message"));
        enum health_code code;

        if (!is_text(r, status, "status") || !is_text(r, message, "message"))
                return;
        if (!health_from_name(value_text(status), &code)) {
                fail(r, ERR_INVAL,
                     arena_strf(r->a, "Lua returned an invalid health status: %s",
                                value_text(status).n > 0 ? rule_word(r, value_text(status)) : "none"));
                return;
        }
        rule_say_text(r, code, value_text(message));
        r->h->terminal = code == HEALTH_DEGRADED && value_truth(value_getc(table, "terminal"), false);
        if (seconds(value_getc(table, "again")) > 0)
                r->h->again_ms = r->q->now_ms + seconds(value_getc(table, "again")) * 1000;
}

/* nil, nothing, or an empty table. */
static bool is_nothing(const struct value *returned) {
        return !returned || returned->kind == VALUE_NULL ||
               ((returned->kind == VALUE_MAP || returned->kind == VALUE_LIST) && value_count(returned) == 0);
}

static void read_returned(const struct rule *r, const struct value *returned) {
        if (is_nothing(returned))
                rule_say_only(r, HEALTH_NONE);
        else if (returned->kind == VALUE_LIST)
                fail(r, ERR_INVAL, STR("Lua returned a list, not a table with a status"));
        else if (returned->kind != VALUE_MAP)
                fail(r, ERR_INVAL, arena_strf(r->a, "Lua returned a %s, not a table", type_of(returned)));
        else
                read_table(r, returned);
}

/* --- running ------------------------------------------------------------------------------------------------------ */

#define NOT_AGAIN "; not run again until it changes"

static int load(struct health_rules *r, struct lua_rule *rule, struct arena *a, struct lua_call *ret_call,
                struct err *err) {
        struct lua_module *modules = arena_zalloc(a, (r->module_count + 1) * sizeof(*modules));
        const struct bundle_module *names;

        ret_call->script = compiled_script(&rule->code, err);
        if (!ret_call->script)
                return err->code;
        ret_call->module_count = bundle_modules(&names);
        ret_call->modules = modules;
        for (size_t i = 0; i < r->module_count; i++) {
                modules[i] = (struct lua_module){ names[i].name, compiled_script(&r->modules[i], err) };
                if (!modules[i].script)
                        return err->code;
        }
        return 0;
}

void rules_run(struct health_rules *r, struct lua_rule *rule, const struct rule *judged) {
        const struct value *returned = NULL;
        struct lua_call call = {
                .object = judged->object,
                .open_libs = rule->open_libs,
                .now_s = judged->q->now_ms / 1000,
                .coverage = judged->q->coverage,
                .print = judged->q->print,
                .print_ctx = judged->q->print_ctx,
                .work_ns = &judged->h->work_ns,
        };
        struct err err = { 0 };
        int q;

        if (atomic_load(&rule->timed_out)) {
                fail(judged, ERR_TIMEOUT, arena_strf(judged->a, "rule %s timed out" NOT_AGAIN, judged->h->rule));
                return;
        }
        q = load(r, rule, judged->a, &call, &err);
        if (q == 0)
                q = lua_script_run(&call, judged->a, &returned, &err);
        if (q == ERR_TIMEOUT) {
                atomic_store(&rule->timed_out, true);
                fail(judged, ERR_TIMEOUT, arena_strf(judged->a, "%s" NOT_AGAIN, err.msg));
        } else if (q < 0) {
                fail(judged, q == ERR_LIMIT ? ERR_LIMIT : ERR_INVAL, str_from(err.msg));
        } else {
                read_returned(judged, returned);
        }
}
