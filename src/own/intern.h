/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One copy of texts that repeat: a thousand Deployments written by the same manager have a handful of different
 * FieldsV1 sets. Counted references; a text goes when its last user lets go.
 *
 * Thread rule: one thread at a time, for the pool and its texts.
 */
#ifndef TRUCE_OWN_INTERN_H
#define TRUCE_OWN_INTERN_H

#include "base/macro.h"
#include "base/str.h"

struct intern_pool;
struct interned;

struct intern_pool *intern_pool_new(void);
/* All texts must have been let go (asserted). */
void intern_pool_free(struct intern_pool *p);
DEFINE_CLEANUP(struct intern_pool *, intern_pool_free)

/* The one copy of these bytes, with one more reference. Never NULL. */
struct interned *intern_text(struct intern_pool *p, struct str text);
void interned_unref(struct interned *t);
/* Borrowed; ends in a NUL that does not count. */
struct str interned_str(const struct interned *t);

/* Different texts held, and their bytes. */
size_t intern_count(const struct intern_pool *p);
size_t intern_bytes(const struct intern_pool *p);

#endif
