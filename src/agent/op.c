/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object, from "something may differ" to a verdict. An op goes in rounds: read what is known, decide() (own/decide.h),
 * send at most one request, look at the answer, and either end or go round again with what the answer showed.
 *
 *   GET          when the cache may not know the object, or lost sight of it, or a managedFields patch needs it whole
 *   dry-run      changes nothing → fingerprint; else the difference is told (diff) or applied (sync)
 *   apply        fingerprint from the response; once more round when a scaler may want a hand-over, or rules let something differ
 *   JSON patch   a hand-over or take-over; the response is checked and decided on
 *   creation     an apply that only a missing object takes (NEVER_RV); who was there first is adopted
 *   409, 422     fields: decide_conflict(); everything else: GET and decide again, at most OP_MAX_ROUNDS times
 *   no answer    the outcome is unknown: GET and decide again
 *
 * Memory: everything of a round lives in its arena.
 */
#include "agent/op_impl.h"

#include "base/json.h"

void op_free(struct op *op) {
        if (!op)
                return;
        if (op->call && op->await == OP_APPLY)
                item_note_stray(op->item, op->decision.body, op->arena);
        kube_op_cancel(op->call);
        ignore_cancel(op->ignoring);
        loop_timer_free(op->again);
        arena_free(op->arena);
        arena_free(op->met_arena);
        type_release(&op->type);
        arena_free(op->removed_arena);
        free(op->before);
        free(op->asked_rv);
        free(op);
}

static void again_now(void *ctx) {
        op_get(ctx);
}

/* Another application of this agent that wants the object and comes first; they would overwrite each other for ever. */
static struct str rival(struct op *op, struct str tracked_by) {
        const struct app_env *env = &op->app->env;
        struct str name = env->hooks.rival(env->ctx, op->app, op->item->desired->id, tracked_by);

        return name.n ? arena_strf(op->arena, "application \"%.*s\", which wants it too", STR_FMT(name)) : name;
}

static bool is_in_inventory(const struct op *op) {
        const struct inventory_entry *e = app_entry(op->app, op->item->desired->id);

        return e && e->uid && str_eqc(value_text(value_path(op->in.live, "metadata", "uid", NULL)), e->uid);
}

/* Marks that their owner can be asked to lift; an application of ours, or another truce, says itself whose the object is. */
static bool can_be_lifted(const struct tracker *who) {
        return who->kind == TRACKER_ARGOCD || who->kind == TRACKER_OTHER_TOOL;
}

/* The first of its trackers that is not one which lets go, by configuration; NULL: none. */
static const struct tracker *holder(const struct op *op, const struct tracker *who) {
        bool adopts = op->app->env.agent->adopt_argocd;

        while (who && adopts && who->kind == TRACKER_ARGOCD && who->same_app)
                who = who->next;
        return who;
}

/* What an adoption would find: the object as the sync's first look does, without the marks that hold it today. */
static struct str look_past(struct op *op, const struct tracker *who, const struct tracker *holder) {
        struct str owner = holder ? holder->owner : STR("");
        struct tracking t = app_tracking(op->app);
        struct tracker bare;

        if (!op->app->env.foretell)
                return owner;
        op->adoption = (struct adoption){ .tracker = *who, .held_by = owner, .ours = is_in_inventory(op), .in = &op->in };
        tracking_read(&t, op->in.live, NULL, op->arena, &bare);
        op->in.adopted |= !op->adoption.ours && bare.kind != TRACKER_OURS;
        op->in.adopt_argocd |= who->kind == TRACKER_ARGOCD && who->same_app;
        return can_be_lifted(who) ? STR("") : owner;
}

/*
 * An object with the uid that our inventory holds is ours whatever marks it has lost; for others the marks decide.
 */
static struct str foreign_tracker(struct op *op) {
        struct tracking t = app_tracking(op->app);
        struct tracker who = { 0 };

        op->adoption = (struct adoption){ .in = &op->in };
        if (!op->in.live)
                return rival(op, STR(""));
        tracking_read(&t, op->in.live, op->in.desired, op->arena, &who);
        op->adoption.tracker = who;
        if (who.kind == TRACKER_NONE || who.kind == TRACKER_OUR_OTHER_APP) {
                struct str other = rival(op, who.app);

                if (!other.n && who.app.n)
                        other = rival(op, STR("")); /* that one gave it up, and several may wait for it */
                if (other.n)
                        return other;
        }
        op->in.lock = app_inherits(op->app, op->item->desired->id, &who, NULL);
        if (is_in_inventory(op) || op->in.lock || who.kind == TRACKER_NONE || who.kind == TRACKER_OURS)
                return look_past(op, &who, NULL);
        return look_past(op, &who, holder(op, &who));
}

static int read_live(struct op *op, struct str whole, struct err *err) {
        const struct desired *d = op->item->desired;

        if (whole.n)
                return op_take_answer(op, whole, err);

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

static void hold_what_is_held(struct op *op) {
        op->in.replicas_hold = op->in.live && item_is_held(op->item); /* a new object gets Git's number */
        op->in.unheld_count = op->in.replicas_hold ? item_holds_over(op->item, op->arena, &op->in.unheld) : 0;
}

/* A hold that holds nothing is over: a scaler came, a commit set the path. Of what is not to be touched that is not known. */
static void keep_holds(struct op *op) {
        if (op->decision.verdict != DECIDE_WAIT && op->decision.verdict != DECIDE_REFUSE)
                item_keep_holds(op->item, &op->in, &op->decision);
        op->in.replicas_hold = item_is_held(op->item);
}

/*
 * The first wish to take replicas back begins the hold, unless the agent saw the scaler go and it has begun already; the
 * wish is carried out when the hold is over.
 */
static int make_decision(struct op *op, struct err *err) {
        struct item *item = op->item;
        int r = decide_as(op, op->mode, err);

        if (r == 0 && !op->in.replicas_hold && takes_replicas_back(op)) {
                item_hold(item);
                hold_what_is_held(op);
                r = op->in.replicas_hold ? decide_as(op, op->mode, err) : 0;
        }
        if (r == 0 && op->in.replicas_hold)
                keep_holds(op);
        return r;
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
                .kept = ignore_marks(),
                .kept_count = IGNORE_MARKS,
                .withheld = withheld_copy(op->item, op->arena),
                .withheld_count = op->item->withheld_count,
                .remove_extra = removes_extra(op),
                .adopted = e && (e->flags & INVENTORY_ADOPTED),
                .adopt_argocd = op->app->env.agent->adopt_argocd,
        };
        op->in.known_fields = config_known_fields_of(op->app->config, op->item->desired->gvk.group,
                                                     op->item->desired->gvk.kind, op->arena, &op->in.known_field_count);
        op->in.paused_count = item_paused(op->item, op->arena, &op->in.paused);
        r = json_parse(op->item->desired->text, op->arena, &op->in.desired, err);
        if (r == 0)
                r = read_live(op, whole, err);
        if (r < 0)
                return r;
        if (op->item->previous)
                json_parse(str_from(op->item->previous), op->arena, &op->in.previous, NULL);
        op->in.foreign_tracker = foreign_tracker(op);
        hold_what_is_held(op);
        return 0;
}

/* All that decides is known. */
static void decide_round(struct op *op, const struct err *unknown) {
        struct err err = { 0 };

        if (unknown) {
                op_fail(op, unknown);
                return;
        }
        if (!item_read_lease(op->item, op->in.live, &op->managed, op->full, op->arena, &op->in.override)) {
                op_get(op);
                return;
        }
        if (make_decision(op, &err) == 0) {
                op_settle_known_causes(op);
                op_send_decision(op);
        } else if (op->in.live && !op->full) {
                op_get(op); /* ownership is to move, and that needs managedFields as the server has them */
        } else {
                op_fail(op, &err);
        }
}

/* The body of the kept answer belongs to the old round's arena, so the new round begins before the old one is freed. */
void op_begin_round(struct op *op, struct str whole) {
        _cleanup_(arena_freep) struct arena *old = TAKE_PTR(op->arena);
        struct err err = { 0 };

        op->arena = arena_new(0);
        if (look(op, whole, &err) < 0) {
                op_fail(op, &err);
                return;
        }
        if (op->app->env.foretell && op->in.live && !op->full) {
                op_get(op);
                return;
        }
        op_ignore(op, decide_round);
}

/* An op that is only explained. */
struct explaining {
        struct op op;
        struct app_explanation *ret;
        app_explained done;
        void *ctx;
};

static int explain_round(struct explaining *x, struct err *err) {
        struct op *op = &x->op;
        struct managed *owners = arena_alloc(op->arena, sizeof *owners);
        int r;

        item_read_lease(op->item, op->in.live, &op->managed, op->full, op->arena, &op->in.override);
        r = make_decision(op, err);
        if (r < 0)
                return r;
        *owners = op->managed;
        op->in.managed = op->in.live ? owners : NULL;
        *x->ret = (struct app_explanation){ .desired = op->item->desired, .in = op->in, .decision = op->decision };
        return explain(&x->ret->in, &x->ret->decision, op->arena, &x->ret->paths, err);
}

static void explain_known(struct op *op, const struct err *unknown) {
        struct explaining *x = CONTAINER_OF(op, struct explaining, op);
        struct err err = { 0 };
        int r;

        if (unknown)
                err = *unknown;
        r = unknown ? unknown->code : explain_round(x, &err);
        type_release(&op->type); /* the application has it as well, until the next turn at least */
        x->done(x->ctx, r < 0 ? &err : NULL);
}

int op_explain(struct item *item, struct str whole, struct arena *a, struct app_explanation *ret, app_explained done,
               void *ctx, struct err *err) {
        struct explaining *x = arena_zalloc(a, sizeof *x);
        int r;

        *x = (struct explaining){
                .op = {
                        .item = item,
                        .app = item->app,
                        .mode = DECIDE_DIFF,
                        .kind = cluster_find_kind(item->app->env.cluster, item->desired->gvk),
                        .arena = a,
                },
                .ret = ret,
                .done = done,
                .ctx = ctx,
        };
        r = look(&x->op, whole, err);
        if (r < 0) {
                type_release(&x->op.type);
                return r;
        }
        op_ignore(&x->op, explain_known);
        return 0;
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
        if (item->read_first || cluster_is_unread(op->kind, d->ns, d->name))
                op_get(op);
        else
                op_begin_round(op, STR(""));
}
