/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two agents on a sandbox in virtual time: one works, the other stands by until it is its turn. What that one has read
 * ahead it does not read again, and until then it writes nothing, whatever happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "groups_world.h"

#define CONFIGMAP "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\ndata: {dark: \"on\"}\n"
#define SERVICE                                                                                                        \
        "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {a: b}, ports: [{port: 80}]}\n"
#define FLAGS "/api/v1/namespaces/shop/configmaps/flags"

struct second {
        struct world *w;
        struct kube_transport *transport;
        struct git_memory *git; /* freed by the agent */
        struct agent *agent;
        size_t writes, lists;
        int64_t blind_until_ms; /* its watches of Pods show nothing before */
        char listed[16384];     /* their paths */
};

static struct sandbox_fault on_second(void *ctx, const struct sandbox_request *req, bool is_watch) {
        struct second *s = ctx;
        size_t n = strlen(s->listed);
        struct sandbox_fault fault = { 0 };

        s->writes += req->method != KUBE_GET;
        if (req->method == KUBE_GET && !is_watch && str_contains(req->path, STR("limit="))) {
                s->lists++;
                snprintf(s->listed + n, sizeof s->listed - n, "%.*s\n", STR_FMT(req->path));
        }
        if (is_watch && str_contains(req->path, STR("/pods")) && loop_now_ms(s->w->loop) < s->blind_until_ms)
                fault.delay_ms = s->blind_until_ms - loop_now_ms(s->w->loop);
        return fault;
}

static struct git_source *open_second(void *ctx, const struct config_source *source, struct err *err) {
        struct second *s = ctx;

        (void)source;
        (void)err;
        return git_memory_source(s->git);
}

static void push_to(struct git_memory *git, const char *yaml) {
        struct git_memory_file files[] = { { "app/all.yaml", GIT_MEMORY_FILE, str_from(yaml) } };

        git_memory_push(git, files, 1);
}

static void stand_by(struct second *s, struct world *w, const char *yaml) {
        static const struct agent_hooks hooks;
        struct agent_options options = { .open_source = open_second, .open_ctx = s };

        *s = (struct second){ .w = w, .git = git_memory_new() };
        s->transport = sandbox_transport(w->sandbox, STR("truce"), STR(""));
        sandbox_transport_set_fault(s->transport, on_second, s);
        push_to(s->git, yaml);
        assert_int_equal(agent_new(w->loop, s->transport, w->config, &options, &hooks, s, &s->agent, NULL), 0);
        agent_stand_by(s->agent);
        loop_run_for(w->loop, A_MINUTE);
}

/* The other one is gone, and it is its turn. */
static void take_over(struct second *s) {
        stop_agent(s->w);
        s->lists = 0;
        s->listed[0] = 0;
        agent_start(s->agent);
}

static void end_both(struct second *s) {
        agent_free(s->agent);
        loop_run_for(s->w->loop, 1000);
        kube_transport_free(s->transport);
        end(s->w);
}

static void nothing_is_written_before_its_turn_and_nothing_listed_again_then(void **state) {
        struct second s;
        struct world w;

        (void)state;
        begin(&w, CONFIGMAP "---\n" DEMO("2", "main:1"));
        stand_by(&s, &w, CONFIGMAP "---\n" DEMO("2", "main:1"));
        assert_true(str_contains(str_from(s.listed), STR("/configmaps")));
        assert_true(str_contains(str_from(s.listed), STR("/leaderworkersets")));
        assert_true(str_contains(str_from(s.listed), STR("/pods")));
        assert_true(str_contains(str_from(s.listed), STR("/horizontalpodautoscalers")));

        /* Both see what happens; one acts. */
        push(&w, CONFIGMAP "---\n" DEMO("2", "main:1") SERVICE);
        push_to(s.git, CONFIGMAP "---\n" DEMO("2", "main:1") SERVICE);
        ask(&w, KUBE_DELETE, FLAGS, NULL, NULL, 200);
        ask(&w, KUBE_DELETE, SHOP_PODS "/demo-0-1", NULL, NULL, 200);
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_int_equal(w.created, 9);
        assert_true(str_contains(str_from(s.listed), STR("/services")));
        assert_int_equal(s.writes, 0);

        stop_agent(&w);
        ask(&w, KUBE_DELETE, FLAGS, NULL, NULL, 200);
        ask(&w, KUBE_DELETE, SHOP_PODS "/demo-1-1", NULL, NULL, 200);
        loop_run_for(w.loop, A_MINUTE);
        assert_int_equal(s.writes, 0);
        assert_int_equal(pod_count(&w), 5);

        s.lists = 0;
        s.listed[0] = 0;
        agent_start(s.agent);
        loop_run_for(w.loop, A_MINUTE);
        /* The inventory, and the Pods of the set for which something is to be done. */
        if (s.lists != 2 || !str_contains(str_from(s.listed), STR("truce.dev%2Finventory")) ||
            !str_contains(str_from(s.listed), STR("/namespaces/shop/pods?")))
                fail_msg("listed:\n%s", s.listed);
        ask(&w, KUBE_GET, FLAGS, NULL, NULL, 200);
        assert_int_equal(ready_pods(&w, "demo"), 6);
        assert_int_equal(app_sync_status(agent_app(s.agent, 0)), APP_SYNCED);
        end_both(&s);
}

/* What the one before did meanwhile is not undone, and not done again. */
static void what_was_done_before_its_turn_costs_no_write(void **state) {
        struct second s;
        struct world w;

        (void)state;
        begin(&w, CONFIGMAP);
        stand_by(&s, &w, CONFIGMAP);
        push(&w, CONFIGMAP SERVICE);
        push_to(s.git, CONFIGMAP SERVICE);
        loop_run_for(w.loop, A_MINUTE);
        take_over(&s);
        loop_run_for(w.loop, 2 * A_MINUTE);
        assert_int_equal(s.writes, 0);
        assert_int_equal(app_sync_status(agent_app(s.agent, 0)), APP_SYNCED);
        end_both(&s);
}

/* Pods come one by one. */
static struct sandbox_fault slow_pods(struct world *w, const struct sandbox_request *req, bool is_watch) {
        bool makes_pod = req->method == KUBE_POST && str_contains(req->path, STR("/pods?"));

        (void)is_watch;
        return (struct sandbox_fault){ .delay_ms = makes_pod ? 100 * ++w->share : 0 };
}

/*
 * A group has just ended, and of the one that is to follow the first Pods are made when the agent dies. The second one
 * has seen the end but not the beginning: it goes on with that life and begins no other, which is looked for at every
 * write.
 */
static void what_it_has_not_seen_yet_is_read_before_it_acts(void **state) {
        (void)state;
        for (size_t made = 0; made <= 3; made++) {
                struct second s;
                struct world w;

                begin(&w, DEMO("2", "main:1"));
                stand_by(&s, &w, DEMO("2", "main:1"));
                w.fault = slow_pods;
                ask(&w, KUBE_DELETE, SHOP_PODS "/demo-0-1", NULL, NULL, 200);
                for (int i = 0; i < A_MINUTE && pod_count(&w) > 3; i++)
                        loop_run_for(w.loop, 1);
                s.blind_until_ms = loop_now_ms(w.loop) + 3 * A_MINUTE;
                sandbox_drop_watches(w.sandbox);
                for (int i = 0; i < A_MINUTE && w.created < 6 + made; i++)
                        loop_run_for(w.loop, 1);
                assert_int_equal(w.created, 6 + made);
                agent_free(TAKE_PTR(w.agent));
                agent_start(s.agent);
                loop_run_for(w.loop, 5 * A_MINUTE);
                assert_int_equal(ready_pods(&w, "demo"), 6);
                assert_int_equal(pod_count(&w), 6);
                assert_true(w.created <= 9);
                end_both(&s);
        }
}

/* Its turn comes at any moment of its looking ahead. */
static void its_turn_may_come_at_any_time(void **state) {
        (void)state;
        for (int64_t after_ms = 0; after_ms < 60; after_ms++) {
                static const struct agent_hooks hooks;
                struct second s = { 0 };
                struct world w;

                prepare(&w, CONFIGMAP);
                s = (struct second){ .w = &w, .git = w.git };
                struct agent_options options = { .open_source = open_second, .open_ctx = &s };
                s.transport = sandbox_transport(w.sandbox, STR("second"), STR(""));
                sandbox_transport_set_fault(s.transport, on_second, &s);
                assert_int_equal(agent_new(w.loop, s.transport, w.config, &options, &hooks, &s, &s.agent, NULL), 0);
                agent_stand_by(s.agent);
                loop_run_for(w.loop, after_ms);
                assert_int_equal(s.writes, 0);
                agent_start(s.agent);
                loop_run_for(w.loop, A_MINUTE);
                ask(&w, KUBE_GET, FLAGS, NULL, NULL, 200);
                assert_int_equal(app_sync_status(agent_app(s.agent, 0)), APP_SYNCED);
                end_both(&s);
        }
}

static void a_kind_that_comes_while_it_stands_by_is_read_ahead(void **state) {
        struct second s;
        struct world w;

        (void)state;
        prepare(&w, DEMO("1", "main:1"));
        start_agent(&w);
        stand_by(&s, &w, DEMO("1", "main:1"));
        assert_false(str_contains(str_from(s.listed), STR("/leaderworkersets")));
        add_file(&w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        loop_run_for(w.loop, 5 * A_MINUTE);
        assert_int_equal(ready_pods(&w, "demo"), 3);
        assert_true(str_contains(str_from(s.listed), STR("/leaderworkersets")));
        assert_int_equal(s.writes, 0);
        take_over(&s);
        loop_run_for(w.loop, A_MINUTE);
        if (s.lists != 1)
                fail_msg("listed:\n%s", s.listed);
        end_both(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_is_written_before_its_turn_and_nothing_listed_again_then),
                cmocka_unit_test(what_was_done_before_its_turn_costs_no_write),
                cmocka_unit_test(what_it_has_not_seen_yet_is_read_before_it_acts),
                cmocka_unit_test(its_turn_may_come_at_any_time),
                cmocka_unit_test(a_kind_that_comes_while_it_stands_by_is_read_ahead),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
