/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of the answers are those of a real API server (v1.37); names and values are ours. */
#include "kube/status.h"

#include "base/buf.h"
#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

struct fixture {
        struct arena *arena;
        struct kube_status status;
        struct err err;
};

static int set_up(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->arena = arena_new(0);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        struct fixture *f = *state;

        arena_free(f->arena);
        free(f);
        return 0;
}

static int answer(struct fixture *f, int http_status, const char *body) {
        const struct kube_reply reply = { .status = http_status, .body = str_from(body) };

        f->err = (struct err){ 0 };
        return kube_status_from_reply(&reply, f->arena, &f->status, &f->err);
}

/* A Status with that HTTP status, reason, message and (JSON members of) details. */
static int refuse(struct fixture *f, int http_status, const char *reason, const char *message, const char *details) {
        _cleanup_(buf_done) struct buf body = buf_make(64 * KIB);

        buf_addf(&body,
                 "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"%s\"",
                 message);
        if (reason)
                buf_addf(&body, ",\"reason\":\"%s\"", reason);
        buf_addf(&body, ",\"details\":{%s},\"code\":%d}", details, http_status);
        int code = answer(f, http_status, body.p);
        assert_int_equal(f->status.code, code);
        assert_int_equal(f->err.code, code);
        assert_int_equal(f->err.http_status, http_status);
        return code;
}

static void success_is_no_error(void **state) {
        struct fixture *f = *state;

        assert_int_equal(answer(f, 201, "{\"kind\":\"ConfigMap\"}"), 0);
        assert_int_equal(f->status.http_status, 201);
        assert_int_equal(f->status.code, ERR_OK);
        assert_int_equal(f->err.code, ERR_OK);
}

static void each_http_status_has_its_code(void **state) {
        static const struct {
                int http_status;
                enum err_code code;
        } want[] = {
                { 307, ERR_INTERNAL },    { 400, ERR_INVAL },       { 401, ERR_UNAUTH },    { 403, ERR_FORBIDDEN },
                { 404, ERR_NOTFOUND },    { 405, ERR_UNSUPPORTED }, { 406, ERR_INVAL },     { 408, ERR_TIMEOUT },
                { 409, ERR_CONFLICT },    { 410, ERR_GONE },        { 413, ERR_LIMIT },     { 415, ERR_INVAL },
                { 418, ERR_INVAL },       { 422, ERR_INVAL },       { 429, ERR_THROTTLED }, { 500, ERR_INTERNAL },
                { 502, ERR_UNREACHABLE }, { 503, ERR_UNREACHABLE }, { 504, ERR_TIMEOUT },   { 599, ERR_INTERNAL },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(want); i++)
                assert_int_equal(answer(f, want[i].http_status, ""), want[i].code);
        assert_string_equal(f->err.msg, "the API server answered HTTP 599");
}

static void a_field_conflict_names_managers_and_paths(void **state) {
        struct fixture *f = *state;

        assert_int_equal(
                refuse(f, 409, "Conflict", "Apply failed with 3 conflicts",
                       "\"causes\":["
                       "{\"reason\":\"FieldManagerConflict\",\"field\":\".spec.replicas\","
                       "\"message\":\"conflict with \\\"kubectl\\\" with subresource \\\"scale\\\" using apps/v1\"},"
                       "{\"reason\":\"FieldManagerConflict\",\"field\":\".data.a\","
                       "\"message\":\"conflict with \\\"helm\\\"\"},"
                       "{\"reason\":\"FieldManagerConflict\",\"field\":\".data.b\",\"message\":\"conflict with "
                       "\\\"odd \\\\\\\"one\\\\\\\"\\\" using v1 at 2026-11-29T20:07:52Z\"}]"),
                ERR_CONFLICT);
        assert_int_equal(f->status.conflict, KUBE_CONFLICT_FIELDS);
        assert_int_equal(f->status.cause_count, 3);
        assert_true(str_eqc(f->status.causes[0].manager, "kubectl"));
        assert_true(str_eqc(f->status.causes[0].subresource, "scale"));
        assert_true(str_eqc(f->status.causes[0].field, ".spec.replicas"));
        assert_true(str_eqc(f->status.causes[0].api_version, "apps/v1"));
        assert_int_equal(f->status.causes[0].operation, KUBE_OPERATION_UPDATE);
        assert_true(str_eqc(f->status.causes[1].manager, "helm"));
        assert_int_equal(f->status.causes[1].subresource.n, 0);
        assert_int_equal(f->status.causes[1].operation, KUBE_OPERATION_APPLY);
        assert_true(str_eqc(f->status.causes[2].manager, "odd \"one\""));
        assert_true(str_eqc(f->status.causes[2].api_version, "v1"));
}

static void a_conflict_message_of_another_form_names_nobody(void **state) {
        static const char *const odd[] = { "taken", "conflict with ", "conflict with \\\"open",
                                           "conflict with \\\"\\\\" };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
                char causes[256];

                snprintf(causes, sizeof causes, "\"causes\":[{\"reason\":\"FieldManagerConflict\",\"message\":\"%s\"}]",
                         odd[i]);
                refuse(f, 409, "Conflict", "x", causes);
                assert_int_equal(f->status.conflict, KUBE_CONFLICT_FIELDS);
                assert_int_equal(f->status.causes[0].manager.n, 0);
        }
}

static void conflicts_are_told_apart(void **state) {
        static const struct {
                const char *reason, *message;
                enum kube_conflict conflict;
        } want[] = {
                { "Conflict",
                  "Operation cannot be fulfilled on configmaps \\\"a\\\": the object has been modified; please apply "
                  "your "
                  "changes to the latest version and try again",
                  KUBE_CONFLICT_RESOURCE_VERSION },
                { "Conflict",
                  "Operation cannot be fulfilled on configmaps \\\"a\\\": uid mismatch: the provided object specified "
                  "uid "
                  "0-0, and no existing object was found",
                  KUBE_CONFLICT_UID },
                { "Conflict",
                  "Operation cannot be fulfilled on Deployment.apps \\\"a\\\": the UID in the precondition (0-0) does "
                  "not "
                  "match the UID in record (1-1). The object might have been deleted and then recreated",
                  KUBE_CONFLICT_UID },
                { "Conflict",
                  "Operation cannot be fulfilled on Deployment.apps \\\"a\\\": the ResourceVersion in the precondition "
                  "(1) "
                  "does not match the ResourceVersion in record (300). The object might have been modified",
                  KUBE_CONFLICT_RESOURCE_VERSION },
                { "AlreadyExists", "configmaps \\\"a\\\" already exists", KUBE_CONFLICT_EXISTS },
                { "Conflict", "the namespace is still being emptied", KUBE_CONFLICT_OTHER },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(want); i++) {
                assert_int_equal(refuse(f, 409, want[i].reason, want[i].message, "\"name\":\"a\""), ERR_CONFLICT);
                assert_int_equal(f->status.conflict, want[i].conflict);
        }
}

static void an_object_with_another_uid_is_a_conflict_although_it_is_a_422(void **state) {
        struct fixture *f = *state;

        assert_int_equal(
                refuse(f, 422, "Invalid",
                       "Deployment.apps \\\"a\\\" is invalid: metadata.uid: Invalid value: \\\"0-0\\\": field is "
                       "immutable",
                       "\"name\":\"a\",\"group\":\"apps\",\"kind\":\"Deployment\",\"causes\":[{\"reason\":"
                       "\"FieldValueInvalid\",\"message\":\"field is immutable\",\"field\":\"metadata.uid\"}]"),
                ERR_CONFLICT);
        assert_int_equal(f->status.conflict, KUBE_CONFLICT_UID);
        assert_int_equal(refuse(f, 422, "Invalid", "metadata.uid: Invalid value: \\\"x\\\": not a UUID",
                                "\"causes\":[{\"message\":\"not a UUID\",\"field\":\"metadata.uid\"}]"),
                         ERR_INVAL);
        assert_int_equal(refuse(f, 422, "Invalid", "spec.selector: field is immutable",
                                "\"causes\":[{\"message\":\"field is immutable\",\"field\":\"spec.selector\"}]"),
                         ERR_INVAL);
        assert_int_equal(f->status.conflict, KUBE_CONFLICT_NONE);
}

static void what_admission_refuses_is_denied_whatever_the_status(void **state) {
        static const struct {
                int http_status;
                const char *message;
        } denied[] = {
                { 422, "configmaps \\\"r\\\" is forbidden: ValidatingAdmissionPolicy 'no-red' with binding 'b' denied "
                       "request: no red" },
                { 403, "deployments.apps \\\"r\\\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
                       "request: x" },
                { 403, "admission webhook \\\"policy.example\\\" denied the request: no latest tags" },
                { 400, "admission webhook \\\"policy.example\\\" denied the request: no latest tags" },
                { 403,
                  "pods \\\"p\\\" is forbidden: violates PodSecurity \\\"restricted:latest\\\": runAsNonRoot != true" },
                { 403,
                  "configmaps \\\"a\\\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1" },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(denied); i++)
                assert_int_equal(refuse(f, denied[i].http_status, "Forbidden", denied[i].message, ""), ERR_DENIED);
}

static void authorization_is_no_denial(void **state) {
        struct fixture *f = *state;

        assert_int_equal(refuse(f, 403, "Forbidden",
                                "deployments.apps \\\"web\\\" is forbidden: User \\\"truce\\\" cannot patch resource "
                                "\\\"deployments\\\" in API group \\\"apps\\\" in the namespace \\\"shop\\\"",
                                "\"name\":\"web\",\"group\":\"apps\",\"kind\":\"deployments\""),
                         ERR_FORBIDDEN);
        assert_false(f->status.namespace_terminating);
}

static void a_webhook_that_cannot_be_called_is_no_denial(void **state) {
        struct fixture *f = *state;

        assert_int_equal(refuse(f, 500, "InternalError",
                                "Internal error occurred: failed calling webhook \\\"w.example\\\": connection refused",
                                ""),
                         ERR_INTERNAL);
}

static void a_dying_namespace_stays_visible(void **state) {
        struct fixture *f = *state;

        assert_int_equal(
                refuse(f, 403, "Forbidden",
                       "configmaps \\\"a\\\" is forbidden: unable to create new content in namespace d because it is "
                       "being terminated",
                       "\"name\":\"a\",\"kind\":\"configmaps\",\"causes\":[{\"reason\":\"NamespaceTerminating\","
                       "\"message\":\"namespace d is being terminated\",\"field\":\"metadata.namespace\"}]"),
                ERR_FORBIDDEN);
        assert_true(f->status.namespace_terminating);
}

static void what_is_missing_is_told_apart(void **state) {
        struct fixture *f = *state;

        refuse(f, 404, "NotFound", "deployments.apps \\\"a\\\" not found",
               "\"name\":\"a\",\"group\":\"apps\",\"kind\":\"deployments\"");
        assert_false(f->status.namespace_missing);
        assert_false(f->status.not_served);

        refuse(f, 404, "NotFound", "namespaces \\\"n\\\" not found", "\"name\":\"n\",\"kind\":\"namespaces\"");
        assert_true(f->status.namespace_missing);
        assert_false(f->status.not_served);

        refuse(f, 404, "NotFound", "the server could not find the requested resource", "");
        assert_true(f->status.not_served);

        assert_int_equal(answer(f, 404, "404 page not found\n"), ERR_NOTFOUND);
        assert_true(f->status.not_served);
        assert_string_equal(f->err.msg, "404 page not found");
}

static void typed_errors_of_the_applied_object_are_the_users(void **state) {
        static const char *const texts[] = {
                "failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.replicas: expected "
                "numeric (int or "
                "float), got string",
                "failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.replikas: field not "
                "declared in schema",
                "failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.template.spec.containers"
                "[name=\\\"c\\\"].env: duplicate entries for key [name=\\\"A\\\"]",
                "failed to convert new object (/web; apps/v1, Kind=Deployment) to proper version: quantities must "
                "match",
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                assert_int_equal(refuse(f, 500, NULL, texts[i], ""), ERR_INVAL);
        assert_int_equal(refuse(f, 500, NULL, "failed to create typed live object (/web)", ""), ERR_INTERNAL);
}

static void other_500s_tell_what_they_are(void **state) {
        struct fixture *f = *state;

        assert_int_equal(refuse(f, 500, NULL, "etcdserver: request timed out", ""), ERR_TIMEOUT);
        assert_int_equal(refuse(f, 500, NULL, "etcdserver: request is too large", ""), ERR_LIMIT);
        assert_int_equal(refuse(f, 500, "ServerTimeout", "The list operation could not be completed at this time", ""),
                         ERR_TIMEOUT);
        assert_int_equal(refuse(f, 500, "InternalError", "Internal error occurred", ""), ERR_INTERNAL);
}

static void a_resource_version_of_the_future_is_seen(void **state) {
        struct fixture *f = *state;

        assert_int_equal(refuse(f, 504, "Timeout", "Timeout: Too large resource version: 99, current: 3",
                                "\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large resource "
                                "version\"}],"
                                "\"retryAfterSeconds\":1"),
                         ERR_TIMEOUT);
        assert_true(f->status.rv_too_large);
        assert_int_equal(f->status.retry_after_ms, 1000);
        assert_int_equal(f->err.retry_after_ms, 1000);
}

static void the_header_wins_over_the_details_about_waiting(void **state) {
        struct fixture *f = *state;
        const struct kube_reply reply = {
                .status = 429,
                .retry_after_ms = 7000,
                .body = STR("{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":1}}"),
        };

        assert_int_equal(kube_status_from_reply(&reply, f->arena, &f->status, &f->err), ERR_THROTTLED);
        assert_int_equal(f->status.retry_after_ms, 7000);
        assert_int_equal(f->err.retry_after_ms, 7000);
}

static void absurd_waiting_times_are_ignored(void **state) {
        struct fixture *f = *state;

        refuse(f, 429, "TooManyRequests", "x", "\"retryAfterSeconds\":9223372036854775807");
        assert_int_equal(f->status.retry_after_ms, 0);
        refuse(f, 429, "TooManyRequests", "x", "\"retryAfterSeconds\":-5");
        assert_int_equal(f->status.retry_after_ms, 0);
}

static void details_are_read(void **state) {
        struct fixture *f = *state;

        refuse(f, 422, "Invalid", "bad",
               "\"name\":\"a\",\"group\":\"g\",\"kind\":\"K\",\"uid\":\"u\",\"causes\":[{\"reason\":\"R\",\"message\":"
               "\"M\",\"field\":\"F\"}]");
        assert_true(str_eqc(f->status.reason, "Invalid"));
        assert_true(str_eqc(f->status.message, "bad"));
        assert_true(str_eqc(f->status.name, "a"));
        assert_true(str_eqc(f->status.group, "g"));
        assert_true(str_eqc(f->status.kind, "K"));
        assert_true(str_eqc(f->status.uid, "u"));
        assert_true(str_eqc(f->status.causes[0].reason, "R"));
        assert_true(str_eqc(f->status.causes[0].message, "M"));
        assert_true(str_eqc(f->status.causes[0].field, "F"));
}

static void a_body_that_is_no_status_gives_its_first_line(void **state) {
        struct fixture *f = *state;
        char page[KUBE_STATUS_MAX_TEXT_BYTES + 100];

        assert_int_equal(answer(f, 502, "\n  <html>\x01 bad gateway\r\n<body>"), ERR_UNREACHABLE);
        assert_string_equal(f->err.msg,
                            "HTTP 502 with a page that no API server sends (is the address right?): <html>  bad gateway");
        assert_int_equal(answer(f, 500, "{\"kind\":\"ConfigMap\"}"), ERR_INTERNAL);
        assert_int_equal(answer(f, 500, "{\"kind\":\"Status\""), ERR_INTERNAL);

        memset(page, 'x', sizeof page);
        page[KUBE_STATUS_MAX_TEXT_BYTES - 1] = '\xc3'; /* a character cut in two */
        page[sizeof page - 1] = '\0';
        answer(f, 503, page);
        assert_int_equal(f->status.message.n, KUBE_STATUS_MAX_TEXT_BYTES - 1);
}

static void a_status_above_its_limit_is_not_parsed(void **state) {
        struct fixture *f = *state;
        struct buf body = buf_make(2 * KUBE_MAX_ERROR_BYTES);

        buf_addc(&body, "{\"kind\":\"Status\",\"reason\":\"R\",\"message\":\"");
        while (body.n < KUBE_MAX_ERROR_BYTES)
                buf_addch(&body, 'x');
        buf_addc(&body, "\"}");
        assert_int_equal(answer(f, 500, body.p), ERR_INTERNAL);
        assert_int_equal(f->status.reason.n, 0);
        buf_done(&body);
}

static void causes_beyond_the_limit_are_dropped(void **state) {
        struct fixture *f = *state;
        struct buf details = buf_make(60 * KIB);

        buf_addc(&details, "\"causes\":[{}");
        for (int i = 0; i < KUBE_STATUS_MAX_CAUSES; i++)
                buf_addc(&details, ",{}");
        buf_addc(&details, "]");
        refuse(f, 422, "Invalid", "x", details.p);
        assert_int_equal(f->status.cause_count, KUBE_STATUS_MAX_CAUSES);
        buf_done(&details);
}

static void an_error_event_carries_its_own_status(void **state) {
        struct fixture *f = *state;

        assert_int_equal(
                kube_status_from_object(STR("{\"kind\":\"Status\",\"message\":\"too old resource version: 1 (99)\","
                                            "\"reason\":\"Expired\",\"code\":410}"),
                                        f->arena, &f->status, &f->err),
                ERR_GONE);
        assert_int_equal(
                kube_status_from_object(STR("{\"kind\":\"Status\",\"code\":99999}"), f->arena, &f->status, NULL),
                ERR_INTERNAL);
        assert_int_equal(kube_status_from_object(STR("null"), f->arena, &f->status, NULL), ERR_INTERNAL);
        assert_int_equal(kube_status_from_object(STR("{"), f->arena, &f->status, NULL), ERR_INTERNAL);
}

static void a_secrets_values_never_reach_a_message(void **state) {
        static const char *const messages[] = {
                ("secrets \\\"s\\\" is forbidden: ValidatingAdmissionPolicy 'no-red' with binding 'b' denied request: "
                 "hunter2"),
                "Secret \\\"s\\\" is invalid: data[a b]: Invalid value: \\\"hunter2\\\"",
                "admission webhook \\\"w.example\\\" denied the request: hunter2",
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
                refuse(f, 422, "Invalid", messages[i],
                       "\"causes\":[{\"reason\":\"FieldValueInvalid\",\"message\":\"hunter2\",\"field\":\"data[a "
                       "b]\"}]");
                kube_status_redact(&f->status, f->arena, &f->err);
                assert_null(strstr(f->err.msg, "hunter2"));
                assert_false(str_contains(f->status.message, STR("hunter2")));
                assert_true(str_eqc(f->status.causes[0].message, "FieldValueInvalid"));
                assert_non_null(strstr(f->err.msg, "data[a b]"));
        }
        assert_non_null(strstr(f->err.msg, "w.example"));
}

static void a_redacted_conflict_still_names_the_manager(void **state) {
        struct fixture *f = *state;

        refuse(f, 409, "Conflict", "Apply failed with 1 conflict: conflict with \\\"kubectl\\\" using v1: .data.key",
               "\"causes\":[{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with \\\"kubectl\\\" using "
               "v1\",\"field\":\".data.key\"}]");
        kube_status_redact(&f->status, f->arena, &f->err);
        assert_true(str_eqc(f->status.causes[0].manager, "kubectl"));
        assert_true(str_starts(str_from(f->err.msg), STR("Conflict: .data.key")));
}

static void redacting_keeps_what_cannot_hold_values(void **state) {
        struct fixture *f = *state;

        refuse(f, 403, "Forbidden",
               "secrets \\\"s\\\" is forbidden: User \\\"truce\\\" cannot patch resource \\\"secrets\\\"", "");
        kube_status_redact(&f->status, f->arena, &f->err);
        assert_non_null(strstr(f->err.msg, "cannot patch"));
}

static void redacting_leaves_transport_errors_alone(void **state) {
        struct fixture *f = *state;

        err_set(&f->err, ERR_UNREACHABLE, "connection refused");
        kube_status_from_err(&f->err, f->arena, &f->status);
        kube_status_redact(&f->status, f->arena, &f->err);
        assert_string_equal(f->err.msg, "connection refused");
        assert_int_equal(f->status.code, ERR_UNREACHABLE);
}

static void only_core_secrets_are_secrets(void **state) {
        (void)state;
        assert_true(kube_is_secret(STR(""), STR("Secret")));
        assert_true(kube_is_secret(STR(""), STR("secrets")));
        assert_false(kube_is_secret(STR("x.dev"), STR("Secret")));
        assert_false(kube_is_secret(STR(""), STR("ConfigMap")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(success_is_no_error),
                TEST(each_http_status_has_its_code),
                TEST(a_field_conflict_names_managers_and_paths),
                TEST(a_conflict_message_of_another_form_names_nobody),
                TEST(conflicts_are_told_apart),
                TEST(an_object_with_another_uid_is_a_conflict_although_it_is_a_422),
                TEST(what_admission_refuses_is_denied_whatever_the_status),
                TEST(authorization_is_no_denial),
                TEST(a_webhook_that_cannot_be_called_is_no_denial),
                TEST(a_dying_namespace_stays_visible),
                TEST(what_is_missing_is_told_apart),
                TEST(typed_errors_of_the_applied_object_are_the_users),
                TEST(other_500s_tell_what_they_are),
                TEST(a_resource_version_of_the_future_is_seen),
                TEST(the_header_wins_over_the_details_about_waiting),
                TEST(absurd_waiting_times_are_ignored),
                TEST(details_are_read),
                TEST(a_body_that_is_no_status_gives_its_first_line),
                TEST(a_status_above_its_limit_is_not_parsed),
                TEST(causes_beyond_the_limit_are_dropped),
                TEST(an_error_event_carries_its_own_status),
                TEST(a_secrets_values_never_reach_a_message),
                TEST(a_redacted_conflict_still_names_the_manager),
                TEST(redacting_keeps_what_cannot_hold_values),
                TEST(redacting_leaves_transport_errors_alone),
                TEST(only_core_secrets_are_secrets),
        };

        return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
