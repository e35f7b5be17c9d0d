/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/gates.h"
#include "base/json.h"
#include "base/limits.h"
#include "kube/script_transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define LIST   "/api/v1/configmaps?*limit=*"
#define STREAM "/api/v1/configmaps?*watch=true*"
#define NS     STR("shop")

struct thing {
        struct kept kept;
        struct arena *arena;
};

struct fixture {
        struct loop *loop;
        struct script *script;
        struct kube_client *client;
        struct informer *informer;
        struct gates gates;
        struct buf woken; /* owners, a blank behind each */
};

static void release(struct kept *k) {
        struct thing *t = (struct thing *)k;

        arena_free(t->arena);
        free(t);
}

static struct kept *read_thing(void *ctx, struct str bytes) {
        _cleanup_(arena_freep) struct arena *parsed = arena_new(0);
        const struct value *object;
        struct thing *t = mem_zalloc(sizeof *t);

        (void)ctx;
        assert_int_equal(json_parse(bytes, parsed, &object, NULL), 0);
        t->arena = arena_new(256);
        assert_true(kept_read(object, t->arena, &t->kept));
        t->kept.owner = arena_str(t->arena, value_text(value_path(object, "metadata", "labels", "owner", NULL)));
        return &t->kept;
}

static void on_wake(void *ctx, struct str owner) {
        struct fixture *f = ctx;

        buf_addf(&f->woken, "%.*s ", STR_FMT(owner));
}

static void on_state(void *ctx) {
        (void)ctx;
}

static struct str object(const char *name, const char *owner, int rv, char ret_text[512]) {
        snprintf(ret_text, 512,
                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\",\"uid\":\"uid-%s\",\"resourceVersion\":\"%d\","
                 "\"labels\":{\"owner\":\"%s\"}}}",
                 name, name, rv, owner);
        return str_from(ret_text);
}

static void serve(struct fixture *f, struct str items, int rv) {
        _cleanup_(buf_done) struct buf body = buf_make(MIB);

        buf_addf(&body, "{\"metadata\":{\"resourceVersion\":\"%d\"},\"items\":[%.*s]}", rv, STR_FMT(items));
        script_on(f->script, KUBE_GET, LIST, &(struct script_answer){ .body = buf_str(&body) });
}

static void see(struct fixture *f, const char *type, struct str what) {
        _cleanup_(buf_done) struct buf line = buf_make(MIB);

        buf_addf(&line, "{\"type\":\"%s\",\"object\":%.*s}", type, STR_FMT(what));
        assert_true(script_send(f->script, STREAM, buf_str(&line)));
        loop_run_for(f->loop, 100);
}

static void told(struct fixture *f, const char *owners) {
        assert_string_equal(f->woken.p ? f->woken.p : "", owners);
        buf_clear(&f->woken);
}

static const char *rv_of(const struct fixture *f, const char *name) {
        const struct kept *k = informer_at(f->informer, NS, str_from(name));

        return k ? k->rv.p : "none";
}

/* "a" of the owner "one" at 10 is listed. */
static int set_up(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);
        char text[512];

        f->loop = loop_new_virtual(7, 0);
        f->script = script_new(f->loop);
        f->client = kube_client_new(script_transport(f->script), f->loop);
        f->woken = buf_make(MIB);
        serve(f, object("a", "one", 10, text), 10);
        script_on(f->script, KUBE_GET, STREAM, &(struct script_answer){ .stream = true });
        struct informer_options options = { .at = { .version = STR("v1"), .plural = STR("configmaps") },
                                            .read = read_thing,
                                            .release = release,
                                            .wake = on_wake,
                                            .state = on_state,
                                            .ctx = f };
        f->informer = informer_new(f->client, &options);
        loop_run_for(f->loop, 1000);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        struct fixture *f = *state;

        gates_clear(&f->gates);
        informer_free(f->informer);
        kube_client_free(f->client);
        script_free(f->script);
        loop_free(f->loop);
        buf_done(&f->woken);
        free(f);
        return 0;
}

static void what_comes_changes_and_goes_wakes_its_owner(void **state) {
        struct fixture *f = *state;
        char text[512];

        assert_true(informer_is_synced(f->informer));
        told(f, "one ");
        see(f, "ADDED", object("b", "two", 11, text));
        told(f, "two ");
        see(f, "MODIFIED", object("b", "one", 12, text));
        told(f, "two one ");
        see(f, "DELETED", object("b", "one", 13, text));
        told(f, "one ");
        assert_int_equal(informer_count(f->informer), 1);
}

static void those_of_an_owner_are_found_by_name(void **state) {
        struct fixture *f = *state;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct kept *const *items;
        char text[512];

        see(f, "ADDED", object("c", "one", 11, text));
        see(f, "ADDED", object("b", "one", 12, text));
        see(f, "ADDED", object("d", "two", 13, text));
        assert_int_equal(informer_of(f->informer, STR("one"), a, &items), 3);
        assert_string_equal(items[0]->name.p, "a");
        assert_string_equal(items[1]->name.p, "b");
        assert_string_equal(items[2]->name.p, "c");
        assert_int_equal(informer_of(f->informer, STR("three"), a, &items), 0);
}

static void nothing_older_is_taken_in(void **state) {
        struct fixture *f = *state;
        char text[512];

        assert_true(informer_put(f->informer, read_thing(f, object("a", "one", 20, text))));
        buf_clear(&f->woken);
        see(f, "MODIFIED", object("a", "one", 15, text));
        see(f, "DELETED", object("a", "one", 19, text));
        told(f, "");
        assert_string_equal(rv_of(f, "a"), "20");
        assert_false(informer_put(f->informer, read_thing(f, object("a", "one", 20, text))));
        see(f, "DELETED", object("a", "one", 21, text));
        assert_string_equal(rv_of(f, "a"), "none");
}

static void what_a_list_lacks_is_gone_but_not_what_no_watch_tells_of(void **state) {
        struct fixture *f = *state;
        char text[512];
        struct kept *pinned = read_thing(f, object("p", "one", 11, text));
        unsigned number;

        pinned->pinned = true;
        informer_put(f->informer, pinned);
        informer_put(f->informer, read_thing(f, object("late", "two", 40, text)));
        serve(f, STR(""), 30);
        number = informer_refresh(f->informer);
        assert_false(informer_is_fresh(f->informer, number));
        loop_run_for(f->loop, 1000);
        assert_true(informer_is_fresh(f->informer, number));
        assert_string_equal(rv_of(f, "a"), "none");
        assert_string_equal(rv_of(f, "p"), "11");
        assert_string_equal(rv_of(f, "late"), "40");
}

static int64_t wait_ms(struct fixture *f) {
        return gates_wait_ms(&f->gates, loop_now_ms(f->loop));
}

static void a_write_is_waited_for_until_it_or_something_newer_is_seen(void **state) {
        struct fixture *f = *state;
        char text[512];

        gates_written(&f->gates, f->informer, NS, STR("b"), STR("12"), loop_now_ms(f->loop));
        assert_int_equal(wait_ms(f), GATES_UNSEEN_MS);
        see(f, "MODIFIED", object("a", "one", 11, text));
        assert_true(wait_ms(f) > 0);
        see(f, "ADDED", object("b", "one", 12, text));
        assert_int_equal(wait_ms(f), 0);
        /* It came and went unseen: what is newer says so, a bookmark, too. */
        gates_written(&f->gates, f->informer, NS, STR("c"), STR("13"), loop_now_ms(f->loop));
        see(f, "BOOKMARK", STR("{\"metadata\":{\"resourceVersion\":\"14\"}}"));
        assert_int_equal(wait_ms(f), 0);
}

static void a_deletion_is_waited_for_until_that_uid_is_gone(void **state) {
        struct fixture *f = *state;
        char text[512];

        gates_deleted(&f->gates, f->informer, NS, STR("a"), STR("uid-a"), loop_now_ms(f->loop));
        see(f, "MODIFIED", object("a", "one", 11, text));
        assert_true(wait_ms(f) > 0);
        see(f, "DELETED", object("a", "one", 12, text));
        assert_int_equal(wait_ms(f), 0);
}

/* One that is being deleted already is deleted at once: the first deletion's mark says nothing of the second. */
static void a_deletion_at_once_is_waited_for_until_the_object_is_gone(void **state) {
        static const char leaving[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"shop\",\"uid\":\"uid-a\","
                                      "\"resourceVersion\":\"11\",\"deletionTimestamp\":\"2026-11-30T10:00:00Z\"}}";
        struct fixture *f = *state;
        char text[512];

        gates_deleted(&f->gates, f->informer, NS, STR("a"), STR("uid-a"), loop_now_ms(f->loop));
        see(f, "MODIFIED", str_from(leaving));
        assert_int_equal(wait_ms(f), 0);
        gates_ended(&f->gates, f->informer, NS, STR("a"), STR("uid-a"), loop_now_ms(f->loop));
        assert_true(wait_ms(f) > 0);
        see(f, "DELETED", object("a", "one", 12, text));
        assert_int_equal(wait_ms(f), 0);
}

static void what_is_not_known_is_read_anew(void **state) {
        struct fixture *f = *state;
        char text[512];
        size_t lists = script_count(f->script, KUBE_GET, LIST);

        gates_unknown(&f->gates, f->informer, NS, STR("b"), loop_now_ms(f->loop));
        assert_true(wait_ms(f) > 0);
        serve(f, object("b", "one", 20, text), 20);
        loop_run_for(f->loop, 1000);
        assert_int_equal(wait_ms(f), 0);
        assert_int_equal(script_count(f->script, KUBE_GET, LIST), lists + 1);
}

/* The server may have read it before the write came: what it shows is no answer. */
static void a_list_that_was_under_way_does_not_tell_what_became_of_a_write(void **state) {
        struct fixture *f = *state;
        char text[512], body[1024];

        snprintf(body, sizeof body, "{\"metadata\":{\"resourceVersion\":\"15\"},\"items\":[%s]}",
                 object("a", "one", 10, text).p);
        script_on(f->script, KUBE_GET, LIST,
                  &(struct script_answer){ .body = str_from(body), .delay_ms = 2000, .times = 1 });
        informer_refresh(f->informer);
        loop_run_for(f->loop, 1000);
        gates_unknown(&f->gates, f->informer, NS, STR("b"), loop_now_ms(f->loop));
        size_t lists = script_count(f->script, KUBE_GET, LIST);
        serve(f, object("b", "one", 20, text), 20);
        loop_run_for(f->loop, 900);
        assert_true(wait_ms(f) > 0);
        loop_run_for(f->loop, 1000);
        assert_int_equal(script_count(f->script, KUBE_GET, LIST), lists + 1);
        assert_int_equal(wait_ms(f), 0);
        assert_string_equal(rv_of(f, "b"), "20");
}

static void a_write_that_is_not_seen_for_long_is_read_anew(void **state) {
        struct fixture *f = *state;
        size_t lists = script_count(f->script, KUBE_GET, LIST);

        gates_written(&f->gates, f->informer, NS, STR("b"), STR("99"), loop_now_ms(f->loop));
        loop_run_for(f->loop, GATES_UNSEEN_MS);
        assert_true(wait_ms(f) > 0);
        loop_run_for(f->loop, 1000);
        assert_int_equal(script_count(f->script, KUBE_GET, LIST), lists + 1);
        assert_int_equal(wait_ms(f), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_comes_changes_and_goes_wakes_its_owner, set_up, tear_down),
                cmocka_unit_test_setup_teardown(those_of_an_owner_are_found_by_name, set_up, tear_down),
                cmocka_unit_test_setup_teardown(nothing_older_is_taken_in, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_a_list_lacks_is_gone_but_not_what_no_watch_tells_of, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_write_is_waited_for_until_it_or_something_newer_is_seen, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_deletion_is_waited_for_until_that_uid_is_gone, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_deletion_at_once_is_waited_for_until_the_object_is_gone, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(what_is_not_known_is_read_anew, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_list_that_was_under_way_does_not_tell_what_became_of_a_write, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_write_that_is_not_seen_for_long_is_read_anew, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
