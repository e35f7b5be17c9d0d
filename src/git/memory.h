/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The in-memory twin of a remote repository, for tests: commits made from lists of files, refs that move, failures that
 * are scripted. The same rules for words, paths, links, limits and LFS pointers hold as for the real one (refs.h,
 * tree.h), and the same error codes come out. A commit must be fetched before it can be listed or described.
 *
 * It never reads a clock: a scripted delay is compared with what `now_ms` says, and nobody sleeps.
 *
 * Thread rule: as struct git_source; the test's own calls lock too.
 */
#ifndef TRUCE_GIT_MEMORY_H
#define TRUCE_GIT_MEMORY_H

#include "git/source.h"

enum git_memory_kind { GIT_MEMORY_FILE, GIT_MEMORY_LINK, GIT_MEMORY_SUBMODULE };

struct git_memory_file {
        const char *path;          /* "apps/web.yaml" */
        enum git_memory_kind kind;
        struct str content;        /* file: bytes; link: target; submodule: unused (write .gitmodules yourself) */
};

enum git_memory_op {
        GIT_MEMORY_RESOLVE,
        GIT_MEMORY_FETCH,
        GIT_MEMORY_DESCRIBE,
        GIT_MEMORY_LIST,
        GIT_MEMORY_READ,
        GIT_MEMORY_OP_COUNT,
};

struct git_memory;

/* An empty repository: HEAD is refs/heads/main, which does not exist yet. */
struct git_memory *git_memory_new(void);

/* The source that stands on it. git_source_free() of it frees the repository too. */
struct git_source *git_memory_source(struct git_memory *m);

/* Makes a commit (reachable by nothing yet); its id depends on files, subject and the commits made before. */
struct git_id git_memory_commit(struct git_memory *m, const char *subject, const struct git_memory_file *files,
                                size_t count);

/* One call for the usual case: a commit with these files, and refs/heads/main moved to it. */
struct git_id git_memory_push(struct git_memory *m, const struct git_memory_file *files, size_t count);

/* An annotated tag object for refs/tags/…; give its id to git_memory_set_ref(). */
struct git_id git_memory_tag(struct git_memory *m, const struct git_id *commit);

/* Creates or moves a full ref. NULL id deletes it. */
void git_memory_set_ref(struct git_memory *m, const char *ref, const struct git_id *id);

/* Where HEAD points ("refs/heads/main"). */
void git_memory_set_head(struct git_memory *m, const char *ref);

/* The next `times` calls of `op` fail with this. A later script for the same op replaces the rest. */
void git_memory_fail(struct git_memory *m, enum git_memory_op op, enum err_code code, const char *msg, unsigned times);

/* From now on `op` takes so long: TIMEOUT when it would end after the deadline. Only for resolve and fetch. */
void git_memory_delay(struct git_memory *m, enum git_memory_op op, int64_t takes_ms);

/* The clock that delays are measured against; NULL: it stands at 0. */
void git_memory_set_clock(struct git_memory *m, int64_t (*now_ms)(void *ctx), void *ctx);

/* Called at the start of every operation, outside the lock: for tests that watch, block or change things midway. */
void git_memory_set_hook(struct git_memory *m, void (*hook)(void *ctx, enum git_memory_op op), void *ctx);

/* How often an operation was called. */
unsigned git_memory_calls(struct git_memory *m, enum git_memory_op op);

#endif
