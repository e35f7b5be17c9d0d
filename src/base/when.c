/* SPDX-License-Identifier: Apache-2.0 */
#include "base/when.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

/* `n` decimal digits at the front of *s, cut off; false when there are fewer. */
static bool take_digits(struct str *s, size_t n, int *ret_number) {
        int number = 0;

        if (s->n < n)
                return false;
        for (size_t i = 0; i < n; i++) {
                if (s->p[i] < '0' || s->p[i] > '9')
                        return false;
                number = number * 10 + (s->p[i] - '0');
        }
        *s = str_sub(*s, n, s->n);
        *ret_number = number;
        return true;
}

static bool take_char(struct str *s, char c) {
        if (s->n == 0 || s->p[0] != c)
                return false;
        *s = str_sub(*s, 1, s->n);
        return true;
}

static int month_days(int year, int month) {
        static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01 in the Gregorian calendar, counted from a March so that the leap day comes last. */
static int64_t days_since_epoch(int year, int month, int day) {
        int64_t y = month > 2 ? year : year - 1;
        int64_t m = month > 2 ? month - 3 : month + 9;

        return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool take_date(struct str *s, int64_t *ret_ms) {
        int year, month, day;

        if (!take_digits(s, 4, &year) || !take_char(s, '-') || !take_digits(s, 2, &month) || !take_char(s, '-') ||
            !take_digits(s, 2, &day))
                return false;
        if (year < 1 || month < 1 || month > 12 || day < 1 || day > month_days(year, month))
                return false;
        *ret_ms = days_since_epoch(year, month, day) * DAY;
        return true;
}

/* Digits beyond milliseconds say nothing to us. */
static bool take_fraction(struct str *s, int64_t *ret_ms) {
        int64_t unit = 100, ms = 0;
        int digit;

        *ret_ms = 0;
        if (!take_char(s, '.'))
                return true;
        if (!take_digits(s, 1, &digit))
                return false;
        do {
                ms += digit * unit;
                unit /= 10;
        } while (take_digits(s, 1, &digit));
        *ret_ms = ms;
        return true;
}

static bool take_clock(struct str *s, int64_t *ret_ms) {
        int hour, minute, second;
        int64_t fraction;

        if (!take_digits(s, 2, &hour) || !take_char(s, ':') || !take_digits(s, 2, &minute) || !take_char(s, ':') ||
            !take_digits(s, 2, &second) || !take_fraction(s, &fraction))
                return false;
        if (hour > 23 || minute > 59 || second > 60)
                return false;
        *ret_ms = hour * HOUR + minute * MINUTE + second * SECOND + fraction;
        return true;
}

static bool take_offset(struct str *s, int64_t *ret_ms) {
        int hours, minutes;
        bool west;

        if (take_char(s, 'Z') || take_char(s, 'z')) {
                *ret_ms = 0;
                return true;
        }
        west = take_char(s, '-');
        if (!west && !take_char(s, '+'))
                return false;
        if (!take_digits(s, 2, &hours) || !take_char(s, ':') || !take_digits(s, 2, &minutes) || hours > 23 ||
            minutes > 59)
                return false;
        *ret_ms = (west ? -1 : 1) * (hours * HOUR + minutes * MINUTE);
        return true;
}

bool when_parse(struct str text, int64_t *ret_ms) {
        int64_t date, clock, offset;

        if (!take_date(&text, &date) || (!take_char(&text, 'T') && !take_char(&text, 't')) ||
            !take_clock(&text, &clock) || !take_offset(&text, &offset) || text.n != 0)
                return false;
        *ret_ms = date + clock - offset;
        return true;
}

/* The other way: years of 400 (an era) have 146,097 days, and begin in March as above. */
static void date_of(int64_t days, int *ret_year, int *ret_month, int *ret_day) {
        int64_t d = days + 719468, era = d / 146097, in_era = d % 146097;
        int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
        int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
        int64_t month = (5 * in_year + 2) / 153;

        *ret_day = (int)(in_year - (153 * month + 2) / 5 + 1);
        *ret_month = (int)(month < 10 ? month + 3 : month - 9);
        *ret_year = (int)(year + era * 400 + (*ret_month <= 2));
}

void when_print(int64_t ms, struct buf *out) {
        const int64_t first = days_since_epoch(1, 1, 1) * DAY, last = days_since_epoch(9999, 12, 31) * DAY + DAY - 1;
        int64_t since = (ms < first ? first : ms > last ? last : ms) - first, s = since % DAY / SECOND;
        int year, month, day;

        date_of(since / DAY + first / DAY, &year, &month, &day);
        buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, month, day, (int)(s / 3600), (int)(s / 60 % 60),
                 (int)(s % 60));
}

void when_print_age(int64_t then_ms, int64_t now_ms, struct buf *out) {
        int64_t age = now_ms - then_ms;

        if (age < SECOND)
                buf_addc(out, "now");
        else if (age < MINUTE)
                buf_addf(out, "%lld s", (long long)(age / SECOND));
        else if (age < HOUR)
                buf_addf(out, "%lld m", (long long)(age / MINUTE));
        else if (age < DAY)
                buf_addf(out, "%lld h", (long long)(age / HOUR));
        else
                buf_addf(out, "%lld d", (long long)(age / DAY));
}
