/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct kube_watch: a reflector. It keeps one consumer told about one resource for ever: LIST, then WATCH from there,
 * resumed or listed again as the end of each stream demands. It holds no objects, only the last resourceVersion.
 *
 *   replace_begin, item…, replace_end      a full list: what was not among the items is gone
 *   event…                                 single changes since
 *   (replace_begin … again after a gap)
 *
 * The rules (research: client-go's reflector, kube-rs, kopf):
 *  - The first LIST is a consistent read. A repeated one asks for "not older than" the last resourceVersion seen; when
 *    the server finds that one expired or too large, at once a consistent one.
 *  - WATCH asks for bookmarks and for a server-side end after a random 300–600 s.
 *  - The resourceVersion is taken from every event, bookmarks and deletions too. One that goes backwards (a restored
 *    etcd) means: list again, consistently.
 *  - End of a stream: clean → watch on from the last resourceVersion. Closed within KUBE_WATCH_MIN_MS without an event,
 *    refused, 429, 5xx → back off, watch on. Silent for KUBE_WATCH_SILENCE_MS (bookmarks come every 60 s or so, the
 *    server remembers 75 s) → watch on at once; twice in a row on a server that does send bookmarks → list again.
 *    410, in the status or as an ERROR event → list again. Anything else → back off, list again.
 *  - Back-off: 0.8 s, doubled up to 30 s, each drawn from [d, 2d); forgotten after 2 min without need of it. A longer
 *    Retry-After wins.
 *  - Unknown event types are skipped. A truncated line at the end of a stream is dropped.
 *
 * 403 and 404 (the CRD is gone, RBAC does not allow it) end nothing: the watch stays, tells state(), and tries again
 * with back-off. After 404 it lists afresh.
 *
 * Thread rule: loop thread only. Life cycle: free it before its client; kube_watch_free() may be called inside every
 * callback (kube_client_free() may not).
 */
#ifndef TRUCE_KUBE_WATCH_H
#define TRUCE_KUBE_WATCH_H

#include "kube/client.h"

#define KUBE_WATCH_SILENCE_MS 72000
#define KUBE_WATCH_MIN_MS 1000
#define KUBE_WATCH_SETTLED_MS 15000
#define KUBE_WATCH_BACKOFF_MS 800
#define KUBE_WATCH_BACKOFF_MAX_MS 30000
#define KUBE_WATCH_BACKOFF_RESET_MS 120000
#define KUBE_WATCH_TIMEOUT_MIN_S 300
#define KUBE_WATCH_TIMEOUT_MAX_S 600

enum kube_watch_event { KUBE_WATCH_ADDED, KUBE_WATCH_MODIFIED, KUBE_WATCH_DELETED };

enum kube_watch_phase {
        KUBE_WATCH_LISTING,  /* a LIST is under way */
        KUBE_WATCH_STREAMING, /* a stream is open, or being resumed after a clean end */
        KUBE_WATCH_WAITING,  /* backing off after `err` */
};

struct kube_watch_state {
        enum kube_watch_phase phase;
        int64_t since_ms;    /* loop_now_ms() when state() was last told */
        bool synced;         /* a replace_end() happened, or it began at start_rv; never falls back */
        /*
         * The last failure. Code 0 again after a list, the first bytes of a stream, or a stream that stays open for
         * KUBE_WATCH_SETTLED_MS (a quiet one shows nothing before its first bookmark).
         */
        struct err err;
        bool not_served;     /* err is a 404 about the resource itself: the kind is gone */
        unsigned lists;      /* LISTs begun so far */
        unsigned streams;    /* WATCHes begun so far */
        int64_t last_byte_ms; /* loop_now_ms() of the newest list or event data; 0: none yet */
};

struct kube_watch_spec {
        struct kube_location at; /* namespace empty: all; name and subresource empty */
        /*
         * LIST and WATCH may differ: to LIST all and WATCH only what carries our label. A DELETED event then means
         * "deleted, or no longer selected".
         */
        struct str list_label_selector, list_field_selector;
        struct str watch_label_selector, watch_field_selector;
        /* Not empty: WATCH from here without a LIST first. A 410 leads to the LIST. */
        struct str start_rv;
};

/* Each may be NULL. Bytes are borrowed during the call. */
struct kube_watch_handler {
        /*
         * A list begins. When it breaks off, another replace_begin() follows without replace_end(): items given so far
         * are true all the same, but nothing may be swept.
         */
        void (*replace_begin)(void *ctx);
        /* Raw bytes; **items of built-in kinds carry neither apiVersion nor kind**. */
        void (*item)(void *ctx, struct str object);
        /* The list is complete as of `resource_version`: whatever was not among the items is gone. */
        void (*replace_end)(void *ctx, struct str resource_version);
        /* One change. `object` is complete JSON with apiVersion and kind; for DELETED its last state. */
        void (*event)(void *ctx, enum kube_watch_event event, struct str object, struct str resource_version);
        /* `synced`, the error's code, or (while there is no error) the phase changed: a failure is told once. */
        void (*state)(void *ctx, const struct kube_watch_state *state);
};

struct kube_watch;

/* Begins in a later turn. `spec` is copied. */
struct kube_watch *kube_watch_new(struct kube_client *c, const struct kube_watch_spec *spec,
                                  const struct kube_watch_handler *handler, void *ctx);
/* No callback runs after it. */
void kube_watch_free(struct kube_watch *w);
DEFINE_CLEANUP(struct kube_watch *, kube_watch_free)

const struct kube_watch_state *kube_watch_state(const struct kube_watch *w);

/* The last resourceVersion seen (start_rv, list, event or bookmark); empty before. Borrowed until the next callback. */
struct str kube_watch_rv(const struct kube_watch *w);

/* Lists again now, consistently, whatever is going on (a suspected gap; `kubectl`-like refresh). */
void kube_watch_relist(struct kube_watch *w);

/*
 * The server has answered somebody else: a watch that backs off because it could not be reached goes on within
 * KUBE_WATCH_BACKOFF_MS. Nothing otherwise.
 */
void kube_watch_wake(struct kube_watch *w);

/*
 * Order of two resourceVersions: <0, 0, >0 as integers of any length (KEP-5504). False when either is not made of
 * digits without a leading zero: then only equality means anything.
 */
bool kube_rv_cmp(struct str a, struct str b, int *ret_order);

#endif
