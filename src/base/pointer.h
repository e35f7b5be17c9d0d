/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Pointer (RFC 6901): "/spec/containers/0/image", with ~0 for ~ and ~1 for /.
 */
#ifndef TRUCE_BASE_POINTER_H
#define TRUCE_BASE_POINTER_H

#include "base/value.h"

struct pointer {
        const struct str *tokens; /* unescaped */
        size_t count;
};

/* INVAL when the text is neither empty nor begins with "/", or holds a bad escape. */
int pointer_parse(struct str text, struct arena *a, struct pointer *ret_pointer, struct err *err);
/* The value it names, or NULL. List tokens are decimal without leading zeros. */
const struct value *pointer_find(const struct value *v, struct pointer p);
/* Appends "/token" with escapes. */
void pointer_add_token(struct buf *out, struct str token);

#endif
