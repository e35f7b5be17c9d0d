/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to own/: under which element of a set does a list's item stand?
 *
 * With a schema that is exact. Without one, the key fields are those the set's own elements use; an item that lacks one
 * of them may have it by a default we do not know, so nothing is said about it.
 */
#ifndef TRUCE_OWN_MATCH_H
#define TRUCE_OWN_MATCH_H

#include "own/fieldset.h"

/* How the items of one list are told apart. */
struct matcher {
        const struct schema *type; /* LIST_MAP or LIST_SET */
        struct schema guessed;     /* backing of `type` when the schema is silent */
        struct schema_key keys[SCHEMA_MAX_KEYS];
        bool is_guess;
};

/* False when the set's children say nothing a list can be matched by (fields, indexes, kinds mixed). */
bool matcher_init(struct matcher *m, const struct fieldset *set, const struct schema *type);
/* The element of an item; false when it cannot be told with certainty. */
bool matcher_element(const struct matcher *m, const struct value *item, struct arena *a, struct path_element *ret);

#endif
