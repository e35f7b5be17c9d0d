/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An apply in thought: what Git says laid over what is there, for showing where no dry-run can be had. It knows no
 * defaults, no admission and no validation, so nothing may be decided on it.
 */
#ifndef TRUCE_OWN_OVERLAY_H
#define TRUCE_OWN_OVERLAY_H

#include "own/schema.h"

/*
 * `base` with all that `top` says: maps and keyed lists are merged where the schema does not make them atomic, new items
 * come last; everything else is top's. Shares what it does not change. `base` may be NULL.
 */
const struct value *own_overlay(struct arena *a, const struct value *base, const struct value *top,
                                const struct schema *type);

#endif
