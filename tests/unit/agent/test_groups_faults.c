/* SPDX-License-Identifier: Apache-2.0 */
/* Groups while things go wrong around them: a killed agent, lost answers, old pictures, names that are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "groups_world.h"

#define TWO_ROLLED DEMO("2", "main:2")

/* The process dies without a word; what it sent arrives, its answers do not. */
static void kill_agent(struct world *w) {
        agent_free(w->agent);
        w->agent = NULL;
        w->git = git_memory_new();
}

/* Were there so many? */
static bool run_until_writes(struct world *w, size_t writes, int64_t at_most_ms) {
        w->stop_at = writes;
        bool stopped = loop_run_for(w->loop, at_most_ms);
        w->stop_at = 0;
        return stopped;
}

static void assert_converged(struct world *w, const char *image) {
        const struct value *const *all;
        size_t count = pods(w, &all);

        assert_int_equal(count, 6);
        assert_int_equal(ready_pods(w, "demo"), 6);
        for (size_t i = 0; i < count; i++) {
                const struct value *containers = value_path(all[i], "spec", "containers", NULL);

                assert_true(str_eqc(value_text(value_getc(containers->list.items[0], "image")), image));
                assert_null(value_path(all[i], "spec", "schedulingGates", NULL));
        }
        assert_true(is_true(w, "demo", "Available"));
        assert_int_equal(status_number(w, "demo", "readyReplicas"), 2);
}

/* Then it comes back, and all ends as if nothing had been. */
static void kill_after(size_t writes, void (*cause)(struct world *w), const char *yaml, const char *image,
                       bool *ret_killed) {
        struct world w;

        begin(&w, DEMO("2", "main:1"));
        size_t before = w.writes;
        cause(&w);
        *ret_killed = run_until_writes(&w, before + writes, 3 * A_MINUTE);
        kill_agent(&w);
        loop_run_for(w.loop, 1000);
        push(&w, yaml);
        start_agent(&w);
        loop_run_for(w.loop, 4 * A_MINUTE);
        assert_converged(&w, image);
        loop_run_for(w.loop, 10 * A_MINUTE); /* then restarts in a row are forgotten */
        size_t writes_now = w.writes;
        loop_run_for(w.loop, 5 * A_MINUTE);
        assert_int_equal(w.writes, writes_now);
        end(&w);
}

static void kill_worker(struct world *w) {
        ask(w, KUBE_DELETE, SHOP_PODS "/demo-0-1", NULL, NULL, 200);
}

static void roll(struct world *w) {
        push(w, TWO_ROLLED);
}

static void killed_at_any_write_of_a_restart_it_goes_on(void **state) {
        bool killed = true;
        size_t writes = 1;

        (void)state;
        for (; killed && writes < 100; writes++)
                kill_after(writes, kill_worker, DEMO("2", "main:1"), "main:1", &killed);
        assert_in_range(writes, 8, 99);
}

static void killed_at_any_write_of_a_roll_it_goes_on(void **state) {
        bool killed = true;
        size_t writes = 1;

        (void)state;
        for (; killed && writes < 100; writes++)
                kill_after(writes, roll, TWO_ROLLED, "main:2", &killed);
        assert_in_range(writes, 16, 99);
}

static void killed_at_any_write_of_its_creation_it_goes_on(void **state) {
        bool killed = true;

        (void)state;
        for (size_t writes = 1; killed && writes < 60; writes++) {
                struct world w;

                prepare(&w, DEMO("2", "main:1"));
                add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
                loop_run_for(w.loop, 5000);
                start_agent(&w);
                killed = run_until_writes(&w, writes, A_MINUTE);
                kill_agent(&w);
                loop_run_for(w.loop, 1000);
                push(&w, DEMO("2", "main:1"));
                start_agent(&w);
                loop_run_for(w.loop, 4 * A_MINUTE);
                assert_converged(&w, "main:1");
                end(&w);
        }
}

/* --- answers -------------------------------------------------------------------------------------------------- */

static struct sandbox_fault sometimes(struct world *w, const struct sandbox_request *req, bool is_watch) {
        static const int statuses[] = { 500, 503, 429, 504 };
        struct sandbox_fault fault = { 0 };

        (void)req;
        if (is_watch || loop_random(w->loop, w->share))
                return fault;
        switch (loop_random(w->loop, 4)) {
        case 0:
                fault.lose_request = true;
                break;
        case 1:
                fault.lose_reply = true;
                break;
        case 2:
                fault.reply_delay_ms = 3000;
                break;
        default:
                fault.status = statuses[loop_random(w->loop, ARRAY_LEN(statuses))];
        }
        return fault;
}

static void lost_late_and_refused_answers_change_nothing_in_the_end(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 20; seed++) {
                struct world w;

                prepare_with_seed(&w, DEMO("2", "main:1"), seed);
                add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
                loop_run_for(w.loop, 5000);
                w.fault = sometimes;
                w.share = 4;
                start_agent(&w);
                loop_run_for(w.loop, 3 * A_MINUTE);
                push(&w, TWO_ROLLED);
                loop_run_for(w.loop, 10 * A_MINUTE);
                w.fault = NULL;
                loop_run_for(w.loop, 10 * A_MINUTE);
                assert_converged(&w, "main:2");
                end(&w);
        }
}

/* As when an admission webhook is down. */
static struct sandbox_fault no_pods_can_be_made(struct world *w, const struct sandbox_request *req, bool is_watch) {
        (void)w;
        (void)is_watch;
        return (struct sandbox_fault){ .status = req->method == KUBE_POST && str_contains(req->path, STR("/pods?"))
                                                         ? 500
                                                         : 0 };
}

static void what_the_server_cannot_serve_is_told_and_asked_for_less_and_less(void **state) {
        struct world w;

        (void)state;
        prepare(&w, DEMO("2", "main:1"));
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        loop_run_for(w.loop, 5000);
        w.fault = no_pods_can_be_made;
        start_agent(&w);
        loop_run_for(w.loop, A_MINUTE);
        assert_true(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        size_t requests = w.requests;
        loop_run_for(w.loop, 10 * A_MINUTE);
        assert_in_range(w.requests - requests, 1, 400);
        w.fault = NULL;
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_converged(&w, "main:1");
        assert_false(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        end(&w);
}

/* What was made for the object as it was is refused when it is another one by now. */
static struct sandbox_fault no_such_pods_slowly(struct world *w, const struct sandbox_request *req, bool is_watch) {
        bool makes_pod = req->method == KUBE_POST && str_contains(req->path, STR("/pods?"));

        (void)is_watch;
        w->share += makes_pod;
        return (struct sandbox_fault){ .status = makes_pod ? 422 : 0, .reply_delay_ms = makes_pod ? 5000 : 0 };
}

static void a_refusal_of_what_was_asked_for_before_holds_up_nothing(void **state) {
        struct world w;

        (void)state;
        prepare(&w, DEMO("1", "main:1"));
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        loop_run_for(w.loop, 5000);
        w.fault = no_such_pods_slowly;
        start_agent(&w);
        for (int i = 0; i < A_MINUTE && w.share < 3; i++)
                loop_run_for(w.loop, 1);
        assert_int_equal(w.share, 3);
        w.fault = NULL;
        scale(&w, "demo", 2);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        assert_false(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        end(&w);
}

static struct sandbox_fault no_right_to_pods(struct world *w, const struct sandbox_request *req, bool is_watch) {
        (void)w;
        (void)is_watch;
        return (struct sandbox_fault){ .status = str_starts(req->path, STR("/api/v1/pods?")) ? 403 : 0 };
}

/* Everything else goes on: the agent is alive, the application is applied, the object says what is missing. */
static void a_right_that_is_missing_is_a_condition_until_it_is_there(void **state) {
        struct world w;

        (void)state;
        prepare(&w, DEMO("2", "main:1"));
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        loop_run_for(w.loop, 5000);
        w.fault = no_right_to_pods;
        start_agent(&w);
        loop_run_for(w.loop, A_MINUTE);
        assert_true(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        assert_true(str_contains(value_text(value_getc(condition(&w, "demo", GROUP_CONDITION_BLOCKED), "message")),
                                 STR("pods cannot be read")));
        assert_int_equal(groups_state(agent_groups(w.agent)), GROUPS_STATE_FAILED);
        assert_int_equal(app_sync_status(agent_app(w.agent, 0)), APP_SYNCED);
        assert_int_equal(w.created, 0);

        w.fault = NULL;
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_converged(&w, "main:1");
        assert_false(is_true(&w, "demo", GROUP_CONDITION_BLOCKED));
        end(&w);
}

/* --- old pictures --------------------------------------------------------------------------------------------- */

/* A set that Git does not have. */
static const char by_hand[] =
        "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\",\"metadata\":{\"name\":\"demo\","
        "\"annotations\":{\"truce.dev/"
        "group-controller\":\"embedded\"}},\"spec\":{\"replicas\":1,\"leaderWorkerTemplate\":"
        "{\"size\":3,\"workerTemplate\":{\"spec\":{\"terminationGracePeriodSeconds\":1,\"containers\":[{\"name\":"
        "\"main\","
        "\"image\":\"main:1\"}]}}}}}";

/* The agent sees Pods go, but not yet that the object is another one: it asks instead of making Pods that vanish again.
 */
static void an_object_that_was_made_anew_unseen_is_asked_about(void **state) {
        struct world w;

        (void)state;
        begin(&w, LWS_OF("other", EMBEDDED, "1", "1", "main:1", ""));
        post(&w, SHOP_LWS, by_hand);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 3);

        size_t created = w.created, requests = w.requests;
        w.fault = blind_for_sets;
        w.blind_until_ms = loop_now_ms(w.loop) + 2 * A_MINUTE;
        sandbox_drop_watches(w.sandbox);
        loop_run_for(w.loop, 2000);
        ask(&w, KUBE_DELETE, SHOP_LWS "/demo", NULL, NULL, 200);
        post(&w, SHOP_LWS, by_hand);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 3);
        assert_in_range(w.created - created, 3, 9); /* at most two rounds for an object that is gone */
        assert_in_range(w.requests - requests, 1, 100);
        end(&w);
}

/* --- names ---------------------------------------------------------------------------------------------------- */

static void a_pod_of_another_under_a_name_of_ours_is_told_and_not_touched(void **state) {
        struct world w;

        (void)state;
        prepare(&w, DEMO("2", "main:1"));
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        loop_run_for(w.loop, 5000);
        post(&w, SHOP_PODS,
             "{\"metadata\":{\"name\":\"demo-1\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}");
        start_agent(&w);
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 3); /* group 0 */
        assert_true(is_true(&w, "demo", "Stalled"));
        assert_true(str_contains(value_text(value_getc(condition(&w, "demo", "Stalled"), "message")), STR("demo-1")));

        size_t requests = w.requests;
        loop_run_for(w.loop, 10 * A_MINUTE);
        assert_true(w.requests - requests < 100);
        ask(&w, KUBE_DELETE, SHOP_PODS "/demo-1", NULL, NULL, 200);
        loop_run_for(w.loop, 3 * A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        end(&w);
}

/* Pod a-0-1 is the second worker's of group 0 of "a", and the leader's of group 1 of "a-0". */
static void sets_whose_names_meet_leave_each_other_alone(void **state) {
        static const char first[] = LWS_OF("a-0", EMBEDDED, "2", "1", "main:1", "");
        static const char both[] =
                LWS_OF("a-0", EMBEDDED, "2", "1", "main:1", "") "---\n" LWS_OF("a", EMBEDDED, "1", "3", "main:1", "");
        struct world w;

        (void)state;
        begin(&w, first);
        assert_int_equal(ready_pods(&w, "a-0"), 2);
        struct str leader = uids(&w, "a-0", "1");
        push(&w, both);
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_true(is_true(&w, "a", "Stalled"));
        assert_true(str_contains(value_text(value_getc(condition(&w, "a", "Stalled"), "message")), STR("Pod a-0-1")));
        assert_int_equal(ready_pods(&w, "a-0"), 2);
        assert_true(str_eq(uids(&w, "a-0", "1"), leader));
        assert_false(is_true(&w, "a-0", "Stalled"));

        size_t requests = w.requests;
        loop_run_for(w.loop, 10 * A_MINUTE);
        assert_in_range(w.requests - requests, 1, 150);
        scale(&w, "a-0", 1);
        loop_run_for(w.loop, 3 * A_MINUTE);
        assert_int_equal(ready_pods(&w, "a"), 3);
        assert_false(is_true(&w, "a", "Stalled"));
        end(&w);
}

/* --- another controller --------------------------------------------------------------------------------------- */

static void a_set_that_another_controller_runs_is_refused(void **state) {
        struct world w;
        char body[2048];

        (void)state;
        begin(&w, LWS_OF("demo", "labels: {a: b}", "1", "2", "main:1", ""));
        struct str uid = value_text(value_path(lws(&w, "demo"), "metadata", "uid", NULL));
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"demo\",\"labels\":{\"" PREFIX
                 "name\":\"demo\"},\"ownerReferences\":[{\"apiVersion\":"
                 "\"leaderworkerset.x-k8s.io/"
                 "v1\",\"kind\":\"LeaderWorkerSet\",\"name\":\"demo\",\"uid\":\"%.*s\",\"controller\":"
                 "true}]},\"spec\":{\"replicas\":0,\"serviceName\":\"demo\",\"selector\":{\"matchLabels\":{\"a\":\"b\"}"
                 "},"
                 "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
                 "\"image\":\"x\"}]}}}}",
                 STR_FMT(uid));
        post(&w, "/apis/apps/v1/namespaces/shop/statefulsets", body);
        push(&w, DEMO("1", "main:1"));
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_int_equal(w.created, 0);
        assert_true(is_true(&w, "demo", "Stalled"));
        assert_string_equal(value_text(value_getc(condition(&w, "demo", "Stalled"), "reason")).p, "ForeignController");
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(killed_at_any_write_of_its_creation_it_goes_on),
                cmocka_unit_test(killed_at_any_write_of_a_restart_it_goes_on),
                cmocka_unit_test(killed_at_any_write_of_a_roll_it_goes_on),
                cmocka_unit_test(lost_late_and_refused_answers_change_nothing_in_the_end),
                cmocka_unit_test(what_the_server_cannot_serve_is_told_and_asked_for_less_and_less),
                cmocka_unit_test(a_refusal_of_what_was_asked_for_before_holds_up_nothing),
                cmocka_unit_test(a_right_that_is_missing_is_a_condition_until_it_is_there),
                cmocka_unit_test(an_object_that_was_made_anew_unseen_is_asked_about),
                cmocka_unit_test(a_pod_of_another_under_a_name_of_ours_is_told_and_not_touched),
                cmocka_unit_test(sets_whose_names_meet_leave_each_other_alone),
                cmocka_unit_test(a_set_that_another_controller_runs_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
