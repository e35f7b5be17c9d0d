/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include "base/json.h"

#define LATE_FROM_MS 500 /* a late request arrives after its connection broke */

struct line {
        struct line *next;
        int64_t due_ms;
        char *text; /* with its newline */
        size_t n;
        char *uid;
        bool added;
};

struct call {
        struct wire *wire;
        struct call *prev, *next; /* of those that the agent waits for */
        struct kube_call *inner;  /* NULL: it has ended */
        struct kube_handler handler;
        void *ctx;
        uint64_t number;
        bool is_watch, is_write;
        bool orphan; /* the agent does not wait for it any more */
        bool in_data, cancelled;
        bool dropped; /* events are lost from here on */
        struct line *lines, **last_line;
        struct loop_timer *timer; /* of the next line, or of a break */
        bool breaks;
};

struct wire {
        struct kube_transport base; /* first */
        struct loop *loop;
        struct sandbox *sandbox;
        struct kube_transport *inner;
        struct wire_hooks hooks;
        void *ctx;
        struct wire_rates rates;
        bool away, blind, keep_writes;
        struct call *calls;
        unsigned call_count, orphan_count;
        uint64_t requests;
        struct sandbox_fault fault; /* of the call that is being started */
        struct sandbox_request request;
        bool late, touch;
};

/* ---- chance ---- */

static bool chance(struct wire *w, int64_t per_mille) {
        return per_mille > 0 && (int64_t)loop_random(w->loop, 1000) < per_mille;
}

static int64_t up_to(struct wire *w, int64_t ms) {
        return ms > 0 ? (int64_t)loop_random(w->loop, (uint64_t)ms + 1) : 0;
}

static bool is_write(const struct sandbox_request *r) {
        return r->method != KUBE_GET && !str_contains(r->path, STR("dryRun="));
}

static void draw_fault(struct wire *w, const struct sandbox_request *req) {
        static const int statuses[] = { 429, 500, 503 };
        const struct wire_rates *r = &w->rates;

        w->fault = (struct sandbox_fault){ .delay_ms = up_to(w, r->delay_ms), .reply_delay_ms = up_to(w, r->delay_ms) };
        w->late = w->touch = false;
        if (chance(w, r->lose))
                w->fault.lose_request = true;
        else if (chance(w, r->lose_reply))
                w->fault.lose_reply = true;
        else if (is_write(req) && chance(w, r->late))
                w->late = true;
        else if (chance(w, r->error))
                w->fault.status = statuses[loop_random(w->loop, ARRAY_LEN(statuses))];
        else if (is_write(req) && req->method != KUBE_POST && chance(w, r->conflict))
                w->touch = true;
        if (w->fault.status == 429)
                w->fault.retry_after_s = 1;
}

static void tell_hurt(struct wire *w, uint64_t number) {
        const struct sandbox_fault *f = &w->fault;

        if (f->lose_request)
                w->hooks.hurt(w->ctx, number, "the request is lost");
        if (f->lose_reply)
                w->hooks.hurt(w->ctx, number, "the reply is lost");
        if (f->status)
                w->hooks.hurt(w->ctx, number, "the server answers with an error");
        if (w->late)
                w->hooks.hurt(w->ctx, number, "the connection breaks, the request arrives late");
        if (w->touch)
                w->hooks.hurt(w->ctx, number, "somebody touches the object first");
}

/* Called by the sandbox's transport inside its start. */
static struct sandbox_fault on_fault(void *ctx, const struct sandbox_request *req, bool is_watch) {
        struct wire *w = ctx;

        draw_fault(w, req);
        w->hooks.request(w->ctx, req, is_watch, ++w->requests, &w->fault, &w->late);
        if (w->away || (w->blind && is_watch)) {
                w->fault = (struct sandbox_fault){ .lose_request = true };
                w->late = w->touch = false;
        } else {
                tell_hurt(w, w->requests);
        }
        if (w->touch)
                w->hooks.touch(w->ctx, req);
        if (w->late)
                w->fault.delay_ms += LATE_FROM_MS + up_to(w, w->rates.late_ms);
        w->request = *req;
        return w->fault;
}

/* ---- calls ---- */

static void unlink_call(struct call *c) {
        if (c->prev)
                c->prev->next = c->next;
        else
                c->wire->calls = c->next;
        if (c->next)
                c->next->prev = c->prev;
        c->wire->call_count--;
}

static void line_free(struct line *l) {
        free(l->text);
        free(l->uid);
        free(l);
}

static void call_free(struct call *c) {
        while (c->lines) {
                struct line *l = c->lines;

                c->lines = l->next;
                line_free(l);
        }
        loop_timer_free(c->timer);
        free(c);
}

/* The agent is told the end; what the server still does is nobody's. */
static void end_call(struct call *c, const struct kube_reply *reply, const struct err *err) {
        unlink_call(c);
        c->wire->hooks.answer(c->wire->ctx, c->number, reply->status, err);
        c->handler.done(c->ctx, reply, err);
        if (c->inner) {
                c->orphan = true;
                c->wire->orphan_count++;
        } else {
                call_free(c);
        }
}

static void break_call(struct call *c) {
        struct kube_reply reply = { 0 };
        struct err err = { 0 };

        if (c->is_watch && c->inner)
                kube_cancel(c->wire->inner, TAKE_PTR(c->inner));
        err_set(&err, ERR_UNREACHABLE, "the connection broke");
        end_call(c, &reply, &err);
}

/* False: the call is over. */
static bool give(struct call *c, struct str text) {
        struct err err = { 0 };

        if (c->is_watch)
                c->wire->hooks.event(c->wire->ctx, c->number, text);
        c->in_data = true;
        int r = c->handler.data(c->ctx, text, &err);
        c->in_data = false;
        if (c->cancelled) {
                call_free(c);
                return false;
        }
        if (r == 0)
                return true;
        if (c->inner)
                kube_cancel(c->wire->inner, TAKE_PTR(c->inner));
        end_call(c, &(struct kube_reply){ 0 }, &err);
        return false;
}

/* ---- watch events ---- */

static void schedule(struct call *c) {
        if (!c->breaks && c->lines)
                loop_timer_start(c->timer, c->lines->due_ms - loop_now_ms(c->wire->loop));
}

/* False: the call is over. */
static bool give_due(struct call *c, int64_t until_ms) {
        while (c->lines && c->lines->due_ms <= until_ms) {
                struct line *l = c->lines;

                c->lines = l->next;
                if (!c->lines)
                        c->last_line = &c->lines;
                bool goes_on = give(c, (struct str){ l->text, l->n });
                line_free(l);
                if (!goes_on)
                        return false;
        }
        return true;
}

static void on_timer(void *ctx) {
        struct call *c = ctx;

        if (c->breaks)
                break_call(c);
        else if (give_due(c, loop_now_ms(c->wire->loop)))
                schedule(c);
}

static void read_event(struct str text, struct line *l) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *event;

        if (json_parse(text, a, &event, NULL) < 0)
                return;
        struct str type = value_text(value_getc(event, "type"));
        struct str uid = value_text(value_path(event, "object", "metadata", "uid", NULL));
        l->added = str_eqc(type, "ADDED");
        if (uid.n && (l->added || str_eqc(type, "MODIFIED")))
                l->uid = str_dup(uid);
}

/* The newest line of the object that still waits, when nothing of it came since. */
static struct line *waiting_line(struct call *c, const char *uid) {
        struct line *found = NULL;

        for (struct line *l = c->lines; l; l = l->next) {
                if (l->uid && strcmp(l->uid, uid) == 0)
                        found = l;
        }
        return found;
}

/* A modification takes the place of what waits, as a reader that is slow would see it. ADDED stays ADDED only unmerged. */
static bool merge(struct call *c, struct line *l) {
        struct line *old = l->uid && !l->added ? waiting_line(c, l->uid) : NULL;

        if (!old || old->added || !chance(c->wire, c->wire->rates.merge))
                return false;
        for (struct line **at = &c->lines; *at; at = &(*at)->next) {
                if (*at != old)
                        continue;
                *at = old->next;
                if (!*at)
                        c->last_line = at;
                break;
        }
        line_free(old);
        c->wire->hooks.hurt(c->wire->ctx, c->number, "two events become one");
        return true;
}

static void take_line(struct call *c, struct str text) {
        struct wire *w = c->wire;
        int64_t now_ms = loop_now_ms(w->loop);

        if (c->dropped)
                return;
        if (chance(w, w->rates.drop)) {
                w->hooks.hurt(w->ctx, c->number, "an event is lost and the watch breaks");
                c->dropped = c->breaks = true;
                loop_timer_start(c->timer, up_to(w, 5000));
                return;
        }
        struct line *l = mem_zalloc(sizeof *l);
        l->text = str_dup(text);
        l->n = text.n;
        l->due_ms = now_ms + (chance(w, w->rates.hold) ? up_to(w, w->rates.hold_ms) : 0);
        for (struct line *x = c->lines; x; x = x->next)
                l->due_ms = l->due_ms > x->due_ms ? l->due_ms : x->due_ms;
        if (w->rates.merge)
                read_event(text, l);
        merge(c, l);
        *c->last_line = l;
        c->last_line = &l->next;
}

static bool has_event_faults(const struct call *c) {
        const struct wire_rates *r = &c->wire->rates;

        return c->lines || c->dropped || r->drop || r->hold || r->merge;
}

static int take_events(struct call *c, struct str chunk) {
        struct str rest = chunk, text;

        for (; rest.n; rest = str_sub(rest, text.n, rest.n)) {
                ptrdiff_t end = str_find(rest, '\n', 0);

                text = str_sub(rest, 0, end < 0 ? rest.n : (size_t)end + 1);
                take_line(c, text);
        }
        if (!c->breaks && c->lines)
                schedule(c);
        return 0;
}

static int on_data(void *ctx, struct str chunk, struct err *err) {
        struct call *c = ctx;

        (void)err;
        if (c->orphan)
                return 0;
        if (c->is_watch && has_event_faults(c))
                return take_events(c, chunk);
        /* give() frees a cancelled call; the inner call was cancelled with it. */
        give(c, chunk);
        return 0;
}

static void on_done(void *ctx, const struct kube_reply *reply, const struct err *err) {
        struct call *c = ctx;

        c->inner = NULL;
        if (c->orphan) {
                c->wire->orphan_count--;
                call_free(c);
                return;
        }
        if (c->is_watch && c->breaks)
                return;
        if (c->is_watch && !give_due(c, INT64_MAX))
                return;
        end_call(c, reply, err);
}

/* ---- the transport ---- */

static struct kube_call *wire_start(struct kube_transport *base, const struct kube_request *req,
                                    const struct kube_handler *handler, void *ctx) {
        struct wire *w = (struct wire *)base;
        struct call *c = mem_zalloc(sizeof *c);
        struct kube_handler through = { .data = handler->data ? on_data : NULL, .done = on_done };

        *c = (struct call){ .wire = w, .handler = *handler, .ctx = ctx, .is_watch = req->watch };
        c->last_line = &c->lines;
        c->timer = loop_timer_new(w->loop, on_timer, c);
        c->next = w->calls;
        if (c->next)
                c->next->prev = c;
        w->calls = c;
        w->call_count++;
        c->inner = kube_start(w->inner, req, &through, c);
        c->number = w->requests;
        c->is_write = is_write(&w->request);
        if (w->late) {
                c->breaks = true;
                loop_timer_start(c->timer, up_to(w, LATE_FROM_MS));
        }
        return (struct kube_call *)c;
}

static void wire_cancel(struct kube_transport *base, struct kube_call *call) {
        struct wire *w = (struct wire *)base;
        struct call *c = (struct call *)call;

        unlink_call(c);
        if (c->is_write && c->inner && w->keep_writes) {
                c->orphan = true;
                loop_timer_stop(c->timer);
                w->orphan_count++;
                return;
        }
        if (c->inner)
                kube_cancel(w->inner, TAKE_PTR(c->inner));
        c->cancelled = true;
        if (!c->in_data)
                call_free(c);
}

static void wire_no_free(struct kube_transport *base) {
        (void)base; /* it outlives its agents: wire_free() */
}

static void wire_stats(const struct kube_transport *base, struct kube_transport_stats *ret_stats) {
        kube_transport_get_stats(((const struct wire *)base)->inner, ret_stats);
}

static const struct kube_transport_ops ops = {
        .start = wire_start, .cancel = wire_cancel, .free = wire_no_free, .stats = wire_stats,
};

struct wire *wire_new(struct sandbox *s, struct str user, const struct wire_hooks *hooks, void *ctx) {
        struct wire *w = mem_zalloc(sizeof *w);

        w->base.ops = &ops;
        w->sandbox = s;
        w->loop = sandbox_loop(s);
        w->hooks = *hooks;
        w->ctx = ctx;
        w->inner = sandbox_transport(s, user, STR("system:authenticated"));
        sandbox_transport_set_fault(w->inner, on_fault, w);
        return w;
}

void wire_free(struct wire *w) {
        if (!w)
                return;
        kube_transport_free(w->inner);
        free(w);
}

struct kube_transport *wire_transport(struct wire *w) {
        return &w->base;
}

void wire_set_rates(struct wire *w, const struct wire_rates *rates) {
        w->rates = *rates;
}

/* Watches whose lines were withheld break as well. */
static void break_watches(struct wire *w) {
        for (struct call *c = w->calls; c; c = c->next) {
                if (!c->is_watch || c->breaks)
                        continue;
                c->breaks = c->dropped = true;
                loop_timer_start(c->timer, 0);
        }
}

void wire_cut(struct wire *w, bool away) {
        w->away = away;
        if (away)
                break_watches(w);
}

bool wire_is_cut(const struct wire *w) {
        return w->away;
}

void wire_blind(struct wire *w, bool blind) {
        w->blind = blind;
        if (blind)
                break_watches(w);
}

void wire_keep_writes(struct wire *w, bool keep) {
        w->keep_writes = keep;
}

unsigned wire_calls(const struct wire *w) {
        return w->call_count;
}

unsigned wire_orphans(const struct wire *w) {
        return w->orphan_count;
}

uint64_t wire_requests(const struct wire *w) {
        return w->requests;
}
