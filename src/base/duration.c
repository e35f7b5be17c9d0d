/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"

#define MS INT64_C(1000000)
#define MAX_NS (DURATION_MAX_MS * MS)

static const struct unit {
        struct str name;
        int64_t ns;
} units[] = {
        /* A name comes before those that begin it. */
        { { "ns", 2 }, 1 },
        { { "us", 2 }, 1000 },
        { { "\xc2\xb5s", 3 }, 1000 },
        { { "ms", 2 }, MS },
        { { "s", 1 }, 1000 * MS },
        { { "m", 1 }, 60 * 1000 * MS },
        { { "h", 1 }, 3600 * 1000 * MS },
        { { "d", 1 }, 24 * 3600 * 1000 * MS },
};

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static size_t digits_at(struct str s, size_t at) {
        size_t n = 0;

        while (at + n < s.n && is_digit(s.p[at + n]))
                n++;
        return n;
}

static const struct unit *unit_at(struct str s) {
        for (size_t i = 0; i < ARRAY_LEN(units); i++)
                if (str_starts(s, units[i].name))
                        return &units[i];
        return NULL;
}

/* Cuts "1.5h" off *rest and adds it to *ns. */
static bool take_part(struct str *rest, int64_t *ns) {
        size_t whole = digits_at(*rest, 0), point = whole < rest->n && rest->p[whole] == '.';
        size_t fraction = point ? digits_at(*rest, whole + 1) : 0, end = whole + point + fraction;
        const struct unit *unit = unit_at(str_sub(*rest, end, rest->n));
        int64_t number = 0, scale;

        if (whole + fraction == 0 || !unit)
                return false;
        if (whole > 0 && !str_to_i64(str_sub(*rest, 0, whole), &number))
                return false;
        if (number > MAX_NS / unit->ns)
                return false;
        *ns += number * unit->ns;

        scale = unit->ns;
        for (size_t i = 0; i < fraction; i++) {
                scale /= 10;
                *ns += (rest->p[whole + 1 + i] - '0') * scale;
        }
        *rest = str_sub(*rest, end + unit->name.n, rest->n);
        return *ns <= MAX_NS;
}

bool duration_parse(struct str text, int64_t *ret_ms) {
        int64_t ns = 0, seconds;

        if (text.n == 0)
                return false;
        if (digits_at(text, 0) == text.n) {
                if (!str_to_i64(text, &seconds) || seconds > DURATION_MAX_MS / 1000)
                        return false;
                *ret_ms = seconds * 1000;
                return true;
        }
        while (text.n > 0)
                if (!take_part(&text, &ns))
                        return false;

        *ret_ms = ns / MS;
        return true;
}

int64_t duration_of_seconds(int64_t seconds) {
        const int64_t max_s = DURATION_MAX_MS / 1000;

        return (seconds > max_s ? max_s : seconds < -max_s ? -max_s : seconds) * 1000;
}

void duration_print(int64_t ms, struct buf *out) {
        static const struct {
                int64_t ms;
                const char *name;
        } parts[] = { { 24 * 3600 * 1000, "d" }, { 3600 * 1000, "h" }, { 60 * 1000, "m" }, { 1000, "s" }, { 1, "ms" } };

        if (ms == 0)
                buf_addc(out, "0s");
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                if (ms >= parts[i].ms)
                        buf_addf(out, "%lld%s", (long long)(ms / parts[i].ms), parts[i].name);
                ms %= parts[i].ms;
        }
}
