/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in the API server's wording: field paths, reasons, and values as Go prints them. */
#include "sandbox/validate_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULT_MAX_BYTES (4 * MIB)
#include "base/limits.h"

void causes_add(struct causes *c, const char *reason, struct str field, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf text = buf_make(FAULT_MAX_BYTES);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);
        c->items = mem_grow(c->items, &c->cap, c->count + 1, sizeof *c->items);
        c->items[c->count++] = (struct cause){
                .reason = arena_str(c->arena, str_from(reason)),
                .field = arena_str(c->arena, field),
                .message = arena_str(c->arena, buf_str(&text)),
        };
}

void causes_append(struct causes *c, const struct causes *from) {
        for (size_t i = 0; i < from->count; i++)
                causes_add(c, from->items[i].reason.p, from->items[i].field, "%s", from->items[i].message.p);
}

void causes_done(struct causes *c) {
        free(c->items);
        *c = (struct causes){ .arena = c->arena };
}

/* --- paths --- */

static void add_path(const struct at *at, struct buf *out) {
        if (!at)
                return;
        add_path(at->up, out);
        if (at->kind == AT_IS_INDEX)
                buf_addf(out, "[%zu]", at->index);
        else if (at->kind == AT_IS_KEY) {
                buf_addch(out, '[');
                buf_add(out, at->name);
                buf_addch(out, ']');
        } else {
                if (out->n)
                        buf_addch(out, '.');
                buf_add(out, at->name);
        }
}

struct str at_text(const struct at *at, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(FAULT_MAX_BYTES);

        if (!at)
                return STR("<nil>");
        add_path(at, &out);
        return arena_str(a, buf_str(&out));
}

/* --- values as Go prints them --- */

/* strconv.Quote; what is not ASCII is taken for printable when it is UTF-8. */
static void add_quoted(struct str s, struct buf *out) {
        static const char escapes[] = "abtnvfr"; /* 7 … 13 */
        bool utf8 = str_is_utf8(s);

        buf_addch(out, '"');
        for (size_t i = 0; i < s.n; i++) {
                unsigned char ch = (unsigned char)s.p[i];

                if (ch == '"' || ch == '\\')
                        buf_addf(out, "\\%c", ch);
                else if (ch >= 7 && ch <= 13)
                        buf_addf(out, "\\%c", escapes[ch - 7]);
                else if (ch < 0x20 || ch == 0x7f || (ch >= 0x80 && !utf8))
                        buf_addf(out, "\\x%02x", ch);
                else
                        buf_addch(out, (char)ch);
        }
        buf_addch(out, '"');
}

struct str quoted(struct str s, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(FAULT_MAX_BYTES);

        add_quoted(s, &out);
        return arena_str(a, buf_str(&out));
}

/* encoding/json escapes what HTML could trip over. These bytes occur in strings only, so the text can be patched. */
static void add_html_safe(struct str s, struct buf *out) {
        for (size_t i = 0; i < s.n; i++) {
                char ch = s.p[i];

                if (ch == '<' || ch == '>' || ch == '&')
                        buf_addf(out, "\\u%04x", ch);
                else
                        buf_addch(out, ch);
        }
}

struct str go_json(const struct value *v, struct arena *a) {
        _cleanup_(buf_done) struct buf plain = buf_make(FAULT_MAX_BYTES), out = buf_make(FAULT_MAX_BYTES);

        if (!v)
                return STR("null");
        value_print(v, &plain);
        add_html_safe(buf_str(&plain), &out);
        return arena_str(a, buf_str(&out));
}

struct str go_json_fields(const struct value *map, const char *const *fields, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(FAULT_MAX_BYTES);
        const char *comma = "";

        buf_addch(&out, '{');
        for (; *fields; fields++) {
                const struct value *v = value_getc(map, *fields);

                if (!v || ((v->kind == VALUE_MAP || v->kind == VALUE_LIST) && value_count(v) == 0))
                        continue;
                buf_addf(&out, "%s\"%s\":", comma, *fields);
                buf_add(&out, go_json(v, a));
                comma = ",";
        }
        buf_addch(&out, '}');
        return arena_str(a, buf_str(&out));
}

/* %v of a float64: shortest digits, exponent form below 1e-4 and from 1e21 on. */
static struct str float_text(struct str number, struct arena *a) {
        double d = strtod(number.p, NULL);
        char text[40];

        for (int digits = 1; digits <= 17; digits++) {
                snprintf(text, sizeof text, "%.*g", digits, d);
                if (strtod(text, NULL) == d)
                        break;
        }
        if (strchr(text, 'e') && d < 1e21 && d > -1e21 && (d >= 1e-4 || d <= -1e-4 || d == 0))
                snprintf(text, sizeof text, "%.0f", d);
        return arena_str(a, str_from(text));
}

static struct str shown_value(const struct value *v, struct arena *a) {
        if (value_is(v, VALUE_STRING))
                return quoted(value_text(v), a);
        if (value_is(v, VALUE_DECIMAL))
                return float_text(v->text, a);
        return go_json(v, a);
}

/* --- findings --- */

static void add_fault(struct causes *to, const struct at *at, const char *reason, const char *title, struct str shown,
                      const char *detail) {
        causes_add(to, reason, at_text(at, to->arena), "%s%s%.*s%s%s", title, shown.n ? ": " : "", STR_FMT(shown),
                   *detail ? ": " : "", detail);
}

void fault_required(struct check *c, const struct at *at, const char *detail) {
        add_fault(c->out, at, "FieldValueRequired", "Required value", STR(""), detail);
}

void fault_forbidden(struct check *c, const struct at *at, const char *detail) {
        add_fault(c->out, at, "FieldValueForbidden", "Forbidden", STR(""), detail);
}

void fault_invalid_raw(struct check *c, const struct at *at, struct str shown, const char *detail) {
        add_fault(c->out, at, "FieldValueInvalid", "Invalid value", shown, detail);
}

void fault_invalid(struct check *c, const struct at *at, const struct value *shown, const char *detail) {
        fault_invalid_raw(c, at, shown_value(shown, c->a), detail);
}

void fault_invalid_str(struct check *c, const struct at *at, struct str shown, const char *detail) {
        fault_invalid_raw(c, at, quoted(shown, c->a), detail);
}

void fault_invalid_int(struct check *c, const struct at *at, int64_t shown, const char *detail) {
        fault_invalid_raw(c, at, arena_strf(c->a, "%lld", (long long)shown), detail);
}

void fault_duplicate_raw(struct check *c, const struct at *at, struct str shown) {
        add_fault(c->out, at, "FieldValueDuplicate", "Duplicate value", shown, "");
}

void fault_duplicate(struct check *c, const struct at *at, const struct value *shown) {
        fault_duplicate_raw(c, at, shown_value(shown, c->a));
}

void fault_duplicate_str(struct check *c, const struct at *at, struct str shown) {
        fault_duplicate_raw(c, at, quoted(shown, c->a));
}

void fault_not_found(struct check *c, const struct at *at, struct str shown) {
        add_fault(c->out, at, "FieldValueNotFound", "Not found", quoted(shown, c->a), "");
}

static void add_unsupported(struct causes *to, const struct at *at, struct str shown, const char *supported) {
        struct str detail = arena_strf(to->arena, "supported values: %s", supported);

        add_fault(to, at, "FieldValueNotSupported", "Unsupported value", shown, detail.p);
}

void fault_unsupported_raw(struct check *c, const struct at *at, struct str shown, const char *supported) {
        add_unsupported(c->out, at, shown, supported);
}

void fault_unsupported(struct check *c, const struct at *at, struct str shown, const char *supported) {
        add_unsupported(c->out, at, quoted(shown, c->a), supported);
}

void fault_too_long(struct check *c, const struct at *at, int64_t max_bytes) {
        struct str detail = max_bytes < 0 ? STR("value is too long")
                                          : arena_strf(c->a, "may not be more than %lld byte%s", (long long)max_bytes,
                                                       max_bytes == 1 ? "" : "s");

        add_fault(c->out, at, "FieldValueTooLong", "Too long", STR(""), detail.p);
}

static void add_too_many(struct causes *to, const struct at *at, size_t count, size_t max) {
        struct str detail = arena_strf(to->arena, "must have at most %zu item%s", max, max == 1 ? "" : "s");

        add_fault(to, at, "FieldValueTooMany", "Too many", arena_strf(to->arena, "%zu", count), detail.p);
}

void fault_too_many(struct check *c, const struct at *at, size_t count, size_t max) {
        add_too_many(c->out, at, count, max);
}

void late_required(struct check *c, const struct at *at) {
        add_fault(&c->late, at, "FieldValueRequired", "Required value", STR(""), "");
}

void late_invalid(struct check *c, const struct at *at, const struct value *shown, const char *detail) {
        add_fault(&c->late, at, "FieldValueInvalid", "Invalid value", shown_value(shown, c->a), detail);
}

void late_unsupported(struct check *c, const struct at *at, struct str shown, const char *supported) {
        add_unsupported(&c->late, at, quoted(shown, c->a), supported);
}

void late_too_many(struct check *c, const struct at *at, size_t count, size_t max) {
        add_too_many(&c->late, at, count, max);
}
