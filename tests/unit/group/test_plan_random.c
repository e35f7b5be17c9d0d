/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans in random histories. Three kinds: **calm** ones, in which only the object changes and the agent fails; **wild**
 * ones, with everything; **narrow** ones, without faults and with too few nodes. A history is its seed:
 *
 *     TRUCE_TEST_SEED=17 TRUCE_TEST_KIND=wild build/debug/tests/group_test_plan_random
 *
 * plays one; TRUCE_TEST_HISTORIES says how many of each there are. One that fails prints what happened.
 */
#include "group/world.h"

#define STEPS        40
#define TICK_MS      500
#define SETTLE_CALLS 60 /* three for each group, where broken ones are rolled one by one */
#define HOUR_MS      (3600 * INT64_C(1000))

enum kind { CALM, WILD, NARROW };
static const char *const kind_names[] = { "calm", "wild", "narrow" };

struct shape {
        int replicas, size, surge, unavailable, partition, image;
        bool surge_percent, unavailable_percent;
        const char *restart, *startup, *subdomain, *gang, *exclusive, *victims;
        int budget;
};

struct history {
        struct world *w;
        enum kind kind;
        uint64_t seed, state;
        struct shape now;
        int most_groups, most_size;
        bool was_ready; /* once all groups were */
        int64_t half_since_ms[64];
        int64_t floor; /* of ready groups, in calm histories */
};

static uint64_t draw(struct history *h) {
        uint64_t z = h->state += 0x9e3779b97f4a7c15;

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
}

static int below(struct history *h, int n) {
        return (int)(draw(h) % (uint64_t)n);
}

static bool chance(struct history *h, int percent) {
        return below(h, 100) < percent;
}

static const char *one_of(struct history *h, const char *const *words, int count) {
        return words[below(h, count)];
}
#define ONE_OF(h, ...)                                                                                                 \
        one_of(h, (const char *const[]){ __VA_ARGS__ },                                                                \
               (int)(sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)))

/* --- the object --------------------------------------------------------------------------------------------------- */

static const struct value *parsed(struct history *h, const char *text) {
        const struct value *v;

        assert_int_equal(json_parse(str_from(text), h->w->a, &v, NULL), 0);
        return v;
}

static void set_shape(struct history *h) {
        const struct shape *s = &h->now;
        char text[2048], notes[1024];

        snprintf(text, sizeof text,
                 "{\"replicas\": %d, \"startupPolicy\": \"%s\", \"networkConfig\": {\"subdomainPolicy\": \"%s\"},"
                 "\"rolloutStrategy\": {\"type\": \"RollingUpdate\", \"rollingUpdateConfiguration\": {\"partition\": "
                 "%d, "
                 "\"maxUnavailable\": %s%d%s, \"maxSurge\": %s%d%s}}, \"leaderWorkerTemplate\": {\"size\": %d, "
                 "\"restartPolicy\": \"%s\", \"workerTemplate\": {\"spec\": {\"containers\": [{\"name\": \"main\", "
                 "\"image\": \"i%d\"}]}}}}",
                 s->replicas, s->startup, s->subdomain, s->partition, s->unavailable_percent ? "\"" : "",
                 s->unavailable, s->unavailable_percent ? "%\"" : "", s->surge_percent ? "\"" : "", s->surge,
                 s->surge_percent ? "%\"" : "", s->size, s->restart, s->image);
        snprintf(notes, sizeof notes, "{\"truce.dev/gang-timeout\": \"%s\", \"truce.dev/scale-down\": \"%s\"", s->gang,
                 s->victims);
        if (s->exclusive)
                snprintf(notes + strlen(notes), sizeof notes - strlen(notes), ", \"%s\": \"%s\"",
                         GROUP_ANNOTATION_EXCLUSIVE, s->exclusive);
        if (s->budget >= 0)
                snprintf(notes + strlen(notes), sizeof notes - strlen(notes),
                         ", \"truce.dev/max-group-restarts\": \"%d\"", s->budget);
        snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "}");
        world_set_object(h->w, parsed(h, text), parsed(h, notes));
        if (h->w->problems.count)
                fail_msg("%.*s: %.*s", STR_FMT(h->w->problems.items[0].path), STR_FMT(h->w->problems.items[0].text));
        world_say(h->w,
                  "-- object: replicas %d size %d image %d surge %d%s unavailable %d%s partition %d %s %s %s gang %s "
                  "%s%s",
                  s->replicas, s->size, s->image, s->surge, s->surge_percent ? "%" : "", s->unavailable,
                  s->unavailable_percent ? "%" : "", s->partition, s->restart, s->startup, s->subdomain, s->gang,
                  s->victims, s->exclusive ? " exclusive" : "");
        int groups = s->replicas + group_budget_up(h->w->spec.max_surge, s->replicas);
        if (groups > h->most_groups)
                h->most_groups = groups;
        if (s->size > h->most_size)
                h->most_size = s->size;
}

static void draw_budgets(struct history *h) {
        struct shape *s = &h->now;

        s->surge_percent = chance(h, 20);
        s->unavailable_percent = chance(h, 20);
        s->surge = s->surge_percent ? below(h, 60) : below(h, 3);
        s->unavailable = s->unavailable_percent ? below(h, 60) : below(h, 3);
        if (!s->surge && !s->unavailable)
                s->unavailable = 1;
}

static void draw_shape(struct history *h) {
        h->now = (struct shape){
                .replicas = 1 + below(h, 4),
                .size = 1 + below(h, 3),
                .restart = ONE_OF(h, "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"),
                .startup = chance(h, 75) ? "LeaderCreated" : "LeaderReady",
                .subdomain = chance(h, 75) ? "Shared" : "UniquePerReplica",
                .gang = chance(h, 80) ? "60s" : "0s",
                .victims = chance(h, 70) ? "highest-ordinal" : "broken-first",
                .exclusive = chance(h, 10) ? "rack" : NULL,
                .budget = -1,
        };
        draw_budgets(h);
        if (h->kind == NARROW) {
                h->now.size = 2 + below(h, 3);
                h->now.gang = "60s";
                h->now.exclusive = NULL;
        }
        set_shape(h);
}

/* --- what must hold ----------------------------------------------------------------------------------------------- */

static void check_pods(struct history *h) {
        int all = 0, live = 0, most = h->most_groups * h->most_size;

        for (size_t i = 0; i < h->w->pod_count; i++) {
                all += world_is_ours(&h->w->pods[i].pod);
                live += world_is_ours(&h->w->pods[i].pod) && !h->w->pods[i].pod.deleting_ms;
        }
        if (live > most || (h->kind == CALM && all > most))
                world_break(h->w, "there are no more pods than (replicas + surge) x size");
}

static void check_ready(struct history *h) {
        int32_t ready = world_ready_groups(h->w, 32);

        if (h->kind != CALM)
                return;
        h->was_ready = h->was_ready || ready >= h->now.replicas;
        if (h->was_ready && ready < h->floor)
                world_break(h->w, "no more groups than maxUnavailable are taken away by a roll");
}

/* Has the group nodes for some of its members, released, and finds none for another? */
static bool is_half(const struct world *w, int32_t group) {
        bool bound = false, unbound = false;

        for (size_t i = 0; i < w->pod_count; i++) {
                const struct group_pod *pod = &w->pods[i].pod;

                if (pod->group != group)
                        continue;
                if (pod->deleting_ms)
                        return false;
                bound = bound || pod->node.n;
                unbound = unbound || (pod->unschedulable && !pod->node.n);
        }
        return bound && unbound;
}

static void check_halves(struct history *h) {
        int64_t slack_ms = h->most_groups * INT64_C(20000) + 5000;

        for (int32_t g = 0; h->kind == NARROW && g < 32; g++) {
                if (!is_half(h->w, g))
                        h->half_since_ms[g] = 0;
                else if (!h->half_since_ms[g])
                        h->half_since_ms[g] = h->w->now_ms;
                else if (h->w->now_ms - h->half_since_ms[g] > 60000 + slack_ms)
                        world_break(h->w, "no group holds a part of its nodes for long");
        }
}

static void check(struct history *h) {
        world_check_one_life(h->w);
        check_pods(h);
        check_ready(h);
        check_halves(h);
        if (!h->w->broken)
                return;
        world_print(h->w);
        fail_msg("%s history %llu: broken: %s", kind_names[h->kind], (unsigned long long)h->seed, h->w->broken);
}

static void require(struct history *h, bool holds, const char *what) {
        if (!holds)
                world_break(h->w, what);
        check(h);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static bool same_plans(const struct group_plan *a, const struct group_plan *b) {
        if (a->action_count != b->action_count || a->event_count != b->event_count || a->again_ms != b->again_ms)
                return false;
        for (size_t i = 0; i < a->action_count; i++) {
                const struct group_action *x = &a->actions[i], *y = &b->actions[i];

                if (x->kind != y->kind || x->phase != y->phase || !str_eq(x->name, y->name) ||
                    !value_equal(x->body, y->body))
                        return false;
        }
        return true;
}

static struct group_plan plan_now(struct history *h, struct arena *a) {
        struct group_plan plan = world_plan(h->w, a);

        if (below(h, 16) == 0) {
                struct group_plan again = world_plan(h->w, a);

                require(h, same_plans(&plan, &again), "the same input gives the same plan");
        }
        if (plan.action_count)
                world_say(h->w, "plan");
        return plan;
}

static void shuffle(struct history *h, struct group_plan *plan) {
        for (size_t i = 1; i < plan->action_count; i++) {
                size_t j = (size_t)below(h, (int)i + 1);

                if (plan->actions[j].phase == plan->actions[i].phase) {
                        struct group_action swap = plan->actions[i];

                        plan->actions[i] = plan->actions[j];
                        plan->actions[j] = swap;
                }
        }
}

/* With a check after each action. `crash` and `refuse`: chances that the agent dies before one, or that one is refused.
 */
static void carry_out(struct history *h, const struct group_plan *plan, int crash, int refuse) {
        bool failed = false;

        for (size_t i = 0; i < plan->action_count; i++) {
                if (failed && plan->actions[i].phase != plan->actions[i - 1].phase)
                        return;
                if (chance(h, crash)) {
                        world_say(h->w, "-- the agent dies");
                        return;
                }
                if (chance(h, refuse)) {
                        world_say(h->w, "-- refused: %.*s", STR_FMT(plan->actions[i].name));
                        failed = true;
                        continue;
                }
                failed = !world_do(h->w, &plan->actions[i]) || failed;
                check(h);
        }
}

/* Without faults, time standing still: what there is to do now is done after a few plans, and then there is nothing. */
static int64_t do_all(struct history *h) {
        for (int i = 0; i < SETTLE_CALLS; i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(16384);
                struct group_plan plan = plan_now(h, a);

                if (!plan.action_count)
                        return plan.again_ms;
                carry_out(h, &plan, 0, 0);
        }
        require(h, false, "when nothing changes there is nothing to do");
        return 0;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static struct world_pod *any_pod(struct history *h) {
        return h->w->pod_count ? &h->w->pods[below(h, (int)h->w->pod_count)] : NULL;
}

static void change_template(struct history *h) {
        h->now.image++;
        set_shape(h);
}

static void change_size(struct history *h) {
        h->now.size = 1 + below(h, 3);
        set_shape(h);
}

static void scale(struct history *h) {
        h->now.replicas = below(h, 6);
        set_shape(h);
}

static void change_budgets(struct history *h) {
        draw_budgets(h);
        h->now.partition = chance(h, 30) ? below(h, 4) : 0;
        set_shape(h);
}

static void change_policies(struct history *h) {
        h->now.startup = chance(h, 75) ? "LeaderCreated" : "LeaderReady";
        h->now.victims = chance(h, 50) ? "highest-ordinal" : "broken-first";
        h->now.gang = chance(h, 80) ? "60s" : "0s";
        set_shape(h);
}

static void lose_memory(struct history *h) {
        world_say(h->w, "-- the status is lost");
        h->w->status = NULL;
}

static void delete_pod(struct history *h) {
        struct world_pod *pod = any_pod(h);

        if (!pod)
                return;
        world_say(h->w, "-- deleted: %.*s", STR_FMT(pod->pod.name));
        world_delete(h->w, pod);
}

static void kill_pod(struct history *h) {
        struct world_pod *pod = any_pod(h);

        if (!pod)
                return;
        world_say(h->w, "-- vanishes: %.*s", STR_FMT(pod->pod.name));
        world_remove_pod(h->w, pod);
}

static void crash_pod(struct history *h) {
        struct world_pod *pod = any_pod(h);

        if (!pod)
                return;
        world_say(h->w, "-- crashes: %.*s", STR_FMT(pod->pod.name));
        if (chance(h, 70))
                world_crash(h->w, pod);
        else
                world_fail(h->w, pod);
}

static void stick_pod(struct history *h) {
        struct world_pod *pod = any_pod(h);

        if (!pod)
                return;
        world_say(h->w, "-- will not end: %.*s", STR_FMT(pod->pod.name));
        pod->stuck = true;
}

static void lose_node(struct history *h) {
        struct world_node *node = &h->w->nodes[below(h, (int)h->w->node_count)];

        if (node->lost && chance(h, 50)) {
                world_say(h->w, "-- node is back: %.*s", STR_FMT(node->name));
                world_heal(h->w, node);
        } else if (node->lost && !node->gone) {
                node->gone = chance(h, 30);
                if (chance(h, 30) && !node->out_of_service)
                        world_out_of_service(h->w, node);
                world_say(h->w, "-- node %.*s:%s%s", STR_FMT(node->name), node->gone ? " gone" : "",
                          node->out_of_service ? " out of service" : "");
        } else if (!node->lost) {
                world_say(h->w, "-- node is lost: %.*s", STR_FMT(node->name));
                world_lose(h->w, node);
        }
}

static void change_room(struct history *h) {
        struct world_node *node = &h->w->nodes[below(h, (int)h->w->node_count)];

        node->room += below(h, 7) - world_room(h->w, node);
        if (world_room(h->w, node) < 0)
                node->room -= world_room(h->w, node);
        h->w->capacity_ms = h->w->now_ms / 1000 * 1000;
        world_say(h->w, "-- room of %.*s: %d", STR_FMT(node->name), node->room);
}

static void lose_service(struct history *h) {
        for (size_t i = 0; i < h->w->thing_count; i++)
                if (h->w->things[i].kind == (chance(h, 70) ? GROUP_SERVICE : GROUP_REVISION)) {
                        world_say(h->w, "-- vanishes: %.*s", STR_FMT(h->w->things[i].name));
                        h->w->things[i] = h->w->things[--h->w->thing_count];
                        return;
                }
}

static void long_time(struct history *h) {
        world_tick(h->w, 1000 * below(h, 900));
}

static void nothing(struct history *h) {
        (void)h;
}

struct event {
        void (*happen)(struct history *h);
        int weights[3]; /* by kind */
};

static const struct event events[] = {
        { nothing, { 60, 30, 70 } },  { change_template, { 8, 5, 2 } }, { change_size, { 0, 2, 0 } },
        { scale, { 0, 6, 3 } },       { change_budgets, { 0, 3, 1 } },  { change_policies, { 0, 2, 0 } },
        { lose_memory, { 2, 2, 1 } }, { delete_pod, { 0, 8, 0 } },      { kill_pod, { 0, 4, 0 } },
        { crash_pod, { 0, 12, 0 } },  { stick_pod, { 0, 1, 0 } },       { lose_node, { 0, 5, 0 } },
        { change_room, { 0, 4, 5 } }, { lose_service, { 2, 2, 1 } },    { long_time, { 2, 4, 0 } },
};

static void let_something_happen(struct history *h) {
        int total = 0, at;

        for (size_t i = 0; i < ARRAY_LEN(events); i++)
                total += events[i].weights[h->kind];
        at = below(h, total);
        for (size_t i = 0; i < ARRAY_LEN(events); i++) {
                at -= events[i].weights[h->kind];
                if (at < 0) {
                        events[i].happen(h);
                        break;
                }
        }
        check(h);
}

/* --- a history ---------------------------------------------------------------------------------------------------- */

static void prepare(struct history *h) {
        static const char *const names[] = { "n0", "n1", "n2" };

        for (int i = 0; i < 3; i++)
                world_add_node(h->w, names[i],
                               h->kind == CALM   ? 100
                               : h->kind == WILD ? 4 + below(h, 20)
                                                 : 1 + below(h, 5));
        world_say(h->w, "-- room: %d %d %d", h->w->nodes[0].room, h->w->nodes[1].room, h->w->nodes[2].room);
        draw_shape(h);
        if (h->kind == CALM) {
                int32_t down = group_budget_down(h->w->spec.max_unavailable, h->now.replicas);
                int32_t up = group_budget_up(h->w->spec.max_surge, h->now.replicas);

                h->floor = h->now.replicas - (down || up ? down : 1);
                for (int i = 0; i < 60 && !h->was_ready; i++) {
                        do_all(h);
                        world_tick(h->w, TICK_MS);
                        check(h);
                }
                require(h, h->was_ready, "without faults all groups become ready");
        }
}

static void step(struct history *h) {
        int faults = h->kind == NARROW ? 0 : 3;
        _cleanup_(arena_freep) struct arena *a = arena_new(16384);

        let_something_happen(h);
        struct group_plan plan = plan_now(h, a);
        if (h->kind != NARROW)
                shuffle(h, &plan);
        if (h->kind == WILD && chance(h, 10))
                let_something_happen(h); /* the plan is late */
        carry_out(h, &plan, faults, faults);
        world_tick(h->w, h->kind == NARROW ? TICK_MS : 100 + below(h, 3000));
        check(h);
}

static void end_faults(struct history *h) {
        world_say(h->w, "-- no more faults");
        h->now.partition = 0;
        set_shape(h);
        for (size_t i = 0; i < h->w->node_count; i++) {
                if (h->w->nodes[i].gone)
                        world_out_of_service(h->w, &h->w->nodes[i]);
                world_heal(h->w, &h->w->nodes[i]);
        }
        for (size_t i = 0; i < h->w->pod_count; i++)
                h->w->pods[i].stuck = false;
        if (h->kind == WILD)
                world_add_node(h->w, "big", 1000);
}

/* Groups that there is room for, once nothing of others is in the way. */
static int room_for_groups(const struct history *h) {
        int room = 0;

        for (size_t i = 0; i < h->w->node_count; i++)
                room += h->w->nodes[i].room;
        return room / h->now.size;
}

static bool all_is_well(const struct history *h) {
        int fit = room_for_groups(h), wanted = fit < h->now.replicas ? fit : h->now.replicas;
        /* A roll stands still while its surge, or more groups than its budget, have no nodes. */
        bool rolls = fit >= h->now.replicas + group_budget_up(h->w->spec.max_surge, h->now.replicas);

        for (size_t i = 0; i < h->w->pod_count; i++) {
                const struct group_pod *pod = &h->w->pods[i].pod;

                if (pod->deleting_ms || (rolls && !str_eq(pod->revision, h->w->spec.now.hash)))
                        return false;
        }
        return world_ready_groups(h->w, 32) >= wanted &&
               (!rolls || (int)h->w->pod_count == h->now.replicas * h->now.size);
}

static void converge(struct history *h) {
        int64_t end_ms = h->w->now_ms + 3 * HOUR_MS;

        while (h->w->now_ms < end_ms && !all_is_well(h)) {
                do_all(h);
                world_tick(h->w, TICK_MS);
                check(h);
        }
        require(h, all_is_well(h), "when faults stop all becomes as it is wanted");
}

/* Histories of restarts are forgotten after a while; then nothing is written any more. */
static void stay_quiet(struct history *h) {
        for (int i = 0; i < 120; i++) {
                do_all(h);
                world_tick(h->w, 10000);
        }
        unsigned writes = h->w->writes;
        for (int i = 0; i < 30; i++) {
                do_all(h);
                world_tick(h->w, 60000);
        }
        require(h, h->w->writes == writes, "once all is as it is wanted nothing is written");
}

static void play(enum kind kind, uint64_t seed) {
        struct history h = { .kind = kind, .seed = seed, .state = seed * 4 + kind, .w = world_new() };

        prepare(&h);
        for (int i = 0; i < STEPS; i++)
                step(&h);
        end_faults(&h);
        converge(&h);
        if (kind != NARROW)
                stay_quiet(&h);
        world_free(h.w);
}

static uint64_t number_of(const char *variable, uint64_t otherwise) {
        uint64_t number = otherwise;

        if (getenv(variable))
                str_to_u64(str_from(getenv(variable)), &number);
        return number;
}

static void play_all(enum kind kind) {
        const char *only = getenv("TRUCE_TEST_KIND");
        uint64_t first = number_of("TRUCE_TEST_SEED", 0);
        uint64_t count = number_of("TRUCE_TEST_HISTORIES", getenv("TRUCE_TEST_SEED") ? 1 : 60);

        if (only && strcmp(only, kind_names[kind]) != 0)
                return;
        for (uint64_t i = 0; i < count; i++)
                play(kind, first + i);
}

static void a_roll_alone_keeps_its_budgets_whatever_happens_to_the_agent(void **state) {
        (void)state;
        play_all(CALM);
}

static void after_any_faults_all_becomes_as_it_is_wanted(void **state) {
        (void)state;
        play_all(WILD);
}

static void with_too_few_nodes_as_many_groups_run_as_there_is_room_for(void **state) {
        (void)state;
        play_all(NARROW);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_roll_alone_keeps_its_budgets_whatever_happens_to_the_agent),
                cmocka_unit_test(after_any_faults_all_becomes_as_it_is_wanted),
                cmocka_unit_test(with_too_few_nodes_as_many_groups_run_as_there_is_room_for),
        };

        return cmocka_run_group_tests_name("plan_random", tests, NULL, NULL);
}
