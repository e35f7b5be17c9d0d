/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ControllerRevisions: the templates a StatefulSet or DaemonSet had, newest last.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_CONTROLLERS_REVISION_H
#define TRUCE_SANDBOX_CONTROLLERS_REVISION_H

#include "sandbox/controllers_impl.h"

struct revisions {
        struct version **items; /* by number */
        size_t count;
        struct version *latest; /* of today's template */
};

/* Makes the revision of today's template, or moves it to the end. `label` holds its hash. false: refused. */
bool revisions_sync(struct look *l, struct version *owner, const char *label, struct revisions *ret);
struct version *revisions_find(const struct revisions *r, struct str name);
/* The Pod template in a revision. */
const struct value *revision_template(const struct version *v, struct arena *a);
/* Deletes the oldest beyond revisionHistoryLimit; those named in `kept` stay. */
bool revisions_trim(struct look *l, const struct revisions *r, const struct value *owner, const struct str *kept,
                    size_t kept_count);

#endif
