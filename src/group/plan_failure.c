/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which groups go, or which of their members, and why.
 *
 * A failure is a state, not an event: a member that is missing from, or leaves, a group that was complete; a container
 * that was restarted; a pod that ended; a node that is lost for too long. Nothing is missed while nobody looks, and
 * nothing counts twice: the incarnation that a restart was counted for is remembered before anything of it is deleted.
 *
 * What a failure takes away:
 *
 *                                   leader   worker: OnPodRestart   AfterStart              None
 *     missing, or leaves            group    group                  group, once it started  it alone
 *     container was restarted       group*   group                  group, once it started  nothing
 *     ended (Failed, Succeeded)     group    group                  group, once it started  it alone
 *     node lost                     group    group                  group                   it alone
 *
 * "Started": all members live and none is Pending; or, for one that is missing, none of the others is. (* by the
 * policy, as a worker's.) The leader takes its group with it under every policy, as upstream's objects do, where the
 * workers belong to it.
 */
#include "group/group_impl.h"

#include <inttypes.h>

#include "base/hash.h"

#define MEMBERS_MAX 8 /* of a group whose failures are told apart, where they are replaced alone */

enum trouble { TROUBLE_NONE, TROUBLE_MEMBER, TROUBLE_GROUP };

struct finding {
        enum trouble trouble;
        int32_t worker;
        const struct group_pod *pod; /* NULL: it is gone */
        const char *what;
};

static enum group_restart policy_of(const struct planner *p, const struct group *g) {
        enum group_restart policy = g->own ? g->own->t.restart : p->s->now.restart;

        if (p->s->restart_after_start_annotation && policy == GROUP_RESTART_ON_POD_RESTART)
                return GROUP_RESTART_AFTER_START;
        return policy;
}

/* When its node counts as lost; INT64_MAX: it does not. */
static int64_t lost_at_ms(const struct planner *p, const struct group_pod *pod) {
        const struct group_node *node = plan_find_node(p, pod->node);
        int64_t at_ms = INT64_MAX;

        if (node && node->lost_ms)
                at_ms = node->lost_ms + p->s->options.unreachable_ms;
        if (node && node->out_of_service && node->out_of_service_ms + EVICTION_MS < at_ms)
                at_ms = node->out_of_service_ms + EVICTION_MS;
        return at_ms;
}

static bool is_lost(const struct planner *p, const struct group_pod *pod) {
        return p->now_ms >= lost_at_ms(p, pod);
}

static void watch_node(struct planner *p, const struct group_pod *pod) {
        int64_t at_ms = lost_at_ms(p, pod);

        if (at_ms != INT64_MAX)
                plan_again_at(p, at_ms);
}

static bool has_ended(const struct group_pod *pod) {
        return pod->phase == GROUP_POD_FAILED || pod->phase == GROUP_POD_SUCCEEDED;
}

/* What is wrong at one place; NULL: nothing. */
static const char *wrong_with(const struct planner *p, const struct group *g, const struct group_pod *pod) {
        if (!pod)
                return g->complete ? "is gone" : NULL;
        if (plan_is_leaving(pod))
                return g->complete ? "was deleted" : NULL;
        if (is_lost(p, pod))
                return "is on a lost node";
        if (has_ended(pod))
                return "ended";
        return pod->restarts > 0 ? "was restarted" : NULL;
}

static enum trouble restart_trouble(enum group_restart policy, const struct group *g) {
        if (policy == GROUP_RESTART_AFTER_START)
                return g->whole && !g->pending ? TROUBLE_GROUP : TROUBLE_NONE;
        return policy == GROUP_RESTART_NONE ? TROUBLE_NONE : TROUBLE_GROUP;
}

static enum trouble worker_trouble(const struct planner *p, const struct group *g, const struct group_pod *pod) {
        enum group_restart policy = policy_of(p, g);

        if (policy == GROUP_RESTART_NONE)
                return TROUBLE_MEMBER;
        if (policy == GROUP_RESTART_AFTER_START && g->pending && !(pod && is_lost(p, pod)))
                return TROUBLE_MEMBER;
        return TROUBLE_GROUP;
}

static enum trouble trouble_at(const struct planner *p, const struct group *g, int32_t worker,
                               const struct group_pod *pod) {
        if (pod && !plan_is_leaving(pod) && !is_lost(p, pod) && !has_ended(pod))
                return restart_trouble(policy_of(p, g), g);
        return worker == 0 ? TROUBLE_GROUP : worker_trouble(p, g, pod);
}

/* Workers that were made after their leader cannot be without it, complete or not. */
static bool is_headless(const struct planner *p, const struct group *g) {
        return plan_is_staged(p, g->size) && !g->leader && g->live;
}

static void look_at(struct planner *p, struct group *g, int32_t worker, struct finding *f) {
        const struct group_pod *pod = plan_member_at(g, worker);
        const char *what = wrong_with(p, g, pod);
        enum trouble trouble;

        if (pod && !plan_is_leaving(pod))
                watch_node(p, pod);
        if (!what && !(worker == 0 && is_headless(p, g)))
                return;
        trouble = what ? trouble_at(p, g, worker, pod) : TROUBLE_GROUP;
        if (trouble > f->trouble)
                *f = (struct finding){ trouble, worker, pod, what ? what : "is gone" };
}

static struct finding find_failure(struct planner *p, struct group *g) {
        struct finding f = { TROUBLE_NONE, 0, NULL, NULL };

        if (g->mixed)
                return (struct finding){ TROUBLE_GROUP, 0, g->leader, "has members of two incarnations" };
        for (int32_t w = 0; w < g->size; w++)
                look_at(p, g, w, &f);
        return f;
}

static struct str finding_text(const struct planner *p, const struct group *g, const struct finding *f) {
        struct str who =
                arena_strf(p->a, "%s %.*s-%" PRId32, f->worker ? "worker" : "leader", STR_FMT(p->s->name), g->index);

        if (f->worker)
                who = arena_strf(p->a, "%.*s-%" PRId32, STR_FMT(who), f->worker);
        if (f->pod && f->pod->last_failure.n && !plan_is_leaving(f->pod) && (has_ended(f->pod) || f->pod->restarts))
                return arena_strf(p->a, "%.*s %s: %.*s", STR_FMT(who), f->what,
                                  STR_FMT(str_sub(f->pod->last_failure, 0, GROUP_WHY_MAX_BYTES)));
        if (f->pod && f->pod->node.n && is_lost(p, f->pod))
                return arena_strf(p->a, "%.*s %s: %.*s", STR_FMT(who), f->what, STR_FMT(f->pod->node));
        return arena_strf(p->a, "%.*s %s", STR_FMT(who), f->what);
}

/* Which life of which member a count was for, where members are replaced alone: "m2-1a2b3c4d". */
static struct str member_token(const struct planner *p, const struct group_pod *pod) {
        static const struct hash_key key = { 0x6d656d6265722074, 0x6f6b656e20313233 };

        return arena_strf(p->a, "m%" PRId32 "-%08" PRIx32, pod->worker, (uint32_t)hash64(&key, pod->uid));
}

/* One more restart for this cause; false: the budget has none left. */
static bool count_restart(struct planner *p, const struct group *g, struct str token, struct str why) {
        struct group_restarts *r = plan_memo_of(p, g->index);

        r->last_ms = p->second_ms;
        r->revision = g->revision;
        r->incarnation = token;
        r->why = str_sub(why, 0, GROUP_WHY_MAX_BYTES);
        r->waiting_ms = 0;
        if (p->s->options.max_restarts >= 0 && r->count >= p->s->options.max_restarts) {
                r->spent = true;
                return false;
        }
        r->count++;
        r->streak++;
        return true;
}

static void tell_of_failure(struct planner *p, const struct group *g, const struct finding *f, struct str why) {
        struct str leader = arena_strf(p->a, "%.*s-%" PRId32, STR_FMT(p->s->name), g->index);
        struct str who = leader;

        if (f->worker)
                who = arena_strf(p->a, "%.*s-%" PRId32, STR_FMT(leader), f->worker);
        plan_tell(p, g->fate == FATE_SPENT, "RecreateGroup",
                  arena_strf(p->a, "%s pod %.*s failed, deleted leader pod %.*s to %s group %" PRId32 ": %.*s",
                             f->worker ? "Worker" : "Leader", STR_FMT(who), STR_FMT(leader),
                             g->fate == FATE_SPENT ? "end" : "recreate", g->index, STR_FMT(why)));
}

static void fail_group(struct planner *p, struct group *g, const struct finding *f) {
        struct str why = finding_text(p, g, f);

        g->fate = count_restart(p, g, g->incarnation, why) ? FATE_FAILED : FATE_SPENT;
        tell_of_failure(p, g, f, why);
}

/* The newest lives that restarts were counted for, this one and those of other members: "m2-1a2b3c4d.m1-5e6f7a8b". */
static struct str with_token(const struct planner *p, struct str list, struct str token, int32_t worker) {
        struct str own = arena_strf(p->a, "m%" PRId32 "-", worker), all = token, part;

        for (int left = MEMBERS_MAX - 1; left > 0 && str_next(&list, '.', &part);) {
                if (!str_starts(part, STR("m")) || str_starts(part, own))
                        continue;
                all = arena_strf(p->a, "%.*s.%.*s", STR_FMT(all), STR_FMT(part));
                left--;
        }
        return all;
}

static bool has_token(struct str list, struct str beginning) {
        struct str part;

        while (str_next(&list, '.', &part))
                if (str_starts(part, beginning))
                        return true;
        return false;
}

static bool is_to_be_dropped(const struct planner *p, const struct group *g, const struct group_pod *pod) {
        return pod->worker > 0 && pod->worker < g->size && !plan_is_leaving(pod) && (has_ended(pod) || is_lost(p, pod));
}

/*
 * Members that ended, or are on a lost node, make room for others. Those that leave do so already. What is seen at once
 * is one restart.
 */
static void fail_members(struct planner *p, struct group *g) {
        const struct group_restarts *r = plan_memo_find(p, g->index);
        struct str tokens = r ? r->incarnation : (struct str){ 0 }, why = { 0 };

        for (size_t i = 0; i < g->count; i++) {
                const struct group_pod *pod = g->pods[i];

                if (!is_to_be_dropped(p, g, pod))
                        continue;
                if (!g->drop)
                        g->drop = arena_zalloc(p->a, g->count * sizeof *g->drop);
                g->drop[i] = true;
                struct str token = member_token(p, pod);
                if (has_token(tokens, token))
                        continue;
                struct finding f = { TROUBLE_MEMBER, pod->worker, pod, wrong_with(p, g, pod) };
                if (!why.n)
                        why = finding_text(p, g, &f);
                tokens = with_token(p, tokens, token, pod->worker);
        }
        if (why.n && !count_restart(p, g, tokens, why))
                g->fate = FATE_SPENT;
}

static void judge_member_by_member(struct planner *p, struct group *g) {
        struct finding f = find_failure(p, g);

        if (g->mixed && !g->complete)
                g->fate = FATE_UNFIT;
        else if (f.trouble == TROUBLE_GROUP)
                fail_group(p, g, &f);
        else if (f.trouble == TROUBLE_MEMBER)
                fail_members(p, g);
        else if (!g->complete && !g->whole && !g->own)
                g->fate = FATE_ROLL; /* nobody knows any more how to make the rest of it */
}

/* Is it to be replaced by the roll, as far as its turn says? */
static bool is_outdated(const struct planner *p, const struct group *g) {
        return g->live && plan_may_roll(p, g) && !str_eq(g->revision, p->want->t.hash);
}

static void judge_group(struct planner *p, struct group *g) {
        const struct group_restarts *r = plan_memo_find(p, g->index);

        if (!g->live || is_outdated(p, g))
                return;
        if (g->position < 0)
                g->fate = FATE_SCALE;
        else if (r && r->spent)
                g->fate = FATE_SPENT;
        else if (r && r->incarnation.n && str_eq(r->incarnation, g->incarnation))
                g->fate = FATE_FAILED;
        else if (r && r->yielded.n && str_eq(r->yielded, g->incarnation))
                g->fate = FATE_YIELD;
        else
                judge_member_by_member(p, g);
}

/*
 * The partition alone is not enough where things happen to a roll: a new revision in the middle of it, say, finds surge
 * groups at the top that carry the whole load. A group that is ready goes only as long as enough others are.
 */
static void judge_outdated(struct planner *p) {
        int32_t ready = 0, least = p->s->replicas - p->roll.max_unavailable;

        for (int32_t i = 0; i < p->wanted_count; i++)
                ready += p->wanted[i]->ready && p->wanted[i]->fate == FATE_STAY;
        for (int32_t i = p->wanted_count - 1; i >= 0; i--) {
                struct group *g = p->wanted[i];

                if (!is_outdated(p, g))
                        continue;
                if (!g->ready || ready > least) {
                        g->fate = FATE_ROLL;
                        ready -= g->ready;
                } else {
                        judge_member_by_member(p, g);
                }
        }
}

void plan_judge(struct planner *p) {
        for (size_t i = 0; i < p->group_count; i++)
                judge_group(p, &p->groups[i]);
        judge_outdated(p);
}

int64_t plan_held_until_ms(const struct planner *p, const struct group *g) {
        const struct group_restarts *r = plan_memo_find(p, g->index);

        if (!r || !r->last_ms || r->streak <= 1)
                return 0;
        return r->last_ms + plan_restart_backoff_ms(r->streak);
}

int64_t plan_member_held_until_ms(const struct planner *p, const struct group *g, int32_t worker) {
        const struct group_restarts *r = plan_memo_find(p, g->index);

        if (!r || !has_token(r->incarnation, arena_strf(p->a, "m%" PRId32 "-", worker)))
                return 0;
        return plan_held_until_ms(p, g);
}
