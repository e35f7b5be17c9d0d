/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of a patched document, as the server's refusals quote it and as it is read once more: the patch library
 * reads only the parts a patch leads through and prints those with sorted keys. The rest stays the text it was: of the
 * live object in Go's order of fields, of the patch as it was sent, doubled keys and all.
 *
 * Patches share the nodes they leave alone (patch_merge(), patch_json()): a node that is the live one, or the patch's,
 * was not read.
 *
 * Source: github.com/evanphx/json-patch v4's lazyNode.
 */
#include "base/limits.h"
#include "base/map.h"
#include "own/path.h"
#include "sandbox/body.h"
#include "sandbox/scan.h"

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

/* ---- which node was which text ---- */

struct origin {
        const struct type *type; /* of a live node; NULL: any JSON */
        struct str sent;         /* of a patch's node: its text */
};

struct origins {
        struct map *of; /* address of the node → struct origin */
        struct arena *a;
};

static struct str address_of(const struct value *const *node) {
        return (struct str){ (const char *)node, sizeof *node };
}

static void note(struct origins *o, const struct value *node, struct origin origin) {
        struct origin *kept = arena_alloc(o->a, sizeof *kept);

        *kept = origin;
        map_set(o->of, address_of(&node), kept);
}

static const struct type *type_below(const struct type *t, struct str name) {
        const struct type_field *f = t && t->kind == TYPE_STRUCT ? type_field(t, name) : NULL;

        return f ? f->type : t ? t->item : NULL;
}

static void note_live(struct origins *o, const struct type *t, const struct value *v) {
        for (size_t i = 0; v->kind == VALUE_MAP && i < v->map.count; i++)
                note_live(o, type_below(t, v->map.members[i].key), v->map.members[i].value);
        for (size_t i = 0; v->kind == VALUE_LIST && i < v->list.count; i++)
                note_live(o, t ? t->item : NULL, v->list.items[i]);
        note(o, v, (struct origin){ .type = t });
}

/* Of a doubled key the last value has a node, and is noted last. NULL: what stands here has none. */
static void note_sent(struct origins *o, struct scan *s, const struct value *v) {
        char next = scan_next(s);
        struct str text = { s->p, 0 };

        if (!v) {
                scan_value(s);
                return;
        }
        if (next == '{' && value_is(v, VALUE_MAP)) {
                scan_bracket(s);
                while (scan_next(s) == '"')
                        note_sent(o, s, value_get(v, scan_key(s, o->a)));
                scan_bracket(s);
        } else if (next == '[' && value_is(v, VALUE_LIST)) {
                scan_bracket(s);
                for (size_t i = 0; scan_next(s) != ']'; i++)
                        note_sent(o, s, i < v->list.count ? v->list.items[i] : NULL);
                scan_bracket(s);
        } else
                scan_value(s);
        text.n = (size_t)(s->p - text.p);
        note(o, v, (struct origin){ .sent = text });
}

/* ---- the document ---- */

static void print_sent(struct str text, struct buf *out) {
        bool quoted = false;

        for (size_t i = 0; i < text.n; i++) {
                if (quoted || text.p[i] > ' ')
                        buf_addch(out, text.p[i]);
                if (quoted && text.p[i] == '\\')
                        buf_addch(out, text.p[++i]);
                else if (text.p[i] == '"')
                        quoted = !quoted;
        }
}

static void print(const struct origins *o, const struct value *v, struct buf *out);

/* A node that was read. */
static void print_parts(const struct origins *o, const struct value *v, struct buf *out) {
        if (v->kind == VALUE_MAP) {
                buf_addch(out, '{');
                for (size_t i = 0; i < v->map.count; i++) {
                        print_name(v->map.members[i].key, i == 0, out);
                        print(o, v->map.members[i].value, out);
                }
                buf_addch(out, '}');
        } else if (v->kind == VALUE_LIST) {
                buf_addch(out, '[');
                for (size_t i = 0; i < v->list.count; i++) {
                        if (i)
                                buf_addch(out, ',');
                        print(o, v->list.items[i], out);
                }
                buf_addch(out, ']');
        } else
                value_print(v, out);
}

static void print(const struct origins *o, const struct value *v, struct buf *out) {
        const struct origin *origin = map_find(o->of, address_of(&v));

        if (!origin)
                print_parts(o, v, out);
        else if (origin->sent.n)
                print_sent(origin->sent, out);
        else
                print_untouched(origin->type, v, out);
}

/* Go's encoder spells these so, wherever they come from. */
static struct str with_html_escaped(struct str text, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(6 * text.n + 1);

        for (size_t i = 0; i < text.n; i++)
                if (text.p[i] == '<' || text.p[i] == '>' || text.p[i] == '&')
                        buf_addf(&out, "\\u%04x", (unsigned)text.p[i]);
                else
                        buf_addch(&out, text.p[i]);
        return arena_str(a, buf_str(&out));
}

struct str body_patched_text(const struct type *t, const struct value *live, const struct value *patch,
                             struct str patch_text, const struct value *document, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(4 * KUBE_MAX_OBJECT_BYTES);
        _cleanup_(map_freep) struct map *of = map_new(NULL);
        struct origins o = { of, a };

        note_live(&o, t, live);
        note_sent(&o, &(struct scan){ patch_text.p, patch_text.p + patch_text.n }, patch);
        print_parts(&o, document, &out); /* the document itself is always read */
        return with_html_escaped(buf_str(&out), a);
}
