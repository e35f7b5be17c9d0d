/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold at every event, whatever the scenario: docs/SIMULATION.md lists the invariants. A breach ends the run with
 * world_fail().
 */
#ifndef TRUCE_SIM_CHECK_H
#define TRUCE_SIM_CHECK_H

#include "world.h"

struct check *check_new(struct world *w);
void check_free(struct check *c);

/* The agent sends a request. */
void check_request(struct check *c, const struct sandbox_request *req, bool is_watch);
/* It is a write; `number` is its exchange's. */
void check_write(struct check *c, const struct sandbox_request *req, uint64_t number);
void check_answer(struct check *c, uint64_t number, int status);
/* An agent begins, which does not know what another one sent. */
void check_born(struct check *c);
/* The sandbox committed a write of anyone. */
void check_commit(struct check *c, const struct sandbox_commit *commit);
/* A text that the agent shows somebody: no Secret's value may be in it. `where` names it. */
void check_words_shown(struct check *c, const char *where, struct str text);
/* From now on nothing is left to do: no write, and no request but watches. */
void check_quiet(struct check *c);
/* Has every LeaderWorkerSet of ours become what is asked for (group_check.h)? */
bool check_groups_settled(const struct check *c, const char **ret_why);
/* Commits that were judged as the group reconciler's. */
uint64_t check_group_count(const struct check *c);
/* Is it a write of the agent's? */
bool check_is_ours(const struct sandbox_commit *commit);

#endif
