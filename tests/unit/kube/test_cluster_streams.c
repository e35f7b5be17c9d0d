/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server (or a proxy before it) that allows few streams on a connection: all watches run nevertheless, and
 * requests beside them. Started through tests/cluster/with-cluster.sh with 10 and with 3 streams a connection.
 */
#include "kube/curl_transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kube/cluster_world.h"

#define WATCHES 120
#define MOST_STREAMS 10
#define BOUND_MS 20000 /* far below the silence after which a watch is opened anew anyway */

struct fleet {
        char namespace[64];
        struct probe probes[WATCHES];
};

static void start_watch(struct world *w, struct fleet *f, unsigned i) {
        char path[128];

        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps?watch=true", f->namespace);
        start(&f->probes[i], w, &(struct kube_request){ .path = str_from(path), .watch = true, .deadline_ms = -1 },
              &streaming);
}

static void write_configmap(struct world *w, const struct fleet *f, const char *name) {
        _cleanup_(probe_done) struct probe p = { 0 };
        char path[128], body[256];

        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps", f->namespace);
        (void)snprintf(body, sizeof body, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"}}", name);
        post(&p, w, path, body);
        wait_for(w, 1);
        assert_int_equal(p.status, 201);
}

/* All of them see an object of that name, and none ends. */
static void await_everywhere(struct world *w, struct fleet *f, const char *name) {
        unsigned seen = 0;

        for (int turn = 0; turn < BOUND_MS / 10 && seen < WATCHES; turn++) {
                (void)loop_run_for(w->loop, 10);
                seen = 0;
                for (unsigned i = 0; i < WATCHES; i++)
                        seen += f->probes[i].seen.n && strstr(f->probes[i].seen.p, name);
        }
        assert_int_equal(seen, WATCHES);
        for (unsigned i = 0; i < WATCHES; i++)
                assert_int_equal(f->probes[i].ended, 0);
        assert_int_equal(stats_of(w).open_watches, WATCHES);
        assert_int_equal(stats_of(w).waiting_watches, 0);
}

static void stop_watch(struct world *w, struct fleet *f, unsigned i) {
        kube_cancel(w->transport, f->probes[i].call);
        probe_done(&f->probes[i]);
        f->probes[i] = (struct probe){ 0 };
}

static struct fleet *open_fleet(struct world *w) {
        struct fleet *f = mem_zalloc(sizeof *f);

        make_namespace(w, f->namespace);
        for (unsigned i = 0; i < WATCHES; i++)
                start_watch(w, f, i);
        write_configmap(w, f, "first");
        await_everywhere(w, f, "\"first\"");
        /* Or the server allows more, and this proves nothing. */
        if (getenv("TRUCE_CLUSTER_DIR"))
                assert_true(stats_of(w).connections_opened >= WATCHES / MOST_STREAMS);
        return f;
}

static void close_fleet(struct world *w, struct fleet *f) {
        for (unsigned i = 0; i < WATCHES; i++)
                stop_watch(w, f, i);
        drop_namespace(w, f->namespace);
        free(f);
}

static void every_watch_gets_a_stream_and_its_events(void **state) {
        struct world *w = *state;
        struct fleet *f = open_fleet(w);

        write_configmap(w, f, "second");
        await_everywhere(w, f, "\"second\"");
        assert_int_equal(stats_of(w).retries, 0);
        close_fleet(w, f);
}

static void places_of_watches_that_went_are_taken_again(void **state) {
        struct world *w = *state;
        struct fleet *f = open_fleet(w);
        uint64_t connections = stats_of(w).connections_opened;

        for (unsigned round = 0; round < 5; round++) {
                for (unsigned i = round % 2; i < WATCHES; i += 2) {
                        stop_watch(w, f, i);
                        start_watch(w, f, i);
                }
                await_everywhere(w, f, "\"first\"");
        }
        assert_in_range(stats_of(w).connections_opened, connections, connections + WATCHES / 2);
        close_fleet(w, f);
}

static void requests_go_on_beside_them(void **state) {
        struct world *w = *state;
        struct fleet *f = open_fleet(w);
        struct probe reads[60] = { 0 }, writes[200] = { 0 };
        char other[64], path[128], body[256];

        /* Elsewhere: the server drops watches that are slow to take a flood of events. */
        make_namespace(w, other);
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps", other);
        for (size_t i = 0; i < ARRAY_LEN(reads); i++)
                start(&reads[i], w, &(struct kube_request){ .path = STR("/version"), .priority = KUBE_PRIORITY_READ },
                      &collecting);
        for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
                (void)snprintf(body, sizeof body,
                               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"w%zu\"}}", i);
                post(&writes[i], w, path, body);
        }
        wait_for(w, ARRAY_LEN(reads) + ARRAY_LEN(writes));
        for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
                assert_int_equal(reads[i].status, 200);
                probe_done(&reads[i]);
        }
        for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
                assert_int_equal(writes[i].status, 201);
                probe_done(&writes[i]);
        }
        write_configmap(w, f, "second");
        await_everywhere(w, f, "\"second\"");
        drop_namespace(w, other);
        close_fleet(w, f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(every_watch_gets_a_stream_and_its_events),
                WORLD_TEST(places_of_watches_that_went_are_taken_again),
                WORLD_TEST(requests_go_on_beside_them),
        };

        if (!getenv("TRUCE_TEST_KUBECONFIG")) {
                printf("SKIPPED: TRUCE_TEST_KUBECONFIG is not set\n");
                return SKIPPED;
        }
        return cmocka_run_group_tests_name("cluster_streams", tests, NULL, NULL);
}
