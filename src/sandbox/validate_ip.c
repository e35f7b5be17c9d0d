/* SPDX-License-Identifier: Apache-2.0 */
/* IP addresses and CIDR blocks as the API server reads its older fields: leading zeros are let through. */
#include "sandbox/validate_impl.h"

#include <arpa/inet.h>
#include <string.h>

static bool parse_v4(struct str s, uint8_t ret[4]) {
        for (int i = 0; i < 4; i++) {
                size_t digits = 0;
                unsigned n = 0;

                while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9' && n < 256)
                        n = n * 10 + (unsigned)(s.p[digits++] - '0');
                if (!digits || n > 255 || (i < 3 && (digits == s.n || s.p[digits] != '.')))
                        return false;
                ret[i] = (uint8_t)n;
                s = str_sub(s, digits + (i < 3), s.n);
        }
        return s.n == 0;
}

bool ip_parse(struct str s, struct ip *ret) {
        static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
        char text[INET6_ADDRSTRLEN + 1];

        memcpy(ret->bytes, mapped, sizeof mapped);
        ret->is_v4 = parse_v4(s, ret->bytes + 12);
        if (ret->is_v4)
                return true;
        if (s.n >= sizeof text || str_find(s, ':', 0) < 0)
                return false;
        memcpy(text, s.p, s.n);
        text[s.n] = '\0';
        if (inet_pton(AF_INET6, text, ret->bytes) != 1)
                return false;
        ret->is_v4 = memcmp(ret->bytes, mapped, sizeof mapped) == 0;
        return true;
}

static void mask(struct ip *ip, unsigned length) {
        unsigned bits = length + (ip->is_v4 ? 96 : 0);

        for (unsigned i = 0; i < 16; i++) {
                unsigned kept = bits > i * 8 ? bits - i * 8 : 0;

                if (kept < 8)
                        ip->bytes[i] &= (uint8_t)(0xff00 >> kept);
        }
}

bool cidr_parse(struct str s, struct cidr *ret) {
        ptrdiff_t slash = str_find(s, '/', 0);
        uint64_t length = 0;

        if (slash < 0 || !ip_parse(str_sub(s, 0, (size_t)slash), &ret->ip) ||
            !str_to_u64(str_sub(s, (size_t)slash + 1, s.n), &length) || length > (ret->ip.is_v4 ? 32 : 128))
                return false;
        ret->length = (unsigned)length;
        mask(&ret->ip, ret->length);
        return true;
}

bool cidr_contains(const struct cidr *outer, const struct cidr *inner) {
        struct ip ip = inner->ip;

        if (outer->ip.is_v4 != inner->ip.is_v4)
                return false;
        mask(&ip, outer->length);
        return memcmp(ip.bytes, outer->ip.bytes, sizeof ip.bytes) == 0;
}

static bool was_there(struct str s, const struct value *known) {
        for (EACH(i, known))
                if (str_eq(value_text(item_of(known, i)), s))
                        return true;
        return false;
}

bool check_ip(struct check *c, const struct at *at, struct str s, const struct value *known) {
        struct ip ip;

        if (was_there(s, known) || ip_parse(s, &ip))
                return true;
        fault_invalid_str(c, at, s, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        return false;
}

bool check_cidr(struct check *c, const struct at *at, struct str s, const struct value *known) {
        struct cidr cidr;

        if (was_there(s, known) || cidr_parse(s, &cidr))
                return true;
        fault_invalid_str(c, at, s, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
        return false;
}

void check_endpoint_ip(struct check *c, const struct at *at, struct str s) {
        static const uint8_t zero[16] = { 0 };
        struct ip ip;
        const uint8_t *b = ip.bytes, *v4 = ip.bytes + 12;
        bool is_one;

        if (!ip_parse(s, &ip)) {
                fault_invalid_str(c, at, s, "must be a valid IP address");
                return;
        }
        is_one = !ip.is_v4 && memcmp(b, zero, 15) == 0 && b[15] == 1;
        if (ip.is_v4 ? memcmp(v4, zero, 4) == 0 : memcmp(b, zero, 16) == 0)
                fault_invalid_str(c, at, s, arena_strf(c->a, "may not be unspecified (%.*s)", STR_FMT(s)).p);
        if (ip.is_v4 ? v4[0] == 127 : is_one)
                fault_invalid_str(c, at, s, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
        if (ip.is_v4 ? v4[0] == 169 && v4[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
                fault_invalid_str(c, at, s, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
        if (ip.is_v4 ? v4[0] == 224 && v4[1] == 0 && v4[2] == 0 : b[0] == 0xff && (b[1] & 0x0f) == 2)
                fault_invalid_str(c, at, s, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}
