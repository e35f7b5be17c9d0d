/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/events.h"
#include "base/json.h"
#include "base/value.h"
#include "kube/script_transport.h"

#define EVENTS "/api/v1/namespaces/shop/events"

struct world {
        struct loop *loop;
        struct script *script;
        struct kube_client *client;
        struct events *events;
        struct arena *arena;
};

static const struct event_object web = {
        { "apps/v1", 7 }, { "Deployment", 10 }, { "shop", 4 }, { "web", 3 }, { "u-1", 3 }, { "17", 2 },
};

static int setup(void **state) {
        struct world *w = mem_zalloc(sizeof *w);

        w->loop = loop_new_virtual(1, 1000000);
        w->script = script_new(w->loop);
        w->client = kube_client_new(script_transport(w->script), w->loop);
        w->events = events_new(w->loop, w->client, STR("one"));
        w->arena = arena_new(0);
        script_on(w->script, KUBE_POST, EVENTS, &(struct script_answer){ .status = 201, .body = STR("{}") });
        script_on(w->script, KUBE_PATCH, EVENTS "/*", &(struct script_answer){ .body = STR("{}") });
        *state = w;
        return 0;
}

static int teardown(void **state) {
        struct world *w = *state;

        events_free(w->events);
        kube_client_free(w->client);
        script_free(w->script);
        loop_free(w->loop);
        arena_free(w->arena);
        free(w);
        return 0;
}

static void tell(struct world *w, const char *message) {
        events_tell(w->events, &web, true, "FieldFight", str_from(message));
}

static size_t posts(const struct world *w) {
        return script_count(w->script, KUBE_POST, EVENTS "*");
}

static size_t patches(const struct world *w) {
        return script_count(w->script, KUBE_PATCH, EVENTS "/*");
}

static const struct value *last_body(struct world *w, enum kube_method method, const char *pattern) {
        const struct script_request *r = script_last(w->script, method, pattern);
        const struct value *v;

        assert_non_null(r);
        assert_int_equal(json_parse(r->body, w->arena, &v, NULL), 0);
        return v;
}

static void assert_text(const struct value *v, const char *want) {
        assert_true(str_eqc(value_text(v), want));
}

static void an_event_says_what_it_is_about(void **state) {
        struct world *w = *state;

        tell(w, "spec.region: fought over");
        loop_run_for(w->loop, 1000);
        assert_int_equal(posts(w), 1);
        const struct value *e = last_body(w, KUBE_POST, EVENTS "*"), *about = value_getc(e, "involvedObject");
        assert_text(value_getc(e, "reason"), "FieldFight");
        assert_text(value_getc(e, "type"), "Warning");
        assert_text(value_getc(e, "message"), "spec.region: fought over");
        assert_text(value_getc(about, "kind"), "Deployment");
        assert_text(value_getc(about, "uid"), "u-1");
        assert_text(value_getc(about, "resourceVersion"), "17");
        assert_true(str_starts(value_text(value_path(e, "metadata", "name", NULL)), STR("web.")));
        assert_int_equal(script_unexpected(w->script), 0);
}

static int64_t count_of(const struct value *e) {
        int64_t count = 0;

        assert_true(value_to_i64(value_getc(e, "count"), &count));
        return count;
}

static void what_is_told_again_counts_on_twice_a_minute_at_most(void **state) {
        struct world *w = *state;

        for (int i = 0; i < 29; i++) {
                tell(w, i == 28 ? "newest" : "older");
                loop_run_for(w->loop, 1000);
        }
        assert_int_equal(posts(w) + patches(w), 1);
        loop_run_for(w->loop, 5000);
        assert_int_equal(posts(w), 1);
        assert_int_equal(patches(w), 1);
        const struct value *e = last_body(w, KUBE_PATCH, EVENTS "/*");
        assert_int_equal(count_of(e), 29);
        assert_text(value_getc(e, "message"), "newest");
        loop_run_for(w->loop, 120000);
        assert_int_equal(posts(w) + patches(w), 2);
}

static void one_that_the_server_forgot_begins_anew(void **state) {
        struct world *w = *state;

        tell(w, "first");
        loop_run_for(w->loop, 40000);
        script_on(w->script, KUBE_PATCH, EVENTS "/*",
                  &(struct script_answer){ .status = 404,
                                           .body = STR("{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404,"
                                                       "\"details\":{\"name\":\"web.1\",\"kind\":\"events\"}}") });
        tell(w, "second");
        loop_run_for(w->loop, 40000);
        assert_int_equal(posts(w), 2);
        assert_int_equal(count_of(last_body(w, KUBE_POST, EVENTS "*")), 1);
}

static void after_an_hour_it_is_another_one(void **state) {
        struct world *w = *state;

        tell(w, "first");
        loop_run_for(w->loop, 3600 * 1000);
        tell(w, "second");
        loop_run_for(w->loop, 40000);
        assert_int_equal(posts(w), 2);
        assert_int_equal(patches(w), 0);
}

static void what_is_refused_is_dropped(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS,
                  &(struct script_answer){ .status = 403, .body = STR("{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403}") });
        tell(w, "first");
        loop_run_for(w->loop, 600000);
        assert_int_equal(posts(w), 1);
}

static void messages_are_cut_between_characters(void **state) {
        struct world *w = *state;
        _cleanup_(mem_freep) char *text = mem_zalloc(EVENT_MESSAGE_MAX_BYTES + 3);

        memset(text, 'a', EVENT_MESSAGE_MAX_BYTES - 1);
        memcpy(text + EVENT_MESSAGE_MAX_BYTES - 1, "é", 2);
        tell(w, text);
        loop_run_for(w->loop, 1000);
        assert_int_equal(value_text(value_getc(last_body(w, KUBE_POST, EVENTS "*"), "message")).n, EVENT_MESSAGE_MAX_BYTES - 1);
}

static void a_flood_is_bounded(void **state) {
        struct world *w = *state;
        struct event_object o = web;

        for (unsigned i = 0; i < 3 * EVENTS_MAX_KNOWN; i++) {
                o.uid = arena_strf(w->arena, "u-%u", i);
                events_tell(w->events, &o, false, "FieldHeld", STR("held"));
        }
        loop_run_for(w->loop, 600000);
        assert_in_range(posts(w), EVENTS_MAX_WAITING, EVENTS_MAX_WAITING + 1);
        for (unsigned i = 0; i < 3 * EVENTS_MAX_KNOWN; i++) {
                o.uid = arena_strf(w->arena, "v-%u", i);
                events_tell(w->events, &o, false, "FieldHeld", STR("held"));
                loop_run_for(w->loop, 100);
        }
        assert_in_range(posts(w), 3 * EVENTS_MAX_KNOWN + EVENTS_MAX_WAITING, 3 * EVENTS_MAX_KNOWN + EVENTS_MAX_WAITING + 1);
}

static void an_object_that_could_not_be_made_goes_by_its_name(void **state) {
        struct world *w = *state;
        struct event_object o = web, other = web;

        o.uid = other.uid = o.resource_version = STR("");
        other.kind = STR("StatefulSet");
        events_tell(w->events, &o, true, "SyncFailed", STR("refused"));
        events_tell(w->events, &other, true, "SyncFailed", STR("refused"));
        events_tell(w->events, &o, true, "SyncFailed", STR("refused again"));
        loop_run_for(w->loop, 1000);
        assert_int_equal(posts(w), 2);
        const struct value *about = value_getc(last_body(w, KUBE_POST, EVENTS "*"), "involvedObject");
        assert_null(value_getc(about, "uid"));
        assert_text(value_getc(about, "name"), "web");
        loop_run_for(w->loop, 60000);
        assert_int_equal(posts(w) + patches(w), 3);
}

static void an_end_in_the_middle_is_fine(void **state) {
        tell(*state, "under way when the agent ends");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(an_event_says_what_it_is_about),
                CASE(what_is_told_again_counts_on_twice_a_minute_at_most),
                CASE(one_that_the_server_forgot_begins_anew),
                CASE(after_an_hour_it_is_another_one),
                CASE(what_is_refused_is_dropped),
                CASE(messages_are_cut_between_characters),
                CASE(a_flood_is_bounded),
                CASE(an_object_that_could_not_be_made_goes_by_its_name),
                CASE(an_end_in_the_middle_is_fine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
