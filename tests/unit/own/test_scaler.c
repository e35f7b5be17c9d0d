/* SPDX-License-Identifier: Apache-2.0 */
#include "decide_test.h"
#include "own/policy.h"
#include "own/scaler.h"

static const struct value *hpa(const char *name, const char *spec) {
        return json(
                a, arena_strf(a,
                              "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':'%s',"
                              "'namespace':'shop'},'spec':{%s}}",
                              name, spec)
                           .p);
}

#define WEB "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'web'}"

static const struct scale_target web = { STR("apps"), STR("Deployment"), STR("shop"), STR("web") };

static void an_hpa_is_found_by_group_kind_and_name(void **state) {
        const struct scale_target other = { STR("apps"), STR("Deployment"), STR("other"), STR("web") };
        const struct scale_target sts = { STR("apps"), STR("StatefulSet"), STR("shop"), STR("web") };

        (void)state;
        assert_int_equal(scaler_index_set(ix, hpa("h", WEB ",'minReplicas':3"), SCALER_LIVE, NULL), 0);
        const struct scaler *s = scaler_find(ix, &web);
        assert_non_null(s);
        assert_text(s->name, "h");
        assert_int_equal(s->min_replicas, 3);
        assert_int_equal(s->origins, SCALER_LIVE);
        assert_null(scaler_find(ix, &other));
        assert_null(scaler_find(ix, &sts));
        assert_null(scaler_find(NULL, &web));
}

static void keda_fills_in_what_its_api_defaults(void **state) {
        const struct value *so =
                json(a, "{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','metadata':{'name':'k','namespace':"
                        "'shop'},'spec':{'scaleTargetRef':{'name':'web'}}}");

        (void)state;
        assert_int_equal(scaler_index_set(ix, so, SCALER_DESIRED, NULL), 0);
        assert_text(scaler_find(ix, &web)->kind, "ScaledObject");
        assert_int_equal(scaler_find(ix, &web)->min_replicas, 0);
}

static void live_scalers_come_before_desired_ones(void **state) {
        (void)state;
        scaler_index_set(ix, hpa("a", WEB), SCALER_DESIRED, NULL);
        assert_text(scaler_find(ix, &web)->name, "a");
        scaler_index_set(ix, hpa("b", WEB), SCALER_LIVE, NULL);
        assert_text(scaler_find(ix, &web)->name, "b");
        scaler_index_set(ix, hpa("aa", WEB), SCALER_LIVE, NULL);
        assert_text(scaler_find(ix, &web)->name, "aa");
}

static void what_one_origin_forgets_the_other_keeps(void **state) {
        (void)state;
        scaler_index_set(ix, hpa("h", WEB), SCALER_LIVE, NULL);
        scaler_index_set(ix, hpa("h", WEB ",'minReplicas':5"), SCALER_DESIRED, NULL);
        scaler_index_remove(ix, STR("autoscaling"), STR("HorizontalPodAutoscaler"), STR("shop"), STR("h"), SCALER_LIVE);
        assert_int_equal(scaler_find(ix, &web)->min_replicas, 5);
        scaler_index_clear(ix, SCALER_DESIRED);
        assert_null(scaler_find(ix, &web));
        scaler_index_remove(ix, STR("autoscaling"), STR("HorizontalPodAutoscaler"), STR("shop"), STR("h"), SCALER_LIVE);
}

static void a_scaler_that_changes_its_target_leaves_the_old_one(void **state) {
        (void)state;
        scaler_index_set(ix, hpa("h", WEB), SCALER_LIVE, NULL);
        scaler_index_set(ix, hpa("h", "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'x'}"),
                         SCALER_LIVE, NULL);
        assert_null(scaler_find(ix, &web));
        scaler_index_set(ix, hpa("h", WEB), SCALER_LIVE, NULL);
        assert_int_equal(scaler_index_set(ix, hpa("h", "'scaleTargetRef':{}"), SCALER_LIVE, NULL), ERR_INVAL);
        assert_null(scaler_find(ix, &web));
        assert_int_equal(scaler_index_set(ix, json(a, "{'kind':'ConfigMap'}"), SCALER_LIVE, NULL), ERR_INVAL);
}

static void the_scaler_kinds_can_be_walked(void **state) {
        const char *group, *kind;
        size_t n = 0;

        (void)state;
        for (; scaler_kind_at(n, &group, &kind); n++)
                assert_true(scaler_is_kind(str_from(group), str_from(kind)));
        assert_true(n >= 2);
        assert_false(scaler_is_kind(STR("apps"), STR("Deployment")));
}

static void replicas_stand_where_the_kind_says(void **state) {
        const struct value *crd =
                json(a, "{'spec':{'versions':[{'name':'v1','subresources':{'scale':{'specReplicasPath':"
                        "'.spec.workers.count'}}},{'name':'v2'}]}}");
        struct field_path p;

        (void)state;
        assert_true(scaler_replicas_path(STR("apps/v1"), STR("Deployment"), NULL, a, &p));
        assert_text(field_path_text(a, p), ".spec.replicas");
        assert_true(scaler_replicas_path(STR("v1"), STR("ReplicationController"), NULL, a, &p));
        assert_true(scaler_replicas_path(STR("leaderworkerset.x-k8s.io/v1"), STR("LeaderWorkerSet"), NULL, a, &p));
        assert_false(scaler_replicas_path(STR("apps/v1"), STR("DaemonSet"), NULL, a, &p));
        assert_true(scaler_replicas_path(STR("x.y/v1"), STR("W"), crd, a, &p));
        assert_text(field_path_text(a, p), ".spec.workers.count");
        assert_false(scaler_replicas_path(STR("x.y/v2"), STR("W"), crd, a, &p));
}

static struct scale_state judge(const char *manager, const char *subresource) {
        const struct value *o = json(
                a, arena_strf(a,
                              "{'metadata':{'managedFields':[{'manager':'%s','operation':'Update','subresource':'%s',"
                              "'fieldsV1':{'f:spec':{'f:replicas':{}}}}]}}",
                              manager, subresource)
                           .p);
        struct managed m = owners_of(a, o);

        return scaler_judge(ix, &web, dotted(a, "spec.replicas"), &m);
}

static void managed_fields_are_only_evidence(void **state) {
        struct scale_state s;
        struct buf b = buf_make(256);

        (void)state;
        assert_int_equal(scaler_judge(ix, &web, dotted(a, "spec.replicas"), NULL).verdict, SCALE_NONE);
        assert_int_equal(judge("kubectl", "").verdict, SCALE_NONE);
        assert_int_equal(judge("kubectl", "scale").verdict, SCALE_MANUAL);
        assert_int_equal(judge("k9s", "scale").verdict, SCALE_MANUAL);
        /* Without an HPA this is what one left behind. */
        s = judge("kube-controller-manager", "scale");
        assert_int_equal(s.verdict, SCALE_STALE);
        assert_false(scale_state_yields(&s));
        s = judge("my-autoscaler", "scale");
        assert_int_equal(s.verdict, SCALE_INFERRED);
        assert_true(scale_state_yields(&s));
        scale_state_print(&s, &b);
        assert_text(buf_str(&b), "my-autoscaler (inferred from its write to /scale)");
        buf_clear(&b);
        scaler_index_set(ix, hpa("h", WEB), SCALER_LIVE, NULL);
        s = judge("kubectl", "scale");
        assert_int_equal(s.verdict, SCALE_SCALER);
        scale_state_print(&s, &b);
        assert_text(buf_str(&b), "HorizontalPodAutoscaler shop/h");
        buf_done(&b);
}

static void a_seed_is_never_zero(void **state) {
        const struct scaler three = { .min_replicas = 3 }, zero = { .min_replicas = 0 };

        (void)state;
        assert_int_equal(scaler_seed(&three, value_int(a, 2, 0)), 2);
        assert_int_equal(scaler_seed(&three, value_int(a, 0, 0)), 3);
        assert_int_equal(scaler_seed(&three, NULL), 3);
        assert_int_equal(scaler_seed(&zero, NULL), 1);
        assert_int_equal(scaler_seed(NULL, value_int(a, 0, 0)), 1);
        assert_int_equal(scaler_seed(&three, value_stringc(a, "2")), 3);
}

static void managers_are_classified_by_name_and_operation(void **state) {
        static const struct {
                const char *manager, *subresource;
                enum managed_operation operation;
                enum policy_class class;
        } rows[] = {
                { "truce", "", MANAGED_APPLY, POLICY_OURS },
                { "truce", "", MANAGED_UPDATE, POLICY_NOBODY },
                { "truce", "status", MANAGED_APPLY, POLICY_NOBODY },
                { "truce-keeper", "", MANAGED_UPDATE, POLICY_KEEPER },
                { "kubectl", "", MANAGED_APPLY, POLICY_PERSON },
                { "kubectl-edit", "", MANAGED_UPDATE, POLICY_PERSON },
                { "kubectl-client-side-apply", "", MANAGED_UPDATE, POLICY_CLIENT },
                { "kubectl-create", "", MANAGED_UPDATE, POLICY_CLIENT },
                { "k9s", "", MANAGED_UPDATE, POLICY_PERSON },
                { "before-first-apply", "", MANAGED_UPDATE, POLICY_NOBODY },
                { "ancient-changes", "", MANAGED_UPDATE, POLICY_ANCIENT },
                { "argocd-controller", "", MANAGED_APPLY, POLICY_GITOPS },
                { "helm", "", MANAGED_UPDATE, POLICY_GITOPS },
                { "kube-controller-manager", "", MANAGED_UPDATE, POLICY_CONTROLLER },
                { "kube-controller-manager", "scale", MANAGED_UPDATE, POLICY_SCALER },
                { "my-operator", "", MANAGED_UPDATE, POLICY_UNKNOWN },
                { "my-operator", "scale", MANAGED_UPDATE, POLICY_SCALER },
                { "kubectlx", "", MANAGED_UPDATE, POLICY_UNKNOWN },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                enum policy_class c =
                        policy_classify(str_from(rows[i].manager), rows[i].operation, str_from(rows[i].subresource));

                if (c != rows[i].class)
                        fail_msg("%s is %s", rows[i].manager, policy_class_name(c));
        }
}

static struct policy_answer ask(const struct policy *p, const char *manager, const char *subresource, bool replicas,
                                enum scale_verdict scale) {
        struct scale_state s = { .verdict = scale };
        struct policy_question q = { .manager = str_from(manager),
                                     .subresource = str_from(subresource),
                                     .operation = MANAGED_UPDATE,
                                     .path = dotted(a, replicas ? "spec.replicas" : "spec.paused"),
                                     .is_replicas = replicas,
                                     .scale = &s };

        return policy_decide(p, &q);
}

static void git_wins_over_people_and_leaves_others_alone(void **state) {
        static const struct {
                const char *manager, *subresource;
                bool replicas;
                enum scale_verdict scale;
                enum policy_action action;
        } rows[] = {
                { "kubectl-edit", "", false, SCALE_NONE, POLICY_TAKE },
                { "kubectl-client-side-apply", "", false, SCALE_NONE, POLICY_TAKE },
                { "before-first-apply", "", false, SCALE_NONE, POLICY_TAKE },
                { "truce-keeper", "", true, SCALE_NONE, POLICY_TAKE },
                { "my-operator", "", false, SCALE_NONE, POLICY_REPORT },
                { "argocd-controller", "", false, SCALE_NONE, POLICY_REPORT },
                { "ancient-changes", "", false, SCALE_NONE, POLICY_REPORT },
                { "any-status-writer", "status", false, SCALE_NONE, POLICY_TAKE },
                { "kubectl", "scale", true, SCALE_MANUAL, POLICY_TAKE },
                { "kubectl", "scale", true, SCALE_SCALER, POLICY_YIELD },
                { "keda", "scale", true, SCALE_STALE, POLICY_TAKE },
                { "keda-operator", "scale", true, SCALE_SCALER, POLICY_YIELD },
                { "my-operator", "", true, SCALE_DECLARED, POLICY_YIELD },
                { "kube-controller-manager", "scale", true, SCALE_SCALER, POLICY_YIELD },
                { "kube-controller-manager", "scale", true, SCALE_STALE, POLICY_TAKE },
                { "kube-controller-manager", "", false, SCALE_STALE, POLICY_REPORT },
                { "my-autoscaler", "scale", true, SCALE_INFERRED, POLICY_YIELD },
                { "my-operator", "", false, SCALE_SCALER, POLICY_REPORT },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct policy_answer r =
                        ask(NULL, rows[i].manager, rows[i].subresource, rows[i].replicas, rows[i].scale);

                if (r.action != rows[i].action)
                        fail_msg("row %zu, %s: %s by \"%s\"", i, rows[i].manager, policy_action_name(r.action), r.rule);
                assert_non_null(r.rule);
        }
}

static void given_rules_come_before_the_built_in_ones(void **state) {
        struct field_path paused = dotted(a, "spec.paused");
        const struct policy_rule rules[] = {
                { .name = "operators may pause", .manager = "my-*", .path = &paused, .action = POLICY_YIELD },
                { .name = "all others give way", .classes = 1u << POLICY_UNKNOWN, .action = POLICY_TAKE },
        };
        const struct policy p = { rules, ARRAY_LEN(rules) };
        struct policy_answer r = ask(&p, "my-operator", "", false, SCALE_NONE);

        (void)state;
        assert_int_equal(r.action, POLICY_YIELD);
        assert_string_equal(r.rule, "operators may pause");
        assert_int_equal(ask(&p, "my-operator", "", true, SCALE_NONE).action, POLICY_TAKE);
        assert_int_equal(ask(&p, "argocd-controller", "", false, SCALE_NONE).action, POLICY_REPORT);
}

static void no_rule_about_owners_is_about_truce(void **state) {
        const struct policy_rule rule = { .name = "all", .manager = "*", .action = POLICY_YIELD };
        const struct policy p = { &rule, 1 };

        (void)state;
        assert_int_equal(ask(&p, "my-operator", "", false, SCALE_NONE).action, POLICY_YIELD);
        assert_int_equal(ask(&p, "truce", "", false, SCALE_NONE).action, POLICY_TAKE); /* a stray write under the name */
        assert_int_equal(ask(&p, "truce-keeper", "", false, SCALE_NONE).action, POLICY_TAKE);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(an_hpa_is_found_by_group_kind_and_name),
                CASE(keda_fills_in_what_its_api_defaults),
                CASE(live_scalers_come_before_desired_ones),
                CASE(what_one_origin_forgets_the_other_keeps),
                CASE(a_scaler_that_changes_its_target_leaves_the_old_one),
                CASE(the_scaler_kinds_can_be_walked),
                CASE(replicas_stand_where_the_kind_says),
                CASE(managed_fields_are_only_evidence),
                CASE(a_seed_is_never_zero),
                CASE(managers_are_classified_by_name_and_operation),
                CASE(git_wins_over_people_and_leaves_others_alone),
                CASE(given_rules_come_before_the_built_in_ones),
                CASE(no_rule_about_owners_is_about_truce),
        };

        return cmocka_run_group_tests_name("scaler", tests, NULL, NULL);
}
