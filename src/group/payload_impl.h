/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical form of templates, and the hash of a payload (group/revision.h says which differences do not count). */
#ifndef TRUCE_GROUP_PAYLOAD_IMPL_H
#define TRUCE_GROUP_PAYLOAD_IMPL_H

#include "base/value.h"

/* A copy of a pod template, or of a list of claim templates, without what means nothing. */
const struct value *payload_clean(const struct value *v, struct arena *a);

/* Lower-case hex digits of the payload's hash; the same for ever. */
struct str payload_hash(const struct value *payload, struct arena *a);

#endif
