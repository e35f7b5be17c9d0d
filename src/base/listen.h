/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening TCP sockets from a flag's text: "host:port", "[::1]:8080", ":8080" for every address. Hosts are IP
 * addresses, never names. For the servers of http/ and sandbox/, which give the socket to libmicrohttpd.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_BASE_LISTEN_H
#define TRUCE_BASE_LISTEN_H

#include "base/err.h"
#include "base/str.h"

enum listen_reach {
        LISTEN_ANYWHERE,
        LISTEN_LOOPBACK, /* only 127.0.0.0/8 and ::1; others are INVAL */
};

/*
 * Binds and listens; the descriptor does not block and is closed on exec. "Every address" is one dual-stack socket.
 * INVAL for a bad address, a system error's code when it cannot be bound; messages begin with "--listen TEXT".
 */
int listen_open(struct str text, enum listen_reach reach, int backlog, int *ret_fd, struct err *err);

/* The port in use, for port 0; 0 when `fd` is no bound socket. */
unsigned listen_port(int fd);

/* Is `host` ("127.0.0.1", "[::1]:80", "localhost:8080"), as in a Host header, this machine's loopback? */
bool listen_is_loopback(struct str host);

#endif
