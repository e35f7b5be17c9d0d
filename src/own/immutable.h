/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A refusal because of a field that cannot be changed, in words that help: which field, what Git wants, what is live,
 * and what can be done.
 *
 * The server answers 422 with causes, each with a field and a sentence; the sentence is recognised by its words, as
 * there is no reason of its own for it. Where it is about all of `spec` but for some fields (StatefulSet, claims,
 * Pods), the fields that differ are looked for. Values of Secrets are never in it.
 *
 * Pure. At most IMMUTABLE_MAX_SHOWN fields are shown, further ones counted.
 */
#ifndef TRUCE_OWN_IMMUTABLE_H
#define TRUCE_OWN_IMMUTABLE_H

#include "base/buf.h"
#include "base/value.h"

#define IMMUTABLE_MAX_SHOWN 3

/* One element of `details.causes[]` of a 422. */
struct immutable_cause {
        struct str field;   /* "spec.clusterIPs[0]" */
        struct str message; /* of a Secret it says nothing */
};

struct immutable_refusal {
        const struct value *desired;
        const struct value *live;
        bool secret;
        const struct immutable_cause *causes;
        size_t count;
};

/* Appends the words, without newline. False, and nothing is appended, when the refusal is about something else. */
bool immutable_explain(const struct immutable_refusal *r, struct buf *out);

#endif
