/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lua's patterns, compiled before they are matched. They mean what Lua's manual (§6.4.1) says; but what is wrong with
 * one is said before anything is matched, classes are those of ASCII whatever the locale, and each step counts against
 * the evaluation's time, as a pattern of a few characters can take years.
 */
#ifndef TRUCE_LUA_PATTERN_IMPL_H
#define TRUCE_LUA_PATTERN_IMPL_H

#include "lua/run_impl.h"

#define PATTERN_MAX_CAPTURES 32
#define PATTERN_MAX_BYTES    (16 * 1024)
#define PATTERN_MAX_DEPTH    200 /* of what can be tried another way, one inside of the other */

struct pattern; /* in a userdata */

struct pattern_capture {
        const char *from;
        ptrdiff_t bytes; /* or PATTERN_POSITION */
};
#define PATTERN_POSITION (-1)

/* One attempt: zero it, set the first four, and the rest is what was found. */
struct pattern_match {
        lua_State *L;
        const struct pattern *pattern;
        const char *begin, *end; /* the subject */
        unsigned depth;
        unsigned steps; /* not charged yet */
        struct pattern_capture captures[PATTERN_MAX_CAPTURES];
};

/*
 * Pushes the userdata of a compiled pattern; raises what is wrong with it. Where `anchors`, a ^ in front ties it to the
 * beginning; else it is a character.
 */
const struct pattern *pattern_compile(lua_State *L, struct str text, bool anchors);
bool pattern_is_anchored(const struct pattern *p);
unsigned pattern_captures(const struct pattern *p);
/* Where the match that begins at `at` ends, or NULL. */
const char *pattern_match_at(struct pattern_match *m, const char *at);
/* The first match at or behind `at`: its begin, or NULL. */
const char *pattern_search(struct pattern_match *m, const char *at, const char **ret_end);
/* Pushes capture i, or all that was matched when there are none and i is 0; raises when there is no such capture. */
void pattern_push(const struct pattern_match *m, unsigned i, const char *from, const char *to);
/* Pushes them all, or all that was matched; how many. */
int pattern_push_all(const struct pattern_match *m, const char *from, const char *to);

#endif
