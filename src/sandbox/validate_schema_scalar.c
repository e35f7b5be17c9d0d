/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and numbers against a schema. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/validate_regex.h"
#include "sandbox/validate_schema_impl.h"

static int64_t runes(struct str s) {
        int64_t n = 0;

        for (size_t i = 0; i < s.n; i++)
                n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
        return n;
}

void check_string(const struct node *n, struct result *r) {
        struct str s = value_text(n->v), pattern = text_of(n->schema, "pattern");
        struct arena *a = n->c->a;
        int64_t limit = 0;

        if (value_to_i64(get(n->schema, "maxLength"), &limit) && runes(s) > limit)
                result_add(n->c, r,
                           (struct fault){ .kind = FAULT_TOO_LONG,
                                           .path = n->path,
                                           .max = limit,
                                           .text = arena_strf(a, "%.*s too long", STR_FMT(n->path)) });
        else if (value_to_i64(get(n->schema, "minLength"), &limit) && runes(s) < limit)
                add_invalid(n, r, quoted(s, a),
                            arena_strf(a, "%.*s in body should be at least %lld chars long", STR_FMT(n->path),
                                       (long long)limit));
        else if (pattern.n && regex_match(pattern, s, a) == REGEX_DIFFERS)
                add_invalid(n, r, quoted(s, a),
                            arena_strf(a, "%.*s in body should match '%.*s'", STR_FMT(n->path), STR_FMT(pattern)));
}

void check_format(const struct node *n, struct result *r) {
        struct str format = format_of(n->schema), s = value_text(n->v), q = quoted(s, n->c->a);

        if (format.n && !format_keeps(format, s, n->c->a))
                result_add(n->c, r,
                           (struct fault){ .kind = FAULT_TYPE,
                                           .path = n->path,
                                           .shown = q,
                                           .text = arena_strf(n->c->a, "%.*s in body must be of type %.*s: %s",
                                                              STR_FMT(n->path), STR_FMT(format), q.p) });
}

/* Go's %v of a float64 and of an int64. */
static struct str number_text(double d, struct arena *a) {
        char text[40];

        for (int digits = 1; digits <= 17; digits++) {
                snprintf(text, sizeof text, "%.*g", digits, d);
                if (strtod(text, NULL) == d)
                        break;
        }
        if (strchr(text, 'e') && fabs(d) < 1e21 && (fabs(d) >= 1e-4 || d == 0))
                snprintf(text, sizeof text, "%.0f", d);
        return arena_strf(a, "%s", text);
}

static struct str shown_number(const struct node *n) {
        return value_is(n->v, VALUE_DECIMAL) ? number_text(number_of(n->v), n->c->a) : go_json(n->v, n->c->a);
}

static void check_bound(const struct node *n, struct result *r, const char *rule, const char *exclusive, int sign) {
        const struct value *bound = get(n->schema, rule);
        double distance = (number_of(n->v) - number_of(bound)) * sign;
        bool strict = truth_of(n->schema, exclusive);

        if (!bound || distance < 0 || (distance == 0 && !strict))
                return;
        add_invalid(n, r, shown_number(n),
                    arena_strf(n->c->a, "%.*s in body should be %s than %s%s", STR_FMT(n->path),
                               sign > 0 ? "less" : "greater", strict ? "" : "or equal to ",
                               number_text(number_of(bound), n->c->a).p));
}

static void check_range(const struct node *n, struct result *r) {
        struct str format = text_of(n->schema, "format"), with = STR("(default format)");
        double d = number_of(n->v);
        bool small = str_eqc(format, "int32");

        if (!str_eqc(text_of(n->schema, "type"), "integer") ||
            (n->v->kind == VALUE_INT && (!small || (d <= INT32_MAX && d >= INT32_MIN))))
                return;
        if (n->v->kind == VALUE_DECIMAL && floor(d) == d && fabs(d) < 1e15)
                return;
        if (small || str_eqc(format, "int64"))
                with = arena_strf(n->c->a, "with format %.*s", STR_FMT(format));
        result_add(n->c, r,
                   (struct fault){ .kind = FAULT_PLAIN,
                                   .shown = STR("\"\""),
                                   .text = arena_strf(n->c->a, "Checked value must be of type integer %.*s in %.*s",
                                                      STR_FMT(with), STR_FMT(n->path)) });
}

void check_number(const struct node *n, struct result *r) {
        const struct value *factor = get(n->schema, "multipleOf");
        double f = number_of(factor), times = f < 1 && f > 0 ? 1 / f * number_of(n->v) : number_of(n->v) / f;

        check_range(n, r);
        if (factor && f > 0 && fabs(times - nearbyint(times)) > 1e-9)
                add_invalid(n, r, shown_number(n),
                            arena_strf(n->c->a, "%.*s in body should be a multiple of %s", STR_FMT(n->path),
                                       number_text(f, n->c->a).p));
        check_bound(n, r, "minimum", "exclusiveMinimum", -1);
        check_bound(n, r, "maximum", "exclusiveMaximum", 1);
        r->matches++;
}
