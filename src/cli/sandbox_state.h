/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of `truce sandbox --state`: what is in it is loaded, then each change gets into it. A moment after a change
 * all objects are written on a pool thread, from a snapshot, so the loop goes on meanwhile; the more there is to write,
 * the longer the pauses in between. Where that fails it is told once and tried again until it works.
 *
 * Thread rule: loop thread only; open and end are not to be called inside a callback.
 */
#ifndef TRUCE_CLI_SANDBOX_STATE_H
#define TRUCE_CLI_SANDBOX_STATE_H

#include "sandbox/sandbox.h"

struct sandbox_state;

/*
 * Loads the file when there is one, and writes it, so that what cannot be kept is known at once. Takes its lock: CONFLICT
 * when another process has it. A link is followed. The sandbox must outlive the state, and change no more
 * when that is freed.
 */
int sandbox_state_open(struct loop *l, struct sandbox *s, const char *path, struct sandbox_state **ret,
                       struct err *err);
/* Writes what has changed since, after what is under way. NULL has nothing to write. */
int sandbox_state_end(struct sandbox_state *st, struct err *err);
/* Waits for what is under way. NULL is accepted. */
void sandbox_state_free(struct sandbox_state *st);

#endif
