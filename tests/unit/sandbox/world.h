/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox in virtual time and short ways to ask it: answers are compared as compact JSON or by their fields. */
#ifndef TRUCE_TEST_SANDBOX_WORLD_H
#define TRUCE_TEST_SANDBOX_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/loop.h"
#include "sandbox/sandbox.h"

#define WORLD_START_MS INT64_C(1800000000000) /* 2027-01-15T08:00:00Z */

#define CM              "/api/v1/namespaces/default/configmaps"
#define JSON_TYPE       "application/json"
#define MERGE_TYPE      "application/merge-patch+json"
#define JSON_PATCH_TYPE "application/json-patch+json"
#define STRATEGIC_TYPE  "application/strategic-merge-patch+json"
#define APPLY_TYPE      "application/apply-patch+yaml"

struct world {
        struct loop *loop;
        struct sandbox *s;
        struct arena *arena;        /* of all answers */
        struct sandbox_reply reply; /* the last answer */
        const struct value *body;   /* parsed, or NULL */
};

static inline struct world *world_new(const struct sandbox_options *options) {
        struct world *w = mem_zalloc(sizeof *w);

        w->loop = loop_new_virtual(1, WORLD_START_MS);
        w->s = sandbox_new(w->loop, options);
        w->arena = arena_new(0);
        return w;
}

static inline void world_free(struct world *w) {
        sandbox_free(w->s);
        arena_free(w->arena);
        loop_free(w->loop);
        free(w);
}

static inline void world_run(struct world *w, int64_t ms) {
        loop_run_for(w->loop, ms);
}

/* Sends a request; returns the status. */
static inline int ask_as(struct world *w, enum kube_method method, const char *path, const char *type, const char *body,
                         const char *accept) {
        const struct sandbox_request req = {
                .method = method,
                .path = str_from(path),
                .content_type = str_from(type),
                .accept = accept ? str_from(accept) : STR("application/json"),
                .user_agent = STR("curl/1"),
                .body = str_from(body),
                .user = STR("admin"),
        };

        sandbox_serve(w->s, &req, w->arena, &w->reply);
        w->body = NULL;
        if (w->reply.body.n && json_parse(w->reply.body, w->arena, &w->body, NULL) < 0)
                w->body = NULL;
        return w->reply.status;
}

static inline int ask(struct world *w, enum kube_method method, const char *path, const char *body) {
        return ask_as(w, method, path, body ? JSON_TYPE : NULL, body, NULL);
}

static inline int get(struct world *w, const char *path) {
        return ask(w, KUBE_GET, path, NULL);
}

static inline int post(struct world *w, const char *path, const char *body) {
        return ask(w, KUBE_POST, path, body);
}

static inline int patch(struct world *w, const char *path, const char *type, const char *body) {
        return ask_as(w, KUBE_PATCH, path, type, body, NULL);
}

static inline int apply(struct world *w, const char *path, const char *body) {
        return patch(w, path, APPLY_TYPE, body);
}

static inline int del(struct world *w, const char *path) {
        return ask(w, KUBE_DELETE, path, NULL);
}

/* The answer's value at a dotted path (list items by index) as compact JSON; "" when there is none. */
static inline const char *at(struct world *w, const char *path) {
        const struct value *v = w->body;
        struct str rest = str_from(path), name;
        uint64_t index;

        while (v && str_next(&rest, '.', &name))
                v = v->kind == VALUE_LIST
                            ? str_to_u64(name, &index) && index < v->list.count ? v->list.items[index] : NULL
                            : value_get(v, name);
        if (!v)
                return "";
        return v->kind == VALUE_STRING ? v->text.p : value_canonical(w->arena, v).p;
}

#define assert_at(w, path, wanted) assert_string_equal(at(w, path), wanted)

/* The message of a refusal. */
#define assert_message(w, wanted) assert_string_equal(at(w, "message"), wanted)

#endif
