/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: what is sent, in which order, and how they end. */
#include "sandbox/world.h"

struct stream {
        struct world *w;
        struct sandbox_watch *watch;
        struct buf lines;         /* "TYPE name" each */
        const struct value *last; /* object */
        int ends;
};

static void on_line(void *ctx, struct str line) {
        struct stream *s = ctx;
        const struct value *v;

        assert_int_equal(line.p[line.n - 1], '\n');
        assert_int_equal(json_parse(line, s->w->arena, &v, NULL), 0);
        const struct value *object = s->last = value_getc(v, "object");
        struct str name = value_text(value_path(object, "metadata", "name", NULL));
        if (name.n == 0)
                name = value_text(value_getc(object, "reason"));
        buf_addf(&s->lines, "%.*s %.*s\n", STR_FMT(value_text(value_getc(v, "type"))), STR_FMT(name));
}

static void on_end(void *ctx) {
        ((struct stream *)ctx)->ends++;
}

static const struct sandbox_watcher watcher = { .line = on_line, .end = on_end };

static void start(struct stream *s, const char *path) {
        assert_int_equal(get(s->w, path), 200);
        assert_non_null(s->w->reply.watch);
        s->watch = s->w->reply.watch;
        sandbox_watch_start(s->watch, &watcher, s);
}

static void assert_lines(struct stream *s, const char *wanted) {
        assert_string_equal(s->lines.p, wanted);
        buf_clear(&s->lines);
}

static int setup(void **state) {
        struct stream *s = mem_zalloc(sizeof *s);

        s->w = world_new(&(struct sandbox_options){ .history_events = 50 });
        s->lines = buf_make(1 << 20);
        world_run(s->w, 1000);
        assert_int_equal(post(s->w, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"t\"}}"), 201);
        assert_int_equal(post(s->w, "/api/v1/namespaces/t/secrets", "{\"metadata\":{\"name\":\"a\"}}"), 201);
        *state = s;
        return 0;
}

static int teardown(void **state) {
        struct stream *s = *state;

        sandbox_watch_close(s->watch);
        buf_done(&s->lines);
        world_free(s->w);
        free(s);
        return 0;
}

#define SECRETS "/api/v1/namespaces/t/secrets"
#define INITIAL "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"

static void a_watch_from_zero_begins_with_what_is_there(void **state) {
        struct stream *s = *state;

        start(s, SECRETS "?watch=true&resourceVersion=0");
        assert_lines(s, "ADDED a\n");
        post(s->w, SECRETS, "{\"metadata\":{\"name\":\"b\"}}");
        patch(s->w, SECRETS "/b", MERGE_TYPE, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
        del(s->w, SECRETS "/b");
        post(s->w, "/api/v1/namespaces/default/secrets", "{\"metadata\":{\"name\":\"c\"}}");
        assert_lines(s, "ADDED b\nMODIFIED b\nDELETED b\n");
}

static void a_watch_resumes_behind_its_resource_version(void **state) {
        struct stream *s = *state;
        char path[256];

        get(s->w, SECRETS "/a");
        snprintf(path, sizeof path, SECRETS "?watch=true&resourceVersion=%s", at(s->w, "metadata.resourceVersion"));
        post(s->w, SECRETS, "{\"metadata\":{\"name\":\"b\"}}");
        start(s, path);
        assert_lines(s, "ADDED b\n");
}

static void a_selector_makes_changes_to_arrivals_and_departures(void **state) {
        struct stream *s = *state;

        start(s, SECRETS "?watch=true&resourceVersion=0&labelSelector=x%3Dy");
        patch(s->w, SECRETS "/a", MERGE_TYPE, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
        patch(s->w, SECRETS "/a", MERGE_TYPE, "{\"metadata\":{\"labels\":{\"z\":\"1\"}}}");
        patch(s->w, SECRETS "/a", MERGE_TYPE, "{\"metadata\":{\"labels\":{\"x\":\"n\"}}}");
        assert_lines(s, "ADDED a\nMODIFIED a\nDELETED a\n");
        patch(s->w, SECRETS "/a", MERGE_TYPE, "{\"metadata\":{\"labels\":{\"z\":\"2\"}}}");
        assert_lines(s, "");
}

static void initial_events_end_with_a_bookmark(void **state) {
        struct stream *s = *state;

        start(s, SECRETS INITIAL);
        assert_lines(s, "ADDED a\nBOOKMARK \n");
}

static void a_bookmark_is_an_object_as_the_server_has_it_inside(void **state) {
        struct stream *s = *state;

        start(s, "/apis/apps/v1/namespaces/t/deployments" INITIAL);
        assert_string_equal(value_canonical(s->w->arena, value_path(s->last, "spec", "replicas", NULL)).p, "0");
        sandbox_watch_close(s->watch);
        start(s, "/apis/apps/v1/namespaces/t/daemonsets" INITIAL);
        assert_string_equal(
                value_canonical(s->w->arena, value_path(s->last, "metadata", "annotations", NULL)).p,
                "{\"deprecated.daemonset.template.generation\":\"0\",\"k8s.io/initial-events-end\":\"true\"}");
}

static void bookmarks_come_each_minute_and_before_the_end(void **state) {
        struct stream *s = *state;
        char path[256];

        get(s->w, SECRETS "/a");
        snprintf(path, sizeof path,
                 SECRETS "?watch=true&allowWatchBookmarks=true&timeoutSeconds=100&resourceVersion=%s",
                 at(s->w, "metadata.resourceVersion"));
        start(s, path);
        world_run(s->w, 59999);
        assert_lines(s, "");
        world_run(s->w, 1);
        assert_lines(s, "BOOKMARK \n");
        world_run(s->w, 38000);
        assert_lines(s, "BOOKMARK \n");
        assert_int_equal(s->ends, 0);
        world_run(s->w, 2000);
        assert_int_equal(s->ends, 1);
        post(s->w, SECRETS, "{\"metadata\":{\"name\":\"b\"}}");
        assert_lines(s, "");
}

static void what_is_compacted_is_expired(void **state) {
        struct stream *s = *state;

        sandbox_compact(s->w->s);
        start(s, SECRETS "?watch=true&resourceVersion=1");
        assert_lines(s, "ERROR Expired\n");
        assert_int_equal(s->ends, 1);
}

static void a_full_history_forgets_the_oldest(void **state) {
        struct stream *s = *state;
        char path[256], body[128];

        get(s->w, SECRETS "/a");
        snprintf(path, sizeof path, SECRETS "?watch=true&resourceVersion=%s", at(s->w, "metadata.resourceVersion"));
        for (int i = 0; i < 51; i++) {
                snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"n%d\"}}", i);
                assert_int_equal(post(s->w, SECRETS, body), 201);
        }
        start(s, path);
        assert_lines(s, "ERROR Expired\n");
}

static void all_watches_end_together(void **state) {
        struct stream *s = *state;

        start(s, SECRETS "?watch=true&resourceVersion=0");
        sandbox_drop_watches(s->w->s);
        assert_int_equal(s->ends, 1);
}

static void bad_options_are_refused(void **state) {
        struct stream *s = *state;

        assert_int_equal(get(s->w, SECRETS "?watch=true&sendInitialEvents=true"), 422);
        assert_message(s->w,
                       "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents "
                       "requires setting resourceVersionMatch to NotOlderThan");
        /* A selector must be one, then the options must go together, then the kind must know its fields. */
        assert_int_equal(get(s->w, SECRETS "?watch=true&resourceVersionMatch=Exact&fieldSelector=odd"), 400);
        assert_message(s->w, "invalid selector: 'odd'; can't understand 'odd'");
        assert_int_equal(get(s->w, SECRETS "?watch=true&resourceVersionMatch=Exact&fieldSelector=odd%3D1"), 422);
        assert_int_equal(get(s->w, SECRETS "?resourceVersionMatch=Exact&fieldSelector=odd%3D1"), 422);
        assert_int_equal(get(s->w, SECRETS "?watch=true&fieldSelector=odd%3D1"), 400);
        assert_message(s->w, "field label not supported: odd");
        assert_int_equal(get(s->w, SECRETS "?watch=true&resourceVersion=foo"), 500);
        assert_int_equal(get(s->w, SECRETS "?watch=true&labelSelector=a%20in%20("), 400);
        assert_message(s->w, "unable to parse requirement: found '', expected: ',', ')' or identifier");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_watch_from_zero_begins_with_what_is_there, setup, teardown),
                cmocka_unit_test_setup_teardown(a_watch_resumes_behind_its_resource_version, setup, teardown),
                cmocka_unit_test_setup_teardown(a_selector_makes_changes_to_arrivals_and_departures, setup, teardown),
                cmocka_unit_test_setup_teardown(initial_events_end_with_a_bookmark, setup, teardown),
                cmocka_unit_test_setup_teardown(a_bookmark_is_an_object_as_the_server_has_it_inside, setup, teardown),
                cmocka_unit_test_setup_teardown(bookmarks_come_each_minute_and_before_the_end, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_compacted_is_expired, setup, teardown),
                cmocka_unit_test_setup_teardown(a_full_history_forgets_the_oldest, setup, teardown),
                cmocka_unit_test_setup_teardown(all_watches_end_together, setup, teardown),
                cmocka_unit_test_setup_teardown(bad_options_are_refused, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
