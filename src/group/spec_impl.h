/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of group_spec_read(): annotations that are options, and what must fit together. */
#ifndef TRUCE_GROUP_SPEC_IMPL_H
#define TRUCE_GROUP_SPEC_IMPL_H

#include "group/fields_impl.h"
#include "group/spec.h"

/* Reads the annotations truce.dev/…; `annotations` is the map of them, its path ends in that word. */
struct group_options group_options_read(const struct fields *annotations);

/* Rules about more than one field. `s` is read, `object` are the fields of the whole object. */
void group_spec_check(const struct group_spec *s, const struct fields *object);

#endif
