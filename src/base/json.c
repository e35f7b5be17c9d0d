/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json-c builds the tree, but it is no judge of what JSON is: even its strict mode takes single quotes, NaN and raw
 * control characters, clamps integers beyond 64 bits, forgets the sign of -0 and ends a key at its first NUL. So a
 * scanner of ours reads the text first. It decides alone whether the text is JSON and how deep it is, and where json-c
 * would lose something it writes a copy in which that thing is spelled so that it survives:
 *
 *   integer json-c cannot hold   123…          → 123…e+00       (a double keeps its text)
 *   number that ends like that   1e+00         → 1e+000         (so that the two stay apart)
 *   NUL in a key                 "a\u0000b"    → "a\u00010b"
 *   U+0001 in a key              "a\u0001b"    → "a\u00011b"
 *
 * The conversion to values undoes the spelling. Real objects hold none of these, so the copy is hardly ever made.
 */
#include "base/json.h"

#include <json-c/json.h>

#include "base/limits.h"

#define KEPT_INTEGER_SUFFIX "e+00"
#define KEY_MARK '\x01'

struct scan {
        struct str text;
        size_t at;
        size_t copied;   /* text before it is in `copy`, as long as copy is in use */
        struct buf copy; /* empty: the text can be given to json-c as it is */
        struct err *err;
};

static int fault(const struct scan *s, size_t at, const char *why) {
        return err_set(s->err, ERR_PARSE, "not JSON at byte %zu: %s", at, why);
}

/* The byte at hand; 0 at the end, which is no byte of valid JSON either. */
static char peek(const struct scan *s) {
        return s->at < s->text.n ? s->text.p[s->at] : '\0';
}

static void skip_blanks(struct scan *s) {
        for (char c = peek(s); c == ' ' || c == '\n' || c == '\t' || c == '\r'; c = peek(s))
                s->at++;
}

static bool skip_char(struct scan *s, char c) {
        if (peek(s) != c)
                return false;
        s->at++;
        return true;
}

/* Puts `instead` where the text has from..to. */
static void respell(struct scan *s, size_t from, size_t to, const char *instead) {
        buf_add(&s->copy, str_sub(s->text, s->copied, from));
        buf_addc(&s->copy, instead);
        s->copied = to;
}

static bool is_hex(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int scan_escape(struct scan *s, bool is_key) {
        size_t begin = s->at++;
        char c = peek(s);

        if (c == '\0' || !strchr("\"\\/bfnrtu", c))
                return fault(s, begin, "unknown escape");
        s->at++;
        if (c != 'u')
                return 0;

        for (size_t i = 0; i < 4; i++, s->at++) {
                if (!is_hex(peek(s)))
                        return fault(s, begin, "\\u needs four hex digits");
        }
        if (!is_key)
                return 0;

        struct str escape = str_sub(s->text, begin, s->at);
        if (str_eqc(escape, "\\u0000"))
                respell(s, begin, s->at, "\\u00010");
        else if (str_eqc(escape, "\\u0001"))
                respell(s, begin, s->at, "\\u00011");
        return 0;
}

static int scan_string(struct scan *s, bool is_key) {
        size_t begin = s->at++;
        bool ascii = true;

        for (;;) {
                unsigned char c = (unsigned char)peek(s);

                if (c == '"')
                        break;
                if (c == '\\') {
                        int r = scan_escape(s, is_key);

                        if (r < 0)
                                return r;
                        continue;
                }
                if (s->at >= s->text.n)
                        return fault(s, begin, "unterminated string");
                if (c < 0x20)
                        return fault(s, s->at, "raw control character in a string");
                ascii = ascii && c < 0x80;
                s->at++;
        }
        s->at++;
        if (!ascii && !str_is_utf8(str_sub(s->text, begin, s->at)))
                return fault(s, begin, "string is not UTF-8");
        return 0;
}

static size_t skip_digits(struct scan *s) {
        size_t begin = s->at;

        while (peek(s) >= '0' && peek(s) <= '9')
                s->at++;
        return s->at - begin;
}

static bool json_c_keeps_integer(struct str text) {
        int64_t i64;
        uint64_t u64;

        return (str_to_i64(text, &i64) && !str_eqc(text, "-0")) || str_to_u64(text, &u64);
}

/* Does it read like a kept integer, perhaps with more zeros? */
static bool ends_in_kept_suffix(struct str text) {
        while (text.n && text.p[text.n - 1] == '0' && !str_ends(text, STR(KEPT_INTEGER_SUFFIX)))
                text.n--;
        return str_ends(text, STR(KEPT_INTEGER_SUFFIX));
}

static int scan_number(struct scan *s) {
        size_t begin = s->at;
        bool integer = true;

        skip_char(s, '-');
        if (!skip_char(s, '0') && skip_digits(s) == 0)
                return fault(s, begin, "unexpected character");
        if (skip_char(s, '.')) {
                integer = false;
                if (skip_digits(s) == 0)
                        return fault(s, begin, "number without digits after its point");
        }
        if (skip_char(s, 'e') || skip_char(s, 'E')) {
                integer = false;
                if (!skip_char(s, '+'))
                        skip_char(s, '-');
                if (skip_digits(s) == 0)
                        return fault(s, begin, "number without digits in its exponent");
        }

        struct str text = str_sub(s->text, begin, s->at);
        if (integer && !json_c_keeps_integer(text))
                respell(s, s->at, s->at, KEPT_INTEGER_SUFFIX);
        else if (!integer && ends_in_kept_suffix(text))
                respell(s, s->at, s->at, "0");
        return 0;
}

static int scan_word(struct scan *s, struct str word) {
        if (!str_starts(str_sub(s->text, s->at, s->text.n), word))
                return fault(s, s->at, "unexpected character");
        s->at += word.n;
        return 0;
}

static int scan_value(struct scan *s, unsigned depth);

static int scan_list(struct scan *s, unsigned depth) {
        size_t begin = s->at++;

        skip_blanks(s);
        if (skip_char(s, ']'))
                return 0;
        for (;;) {
                int r = scan_value(s, depth + 1);
                if (r < 0)
                        return r;

                skip_blanks(s);
                if (skip_char(s, ']'))
                        return 0;
                if (s->at >= s->text.n)
                        return fault(s, begin, "unterminated list");
                if (!skip_char(s, ','))
                        return fault(s, s->at, "expected , or ]");
        }
}

static int scan_member(struct scan *s, unsigned depth) {
        skip_blanks(s);
        if (peek(s) != '"')
                return fault(s, s->at, "expected a key in double quotes");

        int r = scan_string(s, true);
        if (r < 0)
                return r;
        skip_blanks(s);
        if (!skip_char(s, ':'))
                return fault(s, s->at, "expected :");
        return scan_value(s, depth + 1);
}

static int scan_map(struct scan *s, unsigned depth) {
        size_t begin = s->at++;

        skip_blanks(s);
        if (skip_char(s, '}'))
                return 0;
        for (;;) {
                int r = scan_member(s, depth);
                if (r < 0)
                        return r;

                skip_blanks(s);
                if (skip_char(s, '}'))
                        return 0;
                if (s->at >= s->text.n)
                        return fault(s, begin, "unterminated map");
                if (!skip_char(s, ','))
                        return fault(s, s->at, "expected , or }");
        }
}

/* `depth` is the number of lists and maps around the value. */
static int scan_value(struct scan *s, unsigned depth) {
        skip_blanks(s);
        switch (peek(s)) {
        case '{':
        case '[':
                if (depth >= JSON_MAX_DEPTH)
                        return err_set(s->err, ERR_LIMIT, "JSON nests deeper than %d at byte %zu", JSON_MAX_DEPTH,
                                       s->at);
                return peek(s) == '{' ? scan_map(s, depth) : scan_list(s, depth);
        case '"':
                return scan_string(s, false);
        case 't':
                return scan_word(s, STR("true"));
        case 'f':
                return scan_word(s, STR("false"));
        case 'n':
                return scan_word(s, STR("null"));
        default:
                if (s->at >= s->text.n)
                        return fault(s, s->at, "unexpected end");
                return scan_number(s);
        }
}

static int scan_text(struct scan *s) {
        int r = scan_value(s, 0);
        if (r < 0)
                return r;

        skip_blanks(s);
        if (s->at < s->text.n)
                return fault(s, s->at, "more text after the value");
        if (s->copy.n)
                buf_add(&s->copy, str_sub(s->text, s->copied, s->text.n));
        return 0;
}

/* The number as the text had it. */
static struct str respelled_number(const char *kept) {
        struct str text = str_from(kept);

        if (!ends_in_kept_suffix(text))
                return text;
        if (str_ends(text, STR(KEPT_INTEGER_SUFFIX)))
                return str_sub(text, 0, text.n - strlen(KEPT_INTEGER_SUFFIX));
        return str_sub(text, 0, text.n - 1);
}

/* A copy of the key as the text had it. */
static struct str respelled_key(struct arena *a, struct str key) {
        if (str_find(key, KEY_MARK, 0) < 0)
                return arena_str(a, key);

        char *out = arena_alloc(a, key.n + 1);
        size_t n = 0;
        for (size_t i = 0; i < key.n; i++) {
                out[n++] = key.p[i];
                if (key.p[i] == KEY_MARK)
                        out[n - 1] = key.p[++i] == '0' ? '\0' : KEY_MARK;
        }
        out[n] = '\0';
        return (struct str){ out, n };
}

static const struct value *convert(struct json_object *o, struct arena *a);

static const struct value *convert_integer(struct json_object *o, struct arena *a) {
        int64_t i64 = json_object_get_int64(o);

        /* json-c gives the largest int64 for everything above it. */
        return i64 == INT64_MAX ? value_uint(a, json_object_get_uint64(o), 0) : value_int(a, i64, 0);
}

static const struct value *convert_list(struct json_object *o, struct arena *a) {
        struct value *list = arena_zalloc(a, sizeof *list);
        size_t n = json_object_array_length(o);
        const struct value **items = arena_alloc(a, n * sizeof *items);

        for (size_t i = 0; i < n; i++)
                items[i] = convert(json_object_array_get_idx(o, i), a);
        list->kind = VALUE_LIST;
        list->list.items = items;
        list->list.count = n;
        return list;
}

static const struct value *convert_map(struct json_object *o, struct arena *a) {
        struct value_member *members = arena_alloc(a, (size_t)json_object_object_length(o) * sizeof *members);
        struct json_object_iterator end = json_object_iter_end(o);
        size_t n = 0;

        for (struct json_object_iterator i = json_object_iter_begin(o); !json_object_iter_equal(&i, &end);
             json_object_iter_next(&i)) {
                struct str name = str_from(json_object_iter_peek_name(&i));

                members[n++] = (struct value_member){
                        .key = respelled_key(a, name),
                        .value = convert(json_object_iter_peek_value(&i), a),
                };
        }
        return value_map_of(a, members, n, 0);
}

static struct str text_of(struct json_object *string) {
        return (struct str){ json_object_get_string(string), (size_t)json_object_get_string_len(string) };
}

static const struct value *convert(struct json_object *o, struct arena *a) {
        switch (json_object_get_type(o)) {
        case json_type_boolean:
                return json_object_get_boolean(o) ? &value_true : &value_false;
        case json_type_int:
                return convert_integer(o, a);
        case json_type_double:
                /* json_object_new_double_s() keeps the text as user data. */
                return value_number(a, respelled_number(json_object_get_userdata(o)), 0);
        case json_type_string:
                return value_string(a, text_of(o), 0);
        case json_type_array:
                return convert_list(o, a);
        case json_type_object:
                return convert_map(o, a);
        default:
                return &value_null;
        }
}

DEFINE_CLEANUP(struct json_tokener *, json_tokener_free)

static void json_object_putp(struct json_object **o) {
        json_object_put(*o);
}

/* The text was scanned, so a refusal here would be a difference between json-c and RFC 8259: a bug. */
static int build(struct str text, struct arena *a, const struct value **ret_value, struct err *err) {
        _cleanup_(json_tokener_freep) struct json_tokener *tok = json_tokener_new_ex(JSON_MAX_DEPTH + 2);
        _cleanup_(json_object_putp) struct json_object *tree = NULL;

        if (!tok)
                return err_set(err, ERR_INTERNAL, "out of memory");
        json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
        tree = json_tokener_parse_ex(tok, text.p, (int)text.n);
        /* A number or word at the very end is finished by a NUL only. */
        if (json_tokener_get_error(tok) == json_tokener_continue)
                tree = json_tokener_parse_ex(tok, "", 1);
        if (json_tokener_get_error(tok) != json_tokener_success)
                return err_set(err, ERR_INTERNAL, "json-c refuses valid JSON: %s",
                               json_tokener_error_desc(json_tokener_get_error(tok)));

        *ret_value = convert(tree, a);
        return 0;
}

int json_parse(struct str text, struct arena *a, const struct value **ret_value, struct err *err) {
        if (text.n > JSON_MAX_BYTES)
                return err_set(err, ERR_LIMIT, "JSON is larger than %d bytes", JSON_MAX_BYTES);

        struct scan s = { .text = text, .copy = buf_make(SIZE_MAX / 4), .err = err };
        int r = scan_text(&s);
        if (r == 0)
                r = build(s.copy.n ? buf_str(&s.copy) : text, a, ret_value, err);
        buf_done(&s.copy);
        return r;
}

/* --- one member of a text that is not parsed ---------------------------------------------------------------------- */

/* `at` is that of its first quote; gives that of the byte after its last. */
static size_t string_end(struct str text, size_t at) {
        for (at++; at < text.n && text.p[at] != '"'; at++)
                at += text.p[at] == '\\';
        return at < text.n ? at + 1 : text.n;
}

/* Where the value at `at` ends: a comma or a bracket that is not its own. */
static size_t value_end(struct str text, size_t at) {
        for (size_t depth = 0; at < text.n;) {
                char c = text.p[at];

                if (c == '"') {
                        at = string_end(text, at);
                        continue;
                }
                if (depth == 0 && (c == ',' || c == '}' || c == ']'))
                        return at;
                depth += c == '{' || c == '[';
                depth -= c == '}' || c == ']';
                at++;
        }
        return at;
}

struct str json_member(struct str text, struct str key) {
        struct str rest = str_trim(text);

        if (!rest.n || rest.p[0] != '{')
                return (struct str){ 0 };
        for (rest = str_trim(str_sub(rest, 1, rest.n)); rest.n && rest.p[0] == '"';) {
                size_t end = string_end(rest, 0);
                struct str name = end >= 2 ? str_sub(rest, 1, end - 1) : STR(""), value = str_trim(str_sub(rest, end, rest.n));

                if (!value.n || value.p[0] != ':')
                        break;
                value = str_sub(value, 1, value.n);
                end = value_end(value, 0);
                if (str_eq(name, key))
                        return end < value.n ? str_trim(str_sub(value, 0, end)) : (struct str){ 0 };
                rest = end < value.n ? str_trim(str_sub(value, end + 1, value.n)) : (struct str){ 0 };
        }
        return (struct str){ 0 };
}
