/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"
#include "kube/script_transport.h"

#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SETTINGS "/api/v1/namespaces/shop/configmaps/settings"

static const struct kube_location settings = {
        .version = { "v1", 2 },
        .plural = { "configmaps", 10 },
        .namespace = { "shop", 4 },
        .name = { "settings", 8 },
};
static const struct kube_location secret = {
        .version = { "v1", 2 },
        .plural = { "secrets", 7 },
        .namespace = { "shop", 4 },
        .name = { "key", 3 },
};
static const struct kube_write as_truce = { .field_manager = { "truce", 5 } };

struct fixture {
        struct loop *loop;
        struct script *script;
        struct kube_client *client;
        unsigned done; /* callbacks so far; the rest is of the last one */
        struct err err;
        enum kube_conflict conflict;
        int http_status;
        struct buf body, warnings, message, told;
};

static int set_up(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->loop = loop_new_virtual(7, 0);
        f->script = script_new(f->loop);
        f->client = kube_client_new(script_transport(f->script), f->loop);
        f->body = buf_make(MIB);
        f->warnings = buf_make(MIB);
        f->message = buf_make(MIB);
        f->told = buf_make(MIB);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        struct fixture *f = *state;

        kube_client_free(f->client);
        script_free(f->script);
        loop_free(f->loop);
        buf_done(&f->body);
        buf_done(&f->warnings);
        buf_done(&f->message);
        buf_done(&f->told);
        free(f);
        return 0;
}

static void on_done(void *ctx, const struct kube_result *result) {
        struct fixture *f = ctx;

        f->done++;
        f->err = result->err;
        f->conflict = result->status.conflict;
        f->http_status = result->http_status;
        buf_clear(&f->body);
        buf_add(&f->body, result->body);
        buf_clear(&f->warnings);
        buf_add(&f->warnings, result->warnings);
        buf_clear(&f->message);
        buf_add(&f->message, result->status.message);
}

/* Runs until nothing is left to do; the call must have ended once. */
static void finish(struct fixture *f) {
        unsigned before = f->done;

        loop_run(f->loop);
        assert_int_equal(f->done, before + 1);
}

static void get(struct fixture *f) {
        kube_client_get(f->client, &settings, 0, on_done, f);
        finish(f);
}

static void apply(struct fixture *f) {
        kube_client_apply(f->client, &settings, STR("{\"a\":1}"), &as_truce, on_done, f);
        finish(f);
}

static const struct script_request *last(struct fixture *f) {
        return script_request_at(f->script, script_request_count(f->script) - 1);
}

static void a_get_brings_the_object(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .body = STR("{\"kind\":\"ConfigMap\"}") });
        kube_client_get(f->client, &settings, 0, on_done, f);
        assert_int_equal(f->done, 0);
        finish(f);
        assert_int_equal(f->err.code, ERR_OK);
        assert_int_equal(f->http_status, 200);
        assert_string_equal(f->body.p, "{\"kind\":\"ConfigMap\"}");
        assert_int_equal(last(f)->priority, KUBE_PRIORITY_READ);
}

static void an_apply_says_whether_it_created(void **state) {
        struct fixture *f = *state;
        const struct kube_write how = {
                .field_manager = STR("truce"), .force = true, .dry_run = true, .validation = KUBE_VALIDATION_STRICT
        };

        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ .status = 201, .body = STR("{}") });
        kube_client_apply(f->client, &settings, STR("{\"a\":1}"), &how, on_done, f);
        finish(f);
        assert_int_equal(f->http_status, 201);
        assert_true(
                str_eqc(last(f)->path, SETTINGS "?fieldManager=truce&force=true&dryRun=All&fieldValidation=Strict"));
        assert_true(str_eqc(last(f)->content_type, "application/apply-patch+yaml"));
        assert_true(str_eqc(last(f)->body, "{\"a\":1}"));
        assert_int_equal(last(f)->priority, KUBE_PRIORITY_WRITE);
}

static void each_write_has_its_method_and_type(void **state) {
        struct kube_location at = settings;
        struct fixture *f = *state;

        script_on(f->script, KUBE_POST, "*", &(struct script_answer){ .status = 201 });
        script_on(f->script, KUBE_PUT, "*", &(struct script_answer){ 0 });
        script_on(f->script, KUBE_PATCH, "*", &(struct script_answer){ 0 });

        at.name = (struct str){ 0 };
        kube_client_create(f->client, &at, STR("{}"), &as_truce, on_done, f);
        finish(f);
        assert_int_equal(last(f)->method, KUBE_POST);
        assert_true(str_eqc(last(f)->path, "/api/v1/namespaces/shop/configmaps?fieldManager=truce"));

        kube_client_update(f->client, &settings, STR("{}"), &(struct kube_write){ 0 }, on_done, f);
        finish(f);
        assert_int_equal(last(f)->method, KUBE_PUT);
        assert_true(str_eqc(last(f)->content_type, "application/json"));

        kube_client_patch(f->client, &settings, KUBE_PATCH_MERGE, STR("{}"), &as_truce, on_done, f);
        finish(f);
        assert_true(str_eqc(last(f)->content_type, "application/merge-patch+json"));

        kube_client_patch(f->client, &settings, KUBE_PATCH_JSON, STR("[]"), &as_truce, on_done, f);
        finish(f);
        assert_true(str_eqc(last(f)->content_type, "application/json-patch+json"));
        assert_int_equal(f->err.code, ERR_OK);
}

static void a_lease_goes_first(void **state) {
        const struct kube_location lease = {
                .group = STR("coordination.k8s.io"),
                .version = STR("v1"),
                .plural = STR("leases"),
                .namespace = STR("n"),
                .name = STR("l"),
        };
        struct fixture *f = *state;

        script_on(f->script, KUBE_PUT, "*", &(struct script_answer){ 0 });
        kube_client_update(f->client, &lease, STR("{}"), &as_truce, on_done, f);
        finish(f);
        assert_int_equal(last(f)->priority, KUBE_PRIORITY_LEASE);
}

static void a_deletion_carries_its_preconditions(void **state) {
        const struct kube_delete how = {
                .uid = STR("u\"1"),
                .resource_version = STR("7"),
                .propagation = KUBE_PROPAGATION_FOREGROUND,
                .now = true,
                .dry_run = true,
        };
        struct fixture *f = *state;

        script_on(f->script, KUBE_DELETE, SETTINGS "?dryRun=All", &(struct script_answer){ .body = STR("{}") });
        kube_client_delete(f->client, &settings, &how, on_done, f);
        finish(f);
        assert_int_equal(f->err.code, ERR_OK);
        assert_true(str_eqc(last(f)->body,
                            "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":"
                            "\"u\\\"1\",\"resourceVersion\":\"7\"},\"propagationPolicy\":\"Foreground\","
                            "\"gracePeriodSeconds\":0,\"dryRun\":[\"All\"]}"));

        script_on(f->script, KUBE_DELETE, SETTINGS, &(struct script_answer){ .body = STR("{}") });
        kube_client_delete(f->client, &settings, &(struct kube_delete){ 0 }, on_done, f);
        finish(f);
        assert_true(str_eqc(last(f)->body, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\"}"));
}

static void bad_arguments_come_back_through_done_and_send_nothing(void **state) {
        struct kube_location at = settings;
        struct fixture *f = *state;

        kube_client_apply(f->client, &settings, STR("{}"), &(struct kube_write){ 0 }, on_done, f);
        assert_int_equal(f->done, 0);
        finish(f);
        assert_int_equal(f->err.code, ERR_INVAL);
        assert_string_equal(f->err.msg, "apply v1 configmaps shop/settings: it needs a field manager");

        at.name = STR("..");
        kube_client_get(f->client, &at, 0, on_done, f);
        finish(f);
        assert_int_equal(f->err.code, ERR_INVAL);

        at.name = (struct str){ 0 };
        kube_client_delete(f->client, &at, &(struct kube_delete){ 0 }, on_done, f);
        finish(f);
        assert_int_equal(f->err.code, ERR_INVAL);

        char uid[8 * KIB];
        memset(uid, 'u', sizeof uid);
        kube_client_delete(f->client, &settings, &(struct kube_delete){ .uid = { uid, sizeof uid } }, on_done, f);
        finish(f);
        assert_int_equal(f->err.code, ERR_INVAL);
        assert_int_equal(script_request_count(f->script), 0);
}

static void a_body_above_the_servers_limit_is_not_sent(void **state) {
        struct fixture *f = *state;
        char *body = mem_zalloc(KUBE_MAX_REQUEST_BYTES + 1);

        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ 0 });
        kube_client_apply(f->client, &settings, (struct str){ body, KUBE_MAX_REQUEST_BYTES + 1 }, &as_truce, on_done,
                          f);
        finish(f);
        assert_int_equal(f->err.code, ERR_LIMIT);
        assert_int_equal(script_request_count(f->script), 0);
        kube_client_apply(f->client, &settings, (struct str){ body, KUBE_MAX_REQUEST_BYTES }, &as_truce, on_done, f);
        finish(f);
        assert_int_equal(f->err.code, ERR_OK);
        free(body);
}

static void a_refusal_names_what_was_asked(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_PATCH, SETTINGS,
                  &(struct script_answer){
                          .status = 409,
                          .body = STR("{\"kind\":\"Status\",\"reason\":\"Conflict\",\"message\":\"the object has "
                                      "been modified\"}") });
        apply(f);
        assert_int_equal(f->err.code, ERR_CONFLICT);
        assert_int_equal(f->conflict, KUBE_CONFLICT_RESOURCE_VERSION);
        assert_string_equal(f->err.msg, "apply v1 configmaps shop/settings: the object has been modified");
        assert_int_equal(f->body.n, 0);
        assert_int_equal(script_request_count(f->script), 1);
}

static void what_a_secret_was_refused_for_is_withheld(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_PATCH, "*/secrets/*",
                  &(struct script_answer){
                          .status = 422,
                          .body = STR("{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"bad hunter2\"}") });
        kube_client_apply(f->client, &secret, STR("{}"), &as_truce, on_done, f);
        finish(f);
        assert_int_equal(f->err.code, ERR_INVAL);
        assert_null(strstr(f->err.msg, "hunter2"));
        assert_null(strstr(f->message.p, "hunter2"));
}

static void a_throttled_write_waits_and_goes_again(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ .body = STR("{}") });
        script_on(f->script, KUBE_PATCH, SETTINGS,
                  &(struct script_answer){ .status = 429, .retry_after_ms = 2000, .times = 2 });
        apply(f);
        assert_int_equal(f->err.code, ERR_OK);
        assert_int_equal(script_request_count(f->script), 3);
        for (size_t i = 1; i < 3; i++) {
                int64_t waited_ms = script_request_at(f->script, i)->at_ms - script_request_at(f->script, i - 1)->at_ms;

                assert_true(waited_ms >= 2000 && waited_ms <= 3001);
        }
}

static void throttling_that_lasts_is_told_after_a_few_tries(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ .status = 429, .retry_after_ms = 1000 });
        apply(f);
        assert_int_equal(f->err.code, ERR_THROTTLED);
        assert_int_equal(f->err.retry_after_ms, 1000);
        assert_int_equal(script_request_count(f->script), 1 + KUBE_CLIENT_MAX_RETRIES);
}

static void a_wait_beyond_the_deadline_is_left_to_the_caller(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ .status = 429, .retry_after_ms = 60000 });
        apply(f);
        assert_int_equal(f->err.code, ERR_THROTTLED);
        assert_int_equal(f->err.retry_after_ms, 60000);
        assert_int_equal(script_request_count(f->script), 1);
}

static void an_unknown_outcome_of_a_write_is_never_repeated(void **state) {
        static const int statuses[] = { 500, 502, 504 };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
                script_on(f->script, KUBE_PATCH, SETTINGS,
                          &(struct script_answer){ .status = statuses[i], .retry_after_ms = 1000 });
                apply(f);
                assert_int_equal(script_request_count(f->script), i + 1);
        }
        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ .error = ERR_UNREACHABLE });
        apply(f);
        assert_int_equal(f->err.code, ERR_UNREACHABLE);
        assert_int_equal(script_request_count(f->script), ARRAY_LEN(statuses) + 1);
}

static void a_503_that_names_a_time_is_repeated(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ .body = STR("{}") });
        script_on(f->script, KUBE_PATCH, SETTINGS,
                  &(struct script_answer){ .status = 503, .retry_after_ms = 1000, .times = 1 });
        apply(f);
        assert_int_equal(f->err.code, ERR_OK);

        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ .status = 503 });
        apply(f);
        assert_int_equal(f->err.code, ERR_UNREACHABLE);
        assert_int_equal(script_request_count(f->script), 3);
}

static void a_get_survives_one_broken_connection(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .body = STR("{}") });
        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .error = ERR_UNREACHABLE, .times = 1 });
        get(f);
        assert_int_equal(f->err.code, ERR_OK);
        assert_int_equal(script_request_count(f->script), 2);

        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .error = ERR_UNREACHABLE });
        get(f);
        assert_int_equal(f->err.code, ERR_UNREACHABLE);
        assert_int_equal(script_request_count(f->script), 4);
}

static void a_get_is_repeated_when_a_500_invites_it(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .body = STR("{}") });
        script_on(f->script, KUBE_GET, SETTINGS,
                  &(struct script_answer){ .status = 500, .retry_after_ms = 1000, .times = 1 });
        get(f);
        assert_int_equal(f->err.code, ERR_OK);
        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .status = 500 });
        get(f);
        assert_int_equal(f->err.code, ERR_INTERNAL);
        assert_int_equal(script_request_count(f->script), 3);
}

static void a_silent_server_ends_in_a_timeout(void **state) {
        struct fixture *f = *state;
        int64_t began_ms = loop_now_ms(f->loop);

        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .delay_ms = 100000 });
        kube_client_get(f->client, &settings, 3000, on_done, f);
        finish(f);
        assert_int_equal(f->err.code, ERR_TIMEOUT);
        assert_int_equal(loop_now_ms(f->loop) - began_ms, 3000);
}

static void a_reply_larger_than_any_object_is_refused(void **state) {
        struct fixture *f = *state;
        char *body = mem_zalloc(KUBE_MAX_OBJECT_BYTES + 1);

        script_on(f->script, KUBE_GET, SETTINGS,
                  &(struct script_answer){ .body = { body, KUBE_MAX_OBJECT_BYTES + 1 } });
        get(f);
        assert_int_equal(f->err.code, ERR_LIMIT);
        free(body);
}

static void a_cancelled_call_says_nothing_more(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .delay_ms = 10 });
        struct kube_op *op = kube_client_get(f->client, &settings, 0, on_done, f);
        loop_run_for(f->loop, 5);
        kube_op_cancel(op);
        kube_op_cancel(NULL);
        loop_run(f->loop);
        assert_int_equal(f->done, 0);
        assert_true(last(f)->cancelled);
}

static void a_call_can_be_cancelled_while_it_waits_to_go_again(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .status = 429, .retry_after_ms = 5000 });
        struct kube_op *op = kube_client_get(f->client, &settings, 0, on_done, f);
        loop_run_for(f->loop, 1000);
        kube_op_cancel(op);
        loop_run(f->loop);
        assert_int_equal(f->done, 0);
        assert_int_equal(script_request_count(f->script), 1);
}

static void a_freed_client_takes_its_calls_along(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .delay_ms = 10 });
        for (int i = 0; i < 3; i++)
                kube_client_get(f->client, &settings, 0, on_done, f);
        kube_client_free(TAKE_PTR(f->client));
        loop_run(f->loop);
        assert_int_equal(f->done, 0);
}

static void free_client(void *ctx, const struct kube_result *result) {
        struct fixture *f = ctx;

        on_done(ctx, result);
        kube_client_free(TAKE_PTR(f->client));
}

static void a_client_may_be_freed_in_a_callback(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, SETTINGS, &(struct script_answer){ .body = STR("{}") });
        kube_client_get(f->client, &settings, 0, free_client, f);
        kube_client_get(f->client, &settings, 0, on_done, f);
        finish(f);
        assert_int_equal(f->err.code, ERR_OK);
}

static void note(void *ctx, struct str text) {
        struct fixture *f = ctx;

        buf_add(&f->told, text);
        buf_addch(&f->told, ';');
}

static void each_warning_is_told_once(void **state) {
        struct fixture *f = *state;

        kube_client_on_warning(f->client, note, f);
        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ .warnings = STR("old API\nodd field") });
        apply(f);
        apply(f);
        assert_string_equal(f->told.p, "old API;odd field;");
        assert_string_equal(f->warnings.p, "old API\nodd field");
        script_on(f->script, KUBE_PATCH, SETTINGS,
                  &(struct script_answer){ .status = 422, .warnings = STR("odd field\nnew one") });
        apply(f);
        assert_string_equal(f->told.p, "old API;odd field;new one;");
}

static void a_warning_about_a_secret_is_withheld(void **state) {
        struct fixture *f = *state;

        kube_client_on_warning(f->client, note, f);
        script_on(f->script, KUBE_PATCH, "*/secrets/*", &(struct script_answer){ .warnings = STR("weak: hunter2") });
        kube_client_apply(f->client, &secret, STR("{}"), &as_truce, on_done, f);
        finish(f);
        assert_null(strstr(f->told.p, "hunter2"));
        assert_null(strstr(f->warnings.p, "hunter2"));
        assert_non_null(strstr(f->told.p, "Secret"));
}

static void the_memory_of_warnings_is_bounded(void **state) {
        struct fixture *f = *state;
        struct buf texts = buf_make(MIB);

        kube_client_on_warning(f->client, note, f);
        for (int i = 0; i < KUBE_CLIENT_MAX_WARNINGS; i++)
                buf_addf(&texts, "w%d\n", i);
        script_on(f->script, KUBE_PATCH, SETTINGS, &(struct script_answer){ .warnings = buf_str(&texts) });
        apply(f);
        buf_clear(&f->told);
        apply(f);
        assert_int_equal(f->told.n, 0);

        script_on(f->script, KUBE_PATCH, SETTINGS,
                  &(struct script_answer){ .warnings = STR("one more\nw0"), .times = 1 });
        apply(f);
        assert_string_equal(f->told.p, "one more;w0;");
        buf_done(&texts);
}

/* --- the script itself: what other layers' tests rely on --- */

static int echo(void *ctx, const struct script_request *request, struct script_answer *answer) {
        if (request->body.n == 0)
                return -1;
        ++*(int *)ctx;
        answer->body = request->body;
        return 0;
}

static void a_scripted_function_answers_or_passes_on(void **state) {
        struct fixture *f = *state;
        int calls = 0;

        script_on(f->script, KUBE_PATCH, "*", &(struct script_answer){ .body = STR("older") });
        script_on_call(f->script, KUBE_PATCH, "*/configmaps/*", echo, &calls);
        apply(f);
        assert_string_equal(f->body.p, "{\"a\":1}");
        kube_client_apply(f->client, &settings, STR(""), &as_truce, on_done, f);
        finish(f);
        assert_string_equal(f->body.p, "older");
        assert_int_equal(calls, 1);
        assert_int_equal(script_count(f->script, KUBE_PATCH, "*"), 2);
        assert_int_equal(script_last(f->script, KUBE_PATCH, "*")->body.n, 0);
        assert_null(script_last(f->script, KUBE_GET, "*"));
}

static void what_nothing_matches_is_an_error_that_counts(void **state) {
        struct fixture *f = *state;

        script_on(f->script, KUBE_GET, "/api/v1/namespaces/*/secrets/*", &(struct script_answer){ 0 });
        get(f);
        assert_int_equal(f->err.code, ERR_INTERNAL);
        assert_int_equal(script_unexpected(f->script), 1);
        script_clear(f->script);
        get(f);
        assert_int_equal(script_unexpected(f->script), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_get_brings_the_object),
                TEST(an_apply_says_whether_it_created),
                TEST(each_write_has_its_method_and_type),
                TEST(a_lease_goes_first),
                TEST(a_deletion_carries_its_preconditions),
                TEST(bad_arguments_come_back_through_done_and_send_nothing),
                TEST(a_body_above_the_servers_limit_is_not_sent),
                TEST(a_refusal_names_what_was_asked),
                TEST(what_a_secret_was_refused_for_is_withheld),
                TEST(a_throttled_write_waits_and_goes_again),
                TEST(throttling_that_lasts_is_told_after_a_few_tries),
                TEST(a_wait_beyond_the_deadline_is_left_to_the_caller),
                TEST(an_unknown_outcome_of_a_write_is_never_repeated),
                TEST(a_503_that_names_a_time_is_repeated),
                TEST(a_get_survives_one_broken_connection),
                TEST(a_get_is_repeated_when_a_500_invites_it),
                TEST(a_silent_server_ends_in_a_timeout),
                TEST(a_reply_larger_than_any_object_is_refused),
                TEST(a_cancelled_call_says_nothing_more),
                TEST(a_call_can_be_cancelled_while_it_waits_to_go_again),
                TEST(a_freed_client_takes_its_calls_along),
                TEST(a_client_may_be_freed_in_a_callback),
                TEST(each_warning_is_told_once),
                TEST(a_warning_about_a_secret_is_withheld),
                TEST(the_memory_of_warnings_is_bounded),
                TEST(a_scripted_function_answers_or_passes_on),
                TEST(what_nothing_matches_is_an_error_that_counts),
        };

        return cmocka_run_group_tests_name("client", tests, NULL, NULL);
}
