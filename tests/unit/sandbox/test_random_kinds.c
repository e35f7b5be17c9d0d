/* SPDX-License-Identifier: Apache-2.0 */
/* What random requests brought up (tests/cluster/fidelity), continued: kinds; answers as a v1.37.2 API server gave
 * them. */
#include "sandbox/quoted.h"

/* --- workloads --- */

static void collisions_are_not_forgotten(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, DAEMONSETS, "{'metadata':{'name':'d'},'spec':{" TEMPLATE("") "}}"), 201);
        assert_int_equal(change(w, DAEMONSETS "/d/status", MERGE_TYPE, "{'status':{'collisionCount':0}}"), 200);
        assert_int_equal(change(w, DAEMONSETS "/d/status", MERGE_TYPE, "{'status':{'collisionCount':null}}"), 422);
        assert_says(w, "status.collisionCount: Invalid value: 0: cannot be decremented");
}

static void a_cron_jobs_template_is_warned_of(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, CRONJOBS,
                              "{'metadata':{'name':'c'},'spec':{'schedule':'@daily','jobTemplate':{'spec':{" JOB_POD(
                                      ",'env':[{'name':'A','value':'1'},{'name':'A','value':'2'}]") "}}}}"),
                         201);
        assert_int_equal(w->reply.warning_count, 1);
        assert_string_equal(
                w->reply.warnings[0].p,
                "spec.jobTemplate.spec.template.spec.containers[0].env[1]: hides previous definition of \"A\", "
                "which may be dropped when using apply");
}

static void names_that_are_no_labels_are_warned_of(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, JOBS, "{'metadata':{'name':'a.b'},'spec':{" JOB_POD("") "}}"), 201);
        assert_int_equal(w->reply.warning_count, 1);
        assert_string_equal(w->reply.warnings[0].p,
                            "metadata.name: this is used in Pod names and hostnames, which can result in surprising "
                            "behavior; a DNS label is recommended: [must not contain dots]");
}

static void empty_lists_are_shown_as_they_were_sent(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, JOBS,
                     "{'metadata':{'name':'j'},'spec':{'podFailurePolicy':{'rules':[{'action':'FailJob','onExitCodes':"
                     "{'operator':'In','values':[]}}]}," JOB_POD("") "}}"),
                422);
        assert_says(
                w,
                "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: []: at least one value is required");
}

static void an_indexed_job_may_have_had_more_successes(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, JOBS,
                     "{'metadata':{'name':'j'},'spec':{'completionMode':'Indexed','completions':2,'parallelism':"
                     "2," JOB_POD("") "}}"),
                201);
        assert_int_equal(change(w, JOBS "/j/status", MERGE_TYPE, "{'status':{'succeeded':-1}}"), 422);
        assert_says(
                w,
                "Job.batch \"j\" is invalid: status.succeeded: Invalid value: -1: must be greater than or equal to 0");
}

static void an_empty_mode_is_none(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, JOBS, "{'metadata':{'name':'j'},'spec':{'completionMode':''," JOB_POD("") "}}"), 422);
        assert_says(w, "spec.completionMode: Unsupported value: \"\": supported values: \"NonIndexed\", \"Indexed\"");
}

static void empty_requests_are_no_change_of_a_template(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, JOBS, "{'metadata':{'name':'j'},'spec':{" JOB_POD("") "}}"), 201);
        assert_int_equal(
                change(w, JOBS "/j", STRATEGIC_TYPE,
                       "{'spec':{'template':{'spec':{'containers':[{'name':'main','resources':{'requests':{'cpu':"
                       "null}}}]}}}}"),
                200);
}

static void a_blank_deployment_has_a_number_of_replicas(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, DEPLOYMENTS, "{'metadata':{'name':'d','finalizers':['orphan']},'spec':{" TEMPLATE("") "}}"),
                201);
        assert_int_equal(del(w, DEPLOYMENTS "/d?dryRun=All&propagationPolicy=Background"), 200);
        assert_at(w, "spec.replicas", "0");
        assert_at(w, "metadata", "{}");
}

static void a_deletion_that_only_takes_finalizers_away_meets_no_version(void **state) {
        struct world *w = *state;
        char body[256];

        assert_int_equal(make(w, CM, "{'metadata':{'name':'a','finalizers':['orphan']}}"), 201);
        snprintf(body, sizeof body, "{'propagationPolicy':'Background','preconditions':{'resourceVersion':'%s'}}",
                 version(w));
        assert_int_equal(ask(w, KUBE_DELETE, CM "/a", quoted(w, body)), 409);
        assert_says(w, "Operation cannot be fulfilled on configmaps \"a\": StorageError: invalid object, Code: 4, Key: "
                       "/registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
                       "ResourceVersion in precondition: , ResourceVersion in object meta: ");
        assert_int_equal(get(w, CM "/a"), 200);
}

/* --- other kinds --- */

static void make_pod(struct world *w) {
        assert_int_equal(make(w, ACCOUNTS, "{'metadata':{'name':'default'},'automountServiceAccountToken':false}"),
                         201);
        assert_int_equal(make(w, PODS, "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'main','image':'i'}]}}"),
                         201);
}

static void a_pod_keeps_its_class(void **state) {
        struct world *w = *state;

        make_pod(w);
        assert_int_equal(change(w, PODS "/p/status", STRATEGIC_TYPE, "{'status':null}"), 200);
        assert_at(w, "status.qosClass", "BestEffort");
}

static void empty_data_is_what_a_config_map_has_anyway(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, CM, "{'metadata':{'name':'a'},'immutable':true}"), 201);
        assert_int_equal(change(w, CM "/a", MERGE_TYPE, "{'data':{}}"), 200);
        assert_int_equal(change(w, CM "/a", MERGE_TYPE, "{'binaryData':{}}"), 422);
}

static void a_claim_is_written_again_by_the_first_update(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, CLAIMS, CLAIM("c")), 201);
        const char *made = version(w);

        assert_int_equal(change(w, CLAIMS "/c", JSON_PATCH_TYPE, "[]"), 200);
        assert_string_not_equal(version(w), made);
        const char *again = version(w);

        assert_int_equal(change(w, CLAIMS "/c", JSON_PATCH_TYPE, "[]"), 200);
        assert_string_equal(version(w), again);
}

static void a_namespace_is_not(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, "/api/v1/namespaces", "{'metadata':{'name':'n'}}"), 201);
        const char *made = version(w);

        assert_int_equal(change(w, "/api/v1/namespaces/n", JSON_PATCH_TYPE, "[]"), 200);
        assert_string_equal(version(w), made);
}

static void a_namespace_without_its_controller_stays(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, "/api/v1/namespaces", "{'metadata':{'name':'n','finalizers':['a.b/c','a.b/c']}}"),
                         201);
        assert_int_equal(del(w, "/api/v1/namespaces/n?propagationPolicy=Orphan"), 200);
        assert_at(w, "metadata.finalizers", "[\"a.b/c\",\"orphan\"]");
        world_run(w, 60000);
        assert_int_equal(get(w, "/api/v1/namespaces/n"), 200);
        assert_at(w, "status.phase", "Terminating");
}

static void a_volume_stays_where_it_is(void **state) {
        static const char volume[] =
                "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["
                "'ReadWriteOnce'],'hostPath':{'path':'/data'},'nodeAffinity':{'required':{"
                "'nodeSelectorTerms':[{'matchExpressions':[{'key':'beta.kubernetes.io/os','operator':'In',"
                "'values':['linux']}]}]}}}}";
        struct world *w = *state;

        assert_int_equal(make(w, VOLUMES, volume), 201);
        assert_int_equal(change(w, VOLUMES "/v", MERGE_TYPE,
                                "{'spec':{'nodeAffinity':{'required':{'nodeSelectorTerms':[{}]}}}}"),
                         422);
        assert_says(w, "nodeAffinity: Invalid value: {\"Required\":{\"NodeSelectorTerms\":[{\"MatchExpressions\":null,"
                       "\"MatchFields\":null}]}}: field is immutable, except for updating from beta label to GA");
        assert_int_equal(
                change(w, VOLUMES "/v", JSON_PATCH_TYPE,
                       "[{'op':'replace','path':'/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/"
                       "key','value':'kubernetes.io/os'}]"),
                200);
        assert_int_equal(change(w, VOLUMES "/v", MERGE_TYPE, "{'spec':{'accessModes':[true]}}"), 422);
        assert_says(w, "json: cannot unmarshal bool into Go struct field PersistentVolumeSpec.spec.accessModes of type "
                       "v1.PersistentVolumeAccessMode");
}

static void a_balancer_that_wants_no_ports_does_not_keep_them(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, SERVICES, "{'metadata':{'name':'s'},'spec':{'type':'LoadBalancer','ports':[{'port':80}]}}"),
                201);
        assert_string_not_equal(at(w, "spec.ports.0.nodePort"), "");
        assert_int_equal(change(w, SERVICES "/s", STRATEGIC_TYPE,
                                "{'spec':{'allocateLoadBalancerNodePorts':false,'ports':[{'port':80,'nodePort':0}]}}"),
                         200);
        assert_at(w, "spec.ports.0.nodePort", "");
}

static void what_an_external_name_hides_goes_with_the_next_update(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, SERVICES,
                     "{'metadata':{'name':'s'},'spec':{'internalTrafficPolicy':'Local','ports':[{'port':80}]}}"),
                201);
        assert_int_equal(
                change(w, SERVICES "/s", MERGE_TYPE, "{'spec':{'type':'ExternalName','externalName':'a.example'}}"),
                200);
        const char *named = version(w);

        assert_int_equal(change(w, SERVICES "/s", MERGE_TYPE, "{}"), 200);
        assert_string_equal(version(w), named);
        assert_int_equal(change(w, SERVICES "/s?dryRun=All", MERGE_TYPE, "{'spec':{'type':'ClusterIP'}}"), 200);
        assert_at(w, "spec.internalTrafficPolicy", "Local");
        assert_int_equal(get(w, SERVICES "/s"), 200);
        assert_at(w, "spec.internalTrafficPolicy", "");
        assert_int_equal(ask(w, KUBE_PUT, SERVICES "/s", w->reply.body.p), 200);
        assert_string_not_equal(version(w), named);
}

static void an_ingress_is_reached_by_names(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, INGRESSES,
                              "{'metadata':{'name':'i'},'spec':{'defaultBackend':{'service':{'name':'w','port':{'"
                              "number':80}}}}}"),
                         201);
        assert_int_equal(change(w, INGRESSES "/i/status", MERGE_TYPE,
                                "{'status':{'loadBalancer':{'ingress':[{'hostname':'1.2.3.4'},{'ip':'x'}]}}}"),
                         422);
        assert_says(
                w, "status.loadBalancer.ingress[0].hostname: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP "
                   "address");
        assert_says(w, "status.loadBalancer.ingress[1].ip: Invalid value: \"x\": must be a valid IP address");
}

static void assert_pods_status(struct world *w, const char *status, const char *fault) {
        assert_int_equal(change(w, PODS "/p/status", MERGE_TYPE, status), 422);
        assert_says(w, fault);
}

static void a_pods_addresses_are_addresses(void **state) {
        struct world *w = *state;

        make_pod(w);
        assert_pods_status(
                w, "{'status':{'podIP':'one'}}",
                "Pod \"p\" is invalid: status.podIPs[0]: Invalid value: \"one\": must be a valid IP address, "
                "(e.g. 10.9.8.7 or 2001:db8::ffff)");
        assert_pods_status(w, "{'status':{'podIPs':[{'ip':'10.0.0.1'},{'ip':'x'}]}}",
                           "status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: x, "
                           "status.podIPs: Invalid value: [{\"IP\":\"10.0.0.1\"},{\"IP\":\"x\"}]: may specify no more "
                           "than one IP for each IP family]");
        assert_pods_status(w, "{'status':{'podIPs':[{}]}}",
                           "status.podIPs: Invalid value: [{\"IP\":\"\"}]: podIP and podIPs must either both be set or "
                           "both be unset]");
        assert_pods_status(w, "{'status':{'hostIPs':[{'ip':'10.0.0.1'},{'ip':'10.0.0.2'}]}}",
                           "[status.hostIPs[0].ip: Invalid value: \"10.0.0.1\": must be equal to `hostIP`, "
                           "status.hostIPs: Invalid value: [{\"IP\":\"10.0.0.1\"},{\"IP\":\"10.0.0.2\"}]: may specify "
                           "no more than one IP for each IP family]");
        assert_int_equal(change(w, PODS "/p/status", MERGE_TYPE,
                                "{'status':{'hostIP':'zz','podIPs':[{'ip':'10.0.0.1'},{'ip':'::1'}]}}"),
                         200);
        assert_at(w, "status.podIP", "10.0.0.1");
}

static void a_pods_status_is_checked(void **state) {
        struct world *w = *state;

        make_pod(w);
        assert_pods_status(w, "{'status':{'qosClass':'Burstable'}}",
                           "status.qosClass: Invalid value: \"Burstable\": field is immutable");
        assert_pods_status(w, "{'status':{'nominatedNodeName':'A_b'}}",
                           "status.nominatedNodeName: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain");
        assert_pods_status(
                w,
                "{'status':{'observedGeneration':-1,'conditions':[{'type':'a "
                "b','status':'x','observedGeneration':-2}]}}",
                "[status.conditions[0].observedGeneration: Invalid value: -2: must be a non-negative integer, "
                "status.conditions[0].Type: Invalid value: \"a b\": name part must consist of");
        assert_says(w, "status.observedGeneration: Invalid value: -1: must be a non-negative integer]");
        assert_int_equal(change(w, PODS "/p/status", MERGE_TYPE, "{'status':{'observedGeneration':7}}"), 200);
        assert_int_equal(change(w, PODS "/p/status", MERGE_TYPE, "{'status':{'observedGeneration':null}}"), 200);
        assert_at(w, "status.observedGeneration", "7");
}

static void a_namespaces_finalizer_without_a_name_is_also_no_standard_one(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, "/api/v1/namespaces", "{'metadata':{'name':'n'},'spec':{'finalizers':[null]}}"), 422);
        assert_says(w, "[spec.finalizers: Invalid value: \"\": name part must be non-empty, ");
        assert_says(w,
                    "spec.finalizers: Invalid value: \"\": name is neither a standard finalizer name nor is it fully "
                    "qualified]");
}

static void a_service_that_no_address_can_name_gets_none(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, SERVICES, "{'metadata':{'name':'a.b/c'},'spec':{'ports':[{'port':80}]}}"), 422);
        assert_says(w, "Service \"a.b/c\" is invalid: spec.clusterIPs: Invalid value: [\"\"]: failed to allocate IP: "
                       "IPAddress.networking.k8s.io \"10.96.");
        assert_says(w, "\" is invalid: spec.parentRef.name: Invalid value: \"a.b/c\": may not contain '/'");
        assert_int_equal(make(w, SERVICES,
                              "{'metadata':{'name':'a/b%'},'spec':{'clusterIP':'10.96.77.77','ports':[{'port'"
                              ":80}]}}"),
                         422);
        assert_says(w, "Invalid value: [\"10.96.77.77\"]: failed to allocate IP 10.96.77.77: "
                       "IPAddress.networking.k8s.io \"10.96.77.77\" is invalid: [spec.parentRef.name: Invalid value: "
                       "\"a/b%\": may not contain '/', spec.parentRef.name: Invalid value: \"a/b%\": may not contain "
                       "'%']");
        assert_int_equal(make(w, SERVICES "?dryRun=All", "{'metadata':{'name':'a/b'},'spec':{'ports':[{'port':80}]}}"),
                         422);
        assert_says(w, "Service \"a/b\" is invalid: metadata.name: Invalid value: \"a/b\": a lowercase RFC 1123 label");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(collisions_are_not_forgotten),
                CASE(a_cron_jobs_template_is_warned_of),
                CASE(names_that_are_no_labels_are_warned_of),
                CASE(empty_lists_are_shown_as_they_were_sent),
                CASE(an_indexed_job_may_have_had_more_successes),
                CASE(an_empty_mode_is_none),
                CASE(empty_requests_are_no_change_of_a_template),
                CASE(a_blank_deployment_has_a_number_of_replicas),
                CASE(a_deletion_that_only_takes_finalizers_away_meets_no_version),
                CASE(a_pod_keeps_its_class),
                CASE(empty_data_is_what_a_config_map_has_anyway),
                CASE(a_claim_is_written_again_by_the_first_update),
                CASE(a_namespace_is_not),
                CASE(a_namespace_without_its_controller_stays),
                CASE(a_volume_stays_where_it_is),
                CASE(a_balancer_that_wants_no_ports_does_not_keep_them),
                CASE(what_an_external_name_hides_goes_with_the_next_update),
                CASE(an_ingress_is_reached_by_names),
                CASE(a_service_that_no_address_can_name_gets_none),
                CASE(a_pods_addresses_are_addresses),
                CASE(a_pods_status_is_checked),
                CASE(a_namespaces_finalizer_without_a_name_is_also_no_standard_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
