/* SPDX-License-Identifier: Apache-2.0 */
/* All live equally long, so the order of the writes is the order of the ends. */
#include "sandbox/expiry.h"

#include "sandbox/write.h"

struct entry {
        int64_t due_ms;
        struct version *v; /* still the current one when it is due, or somebody wrote or deleted it since */
};

struct expiry {
        struct sandbox *s;
        struct loop_timer *timer;
        struct entry *queue;
        size_t first, count, cap;
};

static void arm(struct expiry *x) {
        if (x->count && !loop_timer_is_running(x->timer))
                loop_timer_start(x->timer, x->queue[x->first].due_ms - loop_now_ms(x->s->loop));
}

static void remove_event(struct expiry *x, struct version *v) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct sandbox_reply reply = { 0 };
        struct call c;

        call_begin(&c, x->s, a, &reply, "kube-apiserver");
        if (write_aim(&c, (struct str){ 0 }, STR("events"), arena_str(a, v->namespace), arena_str(a, v->name)) &&
            write_find(&c) == v)
                version_unref(write_remove(&c, v, v->value));
        call_end(&c);
}

static void on_timer(void *ctx) {
        struct expiry *x = ctx;

        while (x->count && x->queue[x->first].due_ms <= loop_now_ms(x->s->loop)) {
                struct version *v = x->queue[x->first].v;

                x->first++;
                x->count--;
                remove_event(x, v);
                version_unref(v);
        }
        arm(x);
}

void expiry_tell(struct expiry *x, const struct kind *kind, struct version *after) {
        if (!after || kind->shelf->group.n || !str_eqc(kind->shelf->plural, "events"))
                return;
        if (x->first > x->count) { /* each moves once at most on average */
                memmove(x->queue, x->queue + x->first, x->count * sizeof *x->queue);
                x->first = 0;
        }
        x->queue = mem_grow(x->queue, &x->cap, x->first + x->count + 1, sizeof *x->queue);
        x->queue[x->first + x->count++] = (struct entry){ loop_now_ms(x->s->loop) + EVENT_TTL_MS, version_ref(after) };
        arm(x);
}

struct expiry *expiry_new(struct sandbox *s) {
        struct expiry *x = mem_zalloc(sizeof *x);

        x->s = s;
        x->timer = loop_timer_new(s->loop, on_timer, x);
        return x;
}

void expiry_reset(struct expiry *x) {
        for (size_t i = 0; i < x->count; i++)
                version_unref(x->queue[x->first + i].v);
        x->first = x->count = 0;
        loop_timer_stop(x->timer);
}

void expiry_free(struct expiry *x) {
        if (!x)
                return;
        expiry_reset(x);
        loop_timer_free(x->timer);
        free(x->queue);
        free(x);
}
