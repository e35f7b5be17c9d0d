/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collection by ownerReferences: an index of owners by uid, kept as commits go by, and deletions a moment
 * later: dependents of what is gone (background), of what waits for them (foregroundDeletion, circles included),
 * references taken out (orphan), and dependents whose owner never existed under all of its names. What an owner of a
 * kind that is not served has stays.
 *
 * Source: pkg/controller/garbagecollector.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_GC_H
#define TRUCE_SANDBOX_GC_H

#include "sandbox/sandbox_impl.h"

struct gc;
struct gc *gc_new(struct sandbox *s);
void gc_free(struct gc *g);
/*
 * The objects of a shelf that name the uid among their owners, by name, in the arena; borrowed until the next change of
 * the store.
 */
size_t gc_dependents(const struct gc *g, struct str uid, const struct shelf *shelf, struct arena *a,
                     struct version ***ret);
void gc_tell(struct gc *g, const struct kind *kind, const struct version *before, const struct version *after);

#endif
