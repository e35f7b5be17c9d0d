/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusals: the Status objects of a Kubernetes API server, in its words. Each function sets the call's answer and
 * returns -1, so that `return status_not_found(c);` is one line.
 *
 * Source: apimachinery's pkg/api/errors.
 */
#ifndef TRUCE_SANDBOX_STATUS_H
#define TRUCE_SANDBOX_STATUS_H

#include "sandbox/sandbox_impl.h"

struct status_details {
        struct str name, group, kind, uid;
        const struct cause *causes;
        size_t cause_count;
        int64_t retry_after_s;
};

/* Any Status. `reason` NULL and `details` NULL are left out. */
int status_refuse(struct call *c, int code, const char *reason, const struct status_details *details, const char *fmt,
                  ...) PRINTF_LIKE(5, 6);

int status_bad_request(struct call *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
int status_internal(struct call *c, const char *fmt, ...) PRINTF_LIKE(2, 3); /* 500 without reason */
/* 404 of the call's object; of another one; of a resource that is not served; "404 page not found". */
int status_not_found(struct call *c);
int status_not_found_named(struct call *c, struct str group, struct str plural, struct str name);
int status_no_resource(struct call *c);
int status_no_page(struct call *c);
int status_no_method(struct call *c);
/* 409: "Operation cannot be fulfilled on configmaps \"b\": …". */
int status_conflict(struct call *c, struct str group, struct str kind_or_plural, struct str name, struct str why);
int status_modified(struct call *c); /* … the object has been modified … */
/* The same by the storage itself: "… Precondition failed: UID in precondition: …, UID in object meta: …". */
int status_stored_otherwise(struct call *c, struct str name, const char *what, struct str wanted, struct str have);
/* `ends`: that object is being deleted. */
int status_exists(struct call *c, struct str name, bool ends);
/* 422 from findings, sorted as they came; also for options ("CreateOptions.meta.k8s.io"). */
int status_invalid(struct call *c, struct str group, struct str kind, struct str name, const struct causes *causes);
/* 403: `configmaps "a" is forbidden: why`. */
int status_forbidden(struct call *c, struct str name, struct str why, const struct cause *cause);
/* 410 with reason Expired. */
int status_expired(struct call *c, const char *text);
/* 504 of a resourceVersion from the future. */
int status_too_large_rv(struct call *c, uint64_t rv);
/* 429 with Retry-After. */
int status_too_many(struct call *c, struct str message, const struct cause *cause);

#ifdef __clang_analyzer__
/* What clang's analyzer cannot see from a declaration: they return -1. */
#define status_refuse(...) err_is((status_refuse)(__VA_ARGS__), -1)
#define status_bad_request(...) err_is((status_bad_request)(__VA_ARGS__), -1)
#define status_internal(...) err_is((status_internal)(__VA_ARGS__), -1)
#endif

/* The Status of a deletion that worked. */
void status_deleted(struct call *c, struct str name, struct str uid);
/* The text of a Status, for an ERROR event. */
struct str status_text(struct arena *a, int code, const char *reason, const struct status_details *details,
                       struct str message);

#endif
