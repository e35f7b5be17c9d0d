/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a struct git_deadline: how long is left, has it ended, and why. CLOCK_BOOTTIME, so that a suspended machine
 * does not stretch it.
 */
#ifndef TRUCE_GIT_DEADLINE_H
#define TRUCE_GIT_DEADLINE_H

#include <time.h>

#include "git/source.h"

/* How often a wait looks at the flag: what a cancel may take at most. */
#define GIT_CANCEL_POLL_MS 100

static inline int64_t git_now_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_BOOTTIME, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* 0, CANCELLED or TIMEOUT; `doing` completes "the deadline passed while …". */
static inline int git_deadline_check(struct git_deadline d, const char *doing, struct err *err) {
        if (d.cancelled && atomic_load(d.cancelled))
                return err_set(err, ERR_CANCELLED, "cancelled while %s", doing);
        if (git_now_ms() >= d.at_ms)
                return err_set(err, ERR_TIMEOUT, "the deadline passed while %s", doing);
        return 0;
}

/* How long a wait may sleep before it must look again: 0 to GIT_CANCEL_POLL_MS. */
static inline int git_deadline_nap_ms(struct git_deadline d) {
        int64_t left = d.at_ms - git_now_ms();

        if (left < 0)
                return 0;
        return left < GIT_CANCEL_POLL_MS ? (int)left : GIT_CANCEL_POLL_MS;
}

#endif
