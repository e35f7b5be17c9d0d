/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `truce demo` prints: steps in three columns (number, title, text) with what was measured at the right edge,
 * lines that belong to a step below it, and a line that moves while something is waited for.
 *
 * Colour only on a terminal without NO_COLOR, and it only repeats what the text says. Elsewhere than on a terminal
 * lines are plain and nothing moves. Text from a cluster or from Git is made fit for a terminal (diff/text.h).
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_CLI_DEMO_SCREEN_H
#define TRUCE_CLI_DEMO_SCREEN_H

#include "base/buf.h"

enum screen_tone { SCREEN_PLAIN, SCREEN_STRONG, SCREEN_GOOD, SCREEN_BAD, SCREEN_QUIET };

struct screen;

/* `fd` is where it writes; whether that is a terminal decides colour and movement. */
struct screen *screen_new(int fd);
void screen_free(struct screen *s);

/* One line as it is. */
void screen_line(struct screen *s, enum screen_tone tone, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The first line of a step; `measure` (may be empty) stands at the right edge. */
void screen_step(struct screen *s, unsigned number, const char *title, enum screen_tone measure_tone,
                 struct str measure, struct str text);
/* A line below a step. */
void screen_also(struct screen *s, enum screen_tone tone, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A row of a table below a step: cells in three columns. */
void screen_row(struct screen *s, enum screen_tone tone, struct str first, struct str second, struct str third);
/* What is waited for; drawn again with each call, and gone with the next line. Nothing elsewhere than on a terminal. */
void screen_waiting(struct screen *s, const char *what, int64_t since_ms);

/* Appends "0.21 s", "14 s", "38 ms", "under 1 ms". */
void screen_add_time(struct buf *out, int64_t ms);

#endif
