/* SPDX-License-Identifier: Apache-2.0 */
/* libtruce from outside: public headers and the shared library only. */
#include <truce/diff.h>
#include <truce/own.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char live_yaml[] = "apiVersion: apps/v1\n"
                                "kind: Deployment\n"
                                "metadata:\n"
                                "  name: web\n"
                                "  namespace: shop\n"
                                "  managedFields:\n"
                                "  - manager: truce\n"
                                "    operation: Apply\n"
                                "    apiVersion: apps/v1\n"
                                "    time: 2025-11-29T20:16:00Z\n"
                                "    fieldsType: FieldsV1\n"
                                "    fieldsV1:\n"
                                "      f:spec:\n"
                                "        f:template:\n"
                                "          f:spec:\n"
                                "            f:containers:\n"
                                "              k:{\"name\":\"web\"}: {.: {}, f:name: {}, f:image: {}, f:command: {}}\n"
                                "  - manager: kube-controller-manager\n"
                                "    operation: Update\n"
                                "    subresource: scale\n"
                                "    apiVersion: apps/v1\n"
                                "    fieldsType: FieldsV1\n"
                                "    fieldsV1: {f:spec: {f:replicas: {}}}\n"
                                "spec:\n"
                                "  replicas: 6\n"
                                "  template:\n"
                                "    spec:\n"
                                "      containers:\n"
                                "      - {name: side, image: side:1}\n"
                                "      - {name: web, image: web:1.4, command: [run, fast]}\n";

static const char git_yaml[] = "apiVersion: apps/v1\n"
                               "kind: Deployment\n"
                               "metadata:\n"
                               "  name: web\n"
                               "  namespace: shop\n"
                               "spec:\n"
                               "  template:\n"
                               "    spec:\n"
                               "      containers:\n"
                               "      - name: web\n"
                               "        image: web:1.4\n"
                               "        command: [run, fast]\n";

static const char crd_yaml[] =
        "apiVersion: apiextensions.k8s.io/v1\n"
        "kind: CustomResourceDefinition\n"
        "metadata: {name: gates.example.io}\n"
        "spec:\n"
        "  group: example.io\n"
        "  names: {kind: Gate, plural: gates}\n"
        "  versions:\n"
        "  - name: v1\n"
        "    served: true\n"
        "    schema:\n"
        "      openAPIV3Schema:\n"
        "        type: object\n"
        "        properties:\n"
        "          spec:\n"
        "            type: object\n"
        "            properties:\n"
        "              doors:\n"
        "                type: array\n"
        "                x-kubernetes-list-type: map\n"
        "                x-kubernetes-list-map-keys: [id]\n"
        "                items: {type: object, properties: {id: {type: string}, open: {type: boolean}}}\n";

static const char gate_yaml[] =
        "apiVersion: example.io/v1\n"
        "kind: Gate\n"
        "metadata:\n"
        "  name: main\n"
        "  managedFields:\n"
        "  - {manager: porter, operation: Update, apiVersion: example.io/v1, fieldsType: FieldsV1,\n"
        "     fieldsV1: {\"f:spec\": {\"f:doors\": {'k:{\"id\":\"a\"}': {\"f:open\": {}}}}}}\n"
        "spec: {doors: [{id: b, open: true}, {id: a, open: true}]}\n";

static struct truce_value *yaml(const char *text) {
        struct truce_value **values, *only;
        size_t count;
        char *message = NULL;

        if (truce_values_from_yaml(text, strlen(text), &values, &count, &message) < 0)
                fail_msg("%s", message);
        assert_int_equal(count, 1);
        only = values[0];
        truce_values_free(values, 0);
        return only;
}

static void text_equals(char *text, const char *want) {
        assert_string_equal(text, want);
        truce_free(text);
}

static void a_version_is_given(void **state) {
        (void)state;
        assert_true(strchr(truce_version(), '.') != NULL);
}

static void json_and_yaml_of_one_document_are_equal(void **state) {
        static const char json[] = "{\"b\": [1.0, null], \"a\": \"x\"} trailing bytes are not read";
        struct truce_value *from_yaml = yaml("a: x\nb: [1, ~]\n"), *from_json;

        (void)state;
        assert_int_equal(truce_value_from_json(json, strchr(json, '}') - json + 1, &from_json, NULL), TRUCE_OK);
        assert_true(truce_value_equal(from_yaml, from_json));
        text_equals(truce_value_json(from_yaml), "{\"a\":\"x\",\"b\":[1,null]}");
        text_equals(truce_value_yaml(from_yaml), "a: x\nb:\n- 1\n- null\n");
        truce_value_free(from_yaml);
        truce_value_free(from_json);
}

static void a_stream_gives_its_documents(void **state) {
        static const char text[] = "a: 1\n---\n# nothing\n---\nb: 2\n";
        struct truce_value **values;
        size_t count;

        (void)state;
        assert_int_equal(truce_values_from_yaml(text, sizeof text - 1, &values, &count, NULL), TRUCE_OK);
        assert_int_equal(count, 2);
        text_equals(truce_value_json(values[1]), "{\"b\":2}");
        truce_values_free(values, count);
        assert_int_equal(truce_values_from_yaml("", 0, &values, &count, NULL), TRUCE_OK);
        assert_int_equal(count, 0);
        truce_values_free(values, count);
}

static void bad_text_is_refused_with_a_message(void **state) {
        struct truce_value *v = (void *)&v, **values = (void *)&v;
        size_t count = 77;
        char *message = NULL;
        char deep[400];

        (void)state;
        assert_int_equal(truce_value_from_json("{\"a\":", 5, &v, &message), TRUCE_PARSE);
        assert_true(strlen(message) > 0);
        truce_free(message);
        assert_int_equal(truce_values_from_yaml("a: 1\nb: [\n", 10, &values, &count, &message), TRUCE_PARSE);
        assert_true(strstr(message, "line ") != NULL);
        truce_free(message);
        memset(deep, '[', sizeof deep);
        assert_int_equal(truce_value_from_json(deep, sizeof deep, &v, NULL), TRUCE_LIMIT);
        assert_ptr_equal(v, (void *)&v);
        assert_int_equal(count, 77);
}

static void a_pointer_finds_or_says_that_it_did_not(void **state) {
        struct truce_value *v = yaml("a: {\"b/c\": [x, {deep: 1}]}\n");
        char *json = NULL, *message = NULL;

        (void)state;
        assert_int_equal(truce_value_at(v, "/a/b~1c/1", &json, NULL), TRUCE_OK);
        text_equals(json, "{\"deep\":1}");
        assert_int_equal(truce_value_at(v, "/a/none", &json, &message), TRUCE_NOTFOUND);
        text_equals(message, "there is nothing at /a/none");
        assert_int_equal(truce_value_at(v, "a", &json, NULL), TRUCE_INVAL);
        truce_value_free(v);
}

static void owner_is(const struct truce_value *live, const struct truce_value *crd, const char *pointer,
                     const char *path, const char *manager) {
        struct truce_owners *o;
        char *message = NULL;

        if (truce_owners(live, crd, pointer, &o, &message) < 0)
                fail_msg("%s: %s", pointer, message);
        assert_string_equal(truce_owners_path(o), path);
        assert_int_equal(truce_owners_count(o), manager ? 1 : 0);
        if (manager)
                assert_string_equal(truce_owner_manager(o, 0), manager);
        truce_owners_free(o);
}

static void owners_are_found_by_place(void **state) {
        struct truce_value *live = yaml(live_yaml);

        (void)state;
        owner_is(live, NULL, "/spec/replicas", ".spec.replicas", "kube-controller-manager");
        owner_is(live, NULL, "/spec/template/spec/containers/1/image",
                 ".spec.template.spec.containers[name=\"web\"].image", "truce");
        owner_is(live, NULL, "/spec/template/spec/containers/0/image",
                 ".spec.template.spec.containers[name=\"side\"].image", NULL);
        /* An atomic list has one owner. */
        owner_is(live, NULL, "/spec/template/spec/containers/1/command/1",
                 ".spec.template.spec.containers[name=\"web\"].command", "truce");
        truce_value_free(live);
}

static void a_custom_kind_is_understood_by_its_definition(void **state) {
        struct truce_value *gate = yaml(gate_yaml), *crd = yaml(crd_yaml), *other = yaml(live_yaml);
        struct truce_owners *o;

        (void)state;
        owner_is(gate, crd, "/spec/doors/1/open", ".spec.doors[id=\"a\"].open", "porter");
        owner_is(gate, crd, "/spec/doors/0/open", ".spec.doors[id=\"b\"].open", NULL);
        assert_int_equal(truce_owners(other, crd, "", &o, NULL), TRUCE_INVAL);
        truce_value_free(gate);
        truce_value_free(crd);
        truce_value_free(other);
}

static void owners_outlive_the_object(void **state) {
        struct truce_value *live = yaml(live_yaml);
        struct truce_owners *o;

        (void)state;
        assert_int_equal(truce_owners(live, NULL, "", &o, NULL), TRUCE_OK);
        truce_value_free(live);
        assert_int_equal(truce_owners_count(o), 2);
        assert_string_equal(truce_owners_path(o), "");
        assert_string_equal(truce_owner_operation(o, 0), "Apply");
        assert_string_equal(truce_owner_subresource(o, 0), "");
        assert_string_equal(truce_owner_time(o, 0), "2025-11-29T20:16:00Z");
        assert_string_equal(truce_owner_operation(o, 1), "Update");
        assert_string_equal(truce_owner_subresource(o, 1), "scale");
        assert_string_equal(truce_owner_time(o, 1), "");
        text_equals(truce_owner_fields(o, 1), ".spec.replicas\n");
        text_equals(truce_owner_fields(o, 0), ".spec.template.spec.containers[name=\"web\"]\n"
                                              ".spec.template.spec.containers[name=\"web\"].command\n"
                                              ".spec.template.spec.containers[name=\"web\"].image\n"
                                              ".spec.template.spec.containers[name=\"web\"].name\n");
        truce_owners_free(o);
}

static void owners_of_what_is_no_object_are_refused(void **state) {
        struct truce_value *list = yaml("[1]\n"), *live = yaml(live_yaml),
                           *broken = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {managedFields: 7}}\n");
        struct truce_owners *o;

        (void)state;
        assert_int_equal(truce_owners(list, NULL, "", &o, NULL), TRUCE_INVAL);
        assert_int_equal(truce_owners(live, NULL, "/spec/nothing/below", &o, NULL), TRUCE_NOTFOUND);
        assert_int_equal(truce_owners(live, NULL, "spec", &o, NULL), TRUCE_INVAL);
        assert_int_equal(truce_owners(broken, NULL, "", &o, NULL), TRUCE_PARSE);
        truce_value_free(list);
        truce_value_free(live);
        truce_value_free(broken);
}

static void an_apply_without_effect_is_proven(void **state) {
        struct truce_value *live = yaml(live_yaml), *git = yaml(git_yaml);
        bool proven = false;
        char *why = NULL;

        (void)state;
        assert_int_equal(truce_apply_is_no_op(git, live, NULL, &proven, &why, NULL), TRUCE_OK);
        assert_true(proven);
        text_equals(why, "");
        truce_value_free(live);
        truce_value_free(git);
}

static void an_apply_with_an_effect_is_not_and_the_place_is_named(void **state) {
        char *changed = strdup(git_yaml), *why = NULL;
        struct truce_value *live = yaml(live_yaml), *git;
        bool proven = true;

        (void)state;
        memcpy(strstr(changed, "web:1.4"), "web:1.5", 7);
        git = yaml(changed);
        assert_int_equal(truce_apply_is_no_op(git, live, NULL, &proven, &why, NULL), TRUCE_OK);
        assert_false(proven);
        assert_true(strstr(why, "image") != NULL);
        truce_free(why);
        truce_value_free(live);
        truce_value_free(git);
        free(changed);
}

static void a_difference_names_place_owner_and_line(void **state) {
        char *changed = strdup(live_yaml), *text;
        struct truce_value *live = yaml(live_yaml), *after, *git = yaml(git_yaml);
        struct truce_diff *d;

        (void)state;
        memcpy(strstr(changed, "web:1.4"), "web:1.5", 7);
        after = yaml(changed);
        assert_int_equal(truce_diff(live, after, git, NULL, "web.yaml", &d, NULL), TRUCE_OK);
        truce_value_free(live);
        truce_value_free(after);
        truce_value_free(git);
        assert_true(truce_diff_differs(d));
        assert_int_equal(truce_diff_count(d), 1);
        text = truce_diff_print(d, TRUCE_DIFF_TEXT);
        assert_true(strstr(text, "deploy/web") && strstr(text, ":11") && strstr(text, "+ web:1.5"));
        truce_free(text);
        text = truce_diff_print(d, TRUCE_DIFF_JSON);
        assert_true(strstr(text, "\"file\":\"web.yaml\"") && strstr(text, "\"manager\":\"truce\""));
        truce_free(text);
        text = truce_diff_print(d, TRUCE_DIFF_MARKDOWN);
        assert_true(strstr(text, "|") != NULL);
        truce_free(text);
        truce_diff_free(d);
        free(changed);
}

static void equal_sides_print_nothing(void **state) {
        struct truce_value *live = yaml(live_yaml);
        struct truce_diff *d;

        (void)state;
        assert_int_equal(truce_diff(live, live, NULL, NULL, NULL, &d, NULL), TRUCE_OK);
        assert_false(truce_diff_differs(d));
        assert_int_equal(truce_diff_count(d), 0);
        text_equals(truce_diff_print(d, TRUCE_DIFF_TEXT), "");
        text_equals(truce_diff_print(d, TRUCE_DIFF_JSON), "[]\n");
        truce_diff_free(d);
        truce_value_free(live);
}

static void a_secret_is_masked(void **state) {
        struct truce_value
                *before = yaml("{apiVersion: v1, kind: Secret, metadata: {name: db}, data: {password: aHVudGVyMg==}}"),
                *after = yaml("{apiVersion: v1, kind: Secret, metadata: {name: db}, data: {password: b3RoZXI=}}");
        struct truce_diff *d;
        char *text;

        (void)state;
        assert_int_equal(truce_diff(before, after, NULL, NULL, NULL, &d, NULL), TRUCE_OK);
        for (int format = TRUCE_DIFF_TEXT; format <= TRUCE_DIFF_JSON; format++) {
                text = truce_diff_print(d, (enum truce_diff_format)format);
                assert_true(strstr(text, "password") != NULL);
                assert_null(strstr(text, "aHVu"));
                assert_null(strstr(text, "b3Ro"));
                truce_free(text);
        }
        truce_diff_free(d);
        truce_value_free(before);
        truce_value_free(after);
}

static void a_diff_of_nothing_is_refused(void **state) {
        struct truce_value *list = yaml("[1]\n");
        struct truce_diff *d;
        char *message = NULL;

        (void)state;
        assert_int_equal(truce_diff(NULL, NULL, NULL, NULL, NULL, &d, &message), TRUCE_INVAL);
        assert_true(strlen(message) > 0);
        truce_free(message);
        assert_int_equal(truce_diff(list, list, NULL, NULL, NULL, &d, NULL), TRUCE_INVAL);
        truce_value_free(list);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_version_is_given),
                cmocka_unit_test(json_and_yaml_of_one_document_are_equal),
                cmocka_unit_test(a_stream_gives_its_documents),
                cmocka_unit_test(bad_text_is_refused_with_a_message),
                cmocka_unit_test(a_pointer_finds_or_says_that_it_did_not),
                cmocka_unit_test(owners_are_found_by_place),
                cmocka_unit_test(a_custom_kind_is_understood_by_its_definition),
                cmocka_unit_test(owners_outlive_the_object),
                cmocka_unit_test(owners_of_what_is_no_object_are_refused),
                cmocka_unit_test(an_apply_without_effect_is_proven),
                cmocka_unit_test(an_apply_with_an_effect_is_not_and_the_place_is_named),
                cmocka_unit_test(a_difference_names_place_owner_and_line),
                cmocka_unit_test(equal_sides_print_nothing),
                cmocka_unit_test(a_secret_is_masked),
                cmocka_unit_test(a_diff_of_nothing_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
