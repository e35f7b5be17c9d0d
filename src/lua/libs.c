/* SPDX-License-Identifier: Apache-2.0 */
/* What a script finds: Lua's own libraries without what reaches outside, and with ours in place of what is not bounded.
 */
#include "lua/run_impl.h"

#include <lualib.h>

/* Takes fields out of the table at the top. */
static void take_out(lua_State *L, const char *const *names) {
        for (; *names; names++) {
                lua_pushnil(L);
                lua_setfield(L, -2, *names);
        }
}

static void open_base(lua_State *L) {
        static const char *const unwanted[] = { "dofile", "loadfile", "warn", NULL };

        luaopen_base(L);
        take_out(L, unwanted);
        lua_pop(L, 1);
        libs_open_base(L);
}

/* Makes the library at the top a global, and pops it. */
static void publish(lua_State *L, const char *name) {
        lua_pushvalue(L, -1);
        libs_can_require(L, name);
        lua_setglobal(L, name);
}

/* Calls what opens one of Lua's libraries: it leaves the library on the stack. */
static void open(lua_State *L, lua_CFunction library) {
        lua_pushcfunction(L, library);
        lua_call(L, 0, 1);
}

/* The same numbers in each evaluation; without an argument, too. */
static int seed(lua_State *L) {
        if (lua_isnoneornil(L, 1)) {
                lua_settop(L, 0);
                lua_pushinteger(L, 0);
        }
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, lua_gettop(L) - 1, 0);
        return 0;
}

static void open_math(lua_State *L) {
        open(L, luaopen_math);
        lua_getfield(L, -1, "randomseed");
        lua_pushcclosure(L, seed, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, "randomseed");
        lua_call(L, 0, 0);
        publish(L, "math");
}

static void open_string(lua_State *L) {
        static const char *const unwanted[] = { "dump", "pack", "packsize", "unpack", NULL };

        open(L, luaopen_string);
        take_out(L, unwanted);
        libs_open_string(L);
        /* Nobody changes what all strings have. */
        lua_pushliteral(L, "");
        lua_getmetatable(L, -1);
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
        lua_pop(L, 2);
        publish(L, "string");
}

void libs_open(lua_State *L) {
        open_base(L);
        libs_open_require(L);
        open_string(L);
        libs_open_table(L);
        publish(L, "table");
        open_math(L);
        open(L, luaopen_utf8);
        publish(L, "utf8");
        libs_open_compat(L);
        libs_open_os(L);
        if (!run_of(L)->call->open_libs) {
                libs_can_require(L, "os");
                return;
        }
        publish(L, "os");
        libs_open_coroutine(L);
        publish(L, "coroutine");
}
