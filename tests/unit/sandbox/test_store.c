/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/world.h"

#include "sandbox/store.h"

struct bench {
        struct store *store;
        struct shelf *shelf;
        struct arena *arena;
};

static int setup(void **state) {
        struct bench *b = mem_zalloc(sizeof *b);

        b->store = sandbox_store_new(4);
        b->shelf = store_shelf(b->store, STR("apps"), STR("deployments"));
        b->arena = arena_new(0);
        *state = b;
        return 0;
}

static int teardown(void **state) {
        struct bench *b = *state;

        sandbox_store_free(b->store);
        arena_free(b->arena);
        free(b);
        return 0;
}

static struct version *put(struct bench *b, const char *namespace, const char *name, int n) {
        struct str text = arena_strf(b->arena,
                                     "{\"apiVersion\":\"apps/v1\",\"kind\":\"X\",\"metadata\":{\"name\":\"%s\","
                                     "\"namespace\":\"%s\"},\"n\":%d}",
                                     name, namespace, n);
        const struct value *v;

        assert_int_equal(json_parse(text, b->arena, &v, NULL), 0);
        return shelf_put(b->shelf, v, b->arena);
}

static void objects_stand_in_the_order_of_their_keys(void **state) {
        struct bench *b = *state;
        size_t from, to;

        put(b, "a", "x", 1);
        put(b, "a-b", "x", 1);
        put(b, "a", "b", 1);
        assert_string_equal(b->shelf->items[0]->key.p, "a-b/x"); /* '-' sorts before '/' */
        assert_string_equal(b->shelf->items[1]->key.p, "a/b");
        assert_string_equal(b->shelf->items[2]->key.p, "a/x");
        shelf_range(b->shelf, STR("a"), &from, &to);
        assert_int_equal(from, 1);
        assert_int_equal(to, 3);
        assert_non_null(shelf_find(b->shelf, STR("a"), STR("x")));
        assert_null(shelf_find(b->shelf, STR("a"), STR("y")));
}

static void each_write_has_its_resource_version(void **state) {
        struct bench *b = *state;
        struct version *v = put(b, "a", "x", 1);

        assert_int_equal(v->rv, 1);
        v = put(b, "a", "x", 2);
        assert_int_equal(v->rv, 2);
        assert_string_equal(value_text(value_path(v->value, "metadata", "resourceVersion", NULL)).p, "2");
        assert_string_equal(version_text(v).p,
                            "\"metadata\":{\"name\":\"x\",\"namespace\":\"a\",\"resourceVersion\":\"2\"},\"n\":2}");
        assert_int_equal(b->shelf->count, 1);
}

static void the_past_can_be_looked_at_until_it_is_compacted(void **state) {
        struct bench *b = *state;
        struct version *const *items;

        put(b, "a", "x", 1);
        put(b, "a", "y", 1);
        put(b, "a", "x", 2);
        version_unref(shelf_remove(b->shelf, shelf_find(b->shelf, STR("a"), STR("y")),
                                   shelf_find(b->shelf, STR("a"), STR("y"))->value, b->arena));
        assert_int_equal(shelf_at(b->shelf, 4, b->arena, &items), 1);
        assert_int_equal(shelf_at(b->shelf, 2, b->arena, &items), 2);
        assert_int_equal(items[0]->rv, 1);
        assert_int_equal(items[1]->rv, 2);
        assert_int_equal(shelf_at(b->shelf, 1, b->arena, &items), 1);
        assert_int_equal(store_compacted_rv(b->store), 0);
        put(b, "a", "z", 1);
        assert_int_equal(store_compacted_rv(b->store), 1); /* four events are kept */
        assert_int_equal(shelf_events_after(b->shelf, 3), 2);
        store_compact(b->store);
        assert_int_equal(store_compacted_rv(b->store), 5);
        assert_int_equal(b->shelf->event_count, 0);
}

static void count_event(void *ctx, const struct event *e) {
        int *counts = ctx;

        counts[e->type]++;
}

static void watchers_hear_of_their_shelf_only(void **state) {
        struct bench *b = *state;
        int counts[3] = { 0 };
        struct shelf_watcher w = { .event = count_event, .ctx = counts };

        shelf_watch(b->shelf, &w);
        put(b, "a", "x", 1);
        put(b, "a", "x", 2);
        struct shelf *other = store_shelf(b->store, STR(""), STR("pods"));
        shelf_put(other, b->shelf->items[0]->value, b->arena);
        version_unref(shelf_remove(b->shelf, b->shelf->items[0], b->shelf->items[0]->value, b->arena));
        shelf_unwatch(b->shelf, &w);
        put(b, "a", "x", 3);
        assert_int_equal(counts[EVENT_ADDED], 1);
        assert_int_equal(counts[EVENT_MODIFIED], 1);
        assert_int_equal(counts[EVENT_DELETED], 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(objects_stand_in_the_order_of_their_keys, setup, teardown),
                cmocka_unit_test_setup_teardown(each_write_has_its_resource_version, setup, teardown),
                cmocka_unit_test_setup_teardown(the_past_can_be_looked_at_until_it_is_compacted, setup, teardown),
                cmocka_unit_test_setup_teardown(watchers_hear_of_their_shelf_only, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
