/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/blocks.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"

#define KEY_MAX_BYTES (64 * 1024)

struct blocks {
        struct map *by_key; /* application and id → struct block */
        const struct block **sorted;
        size_t cap;
};

static void block_free(void *p) {
        struct block *block = p;

        free((char *)block->key.app.p);
        free((char *)block->key.file.p);
        free((char *)block->key.id.p);
        free((char *)block->text.p);
        free(block);
}

struct blocks *blocks_new(void) {
        struct blocks *b = mem_zalloc(sizeof *b);

        b->by_key = map_new(block_free);
        return b;
}

void blocks_free(struct blocks *b) {
        if (!b)
                return;
        map_free(b->by_key);
        free(b->sorted);
        free(b);
}

static struct str copy(struct str text) {
        return (struct str){ str_dup(text), text.n };
}

void blocks_set(struct blocks *b, const struct block *block) {
        _cleanup_(buf_done) struct buf key = buf_make(KEY_MAX_BYTES);
        struct block *own;

        buf_add(&key, block->key.app);
        buf_addch(&key, '\n');
        buf_add(&key, block->key.id);
        if (!block->text.n) {
                map_remove(b->by_key, buf_str(&key));
                return;
        }
        own = mem_alloc(sizeof *own);
        *own = (struct block){
                .key = { copy(block->key.app), copy(block->key.file), block->key.line, copy(block->key.id) },
                .text = copy(block->text), .elements = block->elements,
        };
        map_set(b->by_key, buf_str(&key), own);
}

int block_key_cmp(const struct block_key *x, const struct block_key *y) {
        int order = str_cmp(x->app, y->app);

        if (order == 0)
                order = (x->id.n > 0) - (y->id.n > 0);
        if (order == 0)
                order = (x->file.n == 0) - (y->file.n == 0);
        if (order == 0)
                order = str_cmp(x->file, y->file);
        if (order == 0)
                order = (x->line > y->line) - (x->line < y->line);
        return order ? order : str_cmp(x->id, y->id);
}

static int compare(const void *x, const void *y) {
        return block_key_cmp(&(*(const struct block *const *)x)->key, &(*(const struct block *const *)y)->key);
}

const struct block *const *blocks_sorted(struct blocks *b, size_t *ret_count) {
        size_t count = 0, at = 0;
        void *block;

        while (map_next(b->by_key, &at, NULL, &block)) {
                b->sorted = mem_grow(b->sorted, &b->cap, count + 1, sizeof(*b->sorted));
                b->sorted[count++] = block;
        }
        if (count)
                qsort(b->sorted, count, sizeof(*b->sorted), compare);
        *ret_count = count;
        return b->sorted;
}
