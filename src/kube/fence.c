/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call is wrapped, so that a write can be let go of by its owner and still be waited for. Calls stand in a list;
 * what is refused or cut is told by one timer in a later turn, as transports do.
 */
#include "kube/fence.h"

#include "base/buf.h"
#include "base/limits.h"

struct kube_fence {
        struct kube_transport face; /* first: struct kube_transport * is struct kube_fence * */
        struct kube_transport *behind;
        struct loop *loop;
        struct kube_call *calls; /* newest first */
        size_t writes;           /* of them, those that are under way */
        uint64_t refused;
        int64_t until_ms;
        bool closed; /* for good */
        void (*drained)(void *ctx);
        void *ctx;
        struct loop_timer *tell;
};

struct kube_call {
        struct kube_fence *fence;
        struct kube_call *prev, *next;
        struct kube_call *inner; /* of the transport behind; NULL: refused, or cut */
        struct kube_handler handler;
        void *ctx;
        bool is_write;
        bool unheard; /* its owner has cancelled it */
};

static void call_free(struct kube_call *c) {
        struct kube_fence *f = c->fence;

        if (c->prev)
                c->prev->next = c->next;
        else
                f->calls = c->next;
        if (c->next)
                c->next->prev = c->prev;
        free(c);
}

/* The last write is over: told in a later turn, as whoever waits may free everything. */
static void write_ended(struct kube_fence *f) {
        f->writes--;
        if (f->writes == 0 && f->drained)
                loop_timer_start(f->tell, 0);
}

static int on_data(void *ctx, struct str chunk, struct err *err) {
        struct kube_call *c = ctx;

        return c->unheard ? 0 : c->handler.data(c->ctx, chunk, err);
}

static void on_done(void *ctx, const struct kube_reply *reply, const struct err *err) {
        struct kube_call *c = ctx;
        struct kube_handler handler = c->handler;
        void *owner = c->ctx;
        bool unheard = c->unheard;

        if (c->is_write)
                write_ended(c->fence);
        call_free(c);
        if (!unheard)
                handler.done(owner, reply, err);
}

static const struct kube_handler collecting = { .done = on_done };
static const struct kube_handler streaming = { .data = on_data, .done = on_done };

/* --- writes ----------------------------------------------------------------------------------------------------- */

static bool is_write(const struct kube_request *req) {
        return req->method != KUBE_GET && !req->watch && !str_contains(req->path, STR("dryRun=All"));
}

/* The server's own limit; a path that is too long for it goes without. */
static void add_timeout(const struct kube_request *req, int64_t left_ms, struct buf *path) {
        buf_addf(path, "%.*s%ctimeout=%lldms", STR_FMT(req->path), str_find(req->path, '?', 0) < 0 ? '?' : '&',
                 (long long)left_ms);
        if (!path->overflow)
                return;
        buf_clear(path);
        buf_add(path, req->path);
}

static void start_write(struct kube_fence *f, struct kube_call *c, const struct kube_request *req,
                        const struct kube_handler *handler) {
        _cleanup_(buf_done) struct buf path = buf_make(KUBE_MAX_PATH_BYTES);
        int64_t left_ms = f->until_ms - loop_now_ms(f->loop), wanted_ms = req->deadline_ms;
        struct kube_request bounded = *req;

        if (f->closed || left_ms < KUBE_FENCE_MIN_MS) {
                f->refused++;
                loop_timer_start(f->tell, 0);
                return;
        }
        wanted_ms = wanted_ms == 0 ? KUBE_DEFAULT_DEADLINE_MS : wanted_ms;
        bounded.deadline_ms = wanted_ms > 0 && wanted_ms < left_ms ? wanted_ms : left_ms;
        add_timeout(req, bounded.deadline_ms, &path);
        bounded.path = buf_str(&path);
        c->is_write = true;
        f->writes++;
        c->inner = kube_start(f->behind, &bounded, handler, c);
}

static struct kube_call *fence_start(struct kube_transport *face, const struct kube_request *req,
                                     const struct kube_handler *handler, void *ctx) {
        struct kube_fence *f = (struct kube_fence *)face;
        const struct kube_handler *through = handler->data ? &streaming : &collecting;
        struct kube_call *c = mem_zalloc(sizeof *c);

        *c = (struct kube_call){ .fence = f, .next = f->calls, .handler = *handler, .ctx = ctx };
        if (c->next)
                c->next->prev = c;
        f->calls = c;
        if (is_write(req))
                start_write(f, c, req, through);
        else
                c->inner = kube_start(f->behind, req, through, c);
        return c;
}

static void fence_cancel(struct kube_transport *face, struct kube_call *c) {
        struct kube_fence *f = (struct kube_fence *)face;

        bool under_way = c->inner && c->is_write;

        if (under_way && f->drained) {
                c->unheard = true;
                return;
        }
        if (c->inner)
                kube_cancel(f->behind, c->inner);
        if (under_way)
                write_ended(f);
        call_free(c);
}

/* --- what is told later ----------------------------------------------------------------------------------------- */

static void tell_refused(struct kube_call *c) {
        static const struct kube_reply no_reply = { 0 };
        struct kube_handler handler = c->handler;
        void *owner = c->ctx;
        bool unheard = c->unheard;
        struct err err = { 0 };

        err_set(&err, ERR_TIMEOUT,
                c->is_write ? "broken off: this truce does not lead any more"
                            : "not sent: only the truce that leads writes");
        call_free(c);
        if (!unheard)
                handler.done(owner, &no_reply, &err);
}

static struct kube_call *oldest_refused(const struct kube_fence *f) {
        struct kube_call *found = NULL;

        for (struct kube_call *c = f->calls; c; c = c->next)
                if (!c->inner)
                        found = c;
        return found;
}

/* One a turn: done() may cancel others, and free the fence. */
static void on_tell(void *ctx) {
        struct kube_fence *f = ctx;
        struct kube_call *c = oldest_refused(f);
        void (*drained)(void *ctx) = f->drained;

        if (c) {
                loop_timer_start(f->tell, 0);
                tell_refused(c);
        } else if (drained && f->writes == 0) {
                f->drained = NULL;
                drained(f->ctx);
        }
}

/* --- opening and closing ---------------------------------------------------------------------------------------- */

void kube_fence_open(struct kube_fence *f, int64_t until_ms) {
        f->until_ms = until_ms;
}

void kube_fence_drain(struct kube_fence *f, void (*drained)(void *ctx), void *ctx) {
        if (f->closed)
                return;
        f->closed = true;
        f->drained = drained;
        f->ctx = ctx;
        if (f->writes == 0)
                loop_timer_start(f->tell, 0);
}

void kube_fence_cut(struct kube_fence *f) {
        f->closed = true;
        f->drained = NULL;
        for (struct kube_call *c = f->calls; c; c = c->next) {
                if (!c->is_write || !c->inner)
                        continue;
                kube_cancel(f->behind, c->inner);
                c->inner = NULL;
        }
        f->writes = 0;
        if (oldest_refused(f))
                loop_timer_start(f->tell, 0);
}

size_t kube_fence_writes(const struct kube_fence *f) {
        return f->writes;
}

uint64_t kube_fence_refused(const struct kube_fence *f) {
        return f->refused;
}

/* --- life cycle ------------------------------------------------------------------------------------------------- */

static void fence_free(struct kube_transport *face) {
        (void)face;
}

static void fence_stats(const struct kube_transport *face, struct kube_transport_stats *ret_stats) {
        kube_transport_get_stats(((const struct kube_fence *)face)->behind, ret_stats);
}

static const struct kube_transport_ops ops = {
        .start = fence_start,
        .cancel = fence_cancel,
        .free = fence_free,
        .stats = fence_stats,
};

struct kube_fence *kube_fence_new(struct kube_transport *behind, struct loop *l) {
        struct kube_fence *f = mem_zalloc(sizeof *f);

        *f = (struct kube_fence){ .face = { .ops = &ops }, .behind = behind, .loop = l };
        f->tell = loop_timer_new(l, on_tell, f);
        return f;
}

void kube_fence_free(struct kube_fence *f) {
        if (!f)
                return;
        for (struct kube_call *c = f->calls, *next; c; c = next) {
                next = c->next;
                if (c->inner)
                        kube_cancel(f->behind, c->inner);
                call_free(c);
        }
        loop_timer_free(f->tell);
        free(f);
}

struct kube_transport *kube_fence_transport(struct kube_fence *f) {
        return &f->face;
}
