/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pointer.h"

/* Unescapes one token into the arena; false for a ~ that is followed by neither 0 nor 1. */
static bool unescape(struct str token, struct arena *a, struct str *ret_token) {
        if (str_find(token, '~', 0) < 0) {
                *ret_token = arena_str(a, token);
                return true;
        }

        char *out = arena_alloc(a, token.n + 1);
        size_t n = 0;
        for (size_t i = 0; i < token.n; i++) {
                char c = token.p[i];

                if (c == '~') {
                        i++;
                        if (i == token.n || (token.p[i] != '0' && token.p[i] != '1'))
                                return false;
                        c = token.p[i] == '0' ? '~' : '/';
                }
                out[n++] = c;
        }
        out[n] = '\0';
        *ret_token = (struct str){ out, n };
        return true;
}

static size_t count_tokens(struct str text) {
        size_t count = 0;

        for (size_t i = 0; i < text.n; i++)
                count += text.p[i] == '/';
        return count;
}

int pointer_parse(struct str text, struct arena *a, struct pointer *ret_pointer, struct err *err) {
        if (text.n && text.p[0] != '/')
                return err_set(err, ERR_INVAL, "JSON pointer \"%.*s\" does not begin with /", STR_FMT(text));

        size_t count = count_tokens(text), at = 1;
        struct str *tokens = arena_alloc(a, count * sizeof *tokens);
        for (size_t i = 0; i < count; i++) {
                ptrdiff_t slash = str_find(text, '/', at);
                size_t end = slash < 0 ? text.n : (size_t)slash;

                if (!unescape(str_sub(text, at, end), a, &tokens[i]))
                        return err_set(err, ERR_INVAL, "JSON pointer \"%.*s\" has a ~ that is neither ~0 nor ~1",
                                       STR_FMT(text));
                at = end + 1;
        }
        *ret_pointer = (struct pointer){ tokens, count };
        return 0;
}

static const struct value *list_item(const struct value *list, struct str token) {
        uint64_t index;

        if ((token.n > 1 && token.p[0] == '0') || !str_to_u64(token, &index) || index >= list->list.count)
                return NULL;
        return list->list.items[index];
}

const struct value *pointer_find(const struct value *v, struct pointer p) {
        for (size_t i = 0; v && i < p.count; i++)
                v = value_is(v, VALUE_LIST) ? list_item(v, p.tokens[i]) : value_get(v, p.tokens[i]);
        return v;
}

void pointer_add_token(struct buf *out, struct str token) {
        buf_addch(out, '/');
        for (size_t i = 0; i < token.n; i++) {
                if (token.p[i] == '~')
                        buf_addc(out, "~0");
                else if (token.p[i] == '/')
                        buf_addc(out, "~1");
                else
                        buf_addch(out, token.p[i]);
        }
}
