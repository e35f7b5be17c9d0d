/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps over JSON text that json_parse() took, so nothing is checked again: for what a parsed value has forgotten,
 * which is blanks, the order of keys and all but the last of equal ones.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_SCAN_H
#define TRUCE_SANDBOX_SCAN_H

#include "base/arena.h"
#include "base/str.h"

struct scan {
        const char *p, *end;
};

/* To what comes next, which must be there (a value, a key or a closing bracket); commas are passed over as blanks are.
 */
char scan_next(struct scan *s);
/* Over one opening or closing bracket. */
void scan_bracket(struct scan *s);
/* Over a key and its colon; the key without escapes. */
struct str scan_key(struct scan *s, struct arena *a);
/* Over a whole value, without looking; its text, without blanks at the ends. */
struct str scan_value(struct scan *s);

#endif
