/* SPDX-License-Identifier: Apache-2.0 */
#include "../own/own_test.h"
#include "agent/lease.h"
#include "arena_test.h"

#define AT_NOON ",'time':'2026-12-01T12:00:00Z'"
#define NOON_MS INT64_C(1796126400000)
#define HOUR_MS (3600 * INT64_C(1000))

static enum lease_state lease_of(const char *annotations, const char *time, int64_t *ret_until_ms) {
        const struct value *live = json(
                a, arena_strf(a,
                              "{'metadata':{'annotations':%s,'managedFields':[{'manager':'kubectl-annotate','operation':'Update',"
                              "'apiVersion':'v1'%s,'fieldsV1':{'f:metadata':{'f:annotations':{'f:truce.dev/override':{},"
                              "'f:truce.dev/override-until':{}}}}}]}}",
                              annotations, time)
                           .p);
        struct managed m = owners_of(a, live);

        return lease_read(live, &m, NOON_MS, 24 * HOUR_MS, ret_until_ms);
}

static void a_lease_runs_until_what_it_says(void **state) {
        int64_t until_ms = 0;

        (void)state;
        assert_int_equal(lease_of("{'truce.dev/override-until':'2026-12-01T12:00:00Z'}", "", &until_ms), LEASE_READ);
        assert_int_equal(until_ms, NOON_MS);
}

static void a_duration_counts_from_when_it_was_written(void **state) {
        int64_t until_ms = 0;

        (void)state;
        assert_int_equal(lease_of("{'truce.dev/override':'2h'}", AT_NOON, &until_ms), LEASE_READ);
        assert_int_equal(until_ms, NOON_MS + 2 * HOUR_MS);
}

static void without_times_the_object_is_to_be_read_anew(void **state) {
        int64_t until_ms;

        (void)state;
        assert_int_equal(lease_of("{'truce.dev/override':'2h'}", "", &until_ms), LEASE_NEEDS_TIMES);
}

static void no_lease_lasts_longer_than_it_may(void **state) {
        const char *far = "{'truce.dev/override-until':'2099-01-01T00:00:00Z'}";
        int64_t until_ms = 0;

        (void)state;
        assert_int_equal(lease_of(far, "", &until_ms), LEASE_NEEDS_TIMES);
        assert_int_equal(lease_of(far, ",'time':'2026-12-01T11:00:00Z'", &until_ms), LEASE_READ);
        assert_int_equal(until_ms, NOON_MS + 23 * HOUR_MS);
        assert_int_equal(lease_of(far, ",'time':'never'", &until_ms), LEASE_READ);
        assert_int_equal(until_ms, NOON_MS + 24 * HOUR_MS);
        assert_int_equal(lease_of("{'truce.dev/override':'900h'}", AT_NOON, &until_ms), LEASE_READ);
        assert_int_equal(until_ms, NOON_MS + 24 * HOUR_MS);
        assert_int_equal(lease_of("{'truce.dev/override-until':'2026-12-02T12:00:00Z'}", "", &until_ms), LEASE_READ);
        assert_int_equal(until_ms, NOON_MS + 24 * HOUR_MS);
}

static void what_is_no_time_is_no_lease(void **state) {
        int64_t until_ms;

        (void)state;
        assert_int_equal(lease_of("{}", AT_NOON, &until_ms), LEASE_NONE);
        assert_int_equal(lease_of("{'truce.dev/override':'soon'}", AT_NOON, &until_ms), LEASE_BAD);
        assert_int_equal(lease_of("{'truce.dev/override-until':'tomorrow'}", AT_NOON, &until_ms), LEASE_BAD);
        assert_int_equal(lease_of("{'truce.dev/override':'2h'}", ",'time':'never'", &until_ms), LEASE_BAD);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_lease_runs_until_what_it_says, setup, teardown),
                cmocka_unit_test_setup_teardown(a_duration_counts_from_when_it_was_written, setup, teardown),
                cmocka_unit_test_setup_teardown(without_times_the_object_is_to_be_read_anew, setup, teardown),
                cmocka_unit_test_setup_teardown(no_lease_lasts_longer_than_it_may, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_no_time_is_no_lease, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
