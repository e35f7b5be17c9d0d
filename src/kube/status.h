/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server said no with: its Status object (or whatever else came as body) becomes an error code that a
 * caller can act on and a struct kube_status with the details.
 *
 * | answer                                                       | code                                |
 * |--------------------------------------------------------------|-------------------------------------|
 * | admission policy, webhook, PodSecurity or quota said no      | DENIED, whatever the HTTP status    |
 * | 400 406 415 422                                              | INVAL                               |
 * | 422 "metadata.uid … field is immutable"                      | CONFLICT, KUBE_CONFLICT_UID         |
 * | 401 · 403 · 404 · 405                                        | UNAUTH · FORBIDDEN · NOTFOUND · UNSUPPORTED |
 * | 409                                                          | CONFLICT, told apart by `conflict`  |
 * | 410 · 413, "request is too large" · 429                      | GONE · LIMIT · THROTTLED            |
 * | 500 about the applied object's types, keys or conversion     | INVAL: the user's error             |
 * | 500 of a timeout (reason ServerTimeout, etcd), 408, 504      | TIMEOUT: a write's outcome is unknown |
 * | 502 503                                                      | UNREACHABLE                         |
 * | other 5xx                                                    | INTERNAL                            |
 *
 * Secrets: admission and typed errors may echo values. kube_status_redact() must stand between a Secret's Status and
 * anything that is shown; struct kube_client does it by itself.
 *
 * Strings live in the arena given. Thread rule: plain functions.
 */
#ifndef TRUCE_KUBE_STATUS_H
#define TRUCE_KUBE_STATUS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "kube/transport.h"

#define KUBE_STATUS_MAX_CAUSES 256     /* further ones are dropped */
#define KUBE_STATUS_MAX_TEXT_BYTES 512 /* of a body that is no Status, as message */

enum kube_conflict {
        KUBE_CONFLICT_NONE,             /* the answer is no conflict */
        KUBE_CONFLICT_RESOURCE_VERSION, /* changed since we read it */
        KUBE_CONFLICT_UID,              /* gone, or replaced by another of the same name: decide again */
        KUBE_CONFLICT_FIELDS,           /* server-side apply: `causes` name the paths and their managers */
        KUBE_CONFLICT_EXISTS,           /* AlreadyExists at creation */
        KUBE_CONFLICT_OTHER,
};

/* Is the owner that conflicts an Apply or an Update entry of managedFields? */
enum kube_operation { KUBE_OPERATION_UPDATE, KUBE_OPERATION_APPLY };

struct kube_cause {
        struct str reason;  /* "FieldManagerConflict", "FieldValueInvalid", "NamespaceTerminating" … */
        struct str message;
        struct str field;   /* ".spec.replicas"; ambiguous for keys with dots, so good for people only */
        /* Of a FieldManagerConflict, read out of its message; empty otherwise. */
        struct str manager;
        struct str subresource;
        enum kube_operation operation;
        struct str api_version; /* of an Update owner */
};

struct kube_status {
        enum err_code code;     /* ERR_OK for 2xx */
        int http_status;        /* 0: no answer came */
        struct str reason;      /* "Conflict", "Invalid" …; empty when the body was no Status */
        struct str message;
        struct str name;        /* details.name */
        struct str group;       /* details.group */
        struct str kind;        /* details.kind: a plural for most answers, a kind for 422 */
        struct str uid;         /* details.uid */
        const struct kube_cause *causes;
        size_t cause_count;
        enum kube_conflict conflict;
        bool namespace_terminating; /* the namespace is being deleted: no creation until it is gone and made again */
        bool namespace_missing;     /* 404 about the Namespace, not the object */
        bool not_served;            /* 404 about the resource: no such kind (any more) */
        bool rv_too_large;          /* the resourceVersion asked for lies in this server's future */
        int64_t retry_after_ms;     /* header, or details.retryAfterSeconds; 0 when absent */
};

/*
 * Reads an answer. Returns its code; 0 for 2xx (then nothing but the http_status is set and the body is not looked at).
 * Fills *ret in every case and *err unless 2xx. Never fails otherwise: a body that is no Status gives its first line.
 */
int kube_status_from_reply(const struct kube_reply *reply, struct arena *a, struct kube_status *ret, struct err *err);

/* As above, for a Status inside a watch's ERROR event; its own `code` is the HTTP status (500 when it has none). */
int kube_status_from_object(struct str object, struct arena *a, struct kube_status *ret, struct err *err);

/* For an exchange without answer: fills *ret from the transport's error. */
void kube_status_from_err(const struct err *transport_err, struct arena *a, struct kube_status *ret);

/*
 * Takes out what may hold values: message and cause messages become the reason, the field names and, for an admission
 * denial, the name of the policy or webhook; *err (may be NULL) gets the same message. Managers of conflicts stay, and
 * so do answers given before the server looked at the object (401, 404, RBAC's 403, 410, 429).
 */
void kube_status_redact(struct kube_status *status, struct arena *a, struct err *err);

/* True for the core group's "Secret" or "secrets". */
bool kube_is_secret(struct str group, struct str kind_or_plural);

#endif
