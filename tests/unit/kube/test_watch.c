/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/script_transport.h"
#include "kube/watch.h"

#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define PATH   "/api/v1/configmaps"
#define LIST   PATH "?*limit=*"
#define STREAM PATH "?*watch=true*"
#define SECOND 1000

static const struct kube_watch_spec configmaps = {
        .at = { .version = { "v1", 2 }, .plural = { "configmaps", 10 } },
};

/* What a consumer is told, as text: "[" item… "]rv" for a list, "+rv" "~rv" "-rv" for events. */
struct fixture {
        struct loop *loop;
        struct script *script;
        struct kube_client *client;
        struct kube_watch *watch;
        struct buf told;
        unsigned states; /* state() calls */
        struct kube_watch_state state;
        const char *free_in; /* the callback that frees the watch */
};

static void maybe_free(struct fixture *f, const char *callback) {
        if (f->free_in && strcmp(f->free_in, callback) == 0)
                kube_watch_free(TAKE_PTR(f->watch));
}

static void on_begin(void *ctx) {
        struct fixture *f = ctx;

        buf_addc(&f->told, "[");
        maybe_free(f, "begin");
}

static void on_item(void *ctx, struct str object) {
        struct fixture *f = ctx;

        buf_add(&f->told, object);
        buf_addch(&f->told, ' ');
        maybe_free(f, "item");
}

static void on_end(void *ctx, struct str rv) {
        struct fixture *f = ctx;

        buf_addf(&f->told, "]%.*s ", STR_FMT(rv));
        maybe_free(f, "end");
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str rv) {
        struct fixture *f = ctx;

        assert_true(object.n > 0 && object.p[0] == '{');
        buf_addf(&f->told, "%c%.*s ", "+~-"[event], STR_FMT(rv));
        maybe_free(f, "event");
}

static void on_state(void *ctx, const struct kube_watch_state *state) {
        struct fixture *f = ctx;

        f->states++;
        f->state = *state;
        maybe_free(f, "state");
}

static const struct kube_watch_handler handler = {
        .replace_begin = on_begin,
        .item = on_item,
        .replace_end = on_end,
        .event = on_event,
        .state = on_state,
};

static int set_up(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->loop = loop_new_virtual(7, 0);
        f->script = script_new(f->loop);
        f->client = kube_client_new(script_transport(f->script), f->loop);
        f->told = buf_make(MIB);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        struct fixture *f = *state;

        kube_watch_free(f->watch);
        kube_client_free(f->client);
        script_free(f->script);
        loop_free(f->loop);
        buf_done(&f->told);
        free(f);
        return 0;
}

static void run(struct fixture *f, int64_t ms) {
        loop_run_for(f->loop, ms);
}

static void serve_list(struct fixture *f, const char *items, const char *rv) {
        struct buf body = buf_make(MIB);

        buf_addf(&body, "{\"metadata\":{\"resourceVersion\":\"%s\"},\"items\":[%s]}", rv, items);
        script_on(f->script, KUBE_GET, LIST, &(struct script_answer){ .body = buf_str(&body) });
        buf_done(&body);
}

static void serve(struct fixture *f, const struct script_answer *stream) {
        serve_list(f, "\"a\",\"b\"", "10");
        script_on(f->script, KUBE_GET, STREAM, stream);
}

static void start(struct fixture *f) {
        f->watch = kube_watch_new(f->client, &configmaps, &handler, f);
        assert_int_equal(f->states, 0);
        run(f, 100);
}

/* A watch that listed and now streams. */
static void start_streaming(struct fixture *f) {
        serve(f, &(struct script_answer){ .stream = true });
        start(f);
        assert_string_equal(f->told.p, "[\"a\" \"b\" ]10 ");
        assert_int_equal(script_streams(f->script, STREAM), 1);
        buf_clear(&f->told);
}

static void send(struct fixture *f, const char *type, const char *rv) {
        struct buf line = buf_make(MIB);

        buf_addf(&line,
                 "{\"type\":\"%s\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{\"resourceVersion\":\"%s\"}}}",
                 type, rv);
        assert_true(script_send(f->script, STREAM, buf_str(&line)));
        run(f, 0);
        buf_done(&line);
}

static void end(struct fixture *f, enum err_code error) {
        assert_true(script_end(f->script, STREAM, error));
        run(f, 0);
}

static size_t lists(const struct fixture *f) {
        return script_count(f->script, KUBE_GET, LIST);
}

static size_t streams(const struct fixture *f) {
        return script_count(f->script, KUBE_GET, STREAM);
}

static bool last_asks(const struct fixture *f, const char *pattern, const char *parameter) {
        return str_contains(script_last(f->script, KUBE_GET, pattern)->path, str_from(parameter));
}

static void a_list_then_events_from_there(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        assert_false(last_asks(f, LIST, "resourceVersion"));
        assert_true(last_asks(f, STREAM, "?resourceVersion=10&watch=true&allowWatchBookmarks=true&timeoutSeconds="));
        send(f, "ADDED", "11");
        send(f, "MODIFIED", "12");
        send(f, "DELETED", "13");
        assert_string_equal(f->told.p, "+11 ~12 -13 ");
        assert_true(str_eqc(kube_watch_rv(f->watch), "13"));
        assert_true(kube_watch_state(f->watch)->synced);
        assert_int_equal(kube_watch_state(f->watch)->phase, KUBE_WATCH_STREAMING);
}

static void the_servers_end_is_asked_for_at_random(void **state) {
        struct fixture *f = *state;
        char seen[KUBE_WATCH_TIMEOUT_MAX_S] = { 0 };
        int distinct = 0;

        start_streaming(f);
        for (int i = 0; i < 20; i++) {
                struct str path = script_last(f->script, KUBE_GET, STREAM)->path;
                int64_t s = 0;

                assert_true(str_to_i64(str_sub(path, path.n - 3, path.n), &s));
                assert_true(s >= KUBE_WATCH_TIMEOUT_MIN_S && s < KUBE_WATCH_TIMEOUT_MAX_S);
                distinct += !seen[s];
                seen[s] = 1;
                run(f, 2 * SECOND);
                end(f, ERR_OK);
        }
        assert_true(distinct > 10);
        assert_int_equal(lists(f), 1);
}

static void selectors_of_list_and_watch_are_separate(void **state) {
        struct kube_watch_spec spec = configmaps;
        struct fixture *f = *state;

        spec.at.namespace = STR("shop");
        spec.list_label_selector = STR("l1");
        spec.list_field_selector = STR("f1");
        spec.watch_label_selector = STR("l2");
        spec.watch_field_selector = STR("f2");
        script_on(f->script, KUBE_GET, "/api/v1/namespaces/shop/configmaps?labelSelector=l1&fieldSelector=f1&limit=500",
                  &(struct script_answer){ .body = STR("{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}") });
        script_on(f->script, KUBE_GET,
                  "/api/v1/namespaces/shop/configmaps?labelSelector=l2&fieldSelector=f2&*watch=true*",
                  &(struct script_answer){ .stream = true });
        f->watch = kube_watch_new(f->client, &spec, &handler, f);
        run(f, 100);
        assert_int_equal(script_unexpected(f->script), 0);
        assert_int_equal(script_streams(f->script, "*"), 1);
}

static void it_can_begin_where_another_left_off(void **state) {
        struct kube_watch_spec spec = configmaps;
        struct fixture *f = *state;

        spec.start_rv = STR("77");
        serve(f, &(struct script_answer){ .stream = true });
        f->watch = kube_watch_new(f->client, &spec, &handler, f);
        run(f, 100);
        assert_int_equal(lists(f), 0);
        assert_true(last_asks(f, STREAM, "resourceVersion=77&"));
        assert_true(kube_watch_state(f->watch)->synced);
        send(f, "ADDED", "78");
        assert_string_equal(f->told.p, "+78 ");
}

static void a_start_that_is_too_old_leads_to_a_list(void **state) {
        struct kube_watch_spec spec = configmaps;
        struct fixture *f = *state;

        spec.start_rv = STR("7");
        serve(f, &(struct script_answer){ .stream = true });
        script_on(f->script, KUBE_GET, STREAM, &(struct script_answer){ .status = 410, .times = 1 });
        f->watch = kube_watch_new(f->client, &spec, &handler, f);
        run(f, 100);
        assert_string_equal(f->told.p, "[\"a\" \"b\" ]10 ");
        assert_true(last_asks(f, LIST, "resourceVersion=7&resourceVersionMatch=NotOlderThan"));
        assert_int_equal(streams(f), 2);
}

static void a_clean_end_resumes_without_a_list(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        send(f, "ADDED", "11");
        run(f, 5 * SECOND);
        end(f, ERR_OK);
        assert_int_equal(streams(f), 2);
        assert_int_equal(lists(f), 1);
        assert_true(last_asks(f, STREAM, "resourceVersion=11&"));
        assert_int_equal(f->state.err.code, ERR_OK);
}

static void bookmarks_and_deletions_move_the_version(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        send(f, "BOOKMARK", "50");
        assert_string_equal(f->told.p, "");
        run(f, 2 * SECOND);
        end(f, ERR_OK);
        assert_true(last_asks(f, STREAM, "resourceVersion=50&"));
        send(f, "DELETED", "60");
        run(f, 2 * SECOND);
        end(f, ERR_OK);
        assert_true(last_asks(f, STREAM, "resourceVersion=60&"));
}

static void a_gone_event_lists_again_from_the_last_version(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        send(f, "ADDED", "11");
        run(f, 10 * SECOND);
        serve_list(f, "\"c\"", "20");
        script_send(f->script, STREAM,
                    STR("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}"));
        run(f, 0);
        run(f, 100);
        assert_string_equal(f->told.p, "+11 [\"c\" ]20 ");
        assert_true(last_asks(f, LIST, "resourceVersion=11&resourceVersionMatch=NotOlderThan"));
        assert_true(last_asks(f, STREAM, "resourceVersion=20&"));
        assert_int_equal(f->state.err.code, ERR_OK);
}

static void a_list_that_finds_the_version_expired_is_made_consistent(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        run(f, 10 * SECOND);
        script_on(f->script, KUBE_GET, LIST, &(struct script_answer){ .status = 410, .times = 1 });
        script_send(f->script, STREAM, STR("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}"));
        run(f, 100);
        assert_int_equal(lists(f), 3);
        assert_false(last_asks(f, LIST, "resourceVersion"));
        assert_string_equal(f->told.p, "[\"a\" \"b\" ]10 ");
}

static void a_version_of_the_future_is_made_consistent(void **state) {
        const struct script_answer too_large = {
                .status = 504,
                .retry_after_ms = 1000,
                .times = 1,
                .body = STR(
                        "{\"kind\":\"Status\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}"),
        };
        struct fixture *f = *state;

        start_streaming(f);
        run(f, 10 * SECOND);
        script_on(f->script, KUBE_GET, LIST, &too_large);
        script_send(f->script, STREAM, STR("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}"));
        run(f, 100);
        assert_int_equal(lists(f), 3);
        assert_false(last_asks(f, LIST, "resourceVersion"));

        run(f, 10 * SECOND);
        script_on(f->script, KUBE_GET, STREAM, &too_large);
        end(f, ERR_OK);
        run(f, 100);
        assert_int_equal(lists(f), 4);
        assert_false(last_asks(f, LIST, "resourceVersion"));
}

static void history_that_goes_backwards_is_listed_again(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        send(f, "ADDED", "11");
        run(f, 10 * SECOND);
        serve_list(f, "\"old\"", "5");
        send(f, "MODIFIED", "4");
        run(f, 100);
        assert_string_equal(f->told.p, "+11 [\"old\" ]5 ");
        assert_false(last_asks(f, LIST, "resourceVersion"));
        assert_true(last_asks(f, STREAM, "resourceVersion=5&"));
}

static void an_equal_version_is_no_step_back(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        send(f, "ADDED", "10");
        send(f, "BOOKMARK", "10");
        send(f, "ADDED", "9999999999999999999999");
        send(f, "ADDED", "opaque");
        assert_string_equal(f->told.p, "+10 +9999999999999999999999 +opaque ");
        assert_int_equal(lists(f), 1);
}

static void unknown_events_are_skipped(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        send(f, "RENAMED", "11");
        send(f, "ADDED", "12");
        assert_string_equal(f->told.p, "+12 ");
        assert_int_equal(streams(f), 1);
}

static void borders_may_fall_anywhere(void **state) {
        static const char line[] =
                "{\"type\":\"ADDED\",\"object\":{\"a\":\"\xc3\xa4\\\"}\",\"metadata\":{\"resourceVersion\":\"11\"}}}\n";
        struct fixture *f = *state;

        start_streaming(f);
        for (size_t i = 0; i + 1 < sizeof line; i++) {
                script_send_bytes(f->script, STREAM, (struct str){ line + i, 1 });
                run(f, 0);
        }
        assert_string_equal(f->told.p, "+11 ");
}

static void half_a_line_at_the_end_is_not_used(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        script_send_bytes(f->script, STREAM,
                          STR("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"11\"}}}"));
        run(f, 2 * SECOND);
        end(f, ERR_OK);
        assert_string_equal(f->told.p, "");
        assert_true(last_asks(f, STREAM, "resourceVersion=10&"));
}

static void garbage_is_waited_out_and_listed_past(void **state) {
        static const char *const bad[] = { "garbage", "{\"type\":\"ADDED\"}", "{\"object\":{}}", "[]",
                                           "{\"type\":5,\"object\":{}}" };
        struct fixture *f = *state;

        start_streaming(f);
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                size_t before = lists(f);

                run(f, 10 * SECOND);
                assert_true(script_send(f->script, STREAM, str_from(bad[i])));
                run(f, 0);
                assert_int_equal(f->state.err.code, ERR_PARSE);
                assert_int_equal(f->state.phase, KUBE_WATCH_WAITING);
                assert_int_equal(lists(f), before);
                run(f, 2 * KUBE_WATCH_BACKOFF_MAX_MS);
                assert_int_equal(lists(f), before + 1);
                assert_int_equal(f->state.err.code, ERR_OK);
        }
}

static void a_line_above_its_limit_is_listed_past(void **state) {
        struct fixture *f = *state;
        char *piece = mem_alloc(MIB);

        start_streaming(f);
        memset(piece, 'x', MIB);
        for (int i = 0; i < KUBE_MAX_OBJECT_BYTES / MIB + 1; i++)
                script_send_bytes(f->script, STREAM, (struct str){ piece, MIB });
        run(f, 0);
        assert_int_equal(f->state.err.code, ERR_LIMIT);
        run(f, 5 * SECOND);
        assert_int_equal(lists(f), 2);
        free(piece);
}

static void a_refused_connection_backs_off_and_resumes(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        send(f, "ADDED", "11");
        script_on(f->script, KUBE_GET, STREAM, &(struct script_answer){ .error = ERR_UNREACHABLE, .times = 6 });
        end(f, ERR_UNREACHABLE);
        run(f, 200 * SECOND);
        assert_int_equal(streams(f), 8);
        assert_int_equal(lists(f), 1);
        assert_true(last_asks(f, STREAM, "resourceVersion=11&"));

        int64_t base_ms = KUBE_WATCH_BACKOFF_MS;
        size_t n = script_request_count(f->script);
        for (size_t i = n - 6; i < n; i++) {
                int64_t waited_ms = script_request_at(f->script, i)->at_ms - script_request_at(f->script, i - 1)->at_ms;

                base_ms = base_ms * 2 < KUBE_WATCH_BACKOFF_MAX_MS ? base_ms * 2 : KUBE_WATCH_BACKOFF_MAX_MS;
                assert_true(waited_ms >= base_ms && waited_ms < 2 * base_ms);
        }
}

static void a_watch_that_is_woken_does_not_sit_out_its_back_off(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        script_on(f->script, KUBE_GET, STREAM, &(struct script_answer){ .error = ERR_UNREACHABLE, .times = 6 });
        end(f, ERR_UNREACHABLE);
        run(f, 100 * SECOND);
        assert_int_equal(f->state.phase, KUBE_WATCH_WAITING);

        size_t before = streams(f);
        kube_watch_wake(f->watch);
        run(f, KUBE_WATCH_BACKOFF_MS);
        assert_int_equal(streams(f), before + 1);

        /* One that streams is left alone. */
        run(f, 200 * SECOND);
        assert_int_equal(f->state.phase, KUBE_WATCH_STREAMING);
        before = streams(f);
        kube_watch_wake(f->watch);
        run(f, KUBE_WATCH_BACKOFF_MS);
        assert_int_equal(streams(f), before);
}

static void a_refusal_is_not_cut_short_by_waking(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        script_on(f->script, KUBE_GET, STREAM,
                  &(struct script_answer){ .error = ERR_FORBIDDEN, .times = 6 });
        end(f, ERR_FORBIDDEN);
        run(f, 100 * SECOND);
        assert_int_equal(f->state.phase, KUBE_WATCH_WAITING);

        size_t before = streams(f);
        kube_watch_wake(f->watch);
        run(f, 1);
        assert_int_equal(streams(f), before);
}

static void a_failure_is_told_once_and_its_end_too(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        unsigned before = f->states;
        script_on(f->script, KUBE_GET, STREAM, &(struct script_answer){ .error = ERR_UNREACHABLE, .times = 4 });
        end(f, ERR_UNREACHABLE);
        run(f, 5 * SECOND);
        assert_int_equal(f->states, before + 1);
        assert_int_equal(f->state.err.code, ERR_UNREACHABLE);
        assert_true(f->state.synced);
        run(f, 60 * SECOND);
        assert_int_equal(script_streams(f->script, STREAM), 1);
        assert_int_equal(f->states, before + 2);
        assert_int_equal(f->state.err.code, ERR_OK);
        assert_int_equal(kube_watch_state(f->watch)->err.code, ERR_OK);
}

static void the_back_off_is_forgotten_after_a_quiet_time(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        script_on(f->script, KUBE_GET, STREAM, &(struct script_answer){ .error = ERR_UNREACHABLE, .times = 5 });
        end(f, ERR_UNREACHABLE);
        run(f, 120 * SECOND);
        for (int i = 0; i < 5; i++) {
                run(f, 30 * SECOND);
                send(f, "BOOKMARK", "20");
        }
        int64_t ended_ms = loop_now_ms(f->loop);
        end(f, ERR_UNREACHABLE);
        run(f, 60 * SECOND);
        int64_t waited_ms = script_last(f->script, KUBE_GET, STREAM)->at_ms - ended_ms;
        assert_true(waited_ms >= KUBE_WATCH_BACKOFF_MS && waited_ms < 2 * KUBE_WATCH_BACKOFF_MS);
}

static void a_throttled_stream_keeps_the_servers_time(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        script_on(f->script, KUBE_GET, STREAM,
                  &(struct script_answer){ .status = 429, .retry_after_ms = 20000, .times = 1 });
        run(f, 2 * SECOND);
        end(f, ERR_OK);
        assert_int_equal(f->state.err.code, ERR_THROTTLED);
        run(f, 19 * SECOND);
        assert_int_equal(streams(f), 2);
        run(f, 2 * SECOND);
        assert_int_equal(streams(f), 3);
        assert_int_equal(lists(f), 1);
}

static void a_stream_closed_at_once_is_a_failure(void **state) {
        struct fixture *f = *state;

        serve(f, &(struct script_answer){ 0 });
        start(f);
        assert_int_equal(streams(f), 1);
        assert_int_equal(f->state.err.code, ERR_UNREACHABLE);
        run(f, 100 * SECOND);
        assert_true(streams(f) < 10);
        assert_int_equal(lists(f), 1);
}

static void a_silent_stream_is_resumed(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        run(f, KUBE_WATCH_SILENCE_MS - SECOND);
        assert_int_equal(streams(f), 1);
        run(f, 2 * SECOND);
        assert_int_equal(streams(f), 2);
        assert_int_equal(lists(f), 1);
        assert_int_equal(f->state.err.code, ERR_OK);
}

static void silence_where_bookmarks_were_seen_leads_to_a_list(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        send(f, "BOOKMARK", "12");
        run(f, KUBE_WATCH_SILENCE_MS + SECOND);
        assert_int_equal(lists(f), 1);
        run(f, KUBE_WATCH_SILENCE_MS + SECOND);
        assert_int_equal(lists(f), 2);
        assert_true(last_asks(f, LIST, "resourceVersion=12&"));

        /* Silent, then not, then silent again: not twice in a row. */
        run(f, KUBE_WATCH_SILENCE_MS + SECOND);
        send(f, "BOOKMARK", "13");
        run(f, KUBE_WATCH_SILENCE_MS + SECOND);
        assert_int_equal(lists(f), 2);
        assert_int_equal(streams(f), 5);
}

static void silence_without_bookmarks_leads_to_a_list_much_later(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        run(f, 9 * (KUBE_WATCH_SILENCE_MS + 100));
        assert_int_equal(lists(f), 1);
        run(f, KUBE_WATCH_SILENCE_MS + 100);
        assert_int_equal(lists(f), 2);
}

static void a_kind_that_is_gone_is_told_and_waited_for(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        script_on(f->script, KUBE_GET, PATH "?*",
                  &(struct script_answer){ .status = 404, .body = STR("404 page not found") });
        run(f, 2 * SECOND);
        end(f, ERR_OK);
        run(f, 100);
        assert_int_equal(f->state.err.code, ERR_NOTFOUND);
        assert_true(f->state.not_served);
        unsigned before = f->states;
        run(f, 300 * SECOND);
        assert_int_equal(f->states, before);
        assert_true(lists(f) > 3 && lists(f) < 30);
        assert_string_equal(f->told.p, "");

        serve(f, &(struct script_answer){ .stream = true });
        run(f, 61 * SECOND);
        assert_string_equal(f->told.p, "[\"a\" \"b\" ]10 ");
        assert_false(last_asks(f, LIST, "resourceVersion"));
        assert_int_equal(f->state.err.code, ERR_OK);
        assert_false(f->state.not_served);
}

static void a_forbidden_list_is_told_and_tried_again(void **state) {
        struct fixture *f = *state;

        serve(f, &(struct script_answer){ .stream = true });
        script_on(f->script, KUBE_GET, LIST, &(struct script_answer){ .status = 403, .times = 3 });
        start(f);
        assert_int_equal(f->state.err.code, ERR_FORBIDDEN);
        assert_false(f->state.synced);
        assert_false(f->state.not_served);
        run(f, 30 * SECOND);
        assert_string_equal(f->told.p, "[\"a\" \"b\" ]10 ");
        assert_true(f->state.synced);
        assert_int_equal(lists(f), 4);
}

static void a_list_that_breaks_off_is_begun_again(void **state) {
        struct fixture *f = *state;

        serve(f, &(struct script_answer){ .stream = true });
        script_on(f->script, KUBE_GET, LIST,
                  &(struct script_answer){ .body = STR("{\"items\":[\"a\","), .error = ERR_UNREACHABLE, .times = 1 });
        start(f);
        assert_false(f->state.synced);
        run(f, 5 * SECOND);
        assert_string_equal(f->told.p, "[\"a\" [\"a\" \"b\" ]10 ");
}

static void a_list_that_starts_over_begins_again(void **state) {
        struct fixture *f = *state;

        serve(f, &(struct script_answer){ .stream = true });
        script_on(
                f->script, KUBE_GET, LIST,
                &(struct script_answer){
                        .body = STR("{\"items\":[\"x\"],\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t\"}}"),
                        .times = 1 });
        script_on(f->script, KUBE_GET, LIST "continue=t", &(struct script_answer){ .status = 410, .times = 1 });
        start(f);
        assert_string_equal(f->told.p, "[\"x\" [\"a\" \"b\" ]10 ");
}

static void a_server_that_asks_for_list_after_list_is_slowed_down(void **state) {
        struct fixture *f = *state;

        serve(f, &(struct script_answer){ .status = 410 });
        start(f);
        run(f, 100 * SECOND);
        assert_true(lists(f) >= 3 && lists(f) < 12);
        assert_int_equal(f->state.err.code, ERR_GONE);
}

static void internal_errors_resume_at_first_and_list_in_the_end(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        script_on(f->script, KUBE_GET, STREAM, &(struct script_answer){ .status = 500, .times = 5 });
        run(f, 2 * SECOND);
        end(f, ERR_OK);
        run(f, 15 * SECOND);
        assert_int_equal(lists(f), 1);
        assert_int_equal(f->state.err.code, ERR_INTERNAL);
        run(f, 120 * SECOND);
        assert_int_equal(lists(f), 2);
        assert_int_equal(f->state.err.code, ERR_OK);
}

static void a_list_without_a_version_cannot_be_watched(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, LIST,
                  &(struct script_answer){ .body = STR("{\"metadata\":{},\"items\":[\"a\"]}") });
        start(f);
        assert_string_equal(f->told.p, "[\"a\" ] ");
        assert_int_equal(f->state.err.code, ERR_UNSUPPORTED);
        assert_true(f->state.synced);
        assert_int_equal(streams(f), 0);
        run(f, 10 * SECOND);
        assert_true(lists(f) > 1);
}

static void a_place_that_cannot_be_asked_is_told(void **state) {
        struct kube_watch_spec spec = configmaps;
        struct fixture *f = *state;

        spec.at.namespace = STR("..");
        f->watch = kube_watch_new(f->client, &spec, &handler, f);
        run(f, 100);
        assert_int_equal(f->state.err.code, ERR_INVAL);
        kube_watch_free(f->watch);
        spec.start_rv = STR("1");
        f->watch = kube_watch_new(f->client, &spec, &handler, f);
        run(f, 100);
        assert_int_equal(f->state.err.code, ERR_INVAL);
        assert_int_equal(script_request_count(f->script), 0);
}

static void a_list_may_be_asked_for_at_any_time(void **state) {
        struct fixture *f = *state;

        start_streaming(f);
        kube_watch_relist(f->watch);
        run(f, 100);
        assert_string_equal(f->told.p, "[\"a\" \"b\" ]10 ");
        assert_false(last_asks(f, LIST, "resourceVersion"));
        assert_int_equal(script_streams(f->script, STREAM), 1);

        /* The stream ends in the same moment. */
        kube_watch_relist(f->watch);
        end(f, ERR_UNREACHABLE);
        run(f, 100);
        assert_int_equal(lists(f), 3);

        /* While it waits. */
        script_on(f->script, KUBE_GET, STREAM, &(struct script_answer){ .error = ERR_UNREACHABLE, .times = 1 });
        run(f, 2 * SECOND);
        end(f, ERR_OK);
        run(f, 100);
        assert_int_equal(f->state.err.code, ERR_UNREACHABLE);
        kube_watch_relist(f->watch);
        run(f, 10);
        assert_int_equal(lists(f), 4);
        assert_int_equal(f->state.err.code, ERR_OK);
}

static void it_may_be_freed_inside_every_callback(void **state) {
        static const struct {
                const char *callback, *told;
        } want[] = {
                { "state", "[\"a\" \"b\" ]10 " }, /* the first phase, a list, is no news */
                { "begin", "[" },
                { "item", "[\"a\" " },
                { "end", "[\"a\" \"b\" ]10 " },
                { "event", "[\"a\" \"b\" ]10 +11 " },
        };
        struct fixture *f = *state;

        serve(f,
              &(struct script_answer){
                      .stream = true,
                      .body = STR("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"11\"}}}\n"
                                  "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"12\"}}}\n") });
        for (size_t i = 0; i < ARRAY_LEN(want); i++) {
                buf_clear(&f->told);
                f->free_in = want[i].callback;
                f->watch = kube_watch_new(f->client, &configmaps, &handler, f);
                loop_run(f->loop);
                assert_null(f->watch);
                assert_string_equal(f->told.p, want[i].told);
                assert_int_equal(script_streams(f->script, STREAM), 0);
        }
}

static void a_watch_freed_in_a_callback_may_lose_its_client_at_once(void **state) {
        struct fixture *f = *state;

        f->free_in = "event";
        start_streaming(f);
        script_send(f->script, STREAM,
                    STR("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"11\"}}}"));
        while (f->watch)
                run(f, 0);
        kube_client_free(TAKE_PTR(f->client));
        loop_run(f->loop);
        assert_string_equal(f->told.p, "+11 ");
}

static void it_may_be_freed_at_any_time(void **state) {
        struct fixture *f = *state;

        serve(f, &(struct script_answer){ .stream = true, .delay_ms = 5 });
        script_on(f->script, KUBE_GET, LIST, &(struct script_answer){ .status = 403, .times = 8 });
        for (int64_t ms = 0; ms < 20; ms++) {
                f->watch = kube_watch_new(f->client, &configmaps, &handler, f);
                run(f, ms);
                kube_watch_free(TAKE_PTR(f->watch));
                buf_clear(&f->told);
                loop_run(f->loop);
                assert_string_equal(f->told.p, "");
        }
}

static void callbacks_may_be_missing(void **state) {
        struct fixture *f = *state;

        serve(f, &(struct script_answer){ .stream = true });
        f->watch = kube_watch_new(f->client, &configmaps, &(struct kube_watch_handler){ 0 }, NULL);
        run(f, 100);
        send(f, "ADDED", "11");
        assert_true(str_eqc(kube_watch_rv(f->watch), "11"));
}

static void versions_compare_as_integers_of_any_length(void **state) {
        int order = 9;

        (void)state;
        assert_true(kube_rv_cmp(STR("9"), STR("10"), &order));
        assert_true(order < 0);
        assert_true(kube_rv_cmp(STR("99999999999999999999999"), STR("99999999999999999999998"), &order));
        assert_true(order > 0);
        assert_true(kube_rv_cmp(STR("7"), STR("7"), &order));
        assert_int_equal(order, 0);
        assert_false(kube_rv_cmp(STR("07"), STR("7"), &order));
        assert_false(kube_rv_cmp(STR("7"), STR(""), &order));
        assert_false(kube_rv_cmp(STR("7a"), STR("7"), &order));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_list_then_events_from_there),
                TEST(the_servers_end_is_asked_for_at_random),
                TEST(selectors_of_list_and_watch_are_separate),
                TEST(it_can_begin_where_another_left_off),
                TEST(a_start_that_is_too_old_leads_to_a_list),
                TEST(a_clean_end_resumes_without_a_list),
                TEST(bookmarks_and_deletions_move_the_version),
                TEST(a_gone_event_lists_again_from_the_last_version),
                TEST(a_list_that_finds_the_version_expired_is_made_consistent),
                TEST(a_version_of_the_future_is_made_consistent),
                TEST(history_that_goes_backwards_is_listed_again),
                TEST(an_equal_version_is_no_step_back),
                TEST(unknown_events_are_skipped),
                TEST(borders_may_fall_anywhere),
                TEST(half_a_line_at_the_end_is_not_used),
                TEST(garbage_is_waited_out_and_listed_past),
                TEST(a_line_above_its_limit_is_listed_past),
                TEST(a_refused_connection_backs_off_and_resumes),
                TEST(a_watch_that_is_woken_does_not_sit_out_its_back_off),
                TEST(a_refusal_is_not_cut_short_by_waking),
                TEST(a_failure_is_told_once_and_its_end_too),
                TEST(the_back_off_is_forgotten_after_a_quiet_time),
                TEST(a_throttled_stream_keeps_the_servers_time),
                TEST(a_stream_closed_at_once_is_a_failure),
                TEST(a_silent_stream_is_resumed),
                TEST(silence_where_bookmarks_were_seen_leads_to_a_list),
                TEST(silence_without_bookmarks_leads_to_a_list_much_later),
                TEST(a_kind_that_is_gone_is_told_and_waited_for),
                TEST(a_forbidden_list_is_told_and_tried_again),
                TEST(a_list_that_breaks_off_is_begun_again),
                TEST(a_list_that_starts_over_begins_again),
                TEST(a_server_that_asks_for_list_after_list_is_slowed_down),
                TEST(internal_errors_resume_at_first_and_list_in_the_end),
                TEST(a_list_without_a_version_cannot_be_watched),
                TEST(a_place_that_cannot_be_asked_is_told),
                TEST(a_list_may_be_asked_for_at_any_time),
                TEST(it_may_be_freed_inside_every_callback),
                TEST(a_watch_freed_in_a_callback_may_lose_its_client_at_once),
                TEST(it_may_be_freed_at_any_time),
                TEST(callbacks_may_be_missing),
                TEST(versions_compare_as_integers_of_any_length),
        };

        return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
