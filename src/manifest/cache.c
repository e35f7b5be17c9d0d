/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/cache_impl.h"

#include <pthread.h>

#include "base/map.h"

#define BLOB_FIRST_BYTES 512

struct manifest_cache {
        pthread_mutex_t lock;
        struct map *by_key;           /* borrowed, the references are counted by hand */
        struct manifest_blob **blobs; /* all of them, in no order */
        size_t count, cap;
        size_t bytes, max_bytes;
        uint32_t lot;                 /* xorshift state */
};

/* Packing: a copy of a parse result without what lies beside it in the parser's arena. */

static const struct yaml_note *pack_notes(const struct yaml_note *from, size_t count, struct arena *a) {
        struct yaml_note *notes = count ? arena_alloc(a, count * sizeof(*notes)) : NULL;

        for (size_t i = 0; i < count; i++)
                notes[i] = (struct yaml_note){ arena_str(a, from[i].key), from[i].first_line, from[i].line };
        return notes;
}

static void pack_object(struct manifest_object *o, struct arena *a) {
        const struct value *v = value_dup(a, o->value);
        struct str api = value_text(value_getc(v, "apiVersion"));

        o->value = v;
        o->group = str_sub(api, 0, o->group.n);
        o->version = str_sub(api, api.n - o->version.n, api.n);
        o->kind = value_text(value_getc(v, "kind"));
        o->ns = value_text(value_path(v, "metadata", "namespace", NULL));
        o->name = value_text(value_path(v, "metadata", "name", NULL));
}

static const struct manifest_object *pack_objects(const struct manifest_object *from, size_t count, struct arena *a) {
        struct manifest_object *objects = count ? arena_alloc(a, count * sizeof(*objects)) : NULL;

        for (size_t i = 0; i < count; i++) {
                objects[i] = from[i];
                pack_object(&objects[i], a);
                /* Items of one list go on sharing their notes: that tells that they were one document. */
                if (i > 0 && from[i].duplicate_keys == from[i - 1].duplicate_keys)
                        objects[i].duplicate_keys = objects[i - 1].duplicate_keys;
                else
                        objects[i].duplicate_keys = pack_notes(from[i].duplicate_keys, from[i].duplicate_key_count, a);
        }
        return objects;
}

static const struct manifest_problem *pack_problems(const struct manifest_problem *from, size_t count,
                                                    struct arena *a) {
        struct manifest_problem *problems = count ? arena_alloc(a, count * sizeof(*problems)) : NULL;

        for (size_t i = 0; i < count; i++) {
                problems[i] = from[i];
                problems[i].object = arena_str(a, from[i].object);
                problems[i].message = arena_str(a, from[i].message);
        }
        return problems;
}

struct manifest_blob *manifest_blob_new(struct str text, enum manifest_format format) {
        _cleanup_(arena_freep) struct arena *scratch = arena_new(0);
        struct manifest_blob *blob = mem_zalloc(sizeof(*blob));
        struct manifest_parsed *p = &blob->parsed;

        atomic_init(&blob->refs, 1);
        blob->arena = arena_new(BLOB_FIRST_BYTES);
        manifest_parse(text, format, scratch, p);
        p->objects = pack_objects(p->objects, p->object_count, blob->arena);
        p->refused = pack_objects(p->refused, p->refused_count, blob->arena);
        p->errors = pack_problems(p->errors, p->error_count, blob->arena);
        p->warnings = pack_problems(p->warnings, p->warning_count, blob->arena);
        blob->bytes = sizeof(*blob) + arena_bytes(blob->arena);
        return blob;
}

/* References. */

static void blob_ref(struct manifest_blob *blob) {
        atomic_fetch_add_explicit(&blob->refs, 1, memory_order_relaxed);
}

void manifest_blob_unref(struct manifest_blob *blob) {
        if (!blob || atomic_fetch_sub_explicit(&blob->refs, 1, memory_order_acq_rel) != 1)
                return;
        arena_free(blob->arena);
        free(blob);
}

/* The cache. */

struct manifest_cache *manifest_cache_new(size_t max_bytes) {
        struct manifest_cache *cache = mem_zalloc(sizeof(*cache));

        pthread_mutex_init(&cache->lock, NULL);
        cache->by_key = map_new(NULL);
        cache->max_bytes = max_bytes ? max_bytes : MANIFEST_CACHE_BYTES;
        cache->lot = 1;
        return cache;
}

static struct str blob_key(const struct manifest_blob *blob) {
        return (struct str){ blob->key, sizeof(blob->key) };
}

static void make_key(char key[CACHE_KEY_BYTES], const struct git_id *id, enum manifest_format format) {
        memcpy(key, id->bytes, GIT_OID_BYTES);
        key[GIT_OID_BYTES] = (char)format;
}

static void drop(struct manifest_cache *cache, struct manifest_blob *blob) {
        struct manifest_blob *last = cache->blobs[--cache->count];

        cache->blobs[blob->index] = last;
        last->index = blob->index;
        map_remove(cache->by_key, blob_key(blob));
        cache->bytes -= blob->bytes;
        manifest_blob_unref(blob);
}

/* Marsaglia's xorshift32. */
static struct manifest_blob *draw(struct manifest_cache *cache) {
        cache->lot ^= cache->lot << 13;
        cache->lot ^= cache->lot >> 17;
        cache->lot ^= cache->lot << 5;
        return cache->blobs[cache->lot % cache->count];
}

static void keep(struct manifest_cache *cache, struct manifest_blob *blob) {
        blob_ref(blob);
        blob->index = cache->count;
        cache->blobs = mem_grow(cache->blobs, &cache->cap, cache->count + 1, sizeof(*cache->blobs));
        cache->blobs[cache->count++] = blob;
        map_set(cache->by_key, blob_key(blob), blob);
        cache->bytes += blob->bytes;
}

void manifest_cache_free(struct manifest_cache *cache) {
        if (!cache)
                return;
        while (cache->count > 0)
                drop(cache, cache->blobs[cache->count - 1]);
        free(cache->blobs);
        map_free(cache->by_key);
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
        count = cache->count;
        pthread_mutex_unlock(&cache->lock);
        return count;
}

struct manifest_blob *manifest_cache_find(struct manifest_cache *cache, const struct git_id *id,
                                          enum manifest_format format) {
        char key[CACHE_KEY_BYTES];
        struct manifest_blob *blob;

        make_key(key, id, format);
        pthread_mutex_lock(&cache->lock);
        blob = map_find(cache->by_key, (struct str){ key, sizeof(key) });
        if (blob)
                blob_ref(blob);
        pthread_mutex_unlock(&cache->lock);
        return blob;
}

void manifest_cache_add(struct manifest_cache *cache, const struct git_id *id, enum manifest_format format,
                        struct manifest_blob *blob) {
        make_key(blob->key, id, format);

        pthread_mutex_lock(&cache->lock);
        if (blob->bytes <= cache->max_bytes && !map_find(cache->by_key, blob_key(blob))) {
                while (cache->bytes + blob->bytes > cache->max_bytes)
                        drop(cache, draw(cache));
                keep(cache, blob);
        }
        pthread_mutex_unlock(&cache->lock);
}
