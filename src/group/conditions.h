/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions of a Kubernetes status (metav1.Condition), as API conventions have them: a list keyed by type, in which
 * lastTransitionTime moves only when `status` flips, and observedGeneration says which spec the verdict is about.
 *
 * Conditions of others are kept as they are. Nothing changed means equal: a list that says what the one before said is
 * the one before, in its order; else it is sorted by type, so that equal content is written alike.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_GROUP_CONDITIONS_H
#define TRUCE_GROUP_CONDITIONS_H

#include "base/value.h"

/* The CRD's and metav1's bound for a message; longer ones are cut at a character's border. */
#define CONDITION_MESSAGE_MAX_BYTES 32768

struct condition {
        struct str type;
        bool on;           /* status "True", else "False" */
        struct str reason; /* CamelCase, not empty */
        struct str message;
};

/*
 * `before` (a list of conditions; NULL and anything else: none) with `set` in it. `generation` becomes the
 * observedGeneration of those in `set`, `now_ms` (Unix time) the lastTransitionTime of those that flip or are new.
 * Reason and message are always those of `set`. Of equal types in `set` the last one wins.
 */
const struct value *conditions_set(const struct value *before, const struct condition *set, size_t count,
                                   int64_t generation, int64_t now_ms, struct arena *a);

/* The one of that type, or NULL. */
const struct value *conditions_find(const struct value *conditions, struct str type);

/* Is there one of that type with status "True"? */
bool conditions_on(const struct value *conditions, struct str type);

#endif
