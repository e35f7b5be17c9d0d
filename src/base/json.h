/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text to struct value. json-c parses (inside json.c and nowhere else); the rules are RFC 8259, strictly: one
 * value, UTF-8 checked, no comments, no trailing bytes, no NaN, no single quotes, no raw control characters; depth at
 * most JSON_MAX_DEPTH. Integers that fit 64 bits stay exact, other numbers keep their text. Duplicate keys: the last
 * one wins. A \u escape that is half of a surrogate pair becomes U+FFFD, as in Go. Printing is value_print().
 */
#ifndef TRUCE_BASE_JSON_H
#define TRUCE_BASE_JSON_H

#include "base/value.h"

/*
 * Parses `text` into the arena. PARSE with the byte offset for text that is not JSON, LIMIT for a depth above
 * JSON_MAX_DEPTH or a text above JSON_MAX_BYTES. Messages never quote the text. Never quadratic; the C stack grows with
 * the depth of the text, a few hundred bytes a level.
 */
int json_parse(struct str text, struct arena *a, const struct value **ret_value, struct err *err);

/*
 * The text of a member of the outermost map, as it stands there: what a text is about that is too deep for json_parse(). The
 * first one of that name; keys with escapes are none. Empty: there is none, or the text is no map or ends before. What
 * comes before it is skipped, not checked. `key` as it is spelt.
 */
struct str json_member(struct str text, struct str key);

#endif
