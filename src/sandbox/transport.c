/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The in-process face: a kube_transport whose server is a call of sandbox_serve(). A request travels (delay_ms), is
 * served at once, and its answer travels back (reply_delay_ms); each leg is a timer, so nothing happens inside
 * kube_start(). Watch lines pile up while the loop's turn lasts and are handed out together in the next one.
 *
 * A caller on a loop of its own is another process: the first leg is the server's time then, and goes on while that
 * one stands still.
 */
#include "base/duration.h"
#include "base/limits.h"
#include "kube/inproc.h"
#include "sandbox/sandbox.h"

struct transport {
        struct kube_transport base; /* first: struct kube_transport * is struct transport * */
        struct inproc inproc;
        struct sandbox *sandbox;
        char *user;
        char *groups_text;
        struct str *groups;
        size_t group_count;
        sandbox_fault_fn fault;
        void *fault_ctx;
        struct kube_transport_stats stats;
};

struct kube_call {
        struct inproc_call base; /* first: struct inproc_call * is struct kube_call * */
        struct transport *t;
        struct sandbox_request req; /* owns path and body */
        struct sandbox_fault fault;
        bool is_watch;
        struct arena *arena; /* of the reply */
        struct sandbox_reply reply;
        struct sandbox_watch *watch;
        struct buf lines; /* of the watch, on their way */
        struct loop_timer *way; /* to the server of another process; NULL: base.step is */
        bool served;
        bool arrived;     /* the server has seen it */
        bool begun;       /* the first byte of the answer is here */
        bool ended;       /* the stream is over */
};

/* ---- the end of a call ---- */

static void count_closed(struct kube_call *c) {
        c->t->stats.open_watches -= c->is_watch;
        c->t->stats.in_flight -= !c->is_watch;
}

static void free_call(struct inproc_call *base) {
        struct kube_call *c = (struct kube_call *)base;

        sandbox_watch_close(c->watch);
        loop_timer_free(c->way);
        buf_done(&c->lines);
        arena_free(c->arena);
        free((char *)c->req.path.p);
        free((char *)c->req.body.p);
        free(c);
}

static bool is_streamed(const struct kube_call *c) {
        return inproc_is_streamed(&c->base, c->reply.status);
}

static struct str join_warnings(const struct kube_call *c, struct buf *out) {
        for (size_t i = 0; i < c->reply.warning_count; i++) {
                if (i)
                        buf_addch(out, '\n');
                buf_add(out, c->reply.warnings[i]);
        }
        return buf_str(out);
}

static void finish(struct inproc_call *base, const struct err *err) {
        struct kube_call *c = (struct kube_call *)base;
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
        count_closed(c);
        inproc_end(base, &reply, err);
}

/* ---- the answer ---- */

static bool give(struct kube_call *c, struct str bytes) {
        c->t->stats.bytes_received += bytes.n;
        return inproc_give(&c->base, bytes);
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
        if (c->begun && !loop_timer_is_running(c->base.step))
                loop_timer_start(c->base.step, c->fault.reply_delay_ms);
}

static void on_end(void *ctx) {
        struct kube_call *c = ctx;

        c->ended = true;
        if (c->begun)
                loop_timer_start(c->base.step, c->fault.reply_delay_ms);
}

static const struct sandbox_watcher watcher = { .line = on_line, .end = on_end };

static void answer(struct kube_call *c) {
        c->begun = true;
        if (c->fault.lose_reply) {
                inproc_fail(&c->base, ERR_UNREACHABLE, "the connection broke before the answer came");
                return;
        }
        if (c->watch) {
                sandbox_watch_start(c->watch, &watcher, c);
                loop_timer_start(c->base.step, 0);
                return;
        }
        if (!is_streamed(c) && c->reply.body.n > c->base.max_body_bytes) {
                inproc_fail(&c->base, ERR_LIMIT, "the reply is too large");
                return;
        }
        if (is_streamed(c) && c->reply.body.n) {
                if (!give(c, c->reply.body))
                        return;
        } else {
                c->t->stats.bytes_received += c->reply.body.n;
        }
        finish(&c->base, NULL);
}

static void stream(struct kube_call *c) {
        if (c->lines.overflow) {
                inproc_fail(&c->base, ERR_LIMIT, "too many events at once");
                return;
        }
        if (give_lines(c) && c->ended)
                finish(&c->base, NULL);
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

static void serve(struct kube_call *c) {
        if (c->fault.status)
                refuse(c);
        else
                sandbox_serve(c->t->sandbox, &c->req, c->arena, &c->reply);
        c->watch = c->reply.watch;
        c->served = true;
}

static void arrive(struct kube_call *c) {
        c->arrived = true;
        if (c->fault.lose_request) {
                inproc_fail(&c->base, ERR_UNREACHABLE, "the connection broke before the request was read");
                return;
        }
        if (!c->served)
                serve(c);
        loop_timer_start(c->base.step, c->fault.reply_delay_ms);
}

static void on_way(void *ctx) {
        struct kube_call *c = ctx;

        if (!c->fault.lose_request)
                serve(c);
        loop_timer_start(c->base.step, 0);
}

/* `timeout=` of a request (API concepts, "request timeouts"): the server gives up by then. */
static int64_t timeout_of(const struct sandbox_request *req) {
        ptrdiff_t query = str_find(req->path, '?', 0);
        struct str rest = query < 0 ? (struct str){ 0 } : str_sub(req->path, (size_t)query + 1, req->path.n), part;
        int64_t ms;

        while (str_next(&rest, '&', &part))
                if (str_starts(part, STR("timeout=")) && duration_parse(str_sub(part, 8, part.n), &ms))
                        return ms;
        return INT64_MAX;
}

static void send_away(struct kube_call *c) {
        int64_t limit_ms = timeout_of(&c->req);

        loop_timer_stop(c->base.step);
        if (c->fault.delay_ms > limit_ms) {
                c->fault.delay_ms = limit_ms;
                c->fault.status = 504;
        }
        c->way = loop_timer_new(sandbox_loop(c->t->sandbox), on_way, c);
        loop_timer_start(c->way, c->fault.delay_ms);
}

static void step(struct inproc_call *base) {
        struct kube_call *c = (struct kube_call *)base;

        if (!c->arrived)
                arrive(c);
        else if (!c->begun)
                answer(c);
        else
                stream(c);
}

static const struct inproc_ops call_ops = { .step = step, .finish = finish, .free = free_call };

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

        c->t = t;
        c->is_watch = req->watch;
        c->arena = arena_new(0);
        c->lines = buf_make(KUBE_MAX_REPLY_BYTES);
        copy_request(c, req);
        if (t->fault)
                c->fault = t->fault(t->fault_ctx, &c->req, req->watch);
        inproc_begin(&t->inproc, &c->base, req, handler, ctx, c->fault.delay_ms);
        if (t->inproc.loop != sandbox_loop(t->sandbox))
                send_away(c);
        t->stats.sent++;
        t->stats.bytes_sent += req->body.n;
        t->stats.open_watches += c->is_watch;
        t->stats.in_flight += !c->is_watch;
        return c;
}

static void transport_cancel(struct kube_transport *base, struct kube_call *c) {
        (void)base;
        count_closed(c);
        inproc_cancel(&c->base);
}

static void transport_free(struct kube_transport *base) {
        struct transport *t = (struct transport *)base;

        inproc_drop_all(&t->inproc);
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
        return sandbox_transport_on(s, sandbox_loop(s), user, groups);
}

struct kube_transport *sandbox_transport_on(struct sandbox *s, struct loop *l, struct str user, struct str groups) {
        struct transport *t = mem_zalloc(sizeof *t);

        t->base.ops = &ops;
        t->sandbox = s;
        t->inproc = (struct inproc){ .ops = &call_ops, .loop = l };
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
