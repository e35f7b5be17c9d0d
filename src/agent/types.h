/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of each kind's type: the built-in schema, or the one of its CustomResourceDefinition as the cluster has
 * it now. Built once a kind and again when its CRD changed.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_AGENT_TYPES_H
#define TRUCE_AGENT_TYPES_H

#include "agent/cluster.h"
#include "own/schema.h"

struct types;
struct type_known;

struct type {
        const struct schema *schema; /* never NULL */
        const struct value *crd;     /* NULL for built-in kinds and unknown CRDs */
        struct type_known *known;    /* what both are parts of */
};

struct types *types_new(struct cluster *c);
void types_free(struct types *t);
DEFINE_CLEANUP(struct types *, types_free)

/*
 * The id of the kind's CRD where it may be there without our knowing: it passed by before the kind was wanted, and was not
 * kept. Empty: it is known, or there is none, or types_have_looked() was called for it. In the arena.
 */
struct str types_unseen_crd(const struct types *t, const struct cluster_kind *kind, struct arena *a);
/* A GET for that CRD was answered since its kind is wanted: what becomes of it from now on is kept. */
void types_have_looked(struct types *t, struct str crd_id);

/* Borrowed until the next call of this function for the same kind, when it is not kept. */
struct type types_find(struct types *t, const struct cluster_kind *kind);
/* Keeps it, however its CRD changes, until it is released as often; also beyond types_free(). */
void type_keep(const struct type *type);
/* Of what types_find() did not give: nothing. */
void type_release(const struct type *type);

/* The id of the CRD that defines a custom kind ("…/CustomResourceDefinition//widgets.example.io"), in the arena. */
struct str types_crd_id(const struct kube_resource *resource, struct arena *a);
/* The kind CustomResourceDefinition as apiextensions.k8s.io/v1 has it. */
struct gvk types_crd_gvk(void);
/* Is the CRD Established (or its condition unknown to us: then no)? */
bool types_crd_is_established(const struct value *crd);

#endif
