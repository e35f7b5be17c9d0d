/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/curl_transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>

#include "base/limits.h"
#include "kube/loopback_server.h"

#define PATIENCE_MS 60000 /* how long a test waits for what must happen; only a failure ever takes it */

/* What the server does. */

static bool serve_echo(struct conn *c) {
        struct buf text = buf_make(1 * MIB);

        buf_add(&text, buf_str(&c->headers));
        buf_add(&text, buf_str(&c->body));
        conn_reply(c, 200, "Content-Type: application/json\r\n", buf_str(&text));
        buf_done(&text);
        return true;
}

static bool serve_headers(struct conn *c) {
        conn_reply(c, 429,
                   "Content-Type: application/json; charset=utf-8\r\nRetry-After: 7\r\nAudit-ID: a-1\r\n"
                   "Warning: 299 - \"first \\\"quoted\\\" text\"\r\n"
                   "warning: 299 host \"second\" \"Sun, 06 Nov 1994 08:49:37 GMT\", 199 - \"not ours\", 299 - \"third\"\r\n"
                   "Warning: 299 - unquoted\r\n",
                   STR("slow down"));
        return true;
}

static bool serve_date(struct conn *c) {
        char date[128], line[160];
        time_t later = time(NULL) + 3600;
        struct tm tm;

        strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&later, &tm));
        (void)snprintf(line, sizeof line, "Retry-After: %s\r\n", date);
        conn_reply(c, 503, line, STR(""));
        return true;
}

/* Of libcurl's reading, a date nine hundred million years away: more milliseconds than can be counted. */
static bool serve_distant_date(struct conn *c) {
        conn_reply(c, 503, "Retry-After: Wed, 15 Nov 904483838 00:00:00 GMT\r\n", STR(""));
        return true;
}

#define BIG_BYTES (3 * MIB)

static bool send_big(struct conn *c, int status) {
        char *p = mem_alloc(BIG_BYTES);

        for (size_t i = 0; i < BIG_BYTES; i++)
                p[i] = (char)('a' + i % 23);
        conn_reply(c, status, "", (struct str){ p, BIG_BYTES });
        free(p);
        return true;
}

static bool serve_big(struct conn *c) {
        return send_big(c, 200);
}

static bool serve_big_error(struct conn *c) {
        return send_big(c, 500);
}

/* A watch: one line, then it stays open. */
static bool serve_watch(struct conn *c) {
        conn_text(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nevent\n\r\n");
        conn_wait_for_close(c);
        return false;
}

/* A watch that ends as a server ends it. */
static bool serve_short_watch(struct conn *c) {
        conn_text(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nevent\n\r\n0\r\n\r\n");
        return true;
}

static bool serve_silent(struct conn *c) {
        conn_wait_for_close(c);
        return false;
}

static bool serve_reset(struct conn *c) {
        conn_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
        conn_reset(c);
        return false;
}

static bool serve_short(struct conn *c) {
        conn_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
        return false;
}

/* The second and later requests of a connection get no answer: the connection died while it was idle. */
static bool serve_once(struct conn *c) {
        if (c->requests > 1)
                return false;
        conn_reply(c, 200, "", STR("once"));
        return true;
}

static bool serve_never(struct conn *c) {
        (void)c;
        return false;
}

static bool serve_gate(struct conn *c) {
        conn_gate(c);
        conn_reply(c, 200, "", STR("through"));
        return true;
}

static bool serve_token(struct conn *c) {
        const char *sent = conn_header(c, "\r\nAuthorization: Bearer ");
        char token[80];
        bool good;

        pthread_mutex_lock(&c->server->lock);
        (void)snprintf(token, sizeof token, "%s\r\n", c->server->token);
        pthread_mutex_unlock(&c->server->lock);
        good = sent && strncmp(sent, token, strlen(token)) == 0;
        conn_reply(c, good ? 200 : 401, "", good ? STR("welcome") : STR("who are you"));
        return true;
}

static bool serve_plain(struct conn *c) {
        conn_reply(c, 200, "", conn_header(c, "\r\nAccept-Encoding:") ? STR("asked for compression") : STR("plain text"));
        return true;
}

static bool serve_redirect(struct conn *c) {
        conn_reply(c, 302, "Location: /echo\r\n", STR("elsewhere"));
        return true;
}

static bool serve_garbage(struct conn *c) {
        conn_text(c, "220 smtp ready\r\n");
        return false;
}

static const struct server_route routes[] = {
        { "/echo*", serve_echo },       { "/headers", serve_headers },   { "/date", serve_date },
        { "/distant-date", serve_distant_date },
        { "/big", serve_big },          { "/big-error", serve_big_error }, { "/watch*", serve_watch },
        { "/short-watch", serve_short_watch }, { "/silent", serve_silent }, { "/reset", serve_reset },
        { "/short", serve_short },      { "/once", serve_once },         { "/never", serve_never },
        { "/gate*", serve_gate },       { "/token", serve_token },       { "/plain", serve_plain },
        { "/redirect", serve_redirect }, { "/garbage", serve_garbage },  { "/prefix/echo", serve_echo },
        { NULL, NULL },
};

/* One test's world: a server, a loop, a transport to it. */

struct world {
        struct server *server;
        struct loop *loop;
        struct kube_config *config;
        struct kube_transport *transport;
        char dir[64];
        unsigned done; /* calls that ended */
        unsigned until; /* the loop stops when so many have */
};

/* One call and what became of it. */
struct probe {
        struct world *world;
        struct kube_call *call;
        struct kube_call *victim; /* cancelled from within a callback */
        unsigned ended;
        int status;
        int64_t retry_after_ms;
        struct err err;
        char *body, *warnings, *content_type, *audit_id;
        size_t body_bytes, data_bytes, chunks;
        bool cancel_self, free_transport, fail_data, stop_at_data, start_another;
        struct probe *other;
};

static void take_over(struct kube_config *config, const char *prefix, uint16_t port) {
        struct buf text = buf_make(KIB);

        config->scheme = str_dup(STR("http"));
        config->host = str_dup(STR("127.0.0.1"));
        config->prefix = str_dup(str_from(prefix));
        config->namespace = str_dup(STR("default"));
        buf_addf(&text, "%u", port);
        config->port = buf_take(&text);
        buf_addf(&text, "http://127.0.0.1:%u%s", port, prefix);
        config->server = buf_take(&text);
        config->shown = str_dup(str_from(config->server));
}

static void connect_world(struct world *w) {
        struct err err = { 0 };

        w->transport = kube_curl_transport_new(w->loop, w->config, "truce-test/1", &err);
        if (!w->transport)
                fail_msg("%s", err.msg);
}

static int set_up(void **state) {
        struct world *w = mem_zalloc(sizeof *w);

        w->server = server_start(routes);
        w->loop = loop_new(1, 1, NULL);
        w->config = mem_zalloc(sizeof *w->config);
        take_over(w->config, "", w->server->port);
        connect_world(w);
        (void)snprintf(w->dir, sizeof w->dir, "/tmp/truce-test-XXXXXX");
        assert_non_null(mkdtemp(w->dir));
        *state = w;
        return 0;
}

static int tear_down(void **state) {
        struct world *w = *state;

        kube_transport_free(w->transport);
        server_stop(w->server);
        loop_free(w->loop);
        kube_config_free(w->config);
        (void)rmdir(w->dir);
        free(w);
        return 0;
}

static void probe_done(struct probe *p) {
        free(p->body);
        free(p->warnings);
        free(p->content_type);
        free(p->audit_id);
}

static void start(struct probe *p, struct world *w, const struct kube_request *req);
static void start_get(struct probe *p, struct world *w, const char *path);

static void act_inside(struct probe *p) {
        struct world *w = p->world;

        if (p->victim) {
                kube_cancel(w->transport, p->victim);
                p->victim = NULL;
        }
        if (p->start_another) {
                p->start_another = false;
                start_get(p->other, w, "/echo");
        }
        if (p->free_transport) {
                kube_transport_free(w->transport);
                w->transport = NULL;
                loop_stop(w->loop);
        }
}

static int on_data(void *ctx, struct str chunk, struct err *err) {
        struct probe *p = ctx;

        p->data_bytes += chunk.n;
        p->chunks++;
        act_inside(p);
        if (p->cancel_self)
                kube_cancel(p->world->transport, p->call);
        if (p->stop_at_data)
                loop_stop(p->world->loop);
        if (p->fail_data)
                return err_set(err, ERR_PARSE, "this is no list");
        return 0;
}

static void on_done(void *ctx, const struct kube_reply *reply, const struct err *err) {
        struct probe *p = ctx;

        p->ended++;
        p->call = NULL;
        p->status = reply->status;
        p->retry_after_ms = reply->retry_after_ms;
        p->body = str_dup(reply->body);
        p->body_bytes = reply->body.n;
        p->warnings = str_dup(reply->warnings);
        p->content_type = str_dup(reply->content_type);
        p->audit_id = str_dup(reply->audit_id);
        if (err)
                p->err = *err;
        if (++p->world->done >= p->world->until)
                loop_stop(p->world->loop);
        act_inside(p);
}

static const struct kube_handler collecting = { .done = on_done };
static const struct kube_handler streaming = { .data = on_data, .done = on_done };

static void start_with(struct probe *p, struct world *w, const struct kube_request *req,
                       const struct kube_handler *handler) {
        p->world = w;
        p->call = kube_start(w->transport, req, handler, p);
        assert_non_null(p->call);
        assert_int_equal(p->ended, 0);
}

static void start(struct probe *p, struct world *w, const struct kube_request *req) {
        start_with(p, w, req, &collecting);
}

static void start_get(struct probe *p, struct world *w, const char *path) {
        start(p, w, &(struct kube_request){ .path = str_from(path), .priority = KUBE_PRIORITY_READ });
}

/* Runs the loop until `n` more calls have ended. */
static void wait_for(struct world *w, unsigned n) {
        w->until = w->done + n;
        if (!loop_run_for(w->loop, PATIENCE_MS))
                fail_msg("%u of %u calls ended", w->done + n - w->until, n);
}

static void run(struct probe *p, struct world *w, const struct kube_request *req) {
        start(p, w, req);
        wait_for(w, 1);
        assert_int_equal(p->ended, 1);
}

static void get(struct probe *p, struct world *w, const char *path) {
        start_get(p, w, path);
        wait_for(w, 1);
        assert_int_equal(p->ended, 1);
}

/* Turns of the loop, so that whatever could still call back would. */
static void idle(struct world *w, int64_t ms) {
        (void)loop_run_for(w->loop, ms);
}

static struct kube_transport_stats stats_of(struct world *w) {
        struct kube_transport_stats stats;

        kube_curl_transport_stats(w->transport, &stats);
        return stats;
}

static void await_inside(struct world *w, unsigned n) {
        for (int i = 0; i < PATIENCE_MS / 5 && server_inside(w->server, false) < n; i++)
                idle(w, 5);
        assert_int_equal(server_inside(w->server, false), n);
}

static void await_count(struct world *w, const char *line, unsigned n) {
        for (int i = 0; i < PATIENCE_MS / 5 && server_count(w->server, line) < n; i++)
                idle(w, 5);
        assert_int_equal(server_count(w->server, line), n);
}

/* Exchanges. */

static void a_get_carries_its_headers_and_brings_the_body(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/echo?limit=500&continue=a%2Fb");

        assert_int_equal(p.err.code, 0);
        assert_int_equal(p.status, 200);
        assert_string_equal(p.content_type, "application/json");
        assert_non_null(strstr(p.body, "GET /echo?limit=500&continue=a%2Fb HTTP/1.1"));
        assert_non_null(strstr(p.body, "\r\nAccept: application/json\r\n"));
        assert_non_null(strstr(p.body, "\r\nUser-Agent: truce-test/1\r\n"));
        assert_null(strstr(p.body, "Authorization"));
        assert_null(strstr(p.body, "Content-Type"));
}

static void a_patch_carries_its_body(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        run(&p, w,
            &(struct kube_request){ .method = KUBE_PATCH,
                                    .path = STR("/echo"),
                                    .content_type = "application/apply-patch+yaml",
                                    .accept = "application/x",
                                    .body = STR("{\"a\":1}") });

        assert_int_equal(p.status, 200);
        assert_int_equal(strncmp(p.body, "PATCH /echo", 11), 0);
        assert_non_null(strstr(p.body, "\r\nContent-Type: application/apply-patch+yaml\r\n"));
        assert_non_null(strstr(p.body, "\r\nAccept: application/x\r\n"));
        assert_non_null(strstr(p.body, "\r\nContent-Length: 7\r\n"));
        assert_non_null(strstr(p.body, "\r\n\r\n{\"a\":1}"));
}

static void every_method_goes_out_under_its_name(void **state) {
        static const struct {
                enum kube_method method;
                const char *line;
        } cases[] = { { KUBE_GET, "GET /echo " },     { KUBE_POST, "POST /echo " },    { KUBE_PUT, "PUT /echo " },
                      { KUBE_PATCH, "PATCH /echo " }, { KUBE_DELETE, "DELETE /echo " } };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(probe_done) struct probe p = { 0 };

                run(&p, w, &(struct kube_request){ .method = cases[i].method, .path = STR("/echo") });
                assert_int_equal(strncmp(p.body, cases[i].line, strlen(cases[i].line)), 0);
                assert_null(strstr(p.body, "x-www-form-urlencoded"));
        }
        assert_int_equal(stats_of(w).calls[KUBE_DELETE][2], 1);
}

static void a_body_above_a_mebibyte_does_not_wait_for_100_continue(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };
        char *body = mem_zalloc(2 * MIB);

        memset(body, 'x', 2 * MIB);
        run(&p, w,
            &(struct kube_request){
                    .method = KUBE_POST, .path = STR("/plain"), .content_type = "a/b", .body = { body, 2 * MIB } });
        free(body);
        assert_int_equal(p.status, 200);
        assert_int_equal(stats_of(w).bytes_sent, 2 * MIB);
}

static void headers_of_a_refusal_are_parsed(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/headers");

        assert_int_equal(p.err.code, 0);
        assert_int_equal(p.status, 429);
        assert_int_equal(p.retry_after_ms, 7000);
        assert_string_equal(p.audit_id, "a-1");
        assert_string_equal(p.content_type, "application/json; charset=utf-8");
        assert_string_equal(p.warnings, "first \"quoted\" text\nsecond\nthird");
        assert_string_equal(p.body, "slow down");
        assert_int_equal(stats_of(w).calls[KUBE_GET][4], 1);
}

static void retry_after_may_be_a_date(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/date");

        assert_in_range(p.retry_after_ms, 3400 * 1000, 3601 * 1000);
}

static void retry_after_is_a_day_at_most(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/distant-date");

        assert_int_equal(p.retry_after_ms, 24 * 3600 * 1000);
}

static void the_prefix_of_the_server_stands_in_front_of_paths(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        kube_transport_free(w->transport);
        free(w->config->prefix);
        w->config->prefix = str_dup(STR("/prefix"));
        connect_world(w);
        get(&p, w, "/echo");

        assert_int_equal(p.status, 200);
}

static void impersonation_headers_go_along(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        w->config->headers = mem_alloc(sizeof(char *));
        w->config->headers[0] = str_dup(STR("Impersonate-User: jane"));
        w->config->header_count = 1;
        get(&p, w, "/echo");

        assert_non_null(strstr(p.body, "\r\nImpersonate-User: jane\r\n"));
}

static void a_large_body_streams_in_pieces(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        start_with(&p, w, &(struct kube_request){ .path = STR("/big") }, &streaming);
        wait_for(w, 1);

        assert_int_equal(p.status, 200);
        assert_int_equal(p.data_bytes, BIG_BYTES);
        assert_true(p.chunks > 100);
        assert_int_equal(p.body_bytes, 0);
        assert_int_equal(stats_of(w).bytes_received, BIG_BYTES);
}

static void a_refusal_is_collected_though_data_is_there(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        start_with(&p, w, &(struct kube_request){ .path = STR("/headers") }, &streaming);
        wait_for(w, 1);

        assert_int_equal(p.data_bytes, 0);
        assert_string_equal(p.body, "slow down");
}

static void an_error_of_data_stops_the_call_with_it(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { .fail_data = true };

        start_with(&p, w, &(struct kube_request){ .path = STR("/big") }, &streaming);
        wait_for(w, 1);

        assert_int_equal(p.err.code, ERR_PARSE);
        assert_string_equal(p.err.msg, "this is no list");
        assert_int_equal(p.chunks, 1);
}

static void a_redirect_is_an_answer_and_not_followed(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/redirect");

        assert_int_equal(p.err.code, 0);
        assert_int_equal(p.status, 302);
        assert_string_equal(p.body, "elsewhere");
        assert_int_equal(server_count(w->server, "GET /echo"), 0);
}

static void no_answer_is_asked_for_compressed(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 }, watch = { 0 };

        get(&p, w, "/plain");
        run(&watch, w, &(struct kube_request){ .path = STR("/plain"), .watch = true, .deadline_ms = -1 });

        assert_string_equal(p.body, "plain text");
        assert_string_equal(watch.body, "plain text");
}

/* Limits. */

static void a_body_at_its_maximum_passes_and_above_it_is_a_limit(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe fits = { 0 }, above = { 0 };

        run(&fits, w, &(struct kube_request){ .path = STR("/big"), .max_body_bytes = BIG_BYTES });
        run(&above, w, &(struct kube_request){ .path = STR("/big"), .max_body_bytes = BIG_BYTES - 1 });

        assert_int_equal(fits.err.code, 0);
        assert_int_equal(fits.body_bytes, BIG_BYTES);
        assert_int_equal(above.err.code, ERR_LIMIT);
        assert_int_equal(above.status, 200);
}

static void a_refusal_has_a_limit_of_its_own(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/big-error");

        assert_int_equal(p.err.code, ERR_LIMIT);
        assert_int_equal(p.status, 500);
        assert_int_equal(p.err.http_status, 500);
}

static void requests_that_cannot_be_sent_are_refused_in_a_later_turn(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe bare = { 0 }, blank = { 0 }, line = { 0 }, path = { 0 }, body = { 0 };
        char *large = mem_alloc(KUBE_MAX_REQUEST_BYTES + 1);

        memset(large, 'x', KUBE_MAX_REQUEST_BYTES + 1);
        large[0] = '/';
        start_get(&bare, w, "api");
        start_get(&blank, w, "/a b");
        start_get(&line, w, "/a\r\nX-Evil: 1");
        start(&path, w, &(struct kube_request){ .path = { large, KUBE_MAX_PATH_BYTES + 1 } });
        start(&body, w,
              &(struct kube_request){
                      .method = KUBE_PUT, .path = STR("/echo"), .body = { large, KUBE_MAX_REQUEST_BYTES + 1 } });
        wait_for(w, 5);
        free(large);

        assert_int_equal(bare.err.code, ERR_INVAL);
        assert_int_equal(blank.err.code, ERR_INVAL);
        assert_int_equal(line.err.code, ERR_INVAL);
        assert_int_equal(path.err.code, ERR_LIMIT);
        assert_int_equal(body.err.code, ERR_LIMIT);
        assert_int_equal(server_connections(w->server), 0);
}

static void the_queue_is_bounded(void **state) {
        struct world *w = *state;
        size_t count = KUBE_MAX_QUEUED + 1;
        struct probe *probes = mem_zalloc(count * sizeof *probes);

        for (size_t i = 0; i < count; i++)
                start_get(&probes[i], w, "/gate");
        wait_for(w, 1);
        assert_int_equal(probes[count - 1].err.code, ERR_LIMIT);
        assert_int_equal(stats_of(w).queued + stats_of(w).in_flight, KUBE_MAX_QUEUED);

        kube_transport_free(w->transport);
        w->transport = NULL;
        probe_done(&probes[count - 1]);
        free(probes);
}

/* Failures. */

static void a_refused_connection_names_the_server(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof at;
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        /* Bound and not listening: nobody else gets the port, and nobody answers there. */
        assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
        kube_transport_free(w->transport);
        kube_config_free(w->config);
        w->config = mem_zalloc(sizeof *w->config);
        take_over(w->config, "", ntohs(at.sin_port));
        connect_world(w);
        get(&p, w, "/echo");
        close(fd);

        assert_int_equal(p.err.code, ERR_UNREACHABLE);
        assert_int_equal(p.status, 0);
        assert_non_null(strstr(p.err.msg, w->config->server));
        assert_non_null(strstr(p.err.msg, "Connection refused"));
        assert_int_equal(stats_of(w).calls[KUBE_GET][0], 1);
}

static void a_connection_that_breaks_in_the_body_is_unreachable(void **state) {
        static const char *const paths[] = { "/reset", "/short" };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
                _cleanup_(probe_done) struct probe p = { 0 };

                get(&p, w, paths[i]);
                assert_int_equal(p.err.code, ERR_UNREACHABLE);
                assert_int_equal(p.status, 200);
        }
        /* Bytes had come: nothing was repeated. */
        assert_int_equal(server_count(w->server, "GET /reset"), 1);
}

static void what_is_no_http_is_unreachable(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/garbage");

        assert_int_equal(p.err.code, ERR_UNREACHABLE);
}

static void a_get_is_sent_again_when_a_reused_connection_died(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe first = { 0 }, second = { 0 };

        get(&first, w, "/once");
        get(&second, w, "/once");

        assert_string_equal(second.body, "once");
        assert_int_equal(server_count(w->server, "GET /once"), 3);
        assert_int_equal(stats_of(w).retries, 1);
}

static void a_write_is_never_sent_again(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe first = { 0 }, second = { 0 };
        const struct kube_request patch = {
                .method = KUBE_PATCH, .path = STR("/once"), .content_type = "a/b", .body = STR("{}")
        };

        run(&first, w, &patch);
        run(&second, w, &patch);

        assert_string_equal(first.body, "once");
        assert_int_equal(second.err.code, ERR_UNREACHABLE);
        assert_int_equal(server_count(w->server, "PATCH /once"), 2);
        assert_int_equal(stats_of(w).retries, 0);
}

static void a_get_is_not_sent_for_ever(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe warm = { 0 }, p = { 0 };

        get(&warm, w, "/echo");
        get(&p, w, "/never");

        assert_int_equal(p.err.code, ERR_UNREACHABLE);
        assert_int_equal(server_count(w->server, "GET /never"), 2);
}

static void a_silent_server_runs_into_the_deadline(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        run(&p, w, &(struct kube_request){ .path = STR("/silent"), .deadline_ms = 50 });

        assert_int_equal(p.err.code, ERR_TIMEOUT);
        assert_non_null(strstr(p.err.msg, w->config->server));
        assert_int_equal(stats_of(w).in_flight, 0);
}

static void the_deadline_counts_while_a_request_is_queued(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe holder = { 0 }, p = { 0 };

        kube_curl_transport_set_in_flight(w->transport, 1);
        start_get(&holder, w, "/gate");
        await_inside(w, 1);
        run(&p, w, &(struct kube_request){ .path = STR("/echo"), .priority = KUBE_PRIORITY_READ, .deadline_ms = 50 });

        assert_int_equal(p.err.code, ERR_TIMEOUT);
        assert_non_null(strstr(p.err.msg, "not sent"));
        assert_int_equal(server_count(w->server, "GET /echo"), 0);
        server_gate(w->server, true);
        wait_for(w, 1);
        assert_int_equal(holder.status, 200);
}

static void a_watch_streams_and_times_out_when_it_falls_silent(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        start_with(&p, w,
                   &(struct kube_request){
                           .path = STR("/watch"), .watch = true, .deadline_ms = -1, .silence_ms = 1000 },
                   &streaming);
        wait_for(w, 1);

        assert_int_equal(p.data_bytes, 6);
        assert_int_equal(p.err.code, ERR_TIMEOUT);
        assert_non_null(strstr(p.err.msg, "nothing received"));
        assert_int_equal(stats_of(w).open_watches, 0);
}

static void a_watch_that_the_server_ends_is_no_error(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        start_with(&p, w, &(struct kube_request){ .path = STR("/short-watch"), .watch = true, .deadline_ms = -1 },
                   &streaming);
        wait_for(w, 1);

        assert_int_equal(p.err.code, 0);
        assert_int_equal(p.status, 200);
        assert_int_equal(p.data_bytes, 6);
}

/* Queue. */

static void leases_go_before_writes_before_reads(void **state) {
        static const struct {
                const char *path;
                enum kube_priority priority;
        } asked[] = { { "/echo/r1", KUBE_PRIORITY_READ },  { "/echo/r2", KUBE_PRIORITY_READ },
                      { "/echo/w1", KUBE_PRIORITY_WRITE }, { "/echo/w2", KUBE_PRIORITY_WRITE },
                      { "/echo/l1", KUBE_PRIORITY_LEASE } };
        struct world *w = *state;
        struct probe holders[2] = { 0 }, probes[ARRAY_LEN(asked)] = { 0 };

        kube_curl_transport_set_in_flight(w->transport, 1);
        /* The lease's spare place is taken too: all five wait. */
        start_get(&holders[0], w, "/gate/1");
        await_inside(w, 1);
        start(&holders[1], w, &(struct kube_request){ .path = STR("/gate/2"), .priority = KUBE_PRIORITY_LEASE });
        await_inside(w, 2);
        for (size_t i = 0; i < ARRAY_LEN(asked); i++)
                start(&probes[i], w,
                      &(struct kube_request){ .path = str_from(asked[i].path), .priority = asked[i].priority });
        idle(w, 20);
        assert_int_equal(stats_of(w).queued, ARRAY_LEN(asked));
        server_gate(w->server, true);
        wait_for(w, 2 + ARRAY_LEN(asked));

        _cleanup_(mem_freep) char *log = server_log(w->server);
        const char *echo = strstr(log, "GET /echo/");
        assert_string_equal(echo, "GET /echo/l1\nGET /echo/w1\nGET /echo/w2\nGET /echo/r1\nGET /echo/r2\n");
        for (size_t i = 0; i < ARRAY_LEN(asked); i++)
                probe_done(&probes[i]);
        probe_done(&holders[0]);
        probe_done(&holders[1]);
}

static void requests_share_all_connections_but_one_and_a_lease_has_the_last(void **state) {
        struct world *w = *state;
        struct probe probes[20] = { 0 }, lease = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(probes); i++)
                start_get(&probes[i], w, "/gate");
        await_inside(w, CURL_REQUEST_CONNECTIONS - 1);
        start(&lease, w, &(struct kube_request){ .path = STR("/gate/lease"), .priority = KUBE_PRIORITY_LEASE });
        await_inside(w, CURL_REQUEST_CONNECTIONS);
        assert_int_equal(server_count(w->server, "GET /gate/lease"), 1);
        assert_int_equal(stats_of(w).queued, ARRAY_LEN(probes) - CURL_REQUEST_CONNECTIONS + 1);
        server_gate(w->server, true);
        wait_for(w, ARRAY_LEN(probes) + 1);

        assert_int_equal(server_inside(w->server, true), CURL_REQUEST_CONNECTIONS);
        assert_int_equal(server_connections(w->server), CURL_REQUEST_CONNECTIONS);
        assert_int_equal(stats_of(w).connections_opened, CURL_REQUEST_CONNECTIONS);
        for (size_t i = 0; i < ARRAY_LEN(probes); i++)
                probe_done(&probes[i]);
        probe_done(&lease);
}

static void no_more_are_in_flight_than_allowed(void **state) {
        struct world *w = *state;
        struct probe probes[10] = { 0 };

        kube_curl_transport_set_in_flight(w->transport, 2);
        for (size_t i = 0; i < ARRAY_LEN(probes); i++)
                start_get(&probes[i], w, "/gate");
        await_inside(w, 2);
        idle(w, 20);
        assert_int_equal(stats_of(w).in_flight, 2);
        server_gate(w->server, true);
        wait_for(w, ARRAY_LEN(probes));

        assert_int_equal(server_inside(w->server, true), 2);
        for (size_t i = 0; i < ARRAY_LEN(probes); i++)
                probe_done(&probes[i]);
}

static void three_hundred_watches_do_not_starve_a_get(void **state) {
        struct world *w = *state;
        struct probe *probes = mem_zalloc(300 * sizeof *probes);
        _cleanup_(probe_done) struct probe p = { 0 };

        for (size_t i = 0; i < 300; i++)
                start_with(&probes[i], w,
                           &(struct kube_request){ .path = STR("/watch"), .watch = true, .deadline_ms = -1 },
                           &streaming);
        get(&p, w, "/echo");
        assert_int_equal(p.status, 200);
        await_count(w, "GET /watch", 300);
        idle(w, 20);

        assert_int_equal(stats_of(w).open_watches, 300);
        assert_int_equal(stats_of(w).waiting_watches, 0);
        kube_transport_free(w->transport);
        w->transport = NULL;
        free(probes);
}

/* Cancelling and freeing. */

static void a_cancelled_call_never_calls_back(void **state) {
        struct world *w = *state;
        struct probe queued = { 0 }, running = { 0 }, watch = { 0 };
        _cleanup_(probe_done) struct probe after = { 0 };

        start_get(&queued, w, "/echo");
        kube_cancel(w->transport, queued.call);

        start_get(&running, w, "/gate");
        await_inside(w, 1);
        kube_cancel(w->transport, running.call);
        server_gate(w->server, true);

        watch.stop_at_data = true;
        start_with(&watch, w, &(struct kube_request){ .path = STR("/watch"), .watch = true, .deadline_ms = -1 },
                   &streaming);
        assert_true(loop_run_for(w->loop, PATIENCE_MS));
        kube_cancel(w->transport, watch.call);

        get(&after, w, "/echo");
        assert_int_equal(after.status, 200);
        assert_int_equal(queued.ended + running.ended + watch.ended, 0);
        assert_int_equal(stats_of(w).in_flight, 0);
        assert_int_equal(stats_of(w).open_watches, 0);
        assert_int_equal(server_count(w->server, "GET /echo"), 1);
}

static void a_refused_call_can_be_cancelled_before_it_says_so(void **state) {
        struct world *w = *state;
        struct probe refused = { 0 };
        _cleanup_(probe_done) struct probe after = { 0 };

        start_get(&refused, w, "no slash");
        kube_cancel(w->transport, refused.call);
        get(&after, w, "/echo");

        assert_int_equal(refused.ended, 0);
}

static void data_may_cancel_its_own_call(void **state) {
        struct world *w = *state;
        struct probe p = { .cancel_self = true, .stop_at_data = true };
        _cleanup_(probe_done) struct probe after = { 0 };

        start_with(&p, w, &(struct kube_request){ .path = STR("/big") }, &streaming);
        assert_true(loop_run_for(w->loop, PATIENCE_MS));
        get(&after, w, "/echo");

        assert_int_equal(p.ended, 0);
        assert_int_equal(p.chunks, 1);
        assert_int_equal(stats_of(w).in_flight, 0);
}

static void data_may_cancel_another_call_and_start_one(void **state) {
        struct world *w = *state;
        struct probe watch = { 0 };
        _cleanup_(probe_done) struct probe p = { 0 }, other = { 0 };

        start_with(&watch, w, &(struct kube_request){ .path = STR("/watch"), .watch = true, .deadline_ms = -1 },
                   &streaming);
        await_count(w, "GET /watch", 1);
        p.victim = watch.call;
        p.start_another = true;
        p.other = &other;
        start_with(&p, w, &(struct kube_request){ .path = STR("/big") }, &streaming);
        wait_for(w, 2);

        assert_int_equal(watch.ended, 0);
        assert_int_equal(p.data_bytes, BIG_BYTES);
        assert_int_equal(other.status, 200);
        assert_int_equal(stats_of(w).open_watches, 0);
}

static void data_may_cancel_a_call_on_the_same_handle(void **state) {
        struct world *w = *state;
        struct probe running = { 0 };
        _cleanup_(probe_done) struct probe p = { 0 };

        start_get(&running, w, "/gate");
        await_inside(w, 1);
        p.victim = running.call;
        start_with(&p, w, &(struct kube_request){ .path = STR("/big") }, &streaming);
        wait_for(w, 1);
        server_gate(w->server, true);
        idle(w, 20);

        assert_int_equal(running.ended, 0);
        assert_int_equal(p.data_bytes, BIG_BYTES);
        assert_int_equal(stats_of(w).in_flight, 0);
}

static void done_may_cancel_a_call_that_ended_in_the_same_turn(void **state) {
        struct world *w = *state;
        struct probe second = { 0 };
        _cleanup_(probe_done) struct probe first = { 0 }, after = { 0 };

        start_get(&first, w, "refused");
        start_get(&second, w, "refused too");
        first.victim = second.call;
        wait_for(w, 1);
        get(&after, w, "/echo");

        assert_int_equal(first.err.code, ERR_INVAL);
        assert_int_equal(second.ended, 0);
}

static void done_may_start_a_call(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { .start_another = true }, other = { 0 };

        p.other = &other;
        start_get(&p, w, "/echo");
        wait_for(w, 2);

        assert_int_equal(other.status, 200);
}

static void free_aborts_all_calls_without_callbacks(void **state) {
        struct world *w = *state;
        struct probe probes[20] = { 0 }, watch = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(probes); i++)
                start_get(&probes[i], w, "/gate");
        start_with(&watch, w, &(struct kube_request){ .path = STR("/watch"), .watch = true, .deadline_ms = -1 },
                   &streaming);
        await_inside(w, CURL_REQUEST_CONNECTIONS - 1);
        await_count(w, "GET /watch", 1);
        kube_transport_free(w->transport);
        w->transport = NULL;
        server_gate(w->server, true);
        idle(w, 50);

        for (size_t i = 0; i < ARRAY_LEN(probes); i++)
                assert_int_equal(probes[i].ended, 0);
        assert_int_equal(watch.ended, 0);
}

static void data_may_free_the_transport(void **state) {
        struct world *w = *state;
        struct probe p = { .free_transport = true }, watch = { 0 };

        start_with(&watch, w, &(struct kube_request){ .path = STR("/watch"), .watch = true, .deadline_ms = -1 },
                   &streaming);
        start_with(&p, w, &(struct kube_request){ .path = STR("/big") }, &streaming);
        assert_true(loop_run_for(w->loop, PATIENCE_MS));
        idle(w, 20);

        assert_null(w->transport);
        assert_int_equal(p.ended, 0);
        assert_int_equal(p.chunks, 1);
        assert_int_equal(watch.ended, 0);
}

static void done_may_free_the_transport(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { .free_transport = true };
        struct probe queued = { 0 };

        start_get(&p, w, "refused");
        start_get(&queued, w, "refused too");
        assert_true(loop_run_for(w->loop, PATIENCE_MS));
        idle(w, 20);

        assert_null(w->transport);
        assert_int_equal(p.ended, 1);
        assert_int_equal(queued.ended, 0);
}

/* Credentials. */

static void write_token(struct world *w, const char *token) {
        _cleanup_(mem_freep) char *path = NULL;
        int fd;

        if (!w->config->token_file) {
                struct buf text = buf_make(KIB);

                buf_addf(&text, "%s/token", w->dir);
                w->config->token_file = buf_take(&text);
        }
        (void)unlink(w->config->token_file);
        fd = open(w->config->token_file, O_WRONLY | O_CREAT | O_EXCL, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, token, strlen(token)), (ssize_t)strlen(token));
        close(fd);
}

static void drop_token(struct world *w) {
        (void)unlink(w->config->token_file);
}

static void a_rotated_token_is_read_after_a_401_and_the_call_repeated(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe before = { 0 }, after = { 0 }, patch = { 0 };

        write_token(w, "old\n");
        server_set_token(w->server, "old");
        get(&before, w, "/token");
        assert_string_equal(before.body, "welcome");

        write_token(w, "new\n");
        server_set_token(w->server, "new");
        get(&after, w, "/token");
        assert_string_equal(after.body, "welcome");
        assert_int_equal(server_count(w->server, "GET /token"), 3);

        write_token(w, "newer\n");
        server_set_token(w->server, "newer");
        run(&patch, w, &(struct kube_request){ .method = KUBE_PATCH, .path = STR("/token"), .body = STR("{}") });
        assert_string_equal(patch.body, "welcome");
        drop_token(w);
}

static void a_401_with_the_same_token_is_the_answer(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        write_token(w, "wrong\n");
        server_set_token(w->server, "right");
        get(&p, w, "/token");

        assert_int_equal(p.err.code, 0);
        assert_int_equal(p.status, 401);
        assert_string_equal(p.body, "who are you");
        assert_int_equal(server_count(w->server, "GET /token"), 1);
        drop_token(w);
}

static void two_wrong_tokens_are_not_tried_for_ever(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe before = { 0 }, p = { 0 };

        write_token(w, "one");
        server_set_token(w->server, "right");
        get(&before, w, "/token");
        write_token(w, "two");
        get(&p, w, "/token");

        assert_int_equal(p.status, 401);
        assert_int_equal(server_count(w->server, "GET /token"), 3);
        drop_token(w);
}

static void a_token_that_cannot_be_read_is_unauth_and_names_the_file(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        w->config->token_file = str_dup(STR("/nowhere/token"));
        get(&p, w, "/echo");

        assert_int_equal(p.err.code, ERR_UNAUTH);
        assert_non_null(strstr(p.err.msg, "/nowhere/token"));
        assert_int_equal(server_connections(w->server), 0);
}

/* A server that went silent is left alone by new calls: they get a connection of their own. */
static void after_a_silent_deadline_new_calls_use_a_new_connection(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe warm = { 0 }, silent = { 0 }, after = { 0 };

        get(&warm, w, "/echo");
        assert_int_equal(server_connections(w->server), 1);
        run(&silent, w, &(struct kube_request){ .path = STR("/silent"), .deadline_ms = 50 });
        get(&after, w, "/echo");

        assert_int_equal(after.status, 200);
        assert_int_equal(server_connections(w->server), 2);
}

static void everything_recovers_when_the_server_comes_back(void **state) {
        struct world *w = *state;
        struct probe watch = { 0 };
        _cleanup_(probe_done) struct probe before = { 0 }, down = { 0 };
        uint16_t port = w->server->port;

        get(&before, w, "/echo");
        start_with(&watch, w, &(struct kube_request){ .path = STR("/watch"), .watch = true, .deadline_ms = -1 },
                   &streaming);
        await_count(w, "GET /watch", 1);
        server_stop(w->server);
        wait_for(w, 1);
        assert_int_equal(watch.err.code, ERR_UNREACHABLE);
        get(&down, w, "/echo");
        assert_int_equal(down.err.code, ERR_UNREACHABLE);

        /* On another port, for ours may be taken by now: only the configuration's text changes, as a new DNS answer would. */
        w->server = server_start(routes);
        assert_int_not_equal(port, 0);
        free(w->config->port);
        struct buf text = buf_make(KIB);
        buf_addf(&text, "%u", w->server->port);
        w->config->port = buf_take(&text);
        _cleanup_(probe_done) struct probe after = { 0 };
        get(&after, w, "/echo");
        assert_int_equal(after.status, 200);
        probe_done(&watch);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(a_get_carries_its_headers_and_brings_the_body),
                WORLD_TEST(a_patch_carries_its_body),
                WORLD_TEST(every_method_goes_out_under_its_name),
                WORLD_TEST(a_body_above_a_mebibyte_does_not_wait_for_100_continue),
                WORLD_TEST(headers_of_a_refusal_are_parsed),
                WORLD_TEST(retry_after_may_be_a_date),
                WORLD_TEST(retry_after_is_a_day_at_most),
                WORLD_TEST(the_prefix_of_the_server_stands_in_front_of_paths),
                WORLD_TEST(impersonation_headers_go_along),
                WORLD_TEST(a_large_body_streams_in_pieces),
                WORLD_TEST(a_refusal_is_collected_though_data_is_there),
                WORLD_TEST(an_error_of_data_stops_the_call_with_it),
                WORLD_TEST(a_redirect_is_an_answer_and_not_followed),
                WORLD_TEST(no_answer_is_asked_for_compressed),
                WORLD_TEST(a_body_at_its_maximum_passes_and_above_it_is_a_limit),
                WORLD_TEST(a_refusal_has_a_limit_of_its_own),
                WORLD_TEST(requests_that_cannot_be_sent_are_refused_in_a_later_turn),
                WORLD_TEST(the_queue_is_bounded),
                WORLD_TEST(a_refused_connection_names_the_server),
                WORLD_TEST(a_connection_that_breaks_in_the_body_is_unreachable),
                WORLD_TEST(what_is_no_http_is_unreachable),
                WORLD_TEST(a_get_is_sent_again_when_a_reused_connection_died),
                WORLD_TEST(a_write_is_never_sent_again),
                WORLD_TEST(a_get_is_not_sent_for_ever),
                WORLD_TEST(a_silent_server_runs_into_the_deadline),
                WORLD_TEST(the_deadline_counts_while_a_request_is_queued),
                WORLD_TEST(a_watch_streams_and_times_out_when_it_falls_silent),
                WORLD_TEST(a_watch_that_the_server_ends_is_no_error),
                WORLD_TEST(leases_go_before_writes_before_reads),
                WORLD_TEST(requests_share_all_connections_but_one_and_a_lease_has_the_last),
                WORLD_TEST(no_more_are_in_flight_than_allowed),
                WORLD_TEST(three_hundred_watches_do_not_starve_a_get),
                WORLD_TEST(a_cancelled_call_never_calls_back),
                WORLD_TEST(a_refused_call_can_be_cancelled_before_it_says_so),
                WORLD_TEST(data_may_cancel_its_own_call),
                WORLD_TEST(data_may_cancel_another_call_and_start_one),
                WORLD_TEST(data_may_cancel_a_call_on_the_same_handle),
                WORLD_TEST(done_may_cancel_a_call_that_ended_in_the_same_turn),
                WORLD_TEST(done_may_start_a_call),
                WORLD_TEST(free_aborts_all_calls_without_callbacks),
                WORLD_TEST(data_may_free_the_transport),
                WORLD_TEST(done_may_free_the_transport),
                WORLD_TEST(a_rotated_token_is_read_after_a_401_and_the_call_repeated),
                WORLD_TEST(a_401_with_the_same_token_is_the_answer),
                WORLD_TEST(two_wrong_tokens_are_not_tried_for_ever),
                WORLD_TEST(a_token_that_cannot_be_read_is_unauth_and_names_the_file),
                WORLD_TEST(after_a_silent_deadline_new_calls_use_a_new_connection),
                WORLD_TEST(everything_recovers_when_the_server_comes_back),
        };

        return cmocka_run_group_tests_name("curl_transport", tests, NULL, NULL);
}
