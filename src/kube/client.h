/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct kube_client: one object, one request: get, create, update, server-side apply, patch, delete. Wholly dynamic:
 * where the object lives is a struct kube_location (kube/discovery.h finds it), bodies and answers are JSON bytes.
 *
 * Every call returns at once; `done` runs exactly once in a later turn of the loop, unless the call is cancelled. Also
 * errors in the arguments come through done(). Retried in here, within the call's deadline: 429 and 503 up to
 * KUBE_CLIENT_MAX_RETRIES times (the server did not act on them; Retry-After is kept, with jitter; a 503 only when it
 * names one); GETs also on other 5xx with Retry-After, and once when the connection broke. A write whose outcome is
 * unknown (TIMEOUT, UNREACHABLE) is never sent again: the caller reads and decides.
 *
 * Answers about Secrets: `err`, `status` and warnings are redacted before anyone sees them (kube_status_redact()); `body`
 * is not.
 *
 * Priority follows from the request: leases before writes before reads and Events.
 *
 * Thread rule: loop thread only. Life cycle: the transport and the loop outlive the client; watches of a client are
 * freed before it; kube_client_free() cancels calls and lists that are still under way.
 */
#ifndef TRUCE_KUBE_CLIENT_H
#define TRUCE_KUBE_CLIENT_H

#include "base/loop.h"
#include "kube/path.h"
#include "kube/status.h"
#include "kube/transport.h"

#define KUBE_CLIENT_MAX_RETRIES 4
#define KUBE_CLIENT_MAX_WARNINGS 1000 /* distinct texts remembered; beyond it the memory starts anew */

struct kube_client;
struct kube_op; /* a call under way; dies when done() returns or by kube_op_cancel() */

struct kube_client *kube_client_new(struct kube_transport *t, struct loop *l);
void kube_client_free(struct kube_client *c);
DEFINE_CLEANUP(struct kube_client *, kube_client_free)

/* Gets each distinct text of a Warning header once in the life of the client. NULL: nobody listens. */
void kube_client_on_warning(struct kube_client *c, void (*warn)(void *ctx, struct str text), void *ctx);

/* All of it is borrowed during done(). */
struct kube_result {
        struct err err;            /* code 0: it worked; the message names verb and object */
        struct kube_status status; /* details of a refusal; code as in err */
        int http_status;           /* 200 changed or unchanged, 201 created; 0: no answer */
        struct str body;           /* of a 2xx: the object, or a Status for some deletions */
        struct str warnings;       /* of this answer, one a line, also those seen before */
};

typedef void (*kube_done_fn)(void *ctx, const struct kube_result *result);

struct kube_write {
        struct str field_manager; /* required by kube_client_apply() */
        bool force;               /* apply only */
        bool dry_run;
        enum kube_validation validation;
        int64_t deadline_ms; /* retries included; 0: KUBE_DEFAULT_DEADLINE_MS */
};

/* GET; also of a path that names a collection or a subresource. `deadline_ms` 0: KUBE_DEFAULT_DEADLINE_MS. */
struct kube_op *kube_client_get(struct kube_client *c, const struct kube_location *at, int64_t deadline_ms,
                                kube_done_fn done, void *ctx);

/* POST to the collection (at->name empty, save for subresources such as a Pod's binding). `body`: JSON, copied. */
struct kube_op *kube_client_create(struct kube_client *c, const struct kube_location *at, struct str body,
                                   const struct kube_write *how, kube_done_fn done, void *ctx);

/* PUT of the whole object; with metadata.resourceVersion in it an optimistic lock (leases). */
struct kube_op *kube_client_update(struct kube_client *c, const struct kube_location *at, struct str body,
                                   const struct kube_write *how, kube_done_fn done, void *ctx);

/*
 * Server-side apply: PATCH with application/apply-patch+yaml. `body` is canonical JSON text with apiVersion and kind;
 * metadata.uid and metadata.resourceVersion in it are the preconditions. Without a uid an object that is missing is
 * created: look at http_status.
 */
struct kube_op *kube_client_apply(struct kube_client *c, const struct kube_location *at, struct str body,
                                  const struct kube_write *how, kube_done_fn done, void *ctx);

enum kube_patch { KUBE_PATCH_MERGE, KUBE_PATCH_JSON };
struct kube_op *kube_client_patch(struct kube_client *c, const struct kube_location *at, enum kube_patch kind,
                                  struct str body, const struct kube_write *how, kube_done_fn done, void *ctx);

enum kube_propagation {
        KUBE_PROPAGATION_DEFAULT, /* the kind's own */
        KUBE_PROPAGATION_BACKGROUND,
        KUBE_PROPAGATION_FOREGROUND,
        KUBE_PROPAGATION_ORPHAN,
};
struct kube_delete {
        struct str uid;              /* precondition; empty: none */
        struct str resource_version; /* precondition; empty: none */
        enum kube_propagation propagation;
        bool now;                    /* gracePeriodSeconds 0 instead of the object's own */
        bool dry_run;
        int64_t deadline_ms;
};
/* 200 with the object: it is being deleted (finalizers, grace); 200 with a Status: it is gone. */
struct kube_op *kube_client_delete(struct kube_client *c, const struct kube_location *at,
                                   const struct kube_delete *how, kube_done_fn done, void *ctx);

/* After it done() does not run. A write that was already sent may still happen. Allowed inside any callback but its own
 * done(). NULL is fine. */
void kube_op_cancel(struct kube_op *op);

/* tell() runs once when done() did not within `after_ms` from now, whatever was tried again meanwhile. It must not cancel the
 * op. Who asked before is not told. */
void kube_op_tell_slow(struct kube_op *op, int64_t after_ms, void (*tell)(void *ctx), void *ctx);

#endif
