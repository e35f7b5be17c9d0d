/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "arena_test.h"

/* Walks "spec.template.*": fields by name, `*` for a list's item. */
static const struct schema *at(const struct schema *s, const char *path) {
        struct str rest = str_from(path), part;

        while (str_next(&rest, '.', &part))
                s = str_eqc(part, "*") ? schema_item(s) : schema_field(s, part);
        return s;
}

static void built_in_kinds_know_their_lists_and_maps(void **state) {
        static const struct {
                const char *api_version, *kind, *path;
                enum schema_form form;
        } rows[] = {
                { "apps/v1", "Deployment", "spec", SCHEMA_STRUCT },
                { "apps/v1", "Deployment", "spec.selector", SCHEMA_ATOMIC },
                { "apps/v1", "Deployment", "spec.strategy", SCHEMA_STRUCT },
                { "apps/v1", "Deployment", "spec.strategy.rollingUpdate", SCHEMA_STRUCT },
                { "apps/v1", "Deployment", "spec.template.spec.containers", SCHEMA_LIST_MAP },
                { "apps/v1", "Deployment", "spec.template.spec.containers.*.args", SCHEMA_ATOMIC },
                { "apps/v1", "Deployment", "spec.template.spec.containers.*.env", SCHEMA_LIST_MAP },
                { "apps/v1", "Deployment", "spec.template.spec.containers.*.resources.limits", SCHEMA_MAP },
                { "apps/v1", "Deployment", "spec.template.spec.tolerations", SCHEMA_ATOMIC },
                { "apps/v1", "Deployment", "spec.template.spec.nodeSelector", SCHEMA_ATOMIC },
                { "apps/v1", "Deployment", "spec.replicas", SCHEMA_UNKNOWN },
                { "apps/v1", "Deployment", "metadata.finalizers", SCHEMA_LIST_SET },
                { "apps/v1", "Deployment", "metadata.labels", SCHEMA_MAP },
                { "apps/v1", "Deployment", "status", SCHEMA_UNKNOWN },
                { "v1", "Service", "spec.ports", SCHEMA_LIST_MAP },
                { "v1", "Service", "spec.selector", SCHEMA_ATOMIC },
                { "v1", "ConfigMap", "data", SCHEMA_MAP },
                { "rbac.authorization.k8s.io/v1", "Role", "rules", SCHEMA_ATOMIC },
                { "autoscaling/v2", "HorizontalPodAutoscaler", "spec.metrics", SCHEMA_ATOMIC },
                { "made.up/v1", "Thing", "metadata.annotations", SCHEMA_MAP },
                { "made.up/v1", "Thing", "spec", SCHEMA_UNKNOWN },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct schema *s = schema_builtin(a, str_from(rows[i].api_version), str_from(rows[i].kind));

                if (schema_form(at(s, rows[i].path)) != rows[i].form)
                        fail_msg("%s %s is %d", rows[i].kind, rows[i].path, schema_form(at(s, rows[i].path)));
        }
        assert_true(schema_is_builtin(STR("batch/v1"), STR("CronJob")));
        assert_false(schema_is_builtin(STR("batch/v1"), STR("Deployment")));
}

static void list_keys_carry_their_defaults(void **state) {
        const struct schema *s = schema_builtin(a, STR("v1"), STR("Service"));
        const struct schema *ports = at(s, "spec.ports");

        (void)state;
        assert_int_equal(ports->key_count, 2);
        assert_text(ports->keys[0].name, "port");
        assert_text(ports->keys[1].name, "protocol");
        assert_text(value_text(ports->keys[1].fallback), "TCP");
}

static const struct value *crd(const char *schema) {
        struct str text =
                arena_strf(a,
                           "{'kind':'CustomResourceDefinition','spec':{'group':'g','versions':[{'name':'v1'},{'name':"
                           "'v2','schema':{'openAPIV3Schema':%s}}]}}",
                           schema);

        return json(a, text.p);
}

static const struct schema *learnt(const char *schema) {
        const struct schema *s = NULL;

        assert_int_equal(schema_from_crd(crd(schema), STR("v2"), a, &s, NULL), 0);
        return s;
}

static void a_crd_teaches_its_markers(void **state) {
        const struct schema *s = learnt(
                "{'type':'object','properties':{'metadata':{'type':'object'},'spec':{'type':'object','properties':{"
                "'n':{'type':'integer'},'io':{'x-kubernetes-int-or-string':true},'any':{},"
                "'set':{'type':'array','x-kubernetes-list-type':'set','items':{'type':'string'}},"
                "'oddset':{'type':'array','x-kubernetes-list-type':'set','items':{'type':'object'}},"
                "'list':{'type':'array','items':{'type':'string'}},"
                "'one':{'type':'object','x-kubernetes-map-type':'atomic','properties':{'a':{'type':'string'}}},"
                "'map':{'type':'object','additionalProperties':{'type':'object','properties':{'a':{'type':'string'}}}},"
                "'bare':{'type':'object'},'yes':{'type':'object','additionalProperties':true},"
                "'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true,'properties':{'k':{'type':'object'"
                ","
                "'properties':{'x':{'type':'string'}}}}},"
                "'ports':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['proto','port'],'"
                "items':{"
                "'type':'object','properties':{'port':{'type':'integer'},'proto':{'type':'string','default':'TCP'}}}}}}"
                "}}");

        (void)state;
        assert_int_equal(schema_form(at(s, "spec.n")), SCHEMA_SCALAR);
        assert_int_equal(schema_form(at(s, "spec.io")), SCHEMA_SCALAR);
        assert_int_equal(schema_form(at(s, "spec.any")), SCHEMA_DEDUCED);
        assert_int_equal(schema_form(at(s, "spec.set")), SCHEMA_LIST_SET);
        assert_int_equal(schema_form(at(s, "spec.oddset")), SCHEMA_UNKNOWN);
        assert_int_equal(schema_form(at(s, "spec.list")), SCHEMA_ATOMIC);
        assert_int_equal(schema_form(at(s, "spec.one")), SCHEMA_ATOMIC);
        assert_int_equal(schema_form(at(s, "spec.map")), SCHEMA_MAP);
        assert_int_equal(schema_form(at(s, "spec.map.anything")), SCHEMA_STRUCT);
        assert_int_equal(schema_form(at(s, "spec.bare.x")), SCHEMA_DEDUCED);
        assert_int_equal(schema_form(at(s, "spec.yes.x.y")), SCHEMA_DEDUCED);
        assert_int_equal(schema_form(at(s, "spec.undeclared")), SCHEMA_UNKNOWN);
        assert_int_equal(schema_form(at(s, "spec.free.k")), SCHEMA_STRUCT);
        assert_int_equal(schema_form(at(s, "spec.free.other")), SCHEMA_DEDUCED);
        /* Preserving goes on below. */
        assert_int_equal(schema_form(at(s, "spec.free.k.other")), SCHEMA_DEDUCED);
        assert_int_equal(schema_form(at(s, "metadata.labels")), SCHEMA_MAP);
        assert_true(schema_declares(at(s, "spec"), STR("n")));
        assert_false(schema_declares(at(s, "spec"), STR("m")));

        const struct schema *ports = at(s, "spec.ports");
        assert_int_equal(ports->key_count, 2);
        assert_text(ports->keys[0].name, "port");
        assert_null(ports->keys[0].fallback);
        assert_text(value_text(ports->keys[1].fallback), "TCP");
}

static void an_embedded_object_has_metadata_of_its_own(void **state) {
        const struct schema *s =
                learnt("{'type':'object','properties':{'e':{'type':'object','x-kubernetes-embedded-resource':"
                       "true,'x-kubernetes-preserve-unknown-fields':true}}}");

        (void)state;
        assert_int_equal(schema_form(at(s, "e.metadata.finalizers")), SCHEMA_LIST_SET);
        assert_int_equal(schema_form(at(s, "e.spec")), SCHEMA_DEDUCED);
        assert_int_equal(schema_form(at(s, "e.kind")), SCHEMA_SCALAR);
}

static void a_crd_without_schema_is_free_form(void **state) {
        const struct schema *s = NULL;

        (void)state;
        assert_int_equal(schema_from_crd(crd("{}"), STR("v1"), a, &s, NULL), 0);
        assert_int_equal(schema_form(at(s, "spec.x")), SCHEMA_DEDUCED);
        assert_int_equal(schema_form(at(s, "metadata.labels")), SCHEMA_MAP);
}

static void what_is_no_crd_is_refused(void **state) {
        const struct schema *s;

        (void)state;
        assert_int_equal(schema_from_crd(json(a, "{'kind':'ConfigMap'}"), STR("v1"), a, &s, NULL), ERR_INVAL);
        assert_int_equal(schema_from_crd(NULL, STR("v1"), a, &s, NULL), ERR_INVAL);
        assert_int_equal(schema_from_crd(crd("{}"), STR("v9"), a, &s, NULL), ERR_NOTFOUND);
}

static void too_many_keys_or_levels_are_refused(void **state) {
        const struct value *v = json(a, "{'type':'string'}");
        struct str object = STR("object");
        const struct schema *s;

        (void)state;
        assert_int_equal(
                schema_from_crd(crd("{'type':'object','properties':{'l':{'type':'array','x-kubernetes-list-type':'map',"
                                    "'x-kubernetes-list-map-keys':['1','2','3','4','5','6','7','8','9'],'items':{}}}}"),
                                STR("v2"), a, &s, NULL),
                ERR_LIMIT);
        /* Built, not parsed: the JSON parser has the same cap. */
        for (int i = 0; i < JSON_MAX_DEPTH + 1; i++) {
                struct str keys[] = { STR("properties"), STR("x") };

                v = value_with(a, value_with_path(a, NULL, keys, 2, v), STR("type"), value_string(a, object, 0));
        }
        const struct value *versions = json(a, "[{'name':'v2'}]");
        struct str to_schema[] = { STR("schema"), STR("openAPIV3Schema") },
                   to_versions[] = { STR("spec"), STR("versions") };
        struct value_list_builder b = { 0 };

        value_list_add(&b, value_with_path(a, versions->list.items[0], to_schema, 2, v));
        v = value_with_path(a, json(a, "{'kind':'CustomResourceDefinition'}"), to_versions, 2,
                            value_list_end(&b, a, 0));
        assert_int_equal(schema_from_crd(v, STR("v2"), a, &s, NULL), ERR_LIMIT);
}

static void atomic_and_granular_are_told_only_when_known(void **state) {
        const struct value *map = json(a, "{'a':1}"), *list = json(a, "[1]");
        const struct schema *deduced = at(learnt("{'type':'object','properties':{'any':{}}}"), "any");

        (void)state;
        assert_false(schema_is_atomic(NULL, map) || schema_is_granular(NULL, map));
        assert_true(schema_is_granular(deduced, map) && schema_is_atomic(deduced, list));
        assert_false(schema_is_atomic(deduced, map) || schema_is_granular(deduced, list));
}

static void api_versions_are_split(void **state) {
        (void)state;
        assert_text(schema_group(STR("apps/v1")), "apps");
        assert_text(schema_version(STR("apps/v1")), "v1");
        assert_text(schema_group(STR("v1")), "");
        assert_text(schema_version(STR("v1")), "v1");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(built_in_kinds_know_their_lists_and_maps),
                cmocka_unit_test(list_keys_carry_their_defaults),
                cmocka_unit_test(a_crd_teaches_its_markers),
                cmocka_unit_test(an_embedded_object_has_metadata_of_its_own),
                cmocka_unit_test(a_crd_without_schema_is_free_form),
                cmocka_unit_test(what_is_no_crd_is_refused),
                cmocka_unit_test(too_many_keys_or_levels_are_refused),
                cmocka_unit_test(atomic_and_granular_are_told_only_when_known),
                cmocka_unit_test(api_versions_are_split),
        };

        return cmocka_run_group_tests_name("schema", tests, setup, teardown);
}
