/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that are objects of the cluster, on a scripted API server, in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "agent/config_cluster.h"
#include "base/limits.h"
#include "kube/script_transport.h"

#define APPS "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
#define PROJECTS "/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects"
#define MAPS "/api/v1/namespaces/argocd/configmaps"
#define SECRETS "/api/v1/namespaces/argocd/secrets"
#define SECOND 1000

#define APP(name, path, more)                                                                                          \
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{\"name\":\"" name                    \
        "\",\"namespace\":\"argocd\",\"resourceVersion\":\"11\",\"managedFields\":[{}]" more                               \
        "},\"spec\":{\"source\":{\"repoURL\":\"https://git.example.com/x\",\"path\":\"" path                                \
        "\"},\"destination\":{\"namespace\":\"x\"}},\"status\":{\"sync\":{}}}"
#define MAP(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"argocd\"},\"data\":{\"url\":\"https://x\"}}"

struct fixture {
        struct loop *loop;
        struct script *script;
        struct kube_client *client;
        struct config_cluster *cluster;
        unsigned changes;
        struct buf text;
};

static void on_changed(void *ctx) {
        struct fixture *f = ctx;

        f->changes++;
}

static void serve(struct fixture *f, const char *path, const char *items) {
        _cleanup_(buf_done) struct buf body = buf_make(MIB), pattern = buf_make(KIB);

        buf_addf(&body, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[%s]}", items);
        buf_addf(&pattern, "%s?*limit=*", path);
        script_on(f->script, KUBE_GET, pattern.p, &(struct script_answer){ .body = buf_str(&body) });
        buf_clear(&pattern);
        buf_addf(&pattern, "%s?*watch=true*", path);
        script_on(f->script, KUBE_GET, pattern.p, &(struct script_answer){ .stream = true });
}

static void refuse(struct fixture *f, const char *path, int status) {
        _cleanup_(buf_done) struct buf body = buf_make(KIB), pattern = buf_make(KIB);

        buf_addf(&body, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":%d,\"message\":\"refused\"}", status);
        buf_addf(&pattern, "%s?*", path);
        script_on(f->script, KUBE_GET, pattern.p, &(struct script_answer){ .status = status, .body = buf_str(&body) });
}

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->loop = loop_new_virtual(7, 0);
        f->script = script_new(f->loop);
        f->client = kube_client_new(script_transport(f->script), f->loop);
        f->text = buf_make(MIB);
        serve(f, APPS, APP("shop", "a", ""));
        serve(f, PROJECTS, "");
        serve(f, MAPS, MAP("argocd-cm") "," MAP("kube-root-ca.crt"));
        serve(f, SECRETS, "");
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        config_cluster_free(f->cluster);
        kube_client_free(f->client);
        script_free(f->script);
        loop_free(f->loop);
        buf_done(&f->text);
        free(f);
        return 0;
}

static void start(struct fixture *f, const char *selector) {
        f->cluster = config_cluster_new(f->loop, f->client, STR("argocd"), str_from(selector), on_changed, f);
        loop_run_for(f->loop, SECOND);
        (void)config_cluster_snapshot(f->cluster);
}

/* The names of the documents, one a line; "none" while there is no whole picture. */
static const char *names(struct fixture *f) {
        struct config_snapshot *s = config_cluster_snapshot(f->cluster);

        buf_clear(&f->text);
        if (!s)
                buf_addc(&f->text, "none");
        for (size_t i = 0; s && i < s->documents.count; i++)
                buf_addf(&f->text, "%.*s\n", STR_FMT(s->documents.items[i].name));
        return f->text.p;
}

static void event(struct fixture *f, const char *path, const char *type, const char *object) {
        _cleanup_(buf_done) struct buf line = buf_make(MIB), pattern = buf_make(KIB);

        buf_addf(&line, "{\"type\":\"%s\",\"object\":%s}", type, object);
        buf_addf(&pattern, "%s?*watch=true*", path);
        assert_true(script_send(f->script, pattern.p, buf_str(&line)));
        loop_run_for(f->loop, 0);
}

static struct hash128 stamp(struct fixture *f) {
        return config_cluster_snapshot(f->cluster)->stamp;
}

static void what_is_read_is_what_the_namespace_has(void **state) {
        struct fixture *f = *state;
        struct config *c = NULL;
        struct err err;

        start(f, "");
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/shop\n");
        assert_int_equal(config_load_with(NULL, 0, &config_cluster_snapshot(f->cluster)->documents, &c, &err), 0);
        assert_int_equal(c->app_count, 1);
        assert_true(str_eqc(config_place_text(c->apps[0].place, c->arena), "Application argocd/shop"));
        assert_true(str_eqc(c->apps[0].sources->path, "a"));
        config_free(c);
}

static void secrets_are_asked_for_by_their_type_and_all_by_the_selector(void **state) {
        struct fixture *f = *state;

        start(f, "team in (a,b)");
        assert_true(str_contains(script_last(f->script, KUBE_GET, SECRETS "?*limit=*")->path,
                                 STR("labelSelector=argocd.argoproj.io%2Fsecret-type%20in%20%28repository%2Crepo-creds%29%2Cteam"
                                     "%20in%20%28a%2Cb%29")));
        assert_true(str_contains(script_last(f->script, KUBE_GET, APPS "?*watch=true*")->path,
                                 STR("labelSelector=team%20in%20%28a%2Cb%29")));
}

static void what_changes_is_news_and_what_controllers_note_is_not(void **state) {
        struct fixture *f = *state;

        start(f, "");
        struct hash128 before = stamp(f);
        event(f, APPS, "MODIFIED", APP("shop", "a", ",\"annotations\":{\"argocd.argoproj.io/refresh\":\"hard\",\"x.example.com/y\":\"z\"}"));
        assert_true(hash128_eq(before, stamp(f)));
        event(f, APPS, "MODIFIED", APP("shop", "a", ",\"annotations\":{\"argocd.argoproj.io/skip-reconcile\":\"true\"}"));
        assert_false(hash128_eq(before, stamp(f)));
        event(f, APPS, "MODIFIED", APP("shop", "a", ""));
        assert_true(hash128_eq(before, stamp(f)));
        event(f, APPS, "MODIFIED", APP("shop", "b", ""));
        assert_false(hash128_eq(before, stamp(f)));
        event(f, APPS, "ADDED", APP("other", "b", ""));
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/other\nApplication argocd/shop\n");
}

static void one_that_is_being_deleted_is_gone(void **state) {
        struct fixture *f = *state;

        start(f, "");
        event(f, APPS, "ADDED", APP("other", "b", ""));
        event(f, APPS, "MODIFIED", APP("shop", "a", ",\"deletionTimestamp\":\"2026-11-30T10:00:00Z\""));
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/other\n");
        event(f, APPS, "DELETED", APP("shop", "a", ""));
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/other\n");
}

static void a_kind_that_is_forbidden_is_not_empty(void **state) {
        struct fixture *f = *state;

        refuse(f, APPS, 403);
        start(f, "");
        assert_string_equal(names(f), "none");
        assert_int_equal(config_cluster_err(f->cluster)->code, ERR_FORBIDDEN);
        assert_true(f->changes > 0);
        serve(f, APPS, APP("shop", "a", ""));
        loop_run_for(f->loop, 60 * SECOND);
        assert_int_equal(config_cluster_err(f->cluster)->code, 0);
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/shop\n");
}

static void a_kind_that_is_not_installed_is_empty_until_it_is(void **state) {
        struct fixture *f = *state;

        refuse(f, APPS, 404);
        refuse(f, PROJECTS, 404);
        start(f, "");
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\n");
        assert_int_equal(config_cluster_err(f->cluster)->code, 0);
        serve(f, APPS, APP("shop", "a", ""));
        loop_run_for(f->loop, 90 * SECOND);
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/shop\n");
}

/* As when a definition is deleted: its objects first, and then the kind is not served. */
static void a_kind_that_was_there_and_is_not_served_stays_as_it_was(void **state) {
        struct fixture *f = *state;

        start(f, "");
        event(f, APPS, "DELETED", APP("shop", "a", ""));
        loop_run_for(f->loop, CONFIG_CLUSTER_EMPTIED_MS - SECOND);
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/shop\n");
        refuse(f, APPS, 404);
        assert_true(script_end(f->script, APPS "?*", ERR_OK));
        loop_run_for(f->loop, 300 * SECOND);
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/shop\n");
        assert_int_equal(config_cluster_err(f->cluster)->code, ERR_NOTFOUND);
}

static void the_last_one_that_goes_is_gone_after_a_while(void **state) {
        struct fixture *f = *state;

        start(f, "");
        event(f, APPS, "DELETED", APP("shop", "a", ""));
        unsigned changes = f->changes;
        loop_run_for(f->loop, CONFIG_CLUSTER_EMPTIED_MS + SECOND);
        assert_true(f->changes > changes); /* who waits for a whole picture hears of it */
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\n");
}

static void while_the_server_is_away_all_stays(void **state) {
        struct fixture *f = *state;

        start(f, "");
        script_clear(f->script);
        script_on(f->script, KUBE_GET, "*", &(struct script_answer){ .error = ERR_UNREACHABLE });
        assert_true(script_end(f->script, APPS "?*", ERR_UNREACHABLE));
        assert_true(script_end(f->script, MAPS "?*", ERR_UNREACHABLE));
        loop_run_for(f->loop, 600 * SECOND);
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/shop\n");
        assert_int_not_equal(config_cluster_err(f->cluster)->code, 0);
}

/* The first page of a new list has one Application, and no second one follows. */
static void a_list_that_breaks_off_takes_nothing_away(void **state) {
        static const int statuses[] = { 403, 410, 429, 500, 503 };
        struct fixture *f = *state;

        start(f, "");
        for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
                script_on(f->script, KUBE_GET, APPS "?limit=*",
                          &(struct script_answer){ .body = STR("{\"metadata\":{\"resourceVersion\":\"20\",\"continue\":\"x\"},"
                                                               "\"items\":[" APP("other", "a", "") "]}") });
                script_on(f->script, KUBE_GET, APPS "?*continue=*",
                          &(struct script_answer){ .status = statuses[i], .body = STR("{\"kind\":\"Status\"}") });
                event(f, APPS, "ERROR", "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410,\"reason\":\"Expired\"}");
                for (int k = 0; k < 100; k++) {
                        loop_run_for(f->loop, SECOND);
                        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/shop\n");
                }
                assert_int_not_equal(config_cluster_err(f->cluster)->code, 0);
                serve(f, APPS, APP("shop", "a", ""));
                loop_run_for(f->loop, 120 * SECOND);
                assert_int_equal(config_cluster_err(f->cluster)->code, 0);
        }
}

static void deep_event(struct fixture *f, const char *type, const char *name) {
        _cleanup_(buf_done) struct buf deep = buf_make(MIB);

        buf_addf(&deep, "{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"11\"},\"spec\":", name);
        for (int i = 0; i < 300; i++)
                buf_addc(&deep, "[");
        for (int i = 0; i < 300; i++)
                buf_addc(&deep, "]");
        buf_addc(&deep, "}");
        event(f, APPS, type, deep.p);
}

static void an_object_that_cannot_be_read_is_not_taken_for_gone(void **state) {
        struct fixture *f = *state;

        start(f, "");
        deep_event(f, "MODIFIED", "shop");
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/shop\n");
        assert_int_not_equal(config_cluster_err(f->cluster)->code, 0);
        assert_non_null(strstr(config_cluster_err(f->cluster)->msg, "Application argocd/shop"));
}

/* A watch lists again only when it has to: that may be days later. */
static void an_object_that_can_be_read_again_is_read(void **state) {
        struct fixture *f = *state;
        unsigned changes;

        start(f, "");
        deep_event(f, "ADDED", "other");
        deep_event(f, "MODIFIED", "shop");
        event(f, APPS, "MODIFIED", APP("shop", "b", ""));
        assert_int_not_equal(config_cluster_err(f->cluster)->code, 0);
        changes = f->changes;
        deep_event(f, "DELETED", "other");
        assert_int_equal(config_cluster_err(f->cluster)->code, 0);
        assert_true(f->changes > changes);
        assert_string_equal(names(f), "ConfigMap argocd/argocd-cm\nApplication argocd/shop\n");
        assert_non_null(strstr(config_cluster_snapshot(f->cluster)->documents.items[1].text.p, "\"path\":\"b\""));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                T(what_is_read_is_what_the_namespace_has),
                T(secrets_are_asked_for_by_their_type_and_all_by_the_selector),
                T(what_changes_is_news_and_what_controllers_note_is_not),
                T(one_that_is_being_deleted_is_gone),
                T(a_kind_that_is_forbidden_is_not_empty),
                T(a_kind_that_is_not_installed_is_empty_until_it_is),
                T(a_kind_that_was_there_and_is_not_served_stays_as_it_was),
                T(the_last_one_that_goes_is_gone_after_a_while),
                T(while_the_server_is_away_all_stays),
                T(a_list_that_breaks_off_takes_nothing_away),
                T(an_object_that_cannot_be_read_is_not_taken_for_gone),
                T(an_object_that_can_be_read_again_is_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
