/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets are never shown.
 *
 * Objects are masked before they are compared, so that whatever is made of them later holds no value of a Secret. In a
 * masked Secret each value under `data` and `stringData`, and every top-level field but apiVersion, kind, metadata,
 * type and immutable, is the text `••••••  (a)`; equal values have equal letters within one call, and only there. In
 * objects of every kind, annotations that hold a copy of the object (kubectl's last-applied and its likes) are masked
 * whole, and so are those that the configuration names. Keys stay visible, lengths do not.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_DIFF_MASK_H
#define TRUCE_DIFF_MASK_H

#include "base/value.h"

/* Runs of at least so many bytes that an error text shares with a value are masked in it. */
#define MASK_SCRUB_MIN_BYTES 4

/* Annotations that hold what nobody may see, in objects of every kind. */
struct mask_annotations {
        const struct str *keys;
        size_t count;
};

/* Is it a core Secret? */
bool mask_is_secret(const struct value *object);

/*
 * Replaces each object of the array (NULLs allowed) by its masked copy in the arena. They are states of one object:
 * letters go first to what differs between the first two. `secret` masks them as Secrets whatever they say they are.
 * `also` may be NULL.
 */
void mask_objects(const struct value **objects, size_t count, bool secret, const struct mask_annotations *also,
                  struct arena *a);

/*
 * A core Secret's masked copy in the arena; any other object as it is. For what reads objects and has something to say.
 */
const struct value *mask_if_secret(const struct value *object, struct arena *a);

/*
 * Appends `text` (an error that may echo an object) with everything masked that stands in a value of these Secrets, as
 * it is spelt in them, decoded from base64, or in their last-applied copies: each shared run of MASK_SCRUB_MIN_BYTES or
 * more, and shorter values where they stand as a word. Objects that are no Secrets count only when `secret` is set; values
 * of the annotations `also`, which may be NULL, do so in any case.
 * Words of the message that a value happens to contain are masked too. Texts are cut at KUBE_MAX_ERROR_BYTES.
 */
void mask_scrub(const struct value *const *objects, size_t count, bool secret, const struct mask_annotations *also,
                struct str text, struct buf *out);

#endif
