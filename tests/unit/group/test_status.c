/* SPDX-License-Identifier: Apache-2.0 */
#include "group/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "arena_test.h"
#include "base/json.h"
#include "group/conditions.h"
#include "group/spec.h"

#define T0 INT64_C(1764447360000) /* 2025-11-29T20:16:00Z */
#define T1 (T0 + 60000)

static struct group_spec spec = { .name = STR("demo"), .replicas = 3, .generation = 4 };

static struct group_status_in input(int32_t ready, int32_t groups, const struct value *before, int64_t now_ms) {
        return (struct group_status_in){
                .s = &spec,
                .before = before,
                .count = { .groups = groups, .ready = ready, .updated = groups, .ready_within = ready },
                .now_ms = now_ms,
        };
}

static const struct value *parse(const char *text) {
        const struct value *v = NULL;

        assert_int_equal(json_parse(str_from(text), a, &v, NULL), 0);
        return v;
}

static const struct value *find(const struct value *status, const char *type) {
        return conditions_find(value_getc(status, "conditions"), str_from(type));
}

/* "True GroupsUpdating 2025-11-29T20:16:00Z 4: message" */
static void expect(const struct value *status, const char *type, const char *want) {
        const struct value *c = find(status, type);
        int64_t generation = -1;

        assert_non_null(c);
        (void)value_to_i64(value_getc(c, "observedGeneration"), &generation);
        struct str have = arena_strf(a, "%.*s %.*s %.*s %lld: %.*s", STR_FMT(value_text(value_getc(c, "status"))),
                                     STR_FMT(value_text(value_getc(c, "reason"))),
                                     STR_FMT(value_text(value_getc(c, "lastTransitionTime"))), (long long)generation,
                                     STR_FMT(value_text(value_getc(c, "message"))));
        assert_string_equal(have.p, want);
}

static void expect_text(const struct value *v, const char *want) {
        assert_string_equal(value_canonical(a, v).p, want);
}

static void the_first_status_has_everything(void **state) {
        struct group_status_in in = input(0, 3, NULL, T0);

        (void)state;
        in.memory = STR("revision 1f2e3d4c5b");
        const struct value *status = group_status_build(&in, a);

        expect_text(
                value_with(a, status, STR("conditions"), NULL),
                "{\"hpaPodSelector\":\"leaderworkerset.sigs.k8s.io/name=demo,leaderworkerset.sigs.k8s.io/"
                "worker-index=0\",\"observedGeneration\":4,\"readyReplicas\":0,\"replicas\":3,\"updatedReplicas\":3}");
        assert_int_equal(value_count(value_getc(status, "conditions")), 4);
        expect(status, "Available", "False GroupsProgressing 2025-11-29T20:16:00Z 4: Replicas are progressing");
        expect(status, "Progressing", "True GroupsProgressing 2025-11-29T20:16:00Z 4: Replicas are progressing");
        expect(status, "UpdateInProgress", "False GroupsProgressing 2025-11-29T20:16:00Z 4: Replicas are progressing");
        expect(status, "truce.dev/Groups", "True Recorded 2025-11-29T20:16:00Z 4: revision 1f2e3d4c5b");
}

static void all_groups_ready_is_available(void **state) {
        struct group_status_in first = input(0, 3, NULL, T0);

        (void)state;
        const struct value *before = group_status_build(&first, a);
        struct group_status_in in = input(3, 3, before, T1);
        const struct value *status = group_status_build(&in, a);

        expect(status, "Available", "True AllGroupsReady 2025-11-29T20:17:00Z 4: All replicas are ready");
        expect(status, "Progressing", "False AllGroupsReady 2025-11-29T20:17:00Z 4: All replicas are ready");
        expect(status, "UpdateInProgress", "False AllGroupsReady 2025-11-29T20:16:00Z 4: All replicas are ready");
}

static void no_replicas_are_available_at_once(void **state) {
        struct group_status_in in = input(0, 0, NULL, T0);
        struct group_spec none = spec;
        int64_t replicas = -1;

        (void)state;
        none.replicas = 0;
        in.s = &none;
        const struct value *status = group_status_build(&in, a);

        assert_true(value_to_i64(value_getc(status, "replicas"), &replicas));
        assert_int_equal(replicas, 0);
        expect(status, "Available", "True AllGroupsReady 2025-11-29T20:16:00Z 4: All replicas are ready");
}

static void an_update_is_progress_too(void **state) {
        struct group_status_in in = input(2, 3, NULL, T0);

        (void)state;
        in.update_in_progress = true;
        const struct value *status = group_status_build(&in, a);

        expect(status, "UpdateInProgress",
               "True GroupsUpdating 2025-11-29T20:16:00Z 4: Rolling Upgrade is in progress");
        expect(status, "Progressing", "True GroupsProgressing 2025-11-29T20:16:00Z 4: Replicas are progressing");
        expect(status, "Available", "False GroupsUpdating 2025-11-29T20:16:00Z 4: Rolling Upgrade is in progress");
}

static void groups_are_counted_by_their_place(void **state) {
        static const struct group_rollout_group groups[] = { { true, true, false },
                                                             { true, true, false },
                                                             { true, false, true },
                                                             { false, true, true },
                                                             { true, true, true } };

        (void)state;
        struct group_count c = group_count_of(groups, 5, 4, 1);
        assert_int_equal(c.groups, 4);
        assert_int_equal(c.ready, 3);
        assert_int_equal(c.updated, 2);
        assert_int_equal(c.ready_within, 2);
        assert_int_equal(c.behind, 1);
}

static void nothing_changed_is_the_status_before(void **state) {
        struct group_status_in first = input(2, 3, NULL, T0);

        (void)state;
        first.memory = STR("m");
        const struct value *before = group_status_build(&first, a);
        struct group_status_in in = input(2, 3, before, T1);

        in.memory = STR("m");
        assert_ptr_equal(group_status_build(&in, a), before);
        in.memory = STR("");
        assert_ptr_equal(group_status_build(&in, a), before);
}

static void the_order_of_conditions_does_not_matter(void **state) {
        struct group_status_in first = input(2, 3, NULL, T0);
        struct value_list_builder b = { 0 };

        (void)state;
        const struct value *before = group_status_build(&first, a), *list = value_getc(before, "conditions");
        for (size_t i = list->list.count; i > 0; i--)
                value_list_add(&b, list->list.items[i - 1]);
        before = value_with(a, before, STR("conditions"), value_list_end(&b, a, 0));
        struct group_status_in in = input(2, 3, before, T1);

        assert_ptr_equal(group_status_build(&in, a), before);
}

static void what_others_wrote_is_kept(void **state) {
        const struct value *before = parse("{\"theirs\":{\"a\":1},\"conditions\":[{\"type\":\"example.org/Seen\","
                                           "\"status\":\"Unknown\",\"reason\":\"R\",\"message\":\"\","
                                           "\"lastTransitionTime\":\"2025-01-01T00:00:00Z\"}]}");
        struct group_status_in in = input(3, 3, before, T0);

        (void)state;
        const struct value *status = group_status_build(&in, a), *list = value_getc(status, "conditions");

        expect_text(value_getc(status, "theirs"), "{\"a\":1}");
        assert_true(value_equal(find(status, "example.org/Seen"), value_getc(before, "conditions")->list.items[0]));
        for (size_t i = 1; i < value_count(list); i++)
                assert_true(value_cmp(value_getc(list->list.items[i - 1], "type"),
                                      value_getc(list->list.items[i], "type")) < 0);
        const struct value *ours = group_status_ours(status, GROUP_STATUS_WHOLE, a);
        assert_null(value_getc(ours, "theirs"));
        assert_null(find(ours, "example.org/Seen"));
        assert_non_null(find(ours, "Available"));
        assert_non_null(value_getc(ours, "hpaPodSelector"));
}

static void a_new_generation_moves_no_transition(void **state) {
        struct group_status_in first = input(3, 3, NULL, T0);
        struct group_spec next = spec;

        (void)state;
        struct group_status_in in = input(3, 3, group_status_build(&first, a), T1);
        next.generation = 5;
        in.s = &next;
        expect(group_status_build(&in, a), "Available",
               "True AllGroupsReady 2025-11-29T20:16:00Z 5: All replicas are ready");
}

static void a_trouble_comes_and_is_resolved(void **state) {
        const struct group_condition trouble = { GROUP_CONDITION_BACKOFF, true, "BackOff", STR("group 1 waits 20 s") };
        const struct group_condition off = { GROUP_CONDITION_STUCK, false, "Gone", STR("") };
        struct group_status_in in = input(2, 3, NULL, T0);

        (void)state;
        in.extra = &trouble;
        in.extra_count = 1;
        const struct value *status = group_status_build(&in, a);
        expect(status, "RestartBackoff", "True BackOff 2025-11-29T20:16:00Z 4: group 1 waits 20 s");

        in = input(2, 3, status, T1);
        in.extra = &off;
        in.extra_count = 1;
        status = group_status_build(&in, a);
        expect(status, "RestartBackoff", "False Resolved 2025-11-29T20:17:00Z 4: ");
        assert_null(find(status, "TerminatingStuck"));
}

static void degraded_is_no_progress(void **state) {
        const struct group_condition trouble = { GROUP_CONDITION_DEGRADED, true, "ReplicaRestartBudgetExceeded",
                                                 STR("group 1 was restarted 4 times") };
        struct group_status_in in = input(2, 2, NULL, T0);

        (void)state;
        in.extra = &trouble;
        in.extra_count = 1;
        const struct value *status = group_status_build(&in, a);
        expect(status, "Progressing",
               "False ReplicaRestartBudgetExceeded 2025-11-29T20:16:00Z 4: group 1 was restarted 4 times");
        expect(status, "Degraded",
               "True ReplicaRestartBudgetExceeded 2025-11-29T20:16:00Z 4: group 1 was restarted 4 times");
}

static void a_spec_that_cannot_be_acted_on_leaves_what_serves_available(void **state) {
        const struct group_condition stalled = { GROUP_CONDITION_STALLED, true, "InvalidSpec",
                                                 STR("spec.replicas: no") };
        struct group_status_in first = input(3, 3, NULL, T0);

        (void)state;
        struct group_status_in in = input(3, 3, group_status_build(&first, a), T1);
        in.scope = GROUP_STATUS_STALLED;
        in.extra = &stalled;
        in.extra_count = 1;
        const struct value *status = group_status_build(&in, a);
        expect(status, "Available", "True AllGroupsReady 2025-11-29T20:16:00Z 4: All replicas are ready");
        expect(status, "Stalled", "True InvalidSpec 2025-11-29T20:17:00Z 4: spec.replicas: no");

        in.count.ready = 2;
        status = group_status_build(&in, a);
        expect(status, "Available", "False InvalidSpec 2025-11-29T20:17:00Z 4: spec.replicas: no");
        expect(status, "Progressing", "False InvalidSpec 2025-11-29T20:16:00Z 4: spec.replicas: no");
}

static void the_status_of_somebody_else_is_left_alone(void **state) {
        const struct group_condition stalled = { GROUP_CONDITION_STALLED, true, "ForeignController", STR("x") };
        const struct value *before =
                parse("{\"replicas\":7,\"observedGeneration\":2,\"conditions\":[{\"type\":\"Available\","
                      "\"status\":\"True\"},{\"type\":\"Degraded\",\"status\":\"True\"}]}");
        struct group_status_in in = input(0, 0, before, T0);

        (void)state;
        in.scope = GROUP_STATUS_FOREIGN;
        in.extra = &stalled;
        in.extra_count = 1;
        const struct value *status = group_status_build(&in, a);
        expect_text(value_with(a, status, STR("conditions"), NULL), "{\"observedGeneration\":2,\"replicas\":7}");
        expect_text(find(status, "Available"), "{\"status\":\"True\",\"type\":\"Available\"}");
        expect_text(find(status, "Degraded"), "{\"status\":\"True\",\"type\":\"Degraded\"}");
        const struct value *ours = group_status_ours(status, in.scope, a);
        assert_int_equal(value_count(ours), 1);
        assert_int_equal(value_count(value_getc(ours, "conditions")), 1);

        in.extra_count = 0;
        in.before = NULL;
        expect_text(group_status_build(&in, a), "{}");
}

/* --- events ----------------------------------------------------------------------------------------------------- */

static void expect_told(const struct value *before, const struct value *after, const char *want) {
        const struct group_told *told;
        struct str all = STR("");
        size_t count;

        group_status_events(before, after, 3, a, &told, &count);
        for (size_t i = 0; i < count; i++)
                all = arena_strf(a, "%.*s%s %.*s %.*s\n", STR_FMT(all), told[i].warning ? "Warning" : "Normal",
                                 STR_FMT(told[i].reason), STR_FMT(told[i].message));
        assert_string_equal(all.n ? all.p : "", want);
}

static void a_change_of_phase_is_told_once_with_the_counts(void **state) {
        struct group_status_in in = input(0, 3, NULL, T0);

        (void)state;
        const struct value *first = group_status_build(&in, a);
        in = input(2, 3, first, T1);
        const struct value *two = group_status_build(&in, a);
        in = input(3, 3, two, T1);
        const struct value *all = group_status_build(&in, a);
        in = input(2, 3, all, T1);
        in.update_in_progress = true;
        const struct value *update = group_status_build(&in, a);
        in = input(2, 3, update, T1);
        const struct value *last = group_status_build(&in, a);

        expect_told(NULL, first,
                    "Normal GroupsProgressing Replicas are progressing, with 0 groups ready of total 3 groups\n");
        expect_told(first, two, "");
        expect_told(two, all, "Normal AllGroupsReady All replicas are ready, with 3 groups ready of total 3 groups\n");
        expect_told(all, update,
                    "Normal GroupsUpdating Rolling Upgrade is in progress, with 2 groups ready of total 3 groups\n");
        expect_told(update, last,
                    "Normal GroupsProgressing Replicas are progressing, with 2 groups ready of total 3 groups\n");
        expect_told(last, last, "");
}

static void a_trouble_is_a_warning_when_it_comes(void **state) {
        const struct group_condition trouble = { GROUP_CONDITION_STALLED, true, "InvalidSpec",
                                                 STR("spec.replicas: no") };
        struct group_status_in in = input(3, 3, NULL, T0);

        (void)state;
        const struct value *before = group_status_build(&in, a);
        in = input(3, 3, before, T1);
        in.extra = &trouble;
        in.extra_count = 1;
        const struct value *after = group_status_build(&in, a);
        in = input(3, 3, after, T1);
        const struct value *resolved = group_status_build(&in, a);

        expect_told(before, after, "Warning InvalidSpec spec.replicas: no\n");
        expect_told(after, after, "");
        expect_told(after, resolved, "");
}

/* --- conditions ------------------------------------------------------------------------------------------------- */

static void a_transition_time_moves_only_on_a_flip(void **state) {
        static const struct condition on = { STR("X"), true, STR("R"), STR("m") };
        static const struct condition other = { STR("X"), true, STR("S"), STR("n") };
        static const struct condition off = { STR("X"), false, STR("R"), STR("m") };

        (void)state;
        const struct value *list = conditions_set(NULL, &on, 1, 1, T0, a);
        assert_ptr_equal(conditions_set(list, &on, 1, 1, T1, a), list);
        list = conditions_set(list, &other, 1, 2, T1, a);
        expect_text(list,
                    "[{\"lastTransitionTime\":\"2025-11-29T20:16:00Z\",\"message\":\"n\",\"observedGeneration\":2,"
                    "\"reason\":\"S\",\"status\":\"True\",\"type\":\"X\"}]");
        list = conditions_set(list, &off, 1, 2, T1, a);
        expect_text(value_getc(list->list.items[0], "lastTransitionTime"), "\"2025-11-29T20:17:00Z\"");
}

static void a_broken_list_is_made_good(void **state) {
        static const struct condition set[] = { { STR("X"), true, STR("R"), STR("old") },
                                                { STR("X"), true, STR("R"), STR("new") } };

        (void)state;
        const struct value *list = conditions_set(&value_true, set, 2, 1, T0, a);
        assert_int_equal(value_count(list), 1);
        assert_true(conditions_on(list, STR("X")));
        expect_text(value_getc(list->list.items[0], "message"), "\"new\"");
        assert_false(conditions_on(list, STR("Y")));

        const struct value *twice = parse("[{\"type\":\"X\",\"status\":\"True\",\"lastTransitionTime\":\"then\"},1,"
                                          "{\"type\":\"X\"},null]");
        list = conditions_set(twice, set, 2, 1, T0, a);
        assert_int_equal(value_count(list), 3);
        expect_text(value_getc(conditions_find(list, STR("X")), "lastTransitionTime"), "\"2025-11-29T20:16:00Z\"");
}

static void a_long_message_is_cut_between_characters(void **state) {
        char *text = arena_zalloc(a, CONDITION_MESSAGE_MAX_BYTES + 8);
        struct condition c = { STR("X"), true, STR("R"), { text, CONDITION_MESSAGE_MAX_BYTES } };

        (void)state;
        memset(text, 'a', CONDITION_MESSAGE_MAX_BYTES + 7);
        assert_int_equal(value_text(value_getc(conditions_set(NULL, &c, 1, 1, T0, a)->list.items[0], "message")).n,
                         CONDITION_MESSAGE_MAX_BYTES);
        c.message.n = CONDITION_MESSAGE_MAX_BYTES + 7;
        memcpy(text + CONDITION_MESSAGE_MAX_BYTES - 2, "\xe2\x82\xac", 3);
        struct str cut = value_text(value_getc(conditions_set(NULL, &c, 1, 1, T0, a)->list.items[0], "message"));
        assert_int_equal(cut.n, CONDITION_MESSAGE_MAX_BYTES - 2);
        assert_true(str_is_utf8(cut));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_first_status_has_everything, setup, teardown),
                cmocka_unit_test_setup_teardown(all_groups_ready_is_available, setup, teardown),
                cmocka_unit_test_setup_teardown(no_replicas_are_available_at_once, setup, teardown),
                cmocka_unit_test_setup_teardown(an_update_is_progress_too, setup, teardown),
                cmocka_unit_test_setup_teardown(groups_are_counted_by_their_place, setup, teardown),
                cmocka_unit_test_setup_teardown(nothing_changed_is_the_status_before, setup, teardown),
                cmocka_unit_test_setup_teardown(the_order_of_conditions_does_not_matter, setup, teardown),
                cmocka_unit_test_setup_teardown(what_others_wrote_is_kept, setup, teardown),
                cmocka_unit_test_setup_teardown(a_new_generation_moves_no_transition, setup, teardown),
                cmocka_unit_test_setup_teardown(a_trouble_comes_and_is_resolved, setup, teardown),
                cmocka_unit_test_setup_teardown(degraded_is_no_progress, setup, teardown),
                cmocka_unit_test_setup_teardown(a_spec_that_cannot_be_acted_on_leaves_what_serves_available, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(the_status_of_somebody_else_is_left_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(a_change_of_phase_is_told_once_with_the_counts, setup, teardown),
                cmocka_unit_test_setup_teardown(a_trouble_is_a_warning_when_it_comes, setup, teardown),
                cmocka_unit_test_setup_teardown(a_transition_time_moves_only_on_a_flip, setup, teardown),
                cmocka_unit_test_setup_teardown(a_broken_list_is_made_good, setup, teardown),
                cmocka_unit_test_setup_teardown(a_long_message_is_cut_between_characters, setup, teardown),
        };

        return cmocka_run_group_tests_name("status of a set", tests, NULL, NULL);
}
