/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths that may differ: ignore rules that count in comparisons and not at sync, as Argo CD's `ignoreDifferences` without
 * RespectIgnoreDifferences. A comparison sees Git's object, the live one and what we own of it without them, so a difference
 * there causes no write, whoever owns the path by now; what is written for another reason has Git's value there.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_OWN_TOLERATE_H
#define TRUCE_OWN_TOLERATE_H

#include "own/managed.h"

/* A path that an ignore rule names. */
struct ignored_path {
        struct field_path path;
        /* A rule looks at either object by itself, and an item's place (INDEX) is that in the one where it was found. */
        bool in_git, in_live;
        bool at_sync;      /* left out of what is applied, too (RespectIgnoreDifferences); else it is tolerated */
        const char *rule;  /* never NULL */
        const char *place; /* of a configured rule; NULL: built in */
};

/* What is compared. */
struct tolerance {
        const struct value *desired, *live; /* without them; maps that become empty go too */
        struct managed owners;              /* our entry without what is at and below them */
};

/* Paths that are at sync do not count. Of none it is what is given. Everything lives in the arena or is borrowed. */
struct tolerance tolerate(const struct value *desired, const struct value *live, const struct managed *owners,
                          const struct ignored_path *paths, size_t count, const struct schema *type, struct arena *a);

#endif
