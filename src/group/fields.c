/* SPDX-License-Identifier: Apache-2.0 */
/* Typed reading with the API server's words for what is wrong. */
#include "group/fields_impl.h"

#define SHOWN_MAX_BYTES 100
#define TEXT_MAX_BYTES  2048

struct str fields_path(const struct fields *in, struct str key) {
        if (!in->path.n)
                return arena_str(in->a, key);
        return arena_strf(in->a, "%.*s.%.*s", STR_FMT(in->path), STR_FMT(key));
}

/* The longest beginning of at most `max` bytes that does not end within a character. */
static struct str cut(struct str s, size_t max) {
        size_t n = s.n < max ? s.n : max;

        while (n < s.n && n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
                n--;
        return str_sub(s, 0, n);
}

struct str fields_shown(const struct value *v, struct arena *a) {
        struct str text = value_canonical(a, v ? v : &value_null);

        if (text.n <= SHOWN_MAX_BYTES)
                return text;
        return arena_strf(a, "%.*s…", STR_FMT(cut(text, SHOWN_MAX_BYTES)));
}

/* --- problems --- */

void fields_invalid(const struct fields *in, const char *key, const char *fmt, ...) {
        struct str shown = fields_shown(fields_get(in, key), in->a);
        _cleanup_(buf_done) struct buf text = buf_make(TEXT_MAX_BYTES);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);
        group_problems_add(in->problems, in->a, GROUP_INVALID, fields_path(in, str_from(key)),
                           "Invalid value: %.*s: %.*s", STR_FMT(shown), STR_FMT(buf_str(&text)));
}

void fields_missing(const struct fields *in, const char *key) {
        group_problems_add(in->problems, in->a, GROUP_INVALID, fields_path(in, str_from(key)), "Required value");
}

/* The schema's name of what a value is. */
static const char *type_name(enum value_kind kind) {
        static const char *const names[] = {
                [VALUE_NULL] = "null",    [VALUE_BOOL] = "boolean",   [VALUE_INT] = "integer",
                [VALUE_UINT] = "integer", [VALUE_DECIMAL] = "number", [VALUE_STRING] = "string",
                [VALUE_LIST] = "array",   [VALUE_MAP] = "object",
        };

        return names[kind];
}

void fields_bad_type(const struct fields *in, const char *key, const char *wanted) {
        struct str path = fields_path(in, str_from(key));
        const char *is = type_name(fields_get(in, key)->kind);

        group_problems_add(in->problems, in->a, GROUP_INVALID, path,
                           "Invalid value: \"%s\": %.*s in body must be of type %s: \"%s\"", is, STR_FMT(path), wanted,
                           is);
}

/* --- fields --- */

const struct value *fields_get(const struct fields *in, const char *key) {
        const struct value *v = value_getc(in->map, key);

        return value_is(v, VALUE_NULL) ? NULL : v;
}

const struct value *fields_get_kind(const struct fields *in, const char *key, enum value_kind kind) {
        const struct value *v = fields_get(in, key);

        if (!v || v->kind == kind)
                return v;
        fields_bad_type(in, key, type_name(kind));
        return NULL;
}

struct fields fields_of(const struct fields *in, const char *key) {
        return (struct fields){
                .map = fields_get_kind(in, key, VALUE_MAP),
                .path = fields_path(in, str_from(key)),
                .a = in->a,
                .problems = in->problems,
        };
}

struct fields fields_required(const struct fields *in, const char *key) {
        if (in->map && !fields_get(in, key))
                fields_missing(in, key);
        return fields_of(in, key);
}

struct str fields_text(const struct fields *in, const char *key) {
        return value_text(fields_get_kind(in, key, VALUE_STRING));
}

struct str fields_required_text(const struct fields *in, const char *key) {
        const struct value *v = fields_get(in, key);

        if (in->map && (!v || (v->kind == VALUE_STRING && !v->text.n)))
                fields_missing(in, key);
        return fields_text(in, key);
}

int32_t fields_number(const struct fields *in, const char *key, int32_t otherwise, const struct fields_range *range) {
        const struct value *v = fields_get(in, key);

        if (!v)
                return otherwise;
        if (v->kind != VALUE_INT && v->kind != VALUE_UINT)
                fields_bad_type(in, key, "integer");
        else if (v->kind == VALUE_INT && v->i64 < range->least)
                fields_invalid(in, key, "%s", range->below);
        else if (v->kind == VALUE_UINT || v->i64 > range->most)
                fields_invalid(in, key, "%s", range->above);
        else
                return (int32_t)v->i64;
        return otherwise;
}

/* "A", "B" */
static struct str listed(const char *const *words, size_t count, struct arena *a) {
        struct str all = STR("");

        for (size_t i = 0; i < count; i++)
                all = arena_strf(a, "%.*s%s\"%s\"", STR_FMT(all), i ? ", " : "", words[i]);
        return all;
}

size_t fields_word(const struct fields *in, const char *key, const char *const *words, size_t count, size_t otherwise) {
        const struct value *v = fields_get_kind(in, key, VALUE_STRING);

        if (!v)
                return otherwise;
        for (size_t i = 0; i < count; i++)
                if (str_eqc(v->text, words[i]))
                        return i;
        group_problems_add(in->problems, in->a, GROUP_INVALID, fields_path(in, str_from(key)),
                           "Unsupported value: %.*s: supported values: %.*s", STR_FMT(fields_shown(v, in->a)),
                           STR_FMT(listed(words, count, in->a)));
        return otherwise;
}
