/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CustomResourceDefinitions: a moment after one was written its names are accepted, it is established and its versions
 * are served; when it is deleted its objects go first.
 *
 * Source: k8s.io/apiextensions-apiserver pkg/controller/{status,establish,finalizer}.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_CRD_H
#define TRUCE_SANDBOX_CRD_H

#include "sandbox/write.h"

struct crds;
struct crds *crds_new(struct sandbox *s);
void crds_free(struct crds *c);

/* Of a CRD that its cleanup finalizer holds: marks it, gives its state and returns true. */
bool crd_delete(struct call *c, struct version *live, const struct delete_options *o, struct version **ret);
void crds_tell(struct crds *c, const struct kind *kind, const struct version *before, const struct version *after);
/* After loading: everything stored is served at once. */
void crds_restore(struct crds *c);

#endif
