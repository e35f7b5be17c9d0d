/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Empty lists and maps that a body gives. Go holds them apart from absent ones until the object is stored; we leave
 * them out at once (codec.h). Here is what the API server can tell by them: some checks and a generation.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_HELD_H
#define TRUCE_SANDBOX_HELD_H

#include "sandbox/sandbox_impl.h"

/* After `body` was decoded as `type`: keeps in the call what Go holds of it, when that is the kind's own type. */
void held_note(struct call *c, const struct type *type, const struct value *body);
/* The object with those empty values that validation looks at. */
const struct value *held_for_checks(const struct call *c, const struct value *object);
/* Does the spec differ from the live one by them alone, for a kind that counts it? */
bool held_counts(const struct call *c, const struct value *live);
/*
 * The object as owners are computed: with the empty lists that Go never omits, which is how it prints them until they
 * are stored, as null. Back again by the second.
 */
const struct value *held_for_owners(const struct call *c, const struct value *object);
const struct value *held_after_owners(const struct call *c, const struct value *object);

#endif
