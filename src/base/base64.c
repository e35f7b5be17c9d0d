/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static uint32_t byte_at(struct str s, size_t i) {
        return i < s.n ? (unsigned char)s.p[i] : 0;
}

void base64_encode(struct str data, struct buf *out) {
        for (size_t i = 0; i < data.n; i += 3) {
                uint32_t group = byte_at(data, i) << 16 | byte_at(data, i + 1) << 8 | byte_at(data, i + 2);
                char four[] = { digits[group >> 18], digits[group >> 12 & 63], digits[group >> 6 & 63], digits[group & 63] };

                if (data.n - i < 3)
                        four[3] = '=';
                if (data.n - i < 2)
                        four[2] = '=';
                buf_add(out, (struct str){ four, sizeof four });
        }
}

/* Negative for what is no digit. */
static int digit_value(char c) {
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t padding(struct str text) {
        size_t n = 0;

        while (n < 2 && n < text.n && text.p[text.n - 1 - n] == '=')
                n++;
        return n;
}

bool base64_is_valid(struct str text) {
        for (size_t i = 0; i + padding(text) < text.n; i++) {
                if (digit_value(text.p[i]) < 0)
                        return false;
        }
        return text.n % 4 == 0;
}

bool base64_decode(struct str text, struct buf *out) {
        size_t left = text.n / 4 * 3 - padding(text);

        if (!base64_is_valid(text))
                return false;
        for (size_t i = 0; i < text.n; i += 4) {
                uint32_t group = 0;

                for (size_t k = 0; k < 4; k++)
                        group = group << 6 | (text.p[i + k] == '=' ? 0 : (uint32_t)digit_value(text.p[i + k]));
                char three[] = { (char)(group >> 16), (char)(group >> 8), (char)group };
                size_t n = left < 3 ? left : 3;
                buf_add(out, (struct str){ three, n });
                left -= n;
        }
        return true;
}
