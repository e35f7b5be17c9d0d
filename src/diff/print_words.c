/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences about owners, admission and notes. */
#include "diff/print_impl.h"
#include "diff/text.h"
#include "base/when.h"

#define SHORT_COLUMNS 40

void print_foreign_value(const struct voice *voice, const struct value *v, struct buf *out) {
        _cleanup_(buf_done) struct buf b = buf_make(SIZE_MAX);

        print_value_short(v, SHORT_COLUMNS, &b);
        voice->foreign(out, buf_str(&b));
}

void print_foreign_path(const struct voice *voice, struct field_path p, struct buf *out) {
        _cleanup_(buf_done) struct buf b = buf_make(SIZE_MAX);

        diff_path_print(p, &b);
        voice->foreign(out, buf_str(&b));
}

static void add_time(const struct voice *voice, struct str time, struct buf *out) {
        int64_t then_ms;

        if (voice->style->now_ms == 0 || !when_parse(time, &then_ms)) {
                if (time.n) {
                        buf_addc(out, " at ");
                        voice->foreign(out, time);
                }
                return;
        }
        buf_addch(out, ' ');
        when_print_age(then_ms, voice->style->now_ms, out);
        if (voice->style->now_ms - then_ms >= 1000)
                buf_addc(out, " ago");
}

void diff_owner_print(struct str owner, struct str subresource, struct buf *out) {
        static const struct str autoscaler = { "HorizontalPodAutoscaler ", 24 };

        if (str_starts(owner, autoscaler)) {
                buf_addc(out, "HPA ");
                owner = str_sub(owner, autoscaler.n, owner.n);
        }
        buf_add(out, owner);
        if (subresource.n) {
                buf_addc(out, " (");
                buf_add(out, subresource);
                buf_addch(out, ')');
        }
}

static void add_manager(const struct voice *voice, struct str manager, struct str subresource, struct buf *out) {
        _cleanup_(buf_done) struct buf b = buf_make(SIZE_MAX);

        diff_owner_print(manager, subresource, &b);
        voice->foreign(out, buf_str(&b));
}

static bool is_set_by_other(const struct diff_entry *e) {
        return e->owner.manager.n && e->owner.class != POLICY_OURS;
}

const char *diff_take_word(enum policy_class owner, bool passive) {
        if (owner == POLICY_PERSON)
                return passive ? "taken back" : "takes back";
        return passive ? "taken" : "takes";
}

static const char *fate_of(const struct diff_entry *e) {
        if (e->class == DIFF_FOREIGN)
                return NULL;
        if (e->kind == DIFF_REMOVED)
                return "removed";
        if (!is_set_by_other(e))
                return NULL;
        return diff_take_word(e->owner.class, true);
}

/* Did the server make something else of Git's value: another spelling, an admission plug-in's rewriting? */
static bool is_rewritten(const struct diff_entry *e) {
        return e->git && e->after && e->kind == DIFF_CHANGED && e->class == DIFF_OURS &&
               !value_equal(e->git, e->after) && value_count(e->after) == 0 && value_count(e->git) == 0;
}

void print_remark(const struct voice *voice, const struct diff_entry *e, struct buf *out) {
        const char *fate = fate_of(e);
        size_t from = out->n;

        if (is_set_by_other(e)) {
                buf_addc(out, "set by ");
                add_manager(voice, e->owner.manager, e->owner.subresource, out);
                add_time(voice, e->owner.time, out);
        } else if (fate) {
                buf_addc(out, "no longer in Git");
        }
        if (fate)
                buf_addf(out, " → %s%s", voice->style->done ? "" : "will be ", fate);
        if (e->class == DIFF_FOREIGN)
                buf_addf(out, "%snot ours, changes along", is_set_by_other(e) ? ", " : "");
        if (is_rewritten(e)) {
                buf_addc(out, out->n > from ? "; Git says " : "Git says ");
                print_foreign_value(voice, e->git, out);
        }
}

void print_admission(const struct voice *voice, const struct diff_entry *e, struct buf *out) {
        bool in_metadata = e->path.count && str_eqc(e->path.elements[0].name, "metadata");

        /* Nothing in metadata has a default. */
        buf_addf(out, "%s by %s: ", diff_kind_name(e->kind), in_metadata ? "admission" : "default or admission");
        print_foreign_path(voice, e->path, out);
        if (e->kind == DIFF_CHANGED || e->kind == DIFF_ADDED) {
                buf_addc(out, " = ");
                print_foreign_value(voice, e->after, out);
        }
        if (e->kind == DIFF_CHANGED) {
                buf_addc(out, ", was ");
                print_foreign_value(voice, e->before, out);
        }
        buf_addc(out, "   not drift");
}

struct note_words {
        const char *label;
        const char *by;   /* in front of the owner */
        const char *git;  /* behind Git's value, when there is one */
        const char *verb; /* what truce does */
};

static const struct note_words note_words[] = {
        [DECIDE_YIELDED] = { "not ours", "", "is left out", "yields" },
        [DECIDE_REPORTED] = { "not ours", "kept by ", "is not applied", "reports" },
        [DECIDE_TAKEN] = { "taken, same value", "from ", "stays", "takes" },
        [DECIDE_LEAVING] = { "let go, same value", "kept by ", "stays", "lets go" },
        [DECIDE_STAYS] = { "no longer in Git, stays", "kept by ", "stays", "leaves" },
        [DECIDE_HANDOVER_DUE] = { "not compared", "to be handed to ", "is left out", "hands over" },
        [DECIDE_HELD] = { "held", "by ", "comes back later", "holds" },
        [DECIDE_EXTRA] = { "not in Git", "added by ", "", "reports" },
        [DECIDE_PAUSED] = { "fought over", "now by ", "is not applied", "pauses" },
        [DECIDE_OVERRIDDEN] = { "overridden", "by ", "comes back later", "keeps" },
        [DECIDE_IGNORED] = { "ignored", "set by ", "is not compared", "ignores" },
        [DECIDE_REMOVED] = { "not in Git, goes", "added by ", "", "removes" },
        [DECIDE_TWO_SCALERS] = { 0 },
        [DECIDE_OUT_OF_RANGE] = { 0 },
        [DECIDE_ZERO] = { 0 }, /* remarks are sentences */
};

const char *diff_note_verb(enum decide_note_kind kind) {
        return (size_t)kind < ARRAY_LEN(note_words) && note_words[kind].verb ? note_words[kind].verb : "leaves";
}

/* A scaler's Git value has one use. */
static bool is_seed(const struct diff_note *n) {
        return n->kind == DECIDE_YIELDED && strstr(n->rule, "scaler");
}

/* "look: spec.replicas, line 7: Git's 9 is outside of …". */
static void print_note_of_remark(const struct voice *voice, const struct diff_note *n, struct buf *out) {
        buf_addc(out, "look: ");
        print_foreign_path(voice, n->path, out);
        if (n->line)
                buf_addf(out, ", line %u", n->line);
        buf_addc(out, ": ");
        text_add(out, str_from(n->rule));
}

void print_note(const struct voice *voice, const struct diff_note *n, struct buf *out) {
        const struct note_words *words = &note_words[n->kind];

        if (decide_note_is_remark(n->kind)) {
                print_note_of_remark(voice, n, out);
                return;
        }
        buf_addf(out, "%s: ", words->label);
        print_foreign_path(voice, n->path, out);
        if (n->live) {
                buf_addc(out, " = ");
                print_foreign_value(voice, n->live, out);
        }
        if (n->owner.n) {
                buf_addf(out, "   %s", words->by);
                add_manager(voice, n->owner, n->subresource, out);
        }
        buf_addc(out, "   (");
        if (n->git) {
                buf_addc(out, "Git's ");
                print_foreign_value(voice, n->git, out);
                buf_addf(out, " %s", is_seed(n) ? "is the seed" : words->git);
        }
        if (!n->git || !is_seed(n)) {
                buf_addc(out, n->git ? "; " : "");
                text_add(out, str_from(n->rule));
        }
        buf_addch(out, ')');
}

static void add_total(struct buf *out, size_t count, const char *what) {
        if (count == 0)
                return;
        buf_addf(out, "%zu %s · ", count, what);
}

void print_totals(const struct diff_totals *t, struct buf *out) {
        add_total(out, t->differ, t->differ == 1 ? "object differs" : "objects differ");
        add_total(out, t->created, "to create");
        add_total(out, t->parked, "parked");
        add_total(out, t->pruned, "to prune");
        add_total(out, t->failed, "failed");
        buf_addf(out, "%zu same", t->same);
        if (t->exit_code >= 0)
                buf_addf(out, " · exit %d", t->exit_code);
}
