/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <pthread.h>
#include <sys/random.h>

struct sip {
        uint64_t v0, v1, v2, v3;
};

static uint64_t rotl(uint64_t x, unsigned bits) {
        return x << bits | x >> (64 - bits);
}

static void rounds(struct sip *s, unsigned n) {
        while (n--) {
                s->v0 += s->v1;
                s->v1 = rotl(s->v1, 13) ^ s->v0;
                s->v0 = rotl(s->v0, 32);
                s->v2 += s->v3;
                s->v3 = rotl(s->v3, 16) ^ s->v2;
                s->v0 += s->v3;
                s->v3 = rotl(s->v3, 21) ^ s->v0;
                s->v2 += s->v1;
                s->v1 = rotl(s->v1, 17) ^ s->v2;
                s->v2 = rotl(s->v2, 32);
        }
}

static uint64_t load64(const char *p) {
        uint64_t x;

        memcpy(&x, p, sizeof x);
        return x;
}

/* Absorbs the whole message; the last word carries the length, as the paper says. */
static struct sip absorb(const struct hash_key *key, struct str s, uint64_t variant) {
        struct sip sip = {
                key->k0 ^ UINT64_C(0x736f6d6570736575),
                key->k1 ^ UINT64_C(0x646f72616e646f6d) ^ variant,
                key->k0 ^ UINT64_C(0x6c7967656e657261),
                key->k1 ^ UINT64_C(0x7465646279746573),
        };
        size_t whole = s.n / 8;
        uint64_t last = (uint64_t)s.n << 56;

        for (size_t i = 0; i < whole; i++) {
                uint64_t m = load64(s.p + i * 8);

                sip.v3 ^= m;
                rounds(&sip, 2);
                sip.v0 ^= m;
        }
        for (size_t i = whole * 8; i < s.n; i++)
                last |= (uint64_t)(unsigned char)s.p[i] << (8 * (i % 8));
        sip.v3 ^= last;
        rounds(&sip, 2);
        sip.v0 ^= last;
        return sip;
}

static uint64_t squeeze(struct sip *s) {
        rounds(s, 4);
        return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

uint64_t hash64(const struct hash_key *key, struct str s) {
        struct sip sip = absorb(key, s, 0);

        sip.v2 ^= 0xff;
        return squeeze(&sip);
}

struct hash128 hash128(const struct hash_key *key, struct str s) {
        struct sip sip = absorb(key, s, 0xee);
        struct hash128 h;

        sip.v2 ^= 0xee;
        h.lo = squeeze(&sip);
        sip.v1 ^= 0xdd;
        h.hi = squeeze(&sip);
        return h;
}

void hash128_hex(struct hash128 h, char ret_hex[HASH128_HEX_BYTES + 1]) {
        snprintf(ret_hex, HASH128_HEX_BYTES + 1, "%016llx%016llx", (unsigned long long)h.hi, (unsigned long long)h.lo);
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return -1;
}

static bool word_from_hex(struct str hex, uint64_t *ret_word) {
        uint64_t word = 0;

        for (size_t i = 0; i < hex.n; i++) {
                int digit = hex_digit(hex.p[i]);

                if (digit < 0)
                        return false;
                word = word << 4 | (unsigned)digit;
        }
        *ret_word = word;
        return true;
}

bool hash128_from_hex(struct str hex, struct hash128 *ret_hash) {
        struct hash128 h;

        if (hex.n != HASH128_HEX_BYTES || !word_from_hex(str_sub(hex, 0, 16), &h.hi) ||
            !word_from_hex(str_sub(hex, 16, 32), &h.lo))
                return false;
        *ret_hash = h;
        return true;
}

void hash_random(void *p, size_t n) {
        if (getrandom(p, n, 0) != (ssize_t)n)
                abort();
}

static struct hash_key process_key;

static void draw_process_key(void) {
        hash_random(&process_key, sizeof process_key);
}

const struct hash_key *hash_process_key(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, draw_process_key);
        return &process_key;
}
