/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One struct exchange lives from a request's first line to the end of its answer. An answer is a buffer in the
 * exchange's arena, or a watch: then libmicrohttpd asks read_lines() for bytes, which suspends the connection when
 * there are none, and the next event (or the end) resumes it.
 *
 * libmicrohttpd does not look at the sockets of suspended connections, so a client that goes would hold its watch until
 * the next event: while suspended, a loop_io of our own waits for the end of the stream.
 */
#include "sandbox/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/listen.h"
#include "sandbox/protobuf.h"
#include "sandbox/sandbox_impl.h"
#include "sandbox/status.h"

#define CONNECTION_MEMORY_BYTES (64 * KIB) /* headers and query, 64 bytes for each of their names */
#define READ_BLOCK_BYTES        (16 * KIB)
#define WATCH_MAX_BYTES         (256 * MIB) /* initial events of everything a sandbox may hold */
#define MAX_IMPERSONATED_GROUPS 32
#define LISTEN_BACKLOG          512

struct sandbox_http {
        struct sandbox *sandbox;
        struct loop *loop;
        const struct sandbox_user *users;
        size_t user_count;
        struct MHD_Daemon *daemon;
        struct loop_io *io;
        struct loop_timer *timer;
        struct exchange *watches;
        size_t held; /* bytes of bodies, answers and lines that clients have not sent or read to the end */
        bool again; /* something came about while MHD_run() ran that only the next one sees */
        unsigned port;
};

struct exchange {
        struct sandbox_http *http;
        struct MHD_Connection *connection;
        struct str uri;   /* as it was sent, with query, without the token */
        struct str token; /* of the path */
        bool begun;       /* the headers are in */
        struct buf body;
        bool turned_away; /* there was no room for the body */
        size_t held;      /* of http->held */
        struct arena *arena;
        struct sandbox_request req;
        struct sandbox_reply reply;
        /* A watch: */
        struct exchange *prev, *next;
        struct sandbox_watch *watch;
        struct buf lines;
        size_t sent;    /* of `lines` */
        size_t initial; /* bytes of the initial events, until all was read once */
        bool started;   /* the initial events are in; until then only the buffer's own limit holds */
        bool ended, broken, suspended;
        struct loop_io *gone; /* waits for the client's end while suspended */
};

/* ---- on the loop ---- */

static void run(struct sandbox_http *h) {
        MHD_UNSIGNED_LONG_LONG timeout_ms;

        h->again = false;
        MHD_run(h->daemon);
        if (h->again)
                loop_timer_start(h->timer, 0);
        else if (MHD_get_timeout(h->daemon, &timeout_ms) == MHD_YES)
                loop_timer_start(h->timer, (int64_t)timeout_ms);
        else
                loop_timer_stop(h->timer);
}

static void on_io(void *ctx, unsigned events) {
        (void)events;
        run(ctx);
}

static void on_timer(void *ctx) {
        run(ctx);
}

/* ---- what is held in memory for clients ---- */

static void hold(struct exchange *e, size_t bytes) {
        e->held += bytes;
        e->http->held += bytes;
}

static void let_go(struct exchange *e, size_t bytes) {
        e->held -= bytes;
        e->http->held -= bytes;
}

static bool is_full(const struct sandbox_http *h) {
        return h->held > SANDBOX_HTTP_MAX_HELD_BYTES;
}

/* ---- answers ---- */

static void refuse(struct exchange *e, int status, const char *reason, const char *message) {
        e->reply = (struct sandbox_reply){
                .status = status,
                .content_type = STR("application/json"),
                .body = status_text(e->arena, status, reason, NULL, str_from(message)),
        };
}

/* As the server does when too many requests are under way: no Status. */
static void turn_away(struct exchange *e) {
        e->reply = (struct sandbox_reply){
                .status = MHD_HTTP_TOO_MANY_REQUESTS,
                .content_type = STR("text/plain; charset=utf-8"),
                .body = STR("Too many requests, please try again later.\n"),
                .retry_after_s = 1,
        };
}

static void add_header(struct exchange *e, struct MHD_Response *r, const char *name, struct str value) {
        MHD_add_response_header(r, name, arena_str(e->arena, value).p);
}

/* RFC 7234 §5.5: 299 - "text"; quotes and backslashes are escaped, controls become blanks. */
static void add_warning(struct exchange *e, struct MHD_Response *r, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(16 * KIB);

        buf_addc(&out, "299 - \"");
        for (size_t i = 0; i < text.n; i++) {
                if (text.p[i] == '"' || text.p[i] == '\\')
                        buf_addch(&out, '\\');
                buf_addch(&out, (unsigned char)text.p[i] < 0x20 ? ' ' : text.p[i]);
        }
        buf_addch(&out, '"');
        if (!out.overflow)
                add_header(e, r, MHD_HTTP_HEADER_WARNING, buf_str(&out));
}

static enum MHD_Result queue(struct exchange *e, struct MHD_Response *r) {
        add_header(e, r, MHD_HTTP_HEADER_CONTENT_TYPE, e->reply.content_type);
        add_header(e, r, "Audit-Id", new_uid(e->http->sandbox, e->arena));
        MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache, private");
        for (size_t i = 0; i < e->reply.warning_count; i++)
                add_warning(e, r, e->reply.warnings[i]);
        if (e->reply.retry_after_s > 0)
                add_header(e, r, MHD_HTTP_HEADER_RETRY_AFTER,
                           arena_strf(e->arena, "%lld", (long long)e->reply.retry_after_s));

        enum MHD_Result queued = MHD_queue_response(e->connection, (unsigned)e->reply.status, r);
        MHD_destroy_response(r);
        return queued;
}

/* ---- watches ---- */

static size_t pending(const struct exchange *e) {
        return e->lines.n - e->sent;
}

static void wake(struct exchange *e) {
        if (!e->suspended)
                return;
        e->suspended = false;
        if (e->gone)
                loop_io_want(e->gone, 0);
        MHD_resume_connection(e->connection);
        e->http->again = true;
        loop_timer_start(e->http->timer, 0);
}

static int connection_fd(const struct exchange *e) {
        return MHD_get_connection_info(e->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* libmicrohttpd waits until the client reads: the end of the connection is what ends that. */
static void give_up(struct exchange *e) {
        e->broken = true;
        shutdown(connection_fd(e), SHUT_RDWR);
        wake(e);
}

static struct exchange *longest_watch(const struct sandbox_http *h) {
        struct exchange *longest = NULL;

        for (struct exchange *e = h->watches; e; e = e->next)
                if (!e->broken && pending(e) > (longest ? pending(longest) : 0))
                        longest = e;
        return longest;
}

/* Who has most waiting for it loses it. */
static void make_room(struct sandbox_http *h) {
        struct exchange *e;

        while (is_full(h) && (e = longest_watch(h))) {
                buf_done(&e->lines);
                e->sent = 0;
                let_go(e, e->held);
                give_up(e);
        }
}

static void on_line(void *ctx, struct str line) {
        struct exchange *e = ctx;

        if (e->broken)
                return;
        if (e->sent > e->lines.n / 2) { /* what was read makes room */
                buf_consume(&e->lines, e->sent);
                let_go(e, e->sent);
                e->sent = 0;
        }
        buf_add(&e->lines, line);
        hold(e, line.n);
        if (e->lines.overflow || (e->started && pending(e) > SANDBOX_HTTP_MAX_PENDING_BYTES + e->initial))
                give_up(e);
        else
                wake(e);
        make_room(e->http);
}

static void on_end(void *ctx) {
        struct exchange *e = ctx;

        e->ended = true;
        wake(e);
}

static const struct sandbox_watcher watcher = { .line = on_line, .end = on_end };

/* Readable while suspended: the client has gone, or sends what nobody asked for, which waits. */
static void on_gone(void *ctx, unsigned events) {
        struct exchange *e = ctx;
        char byte;
        ssize_t n = recv(connection_fd(e), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);

        (void)events;
        if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
                loop_io_want(e->gone, n < 0 ? LOOP_IO_READ : 0);
                return;
        }
        e->broken = true;
        wake(e);
}

static void sleep_until_line(struct exchange *e) {
        e->suspended = true;
        MHD_suspend_connection(e->connection);
        if (!e->gone)
                e->gone = loop_io_new(e->http->loop, connection_fd(e), on_gone, e);
        loop_io_want(e->gone, LOOP_IO_READ);
}

static ssize_t read_lines(void *ctx, uint64_t at, char *out, size_t max) {
        struct exchange *e = ctx;
        struct str rest = str_sub(buf_str(&e->lines), e->sent, e->sent + max);

        (void)at;
        if (e->broken)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (rest.n) {
                memcpy(out, rest.p, rest.n);
                e->sent += rest.n;
                return (ssize_t)rest.n;
        }
        buf_done(&e->lines); /* the room of a burst is given back */
        let_go(e, e->held);
        e->sent = e->initial = 0;
        if (e->ended)
                return MHD_CONTENT_READER_END_OF_STREAM;
        sleep_until_line(e);
        return 0;
}

static enum MHD_Result begin_watch(struct exchange *e) {
        struct sandbox_http *h = e->http;

        e->lines = buf_make(WATCH_MAX_BYTES);
        e->watch = e->reply.watch;
        sandbox_watch_start(e->watch, &watcher, e);
        e->started = true;
        e->initial = e->lines.n;
        e->next = h->watches;
        if (e->next)
                e->next->prev = e;
        h->watches = e;
        return queue(e, MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, READ_BLOCK_BYTES, read_lines, e, NULL));
}

static void end_watch(struct exchange *e) {
        struct sandbox_http *h = e->http;

        if (e->prev)
                e->prev->next = e->next;
        else
                h->watches = e->next;
        if (e->next)
                e->next->prev = e->prev;
        sandbox_watch_close(e->watch);
        loop_io_free(e->gone);
        buf_done(&e->lines);
}

/* ---- who asks ---- */

static struct str header(const struct exchange *e, const char *name) {
        return str_from(MHD_lookup_connection_value(e->connection, MHD_HEADER_KIND, name));
}

static bool same_secret(struct str a, struct str b) {
        unsigned char differs = 0;

        if (a.n != b.n)
                return false;
        for (size_t i = 0; i < a.n; i++)
                differs |= (unsigned char)(a.p[i] ^ b.p[i]);
        return differs == 0;
}

static struct str bearer_token(const struct exchange *e) {
        static const struct str scheme = { "Bearer ", 7 };
        struct str authorization = header(e, MHD_HTTP_HEADER_AUTHORIZATION);

        if (authorization.n < scheme.n || strncasecmp(authorization.p, scheme.p, scheme.n) != 0)
                return (struct str){ 0 };
        return str_trim(str_sub(authorization, scheme.n, authorization.n));
}

static const struct sandbox_user *find_user(const struct exchange *e) {
        struct str token = e->token.n ? e->token : bearer_token(e);

        for (size_t i = 0; i < e->http->user_count; i++)
                if (same_secret(token, e->http->users[i].token))
                        return &e->http->users[i];
        return NULL;
}

/* What the server's default roles let anybody read. */
static bool is_public(struct str uri) {
        static const char *const paths[] = { "/healthz", "/livez", "/readyz", "/version" };
        struct str path;

        str_next(&uri, '?', &path);
        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
                if (str_eqc(path, paths[i]))
                        return true;
        return false;
}

struct impersonated {
        struct str groups[MAX_IMPERSONATED_GROUPS];
        size_t count;
};

static enum MHD_Result add_group(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value) {
        struct impersonated *to = ctx;

        (void)kind;
        if (strcasecmp(name, "Impersonate-Group") == 0 && value && to->count < MAX_IMPERSONATED_GROUPS)
                to->groups[to->count++] = str_from(value);
        return MHD_YES;
}

/* Sets user and groups of the request; 0, or the status of a refusal. */
static int identify(struct exchange *e) {
        const struct sandbox_user *user = find_user(e);
        struct str instead = header(e, "Impersonate-User");
        struct impersonated *as;

        if (!user && e->token.n == 0 && header(e, MHD_HTTP_HEADER_AUTHORIZATION).n == 0 && is_public(e->uri)) {
                e->req.user = STR("system:anonymous");
                return 0;
        }
        if (!user)
                return MHD_HTTP_UNAUTHORIZED;
        e->req.user = user->name;
        e->req.groups = user->groups;
        e->req.group_count = user->group_count;

        as = arena_alloc(e->arena, sizeof *as);
        as->count = 0;
        MHD_get_connection_values(e->connection, MHD_HEADER_KIND, add_group, as);
        if (instead.n == 0)
                return as->count ? MHD_HTTP_BAD_REQUEST : 0;
        e->req.user = instead;
        e->req.groups = as->groups;
        e->req.group_count = as->count;
        return 0;
}

/* ---- requests ---- */

static bool read_method(const char *method, enum kube_method *ret) {
        static const char *const names[] = {
                [KUBE_GET] = MHD_HTTP_METHOD_GET,       [KUBE_POST] = MHD_HTTP_METHOD_POST,
                [KUBE_PUT] = MHD_HTTP_METHOD_PUT,       [KUBE_PATCH] = MHD_HTTP_METHOD_PATCH,
                [KUBE_DELETE] = MHD_HTTP_METHOD_DELETE,
        };

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (strcmp(method, names[i]) == 0) {
                        *ret = (enum kube_method)i;
                        return true;
                }
        }
        return false;
}

/* A body in protobuf becomes JSON; one that cannot be read stays, and is refused as an unknown format. */
static void take_protobuf(struct exchange *e) {
        const struct value *object;

        if (!str_starts(e->req.content_type, STR("application/vnd.kubernetes.protobuf")) ||
            protobuf_read(e->req.body, kinds_types(e->http->sandbox->kinds), e->arena, &object, NULL) < 0)
                return;
        e->req.content_type = STR("application/json");
        e->req.body = value_canonical(e->arena, object);
}

static void serve(struct exchange *e) {
        e->req.path = e->uri;
        e->req.content_type = header(e, MHD_HTTP_HEADER_CONTENT_TYPE);
        e->req.accept = header(e, MHD_HTTP_HEADER_ACCEPT);
        e->req.user_agent = header(e, MHD_HTTP_HEADER_USER_AGENT);
        e->req.body = buf_str(&e->body);
        take_protobuf(e);
        sandbox_serve(e->http->sandbox, &e->req, e->arena, &e->reply);
}

/* Fills the reply. HEAD and OPTIONS are 405, as on the real server. */
static void answer(struct exchange *e, const char *method) {
        struct str host = header(e, MHD_HTTP_HEADER_HOST);
        int refused;

        if (host.n && !listen_is_loopback(host))
                refuse(e, MHD_HTTP_FORBIDDEN, "Forbidden", "the sandbox answers only to names of loopback");
        else if ((refused = identify(e)) == MHD_HTTP_UNAUTHORIZED)
                refuse(e, refused, "Unauthorized", "Unauthorized");
        else if (refused)
                refuse(e, refused, "BadRequest", "Impersonate-Group without Impersonate-User");
        else if (!read_method(method, &e->req.method))
                refuse(e, MHD_HTTP_METHOD_NOT_ALLOWED, "MethodNotAllowed",
                       "the server does not allow this method on the requested resource");
        else if (e->turned_away || is_full(e->http))
                turn_away(e);
        else if (e->body.overflow)
                refuse(e, MHD_HTTP_CONTENT_TOO_LARGE, "RequestEntityTooLarge",
                       "Request entity too large: limit is 3145728");
        else
                serve(e);
}

static void take_body(struct exchange *e, struct str piece) {
        if (e->body.overflow || e->turned_away)
                return;
        if (is_full(e->http)) {
                e->turned_away = true;
                buf_done(&e->body);
                let_go(e, e->held);
                return;
        }
        buf_add(&e->body, piece);
        hold(e, piece.n);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_bytes, void **request) {
        struct exchange *e = *request;

        (void)ctx;
        (void)url;
        (void)version;
        if (!e->begun) { /* headers only so far: libmicrohttpd calls again when the body is in */
                e->begun = true;
                e->connection = c;
                return MHD_YES;
        }
        if (*upload_bytes) { /* what is too large is read to its end, so that the client gets to the answer */
                take_body(e, (struct str){ upload, *upload_bytes });
                *upload_bytes = 0;
                return MHD_YES;
        }
        answer(e, method);
        if (e->reply.watch)
                return begin_watch(e);
        hold(e, e->reply.body.n);
        return queue(e,
                     MHD_create_response_from_buffer(e->reply.body.n, (void *)e->reply.body.p, MHD_RESPMEM_PERSISTENT));
}

/* "/token/TOKEN/api/v1" is "/api/v1" with that token. */
static void take_token(struct exchange *e) {
        struct str rest = e->uri;

        if (!str_starts(rest, STR("/token/")))
                return;
        rest = str_sub(rest, STR("/token/").n, rest.n);
        str_next(&rest, '/', &e->token);
        e->uri = arena_strf(e->arena, "/%.*s", STR_FMT(rest));
}

/* The first thing known of a request: its URI before anything is decoded. What it returns is the request's own. */
static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *c) {
        struct exchange *e = mem_zalloc(sizeof *e);

        e->http = ctx;
        e->connection = c;
        e->arena = arena_new(0);
        e->uri = arena_str(e->arena, str_from(uri));
        take_token(e);
        e->body = buf_make(KUBE_MAX_REQUEST_BYTES);
        return e;
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **request, enum MHD_RequestTerminationCode why) {
        struct exchange *e = *request;

        (void)ctx;
        (void)c;
        (void)why;
        if (!e)
                return;
        *request = NULL;
        if (e->watch)
                end_watch(e);
        let_go(e, e->held);
        buf_done(&e->body);
        arena_free(e->arena);
        free(e);
}

/* One that goes makes a place: libmicrohttpd looks for who waits for it only when it runs again. */
static void on_connection(void *ctx, struct MHD_Connection *c, void **socket_ctx,
                          enum MHD_ConnectionNotificationCode what) {
        struct sandbox_http *h = ctx;

        (void)c;
        (void)socket_ctx;
        if (what == MHD_CONNECTION_NOTIFY_CLOSED)
                h->again = true;
}

/* ---- life ---- */

static struct MHD_Daemon *start_daemon(struct sandbox_http *h, int fd) {
        return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, h,
                                MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_URI_LOG_CALLBACK, on_uri, h,
                                MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_NOTIFY_CONNECTION,
                                on_connection, h, MHD_OPTION_CONNECTION_LIMIT, SANDBOX_HTTP_MAX_CONNECTIONS,
                                MHD_OPTION_CONNECTION_TIMEOUT, SANDBOX_HTTP_IDLE_TIMEOUT_S,
                                MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_END);
}

int sandbox_http_new(struct sandbox *s, struct str listen, const struct sandbox_user *users, size_t user_count,
                     struct sandbox_http **ret_http, struct err *err) {
        int fd = -1, r = listen_open(listen, LISTEN_LOOPBACK, LISTEN_BACKLOG, &fd, err);

        if (r < 0)
                return r;
        struct sandbox_http *h = mem_zalloc(sizeof *h);
        *h = (struct sandbox_http){
                .sandbox = s, .loop = sandbox_loop(s), .users = users, .user_count = user_count, .port = listen_port(fd)
        };
        h->daemon = start_daemon(h, fd);
        if (!h->daemon) {
                close(fd);
                free(h);
                return err_set(err, ERR_INTERNAL, "--listen %.*s: the HTTP server does not start", STR_FMT(listen));
        }
        h->timer = loop_timer_new(h->loop, on_timer, h);
        h->io = loop_io_new(h->loop, MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, on_io, h);
        loop_io_want(h->io, LOOP_IO_READ);
        *ret_http = h;
        return 0;
}

void sandbox_http_free(struct sandbox_http *h) {
        if (!h)
                return;
        for (struct exchange *e = h->watches; e; e = e->next) { /* none may be suspended when the daemon stops */
                e->broken = true;
                wake(e);
        }
        MHD_run(h->daemon);
        MHD_stop_daemon(h->daemon);
        loop_io_free(h->io);
        loop_timer_free(h->timer);
        free(h);
}

unsigned sandbox_http_port(const struct sandbox_http *h) {
        return h->port;
}
