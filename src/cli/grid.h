/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table for people: columns as wide as their widest cell, two blanks between them, the last one not padded.
 *
 * Cells are escaped already (diff/text.h). A loud row asks for attention: colour repeats what its text says.
 */
#ifndef TRUCE_CLI_GRID_H
#define TRUCE_CLI_GRID_H

#include "base/arena.h"
#include "base/buf.h"

#define GRID_MAX_COLUMNS 8

struct grid {
        struct arena *arena;
        size_t columns; /* 1..GRID_MAX_COLUMNS */
        struct grid_row *rows;
        size_t count, cap;
};

/* Rows live in the arena, cells are borrowed. */
struct grid grid_make(struct arena *a, size_t columns);
/* `cells` has as many as the table has columns. */
void grid_add(struct grid *t, const struct str *cells, bool loud);
/* Every line begins with `indent`. */
void grid_print(const struct grid *t, const char *indent, bool color, struct buf *out);

#endif
