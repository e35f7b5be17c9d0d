/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that several verbs use for the same things.
 */
#ifndef TRUCE_CLI_WORDS_H
#define TRUCE_CLI_WORDS_H

#include "agent/app.h"

/* "created", "configured" …; NULL for what is not worth a line. */
const char *words_outcome(enum outcome_kind kind);

/* "main" of "refs/heads/main", "v1" of "refs/tags/v1"; a commit's first seven digits; else the ref. Borrowed. */
struct str words_ref(struct str ref);

#endif
