/* SPDX-License-Identifier: Apache-2.0 */
/* require: libraries that are open, and the caller's modules, which run when they are first asked for. */
#include "lua/run_impl.h"

static const char running_key;

/* Keeps the value at the top as what require(name) gives, and pops it. */
void libs_can_require(lua_State *L, const char *name) {
        lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
        lua_insert(L, -2);
        lua_setfield(L, -2, name);
        lua_pop(L, 1);
}

static const struct lua_module *find(lua_State *L, const char *name) {
        const struct lua_call *call = run_of(L)->call;

        for (size_t i = 0; i < call->module_count; i++) {
                if (strcmp(call->modules[i].name, name) == 0)
                        return &call->modules[i];
        }
        return NULL;
}

/* A light pointer that no script can get at, while the module runs. */
static bool is_running(lua_State *L) {
        return lua_touserdata(L, -1) == (void *)&running_key;
}

static int require(lua_State *L) {
        const char *name = luaL_checkstring(L, 1);
        const struct lua_module *module = find(L, name);

        lua_settop(L, 1);
        lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
        if (lua_getfield(L, 2, name) != LUA_TNIL)
                return is_running(L) ? luaL_error(L, "module '%s' requires itself, or has failed before", name) : 1;
        if (!module)
                return luaL_error(L, "there is no module '%s' (files and packages cannot be loaded)", name);
        lua_pushlightuserdata(L, (void *)&running_key);
        lua_setfield(L, 2, name);
        run_script(L, module->script);
        if (lua_isnil(L, -1)) {
                lua_pushboolean(L, 1);
                lua_replace(L, -2);
        }
        lua_pushvalue(L, -1);
        lua_setfield(L, 2, name);
        return 1;
}

void libs_open_require(lua_State *L) {
        /* Lua's own errors name functions by it. */
        luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
        lua_pushglobaltable(L);
        lua_setfield(L, -2, LUA_GNAME);
        lua_pop(L, 1);
        lua_pushcfunction(L, require);
        lua_setglobal(L, "require");
}
