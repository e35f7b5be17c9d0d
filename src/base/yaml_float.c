/* SPDX-License-Identifier: Apache-2.0 */
/* How Go writes floats (strconv.FormatFloat with the fewest digits), for values and for keys. */
#include <math.h>

#include "base/yaml_impl.h"

/* A number in decimal: 0.d₁d₂d₃… × 10^point. */
struct decimal {
        char digits[18]; /* ends in NUL, no zeros at the end */
        int count;
        int point;
        bool negative;
};

static bool reads_back(const char *text, double size, bool single) {
        return single ? strtof(text, NULL) == (float)size : strtod(text, NULL) == size;
}

/* Adds one to the last digit of d.ddde+dd; false when that would need one more digit. */
static bool bump_last_digit(char *text) {
        for (char *c = strchr(text, 'e') - 1; c >= text; c--) {
                if (*c == '.')
                        continue;
                if (*c != '9') {
                        (*c)++;
                        return true;
                }
                *c = '0';
        }
        return false;
}

/*
 * The fewest digits that read back as the same double, or float. Above a power of two numbers lie twice as far apart
 * as below it, so there the nearest decimal of some length may fail while its upper neighbour reads back.
 */
static struct decimal shortest_decimal(double real, bool single) {
        struct decimal d = { .negative = signbit(real) };
        char text[32];

        for (int precision = 0; precision < 17; precision++) {
                snprintf(text, sizeof text, "%.*e", precision, fabs(real));
                if (reads_back(text, fabs(real), single))
                        break;
                if (precision < 16 && bump_last_digit(text) && reads_back(text, fabs(real), single))
                        break;
        }

        char *exponent = strchr(text, 'e');
        for (const char *c = text; c < exponent; c++) {
                if (*c != '.')
                        d.digits[d.count++] = *c;
        }
        while (d.count > 1 && d.digits[d.count - 1] == '0')
                d.count--;
        d.digits[d.count] = '\0';
        d.point = (int)strtol(exponent + 1, NULL, 10) + 1;
        return d;
}

static void print_positional(const struct decimal *d, struct buf *out) {
        static const char zeros[] = "000000000000000000000";

        if (d->point <= 0)
                buf_addf(out, "0.%.*s%s", -d->point, zeros, d->digits);
        else if (d->point >= d->count)
                buf_addf(out, "%s%.*s", d->digits, d->point - d->count, zeros);
        else
                buf_addf(out, "%.*s.%s", d->point, d->digits, d->digits + d->point);
}

static void print_scientific(const struct decimal *d, struct buf *out) {
        buf_addf(out, "%c%s%se%c%02d", d->digits[0], d->count > 1 ? "." : "", d->digits + 1, d->point > 0 ? '+' : '-',
                 abs(d->point - 1));
}

/* `least` and `most`: exponents outside are written with e. */
static struct str float_text(double real, bool single, int least, int most, struct arena *a) {
        struct decimal d = shortest_decimal(real, single);
        _cleanup_(buf_done) struct buf out = buf_make(64);

        if (d.negative)
                buf_addch(&out, '-');
        if (real == 0)
                buf_addch(&out, '0');
        else if (d.point - 1 < least || d.point - 1 > most)
                print_scientific(&d, &out);
        else
                print_positional(&d, &out);
        return arena_str(a, buf_str(&out));
}

struct str yaml_float_text(double real, struct arena *a) {
        return float_text(real, false, -6, 20, a);
}

/* strconv.FormatFloat(real, 'g', -1, 32): a key passes through a float of 32 bits. */
static struct str float_key(double real, struct arena *a) {
        float narrow = (float)real;

        if (isnan(narrow))
                return STR(".nan");
        if (isinf(narrow))
                return narrow > 0 ? STR(".inf") : STR("-.inf");
        return float_text(narrow, true, -4, 5, a);
}

bool yaml_key(const struct yaml_typed *typed, struct arena *a, struct str *ret_key) {
        switch (typed->type) {
        case YAML_BOOL:
                *ret_key = typed->boolean ? STR("true") : STR("false");
                return true;
        case YAML_INT:
                *ret_key = arena_strf(a, "%lld", (long long)typed->i64);
                return true;
        case YAML_FLOAT:
                *ret_key = float_key(typed->real, a);
                return true;
        case YAML_TEXT:
        case YAML_TIMESTAMP:
                *ret_key = typed->text;
                return true;
        default:
                return false;
        }
}
