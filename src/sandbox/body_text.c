/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of a patched document, as the server's refusals quote it: its patch library reads only the parts a patch
 * leads through and prints those with sorted keys; the rest stays the text it was, in Go's order of fields.
 *
 * Patches share the nodes they leave alone (patch_merge(), patch_json()): a node that is the live one was not read.
 */
#include "base/limits.h"
#include "own/path.h"
#include "sandbox/body.h"

static void print_untouched(const struct type *t, const struct value *v, struct buf *out);

static void print_name(struct str name, bool first, struct buf *out) {
        if (!first)
                buf_addch(out, ',');
        value_print_string(name, out);
        buf_addch(out, ':');
}

/* ---- fieldsV1: in the order of path elements ---- */

struct entry {
        struct path_element e;
        const struct value_member *m;
};

static int entry_cmp(const void *a, const void *b) {
        const struct entry *x = a, *y = b;
        bool dot_x = str_eqc(x->m->key, "."), dot_y = str_eqc(y->m->key, ".");

        return dot_x || dot_y ? dot_y - dot_x : path_element_cmp(&x->e, &y->e);
}

static void print_fields(const struct value *v, struct arena *a, struct buf *out) {
        struct entry *entries = arena_zalloc(a, (value_count(v) + 1) * sizeof *entries);
        size_t n = value_count(v);

        for (size_t i = 0; i < n; i++) {
                entries[i].m = &v->map.members[i];
                if (!str_eqc(entries[i].m->key, "."))
                        path_element_parse(entries[i].m->key, a, &entries[i].e, NULL);
        }
        qsort(entries, n, sizeof *entries, entry_cmp);
        buf_addch(out, '{');
        for (size_t i = 0; i < n; i++) {
                print_name(entries[i].m->key, i == 0, out);
                print_fields(entries[i].m->value, a, out);
        }
        buf_addch(out, '}');
}

static void print_owned(const struct value *v, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        if (value_is(v, VALUE_MAP))
                print_fields(v, a, out);
        else
                value_print(v, out);
}

/* ---- what the patch did not touch ---- */

static void print_struct(const struct type *t, const struct value *v, struct buf *out) {
        bool first = true;

        for (size_t place = 0; place < t->field_count; place++)
                for (size_t i = 0; i < t->field_count; i++) {
                        const struct value *member =
                                t->fields[i].order == place ? value_get(v, t->fields[i].name) : NULL;

                        if (!member)
                                continue;
                        print_name(t->fields[i].name, first, out);
                        if (str_eqc(t->fields[i].name, "fieldsV1"))
                                print_owned(member, out);
                        else
                                print_untouched(t->fields[i].type, member, out);
                        first = false;
                }
}

static void print_untouched(const struct type *t, const struct value *v, struct buf *out) {
        if (t && v->kind == VALUE_MAP && t->kind == TYPE_STRUCT) {
                buf_addch(out, '{');
                print_struct(t, v, out);
                buf_addch(out, '}');
        } else if (t && v->kind == VALUE_MAP && t->item) {
                buf_addch(out, '{');
                for (size_t i = 0; i < v->map.count; i++) {
                        print_name(v->map.members[i].key, i == 0, out);
                        print_untouched(t->item, v->map.members[i].value, out);
                }
                buf_addch(out, '}');
        } else if (t && v->kind == VALUE_LIST && t->item) {
                buf_addch(out, '[');
                for (size_t i = 0; i < v->list.count; i++) {
                        if (i)
                                buf_addch(out, ',');
                        print_untouched(t->item, v->list.items[i], out);
                }
                buf_addch(out, ']');
        } else
                value_print(v, out);
}

/* ---- the document ---- */

static const struct type *type_below(const struct type *t, struct str name) {
        const struct type_field *f = t && t->kind == TYPE_STRUCT ? type_field(t, name) : NULL;

        return f ? f->type : t ? t->item : NULL;
}

static const struct value *same_item(const struct value *list, const struct value *item, size_t at) {
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (list->list.items[i] == item)
                        return item;
        return value_is(list, VALUE_LIST) && at < list->list.count ? list->list.items[at] : NULL;
}

static void print(const struct type *t, const struct value *live, const struct value *v, struct buf *out) {
        if (v == live) {
                print_untouched(t, v, out);
        } else if (v->kind == VALUE_MAP) {
                buf_addch(out, '{');
                for (size_t i = 0; i < v->map.count; i++) {
                        const struct value_member *m = &v->map.members[i];

                        print_name(m->key, i == 0, out);
                        print(type_below(t, m->key), value_get(live, m->key), m->value, out);
                }
                buf_addch(out, '}');
        } else if (v->kind == VALUE_LIST) {
                buf_addch(out, '[');
                for (size_t i = 0; i < v->list.count; i++) {
                        if (i)
                                buf_addch(out, ',');
                        print(t ? t->item : NULL, same_item(live, v->list.items[i], i), v->list.items[i], out);
                }
                buf_addch(out, ']');
        } else
                value_print(v, out);
}

struct str body_patched_text(const struct type *t, const struct value *live, const struct value *document,
                             struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(4 * KUBE_MAX_OBJECT_BYTES);

        /* The document itself is always read. */
        if (document == live)
                document = value_with(a, live, STR(""), value_getc(live, ""));
        print(t, live, document, &out);
        return arena_str(a, buf_str(&out));
}
