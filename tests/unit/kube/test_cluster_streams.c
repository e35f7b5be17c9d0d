/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server (or a proxy before it) that allows fewer streams on a connection than the rule for watches assumes:
 * none may wait for ever. Started through tests/cluster/with-cluster.sh with 20 streams a connection.
 */
#include "kube/curl_transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kube/cluster_world.h"

#define WATCHES 120

static void every_watch_gets_a_stream_in_the_end(void **state) {
        struct world *w = *state;
        struct probe probes[WATCHES] = { 0 };

        get_ok(w, "/version");
        open_watches(w, probes, WATCHES);
        await_watches(w, probes, WATCHES);
        get_ok(w, "/version");
        if (getenv("TRUCE_CLUSTER_DIR"))
                assert_in_range(stats_of(w).connections_opened, WATCHES / 20 + 1, WATCHES / 20 + 5);
        for (size_t i = 0; i < WATCHES; i++) {
                assert_int_equal(probes[i].ended, 0);
                kube_cancel(w->transport, probes[i].call);
                probe_done(&probes[i]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(every_watch_gets_a_stream_in_the_end),
        };

        if (!getenv("TRUCE_TEST_KUBECONFIG")) {
                printf("SKIPPED: TRUCE_TEST_KUBECONFIG is not set\n");
                return SKIPPED;
        }
        return cmocka_run_group_tests_name("cluster_streams", tests, NULL, NULL);
}
