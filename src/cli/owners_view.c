/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/owners_view.h"

#include "cli/grid.h"
#include "diff/print.h"
#include "diff/text.h"
#include "diff/title.h"
#include "base/when.h"
#include "cli/words.h"

#define PATH_COLUMNS   52
#define OWNERS_COLUMNS 5

/* --- cells ------------------------------------------------------------------------------------------------------ */

/* Head "spec.template", tail ".containers[web].image": as much of the end as fits, from a field on. */
void owners_view_path(struct field_path p, size_t columns, struct buf *out) {
        _cleanup_(buf_done) struct buf whole = buf_make(64 * 1024), head = buf_make(64 * 1024);

        diff_path_print(p, &whole);
        if (text_columns(buf_str(&whole)) > columns && p.count > 3) {
                diff_path_print((struct field_path){ p.elements, 2 }, &head);
                buf_addc(&head, "…");
        }
        for (size_t from = 3; head.n && from < p.count; from++) {
                _cleanup_(buf_done) struct buf tail = buf_make(64 * 1024);

                diff_path_print((struct field_path){ p.elements + from, p.count - from }, &tail);
                if (p.elements[from].kind != PATH_FIELD ||
                    text_columns(buf_str(&head)) + text_columns(buf_str(&tail)) > columns)
                        continue;
                buf_add(out, buf_str(&head));
                buf_add(out, buf_str(&tail));
                return;
        }
        text_add_cut(out, buf_str(&whole), columns);
}

/* What kind of owner a bare name would not tell. */
static const char *class_words(enum policy_class class) {
        static const char *const words[] = {
                [POLICY_KEEPER] = "kept",         [POLICY_PERSON] = "a person", [POLICY_CLIENT] = "client-side apply",
                [POLICY_NOBODY] = "nobody's now", [POLICY_ANCIENT] = "forgotten", [POLICY_GITOPS] = "a deployer",
                [POLICY_UNKNOWN] = NULL,
        };

        return words[class];
}

void owners_view_owner(const struct explain_row *r, struct buf *out) {
        _cleanup_(buf_done) struct buf b = buf_make(4096);

        if (r->in_words.n)
                diff_owner_print(r->in_words, STR("scale"), &b);
        else if (r->owner)
                diff_owner_print(r->owner->manager, r->owner->subresource, &b);
        else
                buf_addc(&b, "nobody");
        if (r->fate == EXPLAIN_NOBODYS)
                buf_addc(&b, r->origin == EXPLAIN_ADMISSION ? " (admission)" : " (default)");
        else if (r->owner && !r->in_words.n && !r->owner->subresource.n && class_words(r->class))
                buf_addf(&b, " (%s)", class_words(r->class));
        if (r->owner_count > 1)
                buf_addf(&b, " +%zu", r->owner_count - 1);
        text_add(out, buf_str(&b));
}

void owners_view_since(const struct explain_row *r, int64_t now_ms, struct buf *out) {
        int64_t then_ms;

        if (r->owner && when_parse(r->owner->time, &then_ms))
                when_print_age(then_ms, now_ms, out);
        else
                buf_addc(out, "–");
}

const char *owners_view_fate(const struct explain_row *r) {
        static const char *const words[] = {
                [EXPLAIN_ENFORCED] = "enforces", [EXPLAIN_SET] = "sets",   [EXPLAIN_ADMITTED] = "accepts",
                [EXPLAIN_LEFT] = "leaves",       [EXPLAIN_NOBODYS] = "ignores", [EXPLAIN_OFF] = "keeps off",
        };

        if (r->fate == EXPLAIN_TAKEN || (r->fate == EXPLAIN_NOTED && r->note == DECIDE_TAKEN))
                return diff_take_word(r->class, false);
        return r->fate == EXPLAIN_NOTED ? diff_note_verb(r->note) : words[r->fate];
}

static uint32_t line_of(const struct app_explanation *x, struct field_path p) {
        uint32_t line = x->desired->source ? diff_line_in(x->desired->source, p, x->in.type) : 0;

        return line ? line : x->desired->line;
}

static void add_git_place(const struct app_explanation *x, struct field_path p, struct buf *out) {
        text_add(out, x->desired->file);
        words_add_line(line_of(x, p), out);
}

static void add_rule(const struct explain_row *r, struct buf *out) {
        if (!r->place)
                buf_addc(out, "built-in: ");
        text_add(out, str_from(r->rule));
        if (r->place && strcmp(r->place, r->rule) != 0) {
                buf_addc(out, " (");
                text_add(out, str_from(r->place));
                buf_addch(out, ')');
        }
}

void owners_view_by(const struct app_explanation *x, const struct explain_row *r, struct buf *out) {
        switch (r->fate) {
        case EXPLAIN_ENFORCED:
        case EXPLAIN_SET:
                add_git_place(x, r->path, out);
                return;
        case EXPLAIN_TAKEN:
        case EXPLAIN_NOTED:
                add_rule(r, out);
                return;
        case EXPLAIN_ADMITTED:
                buf_addc(out, "built-in: admission rewrote it");
                return;
        case EXPLAIN_NOBODYS:
                buf_addc(out, r->origin == EXPLAIN_ADMISSION ? "built-in: admission" : "–");
                return;
        case EXPLAIN_LEFT:
                buf_addc(out, "not in Git");
                return;
        case EXPLAIN_OFF:
                buf_addc(out, "–");
        }
}

/* --- the table -------------------------------------------------------------------------------------------------- */

static struct str kept(struct buf *cell, struct arena *a) {
        struct str text = arena_str(a, buf_str(cell));

        buf_clear(cell);
        return text;
}

static void add_row(struct grid *t, const struct owners_view *v, const struct explain_row *r) {
        _cleanup_(buf_done) struct buf cell = buf_make(64 * 1024);
        struct str cells[OWNERS_COLUMNS];

        owners_view_path(r->path, v->all ? SIZE_MAX : PATH_COLUMNS, &cell);
        cells[0] = kept(&cell, t->arena);
        owners_view_owner(r, &cell);
        cells[1] = kept(&cell, t->arena);
        owners_view_since(r, v->now_ms, &cell);
        cells[2] = kept(&cell, t->arena);
        cells[3] = str_from(owners_view_fate(r));
        owners_view_by(v->object, r, &cell);
        cells[4] = kept(&cell, t->arena);
        grid_add(t, cells, explain_is_report(r));
}

static struct policy_object object_of(const struct owners_view *v) {
        const struct desired *d = v->object->desired;

        return (struct policy_object){ d->gvk.group, d->gvk.kind, d->ns, d->name, app_config(v->app)->name };
}

/* A path that nobody owns and anybody's schema gives: of no interest until somebody asks. */
static bool is_quiet(const struct explain_row *r) {
        return r->fate == EXPLAIN_NOBODYS && r->origin == EXPLAIN_DEFAULT;
}

static struct explanation rows_of(const struct owners_view *v, struct arena *a) {
        return v->all ? v->object->paths : explain_short(&v->object->paths, a);
}

static void add_reports(const struct owners_view *v, const struct explanation *e, struct buf *out) {
        struct policy_object object = object_of(v);

        if (!e->report_count)
                return;
        buf_addf(out, "%zu %s: paste to settle %s (Agent document, spec.ownership.rules; take and report are the other "
                      "words)\n", e->report_count, e->report_count == 1 ? "report" : "reports",
                 e->report_count == 1 ? "it" : "them");
        for (size_t i = 0; i < e->report_count; i++) {
                _cleanup_(buf_done) struct buf rule = buf_make(64 * 1024);

                explain_rule(&e->reports[i], &object, &rule);
                buf_addc(out, "  - ");
                text_add(out, buf_str(&rule));
                buf_addch(out, '\n');
        }
}

static void add_state(const struct owners_view *v, struct buf *out) {
        const struct app_explanation *x = v->object;

        if (x->decision.verdict == DECIDE_REFUSE || x->decision.verdict == DECIDE_WAIT) {
                buf_addc(out, "truce does not touch it: ");
                text_add(out, x->decision.reason);
                buf_addch(out, '\n');
        } else if (!x->in.live) {
                buf_addc(out, "it does not exist yet: truce creates it\n");
        }
}

void owners_view_table(const struct owners_view *v, struct buf *out) {
        const struct str titles[OWNERS_COLUMNS] = { STR("path"), STR("owner"), STR("since"),
                                                           STR("truce"), STR("by") };
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct explanation rows = rows_of(v, a);
        struct grid table = grid_make(a, OWNERS_COLUMNS);
        size_t quiet = 0;

        grid_add(&table, titles, false);
        for (size_t i = 0; i < rows.count; i++) {
                if (v->all || !is_quiet(&rows.rows[i]))
                        add_row(&table, v, &rows.rows[i]);
                else
                        quiet += rows.rows[i].leaves;
        }
        add_state(v, out);
        grid_print(&table, "", v->color, out);
        if (quiet)
                buf_addf(out, "%zu more %s the API server's defaults, which nobody owns (--all)\n", quiet,
                         quiet == 1 ? "path is one of" : "paths are");
        add_reports(v, &rows, out);
}

static void add_number(const struct value *object, struct field_path p, const struct schema *type, struct buf *out) {
        const struct value *v = object ? field_path_find(object, p, type) : NULL;
        int64_t number;

        if (v && value_to_i64(v, &number))
                buf_addf(out, "%lld", (long long)number);
        else
                buf_addc(out, "nothing");
}

static void add_seed(const struct owners_view *v, const struct explain_row *r, struct buf *out) {
        const struct app_explanation *x = v->object;

        diff_path_print(r->path, out);
        buf_addc(out, ": Git's ");
        add_number(x->in.desired, r->path, x->in.type, out);
        buf_addc(out, " (");
        add_git_place(x, r->path, out);
        buf_addc(out, ") is the seed of a new object; ");
        owners_view_owner(r, out);
        buf_addc(out, " says ");
        add_number(x->in.live, r->path, x->in.type, out);
        buf_addch(out, '\n');
}

void owners_view_seed(const struct owners_view *v, struct buf *out) {
        const struct explanation *e = &v->object->paths;

        for (size_t i = 0; i < e->count; i++)
                if (e->rows[i].in_words.n && e->rows[i].in_git)
                        add_seed(v, &e->rows[i], out);
}

/* --- for machines ----------------------------------------------------------------------------------------------- */

struct making {
        struct arena *a;
        struct value_map_builder map;
};

static void add_text(struct making *m, const char *key, struct str text) {
        value_map_add(&m->map, str_from(key), value_string(m->a, text, 0), 0);
}

static const struct value *made(struct making *m) {
        return value_map_end(&m->map, m->a, 0);
}

static const struct value *entry_value(const struct managed_entry *e, struct arena *a) {
        struct making m = { .a = a };

        add_text(&m, "manager", e->manager);
        add_text(&m, "operation", e->operation == MANAGED_APPLY ? STR("Apply") : STR("Update"));
        if (e->subresource.n)
                add_text(&m, "subresource", e->subresource);
        if (e->time.n)
                add_text(&m, "since", e->time);
        return made(&m);
}

static const struct value *owners_value(const struct owners_view *v, const struct explain_row *r, struct arena *a) {
        const struct managed_entry *owners[MANAGED_MAX_ENTRIES];
        struct value_list_builder list = { 0 };
        const struct managed *m = v->object->in.managed;
        size_t count = m ? managed_owners(m, v->object->in.type, r->path, owners, MANAGED_MAX_ENTRIES) : 0;

        for (size_t i = 0; i < count && i < MANAGED_MAX_ENTRIES; i++)
                value_list_add(&list, entry_value(owners[i], a));
        return value_list_end(&list, a, 0);
}

static struct str spelled(struct field_path p, struct arena *a) {
        _cleanup_(buf_done) struct buf b = buf_make(64 * 1024);

        field_path_spell(p, &b);
        return arena_str(a, buf_str(&b));
}

static const struct value *row_value(const struct owners_view *v, const struct explain_row *r, struct arena *a) {
        _cleanup_(buf_done) struct buf owner = buf_make(16 * 1024);
        const struct app_explanation *x = v->object;
        struct making m = { .a = a };

        owners_view_owner(r, &owner);
        add_text(&m, "path", spelled(r->path, a));
        value_map_add(&m.map, STR("paths"), value_int(a, (int64_t)r->leaves, 0), 0);
        add_text(&m, "owner", buf_str(&owner));
        value_map_add(&m.map, STR("owners"), owners_value(v, r, a), 0);
        add_text(&m, "truce", str_from(owners_view_fate(r)));
        if (r->rule[0])
                add_text(&m, "rule", str_from(r->rule));
        if (r->place)
                add_text(&m, "place", str_from(r->place));
        if (r->in_git) {
                add_text(&m, "file", x->desired->file);
                value_map_add(&m.map, STR("line"), value_int(a, line_of(x, r->path), 0), 0);
        }
        return made(&m);
}

static const struct value *object_value(const struct owners_view *v, struct arena *a) {
        const struct desired *d = v->object->desired;
        struct making m = { .a = a };

        add_text(&m, "group", d->gvk.group);
        add_text(&m, "kind", d->gvk.kind);
        if (d->ns.n)
                add_text(&m, "namespace", d->ns);
        add_text(&m, "name", d->name);
        return made(&m);
}

const struct value *owners_view_value(const struct owners_view *v, struct arena *a) {
        const struct app_explanation *x = v->object;
        struct policy_object object = object_of(v);
        struct explanation rows = rows_of(v, a);
        struct value_list_builder paths = { 0 }, reports = { 0 };
        struct making m = { .a = a };

        for (size_t i = 0; i < rows.count; i++)
                value_list_add(&paths, row_value(v, &rows.rows[i], a));
        for (size_t i = 0; i < rows.report_count; i++) {
                _cleanup_(buf_done) struct buf rule = buf_make(64 * 1024);

                explain_rule(&rows.reports[i], &object, &rule);
                value_list_add(&reports, value_string(a, buf_str(&rule), 0));
        }
        value_map_add(&m.map, STR("object"), object_value(v, a), 0);
        add_text(&m, "application", app_config(v->app)->name);
        add_text(&m, "file", x->desired->file);
        value_map_add(&m.map, STR("exists"), value_bool(a, x->in.live != NULL, 0), 0);
        add_text(&m, "decision", str_from(decide_verdict_name(x->decision.verdict)));
        add_text(&m, "reason", x->decision.reason);
        value_map_add(&m.map, STR("paths"), value_list_end(&paths, a, 0), 0);
        value_map_add(&m.map, STR("reports"), value_list_end(&reports, a, 0), 0);
        return made(&m);
}
