/* SPDX-License-Identifier: Apache-2.0 */
/* Lua → values. Metatables are not asked. Nothing is owned here while Lua is called: all parts are the arena's. */
#include "lua/run_impl.h"

#include <math.h>

#define EXACT_MAX 9007199254740991.0 /* 2^53 - 1 */

static _Noreturn void too_large(lua_State *L, const char *what) {
        run_of(L)->ended = ERR_LIMIT;
        luaL_error(L, "what the script returns %s", what);
        abort();
}

static void count_bytes(lua_State *L, size_t n) {
        struct run *r = run_of(L);

        r->result_bytes += n;
        if (r->result_bytes > LUA_MAX_RETURNED_BYTES)
                too_large(L, "is too large");
}

/* In the arena; bytes that are no UTF-8 become question marks. */
static struct str export_text(lua_State *L, struct str text) {
        struct run *r = run_of(L);

        count_bytes(L, text.n);
        run_charge(r, text.n);
        struct str copy = arena_str(r->arena, text);
        if (str_is_utf8(copy))
                return copy;
        for (char *p = (char *)copy.p; p < copy.p + copy.n; p++) {
                if ((unsigned char)*p >= 0x80)
                        *p = '?';
        }
        return copy;
}

/* The shortest text that is the number again. */
static struct str number_text(lua_State *L, int index) {
        struct arena *a = run_of(L)->arena;
        double number = lua_tonumber(L, index);

        if (lua_isinteger(L, index))
                return arena_strf(a, "%lld", (long long)lua_tointeger(L, index));
        if (number == floor(number) && fabs(number) <= EXACT_MAX)
                return arena_strf(a, "%lld", (long long)number);
        for (int digits = 15;; digits++) {
                struct str text = arena_strf(a, "%.*g", digits, number);

                if (digits == 17 || strtod(text.p, NULL) == number)
                        return text;
        }
}

static const struct value *export_number(lua_State *L) {
        if (!isfinite(lua_tonumber(L, -1)))
                luaL_error(L, "the script returns a number that is none (%s)",
                           isnan(lua_tonumber(L, -1)) ? "NaN" : "infinity");
        return value_number(run_of(L)->arena, number_text(L, -1), 0);
}

static const struct value *export_at(lua_State *L, unsigned depth);

/* How many keys the table at the top has, and whether they are 1 to n. */
static bool is_list(lua_State *L, size_t *ret_count) {
        size_t length = lua_rawlen(L, -1), count = 0;
        bool list = true;

        lua_pushnil(L);
        while (lua_next(L, -2)) {
                lua_pop(L, 1);
                run_charge(run_of(L), 10);
                count++;
                list = list && lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 &&
                       (lua_Unsigned)lua_tointeger(L, -1) <= length;
        }
        *ret_count = count;
        return list && count == length;
}

static const struct value *export_list(lua_State *L, size_t count, unsigned depth) {
        struct arena *a = run_of(L)->arena;
        const struct value **items = arena_alloc(a, count * sizeof *items);
        struct value *list = arena_zalloc(a, sizeof *list);

        for (size_t i = 0; i < count; i++) {
                lua_rawgeti(L, -1, (lua_Integer)i + 1);
                items[i] = export_at(L, depth + 1);
                lua_pop(L, 1);
        }
        *list = (struct value){ .kind = VALUE_LIST, .list = { items, count } };
        return list;
}

/* Of the key below the top. Reading a number as text would change it, and so disturb lua_next(). */
static struct str export_key(lua_State *L) {
        struct str text = { 0 };

        if (lua_type(L, -2) == LUA_TNUMBER)
                return number_text(L, -2);
        if (lua_type(L, -2) != LUA_TSTRING)
                luaL_error(L, "the script returns a table with a key that is a %s", luaL_typename(L, -2));
        text.p = lua_tolstring(L, -2, &text.n);
        return export_text(L, text);
}

static const struct value *export_map(lua_State *L, size_t count, unsigned depth) {
        struct arena *a = run_of(L)->arena;
        struct value_member *members = arena_alloc(a, count * sizeof *members);
        size_t i = 0;

        lua_pushnil(L);
        while (lua_next(L, -2)) {
                members[i].line = 0;
                members[i].key = export_key(L);
                members[i].value = export_at(L, depth + 1);
                i++;
                lua_pop(L, 1);
        }
        return value_map_of(a, members, count, 0);
}

static const struct value *export_table(lua_State *L, unsigned depth) {
        struct run *r = run_of(L);
        size_t count;
        bool list = is_list(L, &count);

        if (depth >= LUA_MAX_RETURNED_DEPTH)
                too_large(L, "is too deep, or contains itself");
        if (count > LUA_MAX_RETURNED_VALUES - r->result_values)
                too_large(L, "has too many values");
        return list ? export_list(L, count, depth) : export_map(L, count, depth);
}

/* Of the value at the top; NULL for nil. */
static const struct value *export_at(lua_State *L, unsigned depth) {
        struct run *r = run_of(L);
        struct str text = { 0 };

        luaL_checkstack(L, 4, NULL);
        if (++r->result_values > LUA_MAX_RETURNED_VALUES)
                too_large(L, "has too many values");
        switch (lua_type(L, -1)) {
        case LUA_TNIL:
                return NULL;
        case LUA_TBOOLEAN:
                return lua_toboolean(L, -1) ? &value_true : &value_false;
        case LUA_TNUMBER:
                return export_number(L);
        case LUA_TSTRING:
                text.p = lua_tolstring(L, -1, &text.n);
                return value_string(r->arena, export_text(L, text), 0);
        case LUA_TTABLE:
                return export_table(L, depth);
        default:
                luaL_error(L, "the script returns a %s, which is no data", luaL_typename(L, -1));
                return NULL;
        }
}

const struct value *export_value(lua_State *L) {
        return export_at(L, 0);
}
