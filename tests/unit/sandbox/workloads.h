/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and short ways for tests of controllers. */
#ifndef TRUCE_TEST_SANDBOX_WORKLOADS_H
#define TRUCE_TEST_SANDBOX_WORKLOADS_H

#include "sandbox/world.h"

#define PODS        "/api/v1/namespaces/default/pods"
#define APPS        "/apis/apps/v1/namespaces/default/"
#define DEPLOYMENTS APPS "deployments"
#define SETS        APPS "replicasets"
#define STATEFUL    APPS "statefulsets"
#define DAEMONS     APPS "daemonsets"
#define JOBS        "/apis/batch/v1/namespaces/default/jobs"
#define CRONS       "/apis/batch/v1/namespaces/default/cronjobs"
#define SCALERS     "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

#define CONTAINERS(image)                                                                                              \
        "\"containers\":[{\"name\":\"c\",\"image\":\"" image "\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}]"
#define TEMPLATE(annotations, image)                                                                                   \
        "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"},\"annotations\":{" annotations                       \
        "}},\"spec\":{" CONTAINERS(image) "}}"
#define WEB(spec, annotations)                                                                                         \
        "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}}," spec            \
        "," TEMPLATE(annotations, "img") "}}"
#define IMAGE(image) "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"" image "\"}]}}}}"

static inline int workloads_setup(void **state) {
        *state = world_new(NULL);
        return 0;
}

static inline int workloads_teardown(void **state) {
        world_free(*state);
        return 0;
}

#define WORKLOAD_TEST(f) cmocka_unit_test_setup_teardown(f, workloads_setup, workloads_teardown)

static inline size_t count(struct world *w, const char *path) {
        assert_int_equal(get(w, path), 200);
        return value_count(value_getc(w->body, "items"));
}

static inline void change(struct world *w, const char *path, const char *body) {
        if (patch(w, path, STRATEGIC_TYPE, body) != 200)
                fail_msg("%s: %s", path, at(w, "message"));
}

static inline void make(struct world *w, const char *path, const char *body) {
        if (post(w, path, body) != 201)
                fail_msg("%s: %s", path, at(w, "message"));
}

/* "type=status/reason" of all conditions of an object. */
static inline const char *conditions(struct world *w, const char *path) {
        struct buf b = buf_make(4096);

        assert_int_equal(get(w, path), 200);
        const struct value *list = value_path(w->body, "status", "conditions", NULL);
        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *c = list->list.items[i];

                buf_addf(&b, "%s%.*s=%.*s/%.*s", i ? " " : "", STR_FMT(value_text(value_getc(c, "type"))),
                         STR_FMT(value_text(value_getc(c, "status"))), STR_FMT(value_text(value_getc(c, "reason"))));
        }
        const char *text = arena_str(w->arena, buf_str(&b)).p;
        buf_done(&b);
        return text;
}

#define assert_conditions(w, path, wanted) assert_string_equal(conditions(w, path), wanted)

static inline int64_t number(const struct value *object, const char *part, const char *field) {
        int64_t n = 0;

        value_to_i64(value_path(object, part, field, NULL), &n);
        return n;
}

/* How many Pods are ready and stay. */
static inline size_t ready_pods(struct sandbox *s, struct arena *a) {
        const struct value *const *pods;
        size_t n = sandbox_list(s, (struct str){ 0 }, STR("pods"), a, &pods), ready = 0;

        for (size_t i = 0; i < n; i++) {
                const struct value *list = value_path(pods[i], "status", "conditions", NULL);

                for (size_t k = 0; k < value_count(list); k++)
                        ready += !value_path(pods[i], "metadata", "deletionTimestamp", NULL) &&
                                 str_eqc(value_text(value_getc(list->list.items[k], "type")), "Ready") &&
                                 str_eqc(value_text(value_getc(list->list.items[k], "status")), "True");
        }
        return ready;
}

/* Nothing runs any more: the loop ends by itself, at the moment of its last timer. */
static inline int64_t run_until_idle(struct world *w) {
        int64_t start = loop_now_ms(w->loop);

        loop_run(w->loop);
        return loop_now_ms(w->loop) - start;
}

#endif
