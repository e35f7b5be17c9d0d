/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/print_impl.h"
#include "diff/text.h"
#include "diff/title.h"

#define FILE_COLUMN 65
/* Remarks stand in one column unless a value is wider. */
#define REMARK_COLUMN 12

#define RED   "\033[31m"
#define GREEN "\033[32m"
#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

struct page {
        const struct diff *diff;
        struct voice voice;
        struct arena *arena;
        struct buf *out;
};

static void paint(const struct page *p, const char *color) {
        if (p->voice.style->color)
                buf_addc(p->out, color);
}

static void add_blanks(struct buf *out, size_t count) {
        while (count-- > 0)
                buf_addch(out, ' ');
}

static void print_header(const struct page *p) {
        _cleanup_(buf_done) struct buf b = buf_make(p->out->max);
        const struct diff *d = p->diff;

        diff_title(d->group, d->kind, d->name, false, &b);
        if (d->ns.n) {
                buf_addc(&b, "  ");
                text_add(&b, d->ns);
        }
        paint(p, BOLD);
        buf_add(p->out, buf_str(&b));
        paint(p, PLAIN);
        if (d->file.n) {
                size_t columns = text_columns(buf_str(&b));

                add_blanks(p->out, columns + 2 < FILE_COLUMN ? FILE_COLUMN - columns : 2);
                text_add(p->out, d->file);
        }
        buf_addch(p->out, '\n');
}

/* Where the remark begins, so that it stands clear of both values. */
static size_t remark_column(const struct shown *s) {
        size_t column = REMARK_COLUMN;

        for (size_t i = 0; i < s->count; i++) {
                size_t columns = text_columns(s->lines[i].text);

                if (columns > column && columns < DIFF_PRINT_COLUMNS / 2)
                        column = columns;
        }
        return column;
}

static void print_line(const struct page *p, const struct shown_line *line, size_t column, struct str remark) {
        size_t columns = text_columns(line->text);

        buf_addc(p->out, "    ");
        paint(p, line->sign == '-' ? RED : line->sign == '+' ? GREEN : DIM);
        buf_addch(p->out, line->sign);
        if (line->text.n)
                buf_addch(p->out, ' ');
        buf_add(p->out, line->text);
        paint(p, PLAIN);
        if (remark.n) {
                add_blanks(p->out, (columns < column ? column - columns : 0) + 3);
                buf_add(p->out, remark);
        }
        buf_addch(p->out, '\n');
}

static void print_entry_title(const struct page *p, const struct diff_entry *e) {
        bool done = p->voice.style->done;

        buf_addc(p->out, "  ");
        if (e->path.count)
                diff_path_print(e->path, p->out);
        else
                buf_addf(p->out, "%s%s", done ? "" : "will be ", e->kind == DIFF_ADDED ? "created" : "pruned");
        if (e->kind == DIFF_REORDERED)
                buf_addc(p->out, "  order");
        if (e->line)
                buf_addf(p->out, "   :%u", e->line);
        buf_addch(p->out, '\n');
}

static void print_entry(const struct page *p, const struct diff_entry *e) {
        _cleanup_(shown_done) struct shown s = { .arena = p->arena };
        _cleanup_(buf_done) struct buf remark = buf_make(p->out->max);
        size_t column;

        print_entry_title(p, e);
        shown_entry(&s, e);
        column = remark_column(&s);
        if (e->path.count)
                print_remark(&p->voice, e, &remark);
        for (size_t i = 0; i < s.count; i++)
                print_line(p, &s.lines[i], column, i == 0 ? buf_str(&remark) : STR(""));
}

static void print_entries(const struct page *p) {
        size_t shown = 0, left = p->diff->left_out;

        for (size_t i = 0; i < p->diff->count; i++) {
                const struct diff_entry *e = &p->diff->entries[i];

                if (e->class == DIFF_ADMISSION)
                        continue;
                if (shown == DIFF_PRINT_ENTRIES) {
                        left++;
                        continue;
                }
                print_entry(p, e);
                shown++;
        }
        if (left)
                buf_addf(p->out, "  … %zu more field%s\n", left, left == 1 ? "" : "s");
}

static void print_admissions(const struct page *p) {
        size_t shown = 0, left = 0;

        for (size_t i = 0; i < p->diff->count; i++) {
                const struct diff_entry *e = &p->diff->entries[i];

                if (e->class != DIFF_ADMISSION)
                        continue;
                if (shown++ >= DIFF_PRINT_LINES) {
                        left++;
                        continue;
                }
                buf_addc(p->out, "  ");
                print_admission(&p->voice, e, p->out);
                buf_addch(p->out, '\n');
        }
        if (left)
                buf_addf(p->out, "  … %zu more by default or admission\n", left);
}

void print_object_text(const struct diff_printer *printer, const struct diff *d, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct page p = { .diff = d, .voice = { text_add, &printer->style }, .arena = a, .out = out };

        print_header(&p);
        print_entries(&p);
        for (size_t i = 0; i < d->note_count; i++) {
                buf_addc(out, "  ");
                print_note(&p.voice, &d->notes[i], out);
                buf_addch(out, '\n');
        }
        print_admissions(&p);
}
