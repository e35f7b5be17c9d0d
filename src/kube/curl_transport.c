/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a call: queued (or waiting, for watches), running inside a pump, ended, done. Everything that comes from
 * the loop (a descriptor, a timer) ends in transport_settle(), where curl is not running and handles may be removed,
 * done() called, further calls launched.
 */
#include "kube/curl_transport.h"

#include "base/limits.h"
#include "kube/curl_impl.h"

/* Lists. */

static void list_remove(struct kube_call *call) {
        struct call_list *list = call->list;

        if (!list)
                return;
        *(call->prev ? &call->prev->next : &list->first) = call->next;
        *(call->next ? &call->next->prev : &list->last) = call->prev;
        list->count--;
        call->list = NULL;
        call->prev = call->next = NULL;
}

static void list_append(struct call_list *list, struct kube_call *call) {
        list_remove(call);
        call->list = list;
        call->prev = list->last;
        *(list->last ? &list->last->next : &list->first) = call;
        list->last = call;
        list->count++;
}

static void list_prepend(struct call_list *list, struct kube_call *call) {
        list_remove(call);
        call->list = list;
        call->next = list->first;
        *(list->first ? &list->first->prev : &list->last) = call;
        list->first = call;
        list->count++;
}

/* Takes the first call out of a list that has one. */
static struct kube_call *list_shift(struct call_list *list) {
        struct kube_call *call = list->first;

        list->first = call->next;
        *(call->next ? &call->next->prev : &list->last) = NULL;
        list->count--;
        call->list = NULL;
        call->next = NULL;
        return call;
}

static struct call_list *queue_of(struct kube_call *call) {
        return call->watch ? &call->transport->waiting : &call->transport->queue[call->priority];
}

static unsigned queued_count(const struct curl_transport *t) {
        unsigned n = 0;

        for (int i = 0; i < KUBE_PRIORITY_COUNT; i++)
                n += t->queue[i].count;
        return n;
}

/* Making and ending calls. */

void transport_kick(struct curl_transport *t) {
        if (!loop_timer_is_running(t->kick))
                loop_timer_start(t->kick, 0);
}

/* Only the first failure counts: what follows from it (curl's "write error") explains nothing. */
void call_fail(struct kube_call *call, enum err_code code, const char *fmt, ...) {
        char text[ERR_MSG_MAX_BYTES];
        va_list ap;

        if (call->failure)
                return;
        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        call->failure = mem_zalloc(sizeof *call->failure);
        err_set(call->failure, code, "%s", text);
}

static void call_free(struct kube_call *call) {
        list_remove(call);
        if (call->easy)
                call_teardown(call);
        loop_timer_free(call->timer);
        reply_done(call);
        free(call->path);
        free(call->body);
        free(call->failure);
        free(call);
}

/* Takes the call out of curl; it is in no list's care afterwards but the one it stands in. */
static void call_withdraw(struct kube_call *call) {
        if (call->pump) {
                pump_remove(call);
                call->transport->in_flight -= !call->watch;
        }
        if (call->easy)
                call_teardown(call);
}

static void call_end(struct kube_call *call) {
        call_withdraw(call);
        loop_timer_stop(call->timer);
        call->state = CALL_ENDED;
        list_append(&call->transport->ended, call);
}

/* Back to before everybody else of its kind: it has waited already. */
static void call_requeue(struct kube_call *call) {
        call_withdraw(call);
        reply_clear(call);
        call->state = CALL_QUEUED;
        call->sends = 0;
        call->connected = call->opens = false;
        list_prepend(queue_of(call), call);
}

static void call_resend(struct kube_call *call) {
        call_requeue(call);
        call->transport->stats.retries++;
}

static bool is_connection_loss(CURLcode result) {
        return result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR || result == CURLE_GOT_NOTHING ||
               result == CURLE_HTTP2 || result == CURLE_HTTP2_STREAM || result == CURLE_PARTIAL_FILE;
}

/* curl repeats by itself where it is sure; over HTTP/2 a broken connection often comes out as a plain error. */
static bool wants_second_connection(struct kube_call *call, CURLcode result) {
        long connects = 0;

        if (call->method != KUBE_GET || call->retried || call->status || !is_connection_loss(result))
                return false;
        (void)curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &connects);
        return connects == 0;
}

static bool wants_second_token(struct kube_call *call, CURLcode result) {
        struct curl_transport *t = call->transport;

        if (result != CURLE_OK || call->status != 401 || call->retried_auth)
                return false;
        return kube_auth_refused(t->auth, loop_now_ms(t->loop), call->token_generation);
}

void call_ended(struct kube_call *call, CURLcode result) {
        if (call->state != CALL_RUNNING)
                return;
        if (!call->failure && wants_second_token(call, result)) {
                call->retried_auth = true;
                call_resend(call);
                return;
        }
        if (!call->failure && wants_second_connection(call, result)) {
                call->retried = true;
                call_resend(call);
                return;
        }
        if (result != CURLE_OK)
                call_fail_curl(call, result);
        call_end(call);
}

static void count_call(struct curl_transport *t, const struct kube_call *call) {
        unsigned class = (unsigned)call->status / 100;

        t->stats.calls[call->method][!call->failure && class < KUBE_STATUS_CLASSES ? class : 0]++;
}

static void call_report(struct kube_call *call) {
        struct kube_reply reply = { .status = call->status,
                                    .content_type = buf_str(&call->content_type_seen),
                                    .body = buf_str(&call->reply),
                                    .warnings = buf_str(&call->warnings),
                                    .audit_id = buf_str(&call->audit_id),
                                    .retry_after_ms = call->retry_after_ms };

        count_call(call->transport, call);
        if (call->failure)
                call->failure->http_status = call->status;
        call->handler.done(call->ctx, &reply, call->failure);
        call_free(call);
}

/* Time. */

/* From here on the silence counts: the last byte, or the moment it was handed to curl. */
static int64_t quiet_since_ms(const struct kube_call *call) {
        return call->heard_at_ms > call->sent_at_ms ? call->heard_at_ms : call->sent_at_ms;
}

/*
 * Nothing at all came over these connections while the call waited: whatever is at the other end, new calls are better
 * off with a new one. Calls that are still on the old ones keep their own deadlines.
 */
static void retire_if_silent(struct kube_call *call) {
        struct curl_transport *t = call->transport;
        struct pump *p = call->pump, **current = call->watch ? &t->watches : &t->requests;

        if (!call->connected || p != *current || p->heard_at_ms > quiet_since_ms(call))
                return;

        struct pump *fresh = pump_new(t, call->watch);
        if (!fresh)
                return;
        p->next = t->retired;
        t->retired = p;
        *current = fresh;
}

static void time_out(struct kube_call *call, int64_t now_ms) {
        struct curl_transport *t = call->transport;
        const char *server = t->config->shown;

        if (call->state == CALL_QUEUED && !call->watch)
                call_fail(call, ERR_TIMEOUT, "%s: not sent within %.1f s: %u requests are queued and %u in flight", server,
                          (double)call->limit_ms / 1000, queued_count(t), t->in_flight);
        else if (now_ms >= call->deadline_at_ms)
                call_fail(call, ERR_TIMEOUT, "%s: %s within %.1f s", server,
                          call->status ? "no complete answer" : call->connected ? "no answer" : "no connection",
                          (double)call->limit_ms / 1000);
        else
                call_fail(call, ERR_TIMEOUT, "%s: nothing received for %.1f s", server,
                          (double)call->silence_ms / 1000);
        if (call->state == CALL_RUNNING)
                retire_if_silent(call);
        call_end(call);
}

static int64_t next_look_ms(const struct kube_call *call) {
        int64_t at_ms = call->deadline_at_ms;

        if (call->silence_ms && quiet_since_ms(call) + call->silence_ms < at_ms)
                at_ms = quiet_since_ms(call) + call->silence_ms;
        return at_ms;
}

static void set_timer(struct kube_call *call) {
        int64_t at_ms = next_look_ms(call), now_ms = loop_now_ms(call->transport->loop);

        if (at_ms != INT64_MAX)
                loop_timer_start(call->timer, at_ms > now_ms ? at_ms - now_ms : 0);
}

static void on_call_timer(void *ctx) {
        struct kube_call *call = ctx;
        struct curl_transport *t = call->transport;
        int64_t now_ms = loop_now_ms(t->loop);

        if (next_look_ms(call) > now_ms)
                set_timer(call);
        else
                time_out(call, now_ms);
        transport_settle(t);
}

/* Launching. */

static void call_launch(struct kube_call *call) {
        struct curl_transport *t = call->transport;
        int64_t now_ms = loop_now_ms(t->loop);
        struct err err = { 0 };
        int r = call_setup(call, &err);

        if (now_ms - call->queued_at_ms > t->stats.longest_queue_wait_ms)
                t->stats.longest_queue_wait_ms = now_ms - call->queued_at_ms;
        if (r == 0)
                r = pump_add(call->watch ? t->watches : t->requests, call, &err);
        if (r < 0) {
                call_fail(call, (enum err_code)r, "%s", err.msg);
                call_end(call);
                return;
        }
        call->state = CALL_RUNNING;
        call->sent_at_ms = now_ms;
        t->in_flight += !call->watch;
        list_append(&t->running, call);
        set_timer(call);
}

/*
 * Leases go a little beyond what others may fill, or a burst of slow requests could cost us the lease. A request in flight
 * is a connection, and the last one is theirs.
 */
static unsigned in_flight_limit(const struct curl_transport *t, enum kube_priority priority) {
        return t->in_flight_limit + (priority == KUBE_PRIORITY_LEASE);
}

static void launch_requests(struct curl_transport *t) {
        for (int i = 0; i < KUBE_PRIORITY_COUNT; i++)
                while (t->queue[i].first && t->in_flight < in_flight_limit(t, (enum kube_priority)i))
                        call_launch(t->queue[i].first);
}

/*
 * Watches and connections. A server says how many streams it allows (100 in kube-apiserver's case, but proxies and flags
 * differ) only once a connection stands, and libcurl puts any number of calls on a connection that does not stand yet:
 * those that are too many would wait inside it for ever. So no more are launched than connections that are known to stand
 * have room for, and where none has room one watch goes ahead alone and opens the next.
 */

static bool waits_inside(const struct kube_call *call) {
        return call->watch && !call->connected;
}

/* Is this a running watch of the connections that get new ones? */
static bool is_current_watch(const struct curl_transport *t, const struct kube_call *call) {
        return call->watch && call->pump == t->watches;
}

/* Its connection has told its limit: answers come behind that. */
static bool is_settled(const struct curl_transport *t, const struct kube_call *call) {
        return call->connected && (call->status || loop_now_ms(t->loop) - call->connected_at_ms >= WATCH_SETTLED_MS);
}

/* Has an earlier one in the list of running calls settled on the same connection? */
static bool is_counted(const struct curl_transport *t, const struct kube_call *call) {
        for (const struct kube_call *c = call->prev; c; c = c->prev)
                if (is_current_watch(t, c) && c->local_port == call->local_port && is_settled(t, c))
                        return true;
        return false;
}

struct watch_census {
        unsigned connections; /* that stand */
        unsigned places;      /* that are free on them */
        unsigned unsettled;
        bool opening;         /* one goes ahead */
};

static struct watch_census take_census(const struct curl_transport *t) {
        struct watch_census n = { 0 };
        unsigned all = 0, taken = 0;

        for (const struct kube_call *call = t->running.first; call; call = call->next) {
                bool leaving, counts;

                if (!is_current_watch(t, call))
                        continue;
                leaving = trace_goaway(call);
                counts = is_settled(t, call) && !is_counted(t, call);
                n.connections += counts;
                n.unsettled += !is_settled(t, call);
                n.opening |= call->opens && !is_settled(t, call);
                all += counts && !leaving ? t->streams : 0;
                taken += !leaving;
        }
        n.places = all > taken ? all - taken : 0;
        return n;
}

/* Over HTTP/1.1 each watch has its own connection; one more may be closing. */
static void launch_watches_http1(struct curl_transport *t) {
        struct pump *p = t->watches;

        pump_set_cap(p, p->calls + t->waiting.count + 1);
        while (t->waiting.first)
                call_launch(t->waiting.first);
}

static void launch_watches_http2(struct curl_transport *t) {
        struct pump *p = t->watches;
        struct watch_census n = take_census(t);

        if (n.opening)
                return;
        if (n.places && !t->full)
                pump_set_cap(p, n.connections);
        for (; t->waiting.first && n.places && !t->full; n.places--, n.unsettled++)
                call_launch(t->waiting.first);
        if (t->waiting.first && !n.unsettled) {
                t->full = false;
                t->waiting.first->opens = true;
                pump_set_cap(p, n.connections + 1);
                call_launch(t->waiting.first);
        }
}

static void launch_watches(struct curl_transport *t) {
        if (!t->waiting.first)
                return;
        if (t->protocol == PROTOCOL_HTTP1)
                launch_watches_http1(t);
        else
                launch_watches_http2(t);
        if (!loop_timer_is_running(t->look))
                loop_timer_start(t->look, WATCH_LOOK_MS);
}

void transport_learn_streams(struct curl_transport *t, unsigned streams) {
        if (!streams || streams >= t->streams)
                return;
        t->streams = streams;
        t->respread = true;
        transport_kick(t);
}

static void respread_watches(struct curl_transport *t) {
        t->respread = false;
        for (struct kube_call *call = t->running.last, *prev; call; call = prev) {
                prev = call->prev;
                if (waits_inside(call))
                        call_requeue(call);
        }
}

/* How many watches on its connection have an answer? */
static unsigned answered_beside(const struct curl_transport *t, const struct kube_call *call) {
        unsigned n = 0;

        for (const struct kube_call *c = t->running.first; c; c = c->next)
                n += c->watch && c->pump == call->pump && c->local_port == call->local_port && c->status;
        return n;
}

/* There was no place for it after all, on a connection that broke or was said goodbye on just then. */
static bool is_left_out(const struct curl_transport *t, const struct kube_call *call, int64_t now_ms) {
        return waits_inside(call) && !call->opens && t->protocol == PROTOCOL_HTTP2 &&
               now_ms - call->sent_at_ms >= WATCH_SETTLED_MS;
}

/*
 * Watches that got onto a connection that did not stand after all (the one they were meant for broke) may be too many
 * for it.
 */
static bool is_stuck(const struct curl_transport *t, const struct kube_call *call, int64_t now_ms) {
        int64_t age_ms = now_ms - call->connected_at_ms;

        if (!call->watch || !call->connected || call->status || t->protocol != PROTOCOL_HTTP2)
                return false;
        /* curl repeats what a goodbye refused, and may find no connection under the cap of that moment. */
        if (trace_goaway(call))
                return age_ms >= WATCH_SETTLED_MS;
        return age_ms >= WATCH_STUCK_MS && call->resends < WATCH_MAX_RESENDS && answered_beside(t, call);
}

static void on_look(void *ctx) {
        struct curl_transport *t = ctx;
        int64_t now_ms = loop_now_ms(t->loop);
        bool unanswered = t->waiting.first;

        for (struct kube_call *call = t->running.last, *prev; call; call = prev) {
                prev = call->prev;
                unanswered |= call->watch && !call->status;
                if (is_left_out(t, call, now_ms)) {
                        t->full = true;
                        call_requeue(call);
                } else if (is_stuck(t, call, now_ms)) {
                        call->resends++;
                        call_resend(call);
                }
        }
        if (unanswered)
                loop_timer_start(t->look, WATCH_LOOK_MS);
        transport_settle(t);
}

/* Where everything comes together. */

static void free_retired(struct curl_transport *t) {
        for (struct pump **at = &t->retired; *at;) {
                struct pump *p = *at;

                if (p->calls) {
                        at = &p->next;
                        continue;
                }
                *at = p->next;
                pump_free(p);
        }
}

static void free_list(struct call_list *list) {
        for (struct kube_call *call = list->first, *next; call; call = next) {
                next = call->next;
                call_withdraw(call);
                call_free(call);
        }
}

static void destroy(struct curl_transport *t) {
        for (int i = 0; i < KUBE_PRIORITY_COUNT; i++)
                free_list(&t->queue[i]);
        free_list(&t->waiting);
        free_list(&t->running);
        free_list(&t->ended);
        free_list(&t->doomed);
        free_retired(t);
        pump_free(t->requests);
        pump_free(t->watches);
        loop_timer_free(t->kick);
        loop_timer_free(t->look);
        kube_auth_free(t->auth);
        free(t->user_agent);
        free(t);
        curl_global_cleanup();
}

void transport_settle(struct curl_transport *t) {
        t->settling = true;
        free_list(&t->doomed);
        /* Calls that end from here on (a token that cannot be read) are reported in the next turn: no endless loop. */
        for (unsigned n = t->ended.count; n && t->ended.first && !t->closing; n--)
                call_report(list_shift(&t->ended));
        if (!t->closing) {
                if (t->respread)
                        respread_watches(t);
                launch_requests(t);
                launch_watches(t);
                free_retired(t);
                if (t->ended.first)
                        transport_kick(t);
        }
        t->settling = false;
        if (t->closing)
                destroy(t);
}

static void on_kick(void *ctx) {
        transport_settle(ctx);
}

/* The three operations. */

static bool is_path(struct str path) {
        if (!path.n || path.p[0] != '/')
                return false;
        for (size_t i = 0; i < path.n; i++)
                if (path.p[i] <= ' ' || path.p[i] >= 0x7f || path.p[i] == '#')
                        return false;
        return true;
}

/* A call that cannot be sent ends like any other: through done(), in a later turn. */
static void refuse_or_queue(struct curl_transport *t, struct kube_call *call, const struct kube_request *req) {
        if (req->path.n > KUBE_MAX_PATH_BYTES)
                call_fail(call, ERR_LIMIT, "a request path is longer than %d bytes", KUBE_MAX_PATH_BYTES);
        else if (!is_path(req->path))
                call_fail(call, ERR_INVAL, "a request path is not percent-encoded");
        else if (req->body.n > KUBE_MAX_REQUEST_BYTES)
                call_fail(call, ERR_LIMIT, "a request body of %zu bytes is larger than the API server's %d", req->body.n,
                          KUBE_MAX_REQUEST_BYTES);
        else if (!call->watch && queued_count(t) >= KUBE_MAX_QUEUED)
                call_fail(call, ERR_LIMIT, "%d requests are queued already", KUBE_MAX_QUEUED);
        if (call->failure) {
                call_end(call);
                return;
        }
        list_append(queue_of(call), call);
        set_timer(call);
}

static void set_times(struct kube_call *call, const struct kube_request *req) {
        int64_t now_ms = loop_now_ms(call->transport->loop);

        call->limit_ms = req->deadline_ms ? req->deadline_ms : KUBE_DEFAULT_DEADLINE_MS;
        call->queued_at_ms = call->sent_at_ms = now_ms;
        call->deadline_at_ms = call->limit_ms < 0 ? INT64_MAX : now_ms + call->limit_ms;
        call->silence_ms = req->silence_ms;
}

static struct kube_call *curl_start(struct kube_transport *base, const struct kube_request *req,
                                    const struct kube_handler *handler, void *ctx) {
        struct curl_transport *t = CONTAINER_OF(base, struct curl_transport, base);
        struct kube_call *call = mem_zalloc(sizeof *call);

        *call = (struct kube_call){ .transport = t,
                                    .method = req->method,
                                    .priority = req->priority,
                                    .watch = req->watch,
                                    .content_type = req->content_type,
                                    .accept = req->accept,
                                    .max_body_bytes = KUBE_MAX_REPLY_BYTES,
                                    .handler = *handler,
                                    .ctx = ctx };
        if (req->max_body_bytes && req->max_body_bytes < KUBE_MAX_REPLY_BYTES)
                call->max_body_bytes = req->max_body_bytes;
        call->timer = loop_timer_new(t->loop, on_call_timer, call);
        reply_init(call);
        set_times(call, req);
        if (req->path.n <= KUBE_MAX_PATH_BYTES)
                call->path = str_dup(req->path);
        if (req->body.n <= KUBE_MAX_REQUEST_BYTES) {
                call->body = str_dup(req->body);
                call->body_bytes = req->body.n;
        }
        refuse_or_queue(t, call, req);
        transport_kick(t);
        return call;
}

static void curl_cancel(struct kube_transport *base, struct kube_call *call) {
        struct curl_transport *t = CONTAINER_OF(base, struct curl_transport, base);

        /* Doomed already, or in its own done(): nothing is left to stop. */
        if (call->state == CALL_DOOMED || !call->list)
                return;
        if (t->in_curl && call->state == CALL_RUNNING) {
                call->state = CALL_DOOMED;
                loop_timer_stop(call->timer);
                list_append(&t->doomed, call);
                return;
        }
        call_withdraw(call);
        call_free(call);
        transport_kick(t);
}

static void curl_free_transport(struct kube_transport *base) {
        struct curl_transport *t = CONTAINER_OF(base, struct curl_transport, base);

        t->closing = true;
        if (!t->in_curl && !t->settling)
                destroy(t);
}

static const struct kube_transport_ops curl_ops = {
        .start = curl_start,
        .cancel = curl_cancel,
        .free = curl_free_transport,
        .stats = kube_curl_transport_stats,
};

struct kube_transport *kube_curl_transport_new(struct loop *l, const struct kube_config *config,
                                               const char *user_agent, struct err *err) {
        struct curl_transport *t;

        if (kube_auth_check_certificates(config, err) < 0)
                return NULL;
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
                err_set(err, ERR_INTERNAL, "libcurl cannot be initialised");
                return NULL;
        }

        t = mem_zalloc(sizeof *t);
        *t = (struct curl_transport){ .base = { .ops = &curl_ops },
                                      .loop = l,
                                      .config = config,
                                      .auth = kube_auth_new(config),
                                      .user_agent = str_dup(str_from(user_agent)),
                                      .in_flight_limit = CURL_IN_FLIGHT,
                                      .streams = CURL_STREAMS_PER_CONNECTION,
                                      .plain = strcmp(config->scheme, "http") == 0,
                                      .loopback = host_is_loopback(config->host) };
        t->protocol = t->plain ? PROTOCOL_HTTP1 : PROTOCOL_UNKNOWN;
        t->kick = loop_timer_new(l, on_kick, t);
        t->look = loop_timer_new(l, on_look, t);
        t->requests = pump_new(t, false);
        t->watches = pump_new(t, true);
        if (t->requests && t->watches)
                return &t->base;

        destroy(t);
        err_set(err, ERR_INTERNAL, "libcurl is out of memory");
        return NULL;
}

void kube_curl_transport_set_in_flight(struct kube_transport *base, unsigned limit) {
        struct curl_transport *t = CONTAINER_OF(base, struct curl_transport, base);

        t->in_flight_limit = limit < 1 ? 1 : limit > CURL_IN_FLIGHT ? CURL_IN_FLIGHT : limit;
        transport_kick(t);
}

void kube_curl_transport_stats(const struct kube_transport *base, struct kube_transport_stats *ret_stats) {
        const struct curl_transport *t = CONTAINER_OF(base, const struct curl_transport, base);

        *ret_stats = t->stats;
        ret_stats->in_flight = t->in_flight;
        ret_stats->queued = queued_count(t);
        ret_stats->waiting_watches = t->waiting.count;
        ret_stats->open_watches = t->waiting.count;
        for (const struct kube_call *call = t->running.first; call; call = call->next) {
                ret_stats->open_watches += call->watch;
                ret_stats->waiting_watches += waits_inside(call);
        }
        ret_stats->multiplexed = t->protocol == PROTOCOL_HTTP2;
}
