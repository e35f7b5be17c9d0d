/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do two spellings mean the same? Quantities (apimachinery's resource.Quantity: `1000m` is `1`, `1024Mi` is `1Gi`) and
 * durations (Go's time.Duration as text: `60s` is `1m0s`).
 *
 * Exact, or false: what has more digits than can be held is the same only where it is spelt the same.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_OWN_AMOUNT_H
#define TRUCE_OWN_AMOUNT_H

#include "base/value.h"

/* Strings, and numbers as JSON has them. False for what is no quantity. */
bool quantity_equal(const struct value *a, const struct value *b);

/* Strings. False for what time.ParseDuration() would not take. */
bool duration_equal(const struct value *a, const struct value *b);

#endif
