/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times, floats and bytes as Go reads and prints them, with the texts of its errors.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/decode_impl.h"

/* --- where we stand --- */

struct str decode_path(const struct decode_frame *f, struct arena *a) {
        struct str up = f->up ? decode_path(f->up, a) : (struct str){ 0 };

        if (!f->name.p)
                return arena_strf(a, "%.*s[%zu]", STR_FMT(up), f->index);
        if (up.n == 0)
                return f->name;
        return arena_strf(a, "%.*s.%.*s", STR_FMT(up), STR_FMT(f->name));
}

/* --- times --- */

#define LAYOUT       "2006-01-02T15:04:05Z07:00"
#define LAYOUT_MICRO "2006-01-02T15:04:05.000000Z07:00"

enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, ELEMENTS };

static const struct element {
        const char *before, *layout, *name; /* literal in front, the layout's word, its name in range errors */
        unsigned digits;
        int min, max;
} elements[ELEMENTS] = {
        { "", "2006", "year", 4, 0, 9999 }, { "-", "01", "month", 2, 1, 12 },  { "-", "02", "day", 2, 1, 31 },
        { "T", "15", "hour", 2, 0, 23 },    { ":", "04", "minute", 2, 0, 59 }, { ":", "05", "second", 2, 0, 59 },
};

struct clock {
        int at[ELEMENTS];
        int64_t fraction_us;
        int offset_s;
};

/* One reading of one text. */
struct time_reader {
        struct str text, rest;
        bool micro;
        struct arena *a;
        struct str why;
};

static bool cannot(struct time_reader *r, struct str rest, const char *word) {
        r->why = arena_strf(r->a, "parsing time \"%.*s\" as \"%s\": cannot parse \"%.*s\" as \"%s\"", STR_FMT(r->text),
                            r->micro ? LAYOUT_MICRO : LAYOUT, STR_FMT(rest), word);
        return false;
}

static bool out_of_range(struct time_reader *r, const char *what) {
        r->why = arena_strf(r->a, "parsing time \"%.*s\": %s out of range", STR_FMT(r->text), what);
        return false;
}

static bool is_digits(struct str s, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (i >= s.n || s.p[i] < '0' || s.p[i] > '9')
                        return false;
        return true;
}

static int number_of(struct str s, size_t n) {
        int number = 0;

        for (size_t i = 0; i < n; i++)
                number = number * 10 + (s.p[i] - '0');
        return number;
}

static bool read_element(struct time_reader *r, const struct element *e, int *ret_number) {
        struct str before = str_from(e->before);
        size_t digits = e->digits;

        if (!str_starts(r->rest, before))
                return cannot(r, r->rest, e->before);
        r->rest = str_sub(r->rest, before.n, r->rest.n);
        /* Go takes an hour of one digit. */
        if (e == &elements[HOUR] && is_digits(r->rest, 1) && !is_digits(r->rest, 2))
                digits = 1;
        if (!is_digits(r->rest, digits))
                return cannot(r, r->rest, e->layout);
        *ret_number = number_of(r->rest, digits);
        r->rest = str_sub(r->rest, digits, r->rest.n);
        /* The day is checked with its month, at the end. */
        if (e != &elements[DAY] && (*ret_number < e->min || *ret_number > e->max))
                return out_of_range(r, e->name);
        return true;
}

static bool read_fraction(struct time_reader *r, struct clock *c) {
        size_t n = 1;
        int64_t unit = 100000;

        if (r->micro && (r->rest.n < 7 || (r->rest.p[0] != '.' && r->rest.p[0] != ',') ||
                         !is_digits(str_sub(r->rest, 1, r->rest.n), 6)))
                return cannot(r, r->rest, ".000000");
        if (r->rest.n < 2 || (r->rest.p[0] != '.' && r->rest.p[0] != ',') || !is_digits(str_sub(r->rest, 1, 2), 1))
                return true;
        for (; n < r->rest.n && is_digits(str_sub(r->rest, n, n + 1), 1) && !(r->micro && n == 7); n++) {
                c->fraction_us += (r->rest.p[n] - '0') * unit;
                unit /= 10;
        }
        r->rest = str_sub(r->rest, n, r->rest.n);
        return true;
}

static bool read_zone(struct time_reader *r, struct clock *c) {
        struct str z = r->rest;
        bool is_offset = z.n >= 6 && (z.p[0] == '+' || z.p[0] == '-') && z.p[3] == ':' &&
                         is_digits(str_sub(z, 1, 3), 2) && is_digits(str_sub(z, 4, 6), 2);

        if (z.n && z.p[0] == 'Z') {
                r->rest = str_sub(z, 1, z.n);
                return true;
        }
        if (!is_offset)
                return cannot(r, z, "Z07:00");
        int hours = number_of(str_sub(z, 1, 3), 2), minutes = number_of(str_sub(z, 4, 6), 2);

        if (hours > 24)
                return out_of_range(r, "time zone offset hour");
        if (minutes > 60)
                return out_of_range(r, "time zone offset minute");
        c->offset_s = (hours * 60 + minutes) * 60 * (z.p[0] == '-' ? -1 : 1);
        r->rest = str_sub(z, 6, z.n);
        return true;
}

static int days_in(int month, int year) {
        bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

        if (month == 2)
                return leap ? 29 : 28;
        return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static bool read_time(struct time_reader *r, struct clock *c) {
        for (size_t i = 0; i < ELEMENTS; i++)
                if (!read_element(r, &elements[i], &c->at[i]))
                        return false;
        if (!read_fraction(r, c) || !read_zone(r, c))
                return false;
        if (r->rest.n) {
                r->why = arena_strf(r->a, "parsing time \"%.*s\": extra text: \"%.*s\"", STR_FMT(r->text),
                                    STR_FMT(r->rest));
                return false;
        }
        if (c->at[DAY] < 1 || c->at[DAY] > days_in(c->at[MONTH], c->at[YEAR]))
                return out_of_range(r, "day");
        return true;
}

/* Moves the clock to UTC, over the ends of days, months and years. */
static void shift_to_utc(struct clock *c) {
        int seconds = (c->at[HOUR] * 60 + c->at[MINUTE]) * 60 + c->at[SECOND] - c->offset_s;

        for (; seconds < 0; seconds += 86400)
                c->at[DAY]--;
        for (; seconds >= 86400; seconds -= 86400)
                c->at[DAY]++;
        if (c->at[DAY] < 1) {
                c->at[MONTH] = c->at[MONTH] == 1 ? 12 : c->at[MONTH] - 1;
                c->at[YEAR] -= c->at[MONTH] == 12;
                c->at[DAY] += days_in(c->at[MONTH], c->at[YEAR]);
        } else if (c->at[DAY] > days_in(c->at[MONTH], c->at[YEAR])) {
                c->at[DAY] -= days_in(c->at[MONTH], c->at[YEAR]);
                c->at[MONTH] = c->at[MONTH] == 12 ? 1 : c->at[MONTH] + 1;
                c->at[YEAR] += c->at[MONTH] == 1;
        }
        c->at[HOUR] = seconds / 3600;
        c->at[MINUTE] = seconds / 60 % 60;
        c->at[SECOND] = seconds % 60;
}

struct str decode_time(struct str text, bool micro, struct arena *a, struct str *ret_why) {
        struct time_reader r = { .text = text, .rest = text, .micro = micro, .a = a };
        struct clock c = { 0 };

        if (!read_time(&r, &c)) {
                *ret_why = r.why;
                return (struct str){ 0 };
        }
        shift_to_utc(&c);
        const int *at = c.at;
        struct str day = arena_strf(a, "%04d-%02d-%02dT%02d:%02d:%02d", at[YEAR], at[MONTH], at[DAY], at[HOUR],
                                    at[MINUTE], at[SECOND]);

        if (str_eqc(day, "0001-01-01T00:00:00") && (!micro || c.fraction_us == 0))
                return STR("null");
        if (micro)
                return arena_strf(a, "%.*s.%06dZ", STR_FMT(day), (int)c.fraction_us);
        return arena_strf(a, "%.*sZ", STR_FMT(day));
}

/* --- numbers --- */

/* The shortest decimal digits that read back as the same number, and the exponent of the first. */
static int shortest_digits(double number, char *ret_digits, size_t size) {
        char text[40];
        int precision = 0;

        do
                snprintf(text, sizeof text, "%.*e", precision, number);
        while (strtod(text, NULL) != number && ++precision < 17);
        char *e = strchr(text, 'e');
        size_t n = 0;

        for (char *p = text; p < e && n + 1 < size; p++)
                if (*p >= '0' && *p <= '9')
                        ret_digits[n++] = *p;
        ret_digits[n] = '\0';
        return (int)strtol(e + 1, NULL, 10);
}

static struct str print_plain(const char *sign, const char *digits, int exponent, struct arena *a) {
        int n = (int)strlen(digits);

        if (exponent < 0)
                return arena_strf(a, "%s0.%0*d%s", sign, -exponent - 1, 0, digits);
        if (n <= exponent + 1)
                return arena_strf(a, "%s%s%.*s", sign, digits, exponent + 1 - n, "000000000000000000000");
        return arena_strf(a, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
}

static struct str print_scientific(const char *sign, const char *digits, int exponent, struct arena *a) {
        return arena_strf(a, "%s%c%s%se%c%02d", sign, digits[0], digits[1] ? "." : "", digits + 1,
                          exponent < 0 ? '-' : '+', abs(exponent));
}

static struct str print_float(struct str text, int least, int most, struct arena *a) {
        char digits[40] = "";
        double number = strtod(arena_str(a, text).p, NULL), size = fabs(number);
        const char *sign = number < 0 || (number == 0 && signbit(number)) ? "-" : "";

        if (number == 0)
                return arena_strf(a, "%s0", sign);
        if (isinf(size))
                return text;
        int exponent = shortest_digits(size, digits, sizeof digits);

        if (exponent < least || exponent >= most)
                return print_scientific(sign, digits, exponent, a);
        return exponent == -1 ? arena_strf(a, "%s0.%s", sign, digits) : print_plain(sign, digits, exponent, a);
}

bool decode_is_float(struct str text, struct arena *a) {
        return !isinf(strtod(arena_str(a, text).p, NULL));
}

/* Below 1e-6 and from 1e21 on with an exponent, without a zero in front of a short negative one. */
struct str decode_float(struct str text, struct arena *a) {
        struct str s = print_float(text, -6, 21, a);
        ptrdiff_t e = str_find(s, 'e', 0);

        if (e >= 0 && s.n == (size_t)e + 4 && s.p[e + 1] == '-' && s.p[e + 2] == '0')
                return arena_strf(a, "%.*se-%c", (int)e, s.p, s.p[e + 3]);
        return s;
}

struct str decode_float_g(struct str text, struct arena *a) {
        return print_float(text, -4, 21, a);
}

/* --- bytes --- */

static bool is_base64(char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

/* After `at` (the first '='), in a group that has `have` characters: where Go finds fault, or the length. */
static size_t check_padding(struct str s, size_t at, size_t have) {
        size_t i = at + 1;

        if (have < 2)
                return at;
        if (have == 2) {
                if (i == s.n)
                        return s.n;
                if (s.p[i] != '=')
                        return at;
                i++;
        }
        return i < s.n ? i : SIZE_MAX;
}

bool decode_base64(struct str text, struct arena *a, struct str *ret_text, size_t *ret_bad_byte) {
        char *kept = arena_alloc(a, text.n + 1);
        size_t n = 0, have = 0;

        for (size_t i = 0; i < text.n; i++) {
                char c = text.p[i];

                if (c == '\n' || c == '\r')
                        continue;
                if (c == '=' && (*ret_bad_byte = check_padding(text, i, have)) == SIZE_MAX) {
                        while (n % 4)
                                kept[n++] = '=';
                        have = 0;
                        break;
                }
                if (!is_base64(c)) {
                        *ret_bad_byte = c == '=' ? *ret_bad_byte : i;
                        return false;
                }
                kept[n++] = c;
                have = (have + 1) % 4;
        }
        if (have) {
                *ret_bad_byte = text.n - have;
                return false;
        }
        kept[n] = '\0';
        *ret_text = (struct str){ kept, n };
        return true;
}
