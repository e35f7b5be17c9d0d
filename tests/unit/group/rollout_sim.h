/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups without pods, for tests of rollout.h: what a plan would do with p and n is done at once. A group at index p or
 * above that is outdated, and the one to repair, becomes a new one that is not ready; one that is missing is made
 * (there of the wanted revision, below of its own); those from n on are gone.
 */
#ifndef TRUCE_TEST_GROUP_ROLLOUT_SIM_H
#define TRUCE_TEST_GROUP_ROLLOUT_SIM_H

#include <stdio.h>
#include <string.h>

#include "group/rollout.h"

#define SIM_MAX 24 /* groups */

struct sim_group {
        bool exists, ready;
        char revision; /* kept when it does not exist: that it is made from again */
};

struct sim {
        struct group_rollout_in in; /* groups and count are filled by sim_step() */
        struct group_rollout_group view[SIM_MAX];
        struct sim_group groups[SIM_MAX];
        char wanted, before; /* revisions; `before`: what was recorded at the last pass */
        bool by_hand;        /* missing and outdated groups are left to the test */
        struct group_rollout last;
};

static inline int sim_existing(const struct sim *s) {
        int n = 0;

        for (int i = 0; i < SIM_MAX; i++)
                n += s->groups[i].exists;
        return n;
}

static inline int sim_ready(const struct sim *s) {
        int n = 0;

        for (int i = 0; i < SIM_MAX; i++)
                n += s->groups[i].exists && s->groups[i].ready;
        return n;
}

static inline bool sim_any_outdated(const struct sim *s) {
        for (int i = 0; i < SIM_MAX; i++)
                if (s->groups[i].exists && s->groups[i].revision != s->wanted)
                        return true;
        return false;
}

static inline bool sim_may_change(const struct sim *s, int i) {
        return i >= s->last.partition || i == s->last.repair;
}

static inline void sim_make(struct sim *s, int i) {
        struct sim_group *g = &s->groups[i];
        char own = g->revision ? g->revision : s->groups[0].revision;

        g->exists = true;
        g->ready = false;
        g->revision = sim_may_change(s, i) || !own ? s->wanted : own;
}

static inline void sim_replace(struct sim *s, int i) {
        s->groups[i].ready = false;
        s->groups[i].revision = s->wanted;
}

static inline void sim_carry_out(struct sim *s) {
        for (int i = 0; i < SIM_MAX; i++) {
                struct sim_group *g = &s->groups[i];

                if (i >= s->last.groups)
                        *g = (struct sim_group){ 0 };
                else if (!g->exists && !s->by_hand)
                        sim_make(s, i);
                else if (g->exists && sim_may_change(s, i) && g->revision != s->wanted && !s->by_hand)
                        sim_replace(s, i);
        }
}

static inline void sim_look(struct sim *s) {
        int count = 0;

        for (int i = 0; i < SIM_MAX; i++) {
                const struct sim_group *g = &s->groups[i];

                s->view[i] = (struct group_rollout_group){ g->exists, g->exists && g->ready,
                                                           g->exists && g->revision == s->wanted };
                if (g->exists)
                        count = i + 1;
        }
        s->in.groups = s->view;
        s->in.count = (size_t)count;
        s->in.fresh = s->before && s->wanted != s->before;
        s->in.rolling = s->in.rolling || s->in.fresh || sim_any_outdated(s);
}

static inline void sim_record(struct sim *s) {
        int32_t user = s->in.partition > 0 ? s->in.partition : 0;

        s->in.now_partition = s->last.partition;
        s->in.now_groups = s->last.groups;
        s->in.recorded_replicas = s->in.replicas;
        s->before = s->wanted;
        s->in.rolling = s->in.rolling && !(s->last.partition <= user && s->last.groups == s->in.replicas);
}

/* One pass, without what it leads to. */
static inline void sim_ask(struct sim *s) {
        sim_look(s);
        s->last = group_rollout_step(&s->in);
        sim_record(s);
}

/* "A+B-__": revision and readiness by index, two underscores for one that does not exist. */
static inline void sim_text(const struct sim *s, char text[2 * SIM_MAX + 1]) {
        size_t n = 0, end = 0;

        for (int i = 0; i < SIM_MAX; i++) {
                const struct sim_group *g = &s->groups[i];

                text[n++] = g->exists ? g->revision : '_';
                text[n++] = !g->exists ? '_' : g->ready ? '+' : '-';
                if (g->exists)
                        end = n;
        }
        text[end] = 0;
}

static inline void sim_read_groups(struct sim *s, const char *text) {
        for (int i = 0; i < SIM_MAX && text[2 * i]; i++)
                if (text[2 * i] != '_')
                        s->groups[i] = (struct sim_group){ .exists = true,
                                                           .revision = text[2 * i],
                                                           .ready = text[2 * i + 1] == '+' };
}

#endif
