/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/buf.h"

static unsigned freed;

static void count_free(void *value) {
        (void)value;
        freed++;
}

static struct str key_of(char *out, size_t size, unsigned i) {
        snprintf(out, size, "key-%u", i);
        return str_from(out);
}

static void set_values_are_found(void **state) {
        struct map *m = map_new(NULL);
        int one = 1, two = 2;

        (void)state;
        assert_null(map_find(m, STR("a")));
        map_set(m, STR("a"), &one);
        map_set(m, STR("a\0b"), &two);
        assert_ptr_equal(map_find(m, STR("a")), &one);
        assert_ptr_equal(map_find(m, STR("a\0b")), &two);
        assert_null(map_find(m, STR("b")));
        map_set(m, STR("a"), &two);
        assert_ptr_equal(map_find(m, STR("a")), &two);
        assert_int_equal(map_count(m), 2);
        map_set(m, (struct str){ 0 }, &one);
        assert_ptr_equal(map_find(m, STR("")), &one);
        map_free(m);
        map_free(NULL);
}

static void keys_are_copied(void **state) {
        struct map *m = map_new(NULL);
        char key[] = "abc";
        int one = 1;

        (void)state;
        map_set(m, str_from(key), &one);
        key[0] = 'x';
        assert_ptr_equal(map_find(m, STR("abc")), &one);
        map_free(m);
}

static void values_are_freed_once_each(void **state) {
        struct map *m = map_new(count_free);
        int one = 1, two = 2;

        (void)state;
        freed = 0;
        map_set(m, STR("a"), &one);
        map_set(m, STR("a"), &one);
        assert_int_equal(freed, 0);
        map_set(m, STR("a"), &two);
        assert_int_equal(freed, 1);
        map_set(m, STR("b"), &one);
        assert_true(map_remove(m, STR("b")));
        assert_false(map_remove(m, STR("b")));
        assert_int_equal(freed, 2);
        assert_ptr_equal(map_take(m, STR("a")), &two);
        assert_null(map_take(m, STR("a")));
        assert_int_equal(freed, 2);
        map_set(m, STR("c"), &one);
        map_free(m);
        assert_int_equal(freed, 3);
}

static void many_keys_come_and_go(void **state) {
        struct map *m = map_new(NULL);
        static int values[20000];
        char key[32];

        (void)state;
        for (unsigned i = 0; i < 20000; i++)
                map_set(m, key_of(key, sizeof key, i), &values[i]);
        for (unsigned i = 0; i < 20000; i += 2)
                assert_true(map_remove(m, key_of(key, sizeof key, i)));
        assert_int_equal(map_count(m), 10000);
        for (unsigned i = 0; i < 20000; i++)
                assert_ptr_equal(map_find(m, key_of(key, sizeof key, i)), i % 2 ? &values[i] : NULL);
        map_free(m);
}

/* Removed entries must not fill the table up: lookups of absent keys would never end. */
static void endless_turnover_stays_bounded(void **state) {
        struct map *m = map_new(NULL);
        char key[32];
        int one = 1;

        (void)state;
        for (unsigned i = 0; i < 100000; i++) {
                map_set(m, key_of(key, sizeof key, i), &one);
                assert_true(map_remove(m, key_of(key, sizeof key, i)));
                assert_null(map_find(m, STR("absent")));
        }
        assert_int_equal(map_count(m), 0);
        map_free(m);
}

static void a_walk_sees_each_entry_once_and_may_remove_it(void **state) {
        struct map *m = map_new(NULL);
        unsigned seen[100] = { 0 }, *value;
        struct str key;
        char name[32];
        size_t at = 0;
        void *v;

        (void)state;
        for (unsigned i = 0; i < 100; i++)
                map_set(m, key_of(name, sizeof name, i), &seen[i]);
        while (map_next(m, &at, &key, &v)) {
                value = v;
                (*value)++;
                assert_true(str_eq(key, key_of(name, sizeof name, (unsigned)(value - seen))));
                if ((value - seen) % 3 == 0)
                        map_remove(m, key_of(name, sizeof name, (unsigned)(value - seen)));
        }
        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(seen[i], 1);
        assert_int_equal(map_count(m), 66);
        at = 0;
        unsigned left = 0;
        while (map_next(m, &at, NULL, &v))
                left++;
        assert_int_equal(left, 66);
        map_free(m);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(set_values_are_found),
                cmocka_unit_test(keys_are_copied),
                cmocka_unit_test(values_are_freed_once_each),
                cmocka_unit_test(many_keys_come_and_go),
                cmocka_unit_test(endless_turnover_stays_bounded),
                cmocka_unit_test(a_walk_sees_each_entry_once_and_may_remove_it),
        };

        return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
