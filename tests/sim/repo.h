/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The repository of a scenario: one in-memory remote that outlives agents. An agent gets a source that stands on it and
 * only lets go of it when freed. Commits keep what was fetched, as a store on a volume does.
 *
 * Thread rule: loop thread only (pool work runs there in virtual time).
 */
#ifndef TRUCE_SIM_REPO_H
#define TRUCE_SIM_REPO_H

#include "base/loop.h"
#include "base/value.h"
#include "git/memory.h"

struct repo;

struct repo *repo_new(struct loop *l);
void repo_free(struct repo *r);
struct git_memory *repo_memory(struct repo *r);
/* For agent_options.open_source; git_source_free() frees only this. */
struct git_source *repo_source(struct repo *r);
/* Sources that are not freed yet. */
unsigned repo_users(const struct repo *r);

/* `files`: path → text, or a list of objects that is printed as YAML. */
struct git_id repo_commit(struct repo *r, const char *subject, const struct value *files);

#endif
