/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct manifest_object: one desired object, as Git says it, checked and cleaned.
 *
 * Life: document.h makes objects from text; render.h gathers those of one revision; bind.h gives each its final
 * namespace and marks once the scope of its kind is known. Before binding, `ns` is what Git wrote; after it, `ns`, `id`
 * and `canonical` are final. All text and values are borrowed from arenas that the maker names.
 *
 * What cleaning does to `value` (design §6.3 and the API conventions):
 *  - `status`, `metadata.creationTimestamp generation selfLink managedFields uid resourceVersion deletionTimestamp
 *    deletionGracePeriodSeconds` and the annotation kubectl.kubernetes.io/last-applied-configuration are dropped: each
 *    would make an apply fail, fight or hang. All but the first two leave a warning, they come from an export.
 *  - Secret `stringData` becomes base64 `data` and wins over `data` for the same key, as on the server.
 *  - null members: in labels, annotations, ConfigMap and Secret data, nodeSelector and matchLabels they become "", which
 *    is what the server makes of them. Elsewhere in built-in kinds they are removed (there null and absence are one, and
 *    an applied null is owned). In other kinds they stay, since `nullable: true` gives them a meaning; only
 *    `metadata.creationTimestamp: null` of embedded templates goes everywhere.
 *
 * Thread rule: plain data; readable from any thread while its arenas live.
 */
#ifndef TRUCE_MANIFEST_OBJECT_H
#define TRUCE_MANIFEST_OBJECT_H

#include "base/pointer.h"
#include "base/value.h"
#include "base/yaml.h"

struct manifest_object {
        struct str group;       /* empty: core */
        struct str version;
        struct str kind;
        struct str ns;          /* empty: none given, or (bound) cluster-scoped */
        struct str name;
        struct str id;          /* bound: "group/Kind/namespace/name", the inventory's id; else empty */
        struct str canonical;   /* bound: canonical text of value; else empty */
        const struct value *value;
        struct str file;        /* path from the root of the repository; of several sources "title:path" */
        uint32_t line;          /* where the object begins in it */
        bool along;             /* not from Git: what the application makes along with it. No marks, never pruned */
        unsigned source;        /* number of the source, when several were joined (join.h) */
        const struct yaml_note *duplicate_keys; /* keys the document has twice, last one won */
        size_t duplicate_key_count;
        bool bound;
        bool namespaced;        /* bound: the kind's scope */
        bool secret;            /* a core Secret: its values are never shown */
        /* From annotations; each makes truce do less. */
        bool prune_disabled;    /* sync-options Prune=false or Prune=confirm, or Flux' prune: disabled */
        bool delete_disabled;   /* sync-options Delete=false or Delete=confirm */
        bool keep;              /* helm.sh/resource-policy: keep */
        bool skip_reconcile;    /* argocd.argoproj.io/skip-reconcile: "true", or Flux' reconcile: disabled: neither
                                 * compared nor applied nor pruned, yet desired */
};

/* Is the object protected from prune by any of its annotations? */
bool manifest_is_kept(const struct manifest_object *o);

/* As manifest_is_kept(), from the annotations of any object, a live one for instance. */
bool manifest_value_is_kept(const struct value *object);

/* Does the object carry argocd.argoproj.io/skip-reconcile: "true" or its Flux likeness? */
bool manifest_value_is_skipped(const struct value *object);

/* Does it carry compare-options IgnoreExtraneous: when it has left Git and stays, that is no difference? */
bool manifest_value_ignores_extraneous(const struct value *object);

/* "apps/Deployment shop/web", "Namespace shop": for messages. In the arena. */
struct str manifest_title(const struct manifest_object *o, struct arena *a);

/* "group/Kind/namespace/name" in the arena, as sync/inventory.h has it. */
struct str manifest_id(struct str group, struct str kind, struct str ns, struct str name, struct arena *a);

/*
 * The line of the Git file where the field that `path` names stands, or its nearest ancestor that is there; the object's
 * own line at the least. Tokens are map keys and list indexes (pointer_find()'s rules). 0 never.
 */
uint32_t manifest_line_of(const struct manifest_object *o, struct pointer path);

/*
 * Is the API group one that kube-apiserver itself serves (core, apps, batch, networking.k8s.io …)? Everything else is
 * custom, also groups under k8s.io such as gateway.networking.k8s.io or metrics.k8s.io.
 */
bool manifest_group_is_builtin(struct str group);

/* A CustomResourceDefinition, a core Namespace. */
bool manifest_is_crd(struct str group, struct str kind);
bool manifest_is_namespace(struct str group, struct str kind);

#endif
