/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are two answers the same, apart from what must differ? That is: uids, resourceVersions, allotted addresses and node
 * ports, generated names, continue tokens. Those are paired: what stands for what is learned where both sides first show
 * it, and must hold from then on. resourceVersions must come in the same order on both sides. Times may differ by a
 * second. Everything else is compared to the letter.
 *
 * A pair has a label such as "@V12.0@" (version, first seen in step 12). Requests are written with labels and get each
 * side's own value when sent, so a step can be sent again in another run that goes the same way.
 */
#ifndef TRUCE_FIDELITY_COMPARE_H
#define TRUCE_FIDELITY_COMPARE_H

#include "base/value.h"

#define MAX_DIFFERENCES 8

enum side { SIDE_REAL, SIDE_SANDBOX, SIDE_COUNT };

struct pairs;
struct pairs *pairs_new(void);
void pairs_free(struct pairs *p);
DEFINE_CLEANUP(struct pairs *, pairs_free)
/* Pairs seen from now on are labelled with this step. */
void pairs_step(struct pairs *p, unsigned step);
/* A pair known from the start, as that of the namespaces' names: `label` is the text between the @. */
void pairs_add(struct pairs *p, const char *label, struct str real, struct str sandbox);

struct difference {
        struct str place; /* "/spec/ports/0/name" */
        struct str real, sandbox;
};
struct differences {
        struct difference list[MAX_DIFFERENCES];
        size_t count;   /* of all; only the first MAX_DIFFERENCES are kept */
        bool reordered; /* a message tells the same causes in another order: no difference */
};
void differences_add(struct differences *d, struct arena *a, struct str place, struct str real, struct str sandbox);

/* Bodies. `where` begins the places. Texts live in the arena. */
void compare_bodies(struct pairs *p, const char *where, const struct value *real, const struct value *sandbox,
                    struct arena *a, struct differences *out);
/* Messages and warnings: known pairs stand for each other. */
void compare_texts(struct pairs *p, const char *where, struct str real, struct str sandbox, struct arena *a,
                   struct differences *out);

/* The real side's value with labels for what is paired. */
const struct value *pairs_label(struct pairs *p, struct arena *a, const struct value *real);
/* Text with labels, as one side is to get it. Ends in NUL. */
struct str pairs_fill(const struct pairs *p, struct arena *a, enum side side, struct str text);

#endif
