/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/limits.h"
#include "diff/print.h"

#include "random_tree.h"

static const struct value *json(struct arena *a, const char *text) {
        const struct value *v = NULL;
        struct err err = { 0 };

        if (json_parse(str_from(text), a, &v, &err) < 0)
                fail_msg("%s: %s", text, err.msg);
        return v;
}

static void one_side_at_least_must_be_an_object(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct diff d = { .count = 77 };
        struct err err = { 0 };

        (void)state;
        assert_int_equal(diff_compare(&(struct diff_input){ 0 }, a, &d, &err), ERR_INVAL);
        assert_string_equal(err.msg, "nothing to compare");
        assert_int_equal(
                diff_compare(&(struct diff_input){ .before = &value_null, .after = &value_empty_map }, a, &d, NULL),
                ERR_INVAL);
        assert_int_equal(
                diff_compare(&(struct diff_input){ .before = &value_empty_map, .after = &value_true }, a, &d, NULL),
                ERR_INVAL);
        assert_int_equal(d.count, 77);
}

static void unreadable_owners_are_an_error(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *bad = json(a, "{\"metadata\":{\"managedFields\":7}}");
        struct diff d = { .count = 77 };
        struct err err = { 0 };

        (void)state;
        assert_int_equal(diff_compare(&(struct diff_input){ .before = bad, .after = &value_empty_map }, a, &d, &err),
                         ERR_PARSE);
        assert_non_null(strstr(err.msg, "the live object: "));
        assert_int_equal(diff_compare(&(struct diff_input){ .before = &value_empty_map, .after = bad }, a, &d, &err),
                         ERR_PARSE);
        assert_non_null(strstr(err.msg, "the server's answer: "));
        assert_int_equal(d.count, 77);
}

static void what_the_server_keeps_for_itself_is_not_compared(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *x =
                json(a, "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"1\",\"generation\":1,\"uid\":\"u\","
                        "\"creationTimestamp\":\"t\",\"selfLink\":\"s\"},\"status\":{\"a\":1}}");
        const struct value *y =
                json(a, "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"2\",\"managedFields\":[]}}");
        struct diff d;

        (void)state;
        assert_int_equal(diff_compare(&(struct diff_input){ .before = x, .after = y }, a, &d, NULL), 0);
        assert_int_equal(d.count, 0);
        assert_false(diff_differs(&d));
}

static const struct value *random_object(struct dice *dice, struct arena *a, bool lists) {
        const struct value *v = random_tree(dice, a, 5, lists);

        return value_with(a, value_with(a, &value_empty_map, STR("spec"), v), STR("kind"), value_stringc(a, "Thing"));
}

static void nothing_differs_from_itself(void **state) {
        struct dice dice = { 3 };

        (void)state;
        for (int round = 0; round < 1000; round++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0), *b = arena_new(0);
                const struct value *x = random_object(&dice, a, true);
                struct diff d;

                assert_int_equal(
                        diff_compare(&(struct diff_input){ .before = x, .after = value_dup(b, x) }, a, &d, NULL), 0);
                assert_int_equal(d.count, 0);
        }
}

/* Of maps only: with lists, places move as items come and go. */
static void differences_applied_to_before_give_after(void **state) {
        struct dice dice = { 11 };
        size_t applied = 0;

        (void)state;
        for (int round = 0; round < 2000; round++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                const struct value *x = random_object(&dice, a, false), *y, *have = x;
                struct diff d;

                y = value_with(a, x, STR("spec"), random_edit(&dice, a, value_getc(x, "spec"), false));
                assert_int_equal(diff_compare(&(struct diff_input){ .before = x, .after = y }, a, &d, NULL), 0);
                for (size_t i = 0; i < d.count; i++, applied++) {
                        const struct diff_entry *e = &d.entries[i];

                        assert_true(value_equal(field_path_find(x, e->path, NULL), e->before));
                        if (e->kind == DIFF_REMOVED)
                                have = field_path_remove(a, have, e->path, NULL);
                        else
                                assert_int_equal(field_path_set(a, have, e->path, NULL, e->after, &have, NULL), 0);
                }
                assert_true(value_equal(have, y));
        }
        assert_true(applied > 1000);
}

/* Random owners: each claims a few of the tree's fields. */
static const struct value *with_owners(struct dice *dice, struct arena *a, const struct value *object) {
        static const char *const entries[] = {
                "{\"manager\":\"truce\",\"operation\":\"Apply\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\","
                "\"fieldsV1\":"
                "{\"f:spec\":{\"f:a\":{},\"f:env\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\".\":{},\"f:value\":{}}}}}}",
                "{\"manager\":\"kubectl-edit\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2025-11-29T19:"
                "00:00Z\","
                "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:b\":{\"f:a\":{},\"f:b\":{}},\"f:name\":{}}}"
                "}",
                ("{\"manager\":\"x\\u001b[0m\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"subresource\":"
                 "\"scale\","
                 "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:env\":{\"v:\\\"a\\\"\":{}}}}}"),
        };
        struct value_list_builder list = { 0 };
        const struct str way[] = { STR("metadata"), STR("managedFields") };

        for (size_t i = 0; i < ARRAY_LEN(entries); i++)
                if (roll(dice, 3))
                        value_list_add(&list, json(a, entries[i]));
        return value_with_path(a, object, way, 2, value_list_end(&list, a, 0));
}

static void assert_printable(struct str out) {
        assert_true(str_is_utf8(out));
        for (size_t i = 0; i < out.n; i++)
                assert_false((unsigned char)out.p[i] < 0x20 && out.p[i] != '\n');
        assert_false(str_contains(out, STR("\xe2\x80\xae")));
}

static void print_all_formats(const struct diff *d, struct arena *a) {
        for (int format = DIFF_TEXT; format <= DIFF_JSON; format++) {
                _cleanup_(buf_done) struct buf out = buf_make(4 * MIB);
                struct diff_printer p = { .format = (enum diff_format)format,
                                          .style = { .now_ms = INT64_C(1764447360000) } };
                const struct value *parsed;

                diff_print_begin(&p, &out);
                diff_print_object(&p, d, &out);
                diff_print_object(&p, d, &out);
                diff_print_end(&p, &(struct diff_totals){ .exit_code = -1 }, &out);
                assert_int_equal(buf_check(&out, "output", NULL), 0);
                assert_printable(buf_str(&out));
                if (format == DIFF_JSON)
                        assert_int_equal(json_parse(buf_str(&out), a, &parsed, NULL), 0);
        }
}

static void random_trees_do_no_harm(void **state) {
        struct dice dice = { 5 };
        size_t reordered = 0, entries = 0;

        (void)state;
        for (int round = 0; round < 2000; round++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                _cleanup_(buf_done) struct buf summary = buf_make(KIB);
                const struct value *x = random_object(&dice, a, true);
                const struct value *y =
                        value_with(a, x, STR("spec"), random_edit(&dice, a, value_getc(x, "spec"), true));
                struct path_element steps[] = { path_field(STR("spec")), path_field(STR("env")) };
                struct decide_note notes[] = {
                        { .kind = (enum decide_note_kind)roll(&dice, 7), .path = { steps, 2 }, .rule = "a rule" },
                        { .kind = (enum decide_note_kind)roll(&dice, 7),
                          .path = { steps, 1 },
                          .owner = STR("o"),
                          .rule = "r" },
                };
                struct diff_input in = { .before = with_owners(&dice, a, x),
                                         .after = with_owners(&dice, a, y),
                                         .desired = y,
                                         .notes = notes,
                                         .note_count = roll(&dice, 3) };
                struct diff d;

                assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
                print_all_formats(&d, a);
                diff_summary(&d, &summary);
                assert_printable(buf_str(&summary));
                for (size_t i = 0; i < d.count; i++)
                        reordered += d.entries[i].kind == DIFF_REORDERED;
                entries += d.count;
        }
        assert_true(entries > 1000);
        assert_true(reordered > 0);
}

static void a_created_and_a_removed_object_are_one_difference_each(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *x =
                json(a, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\","
                        "\"namespace\":\"shop\",\"uid\":\"u\"},\"spec\":{\"a\":1},\"status\":{}}");
        struct diff d;

        (void)state;
        assert_int_equal(diff_compare(&(struct diff_input){ .after = x }, a, &d, NULL), 0);
        assert_true(d.created && !d.removed && d.count == 1 && diff_differs(&d));
        assert_int_equal(d.entries[0].kind, DIFF_ADDED);
        assert_int_equal(d.entries[0].class, DIFF_OURS);
        assert_int_equal(d.entries[0].path.count, 0);
        assert_null(value_getc(d.entries[0].after, "status"));
        assert_null(value_path(d.entries[0].after, "metadata", "uid", NULL));
        assert_true(str_eqc(d.group, "apps") && str_eqc(d.kind, "Deployment") && str_eqc(d.ns, "shop") &&
                    str_eqc(d.name, "web"));

        assert_int_equal(diff_compare(&(struct diff_input){ .before = x }, a, &d, NULL), 0);
        assert_true(d.removed && !d.created && d.count == 1 && diff_differs(&d));
        assert_int_equal(d.entries[0].kind, DIFF_REMOVED);
}

static void a_due_hand_over_is_masked_also_when_the_path_would_vanish(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct path_element steps[] = { path_field(STR("spec")), path_field(STR("replicas")) };
        struct decide_note note = { .kind = DECIDE_HANDOVER_DUE,
                                    .path = { steps, 2 },
                                    .rule = "a hand-over comes first" };
        static const char *const sides[] = {
                "{\"spec\":{\"replicas\":6}}",
                "{\"spec\":{\"replicas\":1}}",
                "{\"spec\":{}}",
                "{}",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
                struct diff_input in = {
                        .before = json(a, sides[0]), .after = json(a, sides[i]), .notes = &note, .note_count = 1
                };
                struct diff d;

                assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
                assert_int_equal(d.count, 0);
                assert_int_equal(d.note_count, 1);
                assert_int_equal(d.notes[0].live->i64, 6);
        }
}

static uint32_t line_from_length(void *ctx, struct field_path path) {
        return *(uint32_t *)ctx + (uint32_t)path.count;
}

static void what_may_differ_is_told_only_where_it_does(void **state) {
        static const struct {
                const char *live, *git;
                size_t told;
        } rows[] = {
                { "{\"spec\":{\"replicas\":2}}", "{\"spec\":{\"replicas\":2}}", 0 },
                { "{\"spec\":{\"replicas\":3}}", "{\"spec\":{\"replicas\":2}}", 1 },
                { "{\"spec\":{\"replicas\":3}}", "{\"spec\":{}}", 1 },
                { "{\"spec\":{}}", "{\"spec\":{\"replicas\":2}}", 1 },
                { "{\"spec\":{}}", "{\"spec\":{}}", 0 },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                struct decide_note note = { .kind = DECIDE_IGNORED, .rule = "ignoreDifferences" };
                const struct value *live = json(a, rows[i].live);
                struct diff d;

                assert_int_equal(field_path_from_dotted(STR("spec.replicas"), a, &note.path, NULL), 0);
                assert_int_equal(diff_compare(&(struct diff_input){ .before = live, .after = live, .notes = &note, .note_count = 1,
                                                                    .desired = json(a, rows[i].git) },
                                              a, &d, NULL), 0);
                assert_int_equal(d.note_count, rows[i].told);
        }
}

static void lines_come_from_the_caller_when_it_knows_them(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        uint32_t base = 100;
        struct diff_input in = { .before = json(a, "{\"spec\":{\"a\":1,\"gone\":1}}"),
                                 .after = json(a, "{\"spec\":{\"a\":2}}"),
                                 .line_of = line_from_length,
                                 .line_ctx = &base };
        struct diff d;

        (void)state;
        assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
        assert_int_equal(d.count, 2);
        assert_int_equal(d.entries[0].line, 102);
        /* What is gone is looked for where it stood. */
        assert_int_equal(d.entries[1].line, 101);
}

static const struct value *numbered(struct arena *a, size_t count, const char *value) {
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < count; i++)
                value_map_add(&b, arena_strf(a, "k%05zu", i), value_stringc(a, value), 0);
        return value_with(a, &value_empty_map, STR("data"), value_map_end(&b, a, 0));
}

static void differences_beyond_the_cap_are_counted(void **state) {
        (void)state;
        for (size_t over = 0; over < 2; over++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                size_t count = DIFF_MAX_ENTRIES + over;
                struct diff_input in = { .before = numbered(a, count, "x"), .after = numbered(a, count, "y") };
                struct diff d;

                assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
                assert_int_equal(d.count, DIFF_MAX_ENTRIES);
                assert_int_equal(d.left_out, over);
        }
}

static const struct value *nested(struct arena *a, size_t depth, const struct value *leaf) {
        while (depth-- > 0)
                leaf = value_with(a, &value_empty_map, STR("d"), leaf);
        return leaf;
}

static void trees_deeper_than_paths_differ_at_the_deepest_path(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        static const size_t depths[] = { JSON_MAX_DEPTH, JSON_MAX_DEPTH + 1, JSON_MAX_DEPTH + 40 };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(depths); i++) {
                struct diff_input in = { .before = nested(a, depths[i], &value_true),
                                         .after = nested(a, depths[i], &value_false) };
                struct diff d;

                assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
                assert_int_equal(d.count, 1);
                assert_int_equal(d.entries[0].path.count, JSON_MAX_DEPTH);
        }
}

static void an_answer_without_owners_is_judged_by_what_git_says(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *owned =
                json(a, "{\"metadata\":{\"managedFields\":[{\"manager\":\"truce\",\"operation\":\"Apply\","
                        "\"apiVersion\":\"v1\",\"fieldsV1\":{\"f:data\":{\"f:old\":{}}}}]},"
                        "\"data\":{\"old\":\"x\"}}");
        struct diff_input in = { .before = owned,
                                 .after = json(a, "{\"metadata\":{},\"data\":{\"asked\":\"x\",\"given\":\"y\"}}"),
                                 .desired = json(a, "{\"data\":{\"asked\":\"x\"}}") };
        struct diff d;

        (void)state;
        assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
        assert_int_equal(d.count, 3);
        assert_int_equal(d.entries[0].class, DIFF_OURS);
        assert_int_equal(d.entries[1].class, DIFF_ADMISSION);
        assert_int_equal(d.entries[2].class, DIFF_OURS);
}

static void the_latest_of_the_other_writers_is_named(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct path_element steps[] = { path_field(STR("data")), path_field(STR("k")) };
        const struct fieldset *set = fieldset_insert(a, &fieldset_empty, (struct field_path){ steps, 2 });
        const struct managed_entry writers[] = {
                { .manager = STR("early"),
                  .operation = MANAGED_UPDATE,
                  .time = STR("2025-11-29T10:00:00Z"),
                  .set = set },
                { .manager = STR("late"),
                  .operation = MANAGED_UPDATE,
                  .time = STR("2025-11-29T12:00:00Z"),
                  .set = set },
                { .manager = STR("middle"),
                  .operation = MANAGED_UPDATE,
                  .time = STR("2025-11-29T11:00:00Z"),
                  .set = set },
                { .manager = STR("truce"),
                  .operation = MANAGED_APPLY,
                  .time = STR("2025-11-29T13:00:00Z"),
                  .set = set },
        };
        const struct managed owners = { writers, ARRAY_LEN(writers) };
        struct diff_input in = { .before = json(a, "{\"data\":{\"k\":\"x\"}}"),
                                 .after = json(a, "{\"data\":{\"k\":\"y\"}}"),
                                 .before_owners = &owners,
                                 .after_owners = &owners };
        struct diff d;

        (void)state;
        assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
        assert_int_equal(d.count, 1);
        assert_true(str_eqc(d.entries[0].owner.manager, "late"));
}

static void lists_with_repeated_keys_are_compared_by_place(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct diff_input in = {
                .before = json(
                        a, "{\"spec\":{\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"A\",\"value\":\"2\"}]}}"),
                .after = json(
                        a, "{\"spec\":{\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"A\",\"value\":\"3\"}]}}"),
        };
        struct diff d;

        (void)state;
        assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
        assert_int_equal(d.count, 1);
        assert_int_equal(d.entries[0].path.elements[2].kind, PATH_INDEX);
        assert_int_equal(d.entries[0].path.elements[2].index, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_may_differ_is_told_only_where_it_does),
                cmocka_unit_test(one_side_at_least_must_be_an_object),
                cmocka_unit_test(unreadable_owners_are_an_error),
                cmocka_unit_test(what_the_server_keeps_for_itself_is_not_compared),
                cmocka_unit_test(nothing_differs_from_itself),
                cmocka_unit_test(differences_applied_to_before_give_after),
                cmocka_unit_test(random_trees_do_no_harm),
                cmocka_unit_test(a_created_and_a_removed_object_are_one_difference_each),
                cmocka_unit_test(a_due_hand_over_is_masked_also_when_the_path_would_vanish),
                cmocka_unit_test(lines_come_from_the_caller_when_it_knows_them),
                cmocka_unit_test(differences_beyond_the_cap_are_counted),
                cmocka_unit_test(trees_deeper_than_paths_differ_at_the_deepest_path),
                cmocka_unit_test(an_answer_without_owners_is_judged_by_what_git_says),
                cmocka_unit_test(the_latest_of_the_other_writers_is_named),
                cmocka_unit_test(lists_with_repeated_keys_are_compared_by_place),
        };

        return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
