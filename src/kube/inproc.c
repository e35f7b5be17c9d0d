/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/inproc.h"

#include <assert.h>

#include "base/limits.h"

static void unlink_call(struct inproc_call *c) {
        if (c->prev)
                c->prev->next = c->next;
        else
                c->owner->calls = c->next;
        if (c->next)
                c->next->prev = c->prev;
}

static void free_call(struct inproc_call *c) {
        loop_timer_free(c->step);
        loop_timer_free(c->deadline);
        loop_timer_free(c->silence);
        c->owner->ops->free(c);
}

/* Of a call that is no longer in the list. */
static void drop(struct inproc_call *c) {
        c->cancelled = true;
        if (!c->in_data)
                free_call(c);
}

static void on_step(void *ctx) {
        struct inproc_call *c = ctx;

        c->owner->ops->step(c);
}

static void on_deadline(void *ctx) {
        inproc_fail(ctx, ERR_TIMEOUT, "no answer before the deadline");
}

static void on_silence(void *ctx) {
        inproc_fail(ctx, ERR_TIMEOUT, "the stream fell silent");
}

static struct loop_timer *start_timer(struct inproc_call *c, void (*fire)(void *ctx), int64_t delay_ms) {
        struct loop_timer *t = loop_timer_new(c->owner->loop, fire, c);

        loop_timer_start(t, delay_ms);
        return t;
}

void inproc_begin(struct inproc *p, struct inproc_call *c, const struct kube_request *req,
                  const struct kube_handler *handler, void *ctx, int64_t delay_ms) {
        int64_t deadline_ms = req->deadline_ms ? req->deadline_ms : KUBE_DEFAULT_DEADLINE_MS;

        c->owner = p;
        c->handler = *handler;
        c->ctx = ctx;
        c->silence_ms = req->silence_ms;
        c->max_body_bytes = req->max_body_bytes ? req->max_body_bytes : KUBE_MAX_REPLY_BYTES;
        c->step = start_timer(c, on_step, delay_ms);
        if (deadline_ms > 0)
                c->deadline = start_timer(c, on_deadline, deadline_ms);
        if (c->silence_ms > 0)
                c->silence = start_timer(c, on_silence, c->silence_ms);

        c->next = p->calls;
        if (c->next)
                c->next->prev = c;
        p->calls = c;
}

bool inproc_is_streamed(const struct inproc_call *c, int status) {
        return status >= 200 && status < 300 && c->handler.data;
}

bool inproc_give(struct inproc_call *c, struct str bytes) {
        struct err err = { 0 };

        if (c->silence)
                loop_timer_start(c->silence, c->silence_ms);
        c->in_data = true;
        int r = c->handler.data(c->ctx, bytes, &err);
        c->in_data = false;

        if (c->cancelled) {
                free_call(c);
                return false;
        }
        if (r < 0) {
                c->owner->ops->finish(c, &err);
                return false;
        }
        return true;
}

void inproc_end(struct inproc_call *c, const struct kube_reply *reply, const struct err *err) {
        unlink_call(c);
        c->handler.done(c->ctx, reply, err);
        free_call(c);
}

void inproc_fail(struct inproc_call *c, enum err_code code, const char *why) {
        struct err err = { 0 };

        err_set(&err, code, "%s", why);
        c->owner->ops->finish(c, &err);
}

void inproc_cancel(struct inproc_call *c) {
        assert(!c->cancelled);

        unlink_call(c);
        drop(c);
}

void inproc_drop_all(struct inproc *p) {
        for (struct inproc_call *c = p->calls, *next; c; c = next) {
                next = c->next;
                drop(c);
        }
        p->calls = NULL;
}
