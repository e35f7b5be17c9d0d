/* SPDX-License-Identifier: Apache-2.0 */
#include "health_test.h"

#include "health/settle.h"

/* One observation at a time, and what must be shown then. */
struct step {
        int64_t at_ms;
        enum health_code judged, shown;
        int64_t again_ms; /* 0: none */
        bool terminal;
        int64_t wish_ms; /* the rule's own again */
};

static void play(const struct step *steps, size_t count, int64_t applied_ms, bool publishes) {
        struct health_settle s = { 0 };

        for (size_t i = 0; i < count; i++) {
                struct health h = { .code = steps[i].judged,
                                    .terminal = steps[i].terminal,
                                    .again_ms = steps[i].wish_ms };
                enum health_code before = s.shown;
                int64_t again_ms = -1;
                bool changed = health_settle(&s, &h, applied_ms, publishes, steps[i].at_ms, &again_ms);

                if (s.shown != steps[i].shown || again_ms != steps[i].again_ms || changed != (s.shown != before))
                        fail_msg("step %zu: shown %s, again at %lld", i, health_name(s.shown), (long long)again_ms);
        }
}
#define PLAY(applied_ms, publishes, ...)                                                                               \
        play((const struct step[]){ __VA_ARGS__ }, sizeof((const struct step[]){ __VA_ARGS__ }) / sizeof(struct step), \
             applied_ms, publishes)

static void most_is_shown_at_once(void **state) {
        (void)state;
        PLAY(0, true, { 1000, HEALTH_HEALTHY, HEALTH_HEALTHY }, { 1001, HEALTH_PROGRESSING, HEALTH_PROGRESSING },
             { 1002, HEALTH_SUSPENDED, HEALTH_SUSPENDED }, { 1003, HEALTH_MISSING, HEALTH_MISSING },
             { 1004, HEALTH_UNKNOWN, HEALTH_UNKNOWN }, { 1005, HEALTH_NONE, HEALTH_NONE });
}

static void degraded_must_hold(void **state) {
        (void)state;
        PLAY(0, true, { 1000, HEALTH_HEALTHY, HEALTH_HEALTHY }, { 2000, HEALTH_DEGRADED, HEALTH_PROGRESSING, 12000 },
             { 11999, HEALTH_DEGRADED, HEALTH_PROGRESSING, 12000 }, { 12000, HEALTH_DEGRADED, HEALTH_DEGRADED },
             { 12001, HEALTH_DEGRADED, HEALTH_DEGRADED }, { 12002, HEALTH_HEALTHY, HEALTH_HEALTHY });
}

static void a_flap_is_never_shown(void **state) {
        (void)state;
        PLAY(0, true, { 2000, HEALTH_DEGRADED, HEALTH_PROGRESSING, 12000 },
             { 9000, HEALTH_PROGRESSING, HEALTH_PROGRESSING }, { 9500, HEALTH_DEGRADED, HEALTH_PROGRESSING, 19500 },
             { 15000, HEALTH_HEALTHY, HEALTH_HEALTHY });
}

static void what_is_for_good_is_shown_at_once(void **state) {
        (void)state;
        PLAY(0, true, { 1000, HEALTH_HEALTHY, HEALTH_HEALTHY },
             { 2000, HEALTH_DEGRADED, HEALTH_DEGRADED, .terminal = true },
             /* It stays degraded when it is no longer for good. */
             { 2500, HEALTH_DEGRADED, HEALTH_DEGRADED });
        PLAY(0, true, { 1000, HEALTH_DEGRADED, HEALTH_PROGRESSING, 11000 },
             { 2000, HEALTH_DEGRADED, HEALTH_DEGRADED, .terminal = true });
}

static void after_a_write_healthy_waits(void **state) {
        (void)state;
        PLAY(5000, false, { 5001, HEALTH_HEALTHY, HEALTH_PROGRESSING, 7000 },
             { 6999, HEALTH_HEALTHY, HEALTH_PROGRESSING, 7000 }, { 7000, HEALTH_HEALTHY, HEALTH_HEALTHY });
        PLAY(5000, false, { 5001, HEALTH_SUSPENDED, HEALTH_SUSPENDED }, { 5002, HEALTH_NONE, HEALTH_NONE });
        /* Where the status says which generation it is about, it is believed; and without a write there is no wait. */
        PLAY(5000, true, { 5001, HEALTH_HEALTHY, HEALTH_HEALTHY });
        PLAY(0, false, { 500, HEALTH_HEALTHY, HEALTH_HEALTHY });
}

static void a_rules_own_wish_is_kept(void **state) {
        (void)state;
        PLAY(0, true, { 1000, HEALTH_PROGRESSING, HEALTH_PROGRESSING, 9000, .wish_ms = 9000 },
             { 2000, HEALTH_DEGRADED, HEALTH_PROGRESSING, 9000, .wish_ms = 9000 },
             { 3000, HEALTH_DEGRADED, HEALTH_PROGRESSING, 12000, .wish_ms = 90000 },
             { 4000, HEALTH_HEALTHY, HEALTH_HEALTHY, 0, .wish_ms = 3000 });
}

static void a_clock_that_goes_back_prolongs_nothing(void **state) {
        (void)state;
        PLAY(0, true, { 100000, HEALTH_DEGRADED, HEALTH_PROGRESSING, 110000 },
             { 50000, HEALTH_DEGRADED, HEALTH_PROGRESSING, 60000 }, { 60000, HEALTH_DEGRADED, HEALTH_DEGRADED });
        PLAY(100000, false, { 50000, HEALTH_HEALTHY, HEALTH_HEALTHY });
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(most_is_shown_at_once),
                cmocka_unit_test(degraded_must_hold),
                cmocka_unit_test(a_flap_is_never_shown),
                cmocka_unit_test(what_is_for_good_is_shown_at_once),
                cmocka_unit_test(after_a_write_healthy_waits),
                cmocka_unit_test(a_rules_own_wish_is_kept),
                cmocka_unit_test(a_clock_that_goes_back_prolongs_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
