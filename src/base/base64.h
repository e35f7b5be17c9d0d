/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 (RFC 4648 §4): the standard alphabet, padded, without line breaks.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_BASE_BASE64_H
#define TRUCE_BASE_BASE64_H

#include "base/buf.h"

/* How many bytes the text of n bytes takes. */
static inline size_t base64_text_bytes(size_t n) {
        return (n + 2) / 3 * 4;
}

/* Appends the text of `data`. */
void base64_encode(struct str data, struct buf *out);

/*
 * Is it whole groups of four, with at most two "=" at the very end? Bits that a last group leaves unused may be set, as
 * Go's decoder and so the API server have it.
 */
bool base64_is_valid(struct str text);

/* Appends the bytes; false, with nothing appended, when it is not valid. */
bool base64_decode(struct str text, struct buf *out);

#endif
