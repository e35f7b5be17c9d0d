/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What writing (save.c) and reading (load.c) a saved state have in common: one JSON document, {"format": 1, "sum": …,
 * "resourceVersion": N, "objects": [{"group", "plural", "object"}, …]}. The sum is over all that follows the first line.
 */
#ifndef TRUCE_SANDBOX_SAVE_IMPL_H
#define TRUCE_SANDBOX_SAVE_IMPL_H

#include "base/hash.h"
#include "base/limits.h"

#define SAVE_MAX_BYTES JSON_MAX_BYTES
#define SAVE_FORMAT    1

/* Against damage, not against malice. */
void save_sum(struct str text, char ret_hex[HASH128_HEX_BYTES + 1]);

#endif
