/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct gates: a reconciler's own writes that its informers (agent/informer.h) have not shown yet, of one key.
 * Deciding on a picture from before a write would do it twice, so gates_wait_ms() is asked first: as long as it is not
 * 0, what is known is from before. What is not seen after GATES_UNSEEN_MS is read anew.
 *
 * Thread rule: loop thread only. Life cycle: { 0 } is empty; the informers outlive it.
 */
#ifndef TRUCE_AGENT_GATES_H
#define TRUCE_AGENT_GATES_H

#include "agent/informer.h"

#define GATES_UNSEEN_MS 5000

struct gate;

struct gates {
        struct gate *items;
        size_t count, cap;
};

/* Forgets all. */
void gates_clear(struct gates *g);

/* A create or change that was answered: `rv` as the answer says. */
void gates_written(struct gates *g, struct informer *i, struct str ns, struct str name, struct str rv, int64_t now_ms);
/* A deletion of the object with this uid that was answered. */
void gates_deleted(struct gates *g, struct informer *i, struct str ns, struct str name, struct str uid, int64_t now_ms);
/* A deletion without grace that was answered: that it is being deleted, as it may have been before, is not enough. */
void gates_ended(struct gates *g, struct informer *i, struct str ns, struct str name, struct str uid, int64_t now_ms);
/* A write without an answer: what became of it shows a consistent read, which begins. */
void gates_unknown(struct gates *g, struct informer *i, struct str ns, struct str name, int64_t now_ms);

/* Forgets what is seen. 0: all is; else when to ask again at the latest. */
int64_t gates_wait_ms(struct gates *g, int64_t now_ms);

#endif
