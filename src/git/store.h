/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object stores on disk. One remote has one folder, named by a hash of its key; in it stand bare repositories
 * "gen-1.git", "gen-2.git" …: the highest number counts. libgit2 cannot repack, so a store that has grown untidy is
 * fetched afresh as the next generation, renamed into place when it is whole.
 *
 * Several processes may share the folder. The lock file is held, exclusively, by whoever fetches, makes or removes a
 * generation. Whoever reads a generation holds a shared lock on its folder; one that is locked is not removed. Locks
 * are flock(2): a process that dies gives them back.
 *
 * Thread rule: a struct store is immutable; a struct generation belongs to one thread at a time (remote.c's lock).
 */
#ifndef TRUCE_GIT_STORE_H
#define TRUCE_GIT_STORE_H

#include "git/deadline.h"
#include "git/lib.h"

#define STORE_MAX_PACKS 50
/* What has been fetched on top of the largest pack may weigh as much as that pack, and at least this. */
#define STORE_SMALL_BYTES (UINT64_C(64) << 20)

struct store {
        char *dir;  /* the folder of this remote */
};

struct generation {
        uint64_t number; /* 0: no generation but somebody's repository, read in place */
        char *path;
        git_repository *repo;
        git_odb *odb;
        int use_fd;      /* holds the shared lock; -1 when there is none */
};

struct store_size {
        unsigned packs;
        uint64_t bytes, largest_bytes;
};

/* Makes the folders (0700). The path must be absolute. Errors of the system, INVAL. */
int store_init(struct store *s, struct str store_dir, struct str key, struct err *err);
void store_done(struct store *s);

/* Waits for the lock until the deadline; close() the descriptor to give it back. TIMEOUT, CANCELLED. */
int store_lock(const struct store *s, struct git_deadline d, int *ret_fd, struct err *err);

/* Opens the newest generation; *ret is NULL when there is none yet. */
int store_open_newest(const struct store *s, struct generation **ret, struct err *err);

/* Under the lock: an empty repository beside the generations, and its promotion to be the newest of them. */
int store_begin(const struct store *s, struct generation **ret, struct err *err);
int store_promote(const struct store *s, struct generation *g, struct err *err);

/* Under the lock: removes leftovers, and generations below `number` that nobody has open. Failures do not matter. */
void store_sweep(const struct store *s, uint64_t number);

/* Opens a repository in place, a bare one or a work tree's. NOTFOUND, UNSUPPORTED (SHA-256). */
int generation_open_path(struct str path, struct generation **ret, struct err *err);
void generation_free(struct generation *g);
DEFINE_CLEANUP(struct generation *, generation_free)

struct store_size generation_size(const struct generation *g);

/* Has it grown so untidy that a fresh one is due? */
bool store_is_untidy(struct store_size size);

/* Is the commit there? Looks at the disk again before it says no. */
bool generation_has_commit(const struct generation *g, const struct git_id *commit);

/* A blob's size from its header. CORRUPT when it is missing, INVAL when it is no blob. */
int generation_blob_size(const struct generation *g, const struct git_id *blob, uint64_t *ret_bytes, struct err *err);

/* A blob's content, NUL behind it. LIMIT above max_bytes; else as generation_blob_size(). */
int generation_read_blob(const struct generation *g, const struct git_id *blob, size_t max_bytes, struct arena *a,
                         struct str *ret, struct err *err);

/* The commit that begins with these 7 to 39 digits: NOTFOUND, INVAL with the list when there are several. */
int generation_find_short(const struct generation *g, struct str hex, struct git_id *ret, struct err *err);

#endif
