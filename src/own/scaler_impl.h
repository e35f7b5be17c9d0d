/* SPDX-License-Identifier: Apache-2.0 */
/* Private to own/: what scaler_kind.c (reading scaler objects) and scaler.c (the index) share. */
#ifndef TRUCE_OWN_SCALER_IMPL_H
#define TRUCE_OWN_SCALER_IMPL_H

#include "own/scaler.h"

struct scaler_kind;

/* NULL: no kind of scaler. */
const struct scaler_kind *scaler_kind_find(struct str group, struct str kind);
/* What the object says, borrowed from it; names made up of several parts live in the arena. */
struct scaler scaler_read(const struct value *object, const struct scaler_kind *kind, struct arena *a);

/* What stands at "spec.a.b", or NULL. */
const struct value *scaler_value_at(const struct value *v, const char *dotted);

#endif
