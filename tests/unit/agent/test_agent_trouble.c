/* SPDX-License-Identifier: Apache-2.0 */
/* The agent when objects fail, kinds are missing, the API server or the repository is away. */
#include "agent/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "world.h"

#define SERVED                                                                                                         \
        "v1 ConfigMap configmaps namespaced cm\nv1 Namespace namespaces cluster ns\n"                                  \
        "apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions cluster\n"
#define WIDGET_CRD                                                                                                     \
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.io}\n"  \
        "spec: {group: example.io, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: ["             \
        "{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"
#define PATH_CRD    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.io"
#define PATH_WIDGET "/apis/example.io/v1/namespaces/shop/widgets/w"

#define PATH_GADGETS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.example.io"
#define PATH_GADGET  "/apis/example.io/v1/namespaces/shop/gadgets/g"
#define WIDGET       "apiVersion: example.io/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 1}\n"
#define GADGET       "apiVersion: example.io/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: 1}\n"

/* As the server does, a moment after the definition came. */
static void establish(struct world *w) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object, *status;

        assert_int_equal(
                json_parse(STR("{\"conditions\":[{\"type\":\"Established\",\"status\":\"True\"}]}"), a, &status, NULL),
                0);
        assert_non_null(map_find(w->twin.objects, STR(PATH_CRD)));
        assert_int_equal(json_parse(str_from(map_find(w->twin.objects, STR(PATH_CRD))), a, &object, NULL), 0);
        twin_store(&w->twin, STR(PATH_CRD), value_with(a, object, STR("status"), status), a);
}

static void one_object_that_fails_stops_no_other(void **state) {
        struct script_answer invalid = {
                .status = 422,
                .body = STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Invalid\","
                            "\"message\":\"bad\",\"code\":422}"),
        };
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        script_on(w.twin.script, KUBE_PATCH, PATH_B, &invalid);
        push(&w, CM("a", "1") "---\n" CM("b", "2") "---\n" CM("c", "3"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_non_null(map_find(w.twin.objects, STR("/api/v1/namespaces/shop/configmaps/c")));
        assert_int_equal(w.failed, 1);
        assert_int_equal(app_sync_status(agent_app(w.agent, 0)), APP_OUT_OF_SYNC);
        /* The user's error: nothing is tried again until Git changes. */
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, PATH_B), 1);
        end(&w);
}

/* Somebody writes its status all the time: the pause between attempts grows all the same. */
static void an_object_that_fails_is_not_tried_with_every_event(void **state) {
        struct script_answer invalid = {
                .status = 422,
                .body = STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Invalid\","
                            "\"message\":\"bad\",\"code\":422}"),
        };
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        script_on(w.twin.script, KUBE_PATCH, PATH_A, &invalid);
        size_t before = script_count(w.twin.script, KUBE_PATCH, PATH_A);
        for (unsigned i = 0; i < 600; i++) {
                edit(&w, STR(PATH_A), i % 2 ? "one way" : "another way");
                loop_run_for(w.loop, 100);
        }
        size_t tried = script_count(w.twin.script, KUBE_PATCH, PATH_A) - before;
        assert_in_range(tried, 3, 10); /* in a minute: after 0.25 s, 0.5 s, 1 s … */
        end(&w);
}

static void a_server_that_is_away_is_waited_for(void **state) {
        struct script_answer away = { .error = ERR_UNREACHABLE, .times = 3 };
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        script_on(w.twin.script, KUBE_PATCH, PATH_B, &away);
        push(&w, CM("a", "1") "---\n" CM("b", "2"));
        loop_run_for(w.loop, 3 * A_WHILE_MS);
        assert_non_null(map_find(w.twin.objects, STR(PATH_B)));
        assert_int_equal(app_sync_status(agent_app(w.agent, 0)), APP_SYNCED);
        end(&w);
}

static void a_repository_that_cannot_be_opened_is_tried_again(void **state) {
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        w.closed_doors = 2;
        start_agent(&w);
        loop_run_for(w.loop, 1000);
        assert_int_equal(w.trouble, 1);
        assert_int_equal(agent_app_err(w.agent, 0)->code, ERR_NOTFOUND);
        loop_run_for(w.loop, 2 * A_WHILE_MS);
        assert_int_equal(agent_app_err(w.agent, 0)->code, 0);
        assert_non_null(map_find(w.twin.objects, STR(PATH_A)));
        end(&w);
}

static void a_kind_that_cannot_be_watched_fails_by_name_and_asks_no_more(void **state) {
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1") "---\napiVersion: v1\nkind: Binding\nmetadata: {name: b}\ntarget: {name: x}\n");
        script_serve_discovery(w.twin.script,
                               "v1 ConfigMap configmaps namespaced cm\nv1 Binding bindings namespaced nowatch\n");
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(w.failed, 1);
        assert_non_null(map_find(w.twin.objects, STR(PATH_A)));
        size_t before = requests(&w);
        loop_run_for(w.loop, 10 * A_WHILE_MS);
        assert_int_equal(requests(&w), before);
        end(&w);
}

static void a_deleted_inventory_is_written_again(void **state) {
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        assert_true(map_remove(w.twin.objects, STR(INVENTORY)));
        push(&w, CM("a", "1") "---\n" CM("b", "2"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_non_null(map_find(w.twin.objects, STR(PATH_B)));
        assert_non_null(map_find(w.twin.objects, STR(INVENTORY)));
        assert_non_null(strstr(map_find(w.twin.objects, STR(INVENTORY)), "/ConfigMap/shop/a"));
        assert_int_equal(w.trouble, 0);
        end(&w);
}

static void an_object_of_an_unknown_kind_is_told_once(void **state) {
        struct app_counts c;
        struct world w;

        (void)state;
        begin(&w, CM("a", "1") "---\napiVersion: example.io/v1\nkind: Widget\nmetadata: {name: w}\n");
        assert_int_equal(w.parked, 1);
        app_counts(agent_app(w.agent, 0), &c);
        assert_int_equal(c.parked, 1);
        assert_int_equal(c.synced, 1);
        loop_run_for(w.loop, 10 * A_WHILE_MS);
        assert_int_equal(w.parked, 1);
        end(&w);
}

/* Discovery lists it, its LIST is 404: an aggregated API that comes and goes. */
static void a_kind_that_is_listed_but_not_served_is_asked_for_at_a_growing_pause(void **state) {
        struct script_answer gone = { .status = 404, .body = STR("404 page not found") };
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1") "---\napiVersion: v1\nkind: Binding\nmetadata: {name: b}\ntarget: {name: x}\n");
        script_serve_discovery(w.twin.script,
                               "v1 ConfigMap configmaps namespaced cm\nv1 Binding bindings namespaced\n");
        script_on(w.twin.script, KUBE_GET, "/api/v1/bindings*", &gone);
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        size_t before = requests(&w);
        loop_run_for(w.loop, 10 * A_WHILE_MS);
        assert_true(requests(&w) - before < 100);
        end(&w);
}

/* The agent ends and is started anew; its repository holds these commits, oldest first: the same ids come out. */

/* A set with a definition, which is Established, and an object of its kind, which discovery does not show. */
static void begin_with_widget(struct world *w) {
        prepare(w, WIDGET_CRD "---\napiVersion: example.io/v1\nkind: Widget\nmetadata: {name: w}\n");
        script_serve_discovery(w->twin.script, SERVED);
        start_agent(w);
        loop_run_for(w->loop, 1000);
        establish(w);
}

/* Discovery shows a kind some time after its definition is Established; a single sync would end without its objects. */
static void a_kind_that_the_set_defines_is_waited_for(void **state) {
        struct world w;

        (void)state;
        begin_with_widget(&w);
        loop_run_for(w.loop, 3000);
        assert_int_equal(w.settled, 0);
        script_serve_discovery(w.twin.script, SERVED "example.io/v1 Widget widgets namespaced\n");
        loop_run_for(w.loop, 5000);
        assert_non_null(map_find(w.twin.objects, STR(PATH_WIDGET)));
        assert_int_equal(w.settled, 1);
        end(&w);
}

static void a_promise_that_is_not_kept_ends(void **state) {
        struct world w;

        (void)state;
        begin_with_widget(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(w.settled, 1);
        end(&w);
}

#define OBJECTS 20

/* How long after the first answer all that was outstanding is written. */
static int64_t time_to_recover_ms(unsigned objects, int64_t away_ms) {
        struct script_answer away = { .error = ERR_UNREACHABLE };
        _cleanup_(buf_done) struct buf yaml = buf_make(64 * KIB);
        int64_t first_ms = 0, last_ms = 0;
        struct world w;

        for (unsigned i = 0; i < objects; i++)
                buf_addf(&yaml, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: o%u}\n", i);
        begin(&w, CM("a", "1"));
        script_on(w.twin.script, KUBE_PATCH, IN_SHOP, &away); /* it dies in the middle of a sync */
        push(&w, yaml.p);
        loop_run_for(w.loop, A_WHILE_MS);
        script_on(w.twin.script, KUBE_PATCH, "*", &away);
        script_on(w.twin.script, KUBE_GET, "/api*", &away);
        while (script_end(w.twin.script, "/api*", ERR_UNREACHABLE))
                ;
        loop_run_for(w.loop, away_ms);
        script_clear(w.twin.script);
        twin_serve(&w.twin);
        size_t back_at = script_request_count(w.twin.script);
        loop_run_for(w.loop, 2 * A_WHILE_MS);
        for (size_t i = back_at; i < script_request_count(w.twin.script); i++) {
                const struct script_request *r = script_request_at(w.twin.script, i);

                if (!first_ms)
                        first_ms = r->at_ms;
                if (r->method == KUBE_PATCH && str_contains(r->path, STR("/configmaps/o")))
                        last_ms = r->at_ms;
        }
        assert_int_equal(app_sync_status(agent_app(w.agent, 0)), APP_SYNCED);
        end(&w);
        return last_ms - first_ms;
}

/* Back-off has grown to a minute by then: nobody should wait for that when the server is there again. */
static void what_failed_while_the_server_was_away_is_tried_when_a_watch_is_back(void **state) {
        (void)state;
        for (int64_t i = 0; i < 8; i++)
                assert_true(time_to_recover_ms(1, 20 * A_WHILE_MS + i * 8000) <= KUBE_WATCH_SETTLED_MS + 2000);
}

static void what_failed_while_the_server_was_away_is_tried_when_one_object_gets_through(void **state) {
        (void)state;
        for (int64_t i = 0; i < 8; i++)
                assert_true(time_to_recover_ms(OBJECTS, 5000 + i * 8000) <= KUBE_WATCH_SETTLED_MS + 2000);
}

/* A pool thread renders while another configuration comes into force: its job reads the old one to the end. */
static void forget_agent_and_configuration(void *ctx, enum git_memory_op op) {
        struct world *w = ctx;

        if (op != GIT_MEMORY_LIST || !w->agent)
                return;
        agent_free(TAKE_PTR(w->agent));
        config_free(TAKE_PTR(w->config));
}

static void a_render_outlives_the_agent_and_its_configuration(void **state) {
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        git_memory_set_hook(w.git, forget_agent_and_configuration, &w);
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_null(w.agent);
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, IN_SHOP), 0);
        end(&w);
}

/* As somebody else made it, long ago. */
static void define(struct world *w, const char *path, const char *plural) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *crd;
        struct str text = arena_strf(a, "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
                                        "\"metadata\":{\"name\":\"%s.example.io\"},\"spec\":{\"group\":\"example.io\"}}", plural);

        assert_int_equal(json_parse(text, a, &crd, NULL), 0);
        twin_store(&w->twin, str_from(path), crd, a);
}

static void begin_with_definitions(struct world *w) {
        prepare(w, WIDGET);
        script_serve_discovery(w->twin.script, SERVED "example.io/v1 Widget widgets namespaced\n"
                                                      "example.io/v1 Gadget gadgets namespaced\n");
        define(w, PATH_CRD, "widgets");
        define(w, PATH_GADGETS, "gadgets");
        start_agent(w);
        loop_run_for(w->loop, A_WHILE_MS);
        assert_non_null(map_find(w->twin.objects, STR(PATH_WIDGET)));
        assert_int_equal(script_count(w->twin.script, KUBE_GET, PATH_CRD), 0); /* it was in the list */
}

/* What nobody wants of a list is forgotten: a kind that comes later would be without its definition, and without its types. */
static void the_definition_of_a_kind_that_comes_later_is_read_once(void **state) {
        struct world w;

        (void)state;
        begin_with_definitions(&w);
        push(&w, WIDGET "---\n" GADGET);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(script_count(w.twin.script, KUBE_GET, PATH_GADGETS), 1);
        assert_non_null(map_find(w.twin.objects, STR(PATH_GADGET)));
        push(&w, GADGET);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(script_count(w.twin.script, KUBE_GET, PATH_GADGETS), 1);
        end(&w);
}

static void nothing_is_decided_until_a_definition_was_read(void **state) {
        struct script_answer broken = { .status = 500, .body = STR("{}") };
        struct world w;

        (void)state;
        begin_with_definitions(&w);
        script_on(w.twin.script, KUBE_GET, PATH_GADGETS, &broken);
        push(&w, WIDGET "---\n" GADGET);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_in_range(script_count(w.twin.script, KUBE_GET, PATH_GADGETS), 2, 40);
        assert_null(map_find(w.twin.objects, STR(PATH_GADGET)));
        script_clear(w.twin.script);
        twin_serve(&w.twin);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_non_null(map_find(w.twin.objects, STR(PATH_GADGET)));
        end(&w);
}

/* As of an aggregated API. */
static void a_kind_without_a_definition_is_applied(void **state) {
        struct world w;

        (void)state;
        begin_with_definitions(&w);
        map_remove(w.twin.objects, STR(PATH_GADGETS));
        push(&w, WIDGET "---\n" GADGET);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(script_count(w.twin.script, KUBE_GET, PATH_GADGETS), 1);
        assert_non_null(map_find(w.twin.objects, STR(PATH_GADGET)));
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_object_that_fails_stops_no_other),
                cmocka_unit_test(an_object_that_fails_is_not_tried_with_every_event),
                cmocka_unit_test(a_server_that_is_away_is_waited_for),
                cmocka_unit_test(a_repository_that_cannot_be_opened_is_tried_again),
                cmocka_unit_test(a_kind_that_cannot_be_watched_fails_by_name_and_asks_no_more),
                cmocka_unit_test(a_deleted_inventory_is_written_again),
                cmocka_unit_test(an_object_of_an_unknown_kind_is_told_once),
                cmocka_unit_test(a_kind_that_is_listed_but_not_served_is_asked_for_at_a_growing_pause),
                cmocka_unit_test(a_kind_that_the_set_defines_is_waited_for),
                cmocka_unit_test(the_definition_of_a_kind_that_comes_later_is_read_once),
                cmocka_unit_test(nothing_is_decided_until_a_definition_was_read),
                cmocka_unit_test(a_kind_without_a_definition_is_applied),
                cmocka_unit_test(a_promise_that_is_not_kept_ends),
                cmocka_unit_test(what_failed_while_the_server_was_away_is_tried_when_a_watch_is_back),
                cmocka_unit_test(what_failed_while_the_server_was_away_is_tried_when_one_object_gets_through),
                cmocka_unit_test(a_render_outlives_the_agent_and_its_configuration),
        };

        return cmocka_run_group_tests_name("agent in trouble", tests, NULL, NULL);
}
