/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells that several kinds' tables have: each appends one JSON value for the value at `path` (dotted field names).
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_TABLE_CELLS_H
#define TRUCE_SANDBOX_TABLE_CELLS_H

#include <inttypes.h>

#include "base/limits.h"
#include "sandbox/table.h"

typedef const struct table_now now_t;

static inline void string(struct buf *out, const struct buf *text) {
        value_print_string(buf_str(text), out);
}

static inline void text_or(struct buf *out, const struct value *v, const char *otherwise) {
        value_print_string(value_text(v).n ? value_text(v) : str_from(otherwise), out);
}

static inline void age(struct buf *out, const struct value *o, const char *path, now_t *now) {
        table_add_age(out, table_value(o, path), now);
}

static inline void text(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        text_or(out, table_value(o, path), "");
}

static inline void text_or_none(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        text_or(out, table_value(o, path), "<none>");
}

static inline void text_or_unset(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *v = table_value(o, path);

        (void)now;
        text_or(out, v, v ? "" : "<unset>");
}

static inline int64_t number_at(const struct value *o, const char *path) {
        int64_t n = 0;

        value_to_i64(table_value(o, path), &n);
        return n;
}

static inline void number(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        buf_addf(out, "%" PRId64, number_at(o, path));
}

static inline void number_or_unset(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        if (table_value(o, path))
                buf_addf(out, "\"%" PRId64 "\"", number_at(o, path));
        else
                buf_addc(out, "\"<unset>\"");
}

static inline void count(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        buf_addf(out, "%zu", value_count(table_value(o, path)));
}

static inline void truth(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        buf_addc(out, value_truth(table_value(o, path), false) ? "\"True\"" : "\"False\"");
}

static inline void boolean(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        buf_addc(out, value_truth(table_value(o, path), false) ? "true" : "false");
}

/* An int-or-percent, or N/A. */
static inline void amount(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *v = table_value(o, path);

        (void)now;
        if (value_is(v, VALUE_INT))
                buf_addf(out, "\"%" PRId64 "\"", v->i64);
        else
                text_or(out, v, "N/A");
}

/* A field of all items of a list, joined by commas. */
static inline void joined(struct buf *out, const struct value *list, const char *field) {
        _cleanup_(buf_done) struct buf t = buf_make(64 * KIB);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *v = *field ? value_getc(list->list.items[i], field) : list->list.items[i];

                buf_addf(&t, "%s%.*s", i ? "," : "", STR_FMT(value_text(v)));
        }
        if (t.n == 0)
                buf_addc(&t, "<none>");
        string(out, &t);
}

static inline void container_names(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        joined(out, table_value(o, path), "name");
}

static inline void container_images(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        joined(out, table_value(o, path), "image");
}

#define AGE                                                                                                            \
        { "Age", "string", 0, age, "metadata.creationTimestamp" }
#define COLUMNS(name, ...) static const struct table_column name[] = { __VA_ARGS__, { NULL, NULL, 0, NULL, NULL } }

#endif
