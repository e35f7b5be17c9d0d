/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts about objects that come in any order and are printed in one that is always the same: by application, then by
 * file and line, what has no file last, then by id.
 */
#ifndef TRUCE_CLI_BLOCKS_H
#define TRUCE_CLI_BLOCKS_H

#include "base/str.h"

struct blocks;

/* Where a text belongs. */
struct block_key {
        struct str app, file;
        uint32_t line;
        struct str id; /* of the object; empty: it is about the application, and comes first */
};

/* As memcmp(). */
int block_key_cmp(const struct block_key *x, const struct block_key *y);

struct block {
        struct block_key key;
        struct str text;
        size_t elements; /* whatever the caller counts in it */
};

struct blocks *blocks_new(void);
void blocks_free(struct blocks *b);

/* In place of what there was of that id in that application; empty: it is taken back. Copied. */
void blocks_set(struct blocks *b, const struct block *block);
/* All of them in order, borrowed until the next blocks_set(). */
const struct block *const *blocks_sorted(struct blocks *b, size_t *ret_count);

#endif
