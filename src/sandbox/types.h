/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sandbox knows of a kind's fields: more than own/schema.h, which knows only what decides ownership. A type
 * says which fields exist, what JSON they take, which defaults OpenAPI gives, how lists merge, and (for CRDs) which
 * structural-schema rules values must keep.
 *
 * Two sources: the table types_table.inc, printed by tests/cluster/openapi_table.py from the OpenAPI v3 documents of a
 * real API server, and a CRD's openAPIV3Schema. Both give the same struct, so nothing after this line asks where a
 * type came from.
 *
 * Invariants: immutable, may hold cycles (JSONSchemaProps), lives in the arena given at its making.
 *
 * Thread rule: readable from any thread once built.
 */
#ifndef TRUCE_SANDBOX_TYPES_H
#define TRUCE_SANDBOX_TYPES_H

#include "base/value.h"
#include "own/schema.h"

enum type_kind {
        TYPE_ANY, /* preserve-unknown-fields: any JSON, untouched; with `item`: maps in it are of that type */
        TYPE_STRING,
        TYPE_INT32,
        TYPE_INT64,
        TYPE_NUMBER,
        TYPE_BOOL,
        TYPE_QUANTITY, /* resource.Quantity: stored in canonical spelling */
        TYPE_INT_OR_STRING,
        TYPE_TIME, /* metav1.Time, RFC 3339 seconds */
        TYPE_MICRO_TIME,
        TYPE_DURATION, /* metav1.Duration */
        TYPE_BYTES,    /* base64 in JSON */
        TYPE_STRUCT,
        TYPE_MAP,  /* free keys, values of `item` */
        TYPE_LIST, /* items of `item` */
};

enum type_patch {
        TYPE_PATCH_REPLACE = 0,
        TYPE_PATCH_MERGE = 1 << 0, /* x-kubernetes-patch-strategy: merge */
        TYPE_PATCH_RETAIN_KEYS = 1 << 1,
        TYPE_PATCH_WHOLE = 1 << 2, /* a map that is replaced, where others are merged */
};

struct type;

struct type_field {
        struct str name;
        const struct type *type;
        const struct value *fallback; /* what an absent field becomes; NULL: stays absent */
        bool required;
        /* Built-in kinds only, from the Go types. */
        bool pointer;        /* null and zero differ: a zero that was sent stays */
        bool omit_empty;     /* omitempty: an empty value is not stored */
        bool omit_zero;      /* omitzero: nor is a zero struct */
        uint16_t order;      /* its place in the Go struct */
        bool dropped;        /* known, never stored: behind a feature gate that is off, or given up */
        struct str embedded; /* Go names of the embedded structs it stands in ("VolumeSource"), for messages */
};

struct type {
        enum type_kind kind;
        bool nullable;         /* CRD: null stays null */
        bool preserve_unknown; /* STRUCT that keeps undeclared fields */
        bool embedded;         /* x-kubernetes-embedded-resource */
        const char *name;   /* STRUCT of built-in kinds: "apps.v1.DeploymentSpec", its definition's last three parts */
        struct str go_name; /* "v1.Protocol", "[]v1.Container": as messages say; built-in kinds */
        const struct type *item;
        const struct type_field *fields; /* STRUCT, sorted by name */
        size_t field_count;
        unsigned patch;             /* enum type_patch, of the field that holds it */
        struct str patch_merge_key; /* strategic merge patch of a list of maps */
        const struct value *rules; /* CRD: the schema node (enum, minimum, pattern, oneOf …); NULL for built-in kinds */
        const struct schema *schema;         /* the same for own/: who may own what; never NULL */
        const struct default_rule *defaults; /* default_impl.h: what Go does beyond `fallback`; NULL: nothing */
};

/* Absent, null or what Go calls the zero value: false, 0, "", an empty list or map. */
bool type_is_zero(const struct value *v);

const struct type_field *type_field(const struct type *t, struct str name);

/* The type of a built-in kind, or NULL when the table does not have it. Made once per table and kind. */
struct type_table;
struct type_table *type_table_new(void);
void type_table_free(struct type_table *t);
DEFINE_CLEANUP(struct type_table *, type_table_free)
const struct type *type_table_find(struct type_table *t, struct str api_version, struct str kind);

/*
 * The type a CRD gives its kind in one version, with apiVersion, kind and metadata added; without a schema anything
 * goes. NOTFOUND when the CRD has no such version, INVAL when it is no CRD, LIMIT for a schema deeper than
 * JSON_MAX_DEPTH or more than SCHEMA_MAX_KEYS keys of one list. Whether the schema is structural is validated before.
 */
int type_from_crd(const struct value *crd, struct str version, struct type_table *t, struct arena *a,
                  const struct type **ret_type, struct err *err);

#endif
