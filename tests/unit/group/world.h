/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for plans: one LeaderWorkerSet, its objects, nodes with room for so many pods, a scheduler that places
 * pods one by one, containers that become ready after a while, pods that take a while to end. It carries out a plan's
 * actions as the API server would, with every precondition checked, and holds the invariants of group/plan.h against
 * what comes of each.
 *
 * Time is a number. Nothing happens by itself but in world_tick(). Functions are inline as not every test uses all.
 */
#ifndef TRUCE_TEST_GROUP_WORLD_H
#define TRUCE_TEST_GROUP_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "group/memory.h"
#include "group/names.h"
#include "group/plan.h"
#include "group/status.h"

#define WORLD_UID   "3e0b1e9c-0000-4000-8000-000000000001"
#define WORLD_START INT64_C(1764496800000) /* 2025-11-30T10:00:00Z */
#define NODES_MAX   8
#define THINGS_MAX  2048

struct world_pod {
        struct group_pod pod; /* texts in the world's arena */
        int64_t start_at_ms;  /* Running and ready from then on; 0: it is not bound */
        int64_t end_at_ms;    /* gone from then on; 0: it is not being deleted */
        bool stuck;           /* it never ends by itself */
        bool slow;            /* it runs, and becomes ready only when it is told to */
};

struct world_thing {
        enum group_object kind; /* service, claim, revision */
        struct str name, uid, owner_uid, set, hash;
        int64_t number;
        const struct value *data;
};

struct world_node {
        struct str name;
        int room; /* pods */
        bool out_of_service, gone, lost;
        int64_t lost_ms, out_of_service_ms;
};

struct world {
        struct arena *a, **spec_arenas;
        size_t spec_count, spec_cap;
        int64_t now_ms, start_delay_ms, grace_ms;
        uint64_t serial; /* of uids and resourceVersions */
        struct group_spec spec;
        struct group_problems problems;
        const struct value *status;
        struct world_pod *pods;
        size_t pod_count, pod_cap;
        struct world_thing things[THINGS_MAX];
        size_t thing_count;
        struct world_node nodes[NODES_MAX];
        size_t node_count;
        int64_t capacity_ms;
        struct str foreign;
        bool slow; /* new pods become ready only when they are told to */
        bool namespace_terminating;
        /* What happened, for the invariants and for people. */
        unsigned writes, status_writes;
        struct buf history;
        const char *broken; /* the invariant that does not hold; NULL: all do */
};

static inline void world_say(struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
static inline void world_say(struct world *w, const char *fmt, ...) {
        va_list ap;

        if (w->history.n > w->history.max - 4096)
                buf_clear(&w->history);
        buf_addf(&w->history, "%8lld ", (long long)(w->now_ms - WORLD_START));
        va_start(ap, fmt);
        buf_vaddf(&w->history, fmt, ap);
        va_end(ap);
        buf_addch(&w->history, '\n');
}

static inline void world_print(const struct world *w) {
        fwrite(w->history.p, 1, w->history.n, stderr);
}

static inline struct str world_serial(struct world *w) {
        return arena_strf(w->a, "%llu", (unsigned long long)++w->serial);
}

static inline struct world *world_new(void) {
        struct world *w = mem_zalloc(sizeof *w);

        w->a = arena_new(16384);
        w->now_ms = WORLD_START;
        w->start_delay_ms = 1000;
        w->grace_ms = 2000;
        w->history = buf_make(4 << 20);
        return w;
}

static inline void world_free(struct world *w) {
        arena_free(w->a);
        for (size_t i = 0; i < w->spec_count; i++)
                arena_free(w->spec_arenas[i]);
        free(w->spec_arenas);
        free(w->pods);
        buf_done(&w->history);
        free(w);
}
DEFINE_CLEANUP(struct world *, world_free)

/* Reads the object of which `spec` and `annotations` are the parts (JSON); its generation goes up. */
static inline void world_set_object(struct world *w, const struct value *spec, const struct value *annotations) {
        struct value_map_builder meta = { 0 }, object = { 0 };
        struct arena *a = arena_new(4096);

        value_map_add(&meta, STR("name"), value_stringc(a, "demo"), 0);
        value_map_add(&meta, STR("namespace"), value_stringc(a, "ml"), 0);
        value_map_add(&meta, STR("uid"), value_stringc(a, WORLD_UID), 0);
        value_map_add(&meta, STR("generation"), value_int(a, w->spec.generation + 1, 0), 0);
        if (annotations)
                value_map_add(&meta, STR("annotations"), annotations, 0);
        value_map_add(&object, STR("apiVersion"), value_stringc(a, GROUP_API_VERSION), 0);
        value_map_add(&object, STR("kind"), value_stringc(a, GROUP_KIND), 0);
        value_map_add(&object, STR("metadata"), value_map_end(&meta, a, 0), 0);
        value_map_add(&object, STR("spec"), spec, 0);
        const struct value *v = value_dup(a, value_map_end(&object, a, 0));
        group_spec_read(v, a, &w->spec, &w->problems);
        w->spec_arenas = mem_grow(w->spec_arenas, &w->spec_cap, w->spec_count + 1, sizeof *w->spec_arenas);
        w->spec_arenas[w->spec_count++] = a; /* a plan of before that is carried out yet has parts of the old one */
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

static inline struct world_pod *world_pod_find(const struct world *w, struct str name) {
        for (size_t i = 0; i < w->pod_count; i++)
                if (str_eq(w->pods[i].pod.name, name))
                        return &w->pods[i];
        return NULL;
}

static inline struct world_node *world_node_find(struct world *w, struct str name) {
        for (size_t i = 0; i < w->node_count; i++)
                if (str_eq(w->nodes[i].name, name))
                        return &w->nodes[i];
        return NULL;
}

static inline struct world_thing *world_thing_find(struct world *w, enum group_object kind, struct str name) {
        for (size_t i = 0; i < w->thing_count; i++)
                if (w->things[i].kind == kind && str_eq(w->things[i].name, name))
                        return &w->things[i];
        return NULL;
}

static inline bool world_is_ours(const struct group_pod *pod) {
        return str_eqc(pod->owner_uid, WORLD_UID);
}

static inline void world_touch(struct world *w, struct world_pod *p) {
        p->pod.resource_version = world_serial(w);
}

/* --- what happens by itself --------------------------------------------------------------------------------------- */

static inline void world_add_node(struct world *w, const char *name, int room) {
        w->nodes[w->node_count++] = (struct world_node){ .name = arena_str(w->a, str_from(name)), .room = room };
        w->capacity_ms = w->now_ms / 1000 * 1000;
}

static inline int world_room(const struct world *w, const struct world_node *n) {
        int room = n->room;

        for (size_t i = 0; i < w->pod_count; i++)
                room -= str_eq(w->pods[i].pod.node, n->name);
        return room;
}

static inline void world_schedule(struct world *w, struct world_pod *p) {
        if (p->pod.node.n || p->pod.gated || p->pod.deleting_ms)
                return;
        for (size_t i = 0; i < w->node_count; i++) {
                struct world_node *n = &w->nodes[i];

                if (n->gone || n->lost || n->out_of_service || world_room(w, n) <= 0)
                        continue;
                p->pod.node = n->name;
                p->pod.unschedulable = false;
                p->start_at_ms = w->now_ms + w->start_delay_ms;
                world_touch(w, p);
                return;
        }
        if (!p->pod.unschedulable) {
                p->pod.unschedulable = true;
                world_touch(w, p);
        }
}

static inline bool world_is_lost(struct world *w, const struct world_pod *p) {
        const struct world_node *n = p->pod.node.n ? world_node_find(w, p->pod.node) : NULL;

        return n && (n->gone || n->lost);
}

static inline void world_make_ready(struct world *w, struct world_pod *p) {
        p->pod.phase = GROUP_POD_RUNNING;
        p->pod.ready = true;
        p->pod.ready_ms = w->now_ms / 1000 * 1000;
        world_touch(w, p);
}

static inline void world_run(struct world *w, struct world_pod *p) {
        if (!p->start_at_ms || w->now_ms < p->start_at_ms || world_is_lost(w, p) || p->pod.deleting_ms)
                return;
        if (p->pod.phase == GROUP_POD_PENDING && p->slow) {
                p->pod.phase = GROUP_POD_RUNNING;
                world_touch(w, p);
        }
        if ((p->pod.phase == GROUP_POD_PENDING || p->pod.phase == GROUP_POD_RUNNING) && !p->pod.ready && !p->slow)
                world_make_ready(w, p);
}

static inline void world_remove_pod(struct world *w, struct world_pod *p) {
        *p = w->pods[--w->pod_count];
}

static inline bool world_has_ended(struct world *w, const struct world_pod *p) {
        return p->end_at_ms && w->now_ms >= p->end_at_ms && !p->stuck && !world_is_lost(w, p);
}

/* Time passes, and with it what pods, scheduler and kubelets do. */
static inline void world_tick(struct world *w, int64_t ms) {
        w->now_ms += ms;
        for (size_t i = 0; i < w->pod_count;) {
                if (world_has_ended(w, &w->pods[i]))
                        world_remove_pod(w, &w->pods[i]);
                else
                        i++;
        }
        for (size_t i = 0; i < w->pod_count; i++) {
                world_schedule(w, &w->pods[i]);
                world_run(w, &w->pods[i]);
        }
}

/* --- what people and faults do ------------------------------------------------------------------------------------ */

static inline void world_delete(struct world *w, struct world_pod *p) {
        if (p->pod.deleting_ms)
                return;
        if (!p->pod.node.n) {
                world_remove_pod(w, p);
                return;
        }
        p->pod.deleting_ms = w->now_ms / 1000 * 1000;
        p->pod.ready = false;
        p->pod.ready_ms = 0;
        p->end_at_ms = w->now_ms + w->grace_ms;
        world_touch(w, p);
}

static inline void world_crash(struct world *w, struct world_pod *p) {
        if (p->pod.phase != GROUP_POD_RUNNING || p->pod.deleting_ms)
                return;
        p->pod.restarts++;
        p->pod.last_failure = STR("container main: exit code 137 (OOMKilled)");
        world_touch(w, p);
}

static inline void world_fail(struct world *w, struct world_pod *p) {
        if (!p->pod.node.n || p->pod.deleting_ms)
                return;
        p->pod.phase = GROUP_POD_FAILED;
        p->pod.ready = false;
        p->pod.ready_ms = 0;
        p->pod.last_failure = STR("Evicted");
        world_touch(w, p);
}

static inline void world_lose(struct world *w, struct world_node *n) {
        n->lost = true;
        n->lost_ms = w->now_ms / 1000 * 1000;
        for (size_t i = 0; i < w->pod_count; i++)
                if (str_eq(w->pods[i].pod.node, n->name)) {
                        w->pods[i].pod.ready = false;
                        w->pods[i].pod.ready_ms = 0;
                        world_touch(w, &w->pods[i]);
                }
}

static inline void world_out_of_service(struct world *w, struct world_node *n) {
        n->out_of_service = true;
        n->out_of_service_ms = w->now_ms;
}

static inline void world_heal(struct world *w, struct world_node *n) {
        if (n->gone)
                return;
        n->lost = n->out_of_service = false;
        n->lost_ms = 0;
        w->capacity_ms = w->now_ms / 1000 * 1000;
}

/* --- observing ---------------------------------------------------------------------------------------------------- */

static inline void world_observe_things(struct world *w, struct arena *a, struct group_observed *o) {
        struct group_service *services = arena_zalloc(a, w->thing_count * sizeof *services);
        struct group_claim *claims = arena_zalloc(a, w->thing_count * sizeof *claims);
        struct group_stored_revision *revisions = arena_zalloc(a, w->thing_count * sizeof *revisions);

        for (size_t i = 0; i < w->thing_count; i++) {
                const struct world_thing *t = &w->things[i];

                if (t->kind == GROUP_SERVICE)
                        services[o->service_count++] = (struct group_service){ .name = t->name,
                                                                               .uid = t->uid,
                                                                               .owner_uid = t->owner_uid,
                                                                               .headless = true,
                                                                               .publishes_not_ready = true };
                else if (t->kind == GROUP_CLAIM)
                        claims[o->claim_count++] = (struct group_claim){
                                .name = t->name, .uid = t->uid, .owner_uid = t->owner_uid, .set = t->set
                        };
                else
                        revisions[o->revision_count++] = (struct group_stored_revision){ .name = t->name,
                                                                                         .uid = t->uid,
                                                                                         .owner_uid = t->owner_uid,
                                                                                         .hash = t->hash,
                                                                                         .number = t->number,
                                                                                         .data = t->data };
        }
        o->services = services;
        o->claims = claims;
        o->revisions = revisions;
}

static inline void world_observe_nodes(struct world *w, struct arena *a, struct group_observed *o) {
        struct group_node *nodes = arena_zalloc(a, w->node_count * sizeof *nodes);

        for (size_t i = 0; i < w->node_count; i++) {
                const struct world_node *n = &w->nodes[i];

                nodes[i] = (struct group_node){ .name = n->name,
                                                .labels = value_with(a, NULL, STR("rack"), value_string(a, n->name, 0)),
                                                .out_of_service = n->out_of_service,
                                                .out_of_service_ms = n->out_of_service_ms,
                                                .gone = n->gone,
                                                .lost_ms = n->lost_ms };
        }
        o->nodes = nodes;
        o->node_count = w->node_count;
}

static inline struct group_observed world_observe(struct world *w, struct arena *a) {
        struct group_observed o = { .pod_count = w->pod_count,
                                    .foreign = w->foreign,
                                    .capacity_ms = w->capacity_ms,
                                    .namespace_terminating = w->namespace_terminating };
        struct group_pod *pods = arena_alloc(a, w->pod_count * sizeof *pods);

        for (size_t i = 0; i < w->pod_count; i++)
                pods[i] = w->pods[i].pod;
        o.pods = pods;
        world_observe_things(w, a, &o);
        world_observe_nodes(w, a, &o);
        return o;
}

static inline struct group_plan world_plan(struct world *w, struct arena *a) {
        struct group_observed *o = arena_alloc(a, sizeof *o);
        struct group_input in = { &w->spec, w->problems.count ? &w->problems : NULL, w->status, o, w->now_ms };
        struct group_plan plan;

        *o = world_observe(w, a);
        assert_int_equal(group_plan_make(&in, a, &plan, NULL), 0);
        return plan;
}

/* --- carrying out ------------------------------------------------------------------------------------------------- */

static inline void world_break(struct world *w, const char *invariant) {
        if (!w->broken) {
                w->broken = invariant;
                world_say(w, "BROKEN: %s", invariant);
        }
}

static inline const struct value *world_stamped(struct world *w, const struct value *body) {
        const struct str uid[] = { STR("metadata"), STR("uid") };
        const struct str rv[] = { STR("metadata"), STR("resourceVersion") };

        body = value_with_path(w->a, body, uid, 2, value_string(w->a, world_serial(w), 0));
        return value_with_path(w->a, body, rv, 2, value_string(w->a, world_serial(w), 0));
}

static inline bool world_create_pod(struct world *w, const struct group_action *act) {
        struct world_pod p = { .slow = w->slow };

        if (world_pod_find(w, act->name))
                return world_is_ours(&world_pod_find(w, act->name)->pod);
        assert_int_equal(group_pod_read(world_stamped(w, act->body), w->a, &p.pod), 0);
        if (!str_eq(p.pod.name, act->name) || !world_is_ours(&p.pod))
                world_break(w, "a pod is made under its name, with its owner");
        p.pod.created_ms = w->now_ms / 1000 * 1000;
        w->pods = mem_grow(w->pods, &w->pod_cap, w->pod_count + 1, sizeof *w->pods);
        w->pods[w->pod_count++] = p;
        return true;
}

static inline bool world_create_thing(struct world *w, const struct group_action *act) {
        const struct value *body = value_dup(w->a, world_stamped(w, act->body));
        struct world_thing *there = world_thing_find(w, act->object, act->name), t = { .kind = act->object };
        struct group_service service = { 0 };
        struct group_claim claim = { 0 };
        struct group_stored_revision revision = { 0 };

        if (there)
                return act->object == GROUP_CLAIM || str_eqc(there->owner_uid, WORLD_UID);
        if (act->object == GROUP_SERVICE) {
                assert_int_equal(group_service_read(body, w->a, &service), 0);
                if (!service.headless || !service.publishes_not_ready)
                        world_break(w, "services are headless and publish addresses early");
                t.name = service.name, t.uid = service.uid, t.owner_uid = service.owner_uid;
        } else if (act->object == GROUP_CLAIM) {
                assert_int_equal(group_claim_read(body, w->a, &claim), 0);
                t.name = claim.name, t.uid = claim.uid, t.owner_uid = claim.owner_uid, t.set = claim.set;
        } else {
                assert_int_equal(group_stored_revision_read(body, w->a, &revision), 0);
                t.name = revision.name, t.uid = revision.uid, t.owner_uid = revision.owner_uid;
                t.hash = revision.hash, t.number = revision.number, t.data = revision.data;
        }
        if (!str_eq(t.name, act->name))
                world_break(w, "an action has the name of its object");
        assert_true(w->thing_count < THINGS_MAX);
        w->things[w->thing_count++] = t;
        return true;
}

static inline bool world_delete_thing(struct world *w, const struct group_action *act) {
        struct world_thing *t = world_thing_find(w, act->object, act->name);

        if (!act->uid.n)
                world_break(w, "a deletion has the uid");
        if (!t || !str_eq(t->uid, act->uid))
                return true;
        if (t->owner_uid.n ? !str_eqc(t->owner_uid, WORLD_UID) : act->object != GROUP_CLAIM)
                world_break(w, "nothing of another is deleted");
        *t = w->things[--w->thing_count];
        return true;
}

static inline bool world_change_pod(struct world *w, const struct group_action *act) {
        struct world_pod *p = world_pod_find(w, act->name);

        if (!act->uid.n || !act->resource_version.n)
                world_break(w, "a change of a pod has uid and resourceVersion");
        if (!p || !str_eq(p->pod.uid, act->uid))
                return act->kind == GROUP_DELETE;
        if (!world_is_ours(&p->pod))
                world_break(w, "nothing of another is changed");
        if (!str_eq(p->pod.resource_version, act->resource_version))
                return false;
        if (act->kind == GROUP_RELEASE) {
                if (!p->pod.gated)
                        world_break(w, "only a gate that is there comes off");
                p->pod.gated = false;
                world_touch(w, p);
        } else if (act->force) {
                world_remove_pod(w, p);
        } else {
                world_delete(w, p);
        }
        return true;
}

/* False: refused, or a precondition did not hold. */
static inline bool world_do(struct world *w, const struct group_action *act) {
        static const char *const kinds[] = { "create", "delete", "release", "status" };
        static const char *const objects[] = { "pod", "service", "claim", "revision" };

        w->writes++;
        w->status_writes += act->kind == GROUP_STATUS;
        world_say(w, "  %u %s %s %.*s (%s)", act->phase, kinds[act->kind],
                  act->kind == GROUP_STATUS ? "" : objects[act->object], STR_FMT(act->name), act->why);
        if (act->kind == GROUP_STATUS) {
                w->status = value_dup(w->a, act->body);
                return true;
        }
        if (act->object == GROUP_POD)
                return act->kind == GROUP_CREATE ? world_create_pod(w, act) : world_change_pod(w, act);
        return act->kind == GROUP_CREATE ? world_create_thing(w, act) : world_delete_thing(w, act);
}

/* All of a plan, as its phases say: what fails in one keeps the next from beginning. */
static inline void world_carry_out(struct world *w, const struct group_plan *plan) {
        bool failed = false;

        for (size_t i = 0; i < plan->action_count; i++) {
                if (failed && plan->actions[i].phase != plan->actions[i - 1].phase)
                        return;
                if (!world_do(w, &plan->actions[i])) {
                        world_say(w, "    refused");
                        failed = true;
                }
        }
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

static inline int32_t world_size_of(const struct group_pod *pod) {
        int64_t size = 0;

        str_to_i64(pod->size_annotation, &size);
        return (int32_t)size;
}

/* Is the group whole, of one incarnation, and all of it ready? */
static inline bool world_group_ready(const struct world *w, int32_t group) {
        int32_t ready = 0, size = 0;
        struct str incarnation = { 0 };

        for (size_t i = 0; i < w->pod_count; i++) {
                const struct group_pod *pod = &w->pods[i].pod;

                if (pod->group != group || !world_is_ours(pod))
                        continue;
                if (pod->deleting_ms || !pod->ready || (ready && !str_eq(pod->incarnation, incarnation)))
                        return false;
                incarnation = pod->incarnation;
                size = world_size_of(pod);
                ready++;
        }
        return ready && ready == size;
}

static inline int32_t world_ready_groups(const struct world *w, int32_t below) {
        int32_t ready = 0;

        for (int32_t g = 0; g < below; g++)
                ready += world_group_ready(w, g);
        return ready;
}

static inline void world_check_one_life(struct world *w) {
        for (size_t i = 0; i < w->pod_count; i++) {
                const struct group_pod *a = &w->pods[i].pod;

                for (size_t j = 0; j < i; j++) {
                        const struct group_pod *b = &w->pods[j].pod;

                        if (a->group != b->group || !world_is_ours(a) || !world_is_ours(b))
                                continue;
                        if (!str_eq(a->incarnation, b->incarnation))
                                world_break(w, "one incarnation of a group is there");
                        if (!str_eq(a->revision, b->revision) || !str_eq(a->size_annotation, b->size_annotation))
                                world_break(w, "a group is of one revision");
                }
        }
}

#endif
