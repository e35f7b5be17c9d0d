/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutine: Lua's own but for resume() and wrap(), which say who runs, and without close(), whose nesting Lua 5.4.4
 * does not count. A coroutine that failed is not closed.
 */
#include "lua/run_impl.h"

#include <lualib.h>

/* Runs `co` with `count` values from the top; how many it gave, which are on L, or -1 and an error there. */
static int resume_with(lua_State *L, lua_State *co, int count) {
        struct run *r = run_of(L);
        int given;

        if (!lua_checkstack(co, count)) {
                lua_pushliteral(L, "too many arguments to resume");
                return -1;
        }
        lua_xmove(L, co, count);
        /* Who enters begins to count instructions anew, so the hook might never come, and few may have taken long. */
        run_check_time(r);
        run_enter(r, co);
        int status = lua_resume(co, L, count, &given);
        run_enter(r, L);
        if (status != LUA_OK && status != LUA_YIELD) {
                lua_xmove(co, L, 1);
                return -1;
        }
        if (!lua_checkstack(L, given + 1)) {
                lua_pop(co, given);
                lua_pushliteral(L, "too many results to resume");
                return -1;
        }
        lua_xmove(co, L, given);
        return given;
}

static int resume(lua_State *L) {
        lua_State *co = lua_tothread(L, 1);

        luaL_argexpected(L, co, 1, "coroutine");
        int given = resume_with(L, co, lua_gettop(L) - 1);
        lua_pushboolean(L, given >= 0);
        lua_insert(L, given >= 0 ? -(given + 1) : -2);
        return given >= 0 ? given + 1 : 2;
}

static int resume_wrapped(lua_State *L) {
        int given = resume_with(L, lua_tothread(L, lua_upvalueindex(1)), lua_gettop(L));

        if (given >= 0)
                return given;
        if (lua_type(L, -1) == LUA_TSTRING) {
                luaL_where(L, 1);
                lua_insert(L, -2);
                lua_concat(L, 2);
        }
        return lua_error(L);
}

static int wrap(lua_State *L) {
        luaL_checktype(L, 1, LUA_TFUNCTION);
        lua_State *co = lua_newthread(L);
        lua_pushvalue(L, 1);
        lua_xmove(L, co, 1);
        lua_pushcclosure(L, resume_wrapped, 1);
        return 1;
}

int libs_open_coroutine(lua_State *L) {
        lua_pushcfunction(L, luaopen_coroutine);
        lua_call(L, 0, 1);
        lua_pushnil(L);
        lua_setfield(L, -2, "close");
        lua_pushcfunction(L, resume);
        lua_setfield(L, -2, "resume");
        lua_pushcfunction(L, wrap);
        lua_setfield(L, -2, "wrap");
        return 1;
}
