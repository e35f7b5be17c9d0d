/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "base/str.h"

static void a_failure_carries_code_and_message(void **state) {
        struct err err = { .http_status = 409, .retry_after_ms = 5 };

        (void)state;
        assert_int_equal(err_set(&err, ERR_INVAL, "bad %s", "thing"), ERR_INVAL);
        assert_int_equal(err.code, ERR_INVAL);
        assert_string_equal(err.msg, "bad thing");
        assert_int_equal(err.http_status, 0);
        assert_int_equal(err.retry_after_ms, 0);
}

static void the_code_alone_is_enough(void **state) {
        (void)state;
        assert_int_equal(err_set(NULL, ERR_GONE, "x"), ERR_GONE);
        assert_int_equal(err_set_errno(NULL, ENOENT, "x"), ERR_NOTFOUND);
        assert_int_equal(err_wrap(NULL, ERR_PARSE, "x"), ERR_PARSE);
}

static void context_goes_in_front_and_keeps_the_rest(void **state) {
        struct err err = { .code = ERR_CONFLICT, .http_status = 409, .retry_after_ms = 7, .msg = "inner" };

        (void)state;
        assert_int_equal(err_wrap(&err, ERR_CONFLICT, "file %d", 3), ERR_CONFLICT);
        assert_string_equal(err.msg, "file 3: inner");
        assert_int_equal(err.http_status, 409);
        assert_int_equal(err.retry_after_ms, 7);
}

static void a_message_may_quote_the_one_before(void **state) {
        struct err err = { 0 };

        (void)state;
        err_set(&err, ERR_INVAL, "a");
        err_set(&err, ERR_PARSE, "%s and b", err.msg);
        assert_string_equal(err.msg, "a and b");
}

static void system_errors_map_to_what_a_caller_can_do(void **state) {
        static const struct {
                int sys_errno;
                enum err_code code;
        } cases[] = {
                { ENOENT, ERR_NOTFOUND },          { ENOTDIR, ERR_NOTFOUND },   { EACCES, ERR_FORBIDDEN },
                { EPERM, ERR_FORBIDDEN },          { EINVAL, ERR_INVAL },       { ETIMEDOUT, ERR_TIMEOUT },
                { ECANCELED, ERR_CANCELLED },      { ECONNREFUSED, ERR_UNREACHABLE },
                { ECONNRESET, ERR_UNREACHABLE },   { EMFILE, ERR_LIMIT },       { ENOSPC, ERR_LIMIT },
                { EIO, ERR_INTERNAL },
        };
        struct err err;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                assert_int_equal(err_set_errno(&err, cases[i].sys_errno, "open"), cases[i].code);
                assert_int_equal(err.sys_errno, cases[i].sys_errno);
        }
        err_set_errno(&err, ENOENT, "open %s", "f");
        assert_string_equal(err.msg, "open f: No such file or directory");
}

static bool ends_in_ellipsis(const struct err *err) {
        return str_ends(str_from(err->msg), STR("\xe2\x80\xa6"));
}

static void long_messages_are_cut_and_say_so(void **state) {
        char text[ERR_MSG_MAX_BYTES + 100];
        struct err err = { 0 };

        (void)state;
        memset(text, 'x', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        err_set(&err, ERR_INVAL, "%s", text);
        assert_true(strlen(err.msg) < ERR_MSG_MAX_BYTES && ends_in_ellipsis(&err));
        err_wrap(&err, ERR_INVAL, "context");
        assert_true(str_starts(str_from(err.msg), STR("context: xx")) && ends_in_ellipsis(&err));
        err_wrap(&err, ERR_INVAL, "%s", text);
        assert_true(strlen(err.msg) < ERR_MSG_MAX_BYTES && ends_in_ellipsis(&err));
        err_set_errno(&err, EIO, "%s", text);
        assert_true(strlen(err.msg) < ERR_MSG_MAX_BYTES && ends_in_ellipsis(&err));
        text[ERR_MSG_MAX_BYTES - 1] = '\0';
        err_set(&err, ERR_INVAL, "%s", text);
        assert_int_equal(strlen(err.msg), ERR_MSG_MAX_BYTES - 1);
        assert_false(ends_in_ellipsis(&err));
}

static void a_cut_never_splits_a_character(void **state) {
        char text[2 * ERR_MSG_MAX_BYTES];
        struct err err;

        (void)state;
        for (unsigned shift = 0; shift < 4; shift++) {
                size_t n = 0;

                while (n < shift)
                        text[n++] = 'x';
                for (; n + 3 < sizeof text; n += 3)
                        memcpy(text + n, "\xe6\x97\xa5", 3);
                text[n] = '\0';
                err_set(&err, ERR_INVAL, "%s", text);
                assert_true(str_is_utf8(str_from(err.msg)));
                assert_true(ends_in_ellipsis(&err));
        }
}

static void only_what_may_change_by_itself_is_tried_again(void **state) {
        (void)state;
        assert_true(err_is_transient(ERR_CONFLICT));
        assert_true(err_is_transient(ERR_TIMEOUT));
        assert_true(err_is_transient(ERR_UNREACHABLE));
        assert_true(err_is_transient(ERR_THROTTLED));
        assert_true(err_is_transient(ERR_DENIED));
        assert_false(err_is_transient(ERR_OK));
        assert_false(err_is_transient(ERR_INVAL));
        assert_false(err_is_transient(ERR_NOTFOUND));
        assert_false(err_is_transient(ERR_PARSE));
        assert_false(err_is_transient(ERR_LIMIT));
        assert_false(err_is_transient(ERR_UNSUPPORTED));
        assert_false(err_is_transient(ERR_CANCELLED));
}

static void every_code_has_its_name(void **state) {
        (void)state;
        assert_string_equal(err_code_name(ERR_OK), "OK");
        assert_string_equal(err_code_name(ERR_INVAL), "INVAL");
        assert_string_equal(err_code_name(ERR_UNAUTH), "UNAUTH");
        assert_string_equal(err_code_name(ERR_GONE), "GONE");
        assert_string_equal(err_code_name(ERR_LIMIT), "LIMIT");
        assert_string_equal(err_code_name(ERR_CORRUPT), "CORRUPT");
        assert_string_equal(err_code_name(ERR_INTERNAL), "INTERNAL");
        assert_string_equal(err_code_name(ERR_INTERNAL - 1), "UNKNOWN");
        assert_string_equal(err_code_name(1), "UNKNOWN");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_failure_carries_code_and_message),
                cmocka_unit_test(the_code_alone_is_enough),
                cmocka_unit_test(context_goes_in_front_and_keeps_the_rest),
                cmocka_unit_test(a_message_may_quote_the_one_before),
                cmocka_unit_test(system_errors_map_to_what_a_caller_can_do),
                cmocka_unit_test(long_messages_are_cut_and_say_so),
                cmocka_unit_test(a_cut_never_splits_a_character),
                cmocka_unit_test(only_what_may_change_by_itself_is_tried_again),
                cmocka_unit_test(every_code_has_its_name),
        };

        return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
