/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/sha1.h"

static void expect(struct str message, const char *hex) {
        char got[SHA1_HEX_BYTES + 1];

        sha1_hex(message, got);
        assert_string_equal(got, hex);
}

/* FIPS 180 appendix A and NIST's "SHA Test Vectors" (CAVP): short ones, and a million times "a". */
static void the_published_vectors(void **state) {
        (void)state;
        expect((struct str){ NULL, 0 }, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        expect(STR("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        expect(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
               "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
        expect(STR("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmno"
                   "pqrst"
                   "nopqrstu"),
               "a49b2446a02c645bf419f995b67091253a04a259");
        expect((struct str){ "\x36", 1 }, "c1dfd96eea8cc2b62785275bca38ac261256e278");

        char *million = malloc(1000000);
        memset(million, 'a', 1000000);
        expect((struct str){ million, 1000000 }, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
        free(million);
}

/* Where the length still fits the last block, fills it, and does not (sha1sum of coreutils). */
static void lengths_around_a_block(void **state) {
        static const struct {
                size_t n;
                const char *hex;
        } rows[] = {
                { 55, "cef734ba81a024479e09eb5a75b6ddae62e6abf1" },
                { 56, "901305367c259952f4e7af8323f480d59f81335b" },
                { 63, "0ddc4e0cccd9a12850deb5abb0853a4425559fec" },
                { 64, "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163" },
                { 65, "78c741ddc482e4cdf8c474a0876347a0905b6233" },
                { 119, "4300320394f7ee239bcdce7d3b8bcee173a0cd5c" },
                { 120, "ceb2821639c4b6dcb10bce0e522ca2e608ce056d" },
                { 128, "150fa3fbdc899bd0b8f95a9fb6027f564d953762" },
        };
        char text[200];

        (void)state;
        memset(text, 'x', sizeof text);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                expect((struct str){ text, rows[i].n }, rows[i].hex);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_published_vectors),
                cmocka_unit_test(lengths_around_a_block),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
