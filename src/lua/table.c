/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table. All is raw, as in Lua 5.1: with metamethods a function in C could go on for ever, no instruction of Lua in
 * between. Each counts what it does against the evaluation's time, an item at a time: a length is what the script makes
 * it, as a table with holes may end anywhere.
 */
#include "lua/run_impl.h"

#define NS_PER_ITEM 10
#define UNPACK_MAX  10000 /* a place on the stack takes 16 bytes (RUN_MAX_VALUES, run.c) */

static lua_Integer check_length(lua_State *L) {
        luaL_checktype(L, 1, LUA_TTABLE);
        return (lua_Integer)lua_rawlen(L, 1);
}

/* --- insert, remove, move ----------------------------------------------------------------------------------------- */

static int insert(lua_State *L) {
        lua_Integer at = check_length(L) + 1, last = at;

        if (lua_gettop(L) == 3) {
                at = luaL_checkinteger(L, 2);
                luaL_argcheck(L, at >= 1 && at <= last, 2, "position out of bounds");
        } else if (lua_gettop(L) != 2) {
                return luaL_error(L, "wrong number of arguments to 'insert'");
        }
        for (; last > at; last--) {
                run_charge(run_of(L), NS_PER_ITEM);
                lua_rawgeti(L, 1, last - 1);
                lua_rawseti(L, 1, last);
        }
        lua_rawseti(L, 1, at);
        return 0;
}

static int remove_item(lua_State *L) {
        lua_Integer length = check_length(L), at = luaL_optinteger(L, 2, length);

        if (at != length)
                luaL_argcheck(L, at >= 1 && at <= length + 1, 2, "position out of bounds");
        lua_rawgeti(L, 1, at);
        for (; at < length; at++) {
                run_charge(run_of(L), NS_PER_ITEM);
                lua_rawgeti(L, 1, at + 1);
                lua_rawseti(L, 1, at);
        }
        lua_pushnil(L);
        lua_rawseti(L, 1, at);
        return 1;
}

/* move(from, first, last, at, to): an item at a time, from the end where they overlap. */
static int move(lua_State *L) {
        lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3), at = luaL_checkinteger(L, 4);
        int to = lua_isnoneornil(L, 5) ? 1 : 5;

        luaL_checktype(L, 1, LUA_TTABLE);
        luaL_checktype(L, to, LUA_TTABLE);
        if (last >= first) {
                luaL_argcheck(L, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
                luaL_argcheck(L, at <= LUA_MAXINTEGER - (last - first), 4, "destination wrap around");
                bool backwards = at > first && at <= last && lua_rawequal(L, 1, to);

                for (lua_Integer i = 0, count = last - first + 1; i < count; i++) {
                        lua_Integer step = backwards ? count - 1 - i : i;

                        run_charge(run_of(L), NS_PER_ITEM);
                        lua_rawgeti(L, 1, first + step);
                        lua_rawseti(L, to, at + step);
                }
        }
        lua_pushvalue(L, to);
        return 1;
}

/* --- concat, pack, unpack ----------------------------------------------------------------------------------------- */

static void add_item(lua_State *L, luaL_Buffer *out, lua_Integer i) {
        int kind = lua_rawgeti(L, 1, i);

        if (kind != LUA_TSTRING && kind != LUA_TNUMBER)
                luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1),
                           (LUAI_UACINT)i);
        luaL_addvalue(out);
        run_charge(run_of(L), NS_PER_ITEM);
}

static int concat(lua_State *L) {
        lua_Integer length = check_length(L), i = luaL_optinteger(L, 3, 1), last = luaL_optinteger(L, 4, length);
        struct str separator;
        luaL_Buffer out;

        separator.p = luaL_optlstring(L, 2, "", &separator.n);
        luaL_buffinit(L, &out);
        for (; i < last; i++) {
                add_item(L, &out, i);
                luaL_addlstring(&out, separator.p, separator.n);
        }
        if (i == last)
                add_item(L, &out, i);
        luaL_pushresult(&out);
        return 1;
}

static int pack(lua_State *L) {
        int count = lua_gettop(L);

        lua_createtable(L, count, 1);
        lua_insert(L, 1);
        for (int i = count; i >= 1; i--)
                lua_rawseti(L, 1, i);
        lua_pushinteger(L, count);
        lua_setfield(L, 1, "n");
        return 1;
}

static int unpack(lua_State *L) {
        lua_Integer length = check_length(L), first = luaL_optinteger(L, 2, 1), last = luaL_optinteger(L, 3, length);

        if (first > last)
                return 0;
        lua_Unsigned count = (lua_Unsigned)last - (lua_Unsigned)first;
        if (count >= UNPACK_MAX || !lua_checkstack(L, (int)++count))
                return luaL_error(L, "too many results to unpack");
        run_charge(run_of(L), count * NS_PER_ITEM);
        for (lua_Unsigned i = 0; i < count; i++)
                lua_rawgeti(L, 1, first + (lua_Integer)i);
        return (int)count;
}

/* --- sort --------------------------------------------------------------------------------------------------------- */

/*
 * A merge sort: stable, so the order is the same in each evaluation, and whatever the comparison says it ends and
 * leaves the same items. It goes on in two tables of its own; the list that is sorted is written when all is done.
 */
enum { SORT_LIST = 1, SORT_LESS, SORT_FROM, SORT_TO };

/* Is the item at the top less than the one below? */
static bool top_is_less(lua_State *L) {
        bool less;

        run_charge(run_of(L), 5 * NS_PER_ITEM);
        if (lua_isnil(L, SORT_LESS)) {
                if (lua_type(L, -1) == LUA_TSTRING && lua_type(L, -2) == LUA_TSTRING)
                        run_charge(run_of(L), lua_rawlen(L, -1));
                return lua_compare(L, -1, -2, LUA_OPLT);
        }
        lua_pushvalue(L, SORT_LESS);
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -4);
        lua_call(L, 2, 1);
        less = lua_toboolean(L, -1);
        lua_pop(L, 1);
        return less;
}

/* Merges [begin, half) and [half, end) of SORT_FROM into SORT_TO. */
static void merge(lua_State *L, lua_Integer begin, lua_Integer half, lua_Integer end) {
        lua_Integer left = begin, right = half;

        for (lua_Integer out = begin; out < end; out++) {
                bool from_right = left >= half;

                if (left < half && right < end) {
                        lua_rawgeti(L, SORT_FROM, left);
                        lua_rawgeti(L, SORT_FROM, right);
                        from_right = top_is_less(L);
                        lua_pop(L, 2);
                }
                lua_rawgeti(L, SORT_FROM, from_right ? right++ : left++);
                lua_rawseti(L, SORT_TO, out);
        }
}

static void copy_items(lua_State *L, int from, int to, lua_Integer count) {
        run_charge(run_of(L), (uint64_t)count * NS_PER_ITEM);
        for (lua_Integer i = 1; i <= count; i++) {
                lua_rawgeti(L, from, i);
                lua_rawseti(L, to, i);
        }
}

static int sort(lua_State *L) {
        lua_Integer count = check_length(L);

        if (!lua_isnoneornil(L, SORT_LESS))
                luaL_checktype(L, SORT_LESS, LUA_TFUNCTION);
        if (count < 2)
                return 0;
        luaL_argcheck(L, count < INT_MAX, 1, "array too big");
        lua_settop(L, SORT_LESS);
        lua_createtable(L, (int)count, 0);
        lua_createtable(L, (int)count, 0);
        copy_items(L, SORT_LIST, SORT_FROM, count);
        for (lua_Integer width = 1; width < count; width *= 2) {
                for (lua_Integer begin = 1; begin <= count; begin += 2 * width) {
                        lua_Integer half = begin + width <= count ? begin + width : count + 1;

                        merge(L, begin, half, half + width <= count ? half + width : count + 1);
                }
                /* What was merged into is what is merged from next. */
                lua_insert(L, SORT_FROM);
        }
        copy_items(L, SORT_FROM, SORT_LIST, count);
        return 0;
}

int libs_open_table(lua_State *L) {
        static const luaL_Reg functions[] = {
                { "concat", concat },      { "insert", insert }, { "move", move },     { "pack", pack },
                { "remove", remove_item }, { "sort", sort },     { "unpack", unpack }, { NULL, NULL },
        };

        luaL_newlib(L, functions);
        return 1;
}
