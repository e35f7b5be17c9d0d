/* SPDX-License-Identifier: Apache-2.0 */
/* What others have in a LeaderWorkerSet that truce runs, or beside it: conditions, claims, owners, values of variables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "groups_world.h"

#define PASSWORD "correct-horse"

/* --- conditions ------------------------------------------------------------------------------------------------- */

/* As the manager "dash", which owns what it applies. */
static void apply_status(struct world *w, const char *status) {
        char body[1024];

        snprintf(body, sizeof body,
                 "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\","
                 "\"metadata\":{\"name\":\"demo\"},\"status\":%s}",
                 status);
        ask(w, KUBE_PATCH, SHOP_LWS "/demo/status?fieldManager=dash", "application/apply-patch+yaml", body, 200);
}

#define SEEN                                                                                                           \
        "{\"conditions\":[{\"type\":\"example.org/Seen\",\"status\":\"True\",\"reason\":\"Looked\",\"message\":\"\","  \
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}"

/* Who owns the condition, "dash " and the like. */
static struct str owners_of_seen(struct world *w) {
        const struct value *object = ask(w, KUBE_GET, SHOP_LWS "/demo", NULL, NULL, 200);
        const struct value *managed = value_path(object, "metadata", "managedFields", NULL);
        struct str text = STR("");

        for (size_t i = 0; i < value_count(managed); i++) {
                const struct value *entry = managed->list.items[i];
                const struct value *conditions = value_path(entry, "fieldsV1", "f:status", "f:conditions",
                                                            "k:{\"type\":\"example.org/Seen\"}", NULL);

                if (conditions)
                        text = arena_strf(w->arena, "%.*s%.*s ", STR_FMT(text),
                                          STR_FMT(value_text(value_getc(entry, "manager"))));
        }
        return text;
}

static void a_condition_of_another_stays_its_own(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("2", "main:1"));
        apply_status(&w, SEEN);
        const struct value *seen = condition(&w, "demo", "example.org/Seen");
        scale(&w, "demo", 3);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(status_number(&w, "demo", "readyReplicas"), 3);
        assert_true(value_equal(condition(&w, "demo", "example.org/Seen"), seen));
        assert_string_equal(owners_of_seen(&w).p, "dash ");

        apply_status(&w, "{}");
        assert_null(condition(&w, "demo", "example.org/Seen"));
        scale(&w, "demo", 1);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(status_number(&w, "demo", "readyReplicas"), 1);
        assert_null(condition(&w, "demo", "example.org/Seen"));
        assert_true(is_true(&w, "demo", "Available"));
        end(&w);
}

/* While the agent's picture still has it. */
static void a_condition_that_another_removed_does_not_come_back(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("2", "main:1"));
        apply_status(&w, SEEN);
        loop_run_for(w.loop, 1000);
        w.fault = blind_for_sets;
        w.blind_until_ms = loop_now_ms(w.loop) + A_MINUTE;
        sandbox_drop_watches(w.sandbox);
        loop_run_for(w.loop, 1000);
        apply_status(&w, "{}");
        ask(&w, KUBE_DELETE, SHOP_PODS "/demo-0-1", NULL, NULL, 200);
        loop_run_for(w.loop, A_MINUTE / 2);
        assert_int_equal(w.created, 9);
        assert_null(condition(&w, "demo", "example.org/Seen"));
        end(&w);
}

/* What is refused is told beside what is counted, and takes nothing of another's. */
static void a_refusal_is_told_and_others_conditions_stay(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("1", "main:1"));
        apply_status(&w, SEEN);
        set_rules(&w, NO_PODS("not today"));
        scale(&w, "demo", 2);
        loop_run_for(w.loop, A_MINUTE / 2);
        assert_true(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        assert_int_equal(status_number(&w, "demo", "readyReplicas"), 1);
        assert_non_null(condition(&w, "demo", "Progressing"));
        assert_string_equal(owners_of_seen(&w).p, "dash ");
        scale(&w, "demo", 1);
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_non_null(condition(&w, "demo", GROUP_CONDITION_BLOCKED));
        assert_false(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        assert_true(is_true(&w, "demo", "Available"));
        end(&w);
}

#define LABELLED(labels)                                                                                               \
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: demo, " EMBEDDED "}\n"       \
        "spec:\n  replicas: 1\n  leaderWorkerTemplate:\n    size: 2\n    workerTemplate:\n"                            \
        "      metadata: {labels: {" labels "}}\n"                                                                     \
        "      spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: main}]}\n"

static size_t events_that_say(struct world *w, const char *text) {
        const struct value *const *events;
        size_t count = sandbox_list(w->sandbox, STR("events.k8s.io"), STR("events"), w->arena, &events), found = 0;

        for (size_t i = 0; i < count; i++)
                found += str_contains(value_canonical(w->arena, events[i]), str_from(text));
        return found;
}

/* The policy has not changed, but the object: nobody waits for the minutes after which a policy is asked again. */
static void what_was_refused_is_tried_at_once_when_the_object_was_changed(void **state) {
        struct world w;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *rules;

        (void)state;
        prepare(&w, LABELLED("a: b"));
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        assert_int_equal(
                json_parse(STR("{\"rules\":[{\"name\":\"owners\",\"match\":{\"kinds\":[\"Pod\"],\"operations\":"
                               "[\"CREATE\"]},\"unlessSet\":\"/metadata/labels/team\",\"deny\":\"no team\"}]}"),
                           a, &rules, NULL),
                0);
        assert_int_equal(sandbox_set_rules(w.sandbox, rules, NULL), 0);
        loop_run_for(w.loop, 5000);
        start_agent(&w);
        loop_run_for(w.loop, 10 * A_MINUTE);
        assert_true(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        assert_int_equal(events_that_say(&w, "no team"), 1);
        assert_int_equal(events_that_say(&w, "Created group"), 0);
        push(&w, LABELLED("a: b, team: blue"));
        loop_run_for(w.loop, 40000);
        assert_int_equal(ready_pods(&w, "demo"), 2);
        assert_false(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        end(&w);
}

/* --- claims ----------------------------------------------------------------------------------------------------- */

#define WITH_CLAIMS                                                                                                    \
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: demo, " EMBEDDED "}\n"       \
        "spec:\n  replicas: 1\n  leaderWorkerTemplate:\n    size: 2\n"                                                 \
        "    volumeClaimTemplates:\n    - metadata: {name: data}\n"                                                    \
        "      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n    workerTemplate:\n"     \
        "      spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: main}]}\n"

static void a_claim_that_is_there_is_used_whoever_made_it(void **state) {
        struct queue_stats queue;
        struct world w;

        (void)state;
        prepare(&w, WITH_CLAIMS);
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        loop_run_for(w.loop, 5000);
        post(&w, "/api/v1/namespaces/shop/persistentvolumeclaims",
             "{\"metadata\":{\"name\":\"data-demo-0\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"
             "\"resources\":{\"requests\":{\"storage\":\"9Gi\"}}}}");
        start_agent(&w);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 2);
        groups_queue_stats(agent_groups(w.agent), &queue);
        assert_int_equal(queue.ends[QUEUE_FAILED], 0);

        const struct value *claim =
                ask(&w, KUBE_GET, "/api/v1/namespaces/shop/persistentvolumeclaims/data-demo-0", NULL, NULL, 200);
        assert_true(str_eqc(value_text(value_path(claim, "spec", "resources", "requests", "storage", NULL)), "9Gi"));
        assert_null(value_path(claim, "metadata", "labels", NULL));
        ask(&w, KUBE_GET, "/api/v1/namespaces/shop/persistentvolumeclaims/data-demo-0-1", NULL, NULL, 200);
        end(&w);
}

/* --- owners ----------------------------------------------------------------------------------------------------- */

static void add_owned_set(struct world *w) {
        char body[2048];

        post(w, "/api/v1/namespaces/shop/configmaps", "{\"metadata\":{\"name\":\"service\"}}");
        const struct value *owner = ask(w, KUBE_GET, "/api/v1/namespaces/shop/configmaps/service", NULL, NULL, 200);
        snprintf(body, sizeof body,
                 "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\",\"metadata\":{\"name\":"
                 "\"owned\",\"annotations\":{\"truce.dev/group-controller\":\"embedded\"},\"ownerReferences\":[{"
                 "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"service\",\"uid\":\"%.*s\",\"controller\":"
                 "true}]},"
                 "\"spec\":{\"replicas\":1,\"leaderWorkerTemplate\":{\"size\":3,\"workerTemplate\":{\"spec\":{"
                 "\"containers\":[{\"name\":\"main\",\"image\":\"main\"}]}}}}}",
                 STR_FMT(value_text(value_path(owner, "metadata", "uid", NULL))));
        post(w, SHOP_LWS, body);
}

/* Whoever owns it (KServe, a DisaggregatedSet) writes it anew, and the annotation with it. */
static void a_set_that_an_operator_owns_is_run_only_where_all_are(void **state) {
        struct world w;

        (void)state;
        begin(&w, DEMO("1", "main:1"));
        add_owned_set(&w);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 3);
        assert_int_equal(ready_pods(&w, "owned"), 0);
        assert_null(value_getc(lws(&w, "owned"), "status"));

        stop_agent(&w);
        w.git = git_memory_new();
        push(&w, DEMO("1", "main:1"));
        w.config->agent.lws_controller = GROUPS_ALL;
        start_agent(&w);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(ready_pods(&w, "owned"), 3);

        size_t created = w.created;
        stop_agent(&w);
        w.git = git_memory_new();
        push(&w, DEMO("1", "main:1"));
        w.config->agent.lws_controller = GROUPS_OFF;
        start_agent(&w);
        scale(&w, "owned", 2);
        scale(&w, "demo", 2);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(w.created, created);
        end(&w);
}

/* --- values of variables ------------------------------------------------------------------------------------------ */

#define WITH_PASSWORD                                                                                                  \
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: demo, " EMBEDDED "}\n"       \
        "spec:\n  replicas: 1\n  leaderWorkerTemplate:\n    size: 2\n    workerTemplate:\n"                            \
        "      spec: {containers: [{name: main, image: main, env: [{name: A, value: " PASSWORD "}, "                   \
        "{name: B, value: demo}]}]}\n"

static void what_a_policy_echoes_of_a_pod_is_told_without_its_variables(void **state) {
        struct world w;
        const struct value *const *events;

        (void)state;
        prepare(&w, WITH_PASSWORD);
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        set_rules(&w, NO_PODS("demo-x says 'demo' and A=" PASSWORD "s, not today"));
        start_agent(&w);
        loop_run_for(w.loop, A_MINUTE / 2);
        struct str message = value_text(value_getc(condition(&w, "demo", GROUP_CONDITION_BLOCKED), "message"));
        assert_true(str_contains(message, STR("demo-x says '***' and A=***s, not today")));

        size_t count = sandbox_list(w.sandbox, STR("events.k8s.io"), STR("events"), w.arena, &events);
        assert_int_not_equal(count, 0);
        for (size_t i = 0; i < count; i++)
                assert_false(str_contains(value_canonical(w.arena, events[i]), STR(PASSWORD)));
        assert_false(str_contains(value_canonical(w.arena, value_getc(lws(&w, "demo"), "status")), STR(PASSWORD)));
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_condition_of_another_stays_its_own),
                cmocka_unit_test(a_condition_that_another_removed_does_not_come_back),
                cmocka_unit_test(a_refusal_is_told_and_others_conditions_stay),
                cmocka_unit_test(what_was_refused_is_tried_at_once_when_the_object_was_changed),
                cmocka_unit_test(a_claim_that_is_there_is_used_whoever_made_it),
                cmocka_unit_test(a_set_that_an_operator_owns_is_run_only_where_all_are),
                cmocka_unit_test(what_a_policy_echoes_of_a_pod_is_told_without_its_variables),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
