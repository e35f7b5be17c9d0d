/* SPDX-License-Identifier: Apache-2.0 */
/* What data cases (test_build_cases.c) cannot say of the objects that are made for a LeaderWorkerSet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "arena_test.h"
#include "base/json.h"
#include "base/limits.h"
#include "group/build.h"
#include "group/names.h"
#include "group/spec.h"

static const struct value *json(const char *text) {
        const struct value *v = NULL;
        struct err err = { 0 };

        if (json_parse(str_from(text), a, &v, &err) < 0)
                fail_msg("%s", err.msg);
        return v;
}

static struct group_spec spec_of(int32_t size, const char *worker) {
        return (struct group_spec){
                .ns = STR("serving"),
                .name = STR("demo"),
                .uid = STR("u1"),
                .now = { .size = size, .worker = json(worker), .hash = STR("0123456789") },
        };
}

static const struct value *pod_of(const struct group_spec *s, int32_t worker) {
        struct group_place at = { .worker = worker, .incarnation = STR("1a2b3c4d"), .gated = true };

        return group_build_pod(s, &s->now, &at, a);
}

#define PLAIN "{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}"

static void a_revision_holds_the_payload(void **state) {
        struct group_spec s = spec_of(2, PLAIN);

        (void)state;
        s.now.payload = json("{\"spec\":{\"leaderWorkerTemplate\":{\"size\":2}}}");
        const struct value *wanted = json(
                "{\"apiVersion\":\"apps/v1\",\"kind\":\"ControllerRevision\",\"metadata\":{"
                "\"name\":\"demo-0123456789-3\",\"namespace\":\"serving\",\"labels\":{"
                "\"leaderworkerset.sigs.k8s.io/name\":\"demo\","
                "\"leaderworkerset.sigs.k8s.io/template-revision-hash\":\"0123456789\"},"
                "\"ownerReferences\":[{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\","
                "\"name\":\"demo\",\"uid\":\"u1\",\"controller\":true,\"blockOwnerDeletion\":true}]},"
                "\"data\":{\"spec\":{\"leaderWorkerTemplate\":{\"size\":2}}},\"revision\":3}");
        assert_true(value_equal(group_build_revision(&s, &s.now, 3, a), wanted));
}

static void names_of_claims_are_those_of_a_stateful_set(void **state) {
        struct group_spec s = spec_of(2, PLAIN);
        const struct str *names;

        (void)state;
        assert_int_equal(group_claim_names(&s.now, STR("demo-0"), a, &names), 0);
        s.now.claims = json("[{\"metadata\":{\"name\":\"model\"}},{\"metadata\":{\"name\":\"scratch\"}}]");
        assert_int_equal(group_claim_names(&s.now, STR("demo-0-1"), a, &names), 2);
        assert_string_equal(names[0].p, "model-demo-0-1");
        assert_string_equal(names[1].p, "scratch-demo-0-1");
}

static void a_leader_without_a_template_is_made_from_the_workers(void **state) {
        struct group_spec s = spec_of(2, PLAIN), t = spec_of(2, PLAIN);

        (void)state;
        s.now.leader = NULL;
        t.now.leader = t.now.worker;
        assert_true(value_equal(pod_of(&s, 0), pod_of(&t, 0)));
}

/* Null is what Go clients write for what is not there. */
static void sections_that_are_null_are_as_if_absent(void **state) {
        struct group_spec s =
                spec_of(2, "{\"metadata\":{\"creationTimestamp\":null,\"labels\":null,\"annotations\":null,"
                           "\"finalizers\":null},\"spec\":{\"affinity\":null,\"nodeSelector\":null,"
                           "\"schedulingGates\":null,\"volumes\":null,\"containers\":[{\"name\":\"main\","
                           "\"env\":null,\"resources\":null}]}}");
        struct group_spec plain = spec_of(2, "{\"spec\":{\"initContainers\":null,\"containers\":[{\"name\":\"main\","
                                             "\"resources\":null}]}}");

        (void)state;
        s.exclusive_topology = plain.exclusive_topology = STR("rack");
        s.now.claims = plain.now.claims = json("[{\"metadata\":{\"name\":\"model\"}}]");
        const struct value *got = pod_of(&s, 0), *wanted = pod_of(&plain, 0);
        assert_true(value_equal(value_getc(got, "metadata"), value_getc(wanted, "metadata")));
        assert_int_equal(value_count(value_path(got, "spec", "schedulingGates", NULL)), 1);
        assert_true(
                value_equal(value_path(got, "spec", "affinity", NULL), value_path(wanted, "spec", "affinity", NULL)));
        assert_true(value_equal(value_path(got, "spec", "containers", NULL),
                                value_path(wanted, "spec", "containers", NULL)));
}

static void a_template_is_not_changed_and_gives_the_same_pod_again(void **state) {
        struct group_spec s = spec_of(3, "{\"spec\":{\"containers\":[{\"name\":\"main\",\"env\":[{\"name\":\"A\"}],"
                                         "\"resources\":{\"limits\":{\"google.com/tpu\":\"4\"}}}]}}");
        const struct value *before = value_dup(a, s.now.worker);

        (void)state;
        s.exclusive_topology = STR("rack");
        s.now.subgroups = GROUP_SUBGROUPS_LEADER_WORKER;
        s.now.subgroup_size = 1;
        const struct value *pod = pod_of(&s, 1);
        assert_true(value_equal(pod, pod_of(&s, 1)));
        assert_false(value_equal(pod, pod_of(&s, 2)));
        assert_true(value_equal(s.now.worker, before));
}

/* Each member is in one subgroup, in the order of members, and none has more than it may. */
static void subgroups_part_a_group(void **state) {
        (void)state;
        for (int32_t size = 1; size <= 40; size++) {
                for (int32_t n = 1; n <= size; n++) {
                        struct group_template t = { .size = size, .subgroup_size = n };
                        int32_t last = 0, members = 0;

                        t.subgroups = GROUP_SUBGROUPS_LEADER_WORKER;
                        if (size % n != 0 && (size - 1) % n != 0)
                                continue;
                        for (int32_t w = 0; w < size; w++) {
                                int32_t index = group_subgroup_index(&t, w);

                                assert_true(index == last || index == last + 1);
                                members = index == last ? members + 1 : 1;
                                assert_true(members <= n + (index == 0 && size % n != 0));
                                last = index;
                        }
                        assert_int_equal(last, size / n - 1);
                }
        }
}

static void no_subgroups_no_index(void **state) {
        struct group_template t = { .size = 4, .subgroup_size = 2 };

        (void)state;
        assert_int_equal(group_subgroup_index(&t, 0), -1);
        assert_int_equal(group_subgroup_index(&t, 3), -1);
        t.subgroups = GROUP_SUBGROUPS_LEADER_WORKER;
        t.subgroup_size = 0;
        assert_int_equal(group_subgroup_index(&t, 3), -1);
}

static const struct value *variable(const struct value *pod, const char *name) {
        const struct value *containers = value_path(pod, "spec", "containers", NULL);
        const struct value *env = value_getc(containers->list.items[0], "env");

        for (size_t i = 0; i < value_count(env); i++)
                if (str_eqc(value_text(value_getc(env->list.items[i], "name")), name))
                        return value_getc(env->list.items[i], "value");
        return NULL;
}

static void a_request_without_a_limit_counts_and_a_limit_of_zero_does_not(void **state) {
        static const struct {
                const char *resources;
                bool counts;
        } rows[] = {
                { "{\"requests\":{\"google.com/tpu\":\"4\"}}", true },
                { "{\"limits\":{\"google.com/tpu\":0},\"requests\":{\"google.com/tpu\":4}}", true },
                { "{\"limits\":{\"google.com/tpu\":4.0}}", true },
                { "{\"limits\":{\"google.com/tpu\":\"0.5k\"}}", true },
                { "{\"limits\":{\"google.com/tpu\":\"0e9\"}}", false },
                { "{\"limits\":{\"google.com/tpu\":\"0\"},\"requests\":{\"google.com/tpu\":0.0}}", false },
                { "{\"limits\":{\"google.com/tpu\":null,\"cpu\":\"4\"}}", false },
                { "{\"limits\":\"4\"}", false },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct str text = arena_strf(a, "{\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":%s}]}}",
                                             rows[i].resources);
                struct group_spec s = spec_of(2, text.p);

                assert_int_equal(variable(pod_of(&s, 1), "TPU_WORKER_ID") != NULL, rows[i].counts);
        }
}

static void hosts_of_a_slice_end_at_the_limit(void **state) {
        struct group_spec s = spec_of(1, "{\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":"
                                         "{\"google.com/tpu\":\"4\"}}}]}}");
        char text[64];
        size_t bytes = strlen("demo-0.demo:8476");

        (void)state;
        for (;; s.now.size++) {
                size_t more = (size_t)snprintf(text, sizeof text, ",demo-0-%d.demo:8476", s.now.size);

                if (bytes + more > GROUP_MAX_VARIABLE_BYTES)
                        break;
                bytes += more;
        }
        const struct value *pod = pod_of(&s, s.now.size - 1);
        assert_int_equal(value_text(variable(pod, "TPU_PROCESS_ADDRESSES")).n, bytes);
        assert_true(bytes > GROUP_MAX_VARIABLE_BYTES - sizeof text);
        snprintf(text, sizeof text, "%d", s.now.size - 1);
        assert_string_equal(value_text(variable(pod, "TPU_WORKER_ID")).p, text);

        s.now.size++;
        pod = pod_of(&s, 0);
        assert_null(variable(pod, "TPU_WORKER_HOSTNAMES"));
        assert_null(variable(pod, "TPU_PROCESS_ADDRESSES"));
        assert_non_null(variable(pod, GROUP_ENV_LEADER_ADDRESS));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_revision_holds_the_payload),
                cmocka_unit_test(names_of_claims_are_those_of_a_stateful_set),
                cmocka_unit_test(a_leader_without_a_template_is_made_from_the_workers),
                cmocka_unit_test(sections_that_are_null_are_as_if_absent),
                cmocka_unit_test(a_template_is_not_changed_and_gives_the_same_pod_again),
                cmocka_unit_test(subgroups_part_a_group),
                cmocka_unit_test(no_subgroups_no_index),
                cmocka_unit_test(a_request_without_a_limit_counts_and_a_limit_of_zero_does_not),
                cmocka_unit_test(hosts_of_a_slice_end_at_the_limit),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
