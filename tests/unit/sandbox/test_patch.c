/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a real API server made of the patches of tests/cases/sandbox_patch, see tests/cluster/record_refusals.py.
 */
#include "codec_test.h"

/* One patch of one object. */
struct patching {
        const struct type *type;
        struct str api_version, kind;
        const struct value *live, *patch;
        struct str how; /* json, merge, strategic */
        const struct value *result;
        struct causes strict;
        struct err err;
};

static int run_patch(struct patching *p) {
        if (str_eqc(p->how, "json") && patch_json_check(p->patch, &p->err) < 0)
                return ERR_PARSE;
        if (str_eqc(p->how, "json"))
                return patch_json(p->live, p->patch, a, &p->result, &p->err);
        if (str_eqc(p->how, "strategic"))
                return patch_strategic(p->type, p->live, p->patch, a, &p->result, &p->err);
        if (p->patch->kind != VALUE_MAP)
                return err_set(
                        &p->err, ERR_PARSE,
                        "error decoding patch: json: cannot unmarshal %s into Go value of type map[string]interface {}",
                        p->patch->kind == VALUE_LIST ? "array" : "string");
        p->result = patch_merge(p->live, p->patch, a);
        return 0;
}

static int run_decode(struct patching *p) {
        int r = str_eqc(p->how, "strategic")
                        ? codec_convert(p->type, p->result, a, &p->result, &p->strict, &p->err)
                        : codec_decode(p->type, p->result, p->type->rules != NULL, a, &p->result, &p->strict, &p->err);

        if (r == 0)
                p->result = codec_default(p->type, p->api_version, p->kind, p->result, a);
        return r;
}

/* What the registry sets or keeps is left out. */
static const struct value *comparable(const struct value *o) {
        static const char *const made_up[] = { "uid",           "creationTimestamp", "resourceVersion",
                                               "managedFields", "generation",        "namespace" };
        const struct value *metadata = value_getc(o, "metadata");

        for (size_t i = 0; i < ARRAY_LEN(made_up); i++)
                metadata = value_with(a, metadata, str_from(made_up[i]), NULL);
        o = value_with(a, o, STR("metadata"), metadata);
        return value_with(a, o, STR("status"), NULL);
}

static struct str strict_text(const struct causes *c) {
        struct str text = STR("strict decoding error: ");

        for (size_t i = 0; i < c->count; i++)
                text = arena_strf(a, "%.*s%s%.*s", STR_FMT(text), i ? ", " : "", STR_FMT(c->items[i].message));
        return text;
}

/* Is the answer in `want` that of the patch itself, with this code? */
static bool is_refused_so(const struct patching *p, int code, int64_t want_code, struct str message) {
        if (code == ERR_INVAL)
                return want_code == 422 && str_starts(message, STR("the server rejected our request"));
        return want_code == (code == ERR_PARSE ? 400 : 500) && str_eqc(message, p->err.msg);
}

static bool matches(struct patching *p, const struct value *want) {
        struct str message = value_text(value_getc(want, "message"));
        int64_t code = 0;
        int r = run_patch(p);

        value_to_i64(value_getc(want, "code"), &code);
        if (r < 0)
                return is_refused_so(p, r, code, message);
        if (run_decode(p) < 0)
                return code == 422 && str_ends(message, str_from(p->err.msg));
        if (p->strict.count)
                return code == 422 && str_ends(message, strict_text(&p->strict));
        return code == 200 && value_equal(comparable(p->result), comparable(value_getc(want, "object")));
}

static unsigned check_patch(struct patching p, const struct value *want) {
        bool same;

        p.patch = value_getc(want, "patch");
        p.how = value_text(value_getc(want, "type"));
        p.strict.arena = a;
        same = matches(&p, want);
        if (!same)
                print_message("%.*s %s\n  the server: %s\n  we: %s %s\n", STR_FMT(p.how), value_canonical(a, p.patch).p,
                              value_canonical(a, want).p, p.err.msg, p.result ? value_canonical(a, p.result).p : "");
        causes_done(&p.strict);
        return !same;
}

static void patches_do_what_a_real_server_did(void **state) {
        const struct value *cases = read_cases("sandbox_patch/patches.json");
        const struct type *custom = NULL;
        unsigned patches = 0, differences = 0;

        (void)state;
        for (size_t i = 0; i < cases->list.count; i++) {
                const struct value *live = value_getc(cases->list.items[i], "live");
                const struct value *list = value_getc(cases->list.items[i], "patches");
                struct patching p = { .live = live,
                                      .api_version = value_text(value_getc(live, "apiVersion")),
                                      .kind = value_text(value_getc(live, "kind")) };

                p.type = type_table_find(types, p.api_version, p.kind);
                p.type = p.type ? p.type : custom;
                if (str_eqc(p.kind, "CustomResourceDefinition"))
                        assert_int_equal(type_from_crd(live, STR("v1"), types, a, &custom, NULL), 0);
                for (size_t k = 0; k < list->list.count; k++, patches++)
                        differences += check_patch(p, list->list.items[k]);
        }
        assert_true(patches > 150);
        assert_int_equal(differences, 0);
}

static void strategic_patches_are_not_for_custom_resources(void **state) {
        static const char crd[] =
                "{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"versions\":[{\"name\":\"v1\",\"schema\":"
                "{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";
        const struct type *t = NULL;
        const struct value *result = NULL;
        struct err err = { 0 };

        (void)state;
        assert_int_equal(type_from_crd(json(crd), STR("v1"), types, a, &t, NULL), 0);
        assert_int_equal(patch_strategic(t, json("{}"), json("{}"), a, &result, &err), ERR_PARSE);
        assert_string_equal(err.msg, "strategic merge patch format is not supported");
}

static void a_failed_patch_changes_nothing(void **state) {
        const struct value *doc = json("{\"a\":1}"), *result = doc;

        (void)state;
        assert_int_equal(
                patch_json(doc,
                           json("[{\"op\":\"add\",\"path\":\"/b\",\"value\":1},{\"op\":\"remove\",\"path\":\"/c\"}]"),
                           a, &result, NULL),
                ERR_INVAL);
        assert_ptr_equal(result, doc);
}

static void a_merge_patch_takes_nulls_out_of_what_is_new(void **state) {
        (void)state;
        assert_json_equal(patch_merge(json("{\"a\":{\"b\":1}}"),
                                      json("{\"a\":{\"b\":null},\"c\":{\"d\":null,\"e\":[{\"f\":null},null]}}"), a),
                          "{\"a\":{},\"c\":{\"e\":[{},null]}}");
        assert_json_equal(patch_merge(json("{\"a\":{\"b\":1}}"), json("{\"a\":[{\"b\":null}]}"), a),
                          "{\"a\":[{\"b\":null}]}");
}

static void of_two_faults_the_converter_tells_the_first_in_gos_order(void **state) {
        const struct value *result = NULL;
        struct err err = { 0 };

        (void)state;
        assert_int_equal(codec_convert(type_of("v1", "Service"),
                                       json("{\"spec\":{\"clusterIPs\":{\"a\":1},\"ports\":true}}"), a, &result, NULL,
                                       &err),
                         ERR_INVAL);
        assert_string_equal(err.msg, "cannot restore slice from bool");
        assert_null(result);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                codec_test(of_two_faults_the_converter_tells_the_first_in_gos_order),
                codec_test(patches_do_what_a_real_server_did),
                codec_test(strategic_patches_are_not_for_custom_resources),
                codec_test(a_failed_patch_changes_nothing),
                codec_test(a_merge_patch_takes_nulls_out_of_what_is_new),
        };

        return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}
