/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of paths that is asked what is above and below a path. Each question costs one look-up a level of the path, however
 * many paths there are. Paths are copied, as text.
 *
 * Thread rule: one thread at a time.
 */
#ifndef TRUCE_OWN_PATH_SET_H
#define TRUCE_OWN_PATH_SET_H

#include "base/map.h"
#include "own/path.h"

struct path_set {
        struct map *members, *above; /* `above`: every path that is above one of them */
        size_t looks;                /* look-ups so far */
};

void path_set_init(struct path_set *s);
void path_set_done(struct path_set *s);

void path_set_add(struct path_set *s, struct field_path p);
bool path_set_has(struct path_set *s, struct field_path p);
/* Is it a member, or below one? */
bool path_set_covers(struct path_set *s, struct field_path p);
/* Is a member above it? */
bool path_set_is_over(struct path_set *s, struct field_path p);
/* Is a member below it? */
bool path_set_is_under(struct path_set *s, struct field_path p);

#endif
