/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "own/fight.h"

#define SECOND 1000

static const struct fight_rule rule = {
        .turns = 6, .window_ms = 60 * SECOND, .pause_ms = 60 * SECOND, .max_pause_ms = 3600 * SECOND,
};
static struct arena *a;
static struct fight_book book;
static struct field_path path;

static int setup(void **state) {
        (void)state;
        a = arena_new(0);
        path = dotted(a, "spec.env");
        return 0;
}

static int teardown(void **state) {
        (void)state;
        fight_book_done(&book);
        arena_free(a);
        return 0;
}

static bool turn_at(int64_t seconds) {
        return fight_note(&book, &rule, path, STR("region-operator"), seconds * SECOND);
}

static void an_edit_that_is_healed_twice_is_no_fight(void **state) {
        (void)state;
        assert_false(turn_at(1));
        assert_false(turn_at(2));
        assert_false(fight_is_paused(fight_find(&book, path), 2 * SECOND));
        assert_int_equal(fight_next_ms(&book, 2 * SECOND), 0);
}

static void the_third_heal_within_a_minute_begins_a_pause(void **state) {
        const struct fight *f;

        (void)state;
        turn_at(1);
        turn_at(2);
        assert_true(turn_at(61));
        f = fight_find(&book, path);
        assert_true(fight_is_paused(f, 61 * SECOND));
        assert_true(fight_is_paused(f, 121 * SECOND - 1));
        assert_false(fight_is_paused(f, 121 * SECOND));
        assert_int_equal(fight_next_ms(&book, 61 * SECOND), 121 * SECOND);
        assert_string_equal(f->manager, "region-operator");
}

static void heals_that_are_a_minute_apart_are_no_fight(void **state) {
        (void)state;
        for (int64_t s = 0; s < 3000; s += 31)
                assert_false(turn_at(s + 1));
}

static void a_retry_that_is_contested_doubles_the_pause_up_to_an_hour(void **state) {
        int64_t pause = 60, now = 3;

        (void)state;
        turn_at(1);
        turn_at(2);
        assert_true(turn_at(3));
        for (int i = 0; i < 8; i++) {
                now += pause + 1;
                assert_false(turn_at(now)); /* what it was is written over: the one retry */
                now++;
                pause = pause * 2 < 3600 ? pause * 2 : 3600;
                assert_true(turn_at(now));
                assert_int_equal(fight_next_ms(&book, now * SECOND), (now + pause) * SECOND);
        }
        assert_int_equal(pause, 3600);
}

static void a_path_that_kept_our_value_for_a_window_begins_anew(void **state) {
        (void)state;
        turn_at(1);
        turn_at(2);
        assert_true(turn_at(3));
        /* Tried again at 63, and nobody minded until 124. */
        assert_false(turn_at(124));
        assert_false(turn_at(125));
        assert_true(turn_at(126));
        assert_int_equal(fight_next_ms(&book, 126 * SECOND), 186 * SECOND);
}

static void paths_are_told_apart(void **state) {
        struct field_path other = dotted(a, "spec.image");

        (void)state;
        for (int s = 1; s < 3; s++) {
                assert_false(turn_at(s));
                assert_false(fight_note(&book, &rule, other, STR(""), s * SECOND));
        }
        assert_true(turn_at(3));
        assert_false(fight_is_paused(fight_find(&book, other), 3 * SECOND));
}

static void the_path_at_rest_longest_makes_room(void **state) {
        (void)state;
        turn_at(1);
        for (int i = 0; i < FIGHT_MAX_PATHS; i++)
                fight_note(&book, &rule, dotted(a, arena_strf(a, "spec.p%d", i).p), STR("m"), (2 + i) * SECOND);
        assert_int_equal(book.count, FIGHT_MAX_PATHS);
        assert_null(fight_find(&book, path));
        assert_non_null(fight_find(&book, dotted(a, "spec.p0")));
}

static void the_rate_is_of_turns_a_minute(void **state) {
        (void)state;
        turn_at(1);
        assert_int_equal(fight_rate(fight_find(&book, path)), 2);
        for (int s = 2; s <= 121; s++)
                turn_at(s);
        assert_int_equal(fight_rate(fight_find(&book, path)), 121);
}

static struct str paths_text(const struct value *before, const struct value *after, const char *ours) {
        const struct field_path *paths;
        size_t n = fight_paths(before, after, set(a, ours), NULL, a, &paths);
        struct buf out = buf_make(1024);
        struct str text;

        for (size_t i = 0; i < n; i++) {
                field_path_print(paths[i], &out);
                buf_addch(&out, ' ');
        }
        text = arena_str(a, buf_str(&out));
        buf_done(&out);
        return text;
}

#define KEY "k:{\\'name\\':\\'c\\'}"

static void what_a_write_took_back_is_found(void **state) {
        const struct value *live = json(a, "{'data':{'a':'1','b':'x'},'l':[{'name':'c','i':'1'}]}");

        (void)state;
        assert_text(paths_text(json(a, "{'data':{'a':'2','b':'y'},'l':[{'name':'c','i':'1'}]}"), live,
                               "{'f:data':{'f:a':{}},'f:l':{'" KEY "':{'.':{},'f:i':{},'f:name':{}}}}"),
                    ".data.a ");
        assert_text(paths_text(json(a, "{'data':{'a':'1'},'l':[]}"), live,
                               "{'f:data':{'f:a':{}},'f:l':{'" KEY "':{'.':{},'f:i':{},'f:name':{}}}}"),
                    ".l[name=\"c\"] ");
        assert_text(paths_text(live, live, "{'f:data':{'f:a':{}}}"), "");
        assert_text(paths_text(json(a, "{}"), live, "{'f:data':{'.':{},'f:a':{}}}"), ".data ");
}

static struct str opponent(const char *entries, struct field_path p) {
        struct managed m = owners_of(a, json(a, arena_strf(a, "{'metadata':{'managedFields':[%s]}}", entries).p));

        return fight_opponent(&m, NULL, p);
}

#define ENTRY(manager, sub, fields)                                                                                    \
        "{'manager':'" manager "','operation':'Update','subresource':'" sub "','apiVersion':'v1','fieldsV1':" fields "}"

static void the_opponent_is_who_had_the_path_or_the_only_other_writer(void **state) {
        (void)state;
        assert_text(opponent(ENTRY("x", "", "{'f:spec':{'f:env':{}}}") "," ENTRY("y", "", "{'f:spec':{'f:z':{}}}"), path), "x");
        assert_text(opponent(ENTRY("y", "", "{'f:spec':{'f:z':{}}}") "," ENTRY("s", "status", "{'f:status':{}}"), path), "y");
        assert_text(opponent(ENTRY("y", "", "{'f:spec':{'f:z':{}}}") "," ENTRY("w", "", "{'f:spec':{'f:q':{}}}"), path), "");
        assert_text(opponent(ENTRY("truce-keeper", "", "{'f:spec':{'f:z':{}}}"), path), "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_edit_that_is_healed_twice_is_no_fight, setup, teardown),
                cmocka_unit_test_setup_teardown(the_third_heal_within_a_minute_begins_a_pause, setup, teardown),
                cmocka_unit_test_setup_teardown(heals_that_are_a_minute_apart_are_no_fight, setup, teardown),
                cmocka_unit_test_setup_teardown(a_retry_that_is_contested_doubles_the_pause_up_to_an_hour, setup, teardown),
                cmocka_unit_test_setup_teardown(a_path_that_kept_our_value_for_a_window_begins_anew, setup, teardown),
                cmocka_unit_test_setup_teardown(paths_are_told_apart, setup, teardown),
                cmocka_unit_test_setup_teardown(the_path_at_rest_longest_makes_room, setup, teardown),
                cmocka_unit_test_setup_teardown(the_rate_is_of_turns_a_minute, setup, teardown),
                cmocka_unit_test_setup_teardown(what_a_write_took_back_is_found, setup, teardown),
                cmocka_unit_test_setup_teardown(the_opponent_is_who_had_the_path_or_the_only_other_writer, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
