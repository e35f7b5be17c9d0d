/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the curl transport on a real API server: a transport as $TRUCE_TEST_KUBECONFIG says, calls that are
 * waited for, a namespace with ConfigMaps in it, watches of few and quiet ConfigMaps.
 *
 * Include after <cmocka.h>. Thread rule: one thread.
 */
#ifndef TRUCE_TESTS_CLUSTER_WORLD_H
#define TRUCE_TESTS_CLUSTER_WORLD_H

#include "base/buf.h"
#include "base/limits.h"
#include "kube/curl_transport.h"

#define PATIENCE_MS 60000
#define SKIPPED 77

struct world {
        struct loop *loop;
        struct kube_config *config;
        struct kube_transport *transport;
        unsigned done, until;
};

struct probe {
        struct world *world;
        struct kube_call *call;
        unsigned ended;
        int status;
        struct err err;
        char *body;
        size_t data_bytes;
        struct buf seen;   /* the first bytes of `data` */
        const char *word;  /* NULL once they hold it; the loop then stops when no call is waited for */
};

static inline int set_up(void **state) {
        struct world *w = mem_zalloc(sizeof *w);
        struct err err = { 0 };

        w->loop = loop_new(1, 1, NULL);
        if (kube_config_load(getenv("TRUCE_TEST_KUBECONFIG"), NULL, NULL, &w->config, &err) < 0)
                fail_msg("%s", err.msg);
        w->transport = kube_curl_transport_new(w->loop, w->config, "truce-test/1", &err);
        if (!w->transport)
                fail_msg("%s", err.msg);
        *state = w;
        return 0;
}

static inline int tear_down(void **state) {
        struct world *w = *state;

        kube_transport_free(w->transport);
        loop_free(w->loop);
        kube_config_free(w->config);
        free(w);
        return 0;
}

static inline void reconnect(struct world *w) {
        struct err err = { 0 };

        kube_transport_free(w->transport);
        w->transport = kube_curl_transport_new(w->loop, w->config, "truce-test/1", &err);
        if (!w->transport)
                fail_msg("%s", err.msg);
}

static inline void probe_done(struct probe *p) {
        free(p->body);
        buf_done(&p->seen);
}

static inline int on_data(void *ctx, struct str chunk, struct err *err) {
        struct probe *p = ctx;

        (void)err;
        if (!p->seen.max)
                p->seen = buf_make(1 * MIB);
        p->data_bytes += chunk.n;
        buf_add(&p->seen, chunk);
        if (p->word && strstr(p->seen.p, p->word)) {
                p->word = NULL;
                /* Not while calls are waited for: the event may come before the answer to the write that caused it. */
                if (p->world->done >= p->world->until)
                        loop_stop(p->world->loop);
        }
        return 0;
}

static inline void on_done(void *ctx, const struct kube_reply *reply, const struct err *err) {
        struct probe *p = ctx;

        p->ended++;
        p->call = NULL;
        p->status = reply->status;
        p->body = str_dup(reply->body);
        if (err)
                p->err = *err;
        if (++p->world->done >= p->world->until)
                loop_stop(p->world->loop);
}

static const struct kube_handler collecting = { .done = on_done };
static const struct kube_handler streaming = { .data = on_data, .done = on_done };

static inline void start(struct probe *p, struct world *w, const struct kube_request *req, const struct kube_handler *handler) {
        p->world = w;
        p->call = kube_start(w->transport, req, handler, p);
}

static inline void wait_for(struct world *w, unsigned n) {
        w->until = w->done + n;
        if (!loop_run_for(w->loop, PATIENCE_MS))
                fail_msg("%u calls did not end", w->until - w->done);
}

static inline void get(struct probe *p, struct world *w, const char *path) {
        start(p, w, &(struct kube_request){ .path = str_from(path), .priority = KUBE_PRIORITY_READ }, &collecting);
        wait_for(w, 1);
}

/* A GET that must succeed. */
static inline void get_ok(struct world *w, const char *path) {
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, path);
        if (p.err.code || p.status != 200)
                fail_msg("%s: %d %s", path, p.status, p.err.msg);
}

static inline struct kube_transport_stats stats_of(struct world *w) {
        struct kube_transport_stats stats;

        kube_curl_transport_stats(w->transport, &stats);
        return stats;
}

static inline void post(struct probe *p, struct world *w, const char *path, const char *body) {
        start(p, w,
              &(struct kube_request){ .method = KUBE_POST,
                                      .path = str_from(path),
                                      .content_type = "application/json",
                                      .body = str_from(body),
                                      .priority = KUBE_PRIORITY_WRITE },
              &collecting);
}

/* A namespace of its own for a test; removed with all in it by drop_namespace(). */
static inline void make_namespace(struct world *w, char name[64]) {
        _cleanup_(probe_done) struct probe p = { 0 };
        char body[256];

        (void)snprintf(name, 64, "transport-%d-%llx", (int)getpid(), (unsigned long long)loop_random(w->loop, 1ULL << 40));
        (void)snprintf(body, sizeof body, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
                       name);
        post(&p, w, "/api/v1/namespaces", body);
        wait_for(w, 1);
        assert_int_equal(p.status, 201);
}

static inline void drop_namespace(struct world *w, const char *name) {
        _cleanup_(probe_done) struct probe p = { 0 };
        char path[128];

        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s", name);
        start(&p, w, &(struct kube_request){ .method = KUBE_DELETE, .path = str_from(path) }, &collecting);
        wait_for(w, 1);
        assert_int_equal(p.status, 200);
}

/* Makes `count` ConfigMaps of about `bytes` each, all at once. */
static inline void make_configmaps(struct world *w, const char *namespace, unsigned count, size_t bytes) {
        struct probe *probes = mem_zalloc(count * sizeof *probes);
        char path[128];

        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps", namespace);
        for (unsigned i = 0; i < count; i++) {
                struct buf body = buf_make(1 * MIB);

                buf_addf(&body, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m%u\"},\"data\":{\"k\":\"", i);
                for (size_t n = 0; n < bytes; n++)
                        buf_addch(&body, (char)('a' + (n * 7 + i) % 26));
                buf_addc(&body, "\"}}");
                post(&probes[i], w, path, body.p);
                buf_done(&body);
        }
        wait_for(w, count);
        for (unsigned i = 0; i < count; i++) {
                assert_int_equal(probes[i].status, 201);
                probe_done(&probes[i]);
        }
        free(probes);
}

/* Where nobody writes: the server drops a slow watch, and the end of a namespace with ConfigMaps is a flood of events. */
static inline void open_watch(struct world *w, struct probe *p) {
        start(p, w,
              &(struct kube_request){ .path = STR("/api/v1/namespaces/kube-system/configmaps?watch=true"),
                                      .watch = true,
                                      .deadline_ms = -1 },
              &streaming);
}

static inline void open_watches(struct world *w, struct probe *probes, unsigned count) {
        for (unsigned i = 0; i < count; i++)
                open_watch(w, &probes[i]);
}

/* A busy server answers 429 to some of hundreds that begin at once; then they are to come again. */
static inline void open_throttled_again(struct world *w, struct probe *probes, unsigned count) {
        for (unsigned i = 0; i < count; i++) {
                if (!probes[i].ended || probes[i].status != 429)
                        continue;
                probe_done(&probes[i]);
                probes[i] = (struct probe){ 0 };
                open_watch(w, &probes[i]);
        }
}

static inline void print_silent(const struct probe *probes, unsigned count) {
        for (unsigned i = 0; i < count; i++)
                if (probes[i].data_bytes == 0)
                        print_message("watch %u has no data: ended %u times, HTTP %d, %s\n", i, probes[i].ended,
                                      probes[i].status, probes[i].err.msg);
}

static inline void await_watches(struct world *w, struct probe *probes, unsigned count) {
        unsigned open = 0;

        for (int turn = 0; turn < PATIENCE_MS / 10 && open < count; turn++) {
                (void)loop_run_for(w->loop, 10);
                open_throttled_again(w, probes, count);
                open = 0;
                for (unsigned i = 0; i < count; i++)
                        open += probes[i].data_bytes > 0;
        }
        print_silent(probes, count);
        assert_int_equal(open, count);
        assert_int_equal(stats_of(w).open_watches, count);
        assert_int_equal(stats_of(w).waiting_watches, 0);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
