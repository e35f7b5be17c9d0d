/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/print_impl.h"
#include "diff/text.h"

static void add_text(struct value_map_builder *b, struct arena *a, const char *key, struct str text) {
        if (text.n)
                value_map_add(b, str_from(key), value_string(a, text, 0), 0);
}

static void add_value(struct value_map_builder *b, const char *key, const struct value *v) {
        if (v)
                value_map_add(b, str_from(key), v, 0);
}

static void add_path(struct value_map_builder *b, struct arena *a, struct field_path p) {
        _cleanup_(buf_done) struct buf text = buf_make(SIZE_MAX);

        field_path_print(p, &text);
        value_map_add(b, STR("path"), value_string(a, buf_str(&text), 0), 0);
}

static void add_line(struct value_map_builder *b, struct arena *a, uint32_t line) {
        if (line)
                value_map_add(b, STR("line"), value_int(a, line, 0), 0);
}

static const struct value *object_of(const struct diff *d, struct arena *a) {
        struct value_map_builder b = { 0 };

        add_text(&b, a, "group", d->group);
        add_text(&b, a, "kind", d->kind);
        add_text(&b, a, "namespace", d->ns);
        add_text(&b, a, "name", d->name);
        return value_map_end(&b, a, 0);
}

static const struct value *owner_of(const struct diff_owner *o, struct arena *a) {
        struct value_map_builder b = { 0 };

        if (o->manager.n == 0)
                return NULL;
        add_text(&b, a, "manager", o->manager);
        add_value(&b, "operation", value_stringc(a, o->operation == MANAGED_APPLY ? "Apply" : "Update"));
        add_text(&b, a, "subresource", o->subresource);
        add_text(&b, a, "time", o->time);
        return value_map_end(&b, a, 0);
}

static const struct value *note_of(const struct diff_note *n, struct arena *a) {
        struct value_map_builder b = { 0 };

        add_value(&b, "kind", value_stringc(a, decide_note_name(n->kind)));
        add_path(&b, a, n->path);
        add_text(&b, a, "owner", n->owner);
        add_text(&b, a, "subresource", n->subresource);
        add_value(&b, "rule", value_stringc(a, n->rule));
        add_value(&b, "live", n->live);
        add_value(&b, "git", n->git);
        add_line(&b, a, n->line);
        return value_map_end(&b, a, 0);
}

static bool belongs(const struct diff_note *n, const struct diff_entry *e) {
        return e->path.count && (field_path_covers(n->path, e->path) || field_path_covers(e->path, n->path));
}

static const struct value *why_of(const struct decide_note *n, struct arena *a) {
        const struct diff_note note = {
                .kind = n->kind,
                .path = n->path,
                .owner = n->owner,
                .subresource = n->subresource,
                .rule = n->rule,
        };

        return note_of(&note, a);
}

static const struct value *notes_of(const struct diff *d, const struct diff_entry *e, struct arena *a) {
        struct value_list_builder b = { 0 };

        if (e->why)
                value_list_add(&b, why_of(e->why, a));
        for (size_t i = 0; i < d->note_count; i++)
                if (belongs(&d->notes[i], e))
                        value_list_add(&b, note_of(&d->notes[i], a));
        return value_list_end(&b, a, 0);
}

static void add_element(struct diff_printer *p, struct value_map_builder *b, struct arena *a, struct buf *out) {
        _cleanup_(buf_done) struct buf text = buf_make(SIZE_MAX);

        value_print(value_map_end(b, a, 0), &text);
        buf_addc(out, p->elements++ ? ",\n" : "\n");
        text_add_json(out, buf_str(&text));
}

static void print_entry(struct diff_printer *p, const struct diff *d, const struct diff_entry *e, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct value_map_builder b = { 0 };

        add_value(&b, "object", object_of(d, a));
        add_text(&b, a, "file", d->file);
        add_path(&b, a, e->path);
        add_line(&b, a, e->line);
        add_value(&b, "kind", value_stringc(a, diff_kind_name(e->kind)));
        add_value(&b, "class", value_stringc(a, diff_class_name(e->class)));
        add_value(&b, "before", e->before);
        add_value(&b, "after", e->after);
        add_value(&b, "owner", owner_of(&e->owner, a));
        add_value(&b, "notes", notes_of(d, e, a));
        add_element(p, &b, a, out);
}

static bool is_told(const struct diff *d, const struct diff_note *n) {
        for (size_t i = 0; i < d->count; i++)
                if (belongs(n, &d->entries[i]))
                        return true;
        return false;
}

static void print_lone_note(struct diff_printer *p, const struct diff *d, const struct diff_note *n, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct value_map_builder b = { 0 };
        struct value_list_builder notes = { 0 };

        value_list_add(&notes, note_of(n, a));
        add_value(&b, "object", object_of(d, a));
        add_text(&b, a, "file", d->file);
        add_path(&b, a, n->path);
        add_line(&b, a, n->line);
        add_value(&b, "kind", value_stringc(a, "note"));
        add_value(&b, "notes", value_list_end(&notes, a, 0));
        add_element(p, &b, a, out);
}

void print_object_json(struct diff_printer *p, const struct diff *d, struct buf *out) {
        for (size_t i = 0; i < d->count; i++)
                print_entry(p, d, &d->entries[i], out);
        for (size_t i = 0; i < d->note_count; i++)
                if (!is_told(d, &d->notes[i]))
                        print_lone_note(p, d, &d->notes[i], out);
}
