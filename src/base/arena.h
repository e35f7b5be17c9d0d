/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct arena: memory for things that die together (one document, one diff, one request). Pieces are never freed
 * alone; arena_free() frees all. Pieces are aligned for any type.
 *
 * Thread rule: one thread at a time; a finished arena's content may be read by many.
 */
#ifndef TRUCE_BASE_ARENA_H
#define TRUCE_BASE_ARENA_H

#include "base/macro.h"
#include "base/str.h"

struct arena;

/* `first_bytes` sizes the first block (0: 4 KiB); later blocks double up to 256 KiB. Allocated lazily. */
struct arena *arena_new(size_t first_bytes);
void arena_free(struct arena *a);
DEFINE_CLEANUP(struct arena *, arena_free)

/* n bytes, not cleared; n 0 gives a valid pointer. Aborts when memory is out: bound n before you ask. */
void *arena_alloc(struct arena *a, size_t n);
void *arena_zalloc(struct arena *a, size_t n);

/* A copy that ends in NUL (not counted in n). */
struct str arena_str(struct arena *a, struct str s);

/* Formatted text that ends in NUL. */
struct str arena_strf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Bytes taken from the heap so far: what a cache charges for the content. */
size_t arena_bytes(const struct arena *a);

#endif
