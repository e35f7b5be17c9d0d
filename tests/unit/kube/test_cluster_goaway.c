/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server that says goodbye on one connection in fifty requests (--goaway-chance, as balanced control planes are
 * run): nothing may fail, no write may be sent twice. Started through tests/cluster/with-cluster.sh with that flag.
 */
#include "kube/curl_transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kube/cluster_world.h"

#define ROUNDS 5
#define WRITES 300
#define WATCHES 60

/* A write that was acted on and sent again would be a 409: make_configmaps() wants 201 of each. */
static void writes_survive_goodbyes_and_happen_once(void **state) {
        struct world *w = *state;

        for (int i = 0; i < ROUNDS; i++) {
                char namespace[64];

                make_namespace(w, namespace);
                make_configmaps(w, namespace, WRITES, 100);
                drop_namespace(w, namespace);
        }
        /* Or nobody said goodbye, and this proves nothing. */
        if (getenv("TRUCE_CLUSTER_DIR"))
                assert_true(stats_of(w).connections_opened > 3);
        assert_int_equal(stats_of(w).calls[KUBE_POST][0], 0);
}

static void watches_survive_goodbyes(void **state) {
        struct world *w = *state;
        struct probe probes[WATCHES] = { 0 };

        open_watches(w, probes, WATCHES);
        await_watches(w, probes, WATCHES);
        for (int i = 0; i < 100; i++)
                get_ok(w, "/version");
        for (size_t i = 0; i < WATCHES; i++) {
                assert_int_equal(probes[i].ended, 0);
                kube_cancel(w->transport, probes[i].call);
                probe_done(&probes[i]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(watches_survive_goodbyes),
                WORLD_TEST(writes_survive_goodbyes_and_happen_once),
        };

        if (!getenv("TRUCE_TEST_KUBECONFIG")) {
                printf("SKIPPED: TRUCE_TEST_KUBECONFIG is not set\n");
                return SKIPPED;
        }
        return cmocka_run_group_tests_name("cluster_goaway", tests, NULL, NULL);
}
