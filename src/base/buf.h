/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct buf: an owned, growing run of bytes with a mandatory maximum and a sticky error.
 *
 * Every buffer says at its birth how large it may become. An append that would pass the maximum is dropped as a whole
 * and marks the buffer: a chain of appends is checked once, at the end, with buf_check(). `p` is never NULL and always
 * ends in a NUL that does not count in `n`.
 *
 * Out of memory aborts (mem_alloc): sizes from outside are bounded before anything is allocated.
 */
#ifndef TRUCE_BASE_BUF_H
#define TRUCE_BASE_BUF_H

#include <stdarg.h>

#include "base/err.h"
#include "base/str.h"

struct buf {
        char *p;
        size_t n;
        size_t cap;   /* bytes allocated, 0 while p is the shared empty string */
        size_t max;   /* n never passes it */
        bool overflow; /* an append was dropped */
};

/* An empty buffer of at most `max` bytes; allocates nothing yet. */
struct buf buf_make(size_t max);

/* Frees the bytes; the buffer is empty and usable again with the same maximum. */
void buf_done(struct buf *b);

/* Empties without freeing; clears the sticky error. */
void buf_clear(struct buf *b);

void buf_add(struct buf *b, struct str s);
void buf_addc(struct buf *b, const char *c);
void buf_addch(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

/* Drops the first n bytes (n ≤ b->n), moving the rest to the front. */
void buf_consume(struct buf *b, size_t n);

/* Cuts to n bytes; n must not exceed the length. */
void buf_truncate(struct buf *b, size_t n);

/* 0, or LIMIT when an append was dropped; `what` names the content in the message. */
int buf_check(const struct buf *b, const char *what, struct err *err);

/* The content, borrowed until the next change. */
static inline struct str buf_str(const struct buf *b) {
        return (struct str){ b->p, b->n };
}

/* Gives the bytes away (free() them; they end in NUL) and leaves the buffer empty. */
char *buf_take(struct buf *b);

/* malloc/calloc/realloc that abort with one line on stderr instead of returning NULL. free() the result. */
void *mem_alloc(size_t n) __attribute__((malloc));
void *mem_zalloc(size_t n) __attribute__((malloc));
void *mem_realloc(void *p, size_t n);
/* Grows an array of *cap items of `size` bytes so that it holds at least `want`; returns the new place. */
void *mem_grow(void *p, size_t *cap, size_t want, size_t size);

/* cleanup functions for locals: _cleanup_(buf_done) struct buf b; _cleanup_(mem_freep) char *s; */
static inline void mem_freep(void *p) {
        free(*(void **)p);
}

#endif
