/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "group/budget.h"

static struct group_budget share(int32_t percent) {
        return (struct group_budget){ .percent = true, .number = percent };
}

static struct group_budget number(int32_t n) {
        return (struct group_budget){ .number = n };
}

static void a_share_is_rounded_down_for_what_may_be_missing(void **state) {
        (void)state;
        assert_int_equal(group_budget_down(share(25), 4), 1);
        assert_int_equal(group_budget_down(share(25), 3), 0);
        assert_int_equal(group_budget_down(share(50), 5), 2);
        assert_int_equal(group_budget_down(share(99), 100), 99);
        assert_int_equal(group_budget_down(share(0), 100), 0);
        assert_int_equal(group_budget_down(share(100), 7), 7);
}

static void a_share_is_rounded_up_for_what_may_be_added(void **state) {
        (void)state;
        assert_int_equal(group_budget_up(share(25), 4), 1);
        assert_int_equal(group_budget_up(share(25), 3), 1);
        assert_int_equal(group_budget_up(share(50), 5), 3);
        assert_int_equal(group_budget_up(share(1), 100), 1);
        assert_int_equal(group_budget_up(share(1), 101), 2);
        assert_int_equal(group_budget_up(share(0), 100), 0);
        assert_int_equal(group_budget_up(share(100), 7), 7);
}

static void a_number_is_itself(void **state) {
        (void)state;
        assert_int_equal(group_budget_down(number(2), 4), 2);
        assert_int_equal(group_budget_up(number(2), 4), 2);
}

static void there_are_no_more_than_the_replicas(void **state) {
        (void)state;
        assert_int_equal(group_budget_down(number(10), 4), 4);
        assert_int_equal(group_budget_up(number(10), 4), 4);
        assert_int_equal(group_budget_up(number(INT32_MAX), 0), 0);
        assert_int_equal(group_budget_up(share(100), 0), 0);
        assert_int_equal(group_budget_down(share(INT32_MAX), INT32_MAX), INT32_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_share_is_rounded_down_for_what_may_be_missing),
                cmocka_unit_test(a_share_is_rounded_up_for_what_may_be_added),
                cmocka_unit_test(a_number_is_itself),
                cmocka_unit_test(there_are_no_more_than_the_replicas),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
