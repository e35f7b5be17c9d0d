/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps a LeaderWorkerSet from being acted on: all of it at once, each with its path and a sentence, worded as the
 * API server and upstream's webhook word it, since no webhook of ours refuses the object when it is written.
 */
#ifndef TRUCE_GROUP_PROBLEM_H
#define TRUCE_GROUP_PROBLEM_H

#include "base/arena.h"

enum group_problem_kind {
        GROUP_INVALID,     /* the value is wrong */
        GROUP_UNSUPPORTED, /* truce does not do what the field asks for */
};

struct group_problem {
        enum group_problem_kind kind;
        struct str path; /* spec.replicas, metadata.annotations.KEY … */
        struct str text; /* Invalid value: -1: replicas must be equal or greater than 0 */
};

/* Starts as { 0 }; only group_problems_add() lets it grow. */
struct group_problems {
        struct group_problem *items;
        size_t count;
};

/* Appends one. `path` is copied. */
void group_problems_add(struct group_problems *problems, struct arena *a, enum group_problem_kind kind, struct str path,
                        const char *fmt, ...) PRINTF_LIKE(5, 6);

#endif
