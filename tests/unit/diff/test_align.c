/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/align.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "random_tree.h"

struct texts {
        const char *x, *y;
};

static bool same_letter(const void *ctx, size_t i, size_t j) {
        const struct texts *t = ctx;

        return t->x[i] == t->y[j];
}

/* Checks that the alignment is one, and returns how many letters it matches. */
static size_t matched(const char *x, const char *y) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct texts t = { x, y };
        const size_t *to = align(strlen(x), strlen(y), same_letter, &t, a);
        size_t count = 0, next = 0;

        for (size_t i = 0; x[i]; i++) {
                if (to[i] == ALIGN_NONE)
                        continue;
                assert_true(to[i] >= next && to[i] < strlen(y));
                assert_int_equal(x[i], y[to[i]]);
                next = to[i] + 1;
                count++;
        }
        return count;
}

static void the_longest_common_subsequence_is_found(void **state) {
        (void)state;
        assert_int_equal(matched("", ""), 0);
        assert_int_equal(matched("abc", ""), 0);
        assert_int_equal(matched("", "abc"), 0);
        assert_int_equal(matched("abc", "abc"), 3);
        assert_int_equal(matched("abc", "abxc"), 3);
        assert_int_equal(matched("aa", "aaaa"), 2);
        assert_int_equal(matched("abcbdab", "bdcaba"), 4);
        assert_int_equal(matched("xyz", "abc"), 0);
}

/* By trying all subsequences of the shorter text. */
static size_t longest_by_force(const char *x, const char *y) {
        size_t n = strlen(x), best = 0;

        for (unsigned subset = 0; subset < 1u << n; subset++) {
                size_t at = 0, count = 0;

                for (size_t i = 0; i < n; i++) {
                        if (!(subset >> i & 1))
                                continue;
                        while (y[at] && y[at] != x[i])
                                at++;
                        if (!y[at])
                                break;
                        at++;
                        count++;
                }
                if (count == (size_t)__builtin_popcount(subset) && count > best)
                        best = count;
        }
        return best;
}

static void no_other_alignment_is_longer(void **state) {
        struct dice d = { 42 };

        (void)state;
        for (int round = 0; round < 400; round++) {
                char x[9] = "", y[9] = "";

                for (uint32_t i = 0, n = roll(&d, 9); i < n; i++)
                        x[i] = (char)('a' + roll(&d, 3));
                for (uint32_t i = 0, n = roll(&d, 9); i < n; i++)
                        y[i] = (char)('a' + roll(&d, 3));
                assert_int_equal(matched(x, y), longest_by_force(x, y));
        }
}

static bool counted_equal(const void *ctx, size_t i, size_t j) {
        ++*(size_t *)(uintptr_t)ctx;
        return i == j && i < 10;
}

static void what_is_too_long_is_not_compared(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        size_t calls = 0, n = 3000;
        const size_t *to = align(n, n, counted_equal, &calls, a);

        (void)state;
        assert_true(calls < 100);
        assert_int_equal(to[9], 9);
        assert_int_equal(to[10], ALIGN_NONE);
        assert_int_equal(to[n - 1], ALIGN_NONE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_longest_common_subsequence_is_found),
                cmocka_unit_test(no_other_alignment_is_longer),
                cmocka_unit_test(what_is_too_long_is_not_compared),
        };

        return cmocka_run_group_tests_name("align", tests, NULL, NULL);
}
