/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns each path of an object, what truce does about it, and by which rule: the answers that decide() works by, for
 * people (`truce owners`). Conflicts that an apply would meet are foreseen, so that nothing need be asked of the server.
 *
 * Rows are the leaves of all that is live, owned or in Git, in the order of FieldsV1, without what the server never
 * tracks and without status.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_OWN_EXPLAIN_H
#define TRUCE_OWN_EXPLAIN_H

#include "own/decide.h"

enum explain_fate {
        EXPLAIN_ENFORCED, /* as Git says, and ours */
        EXPLAIN_SET,      /* Git's; the next apply writes it, or its ownership */
        EXPLAIN_TAKEN,    /* Git's, and forced from its owner */
        EXPLAIN_NOTED,    /* as the note `note` says */
        EXPLAIN_ADMITTED, /* ours, but admission made another value of Git's: no drift */
        EXPLAIN_LEFT,     /* another's, and not in Git */
        EXPLAIN_NOBODYS,  /* in nobody's set: a default or an admission plug-in's work; no drift */
        EXPLAIN_OFF,      /* the whole object is not touched: see the decision's reason */
};

/* Where a path comes from that nobody owns. */
enum explain_origin {
        EXPLAIN_DEFAULT,   /* what a schema can fill in */
        EXPLAIN_ADMISSION, /* what none can: metadata, list items, keys of free maps */
};

struct explain_row {
        struct field_path path;
        enum explain_fate fate;
        enum decide_note_kind note;       /* NOTED */
        const struct managed_entry *owner; /* the one whose say it is; NULL: nobody */
        size_t owner_count;               /* in all */
        enum policy_class class;          /* of `owner` */
        struct str in_words;              /* instead of the owner: a scaler; may be empty */
        enum explain_origin origin;       /* NOBODYS */
        const char *rule;                 /* never NULL; "" when it is Git's line that decides, or nothing */
        const char *place;                /* of a configured rule; NULL: none */
        bool in_git;
        size_t leaves; /* how many paths this row stands for */
        const struct decide_note *said;   /* NOTED: by which note */
};

/* A path that is told, and one of the managers to whom it may be left. */
struct explain_report {
        struct field_path path;
        struct str manager;
};

struct explanation {
        const struct explain_row *rows;
        size_t count;
        const struct explain_report *reports; /* with a rule for each of them nothing of the object is reported any more */
        size_t report_count;
};

/*
 * `decision` is what decide() said to `in`, in mode DIFF. Errors as decide(). Everything lives in the arena or is
 * borrowed from `in` and `decision`.
 */
int explain(const struct decide_input *in, const struct decision *decision, struct arena *a, struct explanation *ret,
            struct err *err);

/* Rows of a whole sub-tree that say the same become one, of its root. */
struct explanation explain_short(const struct explanation *e, struct arena *a);

/* Does the row wait for somebody's word: another's path that differs from Git, or that Git does not have? */
bool explain_is_report(const struct explain_row *r);

/*
 * The rule that leaves a path to a manager, as a map of YAML on one line, ready to paste into `spec.ownership.rules`:
 * `{manager: m, group: apps, kind: Deployment, namespace: shop, objectName: web, path: '.spec.x', action: yield}`.
 */
void explain_rule(const struct explain_report *r, const struct policy_object *object, struct buf *out);

#endif
