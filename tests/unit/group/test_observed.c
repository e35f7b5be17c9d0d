/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of the API's objects: YAML as `kubectl get -o yaml` prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "arena_test.h"
#include "base/yaml.h"
#include "group/observed.h"

#define NOON_MS INT64_C(1796126400000) /* 2026-12-01T12:00:00Z */

static const struct value *object(const char *text) {
        const struct yaml_document *docs;
        struct err err;
        size_t count;

        if (yaml_parse(str_from(text), a, &docs, &count, &err) < 0)
                fail_msg("%s", err.msg);
        return docs[0].value;
}

static struct group_pod pod(const char *more) {
        struct group_pod p;
        struct str text = arena_strf(a,
                                     "metadata:\n  name: demo-1-2\n  uid: u2\n  resourceVersion: \"7\"\n"
                                     "  creationTimestamp: \"2026-12-01T12:00:00Z\"\n%s",
                                     more);

        assert_int_equal(group_pod_read(object(text.p), a, &p), 0);
        return p;
}

static void expect(struct str got, const char *want) {
        assert_string_equal(got.p ? got.p : "", want);
}

static void a_pod_is_what_its_labels_and_owner_say(void **state) {
        struct group_pod p =
                pod("  labels:\n    leaderworkerset.sigs.k8s.io/group-index: \"1\"\n"
                    "    leaderworkerset.sigs.k8s.io/worker-index: \"2\"\n"
                    "    leaderworkerset.sigs.k8s.io/template-revision-hash: abc\n"
                    "    truce.dev/incarnation: 1a2b3c4d\n"
                    "  annotations: {leaderworkerset.sigs.k8s.io/size: \"3\"}\n"
                    "  ownerReferences:\n  - {uid: other, kind: X}\n  - {uid: u1, kind: Y, controller: true}\n"
                    "spec: {nodeName: n7}\nstatus: {phase: Running}\n");

        (void)state;
        expect(p.name, "demo-1-2");
        expect(p.uid, "u2");
        expect(p.resource_version, "7");
        expect(p.owner_uid, "u1");
        expect(p.revision, "abc");
        expect(p.incarnation, "1a2b3c4d");
        expect(p.size_annotation, "3");
        expect(p.node, "n7");
        assert_int_equal(p.group, 1);
        assert_int_equal(p.worker, 2);
        assert_int_equal(p.phase, GROUP_POD_RUNNING);
        assert_int_equal(p.created_ms, NOON_MS);
        assert_int_equal(p.deleting_ms, 0);
        assert_int_equal(p.restarts, 0);
        assert_false(p.ready || p.gated || p.unschedulable);
}

static void what_is_not_there_is_nothing(void **state) {
        struct group_pod p = pod("");

        (void)state;
        assert_int_equal(p.group, -1);
        assert_int_equal(p.worker, -1);
        assert_int_equal(p.phase, GROUP_POD_PENDING);
        assert_int_equal(p.owner_uid.n + p.node.n + p.last_failure.n, 0);
        assert_int_equal(group_pod_read(object("metadata: {name: a}"), a, &p), ERR_PARSE);
        assert_int_equal(group_pod_read(object("metadata: {uid: a}"), a, &p), ERR_PARSE);
        p = pod("  labels: {leaderworkerset.sigs.k8s.io/group-index: \"-1\", leaderworkerset.sigs.k8s.io/worker-index: "
                "x}\n");
        assert_int_equal(p.group, -1);
        assert_int_equal(p.worker, -1);
}

static void restarts_are_those_of_the_worst_container(void **state) {
        struct group_pod p = pod("status:\n  phase: Running\n  containerStatuses:\n  - {name: a, restartCount: 1}\n"
                                 "  - {name: b, restartCount: 4}\n");

        (void)state;
        assert_int_equal(p.restarts, 4);
        expect(p.last_failure, "");
}

static void a_restart_of_an_init_container_counts_while_the_pod_is_pending(void **state) {
        struct group_pod p = pod("status:\n  phase: Pending\n  containerStatuses: [{name: main, restartCount: 0}]\n"
                                 "  initContainerStatuses:\n  - name: prepare\n    restartCount: 1\n"
                                 "    lastState: {terminated: {exitCode: 3, reason: Error}}\n");

        (void)state;
        assert_int_equal(p.phase, GROUP_POD_PENDING);
        assert_int_equal(p.restarts, 1);
        expect(p.last_failure, "container prepare: exit code 3 (Error)");
}

static void the_newest_end_with_an_error_is_told(void **state) {
        struct group_pod p = pod("status:\n  phase: Running\n  containerStatuses:\n  - name: old\n    restartCount: 1\n"
                                 "    lastState: {terminated: {exitCode: 1, finishedAt: \"2026-12-01T12:00:00Z\"}}\n"
                                 "  - name: new\n    restartCount: 1\n"
                                 "    lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: "
                                 "\"2026-12-01T12:00:09Z\"}}\n"
                                 "  - name: fine\n    restartCount: 0\n"
                                 "    state: {terminated: {exitCode: 0, finishedAt: \"2026-12-01T12:01:00Z\"}}\n");

        (void)state;
        expect(p.last_failure, "container new: exit code 137 (OOMKilled)");
}

static void a_pod_that_was_evicted_says_so(void **state) {
        struct group_pod p = pod("status: {phase: Failed, reason: Evicted}\n");

        (void)state;
        assert_int_equal(p.phase, GROUP_POD_FAILED);
        assert_int_equal(p.restarts, 0);
        expect(p.last_failure, "Evicted");
}

static void conditions_have_their_times(void **state) {
        struct group_pod p = pod("status:\n  phase: Pending\n  conditions:\n"
                                 "  - {type: Ready, status: \"False\", lastTransitionTime: \"2026-12-01T12:00:00Z\"}\n"
                                 "  - {type: PodScheduled, status: \"False\", reason: Unschedulable, "
                                 "lastTransitionTime: \"2026-12-01T12:00:05Z\"}\n");

        (void)state;
        assert_false(p.ready);
        assert_true(p.unschedulable);
        p = pod("status:\n  phase: Running\n  conditions:\n"
                "  - {type: PodScheduled, status: \"False\", reason: SchedulingGated}\n"
                "  - {type: Ready, status: \"True\", lastTransitionTime: \"2026-12-01T12:00:07Z\"}\n");
        assert_true(p.ready);
        assert_int_equal(p.ready_ms, NOON_MS + 7000);
        assert_false(p.unschedulable);
}

static void gates_are_ours_or_another_s(void **state) {
        struct group_pod p = pod("spec: {schedulingGates: [{name: truce.dev/group}]}\n");

        (void)state;
        assert_true(p.gated);
        assert_false(p.gated_by_others);
        p = pod("spec: {schedulingGates: [{name: kueue.x-k8s.io/admission}]}\n");
        assert_false(p.gated);
        assert_true(p.gated_by_others);
}

static void a_pod_that_is_being_deleted_says_until_when(void **state) {
        struct group_pod p = pod("  deletionTimestamp: \"2026-12-01T12:00:30Z\"\n");

        (void)state;
        assert_int_equal(p.deleting_ms, NOON_MS + 30000);
        p = pod("  deletionTimestamp: soon\n");
        assert_true(p.deleting_ms > 0);
}

static struct group_node node(const char *more) {
        struct group_node n;
        struct str text = arena_strf(a,
                                     "metadata: {name: n1, uid: u1, creationTimestamp: \"2026-12-01T12:00:00Z\", "
                                     "labels: {rack: r1}}\n%s",
                                     more);

        assert_int_equal(group_node_read(object(text.p), a, &n), 0);
        return n;
}

static void a_node_is_lost_since_it_was_not_ready(void **state) {
        struct group_node n = node("status: {conditions: [{type: Ready, status: \"True\"}]}\n");

        (void)state;
        expect(n.name, "n1");
        assert_int_equal(n.lost_ms, 0);
        assert_false(n.out_of_service);
        n = node("status: {conditions: [{type: Ready, status: Unknown, lastTransitionTime: "
                 "\"2026-12-01T12:00:40Z\"}]}\n");
        assert_int_equal(n.lost_ms, NOON_MS + 40000);
        n = node("");
        assert_int_equal(n.lost_ms, NOON_MS);
}

static void a_node_out_of_service_is_told_by_its_taint(void **state) {
        struct group_node n =
                node("spec: {taints: [{key: a}, {key: node.kubernetes.io/out-of-service, effect: NoExecute}]}\n");

        (void)state;
        assert_true(n.out_of_service);
        n = node("spec: {taints: [{key: node.kubernetes.io/unreachable}]}\n");
        assert_false(n.out_of_service);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_pod_is_what_its_labels_and_owner_say),
                cmocka_unit_test(what_is_not_there_is_nothing),
                cmocka_unit_test(restarts_are_those_of_the_worst_container),
                cmocka_unit_test(a_restart_of_an_init_container_counts_while_the_pod_is_pending),
                cmocka_unit_test(the_newest_end_with_an_error_is_told),
                cmocka_unit_test(a_pod_that_was_evicted_says_so),
                cmocka_unit_test(conditions_have_their_times),
                cmocka_unit_test(gates_are_ours_or_another_s),
                cmocka_unit_test(a_pod_that_is_being_deleted_says_until_when),
                cmocka_unit_test(a_node_is_lost_since_it_was_not_ready),
                cmocka_unit_test(a_node_out_of_service_is_told_by_its_taint),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
