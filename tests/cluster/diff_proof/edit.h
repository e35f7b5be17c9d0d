/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random edits of desired objects and random foreign writes to live ones, by category. Seeded: the same seed gives the
 * same edits.
 */
#ifndef TRUCE_TEST_EDIT_H
#define TRUCE_TEST_EDIT_H

#include "base/value.h"

enum edit_category {
        EDIT_REORDER,
        EDIT_BRACES, /* `{}` ↔ filled, `[]` ↔ filled */
        EDIT_DUPLICATE,
        EDIT_VERSION,
        EDIT_RESPELL,
        EDIT_FOREIGN,
        EDIT_STRING_DATA,
        EDIT_ORDINARY,
        EDIT_CATEGORIES,
};

/* A write by somebody else. */
struct foreign {
        const char *what;
        const char *content_type; /* NULL: none */
        const char *query;        /* "?fieldManager=…" */
        const struct value *body;
};

uint64_t roll(uint64_t n);
void roll_seed(uint64_t seed);

const char *edit_name(enum edit_category c);

/*
 * The object changed as the category says, or NULL when it offers nothing to change. `live` is what it was applied as.
 * REORDER, BRACES, DUPLICATE, RESPELL, STRING_DATA, ORDINARY only.
 */
const struct value *edit_make(enum edit_category c, const struct value *desired, const struct value *live,
                              struct arena *a);
/* False when the object offers nothing. */
bool foreign_make(const struct value *desired, const struct value *live, struct arena *a, struct foreign *ret);

#endif
