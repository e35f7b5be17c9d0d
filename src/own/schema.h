/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we must know of a kind's type without asking the server: which maps and lists are atomic (one owner for the
 * whole), which lists are keyed (by which fields, with which defaults) or sets, and which maps are structs.
 *
 * Two sources: a built-in table for the kinds every cluster has (schema_builtin.c; facts of the published OpenAPI,
 * checked against a real server by tests/cluster), and a CRD's openAPIV3Schema. What neither says is SCHEMA_UNKNOWN:
 * callers that must be right then say "cannot tell", nobody guesses.
 *
 * Source of the rules: sigs.k8s.io/structured-merge-diff and kube-openapi's schemaconv. Lists are atomic unless marked;
 * structs and maps are granular unless marked; a subtree that preserves unknown fields has deduced types (maps
 * granular, lists atomic).
 *
 * Invariants: a schema is immutable, lives in the arena given at its making, and may hold cycles. Every reader accepts
 * NULL and reads it as SCHEMA_UNKNOWN.
 *
 * Thread rule: readable from any thread once built.
 */
#ifndef TRUCE_OWN_SCHEMA_H
#define TRUCE_OWN_SCHEMA_H

#include "base/value.h"

enum schema_form {
        SCHEMA_UNKNOWN,  /* nothing is known here nor below */
        SCHEMA_SCALAR,   /* string, number, bool, quantity, int-or-string, time */
        SCHEMA_STRUCT,   /* granular map with declared fields; undeclared ones are of type `item` when that is set */
        SCHEMA_MAP,      /* granular map of free keys, values of type `item` */
        SCHEMA_ATOMIC,   /* map or list with one owner; nothing below matters */
        SCHEMA_LIST_SET, /* list of unique scalars */
        SCHEMA_LIST_MAP, /* list keyed by fields of its items, of type `item` */
        SCHEMA_DEDUCED,  /* preserve-unknown-fields: maps granular and free-keyed, lists atomic, all the way down */
};

#define SCHEMA_MAX_KEYS 8

struct schema_key {
        struct str name;
        const struct value *fallback; /* the default the server fills in; NULL: none */
};

struct schema;

struct schema_field {
        struct str name;
        const struct schema *type;
};

struct schema {
        enum schema_form form;
        const struct schema *item;         /* MAP, LIST_MAP; STRUCT: type of undeclared fields or NULL */
        const struct schema_field *fields; /* STRUCT, sorted by name */
        size_t field_count;
        const struct schema_key *keys; /* LIST_MAP, sorted by name */
        size_t key_count;
};

/* The form, SCHEMA_UNKNOWN for NULL. */
enum schema_form schema_form(const struct schema *s);
/* Type of a map's or struct's field, of a deduced map's member; NULL when unknown. */
const struct schema *schema_field(const struct schema *s, struct str name);
/* Is the field declared by name? (An undeclared, map-valued member is owned with its own `.`, a struct field is not.)
 */
bool schema_declares(const struct schema *s, struct str name);
/* Type of a list's items; NULL when unknown. */
const struct schema *schema_item(const struct schema *s);

/*
 * Do we know, for a value of this kind standing here, that it has one owner (atomic), or that it has not? Lists under
 * SCHEMA_DEDUCED are atomic, maps there granular.
 */
bool schema_is_atomic(const struct schema *s, const struct value *v);
bool schema_is_granular(const struct schema *s, const struct value *v);

/*
 * The type of a kind every cluster has, or for a kind not in the table a struct of which only metadata is known. Never
 * NULL. Costs some 10–60 KiB of the arena for workloads: make it once per kind, not per object.
 */
const struct schema *schema_builtin(struct arena *a, struct str api_version, struct str kind);
/* Is the kind in the table? */
bool schema_is_builtin(struct str api_version, struct str kind);

/*
 * The type a CustomResourceDefinition object gives its kind in one served version. NOTFOUND when the CRD has no such
 * version, INVAL when it is no CRD, LIMIT for a schema deeper than JSON_MAX_DEPTH or with more than SCHEMA_MAX_KEYS
 * keys of one list. A schema without types yields SCHEMA_UNKNOWN or SCHEMA_DEDUCED in those places. Copies what it
 * needs (no descriptions) into the arena.
 */
int schema_from_crd(const struct value *crd, struct str version, struct arena *a, const struct schema **ret_schema,
                    struct err *err);

/* "apps/v1" → "apps", "v1" → "": the group of an apiVersion; and the version. Borrowed. */
struct str schema_group(struct str api_version);
struct str schema_version(struct str api_version);

#endif
