/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"
#include "arena_test.h"

/* One key for each rule of RFC 6901: the empty one, both escapes, and characters that mean nothing to a pointer. */
static const char document[] = "{\"list\":[\"x\",\"y\"],\"\":0,\"app.kubernetes.io/name\":1,\"50%\":2,\"x^y\":3,"
                               "\"back\\\\slash\":4,\"quo\\\"te\":5,\" \":6,\"home~\":7}";

/* The text of what the pointer names, or NULL. */
static const char *named(const char *pointer) {
        const struct value *v;
        struct pointer p;

        assert_int_equal(json_parse(str_from(document), a, &v, NULL), 0);
        assert_int_equal(pointer_parse(str_from(pointer), a, &p, NULL), 0);
        v = pointer_find(v, p);
        return v ? value_canonical(a, v).p : NULL;
}

static void pointers_name_what_the_rfc_says(void **state) {
        (void)state;
        assert_string_equal(named("/list"), "[\"x\",\"y\"]");
        assert_string_equal(named("/list/0"), "\"x\"");
        assert_string_equal(named("/list/1"), "\"y\"");
        assert_string_equal(named("/"), "0");
        assert_string_equal(named("/app.kubernetes.io~1name"), "1");
        assert_string_equal(named("/50%"), "2");
        assert_string_equal(named("/x^y"), "3");
        assert_string_equal(named("/back\\slash"), "4");
        assert_string_equal(named("/quo\"te"), "5");
        assert_string_equal(named("/ "), "6");
        assert_string_equal(named("/home~0"), "7");
        assert_non_null(strstr(named(""), "list"));
}

static void what_is_not_there_is_null(void **state) {
        (void)state;
        assert_null(named("/absent"));
        assert_null(named("/list/2"));
        assert_null(named("/list/-"));
        assert_null(named("/list/00"));
        assert_null(named("/list/01"));
        assert_null(named("/list/-1"));
        assert_null(named("/list/+1"));
        assert_null(named("/list/"));
        assert_null(named("/list/0/x"));
        assert_null(named("/list/18446744073709551616"));
        assert_null(named("//"));
        assert_null(pointer_find(NULL, (struct pointer){ 0 }));
}

static void escapes_are_decoded_once(void **state) {
        struct pointer p;

        (void)state;
        assert_int_equal(pointer_parse(STR("/~01/~10//~0~1"), a, &p, NULL), 0);
        assert_int_equal(p.count, 4);
        assert_string_equal(p.tokens[0].p, "~1");
        assert_string_equal(p.tokens[1].p, "/0");
        assert_string_equal(p.tokens[2].p, "");
        assert_string_equal(p.tokens[3].p, "~/");
}

static void bad_pointers_are_the_user_s_error(void **state) {
        struct pointer p = { .count = 9 };
        struct err err;

        (void)state;
        assert_int_equal(pointer_parse(STR("a"), a, &p, &err), ERR_INVAL);
        assert_string_equal(err.msg, "JSON pointer \"a\" does not begin with /");
        assert_int_equal(pointer_parse(STR("/a~"), a, &p, &err), ERR_INVAL);
        assert_int_equal(pointer_parse(STR("/a~2/b"), a, &p, &err), ERR_INVAL);
        assert_string_equal(err.msg, "JSON pointer \"/a~2/b\" has a ~ that is neither ~0 nor ~1");
        assert_int_equal(p.count, 9);
}

static void printed_tokens_are_read_back(void **state) {
        static const struct str tokens[] = { STR("a"), STR("a/b~c"), STR(""), STR("~1"), STR("/~") };
        _cleanup_(buf_done) struct buf text = buf_make(1000);
        struct pointer p;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(tokens); i++)
                pointer_add_token(&text, tokens[i]);
        assert_string_equal(text.p, "/a/a~1b~0c//~01/~1~0");
        assert_int_equal(pointer_parse(buf_str(&text), a, &p, NULL), 0);
        assert_int_equal(p.count, ARRAY_LEN(tokens));
        for (size_t i = 0; i < p.count; i++)
                assert_true(str_eq(p.tokens[i], tokens[i]));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(pointers_name_what_the_rfc_says, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_not_there_is_null, setup, teardown),
                cmocka_unit_test_setup_teardown(escapes_are_decoded_once, setup, teardown),
                cmocka_unit_test_setup_teardown(bad_pointers_are_the_user_s_error, setup, teardown),
                cmocka_unit_test_setup_teardown(printed_tokens_are_read_back, setup, teardown),
        };

        return cmocka_run_group_tests_name("pointer", tests, NULL, NULL);
}
