/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences that are known and stay: known.txt, one pattern of the shell's kind a line and its reason after " # ". A
 * difference is one line, "Kind verb REAL/SANDBOX PLACE | real | sandbox" (REAL and SANDBOX are HTTP status codes).
 */
#ifndef TRUCE_FIDELITY_KNOWN_H
#define TRUCE_FIDELITY_KNOWN_H

#include "base/arena.h"

/* There may be so many patterns. This number only shrinks. */
#define KNOWN_MAX 3

/*
 * So many other differences do not fail a run: seeds are fresh, and a long run of 59,000 requests still finds about one of
 * a kind that nobody met, to be mended then. By chance a short run (10,000) meets three once in a thousand times, a long
 * one five once in three hundred. This only shrinks.
 */
#define UNKNOWN_MAX(requests) (2 + (requests) / 20000)

/* A busy server does not get to every watch. Those are no differences, if they are few: so many of `requests`. */
#define UNANSWERED_MAX(requests) (1 + (requests) / 2000)

/* Exits with a message when the file cannot be read or has more than KNOWN_MAX patterns. */
void known_load(const char *path, struct arena *a);
/* Counts the match. */
bool known_has(const char *line);
/* Each pattern that matched, with its count and reason. */
void known_print(void);

#endif
