/* SPDX-License-Identifier: Apache-2.0 */
#include "own/amount.h"

__extension__ typedef unsigned __int128 u128;

#define MAX_EXPONENT 100
#define U128_MAX (~(u128)0)

static bool take_char(struct str *rest, char c) {
        if (!rest->n || rest->p[0] != c)
                return false;
        *rest = str_sub(*rest, 1, rest->n);
        return true;
}

/* --- decimal numbers ------------------------------------------------------------------------------------------------ */

/* ±digits · 10^scale */
struct amount {
        bool negative;
        u128 digits;
        int scale;
};

/* False: it is more than can be held. */
static bool multiply(u128 *n, unsigned by) {
        if (*n > U128_MAX / by)
                return false;
        *n *= by;
        return true;
}

static bool take_digits(struct str *rest, struct amount *v, bool fraction, size_t *count) {
        while (rest->n && rest->p[0] >= '0' && rest->p[0] <= '9') {
                if (!multiply(&v->digits, 10) || v->digits > U128_MAX - 9)
                        return false;
                v->digits += (unsigned)(rest->p[0] - '0');
                v->scale -= fraction;
                *rest = str_sub(*rest, 1, rest->n);
                (*count)++;
        }
        return true;
}

/* `12`, `.5`, `1.`: at least one digit. */
static bool take_number(struct str *rest, struct amount *v) {
        size_t count = 0;

        if (!take_digits(rest, v, false, &count))
                return false;
        if (take_char(rest, '.') && !take_digits(rest, v, true, &count))
                return false;
        return count > 0;
}

static void strip_zeros(struct amount *v) {
        while (v->digits && v->digits % 10 == 0) {
                v->digits /= 10;
                v->scale++;
        }
        if (!v->digits)
                *v = (struct amount){ 0 };
}

static bool amounts_equal(struct amount a, struct amount b) {
        strip_zeros(&a);
        strip_zeros(&b);
        return a.negative == b.negative && a.digits == b.digits && a.scale == b.scale;
}

/* --- quantities ----------------------------------------------------------------------------------------------------- */

static bool take_exponent(struct str rest, struct amount *v) {
        int64_t exponent;

        if (!take_char(&rest, 'e') && !take_char(&rest, 'E'))
                return false;
        take_char(&rest, '+');
        if (!str_to_i64(rest, &exponent) || exponent > MAX_EXPONENT || exponent < -MAX_EXPONENT)
                return false;
        v->scale += (int)exponent;
        return true;
}

static bool take_suffix(struct str rest, struct amount *v) {
        static const struct {
                const char *text;
                int power; /* of 10, or of 1024 where the suffix ends in i */
        } suffixes[] = {
                { "", 0 },  { "n", -9 }, { "u", -6 }, { "m", -3 }, { "k", 3 },  { "M", 6 },  { "G", 9 },  { "T", 12 },
                { "P", 15 }, { "E", 18 }, { "Ki", 1 }, { "Mi", 2 }, { "Gi", 3 }, { "Ti", 4 }, { "Pi", 5 }, { "Ei", 6 },
        };

        for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
                if (!str_eqc(rest, suffixes[i].text))
                        continue;
                if (rest.n < 2) {
                        v->scale += suffixes[i].power;
                        return true;
                }
                for (int k = 0; k < suffixes[i].power; k++)
                        if (!multiply(&v->digits, 1024))
                                return false;
                return true;
        }
        return take_exponent(rest, v);
}

static bool read_quantity(struct str text, struct amount *ret) {
        struct str rest = str_trim(text);
        struct amount v = { 0 };

        v.negative = take_char(&rest, '-');
        if (!v.negative)
                take_char(&rest, '+');
        if (!take_number(&rest, &v) || !take_suffix(rest, &v))
                return false;
        *ret = v;
        return true;
}

/* A string, or a number as it is written. */
static bool quantity_of(const struct value *v, struct amount *ret) {
        _cleanup_(buf_done) struct buf text = buf_make(64 * 1024);

        if (value_is(v, VALUE_STRING))
                return read_quantity(v->text, ret);
        if (!value_is(v, VALUE_INT) && !value_is(v, VALUE_UINT) && !value_is(v, VALUE_DECIMAL))
                return false;
        value_print(v, &text);
        return read_quantity(buf_str(&text), ret);
}

bool quantity_equal(const struct value *a, const struct value *b) {
        struct amount x, y;

        return quantity_of(a, &x) && quantity_of(b, &y) && amounts_equal(x, y);
}

/* --- durations ------------------------------------------------------------------------------------------------------ */

static bool take_unit(struct str *rest, u128 *ret_ns) {
        static const struct {
                const char *text;
                uint64_t ns;
        } units[] = {
                { "ns", 1 }, { "us", 1000 }, { "µs", 1000 }, { "μs", 1000 }, { "ms", 1000000 },
                { "s", 1000000000 }, { "m", 60 * UINT64_C(1000000000) }, { "h", 3600 * UINT64_C(1000000000) },
        };

        for (size_t i = 0; i < ARRAY_LEN(units); i++) {
                struct str unit = str_from(units[i].text);

                if (!str_starts(*rest, unit))
                        continue;
                *rest = str_sub(*rest, unit.n, rest->n);
                *ret_ns = units[i].ns;
                return true;
        }
        return false;
}

/* One of `1h30m`: a number and its unit, in whole nanoseconds. */
static bool take_part(struct str *rest, u128 *sum) {
        struct amount v = { 0 };
        u128 unit;

        if (!take_number(rest, &v) || !take_unit(rest, &unit) || v.digits > UINT64_MAX)
                return false;
        v.digits *= unit;
        for (; v.scale < 0; v.scale++) {
                if (v.digits % 10)
                        return false;
                v.digits /= 10;
        }
        *sum += v.digits;
        return *sum <= (u128)INT64_MAX;
}

static bool read_duration(const struct value *v, bool *ret_negative, u128 *ret_ns) {
        struct str rest = value_text(v);
        u128 sum = 0;

        *ret_negative = take_char(&rest, '-');
        if (!*ret_negative)
                take_char(&rest, '+');
        if (!rest.n)
                return false;
        while (rest.n && !str_eqc(rest, "0"))
                if (!take_part(&rest, &sum))
                        return false;
        if (rest.n && sum)
                return false;
        *ret_negative &= sum != 0;
        *ret_ns = sum;
        return true;
}

bool duration_equal(const struct value *a, const struct value *b) {
        bool x_negative, y_negative;
        u128 x, y;

        return read_duration(a, &x_negative, &x) && read_duration(b, &y_negative, &y) && x == y && x_negative == y_negative;
}
