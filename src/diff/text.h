/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside, made fit for a terminal.
 *
 * Nothing that comes from Git or a cluster may move a cursor, change a colour or turn the reading direction: control
 * characters (C0, DEL, C1), bidirectional and invisible format characters, and bytes that are not UTF-8 are written as
 * `\n`, `\t`, `\x1b`, `\u202e`. Everything else stays as it is.
 *
 * Widths are in terminal columns: wide East Asian characters and emoji count 2, combining marks 0.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_DIFF_TEXT_H
#define TRUCE_DIFF_TEXT_H

#include "base/buf.h"

/* Appends s, escaped. */
void text_add(struct buf *out, struct str s);

/* Appends s, escaped and cut to `max` columns; a cut text ends in "…" and is exactly as wide as fits. */
void text_add_cut(struct buf *out, struct str s, size_t max);

/*
 * As text_add_cut(), for one of two texts that first differ at byte `at`: when the cut would hide that place, the text
 * begins with "…" shortly before it instead.
 */
void text_add_window(struct buf *out, struct str s, size_t at, size_t max);

/* The columns of text that is already escaped. */
size_t text_columns(struct str s);

/* Appends blanks until what stands in `out` after byte `from` is `columns` wide. */
void text_pad(struct buf *out, size_t from, size_t columns);

/*
 * Appends JSON text in which characters that text_add() would escape are written as \uXXXX (they can only stand inside
 * strings there). `json` must be valid JSON text.
 */
void text_add_json(struct buf *out, struct str json);

#endif
