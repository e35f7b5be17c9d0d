/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic client against a real API server: what the unit tests claim about its answers is true. Started through
 * tests/cluster/with-cluster.sh; without $TRUCE_TEST_KUBECONFIG it is skipped, restarts where the server is not ours.
 */
#include "kube/curl_transport.h"
#include "kube/discovery.h"
#include "kube/list.h"
#include "kube/watch.h"

#include "base/json.h"
#include "base/limits.h"

#include <errno.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define PATIENCE_MS 90000
#define SKIPPED     77

struct world {
        struct loop *loop;
        struct kube_config *config;
        struct kube_transport *transport;
        struct kube_client *client;
        char namespace[64];

        /* of the last answer */
        bool answered; /* and nobody waited for it yet */
        struct arena *arena;
        struct err err;
        struct kube_status status;
        int http_status;
        const struct value *object;
        struct buf told; /* warnings; items and events */
        unsigned told_warnings;
};

/* --- asking and waiting --- */

static struct kube_status copy_status(struct arena *a, const struct kube_status *s) {
        struct kube_cause *causes = arena_zalloc(a, s->cause_count * sizeof *causes);
        struct kube_status copy = *s;

        for (size_t i = 0; i < s->cause_count; i++) {
                causes[i] = s->causes[i];
                causes[i].message = arena_str(a, s->causes[i].message);
                causes[i].field = arena_str(a, s->causes[i].field);
                causes[i].manager = arena_str(a, s->causes[i].manager);
                causes[i].subresource = arena_str(a, s->causes[i].subresource);
        }
        copy.causes = causes;
        copy.message = arena_str(a, s->message);
        copy.reason = arena_str(a, s->reason);
        return copy;
}

static void on_done(void *ctx, const struct kube_result *result) {
        struct world *w = ctx;

        w->err = result->err;
        w->status = copy_status(w->arena, &result->status);
        w->http_status = result->http_status;
        w->object = NULL;
        if (result->body.n)
                assert_int_equal(json_parse(result->body, w->arena, &w->object, NULL), 0);
        w->answered = true;
        loop_stop(w->loop);
}

/* A watch that runs beside may stop the loop too. */
static void wait_done(struct world *w) {
        while (!w->answered)
                if (!loop_run_for(w->loop, PATIENCE_MS))
                        fail_msg("no answer");
        w->answered = false;
}

static struct kube_location configmap(const struct world *w, const char *name) {
        return (struct kube_location){ .version = STR("v1"),
                                       .plural = STR("configmaps"),
                                       .namespace = str_from(w->namespace),
                                       .name = str_from(name) };
}

static struct kube_location deployment(const struct world *w, const char *name) {
        struct kube_location at = configmap(w, name);

        at.group = STR("apps");
        at.plural = STR("deployments");
        return at;
}

static struct kube_location secret(const struct world *w, const char *name) {
        struct kube_location at = configmap(w, name);

        at.plural = STR("secrets");
        return at;
}

/* The body with the name that the server wants in it besides the path; text that is no JSON stays as it is. */
static struct str named(struct world *w, const char *body, struct str name) {
        static const struct str keys[] = { { "metadata", 8 }, { "name", 4 } };
        const struct value *v;

        if (json_parse(str_from(body), w->arena, &v, NULL) < 0)
                return str_from(body);
        v = value_with_path(w->arena, v, keys, ARRAY_LEN(keys), value_string(w->arena, name, 0));
        return value_canonical(w->arena, v);
}

static int apply_as(struct world *w, const struct kube_location *at, const char *manager, bool force,
                    const char *body) {
        const struct kube_write how = { .field_manager = str_from(manager), .force = force };

        kube_client_apply(w->client, at, named(w, body, at->name), &how, on_done, w);
        wait_done(w);
        return w->err.code;
}

static int apply(struct world *w, struct kube_location at, const char *body) {
        return apply_as(w, &at, "truce", false, body);
}

static void apply_ok(struct world *w, struct kube_location at, const char *body) {
        if (apply(w, at, body) != 0)
                fail_msg("%s", w->err.msg);
}

static int create(struct world *w, struct kube_location at, const char *body) {
        const struct kube_write how = { .field_manager = STR("person") };

        kube_client_create(w->client, &at, str_from(body), &how, on_done, w);
        wait_done(w);
        return w->err.code;
}

static int patch(struct world *w, struct kube_location at, const char *body) {
        const struct kube_write how = { .field_manager = STR("person") };

        kube_client_patch(w->client, &at, KUBE_PATCH_MERGE, str_from(body), &how, on_done, w);
        wait_done(w);
        return w->err.code;
}

static int get(struct world *w, struct kube_location at) {
        kube_client_get(w->client, &at, 0, on_done, w);
        wait_done(w);
        return w->err.code;
}

static int delete (struct world *w, struct kube_location at, struct kube_delete how) {
        kube_client_delete(w->client, &at, &how, on_done, w);
        wait_done(w);
        return w->err.code;
}

static struct str metadata(const struct world *w, const char *key) {
        return value_text(value_path(w->object, "metadata", key, NULL));
}

static void note_warning(void *ctx, struct str text) {
        struct world *w = ctx;

        w->told_warnings++;
        buf_add(&w->told, text);
}

static struct kube_location namespace_at(const char *name) {
        return (struct kube_location){ .version = STR("v1"), .plural = STR("namespaces"), .name = str_from(name) };
}

static int set_up(void **state) {
        struct world *w = mem_zalloc(sizeof *w);
        struct err err = { 0 };
        char body[256];

        w->loop = loop_new(1, 1, NULL);
        if (kube_config_load(getenv("TRUCE_TEST_KUBECONFIG"), NULL, NULL, &w->config, &err) < 0)
                fail_msg("%s", err.msg);
        w->transport = kube_curl_transport_new(w->loop, w->config, "truce-test/1", &err);
        if (!w->transport)
                fail_msg("%s", err.msg);
        w->client = kube_client_new(w->transport, w->loop);
        w->arena = arena_new(0);
        w->told = buf_make(MIB);
        snprintf(w->namespace, sizeof w->namespace, "client-%llx",
                 (unsigned long long)loop_random(w->loop, 1ULL << 40));
        snprintf(body, sizeof body, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
                 w->namespace);
        apply_ok(w, namespace_at(w->namespace), body);
        *state = w;
        return 0;
}

static int tear_down(void **state) {
        struct world *w = *state;

        delete (w, namespace_at(w->namespace), (struct kube_delete){ 0 });
        kube_client_free(w->client);
        kube_transport_free(w->transport);
        loop_free(w->loop);
        kube_config_free(w->config);
        arena_free(w->arena);
        buf_done(&w->told);
        free(w);
        return 0;
}

#define CONFIGMAP(more) "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," more "}"
#define DEPLOYMENT(replicas, container)                                                                                \
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"},\"spec\":{" replicas      \
        "\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":" \
        "{\"containers\":[{\"name\":\"c\",\"image\":\"x\"" container "}]}}}}"

/* --- discovery --- */

struct found {
        struct world *world;
        struct kube_discovery *d;
        struct err err;
};

static void on_discovery(void *ctx, struct kube_discovery *d, const struct err *err) {
        struct found *found = ctx;

        found->d = kube_discovery_ref(d);
        if (err)
                found->err = *err;
        found->world->answered = true;
        loop_stop(found->world->loop);
}

static void discovery_takes_two_requests_and_finds_the_usual_words(void **state) {
        static const struct {
                const char *word, *api_version, *kind;
        } want[] = {
                { "deploy", "apps/v1", "Deployment" },
                { "cm", "v1", "ConfigMap" },
                { "svc", "v1", "Service" },
                { "hpa", "autoscaling/v2", "HorizontalPodAutoscaler" },
                { "crd", "apiextensions.k8s.io/v1", "CustomResourceDefinition" },
                { "netpol", "networking.k8s.io/v1", "NetworkPolicy" },
                { "clusterrole", "rbac.authorization.k8s.io/v1", "ClusterRole" },
        };
        struct world *w = *state;
        struct found found = { .world = w };
        struct kube_transport_stats before, after;
        size_t warnings;

        kube_curl_transport_stats(w->transport, &before);
        kube_discovery_fetch(w->client, NULL, on_discovery, &found);
        wait_done(w);
        kube_curl_transport_stats(w->transport, &after);
        assert_int_equal(found.err.code, 0);
        assert_int_equal(after.sent - before.sent, 2);
        kube_discovery_warnings(found.d, &warnings);
        assert_int_equal(warnings, 0);
        for (size_t i = 0; i < ARRAY_LEN(want); i++) {
                const struct kube_resource *r = kube_discovery_find_word(found.d, str_from(want[i].word));

                assert_non_null(r);
                assert_true(
                        gvk_eq(kube_resource_gvk(r), gvk_from(str_from(want[i].api_version), str_from(want[i].kind))));
        }
        assert_true(kube_discovery_find_word(found.d, STR("deploy"))->has_scale);
        assert_false(kube_discovery_find_word(found.d, STR("crd"))->namespaced);
        kube_discovery_unref(found.d);
}

/* --- writing --- */

static void an_apply_creates_and_then_changes_nothing(void **state) {
        struct world *w = *state;

        apply_ok(w, configmap(w, "a"), CONFIGMAP("\"data\":{\"k\":\"1\"}"));
        assert_int_equal(w->http_status, 201);
        struct str rv = metadata(w, "resourceVersion");
        apply_ok(w, configmap(w, "a"), CONFIGMAP("\"data\":{\"k\":\"1\"}"));
        assert_int_equal(w->http_status, 200);
        assert_true(str_eq(rv, metadata(w, "resourceVersion")));
        assert_int_equal(get(w, configmap(w, "a")), 0);
        assert_true(str_eqc(value_text(value_path(w->object, "data", "k", NULL)), "1"));
}

static void a_name_with_odd_characters_is_reached(void **state) {
        const struct kube_location role = {
                .group = STR("rbac.authorization.k8s.io"),
                .version = STR("v1"),
                .plural = STR("clusterroles"),
                .name = STR("truce:test a?b#c&d=\xc3\xa4"),
        };
        struct world *w = *state;

        apply_ok(w, role,
                 "{\"apiVersion\":\"rbac.authorization.k8s.io/"
                 "v1\",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"truce:test "
                 "a?b#c&d=\xc3\xa4\"},\"rules\":[]}");
        assert_int_equal(get(w, role), 0);
        assert_true(str_eq(metadata(w, "name"), role.name));
        assert_int_equal(delete (w, role, (struct kube_delete){ 0 }), 0);
}

static void a_foreign_field_is_a_conflict_that_names_its_owner(void **state) {
        struct world *w = *state;

        apply_ok(w, configmap(w, "a"), CONFIGMAP("\"data\":{\"k\":\"1\"}"));
        assert_int_equal(patch(w, configmap(w, "a"), "{\"data\":{\"k\":\"2\"}}"), 0);
        assert_int_equal(apply(w, configmap(w, "a"), CONFIGMAP("\"data\":{\"k\":\"1\"}")), ERR_CONFLICT);
        assert_int_equal(w->status.conflict, KUBE_CONFLICT_FIELDS);
        assert_int_equal(w->status.cause_count, 1);
        assert_true(str_eqc(w->status.causes[0].manager, "person"));
        assert_true(str_eqc(w->status.causes[0].field, ".data.k"));
        assert_int_equal(w->status.causes[0].operation, KUBE_OPERATION_UPDATE);

        struct kube_location at = configmap(w, "a");
        assert_int_equal(apply_as(w, &at, "truce", true, CONFIGMAP("\"data\":{\"k\":\"1\"}")), 0);
        assert_int_equal(apply_as(w, &at, "other", false, CONFIGMAP("\"data\":{\"k\":\"3\"}")), ERR_CONFLICT);
        assert_true(str_eqc(w->status.causes[0].manager, "truce"));
        assert_int_equal(w->status.causes[0].operation, KUBE_OPERATION_APPLY);
}

static void a_scale_writer_is_named_with_its_subresource(void **state) {
        struct world *w = *state;
        struct kube_location scale = deployment(w, "web");

        scale.subresource = STR("scale");
        apply_ok(w, deployment(w, "web"), DEPLOYMENT("\"replicas\":0,", ""));
        assert_int_equal(patch(w, scale, "{\"spec\":{\"replicas\":1}}"), 0);
        assert_int_equal(apply(w, deployment(w, "web"), DEPLOYMENT("\"replicas\":0,", "")), ERR_CONFLICT);
        assert_true(str_eqc(w->status.causes[0].manager, "person"));
        assert_true(str_eqc(w->status.causes[0].subresource, "scale"));
        assert_true(str_eqc(w->status.causes[0].field, ".spec.replicas"));
}

#define OTHER_UID "11111111-1111-1111-1111-111111111111"

static void the_kinds_of_conflict_are_what_we_take_them_for(void **state) {
        struct world *w = *state;
        struct kube_location collection = configmap(w, "");

        assert_int_equal(apply(w, configmap(w, "gone"), CONFIGMAP("\"metadata\":{\"uid\":\"" OTHER_UID "\"}")),
                         ERR_CONFLICT);
        assert_int_equal(w->status.conflict, KUBE_CONFLICT_UID);

        apply_ok(w, configmap(w, "a"), CONFIGMAP("\"data\":{\"k\":\"1\"}"));
        assert_int_equal(apply(w, configmap(w, "a"), CONFIGMAP("\"metadata\":{\"uid\":\"" OTHER_UID "\"}")),
                         ERR_CONFLICT);
        assert_int_equal(w->status.conflict, KUBE_CONFLICT_UID);
        assert_int_equal(w->http_status, 422);

        assert_int_equal(apply(w, configmap(w, "a"),
                               CONFIGMAP("\"metadata\":{\"resourceVersion\":\"1\"},\"data\":{\"k\":\"2\"}")),
                         ERR_CONFLICT);
        assert_int_equal(w->status.conflict, KUBE_CONFLICT_RESOURCE_VERSION);

        assert_int_equal(create(w, collection, CONFIGMAP("\"metadata\":{\"name\":\"a\"}")), ERR_CONFLICT);
        assert_int_equal(w->status.conflict, KUBE_CONFLICT_EXISTS);
}

static void a_deletion_keeps_its_preconditions(void **state) {
        struct world *w = *state;

        apply_ok(w, configmap(w, "a"), CONFIGMAP("\"data\":{\"k\":\"1\"}"));
        struct str uid = metadata(w, "uid"), rv = metadata(w, "resourceVersion");

        assert_int_equal(delete (w, configmap(w, "a"), (struct kube_delete){ .uid = STR(OTHER_UID) }), ERR_CONFLICT);
        assert_int_equal(w->status.conflict, KUBE_CONFLICT_UID);
        assert_int_equal(
                delete (w, configmap(w, "a"), (struct kube_delete){ .uid = uid, .resource_version = STR("1") }),
                ERR_CONFLICT);
        assert_int_equal(w->status.conflict, KUBE_CONFLICT_RESOURCE_VERSION);
        assert_int_equal(delete (w, configmap(w, "a"), (struct kube_delete){ .dry_run = true }), 0);
        assert_int_equal(get(w, configmap(w, "a")), 0);
        assert_int_equal(delete (w, configmap(w, "a"),
                                 (struct kube_delete){ .uid = uid,
                                                       .resource_version = rv,
                                                       .now = true,
                                                       .propagation = KUBE_PROPAGATION_BACKGROUND }),
                         0);
        assert_int_equal(get(w, configmap(w, "a")), ERR_NOTFOUND);
        assert_false(w->status.not_served);
        assert_false(w->status.namespace_missing);
}

static void what_the_user_wrote_wrong_is_invalid(void **state) {
        static const char *const bad[] = {
                DEPLOYMENT("\"replicas\":\"2\",", ""),
                DEPLOYMENT("\"replikas\":2,", ""),
                DEPLOYMENT("", ",\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"A\",\"value\":\"2\"}]"),
                DEPLOYMENT("", ",\"resources\":{\"limits\":{\"cpu\":\"abc\"}}"),
                DEPLOYMENT("\"replicas\":-1,", ""),
                "{\"apiVersion\":\"apps/v1beta1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"}}",
                "{",
        };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                if (apply(w, deployment(w, "web"), bad[i]) != ERR_INVAL)
                        fail_msg("%s: %s", err_code_name(w->err.code), w->err.msg);
        assert_int_equal(apply(w, configmap(w, "a"), CONFIGMAP("\"metadata\":{\"labels\":{\"x\":1}}")), ERR_INVAL);
}

static void an_unknown_field_is_a_warning_told_once(void **state) {
        const struct kube_write how = { .dry_run = true, .validation = KUBE_VALIDATION_WARN };
        struct world *w = *state;
        struct kube_location collection = configmap(w, "");

        kube_client_on_warning(w->client, note_warning, w);
        for (int i = 0; i < 2; i++) {
                kube_client_create(w->client, &collection, STR(CONFIGMAP("\"metadata\":{\"name\":\"a\"},\"dada\":{}")),
                                   &how, on_done, w);
                wait_done(w);
                assert_int_equal(w->err.code, 0);
        }
        assert_int_equal(w->told_warnings, 1);
        assert_string_equal(w->told.p, "unknown field \"dada\"");
        kube_client_on_warning(w->client, NULL, NULL);
}

/* --- refusals --- */

#define POLICY                                                                                                         \
        "{\"apiVersion\":\"admissionregistration.k8s.io/"                                                              \
        "v1\",\"kind\":\"ValidatingAdmissionPolicy\",\"metadata\":{\"name\":"                                          \
        "\"truce-no-red\"},\"spec\":{\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":[\"\"],\"apiVersions\":[" \
        "\"v1\"],"                                                                                                     \
        "\"operations\":[\"CREATE\",\"UPDATE\"],\"resources\":[\"configmaps\",\"secrets\"]}]},\"validations\":[{"      \
        "\"expression\":"                                                                                              \
        "\"!has(object.data) || !('red' in object.data)\",\"messageExpression\":\"'not allowed: ' + "                  \
        "string(object.data['red'])\"}]}}"
#define BINDING                                                                                                        \
        "{\"apiVersion\":\"admissionregistration.k8s.io/"                                                              \
        "v1\",\"kind\":\"ValidatingAdmissionPolicyBinding\",\"metadata\":{"                                            \
        "\"name\":\"truce-no-red\"},\"spec\":{\"policyName\":\"truce-no-red\",\"validationActions\":[\"Deny\"]}}"

static struct kube_location policy_at(const char *plural) {
        return (struct kube_location){
                .group = STR("admissionregistration.k8s.io"),
                .version = STR("v1"),
                .plural = str_from(plural),
                .name = STR("truce-no-red"),
        };
}

/* A policy takes a moment to be in force. */
static void await_policy(struct world *w) {
        int64_t until_ms = loop_now_ms(w->loop) + PATIENCE_MS;

        while (loop_now_ms(w->loop) < until_ms) {
                if (apply(w, configmap(w, "probe"), CONFIGMAP("\"data\":{\"red\":\"probe\"}")) != 0)
                        return;
                delete (w, configmap(w, "probe"), (struct kube_delete){ 0 });
                loop_run_for(w->loop, 100);
        }
        fail_msg("the policy never came into force");
}

static void a_policys_refusal_is_a_denial_and_keeps_secrets(void **state) {
        struct world *w = *state;

        apply_ok(w, policy_at("validatingadmissionpolicies"), POLICY);
        apply_ok(w, policy_at("validatingadmissionpolicybindings"), BINDING);
        await_policy(w);
        assert_int_equal(w->err.code, ERR_DENIED);
        assert_non_null(strstr(w->err.msg, "not allowed: probe"));

        assert_int_equal(apply(w, secret(w, "s"),
                               "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"red\":\"aHVudGVyMg==\"}}"),
                         ERR_DENIED);
        assert_null(strstr(w->err.msg, "aHVudGVyMg"));
        assert_non_null(strstr(w->err.msg, "ValidatingAdmissionPolicy 'truce-no-red'"));
        assert_false(str_contains(w->status.message, STR("aHVudGVyMg")));
        delete (w, policy_at("validatingadmissionpolicybindings"), (struct kube_delete){ 0 });
        delete (w, policy_at("validatingadmissionpolicies"), (struct kube_delete){ 0 });
}

static void pod_security_and_quota_are_denials(void **state) {
        struct world *w = *state;
        struct kube_location quota = configmap(w, "q"), pods = configmap(w, "");
        char body[256];

        snprintf(body, sizeof body,
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
                 "\"pod-security.kubernetes.io/enforce\":\"restricted\"}}}",
                 w->namespace);
        apply_ok(w, namespace_at(w->namespace), body);
        pods.plural = STR("pods");
        assert_int_equal(
                create(w, pods,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":"
                       "[{\"name\":\"c\",\"image\":\"x\"}]}}"),
                ERR_DENIED);

        quota.plural = STR("resourcequotas");
        apply_ok(w, quota,
                 "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"spec\":{\"hard\":{\"secrets\":\"0\"}}}");
        int64_t until_ms = loop_now_ms(w->loop) + PATIENCE_MS;
        while (loop_now_ms(w->loop) < until_ms) {
                if (apply(w, secret(w, "s"), "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}") != 0 &&
                    strstr(w->err.msg, "exceeded quota"))
                        break;
                delete (w, secret(w, "s"), (struct kube_delete){ 0 });
                loop_run_for(w->loop, 100);
        }
        assert_int_equal(w->err.code, ERR_DENIED);
}

static void what_is_not_there_is_told_apart(void **state) {
        struct world *w = *state;
        struct kube_location at = configmap(w, "a");

        at.namespace = STR("truce-no-such-namespace");
        assert_int_equal(apply(w, at, CONFIGMAP("\"data\":{}")), ERR_NOTFOUND);
        assert_true(w->status.namespace_missing);
        assert_false(w->status.not_served);

        at = configmap(w, "a");
        at.plural = STR("nothings");
        assert_int_equal(get(w, at), ERR_NOTFOUND);
        assert_true(w->status.not_served);
        at.group = STR("no.such.group");
        assert_int_equal(get(w, at), ERR_NOTFOUND);
        assert_true(w->status.not_served);
        at = configmap(w, "");
        assert_int_equal(apply(w, at, CONFIGMAP("\"data\":{}")), ERR_UNSUPPORTED);
}

static void a_dying_namespace_is_seen(void **state) {
        struct world *w = *state;

        apply_ok(w, configmap(w, "hold"), CONFIGMAP("\"metadata\":{\"finalizers\":[\"truce.dev/test\"]}"));
        assert_int_equal(delete (w, namespace_at(w->namespace), (struct kube_delete){ 0 }), 0);
        assert_int_equal(apply(w, configmap(w, "a"), CONFIGMAP("\"data\":{}")), ERR_FORBIDDEN);
        assert_true(w->status.namespace_terminating);
        assert_int_equal(patch(w, configmap(w, "hold"), "{\"metadata\":{\"finalizers\":null}}"), 0);
}

/* --- lists --- */

static int count_item(void *ctx, struct str object, struct err *err) {
        struct world *w = ctx;

        (void)err;
        (void)object;
        buf_addch(&w->told, '.');
        return 0;
}

static void on_listed(void *ctx, struct str rv, const struct kube_status *status, const struct err *err) {
        struct world *w = ctx;

        (void)status;
        w->err = err ? *err : (struct err){ 0 };
        w->object = value_string(w->arena, rv, 0);
        w->answered = true;
        loop_stop(w->loop);
}

static void make_labelled(struct world *w, unsigned count) {
        char name[16];

        for (unsigned i = 0; i < count; i++) {
                snprintf(name, sizeof name, "m%u", i);
                apply_ok(w, configmap(w, name), CONFIGMAP("\"metadata\":{\"labels\":{\"truce-test\":\"list\"}}"));
        }
}

static void a_list_in_pages_misses_nothing(void **state) {
        static const struct kube_list_handler counting = { .item = count_item, .done = on_listed };
        struct world *w = *state;
        const struct kube_list_spec spec = { .at = configmap(w, ""),
                                             .label_selector = STR("truce-test=list"),
                                             .page_items = 7 };

        make_labelled(w, 30);
        kube_list_start(w->client, &spec, &counting, w);
        wait_done(w);
        assert_int_equal(w->err.code, 0);
        assert_int_equal(w->told.n, 30);
        int order;
        assert_true(kube_rv_cmp(value_text(w->object), STR("1"), &order));
}

/* --- watches --- */

struct watcher {
        struct world *world;
        struct kube_watch *watch;
        unsigned lists, items, events[3];
        struct kube_watch_state state;
        unsigned want_lists, want_events;
        enum err_code want_code; /* in state() */
        bool wants_code;
};

static bool has_wants(const struct watcher *t) {
        unsigned events = t->events[0] + t->events[1] + t->events[2];

        return t->lists >= t->want_lists && events >= t->want_events &&
               (!t->wants_code || t->state.err.code == t->want_code);
}

static void check_wants(struct watcher *t) {
        if (has_wants(t))
                loop_stop(t->world->loop);
}

static void on_begin(void *ctx) {
        ((struct watcher *)ctx)->items = 0;
}

static void on_item(void *ctx, struct str object) {
        (void)object;
        ((struct watcher *)ctx)->items++;
}

static void on_end(void *ctx, struct str rv) {
        struct watcher *t = ctx;

        assert_true(rv.n > 0);
        t->lists++;
        check_wants(t);
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str rv) {
        struct watcher *t = ctx;
        struct arena *a = arena_new(0);
        const struct value *v;

        assert_int_equal(json_parse(object, a, &v, NULL), 0);
        assert_true(str_eq(value_text(value_path(v, "metadata", "resourceVersion", NULL)), rv));
        assert_true(value_text(value_getc(v, "kind")).n > 0);
        arena_free(a);
        t->events[event]++;
        check_wants(t);
}

static void on_state(void *ctx, const struct kube_watch_state *state) {
        struct watcher *t = ctx;

        t->state = *state;
        check_wants(t);
}

static const struct kube_watch_handler watching = {
        .replace_begin = on_begin,
        .item = on_item,
        .replace_end = on_end,
        .event = on_event,
        .state = on_state,
};

/* A call that ends beside may stop the loop too. */
static void await(struct watcher *t) {
        while (!has_wants(t))
                if (!loop_run_for(t->world->loop, PATIENCE_MS))
                        fail_msg("lists %u, items %u, events %u %u %u: %s", t->lists, t->items, t->events[0],
                                 t->events[1], t->events[2], t->state.err.msg);
}

static void begin_watch(struct watcher *t, const struct kube_watch_spec *spec) {
        t->watch = kube_watch_new(t->world->client, spec, &watching, t);
        t->want_lists = 1;
        await(t);
}

static void a_watch_follows_what_happens(void **state) {
        struct world *w = *state;
        struct watcher t = { .world = w };
        const struct kube_watch_spec spec = { .at = configmap(w, ""), .watch_label_selector = STR("truce-test=list") };

        make_labelled(w, 3);
        begin_watch(&t, &spec);
        assert_in_range(t.items, 3, 4); /* the server puts one of its own into each namespace */

        make_labelled(w, 4);
        assert_int_equal(patch(w, configmap(w, "m0"), "{\"data\":{\"a\":\"1\"}}"), 0);
        assert_int_equal(patch(w, configmap(w, "m1"), "{\"metadata\":{\"labels\":null}}"), 0);
        assert_int_equal(delete (w, configmap(w, "m2"), (struct kube_delete){ 0 }), 0);
        t.want_events = 4;
        await(&t);
        assert_int_equal(t.events[KUBE_WATCH_ADDED], 1);
        assert_int_equal(t.events[KUBE_WATCH_MODIFIED], 1);
        assert_int_equal(t.events[KUBE_WATCH_DELETED], 2); /* deleted, and no longer selected */

        /* Another begins where this one is, without a list. */
        struct watcher later = { .world = w };
        struct kube_watch_spec resumed = spec;
        resumed.start_rv = kube_watch_rv(t.watch);
        later.watch = kube_watch_new(w->client, &resumed, &watching, &later);
        assert_int_equal(delete (w, configmap(w, "m3"), (struct kube_delete){ 0 }), 0);
        later.want_events = 1;
        await(&later);
        assert_int_equal(later.lists, 0);
        assert_int_equal(later.events[KUBE_WATCH_DELETED], 1);
        kube_watch_free(later.watch);
        kube_watch_free(t.watch);
}

#define CRD                                                                                                            \
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"    \
        "\"gadgets.test.truce.dev\"},\"spec\":{\"group\":\"test.truce.dev\",\"scope\":\"Cluster\",\"names\":{"         \
        "\"plural\":"                                                                                                  \
        "\"gadgets\",\"kind\":\"Gadget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":" \
        "{"                                                                                                            \
        "\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}"

static void a_kind_may_go_and_come_back(void **state) {
        const struct kube_location crd = {
                .group = STR("apiextensions.k8s.io"),
                .version = STR("v1"),
                .plural = STR("customresourcedefinitions"),
                .name = STR("gadgets.test.truce.dev"),
        };
        const struct kube_watch_spec spec = {
                .at = { .group = STR("test.truce.dev"), .version = STR("v1"), .plural = STR("gadgets") }
        };
        struct world *w = *state;
        struct watcher t = { .world = w };

        apply_ok(w, crd, CRD);
        begin_watch(&t, &spec);
        assert_int_equal(delete (w, crd, (struct kube_delete){ 0 }), 0);
        t.wants_code = true;
        t.want_code = ERR_NOTFOUND;
        await(&t);
        assert_true(t.state.not_served);
        assert_true(t.state.synced);

        apply_ok(w, crd, CRD);
        t.wants_code = false;
        t.want_lists = t.lists + 1;
        await(&t);
        kube_watch_free(t.watch);
        delete (w, crd, (struct kube_delete){ 0 });
}

/* --- restarts --- */

static void cluster(const char *verb, const char *argument) {
        const char *dir = getenv("TRUCE_CLUSTER_DIR");
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                execl(TRUCE_SOURCE_DIR "/tests/cluster/cluster", "cluster", verb, dir, argument, NULL);
                _exit(127);
        }
        while (waitpid(pid, &status, 0) < 0)
                assert_int_equal(errno, EINTR);
        assert_int_equal(status, 0);
}

static void need_own_cluster(void) {
        if (!getenv("TRUCE_CLUSTER_DIR"))
                skip();
}

static void see_one_more(struct watcher *t, const char *name) {
        t->want_lists = 0;
        t->want_events = t->events[0] + t->events[1] + t->events[2] + 1;
        apply_ok(t->world, configmap(t->world, name), CONFIGMAP("\"data\":{\"a\":\"1\"}"));
        await(t);
}

static void a_restarted_server_costs_at_most_one_list(void **state) {
        struct world *w = *state;
        struct watcher t = { .world = w };
        const struct kube_watch_spec spec = { .at = configmap(w, "") };

        need_own_cluster();
        begin_watch(&t, &spec);
        cluster("stop", "apiserver");
        t.wants_code = true;
        t.want_code = ERR_UNREACHABLE;
        t.want_lists = 0;
        await(&t);
        cluster("start", "apiserver");
        t.want_code = ERR_OK;
        await(&t);
        see_one_more(&t, "after");
        assert_in_range(t.lists, 1, 2);
        print_message("restart: %u lists, %u streams\n", kube_watch_state(t.watch)->lists,
                      kube_watch_state(t.watch)->streams);
        kube_watch_free(t.watch);
}

static void a_compacted_history_costs_one_list(void **state) {
        struct world *w = *state;
        struct watcher t = { .world = w };
        struct kube_watch_spec spec = { .at = configmap(w, "") };
        char rv[64];

        need_own_cluster();
        apply_ok(w, configmap(w, "first"), CONFIGMAP("\"data\":{\"a\":\"1\"}"));
        snprintf(rv, sizeof rv, "%.*s", STR_FMT(metadata(w, "resourceVersion")));
        make_labelled(w, 5);
        cluster("compact", "--restart");
        spec.start_rv = str_from(rv);
        t.watch = kube_watch_new(w->client, &spec, &watching, &t);
        t.want_lists = 1;
        await(&t);
        assert_true(t.items >= 6);
        see_one_more(&t, "after");
        assert_int_equal(kube_watch_state(t.watch)->lists, 1);
        kube_watch_free(t.watch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(discovery_takes_two_requests_and_finds_the_usual_words),
                TEST(an_apply_creates_and_then_changes_nothing),
                TEST(a_name_with_odd_characters_is_reached),
                TEST(a_foreign_field_is_a_conflict_that_names_its_owner),
                TEST(a_scale_writer_is_named_with_its_subresource),
                TEST(the_kinds_of_conflict_are_what_we_take_them_for),
                TEST(a_deletion_keeps_its_preconditions),
                TEST(what_the_user_wrote_wrong_is_invalid),
                TEST(an_unknown_field_is_a_warning_told_once),
                TEST(a_policys_refusal_is_a_denial_and_keeps_secrets),
                TEST(pod_security_and_quota_are_denials),
                TEST(what_is_not_there_is_told_apart),
                TEST(a_dying_namespace_is_seen),
                TEST(a_list_in_pages_misses_nothing),
                TEST(a_watch_follows_what_happens),
                TEST(a_kind_may_go_and_come_back),
                TEST(a_restarted_server_costs_at_most_one_list),
                TEST(a_compacted_history_costs_one_list),
        };

        if (!getenv("TRUCE_TEST_KUBECONFIG"))
                return SKIPPED;
        return cmocka_run_group_tests_name("kube client on an API server", tests, NULL, NULL);
}
