/* SPDX-License-Identifier: Apache-2.0 */
/* What is there: stored revisions, and the pods as groups. */
#include "group/group_impl.h"

#include <stdlib.h>

#include "group/build.h"
#include "group/names.h"

bool plan_is_ours(const struct planner *p, struct str owner_uid) {
        return str_eq(owner_uid, p->s->uid);
}

bool plan_is_leaving(const struct group_pod *pod) {
        return pod->deleting_ms != 0;
}

/* Revisions */

/* As a ControllerRevision, which is what group_revision_read() takes. */
static const struct value *revision_object(const struct group_stored_revision *r, struct arena *a) {
        const struct str label[] = { STR("metadata"), STR("labels"), STR(GROUP_LABEL_REVISION) };
        const struct value *object = value_with(a, NULL, STR("data"), r->data);

        return r->hash.n ? value_with_path(a, object, label, ARRAY_LEN(label), value_string(a, r->hash, 0)) : object;
}

static void see_revision(struct planner *p, const struct group_stored_revision *stored) {
        struct revision *r = &p->revisions[p->revision_count++];

        *r = (struct revision){ .number = stored->number, .stored = stored };
        r->readable = stored->data && group_revision_read(revision_object(stored, p->a), p->a, &r->t, NULL) == 0;
        if (!r->readable)
                r->t.hash = stored->hash;
}

/*
 * Of those that would build the same groups the one whose hash we would give it, else the newest: groups that run are
 * never replaced because another version of truce, or another controller, spells the same thing otherwise.
 */
static const struct revision *wanted_revision(const struct planner *p) {
        const struct revision *best = NULL;

        for (size_t i = 0; i < p->revision_count; i++) {
                const struct revision *r = &p->revisions[i];

                if (!r->readable || !group_template_equal(&r->t, &p->s->now))
                        continue;
                if (str_eq(r->t.hash, p->s->now.hash))
                        return r;
                if (!best || r->number > best->number)
                        best = r;
        }
        return best;
}

void plan_see_revisions(struct planner *p) {
        p->revisions = arena_alloc(p->a, (p->o->revision_count + 1) * sizeof *p->revisions);
        for (size_t i = 0; i < p->o->revision_count; i++)
                if (plan_is_ours(p, p->o->revisions[i].owner_uid))
                        see_revision(p, &p->o->revisions[i]);
        p->want = wanted_revision(p);
        if (!p->want) {
                p->revisions[p->revision_count] = (struct revision){ .t = p->s->now, .readable = true };
                p->want = &p->revisions[p->revision_count++];
        }
        for (size_t i = 0; i < p->revision_count; i++) {
                const struct revision *r = &p->revisions[i];

                if (r != p->want && r->readable && (!p->previous || r->number > p->previous->number))
                        p->previous = r;
        }
}

const struct revision *plan_find_revision(const struct planner *p, struct str hash) {
        if (str_eq(hash, p->want->t.hash))
                return p->want;
        for (size_t i = 0; i < p->revision_count; i++)
                if (p->revisions[i].readable && str_eq(hash, p->revisions[i].t.hash))
                        return &p->revisions[i];
        return NULL;
}

/* Nodes */

static int by_name(const void *left, const void *right) {
        return str_cmp((*(const struct group_node *const *)left)->name,
                       (*(const struct group_node *const *)right)->name);
}

void plan_see_nodes(struct planner *p) {
        p->nodes = arena_alloc(p->a, p->o->node_count * sizeof *p->nodes);
        for (size_t i = 0; i < p->o->node_count; i++)
                p->nodes[i] = &p->o->nodes[i];
        if (p->o->node_count)
                qsort(p->nodes, p->o->node_count, sizeof *p->nodes, by_name);
}

const struct group_node *plan_find_node(const struct planner *p, struct str name) {
        size_t low = 0, high = name.n ? p->o->node_count : 0;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = str_cmp(p->nodes[middle]->name, name);

                if (order == 0)
                        return p->nodes[middle];
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}

/* Pods */

static bool has_place(const struct planner *p, const struct group_pod *pod) {
        return pod->group >= 0 && pod->worker >= 0 && pod->worker < GROUP_MAX_PODS &&
               str_eq(pod->name, group_name_pod(p->a, p->s->name, pod->group, pod->worker));
}

static int by_place(const void *left, const void *right) {
        const struct group_pod *a = *(const struct group_pod *const *)left,
                               *b = *(const struct group_pod *const *)right;

        if (a->group != b->group)
                return a->group < b->group ? -1 : 1;
        return (a->worker > b->worker) - (a->worker < b->worker);
}

void plan_see_pods(struct planner *p) {
        p->ours = arena_alloc(p->a, p->o->pod_count * sizeof *p->ours);
        p->strays = arena_alloc(p->a, p->o->pod_count * sizeof *p->strays);
        for (size_t i = 0; i < p->o->pod_count; i++) {
                const struct group_pod *pod = &p->o->pods[i];

                if (!plan_is_ours(p, pod->owner_uid))
                        continue;
                if (has_place(p, pod))
                        p->ours[p->our_count++] = pod;
                else
                        p->strays[p->stray_count++] = pod;
        }
        if (p->our_count)
                qsort(p->ours, p->our_count, sizeof *p->ours, by_place);
}

const struct group_pod *plan_member_at(const struct group *g, int32_t worker) {
        size_t low = 0, high = g->count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (g->pods[middle]->worker < worker)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < g->count && g->pods[low]->worker == worker ? g->pods[low] : NULL;
}

bool plan_is_staged(const struct planner *p, int32_t size) {
        return size > 1 && (p->s->startup == GROUP_STARTUP_LEADER_READY || p->s->exclusive_topology.n);
}

bool plan_has_gang(const struct planner *p, int32_t size) {
        return size > 1 && p->s->options.gang_timeout_ms > 0;
}

/* Groups */

static int32_t size_of(const struct group *g, const struct group_pod *first) {
        int64_t size;

        if (g->own)
                return g->own->t.size;
        if (str_to_i64(first->size_annotation, &size) && size > 0 && size < GROUP_MAX_PODS)
                return (int32_t)size;
        return g->pods[g->count - 1]->worker + 1;
}

/* Whose revision and incarnation the group has: the first that lives, else the first. */
static const struct group_pod *first_of(const struct group *g) {
        for (size_t i = 0; i < g->count; i++)
                if (!plan_is_leaving(g->pods[i]))
                        return g->pods[i];
        return g->pods[0];
}

/*
 * Does this member say that all were there? Gates come off only then; without gates it is the one that is made last:
 * the leader, or where that is made first, and says nothing, the last worker.
 */
static bool tells_complete(const struct planner *p, const struct group *g, const struct group_pod *pod) {
        if (plan_is_staged(p, g->size))
                return pod->worker >= (plan_has_gang(p, g->size) ? 1 : g->size - 1) && !pod->gated;
        return plan_has_gang(p, g->size) ? !pod->gated : pod->worker == 0;
}

static void count_member(struct group *g, const struct group_pod *pod) {
        bool running = pod->phase == GROUP_POD_RUNNING;
        int64_t ready_ms = pod->ready_ms ? pod->ready_ms : pod->created_ms;

        g->live++;
        g->ready_members += running && pod->ready;
        g->bound += pod->node.n > 0;
        g->gated += pod->gated;
        g->pending += pod->phase == GROUP_POD_PENDING;
        g->unschedulable += pod->unschedulable && !pod->node.n;
        if (!g->created_ms || pod->created_ms < g->created_ms)
                g->created_ms = pod->created_ms;
        if (ready_ms > g->ready_ms)
                g->ready_ms = ready_ms;
        if (pod->worker == 0)
                g->leader = pod;
        if (!str_eq(pod->incarnation, g->incarnation) || !str_eq(pod->revision, g->revision))
                g->mixed = true;
}

static void see_group(const struct planner *p, struct group *g) {
        const struct group_pod *first = g->count ? first_of(g) : NULL;

        if (!first)
                return;
        g->own = plan_find_revision(p, first->revision);
        g->size = size_of(g, first);
        if (!plan_is_leaving(first)) {
                g->incarnation = first->incarnation;
                g->revision = first->revision;
        }
        for (size_t i = 0; i < g->count; i++) {
                const struct group_pod *pod = g->pods[i];

                if (str_eq(pod->incarnation, first->incarnation) && tells_complete(p, g, pod))
                        g->complete = true;
                if (plan_is_leaving(pod))
                        g->leaving++;
                else if (pod->worker < g->size)
                        count_member(g, pod);
        }
        g->whole = g->live == g->size;
        g->complete = g->complete && g->live;
        g->ready = g->whole && g->ready_members == g->size && !g->leaving && !g->mixed;
}

static void add_group(struct planner *p, int32_t index, size_t *at) {
        struct group *g = &p->groups[p->group_count++];
        size_t end = *at;

        while (end < p->our_count && p->ours[end]->group == index)
                end++;
        *g = (struct group){ .index = index, .position = -1, .pods = p->ours + *at, .count = end - *at };
        *at = end;
        see_group(p, g);
}

static size_t count_beyond(const struct planner *p, int32_t dense) {
        size_t count = 0;

        for (size_t i = 0; i < p->our_count; i++)
                count += p->ours[i]->group >= dense && (!i || p->ours[i]->group != p->ours[i - 1]->group);
        return count;
}

void plan_see_groups(struct planner *p, int32_t dense) {
        size_t most = (size_t)dense + count_beyond(p, dense), at = 0;

        p->groups = arena_alloc(p->a, most * sizeof *p->groups);
        p->wanted = arena_alloc(p->a, (size_t)dense * sizeof(struct group *));
        p->dense = (size_t)dense;
        for (int32_t i = 0; i < dense; i++)
                add_group(p, i, &at);
        while (at < p->our_count)
                add_group(p, p->ours[at]->group, &at);
}

struct group *plan_find_group(const struct planner *p, int32_t index) {
        if (index >= 0 && (size_t)index < p->dense)
                return &p->groups[index];
        for (size_t i = p->dense; i < p->group_count; i++)
                if (p->groups[i].index == index)
                        return &p->groups[i];
        return NULL;
}
