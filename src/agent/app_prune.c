/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out a prune plan (sync/prune.h): stage by stage, each deletion with uid and resourceVersion, each waited for
 * until the object is gone. What blocks (a finalizer, a lost race, a refusal) is told and tried again; finalizers are
 * never stripped.
 */
#include "agent/app_impl.h"

#include "base/json.h"
#include "manifest/order.h"

#define PRUNE_POLL_MS 2000      /* objects that are being deleted are looked at so often beside the watch */
#define PRUNE_RETRY_MS 5000     /* after a refusal */
#define RENDER_POLL_MS 100      /* while commits of other applications are read */
#define UNREAD_POLL_MS 60000    /* while they cannot be read */
/*
 * A creation that was under way when its object left Git, or when an agent died, may still arrive. So long what was
 * announced and is not there is remembered, for what then comes would be known to nobody. What an earlier process has
 * buried was waited for: a one-shot sync ends before the time is over, and the next one forgets.
 */
#define PRUNE_ARRIVAL_MS 15000

enum victim_state { VICTIM_TODO, VICTIM_ASKED, VICTIM_GOING, VICTIM_GONE };

struct victim {
        struct prune_run *run;
        char *id, *version, *uid; /* uid of the object meant; NULL: not known */
        enum prune_stage stage;
        enum victim_state state;
        struct told told;
        bool left_watch;      /* the watch lost it while the deletion was under way */
        struct kube_op *call;
        int64_t due_ms;       /* next look or attempt */
};

struct prune_run {
        struct app *app;
        struct victim *victims;
        size_t count;
        enum prune_stage stage;
        struct loop_timer *timer;
        int64_t timer_at_ms;  /* when it fires, while it runs */
};

void app_prune_free(struct prune_run *run) {
        if (!run)
                return;
        for (size_t i = 0; i < run->count; i++) {
                kube_op_cancel(run->victims[i].call);
                free(run->victims[i].id);
                free(run->victims[i].version);
                free(run->victims[i].uid);
                told_clear(&run->victims[i].told);
        }
        loop_timer_free(run->timer);
        free(run->victims);
        free(run);
}

/* --- the plan's input ------------------------------------------------------------------------------------------- */

bool app_has_controller(const struct value *object) {
        const struct value *owners = value_path(object, "metadata", "ownerReferences", NULL);

        for (size_t i = 0; value_is(owners, VALUE_LIST) && i < owners->list.count; i++) {
                if (value_truth(value_getc(owners->list.items[i], "controller"), false))
                        return true;
        }
        return false;
}

static void describe_live(const struct app *app, struct prune_candidate *c, const struct live *live) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct tracking t = app_tracking(app);
        struct managed owners;
        struct tracker who;
        const struct value *object = live_value(live, a, &owners);
        bool same = c->entry->uid && strcmp(c->entry->uid, live->uid) == 0;

        tracking_read(&t, object, NULL, a, &who);
        c->exists = true;
        c->live_uid = str_from(live->uid);
        c->live_foreign = app_has_controller(object) || who.kind == TRACKER_OUR_OTHER_APP || (!same && who.kind != TRACKER_OURS);
        c->wanted = app_is_wanted_elsewhere(app, str_from(c->entry->id));
        c->handed_on = c->wanted && who.kind == TRACKER_OUR_OTHER_APP;
        c->live_protected = manifest_value_is_kept(object) || manifest_value_is_skipped(object);
}

/* A kind that a healthy discovery does not list has no objects. */
static bool kind_is_gone(const struct app *app) {
        const struct kube_discovery *d = cluster_discovery(app->env.cluster);
        size_t warnings;

        kube_discovery_warnings(d, &warnings);
        return warnings == 0;
}

static struct prune_candidate describe(const struct app *app, const struct inventory_entry *e) {
        struct prune_candidate c = { .entry = e };
        struct inventory_id id;

        if (!inventory_id_split(str_from(e->id), &id))
                return c;
        c.excluded = manifest_is_excluded(&app->config->filter, id.group, id.kind);
        c.namesake = app_has_namesake(app, &id);
        if (c.excluded || c.namesake)
                return c;
        struct cluster_kind *k = app_kind_of(app, str_from(e->id), str_from(e->version));
        c.custom = !manifest_group_is_builtin(id.group);
        c.rank = -manifest_prune_rank(id.group, id.kind);
        c.holds_wanted = app_takes_wanted_along(app, &id);
        if (!k || cluster_kind_state(k) == CLUSTER_KIND_UNKNOWN) {
                c.known = kind_is_gone(app);
                return c;
        }
        c.known = cluster_kind_state(k) == CLUSTER_KIND_SYNCED && !cluster_is_unread(k, id.namespace, id.name);
        const struct live *live = cluster_find(k, id.namespace, id.name);
        if (live)
                describe_live(app, &c, live);
        return c;
}

/*
 * What is not there, or is another object, though an earlier process saw it was deleted by somebody, and that process may have
 * died making it anew. One that was to be deleted by truce says itself whether it may come again.
 */
static void expect_again(const struct app *app, const struct prune_candidate *c, struct inventory_entry *e) {
        if (!c->known || !e->uid || (e->flags & INVENTORY_TOMBSTONE) || (c->exists && str_eqc(c->live_uid, e->uid)) ||
            !app_expect_of_earlier(app, e) || c->exists)
                return;
        free(TAKE_PTR(e->uid));
        e->flags |= INVENTORY_PENDING;
}

static struct prune_candidate *gather(struct app *app, size_t *ret_count, size_t *ret_inventory) {
        size_t count, n = 0;
        _cleanup_(mem_freep) struct inventory_entry **list = inventory_sorted(app->inventory, &count);
        struct prune_candidate *c = mem_alloc((count + 1) * sizeof *c);

        for (size_t i = 0; i < count; i++) {
                if (desired_find(app->desired, str_from(list[i]->id)))
                        continue;
                c[n] = describe(app, list[i]);
                expect_again(app, &c[n++], list[i]);
        }
        *ret_count = n;
        *ret_inventory = count;
        return c;
}

/* --- telling ---------------------------------------------------------------------------------------------------- */

static void tell(struct app *app, enum outcome_kind kind, const char *id, const char *reason, const struct err *err) {
        const struct inventory_entry *e = app_entry(app, str_from(id));
        struct outcome o = { .kind = kind, .id = id, .reason = reason, .err = err,
                             .file = str_from(e ? e->file : NULL), .retry_in_ms = err ? PRUNE_RETRY_MS : -1 };

        app->env.hooks.outcome(app->env.ctx, app, &o);
}

/* --- deletions -------------------------------------------------------------------------------------------------- */

static void go_on(void *ctx);

static void later(struct prune_run *run, int64_t ms) {
        int64_t at_ms = loop_now_ms(run->app->env.loop) + ms;

        if (loop_timer_is_running(run->timer) && run->timer_at_ms <= at_ms)
                return;
        run->timer_at_ms = at_ms;
        loop_timer_start(run->timer, ms);
}

static void await_arrival(struct app *app, int64_t until_ms) {
        if (app->forget_at_ms < until_ms)
                app->forget_at_ms = until_ms;
        app_wake(app, until_ms);
}

static void bury(struct app *app, struct inventory_entry *e) {
        if (e->flags & INVENTORY_TOMBSTONE)
                return;
        e->flags |= INVENTORY_TOMBSTONE;
        e->buried = true;
        app->inventory_dirty = true;
}

/* An apply that was given up may arrive behind the deletion, and makes it anew: it is looked for when that cannot be any more. */
static bool may_come_again(struct app *app, struct inventory_entry *e) {
        if (!e || e->stray_until_ms <= loop_now_ms(app->env.loop))
                return false;
        free(TAKE_PTR(e->uid));
        e->asked = false;
        e->flags |= INVENTORY_PENDING;
        bury(app, e);
        await_arrival(app, e->stray_until_ms);
        return true;
}

static void gone(struct victim *v) {
        struct app *app = v->run->app;
        const char *census = app_census_of(app, v->id);

        if (v->state == VICTIM_GONE)
                return;
        v->state = VICTIM_GONE;
        app->counts.pruned++;
        tell(app, OUTCOME_PRUNED, v->id, census ? census : "", NULL);
        if (!may_come_again(app, app_entry(app, str_from(v->id))))
                inventory_remove(app->inventory, str_from(v->id));
        app->inventory_dirty = true;
        failpoint("mid-prune");
        later(v->run, 0);
}

/* It is not ours to delete any more: replaced, or taken by somebody else. */
static void spare(struct victim *v, enum prune_verdict verdict) {
        struct app *app = v->run->app;

        v->state = VICTIM_GONE;
        if (verdict == PRUNE_FORGET) {
                inventory_remove(app->inventory, str_from(v->id));
        } else {
                app_entry(app, str_from(v->id))->kept = verdict;
                tell(app, OUTCOME_KEPT, v->id, prune_reason(verdict), NULL);
        }
        app->inventory_dirty = true;
        later(v->run, 0);
}

static bool locate(const struct victim *v, struct cluster_kind **ret_kind, struct kube_location *ret_at) {
        struct inventory_id id;

        *ret_kind = app_kind_of(v->run->app, str_from(v->id), str_from(v->version));
        if (!*ret_kind || !inventory_id_split(str_from(v->id), &id))
                return false;
        *ret_at = kube_resource_location(cluster_kind_resource(*ret_kind), id.namespace, id.name);
        return true;
}

static const struct live *live_of(const struct victim *v) {
        struct inventory_id id;
        struct cluster_kind *k = app_kind_of(v->run->app, str_from(v->id), str_from(v->version));

        return k && inventory_id_split(str_from(v->id), &id) ? cluster_find(k, id.namespace, id.name) : NULL;
}

static void wait_for(struct victim *v, int64_t ms) {
        v->due_ms = loop_now_ms(v->run->app->env.loop) + ms;
        later(v->run, ms);
        app_store_soon(v->run->app);
}

/* Said before it is done. */
static void tell_leaving(struct victim *v) {
        _cleanup_(buf_done) struct buf what = buf_make(8 * 1024);

        buf_addf(&what, "%s to be gone, %s", v->id, app_census_of(v->run->app, v->id));
        app_tell_waiting(v->run->app, &v->told, what.p);
}

static void tell_blockers(struct victim *v, const struct live *live) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf what = buf_make(4096);
        struct managed owners;
        const struct value *finalizers = value_path(live_value(live, a, &owners), "metadata", "finalizers", NULL);

        buf_addf(&what, "%s to be gone", v->id);
        for (size_t i = 0; value_is(finalizers, VALUE_LIST) && i < finalizers->list.count; i++)
                buf_addf(&what, "%s%.*s", i ? ", " : ": held by finalizer ", STR_FMT(value_text(finalizers->list.items[i])));
        app_tell_waiting(v->run->app, &v->told, what.p);
}

/* Its deletion is under way, whoever asked for it. */
static void await_end(struct victim *v, const struct live *live) {
        v->state = VICTIM_GOING;
        tell_blockers(v, live);
        wait_for(v, PRUNE_POLL_MS);
}

/* An answer may be older than the object that stands there by now: another application may have made one of its name. */
static void not_there(struct victim *v) {
        struct cluster_kind *k;
        struct kube_location at;
        const struct live *live = locate(v, &k, &at) ? cluster_find(k, at.namespace, at.name) : NULL;

        if (live && (!v->uid || strcmp(live->uid, v->uid) == 0))
                cluster_drop(k, at.namespace, at.name);
        gone(v);
}

/* A run that is cut short, and begun anew, looks first whether it did what was asked for. */
static void note_asked(const struct victim *v, bool asked) {
        struct inventory_entry *e = app_entry(v->run->app, str_from(v->id));

        if (e)
                e->asked = asked;
}

static void looked(void *ctx, const struct kube_result *result) {
        struct victim *v = ctx;
        struct cluster_kind *k;
        struct kube_location at;

        v->call = NULL;
        if (result->err.code == ERR_NOTFOUND) {
                not_there(v);
                return;
        }
        if (result->err.code == 0 && locate(v, &k, &at)) {
                const struct live *live = cluster_put(k, result->body, NULL);

                if (live && v->uid && strcmp(live->uid, v->uid) != 0) {
                        gone(v);
                        return;
                }
                if (live && live->deleting) {
                        await_end(v, live);
                        return;
                }
                note_asked(v, false);
                v->state = VICTIM_TODO;
        }
        wait_for(v, v->state == VICTIM_TODO ? 0 : PRUNE_POLL_MS);
}

static void look(struct victim *v) {
        struct cluster_kind *k;
        struct kube_location at;

        if (!locate(v, &k, &at)) {
                gone(v);
                return;
        }
        v->run->app->counts.requests++;
        v->call = app_sent(v->run->app, kube_client_get(v->run->app->env.client, &at, 0, looked, v));
}

static void deleted(void *ctx, const struct kube_result *result) {
        struct victim *v = ctx;

        v->call = NULL;
        if (v->state == VICTIM_GONE)
                return;
        if (result->err.code == 0) {
                v->state = VICTIM_GOING;
                wait_for(v, v->left_watch ? 0 : PRUNE_POLL_MS);
        } else if (result->err.code == ERR_NOTFOUND) {
                not_there(v);
        } else if (result->err.code == ERR_CONFLICT) {
                look(v);
        } else {
                tell(v->run->app, OUTCOME_FAILED, v->id, "prune", &result->err);
                note_asked(v, result->err.code == ERR_TIMEOUT || result->err.code == ERR_UNREACHABLE);
                v->state = VICTIM_TODO;
                wait_for(v, PRUNE_RETRY_MS);
        }
}

/* On what is live now: between plan and deletion somebody may have protected or taken it. */
static enum prune_verdict judge_again(const struct victim *v, const struct prune_candidate *c) {
        if (c->wanted)
                return PRUNE_KEEP_WANTED;
        if (c->live_foreign)
                return v->uid ? PRUNE_KEEP_FOREIGN : PRUNE_FORGET;
        if (c->live_protected)
                return PRUNE_KEEP_PROTECTED;
        return c->holds_wanted ? prune_keeps_holder(c->entry) : PRUNE_DELETE;
}

static enum kube_propagation propagation_of(const struct app *app) {
        enum kube_propagation asked = app->config->prune_propagation;

        return asked == KUBE_PROPAGATION_DEFAULT ? KUBE_PROPAGATION_BACKGROUND : asked;
}

static void delete(struct victim *v) {
        struct app *app = v->run->app;
        const struct live *live = live_of(v);
        struct inventory_entry *e = app_entry(app, str_from(v->id));
        struct cluster_kind *k;
        struct kube_location at;

        if (!e || !live || !locate(v, &k, &at)) {
                look(v);
                return;
        }
        struct prune_candidate c = describe(app, e);
        enum prune_verdict verdict = judge_again(v, &c);
        if (verdict != PRUNE_DELETE) {
                spare(v, verdict);
                return;
        }
        free(v->uid);
        v->uid = str_dup(str_from(live->uid));
        v->left_watch = false;
        if (live->deleting) {
                await_end(v, live);
                return;
        }
        v->state = VICTIM_ASKED;
        e->asked = true;
        inventory_set_uid(e, str_from(v->uid));
        if (app_census_of(app, v->id))
                tell_leaving(v);
        app->counts.requests++;
        app->counts.writes++;
        struct kube_delete how = { .uid = str_from(v->uid), .resource_version = str_from(live->rv),
                                   .propagation = propagation_of(app) };
        v->call = app_sent(app, kube_client_delete(app->env.client, &at, &how, deleted, v));
}

static void step(struct victim *v, int64_t now_ms) {
        if (v->call || v->state == VICTIM_GONE)
                return;
        if (v->due_ms > now_ms) {
                later(v->run, v->due_ms - now_ms);
                return;
        }
        if (v->state == VICTIM_TODO)
                delete(v);
        else
                look(v);
}

static bool stage_is_over(const struct prune_run *run) {
        for (size_t i = 0; i < run->count; i++) {
                if (run->victims[i].stage == run->stage && run->victims[i].state != VICTIM_GONE)
                        return false;
        }
        return true;
}

static void end(struct prune_run *run) {
        struct app *app = run->app;

        app->prune = NULL;
        app_prune_free(run);
        app->env.hooks.pruned(app->env.ctx, app);
        app_kick(app);
}

static void go_on(void *ctx) {
        struct prune_run *run = ctx;
        int64_t now_ms = loop_now_ms(run->app->env.loop);

        while (run->stage < PRUNE_STAGES && stage_is_over(run))
                run->stage++;
        if (run->stage == PRUNE_STAGES) {
                end(run);
                return;
        }
        for (size_t i = 0; i < run->count; i++) {
                if (run->victims[i].stage == run->stage)
                        step(&run->victims[i], now_ms);
        }
}

static void judge_all_again(struct app *app) {
        app->prune_again = true;
        app->prune_done = app->settled = app->concluded = app->observed = false;
        app_kick(app);
}

void app_prune_live_changed(struct app *app, struct str id, const struct live *live) {
        struct prune_run *run = app->prune;
        const struct inventory_entry *e = app_entry(app, id);

        if (live && e && e->kept == PRUNE_KEEP_UNSURE && app->prune_done && !desired_find(app->desired, id))
                judge_all_again(app);
        for (size_t i = 0; run && !live && i < run->count; i++) {
                struct victim *v = &run->victims[i];

                if (!str_eqc(id, v->id))
                        continue;
                /* Gone, or without our label: a look tells. The event may come before the answer to the deletion. */
                v->left_watch = true;
                if (v->state == VICTIM_GOING) {
                        v->due_ms = 0;
                        later(run, 0);
                }
        }
}

/* --- the start -------------------------------------------------------------------------------------------------- */

static void begin_run(struct app *app, const struct prune_plan *plan) {
        struct prune_run *run = mem_zalloc(sizeof *run);

        run->app = app;
        run->timer = loop_timer_new(app->env.loop, go_on, run);
        run->victims = mem_zalloc((plan->count + 1) * sizeof *run->victims);
        for (size_t i = 0; i < plan->count; i++) {
                const struct prune_step *s = &plan->steps[i];

                if (s->verdict != PRUNE_DELETE)
                        continue;
                run->victims[run->count++] = (struct victim){
                        .run = run, .id = str_dup(str_from(s->entry->id)), .version = str_dup(str_from(s->entry->version)),
                        .uid = s->entry->uid ? str_dup(str_from(s->entry->uid)) : NULL, .stage = s->stage,
                        .state = s->entry->asked ? VICTIM_GOING : VICTIM_TODO,
                };
        }
        app->prune = run;
        later(run, 0);
}

static bool may_arrive(struct app *app, const struct inventory_entry *e) {
        int64_t until_ms = app->set_ms + PRUNE_ARRIVAL_MS;

        if (e->stray_until_ms > until_ms)
                until_ms = e->stray_until_ms;
        if (!(e->flags & INVENTORY_PENDING) || until_ms <= loop_now_ms(app->env.loop) ||
            ((e->flags & INVENTORY_TOMBSTONE) && !e->buried && !e->stray_until_ms))
                return false;
        await_arrival(app, until_ms);
        return true;
}

static void keep(struct app *app, struct inventory_entry *e, enum prune_verdict verdict) {
        bool is_told = app->prune_again && e->kept == verdict;

        e->kept = verdict;
        if (is_told)
                return;
        app->counts.kept++;
        tell(app, OUTCOME_KEPT, e->id, prune_reason(verdict), NULL);
}

static void tell_kept(struct app *app, const struct prune_plan *plan) {
        for (size_t i = 0; i < plan->count; i++) {
                const struct prune_step *s = &plan->steps[i];
                struct inventory_entry *e = inventory_find(app->inventory, str_from(s->entry->id));

                if (s->verdict == PRUNE_FORGET && may_arrive(app, e)) {
                        bury(app, e);
                        continue;
                }
                if (s->verdict == PRUNE_FORGET) {
                        inventory_remove(app->inventory, str_from(s->entry->id));
                        app->inventory_dirty = true;
                        continue;
                }
                if (s->verdict != PRUNE_DELETE)
                        keep(app, e, s->verdict);
                bury(app, e);
        }
}

/* Is the reason gone for which it stayed? */
typedef bool reason_fn(const struct app *app, const struct inventory_entry *e);

static bool is_any(const struct app *app, reason_fn *is_so) {
        size_t count;
        _cleanup_(mem_freep) struct inventory_entry **list = inventory_sorted(app->inventory, &count);

        for (size_t i = 0; i < count; i++) {
                if (list[i]->kept && is_so(app, list[i]))
                        return true;
        }
        return false;
}

static bool is_readable_now(const struct app *app, const struct inventory_entry *e) {
        struct cluster_kind *k = e->kept == PRUNE_KEEP_UNSURE ? app_kind_of(app, str_from(e->id), str_from(e->version)) : NULL;
        struct inventory_id id;

        return k && cluster_kind_state(k) == CLUSTER_KIND_SYNCED && inventory_id_split(str_from(e->id), &id) &&
               !cluster_is_unread(k, id.namespace, id.name);
}

static bool is_let_go(const struct app *app, const struct inventory_entry *e) {
        struct inventory_id id;

        if (desired_find(app->desired, str_from(e->id)) || !inventory_id_split(str_from(e->id), &id))
                return false;
        if (e->kept == PRUNE_KEEP_WANTED)
                return !app_is_wanted_elsewhere(app, str_from(e->id));
        return (e->kept == PRUNE_KEEP_NAMESPACE || e->kept == PRUNE_KEEP_DEFINITION) && !app_takes_wanted_along(app, &id);
}

void app_prune_kinds_changed(struct app *app) {
        if (app->inventory && app->prune_done && !app->prune && is_any(app, is_readable_now))
                judge_all_again(app);
}

void app_prune_others_changed(struct app *app) {
        if (!app->prune_awaits_others && !(app->inventory && app->desired && is_any(app, is_let_go)))
                return;
        app->prune_awaits_others = false;
        judge_all_again(app);
}

void app_prune_look_at_others(struct app *app) {
        if (!app->prune_awaits_others)
                return;
        if (app->env.hooks.unread_by(app->env.ctx, app).n)
                app_wake(app, loop_now_ms(app->env.loop) + UNREAD_POLL_MS);
        else
                app_prune_others_changed(app);
}

/* An object may ask not to be remarked on when it has left Git and stays. */
static bool is_remarked(const struct app *app, const struct inventory_entry *e) {
        struct cluster_kind *k = app_kind_of(app, str_from(e->id), str_from(e->version));
        struct inventory_id id;
        const struct live *live = k && inventory_id_split(str_from(e->id), &id) ? cluster_find(k, id.namespace, id.name)
                                                                                : NULL;
        if (!live)
                return true;

        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct managed owners;
        return !manifest_value_ignores_extraneous(live_value(live, a, &owners));
}

static bool prunes(const struct app *app) {
        return app->options.prune && !app->config->prune_disabled;
}

static void tell_one_extra(struct app *app, const char *id) {
        _cleanup_(buf_done) struct buf reason = buf_make(8 * 1024);
        const char *census = app_census_of(app, id);

        buf_addf(&reason, "left Git; it would be pruned%s%s%s", prunes(app) ? "" : " if prune were on",
                 census ? ", " : "", census ? census : "");
        tell(app, OUTCOME_EXTRA, id, reason.p, NULL);
}

/* Returns how many there are. */
static size_t tell_extra(struct app *app, const struct prune_plan *plan) {
        size_t count = 0;

        for (size_t i = 0; i < plan->count; i++) {
                const struct inventory_entry *e = plan->steps[i].entry;

                if (plan->steps[i].verdict != PRUNE_DELETE || !is_remarked(app, e))
                        continue;
                tell_one_extra(app, e->id);
                count++;
        }
        return count;
}

/* A diff shows what left Git also where a sync would stop: the budget is about deleting, not about looking. */
static void tell_stopped(struct app *app, const struct prune_input *in) {
        static const struct prune_limits none = { UINT32_MAX, 100, true };
        struct prune_plan plan;

        if (app->mode != DECIDE_DIFF || prune_plan(in, &none, &plan, NULL) < 0)
                return;
        app->extra = tell_extra(app, &plan);
        prune_plan_done(&plan);
}

bool app_prune_start(struct app *app) {
        size_t count, inventory;
        _cleanup_(mem_freep) struct prune_candidate *c = gather(app, &count, &inventory);
        const struct config_agent *agent = app->env.agent;
        int64_t max_count = app->options.prune_max_count >= 0 ? app->options.prune_max_count : agent->prune_max_count;
        struct prune_limits limits = {
                app->options.no_prune_budget ? UINT32_MAX : (unsigned)max_count,
                app->options.prune_max_count >= 0 ? 0 : (unsigned)agent->prune_max_percent, app->options.allow_empty,
        };
        struct prune_input in = { .candidates = c, .count = count, .inventory_objects = inventory,
                                  .desired_objects = app->desired->from_git, .render_complete = app->desired->complete,
                                  .stands_in = app->desired->stands_in,
                                  .empty_source = app->desired->empty_source };
        struct prune_plan plan;

        app->prune_err.code = 0;
        app->extra = 0;
        if (count == 0)
                return false;
        if (app->mode != DECIDE_DIFF)
                in.unread_by = app->env.hooks.unread_by(app->env.ctx, app);
        in.stands_in |= str_eq(in.unread_by, app->config->name);
        app->prune_awaits_others = in.unread_by.n > 0;
        if (app->prune_awaits_others)
                app_wake(app, loop_now_ms(app->env.loop) + UNREAD_POLL_MS);
        if (!app->env.hooks.others_known(app->env.ctx, app, app->prune_again)) {
                app->prune_done = false; /* an object may go from one application to another in one commit */
                app_wake(app, loop_now_ms(app->env.loop) + RENDER_POLL_MS);
                return true;
        }
        if (prune_plan(&in, &limits, &plan, &app->prune_err) < 0) {
                tell_stopped(app, &in);
                return false;
        }

        if (app_census_is_pending(app, &plan)) {
                prune_plan_done(&plan);
                app->prune_done = false; /* this comes again with the answers */
                return true;
        }
        bool run = plan.deletions && prunes(app) && app->mode != DECIDE_DIFF;
        if (app->mode != DECIDE_DIFF)
                tell_kept(app, &plan);
        if (run) {
                begin_run(app, &plan);
        } else {
                app->extra = tell_extra(app, &plan);
        }
        prune_plan_done(&plan);
        return run;
}
