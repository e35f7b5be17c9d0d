/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "base/buf.h"

struct str str_from(const char *c) {
        return (struct str){ c, c ? strlen(c) : 0 };
}

bool str_eq(struct str a, struct str b) {
        return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_eqc(struct str a, const char *c) {
        return str_eq(a, str_from(c));
}

int str_cmp(struct str a, struct str b) {
        size_t n = a.n < b.n ? a.n : b.n;
        int order = n ? memcmp(a.p, b.p, n) : 0;

        return order ? order : (a.n > b.n) - (a.n < b.n);
}

bool str_starts(struct str s, struct str prefix) {
        return s.n >= prefix.n && str_eq((struct str){ s.p, prefix.n }, prefix);
}

bool str_ends(struct str s, struct str suffix) {
        return s.n >= suffix.n && str_eq((struct str){ s.p + (s.n - suffix.n), suffix.n }, suffix);
}

ptrdiff_t str_find(struct str s, char c, size_t from) {
        if (from >= s.n)
                return -1;

        const char *at = memchr(s.p + from, c, s.n - from);
        return at ? at - s.p : -1;
}

bool str_contains(struct str s, struct str needle) {
        return needle.n == 0 || (s.n >= needle.n && memmem(s.p, s.n, needle.p, needle.n));
}

struct str str_sub(struct str s, size_t from, size_t to) {
        to = to < s.n ? to : s.n;
        from = from < to ? from : to;
        return (struct str){ s.p ? s.p + from : NULL, to - from };
}

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s) {
        while (s.n && is_blank(s.p[0]))
                s = str_sub(s, 1, s.n);
        while (s.n && is_blank(s.p[s.n - 1]))
                s.n--;
        return s;
}

bool str_next(struct str *rest, char sep, struct str *ret_part) {
        if (rest->n == 0)
                return false;

        ptrdiff_t at = str_find(*rest, sep, 0);
        if (at < 0) {
                *ret_part = *rest;
                *rest = (struct str){ 0 };
                return true;
        }
        *ret_part = str_sub(*rest, 0, (size_t)at);
        *rest = str_sub(*rest, (size_t)at + 1, rest->n);
        return true;
}

bool str_to_u64(struct str s, uint64_t *ret_number) {
        uint64_t number = 0;

        if (s.n == 0)
                return false;
        for (size_t i = 0; i < s.n; i++) {
                if (s.p[i] < '0' || s.p[i] > '9')
                        return false;
                if (__builtin_mul_overflow(number, 10, &number) ||
                    __builtin_add_overflow(number, (uint64_t)(s.p[i] - '0'), &number))
                        return false;
        }
        *ret_number = number;
        return true;
}

bool str_to_i64(struct str s, int64_t *ret_number) {
        bool negative = s.n > 0 && s.p[0] == '-';
        uint64_t limit = (uint64_t)INT64_MAX + negative, size;

        if (!str_to_u64(negative ? str_sub(s, 1, s.n) : s, &size) || size > limit)
                return false;
        *ret_number = negative ? (int64_t)(0 - size) : (int64_t)size;
        return true;
}

/* Length of the sequence that `lead` begins and the smallest code point it may hold; 0 for a byte that begins none. */
static size_t utf8_length(unsigned char lead, uint32_t *ret_min) {
        if ((lead & 0xe0) == 0xc0) {
                *ret_min = 0x80;
                return 2;
        }
        if ((lead & 0xf0) == 0xe0) {
                *ret_min = 0x800;
                return 3;
        }
        if ((lead & 0xf8) == 0xf0) {
                *ret_min = 0x10000;
                return 4;
        }
        return 0;
}

bool str_is_utf8(struct str s) {
        for (size_t i = 0; i < s.n;) {
                unsigned char lead = (unsigned char)s.p[i];
                uint32_t min = 0;

                if (lead < 0x80) {
                        i++;
                        continue;
                }

                size_t n = utf8_length(lead, &min);
                if (n == 0 || i + n > s.n)
                        return false;

                uint32_t point = lead & (0x7fU >> n);
                for (size_t k = 1; k < n; k++) {
                        unsigned char c = (unsigned char)s.p[i + k];

                        if ((c & 0xc0) != 0x80)
                                return false;
                        point = point << 6 | (c & 0x3f);
                }
                if (point < min || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
                        return false;
                i += n;
        }
        return true;
}

char *str_dup(struct str s) {
        char *copy = mem_alloc(s.n + 1);

        if (s.n)
                memcpy(copy, s.p, s.n);
        copy[s.n] = '\0';
        return copy;
}
