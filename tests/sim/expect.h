/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expectations of a scenario: what must be so now (a list, in a step `check` or at the end), what must never be.
 */
#ifndef TRUCE_SIM_EXPECT_H
#define TRUCE_SIM_EXPECT_H

#include "world.h"

/* Each one that does not hold fails the run; `when` is for the message. */
void expect_all(struct world *w, const struct value *list, const char *when);
/* The scenario's `never`, at each commit. */
void expect_never(struct world *w, const struct sandbox_commit *commit);
/* At the end: could every object that `never` is about exist? */
void expect_met(struct world *w);
/* Is the application as the word says ("any": always), and when that is Synced, with what was pushed last? */
bool expect_app_ends(const struct world *w, size_t app, const char *word);
/* Are all applications as the scenario ends, Synced unless it says otherwise? */
bool expect_settled(const struct world *w);

#endif
