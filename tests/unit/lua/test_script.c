/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/limits.h"
#include "lua/run_impl.h"
#include "lua_test.h"

/* --- objects and results ------------------------------------------------------------------------------------------ */

static void an_argo_cd_rule_runs(void **state) {
        static const char rule[] = "hs = {}\n"
                                   "if obj.status ~= nil then\n"
                                   "  for i, condition in ipairs(obj.status.conditions) do\n"
                                   "    if condition.type == 'Ready' and condition.status == 'True' then\n"
                                   "      hs.status = 'Healthy'\n"
                                   "      hs.message = condition.message\n"
                                   "      return hs\n"
                                   "    end\n"
                                   "  end\n"
                                   "end\n"
                                   "hs.status = 'Progressing'\n"
                                   "return hs\n";

        (void)state;
        assert_string_equal(
                run_on("{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"message\":\"up\"}]}}",
                       rule),
                "{\"message\":\"up\",\"status\":\"Healthy\"}");
        assert_string_equal(run_on("{}", rule), "{\"status\":\"Progressing\"}");
}

static void what_came_in_goes_out_the_same(void **state) {
        static const char object[] =
                "{\"deep\":{\"list\":[[1,2],[\"a\"]]},\"float\":1.5,\"int\":-9223372036854775808,"
                "\"large\":9007199254740993,\"no\":false,\"text\":\"\\u0000 \xc3\xa9 \\\"\",\"yes\":true}";

        (void)state;
        assert_string_equal(run_on(object, "return obj"), object);
}

static void whole_numbers_are_integers_however_they_are_written(void **state) {
        (void)state;
        assert_string_equal(
                run_on("[3, 3.0, 30e-1, 0.3e1, -0.0, 9007199254740991.0]",
                       "local t = {} for i, v in ipairs(obj) do t[i] = tostring(v) end return table.concat(t, ' ')"),
                "\"3 3 3 3 0 9007199254740991\"");
        assert_string_equal(
                run_on("[18446744073709551615, 1e300, 9007199254740992.0, 0.1]",
                       "local t = {} for i, v in ipairs(obj) do t[i] = math.type(v) end return table.concat(t, ' ')"),
                "\"float float float float\"");
}

static void a_null_is_nothing_and_a_list_closes_up_around_it(void **state) {
        (void)state;
        assert_string_equal(run_on("{\"a\":null,\"b\":1}", "return {obj.a == nil, obj.b}"), "[true,1]");
        assert_string_equal(run_on("[1,null,3,null]", "return {#obj, obj[1], obj[2], obj[3]}"), "[2,1,3]");
        assert_string_equal(run_on("null", "return obj == nil"), "true");
        assert_string_equal(run("return obj == nil"), "true");
}

static void tables_become_lists_or_maps(void **state) {
        (void)state;
        assert_string_equal(run("return {}"), "[]");
        assert_string_equal(run("return {1, {}, 'x'}"), "[1,[],\"x\"]");
        assert_string_equal(run("return {[1] = 'a', [3] = 'c'}"), "{\"1\":\"a\",\"3\":\"c\"}");
        assert_string_equal(run("return {[0] = 'a', 'b'}"), "{\"0\":\"a\",\"1\":\"b\"}");
        assert_string_equal(run("return {[2.5] = 1, x = 2.0, y = 0.5}"), "{\"2.5\":1,\"x\":2,\"y\":0.5}");
        assert_string_equal(run("return setmetatable({a = 1}, {__index = {b = 2}, __pairs = error, __len = error})"),
                            "{\"a\":1}");
}

static void nothing_is_null(void **state) {
        (void)state;
        assert_string_equal(run(""), "nil");
        assert_string_equal(run("return"), "nil");
        assert_string_equal(run("return nil"), "nil");
        assert_string_equal(run("return 1, 2"), "1");
        assert_string_equal(run("return 'text'"), "\"text\"");
}

static void what_is_no_data_is_an_error(void **state) {
        static const char *const scripts[][2] = {
                { "return print", "rule.lua: the script returns a function, which is no data" },
                { "return {x = {print}}", "rule.lua: the script returns a function, which is no data" },
                { "return {[true] = 1}", "rule.lua: the script returns a table with a key that is a boolean" },
                { "return 1/0", "rule.lua: the script returns a number that is none (infinity)" },
                { "return {0/0}", "rule.lua: the script returns a number that is none (NaN)" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
                assert_string_equal(run(scripts[i][0]), scripts[i][1]);
                assert_int_equal(lua_test_err.code, ERR_INVAL);
        }
}

static void what_is_returned_is_bounded(void **state) {
        static const char *const scripts[] = {
                "local t = {} t.t = t return t",
                "local t = {} for i = 1, 70 do t = {t} end return t",
                "local t = {} for i = 1, 10001 do t[i] = i end return t",
                "local t = {} for i = 1, 60 do t = {t, t} end return t",
                "return string.rep('x', 1024 * 1024 + 1)",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
                run(scripts[i]);
                assert_int_equal(lua_test_err.code, ERR_LIMIT);
        }
        assert_int_equal(strlen(run("return string.rep('x', 1024 * 1024)")), 1024 * 1024 + 2);
        assert_string_not_equal(run("local t = {} for i = 1, 9999 do t[i] = i end return t"), "");
        assert_int_equal(lua_test_err.code, 0);
        assert_string_not_equal(run("local t = {} for i = 1, 63 do t = {t} end return t"), "");
        assert_int_equal(lua_test_err.code, 0);
}

static void text_that_is_no_utf8_is_replaced(void **state) {
        (void)state;
        assert_string_equal(run("return 'a\\xffb'"), "\"a?b\"");
}

static void the_object_is_a_copy_and_globals_are_new_each_time(void **state) {
        _cleanup_(lua_script_unrefp) struct lua_script *s =
                compile("seen = (seen or 0) + 1 obj.x = obj.x + 1 return {seen, obj.x}");
        struct lua_call call = { .script = s };
        const struct value *result;

        (void)state;
        assert_int_equal(json_parse(STR("{\"x\":1}"), a, &call.object, NULL), 0);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(lua_script_run(&call, a, &result, NULL), 0);
                assert_string_equal(value_canonical(a, result).p, "[1,2]");
        }
        assert_string_equal(value_canonical(a, call.object).p, "{\"x\":1}");
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

static void errors_name_the_line_of_the_file(void **state) {
        struct lua_source source = { .text = STR("\n\nlocal x = obj.status.phase"),
                                     .name = STR("cm.yaml"),
                                     .line = 41 };
        _cleanup_(lua_script_unrefp) struct lua_script *s = lua_script_new(&source, NULL);
        struct lua_call call = { .script = s, .object = &value_empty_map };
        const struct value *result;
        struct err err;

        (void)state;
        assert_int_equal(lua_script_run(&call, a, &result, &err), ERR_INVAL);
        assert_string_equal(err.msg, "cm.yaml:43: attempt to index a nil value (field 'status')");

        source.text = STR("x = \n= 1");
        assert_null(lua_script_new(&source, &err));
        assert_int_equal(err.code, ERR_INVAL);
        assert_string_equal(err.msg, "cm.yaml:42: unexpected symbol near '='");
        source.line = LUA_MAX_LINE;
        assert_null(lua_script_new(&source, &err));
        assert_string_equal(err.msg, "cm.yaml:1000001: unexpected symbol near '='");
        source.line = LUA_MAX_LINE + 1;
        assert_null(lua_script_new(&source, &err));
        assert_int_equal(err.code, ERR_LIMIT);
}

/* Lua keeps 59 bytes of a name. */
static void a_long_name_is_whole_in_messages(void **state) {
        static const char name[] = "a/folder/with/a/name/that/is/longer/than/most/shop.example.io/Queue/health.lua";
        static const char *const texts[] = { "\n= 1", "\nerror('no')", "\nwhile true do end" };
        static const char *const ends[] = { ":2: unexpected symbol near '='", ":2: no", ":2: not done after 1 ms" };
        const struct value *result;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct lua_source source = { .text = str_from(texts[i]), .name = str_from(name) };
                struct err err = { 0 };
                _cleanup_(lua_script_unrefp) struct lua_script *s = lua_script_new(&source, &err);
                struct lua_call call = { .script = s, .max_ms = 1 };

                if (s)
                        assert_true(lua_script_run(&call, a, &result, &err) < 0);
                assert_string_equal(err.msg, arena_strf(a, "%s%s", name, ends[i]).p);
        }
}

static void whatever_is_raised_is_one_line(void **state) {
        (void)state;
        assert_string_equal(run("error('it is\\nbroken\\27[31m\\194\\133')"), "rule.lua:1: it is broken [31m  ");
        assert_string_equal(run("error('no place', 0)"), "rule.lua: no place");
        assert_string_equal(run("error({})"), "rule.lua: the script raised a table as its error");
        assert_string_equal(run("error()"), "rule.lua: the script raised a nil as its error");
        assert_string_equal(run("error(setmetatable({}, {__tostring = function() while true do end end}))"),
                            "rule.lua: the script raised a table as its error");
        assert_true(strlen(run("error(string.rep('x', 100000))")) <= LUA_MAX_MESSAGE_BYTES + 32);
        assert_int_equal(lua_test_err.code, ERR_INVAL);
}

static void only_text_is_a_script(void **state) {
        struct lua_source source = { .text = STR("\x1bLua"), .name = STR("x.lua") };
        struct err err;

        (void)state;
        assert_null(lua_script_new(&source, &err));
        assert_int_equal(err.code, ERR_INVAL);
        source.text = STR("\xef\xbb\xbf\x1bLua");
        assert_null(lua_script_new(&source, &err));
        assert_int_equal(err.code, ERR_INVAL);
        assert_string_equal(run("\xef\xbb\xbfreturn 1"), "1");
}

static void a_script_has_a_size(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(LUA_MAX_SCRIPT_BYTES + 1);
        struct err err = { 0 };

        (void)state;
        buf_addc(&text, "return 1");
        while (text.n < LUA_MAX_SCRIPT_BYTES)
                buf_addch(&text, ' ');
        struct lua_source source = { .text = buf_str(&text), .name = STR("x.lua") };
        struct lua_script *s = lua_script_new(&source, &err);
        assert_non_null(s);
        lua_script_unref(s);
        buf_addch(&text, ' ');
        source.text = buf_str(&text);
        assert_null(lua_script_new(&source, &err));
        assert_int_equal(err.code, ERR_LIMIT);
}

/* --- ends --------------------------------------------------------------------------------------------------------- */

static const char *run_for_ms(const char *text, int64_t max_ms) {
        struct lua_call call = { .max_ms = max_ms, .open_libs = true };

        return run_call(&call, text, NULL);
}

static void out_of_time_is_final(void **state) {
        (void)state;
        assert_string_equal(run_for_ms("\nwhile true do end", 30), "rule.lua:2: not done after 30 ms");
        assert_int_equal(lua_test_err.code, ERR_TIMEOUT);
        run_for_ms("while true do pcall(function() while true do end end) end", 30);
        assert_int_equal(lua_test_err.code, ERR_TIMEOUT);
        run_for_ms("xpcall(function() while true do end end, function() while true do end end)", 30);
        assert_int_equal(lua_test_err.code, ERR_TIMEOUT);
        run_for_ms("while true do coroutine.wrap(function() while true do end end)() end", 30);
        assert_int_equal(lua_test_err.code, ERR_TIMEOUT);
}

/* --- a clock that goes as a test says ----------------------------------------------------------------------------- */

static int64_t wall_ns, cpu_ns, cpu_step_ns;

/* Between two looks at it an hour passes, of which the thread has `cpu_step_ns`. */
static int64_t busy_clock_ns(clockid_t clock) {
        if (clock != CLOCK_MONOTONIC)
                return cpu_ns;
        cpu_ns += cpu_step_ns;
        return wall_ns += INT64_C(3600000000000);
}

/* What comes of it, within 30 ms. */
static int run_on_a_busy_machine(const char *text, int64_t step_ns) {
        _cleanup_(lua_script_unrefp) struct lua_script *s = compile(text);
        struct lua_call call = { .script = s, .max_ms = 30 };
        const struct value *result;

        wall_ns = cpu_ns = 0;
        cpu_step_ns = step_ns;
        return run_by_clock(&call, busy_clock_ns, a, &result, NULL);
}

static void a_script_that_is_not_let_run_is_not_out_of_time(void **state) {
        const char *const busy = "local n = 0 for i = 1, 100000 do n = n + 1 end return n";

        (void)state;
        assert_int_equal(run_on_a_busy_machine(busy, 1), 0);
        assert_int_equal(run_on_a_busy_machine(busy, 10 * 1000 * 1000), ERR_TIMEOUT);
        assert_int_equal(run_on_a_busy_machine("while true do end", 1000 * 1000), ERR_TIMEOUT);
        assert_in_range(cpu_ns, 30 * 1000 * 1000, 31 * 1000 * 1000);
}

static void out_of_memory_is_final(void **state) {
        (void)state;
        run("local t = {} while true do t[#t + 1] = {} end");
        assert_int_equal(lua_test_err.code, ERR_LIMIT);
        assert_string_equal(
                run("while true do pcall(function() local t = {} while true do t[#t + 1] = {} end end) end"),
                "rule.lua:1: needs more than 16384 KiB of memory");
        assert_int_equal(lua_test_err.code, ERR_LIMIT);
}

static void calls_that_do_not_end_are_told(void **state) {
        (void)state;
        assert_string_equal(run("local function f()\n return 1 + f()\nend\nreturn f()"),
                            "rule.lua:2: more than 1000 calls inside of each other take all its memory");
        assert_int_equal(lua_test_err.code, ERR_LIMIT);
        assert_string_equal(run("local function f(n) return n == 0 and 0 or 1 + f(n - 1) end return f(3000)"), "3000");
}

static void a_string_has_a_size(void **state) {
        (void)state;
        assert_string_equal(run("return #string.rep('x', 4 * 1024 * 1024)"), "4194304");
        assert_string_equal(run("return #string.rep('x', 4 * 1024 * 1024 + 1)"),
                            "rule.lua:1: resulting string too large");
        assert_string_equal(run("local s = string.rep('x', 2 * 1024 * 1024) return #(s .. s)"), "4194304");
        run("local s = string.rep('x', 2 * 1024 * 1024) return #(s .. s .. string.rep('x', 100))");
        assert_int_equal(lua_test_err.code, ERR_LIMIT);
}

static void garbage_is_collected(void **state) {
        (void)state;
        assert_string_equal(run("local s for i = 1, 100 do s = string.rep('x', 100000) .. i end return #s"), "100003");
        assert_string_equal(run("local t for i = 1, 500000 do t = {i} end return t"), "[500000]");
}

/* --- libraries ---------------------------------------------------------------------------------------------------- */

static void what_reaches_outside_is_not_there(void **state) {
        (void)state;
        for (int open = 0; open < 2; open++) {
                const char *(*how)(const char *text) = open ? run_open : run;

                assert_string_equal(
                        how("return {io, debug, package, dofile, loadfile, warn, string.dump, string.pack, module,"
                            " setfenv, getfenv, coroutine and coroutine.close} "),
                        "[]");
                assert_string_equal(
                        how("local os = require('os') return {os.execute, os.exit, os.getenv, os.remove, os.rename,"
                            " os.tmpname, os.setlocale, os.clock}"),
                        "[]");
                assert_string_equal(how("local n = 0 for _ in pairs(require('os')) do n = n + 1 end return n"), "3");
        }
        assert_string_equal(run("return {os == nil, coroutine == nil}"), "[true,true]");
        assert_string_equal(run_open("return {os == require('os'), coroutine == require('coroutine')}"), "[true,true]");
        assert_string_equal(run("return require('io')"),
                            "rule.lua:1: there is no module 'io' (files and packages cannot be loaded)");
}

static void lua_5_1_is_there(void **state) {
        (void)state;
        assert_string_equal(run("return {table.getn({1, 2, 3}), unpack({4, 5})}"), "[3,4,5]");
        assert_string_equal(run("return {math.pow(2, 3), math.mod(7, 4), math.log10(100), math.ldexp(1, 4)}"),
                            "[8,3,2,16]");
        assert_string_equal(run("return math.pow(2, 3) .. ' ' .. math.mod(7, 4) .. ' ' .. math.pow(2, 0.5) // 0.5"),
                            "\"8 3 2.0\"");
        assert_string_equal(run("return table.maxn({[7] = 1, [2] = 1, x = 1})"), "7");
        assert_string_equal(run("local t = {} for w in string.gfind('a b', '%a') do t[#t + 1] = w end return t"),
                            "[\"a\",\"b\"]");
        assert_string_equal(run("return loadstring('return 1')"),
                            "rule.lua:1: loadstring is not available: write the function in the script, or use load");
}

static void load_takes_text(void **state) {
        (void)state;
        assert_string_equal(run("return load('return 1 + 1')()"), "2");
        assert_string_equal(run("x = 5 return load('return x')()"), "5");
        assert_string_equal(run("return load('return x', 'chunk', 't', {x = 7})()"), "7");
        assert_string_equal(run("return load('x', 'chunk', 't', nil) == nil"), "true");
        assert_string_equal(
                run("local t = {'return ', '3'} local i = 0 return load(function() i = i + 1 return t[i] end)()"), "3");
        assert_string_equal(run("local f, why = load('\\27Lua', 'b', 'b') return {f == nil, type(why)}"),
                            "[true,\"string\"]");
        assert_string_equal(run("return pcall(load, string.rep(' ', 65537))"), "false");
        assert_string_equal(run("return load(string.rep(' ', 65536)) ~= nil"), "true");
}

static void addresses_are_not_seen(void **state) {
        (void)state;
        assert_string_equal(run("return {tostring({}), tostring(print), tostring(pairs({}))}"),
                            "[\"table\",\"function\",\"function\"]");
        assert_string_equal(run("return tostring(setmetatable({}, {__name = 'thing'}))"), "\"thing\"");
        assert_string_equal(run("return tostring(setmetatable({}, {__tostring = function() return 'mine' end}))"),
                            "\"mine\"");
}

/* The mistake that rules make most. */
static void a_list_that_is_missing_is_told_with_its_line(void **state) {
        static const char expected[] = "rule.lua:2: bad argument #1 to 'ipairs' (table expected, got nil)";

        (void)state;
        assert_string_equal(run_on("{}", "local n = 0\nfor _, c in ipairs(obj.conditions) do n = n + 1 end"), expected);
        assert_string_equal(run("return select('#', ipairs({})) .. #{ipairs({7})}"), "\"33\"");
        assert_string_equal(run("for _ in ipairs('text') do end return 1"), "1");
        assert_string_equal(run("local n = 0 for _, v in ipairs(setmetatable({}, {__index = function(_, i) return i < 3 "
                                "and i or nil end})) do n = n + v end return n"),
                            "3");
}

static void pairs_goes_in_order(void **state) {
        (void)state;
        assert_string_equal(
                run_on("{\"zeta\":1,\"beta\":2,\"alpha\":3,\"eta\":4,\"theta\":5}",
                       "local t = {} for k, v in pairs(obj) do t[#t + 1] = k .. v end return table.concat(t, ' ')"),
                "\"alpha3 beta2 eta4 theta5 zeta1\"");
        assert_string_equal(
                run("local t = {} for k in pairs({b = 1, [10] = 1, [2.5] = 1, [true] = 1, 'one', 'two', a = 1}) do"
                    " t[#t + 1] = tostring(k) end return table.concat(t, ' ')"),
                "\"1 2 10 2.5 a b true\"");
        assert_string_equal(run("local t, n = {a = 1, b = 2, c = 3}, 0 for k in pairs(t) do t.b = nil t[k] = nil t.z = "
                                "1 n = n + 1 end"
                                " return n"),
                            "2");
        assert_string_equal(run("return {next(pairs({})) == nil}"),
                            "rule.lua:1: bad argument #1 to 'next' (table expected, got function)");
        assert_string_equal(run("for k in pairs(nil) do end"),
                            "rule.lua:1: bad argument #1 to 'pairs' (table expected, got nil)");
}

static void metatables_are_guarded(void **state) {
        (void)state;
        assert_string_equal(run("return {getmetatable('')}"), "[false]");
        assert_string_equal(run("setmetatable({}, {__gc = print})"), "rule.lua:1: __gc is not allowed");
        assert_string_equal(run("setmetatable({}, {__gc = false})"), "rule.lua:1: __gc is not allowed");
        assert_string_equal(run("setmetatable({}, {__mode = 'k'})"), "rule.lua:1: __mode is not allowed");
        assert_string_equal(run("setmetatable(setmetatable({}, {__metatable = 1}), {})"),
                            "rule.lua:1: cannot change a protected metatable");
        assert_string_equal(
                run("local t = setmetatable({}, {__index = function(t, k) return k .. '!' end}) return t.x"), "\"x!\"");
}

static void modules_run_once_and_on_demand(void **state) {
        _cleanup_(lua_script_unrefp) struct lua_script *helper =
                compile("runs = (runs or 0) + 1 return {twice = function(x) return 2 * x end}");
        _cleanup_(lua_script_unrefp) struct lua_script *broken = compile("\nerror('no')");
        _cleanup_(lua_script_unrefp) struct lua_script *circular = compile("return require('circular')");
        struct lua_module modules[] = { { "helper", helper }, { "broken", broken }, { "circular", circular } };
        struct lua_call call = { .modules = modules, .module_count = ARRAY_LEN(modules) };

        (void)state;
        assert_string_equal(
                run_call(&call, "local h = require('helper') require('helper') return {h.twice(4), runs}", NULL),
                "[8,1]");
        assert_string_equal(run_call(&call, "return {runs == nil}", NULL), "[true]");
        assert_string_equal(run_call(&call, "require('broken')", NULL), "rule.lua:2: no");
        assert_string_equal(run_call(&call, "require('circular')", NULL),
                            "rule.lua:1: module 'circular' requires itself, or has failed before");
        assert_string_equal(run_call(&call, "return require('string') == string", NULL), "true");
}

static void the_time_is_given_and_utc(void **state) {
        (void)state;
        assert_string_equal(run("return require('os').time()"), "1893456000");
        assert_string_equal(run("return require('os').time({year = 2030, month = 1, day = 1, hour = 0})"),
                            "1893456000");
        assert_string_equal(run("return require('os').time({year = '2030', month = '01', day = '01'})"), "1893499200");
        assert_string_equal(run("return require('os').date('!%Y-%m-%dT%H:%M:%SZ')"), "\"2030-01-01T00:00:00Z\"");
        assert_string_equal(run("return require('os').date('*t', 86400).day"), "2");
        assert_string_equal(run("return require('os').date('%Q')"),
                            "rule.lua:1: invalid conversion specifier '%Q' in os.date()");
        assert_string_equal(run("return require('os').date('%')"),
                            "rule.lua:1: invalid conversion specifier '% ' in os.date()");
        assert_string_equal(run("return require('os').date('%Ed')"),
                            "rule.lua:1: invalid conversion specifier '%E' in os.date()");
        assert_string_equal(run("return require('os').date('%c', math.maxinteger)"),
                            "rule.lua:1: there is no date for this time");
        assert_string_equal(run("return require('os').time({year = 2030})"),
                            "rule.lua:1: field 'month' is missing in what os.time() is given");
        assert_string_equal(run("return require('os').time({year = 2030, month = 1.5, day = 1})"),
                            "rule.lua:1: field 'month' is not an integer");
}

static void coroutines_are_there_when_libraries_are_open(void **state) {
        (void)state;
        assert_string_equal(
                run_open("local co = coroutine.create(function(x) local y = coroutine.yield(x + 1) return y * 2 end)"
                         " return {select(2, coroutine.resume(co, 1)), select(2, coroutine.resume(co, 21)),"
                         " coroutine.status(co), coroutine.resume(co)}"),
                "[2,42,\"dead\",false,\"cannot resume dead coroutine\"]");
        assert_string_equal(
                run_open(
                        "local t = {} for i in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) do"
                        " t[#t + 1] = i end return t"),
                "[1,2,3]");
        assert_string_equal(run_open("coroutine.wrap(function() error('inside') end)()"),
                            "rule.lua:1: rule.lua:1: inside");
}

/* --- coverage, print ---------------------------------------------------------------------------------------------- */

static void lines_that_ran_are_marked(void **state) {
        struct lua_source source = { .text = STR("local x = 1\nif x == 2 then\n  x = 3\nend\nreturn x"),
                                     .name = STR("c.lua"),
                                     .line = 10 };
        _cleanup_(lua_script_unrefp) struct lua_script *s = lua_script_new(&source, NULL);
        uint8_t lines[6] = { 0 };
        struct lua_coverage coverage = { lines, ARRAY_LEN(lines) };
        struct lua_call call = { .script = s, .coverage = &coverage };
        const struct value *result;

        (void)state;
        assert_int_equal(lua_script_run(&call, a, &result, NULL), 0);
        assert_memory_equal(lines, ((uint8_t[]){ 0, 1, 1, 0, 0, 1 }), sizeof lines);
        coverage.count = 2;
        memset(lines, 0, sizeof lines);
        assert_int_equal(lua_script_run(&call, a, &result, NULL), 0);
        assert_memory_equal(lines, ((uint8_t[]){ 0, 1, 0, 0, 0, 0 }), sizeof lines);
}

static void note_line(void *ctx, struct str line) {
        struct buf *all = ctx;

        buf_add(all, line);
        buf_addch(all, '\n');
}

static void what_is_printed_goes_to_the_caller(void **state) {
        _cleanup_(buf_done) struct buf all = buf_make(1 * MIB);
        struct lua_call call = { .print = note_line, .print_ctx = &all };

        (void)state;
        run_call(&call, "print('a', 1, nil, {}) print()", NULL);
        assert_string_equal(all.p, "a\t1\tnil\ttable\n\n");
        buf_clear(&all);
        run_call(&call, "for i = 1, 100000 do print('line') end", NULL);
        assert_in_range(all.n, LUA_MAX_PRINTED_BYTES - 5, LUA_MAX_PRINTED_BYTES);
        assert_string_equal(run("print('nowhere') return 1"), "1");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_argo_cd_rule_runs),
                cmocka_unit_test(what_came_in_goes_out_the_same),
                cmocka_unit_test(whole_numbers_are_integers_however_they_are_written),
                cmocka_unit_test(a_null_is_nothing_and_a_list_closes_up_around_it),
                cmocka_unit_test(tables_become_lists_or_maps),
                cmocka_unit_test(nothing_is_null),
                cmocka_unit_test(what_is_no_data_is_an_error),
                cmocka_unit_test(what_is_returned_is_bounded),
                cmocka_unit_test(text_that_is_no_utf8_is_replaced),
                cmocka_unit_test(the_object_is_a_copy_and_globals_are_new_each_time),
                cmocka_unit_test(errors_name_the_line_of_the_file),
                cmocka_unit_test(a_long_name_is_whole_in_messages),
                cmocka_unit_test(whatever_is_raised_is_one_line),
                cmocka_unit_test(only_text_is_a_script),
                cmocka_unit_test(a_script_has_a_size),
                cmocka_unit_test(out_of_time_is_final),
                cmocka_unit_test(a_script_that_is_not_let_run_is_not_out_of_time),
                cmocka_unit_test(out_of_memory_is_final),
                cmocka_unit_test(calls_that_do_not_end_are_told),
                cmocka_unit_test(a_string_has_a_size),
                cmocka_unit_test(garbage_is_collected),
                cmocka_unit_test(what_reaches_outside_is_not_there),
                cmocka_unit_test(lua_5_1_is_there),
                cmocka_unit_test(load_takes_text),
                cmocka_unit_test(addresses_are_not_seen),
                cmocka_unit_test(a_list_that_is_missing_is_told_with_its_line),
                cmocka_unit_test(pairs_goes_in_order),
                cmocka_unit_test(metatables_are_guarded),
                cmocka_unit_test(modules_run_once_and_on_demand),
                cmocka_unit_test(the_time_is_given_and_utc),
                cmocka_unit_test(coroutines_are_there_when_libraries_are_open),
                cmocka_unit_test(lines_that_ran_are_marked),
                cmocka_unit_test(what_is_printed_goes_to_the_caller),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
