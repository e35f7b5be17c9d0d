/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "own/decide.h"

static struct arena *a;
static struct scaler_index *ix;
static bool tracked; /* of what is added next */
static const struct hash_key key = { .k0 = 1, .k1 = 2 };

static int begin(void **state) {
        (void)state;
        a = arena_new(0);
        ix = scaler_index_new();
        tracked = false;
        return 0;
}

static int end(void **state) {
        (void)state;
        scaler_index_free(ix);
        arena_free(a);
        return 0;
}

#define WEB "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'web'}"

static const struct value *deployment(const char *metadata, const char *spec) {
        return json(
                a,
                arena_strf(a,
                           "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web','namespace':'shop'%s},"
                           "'spec':{%s}}",
                           metadata, spec)
                        .p);
}

static void add(const char *api, const char *kind, const char *name, const char *spec, enum scaler_origin origin) {
        const struct value *o = json(a, arena_strf(a,
                                                   "{'apiVersion':'%s','kind':'%s','metadata':{'name':'%s','namespace':"
                                                   "'shop'},'spec':{%s}}",
                                                   api, kind, name, spec)
                                                .p);

        const struct scaler_sight sight = { .origin = origin,
                                            .file = origin == SCALER_DESIRED ? STR("hpa.yaml") : STR(""),
                                            .line = 7,
                                            .tracked = tracked };

        assert_int_equal(scaler_index_see(ix, o, &sight, NULL), 0);
}

static void add_hpa(const char *limits) {
        add("autoscaling/v2", "HorizontalPodAutoscaler", "h", arena_strf(a, WEB ",%s", limits).p, SCALER_LIVE);
}

static struct decision decided(const struct value *desired, const struct value *live) {
        struct decide_input in = { .desired = desired, .live = live, .key = &key, .scalers = ix };
        struct decision d = { 0 };
        struct err err = { 0 };

        if (decide(&in, a, &d, &err) < 0)
                fail_msg("%s", err.msg);
        return d;
}

/* The remark of a kind, or "". */
static const char *remark(const char *git_spec, enum decide_note_kind kind) {
        struct decision d = decided(deployment("", git_spec), NULL);

        for (size_t i = 0; i < d.note_count; i++)
                if (d.notes[i].kind == kind)
                        return d.notes[i].rule;
        return "";
}

static void a_number_outside_of_the_limits_is_told_with_the_scalers_place(void **state) {
        (void)state;
        add_hpa("'minReplicas':2,'maxReplicas':5");
        assert_string_equal(remark("'replicas':9", DECIDE_OUT_OF_RANGE),
                            "Git's 9 is outside of 2 to 5, the limits of HorizontalPodAutoscaler shop/h");
        add("autoscaling/v2", "HorizontalPodAutoscaler", "h", WEB ",'minReplicas':2,'maxReplicas':5", SCALER_DESIRED);
        assert_string_equal(remark("'replicas':1", DECIDE_OUT_OF_RANGE),
                            "Git's 1 is outside of 2 to 5, the limits of HorizontalPodAutoscaler shop/h (hpa.yaml:7)");
        assert_string_equal(remark("'replicas':2", DECIDE_OUT_OF_RANGE), "");
        assert_string_equal(remark("'replicas':5", DECIDE_OUT_OF_RANGE), "");
        assert_string_equal(remark("'replicas':6", DECIDE_ZERO), "");
        assert_string_equal(remark("'x':1", DECIDE_OUT_OF_RANGE), "");
}

static void a_zero_under_an_hpa_is_told_as_what_it_is(void **state) {
        (void)state;
        add_hpa("'maxReplicas':5");
        assert_string_equal(
                remark("'replicas':0", DECIDE_ZERO),
                "Git's 0 is not applied, the number is that of HorizontalPodAutoscaler shop/h: to stop it, take "
                "that away too");
        assert_string_equal(remark("'replicas':0", DECIDE_OUT_OF_RANGE), "");
        add_hpa("'minReplicas':0,'maxReplicas':5");
        assert_string_equal(remark("'replicas':0", DECIDE_ZERO), "");
}

static void zero_and_the_idle_number_are_kedas_own(void **state) {
        (void)state;
        add("keda.sh/v1alpha1", "ScaledObject", "k",
            "'scaleTargetRef':{'name':'web'},'minReplicaCount':3,'idleReplicaCount':0", SCALER_LIVE);
        assert_string_equal(remark("'replicas':0", DECIDE_ZERO), "");
        assert_string_equal(remark("'replicas':0", DECIDE_OUT_OF_RANGE), "");
        assert_string_not_equal(remark("'replicas':2", DECIDE_OUT_OF_RANGE), "");
        assert_string_not_equal(remark("'replicas':101", DECIDE_OUT_OF_RANGE), "");
}

static void two_scalers_of_one_number_are_named(void **state) {
        (void)state;
        add_hpa("'maxReplicas':5");
        assert_string_equal(remark("'replicas':2", DECIDE_TWO_SCALERS), "");
        add("keda.sh/v1alpha1", "ScaledObject", "k", "'scaleTargetRef':{'name':'web'}", SCALER_DESIRED);
        assert_string_equal(
                remark("'replicas':2", DECIDE_TWO_SCALERS),
                "HorizontalPodAutoscaler shop/h and ScaledObject shop/k (hpa.yaml:7) set it in turns: one has to go");
        assert_true(decide_note_is_remark(DECIDE_TWO_SCALERS) && !decide_note_is_remark(DECIDE_YIELDED));
}

static void one_that_is_about_to_be_pruned_is_no_rival(void **state) {
        (void)state;
        add_hpa("'maxReplicas':5");
        tracked = true;
        add("autoscaling/v2", "HorizontalPodAutoscaler", "old", WEB ",'maxReplicas':5", SCALER_LIVE);
        assert_string_equal(remark("'replicas':2", DECIDE_TWO_SCALERS), "");
        add("autoscaling/v2", "HorizontalPodAutoscaler", "old", WEB ",'maxReplicas':5", SCALER_DESIRED);
        assert_string_not_equal(remark("'replicas':2", DECIDE_TWO_SCALERS), "");
}

#define DGD_LIVE                                                                                                       \
        ",'uid':'u','resourceVersion':'9','managedFields':[{'manager':'truce','operation':'Apply','apiVersion':"       \
        "'nvidia.com/"                                                                                                 \
        "v1beta1','fieldsV1':{'f:spec':{'f:components':{'k:{\\'name\\':\\'decode\\'}':{'.':{},'f:name':{},"            \
        "'f:replicas':{}}}}}}]"

static const struct value *graph(const char *metadata, const char *spec) {
        return json(
                a,
                arena_strf(a,
                           "{'apiVersion':'nvidia.com/v1beta1','kind':'DynamoGraphDeployment','metadata':{'name':'llm',"
                           "'namespace':'shop'%s},'spec':{%s}}",
                           metadata, spec)
                        .p);
}

static const struct schema *graph_type(void) {
        const struct value *crd = json(a, "{'kind':'CustomResourceDefinition','spec':{'group':'nvidia.com','versions':["
                                          "{'name':'v1beta1','schema':{'openAPIV3Schema':{'type':'object',"
                                          "'properties':{'spec':{'type':'object','properties':{'restart':{'type':'"
                                          "object','properties':{'id':{'type':"
                                          "'string'}}},'components':{'type':'array','x-kubernetes-list-type':'map','x-"
                                          "kubernetes-list-map-keys':['name'],"
                                          "'items':{'type':'object','required':['name'],'properties':{'name':{'type':'"
                                          "string'},'replicas':{'type':"
                                          "'integer'},'scalingAdapter':{'type':'object'}}}}}}}}}}]}}");
        const struct schema *type = NULL;

        assert_int_equal(schema_from_crd(crd, STR("v1beta1"), a, &type, NULL), 0);
        return type;
}

static void a_parts_number_is_handed_over_like_any_other(void **state) {
        struct decide_input in = {
                .desired = graph("", "'components':[{'name':'decode','replicas':2}]"),
                .live = graph(DGD_LIVE, "'components':[{'name':'decode','replicas':2}]"),
                .type = graph_type(),
                .key = &key,
                .scalers = ix,
        };
        struct decision d;

        (void)state;
        assert_int_equal(decide(&in, a, &d, NULL), 0);
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_false(d.has_scaler);
        add("nvidia.com/v1beta1", "DynamoGraphDeploymentScalingAdapter", "llm-decode",
            "'dgdRef':{'name':'llm','componentName':'decode'}", SCALER_LIVE);
        assert_int_equal(decide(&in, a, &d, NULL), 0);
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.handover, HANDOVER_GIVE);
        assert_true(d.has_scaler);
        assert_null(field_path_find(d.effective, d.notes[0].path, in.type));
        assert_text(d.notes[0].owner, "DynamoGraphDeploymentScalingAdapter shop/llm-decode");
}

static void the_hold_of_one_part_does_not_hold_what_is_ours(void **state) {
        struct decide_input in = {
                .desired = graph("", "'components':[{'name':'decode','replicas':3}]"),
                .live = graph(DGD_LIVE, "'components':[{'name':'decode','replicas':2}]"),
                .type = graph_type(),
                .key = &key,
                .scalers = ix,
                .replicas_hold = true,
        };
        struct decision d;

        (void)state;
        assert_int_equal(decide(&in, a, &d, NULL), 0);
        assert_int_equal(d.verdict, DECIDE_APPLY);
}

static void a_graph_is_born_with_seeds_and_without_its_restart(void **state) {
        struct decide_input in = {
                .desired = graph(
                        "", "'restart':{'id':'1'},'components':[{'name':'decode','replicas':0,'scalingAdapter':{}}]"),
                .type = graph_type(),
                .key = &key,
                .scalers = ix,
        };
        struct decision d;
        int64_t seed;

        (void)state;
        assert_int_equal(decide(&in, a, &d, NULL), 0);
        assert_int_equal(d.verdict, DECIDE_CREATE);
        assert_true(d.omits && d.has_scaler);
        assert_null(value_path(d.body, "spec", "restart", NULL));
        assert_non_null(value_path(d.effective, "spec", "restart", NULL));
        assert_true(value_to_i64(value_getc(value_path(d.body, "spec", "components", NULL)->list.items[0], "replicas"),
                                 &seed));
        assert_int_equal(seed, 1);
        in.desired = graph("", "'components':[{'name':'decode','replicas':0}]");
        assert_int_equal(decide(&in, a, &d, NULL), 0);
        assert_false(d.omits);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_number_outside_of_the_limits_is_told_with_the_scalers_place),
                CASE(a_zero_under_an_hpa_is_told_as_what_it_is),
                CASE(zero_and_the_idle_number_are_kedas_own),
                CASE(two_scalers_of_one_number_are_named),
                CASE(one_that_is_about_to_be_pruned_is_no_rival),
                CASE(a_parts_number_is_handed_over_like_any_other),
                CASE(the_hold_of_one_part_does_not_hold_what_is_ours),
                CASE(a_graph_is_born_with_seeds_and_without_its_restart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
