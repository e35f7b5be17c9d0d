/* SPDX-License-Identifier: Apache-2.0 */
/* Admission rules that patch: the object is read again afterwards, as after a webhook. */
#include "sandbox/quoted.h"

static void set_rules(struct world *w, const char *text) {
        const struct value *rules;

        assert_int_equal(json_parse(str_from(quoted(w, text)), w->arena, &rules, NULL), 0);
        assert_int_equal(sandbox_set_rules(w->s, rules, NULL), 0);
}

static void what_a_rule_adds_gets_defaults(void **state) {
        struct world *w = *state;

        set_rules(w,
                  "{'rules':[{'name':'sidecar','match':{'kinds':['Pod'],'operations':['CREATE']},'patch':[{'op':'add',"
                  "'path':'/spec/containers/-','value':{'name':'proxy','image':'proxy:1','resources':{'limits':{'cpu':"
                  "'1000m'}}}}]}]}");
        assert_int_equal(make(w, PODS, "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i:1'}]}}"),
                         201);
        assert_at(w, "spec.containers.1.imagePullPolicy", "IfNotPresent");
        assert_at(w, "spec.containers.1.terminationMessagePolicy", "File");
        assert_at(w, "spec.containers.1.resources", "{\"limits\":{\"cpu\":\"1\"},\"requests\":{\"cpu\":\"1\"}}");
        assert_int_equal(
                apply(w, PODS "/q?fieldManager=m",
                      quoted(w, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'q'},'spec':{'containers':[{"
                                "'name':'a','image':'i:1'}]}}")),
                201);
        assert_at(w, "spec.containers.1.imagePullPolicy", "IfNotPresent");
}

static void what_a_rule_adds_to_a_custom_resource_is_pruned(void **state) {
        struct world *w = *state;

        define_things(w);
        set_rules(
                w,
                "{'rules':[{'name':'tag','match':{'kinds':['Thing']},'patch':[{'op':'add','path':'/spec/tags','value':["
                "'a']},{'op':'add','path':'/spec/unknown','value':1}]}]}");
        assert_int_equal(
                make(w, THINGS,
                     "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'},'spec':{'replicas':1}}"),
                201);
        assert_at(w, "spec", "{\"replicas\":1,\"tags\":[\"a\"]}");
}

static void a_rule_that_spoils_the_object_is_told(void **state) {
        struct world *w = *state;

        set_rules(w, "{'rules':[{'name':'bad','match':{'kinds':['Pod']},'patch':[{'op':'add','path':'/spec/containers',"
                     "'value':7}]}]}");
        assert_int_equal(make(w, PODS, "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i:1'}]}}"),
                         500);
        assert_says(w, "Internal error occurred: admission rule \"bad\": ");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(what_a_rule_adds_gets_defaults),
                CASE(what_a_rule_adds_to_a_custom_resource_is_pruned),
                CASE(a_rule_that_spoils_the_object_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
