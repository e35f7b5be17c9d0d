/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct git_source: one remote repository, seen as refs, commits and trees. Third of the three seams: libgit2 behind
 * git_remote_open() (git/remote.h), an in-memory twin behind git_memory_new() (git/memory.h).
 *
 * All functions block and run on the git pool (LOOP_POOL_GIT), never on the loop thread; each takes a struct
 * git_deadline and returns TIMEOUT or CANCELLED within a second of its end, whatever the server does. One source serves
 * many applications: its functions may be called from several pool threads at once and lock inside.
 *
 * Objects are read from the object store; there is no checkout. Messages never hold credentials.
 */
#ifndef TRUCE_GIT_SOURCE_H
#define TRUCE_GIT_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define GIT_OID_BYTES 20
#define GIT_OID_HEX_BYTES 40 /* without the NUL */

struct git_id {
        unsigned char bytes[GIT_OID_BYTES];
};

bool git_id_eq(const struct git_id *a, const struct git_id *b);
bool git_id_is_zero(const struct git_id *id);
void git_id_hex(const struct git_id *id, char ret_hex[GIT_OID_HEX_BYTES + 1]);

/* A hard end on CLOCK_BOOTTIME ms and a flag that the loop thread may raise. */
struct git_deadline {
        int64_t at_ms;
        const atomic_bool *cancelled; /* NULL: never */
};

/* What a revision word resolved to. */
struct git_revision {
        struct git_id commit;
        struct str name;    /* the full ref ("refs/heads/main"), or the commit's hex for a commit */
};

struct git_commit_info {
        struct str subject;    /* first line of the message, at most 200 bytes */
        struct str author;
        int64_t committed_s;   /* Unix time */
};

/* One file of a tree: a regular file or a link that was resolved to one. */
struct git_file {
        struct str path;    /* from the root of the repository, "/" between components */
        struct git_id blob; /* content of the target for links */
        uint64_t bytes;
};

struct git_source;

struct git_source_ops {
        int (*resolve)(struct git_source *s, struct str revision, struct git_deadline d, struct arena *a,
                       struct git_revision *ret, struct err *err);
        int (*fetch)(struct git_source *s, const struct git_revision *rev, struct git_deadline d, struct err *err);
        int (*describe)(struct git_source *s, const struct git_id *commit, struct arena *a,
                        struct git_commit_info *ret, struct err *err);
        int (*list)(struct git_source *s, const struct git_id *commit, struct str dir, bool recurse, struct arena *a,
                    const struct git_file **ret_files, size_t *ret_count, struct err *err);
        int (*read)(struct git_source *s, const struct git_id *blob, size_t max_bytes, struct arena *a,
                    struct str *ret_content, struct err *err);
        void (*free)(struct git_source *s);
};

/* Embedded first in every implementation. */
struct git_source {
        const struct git_source_ops *ops;
};

/*
 * Asks the remote what `revision` is now (one round of ref listing, no objects): a branch, a tag (peeled), a full ref,
 * "HEAD", a full commit (no request when it is already stored), or at least 7 hex digits of one (may need a fetch).
 * Branch beats tag of the same name, as Argo CD does; NOTFOUND names near refs.
 */
static inline int git_source_resolve(struct git_source *s, struct str revision, struct git_deadline d,
                                     struct arena *a, struct git_revision *ret, struct err *err) {
        return s->ops->resolve(s, revision, d, a, ret, err);
}

/* Makes rev->commit and all it needs readable; nothing is sent when it is stored already. */
static inline int git_source_fetch(struct git_source *s, const struct git_revision *rev, struct git_deadline d,
                                   struct err *err) {
        return s->ops->fetch(s, rev, d, err);
}

static inline int git_source_describe(struct git_source *s, const struct git_id *commit, struct arena *a,
                                      struct git_commit_info *ret, struct err *err) {
        return s->ops->describe(s, commit, a, ret, err);
}

/*
 * The files below `dir` ("." or "" is the root), sorted by path. Links are resolved component by component inside the
 * tree: one that leaves the root, is absolute, or loops is INVAL; a dangling one is left out. A submodule below `dir`
 * is UNSUPPORTED by name. NOTFOUND when dir does not exist, INVAL when it holds ".." or is no folder. A commit that is
 * not stored is NOTFOUND.
 */
static inline int git_source_list(struct git_source *s, const struct git_id *commit, struct str dir, bool recurse,
                                  struct arena *a, const struct git_file **ret_files, size_t *ret_count,
                                  struct err *err) {
        return s->ops->list(s, commit, dir, recurse, a, ret_files, ret_count, err);
}

/* A blob's bytes (ends in NUL that does not count). LIMIT above max_bytes, UNSUPPORTED for a Git LFS pointer. */
static inline int git_source_read(struct git_source *s, const struct git_id *blob, size_t max_bytes,
                                  struct arena *a, struct str *ret_content, struct err *err) {
        return s->ops->read(s, blob, max_bytes, a, ret_content, err);
}

static inline void git_source_free(struct git_source *s) {
        if (s)
                s->ops->free(s);
}

#endif
