/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of Pods, Jobs and the like by what their status says, as a v1.37.2 API server shows them. */
#include "sandbox/quoted.h"

#define TABLE_TYPE "application/json;as=Table;v=v1;g=meta.k8s.io"
#define POD        PODS "/p"

static const char *cell(struct world *w, const char *path, unsigned at_column) {
        assert_int_equal(ask_as(w, KUBE_GET, path, NULL, NULL, TABLE_TYPE), 200);
        return at(w, arena_strf(w->arena, "rows.0.cells.%u", at_column).p);
}

/* --- Pods --- */

#define SIDECAR "{'name':'side','image':'i','restartPolicy':'Always'}"

static void make_pod(struct world *w) {
        assert_int_equal(make(w, PODS,
                              "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i'},{'name':'b',"
                              "'image':'i'}],'initContainers':[{'name':'first','image':'i'}," SIDECAR
                              "],'readinessGates':[{'conditionType':'x/y'},{'conditionType':'x/z'}]}}"),
                         201);
}

/* "READY STATUS RESTARTS" with that status. */
static const char *shown(struct world *w, const char *status) {
        struct str ready, state;

        assert_int_equal(change(w, POD "/status", MERGE_TYPE, arena_strf(w->arena, "{'status':%s}", status).p), 200);
        ready = str_from(cell(w, POD, 1));
        state = str_from(at(w, "rows.0.cells.2"));
        return arena_strf(w->arena, "%.*s %.*s %s", STR_FMT(ready), STR_FMT(state), at(w, "rows.0.cells.3")).p;
}

#define STATE(name, more) "{'name':'" name "','image':'i','imageID':'','ready':false,'restartCount':0" more "}"
#define RUNS(name)        "{'name':'" name "','image':'i','imageID':'','ready':true,'restartCount':0,'state':{'running':{}}}"
#define ENDED(name, code, more)                                                                                        \
        STATE(name, ",'state':{'terminated':{'exitCode':" code ",'startedAt':null,'finishedAt':null" more "}}")
#define MAIN(items) "{'containerStatuses':[" items "],'initContainerStatuses':null,'conditions':null,'phase':'Running'}"
#define INIT(items) "{'containerStatuses':null,'initContainerStatuses':[" items "]}"

static void a_pod_is_as_its_containers_are(void **state) {
        struct world *w = *state;

        make_pod(w);
        assert_string_equal(shown(w, "{}"), "0/3 Pending 0");
        assert_string_equal(shown(w, MAIN(RUNS("a") "," RUNS("b"))), "2/3 Running 0");
        assert_string_equal(shown(w, MAIN(STATE("a", "") "," RUNS("b"))), "1/3 Running 0");
        assert_string_equal(
                shown(w, MAIN(STATE("a", ",'state':{'waiting':{'reason':'ImagePullBackOff'}}") "," RUNS("b"))),
                "1/3 ImagePullBackOff 0");
        assert_string_equal(shown(w, MAIN(ENDED("a", "0", ",'reason':'Completed'") "," RUNS("b"))), "1/3 NotReady 0");
        assert_string_equal(
                shown(w, MAIN(ENDED("a", "0", ",'reason':'Completed'") "," ENDED("b", "3", ",'reason':'Error'"))),
                "0/3 Error 0");
        assert_string_equal(shown(w, MAIN(ENDED("a", "0", ",'reason':'Completed'"))), "0/3 Completed 0");
        assert_string_equal(shown(w, MAIN(ENDED("a", "7", ""))), "0/3 ExitCode:7 0");
        assert_string_equal(shown(w, MAIN(ENDED("a", "7", ",'signal':9"))), "0/3 Signal:9 0");
        assert_string_equal(shown(w, "{'containerStatuses':[" ENDED("a", "0", ",'reason':'Completed'") "," RUNS(
                                             "b") "],"
                                                  "'conditions':[{'type':'Ready','status':'True'}]}"),
                            "1/3 Running 0");
        assert_string_equal(shown(w, "{'containerStatuses':null,'reason':'Evicted'}"), "0/3 Evicted 0");
        assert_string_equal(
                shown(w, "{'conditions':[{'type':'PodScheduled','status':'False','reason':'SchedulingGated'}]}"),
                "0/3 SchedulingGated 0");
}

static void init_containers_go_first(void **state) {
        struct world *w = *state;

        make_pod(w);
        assert_string_equal(shown(w, INIT(STATE("first", ""))), "0/3 Init:0/2 0");
        assert_string_equal(shown(w, INIT(STATE("first", ",'state':{'waiting':{'reason':'PodInitializing'}}"))),
                            "0/3 Init:0/2 0");
        assert_string_equal(shown(w, INIT(STATE("first", ",'state':{'waiting':{'reason':'Slow'}}"))),
                            "0/3 Init:Slow 0");
        assert_string_equal(shown(w, INIT(ENDED("first", "2", ""))), "0/3 Init:ExitCode:2 0");
        assert_string_equal(shown(w, INIT(ENDED("first", "2", ",'signal':6"))), "0/3 Init:Signal:6 0");
        assert_string_equal(shown(w, INIT(ENDED("first", "2", ",'reason':'Error'"))), "0/3 Init:Error 0");
        assert_string_equal(shown(w, INIT(ENDED("first", "0", "") "," STATE("side", ",'started':false"))),
                            "0/3 Init:1/2 0");
        assert_string_equal(
                shown(w, INIT(ENDED("first", "0", "") ",{'name':'side','image':'i','imageID':'','ready':true,"
                                                      "'restartCount':0,'started':true}")),
                "1/3 Pending 0");
        /* A condition knows better. */
        assert_string_equal(shown(w, "{'initContainerStatuses':[" STATE("first", "") "],'containerStatuses':[" RUNS(
                                             "a") "],"
                                                  "'conditions':[{'type':'Initialized','status':'True'}]}"),
                            "1/3 Init:0/2 0");
}

#define RESTARTED(name, count, time)                                                                                   \
        "{'name':'" name "','image':'i','imageID':'','ready':true,'started':true,'restartCount':" count                \
        ",'lastState':{'terminated':{'exitCode':1,'startedAt':null,'finishedAt':'" time "'}}}"

static void restarts_are_told_with_the_last_one(void **state) {
        struct world *w = *state;

        make_pod(w);
        assert_string_equal(shown(w, "{'containerStatuses':[{'name':'a','image':'i','imageID':'','ready':false,"
                                     "'restartCount':2}]}"),
                            "0/3 Pending 2");
        assert_string_equal(shown(w, "{'containerStatuses':[" RESTARTED("a", "1", "2027-01-15T07:59:00Z") "," RESTARTED(
                                             "b", "2", "2027-01-15T07:58:00Z") "]}"),
                            "0/3 Pending 3 (60s ago)");
        /* Those of init containers count while they are under way, then only of the ones that stay. */
        assert_string_equal(shown(w, "{'initContainerStatuses':[" RESTARTED("first", "4", "2027-01-15T07:59:50Z") "]}"),
                            "0/3 Init:0/2 4 (10s ago)");
        assert_string_equal(
                shown(w, "{'initContainerStatuses':[{'name':'first','image':'i','imageID':'','ready':false,'"
                         "restartCount':4,"
                         "'state':{'terminated':{'exitCode':0,'startedAt':null,'finishedAt':null}}}," RESTARTED(
                                 "side", "1", "2027-01-15T07:59:40Z") "]}"),
                "1/3 Pending 4 (20s ago)");
}

static void a_pod_that_ended_says_so(void **state) {
        struct world *w = *state;

        make_pod(w);
        assert_string_equal(shown(w, "{'phase':'Running'}"), "0/3 Running 0");
        assert_at(w, "rows.0.conditions", "");
        assert_string_equal(shown(w, "{'phase':'Failed'}"), "0/3 Failed 0");
        assert_at(w, "rows.0.conditions",
                  "[{\"message\":\"The pod failed.\",\"reason\":\"Failed\",\"status\":\"True\","
                  "\"type\":\"Completed\"}]");
}

static void a_pod_that_goes_says_so_until_it_ended(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, PODS,
                              "{'metadata':{'name':'p','finalizers':['a.b/c']},'spec':{'containers':[{'name':'a',"
                              "'image':'i'}]}}"),
                         201);
        assert_int_equal(del(w, POD "?gracePeriodSeconds=0"), 200);
        assert_string_equal(shown(w, "{'phase':'Running'}"), "0/1 Terminating 0");
        assert_string_equal(shown(w, "{'phase':'Running','reason':'NodeLost'}"), "0/1 Unknown 0");
        assert_string_equal(shown(w, "{'phase':'Succeeded','reason':null}"), "0/1 Succeeded 0");
        assert_at(w, "rows.0.conditions.0.message", "The pod has completed successfully.");
}

static void wide_cells_of_a_pod(void **state) {
        struct world *w = *state;

        make_pod(w);
        assert_string_equal(cell(w, POD, 5), "<none>");
        assert_string_equal(cell(w, POD, 8), "0/2");
        shown(w, "{'podIP':'10.0.0.1','podIPs':[{'ip':'10.0.0.1'}],'conditions':[{'type':'x/z','status':'True'},"
                 "{'type':'x/y','status':'False'}]}");
        assert_at(w, "rows.0.cells.5", "10.0.0.1");
        assert_at(w, "rows.0.cells.8", "1/2");
}

/* --- others --- */

static void a_job_that_goes_says_so_unless_it_ended(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, JOBS, "{'metadata':{'name':'j','finalizers':['a.b/c']},'spec':{" JOB_POD("") "}}"),
                         201);
        assert_string_equal(cell(w, JOBS "/j", 1), "Running");
        assert_string_equal(cell(w, JOBS "/j", 3), "");
        assert_int_equal(change(w, JOBS "/j/status", MERGE_TYPE, "{'status':{'startTime':'2027-01-15T07:50:00Z'}}"),
                         200);
        assert_string_equal(cell(w, JOBS "/j", 3), "10m");
        assert_int_equal(del(w, JOBS "/j"), 200);
        assert_string_equal(cell(w, JOBS "/j", 1), "Terminating");
        assert_int_equal(change(w, JOBS "/j/status", MERGE_TYPE,
                                "{'status':{'completionTime':'2027-01-15T07:50:30Z','conditions':[{'type':"
                                "'SuccessCriteriaMet','status':'True'},{'type':'Complete','status':'True'}]}}"),
                         200);
        assert_string_equal(cell(w, JOBS "/j", 1), "Complete");
        assert_string_equal(cell(w, JOBS "/j", 3), "30s");
}

static void a_cron_job_tells_when_it_ran(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, CRONJOBS,
                              "{'metadata':{'name':'c'},'spec':{'schedule':'* * * * *','jobTemplate':{'spec':{" JOB_POD(
                                      "") "}}}}"),
                         201);
        assert_string_equal(cell(w, CRONJOBS "/c", 5), "<none>");
        assert_int_equal(
                change(w, CRONJOBS "/c/status", MERGE_TYPE, "{'status':{'lastScheduleTime':'2027-01-15T07:59:00Z'}}"),
                200);
        assert_string_equal(cell(w, CRONJOBS "/c", 5), "60s");
}

static void a_claim_with_a_volume_has_a_capacity(void **state) {
        struct world *w = *state;

        assert_int_equal(make(w, CLAIMS, CLAIM("c")), 201);
        assert_string_equal(cell(w, CLAIMS "/c", 3), "");
        assert_int_equal(change(w, CLAIMS "/c", MERGE_TYPE, "{'spec':{'volumeName':'v'}}"), 200);
        assert_string_equal(cell(w, CLAIMS "/c", 3), "0");
        assert_string_equal(cell(w, CLAIMS "/c", 5), "");
        assert_int_equal(change(w, CLAIMS "/c", MERGE_TYPE,
                                "{'metadata':{'annotations':{'volume.beta.kubernetes.io/storage-class':'old'}}}"),
                         200);
        assert_string_equal(cell(w, CLAIMS "/c", 5), "old");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_pod_is_as_its_containers_are),          CASE(init_containers_go_first),
                CASE(restarts_are_told_with_the_last_one),     CASE(a_pod_that_ended_says_so),
                CASE(a_pod_that_goes_says_so_until_it_ended),  CASE(wide_cells_of_a_pod),
                CASE(a_job_that_goes_says_so_unless_it_ended), CASE(a_cron_job_tells_when_it_ran),
                CASE(a_claim_with_a_volume_has_a_capacity),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
