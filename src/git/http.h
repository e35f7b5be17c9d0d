/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocking HTTP exchanges under a hard deadline, for the two endpoints of Git's smart protocol. The body is pulled:
 * http_read() runs the transfer only until there are bytes, so a pack never piles up in memory.
 *
 * It follows no redirect and reads no cookie, .netrc or configuration file; the proxy variables of the environment are
 * honoured, as git does. HTTP/1.1 only: one exchange at a time needs no more, and its buffers are small.
 *
 * A session holds the connection between the exchanges of one operation. One thread at a time; configurations are
 * immutable and may be shared.
 */
#ifndef TRUCE_GIT_HTTP_H
#define TRUCE_GIT_HTTP_H

#include "base/buf.h"
#include "git/deadline.h"
#include "git/remote.h"
#include "git/url.h"

#define HTTP_MAX_SECRETS 3

/* What all exchanges with one remote share. Filled by http_config_init(). */
struct http_config {
        struct git_url url;      /* borrowed */
        char *authorization;     /* the header line; NULL: anonymous */
        char *secrets[HTTP_MAX_SECRETS]; /* texts that no message may hold */
        char *ca_file;           /* NULL: the system's */
        char *ca;                /* PEM text; NULL: ca_file */
        char *certificate, *key; /* the client's, PEM text; NULL: none */
        char *user_agent;
        long connect_timeout_ms;
        long stall_timeout_s;
        bool insecure_tls;
        bool no_proxy;
};

/* INVAL when a credential holds a line break, or would go over plain http to another machine. */
int http_config_init(struct http_config *c, const struct git_url *url, const struct git_remote_options *o,
                     struct err *err);
void http_config_done(struct http_config *c);

/* Puts "***" in place of every credential in the text, or in the message. */
void http_hide_secrets_in(const struct http_config *c, char *text);
void http_hide_secrets(const struct http_config *c, struct err *err);

struct http_request {
        const char *url;
        const char *accept;
        const char *content_type; /* NULL: GET; else POST with `body`, which must live until the exchange ends */
        struct str body;
        bool v2;                  /* ask for protocol version 2 */
        bool authorize;           /* send the credentials, the client certificate among them */
        bool compressed;          /* allow gzip; not for packs, which are compressed already */
};

struct http_reply {
        int status;
        const char *content_type; /* "" when absent; borrowed until the next exchange */
        const char *location;     /* of a redirect, absolute; NULL otherwise; borrowed likewise */
        int64_t retry_after_ms;
};

struct http_session;

struct http_session *http_session_new(const struct http_config *c, struct git_deadline d);
void http_session_free(struct http_session *s);
DEFINE_CLEANUP(struct http_session *, http_session_free)

/*
 * Ends the exchange before, sends this one and waits for the head of the answer. 0 for any status.
 * TIMEOUT, CANCELLED, UNREACHABLE (also TLS, with the reason), PARSE (no HTTP), INVAL (CA file), INTERNAL.
 */
int http_send(struct http_session *s, const struct http_request *req, struct http_reply *ret, struct err *err);

/* The next bytes of the body, at most n; 0 bytes at its end. Errors as http_send(); a cut body is UNREACHABLE. */
int http_read(struct http_session *s, char *p, size_t n, size_t *ret_n, struct err *err);

/* The rest of the body; LIMIT when it passes the buffer's maximum. */
int http_read_all(struct http_session *s, struct buf *body, const char *what, struct err *err);

#endif
