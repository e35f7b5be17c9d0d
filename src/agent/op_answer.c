/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server answers to the requests of an op, and what follows. */
#include "agent/op_impl.h"

#include "base/json.h"
#include "own/immutable.h"
#include "own/overlay.h"

#define OP_JITTER_FROM_ROUND 4
#define OP_JITTER_MS 500

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

static void received(struct op *op) {
        op->call = NULL;
        loop_timer_stop(op->again);
}

/* Lost a race, or do not know what happened: read and decide again, a little later when it goes on like that. */
static void read_again(struct op *op, const struct err *err) {
        if (++op->rounds >= OP_MAX_ROUNDS) {
                op_fail(op, err);
                return;
        }
        int64_t wait_ms = 0;
        if (op->rounds >= OP_JITTER_FROM_ROUND)
                wait_ms = (int64_t)loop_random(op->app->env.loop, OP_JITTER_MS);
        loop_timer_start(op->again, wait_ms);
}

/* An answer may be older than what came meanwhile: a watch, or what another application wrote. */
static bool is_as_asked(const struct op *op) {
        const struct desired *d = op->item->desired;
        const struct live *known = cluster_find(op->kind, d->ns, d->name);

        return known && op->asked_rv ? strcmp(known->rv, op->asked_rv) == 0 : !known && !op->asked_rv;
}

void op_got(void *ctx, const struct kube_result *result) {
        struct op *op = ctx;
        const struct desired *d = op->item->desired;
        struct err err = result->err;

        received(op);
        op->item->read_first = false;
        if (err.code == ERR_NOTFOUND && !result->status.not_served) {
                if (is_as_asked(op))
                        cluster_drop(op->kind, d->ns, d->name);
                op_begin_round(op, STR(""));
                return;
        }
        if (err.code || !cluster_put(op->kind, result->body, &err)) {
                if (err.code == ERR_LIMIT)
                        err.code = ERR_DENIED; /* somebody may make it readable, and no watch need show that */
                if (err.code == ERR_NOTFOUND)
                        err.code = ERR_GONE; /* its kind is, and may come back without Git */
                op_fail(op, &err);
                return;
        }
        op_begin_round(op, result->body);
}

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

void op_settle_known_causes(struct op *op) {
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
                op_fail(op, &err);
                return;
        }
        if (!op->in.live) {
                op_get(op); /* it is there, and we had not seen it */
                return;
        }
        if (decide_conflict(&op->in, &before, causes, n, op->arena, &op->decision, &err) < 0) {
                op_fail(op, &err);
                return;
        }
        if (op->decision.verdict == DECIDE_REFUSE && !op->full) {
                op_get(op);
                return;
        }
        if (op->decision.force)
                remember_causes(op, causes, n);
        op_send_decision(op);
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
        op_tell_difference(op, own_overlay(op->arena, rest, op->decision.effective, op->in.type), &nobody);
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
        op_send_patch(op);
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
                if (op->await == OP_APPLY)
                        item_note_stray(op->item, op->decision.body, op->arena);
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
                op_finish(op, ITEM_OUT_OF_SYNC,
                          (struct outcome){ .kind = OUTCOME_MISSING, .after = op->decision.body }, NULL);
                return;
        }
        /* Its namespace or its kind is not there now; that may change without Git. */
        if (result->status.namespace_missing)
                op->app->namespace_ready = false;
        if (err.code == ERR_NOTFOUND)
                err.code = ERR_GONE;
        if (err.code == ERR_INVAL)
                say_what_helps(op, result, &err);
        op_fail(op, &err);
}

int op_take_answer(struct op *op, struct str body, struct err *err) {
        const struct value *answer;
        int r = json_parse(body, op->arena, &answer, err);

        if (r == ERR_LIMIT)
                return err_set(err, r, "the API server's answer cannot be read: with its managedFields the object nests deeper than %d "
                                       "levels", JSON_MAX_DEPTH);
        if (r == 0)
                r = managed_parse(answer, op->arena, &op->managed, err);
        if (r < 0)
                return err_wrap(err, r, "the answer of the API server");
        op->in.live = answer;
        op->in.managed = &op->managed;
        op->full = true;
        return 0;
}

void op_foretell(struct op *op, const struct value *answer) {
        if (op->app->env.foretell && op->in.live && op->full &&
            foretell(&op->in, &op->decision, answer, op->arena, &op->foretold, NULL) == 0)
                op->adoption.foretold = &op->foretold;
}

static void dry_run_answered(struct op *op, const struct kube_result *result) {
        const struct value *answer;
        struct managed owners;
        struct err err = { 0 };

        if (json_parse(result->body, op->arena, &answer, &err) < 0 ||
            managed_parse(answer, op->arena, &owners, &err) < 0) {
                op_fail(op, &err);
                return;
        }
        op_foretell(op, answer);
        if (op->in.live && dry_run_is_no_op(op, answer, &owners) && !op->decision.removes) {
                op_note_converged(op);
                op_done(op);
                return;
        }
        if (op->mode == DECIDE_DIFF) {
                op_tell_difference(op, answer, &owners);
                return;
        }
        op->mode = DECIDE_AUTO; /* it was looked at; now for real */
        op_begin_round(op, op->full ? value_canonical(op->arena, op->in.live) : STR(""));
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
        int r = op_take_answer(op, body, err), order;

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

/* What may differ is found in both sides: with what is live now it may be more than it was. */
static bool needs_another_look(struct op *op) {
        return op->ignores || op->decision.has_scaler || op->decision.omits || op->decision.seeds ||
               op->decision.withheld_count > 0 || decide_may_tidy(&op->in, &op->managed);
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
        if (result->http_status == 201) {
                if (app_entry(op->app, op->item->desired->id))
                        app_entry(op->app, op->item->desired->id)->flags &= ~(unsigned)INVENTORY_ADOPTED; /* that one is gone */
                item_end_holds(op->item); /* it has Git's values */
        }
        if (take_write(op, result->body, &err) < 0) {
                op_fail(op, &err);
                return;
        }
        op->wrote |= !str_eq(rv_of(old), rv_of(op->in.live));
        note_write(op, old, &owners);
        op_note_converged(op);
        if (needs_another_look(op) && ++op->rounds < OP_MAX_ROUNDS)
                op_begin_round(op, result->body);
        else
                op_done(op);
}

static void patch_answered(struct op *op, const struct kube_result *result) {
        struct managed after = op->decision.after;
        struct err err = { 0 };

        if (take_write(op, result->body, &err) < 0) {
                op_fail(op, &err);
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
        op_remember_removed(op);
        failpoint("after-hand-over");
        if (++op->rounds < OP_MAX_ROUNDS)
                op_begin_round(op, result->body);
        else
                op_fail(op, &(struct err){ .code = ERR_CONFLICT, .msg = "ownership changes again and again" });
}

void op_answered(void *ctx, const struct kube_result *result) {
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
