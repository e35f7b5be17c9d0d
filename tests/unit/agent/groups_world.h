/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent on a sandbox with its controllers, in virtual time: a LeaderWorkerSet in Git, its definition in the
 * cluster, Pods that become Ready. What must never happen is looked for at every write.
 */
#ifndef TRUCE_TEST_AGENT_GROUPS_WORLD_H
#define TRUCE_TEST_AGENT_GROUPS_WORLD_H

#include <stdio.h>
#include <string.h>

#include "../../read_file.h"
#include "agent/agent.h"
#include "agent/groups.h"
#include "base/json.h"
#include "base/yaml.h"
#include "git/memory.h"
#include "group/status.h"
#include "sandbox/sandbox.h"

#define START_MS  INT64_C(1800000000000)
#define SHOP_PODS "/api/v1/namespaces/shop/pods"
#define SHOP_LWS  "/apis/leaderworkerset.x-k8s.io/v1/namespaces/shop/leaderworkersets"
#define PREFIX    "leaderworkerset.sigs.k8s.io/"
#define A_MINUTE  60000
#define MAX_TRACE 4096

#define EMBEDDED "annotations: {truce.dev/group-controller: embedded}"
#define LWS_OF(name, notes, replicas, size, image, more)                                                               \
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: " name ", " notes "}\n"      \
        "spec:\n  replicas: " replicas "\n" more "  leaderWorkerTemplate:\n    size: " size "\n    workerTemplate:\n"  \
        "      spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: \"" image "\"}]}\n"
#define DEMO(replicas, image) LWS_OF("demo", EMBEDDED, replicas, "3", image, "")

struct world {
        struct loop *loop;
        struct sandbox *sandbox;
        struct kube_transport *transport;
        struct git_memory *git; /* freed with its source by the agent that polls it */
        struct config *config;
        struct agent *agent;
        struct arena *arena;
        size_t requests;         /* of the agent, watches left out */
        size_t pod_requests;     /* of those, and watches, about Pods */
        size_t writes;           /* that the agent committed */
        size_t stop_at;          /* so many of them end the run of the loop; 0: none */
        size_t replicas_written; /* by the agent, of a LeaderWorkerSet that was there */
        size_t created, deleted; /* Pods, by the agent */
        struct sandbox_fault (*fault)(struct world *w, const struct sandbox_request *req,
                                      bool is_watch); /* NULL: none */
        unsigned share;                               /* one request of so many suffers, where a fault counts */
        int64_t blind_until_ms;                       /* a fault that hides something does so until then */
        char trace[MAX_TRACE]; /* groups in the order in which their leaders were deleted by the agent: "3 2 1 " */
        char *trouble;
};

/* --- at every write ------------------------------------------------------------------------------------------- */

static inline struct str label_of(const struct value *object, const char *key) {
        _cleanup_(buf_done) struct buf full = buf_make(256);

        buf_addf(&full, PREFIX "%s", key);
        return value_text(value_get(value_path(object, "metadata", "labels", NULL), buf_str(&full)));
}

static inline size_t pods(struct world *w, const struct value *const **ret) {
        return sandbox_list(w->sandbox, STR(""), STR("pods"), w->arena, ret);
}

/* A group is made when nothing of the one before is left. */
static inline void check_created(struct world *w, const struct value *pod) {
        const struct value *incarnation =
                value_get(value_path(pod, "metadata", "labels", NULL), STR("truce.dev/incarnation"));
        const struct value *const *all;
        size_t count = pods(w, &all);

        for (size_t i = 0; i < count; i++) {
                if (!str_eq(label_of(all[i], "name"), label_of(pod, "name")) ||
                    !str_eq(label_of(all[i], "group-index"), label_of(pod, "group-index")))
                        continue;
                const struct value *other =
                        value_get(value_path(all[i], "metadata", "labels", NULL), STR("truce.dev/incarnation"));
                assert_true(!other || value_equal(incarnation, other)); /* one of a person's has none */
        }
}

static inline void see_pod(struct world *w, const struct sandbox_commit *c) {
        bool marked = c->after && c->before && value_path(c->after, "metadata", "deletionTimestamp", NULL) &&
                      !value_path(c->before, "metadata", "deletionTimestamp", NULL);

        if (!c->before) {
                w->created++;
                check_created(w, c->after);
        }
        if (!marked && c->after)
                return;
        if (!marked && value_path(c->before, "metadata", "deletionTimestamp", NULL))
                return;
        w->deleted++;
        if (str_eqc(label_of(c->before, "worker-index"), "0")) {
                size_t n = strlen(w->trace);

                snprintf(w->trace + n, sizeof w->trace - n, "%.*s ", STR_FMT(label_of(c->before, "group-index")));
        }
}

static inline void on_commit(void *ctx, const struct sandbox_commit *c) {
        struct world *w = ctx;

        if (!c->request || !str_eqc(c->user, "truce"))
                return;
        w->writes++;
        if (w->stop_at && w->writes >= w->stop_at)
                loop_stop(w->loop);
        if (str_eqc(c->kind, "Pod"))
                see_pod(w, c);
        if (str_eqc(c->kind, "LeaderWorkerSet") && c->before && c->after)
                w->replicas_written += !value_equal(value_path(c->before, "spec", "replicas", NULL),
                                                    value_path(c->after, "spec", "replicas", NULL));
}

static inline struct sandbox_fault on_request(void *ctx, const struct sandbox_request *req, bool is_watch) {
        struct world *w = ctx;

        w->requests += !is_watch;
        w->pod_requests += str_contains(req->path, STR("/pods"));
        return w->fault ? w->fault(w, req, is_watch) : (struct sandbox_fault){ 0 };
}

/* --- people --------------------------------------------------------------------------------------------------- */

static inline const struct value *ask(struct world *w, enum kube_method method, const char *path, const char *type,
                                      const char *body, int wanted) {
        struct sandbox_request req = { .method = method,
                                       .path = str_from(path),
                                       .content_type = str_from(type),
                                       .accept = STR("application/json"),
                                       .user_agent = STR("test/1"),
                                       .body = str_from(body),
                                       .user = STR("admin") };
        struct sandbox_reply reply;
        const struct value *v = NULL;

        sandbox_serve(w->sandbox, &req, w->arena, &reply);
        if (reply.status != wanted)
                fail_msg("%s answered %d: %.*s", path, reply.status, STR_FMT(reply.body));
        json_parse(reply.body, w->arena, &v, NULL);
        return v;
}

static inline void post(struct world *w, const char *path, const char *body) {
        ask(w, KUBE_POST, path, "application/json", body, 201);
}

static inline void merge(struct world *w, const char *path, const char *body) {
        ask(w, KUBE_PATCH, path, "application/merge-patch+json", body, 200);
}

static inline void scale(struct world *w, const char *name, int replicas) {
        char path[256], body[64];

        snprintf(path, sizeof path, SHOP_LWS "/%s/scale?fieldManager=kube-controller-manager", name);
        snprintf(body, sizeof body, "{\"spec\":{\"replicas\":%d}}", replicas);
        merge(w, path, body);
}

static inline void add_file(struct world *w, const char *path) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        const struct yaml_document *docs;
        size_t count;

        assert_true(read_file(path, &text));
        assert_int_equal(yaml_parse(buf_str(&text), a, &docs, &count, NULL), 0);
        for (size_t i = 0; i < count; i++)
                assert_int_equal(sandbox_add(w->sandbox, docs[i].value, NULL), 0);
}

/* Admission rules of the sandbox, as JSON: a policy that lets no Pod be made, and none at all. */
#define NO_PODS(words)                                                                                                 \
        "{\"rules\":[{\"name\":\"no-pods\",\"match\":{\"kinds\":[\"Pod\"],\"operations\":[\"CREATE\"]},"               \
        "\"unlessSet\":\"/metadata/labels/never\",\"deny\":\"" words "\"}]}"
#define NO_RULES "{\"rules\":[]}"

static inline void set_rules(struct world *w, const char *rules) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *v;

        assert_int_equal(json_parse(str_from(rules), a, &v, NULL), 0);
        assert_int_equal(sandbox_set_rules(w->sandbox, v, NULL), 0);
}

/* Faults: watches of a kind show nothing until w->blind_until_ms. */
static inline struct sandbox_fault blind_for(const struct world *w, const struct sandbox_request *req, bool is_watch,
                                             const char *kind) {
        struct sandbox_fault fault = { 0 };

        if (is_watch && str_contains(req->path, str_from(kind)) && loop_now_ms(w->loop) < w->blind_until_ms)
                fault.delay_ms = w->blind_until_ms - loop_now_ms(w->loop);
        return fault;
}

static inline struct sandbox_fault blind_for_sets(struct world *w, const struct sandbox_request *req, bool is_watch) {
        return blind_for(w, req, is_watch, "/leaderworkersets");
}

static inline struct sandbox_fault blind_for_pods(struct world *w, const struct sandbox_request *req, bool is_watch) {
        return blind_for(w, req, is_watch, "/pods");
}

/* --- the agent ------------------------------------------------------------------------------------------------ */

static inline void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        struct world *w = ctx;

        (void)app;
        (void)what;
        free(w->trouble);
        w->trouble = str_dup(str_from(err->msg));
}

static inline struct git_source *open_source(void *ctx, const struct config_source *source, struct err *err) {
        struct world *w = ctx;

        (void)source;
        (void)err;
        return git_memory_source(w->git);
}

static inline void start_agent(struct world *w) {
        static const struct agent_hooks hooks = { .trouble = on_trouble };
        struct agent_options options = { .open_source = open_source, .open_ctx = w };

        assert_int_equal(agent_new(w->loop, w->transport, w->config, &options, &hooks, w, &w->agent, NULL), 0);
        agent_start(w->agent);
}

static inline void stop_agent(struct world *w) {
        agent_free(w->agent);
        w->agent = NULL;
        loop_run_for(w->loop, 1000);
}

static inline void push(struct world *w, const char *yaml) {
        struct git_memory_file files[] = { { "app/all.yaml", GIT_MEMORY_FILE, str_from(yaml) } };

        git_memory_push(w->git, files, 1);
}

/* A cluster with the definition, and nobody who acts. */
static inline void prepare_with_seed(struct world *w, const char *yaml, uint64_t seed) {
        struct config_app_flags flags = { .repo = STR("https://git.example/shop.git"),
                                          .path = STR("app"),
                                          .revision = STR("main"),
                                          .ns = STR("shop"),
                                          .prune = true,
                                          .self_heal = true };
        struct err err;

        *w = (struct world){ .loop = loop_new_virtual(seed, START_MS), .arena = arena_new(0) };
        w->sandbox = sandbox_new(w->loop, &(struct sandbox_options){ 0 });
        w->transport = sandbox_transport(w->sandbox, STR("truce"), STR(""));
        sandbox_transport_set_fault(w->transport, on_request, w);
        sandbox_observe(w->sandbox, on_commit, w);
        post(w, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"shop\"}}");
        w->git = git_memory_new();
        w->config = config_new();
        assert_int_equal(config_add_flags(w->config, &flags, &err), 0);
        w->config->agent.installation_id = STR("test");
        w->config->agent.poll_ms = 10000;
        config_settle(w->config);
        push(w, yaml);
}

static inline void prepare(struct world *w, const char *yaml) {
        prepare_with_seed(w, yaml, 1);
}

static inline void begin(struct world *w, const char *yaml) {
        prepare(w, yaml);
        add_file(w, TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml");
        loop_run_for(w->loop, 5000); /* until it is served */
        start_agent(w);
        loop_run_for(w->loop, A_MINUTE);
}

static inline void end(struct world *w) {
        if (w->agent)
                stop_agent(w);
        kube_transport_free(w->transport);
        sandbox_free(w->sandbox);
        config_free(w->config);
        arena_free(w->arena);
        free(w->trouble);
        loop_free(w->loop);
}

/* --- what there is -------------------------------------------------------------------------------------------- */

static inline const struct value *lws(struct world *w, const char *name) {
        return sandbox_get(w->sandbox, STR("leaderworkerset.x-k8s.io"), STR("leaderworkersets"), STR("shop"),
                           str_from(name));
}

static inline int64_t status_number(struct world *w, const char *name, const char *key) {
        int64_t number = -1;

        value_to_i64(value_getc(value_getc(lws(w, name), "status"), key), &number);
        return number;
}

static inline const struct value *condition(struct world *w, const char *name, const char *type) {
        const struct value *list = value_path(lws(w, name), "status", "conditions", NULL);

        for (size_t i = 0; i < value_count(list); i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), type))
                        return list->list.items[i];
        return NULL;
}

static inline bool is_true(struct world *w, const char *name, const char *type) {
        return str_eqc(value_text(value_getc(condition(w, name, type), "status")), "True");
}

/* "demo-0=UID demo-0-1=UID …" of the Pods of a group; in the world's arena. */
static inline struct str uids(struct world *w, const char *name, const char *group) {
        const struct value *const *all;
        struct str text = STR("");
        size_t count = pods(w, &all);

        for (size_t i = 0; i < count; i++) {
                const struct value *m = value_getc(all[i], "metadata");

                if (str_eqc(label_of(all[i], "name"), name) && str_eqc(label_of(all[i], "group-index"), group))
                        text = arena_strf(w->arena, "%.*s%.*s=%.*s ", STR_FMT(text),
                                          STR_FMT(value_text(value_getc(m, "name"))),
                                          STR_FMT(value_text(value_getc(m, "uid"))));
        }
        return text;
}

static inline size_t ready_pods(struct world *w, const char *name) {
        const struct value *const *all;
        size_t count = pods(w, &all), ready = 0;

        for (size_t i = 0; i < count; i++) {
                const struct value *list = value_path(all[i], "status", "conditions", NULL);

                for (size_t k = 0; str_eqc(label_of(all[i], "name"), name) && k < value_count(list); k++)
                        ready += str_eqc(value_text(value_getc(list->list.items[k], "type")), "Ready") &&
                                 str_eqc(value_text(value_getc(list->list.items[k], "status")), "True");
        }
        return ready;
}

static inline size_t pod_count(struct world *w) {
        const struct value *const *all;

        return pods(w, &all);
}

#endif
