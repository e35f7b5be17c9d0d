/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that mean the same and are spelt otherwise: `1000m` in Git and `1` in the cluster. Where what Git says is a
 * quantity or a duration, and the live object has the same one, the live spelling takes the place of Git's before anything
 * is compared or sent: then there is no difference, no conflict with who spelt it so, and no write.
 *
 * Which fields these are is known
 *  - of built-in kinds (the API server itself spells their quantities anew),
 *  - of custom kinds from the pattern that generated definitions have for quantities,
 *  - and from configuration: Argo CD's knownTypeFields.
 *
 * Nothing but spelling ever changes: values that are not equal exactly stay Git's.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_OWN_RESPELL_H
#define TRUCE_OWN_RESPELL_H

#include "own/schema.h"

/* A field of one kind that holds a type of Kubernetes; lists on the way are walked through. */
struct known_field {
        const struct str *names; /* `spec.podSpec` in its parts */
        size_t count;
        struct str type;         /* "core/v1/PodSpec", "core/Quantity", "meta/v1/Duration": known_type_check() took it */
};

/* INVAL, with the nearest name, for a type that is not known. */
int known_type_check(struct str type, struct err *err);

/* What is known beside the built-in table. */
struct respell_knowledge {
        const struct value *crd; /* of its kind; NULL: none */
        const struct known_field *fields;
        size_t field_count;
};

/*
 * `git` with live spellings, the same where nothing is spelt otherwise. `type` is its schema: items of lists meet by its keys,
 * else by their places. live NULL: there is nothing to follow. What is new is in the arena.
 */
const struct value *respell(const struct value *git, const struct value *live, const struct respell_knowledge *known,
                            const struct schema *type, struct arena *a);

#endif
