/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of built-in kinds: read as Go's decoder reads them into structs, and given back as its encoder prints those.
 * So what is absent may appear (a struct without a pointer, a list without omitempty as null) and what is there may
 * vanish. A decoded value of NULL is Go's zero: nil, "", 0, an empty struct.
 */
#include "sandbox/decode_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/limits.h"

#define MAX_STRICT_ERRORS 100

struct decoder {
        struct arena *a;
        struct causes *strict; /* NULL: nobody asks */
        bool converts;         /* the words of apimachinery's converter, which stops at the first fault */
        bool holds;            /* empty values stay */
        bool in_order;         /* … of all faults in Go's order of fields: the pass after a failure */
        struct str failure;    /* the first wrong type: told at the end */
        bool stop;             /* … or at once, when a type that reads itself refused its JSON */
};

static const struct value *decode(struct decoder *d, const struct type *t, const struct value *v,
                                  const struct decode_frame *at);
static const struct value *decode_struct(struct decoder *d, const struct type *t, const struct value *v,
                                         const struct decode_frame *at);

/* --- complaints --- */

static void fail(struct decoder *d, struct str message, bool stop) {
        if (d->failure.n == 0 || (stop && !d->stop))
                d->failure = message;
        d->stop = d->stop || stop;
}

/* The fields on the way, with the names of embedded Go structs, without keys and indexes. */
static void add_fields(struct buf *out, const struct decode_frame *f) {
        if (!f)
                return;
        add_fields(out, f->up);
        if (f->owner.n == 0)
                return;
        if (out->n)
                buf_addch(out, '.');
        if (f->embedded.n)
                buf_addf(out, "%.*s.", STR_FMT(f->embedded));
        buf_add(out, f->name);
}

/* What the body has, as Go says it: "string", "number 1.5". Whole numbers are spelt out only when `spelt`. */
static struct str what_it_is(const struct value *v, bool spelt, struct arena *a) {
        if (v->kind == VALUE_LIST)
                return STR("array");
        if (v->kind == VALUE_MAP)
                return STR("object");
        if (v->kind != VALUE_INT && v->kind != VALUE_UINT && v->kind != VALUE_DECIMAL)
                return str_from(value_kind_name(v->kind));
        return spelt ? arena_strf(a, "number %.*s", STR_FMT(value_canonical(a, v))) : STR("number");
}

static const struct value *wrong_type(struct decoder *d, const struct value *v, bool spelt, struct str wanted,
                                      const struct decode_frame *at, bool stop) {
        _cleanup_(buf_done) struct buf fields = buf_make(MIB);
        struct str owner = { 0 }, is = what_it_is(v, spelt, d->a);

        if (d->stop || (d->failure.n && !stop))
                return NULL;
        for (const struct decode_frame *f = at; f && owner.n == 0 && !d->converts; f = f->up)
                owner = f->owner;
        add_fields(&fields, at);
        if (owner.n)
                fail(d,
                     arena_strf(d->a, "json: cannot unmarshal %.*s into Go struct field %.*s.%s of type %.*s",
                                STR_FMT(is), STR_FMT(owner), fields.p, STR_FMT(wanted)),
                     stop);
        else
                fail(d,
                     arena_strf(d->a, "json: cannot unmarshal %.*s into Go value of type %.*s", STR_FMT(is),
                                STR_FMT(wanted)),
                     stop);
        return NULL;
}

/* What the converter calls the kinds of JSON; `type`: whole Go types instead of kinds. */
static const char *go_kind(const struct value *v, bool type) {
        switch (v->kind) {
        case VALUE_BOOL:
                return "bool";
        case VALUE_INT:
                return "int64";
        case VALUE_STRING:
                return "string";
        case VALUE_LIST:
                return type ? "[]interface {}" : "slice";
        case VALUE_MAP:
                return type ? "map[string]interface {}" : "map";
        default:
                return "float64";
        }
}

static const struct value *cannot_convert(struct decoder *d, const struct type *t, const struct value *v) {
        static const struct {
                enum type_kind kind;
                const char *name;
        } scalars[] = {
                { TYPE_STRING, "string" },  { TYPE_INT32, "int32" }, { TYPE_INT64, "int64" },
                { TYPE_NUMBER, "float64" }, { TYPE_BOOL, "bool" },   { TYPE_DURATION, "struct" },
        };
        bool is_number = v->kind == VALUE_INT || v->kind == VALUE_DECIMAL || v->kind == VALUE_UINT;
        bool to_number = t->kind == TYPE_INT32 || t->kind == TYPE_INT64 || t->kind == TYPE_NUMBER;
        struct str text = STR("unrecognized type");

        if (t->kind == TYPE_STRUCT)
                text = arena_strf(d->a, "cannot restore struct from: %s", go_kind(v, false));
        else if (t->kind == TYPE_MAP)
                text = arena_strf(d->a, "cannot restore map from %s", go_kind(v, false));
        else if (t->kind == TYPE_LIST || t->kind == TYPE_BYTES)
                text = arena_strf(d->a, "cannot restore slice from %s", go_kind(v, false));
        else if ((is_number && to_number) || (v->kind == VALUE_INT && t->kind == TYPE_STRING))
                text = arena_strf(d->a, "cannot convert %s to %.*s", go_kind(v, true), STR_FMT(t->go_name));
        else
                for (size_t i = 0; i < ARRAY_LEN(scalars); i++)
                        if (scalars[i].kind == t->kind)
                                text = arena_strf(d->a, "unrecognized type: %s", scalars[i].name);
        fail(d, text, true);
        return NULL;
}

/* A value that Go's decoder, which goes on to look for more, or the converter cannot take. */
static const struct value *refuse(struct decoder *d, const struct type *t, const struct value *v, bool spelt,
                                  const struct decode_frame *at) {
        return d->converts ? cannot_convert(d, t, v) : wrong_type(d, v, spelt, t->go_name, at, false);
}

static void unknown_field(struct decoder *d, const struct decode_frame *up, struct str key) {
        struct decode_frame f = { .up = up, .name = key };

        if (d->strict && d->strict->count < MAX_STRICT_ERRORS)
                causes_add(d->strict, "", (struct str){ 0 }, "unknown field \"%.*s\"", STR_FMT(decode_path(&f, d->a)));
}

/* --- scalars --- */

static bool is_number(const struct value *v) {
        return v->kind == VALUE_INT || v->kind == VALUE_UINT || v->kind == VALUE_DECIMAL;
}

static const struct value *decode_int(struct decoder *d, const struct type *t, const struct value *v,
                                      const struct decode_frame *at) {
        bool narrow = t->kind == TYPE_INT32;
        int64_t whole;

        if (d->converts && v->kind == VALUE_DECIMAL && str_to_i64(decode_float(v->text, d->a), &whole))
                return value_int(d->a, narrow ? (int32_t)whole : whole, v->line);
        if (d->converts && v->kind == VALUE_INT)
                return narrow ? value_int(d->a, (int32_t)v->i64, v->line) : v;
        if (!is_number(v))
                return refuse(d, t, v, false, at);
        if (v->kind != VALUE_INT || (narrow && (v->i64 > INT32_MAX || v->i64 < INT32_MIN)))
                return refuse(d, t, v, true, at);
        return v;
}

static const struct value *decode_number(struct decoder *d, const struct type *t, const struct value *v,
                                         const struct decode_frame *at) {
        if (!is_number(v))
                return refuse(d, t, v, false, at);
        return v->kind == VALUE_INT ? v : value_number(d->a, decode_float(value_canonical(d->a, v), d->a), v->line);
}

static const struct value *decode_bytes(struct decoder *d, const struct type *t, const struct value *v,
                                        const struct decode_frame *at) {
        struct str kept = { 0 };
        size_t bad = 0;

        if (v->kind == VALUE_LIST && v->list.count == 0)
                return value_stringc(d->a, "");
        if (v->kind == VALUE_LIST) {
                if (!d->converts)
                        return wrong_type(d, v->list.items[0], false, STR("uint8"), at, false);
                fail(d, STR("unrecognized type: uint8"), true);
                return NULL;
        }
        if (v->kind != VALUE_STRING)
                return refuse(d, t, v, false, at);
        if (decode_base64(v->text, d->a, &kept, &bad))
                return value_string(d->a, kept, v->line);
        fail(d,
             arena_strf(d->a, "%sillegal base64 data at input byte %zu",
                        d->converts ? "error decoding from json: " : "", bad),
             d->converts);
        return NULL;
}

/* Resource lists are rounded by defaulting; nothing looks at them in between. What is held keeps another spelling. */
static const struct value *decode_amount(struct decoder *d, const struct type *holder, const struct value *v) {
        const char *why = NULL;
        bool rounded = holder && str_eqc(holder->go_name, "v1.ResourceList");
        struct str text = v->kind == VALUE_STRING ? v->text : value_canonical(d->a, v), spelt;

        if (v->kind == VALUE_NULL)
                return value_stringc(d->a, "0");
        spelt = rounded ? decode_quantity_milli(text, d->a, &why) : decode_quantity(text, d->a, &why);
        if (!why && d->holds && !decode_quantity_is_held(text, spelt, rounded))
                return value_string(d->a, text, v->line);
        if (!why)
                return str_eq(spelt, text) && v->kind == VALUE_STRING ? v : value_string(d->a, spelt, v->line);
        fail(d, str_from(why), true);
        return NULL;
}

static const struct value *decode_int_or_string(struct decoder *d, const struct value *v,
                                                const struct decode_frame *at) {
        if (v->kind == VALUE_STRING)
                return v;
        if (!is_number(v))
                return wrong_type(d, v, false, STR("int32"), at, true);
        /* What is converted is printed once more. */
        if (d->converts && v->kind == VALUE_DECIMAL)
                v = value_number(d->a, decode_float(v->text, d->a), v->line);
        if (v->kind != VALUE_INT || v->i64 > INT32_MAX || v->i64 < INT32_MIN)
                return wrong_type(d, v, true, STR("int32"), at, true);
        return v;
}

static const struct value *decode_clock(struct decoder *d, const struct type *t, const struct value *v,
                                        const struct decode_frame *at) {
        struct str why = { 0 }, spelt;

        if (v->kind != VALUE_STRING)
                return wrong_type(d, v, false, STR("string"), at, true);
        spelt = decode_time(v->text, t->kind == TYPE_MICRO_TIME, d->a, &why);
        if (why.n) {
                fail(d, why, true);
                return NULL;
        }
        if (str_eqc(spelt, "null"))
                return &value_null;
        return str_eq(spelt, v->text) ? v : value_string(d->a, spelt, v->line);
}

static const struct value *decode_scalar(struct decoder *d, const struct type *t, const struct value *v,
                                         const struct decode_frame *at) {
        switch (t->kind) {
        case TYPE_STRING:
        case TYPE_DURATION:
                return v->kind == VALUE_STRING ? v : refuse(d, t, v, false, at);
        case TYPE_BOOL:
                return v->kind == VALUE_BOOL ? v : refuse(d, t, v, false, at);
        case TYPE_INT32:
        case TYPE_INT64:
                return decode_int(d, t, v, at);
        case TYPE_NUMBER:
                return decode_number(d, t, v, at);
        case TYPE_BYTES:
                return decode_bytes(d, t, v, at);
        case TYPE_INT_OR_STRING:
                return decode_int_or_string(d, v, at);
        default:
                return decode_clock(d, t, v, at);
        }
}

/* --- what Go prints for zeros --- */

static const struct value *zero_of(struct decoder *d, const struct type *t) {
        switch (t->kind) {
        case TYPE_STRING:
                return value_stringc(d->a, "");
        case TYPE_INT32:
        case TYPE_INT64:
        case TYPE_NUMBER:
        case TYPE_INT_OR_STRING:
                return value_int(d->a, 0, 0);
        case TYPE_BOOL:
                return &value_false;
        case TYPE_QUANTITY:
                return value_stringc(d->a, "0");
        case TYPE_DURATION:
                return value_stringc(d->a, "0s");
        case TYPE_STRUCT:
                return decode_struct(d, t, &value_empty_map, NULL);
        default:
                return &value_null;
        }
}

/* Structs in Go's sense: omitempty never leaves them out. */
static bool is_struct_kind(enum type_kind kind) {
        return kind == TYPE_STRUCT || kind == TYPE_QUANTITY || kind == TYPE_INT_OR_STRING || kind == TYPE_TIME ||
               kind == TYPE_MICRO_TIME || kind == TYPE_DURATION || kind == TYPE_ANY;
}

/* What the field prints; NULL: nothing. */
static const struct value *encode(struct decoder *d, const struct type_field *f, const struct value *v) {
        if (f->pointer)
                return v || f->omit_empty ? v : &value_null;
        if (is_struct_kind(f->type->kind)) {
                if (f->omit_zero && type_is_zero(v))
                        return NULL;
                return v ? v : zero_of(d, f->type);
        }
        if (!type_is_zero(v) || (v && d->holds))
                return v;
        return f->omit_empty ? NULL : zero_of(d, f->type);
}

/* --- composites --- */

/* By Go's order of fields, until the first that is wrong. */
static const struct value *visit_in_order(struct decoder *d, const struct type *t, const struct value *v,
                                          const struct decode_frame *at) {
        for (size_t place = 0; place < t->field_count && !d->stop; place++)
                for (size_t i = 0; i < t->field_count; i++)
                        if (t->fields[i].order == place && value_get(v, t->fields[i].name))
                                decode(d, t->fields[i].type, value_get(v, t->fields[i].name), at);
        return v;
}

static const struct value *decode_struct(struct decoder *d, const struct type *t, const struct value *v,
                                         const struct decode_frame *at) {
        struct value_member *members = arena_alloc(d->a, t->field_count * sizeof *members);
        size_t n = 0, next = 0;
        ptrdiff_t dot = str_find(t->go_name, '.', 0);
        struct str owner = str_sub(t->go_name, (size_t)(dot + 1), t->go_name.n);

        if (d->in_order)
                return visit_in_order(d, t, v, at);
        for (size_t i = 0; i < t->field_count && !d->stop; i++) {
                const struct type_field *f = &t->fields[i];
                struct decode_frame here = { .up = at, .name = f->name, .embedded = f->embedded, .owner = owner };
                int order = 1;

                while (next < v->map.count && (order = str_cmp(v->map.members[next].key, f->name)) < 0)
                        unknown_field(d, at, v->map.members[next++].key);
                bool given = next < v->map.count && order == 0;
                const struct value *old = given ? v->map.members[next++].value : NULL;
                const struct value *made = encode(d, f, given ? decode(d, f->type, old, &here) : NULL);

                if (made)
                        members[n++] = (struct value_member){ .key = f->name, .value = made };
        }
        while (next < v->map.count && !d->stop)
                unknown_field(d, at, v->map.members[next++].key);
        return value_map_of(d->a, members, n, v->line);
}

static const struct value *decode_item(struct decoder *d, const struct type *holder, const struct value *v,
                                       const struct decode_frame *at) {
        const struct value *made =
                holder->item->kind == TYPE_QUANTITY ? decode_amount(d, holder, v) : decode(d, holder->item, v, at);

        if (made)
                return made;
        return holder->item->kind == TYPE_BYTES ? value_stringc(d->a, "") : zero_of(d, holder->item);
}

static const struct value *decode_map(struct decoder *d, const struct type *t, const struct value *v,
                                      const struct decode_frame *at) {
        struct value_member *members = arena_alloc(d->a, v->map.count * sizeof *members);

        for (size_t i = 0; i < v->map.count && !d->stop; i++) {
                struct decode_frame here = { .up = at, .name = v->map.members[i].key };

                members[i] = v->map.members[i];
                members[i].value = decode_item(d, t, members[i].value, &here);
        }
        return d->stop ? NULL : value_map_of(d->a, members, v->map.count, v->line);
}

static const struct value *decode_list(struct decoder *d, const struct type *t, const struct value *v,
                                       const struct decode_frame *at) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < v->list.count && !d->stop; i++) {
                struct decode_frame here = { .up = at, .index = i };

                value_list_add(&b, decode_item(d, t, v->list.items[i], &here));
        }
        return value_list_end(&b, d->a, v->line);
}

/* JSONSchemaPropsOrBool and the like: schemas wherever a map stands, else as it is. Zeros are not printed. */
static const struct value *decode_any(struct decoder *d, const struct type *t, const struct value *v,
                                      const struct decode_frame *at) {
        struct value_list_builder b = { 0 };

        if (!t->item)
                return v;
        if (v->kind == VALUE_MAP) {
                struct causes *strict = d->strict;
                const struct value *made;

                /* It reads itself, and has nobody to tell of unknown fields. */
                d->strict = NULL;
                made = decode_struct(d, t->item, v, at);
                d->strict = strict;
                return made;
        }
        if (v->kind != VALUE_LIST)
                return v;
        for (size_t i = 0; i < v->list.count && !d->stop; i++) {
                struct decode_frame here = { .up = at, .index = i };

                value_list_add(&b, decode_any(d, t, v->list.items[i], &here));
        }
        return value_list_end(&b, d->a, v->line);
}

static const struct value *decode(struct decoder *d, const struct type *t, const struct value *v,
                                  const struct decode_frame *at) {
        if (v->kind == VALUE_NULL)
                return NULL;
        switch (t->kind) {
        case TYPE_STRUCT:
                return v->kind == VALUE_MAP ? decode_struct(d, t, v, at) : refuse(d, t, v, false, at);
        case TYPE_MAP:
                return v->kind == VALUE_MAP ? decode_map(d, t, v, at) : refuse(d, t, v, false, at);
        case TYPE_LIST:
                return v->kind == VALUE_LIST ? decode_list(d, t, v, at) : refuse(d, t, v, false, at);
        case TYPE_ANY:
                return decode_any(d, t, v, at);
        case TYPE_QUANTITY:
                return decode_amount(d, NULL, v);
        default:
                return decode_scalar(d, t, v, at);
        }
}

/* --- kinds that are not stored as they are written --- */

/* stringData is for writing only: it goes over data. */
static const struct value *merge_string_data(const struct value *secret, struct arena *a) {
        const struct value *written = value_getc(secret, "stringData"), *data = value_getc(secret, "data");

        for (size_t i = 0; i < value_count(written); i++) {
                _cleanup_(buf_done) struct buf text = buf_make(KUBE_MAX_OBJECT_BYTES * 2);

                base64_encode(value_text(written->map.members[i].value), &text);
                data = value_with(a, data, written->map.members[i].key, value_string(a, buf_str(&text), 0));
        }
        if (!written)
                return secret;
        return value_with(a, value_with(a, secret, STR("stringData"), NULL), STR("data"), data);
}

static int finish(struct decoder *d, const struct type *t, const struct value *body, const struct value **ret_object,
                  struct err *err) {
        const struct value *object = decode(d, t, body, NULL);

        if (d->converts && d->stop) {
                d->in_order = true;
                d->stop = false;
                d->failure = (struct str){ 0 };
                d->strict = NULL;
                decode(d, t, body, NULL);
        }
        if (d->failure.n)
                return err_set(err, ERR_INVAL, "%.*s", STR_FMT(d->failure));
        object = object ? object : zero_of(d, t);
        if (t->name && strcmp(t->name, "core.v1.Secret") == 0)
                object = merge_string_data(object, d->a);
        *ret_object = object;
        return 0;
}

int decode_builtin(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object,
                   struct causes *strict, struct err *err) {
        struct decoder d = { .a = a, .strict = strict };

        return finish(&d, t, body, ret_object, err);
}

int codec_hold(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object) {
        struct decoder d = { .a = a, .holds = true };

        return finish(&d, t, body, ret_object, NULL);
}

int codec_convert(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object,
                  struct causes *strict, struct err *err) {
        struct decoder d = { .a = a, .strict = strict, .converts = true };

        return finish(&d, t, body, ret_object, err);
}
