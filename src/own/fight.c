/* SPDX-License-Identifier: Apache-2.0 */
#include "own/fight.h"

#include <assert.h>

#define MINUTE_MS (60 * INT64_C(1000))

static void forget(struct fight *f) {
        arena_free(f->arena);
        free(f->manager);
        *f = (struct fight){ 0 };
}

void fight_book_done(struct fight_book *b) {
        for (size_t i = 0; i < b->count; i++)
                forget(&b->fights[i]);
        free(b->fights);
        *b = (struct fight_book){ 0 };
}

struct fight *fight_find(const struct fight_book *b, struct field_path path) {
        for (size_t i = 0; i < b->count; i++)
                if (field_path_equal(b->fights[i].path, path))
                        return &b->fights[i];
        return NULL;
}

static struct fight *longest_at_rest(struct fight_book *b) {
        struct fight *found = &b->fights[0];

        for (size_t i = 1; i < b->count; i++)
                if (b->fights[i].last_ms < found->last_ms)
                        found = &b->fights[i];
        return found;
}

static struct fight *take(struct fight_book *b, struct field_path path) {
        struct fight *f = fight_find(b, path);

        if (f)
                return f;
        if (b->count == FIGHT_MAX_PATHS) {
                f = longest_at_rest(b);
                forget(f);
        } else {
                b->fights = mem_grow(b->fights, &b->cap, b->count + 1, sizeof *b->fights);
                f = &b->fights[b->count++];
                *f = (struct fight){ 0 };
        }
        f->arena = arena_new(256);
        f->path = field_path_dup(f->arena, path);
        return f;
}

static void add_turn(struct fight *f, int64_t now_ms) {
        if (f->count == FIGHT_MAX_TURNS)
                memmove(f->turns, f->turns + 1, --f->count * sizeof *f->turns);
        f->turns[f->count++] = now_ms;
        f->total++;
}

/* A path that kept our value for a window is no longer contested. */
static void settle(struct fight *f, const struct fight_rule *rule, int64_t now_ms) {
        int64_t since_ms = f->resume_at_ms > f->last_ms ? f->resume_at_ms : f->last_ms;

        if (f->total == 0 || now_ms - since_ms <= rule->window_ms)
                return;
        f->count = f->pauses = f->total = 0;
        f->tried = false;
        f->resume_at_ms = 0;
}

static bool is_contested(const struct fight *f, const struct fight_rule *rule, int64_t now_ms) {
        if (f->pauses)
                return f->tried; /* in vain */
        return f->count >= rule->turns && now_ms - f->turns[f->count - rule->turns] <= rule->window_ms;
}

static int64_t pause_of(const struct fight_rule *rule, unsigned pauses) {
        int64_t ms = rule->pause_ms;

        for (unsigned i = 0; i < pauses && ms < rule->max_pause_ms; i++)
                ms *= 2;
        return ms < rule->max_pause_ms ? ms : rule->max_pause_ms;
}

static void remember_manager(struct fight *f, struct str manager) {
        if (f->manager && str_eqc(manager, f->manager))
                return;
        free(f->manager);
        f->manager = str_dup(manager);
}

bool fight_note(struct fight_book *b, const struct fight_rule *rule, struct field_path path, struct str manager,
                int64_t now_ms) {
        struct fight *f = take(b, path);

        assert(rule->turns >= 2 && rule->turns <= FIGHT_MAX_TURNS && now_ms >= f->last_ms);
        settle(f, rule, now_ms);
        if (f->total == 0)
                f->first_ms = now_ms;
        remember_manager(f, manager);
        add_turn(f, now_ms);
        add_turn(f, now_ms);
        f->last_ms = now_ms;
        if (!is_contested(f, rule, now_ms)) {
                f->tried = f->pauses > 0;
                return false;
        }
        f->tried = false;
        f->resume_at_ms = now_ms + pause_of(rule, f->pauses);
        f->pauses++;
        f->count = 0;
        return true;
}

bool fight_is_paused(const struct fight *f, int64_t now_ms) {
        return now_ms < f->resume_at_ms;
}

int64_t fight_next_ms(const struct fight_book *b, int64_t now_ms) {
        int64_t next_ms = 0;

        for (size_t i = 0; i < b->count; i++) {
                int64_t at_ms = b->fights[i].resume_at_ms;

                if (at_ms > now_ms && (!next_ms || at_ms < next_ms))
                        next_ms = at_ms;
        }
        return next_ms;
}

unsigned fight_rate(const struct fight *f) {
        int64_t ms = f->last_ms - f->first_ms;
        int64_t rate = ms < MINUTE_MS ? f->total : f->total * MINUTE_MS / ms;

        return rate > 0 ? (unsigned)rate : 1;
}

/* --- what a write took back ------------------------------------------------------------------------------------- */

struct walk {
        const struct value *before, *after;
        const struct schema *type;
        struct arena *arena;
        struct field_path *paths;
        size_t count, cap;
};

static void found(struct walk *w, struct field_path p) {
        if (w->count == w->cap) {
                struct field_path *grown = arena_alloc(w->arena, (w->cap = w->cap ? 2 * w->cap : 8) * sizeof *grown);

                if (w->count)
                        memcpy(grown, w->paths, w->count * sizeof *grown);
                w->paths = grown;
        }
        w->paths[w->count++] = p;
}

static void walk(struct walk *w, const struct fieldset *set, struct field_path at) {
        const struct value *old = field_path_find(w->before, at, w->type);
        const struct value *now = field_path_find(w->after, at, w->type);

        if (!now)
                return;
        if (!old || (set->count == 0 && !value_equal(old, now))) {
                found(w, at);
                return;
        }
        for (size_t i = 0; i < set->count; i++)
                walk(w, &set->children[i].set, field_path_join(w->arena, at, set->children[i].element));
}

size_t fight_paths(const struct value *before, const struct value *after, const struct fieldset *ours,
                   const struct schema *type, struct arena *a, const struct field_path **ret_paths) {
        struct walk w = { .before = before, .after = after, .type = type, .arena = a };

        walk(&w, ours, (struct field_path){ 0 });
        *ret_paths = w.paths;
        return w.count;
}

static bool is_other_writer(const struct managed_entry *e) {
        return !managed_is_ours(e) && !managed_is_keeper(e) && !str_eqc(e->subresource, "status");
}

struct str fight_opponent(const struct managed *before, const struct schema *type, struct field_path path) {
        const struct managed_entry *owners[MANAGED_MAX_ENTRIES], *only = NULL;
        size_t count = managed_touching(before, type, path, owners, MANAGED_MAX_ENTRIES), others = 0;

        for (size_t i = 0; i < count; i++)
                if (is_other_writer(owners[i]))
                        return owners[i]->manager;
        for (size_t i = 0; i < before->count; i++) {
                if (!is_other_writer(&before->entries[i]))
                        continue;
                only = &before->entries[i];
                others++;
        }
        return others == 1 ? only->manager : (struct str){ 0 };
}
