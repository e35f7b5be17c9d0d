/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the fields of a map that came from outside: each with its type, and what is wrong in the words of the API
 * server's schema check, so that a definition (CRD) which does not check says the same. A null is an absent field, as
 * in Go. What cannot be read gives a problem and counts as absent.
 */
#ifndef TRUCE_GROUP_FIELDS_IMPL_H
#define TRUCE_GROUP_FIELDS_IMPL_H

#include "base/value.h"
#include "group/problem.h"

struct fields {
        const struct value *map; /* NULL: absent, so is every field of it */
        struct str path;         /* of the map; empty: the whole object */
        struct arena *a;
        struct group_problems *problems;
};

/* "spec.replicas" of "replicas" in "spec". */
struct str fields_path(const struct fields *in, struct str key);
/* The value as it is, or NULL when it is absent or null. */
const struct value *fields_get(const struct fields *in, const char *key);
/* The same when it has this kind; NULL and a problem when it has another one. */
const struct value *fields_get_kind(const struct fields *in, const char *key, enum value_kind kind);
/* The fields of a map in it. */
struct fields fields_of(const struct fields *in, const char *key);
/* As fields_of(), and a problem when it is absent from a map that is not. */
struct fields fields_required(const struct fields *in, const char *key);

struct str fields_text(const struct fields *in, const char *key);
/* As fields_text(), and a problem when it is absent from a map that is not, or empty. */
struct str fields_required_text(const struct fields *in, const char *key);
/* A number; what is below `least` or above `most` is a problem with that text, and `otherwise`. */
struct fields_range {
        int64_t least, most;
        const char *below, *above;
};
int32_t fields_number(const struct fields *in, const char *key, int32_t otherwise, const struct fields_range *range);
/* The index of the text in `words`; `otherwise` when it is absent or none of them (a problem). */
size_t fields_word(const struct fields *in, const char *key, const char *const *words, size_t count, size_t otherwise);

/* "Invalid value: …: text" and "Required value" for the field. */
void fields_invalid(const struct fields *in, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);
void fields_missing(const struct fields *in, const char *key);
void fields_bad_type(const struct fields *in, const char *key, const char *wanted);

/* A problem for each field that is not in `known` (ended by NULL), unless it is a newer one that asks for what is so.
 */
void fields_check_known(const struct fields *in, const char *const *known);

/* The value as JSON for a person, cut where it is long; in the arena. */
struct str fields_shown(const struct value *v, struct arena *a);

#endif
