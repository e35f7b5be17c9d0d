/* SPDX-License-Identifier: Apache-2.0 */
/* What `truce groups` prints of a set. */
#include "cli/groups_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/limits.h"

static struct group_row rows[] = {
        { .index = 0, .revision = STR("51aa000000"), .ready = true, .members = 4, .ready_members = 4, .size = 4,
          .state = STR("Ready") },
        { .index = 1, .revision = STR("6f2c000000"), .updated = true, .members = 4, .ready_members = 3, .size = 4, .restarts = 2,
          .state = STR("Pending"), .waiting_for = STR("worker llama-1-1: 0/3 nodes have 8 gpu \x1b[31m") },
        { .index = 2, .revision = STR("6f2c000000"), .updated = true, .surge = true, .ready = true, .members = 4,
          .ready_members = 4, .size = 4, .state = STR("Ready") },
};
static struct group_spec spec = { .ns = STR("ml"), .name = STR("llama"), .replicas = 2 };
static struct group_plan plan = { .rows = rows, .row_count = 3 };

static struct groups_view view_of(struct arena *a, const char *conditions) {
        const struct value *status;

        assert_int_equal(json_parse(arena_strf(a, "{\"conditions\":[%s]}", conditions), a, &status, NULL), 0);
        return (struct groups_view){ .spec = &spec, .plan = &plan, .status = status, .ours = true };
}

static void a_set_is_a_line_of_sums_and_a_line_for_each_group(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        struct groups_view v = view_of(a, "{\"type\":\"Available\",\"status\":\"True\",\"message\":\"fine\"},"
                                          "{\"type\":\"UpdateInProgress\",\"status\":\"True\",\"message\":\"rolling\"}");

        (void)state;
        v.scaler = STR("HPA ml/llama");
        groups_view_head(groups_view_width(&v), &out);
        groups_view_table(&v, groups_view_width(&v), false, &out);
        assert_string_equal(out.p,
                            "LWS       GROUPS  READY  UPDATED  RESTARTS  NOW\n"
                            "ml/llama  3/2     2      2/2      2         rolling\n"
                            "  GROUP  READY  MEMBERS  REVISION    RESTARTS  STATE          WAITING-FOR\n"
                            "  0      yes    4/4      old 51aa00  0         Ready          \n"
                            "  1      no     3/4      new 6f2c00  2         Pending        worker llama-1-1: 0/3 nodes have 8 gpu "
                            "\\x1b[31m\n"
                            "  2      yes    4/4      new 6f2c00  0         Ready (surge)  \n"
                            "  replicas 2 are set by HPA ml/llama\n");
}

static void what_is_in_the_way_comes_first(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct groups_view v = view_of(a, "{\"type\":\"Available\",\"status\":\"True\",\"message\":\"fine\"},"
                                          "{\"type\":\"WritesBlocked\",\"status\":\"True\",\"message\":\"no right\"},"
                                          "{\"type\":\"Stalled\",\"status\":\"False\",\"message\":\"was stalled\"}");

        (void)state;
        assert_string_equal(value_text(value_getc(groups_view_value(&v, a), "now")).p, "no right");
        v.ours = false;
        assert_non_null(strstr(value_text(value_getc(groups_view_value(&v, a), "now")).p, "not run by truce"));
        v.foreign = STR("StatefulSet llama");
        assert_non_null(strstr(value_text(value_getc(groups_view_value(&v, a), "now")).p, "StatefulSet llama"));
}

static void machines_are_told_what_comes_next(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct group_action actions[] = {
                { .kind = GROUP_DELETE, .object = GROUP_POD, .name = STR("llama-1"), .group = 1, .why = "roll" },
        };
        struct group_plan with = { .rows = rows, .row_count = 3, .actions = actions, .action_count = 1 };
        struct groups_view v = view_of(a, "");
        const struct value *next;

        (void)state;
        v.plan = &with;
        next = value_getc(groups_view_value(&v, a), "next");
        assert_int_equal(value_count(next), 1);
        assert_string_equal(value_canonical(a, next).p,
                            "[{\"kind\":\"Pod\",\"name\":\"llama-1\",\"verb\":\"delete\",\"why\":\"roll\"}]");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_set_is_a_line_of_sums_and_a_line_for_each_group),
                cmocka_unit_test(what_is_in_the_way_comes_first),
                cmocka_unit_test(machines_are_told_what_comes_next),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
