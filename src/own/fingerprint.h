/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fingerprint: "this desired object was applied, and what we own of the live one has not moved since".
 *
 * It is a keyed hash over the desired object's canonical text (after yields), our managedFields entry (apiVersion and
 * set) and the live object projected on that set, list items in live order. It is taken from the response of a
 * successful apply, or after a dry-run that changed nothing. While a later live object gives the same fingerprint, an
 * apply would change nothing: no request is needed, also where the server spells values differently from Git, or a
 * webhook always rewrites one of ours. It answers only "unchanged since", never "equal to Git": a fingerprint must not
 * be stored for an object on which an apply was not seen to be a no-op or to succeed.
 *
 * Seen on a real server, with an equal fingerprint: objects that change at every apply (generation +1 for an empty list
 * the server drops), and a 409 when another manager came to share, with equal values, a path the server spells its own
 * way. Both are reasons not to send the apply.
 *
 * What lies outside our set and outside Git's object does not enter: status, other owners' fields and their items.
 *
 * Pure; the key is the installation's (values of Secrets are among the input).
 */
#ifndef TRUCE_OWN_FINGERPRINT_H
#define TRUCE_OWN_FINGERPRINT_H

#include "own/managed.h"

/*
 * The live object cut down to the members of `set`: list items and set values as they stand in live order, owned leaves
 * whole (an owned `{}` of a granular struct as `{}`), members that live does not have are left out. NULL when a list
 * cannot be matched with certainty (items without the key fields and no known default).
 */
const struct value *own_project(const struct value *live, const struct fieldset *set, const struct schema *type,
                                struct arena *a);

/*
 * NOTFOUND when we have no readable entry in `m`, UNSUPPORTED when the projection cannot be made with certainty: then
 * there is no fingerprint and the proof or a dry-run decides. `desired` is the body without uid and resourceVersion.
 * `scratch` holds temporary values and may be thrown away afterwards.
 */
int fingerprint_of(const struct hash_key *key, const struct value *desired, const struct value *live,
                   const struct managed *m, const struct schema *type, struct arena *scratch,
                   struct hash128 *ret_fingerprint, struct err *err);

#endif
