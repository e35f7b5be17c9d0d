/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds of every roll, over random histories. A history that fails says its seed: run the program with it as its
 * argument to see that one alone, step by step. TRUCE_HISTORIES: how many of each kind instead of HISTORIES.
 */
#include "group/rollout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

#include "rollout_sim.h"

#define HISTORIES   8000 /* of each of three kinds */
#define EVENTS      40
#define REPLICAS    9
#define PASSES_MAX  (4 + SIM_MAX) /* each may repair one group */
#define SETTLES_MAX 3

struct history {
        uint64_t seed, state;
        struct sim s;
        const char *event;
        int at; /* its group */
        bool calm, slow;
        bool may_rise; /* something happened since the last pass that may raise the partition */
};

static uint64_t only_seed;

/* --- dice ------------------------------------------------------------------------------------------------------- */

/* xorshift64*: good enough to wander, and the same everywhere. */
static int roll(struct history *h, int sides) {
        h->state ^= h->state >> 12;
        h->state ^= h->state << 25;
        h->state ^= h->state >> 27;
        return (int)(((h->state * UINT64_C(2685821657736338717)) >> 33) % (uint64_t)sides);
}

static struct group_budget any_budget(struct history *h) {
        bool percent = roll(h, 4) == 0;

        return (struct group_budget){ percent, percent ? roll(h, 5) * 25 : roll(h, REPLICAS) / (1 + roll(h, 3)) };
}

static void show(const struct history *h) {
        char text[2 * SIM_MAX + 1];

        sim_text(&h->s, text);
        print_message("%-12s %3d: R%d U%d S%d partition %d: p%d/%d repair %d %s\n", h->event, h->at,
                      (int)h->s.in.replicas, (int)h->s.last.max_unavailable, (int)h->s.last.max_surge,
                      (int)h->s.in.partition, (int)h->s.last.partition, (int)h->s.last.groups, (int)h->s.last.repair,
                      text);
}

static void check(const struct history *h, bool holds, const char *what) {
        if (holds)
                return;
        show(h);
        fail_msg("seed %llu: %s", (unsigned long long)h->seed, what);
}

/* --- the arithmetic again --------------------------------------------------------------------------------------- */

struct model {
        int p, n;
};

static bool model_ready(const struct sim *s, int i) {
        return s->groups[i].exists && s->groups[i].ready;
}

static bool model_done(const struct sim *s, int i) {
        return model_ready(s, i) && s->groups[i].revision == s->wanted;
}

static int model_want(int r, int su, int u, int unready) {
        int want = unready > su ? r + su : r + (unready > u ? unready - u : 0);

        return want;
}

static int model_partition(const struct sim *s, int r, int su, int u, int p, int n) {
        int burst = r + su, step = u + su - (burst - n), tail = 0, q, next;

        for (int i = n - 1; i >= 0 && model_done(s, i); i--)
                tail++;
        q = n - tail - step > 0 ? n - tail - step : 0;
        next = q;
        for (int i = 0; i < q; i++)
                next += !model_ready(s, i);
        for (int i = next < n - 1 ? next : n - 1; i >= q; i--) {
                if (model_ready(s, i) && s->groups[i].revision != s->wanted)
                        break;
                next = i;
        }
        return next < p ? next : p;
}

/*
 * As the LeaderWorkerSet controller is known to go about a roll, written down once more and in its own terms: step,
 * burst, tail. For recorded numbers that are known, in a roll.
 */
static struct model model_step(const struct sim *s, int p, int n, int recorded, bool fresh) {
        int r = s->in.replicas, su = s->last.max_surge, u = s->last.max_unavailable, unready = 0;

        for (int i = 0; i < r; i++)
                unready += !model_done(s, i);
        if (fresh)
                return (struct model){ r < n ? r : n, n < r ? r : model_want(r, su, u, r) };
        if (n < r || (p == 0 && n == r))
                return (struct model){ p, r };
        if (recorded != r)
                return (struct model){ p < r + su ? p : r + su, model_want(r, su, u, unready) };
        return (struct model){ model_partition(s, r, su, u, p, n), model_want(r, su, u, unready) };
}

/* --- what holds after each pass --------------------------------------------------------------------------------- */

/* Of the ready groups, those that are left alone by this partition and number of groups. */
static int survivors(const struct sim *s, int p, int n) {
        int left = 0;

        for (int i = 0; i < n && i < SIM_MAX; i++)
                left += model_ready(s, i) && (i < p || s->groups[i].revision == s->wanted);
        return left;
}

/*
 * How many must be left: maxUnavailable counts what is ready, not what ought to be. Above the surge all go; what the
 * last pass decided is done.
 */
static int survivors_wanted(const struct sim *s, int p_before, int n_before) {
        int top = s->in.replicas + s->last.max_surge, least = s->in.replicas - s->last.max_unavailable;
        int p = s->in.fresh || p_before < 0 ? SIM_MAX : p_before;
        int n = n_before >= 0 && n_before < top ? n_before : top;
        int left = survivors(s, p, n > s->last.groups ? n : s->last.groups);

        return left < least ? left : least;
}

static void check_bounds(const struct history *h, int p_before, int n_before, bool rolling) {
        const struct group_rollout *l = &h->s.last;

        check(h, l->groups >= h->s.in.replicas && l->groups <= h->s.in.replicas + l->max_surge, "groups out of bounds");
        check(h, l->partition >= h->s.in.partition, "the user's partition is passed");
        check(h, h->s.in.replicas == 0 || l->max_surge + l->max_unavailable > 0, "a roll without an end");
        check(h, !rolling || survivors(&h->s, l->partition, l->groups) >= survivors_wanted(&h->s, p_before, n_before),
              "too many ready groups go");
        check(h, l->repair < 0 || (l->repair < l->partition && l->repair >= h->s.in.partition), "repair out of bounds");
        check(h, l->repair < 0 || !model_ready(&h->s, l->repair), "a ready group is repaired");
}

/* As the model says, where that leaves enough groups; else less far. */
static void check_model(const struct history *h, struct model m, int p_before, int n_before) {
        const struct sim *s = &h->s;
        int user = s->in.partition;

        if (survivors(s, m.p, m.n) >= survivors_wanted(s, p_before, n_before)) {
                check(h, s->last.groups == m.n, "groups are not the model's");
                check(h, s->last.partition == (m.p > user ? m.p : user), "the partition is not the model's");
        } else {
                check(h, s->last.groups >= m.n && s->last.partition >= m.p, "it goes further than the model");
        }
}

/* Handed its own numbers again, with the same groups, it settles. */
static void check_settles(const struct history *h) {
        struct sim s = h->s;

        for (int i = 0; i < SETTLES_MAX; i++)
                sim_ask(&s);
        struct group_rollout settled = s.last;
        sim_ask(&s);
        check(h, s.last.partition == settled.partition && s.last.groups == settled.groups, "it does not settle");
}

static void pass(struct history *h) {
        struct sim *s = &h->s;
        int p = s->in.now_partition, n = s->in.now_groups, recorded = s->in.recorded_replicas;
        bool known = p >= 0 && n >= 0 && recorded >= 0, rolling;
        struct model m;

        sim_look(s);
        rolling = s->in.rolling || n > recorded;
        s->last = group_rollout_step(&s->in);
        m = model_step(s, p, n, recorded, s->in.fresh);
        h->may_rise = h->may_rise || s->in.fresh || !known;
        check_bounds(h, p, n, rolling);
        if (known && rolling)
                check_model(h, m, p, n);
        if (!h->may_rise && rolling)
                check(h, s->last.partition <= p, "the partition rises");
        sim_record(s);
        h->may_rise = false;
        if (roll(h, 4) == 0)
                check_settles(h);
}

/* --- what holds at each event ----------------------------------------------------------------------------------- */

static void check_calm(const struct history *h) {
        const struct sim *s = &h->s;

        check(h, sim_ready(s) >= s->in.replicas - s->last.max_unavailable, "maxUnavailable is passed");
        check(h, sim_existing(s) <= s->in.replicas + s->last.max_surge, "maxSurge is passed");
        check(h, s->last.repair < 0, "a group is repaired in a roll without trouble");
}

static void check_event(const struct history *h) {
        if (only_seed)
                show(h);
        if (h->calm)
                check_calm(h);
}

/* --- carrying out ----------------------------------------------------------------------------------------------- */

static bool is_pending(const struct sim *s, int i) {
        const struct sim_group *g = &s->groups[i];

        if (i >= s->last.groups)
                return g->exists;
        return !g->exists || (sim_may_change(s, i) && g->revision != s->wanted);
}

static bool carry_out_one(struct history *h, int i) {
        struct sim *s = &h->s;

        if (!is_pending(s, i))
                return false;
        if (i >= s->last.groups)
                s->groups[i] = (struct sim_group){ 0 };
        else if (!s->groups[i].exists)
                sim_make(s, i);
        else
                sim_replace(s, i);
        h->event = "done";
        h->at = i;
        check_event(h);
        return true;
}

/* All, from a random one on; a slow hand does one. */
static void carry_out(struct history *h) {
        int from = roll(h, SIM_MAX);

        for (int k = 0; k < SIM_MAX; k++)
                if (carry_out_one(h, (from + k) % SIM_MAX) && h->slow)
                        return;
}

static bool is_quiet(const struct history *h) {
        for (int i = 0; i < SIM_MAX; i++)
                if (is_pending(&h->s, i))
                        return false;
        return true;
}

static void react(struct history *h) {
        for (int passes = 0; passes < PASSES_MAX; passes++) {
                struct group_rollout old = h->s.last;
                bool first = h->s.wanted != h->s.before || h->s.in.recorded_replicas != h->s.in.replicas;

                pass(h);
                carry_out(h);
                if (h->slow || (!first && is_quiet(h) && old.partition == h->s.last.partition &&
                                old.groups == h->s.last.groups && old.repair == h->s.last.repair))
                        return;
        }
        check(h, false, "it finds no end");
}

/* --- histories -------------------------------------------------------------------------------------------------- */

/* A random existing group that is not ready becomes so; false: all are. */
static bool one_gets_ready(struct history *h) {
        int from = roll(h, SIM_MAX);

        for (int k = 0; k < SIM_MAX; k++) {
                int i = (from + k) % SIM_MAX;

                if (h->s.groups[i].exists && !h->s.groups[i].ready) {
                        h->s.groups[i].ready = true;
                        h->event = "ready";
                        h->at = i;
                        check_event(h);
                        return true;
                }
        }
        return false;
}

static void start(struct history *h, uint64_t seed) {
        *h = (struct history){ .seed = seed, .state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1, .event = "start" };
        h->s.wanted = 'A';
        h->s.in = (struct group_rollout_in){ .now_partition = -1, .now_groups = -1, .recorded_replicas = -1 };
        h->s.in.replicas = 1 + roll(h, REPLICAS);
        h->s.in.max_unavailable = any_budget(h);
        h->s.in.max_surge = any_budget(h);
        h->s.in.partition = roll(h, 3) ? 0 : roll(h, REPLICAS);
        h->may_rise = true;
        pass(h);
        sim_carry_out(&h->s);
        for (int i = 0; i < SIM_MAX; i++)
                h->s.groups[i].ready = h->s.groups[i].exists;
}

/* When everything gets ready, the roll ends, with all that should be updated and nothing above. */
static void finish(struct history *h) {
        struct sim *s = &h->s;
        int user = s->in.partition;

        h->slow = false;
        for (int i = 0; i < 20 * SIM_MAX; i++) {
                react(h);
                if (!one_gets_ready(h))
                        break;
        }
        check(h, sim_ready(s) == sim_existing(s), "not all are ready at the end");
        for (int i = user; i < s->in.replicas; i++)
                check(h, model_done(s, i), "a group is left behind");
        if (user == 0)
                check(h, s->last.partition == 0 && sim_existing(s) == s->in.replicas, "the roll has no end");
}

static void calm_history(struct history *h) {
        h->calm = true;
        h->slow = roll(h, 2);
        h->s.wanted = 'B';
        h->event = "template";
        for (int i = 0; i < EVENTS; i++) {
                react(h);
                if (roll(h, 2))
                        one_gets_ready(h);
        }
        finish(h);
}

static void trouble(struct history *h) {
        struct sim *s = &h->s;
        int i = roll(h, s->last.groups > 0 ? s->last.groups : 1);

        h->at = i;
        switch (roll(h, 8)) {
        case 0:
        case 1:
                h->event = "unready";
                s->groups[i].ready = false;
                return;
        case 2:
                h->event = "lose";
                s->groups[i].exists = s->groups[i].ready = false;
                return;
        case 3:
                if (roll(h, 3))
                        return;
                h->event = "template";
                s->wanted = (char)('A' + roll(h, 4));
                return;
        default:
                one_gets_ready(h);
        }
}

static void troubled_history(struct history *h) {
        h->slow = roll(h, 2);
        h->s.wanted = 'B';
        h->event = "template";
        for (int i = 0; i < EVENTS; i++) {
                react(h);
                trouble(h);
        }
        finish(h);
}

/* Everything that users and autoscalers may do as well, and lost memory. What is bounded then is in check_bounds(). */
static void meddle(struct history *h) {
        struct sim *s = &h->s;

        h->may_rise = true;
        switch (roll(h, 6)) {
        case 0:
                h->event = "budget";
                s->in.max_unavailable = any_budget(h);
                s->in.max_surge = any_budget(h);
                return;
        case 1:
                h->event = "partition";
                s->in.partition = roll(h, REPLICAS + 2);
                return;
        case 2:
                h->event = "forget";
                s->in.now_partition = s->in.now_groups = s->in.recorded_replicas = -1;
                s->in.rolling = false;
                return;
        default:
                h->event = "scale";
                s->in.replicas = roll(h, REPLICAS + 1);
        }
}

static void wild_history(struct history *h) {
        h->s.wanted = 'B';
        for (int i = 0; i < EVENTS; i++) {
                react(h);
                if (roll(h, 4))
                        trouble(h);
                else
                        meddle(h);
        }
        h->s.in.partition = roll(h, 2) ? 0 : h->s.in.partition;
        h->may_rise = true;
        finish(h);
}

static void play(void (*history)(struct history *)) {
        const char *asked = getenv("TRUCE_HISTORIES");
        uint64_t count = asked ? strtoull(asked, NULL, 10) : HISTORIES;

        for (uint64_t seed = only_seed ? only_seed : 1; seed <= (only_seed ? only_seed : count); seed++) {
                struct history h;

                start(&h, seed);
                history(&h);
        }
}

static void a_roll_without_trouble_keeps_both_budgets_at_every_event(void **state) {
        (void)state;
        play(calm_history);
}

static void a_roll_leaves_enough_groups_whatever_breaks(void **state) {
        (void)state;
        play(troubled_history);
}

static void whatever_users_do_it_stays_in_bounds_and_ends(void **state) {
        (void)state;
        play(wild_history);
}

/* --- nonsense --------------------------------------------------------------------------------------------------- */

static int32_t any_number(struct history *h) {
        static const int32_t odd[] = { INT32_MIN, -1, 0, 1, 2, 5, 100, 1000000, INT32_MAX - 1, INT32_MAX };

        return roll(h, 3) ? roll(h, 12) - 1 : odd[roll(h, 10)];
}

static void check_nonsense(const struct history *h, const struct group_rollout_in *in, struct group_rollout d) {
        int64_t replicas = in->replicas > 0 ? in->replicas : 0;
        int32_t taken = 0;

        for (size_t i = 0; i < in->count; i++)
                taken += (int32_t)i >= d.partition && (int32_t)i < d.groups && in->groups[i].exists &&
                         in->groups[i].ready && !in->groups[i].updated;
        check(h, d.partition >= 0 && d.partition >= in->partition, "partition");
        check(h, d.max_surge >= 0 && d.max_unavailable >= 0 && taken <= (int64_t)d.max_surge + d.max_unavailable,
              "budgets");
        check(h, replicas > INT32_MAX / 2 || (d.groups >= replicas && d.groups <= replicas + d.max_surge), "groups");
}

static void nonsense_is_answered(void **state) {
        struct group_rollout_group groups[12];

        (void)state;
        for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
                struct history h = { .seed = seed,
                                     .state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1,
                                     .event = "nonsense" };
                struct group_rollout_in in = { .replicas = roll(&h, 50) ? roll(&h, 15) - 2 : any_number(&h),
                                               .partition = any_number(&h),
                                               .max_unavailable = { roll(&h, 2), any_number(&h) },
                                               .max_surge = { roll(&h, 2), any_number(&h) },
                                               .rolling = roll(&h, 2),
                                               .fresh = roll(&h, 4) == 0,
                                               .now_partition = any_number(&h),
                                               .now_groups = any_number(&h),
                                               .recorded_replicas = any_number(&h),
                                               .groups = groups,
                                               .count = (size_t)roll(&h, 13) };

                for (size_t i = 0; i < in.count; i++)
                        groups[i] = (struct group_rollout_group){ roll(&h, 4), roll(&h, 2), roll(&h, 2) };
                check_nonsense(&h, &in, group_rollout_step(&in));
        }
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_roll_without_trouble_keeps_both_budgets_at_every_event),
                cmocka_unit_test(a_roll_leaves_enough_groups_whatever_breaks),
                cmocka_unit_test(whatever_users_do_it_stays_in_bounds_and_ends),
                cmocka_unit_test(nonsense_is_answered),
        };

        only_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
        return cmocka_run_group_tests_name("random rolls", tests, NULL, NULL);
}
