/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Against flapping: what is shown of an object, from what is judged of it over time.
 *
 *  - A Degraded that is not terminal is shown when it has held for HEALTH_DEAD_BAND_MS, as Progressing until then:
 *    knative-style kinds pass through it while routes settle, autoscalers when a metric is late.
 *  - After a write of ours, an object that does not say which generation its status is about is not shown Healthy for
 *    HEALTH_SETTLE_MS: its status may be from before.
 *  - Everything else is shown at once.
 *
 * Thread rule: pure; struct health_settle belongs to the caller, one an object, zeroed at first.
 */
#ifndef TRUCE_HEALTH_SETTLE_H
#define TRUCE_HEALTH_SETTLE_H

#include "health/health.h"

#define HEALTH_DEAD_BAND_MS INT64_C(10000)
#define HEALTH_SETTLE_MS    INT64_C(2000)

struct health_settle {
        enum health_code shown, seen;
        int64_t seen_since_ms;
};

/*
 * Takes in what was judged. True: `shown` has changed. applied_ms: Unix time of our last write, 0: none;
 * publishes_generation as health_publishes_generation() says. *ret_again_ms: when to judge again though nothing
 * changed, the rule's own wish (again_ms) included; 0: never.
 */
bool health_settle(struct health_settle *s, const struct health *h, int64_t applied_ms, bool publishes_generation,
                   int64_t now_ms, int64_t *ret_again_ms);

#endif
