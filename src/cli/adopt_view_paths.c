/* SPDX-License-Identifier: Apache-2.0 */
/* What `truce adopt` tells of single paths: values that change, what stays and goes, what is to be decided, or all of them. */
#include "cli/adopt_view_impl.h"
#include "cli/words.h"

#include "diff/text.h"

#define VALUE_COLUMNS 32

size_t view_count_of(const struct adopt_object *o, enum adopt_matter_kind kind) {
        size_t count = 0;

        for (size_t i = 0; i < o->matter_count; i++)
                count += o->matters[i].kind == kind && !o->matters[i].bookkeeping;
        return count;
}

static void add_value(const struct value *value, struct buf *out) {
        _cleanup_(buf_done) struct buf b = buf_make(1024 * 1024);

        if (!value) {
                buf_addc(out, "nothing");
                return;
        }
        value_print(value, &b);
        text_add_cut(out, value_is(value, VALUE_STRING) ? value_text(value) : buf_str(&b), VALUE_COLUMNS);
}

static void add_place(const struct adopt_object *o, const struct adopt_matter *m, struct buf *out) {
        if (!o->file.n)
                return;
        buf_addc(out, "   ");
        text_add(out, o->file);
        words_add_line(m->line, out);
}

/* "  deploy/web   spec.replicas". */
static void add_where(const struct view *v, const struct adopt_object *o, struct str path) {
        size_t from = v->out->n + 2;

        buf_addc(v->out, "  ");
        view_add_title(o, v->out);
        text_pad(v->out, from, v->title_columns);
        buf_addc(v->out, "  ");
        from = v->out->n;
        text_add(v->out, path);
        text_pad(v->out, from, v->path_columns);
        buf_addc(v->out, "  ");
}

static void add_by(const struct adopt_matter *m, struct buf *out) {
        if (m->owner.n) {
                buf_addc(out, "   ");
                text_add(out, m->owner);
        }
        if (m->rule.n) {
                buf_addc(out, m->owner.n ? " · " : "   ");
                text_add(out, m->rule);
        }
}

static void print_value(const struct view *v, const struct adopt_object *o, const struct adopt_matter *m) {
        add_where(v, o, m->path);
        add_value(m->before, v->out);
        buf_addc(v->out, " → ");
        add_value(m->after, v->out);
        if (m->word.n) {
                buf_addc(v->out, "   ");
                text_add(v->out, m->word);
                if (m->owner.n) {
                        buf_addc(v->out, m->word.n && str_starts(m->word, STR("takes")) ? " from " : " of ");
                        text_add(v->out, m->owner);
                }
        }
        add_place(o, m, v->out);
        buf_addch(v->out, '\n');
}

static void print_stay(const struct view *v, const struct adopt_object *o, const struct adopt_matter *m) {
        add_where(v, o, m->path);
        text_add(v->out, m->word);
        buf_addc(v->out, " ");
        add_value(m->before, v->out);
        add_by(m, v->out);
        buf_addch(v->out, '\n');
}

static void print_goes(const struct view *v, const struct adopt_object *o, const struct adopt_matter *m) {
        view_loud(v, true);
        add_where(v, o, m->path);
        buf_addc(v->out, "goes, it is ");
        add_value(m->before, v->out);
        view_loud(v, false);
        add_by(m, v->out);
        buf_addc(v->out, "\n      to keep it put it into Git, or have extra paths only reported (--extra-paths report)\n");
}

static void print_decide(const struct view *v, const struct adopt_object *o, const struct adopt_matter *m) {
        view_loud(v, true);
        add_where(v, o, m->path);
        buf_addc(v->out, "stays ");
        add_value(m->before, v->out);
        buf_addc(v->out, ", Git says ");
        add_value(m->after, v->out);
        if (m->atomic)
                buf_addc(v->out, "   (atomic: one owner for all of it)");
        view_loud(v, false);
        add_by(m, v->out);
        add_place(o, m, v->out);
        buf_addch(v->out, '\n');
        if (!m->paste.n)
                return;
        buf_addc(v->out, "      - ");
        text_add(v->out, m->paste);
        buf_addch(v->out, '\n');
}

static void print_look(const struct view *v, const struct adopt_object *o, const struct adopt_matter *m) {
        add_where(v, o, m->path);
        text_add(v->out, m->rule);
        buf_addch(v->out, '\n');
}

struct section {
        enum adopt_matter_kind kind;
        const char *title;
        void (*print)(const struct view *v, const struct adopt_object *o, const struct adopt_matter *m);
};

static const struct section sections[] = {
        { ADOPT_VALUE, "values that change", print_value },
        { ADOPT_STAYS, "stays as it is, by rule", print_stay },
        { ADOPT_LOOK, "odd in Git", print_look },
};
static const struct section decisions[] = {
        { ADOPT_GOES, NULL, print_goes },
        { ADOPT_DECIDE, NULL, print_decide },
};

size_t view_count_all(const struct view *v, enum adopt_matter_kind kind) {
        size_t sum = 0;

        for (size_t i = 0; i < v->report->count; i++)
                sum += view_count_of(v->report->objects[i], kind);
        return sum;
}

static void add_matters(const struct view *v, const struct section *s) {
        for (size_t i = 0; i < v->report->count; i++) {
                const struct adopt_object *o = v->report->objects[i];

                for (size_t k = 0; k < o->matter_count; k++)
                        if (o->matters[k].kind == s->kind && !o->matters[k].bookkeeping)
                                s->print(v, o, &o->matters[k]);
        }
}

static void add_section(const struct view *v, const struct section *s) {
        if (!view_count_all(v, s->kind))
                return;
        view_heading(v, s->title);
        add_matters(v, s);
}

void view_sections(const struct view *v) {
        for (size_t i = 0; i < ARRAY_LEN(sections); i++)
                add_section(v, &sections[i]);
}

void view_decisions(const struct view *v) {
        for (size_t i = 0; i < ARRAY_LEN(decisions); i++)
                add_matters(v, &decisions[i]);
}

/* --- every path ------------------------------------------------------------------------------------------------- */

static const char *hand_words(enum hand_kind kind) {
        static const char *const words[] = { [HAND_CHANGES] = "from", [HAND_NEW] = "new",     [HAND_SHARED] = "shared with",
                                             [HAND_OURS] = "truce's", [HAND_STAYS] = "stays with", [HAND_GOES] = "goes" };

        return words[kind];
}

static void add_after(struct buf *out, const char *gap, struct str text) {
        if (!text.n)
                return;
        buf_addc(out, gap);
        text_add(out, text);
}

static void print_path(const struct view *v, const struct adopt_object *o, const struct adopt_path *p) {
        add_where(v, o, p->spelled);
        buf_addc(v->out, hand_words(p->kind));
        add_after(v->out, " ", p->owner);
        add_after(v->out, "   ", p->why);
        buf_addc(v->out, p->atomic ? "   (atomic)\n" : "\n");
}

void view_paths(const struct view *v) {
        struct view wide = *v;

        for (size_t i = 0; i < v->report->count; i++)
                view_measure(&wide, v->report->objects[i], true);
        view_heading(v, "every path");
        for (size_t i = 0; i < v->report->count; i++)
                for (size_t k = 0; k < v->report->objects[i]->path_count; k++)
                        print_path(&wide, v->report->objects[i], &v->report->objects[i]->paths[k]);
}

void view_rest(const struct view *v) {
        size_t rest = 0, bookkeeping = 0;

        for (size_t i = 0; i < v->report->count; i++) {
                const struct adopt_object *o = v->report->objects[i];

                for (size_t k = 0; k < o->path_count; k++)
                        rest += o->paths[k].kind == HAND_STAYS && str_eqc(o->paths[k].why, "not in Git");
                for (size_t k = 0; k < o->matter_count; k++)
                        bookkeeping += o->matters[k].bookkeeping && o->matters[k].kind == ADOPT_GOES;
        }
        if (!rest && !bookkeeping)
                return;
        buf_addch(v->out, '\n');
        if (bookkeeping)
                buf_addf(v->out, "kubectl's copy of the object (annotation last-applied-configuration) goes from %zu %s\n",
                         bookkeeping, view_plural(bookkeeping, "object", "objects"));
        if (rest)
                buf_addf(v->out, "%zu %s that Git does not have %s with who has %s%s\n", rest, view_plural(rest, "path", "paths"),
                         view_plural(rest, "stays", "stay"), view_plural(rest, "it", "them"), v->style->all ? "" : " (--all)");
}
