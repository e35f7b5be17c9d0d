/* SPDX-License-Identifier: Apache-2.0 */
/* Health in the agent: what is judged when, what it adds up to, what is stored and told. */
#include "agent/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/limits.h"
#include "health/settle.h"
#include "world.h"

/* A ConfigMap is as its annotation says: "Degraded broken" is Degraded, with that message. Git has no such annotation. */
#define RULES                                                                                                          \
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n"                                         \
        "  resource.customizations.health.ConfigMap: |\n"                                                               \
        "    local word = (obj.metadata.annotations or {})[\"example.com/health\"]\n"                                   \
        "    if word == nil then return {status = \"Healthy\"} end\n"                                                   \
        "    if word == \"fail\" then error(\"it is beyond me\") end\n"                                                 \
        "    if word == \"loop\" then while true do end end\n"                                                          \
        "    local status, message = word:match(\"^(%S+) ?(.*)$\")\n"                                                   \
        "    return {status = status, message = message, terminal = message == \"for good\",\n"                         \
        "            again = message == \"again\" and 5 or nil}\n"
#define MARKED(name, annotation)                                                                                       \
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " name ", annotations: {" annotation "}}\ndata: {key: \"1\"}\n"
#define STORED_MS 6000 /* health alone is stored within that */

static void begin_with(struct world *w, const char *yaml) {
        struct config_app_flags flags = { .repo = STR("https://git.example/shop.git"), .path = STR("app"),
                                          .revision = STR("main"), .ns = STR("shop"), .prune = true, .self_heal = true };
        struct err err;

        prepare(w, yaml);
        config_free(w->config);
        if (config_load_text(STR(RULES), STR("argocd-cm.yaml"), &w->config, &err) < 0 ||
            config_add_flags(w->config, &flags, &err) < 0)
                fail_msg("%s", err.msg);
        w->config->agent.installation_id = STR("test");
        w->config->agent.poll_ms = POLL_MS;
        config_settle(w->config);
        assert_int_equal(w->config->problem_count, 0);
        start_agent(w);
        loop_run_for(w->loop, A_WHILE_MS);
}

/* NULL: the annotation goes. */
static void says(struct world *w, struct str path, const char *word) {
        static const struct str keys[] = { STR("metadata"), STR("annotations"), STR("example.com/health") };
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;

        assert_int_equal(json_parse(str_from(map_find(w->twin.objects, path)), a, &object, NULL), 0);
        twin_store(&w->twin, path, value_with_path(a, object, keys, ARRAY_LEN(keys), word ? value_stringc(a, word) : NULL), a);
}

static enum health_code code_of(const struct world *w) {
        struct app_health now;

        app_health(agent_app(w->agent, 0), &now);
        return now.code;
}

static void assert_message(const struct world *w, const char *wanted) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        assert_string_equal(arena_str(a, app_health_message(agent_app(w->agent, 0), a)).p, wanted);
}

static uint64_t evaluations(const struct world *w) {
        struct agent_stats stats;

        agent_stats(w->agent, &stats);
        return stats.health.evaluations;
}

static void the_worst_counts_and_is_named(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, CM("a", "1") "---\n" CM("b", "1"));
        assert_int_equal(code_of(&w), HEALTH_HEALTHY);
        assert_true(status_is(&w, "health", "Healthy"));
        says(&w, STR(PATH_A), "Progressing 1 of 3");
        says(&w, STR(PATH_B), "Degraded for good");
        loop_run_for(w.loop, 1000);
        assert_int_equal(code_of(&w), HEALTH_DEGRADED);
        assert_message(&w, "configmap/b: for good");
        assert_true(app_is_given_up(agent_app(w.agent, 0)));
        loop_run_for(w.loop, STORED_MS);
        assert_true(status_is(&w, "health", "Degraded"));
        assert_true(status_is(&w, "healthMessage", "configmap/b: for good"));
        says(&w, STR(PATH_B), NULL);
        loop_run_for(w.loop, STORED_MS);
        assert_message(&w, "configmap/a: 1 of 3");
        assert_true(status_is(&w, "health", "Progressing"));
        assert_int_equal(app_sync_status(agent_app(w.agent, 0)), APP_SYNCED);
        end(&w);
}

static void what_comes_and_goes_within_seconds_is_no_request(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, CM("a", "1"));
        size_t before = writes(&w);
        unsigned settled = w.settled;

        for (int i = 0; i < 5; i++) {
                says(&w, STR(PATH_A), i % 2 ? NULL : "Progressing");
                loop_run_for(w.loop, 500);
        }
        says(&w, STR(PATH_A), NULL);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(writes(&w), before);
        says(&w, STR(PATH_A), "Progressing");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(writes(&w), before + 1);
        assert_int_equal(w.settled, settled + 7); /* by events; what is stored for health alone settles nothing */
        end(&w);
}

static void a_degraded_that_does_not_last_is_not_shown(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, CM("a", "1"));
        says(&w, STR(PATH_A), "Degraded for now");
        loop_run_for(w.loop, HEALTH_DEAD_BAND_MS - 500);
        assert_int_equal(code_of(&w), HEALTH_PROGRESSING);
        uint64_t before = evaluations(&w);
        loop_run_for(w.loop, 1000);
        assert_int_equal(code_of(&w), HEALTH_DEGRADED);
        assert_int_equal(evaluations(&w), before); /* nothing has changed but the time */
        assert_false(app_is_given_up(agent_app(w.agent, 0)));
        end(&w);
}

static void what_does_not_change_is_not_judged_again(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, CM("a", "1") "---\n" CM("b", "1"));
        uint64_t before = evaluations(&w);
        size_t sent = writes(&w);

        loop_run_for(w.loop, 100 * A_WHILE_MS);
        assert_int_equal(evaluations(&w), before);
        assert_int_equal(writes(&w), sent);
        says(&w, STR(PATH_A), "Healthy");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(evaluations(&w), before + 1);
        end(&w);
}

static void a_rule_that_names_a_time_is_asked_again_then(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, CM("a", "1"));
        uint64_t before = evaluations(&w);

        says(&w, STR(PATH_A), "Progressing again");
        loop_run_for(w.loop, 4000);
        assert_int_equal(evaluations(&w), before + 1);
        loop_run_for(w.loop, 4000);
        assert_int_equal(evaluations(&w), before + 2);
        end(&w);
}

/* What was Healthy was the version before. */
static void what_was_just_applied_is_progressing(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, CM("a", "1"));
        push(&w, CM("a", "2"));
        for (int i = 0; script_count(w.twin.script, KUBE_PATCH, PATH_A) < 2; i++) {
                assert_int_equal(code_of(&w), HEALTH_HEALTHY);
                assert_true(i < POLL_MS);
                loop_run_for(w.loop, 1);
        }
        for (int i = 0; i < HEALTH_SETTLE_MS / 10 - 10; i++) {
                loop_run_for(w.loop, 10);
                assert_int_equal(code_of(&w), HEALTH_PROGRESSING);
        }
        assert_message(&w, "configmap/a: applied a moment ago");
        loop_run_for(w.loop, 1000);
        assert_int_equal(code_of(&w), HEALTH_HEALTHY);
        end(&w);
}

static void marks_in_git_say_what_does_not_count(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, MARKED("a", "argocd.argoproj.io/ignore-healthcheck: \"true\"") "---\n" MARKED(
                               "b", "truce.dev/suspended-is-healthy: \"true\""));
        says(&w, STR(PATH_A), "Degraded for good");
        says(&w, STR(PATH_B), "Suspended");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(code_of(&w), HEALTH_HEALTHY);
        push(&w, CM("a", "1") "---\n" CM("b", "1"));
        loop_run_for(w.loop, 2 * A_WHILE_MS);
        says(&w, STR(PATH_A), "Degraded for good");
        says(&w, STR(PATH_B), "Suspended");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(code_of(&w), HEALTH_DEGRADED);
        says(&w, STR(PATH_A), NULL);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(code_of(&w), HEALTH_SUSPENDED);
        end(&w);
}

static void what_the_cluster_does_not_serve_is_missing(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, CM("a", "1") "---\napiVersion: example.io/v1\nkind: Widget\nmetadata: {name: w}\n");
        assert_int_equal(code_of(&w), HEALTH_MISSING);
        assert_message(&w, "widget/w: the cluster does not serve its kind");
        push(&w, CM("a", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(code_of(&w), HEALTH_HEALTHY);
        end(&w);
}

static void a_script_that_fails_concerns_its_objects_and_is_told_once(void **state) {
        struct world w;
        struct agent_stats stats;

        (void)state;
        begin_with(&w, CM("a", "1") "---\n" CM("b", "1"));
        says(&w, STR(PATH_A), "fail");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(code_of(&w), HEALTH_UNKNOWN);
        assert_message(&w, "configmap/a: argocd-cm.yaml:8: it is beyond me");
        says(&w, STR(PATH_B), "fail");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_non_null(w.remarks);
        assert_non_null(strstr(w.remarks, "it is beyond me"));
        assert_null(strchr(strchr(w.remarks, '\n') + 1, '\n'));
        says(&w, STR(PATH_A), NULL);
        says(&w, STR(PATH_B), NULL);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(code_of(&w), HEALTH_HEALTHY);
        agent_stats(w.agent, &stats);
        assert_int_equal(stats.health.failures[JUDGE_ERROR], 2);
        assert_int_equal(stats.health.failures[JUDGE_TIMEOUT], 0);
        end(&w);
}

/* It takes its second, once; everything else goes on, a newer commit too. */
static void a_script_that_does_not_end_holds_up_nothing(void **state) {
        struct world w;
        struct agent_stats stats;

        (void)state;
        begin_with(&w, CM("a", "1") "---\n" CM("b", "1"));
        says(&w, STR(PATH_A), "loop");
        loop_run_for(w.loop, A_WHILE_MS);
        agent_stats(w.agent, &stats);
        assert_int_equal(stats.health.failures[JUDGE_TIMEOUT], 1);
        assert_int_equal(code_of(&w), HEALTH_UNKNOWN);
        int64_t took_us = stats.health.took_us;

        says(&w, STR(PATH_B), "loop");
        push(&w, CM("a", "2") "---\n" CM("b", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, PATH_A), 2);
        agent_stats(w.agent, &stats);
        assert_true(stats.health.took_us - took_us < took_us); /* it is not run again */
        end(&w);
}

/* The agent ends while a job is under way. */
static void an_end_waits_for_no_script(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, CM("a", "1"));
        loop_virtual_slow_pool(w.loop, LOOP_POOL_CPU, 5000);
        says(&w, STR(PATH_A), "Degraded");
        loop_run_for(w.loop, 1000);
        stop_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_worst_counts_and_is_named),
                cmocka_unit_test(what_comes_and_goes_within_seconds_is_no_request),
                cmocka_unit_test(a_degraded_that_does_not_last_is_not_shown),
                cmocka_unit_test(what_does_not_change_is_not_judged_again),
                cmocka_unit_test(a_rule_that_names_a_time_is_asked_again_then),
                cmocka_unit_test(what_was_just_applied_is_progressing),
                cmocka_unit_test(marks_in_git_say_what_does_not_count),
                cmocka_unit_test(what_the_cluster_does_not_serve_is_missing),
                cmocka_unit_test(a_script_that_fails_concerns_its_objects_and_is_told_once),
                cmocka_unit_test(a_script_that_does_not_end_holds_up_nothing),
                cmocka_unit_test(an_end_waits_for_no_script),
        };

        return cmocka_run_group_tests_name("agent health", tests, NULL, NULL);
}
