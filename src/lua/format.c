/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string.format, as Lua's manual has it, but without %p, and more lenient where Lua 5.1 was: %u is there, %d cuts a
 * number that is no integer, and flags that mean nothing to a conversion do nothing.
 */
#include "lua/run_impl.h"

#include <math.h>

#define CONVERTED_MAX_BYTES 512 /* %99.99f of the largest number has 410 */

struct spec {
        char flags[8]; /* each at most once */
        int width;     /* at most 99; -1: none */
        int precision; /* the same */
        char conversion;
};

/* Two digits at most; -1: none. */
static int read_digits(struct str *rest) {
        int number = -1;

        for (int i = 0; i < 2 && rest->n && rest->p[0] >= '0' && rest->p[0] <= '9'; i++) {
                number = (number < 0 ? 0 : number * 10) + (rest->p[0] - '0');
                *rest = str_sub(*rest, 1, rest->n);
        }
        return number;
}

static void read_flags(struct str *rest, struct spec *spec) {
        size_t count = 0;

        for (; rest->n && rest->p[0] && strchr("-+ #0", rest->p[0]); *rest = str_sub(*rest, 1, rest->n)) {
                if (!strchr(spec->flags, rest->p[0]))
                        spec->flags[count++] = rest->p[0];
        }
}

/* Behind a "%". */
static struct spec read_spec(lua_State *L, struct str *rest) {
        struct spec spec = { .precision = -1 };
        struct str begin = *rest;

        read_flags(rest, &spec);
        spec.width = read_digits(rest);
        if (rest->n && rest->p[0] == '.') {
                *rest = str_sub(*rest, 1, rest->n);
                spec.precision = read_digits(rest);
                if (spec.precision < 0)
                        spec.precision = 0;
        }
        spec.conversion = rest->n ? rest->p[0] : '\0';
        if (!spec.conversion || !strchr("aAcdeEfFgGioqsuxX", spec.conversion)) {
                size_t n = begin.n - rest->n + (rest->n > 0);

                lua_pushlstring(L, begin.p, n < 20 ? n : 20);
                luaL_error(L, "invalid conversion '%%%s' to 'format'", lua_tostring(L, -1));
        }
        *rest = str_sub(*rest, 1, rest->n);
        return spec;
}

/* A format for printf() with the flags of `allowed`, a width, and a precision where `precise`. */
static void write_format(const struct spec *spec, const char *allowed, bool precise, const char *length, char ret[32]) {
        char flags[8] = "", width[8] = "", precision[8] = "";
        size_t count = 0;

        for (const char *f = spec->flags; *f; f++) {
                if (strchr(allowed, *f))
                        flags[count++] = *f;
        }
        if (spec->width >= 0)
                snprintf(width, sizeof width, "%d", spec->width % 100);
        if (precise && spec->precision >= 0)
                snprintf(precision, sizeof precision, ".%d", spec->precision % 100);
        snprintf(ret, 32, "%%%s%s%s%s%c", flags, width, precision, length, spec->conversion);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

/* Numbers that are no integers are cut. */
static lua_Integer check_integer(lua_State *L, int index) {
        int is_integer;
        lua_Integer integer = lua_tointegerx(L, index, &is_integer);

        if (is_integer)
                return integer;
        if (!lua_numbertointeger(trunc(luaL_checknumber(L, index)), &integer))
                luaL_argerror(L, index, "number has no integer representation");
        return integer;
}

static void add_integer(lua_State *L, luaL_Buffer *out, const struct spec *spec, int index) {
        char format[32], *text;
        bool is_signed = spec->conversion == 'd' || spec->conversion == 'i';
        lua_Integer number = check_integer(L, index);

        write_format(spec, is_signed ? "-+ 0" : spec->conversion == 'u' ? "-0" : "-#0", true, "ll", format);
        text = luaL_prepbuffsize(out, CONVERTED_MAX_BYTES);
        luaL_addsize(out, (size_t)snprintf(text, CONVERTED_MAX_BYTES, format, (long long)number));
}

static void add_float(lua_State *L, luaL_Buffer *out, const struct spec *spec, int index) {
        char format[32], *text;
        lua_Number number = luaL_checknumber(L, index);

        write_format(spec, "-+ #0", true, "", format);
        text = luaL_prepbuffsize(out, CONVERTED_MAX_BYTES);
        luaL_addsize(out, (size_t)snprintf(text, CONVERTED_MAX_BYTES, format, number));
}

static void add_character(lua_State *L, luaL_Buffer *out, const struct spec *spec, int index) {
        char format[32], *text;
        int character = (int)(unsigned char)luaL_checkinteger(L, index);

        write_format(spec, "-", false, "", format);
        text = luaL_prepbuffsize(out, CONVERTED_MAX_BYTES);
        luaL_addsize(out, (size_t)snprintf(text, CONVERTED_MAX_BYTES, format, character));
}

#pragma GCC diagnostic pop

/* Cut to the precision, and filled up with blanks to the width. */
static void add_text(lua_State *L, luaL_Buffer *out, const struct spec *spec, int index) {
        static const char blanks[100] =
                "                                                                                "
                "                   ";
        struct str text;

        luaL_checkany(L, index);
        text.p = libs_text(L, index, &text.n);
        size_t n = spec->precision >= 0 && text.n > (size_t)spec->precision ? (size_t)spec->precision : text.n;
        if (n < text.n || (spec->width > 0 && (size_t)spec->width > n)) {
                lua_pushlstring(L, text.p, n);
                lua_pushlstring(L, blanks, spec->width > 0 && (size_t)spec->width > n ? (size_t)spec->width - n : 0);
                if (!strchr(spec->flags, '-'))
                        lua_insert(L, -2);
                lua_concat(L, 2);
                lua_remove(L, -2);
        }
        luaL_addvalue(out);
}

/* --- %q ----------------------------------------------------------------------------------------------------------- */

static void add_quoted_text(luaL_Buffer *out, struct str text) {
        luaL_addchar(out, '"');
        for (size_t i = 0; i < text.n; i++) {
                unsigned char c = (unsigned char)text.p[i];
                bool digit_follows = i + 1 < text.n && text.p[i + 1] >= '0' && text.p[i + 1] <= '9';
                char code[8];

                if (c == '"' || c == '\\' || c == '\n') {
                        luaL_addchar(out, '\\');
                        luaL_addchar(out, (char)c);
                } else if (c < ' ' || c == 0x7f) {
                        snprintf(code, sizeof code, digit_follows ? "\\%03u" : "\\%u", c);
                        luaL_addstring(out, code);
                } else {
                        luaL_addchar(out, (char)c);
                }
        }
        luaL_addchar(out, '"');
}

static void add_quoted_number(lua_State *L, luaL_Buffer *out, int index) {
        lua_Number number = lua_tonumber(L, index);
        char *text = luaL_prepbuffsize(out, CONVERTED_MAX_BYTES);
        int n;

        if (lua_isinteger(L, index))
                n = snprintf(text, CONVERTED_MAX_BYTES, "%lld", (long long)lua_tointeger(L, index));
        else if (isfinite(number))
                n = snprintf(text, CONVERTED_MAX_BYTES, "%a", number);
        else
                n = snprintf(text, CONVERTED_MAX_BYTES, "%s",
                             isnan(number) ? "(0/0)"
                             : number > 0  ? "1e9999"
                                           : "-1e9999");
        luaL_addsize(out, (size_t)n);
}

/* What Lua reads as the same value again. */
static void add_quoted(lua_State *L, luaL_Buffer *out, int index) {
        struct str text;

        switch (lua_type(L, index)) {
        case LUA_TSTRING:
                text.p = lua_tolstring(L, index, &text.n);
                add_quoted_text(out, text);
                break;
        case LUA_TNUMBER:
                add_quoted_number(L, out, index);
                break;
        case LUA_TNIL:
                luaL_addstring(out, "nil");
                break;
        case LUA_TBOOLEAN:
                luaL_addstring(out, lua_toboolean(L, index) ? "true" : "false");
                break;
        default:
                luaL_argerror(L, index, "value has no literal form");
        }
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void add_conversion(lua_State *L, luaL_Buffer *out, const struct spec *spec, int index) {
        switch (spec->conversion) {
        case 'c':
                add_character(L, out, spec, index);
                break;
        case 'q':
                add_quoted(L, out, index);
                break;
        case 's':
                add_text(L, out, spec, index);
                break;
        case 'd':
        case 'i':
        case 'o':
        case 'u':
        case 'x':
        case 'X':
                add_integer(L, out, spec, index);
                break;
        default:
                add_float(L, out, spec, index);
        }
}

int libs_format(lua_State *L) {
        struct str rest;
        luaL_Buffer out;
        int index = 1;

        rest.p = luaL_checklstring(L, 1, &rest.n);
        luaL_buffinit(L, &out);
        while (rest.n) {
                char c = rest.p[0];

                rest = str_sub(rest, 1, rest.n);
                if (c != '%') {
                        luaL_addchar(&out, c);
                } else if (rest.n && rest.p[0] == '%') {
                        luaL_addchar(&out, '%');
                        rest = str_sub(rest, 1, rest.n);
                } else {
                        struct spec spec = read_spec(L, &rest);

                        run_charge(run_of(L), 200);
                        add_conversion(L, &out, &spec, ++index);
                }
        }
        luaL_pushresult(&out);
        return 1;
}
