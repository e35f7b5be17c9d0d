/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void add(struct grid *g, struct str first, struct str second, bool loud) {
        const struct str cells[] = { first, second };

        grid_add(g, cells, loud);
}

static void a_column_is_as_wide_as_its_widest_cell(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(4096);
        struct grid g = grid_make(a, 2);

        (void)state;
        add(&g, STR("a"), STR("one"), false);
        add(&g, STR("four"), STR("two"), false);
        add(&g, STR("日本"), STR(""), false);
        grid_print(&g, " ", false, &out);
        assert_string_equal(out.p, " a     one\n four  two\n 日本  \n");
}

static void colour_is_for_loud_rows_and_changes_no_width(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf plain = buf_make(4096), coloured = buf_make(4096);
        struct grid g = grid_make(a, 2);

        (void)state;
        add(&g, STR("quiet"), STR("x"), false);
        add(&g, STR("loud"), STR("y"), true);
        grid_print(&g, "", false, &plain);
        grid_print(&g, "", true, &coloured);
        assert_string_equal(plain.p, "quiet  x\nloud   y\n");
        assert_string_equal(coloured.p, "quiet  x\n\033[33mloud   y\033[0m\n");
}

static void rows_may_be_many(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);
        struct grid g = grid_make(a, 2);

        (void)state;
        for (int i = 0; i < 1000; i++)
                add(&g, arena_strf(a, "%d", i), STR("."), false);
        grid_print(&g, "", false, &out);
        assert_int_equal(out.n, 1000 * (3 + 2 + 1 + 1));
        assert_memory_equal(out.p + out.n - 7, "999  .\n", 7);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_column_is_as_wide_as_its_widest_cell),
                cmocka_unit_test(colour_is_for_loud_rows_and_changes_no_width),
                cmocka_unit_test(rows_may_be_many),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
