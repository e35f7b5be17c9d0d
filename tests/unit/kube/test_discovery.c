/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/discovery.h"
#include "kube/script_transport.h"

#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define VERBS      "\"verbs\":[\"create\",\"delete\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]"
#define AGGREGATED "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},"

static const char usual[] = "v1 ConfigMap configmaps namespaced cm\n"
                            "v1 Namespace namespaces cluster status ns\n"
                            "v1 Event events namespaced ev\n"
                            "v1 Service services namespaced status svc\n"
                            "apps/v1 Deployment deployments namespaced status scale deploy\n"
                            "events.k8s.io/v1 Event events namespaced ev\n"
                            "autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers namespaced status hpa\n"
                            "autoscaling/v1 HorizontalPodAutoscaler horizontalpodautoscalers namespaced status hpa\n"
                            "metrics.k8s.io/v1beta1 PodMetrics pods namespaced nowatch\n"
                            "acme.dev/v1 Svc svcs namespaced\n";

struct fixture {
        struct loop *loop;
        struct script *script;
        struct kube_client *client;
        struct kube_discovery *d;
        struct err err;
        unsigned done;
};

static int set_up(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->loop = loop_new_virtual(7, 0);
        f->script = script_new(f->loop);
        f->client = kube_client_new(script_transport(f->script), f->loop);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        struct fixture *f = *state;

        kube_client_free(f->client);
        script_free(f->script);
        kube_discovery_unref(f->d);
        loop_free(f->loop);
        free(f);
        return 0;
}

static void on_done(void *ctx, struct kube_discovery *d, const struct err *err) {
        struct fixture *f = ctx;

        f->done++;
        f->err = err ? *err : (struct err){ 0 };
        if (!d)
                return;
        kube_discovery_unref(f->d);
        f->d = kube_discovery_ref(d);
}

static void fetch(struct fixture *f) {
        unsigned before = f->done;

        kube_discovery_fetch(f->client, f->d, on_done, f);
        loop_run(f->loop);
        assert_int_equal(f->done, before + 1);
}

static void fetch_usual(struct fixture *f) {
        script_serve_discovery(f->script, usual);
        fetch(f);
        assert_int_equal(f->err.code, ERR_OK);
}

static void answer(struct fixture *f, const char *path, const char *body) {
        script_on(f->script, KUBE_GET, path, &(struct script_answer){ .body = str_from(body) });
}

static size_t count(const struct kube_discovery *d) {
        size_t n;

        kube_discovery_resources(d, &n);
        return n;
}

/* The only warning. */
static struct str warning(const struct kube_discovery *d) {
        size_t n;
        const struct str *warnings = kube_discovery_warnings(d, &n);

        assert_int_equal(n, 1);
        return warnings[0];
}

static void assert_word(struct fixture *f, const char *word, const char *group, const char *version, const char *kind) {
        const struct kube_resource *r = kube_discovery_find_word(f->d, str_from(word));

        assert_non_null(r);
        assert_true(str_eqc(r->group, group));
        assert_true(str_eqc(r->version, version));
        assert_true(str_eqc(r->kind, kind));
}

static void two_requests_tell_everything(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        assert_int_equal(script_request_count(f->script), 2);
        assert_int_equal(count(f->d), 10);
        assert_true(str_contains(script_request_at(f->script, 0)->accept, STR("as=APIGroupDiscoveryList")));

        const struct kube_resource *r = kube_discovery_find(f->d, gvk_from(STR("apps/v1"), STR("Deployment")));
        assert_non_null(r);
        assert_true(str_eqc(r->plural, "deployments"));
        assert_true(r->namespaced && r->has_status && r->has_scale && r->preferred && !r->stale);
        assert_int_equal(r->verbs, KUBE_VERB_GET | KUBE_VERB_LIST | KUBE_VERB_WATCH | KUBE_VERB_CREATE |
                                           KUBE_VERB_UPDATE | KUBE_VERB_PATCH | KUBE_VERB_DELETE);
        assert_true(kube_resource_is_watchable(r));

        r = kube_discovery_find(f->d, gvk_from(STR("v1"), STR("Namespace")));
        assert_true(!r->namespaced && r->has_status && !r->has_scale);
        r = kube_discovery_find(f->d, gvk_from(STR("metrics.k8s.io/v1beta1"), STR("PodMetrics")));
        assert_false(kube_resource_is_watchable(r));
}

static void what_is_not_served_is_not_found(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        assert_null(kube_discovery_find(f->d, gvk_from(STR("apps/v2"), STR("Deployment"))));
        assert_null(kube_discovery_find(f->d, gvk_from(STR("v1"), STR("Deployment"))));
        assert_null(kube_discovery_find_kind(f->d, STR(""), STR("Deployment")));
        assert_null(kube_discovery_find_plural(f->d, STR("apps"), STR("deploy")));
        assert_null(kube_discovery_find_word(f->d, STR("nothing")));
        assert_null(kube_discovery_find_word(f->d, STR("")));
        assert_null(kube_discovery_find_word(f->d, STR(".apps")));
}

static void the_first_version_of_a_kind_is_preferred(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        const struct kube_resource *v2 =
                kube_discovery_find_kind(f->d, STR("autoscaling"), STR("HorizontalPodAutoscaler"));
        const struct kube_resource *v1 =
                kube_discovery_find(f->d, gvk_from(STR("autoscaling/v1"), STR("HorizontalPodAutoscaler")));

        assert_true(str_eqc(v2->version, "v2"));
        assert_true(v2->preferred);
        assert_false(v1->preferred);
        assert_ptr_equal(kube_discovery_find_plural(f->d, STR("autoscaling"), STR("horizontalpodautoscalers")), v2);
        assert_true(gvk_eq(kube_resource_gvk(v1), gvk_from(STR("autoscaling/v1"), STR("HorizontalPodAutoscaler"))));
}

static void users_words_are_understood(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        assert_word(f, "deploy", "apps", "v1", "Deployment");
        assert_word(f, "Deployments", "apps", "v1", "Deployment");
        assert_word(f, "deployment", "apps", "v1", "Deployment");
        assert_word(f, "deploy.apps", "apps", "v1", "Deployment");
        assert_word(f, "deployments.v1.apps", "apps", "v1", "Deployment");
        assert_word(f, "cm", "", "v1", "ConfigMap");
        assert_word(f, "cm.v1", "", "v1", "ConfigMap");
        assert_word(f, "cm.v1.", "", "v1", "ConfigMap");
        assert_word(f, "hpa", "autoscaling", "v2", "HorizontalPodAutoscaler");
        assert_word(f, "hpa.v1.autoscaling", "autoscaling", "v1", "HorizontalPodAutoscaler");
        assert_word(f, "ev", "", "v1", "Event");
        assert_word(f, "events.events.k8s.io", "events.k8s.io", "v1", "Event");
        assert_null(kube_discovery_find_word(f->d, STR("deploy.extensions")));
        assert_null(kube_discovery_find_word(f->d, STR("deploy.v2.apps")));
}

static void a_full_name_beats_a_short_one(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        assert_word(f, "svc", "acme.dev", "v1", "Svc"); /* its kind; Service has it as short name only */
        assert_word(f, "svc.v1", "", "v1", "Service");
}

static void an_objects_place_follows_its_scope(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        struct kube_location at =
                kube_resource_location(kube_discovery_find_word(f->d, STR("ns")), STR("x"), STR("shop"));
        assert_int_equal(at.namespace.n, 0);
        at = kube_resource_location(kube_discovery_find_word(f->d, STR("deploy")), STR("shop"), STR("web"));
        assert_true(str_eqc(at.namespace, "shop"));
        assert_true(str_eqc(at.plural, "deployments"));
}

#define PLAIN_RESOURCES                                                                                                \
        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"apps/v1\",\"resources\":["             \
        "{\"name\":\"deployments\",\"singularName\":\"deployment\",\"namespaced\":true,\"kind\":\"Deployment\","       \
        "\"shortNames\":[\"deploy\"]," VERBS "},"                                                                      \
        "{\"name\":\"deployments/scale\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"Scale\",\"group\":"      \
        "\"autoscaling\",\"version\":\"v1\",\"verbs\":[\"get\"]},"                                                     \
        "{\"name\":\"deployments/"                                                                                     \
        "status\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"Deployment\",\"verbs\":[]}]}"

static void serve_plain(struct fixture *f) {
        answer(f, "/api", "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}");
        answer(f, "/api/v1",
               "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":[{\"name\":\"configmaps\","
               "\"singularName\":"
               "\"\",\"namespaced\":true,\"kind\":\"ConfigMap\"," VERBS "}]}");
        answer(f, "/apis",
               "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"apps\",\"versions\":[{\"version\":\"v1beta1\"},{"
               "\"version\":"
               "\"v1\"}],\"preferredVersion\":{\"version\":\"v1\"}}]}");
        answer(f, "/apis/apps/v1", PLAIN_RESOURCES);
        answer(f, "/apis/apps/v1beta1",
               "{\"kind\":\"APIResourceList\",\"groupVersion\":\"apps/"
               "v1beta1\",\"resources\":[{\"name\":\"deployments\","
               "\"namespaced\":true,\"kind\":\"Deployment\"," VERBS "}]}");
}

static void a_server_without_aggregated_discovery_is_asked_group_by_group(void **state) {
        struct fixture *f = *state;

        serve_plain(f);
        fetch(f);
        assert_int_equal(f->err.code, ERR_OK);
        assert_int_equal(count(f->d), 3);

        const struct kube_resource *r = kube_discovery_find_word(f->d, STR("deploy"));
        assert_true(str_eqc(r->version, "v1"));
        assert_true(r->preferred && r->has_scale && r->has_status);
        assert_non_null(kube_discovery_find(f->d, gvk_from(STR("v1"), STR("ConfigMap"))));
        r = kube_discovery_find(f->d, gvk_from(STR("apps/v1beta1"), STR("Deployment")));
        assert_false(r->preferred || r->has_scale);
        size_t n;
        assert_true(str_eqc(kube_discovery_resources(f->d, &n)[0].kind, "ConfigMap"));
}

static void a_group_that_fails_keeps_what_was_known(void **state) {
        struct fixture *f = *state;

        serve_plain(f);
        fetch(f);
        script_on(f->script, KUBE_GET, "/apis/apps/v1", &(struct script_answer){ .status = 503 });
        fetch(f);
        assert_int_equal(f->err.code, ERR_OK);
        assert_int_equal(count(f->d), 3);
        const struct kube_resource *r = kube_discovery_find_word(f->d, STR("deploy"));
        assert_true(r->stale && r->has_scale && r->preferred);
        assert_true(str_starts(warning(f->d), STR("apps/v1: ")));
        assert_true(str_ends(warning(f->d), STR("1 resources are known from before")));

        /* And again, now from a snapshot that is stale itself. */
        fetch(f);
        assert_non_null(kube_discovery_find_word(f->d, STR("deploy")));
        answer(f, "/apis/apps/v1", "{\"kind\":\"Table\"}");
        fetch(f);
        assert_non_null(kube_discovery_find_word(f->d, STR("deploy")));
        answer(f, "/apis/apps/v1", PLAIN_RESOURCES);
        fetch(f);
        assert_false(kube_discovery_find_word(f->d, STR("deploy"))->stale);
}

#define STALE_GROUP(resources)                                                                                         \
        AGGREGATED "\"items\":[{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{\"version\":\"v1beta1\","    \
                   "\"resources\":[" resources "],\"freshness\":\"Stale\"}]}]}"

static void a_stale_group_keeps_what_was_known(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        answer(f, "/apis", STALE_GROUP(""));
        fetch(f);
        const struct kube_resource *r = kube_discovery_find_kind(f->d, STR("metrics.k8s.io"), STR("PodMetrics"));
        assert_non_null(r);
        assert_true(r->stale);
        assert_true(kube_discovery_lacks(f->d, STR("metrics.k8s.io")));
        assert_false(kube_discovery_lacks(f->d, STR("apps")));
        assert_true(str_starts(warning(f->d), STR("metrics.k8s.io/v1beta1: the server calls it stale")));
        /* Other groups are gone from the list: they are not served any more. */
        assert_null(kube_discovery_find_word(f->d, STR("deploy")));
}

static void a_stale_group_may_still_say_what_it_serves(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        answer(f, "/apis",
               STALE_GROUP("{\"resource\":\"nodes\",\"responseKind\":{\"kind\":\"NodeMetrics\"},\"scope\":"
                           "\"Cluster\"," VERBS "}"));
        fetch(f);
        assert_non_null(kube_discovery_find_kind(f->d, STR("metrics.k8s.io"), STR("NodeMetrics")));
        assert_null(kube_discovery_find_kind(f->d, STR("metrics.k8s.io"), STR("PodMetrics")));
        assert_true(str_eqc(warning(f->d), "metrics.k8s.io/v1beta1: the server calls it stale"));
}

static void entries_without_a_name_are_left_out_with_a_warning(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        answer(f, "/api",
               AGGREGATED "\"items\":[{\"metadata\":{},\"versions\":[{\"version\":\"v1\",\"resources\":["
                          "{\"resource\":\"\",\"responseKind\":{\"kind\":\"A\"}," VERBS "},"
                          "{\"resource\":\"onlysub\",\"subresources\":[{\"subresource\":\"scale\"}]},"
                          "{\"resource\":\"bs\",\"responseKind\":{\"kind\":\"B\"}," VERBS "}]}]}]}");
        fetch(f);
        assert_non_null(kube_discovery_find_kind(f->d, STR(""), STR("B")));
        assert_null(kube_discovery_find_plural(f->d, STR(""), STR("onlysub")));
        assert_true(str_starts(warning(f->d), STR("v1 serves a resource without a kind or a name")));
}

static void a_root_that_fails_fails_the_fetch(void **state) {
        struct fixture *f = *state;

        fetch_usual(f);
        script_on(f->script, KUBE_GET, "/apis", &(struct script_answer){ .status = 403 });
        fetch(f);
        assert_int_equal(f->err.code, ERR_FORBIDDEN);
        assert_int_equal(count(f->d), 10); /* what we had is untouched */

        answer(f, "/apis", "{\"kind\":\"ConfigMapList\",\"items\":[{\"metadata\":{}}]}");
        fetch(f);
        assert_int_equal(f->err.code, ERR_PARSE);
        answer(f, "/apis", "<html>");
        fetch(f);
        assert_int_equal(f->err.code, ERR_PARSE);
        answer(f, "/apis", AGGREGATED "\"items\":[{\"metadata\":{\"name\":\"a\"},\"versions\":[{}]}]}");
        fetch(f);
        assert_int_equal(f->err.code, ERR_PARSE);
        assert_non_null(strstr(f->err.msg, "/apis: "));
}

static void a_throttled_root_is_asked_again(void **state) {
        struct fixture *f = *state;

        script_serve_discovery(f->script, usual);
        script_on(f->script, KUBE_GET, "/apis",
                  &(struct script_answer){ .status = 429, .retry_after_ms = 1000, .times = 1 });
        fetch(f);
        assert_int_equal(f->err.code, ERR_OK);
        assert_int_equal(script_request_count(f->script), 3);
}

static void a_cancelled_fetch_says_nothing(void **state) {
        struct fixture *f = *state;

        script_serve_discovery(f->script, usual);
        kube_discovery_fetch_cancel(kube_discovery_fetch(f->client, NULL, on_done, f));
        kube_discovery_fetch_cancel(NULL);
        loop_run(f->loop);
        assert_int_equal(f->done, 0);
}

static void a_fetch_dies_with_its_client(void **state) {
        struct fixture *f = *state;

        serve_plain(f);
        script_on(f->script, KUBE_GET, "/apis/apps/v1", &(struct script_answer){ .delay_ms = 1000 });
        kube_discovery_fetch(f->client, NULL, on_done, f);
        loop_run_for(f->loop, 500);
        kube_client_free(TAKE_PTR(f->client));
        loop_run(f->loop);
        assert_int_equal(f->done, 0);
}

static void too_many_group_versions_are_refused(void **state) {
        struct fixture *f = *state;
        struct buf lines = buf_make(MIB);

        for (int i = 0; i < KUBE_DISCOVERY_MAX_GROUP_VERSIONS - 1; i++)
                buf_addf(&lines, "g%d.dev/v1 A as namespaced\n", i);
        buf_addc(&lines, "v1 A as namespaced\n");
        script_serve_discovery(f->script, lines.p);
        fetch(f);
        assert_int_equal(f->err.code, ERR_OK);
        assert_int_equal(count(f->d), KUBE_DISCOVERY_MAX_GROUP_VERSIONS);

        buf_addc(&lines, "y.dev/v1 A as namespaced\nz.dev/v1 A as namespaced\n");
        script_serve_discovery(f->script, lines.p);
        fetch(f);
        assert_int_equal(f->err.code, ERR_LIMIT);
        buf_done(&lines);
}

static void documents_at_hand_need_no_server(void **state) {
        const struct str texts[] = { STR(PLAIN_RESOURCES), STR(STALE_GROUP("")) };
        struct fixture *f = *state;
        struct err err = { 0 };

        assert_int_equal(kube_discovery_parse(texts, ARRAY_LEN(texts), &f->d, &err), 0);
        assert_int_equal(count(f->d), 1);
        assert_non_null(kube_discovery_find_word(f->d, STR("deploy")));

        struct kube_discovery *unused = NULL;
        assert_int_equal(kube_discovery_parse(&STR("{"), 1, &unused, &err), ERR_PARSE);
        assert_null(unused);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(two_requests_tell_everything),
                TEST(what_is_not_served_is_not_found),
                TEST(the_first_version_of_a_kind_is_preferred),
                TEST(users_words_are_understood),
                TEST(a_full_name_beats_a_short_one),
                TEST(an_objects_place_follows_its_scope),
                TEST(a_server_without_aggregated_discovery_is_asked_group_by_group),
                TEST(a_group_that_fails_keeps_what_was_known),
                TEST(a_stale_group_keeps_what_was_known),
                TEST(a_stale_group_may_still_say_what_it_serves),
                TEST(entries_without_a_name_are_left_out_with_a_warning),
                TEST(a_root_that_fails_fails_the_fetch),
                TEST(a_throttled_root_is_asked_again),
                TEST(a_cancelled_fetch_says_nothing),
                TEST(a_fetch_dies_with_its_client),
                TEST(too_many_group_versions_are_refused),
                TEST(documents_at_hand_need_no_server),
        };

        return cmocka_run_group_tests_name("discovery", tests, NULL, NULL);
}
