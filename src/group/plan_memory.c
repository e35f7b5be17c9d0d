/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of the passes before, and what of it is worth remembering still. */
#include "group/group_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "group/conditions.h"

#define RESTARTS_MAX 1000000000 /* of one group: one a second for thirty years */

static const struct value *memory_condition(const struct planner *p) {
        return conditions_find(value_getc(p->in->status, "conditions"), STR(GROUP_CONDITION_MEMORY));
}

/* Numbers that no set can have had: not ours, or damaged. */
static bool is_possible(const struct group_memory *m) {
        for (size_t i = 0; i < m->restart_count; i++)
                if (m->restarts[i].count > RESTARTS_MAX || m->restarts[i].streak > RESTARTS_MAX ||
                    m->restarts[i].yields > RESTARTS_MAX)
                        return false;
        return m->groups <= 2 * GROUP_MAX_PODS && m->replicas <= GROUP_MAX_PODS && m->absent_count <= GROUP_MAX_PODS &&
               (!m->absent_count || (m->groups >= 0 && m->absent[m->absent_count - 1] < 2 * GROUP_MAX_PODS));
}

static int64_t earlier(int64_t a, int64_t b) {
        return a < b ? a : b;
}

/* A clock that was put back makes times that are to come of those that were: nobody is to wait for them. */
static void pull_back_times(struct planner *p) {
        for (size_t i = 0; i < p->after.restart_count; i++) {
                struct group_restarts *r = &p->after.restarts[i];

                r->last_ms = earlier(r->last_ms, p->second_ms);
                r->waiting_ms = earlier(r->waiting_ms, p->second_ms);
                r->yielded_ms = earlier(r->yielded_ms, p->second_ms);
        }
}

void plan_remember(struct planner *p) {
        p->memory_text = value_text(value_getc(memory_condition(p), "message"));
        p->before = group_memory_unknown();
        p->remembered = group_memory_read(p->memory_text, p->a, &p->before) == 0 && is_possible(&p->before);
        if (!p->remembered) {
                p->before = group_memory_unknown();
                /* A value that was there before the memory was lost is none that somebody has just set. */
                p->before.budget_reset = p->s->options.budget_reset;
        }
        p->after = p->before;
        p->restart_cap = p->before.restart_count;
        p->after.restarts = arena_alloc(p->a, p->restart_cap * sizeof *p->after.restarts);
        if (p->restart_cap)
                memcpy(p->after.restarts, p->before.restarts, p->restart_cap * sizeof *p->after.restarts);
        pull_back_times(p);
}

struct group_restarts *plan_memo_find(const struct planner *p, int32_t group) {
        size_t low = 0, high = p->after.restart_count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (p->after.restarts[middle].group < group)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < p->after.restart_count && p->after.restarts[low].group == group ? &p->after.restarts[low] : NULL;
}

struct group_restarts *plan_memo_of(struct planner *p, int32_t group) {
        struct group_restarts *r = plan_memo_find(p, group);
        size_t at = p->after.restart_count;

        if (r)
                return r;
        p->after.restarts = plan_grow(p, p->after.restarts, &p->restart_cap, at, sizeof *r);
        for (; at > 0 && p->after.restarts[at - 1].group > group; at--)
                p->after.restarts[at] = p->after.restarts[at - 1];
        p->after.restart_count++;
        p->after.restarts[at] = (struct group_restarts){ .group = group };
        return &p->after.restarts[at];
}

/*
 * Where nothing is remembered, the wanted revision counts as known when any group has it: then a roll to it was under
 * way, or over. How far it was, group_rollout_step() sees from the groups.
 */
void plan_derive_memory(struct planner *p) {
        for (size_t i = 0; !p->remembered && i < p->group_count; i++)
                if (str_eq(p->groups[i].revision, p->want->t.hash))
                        p->after.revision = p->want->t.hash;
}

int64_t plan_restart_backoff_ms(int32_t streak) {
        int64_t ms = BACKOFF_FIRST_MS;

        if (streak <= 1)
                return 0;
        for (int32_t i = 2; i < streak && ms < BACKOFF_MAX_MS; i++)
                ms *= 2;
        return ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS;
}

/* Sets that let go for each other's sake must not come back in step: up to a quarter is added, another for each. */
int64_t plan_yield_backoff_ms(const struct planner *p, const struct group_restarts *r) {
        static const struct hash_key key = { 0x7472756365206761, 0x6e67206a69747465 };
        int64_t ms = plan_restart_backoff_ms(r->yields + 1);
        struct str what = arena_strf(p->a, "%.*s/%d/%d", STR_FMT(p->s->uid), r->group, r->yields);

        return ms + (int64_t)(hash64(&key, what) % (uint64_t)(ms / 4 + 1));
}

/* Of which revision the group is, or will be. */
static struct str revision_of(const struct planner *p, const struct group *g) {
        return g->live ? g->revision : plan_target_of(p, g)->t.hash;
}

/* Only of which revision a group is to be made; once it lives its pods say that. */
static bool is_plain(const struct group_restarts *r) {
        return !r->count && !r->streak && !r->last_ms && !r->spent && !r->yields && !r->waiting_ms &&
               !r->incarnation.n && !r->yielded.n;
}

static bool is_stale(const struct planner *p, const struct group_restarts *r) {
        const struct group *g = plan_find_group(p, r->group);

        if (!g || (g->position < 0 && !g->count) || (g->live && is_plain(r)))
                return true;
        return r->revision.n && g->position >= 0 && !str_eq(r->revision, revision_of(p, g));
}

static void calm_down(struct planner *p, struct group_restarts *r) {
        const struct group *g = plan_find_group(p, r->group);

        if (!r->streak || r->spent || !g->ready)
                return;
        if (p->now_ms - g->ready_ms >= FORGET_MS)
                r->streak = 0;
        else
                plan_again_at(p, g->ready_ms + FORGET_MS);
}

static void reset_budget(struct planner *p) {
        if (str_eq(p->after.budget_reset, p->s->options.budget_reset))
                return;
        p->after.budget_reset = p->s->options.budget_reset;
        for (size_t i = 0; i < p->after.restart_count; i++) {
                struct group_restarts *r = &p->after.restarts[i];

                r->count = r->streak = 0;
                r->spent = false;
        }
}

/*
 * A group that the roll repairs out of turn begins anew. That it does must be remembered: by its place it would come
 * back as it was.
 */
static void begin_repairs(struct planner *p) {
        for (size_t i = 0; i < p->after.restart_count; i++) {
                struct group_restarts *r = &p->after.restarts[i];
                const struct group *g = plan_find_group(p, r->group);

                if (g && g->position >= 0 && !g->live && plan_is_repaired_by_roll(p, g, r) &&
                    !str_eq(r->revision, p->want->t.hash))
                        *r = (struct group_restarts){ .group = r->group, .revision = p->want->t.hash };
        }
}

/* Histories of groups that are gone, or of another revision by now; counts that a long quiet time, or a person, ends.
 */
void plan_forget(struct planner *p) {
        size_t kept = 0;

        begin_repairs(p);
        for (size_t i = 0; i < p->after.restart_count; i++)
                if (!is_stale(p, &p->after.restarts[i]))
                        p->after.restarts[kept++] = p->after.restarts[i];
        p->after.restart_count = kept;
        for (size_t i = 0; i < kept; i++)
                calm_down(p, &p->after.restarts[i]);
        reset_budget(p);
}
