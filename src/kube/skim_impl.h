/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds members in JSON text without building a tree: what a reflector must know of an event (its type, the object's
 * resourceVersion) at the price of one walk over the bytes. It knows strings, escapes and brackets; it validates no
 * more than it needs to find its way. Keys written with escapes are not recognised (no server writes such).
 */
#ifndef TRUCE_KUBE_SKIM_IMPL_H
#define TRUCE_KUBE_SKIM_IMPL_H

#include "base/str.h"

/* The raw text of `key`'s value in the map that `json` is, blanks trimmed. False when absent or when json is no map. */
bool skim_member(struct str json, struct str key, struct str *ret_raw);

/* As above for a string without escapes: what stands between its quotes. */
bool skim_string(struct str json, struct str key, struct str *ret_text);

#endif
