/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing the files of a tree, with the rules for paths of git_source_list(). One implementation for every source: it
 * reads trees, sizes and link targets through struct tree_ops.
 *
 * Links are resolved component by component, as the kernel does in a checkout: ".." goes to the parent of the folder
 * really reached, and never above the root. A link that ends in a folder is checked but not walked into (the same file
 * would be found twice; Argo CD does the same); `dir` itself may lead through links.
 *
 * Limits: GIT_MAX_TREE_FILES files, as many folders, TREE_MAX_ENTRIES entries of all trees read,
 * TREE_MAX_TEXT_BYTES of paths, GIT_MAX_PATH_BYTES, GIT_MAX_PATH_DEPTH, GIT_MAX_LINK_HOPS. Memory of the walk beyond
 * the result is freed at the end.
 */
#ifndef TRUCE_GIT_TREE_H
#define TRUCE_GIT_TREE_H

#include "base/limits.h"
#include "git/source.h"

#define TREE_MAX_ENTRIES (8 * GIT_MAX_TREE_FILES)
#define TREE_MAX_TEXT_BYTES (32 * MIB)

enum tree_kind { TREE_FOLDER, TREE_FILE, TREE_LINK, TREE_SUBMODULE };

struct tree_entry {
        struct str name;
        enum tree_kind kind;
        struct git_id id;
};

/* How a source gives up its objects. Errors: CORRUPT when an object that must be there is not, LIMIT, INTERNAL. */
struct tree_ops {
        /* All entries of one tree, in any order; LIMIT when there are more than `max`. */
        int (*entries)(void *ctx, const struct git_id *tree, size_t max, struct arena *a,
                       const struct tree_entry **ret_entries, size_t *ret_count, struct err *err);
        /* Size of a blob, without reading it. */
        int (*size)(void *ctx, const struct git_id *blob, uint64_t *ret_bytes, struct err *err);
        /* Content of a blob; LIMIT above max_bytes. */
        int (*content)(void *ctx, const struct git_id *blob, size_t max_bytes, struct arena *a, struct str *ret,
                       struct err *err);
};

/* See git_source_list(). `root` is the commit's tree. The result lives in `a`, its strings too. */
int tree_list(const struct tree_ops *ops, void *ctx, const struct git_id *root, struct str dir, bool recurse,
              struct arena *a, const struct git_file **ret_files, size_t *ret_count, struct err *err);

/*
 * Normalises a folder's path: no "." and no empty components, no slash at the ends; the root is "". INVAL for an
 * absolute path, "..", control characters, bytes that are no UTF-8; LIMIT when it is too long or too deep.
 */
int tree_clean_path(struct str dir, struct arena *a, struct str *ret, struct err *err);

/* The URL that a .gitmodules text gives to the submodule at `path`, credentials masked; empty when it names none. */
struct str tree_submodule_url(struct str gitmodules, struct str path, struct arena *a);

/* Is the content a Git LFS pointer (git-lfs docs/spec.md) instead of the file itself? */
bool tree_is_lfs_pointer(struct str content);

/* UNSUPPORTED with the text for a pointer, which says what to do. */
int tree_refuse_lfs(struct str content, struct err *err);

#endif
