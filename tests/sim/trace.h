/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened in a run: one line an event with its virtual time. The last TRACE_KEPT are kept for a failure, and all of
 * them go into a hash: two runs of one seed are the same run exactly when their hashes are equal.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SIM_TRACE_H
#define TRUCE_SIM_TRACE_H

#include <stdio.h>

#include "base/buf.h"
#include "base/loop.h"

#define TRACE_KEPT 200
#define TRACE_LINE_BYTES 2000

struct trace {
        const struct loop *loop;
        int64_t start_ms;
        char *kept[TRACE_KEPT];
        uint64_t count;
        uint64_t hash;
        FILE *live; /* also written here as they come; NULL: no */
};

void trace_begin(struct trace *t, const struct loop *l, FILE *live);
void trace_done(struct trace *t);
/* Lines above TRACE_LINE_BYTES are cut; the hash has the whole. */
void trace_add(struct trace *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Only into the hash: bodies. */
void trace_mix(struct trace *t, struct str bytes);
void trace_print(const struct trace *t, FILE *out);
/* ms since the run began. */
int64_t trace_now_ms(const struct trace *t);

#endif
