/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the steps, and what they add to. */
#include "group/plan.h"

#include "group/group_impl.h"

#include <stdlib.h>
#include <string.h>

void *plan_grow(struct planner *p, void *items, size_t *cap, size_t count, size_t size) {
        void *larger;

        if (count < *cap)
                return items;
        *cap = *cap ? 2 * *cap : 8;
        larger = arena_alloc(p->a, *cap * size);
        if (count)
                memcpy(larger, items, count * size);
        return larger;
}

struct group_action *plan_act(struct planner *p, enum group_action_kind kind, enum group_object object, unsigned phase,
                              const char *why) {
        struct group_plan *out = &p->out;
        struct group_action *act;

        out->actions = plan_grow(p, out->actions, &p->action_cap, out->action_count, sizeof *act);
        act = &out->actions[out->action_count++];
        *act = (struct group_action){ .kind = kind, .object = object, .phase = phase, .group = -1, .why = why };
        return act;
}

void plan_tell(struct planner *p, bool warning, const char *reason, struct str message) {
        struct group_plan *out = &p->out;

        out->events = plan_grow(p, out->events, &p->event_cap, out->event_count, sizeof *out->events);
        out->events[out->event_count++] = (struct group_event){ warning, reason, message, -1 };
}

void plan_again_at(struct planner *p, int64_t at_ms) {
        int64_t in_ms = at_ms - p->now_ms;

        if (in_ms > 0 && (!p->out.again_ms || in_ms < p->out.again_ms))
                p->out.again_ms = in_ms;
}

void plan_condition(struct planner *p, const char *type, const char *reason, struct str message) {
        if (p->condition_count < ARRAY_LEN(p->conditions))
                p->conditions[p->condition_count++] = (struct group_condition){ type, true, reason, message };
}

/* How many groups there were, as far as is remembered or seen. */
static int32_t groups_before(const struct planner *p) {
        int32_t highest = -1;

        if (p->after.groups >= 0)
                return p->after.groups;
        for (size_t i = 0; i < p->our_count; i++)
                if (p->ours[i]->group > highest && p->ours[i]->group < 2 * GROUP_MAX_PODS)
                        highest = p->ours[i]->group;
        return highest + 1;
}

/*
 * Up to which index groups may be wanted in this plan: those there were, those there will be, and the gaps. What a spec
 * asks for that is refused is not looked at: it may be millions.
 */
static int32_t dense_groups(const struct planner *p) {
        int32_t before = groups_before(p), replicas = p->s->replicas;
        int32_t most = replicas > p->after.replicas ? replicas : p->after.replicas;

        if (p->in->problems && p->in->problems->count)
                return before + (int32_t)p->after.absent_count;
        most += group_budget_up(p->s->max_surge, replicas);
        if (!p->remembered && p->s->options.victims_by_health)
                return most + before;
        return (most > before ? most : before) + (int32_t)p->after.absent_count;
}

/* Pods only ever increase the phase of what comes after them, so what is sorted is nearly in order: a stable merge. */
static void sort_actions(struct planner *p) {
        struct group_action *sorted = arena_alloc(p->a, p->out.action_count * sizeof *sorted);
        size_t count = 0;

        for (unsigned phase = PHASE_REMEMBER; phase <= PHASE_LAST; phase++)
                for (size_t i = 0; i < p->out.action_count; i++)
                        if (p->out.actions[i].phase == phase)
                                sorted[count++] = p->out.actions[i];
        p->out.actions = sorted;
}

static void see(struct planner *p) {
        plan_remember(p);
        plan_see_revisions(p);
        plan_see_nodes(p);
        plan_see_pods(p);
        plan_see_groups(p, dense_groups(p));
}

static void decide(struct planner *p) {
        plan_derive_memory(p);
        plan_choose_indices(p);
        plan_roll(p);
        plan_forget(p);
        plan_judge(p);
        plan_judge_gangs(p);
}

static void act(struct planner *p) {
        plan_keep_services(p);
        plan_keep_revisions(p);
        plan_delete_pods(p);
        plan_make_pods(p);
        plan_drop_claims(p);
}

int group_plan_make(const struct group_input *in, struct arena *a, struct group_plan *ret_plan, struct err *err) {
        enum group_status_scope scope;
        struct planner p = {
                .in = in,
                .s = in->spec,
                .o = in->observed,
                .a = a,
                .now_ms = in->now_ms,
                .roll.repair = -1,
        };

        if (!in->spec->name.n || !in->spec->uid.n)
                return err_set(err, ERR_INVAL, "a LeaderWorkerSet without name or uid");
        p.second_ms = in->now_ms / SECOND_MS * SECOND_MS;
        if (!in->spec->deleting) {
                see(&p);
                if (plan_is_stalled(&p, &scope)) {
                        plan_place_groups(&p, groups_before(&p));
                        plan_explain(&p);
                        plan_write_stalled(&p, scope);
                } else {
                        decide(&p);
                        act(&p);
                        plan_explain(&p);
                        plan_write_status(&p);
                }
                sort_actions(&p);
        }
        *ret_plan = p.out;
        return 0;
}
