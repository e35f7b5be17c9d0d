/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void a_new_buffer_is_an_empty_string(void **state) {
        struct buf b = buf_make(10);

        (void)state;
        assert_string_equal(b.p, "");
        assert_int_equal(b.n, 0);
        assert_int_equal(buf_check(&b, "x", NULL), 0);
        buf_truncate(&b, 0);
        buf_consume(&b, 0);
        buf_clear(&b);
        buf_done(&b);
}

static void content_always_ends_in_a_nul(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(1000);

        (void)state;
        buf_add(&b, STR("ab"));
        buf_addc(&b, "cd");
        buf_addch(&b, 'e');
        buf_addf(&b, "%d", 12);
        assert_string_equal(b.p, "abcde12");
        assert_int_equal(b.n, 7);
        buf_truncate(&b, 5);
        assert_string_equal(b.p, "abcde");
        buf_consume(&b, 2);
        assert_string_equal(b.p, "cde");
        buf_consume(&b, 3);
        assert_string_equal(b.p, "");
        buf_addch(&b, '\0');
        assert_int_equal(b.n, 1);
}

static void the_maximum_is_reached_but_never_passed(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(4);
        struct err err = { 0 };

        (void)state;
        buf_addc(&b, "abcd");
        assert_int_equal(buf_check(&b, "the thing", &err), 0);
        buf_addch(&b, 'e');
        assert_int_equal(buf_check(&b, "the thing", &err), ERR_LIMIT);
        assert_string_equal(err.msg, "the thing is larger than 4 bytes");
        assert_string_equal(b.p, "abcd");
}

static void the_error_is_sticky_until_cleared(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(4);

        (void)state;
        buf_addc(&b, "abcde");
        buf_addc(&b, "a");
        assert_int_equal(b.n, 0);
        assert_true(b.overflow);
        buf_clear(&b);
        buf_addf(&b, "%s", "abcd");
        assert_false(b.overflow);
        buf_addf(&b, "%s", "e");
        assert_true(b.overflow);
        buf_done(&b);
        assert_false(b.overflow);
        assert_int_equal(b.max, 4);
}

static void growth_stops_at_the_maximum(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(100);

        (void)state;
        for (int i = 0; i < 100; i++)
                buf_addch(&b, 'x');
        assert_int_equal(buf_check(&b, "x", NULL), 0);
        assert_int_equal(b.n, 100);
        assert_int_equal(b.cap, 101);
}

static void taken_bytes_belong_to_the_caller(void **state) {
        struct buf b = buf_make(10);
        char *p;

        (void)state;
        buf_addc(&b, "abc");
        p = buf_take(&b);
        assert_string_equal(p, "abc");
        assert_int_equal(b.n, 0);
        free(p);
        p = buf_take(&b);
        assert_string_equal(p, "");
        free(p);
        buf_done(&b);
}

static void arrays_grow_at_least_to_what_is_wanted(void **state) {
        size_t cap = 0;
        int *items = mem_grow(NULL, &cap, 1, sizeof *items);

        (void)state;
        assert_true(cap >= 1);
        items[0] = 12;
        items = mem_grow(items, &cap, 1000, sizeof *items);
        assert_true(cap >= 1000);
        assert_int_equal(items[0], 12);
        free(items);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_new_buffer_is_an_empty_string),
                cmocka_unit_test(content_always_ends_in_a_nul),
                cmocka_unit_test(the_maximum_is_reached_but_never_passed),
                cmocka_unit_test(the_error_is_sticky_until_cleared),
                cmocka_unit_test(growth_stops_at_the_maximum),
                cmocka_unit_test(taken_bytes_belong_to_the_caller),
                cmocka_unit_test(arrays_grow_at_least_to_what_is_wanted),
        };

        return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
