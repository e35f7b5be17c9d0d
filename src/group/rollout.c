/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the letters are the header's: R replicas, S surge, U unavailable, p partition, n groups. Where the
 * LeaderWorkerSet controller writes a step U + S − (R + S − n) down from n − t, this is R − U − t: n cancels out.
 */
#include "group/rollout.h"

/* What a pass is about, with everything that was unknown or impossible replaced. */
struct roll {
        const struct group_rollout_group *groups;
        int32_t count; /* of groups that are told of */
        int32_t replicas, surge, unavailable;
        bool clamped;
        int32_t p, n; /* as they are now */
};

static int32_t at_least_0(int32_t number) {
        return number > 0 ? number : 0;
}

static int32_t smaller(int32_t a, int32_t b) {
        return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b) {
        return a > b ? a : b;
}

static struct group_rollout_group group_at(const struct roll *r, int32_t i) {
        return i >= 0 && i < r->count ? r->groups[i] : (struct group_rollout_group){ 0 };
}

static bool is_ready(struct group_rollout_group g) {
        return g.exists && g.ready;
}

static bool is_done(struct group_rollout_group g) {
        return is_ready(g) && g.updated;
}

static bool is_outdated(struct group_rollout_group g) {
        return g.exists && !g.updated;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

static struct group_budget without_sign(struct group_budget b) {
        b.number = at_least_0(b.number);
        return b;
}

static void read_budgets(struct roll *r, const struct group_rollout_in *in) {
        r->surge = smaller(group_budget_up(without_sign(in->max_surge), r->replicas), r->replicas);
        r->unavailable = smaller(group_budget_down(without_sign(in->max_unavailable), r->replicas), r->replicas);
        r->clamped = r->replicas > 0 && r->surge == 0 && r->unavailable == 0;
        if (r->clamped)
                r->unavailable = 1;
}

/* A number far above all groups that there are or may be is none of ours: it only costs time. */
static int32_t read_groups(const struct roll *r, int32_t recorded) {
        int32_t n = r->count;

        if (recorded >= 0)
                return smaller(recorded, larger(r->count, r->replicas + r->surge));
        while (n > 0 && !group_at(r, n - 1).exists)
                n--;
        return n;
}

/* Nothing recorded: what was allowed to change is what did, from the top. */
static int32_t read_partition(const struct roll *r, int32_t recorded) {
        int32_t p = r->n;

        if (recorded >= 0)
                return recorded;
        while (p > 0 && !is_outdated(group_at(r, p - 1)))
                p--;
        return p;
}

static struct roll read_roll(const struct group_rollout_in *in) {
        struct roll r = { .groups = in->groups, .replicas = smaller(at_least_0(in->replicas), INT32_MAX / 2) };

        r.count = in->groups ? (int32_t)(in->count < INT32_MAX ? in->count : INT32_MAX) : 0;
        read_budgets(&r, in);
        r.n = read_groups(&r, in->now_groups);
        r.p = read_partition(&r, in->now_partition);
        return r;
}

/* Surge groups that were there at the last pass go by the rules of the roll, not all at once. */
static bool is_rolling(const struct roll *r, const struct group_rollout_in *in) {
        if (in->rolling || (in->recorded_replicas >= 0 && in->now_groups > in->recorded_replicas))
                return true;
        for (int32_t i = 0; i < r->count; i++)
                if (is_outdated(r->groups[i]))
                        return true;
        return false;
}

/* --- deciding --------------------------------------------------------------------------------------------------- */

/* How many of the replicas are not what they should become. */
static int32_t count_unfinished(const struct roll *r) {
        int32_t unfinished = r->replicas;

        for (int32_t i = 0; i < smaller(r->replicas, r->count); i++)
                unfinished -= is_done(r->groups[i]);
        return unfinished;
}

/* The surge goes as soon as what is unfinished fits into it and maxUnavailable, one group for each that is done. */
static int32_t groups_for(const struct roll *r, int32_t unfinished) {
        if (unfinished > r->surge)
                return r->replicas + r->surge;
        return r->replicas + at_least_0(unfinished - r->unavailable);
}

static int32_t next_partition(const struct roll *r) {
        int32_t done = 0, lowest, p;

        while (done < r->n && is_done(group_at(r, r->n - 1 - done)))
                done++;
        lowest = p = at_least_0(r->replicas - r->unavailable - done);
        for (int32_t i = 0; i < lowest; i++)
                p += !is_ready(group_at(r, i));
        for (int32_t i = smaller(p, r->n - 1); i >= lowest; i--) {
                struct group_rollout_group g = group_at(r, i);

                if (is_ready(g) && !g.updated)
                        break;
                p = i;
        }
        return smaller(p, r->p);
}

static void decide(const struct roll *r, const struct group_rollout_in *in, struct group_rollout *d) {
        if (in->fresh) {
                d->partition = smaller(r->replicas, r->n);
                d->groups = r->n < r->replicas ? r->replicas : groups_for(r, r->replicas);
        } else if (r->n < r->replicas || (r->p == 0 && r->n == r->replicas)) {
                d->partition = r->p;
                d->groups = r->replicas;
        } else if (in->recorded_replicas >= 0 && in->recorded_replicas != r->replicas) {
                d->partition = smaller(r->p, r->replicas + r->surge);
                d->groups = groups_for(r, count_unfinished(r));
        } else {
                d->partition = next_partition(r);
                d->groups = groups_for(r, count_unfinished(r));
        }
}

/* --- guarding --------------------------------------------------------------------------------------------------- */

static bool is_left(const struct roll *r, int32_t i, int32_t p) {
        struct group_rollout_group g = group_at(r, i);

        return is_ready(g) && (i < p || g.updated);
}

/* The ready groups that this partition and number of groups leave alone. */
static int32_t count_left(const struct roll *r, int32_t p, int32_t n) {
        int32_t left = 0;

        for (int32_t i = 0; i < smaller(n, r->count); i++)
                left += is_left(r, i, p);
        return left;
}

/*
 * What is decided counts groups by their place, not by how many are ready in the end: raises n, then p, as far as that
 * takes, but what is above R + S must go. A p that was recorded stays, also when something broke before it was carried
 * out; unless it takes so much that it is none of ours.
 */
static void guard(const struct roll *r, bool fresh, struct group_rollout *d) {
        int32_t recorded = fresh ? INT32_MAX : r->p, top = smaller(r->n, r->replicas + r->surge), taken = 0;
        int32_t need = smaller(r->replicas - r->unavailable, count_left(r, recorded, larger(top, d->groups)));
        int32_t left = count_left(r, recorded, d->groups);

        for (; d->groups < top && left < need; d->groups++)
                left += is_left(r, d->groups, recorded);
        for (int32_t i = smaller(d->groups, r->count) - 1; i >= d->partition; i--) {
                if (!is_ready(r->groups[i]) || r->groups[i].updated)
                        continue;
                taken++;
                left -= i < recorded;
                if (i < recorded ? left < need : taken > r->unavailable + r->surge) {
                        d->partition = i + 1;
                        return;
                }
        }
}

/* May no group that is ready be taken away: are there as few as maxUnavailable allows? */
static bool has_none_to_spare(const struct roll *r) {
        int32_t ready = 0;

        for (int32_t i = 0; i < smaller(r->n, r->count); i++)
                ready += is_ready(r->groups[i]);
        return ready <= r->replicas - r->unavailable;
}

/*
 * Everything that may change has, and is ready: only broken groups of the old revision are in the way. One that may
 * change, and is not replaced as something broke before it was, waits for that, too.
 */
static int32_t find_repair(const struct roll *r, const struct group_rollout *d, int32_t user_partition) {
        int32_t top = smaller(r->replicas, d->partition);

        if (r->n != d->groups || d->partition != r->p)
                return -1;
        bool no_spare = has_none_to_spare(r);
        for (int32_t i = r->p; i < r->n; i++)
                if (!is_done(group_at(r, i)) && !(no_spare && is_ready(group_at(r, i))))
                        return -1;
        for (int32_t i = top - 1; i >= user_partition; i--) {
                struct group_rollout_group g = group_at(r, i);

                if (!is_ready(g) && !(g.exists && g.updated))
                        return i;
        }
        return -1;
}

struct group_rollout group_rollout_step(const struct group_rollout_in *in) {
        struct roll r = read_roll(in);
        struct group_rollout d = { .groups = r.replicas, .repair = -1 };

        d.max_unavailable = r.unavailable;
        d.max_surge = r.surge;
        d.clamped = r.clamped;
        if (is_rolling(&r, in)) {
                decide(&r, in, &d);
                guard(&r, in->fresh, &d);
                d.repair = find_repair(&r, &d, at_least_0(in->partition));
        }
        d.partition = larger(d.partition, at_least_0(in->partition));
        return d;
}
