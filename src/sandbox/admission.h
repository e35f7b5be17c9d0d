/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: what stands between a request and the store. Built in: the namespace must exist and not be terminating
 * (NamespaceLifecycle), a Pod's default tolerations and priority, finalizers of volumes, labels of PodSecurity, which
 * claims may grow. On top the rules of sandbox_set_rules(); what they patch is read again, with its defaults.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_ADMISSION_H
#define TRUCE_SANDBOX_ADMISSION_H

#include "sandbox/sandbox_impl.h"

struct rules;
void rules_free(struct rules *r);

/* May change the object. `live` NULL: a creation. -1 with the refusal in the call's answer. */
int admission_check(struct call *c, const struct value *live, const struct value **object);
/* Looks at what would be stored, after validation. */
int admission_validate(struct call *c, const struct value *live, const struct value *object);
/* The same for a deletion. */
int admission_check_delete(struct call *c, const struct value *live);

#endif
