/* SPDX-License-Identifier: Apache-2.0 */
/* The memory behind log_event_limited(), apart from the clock so that a test need not wait a minute. */
#ifndef TRUCE_BASE_LOG_IMPL_H
#define TRUCE_BASE_LOG_IMPL_H

#include "base/log.h"

#define LOG_LIMITED_EVERY_S 60

/*
 * May the line with this hash be written at `now_s`? Then *ret_repeated is how often it was held back since the last
 * time, and it counts as written. The hash must not be 0. Any thread.
 */
bool log_pass(uint64_t hash, int64_t now_s, unsigned *ret_repeated);

#endif
