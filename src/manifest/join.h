/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sets of several sources → the one of their application. Of two sources that have one object the later one counts,
 * with a warning that names both places; whatever is wrong with that one, it is the later one that is wanted. What a single
 * source has twice is refused as ever.
 *
 * Thread rule: as manifest_render().
 */
#ifndef TRUCE_MANIFEST_JOIN_H
#define TRUCE_MANIFEST_JOIN_H

#include "manifest/render.h"

/* A source's set and what stands before the names of its files: "infra:web.yaml"; empty: nothing does. */
struct manifest_part {
        struct manifest_set *set;
        struct str title;
};

/*
 * One object that an application makes along with it (manifest_object.along), from its text; `file` and `line` are where
 * that was said. As a part before all others it gives way to what Git has. INVAL when it is none.
 */
int manifest_make_along(struct str text, struct str file, uint32_t line, struct manifest_set **ret_set, struct err *err);

/*
 * Takes the sets, in the order of their sources, also when it fails. A single one is given back as it is. LIMIT: more than
 * MANIFEST_MAX_OBJECTS together.
 */
int manifest_join(const struct manifest_part *parts, size_t count, struct str default_namespace,
                  struct manifest_set **ret_set, struct err *err);

#endif
