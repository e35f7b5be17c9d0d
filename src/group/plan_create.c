/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods: what goes, what comes, whose gates come off.
 *
 * Where members are made with gates, all of a group's come at once, in any order: as long as all that are there are
 * gated and some are missing, making them goes on. Without gates the leader comes last. Where the leader comes first,
 * the workers follow when it is ready, or has a node, with gates of their own, or without gates the last one at the
 * end.
 */
#include "group/group_impl.h"

#include <inttypes.h>

#include "base/hash.h"
#include "group/build.h"
#include "group/names.h"

/* Going */

static const char *fate_text(enum fate fate) {
        switch (fate) {
        case FATE_SCALE:
                return "scale down";
        case FATE_ROLL:
                return "roll";
        case FATE_FAILED:
                return "group failed";
        case FATE_SPENT:
                return "restart budget spent";
        case FATE_UNFIT:
                return "members of two lives";
        case FATE_YIELD:
                return "no room for the whole group";
        case FATE_STAY:
                break;
        }
        return "member failed";
}

static struct group_action *delete_pod(struct planner *p, const struct group_pod *pod, int32_t group, bool force,
                                       const char *why) {
        struct group_action *act = plan_act(p, GROUP_DELETE, GROUP_POD, PHASE_MAIN, why);

        act->name = pod->name;
        act->uid = pod->uid;
        act->resource_version = pod->resource_version;
        act->group = group;
        act->force = force;
        return act;
}

/* From when on nobody will ever say that its containers have ended; INT64_MAX: somebody may. */
static int64_t beyond_ms(const struct planner *p, const struct group_pod *pod) {
        const struct group_node *node = plan_find_node(p, pod->node);

        if (node && node->out_of_service)
                return node->out_of_service_ms + EVICTION_MS;
        if (node && node->gone && node->lost_ms)
                return node->lost_ms + p->s->options.unreachable_ms;
        return INT64_MAX;
}

static void end_pod(struct planner *p, const struct group_pod *pod, int32_t group) {
        int64_t at_ms = beyond_ms(p, pod);

        if (pod->deleting_at_once)
                return;
        if (p->now_ms >= at_ms)
                delete_pod(p, pod, group, true, "its node is gone");
        else if (at_ms != INT64_MAX)
                plan_again_at(p, at_ms);
}

/* Nothing is taken away for a revision that may turn out to be impossible to store. */
static void delete_of_group(struct planner *p, const struct group *g) {
        unsigned phase = g->fate == FATE_ROLL && p->revision_pending ? PHASE_AFTER : PHASE_MAIN;

        for (size_t i = 0; i < g->count; i++) {
                const struct group_pod *pod = g->pods[i];

                if (plan_is_leaving(pod))
                        end_pod(p, pod, g->index);
                else if (g->fate != FATE_STAY || (g->drop && g->drop[i]))
                        delete_pod(p, pod, g->index, false, fate_text(g->fate))->phase = phase;
                else if (pod->worker >= g->size)
                        delete_pod(p, pod, g->index, false, "not a member");
        }
}

void plan_delete_pods(struct planner *p) {
        for (size_t i = 0; i < p->group_count; i++)
                delete_of_group(p, &p->groups[i]);
        for (size_t i = 0; i < p->stray_count; i++) {
                if (plan_is_leaving(p->strays[i]))
                        end_pod(p, p->strays[i], -1);
                else
                        delete_pod(p, p->strays[i], -1, false, "not a member");
        }
}

/* Coming */

/* How members of one group are made in this plan. */
struct making {
        struct group *g;
        const struct group_template *t;
        struct group_place at; /* of the next one */
        unsigned phase;
        int32_t made;
};

static const struct group_pod *foreign_at(const struct planner *p, struct str name) {
        for (size_t i = 0; p->our_count + p->stray_count < p->o->pod_count && i < p->o->pod_count; i++)
                if (!plan_is_ours(p, p->o->pods[i].owner_uid) && str_eq(p->o->pods[i].name, name))
                        return &p->o->pods[i];
        return NULL;
}

static bool is_stray_name(const struct planner *p, struct str name) {
        for (size_t i = 0; i < p->stray_count; i++)
                if (str_eq(p->strays[i]->name, name))
                        return true;
        return false;
}

static void keep_back(struct group *g, const char *state, struct str waiting_for) {
        g->state = state;
        g->waiting_for = waiting_for;
}

/* Is the name free, and what the pod needs? If not, the group says what it waits for. */
static bool can_be_made(struct planner *p, const struct making *m, int32_t worker) {
        struct str name = group_name_pod(p->a, p->s->name, m->g->index, worker), wait;
        const struct group_pod *foreign = foreign_at(p, name);

        if (foreign) {
                keep_back(m->g, "NameTaken",
                          arena_strf(p->a, "the name of pod %.*s, which is another's", STR_FMT(name)));
                if (!plan_is_leaving(foreign) && !p->name_taken.n)
                        p->name_taken = arena_strf(p->a, "Pod %.*s", STR_FMT(name));
                return false;
        }
        if (is_stray_name(p, name)) {
                keep_back(m->g, "Starting", arena_strf(p->a, "pod %.*s to end", STR_FMT(name)));
                return false;
        }
        if (!plan_claims_can_be(p, m->t, name, &wait)) {
                keep_back(m->g, "Starting", wait);
                return false;
        }
        return true;
}

static void make_pod(struct planner *p, struct making *m, int32_t worker, unsigned phase) {
        struct group_action *act;

        m->at.group = m->g->index;
        m->at.worker = worker;
        if (plan_make_claims(p, m->t, &m->at) && phase < PHASE_AFTER)
                phase = PHASE_AFTER;
        act = plan_act(p, GROUP_CREATE, GROUP_POD, phase, worker ? "worker" : "leader");
        act->name = group_name_pod(p->a, p->s->name, m->g->index, worker);
        act->group = m->g->index;
        act->body = group_build_pod(p->s, m->t, &m->at, p->a);
        m->g->makes = true;
        m->made++;
        p->pods_made++;
}

static bool all_can_be_made(struct planner *p, const struct making *m, int32_t from) {
        for (int32_t w = from; w < m->t->size; w++)
                if (!plan_member_at(m->g, w) && !can_be_made(p, m, w))
                        return false;
        return true;
}

/* Missing members from `from` on, all or none; without gates the last one after the others. */
static void make_missing(struct planner *p, struct making *m, int32_t from) {
        if (!all_can_be_made(p, m, from))
                return;
        for (int32_t w = from; w < m->t->size; w++)
                if (!plan_member_at(m->g, w))
                        make_pod(p, m, w, !m->at.gated && m->made && w == m->t->size - 1 ? PHASE_LAST : m->phase);
}

static struct str new_incarnation(const struct planner *p, const struct group *g, struct str revision) {
        static const struct hash_key key = { 0x696e6361726e6174, 0x696f6e206f662061 };
        struct str what = arena_strf(p->a, "%.*s/%" PRId32 "/%.*s/%" PRId64, STR_FMT(p->s->uid), g->index,
                                     STR_FMT(revision), p->now_ms);

        return arena_strf(p->a, "%08" PRIx32, (uint32_t)hash64(&key, what));
}

/* Without gates: workers, then the leader. */
static void make_leader_last(struct planner *p, struct making *m) {
        if (!all_can_be_made(p, m, 0))
                return;
        for (int32_t w = 1; w < m->t->size; w++)
                if (!plan_member_at(m->g, w))
                        make_pod(p, m, w, m->phase);
        if (!plan_member_at(m->g, 0))
                make_pod(p, m, 0, m->made ? PHASE_LAST : m->phase);
}

static struct str left_pods(const struct planner *p, const struct group *g) {
        const struct group_pod *pod = g->pods[0];

        for (size_t i = 0; i < g->count; i++)
                if (plan_is_leaving(g->pods[i])) {
                        pod = g->pods[i];
                        break;
                }
        return arena_strf(p->a, "%.*s to end%s%.*s", STR_FMT(plan_member_name(p, pod)), pod->node.n ? " on node " : "",
                          STR_FMT(pod->node));
}

/* May a new incarnation begin? */
static bool may_begin(struct planner *p, struct group *g) {
        const struct group_restarts *r = plan_memo_find(p, g->index);
        int64_t until_ms = plan_held_until_ms(p, g);

        if (r && r->spent) {
                keep_back(g, "Failed", arena_strf(p->a, "a reset of its restart budget: %.*s", STR_FMT(r->why)));
                return false;
        }
        if (g->count) {
                keep_back(g, "Terminating", left_pods(p, g));
                return false;
        }
        if (r && p->now_ms < until_ms) {
                plan_again_at(p, until_ms);
                keep_back(g, "BackOff",
                          arena_strf(p->a, "%.*s: %.*s", STR_FMT(plan_time_text(p, until_ms)), STR_FMT(r->why)));
                return false;
        }
        return true;
}

static void begin(struct planner *p, struct making *m) {
        struct group *g = m->g;
        int32_t size = m->t->size;
        struct str why;

        if (!may_begin(p, g))
                return;
        if (p->pods_made >= PODS_AT_ONCE) {
                keep_back(g, "Starting", arena_strf(p->a, "its turn: %zu pods are made first", p->pods_made));
                return;
        }
        g->size = size;
        m->at.incarnation = new_incarnation(p, g, m->t->hash);
        if (plan_is_staged(p, size) && plan_has_gang(p, size) && !plan_may_take_nodes(p, g, &why)) {
                keep_back(g, "WaitingForCapacity", why);
                return;
        }
        if (plan_is_staged(p, size)) {
                if (all_can_be_made(p, m, 0))
                        make_pod(p, m, 0, m->phase);
        } else if (plan_has_gang(p, size)) {
                m->at.gated = true;
                make_missing(p, m, 0);
        } else {
                make_leader_last(p, m);
        }
        if (!m->made)
                return;
        plan_tell(p, false, "GroupsProgressing",
                  arena_strf(p->a, "Created group %" PRId32 " of revision %.*s", g->index, STR_FMT(m->t->hash)));
        p->out.events[p->out.event_count - 1].group = g->index;
}

/* Where the workers are pinned to: false while that cannot be known. */
static bool find_topology(struct planner *p, struct making *m) {
        struct group *g = m->g;
        const struct group_node *node;

        if (!p->s->exclusive_topology.n)
                return true;
        if (!g->leader->node.n) {
                keep_back(g, "Starting",
                          arena_strf(p->a, "%.*s to get a node", STR_FMT(plan_member_name(p, g->leader))));
                return false;
        }
        node = plan_find_node(p, g->leader->node);
        m->at.topology_value = node ? value_text(value_get(node->labels, p->s->exclusive_topology)) : (struct str){ 0 };
        if (!m->at.topology_value.n)
                keep_back(g, "Starting",
                          arena_strf(p->a, "label %.*s of node %.*s, which the leader is on",
                                     STR_FMT(p->s->exclusive_topology), STR_FMT(g->leader->node)));
        return m->at.topology_value.n > 0;
}

/* The leader is there: workers when it is ready, or has a node. A leader with a gate is one of the time before. */
static void follow_leader(struct planner *p, struct making *m) {
        struct group *g = m->g;

        if (!g->leader || !find_topology(p, m))
                return;
        if (p->s->startup == GROUP_STARTUP_LEADER_READY && !g->leader->ready && !g->leader->gated) {
                keep_back(g, "Starting",
                          arena_strf(p->a, "%.*s to become ready", STR_FMT(plan_member_name(p, g->leader))));
                return;
        }
        m->at.gated = plan_has_gang(p, g->size);
        make_missing(p, m, 1);
}

/* Members that the policy replaces alone. */
static void replace_members(struct planner *p, struct making *m) {
        if (plan_is_staged(p, m->t->size) && m->g->leader && !find_topology(p, m))
                return;
        for (int32_t w = 1; w < m->t->size; w++) {
                int64_t until_ms = plan_member_held_until_ms(p, m->g, w);

                if (plan_member_at(m->g, w) || !can_be_made(p, m, w))
                        continue;
                if (p->now_ms < until_ms)
                        plan_again_at(p, until_ms);
                else
                        make_pod(p, m, w, m->phase);
        }
}

static void go_on(struct planner *p, struct making *m) {
        struct group *g = m->g;

        if (!g->own) {
                keep_back(g, "Starting",
                          arena_strf(p->a, "revision %.*s, which is not stored any more", STR_FMT(g->revision)));
                return;
        }
        m->t = &g->own->t;
        m->at.incarnation = g->incarnation;
        if (g->complete)
                replace_members(p, m);
        else if (plan_is_staged(p, g->size))
                follow_leader(p, m);
        else if (plan_has_gang(p, g->size)) {
                m->at.gated = true;
                make_missing(p, m, 0);
        } else {
                make_leader_last(p, m);
        }
}

static void release(struct planner *p, struct group *g) {
        struct str why;

        if (!plan_may_take_nodes(p, g, &why)) {
                keep_back(g, "Gated", why);
                return;
        }
        g->releases = true;
        for (size_t i = 0; i < g->count; i++) {
                const struct group_pod *pod = g->pods[i];
                struct group_action *act;

                if (!pod->gated || plan_is_leaving(pod) || pod->worker >= g->size)
                        continue;
                act = plan_act(p, GROUP_RELEASE, GROUP_POD, PHASE_MAIN, "all members are there");
                act->name = pod->name;
                act->uid = pod->uid;
                act->resource_version = pod->resource_version;
                act->group = g->index;
        }
}

static void make_group(struct planner *p, struct group *g) {
        struct making m = { .g = g, .t = &plan_target_of(p, g)->t, .phase = PHASE_MAIN };

        if (g->fate != FATE_STAY)
                return;
        if (g->waits_for_service || p->revision_pending)
                m.phase = PHASE_AFTER;
        if (!g->live)
                begin(p, &m);
        else if (!g->whole)
                go_on(p, &m);
        else if (g->gated)
                release(p, g);
}

void plan_make_pods(struct planner *p) {
        for (int32_t i = 0; i < p->wanted_count; i++)
                make_group(p, p->wanted[i]);
}
