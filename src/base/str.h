/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct str: a borrowed run of bytes. It owns nothing, need not end in NUL and may hold NULs; whoever made it says
 * how long the bytes live. The empty string is { NULL, 0 } or any pointer with n 0; both compare equal.
 */
#ifndef TRUCE_BASE_STR_H
#define TRUCE_BASE_STR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
        const char *p;
        size_t n;
};

/* A literal without strlen(). */
#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })

/* For printf: printf("%.*s", STR_FMT(s)). Cuts at INT_MAX bytes and at a NUL. */
#define STR_FMT(s) (int)((s).n < INT_MAX ? (s).n : INT_MAX), (s).p ? (s).p : ""

/* Borrows a C string; NULL gives the empty string. */
struct str str_from(const char *c);

bool str_eq(struct str a, struct str b);
bool str_eqc(struct str a, const char *c);

/* Bytewise order, as memcmp: negative, 0 or positive. A prefix sorts first. */
int str_cmp(struct str a, struct str b);

bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);

/* Index of the first `c` at or after `from`, or -1. */
ptrdiff_t str_find(struct str s, char c, size_t from);

/* Does `needle` occur in s? The empty needle always does. */
bool str_contains(struct str s, struct str needle);

/* The bytes from..to (exclusive), both clamped to the length. */
struct str str_sub(struct str s, size_t from, size_t to);

/* Without ASCII blanks (space, tab, CR, LF) at both ends. */
struct str str_trim(struct str s);

/*
 * Cuts the part up to the next `sep` off *rest. Returns false when nothing is left; an empty part between two
 * separators is returned, one after a final separator is not.
 */
bool str_next(struct str *rest, char sep, struct str *ret_part);

/* Decimal digits only (an optional leading '-' for str_to_i64), no blanks; false when not a number or out of range. */
bool str_to_i64(struct str s, int64_t *ret_number);
bool str_to_u64(struct str s, uint64_t *ret_number);

/* Is it well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF)? */
bool str_is_utf8(struct str s);

/* A heap copy that ends in NUL; free() it. Aborts when memory is out. */
char *str_dup(struct str s);

#endif
