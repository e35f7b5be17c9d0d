/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/buf.h"
#include "base/hash.h"

/* An entry with a NULL value is free; removal leaves `dead` behind so that probing goes on past it. */
struct entry {
        uint64_t hash;
        char *key;
        size_t key_bytes;
        void *value;
        bool dead;
};

struct map {
        struct entry *entries;
        size_t cap;  /* a power of two, or 0 */
        size_t used; /* live and dead */
        size_t live;
        void (*free_value)(void *value);
};

struct map *map_new(void (*free_value)(void *value)) {
        struct map *m = mem_zalloc(sizeof *m);

        m->free_value = free_value;
        return m;
}

void map_free(struct map *m) {
        if (!m)
                return;
        for (size_t i = 0; i < m->cap; i++) {
                if (!m->entries[i].value)
                        continue;
                free(m->entries[i].key);
                if (m->free_value)
                        m->free_value(m->entries[i].value);
        }
        free(m->entries);
        free(m);
}

size_t map_count(const struct map *m) {
        return m->live;
}

static struct entry *find_entry(const struct map *m, struct str key, uint64_t hash) {
        if (m->cap == 0)
                return NULL;

        for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
                struct entry *e = &m->entries[i];

                if (!e->value && !e->dead)
                        return NULL;
                if (e->value && e->hash == hash && str_eq((struct str){ e->key, e->key_bytes }, key))
                        return e;
        }
}

static struct entry *free_slot(const struct map *m, uint64_t hash) {
        size_t i = hash & (m->cap - 1);

        while (m->entries[i].value)
                i = (i + 1) & (m->cap - 1);
        return &m->entries[i];
}

/* Keeps at least a quarter of the slots free; dead slots go when the table is rebuilt. */
static void make_room(struct map *m) {
        if ((m->used + 1) * 4 <= m->cap * 3)
                return;

        struct map next = { .cap = m->cap ? m->cap : 8 };
        while ((m->live + 1) * 2 > next.cap)
                next.cap *= 2;
        next.entries = mem_zalloc(next.cap * sizeof *next.entries);
        for (size_t i = 0; i < m->cap; i++) {
                if (m->entries[i].value)
                        *free_slot(&next, m->entries[i].hash) = m->entries[i];
        }
        free(m->entries);
        m->entries = next.entries;
        m->cap = next.cap;
        m->used = m->live;
}

void *map_find(const struct map *m, struct str key) {
        struct entry *e = find_entry(m, key, hash64(hash_process_key(), key));

        return e ? e->value : NULL;
}

void map_set(struct map *m, struct str key, void *value) {
        uint64_t hash = hash64(hash_process_key(), key);
        struct entry *e = find_entry(m, key, hash);

        if (e) {
                if (m->free_value && e->value != value)
                        m->free_value(e->value);
                e->value = value;
                return;
        }

        make_room(m);
        e = free_slot(m, hash);
        if (!e->dead)
                m->used++;
        m->live++;
        *e = (struct entry){ hash, str_dup(key), key.n, value, false };
}

void *map_take(struct map *m, struct str key) {
        struct entry *e = find_entry(m, key, hash64(hash_process_key(), key));

        if (!e)
                return NULL;

        void *value = e->value;
        free(e->key);
        *e = (struct entry){ .dead = true };
        m->live--;
        return value;
}

bool map_remove(struct map *m, struct str key) {
        void *value = map_take(m, key);

        if (value && m->free_value)
                m->free_value(value);
        return value != NULL;
}

bool map_next(const struct map *m, size_t *at, struct str *ret_key, void **ret_value) {
        for (; *at < m->cap; (*at)++) {
                const struct entry *e = &m->entries[*at];

                if (!e->value)
                        continue;
                if (ret_key)
                        *ret_key = (struct str){ e->key, e->key_bytes };
                *ret_value = e->value;
                (*at)++;
                return true;
        }
        return false;
}
