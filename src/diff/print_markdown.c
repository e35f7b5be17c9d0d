/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign text stands in code spans only: nothing in them is markup, links nobody and mentions nobody. A span's fence
 * is longer than any run of backticks inside; in tables a pipe needs a backslash even there (GitHub Flavored Markdown,
 * tables).
 */
#include "diff/print_impl.h"
#include "diff/text.h"
#include "diff/title.h"

static size_t longest_run(struct str s, char c) {
        size_t longest = 0, run = 0;

        for (size_t i = 0; i < s.n; i++) {
                run = s.p[i] == c ? run + 1 : 0;
                longest = run > longest ? run : longest;
        }
        return longest;
}

static void add_fence(struct buf *out, size_t length) {
        while (length-- > 0)
                buf_addch(out, '`');
}

/* `text` is escaped once more where it is not yet: that changes nothing in what is. */
static void code_span(struct buf *out, struct str text) {
        _cleanup_(buf_done) struct buf b = buf_make(out->max);
        size_t fence = longest_run(text, '`') + 1;
        bool touching = text.n == 0 || text.p[0] == '`' || text.p[text.n - 1] == '`';

        text_add(&b, text);
        add_fence(out, fence);
        buf_addc(out, touching ? " " : "");
        for (size_t i = 0; i < b.n; i++) {
                if (b.p[i] == '|')
                        buf_addch(out, '\\');
                buf_addch(out, b.p[i]);
        }
        buf_addc(out, touching ? " " : "");
        add_fence(out, fence);
}

void diff_print_code(struct str text, struct buf *out) {
        code_span(out, text);
}

static void code_span_of_title(const struct diff *d, struct buf *out) {
        _cleanup_(buf_done) struct buf b = buf_make(out->max);

        diff_title(d->group, d->kind, d->name, false, &b);
        code_span(out, buf_str(&b));
}

static size_t fields_of(const struct diff *d) {
        size_t count = d->left_out;

        for (size_t i = 0; i < d->count; i++)
                count += d->entries[i].class != DIFF_ADMISSION;
        return count;
}

static void print_heading(const struct diff *d, const struct diff_style *style, struct buf *out) {
        size_t fields = fields_of(d);

        buf_addc(out, "### ");
        code_span_of_title(d, out);
        if (d->ns.n) {
                buf_addc(out, " in ");
                code_span(out, d->ns);
        }
        buf_addc(out, "\n\n");
        if (d->created || d->removed)
                buf_addf(out, "**%s%s**", style->done ? "" : "will be ", d->created ? "created" : "pruned");
        else if (fields)
                buf_addf(out, "**%zu field%s**", fields, fields == 1 ? "" : "s");
        else
                buf_addc(out, "**nothing differs**");
        if (d->file.n) {
                buf_addc(out, " · ");
                code_span(out, d->file);
        }
        buf_addc(out, "\n");
}

static void add_cell(const struct shown *s, char sign, struct buf *out) {
        for (size_t i = 0; i < s->count; i++)
                if (s->lines[i].sign == sign)
                        code_span(out, s->lines[i].text);
        buf_addc(out, " | ");
}

static void print_row(const struct voice *voice, const struct diff_entry *e, const struct shown *s, struct buf *out) {
        _cleanup_(buf_done) struct buf remark = buf_make(out->max);

        buf_addc(out, "| ");
        print_foreign_path(voice, e->path, out);
        buf_addc(out, " | ");
        if (e->line)
                buf_addf(out, "%u", e->line);
        buf_addc(out, " | ");
        if (shown_is_block(s)) {
                buf_addc(out, "below | below | ");
        } else {
                add_cell(s, '-', out);
                add_cell(s, '+', out);
        }
        print_remark(voice, e, &remark);
        buf_addc(out, e->kind == DIFF_REORDERED ? "order" : "");
        buf_addc(out, e->kind == DIFF_REORDERED && remark.n ? "; " : "");
        buf_add(out, buf_str(&remark));
        buf_addc(out, " |\n");
}

static void print_block(const struct voice *voice, const struct diff_entry *e, const struct shown *s, struct buf *out) {
        size_t fence = 3;

        for (size_t i = 0; i < s->count; i++)
                if (longest_run(s->lines[i].text, '`') >= fence)
                        fence = longest_run(s->lines[i].text, '`') + 1;
        buf_addc(out, "\n");
        if (e->path.count) {
                print_foreign_path(voice, e->path, out);
                buf_addc(out, "\n\n");
        }
        add_fence(out, fence);
        buf_addc(out, "diff\n");
        for (size_t i = 0; i < s->count; i++) {
                buf_addch(out, s->lines[i].sign);
                buf_addch(out, ' ');
                buf_add(out, s->lines[i].text);
                buf_addch(out, '\n');
        }
        add_fence(out, fence);
        buf_addch(out, '\n');
}

struct sheet {
        const struct diff *diff;
        struct voice voice;
        struct arena *arena;
        struct buf *out;
};

/* Walks the entries twice: rows of the table first, then what did not fit into one. */
static void print_rows(const struct sheet *t, bool blocks) {
        size_t shown = 0;

        for (size_t i = 0; i < t->diff->count && shown < DIFF_PRINT_ENTRIES; i++) {
                const struct diff_entry *e = &t->diff->entries[i];
                _cleanup_(shown_done) struct shown s = { .arena = t->arena };

                if (e->class == DIFF_ADMISSION)
                        continue;
                shown++;
                shown_entry(&s, e);
                if (!blocks)
                        print_row(&t->voice, e, &s, t->out);
                else if (shown_is_block(&s) || (e->path.count == 0 && s.count))
                        print_block(&t->voice, e, &s, t->out);
        }
}

static void print_table(const struct sheet *t) {
        size_t fields = fields_of(t->diff);

        if (fields == 0)
                return;
        buf_addc(t->out, "\n| field | line | live | Git | |\n|---|---|---|---|---|\n");
        print_rows(t, false);
        if (fields > DIFF_PRINT_ENTRIES)
                buf_addf(t->out, "\n… %zu more fields\n", fields - DIFF_PRINT_ENTRIES);
}

static void print_remarks(const struct sheet *t) {
        bool any = false;

        for (size_t i = 0; i < t->diff->note_count; i++, any = true) {
                buf_addc(t->out, any ? "- " : "\n- ");
                print_note(&t->voice, &t->diff->notes[i], t->out);
                buf_addch(t->out, '\n');
        }
        for (size_t i = 0; i < t->diff->count; i++) {
                if (t->diff->entries[i].class != DIFF_ADMISSION)
                        continue;
                buf_addc(t->out, any ? "- " : "\n- ");
                print_admission(&t->voice, &t->diff->entries[i], t->out);
                buf_addch(t->out, '\n');
                any = true;
        }
}

void print_object_markdown(const struct diff_printer *p, const struct diff *d, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct sheet t = { .diff = d, .voice = { code_span, &p->style }, .arena = a, .out = out };

        print_heading(d, &p->style, out);
        if (!d->created && !d->removed)
                print_table(&t);
        print_rows(&t, true);
        print_remarks(&t);
        buf_addch(out, '\n');
}
