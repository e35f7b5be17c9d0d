/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which indices are wanted. As many as there should be groups, from 0 on, but for those that are **absent**: a
 * scale-down that was told to take broken groups first leaves their indices out, so that no other group changes its
 * name. Growth fills them again, lowest first. What is absent is remembered; when that is lost, groups that are there
 * in the right number are the wanted ones.
 */
#include "group/group_impl.h"

#include <stdlib.h>
#include <string.h>

static bool is_absent(const struct planner *p, int32_t index) {
        size_t low = 0, high = p->after.absent_count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (p->after.absent[middle] < index)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < p->after.absent_count && p->after.absent[low] == index;
}

void plan_place_groups(struct planner *p, int32_t count) {
        p->wanted_count = 0;
        for (size_t i = 0; i < p->group_count; i++)
                p->groups[i].position = -1;
        for (size_t i = 0; i < p->dense && p->wanted_count < count; i++) {
                if (is_absent(p, p->groups[i].index))
                        continue;
                p->groups[i].position = p->wanted_count;
                p->wanted[p->wanted_count++] = &p->groups[i];
        }
}

/* Of two groups the one that is missed less comes first. */
static int badness(const struct group *g, const struct planner *p) {
        if (!g->live || g->mixed || (g->complete && !g->whole))
                return 0;
        for (size_t i = 0; i < g->count; i++)
                if (g->pods[i]->phase == GROUP_POD_FAILED || g->pods[i]->phase == GROUP_POD_UNKNOWN)
                        return 0;
        if (g->bound < g->size)
                return 1;
        if (!g->ready)
                return 2;
        return str_eq(g->revision, p->want->t.hash) ? 4 : 3;
}

static const struct group *worst_of(const struct planner *p) {
        const struct group *worst = NULL;
        int least = 0;

        for (int32_t i = 0; i < p->wanted_count; i++) {
                int bad = badness(p->wanted[i], p);

                if (!worst || bad <= least) {
                        worst = p->wanted[i];
                        least = bad;
                }
        }
        return worst;
}

static void set_absent(struct planner *p, const int32_t *list, size_t count) {
        p->after.absent = list;
        p->after.absent_count = count;
}

static void leave_out(struct planner *p, int32_t index) {
        size_t count = p->after.absent_count, at = 0;
        int32_t *list = arena_alloc(p->a, (count + 1) * sizeof *list);

        while (at < count && p->after.absent[at] < index)
                at++;
        if (at)
                memcpy(list, p->after.absent, at * sizeof *list);
        list[at] = index;
        if (count > at)
                memcpy(list + at + 1, p->after.absent + at, (count - at) * sizeof *list);
        set_absent(p, list, count + 1);
}

static void take_victims(struct planner *p, int32_t count) {
        struct group_memory *m = &p->after;

        for (int32_t i = 0; i < count && m->groups > 0; i++) {
                plan_place_groups(p, m->groups);
                const struct group *victim = worst_of(p);

                if (!victim)
                        return;
                if (victim->position < m->partition)
                        m->partition--;
                m->groups--;
                if (victim->position < m->groups)
                        leave_out(p, victim->index);
        }
}

static void fill_up(struct planner *p, int32_t count) {
        struct group_memory *m = &p->after;

        for (int32_t i = 0; i < count && m->absent_count; i++) {
                int32_t index = m->absent[0];

                set_absent(p, m->absent + 1, m->absent_count - 1);
                m->groups++;
                plan_place_groups(p, m->groups);
                if (p->groups[index].position < m->partition && m->partition < INT32_MAX)
                        m->partition++;
        }
}

static void derive_absent(struct planner *p) {
        int32_t there = 0, highest = -1;

        for (size_t i = 0; i < p->dense; i++)
                if (p->groups[i].count) {
                        there++;
                        highest = p->groups[i].index;
                }
        /* Too few: the lowest that are missing are to be made. */
        for (int32_t i = 0; i < highest; i++) {
                if (p->groups[i].count)
                        continue;
                if (there < p->s->replicas)
                        there++;
                else
                        leave_out(p, i);
        }
}

/* What no wanted group is above is no hole: below the k-th of them, counted from 0, there are k fewer than its index.
 */
static void trim_absent(struct planner *p) {
        size_t count = p->after.absent_count;

        while (p->after.groups >= 0 && count && p->after.absent[count - 1] - (int32_t)(count - 1) >= p->after.groups)
                count--;
        set_absent(p, p->after.absent, count);
}

void plan_choose_indices(struct planner *p) {
        int32_t known = p->after.replicas, replicas = p->s->replicas;

        trim_absent(p);
        if (!p->remembered && p->s->options.victims_by_health)
                derive_absent(p);
        else if (known >= 0 && replicas < known && p->s->options.victims_by_health)
                take_victims(p, known - replicas);
        else if (known >= 0 && replicas > known)
                fill_up(p, replicas - known);
        trim_absent(p);
}
