/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pump drives one curl multi handle: curl says which descriptors and which moment it waits for, the loop tells when
 * they come, curl_multi_socket_action() does the work. curl_multi_perform() would walk every open watch each time.
 */
#include "kube/curl_impl.h"

/* Pauses between looks at a socket of watches that bring nothing, counted from the last event. */
static const int64_t again_ms[] = { 5, 50, 500, 5000 };

/* One descriptor curl asked us to watch. curl holds the pointer (curl_multi_assign). */
struct pump_socket {
        struct pump *pump;
        struct pump_socket *prev, *next;
        struct loop_io *io;
        struct loop_timer *again; /* of watches: a second look */
        uint64_t heard;           /* pump->heard at the last look */
        unsigned silent;          /* looks in a row that brought nothing */
        curl_socket_t fd;
};

static void drain(struct pump *p) {
        CURLMsg *msg;
        int left;

        while ((msg = curl_multi_info_read(p->multi, &left))) {
                struct kube_call *call = NULL;
                CURLcode result = msg->data.result;

                if (msg->msg != CURLMSG_DONE)
                        continue;
                (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&call);
                call_ended(call, result);
        }
}

static void act(struct pump *p, curl_socket_t fd, int events) {
        struct curl_transport *t = p->transport;
        int running;

        t->in_curl = true;
        (void)curl_multi_socket_action(p->multi, fd, events, &running);
        t->in_curl = false;
        if (!t->closing)
                drain(p);
        transport_settle(t); /* may free p and t */
}

static void on_socket_ready(void *ctx, unsigned events) {
        struct pump_socket *s = ctx;

        s->silent = 0;
        if (s->again)
                loop_timer_start(s->again, again_ms[0]);
        act(s->pump, s->fd,
            (events & LOOP_IO_READ ? CURL_CSELECT_IN : 0) | (events & LOOP_IO_WRITE ? CURL_CSELECT_OUT : 0));
}

static void on_timer(void *ctx) {
        act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

/*
 * A watch whose buffer runs full makes libcurl 7.88.1 pause inside itself, and when it goes on it forgets to come back for
 * what it has read from the socket already (http2.c, cf_h2_recv(): no Curl_expire() behind "unpaused"). No event will
 * announce those bytes, so events are followed by further looks. What a look brings may come out of libcurl only at its
 * next timer, on a busy machine after the next look: so it ends only after several that brought nothing.
 */
static void on_again(void *ctx) {
        struct pump_socket *s = ctx;

        s->silent = s->heard == s->pump->heard ? s->silent + 1 : 0;
        if (s->silent >= ARRAY_LEN(again_ms))
                return;
        s->heard = s->pump->heard;
        loop_timer_start(s->again, again_ms[s->silent]);
        act(s->pump, s->fd, CURL_CSELECT_IN);
}

static void socket_free(struct pump_socket *s) {
        if (s->prev)
                s->prev->next = s->next;
        else
                s->pump->sockets = s->next;
        if (s->next)
                s->next->prev = s->prev;
        loop_io_free(s->io);
        loop_timer_free(s->again);
        free(s);
}

static struct pump_socket *socket_new(struct pump *p, curl_socket_t fd) {
        struct pump_socket *s = mem_zalloc(sizeof *s);

        s->pump = p;
        s->fd = fd;
        s->io = loop_io_new(p->transport->loop, fd, on_socket_ready, s);
        if (p->watches)
                s->again = loop_timer_new(p->transport->loop, on_again, s);
        s->next = p->sockets;
        if (s->next)
                s->next->prev = s;
        p->sockets = s;
        return s;
}

/* curl_multi_assign() is the one call that curl's manual allows (and expects) in here. */
static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket) {
        struct pump *p = ctx;
        struct pump_socket *s = socket;

        (void)easy;
        if (what == CURL_POLL_REMOVE) {
                if (s)
                        socket_free(s);
                (void)curl_multi_assign(p->multi, fd, NULL);
                return 0;
        }
        if (!s) {
                s = socket_new(p, fd);
                (void)curl_multi_assign(p->multi, fd, s);
        }
        loop_io_want(s->io, (what & CURL_POLL_IN ? LOOP_IO_READ : 0U) | (what & CURL_POLL_OUT ? LOOP_IO_WRITE : 0U));
        return 0;
}

static int on_timer_wanted(CURLM *multi, long ms, void *ctx) {
        struct pump *p = ctx;

        (void)multi;
        if (ms < 0)
                loop_timer_stop(p->timer);
        else
                loop_timer_start(p->timer, ms);
        return 0;
}

void pump_set_cap(struct pump *p, unsigned connections) {
        (void)curl_multi_setopt(p->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)connections);
        if (!p->watches)
                (void)curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, (long)connections);
}

struct pump *pump_new(struct curl_transport *t, bool watches) {
        CURLM *multi = curl_multi_init();

        if (!multi)
                return NULL;

        struct pump *p = mem_zalloc(sizeof *p);
        *p = (struct pump){ .transport = t, .multi = multi, .watches = watches };
        p->timer = loop_timer_new(t->loop, on_timer, p);
        (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket_wanted);
        (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, p);
        (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
        (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, p);
        /* Requests: a connection for each, also over HTTP/2; curl_transport.h says why. */
        (void)curl_multi_setopt(multi, CURLMOPT_PIPELINING, watches ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING);
        (void)curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)CURL_STREAMS_PER_CONNECTION);
        pump_set_cap(p, watches ? 1 : CURL_REQUEST_CONNECTIONS);
        return p;
}

void pump_free(struct pump *p) {
        if (!p)
                return;
        (void)curl_multi_cleanup(p->multi); /* closes connections: still calls on_socket_wanted() */
        for (struct pump_socket *s = p->sockets, *next; s; s = next) {
                next = s->next;
                socket_free(s);
        }
        loop_timer_free(p->timer);
        free(p);
}

int pump_add(struct pump *p, struct kube_call *call, struct err *err) {
        CURLMcode r;

        p->calls++;
        call->pump = p;
        r = curl_multi_add_handle(p->multi, call->easy);
        if (r == CURLM_OK)
                return 0;

        p->calls--;
        call->pump = NULL;
        return err_set(err, ERR_INTERNAL, "libcurl: %s", curl_multi_strerror(r));
}

void pump_remove(struct kube_call *call) {
        struct pump *p = call->pump;

        (void)curl_multi_remove_handle(p->multi, call->easy);
        call->pump = NULL;
        p->calls--;
}
