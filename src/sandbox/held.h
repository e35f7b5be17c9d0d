/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Empty lists and maps that a body gives. Go holds them apart from absent ones until the object is stored; we leave
 * them out at once (codec.h). Here is what the API server can tell by them: what checks print, a generation, owners.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_HELD_H
#define TRUCE_SANDBOX_HELD_H

#include "sandbox/sandbox_impl.h"

/*
 * After `body` was decoded as `type`: keeps in the call what Go holds of it, when that is the kind's own type, and notes a
 * null among bytes, which makes a write of what else would be none (UNREAD_NO_BYTES).
 */
void held_note(struct call *c, const struct type *type, const struct value *body);
/* The object with those empty values, as validation sees it. */
const struct value *held_for_checks(const struct call *c, const struct value *object);
/* Does the spec differ from the live one by them alone, for a kind that counts it? */
bool held_counts(const struct call *c, const struct value *live);
/*
 * The object as owners are computed: with the empty lists that Go never omits, which is how it prints them until they
 * are stored, as null. Back again by the second.
 */
const struct value *held_for_owners(const struct call *c, const struct value *object);
const struct value *held_after_owners(const struct call *c, const struct value *object);
/*
 * The object with each list that has one owner and that Go holds otherwise than what is stored of it (quantities spelt
 * in another way, empty lists and maps within) made unequal to any other. Go compares such lists as they are in memory:
 * who sends one changes it, and is its owner then.
 * Source: structured-merge-diff's listReflect.EqualsUsing().
 */
const struct value *held_mark_lists(const struct call *c, const struct value *object);

#endif
