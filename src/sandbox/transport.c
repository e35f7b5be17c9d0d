/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The in-process face: a kube_transport whose server is a call of sandbox_serve(). A request travels (delay_ms), is
 * served at once, and its answer travels back (reply_delay_ms); each leg is a timer, so nothing happens inside
 * kube_start(). Watch lines pile up while the loop's turn lasts and are handed out together in the next one.
 */
#include <assert.h>

#include "base/limits.h"
#include "sandbox/sandbox.h"

struct transport {
        struct kube_transport base; /* first: struct kube_transport * is struct transport * */
        struct sandbox *sandbox;
        struct loop *loop;
        char *user;
        char *groups_text;
        struct str *groups;
        size_t group_count;
        sandbox_fault_fn fault;
        void *fault_ctx;
        struct kube_call *calls;
        struct kube_transport_stats stats;
};

struct kube_call {
        struct transport *t;
        struct kube_call *prev, *next;
        struct kube_handler handler;
        void *ctx;
        struct sandbox_request req; /* owns path and body */
        struct sandbox_fault fault;
        bool is_watch;
        int64_t silence_ms;
        size_t max_body_bytes;
        struct arena *arena; /* of the reply */
        struct sandbox_reply reply;
        struct sandbox_watch *watch;
        struct buf lines; /* of the watch, on their way */
        bool arrived;     /* the server has seen it */
        bool begun;       /* the first byte of the answer is here */
        bool ended;       /* the stream is over */
        bool in_data, cancelled;
        struct loop_timer *step, *deadline, *silence;
};

/* ---- the end of a call ---- */

static void call_unlink(struct kube_call *c) {
        if (c->prev)
                c->prev->next = c->next;
        else
                c->t->calls = c->next;
        if (c->next)
                c->next->prev = c->prev;
        c->t->stats.open_watches -= c->is_watch;
        c->t->stats.in_flight -= !c->is_watch;
}

static void call_free(struct kube_call *c) {
        sandbox_watch_close(c->watch);
        loop_timer_free(c->step);
        loop_timer_free(c->deadline);
        loop_timer_free(c->silence);
        buf_done(&c->lines);
        arena_free(c->arena);
        free((char *)c->req.path.p);
        free((char *)c->req.body.p);
        free(c);
}

static bool is_streamed(const struct kube_call *c) {
        return c->reply.status >= 200 && c->reply.status < 300 && c->handler.data;
}

static struct str join_warnings(const struct kube_call *c, struct buf *out) {
        for (size_t i = 0; i < c->reply.warning_count; i++) {
                if (i)
                        buf_addch(out, '\n');
                buf_add(out, c->reply.warnings[i]);
        }
        return buf_str(out);
}

static void finish(struct kube_call *c, const struct err *err) {
        _cleanup_(buf_done) struct buf warnings = buf_make(KUBE_MAX_ERROR_BYTES);
        struct kube_reply reply = { 0 };

        if (c->begun && !err) {
                reply.status = c->reply.status;
                reply.content_type = c->reply.content_type;
                reply.warnings = join_warnings(c, &warnings);
                reply.retry_after_ms = c->reply.retry_after_s * 1000;
                if (!is_streamed(c))
                        reply.body = c->reply.body;
        }
        c->t->stats.calls[c->req.method][reply.status / 100 % KUBE_STATUS_CLASSES]++;
        call_unlink(c);
        c->handler.done(c->ctx, &reply, err);
        call_free(c);
}

static void fail(struct kube_call *c, enum err_code code, const char *why) {
        struct err err = { 0 };

        err_set(&err, code, "%s", why);
        finish(c, &err);
}

/* ---- the answer ---- */

/* Hands bytes to data(); false when the call is over (and freed). */
static bool give(struct kube_call *c, struct str bytes) {
        struct err err = { 0 };

        if (c->silence)
                loop_timer_start(c->silence, c->silence_ms);
        c->t->stats.bytes_received += bytes.n;
        c->in_data = true;
        int r = c->handler.data(c->ctx, bytes, &err);
        c->in_data = false;
        if (c->cancelled) {
                call_free(c);
                return false;
        }
        if (r < 0) {
                finish(c, &err);
                return false;
        }
        return true;
}

/* Lines that arrive while these are handed out wait for the next turn. */
static bool give_lines(struct kube_call *c) {
        struct buf lines = c->lines;

        if (lines.n == 0)
                return true;
        c->lines = buf_make(KUBE_MAX_REPLY_BYTES);
        bool goes_on = give(c, buf_str(&lines));
        buf_done(&lines);
        return goes_on;
}

static void on_line(void *ctx, struct str line) {
        struct kube_call *c = ctx;

        buf_add(&c->lines, line);
        if (c->begun && !loop_timer_is_running(c->step))
                loop_timer_start(c->step, c->fault.reply_delay_ms);
}

static void on_end(void *ctx) {
        struct kube_call *c = ctx;

        c->ended = true;
        if (c->begun)
                loop_timer_start(c->step, c->fault.reply_delay_ms);
}

static const struct sandbox_watcher watcher = { .line = on_line, .end = on_end };

static void answer(struct kube_call *c) {
        c->begun = true;
        if (c->fault.lose_reply) {
                fail(c, ERR_UNREACHABLE, "the connection broke before the answer came");
                return;
        }
        if (c->watch) {
                sandbox_watch_start(c->watch, &watcher, c);
                loop_timer_start(c->step, 0);
                return;
        }
        if (!is_streamed(c) && c->reply.body.n > c->max_body_bytes) {
                fail(c, ERR_LIMIT, "the reply is too large");
                return;
        }
        if (is_streamed(c) && c->reply.body.n) {
                if (!give(c, c->reply.body))
                        return;
        } else {
                c->t->stats.bytes_received += c->reply.body.n;
        }
        finish(c, NULL);
}

static void stream(struct kube_call *c) {
        if (c->lines.overflow) {
                fail(c, ERR_LIMIT, "too many events at once");
                return;
        }
        if (give_lines(c) && c->ended)
                finish(c, NULL);
}

/* ---- the way to the server ---- */

static void refuse(struct kube_call *c) {
        c->reply = (struct sandbox_reply){
                .status = c->fault.status,
                .content_type = STR("application/json"),
                .retry_after_s = c->fault.retry_after_s,
                .body = arena_strf(c->arena,
                                   "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                                   "\"message\":\"a fault of the simulation\",\"code\":%d}",
                                   c->fault.status),
        };
}

static void arrive(struct kube_call *c) {
        c->arrived = true;
        if (c->fault.lose_request) {
                fail(c, ERR_UNREACHABLE, "the connection broke before the request was read");
                return;
        }
        if (c->fault.status)
                refuse(c);
        else
                sandbox_serve(c->t->sandbox, &c->req, c->arena, &c->reply);
        c->watch = c->reply.watch;
        loop_timer_start(c->step, c->fault.reply_delay_ms);
}

static void on_step(void *ctx) {
        struct kube_call *c = ctx;

        if (!c->arrived)
                arrive(c);
        else if (!c->begun)
                answer(c);
        else
                stream(c);
}

static void on_deadline(void *ctx) {
        fail(ctx, ERR_TIMEOUT, "no answer before the deadline");
}

static void on_silence(void *ctx) {
        fail(ctx, ERR_TIMEOUT, "the stream fell silent");
}

static struct loop_timer *start_timer(struct kube_call *c, void (*fire)(void *ctx), int64_t delay_ms) {
        struct loop_timer *t = loop_timer_new(c->t->loop, fire, c);

        loop_timer_start(t, delay_ms);
        return t;
}

/* ---- the transport ---- */

static void copy_request(struct kube_call *c, const struct kube_request *req) {
        c->req = (struct sandbox_request){
                .method = req->method,
                .path = { str_dup(req->path), req->path.n },
                .content_type = str_from(req->content_type),
                .accept = req->accept ? str_from(req->accept) : STR("application/json"),
                .user_agent = STR("truce/sandbox"),
                .body = { str_dup(req->body), req->body.n },
                .user = str_from(c->t->user),
                .groups = c->t->groups,
                .group_count = c->t->group_count,
        };
}

static struct kube_call *transport_start(struct kube_transport *base, const struct kube_request *req,
                                         const struct kube_handler *handler, void *ctx) {
        struct transport *t = (struct transport *)base;
        struct kube_call *c = mem_zalloc(sizeof *c);
        int64_t deadline_ms = req->deadline_ms ? req->deadline_ms : KUBE_DEFAULT_DEADLINE_MS;

        c->t = t;
        c->handler = *handler;
        c->ctx = ctx;
        c->is_watch = req->watch;
        c->silence_ms = req->silence_ms;
        c->max_body_bytes = req->max_body_bytes ? req->max_body_bytes : KUBE_MAX_REPLY_BYTES;
        c->arena = arena_new(0);
        c->lines = buf_make(KUBE_MAX_REPLY_BYTES);
        copy_request(c, req);
        if (t->fault)
                c->fault = t->fault(t->fault_ctx, &c->req, req->watch);
        c->step = start_timer(c, on_step, c->fault.delay_ms);
        if (deadline_ms > 0)
                c->deadline = start_timer(c, on_deadline, deadline_ms);
        if (c->silence_ms > 0)
                c->silence = start_timer(c, on_silence, c->silence_ms);

        c->next = t->calls;
        if (c->next)
                c->next->prev = c;
        t->calls = c;
        t->stats.sent++;
        t->stats.bytes_sent += req->body.n;
        t->stats.open_watches += c->is_watch;
        t->stats.in_flight += !c->is_watch;
        return c;
}

/* Of a call that is no longer in the list. */
static void call_drop(struct kube_call *c) {
        c->cancelled = true;
        if (!c->in_data)
                call_free(c);
}

static void transport_cancel(struct kube_transport *base, struct kube_call *c) {
        (void)base;
        assert(!c->cancelled);
        call_unlink(c);
        call_drop(c);
}

static void transport_free(struct kube_transport *base) {
        struct transport *t = (struct transport *)base;

        for (struct kube_call *c = t->calls, *next; c; c = next) {
                next = c->next;
                call_drop(c);
        }
        free(t->user);
        free(t->groups_text);
        free(t->groups);
        free(t);
}

static void transport_stats(const struct kube_transport *base, struct kube_transport_stats *ret_stats) {
        *ret_stats = ((const struct transport *)base)->stats;
}

static const struct kube_transport_ops ops = {
        .start = transport_start,
        .cancel = transport_cancel,
        .free = transport_free,
        .stats = transport_stats,
};

static void split_groups(struct transport *t, struct str groups) {
        struct str rest, part;
        size_t cap = 0;

        t->groups_text = str_dup(groups);
        for (rest = (struct str){ t->groups_text, groups.n }; str_next(&rest, ',', &part);) {
                t->groups = mem_grow(t->groups, &cap, t->group_count + 1, sizeof *t->groups);
                t->groups[t->group_count++] = str_trim(part);
        }
}

struct kube_transport *sandbox_transport(struct sandbox *s, struct str user, struct str groups) {
        struct transport *t = mem_zalloc(sizeof *t);

        t->base.ops = &ops;
        t->sandbox = s;
        t->loop = sandbox_loop(s);
        t->user = str_dup(user);
        t->stats.multiplexed = true;
        split_groups(t, groups);
        return &t->base;
}

void sandbox_transport_set_fault(struct kube_transport *base, sandbox_fault_fn fn, void *ctx) {
        struct transport *t = (struct transport *)base;

        t->fault = fn;
        t->fault_ctx = ctx;
}
