/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is: a rule that is much work holds up those that are little by no more than its share. */
#include "agent/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define TICKETS 100
#define SLOW    "for i = 1, 2500000 do end return {status = 'Healthy'}" /* more than JUDGE_MAX_WORK_NS */
#define QUICK   "return {status = 'Healthy'}"
#define ALL_MS  1000 /* nothing takes time here */

struct room {
        struct loop *loop;
        struct health_rules *rules;
        struct judge *judge;
        struct judge_ticket tickets[TICKETS];
        const char *kinds[TICKETS];
        size_t count;
        size_t endless; /* so many times a Quick one that was judged is handed in again */
        char order[100000]; /* first letters of the kinds, as they were judged */
        size_t judged;
};

static struct room *room; /* hooks know the ticket alone */

static size_t place_of(const struct judge_ticket *t) {
        return (size_t)(t - room->tickets);
}

static struct judge_input input(struct judge_ticket *t) {
        static char text[256];

        snprintf(text, sizeof text, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"%s\"}", room->kinds[place_of(t)]);
        return (struct judge_input){ .text = str_from(text) };
}

static void hand_in(struct judge_ticket *t) {
        judge_hand_in(room->judge, t, STR("example.com"), str_from(room->kinds[place_of(t)]));
}

static void judged(struct judge_ticket *t, const struct judgement *j) {
        char kind = room->kinds[place_of(t)][0];

        assert_int_equal(j->health.code, HEALTH_HEALTHY);
        room->order[room->judged++] = kind;
        if (kind != 'Q' || !room->endless)
                return;
        room->endless--;
        hand_in(t);
}

static void failed(void *ctx, struct judge_ticket *t, const char *rule, struct str message) {
        (void)ctx;
        (void)t;
        fail_msg("%s: %.*s", rule, STR_FMT(message));
}

static void add_rule(const char *kind, const char *text) {
        struct health_source source = { .group = STR("example.com"), .kind = str_from(kind),
                                        .lua = { .text = str_from(text), .name = str_from(kind) } };

        assert_int_equal(health_rules_add(room->rules, &source, NULL), 0);
}

static void new_judge(void) {
        static const struct judge_hooks hooks = { input, judged, failed };

        room->judge = judge_new(room->loop, room->rules, &hooks, NULL);
}

static int setup(void **state) {
        *state = room = mem_zalloc(sizeof *room);
        room->loop = loop_new_virtual(1, 1000000);
        room->rules = health_rules_new();
        add_rule("Slow", SLOW);
        add_rule("Also", SLOW);
        add_rule("Quick", QUICK);
        new_judge();
        return 0;
}

static int teardown(void **state) {
        (void)state;
        for (size_t i = 0; i < room->count; i++)
                judge_withdraw(room->judge, &room->tickets[i]);
        judge_free(room->judge);
        health_rules_unref(room->rules);
        loop_free(room->loop);
        free(room);
        return 0;
}

static void hand_in_new(const char *kind, size_t count) {
        for (size_t i = 0; i < count; i++) {
                room->kinds[room->count] = kind;
                hand_in(&room->tickets[room->count++]);
        }
}

/* So many of a kind were judged before the last one of another. */
static size_t count_before_last(char kind, char last) {
        size_t n = 0, end = room->judged;

        while (end && room->order[end - 1] != last)
                end--;
        for (size_t i = 0; i < end; i++)
                n += room->order[i] == kind;
        return n;
}

static void a_slow_rule_holds_up_no_quick_one(void **state) {
        (void)state;
        hand_in_new("Slow", 20);
        hand_in_new("Quick", 60);
        loop_run_for(room->loop, ALL_MS);
        assert_int_equal(room->judged, 80);
        assert_true(count_before_last('S', 'Q') <= 2);
}

/* Neither does one that comes while slow ones are under way. */
static void who_comes_later_waits_for_one_slow_one_at_most(void **state) {
        (void)state;
        hand_in_new("Slow", 20);
        loop_virtual_slow_pool(room->loop, LOOP_POOL_CPU, 100);
        loop_run_for(room->loop, 950);
        size_t before = room->judged;

        assert_in_range(before, 5, 15);
        hand_in_new("Quick", 10);
        loop_run_for(room->loop, 10 * ALL_MS);
        assert_int_equal(room->judged, 30);
        assert_true(count_before_last('S', 'Q') <= before + 2);
}

static void a_slow_rule_gets_its_share(void **state) {
        (void)state;
        room->endless = 50000;
        hand_in_new("Quick", 40);
        hand_in_new("Slow", 3);
        loop_run_for(room->loop, 10 * ALL_MS);
        assert_int_equal(room->judged, 50043);
        assert_in_range(count_before_last('Q', 'S'), 100, 10000);
}

static void slow_rules_take_turns(void **state) {
        (void)state;
        hand_in_new("Slow", 8);
        hand_in_new("Also", 8);
        loop_run_for(room->loop, ALL_MS);
        assert_int_equal(room->judged, 16);
        for (size_t i = 0; i < 16; i += 2)
                assert_true(room->order[i] != room->order[i + 1]);
}

/* A ticket that is withdrawn leaves its lane as it is, first, in the middle, last and alone. */
static void who_is_withdrawn_is_not_judged(void **state) {
        static const size_t gone[] = { 0, 2, 4, 5 };

        (void)state;
        hand_in_new("Quick", 5);
        hand_in_new("Slow", 1);
        for (size_t i = 0; i < ARRAY_LEN(gone); i++)
                judge_withdraw(room->judge, &room->tickets[gone[i]]);
        loop_run_for(room->loop, ALL_MS);
        assert_int_equal(room->judged, 2);
}

static void the_order_is_the_same_each_time(void **state) {
        char before[sizeof room->order];
        size_t count;

        (void)state;
        for (int run = 0; run < 2; run++) {
                hand_in_new("Slow", 5);
                hand_in_new("Quick", 20);
                loop_run_for(room->loop, ALL_MS);
                count = room->judged;
                if (run == 1)
                        assert_memory_equal(before, room->order, count);
                memcpy(before, room->order, sizeof before);
                judge_free(room->judge);
                new_judge();
                room->judged = room->count = 0;
                memset(room->tickets, 0, sizeof room->tickets);
        }
        assert_int_equal(count, 25);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_slow_rule_holds_up_no_quick_one),
                CASE(who_comes_later_waits_for_one_slow_one_at_most),
                CASE(a_slow_rule_gets_its_share),
                CASE(slow_rules_take_turns),
                CASE(who_is_withdrawn_is_not_judged),
                CASE(the_order_is_the_same_each_time),
        };

        return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
