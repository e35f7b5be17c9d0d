/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/health_view.h"

#include <time.h>

#include "cli/grid.h"
#include "diff/text.h"
#include "diff/title.h"
#include "kube/gvk.h"

#define CELL_MAX_BYTES (64 * 1024)

struct health_row health_row_of(const struct value *object) {
        struct str api_version = value_text(value_getc(object, "apiVersion"));
        struct gvk gvk = gvk_from(api_version, value_text(value_getc(object, "kind")));

        return (struct health_row){
                .api_version = api_version, .group = gvk.group, .kind = gvk.kind,
                .ns = value_text(value_path(object, "metadata", "namespace", NULL)),
                .name = value_text(value_path(object, "metadata", "name", NULL)),
                .line = object->line,
        };
}

const char *health_view_word(enum health_code code) {
        return code == HEALTH_NONE ? "none" : health_name(code);
}

const char *health_view_rule(const struct health *h) {
        if (h->guard)
                return "the freshness guard";
        return h->rule && *h->rule ? h->rule : "no rule";
}

bool health_view_is_bad(enum health_code code) {
        return code > HEALTH_SUSPENDED;
}

struct str health_view_time(int64_t ms, struct arena *a) {
        time_t s = (time_t)(ms / 1000);
        char text[32];
        struct tm tm;

        gmtime_r(&s, &tm);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
        return arena_str(a, str_from(text));
}

/* ---- the table ---- */

static struct str safe(struct str text, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(CELL_MAX_BYTES);

        text_add(&out, text);
        return arena_str(a, buf_str(&out));
}

static struct str title_of(const struct health_row *row, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(CELL_MAX_BYTES);

        diff_title(row->group, row->kind, row->name, false, &out);
        return arena_str(a, buf_str(&out));
}

void health_view_table(const struct health_row *rows, size_t count, bool color, struct arena *a, struct buf *out) {
        static const struct str head[] = { STR("OBJECT"), STR("NAMESPACE"), STR("HEALTH"), STR("BY"), STR("MESSAGE") };
        struct grid grid = grid_make(a, ARRAY_LEN(head));

        grid_add(&grid, head, false);
        for (size_t i = 0; i < count; i++) {
                const struct health_row *row = &rows[i];
                const struct str cells[] = {
                        title_of(row, a),
                        row->ns.n ? safe(row->ns, a) : STR("-"),
                        str_from(health_view_word(row->health.code)),
                        safe(str_from(health_view_rule(&row->health)), a),
                        safe(row->health.message, a),
                };

                grid_add(&grid, cells, health_view_is_bad(row->health.code));
        }
        grid_print(&grid, "", color, out);
}

/* ---- values ---- */

static void add_text(struct value_map_builder *b, const char *key, struct str text, struct arena *a) {
        if (text.n)
                value_map_add(b, str_from(key), value_string(a, text, 0), 0);
}

const struct value *health_view_value(const struct health_row *row, struct arena *a) {
        const struct health *h = &row->health;
        struct value_map_builder b = { 0 };

        add_text(&b, "apiVersion", row->api_version, a);
        add_text(&b, "kind", row->kind, a);
        add_text(&b, "namespace", row->ns, a);
        add_text(&b, "name", row->name, a);
        add_text(&b, "file", row->file, a);
        if (row->file.n)
                value_map_add(&b, STR("line"), value_int(a, row->line, 0), 0);
        value_map_add(&b, STR("status"), value_stringc(a, health_name(h->code)), 0);
        value_map_add(&b, STR("message"), value_string(a, h->message, 0), 0);
        add_text(&b, "rule", str_from(h->rule), a);
        value_map_add(&b, STR("guard"), value_bool(a, h->guard, 0), 0);
        if (h->terminal)
                value_map_add(&b, STR("terminal"), &value_true, 0);
        if (h->again_ms)
                add_text(&b, "again", health_view_time(h->again_ms, a), a);
        if (h->failure)
                add_text(&b, "failure", str_from(err_code_name(h->failure)), a);
        return value_map_end(&b, a, 0);
}
