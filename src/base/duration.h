/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations in words: "5s", "3m", "1h30m", "1.5h", "250ms", "2d", as Go's time.ParseDuration with "d" added, as Argo CD
 * does. A plain number is seconds. Never negative.
 */
#ifndef TRUCE_BASE_DURATION_H
#define TRUCE_BASE_DURATION_H

#include "base/buf.h"

#define DURATION_MAX_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)

/* Milliseconds, rounded down. False for anything else than a duration, and above DURATION_MAX_MS. */
bool duration_parse(struct str text, int64_t *ret_ms);

/* Milliseconds of whole seconds from outside, at most DURATION_MAX_MS either way. */
int64_t duration_of_seconds(int64_t seconds);

/* The shortest form that duration_parse() reads back exactly: "1h30m", "250ms", "0s". */
void duration_print(int64_t ms, struct buf *out);

#endif
