/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of strings that CRDs may name. */
#include "sandbox/validate_regex.h"
#include "sandbox/validate_schema.h"

static bool is_ipv4(struct str s) {
        struct ip ip;

        return ip_parse(s, &ip) && str_find(s, '.', 0) >= 0;
}

static bool is_ipv6(struct str s) {
        struct ip ip;

        return ip_parse(s, &ip) && str_find(s, ':', 0) >= 0;
}

static bool is_cidr(struct str s) {
        struct cidr cidr;

        return cidr_parse(s, &cidr);
}

static bool is_date(struct str s) {
        static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        int64_t year = 0, month = 0, day = 0;
        bool leap;

        if (s.n != 10 || s.p[4] != '-' || s.p[7] != '-' || !str_to_i64(str_sub(s, 0, 4), &year) ||
            !str_to_i64(str_sub(s, 5, 7), &month) || !str_to_i64(str_sub(s, 8, 10), &day))
                return false;
        leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

static const char date_time[] =
        "(?i)^[0-9-]{10}t([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";

static bool is_date_time(struct str s) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        return s.n > 10 && is_date(str_sub(s, 0, 10)) && regex_match(str_from(date_time), s, a) == REGEX_MATCHES;
}

static const struct {
        const char *name;
        bool (*check)(struct str s);
        const char *pattern;
} formats[] = {
        { "ipv4", is_ipv4, NULL },
        { "ipv6", is_ipv6, NULL },
        { "cidr", is_cidr, NULL },
        { "date", is_date, NULL },
        { "date-time", is_date_time, NULL },
        { "datetime", is_date_time, NULL },
        { "uuid", NULL, "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$" },
        { "uuid3", NULL, "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$" },
        { "uuid4", NULL, "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$" },
        { "uuid5", NULL, "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$" },
        { "mac", NULL, "(?i)^([0-9a-f]{2}[:-]){5}([0-9a-f]{2}[:-]{1}[0-9a-f]{2}[:-])?[0-9a-f]{2}$" },
        { "hexcolor", NULL, "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$" },
        { "ssn", NULL, "^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$" },
        { "byte", NULL, "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$" },
        { "email", NULL, "^[^@\\s<>]+@[^@\\s<>]+$" },
        { "hostname", NULL,
          "^([a-zA-Z0-9]((-?[a-zA-Z0-9]{0,62})?)|([a-zA-Z0-9](([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)(\\.)){1,}([a-zA-Z]){2,"
          "63})$" },
        { "uri", NULL, "^([a-zA-Z][a-zA-Z0-9+.-]*:[^\\s]+|/[^\\s]*)$" },
        { "duration", NULL,
          "^([+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|ms|s|m|h))+$|^0$|^\\s*[0-9]+\\s*(d|w|day|days|week|weeks|"
          "hour|"
          "hours|minute|minutes|second|seconds|sec|secs|min|mins|hr|hrs)\\s*$" },
        { "password", NULL, NULL },
};

static int format_find(struct str format) {
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
                if (str_eqc(format, formats[i].name))
                        return (int)i;
        return -1;
}

bool format_is_known(struct str format) {
        return format_find(format) >= 0;
}

bool format_keeps(struct str format, struct str s, struct arena *a) {
        int i = format_find(format);

        if (i < 0 || (!formats[i].check && !formats[i].pattern))
                return true;
        if (formats[i].check)
                return formats[i].check(s);
        return regex_match(str_from(formats[i].pattern), s, a) != REGEX_DIFFERS;
}
