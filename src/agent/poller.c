/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/poller.h"

#include "base/map.h"
#include "git/deadline.h"
#include "sync/backoff.h"

#define JITTER_PERCENT 10

struct remote {
        struct git_source *source;
        unsigned users; /* looks under way, and holds; the last one frees a remote that was let go */
        bool let_go;
};

struct poll_hold {
        struct remote *remote;
};

struct poll_subscription {
        struct poll *poll;
        struct poll_subscription *next;
        poll_fn fn;
        void *ctx;
        bool told;        /* the news at hand */
        bool asked;       /* poll_look() was called: a look that was begun then or later is to be told */
        int64_t asked_ms;
};

struct look;

struct poll {
        struct poller *poller;
        struct remote *remote;         /* NULL: not opened yet */
        poller_open_fn open;
        void *open_ctx;
        const void *open_key;
        char *remote_key;
        char *revision;
        struct loop_timer *timer;
        struct look *look;             /* under way */
        int64_t looked_ms;             /* when the last one that succeeded was begun; 0: none has */
        struct poll_subscription *subscriptions;
        struct arena *arena;           /* of the news */
        struct poll_news news;
        bool has_news;
        bool forgotten;                /* the next look fetches and tells the commit again */
        struct err err;                /* of the last look */
        unsigned failures;             /* in a row */
};

struct poller {
        struct loop *loop;
        int64_t poll_ms, timeout_ms;
        struct map *remotes, *polls;
        struct poller_stats stats;
};

/* One look on the git pool: immutable input, own memory. */
struct look {
        struct poll *poll;             /* NULL: nobody wants to know any more */
        struct remote *remote;
        struct loop_work *work;
        struct git_deadline deadline;
        atomic_bool cancelled;
        char *revision;
        struct git_id known;           /* zero: none */
        bool forgotten;                /* the commit is to be told again: still so when this look fails */
        struct arena *arena;
        struct git_revision result;
        struct git_commit_info info;
        bool changed;
        int64_t begun_ms;              /* by the loop's clock */
        int64_t noticed_ms, fetched_ms;
        int r;
        struct err err;
};

/* --- remotes ---------------------------------------------------------------------------------------------------- */

static void remote_drop(struct remote *remote) {
        if (remote->users || !remote->let_go)
                return;
        git_source_free(remote->source);
        free(remote);
}

static void remote_let_go(void *p) {
        struct remote *remote = p;

        remote->let_go = true;
        remote_drop(remote);
}

/* --- looks ------------------------------------------------------------------------------------------------------ */

static void run_look(void *ctx) {
        struct look *k = ctx;
        struct git_source *source = k->remote->source;

        k->r = git_source_resolve(source, str_from(k->revision), k->deadline, k->arena, &k->result, &k->err);
        k->noticed_ms = git_now_ms();
        if (k->r < 0 || git_id_eq(&k->result.commit, &k->known))
                return;
        k->changed = true;
        k->r = git_source_fetch(source, &k->result, k->deadline, &k->err);
        k->fetched_ms = git_now_ms();
        if (k->r == 0)
                k->r = git_source_describe(source, &k->result.commit, k->arena, &k->info, &k->err);
}

static void look_free(struct look *k) {
        arena_free(k->arena);
        free(k->revision);
        free(k);
}

static bool is_awaited(const struct poll_subscription *s) {
        return s->asked && s->poll->looked_ms >= s->asked_ms;
}

static void tell(struct poll_subscription *s, const struct err *err) {
        s->told |= !err;
        if (!err && is_awaited(s))
                s->asked = false;
        s->fn(s->ctx, err ? NULL : &s->poll->news, err);
}

/* A subscriber may unsubscribe itself while it is told. */
static void tell_all(struct poll *p, const struct err *err) {
        for (struct poll_subscription *s = p->subscriptions, *next; s; s = next) {
                next = s->next;
                tell(s, err);
        }
}

static void tell_awaited(struct poll *p) {
        for (struct poll_subscription *s = p->subscriptions, *next; s; s = next) {
                next = s->next;
                if (is_awaited(s))
                        tell(s, NULL);
        }
}

/* Does somebody wait for a look that was begun later than the one that has just succeeded? */
static bool is_due_again(const struct poll *p) {
        const struct poll_subscription *s = p->subscriptions;

        while (s && !s->asked)
                s = s->next;
        return s && !p->failures;
}

static void schedule(struct poll *p) {
        int64_t ms = p->poller->poll_ms;

        if (is_due_again(p)) {
                loop_timer_start(p->timer, 0);
                return;
        }
        if (!ms)
                return;
        if (p->failures) {
                struct backoff b = { ms < 5000 ? ms : 5000, 2, POLLER_MAX_BACKOFF_MS };

                ms = backoff_ms(&b, p->failures);
        }
        ms += (int64_t)loop_random(p->poller->loop, (uint64_t)ms * JITTER_PERCENT / 100 + 1);
        loop_timer_start(p->timer, ms);
}

static void failed(struct poll *p, const struct err *err) {
        bool same = p->failures && strcmp(p->err.msg, err->msg) == 0;

        p->failures++;
        p->poller->stats.failures++;
        p->err = *err;
        if (!same)
                tell_all(p, &p->err);
}

/* The clock of the pool thread and the loop's are the same one in a real loop; in virtual time the loop's counts. */
static int64_t on_loop_clock(const struct poll *p, int64_t at_ms) {
        int64_t now_ms = loop_now_ms(p->poller->loop), age_ms = git_now_ms() - at_ms;

        return at_ms && age_ms < now_ms ? now_ms - age_ms : now_ms;
}

static void succeeded(struct poll *p, struct look *k) {
        bool recovered = p->failures > 0;

        p->failures = 0;
        p->err.code = 0;
        p->looked_ms = k->begun_ms;
        if (k->changed) {
                arena_free(p->arena);
                p->arena = TAKE_PTR(k->arena);
                p->news = (struct poll_news){ p->remote->source, k->result.commit, k->result.name, k->info.subject,
                                              on_loop_clock(p, k->noticed_ms), on_loop_clock(p, k->fetched_ms) };
                p->has_news = true;
                p->poller->stats.fetches++;
        }
        if (k->changed || recovered)
                tell_all(p, NULL);
        else
                tell_awaited(p);
}

static void look_done(void *ctx, bool cancelled) {
        struct look *k = ctx;
        struct poll *p = k->poll;

        k->remote->users--;
        remote_drop(k->remote);
        if (p) {
                p->look = NULL;
                if (cancelled)
                        k->r = err_set(&k->err, ERR_CANCELLED, "cancelled");
                p->forgotten |= k->forgotten && k->r < 0;
                if (k->r < 0)
                        failed(p, &k->err);
                else
                        succeeded(p, k);
                schedule(p);
        }
        look_free(k);
}

/* The remote of the key, opened by whoever needs it first; NULL and *err when that does not work now. */
static struct remote *find_remote(struct poll *p, struct err *err) {
        struct map *remotes = p->poller->remotes;
        struct remote *remote = map_find(remotes, str_from(p->remote_key));

        if (remote)
                return remote;
        struct git_source *source = p->open(p->open_ctx, p->open_key, err);
        if (!source)
                return NULL;
        remote = mem_zalloc(sizeof *remote);
        remote->source = source;
        map_set(remotes, str_from(p->remote_key), remote);
        return remote;
}

static void begin_look(struct poll *p) {
        struct look *k;
        struct err err;

        if (p->look)
                return;
        if (!p->remote && !(p->remote = find_remote(p, &err))) {
                failed(p, &err);
                schedule(p);
                return;
        }
        k = mem_zalloc(sizeof *k);
        k->poll = p;
        k->remote = p->remote;
        k->remote->users++;
        k->revision = str_dup(str_from(p->revision));
        if (p->has_news && !p->forgotten)
                k->known = p->news.commit;
        k->forgotten = p->forgotten;
        p->forgotten = false;
        k->arena = arena_new(0);
        k->begun_ms = loop_now_ms(p->poller->loop);
        k->deadline = (struct git_deadline){ git_now_ms() + p->poller->timeout_ms, &k->cancelled };
        p->look = k;
        p->poller->stats.looks++;
        k->work = loop_work_start(p->poller->loop, LOOP_POOL_GIT, run_look, look_done, k);
}

/* --- polls ------------------------------------------------------------------------------------------------------ */

static void poll_free(void *ptr) {
        struct poll *p = ptr;

        if (p->look) {
                atomic_store(&p->look->cancelled, true);
                p->look->poll = NULL;
                loop_work_cancel(p->look->work);
        }
        loop_timer_free(p->timer);
        arena_free(p->arena);
        free(p->remote_key);
        free(p->revision);
        free(p);
}

struct poller *poller_new(struct loop *l, int64_t poll_ms, int64_t timeout_ms) {
        struct poller *p = mem_zalloc(sizeof *p);

        *p = (struct poller){ .loop = l, .poll_ms = poll_ms, .timeout_ms = timeout_ms,
                              .remotes = map_new(remote_let_go), .polls = map_new(poll_free) };
        return p;
}

void poller_free(struct poller *p) {
        if (!p)
                return;
        map_free(p->polls);
        map_free(p->remotes);
        free(p);
}

/* Tells news to a subscriber that came after it. */
static void tell_late(struct poll *p) {
        for (struct poll_subscription *s = p->subscriptions, *next; s; s = next) {
                next = s->next;
                if (!s->told)
                        tell(s, NULL);
        }
}

static void due(void *ctx) {
        struct poll *p = ctx;

        if (p->has_news)
                tell_late(p);
        begin_look(p);
}

struct poll_subscription *poller_subscribe(struct poller *poller, struct str remote_key, struct str revision,
                                           poller_open_fn open, void *open_ctx, const void *open_key, poll_fn fn,
                                           void *ctx) {
        _cleanup_(buf_done) struct buf key = buf_make(64 * 1024);

        buf_addf(&key, "%.*s\n%.*s", STR_FMT(remote_key), STR_FMT(revision));
        struct poll *p = map_find(poller->polls, buf_str(&key));
        if (!p) {
                p = mem_zalloc(sizeof *p);
                *p = (struct poll){ .poller = poller, .open = open, .open_ctx = open_ctx, .open_key = open_key };
                p->remote_key = str_dup(remote_key);
                p->revision = str_dup(revision);
                p->timer = loop_timer_new(poller->loop, due, p);
                map_set(poller->polls, buf_str(&key), p);
        }
        struct poll_subscription *s = mem_zalloc(sizeof *s);
        *s = (struct poll_subscription){ .poll = p, .next = p->subscriptions, .fn = fn, .ctx = ctx };
        p->subscriptions = s;
        loop_timer_start(p->timer, 0);
        return s;
}

void poller_unsubscribe(struct poll_subscription *s) {
        if (!s)
                return;
        for (struct poll_subscription **at = &s->poll->subscriptions; *at; at = &(*at)->next) {
                if (*at == s) {
                        *at = s->next;
                        break;
                }
        }
        free(s);
}

struct git_source *poll_source(const struct poll_subscription *s) {
        return s->poll->remote ? s->poll->remote->source : NULL;
}

struct poll_hold *poll_hold(struct poll_subscription *s) {
        struct poll_hold *hold = mem_zalloc(sizeof *hold);

        hold->remote = s->poll->remote;
        hold->remote->users++;
        return hold;
}

void poll_release(struct poll_hold *hold) {
        if (!hold)
                return;
        hold->remote->users--;
        remote_drop(hold->remote);
        free(hold);
}

void poll_forget(struct poll_subscription *s) {
        s->poll->forgotten = true;
}

void poll_look(struct poll_subscription *s) {
        s->asked = true;
        s->asked_ms = loop_now_ms(s->poll->poller->loop);
        loop_timer_start(s->poll->timer, 0);
}

void poll_now(struct poll_subscription *s) {
        loop_timer_start(s->poll->timer, 0);
}

int64_t poll_looked_ms(const struct poll_subscription *s) {
        return s->poll->looked_ms;
}

void poller_stats(const struct poller *p, struct poller_stats *ret_stats) {
        *ret_stats = p->stats;
}
