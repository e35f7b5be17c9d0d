/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define META(name) "metadata: {name: " name "}\n"
#define CONFIGMAP "apiVersion: v1\nkind: ConfigMap\n"
#define DEPLOYMENT "apiVersion: apps/v1\nkind: Deployment\n"
#define WIDGET "apiVersion: example.com/v1\nkind: Widget\n"
#define SECRET "apiVersion: v1\nkind: Secret\n"

static int setup(void **state) {
        *state = arena_new(0);
        return 0;
}

static int teardown(void **state) {
        arena_free(*state);
        return 0;
}

/* The one object of a text. */
static const struct manifest_object *parse_one(struct arena *a, const char *text) {
        struct manifest_parsed p;

        manifest_parse(str_from(text), MANIFEST_YAML, a, &p);
        if (p.error_count > 0)
                fail_msg("%s", p.errors[0].message.p);
        assert_int_equal(p.object_count, 1);
        return &p.objects[0];
}

static const char *first_error(struct arena *a, const char *text) {
        struct manifest_parsed p;

        manifest_parse(str_from(text), MANIFEST_YAML, a, &p);
        assert_true(p.error_count > 0);
        return p.errors[0].message.p;
}

/* Text → canonical text of the cleaned object. */
static const struct {
        const char *text, *clean;
} cleaned[] = {
        /* The server's own fields. */
        { CONFIGMAP "metadata: {name: x, creationTimestamp: null, uid: u, resourceVersion: '1', generation: 2, "
                    "selfLink: /x, managedFields: [], deletionTimestamp: null}\nstatus: {a: b}\n",
          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}" },
        { CONFIGMAP "metadata: {name: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}', a: b}}\n",
          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{\"a\":\"b\"},\"name\":\"x\"}}" },
        /* Nulls: maps of strings. */
        { CONFIGMAP "metadata: {name: x, labels: {a: null}, annotations: null}\ndata: {k: null}\n",
          "{\"apiVersion\":\"v1\",\"data\":{\"k\":\"\"},\"kind\":\"ConfigMap\",\"metadata\":{\"labels\":{\"a\":\"\"},"
          "\"name\":\"x\"}}" },
        { WIDGET "metadata: {name: x, labels: {a: null}, namespace: null}\n",
          "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"labels\":{\"a\":\"\"},\"name\":\"x\"}}" },
        /* Nulls: built-in kinds lose them, in lists too. */
        { DEPLOYMENT META("x") "spec:\n  replicas: null\n  template: {metadata: {creationTimestamp: null}, spec: {containers: "
          "[{name: c, env: null}], nodeSelector: {zone: null}}}\n",
          "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"template\":"
          "{\"metadata\":{},\"spec\":{\"containers\":[{\"name\":\"c\"}],\"nodeSelector\":{\"zone\":\"\"}}}}}" },
        /* Nulls: custom kinds keep them, but for creationTimestamp. */
        { WIDGET META("x") "spec: {a: null, data: {b: null}, template: {metadata: {creationTimestamp: null, labels: {c: "
          "null}}}}\n",
          "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"a\":null,"
          "\"data\":{\"b\":null},\"template\":{\"metadata\":{\"labels\":{\"c\":null}}}}}" },
        /* Nulls: a schema's default may be null. */
        { "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" META("x") "spec: {a: null, s: {default: "
          "null, enum: [null]}}\n",
          "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"x\"},"
          "\"spec\":{\"s\":{\"default\":null,\"enum\":[null]}}}" },
        /* Empty maps and lists stay. */
        { DEPLOYMENT META("x") "spec: {strategy: {}, list: []}\n",
          "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"list\":[],"
          "\"strategy\":{}}}" },
        /* Secrets. */
        { SECRET META("x") "stringData: {a: '', b: h, c: hi, d: hey, e: hey1}\n",
          "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"\",\"b\":\"aA==\",\"c\":\"aGk=\",\"d\":\"aGV5\",\"e\":\"aGV5MQ==\"},"
          "\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\"}}" },
        { SECRET META("x") "data: {a: b2xk, b: b2xk}\nstringData: {a: new}\n",
          "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"bmV3\",\"b\":\"b2xk\"},\"kind\":\"Secret\",\"metadata\":{\"name\":"
          "\"x\"}}" },
        { SECRET META("x") "data: {a: \"aGVs\\nbG8=\\n\", b: null}\nstringData: null\n",
          "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"aGVsbG8=\",\"b\":\"\"},\"kind\":\"Secret\",\"metadata\":{\"name\":"
          "\"x\"}}" },
        { "apiVersion: example.com/v1\nkind: Secret\n" META("x") "stringData: {a: b}\n",
          "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\"},\"stringData\":{\"a\":"
          "\"b\"}}" },
};

static void objects_are_cleaned(void **state) {
        for (size_t i = 0; i < ARRAY_LEN(cleaned); i++)
                assert_string_equal(value_canonical(*state, parse_one(*state, cleaned[i].text)->value).p,
                                    cleaned[i].clean);
}

static void every_byte_survives_base64(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(4096);
        const struct manifest_object *o;

        buf_addc(&b, SECRET META("x") "stringData:\n  k: \"\\xFB\\xEF\\xBE\"\n");
        o = parse_one(*state, b.p);
        /* YAML's \xFB is U+00FB, two bytes of UTF-8. */
        assert_true(str_eqc(value_text(value_path(o->value, "data", "k", NULL)), "w7vDr8K+"));
        assert_true(o->secret);
}

static void broken_secrets_are_refused_without_their_values(void **state) {
        static const char *const texts[] = {
                SECRET META("x") "stringdata: {a: hunter2}\n", SECRET META("x") "type: [hunter2]\n",
                SECRET META("x") "immutable: hunter2\n",
                SECRET META("x") "data: {k: hunter2!}\n",      SECRET META("x") "data: {k: hunter22hunter2}\n",
                SECRET META("x") "data: {k: hunter2=hunter2=}\n", SECRET META("x") "data: {k: 7777123}\n",
                SECRET META("x") "stringData: {k: 7777123}\n", SECRET META("x") "data: hunter2\n",
                SECRET META("x") "stringData: [hunter2]\n",    SECRET META("x") "data: {k: '===='}\n",
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct manifest_parsed p;

                manifest_parse(str_from(texts[i]), MANIFEST_YAML, *state, &p);
                assert_int_equal(p.refused_count, 1);
                assert_int_equal(p.object_count, 0);
                assert_true(p.complete);
                assert_null(strstr(p.errors[0].message.p, "hunter2"));
                assert_null(strstr(p.errors[0].message.p, "7777123"));
        }
}

static void the_key_is_read(void **state) {
        const struct manifest_object *o = parse_one(*state, "# first\n\n" DEPLOYMENT "metadata: {name: web, namespace: shop}\n");

        assert_true(str_eqc(o->group, "apps") && str_eqc(o->version, "v1") && str_eqc(o->kind, "Deployment"));
        assert_true(str_eqc(o->ns, "shop") && str_eqc(o->name, "web"));
        assert_int_equal(o->line, 3);
        assert_false(o->bound || o->secret);
        assert_string_equal(manifest_title(o, *state).p, "apps/Deployment shop/web");
}

static void lines_of_fields_are_found(void **state) {
        const struct manifest_object *o = parse_one(*state, DEPLOYMENT "metadata:\n  name: x\nspec:\n  replicas: 2\n"
                                                            "  list:\n  - a: 1\n  - b: 2\n");
        static const struct {
                const char *pointer;
                uint32_t line;
        } lines[] = {
                { "", 1 }, { "/spec", 5 }, { "/spec/replicas", 6 }, { "/spec/list/1", 9 }, { "/spec/list/1/b", 9 },
                { "/spec/list/0/a", 8 }, { "/spec/list/7", 7 }, { "/spec/missing/deeper", 5 }, { "/nothing", 1 },
                { "/spec/replicas/deeper", 6 },
        };

        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                struct pointer p;

                assert_int_equal(pointer_parse(str_from(lines[i].pointer), *state, &p, NULL), 0);
                assert_int_equal(manifest_line_of(o, p), lines[i].line);
        }
}

static void lines_survive_string_data(void **state) {
        const struct manifest_object *o = parse_one(*state, SECRET META("x") "data:\n  a: aGk=\nstringData:\n  b: hi\n");
        struct pointer p;

        assert_int_equal(pointer_parse(STR("/data/b"), *state, &p, NULL), 0);
        assert_int_equal(manifest_line_of(o, p), 7);
}

static void a_compare_option_that_does_nothing_is_told(void **state) {
        static const struct {
                const char *options, *warning;
        } told[] = {
                { "IgnoreExtraneos", "compare option \"IgnoreExtraneos\" has no effect on an object, did you mean IgnoreExtraneous?" },
                { "ServerSideDiff=true", "compare option \"ServerSideDiff=true\" has no effect on an object" },
                { " IgnoreExtraneous ,", NULL },
        };
        _cleanup_(buf_done) struct buf text = buf_make(4096);

        for (size_t i = 0; i < ARRAY_LEN(told); i++) {
                struct manifest_parsed p;

                buf_clear(&text);
                buf_addf(&text, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n"
                                "    argocd.argoproj.io/compare-options: '%s'\n", told[i].options);
                manifest_parse(buf_str(&text), MANIFEST_YAML, *state, &p);
                assert_int_equal(p.object_count, 1);
                assert_int_equal(p.warning_count, told[i].warning ? 1 : 0);
                if (!told[i].warning)
                        continue;
                assert_int_equal(p.warnings[0].line, 6);
                assert_string_equal(arena_str(*state, p.warnings[0].message).p, told[i].warning);
        }
}

/* Annotations → flags. */

static const struct {
        const char *annotations;
        bool prune_disabled, delete_disabled, keep, skip, ignore;
} flags[] = {
        { "{}", false, false, false, false, false },
        { "{argocd.argoproj.io/sync-options: Prune=false}", true, false, false, false, false },
        { "{argocd.argoproj.io/sync-options: ' Prune=confirm , Delete=false'}", true, true, false, false, false },
        { "{argocd.argoproj.io/sync-options: 'Prune=true,Delete=confirm,'}", false, true, false, false, false },
        { "{helm.sh/resource-policy: keep}", false, false, true, false, false },
        { "{helm.sh/resource-policy: ' KEEP '}", false, false, true, false, false },
        { "{helm.sh/resource-policy: keeper}", false, false, false, false, false },
        { "{helm.sh/resource-policy: keep, argocd.argoproj.io/sync-options: Prune=false}", true, false, true, false, false },
        { "{argocd.argoproj.io/skip-reconcile: 'true'}", false, false, false, true, false },
        { "{argocd.argoproj.io/skip-reconcile: 'false'}", false, false, false, false, false },
        { "{kustomize.toolkit.fluxcd.io/prune: disabled}", true, false, false, false, false },
        { "{kustomize.toolkit.fluxcd.io/reconcile: disabled}", false, false, false, true, false },
        { "{argocd.argoproj.io/compare-options: IgnoreExtraneous}", false, false, false, false, true },
};

static void annotations_make_truce_do_less(void **state) {
        for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
                struct str text = arena_strf(*state, CONFIGMAP "metadata: {name: x, annotations: %s}\n",
                                             flags[i].annotations);
                const struct manifest_object *o = parse_one(*state, text.p);

                assert_int_equal(o->prune_disabled, flags[i].prune_disabled);
                assert_int_equal(o->delete_disabled, flags[i].delete_disabled);
                assert_int_equal(o->keep, flags[i].keep);
                assert_int_equal(o->skip_reconcile, flags[i].skip);
                assert_int_equal(manifest_value_ignores_extraneous(o->value), flags[i].ignore);
                assert_int_equal(manifest_is_kept(o), flags[i].prune_disabled || flags[i].delete_disabled ||
                                                              flags[i].keep);
                assert_int_equal(manifest_value_is_kept(o->value), manifest_is_kept(o));
                assert_int_equal(manifest_value_is_skipped(o->value), flags[i].skip);
        }
}

/* What is a manifest, and what is not. */

static void text_that_is_no_manifest_is_irrelevant(void **state) {
        static const char *const texts[] = {
                "a: 1\n", "- x\n", "just text\n", "{{ template }}\n", "42\n", "a: [\n", "spec:\n  kind: x\n",
                "# +argocd:skip-file-rendering\n" CONFIGMAP META("x"),
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct manifest_parsed p;

                manifest_parse(str_from(texts[i]), MANIFEST_YAML, *state, &p);
                assert_true(p.irrelevant);
                assert_true(p.complete);
                assert_int_equal(p.error_count + p.object_count + p.refused_count, 0);
        }
}

static void text_that_means_to_be_a_manifest_is_an_error(void **state) {
        static const char *const texts[] = {
                "kind: [\n", "a: b: c\nmetadata:\n", CONFIGMAP META("x") "---\nfoo: bar\n", "apiVersion: v1\n",
                "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\n", /* cut off */
                ("\xff\xfe" "a\0:\0 \0[\0"),
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct str text = i == 5 ? (struct str){ texts[5], 10 } : str_from(texts[i]);
                struct manifest_parsed p;

                manifest_parse(text, MANIFEST_YAML, *state, &p);
                assert_false(p.irrelevant);
                assert_false(p.complete);
                assert_true(p.error_count > 0);
        }
}

static void an_empty_file_is_neither(void **state) {
        static const char *const texts[] = { "", "\n\n", "# comment\n", "---\n", "---\n---\n# x\n" };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct manifest_parsed p;

                manifest_parse(str_from(texts[i]), MANIFEST_YAML, *state, &p);
                assert_false(p.irrelevant);
                assert_true(p.complete);
                assert_int_equal(p.error_count + p.object_count, 0);
        }
}

static void an_object_with_a_known_key_never_makes_the_set_incomplete(void **state) {
        struct manifest_parsed p;

        manifest_parse(STR(CONFIGMAP "metadata: {name: x, labels: 5, ownerReferences: 7}\ndata: 5\n"), MANIFEST_YAML, *state,
                       &p);
        assert_true(p.complete);
        assert_int_equal(p.refused_count, 1);
        assert_int_equal(p.error_count, 2);
        assert_string_equal(p.errors[0].object.p, "ConfigMap x");
}

static void names_are_checked_as_path_segments(void **state) {
        static const char *const good[] = { "x", "system:node", "a.b", "1.2", "UPPER_case", "a~b" };
        static const char *const bad[] = { "'.'", "'..'", "a/b", "'a%b'", "'a b'", "\"a\\tb\"", "\"a\\nb\"", "''", "\"a\\u007f\"" };

        for (size_t i = 0; i < ARRAY_LEN(good); i++)
                parse_one(*state, arena_strf(*state, CONFIGMAP "metadata: {name: '%s'}\n", good[i]).p);
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_non_null(strstr(first_error(*state, arena_strf(*state, CONFIGMAP "metadata: {name: %s}\n", bad[i]).p),
                                       "metadata.name"));
}

static void names_end_at_their_limits(void **state) {
        struct arena *a = *state;
        char name[255];

        memset(name, 'a', sizeof(name));
        name[254] = '\0';
        first_error(a, arena_strf(a, CONFIGMAP "metadata: {name: %s}\n", name).p);
        name[253] = '\0';
        parse_one(a, arena_strf(a, CONFIGMAP "metadata: {name: %s}\n", name).p);
        name[64] = '\0';
        first_error(a, arena_strf(a, CONFIGMAP "metadata: {name: x, namespace: %s}\n", name).p);
        name[63] = '\0';
        parse_one(a, arena_strf(a, CONFIGMAP "metadata: {name: x, namespace: %s}\n", name).p);
}

static void lists_nest_up_to_the_limit(void **state) {
        for (unsigned depth = MANIFEST_MAX_LIST_NESTING; depth <= MANIFEST_MAX_LIST_NESTING + 1; depth++) {
                _cleanup_(buf_done) struct buf b = buf_make(8192);
                struct manifest_parsed p;

                for (unsigned i = 0; i < depth; i++)
                        buf_addc(&b, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
                buf_addc(&b, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}");
                for (unsigned i = 0; i < depth; i++)
                        buf_addc(&b, "]}");
                manifest_parse(buf_str(&b), MANIFEST_JSON, *state, &p);
                assert_int_equal(p.object_count, depth <= MANIFEST_MAX_LIST_NESTING);
                assert_int_equal(p.error_count, depth > MANIFEST_MAX_LIST_NESTING);
        }
}

static void json_takes_exactly_one_object(void **state) {
        static const char *const bad[] = { "", "{}", "[]", "{} {}", "null", "1", "{\"a\":1}" };
        struct manifest_parsed p;

        manifest_parse(STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}\n"), MANIFEST_JSON,
                       *state, &p);
        assert_int_equal(p.object_count, 1);
        assert_int_equal(p.objects[0].line, 1);
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                manifest_parse(str_from(bad[i]), MANIFEST_JSON, *state, &p);
                assert_true(p.error_count > 0);
                assert_false(p.complete || p.irrelevant);
        }
}

static void json_has_lines_too(void **state) {
        struct manifest_parsed p;
        static const struct str replicas[] = { STR("spec"), STR("replicas") };

        manifest_parse(STR("{\n  \"apiVersion\": \"apps/v1\",\n  \"kind\": \"Deployment\",\n  \"metadata\": {\"name\": "
                           "\"x\"},\n  \"spec\": {\n    \"replicas\": 2\n  }\n}\n"), MANIFEST_JSON, *state, &p);
        assert_int_equal(p.object_count, 1);
        assert_int_equal(manifest_line_of(&p.objects[0], (struct pointer){ replicas, 2 }), 6);
        manifest_parse(STR("\xef\xbb\xbf{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\n\"metadata\":{\"name\":\"x\"}}"),
                       MANIFEST_JSON, *state, &p);
        assert_int_equal(p.object_count, 1); /* as kubectl reads what an editor has put a byte order mark in front of */
        assert_int_equal(p.error_count, 0);
        manifest_parse(STR("\xef\xbb\xbf{\n\n  \"a\": }"), MANIFEST_JSON, *state, &p);
        assert_int_equal(p.error_count, 1);
        assert_int_equal(p.errors[0].line, 3);

        manifest_parse(STR("{\n\n  \"a\": }"), MANIFEST_JSON, *state, &p);
        assert_int_equal(p.errors[0].line, 3);
}

/* What YAML reads otherwise stays as JSON has it: here an escape for a character beyond 16 bits. */
static void json_wins_over_its_lines(void **state) {
        struct manifest_parsed p;

        manifest_parse(STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"},\"data\":{"
                           "\"k\":\"\\ud83d\\ude00\"}}"), MANIFEST_JSON, *state, &p);
        assert_int_equal(p.object_count, 1);
        assert_true(str_eqc(value_text(value_path(p.objects[0].value, "data", "k", NULL)), "\xf0\x9f\x98\x80"));
}

static void a_limit_of_the_parser_is_an_error_even_in_a_strange_file(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(65536);
        struct manifest_parsed p;

        for (int i = 0; i < 20000; i++)
                buf_addch(&b, '[');
        manifest_parse(buf_str(&b), MANIFEST_YAML, *state, &p);
        assert_int_equal(p.error_count, 1);
        assert_int_equal(p.errors[0].code, ERR_LIMIT);
        assert_false(p.complete);
}

static void problems_print_with_what_is_known(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(256);
        struct manifest_problem p = { .message = STR("m") };

        (void)state;
        manifest_problem_print(&p, &b);
        p.line = 3;
        manifest_problem_print(&p, &b);
        p.file = STR("f");
        p.object = STR("o");
        manifest_problem_print(&p, &b);
        assert_string_equal(b.p, "mline 3: mf:3: o: m");
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(objects_are_cleaned),
                T(every_byte_survives_base64),
                T(broken_secrets_are_refused_without_their_values),
                T(the_key_is_read),
                T(lines_of_fields_are_found),
                T(lines_survive_string_data), T(a_compare_option_that_does_nothing_is_told),
                T(annotations_make_truce_do_less),
                T(text_that_is_no_manifest_is_irrelevant),
                T(text_that_means_to_be_a_manifest_is_an_error),
                T(an_empty_file_is_neither),
                T(an_object_with_a_known_key_never_makes_the_set_incomplete),
                T(names_are_checked_as_path_segments),
                T(names_end_at_their_limits),
                T(lists_nest_up_to_the_limit),
                T(json_takes_exactly_one_object),
                T(json_has_lines_too),
                T(json_wins_over_its_lines),
                T(a_limit_of_the_parser_is_an_error_even_in_a_strange_file),
                T(problems_print_with_what_is_known),
        };

        return cmocka_run_group_tests_name("document", tests, NULL, NULL);
}
