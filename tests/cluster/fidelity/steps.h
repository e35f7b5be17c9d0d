/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An episode: a few dozen requests to one kind in a namespace of its own, to objects that come and go, by three
 * managers. Which verbs says the deck; the next step is drawn with what is known of the objects from the answers so
 * far. Objects outside of namespaces have names of the episode and, as long as no step takes it, a label that its lists
 * ask for.
 */
#ifndef TRUCE_FIDELITY_STEPS_H
#define TRUCE_FIDELITY_STEPS_H

#include "deck.h"
#include "kube/transport.h"

#define SUBJECTS 3
#define MANAGERS 3
#define VERSIONS 64

/* A request with labels (compare.h) instead of what the sides do not share. */
struct step {
        unsigned number;
        enum verb verb;
        int subject; /* -1: the collection */
        enum kube_method method;
        struct str path, body;
        const char *content_type, *accept;
        bool shared; /* server-side apply to an object of two managers or more */
};

struct subject {
        struct str name;
        const struct value *live;              /* with labels; NULL: not there, as far as known */
        const struct value *applied[MANAGERS]; /* what was taken */
        const struct value *offered;           /* by the last apply */
        int offering;                          /* manager */
};

struct episode {
        const struct kind *kind;
        struct random random;
        struct arena *arena; /* of everything here */
        unsigned steps;
        struct deck deck;
        bool generated; /* a name; of several nobody knows how they sort */
        struct subject subjects[SUBJECTS];
        struct str versions[VERSIONS]; /* labels */
        unsigned version_count;
        struct str continue_label;
};

void episode_begin(struct episode *e, const struct kind *kind, uint64_t seed, struct arena *a);
/* False at the end. */
bool episode_next(struct episode *e, struct step *ret_step);
/* What the step was answered with: body with labels, NULL where it is no JSON. */
void episode_learn(struct episode *e, const struct step *s, int status, const struct value *body);
#endif
