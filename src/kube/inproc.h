/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What transports share whose answers are made in this process (kube/script_transport.h, the sandbox): the list of open
 * calls, a timer that steps each call towards its end, deadline, silence, size cap, and freeing a call that its own
 * data() cancels.
 *
 * A transport embeds struct inproc and, first in its struct kube_call, struct inproc_call. It adds calls with
 * inproc_begin(), moves them on in ops.step(), hands out bytes with inproc_give(), and ends them in ops.finish(), which
 * makes the reply and calls inproc_end().
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_KUBE_INPROC_H
#define TRUCE_KUBE_INPROC_H

#include "base/loop.h"
#include "kube/transport.h"

struct inproc_call;

struct inproc_ops {
        /* The step timer fired. */
        void (*step)(struct inproc_call *c);
        /* Makes the reply and calls inproc_end(); `err` is NULL when the answer came in whole. */
        void (*finish)(struct inproc_call *c, const struct err *err);
        /* Frees the call and what it owns; its timers are gone. */
        void (*free)(struct inproc_call *c);
};

struct inproc {
        const struct inproc_ops *ops;
        struct loop *loop;
        struct inproc_call *calls; /* open ones, newest first */
};

struct inproc_call {
        struct inproc *owner;
        struct inproc_call *prev, *next;
        struct kube_handler handler;
        void *ctx;
        int64_t silence_ms;
        size_t max_body_bytes; /* of a collected body */
        struct loop_timer *step, *deadline, *silence;
        bool in_data; /* data() is running: freeing waits for its return */
        bool cancelled;
};

/* Opens the zeroed call; its first step comes after `delay_ms`. */
void inproc_begin(struct inproc *p, struct inproc_call *c, const struct kube_request *req,
                  const struct kube_handler *handler, void *ctx, int64_t delay_ms);
/* Does data() take the body of an answer with this HTTP status? Otherwise it is collected. */
bool inproc_is_streamed(const struct inproc_call *c, int status);
/* Hands bytes to data(); false when the call is over, and freed. */
bool inproc_give(struct inproc_call *c, struct str bytes);
/* done() and freed. */
void inproc_end(struct inproc_call *c, const struct kube_reply *reply, const struct err *err);
/* Ends the call through ops.finish() with an error. */
void inproc_fail(struct inproc_call *c, enum err_code code, const char *why);
/* kube_cancel(). */
void inproc_cancel(struct inproc_call *c);
/* Frees all calls without a callback. */
void inproc_drop_all(struct inproc *p);

#endif
