/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha1.h"

#include <string.h>

#define BLOCK_BYTES 64
#define ROUNDS      80

static uint32_t rotate(uint32_t word, unsigned bits) {
        return word << bits | word >> (32 - bits);
}

/* The message schedule of one block (FIPS 180-4, 6.1.2, step 1). */
static void schedule(const unsigned char block[BLOCK_BYTES], uint32_t w[ROUNDS]) {
        for (size_t i = 0; i < 16; i++)
                w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
        for (size_t i = 16; i < ROUNDS; i++)
                w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
}

/* f and K of a round (4.1.1 and 4.2.1). */
static uint32_t mix(size_t round, uint32_t b, uint32_t c, uint32_t d) {
        switch (round / 20) {
        case 0:
                return ((b & c) | (~b & d)) + 0x5a827999;
        case 1:
                return (b ^ c ^ d) + 0x6ed9eba1;
        case 2:
                return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
        default:
                return (b ^ c ^ d) + 0xca62c1d6;
        }
}

static void add_block(uint32_t h[5], const unsigned char block[BLOCK_BYTES]) {
        uint32_t w[ROUNDS], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

        schedule(block, w);
        for (size_t i = 0; i < ROUNDS; i++) {
                uint32_t t = rotate(a, 5) + mix(i, b, c, d) + e + w[i];

                e = d;
                d = c;
                c = rotate(b, 30);
                b = a;
                a = t;
        }
        h[0] += a;
        h[1] += b;
        h[2] += c;
        h[3] += d;
        h[4] += e;
}

/* What is left of the message, a 1 bit, zeros, and the length in bits (5.1.1): one block or two. */
static void add_end(uint32_t h[5], const char *rest, size_t n, uint64_t total_bytes) {
        unsigned char last[2 * BLOCK_BYTES] = { 0 };
        size_t bytes = n + 9 <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;

        memcpy(last, rest, n);
        last[n] = 0x80;
        for (size_t i = 0; i < 8; i++)
                last[bytes - 1 - i] = (unsigned char)(total_bytes * 8 >> 8 * i);
        for (size_t at = 0; at < bytes; at += BLOCK_BYTES)
                add_block(h, last + at);
}

void sha1_hex(struct str s, char ret_hex[SHA1_HEX_BYTES + 1]) {
        uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
        const char *bytes = s.n ? s.p : "";
        size_t at = 0;

        for (; s.n - at >= BLOCK_BYTES; at += BLOCK_BYTES)
                add_block(h, (const unsigned char *)bytes + at);
        add_end(h, bytes + at, s.n - at, s.n);
        for (size_t i = 0; i < SHA1_HEX_BYTES; i++)
                ret_hex[i] = "0123456789abcdef"[h[i / 8] >> (28 - 4 * (i % 8)) & 15];
        ret_hex[SHA1_HEX_BYTES] = '\0';
}
