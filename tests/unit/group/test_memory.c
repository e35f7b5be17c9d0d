/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of a set, as text and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arena_test.h"
#include "group/memory.h"

#define NOW INT64_C(1764496800000)

static struct group_restarts failed(int32_t group, const char *why) {
        return (struct group_restarts){ .group = group,
                                        .count = 12,
                                        .streak = 12,
                                        .last_ms = NOW,
                                        .revision = STR("1f2e3d4c5b"),
                                        .incarnation = STR("ab12cd34"),
                                        .why = str_from(why) };
}

static struct group_memory again(const struct group_memory *m) {
        struct group_memory read = group_memory_unknown();
        struct str text = group_memory_text(m, a);

        assert_true(text.n <= GROUP_MEMORY_MAX_BYTES);
        assert_int_equal(group_memory_read(text, a, &read), 0);
        assert_string_equal(group_memory_text(&read, a).p, text.p);
        return read;
}

static struct group_memory of(struct group_restarts *restarts, size_t count) {
        struct group_memory m = group_memory_unknown();

        m.revision = STR("1f2e3d4c5b");
        m.groups = m.replicas = (int32_t)count;
        m.restarts = restarts;
        m.restart_count = count;
        return m;
}

static void texts_may_hold_anything(void **state) {
        struct group_restarts r = failed(7, "; group 8: spent, why \"\\\", x\n");
        struct group_memory m = of(&r, 1), read;

        (void)state;
        m.budget_reset = STR("\"; group 9: spent");
        read = again(&m);
        assert_int_equal(read.restart_count, 1);
        assert_int_equal(read.restarts[0].group, 7);
        assert_true(str_eq(read.restarts[0].why, r.why));
        assert_true(str_eq(read.budget_reset, m.budget_reset));
}

static void what_holds_groups_back_stays_where_there_is_no_room_for_the_reasons(void **state) {
        struct group_restarts restarts[GROUP_MEMORY_MAX_GROUPS];
        struct group_memory m, read;

        (void)state;
        for (int32_t i = 0; i < GROUP_MEMORY_MAX_GROUPS; i++)
                restarts[i] = failed(100 + i, "worker llama-100-1 was restarted: container vllm: exit code 1 (Error)");
        m = of(restarts, GROUP_MEMORY_MAX_GROUPS);
        read = again(&m);
        assert_int_equal(read.restart_count, GROUP_MEMORY_MAX_GROUPS);
        for (int32_t i = 0; i < GROUP_MEMORY_MAX_GROUPS; i++) {
                assert_int_equal(read.restarts[i].streak, 12);
                assert_true(read.restarts[i].last_ms == NOW);
        }
}

static void what_decides_nothing_makes_room_for_what_does(void **state) {
        struct group_restarts restarts[2 * GROUP_MEMORY_MAX_GROUPS];
        struct group_memory m, read;

        (void)state;
        for (int32_t i = 0; i < 2 * GROUP_MEMORY_MAX_GROUPS; i++) {
                restarts[i] = failed(i, "worker llama-100-1 was restarted: container vllm: exit code 1 (Error)");
                if (i < GROUP_MEMORY_MAX_GROUPS)
                        restarts[i].streak = 0;
        }
        m = of(restarts, 2 * GROUP_MEMORY_MAX_GROUPS);
        read = again(&m);
        assert_int_equal(read.restart_count, GROUP_MEMORY_MAX_GROUPS);
        assert_int_equal(read.restarts[0].group, GROUP_MEMORY_MAX_GROUPS);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(texts_may_hold_anything),
                cmocka_unit_test(what_holds_groups_back_stays_where_there_is_no_room_for_the_reasons),
                cmocka_unit_test(what_decides_nothing_makes_room_for_what_does),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
