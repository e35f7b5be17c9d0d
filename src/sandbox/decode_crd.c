/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of custom resources: kept as they are, except metadata (decoded as everywhere, also in embedded resources),
 * undeclared fields (pruned), nulls that may not be null and have no default (dropped), and numbers (spelt as Go
 * prints its float64).
 */
#include <stdlib.h>
#include <string.h>

#include "sandbox/codec.h"
#include "sandbox/decode_impl.h"

struct pruner {
        struct arena *a;
        struct str *unknown; /* paths, on the heap */
        size_t count, cap;
};

/* The three fields that every resource has, declared or not. */
static bool is_resource_field(struct str key) {
        return str_eqc(key, "apiVersion") || str_eqc(key, "kind") || str_eqc(key, "metadata");
}

static void note_unknown(struct pruner *p, const struct decode_frame *up, struct str key) {
        struct decode_frame f = { .up = up, .name = key };

        p->unknown = mem_grow(p->unknown, &p->cap, p->count + 1, sizeof *p->unknown);
        p->unknown[p->count++] = decode_path(&f, p->a);
}

static const struct value *prune(struct pruner *p, const struct type *t, const struct value *v,
                                 const struct decode_frame *at);

static bool is_useless_null(const struct type *t, const struct value *fallback, const struct value *v) {
        return v->kind == VALUE_NULL && t && !t->nullable && !fallback;
}

/* One member: what becomes of it; NULL: it goes. */
static const struct value *prune_member(struct pruner *p, const struct type *t, const struct value_member *m,
                                        const struct decode_frame *at) {
        const struct type_field *f = type_field(t, m->key);
        const struct type *inner = f ? f->type : t && t->kind == TYPE_MAP ? t->item : NULL;
        struct decode_frame here = { .up = at, .name = m->key };

        if (inner && inner->name)
                return m->value; /* ObjectMeta: decoded by itself */
        if (t && t->embedded && is_resource_field(m->key))
                return m->value;
        if (inner) {
                const struct value *fallback = f ? f->fallback : value_getc(inner->rules, "default");

                return is_useless_null(inner, fallback, m->value) ? NULL : prune(p, inner, m->value, &here);
        }
        if (t && (t->preserve_unknown || t->kind == TYPE_ANY))
                return m->value;
        note_unknown(p, at, m->key);
        return NULL;
}

static const struct value *prune_map(struct pruner *p, const struct type *t, const struct value *v,
                                     const struct decode_frame *at) {
        struct value_member *members = arena_alloc(p->a, v->map.count * sizeof *members);
        bool changed = false;
        size_t n = 0;

        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];
                const struct value *kept = prune_member(p, t, m, at);

                changed = changed || kept != m->value;
                if (kept)
                        members[n++] = (struct value_member){ m->key, kept, m->line };
        }
        return changed ? value_map_of(p->a, members, n, v->line) : v;
}

static const struct value *prune_list(struct pruner *p, const struct type *t, const struct value *v,
                                      const struct decode_frame *at) {
        const struct type *item = t && t->kind == TYPE_LIST ? t->item : NULL;
        struct value_list_builder b = { 0 };
        bool changed = false;

        if (!item && t && t->preserve_unknown)
                return v;
        for (size_t i = 0; i < v->list.count; i++) {
                struct decode_frame here = { .up = at, .index = i };
                const struct value *kept = prune(p, item, v->list.items[i], &here);

                changed = changed || kept != v->list.items[i];
                value_list_add(&b, kept);
        }
        if (changed)
                return value_list_end(&b, p->a, v->line);
        value_list_drop(&b);
        return v;
}

static const struct value *prune(struct pruner *p, const struct type *t, const struct value *v,
                                 const struct decode_frame *at) {
        if (v->kind == VALUE_MAP)
                return prune_map(p, t, v, at);
        return v->kind == VALUE_LIST ? prune_list(p, t, v, at) : v;
}

const struct value *codec_prune(const struct type *t, const struct value *object, struct arena *a) {
        struct pruner p = { .a = a };

        object = prune(&p, t, object, NULL);
        free(p.unknown);
        return object;
}

/* --- numbers --- */

struct speller {
        struct arena *a;
        bool of_yaml;      /* which has texts for numbers that no float64 can hold, and one zero */
        struct str beyond; /* such a number; empty: none */
};

static const struct value *respell_number(struct speller *s, const struct value *v) {
        struct str text = value_canonical(s->a, v);

        bool is_float = decode_is_float(text, s->a);

        if (s->of_yaml && !is_float)
                return value_string(s->a, text, v->line);
        if (!is_float)
                s->beyond = text;
        if (s->of_yaml && str_eqc(decode_float(text, s->a), "-0"))
                return value_int(s->a, 0, v->line);
        return value_number(s->a, decode_float(text, s->a), v->line);
}

static const struct value *respell(struct speller *s, const struct value *v) {
        struct arena *a = s->a;

        if (v->kind == VALUE_DECIMAL || v->kind == VALUE_UINT)
                return respell_number(s, v);
        if (v->kind == VALUE_LIST) {
                const struct value **items = arena_alloc(a, v->list.count * sizeof *items);
                struct value *list = arena_zalloc(a, sizeof *list);
                bool changed = false;

                for (size_t i = 0; i < v->list.count; i++) {
                        items[i] = respell(s, v->list.items[i]);
                        changed = changed || items[i] != v->list.items[i];
                }
                *list = (struct value){ .kind = VALUE_LIST, .line = v->line, .list = { items, v->list.count } };
                return changed ? list : v;
        }
        if (v->kind != VALUE_MAP)
                return v;
        struct value_member *members = arena_alloc(a, v->map.count * sizeof *members);
        bool changed = false;

        for (size_t i = 0; i < v->map.count; i++) {
                members[i] = v->map.members[i];
                members[i].value = respell(s, members[i].value);
                changed = changed || members[i].value != v->map.members[i].value;
        }
        return changed ? value_map_of(a, members, v->map.count, v->line) : v;
}

const struct value *codec_numbers(const struct value *config, struct arena *a) {
        struct speller s = { .a = a, .of_yaml = true };

        return respell(&s, config);
}

/* --- metadata --- */

/* The metadata of the object and of embedded resources, as ObjectMeta. */
struct meta {
        bool is_body; /* of a request: what is embedded must say what it is */
        struct arena *a;
        struct causes *strict;
        struct err *err;
        int r;
};

static const struct value *read_metadata(struct meta *m, const struct type *t, const struct value *v,
                                         const struct decode_frame *at) {
        struct causes found = { .arena = m->a };
        const struct value *read = v;
        struct str path = decode_path(at, m->a);

        m->r = decode_builtin(t, v, m->a, &read, &found, m->err);
        if (m->r < 0 && at->up)
                err_wrap(m->err, m->r, "%.*s: Invalid value: %.*s", STR_FMT(path), STR_FMT(value_canonical(m->a, v)));
        for (size_t i = 0; i < found.count && m->strict; i++) {
                struct str text = found.items[i].message;

                /* `unknown field "x"` → `unknown field "metadata.x"` */
                causes_add(m->strict, "", (struct str){ 0 }, "unknown field \"%.*s.%.*s", STR_FMT(path),
                           STR_FMT(str_sub(text, sizeof "unknown field \"" - 1, text.n)));
        }
        causes_done(&found);
        return read;
}

static const struct value *coerce(struct meta *m, const struct type *t, const struct value *v,
                                  const struct decode_frame *at);

static const struct value *coerce_member(struct meta *m, const struct type *t, const struct value_member *member,
                                         const struct decode_frame *at) {
        const struct type_field *f = type_field(t, member->key);
        const struct type *inner = f ? f->type : t->kind == TYPE_MAP ? t->item : NULL;
        struct decode_frame here = { .up = at, .name = member->key };

        if (m->is_body && m->r == 0 && at && t->embedded && member->value->kind != VALUE_STRING &&
            (str_eqc(member->key, "apiVersion") || str_eqc(member->key, "kind")))
                m->r = err_set(m->err, ERR_INVAL, "%.*s: Invalid value: %.*s: must be a string",
                               STR_FMT(decode_path(&here, m->a)), STR_FMT(value_canonical(m->a, member->value)));
        if (!inner || m->r < 0 || (!at && inner->name))
                return member->value;
        return inner->name ? read_metadata(m, inner, member->value, &here) : coerce(m, inner, member->value, &here);
}

static bool may_hold_metadata(const struct type *t) {
        return t && (t->kind == TYPE_STRUCT || t->kind == TYPE_MAP || t->kind == TYPE_LIST);
}

static const struct value *coerce_list(struct meta *m, const struct type *t, const struct value *v,
                                       const struct decode_frame *at) {
        struct value_list_builder b = { 0 };
        bool changed = false;

        for (size_t i = 0; i < v->list.count; i++) {
                struct decode_frame here = { .up = at, .index = i };
                const struct value *item = coerce(m, t->item, v->list.items[i], &here);

                changed = changed || item != v->list.items[i];
                value_list_add(&b, item);
        }
        if (changed)
                return value_list_end(&b, m->a, v->line);
        value_list_drop(&b);
        return v;
}

static const struct value *coerce(struct meta *m, const struct type *t, const struct value *v,
                                  const struct decode_frame *at) {
        if (!may_hold_metadata(t) || m->r < 0)
                return v;
        if (v->kind == VALUE_LIST && t->kind == TYPE_LIST)
                return coerce_list(m, t, v, at);
        for (size_t i = 0; v->kind == VALUE_MAP && i < v->map.count; i++) {
                const struct value *old = v->map.members[i].value, *now = coerce_member(m, t, &v->map.members[i], at);

                if (now != old)
                        v = value_with(m->a, v, v->map.members[i].key, now);
        }
        return v;
}

/* --- all of it --- */

static int path_cmp(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The metadata of the object itself comes first, that of embedded resources last. */
static const struct value *coerce_root(struct meta *m, const struct type *t, const struct value *object) {
        const struct type_field *f = type_field(t, STR("metadata"));
        const struct value *metadata = value_getc(object, "metadata");
        struct decode_frame at = { .name = STR("metadata") };

        if (!f || !metadata)
                return object;
        const struct value *read = read_metadata(m, f->type, metadata, &at);

        return m->r < 0 ? object : value_with(m->a, object, STR("metadata"), read);
}

static int read_numbers(const struct value *body, struct arena *a, const struct value **ret, struct err *err) {
        struct speller s = { .a = a };

        *ret = respell(&s, body);
        return s.beyond.n ? err_set(err, ERR_INVAL, "json: cannot unmarshal number %.*s into Go value of type float64",
                                    STR_FMT(s.beyond))
                          : 0;
}

int codec_decode_odd(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object,
                     struct causes *strict, struct err *err) {
        struct meta m = { .is_body = true, .a = a, .strict = strict, .err = err };
        const struct value *read;
        int r = read_numbers(body, a, &read, err);

        if (r < 0)
                return r;
        read = coerce_root(&m, t, read);
        if (m.r == 0)
                *ret_object = read;
        return m.r;
}

int decode_custom(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object,
                  struct causes *strict, struct err *err) {
        struct meta m = { .is_body = true, .a = a, .strict = strict, .err = err };
        struct pruner p = { .a = a };
        int r = read_numbers(body, a, &body, err);

        if (r < 0)
                return r;
        const struct value *object = coerce_root(&m, t, body);

        if (m.r < 0)
                return m.r;
        object = prune(&p, t, object, NULL);
        if (p.count)
                qsort(p.unknown, p.count, sizeof *p.unknown, path_cmp);
        for (size_t i = 0; i < p.count && strict; i++)
                causes_add(strict, "", (struct str){ 0 }, "unknown field \"%.*s\"", STR_FMT(p.unknown[i]));
        free(p.unknown);
        object = coerce(&m, t, object, NULL);
        if (m.r == 0)
                *ret_object = object;
        return m.r;
}

int codec_metadata(const struct type *t, const struct value *object, struct arena *a, const struct value **ret_object,
                   struct err *err) {
        struct meta m = { .a = a, .err = err };

        object = coerce_root(&m, t, object);
        object = coerce(&m, t, object, NULL);
        if (m.r == 0)
                *ret_object = object;
        return m.r;
}

int codec_decode(const struct type *t, const struct value *body, bool is_crd, struct arena *a,
                 const struct value **ret_object, struct causes *strict, struct err *err) {
        return (is_crd ? decode_custom : decode_builtin)(t, body, a, ret_object, strict, err);
}
