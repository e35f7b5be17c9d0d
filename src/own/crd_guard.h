/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a change of a CustomResourceDefinition one that would lose objects' data?
 *
 * Two changes are, and neither is undone by going back in Git:
 *
 *  - A version is dropped that objects may still be stored in (`status.storedVersions`). The server refuses it, with a
 *    word that tells nobody what to do.
 *  - Under conversion strategy None nothing is converted: fields of one version that another does not have are pruned
 *    when an object passes through that other one. So what objects are stored in must not be made a version of fewer
 *    fields, nor may a version of fewer fields be served beside it. What was so before is not held against a change:
 *    nobody's data gets worse by it. A field that is taken out of all versions alike is a wish, not an accident.
 *
 * Sources: CustomResourceDefinition versioning (https://kubernetes.io/docs, "Upgrade existing objects to a new stored
 * version"), apiextensions-apiserver's pruning.
 *
 * Pure. Bounds: schemas deeper than JSON_MAX_DEPTH are looked at as far as that.
 */
#ifndef TRUCE_OWN_CRD_GUARD_H
#define TRUCE_OWN_CRD_GUARD_H

#include "base/value.h"

/* Is it a definition in the form that the guard reads, apiextensions.k8s.io/v1? */
bool crd_guard_concerns(const struct value *object);

/*
 * True when the change from `live` to `desired` is to be refused; then *ret_reason says why and what to do instead, in
 * one line. `conversion_stays`: Git is silent about the conversion and another owner keeps the live one.
 */
bool crd_guard_refuses(const struct value *live, const struct value *desired, bool conversion_stays, struct arena *a,
                       struct str *ret_reason);

#endif
