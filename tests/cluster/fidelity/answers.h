/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Did both sides answer one request alike? Status, type of content, body, the events of a watch, and warnings;
 * compare.h says what may differ in them.
 */
#ifndef TRUCE_FIDELITY_ANSWERS_H
#define TRUCE_FIDELITY_ANSWERS_H

#include "compare.h"

struct twin_answer {
        int status; /* 0: none came */
        struct str content_type, body;
        struct str warnings; /* one a line */
};

/*
 * `watch`: the bodies are events, one a line, where both answered 200. Differences that `out` has stay there. Gives the
 * real body (not of events) with labels, or NULL where it is no JSON.
 */
const struct value *answers_compare(struct pairs *p, bool watch, const struct twin_answer answers[SIDE_COUNT],
                                    struct arena *a, struct differences *out);

#endif
