/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/cache_impl.h"

#include <pthread.h>

#include "base/map.h"

struct manifest_cache {
        pthread_mutex_t lock;
        struct map *blobs;                      /* by key; borrowed, the references are counted by hand */
        struct manifest_blob *newest, *oldest;  /* by last use */
        size_t bytes, max_bytes;
};

struct manifest_blob *manifest_blob_new(struct str text, enum manifest_format format) {
        struct manifest_blob *blob = mem_zalloc(sizeof(*blob));

        atomic_init(&blob->refs, 1);
        blob->arena = arena_new(0);
        manifest_parse(text, format, blob->arena, &blob->parsed);
        blob->bytes = sizeof(*blob) + arena_bytes(blob->arena);
        return blob;
}

static void blob_ref(struct manifest_blob *blob) {
        atomic_fetch_add_explicit(&blob->refs, 1, memory_order_relaxed);
}

void manifest_blob_unref(struct manifest_blob *blob) {
        if (!blob || atomic_fetch_sub_explicit(&blob->refs, 1, memory_order_acq_rel) != 1)
                return;
        arena_free(blob->arena);
        free(blob);
}

struct manifest_cache *manifest_cache_new(size_t max_bytes) {
        struct manifest_cache *cache = mem_zalloc(sizeof(*cache));

        pthread_mutex_init(&cache->lock, NULL);
        cache->blobs = map_new(NULL);
        cache->max_bytes = max_bytes ? max_bytes : MANIFEST_CACHE_BYTES;
        return cache;
}

static struct str blob_key(const struct manifest_blob *blob) {
        return (struct str){ blob->key, sizeof(blob->key) };
}

static void make_key(char key[CACHE_KEY_BYTES], const struct git_id *id, enum manifest_format format) {
        memcpy(key, id->bytes, GIT_OID_BYTES);
        key[GIT_OID_BYTES] = (char)format;
}

static void unlink_blob(struct manifest_cache *cache, struct manifest_blob *blob) {
        if (blob->newer)
                blob->newer->older = blob->older;
        else
                cache->newest = blob->older;
        if (blob->older)
                blob->older->newer = blob->newer;
        else
                cache->oldest = blob->newer;
}

static void link_newest(struct manifest_cache *cache, struct manifest_blob *blob) {
        blob->newer = NULL;
        blob->older = cache->newest;
        if (cache->newest)
                cache->newest->newer = blob;
        else
                cache->oldest = blob;
        cache->newest = blob;
}

static void drop_oldest(struct manifest_cache *cache) {
        struct manifest_blob *blob = cache->oldest;

        unlink_blob(cache, blob);
        map_remove(cache->blobs, blob_key(blob));
        cache->bytes -= blob->bytes;
        manifest_blob_unref(blob);
}

void manifest_cache_free(struct manifest_cache *cache) {
        if (!cache)
                return;
        while (cache->oldest)
                drop_oldest(cache);
        map_free(cache->blobs);
        pthread_mutex_destroy(&cache->lock);
        free(cache);
}

size_t manifest_cache_bytes(struct manifest_cache *cache) {
        size_t bytes;

        pthread_mutex_lock(&cache->lock);
        bytes = cache->bytes;
        pthread_mutex_unlock(&cache->lock);
        return bytes;
}

size_t manifest_cache_count(struct manifest_cache *cache) {
        size_t count;

        pthread_mutex_lock(&cache->lock);
        count = map_count(cache->blobs);
        pthread_mutex_unlock(&cache->lock);
        return count;
}

struct manifest_blob *manifest_cache_find(struct manifest_cache *cache, const struct git_id *id,
                                          enum manifest_format format) {
        char key[CACHE_KEY_BYTES];
        struct manifest_blob *blob;

        make_key(key, id, format);
        pthread_mutex_lock(&cache->lock);
        blob = map_find(cache->blobs, (struct str){ key, sizeof(key) });
        if (blob) {
                unlink_blob(cache, blob);
                link_newest(cache, blob);
                blob_ref(blob);
        }
        pthread_mutex_unlock(&cache->lock);
        return blob;
}

void manifest_cache_add(struct manifest_cache *cache, const struct git_id *id, enum manifest_format format,
                        struct manifest_blob *blob) {
        make_key(blob->key, id, format);

        pthread_mutex_lock(&cache->lock);
        if (blob->bytes <= cache->max_bytes && !map_find(cache->blobs, blob_key(blob))) {
                while (cache->bytes + blob->bytes > cache->max_bytes)
                        drop_oldest(cache);
                blob_ref(blob);
                map_set(cache->blobs, blob_key(blob), blob);
                link_newest(cache, blob);
                cache->bytes += blob->bytes;
        }
        pthread_mutex_unlock(&cache->lock);
}
