/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are two texts or bodies the same, apart from what must differ? That is paired (pairs.h); resourceVersions must be in
 * the same order on both sides. Moments in whole seconds may differ by one. Everything else is compared to the letter.
 */
#ifndef TRUCE_FIDELITY_COMPARE_H
#define TRUCE_FIDELITY_COMPARE_H

#include "pairs.h"

#define MAX_DIFFERENCES 64

struct difference {
        struct str place; /* "/spec/ports/0/name" */
        struct str real, sandbox;
        bool known; /* to known.txt: set by who asked */
};
struct differences {
        struct difference list[MAX_DIFFERENCES];
        size_t count; /* of all; only the first MAX_DIFFERENCES are kept */
        /*
         * The same causes or faults of fields, or finalizers that the server shuffles, in another order, or some fewer
         * of undeclared fields: no difference if the server itself does not always give them so.
         */
        bool reordered;
        bool skewed; /* a moment is a second apart: no difference, but what is sent back with it will be one */
};
void differences_add(struct differences *d, struct arena *a, struct str place, struct str real, struct str sandbox);

/* Bodies. `where` begins the places. Texts live in the arena. */
void compare_bodies(struct pairs *p, const char *where, const struct value *real, const struct value *sandbox,
                    struct arena *a, struct differences *out);
/* Messages and warnings: known pairs stand for each other. */
void compare_texts(struct pairs *p, const char *where, struct str real, struct str sandbox, struct arena *a,
                   struct differences *out);

#endif
