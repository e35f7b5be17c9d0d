/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox over HTTP/1.1, plain and on loopback only, for kubectl, truce and other clients. libmicrohttpd in
 * external-epoll mode on the sandbox's loop, no threads; requests are answered by sandbox_serve() in the order in which
 * they were read.
 *
 * Who asks is told by a bearer token, or by a path that begins with /token/TOKEN, as kubectl sends no token without TLS
 * (client-go's clientcmd reads a user's credentials only for https). Without a known one the answer is 401, save for
 * /healthz, /livez, /readyz and /version.
 * Impersonate-User and Impersonate-Group are obeyed: there is no authorization. A Host header that does not name
 * loopback is refused (403), so that no web page reaches the sandbox by a name of its own.
 *
 * Watches are suspended connections. What a client has not read yet is kept up to
 * SANDBOX_HTTP_MAX_PENDING_BYTES beyond the initial events; who is slower loses the connection in the middle of the
 * stream, as does who reads nothing for a minute. Bodies over KUBE_MAX_REQUEST_BYTES are 413. All that is held for
 * clients that have not sent or read to the end has a limit, too: beyond SANDBOX_HTTP_MAX_HELD_BYTES requests are 429
 * with Retry-After, and an event ends the watches that lag behind most.
 *
 * Life cycle: sandbox_http_new() … sandbox_http_free(), then sandbox_free(). Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_HTTP_H
#define TRUCE_SANDBOX_HTTP_H

#include "sandbox/sandbox.h"

#define SANDBOX_HTTP_MAX_CONNECTIONS   2048 /* further ones wait; a watch holds one */
#define SANDBOX_HTTP_MAX_PENDING_BYTES (4 * 1024 * 1024)
#define SANDBOX_HTTP_MAX_HELD_BYTES    (256 * 1024 * 1024) /* and what one more request adds to it */
#define SANDBOX_HTTP_IDLE_TIMEOUT_S                                                                                    \
        60 /* of a connection between requests, in the middle of one, or that does not read */

struct sandbox_user {
        struct str token, name;
        const struct str *groups;
        size_t group_count;
};

struct sandbox_http;

/*
 * Listens on `listen` ("127.0.0.1:0", "[::1]:8001"). `users` is borrowed as long as the server lives. INVAL for an
 * address that is bad or not loopback, a system error's code when it cannot be bound.
 */
int sandbox_http_new(struct sandbox *s, struct str listen, const struct sandbox_user *users, size_t user_count,
                     struct sandbox_http **ret_http, struct err *err);
void sandbox_http_free(struct sandbox_http *h);
DEFINE_CLEANUP(struct sandbox_http *, sandbox_http_free)

unsigned sandbox_http_port(const struct sandbox_http *h);

#endif
