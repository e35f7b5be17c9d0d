/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/watch.h"

#include <inttypes.h>

#include "base/duration.h"
#include "base/limits.h"
#include "sandbox/list.h"
#include "sandbox/status.h"

#define BOOKMARK_MS            60000
#define BOOKMARK_BEFORE_END_MS 2000
/* Without timeoutSeconds the server takes 30 to 60 minutes, at random. */
#define DEFAULT_TIMEOUT_MS (1800 * INT64_C(1000))
#define LINE_MAX_BYTES     (64 * MIB)

/* What the watch begins with. */
enum begin { BEGIN_NOW, BEGIN_STATE, BEGIN_AFTER, BEGIN_EXPIRED, BEGIN_INITIAL };

struct sandbox_watch {
        struct sandbox *sandbox;
        struct arena *arena;     /* of the selector and the name of the namespace */
        const struct kind *kind; /* NULL: ended */
        struct shelf_watcher hook;
        struct selector selector;
        struct str namespace;
        enum form form;
        enum begin begin;
        uint64_t rv;    /* seen so far */
        uint64_t floor; /* events up to here are not shown */
        bool bookmarks, first_line;
        int64_t end_at_ms;
        const struct sandbox_watcher *watcher; /* NULL: not started */
        void *ctx;
        struct loop_timer *timer; /* the next bookmark or the end */
        struct sandbox_watch *prev, *next;
        bool is_calling, is_closed; /* closed inside a callback: freed behind it */
};

/* ---- lines ---- */

static void send(struct sandbox_watch *w, struct buf *line) {
        buf_addc(line, "}\n");
        if (!line->overflow)
                w->watcher->line(w->ctx, buf_str(line));
}

static void send_version(struct sandbox_watch *w, const char *type, struct version *v) {
        _cleanup_(buf_done) struct buf line = buf_make(LINE_MAX_BYTES);
        _cleanup_(arena_freep) struct arena *a = w->kind->is_custom && w->form == FORM_OBJECT ? NULL : arena_new(0);

        buf_addf(&line, "{\"type\":\"%s\",\"object\":", type);
        const struct table_now now = { loop_wall_ms(w->sandbox->loop), a };

        form_add(&line, w->kind, w->form, w->first_line, v, &now);
        w->first_line = false;
        send(w, &line);
}

/* An object of the kind with nothing in it but the resourceVersion: a built-in kind's has the fields Go never omits. */
static const struct value *bookmark_object(const struct sandbox_watch *w, struct arena *a) {
        const struct kind *k = w->kind;
        const struct value *object = NULL;

        if (w->form == FORM_OBJECT && !k->is_custom)
                object = kind_blank(k, a);
        struct str kind = w->form == FORM_OBJECT  ? k->resource->kind
                          : w->form == FORM_TABLE ? STR("Table")
                                                  : STR("PartialObjectMetadata");
        struct str version = w->form == FORM_OBJECT ? k->api_version : STR("meta.k8s.io/v1");
        object = value_with(a, object, STR("kind"), value_string(a, kind, 0));
        object = value_with(a, object, STR("apiVersion"), value_string(a, version, 0));
        return meta_with_text(object, "resourceVersion", arena_strf(a, "%" PRIu64, w->rv), a);
}

static void send_bookmark(struct sandbox_watch *w, bool ends_initial) {
        _cleanup_(buf_done) struct buf line = buf_make(LINE_MAX_BYTES);
        static const struct str mark[] = { { "metadata", 8 },
                                           { "annotations", 11 },
                                           { "k8s.io/initial-events-end", 25 } };
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object = bookmark_object(w, a);

        if (ends_initial)
                object = value_with_path(a, object, mark, ARRAY_LEN(mark), value_stringc(a, "true"));
        buf_addc(&line, "{\"type\":\"BOOKMARK\",\"object\":");
        value_print(object, &line);
        send(w, &line);
}

static void send_expired(struct sandbox_watch *w) {
        _cleanup_(buf_done) struct buf line = buf_make(LINE_MAX_BYTES);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str text = arena_strf(a, "too old resource version: %" PRIu64 " (%" PRIu64 ")", w->floor,
                                     store_compacted_rv(w->sandbox->store) + 1);

        buf_addc(&line, "{\"type\":\"ERROR\",\"object\":");
        buf_add(&line, status_text(a, 410, "Expired", NULL, text));
        send(w, &line);
}

/* ---- events ---- */

static bool selects(const struct sandbox_watch *w, const struct version *v) {
        return v && (w->namespace.n == 0 || str_eq(v->namespace, w->namespace)) &&
               (select_is_empty(&w->selector) || select_matches(&w->selector, v->value));
}

/* What left the selection is shown as it was, with the new resourceVersion. */
static void send_left(struct sandbox_watch *w, const struct event *e) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str rv = arena_strf(a, "%" PRIu64, e->rv);
        _cleanup_(version_unrefp) struct version *v =
                version_new(meta_with_text(e->before->value, "resourceVersion", rv, a), e->rv);

        send_version(w, "DELETED", v);
}

static void show(struct sandbox_watch *w, const struct event *e) {
        bool was = selects(w, e->before), is = e->type != EVENT_DELETED && selects(w, e->after);

        w->rv = e->rv;
        if (is)
                send_version(w, was ? "MODIFIED" : "ADDED", e->after);
        else if (was && e->type == EVENT_DELETED)
                send_version(w, "DELETED", e->after);
        else if (was)
                send_left(w, e);
}

static void on_event(void *ctx, const struct event *e) {
        struct sandbox_watch *w = ctx;

        w->is_calling = true;
        show(w, e);
        w->is_calling = false;
        if (w->is_closed)
                sandbox_watch_close(w);
}

/* ---- life ---- */

static void unhook(struct sandbox_watch *w) {
        if (w->watcher && w->kind)
                shelf_unwatch(w->kind->shelf, &w->hook);
        w->kind = NULL;
        loop_timer_free(w->timer);
        w->timer = NULL;
}

static void end(struct sandbox_watch *w) {
        const struct sandbox_watcher *watcher = w->watcher;

        unhook(w);
        if (watcher)
                watcher->end(w->ctx);
}

void sandbox_watch_close(struct sandbox_watch *w) {
        if (!w)
                return;
        if (w->is_calling) {
                w->is_closed = true;
                return;
        }
        unhook(w);
        if (w->prev)
                w->prev->next = w->next;
        else
                w->sandbox->watches = w->next;
        if (w->next)
                w->next->prev = w->prev;
        arena_free(w->arena);
        free(w);
}

void watch_end_all(struct sandbox *s, const struct shelf *shelf) {
        for (struct sandbox_watch *w = s->watches, *next; w; w = next) {
                next = w->next;
                if (w->kind && (!shelf || w->kind->shelf == shelf))
                        end(w);
        }
}

static void arm(struct sandbox_watch *w);

static void on_timer(void *ctx) {
        struct sandbox_watch *w = ctx;

        if (loop_now_ms(w->sandbox->loop) >= w->end_at_ms) {
                end(w);
                return;
        }
        w->rv = store_rv(w->sandbox->store);
        w->is_calling = true;
        send_bookmark(w, false);
        w->is_calling = false;
        if (w->is_closed)
                sandbox_watch_close(w);
        else
                arm(w);
}

/* The next bookmark: each minute, and shortly before the end. */
static void arm(struct sandbox_watch *w) {
        int64_t now = loop_now_ms(w->sandbox->loop), at = w->end_at_ms;
        int64_t last = w->end_at_ms - BOOKMARK_BEFORE_END_MS;

        if (w->bookmarks && last > now)
                at = last < now + BOOKMARK_MS ? last : now + BOOKMARK_MS;
        loop_timer_start(w->timer, at - now);
}

/* ---- the beginning ---- */

static void send_state(struct sandbox_watch *w) {
        const struct shelf *shelf = w->kind->shelf;
        size_t from, to;

        shelf_range(shelf, w->namespace, &from, &to);
        for (size_t i = from; i < to; i++)
                if (selects(w, shelf->items[i]))
                        send_version(w, "ADDED", shelf->items[i]);
}

static void send_history(struct sandbox_watch *w) {
        const struct shelf *shelf = w->kind->shelf;

        for (size_t i = shelf_events_after(shelf, w->floor); i < shelf->event_count; i++)
                show(w, shelf_event(shelf, i));
}

static bool begin(struct sandbox_watch *w) {
        switch (w->begin) {
        case BEGIN_EXPIRED:
                send_expired(w);
                return false;
        case BEGIN_STATE:
        case BEGIN_INITIAL:
                send_state(w);
                break;
        case BEGIN_AFTER:
                send_history(w);
                break;
        case BEGIN_NOW:
                break;
        }
        w->rv = store_rv(w->sandbox->store);
        /* Also a watch from "0" is told where its initial events end. */
        if ((w->begin == BEGIN_INITIAL || (w->begin == BEGIN_STATE && w->floor == 0)) && w->bookmarks)
                send_bookmark(w, true);
        return true;
}

void sandbox_watch_start(struct sandbox_watch *w, const struct sandbox_watcher *watcher, void *ctx) {
        w->watcher = watcher;
        w->ctx = ctx;
        if (!w->kind) {
                watcher->end(ctx);
                return;
        }
        shelf_watch(w->kind->shelf, &w->hook);
        w->timer = loop_timer_new(w->sandbox->loop, on_timer, w);
        arm(w);
        w->is_calling = true;
        bool goes_on = begin(w);
        w->is_calling = false;
        if (w->is_closed)
                sandbox_watch_close(w);
        else if (!goes_on)
                end(w);
}

/* ---- the request ---- */

static int read_begin(struct call *c, const struct list_options *o, struct sandbox_watch *w) {
        struct str text = o->resource_version;
        uint64_t rv = 0;

        if (text.n && !str_to_u64(text, &rv))
                return status_internal(c,
                                       "resourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: parsing \"%.*s\": "
                                       "invalid syntax",
                                       STR_FMT(text), STR_FMT(text));
        w->floor = rv;
        if (query_bool(&c->query, "sendInitialEvents"))
                w->begin = BEGIN_INITIAL;
        else if (query_has(&c->query, "sendInitialEvents") && rv == 0)
                w->begin = BEGIN_NOW;
        else if (rv == 0)
                w->begin = BEGIN_STATE;
        else if (rv < store_compacted_rv(c->s->store))
                w->begin = BEGIN_EXPIRED;
        else
                w->begin = BEGIN_AFTER;
        return 0;
}

void serve_watch(struct call *c, enum form form) {
        struct list_options o;

        if (list_options_read(c, true, &o) < 0)
                return;
        struct sandbox_watch *w = mem_zalloc(sizeof *w);
        w->sandbox = c->s;
        if (read_begin(c, &o, w) < 0) {
                free(w);
                return;
        }
        int64_t timeout_ms = o.timeout_s > 0
                                     ? duration_of_seconds(o.timeout_s)
                                     : DEFAULT_TIMEOUT_MS + (int64_t)loop_random(c->s->loop, DEFAULT_TIMEOUT_MS);
        w->arena = arena_new(256);
        w->kind = c->kind;
        w->hook = (struct shelf_watcher){ .event = on_event, .ctx = w };
        w->selector = select_dup(&o.selector, w->arena);
        w->namespace = arena_str(w->arena, c->at.namespace);
        w->form = form;
        w->bookmarks = query_bool(&c->query, "allowWatchBookmarks");
        w->first_line = true;
        w->end_at_ms = loop_now_ms(c->s->loop) + timeout_ms;
        w->next = c->s->watches;
        if (w->next)
                w->next->prev = w;
        c->s->watches = w;
        c->reply->status = 200;
        c->reply->content_type = STR("application/json");
        c->reply->watch = w;
}
