/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the sandbox share: its state, and one request while it is being answered.
 *
 * The way of a request: serve.c reads path and query and finds the kind; serve_read.c, serve_write.c, watch.c and
 * discovery.c answer. A step that fails has written the answer (status.h) and returns -1; its caller just returns.
 * Controllers write through write.h, with a call that has no request behind it.
 *
 * Order of a write, as on the server: decode → patch → default → managedFields → admission → prepare → validate →
 * store.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_SANDBOX_IMPL_H
#define TRUCE_SANDBOX_SANDBOX_IMPL_H

#include "sandbox/kinds.h"
#include "sandbox/query.h"
#include "sandbox/sandbox.h"
#include "sandbox/selector.h"
#include "sandbox/validate.h"

struct observer {
        void (*fn)(void *ctx, const struct sandbox_commit *c);
        void *ctx;
};

struct sandbox {
        struct loop *loop;
        struct sandbox_options options;
        struct store *store;
        struct kinds *kinds;
        struct observer *observers;
        size_t observer_count, observer_cap;
        struct sandbox_watch *watches; /* started ones */
        struct rules *rules;           /* admission.h */
        struct allocator *allocator;   /* allocate.h */
        struct crds *crds;             /* crd.h */
        struct namespaces *namespaces; /* namespace.h */
        struct expiry *expiry;         /* expiry.h */
        struct gc *gc;                 /* gc.h; NULL without controllers */
        struct controllers *controllers; /* controllers.h; NULL without controllers */
};

struct warnings {
        struct str *items;
        size_t count, cap;
};

/* Where the request goes. */
struct target {
        struct str group, version, namespace, plural, name, subresource;
};

/* What a custom resource says it is, where that is not what was asked for. */
struct odd_type {
        struct str api_version, kind;
};

struct call {
        struct sandbox *s;
        struct arena *a;
        const struct sandbox_request *req; /* NULL: a controller's */
        struct sandbox_reply *reply;
        struct target at;
        struct query query;
        const struct kind *kind;
        const struct resource_sub *sub; /* NULL: the object itself */
        struct str user;
        struct str manager; /* fieldManager, or the first part of the User-Agent */
        struct str now;     /* RFC 3339 */
        bool dry_run;
        const struct value *sent; /* the body it was decoded from, for held.h; NULL: another type's, or none */
        const struct value *held; /* held.h; NULL: nothing beyond the object */
        uint64_t unread; /* what this write stores and nobody will read (struct version) */
        /* It has empty parts that reading loses: it differs from what the server has in its cache, always. */
        bool rewrites;
        const struct value *merged; /* what an apply made of a custom resource, before it was decoded */
        bool is_odd;
        struct odd_type odd;
        struct warnings warnings;
};

/* A call of the sandbox's own, as `manager`; `reply` receives what nobody reads. */
void call_begin(struct call *c, struct sandbox *s, struct arena *a, struct sandbox_reply *reply, const char *manager);
void call_end(struct call *c);
void call_warn(struct call *c, struct str text);

/* Sets the answer to a 2xx with JSON. */
void answer_json(struct call *c, int status, struct str body);
/* The object as the call's kind and version show it. */
void answer_object(struct call *c, int status, struct version *v);

/* Tells observers and controllers of a commit; called by write.c only. */
void sandbox_tell(struct call *c, struct version *before, struct version *after, uint64_t rv);

/* A random UUID (version 4), from the loop's random source. */
struct str new_uid(struct sandbox *s, struct arena *a);
struct str rfc3339(int64_t wall_ms, struct arena *a);

/* {"metadata": {"name": …}} shortcuts. */
struct str meta_text(const struct value *object, const char *field);
const struct value *meta_with(const struct value *object, const char *field, const struct value *value,
                              struct arena *a);
const struct value *meta_with_text(const struct value *object, const char *field, struct str text, struct arena *a);

#endif
