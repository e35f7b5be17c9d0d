/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct map: a hash map from byte strings to pointers. Keys are copied, values are the caller's. Seeded per process,
 * so untrusted keys are safe. Open addressing; iteration order is arbitrary: sort before you show anything.
 *
 * Thread rule: one thread at a time.
 */
#ifndef TRUCE_BASE_MAP_H
#define TRUCE_BASE_MAP_H

#include "base/macro.h"
#include "base/str.h"

struct map;

/* `free_value` is called for each value that is replaced, removed or left at map_free(); NULL: values are borrowed. */
struct map *map_new(void (*free_value)(void *value));
void map_free(struct map *m);
DEFINE_CLEANUP(struct map *, map_free)

size_t map_count(const struct map *m);

/* The value, or NULL when the key is absent. */
void *map_find(const struct map *m, struct str key);

/* Sets or replaces; value must not be NULL. */
void map_set(struct map *m, struct str key, void *value);

/* Removes the key and frees its value; false when it was absent. */
bool map_remove(struct map *m, struct str key);

/* Removes the key and gives the value to the caller; NULL when absent. */
void *map_take(struct map *m, struct str key);

/*
 * Walks all entries: `size_t at = 0; while (map_next(m, &at, &key, &value)) …`. Removing the entry just returned is
 * allowed during the walk; inserting is not. ret_key may be NULL.
 */
bool map_next(const struct map *m, size_t *at, struct str *ret_key, void **ret_value);

#endif
