/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/mask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/limits.h"
#include "diff/print.h"

#include "random_tree.h"

static const struct value *json(struct arena *a, const char *text) {
        const struct value *v = NULL;
        struct err err = { 0 };

        if (json_parse(str_from(text), a, &v, &err) < 0)
                fail_msg("%s: %s", text, err.msg);
        return v;
}

static const char *text_at(const struct value *object, const char *map, const char *key) {
        return value_text(value_getc(value_getc(object, map), key)).p;
}

static void only_core_secrets_are_secrets(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        (void)state;
        assert_true(mask_is_secret(json(a, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}")));
        assert_false(mask_is_secret(json(a, "{\"apiVersion\":\"example.io/v1\",\"kind\":\"Secret\"}")));
        assert_false(mask_is_secret(json(a, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}")));
        assert_false(mask_is_secret(NULL));
        assert_false(mask_is_secret(&value_null));
}

static void equal_values_have_equal_letters_within_one_object(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *o[] = {
                json(a, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"MQ==\",\"b\":\"Mg==\",\"same\":"
                        "\"MA==\"}}"),
                json(a, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"Mg==\",\"b\":\"Mw==\",\"same\":"
                        "\"MA==\"}}"),
                NULL,
        };

        (void)state;
        mask_objects(o, 3, false, NULL, a);
        assert_string_equal(text_at(o[0], "data", "a"), "••••••  (a)");
        assert_string_equal(text_at(o[1], "data", "a"), "••••••  (b)");
        assert_string_equal(text_at(o[0], "data", "b"), "••••••  (b)");
        assert_string_equal(text_at(o[1], "data", "b"), "••••••  (c)");
        assert_string_equal(text_at(o[0], "data", "same"), "••••••  (d)");
        assert_string_equal(text_at(o[1], "data", "same"), "••••••  (d)");
        assert_null(o[2]);
}

static void letters_do_not_run_out(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct value_map_builder data = { 0 };
        const struct value *o[1];

        (void)state;
        for (int i = 0; i < 800; i++) {
                struct str key = arena_strf(a, "k%03d", i);

                value_map_add(&data, key, value_string(a, key, 0), 0);
        }
        o[0] = value_with(a, json(a, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}"), STR("data"),
                          value_map_end(&data, a, 0));
        mask_objects(o, 1, false, NULL, a);
        assert_string_equal(text_at(o[0], "data", "k025"), "••••••  (z)");
        assert_string_equal(text_at(o[0], "data", "k026"), "••••••  (aa)");
        assert_string_equal(text_at(o[0], "data", "k701"), "••••••  (zz)");
        assert_string_equal(text_at(o[0], "data", "k702"), "••••••  (aaa)");
}

static void damaged_secrets_are_masked_too(void **state) {
        static const char *const damaged[] = {
                "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":\"HUSHHUSH\"}",
                "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":[\"HUSHHUSH\"]}",
                "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":{\"b\":[\"HUSHHUSH\"]}}}",
                "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"stringdata\":{\"a\":\"HUSHHUSH\"}}",
                "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"password\":\"HUSHHUSH\"}",
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":"
                "{\"kubectl.kubernetes.io/last-applied-configuration\":\"HUSHHUSH\"}}}",
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":"
                "{\"objectset.rio.cattle.io/applied\":\"HUSHHUSH\"}}}",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                _cleanup_(buf_done) struct buf b = buf_make(KIB);
                const struct value *o[1] = { json(a, damaged[i]) };

                mask_objects(o, 1, false, NULL, a);
                value_print(o[0], &b);
                assert_null(strstr(b.p, "HUSH"));
        }
}

static void what_is_no_secret_stays_readable(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *o[] = { json(a, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"a\":\"open\"}}"),
                                    NULL };

        (void)state;
        o[1] = o[0];
        mask_objects(o, 2, false, NULL, a);
        assert_string_equal(text_at(o[0], "data", "a"), "open");
        assert_ptr_equal(o[0], o[1]);
        mask_objects(o, 2, true, NULL, a);
        assert_string_equal(text_at(o[0], "data", "a"), "••••••  (a)");
        assert_ptr_equal(o[0], o[1]);
}

static void annotations_that_the_configuration_names_are_masked_in_any_kind(void **state) {
        static const struct str keys[] = { { "example.com/token", 17 }, { "other", 5 } };
        static const struct mask_annotations also = { keys, 2 };
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf b = buf_make(KIB);
        const struct value *o[] = {
                json(a, "{\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{\"example.com/token\":\"HUSH1\",\"note\":\"open\"}}}"),
                json(a, "{\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{\"example.com/token\":\"HUSH2\"}}}"),
                json(a, "{\"kind\":\"ConfigMap\",\"metadata\":{}}"),
        };

        (void)state;
        mask_scrub(o, 2, false, &also, STR("denied: token HUSH2 is bad, note is open"), &b);
        assert_string_equal(b.p, "denied: token •••••• is bad, note is open");
        mask_objects(o, 3, false, &also, a);
        assert_string_equal(value_canonical(a, o[0]).p,
                            "{\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{\"example.com/token\":\"••••••  (a)\",\"note\":\"open\"}}}");
        assert_string_equal(value_canonical(a, o[1]).p,
                            "{\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{\"example.com/token\":\"••••••  (b)\"}}}");
}

static void scrub(const char *object, const char *text, const char *want) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf b = buf_make(MIB);
        const struct value *o[] = { NULL, json(a, object) };

        mask_scrub(o, 2, false, NULL, str_from(text), &b);
        assert_string_equal(b.p, want);
}

#define SECRET(rest) "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"," rest "}"

static void echoed_values_are_scrubbed_from_errors(void **state) {
        (void)state;
        /* "correct horse" is Y29ycmVjdCBob3JzZQ== */
        scrub(SECRET("\"data\":{\"p\":\"Y29ycmVjdCBob3JzZQ==\"}"),
              "bad value \"Y29ycmVjdCBob3JzZQ==\" and correct horse!", "bad value \"••••••\" and ••••••!");
        scrub(SECRET("\"data\":{\"p\":\"Y29ycmVjdCBob3JzZQ==\"}"), "cut short: \"rrect ho", "cut short: \"••••••");
        scrub(SECRET("\"stringData\":{\"p\":\"tell\\\"no\\none\"}"), "got \"tell\\\"no\\none\"", "got \"••••••\"");
        /* A value that does not occur must not shield the next in order. */
        scrub(SECRET("\"stringData\":{\"p\":\"aaaa\",\"q\":\"bbbb\"}"), "got bbbb", "got ••••••");
        /* Too short for runs: as words only. */
        scrub(SECRET("\"stringData\":{\"p\":\"abc\"}"), "abcd xabc \"abc\" abc", "abcd xabc \"••••••\" ••••••");
        scrub(SECRET("\"stringData\":{\"p\":\"\"}"), "nothing to hide", "nothing to hide");
        scrub(SECRET("\"data\":{\"p\":12345}"), "not a string: 12345", "not a string: ••••••");
        scrub(SECRET("\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":"
                     "\"{\\\"stringData\\\":{\\\"p\\\":\\\"OLDVALUE\\\"}}\"}}"),
              "metadata was OLDVALUE", "metadata was ••••••");
        scrub(SECRET("\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/"
                     "last-applied-configuration\":\"{OLDVALUE\"}}"),
              "was OLDVALUE", "was ••••••");
        scrub("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"a\":\"open text\"}}", "bad: open text",
              "bad: open text");
        scrub(SECRET("\"data\":{\"p\":\"QUJDREVG\"}"), "", "");
}

static void scrubbing_is_bounded(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf value = buf_make(2 * MIB), text = buf_make(MIB), out = buf_make(MIB);
        struct value_map_builder data = { 0 };
        const struct value *o[1];

        (void)state;
        for (int i = 0; i < MIB; i++)
                buf_addch(&value, 'a');
        for (int i = 0; i < KUBE_MAX_ERROR_BYTES + 10; i++)
                buf_addch(&text, i % 9 == 8 ? '-' : 'a');
        value_map_add(&data, STR("p"), value_string(a, buf_str(&value), 0), 0);
        o[0] = value_with(a, json(a, SECRET("\"x\":1")), STR("data"), value_map_end(&data, a, 0));
        mask_scrub(o, 1, false, NULL, buf_str(&text), &out);
        assert_null(strstr(out.p, "aaaa"));
        assert_non_null(strstr(out.p, "••••••-••••••"));
}

/* Random Secrets through everything that prints. Values are of letters that no output has. */
static const char alphabet[] = "QXZJVWYK";

static struct str random_secret_text(struct dice *d, struct arena *a) {
        size_t n = 4 + roll(d, 40);
        char *p = arena_alloc(a, n);

        for (size_t i = 0; i < n; i++)
                p[i] = alphabet[roll(d, sizeof alphabet - 1)];
        return (struct str){ p, n };
}

static const struct value *random_data(struct dice *d, struct arena *a, struct str *values, size_t *count) {
        struct value_map_builder b = { 0 };

        for (uint32_t i = 0, n = roll(d, 5); i < n; i++) {
                struct str s = random_secret_text(d, a);
                const struct value *v = value_string(a, s, 0);

                if (roll(d, 5) == 0)
                        v = value_with(a, &value_empty_map, STR("inner"), v);
                values[(*count)++] = s;
                value_map_add(&b, arena_strf(a, "key%u", i), v, 0);
        }
        return value_map_end(&b, a, 0);
}

static const struct value *random_secret(struct dice *d, struct arena *a, struct str *values, size_t *count) {
        static const char *const fields[] = { "data", "stringData", "other" };
        const struct str way[] = { STR("metadata"), STR("annotations"),
                                   STR("kubectl.kubernetes.io/last-applied-configuration") };
        const struct value *o =
                json(a, SECRET("\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"},\"type\":\"Opaque\""));

        for (int i = 0; i < 3; i++)
                if (roll(d, 3))
                        o = value_with(a, o, str_from(fields[i]), random_data(d, a, values, count));
        if (roll(d, 3) == 0)
                o = value_with_path(a, o, way, 3, value_string(a, value_canonical(a, o), 0));
        return o;
}

static void assert_nothing_of(struct str out, const struct str *values, size_t count) {
        for (size_t v = 0; v < count; v++) {
                for (size_t i = 0; i + MASK_SCRUB_MIN_BYTES <= values[v].n; i++) {
                        const char *at = memmem(out.p, out.n, values[v].p + i, MASK_SCRUB_MIN_BYTES);

                        /* Enough of what stands around it to see who let it through. */
                        if (at)
                                fail_msg("%.*s in: …%.200s", STR_FMT(values[v]),
                                         at - (at - out.p < 100 ? at - out.p : 100));
                }
        }
}

static void print_everything(const struct diff *d, struct buf *out) {
        for (int format = DIFF_TEXT; format <= DIFF_JSON; format++) {
                struct diff_printer p = { .format = (enum diff_format)format, .style = { .color = true } };

                diff_print_begin(&p, out);
                diff_print_object(&p, d, out);
                diff_print_end(&p, &(struct diff_totals){ 0 }, out);
        }
        diff_summary(d, out);
}

static void no_value_of_a_secret_is_ever_printed(void **state) {
        struct dice dice = { 7 };
        size_t printed = 0;

        (void)state;
        for (int round = 0; round < 1000; round++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                _cleanup_(buf_done) struct buf out = buf_make(MIB), error = buf_make(MIB);
                struct str values[64];
                size_t count = 0;
                struct path_element steps[] = { path_field(STR("data")), path_field(STR("key1")) };
                struct decide_note notes[] = {
                        { .kind = DECIDE_REPORTED, .path = { steps, 2 }, .owner = STR("someone"), .rule = "a rule" },
                        { .kind = DECIDE_HANDOVER_DUE,
                          .path = { steps, 2 },
                          .owner = STR("someone"),
                          .rule = "a rule" },
                        { .kind = DECIDE_STAYS, .path = { steps, 1 }, .owner = STR("someone"), .rule = "a rule" },
                };
                const struct value *o[] = { random_secret(&dice, a, values, &count),
                                            random_secret(&dice, a, values, &count),
                                            random_secret(&dice, a, values, &count) };
                struct diff_input in = { .before = roll(&dice, 5) ? o[0] : NULL,
                                         .after = o[1],
                                         .desired = o[2],
                                         .notes = notes,
                                         .note_count = roll(&dice, 4) };
                struct diff d;

                assert_int_equal(diff_compare(&in, a, &d, NULL), 0);
                print_everything(&d, &out);
                for (size_t i = 0; i < count; i++)
                        buf_addf(&error, "invalid: %.*s; ", STR_FMT(values[i]));
                mask_scrub(o, 3, false, NULL, buf_str(&error), &out);
                assert_int_equal(buf_check(&out, "output", NULL), 0);
                assert_nothing_of(buf_str(&out), values, count);
                printed += d.count;
        }
        assert_true(printed > 1000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(only_core_secrets_are_secrets),
                cmocka_unit_test(equal_values_have_equal_letters_within_one_object),
                cmocka_unit_test(letters_do_not_run_out),
                cmocka_unit_test(damaged_secrets_are_masked_too),
                cmocka_unit_test(what_is_no_secret_stays_readable),
                cmocka_unit_test(annotations_that_the_configuration_names_are_masked_in_any_kind),
                cmocka_unit_test(echoed_values_are_scrubbed_from_errors),
                cmocka_unit_test(scrubbing_is_bounded),
                cmocka_unit_test(no_value_of_a_secret_is_ever_printed),
        };

        return cmocka_run_group_tests_name("mask", tests, NULL, NULL);
}
