/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/bind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct tracking us = { STR("east"), STR("shop"), STR("front") };

/* What the tests' server serves. */
struct served {
        bool widgets;
};

static enum manifest_scope scope(void *ctx, struct str group, struct str version, struct str kind) {
        static const char *const namespaced[] = { "ConfigMap", "Deployment", "Secret", "RoleBinding" };
        static const char *const cluster[] = { "Namespace", "ClusterRole", "ClusterRoleBinding",
                                               "CustomResourceDefinition" };
        const struct served *s = ctx;

        assert_true(version.n > 0);
        if (str_eqc(group, "example.com"))
                return s->widgets ? MANIFEST_SCOPE_NAMESPACED : MANIFEST_SCOPE_UNKNOWN;
        for (size_t i = 0; i < ARRAY_LEN(namespaced); i++)
                if (str_eqc(kind, namespaced[i]))
                        return MANIFEST_SCOPE_NAMESPACED;
        for (size_t i = 0; i < ARRAY_LEN(cluster); i++)
                if (str_eqc(kind, cluster[i]))
                        return MANIFEST_SCOPE_CLUSTER;
        return MANIFEST_SCOPE_UNKNOWN;
}

struct fixture {
        struct served served;
        struct manifest_binding binding;
        struct manifest_protection protection;
        struct manifest_set *set;
        struct manifest_bound *bound;
        struct arena *a;
        struct err err;
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof(*f));

        f->a = arena_new(0);
        f->binding = (struct manifest_binding){ .default_namespace = STR("front"), .tracking = &us,
                                                .protection = &f->protection, .scope = scope, .ctx = &f->served };
        *state = f;
        return 0;
}

static void drop(struct fixture *f) {
        manifest_bound_free(f->bound);
        manifest_set_free(f->set);
        f->bound = NULL;
        f->set = NULL;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        drop(f);
        arena_free(f->a);
        free(f);
        return 0;
}

static void bind_text(struct fixture *f, const char *text) {
        struct manifest_file file = { STR("all.yaml"), str_from(text) };
        struct manifest_source source = { .default_namespace = f->binding.default_namespace };

        drop(f);
        assert_int_equal(manifest_render_files(&file, 1, &source, &f->set, &f->err), 0);
        f->bound = manifest_bind(f->set, &f->binding);
}

#define CONFIGMAP(meta) "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {" meta "}\n"
#define WIDGET "---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: gear}\n"
#define CRD "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n" \
        "spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets}}\n"

static void a_namespaced_object_gets_the_default_namespace(void **state) {
        struct fixture *f = *state;

        bind_text(f, CONFIGMAP("name: a") CONFIGMAP("name: b, namespace: other"));
        assert_int_equal(f->bound->object_count, 2);
        assert_string_equal(f->bound->objects[0].id.p, "/ConfigMap/front/a");
        assert_string_equal(f->bound->objects[0].canonical.p,
                            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{\"argocd."
                            "argoproj.io/tracking-id\":\"shop:/ConfigMap:front/a\"},\"labels\":{\"truce.dev/"
                            "installation\":\"east\"},\"name\":\"a\",\"namespace\":\"front\"}}");
        assert_string_equal(f->bound->objects[1].id.p, "/ConfigMap/other/b");
        assert_true(f->bound->objects[0].bound && f->bound->objects[0].namespaced);
}

static void a_cluster_scoped_object_loses_its_namespace_with_a_warning(void **state) {
        struct fixture *f = *state;

        bind_text(f, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  namespace: stray\n---\napiVersion: v1\n"
                     "kind: Namespace\nmetadata: {name: b, namespace: ''}\n");
        assert_int_equal(f->bound->object_count, 2);
        assert_string_equal(f->bound->objects[0].id.p, "/Namespace//a");
        assert_null(value_path(f->bound->objects[0].value, "metadata", "namespace", NULL));
        assert_null(value_path(f->bound->objects[1].value, "metadata", "namespace", NULL));
        assert_int_equal(f->bound->warning_count, 1);
        assert_int_equal(f->bound->warnings[0].line, 5);
        assert_non_null(strstr(f->bound->objects[0].canonical.p, "shop:/Namespace:front/a"));
}

static void a_namespaced_object_without_any_namespace_is_refused(void **state) {
        struct fixture *f = *state;

        f->binding.default_namespace = STR("");
        bind_text(f, CONFIGMAP("name: a") CONFIGMAP("name: b, namespace: x"));
        assert_int_equal(f->bound->object_count, 1);
        assert_int_equal(f->bound->refused_count, 1);
        assert_int_equal(f->bound->error_count, 1);
        assert_int_equal(f->bound->errors[0].code, ERR_INVAL);
}

static void an_unknown_kind_is_parked_and_the_rest_goes_on(void **state) {
        struct fixture *f = *state;

        bind_text(f, WIDGET CONFIGMAP("name: a"));
        assert_int_equal(f->bound->object_count, 1);
        assert_int_equal(f->bound->parked_count, 1);
        assert_false(f->bound->parked[0].bound);
        assert_int_equal(f->bound->parked[0].id.n, 0);
        f->served.widgets = true;
        bind_text(f, WIDGET CONFIGMAP("name: a"));
        assert_int_equal(f->bound->object_count, 2);
        assert_int_equal(f->bound->parked_count, 0);
}

static void a_parked_object_whose_crd_is_in_git_has_its_id_already(void **state) {
        struct fixture *f = *state;

        bind_text(f, WIDGET CRD);
        assert_int_equal(f->bound->object_count, 1);
        assert_int_equal(f->bound->parked_count, 1);
        assert_true(f->bound->parked[0].bound);
        assert_string_equal(f->bound->parked[0].id.p, "example.com/Widget/front/gear");
}

static void duplicates_that_show_only_now_are_refused_with_both_places(void **state) {
        struct fixture *f = *state;

        bind_text(f, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: x}\n---\napiVersion: v1\n"
                     "kind: Namespace\nmetadata: {name: a}\n" CONFIGMAP("name: c"));
        assert_int_equal(f->set->object_count, 3);
        assert_int_equal(f->bound->object_count, 1);
        assert_int_equal(f->bound->refused_count, 1);
        assert_string_equal(f->bound->refused[0].id.p, "/Namespace//a");
        assert_int_equal(f->bound->error_count, 1);
        assert_int_equal(f->bound->errors[0].line, 5);
        assert_string_equal(f->bound->errors[0].message.p, "defined twice, first at all.yaml:1; neither is applied");
}

static void what_was_refused_before_keeps_its_key(void **state) {
        struct fixture *f = *state;

        bind_text(f, CONFIGMAP("name: a, labels: 5") WIDGET "  labels: 5\n");
        bind_text(f, CONFIGMAP("name: a, labels: 5"));
        assert_int_equal(f->bound->object_count, 0);
        assert_int_equal(f->bound->refused_count, 1);
        assert_string_equal(f->bound->refused[0].id.p, "/ConfigMap/front/a");
        assert_int_equal(f->bound->error_count, 0);
}

static void binding_twice_gives_the_same(void **state) {
        struct fixture *f = *state;
        struct manifest_object again;

        bind_text(f, CONFIGMAP("name: a"));
        assert_int_equal(manifest_bind_scope(&f->bound->objects[0], true, &f->binding, f->a, &again, NULL, NULL), 0);
        assert_true(str_eq(again.canonical, f->bound->objects[0].canonical));
        assert_true(str_eq(again.id, f->bound->objects[0].id));
}

static void without_tracking_nothing_is_marked(void **state) {
        struct fixture *f = *state;

        f->binding.tracking = NULL;
        f->binding.protection = NULL;
        bind_text(f, CONFIGMAP("name: a"));
        assert_string_equal(f->bound->objects[0].canonical.p, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                                              "\"name\":\"a\",\"namespace\":\"front\"}}");
}

static void protected_objects_are_refused_and_still_desired(void **state) {
        struct fixture *f = *state;

        f->protection = (struct manifest_protection){ .own_namespace = STR("truce"), .whole_namespace = true };
        bind_text(f, CONFIGMAP("name: a, namespace: truce") CONFIGMAP("name: b"));
        assert_int_equal(f->bound->object_count, 1);
        assert_int_equal(f->bound->refused_count, 1);
        assert_int_equal(f->bound->errors[0].code, ERR_DENIED);
        assert_string_equal(f->bound->refused[0].id.p, "/ConfigMap/truce/a");
}

/* Own objects. */

static const struct {
        const char *text;
        bool denied;
} owned[] = {
        { "apiVersion: v1\nkind: Namespace\nmetadata: {name: truce}\n", true },
        { "apiVersion: v1\nkind: Namespace\nmetadata: {name: truce2}\n", false },
        { CONFIGMAP("name: x, namespace: truce"), true },
        { CONFIGMAP("name: truce"), false },
        { "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: truce-agent}\n", true },
        { "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: other}\n", false },
        { "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: x}\nsubjects:\n"
          "- {kind: ServiceAccount, name: any, namespace: truce}\n", true },
        { "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: x}\nsubjects:\n"
          "- {kind: Group, name: people}\n- {kind: User, name: 'system:serviceaccount:truce:any'}\n", true },
        { "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: x}\nsubjects:\n"
          "- {kind: User, name: 'system:serviceaccount:other:truce'}\n- {kind: ServiceAccount, name: truce}\n", false },
        { "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: x}\nsubjects: nobody\n", false },
};

static void truces_own_objects_are_out_of_reach(void **state) {
        static const struct manifest_rule own[] = {
                { STR("rbac.authorization.k8s.io"), STR("ClusterRole*"), STR(""), STR("truce-*") },
        };
        struct fixture *f = *state;

        f->protection = (struct manifest_protection){ .own_namespace = STR("truce"), .whole_namespace = true,
                                                      .own = { own, 1 } };
        for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
                bind_text(f, owned[i].text);
                if (f->bound->refused_count != owned[i].denied || f->bound->object_count == owned[i].denied)
                        fail_msg("case %zu", i);
        }
        f->protection.allow_own = true;
        for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
                bind_text(f, owned[i].text);
                assert_int_equal(f->bound->object_count, 1);
        }
}

static void a_shared_namespace_protects_only_what_is_named(void **state) {
        static const struct manifest_rule own[] = {
                { STR(""), STR("ServiceAccount"), STR("default"), STR("truce") },
                { STR(""), STR("ConfigMap"), STR("default"), STR("truce-inventory-*") },
        };
        struct fixture *f = *state;

        f->protection = (struct manifest_protection){ .own_namespace = STR("default"), .own = { own, 2 } };
        bind_text(f, CONFIGMAP("name: mine, namespace: default") CONFIGMAP("name: truce-inventory-1, namespace: default")
                  "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: x}\nsubjects:\n"
                  "- {kind: ServiceAccount, name: truce, namespace: default}\n"
                  "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: z}\nsubjects:\n"
                  "- {kind: ServiceAccount, name: mine, namespace: default}\n"
                  "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n");
        assert_int_equal(f->bound->object_count, 2);
        assert_int_equal(f->bound->refused_count, 3);
}

static void a_projects_lists_decide_by_scope(void **state) {
        static const struct manifest_rule namespaces[] = { { STR(""), STR("Namespace"), STR(""), STR("") } };
        static const struct manifest_rule any[] = { { STR("*"), STR("*"), STR(""), STR("") } };
        static const struct manifest_rule secrets[] = { { STR(""), STR("Secret"), STR(""), STR("") } };
        static const struct manifest_rule front[] = { { STR(""), STR(""), STR("fr*"), STR("") } };
        static const char text[] = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: "
                                   "rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\n"
                                   "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" CONFIGMAP("name: a")
                                   CONFIGMAP("name: b, namespace: elsewhere");
        struct fixture *f = *state;

        f->protection = (struct manifest_protection){ .cluster_allow = { namespaces, 1 }, .namespaced_allow = { any, 1 },
                                                      .namespaced_deny = { secrets, 1 }, .destinations = { front, 1 } };
        bind_text(f, text);
        assert_int_equal(f->bound->object_count, 2);
        assert_string_equal(f->bound->objects[0].id.p, "/Namespace//a");
        assert_string_equal(f->bound->objects[1].id.p, "/ConfigMap/front/a");
        f->protection = (struct manifest_protection){ .cluster_allow = { namespaces, 0 }, .namespaced_allow = { any, 0 } };
        bind_text(f, text);
        assert_int_equal(f->bound->object_count, 0);
        f->protection = (struct manifest_protection){ 0 };
        bind_text(f, text);
        assert_int_equal(f->bound->object_count, 5);
}

static int no_marks(const struct value *object, const char **ret_annotation, struct err *err) {
        *ret_annotation = "mark";
        return value_path(object, "metadata", "annotations", "mark", NULL) ? err_set(err, ERR_INVAL, "no marks") : 0;
}

static void an_object_whose_annotation_cannot_be_read_is_refused_with_its_line(void **state) {
        struct fixture *f = *state;

        f->binding.check = no_marks;
        bind_text(f, CONFIGMAP("name: a") "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  annotations:\n"
                     "    other: x\n    mark: bad\n");
        assert_int_equal(f->bound->object_count, 1);
        assert_int_equal(f->bound->refused_count, 1);
        assert_true(f->bound->refused[0].bound);
        assert_int_equal(f->bound->error_count, 1);
        assert_int_equal(f->bound->errors[0].line, 12);
        assert_string_equal(f->bound->errors[0].message.p, "no marks");
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(a_namespaced_object_gets_the_default_namespace),
                T(an_object_whose_annotation_cannot_be_read_is_refused_with_its_line),
                T(a_cluster_scoped_object_loses_its_namespace_with_a_warning),
                T(a_namespaced_object_without_any_namespace_is_refused),
                T(an_unknown_kind_is_parked_and_the_rest_goes_on),
                T(a_parked_object_whose_crd_is_in_git_has_its_id_already),
                T(duplicates_that_show_only_now_are_refused_with_both_places),
                T(what_was_refused_before_keeps_its_key),
                T(binding_twice_gives_the_same),
                T(without_tracking_nothing_is_marked),
                T(protected_objects_are_refused_and_still_desired),
                T(truces_own_objects_are_out_of_reach),
                T(a_shared_namespace_protects_only_what_is_named),
                T(a_projects_lists_decide_by_scope),
        };

        return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
