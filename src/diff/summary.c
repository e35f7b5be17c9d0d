/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/print.h"
#include "diff/print_impl.h"
#include "diff/text.h"

#define VALUE_COLUMNS 20
#define NAME_COLUMNS  24

/* A field's own name; `env[LOG]` for the value of a keyed item and for the item itself. */
static void add_name(struct field_path p, struct buf *out) {
        _cleanup_(buf_done) struct buf b = buf_make(SIZE_MAX);
        size_t from = p.count ? p.count - 1 : 0;

        if (from > 0 && p.elements[from].kind == PATH_FIELD && str_eqc(p.elements[from].name, "value") &&
            p.elements[from - 1].kind != PATH_FIELD)
                p.count = from--;
        while (from > 0 && p.elements[from].kind != PATH_FIELD)
                from--;
        if (p.count - from == 1)
                buf_add(&b, p.elements[from].name);
        else
                diff_path_print((struct field_path){ p.elements + from, p.count - from }, &b);
        text_add_cut(out, buf_str(&b), NAME_COLUMNS);
}

/* Does it fit into a line at all? */
static bool is_short(const struct value *v) {
        return v->kind != VALUE_MAP && v->kind != VALUE_LIST && str_find(value_text(v), '\n', 0) < 0;
}

static void add_change(const struct diff *d, const struct diff_entry *e, struct buf *out) {
        add_name(e->path, out);
        if (e->kind != DIFF_CHANGED || d->secret || !is_short(e->before) || !is_short(e->after)) {
                buf_addf(out, " %s", diff_kind_name(e->kind));
                return;
        }
        buf_addch(out, ' ');
        print_value_short(e->before, VALUE_COLUMNS, out);
        buf_addc(out, " → ");
        print_value_short(e->after, VALUE_COLUMNS, out);
}

void diff_summary(const struct diff *d, struct buf *out) {
        _cleanup_(buf_done) struct buf b = buf_make(SIZE_MAX);
        const struct diff_entry *first = NULL;
        size_t count = d->left_out;

        for (size_t i = 0; i < d->count; i++) {
                if (d->entries[i].class == DIFF_ADMISSION)
                        continue;
                first = first ? first : &d->entries[i];
                count++;
        }
        if (!first || d->created || d->removed)
                return;
        add_change(d, first, &b);
        if (count > 1)
                buf_addf(&b, ", %zu more", count - 1);
        if (count > 1 && text_columns(buf_str(&b)) > DIFF_SUMMARY_COLUMNS)
                buf_addf(out, "%zu fields", count);
        else
                text_add_cut(out, buf_str(&b), DIFF_SUMMARY_COLUMNS);
}
