/* SPDX-License-Identifier: Apache-2.0 */
/* `truce adopt` for people: a table of the objects, then what there is to say, worst last, where the eye ends. */
#include "cli/adopt_view_impl.h"
#include "cli/grid.h"
#include "cli/words.h"

#include "diff/text.h"
#include "diff/title.h"

#define CELL_COLUMNS 46
#define NAMES_SHOWN 6

const char *view_plural(size_t count, const char *one, const char *many) {
        return count == 1 ? one : many;
}

void view_loud(const struct view *v, bool on) {
        if (v->style->color)
                buf_addc(v->out, on ? "\033[33m" : "\033[0m");
}

void view_heading(const struct view *v, const char *text) {
        buf_addf(v->out, "\n%s%s%s\n", v->style->color ? "\033[1m" : "", text, v->style->color ? "\033[0m" : "");
}

/* "deploy/web", and where it is when that is not where the application's objects are. */
void view_add_title(const struct adopt_object *o, struct buf *out) {
        diff_title(o->group, o->kind, o->name, false, out);
        if (o->ns.n && !str_eq(o->ns, app_config(o->app)->destination_namespace)) {
                buf_addc(out, " -n ");
                text_add(out, o->ns);
        }
}

static struct str title_of(const struct view *v, const struct adopt_object *o) {
        _cleanup_(buf_done) struct buf b = buf_make(4096);

        view_add_title(o, &b);
        return arena_str(v->arena, buf_str(&b));
}

static void widen(size_t *columns, size_t to) {
        *columns = to > *columns ? to : *columns;
}

void view_measure(struct view *v, const struct adopt_object *o, bool all) {
        if (all ? o->path_count : o->matter_count || o->reason.n)
                widen(&v->title_columns, text_columns(title_of(v, o)));
        for (size_t k = 0; all && k < o->path_count; k++)
                widen(&v->path_columns, text_columns(o->paths[k].spelled));
        for (size_t k = 0; !all && k < o->matter_count; k++)
                if (!o->matters[k].bookkeeping)
                        widen(&v->path_columns, text_columns(o->matters[k].path));
}

/* --- the table -------------------------------------------------------------------------------------------------- */

static size_t paths_of(const struct adopt_object *o, enum hand_kind kind) {
        size_t sum = 0;

        for (size_t i = 0; i < o->share_count; i++)
                if (o->shares[i].kind == kind)
                        sum += o->shares[i].paths;
        return sum;
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
        size_t asks = view_count_of(o, ADOPT_DECIDE) + view_count_of(o, ADOPT_GOES);

        if (asks && (o->fate == ADOPT_TAKEN || o->fate == ADOPT_HELD || o->fate == ADOPT_OURS))
                return arena_strf(v->arena, "%s, asks for %zu %s", adopt_fate_word(o->fate), asks,
                                  view_plural(asks, "decision", "decisions"));
        return str_from(adopt_fate_word(o->fate));
}

static void add_table(const struct view *v, const struct app *app) {
        const struct str titles[] = { STR("object"), STR("today"), STR("paths that change hands"),
                                             STR("shared then"), STR("values"), STR("next sync") };
        const struct adopt_report *r = v->report;
        struct grid table = grid_make(v->arena, ARRAY_LEN(titles));

        grid_add(&table, titles, false);
        for (size_t i = 0; i < r->count; i++) {
                const struct adopt_object *o = r->objects[i];
                const struct str cells[ARRAY_LEN(titles)] = {
                        title_of(v, o), today_cell(v, o), shares_cell(v, o, HAND_CHANGES), shares_cell(v, o, HAND_SHARED),
                        number_cell(v, view_count_of(o, ADOPT_VALUE)), sync_cell(v, o),
                };

                if (o->app == app)
                        grid_add(&table, cells, adopt_object_asks(o));
        }
        grid_print(&table, "", v->style->color, v->out);
}

static void add_app(const struct view *v, size_t at) {
        const struct app *app = agent_app(v->report->agent, at);
        struct agent_revision rev;
        size_t count = 0;

        agent_app_revision(v->report->agent, at, &rev);
        for (size_t i = 0; i < v->report->count; i++)
                count += v->report->objects[i]->app == app;
        if (!rev.count)
                return;
        if (v->out->n)
                buf_addch(v->out, '\n');
        text_add(v->out, app_config(app)->name);
        buf_addc(v->out, "  ");
        words_revision_line(app, &rev, v->out);
        buf_addf(v->out, "   %zu %s in Git\n", count, view_plural(count, "object", "objects"));
        if (count)
                add_table(v, app);
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
                view_loud(v, true);
                buf_addc(v->out, "  ");
                from = v->out->n;
                view_add_title(o, v->out);
                text_pad(v->out, from, v->title_columns);
                buf_addf(v->out, "  %s: ", adopt_fate_word(o->fate));
                text_add(v->out, o->reason);
                view_loud(v, false);
                buf_addc(v->out, "   ");
                text_add(v->out, o->file);
                words_add_line(o->line, v->out);
                buf_addch(v->out, '\n');
        }
}

static void add_held(const struct view *v) {
        for (size_t i = 0; i < v->report->tracker_count; i++) {
                const struct adopt_tracker *t = v->report->trackers[i];

                if (!t->holds)
                        continue;
                view_loud(v, true);
                buf_addc(v->out, "  ");
                text_add(v->out, t->words);
                buf_addf(v->out, " holds %zu %s", t->objects, view_plural(t->objects, "object", "objects"));
                view_loud(v, false);
                buf_addc(v->out, ": not written before it lets go, by the steps below\n");
        }
}

static void add_decisions(const struct view *v) {
        if (!adopt_decisions(v->report))
                return;
        view_heading(v, "needs a decision");
        add_held(v);
        add_stuck(v);
        view_decisions(v);
}

/* --- trackers --------------------------------------------------------------------------------------------------- */

static void add_extras(const struct view *v, const struct adopt_tracker *t) {
        if (!t->extra_count)
                return;
        buf_addf(v->out, "  has %zu %s that Git does not: ", t->extra_count, view_plural(t->extra_count, "object", "objects"));
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
        buf_addf(&title, " · %zu %s of Git's", t->objects, view_plural(t->objects, "object", "objects"));
        if (t->note.n) {
                buf_addc(&title, " · ");
                text_add(&title, t->note);
        }
        view_heading(v, title.p);
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
                buf_addf(v->out, " · %zu%s%s %s", count, one[0] ? " " : "", view_plural(count, one, many), what);
}

static void add_end(const struct view *v, int exit_code) {
        const struct adopt_report *r = v->report;
        size_t fates[ADOPT_SKIPPED + 1] = { 0 }, hands = 0;

        for (size_t i = 0; i < r->count; i++) {
                fates[r->objects[i]->fate]++;
                hands += paths_of(r->objects[i], HAND_CHANGES);
        }
        buf_addf(v->out, "\n%zu %s", r->count, view_plural(r->count, "object", "objects"));
        add_total(v, fates[ADOPT_TAKEN], "", "", "taken on");
        add_total(v, fates[ADOPT_OURS], "", "", "truce's already");
        add_total(v, fates[ADOPT_CREATED], "", "", "created");
        add_total(v, fates[ADOPT_HELD] + fates[ADOPT_REFUSED], "", "", "refused");
        add_total(v, fates[ADOPT_FAILED], "", "", "not applied");
        add_total(v, fates[ADOPT_PARKED] + fates[ADOPT_SKIPPED], "", "", "left out");
        add_total(v, hands, "path", "paths", "would change hands");
        add_total(v, view_count_all(v, ADOPT_VALUE), "value", "values", "would change");
        add_total(v, adopt_decisions(r), "thing", "things", "to decide");
        buf_addf(v->out, " · nothing was written · exit %d\n", exit_code);
}

void adopt_view(const struct adopt_report *r, const struct adopt_style *style, int exit_code, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct view v = { .report = r, .style = style, .out = out, .arena = a };

        for (size_t i = 0; i < r->count; i++)
                view_measure(&v, r->objects[i], false);
        for (size_t i = 0; i < agent_app_count(r->agent); i++)
                add_app(&v, i);
        view_sections(&v);
        if (style->all)
                view_paths(&v);
        view_rest(&v);
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
