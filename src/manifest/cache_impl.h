/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to manifest/: parsed blobs, counted by reference, and the cache that keeps some of them.
 *
 * A blob is immutable once made. The cache holds one reference, every set that uses it another; so what a set shows stays
 * valid whatever the cache does. Counting is atomic, the cache locks.
 */
#ifndef TRUCE_MANIFEST_CACHE_IMPL_H
#define TRUCE_MANIFEST_CACHE_IMPL_H

#include <stdatomic.h>

#include "manifest/render.h"

#define CACHE_KEY_BYTES (GIT_OID_BYTES + 1)

struct manifest_blob {
        atomic_uint refs;
        struct arena *arena;
        struct manifest_parsed parsed;
        /* The cache's own, under its lock. */
        char key[CACHE_KEY_BYTES];
        size_t bytes, index;
};

/*
 * Parses text into a blob with one reference, the caller's. What the parser leaves behind is not kept: the blob holds a
 * tight copy of the result.
 */
struct manifest_blob *manifest_blob_new(struct str text, enum manifest_format format);
void manifest_blob_unref(struct manifest_blob *blob);
DEFINE_CLEANUP(struct manifest_blob *, manifest_blob_unref)

/* A new reference to what is kept for the blob, or NULL. The same bytes read as YAML and as JSON are two entries. */
struct manifest_blob *manifest_cache_find(struct manifest_cache *cache, const struct git_id *id,
                                          enum manifest_format format);

/* Keeps a blob (which must be new), unless there is one already or it is larger than the whole cache. */
void manifest_cache_add(struct manifest_cache *cache, const struct git_id *id, enum manifest_format format,
                        struct manifest_blob *blob);

#endif
