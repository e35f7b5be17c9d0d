/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to say of single paths of an object: values that change, stay or go, and what somebody has to decide. */
#include "cli/adopt_impl.h"

#include "cli/words.h"
#include "diff/print.h"
#include "own/explain.h"

#define TEXT_MAX_BYTES (64 * 1024)

struct matters {
        struct adopt_report *report;
        const struct adoption *adoption;
        struct policy_object object;
        struct adopt_matter *items;
        size_t count;
};

static bool is_path(struct field_path p, const char *top, const char *middle, const char *last) {
        return p.count == 3 && str_eqc(p.elements[0].name, top) && str_eqc(p.elements[1].name, middle) &&
               str_eqc(p.elements[2].name, last);
}

/* truce's own marks change on every object, and are nobody's news. */
static bool is_mark(struct field_path p) {
        return is_path(p, "metadata", "annotations", TRACKING_ANNOTATION) || is_path(p, "metadata", "labels", TRACKING_LABEL);
}

static bool is_atomic(const struct matters *m, struct field_path p) {
        const struct decide_input *in = m->adoption->in;
        const struct schema *type = in->type;

        if (!type)
                type = schema_builtin(m->report->arena, value_text(value_getc(in->desired, "apiVersion")),
                                      value_text(value_getc(in->desired, "kind")));
        for (size_t i = 0; i < p.count; i++) {
                if (schema_form(type) == SCHEMA_ATOMIC)
                        return true;
                type = p.elements[i].kind == PATH_FIELD ? schema_field(type, p.elements[i].name) : schema_item(type);
        }
        return schema_form(type) == SCHEMA_ATOMIC;
}

static const struct value *kept(const struct matters *m, const struct value *v) {
        return v ? value_dup(m->report->arena, v) : NULL;
}

static bool is_whole_map_of_marks(const struct diff_entry *e) {
        const struct value *v = e->after;

        if (e->kind != DIFF_ADDED || e->path.count != 2 || !str_eqc(e->path.elements[0].name, "metadata"))
                return false;
        return value_count(v) == 1 && (value_getc(v, TRACKING_ANNOTATION) || value_getc(v, TRACKING_LABEL));
}

static void add_entry(struct matters *m, const struct diff_entry *e) {
        struct adopt_matter x = { .kind = e->kind == DIFF_REMOVED ? ADOPT_GOES : ADOPT_VALUE };

        if (e->class == DIFF_ADMISSION || is_mark(e->path) || is_whole_map_of_marks(e))
                return;
        x.path = adopt_path_words(m->report, e->path);
        x.spelled = adopt_path_spelled(m->report, e->path);
        x.before = kept(m, e->before);
        x.after = kept(m, e->after);
        x.line = e->line;
        x.owner = adopt_owner_words(m->report, e->owner.manager, e->owner.subresource);
        x.bookkeeping = is_path(e->path, "metadata", "annotations", ADOPT_LAST_APPLIED);
        if (e->owner.manager.n && e->kind != DIFF_ADDED)
                x.word = str_from(diff_take_word(e->owner.class, false));
        if (e->kind == DIFF_REMOVED)
                x.word = STR("removes");
        if (e->kind == DIFF_REORDERED)
                x.word = STR("reorders");
        if (e->why)
                x.rule = adopt_rule_words(m->report, e->why->rule, e->why->place);
        m->items[m->count++] = x;
}

/* The rule that leaves it to its owner, as `truce owners` prints it. */
static struct str paste_for(const struct matters *m, const struct diff_note *n) {
        _cleanup_(buf_done) struct buf b = buf_make(TEXT_MAX_BYTES);

        if (n->owner.n)
                explain_rule(&(struct explain_report){ n->path, n->owner }, &m->object, &b);
        return adopt_text(m->report, &b);
}

static const char *place_of(const struct matters *m, const struct diff_note *n) {
        const struct foretold *f = m->adoption->foretold;

        for (size_t i = 0; i < f->note_count; i++)
                if (f->notes[i].kind == n->kind && field_path_equal(f->notes[i].path, n->path))
                        return f->notes[i].place;
        return NULL;
}

static enum adopt_matter_kind kind_of(enum decide_note_kind kind) {
        if (decide_note_is_remark(kind))
                return ADOPT_LOOK;
        if (kind == DECIDE_REMOVED || kind == DECIDE_LEAVING)
                return ADOPT_GOES;
        return kind == DECIDE_REPORTED ? ADOPT_DECIDE : ADOPT_STAYS;
}

static void add_note(struct matters *m, const struct diff_note *n) {
        struct adopt_matter x = { .kind = kind_of(n->kind) };

        if (n->kind == DECIDE_TAKEN)
                return;
        x.path = adopt_path_words(m->report, n->path);
        x.spelled = adopt_path_spelled(m->report, n->path);
        x.before = kept(m, n->live);
        x.after = kept(m, n->git);
        x.line = n->line;
        x.owner = adopt_owner_words(m->report, n->owner, n->subresource);
        x.word = str_from(diff_note_verb(n->kind));
        x.rule = adopt_rule_words(m->report, n->rule, place_of(m, n));
        x.bookkeeping = is_path(n->path, "metadata", "annotations", ADOPT_LAST_APPLIED);
        x.atomic = is_atomic(m, n->path);
        if (x.kind == ADOPT_DECIDE)
                x.paste = paste_for(m, n);
        m->items[m->count++] = x;
}

void adopt_gather_matters(struct adopt_report *r, struct adopt_object *x, const struct outcome *o) {
        struct matters m = { .report = r, .adoption = o->adoption };
        struct outcome then = *o;
        struct diff d;

        then.before = o->adoption->in->live;
        then.before_owners = o->adoption->in->managed;
        then.after = o->adoption->foretold->object;
        then.after_owners = &o->adoption->foretold->owners;
        then.notes = o->adoption->foretold->notes;
        then.note_count = o->adoption->foretold->note_count;
        if (words_compare(&then, r->arena, &d) < 0)
                return;
        m.object = (struct policy_object){ x->group, x->kind, x->ns, x->name, app_config(x->app)->name };
        m.items = arena_alloc(r->arena, (d.count + d.note_count + 1) * sizeof *m.items);
        for (size_t i = 0; i < d.count; i++)
                add_entry(&m, &d.entries[i]);
        for (size_t i = 0; i < d.note_count; i++)
                add_note(&m, &d.notes[i]);
        x->matters = m.items;
        x->matter_count = m.count;
}
