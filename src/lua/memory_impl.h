/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of one evaluation: small blocks are cut from chunks and reused by size, large ones come from the heap; all
 * go at once. What is taken from the heap never passes the cap.
 */
#ifndef TRUCE_LUA_MEMORY_IMPL_H
#define TRUCE_LUA_MEMORY_IMPL_H

#include <stddef.h>

#define MEMORY_GRAIN_BYTES 16
#define MEMORY_SMALL_BYTES 512 /* larger blocks are the heap's */

struct memory {
        char *rest; /* of the newest chunk */
        size_t rest_bytes;
        struct memory_chunk *chunks;
        struct memory_large *large;
        struct memory_vacant *vacant[MEMORY_SMALL_BYTES / MEMORY_GRAIN_BYTES]; /* [i]: blocks of (i + 1) grains */
        size_t taken_bytes;                                                    /* from the heap */
        size_t used_bytes;                                                     /* in blocks that are not freed */
        size_t max_bytes;                                                      /* of taken_bytes */
};

/* A zeroed memory with max_bytes set is ready. NULL when the cap would be passed. n > 0. */
void *memory_alloc(struct memory *m, size_t n);
void memory_free(struct memory *m, void *p, size_t n);
/* NULL when the cap would be passed; the block is as it was then. */
void *memory_resize(struct memory *m, void *p, size_t old, size_t n);
void memory_done(struct memory *m);

#endif
