/* SPDX-License-Identifier: Apache-2.0 */
/* What Lua 5.1 had and 5.4 may not have. */
#include "lua/run_impl.h"

#include <math.h>

static int getn(lua_State *L) {
        luaL_checktype(L, 1, LUA_TTABLE);
        lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
        return 1;
}

/* A whole number is an integer here: in 5.1 it prints as "8", not as "8.0". */
static void push_number(lua_State *L, lua_Number number) {
        lua_Integer integer;

        if (floor(number) == number && lua_numbertointeger(number, &integer))
                lua_pushinteger(L, integer);
        else
                lua_pushnumber(L, number);
}

/* The largest number that is a key. */
static int maxn(lua_State *L) {
        lua_Number largest = 0;

        luaL_checktype(L, 1, LUA_TTABLE);
        lua_settop(L, 1);
        lua_pushnil(L);
        while (lua_next(L, 1)) {
                lua_pop(L, 1);
                run_charge(run_of(L), 10);
                if (lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) > largest)
                        largest = lua_tonumber(L, -1);
        }
        push_number(L, largest);
        return 1;
}

static int power(lua_State *L) {
        push_number(L, pow(luaL_checknumber(L, 1), luaL_checknumber(L, 2)));
        return 1;
}

static int mod(lua_State *L) {
        push_number(L, fmod(luaL_checknumber(L, 1), luaL_checknumber(L, 2)));
        return 1;
}

static int logarithm10(lua_State *L) {
        push_number(L, log10(luaL_checknumber(L, 1)));
        return 1;
}

static int load_exponent(lua_State *L) {
        lua_Integer exponent = luaL_checkinteger(L, 2);
        int small = exponent > 10000 ? 10000 : exponent < -10000 ? -10000 : (int)exponent;

        push_number(L, ldexp(luaL_checknumber(L, 1), small));
        return 1;
}

static int fraction(lua_State *L) {
        int exponent;

        lua_pushnumber(L, frexp(luaL_checknumber(L, 1), &exponent));
        lua_pushinteger(L, exponent);
        return 2;
}

static void set_functions(lua_State *L, const char *library, const luaL_Reg *functions) {
        lua_getglobal(L, library);
        luaL_setfuncs(L, functions, 0);
        lua_pop(L, 1);
}

void libs_open_compat(lua_State *L) {
        static const luaL_Reg table[] = { { "getn", getn }, { "maxn", maxn }, { NULL, NULL } };
        static const luaL_Reg math[] = {
                { "pow", power },           { "mod", mod },        { "log10", logarithm10 },
                { "ldexp", load_exponent }, { "frexp", fraction }, { NULL, NULL },
        };

        set_functions(L, "table", table);
        set_functions(L, "math", math);
        lua_getglobal(L, "table");
        lua_getfield(L, -1, "unpack");
        lua_setglobal(L, "unpack");
        lua_pop(L, 1);
}
