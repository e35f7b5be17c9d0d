/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reload.h"

struct reload {
        const struct session *session;
        struct loop *loop;
        struct loop_timer *timer;
        reload_changed changed;
        void *ctx;
        struct hash128 read, seen; /* stamps: of what was read last, of the look before */
        struct look *look;         /* under way */
};

/* What a pool thread does; it outlives the reload when that is freed meanwhile. */
struct look {
        struct reload *owner; /* NULL: nobody wants to know any more */
        const struct session *session;
        struct hash128 read, seen, now;
        bool was_read;
        struct session fresh;
        int result;
        struct err err;
};

static void look_run(void *ctx) {
        struct look *k = ctx;

        k->now = config_stamp(k->session->config_paths.items, k->session->config_paths.count);
        k->was_read = !hash128_eq(k->now, k->read) && hash128_eq(k->now, k->seen);
        if (k->was_read)
                k->result = session_reread(k->session, &k->fresh, &k->err);
}

static void look_done(void *ctx, bool cancelled) {
        struct look *k = ctx;
        struct reload *r = k->owner;

        (void)cancelled;
        if (r) {
                r->look = NULL;
                r->seen = k->now;
                loop_timer_start(r->timer, RELOAD_LOOK_MS);
        }
        if (r && k->was_read) {
                r->read = k->now;
                r->changed(r->ctx, &k->fresh, k->result < 0 ? &k->err : NULL);
        }
        if (k->was_read && (!r || k->result < 0))
                session_close(&k->fresh);
        free(k);
}

static void look(void *ctx) {
        struct reload *r = ctx;
        struct look *k;

        if (r->look)
                return;
        k = mem_zalloc(sizeof *k);
        *k = (struct look){ .owner = r, .session = r->session, .read = r->read, .seen = r->seen };
        r->look = k;
        loop_work_start(r->loop, LOOP_POOL_CPU, look_run, look_done, k);
}

struct reload *reload_new(const struct session *s, struct loop *l, reload_changed changed, void *ctx) {
        struct reload *r;

        if (!s->config_paths.count)
                return NULL;
        r = mem_zalloc(sizeof *r);
        *r = (struct reload){ .session = s, .loop = l, .changed = changed, .ctx = ctx };
        r->read = r->seen = config_stamp(s->config_paths.items, s->config_paths.count);
        r->timer = loop_timer_new(l, look, r);
        loop_timer_start(r->timer, RELOAD_LOOK_MS);
        return r;
}

void reload_now(struct reload *r) {
        if (r)
                loop_timer_start(r->timer, 0);
}

void reload_free(struct reload *r) {
        if (!r)
                return;
        if (r->look)
                r->look->owner = NULL;
        loop_timer_free(r->timer);
        free(r);
}
