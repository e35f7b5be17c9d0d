/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct kube_transport on libcurl: HTTP/2 over TLS to a real API server (HTTP/1.1 where it must be), driven by the loop.
 *
 * Two curl multi handles that share nothing, because a watch never ends and would starve requests:
 *  - watches: up to 100 on a connection, or as few as the server allows: that is learned when a connection is full. Where
 *    none has room one watch goes ahead, alone, and opens the next; the others follow when it has its answer. Over
 *    HTTP/1.1 a watch is a connection.
 *  - requests: a connection for each one in flight, also over HTTP/2, and our own queue by priority in front. In flight
 *    are at most CURL_IN_FLIGHT; a lease may take the last connection.
 *
 * Why requests do not share connections: libcurl 7.88.1 reads a shared one for whichever stream asks, into the buffers of
 * all. A buffer that runs full makes it pause in the middle of what it has read (http2.c, on_data_chunk_recv()); if that
 * was the last of it, nobody looks at the end of the frame before further bytes come on that connection, and an answer
 * that ends there never ends. A stream that is alone is only read when its buffer is empty, and the buffer takes a whole
 * read. For the end of a watch the silence limit is soon enough, and bytes of watches that are left lying are looked
 * after in curl_multi.c.
 *
 * What is retried here: a GET once when a reused connection broke before any byte of an answer; anything once after a
 * 401 when the token file holds another token by then. Writes are never sent twice otherwise: their outcome is unknown.
 *
 * A connection that gives no sign of life while a call runs into its deadline (or its silence limit) is not used for new
 * calls. Half-open TCP connections are found by keepalive and TCP_USER_TIMEOUT within about a minute.
 *
 * Answers are never asked for compressed: inside a cluster that costs more time than it saves.
 *
 * `data` and `done` may start and cancel calls, and may free the transport. Redirects are not followed: a 3xx is an
 * answer like others. $HTTPS_PROXY and $NO_PROXY are honoured as curl does, save for loopback servers.
 *
 * Thread rule: loop thread; real loop only.
 */
#ifndef TRUCE_KUBE_CURL_TRANSPORT_H
#define TRUCE_KUBE_CURL_TRANSPORT_H

#include "base/loop.h"
#include "kube/kubeconfig.h"
#include "kube/transport.h"

#define CURL_REQUEST_CONNECTIONS 16
#define CURL_STREAMS_PER_CONNECTION 100 /* at most; what kube-apiserver advertises */
#define CURL_IN_FLIGHT (CURL_REQUEST_CONNECTIONS - 1)
#define CURL_CONNECT_MS 15000 /* TCP and TLS; for calls without a deadline of their own too */
#define CURL_MAX_WARNING_BYTES (16 * 1024) /* of one reply; further Warning headers are dropped */

/*
 * `config` is borrowed and outlives the transport; user_agent is copied. Connects to nothing yet. NULL and *err for
 * certificates that cannot be used (see kube_auth_check_certificates) and INTERNAL when libcurl cannot start.
 */
struct kube_transport *kube_curl_transport_new(struct loop *l, const struct kube_config *config,
                                               const char *user_agent, struct err *err);

/* How many requests may be in flight at once: 1 … CURL_IN_FLIGHT. */
void kube_curl_transport_set_in_flight(struct kube_transport *t, unsigned limit);

/* As kube_transport_get_stats(). */
void kube_curl_transport_stats(const struct kube_transport *t, struct kube_transport_stats *ret_stats);

#endif
