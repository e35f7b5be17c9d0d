/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/query.h"

static int hex(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* How many bytes from `at` make one character; 0 when they make none. */
static size_t character(struct str s, size_t at) {
        for (size_t n = 1; n <= 4 && at + n <= s.n; n++)
                if (str_is_utf8(str_sub(s, at, at + n)))
                        return n;
        return 0;
}

struct str query_text(struct str s, struct arena *a) {
        static const char replacement[] = { '\xef', '\xbf', '\xbd' };
        char *out;
        size_t n = 0;

        if (str_is_utf8(s))
                return s;
        out = arena_alloc(a, sizeof replacement * s.n + 1);
        for (size_t i = 0; i < s.n;) {
                size_t bytes = character(s, i);

                if (bytes)
                        memcpy(out + n, s.p + i, bytes);
                else
                        memcpy(out + n, replacement, sizeof replacement);
                n += bytes ? bytes : sizeof replacement;
                i += bytes ? bytes : 1;
        }
        out[n] = '\0';
        return (struct str){ out, n };
}

struct str query_decode(struct str s, bool is_query, struct arena *a) {
        char *out;
        size_t n = 0;

        if (str_find(s, '%', 0) < 0 && (!is_query || str_find(s, '+', 0) < 0))
                return query_text(s, a);
        out = arena_alloc(a, s.n + 1);
        for (size_t i = 0; i < s.n; i++) {
                if (s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0) {
                        out[n++] = (char)(hex(s.p[i + 1]) * 16 + hex(s.p[i + 2]));
                        i += 2;
                } else {
                        out[n++] = is_query && s.p[i] == '+' ? ' ' : s.p[i];
                }
        }
        out[n] = '\0';
        return query_text((struct str){ out, n }, a);
}

struct query query_parse(struct str text, struct arena *a) {
        struct query_pair *pairs;
        size_t count = 0, max = 1;
        struct str part;

        for (size_t i = 0; i < text.n; i++)
                max += text.p[i] == '&';
        pairs = arena_alloc(a, max * sizeof *pairs);
        while (str_next(&text, '&', &part)) {
                ptrdiff_t equals = str_find(part, '=', 0);
                size_t name_end = equals < 0 ? part.n : (size_t)equals;

                if (part.n == 0)
                        continue;
                pairs[count].name = query_decode(str_sub(part, 0, name_end), true, a);
                pairs[count++].value = query_decode(str_sub(part, name_end + 1, part.n), true, a);
        }
        return (struct query){ pairs, count };
}

static const struct query_pair *find(const struct query *q, const char *name) {
        for (size_t i = 0; i < q->count; i++)
                if (str_eqc(q->pairs[i].name, name))
                        return &q->pairs[i];
        return NULL;
}

struct str query_get(const struct query *q, const char *name) {
        const struct query_pair *pair = find(q, name);

        return pair ? pair->value : (struct str){ 0 };
}

bool query_has(const struct query *q, const char *name) {
        return find(q, name);
}

int query_int(const struct query *q, const char *name, int64_t *ret, struct err *err) {
        struct str text = query_get(q, name);

        if (text.n == 0)
                return 0;
        if (!str_to_i64(text, ret))
                return err_set(err, ERR_INVAL, "strconv.ParseInt: parsing \"%.*s\": invalid syntax", STR_FMT(text));
        return 0;
}

bool query_bool(const struct query *q, const char *name) {
        const struct query_pair *pair = find(q, name);

        return pair && !str_eqc(pair->value, "0") && !str_eqc(pair->value, "false");
}
