/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups that hold a part of the nodes that they need.
 *
 * Members are released to the scheduler together, but the scheduler places them one by one: two groups may each get
 * half of what there is, and keep it for ever. A group is **half** when it was released, some member finds no node, and
 * not all have one. When it has been so for gang_timeout_ms, the youngest half group of the set lets go: all its pods
 * are deleted, it comes back with gates, and waits, 10 s, 20 s … 300 s, or until nodes come. What it let go of has
 * SETTLE_MS to help the others before the next one lets go.
 *
 * While there is too little room (some group is half, or has let go and is not back), groups are released one at a
 * time, the lowest index first. Otherwise all are released at once.
 *
 * A leader that is made alone first (LeaderReady, exclusive topology) takes a node by that, so to make it is a release;
 * it is half too while its workers wait for their turn.
 */
#include "group/group_impl.h"

static bool is_settled(const struct group *g) {
        return g->live && g->bound == g->size;
}

static bool is_released(const struct group *g) {
        return g->complete && g->fate == FATE_STAY;
}

/* A member that was made alone, where the policy allows that, to replace one of a group that ran: not a group's start.
 */
static bool replaces_one(const struct planner *p, const struct group *g, const struct group_pod *pod) {
        for (size_t i = 0; i < g->count; i++) {
                const struct group_pod *other = g->pods[i];

                if (other == pod || plan_is_leaving(other) || (other->worker == 0 && plan_is_staged(p, g->size)))
                        continue;
                if (other->ready && other->ready_ms && other->ready_ms < pod->created_ms)
                        return true;
        }
        return false;
}

static bool finds_no_node(const struct planner *p, const struct group *g) {
        for (size_t i = 0; g->unschedulable && i < g->count; i++) {
                const struct group_pod *pod = g->pods[i];

                if (pod->unschedulable && !pod->node.n && !plan_is_leaving(pod) && !replaces_one(p, g, pod))
                        return true;
        }
        return false;
}

static bool has_yielded(const struct planner *p, const struct group *g) {
        const struct group_restarts *r = plan_memo_find(p, g->index);

        return r && r->yields;
}

/* It may be given nodes, but was not yet. */
static bool waits_to_be_released(const struct group *g) {
        return g->fate == FATE_STAY && !g->complete;
}

static bool is_tight(const struct planner *p) {
        for (int32_t i = 0; i < p->wanted_count; i++)
                if (p->wanted[i]->half || has_yielded(p, p->wanted[i]))
                        return true;
        return false;
}

static void note_waiting(struct planner *p, struct group *g) {
        struct group_restarts *r = plan_memo_find(p, g->index);

        if (g->half) {
                r = plan_memo_of(p, g->index);
                if (!r->waiting_ms)
                        r->waiting_ms = p->second_ms;
                return;
        }
        if (r)
                r->waiting_ms = 0;
        if (r && is_released(g) && is_settled(g)) {
                r->yields = 0;
                r->yielded_ms = 0;
                r->yielded = (struct str){ 0 };
        }
}

static void find_halves(struct planner *p) {
        for (int32_t i = 0; i < p->wanted_count; i++) {
                struct group *g = p->wanted[i];

                g->half = plan_has_gang(p, g->size) && is_released(g) && !is_settled(g) && finds_no_node(p, g);
        }
        bool tight = is_tight(p);
        for (int32_t i = 0; i < p->wanted_count; i++) {
                struct group *g = p->wanted[i];

                if (tight && plan_has_gang(p, g->size) && waits_to_be_released(g) && g->whole && g->bound)
                        g->half = true;
        }
        for (int32_t i = 0; i < p->wanted_count; i++)
                note_waiting(p, p->wanted[i]);
}

/* Since when nodes that a group let go of are free to others; INT64_MAX: they are not yet, and will be. */
static int64_t freed_ms(const struct planner *p, const struct group *g) {
        const struct group_restarts *r = plan_memo_find(p, g->index);

        if (!r || !r->yields || is_released(g))
                return 0;
        if (g->live && g->fate == FATE_STAY)
                return g->created_ms > r->yielded_ms ? g->created_ms : r->yielded_ms;
        if (!g->count && plan_is_staged(p, plan_target_of(p, g)->t.size))
                return r->yielded_ms +
                       SETTLE_MS; /* it is not made anew before its turn: nobody knows when its pods went */
        /* A member that never ends must not keep all others from what they wait for. */
        return p->now_ms - r->yielded_ms < p->s->options.gang_timeout_ms ? INT64_MAX : r->yielded_ms;
}

static int64_t last_freed_ms(const struct planner *p) {
        int64_t last = 0;

        for (int32_t i = 0; i < p->wanted_count; i++) {
                int64_t freed = freed_ms(p, p->wanted[i]);

                if (freed > last)
                        last = freed;
        }
        return last;
}

static bool is_younger(const struct group *a, const struct group *b) {
        return a->created_ms != b->created_ms ? a->created_ms > b->created_ms : a->index > b->index;
}

/* The one to let go, and since when the longest of all waits; NULL: none is half. */
static struct group *youngest_half(const struct planner *p, int64_t *ret_since_ms) {
        struct group *youngest = NULL;

        *ret_since_ms = INT64_MAX;
        for (int32_t i = 0; i < p->wanted_count; i++) {
                struct group *g = p->wanted[i];

                if (!g->half)
                        continue;
                if (!youngest || is_younger(g, youngest))
                        youngest = g;
                if (plan_memo_find(p, g->index)->waiting_ms < *ret_since_ms)
                        *ret_since_ms = plan_memo_find(p, g->index)->waiting_ms;
        }
        return youngest;
}

static void let_go(struct planner *p, struct group *g) {
        struct group_restarts *r = plan_memo_of(p, g->index);

        g->fate = FATE_YIELD;
        r->yields++;
        r->yielded_ms = p->second_ms;
        r->yielded = g->incarnation;
        r->revision = g->revision;
        r->waiting_ms = 0;
        plan_tell(p, true, GROUP_CONDITION_WAITING,
                  arena_strf(p->a, "group %d got nodes for %d of %d pods within %lld s and lets go of them", g->index,
                             g->bound, g->size, (long long)(p->s->options.gang_timeout_ms / SECOND_MS)));
}

static void let_one_go(struct planner *p) {
        int64_t settle_ms = p->s->options.gang_timeout_ms < SETTLE_MS ? p->s->options.gang_timeout_ms : SETTLE_MS;
        int64_t since_ms, freed;
        struct group *g;

        g = youngest_half(p, &since_ms);
        freed = last_freed_ms(p);
        if (!g)
                return;
        if (freed == INT64_MAX) {
                plan_again_at(p, p->now_ms + settle_ms);
                return;
        }
        int64_t due_ms = since_ms + p->s->options.gang_timeout_ms;
        if (due_ms < freed + settle_ms)
                due_ms = freed + settle_ms;
        if (p->now_ms >= due_ms)
                let_go(p, g);
        else
                plan_again_at(p, due_ms);
}

/*
 * Until when nothing is released: since a group let go there was no more room for it than for the next one. 0: at once,
 * as nodes have come since.
 */
static int64_t hold_until_ms(const struct planner *p) {
        int64_t until_ms = 0;

        for (int32_t i = 0; i < p->wanted_count; i++) {
                const struct group_restarts *r = plan_memo_find(p, p->wanted[i]->index);

                if (!r || !r->yields || p->o->capacity_ms > r->yielded_ms)
                        continue;
                int64_t of_this = r->yielded_ms + plan_yield_backoff_ms(p, r);
                if (of_this > until_ms)
                        until_ms = of_this;
        }
        return until_ms;
}

void plan_judge_gangs(struct planner *p) {
        find_halves(p);
        let_one_go(p);
        p->tight = p->s->options.gang_timeout_ms > 0 && is_tight(p);
        p->hold_until_ms = hold_until_ms(p);
}

/* Is it about to take nodes: all of it waits behind gates, or its leader comes first and may come? */
static bool could_be_released(const struct planner *p, const struct group *g) {
        const struct group_restarts *r = plan_memo_find(p, g->index);

        if (!waits_to_be_released(g))
                return false;
        if (g->whole || g->live)
                return g->whole || plan_is_staged(p, g->size);
        return plan_is_staged(p, plan_target_of(p, g)->t.size) && !g->leaving && !(r && r->spent) &&
               p->now_ms >= plan_held_until_ms(p, g);
}

/* When it was tried last with the nodes that there are; 0: not yet. */
static int64_t tried_ms(const struct planner *p, const struct group *g) {
        const struct group_restarts *r = plan_memo_find(p, g->index);

        return r && r->yields && r->yielded_ms >= p->o->capacity_ms ? r->yielded_ms : 0;
}

/* Whose turn is before this one's? Those that were not tried yet, by index; then who was tried the longest time ago. */
static const struct group *goes_before(const struct planner *p, const struct group *g) {
        for (int32_t i = 0; i < p->wanted_count; i++) {
                const struct group *other = p->wanted[i];
                int64_t mine = tried_ms(p, g), theirs = tried_ms(p, other);

                if (other->releases && other != g)
                        return other;
                if (other != g && could_be_released(p, other) && (theirs < mine || (theirs == mine && i < g->position)))
                        return other;
        }
        return NULL;
}

static const struct group *not_settled(const struct planner *p, const struct group *g) {
        for (int32_t i = 0; i < p->wanted_count; i++) {
                const struct group *other = p->wanted[i];

                if (other != g && is_released(other) && !is_settled(other))
                        return other;
        }
        return NULL;
}

bool plan_may_take_nodes(struct planner *p, struct group *g, struct str *ret_why) {
        const struct group *first;
        int64_t until_ms = p->hold_until_ms;

        if (!p->tight || g->complete)
                return true;
        if (p->now_ms < until_ms) {
                plan_again_at(p, until_ms);
                *ret_why = arena_strf(p->a, "room for all %d pods, or %.*s", g->size,
                                      STR_FMT(plan_time_text(p, until_ms)));
                return false;
        }
        first = not_settled(p, g);
        if (!first)
                first = goes_before(p, g);
        if (!first)
                return true;
        *ret_why = arena_strf(p->a, "its turn: group %d has not all of its nodes yet", first->index);
        return false;
}
