/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of the Kubernetes API: where a resource lives (struct kube_location) and how it is asked for (struct
 * kube_query), written into a buffer as one percent-encoded path with query.
 *
 *   /api/v1/namespaces/shop/configmaps/settings        core group
 *   /apis/apps/v1/deployments?limit=500                other groups, every namespace
 *   /apis/apps/v1/namespaces/shop/deployments/web/scale
 *
 * A segment may hold any byte but "/", "%" and NUL and may not be "." or "..": the rule of the API server
 * (ValidatePathSegmentName). Everything outside RFC 3986's unreserved characters is percent-encoded, in queries too.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_KUBE_PATH_H
#define TRUCE_KUBE_PATH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

struct kube_location {
        struct str group;       /* empty: core */
        struct str version;     /* "v1" */
        struct str plural;      /* "deployments" */
        struct str namespace;   /* empty: a cluster-wide object, or a list over all namespaces */
        struct str name;        /* empty: the collection */
        struct str subresource; /* "status", "scale"; empty: the object itself; needs a name */
};

/* How the server treats fields that the schema does not know or that appear twice. */
enum kube_validation {
        KUBE_VALIDATION_DEFAULT, /* the parameter is left out: the server says Warn */
        KUBE_VALIDATION_IGNORE,
        KUBE_VALIDATION_WARN,
        KUBE_VALIDATION_STRICT,
};

/* Zero or empty: the parameter is left out. */
struct kube_query {
        /* writing */
        struct str field_manager; /* at most 128 bytes, says the server */
        bool force;
        bool dry_run; /* dryRun=All */
        enum kube_validation validation;
        /* reading */
        struct str label_selector;
        struct str field_selector;
        uint32_t limit;
        struct str continue_token; /* excludes resource_version and resource_version_match: the server's rule */
        struct str resource_version;
        struct str resource_version_match; /* "Exact" or "NotOlderThan" */
        bool watch;
        bool allow_bookmarks;
        bool send_initial_events;
        uint32_t timeout_s;
};

/*
 * Appends the path. INVAL for a location that names nothing (no version or plural, a subresource without a name) or
 * holds an illegal segment; LIMIT above KUBE_MAX_PATH_BYTES. `query` may be NULL. On failure `out` is as before.
 */
int kube_path(const struct kube_location *location, const struct kube_query *query, struct buf *out, struct err *err);

/* May `segment` stand in a path? The empty one may not. */
bool kube_path_segment_is_legal(struct str segment);

/* Appends with everything but unreserved characters percent-encoded. */
void kube_path_encode(struct buf *out, struct str s);

/* Appends "apps/v1 deployments shop/web/scale", for messages; what is empty is left out. */
void kube_location_print(struct buf *out, const struct kube_location *location);

#endif
