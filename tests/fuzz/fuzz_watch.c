/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reflector that is fed anything as watch stream neither dies nor loses its order: events come only between complete
 * lists, with a resourceVersion that never goes back, and whatever the stream held, it gets back to streaming. How the
 * stream is cut into chunks makes no difference. The first byte is the chunk size, the rest the stream.
 */
#include "fuzz.h"

#include "kube/script_transport.h"
#include "kube/watch.h"

#define STREAM "/api/v1/configmaps?*watch=true*"

struct consumer {
        struct buf told;
        bool replacing, listed;
        char rv[300];
};

static void on_begin(void *ctx) {
        ((struct consumer *)ctx)->replacing = true;
}

static void on_item(void *ctx, struct str object) {
        struct consumer *c = ctx;

        HOLDS(c->replacing);
        HOLDS(object.n > 0);
}

static void keep_rv(struct consumer *c, struct str rv) {
        HOLDS(rv.n < sizeof c->rv);
        snprintf(c->rv, sizeof c->rv, "%.*s", STR_FMT(rv));
}

static void on_end(void *ctx, struct str rv) {
        struct consumer *c = ctx;

        HOLDS(c->replacing);
        c->replacing = false;
        c->listed = true;
        keep_rv(c, rv);
        buf_addf(&c->told, "]%s ", c->rv);
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str rv) {
        struct consumer *c = ctx;
        int order = 0;

        HOLDS(c->listed && !c->replacing);
        HOLDS(!kube_rv_cmp(str_from(c->rv), rv, &order) || order <= 0);
        keep_rv(c, rv);
        buf_addf(&c->told, "%d%s:", event, c->rv);
        buf_add(&c->told, object);
}

static const struct kube_watch_handler handler = {
        .replace_begin = on_begin,
        .item = on_item,
        .replace_end = on_end,
        .event = on_event,
};

static struct consumer feed(struct str stream, size_t chunk_bytes) {
        static const struct kube_watch_spec spec = {
                .at = { .version = { "v1", 2 }, .plural = { "configmaps", 10 } },
        };
        struct loop *loop = loop_new_virtual(1, 0);
        struct script *s = script_new(loop);
        struct kube_client *client = kube_client_new(script_transport(s), loop);
        struct consumer c = { .told = buf_make(SIZE_MAX / 4) };

        script_on(s, KUBE_GET, "/api/v1/configmaps?limit=500*",
                  &(struct script_answer){ .body = STR("{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[{}]}") });
        script_on(s, KUBE_GET, STREAM, &(struct script_answer){ .stream = true });
        script_on(s, KUBE_GET, STREAM,
                  &(struct script_answer){ .body = stream, .chunk_bytes = chunk_bytes, .stream = true, .times = 1 });

        struct kube_watch *w = kube_watch_new(client, &spec, &handler, &c);
        loop_run_for(loop, 60000);
        HOLDS(script_streams(s, STREAM) == 1);
        HOLDS(kube_watch_state(w)->phase == KUBE_WATCH_STREAMING);
        HOLDS(script_unexpected(s) == 0);

        kube_watch_free(w);
        kube_client_free(client);
        script_free(s);
        loop_free(loop);
        return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        if (n < 1)
                return 0;

        struct str stream = { (const char *)data + 1, n - 1 };
        struct consumer whole = feed(stream, 0), cut = feed(stream, data[0] + 1U);

        HOLDS(str_eq(buf_str(&whole.told), buf_str(&cut.told)));
        buf_done(&whole.told);
        buf_done(&cut.told);
        return 0;
}
