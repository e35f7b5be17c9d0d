/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/grid.h"

#include <assert.h>
#include <string.h>

#include "diff/text.h"

#define GAP_COLUMNS 2

struct grid_row {
        struct str cells[GRID_MAX_COLUMNS];
        bool loud;
};

struct grid grid_make(struct arena *a, size_t columns) {
        assert(columns > 0 && columns <= GRID_MAX_COLUMNS);
        return (struct grid){ .arena = a, .columns = columns };
}

static void grow(struct grid *t) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        struct grid_row *rows = arena_alloc(t->arena, cap * sizeof *rows);

        if (t->count)
                memcpy(rows, t->rows, t->count * sizeof *rows);
        t->rows = rows;
        t->cap = cap;
}

void grid_add(struct grid *t, const struct str *cells, bool loud) {
        if (t->count == t->cap)
                grow(t);
        t->rows[t->count] = (struct grid_row){ .loud = loud };
        memcpy(t->rows[t->count].cells, cells, t->columns * sizeof *cells);
        t->count++;
}

static void measure(const struct grid *t, size_t *widths) {
        for (size_t i = 0; i < t->count; i++)
                for (size_t k = 0; k < t->columns; k++) {
                        size_t columns = text_columns(t->rows[i].cells[k]);

                        if (columns > widths[k])
                                widths[k] = columns;
                }
}

static void print_row(const struct grid *t, const struct grid_row *row, const size_t *widths, struct buf *out) {
        for (size_t k = 0; k < t->columns; k++) {
                size_t from = out->n;

                buf_add(out, row->cells[k]);
                if (k + 1 < t->columns)
                        text_pad(out, from, widths[k] + GAP_COLUMNS);
        }
}

void grid_print(const struct grid *t, const char *indent, bool color, struct buf *out) {
        size_t widths[GRID_MAX_COLUMNS] = { 0 };

        measure(t, widths);
        for (size_t i = 0; i < t->count; i++) {
                bool loud = color && t->rows[i].loud;

                buf_addf(out, "%s%s", loud ? "\033[33m" : "", indent);
                print_row(t, &t->rows[i], widths, out);
                buf_addf(out, "%s\n", loud ? "\033[0m" : "");
        }
}
