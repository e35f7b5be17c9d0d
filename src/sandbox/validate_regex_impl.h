/* SPDX-License-Identifier: Apache-2.0 */
/* The automaton between its making (validate_regex.c) and its running (validate_regex_run.c). */
#ifndef TRUCE_SANDBOX_VALIDATE_REGEX_IMPL_H
#define TRUCE_SANDBOX_VALIDATE_REGEX_IMPL_H

#include "sandbox/validate_regex.h"

enum op { OP_SET, OP_FORK, OP_JUMP, OP_ASSERT, OP_MATCH };

struct range {
        uint32_t from, to;
};

struct step {
        enum op op;
        bool negated;
        char assertion; /* ^ $ b B A z */
        size_t to, or_to;
        const struct range *ranges;
        size_t range_count;
};

/* The code point at *at, which moves behind it. Broken UTF-8 gives something, within the text. */
uint32_t regex_decode(struct str s, size_t *at);
/* Runs `count` steps over the text; does it match anywhere? */
bool regex_run(const struct step *steps, size_t count, struct str text, struct arena *a);

#endif
