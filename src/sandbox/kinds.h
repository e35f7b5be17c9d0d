/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this sandbox serves right now: the built-in resources and those of CustomResourceDefinitions, each API version
 * one struct kind. All versions of a resource share a shelf; objects are stored in the version given by `storage`.
 *
 * A kind of a CRD dies when its CRD changes or goes: nobody keeps one beyond a request, and watches are ended before.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_KINDS_H
#define TRUCE_SANDBOX_KINDS_H

#include "sandbox/resources.h"
#include "sandbox/store.h"
#include "sandbox/strategy.h"
#include "sandbox/types.h"

struct kind {
        const struct resource *resource; /* names, verbs, subresources */
        struct str api_version;          /* "apps/v1" */
        struct str group_resource;       /* "deployments.apps", as messages name it */
        const struct strategy *strategy;
        const struct kind *storage; /* the version in which objects are stored; may be itself */
        struct shelf *shelf;        /* NULL: not stored (reviews) */
        const struct type *type;    /* made at first use: ask kind_type() */
        struct type_table *types;   /* where it comes from */
        bool is_custom;
        /* Custom resources only; borrowed from the CRD's copy. */
        struct str crd;                        /* its name */
        const struct value *columns;           /* additionalPrinterColumns, or NULL */
        const struct value *scale;             /* subresources.scale, or NULL */
        const struct value *selectable_fields; /* selectableFields, or NULL */
        struct str deprecation_warning;        /* empty: none */
        struct arena *arena;                   /* of a CRD's kinds: the first of them owns it */
};

struct kinds;

struct kinds *kinds_new(struct store *store);
void kinds_free(struct kinds *k);
DEFINE_CLEANUP(struct kinds *, kinds_free)

/* Lookups; NULL when it is not served. `group` empty is core. */
const struct kind *kinds_find(const struct kinds *k, struct str group, struct str version, struct str plural);
const struct kind *kinds_of_kind(const struct kinds *k, struct str api_version, struct str kind);
/* The first (preferred) version of the resource. */
const struct kind *kinds_of_resource(const struct kinds *k, struct str group, struct str plural);
bool kinds_is_builtin_group(const struct kinds *k, struct str group);
bool kinds_has_group_version(const struct kinds *k, struct str group, struct str version);

/* Every kind, versions of a group side by side, in discovery's order: `size_t at = 0; while ((kind = …))`. */
const struct kind *kinds_next(const struct kinds *k, size_t *at);

/*
 * Takes a CRD's served versions in (copying what it needs) or, with no served version, out. Replaces what was there for
 * the CRD's name. INVAL with the reason for a schema that cannot be built.
 */
int kinds_set_crd(struct kinds *k, const struct value *crd, struct err *err);
void kinds_drop_crd(struct kinds *k, struct str name);

struct type_table *kinds_types(const struct kinds *k);
/* Never NULL. */
const struct type *kind_type(const struct kind *k);
/* An object with nothing in it, as the server shows one that it never read: fields that Go never omits, inside of it. */
const struct value *kind_blank(const struct kind *k, struct arena *a);

#endif
