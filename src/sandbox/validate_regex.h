/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions as CRDs use them: Go's regexp (RE2 syntax), in linear time. Unicode classes (\pL) and flags in
 * the middle of a group are not known: then nobody can tell, and the caller takes the text for good.
 *
 * Limits: patterns of at most REGEX_MAX_NODES parts after counted repetitions are written out.
 */
#ifndef TRUCE_SANDBOX_VALIDATE_REGEX_H
#define TRUCE_SANDBOX_VALIDATE_REGEX_H

#include "base/arena.h"

#define REGEX_MAX_NODES 20000

enum regex_verdict { REGEX_MATCHES, REGEX_DIFFERS, REGEX_UNKNOWN };

/* Does the pattern occur in the text (as Go's MatchString)? */
enum regex_verdict regex_match(struct str pattern, struct str text, struct arena *a);

#endif
