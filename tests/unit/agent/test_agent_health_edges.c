/* SPDX-License-Identifier: Apache-2.0 */
/* The health of an application where answers, events and judgements cross each other, and what a rule may see and say. */
#include "agent/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "world.h"

#define SERVICE(port)                                                                                                  \
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: " port "}]}\n"
#define PATH_SERVICE "/api/v1/namespaces/shop/services/web"

static void serve(struct world *w) {
        script_serve_discovery(w->twin.script, "v1 ConfigMap configmaps namespaced cm\nv1 Secret secrets namespaced\n"
                                               "v1 Service services namespaced svc\nv1 Namespace namespaces cluster ns\n");
}

/* --- crossing --------------------------------------------------------------------------------------------------- */

/* As the server answers, but after its event. */
static int answer_late(void *ctx, const struct script_request *r, struct script_answer *answer) {
        int q = twin_write(ctx, r, answer);

        answer->delay_ms = JUDGE_BUSY_MS + 500;
        return q;
}

/* The event of a write comes first and is being judged when the write is answered: what is judged then is new enough. */
static void an_event_that_overtakes_its_answer_is_judged(void **state) {
        struct app_health now;
        struct world w;

        (void)state;
        prepare(&w, SERVICE("80"));
        serve(&w);
        script_on_call(w.twin.script, KUBE_PATCH, PATH_SERVICE, answer_late, &w.twin);
        loop_virtual_slow_pool(w.loop, LOOP_POOL_CPU, 1000);
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        app_health(agent_app(w.agent, 0), &now);
        assert_true(now.is_current);
        assert_int_equal(now.code, HEALTH_HEALTHY);

        push(&w, SERVICE("81"));
        loop_run_for(w.loop, A_WHILE_MS);
        app_health(agent_app(w.agent, 0), &now);
        assert_true(now.is_current);
        assert_int_equal(now.code, HEALTH_HEALTHY);
        end(&w);
}

/* --- a judge that takes its time --------------------------------------------------------------------------------- */

static void assert_health(const struct world *w, enum health_code code, const char *message) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct app_health now;

        app_health(agent_app(w->agent, 0), &now);
        assert_int_equal(now.code, code);
        assert_string_equal(arena_str(a, app_health_message(agent_app(w->agent, 0), a)).p, message);
}

/* Without a rule, a status and a deletion there is nothing to judge, and no pool thread is asked. */
static void what_no_rule_is_about_is_not_judged(void **state) {
        struct agent_stats stats;
        struct world w;

        (void)state;
        begin(&w, CM("a", "1") "---\n" CM("b", "1"));
        assert_health(&w, HEALTH_HEALTHY, "");
        agent_stats(w.agent, &stats);
        assert_int_equal(stats.health.evaluations, 0);
        end(&w);
}

static void what_exists_is_not_missing(void **state) {
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        serve(&w);
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        loop_virtual_slow_pool(w.loop, LOOP_POOL_CPU, 20000);
        push(&w, CM("a", "1") "---\n" SERVICE("80"));
        for (unsigned i = 0; i < 100 && !map_find(w.twin.objects, STR(PATH_SERVICE)); i++)
                loop_run_for(w.loop, 1000);
        assert_health(&w, HEALTH_PROGRESSING, "svc/web: applied a moment ago");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_health(&w, HEALTH_HEALTHY, "");
        end(&w);
}

/* It gets no name, and waits for no kind: nothing more is to be expected. */
static void what_is_refused_is_not_said_to_wait_for_its_kind(void **state) {
        struct app_counts counts;
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        w.config->apps[0].destination_namespace = STR("");
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        app_counts(agent_app(w.agent, 0), &counts);
        assert_int_equal(counts.refused, 1);
        assert_int_equal(counts.parked, 0);
        assert_health(&w, HEALTH_MISSING, "configmap/a: it is refused");
        assert_true(app_is_final(agent_app(w.agent, 0)));
        end(&w);
}

/* --- a new process ---------------------------------------------------------------------------------------------- */

static void add_rule(struct world *w, const char *kind, const char *text) {
        struct health_source source = { .kind = str_from(kind), .lua = { .text = str_from(text), .name = STR("cm.yaml"), .line = 1 } };
        struct err err;

        assert_int_equal(health_rules_add(w->config->health, &source, &err), 0);
}

static void mend(struct world *w, struct str path) {
        static const struct str keys[] = { STR("metadata"), STR("annotations"), STR("mended") };
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;

        assert_int_equal(json_parse(str_from(map_find(w->twin.objects, path)), a, &object, NULL), 0);
        twin_store(&w->twin, path, value_with_path(a, object, keys, ARRAY_LEN(keys), value_stringc(a, "yes")), a);
}

/* What was Degraded before is not Progressing first, nor told as an Event again; its end is. */
static void what_is_found_degraded_stays_so(void **state) {
        struct app_health now;
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        add_rule(&w, "ConfigMap", "return {status = obj.metadata.annotations.mended and 'Healthy' or 'Degraded'}");
        w.config->agent.events = true;
        start_agent(&w);
        loop_run_for(w.loop, 3000);
        app_health(agent_app(w.agent, 0), &now);
        assert_int_equal(now.code, HEALTH_PROGRESSING);
        loop_run_for(w.loop, A_WHILE_MS);
        app_health(agent_app(w.agent, 0), &now);
        assert_int_equal(now.code, HEALTH_DEGRADED);
        assert_true(status_is(&w, "health", "Degraded"));
        /* That is no reason any more. */
        assert_false(status_is(&w, "healthMessage", "applied a moment ago"));
        assert_int_equal(script_count(w.twin.script, KUBE_POST, "*/events"), 1);
        stop_agent(&w);

        size_t before = writes(&w);
        w.git = git_memory_new();
        push(&w, CM("a", "1"));
        start_agent(&w);
        loop_run_for(w.loop, 3000);
        app_health(agent_app(w.agent, 0), &now);
        assert_int_equal(now.code, HEALTH_DEGRADED);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(writes(&w), before);
        mend(&w, STR(PATH_A));
        loop_run_for(w.loop, 3000);
        assert_int_equal(script_count(w.twin.script, KUBE_POST, "*/events"), 2);
        end(&w);
}

/* --- Secrets ---------------------------------------------------------------------------------------------------- */

/* A rule sees which keys a Secret has, not what they hold: its message is shown. */
static void a_rule_shows_nothing_of_a_secret(void **state) {
        struct world w;

        (void)state;
        prepare(&w, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {password: aHVudGVyMg==}\n");
        add_rule(&w, "Secret", "if obj.data.password == nil then error('no key') end\n"
                               "return {status = 'Suspended', message = 'it is ' .. obj.data.password}\n");
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_true(status_is(&w, "health", "Suspended"));
        assert_true(status_is(&w, "healthMessage", "it is •"));
        assert_null(strstr(map_find(w.twin.objects, STR(INVENTORY)), "aHVudGVyMg"));
        end(&w);
}

/* --- what a rule says ------------------------------------------------------------------------------------------- */

/* kubectl prints what an Event says as it is. */
static void an_event_holds_nothing_that_a_terminal_obeys(void **state) {
        struct world w;
        bool told = false;

        (void)state;
        prepare(&w, CM("a", "1"));
        add_rule(&w, "ConfigMap", "if not obj.metadata.annotations.mended then return {status = 'Healthy'} end\n"
                                  "return {status = 'Degraded', terminal = true, message = 'it\\0is\\27[31m \\226\\128\\174x'}");
        w.config->agent.events = true;
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        mend(&w, STR(PATH_A));
        loop_run_for(w.loop, A_WHILE_MS);
        for (size_t i = 0; i < script_request_count(w.twin.script); i++) {
                const struct script_request *r = script_request_at(w.twin.script, i);

                told |= r->method == KUBE_POST && str_contains(r->body, STR("configmap/a: it is [31m \\\\u202ex"));
        }
        assert_true(told);
        assert_true(status_is(&w, "healthMessage", "it is [31m \\u202ex"));
        end(&w);
}

/* --- claims ------------------------------------------------------------------------------------------------------ */

#define CLAIM                                                                                                          \
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: slow}\n"
#define PATH_CLAIM   "/api/v1/namespaces/shop/persistentvolumeclaims/data"
#define CLASSES      "/apis/storage.k8s.io/v1/storageclasses"
#define NOBODY_KNOWS "pvc/data: not bound: no pod uses it yet, or storage class slow has no volume for it"

static void put(struct world *w, const char *path, const char *text) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;

        assert_int_equal(json_parse(str_from(text), a, &object, NULL), 0);
        twin_store(&w->twin, str_from(path), object, a);
}

static void put_class(struct world *w, const char *mode) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        put(w, CLASSES "/slow",
            arena_strf(a, "{\"apiVersion\":\"storage.k8s.io/v1\",\"kind\":\"StorageClass\","
                          "\"metadata\":{\"name\":\"slow\"},\"volumeBindingMode\":\"%s\"}", mode).p);
}

static void set_phase(struct world *w, const char *phase) {
        static const struct str keys[] = { STR("status"), STR("phase") };
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;

        assert_int_equal(json_parse(str_from(map_find(w->twin.objects, STR(PATH_CLAIM))), a, &object, NULL), 0);
        twin_store(&w->twin, STR(PATH_CLAIM), value_with_path(a, object, keys, ARRAY_LEN(keys), value_stringc(a, phase)), a);
}

static void begin_with_claim(struct world *w) {
        prepare(w, CLAIM);
        script_serve_discovery(w->twin.script, "v1 ConfigMap configmaps namespaced cm\nv1 Secret secrets namespaced\n"
                                               "v1 Namespace namespaces cluster ns\n"
                                               "v1 PersistentVolumeClaim persistentvolumeclaims namespaced pvc\n"
                                               "storage.k8s.io/v1 StorageClass storageclasses cluster sc\n");
        start_agent(w);
        loop_run_for(w->loop, A_WHILE_MS);
}

/* argo-cd#12840: who waits for it to be healthy before a pod is made waits for ever. */
static void a_claim_that_waits_for_its_first_pod_is_healthy(void **state) {
        struct world w;

        (void)state;
        begin_with_claim(&w);
        put_class(&w, "WaitForFirstConsumer");
        set_phase(&w, "Bound");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(script_count(w.twin.script, KUBE_GET, CLASSES "*"), 0); /* nobody asks for it */
        set_phase(&w, "Pending");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_health(&w, HEALTH_HEALTHY, "");
        set_phase(&w, "Lost");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_health(&w, HEALTH_DEGRADED, "pvc/data: its volume is lost");
        end(&w);
}

static void a_storage_class_that_comes_later_counts(void **state) {
        struct world w;

        (void)state;
        begin_with_claim(&w);
        set_phase(&w, "Pending");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_health(&w, HEALTH_PROGRESSING, NOBODY_KNOWS);
        put_class(&w, "WaitForFirstConsumer");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_health(&w, HEALTH_HEALTHY, "");
        end(&w);
}

static void a_claim_of_a_class_that_binds_at_once_waits_for_its_volume(void **state) {
        struct world w;

        (void)state;
        begin_with_claim(&w);
        put_class(&w, "Immediate");
        set_phase(&w, "Pending");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_health(&w, HEALTH_PROGRESSING, NOBODY_KNOWS);
        end(&w);
}

/* As if nobody knew of classes; everything else goes on. */
static void without_the_right_to_read_classes_a_claim_is_judged_without(void **state) {
        static const struct script_answer forbidden = {
                .status = 403,
                .body = STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Forbidden\","
                            "\"message\":\"storageclasses.storage.k8s.io is forbidden\",\"code\":403}"),
        };
        struct world w;

        (void)state;
        begin_with_claim(&w);
        put_class(&w, "WaitForFirstConsumer");
        script_on(w.twin.script, KUBE_GET, CLASSES "*", &forbidden);
        set_phase(&w, "Pending");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_health(&w, HEALTH_PROGRESSING, NOBODY_KNOWS);
        assert_int_equal(app_sync_status(agent_app(w.agent, 0)), APP_SYNCED);
        set_phase(&w, "Bound");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_health(&w, HEALTH_HEALTHY, "");
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_event_holds_nothing_that_a_terminal_obeys),
                cmocka_unit_test(a_claim_that_waits_for_its_first_pod_is_healthy),
                cmocka_unit_test(a_storage_class_that_comes_later_counts),
                cmocka_unit_test(a_claim_of_a_class_that_binds_at_once_waits_for_its_volume),
                cmocka_unit_test(without_the_right_to_read_classes_a_claim_is_judged_without),
                cmocka_unit_test(an_event_that_overtakes_its_answer_is_judged),
                cmocka_unit_test(what_no_rule_is_about_is_not_judged),
                cmocka_unit_test(what_exists_is_not_missing),
                cmocka_unit_test(what_is_refused_is_not_said_to_wait_for_its_kind),
                cmocka_unit_test(what_is_found_degraded_stays_so),
                cmocka_unit_test(a_rule_shows_nothing_of_a_secret),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
