/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object, from "something may differ" to a verdict. An op goes in rounds: read what is known, decide() (own/decide.h),
 * send at most one request, look at the answer, and either end or go round again with what the answer showed.
 *
 *   GET          when the cache may not know the object, or lost sight of it, or a managedFields patch needs it whole
 *   dry-run      changes nothing → fingerprint; else the difference is told (diff) or applied (sync)
 *   apply        fingerprint from the response; once more round when a scaler may want a hand-over
 *   JSON patch   a hand-over or take-over; the response is checked and decided on
 *   creation     an apply that only a missing object takes (NEVER_RV); who was there first is adopted
 *   409, 422     fields: decide_conflict(); everything else: GET and decide again, at most OP_MAX_ROUNDS times
 *   no answer    the outcome is unknown: GET and decide again
 *
 * Memory: everything of a round lives in its arena.
 */
#include "agent/app_impl.h"

#include "base/json.h"
#include "base/log.h"
#include "own/immutable.h"
#include "own/overlay.h"

#define OP_MAX_ROUNDS 12      /* requests of one op; a contested object is given up on and retried later */
#define OP_JITTER_FROM_ROUND 4
#define OP_JITTER_MS 500
#define OP_SLOW_MS 5000
#define NOTES_MAX_BYTES (64 * 1024)
/*
 * No object ever has this resourceVersion (etcd's first revision is empty). An apply that carries it creates what is
 * missing and is refused with a conflict where something stands, which makes it the creation that apply lacks: without it
 * an object that somebody made a moment ago would be taken for ours, and pruned one day.
 */
#define NEVER_RV STR("1")

enum op_await { OP_NOTHING, OP_GET, OP_DRY_RUN, OP_APPLY, OP_PATCH };

struct op {
        struct item *item;
        struct app *app;
        struct cluster_kind *kind;
        struct kube_op *call;
        struct loop_timer *again;  /* begins a round after a lost race; during a request: it takes long */
        struct arena *arena;       /* of this round */
        struct type type;          /* of this round, kept: its CRD may change while an answer is under way */
        struct decide_input in;
        struct decision decision;
        struct managed managed;
        enum op_await await;
        enum decide_mode mode;
        unsigned rounds;
        int64_t noticed_ms;        /* of the change that it is about; one that comes meanwhile is the next op's */
        bool full;                 /* in.live is whole, as the server sent it */
        bool created, wrote, handed_over;
        struct arena *removed_arena;         /* of `removed` */
        struct decide_note *removed;         /* what people added and this op takes away, told at its end */
        size_t removed_count;
        bool kept;                           /* the server would not let it go: the keeper has it */
        char *before;              /* live text before our first write; NULL: it did not exist */
        struct arena *met_arena;   /* of `met` */
        const struct decide_cause *met; /* owners that a round took from and lost the race: asked about again at once */
        size_t met_count;
};

static void begin_round(struct op *op, struct str whole);
static void get(struct op *op);

void op_free(struct op *op) {
        if (!op)
                return;
        kube_op_cancel(op->call);
        loop_timer_free(op->again);
        arena_free(op->arena);
        arena_free(op->met_arena);
        type_release(&op->type);
        arena_free(op->removed_arena);
        free(op->before);
        free(op);
}

/* --- ends ------------------------------------------------------------------------------------------------------- */

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

/* A patch moves what people added into our entry; by the time it is gone its round's notes are as well. */
static void remember_removed(struct op *op) {
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

static void finish(struct op *op, enum item_state state, struct outcome outcome, const struct err *err) {
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
        outcome.notes_are_new = notes_are_new(item, &outcome);
        item_keep_notes(item, &outcome);
        item->op = NULL;
        item_finish(item, state, &outcome, err);
        op_free(op); /* last: the outcome borrows from its arena */
}

static void fail(struct op *op, const struct err *err) {
        item_note_refused(op->item, err_is_transient(err->code) ? NULL : op->in.live);
        finish(op, ITEM_FAILED, (struct outcome){ .kind = OUTCOME_FAILED, .err = err }, err);
}

/* What the object looked like before we wrote, as a value of the round's arena. */
static const struct value *before_value(struct op *op) {
        const struct value *v;

        if (!op->before || json_parse(str_from(op->before), op->arena, &v, NULL) < 0)
                return NULL;
        return v;
}

/* What a commit or the end of a hold asked for replicas has been done. */
static void replicas_are_settled(struct item *item) {
        item->replicas_left = false;
        free(TAKE_PTR(item->previous));
        if (item->hold_until_ms <= loop_now_ms(item->app->env.loop))
                item->hold_until_ms = 0;
}

static void done(struct op *op) {
        struct outcome o = { 0 };

        replicas_are_settled(op->item);
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
        finish(op, ITEM_SYNCED, o, NULL);
}

/* --- what an apply showed --------------------------------------------------------------------------------------- */

static bool same_text(const char *a, struct str b) {
        return a ? str_eqc(b, a) : b.n == 0;
}

static bool is_held(const struct op *op) {
        return op->item->hold_until_ms > loop_now_ms(op->app->env.loop);
}

static unsigned flags_now(const struct op *op, unsigned old) {
        unsigned flags = old & INVENTORY_ADOPTED;

        if (op->item->desired->kept)
                flags |= INVENTORY_KEEP;
        if (op->decision.has_scaler || is_held(op))
                flags |= INVENTORY_SCALED;
        return flags;
}

/*
 * Writes down that the object, as it stands in in.live, is what an apply of decision.effective leaves. A fingerprint that
 * cannot be made costs a dry-run next time, nothing else.
 */
static void note_converged(struct op *op) {
        const struct desired *d = op->item->desired;
        struct inventory_entry *e = inventory_add(op->app->inventory, d->id, d->gvk.version), old = *e;
        struct str uid = value_text(value_path(op->in.live, "metadata", "uid", NULL));
        struct hash128 fingerprint;
        int r = fingerprint_of(store_key(op->app->env.store), op->decision.effective, op->in.live, &op->managed,
                               op->in.type, op->arena, &fingerprint, NULL);
        unsigned flags = flags_now(op, e->flags);

        if (!is_held(op))
                item_forget_hold(op->item);
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

/* Is what a dry-run answered, on the paths that would be ours, what stands there already? */
static bool dry_run_is_no_op(struct op *op, const struct value *answer, const struct managed *owners) {
        const struct managed_entry *now = managed_ours(&op->managed), *then = managed_ours(owners);

        if (!now || !then || !now->set || !then->set || !fieldset_equal(now->set, then->set) ||
            !str_eq(now->api_version, then->api_version))
                return false;

        const struct value *x = own_project(op->in.live, now->set, op->in.type, op->arena);
        const struct value *y = own_project(answer, then->set, op->in.type, op->arena);
        return x && y && value_equal(x, y);
}

/* --- answers ---------------------------------------------------------------------------------------------------- */

static void again_now(void *ctx) {
        struct op *op = ctx;

        if (op->call)
                app_tell_waiting(op->app, &op->app->told_slow, "the API server to answer");
        else
                get(op);
}

/* A request is under way; one that takes long is told, not ended: the transport has a deadline of its own. */
static void sent(struct op *op, struct kube_op *call) {
        op->call = call;
        loop_timer_start(op->again, OP_SLOW_MS);
}

static void received(struct op *op) {
        op->call = NULL;
        loop_timer_stop(op->again);
}

/* Lost a race, or do not know what happened: read and decide again, a little later when it goes on like that. */
static void read_again(struct op *op, const struct err *err) {
        if (++op->rounds >= OP_MAX_ROUNDS) {
                fail(op, err);
                return;
        }
        int64_t wait_ms = 0;
        if (op->rounds >= OP_JITTER_FROM_ROUND)
                wait_ms = (int64_t)loop_random(op->app->env.loop, OP_JITTER_MS);
        loop_timer_start(op->again, wait_ms);
}

static void got(void *ctx, const struct kube_result *result) {
        struct op *op = ctx;
        const struct desired *d = op->item->desired;
        struct err err = result->err;

        received(op);
        op->item->read_first = false;
        if (err.code == ERR_NOTFOUND && !result->status.not_served) {
                cluster_drop(op->kind, d->ns, d->name);
                begin_round(op, STR(""));
                return;
        }
        if (err.code || !cluster_put(op->kind, result->body, &err)) {
                fail(op, &err);
                return;
        }
        begin_round(op, result->body);
}

static struct kube_location location(const struct op *op) {
        return kube_resource_location(cluster_kind_resource(op->kind), op->item->desired->ns, op->item->desired->name);
}

static void get(struct op *op) {
        struct kube_location at = location(op);

        op->await = OP_GET;
        op->app->counts.requests++;
        sent(op, kube_client_get(op->app->env.client, &at, 0, got, op));
}

static void send_decision(struct op *op);
static void send_patch(struct op *op);

static void remember_causes(struct op *op, const struct decide_cause *causes, size_t count) {
        struct arena *a = arena_new(0);
        struct decide_cause *copy = arena_alloc(a, (count + 1) * sizeof *copy);

        for (size_t i = 0; i < count; i++)
                copy[i] = (struct decide_cause){ arena_str(a, causes[i].manager), arena_str(a, causes[i].subresource),
                                                 arena_str(a, causes[i].field) };
        arena_free(op->met_arena);
        op->met_arena = a;
        op->met = copy;
        op->met_count = count;
}

/*
 * The owners of an earlier round that still are: what will conflict is settled before it is sent. An object whose status
 * changes all the time could hardly be forced otherwise, for each request more is one more race.
 */
static void settle_known_causes(struct op *op) {
        struct decision before = op->decision, settled;

        if (!op->met_count || before.force || (before.verdict != DECIDE_APPLY && before.verdict != DECIDE_DRY_RUN))
                return;
        if (decide_conflict(&op->in, &before, op->met, op->met_count, op->arena, &settled, NULL) == 0 &&
            settled.verdict != DECIDE_REFUSE)
                op->decision = settled;
        else
                op->met_count = 0; /* ownership is another by now: the server names who it is */
}

/* The server refused fields: each cause is judged by policy, and what is left is sent again. */
static void resolve_conflict(struct op *op, const struct kube_result *result) {
        struct decide_cause *causes = arena_alloc(op->arena, (result->status.cause_count + 1) * sizeof *causes);
        struct decision before = op->decision;
        struct err err = result->err;
        size_t n = 0;

        for (size_t i = 0; i < result->status.cause_count; i++) {
                const struct kube_cause *c = &result->status.causes[i];

                if (str_eqc(c->reason, "FieldManagerConflict"))
                        causes[n++] = (struct decide_cause){ arena_str(op->arena, c->manager),
                                                             arena_str(op->arena, c->subresource),
                                                             arena_str(op->arena, c->field) };
        }
        if (++op->rounds >= OP_MAX_ROUNDS) {
                fail(op, &err);
                return;
        }
        if (decide_conflict(&op->in, &before, causes, n, op->arena, &op->decision, &err) < 0) {
                fail(op, &err);
                return;
        }
        if (op->decision.verdict == DECIDE_REFUSE && !op->full) {
                get(op);
                return;
        }
        if (op->decision.force)
                remember_causes(op, causes, n);
        send_decision(op);
}

/* What people added would go as well, which no dry-run can show: it is not ours yet. */
static void tell_difference(struct op *op, const struct value *answer, const struct managed *owners) {
        finish(op, ITEM_OUT_OF_SYNC,
               (struct outcome){ .kind = op->in.live ? OUTCOME_DIFFERS : OUTCOME_MISSING, .before = op->in.live,
                                 .before_owners = &op->managed,
                                 .after = decide_without_removed(&op->decision, answer, op->in.type, op->arena),
                                 .after_owners = owners },
               NULL);
}

/*
 * The server refuses Git's object beside what people added: two ports of one name. With that gone it may do, so the
 * difference is shown as far as it can be told without the server.
 */
static void imagine_difference(struct op *op) {
        static const struct managed nobody;
        static const struct str fields[] = { { "metadata", 8 }, { "managedFields", 13 } };
        const struct value *rest = decide_without_removed(&op->decision, op->in.live, op->in.type, op->arena);

        rest = value_with_path(op->arena, rest, fields, ARRAY_LEN(fields), NULL);
        tell_difference(op, own_overlay(op->arena, rest, op->decision.effective, op->in.type), &nobody);
}

/*
 * The server refuses the apply that was to remove what people added: a ConfigMap made immutable, a CRD's rule. The keeper
 * gets the paths, for as ours they would make every later apply fail.
 */
static bool keep_what_cannot_go(struct op *op) {
        struct field_path *paths = arena_alloc(op->arena, (op->removed_count + 1) * sizeof *paths);

        if (op->await != OP_APPLY || !op->removed_count || op->kept || !op->full)
                return false;
        for (size_t i = 0; i < op->removed_count; i++)
                paths[i] = op->removed[i].path;
        if (handover_give(op->in.live, paths, op->removed_count, op->arena, &op->decision.patch, &op->decision.after,
                          NULL) < 0)
                return false;
        for (size_t i = 0; i < op->removed_count; i++) {
                op->removed[i].kind = DECIDE_EXTRA;
                op->removed[i].rule = "left alone: the API server refuses to remove it";
        }
        op->kept = true;
        op->decision.verdict = DECIDE_PATCH;
        op->decision.handover = HANDOVER_GIVE;
        op->decision.reason = STR("the API server does not let go of what people added");
        send_patch(op);
        return true;
}

/* A field that cannot be changed: the server's words become ones that say what to do. */
static void say_what_helps(struct op *op, const struct kube_result *result, struct err *err) {
        struct immutable_cause *causes = arena_alloc(op->arena, (result->status.cause_count + 1) * sizeof *causes);
        struct immutable_refusal refusal = {
                .desired = op->in.desired, .live = op->in.live, .secret = op->item->desired->secret, .causes = causes,
                .count = result->status.cause_count,
        };
        _cleanup_(buf_done) struct buf words = buf_make(ERR_MSG_MAX_BYTES);

        for (size_t i = 0; i < refusal.count; i++)
                causes[i] = (struct immutable_cause){ result->status.causes[i].field, result->status.causes[i].message };
        if (immutable_explain(&refusal, &words))
                err_set(err, ERR_INVAL, "%s", words.p);
}

static void refused(struct op *op, const struct kube_result *result) {
        struct err err = result->err;

        switch (result->status.conflict) {
        case KUBE_CONFLICT_FIELDS:
                resolve_conflict(op, result);
                return;
        case KUBE_CONFLICT_NONE:
                break;
        default:
                read_again(op, &err);
                return;
        }
        if (err.code == ERR_TIMEOUT || err.code == ERR_UNREACHABLE) {
                read_again(op, &err);
                return;
        }
        if (op->await == OP_DRY_RUN && op->mode == DECIDE_DIFF && op->decision.removes && err.code == ERR_INVAL) {
                imagine_difference(op);
                return;
        }
        if (err.code == ERR_INVAL && keep_what_cannot_go(op))
                return;
        /* Its namespace is yet to be made, in this very revision perhaps: a dry-run cannot see that. */
        if (op->await == OP_DRY_RUN && !op->in.live && result->status.namespace_missing) {
                finish(op, ITEM_OUT_OF_SYNC, (struct outcome){ .kind = OUTCOME_MISSING, .after = op->decision.body }, NULL);
                return;
        }
        /* Its namespace or its kind is not there now; that may change without Git. */
        if (result->status.namespace_missing)
                op->app->namespace_ready = false;
        if (err.code == ERR_NOTFOUND)
                err.code = ERR_GONE;
        if (err.code == ERR_INVAL)
                say_what_helps(op, result, &err);
        fail(op, &err);
}

/* Makes the answer the live object of this round. */
static int take_answer(struct op *op, struct str body, struct err *err) {
        const struct value *answer;
        int r = json_parse(body, op->arena, &answer, err);

        if (r == 0)
                r = managed_parse(answer, op->arena, &op->managed, err);
        if (r < 0)
                return err_wrap(err, r, "the answer of the API server");
        op->in.live = answer;
        op->in.managed = &op->managed;
        op->full = true;
        return 0;
}

static void dry_run_answered(struct op *op, const struct kube_result *result) {
        const struct value *answer;
        struct managed owners;
        struct err err = { 0 };

        if (json_parse(result->body, op->arena, &answer, &err) < 0 ||
            managed_parse(answer, op->arena, &owners, &err) < 0) {
                fail(op, &err);
                return;
        }
        if (op->in.live && dry_run_is_no_op(op, answer, &owners) && !op->decision.removes) {
                note_converged(op);
                done(op);
                return;
        }
        if (op->mode == DECIDE_DIFF) {
                tell_difference(op, answer, &owners);
                return;
        }
        op->mode = DECIDE_AUTO; /* it was looked at; now for real */
        begin_round(op, op->full ? value_canonical(op->arena, op->in.live) : STR(""));
}

static struct str rv_of(const struct value *object) {
        return value_text(value_path(object, "metadata", "resourceVersion", NULL));
}

/*
 * Takes in what a write answered. Watches run on a connection of their own, so the echo of the write may have come
 * before its answer; only when it has not is it waited for.
 */
static int take_write(struct op *op, struct str body, struct err *err) {
        struct item *item = op->item;
        const struct live *known = cluster_find(op->kind, item->desired->ns, item->desired->name);
        _cleanup_(mem_freep) char *known_rv = str_dup(str_from(known ? known->rv : NULL));
        int r = take_answer(op, body, err), order;

        if (r < 0)
                return r;
        if (!cluster_put(op->kind, body, err))
                return ERR_PARSE;
        if (kube_rv_cmp(str_from(known_rv), rv_of(op->in.live), &order) && order >= 0)
                return 0;
        op->app->awaited += item->awaited_rv == NULL;
        free(item->awaited_rv);
        item->awaited_rv = str_dup(rv_of(op->in.live));
        return 0;
}

static bool may_need_hand_over(struct op *op) {
        return op->decision.has_scaler || op->decision.omits || op->decision.seeds || op->decision.withheld_count > 0 ||
               decide_may_tidy(&op->in, &op->managed);
}

static void note_write(struct op *op, const struct value *before, const struct managed *owners) {
        const struct managed_entry *ours = managed_ours(&op->managed);

        item_note_write(op->item, before, owners, op->in.live, ours ? ours->set : NULL, op->in.type, op->arena);
}

static void apply_answered(struct op *op, const struct kube_result *result) {
        struct err err = { 0 };
        const struct value *old = op->in.live;
        struct managed owners = op->managed;

        failpoint("after-apply");
        if (!op->before && old)
                op->before = str_dup(value_canonical(op->arena, old));
        op->created |= result->http_status == 201;
        if (result->http_status == 201 && app_entry(op->app, op->item->desired->id))
                app_entry(op->app, op->item->desired->id)->flags &= ~(unsigned)INVENTORY_ADOPTED; /* that one is gone */
        if (take_write(op, result->body, &err) < 0) {
                fail(op, &err);
                return;
        }
        op->wrote |= !str_eq(rv_of(old), rv_of(op->in.live));
        note_write(op, old, &owners);
        note_converged(op);
        if (may_need_hand_over(op) && ++op->rounds < OP_MAX_ROUNDS)
                begin_round(op, result->body);
        else
                done(op);
}

static void patch_answered(struct op *op, const struct kube_result *result) {
        struct managed after = op->decision.after;
        struct err err = { 0 };

        if (take_write(op, result->body, &err) < 0) {
                fail(op, &err);
                return;
        }
        if (handover_check(op->in.live, &after, op->arena, &err) < 0) {
                op->app->counts.handovers[HANDOVER_LOST]++;
                read_again(op, &err);
                return;
        }
        if (op->decision.handover != HANDOVER_NOTHING) {
                op->handed_over = true;
                op->app->counts.handovers[HANDOVER_DONE]++;
        }
        remember_removed(op);
        failpoint("after-hand-over");
        if (++op->rounds < OP_MAX_ROUNDS)
                begin_round(op, result->body);
        else
                fail(op, &(struct err){ .code = ERR_CONFLICT, .msg = "ownership changes again and again" });
}

static void answered(void *ctx, const struct kube_result *result) {
        struct op *op = ctx;

        received(op);
        if (result->err.code && op->await == OP_PATCH)
                op->app->counts.handovers[result->err.code == ERR_CONFLICT ? HANDOVER_LOST : HANDOVER_REFUSED]++;
        if (result->err.code)
                refused(op, result);
        else if (op->await == OP_DRY_RUN)
                dry_run_answered(op, result);
        else if (op->await == OP_PATCH)
                patch_answered(op, result);
        else
                apply_answered(op, result);
}

/* --- requests --------------------------------------------------------------------------------------------------- */

/* Why the server is asked: the first question when there are more requests than expected. */
static void log_request(const struct op *op, const char *what) {
        if (log_is_on(LOG_DEBUG))
                log_event(LOG_DEBUG, "sync", what, "obj", op->item->desired->id.p, "because",
                          arena_str(op->arena, op->decision.reason).p, NULL);
}

static const struct value *body_of(struct op *op, bool dry_run) {
        const struct str rv[] = { STR("metadata"), STR("resourceVersion") };

        if (op->decision.verdict != DECIDE_CREATE || dry_run)
                return op->decision.body;
        return value_with_path(op->arena, op->decision.body, rv, 2, value_string(op->arena, NEVER_RV, 0));
}

static void send_apply(struct op *op, bool dry_run) {
        struct kube_location at = location(op);
        struct kube_write how = { .field_manager = STR(OWN_MANAGER), .force = op->decision.force, .dry_run = dry_run,
                                  .validation = KUBE_VALIDATION_STRICT };

        log_request(op, dry_run ? "dry-run" : "apply");
        op->await = dry_run ? OP_DRY_RUN : OP_APPLY;
        op->app->counts.requests++;
        if (dry_run)
                op->app->counts.dry_runs++;
        else
                op->app->counts.writes++;
        sent(op, kube_client_apply(op->app->env.client, &at, value_canonical(op->arena, body_of(op, dry_run)), &how,
                                   answered, op));
}

static void send_patch(struct op *op) {
        struct kube_location at = location(op);
        struct kube_write how = { .field_manager = STR(OWN_MANAGER) };

        if (!op->full) {
                get(op);
                return;
        }
        log_request(op, "patch of owners");
        op->await = OP_PATCH;
        op->app->counts.requests++;
        op->app->counts.writes++;
        sent(op, kube_client_patch(op->app->env.client, &at, KUBE_PATCH_JSON,
                                   value_canonical(op->arena, op->decision.patch), &how, answered, op));
}

static void nothing_to_do(struct op *op) {
        op->app->counts.by_fingerprint += op->decision.by_fingerprint;
        op->app->counts.by_proof += op->decision.by_proof;
        note_converged(op);
        if (op->mode == DECIDE_DIFF && op->decision.removes) {
                tell_difference(op, op->in.live, &op->managed);
                return;
        }
        done(op);
}

static void refuse(struct op *op) {
        struct err err;

        err_set(&err, ERR_DENIED, "%.*s", STR_FMT(op->decision.reason));
        finish(op, ITEM_REFUSED, (struct outcome){ .kind = OUTCOME_REFUSED, .err = &err }, &err);
}

/*
 * Is it somebody else's object that we are about to write for the first time? The inventory did not know it when it was
 * saved: the object came since, under the name of one that we would have made, or had made.
 */
static bool adopts(struct op *op) {
        const struct inventory_entry *e = app_entry(op->app, op->item->desired->id);
        enum decide_verdict verdict = op->decision.verdict;
        struct tracking t = app_tracking(op->app);
        struct tracker who;

        if (!op->in.live || !e || op->mode == DECIDE_DIFF || op->app->mode == DECIDE_DIFF || (e->flags & INVENTORY_ADOPTED) ||
            verdict == DECIDE_WAIT || verdict == DECIDE_REFUSE)
                return false;
        if (e->uid && str_eqc(value_text(value_path(op->in.live, "metadata", "uid", NULL)), e->uid))
                return false;
        tracking_read(&t, op->in.live, NULL, op->arena, &who);
        return who.kind != TRACKER_OURS;
}

/* That it is adopted is stored before it is touched: the op ends, and is begun anew when the inventory is saved. */
static void adopt(struct op *op) {
        struct item *item = op->item;

        app_entry(op->app, item->desired->id)->flags |= INVENTORY_ADOPTED;
        op->app->inventory_dirty = true;
        op->app->superset_saved = false;
        item->noticed_ms = op->noticed_ms;
        item->op = NULL;
        op_free(op);
        item_postpone(item);
}

static void send_decision(struct op *op) {
        if (adopts(op)) {
                adopt(op);
                return;
        }
        item_keep_withheld(op->item, &op->decision);
        switch (op->decision.verdict) {
        case DECIDE_NOTHING:
                nothing_to_do(op);
                return;
        case DECIDE_CREATE:
                /* A manual sync creates at once: there is nothing to compare with. A diff lets the server check it. */
                send_apply(op, op->mode == DECIDE_DIFF);
                return;
        case DECIDE_APPLY:
                send_apply(op, false);
                return;
        case DECIDE_DRY_RUN:
                send_apply(op, true);
                return;
        case DECIDE_PATCH:
                send_patch(op);
                return;
        case DECIDE_WAIT:
                finish(op, ITEM_WAITING,
                       (struct outcome){ .kind = OUTCOME_WAITING, .reason = arena_str(op->arena, op->decision.reason).p },
                       NULL);
                return;
        case DECIDE_REFUSE:
                refuse(op);
                return;
        }
}

/* --- a round ---------------------------------------------------------------------------------------------------- */

/* Another application of this agent that wants the object and comes first; they would overwrite each other for ever. */
static struct str rival(struct op *op, struct str tracked_by) {
        const struct app_env *env = &op->app->env;
        struct str name = env->hooks.rival(env->ctx, op->app, op->item->desired->id, tracked_by);

        return name.n ? arena_strf(op->arena, "application \"%.*s\", which wants it too", STR_FMT(name)) : name;
}

/*
 * An object with the uid that our inventory holds is ours whatever marks it has lost; for others the marks decide.
 */
static struct str foreign_tracker(struct op *op) {
        const struct inventory_entry *e = app_entry(op->app, op->item->desired->id);
        struct tracking t = app_tracking(op->app);
        struct tracker who;

        if (!op->in.live)
                return rival(op, STR(""));
        tracking_read(&t, op->in.live, op->in.desired, op->arena, &who);
        if (who.kind == TRACKER_NONE || who.kind == TRACKER_OUR_OTHER_APP) {
                struct str other = rival(op, who.app);

                if (other.n)
                        return other;
        }
        if (e && e->uid && str_eqc(value_text(value_path(op->in.live, "metadata", "uid", NULL)), e->uid))
                return STR("");
        if (who.kind == TRACKER_ARGOCD && who.same_app && op->app->env.agent->adopt_argocd)
                return STR("");
        return who.kind == TRACKER_NONE || who.kind == TRACKER_OURS ? STR("") : who.owner;
}

static int read_live(struct op *op, struct str whole, struct err *err) {
        const struct desired *d = op->item->desired;

        if (whole.n)
                return take_answer(op, whole, err);

        const struct live *live = cluster_find(op->kind, d->ns, d->name);
        op->full = false;
        op->in.live = NULL;
        op->in.managed = NULL;
        if (!live)
                return 0;
        op->in.live = live_value(live, op->arena, &op->managed);
        op->in.managed = &op->managed;
        return 0;
}

/* A manual sync moves ownership and creates at once; only what would change values is looked at by dry-run first. */
static int decide_as(struct op *op, enum decide_mode mode, struct err *err) {
        op->in.mode = mode == DECIDE_MANUAL ? DECIDE_AUTO : mode;
        op->decision = (struct decision){ 0 };
        int r = decide(&op->in, op->arena, &op->decision, err);

        if (r < 0 || mode != DECIDE_MANUAL || op->decision.verdict != DECIDE_APPLY)
                return r;
        op->in.mode = DECIDE_MANUAL;
        return decide(&op->in, op->arena, &op->decision, err);
}

/* Would replicas come back to us after a scaler had them? The live object does not always show that one did. */
static bool takes_replicas_back(const struct op *op) {
        const struct inventory_entry *e = app_entry(op->app, op->item->desired->id);

        return op->decision.takes_replicas_back ||
               (op->in.live && e && (e->flags & INVENTORY_SCALED) && !op->decision.has_scaler);
}

/*
 * The first wish to take replicas back begins the hold, unless the agent saw the scaler go and it has begun already; the
 * wish is carried out when the hold is over.
 */
static int make_decision(struct op *op, struct err *err) {
        struct item *item = op->item;
        int r = decide_as(op, op->mode, err);

        if (r < 0 || !takes_replicas_back(op) || item->no_hold || item->replicas_left || item->hold_until_ms)
                return r;
        item_hold(item);
        op->in.replicas_hold = is_held(op);
        return op->in.replicas_hold ? decide_as(op, op->mode, err) : 0;
}

static bool removes_extra(const struct op *op) {
        const struct config_app *app = op->app->config;

        return app->automated && app->self_heal && !app->report_extra &&
               op->app->env.agent->extra_paths == CONFIG_EXTRA_REMOVE;
}

/* A decision and its notes borrow from what was withheld before, and outlive it: a round has a copy of its own. */
static const struct decide_withheld *withheld_copy(const struct item *item, struct arena *a) {
        struct decide_withheld *copy = arena_alloc(a, (item->withheld_count + 1) * sizeof *copy);

        for (size_t i = 0; i < item->withheld_count; i++)
                copy[i] = (struct decide_withheld){ field_path_dup(a, item->withheld[i].path),
                                                    arena_str(a, item->withheld[i].manager),
                                                    arena_str(a, item->withheld[i].subresource) };
        return copy;
}

/* What is known of the object now. */
static int look(struct op *op, struct str whole, struct err *err) {
        const struct inventory_entry *e = app_entry(op->app, op->item->desired->id);
        struct type old_type = op->type;
        int r;

        op->type = types_find(op->app->types, op->kind);
        type_keep(&op->type);
        type_release(&old_type);
        op->in = (struct decide_input){
                .type = op->type.schema,
                .crd = op->type.crd,
                .key = store_key(op->app->env.store),
                .fingerprint = e && e->has_fingerprint ? &e->fingerprint : NULL,
                .scalers = op->app->env.scalers,
                .policy = &op->app->config->policy,
                .application = op->app->config->name,
                .withheld = withheld_copy(op->item, op->arena),
                .withheld_count = op->item->withheld_count,
                .kept_left_git = op->item->replicas_left,
                .remove_extra = removes_extra(op),
                .adopted = e && (e->flags & INVENTORY_ADOPTED),
                .adopt_argocd = op->app->env.agent->adopt_argocd,
        };
        op->in.paused_count = item_paused(op->item, op->arena, &op->in.paused);
        r = json_parse(op->item->desired->text, op->arena, &op->in.desired, err);
        if (r == 0)
                r = read_live(op, whole, err);
        if (r < 0)
                return r;
        if (op->item->previous)
                json_parse(str_from(op->item->previous), op->arena, &op->in.previous, NULL);
        op->in.foreign_tracker = foreign_tracker(op);
        op->in.replicas_hold = op->in.live && is_held(op); /* a new object gets Git's number */
        return 0;
}

/* The body of the kept answer belongs to the old round's arena, so the new round begins before the old one is freed. */
static void begin_round(struct op *op, struct str whole) {
        _cleanup_(arena_freep) struct arena *old = TAKE_PTR(op->arena);
        struct err err = { 0 };

        op->arena = arena_new(0);
        if (look(op, whole, &err) < 0) {
                fail(op, &err);
                return;
        }
        if (!item_read_lease(op->item, op->in.live, &op->managed, op->full, op->arena, &op->in.override)) {
                get(op);
                return;
        }
        if (make_decision(op, &err) == 0) {
                settle_known_causes(op);
                send_decision(op);
        } else if (op->in.live && !op->full) {
                get(op); /* ownership is to move, and that needs managedFields as the server has them */
        } else {
                fail(op, &err);
        }
}

int op_explain(struct item *item, struct str whole, struct arena *a, struct app_explanation *ret, struct err *err) {
        struct op op = {
                .item = item,
                .app = item->app,
                .mode = DECIDE_DIFF,
                .kind = cluster_find_kind(item->app->env.cluster, item->desired->gvk),
                .arena = a,
        };
        struct managed *owners = arena_alloc(a, sizeof *owners);
        int r = look(&op, whole, err);

        if (r == 0)
                item_read_lease(item, op.in.live, &op.managed, op.full, a, &op.in.override);
        if (r == 0)
                r = make_decision(&op, err);
        type_release(&op.type); /* the application has it as well, until the next turn at least */
        if (r < 0)
                return r;
        *owners = op.managed;
        op.in.managed = op.in.live ? owners : NULL;
        *ret = (struct app_explanation){ .desired = item->desired, .in = op.in, .decision = op.decision };
        return explain(&ret->in, &ret->decision, a, &ret->paths, err);
}

void op_start(struct item *item) {
        struct app *app = item->app;
        const struct desired *d = item->desired;
        struct op *op = mem_zalloc(sizeof *op);

        op->item = item;
        op->app = app;
        op->mode = item->look_only ? DECIDE_DIFF : app->mode;
        op->kind = cluster_find_kind(app->env.cluster, d->gvk);
        op->again = loop_timer_new(app->env.loop, again_now, op);
        op->noticed_ms = item->noticed_ms;
        item->noticed_ms = 0;
        item->op = op;
        item->again = false;
        if (item->read_first)
                get(op);
        else
                begin_round(op, STR(""));
}
