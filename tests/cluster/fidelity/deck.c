/* SPDX-License-Identifier: Apache-2.0 */
#include "deck.h"

#define APPLIES_PERCENT 88 /* of the other requests: some go to objects of one manager and do not count */

const char *const verb_names[VERBS] = { "create",           "get",   "list",      "update", "merge", "json",
                                        "strategic",        "apply", "apply-dry", "status", "scale", "delete",
                                        "deletecollection", "watch" };

bool kind_has_verb(const struct kind *k, enum verb verb) {
        switch (verb) {
        case SCALE:
                return k->scale;
        case STATUS:
                return k->status;
        case STRATEGIC:
                return !k->custom;
        case DELETECOLLECTION:
                return !k->no_deletecollection;
        default:
                return true;
        }
}

static void swap(struct deck *d, size_t i, size_t j) {
        enum verb verb = d->cards[i];

        d->cards[i] = d->cards[j];
        d->cards[j] = verb;
}

static void add(struct deck *d, enum verb verb, size_t count) {
        while (count--)
                d->cards[d->count++] = verb;
}

static bool ends(enum verb verb) {
        return verb == DELETE || verb == DELETECOLLECTION;
}

/* What is deleted early is missing to all that follows. */
static void put_off_deletes(struct deck *d, struct random *r) {
        size_t late = d->count * 3 / 5, at;

        for (size_t i = 0; i < late; i++) {
                if (!ends(d->cards[i]))
                        continue;
                do
                        at = late + random_below(r, (unsigned)(d->count - late));
                while (ends(d->cards[at]));
                swap(d, i, at);
        }
}

void deck_deal(struct deck *d, const struct kind *k, struct random *r) {
        *d = (struct deck){ 0 };
        for (enum verb v = 0; v < VERBS; v++)
                if (v != APPLY && v != APPLY_DRY && kind_has_verb(k, v))
                        add(d, v, DECK_ROUNDS);
        add(d, APPLY, d->count * APPLIES_PERCENT / 100 - DECK_ROUNDS);
        add(d, APPLY_DRY, DECK_ROUNDS);
        for (size_t i = d->count; i > 1; i--)
                swap(d, i - 1, random_below(r, (unsigned)i));
        put_off_deletes(d, r);
}

enum verb deck_top(const struct deck *d) {
        return d->cards[d->next];
}

bool deck_prefer(struct deck *d, enum verb verb) {
        for (size_t i = d->next; i < d->count; i++)
                if (d->cards[i] == verb) {
                        swap(d, i, d->next);
                        return true;
                }
        return false;
}

void deck_take(struct deck *d) {
        d->next++;
}
