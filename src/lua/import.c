/* SPDX-License-Identifier: Apache-2.0 */
/* Values → Lua. Null is nothing: its key is absent, and a list closes up around it. */
#include "lua/run_impl.h"

#include <math.h>

#include "base/limits.h"

/* Integers up to here are exact in a double, and so are what their text means. */
#define EXACT_MAX 9007199254740991.0 /* 2^53 - 1 */

static void import_decimal(lua_State *L, struct str text) {
        double number = strtod(text.p, NULL);

        if (number == floor(number) && fabs(number) <= EXACT_MAX)
                lua_pushinteger(L, (lua_Integer)number);
        else
                lua_pushnumber(L, number);
}

static void import_at(lua_State *L, const struct value *v, unsigned depth);

static void import_list(lua_State *L, const struct value *v, unsigned depth) {
        lua_Integer at = 0;

        lua_createtable(L, v->list.count < INT_MAX ? (int)v->list.count : INT_MAX, 0);
        for (size_t i = 0; i < v->list.count; i++) {
                if (v->list.items[i]->kind == VALUE_NULL)
                        continue;
                import_at(L, v->list.items[i], depth + 1);
                lua_rawseti(L, -2, ++at);
        }
}

static void import_map(lua_State *L, const struct value *v, unsigned depth) {
        lua_createtable(L, 0, v->map.count < INT_MAX ? (int)v->map.count : INT_MAX);
        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];

                if (m->value->kind == VALUE_NULL)
                        continue;
                lua_pushlstring(L, m->key.p ? m->key.p : "", m->key.n);
                import_at(L, m->value, depth + 1);
                lua_rawset(L, -3);
        }
}

static void import_at(lua_State *L, const struct value *v, unsigned depth) {
        if (depth > JSON_MAX_DEPTH)
                luaL_error(L, "the object is more than %d levels deep", JSON_MAX_DEPTH);
        luaL_checkstack(L, 3, "the object is too deep");
        switch (v->kind) {
        case VALUE_NULL:
                lua_pushnil(L);
                break;
        case VALUE_BOOL:
                lua_pushboolean(L, v->boolean);
                break;
        case VALUE_INT:
                lua_pushinteger(L, v->i64);
                break;
        case VALUE_UINT:
                lua_pushnumber(L, (lua_Number)v->u64);
                break;
        case VALUE_DECIMAL:
                import_decimal(L, v->text);
                break;
        case VALUE_STRING:
                lua_pushlstring(L, v->text.p ? v->text.p : "", v->text.n);
                break;
        case VALUE_LIST:
                import_list(L, v, depth);
                break;
        case VALUE_MAP:
                import_map(L, v, depth);
                break;
        }
}

void import_value(lua_State *L, const struct value *v) {
        import_at(L, v, 0);
}
