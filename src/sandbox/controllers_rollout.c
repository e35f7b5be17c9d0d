/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large each ReplicaSet of a Deployment may be. Two bounds hold at every write: all sizes together are at most
 * replicas + maxSurge, and a set only shrinks as far as replicas - maxUnavailable Pods stay available.
 */
#include "sandbox/controllers_rollout.h"

#include <inttypes.h>

int64_t sets_size(const struct rollout *r) {
        int64_t n = 0;

        for (size_t i = 0; i < r->count; i++)
                n += r->sets[i].size;
        return n;
}

static int64_t min(int64_t a, int64_t b) {
        return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
        return a > b ? a : b;
}

/* A set that has to shrink still counts Pods that are about to go. */
static int64_t sets_available(const struct rollout *r) {
        int64_t n = 0;

        for (size_t i = 0; i < r->count; i++)
                n += min(r->sets[i].available, r->sets[i].size);
        return n;
}

/* ---- one set ---- */

static const struct value *number_text(struct arena *a, int64_t n) {
        return make_textf(a, "%" PRId64, n);
}

bool rollout_resize(struct rollout *r, struct set *s, int64_t size, bool always) {
        struct arena *a = r->l->a;
        const struct value *set = s->v->value;
        int64_t was = s->size;
        struct version *v;

        size = min(size, INT32_MAX); /* replicas and surge together may be more than the field holds */
        if (s->size == size && !always)
                return true;
        set = with2(a, set, "spec", "replicas", make_int(a, size));
        set = with_meta_pair(a, set, "annotations", STR(DESIRED_ANNOTATION), number_text(a, r->replicas));
        set = with_meta_pair(a, set, "annotations", STR(MAX_ANNOTATION), number_text(a, r->replicas + r->surge));
        if (value_equal(set, s->v->value))
                return true;
        if (!look_update(r->l, RES_REPLICASET, s->v, set, "", &v) || !v)
                return false;
        *s = set_read(v);
        if (size != was)
                look_event(r->l, r->v->value, NORMAL, "ScalingReplicaSet",
                           "Scaled %s replica set %.*s from %" PRId64 " to %" PRId64, size > was ? "up" : "down",
                           STR_FMT(v->name), was, size);
        return true;
}

int64_t rollout_new_size(const struct rollout *r) {
        int64_t size = r->current ? r->current->size : 0;

        if (!r->is_rolling)
                return r->replicas;
        int64_t room = r->replicas + r->surge - sets_size(r);
        return size + max(0, min(room, r->replicas - size));
}

/* ---- rolling ---- */

static bool grow_current(struct rollout *r, bool *ret_moved) {
        int64_t size = r->current->size > r->replicas ? r->replicas : rollout_new_size(r);

        *ret_moved = size != r->current->size;
        return rollout_resize(r, r->current, size, false);
}

/* Takes up to `n` from old sets, of each at most what `of` allows. */
static int64_t shrink_old(struct rollout *r, int64_t n, bool only_unavailable, bool *ok) {
        int64_t taken = 0;

        for (size_t i = 0; i < r->count && taken < n; i++) {
                struct set *s = &r->sets[i];

                if (s == r->current || s->size == 0)
                        continue;
                int64_t step = min(n - taken, only_unavailable ? max(0, s->size - s->available) : s->size);
                if (step == 0)
                        continue;
                *ok &= rollout_resize(r, s, s->size - step, false);
                taken += step;
        }
        return taken;
}

bool rollout_roll(struct rollout *r, bool *ret_moved) {
        int64_t least = r->replicas - r->unavailable;
        bool ok = grow_current(r, ret_moved);

        if (*ret_moved || !ok)
                return ok;
        int64_t missing = r->current->size - r->current->available;
        int64_t spare = sets_size(r) - least - missing;
        if (sets_size(r) == r->current->size || spare <= 0)
                return true;
        /* Pods that do not work may go first: that makes nothing worse. */
        int64_t taken = shrink_old(r, spare, true, &ok);
        taken += shrink_old(r, sets_available(r) - least, false, &ok);
        *ret_moved = taken > 0;
        return ok;
}

bool rollout_drain(struct rollout *r, bool *ret_moved) {
        bool ok = true;

        *ret_moved = shrink_old(r, INT64_MAX, false, &ok) > 0;
        return ok;
}

/* ---- scaling ---- */

bool rollout_is_scaling(const struct rollout *r) {
        for (size_t i = 0; i < r->count; i++) {
                int64_t desired;

                if (r->sets[i].size > 0 && str_to_i64(annotation(r->sets[i].v->value, DESIRED_ANNOTATION), &desired) &&
                    desired != r->replicas)
                        return true;
        }
        return false;
}

/* The only set with Pods; the newest one when none has any; NULL when there are several. */
static struct set *only_set(struct rollout *r) {
        struct set *active = NULL;
        size_t count = 0;

        for (size_t i = 0; i < r->count; i++) {
                if (r->sets[i].size == 0)
                        continue;
                active = &r->sets[i];
                count++;
        }
        if (count == 0)
                return r->current ? r->current : r->count ? &r->sets[r->count - 1] : NULL;
        return count == 1 ? active : NULL;
}

/* The current set has all it should have, and all of it works. */
static bool is_saturated(const struct rollout *r) {
        int64_t desired = -1;

        if (!r->current)
                return false;
        str_to_i64(annotation(r->current->v->value, DESIRED_ANNOTATION), &desired);
        return r->current->size == r->replicas && desired == r->replicas && r->current->available == r->replicas;
}

/* This set's part of the change, rounded, never more than what is left of it. */
static int64_t part_of(const struct rollout *r, const struct set *s, int64_t left) {
        int64_t was = r->replicas + r->surge;

        str_to_i64(annotation(s->v->value, MAX_ANNOTATION), &was);
        if (was <= 0)
                was = s->size;
        int64_t now = r->replicas + r->surge;
        int64_t part = r->replicas == 0
                               ? -s->size
                               : (int64_t)(((__int128)2 * s->size * now + was) / (2 * (__int128)was)) - s->size;
        return left > 0 ? min(max(part, 0), left) : max(min(part, 0), left);
}

static bool scale_in_proportion(struct rollout *r) {
        int64_t allowed = r->replicas > 0 ? r->replicas + r->surge : 0, left = allowed - sets_size(r);
        struct set *largest = NULL;
        int64_t *sizes = arena_alloc(r->l->a, r->count * sizeof *sizes);
        bool ok = true;

        /* Newer sets grow first, older ones shrink first. */
        for (size_t i = 0; i < r->count; i++) {
                size_t k = left > 0 ? r->count - 1 - i : i;
                struct set *s = &r->sets[k];
                int64_t part = s->size > 0 && left != 0 ? part_of(r, s, left) : 0;

                sizes[k] = s->size + part;
                left -= part;
                if (s->size > 0 && (!largest || s->size > largest->size))
                        largest = s;
        }
        if (largest)
                sizes[largest - r->sets] = max(0, sizes[largest - r->sets] + left);
        /* Shrinking comes before growing, so that the sum stays within its bound. */
        for (int grows = 0; grows < 2; grows++)
                for (size_t i = 0; i < r->count; i++)
                        if (r->sets[i].size > 0 && (sizes[i] > r->sets[i].size) == grows)
                                ok &= rollout_resize(r, &r->sets[i], sizes[i], true);
        return ok;
}

bool rollout_scale(struct rollout *r) {
        struct set *only = only_set(r);
        bool moved;

        if (only)
                return rollout_resize(r, only, r->replicas, true);
        if (is_saturated(r))
                return rollout_drain(r, &moved);
        return !r->is_rolling || scale_in_proportion(r);
}

/* ---- history ---- */

static int by_revision(const void *left, const void *right) {
        const struct set *a = *(struct set *const *)left, *b = *(struct set *const *)right;

        if (a->revision != b->revision)
                return a->revision < b->revision ? -1 : 1;
        return str_cmp(a->v->name, b->v->name);
}

static bool is_idle(const struct set *s) {
        int64_t generation = int_or(value_path(s->v->value, "metadata", "generation", NULL), 0);

        return s->size == 0 && s->actual == 0 &&
               generation <= int_or(value_path(s->v->value, "status", "observedGeneration", NULL), 0);
}

bool rollout_clean(struct rollout *r) {
        int64_t limit = int_or(value_path(r->v->value, "spec", "revisionHistoryLimit", NULL), 10);
        struct set **old = arena_alloc(r->l->a, r->count * sizeof *old);
        size_t count = 0;
        bool ok = true;

        for (size_t i = 0; i < r->count; i++)
                if (&r->sets[i] != r->current && !is_deleting(r->sets[i].v->value))
                        old[count++] = &r->sets[i];
        qsort(old, count, sizeof *old, by_revision);
        for (size_t i = 0; (int64_t)i < (int64_t)count - limit; i++)
                if (is_idle(old[i]))
                        ok &= look_delete(r->l, RES_REPLICASET, old[i]->v, NULL);
        return ok;
}
