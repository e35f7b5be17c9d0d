/* SPDX-License-Identifier: Apache-2.0 */
/* Private to compare*.c: what makes two texts the same though their letters differ. */
#ifndef TRUCE_FIDELITY_COMPARE_IMPL_H
#define TRUCE_FIDELITY_COMPARE_IMPL_H

#include "compare.h"

/* Both are moments in whole seconds, at most one second apart. */
bool texts_same_time(struct str real, struct str sandbox);
/* Both are ages in seconds ("7s"), of which tables are full, at most one second apart. */
bool texts_same_age(struct str real, struct str sandbox);
/* The same lines, or the same items of one "… [ONE, TWO]", in another order. */
bool texts_reordered(struct arena *a, struct str real, struct str sandbox);
/* With each list of finalizers that it quotes in their order, for where the server shuffles them. */
struct str texts_with_sorted_finalizers(struct arena *a, struct str text);
/* Refusals of fields that no schema declares: one may tell of more of a map's members than the other. */
bool texts_same_undeclared(struct str real, struct str sandbox);
/* For qsort() of struct str. */
int texts_order(const void *a, const void *b);

#endif
