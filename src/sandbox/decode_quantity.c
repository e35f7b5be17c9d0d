/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource.Quantity: a decimal number with a suffix. What was sent is kept when it is canonical already (by a test
 * cheaper than the truth: "1500m" stays although it is no shorter than "1.5"), else it is printed anew: the largest
 * suffix that needs no fraction.
 */
#include <stdio.h>
#include <string.h>

#include "sandbox/decode_impl.h"

enum format {
        DECIMAL_SI,
        BINARY_SI,
        DECIMAL_EXPONENT,
};

static const struct suffix {
        const char *text;
        enum format format;
        int base, exponent;
} suffixes[] = {
        { "n", DECIMAL_SI, 10, -9 }, { "u", DECIMAL_SI, 10, -6 }, { "m", DECIMAL_SI, 10, -3 },
        { "", DECIMAL_SI, 10, 0 },   { "k", DECIMAL_SI, 10, 3 },  { "M", DECIMAL_SI, 10, 6 },
        { "G", DECIMAL_SI, 10, 9 },  { "T", DECIMAL_SI, 10, 12 }, { "P", DECIMAL_SI, 10, 15 },
        { "E", DECIMAL_SI, 10, 18 }, { "Ki", BINARY_SI, 2, 10 },  { "Mi", BINARY_SI, 2, 20 },
        { "Gi", BINARY_SI, 2, 30 },  { "Ti", BINARY_SI, 2, 40 },  { "Pi", BINARY_SI, 2, 50 },
        { "Ei", BINARY_SI, 2, 60 },
};

/* The text in its parts; the value is ±(whole fraction) · base^exponent · 10^-fraction.n. */
struct parts {
        bool negative;
        struct str whole, fraction; /* whole without leading zeros */
        enum format format;
        int base, exponent;
};

__extension__ typedef unsigned __int128 u128;

/* The value: mantissa · 10^scale. */
struct amount {
        bool negative;
        u128 mantissa;
        int scale;
        enum format format;
};

#define MAX_FAST_DIGITS 18
#define MAX_DIGITS      38
#define NANO            (-9)
#define MAX_BINARY      ((u128)INT64_MAX)
#define WRONG_FORMAT    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define WRONG_SUFFIX    "unable to parse quantity's suffix"

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static struct str cut_digits(struct str *rest) {
        size_t n = 0;

        while (n < rest->n && is_digit(rest->p[n]))
                n++;
        struct str digits = str_sub(*rest, 0, n);

        *rest = str_sub(*rest, n, rest->n);
        return digits;
}

/* Letters, a sign, digits: nothing else may follow the number. */
static bool suffix_is_well_formed(struct str s) {
        while (s.n && memchr("eEinumkKMGTP", s.p[0], sizeof "eEinumkKMGTP" - 1))
                s = str_sub(s, 1, s.n);
        if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
                s = str_sub(s, 1, s.n);
        cut_digits(&s);
        return s.n == 0;
}

static bool read_exponent(struct str s, int *ret_exponent) {
        struct str digits = str_sub(s, 1, s.n);
        int64_t number;

        if (s.n < 2 || (s.p[0] != 'e' && s.p[0] != 'E'))
                return false;
        if (digits.p[0] == '+')
                digits = str_sub(digits, 1, digits.n);
        if (!str_to_i64(digits, &number) || number > 1000 || number < -1000)
                return false;
        *ret_exponent = (int)number;
        return true;
}

static bool read_suffix(struct str s, struct parts *p) {
        for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
                if (!str_eqc(s, suffixes[i].text))
                        continue;
                p->format = suffixes[i].format;
                p->base = suffixes[i].base;
                p->exponent = suffixes[i].exponent;
                return true;
        }
        p->format = DECIMAL_EXPONENT;
        p->base = 10;
        return read_exponent(s, &p->exponent);
}

static const char *read_parts(struct str text, struct parts *p) {
        struct str rest = text;

        if (text.n == 0)
                return WRONG_FORMAT;
        if (rest.p[0] == '-' || rest.p[0] == '+') {
                p->negative = rest.p[0] == '-';
                rest = str_sub(rest, 1, rest.n);
        }
        p->whole = cut_digits(&rest);
        while (p->whole.n && p->whole.p[0] == '0')
                p->whole = str_sub(p->whole, 1, p->whole.n);
        if (p->whole.n == 0)
                p->whole = STR("0");
        if (rest.n && rest.p[0] == '.') {
                rest = str_sub(rest, 1, rest.n);
                p->fraction = cut_digits(&rest);
        }
        if (!suffix_is_well_formed(rest))
                return WRONG_FORMAT;
        return read_suffix(rest, p) ? NULL : WRONG_SUFFIX;
}

/* Digits beyond what 128 bits hold are dropped (and the scale follows). */
static void take_digits(struct amount *v, struct str digits, bool is_fraction, unsigned *count) {
        for (size_t i = 0; i < digits.n; i++) {
                bool fits = *count < MAX_DIGITS;

                if (fits) {
                        v->mantissa = v->mantissa * 10 + (unsigned)(digits.p[i] - '0');
                        *count += v->mantissa != 0;
                }
                v->scale += is_fraction ? (fits ? -1 : 0) : (fits ? 0 : 1);
        }
}

static void strip_zeros(struct amount *v) {
        while (v->mantissa && v->mantissa % 10 == 0) {
                v->mantissa /= 10;
                v->scale++;
        }
}

/* Away from zero, so that a little never becomes nothing. */
static void round_up(struct amount *v, int scale) {
        bool rest = false;

        while (v->scale < scale) {
                rest = rest || v->mantissa % 10 != 0;
                v->mantissa /= 10;
                v->scale++;
        }
        v->mantissa += rest;
}

static bool raise_to_units(struct amount *v) {
        while (v->scale > 0) {
                if (v->mantissa > MAX_BINARY)
                        return false;
                v->mantissa *= 10;
                v->scale--;
        }
        return v->scale == 0;
}

static void multiply_by_power_of_two(struct amount *v, int exponent) {
        for (int i = 0; i < exponent; i++) {
                if (v->mantissa >> 126 == 0) {
                        v->mantissa *= 2;
                        continue;
                }
                v->mantissa /= 5; /* ·2 = /5 ·10 */
                v->scale++;
        }
}

static struct amount amount_of(const struct parts *p) {
        struct amount v = { .negative = p->negative, .format = p->format };
        unsigned count = 0;

        take_digits(&v, p->whole, false, &count);
        take_digits(&v, p->fraction, true, &count);
        if (p->base == 10)
                v.scale += p->exponent;
        else
                multiply_by_power_of_two(&v, p->exponent);
        strip_zeros(&v);
        round_up(&v, NANO);
        if (p->format != BINARY_SI)
                return v;
        struct amount units = v;

        round_up(&units, 0);
        if (!raise_to_units(&units) || units.mantissa > MAX_BINARY)
                v = (struct amount){ p->negative, MAX_BINARY, 0, BINARY_SI };
        return v;
}

static const char *suffix_text(enum format format, int base, int exponent) {
        for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
                if (suffixes[i].format == format && suffixes[i].base == base && suffixes[i].exponent == exponent)
                        return suffixes[i].text;
        return "";
}

static struct str print(bool negative, u128 number, const char *suffix, struct arena *a) {
        char digits[48], *p = digits + sizeof digits;

        do {
                *--p = (char)('0' + (int)(number % 10));
                number /= 10;
        } while (number);
        if (negative)
                *--p = '-';
        return arena_strf(a, "%.*s%s", (int)(digits + sizeof digits - p), p, suffix);
}

static struct str print_decimal(struct amount v, struct arena *a) {
        char exponent[16] = "";

        strip_zeros(&v);
        for (; v.scale % 3 != 0; v.scale--)
                v.mantissa *= 10;
        if (v.format == DECIMAL_EXPONENT) {
                if (v.scale != 0)
                        snprintf(exponent, sizeof exponent, "e%d", v.scale);
                return print(v.negative, v.mantissa, exponent, a);
        }
        return print(v.negative, v.mantissa, suffix_text(DECIMAL_SI, 10, v.scale), a);
}

static struct str print_amount(struct amount v, struct arena *a) {
        struct amount units = v;
        int power = 0;

        if (v.mantissa == 0)
                return STR("0");
        if (v.format != BINARY_SI)
                return print_decimal(v, a);
        if (!raise_to_units(&units) || units.mantissa < 1024) {
                v.format = DECIMAL_SI;
                return print_decimal(v, a);
        }
        for (; units.mantissa % 1024 == 0 && power < 6; power++)
                units.mantissa /= 1024;
        return print(v.negative, units.mantissa, suffix_text(BINARY_SI, 2, 10 * power), a);
}

/* Are the last three digits of all zeros? */
static bool ends_in_thousands(const struct parts *p) {
        size_t digits = p->whole.n + p->fraction.n;

        for (size_t i = digits; i > 0 && i + 3 > digits; i--) {
                size_t at = i - 1;
                char c = at < p->whole.n ? p->whole.p[at] : p->fraction.p[at - p->whole.n];

                if (c != '0')
                        return false;
        }
        return digits >= 3;
}

/* Does the server keep the text as it was sent? */
static bool is_kept(const struct parts *p) {
        size_t digits = p->whole.n + p->fraction.n;
        uint64_t value;

        if (p->format == BINARY_SI)
                return p->fraction.n == 0 && 15 - (int)p->whole.n - p->exponent * 3 / 10 - 1 >= 0 &&
                       str_to_u64(p->whole, &value) && (value & 7) != 0;
        int scale = p->exponent - (int)p->fraction.n;

        return digits <= MAX_FAST_DIGITS && scale >= NANO && scale % 3 == 0 && !ends_in_thousands(p) &&
               p->whole.p[0] != '0';
}

static struct str spell(struct str text, int least_scale, struct arena *a, const char **ret_why) {
        struct parts p = { 0 };
        const char *why = read_parts(text, &p);

        if (why) {
                *ret_why = why;
                return (struct str){ 0 };
        }
        struct amount v = amount_of(&p);

        if (v.scale >= least_scale)
                return is_kept(&p) ? arena_str(a, text) : print_amount(v, a);
        round_up(&v, least_scale);
        return print_amount(v, a);
}

struct str decode_quantity(struct str text, struct arena *a, const char **ret_why) {
        return spell(str_trim(text), NANO, a, ret_why);
}

struct str decode_quantity_milli(struct str text, struct arena *a, const char **ret_why) {
        return spell(str_trim(text), -3, a, ret_why);
}

/* Without rounding the text itself is kept as well; binary ones are whole units in any case. */
bool decode_quantity_is_held(struct str text, struct str spelt, bool rounded) {
        struct parts p = { 0 };

        if (str_eq(str_trim(text), spelt))
                return true;
        return rounded && !read_parts(str_trim(text), &p) && p.format == BINARY_SI && p.fraction.n == 0;
}
