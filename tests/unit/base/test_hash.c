/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/macro.h"

/* The key of the published vectors: bytes 00 01 … 0f. */
static const struct hash_key vector_key = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };

/* Messages are the bytes 00 01 … n-1; results are the bytes in the order the algorithm writes them. */
static const struct {
        size_t n;
        unsigned char h64[8], h128[16];
} vectors[] = {
        { 0,
          { 0x31, 0x0e, 0x0e, 0xdd, 0x47, 0xdb, 0x6f, 0x72 },
          { 0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93 } },
        { 1,
          { 0xfd, 0x67, 0xdc, 0x93, 0xc5, 0x39, 0xf8, 0x74 },
          { 0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45 } },
        { 2,
          { 0x5a, 0x4f, 0xa9, 0xd9, 0x09, 0x80, 0x6c, 0x0d },
          { 0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff, 0xe4 } },
        { 7,
          { 0x37, 0xd1, 0x01, 0x8b, 0xf5, 0x00, 0x02, 0xab },
          { 0xa1, 0xf1, 0xeb, 0xbe, 0xd8, 0xdb, 0xc1, 0x53, 0xc0, 0xb8, 0x4a, 0xa6, 0x1f, 0xf0, 0x82, 0x39 } },
        { 8,
          { 0x62, 0x24, 0x93, 0x9a, 0x79, 0xf5, 0xf5, 0x93 },
          { 0x3b, 0x62, 0xa9, 0xba, 0x62, 0x58, 0xf5, 0x61, 0x0f, 0x83, 0xe2, 0x64, 0xf3, 0x14, 0x97, 0xb4 } },
        { 15,
          { 0xe5, 0x45, 0xbe, 0x49, 0x61, 0xca, 0x29, 0xa1 },
          { 0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf, 0xc3, 0xd9 } },
        { 16,
          { 0xdb, 0x9b, 0xc2, 0x57, 0x7f, 0xcc, 0x2a, 0x3f },
          { 0x6e, 0xe2, 0xa4, 0xca, 0x67, 0xb0, 0x54, 0xbb, 0xfd, 0x33, 0x15, 0xbf, 0x85, 0x23, 0x05, 0x77 } },
        { 63,
          { 0x72, 0x45, 0x06, 0xeb, 0x4c, 0x32, 0x8a, 0x95 },
          { 0x51, 0x50, 0xd1, 0x77, 0x2f, 0x50, 0x83, 0x4a, 0x50, 0x3e, 0x06, 0x9a, 0x97, 0x3f, 0xbd, 0x7c } },
};

static uint64_t little_endian(const unsigned char *p) {
        uint64_t x = 0;

        for (int i = 7; i >= 0; i--)
                x = x << 8 | p[i];
        return x;
}

static void published_vectors_come_out(void **state) {
        char message[64];

        (void)state;
        for (size_t i = 0; i < sizeof message; i++)
                message[i] = (char)i;
        for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
                struct str s = { message, vectors[i].n };
                struct hash128 h = hash128(&vector_key, s);

                assert_true(hash64(&vector_key, s) == little_endian(vectors[i].h64));
                assert_true(h.lo == little_endian(vectors[i].h128));
                assert_true(h.hi == little_endian(vectors[i].h128 + 8));
        }
}

static void another_key_gives_another_hash(void **state) {
        struct hash_key other = { vector_key.k0, vector_key.k1 ^ 1 };

        (void)state;
        assert_true(hash64(&vector_key, STR("a")) != hash64(&other, STR("a")));
        assert_false(hash128_eq(hash128(&vector_key, STR("a")), hash128(&other, STR("a"))));
        assert_false(hash128_eq(hash128(&vector_key, STR("a")), hash128(&vector_key, STR("b"))));
}

static void hex_goes_there_and_back(void **state) {
        struct hash128 h = { UINT64_C(0x0123456789abcdef), UINT64_C(0x00ff00ff00ff00ff) }, back;
        char hex[HASH128_HEX_BYTES + 1];

        (void)state;
        hash128_hex(h, hex);
        assert_string_equal(hex, "00ff00ff00ff00ff0123456789abcdef");
        assert_true(hash128_from_hex(str_from(hex), &back));
        assert_true(hash128_eq(h, back));
}

static void what_is_no_hash_is_refused(void **state) {
        struct hash128 h = { 1, 2 };

        (void)state;
        assert_false(hash128_from_hex(STR(""), &h));
        assert_false(hash128_from_hex(STR("00ff00ff00ff00ff0123456789abcde"), &h));
        assert_false(hash128_from_hex(STR("00ff00ff00ff00ff0123456789abcdef0"), &h));
        assert_false(hash128_from_hex(STR("00ff00ff00ff00ff0123456789abcdeg"), &h));
        assert_false(hash128_from_hex(STR("g0ff00ff00ff00ff0123456789abcdef"), &h));
        assert_true(h.lo == 1 && h.hi == 2);
}

static void the_process_key_is_drawn_once(void **state) {
        const struct hash_key *key = hash_process_key();
        struct hash_key zero = { 0 };

        (void)state;
        assert_ptr_equal(key, hash_process_key());
        assert_memory_not_equal(key, &zero, sizeof zero);
}

static void random_bytes_differ(void **state) {
        char a[256], b[256];

        (void)state;
        hash_random(a, sizeof a);
        hash_random(b, sizeof b);
        assert_memory_not_equal(a, b, sizeof a);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(published_vectors_come_out),
                cmocka_unit_test(another_key_gives_another_hash),
                cmocka_unit_test(hex_goes_there_and_back),
                cmocka_unit_test(what_is_no_hash_is_refused),
                cmocka_unit_test(the_process_key_is_drawn_once),
                cmocka_unit_test(random_bytes_differ),
        };

        return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
