/* SPDX-License-Identifier: Apache-2.0 */
/* The module "truce", lua/truce.lua, which rules of health share: in both modes what its comments say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../../read_file.h"
#include "lua_test.h"

#define MAX_BYTES (256 * 1024)

/* 2030-01-01T00:00:00Z is now. Closed and open mode must agree. */
static const char *ask_of(const char *object, const char *text) {
        _cleanup_(buf_done) struct buf source = buf_make(MAX_BYTES);
        struct lua_module module = { .name = "truce" };
        struct lua_call call = { .now_s = LUA_TEST_NOW_S, .modules = &module, .module_count = 1, .max_ms = 60000 };
        const char *closed, *opened;

        assert_true(read_file(TRUCE_SOURCE_DIR "/lua/truce.lua", &source));
        module.script = compile(arena_str(a, buf_str(&source)).p);
        text = arena_strf(a, "local t = require('truce') %s", text).p;
        closed = run_call(&call, text, object);
        call.open_libs = true;
        opened = run_call(&call, text, object);
        lua_script_unref(module.script);
        assert_string_equal(closed, opened);
        return closed;
}

static const char *ask(const char *text) {
        return ask_of(NULL, text);
}

#define assert_says(object, text, want) assert_string_equal(ask_of(object, text), want)

static void results_are_what_a_rule_returns(void **state) {
        (void)state;
        assert_string_equal(ask("return t.healthy()"), "{\"message\":\"\",\"status\":\"Healthy\"}");
        assert_string_equal(ask("return t.progressing('x')"), "{\"message\":\"x\",\"status\":\"Progressing\"}");
        assert_string_equal(ask("return t.suspended('x')"), "{\"message\":\"x\",\"status\":\"Suspended\"}");
        assert_string_equal(ask("return t.degraded('x')"), "{\"message\":\"x\",\"status\":\"Degraded\"}");
        assert_string_equal(ask("return t.degraded_for_good('x')"),
                            "{\"message\":\"x\",\"status\":\"Degraded\",\"terminal\":true}");
        assert_string_equal(ask("return t.again(t.healthy(), 1.2)"),
                            "{\"again\":2,\"message\":\"\",\"status\":\"Healthy\"}");
        assert_string_equal(ask("return t.again(t.healthy(), -5).again"), "1");
}

static void a_path_is_followed_as_far_as_it_goes(void **state) {
        const char *object =
                "{\"a\":{\"b\":[{\"c\":7}]},\"s\":\"text\",\"metadata\":{\"annotations\":{\"x\":\"\",\"y\":\"1\"}}}";

        (void)state;
        assert_says(object, "return t.get(obj, 'a', 'b', 1, 'c')", "7");
        assert_says(object, "return t.get(obj, 'a', 'z', 'c')", "nil");
        assert_says(object, "return t.get(obj, 's', 'len')", "nil");
        assert_says(object, "return t.get(nil, 's')", "nil");
        assert_says(object, "return { t.annotation(obj, 'x') or 'none', t.annotation(obj, 'y') }", "[\"none\",\"1\"]");
        assert_says(object, "return { t.number('12'), t.number('x', 3), t.number(nil, 0), t.number(2.5) }",
                    "[12,3,0,2.5]");
        assert_says(object, "return { #t.table('x'), #t.table({ 1 }), t.text('', 'd'), t.text(5, 'e'), t.text('f') }",
                    "[0,1,\"d\",\"e\",\"f\"]");
        assert_says(object, "return { t.contains({ 'a' }, 'a'), t.contains({ 'a' }, 'b'), t.contains(nil, nil) }",
                    "[true,false,false]");
        assert_says(object, "return t.keys({ b = 1, a = 2, c = 3 })", "[\"a\",\"b\",\"c\"]");
}

#define WITH_CONDITION(more)                                                                                           \
        "{\"metadata\":{\"generation\":5},\"status\":{\"conditions\":[7,{\"type\":\"Other\"},{\"type\":"               \
        "\"Ready\"," more "}]}}"

static void a_condition_about_an_older_generation_is_unknown(void **state) {
        const char *old = WITH_CONDITION("\"status\":\"True\",\"reason\":\"R\",\"observedGeneration\":4");
        const char *fresh = WITH_CONDITION("\"status\":\"True\",\"reason\":\"R\",\"observedGeneration\":5");

        (void)state;
        assert_says(old,
                    "return { t.is(obj, 'Ready'), t.is(obj, 'Ready', 'Unknown'), t.says(t.condition(obj, 'Ready')) }",
                    "[false,true,\"condition Ready is about generation 4, 5 is awaited\"]");
        assert_says(old, "local _ = t.condition(obj, 'Ready') return obj.status.conditions[3].status", "\"True\"");
        assert_says(fresh, "return { t.is(obj, 'Ready'), t.is(obj, 'Missing'), t.condition(obj, 'Missing') or 'none' }",
                    "[true,false,\"none\"]");
        assert_says(old, "return t.condition_in(obj.status.conditions, 'Ready').status", "\"True\"");
        assert_says(old, "return t.condition_in(obj.status.conditions, 'Ready', '5').status", "\"Unknown\"");
}

static void a_condition_is_said_in_its_own_words(void **state) {
        (void)state;
        assert_string_equal(ask("return t.says({ type = 'A', status = 'False', reason = 'R', message = 'm' })"),
                            "\"R: m\"");
        assert_string_equal(ask("return t.says({ type = 'A', status = 'False', reason = 'R', message = '' })"),
                            "\"R\"");
        assert_string_equal(ask("return t.says({ type = 'A', status = 'False', message = 'm' })"), "\"m\"");
        assert_string_equal(ask("return t.says({ type = 'A', status = 'False' })"), "\"A is False\"");
        assert_string_equal(ask("return t.says(nil)"), "\"\"");
        assert_string_equal(ask("return t.named({ type = 'A', status = 'False', reason = 'R' })"), "\"A: R\"");
        assert_string_equal(ask("return t.named({ type = 'A', status = 'False' })"), "\"A is False\"");
}

static void an_unobserved_generation_is_waited_for(void **state) {
        const char *behind = "{\"metadata\":{\"generation\":5},\"status\":{\"observedGeneration\":4}}";
        const char *current = "{\"metadata\":{\"generation\":5},\"status\":{\"observedGeneration\":5}}";

        (void)state;
        assert_says(behind, "return { t.stale(obj), t.unobserved(obj).status, t.unobserved(obj).message }",
                    "[true,\"Progressing\",\"waiting for its controller: generation 4 is observed, 5 is awaited\"]");
        assert_says("{\"metadata\":{\"generation\":5}}", "return t.unobserved(obj).message",
                    "\"waiting for its controller: there is no status yet\"");
        assert_says(current, "return { t.stale(obj), t.unobserved(obj) or 'none' }", "[false,\"none\"]");
}

static const char *decided(const char *more, const char *opts) {
        return ask_of(arena_strf(a, "{\"metadata\":{\"generation\":5},\"status\":{%s}}", more).p,
                      arena_strf(a,
                                 "local r = t.deciding(obj, 'Ready', %s) "
                                 "return (r.terminal and 'Final ' or '') .. r.status .. '|' .. r.message",
                                 opts)
                              .p);
}

#define READY(more)                                                                                                    \
        "\"conditions\":[{\"type\":\"Ready\"," more "},{\"type\":\"Part\",\"status\":\"False\",\"reason\":\"P\"}]"

static void the_deciding_condition_answers(void **state) {
        static const struct {
                const char *status, *opts, *want;
        } cases[] = {
                { "", "nil", "\"Progressing|waiting for condition Ready\"" },
                { "", "{ waiting = 'w' }", "\"Progressing|w\"" },
                { READY("\"status\":\"True\""), "nil", "\"Healthy|\"" },
                { READY("\"status\":\"True\""), "{ healthy = 'h' }", "\"Healthy|h\"" },
                { READY("\"status\":\"Unknown\",\"reason\":\"R\""), "{ on_false = 'Degraded' }", "\"Progressing|R\"" },
                { READY("\"status\":\"false\""), "{ on_false = 'Degraded' }", "\"Progressing|Ready is false\"" },
                { READY("\"status\":\"False\",\"reason\":\"R\""), "nil", "\"Progressing|R\"" },
                { READY("\"status\":\"False\",\"reason\":\"R\""), "{ on_false = 'Degraded' }", "\"Degraded|R\"" },
                { READY("\"status\":\"False\",\"reason\":\"R\""), "{ on_false = 'Degraded', progressing = { 'R' } }",
                  "\"Progressing|R\"" },
                { READY("\"status\":\"False\",\"reason\":\"R\""), "{ degraded = { 'Q', 'R' } }", "\"Degraded|R\"" },
                { READY("\"status\":\"False\",\"reason\":\"R\""), "{ for_good = { 'R' } }", "\"Final Degraded|R\"" },
                { READY("\"status\":\"False\""), "{ degraded = { 'P' } }", "\"Degraded|P\"" },
                { READY("\"status\":\"True\",\"observedGeneration\":4"), "nil",
                  "\"Progressing|condition Ready is about generation 4, 5 is awaited\"" },
                { "\"observedGeneration\":4," READY("\"status\":\"True\""), "nil",
                  "\"Progressing|waiting for its controller: generation 4 is observed, 5 is awaited\"" },
                { "\"observedGeneration\":4," READY("\"status\":\"True\""), "{ observed = false }", "\"Healthy|\"" },
                { READY("\"status\":\"True\""), "{ observed = true }",
                  "\"Progressing|waiting for its controller: there is no status yet\"" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_string_equal(decided(cases[i].status, cases[i].opts), cases[i].want);
}

static void all_conditions_must_be_true(void **state) {
        static const struct {
                const char *conditions, *want;
        } cases[] = {
                { "", "\"Progressing|waiting for condition A\"" },
                { "{\"type\":\"A\",\"status\":\"True\"}", "\"Progressing|waiting for condition B\"" },
                { "{\"type\":\"B\",\"status\":\"Unknown\"}", "\"Progressing|waiting for condition A\"" },
                { "{\"type\":\"A\",\"status\":\"Unknown\",\"reason\":\"R\"}", "\"Progressing|R\"" },
                { "{\"type\":\"B\",\"status\":\"False\",\"reason\":\"R\"}", "\"Degraded|R\"" },
                { "{\"type\":\"B\",\"status\":\"False\"},{\"type\":\"A\",\"status\":\"False\"}",
                  "\"Degraded|A is False\"" },
                { "{\"type\":\"B\",\"status\":\"True\"},{\"type\":\"A\",\"status\":\"True\"}", "\"Healthy|\"" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_says(arena_strf(a, "{\"status\":{\"conditions\":[%s]}}", cases[i].conditions).p,
                            "local r = t.all_true(obj, { 'A', 'B' }) return r.status .. '|' .. r.message",
                            cases[i].want);
}

static void counters_say_what_is_missing(void **state) {
        (void)state;
        assert_string_equal(ask("return t.replicas(1, 3, 'ready')"), "\"1 of 3 ready\"");
        assert_string_equal(ask("return t.replicas(nil, 3, 'ready')"), "\"0 of 3 ready\"");
        assert_string_equal(ask("return t.replicas(3, 3, 'ready')"), "nil");
        assert_string_equal(ask("return t.replicas(nil, 0, 'ready')"), "nil");
}

static void a_time_is_read_as_rfc_3339_has_it(void **state) {
        (void)state;
        assert_string_equal(ask("return t.time('1970-01-01T00:00:00Z')"), "0");
        assert_string_equal(ask("return t.time('2000-02-29T12:00:00.123456+02:00')"), "951818400");
        assert_string_equal(ask("return t.time('1969-12-31t19:00:00-05:30')"), "1800");
        assert_string_equal(ask("return t.age('2029-12-31T23:59:00Z')"), "60");
        assert_string_equal(ask("return t.age('2030-01-01T00:00:10Z')"), "-10");
        assert_string_equal(ask("for _, s in ipairs({ '', 'now', '2030-01-01', '2030-01-01T00:00:00', 5, {}, "
                                "'2030-01-01T00:00:00+1' }) do if t.time(s) or t.age(s) then return s end end"),
                            "nil");
        /* Begin and end of each month of five centuries, as os.time counts them. */
        assert_string_equal(ask("local os, n = require('os'), 0 "
                                "for y = 1900, 2400 do for m = 1, 12 do for d = 1, 28, 27 do "
                                "local s = string.format('%04d-%02d-%02dT00:00:00Z', y, m, d) "
                                "if t.time(s) ~= os.time({ year = y, month = m, day = d, hour = 0 }) then return s end "
                                "n = n + 1 end end end return n"),
                            "12024");
}

static void patience_ends_at_its_time(void **state) {
        (void)state;
        assert_string_equal(ask("return t.patience('2029-12-31T23:59:00Z', 90, 'm')"),
                            "{\"again\":30,\"message\":\"m\",\"status\":\"Progressing\"}");
        assert_string_equal(ask("return t.patience('2029-12-31T23:59:00Z', 60, 'm')"),
                            "{\"message\":\"m (for more than 60 s)\",\"status\":\"Degraded\"}");
        assert_string_equal(ask("return t.patience(nil, 60, 'm')"), "{\"message\":\"m\",\"status\":\"Progressing\"}");
        assert_string_equal(ask("return { t.duration(119), t.duration(120), t.duration(7199), t.duration(7200) }"),
                            "[\"119 s\",\"2 min\",\"119 min\",\"2 h\"]");
}

/* What an object may hold in place of what is expected. */
#define ODD                                                                                                            \
        "{ 0, 1.5, '', 'x', true, {}, { 1 }, { {} }, { status = 1 }, { status = { conditions = { 1, { type = 'x' } } " \
        "} } }"

static void nothing_in_an_object_makes_a_reader_raise(void **state) {
        (void)state;
        assert_string_equal(
                ask("local readers = { 'get', 'table', 'number', 'text', 'status', 'contains', 'keys', 'condition_in', "
                    "'condition', 'is', 'says', 'named', 'stale', 'unobserved', 'deciding', 'replicas', 'time', 'age', "
                    "'annotation', 'all_true' } local odd, n = " ODD ", 0 "
                    "for _, name in ipairs(readers) do for i = 0, #odd do for j = 0, #odd do "
                    "local second = odd[j] if name == 'deciding' then second = 'x' end "
                    "if name == 'all_true' then second = { 'x' } end "
                    "local ok, err = pcall(t[name], odd[i], second, nil) "
                    "if not ok then return name .. ' ' .. i .. ' ' .. j .. ': ' .. tostring(err) end n = n + 1 "
                    "end end end return n"),
                "2420");
}

static void it_leaves_no_globals(void **state) {
        (void)state;
        assert_string_equal(ask("local known = {} for k in pairs(_G) do known[k] = true end "
                                "t.deciding({}, 'Ready') t.age('x') "
                                "for k in pairs(_G) do if not known[k] then return k end end return _G.t or 'none'"),
                            "\"none\"");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(results_are_what_a_rule_returns),
                cmocka_unit_test(a_path_is_followed_as_far_as_it_goes),
                cmocka_unit_test(a_condition_about_an_older_generation_is_unknown),
                cmocka_unit_test(a_condition_is_said_in_its_own_words),
                cmocka_unit_test(an_unobserved_generation_is_waited_for),
                cmocka_unit_test(the_deciding_condition_answers),
                cmocka_unit_test(all_conditions_must_be_true),
                cmocka_unit_test(counters_say_what_is_missing),
                cmocka_unit_test(a_time_is_read_as_rfc_3339_has_it),
                cmocka_unit_test(patience_ends_at_its_time),
                cmocka_unit_test(nothing_in_an_object_makes_a_reader_raise),
                cmocka_unit_test(it_leaves_no_globals),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
