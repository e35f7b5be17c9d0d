/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligns two sequences: which items of the one are which items of the other (a longest common subsequence).
 *
 * Common beginnings and ends cost nothing; what is between them is compared item by item, unless that would take more
 * than ALIGN_MAX_CELLS comparisons: then everything between counts as different.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_DIFF_ALIGN_H
#define TRUCE_DIFF_ALIGN_H

#include "base/arena.h"

#include <stdint.h>

#define ALIGN_MAX_CELLS (2 * 1024 * 1024)
#define ALIGN_NONE      SIZE_MAX

/* Are item i of the first and item j of the second the same? */
typedef bool (*align_equal)(const void *ctx, size_t i, size_t j);

/*
 * For each of the n items of the first its place in the second, increasing, or ALIGN_NONE. The array lives in the
 * arena.
 */
const size_t *align(size_t n, size_t m, align_equal equal, const void *ctx, struct arena *a);

#endif
