/* SPDX-License-Identifier: Apache-2.0 */
#include "own/decide_impl.h"

#include "base/limits.h"

#define LIST_FIRST 8 /* a power of two */

/*
 * Room for one more behind `count`, which doubles: somebody who takes thousands of fields must not make us copy their
 * notes thousands of times. A desk that is a copy writes into the same room; of the two only one is used afterwards.
 */
static void *grow(struct desk *d, const void *list, size_t count, size_t size) {
        char *grown = (char *)list;

        if (count == 0 || (count >= LIST_FIRST && (count & (count - 1)) == 0)) {
                grown = arena_alloc(d->arena, (count ? 2 * count : LIST_FIRST) * size);
                if (count)
                        memcpy(grown, list, count * size);
        }
        return grown;
}

void desk_note(struct desk *d, struct decide_note note) {
        struct decide_note *grown = grow(d, d->out.notes, d->out.note_count, sizeof *grown);

        grown[d->out.note_count++] = note;
        d->out.notes = grown;
}

void desk_reason(struct desk *d, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf b = buf_make(4096);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&b, fmt, ap);
        va_end(ap);
        d->out.reason = arena_str(d->arena, buf_str(&b));
}

/* An item that Git's list does not have, at about the place that it has in the live one. False: Git has no such list. */
static bool put_item_in(struct desk *d, struct field_path p, const struct value *item) {
        struct field_path list_path = { p.elements, p.count - 1 };
        const struct value *list = field_path_find(d->out.effective, list_path, d->type);
        struct value_list_builder b = { 0 };
        size_t at = 0;

        if (!value_is(list, VALUE_LIST) ||
            !path_item_find(field_path_find(d->in->live, list_path, d->type), &p.elements[p.count - 1],
                            field_path_type(d->type, list_path), &at))
                return false;
        for (size_t i = 0; i < list->list.count; i++) {
                if (i == at)
                        value_list_add(&b, item);
                value_list_add(&b, list->list.items[i]);
        }
        if (at >= list->list.count)
                value_list_add(&b, item);
        return field_path_set(d->arena, d->out.effective, list_path, d->type, value_list_end(&b, d->arena, list->line),
                              &d->out.effective, NULL) == 0;
}

/*
 * Does the path end in a node with one owner, where leaving something out is removing it? A list of which nothing is known
 * counts as one: what is applied must be right, whichever it is.
 */
static bool is_in_atomic(const struct desk *d, struct field_path p) {
        const struct schema *type = d->type;

        for (size_t i = 0; i + 1 < p.count; i++) {
                bool field = p.elements[i].kind == PATH_FIELD;

                type = field ? schema_field(type, p.elements[i].name) : schema_item(type);
                const struct value *live = field_path_find(d->in->live, (struct field_path){ p.elements, i + 1 }, d->type);
                if (schema_is_atomic(type, live) || (schema_form(type) == SCHEMA_UNKNOWN && value_is(live, VALUE_LIST)))
                        return true;
        }
        return false;
}

/*
 * Leaves a path out of what is applied. Inside an atomic node nothing can be left out: there the live value is put in
 * its place, and the request needs the resourceVersion it was taken from (design §6.6).
 */
static void leave_out(struct desk *d, struct field_path p) {
        const struct value *live = is_in_atomic(d, p) ? field_path_find(d->in->live, p, d->type) : NULL;
        if (live)
                desk_settle(d);
        if (live && (field_path_set(d->arena, d->out.effective, p, d->type, live, &d->out.effective, NULL) == 0 ||
                     put_item_in(d, p, live)))
                d->needs_version = true;
        else
                path_list_add(&d->leaving, d->arena, p);
}

void desk_settle(struct desk *d) {
        d->out.effective = field_paths_leave(d->arena, d->out.effective, d->leaving.paths, d->leaving.count, d->type, d->in->live);
        d->leaving.count = 0;
}

static bool concerns_us(const struct desk *d, struct field_path p) {
        return field_path_find(d->in->desired, p, d->type) ||
               (d->ours && !d->ours->broken && fieldset_touches(d->ours->set, p));
}

void desk_yield_path(struct desk *d, struct field_path p, struct decide_note note) {
        note.path = p;
        if (concerns_us(d, p))
                desk_note(d, note);
        path_list_add(&d->yields, d->arena, p);
        leave_out(d, p);
}

void desk_yield_or_seed(struct desk *d, struct field_path p, struct decide_note note) {
        if (d->in->live) {
                desk_yield_path(d, p, note);
                return;
        }
        note.path = p;
        if (concerns_us(d, p)) {
                desk_note(d, note);
                d->out.seeds = true;
        }
}

enum decide_note_kind desk_note_kind(const struct policy_answer *answer) {
        return answer->action == POLICY_YIELD ? DECIDE_YIELDED : DECIDE_REPORTED;
}

static void let_differ(struct desk *d, const struct ignored_path *i) {
        if (!d->in->live)
                return;
        path_list_add(&d->tolerated, d->arena, i->path);
        if (concerns_us(d, i->path))
                desk_note(d, (struct decide_note){
                        .kind = DECIDE_IGNORED, .path = i->path, .rule = i->rule, .place = i->place });
}

static void yield_ignored(struct desk *d) {
        for (size_t i = 0; i < d->in->ignored_count; i++) {
                const struct ignored_path *one = &d->in->ignored[i];

                if (one->at_sync)
                        desk_yield_or_seed(d, one->path, (struct decide_note){ .kind = DECIDE_YIELDED,
                                                                               .rule = one->rule,
                                                                               .place = one->place });
                else
                        let_differ(d, one);
        }
}

/* A path stays withheld as long as its owner holds it. NULL: no longer. */
static const struct managed_entry *holder_of(const struct desk *d, const struct decide_withheld *w) {
        for (size_t i = 0; i < d->managed.count; i++) {
                const struct managed_entry *e = &d->managed.entries[i];

                if (str_eq(e->manager, w->manager) && str_eq(e->subresource, w->subresource) && !e->broken &&
                    fieldset_covers(e->set, d->type, w->path))
                        return e;
        }
        return NULL;
}

void desk_withhold(struct desk *d, const struct decide_withheld *w, const struct policy_answer *answer) {
        struct decide_withheld *grown = grow(d, d->out.withheld, d->out.withheld_count, sizeof *grown);

        grown[d->out.withheld_count++] = *w;
        d->out.withheld = grown;
        desk_yield_path(d, w->path,
                        (struct decide_note){ .kind = desk_note_kind(answer),
                                              .owner = w->manager,
                                              .subresource = w->subresource,
                                              .rule = answer->rule,
                                              .place = answer->place });
}

static void yield_withheld(struct desk *d) {
        for (size_t i = 0; i < d->in->withheld_count; i++) {
                const struct managed_entry *e = holder_of(d, &d->in->withheld[i]);
                struct policy_answer answer = { .action = POLICY_TAKE };

                if (e)
                        answer = desk_ask(d, e, d->in->withheld[i].path);
                if (answer.action != POLICY_TAKE)
                        desk_withhold(d, &d->in->withheld[i], &answer);
        }
}

/* Only what the other one has taken: a path that stands as Git wants it is kept, or it would be given away. */
static void yield_paused(struct desk *d) {
        for (size_t i = 0; i < d->in->paused_count; i++) {
                const struct decide_paused *p = &d->in->paused[i];
                const struct value *want = field_path_find(d->wanted, p->path, d->type);
                const struct value *have = field_path_find(d->in->live, p->path, d->type);

                if (!d->in->live || !want || (have && value_equal(want, have)))
                        continue;
                desk_yield_path(d, p->path,
                                (struct decide_note){ .kind = DECIDE_PAUSED, .owner = p->manager, .rule = p->rule });
                d->needs_version = true; /* a late write of ours may make it ours again meanwhile */
        }
}

static const struct schema *type_of(const struct decide_input *in, struct arena *a) {
        return in->type ? in->type : schema_builtin(a, value_text(value_getc(in->desired, "apiVersion")),
                                                    value_text(value_getc(in->desired, "kind")));
}

static int check_input(const struct decide_input *in, struct err *err) {
        const struct value *metadata = value_getc(in->desired, "metadata");

        if (!value_text(value_getc(in->desired, "apiVersion")).n || !value_text(value_getc(in->desired, "kind")).n ||
            !value_text(value_getc(metadata, "name")).n)
                return err_set(err, ERR_INVAL, "the desired object lacks apiVersion, kind or metadata.name");
        if (in->live && !value_text(value_path(in->live, "metadata", "uid", NULL)).n)
                return err_set(err, ERR_INVAL, "the live object has no uid");
        return 0;
}

static const struct value *as_spelt(const struct decide_input *in, const struct value *object, const struct value *live,
                                    const struct schema *type, struct arena *a) {
        struct respell_knowledge known = { in->crd, in->known_fields, in->known_field_count };

        return respell(object, live, &known, type, a);
}

int desk_open(struct desk *d, const struct decide_input *in, struct arena *a, struct err *err) {
        int res = check_input(in, err);

        if (res < 0)
                return res;
        struct scale_target target = scale_target_of(in->desired);

        *d = (struct desk){ .in = in, .arena = a, .type = type_of(in, a), .needs_version = in->live && in->lock };
        d->object = (struct policy_object){ target.group, target.kind, target.ns, target.name, in->application };
        d->wanted = as_spelt(in, in->desired, in->live, d->type, a);
        d->out.effective = d->wanted;
        if (in->live && in->managed)
                d->managed = *in->managed;
        else if (in->live)
                res = managed_parse(in->live, a, &d->managed, err);
        if (res < 0)
                return res;
        d->ours = managed_ours(&d->managed);
        desk_scale_open(d);
        return 0;
}

static const struct ignored_path *tolerated_at(const struct desk *d, struct field_path p) {
        for (size_t i = 0; i < d->in->ignored_count; i++)
                if (!d->in->ignored[i].at_sync && field_path_covers(d->in->ignored[i].path, p))
                        return &d->in->ignored[i];
        return NULL;
}

enum pattern_fit desk_kept_fit(const struct desk *d, struct field_path p) {
        enum pattern_fit fit = PATTERN_APART;

        for (size_t i = 0; i < d->in->kept_count && fit != PATTERN_COVERS; i++) {
                if (field_path_covers(d->in->kept[i], p))
                        fit = PATTERN_COVERS;
                else if (field_path_covers(p, d->in->kept[i]))
                        fit = PATTERN_BELOW;
        }
        return fit;
}

struct policy_answer desk_ask(const struct desk *d, const struct managed_entry *e, struct field_path p) {
        const struct scale_path *scaled = desk_scaled_at(d, p);
        struct policy_question q = {
                .object = &d->object,
                .manager = e->manager,
                .subresource = e->subresource,
                .operation = e->operation,
                .path = p,
                .leftover = desk_is_leftover(d, e),
                .is_replicas = scaled != NULL,
                .scale = scaled ? &scaled->state : NULL,
        };

        struct policy_answer answer = policy_decide(d->in->policy, &q);
        const struct ignored_path *ignored = answer.action == POLICY_REPORT ? tolerated_at(d, p) : NULL;

        if (desk_kept_fit(d, p) == PATTERN_COVERS)
                return (struct policy_answer){ POLICY_TAKE, answer.class, "it tells whose the object is", NULL };
        /* Nobody wants to hear of a path that may differ. */
        return ignored ? (struct policy_answer){ POLICY_YIELD, answer.class, ignored->rule, ignored->place } : answer;
}

static const struct value *with_metadata(struct desk *d, const struct value *body, const char *name) {
        struct str keys[] = { STR("metadata"), str_from(name) };
        const struct value *value = value_path(d->in->live, "metadata", name, NULL);

        return value ? value_with_path(d->arena, body, keys, ARRAY_LEN(keys), value) : body;
}

void desk_send(struct desk *d, const struct value *object) {
        d->out.verdict = d->in->mode == DECIDE_AUTO ? DECIDE_APPLY : DECIDE_DRY_RUN;
        d->out.dry_run = d->in->mode != DECIDE_AUTO;
        d->out.body = with_metadata(d, object, "uid");
        if (d->needs_version || d->out.force)
                d->out.body = with_metadata(d, d->out.body, "resourceVersion");
}

/* What makes an object one that is never touched, or not now. True: decided. */
static bool keep_off(struct desk *d) {
        const struct value *owners = value_path(d->in->live, "metadata", "ownerReferences", NULL);

        if (d->in->foreign_tracker.n) {
                d->out.verdict = DECIDE_REFUSE;
                desk_reason(d, "it belongs to %.*s", STR_FMT(d->in->foreign_tracker));
                return true;
        }
        for (size_t i = 0; value_is(owners, VALUE_LIST) && i < owners->list.count; i++) {
                const struct value *o = owners->list.items[i];

                if (!value_truth(value_getc(o, "controller"), false))
                        continue;
                d->out.verdict = DECIDE_REFUSE;
                desk_reason(d, "it is controlled by %.*s %.*s", STR_FMT(value_text(value_getc(o, "kind"))),
                            STR_FMT(value_text(value_getc(o, "name"))));
                return true;
        }
        if (!value_path(d->in->live, "metadata", "deletionTimestamp", NULL))
                return false;
        d->out.verdict = DECIDE_WAIT;
        desk_reason(d, "it is being deleted");
        return true;
}

static void create(struct desk *d) {
        d->out.verdict = DECIDE_CREATE;
        d->out.dry_run = d->in->mode != DECIDE_AUTO;
        d->out.body = desk_newborn(d);
        desk_reason(d, "it does not exist");
}

/* Of each path that we own at and below a yielded one: an owner of some of it need not be an owner of all. */
static void due_handovers_below(struct desk *d, struct field_path p, struct path_list *due) {
        const struct field_path *paths;
        size_t count = fieldset_paths(fieldset_under(d->arena, d->ours->set, p), d->arena, &paths);

        for (size_t i = 0; i < count; i++) {
                enum handover_kind kind = handover_decide(&d->managed, d->type, paths[i], HANDOVER_YIELD, false);

                if (kind == HANDOVER_JUST_LEAVE)
                        d->needs_version = true;
                if (kind == HANDOVER_GIVE)
                        path_list_add(due, d->arena, paths[i]);
        }
}

/* Yielded paths that are still ours: handed over first, or simply left where another owner holds them. */
static struct path_list due_handovers(struct desk *d) {
        struct path_list due = { 0 };

        for (size_t i = 0; i < d->yields.count && d->ours && !d->ours->broken; i++)
                due_handovers_below(d, d->yields.paths[i], &due);
        return due;
}

bool desk_is_yielded(const struct desk *d, struct field_path p) {
        for (size_t i = 0; i < d->yields.count; i++)
                if (field_path_covers(d->yields.paths[i], p))
                        return true;
        return false;
}

bool desk_is_let_be(const struct desk *d, struct field_path p) {
        return tolerated_at(d, p) || desk_is_yielded(d, p);
}

static bool is_removed_by_commit(const struct desk *d, struct field_path p) {
        return d->in->previous && field_path_find(d->in->previous, p, d->type) &&
               !field_path_find(d->in->desired, p, d->type);
}

/*
 * Does a kept path come back to us? Yes when Git has it again, and when its ancestor, or in this very revision the path
 * itself, left Git. A path that Git has not had for long stays as it is: nobody asked to reset it.
 */
static bool comes_back(struct desk *d, struct field_path p) {
        struct field_path parent = { p.elements, p.count - 1 };

        if (desk_is_yielded(d, p))
                return false;
        return is_removed_by_commit(d, p) || field_path_find(d->in->desired, p, d->type) ||
               !field_path_find(d->in->desired, parent, d->type);
}

/* Paths of the keeper that no scaler or rule wants any more. */
static struct path_list due_take_backs(struct desk *d) {
        struct path_list due = { 0 };

        for (size_t i = 0; i < d->managed.count; i++) {
                const struct managed_entry *e = &d->managed.entries[i];
                const struct field_path *paths;

                if (!managed_is_keeper(e) || e->broken)
                        continue;
                size_t count = fieldset_paths(e->set, d->arena, &paths);
                for (size_t k = 0; k < count; k++)
                        if (comes_back(d, paths[k]))
                                path_list_add(&due, d->arena, paths[k]);
        }
        return due;
}

bool desk_is_set_by_commit(const struct desk *d, struct field_path p) {
        const struct value *now = field_path_find(d->in->desired, p, d->type);
        const struct value *before = d->in->previous ? field_path_find(d->in->previous, p, d->type) : now;

        return now && (!before || !value_equal(now, before));
}

/* What the keeper would give back because a rule is gone, that Git has and has not changed just now. */
static struct path_list waiting_take_backs(struct desk *d) {
        struct path_list back = due_take_backs(d), waiting = { 0 };

        for (size_t i = 0; i < back.count; i++) {
                struct field_path p = back.paths[i];
                const struct scale_path *scaled = desk_scaled_at(d, p);
                bool replicas = scaled && field_path_equal(p, scaled->path);

                if (!replicas && field_path_find(d->in->desired, p, d->type) && !desk_is_set_by_commit(d, p))
                        path_list_add(&waiting, d->arena, p);
        }
        return waiting;
}

static void hold_kept(struct desk *d) {
        struct path_list waiting = { 0 };

        if (d->in->replicas_hold)
                waiting = waiting_take_backs(d);
        for (size_t i = 0; i < waiting.count; i++)
                if (desk_in_hold(d, waiting.paths[i]))
                        desk_hold(d, waiting.paths[i], "the rule that left it went away a short while ago");
}

void desk_yield(struct desk *d) {
        desk_yield_scaled(d);
        yield_ignored(d);
        desk_yield_rules(d);
        desk_hold_scaled(d);
        yield_withheld(d);
        yield_paused(d);
        if (d->in->override)
                desk_yield_overridden(d);
        hold_kept(d);
        desk_settle(d);
}

static void send_patch(struct desk *d, enum handover_kind kind, const char *reason, struct field_path first) {
        d->out.verdict = DECIDE_PATCH;
        d->out.handover = kind;
        desk_reason(d, "%s %.*s", reason, STR_FMT(field_path_text(d->arena, first)));
}

/* The path keeps its value in a dry-run, so that a diff does not show what the hand-over will prevent. */
static void mask(struct desk *d, const struct path_list *due) {
        for (size_t i = 0; i < due->count; i++) {
                const struct value *live = field_path_find(d->in->live, due->paths[i], d->type);

                desk_note(d, (struct decide_note){ .kind = DECIDE_HANDOVER_DUE,
                                                   .path = due->paths[i],
                                                   .owner = STR(OWN_KEEPER),
                                                   .rule = "a hand-over comes first" });
                if (live)
                        field_path_set(d->arena, d->masked, due->paths[i], d->type, live, &d->masked, NULL);
        }
}

/* What may differ is asked about as it is, and not at all where we own nothing of it. */
static void mask_tolerated(struct desk *d) {
        for (size_t i = 0; i < d->tolerated.count; i++) {
                struct field_path p = d->tolerated.paths[i];
                const struct value *live = field_path_find(d->in->live, p, d->type);
                bool ours = d->ours && !d->ours->broken &&
                            (fieldset_touches(d->ours->set, p) || fieldset_covers(d->ours->set, d->type, p));

                if (live && ours)
                        field_path_set(d->arena, d->masked, p, d->type, live, &d->masked, NULL);
                else
                        d->masked = field_paths_leave(d->arena, d->masked, &p, 1, d->type, d->in->live);
        }
}

void desk_mask(struct desk *d) {
        d->masked = d->out.effective;
        if (d->in->mode == DECIDE_AUTO)
                return;
        struct path_list give = due_handovers(d);
        mask(d, &give);
        mask_tolerated(d);
}

/* Ownership that must move before anything is applied. Sets the verdict when it does; ret < 0 on errors. */
static int move_ownership(struct desk *d, struct err *err) {
        int res = 0;

        desk_mask(d);
        if (d->in->mode != DECIDE_AUTO)
                return 0;
        struct path_list give = due_handovers(d), back = due_take_backs(d);
        if (give.count) {
                res = handover_give(d->in->live, give.paths, give.count, d->arena, &d->out.patch, &d->out.after, err);
                send_patch(d, HANDOVER_GIVE, "handing over", give.paths[0]);
        } else if (back.count) {
                res = handover_take_back(d->in->live, back.paths, back.count,
                                         value_text(value_getc(d->in->desired, "apiVersion")), d->arena, &d->out.patch,
                                         &d->out.after, err);
                send_patch(d, HANDOVER_TAKE_BACK, "taking back", back.paths[0]);
        }
        return res;
}

static struct tolerance compared(const struct desk *d) {
        return tolerate(d->out.effective, d->in->live, &d->managed, d->in->ignored, d->in->ignored_count, d->type,
                        d->arena);
}

static bool fingerprint_matches(struct desk *d) {
        struct hash128 now;

        if (!d->in->fingerprint || !d->in->key)
                return false;
        struct tolerance t = compared(d);
        return fingerprint_of(d->in->key, t.desired, t.live, &t.owners, d->type, d->arena, &now, NULL) == 0 &&
               hash128_eq(now, *d->in->fingerprint);
}

int decide_fingerprint(const struct decide_input *in, const struct decision *d, const struct value *live,
                       const struct managed *owners, struct arena *a, struct hash128 *ret_fingerprint, struct err *err) {
        const struct schema *type = type_of(in, a);
        const struct value *effective = as_spelt(in, d->effective, live, type, a);
        struct tolerance t = tolerate(effective, live, owners, in->ignored, in->ignored_count, type, a);

        return fingerprint_of(in->key, t.desired, t.live, &t.owners, type, a, ret_fingerprint, err);
}

/*
 * After a restart nobody remembers what was withheld. Paths that would conflict and that policy leaves to their owner
 * are guessed; the fingerprint says whether the guess is what was applied last.
 */
static bool fingerprint_matches_withheld(struct desk *d) {
        struct desk guess = *d;

        if (!d->in->fingerprint)
                return false;
        for (size_t i = 0; i < d->managed.count; i++)
                desk_foresee(&guess, &d->managed.entries[i]);
        desk_settle(&guess);
        if (guess.out.withheld_count == d->out.withheld_count || !fingerprint_matches(&guess))
                return false;
        *d = guess;
        return true;
}

/* No request needed? */
static bool converged(struct desk *d) {
        if (fingerprint_matches(d) || fingerprint_matches_withheld(d)) {
                d->out.by_fingerprint = true;
                desk_reason(d, "nothing moved since the last apply");
        } else {
                struct tolerance t = compared(d);

                d->out.proof = proof_no_op(t.desired, t.live, &t.owners, d->type, d->arena);
                d->out.by_proof = d->out.proof.holds;
                desk_reason(d, "the live object is what an apply would give");
        }
        if (!d->out.by_fingerprint && !d->out.by_proof)
                return false;
        d->out.verdict = DECIDE_NOTHING;
        return true;
}

bool desk_converged(struct desk *d) {
        return converged(d);
}

/* Moves what is extra into our entry and clears leftovers, in one patch. */
static int tidy(struct desk *d, struct err *err) {
        bool extra = false;

        desk_leftovers(d);
        if (!d->strips.count || d->in->mode != DECIDE_AUTO)
                return 0;
        for (size_t i = 0; i < d->strips.count; i++)
                extra = extra || d->strips.rows[i].into_ours;
        desk_reason(d, extra ? "taking from %.*s what is not in Git, to remove it" : "%.*s is superseded and owns nothing of ours",
                    STR_FMT(d->strips.rows[0].entry->manager));
        return desk_send_strips(d, &d->strips, err);
}

static int decide_live(struct desk *d, struct err *err) {
        d->out.takes_replicas_back = desk_takes_replicas_back(d) || waiting_take_backs(d).count > 0;
        desk_extra(d);
        int res = move_ownership(d, err);

        if (res == 0 && d->out.verdict != DECIDE_PATCH)
                res = tidy(d, err);
        if (res < 0 || d->out.verdict == DECIDE_PATCH || converged(d))
                return res;
        if (desk_guard(d))
                return 0;
        res = desk_leave(d, err);
        if (res < 0 || d->out.verdict == DECIDE_PATCH || d->out.verdict == DECIDE_REFUSE)
                return res;
        desk_send(d, d->masked);
        if (d->out.proof.path.n)
                desk_reason(d, "%.*s: %s", STR_FMT(d->out.proof.path), proof_reason_text(d->out.proof.reason));
        else
                desk_reason(d, "%s", proof_reason_text(d->out.proof.reason));
        return 0;
}

int decide(const struct decide_input *in, struct arena *a, struct decision *ret_decision, struct err *err) {
        struct desk d;
        int res = desk_open(&d, in, a, err);

        if (res < 0)
                return res;
        if (keep_off(&d)) {
                *ret_decision = d.out;
                return 0;
        }
        desk_yield(&d);
        if (in->live)
                res = decide_live(&d, err);
        else
                create(&d);
        if (res < 0)
                return res;
        *ret_decision = d.out;
        return 0;
}

const char *decide_verdict_name(enum decide_verdict v) {
        static const char *const names[] = {
                [DECIDE_NOTHING] = "nothing", [DECIDE_CREATE] = "create", [DECIDE_APPLY] = "apply",
                [DECIDE_DRY_RUN] = "dry-run", [DECIDE_PATCH] = "patch",   [DECIDE_WAIT] = "wait",
                [DECIDE_REFUSE] = "refuse",
        };

        return names[v];
}

const char *decide_note_name(enum decide_note_kind k) {
        static const char *const names[] = {
                [DECIDE_YIELDED] = "yielded", [DECIDE_REPORTED] = "reported", [DECIDE_TAKEN] = "taken",
                [DECIDE_LEAVING] = "leaving", [DECIDE_STAYS] = "stays",       [DECIDE_HANDOVER_DUE] = "handover-due",
                [DECIDE_HELD] = "held",       [DECIDE_EXTRA] = "extra",       [DECIDE_PAUSED] = "paused",
                [DECIDE_OVERRIDDEN] = "overridden", [DECIDE_IGNORED] = "ignored",
                [DECIDE_REMOVED] = "removed",
                [DECIDE_TWO_SCALERS] = "two-scalers", [DECIDE_OUT_OF_RANGE] = "out-of-range", [DECIDE_ZERO] = "zero",
        };

        return names[k];
}

bool decide_note_is_remark(enum decide_note_kind k) {
        return k == DECIDE_TWO_SCALERS || k == DECIDE_OUT_OF_RANGE || k == DECIDE_ZERO;
}
