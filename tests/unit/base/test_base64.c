/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* RFC 4648 §10, and bytes that need every part of the alphabet. */
static const struct {
        struct str data, text;
} pairs[] = {
        { STR(""), STR("") },
        { STR("f"), STR("Zg==") },
        { STR("fo"), STR("Zm8=") },
        { STR("foo"), STR("Zm9v") },
        { STR("foob"), STR("Zm9vYg==") },
        { STR("fooba"), STR("Zm9vYmE=") },
        { STR("foobar"), STR("Zm9vYmFy") },
        { STR("\0"), STR("AA==") },
        { STR("\xfb\xef\xbe\xff\xff\xff"), STR("++++////") },
};

static void what_is_encoded_reads_as_the_standard_says(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
                _cleanup_(buf_done) struct buf out = buf_make(64);

                base64_encode(pairs[i].data, &out);
                assert_true(str_eq(buf_str(&out), pairs[i].text));
                assert_int_equal(base64_text_bytes(pairs[i].data.n), pairs[i].text.n);
        }
}

static void what_is_decoded_is_what_was_encoded(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
                _cleanup_(buf_done) struct buf out = buf_make(64);

                assert_true(base64_decode(pairs[i].text, &out));
                assert_true(str_eq(buf_str(&out), pairs[i].data));
        }
}

static void what_is_no_base64_gives_nothing(void **state) {
        static const char *const wrong[] = { "Z", "Zg", "Zg=", "Zm9", "Zg===", "====", "=Zg=", "Zg==Zg==", "Zm9v\n", "Zm9-",
                                             "Zm 9" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
                _cleanup_(buf_done) struct buf out = buf_make(64);

                assert_false(base64_is_valid(str_from(wrong[i])));
                assert_false(base64_decode(str_from(wrong[i]), &out));
                assert_int_equal(out.n, 0);
        }
}

static void bits_that_nobody_needs_may_be_set(void **state) {
        _cleanup_(buf_done) struct buf out = buf_make(64);

        (void)state;
        assert_true(base64_decode(STR("Zh=="), &out));
        assert_string_equal(out.p, "f");
}

static void a_buffer_that_is_too_small_says_so(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(7), data = buf_make(5);

        (void)state;
        base64_encode(STR("foobar"), &text);
        assert_true(text.overflow);
        assert_true(base64_decode(STR("Zm9vYmFy"), &data));
        assert_true(data.overflow);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_encoded_reads_as_the_standard_says),
                cmocka_unit_test(what_is_decoded_is_what_was_encoded),
                cmocka_unit_test(what_is_no_base64_gives_nothing),
                cmocka_unit_test(bits_that_nobody_needs_may_be_set),
                cmocka_unit_test(a_buffer_that_is_too_small_says_so),
        };

        return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
