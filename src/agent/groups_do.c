/* SPDX-License-Identifier: Apache-2.0 */
/* The writes of a plan: phase after phase, some at a time. */
#include "agent/groups_impl.h"

#include "base/json.h"
#include "base/log.h"
#include "group/names.h"
#include "sync/backoff.h"

#define PATCH_MAX_BYTES 4096

static void advance(struct pass *p);

static const char *const kind_names[] = {
        [GROUP_CREATE] = "create", [GROUP_DELETE] = "delete", [GROUP_RELEASE] = "release", [GROUP_STATUS] = "status"
};

/* --- own writes ----------------------------------------------------------------------------------------------- */

static int64_t now_ms(const struct set *s) {
        return loop_now_ms(s->groups->env.loop);
}

static struct informer *informer_for(const struct doing *d) {
        return groups_cache_informer(d->pass->set->groups->cache, table_of(d->action->object));
}

static void gate_written(struct doing *d, struct str rv) {
        struct set *s = d->pass->set;

        gates_written(&s->gates, informer_for(d), s->ns, d->action->name, rv, now_ms(s));
}

static void gate_deleted(struct doing *d) {
        struct set *s = d->pass->set;

        (d->action->force ? gates_ended : gates_deleted)(&s->gates, informer_for(d), s->ns, d->action->name,
                                                         d->action->uid, now_ms(s));
}

static void gate_unknown(struct doing *d) {
        struct set *s = d->pass->set;

        gates_unknown(&s->gates, informer_for(d), s->ns, d->action->name, now_ms(s));
}

/* --- what an answer means ------------------------------------------------------------------------------------- */

static struct str unquoted(struct str s) {
        return s.n >= 2 ? str_sub(s, 1, s.n - 1) : (struct str){ 0 };
}

static struct str metadata_text(struct str object, const char *key) {
        return unquoted(json_member(json_member(object, STR("metadata")), str_from(key)));
}

static void note_made(struct set *s, struct str name) {
        struct moment *m = mem_alloc(sizeof *m);

        m->at_ms = now_ms(s);
        map_set(s->made, name, m);
}

static void note_went(const struct doing *d) {
        d->pass->went[d->action - d->pass->plan.actions] = true;
}

static void done_well(struct doing *d, struct str answer) {
        struct pass *p = d->pass;
        struct set *s = p->set;
        const struct group_action *action = d->action;

        note_went(d);
        refusal_over(s, action);
        switch (action->kind) {
        case GROUP_STATUS:
                cluster_put(s->groups->kind, answer, NULL);
                return;
        case GROUP_CREATE:
                if (action->object == GROUP_POD)
                        note_made(s, action->name);
                gate_written(d, metadata_text(answer, "resourceVersion"));
                return;
        case GROUP_RELEASE:
                gate_written(d, metadata_text(answer, "resourceVersion"));
                return;
        case GROUP_DELETE:
                map_remove(s->made, action->name);
                groups_cache_deleted(s->groups->cache, table_of(action->object), s->ns, action->name);
                gate_deleted(d);
                return;
        }
}

/* Tried again soon, and not before so long. */
static void not_before(struct pass *p, int64_t ms) {
        if (ms > p->after_ms || p->end != QUEUE_FAILED)
                p->after_ms = ms;
        p->end = QUEUE_FAILED;
        p->failed = true;
}

/* The picture was old: a moment later it is newer. */
static void look_again(struct pass *p) {
        not_before(p, 0);
}

/* Looked at again when the write that is refused may be sent again. */
static void wait_for(struct pass *p, int64_t ms) {
        if (ms && p->end == QUEUE_AGAIN && ms < p->after_ms)
                p->after_ms = ms;
}

static void namespace_ends(struct doing *d) {
        struct pass *p = d->pass;

        p->set->terminating_until_ms = loop_now_ms(p->set->groups->env.loop) + GROUPS_TERMINATING_MS;
        not_before(p, GROUPS_TERMINATING_MS);
}

/* Once a run. A webhook that is down, for one, is the server's 500. */
static void note_mishap(struct doing *d, const struct err *err) {
        struct pass *p = d->pass;
        struct set *s = p->set;

        not_before(p, err->retry_after_ms);
        if (p->mishap)
                return;
        p->mishap = true;
        s->mishaps++;
        s->rest_until_ms = now_ms(s) + backoff_after(&BACKOFF_OBJECT, s->mishaps, err,
                                                     (unsigned)loop_random(s->groups->env.loop, 1000));
        free(TAKE_PTR(s->mishap));
        if (!err->http_status)
                return;
        s->mishap = str_dup(str_from(err->msg));
        if (s->mishaps >= GROUPS_MISHAPS_TOLD)
                tell_refusal(s, d->action, err);
}

static bool is_refusal(const struct doing *d, const struct err *err) {
        return err->code == ERR_FORBIDDEN || err->code == ERR_DENIED || err->code == ERR_LIMIT ||
               (err->code == ERR_INVAL && d->action->kind == GROUP_CREATE);
}

static void done_badly(struct doing *d, const struct kube_result *result, const struct err *err) {
        struct pass *p = d->pass;
        const struct group_action *action = d->action;
        int64_t soonest_ms = 0;

        if (result->status.namespace_terminating || result->status.namespace_missing) {
                namespace_ends(d);
        } else if (is_refusal(d, err)) {
                refuse(p->set, action, p->asked, err);
                is_refused(p->set, action, &soonest_ms);
                wait_for(p, soonest_ms);
                p->failed = true;
        } else if (err->code == ERR_TIMEOUT || err->code == ERR_UNREACHABLE || err->code == ERR_INTERNAL) {
                if (action->kind != GROUP_STATUS)
                        gate_unknown(d);
                note_mishap(d, err);
        } else if (err->code == ERR_THROTTLED || err->code == ERR_UNAUTH) {
                not_before(p, err->retry_after_ms);
        } else {
                p->set->outdated |= action->kind == GROUP_STATUS && err->code == ERR_CONFLICT;
                look_again(p);
        }
}

static void ended(struct doing *d) {
        struct pass *p = d->pass;

        d->action = NULL;
        p->in_flight--;
        advance(p);
}

/* --- what stands in the way ----------------------------------------------------------------------------------- */

/* Is it what was to be made (plan.h)? */
static bool will_do(const struct doing *d, struct str object) {
        _cleanup_(arena_freep) struct arena *a = arena_new(object.n * 8);
        const struct value *v;

        if (json_parse(object, a, &v, NULL) < 0)
                return false;
        return str_eq(value_text(value_getc(kept_controller(v), "uid")), d->pass->spec.uid) ||
               (d->action->object == GROUP_CLAIM && !value_path(v, "metadata", "deletionTimestamp", NULL));
}

/* The plan is shown what it is: a claim that lacks the set's label no watch tells of. */
static void on_found(void *ctx, const struct kube_result *result) {
        struct doing *d = ctx;
        struct pass *p = d->pass;

        d->op = NULL;
        if (result->err.code == 0)
                groups_cache_found(p->set->groups->cache, table_of(d->action->object), str_from(p->set->key),
                                   result->body);
        if (result->err.code == 0 && will_do(d, result->body)) {
                note_went(d);
                gate_written(d, metadata_text(result->body, "resourceVersion"));
        } else {
                look_again(p);
        }
        ended(d);
}

static struct kube_location place_of(const struct pass *p, const struct group_action *action, bool named) {
        struct kube_location at = groups_cache_location(table_of(action->object));

        at.namespace = p->set->ns;
        at.name = named ? action->name : STR("");
        return at;
}

/* It exists already: which one is it? */
static void look_at_it(struct doing *d) {
        struct kube_location at = place_of(d->pass, d->action, true);

        d->op = kube_client_get(d->pass->set->groups->env.client, &at, 0, on_found, d);
}

/* "Not there", and "there is another of that name", is what a deletion is for. */
static bool is_gone(const struct doing *d, const struct kube_result *result) {
        return d->action->kind == GROUP_DELETE && !result->status.namespace_missing &&
               ((result->err.code == ERR_NOTFOUND && !result->status.not_served) ||
                result->status.conflict == KUBE_CONFLICT_UID);
}

static void on_done(void *ctx, const struct kube_result *result) {
        struct doing *d = ctx;
        const struct group_action *action = d->action;
        struct set *s = d->pass->set;
        struct err err = result->err;

        d->op = NULL;
        conceal_env(action->body, &err);
        if (log_is_on(LOG_DEBUG))
                log_event(LOG_DEBUG, "groups", kind_names[action->kind], "lws", s->key, "obj", action->name.p, "why",
                          action->why ? action->why : "", "err", err.code ? err.msg : "", NULL);
        if (action->kind == GROUP_CREATE && result->status.conflict == KUBE_CONFLICT_EXISTS) {
                look_at_it(d);
                return;
        }
        if (result->err.code == 0 || is_gone(d, result))
                done_well(d, result->err.code == 0 ? result->body : STR(""));
        else
                done_badly(d, result, &err);
        ended(d);
}

/* --- sending -------------------------------------------------------------------------------------------------- */

static struct kube_op *send_create(struct doing *d) {
        struct kube_write how = { .field_manager = STR(GROUPS_MANAGER) };
        struct kube_location at = place_of(d->pass, d->action, false);

        return kube_client_create(d->pass->set->groups->env.client, &at,
                                  value_canonical(d->pass->arena, d->action->body), &how, on_done, d);
}

static struct kube_op *send_delete(struct doing *d) {
        struct kube_delete how = { .uid = d->action->uid,
                                   .resource_version = d->action->resource_version,
                                   .propagation = KUBE_PROPAGATION_BACKGROUND,
                                   .now = d->action->force };
        struct kube_location at = place_of(d->pass, d->action, true);

        return kube_client_delete(d->pass->set->groups->env.client, &at, &how, on_done, d);
}

static struct kube_op *send_patch(struct doing *d, size_t gate) {
        struct kube_write how = { .field_manager = STR(GROUPS_MANAGER) };
        struct kube_location at = place_of(d->pass, d->action, true);
        _cleanup_(buf_done) struct buf body = buf_make(PATCH_MAX_BYTES);

        buf_addf(&body, "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%.*s\"},", STR_FMT(d->action->uid));
        buf_addf(&body, "{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"%.*s\"},",
                 STR_FMT(d->action->resource_version));
        buf_addf(&body, "{\"op\":\"test\",\"path\":\"/spec/schedulingGates/%zu/name\",\"value\":\"" GROUP_GATE "\"},",
                 gate);
        buf_addf(&body, "{\"op\":\"remove\",\"path\":\"/spec/schedulingGates/%zu\"}]", gate);
        return kube_client_patch(d->pass->set->groups->env.client, &at, KUBE_PATCH_JSON, buf_str(&body), &how, on_done,
                                 d);
}

/* Which of several gates is ours. */
static void on_gates(void *ctx, const struct kube_result *result) {
        struct doing *d = ctx;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *pod, *gates = NULL;

        d->op = NULL;
        if (result->err.code == 0 && json_parse(result->body, a, &pod, NULL) == 0)
                gates = value_path(pod, "spec", "schedulingGates", NULL);
        for (size_t i = 0; gates && i < value_count(gates); i++) {
                if (!str_eqc(value_text(value_getc(gates->list.items[i], "name")), GROUP_GATE))
                        continue;
                d->op = send_patch(d, i);
                return;
        }
        look_again(d->pass);
        ended(d);
}

static struct kube_op *send_release(struct doing *d) {
        const struct group_observed *o = &d->pass->observed;

        for (size_t i = 0; i < o->pod_count; i++) {
                if (!o->pods[i].gated_by_others || !str_eq(o->pods[i].name, d->action->name))
                        continue;
                struct kube_location at = place_of(d->pass, d->action, true);
                return kube_client_get(d->pass->set->groups->env.client, &at, 0, on_gates, d);
        }
        return send_patch(d, 0);
}

static struct kube_op *send_status(struct doing *d) {
        return pass_write_status(d->pass, d->action->body, d->pass->rv, on_done, d);
}

static struct kube_op *(*const senders[])(struct doing *d) = { [GROUP_CREATE] = send_create,
                                                               [GROUP_DELETE] = send_delete,
                                                               [GROUP_RELEASE] = send_release,
                                                               [GROUP_STATUS] = send_status };

/* --- the order ------------------------------------------------------------------------------------------------ */

/* Is the object still the one that the plan is about? */
static bool is_current(const struct pass *p) {
        const struct live *live = set_live(p->set);

        return live && !live->deleting && str_eqc(p->spec.uid, live->uid);
}

static struct doing *free_place(struct pass *p) {
        for (size_t i = 0; i < ARRAY_LEN(p->doing); i++)
                if (!p->doing[i].action)
                        return &p->doing[i];
        return NULL;
}

static bool is_skipped(const struct pass *p, int32_t group) {
        for (size_t i = 0; i < p->skipped_count; i++)
                if (p->skipped[i] == group)
                        return true;
        return false;
}

/* A group of which a write is refused waits; what concerns all, too, holds up the rest. */
static void skip(struct pass *p, const struct group_action *action) {
        if (action->group < 0) {
                p->failed = true;
                return;
        }
        int32_t *more = arena_alloc(p->arena, (p->skipped_count + 1) * sizeof *more);
        for (size_t i = 0; i < p->skipped_count; i++)
                more[i] = p->skipped[i];
        more[p->skipped_count++] = action->group;
        p->skipped = more;
}

static void send(struct pass *p, const struct group_action *action) {
        struct doing *d = free_place(p);
        int64_t soonest_ms = 0;

        if (action->group >= 0 && is_skipped(p, action->group))
                return;
        if (is_refused(p->set, action, &soonest_ms)) {
                skip(p, action);
                wait_for(p, soonest_ms);
                return;
        }
        *d = (struct doing){ .pass = p, .action = action };
        p->in_flight++;
        d->op = senders[action->kind](d);
}

/* Sends what may go now; the end of each brings it back here. */
static void advance(struct pass *p) {
        while (p->next < p->plan.action_count && p->in_flight < ARRAY_LEN(p->doing)) {
                const struct group_action *action = &p->plan.actions[p->next];
                bool same_phase = p->next == 0 || action->phase == action[-1].phase;

                if (!same_phase && p->in_flight)
                        return;
                if (!same_phase && p->failed)
                        break;
                if (!is_current(p)) {
                        look_again(p);
                        p->next = p->plan.action_count;
                        break;
                }
                p->next++;
                send(p, action);
        }
        if (!p->in_flight)
                pass_done(p);
}

void pass_perform(struct pass *p) {
        advance(p);
}
