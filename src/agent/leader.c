/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request at a time: `asked` says which, and step() what comes next whenever there is none. Whatever is learnt (an
 * answer, an event, a moment that has come) goes into `seen` or a flag, and then through step().
 */
#include "agent/leader.h"

#include <time.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "kube/fence.h"
#include "kube/watch.h"

#define SPREAD_MS      200 /* candidates that wait for the same moment come one after the other */
#define BODY_MAX_BYTES 4096

/* The Lease as it was seen last. */
struct seen {
        bool known; /* or known to be absent */
        bool exists;
        char *rv;         /* the newest that is known of it, also of its end; NULL: none yet */
        char *holder;     /* NULL: nobody's. Of one that is gone: whose it was */
        char *acquired;   /* acquireTime; NULL: none */
        int64_t lease_ms; /* as it says */
        int64_t transitions;
        struct hash128 spec;
        int64_t changed_ms; /* when we saw its spec change */
        int64_t spread_ms;
};

enum leader_state {
        LEADER_STANDS_BY,
        LEADER_LEADS,
        LEADER_ENDED, /* lost, or released */
};

enum leader_ask { ASK_LOOK, ASK_CLAIM, ASK_MAKE, ASK_MAKE_NAMESPACE, ASK_RELEASE };

struct leader {
        struct loop *loop;
        struct kube_client *client;
        struct kube_fence *fence;
        struct kube_watch *watch;
        bool listed; /* it was among the items of the list that is read now */
        struct loop_timer *timer;
        char *ns, *name, *identity;
        int64_t lease_ms, renew_ms, retry_ms;
        struct leader_hooks hooks;
        void *ctx;

        struct seen seen;
        struct kube_op *op; /* NULL: none is under way */
        enum leader_ask asked;
        int64_t sent_ms;
        bool looks_first; /* what is known of the Lease is not what it is */
        bool lacks_namespace;
        int64_t next_ms;    /* no request before */
        unsigned conflicts; /* in a row */

        enum leader_state state;
        int64_t renewed_ms; /* when what succeeded last was sent */
        struct err err;
        uint64_t slow_paths;

        bool releasing, drained;
        int64_t release_by_ms;
        void (*released)(void *ctx, const struct err *err);
        void *released_ctx;
};

static void step(struct leader *l);

/* --- what is seen ----------------------------------------------------------------------------------------------- */

static void set_text(char **at, struct str text) {
        free(*at);
        *at = text.n ? str_dup(text) : NULL;
}

static bool is_ours(const struct leader *l) {
        return l->seen.holder && strcmp(l->seen.holder, l->identity) == 0;
}

static void note_change(struct leader *l) {
        l->seen.changed_ms = loop_now_ms(l->loop);
        l->seen.spread_ms = (int64_t)loop_random(l->loop, SPREAD_MS);
}

static void take_spec(struct leader *l, const struct value *spec) {
        static const struct hash_key no_key;
        struct seen *s = &l->seen;
        struct hash128 hash = value_hash(&no_key, spec);
        int64_t seconds = 0;
        bool other_holder = !str_eq(value_text(value_getc(spec, "holderIdentity")), str_from(s->holder));

        if (!s->exists || !hash128_eq(hash, s->spec))
                note_change(l);
        s->spec = hash;
        set_text(&s->holder, value_text(value_getc(spec, "holderIdentity")));
        set_text(&s->acquired, value_text(value_getc(spec, "acquireTime")));
        s->transitions = 0;
        value_to_i64(value_getc(spec, "leaseTransitions"), &s->transitions);
        value_to_i64(value_getc(spec, "leaseDurationSeconds"), &seconds);
        s->lease_ms = seconds <= 0                           ? l->lease_ms
                      : seconds > LEADER_MAX_LEASE_MS / 1000 ? LEADER_MAX_LEASE_MS
                                                             : seconds * 1000;
        if (other_holder && s->holder && !is_ours(l))
                log_event(LOG_INFO, "leader", "another one leads", "holder", s->holder, NULL);
}

/* How old is it beside what was seen: <0 older, 0 the same, >0 newer; what cannot be compared is newer. */
static int age_of(const struct leader *l, struct str rv) {
        int order = 1;

        if (l->seen.rv && !kube_rv_cmp(rv, str_from(l->seen.rv), &order))
                order = !str_eqc(rv, l->seen.rv);
        return order;
}

/* `least`: -1 takes whatever it is, 0 nothing older than what was seen, 1 only what is newer. INVAL: it is no Lease. */
static int take(struct leader *l, struct str body, int least) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *lease;

        if (json_parse(body, a, &lease, NULL) < 0)
                return ERR_INVAL;
        struct str rv = value_text(value_path(lease, "metadata", "resourceVersion", NULL));
        if (!rv.n)
                return ERR_INVAL;
        if (least >= 0 && age_of(l, rv) < least)
                return 0;
        take_spec(l, value_getc(lease, "spec"));
        set_text(&l->seen.rv, rv);
        l->seen.known = l->seen.exists = true;
        return 0;
}

/* Whose it was stays known, and the resourceVersion that nothing older may be taken against. */
static void take_absence(struct leader *l) {
        l->seen.known = true;
        l->seen.exists = false;
}

/* When it may be taken: a moment that has passed, or one that may yet be moved by what is seen. */
static int64_t free_at_ms(const struct leader *l) {
        const struct seen *s = &l->seen;

        return !s->holder || is_ours(l) ? 0 : s->changed_ms + s->lease_ms + s->spread_ms;
}

/* --- the end of it ---------------------------------------------------------------------------------------------- */

static void end(struct leader *l) {
        l->state = LEADER_ENDED;
        kube_op_cancel(TAKE_PTR(l->op));
        loop_timer_stop(l->timer);
}

static void tell_released(struct leader *l, const struct err *err) {
        void (*released)(void *ctx, const struct err *err) = TAKE_PTR(l->released);

        end(l);
        if (released)
                released(l->released_ctx, err);
}

static void lose(struct leader *l, const char *why) {
        struct err err = { 0 };

        kube_fence_cut(l->fence);
        end(l);
        if (l->releasing) {
                err_set(&err, ERR_CONFLICT, "%s", why);
                tell_released(l, &err);
        } else {
                l->hooks.lost(l->ctx, why);
        }
}

static bool is_over(const struct leader *l) {
        return l->state == LEADER_LEADS && loop_now_ms(l->loop) >= l->renewed_ms + l->renew_ms;
}

static void lose_by_time(struct leader *l) {
        char why[ERR_MSG_MAX_BYTES + 256];

        snprintf(why, sizeof why, "Lease %s/%s was not renewed for %lld s%s%s", l->ns, l->name,
                 (long long)((loop_now_ms(l->loop) - l->renewed_ms) / 1000), l->err.code ? ": " : "",
                 l->err.code ? l->err.msg : "");
        lose(l, why);
}

/* What was seen of the Lease while we lead; false: it is lost. That it was given away its event may tell before the
 * answer. */
static bool still_leads(struct leader *l) {
        char why[512];

        if (l->state != LEADER_LEADS)
                return true;
        if (l->drained && l->seen.exists && !l->seen.holder)
                return true;
        if (!l->seen.exists) {
                kube_fence_open(l->fence, 0);
                l->next_ms = 0;
                return true;
        }
        if (is_ours(l))
                return true;
        snprintf(why, sizeof why, "Lease %s/%s is now %s%s", l->ns, l->name, l->seen.holder ? "held by " : "nobody's",
                 l->seen.holder ? l->seen.holder : "");
        lose(l, why);
        return false;
}

static void on_turn(void *ctx) {
        struct leader *l = ctx;

        if (is_over(l))
                lose_by_time(l);
}

/* --- requests --------------------------------------------------------------------------------------------------- */

static void on_answer(void *ctx, const struct kube_result *result);

/* RFC 3339 with six digits behind the point: a MicroTime. */
static void print_moment(int64_t wall_ms, char ret_text[40]) {
        time_t seconds = (time_t)(wall_ms / 1000);
        struct tm tm;
        size_t n;

        gmtime_r(&seconds, &tm);
        n = strftime(ret_text, 40, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(ret_text + n, 40 - n, ".%03d000Z", (int)(wall_ms % 1000));
}

static void add_text(struct buf *out, const char *key, const char *text) {
        buf_addf(out, "\"%s\":", key);
        value_print_string(str_from(text), out);
        buf_addch(out, ',');
}

static void add_spec(const struct leader *l, struct buf *out) {
        const struct seen *s = &l->seen;
        bool goes_on = s->exists && is_ours(l) && s->acquired;
        char now[40];

        int64_t transitions = s->transitions + (s->exists && !goes_on);

        print_moment(loop_wall_ms(l->loop), now);
        buf_addc(out, "\"spec\":{");
        if (l->asked == ASK_RELEASE)
                buf_addc(out, "\"holderIdentity\":null,");
        else
                add_text(out, "holderIdentity", l->identity);
        add_text(out, "acquireTime", goes_on ? s->acquired : now);
        add_text(out, "renewTime", now);
        buf_addf(out, "\"leaseDurationSeconds\":%lld,\"leaseTransitions\":%lld}",
                 (long long)(l->asked == ASK_RELEASE ? 1 : l->lease_ms / 1000),
                 (long long)(transitions > INT32_MAX ? 0 : transitions));
}

static struct kube_location lease_at(const struct leader *l, bool collection) {
        return (struct kube_location){ .group = STR("coordination.k8s.io"),
                                       .version = STR("v1"),
                                       .plural = STR("leases"),
                                       .namespace = str_from(l->ns),
                                       .name = str_from(collection ? NULL : l->name) };
}

/* No longer than the margin: one that hangs leaves time for another on a new connection. */
static struct kube_write write_of(const struct leader *l) {
        return (struct kube_write){ .field_manager = STR("truce"), .deadline_ms = l->lease_ms - l->renew_ms };
}

static void ask(struct leader *l, enum leader_ask what) {
        l->asked = what;
        l->sent_ms = loop_now_ms(l->loop);
}

static void look(struct leader *l) {
        struct kube_location at = lease_at(l, false);

        ask(l, ASK_LOOK);
        l->op = kube_client_get(l->client, &at, write_of(l).deadline_ms, on_answer, l);
}

/* A merge patch takes no other right than an apply does, and leaves alone what others have in it. */
static void patch(struct leader *l, enum leader_ask what) {
        _cleanup_(buf_done) struct buf body = buf_make(BODY_MAX_BYTES);
        struct kube_location at = lease_at(l, false);
        struct kube_write how = write_of(l);

        ask(l, what);
        buf_addc(&body, "{\"metadata\":{\"resourceVersion\":");
        value_print_string(str_from(l->seen.rv), &body);
        buf_addc(&body, "},");
        add_spec(l, &body);
        buf_addch(&body, '}');
        l->op = kube_client_patch(l->client, &at, KUBE_PATCH_MERGE, buf_str(&body), &how, on_answer, l);
}

static void make(struct leader *l) {
        _cleanup_(buf_done) struct buf body = buf_make(BODY_MAX_BYTES);
        struct kube_location at = lease_at(l, true);
        struct kube_write how = write_of(l);

        ask(l, ASK_MAKE);
        buf_addf(&body, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"%s\"},",
                 l->name);
        add_spec(l, &body);
        buf_addch(&body, '}');
        l->op = kube_client_create(l->client, &at, buf_str(&body), &how, on_answer, l);
}

static void make_namespace(struct leader *l) {
        _cleanup_(buf_done) struct buf body = buf_make(BODY_MAX_BYTES);
        struct kube_location at = { .version = STR("v1"), .plural = STR("namespaces") };
        struct kube_write how = write_of(l);

        ask(l, ASK_MAKE_NAMESPACE);
        buf_addf(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", l->ns);
        l->op = kube_client_create(l->client, &at, buf_str(&body), &how, on_answer, l);
}

static void claim(struct leader *l) {
        if (l->lacks_namespace)
                make_namespace(l);
        else if (l->seen.exists)
                patch(l, ASK_CLAIM);
        else
                make(l);
}

/* --- answers ---------------------------------------------------------------------------------------------------- */

/* Who leads has not much time for it to go well again. */
static void failed(struct leader *l, const struct err *err) {
        int64_t pause_ms = l->state == LEADER_LEADS ? l->retry_ms / 4 : l->retry_ms;

        l->err = *err;
        l->next_ms = loop_now_ms(l->loop) + pause_ms + (int64_t)loop_random(l->loop, (uint64_t)pause_ms);
        log_event_limited(LOG_WARN, "leader",
                          l->state == LEADER_LEADS ? "the Lease cannot be renewed now, tried again"
                                                   : "the Lease cannot be had now, tried again",
                          "err", err->msg, NULL);
}

/* Somebody else wrote it, or what became of our write is not known. */
static void look_again(struct leader *l) {
        l->slow_paths++;
        l->looks_first = true;
        l->next_ms =
                l->conflicts++ ? loop_now_ms(l->loop) + (int64_t)loop_random(l->loop, SPREAD_MS * l->conflicts) : 0;
}

static void held(struct leader *l) {
        l->renewed_ms = l->sent_ms;
        l->next_ms = l->drained ? 0 : l->sent_ms + l->retry_ms;
        l->conflicts = 0;
        if (loop_now_ms(l->loop) >= l->sent_ms + l->renew_ms)
                return; /* the answer came too late to be of use */
        kube_fence_open(l->fence, l->sent_ms + l->renew_ms);
        if (l->state == LEADER_LEADS)
                return;
        l->state = LEADER_LEADS;
        if (l->releasing)
                return;
        log_event(LOG_INFO, "leader", "this truce leads", "identity", l->identity, NULL);
        l->hooks.leads(l->ctx);
}

static void refused(struct leader *l, const struct kube_result *result) {
        enum err_code code = result->err.code;

        l->lacks_namespace = result->status.namespace_missing;
        if (code == ERR_NOTFOUND && !result->status.not_served)
                take_absence(l);
        if (code == ERR_CONFLICT) {
                look_again(l);
                return;
        }
        if (code == ERR_NOTFOUND && !result->status.not_served && (l->lacks_namespace || l->asked == ASK_CLAIM))
                return;
        l->looks_first = code == ERR_TIMEOUT || code == ERR_UNREACHABLE;
        failed(l, &result->err);
}

static void say_it_is_none(const struct leader *l, struct err *err) {
        err_set(err, ERR_PARSE, "what answers for Lease %s/%s is none", l->ns, l->name);
}

static void looked(struct leader *l, const struct kube_result *result) {
        struct err err = result->err;

        if (err.code == ERR_NOTFOUND && !result->status.not_served) {
                take_absence(l);
                err.code = 0;
        } else if (!err.code && take(l, result->body, -1) < 0) {
                say_it_is_none(l, &err);
        }
        l->looks_first &= err.code != 0;
        if (err.code)
                failed(l, &err);
        else
                l->err.code = 0;
}

static void wrote(struct leader *l, const struct kube_result *result) {
        enum err_code code = result->err.code;
        struct err err = { 0 };

        if (l->asked == ASK_MAKE_NAMESPACE && (code == 0 || result->status.conflict == KUBE_CONFLICT_EXISTS)) {
                l->lacks_namespace = false;
        } else if (code) {
                refused(l, result);
        } else if (take(l, result->body, 0) < 0) {
                say_it_is_none(l, &err);
                failed(l, &err);
        } else {
                l->err.code = 0;
                if (l->seen.exists && is_ours(l))
                        held(l);
        }
}

static void on_answer(void *ctx, const struct kube_result *result) {
        struct leader *l = ctx;

        l->op = NULL;
        if (l->asked == ASK_RELEASE && result->err.code == 0) {
                tell_released(l, NULL);
                return;
        }
        if (l->asked == ASK_LOOK)
                looked(l, result);
        else
                wrote(l, result);
        if (still_leads(l))
                step(l);
}

/* --- what comes next -------------------------------------------------------------------------------------------- */

static bool is_watched(const struct leader *l) {
        const struct kube_watch_state *state = kube_watch_state(l->watch);

        return state->synced && !state->err.code;
}

/* Also while a request is under way: what is held must be looked at when it is over. */
static void wait_until(struct leader *l, int64_t at_ms) {
        int64_t now_ms = loop_now_ms(l->loop), over_ms = l->renewed_ms + l->renew_ms;

        if (l->state == LEADER_LEADS && at_ms > over_ms)
                at_ms = over_ms;
        loop_timer_start(l->timer, at_ms - now_ms);
}

/* What is not watched is read every now and then. */
static void step_waiting(struct leader *l) {
        int64_t now_ms = loop_now_ms(l->loop), free_ms = free_at_ms(l);
        int64_t look_ms = is_watched(l) ? INT64_MAX : l->sent_ms + l->retry_ms;

        if (!l->seen.known || l->looks_first || (now_ms < free_ms && now_ms >= look_ms))
                look(l);
        else if (now_ms >= free_ms)
                claim(l);
        else
                wait_until(l, look_ms < free_ms ? look_ms : free_ms);
}

/* Of one that does not hold it there is nothing to give away; what may have been taken by now is looked at. */
static void step_releasing(struct leader *l) {
        bool holds = l->seen.exists && is_ours(l);
        struct err err = { 0 };

        if (loop_now_ms(l->loop) >= l->release_by_ms) {
                err_set(&err, ERR_TIMEOUT, "%s", l->drained ? "it could not be written" : "writes are still under way");
                kube_fence_cut(l->fence);
                tell_released(l, &err);
        } else if (loop_now_ms(l->loop) < l->next_ms) {
                wait_until(l, l->next_ms < l->release_by_ms ? l->next_ms : l->release_by_ms);
        } else if (l->looks_first) {
                look(l);
        } else if (!l->drained && holds) {
                claim(l);
        } else if (!l->drained) {
                wait_until(l, l->release_by_ms);
        } else if (holds) {
                patch(l, ASK_RELEASE);
        } else {
                tell_released(l, NULL);
        }
}

static void next(struct leader *l) {
        if (l->releasing)
                step_releasing(l);
        else if (loop_now_ms(l->loop) < l->next_ms)
                wait_until(l, l->next_ms);
        else if (l->state != LEADER_LEADS)
                step_waiting(l);
        else if (l->looks_first)
                look(l);
        else
                claim(l);
}

static void step(struct leader *l) {
        if (l->state == LEADER_ENDED && l->released)
                tell_released(l, NULL);
        if (l->state == LEADER_ENDED)
                return;
        if (!l->op)
                next(l);
        if (l->op)
                wait_until(l, loop_now_ms(l->loop) + l->lease_ms);
}

static void on_timer(void *ctx) {
        struct leader *l = ctx;

        if (is_over(l))
                lose_by_time(l);
        else
                step(l);
}

/* --- the watch -------------------------------------------------------------------------------------------------- */

static void saw(struct leader *l, struct str lease) {
        if (l->state != LEADER_ENDED && take(l, lease, 1) == 0 && still_leads(l))
                step(l);
}

static void saw_absence(struct leader *l, struct str rv) {
        if (l->state == LEADER_ENDED || age_of(l, rv) < 1)
                return;
        take_absence(l);
        set_text(&l->seen.rv, rv);
        if (still_leads(l))
                step(l);
}

static void on_list_begin(void *ctx) {
        struct leader *l = ctx;

        l->listed = false;
}

static void on_item(void *ctx, struct str object) {
        struct leader *l = ctx;

        l->listed = true;
        saw(l, object);
}

static void on_list_end(void *ctx, struct str resource_version) {
        struct leader *l = ctx;

        if (!l->listed)
                saw_absence(l, resource_version);
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str resource_version) {
        if (event == KUBE_WATCH_DELETED)
                saw_absence(ctx, resource_version);
        else
                saw(ctx, object);
}

static void on_watch_state(void *ctx, const struct kube_watch_state *state) {
        (void)state;
        step(ctx);
}

static const struct kube_watch_handler watch_handler = { on_list_begin, on_item, on_list_end, on_event,
                                                         on_watch_state };

static void begin_watch(struct leader *l) {
        _cleanup_(buf_done) struct buf selector = buf_make(BODY_MAX_BYTES);
        struct kube_watch_spec spec = { .at = lease_at(l, true) };

        buf_addf(&selector, "metadata.name=%s", l->name);
        spec.list_field_selector = spec.watch_field_selector = buf_str(&selector);
        l->watch = kube_watch_new(l->client, &spec, &watch_handler, l);
}

/* --- from outside ----------------------------------------------------------------------------------------------- */

struct leader *leader_new(struct loop *loop, struct kube_transport *t, const struct leader_options *options,
                          const struct leader_hooks *hooks, void *ctx) {
        struct leader *l = mem_zalloc(sizeof *l);

        l->loop = loop;
        l->client = kube_client_new(t, loop);
        l->fence = kube_fence_new(t, loop);
        l->timer = loop_timer_new(loop, on_timer, l);
        l->ns = str_dup(options->ns);
        l->name = str_dup(options->name);
        l->identity = str_dup(options->identity);
        l->lease_ms =
                (options->lease_ms ? options->lease_ms : LEADER_LEASE_MS) / 1000 * 1000; /* it says whole seconds */
        l->renew_ms = l->lease_ms * 2 / 3;
        l->retry_ms = l->lease_ms * 2 / 15;
        l->hooks = *hooks;
        l->ctx = ctx;
        begin_watch(l);
        loop_on_turn(loop, on_turn, l);
        loop_timer_start(l->timer, 0);
        return l;
}

void leader_free(struct leader *l) {
        if (!l)
                return;
        loop_on_turn(l->loop, NULL, NULL);
        kube_op_cancel(l->op);
        kube_watch_free(l->watch);
        kube_client_free(l->client);
        kube_fence_free(l->fence);
        loop_timer_free(l->timer);
        free(l->seen.rv);
        free(l->seen.holder);
        free(l->seen.acquired);
        free(l->ns);
        free(l->name);
        free(l->identity);
        free(l);
}

struct kube_transport *leader_transport(const struct leader *l) {
        return kube_fence_transport(l->fence);
}

static void on_drained(void *ctx) {
        struct leader *l = ctx;

        l->drained = true;
        l->next_ms = 0;
        step(l);
}

void leader_release(struct leader *l, void (*released)(void *ctx, const struct err *err), void *ctx) {
        l->released = released;
        l->released_ctx = ctx;
        l->releasing = true;
        l->release_by_ms = loop_now_ms(l->loop) + LEADER_DRAIN_MS;
        kube_fence_drain(l->fence, on_drained, l);
        if (l->state == LEADER_ENDED)
                loop_timer_start(l->timer, 0);
}

void leader_status(const struct leader *l, struct leader_status *ret) {
        *ret = (struct leader_status){
                .leads = l->state == LEADER_LEADS,
                .knows = l->seen.known,
                .ns = str_from(l->ns),
                .name = str_from(l->name),
                .identity = str_from(l->identity),
                .holder = l->seen.exists ? str_from(l->seen.holder) : (struct str){ 0 },
                .transitions = l->seen.transitions,
                .renewed_ms = l->renewed_ms,
                .err = &l->err,
                .slow_paths = l->slow_paths,
                .refused = kube_fence_refused(l->fence),
        };
}
