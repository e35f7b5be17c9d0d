/* SPDX-License-Identifier: Apache-2.0 */
/* Private to diff/: what the text and Markdown printers share. */
#ifndef TRUCE_DIFF_PRINT_IMPL_H
#define TRUCE_DIFF_PRINT_IMPL_H

#include "base/arena.h"
#include "diff/print.h"

/* One line of a shown difference; its text is escaped and cut. */
struct shown_line {
        char sign; /* '-', '+', or ' ' for context and remarks about what is left out */
        struct str text;
};

struct shown {
        struct arena *arena;
        struct shown_line *lines;
        size_t count, cap;
};

/* The lines of a difference. At most DIFF_PRINT_LINES for each side and a word about the rest. */
void shown_entry(struct shown *s, const struct diff_entry *e);
/* Is it more than a value on each side? */
bool shown_is_block(const struct shown *s);
void shown_done(struct shown *s);

/* A value on one line, at most `max` columns. */
void print_value_short(const struct value *v, size_t max, struct buf *out);

/* How one format writes what comes from outside, and a value. */
struct voice {
        void (*foreign)(struct buf *out, struct str text);
        const struct diff_style *style;
};

void print_foreign_value(const struct voice *voice, const struct value *v, struct buf *out);
void print_foreign_path(const struct voice *voice, struct field_path p, struct buf *out);

/* "set by kubectl-edit 3 m ago → will be taken back"; nothing when there is nothing to say. */
void print_remark(const struct voice *voice, const struct diff_entry *e, struct buf *out);
/* "added by admission: metadata.annotations[x] = y   not drift". */
void print_admission(const struct voice *voice, const struct diff_entry *e, struct buf *out);
/* "not ours: spec.replicas = 6   HPA shop/web   (Git's 2 is the seed)". */
void print_note(const struct voice *voice, const struct diff_note *n, struct buf *out);
/* "2 objects differ · 10 same". */
void print_totals(const struct diff_totals *t, struct buf *out);

void print_object_text(const struct diff_printer *p, const struct diff *d, struct buf *out);
void print_object_markdown(const struct diff_printer *p, const struct diff *d, struct buf *out);
void print_object_json(struct diff_printer *p, const struct diff *d, struct buf *out);

#endif
