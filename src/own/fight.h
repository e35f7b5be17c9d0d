/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fight breaker (design §6.7): somebody else writes a path that we enforce, again and again.
 *
 * The agent notes each time that it wrote its value back over another's. A path that changed hands `turns` times (theirs
 * and ours both count) within `window_ms` is a fight: from then on the path is left to the other one for `pause_ms`,
 * told with both names, and then enforced once more. Contested again within a window it is left alone for twice as long,
 * up to `max_pause_ms`; kept for a whole window the fight is over, and the next one begins with the shortest pause.
 *
 * This module counts and decides. It knows no clock and no cluster: times are the caller's, in ms, and never run
 * backwards. Who may win is own/policy.h.
 *
 * Limits: FIGHT_MAX_PATHS of an object; a further one takes the place of the one that rested longest.
 *
 * Thread rule: plain data of whoever holds it.
 */
#ifndef TRUCE_OWN_FIGHT_H
#define TRUCE_OWN_FIGHT_H

#include "own/managed.h"

#define FIGHT_MAX_PATHS 32
#define FIGHT_MAX_TURNS 32

struct fight_rule {
        unsigned turns; /* 2 … FIGHT_MAX_TURNS */
        int64_t window_ms;
        int64_t pause_ms;
        int64_t max_pause_ms;
};

/* One path's history. */
struct fight {
        struct field_path path; /* of `arena` */
        char *manager;          /* who had it last; empty: nobody is recorded */
        struct arena *arena;
        int64_t turns[FIGHT_MAX_TURNS]; /* newest last */
        unsigned count;
        unsigned pauses;      /* in a row */
        bool tried;           /* enforced once more since the last pause */
        unsigned total;       /* turns since it is known */
        int64_t first_ms;     /* of `total` */
        int64_t last_ms;      /* the newest turn */
        int64_t resume_at_ms; /* 0: never paused */
        int64_t resume_wall_ms; /* the same for people, Unix time; the caller's to set */
};

/* All of one object; zero-initialised there are none. */
struct fight_book {
        struct fight *fights;
        size_t count, cap;
};

void fight_book_done(struct fight_book *b);

/*
 * Notes that `path` held another's value and we wrote ours at `now_ms`: two turns. True when a pause begins with it.
 * Path and manager are copied.
 */
bool fight_note(struct fight_book *b, const struct fight_rule *rule, struct field_path path, struct str manager,
                int64_t now_ms);
/* The fight about exactly this path, or NULL. Borrowed until the next fight_note(). */
struct fight *fight_find(const struct fight_book *b, struct field_path path);
bool fight_is_paused(const struct fight *f, int64_t now_ms);
/* When the next pause ends; 0: none is running. */
int64_t fight_next_ms(const struct fight_book *b, int64_t now_ms);
/* Turns a minute since the path is contested, at least 1 for one that is. */
unsigned fight_rate(const struct fight *f);

/*
 * The paths that a write of ours took back: what we own in `after` and `before` had otherwise or not at all, each the
 * topmost of its branch. `ours` is our set in `after`.
 */
size_t fight_paths(const struct value *before, const struct value *after, const struct fieldset *ours,
                   const struct schema *type, struct arena *a, const struct field_path **ret_paths);
/* Who had the path before: its owner, else the only other writer of the object that is no status writer, else nobody. */
struct str fight_opponent(const struct managed *before, const struct schema *type, struct field_path path);

#endif
