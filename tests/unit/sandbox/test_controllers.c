/* SPDX-License-Identifier: Apache-2.0 */
/* Deployments, ReplicaSets and Pods. Conditions and their order were recorded from kube-controller-manager v1.37.2. */
#include "sandbox/workloads.h"

#include <stdlib.h>
#include <unistd.h>

#define RCS         "/api/v1/namespaces/default/replicationcontrollers"
#define SEEDS       8
#define AVAILABLE   "Available=True/MinimumReplicasAvailable"
#define UNAVAILABLE "Available=False/MinimumReplicasUnavailable"
#define COMPLETE    "Progressing=True/NewReplicaSetAvailable"

/* ---- a rollout ---- */

static const char *set_named(struct world *w, size_t i) {
        assert_int_equal(get(w, SETS), 200);
        return at(w, arena_strf(w->arena, "items.%zu.metadata.name", i).p);
}

static void a_deployment_becomes_available(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
        world_run(w, 2 * SECOND);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
        assert_at(w, "status.replicas", "3");
        assert_at(w, "status.updatedReplicas", "3");
        assert_at(w, "status.readyReplicas", "3");
        assert_at(w, "status.availableReplicas", "3");
        assert_at(w, "status.unavailableReplicas", "");
        assert_at(w, "status.terminatingReplicas", "0");
        assert_at(w, "status.observedGeneration", "1");
        assert_at(w, "metadata.annotations", "{\"deployment.kubernetes.io/revision\":\"1\"}");
        assert_at(w, "status.conditions.0.message", "Deployment has minimum availability.");
        const char *message = at(w, "status.conditions.1.message");
        assert_string_equal(message,
                            arena_strf(w->arena, "ReplicaSet \"%s\" has successfully progressed.", set_named(w, 0)).p);
}

static void a_deployment_s_entries_are_those_of_a_cluster(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":1", ""));
        world_run(w, 2 * SECOND);
        get(w, DEPLOYMENTS "/web");
        assert_at(w, "metadata.managedFields.0.manager", "curl");
        assert_at(w, "metadata.managedFields.1.manager", "kube-controller-manager");
        assert_at(w, "metadata.managedFields.1.operation", "Update");
        assert_at(w, "metadata.managedFields.1.subresource", "status");
        assert_at(w, "metadata.managedFields.1.fieldsV1.f:metadata",
                  "{\"f:annotations\":{\".\":{},\"f:deployment.kubernetes.io/revision\":{}}}");
        assert_at(w, "metadata.managedFields.2", "");
        get(w, PODS);
        assert_at(w, "items.0.metadata.managedFields.0.manager", "kube-controller-manager");
        assert_at(w, "items.0.metadata.managedFields.1.manager", "kubelet");
        assert_at(w, "items.0.metadata.managedFields.1.subresource", "status");
        assert_at(w, "items.0.spec.nodeName", "sandbox");
        get(w, "/api/v1/nodes/sandbox");
        assert_at(w, "status.conditions.0.reason", "KubeletReady");
}

static void a_replica_set_has_the_names_and_marks_of_its_deployment(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":4", ""));
        world_run(w, 2 * SECOND);
        const char *name = set_named(w, 0), *hash = at(w, "items.0.metadata.labels.pod-template-hash");
        assert_string_equal(name, arena_strf(w->arena, "web-%s", hash).p);
        assert_at(w, "items.0.spec.selector.matchLabels",
                  arena_strf(w->arena, "{\"app\":\"web\",\"pod-template-hash\":\"%s\"}", hash).p);
        assert_at(
                w, "items.0.metadata.annotations",
                "{\"deployment.kubernetes.io/desired-replicas\":\"4\",\"deployment.kubernetes.io/max-replicas\":\"5\","
                "\"deployment.kubernetes.io/revision\":\"1\"}");
        assert_at(w, "items.0.metadata.ownerReferences.0.kind", "Deployment");
        assert_at(w, "items.0.metadata.ownerReferences.0.blockOwnerDeletion", "true");
        assert_at(w, "items.0.status",
                  "{\"availableReplicas\":4,\"fullyLabeledReplicas\":4,\"observedGeneration\":1,\"readyReplicas\":4,"
                  "\"replicas\":4,\"terminatingReplicas\":0}");
        get(w, PODS);
        assert_at(w, "items.0.metadata.generateName", arena_strf(w->arena, "%s-", name).p);
        assert_at(w, "items.0.metadata.ownerReferences.0.name", name);
}

/* What has to hold at every write of a rolling update. */
struct bounds {
        struct world *w;
        int64_t most, least;
        bool is_armed, has_old, has_new;
        size_t commits;
};

static void check_bounds(void *ctx, const struct sandbox_commit *c) {
        struct bounds *b = ctx;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *const *sets;
        int64_t sum = 0;

        if (!b->is_armed || str_eqc(c->kind, "Deployment"))
                return;
        size_t n = sandbox_list(b->w->s, STR("apps"), STR("replicasets"), a, &sets);
        for (size_t i = 0; i < n; i++)
                sum += number(sets[i], "spec", "replicas");
        b->commits++;
        if (sum > b->most || (int64_t)ready_pods(b->w->s, a) < b->least)
                fail_msg("%lld replicas wanted, %zu ready", (long long)sum, ready_pods(b->w->s, a));
}

static struct world *world_seeded(uint64_t seed) {
        struct world *w = mem_zalloc(sizeof *w);

        w->loop = loop_new_virtual(seed, WORLD_START_MS);
        w->s = sandbox_new(w->loop, NULL);
        w->arena = arena_new(0);
        return w;
}

static void roll_within(uint64_t seed, const char *body, int64_t most, int64_t least) {
        struct world *w = world_seeded(seed);
        struct bounds b = { .w = w, .most = most, .least = least };

        sandbox_observe(w->s, check_bounds, &b);
        make(w, DEPLOYMENTS, body);
        world_run(w, 5 * SECOND);
        b.is_armed = true;
        change(w, DEPLOYMENTS "/web", IMAGE("two"));
        world_run(w, 700);
        /* Another one before the first is over. */
        change(w, DEPLOYMENTS "/web", IMAGE("three"));
        world_run(w, MINUTE);
        assert_true(b.commits > 20);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
        assert_at(w, "metadata.annotations", "{\"deployment.kubernetes.io/revision\":\"3\"}");
        get(w, PODS);
        assert_at(w, "items.0.spec.containers.0.image", "three");
        world_free(w);
}

static void surge_and_unavailable_hold_at_every_write(void **state) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                roll_within(seed, WEB("\"replicas\":4", ""), 5, 3);
                roll_within(seed,
                            WEB("\"replicas\":5,\"strategy\":{\"rollingUpdate\":{\"maxSurge\":0,\"maxUnavailable\":2}}",
                                ""),
                            5, 3);
                roll_within(seed,
                            WEB("\"replicas\":3,\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"50%\","
                                "\"maxUnavailable\":0}}",
                                ""),
                            5, 3);
        }
        (void)state;
}

static void check_no_overlap(void *ctx, const struct sandbox_commit *c) {
        struct bounds *b = ctx;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *const *pods;
        bool old = false, new = false;

        size_t n = sandbox_list(b->w->s, (struct str){ 0 }, STR("pods"), a, &pods);
        for (size_t i = 0; i < n; i++) {
                const struct value *list = value_path(pods[i], "spec", "containers", NULL);
                struct str image = value_text(value_getc(list->list.items[0], "image"));

                old |= str_eqc(image, "img");
                new |= str_eqc(image, "two");
        }
        assert_false(old && new);
        b->has_new |= new;
        (void)c;
}

static void recreate_never_has_two_templates_at_once(void **state) {
        struct world *w = *state;
        struct bounds b = { .w = w };

        sandbox_observe(w->s, check_no_overlap, &b);
        make(w, DEPLOYMENTS, WEB("\"replicas\":3,\"strategy\":{\"type\":\"Recreate\"}", ""));
        world_run(w, 5 * SECOND);
        change(w, DEPLOYMENTS "/web", IMAGE("two"));
        world_run(w, 5 * SECOND);
        assert_true(b.has_new);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
}

/* ---- sizes ---- */

static void a_deployment_scales_to_nothing_and_back(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
        world_run(w, 2 * SECOND);
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"replicas\":0}}");
        world_run(w, 2 * SECOND);
        assert_int_equal(count(w, PODS), 0);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
        assert_at(w, "status.replicas", "");
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"replicas\":2}}");
        world_run(w, 100);
        assert_conditions(w, DEPLOYMENTS "/web", COMPLETE " " UNAVAILABLE);
        assert_at(w, "status.unavailableReplicas", "2");
        world_run(w, 2 * SECOND);
        assert_conditions(w, DEPLOYMENTS "/web", COMPLETE " " AVAILABLE);
        assert_int_equal(count(w, PODS), 2);
        assert_int_equal(count(w, SETS), 1);
}

static void a_rollout_is_scaled_in_proportion(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS,
             WEB("\"replicas\":10,\"strategy\":{\"rollingUpdate\":{\"maxSurge\":3,\"maxUnavailable\":2}}", ""));
        world_run(w, 2 * SECOND);
        change(w, DEPLOYMENTS "/web", IMAGE("two:bad"));
        world_run(w, 2 * SECOND);
        /* 8 old ones and 5 that do not come up: the example of the documentation, to 15. */
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"replicas\":15}}");
        world_run(w, 2 * SECOND);
        get(w, SETS);
        int64_t a = 0, b = 0;
        str_to_i64(str_from(at(w, "items.0.spec.replicas")), &a);
        str_to_i64(str_from(at(w, "items.1.spec.replicas")), &b);
        assert_int_equal(a + b, 18);
        assert_int_equal(a > b ? a : b, 11);
}

static void of_many_pods_the_useless_ones_go_first(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
        world_run(w, 2 * SECOND);
        get(w, PODS);
        const char *name = at(w, "items.1.metadata.name");
        change(w, arena_strf(w->arena, PODS "/%s", name).p,
               "{\"metadata\":{\"annotations\":{\"podsim.truce.dev/hold\":\"unready\"}}}");
        world_run(w, SECOND);
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"replicas\":2}}");
        world_run(w, SECOND);
        assert_int_equal(get(w, arena_strf(w->arena, PODS "/%s", name).p), 404);
        assert_int_equal(count(w, PODS), 2);
}

/* ---- waiting, failing ---- */

static void a_paused_deployment_waits(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":2", ""));
        world_run(w, 2 * SECOND);
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"paused\":true}}");
        change(w, DEPLOYMENTS "/web", IMAGE("two"));
        world_run(w, 2 * SECOND);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " Progressing=Unknown/DeploymentPaused");
        assert_int_equal(count(w, SETS), 1);
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"paused\":false}}");
        world_run(w, 5 * SECOND);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
        assert_int_equal(count(w, SETS), 2);
}

static void a_rollout_without_progress_exceeds_its_deadline(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":2,\"progressDeadlineSeconds\":60", ""));
        world_run(w, 2 * SECOND);
        change(w, DEPLOYMENTS "/web", IMAGE("two:bad"));
        world_run(w, 50 * SECOND);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " Progressing=True/ReplicaSetUpdated");
        world_run(w, 20 * SECOND);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " Progressing=False/ProgressDeadlineExceeded");
        assert_true(run_until_idle(w) < HOUR);
        change(w, DEPLOYMENTS "/web", IMAGE("three"));
        world_run(w, 5 * SECOND);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
}

static void an_image_that_is_bad_is_waited_for(void **state) {
        struct world *w = *state;

        make(w, PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{" CONTAINERS("a:bad") "}}");
        world_run(w, 2 * SECOND);
        get(w, PODS "/p");
        assert_at(w, "status.phase", "Pending");
        assert_at(w, "status.containerStatuses.0.state",
                  "{\"waiting\":{\"message\":\"Back-off pulling image \\\"a:bad\\\": not found\",\"reason\":"
                  "\"ImagePullBackOff\"}}");
}

static void refused_pods_are_told(void **state) {
        struct world *w = *state;
        const struct value *rules;

        assert_int_equal(json_parse(STR("{\"rules\":[{\"name\":\"no\",\"match\":{\"kinds\":[\"Pod\"],\"operations\":"
                                        "[\"CREATE\"]},\"deny\":\"not today\"}]}"),
                                    w->arena, &rules, NULL),
                         0);
        assert_int_equal(sandbox_set_rules(w->s, rules, NULL), 0);
        make(w, DEPLOYMENTS, WEB("\"replicas\":2", ""));
        world_run(w, 2 * SECOND);
        assert_conditions(w, DEPLOYMENTS "/web",
                          "Progressing=True/NewReplicaSetCreated " UNAVAILABLE " ReplicaFailure=True/FailedCreate");
        assert_true(strstr(at(w, "status.conditions.2.message"), "not today") != NULL);
        assert_int_equal(json_parse(STR("{\"rules\":[]}"), w->arena, &rules, NULL), 0);
        assert_int_equal(sandbox_set_rules(w->s, rules, NULL), 0);
        world_run(w, 5 * SECOND);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
}

/* ---- history ---- */

static void old_sets_are_kept_up_to_the_limit(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":1,\"revisionHistoryLimit\":2", ""));
        for (int i = 0; i < 5; i++) {
                world_run(w, 5 * SECOND);
                change(w, DEPLOYMENTS "/web", arena_strf(w->arena, IMAGE("v%d"), i).p);
        }
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, SETS), 3);
        get(w, DEPLOYMENTS "/web");
        assert_at(w, "metadata.annotations", "{\"deployment.kubernetes.io/revision\":\"6\"}");
}

static void going_back_uses_the_old_set(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":1", ""));
        world_run(w, 5 * SECOND);
        const char *name = set_named(w, 0);
        change(w, DEPLOYMENTS "/web", IMAGE("two"));
        world_run(w, 5 * SECOND);
        change(w, DEPLOYMENTS "/web", IMAGE("img"));
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, SETS), 2);
        get(w, arena_strf(w->arena, SETS "/%s", name).p);
        assert_at(w, "spec.replicas", "1");
        assert_at(w, "metadata.annotations.deployment.kubernetes.io/revision", "");
        const struct value *annotations = value_path(w->body, "metadata", "annotations", NULL);
        assert_true(str_eqc(value_text(value_getc(annotations, "deployment.kubernetes.io/revision")), "3"));
        assert_true(str_eqc(value_text(value_getc(annotations, "deployment.kubernetes.io/revision-history")), "1"));
}

/* ---- owners ---- */

static void a_deletion_takes_everything_along(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
        world_run(w, 2 * SECOND);
        assert_int_equal(del(w, DEPLOYMENTS "/web"), 200);
        world_run(w, 2 * SECOND);
        assert_int_equal(count(w, SETS), 0);
        assert_int_equal(count(w, PODS), 0);
}

static void foreground_deletion_takes_pods_first(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
        world_run(w, 2 * SECOND);
        assert_int_equal(ask(w, KUBE_DELETE, DEPLOYMENTS "/web", "{\"propagationPolicy\":\"Foreground\"}"), 200);
        assert_int_equal(get(w, DEPLOYMENTS "/web"), 200);
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, PODS), 0);
        assert_int_equal(get(w, DEPLOYMENTS "/web"), 404);
}

static void orphans_are_adopted_by_their_successor(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":2", ""));
        world_run(w, 2 * SECOND);
        get(w, PODS);
        const char *pod = at(w, "items.0.metadata.name");
        assert_int_equal(ask(w, KUBE_DELETE, DEPLOYMENTS "/web", "{\"propagationPolicy\":\"Orphan\"}"), 200);
        world_run(w, 2 * SECOND);
        assert_int_equal(count(w, SETS), 1);
        assert_at(w, "items.0.metadata.ownerReferences", "");
        make(w, DEPLOYMENTS, WEB("\"replicas\":2", ""));
        world_run(w, 2 * SECOND);
        assert_int_equal(count(w, SETS), 1);
        assert_at(w, "items.0.metadata.ownerReferences.0.kind", "Deployment");
        assert_int_equal(count(w, PODS), 2);
        assert_at(w, "items.0.metadata.name", pod);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
}

static void a_pod_that_leaves_the_selection_is_replaced(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":2", ""));
        world_run(w, 2 * SECOND);
        get(w, PODS);
        const char *path = arena_strf(w->arena, PODS "/%s", at(w, "items.0.metadata.name")).p;
        change(w, path, "{\"metadata\":{\"labels\":{\"app\":\"other\"}}}");
        world_run(w, 2 * SECOND);
        assert_int_equal(get(w, path), 200);
        assert_at(w, "metadata.ownerReferences", "");
        assert_int_equal(count(w, PODS), 3);
}

static void a_deleted_pod_is_replaced(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":2", ""));
        world_run(w, 2 * SECOND);
        get(w, PODS);
        const char *path = arena_strf(w->arena, PODS "/%s", at(w, "items.0.metadata.name")).p;
        assert_int_equal(del(w, path), 200);
        assert_at(w, "metadata.deletionGracePeriodSeconds", "30");
        world_run(w, 2 * SECOND);
        assert_int_equal(get(w, path), 404);
        assert_int_equal(count(w, PODS), 2);
}

static void a_replication_controller_does_the_same(void **state) {
        struct world *w = *state;

        make(w, RCS, "{\"metadata\":{\"name\":\"old\"},\"spec\":{\"replicas\":2," TEMPLATE("", "img") "}}");
        make(w, PODS,
             "{\"metadata\":{\"name\":\"stray\",\"labels\":{\"app\":\"web\"}},\"spec\":{" CONTAINERS("img") "}}");
        world_run(w, 2 * SECOND);
        get(w, RCS "/old");
        assert_at(w, "status",
                  "{\"availableReplicas\":2,\"fullyLabeledReplicas\":2,\"observedGeneration\":1,\"readyReplicas\":2,"
                  "\"replicas\":2}");
        assert_int_equal(count(w, PODS), 2);
        assert_at(w, "items.0.metadata.ownerReferences.0.kind", "ReplicationController");
        assert_at(w, "items.1.metadata.ownerReferences.0.kind", "ReplicationController");
}

/* minReadySeconds counts from the moment a Pod is ready. */
static void pods_are_available_only_after_a_while(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":2,\"minReadySeconds\":30", ""));
        world_run(w, 20 * SECOND);
        get(w, DEPLOYMENTS "/web");
        assert_at(w, "status.readyReplicas", "2");
        assert_at(w, "status.availableReplicas", "");
        world_run(w, 12 * SECOND);
        get(w, DEPLOYMENTS "/web");
        assert_at(w, "status.availableReplicas", "2");
        assert_int_equal(run_until_idle(w), 0);
}

/* ---- Pods ---- */

static void annotations_decide_a_pod_s_fate(void **state) {
        static const struct {
                const char *annotation, *phase, *ready;
        } cases[] = {
                { "\"podsim.truce.dev/hold\":\"pending\"", "Pending", "" },
                { "\"podsim.truce.dev/hold\":\"unready\"", "Running",
                  "ContainersReady=False/ContainersNotReady "
                  "Ready=False/ContainersNotReady" },
                { "\"podsim.truce.dev/waiting\":\"CrashLoopBackOff\"", "Running",
                  "ContainersReady=False/ContainersNotReady Ready=False/ContainersNotReady" },
                { "\"podsim.truce.dev/waiting\":\"ErrImagePull\"", "Pending",
                  "ContainersReady=False/ContainersNotReady Ready=False/ContainersNotReady" },
                { "\"podsim.truce.dev/exit\":\"0\"", "Succeeded",
                  "ContainersReady=False/PodCompleted Ready=False/PodCompleted" },
                { "\"podsim.truce.dev/exit\":\"3\"", "Failed",
                  "ContainersReady=False/PodFailed Ready=False/PodFailed" },
                { "\"podsim.truce.dev/delay\":\"10s\"", "Pending",
                  "ContainersReady=False/ContainersNotReady Ready=False/ContainersNotReady" },
                { "", "Running", "ContainersReady=True/ Ready=True/" },
        };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *path = arena_strf(w->arena, PODS "/p%zu", i).p;

                make(w, PODS,
                     arena_strf(w->arena, "{\"metadata\":{\"name\":\"p%zu\",\"annotations\":{%s}},\"spec\":{%s}}", i,
                                cases[i].annotation, CONTAINERS("img"))
                             .p);
                world_run(w, 2 * SECOND);
                const char *text = conditions(w, path);
                assert_at(w, "status.phase", cases[i].phase);
                assert_non_null(strstr(text, cases[i].ready));
        }
        world_run(w, 10 * SECOND);
        get(w, PODS "/p6");
        assert_at(w, "status.phase", "Running");
        change(w, PODS "/p0", "{\"metadata\":{\"annotations\":{\"podsim.truce.dev/hold\":null}}}");
        world_run(w, SECOND);
        get(w, PODS "/p0");
        assert_at(w, "status.phase", "Running");
}

/* ---- time ---- */

static void an_idle_sandbox_has_no_timers(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
        assert_true(run_until_idle(w) < MINUTE);
        change(w, DEPLOYMENTS "/web", IMAGE("two"));
        assert_true(run_until_idle(w) < MINUTE);
        assert_int_equal(run_until_idle(w), 0);
}

/* A year of one rollout a week; what takes long here shows as this test's time limit. */
static void a_year_of_weekly_rollouts_passes(void **state) {
        struct world *w = *state;

        make(w, DEPLOYMENTS, WEB("\"replicas\":5", ""));
        for (int week = 0; week < 52; week++) {
                world_run(w, 7 * DAY);
                change(w, DEPLOYMENTS "/web", arena_strf(w->arena, IMAGE("week-%d"), week).p);
        }
        world_run(w, DAY);
        assert_conditions(w, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
        assert_int_equal(count(w, SETS), 11);
        assert_int_equal(count(w, PODS), 5);
}

/* The same seed is the same run, to the last resourceVersion and name. */
static void a_seed_repeats_a_run(void **state) {
        struct world *a = world_seeded(7), *b = world_seeded(7), *c = world_seeded(8);
        struct world *const all[] = { a, b, c };

        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
                make(all[i], DEPLOYMENTS, WEB("\"replicas\":4", ""));
                world_run(all[i], 300);
                change(all[i], DEPLOYMENTS "/web", IMAGE("two"));
                world_run(all[i], MINUTE);
                get(all[i], PODS);
        }
        assert_true(str_eq(a->reply.body, b->reply.body));
        assert_false(str_eq(a->reply.body, c->reply.body));
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                world_free(all[i]);
        (void)state;
}

/* ---- everything at once ---- */

static void touch_pod(struct world *w, bool deletes) {
        size_t n = count(w, PODS);

        if (n == 0)
                return;
        const char *name = at(w, arena_strf(w->arena, "items.%zu.metadata.name", (size_t)loop_random(w->loop, n)).p);
        const char *path = arena_strf(w->arena, PODS "/%s", name).p;
        if (deletes)
                del(w, path);
        else
                patch(w, path, MERGE_TYPE,
                      loop_random(w->loop, 2)
                              ? "{\"metadata\":{\"annotations\":{\"podsim.truce.dev/hold\":\"unready\"}}}"
                              : "{\"metadata\":{\"labels\":{\"app\":\"gone\"}}}");
}

static void do_something(struct world *w) {
        size_t n = (size_t)loop_random(w->loop, 9);

        switch (loop_random(w->loop, 7)) {
        case 0:
                change(w, DEPLOYMENTS "/web", arena_strf(w->arena, "{\"spec\":{\"replicas\":%zu}}", n).p);
                break;
        case 1:
                change(w, DEPLOYMENTS "/web", arena_strf(w->arena, IMAGE("v%zu"), n).p);
                break;
        case 2:
                change(w, DEPLOYMENTS "/web", arena_strf(w->arena, IMAGE("v%zu:bad"), n).p);
                break;
        case 3:
                change(w, DEPLOYMENTS "/web", n % 2 ? "{\"spec\":{\"paused\":true}}" : "{\"spec\":{\"paused\":false}}");
                break;
        case 4:
                del(w, DEPLOYMENTS "/web");
                post(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
                break;
        default:
                touch_pod(w, n % 3);
        }
}

/* Whatever was done and whenever: once people rest, the Deployment is what it says, and nothing runs on. */
static void every_story_ends_well(void **state) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                struct world *w = world_seeded(seed);

                make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
                for (int i = 0; i < 40; i++) {
                        do_something(w);
                        world_run(w, (int64_t)loop_random(w->loop, 600));
                }
                change(w, DEPLOYMENTS "/web", "{\"spec\":{\"paused\":false,\"replicas\":4}}");
                change(w, DEPLOYMENTS "/web", IMAGE("last"));
                assert_true(run_until_idle(w) < HOUR);
                get(w, DEPLOYMENTS "/web");
                assert_at(w, "status.updatedReplicas", "4");
                assert_at(w, "status.availableReplicas", "4");
                assert_at(w, "status.replicas", "4");
                assert_at(w, "status.terminatingReplicas", "0");
                assert_int_equal(count(w, PODS "?labelSelector=app=web"), 4);
                assert_int_equal(del(w, DEPLOYMENTS "/web"), 200);
                run_until_idle(w);
                assert_int_equal(count(w, PODS "?labelSelector=app=web"), 0);
                assert_int_equal(count(w, SETS), 0);
                world_free(w);
        }
        (void)state;
}

static void a_saved_rollout_goes_on_after_loading(void **state) {
        struct world *w = *state, *other = world_seeded(3);
        char path[] = "/tmp/truce-controllers-XXXXXX";
        struct err err = { 0 };
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        close(fd);
        make(w, DEPLOYMENTS, WEB("\"replicas\":3", ""));
        world_run(w, 2 * SECOND);
        change(w, DEPLOYMENTS "/web", IMAGE("two"));
        world_run(w, 150);
        assert_int_equal(sandbox_save(w->s, path, &err), 0);
        assert_int_equal(sandbox_load(other->s, path, &err), 0);
        unlink(path);
        world_run(other, MINUTE);
        assert_conditions(other, DEPLOYMENTS "/web", AVAILABLE " " COMPLETE);
        assert_int_equal(count(other, PODS), 3);
        assert_at(other, "items.0.spec.containers.0.image", "two");
        world_free(other);
}

static void without_controllers_nothing_happens(void **state) {
        struct world *w = world_new(&(struct sandbox_options){ .no_controllers = true });

        make(w, DEPLOYMENTS, WEB("\"replicas\":4", ""));
        world_run(w, MINUTE);
        assert_int_equal(count(w, SETS), 0);
        assert_int_equal(count(w, "/api/v1/nodes"), 0);
        world_free(w);
        (void)state;
}

/* Numbers at the ends of their types, and more Pods than there is room for. */
static void numbers_as_large_as_they_may_be_do_no_harm(void **state) {
        struct world *w = world_new(&(struct sandbox_options){ .max_pods = 20 });

        make(w, DEPLOYMENTS, WEB("\"replicas\":2147483647,\"minReadySeconds\":2147483646,\"progressDeadlineSeconds\":"
                                 "2147483647,\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"9999999999999999%\"}}", ""));
        world_run(w, 5 * SECOND);
        assert_int_equal(count(w, PODS), 20);
        get(w, SETS);
        assert_at(w, "items.0.spec.replicas", "2147483647");
        assert_at(w, "items.0.status.conditions.0.reason", "FailedCreate");
        assert_at(w, "items.0.status.conditions.0.message", "the sandbox has room for 20 Pods, and they are there");
        change(w, DEPLOYMENTS "/web", IMAGE("two"));
        world_run(w, SECOND);
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"replicas\":2147483646}}");
        world_run(w, SECOND);
        change(w, DEPLOYMENTS "/web", "{\"spec\":{\"replicas\":1,\"minReadySeconds\":0}}");
        world_run(w, HOUR);
        assert_int_equal(count(w, PODS), 1);
        world_free(w);
        (void)state;
}

static void times_as_long_as_they_may_be_do_no_harm(void **state) {
        struct world *w = *state;

        make(w, JOBS,
             "{\"metadata\":{\"name\":\"job\"},\"spec\":{\"activeDeadlineSeconds\":9223372036854775807,"
             "\"ttlSecondsAfterFinished\":2147483647,\"template\":{\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS(
                     "img") "}}}}");
        make(w, CRONS,
             "{\"metadata\":{\"name\":\"tick\"},\"spec\":{\"schedule\":\"* * * * *\",\"startingDeadlineSeconds\":"
             "9223372036854775807,\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS(
                     "img") "}}}}}}");
        make(w, PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"terminationGracePeriodSeconds\":9223372036854775807,"
                      CONTAINERS("img") "}}");
        world_run(w, 2 * MINUTE);
        get(w, JOBS "/job");
        assert_at(w, "status.succeeded", "1");
        assert_true(count(w, JOBS) > 1);
        assert_int_equal(del(w, PODS "/p"), 200);
        assert_int_equal(del(w, PODS "/p?gracePeriodSeconds=9223372036854775806"), 200);
        assert_int_equal(get(w, PODS "?watch=true&timeoutSeconds=9223372036854775807"), 200);
        sandbox_watch_close(w->reply.watch);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORKLOAD_TEST(a_deployment_becomes_available),
                cmocka_unit_test(numbers_as_large_as_they_may_be_do_no_harm),
                WORKLOAD_TEST(times_as_long_as_they_may_be_do_no_harm),
                WORKLOAD_TEST(a_deployment_s_entries_are_those_of_a_cluster),
                WORKLOAD_TEST(a_replica_set_has_the_names_and_marks_of_its_deployment),
                cmocka_unit_test(surge_and_unavailable_hold_at_every_write),
                WORKLOAD_TEST(recreate_never_has_two_templates_at_once),
                WORKLOAD_TEST(a_deployment_scales_to_nothing_and_back),
                WORKLOAD_TEST(a_rollout_is_scaled_in_proportion),
                WORKLOAD_TEST(of_many_pods_the_useless_ones_go_first),
                WORKLOAD_TEST(a_paused_deployment_waits),
                WORKLOAD_TEST(a_rollout_without_progress_exceeds_its_deadline),
                WORKLOAD_TEST(an_image_that_is_bad_is_waited_for),
                WORKLOAD_TEST(refused_pods_are_told),
                WORKLOAD_TEST(old_sets_are_kept_up_to_the_limit),
                WORKLOAD_TEST(going_back_uses_the_old_set),
                WORKLOAD_TEST(a_deletion_takes_everything_along),
                WORKLOAD_TEST(foreground_deletion_takes_pods_first),
                WORKLOAD_TEST(orphans_are_adopted_by_their_successor),
                WORKLOAD_TEST(a_pod_that_leaves_the_selection_is_replaced),
                WORKLOAD_TEST(a_deleted_pod_is_replaced),
                WORKLOAD_TEST(a_replication_controller_does_the_same),
                WORKLOAD_TEST(pods_are_available_only_after_a_while),
                WORKLOAD_TEST(annotations_decide_a_pod_s_fate),
                WORKLOAD_TEST(an_idle_sandbox_has_no_timers),
                WORKLOAD_TEST(a_year_of_weekly_rollouts_passes),
                cmocka_unit_test(a_seed_repeats_a_run),
                cmocka_unit_test(every_story_ends_well),
                WORKLOAD_TEST(a_saved_rollout_goes_on_after_loading),
                cmocka_unit_test(without_controllers_nothing_happens),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
