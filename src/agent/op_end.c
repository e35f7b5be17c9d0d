/* SPDX-License-Identifier: Apache-2.0 */
/* How an op ends: what is told of it, and what the inventory remembers. */
#include "agent/op_impl.h"

#include "base/json.h"

#define NOTES_MAX_BYTES (64 * 1024)

/* Notes are told when they change, not whenever the object is looked at. */
static bool notes_are_new(struct item *item, const struct outcome *o) {
        static const struct hash_key no_key;
        _cleanup_(buf_done) struct buf all = buf_make(NOTES_MAX_BYTES);

        for (size_t i = 0; i < o->note_count; i++) {
                buf_addf(&all, "%d ", (int)o->notes[i].kind);
                field_path_print(o->notes[i].path, &all);
                buf_addf(&all, " %.*s", STR_FMT(o->notes[i].owner));
                if (decide_note_is_remark(o->notes[i].kind))
                        buf_addf(&all, " %s", o->notes[i].rule);
                buf_addch(&all, '\n');
        }

        struct hash128 now = hash128(&no_key, buf_str(&all));
        bool differs = !hash128_eq(now, item->told_notes);
        item->told_notes = now;
        return differs;
}

void op_remember_removed(struct op *op) {
        struct decide_note *grown;

        if (!op->removed_arena)
                op->removed_arena = arena_new(0);
        grown = arena_alloc(op->removed_arena, (op->removed_count + op->decision.note_count) * sizeof *grown);
        if (op->removed_count)
                memcpy(grown, op->removed, op->removed_count * sizeof *grown);
        op->removed = grown;
        for (size_t i = 0; i < op->decision.note_count; i++) {
                struct decide_note n = op->decision.notes[i];

                if (n.kind != DECIDE_REMOVED)
                        continue;
                n.path = field_path_dup(op->removed_arena, n.path);
                n.owner = arena_str(op->removed_arena, n.owner);
                grown[op->removed_count++] = n;
        }
}

static void add_removed(struct op *op, struct outcome *o) {
        struct decide_note *all = arena_alloc(op->arena, (o->note_count + op->removed_count + 1) * sizeof *all);

        if (o->note_count)
                memcpy(all, o->notes, o->note_count * sizeof *all);
        for (size_t i = 0; i < op->removed_count; i++)
                all[o->note_count++] = op->removed[i];
        o->notes = all;
}

void op_finish(struct op *op, enum item_state state, struct outcome outcome, const struct err *err) {
        struct item *item = op->item;

        outcome.id = item->desired->id.p;
        outcome.file = item->desired->file;
        outcome.line = item->desired->line;
        outcome.secret = item->desired->secret;
        outcome.noticed_ms = op->noticed_ms;
        if (state == ITEM_FAILED && !item->noticed_ms)
                item->noticed_ms = op->noticed_ms;
        outcome.desired = op->in.desired;
        outcome.source = item->desired->source;
        outcome.type = op->in.type;
        if (!outcome.reason)
                outcome.reason = "";
        if (!outcome.notes) {
                outcome.notes = op->decision.notes;
                outcome.note_count = op->decision.note_count;
        }
        if (op->removed_count)
                add_removed(op, &outcome);
        if (item->app->env.foretell)
                outcome.adoption = &op->adoption;
        outcome.first_look = item->told_notes.lo == 0 && item->told_notes.hi == 0;
        outcome.notes_are_new = notes_are_new(item, &outcome);
        item_keep_notes(item, &outcome);
        item->op = NULL;
        item_finish(item, state, &outcome, err);
        op_free(op); /* last: the outcome borrows from its arena */
}

void op_fail(struct op *op, const struct err *err) {
        item_note_refused(op->item, err_is_transient(err->code) ? NULL : op->in.live);
        op_finish(op, ITEM_FAILED, (struct outcome){ .kind = OUTCOME_FAILED, .err = err, .before = op->in.live }, err);
}

/* What the object looked like before we wrote, as a value of the round's arena. */
static const struct value *before_value(struct op *op) {
        const struct value *v;

        if (!op->before || json_parse(str_from(op->before), op->arena, &v, NULL) < 0)
                return NULL;
        return v;
}

/* Also one may have begun since it was decided. */
static bool hold_runs(const struct op *op) {
        return op->decision.held_count > 0 || op->item->hold_begins;
}

/*
 * What a commit or the end of a hold asked for has been done. What a commit set is remembered until its deletions are
 * done: it may take away the scaler that has the path now.
 */
static void wishes_are_settled(const struct op *op) {
        struct item *item = op->item;

        if (item->app->acted_on)
                free(TAKE_PTR(item->previous));
        item_drop_holds(item, op->in.unheld, op->in.unheld_count);
}

void op_done(struct op *op) {
        struct outcome o = { 0 };

        wishes_are_settled(op);
        item_respites_are_looked_at(op->item);
        if (op->wrote || op->created) {
                o.kind = op->created ? OUTCOME_CREATED : OUTCOME_CONFIGURED;
                o.before = before_value(op);
                o.after = op->in.live;
                o.after_owners = &op->managed;
        } else {
                o.kind = op->handed_over ? OUTCOME_HANDED_OVER : OUTCOME_UNCHANGED;
                o.before = o.after = op->in.live; /* for what its notes say */
                o.before_owners = o.after_owners = &op->managed;
        }
        op_finish(op, ITEM_SYNCED, o, NULL);
}

void op_tell_difference(struct op *op, const struct value *answer, const struct managed *owners) {
        struct outcome o = {
                .kind = op->in.live ? OUTCOME_DIFFERS : OUTCOME_MISSING,
                .before = op->in.live,
                .before_owners = &op->managed,
                .after = decide_without_removed(&op->decision, answer, op->in.type, op->arena),
                .after_owners = owners,
        };

        op_finish(op, ITEM_OUT_OF_SYNC, o, NULL);
}

/* --- what is remembered of an apply ------------------------------------------------------------------------------ */

static bool same_text(const char *a, struct str b) {
        return a ? str_eqc(b, a) : b.n == 0;
}

/*
 * An apply that was given up may still arrive, and make the object anew when it was deleted meanwhile. An object that is
 * another one than the inventory says was made by an earlier process, which may have given up one, too.
 */
static void expect_another(const struct op *op, struct inventory_entry *e, struct str uid) {
        if (e->uid && !same_text(e->uid, uid))
                app_expect_of_earlier(op->app, e);
}

static unsigned flags_now(const struct op *op, const struct inventory_entry *e) {
        unsigned flags = e->flags & INVENTORY_ADOPTED;

        if (op->item->desired->kept)
                flags |= INVENTORY_KEEP;
        if (op->item->desired->along)
                flags |= INVENTORY_ALONG;
        if (op->decision.has_scaler || hold_runs(op))
                flags |= INVENTORY_SCALED;
        if (e->stray_until_ms > loop_now_ms(op->app->env.loop))
                flags |= INVENTORY_PENDING;
        return flags;
}

void op_note_converged(struct op *op) {
        const struct desired *d = op->item->desired;
        struct inventory_entry *e = inventory_add(op->app->inventory, d->id, d->gvk.version), old = *e;
        struct str uid = value_text(value_path(op->in.live, "metadata", "uid", NULL));
        struct hash128 fingerprint;
        int r = decide_fingerprint(&op->in, &op->decision, op->in.live, &op->managed, op->arena, &fingerprint, NULL);

        expect_another(op, e, uid);
        unsigned flags = flags_now(op, e);

        if (!hold_runs(op))
                item_end_holds(op->item);
        if (r == 0 && old.has_fingerprint && hash128_eq(old.fingerprint, fingerprint) && flags == old.flags &&
            same_text(old.uid, uid) && same_text(old.version, d->gvk.version) && same_text(old.file, d->file))
                return;
        inventory_set_uid(e, uid);
        inventory_set_version(e, d->gvk.version);
        inventory_set_file(e, d->file);
        inventory_set_fingerprint(e, r < 0 ? NULL : &fingerprint);
        e->flags = flags;
        op->app->inventory_dirty = true;
}
