/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One desired object of an application: its state, its place in a queue, its retries.
 */
#include "agent/app_impl.h"

#include "base/json.h"
#include "diff/print.h"
#include "diff/text.h"
#include "diff/title.h"

#define SPREAD_MS 1000
#define REPORT_MAX_BYTES (16 * 1024)

void item_free(void *p) {
        struct item *item = p;

        op_free(item->op);
        item_forget_health(item);
        arena_free(item->withheld_arena);
        fight_book_done(&item->fights);
        free(item->awaited_rv);
        free(item->lease);
        free(item->stray);
        free(item->previous);
        free(item->report);
        free(item->kept);
        free(item->holds);
        free(item);
}

enum stage item_stage(const struct desired *d) {
        if (manifest_is_namespace(d->gvk.group, d->gvk.kind))
                return STAGE_NAMESPACES;
        if (manifest_is_crd(d->gvk.group, d->gvk.kind))
                return STAGE_CRDS;
        return !d->gvk.group.n && str_eqc(d->gvk.kind, "Service") ? STAGE_SERVICES : STAGE_REST;
}

void item_queue(struct item *item) {
        struct queue *q = &item->app->queue[item->stage];

        if (item->state == ITEM_QUEUED)
                return;
        if (item->state == ITEM_RUNNING) {
                item->again = true;
                return;
        }
        item->state = ITEM_QUEUED;
        item->next = NULL;
        if (q->last)
                q->last->next = item;
        else
                q->first = item;
        q->last = item;
        item->app->settled = false;
        item->app->concluded = false;
        item->app->observed = false;
        app_kick(item->app);
}

struct item *queue_take(struct queue *q) {
        struct item *item = q->first;

        q->first = item->next;
        if (!q->first)
                q->last = NULL;
        return item;
}

void app_wake(struct app *app, int64_t at_ms) {
        int64_t now_ms = loop_now_ms(app->env.loop);

        if (loop_timer_is_running(app->retry) && app->wake_at_ms <= at_ms)
                return;
        app->wake_at_ms = at_ms;
        loop_timer_start(app->retry, at_ms > now_ms ? at_ms - now_ms : 0);
}

/* What the decision keeps of last time's is borrowed from there: the copy is made before that goes. */
void item_keep_withheld(struct item *item, const struct decision *decision) {
        _cleanup_(arena_freep) struct arena *old = NULL;
        struct decide_withheld *copy = NULL;

        if (decision->withheld == item->withheld)
                return;
        old = TAKE_PTR(item->withheld_arena);
        if (decision->withheld_count) {
                item->withheld_arena = arena_new(0);
                copy = arena_alloc(item->withheld_arena, decision->withheld_count * sizeof *copy);
        }
        for (size_t i = 0; i < decision->withheld_count; i++)
                copy[i] = (struct decide_withheld){
                        field_path_dup(item->withheld_arena, decision->withheld[i].path),
                        arena_str(item->withheld_arena, decision->withheld[i].manager),
                        arena_str(item->withheld_arena, decision->withheld[i].subresource),
                };
        item->withheld = copy;
        item->withheld_count = decision->withheld_count;
}

/* What of an object a refusal can depend on: a status changes all the time, and no refusal is about it. */
static struct hash128 content_hash(const struct value *object, struct arena *a) {
        static const struct hash_key no_key;
        static const char *const silent[] = { "managedFields", "resourceVersion" };
        const struct value *v = value_with(a, object, STR("status"), NULL);

        for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
                struct str keys[] = { STR("metadata"), str_from(silent[i]) };

                if (value_path(v, "metadata", silent[i], NULL))
                        v = value_with_path(a, v, keys, 2, NULL);
        }
        return value_hash(&no_key, v);
}

void item_note_refused(struct item *item, const struct value *live) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        item->refused_hash = live ? content_hash(live, a) : (struct hash128){ 0 };
}

bool item_is_refused(const struct item *item, const struct live *live) {
        _cleanup_(arena_freep) struct arena *a = NULL;
        struct managed owners;

        if (item->state != ITEM_FAILED || item->retry_at_ms || !live)
                return false;
        a = arena_new(live->text_bytes);
        return hash128_eq(content_hash(live_value(live, a, &owners), a), item->refused_hash);
}

static void add_place(const struct item *item, const struct decide_note *n, struct buf *out) {
        const struct desired *d = item->desired;

        diff_title(d->gvk.group, d->gvk.kind, d->name, false, out);
        if (d->ns.n)
                buf_addf(out, " -n %.*s", STR_FMT(d->ns));
        buf_addch(out, ' ');
        diff_path_print(n->path, out);
}

static void add_report(const struct item *item, const struct decide_note *n, struct buf *out) {
        add_place(item, n, out);
        buf_addc(out, ", owned by ");
        text_add(out, n->owner);
        buf_addch(out, '\n');
}

static void add_kept(const struct item *item, const struct decide_note *n, struct buf *out) {
        add_place(item, n, out);
        buf_addc(out, ", ");
        if (n->kind == DECIDE_OVERRIDDEN) {
                text_add(out, n->owner);
                buf_addc(out, ": ");
        }
        text_add(out, str_from(n->rule));
        buf_addch(out, '\n');
}

void item_keep_notes(struct item *item, const struct outcome *outcome) {
        _cleanup_(buf_done) struct buf report = buf_make(REPORT_MAX_BYTES);
        _cleanup_(buf_done) struct buf kept = buf_make(REPORT_MAX_BYTES);

        item->yielded = item->reported = 0;
        for (size_t i = 0; i < outcome->note_count; i++) {
                const struct decide_note *n = &outcome->notes[i];

                item->yielded += n->kind == DECIDE_YIELDED;
                bool reported = n->kind == DECIDE_REPORTED || decide_note_is_remark(n->kind);

                item->reported += reported;
                if (reported)
                        add_report(item, n, &report);
                if (n->kind == DECIDE_OVERRIDDEN || n->kind == DECIDE_HELD)
                        add_kept(item, n, &kept);
        }
        free(TAKE_PTR(item->report));
        if (report.n)
                item->report = buf_take(&report);
        free(TAKE_PTR(item->kept));
        if (kept.n)
                item->kept = buf_take(&kept);
}

bool app_is_mishap(enum err_code code) {
        return code == ERR_CONFLICT || code == ERR_UNREACHABLE || code == ERR_TIMEOUT || code == ERR_THROTTLED ||
               code == ERR_GONE;
}

/* What the server refuses is tried again as syncPolicy.retry says. */
static void schedule_retry(struct item *item, const struct err *err) {
        struct app *app = item->app;
        const struct config_retry *retry = &app->config->retry;
        struct backoff slow = { retry->first_ms, (double)retry->factor, retry->max_ms };
        bool mishap = app_is_mishap(err->code);

        item->attempts++;
        item->retry_at_ms = 0;
        item->lost = err->code == ERR_UNREACHABLE || err->code == ERR_TIMEOUT;
        app->any_lost |= item->lost;
        if (!err_is_transient(err->code) || (!mishap && retry->limit >= 0 && item->attempts > retry->limit))
                return;
        item->retry_at_ms = loop_now_ms(app->env.loop) + backoff_after(mishap ? &BACKOFF_OBJECT : &slow, item->attempts, err,
                                                                       (unsigned)loop_random(app->env.loop, 1000));
        app_wake(app, item->retry_at_ms);
}

/* Back-off was for a server that is away; many objects still do not come back at once. */
void app_server_is_back(struct app *app) {
        int64_t now_ms = loop_now_ms(app->env.loop);
        size_t at = 0;
        void *p;

        if (app->save_failures)
                app_wake(app, now_ms + (int64_t)loop_random(app->env.loop, SPREAD_MS));
        app->save_failures = 0;
        if (!app->any_lost)
                return;
        app->any_lost = false;
        while (map_next(app->items, &at, NULL, &p)) {
                struct item *item = p;

                if (item->state != ITEM_FAILED || !item->lost)
                        continue;
                item->lost = false;
                item->attempts = 0;
                item->retry_at_ms = now_ms + (int64_t)loop_random(app->env.loop, SPREAD_MS);
                app_wake(app, item->retry_at_ms);
        }
}

bool item_is_too_soon(struct item *item) {
        struct app *app = item->app;
        int64_t due_ms = item->retry_at_ms;

        if (item->state != ITEM_FAILED)
                return false;
        if (!due_ms)
                due_ms = item->ended_ms + backoff_ms(&BACKOFF_OBJECT, item->attempts);
        if (due_ms <= loop_now_ms(app->env.loop))
                return false;
        item->retry_at_ms = due_ms;
        app_wake(app, due_ms);
        return true;
}

static struct hash128 desired_hash(const struct item *item) {
        static const struct hash_key no_key;

        return hash128(&no_key, item->desired->text);
}

/* An apply that names no uid makes the object where there is none. */
static void note_creation(struct item *item) {
        struct inventory_entry *e = app_entry(item->app, item->desired->id);

        if (!e)
                return;
        e->stray_until_ms = item->stray_until_ms;
        if (!(e->flags & INVENTORY_PENDING))
                item->app->inventory_dirty = true;
        e->flags |= INVENTORY_PENDING;
}

void item_note_stray(struct item *item, const struct value *body, struct arena *scratch) {
        free(item->stray);
        item->stray = str_dup(value_canonical(scratch, body));
        item->stray_desired = desired_hash(item);
        item->stray_until_ms = loop_now_ms(item->app->env.loop) + APP_STRAY_MS;
        if (!value_path(body, "metadata", "uid", NULL))
                note_creation(item);
}

/* One that says what Git says now undoes nothing. */
static bool may_undo(const struct item *item) {
        return item->stray && item->stray_until_ms > loop_now_ms(item->app->env.loop) &&
               !hash128_eq(item->stray_desired, desired_hash(item));
}

/* Does the live object hold all that the apply said? A person's edit of any of it shows that it is not what happened last. */
static bool holds(const struct value *live, const struct value *body, const struct schema *type, struct arena *a) {
        const struct fieldset *set = fieldset_of_value(body, type, a, NULL);
        const struct value *have = own_project(live, set, type, a), *said = own_project(body, set, type, a);

        return have && said && value_equal(have, said);
}

static bool is_what_a_stray_made(struct item *item) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct app *app = item->app;
        const struct desired *d = item->desired;
        struct cluster_kind *kind = cluster_find_kind(app->env.cluster, d->gvk);
        const struct live *live = kind ? cluster_find(kind, d->ns, d->name) : NULL;
        const struct value *body;
        struct managed owners;

        if (!live || !may_undo(item) || json_parse(str_from(item->stray), a, &body, NULL) < 0)
                return false;
        return holds(live_value(live, a, &owners), body, types_find(app->types, kind).schema, a);
}

/* Without self-heal what this commit has brought about is only looked at; what it has not yet is still applied. */
void item_look_or_heal(struct item *item) {
        const struct app *app = item->app;

        if (item->state == ITEM_SYNCED || item->state == ITEM_OUT_OF_SYNC)
                item->look_only = app->mode == DECIDE_AUTO && !app->config->self_heal && !is_what_a_stray_made(item);
}

void item_finish(struct item *item, enum item_state state, const struct outcome *outcome, const struct err *err) {
        struct app *app = item->app;
        struct outcome o = *outcome;

        if (item->state == ITEM_RUNNING) {
                app->queue[item->stage].running--;
                app->running--;
        }
        item->state = state;
        item->ended_ms = loop_now_ms(app->env.loop);
        o.retry_in_ms = -1;
        if (state == ITEM_FAILED || state == ITEM_REFUSED) {
                o.mishap = app_is_mishap(err->code);
                schedule_retry(item, err);
                if (item->retry_at_ms)
                        o.retry_in_ms = item->retry_at_ms - loop_now_ms(app->env.loop);
        } else {
                item->attempts = 0;
                if (state == ITEM_SYNCED)
                        app_server_is_back(app);
        }
        if (o.kind == OUTCOME_CREATED || o.kind == OUTCOME_CONFIGURED)
                item_note_applied(item);
        item_look_at_health(item);
        app->env.hooks.outcome(app->env.ctx, app, &o);
        if (item->again) {
                item->again = false;
                item_look_or_heal(item);
                if (!item_is_too_soon(item))
                        item_queue(item);
        }
        app_kick(app);
}

void item_postpone(struct item *item) {
        item->app->queue[item->stage].running--;
        item->app->running--;
        item->state = ITEM_OUT_OF_SYNC;
        item->again = false;
        item_queue(item);
}

/* An end without an op: the kind cannot be read, the object is parked … */
void item_finish_unstarted(struct item *item, enum item_state state, enum outcome_kind kind, const struct err *err,
                             const char *reason) {
        struct outcome o = {
                .kind = kind, .id = item->desired->id.p, .file = item->desired->file, .line = item->desired->line,
                .secret = item->desired->secret, .err = err, .reason = reason,
        };

        item_finish(item, state, &o, err);
}

/* The earlier of two moments of which 0 is none. */
static int64_t sooner(int64_t a_ms, int64_t b_ms) {
        return a_ms && (!b_ms || a_ms < b_ms) ? a_ms : b_ms;
}

/* When the item wants to be looked at again by itself; 0: it does not. */
static int64_t item_due_ms(const struct item *item) {
        if (item->state == ITEM_FAILED || item->state == ITEM_REFUSED)
                return item->retry_at_ms;
        if (item->state != ITEM_SYNCED)
                return 0;
        return sooner(item_hold_due_ms(item), sooner(item->pause_until_ms, item->lease_until_ms));
}

static void forget_due(struct app *app, int64_t now_ms) {
        if (!app->forget_at_ms)
                return;
        if (app->forget_at_ms > now_ms) {
                app_wake(app, app->forget_at_ms);
                return;
        }
        app->forget_at_ms = 0;
        app->prune_again = true;
        app->prune_done = app->settled = app->concluded = app->observed = false;
}

/* Items whose time has come go back to their queues; the timer is set for the next one. */
void app_retry_due(void *ctx) {
        struct app *app = ctx;
        int64_t now_ms = loop_now_ms(app->env.loop);
        size_t at = 0;
        void *p;

        while (map_next(app->items, &at, NULL, &p)) {
                struct item *item = p;
                int64_t due_ms = item_due_ms(item);

                if (!due_ms)
                        continue;
                if (due_ms > now_ms) {
                        app_wake(app, due_ms);
                        continue;
                }
                item->read_first |= item->state != ITEM_SYNCED || due_ms == item_hold_due_ms(item);
                item_queue(item);
        }
        forget_due(app, now_ms);
        app_prune_look_at_others(app);
        app_kick(app);
}
