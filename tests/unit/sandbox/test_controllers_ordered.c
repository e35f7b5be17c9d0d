/* SPDX-License-Identifier: Apache-2.0 */
/* StatefulSets and DaemonSets. Statuses were recorded from kube-controller-manager v1.37.2. */
#include "sandbox/workloads.h"

#define DB(spec)                                                                                                       \
        "{\"metadata\":{\"name\":\"db\"},\"spec\":{\"serviceName\":\"db\",\"selector\":{\"matchLabels\":{\"app\":"     \
        "\"web\"}}," spec "," TEMPLATE("", "img") "}}"

/* ---- what happened to Pods, in order ---- */

struct log {
        struct buf text; /* "+db-0 -db-1 …" */
        struct sandbox *s;
        size_t most_missing;
};

static void on_commit(void *ctx, const struct sandbox_commit *c) {
        struct log *log = ctx;

        if (!str_eqc(c->kind, "Pod"))
                return;
        if (!c->before)
                buf_addf(&log->text, "+%.*s ", STR_FMT(c->name));
        else if (!c->after)
                buf_addf(&log->text, "-%.*s ", STR_FMT(c->name));
}

static struct log *watch_pods(struct world *w) {
        static struct log log;

        buf_done(&log.text);
        log = (struct log){ .text = buf_make(1 << 16), .s = w->s };
        sandbox_observe(w->s, on_commit, &log);
        return &log;
}

#define assert_log(log, wanted)                                                                                        \
        do {                                                                                                           \
                assert_string_equal((log)->text.p, wanted);                                                            \
                buf_clear(&(log)->text);                                                                               \
        } while (0)

static const char *image_of(struct world *w, const char *pod) {
        get(w, arena_strf(w->arena, PODS "/%s", pod).p);
        return at(w, "spec.containers.0.image");
}

/* ---- StatefulSets ---- */

static void ordinals_come_in_order_and_go_in_reverse(void **state) {
        struct world *w = *state;
        struct log *log = watch_pods(w);

        make(w, STATEFUL, DB("\"replicas\":3"));
        world_run(w, 150);
        assert_log(log, "+db-0 ");
        world_run(w, 5 * SECOND);
        assert_log(log, "+db-1 +db-2 ");
        get(w, STATEFUL "/db");
        const char *revision = at(w, "status.updateRevision");
        assert_at(w, "status",
                  arena_strf(w->arena,
                             "{\"availableReplicas\":3,\"collisionCount\":0,\"currentReplicas\":3,\"currentRevision\":"
                             "\"%s\",\"observedGeneration\":1,\"readyReplicas\":3,\"replicas\":3,\"updateRevision\":"
                             "\"%s\",\"updatedReplicas\":3}",
                             revision, revision)
                          .p);
        change(w, STATEFUL "/db", "{\"spec\":{\"replicas\":1}}");
        world_run(w, 5 * SECOND);
        assert_log(log, "-db-2 -db-1 ");
        change(w, STATEFUL "/db", "{\"spec\":{\"replicas\":0}}");
        world_run(w, 5 * SECOND);
        assert_log(log, "-db-0 ");
        change(w, STATEFUL "/db", "{\"spec\":{\"replicas\":2}}");
        world_run(w, 5 * SECOND);
        assert_log(log, "+db-0 +db-1 ");
}

static void a_stateful_pod_has_its_marks(void **state) {
        struct world *w = *state;

        make(w, STATEFUL, DB("\"replicas\":1"));
        world_run(w, 2 * SECOND);
        get(w, STATEFUL "/db");
        const char *revision = at(w, "status.currentRevision");
        get(w, PODS "/db-0");
        assert_at(w, "metadata.labels",
                  arena_strf(w->arena,
                             "{\"app\":\"web\",\"apps.kubernetes.io/pod-index\":\"0\",\"controller-revision-hash\":"
                             "\"%s\",\"statefulset.kubernetes.io/pod-name\":\"db-0\"}",
                             revision)
                          .p);
        assert_at(w, "metadata.generateName", "db-");
        assert_at(w, "spec.hostname", "db-0");
        assert_at(w, "spec.subdomain", "db");
        get(w, arena_strf(w->arena, APPS "controllerrevisions/%s", revision).p);
        assert_at(w, "revision", "1");
        assert_at(w, "data.spec.template.$patch", "replace");
        assert_at(w, "metadata.ownerReferences.0.kind", "StatefulSet");
}

static void an_unready_pod_stops_the_line(void **state) {
        struct world *w = *state;
        struct log *log = watch_pods(w);

        make(w, STATEFUL, DB("\"replicas\":3"));
        world_run(w, 300);
        change(w, PODS "/db-1", "{\"metadata\":{\"annotations\":{\"podsim.truce.dev/hold\":\"unready\"}}}");
        world_run(w, MINUTE);
        assert_log(log, "+db-0 +db-1 ");
        change(w, PODS "/db-1", "{\"metadata\":{\"annotations\":{\"podsim.truce.dev/hold\":null}}}");
        world_run(w, MINUTE);
        assert_log(log, "+db-2 ");
}

static void parallel_pods_come_and_go_together(void **state) {
        struct world *w = *state;
        struct log *log = watch_pods(w);

        make(w, STATEFUL, DB("\"replicas\":3,\"podManagementPolicy\":\"Parallel\""));
        world_run(w, 100);
        assert_log(log, "+db-0 +db-1 +db-2 ");
        world_run(w, 5 * SECOND);
        change(w, STATEFUL "/db", "{\"spec\":{\"replicas\":0}}");
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, PODS), 0);
}

static void an_update_goes_from_the_end_one_by_one(void **state) {
        struct world *w = *state;

        make(w, STATEFUL, DB("\"replicas\":3"));
        world_run(w, 5 * SECOND);
        struct log *log = watch_pods(w);
        change(w, STATEFUL "/db", IMAGE("two"));
        world_run(w, 100);
        get(w, STATEFUL "/db");
        assert_string_not_equal(at(w, "status.updateRevision"), at(w, "status.currentRevision"));
        assert_at(w, "status.currentReplicas", "2");
        world_run(w, 5 * SECOND);
        assert_log(log, "-db-2 +db-2 -db-1 +db-1 -db-0 +db-0 ");
        get(w, STATEFUL "/db");
        assert_string_equal(at(w, "status.updateRevision"), at(w, "status.currentRevision"));
        assert_at(w, "status.updatedReplicas", "3");
        assert_at(w, "status.currentReplicas", "3");
        assert_int_equal(count(w, APPS "controllerrevisions"), 2);
}

static void below_the_partition_pods_stay_as_they_were(void **state) {
        struct world *w = *state;

        make(w, STATEFUL, DB("\"replicas\":3,\"updateStrategy\":{\"rollingUpdate\":{\"partition\":2}}"));
        world_run(w, 5 * SECOND);
        change(w, STATEFUL "/db", IMAGE("two"));
        world_run(w, 5 * SECOND);
        assert_string_equal(image_of(w, "db-1"), "img");
        assert_string_equal(image_of(w, "db-2"), "two");
        assert_int_equal(del(w, PODS "/db-0"), 200);
        world_run(w, 5 * SECOND);
        assert_string_equal(image_of(w, "db-0"), "img");
        change(w, STATEFUL "/db", "{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"partition\":0}}}}");
        world_run(w, 5 * SECOND);
        assert_string_equal(image_of(w, "db-0"), "two");
}

static void on_delete_waits_for_the_person(void **state) {
        struct world *w = *state;

        make(w, STATEFUL, DB("\"replicas\":2,\"updateStrategy\":{\"type\":\"OnDelete\"}"));
        world_run(w, 5 * SECOND);
        change(w, STATEFUL "/db", IMAGE("two"));
        world_run(w, 5 * SECOND);
        assert_string_equal(image_of(w, "db-1"), "img");
        assert_int_equal(del(w, PODS "/db-1"), 200);
        world_run(w, 5 * SECOND);
        assert_string_equal(image_of(w, "db-1"), "two");
        assert_string_equal(image_of(w, "db-0"), "img");
}

static void claims_are_made_and_stay(void **state) {
        struct world *w = *state;

        make(w, STATEFUL,
             "{\"metadata\":{\"name\":\"db\"},\"spec\":{\"replicas\":2,\"serviceName\":\"db\",\"selector\":{"
             "\"matchLabels\":"
             "{\"app\":\"web\"}},\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"data\"},\"spec\":{\"accessModes\":"
             "[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}],\"template\":{\"metadata\":{"
             "\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"img\","
             "\"volumeMounts\":[{"
             "\"name\":\"data\",\"mountPath\":\"/data\"}]}]}}}}");
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, PODS), 2);
        assert_at(w, "items.1.spec.volumes.0",
                  "{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"data-db-1\"}}");
        assert_int_equal(del(w, STATEFUL "/db"), 200);
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, PODS), 0);
        assert_int_equal(count(w, "/api/v1/namespaces/default/persistentvolumeclaims"), 2);
        assert_at(w, "items.0.metadata.name", "data-db-0");
        assert_at(w, "items.0.metadata.labels", "{\"app\":\"web\"}");
}

/* ---- volumes ---- */

#define CLAIMS  "/api/v1/namespaces/default/persistentvolumeclaims"
#define VOLUMES "/api/v1/persistentvolumes"
#define CLAIM                                                                                                          \
        "{\"metadata\":{\"name\":\"data\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":" \
        "{"                                                                                                            \
        "\"storage\":\"1Gi\"}}}}"
#define CLAIMING                                                                                                       \
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{"            \
        "\"claimName\":"                                                                                               \
        "\"data\"}}]," CONTAINERS("img") "}}"

static void a_claim_is_bound_to_a_volume_when_a_pod_needs_it(void **state) {
        struct world *w = *state;

        make(w, CLAIMS, CLAIM);
        world_run(w, SECOND);
        get(w, CLAIMS "/data");
        assert_at(w, "status.phase", "Pending");
        make(w, PODS, CLAIMING);
        world_run(w, SECOND);
        get(w, CLAIMS "/data");
        assert_at(w, "status",
                  "{\"accessModes\":[\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"1Gi\"},\"phase\":\"Bound\"}");
        const char *volume = at(w, "spec.volumeName"), *uid = at(w, "metadata.uid");
        assert_string_equal(volume, arena_strf(w->arena, "pvc-%s", uid).p);
        get(w, arena_strf(w->arena, VOLUMES "/%s", volume).p);
        assert_at(w, "status.phase", "Bound");
        assert_at(w, "spec.claimRef.uid", uid);
}

static void a_claim_goes_when_nobody_uses_it_and_its_volume_follows(void **state) {
        struct world *w = *state;

        make(w, CLAIMS, CLAIM);
        make(w, PODS, CLAIMING);
        world_run(w, SECOND);
        assert_int_equal(del(w, CLAIMS "/data"), 200);
        world_run(w, MINUTE);
        assert_int_equal(get(w, CLAIMS "/data"), 200);
        assert_int_equal(count(w, VOLUMES), 1);
        assert_int_equal(del(w, PODS "/p"), 200);
        world_run(w, MINUTE);
        assert_int_equal(get(w, CLAIMS "/data"), 404);
        assert_int_equal(count(w, VOLUMES), 0);
}

static void a_namespace_with_everything_ends(void **state) {
        struct world *w = *state;

        make(w, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"x\"}}");
        world_run(w, SECOND);
        make(w, "/apis/apps/v1/namespaces/x/deployments", WEB("\"replicas\":2", ""));
        make(w, "/apis/apps/v1/namespaces/x/statefulsets", DB("\"replicas\":2"));
        make(w, "/api/v1/namespaces/x/persistentvolumeclaims", CLAIM);
        make(w, "/apis/batch/v1/namespaces/x/jobs",
             "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"
             "\"podsim.truce.dev/hold\":\"running\"}},\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS("img") "}}}}");
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, "/api/v1/namespaces/x/pods"), 5);
        assert_int_equal(del(w, "/api/v1/namespaces/x"), 200);
        assert_true(run_until_idle(w) < MINUTE);
        assert_int_equal(get(w, "/api/v1/namespaces/x"), 404);
        assert_int_equal(count(w, "/api/v1/pods"), 0);
}

/* ---- DaemonSets ---- */

#define DS(more)                                                                                                       \
        "{\"metadata\":{\"name\":\"ds\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}}," more TEMPLATE(   \
                "", "img") "}}"

static void a_daemon_runs_on_the_node(void **state) {
        struct world *w = *state;

        make(w, DAEMONS, DS(""));
        world_run(w, 2 * SECOND);
        get(w, DAEMONS "/ds");
        assert_at(w, "status",
                  "{\"currentNumberScheduled\":1,\"desiredNumberScheduled\":1,\"numberAvailable\":1,"
                  "\"numberMisscheduled\":0,\"numberReady\":1,\"observedGeneration\":1,\"updatedNumberScheduled\":1}");
        assert_int_equal(count(w, PODS), 1);
        assert_at(w, "items.0.spec.affinity",
                  "{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"
                  "\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"sandbox\"]}]}]}}}");
        assert_at(w, "items.0.metadata.labels.pod-template-generation", "1");
        assert_int_equal(
                value_count(value_path(value_getc(w->body, "items")->list.items[0], "spec", "tolerations", NULL)), 6);
}

static void a_daemon_is_updated_by_replacing_its_pod(void **state) {
        struct world *w = *state;

        make(w, DAEMONS, DS(""));
        world_run(w, 2 * SECOND);
        struct log *log = watch_pods(w);
        change(w, DAEMONS "/ds", IMAGE("two"));
        world_run(w, 5 * SECOND);
        assert_int_equal(log->text.p[0], '-');
        assert_non_null(strchr(log->text.p, '+'));
        assert_int_equal(count(w, PODS), 1);
        assert_at(w, "items.0.spec.containers.0.image", "two");
        get(w, DAEMONS "/ds");
        assert_at(w, "status.updatedNumberScheduled", "1");
        assert_int_equal(count(w, APPS "controllerrevisions"), 2);
        assert_int_equal(del(w, DAEMONS "/ds"), 200);
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, PODS), 0);
        assert_int_equal(count(w, APPS "controllerrevisions"), 0);
}

static void a_daemon_for_other_nodes_has_no_pod(void **state) {
        struct world *w = *state;

        make(w, DAEMONS,
             "{\"metadata\":{\"name\":\"ds\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"template\":{"
             "\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"nodeSelector\":{\"gpu\":\"yes\"}," CONTAINERS(
                     "img") "}}}}");
        world_run(w, 2 * SECOND);
        assert_int_equal(count(w, PODS), 0);
        get(w, DAEMONS "/ds");
        assert_at(w, "status.desiredNumberScheduled", "0");
        assert_at(w, "status.observedGeneration", "1");
}

/* As people move a StatefulSet to another spec: its Pods and revisions stay and are taken on. */
static void what_an_orphaning_deletion_left_is_taken_on(void **state) {
        struct world *w = *state;

        make(w, STATEFUL, WEB("\"serviceName\":\"web\",\"replicas\":2", ""));
        world_run(w, 5 * SECOND);
        get(w, STATEFUL "/web");
        const char *revision = at(w, "status.currentRevision");
        assert_int_equal(del(w, STATEFUL "/web?propagationPolicy=Orphan"), 200);
        world_run(w, 5 * SECOND);
        assert_int_equal(get(w, STATEFUL "/web"), 404);
        make(w, STATEFUL, WEB("\"serviceName\":\"web\",\"replicas\":3", ""));
        world_run(w, 10 * SECOND);
        get(w, STATEFUL "/web");
        assert_at(w, "status.readyReplicas", "3");
        assert_at(w, "status.currentRevision", revision);
        assert_int_equal(count(w, APPS "controllerrevisions"), 1);
}

static void a_revision_of_another_s_name_is_no_obstacle(void **state) {
        struct world *w = *state;

        make(w, DAEMONS, WEB("\"minReadySeconds\":0", ""));
        world_run(w, SECOND);
        make(w, STATEFUL, WEB("\"serviceName\":\"web\",\"replicas\":1", ""));
        world_run(w, 5 * SECOND);
        get(w, STATEFUL "/web");
        assert_at(w, "status.readyReplicas", "1");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORKLOAD_TEST(what_an_orphaning_deletion_left_is_taken_on),
                WORKLOAD_TEST(a_revision_of_another_s_name_is_no_obstacle),
                WORKLOAD_TEST(ordinals_come_in_order_and_go_in_reverse),
                WORKLOAD_TEST(a_stateful_pod_has_its_marks),
                WORKLOAD_TEST(an_unready_pod_stops_the_line),
                WORKLOAD_TEST(parallel_pods_come_and_go_together),
                WORKLOAD_TEST(an_update_goes_from_the_end_one_by_one),
                WORKLOAD_TEST(below_the_partition_pods_stay_as_they_were),
                WORKLOAD_TEST(on_delete_waits_for_the_person),
                WORKLOAD_TEST(claims_are_made_and_stay),
                WORKLOAD_TEST(a_claim_is_bound_to_a_volume_when_a_pod_needs_it),
                WORKLOAD_TEST(a_claim_goes_when_nobody_uses_it_and_its_volume_follows),
                WORKLOAD_TEST(a_namespace_with_everything_ends),
                WORKLOAD_TEST(a_daemon_runs_on_the_node),
                WORKLOAD_TEST(a_daemon_is_updated_by_replacing_its_pod),
                WORKLOAD_TEST(a_daemon_for_other_nodes_has_no_pod),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
