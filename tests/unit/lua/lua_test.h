/* SPDX-License-Identifier: Apache-2.0 */
/* Runs small scripts: what they return as canonical JSON, or what they raise as text, in the test's arena. */
#ifndef TRUCE_TEST_LUA_H
#define TRUCE_TEST_LUA_H

#include "arena_test.h"
#include "base/json.h"
#include "lua/script.h"

#define LUA_TEST_NOW_S 1893456000 /* 2030-01-01T00:00:00Z */

static struct err lua_test_err;

static struct lua_script *compile(const char *text) {
        struct lua_source source = { .text = str_from(text), .name = STR("rule.lua") };
        struct lua_script *s = lua_script_new(&source, &lua_test_err);

        if (!s)
                fprintf(stderr, "%s\n", lua_test_err.msg);
        assert_non_null(s);
        return s;
}

/* `call` may have anything set but script and object. The error's text for a failure; its code is in lua_test_err. */
static const char *run_call(struct lua_call *call, const char *text, const char *object) {
        _cleanup_(lua_script_unrefp) struct lua_script *s = compile(text);
        const struct value *result = NULL;

        call->script = s;
        if (!call->max_ms)
                call->max_ms = 60 * 1000; /* a busy machine is none of theirs */
        call->object = NULL;
        if (object)
                assert_int_equal(json_parse(str_from(object), a, &call->object, NULL), 0);
        lua_test_err = (struct err){ 0 };
        if (lua_script_run(call, a, &result, &lua_test_err) < 0)
                return lua_test_err.msg;
        return result ? value_canonical(a, result).p : "nil";
}

static inline const char *run_on(const char *object, const char *text) {
        struct lua_call call = { .now_s = LUA_TEST_NOW_S };

        return run_call(&call, text, object);
}

static inline const char *run(const char *text) {
        return run_on(NULL, text);
}

static inline const char *run_open(const char *text) {
        struct lua_call call = { .now_s = LUA_TEST_NOW_S, .open_libs = true };

        return run_call(&call, text, NULL);
}

#endif
