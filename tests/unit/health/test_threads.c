/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that several threads ask at once: what is compiled when first needed, and what gets into quarantine. */
#include "health_test.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS  50

static struct health_rules *rules;

static const char *const objects[] = {
        "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {generation: 1}, spec: {size: 1}}",
        "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}}",
        "{apiVersion: example.com/v1, kind: Hungry}",
};

static void *ask(void *arg) {
        (void)arg;
        for (int i = 0; i < ROUNDS; i++)
                for (size_t k = 0; k < ARRAY_LEN(objects); k++) {
                        _cleanup_(arena_freep) struct arena *a = arena_new(0);
                        struct health_rules *mine = health_rules_ref(rules);
                        struct health h = judged(mine, object_of(a, objects[k]), a);

                        if (k == 2 ? h.failure != ERR_LIMIT : h.code != HEALTH_PROGRESSING)
                                return (void *)h.rule;
                        health_rules_unref(mine);
                }
        return NULL;
}

static void threads_may_ask_at_once(void **state) {
        pthread_t threads[THREADS];
        void *failed;

        (void)state;
        rules = health_rules_new();
        add_rule(rules, "example.com", "Hungry", "local s = 'x' while true do s = s .. s end", "cm", 1);
        for (size_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
        for (size_t i = 0; i < THREADS; i++) {
                assert_int_equal(pthread_join(threads[i], &failed), 0);
                if (failed)
                        fail_msg("%s", (const char *)failed);
        }
        health_rules_unref(rules);
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(threads_may_ask_at_once) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
