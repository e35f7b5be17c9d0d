/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What random requests brought up (tests/cluster/fidelity), continued: patches, scale, owners, custom resources;
 * answers as a v1.37.2 API server gave them.
 */
#include "sandbox/quoted.h"

/* --- patches --- */

static void only_strict_reading_looks_at_a_json_patchs_members(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, CM, "{'metadata':{'name':'a'},'data':{'x':'1'}}"), 201);
        assert_int_equal(change(w, CM "/a?fieldValidation=Ignore", JSON_PATCH_TYPE, "[{'op':{},'path':'/data/x'}]"),
                         422);
        assert_message(w, "the server rejected our request due to an error in our request");
        assert_int_equal(change(w, CM "/a?fieldValidation=Ignore", JSON_PATCH_TYPE,
                                "[{'op':'test','path':'/data/x','from':7,'value':'1'}]"),
                         200);
        assert_int_equal(change(w, CM "/a", JSON_PATCH_TYPE, "[{'op':{},'path':'/data/x'}]"), 400);
        assert_message(
                w, "error decoding patch: json: cannot unmarshal object into Go struct field jsonPatchOp.op of type "
                   "string");
}

static void a_merge_patch_may_be_a_list_that_is_no_object(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, CM, "{'metadata':{'name':'a'}}"), 201);
        assert_int_equal(change(w, CM "/a?fieldValidation=Ignore", MERGE_TYPE, "[{'a':null,'b':[null]},null]"), 422);
        assert_says(w,
                    "patch: Invalid value: \"[{\\\"b\\\":[null]},null]\": couldn't get version/kind; json parse error: "
                    "json: cannot unmarshal array into Go value of type struct {");
        assert_int_equal(change(w, CM "/a", MERGE_TYPE, "[]"), 400);
}

static void a_long_refusal_of_a_directive_is_told_whole(void **state) {
        struct world *w = *state;
        char body[4096], long_text[2048];

        memset(long_text, 'x', sizeof long_text - 1);
        long_text[sizeof long_text - 1] = '\0';
        snprintf(body, sizeof body, "{'data':{'$patch':'odd','a':'%s'}}", long_text);
        assert_int_equal(make(w, CM, "{'metadata':{'name':'a'},'data':{'x':'1'}}"), 201);
        assert_int_equal(change(w, CM "/a", STRATEGIC_TYPE, body), 500);
        snprintf(body, sizeof body, "unknown patch type: odd in map: map[$patch:odd a:%s]", long_text);
        assert_message(w, body);
}

static void nulls_in_what_is_new_are_not_quoted(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, DEPLOYMENTS, "{'metadata':{'name':'d'},'spec':{" TEMPLATE("") "}}"), 201);
        assert_int_equal(change(w, DEPLOYMENTS "/d", STRATEGIC_TYPE,
                                "{'metadata':{'annotations':{'a':null,'b':'c'}},'spec':{'strategy':7}}"),
                         422);
        assert_says(w, "Invalid value: \"map[metadata:map[annotations:map[b:c]] spec:map[strategy:7]]\": ");
}

static void a_quoted_document_has_owners_keys_in_their_own_order(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, DEPLOYMENTS,
                     "{'metadata':{'name':'d'},'spec':{" TEMPLATE(",'ports':[{'containerPort':443},{'containerPort':"
                                                                  "80}]") "}}"),
                201);
        assert_int_equal(change(w, DEPLOYMENTS "/d", MERGE_TYPE, "{'spec':'7'}"), 422);
        struct str text = str_from(at(w, "message"));
        struct str first = STR("k:{\\\\\\\"containerPort\\\\\\\":80"),
                   second = STR("k:{\\\\\\\"containerPort\\\\\\\":443");
        size_t at_first = 0, at_second = 0;

        for (size_t i = 0; i < text.n; i++) {
                at_first = at_first || !str_starts(str_sub(text, i, text.n), first) ? at_first : i;
                at_second = at_second || !str_starts(str_sub(text, i, text.n), second) ? at_second : i;
        }
        assert_true(at_first && at_first < at_second);
}

/* --- scale --- */

static void a_selector_is_told_sorted(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, DEPLOYMENTS,
                     "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'x':'1','b':'2'},'matchExpressions':["
                     "{'key':"
                     "'m','operator':'In','values':['c','a']},{'key':'b','operator':'Exists'},{'key':'a','operator':"
                     "'DoesNotExist'}]},'template':{'metadata':{'labels':{'x':'1','b':'2','m':'a'}},'spec':{'"
                     "containers':[{"
                     "'name':'main','image':'i'}]}}}}"),
                201);
        assert_int_equal(get(w, DEPLOYMENTS "/d/scale"), 200);
        assert_at(w, "status.selector", "!a,b=2,b,m in (a,c),x=1");
}

static void a_scale_writes_owners_in_another_order(void **state) {
        struct world *w = *state;

        assert_int_equal(apply(w, STATEFULSETS "/s?fieldManager=m",
                               quoted(w, "{'apiVersion':'apps/v1','kind':'StatefulSet','metadata':{'name':'s'},'spec':{"
                                         "'serviceName':'s'," TEMPLATE(
                                                 ",'ports':[{'containerPort':443},{'containerPort':80}]") "}}")),
                         201);
        const char *made = version(w);

        assert_int_equal(change(w, STATEFULSETS "/s/scale", MERGE_TYPE, "{'spec':{'replicas':1}}"), 200);
        assert_string_not_equal(version(w), made);
        const char *scaled = version(w);

        assert_int_equal(change(w, STATEFULSETS "/s/scale", MERGE_TYPE, "{'spec':{'replicas':1}}"), 200);
        assert_string_equal(version(w), scaled);
        assert_int_equal(change(w, STATEFULSETS "/s", MERGE_TYPE, "{}"), 200);
        assert_string_not_equal(version(w), scaled);
}

static void a_scale_may_name_another_object_only_in_vain(void **state) {
        static const char wrong[] = "{'apiVersion':'autoscaling/v1','kind':'Scale','metadata':{'name':'s','uid':"
                                    "'11111111-0000-0000-0000-000000000000'},'spec':{'replicas':2}}";
        struct world *w = *state;

        assert_int_equal(make(w, STATEFULSETS, "{'metadata':{'name':'s'},'spec':{'serviceName':'s'," TEMPLATE("") "}}"),
                         201);
        assert_int_equal(apply(w, STATEFULSETS "/s/scale?fieldManager=m&force=true", quoted(w, wrong)), 409);
        assert_says(w, "Operation cannot be fulfilled on statefulsets/scale.apps \"s\": Precondition failed: UID in "
                       "precondition: 11111111-0000-0000-0000-000000000000, UID in object meta: ");
        assert_int_equal(ask(w, KUBE_PUT, STATEFULSETS "/none/scale", quoted(w, "{'spec':{'replicas':2}}")), 400);
        assert_message(w, "the name of the object (none based on URL) was undeterminable: name must be provided");
        assert_int_equal(ask(w, KUBE_PUT, STATEFULSETS "/s/scale", quoted(w, "{'kind':true}")), 400);
        assert_says(w, "the object provided is unrecognized (must be of type Scale): ");
}

static void a_custom_resource_without_replicas_is_not_scaled_by_nothing(void **state) {
        struct world *w = *state;

        define_things(w);
        assert_int_equal(make(w, THINGS, "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'}}"),
                         201);
        assert_int_equal(change(w, THINGS "/t/scale", MERGE_TYPE, "{'spec':{}}"), 400);
        assert_message(w, "the spec replicas field \".spec.replicas\" cannot be empty");
        assert_int_equal(
                change(w, THINGS "/t/scale", JSON_PATCH_TYPE, "[{'op':'replace','path':'/spec/replicas','value':2}]"),
                200);
        assert_at(w, "spec.replicas", "2");
}

/* --- owners --- */

static void who_spells_a_quantity_anew_owns_the_list_around_it(void **state) {
        static const char body[] =
                "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':'h'},"
                "'spec':{'maxReplicas':4,'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment',"
                "'name':'w'},'metrics':[{'type':'Pods','pods':{'metric':{'name':'r'},'target':{'type':"
                "'AverageValue','averageValue':%s}}}]}}";
        struct world *w = *state;
        char sent[1024];

        snprintf(sent, sizeof sent, body, "0.5");
        assert_int_equal(apply(w, SCALERS "/h?fieldManager=a", quoted(w, sent)), 201);
        assert_int_equal(ask(w, KUBE_PUT, SCALERS "/h?fieldManager=b&dryRun=All", quoted(w, sent)), 200);
        assert_at(w, "metadata.managedFields.1.fieldsV1", "{\"f:spec\":{\"f:metrics\":{}}}");
        assert_at(w, "spec.metrics.0.pods.target.averageValue", "500m");
        snprintf(sent, sizeof sent, body, "'500m'");
        assert_int_equal(ask(w, KUBE_PUT, SCALERS "/h?fieldManager=b&dryRun=All", quoted(w, sent)), 200);
        assert_at(w, "metadata.managedFields.1", "");
}

static void an_object_without_owners_that_has_no_keys_is_not_applied_to(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, ACCOUNTS, "{'metadata':{'name':'a'},'secrets':[{}]}"), 201);
        assert_int_equal(apply(w, ACCOUNTS "/a?fieldManager=m",
                               quoted(w, "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'a'}}")),
                         500);
        assert_message(
                w, "failed to create manager for existing fields: failed to convert new object (default/a; /v1, "
                   "Kind=ServiceAccount) to smd typed: .secrets: element 0: associative list with keys has an element "
                   "that omits all key fields [\"name\"] (and doesn't have default values for any key fields)");
}

/* --- custom resources --- */

static void an_object_of_another_kind_is_checked_for_doubled_items(void **state) {
        struct world *w = *state;

        define_things(w);
        assert_int_equal(
                make(w, THINGS,
                     "{'apiVersion':'example.com/v1','kind':'Bad','metadata':{'name':'t'},'spec':{'tags':['a','a']}}"),
                422);
        assert_message(w,
                       "Bad.example.com \"t\" is invalid: [kind: Invalid value: \"Bad\": must be Thing, spec.tags[1]: "
                       "Duplicate value: \"a\"]");
        assert_int_equal(make(w, THINGS, "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'}}"),
                         201);
        assert_int_equal(change(w, THINGS "/t", MERGE_TYPE,
                                "{'kind':'Bad','metadata':{'uid':'11111111-0000-0000-0000-000000000000'}}"),
                         422);
        assert_message(
                w, "Bad.example.com \"t\" is invalid: [metadata.uid: Invalid value: "
                   "\"11111111-0000-0000-0000-000000000000\": field is immutable, kind: Invalid value: \"Bad\": must "
                   "be Thing]");
        assert_int_equal(ask(w, KUBE_PUT, THINGS "/none",
                             quoted(w, "{'apiVersion':'example.com/v1','kind':'Bad','metadata':{'name':'none'}}")),
                         404);
}

static void the_end_of_a_custom_resource_shows_what_an_apply_emptied(void **state) {
        static const char body[] = "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t',%s}}";
        struct world *w = *state;
        char sent[512];

        define_things(w);
        snprintf(sent, sizeof sent, body, "'labels':{'x':'y'},'finalizers':['a.b/c']");
        assert_int_equal(apply(w, THINGS "/t?fieldManager=m", quoted(w, sent)), 201);
        assert_int_equal(del(w, THINGS "/t"), 200);
        snprintf(sent, sizeof sent, body, "'labels':{},'annotations':{}");
        assert_int_equal(apply(w, THINGS "/t?fieldManager=m", quoted(w, sent)), 200);
        assert_at(w, "metadata.labels", "null");
        assert_at(w, "metadata.annotations", "{}");
        assert_int_equal(get(w, THINGS "/t"), 404);
}

static void an_object_of_another_kind_has_no_unknown_fields(void **state) {
        static const char odd[] = "{'apiVersion':'example.com/v1','kind':'Odd','metadata':{'name':'t'},'spec':{'x':1}}";
        struct world *w = *state;

        define_things(w);
        assert_int_equal(make(w, THINGS, odd), 422);
        assert_says(w, "Odd.example.com \"t\" is invalid: kind: Invalid value: \"Odd\": must be Thing");
        assert_int_equal(w->reply.warning_count, 0);
        assert_int_equal(make(w, THINGS "?fieldValidation=Strict", odd), 422);
}

static void another_version_is_refused_after_strict_reading(void **state) {
        static const char none[] = "{'kind':'Thing','metadata':{'name':'t'},'spec':{'tags':null,'tags':['t']}}",
                          other[] = "{'apiVersion':'example.com/v9','kind':'Thing','metadata':{'name':'t'},'spec':{}}";
        struct world *w = *state;

        define_things(w);
        assert_int_equal(make(w, THINGS, none), 400);
        assert_message(w, "the API version in the data () does not match the expected API version (example.com/v1)");
        assert_int_equal(w->reply.warning_count, 1);
        assert_true(str_eqc(w->reply.warnings[0], "duplicate field \"spec.tags\""));
        assert_int_equal(make(w, THINGS "?fieldValidation=Strict", none), 400);
        assert_message(w, "Object 'apiVersion' is missing in 'object has no apiVersion field'");
        assert_int_equal(make(w, THINGS "?fieldValidation=Strict", other), 400);
        assert_message(w, "Thing in version \"v9\" cannot be handled as a Thing: strict decoding error: unknown field "
                          "\"spec\"");
}

static void an_int_or_string_of_a_schema_is_checked_by_the_schema(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                     "{'metadata':{'name':'things.example.com'},'spec':{'group':'example.com','scope':'Namespaced','"
                     "names':{'plural':'things','singular':'thing','kind':'Thing','listKind':'ThingList'},'versions':[{"
                     "'name':'v1','served':true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object','"
                     "properties'"
                     ":{'port':{'x-kubernetes-int-or-string':true}}}}}]}}"),
                201);
        world_run(w, 1000);
        assert_int_equal(apply(w, THINGS "/t?fieldManager=m",
                               quoted(w, "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'},"
                                         "'port':[]}")),
                         422);
        assert_says(w, "port in body must be of type integer,string: \"array\"");
}

#define OWNER "metadata.managedFields.0.manager"

static void a_custom_resources_scale_without_a_version_leaves_owners_alone(void **state) {
        static const char with[] = "{'apiVersion':'autoscaling/v1','metadata':{'name':'t'},'spec':{'replicas':2}}",
                          without[] = "{'kind':'Scale','metadata':{'name':'t'},'spec':{'replicas':3}}";
        struct world *w = *state;

        define_things(w);
        assert_int_equal(make(w, THINGS "?fieldManager=a",
                              "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'},'spec':{"
                              "'replicas':1}}"),
                         201);
        assert_int_equal(ask(w, KUBE_PUT, THINGS "/t/scale?fieldManager=b", quoted(w, with)), 200);
        get(w, THINGS "/t");
        assert_at(w, OWNER, "b");
        assert_int_equal(ask(w, KUBE_PUT, THINGS "/t/scale?fieldManager=c", quoted(w, without)), 200);
        get(w, THINGS "/t");
        assert_at(w, "spec.replicas", "3");
        assert_at(w, OWNER, "b");
        assert_int_equal(
                change(w, THINGS "/t/scale?fieldManager=c", MERGE_TYPE, "{'apiVersion':null,'spec':{'replicas':4}}"),
                200);
        get(w, THINGS "/t");
        assert_at(w, "spec.replicas", "4");
        assert_at(w, OWNER, "b");
}

static void assert_applied_port(struct world *w, const char *port, const char *stored) {
        char body[512], key[128];

        snprintf(body, sizeof body,
                 "{'apiVersion':'v1','kind':'Service','metadata':{'name':'s'},'spec':{'ports':[{'port':%s}]}}", port);
        assert_int_equal(apply(w, SERVICES "/s?fieldManager=m", quoted(w, body)), 201);
        assert_at(w, "spec.ports.0.port", stored);
        snprintf(key, sizeof key, "k:{\\\"port\\\":%s,", stored);
        if (!str_contains(str_from(at(w, "metadata.managedFields.0.fieldsV1")), str_from(key)))
                assert_string_equal(at(w, "metadata.managedFields.0.fieldsV1"), key);
        assert_int_equal(ask(w, KUBE_DELETE, SERVICES "/s", ""), 200);
}

static void numbers_that_are_applied_are_read_as_yaml(void **state) {
        struct world *w = *state;

        assert_applied_port(w, "1e3", "1000");
        assert_applied_port(w, "1000.0", "1000");
        assert_int_equal(
                apply(w, SERVICES "/s?fieldManager=m",
                      quoted(w, "{'apiVersion':'v1','kind':'Service','metadata':{'name':'s'},'spec':{'ports':[{"
                                "'port':1e999}]}}")),
                500);
        assert_says(w,
                    ".spec.ports[port=\"1e999\",protocol=\"TCP\"].port: expected numeric (int or float), got string");
}

/* Anything goes but in spec.known, which has an `a`. */
static void define_loose_things(struct world *w) {
        assert_int_equal(
                make(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                     "{'metadata':{'name':'things.example.com'},'spec':{'group':'example.com','scope':'Namespaced','"
                     "names':{'plural':'things','singular':'thing','kind':'Thing','listKind':'ThingList'},'versions':[{"
                     "'"
                     "name':'v1','served':true,'storage':true,'subresources':{'status':{}},'schema':{'openAPIV3Schema':"
                     "{'type':'object','x-kubernetes-preserve-unknown-fields':true,'properties':{'spec':{'type':'"
                     "object','properties':{'known':{'type':'object','properties':{'a':{'type':'integer'}}}}},'status':"
                     "{'type':'object','properties':{'known':{'type':'object','properties':{'a':{'type':'integer'}}}}"
                     "}}}}}]}}"),
                201);
        world_run(w, 1000);
}

#define LOOSE(rest) "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'}," rest "}"

/* The last apply stored more than can be read only where it may write. */
static void what_an_apply_may_not_write_makes_no_difference(void **state) {
        struct world *w = *state;
        const char *config = quoted(w, LOOSE("'top':1")), *spec = quoted(w, LOOSE("'spec':{'known':{'odd':'x'}}")),
                   *status = quoted(w, LOOSE("'status':{'known':{'odd':'x'}}"));

        define_loose_things(w);
        assert_int_equal(apply(w, THINGS "/t?fieldManager=m", config), 201);
        assert_int_equal(apply(w, THINGS "/t/status?fieldManager=n", spec), 200);
        const char *written = version(w);

        assert_int_equal(apply(w, THINGS "/t?fieldManager=m", config), 200);
        assert_string_equal(version(w), written);
        assert_int_equal(apply(w, THINGS "/t?fieldManager=o", status), 200);
        written = version(w);
        assert_int_equal(apply(w, THINGS "/t?fieldManager=m", config), 200);
        assert_string_equal(version(w), written);
        assert_int_equal(apply(w, THINGS "/t/status?fieldManager=n", status), 200);
        written = version(w);
        assert_int_equal(apply(w, THINGS "/t?fieldManager=m", config), 200);
        assert_string_not_equal(version(w), written);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(only_strict_reading_looks_at_a_json_patchs_members),
                CASE(a_merge_patch_may_be_a_list_that_is_no_object),
                CASE(a_long_refusal_of_a_directive_is_told_whole),
                CASE(nulls_in_what_is_new_are_not_quoted),
                CASE(a_quoted_document_has_owners_keys_in_their_own_order),
                CASE(a_selector_is_told_sorted),
                CASE(a_scale_writes_owners_in_another_order),
                CASE(a_scale_may_name_another_object_only_in_vain),
                CASE(a_custom_resource_without_replicas_is_not_scaled_by_nothing),
                CASE(who_spells_a_quantity_anew_owns_the_list_around_it),
                CASE(an_object_without_owners_that_has_no_keys_is_not_applied_to),
                CASE(an_object_of_another_kind_is_checked_for_doubled_items),
                CASE(the_end_of_a_custom_resource_shows_what_an_apply_emptied),
                CASE(an_object_of_another_kind_has_no_unknown_fields),
                CASE(another_version_is_refused_after_strict_reading),
                CASE(an_int_or_string_of_a_schema_is_checked_by_the_schema),
                CASE(a_custom_resources_scale_without_a_version_leaves_owners_alone),
                CASE(numbers_that_are_applied_are_read_as_yaml),
                CASE(what_an_apply_may_not_write_makes_no_difference),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
