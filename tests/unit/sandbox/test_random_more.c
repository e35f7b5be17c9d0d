/* SPDX-License-Identifier: Apache-2.0 */
/* What random requests brought up (tests/cluster/fidelity), once more; answers as a v1.37.2 API server gave them. */
#include "sandbox/quoted.h"

#define SECRETS       "/api/v1/namespaces/default/secrets"
#define ROLES         "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
#define ROLE_BINDINGS "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
#define CLASSES       "/apis/storage.k8s.io/v1/storageclasses"

/* --- what is stored in another way than it is read --- */

static void a_null_among_bytes_is_written_each_time_and_read_once(void **state) {
        static const char nothing[] = "[]", null[] = "[{'op':'add','path':'/data/b','value':null}]";
        struct world *w = *state;

        assert_int_equal(make(w, SECRETS, "{'metadata':{'name':'s'},'data':{'b':null}}"), 201);
        assert_at(w, "data.b", "");
        const char *first = version(w);

        assert_int_equal(change(w, SECRETS "/s", JSON_PATCH_TYPE, nothing), 200);
        const char *read = version(w);
        assert_string_not_equal(read, first);
        assert_int_equal(change(w, SECRETS "/s", JSON_PATCH_TYPE, nothing), 200);
        assert_string_equal(version(w), read);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(change(w, SECRETS "/s", JSON_PATCH_TYPE, null), 200);
                assert_string_not_equal(version(w), read);
                read = version(w);
        }
        /* An apply that changes nothing reads it as well. */
        assert_int_equal(
                apply(w, SECRETS "/s?fieldManager=m&force=true",
                      quoted(w, "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'s'},'data':{'b':null}}")),
                200);
        assert_string_not_equal(version(w), read);
}

static void a_null_among_bytes_is_a_change_of_what_may_not_change(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, CM, "{'metadata':{'name':'a'},'binaryData':{'b':''},'immutable':true}"), 201);
        assert_int_equal(change(w, CM "/a", JSON_PATCH_TYPE, "[{'op':'add','path':'/binaryData/b','value':''}]"), 200);
        assert_int_equal(change(w, CM "/a", JSON_PATCH_TYPE, "[{'op':'add','path':'/binaryData/b','value':null}]"),
                         422);
        assert_says(w, "binaryData: Forbidden: field is immutable when `immutable` is set");
        assert_int_equal(
                make(w, SECRETS,
                     "{'metadata':{'name':'s'},'type':'kubernetes.io/ssh-auth','data':{'ssh-privatekey':null}}"),
                201);
}

static void only_a_null_that_stays_counts(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, SECRETS, "{'metadata':{'name':'s'},'data':{'b':null,'c':''},'stringData':{'b':'x'}}"),
                         201);
        const char *made = version(w);

        assert_int_equal(change(w, SECRETS "/s", JSON_PATCH_TYPE, "[]"), 200);
        assert_string_equal(version(w), made);
        assert_int_equal(make(w, CM, "{'metadata':{'name':'a'},'data':{'b':null},'binaryData':{'c':''}}"), 201);
        made = version(w);
        assert_int_equal(change(w, CM "/a", JSON_PATCH_TYPE, "[]"), 200);
        assert_string_equal(version(w), made);
        assert_int_equal(make(w, CM, "{'metadata':{'name':'b'},'binaryData':{'c':null}}"), 201);
        made = version(w);
        assert_int_equal(change(w, CM "/b", JSON_PATCH_TYPE, "[]"), 200);
        assert_string_not_equal(version(w), made);
}

static void the_end_of_an_object_shows_the_empty_list_it_was_sent(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, ROLES,
                              "{'metadata':{'name':'r','finalizers':['a.b/c']},'rules':[{'apiGroups':[''],'resources':["
                              "'pods'],'verbs':['get']}]}"),
                         201);
        assert_int_equal(del(w, ROLES "/r"), 200);
        assert_int_equal(change(w, ROLES "/r", MERGE_TYPE, "{'metadata':{'finalizers':null},'rules':[]}"), 200);
        assert_at(w, "rules", "[]");
        assert_int_equal(get(w, ROLES "/r"), 404);
}

static void what_was_of_an_object_that_has_gone_meanwhile_is_json(void **state) {
        struct world *w = *state;

        define_things(w);
        assert_int_equal(make(w, THINGS, "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'}}"),
                         201);
        assert_int_equal(del(w, THINGS "/t?propagationPolicy=Orphan"), 200);
        assert_int_equal(del(w, THINGS "/t?propagationPolicy=Background&dryRun=All"), 200);
        assert_string_equal(value_canonical(w->arena, w->body).p,
                            "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\"}");
}

static void a_service_that_its_status_made_has_no_address_to_give_back(void **state) {
        struct world *w = *state;

        assert_int_equal(
                apply(w, SERVICES "/s/status?fieldManager=m",
                      quoted(w,
                             "{'apiVersion':'v1','kind':'Service','metadata':{'name':'s'},'spec':{'ports':[{'port':80}]"
                             "},'status':{'loadBalancer':{}}}")),
                201);
        assert_int_equal(change(w, SERVICES "/s", MERGE_TYPE, "{'metadata':{'labels':{'a':'b'}}}"), 200);
        assert_at(w, "spec.ipFamilies", "[\"IPv4\"]");
        assert_at(w, "spec.clusterIPs", "");
        assert_int_equal(change(w, SERVICES "/s", MERGE_TYPE, "{'spec':{'type':'ExternalName','externalName':'a.b'}}"),
                         422);
        assert_int_equal(get(w, SERVICES "/s"), 200);
        assert_at(w, "spec.type", "ClusterIP");
}

static void a_scale_of_null_is_none_and_a_broken_one_is_refused(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, DEPLOYMENTS, "{'metadata':{'name':'d'},'spec':{" TEMPLATE("") "}}"), 201);
        assert_int_equal(
                apply(w, DEPLOYMENTS "/d/scale?fieldManager=m&force=true",
                      quoted(w, "{'apiVersion':'autoscaling/v1','kind':'Scale','metadata':{'name':'d'},'spec':{"
                                "'replicas':null}}")),
                200);
        assert_int_equal(get(w, DEPLOYMENTS "/d"), 200);
        assert_at(w, "spec.replicas", "0");
        assert_int_equal(
                apply(w, DEPLOYMENTS "/d/scale?fieldManager=m&force=true",
                      quoted(w, "{'apiVersion':'autoscaling/v1','kind':'Scale','metadata':{'name':'d'},'spec':{"
                                "'replicas':1.5}}")),
                500);
        assert_message(
                w, "failed to convert new object (/d; autoscaling/v1, Kind=Scale) to proper version: unable to convert "
                   "unstructured object to autoscaling/v1, Kind=Scale: cannot convert float64 to int32");
}

/* --- behind pointers an empty value is one --- */

static void what_go_has_behind_a_pointer_has_no_default_when_it_is_empty(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, SERVICES,
                              "{'metadata':{'name':'s'},'spec':{'ports':[{'port':80}],"
                              "'internalTrafficPolicy':''}}"),
                         422);
        assert_says(w, "spec.internalTrafficPolicy: Unsupported value: \"\": supported values: \"Cluster\", \"Local\"");
        assert_int_equal(make(w, JOBS, "{'metadata':{'name':'j'},'spec':{'podReplacementPolicy':''," JOB_POD("") "}}"),
                         422);
        assert_says(w, "spec.podReplacementPolicy: Unsupported value: \"\": supported values: \"Failed\", "
                       "\"TerminatingOrFailed\"");
        assert_int_equal(
                make(w, JOBS, "{'metadata':{'name':'j'},'spec':{'podReplacementPolicy':null," JOB_POD("") "}}"), 201);
        assert_at(w, "spec.podReplacementPolicy", "TerminatingOrFailed");
}

static void a_policy_without_rules_is_another_than_none(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, JOBS, "{'metadata':{'name':'j'},'spec':{" JOB_POD("") "}}"), 201);
        assert_int_equal(change(w, JOBS "/j", STRATEGIC_TYPE, "{'spec':{'podFailurePolicy':{'rules':null}}}"), 422);
        assert_says(w, "spec.podFailurePolicy: Invalid value: {\"Rules\":null}: field is immutable");
}

static void an_empty_struct_in_a_jobs_template_is_a_change(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, JOBS, "{'metadata':{'name':'j'},'spec':{" JOB_POD("") "}}"), 201);
        assert_int_equal(change(w, JOBS "/j", MERGE_TYPE, "{'spec':{'template':{'spec':{'tolerations':[]}}}}"), 200);
        assert_int_equal(change(w, JOBS "/j", MERGE_TYPE, "{'spec':{'template':{'spec':{'affinity':{}}}}}"), 422);
        assert_says(w, "spec.template: Invalid value: ");
}

#define GENERATION(n) "'annotations':{'deprecated.daemonset.template.generation':'" n "'}"
#define DAEMON(name, n)                                                                                                \
        "{'apiVersion':'apps/v1','kind':'DaemonSet','metadata':{'name':'" name                                         \
        "'," GENERATION(n) "},'spec':{" TEMPLATE("") "}}"

static void a_daemon_sets_generation_is_a_number(void **state) {
        static const char refusal[] =
                "DaemonSet in version \"v1\" cannot be handled as a DaemonSet: strconv.ParseInt: parsing %s";
        struct world *w = *state;

        assert_int_equal(make(w, DAEMONSETS, DAEMON("d", "x y")), 400);
        assert_message(w, arena_strf(w->arena, refusal, "\"x y\": invalid syntax").p);
        assert_int_equal(make(w, DAEMONSETS, DAEMON("d", "")), 400);
        assert_message(w, arena_strf(w->arena, refusal, "\"\": invalid syntax").p);
        assert_int_equal(make(w, DAEMONSETS, DAEMON("d", "99999999999999999999")), 400);
        assert_message(w, arena_strf(w->arena, refusal, "\"99999999999999999999\": value out of range").p);
        assert_int_equal(make(w, DAEMONSETS "?dryRun=All", DAEMON("d", "-7")), 201);
        assert_at(w, "metadata.annotations", "{\"deprecated.daemonset.template.generation\":\"1\"}");
        assert_int_equal(make(w, DAEMONSETS, DAEMON("d", "+7")), 201);
        assert_at(w, "metadata.annotations", "{\"deprecated.daemonset.template.generation\":\"7\"}");
        assert_int_equal(change(w, DAEMONSETS "/d", MERGE_TYPE, "{'metadata':{" GENERATION("9") "}}"), 200);
        assert_at(w, "metadata.annotations", "{\"deprecated.daemonset.template.generation\":\"7\"}");
}

static void a_patch_that_spoils_a_generation_is_refused_in_its_own_way(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, DAEMONSETS, DAEMON("d", "1")), 201);
        assert_int_equal(change(w, DAEMONSETS "/d", MERGE_TYPE, "{'metadata':{" GENERATION("x y") "}}"), 422);
        assert_says(w, "patch: Invalid value: \"{");
        assert_says(w, "}\": strconv.ParseInt: parsing \"x y\": invalid syntax");
        assert_int_equal(change(w, DAEMONSETS "/d", STRATEGIC_TYPE, "{'metadata':{" GENERATION("x y") "}}"), 500);
        assert_message(w, "strconv.ParseInt: parsing \"x y\": invalid syntax");
        assert_int_equal(apply(w, DAEMONSETS "/d?fieldManager=m&force=true", quoted(w, DAEMON("d", "x y"))), 500);
        assert_message(
                w, "failed to convert to unversioned (/d; apps/v1, Kind=DaemonSet): strconv.ParseInt: parsing \"x y\": "
                   "invalid syntax");
        assert_int_equal(apply(w, DAEMONSETS "/e?fieldManager=m", quoted(w, DAEMON("e", "x y"))), 500);
}

static void the_status_of_a_daemon_set_leaves_its_generation_alone(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, DAEMONSETS, DAEMON("d", "5")), 201);
        assert_int_equal(change(w, DAEMONSETS "/d/status", MERGE_TYPE,
                                "{'metadata':{'annotations':null},'status':{'numberReady':1}}"),
                         200);
        assert_at(w, "metadata.annotations", "{\"deprecated.daemonset.template.generation\":\"5\"}");
}

static void an_autoscaler_given_no_policies_gets_none_by_default(void **state) {
#define AUTOSCALER(name, behavior)                                                                                     \
        "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':'" name                    \
        "'},'spec':{'maxReplicas':3,'behavior':" behavior                                                              \
        ",'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'a'}}}"
        struct world *w = *state;

        assert_int_equal(make(w, SCALERS, AUTOSCALER("a", "{'scaleUp':{'policies':[]}}")), 422);
        assert_message(w,
                       "HorizontalPodAutoscaler.autoscaling \"a\" is invalid: spec.behavior.scaleUp.policies: Required "
                       "value: must specify at least one Policy");
        assert_int_equal(make(w, SCALERS, AUTOSCALER("a", "{'scaleDown':{'stabilizationWindowSeconds':0}}")), 201);
        assert_int_equal(change(w, SCALERS "/a", JSON_PATCH_TYPE,
                                "[{'op':'add','path':'/spec/behavior/scaleUp','value':{'policies':[]}}]"),
                         422);
        assert_says(w, "spec.behavior.scaleUp.policies: Required value");
        assert_int_equal(change(w, SCALERS "/a", MERGE_TYPE, "{'spec':{'behavior':{'scaleDown':{'policies':[]}}}}"),
                         422);
        assert_says(w, "spec.behavior.scaleDown.policies: Required value");
        assert_int_equal(
                apply(w, SCALERS "/b?fieldManager=m", quoted(w, AUTOSCALER("b", "{'scaleDown':{'policies':[]}}"))),
                422);
        assert_int_equal(change(w, SCALERS "/a", MERGE_TYPE, "{'spec':{'behavior':{'scaleUp':{'policies':null}}}}"),
                         200);
        assert_at(w, "spec.behavior.scaleUp.policies.0.value", "4");
}

/* --- checks --- */

static void a_binding_that_names_nobody_else_is_told_in_the_servers_order(void **state) {
        static const char binding[] =
                "{'metadata':{'name':'b'},'roleRef':{'kind':'Role','name':'%s'},'subjects':[{'kind':"
                "'%s','name':'x'}]}";
        struct world *w = *state;
        char body[512];

        snprintf(body, sizeof body, binding, "r", "User");
        assert_int_equal(make(w, ROLE_BINDINGS, body), 201);
        assert_int_equal(change(w, ROLE_BINDINGS "/b", MERGE_TYPE,
                                "{'roleRef':{'name':''},'subjects':[{'kind':'X','name':'x'}]}"),
                         422);
        assert_message(
                w, "RoleBinding.rbac.authorization.k8s.io \"b\" is invalid: [roleRef.name: Required value, "
                   "subjects[0].kind: Unsupported value: \"X\": supported values: \"ServiceAccount\", \"User\", "
                   "\"Group\", roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\","
                   "\"Name\":\"\"}: field is immutable]");
        snprintf(body, sizeof body, binding, "a/b", "X");
        assert_int_equal(make(w, ROLE_BINDINGS, body), 422);
        assert_says(w, "is invalid: [roleRef.name: Invalid value: \"a/b\": may not contain '/', subjects[0].kind: ");
        snprintf(body, sizeof body, binding, "", "X");
        assert_int_equal(make(w, ROLE_BINDINGS, body), 422);
        assert_says(w, "\"Group\", roleRef.name: Required value]");
}

static void replicas_of_a_custom_resource_are_told_before_its_lists(void **state) {
        static const char faults[] = "Thing.example.com \"t\" is invalid: [.spec.replicas: Invalid value: -1: should "
                                     "be a non-negative integer, "
                                     "spec.tags[1]: Duplicate value: \"a\"]";
        struct world *w = *state;

        define_things(w);
        assert_int_equal(
                make(w, THINGS,
                     "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'},'spec':{'replicas':-1,"
                     "'tags':['a','a']}}"),
                422);
        assert_message(w, faults);
        assert_int_equal(make(w, THINGS, "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'}}"),
                         201);
        assert_int_equal(change(w, THINGS "/t", MERGE_TYPE, "{'spec':{'replicas':-1,'tags':['a','a']}}"), 422);
        assert_message(w, faults);
}

static void a_volumes_label_may_become_empty(void **state) {
        static const char volume[] = "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["
                                     "'ReadWriteOnce'],'hostPath':{'path':'/data'},'nodeAffinity':{'required':{"
                                     "'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':'In',"
                                     "'values':['a']}]}]}}}}";
        static const char key[] = "[{'op':'replace','path':'/spec/nodeAffinity/required/nodeSelectorTerms/0/"
                                  "matchExpressions/0/key','value':'%s'}]";
        struct world *w = *state;
        char patch_text[256];

        assert_int_equal(make(w, VOLUMES, volume), 201);
        snprintf(patch_text, sizeof patch_text, key, "");
        assert_int_equal(change(w, VOLUMES "/v", JSON_PATCH_TYPE, patch_text), 422);
        assert_null(strstr(at(w, "message"), "immutable"));
        snprintf(patch_text, sizeof patch_text, key, "other");
        assert_int_equal(change(w, VOLUMES "/v", JSON_PATCH_TYPE, patch_text), 422);
        assert_says(w, "field is immutable, except for updating from beta label to GA");
}

static void parameters_of_a_class_have_names(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, CLASSES, "{'metadata':{'name':'c'},'provisioner':'a.b/c','parameters':{'':'x'}}"),
                         422);
        assert_message(
                w, "StorageClass.storage.k8s.io \"c\" is invalid: parameters: Invalid value: \"\": field can not be "
                   "empty.");
        assert_int_equal(make(w, CLASSES, "{'metadata':{'name':'c'},'provisioner':'a.b/c'}"), 201);
        assert_int_equal(change(w, CLASSES "/c", MERGE_TYPE, "{'parameters':{'':'x','a':'1'}}"), 422);
        assert_message(
                w, "StorageClass.storage.k8s.io \"c\" is invalid: [parameters: Invalid value: \"\": field can not be "
                   "empty., parameters: Invalid value: null: field is immutable]");
}

static void topologies_are_sets(void **state) {
        static const char class[] =
                "{'metadata':{'name':'c'},'provisioner':'a.b/c','allowedTopologies':[{'matchLabelExpressions':["
                "{'key':'x','values':['a','b']},{'key':'y','values':['c']}]},{'matchLabelExpressions':[%s]}]}";
        struct world *w = *state;

        assert_int_equal(
                make(w, CLASSES,
                     arena_strf(w->arena, class, "{'key':'y','values':['c']},{'key':'x','values':['b','a']}").p),
                422);
        assert_says(w, "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"");
        assert_int_equal(make(w, CLASSES, arena_strf(w->arena, class, "{'key':'x','values':['a','b']}").p), 201);
}

static const char *class_of(struct world *w, const char *resources) {
        assert_int_equal(
                make(w, PODS "?dryRun=All",
                     arena_strf(w->arena,
                                "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i','resources':%s}"
                                "]}}",
                                resources)
                             .p),
                201);
        return at(w, "status.qosClass");
}

static void nothing_is_asked_for_by_zeros(void **state) {
        struct world *w = *state;

        assert_string_equal(class_of(w, "{}"), "BestEffort");
        assert_string_equal(class_of(w, "{'requests':{'cpu':null}}"), "BestEffort");
        assert_string_equal(class_of(w, "{'requests':{'cpu':'0','memory':'0'}}"), "BestEffort");
        assert_string_equal(class_of(w, "{'requests':{'ephemeral-storage':'1Gi'}}"), "BestEffort");
        assert_string_equal(class_of(w, "{'requests':{'cpu':'1'}}"), "Burstable");
        assert_string_equal(class_of(w, "{'limits':{'cpu':'1'}}"), "Burstable");
        assert_string_equal(class_of(w, "{'limits':{'cpu':'1','memory':'0'}}"), "Burstable");
        assert_string_equal(class_of(w, "{'limits':{'cpu':'1','memory':'1Gi'}}"), "Guaranteed");
        assert_string_equal(class_of(w, "{'limits':{'cpu':'1','memory':'1Gi'},'requests':{'cpu':'500m'}}"),
                            "Burstable");
}

/* --- resources within resources --- */

static void define_holders(struct world *w) {
        assert_int_equal(
                make(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                     "{'metadata':{'name':'things.example.com'},'spec':{'group':'example.com','scope':'Namespaced','"
                     "names':{'plural':'things','singular':'thing','kind':'Thing','listKind':'ThingList'},'versions':[{"
                     "'name':'v1','served':true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object','"
                     "properties':{'in':{'type':'object','x-kubernetes-embedded-resource':true,"
                     "'x-kubernetes-preserve-unknown-fields':true},'map':{'type':'object','additionalProperties':{"
                     "'type':'object','x-kubernetes-embedded-resource':true,'x-kubernetes-preserve-unknown-fields':"
                     "true}"
                     "}}}}}]}}"),
                201);
        world_run(w, 1000);
}

static const char *held_fault(struct world *w, const char *member, const char *held) {
        make(w, THINGS,
             arena_strf(w->arena, "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'t'},'%s':%s}",
                        member, held)
                     .p);
        return at(w, "message") + (w->reply.status == 422 ? strlen("Thing.example.com \"t\" is invalid: ") : 0);
}

static void a_resource_within_is_checked_as_one(void **state) {
        struct world *w = *state;

        define_holders(w);
        assert_string_equal(held_fault(w, "in", "{}"), "[in.apiVersion: Required value, in.kind: Required value]");
        assert_string_equal(held_fault(w, "in", "{'apiVersion':'a/b/c','kind':'K'}"),
                            "in.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c");
        assert_string_equal(held_fault(w, "in", "{'apiVersion':'','kind':'K'}"),
                            "in.apiVersion: Invalid value: \"\": must not be empty");
        assert_string_equal(held_fault(w, "in", "{'apiVersion':'v1','kind':''}"),
                            "in.kind: Invalid value: \"\": must not be empty");
        assert_non_null(strstr(
                held_fault(w, "in", "{'apiVersion':'v1','kind':'No Kind'}"),
                "in.kind: Invalid value: \"No Kind\": may have mixed case, but should otherwise match: a DNS-1035"));
        assert_non_null(
                strstr(held_fault(w, "in", "{'apiVersion':'v1','kind':'K','metadata':{'labels':{'x':'no value'}}}"),
                       "in.metadata.labels: Invalid value: \"no value\": a valid label must be an empty string"));
        assert_string_equal(held_fault(w, "in", "{'apiVersion':'v1','kind':'K','metadata':{'name':'a/b'}}"),
                            "in.metadata.name: Invalid value: \"a/b\": may not contain '/'");
        assert_non_null(strstr(held_fault(w, "in", "{'apiVersion':'v1','kind':'K','metadata':{'namespace':'A'}}"),
                               "in.metadata.namespace: Invalid value: \"A\": a lowercase RFC 1123 label"));
        assert_string_equal(held_fault(w, "map", "{'k.x':{'kind':'K'}}"), "map[k.x].apiVersion: Required value");
        assert_string_equal(held_fault(w, "in", "{'apiVersion':'v1','kind':'K','metadata':{}}"), "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_null_among_bytes_is_written_each_time_and_read_once),
                CASE(a_null_among_bytes_is_a_change_of_what_may_not_change),
                CASE(only_a_null_that_stays_counts),
                CASE(the_end_of_an_object_shows_the_empty_list_it_was_sent),
                CASE(what_was_of_an_object_that_has_gone_meanwhile_is_json),
                CASE(a_service_that_its_status_made_has_no_address_to_give_back),
                CASE(a_scale_of_null_is_none_and_a_broken_one_is_refused),
                CASE(what_go_has_behind_a_pointer_has_no_default_when_it_is_empty),
                CASE(a_policy_without_rules_is_another_than_none),
                CASE(an_empty_struct_in_a_jobs_template_is_a_change),
                CASE(a_daemon_sets_generation_is_a_number),
                CASE(a_patch_that_spoils_a_generation_is_refused_in_its_own_way),
                CASE(the_status_of_a_daemon_set_leaves_its_generation_alone),
                CASE(an_autoscaler_given_no_policies_gets_none_by_default),
                CASE(a_binding_that_names_nobody_else_is_told_in_the_servers_order),
                CASE(replicas_of_a_custom_resource_are_told_before_its_lists),
                CASE(a_volumes_label_may_become_empty),
                CASE(parameters_of_a_class_have_names),
                CASE(topologies_are_sets),
                CASE(nothing_is_asked_for_by_zeros),
                CASE(a_resource_within_is_checked_as_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
