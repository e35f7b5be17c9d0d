/* SPDX-License-Identifier: Apache-2.0 */
/* Each group for people: a word for its state, and what it waits for. */
#include "group/group_impl.h"

#include <inttypes.h>

#include "base/when.h"

struct str plan_time_text(const struct planner *p, int64_t ms) {
        _cleanup_(buf_done) struct buf text = buf_make(64);

        when_print((ms + SECOND_MS - 1) / SECOND_MS * SECOND_MS, &text);
        return arena_str(p->a, buf_str(&text));
}

struct str plan_member_name(const struct planner *p, const struct group_pod *pod) {
        return arena_strf(p->a, "%s %.*s", pod->worker ? "worker" : "leader", STR_FMT(pod->name));
}

static const char *word_of_fate(enum fate fate) {
        static const char *const words[] = {
                [FATE_STAY] = "Starting",
                [FATE_SCALE] = "Terminating",
                [FATE_ROLL] = "Rolling",
                [FATE_FAILED] = "Restarting",
                [FATE_UNFIT] = "Restarting",
                [FATE_SPENT] = "Failed",
                [FATE_YIELD] = "WaitingForCapacity",
        };

        return words[fate];
}

static struct str other_members(const struct planner *p, int32_t others) {
        return others ? arena_strf(p->a, " and %" PRId32 " more", others) : STR("");
}

/* The first member of which `is` is true, and how many others there are. */
static const struct group_pod *first_such(const struct group *g, bool (*is)(const struct group_pod *),
                                          int32_t *ret_others) {
        const struct group_pod *first = NULL;

        *ret_others = 0;
        for (size_t i = 0; i < g->count; i++) {
                if (plan_is_leaving(g->pods[i]) || g->pods[i]->worker >= g->size || !is(g->pods[i]))
                        continue;
                if (first)
                        ++*ret_others;
                else
                        first = g->pods[i];
        }
        return first;
}

static bool finds_no_room(const struct group_pod *pod) {
        return pod->unschedulable && !pod->node.n;
}

static bool is_held_by_others(const struct group_pod *pod) {
        return pod->gated_by_others;
}

static bool is_not_ready(const struct group_pod *pod) {
        return pod->phase != GROUP_POD_RUNNING || !pod->ready;
}

static bool is_without_node(const struct group_pod *pod) {
        return !pod->node.n;
}

static void describe(const struct planner *p, const struct group *g, struct group_row *row) {
        static const struct {
                bool (*is)(const struct group_pod *);
                const char *state, *text;
        } stages[] = {
                { finds_no_room, "Pending", "which no node has room for" },
                { is_held_by_others, "Gated", "which a scheduling gate of another holds" },
                { is_without_node, "Pending", "to get a node" },
                { is_not_ready, "Starting", "to become ready" },
        };

        for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
                int32_t others;
                const struct group_pod *pod = first_such(g, stages[i].is, &others);

                if (!pod)
                        continue;
                row->state = str_from(stages[i].state);
                row->waiting_for = arena_strf(p->a, "%.*s%.*s, %s", STR_FMT(plan_member_name(p, pod)),
                                              STR_FMT(other_members(p, others)), stages[i].text);
                if (i >= 2)
                        row->waiting_for = arena_strf(p->a, "%.*s%.*s %s", STR_FMT(plan_member_name(p, pod)),
                                                      STR_FMT(other_members(p, others)), stages[i].text);
                return;
        }
}

static void explain_state(const struct planner *p, const struct group *g, struct group_row *row) {
        const struct group_restarts *r = plan_memo_find(p, g->index);

        row->state = STR("Starting");
        if (g->fate != FATE_STAY || g->position < 0) {
                row->state = str_from(word_of_fate(g->position < 0 ? FATE_SCALE : g->fate));
                if (r && (g->fate == FATE_FAILED || g->fate == FATE_SPENT))
                        row->waiting_for = r->why;
        } else if (g->ready) {
                row->state = STR("Ready");
        } else if (g->state) {
                row->state = str_from(g->state);
                row->waiting_for = g->waiting_for;
        } else if (g->releases || g->makes) {
                row->waiting_for = g->live ? STR("its members to be made or released") : STR("its members to be made");
        } else if (g->live) {
                describe(p, g, row);
        }
}

static void explain_group(struct planner *p, const struct group *g) {
        struct group_row *row = &p->out.rows[p->out.row_count++];
        const struct group_restarts *r = plan_memo_find(p, g->index);

        *row = (struct group_row){
                .index = g->index,
                .revision = g->live ? g->revision : plan_target_of(p, g)->t.hash,
                .updated = plan_is_updated(p, g),
                .ready = g->ready,
                .surge = g->position >= p->s->replicas,
                .members = g->live,
                .ready_members = g->ready_members,
                .size = g->count || g->size ? g->size : plan_target_of(p, g)->t.size,
                .restarts = r ? r->count : 0,
        };
        explain_state(p, g, row);
}

void plan_explain(struct planner *p) {
        p->out.rows = arena_alloc(p->a, p->group_count * sizeof *p->out.rows);
        for (size_t i = 0; i < p->group_count; i++)
                if (p->groups[i].position >= 0 || p->groups[i].count)
                        explain_group(p, &p->groups[i]);
}
