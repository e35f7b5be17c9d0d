/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to patch_merge.c, patch_strategic.c (maps and directives) and patch_list.c (lists and their order).
 */
#ifndef TRUCE_SANDBOX_PATCH_IMPL_H
#define TRUCE_SANDBOX_PATCH_IMPL_H

#include "sandbox/codec.h"

/* Without the nulls of maps, at any depth; those of lists stay. */
const struct value *patch_without_nulls(const struct value *v, struct arena *a);

struct patch_run {
        struct arena *a;
        struct err *err;
};

int patch_merge_map(const struct patch_run *r, const struct type *t, const struct value *doc, const struct value *patch,
                    const struct value **ret);

/* Merges lists with the strategy merge, by key (maps) or as a union (scalars, `key` empty). */
int patch_merge_list(const struct patch_run *r, const struct type *item, struct str key, const struct value *live,
                     const struct value *given, const struct value **ret);
int patch_delete_from_list(const struct patch_run *r, const struct value *live, const struct value *gone,
                           const struct value **ret);

/* Is the order of the patch's items that of $setElementOrder, and are all of them in it? `given` may be NULL. */
int patch_check_order(const struct patch_run *r, const struct value *given, const struct value *order, struct str key);
/* Items of `order` in its order, the others in that of `live` (which may be NULL), woven together by `live`. */
int patch_sort_list(const struct patch_run *r, struct str key, const struct value *merged, const struct value *order,
                    const struct value *live, const struct value **ret);

/* The list with the item at `at` (count: appended) replaced, or (NULL) removed. */
const struct value *patch_list_with(struct arena *a, const struct value *list, size_t at, const struct value *item);
bool patch_list_has(const struct value *list, const struct value *item);
/* "string", "map[string]interface {}" … */
const char *patch_go_type(const struct value *v);

#endif
