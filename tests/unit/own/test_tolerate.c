/* SPDX-License-Identifier: Apache-2.0 */
#include "own/tolerate.h"

#include "own_test.h"

static struct arena *a;

static int setup(void **state) {
        (void)state;
        a = arena_new(0);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        arena_free(a);
        return 0;
}

#define OBJECT(spec) "{'apiVersion':'example.io/v1','kind':'X','metadata':{'name':'x','managedFields':["                   \
        "{'manager':'truce','operation':'Apply','apiVersion':'example.io/v1','fieldsV1':{'f:spec':{'f:a':{},'f:b':{}}}},"   \
        "{'manager':'other','operation':'Update','apiVersion':'example.io/v1','fieldsV1':{'f:spec':{'f:a':{}}}}]},'spec':" spec "}"

static const struct value *spec_of(const struct value *object) {
        return value_getc(object, "spec");
}

static struct tolerance tolerated(const char *desired, const char *live, const struct ignored_path *paths, size_t count) {
        const struct value *object = json(a, live);
        struct managed owners = owners_of(a, object);

        return tolerate(json(a, desired), object, &owners, paths, count, NULL, a);
}

static struct field_path item(const char *list, int64_t place) {
        return field_path_join(a, dotted(a, list), (struct path_element){ .kind = PATH_INDEX, .index = place });
}

static void a_path_is_left_out_of_all_that_is_compared(void **state) {
        struct ignored_path p = { .path = dotted(a, ".spec.a"), .in_live = true, .rule = "r" };
        struct tolerance t = tolerated(OBJECT("{'a':1,'b':1}"), OBJECT("{'a':2,'b':1}"), &p, 1);

        (void)state;
        assert_text(value_canonical(a, spec_of(t.desired)), "{\"b\":1}");
        assert_text(value_canonical(a, spec_of(t.live)), "{\"b\":1}");
        assert_text(fieldset_text(a, t.owners.entries[0].set), "{\"f:spec\":{\"f:b\":{}}}");
        assert_text(fieldset_text(a, t.owners.entries[1].set), "{\"f:spec\":{\"f:a\":{}}}");
}

static void a_place_counts_where_it_was_found(void **state) {
        struct ignored_path git = { .path = item(".spec.l", 0), .in_git = true, .rule = "r" };
        struct ignored_path live = { .path = item(".spec.l", 1), .in_live = true, .rule = "r" };
        struct tolerance t = tolerated(OBJECT("{'l':[1,2,3]}"), OBJECT("{'l':[1,2,3]}"), &git, 1);

        (void)state;
        assert_text(value_canonical(a, spec_of(t.desired)), "{\"l\":[2,3]}");
        assert_text(value_canonical(a, spec_of(t.live)), "{\"l\":[1,2,3]}");
        t = tolerated(OBJECT("{'l':[1,2,3]}"), OBJECT("{'l':[1,2,3]}"), &live, 1);
        assert_text(value_canonical(a, spec_of(t.desired)), "{\"l\":[1,2,3]}");
        assert_text(value_canonical(a, spec_of(t.live)), "{\"l\":[1,3]}");
}

static void what_is_left_out_at_sync_is_not_tolerated(void **state) {
        struct ignored_path p = { .path = dotted(a, ".spec.a"), .in_git = true, .in_live = true, .at_sync = true, .rule = "r" };
        struct tolerance t = tolerated(OBJECT("{'a':1,'b':1}"), OBJECT("{'a':2,'b':1}"), &p, 1);

        (void)state;
        assert_text(value_canonical(a, spec_of(t.desired)), "{\"a\":1,\"b\":1}");
        assert_text(value_canonical(a, spec_of(t.live)), "{\"a\":2,\"b\":1}");
        assert_text(fieldset_text(a, t.owners.entries[0].set), "{\"f:spec\":{\"f:a\":{},\"f:b\":{}}}");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_path_is_left_out_of_all_that_is_compared),
                CASE(a_place_counts_where_it_was_found),
                CASE(what_is_left_out_at_sync_is_not_tolerated),
        };

        return cmocka_run_group_tests_name("tolerate", tests, NULL, NULL);
}
