/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network between the agent and the sandbox, where faults happen. A kube_transport of its own around the sandbox's:
 * every request, answer and watch event passes here, is traced, counted and shown to the checks.
 *
 * Faults of one exchange come from `rates` (drawn from the seed) or from a rule of the scenario. What can happen:
 *
 *   lose      the connection breaks before the server reads the request
 *   loseReply the server has done it, the answer is lost
 *   late      the client sees the connection break, the server does it `late_ms` later nonetheless
 *   error     429, 500 or 503 instead of an answer
 *   delay     up to delay_ms on the way there, as much on the way back
 *   conflict  somebody touches the object just before a write arrives, so that its resourceVersion is stale
 *   drop      a watch loses an event and what follows, and breaks; the next watch from there shows them
 *   hold      a watch event and those behind it come up to hold_ms late
 *   merge     of two changes of one object that wait, the first is never seen
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SIM_WIRE_H
#define TRUCE_SIM_WIRE_H

#include "sandbox/sandbox.h"

struct wire;

/* Per mille, and bounds in ms. */
struct wire_rates {
        int64_t lose, lose_reply, late, error, conflict, drop, hold, merge;
        int64_t delay_ms, late_ms, hold_ms;
};

struct wire_hooks {
        /* Before a request leaves the agent; `number` counts from 1. May change the fault. */
        void (*request)(void *ctx, const struct sandbox_request *req, bool is_watch, uint64_t number,
                        struct sandbox_fault *fault, bool *late);
        /* The server is about to see a write that `conflict` hit. */
        void (*touch)(void *ctx, const struct sandbox_request *req);
        /* The agent is about to get an answer; status 0: none. */
        void (*answer)(void *ctx, uint64_t number, int status, const struct err *err);
        void (*event)(void *ctx, uint64_t number, struct str line);
        /* A fault other than a delay happened; `what` names it. */
        void (*hurt)(void *ctx, uint64_t number, const char *what);
};

struct wire *wire_new(struct sandbox *s, struct str user, const struct wire_hooks *hooks, void *ctx);
/* The agent must be gone. */
void wire_free(struct wire *w);
struct kube_transport *wire_transport(struct wire *w);

void wire_set_rates(struct wire *w, const struct wire_rates *rates);
/* The server is away: nothing gets there, watches end. */
void wire_cut(struct wire *w, bool away);
bool wire_is_cut(const struct wire *w);
/* Only watches cannot be opened, and those that are open end. */
void wire_blind(struct wire *w, bool blind);
/* Writes that are under way when the agent dies: they arrive nonetheless (true), or never (false). */
void wire_keep_writes(struct wire *w, bool keep);

/* Calls that the agent still waits for, and writes that nobody waits for any more. */
unsigned wire_calls(const struct wire *w);
unsigned wire_orphans(const struct wire *w);
uint64_t wire_requests(const struct wire *w);

#endif
