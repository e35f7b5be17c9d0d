/* SPDX-License-Identifier: Apache-2.0 */
/* `truce adopt` for people: a table of the objects, then what there is to say, worst last, where the eye ends. */
#include "cli/adopt_impl.h"
#include "cli/words.h"

#include "diff/text.h"
#include "diff/title.h"

#define CELLS 6
#define CELL_COLUMNS 46
#define VALUE_COLUMNS 32
#define NAMES_SHOWN 6

struct view {
        const struct adopt_report *report;
        const struct adopt_style *style;
        struct buf *out;
        struct arena *arena;
        size_t title_columns, path_columns; /* of what is said of single paths */
};

static const char *plural(size_t count, const char *one, const char *many) {
        return count == 1 ? one : many;
}

static void loud(const struct view *v, bool on) {
        if (v->style->color)
                buf_addc(v->out, on ? "\033[33m" : "\033[0m");
}

static void heading(const struct view *v, const char *text) {
        buf_addf(v->out, "\n%s%s%s\n", v->style->color ? "\033[1m" : "", text, v->style->color ? "\033[0m" : "");
}

/* "deploy/web", and where it is when that is not where the application's objects are. */
static void add_title(const struct adopt_object *o, struct buf *out) {
        diff_title(o->group, o->kind, o->name, false, out);
        if (o->ns.n && !str_eq(o->ns, app_config(o->app)->destination_namespace)) {
                buf_addc(out, " -n ");
                text_add(out, o->ns);
        }
}

static struct str title_of(const struct view *v, const struct adopt_object *o) {
        _cleanup_(buf_done) struct buf b = buf_make(4096);

        add_title(o, &b);
        return arena_str(v->arena, buf_str(&b));
}

static void widen(size_t *columns, size_t to) {
        *columns = to > *columns ? to : *columns;
}

/* What is said of single paths stands in columns. */
static void measure(struct view *v) {
        for (size_t i = 0; i < v->report->count; i++) {
                const struct adopt_object *o = v->report->objects[i];

                if (o->matter_count || o->reason.n)
                        widen(&v->title_columns, text_columns(title_of(v, o)));
                for (size_t k = 0; k < o->matter_count; k++)
                        if (!o->matters[k].bookkeeping)
                                widen(&v->path_columns, text_columns(o->matters[k].path));
        }
}

/* --- the table -------------------------------------------------------------------------------------------------- */

static size_t paths_of(const struct adopt_object *o, enum hand_kind kind) {
        size_t sum = 0;

        for (size_t i = 0; i < o->share_count; i++)
                if (o->shares[i].kind == kind)
                        sum += o->shares[i].paths;
        return sum;
}

static size_t matters_of(const struct adopt_object *o, enum adopt_matter_kind kind) {
        size_t count = 0;

        for (size_t i = 0; i < o->matter_count; i++)
                count += o->matters[i].kind == kind && !o->matters[i].bookkeeping;
        return count;
}

/* "14 kubectl-client-side-apply, 2 helm". */
static struct str shares_cell(const struct view *v, const struct adopt_object *o, enum hand_kind kind) {
        _cleanup_(buf_done) struct buf b = buf_make(16 * 1024), cut = buf_make(16 * 1024);

        for (size_t i = 0; i < o->share_count; i++) {
                if (o->shares[i].kind != kind)
                        continue;
                buf_addf(&b, "%s%zu ", b.n ? ", " : "", o->shares[i].paths);
                text_add(&b, o->shares[i].owner);
        }
        text_add_cut(&cut, b.n ? buf_str(&b) : STR("–"), CELL_COLUMNS);
        return arena_str(v->arena, buf_str(&cut));
}

static struct str number_cell(const struct view *v, size_t count) {
        return count ? arena_strf(v->arena, "%zu", count) : STR("–");
}

static struct str today_cell(const struct view *v, const struct adopt_object *o) {
        _cleanup_(buf_done) struct buf b = buf_make(4096);

        text_add_cut(&b, o->today.n ? o->today : o->fate == ADOPT_CREATED ? STR("not there") : STR("–"), CELL_COLUMNS);
        return arena_str(v->arena, buf_str(&b));
}

static struct str sync_cell(const struct view *v, const struct adopt_object *o) {
        size_t asks = matters_of(o, ADOPT_DECIDE) + matters_of(o, ADOPT_GOES);

        if (asks && (o->fate == ADOPT_TAKEN || o->fate == ADOPT_HELD || o->fate == ADOPT_OURS))
                return arena_strf(v->arena, "%s, asks for %zu %s", adopt_fate_word(o->fate), asks,
                                  plural(asks, "decision", "decisions"));
        return str_from(adopt_fate_word(o->fate));
}

struct line {
        struct str cells[CELLS];
        bool loud;
};

static void add_line(const struct view *v, const struct line *line, const size_t *widths) {
        if (line->loud)
                loud(v, true);
        for (size_t i = 0; i < CELLS; i++) {
                size_t from = v->out->n;

                buf_add(v->out, line->cells[i]);
                if (i + 1 < CELLS)
                        text_pad(v->out, from, widths[i] + 2);
        }
        if (line->loud)
                loud(v, false);
        buf_addch(v->out, '\n');
}

static void add_table(const struct view *v, const struct app *app) {
        const struct adopt_report *r = v->report;
        struct line *lines = arena_zalloc(v->arena, (r->count + 1) * sizeof *lines);
        size_t widths[CELLS] = { 0 }, count = 1;

        lines[0] = (struct line){ .cells = { STR("object"), STR("today"), STR("paths that change hands"), STR("shared then"),
                                             STR("values"), STR("next sync") } };
        for (size_t i = 0; i < r->count; i++) {
                const struct adopt_object *o = r->objects[i];

                if (o->app != app)
                        continue;
                lines[count++] = (struct line){
                        { title_of(v, o), today_cell(v, o), shares_cell(v, o, HAND_CHANGES), shares_cell(v, o, HAND_SHARED),
                          number_cell(v, matters_of(o, ADOPT_VALUE)), sync_cell(v, o) },
                        adopt_object_asks(o),
                };
        }
        for (size_t i = 0; i < count; i++)
                for (size_t k = 0; k < CELLS; k++)
                        widen(&widths[k], text_columns(lines[i].cells[k]));
        for (size_t i = 0; i < count; i++)
                add_line(v, &lines[i], widths);
}

static void add_app(const struct view *v, size_t at) {
        const struct app *app = agent_app(v->report->agent, at);
        struct agent_revision rev;
        size_t count = 0;

        agent_app_revision(v->report->agent, at, &rev);
        for (size_t i = 0; i < v->report->count; i++)
                count += v->report->objects[i]->app == app;
        if (!rev.commit[0])
                return;
        if (v->out->n)
                buf_addch(v->out, '\n');
        text_add(v->out, app_config(app)->name);
        buf_addc(v->out, "  ");
        text_add(v->out, words_ref(rev.ref));
        buf_addf(v->out, " @ %.7s  \"", rev.commit);
        text_add_cut(v->out, rev.subject, 50);
        buf_addf(v->out, "\"   %zu %s in Git\n", count, plural(count, "object", "objects"));
        if (count)
                add_table(v, app);
}

/* --- matters ---------------------------------------------------------------------------------------------------- */

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
        if (m->line)
                buf_addf(out, ":%u", m->line);
}

/* "  deploy/web   spec.replicas". */
static void add_where(const struct view *v, const struct adopt_object *o, struct str path) {
        size_t from = v->out->n + 2;

        buf_addc(v->out, "  ");
        add_title(o, v->out);
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
        loud(v, true);
        add_where(v, o, m->path);
        buf_addc(v->out, "goes, it is ");
        add_value(m->before, v->out);
        loud(v, false);
        add_by(m, v->out);
        buf_addc(v->out, "\n      to keep it put it into Git, or have extra paths only reported (--extra-paths report)\n");
}

static void print_decide(const struct view *v, const struct adopt_object *o, const struct adopt_matter *m) {
        loud(v, true);
        add_where(v, o, m->path);
        buf_addc(v->out, "stays ");
        add_value(m->before, v->out);
        buf_addc(v->out, ", Git says ");
        add_value(m->after, v->out);
        if (m->atomic)
                buf_addc(v->out, "   (atomic: one owner for all of it)");
        loud(v, false);
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

static size_t count_all(const struct view *v, enum adopt_matter_kind kind) {
        size_t sum = 0;

        for (size_t i = 0; i < v->report->count; i++)
                sum += matters_of(v->report->objects[i], kind);
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
        if (!count_all(v, s->kind))
                return;
        heading(v, s->title);
        add_matters(v, s);
}

/* --- every path ------------------------------------------------------------------------------------------------- */

static const char *hand_words(enum hand_kind kind) {
        static const char *const words[] = { [HAND_CHANGES] = "from", [HAND_NEW] = "new",     [HAND_SHARED] = "shared with",
                                             [HAND_OURS] = "truce's", [HAND_STAYS] = "stays with", [HAND_GOES] = "goes" };

        return words[kind];
}

static void add_paths(const struct view *v) {
        heading(v, "every path");
        for (size_t i = 0; i < v->report->count; i++) {
                const struct adopt_object *o = v->report->objects[i];

                for (size_t k = 0; k < o->path_count; k++) {
                        const struct adopt_path *p = &o->paths[k];

                        add_where(v, o, p->spelled);
                        buf_addf(v->out, "%s ", hand_words(p->kind));
                        text_add(v->out, p->owner);
                        if (p->why.n) {
                                buf_addc(v->out, "   ");
                                text_add(v->out, p->why);
                        }
                        buf_addc(v->out, p->atomic ? "   (atomic)\n" : "\n");
                }
        }
}

static void add_rest(const struct view *v) {
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
                         bookkeeping, plural(bookkeeping, "object", "objects"));
        if (rest)
                buf_addf(v->out, "%zu %s that Git does not have %s with who has %s%s\n", rest, plural(rest, "path", "paths"),
                         plural(rest, "stays", "stay"), plural(rest, "it", "them"), v->style->all ? "" : " (--all)");
}

/* --- objects that are not taken on -------------------------------------------------------------------------------- */

static bool is_stuck(const struct adopt_object *o) {
        return o->fate == ADOPT_REFUSED || o->fate == ADOPT_FAILED;
}

static void add_stuck(const struct view *v) {
        for (size_t i = 0; i < v->report->count; i++) {
                const struct adopt_object *o = v->report->objects[i];
                size_t from;

                if (!is_stuck(o))
                        continue;
                loud(v, true);
                buf_addc(v->out, "  ");
                from = v->out->n;
                add_title(o, v->out);
                text_pad(v->out, from, v->title_columns);
                buf_addf(v->out, "  %s: ", adopt_fate_word(o->fate));
                text_add(v->out, o->reason);
                loud(v, false);
                buf_addc(v->out, "   ");
                text_add(v->out, o->file);
                if (o->line)
                        buf_addf(v->out, ":%u", o->line);
                buf_addch(v->out, '\n');
        }
}

static void add_held(const struct view *v) {
        for (size_t i = 0; i < v->report->tracker_count; i++) {
                const struct adopt_tracker *t = v->report->trackers[i];

                if (!t->holds)
                        continue;
                loud(v, true);
                buf_addc(v->out, "  ");
                text_add(v->out, t->words);
                buf_addf(v->out, " holds %zu %s", t->objects, plural(t->objects, "object", "objects"));
                loud(v, false);
                buf_addc(v->out, ": not written before it lets go, by the steps below\n");
        }
}

static void add_decisions(const struct view *v) {
        if (!adopt_decisions(v->report))
                return;
        heading(v, "needs a decision");
        add_held(v);
        add_stuck(v);
        for (size_t i = 0; i < ARRAY_LEN(decisions); i++)
                add_matters(v, &decisions[i]);
}

/* --- trackers --------------------------------------------------------------------------------------------------- */

static void add_extras(const struct view *v, const struct adopt_tracker *t) {
        if (!t->extra_count)
                return;
        buf_addf(v->out, "  has %zu %s that Git does not: ", t->extra_count, plural(t->extra_count, "object", "objects"));
        for (size_t i = 0; i < t->extra_count && (v->style->all || i < NAMES_SHOWN); i++) {
                buf_addc(v->out, i ? ", " : "");
                diff_title(t->extras[i].group, t->extras[i].kind, t->extras[i].name, false, v->out);
        }
        if (!v->style->all && t->extra_count > NAMES_SHOWN)
                buf_addf(v->out, " and %zu more (--all)", t->extra_count - NAMES_SHOWN);
        buf_addc(v->out, "\n  truce leaves them alone, and never prunes them\n");
}

static void add_tracker(const struct view *v, const struct adopt_tracker *t) {
        _cleanup_(buf_done) struct buf title = buf_make(4096);

        text_add(&title, t->words);
        buf_addf(&title, " · %zu %s of Git's", t->objects, plural(t->objects, "object", "objects"));
        if (t->note.n) {
                buf_addc(&title, " · ");
                text_add(&title, t->note);
        }
        heading(v, title.p);
        add_extras(v, t);
        for (size_t i = 0; i < t->step_count; i++) {
                buf_addf(v->out, "  %zu  ", i + 1);
                text_add(v->out, t->steps[i].text);
                buf_addch(v->out, '\n');
                if (!t->steps[i].command.n)
                        continue;
                buf_addc(v->out, "       ");
                text_add(v->out, t->steps[i].command);
                buf_addch(v->out, '\n');
        }
}

/* --- the end ---------------------------------------------------------------------------------------------------- */

static void add_total(const struct view *v, size_t count, const char *one, const char *many, const char *what) {
        if (count)
                buf_addf(v->out, " · %zu%s%s %s", count, one[0] ? " " : "", plural(count, one, many), what);
}

static void add_end(const struct view *v, int exit_code) {
        const struct adopt_report *r = v->report;
        size_t fates[ADOPT_SKIPPED + 1] = { 0 }, hands = 0;

        for (size_t i = 0; i < r->count; i++) {
                fates[r->objects[i]->fate]++;
                hands += paths_of(r->objects[i], HAND_CHANGES);
        }
        buf_addf(v->out, "\n%zu %s", r->count, plural(r->count, "object", "objects"));
        add_total(v, fates[ADOPT_TAKEN], "", "", "taken on");
        add_total(v, fates[ADOPT_OURS], "", "", "truce's already");
        add_total(v, fates[ADOPT_CREATED], "", "", "created");
        add_total(v, fates[ADOPT_HELD] + fates[ADOPT_REFUSED], "", "", "refused");
        add_total(v, fates[ADOPT_FAILED], "", "", "not applied");
        add_total(v, fates[ADOPT_PARKED] + fates[ADOPT_SKIPPED], "", "", "left out");
        add_total(v, hands, "path", "paths", "would change hands");
        add_total(v, count_all(v, ADOPT_VALUE), "value", "values", "would change");
        add_total(v, adopt_decisions(r), "thing", "things", "to decide");
        buf_addf(v->out, " · nothing was written · exit %d\n", exit_code);
}

void adopt_view(const struct adopt_report *r, const struct adopt_style *style, int exit_code, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct view v = { .report = r, .style = style, .out = out, .arena = a };

        measure(&v);
        for (size_t i = 0; i < agent_app_count(r->agent); i++)
                add_app(&v, i);
        for (size_t i = 0; i < ARRAY_LEN(sections); i++)
                add_section(&v, &sections[i]);
        if (style->all)
                add_paths(&v);
        add_rest(&v);
        add_decisions(&v);
        for (size_t i = 0; i < r->tracker_count; i++)
                add_tracker(&v, r->trackers[i]);
        if (r->unread.n) {
                buf_addc(out, "\ncould not be listed, so what trackers have of it beside Git is not known: ");
                text_add(out, r->unread);
                buf_addch(out, '\n');
        }
        add_end(&v, exit_code);
}
