/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query of a request's path, decoded (application/x-www-form-urlencoded). Unknown parameters are ignored, as by the
 * API server.
 *
 * Thread rule: plain data in an arena.
 */
#ifndef TRUCE_SANDBOX_QUERY_H
#define TRUCE_SANDBOX_QUERY_H

#include "base/arena.h"
#include "base/err.h"

struct query_pair {
        struct str name, value;
};

struct query {
        const struct query_pair *pairs;
        size_t count;
};

/* Text from outside a body: bytes that are no UTF-8 become U+FFFD, as they do where Go prints them. */
struct str query_text(struct str s, struct arena *a);
/* Decodes %XX and, in queries, "+", into such text; a bad escape stays as it is. */
struct str query_decode(struct str s, bool is_query, struct arena *a);
struct query query_parse(struct str text, struct arena *a);
/* The first value of the name; empty when absent. */
struct str query_get(const struct query *q, const char *name);
bool query_has(const struct query *q, const char *name);
/* As the server converts them: absent or empty is *ret as it was; INVAL with strconv's text. */
int query_int(const struct query *q, const char *name, int64_t *ret, struct err *err);
/* "0" and "false" are false, anything else that is present is true. */
bool query_bool(const struct query *q, const char *name);

#endif
