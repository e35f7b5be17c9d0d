/* SPDX-License-Identifier: Apache-2.0 */
/* What an op sends: the one request of a decision, or none. */
#include "agent/op_impl.h"

#include "base/log.h"

/*
 * No object ever has this resourceVersion (etcd's first revision is empty). An apply that carries it creates what is
 * missing and is refused with a conflict where something stands, which makes it the creation that apply lacks: without it
 * an object that somebody made a moment ago would be taken for ours, and pruned one day.
 */
#define NEVER_RV STR("1")

/* A request is under way. */
static void sent(struct op *op, struct kube_op *call) {
        op->call = app_sent(op->app, call);
}

static struct kube_location location(const struct op *op) {
        return kube_resource_location(cluster_kind_resource(op->kind), op->item->desired->ns, op->item->desired->name);
}

void op_get(struct op *op) {
        struct kube_location at = location(op);
        const struct desired *d = op->item->desired;
        const struct live *known = cluster_find(op->kind, d->ns, d->name);

        free(op->asked_rv);
        op->asked_rv = known ? str_dup(str_from(known->rv)) : NULL;
        op->await = OP_GET;
        op->app->counts.requests++;
        sent(op, kube_client_get(op->app->env.client, &at, 0, op_got, op));
}

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
                                   op_answered, op));
}

void op_send_patch(struct op *op) {
        struct kube_location at = location(op);
        struct kube_write how = { .field_manager = STR(OWN_MANAGER) };

        if (!op->full) {
                op_get(op);
                return;
        }
        log_request(op, "patch of owners");
        op->await = OP_PATCH;
        op->app->counts.requests++;
        op->app->counts.writes++;
        sent(op, kube_client_patch(op->app->env.client, &at, KUBE_PATCH_JSON,
                                   value_canonical(op->arena, op->decision.patch), &how, op_answered, op));
}

static void nothing_to_do(struct op *op) {
        op->app->counts.by_fingerprint += op->decision.by_fingerprint;
        op->app->counts.by_proof += op->decision.by_proof;
        op_note_converged(op);
        op_foretell(op, op->in.live);
        if (op->mode == DECIDE_DIFF && op->decision.removes) {
                op_tell_difference(op, op->in.live, &op->managed);
                return;
        }
        op_done(op);
}

static void refuse(struct op *op) {
        struct err err;

        err_set(&err, ERR_DENIED, "%.*s", STR_FMT(op->decision.reason));
        op_finish(op, ITEM_REFUSED, (struct outcome){ .kind = OUTCOME_REFUSED, .err = &err }, &err);
}

static void end_waiting(struct op *op) {
        const char *reason = arena_str(op->arena, op->decision.reason).p;

        op_finish(op, ITEM_WAITING, (struct outcome){ .kind = OUTCOME_WAITING, .reason = reason }, NULL);
}

/*
 * Whose is it that we are about to write for the first time? The inventory that was saved may not know: an object came since,
 * under the name of one that we would have made, or had made; or the application that has it has let it go since.
 */
static bool origin_is_news(struct op *op) {
        const struct inventory_entry *e = app_entry(op->app, op->item->desired->id);
        enum decide_verdict verdict = op->decision.verdict;
        struct tracking t = app_tracking(op->app);
        struct tracker who;

        if (!op->in.live || !e || op->mode == DECIDE_DIFF || op->app->mode == DECIDE_DIFF || verdict == DECIDE_WAIT ||
            verdict == DECIDE_REFUSE)
                return false;
        if (e->uid && str_eqc(value_text(value_path(op->in.live, "metadata", "uid", NULL)), e->uid))
                return false;
        bool adopted = e->flags & INVENTORY_ADOPTED;
        tracking_read(&t, op->in.live, NULL, op->arena, &who);
        if (adopted && who.kind != TRACKER_OUR_OTHER_APP)
                return false;
        return app_adopts(op->app, op->item->desired->id, &who) != adopted;
}

/* It is stored before the object is touched: the op ends, and is begun anew when the inventory is saved. */
static void store_origin(struct op *op) {
        struct item *item = op->item;

        app_entry(op->app, item->desired->id)->flags ^= INVENTORY_ADOPTED;
        op->app->inventory_dirty = true;
        op->app->superset_saved = false;
        item->noticed_ms = op->noticed_ms;
        item->op = NULL;
        op_free(op);
        item_postpone(item);
}

void op_send_decision(struct op *op) {
        if (origin_is_news(op)) {
                store_origin(op);
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
                op_send_patch(op);
                return;
        case DECIDE_WAIT:
                end_waiting(op);
                return;
        case DECIDE_REFUSE:
                refuse(op);
                return;
        }
}
