/* SPDX-License-Identifier: Apache-2.0 */
#include "health/settle.h"

static void sooner(int64_t *at_ms, int64_t candidate_ms) {
        if (*at_ms == 0 || candidate_ms < *at_ms)
                *at_ms = candidate_ms;
}

bool health_settle(struct health_settle *s, const struct health *h, int64_t applied_ms, bool publishes_generation,
                   int64_t now_ms, int64_t *ret_again_ms) {
        enum health_code before = s->shown;
        int64_t again_ms = h->again_ms > now_ms ? h->again_ms : 0, since_apply_ms = now_ms - applied_ms;

        /* A clock that went back must not prolong anything. */
        if (h->code != s->seen || s->seen_since_ms > now_ms)
                s->seen_since_ms = now_ms;
        s->seen = h->code;
        s->shown = h->code;

        if (h->code == HEALTH_DEGRADED && !h->terminal && before != HEALTH_DEGRADED &&
            now_ms - s->seen_since_ms < HEALTH_DEAD_BAND_MS) {
                s->shown = HEALTH_PROGRESSING;
                sooner(&again_ms, s->seen_since_ms + HEALTH_DEAD_BAND_MS);
        }
        if (h->code == HEALTH_HEALTHY && applied_ms != 0 && !publishes_generation && since_apply_ms >= 0 &&
            since_apply_ms < HEALTH_SETTLE_MS) {
                s->shown = HEALTH_PROGRESSING;
                sooner(&again_ms, applied_ms + HEALTH_SETTLE_MS);
        }
        *ret_again_ms = again_ms;
        return s->shown != before;
}
