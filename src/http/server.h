/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probes and metrics server: GET /healthz, /readyz and /metrics (Prometheus text format 0.0.4), nothing that changes
 * state. libmicrohttpd in external-epoll mode on the agent's loop; no TLS, no threads.
 *
 *   /healthz  200 "ok" while the loop turns (503 when its longest turn since the last probe passed 10 s)
 *   /readyz   200 when the agent's picture is complete (agent_is_ready()), else 503 and what is missing, a line each.
 *             One that stands by is ready when it could take over: it knows who leads, and its configuration can be used
 *   /metrics  counters and gauges; series exist from the start, at 0
 *
 * Limits: HTTP_MAX_CONNECTIONS at once, requests of at most 16 KiB, 10 s idle.
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_HTTP_SERVER_H
#define TRUCE_HTTP_SERVER_H

#include "agent/agent.h"
#include "agent/leader.h"

#define HTTP_MAX_CONNECTIONS 64

struct http_server;

/*
 * Listens on `listen` ("host:port", "[::1]:8080", ":8080" for every address). INVAL for a bad address, a system error's code
 * when it cannot be bound.
 */
int http_server_new(struct loop *l, struct str listen, struct agent *agent, struct http_server **ret_server,
                    struct err *err);
/*
 * Another agent takes the place of the first: before that one is freed, or in the same turn. NULL, here and above: there
 * is none yet; then it is not ready, and few metrics exist.
 */
void http_server_set_agent(struct http_server *s, struct agent *agent);
/* There is an election, and this is our part in it; NULL: there is none (any more). */
void http_server_set_leader(struct http_server *s, const struct leader *leader);
void http_server_free(struct http_server *s);
DEFINE_CLEANUP(struct http_server *, http_server_free)

/* The port in use, for tests that listen on port 0. */
unsigned http_server_port(const struct http_server *s);

#endif
