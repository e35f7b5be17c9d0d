/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/agent_impl.h"
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
}

/* Each is one more object, so no two become one. */
static void tell_of_many(struct world *w, const char *ns, unsigned count, int64_t every_ms) {
        struct event_object o = web;

        o.ns = str_from(ns);
        for (unsigned i = 0; i < count; i++) {
                o.uid = arena_strf(w->arena, "%s-%lld-%u", ns, (long long)loop_now_ms(w->loop), i);
                events_tell(w->events, &o, true, "SyncFailed", STR("refused"));
                loop_run_for(w->loop, every_ms);
        }
}

static bool was_sent(const struct world *w, const char *message) {
        for (size_t i = 0; i < script_request_count(w->script); i++)
                if (str_contains(script_request_at(w->script, i)->body, str_from(message)))
                        return true;
        return false;
}

/* A thousand sets that begin to progress: what is wrong with one of them is told all the same, and soon. */
static void a_warning_is_not_lost_among_others(void **state) {
        struct world *w = *state;
        struct arena *a = w->arena;

        for (unsigned i = 0; i < EVENTS_BURST + 10 * EVENTS_MAX_WAITING; i++) {
                struct event_object set = web;

                set.name = arena_strf(a, "set-%u", i);
                set.uid = arena_strf(a, "u-%u", i);
                events_tell(w->events, &set, false, "GroupsProgressing", STR("progressing"));
                loop_run_for(w->loop, 1);
        }
        size_t before = posts(w);
        tell(w, "it is broken");
        loop_run_for(w->loop, 2000);
        assert_in_range(posts(w), before + 1, before + 3);
        assert_true(was_sent(w, "it is broken"));
}

static void a_storm_of_failures_has_a_pace(void **state) {
        struct world *w = *state;

        tell_of_many(w, "shop", 6000, 100);
        assert_in_range(posts(w), EVENTS_BURST + 9 * EVENTS_PER_MINUTE, EVENTS_BURST + 10 * EVENTS_PER_MINUTE + 1);
        loop_run_for(w->loop, 600000);
        size_t before = posts(w);
        tell_of_many(w, "shop", EVENTS_BURST, 100);
        assert_int_equal(posts(w), before + EVENTS_BURST);
}

static void one_object_costs_two_requests_a_minute_for_each_reason(void **state) {
        struct world *w = *state;

        for (int i = 0; i < 6000; i++) {
                tell(w, "again");
                loop_run_for(w->loop, 100);
        }
        assert_int_equal(posts(w), 1);
        assert_in_range(patches(w), 18, 20);
        assert_in_range(count_of(last_body(w, KUBE_PATCH, EVENTS "/*")), 5600, 6000);
}

/* --- refusals --------------------------------------------------------------------------------------------------- */

static const struct script_answer forbidden = {
        .status = 403, .body = STR("{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403}"),
};

static void a_namespace_that_takes_none_is_left_alone_for_a_while(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, "/api/v1/namespaces/other/events", &(struct script_answer){ .status = 201, .body = STR("{}") });
        script_on(w->script, KUBE_POST, EVENTS, &forbidden);
        tell_of_many(w, "shop", 300, 4000);
        assert_in_range(posts(w), 2, 3);
        assert_int_equal(patches(w), 0);
        tell_of_many(w, "other", 10, 1000);
        assert_int_equal(script_count(w->script, KUBE_POST, "/api/v1/namespaces/other/events*"), 10);
}

static void what_waits_for_a_namespace_that_takes_none_is_dropped(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS, &forbidden);
        tell_of_many(w, "shop", 50, 0);
        tell(w, "one more");
        loop_run_for(w->loop, 2 * EVENTS_REFUSED_MS);
        assert_int_equal(posts(w), 1);
        tell_of_many(w, "shop", EVENTS_MAX_WAITING, 0); /* nothing of before takes a place */
        script_on(w->script, KUBE_POST, EVENTS, &(struct script_answer){ .status = 201, .body = STR("{}") });
        loop_run_for(w->loop, 2 * EVENTS_REFUSED_MS);
        assert_in_range(posts(w), 2, 3);
}

static void a_namespace_that_is_going_takes_none(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS,
                  &(struct script_answer){ .status = 403,
                                           .body = STR("{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,\"details\":{\"causes\":"
                                                       "[{\"reason\":\"NamespaceTerminating\"}]}}") });
        tell_of_many(w, "shop", 100, 1000);
        assert_int_equal(posts(w), 1);
        script_on(w->script, KUBE_POST, EVENTS,
                  &(struct script_answer){ .status = 404,
                                           .body = STR("{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404,\"details\":"
                                                       "{\"name\":\"shop\",\"kind\":\"namespaces\"}}") });
        tell_of_many(w, "shop", 1000, 1000);
        assert_int_equal(posts(w), 2);
}

static void one_whose_creation_was_refused_is_created_when_it_is_told_again(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS, &forbidden);
        tell(w, "first");
        loop_run_for(w->loop, EVENTS_REFUSED_MS + 1000);
        script_on(w->script, KUBE_POST, EVENTS, &(struct script_answer){ .status = 201, .body = STR("{}") });
        tell(w, "second");
        loop_run_for(w->loop, 60000);
        assert_int_equal(posts(w), 2);
        assert_int_equal(patches(w), 0);
        assert_int_equal(count_of(last_body(w, KUBE_POST, EVENTS "*")), 1);
}

static void what_cannot_be_taken_is_dropped_alone(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS,
                  &(struct script_answer){ .status = 422, .times = 1,
                                           .body = STR("{\"kind\":\"Status\",\"reason\":\"Invalid\",\"code\":422}") });
        tell(w, "first");
        loop_run_for(w->loop, 1000);
        tell_of_many(w, "shop", 5, 100);
        assert_int_equal(posts(w), 6);
        loop_run_for(w->loop, 600000);
        assert_int_equal(posts(w) + patches(w), 6);
}

/* --- a server that is away or has too much to do ---------------------------------------------------------------- */

static const struct script_answer away = { .error = ERR_UNREACHABLE };

static void a_server_that_is_away_is_asked_less_and_less(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS, &away);
        script_on(w->script, KUBE_PATCH, EVENTS "/*", &away);
        tell_of_many(w, "shop", 3600, 1000);
        assert_in_range(posts(w) + patches(w), 5, 16);
        script_on(w->script, KUBE_POST, EVENTS, &(struct script_answer){ .status = 201, .body = STR("{}") });
        script_on(w->script, KUBE_PATCH, EVENTS "/*", &(struct script_answer){ .body = STR("{}") });
        size_t before = posts(w) + patches(w);
        loop_run_for(w->loop, 2 * EVENTS_MAX_PAUSE_MS);
        assert_int_equal(posts(w) + patches(w), before + EVENTS_MAX_WAITING);
        tell_of_many(w, "shop", 10, 100); /* the next trouble begins with a short pause again */
        assert_int_equal(posts(w) + patches(w), before + EVENTS_MAX_WAITING + 10);
}

static void a_server_with_too_much_to_do_says_when(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS,
                  &(struct script_answer){ .status = 429, .times = 1, .retry_after_ms = 120000,
                                           .body = STR("{\"kind\":\"Status\",\"reason\":\"TooManyRequests\",\"code\":429}") });
        tell_of_many(w, "shop", 100, 1000);
        assert_int_equal(posts(w), 1);
        loop_run_for(w->loop, 60000);
        assert_int_equal(posts(w) + patches(w), 1 + 100);
}

/* One that always breaks must not be the only one that is ever tried. */
static void one_that_the_server_cannot_do_keeps_no_other_back(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS,
                  &(struct script_answer){ .status = 500, .times = 1,
                                           .body = STR("{\"kind\":\"Status\",\"reason\":\"InternalError\",\"code\":500}") });
        script_on(w->script, KUBE_PATCH, EVENTS "/web.*",
                  &(struct script_answer){ .status = 500,
                                           .body = STR("{\"kind\":\"Status\",\"reason\":\"InternalError\",\"code\":500}") });
        tell(w, "it fails");
        loop_run_for(w->loop, 1000);
        tell_of_many(w, "shop", 20, 100);
        loop_run_for(w->loop, 60000);
        assert_int_equal(posts(w), 21);
        assert_in_range(patches(w), 1, 3);
}

static void a_creation_without_an_answer_makes_no_second_one(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS, &(struct script_answer){ .error = ERR_UNREACHABLE, .times = 1 });
        tell(w, "first");
        loop_run_for(w->loop, 60000);
        assert_int_equal(posts(w), 1);
        assert_int_equal(patches(w), 1);
        script_on(w->script, KUBE_POST, EVENTS,
                  &(struct script_answer){ .status = 409,
                                           .body = STR("{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"code\":409}") });
        tell_of_many(w, "shop", 1, 1000);
        assert_int_equal(posts(w), 2);
        loop_run_for(w->loop, 600000);
        assert_int_equal(posts(w) + patches(w), 3);
}

static void they_are_sent_one_at_a_time_behind_all_writes(void **state) {
        struct world *w = *state;

        script_on(w->script, KUBE_POST, EVENTS, &(struct script_answer){ .status = 201, .body = STR("{}"), .delay_ms = 3000 });
        script_on(w->script, KUBE_PATCH, EVENTS "/*", &(struct script_answer){ .body = STR("{}"), .delay_ms = 3000 });
        tell_of_many(w, "shop", 10, 0);
        tell(w, "one");
        loop_run_for(w->loop, 2000);
        assert_int_equal(posts(w), 1);
        assert_int_equal(script_last(w->script, KUBE_POST, EVENTS "*")->priority, KUBE_PRIORITY_READ);
        loop_run_for(w->loop, 40000);
        tell(w, "two");
        loop_run_for(w->loop, 60000);
        assert_int_equal(script_last(w->script, KUBE_PATCH, EVENTS "/*")->priority, KUBE_PRIORITY_READ);
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

/* --- what is told of an outcome --------------------------------------------------------------------------------- */

static const struct value *parsed(struct world *w, const char *text) {
        const struct value *v;

        assert_int_equal(json_parse(str_from(text), w->arena, &v, NULL), 0);
        return v;
}

static void values_of_a_secret_are_in_no_event(void **state) {
        struct world *w = *state;
        struct err err = { .code = ERR_DENIED, .msg = "denied: aHVudGVyMg== is hunter2, as swordfish was" };
        struct outcome o = {
                .kind = OUTCOME_FAILED, .secret = true, .err = &err, .reason = "", .file = STR("app/s.yaml"), .line = 7,
                .desired = parsed(w, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"namespace\":\"shop\"},"
                                     "\"data\":{\"password\":\"aHVudGVyMg==\"}}"),
                .before = parsed(w, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"namespace\":\"shop\","
                                    "\"uid\":\"u-9\"},\"data\":{\"password\":\"c3dvcmRmaXNo\"}}"),
        };

        agent_events_of(w->events, &o);
        loop_run_for(w->loop, 1000);
        struct str body = script_last(w->script, KUBE_POST, EVENTS "*")->body;
        assert_true(str_contains(body, STR("denied: ")));
        assert_true(str_contains(body, STR("(Git: app/s.yaml:7)")));
        assert_true(str_contains(body, STR("u-9")));
        assert_false(str_contains(body, STR("hunter2")));
        assert_false(str_contains(body, STR("swordfish")));
        assert_false(str_contains(body, STR("aHVudGVyMg")));
}

static void what_got_lost_and_what_was_there_at_the_start_is_no_news(void **state) {
        struct world *w = *state;
        struct err err = { .code = ERR_UNREACHABLE, .msg = "gone" };
        struct decide_note note = { .kind = DECIDE_REPORTED, .owner = STR("ops"), .rule = "a rule" };
        struct outcome o = {
                .kind = OUTCOME_FAILED, .err = &err, .mishap = true, .reason = "",
                .desired = parsed(w, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"shop\"}}"),
        };

        agent_events_of(w->events, &o);
        o = (struct outcome){ .kind = OUTCOME_UNCHANGED, .reason = "", .first_look = true, .notes_are_new = true, .notes = &note,
                              .note_count = 1, .before = o.desired, .after = o.desired };
        agent_events_of(w->events, &o);
        loop_run_for(w->loop, 1000);
        assert_int_equal(posts(w), 0);
        o.first_look = false;
        agent_events_of(w->events, &o);
        loop_run_for(w->loop, 1000);
        assert_int_equal(posts(w), 1);
        assert_text(value_getc(last_body(w, KUBE_POST, EVENTS "*"), "reason"), "OwnedByAnother");
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
                CASE(a_warning_is_not_lost_among_others),
                CASE(a_storm_of_failures_has_a_pace),
                CASE(one_object_costs_two_requests_a_minute_for_each_reason),
                CASE(a_namespace_that_takes_none_is_left_alone_for_a_while),
                CASE(what_waits_for_a_namespace_that_takes_none_is_dropped),
                CASE(a_namespace_that_is_going_takes_none),
                CASE(one_whose_creation_was_refused_is_created_when_it_is_told_again),
                CASE(what_cannot_be_taken_is_dropped_alone),
                CASE(a_server_that_is_away_is_asked_less_and_less),
                CASE(a_server_with_too_much_to_do_says_when),
                CASE(one_that_the_server_cannot_do_keeps_no_other_back),
                CASE(a_creation_without_an_answer_makes_no_second_one),
                CASE(they_are_sent_one_at_a_time_behind_all_writes),
                CASE(an_object_that_could_not_be_made_goes_by_its_name),
                CASE(values_of_a_secret_are_in_no_event),
                CASE(what_got_lost_and_what_was_there_at_the_start_is_no_news),
                CASE(an_end_in_the_middle_is_fine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
