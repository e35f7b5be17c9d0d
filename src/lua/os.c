/* SPDX-License-Identifier: Apache-2.0 */
/* os: time, date, difftime. Now is what the caller says; all is UTC. */
#include "lua/run_impl.h"

#include <time.h>

#define YEAR_BASE      1900
#define DATE_MAX_BYTES 256

static void set_field(lua_State *L, const char *name, lua_Integer number) {
        lua_pushinteger(L, number);
        lua_setfield(L, -2, name);
}

/* Into the table at the top. */
static void set_fields(lua_State *L, const struct tm *tm) {
        set_field(L, "year", (lua_Integer)tm->tm_year + YEAR_BASE);
        set_field(L, "month", tm->tm_mon + 1);
        set_field(L, "day", tm->tm_mday);
        set_field(L, "hour", tm->tm_hour);
        set_field(L, "min", tm->tm_min);
        set_field(L, "sec", tm->tm_sec);
        set_field(L, "yday", tm->tm_yday + 1);
        set_field(L, "wday", tm->tm_wday + 1);
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "isdst");
}

/* A field of the table at 1 less `base`; otherwise < 0: it must be there. */
static int get_field(lua_State *L, const char *name, int otherwise, int base) {
        int is_integer, kind;
        lua_Integer number;

        lua_pushstring(L, name);
        kind = lua_rawget(L, 1);
        number = lua_tointegerx(L, -1, &is_integer);
        lua_pop(L, 1);
        if (kind == LUA_TNIL && otherwise >= 0)
                return otherwise;
        if (kind == LUA_TNIL)
                return luaL_error(L, "field '%s' is missing in what os.time() is given", name);
        if (!is_integer)
                return luaL_error(L, "field '%s' is not an integer", name);
        if (number < INT_MIN / 2 || number > INT_MAX / 2)
                return luaL_error(L, "field '%s' is out of range", name);
        return (int)number - base;
}

/* As in Lua the table's fields become those of the moment that they mean: the 32nd of January is a day of February. */
static int time_of(lua_State *L) {
        struct tm tm = { 0 };

        luaL_checktype(L, 1, LUA_TTABLE);
        tm.tm_year = get_field(L, "year", -1, YEAR_BASE);
        tm.tm_mon = get_field(L, "month", -1, 1);
        tm.tm_mday = get_field(L, "day", -1, 0);
        tm.tm_hour = get_field(L, "hour", 12, 0);
        tm.tm_min = get_field(L, "min", 0, 0);
        tm.tm_sec = get_field(L, "sec", 0, 0);
        time_t seconds = timegm(&tm);
        lua_settop(L, 1);
        set_fields(L, &tm);
        lua_pushinteger(L, seconds);
        return 1;
}

static int os_time(lua_State *L) {
        if (!lua_isnoneornil(L, 1))
                return time_of(L);
        lua_pushinteger(L, run_of(L)->call->now_s);
        return 1;
}

/* What C99 has, and nothing else: what strftime() does with another character is not defined. */
static size_t conversion_length(const char *after_percent) {
        static const char plain[] = "aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%", with_e[] = "cCxXyY",
                          with_o[] = "deHImMSuUVwWy";
        char c = *after_percent;

        if (c == 'E' || c == 'O')
                return after_percent[1] && strchr(c == 'E' ? with_e : with_o, after_percent[1]) ? 2 : 0;
        return c && strchr(plain, c) ? 1 : 0;
}

static void add_conversion(lua_State *L, luaL_Buffer *out, const char *spec, size_t length, const struct tm *tm) {
        char format[4] = { '%' }, text[DATE_MAX_BYTES];

        (void)L;
        memcpy(format + 1, spec, length);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        luaL_addlstring(out, text, strftime(text, sizeof text, format, tm));
#pragma GCC diagnostic pop
}

static int date_text(lua_State *L, struct str format, const struct tm *tm) {
        luaL_Buffer out;

        luaL_buffinit(L, &out);
        for (size_t i = 0; i < format.n; i++) {
                if (format.p[i] != '%') {
                        luaL_addchar(&out, format.p[i]);
                        continue;
                }
                size_t length = conversion_length(format.p + i + 1);
                if (length == 0)
                        return luaL_error(L, "invalid conversion specifier '%%%c' in os.date()",
                                          format.p[i + 1] ? format.p[i + 1] : ' ');
                add_conversion(L, &out, format.p + i + 1, length, tm);
                i += length;
                run_charge(run_of(L), 300);
        }
        luaL_pushresult(&out);
        return 1;
}

static int os_date(lua_State *L) {
        struct str format = { 0 };
        struct tm tm;

        format.p = luaL_optlstring(L, 1, "%c", &format.n);
        time_t seconds = lua_isnoneornil(L, 2) ? run_of(L)->call->now_s : luaL_checkinteger(L, 2);
        if (format.n && format.p[0] == '!')
                format = str_sub(format, 1, format.n);
        if (!gmtime_r(&seconds, &tm))
                return luaL_error(L, "there is no date for this time");
        if (!str_starts(format, STR("*t")))
                return date_text(L, format, &tm);
        lua_createtable(L, 0, 9);
        set_fields(L, &tm);
        return 1;
}

static int os_difftime(lua_State *L) {
        lua_pushnumber(L, (lua_Number)luaL_checkinteger(L, 1) - (lua_Number)luaL_optinteger(L, 2, 0));
        return 1;
}

int libs_open_os(lua_State *L) {
        static const luaL_Reg functions[] = {
                { "date", os_date }, { "difftime", os_difftime }, { "time", os_time }, { NULL, NULL }
        };

        luaL_newlib(L, functions);
        return 1;
}
