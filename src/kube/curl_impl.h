/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to curl_*.c: the transport, its calls and its pumps.
 *
 *   curl_transport.c  a call's life: queue, launch, deadline, cancel, retry, done
 *   curl_multi.c      a pump: one curl multi handle driven by the loop
 *   curl_setup.c      a call's easy handle: URL, headers, TLS, body
 *   curl_reply.c      headers of a reply
 *   curl_trace.c      what only curl's trace tells: requests a server refused unseen, its limit of streams
 *   curl_errors.c     a CURLcode as struct err
 *
 * The rule that shapes all of it: curl_multi_* is never called inside a callback of curl. While `in_curl` is set, a call
 * is only marked (CALL_DOOMED) and a free is only noted (`closing`); transport_settle(), which every entry from the loop
 * ends with, does the rest.
 */
#ifndef TRUCE_KUBE_CURL_IMPL_H
#define TRUCE_KUBE_CURL_IMPL_H

#include <curl/curl.h>

#include "base/loop.h"
#include "kube/auth.h"
#include "kube/curl_transport.h"

#define WATCH_LOOK_MS 1000    /* how often watches are looked at while some are not answered */
#define WATCH_SETTLED_MS 1000 /* so long after a connection stands the server's limit of streams has come */
#define WATCH_STUCK_MS 5000   /* a watch without an answer, on a connection that answered others, is sent again */
#define WATCH_MAX_RESENDS 3   /* so often: the server may just be slow to answer */
#define CALL_SENDS_OF_A_GET 2 /* the first and, on a reused connection that broke, one more */
#define CALL_MAX_SENDS 5      /* of any, refusals included */
#define PUMP_GOAWAYS 8        /* the newest, one a connection */

struct curl_transport;

/* A server's word on one connection (named by our port): it has not looked at streams above `last_stream`. */
struct goaway {
        int local_port; /* 0: free */
        uint32_t last_stream;
};

/* One multi handle. Freed by its transport when it is retired and its last call has left. */
struct pump {
        struct curl_transport *transport;
        CURLM *multi;
        struct loop_timer *timer;    /* what curl asks to be woken for */
        struct pump_socket *sockets;
        struct pump *next;           /* of the retired ones */
        unsigned calls;              /* easy handles inside */
        int64_t heard_at_ms;         /* the last byte of any of its calls */
        uint64_t heard;              /* pieces that curl handed over */
        struct goaway goaways[PUMP_GOAWAYS];
        unsigned next_goaway;
        bool watches;
};

/* Where a call is in its life; each state has its list in the transport. */
enum call_state {
        CALL_QUEUED, /* in queue[] or waiting: curl does not know it yet */
        CALL_RUNNING,
        CALL_ENDED,  /* waits for done() */
        CALL_DOOMED, /* cancelled while curl was running: its handle goes as soon as curl returns */
};

struct call_list {
        struct kube_call *first, *last;
        unsigned count;
};

struct kube_call {
        struct curl_transport *transport;
        struct kube_call *prev, *next;
        struct call_list *list; /* the one it is in; NULL during done() */
        enum call_state state;

        /* The request. */
        enum kube_method method;
        enum kube_priority priority;
        bool watch;
        char *path;
        const char *content_type, *accept; /* literals */
        char *body;
        size_t body_bytes, max_body_bytes;
        struct kube_handler handler;
        void *ctx;

        /* Time. One timer serves deadline and silence: it fires at the earlier one and looks. */
        struct loop_timer *timer;
        int64_t queued_at_ms, deadline_at_ms; /* INT64_MAX: none */
        int64_t silence_ms, limit_ms;         /* limit_ms: the deadline as asked for, for messages */
        int64_t sent_at_ms, heard_at_ms;

        /* The exchange. */
        struct pump *pump;
        CURL *easy;
        struct curl_slist *headers, *connect_to;
        uint64_t token_generation;
        unsigned sends;      /* of this launch, curl's own repeats included */
        int local_port;      /* of the connection it was last sent on */
        uint32_t stream;     /* its number there; 0: not known, or HTTP/1.1 */
        bool refused;        /* curl says the server refused the stream */
        bool connected;      /* the request is being sent, or was */
        int64_t connected_at_ms;
        unsigned resends;    /* of a watch that got no stream */
        bool opens;          /* a watch that went ahead to open a connection */
        bool retried, retried_auth;
        char *detail; /* CURL_ERROR_SIZE bytes while there is a handle: what curl says went wrong */

        /* The answer. */
        int status;
        struct buf reply, content_type_seen, warnings, audit_id;
        int64_t retry_after_ms;
        struct err *failure; /* NULL: an answer came in whole */
};

enum protocol { PROTOCOL_UNKNOWN, PROTOCOL_HTTP1, PROTOCOL_HTTP2 };

struct curl_transport {
        struct kube_transport base;
        struct loop *loop;
        const struct kube_config *config;
        struct kube_auth *auth;
        char *user_agent;
        struct loop_timer *kick; /* 0 ms: settle in a later turn */
        struct loop_timer *look; /* runs while watches are not answered */

        struct pump *requests, *watches; /* those that get new calls */
        struct pump *retired;

        struct call_list queue[KUBE_PRIORITY_COUNT]; /* requests */
        struct call_list waiting;                    /* watches not handed to curl yet */
        struct call_list running, ended, doomed;

        unsigned in_flight_limit;
        unsigned in_flight; /* requests inside curl, of retired pumps too */
        unsigned streams;   /* that a connection of watches takes, as far as we know */
        enum protocol protocol;
        bool plain;         /* http:// */
        bool loopback;      /* the server is this machine: never through a proxy */
        bool full;          /* a connection had less room for watches than we thought: the next one opens another */
        bool respread;      /* watches inside curl that have no connection come back: the rules have changed */
        bool in_curl, settling, closing;
        struct kube_transport_stats stats;
};

/* curl_transport.c, called by pumps. */
void call_ended(struct kube_call *call, CURLcode result);
void transport_settle(struct curl_transport *t);
void transport_kick(struct curl_transport *t);
void call_fail(struct kube_call *call, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The server allows fewer streams a connection than we thought; allowed inside curl. */
void transport_learn_streams(struct curl_transport *t, unsigned streams);

/* curl_multi.c */
struct pump *pump_new(struct curl_transport *t, bool watches);
/* Its calls must have been taken out. */
void pump_free(struct pump *p);
/* How many connections it may have. */
void pump_set_cap(struct pump *p, unsigned connections);
/* Hands the call's easy handle to curl. */
int pump_add(struct pump *p, struct kube_call *call, struct err *err);
void pump_remove(struct kube_call *call);

/* curl_setup.c: makes call->easy and its lists. UNAUTH, INTERNAL. */
int call_setup(struct kube_call *call, struct err *err);
/* Frees them; the handle must be out of its pump. */
void call_teardown(struct kube_call *call);
/* Is it this machine (localhost, 127.0.0.0/8, ::1)? */
bool host_is_loopback(const char *host);

/* curl_trace.c: switches curl's trace on for a call, and learns from it; 0 or what curl answered. */
unsigned trace_set(CURL *easy, struct kube_call *call);
/* Has the server said goodbye on the call's connection? It takes no further streams. */
bool trace_goaway(const struct kube_call *call);
/* Has the server said that it never looked at this request, so that even a write may be sent again? */
bool trace_refused(const struct kube_call *call);

/* curl_reply.c: one header line, with or without line end. Forgets what an earlier (1xx) answer said. */
void reply_header(struct kube_call *call, struct str line, int64_t wall_ms);
void reply_clear(struct kube_call *call);
void reply_init(struct kube_call *call);
void reply_done(struct kube_call *call);

/* curl_errors.c: fills call->failure. */
void call_fail_curl(struct kube_call *call, CURLcode result);

static inline bool status_is_success(int status) {
        return status >= 200 && status < 300;
}

#endif
