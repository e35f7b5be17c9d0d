/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"

#include "own/path_set.h"
#include "arena_test.h"

#define MANY 20000

static struct field_path below(struct field_path p, const char *element) {
        struct path_element e;

        assert_int_equal(path_element_parse(quoted(a, element), a, &e, NULL), 0);
        return field_path_join(a, p, e);
}

static struct field_path env_of(const char *container) {
        return below(below(below(dotted(a, "spec"), "f:containers"), container), "f:env");
}

static void members_are_known_with_what_is_above_and_below(void **state) {
        struct field_path env = env_of("k:{'name':'web'}"), item = below(env, "k:{'name':'A'}"), value = below(item, "f:value");
        struct path_set s;

        (void)state;
        path_set_init(&s);
        path_set_add(&s, item);
        assert_true(path_set_has(&s, item));
        assert_false(path_set_has(&s, env));
        assert_false(path_set_has(&s, value));
        assert_true(path_set_covers(&s, item));
        assert_true(path_set_covers(&s, value));
        assert_false(path_set_covers(&s, env));
        assert_true(path_set_is_over(&s, value));
        assert_false(path_set_is_over(&s, item));
        assert_false(path_set_is_over(&s, env));
        assert_true(path_set_is_under(&s, env));
        assert_true(path_set_is_under(&s, dotted(a, "spec")));
        assert_true(path_set_is_under(&s, (struct field_path){ 0 }));
        assert_false(path_set_is_under(&s, item));
        assert_false(path_set_is_under(&s, value));
        assert_false(path_set_is_under(&s, env_of("k:{'name':'other'}")));
        path_set_done(&s);
}

static void the_empty_path_is_above_everything(void **state) {
        static const struct field_path whole;
        struct path_set s;

        (void)state;
        path_set_init(&s);
        assert_false(path_set_covers(&s, whole));
        assert_false(path_set_is_under(&s, whole));
        path_set_add(&s, whole);
        assert_true(path_set_has(&s, whole));
        assert_true(path_set_covers(&s, dotted(a, "spec.replicas")));
        assert_true(path_set_is_over(&s, dotted(a, "spec.replicas")));
        assert_false(path_set_is_over(&s, whole));
        assert_false(path_set_is_under(&s, whole));
        path_set_done(&s);
}

static void paths_that_read_alike_are_not_the_same(void **state) {
        struct field_path data = dotted(a, "data");
        struct path_set s;

        (void)state;
        path_set_init(&s);
        path_set_add(&s, below(data, "f:a.b"));
        path_set_add(&s, below(data, "f:c 4\nf:d"));
        path_set_add(&s, below(data, "i:1"));
        path_set_add(&s, below(data, "v:'x'"));
        assert_false(path_set_covers(&s, below(below(data, "f:a"), "f:b")));
        assert_false(path_set_is_under(&s, below(data, "f:a")));
        assert_false(path_set_covers(&s, below(below(data, "f:c"), "f:d")));
        assert_false(path_set_is_under(&s, below(data, "f:c")));
        assert_false(path_set_covers(&s, below(data, "f:1")));
        assert_false(path_set_covers(&s, below(data, "v:1")));
        assert_false(path_set_covers(&s, below(data, "f:x")));
        assert_false(path_set_covers(&s, dotted(a, "dat")));
        path_set_done(&s);
}

/* Not by a clock: a question costs its own levels, however many members there are. */
static void a_question_costs_its_levels(void **state) {
        struct field_path labels = below(dotted(a, "metadata"), "f:labels"), p;
        struct path_set s;
        size_t before;

        (void)state;
        path_set_init(&s);
        for (unsigned i = 0; i < MANY; i++) {
                p = field_path_join(a, labels, path_field(arena_strf(a, "key-%u", i)));
                before = s.looks;
                assert_false(path_set_covers(&s, p));
                assert_int_equal(s.looks - before, p.count + 1);
                path_set_add(&s, p);
        }
        assert_int_equal(map_count(s.members), MANY);
        assert_int_equal(map_count(s.above), labels.count + 1);
        before = s.looks;
        assert_false(path_set_is_over(&s, p));
        assert_int_equal(s.looks - before, p.count);
        before = s.looks;
        assert_true(path_set_is_under(&s, labels));
        assert_int_equal(s.looks - before, 1);
        path_set_done(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(members_are_known_with_what_is_above_and_below),
                cmocka_unit_test(the_empty_path_is_above_everything),
                cmocka_unit_test(paths_that_read_alike_are_not_the_same),
                cmocka_unit_test(a_question_costs_its_levels),
        };

        return cmocka_run_group_tests_name("path_set", tests, setup, teardown);
}
