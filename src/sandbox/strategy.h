/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server does to a kind's objects besides storing them: which fields an endpoint may not change, when
 * generation counts, how a kind is deleted. One row a kind; custom resources share one row.
 *
 * Source: k8s.io/kubernetes/pkg/registry/<group>/<kind>/strategy.go and storage.go (v1.37).
 *
 * Thread rule: plain data.
 */
#ifndef TRUCE_SANDBOX_STRATEGY_H
#define TRUCE_SANDBOX_STRATEGY_H

#include "base/value.h"
#include "own/fieldset.h"

enum strategy_flag {
        STRATEGY_STATUS = 1 << 0,               /* status goes only through /status, spec only around it */
        STRATEGY_GENERATION = 1 << 1,           /* generation 1 at creation, +1 when the spec changes */
        STRATEGY_GENERATION_ALL = 1 << 2,       /* … when anything but metadata and status changes */
        STRATEGY_ANNOTATIONS_COUNT = 1 << 3,    /* … or the annotations do (Deployments) */
        STRATEGY_CREATE_ON_UPDATE = 1 << 4,     /* PUT creates */
        STRATEGY_NO_UNCONDITIONAL = 1 << 5,     /* PUT needs a resourceVersion */
        STRATEGY_RETURN_DELETED = 1 << 6,       /* DELETE answers with the object instead of a Status */
        STRATEGY_GRACEFUL = 1 << 7,             /* Pods */
        STRATEGY_ORPHAN = 1 << 8,               /* dependents are orphaned unless the caller says otherwise */
        STRATEGY_NO_GC = 1 << 9,                /* propagationPolicy has no effect (Events) */
        STRATEGY_STATUS_KEEPS_LABELS = 1 << 10, /* /status cannot change labels (Deployments) */
        STRATEGY_STATUS_ONLY = 1 << 11,         /* /status changes nothing but status (custom resources) */
        STRATEGY_STATUS_CREATED = 1 << 12,      /* a creation brings its status along (Nodes: a kubelet's does) */
};

struct strategy {
        const char *group, *plural;
        unsigned flags;
        const char *etcd; /* directory below /registry when it is not the plural; NULL: it is */
};

/* Never NULL: kinds without a row have no flags. */
const struct strategy *strategy_find(struct str group, struct str plural);
extern const struct strategy strategy_custom;        /* without status subresource */
extern const struct strategy strategy_custom_status; /* with it */

/* What managedFields never record at this endpoint (subresource empty, "status", "scale"). Static. */
const struct fieldset *strategy_reset_fields(const struct strategy *s, struct str subresource);

/* PrepareForCreate: what a creation may not bring along, generation, a kind's first status. */
const struct value *strategy_create(const struct strategy *s, const struct value *object, struct arena *a);
/* PrepareForUpdate of the object itself or of its status: `object` with what this endpoint may not change from `live`.
 */
const struct value *strategy_update(const struct strategy *s, struct str subresource, const struct value *live,
                                    const struct value *object, struct arena *a);

#endif
