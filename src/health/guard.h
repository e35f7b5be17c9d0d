/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The freshness guard: is the status about what the spec says now? health/rules.h has its rules.
 */
#ifndef TRUCE_HEALTH_GUARD_H
#define TRUCE_HEALTH_GUARD_H

#include "health/rules.h"

enum guard_answer {
        GUARD_ASK_RULE,    /* nothing against the rule */
        GUARD_NOT_HEALTHY, /* ask the rule; *ret_health stands for a Healthy of it */
        GUARD_SAYS,        /* *ret_health is the answer */
};
enum guard_answer guard_ask(const struct health_question *q, struct arena *a, struct health *ret_health);

/* The object as a rule shall see it: old conditions have status "Unknown". The object itself when there are none. */
const struct value *guard_view(const struct value *object, struct arena *a);

#endif
