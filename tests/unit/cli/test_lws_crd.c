/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definition of deploy/lws on the sandbox: objects are accepted as they are, and what is read back has no problem.
 * Upstream's samples are no part of this tree: the folder is that of TRUCE_LWS_SAMPLES, or ../shared beside the tree;
 * without one, that test is skipped.
 */
#include "group/spec_cases.h"
#include "sandbox/world.h"

#include <unistd.h>

#include "group/spec.h"

#define CRD  TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define LWS  "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets"

#define UPSTREAM_SAMPLES TRUCE_SOURCE_DIR "/../shared/data/lws/samples"

static int setup(void **state) {
        struct world *w = world_new(NULL);
        struct spec_cases crd = { .count = 0 };

        world_run(w, 1000);
        spec_cases_add_file(&crd, CRD, w->arena);
        assert_int_equal(crd.count, 1);
        assert_int_equal(post(w, CRDS, value_canonical(w->arena, crd.items[0]).p), 201);
        assert_int_equal(w->reply.warning_count, 0);
        world_run(w, 1000);
        *state = w;
        return 0;
}

static int teardown(void **state) {
        world_free(*state);
        return 0;
}

/* In the namespace default, without what only a server sets. */
static const struct value *sendable(const struct value *object, struct arena *a) {
        static const char *const servers[] = { "uid", "resourceVersion", "generation", "deletionTimestamp" };
        const struct value *meta = value_getc(object, "metadata");

        for (size_t i = 0; i < ARRAY_LEN(servers); i++)
                meta = value_with(a, meta, str_from(servers[i]), NULL);
        meta = value_with(a, meta, STR("namespace"), value_stringc(a, "default"));
        return value_with(a, object, STR("metadata"), meta);
}

/* Whatever was sent is there still; the server may have added to it. */
static bool holds(const struct value *has, const struct value *wanted) {
        if (!has || wanted->kind != VALUE_MAP)
                return has && value_equal(has, wanted);
        for (size_t i = 0; i < wanted->map.count; i++) {
                const struct value_member *m = &wanted->map.members[i];

                if (m->value->kind != VALUE_NULL && !holds(value_get(has, m->key), m->value))
                        return false;
        }
        return true;
}

/* The object as it is stored; the test fails when it is refused. It is deleted again. */
static const struct value *created(struct world *w, const struct value *object) {
        const struct value *sent = sendable(object, w->arena), *stored;
        const char *name = value_text(value_path(sent, "metadata", "name", NULL)).p;

        if (post(w, LWS "?fieldValidation=Strict", value_canonical(w->arena, sent).p) != 201)
                fail_msg("%s: %s", name, at(w, "message"));
        stored = w->body;
        assert_int_equal(w->reply.warning_count, 0);
        assert_int_equal(del(w, arena_strf(w->arena, LWS "/%s", name).p), 200);
        if (!holds(value_getc(stored, "spec"), value_getc(sent, "spec")))
                fail_msg("%s: something is lost: %s", name, value_canonical(w->arena, stored).p);
        return stored;
}

static void is_fine(struct world *w, const struct value *object) {
        struct group_problems problems;
        struct group_spec s;

        group_spec_read(created(w, object), w->arena, &s, &problems);
        if (problems.count)
                fail_msg("%.*s: %.*s: %.*s", STR_FMT(s.name), STR_FMT(problems.items[0].path),
                         STR_FMT(problems.items[0].text));
}

static void what_is_fine_is_accepted(void **state) {
        struct world *w = *state;
        struct spec_cases cases = spec_cases_load(SPEC_CASES, w->arena);
        size_t count = 0;

        for (size_t i = 0; i < cases.count; i++)
                if (!value_getc(cases.items[i], "problems")) {
                        is_fine(w, spec_case_object(cases.items[i], w->arena));
                        count++;
                }
        assert_true(count >= 25);
}

static void upstreams_samples_are_accepted(void **state) {
        struct world *w = *state;
        const char *folder = getenv("TRUCE_LWS_SAMPLES");
        struct spec_cases samples = spec_cases_load(folder ? folder : UPSTREAM_SAMPLES, w->arena);
        size_t count = 0;

        if (!samples.count)
                skip();
        for (size_t i = 0; i < samples.count; i++)
                if (str_eqc(value_text(value_getc(samples.items[i], "kind")), "LeaderWorkerSet")) {
                        is_fine(w, samples.items[i]);
                        count++;
                }
        print_message("%zu samples\n", count);
        assert_true(count > 0);
}

static const struct value *parsed(struct world *w, const char *text) {
        const struct value *v = NULL;
        struct err err = { 0 };

        if (json_parse(str_from(text), w->arena, &v, &err) < 0)
                fail_msg("%s", err.msg);
        return v;
}

#define HEAD                                                                                                           \
        "{\"apiVersion\":\"leaderworkerset.x-k8s.io/"                                                                  \
        "v1\",\"kind\":\"LeaderWorkerSet\",\"metadata\":{\"name\":\"demo\"}"
#define WORKER   "\"workerTemplate\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"busybox\"}]}}"
#define TEMPLATE "\"leaderWorkerTemplate\":{" WORKER "}"

static void what_a_newer_api_has_survives_and_is_told(void **state) {
        struct world *w = *state;
        const struct value *stored = created(
                w, parsed(w, HEAD
                          ",\"spec\":{\"scheduling\":{\"mode\":\"gang\"},\"rolloutStrategy\":{\"type\":"
                          "\"RollingUpdate\",\"a\":1,\"rollingUpdateConfiguration\":{\"b\":1}},\"networkConfig\":{"
                          "\"subdomainPolicy\":\"Shared\",\"c\":1},\"leaderWorkerTemplate\":{\"maxGroupRestarts\":3,"
                          "\"subGroupPolicy\":{\"subGroupSize\":1,\"d\":1},"
                          "\"persistentVolumeClaimRetentionPolicy\":{\"e\":1}," WORKER "}}}"));
        struct group_problems problems;
        struct group_spec s;

        assert_int_equal(group_spec_read(stored, w->arena, &s, &problems), ERR_INVAL);
        assert_int_equal(problems.count, 7);
        for (size_t i = 0; i < problems.count; i++)
                assert_int_equal(problems.items[i].kind, GROUP_UNSUPPORTED);
}

static void defaults_are_filled(void **state) {
        struct world *w = *state;

        assert_int_equal(
                post(w, LWS, HEAD ",\"spec\":{\"rolloutStrategy\":{\"rollingUpdateConfiguration\":{}}," TEMPLATE "}}"),
                201);
        assert_at(w, "spec.replicas", "1");
        assert_at(w, "spec.startupPolicy", "LeaderCreated");
        assert_at(w, "spec.leaderWorkerTemplate.size", "1");
        assert_at(w, "spec.leaderWorkerTemplate.restartPolicy", "RecreateGroupOnPodRestart");
        assert_at(w, "spec.rolloutStrategy",
                  "{\"rollingUpdateConfiguration\":{\"maxSurge\":0,\"maxUnavailable\":1,\"partition\":0},\"type\":"
                  "\"RollingUpdate\"}");
}

static void is_refused(struct world *w, const char *spec, const char *message) {
        const char *text = arena_strf(w->arena, HEAD ",\"spec\":%s}", spec).p;

        assert_int_equal(post(w, LWS, text), 422);
        assert_message(
                w, arena_strf(w->arena, "LeaderWorkerSet.leaderworkerset.x-k8s.io \"demo\" is invalid: %s", message).p);
}

static void what_the_schema_can_tell_is_refused_at_once(void **state) {
        struct world *w = *state;

        is_refused(w, "{}", "spec.leaderWorkerTemplate: Required value");
        is_refused(w, "{\"leaderWorkerTemplate\":{}}", "spec.leaderWorkerTemplate.workerTemplate: Required value");
        is_refused(w, "{\"replicas\":-1," TEMPLATE "}",
                   "[spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0, "
                   ".spec.replicas: Invalid value: -1: should be a non-negative integer]");
        is_refused(
                w, "{\"replicas\":1000001," TEMPLATE "}",
                "spec.replicas: Invalid value: 1000001: spec.replicas in body should be less than or equal to 1000000");
        is_refused(
                w, "{\"startupPolicy\":\"X\"," TEMPLATE "}",
                "spec.startupPolicy: Unsupported value: \"X\": supported values: \"LeaderCreated\", \"LeaderReady\"");
        is_refused(w, "{\"leaderWorkerTemplate\":{\"size\":0," WORKER "}}",
                   "spec.leaderWorkerTemplate.size: Invalid value: 0: spec.leaderWorkerTemplate.size in body should be "
                   "greater than or equal to 1");
}

static void an_autoscaler_finds_replicas_and_selector(void **state) {
        struct world *w = *state;

        assert_int_equal(post(w, LWS, HEAD ",\"spec\":{\"replicas\":2," TEMPLATE "}}"), 201);
        assert_int_equal(
                patch(w, LWS "/demo/status", MERGE_TYPE,
                      "{\"status\":{\"replicas\":3,\"readyReplicas\":1,\"updatedReplicas\":2,\"hpaPodSelector\":"
                      "\"a=b\",\"conditions\":[{\"type\":\"truce.dev/Groups\",\"status\":\"True\",\"reason\":"
                      "\"Recorded\",\"message\":\"m\",\"lastTransitionTime\":\"2026-11-30T10:00:00Z\","
                      "\"observedGeneration\":1}]}}"),
                200);
        assert_at(w, "status.conditions.0.message", "m");
        assert_int_equal(get(w, LWS "/demo/scale"), 200);
        assert_at(w, "spec.replicas", "2");
        assert_at(w, "status.replicas", "3");
        assert_at(w, "status.selector", "a=b");
        assert_int_equal(patch(w, LWS "/demo/scale", MERGE_TYPE, "{\"spec\":{\"replicas\":5}}"), 200);
        assert_int_equal(get(w, LWS "/demo"), 200);
        assert_at(w, "spec.replicas", "5");
}

static void kubectl_shows_it_as_upstreams(void **state) {
        struct world *w = *state;
        static const char *const names[] = { "Name", "Ready", "Desired", "Up-to-date", "Age" };

        assert_int_equal(get(w, "/apis/leaderworkerset.x-k8s.io/v1"), 200);
        assert_at(w, "resources.0.shortNames", "[\"lws\"]");
        assert_int_equal(ask_as(w, KUBE_GET, LWS, NULL, NULL, "application/json;as=Table;v=v1;g=meta.k8s.io"), 200);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                assert_at(w, arena_strf(w->arena, "columnDefinitions.%zu.name", i).p, names[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_is_fine_is_accepted),
                TEST(upstreams_samples_are_accepted),
                TEST(what_a_newer_api_has_survives_and_is_told),
                TEST(defaults_are_filled),
                TEST(what_the_schema_can_tell_is_refused_at_once),
                TEST(an_autoscaler_finds_replicas_and_selector),
                TEST(kubectl_shows_it_as_upstreams),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
