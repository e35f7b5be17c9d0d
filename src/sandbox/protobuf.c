/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/protobuf.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"

struct message_row {
        const char *name, *fields;
};

#include "sandbox/protobuf_table.inc"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct field {
        uint64_t number;
        enum wire wire;
        uint64_t word;    /* VARINT and FIXED */
        struct str bytes; /* BYTES */
};

struct reader {
        struct arena *a;
        struct err *err;
        unsigned depth;
};

/* ---- the wire ---- */

static bool take_varint(struct str *rest, uint64_t *ret) {
        *ret = 0;
        for (unsigned shift = 0; shift < 64 && rest->n; shift += 7) {
                unsigned char byte = (unsigned char)rest->p[0];

                *rest = str_sub(*rest, 1, rest->n);
                *ret |= (uint64_t)(byte & 0x7f) << shift;
                if (!(byte & 0x80))
                        return true;
        }
        return false;
}

static bool take_fixed(struct str *rest, size_t bytes, uint64_t *ret) {
        if (rest->n < bytes)
                return false;
        *ret = 0;
        for (size_t i = 0; i < bytes; i++)
                *ret |= (uint64_t)(unsigned char)rest->p[i] << 8 * i;
        *rest = str_sub(*rest, bytes, rest->n);
        return true;
}

static bool take_bytes(struct str *rest, struct str *ret) {
        uint64_t length;

        if (!take_varint(rest, &length) || length > rest->n)
                return false;
        *ret = str_sub(*rest, 0, (size_t)length);
        *rest = str_sub(*rest, (size_t)length, rest->n);
        return true;
}

static bool take_field(struct str *rest, struct field *ret) {
        uint64_t key;

        if (!take_varint(rest, &key))
                return false;
        *ret = (struct field){ .number = key >> 3, .wire = (enum wire)(key & 7) };
        switch (ret->wire) {
        case WIRE_VARINT:
                return take_varint(rest, &ret->word);
        case WIRE_FIXED64:
                return take_fixed(rest, 8, &ret->word);
        case WIRE_FIXED32:
                return take_fixed(rest, 4, &ret->word);
        case WIRE_BYTES:
                return take_bytes(rest, &ret->bytes);
        default:
                return false;
        }
}

/* The last field of that number in a message; zero when there is none. */
static struct field find_field(struct str message, uint64_t number) {
        struct field field, found = { 0 };

        while (message.n && take_field(&message, &field))
                if (field.number == number)
                        found = field;
        return found;
}

/* ---- the table ---- */

static const struct message_row *find_row(struct str name) {
        size_t from = 0, to = ARRAY_LEN(message_rows);

        while (from < to) {
                size_t middle = (from + to) / 2;
                int order = str_cmp(name, str_from(message_rows[middle].name));

                if (order == 0)
                        return &message_rows[middle];
                if (order < 0)
                        to = middle;
                else
                        from = middle + 1;
        }
        return NULL;
}

/* "2=volumeSource:core.v1.VolumeSource" → the field's name, and the message in case it is an embedded struct. */
static bool find_name(const struct message_row *row, uint64_t number, struct str *ret_name, struct str *ret_message) {
        struct str rest = str_from(row->fields), part, digits;
        uint64_t n;

        while (str_next(&rest, ',', &part)) {
                if (!str_next(&part, '=', &digits) || !str_to_u64(digits, &n) || n != number)
                        continue;
                str_next(&part, ':', ret_name);
                *ret_message = part;
                return true;
        }
        return false;
}

/* ---- values ---- */

static int broken(struct reader *r, const char *what) {
        return err_set(r->err, ERR_PARSE, "the protobuf body is damaged at %s", what);
}

static const struct value *read_time(struct reader *r, struct str message, bool is_micro) {
        struct field seconds = find_field(message, 1), nanos = find_field(message, 2);
        time_t t = (time_t)(int64_t)seconds.word;
        char text[32];
        struct tm tm;

        if (seconds.word == 0 && nanos.word == 0)
                return &value_null;
        if (!gmtime_r(&t, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
                return &value_null;
        if (!is_micro)
                return value_string(r->a, arena_strf(r->a, "%sZ", text), 0);
        return value_string(r->a, arena_strf(r->a, "%s.%06" PRIu64 "Z", text, nanos.word / 1000), 0);
}

static const struct value *read_int_or_string(struct reader *r, struct str message) {
        if (find_field(message, 1).word == 0)
                return value_int(r->a, (int32_t)find_field(message, 2).word, 0);
        return value_string(r->a, find_field(message, 3).bytes, 0);
}

static const struct value *read_base64(struct reader *r, struct str bytes) {
        _cleanup_(buf_done) struct buf out = buf_make(2 * KUBE_MAX_REQUEST_BYTES);

        base64_encode(bytes, &out);
        return value_string(r->a, buf_str(&out), 0);
}

static const struct value *read_double(struct reader *r, uint64_t word) {
        double number;

        memcpy(&number, &word, sizeof number);
        return value_number(r->a, arena_strf(r->a, "%.17g", number), 0);
}

/* JSON in a message's first field: RawExtension, JSON, FieldsV1. */
static int read_raw(struct reader *r, const struct type *t, struct str message, const struct value **ret) {
        struct field raw = find_field(message, 1);

        if (t->item || raw.wire != WIRE_BYTES)
                return err_set(r->err, ERR_UNSUPPORTED, "a field that only JSON can say");
        return json_parse(raw.bytes, r->a, ret, r->err);
}

static int read_struct(struct reader *r, const struct type *t, struct str name, struct str message,
                       const struct value **ret);

static int read_value(struct reader *r, const struct type *t, const struct field *f, const struct value **ret) {
        switch (t->kind) {
        case TYPE_BOOL:
                *ret = value_bool(r->a, f->word != 0, 0);
                return 0;
        case TYPE_INT32:
        case TYPE_INT64:
                *ret = value_int(r->a, (int64_t)f->word, 0);
                return 0;
        case TYPE_NUMBER:
                *ret = read_double(r, f->word);
                return 0;
        case TYPE_BYTES:
                *ret = read_base64(r, f->bytes);
                return 0;
        case TYPE_TIME:
        case TYPE_MICRO_TIME:
                *ret = read_time(r, f->bytes, t->kind == TYPE_MICRO_TIME);
                return 0;
        case TYPE_INT_OR_STRING:
                *ret = read_int_or_string(r, f->bytes);
                return 0;
        case TYPE_QUANTITY:
                *ret = value_string(r->a, find_field(f->bytes, 1).bytes, 0);
                return 0;
        case TYPE_STRING:
                *ret = value_string(r->a, f->bytes, 0);
                return str_is_utf8(f->bytes) ? 0 : broken(r, "a string");
        case TYPE_STRUCT:
                return read_struct(r, t, str_from(t->name), f->bytes, ret);
        case TYPE_ANY:
                return read_raw(r, t, f->bytes, ret);
        default:
                return err_set(r->err, ERR_UNSUPPORTED, "a field that only JSON can say");
        }
}

/* An entry of a map is a message {1: key, 2: value}; an absent value is a zero one. */
static int add_entry(struct reader *r, const struct type *t, const struct field *f, const struct value **map) {
        struct field item = find_field(f->bytes, 2);
        const struct value *value;
        int e = read_value(r, t->item, &item, &value);

        if (e == 0)
                *map = value_with(r->a, *map, find_field(f->bytes, 1).bytes, value);
        return e;
}

static int add_item(struct reader *r, const struct type *t, const struct field *f, const struct value **list) {
        struct value_list_builder b = { 0 };
        const struct value *value;
        int e = read_value(r, t->item, f, &value);

        if (e < 0)
                return e;
        for (size_t i = 0; i < value_count(*list); i++)
                value_list_add(&b, (*list)->list.items[i]);
        value_list_add(&b, value);
        *list = value_list_end(&b, r->a, 0);
        return 0;
}

static int add_field(struct reader *r, const struct type *t, struct str name, const struct field *f,
                     const struct value **object) {
        const struct type_field *field = type_field(t, name);
        const struct value *value = value_get(*object, name);
        int e;

        if (!field)
                return 0; /* what this version does not store */
        if (field->type->kind == TYPE_LIST)
                e = add_item(r, field->type, f, &value);
        else if (field->type->kind == TYPE_MAP)
                e = add_entry(r, field->type, f, &value);
        else
                e = read_value(r, field->type, f, &value);
        if (e < 0)
                return err_wrap(r->err, e, "%.*s", STR_FMT(name));
        if (value->kind != VALUE_NULL)
                *object = value_with(r->a, *object, name, value);
        return 0;
}

/* Adds a message's fields to an object, those of embedded structs as its own. */
static int add_fields(struct reader *r, const struct type *t, struct str message_name, struct str message,
                      const struct value **object) {
        const struct message_row *row = find_row(message_name);
        struct str name, embedded;
        struct field f;
        int e = 0;

        if (!row)
                return err_set(r->err, ERR_UNSUPPORTED, "%.*s has no protobuf message", STR_FMT(message_name));
        while (e == 0 && message.n) {
                if (!take_field(&message, &f))
                        return broken(r, row->name);
                if (!find_name(row, f.number, &name, &embedded))
                        continue;
                if (embedded.n && !type_field(t, name))
                        e = add_fields(r, t, embedded, f.bytes, object);
                else
                        e = add_field(r, t, name, &f, object);
        }
        return e;
}

static int read_struct(struct reader *r, const struct type *t, struct str name, struct str message,
                       const struct value **ret) {
        if (r->depth == PROTOBUF_MAX_DEPTH)
                return err_set(r->err, ERR_LIMIT, "the protobuf body is nested too deep");
        r->depth++;
        *ret = &value_empty_map;
        int e = add_fields(r, t, name, message, ret);
        r->depth--;
        return e;
}

int protobuf_read(struct str body, struct type_table *types, struct arena *a, const struct value **ret_object,
                  struct err *err) {
        static const struct str magic = { "k8s\0", 4 };
        struct reader r = { .a = a, .err = err };
        const struct value *object;

        if (!str_starts(body, magic))
                return err_set(err, ERR_PARSE, "the body does not begin as Kubernetes' protobuf does");
        body = str_sub(body, magic.n, body.n);
        struct str meta = find_field(body, 1).bytes, raw = find_field(body, 2).bytes;
        struct str api_version = find_field(meta, 1).bytes, kind = find_field(meta, 2).bytes;
        /* options are written in the version of what they are for */
        const struct type *t = type_table_find(types, str_eqc(kind, "DeleteOptions") ? STR("v1") : api_version, kind);
        if (!t || !t->name)
                return err_set(err, ERR_UNSUPPORTED, "%.*s of %.*s is not known in protobuf", STR_FMT(kind),
                               STR_FMT(api_version));
        int e = read_struct(&r, t, str_from(t->name), raw, &object);
        if (e < 0)
                return e;
        object = value_with(a, object, STR("apiVersion"), value_string(a, api_version, 0));
        *ret_object = value_with(a, object, STR("kind"), value_string(a, kind, 0));
        return 0;
}
