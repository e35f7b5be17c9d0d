/* SPDX-License-Identifier: Apache-2.0 */
#include "codec_test.h"

#include "sandbox/decode_impl.h"

/* --- refusals: what a real server said to bodies, see tests/cluster/record_refusals.py --- */

static void add_messages(struct buf *out, const struct causes *c) {
        for (size_t i = 0; i < c->count; i++)
                buf_addf(out, "%s%.*s", out->n ? ", " : "", STR_FMT(c->items[i].message));
}

/* What the server would say, without its "strict decoding error: ". */
static struct str complaint(const struct type *t, struct str text, const struct value *body, struct str *ret_kind) {
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        struct causes text_found = { .arena = a }, found = { .arena = a };
        const struct value *object = NULL;
        struct err err = { 0 };
        int r = codec_decode(t, body, t->rules != NULL, a, &object, &found, &err);

        codec_strict(t, text, &text_found);
        *ret_kind = r < 0 ? STR("") : STR("strict decoding error: ");
        if (r < 0)
                buf_addc(&out, err.msg);
        else
                add_messages(&out, &text_found);
        if (r == 0 && t->rules)
                add_messages(&out, &found);
        causes_done(&text_found);
        causes_done(&found);
        return arena_str(a, buf_str(&out));
}

static unsigned check_refusal(const struct type *custom, const struct value *one) {
        struct str text = value_text(value_getc(one, "body")), how;
        const struct value *body = json(text.p);
        struct str kind = value_text(value_getc(body, "kind"));
        struct str api_version = value_text(value_getc(body, "apiVersion"));
        const struct type *t = type_table_find(types, api_version, kind);
        struct str said = complaint(t ? t : custom, text, body, &how);
        struct str have = arena_strf(a, "%.*s in version \"%.*s\" cannot be handled as a %.*s: %.*s%.*s", STR_FMT(kind),
                                     STR_FMT(schema_version(api_version)), STR_FMT(kind), STR_FMT(how), STR_FMT(said));
        struct str want = value_text(value_getc(one, "message"));

        if (str_eq(have, want))
                return 0;
        print_message("%s\n  the server: %s\n  we:         %s\n", text.p, want.p, have.p);
        return 1;
}

static void bodies_are_refused_with_the_servers_words(void **state) {
        const struct value *cases = read_cases("sandbox_decode/bodies.json");
        const struct type *custom = NULL;
        unsigned differences = 0;

        (void)state;
        assert_int_equal(type_from_crd(value_getc(cases->list.items[0], "crd"), STR("v1"), types, a, &custom, NULL), 0);
        assert_true(cases->list.count > 70);
        for (size_t i = 1; i < cases->list.count; i++)
                differences += check_refusal(custom, cases->list.items[i]);
        assert_int_equal(differences, 0);
}

/* --- spellings --- */

static void quantities_are_spelt_as_the_server_does(void **state) {
        static const char *const rows[][2] = {
                { "1", "1" },
                { "1000m", "1" },
                { "1500m", "1500m" },
                { "0.1", "100m" },
                { "1024Mi", "1Gi" },
                { "1000", "1k" },
                { "1e3", "1e3" },
                { "1E3", "1E3" },
                { "1.5Gi", "1536Mi" },
                { "1536Mi", "1536Mi" },
                { "100Mi", "100Mi" },
                { "0", "0" },
                { "0Mi", "0" },
                { "+5", "+5" },
                { "-1", "-1" },
                { "1.", "1." },
                { ".5", "500m" },
                { "007", "007" },
                { "1000Ki", "1000Ki" },
                { "512", "512" },
                { "0.5Ki", "512" },
                { "1u", "1u" },
                { "0.0000000001", "1n" },
                { "12e6", "12e6" },
                { "1000000", "1M" },
                { "2048", "2048" },
                { "5P", "5P" },
                { "1000k", "1M" },
                { "10Ei", "9223372036854775807" },
                { "1e4", "10e3" },
                { "1.5e3", "1500" },
                { "100e-3", "100e-3" },
                { "1.000", "1" },
                { "10.50", "10500m" },
                { "1025Ki", "1025Ki" },
                { "8Ki", "8Ki" },
                { "3.14159265358979", "3141592654n" },
                { "1e-10", "1e-9" },
                { "123456789012345678901", "123456789012345678901" },
                { "1Ei", "1Ei" },
                { "0.1Ki", "102400m" },
                { "1.2345Mi", "1294467072m" },
                { "1e30", "1e30" },
                { "1500000m", "1500" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const char *why = NULL;
                struct str spelt = decode_quantity(str_from(rows[i][0]), a, &why);

                assert_null(why);
                assert_string_equal(spelt.p, rows[i][1]);
        }
}

static void resource_lists_know_nothing_below_a_thousandth(void **state) {
        const char *why = NULL;

        (void)state;
        assert_string_equal(decode_quantity_milli(STR("1u"), a, &why).p, "1m");
        assert_string_equal(decode_quantity_milli(STR("1.0005"), a, &why).p, "1001m");
        assert_string_equal(decode_quantity_milli(STR("1.5"), a, &why).p, "1500m");
        assert_null(why);
}

static void times_are_told_in_utc(void **state) {
        static const struct {
                const char *text, *spelt;
                bool micro;
        } rows[] = {
                { "2024-05-05T07:05:05+02:00", "2024-05-05T05:05:05Z", false },
                { "2024-01-01T00:30:00+01:00", "2023-12-31T23:30:00Z", false },
                { "2024-02-28T23:30:00-01:00", "2024-02-29T00:30:00Z", false },
                { "2023-12-31T23:30:00-01:00", "2024-01-01T00:30:00Z", false },
                { "2024-05-05T05:05:05.987Z", "2024-05-05T05:05:05Z", false },
                { "2024-05-05T05:05:05.120000Z", "2024-05-05T05:05:05.120000Z", true },
                { "0001-01-01T00:00:00Z", "null", false },
        };
        struct str why = { 0 };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_string_equal(decode_time(str_from(rows[i].text), rows[i].micro, a, &why).p, rows[i].spelt);
        assert_int_equal(why.n, 0);
}

static void floats_are_spelt_as_go_does(void **state) {
        static const char *const rows[][2] = {
                { "1.50", "1.5" },
                { "1e3", "1000" },
                { "1e21", "1e+21" },
                { "1e20", "100000000000000000000" },
                { "1e-7", "1e-7" },
                { "1e-6", "0.000001" },
                { "-0.0", "-0" },
                { "0.1", "0.1" },
                { "1e-10", "1e-10" },
                { "123.456", "123.456" },
                { "18446744073709551616", "18446744073709552000" },
                { "1.7976931348623157e308", "1.7976931348623157e+308" },
                { "-1e999", "-1e999" }, /* no float64: left alone, for the refusal */
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_string_equal(decode_float(str_from(rows[i][0]), a).p, rows[i][1]);
}

/* --- what stays and what goes --- */

static const struct value *decoded(const char *api_version, const char *kind, const char *body) {
        const struct value *object = NULL;
        struct err err = { 0 };

        if (codec_decode(type_of(api_version, kind), json(body), false, a, &object, NULL, &err) < 0)
                fail_msg("%s", err.msg);
        return object;
}

static void empty_structs_appear_and_empty_values_vanish(void **state) {
        (void)state;
        assert_json_equal(
                decoded("v1", "ConfigMap", "{\"metadata\":{\"name\":\"a\",\"labels\":{},\"uid\":\"\"},\"data\":{}}"),
                "{\"metadata\":{\"name\":\"a\"}}");
        assert_json_equal(decoded("rbac.authorization.k8s.io/v1", "Role", "{\"metadata\":{}}"),
                          "{\"metadata\":{},\"rules\":null}");
        assert_json_equal(decoded("apps/v1", "Deployment", "{}"),
                          "{\"metadata\":{},\"spec\":{\"selector\":null,\"strategy\":{},\"template\":{\"metadata\":{},"
                          "\"spec\":{\"containers\":null}}},\"status\":{}}");
}

static void nulls_are_zeros_in_lists_and_maps(void **state) {
        (void)state;
        assert_json_equal(decoded("v1", "ConfigMap", "{\"metadata\":null,\"data\":{\"a\":null}}"),
                          "{\"metadata\":{},\"data\":{\"a\":\"\"}}");
        assert_json_equal(decoded("v1", "ServiceAccount", "{\"secrets\":[null]}"),
                          "{\"metadata\":{},\"secrets\":[{}]}");
}

static void zeros_behind_pointers_stay(void **state) {
        (void)state;
        const struct value *d = decoded("apps/v1", "Deployment", "{\"spec\":{\"replicas\":0,\"minReadySeconds\":0}}");

        assert_json_equal(value_path(d, "spec", "replicas", NULL), "0");
        assert_null(value_path(d, "spec", "minReadySeconds", NULL));
}

static void string_data_goes_over_data(void **state) {
        (void)state;
        assert_json_equal(
                decoded("v1", "Secret", "{\"data\":{\"a\":\"eA==\",\"b\":\"eQ==\"},\"stringData\":{\"a\":\"z\"}}"),
                "{\"metadata\":{},\"data\":{\"a\":\"eg==\",\"b\":\"eQ==\"}}");
}

static void unknown_fields_go_also_when_nobody_asks(void **state) {
        (void)state;
        assert_json_equal(decoded("v1", "ConfigMap", "{\"metadata\":{\"x\":1},\"y\":{}}"), "{\"metadata\":{}}");
}

static void at_most_a_hundred_complaints_are_kept(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        struct causes found = { .arena = a };

        (void)state;
        buf_addc(&text, "{\"a\":0");
        for (int i = 0; i < 150; i++)
                buf_addf(&text, ",\"x%d\":[{\"}\\\"\":1}]", i);
        buf_addc(&text, "}");
        codec_strict(type_of("v1", "ConfigMap"), buf_str(&text), &found);
        assert_int_equal(found.count, 100);
        assert_string_equal(found.items[1].message.p, "unknown field \"x0\"");
        causes_done(&found);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                codec_test(bodies_are_refused_with_the_servers_words),
                codec_test(quantities_are_spelt_as_the_server_does),
                codec_test(resource_lists_know_nothing_below_a_thousandth),
                codec_test(times_are_told_in_utc),
                codec_test(floats_are_spelt_as_go_does),
                codec_test(empty_structs_appear_and_empty_values_vanish),
                codec_test(nulls_are_zeros_in_lists_and_maps),
                codec_test(zeros_behind_pointers_stay),
                codec_test(string_data_goes_over_data),
                codec_test(unknown_fields_go_also_when_nobody_asks),
                codec_test(at_most_a_hundred_complaints_are_kept),
        };

        return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
