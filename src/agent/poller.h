/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polls Git. One struct git_source a remote, one poll a (remote, revision word), both shared by all applications that
 * name them; each look runs on the git pool under a hard deadline, so a silent server delays nothing else.
 *
 * A poll remembers the last commit that was fetched. When the word resolves to another one (also after a force push or a
 * moved tag: oids decide, not history), the commit is fetched and told to the subscribers. Failures are told once each
 * time they change, and retried with back-off up to POLLER_MAX_BACKOFF_MS; the last commit stays.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_AGENT_POLLER_H
#define TRUCE_AGENT_POLLER_H

#include "base/loop.h"
#include "git/source.h"

#define POLLER_MAX_BACKOFF_MS (5 * 60 * INT64_C(1000))

struct poller;
struct poll;

/* A commit that has been fetched and can be rendered. Borrowed. */
struct poll_news {
        struct git_source *source;
        struct git_id commit;
        struct str ref;            /* "refs/heads/main", or hex */
        struct str subject;        /* of the commit */
        int64_t noticed_ms, fetched_ms; /* loop time */
};

/* `news` NULL: it could not be read; `err` says why. Otherwise err is NULL. */
typedef void (*poll_fn)(void *ctx, const struct poll_news *news, const struct err *err);

/* Opens the source of an URL; the poller frees it. NULL: it cannot be opened now, and that is a failed look. */
typedef struct git_source *(*poller_open_fn)(void *ctx, const void *key, struct err *err);

/* `timeout_ms` bounds one look with its fetch; poll_ms 0: each poll looks once only (and again on poll_now()). */
struct poller *poller_new(struct loop *l, int64_t poll_ms, int64_t timeout_ms);
/*
 * Every subscription must have ended. Cancels the looks that run without waiting for them: a source goes when its last
 * look has ended, at the latest in loop_free().
 */
void poller_free(struct poller *p);
DEFINE_CLEANUP(struct poller *, poller_free)

/*
 * Subscribes to a revision word of a remote. `remote_key` tells remotes apart (git_remote_key()); `open` is called with
 * `open_key`, which must stay, by the first look, and again by later ones while it fails. The news that is known already
 * is told in a later turn.
 */
struct poll_subscription;
struct poll_subscription *poller_subscribe(struct poller *p, struct str remote_key, struct str revision,
                                           poller_open_fn open, void *open_ctx, const void *open_key, poll_fn fn,
                                           void *ctx);
void poller_unsubscribe(struct poll_subscription *s);
DEFINE_CLEANUP(struct poll_subscription *, poller_unsubscribe)

/* The source of the remote, news or not; NULL while it cannot be opened. */
struct git_source *poll_source(const struct poll_subscription *s);

/*
 * Keeps poll_source() until it is released, also beyond poller_free(): for work on a pool thread that reads from it. Only
 * when there is one; loop thread only.
 */
struct poll_hold;
struct poll_hold *poll_hold(struct poll_subscription *s);
void poll_release(struct poll_hold *hold);

/* The next look fetches its commit and tells it again, known or not: it could not be read. */
void poll_forget(struct poll_subscription *s);

/* Looks now, and when that succeeds tells the news, known or not: what is told was so after this call. */
void poll_look(struct poll_subscription *s);

/* Looks now. */
void poll_now(struct poll_subscription *s);
/* When the last look that succeeded was begun, by the loop's clock: what was pushed before is told. 0: none has. */
int64_t poll_looked_ms(const struct poll_subscription *s);

/* Looks begun, and those that failed (metrics). */
struct poller_stats {
        uint64_t looks, failures, fetches;
};
void poller_stats(const struct poller *p, struct poller_stats *ret_stats);

#endif
