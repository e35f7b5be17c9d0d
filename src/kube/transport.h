/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct kube_transport: carries one HTTP exchange with an API server. Second of the three seams: libcurl behind
 * kube_curl_transport_new() (kube/curl_transport.h), scripted answers behind kube/script_transport.h for tests, and
 * the embedded sandbox later.
 *
 * It knows nothing of objects: paths come ready and encoded, bodies are bytes. It owns credentials, TLS, connections,
 * the queue and deadlines. Rules of the design: watches have connections of their own, so that they never stand in the
 * way of requests; requests go through our own bounded queue by priority; a transfer is never paused; every wait has a
 * deadline of ours.
 *
 * Callbacks run on the loop thread, never inside kube_start(). `done` is called exactly once unless the call is
 * cancelled; after kube_cancel() no callback runs. The call is freed by the transport after done() or cancel.
 */
#ifndef TRUCE_KUBE_TRANSPORT_H
#define TRUCE_KUBE_TRANSPORT_H

#include "base/err.h"
#include "base/str.h"

enum kube_method { KUBE_GET, KUBE_POST, KUBE_PUT, KUBE_PATCH, KUBE_DELETE };

/* Order in which queued requests are sent; within one priority first come, first served. */
enum kube_priority { KUBE_PRIORITY_LEASE, KUBE_PRIORITY_WRITE, KUBE_PRIORITY_READ, KUBE_PRIORITY_COUNT };

#define KUBE_DEFAULT_DEADLINE_MS 40000 /* above the server's own 34 s for writes */
#define KUBE_MAX_QUEUED 20000          /* further requests are refused with LIMIT through done() */

struct kube_request {
        enum kube_method method;
        struct str path;          /* with query, percent-encoded, begins with "/"; copied */
        const char *content_type; /* of the body; a literal; NULL without body */
        const char *accept;       /* a literal; NULL: application/json */
        struct str body;          /* copied */
        enum kube_priority priority;
        int64_t deadline_ms;      /* from kube_start(), queueing included; 0: KUBE_DEFAULT_DEADLINE_MS; -1: none (watch) */
        int64_t silence_ms;       /* TIMEOUT when no byte arrives for so long (watch); 0: not watched */
        size_t max_body_bytes;    /* of a collected body; 0: KUBE_MAX_REPLY_BYTES */
        bool watch;               /* goes to the watch connections and is never queued */
};

struct kube_reply {
        int status;              /* HTTP status; 0 when there was no answer */
        struct str content_type; /* borrowed during done() */
        struct str body;         /* borrowed during done(); empty when `data` took a 2xx body */
        struct str warnings;     /* texts of Warning: 299 headers, one a line; borrowed during done() */
        struct str audit_id;     /* Audit-ID header, for error messages */
        int64_t retry_after_ms;  /* Retry-After header; 0 when absent */
};

struct kube_handler {
        /* A piece of a 2xx body; NULL: the body is collected into reply->body. Negative stops the call with that error. */
        int (*data)(void *ctx, struct str chunk, struct err *err);
        /*
         * The end. `err` is NULL when an HTTP answer came in whole, whatever its status; otherwise UNREACHABLE,
         * TIMEOUT, LIMIT, UNAUTH (credentials cannot be read), or what `data` returned. `reply` is never NULL.
         */
        void (*done)(void *ctx, const struct kube_reply *reply, const struct err *err);
};

struct kube_transport;
struct kube_call;

#define KUBE_STATUS_CLASSES 6 /* [0]: no answer; [1] … [5]: 1xx … 5xx */
#define KUBE_METHODS (KUBE_DELETE + 1)

/* Counters since the start, gauges as they are now. */
struct kube_transport_stats {
        uint64_t calls[KUBE_METHODS][KUBE_STATUS_CLASSES]; /* ended; watches included, cancelled ones not */
        uint64_t sent;                /* exchanges begun, retries included */
        uint64_t retries;             /* repeats, for whatever reason */
        uint64_t connections_opened;
        uint64_t bytes_received;      /* of bodies */
        uint64_t bytes_sent;          /* of bodies */
        int64_t longest_queue_wait_ms;
        unsigned open_watches;
        unsigned waiting_watches;     /* started, but not sent yet; above 0 for 10 s is worth an alarm */
        unsigned in_flight;
        unsigned queued;
        bool multiplexed;             /* the last connection speaks HTTP/2 */
};

struct kube_transport_ops {
        struct kube_call *(*start)(struct kube_transport *t, const struct kube_request *req,
                                   const struct kube_handler *handler, void *ctx);
        void (*cancel)(struct kube_transport *t, struct kube_call *call);
        void (*free)(struct kube_transport *t);
        void (*stats)(const struct kube_transport *t, struct kube_transport_stats *ret_stats); /* NULL: keeps none */
};

/* Embedded first in every implementation. */
struct kube_transport {
        const struct kube_transport_ops *ops;
};

static inline struct kube_call *kube_start(struct kube_transport *t, const struct kube_request *req,
                                           const struct kube_handler *handler, void *ctx) {
        return t->ops->start(t, req, handler, ctx);
}

/* Stops a call that has not called done() yet. */
static inline void kube_cancel(struct kube_transport *t, struct kube_call *call) {
        t->ops->cancel(t, call);
}

/* Aborts what is under way without callbacks, and frees. NULL is fine. */
static inline void kube_transport_free(struct kube_transport *t) {
        if (t)
                t->ops->free(t);
}

/* All zero when the implementation keeps none. */
static inline void kube_transport_get_stats(const struct kube_transport *t, struct kube_transport_stats *ret_stats) {
        *ret_stats = (struct kube_transport_stats){ 0 };
        if (t->ops->stats)
                t->ops->stats(t, ret_stats);
}

#endif
