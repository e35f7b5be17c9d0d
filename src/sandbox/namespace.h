/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces' life: the four every cluster begins with, what a new one gets (ServiceAccount default, ConfigMap
 * kube-root-ca.crt), and the end: phase Terminating, content deleted resource by resource, conditions while something
 * holds it, then gone.
 *
 * Source: pkg/registry/core/namespace/storage, pkg/controller/namespace, …/serviceaccount,
 * …/certificates/rootcacertpublisher.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_NAMESPACE_H
#define TRUCE_SANDBOX_NAMESPACE_H

#include "sandbox/sandbox_impl.h"

struct namespaces;
/* Makes default, kube-system, kube-public and kube-node-lease. */
struct namespaces *namespaces_new(struct sandbox *s);
void namespaces_free(struct namespaces *n);
/* Forgets what was to be done: the store was emptied. */
void namespaces_reset(struct namespaces *n);

/* Of a Namespace that still has content: marks it, gives its state and returns true. False: delete it as any object. */
struct delete_options;
bool namespace_delete(struct call *c, struct version *live, const struct delete_options *o, struct version **ret);
/* Looks on at every commit. After loading: called with every object as if it were new. */
void namespaces_tell(struct namespaces *n, const struct kind *kind, const struct version *before,
                     const struct version *after);

#endif
