/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for `kubectl get` (meta.k8s.io/v1 Table): columns and cells of a row. Built-in kinds' columns are in
 * table_kinds.c, custom resources' in their CRD (additionalPrinterColumns), the rest have a name and a time.
 */
#include "sandbox/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/limits.h"
#include "sandbox/column.h"
#include "sandbox/list.h"

#define TABLE_MAX_BYTES (512 * MIB)

/* ---- cells ---- */

/* "2026-11-29T23:00:12Z" in seconds since 1970, or -1. */
static int64_t seconds_of(struct str text) {
        struct tm tm = { 0 };

        if (text.n < 20 || !strptime(text.p, "%Y-%m-%dT%H:%M:%S", &tm))
                return -1;
        return (int64_t)timegm(&tm);
}

/* duration.HumanDuration: two units at most, the second one while it matters. */
static void add_duration(struct buf *out, int64_t s) {
        int64_t minutes = s / 60, hours = s / 3600, days = s / 86400, years = days / 365;

        if (s < 0)
                buf_addc(out, s < -1 ? "<invalid>" : "0s");
        else if (s < 120)
                buf_addf(out, "%" PRId64 "s", s);
        else if (minutes < 10)
                buf_addf(out, s % 60 ? "%" PRId64 "m%" PRId64 "s" : "%" PRId64 "m", minutes, s % 60);
        else if (hours < 3)
                buf_addf(out, "%" PRId64 "m", minutes);
        else if (hours < 8)
                buf_addf(out, minutes % 60 ? "%" PRId64 "h%" PRId64 "m" : "%" PRId64 "h", hours, minutes % 60);
        else if (hours < 48)
                buf_addf(out, "%" PRId64 "h", hours);
        else if (days < 8)
                buf_addf(out, hours % 24 ? "%" PRId64 "d%" PRId64 "h" : "%" PRId64 "d", days, hours % 24);
        else if (days < 730)
                buf_addf(out, "%" PRId64 "d", days);
        else if (years < 8)
                buf_addf(out, days % 365 ? "%" PRId64 "y%" PRId64 "d" : "%" PRId64 "y", years, days % 365);
        else
                buf_addf(out, "%" PRId64 "y", years);
}

void table_add_since(struct buf *out, struct str timestamp, const struct table_now *now) {
        int64_t then = seconds_of(timestamp);

        if (then < 0)
                buf_addc(out, "<unknown>");
        else
                add_duration(out, now->wall_ms / 1000 - then);
}

void table_add_between(struct buf *out, struct str from, struct str to) {
        add_duration(out, seconds_of(to) - seconds_of(from));
}

void table_add_age(struct buf *out, const struct value *timestamp, const struct table_now *now) {
        buf_addch(out, '"');
        table_add_since(out, value_text(timestamp), now);
        buf_addch(out, '"');
}

const struct value *table_value(const struct value *v, const char *path) {
        struct str rest = str_from(path), name;

        while (v && str_next(&rest, '.', &name))
                v = value_get(v, name);
        return v;
}

static void add_custom_age(struct buf *out, const struct value *v, const struct table_now *now) {
        if (seconds_of(value_text(v)) < 0)
                buf_addc(out, "\"<invalid>\"");
        else
                table_add_age(out, v, now);
}

/* As Go converts: the fraction is cut off. */
static void add_custom_whole(struct buf *out, const struct value *v) {
        double number = v->text.n ? strtod(v->text.p, NULL) : 0;

        if (number > -9e18 && number < 9e18)
                buf_addf(out, "%" PRId64, (int64_t)number);
        else
                buf_addc(out, "null");
}

/* A column of type string shows anything, the others only what is of their type. */
static void add_custom_text(struct buf *out, const struct value *v) {
        _cleanup_(buf_done) struct buf text = buf_make(64 * KIB);

        if (v->kind == VALUE_STRING) {
                value_print(v, out);
                return;
        }
        value_print(v, &text);
        value_print_string(buf_str(&text), out);
}

static void add_custom_cell(struct buf *out, const struct value *column, const struct value *object,
                            const struct table_now *now) {
        const struct value *v = column_value(object, value_text(value_getc(column, "jsonPath")), now->arena);
        struct str type = value_text(value_getc(column, "type"));
        bool is_number = value_is(v, VALUE_INT) || value_is(v, VALUE_DECIMAL);

        if (!v || v->kind == VALUE_NULL) {
                buf_addc(out, "null");
                return;
        }
        if (str_eqc(type, "date"))
                add_custom_age(out, v, now);
        else if (str_eqc(type, "string"))
                add_custom_text(out, v);
        else if (str_eqc(type, "integer") && v->kind == VALUE_DECIMAL)
                add_custom_whole(out, v);
        else if (str_eqc(type, "boolean") ? v->kind == VALUE_BOOL : is_number)
                value_print(v, out);
        else
                buf_addc(out, "null");
}

static void add_plain_cells(struct buf *out, const struct kind *kind, const struct value *object,
                            const struct table_now *now) {
        const struct value *created = value_path(object, "metadata", "creationTimestamp", NULL);

        value_print_string(meta_text(object, "name"), out);
        if (!kind->columns) {
                buf_addch(out, ',');
                if (kind->is_custom)
                        table_add_age(out, created, now);
                else
                        value_print_string(value_text(created), out);
        }
        for (size_t i = 0; value_is(kind->columns, VALUE_LIST) && i < kind->columns->list.count; i++) {
                buf_addch(out, ',');
                add_custom_cell(out, kind->columns->list.items[i], object, now);
        }
}

static void add_cells(struct buf *out, const struct kind *kind, const struct table_kind *t, const struct value *object,
                      const struct table_now *now) {
        if (!t) {
                add_plain_cells(out, kind, object, now);
                return;
        }
        if (!t->has_own_name)
                value_print_string(meta_text(object, "name"), out);
        for (size_t i = 0; t->columns[i].name; i++) {
                if (i || !t->has_own_name)
                        buf_addch(out, ',');
                t->columns[i].cell(out, object, t->columns[i].path, now);
        }
}

/* ---- columns ---- */

static void add_column(struct buf *out, struct str name, struct str type, struct str format, int64_t priority) {
        if (out->p[out->n - 1] == '}')
                buf_addch(out, ',');
        buf_addc(out, "{\"name\":");
        value_print_string(name, out);
        buf_addf(out, ",\"type\":\"%.*s\",\"format\":\"%.*s\",\"description\":\"\",\"priority\":%" PRId64 "}",
                 STR_FMT(type), STR_FMT(format), priority);
}

static void add_custom_columns(struct buf *out, const struct value *columns) {
        for (size_t i = 0; value_is(columns, VALUE_LIST) && i < columns->list.count; i++) {
                const struct value *column = columns->list.items[i];
                int64_t priority = 0;

                value_to_i64(value_getc(column, "priority"), &priority);
                add_column(out, value_text(value_getc(column, "name")), value_text(value_getc(column, "type")),
                           value_text(value_getc(column, "format")), priority);
        }
}

static void add_columns(struct buf *out, const struct kind *kind, const struct table_kind *t) {
        if (!t || !t->has_own_name)
                add_column(out, STR("Name"), STR("string"), STR("name"), 0);
        if (!t && kind->columns)
                add_custom_columns(out, kind->columns);
        else if (!t)
                add_column(out, kind->is_custom ? STR("Age") : STR("Created At"), STR("date"), STR(""), 0);
        for (size_t i = 0; t && t->columns[i].name; i++)
                add_column(out, str_from(t->columns[i].name), str_from(t->columns[i].type),
                           strcmp(t->columns[i].name, "Name") == 0 ? STR("name") : STR(""), t->columns[i].priority);
}

/* ---- the table ---- */

static void add_row(struct buf *out, const struct kind *kind, const struct table_kind *t, struct version *v,
                    const struct table_now *now) {
        buf_addc(out, "{\"cells\":[");
        add_cells(out, kind, t, v->value, now);
        buf_addch(out, ']');
        if (t && t->conditions)
                t->conditions(out, v->value);
        buf_addc(out, ",\"object\":");
        form_add_partial(out, v);
        buf_addch(out, '}');
}

static bool is_plain(const struct table_kind *t) {
        return !t || (!t->has_own_name && strcmp(t->columns[0].name, "Created At") == 0 && !t->columns[1].name);
}

void table_add(struct buf *out, const struct kind *kind, bool with_columns, struct version *const *versions,
               size_t count, struct str meta, const struct table_now *now) {
        const struct table_kind *t =
                kind->is_custom ? NULL : table_kind_find(kind->resource->group, kind->resource->kind);

        buf_addc(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
        if (meta.n)
                buf_add(out, meta);
        else
                buf_addf(out, "{\"resourceVersion\":\"%" PRIu64 "\"}", versions[0]->rv);
        buf_addc(out, ",\"columnDefinitions\":");
        if (with_columns) {
                buf_addch(out, '[');
                add_columns(out, kind, t);
                buf_addch(out, ']');
        } else {
                buf_addc(out, "null");
        }
        /* The server's plain tables, of kinds without one of their own, begin without a list. */
        if (count == 0 && !kind->is_custom && is_plain(t)) {
                buf_addc(out, ",\"rows\":null}");
                return;
        }
        buf_addc(out, ",\"rows\":[");
        for (size_t i = 0; i < count; i++) {
                if (i)
                        buf_addch(out, ',');
                add_row(out, kind, t, versions[i], now);
        }
        buf_addc(out, "]}");
}

void table_answer(struct call *c, struct version *const *versions, size_t count, struct str list_meta) {
        _cleanup_(buf_done) struct buf out = buf_make(TABLE_MAX_BYTES);

        const struct table_now now = { loop_wall_ms(c->s->loop), c->a };

        table_add(&out, c->kind, true, versions, count, list_meta, &now);
        answer_json(c, 200, arena_str(c->a, buf_str(&out)));
}
