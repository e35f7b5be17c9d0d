/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdalign.h>

#include "base/buf.h"

#define FIRST_BLOCK_BYTES 4096
#define LAST_BLOCK_BYTES (256 * 1024)

struct block {
        struct block *next;
        size_t used, size;
        alignas(max_align_t) char data[];
};

struct arena {
        struct block *blocks; /* the current one first */
        size_t next_bytes;    /* size of the block to come */
        size_t total_bytes;
};

struct arena *arena_new(size_t first_bytes) {
        struct arena *a = mem_zalloc(sizeof *a);

        a->next_bytes = first_bytes ? first_bytes : FIRST_BLOCK_BYTES;
        a->total_bytes = sizeof *a;
        return a;
}

void arena_free(struct arena *a) {
        if (!a)
                return;
        for (struct block *b = a->blocks, *next; b; b = next) {
                next = b->next;
                free(b);
        }
        free(a);
}

static struct block *block_new(struct arena *a, size_t size) {
        struct block *b = mem_alloc(sizeof *b + size);

        b->used = 0;
        b->size = size;
        a->total_bytes += sizeof *b + size;
        return b;
}

/* A piece larger than the coming block gets a block of its own behind the current one, which stays in use. */
static void *alloc_large(struct arena *a, size_t n) {
        struct block *b = block_new(a, n);

        b->used = n;
        if (a->blocks) {
                b->next = a->blocks->next;
                a->blocks->next = b;
        } else {
                b->next = NULL;
                a->blocks = b;
        }
        return b->data;
}

void *arena_alloc(struct arena *a, size_t n) {
        size_t align = alignof(max_align_t);

        n = (n + align - 1) / align * align;
        if (!a->blocks || n > a->blocks->size - a->blocks->used) {
                if (n > a->next_bytes / 2)
                        return alloc_large(a, n);

                struct block *b = block_new(a, a->next_bytes);
                b->next = a->blocks;
                a->blocks = b;
                if (a->next_bytes < LAST_BLOCK_BYTES)
                        a->next_bytes *= 2;
        }
        void *p = a->blocks->data + a->blocks->used;
        a->blocks->used += n;
        return p;
}

void *arena_zalloc(struct arena *a, size_t n) {
        return memset(arena_alloc(a, n), 0, n);
}

struct str arena_str(struct arena *a, struct str s) {
        char *copy = arena_alloc(a, s.n + 1);

        if (s.n)
                memcpy(copy, s.p, s.n);
        copy[s.n] = '\0';
        return (struct str){ copy, s.n };
}

struct str arena_strf(struct arena *a, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        int n = vsnprintf(NULL, 0, fmt, ap);
        va_end(ap);
        if (n < 0)
                abort();

        char *text = arena_alloc(a, (size_t)n + 1);
        va_start(ap, fmt);
        vsnprintf(text, (size_t)n + 1, fmt, ap);
        va_end(ap);
        return (struct str){ text, (size_t)n };
}

size_t arena_bytes(const struct arena *a) {
        return a->total_bytes;
}
