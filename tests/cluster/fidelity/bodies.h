/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies by chance, out of kinds.yaml (its head says how): whole objects, changes of objects, patches, and small faults.
 * The same random numbers give the same bodies.
 */
#ifndef TRUCE_FIDELITY_BODIES_H
#define TRUCE_FIDELITY_BODIES_H

#include "base/value.h"

struct random {
        uint64_t state;
};
/* Below `bound`, which is not 0. */
unsigned random_below(struct random *r, unsigned bound);
/* True `percent` times in a hundred. */
bool random_chance(struct random *r, unsigned percent);

/* A place and what may stand there. */
struct part {
        const struct str *tokens;
        size_t token_count;
        const struct value *values;
};

struct kind {
        struct str name, api_version, plural;
        bool status, scale, custom;
        bool cluster;             /* outside of namespaces */
        bool no_deletecollection;
        const struct value *base, *account; /* account: a ServiceAccount the namespace must have, or NULL */
        const struct part *parts, *status_parts;
        size_t part_count, status_part_count;
        size_t common_count; /* so many parts come first that every kind has */
};

struct kinds {
        struct kind *list;
        size_t count;
};

/* Exits with a message for a file that cannot be read. */
void kinds_load(const char *path, struct arena *a, struct kinds *ret_kinds);
/* All documents of a YAML file, in the arena; exits likewise. */
const struct yaml_document *yaml_load(const char *path, struct arena *a, size_t *ret_count);

/* An object of that name with some parts; without `base` it is likely to lack what is required. */
const struct value *body_new(const struct kind *k, struct random *r, struct arena *a, struct str name, bool base);
/* The same with nothing but its base and one part that every kind has: valid as a rule. */
const struct value *body_plain(const struct kind *k, struct random *r, struct arena *a, struct str name);
/* With up to `count` parts set. */
const struct value *body_change(const struct kind *k, struct random *r, struct arena *a, const struct value *body,
                                unsigned count);
const struct value *body_change_status(const struct kind *k, struct random *r, struct arena *a,
                                       const struct value *body);
/* One small thing wrong, at a random place: another type, null, an unknown field, a missing or doubled item … */
const struct value *body_fault(struct random *r, struct arena *a, const struct value *body);
/* A random member that is no part of the identity taken away. */
const struct value *body_drop(struct random *r, struct arena *a, const struct value *body);
/* Patches of `live` (NULL: nothing is known of it). `status`: of its status. */
const struct value *body_merge_patch(const struct kind *k, struct random *r, struct arena *a, bool status);
const struct value *body_strategic_patch(const struct kind *k, struct random *r, struct arena *a, bool status);
const struct value *body_json_patch(const struct kind *k, struct random *r, struct arena *a, const struct value *live,
                                    bool status);
/* managedFields edited: an entry less, another manager, a field less, all of them gone. */
const struct value *body_edit_managers(struct random *r, struct arena *a, const struct value *managed_fields);
/* JSON text in which one key comes twice. */
struct str body_double_key(struct random *r, struct arena *a, struct str text);

#endif
