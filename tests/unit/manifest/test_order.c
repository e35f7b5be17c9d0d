/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define O(g, k, s, n) { .group = { g, sizeof(g) - 1 }, .kind = { k, sizeof(k) - 1 }, .ns = { s, sizeof(s) - 1 },           \
                        .name = { n, sizeof(n) - 1 } }

/* In apply order. */
static const struct manifest_object applied[] = {
        O("", "Namespace", "", "a"),
        O("", "Namespace", "", "b"),
        O("apiextensions.k8s.io", "CustomResourceDefinition", "", "x"),
        O("", "ServiceAccount", "n", "x"),
        O("", "Secret", "n", "x"),
        O("", "ConfigMap", "m", "z"),
        O("", "ConfigMap", "n", "a"),
        O("", "ConfigMap", "n", "b"),
        O("", "PersistentVolumeClaim", "n", "x"),
        O("rbac.authorization.k8s.io", "ClusterRole", "", "x"),
        O("rbac.authorization.k8s.io", "RoleBinding", "n", "x"),
        O("", "Service", "n", "x"),
        O("apps", "Deployment", "n", "x"),
        O("autoscaling", "HorizontalPodAutoscaler", "n", "x"),
        O("apps", "StatefulSet", "n", "x"),
        O("networking.k8s.io", "Ingress", "n", "x"),
        O("flowcontrol.apiserver.k8s.io", "FlowSchema", "", "x"),
        O("example.com", "Deployment", "n", "x"),
        O("gateway.networking.k8s.io", "Gateway", "n", "x"),
        O("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "", "x"),
};

static void sort_reversed(struct manifest_object *all, int (*cmp)(const void *, const void *)) {
        size_t n = ARRAY_LEN(applied);

        for (size_t i = 0; i < n; i++)
                all[i] = applied[n - 1 - i];
        qsort(all, n, sizeof(*all), cmp);
}

static void objects_are_applied_in_the_order_in_which_they_need_each_other(void **state) {
        struct manifest_object all[ARRAY_LEN(applied)];

        (void)state;
        sort_reversed(all, manifest_apply_cmp);
        for (size_t i = 0; i < ARRAY_LEN(applied); i++) {
                assert_true(str_eq(all[i].kind, applied[i].kind));
                assert_true(str_eq(all[i].group, applied[i].group));
                assert_true(str_eq(all[i].name, applied[i].name));
        }
        assert_int_equal(manifest_apply_rank(STR(""), STR("Namespace")), 0);
}

static void custom_resources_go_first_and_namespaces_last(void **state) {
        struct manifest_object all[ARRAY_LEN(applied)];
        size_t n = ARRAY_LEN(applied);

        (void)state;
        sort_reversed(all, manifest_prune_cmp);
        assert_true(str_eqc(all[0].group, "example.com"));
        assert_true(str_eqc(all[1].group, "gateway.networking.k8s.io"));
        assert_true(str_eqc(all[2].kind, "MutatingWebhookConfiguration"));
        assert_true(str_eqc(all[3].kind, "FlowSchema"));
        assert_true(str_eqc(all[n - 3].kind, "CustomResourceDefinition"));
        assert_true(str_eqc(all[n - 2].kind, "Namespace"));
        assert_true(str_eqc(all[n - 1].kind, "Namespace"));
}

static void workloads_go_before_what_they_use(void **state) {
        static const char *const used[] = { "ServiceAccount", "Secret", "ConfigMap", "PersistentVolumeClaim", "Service" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(used); i++)
                assert_true(manifest_prune_rank(STR("apps"), STR("Deployment")) <
                            manifest_prune_rank(STR(""), str_from(used[i])));
}

static void groups_of_add_ons_are_custom(void **state) {
        static const char *const builtin[] = { "", "apps", "batch", "networking.k8s.io", "apiextensions.k8s.io" };
        static const char *const custom[] = { "example.com", "gateway.networking.k8s.io", "metrics.k8s.io",
                                              "leaderworkerset.x-k8s.io", "snapshot.storage.k8s.io", "App" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(builtin); i++)
                assert_true(manifest_group_is_builtin(str_from(builtin[i])));
        for (size_t i = 0; i < ARRAY_LEN(custom); i++)
                assert_false(manifest_group_is_builtin(str_from(custom[i])));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(objects_are_applied_in_the_order_in_which_they_need_each_other),
                cmocka_unit_test(custom_resources_go_first_and_namespaces_last),
                cmocka_unit_test(workloads_go_before_what_they_use),
                cmocka_unit_test(groups_of_add_ons_are_custom),
        };

        return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
