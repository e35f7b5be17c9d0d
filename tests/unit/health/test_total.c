/* SPDX-License-Identifier: Apache-2.0 */
#include "health_test.h"

#include <string.h>

#include "health/total.h"

static void add(struct health_total *t, const char *name, enum health_code code, const char *message) {
        health_total_add(t,
                         &(struct health_member){ .name = str_from(name), .code = code, .message = str_from(message) });
}

static void nothing_is_nothing(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct health_total t = { 0 };

        (void)state;
        assert_int_equal(t.code, HEALTH_NONE);
        assert_str(health_total_message(&t, a), "");
}

static void what_has_no_health_harms_nothing(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct health_total t = { 0 };

        (void)state;
        add(&t, "configmap/a", HEALTH_NONE, "");
        add(&t, "secret/b", HEALTH_NONE, "");
        assert_int_equal(t.code, HEALTH_HEALTHY);
        assert_int_equal(t.counts[HEALTH_NONE], 2);
        assert_str(health_total_message(&t, a), "");
}

static void the_worst_counts(void **state) {
        static const enum health_code order[] = { HEALTH_HEALTHY, HEALTH_SUSPENDED, HEALTH_PROGRESSING,
                                                  HEALTH_MISSING, HEALTH_DEGRADED,  HEALTH_UNKNOWN };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(order); i++)
                for (size_t k = 0; k < ARRAY_LEN(order); k++) {
                        struct health_total t = { 0 };

                        add(&t, "a", order[i], "");
                        add(&t, "b", order[k], "");
                        assert_int_equal(t.code, order[i > k ? i : k]);
                        assert_int_equal(t.counts[order[i]], i == k ? 2 : 1);
                }
}

static void the_worst_is_named(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct health_total t = { 0 };

        (void)state;
        add(&t, "deploy/web", HEALTH_PROGRESSING, "1 of 3 available");
        assert_str(health_total_message(&t, a), "deploy/web: 1 of 3 available");
        add(&t, "job/seed", HEALTH_DEGRADED, "BackoffLimitExceeded:\n no");
        add(&t, "deploy/api", HEALTH_PROGRESSING, "0 of 1 available");
        assert_str(health_total_message(&t, a), "job/seed: BackoffLimitExceeded: no");
        add(&t, "pod/x", HEALTH_DEGRADED, "");
        assert_str(health_total_message(&t, a), "job/seed: BackoffLimitExceeded: no; pod/x");
}

static void three_are_named_and_the_rest_counted(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct health_total t = { 0 };
        static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                add(&t, names[i], HEALTH_DEGRADED, "bad");
        assert_str(health_total_message(&t, a), "a: bad; b: bad; c: bad; and 5 more");
}

static void a_missing_member_is_missing(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct health_total t = { 0 };

        (void)state;
        add(&t, "deploy/web", HEALTH_HEALTHY, "");
        add(&t, "deploy/api", HEALTH_MISSING, "not in the cluster");
        assert_int_equal(t.code, HEALTH_MISSING);
        assert_str(health_total_message(&t, a), "deploy/api: not in the cluster");
}

static void marks_are_heeded(void **state) {
        struct health_total t = { 0 };

        (void)state;
        health_total_add(&t, &(struct health_member){ .code = HEALTH_DEGRADED, .ignored = true });
        assert_int_equal(t.code, HEALTH_HEALTHY);
        assert_int_equal(t.counts[HEALTH_DEGRADED], 0);
        health_total_add(&t, &(struct health_member){ .code = HEALTH_SUSPENDED, .suspended_is_healthy = true });
        assert_int_equal(t.code, HEALTH_HEALTHY);
        assert_int_equal(t.counts[HEALTH_HEALTHY], 1);
        health_total_add(&t, &(struct health_member){ .code = HEALTH_DEGRADED, .suspended_is_healthy = true });
        assert_int_equal(t.code, HEALTH_DEGRADED);
}

static void long_causes_leave_room_for_all_three(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct health_total t = { 0 };
        static char text[3000];
        struct str message;

        (void)state;
        memset(text, 'y', sizeof(text) - 1);
        for (size_t i = 0; i < 5; i++)
                add(&t, text, HEALTH_DEGRADED, text);
        message = health_total_message(&t, a);
        assert_true(message.n <= HEALTH_MAX_MESSAGE_BYTES);
        assert_true(str_ends(message, STR("…; and 2 more")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_is_nothing),
                cmocka_unit_test(what_has_no_health_harms_nothing),
                cmocka_unit_test(the_worst_counts),
                cmocka_unit_test(the_worst_is_named),
                cmocka_unit_test(three_are_named_and_the_rest_counted),
                cmocka_unit_test(a_missing_member_is_missing),
                cmocka_unit_test(marks_are_heeded),
                cmocka_unit_test(long_causes_leave_room_for_all_three),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
