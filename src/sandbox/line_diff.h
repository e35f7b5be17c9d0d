/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unified diff of two texts, three lines of context, no header, as Go's difflib makes it: the longest run of equal
 * lines first (the earliest of several), then the same to its left and right. In a text of 200 lines or more, lines
 * that are more than a hundredth of it do not begin a run.
 *
 * Source: Ratcliff and Obershelp's pattern matching; github.com/pmezard/go-difflib for the choices in it.
 *
 * Limits: quadratic in the number of lines. Thread rule: a plain function.
 */
#ifndef TRUCE_SANDBOX_LINE_DIFF_H
#define TRUCE_SANDBOX_LINE_DIFF_H

#include "base/arena.h"

/* Empty when the texts are equal. In the arena. */
struct str line_diff(struct str before, struct str after, struct arena *a);

#endif
