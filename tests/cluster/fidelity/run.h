/* SPDX-License-Identifier: Apache-2.0 */
/* One way of an episode's steps through both servers, in a namespace of its own. */
#ifndef TRUCE_FIDELITY_RUN_H
#define TRUCE_FIDELITY_RUN_H

#include "steps.h"
#include "twins.h"

struct run {
        struct twins *twins;
        struct pairs *pairs;
};

struct result {
        struct twin_request requests[SIDE_COUNT];
        struct twin_answer answers[SIDE_COUNT];
        struct differences differences;
        const struct value *body; /* the real one with labels, or NULL */
        bool unanswered;          /* a watch that the real server did not get to: nothing is compared */
};

/* Makes the namespace and what the kind needs in it. Exits with a message when a server cannot be reached. */
void run_begin(struct run *r, struct twins *twins, const struct kind *k, const char *namespace);
void run_end(struct run *r);
/* Sends one step to both and compares. Everything lives in the arena. */
void run_step(struct run *r, const struct step *s, struct arena *a, struct result *ret_result);

/*
 * The fewest of `steps` (the last one differs at `place`) that still lead to that difference, tried in fresh
 * namespaces. Marks those that may go in `dropped`.
 */
void run_shrink(struct twins *twins, const struct kind *k, const char *namespace, const struct step *steps,
                size_t count, struct str place, bool *dropped);

/* Custom types on both sides, ready for use. */
void run_add_crds(struct twins *twins, const char *path, struct arena *a);

#endif
