/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kind of object it is (struct gvk) and which one (struct object_key), in Kubernetes' own words.
 *
 * The core group is the empty string. An object_key leaves the version out on purpose: apps/v1 and apps/v1beta1 show
 * one and the same object. Cluster-wide objects have an empty namespace.
 *
 * Thread rule: plain data; the strings are borrowed from whoever made the struct.
 */
#ifndef TRUCE_KUBE_GVK_H
#define TRUCE_KUBE_GVK_H

#include "base/buf.h"
#include "base/str.h"

struct gvk {
        struct str group, version, kind;
};

struct object_key {
        struct str group, kind, namespace, name;
};

/* From an object's apiVersion ("v1", "apps/v1") and kind. Nothing is checked: "a/b/c" splits at the first slash. */
struct gvk gvk_from(struct str api_version, struct str kind);

bool gvk_eq(struct gvk a, struct gvk b);
bool object_key_eq(const struct object_key *a, const struct object_key *b);
/* A total order: group, kind, namespace, name, each bytewise. */
int object_key_cmp(const struct object_key *a, const struct object_key *b);

/* Appends "apps/v1", or "v1" for the core group. */
void gvk_add_api_version(struct buf *out, struct gvk gvk);
/* Appends "apps/v1 Deployment". */
void gvk_print(struct buf *out, struct gvk gvk);

/* For people: "Deployment.apps shop/web", "ConfigMap shop/settings", "Namespace shop". */
void object_key_print(struct buf *out, const struct object_key *key);
/* For people: "apps/v1 Deployment shop/web", "v1 Namespace shop". */
void object_print(struct buf *out, struct gvk gvk, struct str namespace, struct str name);

/*
 * Appends "group/kind/namespace/name", which is unique for legal keys (none of the four may hold a slash): a key for
 * struct map. object_key_from_id() borrows the four parts out of such text; false when it has not exactly four.
 */
void object_key_add_id(struct buf *out, const struct object_key *key);
bool object_key_from_id(struct str id, struct object_key *ret_key);

#endif
