/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 with 64- and 128-bit results (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012).
 *
 * Keyed, so nobody outside can build collisions: hash maps use a key drawn at start, stored fingerprints the
 * installation's key. It is not for signatures.
 */
#ifndef TRUCE_BASE_HASH_H
#define TRUCE_BASE_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct hash_key {
        uint64_t k0, k1;
};

struct hash128 {
        uint64_t lo, hi;
};

#define HASH128_HEX_BYTES 32 /* without the NUL */

uint64_t hash64(const struct hash_key *key, struct str s);
struct hash128 hash128(const struct hash_key *key, struct str s);

static inline bool hash128_eq(struct hash128 a, struct hash128 b) {
        return a.lo == b.lo && a.hi == b.hi;
}

/* 32 lower-case hex digits and a NUL. */
void hash128_hex(struct hash128 h, char ret_hex[HASH128_HEX_BYTES + 1]);

/* False when `hex` is not exactly 32 hex digits. */
bool hash128_from_hex(struct str hex, struct hash128 *ret_hash);

/* The key of this process, drawn from the kernel at first use; for tables in memory only. */
const struct hash_key *hash_process_key(void);

/* Fills n bytes (at most 256) from the kernel's random source; aborts when it has none. */
void hash_random(void *p, size_t n);

#endif
