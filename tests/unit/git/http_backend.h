/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: an HTTP server on loopback that runs `git http-backend` as a CGI program, and can be told to misbehave. It
 * is a child process; what it should do and what it saw is in memory shared with the test.
 *
 * Every repository below the root folder is served as /NAME/…. One request per connection.
 */
#ifndef TRUCE_TEST_GIT_HTTP_BACKEND_H
#define TRUCE_TEST_GIT_HTTP_BACKEND_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "scratch.h"

#define BACKEND_TEXT_BYTES 512

enum backend_mode {
        BACKEND_NORMAL,
        BACKEND_DEAF,         /* takes the connection, reads nothing, says nothing */
        BACKEND_MUTE,         /* reads the request, never answers */
        BACKEND_STALL_BODY,   /* sends the head and some of the body of a POST, then nothing */
        BACKEND_CUT_BODY,     /* the same, then closes */
        BACKEND_STATUS,       /* answers every request with `status`, once `normal_left` were answered normally */
        BACKEND_DUMB,         /* the listing of the dumb protocol */
        BACKEND_PAGE,         /* a web page */
        BACKEND_NOISE,        /* no HTTP at all */
        BACKEND_REDIRECT,     /* GET info/refs is answered with a redirect to `location` + its query */
        BACKEND_ENDLESS_REFS, /* a listing that never ends */
};

struct backend_shared {
        _Atomic(int) mode;
        _Atomic(int) status;
        _Atomic(int) normal_left;
        _Atomic(int) old_protocol;   /* the Git-Protocol header is not passed on */
        _Atomic(int) requests;
        _Atomic(int) posts;
        _Atomic(long) bytes_out;
        _Atomic(int) authorized;     /* requests that came with an Authorization header */
        _Atomic(int) redirects_left; /* after these many redirects the answer is normal */
        char authorization[BACKEND_TEXT_BYTES]; /* wanted header value; empty: none is needed */
        char location[BACKEND_TEXT_BYTES];
        char body[BACKEND_TEXT_BYTES];          /* of BACKEND_STATUS, as text/plain */
};

struct backend {
        struct backend_shared *shared;
        pid_t pid;
        int port;
};

struct backend_request {
        char head[16384];
        char *method, *path, *query;
        struct buf body;
};

static inline void backend_send(struct backend_shared *sh, int fd, const char *p, size_t n) {
        atomic_fetch_add(&sh->bytes_out, (long)n);
        while (n > 0) {
                ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

                if (sent <= 0)
                        return;
                p += sent;
                n -= (size_t)sent;
        }
}

static inline void backend_answer(struct backend_shared *sh, int fd, int status, const char *type, const char *more,
                                  struct str body) {
        char head[2048];
        int n = snprintf(head, sizeof head,
                         "HTTP/1.1 %d Answer\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
                         status, type, body.n, more);

        backend_send(sh, fd, head, (size_t)n);
        backend_send(sh, fd, body.p, body.n);
}

/* The value of a header, in place (ended by NUL in a copy that takes turns); "" when absent. */
static inline const char *backend_header(const struct backend_request *q, const char *name) {
        static char values[4][4096];
        static unsigned next;
        char *value = values[next++ % 4];
        size_t n = strlen(name);

        value[0] = '\0';
        for (const char *line = q->head; (line = strstr(line, "\r\n")); line += 2) {
                if (strncasecmp(line + 2, name, n) != 0 || line[2 + n] != ':')
                        continue;
                const char *from = line + 3 + n + strspn(line + 3 + n, " ");
                snprintf(value, sizeof values[0], "%.*s", (int)strcspn(from, "\r"), from);
        }
        return value;
}

static inline bool backend_read(int fd, struct backend_request *q) {
        size_t n = 0, body_at, wanted;
        char *end = NULL;

        while (!end && n < sizeof q->head - 1) {
                ssize_t got = recv(fd, q->head + n, sizeof q->head - 1 - n, 0);

                if (got <= 0)
                        return false;
                n += (size_t)got;
                q->head[n] = '\0';
                end = strstr(q->head, "\r\n\r\n");
        }
        if (!end)
                return false;
        body_at = (size_t)(end - q->head) + 4;
        q->body = buf_make(1 << 24);
        buf_add(&q->body, (struct str){ q->head + body_at, n - body_at });
        end[2] = '\0';
        wanted = strtoul(backend_header(q, "Content-Length"), NULL, 10);
        while (q->body.n < wanted) {
                char piece[4096];
                ssize_t got = recv(fd, piece, sizeof piece, 0);

                if (got <= 0)
                        return false;
                buf_add(&q->body, (struct str){ piece, (size_t)got });
        }
        return true;
}

/* "METHOD /path?query HTTP/1.1": cut apart in place, so headers must have been looked up before. */
static inline bool backend_cut(struct backend_request *q) {
        char *space = strchr(q->head, ' '), *end = space ? strchr(space + 1, ' ') : NULL;

        if (!end)
                return false;
        *space = '\0';
        *end = '\0';
        q->method = q->head;
        q->path = space + 1;
        q->query = strchr(q->path, '?');
        if (q->query)
                *q->query++ = '\0';
        return true;
}

/* What the CGI program wrote for this request. */
static inline struct buf backend_run(const char *root, const struct backend_request *q, const char *type,
                                     const char *protocol) {
        struct buf out = buf_make(1 << 28);
        int in = memfd_create("body", MFD_CLOEXEC), fds[2];
        char piece[8192], length[32];
        ssize_t n;

        if (in < 0 || pipe2(fds, O_CLOEXEC) < 0 || write(in, q->body.p, q->body.n) != (ssize_t)q->body.n)
                _exit(1);
        lseek(in, 0, SEEK_SET);
        snprintf(length, sizeof length, "%zu", q->body.n);

        pid_t pid = fork();
        if (pid == 0) {
                dup2(in, 0);
                dup2(fds[1], 1);
                setenv("GIT_PROJECT_ROOT", root, 1);
                setenv("GIT_HTTP_EXPORT_ALL", "1", 1);
                setenv("REQUEST_METHOD", q->method, 1);
                setenv("PATH_INFO", q->path, 1);
                setenv("QUERY_STRING", q->query ? q->query : "", 1);
                setenv("CONTENT_TYPE", type, 1);
                setenv("CONTENT_LENGTH", length, 1);
                setenv("REMOTE_ADDR", "127.0.0.1", 1);
                if (protocol[0])
                        setenv("GIT_PROTOCOL", protocol, 1);
                execlp("git", "git", "http-backend", NULL);
                _exit(127);
        }
        close(fds[1]);
        while ((n = read(fds[0], piece, sizeof piece)) > 0)
                buf_add(&out, (struct str){ piece, (size_t)n });
        close(fds[0]);
        close(in);
        waitpid(pid, NULL, 0);
        return out;
}

/* CGI's header lines become HTTP's: "Status: 404 Not Found" goes into the first line. */
static inline void backend_pass_on(struct backend_shared *sh, int fd, struct str out, bool spoil) {
        int status = 200, mode = atomic_load(&sh->mode);
        char head[4096] = "", all[6000];
        struct str line, rest = out;
        size_t n = 0;

        while (str_next(&rest, '\n', &line) && (line = str_trim(line)).n > 0) {
                if (str_starts(line, STR("Status: ")))
                        status = (int)strtol(line.p + 8, NULL, 10);
                else
                        n += (size_t)snprintf(head + n, sizeof head - n, "%.*s\r\n", STR_FMT(line));
        }
        n = (size_t)snprintf(all, sizeof all,
                             "HTTP/1.1 %d Answer\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n", status, rest.n,
                             head);
        backend_send(sh, fd, all, n);
        if (!spoil || (mode != BACKEND_STALL_BODY && mode != BACKEND_CUT_BODY)) {
                backend_send(sh, fd, rest.p, rest.n);
                return;
        }
        backend_send(sh, fd, rest.p, rest.n / 2);
        if (mode == BACKEND_STALL_BODY)
                pause();
}

static inline void backend_endless(struct backend_shared *sh, int fd) {
        static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n"
                                   "Connection: close\r\n\r\n001e# service=git-upload-pack\n0000";
        char line[1100], name[1024];

        backend_send(sh, fd, head, sizeof head - 1);
        memset(name, 'x', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        for (int i = 0; i < 40000; i++) {
                int n = snprintf(line, sizeof line, "%04x%040d refs/heads/%s\n", 4 + 40 + 1 + 11 + 1023 + 1, i, name);

                backend_send(sh, fd, line, (size_t)n);
        }
}

static inline void backend_serve(struct backend_shared *sh, int fd, const char *root) {
        struct backend_request q;
        int mode = atomic_load(&sh->mode);
        char authorization[BACKEND_TEXT_BYTES], type[256], protocol[256], location[2 * BACKEND_TEXT_BYTES];

        if (mode == BACKEND_DEAF)
                pause();
        if (!backend_read(fd, &q))
                return;
        snprintf(authorization, sizeof authorization, "%s", backend_header(&q, "Authorization"));
        snprintf(type, sizeof type, "%s", backend_header(&q, "Content-Type"));
        snprintf(protocol, sizeof protocol, "%s",
                 atomic_load(&sh->old_protocol) ? "" : backend_header(&q, "Git-Protocol"));
        if (!backend_cut(&q))
                return;
        atomic_fetch_add(&sh->requests, 1);
        atomic_fetch_add(&sh->authorized, authorization[0] != '\0');
        bool post = strcmp(q.method, "POST") == 0;
        atomic_fetch_add(&sh->posts, post);

        if (mode == BACKEND_MUTE)
                pause();
        if (mode == BACKEND_NOISE) {
                backend_send(sh, fd, "220 mail.example.com ESMTP\r\n", 28);
                return;
        }
        if (mode == BACKEND_STATUS && atomic_fetch_sub(&sh->normal_left, 1) <= 0) {
                backend_answer(sh, fd, atomic_load(&sh->status), "text/plain", "Retry-After: 7\r\n",
                               str_from(sh->body));
                return;
        }
        if (mode == BACKEND_DUMB) {
                backend_answer(sh, fd, 200, "text/plain", "",
                               STR("1234567890123456789012345678901234567890\trefs/heads/main\n"));
                return;
        }
        if (mode == BACKEND_PAGE) {
                backend_answer(sh, fd, 200, "text/html; charset=utf-8", "", STR("<html>Sign in</html>"));
                return;
        }
        if (mode == BACKEND_ENDLESS_REFS) {
                backend_endless(sh, fd);
                return;
        }
        if (mode == BACKEND_REDIRECT && !post && atomic_fetch_sub(&sh->redirects_left, 1) > 0) {
                snprintf(location, sizeof location, "Location: %s/info/refs?%s\r\n", sh->location,
                         q.query ? q.query : "");
                backend_answer(sh, fd, 302, "text/plain", location, STR("moved"));
                return;
        }
        if (sh->authorization[0] && strcmp(authorization, sh->authorization) != 0) {
                backend_answer(sh, fd, 401, "text/plain", "WWW-Authenticate: Basic realm=\"git\"\r\n", STR("no"));
                return;
        }
        struct buf out = backend_run(root, &q, type, protocol);
        backend_pass_on(sh, fd, buf_str(&out), post);
}

static inline void backend_loop(struct backend *b, int listener, const char *root) {
        signal(SIGCHLD, SIG_IGN);
        for (;;) {
                int fd = accept(listener, NULL, NULL);

                if (fd < 0)
                        continue;
                if (fork() == 0) {
                        signal(SIGCHLD, SIG_DFL);
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        close(listener);
                        backend_serve(b->shared, fd, root);
                        shutdown(fd, SHUT_WR);
                        _exit(0);
                }
                close(fd);
        }
}

static inline void backend_start(struct backend *b, const char *root) {
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t n = sizeof at;
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        b->shared = mmap(NULL, sizeof *b->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (listener < 0 || b->shared == MAP_FAILED || bind(listener, (struct sockaddr *)&at, sizeof at) < 0 ||
            listen(listener, 64) < 0 || getsockname(listener, (struct sockaddr *)&at, &n) < 0)
                scratch_die("backend");
        b->port = ntohs(at.sin_port);
        b->pid = fork();
        if (b->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                backend_loop(b, listener, root);
        }
        close(listener);
}

static inline void backend_stop(struct backend *b) {
        kill(b->pid, SIGKILL);
        waitpid(b->pid, NULL, 0);
        munmap(b->shared, sizeof *b->shared);
}

#endif
