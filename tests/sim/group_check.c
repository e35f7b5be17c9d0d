/* SPDX-License-Identifier: Apache-2.0 */
#include "group_check.h"

#include "agent/groups.h"
#include "base/map.h"
#include "check.h"
#include "group/memory.h"
#include "group/names.h"
#include "group/observed.h"
#include "group/spec.h"

#define FORGET_MS (600 * INT64_C(1000)) /* a group that is healthy for so long is calm again */
#define RECENT_MS (60 * INT64_C(1000)) /* what was asked for, or happened, so long ago may not be known yet */
#define MEMORY_TYPE "truce.dev/Groups"

/* What was asked for, until the next one was. */
struct asked {
        int64_t until_ms; /* INT64_MAX: it is */
        int32_t replicas, surge, unavailable, partition, size;
        struct str hash;
        int64_t generation;
};

struct book { /* of one LeaderWorkerSet */
        struct str uid, ns, name;
        struct asked *asked; /* the newest last */
        size_t asked_count, asked_cap;
        int64_t hurt_ms;   /* something happened to it; 0: never */
        int64_t gone_ms;   /* it is deleted, or none of ours any more; 0: no */
        bool valid, by_members, lacks_room, chooses_victims;
        int32_t *failures; /* by group: lives, or members, to which something happened */
        size_t failure_count;
};

/* One life of one group. */
struct life {
        bool failed, lacks_room;
};

struct member {
        struct book *book;
        struct life *life;
        int32_t group, worker;
        struct str uid, incarnation, revision, node;
        bool leaves, by_us, ready, failed, late;
        bool hidden; /* without the label by which the reconciler finds it */
};

struct group_check {
        struct world *world;
        struct map *books;   /* uid → struct book */
        struct map *members; /* uid → struct member, those that are stored */
        struct map *lives;   /* "uid/group/incarnation" → struct life */
        struct map *things;  /* uids of what the reconciler made beside Pods → anything */
        uint64_t count;
        struct buf why;
        bool all; /* sets without the annotation, too */
};

struct group_check *group_check_new(struct world *w) {
        struct group_check *g = mem_zalloc(sizeof *g);

        g->world = w;
        g->books = map_new(NULL);
        g->members = map_new(NULL);
        g->lives = map_new(NULL);
        g->things = map_new(NULL);
        g->why = buf_make(4096);
        g->all = str_eqc(scenario_text(value_getc(w->doc, "agent"), "lwsController", ""), "all");
        return g;
}

void group_check_free(struct group_check *g) {
        if (!g)
                return;
        map_free(g->books);
        map_free(g->members);
        map_free(g->lives);
        map_free(g->things);
        buf_done(&g->why);
        free(g);
}

uint64_t group_check_count(const struct group_check *g) {
        return g->count;
}

static struct str meta(const struct value *object, const char *key) {
        return value_text(value_path(object, "metadata", key, NULL));
}

static int64_t now_ms(const struct group_check *g) {
        return loop_now_ms(g->world->loop);
}

/* ---- sets ---- */

static const struct value *controller_of(const struct value *object) {
        const struct value *refs = value_path(object, "metadata", "ownerReferences", NULL);

        for (size_t i = 0; i < value_count(refs); i++) {
                if (value_truth(value_getc(refs->list.items[i], "controller"), false))
                        return refs->list.items[i];
        }
        return NULL;
}

static struct book *book_of_owner(const struct group_check *g, const struct value *object) {
        return map_find(g->books, value_text(value_getc(controller_of(object), "uid")));
}

static struct book *new_book(struct group_check *g, const struct sandbox_commit *c, struct str uid) {
        struct arena *a = g->world->arena;
        struct book *b = arena_zalloc(a, sizeof *b);

        b->uid = arena_str(a, uid);
        b->ns = arena_str(a, c->namespace);
        b->name = arena_str(a, c->name);
        map_set(g->books, b->uid, b);
        return b;
}

static bool is_same(const struct asked *x, const struct asked *y) {
        return x->replicas == y->replicas && x->surge == y->surge && x->unavailable == y->unavailable &&
               x->partition == y->partition && x->size == y->size && str_eq(x->hash, y->hash) &&
               x->generation == y->generation;
}

static struct asked *newest(const struct book *b) {
        return b->asked_count ? &b->asked[b->asked_count - 1] : NULL;
}

static void ask_for(struct group_check *g, struct book *b, const struct asked *asked) {
        struct arena *a = g->world->arena;

        if (b->asked_count && is_same(newest(b), asked))
                return;
        if (b->asked_count)
                newest(b)->until_ms = now_ms(g);
        if (b->asked_count == b->asked_cap) {
                struct asked *more = arena_alloc(a, (2 * b->asked_cap + 4) * sizeof *more);

                for (size_t i = 0; i < b->asked_count; i++)
                        more[i] = b->asked[i];
                b->asked = more;
                b->asked_cap = 2 * b->asked_cap + 4;
        }
        b->asked[b->asked_count++] = *asked;
}

static void read_set(struct group_check *g, struct book *b, const struct value *object) {
        struct arena *a = g->world->arena;
        struct group_problems problems;
        struct group_spec s;

        b->valid = group_spec_read(object, a, &s, &problems) == 0;
        if (s.deleting && !b->gone_ms)
                b->gone_ms = now_ms(g);
        if (!b->valid)
                return;
        b->by_members = s.now.restart == GROUP_RESTART_NONE || s.restart_after_start_annotation ||
                        s.now.restart == GROUP_RESTART_AFTER_START || b->by_members;
        b->chooses_victims |= s.options.victims_by_health;
        struct asked asked = {
                .until_ms = INT64_MAX, .replicas = s.replicas, .surge = group_budget_up(s.max_surge, s.replicas),
                .unavailable = group_budget_down(s.max_unavailable, s.replicas), .partition = s.partition,
                .size = s.now.size, .hash = s.now.hash, .generation = s.generation,
        };
        if (!asked.surge && !asked.unavailable)
                asked.unavailable = 1;
        ask_for(g, b, &asked);
}

/* Is it one that was asked for a minute ago at the earliest? */
static bool counts(const struct group_check *g, const struct asked *asked) {
        return asked->until_ms == INT64_MAX || now_ms(g) - asked->until_ms < RECENT_MS;
}

static int32_t most_groups(const struct group_check *g, const struct book *b) {
        int32_t most = 0;

        for (size_t i = 0; i < b->asked_count; i++) {
                if (counts(g, &b->asked[i]) && b->asked[i].replicas + b->asked[i].surge > most)
                        most = b->asked[i].replicas + b->asked[i].surge;
        }
        return most;
}

static int32_t fewest_ready(const struct group_check *g, const struct book *b) {
        int32_t fewest = INT32_MAX;

        for (size_t i = 0; i < b->asked_count; i++) {
                if (counts(g, &b->asked[i]) && b->asked[i].replicas - b->asked[i].unavailable < fewest)
                        fewest = b->asked[i].replicas - b->asked[i].unavailable;
        }
        return fewest;
}

static int32_t fewest_replicas(const struct group_check *g, const struct book *b) {
        int32_t fewest = INT32_MAX;

        for (size_t i = 0; i < b->asked_count; i++) {
                if (counts(g, &b->asked[i]) && b->asked[i].replicas < fewest)
                        fewest = b->asked[i].replicas;
        }
        return fewest;
}

static bool has_shrunk(const struct book *b) {
        for (size_t i = 1; i < b->asked_count; i++) {
                if (b->asked[i].replicas < b->asked[i - 1].replicas)
                        return true;
        }
        return false;
}

static bool may_be_rolled(const struct group_check *g, const struct book *b, const struct member *m) {
        for (size_t i = 0; i < b->asked_count; i++) {
                const struct asked *asked = &b->asked[i];

                if (counts(g, asked) && !str_eq(asked->hash, m->revision) &&
                    (b->chooses_victims || m->group >= asked->partition))
                        return true;
        }
        return false;
}

static int32_t size_of(const struct book *b, struct str hash) {
        for (size_t i = b->asked_count; i > 0; i--) {
                if (str_eq(b->asked[i - 1].hash, hash))
                        return b->asked[i - 1].size;
        }
        return 0;
}

static void note_set(struct group_check *g, const struct sandbox_commit *c) {
        struct str uid = meta(c->after ? c->after : c->before, "uid");
        struct book *b = map_find(g->books, uid);
        enum groups_mode mode = g->all ? GROUPS_ALL : GROUPS_ANNOTATED;

        if (!c->after) {
                if (b && !b->gone_ms)
                        b->gone_ms = now_ms(g);
                return;
        }
        if (!b && groups_is_ours(c->after, mode))
                b = new_book(g, c, uid);
        else if (b && !groups_is_ours(c->after, mode) && !b->gone_ms)
                b->gone_ms = now_ms(g);
        if (b && groups_is_ours(c->after, mode))
                read_set(g, b, c->after);
}

/* ---- members ---- */

static struct life *life_of(struct group_check *g, struct book *b, int32_t group, struct str incarnation) {
        struct arena *a = g->world->arena;
        struct str key = arena_strf(a, "%.*s/%d/%.*s", STR_FMT(b->uid), group, STR_FMT(incarnation));
        struct life *life = map_find(g->lives, key);

        if (life)
                return life;
        life = arena_zalloc(a, sizeof *life);
        map_set(g->lives, key, life);
        return life;
}

static void count_failure(struct group_check *g, struct book *b, int32_t group) {
        if ((size_t)group >= b->failure_count) {
                int32_t *more = arena_zalloc(g->world->arena, ((size_t)group + 1) * sizeof *more);

                for (size_t i = 0; i < b->failure_count; i++)
                        more[i] = b->failures[i];
                b->failures = more;
                b->failure_count = (size_t)group + 1;
        }
        b->failures[group]++;
}

/* Something happened to it that is no doing of the reconciler's. */
static void hurt(struct group_check *g, struct member *m) {
        m->book->hurt_ms = now_ms(g);
        if (!m->life->failed || (m->book->by_members && !m->failed))
                count_failure(g, m->book, m->group);
        m->failed = m->life->failed = true;
}

static struct group_pod read_pod(const struct value *pod, struct arena *a) {
        struct group_pod read = { 0 };

        group_pod_read(pod, a, &read);
        return read;
}

static bool is_ready(const struct group_pod *pod) {
        return pod->phase == GROUP_POD_RUNNING && pod->ready && !pod->deleting_ms;
}

static bool is_group_ready(const struct group_check *g, const struct book *b, int32_t group) {
        int32_t ready = 0, size = 0;
        size_t at = 0;
        void *p;

        while (map_next(g->members, &at, NULL, &p)) {
                const struct member *m = p;

                if (m->book != b || m->group != group)
                        continue;
                if (!m->ready || m->leaves)
                        return false;
                size = size_of(b, m->revision);
                ready++;
        }
        return ready > 0 && ready == size;
}

/* The highest index that has a member; -1: none has. */
static int32_t highest(const struct group_check *g, const struct book *b) {
        int32_t most = -1;
        size_t at = 0;
        void *p;

        while (map_next(g->members, &at, NULL, &p)) {
                const struct member *m = p;

                if (m->book == b && m->group > most)
                        most = m->group;
        }
        return most;
}

static int32_t count_ready(const struct group_check *g, const struct book *b) {
        int32_t ready = 0, end = highest(g, b);

        for (int32_t i = 0; i <= end; i++)
                ready += is_group_ready(g, b, i);
        return ready;
}

static bool is_group_alive(const struct group_check *g, const struct book *b, int32_t group) {
        size_t at = 0;
        void *p;

        while (map_next(g->members, &at, NULL, &p)) {
                const struct member *m = p;

                if (m->book == b && m->group == group && !m->leaves)
                        return true;
        }
        return false;
}

static int32_t count_alive(const struct group_check *g, const struct book *b) {
        int32_t alive = 0, end = highest(g, b);

        for (int32_t i = 0; i <= end; i++)
                alive += is_group_alive(g, b, i);
        return alive;
}

/* ---- what the reconciler does to members ---- */

static void check_one_life(struct group_check *g, const struct member *made) {
        size_t at = 0;
        void *p;

        while (map_next(g->members, &at, NULL, &p)) {
                const struct member *m = p;

                if (m->book == made->book && m->group == made->group && !str_eq(m->incarnation, made->incarnation) && !m->late &&
                    !m->hidden)
                        world_fail(g->world, "group %d of %.*s has two lives: %.*s and %.*s", m->group, STR_FMT(m->book->name),
                                   STR_FMT(m->incarnation), STR_FMT(made->incarnation));
        }
}

static void check_made(struct group_check *g, const struct member *m) {
        int32_t most = most_groups(g, m->book), alive = count_alive(g, m->book);

        if (m->late)
                return;
        if (m->book->gone_ms && now_ms(g) - m->book->gone_ms >= RECENT_MS)
                world_fail(g->world, "group %d was made of %.*s, which went a minute ago", m->group, STR_FMT(m->book->name));
        check_one_life(g, m);
        if (alive > most)
                world_fail(g->world, "%d groups of %.*s live, more than replicas and surge: %d", alive, STR_FMT(m->book->name),
                           most);
}

/* Does another life have members of the same group? */
static bool has_rival(const struct group_check *g, const struct member *m) {
        size_t at = 0;
        void *p;

        while (map_next(g->members, &at, NULL, &p)) {
                const struct member *other = p;

                if (other->book == m->book && other->group == m->group && other->life != m->life)
                        return true;
        }
        return false;
}

static void check_dropped(struct group_check *g, const struct member *m, bool was_ready) {
        struct book *b = m->book;
        int32_t replicas = fewest_replicas(g, b), others;
        bool is_extra = m->group >= replicas || (b->chooses_victims && has_shrunk(b));

        if (m->life->failed || m->life->lacks_room || b->lacks_room || has_rival(g, m))
                return;
        if (!is_extra && !may_be_rolled(g, b, m))
                world_fail(g->world, "member %d of group %d of %.*s was deleted without a cause", m->worker, m->group,
                           STR_FMT(b->name));
        if (!was_ready || is_extra || (b->hurt_ms && now_ms(g) - b->hurt_ms < RECENT_MS))
                return;
        others = count_ready(g, b);
        if (others < fewest_ready(g, b))
                world_fail(g->world, "group %d of %.*s was ready and went, and only %d others are, less than %d", m->group,
                           STR_FMT(b->name), others, fewest_ready(g, b));
}

static void check_released(struct group_check *g, const struct member *m) {
        int32_t there = 0, size = size_of(m->book, m->revision);
        size_t at = 0;
        void *p;

        while (map_next(g->members, &at, NULL, &p)) {
                const struct member *other = p;

                there += other->life == m->life && !other->leaves;
        }
        if (there < size && !m->life->failed)
                world_fail(g->world, "group %d of %.*s was released with %d of %d members", m->group, STR_FMT(m->book->name),
                           there, size);
}

/* ---- commits of Pods ---- */

static void see_made(struct group_check *g, const struct sandbox_commit *c, struct book *b, bool late) {
        struct arena *a = g->world->arena;
        struct group_pod pod = read_pod(c->after, a);
        struct member *m = arena_zalloc(a, sizeof *m);

        if (pod.group < 0 || pod.worker < 0) {
                world_fail(g->world, "a Pod without a place in a group: %.*s", STR_FMT(c->name));
                return;
        }
        *m = (struct member){
                .book = b, .group = pod.group, .worker = pod.worker, .uid = pod.uid, .incarnation = pod.incarnation,
                .revision = pod.revision, .late = late, .life = life_of(g, b, pod.group, pod.incarnation),
        };
        map_set(g->members, pod.uid, m);
        if (late)
                hurt(g, m);
        check_made(g, m);
}

static bool has_same_marks(const struct value *x, const struct value *y) {
        const struct value *before = value_path(x, "metadata", "labels", NULL), *after = value_path(y, "metadata", "labels", NULL);
        const struct value *none = &value_null;

        return value_equal(before ? before : none, after ? after : none) &&
               value_equal(controller_of(x) ? controller_of(x) : none, controller_of(y) ? controller_of(y) : none);
}

static struct str set_of(const struct value *object) {
        return value_text(value_get(value_path(object, "metadata", "labels", NULL), STR(GROUP_LABEL_NAME)));
}

static void see_changed(struct group_check *g, const struct sandbox_commit *c, struct member *m, bool ours) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct group_pod before = read_pod(c->before, a), now = read_pod(c->after, a);
        bool was_ready = is_group_ready(g, m->book, m->group);

        m->hidden = !set_of(c->after).n;
        m->node = str_eq(now.node, m->node) ? m->node : arena_str(g->world->arena, now.node);
        if (now.deleting_ms && !m->leaves) {
                m->leaves = true;
                m->by_us = ours;
                if (ours)
                        check_dropped(g, m, was_ready);
        }
        if (!ours && !m->by_us &&
            (now.deleting_ms || now.restarts > 0 || now.phase == GROUP_POD_FAILED || now.phase == GROUP_POD_SUCCEEDED ||
             !has_same_marks(c->before, c->after)))
                hurt(g, m);
        if (now.unschedulable && !now.node.n)
                m->life->lacks_room = m->book->lacks_room = true;
        if (m->ready && !is_ready(&now) && !ours && !m->by_us)
                m->book->hurt_ms = now_ms(g);
        m->ready = is_ready(&now);
        if (ours && before.gated && !now.gated)
                check_released(g, m);
}

static void see_gone(struct group_check *g, struct member *m, bool ours) {
        bool was_ready = is_group_ready(g, m->book, m->group);

        map_remove(g->members, m->uid);
        if (!ours && !m->by_us)
                hurt(g, m);
        if (ours && !m->leaves)
                check_dropped(g, m, was_ready);
}

/* A write of the reconciler's to something that the set does not control, or does not any more. */
static void check_owner(struct group_check *g, const struct sandbox_commit *c) {
        if (book_of_owner(g, c->before) || (str_eqc(c->kind, "PersistentVolumeClaim") && !controller_of(c->before) && set_of(c->before).n))
                return;
        world_fail(g->world, "the reconciler wrote what no set controls: %.*s %.*s", STR_FMT(c->kind), STR_FMT(c->name));
}

static bool see_pod(struct group_check *g, const struct sandbox_commit *c, bool ours, bool late) {
        struct str uid = meta(c->after ? c->after : c->before, "uid");
        struct member *m = map_find(g->members, uid);
        struct book *b = c->after ? book_of_owner(g, c->after) : NULL;

        if (!m && !c->before && ours && b) {
                see_made(g, c, b, late);
                return true;
        }
        if (!m)
                return false;
        if (ours)
                check_owner(g, c);
        if (c->after)
                see_changed(g, c, m, ours);
        else
                see_gone(g, m, ours);
        return ours;
}

/* ---- Nodes ---- */

static bool is_lost(const struct value *node) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct group_node n = { 0 };

        return !node || group_node_read(node, a, &n) < 0 || n.lost_ms || n.out_of_service;
}

static void see_node(struct group_check *g, const struct sandbox_commit *c) {
        size_t at = 0;
        void *p;

        if (!is_lost(c->after))
                return;
        while (map_next(g->members, &at, NULL, &p)) {
                struct member *m = p;

                if (str_eq(m->node, c->name) && !m->by_us)
                        hurt(g, m);
        }
}

/* ---- the rest ---- */

static const struct value *conditions_of(const struct value *set) {
        return value_path(set, "status", "conditions", NULL);
}

static struct str memory_of(const struct value *set) {
        const struct value *list = conditions_of(set);

        for (size_t i = 0; i < value_count(list); i++) {
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), MEMORY_TYPE))
                        return value_text(value_getc(list->list.items[i], "message"));
        }
        return (struct str){ 0 };
}

static void check_restarts(struct group_check *g, const struct book *b, const struct value *set) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct group_memory memory;

        if (group_memory_read(memory_of(set), a, &memory) < 0)
                return;
        for (size_t i = 0; i < memory.restart_count; i++) {
                const struct group_restarts *r = &memory.restarts[i];
                int32_t failures = (size_t)r->group < b->failure_count ? b->failures[r->group] : 0;

                if (r->count > failures)
                        world_fail(g->world, "%d restarts of group %d of %.*s are counted, and %d times something happened to it",
                                   r->count, r->group, STR_FMT(b->name), failures);
        }
}

static const struct value *without(const struct value *object, const char *field, struct arena *a) {
        const struct str path[] = { str_from(field) };

        return value_with_path(a, object, path, 1, NULL);
}

static const struct value *without_meta(const struct value *object, const char *field, struct arena *a) {
        const struct str path[] = { STR("metadata"), str_from(field) };

        return value_with_path(a, object, path, 2, NULL);
}

static const struct value *asked_of(const struct value *set, struct arena *a) {
        return without(without_meta(without_meta(set, "managedFields", a), "resourceVersion", a), "status", a);
}

static bool see_set(struct group_check *g, const struct sandbox_commit *c, bool ours) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        bool by_reconciler = ours && (str_eqc(c->manager, GROUPS_MANAGER) || str_eqc(c->subresource, "status"));
        const struct book *b;

        if (by_reconciler && (!c->before || !c->after || !value_equal(asked_of(c->before, a), asked_of(c->after, a))))
                world_fail(g->world, "the reconciler wrote more of a LeaderWorkerSet than its status: %.*s", STR_FMT(c->name));
        note_set(g, c);
        b = c->after ? map_find(g->books, meta(c->after, "uid")) : NULL;
        if (by_reconciler && !b)
                world_fail(g->world, "the reconciler wrote a LeaderWorkerSet that is not its own: %.*s", STR_FMT(c->name));
        if (by_reconciler && b)
                check_restarts(g, b, c->after);
        return by_reconciler;
}

static bool see_thing(struct group_check *g, const struct sandbox_commit *c, bool ours) {
        struct str uid = meta(c->after ? c->after : c->before, "uid");

        if (!ours)
                return false;
        if (!c->before && str_eqc(c->manager, GROUPS_MANAGER)) {
                if (!set_of(c->after).n)
                        world_fail(g->world, "the reconciler made what belongs to no set: %.*s", STR_FMT(c->name));
                map_set(g->things, uid, g);
                return true;
        }
        if (!map_find(g->things, uid))
                return false;
        check_owner(g, c);
        return true;
}

static bool is_thing(struct str kind) {
        return str_eqc(kind, "Service") || str_eqc(kind, "PersistentVolumeClaim") || str_eqc(kind, "ControllerRevision");
}

bool group_check_commit(struct group_check *g, const struct sandbox_commit *c, bool late) {
        bool ours = check_is_ours(c), judged = false;

        if (str_eqc(c->kind, GROUP_KIND))
                judged = see_set(g, c, ours);
        else if (str_eqc(c->kind, "Pod"))
                judged = see_pod(g, c, ours, late);
        else if (str_eqc(c->kind, "Node"))
                see_node(g, c);
        else if (is_thing(c->kind))
                judged = see_thing(g, c, ours);
        g->count += judged;
        return judged;
}

/* ---- the end ---- */

static bool lacks(struct group_check *g, const struct book *b, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool lacks(struct group_check *g, const struct book *b, const char *fmt, ...) {
        va_list ap;

        buf_clear(&g->why);
        buf_addf(&g->why, "%.*s: ", STR_FMT(b->name));
        va_start(ap, fmt);
        buf_vaddf(&g->why, fmt, ap);
        va_end(ap);
        return false;
}

static bool has_places(struct group_check *g, const struct book *b) {
        const struct asked *asked = newest(b);
        int32_t members = 0;
        size_t at = 0;
        void *p;

        while (map_next(g->members, &at, NULL, &p)) {
                const struct member *m = p;

                if (m->book != b)
                        continue;
                members++;
                if (m->group >= asked->replicas && !b->chooses_victims && !asked->partition)
                        return lacks(g, b, "group %d is too many", m->group);
                if (m->group >= asked->partition && !str_eq(m->revision, asked->hash))
                        return lacks(g, b, "group %d is of an old revision", m->group);
                if (!is_group_ready(g, b, m->group))
                        return lacks(g, b, "group %d is not ready", m->group);
        }
        if (count_ready(g, b) < asked->replicas || (!asked->partition && count_ready(g, b) > asked->replicas))
                return lacks(g, b, "%d groups are ready, not %d", count_ready(g, b), asked->replicas);
        return !members || members >= asked->replicas ? true : lacks(g, b, "%d members", members);
}

static bool says(const struct value *set, const char *type) {
        const struct value *list = conditions_of(set);

        for (size_t i = 0; i < value_count(list); i++) {
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), type))
                        return str_eqc(value_text(value_getc(list->list.items[i], "status")), "True");
        }
        return false;
}

static int64_t number_in(const struct value *map, const char *key) {
        int64_t n = 0;

        value_to_i64(value_getc(map, key), &n);
        return n;
}

static const struct value *set_now(const struct group_check *g, const struct book *b) {
        return sandbox_get(g->world->sandbox, STR("leaderworkerset.x-k8s.io"), STR("leaderworkersets"), b->ns, b->name);
}

/* After ten minutes without another failure it is written that it does not count any more. */
/* May the group be healthy since, and its restart be forgotten yet? One that never was again is not. */
static bool is_recent(const struct group_check *g, int64_t restart_wall_ms) {
        return loop_wall_ms(g->world->loop) - restart_wall_ms < FORGET_MS + 10 * RECENT_MS;
}

static bool remembers(struct group_check *g, const struct book *b) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct group_memory memory;
        bool does = false;

        if (group_memory_read(memory_of(set_now(g, b)), a, &memory) < 0)
                return false;
        for (size_t i = 0; i < memory.restart_count; i++)
                does |= memory.restarts[i].streak > 0 && !memory.restarts[i].spent &&
                        (says(set_now(g, b), "Available") || is_recent(g, memory.restarts[i].last_ms));
        if (does)
                lacks(g, b, "a restart is not forgotten");
        return does;
}

static bool tells_all(struct group_check *g, const struct book *b) {
        const struct value *set = set_now(g, b);
        const struct value *status = value_getc(set, "status");
        static const char *const troubles[] = { "Progressing", "Stalled", "Degraded", "RestartBackoff", "WaitingForCapacity",
                                                "TerminatingStuck", "WritesBlocked" };

        if (number_in(status, "observedGeneration") != number_in(value_getc(set, "metadata"), "generation"))
                return lacks(g, b, "the status is of another generation");
        if (newest(b)->replicas && !says(set, "Available"))
                return lacks(g, b, "it is not Available");
        for (size_t i = 0; i < ARRAY_LEN(troubles); i++) {
                if (says(set, troubles[i]))
                        return lacks(g, b, "it says %s", troubles[i]);
        }
        if (!newest(b)->partition && number_in(status, "replicas") != newest(b)->replicas)
                return lacks(g, b, "status.replicas is %lld", (long long)number_in(status, "replicas"));
        return true;
}

static bool has_one_revision(struct group_check *g, const struct book *b) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *const *all;
        size_t count = sandbox_list(g->world->sandbox, STR("apps"), STR("controllerrevisions"), a, &all), mine = 0;

        for (size_t i = 0; i < count; i++)
                mine += book_of_owner(g, all[i]) == b;
        return mine == 1 || newest(b)->partition ? true : lacks(g, b, "%zu revisions are stored", mine);
}

bool group_check_settled(struct group_check *g, const char **ret_why) {
        size_t at = 0;
        void *p;

        bool is_any = str_eqc(scenario_text(g->world->doc, "groups", ""), "any");

        *ret_why = NULL;
        while (map_next(g->books, &at, NULL, &p)) {
                const struct book *b = p;

                if (b->gone_ms || !b->valid || !b->asked_count)
                        continue;
                if (!remembers(g, b) && (is_any || (has_places(g, b) && tells_all(g, b) && has_one_revision(g, b))))
                        continue;
                *ret_why = buf_str(&g->why).p;
                return false;
        }
        return true;
}
