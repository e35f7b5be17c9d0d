/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unknown and duplicate fields, read off the text itself: a parsed value has forgotten the order of its keys and all
 * but the last of equal ones. The text is JSON that json_parse() took, so nothing is checked again here. What a type
 * reads by itself (quantities, raw JSON) is not looked into; nor is an unknown field.
 */
#include "base/map.h"
#include "sandbox/decode_impl.h"
#include "sandbox/scan.h"

#define MAX_STRICT_ERRORS 100

struct scanner {
        struct scan at;
        struct arena *a;
        struct causes *out;
};

enum place_kind {
        PLACE_TYPED,      /* read into a type */
        PLACE_ANY,        /* any JSON, of which duplicates count: custom resources, patches */
        PLACE_OPERATIONS, /* a JSON patch */
        PLACE_OPERATION,
};

/* What is known where the scanner stands. */
struct place {
        enum place_kind kind;
        const struct type *type; /* NULL: one that is not looked into */
        const struct decode_frame *at;
};

static struct place below(struct place where, const struct type *type, const struct decode_frame *at) {
        static const enum place_kind kinds[] = { [PLACE_TYPED] = PLACE_TYPED,
                                                 [PLACE_ANY] = PLACE_ANY,
                                                 [PLACE_OPERATIONS] = PLACE_OPERATION,
                                                 [PLACE_OPERATION] = PLACE_ANY };

        return (struct place){ kinds[where.kind], type, at };
}

static void read_value(struct scanner *s, struct place where);

static void tell(struct scanner *s, const char *what, const struct decode_frame *up, struct str key) {
        struct decode_frame f = { .up = up, .name = key };
        struct str text = arena_strf(s->a, "%s field \"%.*s\"", what, STR_FMT(decode_path(&f, s->a)));

        for (size_t i = 0; i < s->out->count; i++)
                if (str_eq(s->out->items[i].message, text))
                        return;
        if (s->out->count < MAX_STRICT_ERRORS)
                causes_add(s->out, "", (struct str){ 0 }, "%.*s", STR_FMT(text));
}

static bool has_members(struct place where) {
        if (where.kind == PLACE_TYPED)
                return where.type && (where.type->kind == TYPE_STRUCT || where.type->kind == TYPE_MAP);
        return where.kind != PLACE_OPERATIONS;
}

static bool has_items(struct place where) {
        if (where.kind == PLACE_TYPED)
                return where.type && where.type->kind == TYPE_LIST;
        return where.kind != PLACE_OPERATION;
}

/* Keys met so far in one object: a few are looked through, many are hashed. */
struct keys {
        struct str few[16];
        size_t count;
        struct map *many;
};

static bool is_new(struct keys *k, struct str key) {
        for (size_t i = 0; i < k->count; i++)
                if (str_eq(k->few[i], key))
                        return false;
        if (k->count < ARRAY_LEN(k->few)) {
                k->few[k->count++] = key;
                return true;
        }
        if (!k->many)
                k->many = map_new(NULL);
        if (map_find(k->many, key))
                return false;
        map_set(k->many, key, k);
        return true;
}

static bool is_unknown(struct place where, struct str key) {
        static const char *const members[] = { "op", "path", "from", "value" };

        if (where.kind == PLACE_TYPED)
                return where.type->kind == TYPE_STRUCT && !type_field(where.type, key);
        for (size_t i = 0; i < ARRAY_LEN(members); i++)
                if (str_eqc(key, members[i]))
                        return false;
        return where.kind == PLACE_OPERATION;
}

static void read_member(struct scanner *s, struct place where, struct keys *met) {
        struct str key = scan_key(&s->at, s->a);
        const struct type_field *f = type_field(where.type, key);
        const struct type *type = f ? f->type : where.type ? where.type->item : NULL;
        struct decode_frame here = { .up = where.at, .name = key };

        if (is_unknown(where, key)) {
                tell(s, "unknown", where.at, key);
                scan_value(&s->at);
                return;
        }
        if (!is_new(met, key))
                tell(s, "duplicate", where.at, key);
        read_value(s, below(where, type, &here));
}

static void read_object(struct scanner *s, struct place where) {
        struct keys met = { 0 };

        scan_bracket(&s->at);
        while (scan_next(&s->at) == '"')
                read_member(s, where, &met);
        scan_bracket(&s->at);
        map_free(met.many);
}

static void read_list(struct scanner *s, struct place where) {
        struct decode_frame here = { .up = where.at };

        scan_bracket(&s->at);
        for (char c; (c = scan_next(&s->at)) != ']' && c; here.index++)
                read_value(s, below(where, where.type ? where.type->item : NULL, &here));
        scan_bracket(&s->at);
}

static void read_value(struct scanner *s, struct place where) {
        char next = scan_next(&s->at);

        if (next == '{' && has_members(where))
                read_object(s, where);
        else if (next == '[' && has_items(where))
                read_list(s, where);
        else
                scan_value(&s->at);
}

static void read_text(struct str text, enum place_kind kind, const struct type *t, struct causes *strict) {
        struct scanner s = { { text.p, text.p + text.n }, strict->arena, strict };

        read_value(&s, (struct place){ kind, t, NULL });
}

void codec_strict(const struct type *t, struct str text, struct causes *strict) {
        if (t->rules)
                codec_duplicates(text, strict);
        else
                read_text(text, PLACE_TYPED, t, strict);
}

void codec_duplicates(struct str text, struct causes *strict) {
        read_text(text, PLACE_ANY, NULL, strict);
}

void codec_operations(struct str text, struct causes *strict) {
        read_text(text, PLACE_OPERATIONS, NULL, strict);
}
