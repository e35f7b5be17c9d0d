/* SPDX-License-Identifier: Apache-2.0 */
/* What a Job's policies and its status may say, in the words of a v1.37.2 API server. */
#include "sandbox/quoted.h"

#define JOB(more)   "{'metadata':{'name':'j'},'spec':{" more JOB_POD("") "}}"
#define INDEXED(n)  "'completionMode':'Indexed','completions':" #n ","
#define SUCCESS(of) INDEXED(3) "'successPolicy':{'rules':[" of "]},"

/* --- the spec --- */

static const char *spec_fault(struct world *w, const char *body) {
        make(w, JOBS "?dryRun=All", body);
        return w->reply.status == 422 ? at(w, "message") + strlen("Job.batch \"j\" is invalid: ") : "";
}

static void a_success_policy_needs_indexes_and_rules(void **state) {
        struct world *w = *state;

        assert_string_equal(
                spec_fault(w, JOB("'successPolicy':{'rules':[{'succeededCount':1},{'succeededIndexes':'0'}]},")),
                "spec.successPolicy: Invalid value: {\"Rules\":[{\"SucceededIndexes\":null,\"SucceededCount\":1},{"
                "\"SucceededIndexes\":\"0\",\"SucceededCount\":null}]}: requires indexed completion mode");
        assert_string_equal(spec_fault(w, JOB("'successPolicy':{'rules':[]},")),
                            "spec.successPolicy: Invalid value: {\"Rules\":[]}: requires indexed completion mode");
        assert_string_equal(spec_fault(w, JOB(SUCCESS(""))),
                            "spec.successPolicy.rules: Required value: at least one rules must "
                            "be specified when the successPolicy is specified");
        assert_string_equal(
                spec_fault(w, JOB(SUCCESS("{}"))),
                "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must "
                "be specified");
        assert_string_equal(spec_fault(w, JOB(SUCCESS("{'succeededCount':3},{'succeededIndexes':'0,1-2'}"))), "");
        assert_string_equal(
                spec_fault(w, JOB(SUCCESS("{'succeededCount':4}"))),
                "spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or equal to 3 (the "
                "number of specified completions)");
        assert_string_equal(
                spec_fault(w, JOB(SUCCESS("{'succeededCount':3,'succeededIndexes':'0-1'}"))),
                "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the "
                "number of indexes in the specified succeededIndexes field)");
        assert_string_equal(
                spec_fault(w, JOB(SUCCESS("{'succeededCount':-1}"))),
                "spec.successPolicy.rules[0].succeededCount: Invalid value: -1: must be greater than or equal to 0");
}

static void indexes_rise_below_the_number_of_completions(void **state) {
        static const struct {
                const char *list, *why;
        } cases[] = {
                { "0-1-2",
                  "the fragment \"0-1-2\" violates the requirement that an index interval can have at most two parts "
                  "separated by '-'" },
                { "a", "cannot convert string to integer for index: \"a\"" },
                { "0-b", "cannot convert string to integer for index: \"b\"" },
                { "0,", "cannot convert string to integer for index: \"\"" },
                { "3", "too large index: \"3\"" },
                { "0-3", "too large index: \"3\"" },
                { "1-1", "non-increasing order, previous: 1, current: 1" },
                { "1,0", "non-increasing order, previous: 1, current: 0" },
                { "0-1,1", "non-increasing order, previous: 1, current: 1" },
        };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *body = arena_strf(w->arena, JOB(SUCCESS("{'succeededIndexes':'%s'}")), cases[i].list).p;

                assert_string_equal(
                        spec_fault(w, body),
                        arena_strf(w->arena,
                                   "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"%s\": error parsing "
                                   "succeededIndexes: %s",
                                   cases[i].list, cases[i].why)
                                .p);
        }
}

static void a_success_policy_stays(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, JOBS, JOB(SUCCESS("{'succeededCount':1}"))), 201);
        assert_int_equal(
                change(w, JOBS "/j", MERGE_TYPE, "{'spec':{'successPolicy':{'rules':[{'succeededCount':2}]}}}"), 422);
        assert_says(w, "spec.successPolicy: Invalid value: "
                       "{\"Rules\":[{\"SucceededIndexes\":null,\"SucceededCount\":2}]}: field is "
                       "immutable");
        assert_int_equal(change(w, JOBS "/j", MERGE_TYPE, "{'spec':{'successPolicy':null}}"), 422);
        assert_says(w, "spec.successPolicy: Invalid value: null: field is immutable");
}

static void who_manages_a_job_has_a_domain(void **state) {
        struct world *w = *state;

        assert_string_equal(spec_fault(w, JOB("'managedBy':'a.b/c',")), "");
        assert_string_equal(
                spec_fault(w, JOB("'managedBy':'none',")),
                "spec.managedBy: Invalid value: \"none\": must be a domain-prefixed path (such as \"acme.io/foo\")");
        assert_non_null(strstr(spec_fault(w, JOB("'managedBy':'a.b/c d',")),
                               "spec.managedBy: Invalid value: \"c d\": Invalid path"));
        assert_non_null(strstr(
                spec_fault(w, JOB("'managedBy':'a.b/0123456789012345678901234567890123456789012345678901234567890',")),
                "spec.managedBy: Too long: may not be more than 63 bytes"));
}

static void many_completions_limit_the_rest(void **state) {
        struct world *w = *state;

        assert_string_equal(
                spec_fault(w, JOB(INDEXED(100001) "'backoffLimitPerIndex':1,'parallelism':10001,")),
                "[spec.maxFailedIndexes: Required value: must be specified when completions is above 100000, "
                "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are "
                "above "
                "100000 and used with backoff limit per index]");
        assert_string_equal(spec_fault(w, JOB(INDEXED(100000) "'backoffLimitPerIndex':1,'parallelism':10001,")), "");
}

/* --- the status --- */

static void make_job(struct world *w, const char *body) {
        assert_int_equal(make(w, JOBS, body), 201);
}

/* What is wrong with a status in place of the one that is there; nothing is written. */
static const char *status_fault(struct world *w, const char *status) {
        change(w, JOBS "/j/status?dryRun=All", MERGE_TYPE, arena_strf(w->arena, "{'status':%s}", status).p);
        return w->reply.status == 422 ? at(w, "message") + strlen("Job.batch \"j\" is invalid: ") : "";
}

static void set_status(struct world *w, const char *status) {
        assert_int_equal(change(w, JOBS "/j/status", MERGE_TYPE, arena_strf(w->arena, "{'status':%s}", status).p), 200);
}

#define IS(type)  "{'type':'" type "','status':'True'}"
#define START     "'startTime':'2026-01-01T00:00:00Z'"
#define END(time) "'completionTime':'" time "'"

static void an_end_must_be_whole(void **state) {
        struct world *w = *state;

        make_job(w, JOB(""));
        assert_string_equal(
                status_fault(w, "{'conditions':[" IS("Complete") "]}"),
                "[status.completionTime: Required value: completionTime is required for Complete jobs, "
                "status.conditions: Invalid value: cannot set Complete=True condition without the "
                "SuccessCriteriaMet=true condition, status.startTime: Required value: startTime is required for "
                "finished job]");
        assert_string_equal(
                status_fault(w,
                             "{" START "," END("2025-01-01T00:00:00Z") ",'active':1,'terminating':1,'conditions':[" IS(
                                     "SuccessCriteriaMet") "," IS("Complete") "]}"),
                "[status.completionTime: Invalid value: \"2025-01-01T00:00:00Z\": must be equal to or after "
                "`startTime`, status.active: Invalid value: 1: active>0 is invalid for finished job, "
                "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job]");
        assert_string_equal(
                status_fault(w, "{" START ",'conditions':[" IS("Failed") "]}"),
                "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true "
                "condition");
        assert_string_equal(status_fault(w, "{'ready':2,'active':1}"),
                            "status.ready: Invalid value: 2: cannot set more ready pods than active");
        assert_string_equal(
                status_fault(w, "{" END("2026-01-01T00:00:00Z") "}"),
                "status.completionTime: Invalid value: \"2026-01-01T00:00:00Z\": cannot set completionTime when there "
                "is no Complete=True condition");
}

static void an_end_is_not_taken_back(void **state) {
        struct world *w = *state;

        make_job(w, JOB(""));
        set_status(w, "{'failed':2,'conditions':[" IS("SuccessCriteriaMet") "]}");
        assert_string_equal(status_fault(w, "{'conditions':null}"),
                            "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition");
        assert_string_equal(status_fault(w, "{'failed':1}"),
                            "status.failed: Invalid value: 1: cannot decrease the failed counter");
        set_status(w, "{" START "," END("2026-01-01T00:01:00Z") ",'conditions':[" IS("SuccessCriteriaMet") "," IS(
                              "Complete") "]}");
        assert_string_equal(
                status_fault(w, "{'conditions':[" IS("SuccessCriteriaMet") "]," END("2026-01-01T00:02:00Z") "}"),
                "[status.completionTime: Invalid value: \"2026-01-01T00:02:00Z\": cannot set completionTime when there "
                "is no Complete=True condition, status.conditions: Invalid value: cannot disable the terminal "
                "Complete=True condition, status.completionTime: Invalid value: \"2026-01-01T00:02:00Z\": field is "
                "immutable]");
        /* What does not change is not looked at again. */
        assert_string_equal(status_fault(w, "{'ready':0}"), "");
}

static void pods_wait_to_be_counted_once(void **state) {
        struct world *w = *state;

        make_job(w, JOB(""));
        assert_string_equal(status_fault(w, "{'uncountedTerminatedPods':{'succeeded':['a','a',''],'failed':['a']}}"),
                            "[status.uncountedTerminatedPods.succeeded[1]: Duplicate value: \"a\", "
                            "status.uncountedTerminatedPods.succeeded[2]: Invalid value: \"\": must not be empty, "
                            "status.uncountedTerminatedPods.failed[0]: Duplicate value: \"a\"]");
        assert_string_equal(
                status_fault(w, "{" START ",'uncountedTerminatedPods':{'failed':['a']},'conditions':[" IS(
                                        "FailureTarget") "," IS("Failed") "]}"),
                "status.uncountedTerminatedPods: Invalid value: {\"Succeeded\":null,\"Failed\":[\"a\"]}: must be empty "
                "for finished job");
}

static void only_an_indexed_job_has_indexes(void **state) {
        struct world *w = *state;

        make_job(w, JOB("'completions':2,"));
        assert_string_equal(
                status_fault(w, "{'completedIndexes':'0','failedIndexes':''}"),
                "[status.completedIndexes: Invalid value: \"0\": cannot set non-empty completedIndexes when "
                "non-indexed completion mode, status.failedIndexes: Invalid value: \"\": cannot set non-null "
                "failedIndexes when backoffLimitPerIndex is null]");
        assert_int_equal(del(w, JOBS "/j?propagationPolicy=Background"), 200);
        make_job(w, JOB(INDEXED(5) "'backoffLimitPerIndex':1,"));
        assert_string_equal(status_fault(w, "{'completedIndexes':'0,2-3','failedIndexes':'1,3-4'}"),
                            "status.failedIndexes: Invalid value: \"1,3-4\": failedIndexes and completedIndexes "
                            "overlap at index: 3");
        assert_string_equal(
                status_fault(w, "{'completedIndexes':'5','failedIndexes':'x'}"),
                "[status.completedIndexes: Invalid value: \"5\": error parsing completedIndexes: too large index: "
                "\"5\", status.failedIndexes: Invalid value: \"x\": error parsing failedIndexes: cannot convert string "
                "to integer for index: \"x\"]");
        assert_string_equal(status_fault(w, "{'completedIndexes':'0-1','failedIndexes':'2'}"), "");
}

/* --- a Pod's gates --- */

static void of_equal_new_gates_the_last_is_refused(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, PODS, "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i'}]}}"),
                         201);
        assert_int_equal(
                change(w, PODS "/p", MERGE_TYPE, "{'spec':{'schedulingGates':[{'name':'a.b/c'},{'name':'a.b/c'}]}}"),
                422);
        assert_says(w, "[spec.schedulingGates[1]: Duplicate value: \"a.b/c\", spec.schedulingGates[1].name: Forbidden: "
                       "only deletion "
                       "is allowed, but found new scheduling gate 'a.b/c']");
}

/* --- a Pod's containers --- */

#define STATUS_OF(name, state)                                                                                         \
        "{'name':'" name "','image':'i','imageID':'','ready':false,'restartCount':0,'state':{" state "}}"
#define ENDED(code) "'terminated':{'exitCode':" #code "}"

static void make_pod(struct world *w, const char *spec) {
        assert_int_equal(make(w, PODS, arena_strf(w->arena, "{'metadata':{'name':'p'},'spec':{%s}}", spec).p), 201);
}

/* May what has ended with the code be told to run again? */
static bool may_go_on(struct world *w, const char *list, const char *name, int code) {
        static const char body[] =
                "{'status':{'%s':[{'name':'%s','image':'i','imageID':'','ready':false,'restartCount':0,'state':%s"
                "}]}}";
        struct str ended = arena_strf(w->arena, "{'terminated':{'exitCode':%d}}", code);

        assert_int_equal(change(w, PODS "/p/status", MERGE_TYPE, arena_strf(w->arena, body, list, name, ended.p).p),
                         200);
        change(w, PODS "/p/status?dryRun=All", MERGE_TYPE,
               arena_strf(w->arena, body, list, name, "{'running':{'startedAt':null}}").p);
        if (w->reply.status == 422)
                assert_message(
                        w, arena_strf(w->arena,
                                      "Pod \"p\" is invalid: status.%s[0].state: Forbidden: may not be transitioned to "
                                      "non-terminated state",
                                      list)
                                   .p);
        return w->reply.status == 200;
}

static void what_has_ended_goes_on_only_when_it_is_started_again(void **state) {
        struct world *w = *state;

        make_pod(w, "'restartPolicy':'Never','containers':[{'name':'a','image':'i'},{'name':'b','image':'i','"
                    "restartPolicy':'Never',"
                    "'restartPolicyRules':[{'action':'Restart','exitCodes':{'operator':'In','values':[42]}}]}],'"
                    "initContainers':[{"
                    "'name':'side','image':'i','restartPolicy':'Always'},{'name':'first','image':'i'}]");
        assert_false(may_go_on(w, "containerStatuses", "a", 1));
        assert_false(may_go_on(w, "containerStatuses", "a", 0));
        assert_false(may_go_on(w, "containerStatuses", "b", 1));
        assert_true(may_go_on(w, "containerStatuses", "b", 42));
        assert_true(may_go_on(w, "initContainerStatuses", "side", 0));
        assert_false(may_go_on(w, "initContainerStatuses", "first", 1));
        assert_false(may_go_on(w, "containerStatuses", "unknown", 1));
}

static void a_failure_is_started_again_where_that_is_wanted(void **state) {
        struct world *w = *state;

        make_pod(w, "'restartPolicy':'OnFailure','containers':[{'name':'a','image':'i'}]");
        assert_true(may_go_on(w, "containerStatuses", "a", 1));
        assert_false(may_go_on(w, "containerStatuses", "a", 0));
}

static void of_a_pod_that_always_runs_all_it_knows_may_go_on(void **state) {
        struct world *w = *state;

        make_pod(w, "'containers':[{'name':'a','image':'i'}]");
        assert_true(may_go_on(w, "containerStatuses", "a", 0));
        assert_false(may_go_on(w, "containerStatuses", "unknown", 0));
        assert_false(may_go_on(w, "ephemeralContainerStatuses", "a", 0));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_success_policy_needs_indexes_and_rules),
                CASE(indexes_rise_below_the_number_of_completions),
                CASE(a_success_policy_stays),
                CASE(who_manages_a_job_has_a_domain),
                CASE(many_completions_limit_the_rest),
                CASE(an_end_must_be_whole),
                CASE(an_end_is_not_taken_back),
                CASE(pods_wait_to_be_counted_once),
                CASE(only_an_indexed_job_has_indexes),
                CASE(of_equal_new_gates_the_last_is_refused),
                CASE(what_has_ended_goes_on_only_when_it_is_started_again),
                CASE(a_failure_is_started_again_where_that_is_wanted),
                CASE(of_a_pod_that_always_runs_all_it_knows_may_go_on),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
