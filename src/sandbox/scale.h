/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /scale for the sandbox's own controllers; requests come in by serve.h. The call is aimed at an object of a kind that
 * has the subresource.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_SCALE_H
#define TRUCE_SANDBOX_SCALE_H

#include "sandbox/sandbox_impl.h"

/* The object's Scale, or NULL when its number of replicas is not set. */
const struct value *scale_read(struct call *c, const struct version *live);
/* Writes the number; -1 with the refusal in the call's answer. */
int scale_set(struct call *c, struct version *live, int64_t replicas);

/* Numbers that a custom resource's object must have where its CRD says that replicas are. */
void scale_check(struct call *c, const struct value *object, struct causes *out);

#endif
