/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One fetch by libgit2 into one generation of a store: connects, looks at what the remote has, wants as little as
 * possible, and keeps a local ref for what was wanted, so that the next fetch is incremental.
 *
 * Local refs are flat, "refs/truce/" and the remote name with "/" and "%" escaped: a branch "a" that becomes "a/b"
 * never collides with itself. Nothing here decides which generation: that is remote.c.
 */
#ifndef TRUCE_GIT_FETCH_H
#define TRUCE_GIT_FETCH_H

#include "git/http.h"
#include "git/store.h"

/* As rev->name, with a zero commit: every branch and tag. */
#define FETCH_EVERYTHING "*"

struct fetch {
        const struct http_config *config;
        struct git_deadline deadline;
        uint64_t max_bytes;         /* of the whole generation */
        struct generation *into;
        struct generation *tracked; /* its refs are fetched as well, where the remote still has them; may be NULL */
};

/*
 * Makes rev->commit readable in f->into. NOTFOUND when the ref is gone or no ref reaches the commit; CONFLICT when the
 * ref moved between resolve and now and the commit cannot be had any more: resolve again. LIMIT beyond max_bytes; the
 * errors of smart.h.
 */
int fetch_run(const struct fetch *f, const struct git_revision *rev, struct err *err);

#endif
