/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an episode asks, as cards: every verb its kind knows comes equally often, and so many server-side applies that
 * two requests in five go to objects of several managers. The cards of an episode depend on its random numbers alone,
 * so that it can be repeated without those before it; after EACH / DECK_ROUNDS whole episodes a kind has had EACH of
 * every verb.
 */
#ifndef TRUCE_FIDELITY_DECK_H
#define TRUCE_FIDELITY_DECK_H

#include "bodies.h"

enum verb {
        CREATE,
        GET,
        LIST,
        UPDATE,
        MERGE,
        JSON,
        STRATEGIC,
        APPLY,
        APPLY_DRY,
        STATUS,
        SCALE,
        DELETE,
        DELETECOLLECTION,
        WATCH,
        VERBS,
};
extern const char *const verb_names[VERBS];

#define DECK_ROUNDS 4 /* of each verb in an episode */
#define DECK_MAX    (DECK_ROUNDS * VERBS * 2)

struct deck {
        enum verb cards[DECK_MAX];
        size_t count, next;
};

/* Can the kind be asked this at all? */
bool kind_has_verb(const struct kind *k, enum verb verb);

/* Shuffled; deletes come late. */
void deck_deal(struct deck *d, const struct kind *k, struct random *r);
/* The card on top, left there; the deck is not empty. */
enum verb deck_top(const struct deck *d);
/* Brings a card with this verb to the top. False when none is left. */
bool deck_prefer(struct deck *d, enum verb verb);
/* Takes the card on top away. */
void deck_take(struct deck *d);

#endif
