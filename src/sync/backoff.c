/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/backoff.h"

int64_t backoff_ms(const struct backoff *b, unsigned attempt) {
        double ms = (double)b->first_ms;

        for (unsigned i = 1; i < attempt && ms < (double)b->max_ms; i++)
                ms *= b->factor;
        return ms < (double)b->max_ms ? (int64_t)ms : b->max_ms;
}

int64_t backoff_after(const struct backoff *b, unsigned attempt, const struct err *err, unsigned jitter) {
        int64_t ms = backoff_ms(b, attempt);

        if (ms < err->retry_after_ms)
                ms = err->retry_after_ms;
        if (err->code == ERR_DENIED && ms < BACKOFF_DENIED_MIN_MS)
                ms = BACKOFF_DENIED_MIN_MS;
        return ms + ms * (int64_t)jitter / 10000;
}
