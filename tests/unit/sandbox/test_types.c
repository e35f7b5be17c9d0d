/* SPDX-License-Identifier: Apache-2.0 */
#include "codec_test.h"

#include "sandbox/resources.h"

/* Walks "spec.template.*": fields by name, `*` for items. */
static const struct type *at(const struct type *t, const char *path) {
        struct str rest = str_from(path), part;

        while (t && str_next(&rest, '.', &part)) {
                const struct type_field *f = type_field(t, part);

                t = str_eqc(part, "*") ? t->item : f ? f->type : NULL;
        }
        return t;
}

static const struct type_field *field_at(const struct type *t, const char *path, const char *name) {
        const struct type_field *f = type_field(at(t, path), str_from(name));

        if (!f)
                fail_msg("no %s in %s", name, path);
        return f;
}

/* --- built-in kinds --- */

static void fields_know_their_json(void **state) {
        static const struct {
                const char *api_version, *kind, *path;
                enum type_kind want;
        } rows[] = {
                { "apps/v1", "Deployment", "spec.replicas", TYPE_INT32 },
                { "apps/v1", "Deployment", "spec.strategy.rollingUpdate.maxSurge", TYPE_INT_OR_STRING },
                { "apps/v1", "Deployment", "spec.template.spec.containers.*.resources.limits.*", TYPE_QUANTITY },
                { "v1", "Pod", "metadata.creationTimestamp", TYPE_TIME },
                { "v1", "Secret", "data.*", TYPE_BYTES },
                { "v1", "Service", "spec.selector", TYPE_MAP },
                { "coordination.k8s.io/v1", "Lease", "spec.renewTime", TYPE_MICRO_TIME },
                { "apps/v1", "ControllerRevision", "data", TYPE_ANY },
                { "autoscaling/v1", "Scale", "spec.replicas", TYPE_INT32 },
                { "policy/v1", "Eviction", "deleteOptions.gracePeriodSeconds", TYPE_INT64 },
                { "v1", "DeleteOptions", "preconditions.uid", TYPE_STRING },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct type *t = at(type_of(rows[i].api_version, rows[i].kind), rows[i].path);

                assert_non_null(t);
                assert_int_equal(t->kind, rows[i].want);
        }
}

static void fields_know_their_go_side(void **state) {
        const struct type *d = type_of("apps/v1", "Deployment"), *pod = type_of("v1", "Pod");

        (void)state;
        assert_true(field_at(d, "spec", "replicas")->pointer);
        assert_false(field_at(d, "spec", "minReadySeconds")->pointer);
        assert_true(field_at(d, "spec", "minReadySeconds")->omit_empty);
        assert_false(field_at(d, "spec", "selector")->omit_empty);
        assert_true(field_at(d, "spec", "selector")->required);
        assert_true(field_at(pod, "metadata", "creationTimestamp")->omit_zero);
        assert_true(str_eqc(field_at(pod, "spec.volumes.*", "emptyDir")->embedded, "VolumeSource"));
        assert_true(str_eqc(at(pod, "spec.containers")->go_name, "[]v1.Container"));
        assert_true(str_eqc(at(pod, "spec.containers.*.resources.limits")->go_name, "v1.ResourceList"));
        assert_string_equal(at(d, "spec")->name, "apps.v1.DeploymentSpec");
}

static void fields_know_their_patch_strategy(void **state) {
        const struct type *d = type_of("apps/v1", "Deployment");

        (void)state;
        assert_true(str_eqc(at(d, "spec.template.spec.containers.*.ports")->patch_merge_key, "containerPort"));
        assert_int_equal(at(d, "spec.template.spec.containers")->patch, TYPE_PATCH_MERGE);
        assert_int_equal(at(d, "spec.template.spec.volumes")->patch, TYPE_PATCH_MERGE | TYPE_PATCH_RETAIN_KEYS);
        assert_int_equal(at(d, "spec.strategy")->patch, TYPE_PATCH_RETAIN_KEYS);
        assert_int_equal(at(d, "spec.template.spec.tolerations")->patch, TYPE_PATCH_REPLACE);
        assert_int_equal(at(type_of("policy/v1", "PodDisruptionBudget"), "spec.selector")->patch, TYPE_PATCH_WHOLE);
        assert_int_equal(at(d, "spec.selector")->patch, TYPE_PATCH_REPLACE);
}

static void a_type_may_hold_itself(void **state) {
        const struct type *props = at(type_of("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
                                      "spec.versions.*.schema.openAPIV3Schema");

        (void)state;
        assert_non_null(props);
        assert_ptr_equal(at(props, "properties.*"), at(props, "properties.*.properties.*"));
        assert_ptr_equal(at(props, "items")->item, at(props, "properties.*"));
}

static void what_is_not_in_the_table_has_no_type(void **state) {
        (void)state;
        assert_null(type_table_find(types, STR("v1"), STR("Deployment")));
        assert_null(type_table_find(types, STR("apps/v1"), STR("Nope")));
        assert_null(type_field(type_of("v1", "Pod"), STR("nope")));
        assert_null(type_field(NULL, STR("spec")));
}

/* own/ reads its own table: where it knows a field, both must say the same. */
static void agree(const struct schema *own, const struct schema *ours, unsigned depth) {
        if (depth > 12 || schema_form(own) == SCHEMA_UNKNOWN)
                return;
        assert_int_equal(schema_form(ours), own->form);
        for (size_t i = 0; i < own->field_count; i++)
                agree(own->fields[i].type, schema_field(ours, own->fields[i].name), depth + 1);
        assert_int_equal(own->key_count, ours->key_count);
        for (size_t i = 0; i < own->key_count; i++) {
                assert_true(str_eq(own->keys[i].name, ours->keys[i].name));
                assert_true(value_equal(own->keys[i].fallback, ours->keys[i].fallback));
        }
        if (own->item)
                agree(own->item, ours->item, depth + 1);
}

static void ownership_is_what_own_says(void **state) {
        static const char *const kinds[][2] = {
                { "apps/v1", "Deployment" },
                { "apps/v1", "StatefulSet" },
                { "v1", "Service" },
                { "v1", "Pod" },
                { "batch/v1", "CronJob" },
                { "networking.k8s.io/v1", "Ingress" },
                { "v1", "ServiceAccount" },
                { "v1", "PersistentVolume" },
                { "rbac.authorization.k8s.io/v1", "Role" },
                { "v1", "ConfigMap" },
                { "policy/v1", "PodDisruptionBudget" },
                { "autoscaling/v2", "HorizontalPodAutoscaler" },
                { "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                agree(schema_builtin(a, str_from(kinds[i][0]), str_from(kinds[i][1])),
                      type_of(kinds[i][0], kinds[i][1])->schema, 0);
}

/* --- custom resources --- */

#define CRD(schema)                                                                                                    \
        "{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"versions\":[{\"name\":\"v1\",\"schema\":{"                 \
        "\"openAPIV3Schema\":" schema "}}]}}"

static void a_schema_becomes_a_type(void **state) {
        static const char text[] =
                CRD("{\"type\":\"object\",\"required\":[\"spec\"],\"properties\":{\"spec\":{\"type\":\"object\","
                    "\"properties\":{"
                    "\"n\":{\"type\":\"integer\",\"default\":3},\"p\":{\"x-kubernetes-int-or-string\":true},"
                    "\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"boolean\"}},"
                    "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"nullable\":true}},"
                    "\"any\":{\"x-kubernetes-preserve-unknown-fields\":true},"
                    "\"e\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true}}}}}");
        const struct type *t = NULL;

        (void)state;
        assert_int_equal(type_from_crd(json(text), STR("v1"), types, a, &t, NULL), 0);
        assert_int_equal(at(t, "spec.n")->kind, TYPE_INT64);
        assert_json_equal(field_at(t, "spec", "n")->fallback, "3");
        assert_true(field_at(t, "", "spec")->required);
        assert_int_equal(at(t, "spec.p")->kind, TYPE_INT_OR_STRING);
        assert_int_equal(at(t, "spec.m")->kind, TYPE_MAP);
        assert_int_equal(at(t, "spec.m.*")->kind, TYPE_BOOL);
        assert_true(at(t, "spec.l.*")->nullable);
        assert_int_equal(at(t, "spec.any")->kind, TYPE_ANY);
        assert_string_equal(at(t, "metadata")->name, "meta.v1.ObjectMeta");
        assert_string_equal(at(t, "spec.e.metadata")->name, "meta.v1.ObjectMeta");
        assert_true(str_eqc(value_text(value_getc(at(t, "spec.n")->rules, "type")), "integer"));
        assert_int_equal(at(t, "spec.m")->schema->form, SCHEMA_MAP);
}

static void a_definition_without_a_schema_keeps_everything(void **state) {
        const struct type *t = NULL;

        (void)state;
        assert_int_equal(
                type_from_crd(
                        json("{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"versions\":[{\"name\":\"v1\"}]}}"),
                        STR("v1"), types, a, &t, NULL),
                0);
        assert_json_equal(codec_prune(t, json("{\"spec\":{\"a\":1}}"), a), "{\"spec\":{\"a\":1}}");
}

static void bad_definitions_are_told(void **state) {
        struct err err = { 0 };
        const struct type *t = NULL;

        (void)state;
        assert_int_equal(type_from_crd(json(CRD("{\"type\":\"object\"}")), STR("v2"), types, a, &t, &err),
                         ERR_NOTFOUND);
        assert_int_equal(type_from_crd(json("{\"kind\":\"Pod\"}"), STR("v1"), types, a, &t, &err), ERR_INVAL);
        assert_null(t);
}

/* A schema of objects in objects; the root counts as 0. */
static int read_deep(unsigned levels, struct err *err) {
        static const char open[] =
                "{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"versions\":[{\"name\":\"v1\",\"schema\":"
                "{\"openAPIV3Schema\":null}}]}}";
        static const struct str path[] = { { "schema", 6 }, { "openAPIV3Schema", 15 } };
        const struct value *node = json("{\"type\":\"object\"}"), *crd = json(open), *version;
        const struct type *t = NULL;
        struct value_list_builder b = { 0 };

        for (unsigned i = 0; i < levels; i++)
                node = value_with(a, json("{\"type\":\"object\"}"), STR("properties"),
                                  value_with(a, NULL, STR("a"), node));
        version = value_path(crd, "spec", "versions", NULL)->list.items[0];
        value_list_add(&b, value_with_path(a, version, path, 2, node));
        crd = value_with(a, crd, STR("spec"), value_with(a, NULL, STR("versions"), value_list_end(&b, a, 0)));
        return type_from_crd(crd, STR("v1"), types, a, &t, err);
}

static void schemas_may_be_256_deep(void **state) {
        struct err err = { 0 };

        (void)state;
        assert_int_equal(read_deep(JSON_MAX_DEPTH, &err), 0);
        assert_int_equal(read_deep(JSON_MAX_DEPTH + 1, &err), ERR_LIMIT);
}

/* --- resources --- */

static void resources_are_found(void **state) {
        struct resource_table *t = resource_table_new();
        const struct resource *r = resource_find(t, STR("apps"), STR("v1"), STR("deployments"));

        (void)state;
        assert_non_null(r);
        assert_true(str_eqc(r->kind, "Deployment") && str_eqc(r->list_kind, "DeploymentList"));
        assert_true(str_eqc(r->singular, "deployment") && str_eqc(r->short_names, "deploy"));
        assert_true(r->namespaced && r->has_scale && r->has_status);
        assert_int_equal(r->verbs, 255);
        assert_true(str_eqc(resource_sub_find(r, STR("scale"))->group, "autoscaling"));
        assert_true(str_eqc(resource_sub_find(r, STR("scale"))->kind, "Scale"));
        assert_int_equal(resource_sub_find(r, STR("status"))->verbs, RESOURCE_GET | RESOURCE_PATCH | RESOURCE_UPDATE);
        assert_null(resource_sub_find(r, STR("log")));
        assert_ptr_equal(resource_of_kind(t, STR("apps"), STR("v1"), STR("Deployment")), r);
        assert_null(resource_find(t, STR(""), STR("v1"), STR("deployments")));
        assert_false(resource_find(t, STR(""), STR("v1"), STR("nodes"))->namespaced);
        resource_table_free(t);
}

static void every_resource_has_a_type(void **state) {
        struct resource_table *t = resource_table_new();
        size_t typed = 0;

        (void)state;
        for (size_t i = 0; i < t->count; i++) {
                const struct resource *r = &t->rows[i];
                struct str api_version =
                        r->group.n ? arena_strf(a, "%.*s/%.*s", STR_FMT(r->group), STR_FMT(r->version)) : r->version;

                assert_non_null(type_table_find(types, api_version, r->kind));
                typed++;
        }
        assert_true(typed > 50);
        resource_table_free(t);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                codec_test(fields_know_their_json),
                codec_test(fields_know_their_go_side),
                codec_test(fields_know_their_patch_strategy),
                codec_test(a_type_may_hold_itself),
                codec_test(what_is_not_in_the_table_has_no_type),
                codec_test(ownership_is_what_own_says),
                codec_test(a_schema_becomes_a_type),
                codec_test(a_definition_without_a_schema_keeps_everything),
                codec_test(bad_definitions_are_told),
                codec_test(schemas_may_be_256_deep),
                codec_test(resources_are_found),
                codec_test(every_resource_has_a_type),
        };

        return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
