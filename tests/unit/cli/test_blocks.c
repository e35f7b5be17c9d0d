/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/buf.h"

static const struct block all[] = {
        { { STR("infra"), STR(""), 0, STR("") }, STR("infra:"), 0 },
        { { STR("infra"), STR("a.yaml"), 9, STR("/ConfigMap/x/a") }, STR("1"), 0 },
        { { STR("infra"), STR("a.yaml"), 10, STR("/ConfigMap/x/b") }, STR("2"), 0 },
        { { STR("infra"), STR("b.yaml"), 1, STR("/ConfigMap/x/c") }, STR("3"), 0 },
        { { STR("infra"), STR("b.yaml"), 1, STR("/ConfigMap/x/d") }, STR("4"), 0 },
        { { STR("infra"), STR(""), 0, STR("/ConfigMap/x/Z") }, STR("5"), 0 },
        { { STR("shop"), STR(""), 0, STR("") }, STR("shop:"), 0 },
        { { STR("shop"), STR("a.yaml"), 1, STR("/ConfigMap/x/a") }, STR("6"), 0 },
};

static void assert_printed(struct blocks *b, const char *wanted) {
        _cleanup_(buf_done) struct buf out = buf_make(1024);
        size_t count;
        const struct block *const *sorted = blocks_sorted(b, &count);

        for (size_t i = 0; i < count; i++)
                buf_add(&out, sorted[i]->text);
        assert_string_equal(out.p, wanted);
}

static void the_order_is_not_that_of_arrival(void **state) {
        (void)state;
        for (size_t first = 0; first < ARRAY_LEN(all); first++) {
                struct blocks *b = blocks_new();

                for (size_t i = ARRAY_LEN(all); i > 0; i--)
                        blocks_set(b, &all[(first + 3 * i) % ARRAY_LEN(all)]);
                assert_printed(b, "infra:12345shop:6");
                blocks_free(b);
        }
}

static void what_was_said_before_is_replaced(void **state) {
        struct blocks *b = blocks_new();
        struct block moved = all[1];

        (void)state;
        blocks_set(b, &all[1]);
        blocks_set(b, &all[2]);
        blocks_set(b, &all[7]);
        moved.key.file = STR("z.yaml");
        moved.text = STR("moved");
        blocks_set(b, &moved);
        assert_printed(b, "2moved6");
        moved.text = STR("");
        blocks_set(b, &moved);
        assert_printed(b, "26");
        blocks_free(b);
}

static void nothing_is_printed_of_none(void **state) {
        struct blocks *b = blocks_new();

        (void)state;
        assert_printed(b, "");
        blocks_free(b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_order_is_not_that_of_arrival),
                cmocka_unit_test(what_was_said_before_is_replaced),
                cmocka_unit_test(nothing_is_printed_of_none),
        };

        return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
