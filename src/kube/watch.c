/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timer serves all waiting, whatever for: the first start, a back-off, a stream that settles, an asked-for relist,
 * and the end of a watch that was freed inside one of its callbacks. Such a watch stays behind, `dead`, until the timer
 * fires: the list or stream that was calling back is still on the stack.
 */
#include "kube/watch.h"

#include "base/limits.h"
#include "base/split.h"
#include "kube/client_impl.h"
#include "kube/list.h"
#include "kube/skim_impl.h"

#define LINE_MAX_BYTES          (KUBE_MAX_OBJECT_BYTES + 4 * KIB) /* an object and what is around it */
#define RELIST_MIN_MS           5000 /* lists that follow each other faster need a back-off between them */
#define SILENT_STREAMS          2    /* in a row, then list again */
#define SILENT_STREAMS_NO_MARKS 10   /* the same on a server that was never seen to send a bookmark */
#define INTERNAL_ERRORS         5    /* streams ended by a 500 in a row, then list again */

/* How it goes on after a stream or a list. */
enum next { NEXT_STREAM, NEXT_LIST, NEXT_LIST_CONSISTENT };

struct ending {
        enum next next;
        bool later; /* after a back-off */
};

struct kube_watch {
        struct kube_task task; /* first */
        struct kube_client *client;
        struct kube_watch_spec spec; /* strings in `arena` */
        struct arena *arena;
        struct kube_watch_handler handler;
        void *ctx;
        struct kube_watch_state state;
        struct buf rv;

        struct kube_list *list; /* at most one of these is under way */
        struct kube_call *stream;
        struct loop_timer *timer;
        enum next next; /* what the timer begins */
        bool replacing; /* replace_begin() was told, replace_end() not yet */
        bool wants_relist;
        bool in_callback, dead;

        struct split_lines lines;
        int64_t list_began_ms, stream_began_ms;
        bool stream_spoke; /* bytes came */
        bool is_ended;     /* a line decided how the stream ends: */
        struct ending ending;
        struct err ending_err;

        bool saw_bookmark;
        unsigned silent_streams, internal_errors;
        int64_t backoff_ms, waited_until_ms;
};

/* --- resourceVersions --- */

static bool is_rv(struct str rv) {
        if (rv.n == 0 || rv.p[0] == '0')
                return false;

        for (size_t i = 0; i < rv.n; i++)
                if (rv.p[i] < '0' || rv.p[i] > '9')
                        return false;
        return true;
}

bool kube_rv_cmp(struct str a, struct str b, int *ret_order) {
        if (!is_rv(a) || !is_rv(b))
                return false;

        *ret_order = a.n != b.n ? (a.n > b.n ? 1 : -1) : str_cmp(a, b);
        return true;
}

static void set_rv(struct kube_watch *w, struct str rv) {
        buf_clear(&w->rv);
        buf_add(&w->rv, rv);
}

struct str kube_watch_rv(const struct kube_watch *w) {
        return buf_str(&w->rv);
}

/* --- telling --- */

const struct kube_watch_state *kube_watch_state(const struct kube_watch *w) {
        return &w->state;
}

/* The callbacks. After a free inside one of them none is called any more. */
#define TELL(w, callback, ...)                                                                                         \
        do {                                                                                                           \
                if ((w)->handler.callback && !(w)->dead) {                                                             \
                        bool outer = (w)->in_callback;                                                                 \
                        (w)->in_callback = true;                                                                       \
                        (w)->handler.callback((w)->ctx, ##__VA_ARGS__);                                                \
                        (w)->in_callback = outer;                                                                      \
                }                                                                                                      \
        } while (0)

static void set_state(struct kube_watch *w, enum kube_watch_phase phase, bool synced, const struct err *err) {
        enum err_code code = err ? err->code : ERR_OK;
        bool told =
                w->state.synced != synced || w->state.err.code != code || (code == ERR_OK && w->state.phase != phase);

        w->state.phase = phase;
        w->state.synced = synced;
        if (err != &w->state.err)
                w->state.err = err ? *err : (struct err){ 0 };
        if (!code)
                w->state.not_served = false;
        if (!told)
                return;
        w->state.since_ms = loop_now_ms(w->client->loop);
        TELL(w, state, &w->state);
}

/* A new phase; what went wrong before stays until something succeeds. */
static void set_phase(struct kube_watch *w, enum kube_watch_phase phase) {
        set_state(w, phase, w->state.synced, w->state.err.code ? &w->state.err : NULL);
}

static void set_healthy(struct kube_watch *w) {
        if (w->state.err.code)
                set_state(w, w->state.phase, w->state.synced, NULL);
}

/* --- going on --- */

static void begin_list(struct kube_watch *w, bool consistent);
static void begin_stream(struct kube_watch *w);

static void begin(struct kube_watch *w, enum next next) {
        if (w->dead)
                return;
        if (next == NEXT_STREAM)
                begin_stream(w);
        else
                begin_list(w, next == NEXT_LIST_CONSISTENT);
}

static int64_t next_backoff_ms(struct kube_watch *w) {
        int64_t now_ms = loop_now_ms(w->client->loop), d;

        if (w->backoff_ms == 0 || now_ms - w->waited_until_ms >= KUBE_WATCH_BACKOFF_RESET_MS)
                w->backoff_ms = KUBE_WATCH_BACKOFF_MS;
        d = w->backoff_ms;
        w->backoff_ms = d * 2 < KUBE_WATCH_BACKOFF_MAX_MS ? d * 2 : KUBE_WATCH_BACKOFF_MAX_MS;
        return d + (int64_t)loop_random(w->client->loop, (uint64_t)d);
}

static void wait_for(struct kube_watch *w, enum next next, const struct err *err) {
        int64_t delay_ms = next_backoff_ms(w);

        if (err->retry_after_ms > delay_ms)
                delay_ms = err->retry_after_ms;
        w->waited_until_ms = loop_now_ms(w->client->loop) + delay_ms;
        w->next = next;
        if (!w->wants_relist)
                loop_timer_start(w->timer, delay_ms);
        set_state(w, KUBE_WATCH_WAITING, w->state.synced, err);
}

static bool listed_just_now(const struct kube_watch *w) {
        return w->state.lists && loop_now_ms(w->client->loop) - w->list_began_ms < RELIST_MIN_MS;
}

/* Goes on as `ending` says. `err` is why the stream or list ended; its code may be 0 unless ending.later. */
static void go_on(struct kube_watch *w, struct ending ending, const struct err *err) {
        static const struct err too_fast = { .code = ERR_GONE, .msg = "the server asks for one list after another" };

        if (w->dead)
                return;
        if (!ending.later && ending.next != NEXT_STREAM && listed_just_now(w)) {
                ending.later = true;
                err = err->code ? err : &too_fast;
        }
        if (ending.later)
                wait_for(w, ending.next, err);
        else
                begin(w, ending.next);
}

/* What a refusal, as HTTP status or as ERROR event, means for the stream. */
static struct ending ending_of_status(struct kube_watch *w, const struct kube_status *status) {
        if (status->rv_too_large)
                return (struct ending){ .next = NEXT_LIST_CONSISTENT };
        if (status->code == ERR_INTERNAL && ++w->internal_errors >= INTERNAL_ERRORS)
                return (struct ending){ .next = NEXT_LIST, .later = true };

        switch (status->code) {
        case ERR_GONE:
                return (struct ending){ .next = NEXT_LIST };
        case ERR_NOTFOUND:
                return (struct ending){ .next = NEXT_LIST_CONSISTENT, .later = true };
        case ERR_THROTTLED:
        case ERR_UNREACHABLE:
        case ERR_TIMEOUT:
        case ERR_INTERNAL:
        case ERR_UNAUTH:
        case ERR_FORBIDDEN:
                return (struct ending){ .next = NEXT_STREAM, .later = true };
        default:
                return (struct ending){ .next = NEXT_LIST, .later = true };
        }
}

/* --- LIST --- */

static void begin_replace(struct kube_watch *w) {
        if (w->replacing)
                return;
        w->replacing = true;
        TELL(w, replace_begin);
}

static int on_item(void *ctx, struct str object, struct err *err) {
        struct kube_watch *w = ctx;

        w->state.last_byte_ms = loop_now_ms(w->client->loop);
        begin_replace(w);
        TELL(w, item, object);
        return w->dead ? err_set(err, ERR_CANCELLED, "the watch was freed") : 0;
}

static void on_restart(void *ctx) {
        ((struct kube_watch *)ctx)->replacing = false;
}

static void list_complete(struct kube_watch *w, struct str rv) {
        struct err err = { 0 };

        begin_replace(w);
        w->replacing = false;
        set_rv(w, rv);
        TELL(w, replace_end, buf_str(&w->rv));
        if (w->dead)
                return;
        if (rv.n == 0) {
                err_set(&err, ERR_UNSUPPORTED, "the server names no resourceVersion to watch from");
                set_state(w, w->state.phase, true, &err);
                wait_for(w, NEXT_LIST_CONSISTENT, &err);
                return;
        }
        set_state(w, KUBE_WATCH_STREAMING, true, NULL);
        begin(w, NEXT_STREAM);
}

static void list_failed(struct kube_watch *w, const struct kube_status *status, const struct err *err) {
        struct ending ending = { .next = NEXT_LIST, .later = true };

        w->replacing = false;
        w->state.not_served = status->not_served;
        /* Expired, or not there yet: never again with this resourceVersion; a list that names none cannot fail so. */
        if (status->code == ERR_GONE || status->rv_too_large) {
                ending.next = NEXT_LIST_CONSISTENT;
                ending.later = w->rv.n == 0;
                buf_clear(&w->rv);
        }
        if (ending.later)
                wait_for(w, ending.next, err);
        else
                begin(w, ending.next);
}

static void on_list_done(void *ctx, struct str rv, const struct kube_status *status, const struct err *err) {
        struct kube_watch *w = ctx;

        w->list = NULL;
        if (w->dead)
                return;
        if (err)
                list_failed(w, status, err);
        else
                list_complete(w, rv);
}

static const struct kube_list_handler list_handler = {
        .item = on_item,
        .restart = on_restart,
        .done = on_list_done,
};

static void begin_list(struct kube_watch *w, bool consistent) {
        const struct kube_list_spec spec = {
                .at = w->spec.at,
                .label_selector = w->spec.list_label_selector,
                .field_selector = w->spec.list_field_selector,
                .not_older_than = consistent ? (struct str){ 0 } : buf_str(&w->rv),
        };

        if (consistent)
                buf_clear(&w->rv);
        w->state.lists++;
        w->list_began_ms = loop_now_ms(w->client->loop);
        w->silent_streams = 0;
        w->internal_errors = 0;
        w->list = kube_list_start(w->client, &spec, &list_handler, w);
        set_phase(w, KUBE_WATCH_LISTING);
}

/* --- WATCH --- */

static int end_stream(struct kube_watch *w, struct ending ending, const struct err *why, struct err *err) {
        w->is_ended = true;
        w->ending = ending;
        w->ending_err = *why;
        return err_set(err, ERR_CANCELLED, "the stream is over");
}

static int on_error_event(struct kube_watch *w, struct str object, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct kube_status status;
        struct err why = { 0 };

        kube_status_from_object(object, a, &status, &why);
        err_wrap(&why, why.code, "watch %.*s", STR_FMT(w->spec.at.plural));
        return end_stream(w, ending_of_status(w, &status), &why, err);
}

static int on_garbage(struct kube_watch *w, struct err *err) {
        struct err why = { 0 };

        err_set(&why, ERR_PARSE, "watch %.*s: a line of the stream is no event", STR_FMT(w->spec.at.plural));
        return end_stream(w, (struct ending){ .next = NEXT_LIST, .later = true }, &why, err);
}

/* Takes over an event's resourceVersion; negative when history went backwards. */
static int advance_rv(struct kube_watch *w, struct str object, struct err *err) {
        struct str metadata, rv = { 0 };
        struct err why = { 0 };
        int order = 0;

        if (!skim_member(object, STR("metadata"), &metadata) || !skim_string(metadata, STR("resourceVersion"), &rv) ||
            rv.n == 0)
                return 0;
        if (!kube_rv_cmp(rv, buf_str(&w->rv), &order) || order >= 0) {
                set_rv(w, rv);
                return 0;
        }
        err_set(&why, ERR_GONE, "watch %.*s: resourceVersion went back from %s to %.*s", STR_FMT(w->spec.at.plural),
                w->rv.p, STR_FMT(rv));
        return end_stream(w, (struct ending){ .next = NEXT_LIST_CONSISTENT }, &why, err);
}

static const struct {
        const char *type;
        enum kube_watch_event event;
} events[] = {
        { "ADDED", KUBE_WATCH_ADDED },
        { "MODIFIED", KUBE_WATCH_MODIFIED },
        { "DELETED", KUBE_WATCH_DELETED },
};

static int on_event(struct kube_watch *w, enum kube_watch_event event, struct str object, struct err *err) {
        int r = advance_rv(w, object, err);
        if (r < 0)
                return r;

        w->internal_errors = 0;
        TELL(w, event, event, object, buf_str(&w->rv));
        return w->dead ? err_set(err, ERR_CANCELLED, "the watch was freed") : 0;
}

static int on_line(void *ctx, struct str line, struct err *err) {
        struct kube_watch *w = ctx;
        struct str type, object;

        if (!skim_string(line, STR("type"), &type) || !skim_member(line, STR("object"), &object))
                return on_garbage(w, err);
        if (str_eqc(type, "ERROR"))
                return on_error_event(w, object, err);
        if (str_eqc(type, "BOOKMARK")) {
                w->saw_bookmark = true;
                return advance_rv(w, object, err);
        }

        for (size_t i = 0; i < ARRAY_LEN(events); i++)
                if (str_eqc(type, events[i].type))
                        return on_event(w, events[i].event, object, err);
        return 0;
}

static int on_data(void *ctx, struct str chunk, struct err *err) {
        struct kube_watch *w = ctx;

        if (w->dead)
                return err_set(err, ERR_CANCELLED, "the watch was freed");
        w->state.last_byte_ms = loop_now_ms(w->client->loop);
        w->stream_spoke = true;
        w->silent_streams = 0;
        set_healthy(w);
        return split_lines_feed(&w->lines, chunk, on_line, w, err);
}

static struct ending ending_of_silence(struct kube_watch *w) {
        unsigned limit = w->saw_bookmark ? SILENT_STREAMS : SILENT_STREAMS_NO_MARKS;

        w->silent_streams++;
        return (struct ending){ .next = w->silent_streams >= limit ? NEXT_LIST : NEXT_STREAM };
}

static struct ending ending_of_err(struct kube_watch *w, const struct err *err) {
        int64_t lived_ms = loop_now_ms(w->client->loop) - w->stream_began_ms;

        if (err->code == ERR_TIMEOUT && lived_ms >= KUBE_WATCH_SILENCE_MS)
                return ending_of_silence(w);
        /* What came whole was used; what is wrong with the rest may be wrong again, so the list looks past it. */
        if (err->code == ERR_PARSE || err->code == ERR_LIMIT)
                return (struct ending){ .next = NEXT_LIST, .later = true };
        return (struct ending){ .next = NEXT_STREAM, .later = true };
}

static void stream_closed(struct kube_watch *w) {
        int64_t lived_ms = loop_now_ms(w->client->loop) - w->stream_began_ms;
        struct err err = { 0 };

        if (w->stream_spoke || lived_ms >= KUBE_WATCH_MIN_MS) {
                set_healthy(w);
                begin(w, NEXT_STREAM);
                return;
        }
        err_set(&err, ERR_UNREACHABLE, "watch %.*s: the server closes the stream at once", STR_FMT(w->spec.at.plural));
        wait_for(w, NEXT_STREAM, &err);
}

static void stream_refused(struct kube_watch *w, const struct kube_reply *reply) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct kube_status status;
        struct err err = { 0 };

        kube_status_from_reply(reply, a, &status, &err);
        err_wrap(&err, err.code, "watch %.*s", STR_FMT(w->spec.at.plural));
        w->state.not_served = status.not_served;
        go_on(w, ending_of_status(w, &status), &err);
}

static void stream_broke(struct kube_watch *w, const struct err *err) {
        struct err why = *err;

        err_wrap(&why, why.code, "watch %.*s", STR_FMT(w->spec.at.plural));
        go_on(w, ending_of_err(w, err), &why);
}

static void on_stream_done(void *ctx, const struct kube_reply *reply, const struct err *err) {
        struct kube_watch *w = ctx;

        w->stream = NULL;
        loop_timer_stop(w->timer);
        split_lines_done(&w->lines);
        /* Freed, or to be listed again, inside a callback: the timer goes on. */
        if (w->dead || w->wants_relist) {
                loop_timer_start(w->timer, 0);
                return;
        }
        w->state.not_served = false;
        if (w->is_ended)
                go_on(w, w->ending, &w->ending_err);
        else if (err)
                stream_broke(w, err);
        else if (reply->status < 200 || reply->status >= 300)
                stream_refused(w, reply);
        else
                stream_closed(w);
}

static const struct kube_handler stream_handler = { .data = on_data, .done = on_stream_done };

static int stream_path(struct kube_watch *w, struct buf *path, struct err *err) {
        uint64_t jitter_s = loop_random(w->client->loop, KUBE_WATCH_TIMEOUT_MAX_S - KUBE_WATCH_TIMEOUT_MIN_S);
        const struct kube_query query = {
                .label_selector = w->spec.watch_label_selector,
                .field_selector = w->spec.watch_field_selector,
                .resource_version = buf_str(&w->rv),
                .watch = true,
                .allow_bookmarks = true,
                .timeout_s = KUBE_WATCH_TIMEOUT_MIN_S + (uint32_t)jitter_s,
        };

        return kube_path(&w->spec.at, &query, path, err);
}

static void begin_stream(struct kube_watch *w) {
        _cleanup_(buf_done) struct buf path = buf_make(KUBE_MAX_PATH_BYTES);
        struct err err = { 0 };

        if (stream_path(w, &path, &err) < 0) {
                wait_for(w, NEXT_LIST, &err);
                return;
        }

        w->lines = split_lines_make(LINE_MAX_BYTES);
        w->is_ended = false;
        w->stream_spoke = false;
        w->stream_began_ms = loop_now_ms(w->client->loop);
        w->state.streams++;

        const struct kube_request request = {
                .method = KUBE_GET,
                .path = buf_str(&path),
                .priority = KUBE_PRIORITY_READ,
                .deadline_ms = -1,
                .silence_ms = KUBE_WATCH_SILENCE_MS,
                .max_body_bytes = KUBE_MAX_ERROR_BYTES, /* only a refusal is collected */
                .watch = true,
        };
        w->stream = kube_start(w->client->transport, &request, &stream_handler, w);
        if (w->state.err.code && !w->wants_relist)
                loop_timer_start(w->timer, KUBE_WATCH_SETTLED_MS);
        set_phase(w, KUBE_WATCH_STREAMING);
}

/* --- life --- */

static void stop_all(struct kube_watch *w) {
        kube_list_cancel(TAKE_PTR(w->list));
        if (w->stream)
                kube_cancel(w->client->transport, TAKE_PTR(w->stream));
        split_lines_done(&w->lines);
        loop_timer_stop(w->timer);
        w->replacing = false;
}

static void destroy(struct kube_watch *w) {
        stop_all(w);
        kube_task_remove(w->client, &w->task);
        loop_timer_free(w->timer);
        buf_done(&w->rv);
        arena_free(w->arena);
        free(w);
}

static void watch_abort(struct kube_task *task) {
        destroy((struct kube_watch *)task);
}

static void on_timer(void *ctx) {
        struct kube_watch *w = ctx;

        if (w->dead) {
                destroy(w);
        } else if (w->wants_relist) {
                w->wants_relist = false;
                stop_all(w);
                begin(w, NEXT_LIST_CONSISTENT);
        } else if (w->stream) {
                set_healthy(w);
        } else {
                begin(w, w->next);
        }
}

void kube_watch_free(struct kube_watch *w) {
        if (!w)
                return;
        if (!w->in_callback) {
                destroy(w);
                return;
        }
        w->dead = true;
        loop_timer_start(w->timer, 0);
}

void kube_watch_relist(struct kube_watch *w) {
        w->wants_relist = true;
        loop_timer_start(w->timer, 0);
}

void kube_watch_wake(struct kube_watch *w) {
        bool unreached = w->state.err.code == ERR_UNREACHABLE || w->state.err.code == ERR_TIMEOUT;
        int64_t now_ms = loop_now_ms(w->client->loop), until_ms;

        if (w->state.phase != KUBE_WATCH_WAITING || !unreached || w->dead || w->wants_relist)
                return;
        /* Asked-for waits (Retry-After) are kept. */
        if (w->state.err.retry_after_ms > 0)
                return;
        until_ms = now_ms + (int64_t)loop_random(w->client->loop, KUBE_WATCH_BACKOFF_MS);
        if (until_ms >= w->waited_until_ms)
                return;
        w->waited_until_ms = until_ms;
        loop_timer_start(w->timer, until_ms - now_ms);
}

static void copy_spec(struct kube_watch *w, const struct kube_watch_spec *spec) {
        struct str *const texts[] = {
                &w->spec.at.group,
                &w->spec.at.version,
                &w->spec.at.plural,
                &w->spec.at.namespace,
                &w->spec.at.name,
                &w->spec.at.subresource,
                &w->spec.list_label_selector,
                &w->spec.list_field_selector,
                &w->spec.watch_label_selector,
                &w->spec.watch_field_selector,
                &w->spec.start_rv,
        };

        w->spec = *spec;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                *texts[i] = arena_str(w->arena, *texts[i]);
}

struct kube_watch *kube_watch_new(struct kube_client *c, const struct kube_watch_spec *spec,
                                  const struct kube_watch_handler *handler, void *ctx) {
        struct kube_watch *w = mem_zalloc(sizeof *w);

        w->task.abort = watch_abort;
        w->client = c;
        w->arena = arena_new(512);
        w->handler = *handler;
        w->ctx = ctx;
        w->rv = buf_make(256);
        w->timer = loop_timer_new(c->loop, on_timer, w);
        w->state.since_ms = loop_now_ms(c->loop);
        w->lines = split_lines_make(LINE_MAX_BYTES);
        copy_spec(w, spec);
        set_rv(w, spec->start_rv);
        w->state.synced = w->rv.n > 0;
        w->next = w->rv.n ? NEXT_STREAM : NEXT_LIST_CONSISTENT;
        kube_task_add(c, &w->task);
        loop_timer_start(w->timer, 0);
        return w;
}
