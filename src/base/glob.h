/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Argo CD's globs, those of gobwas/glob without separators: `*` and `**` match any run of bytes, "/" included; `?` one
 * character; `[abc]` `[a-z]` `[!a-z]` a class; `{a,b}` alternatives, which may nest; `\` takes the next character
 * literally. So `*.yaml` also matches `sub/a.yaml`, and `**` + `/` + `*.yaml` only what lies below a folder.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_BASE_GLOB_H
#define TRUCE_BASE_GLOB_H

#include "base/err.h"
#include "base/str.h"

#define GLOB_MAX_BYTES 4096
#define GLOB_MAX_NESTING 8
/* Steps one match may take; a pattern that needs more is a mistake or an attack, and does not match. */
#define GLOB_MAX_STEPS 200000

/* INVAL for an unclosed class or brace, an escape at the end; LIMIT for length or nesting. */
int glob_check(struct str pattern, struct err *err);

/* Does the whole of `s` match? A pattern that glob_check() refuses matches nothing. */
bool glob_match(struct str pattern, struct str s);

#endif
