/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_floor KUBECONFIG PARALLEL < objects: sends each line of standard input (one JSON object) as a server-side apply,
 * PARALLEL at a time over HTTP/2, and nothing else: no discovery, no LIST, no inventory. What a sync costs above this is
 * its own. Prints the milliseconds from the first request to the last answer.
 */
#include "base/json.h"
#include "base/limits.h"
#include "kube/client.h"
#include "kube/curl_transport.h"
#include "kube/gvk.h"

#define INPUT_MAX_BYTES (512 * MIB)

struct floor {
        struct loop *loop;
        struct kube_client *client;
        struct str rest;
        unsigned parallel, running, sent, failed;
        int64_t first_ms, last_ms;
};

static const struct plural {
        const char *kind, *plural;
} plurals[] = {
        { "ConfigMap", "configmaps" },   { "Deployment", "deployments" }, { "Service", "services" },
        { "Role", "roles" },             { "ServiceAccount", "serviceaccounts" },
};

static void send_more(struct floor *f);

static void done(void *ctx, const struct kube_result *result) {
        struct floor *f = ctx;

        f->running--;
        f->last_ms = loop_now_ms(f->loop);
        if (result->err.code) {
                f->failed++;
                fprintf(stderr, "%s\n", result->err.msg);
        }
        send_more(f);
}

static struct str plural_of(struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(plurals); i++) {
                if (str_eqc(kind, plurals[i].kind))
                        return str_from(plurals[i].plural);
        }
        fprintf(stderr, "no plural for %.*s\n", STR_FMT(kind));
        exit(1);
}

static void send_one(struct floor *f, struct str line) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;

        if (json_parse(line, a, &object, NULL) < 0)
                exit(1);
        struct gvk gvk = gvk_from(value_text(value_getc(object, "apiVersion")), value_text(value_getc(object, "kind")));
        struct kube_location at = {
                .group = gvk.group, .version = gvk.version, .plural = plural_of(gvk.kind),
                .namespace = value_text(value_path(object, "metadata", "namespace", NULL)),
                .name = value_text(value_path(object, "metadata", "name", NULL)),
        };
        struct kube_write how = { .field_manager = STR("floor") };

        f->running++;
        f->sent++;
        kube_client_apply(f->client, &at, line, &how, done, f);
}

static void send_more(struct floor *f) {
        struct str line;

        while (f->running < f->parallel && str_next(&f->rest, '\n', &line)) {
                if (line.n)
                        send_one(f, line);
        }
        if (!f->running)
                loop_stop(f->loop);
}

static void begin(void *ctx) {
        struct floor *f = ctx;

        f->first_ms = f->last_ms = loop_now_ms(f->loop);
        send_more(f);
}

static void read_all(struct buf *in) {
        char piece[64 * KIB];
        ssize_t n;

        while ((n = read(STDIN_FILENO, piece, sizeof piece)) > 0)
                buf_add(in, (struct str){ piece, (size_t)n });
}

int main(int argc, char **argv) {
        struct kube_config *config;
        struct floor f = { 0 };
        struct buf in = buf_make(INPUT_MAX_BYTES);
        struct err err;
        uint64_t parallel;

        if (argc != 3 || !str_to_u64(str_from(argv[2]), &parallel) || kube_config_load(argv[1], NULL, NULL, &config, &err) < 0)
                return 2;
        read_all(&in);
        f.parallel = (unsigned)parallel;
        f.rest = buf_str(&in);
        f.loop = loop_new(1, 1, &err);
        struct kube_transport *t = kube_curl_transport_new(f.loop, config, "bench-floor", &err);
        if (!t)
                return 2;
        f.client = kube_client_new(t, f.loop);
        loop_post(f.loop, begin, &f);
        loop_run(f.loop);
        printf("%lld\n", (long long)(f.last_ms - f.first_ms));

        kube_client_free(f.client);
        kube_transport_free(t);
        loop_free(f.loop);
        kube_config_free(config);
        buf_done(&in);
        return f.failed || !f.sent ? 1 : 0;
}
