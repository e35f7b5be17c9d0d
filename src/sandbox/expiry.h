/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events live an hour after they were written last, as with the API server's default --event-ttl; watches see them go.
 * No timer runs while there are none.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_EXPIRY_H
#define TRUCE_SANDBOX_EXPIRY_H

#include "sandbox/sandbox_impl.h"

#define EVENT_TTL_MS INT64_C(3600000)

struct expiry;
struct expiry *expiry_new(struct sandbox *s);
void expiry_free(struct expiry *x);
/* Forgets everything: the store was emptied. */
void expiry_reset(struct expiry *x);
/* Looks on at every commit. After loading: called with every object, which lives an hour from then. */
void expiry_tell(struct expiry *x, const struct kind *kind, struct version *after);

#endif
