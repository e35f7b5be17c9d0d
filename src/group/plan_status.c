/* SPDX-License-Identifier: Apache-2.0 */
/* The status: what is counted, what people have to know, and the memory. */
#include "group/group_impl.h"

#include <inttypes.h>
#include <string.h>

/* A message names so many; that there are more it says. */
#define NAMED_MAX 5

/* What keeps the plan from doing anything */

static bool has_problem(const struct group_problems *problems, const struct group_problem *like) {
        for (size_t i = 0; i < problems->count; i++)
                if (str_eq(problems->items[i].path, like->path) && str_eq(problems->items[i].text, like->text))
                        return true;
        return false;
}

/* The problems that reading found, and those of a change that is not allowed. */
static struct group_problems all_problems(struct planner *p) {
        struct group_problems all = { 0 }, update = { 0 };
        const struct group_problems *read = p->in->problems;

        for (size_t i = 0; read && i < read->count; i++)
                group_problems_add(&all, p->a, read->items[i].kind, read->items[i].path, "%.*s",
                                   STR_FMT(read->items[i].text));
        if (!all.count && !p->want->stored && p->previous)
                group_spec_check_update(p->s, &p->previous->t, p->a, &update);
        for (size_t i = 0; i < update.count; i++)
                if (!has_problem(&all, &update.items[i]))
                        group_problems_add(&all, p->a, update.items[i].kind, update.items[i].path, "%.*s",
                                           STR_FMT(update.items[i].text));
        return all;
}

static bool stall_for_problems(struct planner *p) {
        struct group_problems all = all_problems(p);
        _cleanup_(buf_done) struct buf text = buf_make(GROUP_MEMORY_MAX_BYTES);
        bool invalid = false;

        for (size_t i = 0; i < all.count; i++) {
                invalid = invalid || all.items[i].kind == GROUP_INVALID;
                if (text.n > GROUP_MEMORY_MAX_BYTES / 2)
                        continue;
                buf_addf(&text, "%s%.*s: %.*s", i ? "; " : "", STR_FMT(all.items[i].path), STR_FMT(all.items[i].text));
        }
        if (all.count)
                plan_condition(p, GROUP_CONDITION_STALLED, invalid ? "InvalidSpec" : "UnsupportedField",
                               arena_str(p->a, buf_str(&text)));
        return all.count > 0;
}

bool plan_is_stalled(struct planner *p, enum group_status_scope *ret_scope) {
        *ret_scope = GROUP_STATUS_STALLED;
        if (p->o->foreign.n) {
                *ret_scope = GROUP_STATUS_FOREIGN;
                plan_condition(p, GROUP_CONDITION_STALLED, GROUP_REASON_FOREIGN,
                               arena_strf(p->a, "%.*s runs this object; nothing is done here until that ends",
                                          STR_FMT(p->o->foreign)));
                return true;
        }
        if (p->o->namespace_terminating) {
                plan_condition(p, GROUP_CONDITION_STALLED, "NamespaceTerminating",
                               arena_strf(p->a, "namespace %.*s is being deleted", STR_FMT(p->s->ns)));
                return true;
        }
        return stall_for_problems(p);
}

/* Troubles of single groups */

struct listing {
        struct buf text;
        int32_t count;
};

static void list(struct listing *l, struct str what) {
        if (l->count++ >= NAMED_MAX)
                return;
        if (l->text.n)
                buf_addc(&l->text, "; ");
        buf_add(&l->text, what);
}

static void conclude(struct planner *p, struct listing *l, const char *type, const char *reason) {
        if (l->count > NAMED_MAX)
                buf_addf(&l->text, "; and %" PRId32 " more", l->count - NAMED_MAX);
        if (l->count)
                plan_condition(p, type, reason, arena_str(p->a, buf_str(&l->text)));
        buf_done(&l->text);
}

static struct listing new_listing(void) {
        return (struct listing){ .text = buf_make(8192) };
}

static void tell_spent(struct planner *p) {
        struct listing l = new_listing();

        for (size_t i = 0; i < p->after.restart_count; i++) {
                const struct group_restarts *r = &p->after.restarts[i];

                if (r->spent)
                        list(&l, arena_strf(p->a, "group %" PRId32 " failed after %" PRId32 " restarts: %.*s", r->group,
                                            r->count, STR_FMT(r->why)));
        }
        conclude(p, &l, GROUP_CONDITION_DEGRADED, "ReplicaRestartBudgetExceeded");
}

static void tell_backoff(struct planner *p) {
        struct listing l = new_listing();

        for (int32_t i = 0; i < p->wanted_count; i++) {
                const struct group *g = p->wanted[i];
                const struct group_restarts *r = plan_memo_find(p, g->index);
                int64_t until_ms = plan_held_until_ms(p, g);

                if (!r || r->spent || (g->live && g->fate == FATE_STAY) || p->now_ms >= until_ms)
                        continue;
                list(&l,
                     arena_strf(p->a,
                                "group %" PRId32 " is made again at %.*s, after %" PRId32 " restarts in a row: %.*s",
                                g->index, STR_FMT(plan_time_text(p, until_ms)), r->streak, STR_FMT(r->why)));
        }
        conclude(p, &l, GROUP_CONDITION_BACKOFF, "GroupRestarting");
}

static void tell_capacity(struct planner *p) {
        struct listing l = new_listing();

        for (int32_t i = 0; i < p->wanted_count; i++) {
                const struct group *g = p->wanted[i];
                const struct group_restarts *r = plan_memo_find(p, g->index);

                if (r && r->yields)
                        list(&l, arena_strf(p->a, "group %" PRId32 " found no nodes for all of its %" PRId32 " pods",
                                            g->index, g->size ? g->size : plan_target_of(p, g)->t.size));
        }
        conclude(p, &l, GROUP_CONDITION_WAITING, "GroupNotSchedulable");
}

static void tell_stuck_of(struct planner *p, struct listing *l, const struct group_pod *pod) {
        int64_t stuck_ms = pod->deleting_ms + p->s->options.stuck_ms;

        if (!plan_is_leaving(pod))
                return;
        if (p->now_ms < stuck_ms)
                plan_again_at(p, stuck_ms);
        else
                list(l, arena_strf(p->a, "pod %.*s%s%.*s does not end", STR_FMT(pod->name),
                                   pod->node.n ? " on node " : "", STR_FMT(pod->node)));
}

static void tell_stuck(struct planner *p) {
        struct listing l = new_listing();

        for (size_t i = 0; i < p->our_count; i++)
                tell_stuck_of(p, &l, p->ours[i]);
        for (size_t i = 0; i < p->stray_count; i++)
                tell_stuck_of(p, &l, p->strays[i]);
        conclude(p, &l, GROUP_CONDITION_STUCK, "PodsTerminating");
}

static void tell_troubles(struct planner *p) {
        tell_spent(p);
        tell_backoff(p);
        tell_capacity(p);
        tell_stuck(p);
        if (p->name_taken.n)
                plan_condition(p, GROUP_CONDITION_STALLED, "NameTaken",
                               arena_strf(p->a, "%.*s exists and belongs to another", STR_FMT(p->name_taken)));
}

/* Writing */

static struct group_count count_groups(const struct planner *p) {
        struct group_rollout_group *groups = arena_zalloc(p->a, p->group_count * sizeof *groups);
        size_t count = (size_t)p->wanted_count;

        for (size_t i = 0; i < p->group_count; i++) {
                const struct group *g = &p->groups[i];
                struct group_rollout_group is = { g->live > 0, g->ready, plan_is_updated(p, g) };

                if (g->position >= 0)
                        groups[g->position] = is;
                else if (g->live)
                        groups[count++] = is; /* it is on its way out, and counts until then */
        }
        return group_count_of(groups, count, p->s->replicas, p->s->partition);
}

static void tell_of_flips(struct planner *p, const struct value *status) {
        const struct group_told *told;
        size_t count;

        group_status_events(p->in->status, status, p->s->replicas, p->a, &told, &count);
        for (size_t i = 0; i < count; i++)
                plan_tell(p, told[i].warning, arena_str(p->a, told[i].reason).p, told[i].message);
}

static void plan_write(struct planner *p, enum group_status_scope scope, struct str memory) {
        struct group_status_in in = {
                .s = p->s,
                .before = p->in->status,
                .scope = scope,
                .count = count_groups(p),
                .extra = p->conditions,
                .extra_count = p->condition_count,
                .memory = memory,
                .now_ms = p->now_ms,
        };
        in.update_in_progress = in.count.behind > 0;
        const struct value *status = group_status_build(&in, p->a);
        if (value_equal(status, p->in->status))
                return;
        plan_act(p, GROUP_STATUS, GROUP_POD, str_eq(memory, p->memory_text) ? PHASE_MAIN : PHASE_REMEMBER, "status")
                ->body = status;
        tell_of_flips(p, status);
}

void plan_write_status(struct planner *p) {
        tell_troubles(p);
        plan_write(p, GROUP_STATUS_WHOLE, group_memory_text(&p->after, p->a));
}

void plan_write_stalled(struct planner *p, enum group_status_scope scope) {
        plan_write(p, scope, p->memory_text);
}
