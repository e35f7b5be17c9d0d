/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void pieces_are_aligned_and_apart(void **state) {
        struct arena *a = arena_new(64);
        char *last = NULL;

        (void)state;
        for (size_t n = 0; n < 300; n++) {
                char *p = arena_alloc(a, n);

                assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
                memset(p, (int)n, n);
                if (last && n > 1)
                        assert_int_equal((unsigned char)last[n - 2], (n - 1) & 0xff);
                last = p;
        }
        arena_free(a);
}

static void a_large_piece_does_not_waste_the_block_at_hand(void **state) {
        struct arena *a = arena_new(4096);
        size_t before;

        (void)state;
        arena_alloc(a, 16);
        arena_alloc(a, 1000000);
        before = arena_bytes(a);
        arena_alloc(a, 16);
        assert_int_equal(arena_bytes(a), before);
        arena_free(a);
}

static void bytes_tell_what_was_taken(void **state) {
        struct arena *a = arena_new(0);
        size_t empty = arena_bytes(a);

        (void)state;
        assert_true(empty < 256);
        for (int i = 0; i < 1000; i++)
                arena_alloc(a, 1000);
        assert_true(arena_bytes(a) >= 1000000);
        assert_true(arena_bytes(a) < 2000000);
        arena_free(a);
}

static void zeroed_pieces_are_zero(void **state) {
        struct arena *a = arena_new(0);
        char zero[100] = { 0 };

        (void)state;
        memset(arena_alloc(a, 100), 0xff, 100);
        assert_memory_equal(arena_zalloc(a, 100), zero, 100);
        arena_free(a);
}

static void strings_are_copied_and_end_in_a_nul(void **state) {
        struct arena *a = arena_new(0);
        char text[] = "abc";
        struct str copy = arena_str(a, str_from(text));

        (void)state;
        text[0] = 'x';
        assert_string_equal(copy.p, "abc");
        assert_int_equal(arena_str(a, (struct str){ 0 }).n, 0);
        assert_string_equal(arena_str(a, (struct str){ 0 }).p, "");
        copy = arena_strf(a, "%s-%d", "a", 12);
        assert_string_equal(copy.p, "a-12");
        assert_int_equal(copy.n, 4);
        arena_free(a);
        arena_free(NULL);
}

static void an_arena_of_one_byte_works(void **state) {
        struct arena *a = arena_new(1);

        (void)state;
        arena_alloc(a, 0);
        memset(arena_alloc(a, 40), 1, 40);
        memset(arena_alloc(a, 1), 1, 1);
        arena_free(a);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pieces_are_aligned_and_apart),
                cmocka_unit_test(a_large_piece_does_not_waste_the_block_at_hand),
                cmocka_unit_test(bytes_tell_what_was_taken),
                cmocka_unit_test(zeroed_pieces_are_zero),
                cmocka_unit_test(strings_are_copied_and_end_in_a_nul),
                cmocka_unit_test(an_arena_of_one_byte_works),
        };

        return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
