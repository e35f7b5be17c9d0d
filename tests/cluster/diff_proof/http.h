/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a real API server in batches over one HTTP/2 connection, and nothing more: the tests of own/ must not
 * depend on the client they will one day be used with.
 */
#ifndef TRUCE_TEST_HTTP_H
#define TRUCE_TEST_HTTP_H

#include "base/buf.h"

#define HTTP_IN_FLIGHT 48

struct http_request {
        const char *method;
        struct str path; /* with its query; ends in NUL */
        struct str body; /* empty: none */
        const char *content_type;
        int status; /* of the answer; 0: none came */
        struct buf answer;
};

struct http;
/* Server URL, PEM file of its CA and bearer token. Exits with a message when curl cannot start. */
struct http *http_new(const char *server, const char *ca_file, const char *token);
void http_free(struct http *h);
/* Sends all and waits for all answers. The answers are the caller's (buf_done). */
void http_batch(struct http *h, struct http_request *const *requests, size_t count);

#endif
