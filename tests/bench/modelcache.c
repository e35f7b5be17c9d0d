/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_modelcache KUBECONFIG NAMESPACE IDENTITY [LEASE-SECONDS]: a second reconciler on the runtime of the first
 * (agent/groups.h), as small as it gets, for operator.sh to measure and test_modelcache.sh to try. Not a part of truce.
 *
 * A ModelCache (modelcache.yaml) has a ConfigMap NAME-cache that says which model and how many replicas; it is Ready
 * when that is there. A ConfigMap of that name that is not its own is left alone, and the phase is Blocked. Of several
 * processes one acts, who holds the Lease "modelcache" of the namespace; the others have all they need to go on.
 */
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "agent/gates.h"
#include "agent/leader.h"
#include "agent/queue.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/map.h"
#include "kube/curl_transport.h"

#define LABEL     "lab.truce.dev/model-cache"
#define MANAGER   "modelcache"
#define RESYNC_MS 30000

/* A ModelCache or a ConfigMap. */
struct thing {
        struct kept kept;
        struct arena *arena;
        struct str owner_uid, model, phase;
        int64_t replicas, generation, observed;
};

struct reconciler {
        struct loop *loop;
        struct leader *leader;
        struct kube_client *client;
        struct informer *models, *children;
        struct queue *queue;
        struct map *works; /* key → struct work, of those that have something under way or not seen yet */
        struct loop_signal *term, *interrupt;
        bool leads;
};

struct work {
        struct reconciler *r;
        char *key;
        struct gates gates;
        struct arena *arena; /* of the run under way */
        struct kube_op *op;
        struct str ns, name, child, uid;
        int64_t generation;
};

/* --- what is kept --------------------------------------------------------------------------------------------- */

static void release(struct kept *k) {
        struct thing *t = (struct thing *)k;

        arena_free(t->arena);
        free(t);
}

static struct kept *read_thing(struct str bytes, void (*fill)(struct thing *t, const struct value *object)) {
        _cleanup_(arena_freep) struct arena *parsed = arena_new(bytes.n * 8);
        const struct value *object;
        struct thing *t;

        if (json_parse(bytes, parsed, &object, NULL) < 0)
                return NULL;
        t = mem_zalloc(sizeof *t);
        t->arena = arena_new(256);
        if (kept_read(object, t->arena, &t->kept)) {
                fill(t, object);
                return &t->kept;
        }
        release(&t->kept);
        return NULL;
}

static void fill_model(struct thing *t, const struct value *object) {
        const struct value *spec = value_getc(object, "spec"), *status = value_getc(object, "status");

        t->kept.owner = t->kept.key;
        t->model = arena_str(t->arena, value_text(value_getc(spec, "model")));
        t->phase = arena_str(t->arena, value_text(value_getc(status, "phase")));
        value_to_i64(value_getc(spec, "replicas"), &t->replicas);
        value_to_i64(value_getc(status, "observedGeneration"), &t->observed);
        value_to_i64(value_path(object, "metadata", "generation", NULL), &t->generation);
}

static void fill_child(struct thing *t, const struct value *object) {
        const struct value *metadata = value_getc(object, "metadata"), *data = value_getc(object, "data");
        uint64_t replicas = 0;

        t->kept.owner = informer_key(value_text(value_getc(metadata, "namespace")),
                                     value_text(value_path(metadata, "labels", LABEL, NULL)), t->arena);
        t->owner_uid = arena_str(t->arena, value_text(value_getc(kept_controller(object), "uid")));
        t->model = arena_str(t->arena, value_text(value_getc(data, "model")));
        t->replicas = str_to_u64(value_text(value_getc(data, "replicas")), &replicas) ? (int64_t)replicas : -1;
}

static struct kept *read_model(void *ctx, struct str bytes) {
        (void)ctx;
        return read_thing(bytes, fill_model);
}

static struct kept *read_child(void *ctx, struct str bytes) {
        (void)ctx;
        return read_thing(bytes, fill_child);
}

static const struct thing *model_of(const struct work *w) {
        return (const struct thing *)informer_find(w->r->models, str_from(w->key));
}

/* --- one look at one ModelCache ------------------------------------------------------------------------------- */

static void work_free(void *p) {
        struct work *w = p;

        kube_op_cancel(w->op);
        gates_clear(&w->gates);
        arena_free(w->arena);
        free(w->key);
        free(w);
}

static struct work *work_on(struct reconciler *r, const struct thing *model) {
        struct work *w = map_find(r->works, model->kept.key);

        if (!w) {
                w = mem_zalloc(sizeof *w);
                w->r = r;
                w->key = str_dup(model->kept.key);
                map_set(r->works, model->kept.key, w);
        }
        w->arena = arena_new(1024);
        w->name = arena_str(w->arena, model->kept.name);
        w->ns = arena_str(w->arena, str_sub(model->kept.key, 0, model->kept.key.n - w->name.n - 1));
        w->child = arena_strf(w->arena, "%s-cache", w->name.p);
        w->uid = arena_str(w->arena, model->kept.uid);
        w->generation = model->generation;
        return w;
}

static void end(struct work *w, enum queue_end how, int64_t after_ms) {
        struct reconciler *r = w->r;

        arena_free(TAKE_PTR(w->arena));
        queue_done(r->queue, str_from(w->key), how, after_ms);
        if (!w->gates.count)
                map_remove(r->works, str_from(w->key));
}

static void end_well(struct work *w) {
        end(w, QUEUE_AGAIN, RESYNC_MS - (int64_t)loop_random(w->r->loop, RESYNC_MS / 10));
}

static bool may_have_been_done(enum err_code code) {
        return code == ERR_TIMEOUT || code == ERR_UNREACHABLE || code == ERR_INTERNAL;
}

static void end_badly(struct work *w, const struct kube_result *result) {
        fprintf(stderr, "%s: %s\n", w->key, result->err.msg);
        end(w, QUEUE_FAILED, result->err.retry_after_ms);
}

static void on_status(void *ctx, const struct kube_result *result) {
        struct work *w = ctx;

        w->op = NULL;
        if (result->err.code) {
                end_badly(w, result);
                return;
        }
        struct kept *now = read_model(w->r, result->body);
        if (now)
                informer_put(w->r->models, now);
        end_well(w);
}

static void write_status(struct work *w, const char *phase) {
        struct kube_write how = { .field_manager = STR(MANAGER), .force = true };
        const struct thing *model = model_of(w);
        struct kube_location at = *informer_location(w->r->models);

        if (!model || (str_eqc(model->phase, phase) && model->observed == w->generation)) {
                end_well(w);
                return;
        }
        at.namespace = w->ns;
        at.name = w->name;
        at.subresource = STR("status");
        w->op = kube_client_apply(
                w->r->client, &at,
                arena_strf(
                        w->arena,
                        "{\"apiVersion\":\"lab.truce.dev/v1\",\"kind\":\"ModelCache\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"%s\",\"uid\":\"%s\"},\"status\":{\"child\":\"%s\",\"observedGeneration\":%lld,"
                        "\"phase\":\"%s\"}}",
                        w->name.p, w->ns.p, w->uid.p, w->child.p, (long long)w->generation, phase),
                &how, on_status, w);
}

static void on_child(void *ctx, const struct kube_result *result) {
        struct work *w = ctx;
        int64_t now_ms = loop_now_ms(w->r->loop);

        w->op = NULL;
        if (result->err.code == 0) {
                struct kept *child = read_child(w->r, result->body);

                if (child) {
                        gates_written(&w->gates, w->r->children, w->ns, w->child, child->rv, now_ms);
                        release(child);
                }
                write_status(w, "Ready");
        } else if (result->status.conflict == KUBE_CONFLICT_EXISTS) {
                write_status(w, "Blocked");
        } else {
                if (may_have_been_done(result->err.code))
                        gates_unknown(&w->gates, w->r->children, w->ns, w->child, now_ms);
                end_badly(w, result);
        }
}

/* `uid`: of the ConfigMap that is changed; NULL: it is made. */
static void write_child(struct work *w, const struct thing *model, const char *uid) {
        struct kube_write how = { .field_manager = STR(MANAGER), .force = true };
        struct kube_location at = *informer_location(w->r->children);
        _cleanup_(buf_done) struct buf body = buf_make(16 * KIB);

        buf_addf(&body,
                 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",",
                 w->child.p, w->ns.p);
        if (uid)
                buf_addf(&body, "\"uid\":\"%s\",", uid);
        buf_addf(&body,
                 "\"labels\":{\"" LABEL "\":\"%s\"},\"ownerReferences\":[{\"apiVersion\":\"lab.truce.dev/v1\","
                 "\"kind\":\"ModelCache\",\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true,"
                 "\"blockOwnerDeletion\":true}]},\"data\":{\"model\":",
                 w->name.p, w->name.p, w->uid.p);
        value_print_string(model->model, &body);
        buf_addf(&body, ",\"replicas\":\"%lld\"}}", (long long)model->replicas);
        at.namespace = w->ns;
        at.name = uid ? w->child : STR("");
        w->op = uid ? kube_client_apply(w->r->client, &at, buf_str(&body), &how, on_child, w)
                    : kube_client_create(w->r->client, &at, buf_str(&body), &how, on_child, w);
}

static void look(struct work *w, const struct thing *model) {
        const struct thing *child = (const struct thing *)informer_at(w->r->children, w->ns, w->child);
        int64_t wait_ms = gates_wait_ms(&w->gates, loop_now_ms(w->r->loop));

        if (wait_ms)
                end(w, QUEUE_AGAIN, wait_ms);
        else if (!child)
                write_child(w, model, NULL);
        else if (!str_eq(child->owner_uid, model->kept.uid))
                write_status(w, "Blocked"); /* one of a ModelCache that is no more goes by itself, which is seen */
        else if (!str_eq(child->model, model->model) || child->replicas != model->replicas)
                write_child(w, model, child->kept.uid.p);
        else
                write_status(w, "Ready");
}

/* --- when ----------------------------------------------------------------------------------------------------- */

static bool is_synced(const struct reconciler *r) {
        return informer_is_synced(r->models) && informer_is_synced(r->children);
}

static void run(void *ctx, struct str key) {
        struct reconciler *r = ctx;
        const struct thing *model = (const struct thing *)informer_find(r->models, key);

        if (!r->leads || !is_synced(r) || !model || model->kept.deleting) {
                map_remove(r->works, key);
                queue_forget(r->queue, key);
                queue_done(r->queue, key, QUEUE_DONE, 0);
                return;
        }
        look(work_on(r, model), model);
}

static void on_wake(void *ctx, struct str key) {
        struct reconciler *r = ctx;

        if (r->leads)
                queue_add(r->queue, key, QUEUE_NOW);
}

static void add_all(void *ctx) {
        struct reconciler *r = ctx;
        const struct kept *k;

        if (!r->leads || !is_synced(r))
                return;
        for (size_t at = 0; (k = informer_next(r->models, &at));)
                queue_add(r->queue, k->key, QUEUE_LATER);
}

static void on_leads(void *ctx) {
        struct reconciler *r = ctx;

        r->leads = true;
        fprintf(stderr, "leads\n");
        add_all(r);
}

static void on_lost(void *ctx, const char *why) {
        (void)ctx;
        fprintf(stderr, "lost: %s\n", why);
        _exit(2);
}

/* --- the whole ------------------------------------------------------------------------------------------------ */

static void on_released(void *ctx, const struct err *err) {
        const struct reconciler *r = ctx;

        if (err)
                fprintf(stderr, "not released: %s\n", err->msg);
        loop_stop(r->loop);
}

static void on_signal(void *ctx, int signum) {
        const struct reconciler *r = ctx;

        (void)signum;
        leader_release(r->leader, on_released, ctx);
}

static struct informer *inform(struct reconciler *r, struct kube_location at, struct str selector,
                               struct kept *(*read)(void *ctx, struct str bytes)) {
        struct informer_options options = { .at = at,
                                            .label_selector = selector,
                                            .read = read,
                                            .release = release,
                                            .wake = on_wake,
                                            .state = add_all,
                                            .ctx = r };

        return informer_new(r->client, &options);
}

static void serve(struct reconciler *r, struct kube_transport *t, struct str ns, struct str identity,
                  int64_t lease_ms) {
        struct leader_options lease = {
                .ns = ns, .name = STR("modelcache"), .identity = identity, .lease_ms = lease_ms
        };
        struct leader_hooks hooks = { .leads = on_leads, .lost = on_lost };
        struct queue_options queue = { .workers = CURL_IN_FLIGHT, .max_backoff_ms = 60000, .run = run, .ctx = r };

        r->works = map_new(work_free);
        r->queue = queue_new(r->loop, &queue);
        r->leader = leader_new(r->loop, t, &lease, &hooks, r);
        r->client = kube_client_new(leader_transport(r->leader), r->loop);
        r->models = inform(
                r, (struct kube_location){ STR("lab.truce.dev"), STR("v1"), STR("modelcaches"), ns, STR(""), STR("") },
                STR(""), read_model);
        r->children = inform(r, (struct kube_location){ STR(""), STR("v1"), STR("configmaps"), ns, STR(""), STR("") },
                             STR(LABEL), read_child);
        r->term = loop_signal_new(r->loop, SIGTERM, on_signal, r);
        r->interrupt = loop_signal_new(r->loop, SIGINT, on_signal, r);
        loop_run(r->loop);

        loop_signal_free(r->term);
        loop_signal_free(r->interrupt);
        map_free(r->works);
        informer_free(r->models);
        informer_free(r->children);
        queue_free(r->queue);
        kube_client_free(r->client);
        leader_free(r->leader);
}

int main(int argc, char **argv) {
        struct reconciler r = { 0 };
        struct kube_config *config;
        struct kube_transport *t;
        uint64_t lease_s = 0;
        struct err err;

        if ((argc != 4 && argc != 5) || (argc == 5 && (!str_to_u64(str_from(argv[4]), &lease_s) || lease_s > 3600))) {
                fprintf(stderr, "usage: bench_modelcache KUBECONFIG NAMESPACE IDENTITY [LEASE-SECONDS]\n");
                return 2;
        }
        mallopt(M_ARENA_MAX, 1); /* as src/main.c */
        mallopt(M_MMAP_THRESHOLD, 64 * 1024);
        mallopt(M_TRIM_THRESHOLD, 128 * 1024);
        if (kube_config_load(argv[1], NULL, NULL, &config, &err) < 0 || !(r.loop = loop_new(1, 1, &err)) ||
            !(t = kube_curl_transport_new(r.loop, config, "bench-modelcache", &err))) {
                fprintf(stderr, "%s\n", err.msg);
                return 2;
        }
        serve(&r, t, str_from(argv[2]), str_from(argv[3]), (int64_t)lease_s * 1000);
        kube_transport_free(t);
        loop_free(r.loop);
        kube_config_free(config);
        return 0;
}
