/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/controllers_schedule.h"

#include <strings.h>
#include <time.h>

#include "base/duration.h"
#include "base/macro.h"

#define MINUTE_S  60
#define HOUR_S    3600
#define DAY_S     86400
#define HORIZON_S (5 * 366 * (int64_t)DAY_S)
#define FIELDS    5

static const struct field {
        unsigned min, max;
        const char *names; /* three letters each, from min on */
} fields[FIELDS] = {
        { 0, 59, "" },
        { 0, 23, "" },
        { 1, 31, "" },
        { 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
        { 0, 6, "sunmontuewedthufrisat" },
};

static const struct {
        const char *name, *fields;
} descriptors[] = {
        { "@yearly", "0 0 1 1 *" }, { "@annually", "0 0 1 1 *" }, { "@monthly", "0 0 1 * *" },
        { "@weekly", "0 0 * * 0" }, { "@daily", "0 0 * * *" },    { "@midnight", "0 0 * * *" },
        { "@hourly", "0 * * * *" },
};

static bool read_number(struct str s, const struct field *f, unsigned *ret) {
        int64_t n;

        for (unsigned i = 0; s.n == 3 && f->names[i]; i += 3)
                if (strncasecmp(s.p, f->names + i, 3) == 0) {
                        *ret = f->min + i / 3;
                        return true;
                }
        if (!str_to_i64(s, &n) || n < 0 || n > 1000)
                return false;
        *ret = (unsigned)n;
        return true;
}

static bool read_range(struct str part, const struct field *f, uint64_t *bits) {
        struct str range, low;
        unsigned from = f->min, to = f->max, step = 1;
        bool has_step = str_find(part, '/', 0) >= 0;

        if (!str_next(&part, '/', &range) || !str_next(&range, '-', &low))
                return false;
        if (!str_eqc(low, "*") && !str_eqc(low, "?")) {
                if (!read_number(low, f, &from))
                        return false;
                if (range.n ? !read_number(range, f, &to) : !has_step)
                        to = from;
        }
        if ((has_step && !read_number(part, f, &step)) || step == 0 || from < f->min || to > f->max)
                return false;
        for (; from <= to; from += step)
                *bits |= UINT64_C(1) << from;
        return true;
}

static bool read_field(struct str text, const struct field *f, uint64_t *bits) {
        struct str part;

        while (str_next(&text, ',', &part))
                if (!read_range(part, f, bits))
                        return false;
        return *bits;
}

static bool is_any(struct str field) {
        return field.n && (field.p[0] == '*' || field.p[0] == '?');
}

bool schedule_parse(struct str text, struct schedule *ret) {
        uint64_t bits[FIELDS] = { 0 };
        struct str field;
        size_t n = 0;

        *ret = (struct schedule){ 0 };
        text = str_trim(text);
        if (str_starts(text, STR("@every ")))
                return duration_parse(str_sub(text, 7, text.n), &ret->every_ms) && ret->every_ms >= 1000;
        for (size_t i = 0; i < ARRAY_LEN(descriptors); i++)
                if (str_eqc(text, descriptors[i].name))
                        text = str_from(descriptors[i].fields);
        while (str_next(&text, ' ', &field)) {
                if (field.n == 0)
                        continue;
                if (n == FIELDS || !read_field(field, &fields[n], &bits[n]))
                        return false;
                ret->any_day |= n == 2 && is_any(field);
                ret->any_weekday |= n == 4 && is_any(field);
                n++;
        }
        ret->minutes = bits[0];
        ret->hours = bits[1];
        ret->days = bits[2];
        ret->months = bits[3];
        ret->weekdays = bits[4];
        return n == FIELDS;
}

static bool has(uint64_t bits, int n) {
        return bits >> n & 1;
}

static bool is_on_day(const struct schedule *s, const struct tm *tm) {
        bool day = has(s->days, tm->tm_mday), weekday = has(s->weekdays, tm->tm_wday);

        if (s->any_day || s->any_weekday)
                return day && weekday;
        return day || weekday;
}

int64_t schedule_next(const struct schedule *s, int64_t after_ms) {
        int64_t at = (after_ms / 1000 / MINUTE_S + 1) * MINUTE_S, end = at + HORIZON_S;
        struct tm tm;

        if (s->every_ms)
                return (after_ms / 1000 + s->every_ms / 1000) * 1000;
        while (at < end) {
                time_t t = (time_t)at;

                gmtime_r(&t, &tm);
                if (!has(s->months, tm.tm_mon + 1) || !is_on_day(s, &tm))
                        at = (at / DAY_S + 1) * DAY_S;
                else if (!has(s->hours, tm.tm_hour))
                        at = (at / HOUR_S + 1) * HOUR_S;
                else if (!has(s->minutes, tm.tm_min))
                        at += MINUTE_S;
                else
                        return at * 1000;
        }
        return -1;
}
