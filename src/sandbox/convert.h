/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object in several API versions: custom resources (strategy None: only apiVersion differs),
 * HorizontalPodAutoscaler v1 and v2, Event of the core group and of events.k8s.io.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_CONVERT_H
#define TRUCE_SANDBOX_CONVERT_H

#include "sandbox/kinds.h"

/* The object, which is of version `from`, in version `to` of the same resource; itself when they are the same. */
const struct value *convert(const struct kind *from, const struct kind *to, const struct value *object,
                            struct arena *a);

#endif
