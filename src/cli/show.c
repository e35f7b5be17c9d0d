/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/show.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/blocks.h"
#include "cli/cli.h"
#include "cli/remarks.h"
#include "cli/words.h"
#include "diff/mask.h"
#include "diff/print.h"
#include "diff/text.h"
#include "diff/title.h"
#include "kube/gvk.h"

#define BLOCK_MAX_BYTES (8 * 1024 * 1024)
#define TITLE_COLUMNS 34
#define WORD_COLUMNS 12
#define SHORT_OID 7
#define TICK_MS 1000
#define SICK_AGAIN_MS 10000 /* between two lines of a log */

struct failure {
        char *id, *text;
        char *app, *file;
        uint32_t line;
        bool permanent; /* nothing helps but a new commit: worst first */
};

struct show {
        enum show_format format;
        enum show_verb verb;
        struct loop *loop;
        bool color, progress, progress_shown;
        struct diff_printer printer;
        struct diff_totals totals;
        struct buf out;
        struct failure *failures;
        size_t failure_count, failure_cap;
        size_t changed;
        struct map *counted; /* id → the total that the object counts in; NULL: none */
        struct remarks *remarks; /* JSON: what is no difference */
        struct blocks *blocks;   /* SHOW_DIFF: the heads of applications, and objects */
        struct blocks *left;     /* Markdown: what keeps the plan from being carried out, a list */
        bool timed_out, retries, told_namespace;
        struct map *failed_once, *told; /* ids of objects that failed before; whose failure was told then */
        char *waiting;  /* told last and not over; NULL: nothing is waited for */
        struct app *sick;           /* whose health is waited for; NULL: none's was */
        int64_t sick_since_ms, sick_told_ms;
        struct loop_timer *tick;    /* draws the line anew */
};

static void draw_sick(void *ctx);

/* --- life ------------------------------------------------------------------------------------------------------- */

struct show *show_new(enum show_format format, enum show_verb verb, struct loop *l) {
        struct show *s = mem_zalloc(sizeof *s);

        s->format = format;
        s->verb = verb;
        s->loop = l;
        s->color = format == SHOW_TEXT && words_in_color(STDOUT_FILENO);
        s->progress = format == SHOW_TEXT && words_on_terminal(STDERR_FILENO);
        s->out = buf_make(BLOCK_MAX_BYTES);
        s->blocks = blocks_new();
        s->left = blocks_new();
        s->counted = map_new(NULL);
        s->failed_once = map_new(NULL);
        s->told = map_new(NULL);
        s->remarks = remarks_new();
        s->tick = loop_timer_new(l, draw_sick, s);
        s->totals.exit_code = -1;
        s->printer = (struct diff_printer){
                .format = format == SHOW_JSON ? DIFF_JSON : format == SHOW_MARKDOWN ? DIFF_MARKDOWN : DIFF_TEXT,
                .style = { .color = s->color, .done = verb == SHOW_SYNC, .now_ms = loop_wall_ms(l) },
        };
        if (verb != SHOW_DIFF && format == SHOW_JSON)
                diff_print_begin(&s->printer, &s->out);
        return s;
}

static void drop_failure(struct show *s, size_t i) {
        free(s->failures[i].id);
        free(s->failures[i].text);
        free(s->failures[i].app);
        free(s->failures[i].file);
        s->failures[i] = s->failures[--s->failure_count];
}

/* What is told at the end is how each object stands then. */
static void forget_failure(struct show *s, const char *id) {
        for (size_t i = 0; i < s->failure_count; i++) {
                if (strcmp(s->failures[i].id, id) == 0) {
                        drop_failure(s, i);
                        return;
                }
        }
}

void show_free(struct show *s) {
        if (!s)
                return;
        while (s->failure_count)
                drop_failure(s, s->failure_count - 1);
        free(s->failures);
        loop_timer_free(s->tick);
        free(s->waiting);
        map_free(s->counted);
        map_free(s->failed_once);
        map_free(s->told);
        remarks_free(s->remarks);
        blocks_free(s->blocks);
        blocks_free(s->left);
        buf_done(&s->out);
        free(s);
}

void show_retries(struct show *s) {
        s->retries = true;
}

size_t show_failures(const struct show *s) {
        return s->failure_count;
}

size_t show_differences(const struct show *s) {
        return s->totals.differ + s->totals.created + s->totals.parked + s->totals.pruned;
}

static void clear_progress(struct show *s) {
        if (!s->progress_shown)
                return;
        fputs("\r\033[K", stderr);
        s->progress_shown = false;
}

static void print_out(struct show *s) {
        fwrite(s->out.p, 1, s->out.n, stdout);
        buf_clear(&s->out);
}

static void flush(struct show *s) {
        if (s->format == SHOW_JSON || !s->out.n)
                return;
        clear_progress(s);
        print_out(s);
        fflush(stdout);
}

/* Objects of a diff come as the API server answers for them: what was printed is kept, to be put in order at the end. */
static void keep(struct show *s, const struct app *app, struct block_key key) {
        if (s->verb != SHOW_DIFF)
                return;
        key.app = app_config(app)->instance;
        blocks_set(s->blocks, &(struct block){ .key = key, .text = buf_str(&s->out), .elements = s->printer.elements });
        buf_clear(&s->out);
        s->printer.elements = 0;
}

static const char *plural(size_t count, const char *one, const char *many) {
        return count == 1 ? one : many;
}

/* A line about an application on stderr. */
static void say(const struct app *app, const char *what) {
        _cleanup_(buf_done) struct buf safe = buf_make(64 * 1024);

        text_add(&safe, app_config(app)->name);
        buf_addc(&safe, ": ");
        text_add(&safe, str_from(what));
        fprintf(stderr, "truce: %s\n", safe.p);
}

static void say_nothing(const struct app *app) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        say(app, words_nothing(app_config(app), a).p);
}

/* A plan that cannot be carried out as a whole says so itself: nobody sees stderr beside a pull request. */
static void add_left(struct show *s, struct block_key key, struct str text) {
        _cleanup_(buf_done) struct buf line = buf_make(64 * 1024), item = buf_make(128 * 1024);

        if (s->format != SHOW_MARKDOWN)
                return;
        for (size_t i = 0; i < text.n; i++)
                buf_addch(&line, text.p[i] == '\n' ? ' ' : text.p[i]);
        buf_addc(&item, "- ");
        diff_print_code(buf_str(&line), &item);
        buf_addch(&item, '\n');
        key.id = text;
        blocks_set(s->left, &(struct block){ .key = key, .text = buf_str(&item) });
}

static void add_left_of(struct show *s, const struct app *app, struct str text) {
        add_left(s, (struct block_key){ .app = app_config(app)->instance }, text);
}

/* --- one object ------------------------------------------------------------------------------------------------- */

static void add_title(struct buf *out, const char *id) {
        struct object_key key;

        if (object_key_from_id(str_from(id), &key))
                diff_title(key.group, key.kind, key.name, false, out);
        else
                text_add(out, str_from(id));
}

static void add_line(struct show *s, const char *word, const char *id, struct str rest) {
        size_t from;

        buf_addf(&s->out, "  %-*s", WORD_COLUMNS, word);
        from = s->out.n;
        add_title(&s->out, id);
        if (rest.n) {
                text_pad(&s->out, from, TITLE_COLUMNS);
                buf_addch(&s->out, ' ');
                buf_add(&s->out, rest);
        }
        buf_addch(&s->out, '\n');
}

static size_t *total_of(struct diff_totals *t, enum outcome_kind kind) {
        switch (kind) {
        case OUTCOME_UNCHANGED:
        case OUTCOME_SKIPPED:
                return &t->same;
        case OUTCOME_DIFFERS:
                return &t->differ;
        case OUTCOME_MISSING:
                return &t->created;
        case OUTCOME_PARKED:
                return &t->parked;
        case OUTCOME_EXTRA:
                return &t->pruned;
        default:
                return NULL;
        }
}

/* An object may be looked at twice, as events come in while a command runs: it counts as what it was last. */
static void count(struct show *s, const struct outcome *o) {
        size_t *old = map_find(s->counted, str_from(o->id)), *now = total_of(&s->totals, o->kind);

        s->changed += o->kind == OUTCOME_CREATED || o->kind == OUTCOME_CONFIGURED || o->kind == OUTCOME_PRUNED;
        if (old)
                --*old;
        if (now)
                ++*now;
        if (now)
                map_set(s->counted, str_from(o->id), now);
        else
                map_remove(s->counted, str_from(o->id));
}

/* The server's own words may echo values of a Secret: what stands in the object is masked in them. */
static void error_of(const struct outcome *o, struct buf *out) {
        const struct value *objects[] = { o->desired, o->before };

        if (o->secret || o->mask)
                mask_scrub(objects, ARRAY_LEN(objects), o->secret, o->mask, str_from(o->err->msg), out);
        else
                buf_addc(out, o->err->msg);
}

/* Nobody should wait for minutes without a word of what for; what fails only once is none. */
static void tell_failure(struct show *s, const struct outcome *o, const char *text) {
        if (!s->retries || s->format != SHOW_TEXT || o->retry_in_ms < 0 || map_find(s->told, str_from(o->id)))
                return;
        if (!map_find(s->failed_once, str_from(o->id))) {
                map_set(s->failed_once, str_from(o->id), s);
                return;
        }
        map_set(s->told, str_from(o->id), s);
        clear_progress(s);
        fprintf(stderr, "truce: %s · tried again\n", text);
}

/* The same for all its objects, so it is said once what helps. */
static void tell_namespace(struct show *s, const struct app *app, const struct outcome *o) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str ns = app_config(app)->destination_namespace;

        if (s->told_namespace || !ns.n || app_config(app)->create_namespace ||
            !strstr(o->err->msg, arena_strf(a, "namespaces \"%.*s\" not found", STR_FMT(ns)).p))
                return;
        s->told_namespace = true;
        say(app, arena_strf(a, "namespace %.*s does not exist: --create-namespace, or the sync option "
                               "CreateNamespace=true, makes it%s", STR_FMT(ns),
                            s->retries ? "; until --timeout it is waited for" : "").p);
}

static void note_failure(struct show *s, const struct app *app, const struct outcome *o) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024), safe = buf_make(64 * 1024);

        error_of(o, &safe);
        buf_addf(&out, "%s: ", o->kind == OUTCOME_REFUSED ? "refused" : "not applied");
        add_title(&out, o->id);
        buf_addc(&out, ": ");
        text_add(&out, buf_str(&safe));
        if (o->file.n) {
                buf_addc(&out, "\n       ");
                text_add(&out, o->file);
                words_add_line(o->line, &out);
                if (o->retry_in_ms < 0)
                        buf_addc(&out, " · not tried again until Git changes");
        }
        tell_failure(s, o, out.p);
        s->failures = mem_grow(s->failures, &s->failure_cap, s->failure_count + 1, sizeof *s->failures);
        s->failures[s->failure_count++] = (struct failure){
                .id = str_dup(str_from(o->id)), .text = buf_take(&out), .app = str_dup(app_config(app)->instance),
                .file = str_dup(o->file), .line = o->line, .permanent = o->retry_in_ms < 0,
        };
}

/* Notes of what a sync leaves alone; NULL: no line of its own. */
static const char *note_word(enum decide_note_kind kind) {
        static const char *const words[] = {
                [DECIDE_YIELDED] = "yielded", [DECIDE_REPORTED] = "reported", [DECIDE_HELD] = "held",
                [DECIDE_EXTRA] = "extra",     [DECIDE_PAUSED] = "fought over",
                [DECIDE_OVERRIDDEN] = "overridden",
                [DECIDE_REMOVED] = "removed",
        };

        return (size_t)kind < ARRAY_LEN(words) ? words[kind] : NULL;
}

static void show_remark(struct show *s, const struct outcome *o, const struct decide_note *n) {
        _cleanup_(buf_done) struct buf rest = buf_make(16 * 1024);

        diff_path_print(n->path, &rest);
        buf_addc(&rest, ": ");
        text_add(&rest, str_from(n->rule));
        if (o->file.n) {
                buf_addc(&rest, "  ");
                text_add(&rest, o->file);
                words_add_line(words_line(o, n->path), &rest);
        }
        add_line(s, "look", o->id, buf_str(&rest));
}

static void show_note(struct show *s, const struct outcome *o, const struct decide_note *n) {
        _cleanup_(buf_done) struct buf rest = buf_make(16 * 1024);

        if (decide_note_is_remark(n->kind) && o->notes_are_new)
                show_remark(s, o, n);
        if (!note_word(n->kind) || !o->notes_are_new || (!words_outcome(o->kind) && n->kind == DECIDE_YIELDED))
                return;
        diff_path_print(n->path, &rest);
        if (n->owner.n)
                buf_addc(&rest, n->kind == DECIDE_EXTRA || n->kind == DECIDE_REMOVED ? ", not in Git, added by " : ", owned by ");
        else
                buf_addc(&rest, ", by rule ");
        text_add(&rest, n->owner.n ? n->owner : str_from(n->rule));
        add_line(s, note_word(n->kind), o->id, buf_str(&rest));
}

/* Why an object is not touched; where it stands in Git when nothing else says so. */
static void reason_of(const struct outcome *o, struct buf *out) {
        text_add(out, str_from(o->reason));
        if (o->kind != OUTCOME_PARKED || !o->file.n)
                return;
        buf_addc(out, "  ");
        text_add(out, o->file);
        words_add_line(o->line, out);
}

static void add_reason(struct show *s, const struct outcome *o) {
        _cleanup_(buf_done) struct buf rest = buf_make(16 * 1024);

        reason_of(o, &rest);
        add_line(s, words_outcome(o->kind), o->id, buf_str(&rest));
}

static void show_sync_outcome(struct show *s, const struct outcome *o) {
        _cleanup_(buf_done) struct buf rest = buf_make(16 * 1024);

        if (o->kind == OUTCOME_CONFIGURED)
                words_change(o, &rest);
        else if (o->reason[0])
                reason_of(o, &rest);
        else if (o->kind == OUTCOME_PRUNED && o->file.n)
                buf_addf(&rest, "(left Git; was in %.*s)", STR_FMT(o->file));
        if (words_outcome(o->kind) && !o->err)
                add_line(s, words_outcome(o->kind), o->id, buf_str(&rest));

        for (size_t i = 0; i < o->note_count; i++)
                show_note(s, o, &o->notes[i]);
}

/* Are the fields of the object what is to be shown? */
static bool has_differences(const struct outcome *o) {
        return o->kind == OUTCOME_DIFFERS || o->kind == OUTCOME_MISSING || o->kind == OUTCOME_CONFIGURED ||
               o->kind == OUTCOME_CREATED;
}

static void add_plan_block(struct show *s, const struct outcome *o) {
        _cleanup_(buf_done) struct buf title = buf_make(16 * 1024);
        struct object_key key;

        add_title(&title, o->id);
        buf_addc(&s->out, "### ");
        diff_print_code(buf_str(&title), &s->out);
        if (object_key_from_id(str_from(o->id), &key) && key.namespace.n) {
                buf_addc(&s->out, " in ");
                diff_print_code(key.namespace, &s->out);
        }
        buf_addf(&s->out, "\n\n**%s**: ", words_outcome(o->kind));
        text_add(&s->out, str_from(o->reason));
        if (o->file.n) {
                buf_addc(&s->out, " · ");
                diff_print_code(o->file, &s->out);
        }
        buf_addc(&s->out, "\n\n");
}

static void show_diff_outcome(struct show *s, const struct outcome *o) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct diff d;

        if (o->kind == OUTCOME_EXTRA || o->kind == OUTCOME_KEPT || o->kind == OUTCOME_PARKED) {
                if (s->format == SHOW_TEXT)
                        add_reason(s, o);
                else if (s->format == SHOW_MARKDOWN)
                        add_plan_block(s, o);
                return;
        }
        if ((has_differences(o) || o->note_count) && words_compare(o, a, &d) == 0)
                diff_print_object(&s->printer, &d, &s->out);
}

/* What JSON has no fields to show for. */
static void remark(struct show *s, const struct app *app, const struct outcome *o) {
        _cleanup_(buf_done) struct buf error = buf_make(64 * 1024);
        const char *kind = has_differences(o) ? NULL : words_outcome(o->kind);

        if (o->err)
                error_of(o, &error);
        remarks_object(s->remarks, app, o, kind, o->err ? buf_str(&error) : str_from(o->reason));
}

void show_outcome(struct show *s, struct app *app, const struct outcome *o) {
        count(s, o);
        remark(s, app, o);
        forget_failure(s, o->id);
        if (o->err) {
                tell_namespace(s, app, o);
                note_failure(s, app, o);
        }
        if (s->verb == SHOW_SYNC && s->format == SHOW_TEXT)
                show_sync_outcome(s, o);
        else if (s->verb == SHOW_SYNC || !o->err)
                show_diff_outcome(s, o);
        keep(s, app, (struct block_key){ .file = o->file, .line = o->line, .id = str_from(o->id) });
        flush(s);
}

/* --- the application -------------------------------------------------------------------------------------------- */

static void print_problems(struct show *s, const struct app *app, const struct manifest_problem *problems, size_t count,
                           const char *word) {
        for (size_t i = 0; i < count; i++) {
                _cleanup_(buf_done) struct buf line = buf_make(64 * 1024), safe = buf_make(64 * 1024);

                manifest_problem_print(&problems[i], &line);
                text_add(&safe, buf_str(&line));
                if (!word[0])
                        add_left(s, (struct block_key){ app_config(app)->instance, problems[i].file, problems[i].line, { 0 } },
                                 buf_str(&line));
                fprintf(stderr, "truce: %s%s\n", word, safe.p);
        }
}

/* " at `main`" and a line with the commit; of several sources a line with its name, too. */
static void add_plan_commit(struct show *s, const struct config_source *source, const struct agent_commit *commit) {
        if (source->title.n) {
                buf_addc(&s->out, "\n\n");
                diff_print_code(source->title, &s->out);
        }
        buf_addc(&s->out, " at ");
        diff_print_code(words_ref(commit->ref), &s->out);
        buf_addf(&s->out, "%s`%.*s` ", source->title.n ? ": " : "\n\n", SHORT_OID, commit->id);
        diff_print_code(commit->subject, &s->out);
}

static void add_plan_head(struct show *s, const struct app *app, const struct agent_revision *r,
                          const struct desired_set *set) {
        buf_addc(&s->out, "## ");
        diff_print_code(app_config(app)->name, &s->out);
        for (size_t i = 0; i < r->count; i++)
                add_plan_commit(s, &app_config(app)->sources[i], &r->commits[i]);
        buf_addf(&s->out, " · %zu %s in Git\n\n", set->from_git, plural(set->from_git, "object", "objects"));
        keep(s, app, (struct block_key){ 0 });
        flush(s);
}

void show_revision(struct show *s, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                   const struct err *rejected) {
        flush(s);
        clear_progress(s);
        if (set) {
                print_problems(s, app, set->warnings, set->warning_count, "warning: ");
                print_problems(s, app, set->errors, set->error_count, "");
        }
        for (size_t i = 0; set && i < set->error_count; i++)
                remarks_problem(s->remarks, app, &set->errors[i]);
        if (rejected) {
                s->totals.failed++;
                remarks_app(s->remarks, app, "not rendered", str_from(rejected->msg));
                add_left_of(s, app, str_from(rejected->msg));
                say(app, rejected->msg);
                return;
        }
        assert(set); /* it is in force */
        s->totals.failed += set->error_count;
        if (!set->from_git && !set->error_count)
                say_nothing(app);
        if (s->format == SHOW_MARKDOWN)
                add_plan_head(s, app, r, set);
        if (s->format != SHOW_TEXT)
                return;
        text_add(&s->out, app_config(app)->name);
        buf_addf(&s->out, "  ");
        words_revision_line(app, r, &s->out);
        buf_addf(&s->out, "   %zu %s\n", set->from_git, plural(set->from_git, "object", "objects"));
        keep(s, app, (struct block_key){ 0 });
        flush(s);
}

void show_trouble(struct show *s, struct app *app, const struct err *err) {
        flush(s);
        clear_progress(s);
        s->totals.failed++;
        remarks_app(s->remarks, app, "failed", str_from(err->msg));
        add_left_of(s, app, str_from(err->msg));
        say(app, err->msg);
}

void show_setting(struct show *s, struct app *app, const char *place, const char *text) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        flush(s);
        clear_progress(s);
        say(app, arena_strf(a, "%s: %s", place, text).p);
}

/* On a terminal the line is overwritten; elsewhere each new wait is a line, so that a log says why nothing moves. */
void show_waiting(struct show *s, struct app *app, const char *what) {
        bool known = s->waiting && strcmp(s->waiting, what) == 0;

        (void)app;
        if (s->format != SHOW_TEXT || known)
                return;
        free(s->waiting);
        s->waiting = str_dup(str_from(what));
        clear_progress(s);
        if (s->progress)
                fprintf(stderr, "waiting for %.100s", what);
        else
                fprintf(stderr, "truce: waiting for %s\n", what);
        fflush(stderr);
        s->progress_shown = s->progress;
}

/* Seconds pass on a terminal; a log gets a line now and then. */
static void draw_sick(void *ctx) {
        struct show *s = ctx;
        _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);
        int64_t now_ms = loop_now_ms(s->loop);

        words_health_progress(s->sick, now_ms - s->sick_since_ms, &line);
        clear_progress(s);
        fprintf(stderr, "waiting  %s", line.p);
        fflush(stderr);
        s->progress_shown = true;
        loop_timer_start(s->tick, TICK_MS);
}

static void tell_sick(struct show *s, const char *who) {
        int64_t now_ms = loop_now_ms(s->loop);

        if (s->format != SHOW_TEXT || (s->sick_told_ms && now_ms - s->sick_told_ms < SICK_AGAIN_MS))
                return;
        s->sick_told_ms = now_ms;
        fprintf(stderr, "truce: waiting for %s\n", who);
        fflush(stderr);
}

void show_health(struct show *s, struct app *app, int64_t since_ms) {
        _cleanup_(buf_done) struct buf who = buf_make(64 * 1024);

        words_health(app, &who);
        if (!who.n && s->sick && s->sick != app)
                return;
        s->sick = app;
        s->sick_since_ms = since_ms;
        loop_timer_stop(s->tick);
        if (!who.n)
                return;
        free(s->waiting);
        s->waiting = str_dup(buf_str(&who));
        if (s->progress)
                draw_sick(s);
        else
                tell_sick(s, who.p);
}

void show_timed_out(struct show *s, int64_t timeout_ms) {
        s->timed_out = true;
        loop_timer_stop(s->tick);
        clear_progress(s);
        fprintf(stderr, "truce: gave up after %lld s%s%s\n", (long long)(timeout_ms / 1000),
                s->waiting ? ", waiting for " : "", s->waiting ? s->waiting : "");
}

void show_settled(struct show *s, struct app *app, const struct err *prune_err) {
        flush(s);
        clear_progress(s);
        loop_timer_stop(s->tick);
        free(TAKE_PTR(s->waiting));
        if (!prune_err)
                return;
        remarks_app(s->remarks, app, "prune stopped", str_from(prune_err->msg));
        add_left_of(s, app, str_from(prune_err->msg));
        say(app, prune_err->msg);
}

static struct block_key key_of(const struct failure *f) {
        return (struct block_key){ str_from(f->app), str_from(f->file), f->line, str_from(f->id) };
}

/* Refusals that no retry mends come first. */
static int compare_failures(const void *x, const void *y) {
        const struct failure *one = x, *other = y;
        struct block_key key = key_of(one), other_key = key_of(other);

        return one->permanent != other->permanent ? other->permanent - one->permanent : block_key_cmp(&key, &other_key);
}

static void print_failures(const struct show *s) {
        for (size_t i = 0; i < s->failure_count; i++)
                fprintf(stderr, "truce: %s\n", s->failures[i].text);
}

/* In JSON a comma goes between two elements, whichever comes first. */
static void print_blocks(struct show *s) {
        size_t count;
        const struct block *const *blocks = blocks_sorted(s->blocks, &count);

        diff_print_begin(&s->printer, &s->out);
        for (size_t i = 0; i < count; i++) {
                buf_addc(&s->out, s->printer.elements && blocks[i]->elements ? "," : "");
                buf_add(&s->out, blocks[i]->text);
                s->printer.elements += blocks[i]->elements;
                print_out(s);
        }
}

static void add_all_left(struct show *s) {
        size_t count;

        for (size_t i = 0; i < s->failure_count; i++)
                add_left(s, key_of(&s->failures[i]), str_from(s->failures[i].text));
        const struct block *const *left = blocks_sorted(s->left, &count);
        if (count)
                buf_addc(&s->out, "### Not as it stands\n\n");
        for (size_t i = 0; i < count; i++)
                buf_add(&s->out, left[i]->text);
        if (count)
                buf_addch(&s->out, '\n');
}

/* In a line of words. */
static const char *word_of(enum health_code code) {
        static const char *const words[] = {
                [HEALTH_HEALTHY] = "healthy", [HEALTH_SUSPENDED] = "suspended", [HEALTH_PROGRESSING] = "progressing",
                [HEALTH_MISSING] = "missing", [HEALTH_DEGRADED] = "degraded",   [HEALTH_UNKNOWN] = "health unknown",
        };

        return words[code];
}

/* Of all applications the worst; false: not of every one it is known. */
static bool overall_health(struct agent *agent, enum health_code *ret) {
        *ret = HEALTH_HEALTHY;
        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app_health now;

                app_health(agent_app(agent, i), &now);
                if (!now.is_known)
                        return false;
                if (now.code > *ret)
                        *ret = now.code;
        }
        return true;
}

/* What is only under way is told to who has waited for it. */
static void tell_health(struct show *s, struct agent *agent) {
        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app *app = agent_app(agent, i);
                _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);
                struct app_health now;

                app_health(app, &now);
                if (!now.is_known || now.code == HEALTH_HEALTHY || (now.code < HEALTH_MISSING && !s->sick))
                        continue;
                buf_addf(&line, "%s: ", health_name(now.code));
                words_health(app, &line);
                if (s->format == SHOW_JSON)
                        remarks_app(s->remarks, app, "not healthy", buf_str(&line));
                else
                        say(app, line.p);
        }
}

/* Who has waited for health in vain has all the same what Git says. */
static bool is_synced(const struct show *s, struct agent *agent) {
        bool synced = s->sick && !s->failure_count && !s->totals.failed;

        for (size_t i = 0; synced && i < agent_app_count(agent); i++)
                synced = app_sync_status(agent_app(agent, i)) == APP_SYNCED;
        return synced;
}

static void print_sync_end(struct show *s, struct agent *agent, int64_t took_ms, bool all_is_well) {
        size_t writes = 0, requests = 0;
        enum health_code health;
        bool known = overall_health(agent, &health);

        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app_counts c;

                app_counts(agent_app(agent, i), &c);
                writes += c.writes;
                requests += c.requests;
        }
        printf("%s%s%s   %zu changed, %zu %s, %zu %s   %lld.%02lld s\n", all_is_well ? "synced" : "not synced",
               known ? ", " : "", known ? word_of(health) : "", s->changed, writes, plural(writes, "write", "writes"),
               requests, plural(requests, "request", "requests"), (long long)(took_ms / 1000),
               (long long)(took_ms % 1000 / 10));
}

int show_diff_exit(const struct show *s) {
        if (s->timed_out)
                return CLI_TIMED_OUT;
        if (s->totals.failed || s->failure_count)
                return CLI_ERROR;
        return show_differences(s) ? CLI_DIFFERENT : CLI_OK;
}

void show_end(struct show *s, struct agent *agent, int64_t took_ms, int exit_code) {
        loop_timer_stop(s->tick);
        clear_progress(s);
        if (s->failure_count)
                qsort(s->failures, s->failure_count, sizeof *s->failures, compare_failures);
        if (s->verb == SHOW_SYNC)
                tell_health(s, agent);
        else
                print_blocks(s);
        if (s->verb == SHOW_DIFF || s->format == SHOW_JSON) {
                s->totals.failed += s->failure_count;
                s->totals.exit_code = exit_code;
                if (s->format == SHOW_JSON)
                        remarks_print(s->remarks, &s->printer, &s->out);
                add_all_left(s);
                diff_print_end(&s->printer, &s->totals, &s->out);
        }
        clear_progress(s);
        print_out(s);
        print_failures(s);
        if (s->verb == SHOW_SYNC && s->format == SHOW_TEXT)
                print_sync_end(s, agent, took_ms, exit_code == CLI_OK || is_synced(s, agent));
        fflush(stdout);
}
