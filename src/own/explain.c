/* SPDX-License-Identifier: Apache-2.0 */
#include "own/explain.h"

#include "own/decide_impl.h"

struct explaining {
        struct desk desk; /* after yields and foreseen conflicts */
        const struct decision *decision;
        bool off;
        struct explain_row *rows;
        size_t count, cap;
        struct arena *a;
};

/* --- notes ------------------------------------------------------------------------------------------------------ */

/* Of several notes about a path the first of these tells what comes of it; kinds that are not here come before all. */
static size_t weight_of(enum decide_note_kind kind) {
        static const enum decide_note_kind by_weight[] = {
                DECIDE_HANDOVER_DUE, DECIDE_HELD,  DECIDE_YIELDED, DECIDE_REPORTED,
                DECIDE_TAKEN,        DECIDE_STAYS, DECIDE_LEAVING, DECIDE_EXTRA,
        };

        for (size_t i = 0; i < ARRAY_LEN(by_weight); i++)
                if (by_weight[i] == kind)
                        return i + 1;
        return 0;
}

static const struct decide_note *heaviest(const struct decide_note *best, const struct decide_note *notes, size_t count,
                                          struct field_path p) {
        for (size_t i = 0; i < count; i++)
                if (!decide_note_is_remark(notes[i].kind) && field_path_covers(notes[i].path, p) &&
                    (!best || weight_of(notes[i].kind) < weight_of(best->kind)))
                        best = &notes[i];
        return best;
}

/* What was decided comes before what is foreseen. */
static const struct decide_note *note_of(const struct explaining *x, struct field_path p) {
        const struct decide_note *decided = heaviest(NULL, x->decision->notes, x->decision->note_count, p);

        return heaviest(decided, x->desk.out.notes, x->desk.out.note_count, p);
}

static const struct decide_note *find_note(const struct decide_note *notes, size_t count, struct field_path p,
                                           enum decide_note_kind kind) {
        for (size_t i = 0; i < count; i++)
                if (notes[i].kind == kind && field_path_covers(notes[i].path, p))
                        return &notes[i];
        return NULL;
}

/* A hand-over is due because something is yielded: that is the rule to show. */
static const struct decide_note *rule_of(const struct explaining *x, struct field_path p,
                                         const struct decide_note *note) {
        const struct decide_note *yielded = NULL;

        if (note->kind == DECIDE_HANDOVER_DUE)
                yielded = find_note(x->decision->notes, x->decision->note_count, p, DECIDE_YIELDED);
        return yielded ? yielded : note;
}

/* --- owners ----------------------------------------------------------------------------------------------------- */

static bool is_later(const struct managed_entry *a, const struct managed_entry *b) {
        return str_cmp(a->time, b->time) > 0;
}

/* Whose say it is: the newest owner beside us and the keeper, else the keeper, else we. */
static int rank(const struct managed_entry *e) {
        return managed_is_ours(e) ? 0 : managed_is_keeper(e) ? 1 : 2;
}

static const struct managed_entry *find_owner(const struct desk *d, struct field_path p, size_t *ret_count) {
        const struct managed_entry *owners[MANAGED_MAX_ENTRIES], *best = NULL;
        size_t count = managed_owners(&d->managed, d->type, p, owners, MANAGED_MAX_ENTRIES);

        for (size_t i = 0; i < count && i < MANAGED_MAX_ENTRIES; i++)
                if (!best || rank(owners[i]) > rank(best) ||
                    (rank(owners[i]) == rank(best) && is_later(owners[i], best)))
                        best = owners[i];
        *ret_count = count;
        return best;
}

static void set_owner(struct explain_row *row, const struct managed_entry *e) {
        row->owner = e;
        row->class = e ? policy_classify(e->manager, e->operation, e->subresource) : POLICY_UNKNOWN;
}

/* --- one row ---------------------------------------------------------------------------------------------------- */

/* No schema fills in metadata, items of a list that is there, or keys of a free map. */
static enum explain_origin origin_of(const struct explaining *x, struct field_path p) {
        const struct schema *type = x->desk.type;

        if (str_eqc(p.elements[0].name, "metadata"))
                return EXPLAIN_ADMISSION;
        for (size_t i = 0; i < p.count; i++) {
                const struct path_element *e = &p.elements[i];
                struct field_path here = { p.elements, i + 1 };

                if ((e->kind != PATH_FIELD || schema_form(type) == SCHEMA_MAP) &&
                    !field_path_find(x->desk.in->desired, here, x->desk.type))
                        return EXPLAIN_ADMISSION;
                type = e->kind == PATH_FIELD ? schema_field(type, e->name) : schema_item(type);
        }
        return EXPLAIN_DEFAULT;
}

static void as_noted(const struct explaining *x, struct explain_row *row, const struct decide_note *note) {
        const struct decide_note *rule = rule_of(x, row->path, note);
        const struct scale_path *scaled = desk_scaled_at(&x->desk, row->path);
        bool scaler = scaled && rule->owner.n && str_eqc(rule->subresource, "scale");

        row->fate = EXPLAIN_NOTED;
        row->note = note->kind;
        row->said = note;
        row->rule = rule->rule;
        row->place = rule->place;
        if (scaler && scale_state_yields(&scaled->state))
                row->in_words = rule->owner;
}

/* Git wants it and it is not ours: an apply asks for it, and is refused where another has another value. */
static void as_wanted(struct explaining *x, struct explain_row *row, bool differs) {
        struct policy_answer answer;

        row->fate = EXPLAIN_SET;
        if (!differs || !row->owner)
                return;
        answer = desk_ask(&x->desk, row->owner, row->path);
        row->fate = EXPLAIN_TAKEN;
        row->rule = answer.rule;
        row->place = answer.place;
}

static void as_owned(struct explaining *x, struct explain_row *row, const struct value *git, bool differs) {
        bool settled = x->decision->verdict == DECIDE_NOTHING;

        row->fate = differs ? settled ? EXPLAIN_ADMITTED : EXPLAIN_SET : EXPLAIN_ENFORCED;
        if (!git) { /* what holds no leaf of ours: nothing is written */
                row->fate = EXPLAIN_LEFT;
                row->rule = "not in Git";
                return;
        }
        set_owner(row, x->desk.ours);
}

static void as_left(struct explaining *x, struct explain_row *row) {
        struct policy_answer answer = { 0 };

        if (row->owner)
                answer = desk_ask(&x->desk, row->owner, row->path);
        if (answer.place && answer.action == POLICY_YIELD) {
                row->fate = EXPLAIN_NOTED;
                row->note = DECIDE_YIELDED;
                row->rule = answer.rule;
                row->place = answer.place;
                return;
        }
        if (row->owner) {
                row->fate = EXPLAIN_LEFT;
                row->rule = "not in Git";
                return;
        }
        row->fate = EXPLAIN_NOBODYS;
        row->origin = origin_of(x, row->path);
        row->rule = "";
}

static struct explain_row row_of(struct explaining *x, struct field_path p) {
        const struct desk *d = &x->desk;
        const struct value *git = field_path_find(d->wanted, p, d->type);
        const struct value *live = field_path_find(d->in->live, p, d->type);
        struct explain_row row = { .path = p, .rule = "", .in_git = git != NULL, .leaves = 1 };
        const struct decide_note *note = note_of(x, p);
        bool differs = git && (!live || !value_equal(git, live));

        set_owner(&row, find_owner(d, p, &row.owner_count));
        if (x->off)
                row.fate = EXPLAIN_OFF;
        else if (note)
                as_noted(x, &row, note);
        else if (d->ours && !d->ours->broken && fieldset_covers(d->ours->set, d->type, p))
                as_owned(x, &row, git, differs);
        else if (git)
                as_wanted(x, &row, differs);
        else
                as_left(x, &row);
        return row;
}

/* --- all rows --------------------------------------------------------------------------------------------------- */

static const struct fieldset *all_paths(struct explaining *x) {
        static const struct path_element status = { .kind = PATH_FIELD, .name = { "status", 6 } };
        const struct desk *d = &x->desk;
        const struct fieldset *all = fieldset_of_value(d->in->desired, d->type, x->a, NULL);

        if (d->in->live)
                all = fieldset_union(x->a, all, fieldset_of_value(d->in->live, d->type, x->a, NULL));
        for (size_t i = 0; i < d->managed.count; i++)
                if (!d->managed.entries[i].broken)
                        all = fieldset_union(x->a, all, d->managed.entries[i].set);
        return fieldset_strip(x->a, fieldset_without(x->a, all, (struct field_path){ &status, 1 }));
}

static void add_rows(struct explaining *x, const struct fieldset *node, struct field_path here) {
        if (node->count == 0 && here.count) {
                x->rows = mem_grow(x->rows, &x->cap, x->count + 1, sizeof *x->rows);
                x->rows[x->count++] = row_of(x, here);
        }
        for (size_t i = 0; i < node->count; i++)
                add_rows(x, &node->children[i].set, field_path_join(x->a, here, node->children[i].element));
}

static struct explanation take_rows(struct explain_row *rows, size_t count, struct arena *a) {
        struct explain_row *kept = arena_alloc(a, (count + 1) * sizeof *kept);

        if (count)
                memcpy(kept, rows, count * sizeof *kept);
        free(rows);
        return (struct explanation){ .rows = kept, .count = count };
}

/* --- reports ---------------------------------------------------------------------------------------------------- */

bool explain_is_report(const struct explain_row *r) {
        return r->fate == EXPLAIN_NOTED && (r->note == DECIDE_REPORTED || r->note == DECIDE_EXTRA);
}

struct reporting {
        const struct desk *desk;
        struct explain_report *items;
        size_t count, cap;
};

static void add_report(struct reporting *r, struct field_path path, struct str manager) {
        for (size_t i = 0; i < r->count; i++)
                if (field_path_equal(r->items[i].path, path) && str_eq(r->items[i].manager, manager))
                        return;
        r->items = mem_grow(r->items, &r->cap, r->count + 1, sizeof *r->items);
        r->items[r->count++] = (struct explain_report){ path, manager };
}

/* What somebody added may have several owners at and below it, each of whom would be told in the other's stead. */
static void add_reports_of(struct reporting *r, const struct decide_note *n) {
        if (n->kind != DECIDE_EXTRA) {
                add_report(r, n->path, n->owner);
                return;
        }
        for (size_t i = 0; i < r->desk->managed.count; i++) {
                const struct managed_entry *e = &r->desk->managed.entries[i];

                if (!e->broken && desk_is_told_about(r->desk, e) && fieldset_touches(e->set, n->path))
                        add_report(r, n->path, e->manager);
        }
}

static void take_reports(struct explaining *x, struct explanation *e) {
        struct reporting r = { .desk = &x->desk };
        struct explain_report *kept;

        for (size_t i = 0; i < e->count; i++)
                if (explain_is_report(&e->rows[i]))
                        add_reports_of(&r, e->rows[i].said);
        kept = arena_alloc(x->a, (r.count + 1) * sizeof *kept);
        if (r.count)
                memcpy(kept, r.items, r.count * sizeof *kept);
        free(r.items);
        e->reports = kept;
        e->report_count = r.count;
}

int explain(const struct decide_input *in, const struct decision *decision, struct arena *a, struct explanation *ret,
            struct err *err) {
        struct explaining x = { .decision = decision, .a = a };
        int r = desk_open(&x.desk, in, a, err);

        if (r < 0)
                return r;
        x.off = decision->verdict == DECIDE_REFUSE || decision->verdict == DECIDE_WAIT;
        desk_yield(&x.desk);
        for (size_t i = 0; in->live && i < x.desk.managed.count; i++)
                desk_foresee(&x.desk, &x.desk.managed.entries[i]);
        add_rows(&x, all_paths(&x), (struct field_path){ 0 });
        *ret = take_rows(x.rows, x.count, a);
        take_reports(&x, ret);
        return 0;
}

/* --- short ------------------------------------------------------------------------------------------------------ */

struct shortening {
        const struct explain_row *rows;
        struct explain_row *out;
        size_t count, cap;
};

static bool same_text(const char *a, const char *b) {
        return a == b || (a && b && strcmp(a, b) == 0);
}

static bool says_the_same(const struct explain_row *a, const struct explain_row *b) {
        return a->fate == b->fate && a->note == b->note && a->owner == b->owner && a->owner_count == b->owner_count &&
               a->origin == b->origin && a->in_git == b->in_git && str_eq(a->in_words, b->in_words) &&
               same_text(a->rule, b->rule) && same_text(a->place, b->place);
}

static bool all_say_the_same(const struct explain_row *rows, size_t from, size_t to) {
        for (size_t i = from + 1; i < to; i++)
                if (!says_the_same(&rows[from], &rows[i]))
                        return false;
        return true;
}

static bool share_element(const struct explain_row *a, const struct explain_row *b, size_t depth) {
        return b->path.count > depth && path_element_cmp(&a->path.elements[depth], &b->path.elements[depth]) == 0;
}

/* An item's key stands in the path of everything else that the item has. */
static bool is_key_of_item(const struct explain_row *r, size_t depth) {
        const struct path_element *item = depth ? &r->path.elements[depth - 1] : NULL;
        const struct path_element *field = &r->path.elements[depth];

        return item && item->kind == PATH_KEY && field->kind == PATH_FIELD && value_get(item->value, field->name);
}

/* Then the item itself is the row, as the first of its keys says. */
static bool all_are_keys(const struct explain_row *rows, size_t from, size_t to, size_t depth) {
        for (size_t i = from; i < to; i++)
                if (!is_key_of_item(&rows[i], depth))
                        return false;
        return true;
}

/* Rows from … to agree in the first `depth` elements. The two top levels (spec, metadata) are never one row. */
static void shorten(struct shortening *s, size_t from, size_t to, size_t depth) {
        bool one = depth >= 2 && (all_say_the_same(s->rows, from, to) || all_are_keys(s->rows, from, to, depth));

        if (to - from == 1 || one) {
                s->out = mem_grow(s->out, &s->cap, s->count + 1, sizeof *s->out);
                s->out[s->count] = s->rows[from];
                s->out[s->count].path.count = to - from == 1 ? s->rows[from].path.count : depth;
                s->out[s->count++].leaves = to - from;
                return;
        }
        while (from < to) {
                size_t end = from + 1;

                while (end < to && share_element(&s->rows[from], &s->rows[end], depth))
                        end++;
                if (!is_key_of_item(&s->rows[from], depth))
                        shorten(s, from, end, depth + 1);
                from = end;
        }
}

struct explanation explain_short(const struct explanation *e, struct arena *a) {
        struct shortening s = { .rows = e->rows };

        if (e->count)
                shorten(&s, 0, e->count, 0);
        struct explanation ret = take_rows(s.out, s.count, a);
        ret.reports = e->reports;
        ret.report_count = e->report_count;
        return ret;
}

/* --- rules ------------------------------------------------------------------------------------------------------ */

/* In single quotes any text is itself; only a quote is doubled. */
static void add_quoted(struct buf *out, struct str text) {
        buf_addch(out, '\'');
        for (size_t i = 0; i < text.n; i++) {
                if (text.p[i] == '\'')
                        buf_addch(out, '\'');
                buf_addch(out, text.p[i]);
        }
        buf_addch(out, '\'');
}

static bool is_word(struct str text, const char *word) {
        bool same = text.n == strlen(word);

        for (size_t i = 0; same && i < text.n; i++)
                same = (text.p[i] | 0x20) == word[i];
        return same;
}

/* Names that YAML could read as something else, or not at all, stand in quotes. */
static void add_member(struct buf *out, const char *key, struct str text) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./";
        bool quoted = !text.n || !((text.p[0] >= 'a' && text.p[0] <= 'z') || (text.p[0] >= 'A' && text.p[0] <= 'Z'));
        static const char *const words[] = { "y", "n", "yes", "no", "on", "off", "true", "false", "null" };

        for (size_t i = 0; i < text.n; i++)
                quoted |= memchr(plain, text.p[i], sizeof plain - 1) == NULL;
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                quoted |= is_word(text, words[i]);
        buf_addf(out, "%s: ", key);
        if (quoted)
                add_quoted(out, text);
        else
                buf_add(out, text);
        buf_addc(out, ", ");
}

void explain_rule(const struct explain_report *r, const struct policy_object *object, struct buf *out) {
        _cleanup_(buf_done) struct buf path = buf_make(64 * 1024);

        field_path_spell(r->path, &path);
        buf_addch(out, '{');
        if (r->manager.n)
                add_member(out, "manager", r->manager);
        add_member(out, "group", object->group);
        add_member(out, "kind", object->kind);
        if (object->ns.n)
                add_member(out, "namespace", object->ns);
        add_member(out, "objectName", object->name);
        buf_addc(out, "path: ");
        add_quoted(out, buf_str(&path));
        buf_addc(out, ", action: yield}");
}
