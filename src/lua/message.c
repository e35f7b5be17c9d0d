/* SPDX-License-Identifier: Apache-2.0 */
/* What a script says, made fit for a status, a log line and a terminal. */
#include "lua/run_impl.h"

static bool is_harmless(unsigned char c) {
        return c >= ' ' && c != 0x7f;
}

/* The end of a text of at most `max` bytes that is cut in no character. */
static size_t cut_at(struct str text, size_t max) {
        if (text.n <= max)
                return text.n;
        while (max > 0 && ((unsigned char)text.p[max] & 0xc0) == 0x80)
                max--;
        return max;
}

void message_clean(struct str text, char ret_text[LUA_MAX_MESSAGE_BYTES + 1]) {
        size_t n = cut_at(text, LUA_MAX_MESSAGE_BYTES);
        bool utf8 = str_is_utf8(str_sub(text, 0, n));

        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)text.p[i];

                /* U+0080 to U+009F are control characters, too. */
                bool control = utf8 && c == 0xc2 && i + 1 < n && (unsigned char)text.p[i + 1] < 0xa0;
                if (control)
                        ret_text[i++] = ' ';
                ret_text[i] = (char)(control || !is_harmless(c) ? ' ' : !utf8 && c >= 0x80 ? '?' : c);
        }
        ret_text[n] = '\0';
}

/* Is there a ":LINE: "? */
static bool has_place(const char *text) {
        for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
                size_t digits = strspn(colon + 1, "0123456789");

                if (digits && strncmp(colon + 1 + digits, ": ", 2) == 0)
                        return true;
        }
        return false;
}

/* luaO_chunkid(): what is too long becomes "..." and its end. */
const char *message_uncut(const char *name, const char *text, size_t *ret_from) {
        size_t n = strlen(name), kept = LUA_IDSIZE - sizeof "...";

        *ret_from = 0;
        if (n < LUA_IDSIZE || strncmp(text, "...", 3) != 0 || strncmp(text + 3, name + n - kept, kept) != 0)
                return "";
        *ret_from = 3 + kept;
        return name;
}

int message_set(struct err *err, enum err_code code, const char *name, lua_State *L) {
        char clean[LUA_MAX_MESSAGE_BYTES + 1];
        struct str text = { 0 };
        const char *whole;
        size_t from;

        if (lua_type(L, -1) != LUA_TSTRING && lua_type(L, -1) != LUA_TNUMBER)
                return err_set(err, code, "%s: the script raised a %s as its error", name, luaL_typename(L, -1));
        text.p = lua_tolstring(L, -1, &text.n);
        message_clean(text, clean);
        whole = message_uncut(name, clean, &from);
        return has_place(clean) ? err_set(err, code, "%s%s", whole, clean + from)
                                : err_set(err, code, "%s: %s", name, clean);
}
