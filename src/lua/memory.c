/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/memory_impl.h"

#include <stdalign.h>

#include "base/buf.h"

/* Below the size from which the heap maps pages for each block anew (main.c). */
#define CHUNK_BYTES (48 * 1024)

struct memory_chunk {
        struct memory_chunk *next;
        alignas(max_align_t) char data[];
};

struct memory_vacant {
        struct memory_vacant *next;
};

struct memory_large {
        struct memory_large *next, *prev;
        alignas(max_align_t) char data[];
};

static size_t grains(size_t n) {
        return (n + MEMORY_GRAIN_BYTES - 1) / MEMORY_GRAIN_BYTES;
}

static bool take(struct memory *m, size_t n) {
        if (n > m->max_bytes || m->taken_bytes > m->max_bytes - n)
                return false;
        m->taken_bytes += n;
        return true;
}

/* The rest of the old chunk is lost, less than a small block. */
static bool add_chunk(struct memory *m) {
        if (!take(m, CHUNK_BYTES))
                return false;

        struct memory_chunk *chunk = mem_alloc(CHUNK_BYTES);
        chunk->next = m->chunks;
        m->chunks = chunk;
        m->rest = chunk->data;
        m->rest_bytes = CHUNK_BYTES - sizeof *chunk;
        return true;
}

static void *alloc_small(struct memory *m, size_t n) {
        size_t count = grains(n), bytes = count * MEMORY_GRAIN_BYTES;
        struct memory_vacant **vacant = &m->vacant[count - 1], *block = *vacant;

        if (block) {
                *vacant = block->next;
                return block;
        }
        if (bytes > m->rest_bytes && !add_chunk(m))
                return NULL;
        void *p = m->rest;
        m->rest += bytes;
        m->rest_bytes -= bytes;
        return p;
}

static void free_small(struct memory *m, void *p, size_t n) {
        struct memory_vacant *block = p, **vacant = &m->vacant[grains(n) - 1];

        block->next = *vacant;
        *vacant = block;
}

static void link_large(struct memory *m, struct memory_large *block) {
        block->prev = NULL;
        block->next = m->large;
        if (m->large)
                m->large->prev = block;
        m->large = block;
}

static void unlink_large(struct memory *m, struct memory_large *block) {
        if (block->prev)
                block->prev->next = block->next;
        else
                m->large = block->next;
        if (block->next)
                block->next->prev = block->prev;
}

static void *alloc_large(struct memory *m, size_t n) {
        if (n > m->max_bytes || !take(m, sizeof(struct memory_large) + n))
                return NULL;

        struct memory_large *block = mem_alloc(sizeof *block + n);
        link_large(m, block);
        return block->data;
}

static void free_large(struct memory *m, void *p, size_t n) {
        struct memory_large *block = CONTAINER_OF(p, struct memory_large, data);

        unlink_large(m, block);
        m->taken_bytes -= sizeof *block + n;
        free(block);
}

void *memory_alloc(struct memory *m, size_t n) {
        void *p = n > MEMORY_SMALL_BYTES ? alloc_large(m, n) : alloc_small(m, n);

        if (p)
                m->used_bytes += n;
        return p;
}

void memory_free(struct memory *m, void *p, size_t n) {
        m->used_bytes -= n;
        if (n > MEMORY_SMALL_BYTES)
                free_large(m, p, n);
        else
                free_small(m, p, n);
}

void *memory_resize(struct memory *m, void *p, size_t old, size_t n) {
        if (old <= MEMORY_SMALL_BYTES && n <= MEMORY_SMALL_BYTES && grains(old) == grains(n)) {
                m->used_bytes += n - old;
                return p;
        }
        void *moved = memory_alloc(m, n);
        if (!moved)
                return NULL;
        memcpy(moved, p, old < n ? old : n);
        memory_free(m, p, old);
        return moved;
}

void memory_done(struct memory *m) {
        for (struct memory_chunk *c = m->chunks, *next; c; c = next) {
                next = c->next;
                free(c);
        }
        for (struct memory_large *l = m->large, *next; l; l = next) {
                next = l->next;
                free(l);
        }
}
