/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two sides do not share: uids, resourceVersions, allotted addresses and node ports, generated names, continue
 * tokens. What stands for what is learned where both sides first show it, and must hold from then on.
 *
 * A pair has a label such as "@V12.0@" (version, first seen in step 12). Requests are written with labels and get each
 * side's own value when sent, so a step can be sent again in another run that goes the same way.
 */
#ifndef TRUCE_FIDELITY_PAIRS_H
#define TRUCE_FIDELITY_PAIRS_H

#include "base/value.h"

enum side { SIDE_REAL, SIDE_SANDBOX, SIDE_COUNT };

enum pair_kind { PAIR_UID, PAIR_VERSION, PAIR_ADDRESS, PAIR_PORT, PAIR_NAME, PAIR_TOKEN, PAIR_FIXED };

struct pair {
        enum pair_kind kind;
        struct str label; /* between the @ */
        struct str text[SIDE_COUNT];
};

struct pairs;
struct pairs *pairs_new(void);
void pairs_free(struct pairs *p);
DEFINE_CLEANUP(struct pairs *, pairs_free)
/* Pairs seen from now on are labelled with this step. */
void pairs_step(struct pairs *p, unsigned step);
/* A pair known from the start, as that of the namespaces' names: `label` is the text between the @. */
void pairs_add(struct pairs *p, const char *label, struct str real, struct str sandbox);

/* The server shuffles the finalizers of these objects. */
void pairs_set_shuffled(struct pairs *p, bool shuffled);
bool pairs_are_shuffled(const struct pairs *p);

/* May be NULL. */
const struct pair *pairs_find(const struct pairs *p, struct arena *a, enum side side, enum pair_kind kind,
                              struct str text);
void pairs_learn(struct pairs *p, enum pair_kind kind, struct str real, struct str sandbox);
/*
 * Versions that neither side has shown yet: is there none that is older on one side and newer on the other? Notes them
 * then; the caller learns the pair. True of others.
 */
bool pairs_in_order(struct pairs *p, struct arena *a, struct str real, struct str sandbox);
/* Is it as new as all versions that were noted? */
bool pairs_is_latest(const struct pairs *p, enum side side, struct str version);
/* The newest that was noted; 0: none. */
uint64_t pairs_latest(const struct pairs *p, enum side side);

bool pairs_is_uid(struct str s);
/* One that steps and kinds.yaml make up: it is the same on both sides. */
bool pairs_is_given_uid(struct str uid);
bool pairs_is_port(const struct value *v);

/* The text with labels for the words that are paired. */
struct str pairs_label_text(const struct pairs *p, struct arena *a, enum side side, struct str text);
/* The real side's value with labels for what is paired. */
const struct value *pairs_label(const struct pairs *p, struct arena *a, const struct value *real);
/* Text with labels, as one side is to get it. Ends in NUL. */
struct str pairs_fill(const struct pairs *p, struct arena *a, enum side side, struct str text);

#endif
