/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_recorder KUBECONFIG NAMESPACE COMMAND: makes work for a ModelCache operator and times it, whichever it is, from
 * what its own watches show (CLOCK_MONOTONIC); never from what the operator says. operator.sh uses it.
 *
 *   create PREFIX COUNT PER_S TIMEOUT_S   creates PREFIX-0 …, PER_S of them a second (0: as fast as the server
 * answers); from ADDED to the first status.phase Ready recover COUNT WINDOW_S TIMEOUT_S      deletes the ConfigMaps of
 * COUNT ModelCaches, each at a random moment of the window; from DELETED to ADDED with another uid delete COUNT
 * TIMEOUT_S                deletes COUNT ModelCaches; from the answer until it and its ConfigMap are gone
 *
 * Prints one line: how many were done, of how many; p50, p99 and max of those, and from the first request to the last
 * of them, in ms.
 */
#include <inttypes.h>
#include <time.h>

#include "base/json.h"
#include "base/map.h"
#include "kube/curl_transport.h"
#include "kube/watch.h"

#define LABEL "lab.truce.dev/model-cache"

/* Of one ModelCache. */
struct stamp {
        char *name, *child_uid; /* NULL: there is no ConfigMap */
        char *old_uid;          /* of the one that was deleted */
        int64_t from_us, to_us; /* 0: not yet */
        int64_t at_ms;          /* when its request is due, from the beginning */
        bool chosen, gone, child_gone;
};

struct recorder;
struct command {
        const char *name;
        int numbers;
        bool makes;                                        /* the ModelCaches are made, not found */
        void (*send)(struct recorder *r, struct stamp *s); /* the request of one */
};

struct recorder {
        struct loop *loop;
        struct kube_client *client;
        struct kube_watch *models, *children;
        struct loop_timer *timer, *timeout;
        struct str ns;
        const struct command *command;
        const char *prefix;
        uint64_t count, per_s, window_s;
        struct map *stamps; /* name → struct stamp */
        struct stamp **chosen;
        size_t sent, running, done;
        bool begun;
        int64_t begun_us, last_us;
};

static int64_t now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static void stamp_free(void *p) {
        struct stamp *s = p;

        free(s->name);
        free(s->child_uid);
        free(s->old_uid);
        free(s);
}

static struct stamp *stamp_of(struct recorder *r, struct str name) {
        struct stamp *s = map_find(r->stamps, name);

        if (s)
                return s;
        s = mem_zalloc(sizeof *s);
        s->name = str_dup(name);
        map_set(r->stamps, name, s);
        return s;
}

static void send_more(void *ctx);

static void ended(struct recorder *r, struct stamp *s) {
        if (!s->chosen || !s->from_us || s->to_us)
                return;
        s->to_us = r->last_us = now_us();
        if (++r->done == r->count)
                loop_stop(r->loop);
}

/* --- requests ------------------------------------------------------------------------------------------------- */

static struct kube_location model_at(const struct recorder *r, const char *name) {
        return (struct kube_location){ STR("lab.truce.dev"), STR("v1"), STR("modelcaches"), r->ns,
                                       str_from(name),       STR("") };
}

static void on_answer(void *ctx, const struct kube_result *result) {
        struct recorder *r = ctx;

        r->running--;
        if (result->err.code)
                fprintf(stderr, "%s\n", result->err.msg);
        loop_timer_start(r->timer, 0);
}

static void create(struct recorder *r, struct stamp *s) {
        struct kube_location at = model_at(r, NULL);
        struct kube_write how = { .field_manager = STR("recorder") };
        char body[512];

        snprintf(body, sizeof body,
                 "{\"apiVersion\":\"lab.truce.dev/v1\",\"kind\":\"ModelCache\",\"metadata\":{\"name\":\"%s\"},"
                 "\"spec\":{\"model\":\"models/%s\",\"replicas\":2}}",
                 s->name, s->name);
        kube_client_create(r->client, &at, str_from(body), &how, on_answer, r);
}

static void delete_child(struct recorder *r, struct stamp *s) {
        char name[300];
        struct kube_delete how = { 0 };

        snprintf(name, sizeof name, "%s-cache", s->name);
        struct kube_location at = { STR(""), STR("v1"), STR("configmaps"), r->ns, str_from(name), STR("") };
        kube_client_delete(r->client, &at, &how, on_answer, r);
}

static void delete_model(struct recorder *r, struct stamp *s) {
        struct kube_location at = model_at(r, s->name);
        struct kube_delete how = { .propagation = KUBE_PROPAGATION_BACKGROUND };

        s->from_us = now_us();
        kube_client_delete(r->client, &at, &how, on_answer, r);
}

static const struct command commands[] = {
        { "create", 3, true, create },
        { "recover", 3, false, delete_child },
        { "delete", 2, false, delete_model },
};

static void send_more(void *ctx) {
        struct recorder *r = ctx;
        int64_t now_ms = (now_us() - r->begun_us) / 1000;
        bool paced = r->per_s || r->window_s;

        while (r->sent < r->count && (paced || r->running < CURL_IN_FLIGHT)) {
                struct stamp *s = r->chosen[r->sent];

                if (paced && s->at_ms > now_ms) {
                        loop_timer_start(r->timer, s->at_ms - now_ms);
                        return;
                }
                r->sent++;
                r->running++;
                r->command->send(r, s);
        }
}

/* --- which ---------------------------------------------------------------------------------------------------- */

static int by_time(const void *p, const void *q) {
        const struct stamp *const *a = p, *const *b = q;

        return ((*a)->at_ms > (*b)->at_ms) - ((*a)->at_ms < (*b)->at_ms);
}

static struct stamp *choose(struct recorder *r, uint64_t i) {
        char name[256];
        struct stamp *s;

        snprintf(name, sizeof name, "%s-%" PRIu64, r->prefix, i);
        s = stamp_of(r, str_from(name));
        s->at_ms = r->per_s ? (int64_t)(i * 1000 / r->per_s) : 0;
        s->chosen = true;
        return s;
}

/* Those that have a ConfigMap; false: there are not enough of them. */
static bool choose_found(struct recorder *r) {
        size_t at = 0, found = 0;
        void *p;

        while (found < r->count && map_next(r->stamps, &at, NULL, &p)) {
                struct stamp *s = p;

                if (!s->child_uid)
                        continue;
                s->chosen = true;
                s->at_ms = (int64_t)loop_random(r->loop, r->window_s * 1000 + 1);
                r->chosen[found++] = s;
        }
        return found == r->count;
}

static void begin(struct recorder *r) {
        if (r->begun || !kube_watch_state(r->models)->synced || !kube_watch_state(r->children)->synced)
                return;
        r->begun = true;
        r->chosen = mem_alloc((r->count + 1) * sizeof *r->chosen);
        if (!r->command->makes && !choose_found(r)) {
                fprintf(stderr, "there are not enough ModelCaches that have a ConfigMap\n");
                loop_stop(r->loop);
                return;
        }
        for (uint64_t i = 0; r->command->makes && i < r->count; i++)
                r->chosen[i] = choose(r, i);
        qsort(r->chosen, r->count, sizeof *r->chosen, by_time);
        r->begun_us = r->last_us = now_us();
        loop_timer_start(r->timer, 0);
}

/* --- what is seen --------------------------------------------------------------------------------------------- */

static void set_uid(char **at, struct str uid) {
        free(*at);
        *at = uid.n ? str_dup(uid) : NULL;
}

static void saw_model(struct recorder *r, const struct value *object, bool exists) {
        struct stamp *s = stamp_of(r, value_text(value_path(object, "metadata", "name", NULL)));

        if (r->command->send == create && exists) {
                if (!s->from_us)
                        s->from_us = now_us();
                if (str_eqc(value_text(value_path(object, "status", "phase", NULL)), "Ready"))
                        ended(r, s);
        }
        s->gone = !exists;
        if (r->command->send == delete_model && s->gone && s->child_gone)
                ended(r, s);
}

static void saw_child(struct recorder *r, const struct value *object, bool exists) {
        struct stamp *s = stamp_of(r, value_text(value_path(object, "metadata", "labels", LABEL, NULL)));
        struct str uid = value_text(value_path(object, "metadata", "uid", NULL));

        if (r->command->send == delete_child && s->chosen && !exists && !s->from_us) {
                s->from_us = now_us();
                set_uid(&s->old_uid, uid);
        }
        if (r->command->send == delete_child && exists && s->old_uid && !str_eqc(uid, s->old_uid))
                ended(r, s);
        set_uid(&s->child_uid, exists ? uid : STR(""));
        s->child_gone = !exists;
        if (r->command->send == delete_model && s->gone && s->child_gone)
                ended(r, s);
}

static void saw(struct recorder *r, struct str bytes, bool exists,
                void (*see)(struct recorder *r, const struct value *object, bool exists)) {
        _cleanup_(arena_freep) struct arena *a = arena_new(bytes.n * 8);
        const struct value *object;

        if (json_parse(bytes, a, &object, NULL) == 0)
                see(r, object, exists);
}

static void on_model(void *ctx, struct str bytes) {
        saw(ctx, bytes, true, saw_model);
}

static void on_model_event(void *ctx, enum kube_watch_event event, struct str bytes, struct str rv) {
        (void)rv;
        saw(ctx, bytes, event != KUBE_WATCH_DELETED, saw_model);
}

static void on_child(void *ctx, struct str bytes) {
        saw(ctx, bytes, true, saw_child);
}

static void on_child_event(void *ctx, enum kube_watch_event event, struct str bytes, struct str rv) {
        (void)rv;
        saw(ctx, bytes, event != KUBE_WATCH_DELETED, saw_child);
}

static void on_state(void *ctx, const struct kube_watch_state *state) {
        (void)state;
        begin(ctx);
}

static void on_timeout(void *ctx) {
        const struct recorder *r = ctx;

        loop_stop(r->loop);
}

/* --- the whole ------------------------------------------------------------------------------------------------ */

static int by_size(const void *p, const void *q) {
        const int64_t *a = p, *b = q;

        return (*a > *b) - (*a < *b);
}

static double of(const int64_t *sorted, size_t count, unsigned percent) {
        size_t at = (count * percent + 99) / 100;

        return count ? (double)sorted[at ? at - 1 : 0] / 1000 : 0;
}

static void print(const struct recorder *r) {
        int64_t *took = mem_alloc((r->count + 1) * sizeof *took);
        size_t n = 0;

        for (size_t i = 0; r->begun && i < r->count; i++)
                if (r->chosen[i]->to_us)
                        took[n++] = r->chosen[i]->to_us - r->chosen[i]->from_us;
        qsort(took, n, sizeof *took, by_size);
        printf("%zu %" PRIu64 " %.1f %.1f %.1f %.1f\n", n, r->count, of(took, n, 50), of(took, n, 99), of(took, n, 100),
               (double)(r->last_us - r->begun_us) / 1000);
        free(took);
}

static void record(struct recorder *r, struct kube_transport *t, int64_t timeout_s) {
        struct kube_watch_spec models = { .at = model_at(r, NULL) };
        struct kube_watch_spec children = {
                .at = { STR(""), STR("v1"), STR("configmaps"), r->ns, STR(""), STR("") },
                .list_label_selector = STR(LABEL),
                .watch_label_selector = STR(LABEL),
        };
        struct kube_watch_handler model_handler = { .item = on_model, .event = on_model_event, .state = on_state };
        struct kube_watch_handler child_handler = { .item = on_child, .event = on_child_event, .state = on_state };

        r->stamps = map_new(stamp_free);
        r->client = kube_client_new(t, r->loop);
        r->timer = loop_timer_new(r->loop, send_more, r);
        r->timeout = loop_timer_new(r->loop, on_timeout, r);
        r->models = kube_watch_new(r->client, &models, &model_handler, r);
        r->children = kube_watch_new(r->client, &children, &child_handler, r);
        loop_timer_start(r->timeout, timeout_s * 1000);
        loop_run(r->loop);
        print(r);

        kube_watch_free(r->models);
        kube_watch_free(r->children);
        loop_timer_free(r->timer);
        loop_timer_free(r->timeout);
        kube_client_free(r->client);
        map_free(r->stamps);
        free(r->chosen);
}

static int usage(void) {
        fprintf(stderr, "usage: bench_recorder KUBECONFIG NAMESPACE create PREFIX COUNT PER_S TIMEOUT_S\n"
                        "       bench_recorder KUBECONFIG NAMESPACE recover COUNT WINDOW_S TIMEOUT_S\n"
                        "       bench_recorder KUBECONFIG NAMESPACE delete COUNT TIMEOUT_S\n");
        return 2;
}

/* The arguments behind the command. */
static bool read_arguments(struct recorder *r, char **argv, int argc, uint64_t *ret_timeout_s) {
        uint64_t numbers[3] = { 0 };
        int first = r->command->makes ? 1 : 0;

        if (argc != r->command->numbers + first)
                return false;
        r->prefix = argv[0];
        for (int i = 0; i < r->command->numbers; i++)
                if (!str_to_u64(str_from(argv[first + i]), &numbers[i]) || numbers[i] > 1000000)
                        return false;
        r->count = numbers[0];
        r->per_s = r->command->send == create ? numbers[1] : 0;
        r->window_s = r->command->send == delete_child ? numbers[1] : 0;
        *ret_timeout_s = numbers[r->command->numbers - 1];
        return true;
}

int main(int argc, char **argv) {
        struct recorder r = { 0 };
        struct kube_config *config;
        struct kube_transport *t;
        uint64_t timeout_s;
        struct err err;

        for (size_t i = 0; argc > 4 && i < ARRAY_LEN(commands); i++)
                if (strcmp(argv[3], commands[i].name) == 0)
                        r.command = &commands[i];
        if (!r.command || !read_arguments(&r, argv + 4, argc - 4, &timeout_s))
                return usage();
        r.ns = str_from(argv[2]);
        if (kube_config_load(argv[1], NULL, NULL, &config, &err) < 0 || !(r.loop = loop_new(1, 1, &err)) ||
            !(t = kube_curl_transport_new(r.loop, config, "bench-recorder", &err))) {
                fprintf(stderr, "%s\n", err.msg);
                return 2;
        }
        record(&r, t, (int64_t)timeout_s);
        kube_transport_free(t);
        loop_free(r.loop);
        kube_config_free(config);
        return r.done == r.count ? 0 : 1;
}
