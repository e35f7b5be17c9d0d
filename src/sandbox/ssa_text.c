/* SPDX-License-Identifier: Apache-2.0 */
/* Values as the server's Go code prints them into messages, identities and annotations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sandbox/ssa_impl.h"

void ssa_add_quoted(struct str text, struct buf *out) {
        buf_addch(out, '"');
        for (size_t i = 0; i < text.n; i++) {
                if (text.p[i] == '"' || text.p[i] == '\\')
                        buf_addch(out, '\\');
                if (text.p[i] == '\n')
                        buf_addc(out, "\\n");
                else
                        buf_addch(out, text.p[i]);
        }
        buf_addch(out, '"');
}

/* The shortest decimal that reads back as the same number. */
static void shortest(double number, char *text, size_t size) {
        for (int digits = 1; digits <= 17; digits++) {
                snprintf(text, size, "%.*e", digits - 1, number);
                if (strtod(text, NULL) == number)
                        return;
        }
}

/* What is no int64 is a float64, and those turn to exponents from seven digits on. */
static void add_number(const struct value *v, struct buf *out) {
        _cleanup_(buf_done) struct buf text = buf_make(out->max);
        char exact[64];

        value_print(v, &text);
        if (v->kind == VALUE_INT) {
                buf_add(out, buf_str(&text));
                return;
        }
        double number = strtod(text.p, NULL);
        shortest(number, exact, sizeof exact);
        const char *e = strchr(exact, 'e');
        int exponent = e ? (int)strtol(e + 1, NULL, 10) : 0;

        if (isfinite(number) && (exponent < -4 || exponent >= 6)) {
                buf_addf(out, "%s", exact);
                return;
        }
        int digits = (int)(e - exact) - (strchr(exact, '.') != NULL) - (exact[0] == '-');
        int after = digits - 1 - exponent;

        buf_addf(out, "%.*f", after > 0 ? after : 0, number);
}

static void add_scalar(const struct value *v, bool syntax, struct buf *out) {
        switch (v->kind) {
        case VALUE_NULL:
                buf_addc(out, "<nil>");
                return;
        case VALUE_BOOL:
                buf_addc(out, v->boolean ? "true" : "false");
                return;
        case VALUE_STRING:
                if (syntax)
                        ssa_add_quoted(v->text, out);
                else
                        buf_add(out, v->text);
                return;
        default:
                add_number(v, out);
        }
}

void ssa_add_go(const struct value *v, struct buf *out) {
        bool map = v->kind == VALUE_MAP;

        if (!map && v->kind != VALUE_LIST) {
                add_scalar(v, false, out);
                return;
        }
        buf_addc(out, map ? "map[" : "[");
        for (size_t i = 0; i < value_count(v); i++) {
                if (i)
                        buf_addch(out, ' ');
                if (map) {
                        buf_add(out, v->map.members[i].key);
                        buf_addch(out, ':');
                }
                ssa_add_go(map ? v->map.members[i].value : v->list.items[i], out);
        }
        buf_addch(out, ']');
}

void ssa_add_go_syntax(const struct value *v, struct buf *out) {
        bool map = v->kind == VALUE_MAP;

        if (!map && v->kind != VALUE_LIST) {
                if (v->kind == VALUE_NULL)
                        buf_addc(out, "interface {}(nil)");
                else
                        add_scalar(v, true, out);
                return;
        }
        buf_addc(out, map ? "map[string]interface {}{" : "[]interface {}{");
        for (size_t i = 0; i < value_count(v); i++) {
                if (i)
                        buf_addc(out, ", ");
                if (map) {
                        ssa_add_quoted(v->map.members[i].key, out);
                        buf_addch(out, ':');
                }
                ssa_add_go_syntax(map ? v->map.members[i].value : v->list.items[i], out);
        }
        buf_addch(out, '}');
}

const char *ssa_go_type(const struct value *v) {
        static const char *const names[] = {
                [VALUE_NULL] = "<nil>",          [VALUE_BOOL] = "bool",
                [VALUE_INT] = "int64",           [VALUE_UINT] = "float64",
                [VALUE_DECIMAL] = "float64",     [VALUE_STRING] = "string",
                [VALUE_LIST] = "[]interface {}", [VALUE_MAP] = "map[string]interface {}",
        };

        return names[v->kind];
}
