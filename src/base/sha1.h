/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-1 (FIPS 180-4). For names that others derive with it too, and have to agree on; never against an adversary.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_BASE_SHA1_H
#define TRUCE_BASE_SHA1_H

#include "base/str.h"

#define SHA1_HEX_BYTES 40 /* without the NUL */

/* 40 lower-case hex digits and a NUL. */
void sha1_hex(struct str s, char ret_hex[SHA1_HEX_BYTES + 1]);

#endif
