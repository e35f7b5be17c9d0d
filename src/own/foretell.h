/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of an object, and of who owns what in it, when a sync takes it on: `truce adopt`.
 *
 * The first apply is the server's to answer, by a dry-run: admission, defaults and conflicts are in it. What a sync does
 * after it (own/decide.h: what people added and earlier deployers left) is decided by decide() itself, on what the request
 * before would have left. Those requests move ownership, or take away what is ours and not in Git's object, so that nothing
 * need be asked of the server: the patches say what they change, and the removals are made here.
 *
 * Not known: defaults that come back where a field is removed, and what an admission plug-in does to those later requests.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_OWN_FORETELL_H
#define TRUCE_OWN_FORETELL_H

#include "own/decide.h"

#define FORETELL_MAX_STEPS 8

struct foretold {
        const struct value *object;      /* as it is in the end */
        struct managed owners;           /* of it */
        const struct decide_note *notes; /* of all steps; of a path the last that speaks of it */
        size_t note_count;
        struct str open;                 /* why a later step would do nothing more; empty: it all comes to its end */
};

/*
 * `in` is what `first` was decided on, with mode DIFF; `answer` what the server said to its dry-run, whole. Errors as
 * decide(). Everything lives in the arena, or is borrowed from what comes in.
 */
int foretell(const struct decide_input *in, const struct decision *first, const struct value *answer, struct arena *a,
             struct foretold *ret, struct err *err);

/* What changes about a path's owners. */
enum hand_kind {
        HAND_CHANGES, /* ours then, and no longer `owner`'s */
        HAND_NEW,     /* ours then, and nobody's now */
        HAND_SHARED,  /* ours and `owner`'s then */
        HAND_OURS,    /* ours now and then, and nobody else's */
        HAND_STAYS,   /* `owner`'s then as now, not ours */
        HAND_GOES,    /* the path itself goes; it was `owner`'s */
};

struct hand {
        struct field_path path;
        enum hand_kind kind;
        const struct managed_entry *owner; /* the newest of the others; NULL: NEW, OURS */
        const struct decide_note *note;    /* why it stays or goes; NULL: it is not in Git */
        bool atomic;                       /* a node that has one owner as a whole */
};

/*
 * The leaves of all that somebody owns before or after, in the order of FieldsV1, without status and without the marks
 * that truce sets itself. `before` are the owners now, of the object `live`.
 */
size_t foretell_hands(const struct decide_input *in, const struct foretold *f, struct arena *a,
                      const struct hand **ret_hands);

#endif
