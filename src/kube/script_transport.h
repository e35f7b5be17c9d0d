/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kube_transport that answers from a script: the deterministic twin for tests of this and other layers. It runs on
 * any loop, with loop_new_virtual() in virtual time; nothing ever leaves the process.
 *
 *   struct script *s = script_new(loop);
 *   script_on(s, KUBE_GET, "/api/v1/namespaces/shop/configmaps/a", &(struct script_answer){ .body = STR("{…}") });
 *   script_on(s, KUBE_GET, "/api/v1/configmaps?*watch=true*", &(struct script_answer){ .stream = true });
 *   … kube_client_new(script_transport(s), loop) …
 *   script_send(s, "/api/v1/configmaps?*", STR("{\"type\":\"ADDED\",…}"));
 *
 * A pattern is the path with "*" for any run of bytes ("/" and nothing too). One that holds a "?" is matched with the
 * query, others against the path alone. Answers are looked for from the newest to the oldest, so that a test may
 * override what a set-up function scripted; `times` limits how often one is used. A request that nothing matches gets
 * INTERNAL and counts in script_unexpected().
 *
 * Deadlines, silence_ms and max_body_bytes of requests hold as in the real transport; priorities and queues do not
 * exist: each request is answered after its delay.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_KUBE_SCRIPT_TRANSPORT_H
#define TRUCE_KUBE_SCRIPT_TRANSPORT_H

#include "base/loop.h"
#include "kube/transport.h"

struct script;

/* One request as it came. Strings live as long as the script. */
struct script_request {
        enum kube_method method;
        struct str path; /* with query, encoded */
        struct str body;
        struct str content_type, accept;
        enum kube_priority priority;
        bool watch;
        int64_t at_ms; /* loop_now_ms() */
        bool cancelled;
};

struct script_answer {
        int status;               /* 0: 200 */
        struct str content_type;  /* empty: application/json */
        struct str body;
        struct str warnings;      /* one a line */
        int64_t retry_after_ms;
        int64_t delay_ms;         /* until the first byte */
        size_t chunk_bytes;       /* a streamed body comes in pieces of so many bytes; 0: whole */
        enum err_code error;      /* not 0: after the body so far the exchange breaks with this code */
        bool stream;              /* stays open after `body` for script_send() and script_end() */
        unsigned times;           /* 0: for ever; n: the first n matching requests */
};

struct script *script_new(struct loop *l);
/* Also frees the transport: instead of kube_transport_free(), not besides it. */
void script_free(struct script *s);
DEFINE_CLEANUP(struct script *, script_free)

struct kube_transport *script_transport(struct script *s);

/* Adds an answer; everything in it is copied. */
void script_on(struct script *s, enum kube_method method, const char *pattern, const struct script_answer *answer);

/*
 * Adds a function that makes the answer: it fills *answer (zeroed before) and the bytes it points to must live until it
 * is called next. A negative return says "not mine": older answers are looked at.
 */
typedef int (*script_answer_fn)(void *ctx, const struct script_request *request, struct script_answer *answer);
void script_on_call(struct script *s, enum kube_method method, const char *pattern, script_answer_fn fn, void *ctx);

/* Forgets all answers; open streams stay. */
void script_clear(struct script *s);

/* Open streams that match. */
size_t script_streams(const struct script *s, const char *pattern);
/* Sends `line` and a newline down the newest open stream that matches; false when there is none. */
bool script_send(struct script *s, const char *pattern, struct str line);
/* The same without the newline: for borders inside a line. */
bool script_send_bytes(struct script *s, const char *pattern, struct str bytes);
/* Ends the newest open stream that matches: cleanly with ERR_OK, otherwise broken with that code. */
bool script_end(struct script *s, const char *pattern, enum err_code error);

/* The log of requests, oldest first. */
size_t script_request_count(const struct script *s);
const struct script_request *script_request_at(const struct script *s, size_t i);
/* How many were made so far that match, and the newest of them (NULL when none). */
size_t script_count(const struct script *s, enum kube_method method, const char *pattern);
const struct script_request *script_last(const struct script *s, enum kube_method method, const char *pattern);
/* Requests that nothing in the script matched. */
size_t script_unexpected(const struct script *s);

/*
 * Scripts /api and /apis (aggregated discovery) for the resources named, one a line:
 * "apps/v1 Deployment deployments namespaced status scale deploy" (group version, kind, plural, scope word
 * "namespaced" or "cluster", then flags "status" "scale" "nowatch" and short names). All serve every verb otherwise.
 */
void script_serve_discovery(struct script *s, const char *lines);

#endif
