/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences for people (text, Markdown) and machines (JSON).
 *
 * Text: see the sketch of `truce diff` in the docs: a line for the object, for each field its short path with the line
 * in Git's file, `-` and `+` with who set the live value. Multi-line strings are shown as small line diffs, sub-trees
 * as YAML, each up to DIFF_PRINT_LINES lines; texts wider than DIFF_PRINT_COLUMNS are cut around the place where they
 * differ. Everything from outside goes through text.h. Colour repeats what the text says.
 *
 * Markdown: a heading and a table for each object, fit for a pull request; foreign text stands in code spans and fences
 * that it cannot leave.
 *
 * JSON: one array; each element is a difference {object {group, kind, namespace, name}, file, path, line, kind, class,
 * before, after, owner {manager, operation, subresource, time}, notes [{kind, path, owner, subresource, rule, live,
 * git}]}. A note that belongs to no difference is an element of kind "note". Absent sides, owners and lines are left
 * out.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_DIFF_PRINT_H
#define TRUCE_DIFF_PRINT_H

#include "diff/compare.h"

#define DIFF_PRINT_COLUMNS   120
#define DIFF_PRINT_LINES     24  /* of one value */
#define DIFF_PRINT_CONTEXT   2   /* lines around a change in a multi-line string */
#define DIFF_PRINT_ENTRIES   200 /* of one object; the rest is counted */
#define DIFF_SUMMARY_COLUMNS 60

enum diff_format {
        DIFF_TEXT,
        DIFF_MARKDOWN,
        DIFF_JSON,
};

struct diff_style {
        bool color;     /* text only */
        bool done;      /* it has happened: "taken back" instead of "will be taken back" */
        int64_t now_ms; /* wall clock, for "3 m ago"; 0: times are shown as they are */
};

/* How an application as a whole stands. */
struct diff_totals {
        size_t differ; /* objects with differences, those below not counted */
        size_t created, pruned, same, failed;
        size_t parked; /* their kind is not served */
        int exit_code; /* shown at the end; negative: not shown */
};

/* A run of objects in one format: print_begin, one print_object each, print_end. */
struct diff_printer {
        enum diff_format format;
        struct diff_style style;
        size_t elements; /* JSON: how many so far */
};

void diff_print_begin(struct diff_printer *p, struct buf *out);
/* Text and Markdown: nothing for an object without differences and notes. */
void diff_print_object(struct diff_printer *p, const struct diff *d, struct buf *out);
void diff_print_end(struct diff_printer *p, const struct diff_totals *totals, struct buf *out);

/*
 * One line without newline for `truce sync`, at most DIFF_SUMMARY_COLUMNS wide: `image web:1.4 → web:1.5`, `image …, 2
 * more`, `3 fields`. Empty when nothing differs or the whole object comes or goes.
 */
void diff_summary(const struct diff *d, struct buf *out);

/* The words that `truce owners` shares: "HPA shop/web (scale)", "kubectl-edit"; not escaped. */
void diff_owner_print(struct str owner, struct str subresource, struct buf *out);
/* "takes back" from a person, "takes" from others; passive: "taken back". */
const char *diff_take_word(enum policy_class owner, bool passive);
/* What truce does about a path with such a note: "yields", "reports" … */
const char *diff_note_verb(enum decide_note_kind kind);

/* A code span of Markdown: whatever the text, nothing in it is markup. */
void diff_print_code(struct str text, struct buf *out);

/* `spec.template.spec.containers[web].image`, `metadata.annotations[sidecar.example/status]`; escaped. */
void diff_path_print(struct field_path p, struct buf *out);

#endif
