/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/validate_cron.h"

#include <strings.h>
#include <string.h>

struct bounds {
        unsigned min, max;
        const char *names; /* three letters each, from min on */
};

static const struct bounds fields[] = {
        { 0, 59, "" },
        { 0, 23, "" },
        { 1, 31, "" },
        { 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
        { 0, 6, "sunmontuewedthufrisat" },
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

/* A number or a name; the fault otherwise. */
static struct str parse_number(struct str s, const struct bounds *b, unsigned *ret, struct arena *a) {
        int64_t n = 0;

        for (size_t i = 0; s.n == 3 && b->names[i]; i += 3)
                if (strncasecmp(s.p, b->names + i, 3) == 0) {
                        *ret = b->min + (unsigned)(i / 3);
                        return STR("");
                }
        if (!str_to_i64(s.n && s.p[0] == '+' ? str_sub(s, 1, s.n) : s, &n) || n > UINT32_MAX)
                return arena_strf(a, "failed to parse int from %.*s: strconv.Atoi: parsing \"%.*s\": invalid syntax",
                                  STR_FMT(s), STR_FMT(s));
        if (n < 0)
                return arena_strf(a, "negative number (%lld) not allowed: %.*s", (long long)n, STR_FMT(s));
        *ret = (unsigned)n;
        return STR("");
}

static size_t count_char(struct str s, char ch) {
        size_t n = 0;

        for (size_t i = 0; i < s.n; i++)
                n += s.p[i] == ch;
        return n;
}

static struct str before_char(struct str s, char ch) {
        ptrdiff_t at = str_find(s, ch, 0);

        return at < 0 ? s : str_sub(s, 0, (size_t)at);
}

static struct str after_char(struct str s, char ch) {
        ptrdiff_t at = str_find(s, ch, 0);

        return at < 0 ? STR("") : str_sub(s, (size_t)at + 1, s.n);
}

struct range {
        unsigned start, end, step;
};

static struct str parse_start(struct str expr, const struct bounds *b, struct range *r, struct arena *a) {
        struct str range = before_char(expr, '/'), low = before_char(range, '-'), fault;
        size_t hyphens = count_char(range, '-');

        if (str_eqc(low, "*") || str_eqc(low, "?")) {
                r->start = b->min;
                r->end = b->max;
                return STR("");
        }
        fault = parse_number(low, b, &r->start, a);
        r->end = r->start;
        if (!fault.n && hyphens == 1)
                fault = parse_number(after_char(range, '-'), b, &r->end, a);
        else if (!fault.n && hyphens > 1)
                fault = arena_strf(a, "too many hyphens: %.*s", STR_FMT(expr));
        return fault;
}

static struct str parse_step(struct str expr, const struct bounds *b, struct range *r, struct arena *a) {
        static const struct bounds plain = { 0, 0, "" };

        r->step = 1;
        if (count_char(expr, '/') > 1)
                return arena_strf(a, "too many slashes: %.*s", STR_FMT(expr));
        if (!count_char(expr, '/'))
                return STR("");
        if (!count_char(before_char(expr, '/'), '-'))
                r->end = b->max;
        return parse_number(after_char(expr, '/'), &plain, &r->step, a);
}

static struct str range_fault(struct str expr, const struct bounds *b, struct arena *a) {
        struct range r = { 0 };
        struct str fault = parse_start(expr, b, &r, a);

        if (!fault.n)
                fault = parse_step(expr, b, &r, a);
        if (fault.n)
                return fault;
        if (r.start < b->min)
                return arena_strf(a, "beginning of range (%u) below minimum (%u): %.*s", r.start, b->min,
                                  STR_FMT(expr));
        if (r.end > b->max)
                return arena_strf(a, "end of range (%u) above maximum (%u): %.*s", r.end, b->max, STR_FMT(expr));
        if (r.start > r.end)
                return arena_strf(a, "beginning of range (%u) beyond end of range (%u): %.*s", r.start, r.end,
                                  STR_FMT(expr));
        if (!r.step)
                return arena_strf(a, "step of range should be a positive number: %.*s", STR_FMT(expr));
        return STR("");
}

static struct str field_fault(struct str field, const struct bounds *b, struct arena *a) {
        struct str part, fault = STR("");

        while (!fault.n && str_next(&field, ',', &part))
                if (part.n)
                        fault = range_fault(part, b, a);
        return fault;
}

static struct str descriptor_fault(struct str s, struct arena *a) {
        static const char *const names[] = { "@yearly", "@annually", "@monthly", "@weekly",
                                             "@daily",  "@midnight", "@hourly" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (str_eqc(s, names[i]))
                        return STR("");
        if (str_starts(s, STR("@every ")))
                return STR("");
        return arena_strf(a, "unrecognized descriptor: %.*s", STR_FMT(s));
}

struct str cron_fault(struct str schedule, struct arena *a) {
        struct str words[16], rest = schedule, word, all = STR(""), fault = STR("");
        size_t count = 0;

        if (str_starts(schedule, STR("TZ=")) || str_starts(schedule, STR("CRON_TZ=")))
                rest = schedule = str_trim(after_char(schedule, ' '));
        if (str_starts(schedule, STR("@")))
                return descriptor_fault(schedule, a);
        while (str_next(&rest, ' ', &word)) {
                word = str_trim(word);
                if (!word.n)
                        continue;
                if (count < 16)
                        words[count] = word;
                all = arena_strf(a, "%.*s%s%.*s", STR_FMT(all), count ? " " : "", STR_FMT(word));
                count++;
        }
        if (count != FIELD_COUNT)
                return arena_strf(a, "expected exactly 5 fields, found %zu: [%.*s]", count, STR_FMT(all));
        for (size_t i = 0; i < FIELD_COUNT && !fault.n; i++)
                fault = field_fault(words[i], &fields[i], a);
        return fault;
}

/* No file is read here: regions are known, what stands below them is believed. */
bool cron_zone_exists(struct str zone) {
        static const char *const regions[] = { "Africa/",    "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/",
                                               "Australia/", "Brazil/",  "Canada/",     "Chile/",  "Etc/",  "Europe/",
                                               "Indian/",    "Mexico/",  "Pacific/",    "US/" };
        static const char *const names[] = { "UTC",      "GMT",       "CET",     "EET",      "EST",    "HST",
                                             "MET",      "MST",       "WET",     "UCT",      "Zulu",   "EST5EDT",
                                             "CST6CDT",  "MST7MDT",   "PST8PDT", "Cuba",     "Egypt",  "Eire",
                                             "Iran",     "Israel",    "Jamaica", "Japan",    "Navajo", "Poland",
                                             "Portugal", "Singapore", "Turkey",  "Universal" };

        for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
                if (str_starts(zone, str_from(regions[i])))
                        return true;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (str_eqc(zone, names[i]))
                        return true;
        return false;
}
