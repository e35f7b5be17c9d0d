/* SPDX-License-Identifier: Apache-2.0 */
/* The probes and metrics server over real sockets, with an agent on its twins. */
#include "http/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include "agent/twin.h"
#include "git/memory.h"

#define ANSWER_MAX_BYTES (256 * 1024)
#define DEADLINE_MS      30000

struct world {
        struct loop *loop;
        struct twin twin;
        struct git_memory *git; /* freed with its source by the agent */
        struct config *config;
        struct agent *agent;
        struct http_server *server;
        struct buf answer;
};

static void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        struct world *w = ctx;

        (void)app;
        (void)prune_err;
        loop_stop(w->loop);
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        struct world *w = ctx;

        (void)app;
        (void)what;
        (void)err;
        loop_stop(w->loop);
}

static struct git_source *open_source(void *ctx, const struct config_source *source, struct err *err) {
        struct world *w = ctx;

        (void)source;
        (void)err;
        return git_memory_source(w->git);
}

/* --- world ------------------------------------------------------------------------------------------------------ */

/* An agent that was not started, and its server on a free port. */
static void begin(struct world *w) {
        static const struct agent_hooks hooks = { .settled = on_settled, .trouble = on_trouble };
        struct config_app_flags flags = { .repo = STR("https://git.example/shop.git"),
                                          .name = STR("shop"),
                                          .path = STR("app"),
                                          .revision = STR("main"),
                                          .ns = STR("shop") };
        struct agent_options options = { .open_source = open_source, .open_ctx = w };
        struct git_memory_file file = { "app/a.yaml", GIT_MEMORY_FILE,
                                        STR("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n") };
        struct err err;

        *w = (struct world){ .loop = loop_new(1, 1, &err), .answer = buf_make(ANSWER_MAX_BYTES) };
        assert_non_null(w->loop);
        twin_init(&w->twin, w->loop);
        w->git = git_memory_new();
        git_memory_push(w->git, &file, 1);
        w->config = config_new();
        assert_int_equal(config_add_flags(w->config, &flags, &err), 0);
        w->config->agent.installation_id = STR("test");
        config_settle(w->config);
        assert_int_equal(
                agent_new(w->loop, script_transport(w->twin.script), w->config, &options, &hooks, w, &w->agent, &err),
                0);
        assert_int_equal(http_server_new(w->loop, STR("127.0.0.1:0"), w->agent, &w->server, &err), 0);
}

static void end(struct world *w) {
        http_server_free(w->server);
        agent_free(w->agent);
        twin_done(&w->twin);
        config_free(w->config);
        loop_free(w->loop);
        buf_done(&w->answer);
}

/* --- a client ---------------------------------------------------------------------------------------------------- */

static int dial(const struct world *w) {
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(w->server)) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
        return fd;
}

static void say(int fd, struct str text) {
        assert_int_equal(send(fd, text.p, text.n, MSG_NOSIGNAL), (ssize_t)text.n);
}

struct reading {
        struct world *world;
        int fd;
};

static void stop(void *ctx) {
        loop_stop(ctx);
}

/* On a thread of its own, as the loop thread serves; until the server closes. */
static void *read_all(void *ctx) {
        struct reading *r = ctx;
        char chunk[4096];
        ssize_t n;

        while ((n = recv(r->fd, chunk, sizeof chunk, 0)) > 0)
                buf_add(&r->world->answer, (struct str){ chunk, (size_t)n });
        loop_post(r->world->loop, stop, r->world->loop);
        return NULL;
}

/* Serves until the connection is closed; the whole answer is in w->answer. */
static void await(struct world *w, int fd) {
        struct reading r = { w, fd };
        pthread_t thread;

        buf_clear(&w->answer);
        assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
        assert_true(loop_run_for(w->loop, DEADLINE_MS));
        pthread_join(thread, NULL);
        close(fd);
}

static void ask(struct world *w, const char *method, const char *path) {
        _cleanup_(buf_done) struct buf request = buf_make(64 * 1024);
        int fd = dial(w);

        buf_addf(&request, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", method, path);
        say(fd, buf_str(&request));
        await(w, fd);
}

static int status(const struct world *w) {
        uint64_t code;
        struct str text = buf_str(&w->answer);

        if (text.n < 12 || !str_starts(text, STR("HTTP/1.1 ")) || !str_to_u64(str_sub(text, 9, 12), &code))
                return -1;
        return (int)code;
}

static struct str body(const struct world *w) {
        struct str text = buf_str(&w->answer);
        const char *at = memmem(text.p, text.n, "\r\n\r\n", 4);

        assert_non_null(at);
        return str_sub(text, (size_t)(at - text.p) + 4, text.n);
}

static bool has(const struct world *w, const char *part) {
        return memmem(w->answer.p, w->answer.n, part, strlen(part)) != NULL;
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static void a_live_loop_is_healthy(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        ask(&w, "GET", "/healthz");
        assert_int_equal(status(&w), 200);
        assert_true(str_eqc(body(&w), "ok\n"));
        assert_true(has(&w, "Content-Type: text/plain"));
        end(&w);
}

static void an_agent_is_ready_once_a_commit_is_in_force(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        ask(&w, "GET", "/readyz");
        assert_int_equal(status(&w), 503);
        assert_true(str_starts(body(&w), STR("not ready: ")));

        agent_start(w.agent);
        assert_true(loop_run_for(w.loop, DEADLINE_MS));
        ask(&w, "GET", "/readyz");
        assert_int_equal(status(&w), 200);
        assert_true(str_eqc(body(&w), "ok\n"));
        end(&w);
}

static bool knows(const struct leader *leader) {
        struct leader_status now;

        leader_status(leader, &now);
        return now.knows || now.err->code;
}

/* Its agent was not started, so it is the Lease alone that says it. */
static void who_stands_by_is_ready_once_it_knows_who_leads(void **state) {
        static const struct leader_options options = { { "truce", 5 }, { "truce-test", 10 }, { "pod_1", 5 }, 0 };
        static const struct script_answer forbidden = { .status = 403, .body = { "{}", 2 } };
        struct script_answer held = {
                .body = STR("{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"holderIdentity\":\"pod_0\"}}")
        };
        struct world w;

        (void)state;
        begin(&w);
        for (unsigned may_read = 0; may_read < 2; may_read++) {
                struct leader *leader = leader_new(w.loop, script_transport(w.twin.script), &options,
                                                   &(struct leader_hooks){ 0 }, &w);

                script_on(w.twin.script, KUBE_GET, "*/leases*", &forbidden);
                if (may_read)
                        script_on(w.twin.script, KUBE_GET, "*/leases/truce-test", &held);
                http_server_set_leader(w.server, leader);
                while (!knows(leader))
                        loop_run_for(w.loop, 1);
                ask(&w, "GET", "/readyz");
                assert_int_equal(status(&w), may_read ? 200 : 503);
                assert_true(str_starts(body(&w), may_read ? STR("ok: standing by, pod_0 leads\n")
                                                          : STR("not ready: leader election: ")));
                http_server_set_leader(w.server, NULL);
                leader_free(leader);
        }
        end(&w);
}

static void an_api_server_that_goes_away_is_told(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        agent_start(w.agent);
        assert_true(loop_run_for(w.loop, DEADLINE_MS));
        script_on(w.twin.script, KUBE_GET, "*", &(struct script_answer){ .error = ERR_UNREACHABLE });
        assert_true(script_end(w.twin.script, "*/configmaps?*watch=true*", ERR_UNREACHABLE));
        assert_true(loop_run_for(w.loop, DEADLINE_MS));

        ask(&w, "GET", "/readyz");
        assert_int_equal(status(&w), 503);
        assert_true(str_starts(body(&w), STR("not ready: the API server: watch configmaps: ")));
        ask(&w, "GET", "/healthz");
        assert_int_equal(status(&w), 200);
        end(&w);
}

static void metrics_are_served(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        ask(&w, "GET", "/metrics");
        assert_int_equal(status(&w), 200);
        assert_true(has(&w, "Content-Type: text/plain; version=0.0.4"));
        assert_true(has(&w, "\ntruce_watched_kinds 0\n"));
        end(&w);
}

static void a_head_is_an_answer_without_a_body(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        ask(&w, "HEAD", "/healthz");
        assert_int_equal(status(&w), 200);
        assert_true(has(&w, "Content-Length: 3"));
        assert_int_equal(body(&w).n, 0);
        end(&w);
}

static void only_what_is_there_is_served(void **state) {
        static const char *const paths[] = { "/",         "/health",     "/healthz/", "/metricsx",
                                             "//healthz", "/../healthz", "/HEALTHZ" };
        struct world w;

        (void)state;
        begin(&w);
        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
                ask(&w, "GET", paths[i]);
                assert_int_equal(status(&w), 404);
        }
        ask(&w, "GET", "/healthz?verbose=1");
        assert_int_equal(status(&w), 200);
        end(&w);
}

static void nothing_can_be_changed(void **state) {
        static const char *const methods[] = { "POST", "PUT", "DELETE", "PATCH", "OPTIONS" };
        struct world w;

        (void)state;
        begin(&w);
        for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
                ask(&w, methods[i], "/healthz");
                assert_int_equal(status(&w), 405);
                assert_true(has(&w, "Allow: GET, HEAD"));
        }
        end(&w);
}

static void a_body_is_taken_and_dropped(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        int fd = dial(&w);
        say(fd, STR("POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"));
        await(&w, fd);
        assert_int_equal(status(&w), 405);
        end(&w);
}

/* The first says nothing more for a while; the second is served all the same, and then the first. */
static void a_slow_connection_holds_up_no_other(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        int slow = dial(&w);
        say(slow, STR("GET /healthz HTTP/1.1\r\nHo"));
        ask(&w, "GET", "/metrics");
        assert_int_equal(status(&w), 200);
        say(slow, STR("st: x\r\nConnection: close\r\n\r\n"));
        await(&w, slow);
        assert_int_equal(status(&w), 200);
        assert_true(str_eqc(body(&w), "ok\n"));
        end(&w);
}

/* More than there are places come and go; who comes then is served. */
static void places_that_become_free_are_given_again(void **state) {
        int fds[HTTP_MAX_CONNECTIONS + 20];
        struct world w;

        (void)state;
        begin(&w);
        for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
                fds[i] = dial(&w);
                loop_run_for(w.loop, 1);
        }
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
                close(fds[i]);
        loop_run_for(w.loop, 50);
        ask(&w, "GET", "/healthz");
        assert_int_equal(status(&w), 200);
        end(&w);
}

static void garbage_ends_its_connection_only(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        int fd = dial(&w);
        say(fd, STR("\x16\x03\x01\x02\r\n\r\n\r\n"));
        await(&w, fd);
        assert_true(status(&w) == 400 || w.answer.n == 0);
        ask(&w, "GET", "/healthz");
        assert_int_equal(status(&w), 200);
        end(&w);
}

static void a_header_above_the_limit_is_refused(void **state) {
        _cleanup_(buf_done) struct buf request = buf_make(64 * 1024);
        struct world w;

        (void)state;
        begin(&w);
        int fd = dial(&w);
        buf_addc(&request, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Much: ");
        for (int i = 0; i < 32 * 1024; i++)
                buf_addch(&request, 'x');
        buf_addc(&request, "\r\nConnection: close\r\n\r\n");
        say(fd, buf_str(&request));
        await(&w, fd);
        assert_true(status(&w) == 431 || status(&w) == 413 || status(&w) == 414);
        end(&w);
}

static void an_address_that_cannot_be_is_refused(void **state) {
        static const char *const bad[] = { "",
                                           "8080",
                                           ":",
                                           "127.0.0.1:",
                                           "127.0.0.1:65536",
                                           "127.0.0.1:x",
                                           "127.0.0.1:-1",
                                           "localhost:80",
                                           "[::1:80",
                                           "1.2.3:80",
                                           "example.org:80",
                                           ":+1" };
        struct world w;

        (void)state;
        begin(&w);
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                struct http_server *s = NULL;
                struct err err = { 0 };

                assert_int_equal(http_server_new(w.loop, str_from(bad[i]), w.agent, &s, &err), ERR_INVAL);
                assert_null(s);
                assert_non_null(strstr(err.msg, "--listen"));
        }
        ask(&w, "GET", "/healthz"); /* what there is goes on */
        assert_int_equal(status(&w), 200);
        end(&w);
}

static void a_port_in_use_is_told(void **state) {
        _cleanup_(buf_done) struct buf address = buf_make(64);
        struct http_server *s = NULL;
        struct err err = { 0 };
        struct world w;

        (void)state;
        begin(&w);
        assert_true(http_server_port(w.server) > 0);
        buf_addf(&address, "127.0.0.1:%u", http_server_port(w.server));
        assert_true(http_server_new(w.loop, buf_str(&address), w.agent, &s, &err) < 0);
        assert_null(s);
        assert_non_null(strstr(err.msg, "in use"));
        ask(&w, "GET", "/healthz");
        assert_int_equal(status(&w), 200);
        end(&w);
}

static void every_address_is_one_socket_for_both_families(void **state) {
        static const char *const good[] = { ":0", "[::1]:0", "[::]:0", "0.0.0.0:0" };
        struct world w;

        (void)state;
        begin(&w);
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
                struct err err = { 0 };

                http_server_free(TAKE_PTR(w.server));
                int r = http_server_new(w.loop, str_from(good[i]), w.agent, &w.server, &err);
                if (r < 0 && i > 0 && good[i][0] == '[')
                        continue; /* a machine without IPv6 */
                assert_int_equal(r, 0);
                if (i == 1)
                        continue;
                ask(&w, "GET", "/healthz");
                assert_int_equal(status(&w), 200);
        }
        end(&w);
}

static void it_ends_with_connections_open(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        int fd = dial(&w);
        say(fd, STR("GET /healthz HTTP/1.1\r\n"));
        ask(&w, "GET", "/healthz");
        end(&w);
        close(fd);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_live_loop_is_healthy),
                cmocka_unit_test(an_agent_is_ready_once_a_commit_is_in_force),
                cmocka_unit_test(who_stands_by_is_ready_once_it_knows_who_leads),
                cmocka_unit_test(an_api_server_that_goes_away_is_told),
                cmocka_unit_test(metrics_are_served),
                cmocka_unit_test(a_head_is_an_answer_without_a_body),
                cmocka_unit_test(only_what_is_there_is_served),
                cmocka_unit_test(nothing_can_be_changed),
                cmocka_unit_test(a_body_is_taken_and_dropped),
                cmocka_unit_test(a_slow_connection_holds_up_no_other),
                cmocka_unit_test(places_that_become_free_are_given_again),
                cmocka_unit_test(garbage_ends_its_connection_only),
                cmocka_unit_test(a_header_above_the_limit_is_refused),
                cmocka_unit_test(an_address_that_cannot_be_is_refused),
                cmocka_unit_test(a_port_in_use_is_told),
                cmocka_unit_test(every_address_is_one_socket_for_both_families),
                cmocka_unit_test(it_ends_with_connections_open),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
