/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One folder of one commit → the set of desired objects. Files come from the object store; there is no checkout.
 *
 * Which files (Argo CD's directory source): those in `path` (and below it with `recurse`) that end in .yaml, .yml or
 * .json, filtered by the globs of glob.h on the path relative to `path`. A folder that holds kustomization.yaml,
 * kustomization.yml, Kustomization or Chart.yaml, or a .jsonnet file, is UNSUPPORTED as a whole unless the globs leave
 * that file out: better not applied than applied wrongly.
 *
 * Errors come in two sorts. What blinds the whole render is returned (no such folder, remote trouble, an unsupported
 * kind of folder, sizes above a cap). What concerns one file or object is in `errors`, the rest is rendered:
 *  - `complete` is false when a document could not be read so far that its key is known. The caller must then not prune:
 *    what is missing from the set may well be in Git.
 *  - objects in `refused` are known by key and must not be applied; they count as desired, so they are never pruned.
 *    Among them: both sides of a duplicate (same group, kind, namespace and name, reported with both file:line), objects
 *    with hooks or waves, wrong metadata.
 * A caller that wants a broken commit to change nothing looks at error_count; that is what `agent/` does.
 *
 * Unchanged blobs are not parsed again: struct manifest_cache keeps what document.h made of a blob. Sets share it by
 * reference, so a set stays valid after the cache dropped the blob or was freed.
 *
 * Thread rule: manifest_render() runs on a pool thread, several at once on one cache (it locks inside). A set belongs to
 * whoever holds it and may be freed on any thread.
 */
#ifndef TRUCE_MANIFEST_RENDER_H
#define TRUCE_MANIFEST_RENDER_H

#include "git/source.h"
#include "manifest/document.h"

struct manifest_cache;

/*
 * Keeps at most `max_bytes` of parsed documents (0: MANIFEST_CACHE_BYTES), about 1.5 KiB for a small object. What goes
 * when it is full is drawn by lot: renders read the same files over and over, and if the least recently used went, a
 * repository a little larger than the cache would find nothing in it.
 */
#define MANIFEST_CACHE_BYTES (64 * 1024 * 1024)
struct manifest_cache *manifest_cache_new(size_t max_bytes);
void manifest_cache_free(struct manifest_cache *cache);
DEFINE_CLEANUP(struct manifest_cache *, manifest_cache_free)

/* Bytes and blobs held now. */
size_t manifest_cache_bytes(struct manifest_cache *cache);
size_t manifest_cache_count(struct manifest_cache *cache);

struct manifest_source {
        struct str path;              /* folder from the root; "" or "." is the root */
        bool recurse;
        struct str include, exclude;  /* globs; empty: none */
        bool any_extension;           /* take what `include` matches whatever it ends in (disableExtensionFilter) */
        struct str default_namespace; /* for telling duplicates; objects get it when they are bound */
        bool strict_yaml;             /* a duplicate key is an error, not a warning */
        uint64_t max_bytes;           /* of all files together; 0: MANIFEST_MAX_TOTAL_BYTES */
};

struct manifest_set {
        struct manifest_object *objects; /* in apply order (order.h), then namespace, then name */
        size_t object_count;
        struct manifest_object *refused; /* desired, but not to be applied */
        size_t refused_count;
        struct manifest_problem *errors; /* by file, line */
        size_t error_count;
        struct manifest_problem *warnings;
        size_t warning_count;
        bool complete;
        size_t file_count;   /* files that were looked at */
        uint64_t bytes;      /* of them together */
        size_t parsed_count; /* of these, not found in the cache */
        struct str empty_part; /* of a set that was joined (join.h): title of a source without objects; empty: none is */
        struct arena *arena; /* of the set's own memory */
        struct manifest_blob **blobs; /* references into parsed documents */
        size_t blob_count, blob_cap;
        struct manifest_set **parts; /* what it was joined from, and borrows from */
        size_t part_count;
};

void manifest_set_free(struct manifest_set *set);
DEFINE_CLEANUP(struct manifest_set *, manifest_set_free)

/*
 * Renders. `cache` may be NULL. Returns NOTFOUND (folder or commit), UNSUPPORTED, LIMIT (total bytes, MANIFEST_MAX_OBJECTS),
 * INVAL (bad path or glob), TIMEOUT, CANCELLED, UNREACHABLE, CORRUPT. The commit must have been fetched.
 */
int manifest_render(struct git_source *git, const struct git_id *commit, const struct manifest_source *source,
                    struct manifest_cache *cache, struct git_deadline deadline, struct manifest_set **ret_set,
                    struct err *err);

/* The same from a folder's files in memory, for `truce render -f` and tests. Text is not kept. */
struct manifest_file {
        struct str path; /* relative to the source's path */
        struct str text;
};
int manifest_render_files(const struct manifest_file *files, size_t count, const struct manifest_source *source,
                          struct manifest_set **ret_set, struct err *err);

#endif
