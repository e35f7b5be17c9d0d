/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/events.h"

#include <time.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/value.h"
#include "sync/backoff.h"

#define INTERVAL_MS 30000          /* between two requests about one object and reason */
#define KEPT_MS     (55 * 60000)   /* the API server keeps an Event for an hour since it was written last */
#define NAME_MAX_BYTES 230         /* with a dot and 16 digits it is a legal name of at most 253 */
#define KNOWN_BYTES 480            /* what most Events are about and why, as text */
#define DEADLINE_MS 10000          /* of a request */
#define PAUSE_MS 5000              /* the first one */
#define REFUSED_MAX 1000           /* namespaces remembered */
#define TURN_MS (60000 / EVENTS_PER_MINUTE)

/* One Event: what the server has of it, and what is yet to be sent. */
struct known {
        struct arena *arena; /* of `about` and `reason`; replaced with them */
        struct event_object about;
        const char *reason;
        bool warning;
        char *message;
        char *name;          /* NULL: the server has none */
        int64_t first_wall_ms, last_wall_ms;
        int64_t sent_ms;     /* loop time of the last request; 0: there was none */
        uint64_t count;
        bool waiting;        /* told since the last request, or that one did not get through */
};

struct events {
        struct loop *loop;
        struct kube_client *client;
        char *installation;
        struct map *known; /* key_of() → struct known */
        size_t waiting;
        struct loop_timer *timer;
        struct kube_op *call;
        struct known *sending; /* of `call`; stays known as long as that */
        bool creating;         /* `call` makes it */
        int64_t spent_ms;      /* the burst is used up when this is EVENTS_BURST turns ahead of the loop's clock */
        int64_t pause_until_ms;
        unsigned failures;     /* in a row, of requests that did not get through */
        struct map *refused;   /* namespace → struct refusal */
};

struct refusal {
        int64_t until_ms;
};

static void pump(void *ctx);

static void known_free(void *p) {
        struct known *k = p;

        arena_free(k->arena);
        free(k->message);
        free(k->name);
        free(k);
}

struct events *events_new(struct loop *l, struct kube_client *c, struct str installation) {
        struct events *e = mem_zalloc(sizeof *e);

        e->loop = l;
        e->client = c;
        e->installation = str_dup(installation);
        e->known = map_new(known_free);
        e->refused = map_new(free);
        e->timer = loop_timer_new(l, pump, e);
        return e;
}

void events_free(struct events *e) {
        if (!e)
                return;
        kube_op_cancel(e->call);
        loop_timer_free(e->timer);
        map_free(e->known);
        map_free(e->refused);
        free(e->installation);
        free(e);
}

/* --- bodies ----------------------------------------------------------------------------------------------------- */

static const struct value *text(struct arena *a, struct str s) {
        return value_string(a, s, 0);
}

static const struct value *moment(struct arena *a, int64_t wall_ms) {
        time_t seconds = (time_t)(wall_ms / 1000);
        struct tm tm;
        char out[32];

        gmtime_r(&seconds, &tm);
        strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%SZ", &tm);
        return text(a, str_from(out));
}

static const struct value *involved_object(const struct known *k, struct arena *a) {
        const struct event_object *o = &k->about;
        const struct { const char *key; struct str text; } members[] = {
                { "apiVersion", o->api_version }, { "kind", o->kind }, { "namespace", o->ns }, { "name", o->name },
                { "uid", o->uid }, { "resourceVersion", o->resource_version },
        };
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(members); i++)
                if (members[i].text.n)
                        value_map_add(&b, str_from(members[i].key), text(a, members[i].text), 0);
        return value_map_end(&b, a, 0);
}

static struct str namespace_of(const struct known *k) {
        return k->about.ns.n ? k->about.ns : STR("default");
}

static void add_news(struct value_map_builder *b, const struct known *k, struct arena *a) {
        value_map_add(b, STR("message"), text(a, str_from(k->message)), 0);
        value_map_add(b, STR("lastTimestamp"), moment(a, k->last_wall_ms), 0);
        value_map_add(b, STR("count"), value_int(a, (int64_t)k->count, 0), 0);
}

static struct str first_body(const struct events *e, const struct known *k, struct arena *a) {
        struct value_map_builder b = { 0 }, meta = { 0 }, source = { 0 };

        value_map_add(&meta, STR("name"), text(a, str_from(k->name)), 0);
        value_map_add(&meta, STR("namespace"), text(a, namespace_of(k)), 0);
        value_map_add(&source, STR("component"), text(a, STR("truce")), 0);
        value_map_add(&b, STR("apiVersion"), text(a, STR("v1")), 0);
        value_map_add(&b, STR("kind"), text(a, STR("Event")), 0);
        value_map_add(&b, STR("metadata"), value_map_end(&meta, a, 0), 0);
        value_map_add(&b, STR("involvedObject"), involved_object(k, a), 0);
        value_map_add(&b, STR("type"), text(a, k->warning ? STR("Warning") : STR("Normal")), 0);
        value_map_add(&b, STR("reason"), text(a, str_from(k->reason)), 0);
        value_map_add(&b, STR("source"), value_map_end(&source, a, 0), 0);
        value_map_add(&b, STR("reportingComponent"), text(a, STR("truce.dev/agent")), 0);
        value_map_add(&b, STR("reportingInstance"), text(a, str_from(e->installation)), 0);
        value_map_add(&b, STR("firstTimestamp"), moment(a, k->first_wall_ms), 0);
        add_news(&b, k, a);
        return value_canonical(a, value_map_end(&b, a, 0));
}

static struct str next_body(const struct known *k, struct arena *a) {
        struct value_map_builder b = { 0 };

        add_news(&b, k, a);
        return value_canonical(a, value_map_end(&b, a, 0));
}

/* Unlike any other of this object: its uid and kind, the reason and when it began are in it. */
static char *new_name(const struct known *k, struct arena *a) {
        static const struct hash_key no_key;
        struct str base = k->about.name.n > NAME_MAX_BYTES ? str_sub(k->about.name, 0, NAME_MAX_BYTES) : k->about.name;
        struct str all = arena_strf(a, "%.*s %.*s %s %lld", STR_FMT(k->about.uid), STR_FMT(k->about.kind), k->reason,
                                    (long long)k->first_wall_ms);
        struct hash128 h = hash128(&no_key, all);

        return str_dup(arena_strf(a, "%.*s.%016llx", STR_FMT(base), (unsigned long long)h.lo));
}

/* --- requests --------------------------------------------------------------------------------------------------- */

/* The server has none: the next request makes another one, which counts from what is told and not sent. */
static void begin_anew(struct known *k) {
        free(TAKE_PTR(k->name));
        k->count = k->waiting;
}

static void wait_again(struct events *e, struct known *k) {
        e->waiting += !k->waiting;
        k->waiting = true;
}

static bool got_through(const struct kube_result *result) {
        return !result->err.code || (result->http_status && result->http_status != 429 && result->http_status != 401 &&
                                     result->http_status < 500);
}

/* Whether an Event whose creation broke was made is not known: it keeps its name, and a patch will tell. */
static void pause_all(struct events *e, struct known *k, const struct err *err) {
        struct backoff pause = { PAUSE_MS, 2, EVENTS_MAX_PAUSE_MS };

        e->pause_until_ms = loop_now_ms(e->loop) + backoff_after(&pause, ++e->failures, err, 0);
        wait_again(e, k);
}

/* What waits for the namespace is dropped. */
static void refuse(struct events *e, struct str ns) {
        struct refusal *r = mem_alloc(sizeof *r);
        size_t at = 0;
        void *p;

        if (map_count(e->refused) >= REFUSED_MAX) {
                map_free(e->refused);
                e->refused = map_new(free);
        }
        r->until_ms = loop_now_ms(e->loop) + EVENTS_REFUSED_MS;
        map_set(e->refused, ns, r);
        while (map_next(e->known, &at, NULL, &p)) {
                struct known *k = p;

                if (!k->waiting || !str_eq(namespace_of(k), ns))
                        continue;
                k->waiting = false;
                e->waiting--;
        }
}

static bool is_refused(const struct events *e, struct str ns) {
        const struct refusal *r = map_find(e->refused, ns);

        return r && r->until_ms > loop_now_ms(e->loop);
}

static bool is_about_namespace(const struct kube_result *result) {
        return result->err.code == ERR_FORBIDDEN || result->err.code == ERR_DENIED || result->status.namespace_missing ||
               result->status.namespace_terminating;
}

/*
 * An Event that the server has forgotten begins anew; one that it has already, from a creation whose answer was lost, is
 * patched from then on; what it refuses otherwise is not tried again.
 */
static void answered(void *ctx, const struct kube_result *result) {
        struct events *e = ctx;
        struct known *k = TAKE_PTR(e->sending);
        bool is_there = e->creating && result->status.conflict == KUBE_CONFLICT_EXISTS;

        e->call = NULL;
        if (result->err.code && !is_there)
                log_event(LOG_DEBUG, "events", "an Event was not taken", "reason", k->reason, "err", result->err.msg, NULL);
        if (!got_through(result)) {
                pause_all(e, k, &result->err);
                pump(e);
                return;
        }
        e->failures = 0;
        if (is_about_namespace(result)) {
                refuse(e, namespace_of(k));
                begin_anew(k);
        } else if (result->err.code == ERR_NOTFOUND && !e->creating) {
                wait_again(e, k);
                begin_anew(k);
                k->sent_ms = 0;
        } else if (result->err.code && !is_there) {
                begin_anew(k);
        }
        pump(e);
}

static void send(struct events *e, struct known *k) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct kube_write how = { .field_manager = STR("truce"), .deadline_ms = DEADLINE_MS };
        struct kube_location at = { .version = STR("v1"), .plural = STR("events"), .namespace = namespace_of(k) };

        k->waiting = false;
        e->waiting--;
        k->sent_ms = loop_now_ms(e->loop);
        e->spent_ms = (e->spent_ms > k->sent_ms ? e->spent_ms : k->sent_ms) + TURN_MS;
        e->sending = k;
        e->creating = !k->name;
        if (k->name) {
                at.name = str_from(k->name);
                e->call = kube_client_patch(e->client, &at, KUBE_PATCH_MERGE, next_body(k, a), &how, answered, e);
                return;
        }
        k->first_wall_ms = k->last_wall_ms;
        k->name = new_name(k, a);
        e->call = kube_client_create(e->client, &at, first_body(e, k, a), &how, answered, e);
}

static int64_t due_ms(const struct known *k) {
        return k->sent_ms ? k->sent_ms + INTERVAL_MS : 0;
}

/* When the next one of all may be sent. */
static int64_t open_ms(const struct events *e) {
        int64_t turn_ms = e->spent_ms - (EVENTS_BURST - 1) * TURN_MS;

        return turn_ms > e->pause_until_ms ? turn_ms : e->pause_until_ms;
}

/* What is due sooner; of what is due by now a warning, then what is due longest. */
static bool goes_before(const struct known *a, const struct known *b, int64_t now_ms) {
        int64_t a_ms = due_ms(a) > now_ms ? due_ms(a) : now_ms, b_ms = due_ms(b) > now_ms ? due_ms(b) : now_ms;

        if (a_ms != b_ms)
                return a_ms < b_ms;
        return a->warning != b->warning ? a->warning : due_ms(a) < due_ms(b);
}

/* One request at a time; the timer waits for what is due next. */
static void pump(void *ctx) {
        struct events *e = ctx;
        struct known *next = NULL;
        int64_t now_ms = loop_now_ms(e->loop), wait_ms;
        size_t at = 0;
        void *p;

        if (e->call)
                return;
        while (map_next(e->known, &at, NULL, &p)) {
                struct known *k = p;

                if (k->waiting && (!next || goes_before(k, next, now_ms)))
                        next = k;
        }
        if (!next)
                return;
        wait_ms = (due_ms(next) > open_ms(e) ? due_ms(next) : open_ms(e)) - now_ms;
        if (wait_ms > 0)
                loop_timer_start(e->timer, wait_ms);
        else
                send(e, next);
}

/* --- telling ---------------------------------------------------------------------------------------------------- */

/* Its key; empty: none rests. */
static struct str longest_at_rest(const struct events *e, struct arena *a) {
        struct known *oldest = NULL;
        struct str key, found = { 0 };
        size_t at = 0;
        void *p;

        while (map_next(e->known, &at, &key, &p)) {
                struct known *k = p;

                if (k->waiting || k == e->sending || (oldest && oldest->last_wall_ms <= k->last_wall_ms))
                        continue;
                oldest = k;
                found = key;
        }
        return arena_str(a, found);
}

/* NULL: there is no place for another one. */
static struct known *known_of(struct events *e, struct str key, struct arena *a) {
        struct known *k = map_find(e->known, key);

        if (k)
                return k;
        if (map_count(e->known) >= EVENTS_MAX_KNOWN && !map_remove(e->known, longest_at_rest(e, a)))
                return NULL;
        k = mem_zalloc(sizeof *k);
        map_set(e->known, key, k);
        return k;
}

static void take_in(struct known *k, const struct event_object *about, const char *reason) {
        _cleanup_(arena_freep) struct arena *old = k->arena;

        k->arena = arena_new(KNOWN_BYTES);
        k->about = (struct event_object){
                arena_str(k->arena, about->api_version), arena_str(k->arena, about->kind), arena_str(k->arena, about->ns),
                arena_str(k->arena, about->name), arena_str(k->arena, about->uid),
                arena_str(k->arena, about->resource_version),
        };
        k->reason = arena_str(k->arena, str_from(reason)).p;
}

static struct str cut(struct str s) {
        size_t n = s.n < EVENT_MESSAGE_MAX_BYTES ? s.n : EVENT_MESSAGE_MAX_BYTES;

        while (n < s.n && n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
                n--; /* not within a character */
        return str_sub(s, 0, n);
}

static struct str key_of(const struct event_object *about, const char *reason, struct arena *a) {
        if (about->uid.n)
                return arena_strf(a, "%.*s %s", STR_FMT(about->uid), reason);
        return arena_strf(a, "%.*s %.*s %.*s/%.*s %s", STR_FMT(about->api_version), STR_FMT(about->kind), STR_FMT(about->ns),
                          STR_FMT(about->name), reason);
}

/* Drops one that waits and is no warning. */
static bool give_way(struct events *e) {
        size_t at = 0;
        void *p;

        while (map_next(e->known, &at, NULL, &p)) {
                struct known *k = p;

                if (!k->waiting || k->warning)
                        continue;
                k->waiting = false;
                e->waiting--;
                return true;
        }
        return false;
}

static bool has_room(struct events *e, bool warning) {
        return e->waiting < EVENTS_MAX_WAITING || (warning && give_way(e));
}

void events_tell(struct events *e, const struct event_object *about, bool warning, const char *reason, struct str message) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct known *k;
        int64_t wall_ms = loop_wall_ms(e->loop);

        if (!about->name.n || is_refused(e, about->ns.n ? about->ns : STR("default")) || !has_room(e, warning))
                return;
        k = known_of(e, key_of(about, reason, a), a);
        if (!k)
                return;
        if (k->name && wall_ms - k->last_wall_ms > KEPT_MS)
                begin_anew(k); /* nothing of it waits after so long, save where nothing could be sent */
        take_in(k, about, reason);
        k->warning = warning;
        free(k->message);
        k->message = str_dup(cut(message));
        k->last_wall_ms = wall_ms;
        k->count++;
        e->waiting += !k->waiting;
        k->waiting = true;
        pump(e);
}
