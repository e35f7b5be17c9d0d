/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void waits_double_up_to_the_limit(void **state) {
        (void)state;
        assert_int_equal(backoff_ms(&BACKOFF_SYNC, 1), 5000);
        assert_int_equal(backoff_ms(&BACKOFF_SYNC, 2), 10000);
        assert_int_equal(backoff_ms(&BACKOFF_SYNC, 6), 160000);
        assert_int_equal(backoff_ms(&BACKOFF_SYNC, 7), 180000);
        assert_int_equal(backoff_ms(&BACKOFF_SYNC, 1000000), 180000);
}

static void the_server_s_own_wish_is_the_least(void **state) {
        struct err throttled = { .code = ERR_THROTTLED, .retry_after_ms = 7000 }, denied = { .code = ERR_DENIED };

        (void)state;
        assert_int_equal(backoff_after(&BACKOFF_OBJECT, 1, &throttled, 0), 7000);
        assert_int_equal(backoff_after(&BACKOFF_OBJECT, 1, &denied, 0), BACKOFF_DENIED_MIN_MS);
        assert_int_equal(backoff_after(&BACKOFF_OBJECT, 1, &denied, 999), BACKOFF_DENIED_MIN_MS * 1.0999);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(waits_double_up_to_the_limit),
                cmocka_unit_test(the_server_s_own_wish_is_the_least),
        };

        return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
