/* SPDX-License-Identifier: Apache-2.0 */
#include "base/listen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

static const char *const loopback[] = {
        "127.0.0.1", "127.0.0.1:0", "127.9.8.7:65535", "localhost", "LocalHost:8080", "[::1]", "[::1]:80", "::1",
};

static const char *const elsewhere[] = {
        "",
        ":80",
        "0.0.0.0",
        "[::]:80",
        "10.0.0.1:80",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.example",
        "127.0.0.1:x",
        "127.0.0.1:",
        "[::1",
        "128.0.0.1",
        "xlocalhost",
        "localhost:80:80",
        "[]",
        "[]:1",
};

static void a_host_header_of_loopback_is_told_from_any_other(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(loopback); i++)
                if (!listen_is_loopback(str_from(loopback[i])))
                        fail_msg("%s is loopback", loopback[i]);
        for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++)
                if (listen_is_loopback(str_from(elsewhere[i])))
                        fail_msg("\"%s\" is not loopback", elsewhere[i]);
}

static void a_port_is_found_for_port_zero(void **state) {
        struct err err;
        int fd = -1;

        (void)state;
        assert_int_equal(listen_open(STR("127.0.0.1:0"), LISTEN_LOOPBACK, 8, &fd, &err), 0);
        assert_true(listen_port(fd) > 0);
        close(fd);
}

static void what_is_taken_is_told_with_the_systems_reason(void **state) {
        char text[32];
        struct err err;
        int fd = -1, second = -1;

        (void)state;
        assert_int_equal(listen_open(STR("127.0.0.1:0"), LISTEN_LOOPBACK, 8, &fd, &err), 0);
        snprintf(text, sizeof text, "127.0.0.1:%u", listen_port(fd));
        assert_true(listen_open(str_from(text), LISTEN_ANYWHERE, 8, &second, &err) < 0);
        assert_non_null(strstr(err.msg, text));
        assert_int_equal(second, -1);
        close(fd);
}

static const struct {
        const char *text, *says;
} refused[] = {
        { "0.0.0.0:0", "only on loopback" },
        { ":0", "only on loopback" },
        { "[::]:0", "only on loopback" },
        { "192.0.2.1:0", "only on loopback" },
        { "127.0.0.1", "not HOST:PORT" },
        { "127.0.0.1:65536", "not HOST:PORT" },
        { "localhost:0", "is no IP address" },
        { "127.0.0.1:-1", "not HOST:PORT" },
        { "", "not HOST:PORT" },
};

static void a_loopback_server_listens_nowhere_else(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
                struct err err = { 0 };
                int fd = -1;

                if (listen_open(str_from(refused[i].text), LISTEN_LOOPBACK, 8, &fd, &err) != ERR_INVAL || fd != -1)
                        fail_msg("%s was taken", refused[i].text);
                if (!strstr(err.msg, refused[i].says))
                        fail_msg("%s: %s", refused[i].text, err.msg);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_host_header_of_loopback_is_told_from_any_other),
                cmocka_unit_test(a_port_is_found_for_port_zero),
                cmocka_unit_test(what_is_taken_is_told_with_the_systems_reason),
                cmocka_unit_test(a_loopback_server_listens_nowhere_else),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
