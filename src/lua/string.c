/* SPDX-License-Identifier: Apache-2.0 */
/* string: find, match, gmatch, gsub, rep, whose time is bounded. format is in format.c, the rest is Lua's own. */
#include "lua/pattern_impl.h"

static struct str check_text(lua_State *L, int index) {
        struct str text;

        text.p = luaL_checklstring(L, index, &text.n);
        return text;
}

/* Where to begin in the subject: 1 is the first byte, -1 the last one; behind the end when there is no such place. */
static size_t begin_at(lua_State *L, int index, size_t length) {
        lua_Integer at = luaL_optinteger(L, index, 1);

        if (at > 0)
                return (lua_Unsigned)at - 1 > length ? length + 1 : (size_t)at - 1;
        if (at == 0 || at < -(lua_Integer)length)
                return 0;
        return length - (size_t)-at;
}

/* --- find, match -------------------------------------------------------------------------------------------------- */

static int not_found(lua_State *L) {
        luaL_pushfail(L);
        return 1;
}

static int find_plain(lua_State *L, struct str subject, struct str what, size_t at) {
        run_charge(run_of(L), (subject.n - at) / 4);
        const char *found = what.n ? memmem(subject.p + at, subject.n - at, what.p, what.n) : subject.p + at;

        if (!found)
                return not_found(L);
        lua_pushinteger(L, found - subject.p + 1);
        lua_pushinteger(L, found - subject.p + (lua_Integer)what.n);
        return 2;
}

static bool is_plain(struct str pattern) {
        for (size_t i = 0; i < pattern.n; i++) {
                if (pattern.p[i] && strchr("^$*+?.([%-", pattern.p[i]))
                        return false;
        }
        return true;
}

static int search(lua_State *L, struct str subject, struct str text, size_t at, bool places) {
        struct pattern_match m = { .L = L, .begin = subject.p, .end = subject.p + subject.n };
        const char *from, *to;
        int count = 0;

        m.pattern = pattern_compile(L, text, true);
        from = pattern_search(&m, subject.p + at, &to);
        if (!from)
                return not_found(L);
        if (!places)
                return pattern_push_all(&m, from, to);
        lua_pushinteger(L, from - subject.p + 1);
        lua_pushinteger(L, to - subject.p);
        if (pattern_captures(m.pattern))
                count = pattern_push_all(&m, from, to);
        return count + 2;
}

static int find(lua_State *L) {
        struct str subject = check_text(L, 1), pattern = check_text(L, 2);
        size_t at = begin_at(L, 3, subject.n);

        if (at > subject.n)
                return not_found(L);
        if (lua_toboolean(L, 4) || is_plain(pattern))
                return find_plain(L, subject, pattern, at);
        return search(L, subject, pattern, at, true);
}

static int match(lua_State *L) {
        struct str subject = check_text(L, 1), pattern = check_text(L, 2);
        size_t at = begin_at(L, 3, subject.n);

        return at > subject.n ? not_found(L) : search(L, subject, pattern, at, false);
}

/* --- gmatch ------------------------------------------------------------------------------------------------------- */

/* Upvalues: the subject, the pattern, where to go on, where the last match ended (-1: there was none). */
static int next_match(lua_State *L) {
        struct pattern_match m = { .L = L, .pattern = lua_touserdata(L, lua_upvalueindex(2)) };
        lua_Integer at = lua_tointeger(L, lua_upvalueindex(3)), last = lua_tointeger(L, lua_upvalueindex(4));
        size_t n;
        const char *to;

        m.begin = lua_tolstring(L, lua_upvalueindex(1), &n);
        m.end = m.begin + n;
        for (;; at++) {
                const char *from = at <= (lua_Integer)n ? pattern_search(&m, m.begin + at, &to) : NULL;

                if (!from)
                        return not_found(L);
                /* Nothing, right behind a match, is no match. */
                at = from - m.begin;
                if (to - m.begin == last)
                        continue;
                lua_pushinteger(L, to - m.begin);
                lua_copy(L, -1, lua_upvalueindex(3));
                lua_replace(L, lua_upvalueindex(4));
                return pattern_push_all(&m, from, to);
        }
}

static int gmatch(lua_State *L) {
        struct str subject = check_text(L, 1), pattern = check_text(L, 2);
        size_t at = begin_at(L, 3, subject.n);

        lua_settop(L, 1);
        pattern_compile(L, pattern, false);
        lua_pushinteger(L, (lua_Integer)at);
        lua_pushinteger(L, -1);
        lua_pushcclosure(L, next_match, 4);
        return 1;
}

/* --- gsub --------------------------------------------------------------------------------------------------------- */

/* gsub(subject, pattern, replacement, count). The replacement is at 3. */
static void add_template(struct pattern_match *m, luaL_Buffer *out, const char *from, const char *to) {
        struct str text;

        text.p = lua_tolstring(m->L, 3, &text.n);
        for (size_t i = 0; i < text.n; i++) {
                if (text.p[i] != '%') {
                        luaL_addchar(out, text.p[i]);
                        continue;
                }
                char what = ++i < text.n ? text.p[i] : '\0';
                if (what == '%') {
                        luaL_addchar(out, '%');
                } else if (what == '0') {
                        luaL_addlstring(out, from, (size_t)(to - from));
                } else if (what >= '1' && what <= '9') {
                        pattern_push(m, (unsigned)(what - '1'), from, to);
                        luaL_tolstring(m->L, -1, NULL);
                        lua_remove(m->L, -2);
                        luaL_addvalue(out);
                } else {
                        luaL_error(m->L, "invalid use of '%%' in replacement string");
                }
        }
        run_charge(run_of(m->L), 4 * text.n);
}

/* What a table or function says, at the top; false: it says nothing. */
static bool ask_replacement(struct pattern_match *m, const char *from, const char *to) {
        lua_State *L = m->L;

        if (lua_istable(L, 3)) {
                pattern_push(m, 0, from, to);
                lua_gettable(L, 3);
        } else {
                lua_pushvalue(L, 3);
                lua_call(L, pattern_push_all(m, from, to), 1);
        }
        if (lua_toboolean(L, -1) && !lua_isstring(L, -1))
                luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
        if (lua_toboolean(L, -1))
                return true;
        lua_pop(L, 1);
        return false;
}

static void add_replacement(struct pattern_match *m, luaL_Buffer *out, const char *from, const char *to) {
        if (lua_isstring(m->L, 3))
                add_template(m, out, from, to);
        else if (ask_replacement(m, from, to))
                luaL_addvalue(out);
        else
                luaL_addlstring(out, from, (size_t)(to - from));
}

/* Adds the subject with what was replaced in it; how many times. */
static lua_Integer replace(struct pattern_match *m, luaL_Buffer *out, lua_Integer most) {
        const char *at = m->begin, *last = NULL, *to;
        lua_Integer count = 0;

        while (count < most) {
                const char *from = pattern_search(m, at, &to);

                if (!from)
                        break;
                luaL_addlstring(out, at, (size_t)(from - at));
                at = from;
                if (to != last) {
                        count++;
                        add_replacement(m, out, from, to);
                        at = last = to;
                } else if (at < m->end) {
                        luaL_addchar(out, *at++);
                } else {
                        break;
                }
                if (pattern_is_anchored(m->pattern))
                        break;
        }
        luaL_addlstring(out, at, (size_t)(m->end - at));
        return count;
}

static int gsub(lua_State *L) {
        struct str subject = check_text(L, 1), pattern = check_text(L, 2);
        int kind = lua_type(L, 3);
        lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)subject.n + 1);
        struct pattern_match m = { .L = L, .begin = subject.p, .end = subject.p + subject.n };
        luaL_Buffer out;

        luaL_argexpected(L, kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION || kind == LUA_TTABLE,
                         3, "string/function/table");
        lua_settop(L, 3);
        m.pattern = pattern_compile(L, pattern, true);
        luaL_buffinit(L, &out);
        lua_Integer count = replace(&m, &out, most);
        luaL_pushresult(&out);
        lua_pushinteger(L, count);
        return 2;
}

/* --- rep ---------------------------------------------------------------------------------------------------------- */

/* Fills `n` bytes by what the first `unit` of them are. */
static void repeat(char *p, size_t unit, size_t n) {
        for (size_t done = unit; done < n;) {
                size_t more = done < n - done ? done : n - done;

                memcpy(p + done, p, more);
                done += more;
        }
}

static int rep(lua_State *L) {
        struct str text = check_text(L, 1), separator = { 0 };
        lua_Integer count = luaL_checkinteger(L, 2);
        luaL_Buffer out;

        separator.p = luaL_optlstring(L, 3, "", &separator.n);
        size_t unit = text.n + separator.n;
        if (count <= 0 || unit == 0) {
                lua_pushliteral(L, "");
                return 1;
        }
        if ((lua_Unsigned)count > (LUA_MAX_STRING_BYTES + separator.n) / unit)
                return luaL_error(L, "resulting string too large");
        size_t total = (size_t)count * unit - separator.n;
        char *p = luaL_buffinitsize(L, &out, total + separator.n);
        memcpy(p, text.p, text.n);
        memcpy(p + text.n, separator.p, separator.n);
        repeat(p, unit, total);
        luaL_pushresultsize(&out, total);
        return 1;
}

void libs_open_string(lua_State *L) {
        static const luaL_Reg functions[] = {
                { "find", find }, { "format", libs_format }, { "gfind", gmatch }, { "gmatch", gmatch },
                { "gsub", gsub }, { "match", match },        { "rep", rep },      { NULL, NULL },
        };

        luaL_setfuncs(L, functions, 0);
}
