/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an apply would change (or has changed) in one object, field by field, and whose each field is.
 *
 * `before` is the live object; `after` what the server answered to the apply or its dry-run. List items meet by what
 * the schema says (keys with their defaults, or values); where it is silent by how managedFields of either side name
 * them, else by unique `name`s, else by their place in the longest common order. A sub-tree that only one side has is
 * one difference, not one for each leaf, unless its parts belong to different owners.
 *
 * Never compared: status, and metadata's managedFields, resourceVersion, generation, uid, creationTimestamp, selfLink.
 *
 * Secrets: everything in a result comes from masked copies (mask.h); there is nothing left to hide for who prints it.
 *
 * Limits: DIFF_MAX_ENTRIES differences; what is beyond is counted in `left_out`.
 *
 * Thread rule: pure. A result borrows from its input and from the arena.
 */
#ifndef TRUCE_DIFF_COMPARE_H
#define TRUCE_DIFF_COMPARE_H

#include "diff/mask.h"
#include "own/decide.h"

#define DIFF_MAX_ENTRIES 2000

enum diff_kind {
        DIFF_CHANGED,
        DIFF_ADDED,
        DIFF_REMOVED,
        DIFF_REORDERED, /* a list whose items are the same and stand in another order; before and after are the lists */
};

enum diff_class {
        DIFF_OURS,      /* Git's: in our set afterwards, or leaving it */
        DIFF_ADMISSION, /* in nobody's set: a default or an admission plug-in's work; no drift */
        DIFF_FOREIGN,   /* somebody else's, changed along with ours */
};

/* Who last set the live side, as far as managedFields say. */
struct diff_owner {
        struct str manager; /* empty: nobody */
        enum managed_operation operation;
        struct str subresource;
        struct str time; /* RFC 3339; empty when not known */
        enum policy_class class;
};

struct diff_entry {
        enum diff_kind kind;
        enum diff_class class;
        struct field_path path;     /* items by key where they have one; empty: the whole object */
        const struct value *before; /* NULL when ADDED */
        const struct value *after;  /* NULL when REMOVED */
        const struct value *git;    /* what Git says there; NULL: nothing, or not known */
        struct diff_owner owner;
        uint32_t line;                 /* of the Git side; 0: none */
        const struct decide_note *why; /* the note that says why it is taken or leaves; NULL: none */
};

/* A note of the decision, with what stands there. */
struct diff_note {
        enum decide_note_kind kind;
        struct field_path path;
        struct str owner;
        struct str subresource;
        const char *rule;
        const struct value *live; /* NULL: absent */
        const struct value *git;  /* NULL: absent, or not known */
        uint32_t line;
};

struct diff {
        struct str group, kind, ns, name;
        struct str file; /* of the Git side; may be empty */
        bool secret;
        bool created, removed; /* the whole object comes or goes; then there is one entry, with the empty path */
        const struct diff_entry *entries;
        size_t count;
        size_t left_out;
        const struct diff_note *notes; /* TAKEN, LEAVING and REMOVED only where no entry says it */
        size_t note_count;
};

struct diff_input {
        const struct value *before;  /* NULL: it does not exist */
        const struct value *after;   /* NULL: it would be gone. The same as before: only the notes are of interest */
        const struct value *desired; /* as Git says it; NULL: not known */
        /* Used where the object itself has no managedFields. NULL: none; then Git's paths are taken for ours in
         * `after`. */
        const struct managed *before_owners, *after_owners;
        const struct schema *type; /* NULL: unknown */
        bool secret;               /* mask it as a Secret (a core Secret always is) */
        const struct mask_annotations *mask; /* masked in any kind; may be NULL */
        struct str file;
        const struct decide_note *notes;
        size_t note_count;
        /* The line of Git's file where a path, or its nearest ancestor, stands; 0: none. NULL: read from `desired`. */
        uint32_t (*line_of)(void *ctx, struct field_path path);
        void *line_ctx;
};

/*
 * Compares. Paths that a note calls due for a hand-over are the same on both sides by definition. INVAL when both sides
 * are NULL or one is no map, PARSE when managedFields cannot be read.
 */
int diff_compare(const struct diff_input *in, struct arena *a, struct diff *ret_diff, struct err *err);

/* Would (did) the apply change anything but what admission and defaults do by themselves? */
bool diff_differs(const struct diff *d);

/* The line of the value at the path, or of its nearest ancestor that is there; 0 when the value has no lines. */
uint32_t diff_line_in(const struct value *root, struct field_path path, const struct schema *type);

/* "changed" "added" "removed" "reordered"; "ours" "admission" "foreign". */
const char *diff_kind_name(enum diff_kind kind);
const char *diff_class_name(enum diff_class class);

#endif
