/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a patched document: what a refusal quotes, and what is looked through for doubled keys. As a v1.37.2 API
 * server has it.
 */
#include "sandbox/quoted.h"

#define DEPLOYMENT "{'metadata':{'name':'d'},'spec':{" TEMPLATE("") "}}"

static void assert_warnings(struct world *w, const char *wanted) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

        for (size_t i = 0; i < w->reply.warning_count; i++)
                buf_addf(&out, "%s%.*s", i ? "; " : "", STR_FMT(w->reply.warnings[i]));
        assert_string_equal(out.n ? out.p : "", wanted);
}

static void make_map(struct world *w) {
        assert_int_equal(make(w, CM, "{'metadata':{'name':'a'},'data':{'old':'<1>'}}"), 201);
}

static int patch_map(struct world *w, const char *query, const char *body) {
        return change(w, arena_strf(w->arena, CM "/a%s", query).p, JSON_PATCH_TYPE, body);
}

/* --- doubled keys --- */

static void a_key_given_twice_in_a_json_patch_is_so_in_the_object_too(void **state) {
        static const char doubled[] = "[{'op':'add','path':'/data','value':{'k':'x','k':'v'}}]";
        struct world *w = *state;

        make_map(w);
        assert_int_equal(patch_map(w, "?fieldValidation=Strict", doubled), 422);
        assert_says(w, "\\\"data\\\":{\\\"k\\\":\\\"x\\\",\\\"k\\\":\\\"v\\\"}");
        assert_says(w,
                    ": strict decoding error: json patch duplicate field \"[0].value.k\", duplicate field \"data.k\"");
        assert_int_equal(patch_map(w, "?fieldValidation=Ignore", doubled), 200);
        assert_warnings(w, "");
        assert_int_equal(patch_map(w, "", doubled), 200);
        assert_warnings(w, "json patch duplicate field \"[0].value.k\"; duplicate field \"data.k\"");
        assert_at(w, "data", "{\"k\":\"v\"}");
}

static void an_operation_that_goes_on_through_the_doubled_one_leaves_one(void **state) {
        struct world *w = *state;

        make_map(w);
        assert_int_equal(patch_map(w, "",
                                   "[{'op':'add','path':'/data','value':{'k':'x','k':'v'}},"
                                   "{'op':'add','path':'/data/z','value':'y'}]"),
                         200);
        assert_warnings(w, "json patch duplicate field \"[0].value.k\"");
        assert_at(w, "data", "{\"k\":\"v\",\"z\":\"y\"}");
        assert_int_equal(patch_map(w, "",
                                   "[{'op':'add','path':'/data','value':{'k':'x','k':'v'}},"
                                   "{'op':'test','path':'/data','value':{'k':'v'}}]"),
                         200);
        assert_warnings(w, "json patch duplicate field \"[0].value.k\"");
}

static void the_first_of_two_may_be_longer(void **state) {
        struct world *w = *state;

        make_map(w);
        assert_int_equal(
                patch_map(w, "",
                          "[{'op':'add','path':'/data','value':{'k':['a',{'b':1},'c'],'k':['d'],'z':{'l':[1]}}}]"),
                422);
        assert_says(w, "\\\"data\\\":{\\\"k\\\":[\\\"a\\\",{\\\"b\\\":1},\\\"c\\\"],\\\"k\\\":[\\\"d\\\"],\\\"z\\\":{"
                       "\\\"l\\\":[1]}}");
        assert_int_equal(
                patch_map(w, "",
                          "[{'op':'add','path':'/data','value':{'k':{'x':['a','b'],'y':1},'k':{'x':[]},'z':[[]]}},"
                          "{'op':'add','path':'/data/n','value':'v'}]"),
                422);
        assert_says(w, "\\\"data\\\":{\\\"k\\\":{\\\"x\\\":[]},\\\"n\\\":\\\"v\\\",\\\"z\\\":[[]]}");
}

static void what_is_doubled_in_an_operation_itself_is_not_in_the_object(void **state) {
        struct world *w = *state;

        make_map(w);
        assert_int_equal(patch_map(w, "", "[{'op':'add','path':'/data/k','value':'x','value':'v'}]"), 200);
        assert_warnings(w, "json patch duplicate field \"[0].value\"");
        assert_at(w, "data.k", "v");
}

static void faults_of_a_patch_are_told_in_the_order_of_its_text(void **state) {
        struct world *w = *state;

        make_map(w);
        assert_int_equal(
                patch_map(w, "",
                          "[{'$patch':'x','op':'add','path':'/data/b','value':'c'},{'op':null,'op':'test','path':"
                          "'/data/b','value':'c','odd':{'a':1,'a':2},'from':'a','from':'b'}]"),
                200);
        assert_warnings(w, "json patch unknown field \"[0].$patch\"; json patch duplicate field \"[1].op\"; json patch "
                           "unknown field \"[1].odd\"; json patch duplicate field \"[1].from\"");
}

static void a_custom_resource_keeps_doubled_keys_as_well(void **state) {
        static const char doubled[] = "[{'op':'add','path':'/spec','value':{'replicas':1,'replicas':2,'odd':1}}]";
        struct world *w = *state;

        define_things(w);
        assert_int_equal(make(w, THINGS, "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'}}"),
                         201);
        assert_int_equal(change(w, THINGS "/t?fieldValidation=Strict", JSON_PATCH_TYPE, doubled), 422);
        assert_says(w, "\\\"spec\\\":{\\\"replicas\\\":1,\\\"replicas\\\":2,\\\"odd\\\":1}");
        assert_int_equal(change(w, THINGS "/t", JSON_PATCH_TYPE, doubled), 200);
        assert_warnings(w, "json patch duplicate field \"[0].value.replicas\"; duplicate field \"spec.replicas\"; "
                           "unknown field \"spec.odd\"");
        assert_at(w, "spec", "{\"replicas\":2}");
}

static void a_merge_patch_leaves_no_key_doubled(void **state) {
        struct world *w = *state;

        make_map(w);
        assert_int_equal(change(w, CM "/a", MERGE_TYPE, "{'data':{'k':'x','k':'v'},'x':1,'x':2}"), 200);
        assert_warnings(w, "duplicate field \"data.k\"; duplicate field \"x\"; unknown field \"x\"");
}

/* --- what is quoted --- */

static void a_patchs_value_is_quoted_as_it_was_sent(void **state) {
        struct world *w = *state;

        make_map(w);
        assert_int_equal(
                patch_map(w, "",
                          "[{'op':'add','path':'/data','value':{ 'b' : [ 1.0 ,\n'a\\u0041 b\\\\' ] , 'a':{ } }}]"),
                422);
        assert_says(w, "\\\"data\\\":{\\\"b\\\":[1.0,\\\"a\\\\u0041 b\\\\\\\\\\\"],\\\"a\\\":{}}");
}

static void what_a_patch_leads_through_is_quoted_sorted(void **state) {
        struct world *w = *state;

        make_map(w);
        assert_int_equal(patch_map(w, "",
                                   "[{'op':'add','path':'/data','value':{'b':{'d':1,'c':2},'a':[{'f':1,'e':2},3]}},"
                                   "{'op':'add','path':'/data/a/1','value':4}]"),
                         422);
        assert_says(w, "\\\"data\\\":{\\\"a\\\":[{\\\"f\\\":1,\\\"e\\\":2},4,3],\\\"b\\\":{\\\"d\\\":1,\\\"c\\\":2}}");
}

static void a_merge_patch_is_quoted_sorted_but_for_a_list_in_place_of_a_map(void **state) {
        struct world *w = *state;

        make_map(w);
        assert_int_equal(change(w, CM "/a", MERGE_TYPE, "{'data':[{'b':1,'a':null}],'binaryData':[{'b':1,'a':null}]}"),
                         422);
        assert_says(w, "\\\"binaryData\\\":[{\\\"b\\\":1}],\\\"data\\\":[{\\\"b\\\":1,\\\"a\\\":null}]");
}

static void what_is_live_stays_in_gos_order_wherever_it_goes(void **state) {
        static const char pod[] =
                "{\\\"metadata\\\":{\\\"labels\\\":{\\\"app\\\":\\\"a\\\"}},\\\"spec\\\":{\\\"containers\\\":[{"
                "\\\"name\\\":\\\"main\\\",\\\"image\\\":\\\"img:1\\\",\\\"resources\\\":{}";
        struct world *w = *state;

        assert_int_equal(make(w, DEPLOYMENTS, DEPLOYMENT), 201);
        assert_int_equal(change(w, DEPLOYMENTS "/d", JSON_PATCH_TYPE,
                                "[{'op':'copy','from':'/spec/template','path':'/spec/paused'}]"),
                         422);
        assert_says(w, arena_strf(w->arena, "\\\"paused\\\":%s", pod).p);
        assert_says(w, arena_strf(w->arena, "\\\"template\\\":%s", pod).p);
        assert_int_equal(change(w, DEPLOYMENTS "/d", JSON_PATCH_TYPE,
                                "[{'op':'move','from':'/spec/template','path':'/spec/paused'}]"),
                         422);
        assert_says(w, arena_strf(w->arena, "\\\"paused\\\":%s", pod).p);
}

#define POD_OF(spec)   "'template':{'spec':{" spec "}}"
#define POD_LEFT(spec) "template:map[spec:map[" spec "]]"

static void of_a_strategic_patch_what_was_not_followed_is_quoted(void **state) {
        static const struct {
                const char *patch, *left;
        } cases[] = {
                { POD_OF("'containers':[{'name':'main','livenessProbe':{'httpGet':null,'exec':{'command':null}}}]"),
                  POD_LEFT("containers:[map[livenessProbe:map[exec:map[]] name:main]]") },
                { POD_OF("'containers':[{'name':'new','livenessProbe':{'httpGet':null}}]"),
                  POD_LEFT("containers:[map[livenessProbe:map[httpGet:<nil>] name:new]]") },
                { POD_OF("'containers':[{'name':'new','image':'i','stdin':true},{'name':'new','image':'j','tty':null}"
                         "]"),
                  POD_LEFT("containers:[map[image:j name:new stdin:true] map[image:j name:new tty:<nil>]]") },
                { POD_OF("'containers':[{'name':'main','$patch':'delete'},{'name':'x','image':'i'}]"),
                  POD_LEFT("containers:[map[$patch:delete name:main] map[image:i name:x]]") },
                { POD_OF("'$setElementOrder/containers':[{'name':'main'}],'containers':[{'name':'main','image':'i'}]"),
                  POD_LEFT("") },
                { POD_OF("'affinity':{'podAffinity':{'$patch':'delete'},'nodeAffinity':{'a':null}}"),
                  POD_LEFT("affinity:map[nodeAffinity:map[]]") },
                { POD_OF("'tolerations':[{'$patch':'delete','key':'a'},{'key':'b','x':{'$patch':'delete'}}]"),
                  POD_LEFT("tolerations:[map[$patch:delete key:a] map[key:b]]") },
                { POD_OF("'affinity':{'l':[{'$patch':'delete'},{'a':{'$patch':'x'},'b':1},[{'$patch':'z'},1]]}"),
                  POD_LEFT("affinity:map[l:[map[b:1] [1]]]") },
                { POD_OF("'securityContext':{'$retainKeys':['runAsUser'],'runAsUser':1}"),
                  POD_LEFT("securityContext:map[runAsUser:1]") },
                { POD_OF("'securityContext':{'$patch':'replace','runAsUser':null}"),
                  POD_LEFT("securityContext:map[runAsUser:<nil>]") },
                { POD_OF("'affinity':{'$patch':'replace','x':{'y':null}}"),
                  POD_LEFT("affinity:map[$patch:replace x:map[]]") },
        };
        struct world *w = *state;

        assert_int_equal(make(w, DEPLOYMENTS, DEPLOYMENT), 201);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                assert_int_equal(change(w, DEPLOYMENTS "/d", STRATEGIC_TYPE,
                                        arena_strf(w->arena, "{'spec':{'strategy':7,%s}}", cases[i].patch).p),
                                 422);
                assert_says(w, arena_strf(w->arena, "\"map[spec:map[strategy:7 %s]]\"", cases[i].left).p);
        }
        assert_int_equal(change(w, DEPLOYMENTS "/d", STRATEGIC_TYPE,
                                "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']},'spec':{'strategy':7}}"),
                         422);
        assert_says(w, "\"map[metadata:map[$deleteFromPrimitiveList/finalizers:[a]] spec:map[strategy:7]]\"");
}

static void brackets_of_html_are_quoted_escaped(void **state) {
        struct world *w = *state;

        make_map(w);
        assert_int_equal(patch_map(w, "", "[{'op':'add','path':'/data/new&','value':['>']}]"), 422);
        assert_says(w,
                    "\\\"data\\\":{\\\"new\\\\u0026\\\":[\\\"\\\\u003e\\\"],\\\"old\\\":\\\"\\\\u003c1\\\\u003e\\\"}");
}

static void a_patch_of_too_many_operations_is_not_looked_at(void **state) {
        _cleanup_(buf_done) struct buf body = buf_make(1024 * 1024);
        struct world *w = *state;

        make_map(w);
        for (int i = 0; i < 10001; i++)
                buf_addc(&body, i ? ",{'op':'x'}" : "[{'op':'x'}");
        buf_addch(&body, ']');
        assert_int_equal(patch_map(w, "", body.p), 413);
        assert_message(w,
                       "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001");
        body.n -= strlen(",{'op':'x'}]");
        body.p[body.n] = '\0';
        buf_addch(&body, ']');
        assert_int_equal(patch_map(w, "", body.p), 422);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_key_given_twice_in_a_json_patch_is_so_in_the_object_too),
                CASE(an_operation_that_goes_on_through_the_doubled_one_leaves_one),
                CASE(the_first_of_two_may_be_longer),
                CASE(what_is_doubled_in_an_operation_itself_is_not_in_the_object),
                CASE(faults_of_a_patch_are_told_in_the_order_of_its_text),
                CASE(a_custom_resource_keeps_doubled_keys_as_well),
                CASE(a_merge_patch_leaves_no_key_doubled),
                CASE(a_patchs_value_is_quoted_as_it_was_sent),
                CASE(what_a_patch_leads_through_is_quoted_sorted),
                CASE(a_merge_patch_is_quoted_sorted_but_for_a_list_in_place_of_a_map),
                CASE(what_is_live_stays_in_gos_order_wherever_it_goes),
                CASE(of_a_strategic_patch_what_was_not_followed_is_quoted),
                CASE(brackets_of_html_are_quoted_escaped),
                CASE(a_patch_of_too_many_operations_is_not_looked_at),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
