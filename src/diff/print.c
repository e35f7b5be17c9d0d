/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/print.h"

#include "diff/print_impl.h"
#include "diff/text.h"

static bool is_plain_name(struct str s) {
        for (size_t i = 0; i < s.n; i++) {
                char c = s.p[i];
                bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                             c == '_' || c == '$';

                if (!plain)
                        return false;
        }
        return s.n > 0;
}

void diff_path_print(struct field_path p, struct buf *out) {
        for (size_t i = 0; i < p.count; i++) {
                _cleanup_(buf_done) struct buf b = buf_make(out->max);
                const struct path_element *e = &p.elements[i];

                if (e->kind == PATH_FIELD && is_plain_name(e->name)) {
                        buf_addc(out, i ? "." : "");
                        buf_add(out, e->name);
                } else if (e->kind == PATH_FIELD) {
                        buf_addch(out, '[');
                        text_add(out, e->name);
                        buf_addch(out, ']');
                } else {
                        field_path_print_short((struct field_path){ e, 1 }, &b);
                        text_add(out, buf_str(&b));
                }
        }
}

void diff_print_begin(struct diff_printer *p, struct buf *out) {
        p->elements = 0;
        if (p->format == DIFF_JSON)
                buf_addch(out, '[');
}

void diff_print_object(struct diff_printer *p, const struct diff *d, struct buf *out) {
        if (d->count == 0 && d->note_count == 0 && d->left_out == 0)
                return;
        if (p->format == DIFF_JSON)
                print_object_json(p, d, out);
        else if (p->format == DIFF_MARKDOWN)
                print_object_markdown(p, d, out);
        else
                print_object_text(p, d, out);
}

void diff_print_end(struct diff_printer *p, const struct diff_totals *totals, struct buf *out) {
        if (p->format == DIFF_JSON) {
                buf_addc(out, p->elements ? "\n]\n" : "]\n");
                return;
        }
        buf_addc(out, p->format == DIFF_MARKDOWN ? "**" : "");
        print_totals(totals, out);
        buf_addc(out, p->format == DIFF_MARKDOWN ? "**\n" : "\n");
}
