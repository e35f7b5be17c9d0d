/* SPDX-License-Identifier: Apache-2.0 */
/* How far the roll may go, and which revision a group is made from. The arithmetic is group/rollout.h. */
#include "group/group_impl.h"

/* Steps of group_rollout_step() after which the answer about the same groups stands. */
#define SETTLED_AFTER 4
/* Failures in a row after which a group that the roll has not come to is made from the new revision. */
#define REPAIRED_AFTER 2

bool plan_is_updated(const struct planner *p, const struct group *g) {
        return g->live && !g->mixed && str_eq(g->revision, p->want->t.hash);
}

/* Has its turn come? Out of turn where it is broken and nothing else can move. */
bool plan_may_roll(const struct planner *p, const struct group *g) {
        return g->position >= p->after.partition || (g->position >= 0 && g->position == p->roll.repair);
}

bool plan_is_repaired_by_roll(const struct planner *p, const struct group *g, const struct group_restarts *r) {
        return r && (r->spent || r->streak >= REPAIRED_AFTER) && p->after.rolling && g->position >= p->s->partition;
}

/*
 * A group below the partition comes back as it was. Of which revision that is its history says, or else there is only
 * one that it can have been of.
 */
const struct revision *plan_target_of(const struct planner *p, const struct group *g) {
        const struct group_restarts *r = plan_memo_find(p, g->index);
        const struct revision *own = r && r->revision.n ? plan_find_revision(p, r->revision) : NULL;

        if (g->position < 0 || plan_may_roll(p, g) || plan_is_repaired_by_roll(p, g, r))
                return p->want;
        if (own)
                return own;
        return p->after.rolling && p->previous ? p->previous : p->want;
}

static const struct group_rollout_group *by_position(const struct planner *p) {
        struct group_rollout_group *groups = arena_alloc(p->a, (size_t)p->wanted_count * sizeof *groups);

        for (int32_t i = 0; i < p->wanted_count; i++) {
                const struct group *g = p->wanted[i];

                groups[i] = (struct group_rollout_group){ g->live > 0, g->ready, plan_is_updated(p, g) };
        }
        return groups;
}

static bool any_lives(const struct planner *p) {
        for (int32_t i = 0; i < p->wanted_count; i++)
                if (p->wanted[i]->live)
                        return true;
        return false;
}

static bool any_of_another_revision(const struct planner *p) {
        for (int32_t i = 0; i < p->wanted_count; i++) {
                const struct group *g = p->wanted[i];

                if (g->live ? !plan_is_updated(p, g) : plan_target_of(p, g) != p->want)
                        return true;
        }
        return false;
}

/* Is it the first pass that sees this revision? Not for a set that has no groups yet: they are born with it. */
static bool is_fresh(const struct planner *p) {
        if (str_eq(p->after.revision, p->want->t.hash))
                return false;
        return p->after.revision.n || any_lives(p);
}

/* Where nothing is remembered, groups above the replicas may be surge groups that others still rely on. */
static bool may_have_surge(const struct planner *p) {
        for (int32_t i = p->s->replicas; !p->remembered && i < p->wanted_count; i++)
                if (p->wanted[i]->live)
                        return true;
        return false;
}

static void step(struct planner *p, struct group_rollout_in *in) {
        for (int i = 0; i < SETTLED_AFTER; i++) {
                p->roll = group_rollout_step(in);
                if (!in->fresh && p->roll.partition == in->now_partition && p->roll.groups == in->now_groups)
                        return;
                in->fresh = false;
                in->now_partition = p->roll.partition;
                in->now_groups = p->roll.groups;
                in->recorded_replicas = p->s->replicas;
        }
}

static void tell_of_roll(struct planner *p, int32_t partition_before) {
        int32_t from = p->roll.partition, to = partition_before < p->wanted_count ? partition_before : p->wanted_count;

        if (!p->after.rolling || from >= to)
                return;
        plan_tell(p, false, "GroupsUpdating",
                  arena_strf(p->a, "Updating replicas %d to %d (inclusive)", p->wanted[from]->index,
                             p->wanted[to - 1]->index));
        if (p->roll.clamped)
                plan_tell(p, false, "MaxUnavailableRaised",
                          arena_strf(p->a,
                                     "maxUnavailable and maxSurge both come to 0 of %d replicas, 1 is used for "
                                     "maxUnavailable",
                                     p->s->replicas));
}

/* Those that have no place any more; while they still have the one that they had. */
static void tell_of_surge(struct planner *p) {
        for (int32_t i = p->roll.groups; i < p->wanted_count && p->before.rolling; i++)
                if (i >= p->s->replicas)
                        plan_tell(p, false, "GroupsProgressing",
                                  arena_strf(p->a, "deleting surge replica %.*s-%d", STR_FMT(p->s->name),
                                             p->wanted[i]->index));
}

void plan_roll(struct planner *p) {
        struct group_memory *m = &p->after;
        int32_t partition_before = m->partition;

        plan_place_groups(p, m->groups < 0 ? (int32_t)p->dense : m->groups);
        bool fresh = is_fresh(p);
        m->rolling = m->rolling || fresh || may_have_surge(p);
        struct group_rollout_in in = {
                .replicas = p->s->replicas,
                .partition = p->s->partition,
                .max_unavailable = p->s->max_unavailable,
                .max_surge = p->s->max_surge,
                .rolling = m->rolling,
                .fresh = fresh,
                .now_partition = m->partition,
                .now_groups = m->groups,
                .recorded_replicas = m->replicas,
                .groups = by_position(p),
                .count = (size_t)p->wanted_count,
        };
        step(p, &in);
        m->partition = p->roll.partition;
        m->groups = p->roll.groups;
        m->replicas = p->s->replicas;
        m->revision = p->want->t.hash;
        tell_of_surge(p);
        plan_place_groups(p, m->groups);
        m->rolling = m->groups > m->replicas || any_of_another_revision(p);
        if (fresh)
                partition_before = m->groups;
        tell_of_roll(p, partition_before);
}
