/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server takes, but warns of: fields without effect, deprecated ones, doubled items.
 *
 * Source: WarningsOnCreate and WarningsOnUpdate of the kinds' strategies, pkg/api/{pod,service,job}/warnings.go,
 * pkg/api/{persistentvolumeclaim,node}/util.go.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_WARN_H
#define TRUCE_SANDBOX_WARN_H

#include "sandbox/sandbox_impl.h"

/* Warns of a valid object that is about to be stored. `live` NULL: a creation. */
void warn_of(struct call *c, const struct value *live, const struct value *object);
/* Without ownerReferences that come twice; warns of them. `after`: after admission, which has another text. */
const struct value *warn_of_owners(struct call *c, const struct value *object, bool after);

#endif
