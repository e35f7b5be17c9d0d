/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP/1.1 server on loopback for tests: one thread accepts, one thread a connection. What a path does is a row
 * in the test's table. It also notes what came in which order, and can hold answers back until the test opens the gate.
 * Given an SSL_CTX it speaks TLS (and only HTTP/1.1 in it).
 *
 * Thread rule: server_* functions may be called from the test's thread at any time; handlers run on a connection's
 * thread and use conn_* only.
 */
#ifndef TRUCE_TESTS_LOOPBACK_SERVER_H
#define TRUCE_TESTS_LOOPBACK_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/buf.h"

#define SERVER_MAX_CONNECTIONS 1024
#define SERVER_MAX_LOG_BYTES (1024 * 1024)

struct server;

/* One connection and the request it reads just now. */
struct conn {
        struct server *server;
        pthread_t thread;
        int fd;
        SSL *tls;
        unsigned requests; /* read on this connection, this one included */
        struct buf in;     /* not parsed yet */
        char method[16], path[1024];
        struct buf headers; /* of the request, as they came */
        struct buf body;
};

/* What a path does; "*" at the end of `path` is any rest. False ends the connection. */
struct server_route {
        const char *path;
        bool (*serve)(struct conn *c);
};

struct server {
        const struct server_route *routes; /* ends with a NULL path */
        SSL_CTX *tls; /* NULL: plain; owned by the test */
        const char *greeting; /* is all a client gets; NULL: HTTP */
        int fd;
        uint16_t port;
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct conn *conns[SERVER_MAX_CONNECTIONS];
        unsigned conn_count;
        struct buf log; /* "GET /path\n" per request, in order of arrival */
        unsigned inside, most_inside; /* requests held at the gate: now, and at the worst */
        bool gate_open, stopping;
        char token[64]; /* what /token wants */
};

static inline ssize_t conn_recv(struct conn *c, char *p, size_t n) {
        return c->tls ? SSL_read(c->tls, p, (int)n) : recv(c->fd, p, n, 0);
}

static inline void conn_send(struct conn *c, const char *p, size_t n) {
        while (n) {
                ssize_t sent = c->tls ? SSL_write(c->tls, p, (int)n) : send(c->fd, p, n, MSG_NOSIGNAL);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent <= 0)
                        return;
                p += sent;
                n -= (size_t)sent;
        }
}

static inline void conn_text(struct conn *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static inline void conn_text(struct conn *c, const char *fmt, ...) {
        struct buf text = buf_make(SERVER_MAX_LOG_BYTES);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);
        conn_send(c, text.p, text.n);
        buf_done(&text);
}

static inline void conn_reply(struct conn *c, int status, const char *headers, struct str body) {
        conn_text(c, "HTTP/1.1 %d Text\r\n%sContent-Length: %zu\r\n\r\n", status, headers, body.n);
        conn_send(c, body.p, body.n);
}

/* The connection ends with a reset instead of a FIN. */
static inline void conn_reset(struct conn *c) {
        struct linger now = { .l_onoff = 1, .l_linger = 0 };

        (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

/* Until the client closes, or the server stops. */
static inline void conn_wait_for_close(struct conn *c) {
        char rest[256];

        while (conn_recv(c, rest, sizeof rest) > 0)
                ;
}

/* Waits until the test opens the gate. */
static inline void conn_gate(struct conn *c) {
        struct server *s = c->server;

        pthread_mutex_lock(&s->lock);
        s->inside++;
        if (s->inside > s->most_inside)
                s->most_inside = s->inside;
        pthread_cond_broadcast(&s->changed);
        while (!s->gate_open && !s->stopping)
                pthread_cond_wait(&s->changed, &s->lock);
        s->inside--;
        pthread_mutex_unlock(&s->lock);
}

static inline const char *conn_header(struct conn *c, const char *name) {
        const char *at = strcasestr(c->headers.p, name);

        return at ? at + strlen(name) : NULL;
}

/* More bytes into c->in; false at the end of the connection. */
static inline bool conn_fill(struct conn *c) {
        char chunk[16384];
        ssize_t n = conn_recv(c, chunk, sizeof chunk);

        if (n > 0)
                buf_add(&c->in, (struct str){ chunk, (size_t)n });
        return n > 0;
}

static inline bool conn_read_request(struct conn *c) {
        char *end;
        size_t head, body = 0;

        while (!(end = strstr(c->in.p, "\r\n\r\n")))
                if (!conn_fill(c))
                        return false;
        head = (size_t)(end - c->in.p) + 4;
        buf_clear(&c->headers);
        buf_add(&c->headers, (struct str){ c->in.p, head });
        if (sscanf(c->headers.p, "%15s %1023s", c->method, c->path) != 2)
                return false;
        if (conn_header(c, "\r\nContent-Length: "))
                body = strtoul(conn_header(c, "\r\nContent-Length: "), NULL, 10);
        while (c->in.n < head + body)
                if (!conn_fill(c))
                        return false;
        buf_clear(&c->body);
        buf_add(&c->body, (struct str){ c->in.p + head, body });
        buf_consume(&c->in, head + body);
        c->requests++;
        return true;
}

static inline bool route_matches(const char *route, const char *path) {
        size_t n = strlen(route);

        return n && route[n - 1] == '*' ? strncmp(route, path, n - 1) == 0 : strcmp(route, path) == 0;
}

static inline bool conn_serve(struct conn *c) {
        struct server *s = c->server;

        pthread_mutex_lock(&s->lock);
        buf_addf(&s->log, "%s %s\n", c->method, c->path);
        pthread_mutex_unlock(&s->lock);
        for (const struct server_route *r = s->routes; r->path; r++)
                if (route_matches(r->path, c->path))
                        return r->serve(c);
        conn_reply(c, 404, "", STR("no such path"));
        return true;
}

static inline void *conn_main(void *ctx) {
        struct conn *c = ctx;

        if (c->server->greeting)
                conn_text(c, "%s", c->server->greeting);
        else if (!c->tls || SSL_accept(c->tls) == 1)
                while (conn_read_request(c) && conn_serve(c))
                        ;
        pthread_mutex_lock(&c->server->lock);
        close(c->fd);
        c->fd = -1;
        pthread_mutex_unlock(&c->server->lock);
        return NULL;
}

static inline void server_take(struct server *s, int fd) {
        struct conn *c = mem_zalloc(sizeof *c);
        pthread_attr_t attr;

        c->server = s;
        c->fd = fd;
        if (s->tls) {
                c->tls = SSL_new(s->tls);
                SSL_set_fd(c->tls, fd);
        }
        c->in = buf_make(64 * 1024 * 1024);
        c->headers = buf_make(64 * 1024);
        c->body = buf_make(64 * 1024 * 1024);
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 256 * 1024);
        pthread_mutex_lock(&s->lock);
        s->conns[s->conn_count++] = c;
        if (pthread_create(&c->thread, &attr, conn_main, c) != 0)
                abort();
        pthread_mutex_unlock(&s->lock);
        pthread_attr_destroy(&attr);
}

static inline void *server_main(void *ctx) {
        struct server *s = ctx;

        for (;;) {
                int fd = accept(s->fd, NULL, NULL);

                if (fd < 0 && errno == EINTR)
                        continue;
                if (fd < 0)
                        return NULL;
                if (s->conn_count == SERVER_MAX_CONNECTIONS)
                        abort();
                server_take(s, fd);
        }
}

static inline struct server *server_start_tls(const struct server_route *routes, SSL_CTX *tls) {
        struct server *s = mem_zalloc(sizeof *s);
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof at;

        s->routes = routes;
        s->tls = tls;
        s->log = buf_make(SERVER_MAX_LOG_BYTES);
        pthread_mutex_init(&s->lock, NULL);
        pthread_cond_init(&s->changed, NULL);
        s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(s->fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(s->fd, 512) < 0 ||
            getsockname(s->fd, (struct sockaddr *)&at, &size) < 0)
                abort();
        s->port = ntohs(at.sin_port);
        if (pthread_create(&s->thread, NULL, server_main, s) != 0)
                abort();
        return s;
}

static inline struct server *server_start(const struct server_route *routes) {
        return server_start_tls(routes, NULL);
}

static inline void conn_free(struct conn *c) {
        pthread_join(c->thread, NULL);
        SSL_free(c->tls);
        buf_done(&c->in);
        buf_done(&c->headers);
        buf_done(&c->body);
        free(c);
}

static inline void server_stop(struct server *s) {
        shutdown(s->fd, SHUT_RDWR);
        pthread_join(s->thread, NULL);
        close(s->fd);
        pthread_mutex_lock(&s->lock);
        s->stopping = true;
        pthread_cond_broadcast(&s->changed);
        for (unsigned i = 0; i < s->conn_count; i++)
                if (s->conns[i]->fd >= 0)
                        shutdown(s->conns[i]->fd, SHUT_RDWR);
        pthread_mutex_unlock(&s->lock);
        for (unsigned i = 0; i < s->conn_count; i++)
                conn_free(s->conns[i]);
        buf_done(&s->log);
        pthread_cond_destroy(&s->changed);
        pthread_mutex_destroy(&s->lock);
        free(s);
}

static inline void server_gate(struct server *s, bool open) {
        pthread_mutex_lock(&s->lock);
        s->gate_open = open;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
}

static inline void server_set_token(struct server *s, const char *token) {
        pthread_mutex_lock(&s->lock);
        (void)snprintf(s->token, sizeof s->token, "%s", token);
        pthread_mutex_unlock(&s->lock);
}

/* A copy of the log so far; free() it. */
static inline char *server_log(struct server *s) {
        char *copy;

        pthread_mutex_lock(&s->lock);
        copy = str_dup(buf_str(&s->log));
        pthread_mutex_unlock(&s->lock);
        return copy;
}

/* How many logged lines begin with `prefix`. */
static inline unsigned server_count(struct server *s, const char *prefix) {
        char *copy = server_log(s);
        struct str rest = str_from(copy), line;
        unsigned n = 0;

        while (str_next(&rest, '\n', &line))
                n += str_starts(line, str_from(prefix));
        free(copy);
        return n;
}

static inline unsigned server_inside(struct server *s, bool most) {
        unsigned n;

        pthread_mutex_lock(&s->lock);
        n = most ? s->most_inside : s->inside;
        pthread_mutex_unlock(&s->lock);
        return n;
}

static inline unsigned server_connections(struct server *s) {
        unsigned n;

        pthread_mutex_lock(&s->lock);
        n = s->conn_count;
        pthread_mutex_unlock(&s->lock);
        return n;
}

#endif
