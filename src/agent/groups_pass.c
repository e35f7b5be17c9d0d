/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look at one set: what is asked for and what there is → a plan → its writes → when to look again.
 */
#include "agent/groups_impl.h"

#include "base/log.h"
#include "group/names.h"

/* A Pod of ours that is gone so soon after it was made was made for an object that is no more. */
#define SHORT_LIVED_MS 30000

void pass_free(struct pass *p) {
        if (!p)
                return;
        for (size_t i = 0; i < ARRAY_LEN(p->doing); i++)
                kube_op_cancel(p->doing[i].op);
        kube_op_cancel(p->op);
        informer_check_free(p->check);
        arena_free(p->arena);
        free(p);
}

static void finish(struct pass *p) {
        struct set *s = p->set;
        struct queue *queue = s->groups->queue;
        enum queue_end end = p->end;
        int64_t after_ms = p->after_ms;

        s->pass = NULL;
        pass_free(p);
        queue_done(queue, str_from(s->key), end, after_ms);
}

static void end_later(struct pass *p, enum queue_end end, int64_t after_ms) {
        p->end = end;
        p->after_ms = after_ms;
        finish(p);
}

/* --- the object itself ------------------------------------------------------------------------------------------- */

static struct kube_location location(const struct pass *p) {
        struct kube_location at =
                kube_resource_location(cluster_kind_resource(p->set->groups->kind), p->set->ns, p->set->name);

        return at;
}

static void look_or_ask(struct pass *p);

/* What follows belongs to this run: one that fails again waits longer than the one before. */
static void on_read(void *ctx, const struct kube_result *result) {
        struct pass *p = ctx;
        struct set *s = p->set;

        p->op = NULL;
        if (result->err.code == 0)
                cluster_put(s->groups->kind, result->body, NULL);
        else if (result->err.code == ERR_NOTFOUND)
                cluster_drop(s->groups->kind, s->ns, s->name);
        else {
                end_later(p, QUEUE_FAILED, result->err.retry_after_ms);
                return;
        }
        s->unsure = s->outdated = false;
        map_free(s->made);
        s->made = map_new(free);
        if (set_take(s))
                look_or_ask(p);
        else
                end_later(p, QUEUE_AGAIN, 0);
}

/* It may have been deleted and made anew, or changed, without our having seen it yet. */
static void read_again(struct pass *p) {
        struct kube_location at = location(p);

        p->op = kube_client_get(p->set->groups->env.client, &at, 0, on_read, p);
}

/* --- the condition that tells of refusals --------------------------------------------------------------------- */

static void on_told(void *ctx, const struct kube_result *result) {
        struct pass *p = ctx;

        p->op = NULL;
        if (result->err.code == 0)
                cluster_put(p->set->groups->kind, result->body, NULL);
        finish(p);
}

static struct str status_body(const struct pass *p, const struct value *status, struct str rv) {
        struct value_map_builder object = { 0 }, metadata = { 0 };
        struct arena *a = p->arena;

        value_map_add(&metadata, STR("name"), value_string(a, p->set->name, 0), 0);
        value_map_add(&metadata, STR("namespace"), value_string(a, p->set->ns, 0), 0);
        value_map_add(&metadata, STR("uid"), value_string(a, p->spec.uid, 0), 0);
        value_map_add(&metadata, STR("resourceVersion"), value_string(a, rv, 0), 0);
        value_map_add(&object, STR("apiVersion"), value_stringc(a, GROUP_API_VERSION), 0);
        value_map_add(&object, STR("kind"), value_stringc(a, GROUP_KIND), 0);
        value_map_add(&object, STR("metadata"), value_map_end(&metadata, a, 0), 0);
        value_map_add(&object, STR("status"), status, 0);
        return value_canonical(a, value_map_end(&object, a, 0));
}

/* Forced, and so with the resourceVersion: what it remembers may be of an older picture than what is there. */
struct kube_op *pass_write_status(struct pass *p, const struct value *status, struct str rv, kube_done_fn done,
                                  void *ctx) {
        struct kube_write how = { .field_manager = STR(GROUPS_MANAGER), .force = true };
        struct kube_location at = location(p);
        const struct value *ours = group_status_ours(status, group_status_scope_of(status), p->arena);
        struct str body = status_body(p, ours, rv);

        at.subresource = STR("status");
        return kube_client_apply(p->set->groups->env.client, &at, body, &how, done, ctx);
}

void pass_done(struct pass *p) {
        const struct live *live = set_live(p->set);
        const struct value *status = NULL;
        struct managed owners;

        if (p->went && !p->mishap)
                p->set->mishaps = 0;
        if (p->went)
                tell_events(p);
        if (live && !live->deleting && str_eqc(p->spec.uid, live->uid) && may_be_blocked(p->set, live))
                status = blocked_status(p->set, live_value(live, p->arena, &owners), p->arena);
        if (status)
                p->op = pass_write_status(p, status, str_from(live->rv), on_told, p);
        else
                finish(p);
}

/* --- the plan ------------------------------------------------------------------------------------------------- */

static bool made_lately(const struct set *s, const struct group_action *action) {
        const struct moment *m = map_find(s->made, action->name);

        return action->kind == GROUP_CREATE && action->object == GROUP_POD && m &&
               loop_now_ms(s->groups->env.loop) - m->at_ms < SHORT_LIVED_MS;
}

static bool makes_what_went(const struct pass *p) {
        for (size_t i = 0; i < p->plan.action_count; i++)
                if (made_lately(p->set, &p->plan.actions[i]))
                        return true;
        return false;
}

/* When to look again though nothing happens. */
static int64_t resync_ms(const struct pass *p) {
        int64_t ms = GROUPS_RESYNC_MS - (int64_t)loop_random(p->set->groups->env.loop, GROUPS_RESYNC_MS / 10);

        return p->plan.again_ms && p->plan.again_ms < ms ? p->plan.again_ms : ms;
}

static void on_checked(void *ctx, const struct err *err);

/*
 * What was read ahead, while another one wrote: its last writes may not have been shown yet, and to make Pods of
 * another incarnation beside them would be two lives of a group.
 */
static bool is_in_doubt(const struct set *s) {
        const struct groups *g = s->groups;

        return !s->checked && loop_now_ms(g->env.loop) < g->doubt_until_ms;
}

static void check_pods(struct pass *p) {
        const struct set *s = p->set;
        struct str selector = arena_strf(p->arena, GROUP_LABEL_NAME "=%.*s", STR_FMT(s->name));

        p->check = informer_check_new(groups_cache_informer(s->groups->cache, GROUPS_PODS), str_from(s->key), s->ns,
                                      selector, on_checked, p);
}

static void look(struct pass *p, const struct live *live) {
        struct set *s = p->set;
        struct groups *g = s->groups;
        struct managed owners;
        const struct value *lws = live_value(live, p->arena, &owners);
        struct err err;

        p->rv = arena_str(p->arena, str_from(live->rv));
        group_spec_read(lws, p->arena, &p->spec, &p->problems);
        groups_cache_observe(g->cache, s->ns, s->name, p->spec.uid, p->arena, &p->observed);
        p->observed.namespace_terminating = s->terminating_until_ms > loop_now_ms(g->env.loop);
        struct group_input in = { .spec = &p->spec,
                                  .problems = &p->problems,
                                  .status = value_getc(lws, "status"),
                                  .observed = &p->observed,
                                  .now_ms = loop_wall_ms(g->env.loop) };
        if (group_plan_make(&in, p->arena, &p->plan, &err) < 0) {
                log_event_limited(LOG_WARN, "groups", "cannot be planned", "lws", s->key, "err", err.msg, NULL);
                end_later(p, QUEUE_TERMINAL, 0);
                return;
        }
        if (p->plan.action_count && is_in_doubt(s)) {
                check_pods(p);
                return;
        }
        if (!s->unsure && makes_what_went(p)) {
                s->unsure = true;
                read_again(p);
                return;
        }
        p->asked = s->asked;
        p->went = arena_zalloc(p->arena, p->plan.action_count * sizeof *p->went);
        refusals_keep(s, &p->plan);
        note_rows(s, &p->plan);
        p->end = QUEUE_AGAIN;
        p->after_ms = resync_ms(p);
        pass_perform(p);
}

/* --- what is in the way --------------------------------------------------------------------------------------- */

static void on_checked(void *ctx, const struct err *err) {
        struct pass *p = ctx;

        if (err) {
                end_later(p, QUEUE_FAILED, err->retry_after_ms);
                return;
        }
        informer_check_free(TAKE_PTR(p->check));
        p->set->checked = true;
        look_or_ask(p);
}

static void on_asked(void *ctx, const struct kube_result *result) {
        struct pass *p = ctx;
        struct set *s = p->set;

        p->op = NULL;
        if (result->err.code == 0)
                groups_cache_found(s->groups->cache, p->doubted, str_from(s->key), result->body);
        else if (result->err.code == ERR_NOTFOUND)
                groups_cache_lost(s->groups->cache, p->doubted, str_from(s->key), s->ns, p->doubted_name);
        else {
                end_later(p, QUEUE_FAILED, result->err.retry_after_ms);
                return;
        }
        look_or_ask(p);
}

/* Things that no watch tells of are asked about first. */
static void look_or_ask(struct pass *p) {
        struct set *s = p->set;
        const struct live *live = set_live(s);
        struct str name;

        if (!live) {
                end_later(p, QUEUE_AGAIN, 0);
                return;
        }
        if (!groups_cache_doubts(s->groups->cache, str_from(s->key), &p->doubted, &name)) {
                look(p, live);
                return;
        }
        struct kube_location at = groups_cache_location(p->doubted);
        p->doubted_name = arena_str(p->arena, name);
        at.namespace = s->ns;
        at.name = p->doubted_name;
        p->op = kube_client_get(s->groups->env.client, &at, 0, on_asked, p);
}

void pass_begin(struct set *s) {
        struct pass *p = mem_zalloc(sizeof *p);
        const struct live *live = set_live(s);
        int64_t now_ms = loop_now_ms(s->groups->env.loop), wait;

        p->set = s;
        p->arena = arena_new(0);
        p->spec.uid = arena_str(p->arena, str_from(live->uid));
        s->pass = p;
        if (!groups_cache_is_synced(s->groups->cache)) { /* its end wakes all */
                p->end = QUEUE_DONE;
                pass_done(p);
                return;
        }
        wait = gates_wait_ms(&s->gates, now_ms);
        if (s->rest_until_ms - now_ms > wait)
                wait = s->rest_until_ms - now_ms;
        if (wait)
                end_later(p, QUEUE_AGAIN, wait);
        else if (s->outdated)
                read_again(p);
        else
                look_or_ask(p);
}
