/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/tracking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/yaml.h"

static const struct tracking us = { STR("east"), STR("shop"), STR("front") };

static int setup(void **state) {
        *state = arena_new(0);
        return 0;
}

static int teardown(void **state) {
        arena_free(*state);
        return 0;
}

static const struct value *yaml(struct arena *a, const char *text) {
        const struct yaml_document *docs;
        size_t count;

        assert_int_equal(yaml_parse(str_from(text), a, &docs, &count, NULL), 0);
        return docs[0].value;
}

/* A Deployment shop/web with these labels and annotations. */
static const struct value *deployment(struct arena *a, const char *labels, const char *annotations) {
        return yaml(a, arena_strf(a, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: "
                                     "{%s}, annotations: {%s}}}", labels, annotations).p);
}

#define ID "argocd.argoproj.io/tracking-id: "

static const struct {
        const char *labels, *annotations;
        enum tracker_kind kind;
        const char *owner;
} cases[] = {
        { "", "", TRACKER_NONE, "" },
        { "app.kubernetes.io/instance: shop, app.kubernetes.io/managed-by: Helm", "", TRACKER_NONE, "" },
        { "truce.dev/installation: east", ID "'shop:apps/Deployment:shop/web'", TRACKER_OURS, "" },
        { "truce.dev/installation: east", ID "'cart:apps/Deployment:shop/web'", TRACKER_OUR_OTHER_APP,
          "application \"cart\"" },
        { "truce.dev/installation: west", ID "'shop:apps/Deployment:shop/web'", TRACKER_OTHER_INSTALLATION,
          "application \"shop\" of truce installation \"west\"" },
        { "truce.dev/installation: west", "", TRACKER_OTHER_INSTALLATION, "truce installation \"west\"" },
        { "", ID "'shop:apps/Deployment:shop/web'", TRACKER_ARGOCD, "Argo CD application \"shop\"" },
        { "", ID "'cart:apps/Deployment:shop/web', argocd.argoproj.io/installation-id: two", TRACKER_ARGOCD,
          "Argo CD application \"cart\" of installation \"two\"" },
        { "argocd.argoproj.io/instance: cart", "", TRACKER_ARGOCD, "Argo CD application \"cart\"" },
        /* Copied marks mean nothing. */
        { "truce.dev/installation: east", "", TRACKER_NONE, "" },
        { "truce.dev/installation: east", ID "'shop:apps/Deployment:shop/other'", TRACKER_NONE, "" },
        { "", ID "'shop:apps/Deployment:elsewhere/web'", TRACKER_NONE, "" },
        { "", ID "'shop:apps/StatefulSet:shop/web'", TRACKER_NONE, "" },
        { "", ID "'shop:extensions/Deployment:shop/web'", TRACKER_NONE, "" },
        { "", ID "'nonsense'", TRACKER_NONE, "" },
        /* Others. */
        { "kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system", "",
          TRACKER_OTHER_TOOL, "Flux Kustomization \"flux-system/apps\"" },
        { "helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: shop", "", TRACKER_OTHER_TOOL,
          "Flux HelmRelease \"shop/web\"" },
        { "", "meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop", TRACKER_OTHER_TOOL,
          "Helm release \"shop/web\"" },
        { "kapp.k14s.io/app: '123'", "", TRACKER_OTHER_TOOL, "kapp application \"123\"" },
        { "", "configmanagement.gke.io/managed: enabled, configsync.gke.io/manager: ':root'", TRACKER_OTHER_TOOL,
          "Config Sync manager \":root\"" },
        { "", "configmanagement.gke.io/managed: disabled", TRACKER_NONE, "" },
        { "", "config.k8s.io/owning-inventory: i", TRACKER_OTHER_TOOL, "kpt inventory \"i\"" },
        { "kluctl.io/discriminator: d", "", TRACKER_OTHER_TOOL, "kluctl deployment \"d\"" },
        { "", "objectset.rio.cattle.io/id: o", TRACKER_OTHER_TOOL, "Rancher object set \"o\"" },
        { "", "gitops-agent.argoproj.io/gc-mark: m", TRACKER_OTHER_TOOL, "GitOps agent" },
        { "olm.managed: 'true', olm.owner: csv", "", TRACKER_OTHER_TOOL, "Operator Lifecycle Manager \"csv\"" },
        { "addonmanager.kubernetes.io/mode: Reconcile", "", TRACKER_OTHER_TOOL, "the cluster's addon manager" },
        { "addonmanager.kubernetes.io/mode: EnsureExists", "", TRACKER_NONE, "" },
};

static void marks_name_their_owner(void **state) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct tracker t;

                tracking_read(&us, deployment(*state, cases[i].labels, cases[i].annotations), NULL, *state, &t);
                if (t.kind != cases[i].kind || !str_eqc(t.owner, cases[i].owner))
                        fail_msg("case %zu: kind %d, owner %.*s", i, (int)t.kind, STR_FMT(t.owner));
        }
}

static void an_application_of_our_name_is_recognised_elsewhere(void **state) {
        struct tracker t;

        tracking_read(&us, deployment(*state, "", ID "'shop:apps/Deployment:shop/web'"), NULL, *state, &t);
        assert_true(t.same_app);
        tracking_read(&us, deployment(*state, "", ID "'cart:apps/Deployment:shop/web'"), NULL, *state, &t);
        assert_false(t.same_app);
        assert_true(str_eqc(t.app, "cart"));
        tracking_read(&us, deployment(*state, "argocd.argoproj.io/instance: shop", ""), NULL, *state, &t);
        assert_true(t.same_app);
}

static void a_mark_that_git_states_itself_is_no_evidence(void **state) {
        const struct value *live = deployment(*state, "kapp.k14s.io/app: a", ""),
                           *other = deployment(*state, "kapp.k14s.io/app: b", "");
        struct tracker t;

        tracking_read(&us, live, live, *state, &t);
        assert_int_equal(t.kind, TRACKER_NONE);
        tracking_read(&us, live, other, *state, &t);
        assert_int_equal(t.kind, TRACKER_OTHER_TOOL);
}

#define FLUX "kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system"
#define HELM "meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop"

static const struct {
        const char *labels, *annotations, *owners;
} crowds[] = {
        { FLUX, ID "'shop:apps/Deployment:shop/web', " HELM,
          "Argo CD application \"shop\"; Flux Kustomization \"flux-system/apps\"; Helm release \"shop/web\"" },
        { "kapp.k14s.io/app: '1', " FLUX, "", "Flux Kustomization \"flux-system/apps\"; kapp application \"1\"" },
        /* One master by two marks. */
        { "argocd.argoproj.io/instance: shop", ID "'shop:apps/Deployment:shop/web', argocd.argoproj.io/installation-id: two",
          "Argo CD application \"shop\" of installation \"two\"" },
        { "argocd.argoproj.io/instance: cart", ID "'shop:apps/Deployment:shop/web'",
          "Argo CD application \"shop\"; Argo CD application \"cart\"" },
        { "helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: shop", HELM, "Flux HelmRelease \"shop/web\"" },
        /* Whose ours is, others' marks do not matter any more. */
        { "truce.dev/installation: east, " FLUX, ID "'shop:apps/Deployment:shop/web'", "" },
};

static void several_masters_are_all_named(void **state) {
        for (size_t i = 0; i < ARRAY_LEN(crowds); i++) {
                _cleanup_(buf_done) struct buf owners = buf_make(1024);
                struct tracker t;

                tracking_read(&us, deployment(*state, crowds[i].labels, crowds[i].annotations), NULL, *state, &t);
                for (const struct tracker *who = &t; who; who = who->next)
                        buf_addf(&owners, "%s%.*s", who == &t ? "" : "; ", STR_FMT(who->owner));
                assert_string_equal(owners.p, crowds[i].owners);
        }
}

static void what_we_mark_we_recognise(void **state) {
        static const char *const objects[] = {
                "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}",
                "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {a: b}}}",
                "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:a:b'}}",
                "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x.y.z}}",
        };
        struct tracking cart = us;

        cart.app = STR("cart");
        for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
                const struct value *v = tracking_mark(&us, yaml(*state, objects[i]), *state);
                struct tracker t;

                tracking_read(&us, v, NULL, *state, &t);
                assert_int_equal(t.kind, TRACKER_OURS);
                tracking_read(&cart, v, NULL, *state, &t);
                assert_int_equal(t.kind, TRACKER_OUR_OTHER_APP);
        }
}

static void ids_have_argo_cds_format(void **state) {
        struct tracking t = us;

        assert_string_equal(tracking_id_make(&t, STR("apps"), STR("Deployment"), STR("shop"), STR("web"), *state).p,
                            "shop:apps/Deployment:shop/web");
        assert_string_equal(tracking_id_make(&t, STR(""), STR("Namespace"), STR(""), STR("x"), *state).p,
                            "shop:/Namespace:front/x");
        t.destination_namespace = STR("");
        t.app = STR("null-labels");
        assert_string_equal(tracking_id_make(&t, STR(""), STR("ConfigMap"), STR(""), STR("my-map"), *state).p,
                            "null-labels:/ConfigMap:/my-map");
}

static void marking_keeps_the_rest(void **state) {
        const struct value *v = tracking_mark(&us, yaml(*state, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, "
                                                                "namespace: nn, labels: {a: b}, annotations: {c: d, " ID
                                                                "x}}, data: {k: v}}"), *state);

        assert_string_equal(value_canonical(*state, v).p,
                            "{\"apiVersion\":\"v1\",\"data\":{\"k\":\"v\"},\"kind\":\"ConfigMap\",\"metadata\":{"
                            "\"annotations\":{\"argocd.argoproj.io/tracking-id\":\"shop:/ConfigMap:nn/c\",\"c\":\"d\"},"
                            "\"labels\":{\"a\":\"b\",\"truce.dev/installation\":\"east\"},\"name\":\"c\",\"namespace\":"
                            "\"nn\"}}");
}

static void ids_are_split_or_refused(void **state) {
        static const char *const bad[] = { "", ":", "a", "a:b", "a:b:c", "a:b/c:d", "a:/:n/x", "a:g/:n/x", ":g/K:n/x",
                                           "a:g/K:n/", "a:gK:n/x" };
        struct tracking_id id;

        (void)state;
        assert_true(tracking_id_split(STR("ns_app:rbac.authorization.k8s.io/ClusterRole:n/system:a:b"), &id));
        assert_true(str_eqc(id.app, "ns_app") && str_eqc(id.kind, "ClusterRole") && str_eqc(id.name, "system:a:b"));
        assert_true(tracking_id_split(STR("a:/Pod:/x"), &id));
        assert_true(id.group.n == 0 && id.ns.n == 0);
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_false(tracking_id_split(str_from(bad[i]), &id));
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(marks_name_their_owner),
                T(an_application_of_our_name_is_recognised_elsewhere),
                T(a_mark_that_git_states_itself_is_no_evidence),
                T(several_masters_are_all_named),
                T(what_we_mark_we_recognise),
                T(ids_have_argo_cds_format),
                T(marking_keeps_the_rest),
                T(ids_are_split_or_refused),
        };

        return cmocka_run_group_tests_name("tracking", tests, NULL, NULL);
}
