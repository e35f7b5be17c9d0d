/* SPDX-License-Identifier: Apache-2.0 */
/* Base functions that differ from Lua's own. */
#include "lua/run_impl.h"

#include "base/buf.h"

/* --- text --------------------------------------------------------------------------------------------------------- */

const char *libs_text(lua_State *L, int index, size_t *ret_bytes) {
        index = lua_absindex(L, index);
        if (luaL_callmeta(L, index, "__tostring")) {
                if (!lua_isstring(L, -1))
                        luaL_error(L, "'__tostring' must return a string");
                return lua_tolstring(L, -1, ret_bytes);
        }
        switch (lua_type(L, index)) {
        case LUA_TNIL:
        case LUA_TBOOLEAN:
        case LUA_TNUMBER:
        case LUA_TSTRING:
                return luaL_tolstring(L, index, ret_bytes);
        default:
                break;
        }
        int kind = luaL_getmetafield(L, index, "__name");
        if (kind != LUA_TNIL && kind != LUA_TSTRING)
                lua_pop(L, 1);
        if (kind != LUA_TSTRING)
                lua_pushstring(L, luaL_typename(L, index));
        return lua_tolstring(L, -1, ret_bytes);
}

static int tostring(lua_State *L) {
        luaL_checkany(L, 1);
        libs_text(L, 1, NULL);
        return 1;
}

/* One line, tabs between the values. */
static int print(lua_State *L) {
        struct run *r = run_of(L);
        int count = lua_gettop(L);
        luaL_Buffer line;
        struct str text;

        if (!r->call->print)
                return 0;
        luaL_checkstack(L, 4, "too many values to print");
        luaL_buffinit(L, &line);
        for (int i = 1; i <= count; i++) {
                if (i > 1)
                        luaL_addchar(&line, '\t');
                libs_text(L, i, NULL);
                luaL_addvalue(&line);
        }
        luaL_pushresult(&line);
        text.p = lua_tolstring(L, -1, &text.n);
        r->printed_bytes += text.n + 1;
        if (r->printed_bytes <= LUA_MAX_PRINTED_BYTES)
                r->call->print(r->call->print_ctx, text);
        return 0;
}

/* --- metatables --------------------------------------------------------------------------------------------------- */

static void refuse_field(lua_State *L, int metatable, const char *field) {
        lua_pushstring(L, field);
        if (lua_rawget(L, metatable) != LUA_TNIL)
                luaL_error(L, "%s is not allowed", field);
        lua_pop(L, 1);
}

static int setmetatable(lua_State *L) {
        int kind = lua_type(L, 2);

        luaL_checktype(L, 1, LUA_TTABLE);
        luaL_argexpected(L, kind == LUA_TNIL || kind == LUA_TTABLE, 2, "nil or table");
        if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
                return luaL_error(L, "cannot change a protected metatable");
        lua_settop(L, 2);
        if (kind == LUA_TTABLE) {
                refuse_field(L, 2, "__gc");
                refuse_field(L, 2, "__mode");
                run_note_metatable(L, 2);
        }
        lua_setmetatable(L, 1);
        return 1;
}

/* --- load --------------------------------------------------------------------------------------------------------- */

static const char *read_text(lua_State *L, void *ctx, size_t *ret_bytes) {
        struct str *text = ctx, piece = *text;

        (void)L;
        *text = (struct str){ 0 };
        *ret_bytes = piece.n;
        return piece.n ? piece.p : NULL;
}

/* Replaces the function at 1 by all the text that it gives, piece by piece. */
static void collect_text(lua_State *L) {
        luaL_Buffer all;
        size_t n, total = 0;

        luaL_buffinit(L, &all);
        for (;;) {
                lua_pushvalue(L, 1);
                lua_call(L, 0, 1);
                run_charge(run_of(L), 50);
                if (lua_isnil(L, -1))
                        break;
                if (lua_type(L, -1) != LUA_TSTRING)
                        luaL_error(L, "what load() reads from must return strings");
                lua_tolstring(L, -1, &n);
                total += n;
                if (n == 0 || total > LUA_MAX_LOADED_BYTES)
                        break;
                luaL_addvalue(&all);
        }
        if (total > LUA_MAX_LOADED_BYTES)
                luaL_error(L, "load() takes at most %d KiB", LUA_MAX_LOADED_BYTES / 1024);
        lua_pop(L, 1);
        luaL_pushresult(&all);
        lua_replace(L, 1);
}

/* load(text or function, name, mode, environment): nil and a message for what does not compile, as in Lua. */
static int load(lua_State *L) {
        struct str text;
        bool has_environment = !lua_isnone(L, 4);

        lua_settop(L, 4);
        if (lua_isfunction(L, 1))
                collect_text(L);
        text.p = luaL_checklstring(L, 1, &text.n);
        if (text.n > LUA_MAX_LOADED_BYTES)
                return luaL_error(L, "load() takes at most %d KiB", LUA_MAX_LOADED_BYTES / 1024);
        /* Nothing looks at the clock while it is parsed. */
        run_charge(run_of(L), 100 * text.n);
        int r = lua_load(L, read_text, &text, luaL_optstring(L, 2, "=load"), "t");
        if (r != LUA_OK) {
                lua_pushnil(L);
                lua_insert(L, -2);
                return 2;
        }
        if (has_environment) {
                lua_pushvalue(L, 4);
                if (!lua_setupvalue(L, -2, 1))
                        lua_pop(L, 1);
        }
        return 1;
}

static int loadstring(lua_State *L) {
        return luaL_error(L, "loadstring is not available: write the function in the script, or use load");
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/*
 * pairs() goes by keys in order: integers, other numbers, strings by bytes, false, true; then what has no order. Lua's
 * own order depends on addresses and the time, and messages that rules make would change from one evaluation to the
 * next.
 *
 * The keys are gathered first. A key that the loop sets is not visited, one that it removes is not any more.
 */
struct key {
        int rank;
        lua_Integer at; /* its place in the table of gathered keys */
        union {
                lua_Integer integer;
                lua_Number number;
                struct str text;
        };
};

#define KEYS_AT_ONCE 1024 /* room is made for */

enum { RANK_INTEGER, RANK_NUMBER, RANK_STRING, RANK_FALSE, RANK_TRUE, RANK_OTHER };

static struct key key_of(lua_State *L, int index, lua_Integer at) {
        struct key key = { .rank = RANK_OTHER, .at = at };

        switch (lua_type(L, index)) {
        case LUA_TNUMBER:
                if (lua_isinteger(L, index)) {
                        key.rank = RANK_INTEGER;
                        key.integer = lua_tointeger(L, index);
                } else {
                        key.rank = RANK_NUMBER;
                        key.number = lua_tonumber(L, index);
                }
                break;
        case LUA_TSTRING:
                key.rank = RANK_STRING;
                key.text.p = lua_tolstring(L, index, &key.text.n);
                break;
        case LUA_TBOOLEAN:
                key.rank = lua_toboolean(L, index) ? RANK_TRUE : RANK_FALSE;
                break;
        default:
                break;
        }
        return key;
}

static int cmp_keys(const void *left, const void *right) {
        const struct key *a = left, *b = right;

        if (a->rank != b->rank)
                return a->rank - b->rank;
        switch (a->rank) {
        case RANK_INTEGER:
                return (a->integer > b->integer) - (a->integer < b->integer);
        case RANK_NUMBER:
                return (a->number > b->number) - (a->number < b->number);
        case RANK_STRING:
                return str_cmp(a->text, b->text);
        default:
                return (a->at > b->at) - (a->at < b->at);
        }
}

/* (control, previous): key and value. Upvalues: the table, its keys, in order, and the place of the next one. */
static int next_pair(lua_State *L) {
        lua_Integer at = lua_tointeger(L, lua_upvalueindex(3));

        for (;;) {
                if (lua_rawgeti(L, lua_upvalueindex(2), ++at) == LUA_TNIL)
                        return 1;
                lua_pushvalue(L, -1);
                if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
                        break;
                lua_settop(L, 0);
                run_charge(run_of(L), 20);
        }
        lua_pushinteger(L, at);
        lua_replace(L, lua_upvalueindex(3));
        return 2;
}

/* The keys of the table at 1 in a new table at the top, as Lua has them; true: that is in order. */
static bool gather_keys(lua_State *L, lua_Integer *ret_count) {
        struct key last = { .rank = -1 };
        bool sorted = true;
        lua_Integer count = 0;

        /* With holes the length may be anything. */
        lua_Unsigned length = lua_rawlen(L, 1);
        lua_createtable(L, length < KEYS_AT_ONCE ? (int)length : KEYS_AT_ONCE, 0);
        lua_pushnil(L);
        while (lua_next(L, 1)) {
                lua_pop(L, 1);
                struct key key = key_of(L, -1, ++count);
                sorted = sorted && (count == 1 || cmp_keys(&last, &key) < 0);
                last = key;
                lua_pushvalue(L, -1);
                lua_rawseti(L, -3, count);
                run_charge(run_of(L), 20);
        }
        *ret_count = count;
        return sorted;
}

/* Replaces the gathered keys at the top by the same in order. */
static void sort_keys(lua_State *L, lua_Integer count) {
        struct key *keys = lua_newuserdatauv(L, (size_t)count * sizeof *keys, 0);

        for (lua_Integer i = 1; i <= count; i++) {
                lua_rawgeti(L, -2, i);
                keys[i - 1] = key_of(L, -1, i);
                lua_pop(L, 1);
        }
        run_charge(run_of(L), (uint64_t)count * 100);
        qsort(keys, (size_t)count, sizeof *keys, cmp_keys);
        lua_createtable(L, (int)count, 0);
        for (lua_Integer i = 1; i <= count; i++) {
                lua_rawgeti(L, -3, keys[i - 1].at);
                lua_rawseti(L, -2, i);
        }
        lua_replace(L, -3);
        lua_pop(L, 1);
}

static int pairs(lua_State *L) {
        lua_Integer count;

        luaL_checkany(L, 1);
        if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
                lua_pushvalue(L, 1);
                lua_call(L, 1, 3);
                return 3;
        }
        luaL_checktype(L, 1, LUA_TTABLE);
        lua_settop(L, 1);
        if (!gather_keys(L, &count))
                sort_keys(L, count);
        lua_pushvalue(L, 1);
        lua_insert(L, -2);
        lua_pushinteger(L, 0);
        lua_pushcclosure(L, next_pair, 3);
        lua_pushvalue(L, 1);
        return 2;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static int collectgarbage(lua_State *L) {
        static const char *const options[] = { "collect", "count", "step", NULL };

        if (luaL_checkoption(L, 1, "collect", options) == 1)
                lua_pushnumber(L, (lua_Number)run_of(L)->memory.used_bytes / 1024);
        else
                lua_pushinteger(L, 0);
        return 1;
}

/* Lua's own is its upvalue, and says of nil neither where it was met nor that a table was expected. */
static int ipairs(lua_State *L) {
        luaL_checkany(L, 1);
        if (lua_type(L, 1) != LUA_TTABLE && luaL_getmetafield(L, 1, "__index") == LUA_TNIL)
                return luaL_typeerror(L, 1, "table");
        lua_settop(L, 1);
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, 1, 3);
        return 3;
}

void libs_open_base(lua_State *L) {
        static const luaL_Reg functions[] = {
                { "collectgarbage", collectgarbage },
                { "load", load },
                { "loadstring", loadstring },
                { "pairs", pairs },
                { "print", print },
                { "setmetatable", setmetatable },
                { "tostring", tostring },
                { NULL, NULL },
        };

        lua_pushglobaltable(L);
        luaL_setfuncs(L, functions, 0);
        lua_getfield(L, -1, "ipairs");
        lua_pushcclosure(L, ipairs, 1);
        lua_setfield(L, -2, "ipairs");
        lua_pop(L, 1);
}
