/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <microhttpd.h>
#include <unistd.h>

#include "base/listen.h"
#include "http/metrics.h"

#define IDLE_TIMEOUT_S 10
#define CONNECTION_MEMORY_BYTES (16 * 1024)
#define PAGE_MAX_BYTES (1024 * 1024)
#define STALLED_TURN_US (10 * INT64_C(1000) * 1000)

struct http_server {
        struct loop *loop;
        struct agent *agent;
        const struct leader *leader; /* NULL: no election */
        struct MHD_Daemon *daemon;
        struct loop_io *io;
        struct loop_timer *timer;
        bool again;              /* something came about while MHD_run() ran that only the next one sees */
        int64_t longest_turn_us; /* ever seen */
        unsigned port;
};

/* --- pages ------------------------------------------------------------------------------------------------------ */

static unsigned page_healthz(struct http_server *s, struct buf *out) {
        int64_t turn_us = loop_longest_turn_us(s->loop);

        if (turn_us > s->longest_turn_us)
                s->longest_turn_us = turn_us;
        if (turn_us > STALLED_TURN_US) {
                buf_addf(out, "the loop stood still for %lld ms\n", (long long)(turn_us / 1000));
                return MHD_HTTP_SERVICE_UNAVAILABLE;
        }
        buf_addc(out, "ok\n");
        return MHD_HTTP_OK;
}

static unsigned print_standing_by(const struct leader_status *now, struct buf *out) {
        if (now->knows && !now->err->code) {
                buf_addf(out, "ok: standing by, %.*s leads\n", STR_FMT(now->holder.n ? now->holder : STR("nobody")));
                return MHD_HTTP_OK;
        }
        buf_addf(out, "not ready: leader election: %s\n",
                 now->err->code ? now->err->msg : "the Lease has not been read yet");
        return MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned page_readyz(struct http_server *s, struct buf *out) {
        const struct err *cluster = s->agent ? cluster_err(agent_cluster(s->agent)) : NULL;
        struct leader_status election = { .leads = true };

        if (!cluster) {
                buf_addc(out, "not ready: no configuration is in force yet\n");
                return MHD_HTTP_SERVICE_UNAVAILABLE;
        }
        if (s->leader)
                leader_status(s->leader, &election);
        if (!election.leads)
                return print_standing_by(&election, out);
        if (agent_is_ready(s->agent)) {
                buf_addc(out, "ok\n");
                return MHD_HTTP_OK;
        }
        if (cluster->code)
                buf_addf(out, "not ready: the API server: %s\n", cluster->msg);
        else
                buf_addc(out, "not ready: key, discovery, or a first revision is missing\n");
        for (size_t i = 0; i < agent_app_count(s->agent); i++) {
                const struct err *err = agent_app_err(s->agent, i);

                if (err->code)
                        buf_addf(out, "%.*s: %s\n", STR_FMT(app_config(agent_app(s->agent, i))->name), err->msg);
        }
        return MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned page_metrics(struct http_server *s, struct buf *out) {
        int64_t turn_us = loop_longest_turn_us(s->loop);

        if (turn_us > s->longest_turn_us)
                s->longest_turn_us = turn_us;
        metrics_print(s->agent, s->leader, s->longest_turn_us, out);
        return MHD_HTTP_OK;
}

static const struct page {
        const char *path;
        unsigned (*print)(struct http_server *s, struct buf *out);
        const char *type;
} pages[] = {
        { "/healthz", page_healthz, "text/plain; charset=utf-8" },
        { "/readyz", page_readyz, "text/plain; charset=utf-8" },
        { "/metrics", page_metrics, "text/plain; version=0.0.4; charset=utf-8" },
};

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, struct str body, const char *type) {
        struct MHD_Response *r = MHD_create_response_from_buffer(body.n, (void *)body.p, MHD_RESPMEM_MUST_COPY);

        MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
        MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
        if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
                MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
        enum MHD_Result queued = MHD_queue_response(c, status, r);
        MHD_destroy_response(r);
        return queued;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_bytes, void **request) {
        static int seen;
        struct http_server *s = ctx;
        _cleanup_(buf_done) struct buf out = buf_make(PAGE_MAX_BYTES);

        (void)version;
        (void)upload;
        if (!*request) { /* headers only so far: libmicrohttpd calls again when the body is in */
                *request = &seen;
                return MHD_YES;
        }
        if (*upload_bytes) { /* a body, which nothing here reads; answered when it is over */
                *upload_bytes = 0;
                return MHD_YES;
        }
        if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
                return reply(c, MHD_HTTP_METHOD_NOT_ALLOWED, STR("only GET\n"), pages[0].type);
        for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
                if (strcmp(url, pages[i].path) != 0)
                        continue;
                unsigned status = pages[i].print(s, &out);
                return reply(c, status, buf_str(&out), pages[i].type);
        }
        return reply(c, MHD_HTTP_NOT_FOUND, STR("no such page: /healthz /readyz /metrics\n"), pages[0].type);
}

/* --- on the loop ------------------------------------------------------------------------------------------------ */

/* One that goes makes a place: libmicrohttpd looks for who waits for it only when it runs again. */
static void on_connection(void *ctx, struct MHD_Connection *c, void **socket_ctx,
                          enum MHD_ConnectionNotificationCode what) {
        struct http_server *s = ctx;

        (void)c;
        (void)socket_ctx;
        if (what == MHD_CONNECTION_NOTIFY_CLOSED)
                s->again = true;
}

static void run(struct http_server *s) {
        MHD_UNSIGNED_LONG_LONG timeout_ms;

        s->again = false;
        MHD_run(s->daemon);
        if (s->again)
                loop_timer_start(s->timer, 0);
        else if (MHD_get_timeout(s->daemon, &timeout_ms) == MHD_YES)
                loop_timer_start(s->timer, (int64_t)timeout_ms);
        else
                loop_timer_stop(s->timer);
}

static void on_io(void *ctx, unsigned events) {
        (void)events;
        run(ctx);
}

static void on_timer(void *ctx) {
        run(ctx);
}

void http_server_set_leader(struct http_server *s, const struct leader *leader) {
        s->leader = leader;
}

void http_server_set_agent(struct http_server *s, struct agent *agent) {
        s->agent = agent;
}

int http_server_new(struct loop *l, struct str listen, struct agent *agent, struct http_server **ret_server,
                    struct err *err) {
        int fd = -1, r = listen_open(listen, LISTEN_ANYWHERE, HTTP_MAX_CONNECTIONS, &fd, err);

        if (r < 0)
                return r;

        struct http_server *s = mem_zalloc(sizeof *s);
        *s = (struct http_server){ .loop = l, .agent = agent, .port = listen_port(fd) };
        s->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, s,
                                     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
                                     MHD_OPTION_CONNECTION_LIMIT, HTTP_MAX_CONNECTIONS,
                                     MHD_OPTION_CONNECTION_TIMEOUT, IDLE_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                     (size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_END);
        if (!s->daemon) {
                close(fd);
                free(s);
                return err_set(err, ERR_INTERNAL, "--listen %.*s: the HTTP server does not start", STR_FMT(listen));
        }
        s->timer = loop_timer_new(l, on_timer, s);
        s->io = loop_io_new(l, MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, on_io, s);
        loop_io_want(s->io, LOOP_IO_READ);
        *ret_server = s;
        return 0;
}

void http_server_free(struct http_server *s) {
        if (!s)
                return;
        loop_io_free(s->io);
        loop_timer_free(s->timer);
        MHD_stop_daemon(s->daemon);
        free(s);
}

unsigned http_server_port(const struct http_server *s) {
        return s->port;
}
