/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "arena_test.h"
#include "group/names.h"

static void expect(struct str got, const char *text) {
        assert_string_equal(got.p, text);
        assert_int_equal(got.n, strlen(text));
}

static void names_of_a_group(void **state) {
        (void)state;
        expect(group_name_leader(a, STR("vllm"), 0), "vllm-0");
        expect(group_name_worker(a, STR("vllm"), 12, 3), "vllm-12-3");
        expect(group_name_pod(a, STR("vllm"), 1, 0), "vllm-1");
        expect(group_name_pod(a, STR("vllm"), 1, 2), "vllm-1-2");
        expect(group_name_revision(a, STR("vllm"), STR("0a1b2c3d4e"), 7), "vllm-0a1b2c3d4e-7");
        expect(group_name_claim(a, STR("model"), STR("vllm-0-1")), "model-vllm-0-1");
}

/* As `printf default/vllm-0 | sha1sum` says. */
static void keys_are_sha1(void **state) {
        (void)state;
        expect(group_key(a, STR("default"), STR("vllm-0")), "3026934fa959105a39223221cf76941a46fb01bb");
        expect(group_key(a, STR("serving"), STR("llama-12")), "88fd0dfe210ba67053d8989bf6f9ea07ae2561ac");
        expect(group_subgroup_key(a, STR("vllm-0"), 1), "62866e51f8a7c12df529b43019ed2214f730383f");
}

static void expect_ordinal(const char *name, const char *parent, int32_t ordinal) {
        struct str got = STR("untouched");
        int32_t number = -7;
        bool found = group_parent_ordinal(str_from(name), &got, &number);

        assert_int_equal(found, parent != NULL);
        assert_true(str_eqc(got, parent ? parent : "untouched"));
        assert_int_equal(number, parent ? ordinal : -7);
}

static void a_name_is_taken_apart(void **state) {
        (void)state;
        expect_ordinal("lws-samples-132", "lws-samples", 132);
        expect_ordinal("a-1-0", "a-1", 0);
        expect_ordinal("a-2147483647", "a", INT32_MAX);
        expect_ordinal("lws-samples-u", NULL, 0);
        expect_ordinal("lws-samples-", NULL, 0);
        expect_ordinal("lws-1x", NULL, 0);
        expect_ordinal("lws", NULL, 0);
        expect_ordinal("12", NULL, 0);
        expect_ordinal("", NULL, 0);
        expect_ordinal("a-2147483648", NULL, 0);
        expect_ordinal("a-99999999999999999999", NULL, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_of_a_group),
                cmocka_unit_test(keys_are_sha1),
                cmocka_unit_test(a_name_is_taken_apart),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
