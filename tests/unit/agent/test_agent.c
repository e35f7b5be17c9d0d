/* SPDX-License-Identifier: Apache-2.0 */
/* The whole agent on its three twins, in one thread and in virtual time. */
#include "agent/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "world.h"

static void a_commit_reaches_the_cluster_and_then_nothing_is_asked(void **state) {
        struct world w;

        (void)state;
        begin(&w, CM("a", "1") "---\n" CM("b", "2"));
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, IN_SHOP), 2);
        assert_non_null(map_find(w.twin.objects, STR(PATH_A)));
        assert_int_equal(app_sync_status(agent_app(w.agent, 0)), APP_SYNCED);

        size_t before = requests(&w);
        loop_run_for(w.loop, 10 * A_WHILE_MS);
        assert_int_equal(requests(&w), before);
        end(&w);
}

static void the_inventory_is_there_before_the_first_write(void **state) {
        struct world w;
        size_t inventory_at = 0, first_patch = 0;

        (void)state;
        begin(&w, CM("a", "1"));
        for (size_t i = script_request_count(w.twin.script); i-- > 0;) {
                const struct script_request *r = script_request_at(w.twin.script, i);

                if (r->method == KUBE_POST && str_contains(r->body, STR("truce-inventory 1")))
                        inventory_at = i;
                if (r->method == KUBE_PATCH)
                        first_patch = i;
        }
        assert_true(inventory_at > 0 && inventory_at < first_patch);
        assert_true(str_contains(script_request_at(w.twin.script, inventory_at)->body, STR("/ConfigMap/shop/a")));
        end(&w);
}

static void a_restart_writes_nothing(void **state) {
        struct world w;

        (void)state;
        begin(&w, CM("a", "1") "---\n" CM("b", "2"));
        size_t before = writes(&w);
        stop_agent(&w);
        w.git = git_memory_new();
        push(&w, CM("a", "1") "---\n" CM("b", "2"));
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(app_sync_status(agent_app(w.agent, 0)), APP_SYNCED);
        /* The twin's commit has an id of its own, so the status text changes: one write of the inventory, no apply. */
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, IN_SHOP), 2);
        assert_true(writes(&w) - before <= 1);
        end(&w);
}

static void drift_is_healed_by_the_watch(void **state) {
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        edit(&w, STR(PATH_A), "changed by hand");
        loop_run_for(w.loop, 1000);
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, IN_SHOP), 2);
        assert_non_null(strstr(map_find(w.twin.objects, STR(PATH_A)), "\"key\":\"1\""));
        end(&w);
}

static void a_deleted_object_is_made_again(void **state) {
        struct world w;
        struct script_answer answer;

        (void)state;
        begin(&w, CM("a", "1"));
        twin_delete(&w.twin, &(struct script_request){ .path = STR(PATH_A) }, &answer);
        assert_null(map_find(w.twin.objects, STR(PATH_A)));
        loop_run_for(w.loop, 1000);
        assert_non_null(map_find(w.twin.objects, STR(PATH_A)));
        end(&w);
}

static void what_leaves_git_is_pruned_with_its_uid(void **state) {
        struct world w;

        (void)state;
        begin(&w, CM("a", "1") "---\n" CM("b", "2"));
        push(&w, CM("a", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_null(map_find(w.twin.objects, STR(PATH_B)));
        assert_non_null(map_find(w.twin.objects, STR(PATH_A)));
        const struct script_request *r = script_last(w.twin.script, KUBE_DELETE, PATH_B);
        assert_non_null(r);
        assert_true(str_contains(r->body, STR("\"uid\":\"uid-")) && str_contains(r->body, STR("\"resourceVersion\"")));
        assert_null(inventory_find(app_inventory(agent_app(w.agent, 0)), STR("/ConfigMap/shop/b")));
        end(&w);
}

#define EVENTS "/api/v1/namespaces/shop/events"

/* What the API server does not delete is there to be told about; a request that got lost says nothing about it. */
static void a_deletion_that_is_refused_is_an_event(void **state) {
        static const struct script_answer away = { .status = 429, .body = STR("{\"kind\":\"Status\",\"code\":429}") };
        static const struct script_answer denied = {
                .status = 403, .body = STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Forbidden\","
                                           "\"message\":\"keep-it denied the request: aHVudGVyMg== is hunter2\",\"code\":403}"),
        };
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1") "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {password: aHVudGVyMg==}\n");
        w.config->agent.events = true;
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        script_on(w.twin.script, KUBE_DELETE, "*/secrets/s", &away);
        push(&w, CM("a", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_true(script_count(w.twin.script, KUBE_DELETE, "*/secrets/s") > 0);
        assert_int_equal(script_count(w.twin.script, KUBE_POST, EVENTS), 0);

        script_on(w.twin.script, KUBE_DELETE, "*/secrets/s", &denied);
        loop_run_for(w.loop, 10 * A_WHILE_MS);
        assert_int_equal(script_count(w.twin.script, KUBE_POST, EVENTS), 1);
        struct str body = script_last(w.twin.script, KUBE_POST, EVENTS)->body;
        assert_true(str_contains(body, STR("\"reason\":\"SyncFailed\"")) && str_contains(body, STR("\"uid\":\"uid-")));
        assert_true(str_contains(body, STR("keep-it denied the request")));
        assert_true(str_contains(body, STR("(it left Git: app/all.yaml)")));
        assert_false(str_contains(body, STR("hunter2")) || str_contains(body, STR("aHVudGVyMg")));
        /* Told again it counts on. */
        assert_in_range(script_count(w.twin.script, KUBE_PATCH, EVENTS "/*"), 1, 2 * 10);
        end(&w);
}

static void an_empty_folder_prunes_nothing_and_says_why(void **state) {
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        push(&w, "# nothing here any more\n");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_non_null(map_find(w.twin.objects, STR(PATH_A)));
        assert_int_equal(w.prune_err.code, ERR_DENIED);
        assert_non_null(strstr(w.prune_err.msg, "empty"));
        end(&w);
}

static void a_broken_commit_leaves_the_last_good_one_in_force(void **state) {
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        size_t before = writes(&w);
        push(&w, CM("b", "2") "---\n" BROKEN);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(w.rejected, 1);
        assert_int_equal(writes(&w), before + 1); /* the status */
        assert_true(status_is(&w, "error", "not every document could be read"));
        edit(&w, STR(PATH_A), "drift");
        loop_run_for(w.loop, 1000);
        assert_non_null(strstr(map_find(w.twin.objects, STR(PATH_A)), "\"key\":\"1\""));
        end(&w);
}

static void a_commit_that_could_not_be_read_is_tried_again(void **state) {
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        git_memory_fail(w.git, GIT_MEMORY_LIST, ERR_CORRUPT, "a pack is damaged", 1);
        push(&w, CM("a", "2"));
        loop_run_for(w.loop, 2 * A_WHILE_MS);
        assert_int_equal(w.rejected, 1);
        assert_non_null(strstr(map_find(w.twin.objects, STR(PATH_A)), "\"key\":\"2\""));
        assert_int_equal(agent_app_err(w.agent, 0)->code, 0);
        end(&w);
}

static void restart(struct world *w, const char *const *commits, size_t count) {
        stop_agent(w);
        w->git = git_memory_new();
        for (size_t i = 0; i < count; i++)
                push(w, commits[i]);
        start_agent(w);
        loop_run_for(w->loop, A_WHILE_MS);
}

static void a_restart_with_a_broken_head_goes_on_with_the_last_good_commit(void **state) {
        static const char *const commits[] = { CM("a", "1"), CM("b", "2") "---\n" BROKEN };
        struct agent_revision good, now;
        struct world w;

        (void)state;
        begin(&w, commits[0]);
        agent_app_revision(w.agent, 0, &good);
        _cleanup_(mem_freep) char *was = str_dup(good.text);
        restart(&w, commits, 2);
        assert_int_equal(w.rejected, 1);
        agent_app_revision(w.agent, 0, &now);
        assert_string_equal(now.text.p, was);
        assert_true(now.stands_in);
        edit(&w, STR(PATH_A), "drift");
        loop_run_for(w.loop, 1000);
        assert_non_null(strstr(map_find(w.twin.objects, STR(PATH_A)), "\"key\":\"1\""));
        assert_null(map_find(w.twin.objects, STR(PATH_B)));
        assert_true(status_is(&w, "commit", was));
        assert_true(status_is(&w, "sync", "Unknown"));
        assert_true(status_is(&w, "error", "not every document could be read"));
        assert_int_equal(agent_app_err(w.agent, 0)->code, ERR_INVAL);

        push(&w, CM("b", "2"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_true(status_is(&w, "sync", "Synced") && status_is(&w, "error", ""));
        assert_null(map_find(w.twin.objects, STR(PATH_A)));
        assert_non_null(map_find(w.twin.objects, STR(PATH_B)));
        end(&w);
}

/* A branch that was moved to a commit without the one that was applied in its history, on a server that drops it. */
static void a_last_good_commit_that_is_gone_is_told_and_nothing_is_touched(void **state) {
        static const char *const commits[] = { BROKEN };
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        size_t before = script_count(w.twin.script, KUBE_PATCH, IN_SHOP);
        restart(&w, commits, 1);
        edit(&w, STR(PATH_A), "drift");
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, IN_SHOP), before);
        assert_int_equal(script_count(w.twin.script, KUBE_DELETE, "*"), 0);
        assert_int_equal(w.trouble, 1);
        assert_non_null(strstr(w.last_trouble, "not in the repository any more"));
        assert_true(status_is(&w, "sync", "Unknown"));

        size_t written = writes(&w);
        loop_run_for(w.loop, 10 * A_WHILE_MS);
        assert_int_equal(writes(&w), written);
        push(&w, CM("a", "3"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_non_null(strstr(map_find(w.twin.objects, STR(PATH_A)), "\"key\":\"3\""));
        end(&w);
}

/* Its record may be older than what was applied since: an object that it does not have may be wanted all the same. */
static void what_stands_in_prunes_nothing(void **state) {
        static const char *const commits[] = { CM("a", "1"), BROKEN };
        _cleanup_(buf_done) struct buf line = buf_make(4096);
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        stop_agent(&w);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;
        struct str keys[] = { STR("data"), STR("objects") };
        assert_int_equal(json_parse(str_from(map_find(w.twin.objects, STR(PATH_A))), a, &object, NULL), 0);
        twin_store(&w.twin, STR(PATH_B), twin_set(a, object, "name", STR("b")), a);
        assert_int_equal(json_parse(str_from(map_find(w.twin.objects, STR(PATH_B))), a, &object, NULL), 0);
        struct str uid = value_text(value_path(object, "metadata", "uid", NULL));
        assert_int_equal(json_parse(str_from(map_find(w.twin.objects, STR(INVENTORY))), a, &object, NULL), 0);
        struct str objects = value_text(value_path(object, "data", "objects", NULL));
        objects = arena_strf(a, "%.*s/ConfigMap/shop/b\tv1\t%.*s\t-\t0\tapp/b.yaml\n", STR_FMT(objects), STR_FMT(uid));
        twin_store(&w.twin, STR(INVENTORY), value_with_path(a, object, keys, 2, value_string(a, objects, 0)), a);

        start_agent(&w);
        restart(&w, commits, 2);
        assert_non_null(map_find(w.twin.objects, STR(PATH_B)));
        assert_int_equal(w.prune_err.code, ERR_DENIED);
        assert_non_null(strstr(w.prune_err.msg, "stands in"));
        push(&w, CM("a", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_null(map_find(w.twin.objects, STR(PATH_B)));
        end(&w);
}

/* Git is down when the agent starts: what it fetched before is still at hand. */
static void a_restart_without_git_goes_on_with_the_last_good_commit(void **state) {
        static const char *const commits[] = { CM("a", "1") };
        struct world w;

        (void)state;
        begin(&w, CM("a", "1"));
        stop_agent(&w);
        w.git = git_memory_new();
        push(&w, commits[0]);
        git_memory_fail(w.git, GIT_MEMORY_RESOLVE, ERR_UNREACHABLE, "the server is away", 1000000);
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        edit(&w, STR(PATH_A), "drift");
        loop_run_for(w.loop, 1000);
        assert_non_null(strstr(map_find(w.twin.objects, STR(PATH_A)), "\"key\":\"1\""));
        assert_true(status_is(&w, "error", "the server is away"));
        end(&w);
}

static void a_commit_that_never_rendered_is_seen_in_the_status(void **state) {
        struct world w;

        (void)state;
        begin(&w, BROKEN);
        assert_true(status_is(&w, "sync", "Unknown"));
        assert_true(status_is(&w, "error", "not every document could be read"));
        assert_true(status_is(&w, "commit", ""));
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, IN_SHOP), 0);
        end(&w);
}

/* It is not what was applied: an application that becomes automated begins with it. */
static void a_commit_that_was_only_compared_was_not_attempted(void **state) {
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        w.config->apps[0].automated = w.config->apps[0].self_heal = false;
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_null(map_find(w.twin.objects, STR(PATH_A)));
        w.config->apps[0].automated = true;
        restart(&w, (const char *const[]){ CM("a", "1") }, 1);
        assert_non_null(map_find(w.twin.objects, STR(PATH_A)));
        assert_false(status_is(&w, "applied", ""));
        end(&w);
}

/* `truce sync` in another process: its inventory is not overwritten by what the daemon knew before. */
static void the_status_of_detect_only_gives_way_to_a_sync(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str keys[] = { STR("data"), STR("objects") };
        const struct value *object;
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        w.config->apps[0].automated = false;
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_int_equal(json_parse(str_from(map_find(w.twin.objects, STR(INVENTORY))), a, &object, NULL), 0);
        twin_store(&w.twin, STR(INVENTORY),
                   value_with_path(a, object, keys, 2,
                                   value_stringc(a, "truce-inventory 1 1\n/ConfigMap/shop/z\tv1\t-\t-\t0\t-\n")), a);
        push(&w, CM("b", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_non_null(strstr(map_find(w.twin.objects, STR(INVENTORY)), "/ConfigMap/shop/z"));
        assert_non_null(inventory_find(app_inventory(agent_app(w.agent, 0)), STR("/ConfigMap/shop/z")));
        assert_int_equal(w.trouble, 0);
        end(&w);
}

static void a_deleted_status_is_written_again_with_an_inventory(void **state) {
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        w.config->apps[0].automated = false;
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_true(map_remove(w.twin.objects, STR(INVENTORY)));
        push(&w, CM("a", "1") "---\n" CM("b", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_true(status_is(&w, "sync", "OutOfSync"));
        assert_non_null(strstr(map_find(w.twin.objects, STR(INVENTORY)), "truce-inventory 1 1"));
        assert_int_equal(w.trouble, 0);
        end(&w);
}

/* As long as it may not be written it is tried once in a while, not with each look. */
static void a_status_that_may_not_be_written_holds_up_nothing(void **state) {
        struct script_answer no = {
                .status = 403,
                .body = STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Forbidden\","
                            "\"message\":\"no\",\"code\":403}"),
        };
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        w.config->apps[0].automated = false;
        script_on(w.twin.script, KUBE_POST, "/api/v1/namespaces/truce/configmaps*", &no);
        start_agent(&w);
        loop_run_for(w.loop, 10 * 1000);
        assert_true(w.settled > 0);
        assert_int_equal(w.trouble, 1);
        size_t before = script_count(w.twin.script, KUBE_POST, "*");
        for (unsigned i = 0; i < 20; i++) {
                push(&w, i % 2 ? CM("a", "1") : CM("b", "1"));
                agent_poll_now(w.agent);
                loop_run_for(w.loop, 1000);
        }
        assert_int_equal(script_count(w.twin.script, KUBE_POST, "*"), before);
        loop_run_for(w.loop, 10 * A_WHILE_MS);
        assert_in_range(script_count(w.twin.script, KUBE_POST, "*") - before, 8, 12);
        end(&w);
}

static void detect_only_shows_its_verdict_and_writes_nothing_else(void **state) {
        struct world w;

        (void)state;
        prepare(&w, CM("a", "1"));
        w.config->apps[0].automated = false;
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        assert_true(status_is(&w, "sync", "OutOfSync"));
        assert_true(status_is(&w, "applied", ""));
        assert_false(status_is(&w, "commit", ""));
        assert_null(map_find(w.twin.objects, STR(PATH_A)));
        assert_null(strstr(map_find(w.twin.objects, STR(INVENTORY)), "/ConfigMap/shop/a"));

        size_t before = writes(&w);
        loop_run_for(w.loop, 10 * A_WHILE_MS);
        assert_int_equal(writes(&w), before);
        end(&w);
}

#define NS "apiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n---\n"
#define IN_EXTRA "/api/v1/namespaces/extra/"

static void put_foreign(struct world *w, const char *collection, const char *kind, const char *name, const char *more) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str text = arena_strf(a, "{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
                                        "\"namespace\":\"extra\"%s}}", kind, name, more);
        const struct value *object;

        assert_int_equal(json_parse(text, a, &object, NULL), 0);
        twin_store(&w->twin, arena_strf(a, IN_EXTRA "%s/%s", collection, name), object, a);
}

static void put_neighbours(struct world *w) {
        put_foreign(w, "configmaps", "ConfigMap", "kube-root-ca.crt", "");
        put_foreign(w, "configmaps", "ConfigMap", "theirs", "");
        put_foreign(w, "configmaps", "ConfigMap", "theirs-too", "");
        put_foreign(w, "secrets", "Secret", "theirs", "");
        put_foreign(w, "secrets", "Secret", "owned",
                    ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"theirs\",\"uid\":\"u\","
                    "\"controller\":true}]");
}

static void a_namespace_that_goes_is_told_with_what_goes_with_it(void **state) {
        struct world w;

        (void)state;
        begin(&w, NS CM("a", "1"));
        assert_int_equal(script_count(w.twin.script, KUBE_GET, IN_EXTRA "*"), 0);
        put_neighbours(&w);
        push(&w, CM("a", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_null(map_find(w.twin.objects, STR("/api/v1/namespaces/extra")));
        assert_string_equal(w.namespace_told, "with it at least 3 objects of others: 2 ConfigMap, 1 Secret");
        end(&w);
}

static void what_would_go_with_a_namespace_is_told_without_prune_as_well(void **state) {
        struct world w;

        (void)state;
        prepare(&w, NS CM("a", "1"));
        w.config->apps[0].prune = false;
        start_agent(&w);
        loop_run_for(w.loop, A_WHILE_MS);
        put_neighbours(&w);
        script_on(w.twin.script, KUBE_GET, IN_EXTRA "secrets*", &(struct script_answer){
                .status = 403, .body = STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
                                           "\"reason\":\"Forbidden\",\"message\":\"no\",\"code\":403}"),
        });
        push(&w, CM("a", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_non_null(map_find(w.twin.objects, STR("/api/v1/namespaces/extra")));
        assert_string_equal(w.namespace_told, "left Git; it would be pruned if prune were on, with it at least 2 objects "
                                              "of others: 2 ConfigMap; 1 kind could not be looked at");
        end(&w);
}

static void a_namespace_with_a_protected_object_stays(void **state) {
        struct world w;

        (void)state;
        begin(&w, NS "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, namespace: extra, annotations: "
                     "{argocd.argoproj.io/sync-options: Prune=false}}\n---\n" CM("a", "1"));
        assert_non_null(map_find(w.twin.objects, STR(IN_EXTRA "configmaps/kept")));
        push(&w, CM("a", "1"));
        loop_run_for(w.loop, A_WHILE_MS);
        assert_non_null(map_find(w.twin.objects, STR("/api/v1/namespaces/extra")));
        assert_non_null(strstr(w.namespace_told, "never pruned"));
        end(&w);
}

struct stopper {
        struct loop *loop;
        struct loop_timer *timer;
        unsigned turns;
};

static void count_turn(void *ctx) {
        struct stopper *s = ctx;

        if (s->turns-- == 0)
                loop_stop(s->loop);
        else
                loop_timer_start(s->timer, 0);
}

/* What pool threads do at that time must not read what is gone. Virtual work takes no time: turns are counted. */
static void an_agent_can_be_freed_at_any_moment(void **state) {
        (void)state;
        for (unsigned turns = 0; turns < 120; turns++) {
                struct stopper s = { .turns = turns };
                struct world w;

                prepare(&w, CM("a", "1") "---\n" CM("b", "2"));
                s.loop = w.loop;
                s.timer = loop_timer_new(w.loop, count_turn, &s);
                start_agent(&w);
                loop_timer_start(s.timer, 0);
                loop_run_for(w.loop, A_WHILE_MS);
                loop_timer_free(s.timer);
                end(&w);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_commit_reaches_the_cluster_and_then_nothing_is_asked),
                cmocka_unit_test(the_inventory_is_there_before_the_first_write),
                cmocka_unit_test(a_restart_writes_nothing),
                cmocka_unit_test(drift_is_healed_by_the_watch),
                cmocka_unit_test(a_deleted_object_is_made_again),
                cmocka_unit_test(what_leaves_git_is_pruned_with_its_uid),
                cmocka_unit_test(a_deletion_that_is_refused_is_an_event),
                cmocka_unit_test(an_empty_folder_prunes_nothing_and_says_why),
                cmocka_unit_test(a_broken_commit_leaves_the_last_good_one_in_force),
                cmocka_unit_test(a_commit_that_could_not_be_read_is_tried_again),
                cmocka_unit_test(a_restart_with_a_broken_head_goes_on_with_the_last_good_commit),
                cmocka_unit_test(a_last_good_commit_that_is_gone_is_told_and_nothing_is_touched),
                cmocka_unit_test(what_stands_in_prunes_nothing),
                cmocka_unit_test(a_restart_without_git_goes_on_with_the_last_good_commit),
                cmocka_unit_test(a_commit_that_never_rendered_is_seen_in_the_status),
                cmocka_unit_test(detect_only_shows_its_verdict_and_writes_nothing_else),
                cmocka_unit_test(a_commit_that_was_only_compared_was_not_attempted),
                cmocka_unit_test(the_status_of_detect_only_gives_way_to_a_sync),
                cmocka_unit_test(a_namespace_that_goes_is_told_with_what_goes_with_it),
                cmocka_unit_test(what_would_go_with_a_namespace_is_told_without_prune_as_well),
                cmocka_unit_test(a_namespace_with_a_protected_object_stays),
                cmocka_unit_test(a_deleted_status_is_written_again_with_an_inventory),
                cmocka_unit_test(a_status_that_may_not_be_written_holds_up_nothing),
                cmocka_unit_test(an_agent_can_be_freed_at_any_moment),
        };

        return cmocka_run_group_tests_name("agent", tests, NULL, NULL);
}
