/* SPDX-License-Identifier: Apache-2.0 */
#include "decide_test.h"
#include "own/scaler.h"

static const struct scale_target web = { STR("apps"), STR("Deployment"), STR("shop"), STR("web") };

/* An object in namespace shop; `metadata` and `spec` are members, the former with a comma in front. */
static const struct value *object(const char *api, const char *kind, const char *name, const char *metadata,
                                  const char *spec) {
        return json(
                a,
                arena_strf(a,
                           "{'apiVersion':'%s','kind':'%s','metadata':{'name':'%s','namespace':'shop'%s},'spec':{%s}}",
                           api, kind, name, metadata, spec)
                        .p);
}

#define WEB  "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'web'}"
#define HPA  "autoscaling/v2", "HorizontalPodAutoscaler"
#define KEDA "keda.sh/v1alpha1", "ScaledObject"

static void add(const struct value *o) {
        struct err err = { 0 };

        if (scaler_index_set(ix, o, SCALER_LIVE, &err) < 0)
                fail_msg("%s", err.msg);
}

static void every_kind_names_target_and_limits(void **state) {
        static const struct {
                const char *api, *kind, *metadata, *spec;
                const char *group, *target, *component;
                int64_t min, max;
        } rows[] = {
                { HPA, "", WEB ",'maxReplicas':7", "apps", "Deployment", "", 1, 7 },
                { "autoscaling/v1", "HorizontalPodAutoscaler", "",
                  "'scaleTargetRef':{'apiVersion':'x.y/v3','kind':'W','name':'web'},'minReplicas':0,'maxReplicas':2",
                  "x.y", "W", "", 0, 2 },
                { KEDA, "", "'scaleTargetRef':{'name':'web'}", "apps", "Deployment", "", 0, 100 },
                { KEDA, "", WEB ",'minReplicaCount':2,'maxReplicaCount':5", "apps", "Deployment", "", 2, 5 },
                { "autoscaling.internal.knative.dev/v1alpha1", "PodAutoscaler",
                  ",'annotations':{'autoscaling.knative.dev/min-scale':'2','autoscaling.knative.dev/max-scale':'no'}",
                  WEB, "apps", "Deployment", "", 2, -1 },
                { "autoscaling.gke.io/v1beta1", "MultidimPodAutoscaler", "",
                  WEB ",'constraints':{'global':{'minReplicas':2,'maxReplicas':4}}", "apps", "Deployment", "", 2, 4 },
                { "datadoghq.com/v1alpha2", "DatadogPodAutoscaler", "",
                  "'targetRef':{'apiVersion':'apps/"
                  "v1','kind':'Deployment','name':'web'},'constraints':{'maxReplicas':9}",
                  "apps", "Deployment", "", 1, 9 },
                { "autoscaling.aibrix.ai/v1alpha1", "PodAutoscaler", "", WEB ",'minReplicas':1,'maxReplicas':3", "apps",
                  "Deployment", "", 1, 3 },
                { "nvidia.com/v1alpha1", "DynamoGraphDeploymentScalingAdapter", "",
                  "'replicas':2,'dgdRef':{'name':'web','serviceName':'decode'}", "nvidia.com", "DynamoGraphDeployment",
                  "decode", 0, -1 },
                { "nvidia.com/v1beta1", "DynamoGraphDeploymentScalingAdapter", "",
                  "'replicas':2,'dgdRef':{'name':'web','componentName':'decode'}", "nvidia.com",
                  "DynamoGraphDeployment", "decode", 0, -1 },
                { "workloads.x-k8s.io/v1alpha1", "RoleBasedGroupScalingAdapter", "",
                  "'scaleTargetRef':{'name':'web','role':'prefill'}", "workloads.x-k8s.io", "RoleBasedGroup", "prefill",
                  0, -1 },
                { "disaggregatedset.x-k8s.io/v1", "DisaggregatedSetRoleScaler",
                  ",'labels':{'disaggregatedset.x-k8s.io/"
                  "role':'decode'},'ownerReferences':[{'kind':'DisaggregatedSet','name':"
                  "'web','controller':true}]",
                  "'replicas':2", "disaggregatedset.x-k8s.io", "DisaggregatedSet", "decode", 0, -1 },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct scale_target target = { str_from(rows[i].group), str_from(rows[i].target), STR("shop"),
                                               STR("web") };

                scaler_index_clear(ix, SCALER_LIVE);
                add(object(rows[i].api, rows[i].kind, "s", rows[i].metadata, rows[i].spec));
                const struct scaler *s = scaler_find_part(ix, &target, str_from(rows[i].component));
                if (!s)
                        fail_msg("row %zu: %s is not found", i, rows[i].kind);
                if (s->min_replicas != rows[i].min || s->max_replicas != rows[i].max)
                        fail_msg("row %zu: %lld to %lld", i, (long long)s->min_replicas, (long long)s->max_replicas);
                assert_null(scaler_find_part(ix, &target, STR("another")));
        }
}

static void what_names_no_target_or_part_is_refused(void **state) {
        (void)state;
        assert_int_equal(scaler_index_set(ix, object(HPA, "s", "", "'maxReplicas':1"), SCALER_LIVE, NULL), ERR_INVAL);
        assert_int_equal(scaler_index_set(ix,
                                          object("nvidia.com/v1beta1", "DynamoGraphDeploymentScalingAdapter", "s", "",
                                                 "'dgdRef':{'name':'web'}"),
                                          SCALER_LIVE, NULL),
                         ERR_INVAL);
        /* One that somebody made by hand: the controller does not heed it. */
        assert_int_equal(scaler_index_set(ix,
                                          object("disaggregatedset.x-k8s.io/v1", "DisaggregatedSetRoleScaler", "s",
                                                 ",'labels':{'disaggregatedset.x-k8s.io/role':'decode'}", ""),
                                          SCALER_LIVE, NULL),
                         ERR_INVAL);
}

static size_t scalers_of_web(void) {
        return scaler_find_all(ix, &web, STR(""), NULL, 0);
}

static void the_hpa_that_keda_makes_is_no_second_scaler(void **state) {
        (void)state;
        add(object(KEDA, "web", "", "'scaleTargetRef':{'name':'web'}"));
        add(object(HPA, "keda-hpa-web", "", WEB ",'maxReplicas':100"));
        assert_int_equal(scalers_of_web(), 1);
        assert_text(scaler_find(ix, &web)->kind, "ScaledObject");
        /* By its controller, whatever its name. */
        add(object(HPA, "other", ",'ownerReferences':[{'kind':'ScaledObject','name':'web','controller':true}]",
                   WEB ",'maxReplicas':100"));
        assert_int_equal(scalers_of_web(), 1);
        add(object(HPA, "third", ",'ownerReferences':[{'kind':'ScaledObject','name':'web'}]",
                   WEB ",'maxReplicas':100"));
        assert_int_equal(scalers_of_web(), 2);
}

static void keda_names_its_hpa_itself(void **state) {
        (void)state;
        add(object(KEDA, "web", "",
                   "'scaleTargetRef':{'name':'web'},'advanced':{'horizontalPodAutoscalerConfig':{'name':'mine'}}"));
        add(object(HPA, "mine", "", WEB ",'maxReplicas':100"));
        assert_int_equal(scalers_of_web(), 1);
        add(object(HPA, "keda-hpa-web", "", WEB ",'maxReplicas':100"));
        assert_int_equal(scalers_of_web(), 2);
}

static void a_paused_scaled_object_still_has_the_number(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(256);
        struct scale_state s;

        (void)state;
        add(object(KEDA, "web", ",'annotations':{'autoscaling.keda.sh/paused':'true'}",
                   "'scaleTargetRef':{'name':'web'},'idleReplicaCount':0,'minReplicaCount':2"));
        s = scaler_judge(ix, &web, dotted(a, "spec.replicas"), NULL);
        assert_true(s.scaler->paused);
        assert_int_equal(s.scaler->idle_replicas, 0);
        assert_true(scale_state_yields(&s));
        scale_state_print(&s, &b);
        assert_text(buf_str(&b), "ScaledObject shop/web (paused)");
        add(object(KEDA, "web", ",'annotations':{'autoscaling.keda.sh/paused-replicas':'0'}",
                   "'scaleTargetRef':{'name':'web'}"));
        assert_true(scaler_find(ix, &web)->paused);
        add(object(KEDA, "web", ",'annotations':{'autoscaling.keda.sh/paused':'false'}",
                   "'scaleTargetRef':{'name':'web'}"));
        assert_false(scaler_find(ix, &web)->paused);
}

static void what_only_advises_is_no_scaler(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(256);
        struct scale_state s;

        (void)state;
        add(object("llmd.ai/v1alpha1", "VariantAutoscaling", "web", "", "'modelID':'m'"));
        assert_null(scaler_find(ix, &web));
        assert_non_null(scaler_find_adviser(ix, &web));
        add(object(HPA, "h", "", WEB ",'maxReplicas':9"));
        s = scaler_judge(ix, &web, dotted(a, "spec.replicas"), NULL);
        scale_state_print(&s, &b);
        assert_text(buf_str(&b), "HorizontalPodAutoscaler shop/h (advised by VariantAutoscaling shop/web)");
        assert_int_equal(scalers_of_web(), 1);
        add(object("datadoghq.com/v1alpha2", "DatadogPodAutoscaler", "d", "",
                   "'targetRef':{'apiVersion':'apps/"
                   "v1','kind':'Deployment','name':'web'},'applyPolicy':{'mode':'Preview'}"));
        assert_int_equal(scalers_of_web(), 1);
}

static void several_scalers_come_in_a_stable_order_each_once(void **state) {
        const struct scaler *all[2];

        (void)state;
        add(object(KEDA, "z", "", "'scaleTargetRef':{'name':'web'}"));
        add(object(HPA, "b", "", WEB ",'maxReplicas':9"));
        add(object(HPA, "a", "", WEB ",'maxReplicas':9"));
        scaler_index_see(ix, object(HPA, "a", "", WEB ",'maxReplicas':8"),
                         &(struct scaler_sight){ .origin = SCALER_DESIRED, .file = STR("hpa.yaml"), .line = 3 }, NULL);
        assert_int_equal(scaler_find_all(ix, &web, STR(""), all, 2), 3);
        assert_text(all[0]->name, "a");
        assert_int_equal(all[0]->origins, SCALER_LIVE);
        assert_text(all[1]->name, "b");
        const struct scaler *git = scaler_index_get(ix, STR("autoscaling"), STR("HorizontalPodAutoscaler"), STR("shop"),
                                                    STR("a"), SCALER_DESIRED);
        assert_text(git->file, "hpa.yaml");
        assert_int_equal(git->line, 3);
        assert_null(scaler_index_get(ix, STR("autoscaling"), STR("HorizontalPodAutoscaler"), STR("shop"), STR("b"),
                                     SCALER_DESIRED));
}

static void what_kedas_program_left_behind_is_no_scaler(void **state) {
        struct managed m = owners_of(
                a, json(a, "{'metadata':{'managedFields':[{'manager':'keda','operation':'Update','subresource':'scale',"
                           "'fieldsV1':{'f:spec':{'f:replicas':{}}}}]}}"));

        (void)state;
        assert_int_equal(scaler_judge(ix, &web, dotted(a, "spec.replicas"), &m).verdict, SCALE_STALE);
}

static size_t paths_of(const struct value *desired, const struct value *live, const struct scale_path **ret) {
        struct scale_subject s = { .desired = desired, .live = live };

        return scaler_paths(ix, &s, a, ret);
}

#define DGD "nvidia.com/v1beta1", "DynamoGraphDeployment", "llm", ""

static void parts_are_scaled_by_adapters_and_by_markers(void **state) {
        const struct value *desired =
                object(DGD, "'components':[{'name':'front','replicas':1},{'name':'decode','replicas':2,"
                            "'scalingAdapter':{}},{'name':'prefill','replicas':3}]");
        const struct scale_path *p;

        (void)state;
        add(object("nvidia.com/v1beta1", "DynamoGraphDeploymentScalingAdapter", "llm-prefill", "",
                   "'dgdRef':{'name':'llm','componentName':'prefill'}"));
        assert_int_equal(paths_of(desired, NULL, &p), 3);
        assert_text(field_path_text(a, p[0].path), ".spec.components[name=\"front\"].replicas");
        assert_int_equal(p[0].state.verdict, SCALE_NONE);
        assert_int_equal(p[1].state.verdict, SCALE_DECLARED);
        assert_true(scale_state_yields(&p[1].state));
        assert_int_equal(p[2].state.verdict, SCALE_SCALER);
        assert_text(p[2].component, "prefill");
}

static void a_map_of_parts_has_markers_of_its_own(void **state) {
        const struct value *desired =
                object("nvidia.com/v1alpha1", "DynamoGraphDeployment", "llm", "",
                       "'services':{'decode':{'scalingAdapter':{'enabled':true}},'f':{'scalingAdapter':{}}}");
        const struct value *live = object("nvidia.com/v1alpha1", "DynamoGraphDeployment", "llm", "",
                                          "'services':{'decode':{},'old':{'scalingAdapter':{'enabled':true}}}");
        const struct scale_path *p;

        (void)state;
        assert_int_equal(paths_of(desired, live, &p), 3);
        assert_text(field_path_text(a, p[0].path), ".spec.services.decode.replicas");
        assert_int_equal(p[0].state.verdict, SCALE_DECLARED);
        assert_int_equal(p[1].state.verdict, SCALE_NONE);
        assert_text(p[2].component, "old");
        assert_int_equal(p[2].state.verdict, SCALE_DECLARED);
}

static void roles_with_external_scaling_are_not_ours(void **state) {
        const struct value *desired =
                object("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", "llm", "",
                       "'roles':[{'name':'a','scaling':{'mode':'External'}},{'name':'b','scaling':{'mode':"
                       "'Static'}}]");
        const struct scale_path *p;

        (void)state;
        assert_int_equal(paths_of(desired, NULL, &p), 2);
        assert_int_equal(p[0].state.verdict, SCALE_DECLARED);
        assert_int_equal(p[1].state.verdict, SCALE_NONE);
}

static void other_objects_have_one_number_or_none(void **state) {
        const struct scale_path *p;

        (void)state;
        assert_int_equal(paths_of(object("apps/v1", "Deployment", "web", "", "'components':[{'name':'x'}]"), NULL, &p),
                         1);
        assert_text(field_path_text(a, p[0].path), ".spec.replicas");
        assert_int_equal(paths_of(object("v1", "ConfigMap", "web", "", ""), NULL, &p), 0);
}

static void a_restart_is_omitted_at_creation_only_where_it_is_refused(void **state) {
        struct field_path p;

        (void)state;
        assert_true(scaler_omits_on_create(STR("nvidia.com"), STR("DynamoGraphDeployment"), 0, a, &p));
        assert_text(field_path_text(a, p), ".spec.restart");
        assert_false(scaler_omits_on_create(STR("nvidia.com"), STR("DynamoGraphDeployment"), 1, a, &p));
        assert_false(scaler_omits_on_create(STR("apps"), STR("Deployment"), 0, a, &p));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(every_kind_names_target_and_limits),
                CASE(what_names_no_target_or_part_is_refused),
                CASE(the_hpa_that_keda_makes_is_no_second_scaler),
                CASE(keda_names_its_hpa_itself),
                CASE(a_paused_scaled_object_still_has_the_number),
                CASE(what_only_advises_is_no_scaler),
                CASE(several_scalers_come_in_a_stable_order_each_once),
                CASE(what_kedas_program_left_behind_is_no_scaler),
                CASE(parts_are_scaled_by_adapters_and_by_markers),
                CASE(a_map_of_parts_has_markers_of_its_own),
                CASE(roles_with_external_scaling_are_not_ours),
                CASE(other_objects_have_one_number_or_none),
                CASE(a_restart_is_omitted_at_creation_only_where_it_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
