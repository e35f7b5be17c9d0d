/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to wait before trying again. Pure arithmetic; the caller counts attempts and owns the timer.
 */
#ifndef TRUCE_SYNC_BACKOFF_H
#define TRUCE_SYNC_BACKOFF_H

#include <stdint.h>

#include "base/err.h"

/* An admission policy's refusal is not retried sooner (design §9). */
#define BACKOFF_DENIED_MIN_MS (60 * INT64_C(1000))

struct backoff {
        int64_t first_ms; /* wait before the second attempt */
        double factor;
        int64_t max_ms;
};

/* Argo CD's retry defaults: 5 s, factor 2, at most 3 min. */
#define BACKOFF_SYNC ((struct backoff){ 5000, 2, 3 * 60 * 1000 })
/* For one object that lost a race or whose request broke. */
#define BACKOFF_OBJECT ((struct backoff){ 250, 2, 60 * 1000 })

/* Wait before attempt number `attempt` + 1, where `attempt` ≥ 1 have failed. */
int64_t backoff_ms(const struct backoff *b, unsigned attempt);

/*
 * The same, raised to what the error asks for: retry_after_ms, and BACKOFF_DENIED_MIN_MS for DENIED. `jitter` in
 * [0, 1000) adds up to a tenth, so that many objects do not come back at once.
 */
int64_t backoff_after(const struct backoff *b, unsigned attempt, const struct err *err, unsigned jitter);

#endif
