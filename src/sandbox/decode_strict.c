/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unknown and duplicate fields, read off the text itself: a parsed value has forgotten the order of its keys and all
 * but the last of equal ones. The text is JSON that json_parse() took, so nothing is checked again here. What a type
 * reads by itself (quantities, raw JSON) is not looked into; nor is an unknown field.
 */
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "sandbox/decode_impl.h"

#define MAX_STRICT_ERRORS 100

struct scanner {
        const char *p, *end;
        struct arena *a;
        struct causes *out;
};

/* What is known where the scanner stands. */
struct place {
        const struct type *type; /* NULL: any JSON */
        bool untyped;            /* any JSON, but duplicates count (custom resources) */
        const struct decode_frame *at;
};

static void scan_value(struct scanner *s, struct place where);

static void skip_blanks(struct scanner *s) {
        while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
                s->p++;
}

static void skip_string(struct scanner *s) {
        for (s->p++; s->p < s->end && *s->p != '"'; s->p++)
                if (*s->p == '\\')
                        s->p++;
        s->p++;
}

/* A whole value, without looking. */
static void skip_value(struct scanner *s) {
        size_t depth = 0;

        do {
                skip_blanks(s);
                if (s->p >= s->end)
                        return;
                if (*s->p == '"') {
                        skip_string(s);
                        continue;
                }
                depth += *s->p == '{' || *s->p == '[';
                depth -= *s->p == '}' || *s->p == ']';
                if (strchr("{}[],:", *s->p)) {
                        s->p++;
                        continue;
                }
                while (s->p < s->end && !strchr("{}[],: \t\r\n\"", *s->p))
                        s->p++;
        } while (depth > 0);
}

static struct str read_key(struct scanner *s) {
        const char *from = s->p;
        const struct value *v = NULL;

        skip_string(s);
        struct str text = { from, (size_t)(s->p - from) };

        if (!memchr(from, '\\', text.n))
                return str_sub(text, 1, text.n - 1);
        json_parse(text, s->a, &v, NULL);
        return value_text(v);
}

static void tell(struct scanner *s, const char *what, const struct decode_frame *up, struct str key) {
        struct decode_frame f = { .up = up, .name = key };
        struct str text = arena_strf(s->a, "%s field \"%.*s\"", what, STR_FMT(decode_path(&f, s->a)));

        for (size_t i = 0; i < s->out->count; i++)
                if (str_eq(s->out->items[i].message, text))
                        return;
        if (s->out->count < MAX_STRICT_ERRORS)
                causes_add(s->out, "", (struct str){ 0 }, "%.*s", STR_FMT(text));
}

static bool takes_maps(struct place where) {
        return where.untyped || (where.type && (where.type->kind == TYPE_STRUCT || where.type->kind == TYPE_MAP));
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

static void scan_member(struct scanner *s, struct place where, struct keys *met) {
        struct str key = read_key(s);
        const struct type_field *f = type_field(where.type, key);
        bool is_struct = !where.untyped && where.type->kind == TYPE_STRUCT;
        struct decode_frame here = { .up = where.at, .name = key };
        struct place inner = { f ? f->type : where.type ? where.type->item : NULL, where.untyped, &here };

        skip_blanks(s);
        s->p++; /* ':' */
        if (is_struct && !f) {
                tell(s, "unknown", where.at, key);
                skip_value(s);
                return;
        }
        if (!is_new(met, key))
                tell(s, "duplicate", where.at, key);
        scan_value(s, inner);
}

static void scan_object(struct scanner *s, struct place where) {
        struct keys met = { 0 };

        s->p++;
        for (skip_blanks(s); s->p < s->end && *s->p != '}'; skip_blanks(s)) {
                if (*s->p == ',')
                        s->p++;
                else
                        scan_member(s, where, &met);
        }
        s->p++;
        map_free(met.many);
}

static void scan_list(struct scanner *s, struct place where) {
        struct decode_frame here = { .up = where.at };
        struct place inner = { where.type ? where.type->item : NULL, where.untyped, &here };

        s->p++;
        for (skip_blanks(s); s->p < s->end && *s->p != ']'; skip_blanks(s)) {
                if (*s->p == ',') {
                        s->p++;
                        continue;
                }
                scan_value(s, inner);
                here.index++;
        }
        s->p++;
}

static void scan_value(struct scanner *s, struct place where) {
        skip_blanks(s);
        if (s->p < s->end && *s->p == '{' && takes_maps(where))
                scan_object(s, where);
        else if (s->p < s->end && *s->p == '[' && (where.untyped || (where.type && where.type->kind == TYPE_LIST)))
                scan_list(s, where);
        else
                skip_value(s);
}

void codec_strict(const struct type *t, struct str text, struct causes *strict) {
        struct scanner s = { text.p, text.p + text.n, strict->arena, strict };

        scan_value(&s, (struct place){ t->rules ? NULL : t, t->rules != NULL, NULL });
}

void codec_duplicates(struct str text, struct causes *strict) {
        struct scanner s = { text.p, text.p + text.n, strict->arena, strict };

        scan_value(&s, (struct place){ NULL, true, NULL });
}
