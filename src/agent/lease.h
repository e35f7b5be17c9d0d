/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Override leases: a person keeps a change of theirs for a while on an object that Git has.
 *
 *   kubectl annotate deploy/web truce.dev/override-until=2026-12-01T14:32:00Z
 *   kubectl annotate deploy/web truce.dev/override=2h
 *
 * A duration counts from the last write of the manager that owns the annotation, as managedFields says; the server
 * renews that time with each of its writes, so truce counts from what it read first, and a restarted one may count from
 * later. A moment is exact.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_AGENT_LEASE_H
#define TRUCE_AGENT_LEASE_H

#include "own/managed.h"

#define LEASE_UNTIL "truce.dev/override-until"
#define LEASE_FOR   "truce.dev/override"

enum lease_state {
        LEASE_NONE,
        LEASE_READ,        /* *ret_until_ms is set; it may be over */
        LEASE_NEEDS_TIMES, /* a duration, and `m` has no times: read the object anew */
        LEASE_BAD,         /* the annotation cannot be read, or nobody owns it: there is no lease */
};

/* Tells leases of an object apart, by their annotations' text; empty: there is none. Borrowed. */
struct str lease_text(const struct value *live);

/*
 * `m` are the owners of `live`. The end in ms of Unix time, never later than `max_ms` after the write of whoever set it,
 * which takes times only for a moment that is further away than that.
 */
enum lease_state lease_read(const struct value *live, const struct managed *m, int64_t now_ms, int64_t max_ms,
                            int64_t *ret_until_ms);

#endif
