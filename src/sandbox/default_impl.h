/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults of built-in types beyond OpenAPI's, hung on the types when they are made.
 *
 * Source of the rules: SetDefaults_* of k8s.io/kubernetes/pkg/apis, read for v1.37.2. Most of them are "absent (or
 * zero): this value" and become the field's `fallback`; the rest are functions. As on the server, a struct's function
 * runs before its fields' fallbacks, and both before those of the structs inside it.
 */
#ifndef TRUCE_SANDBOX_DEFAULT_IMPL_H
#define TRUCE_SANDBOX_DEFAULT_IMPL_H

#include "sandbox/types.h"

typedef const struct value *(*default_fn)(const struct value *object, struct arena *a);

struct default_rule {
        const char *type; /* struct type's name */
        default_fn run;   /* gives the object back, changed or not */
};

/* default_workload.c, default_core.c, default_other.c: the functions, each list ended by a NULL type. */
extern const struct default_rule default_rules_workload[], default_rules_core[], default_rules_other[];

/* Gives a struct type its function and the simple fallbacks among `fields`. */
void default_attach(struct type *t, struct type_field *fields, size_t count, struct arena *a);

/* Reading and changing one object: NULL or the zero of its kind is absent, as for Go without pointers. */
bool default_text_is(const struct value *map, const char *key, const char *text);
/* Sets the key when it is absent. */
const struct value *default_set(const struct value *map, const char *key, const struct value *value, struct arena *a);
const struct value *default_set_text(const struct value *map, const char *key, const char *text, struct arena *a);
/* For fields that Go has behind a pointer: an empty one is there, and refused later. */
const struct value *default_set_pointer(const struct value *map, const char *key, const char *text, struct arena *a);
const struct value *default_set_int(const struct value *map, const char *key, int64_t number, struct arena *a);
/* A value from JSON text written in our code. */
const struct value *default_json(const char *text, struct arena *a);
/* The map with `key` (a list) replaced by one whose items went through `fn`; unchanged when nothing changed. */
const struct value *default_each(const struct value *map, const char *key, default_fn fn, struct arena *a);
/* The same for one member. */
const struct value *default_in(const struct value *map, const char *key, default_fn fn, struct arena *a);

#endif
