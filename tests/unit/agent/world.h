/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One agent with one application on its three twins, in one thread and in virtual time: a scripted API server (twin.h),
 * an in-memory repository, a loop whose clock jumps. Functions are inline as not every test uses all.
 */
#ifndef TRUCE_TEST_AGENT_WORLD_H
#define TRUCE_TEST_AGENT_WORLD_H

#include "agent/agent.h"
#include "git/memory.h"
#include "twin.h"

#define POLL_MS 30000
#define A_WHILE_MS 60000
#define CM(name, value)                                                                                                \
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " name "}\ndata: {key: \"" value "\"}\n"
#define BROKEN "apiVersion: v1\nkind: [broken\n"
#define IN_SHOP "/api/v1/namespaces/shop/*" /* applies, not the inventory */
#define PATH_A "/api/v1/namespaces/shop/configmaps/a"
#define PATH_B "/api/v1/namespaces/shop/configmaps/b"
#define INVENTORY "/api/v1/namespaces/truce/configmaps/truce-inventory-shop"

struct world {
        struct loop *loop;
        struct twin twin;
        struct git_memory *git; /* freed with its source by the agent that polls it */
        struct config *config;
        struct agent *agent;
        unsigned settled, rejected, trouble, failed, parked;
        char *last_trouble;
        char *namespace_told;  /* what was said of a Namespace last */
        unsigned closed_doors; /* so many times the repository cannot be opened */
        struct err prune_err;
        char *remarks;         /* of rules, a line each: "PLACE: TEXT" */
};

static inline void on_outcome(void *ctx, struct app *app, const struct outcome *o) {
        struct world *w = ctx;

        (void)app;
        w->failed += o->err != NULL;
        w->parked += o->kind == OUTCOME_PARKED;
        if (strncmp(o->id, "/Namespace/", 11) == 0) {
                free(w->namespace_told);
                w->namespace_told = str_dup(str_from(o->reason));
        }
}

static inline void on_waiting(void *ctx, struct app *app, const char *what) {
        (void)ctx;
        (void)app;
        (void)what;
}

static inline void on_revision(void *ctx, struct app *app, const struct agent_revision *r,
                               const struct desired_set *set, const struct err *rejected) {
        struct world *w = ctx;

        (void)app;
        (void)r;
        (void)set;
        w->rejected += rejected != NULL;
}

static inline void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        struct world *w = ctx;

        (void)app;
        w->settled++;
        w->prune_err = prune_err ? *prune_err : (struct err){ 0 };
}

static inline void on_observed(void *ctx, struct app *app, const struct agent_timeline *timeline) {
        (void)ctx;
        (void)app;
        (void)timeline;
}

static inline void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        struct world *w = ctx;

        (void)app;
        (void)what;
        free(w->last_trouble);
        w->last_trouble = str_dup(str_from(err->msg));
        w->trouble++;
}

static inline void on_remark(void *ctx, struct app *app, const char *place, const char *text) {
        struct world *w = ctx;
        _cleanup_(buf_done) struct buf all = buf_make(MIB);

        (void)app;
        buf_addf(&all, "%s%s: %s\n", w->remarks ? w->remarks : "", place, text);
        free(w->remarks);
        w->remarks = buf_take(&all);
}

static inline struct git_source *open_source(void *ctx, const struct config_source *source, struct err *err) {
        struct world *w = ctx;

        (void)source;
        if (!w->closed_doors)
                return git_memory_source(w->git);
        w->closed_doors--;
        err_set(err, ERR_NOTFOUND, "no such repository");
        return NULL;
}

static inline void start_agent(struct world *w) {
        static const struct agent_hooks hooks = { on_outcome, on_waiting,  on_revision,
                                                  on_settled, on_observed, on_trouble, on_remark };
        struct agent_options options = { .open_source = open_source, .open_ctx = w };

        assert_int_equal(
                agent_new(w->loop, script_transport(w->twin.script), w->config, &options, &hooks, w, &w->agent, NULL),
                0);
        agent_start(w->agent);
}

static inline void stop_agent(struct world *w) {
        agent_free(w->agent);
        w->agent = NULL;
        loop_run_for(w->loop, 1000); /* looks that were under way end */
}

static inline void push(struct world *w, const char *yaml) {
        struct git_memory_file files[] = { { "app/all.yaml", GIT_MEMORY_FILE, str_from(yaml) } };

        git_memory_push(w->git, files, 1);
}

static inline void prepare(struct world *w, const char *yaml) {
        struct config_app_flags flags = {
                .repo = STR("https://git.example/shop.git"),
                .path = STR("app"),
                .revision = STR("main"),
                .ns = STR("shop"),
                .prune = true,
                .self_heal = true,
        };
        struct err err;

        *w = (struct world){ .loop = loop_new_virtual(1, 1000000) };
        twin_init(&w->twin, w->loop);
        w->git = git_memory_new();
        w->config = config_new();
        assert_int_equal(config_add_flags(w->config, &flags, &err), 0);
        w->config->agent.installation_id = STR("test");
        w->config->agent.poll_ms = POLL_MS;
        config_settle(w->config);
        assert_int_equal(w->config->app_count, 1);
        push(w, yaml);
}

static inline void begin(struct world *w, const char *yaml) {
        prepare(w, yaml);
        start_agent(w);
        loop_run_for(w->loop, A_WHILE_MS);
}

static inline void end(struct world *w) {
        if (w->agent)
                stop_agent(w);
        assert_int_equal(script_unexpected(w->twin.script), 0);
        free(w->last_trouble);
        free(w->namespace_told);
        free(w->remarks);
        twin_done(&w->twin);
        config_free(w->config);
        loop_free(w->loop);
}

static inline size_t writes(const struct world *w) {
        return script_count(w->twin.script, KUBE_PATCH, "*") + script_count(w->twin.script, KUBE_DELETE, "*") +
               script_count(w->twin.script, KUBE_POST, "*") + script_count(w->twin.script, KUBE_PUT, "*");
}

/* Requests other than watches: the twin sends no bookmarks, so watches are opened anew after their silence. */
static inline size_t requests(const struct world *w) {
        size_t count = 0;

        for (size_t i = 0; i < script_request_count(w->twin.script); i++)
                count += !script_request_at(w->twin.script, i)->watch;
        return count;
}

/* What `truce status` would show; empty: nothing is stored. */
static inline bool status_is(const struct world *w, const char *key, const char *wanted) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const char *text = map_find(w->twin.objects, STR(INVENTORY));
        const struct value *map, *status = NULL;

        if (text && json_parse(str_from(text), a, &map, NULL) == 0)
                json_parse(value_text(value_path(map, "data", "status", NULL)), a, &status, NULL);
        struct str got = value_text(value_getc(status, key));
        return wanted[0] ? str_contains(got, str_from(wanted)) : got.n == 0;
}

/* Somebody changes a value: as the server would, it leaves our set. */
static inline void edit(struct world *w, struct str path, const char *value) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str keys[] = { STR("data"), STR("key") };
        const struct value *object;

        assert_int_equal(json_parse(str_from(map_find(w->twin.objects, path)), a, &object, NULL), 0);
        twin_store(&w->twin, path, value_with_path(a, object, keys, 2, value_stringc(a, value)), a);
}

#endif
