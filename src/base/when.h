/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moments as the API server writes them (RFC 3339), and how long ago they are, for people.
 *
 * Thread rule: pure; the caller says what time it is.
 */
#ifndef TRUCE_BASE_WHEN_H
#define TRUCE_BASE_WHEN_H

#include "base/buf.h"

/*
 * "2025-11-29T20:16:00Z", with an optional fraction and `Z` or an offset, to ms since 1970. False when it is anything
 * else (lower-case t and z are accepted, a leap second is read as the next one).
 */
bool when_parse(struct str text, int64_t *ret_ms);

/* Appends the second that `ms` lies in as "2025-11-29T20:16:00Z". Years 1 to 9999; outside of them the nearest moment.
 */
void when_print(int64_t ms, struct buf *out);

/* Appends "now", "12 s", "3 m", "2 h", "31 d": the largest unit that fits. A moment in the future is "now". */
void when_print_age(int64_t then_ms, int64_t now_ms, struct buf *out);

#endif
