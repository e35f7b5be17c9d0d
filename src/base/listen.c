/* SPDX-License-Identifier: Apache-2.0 */
#include "base/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/macro.h"

union address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

/* ---- addresses ---- */

static struct str without_brackets(struct str name) {
        if (str_starts(name, STR("[")) && str_ends(name, STR("]")))
                return str_sub(name, 1, name.n - 1);
        return name;
}

/* An IP address without a port; the port is in network order. */
static bool parse_address(struct str name, uint16_t port, union address *ret) {
        _cleanup_(mem_freep) char *host = str_dup(name);

        *ret = (union address){ 0 };
        if (name.n == 0 || inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1) {
                ret->v6.sin6_family = AF_INET6;
                ret->v6.sin6_port = port;
                return true;
        }
        *ret = (union address){ 0 };
        if (inet_pton(AF_INET, host, &ret->v4.sin_addr) != 1)
                return false;
        ret->v4.sin_family = AF_INET;
        ret->v4.sin_port = port;
        return true;
}

static bool is_loopback(const union address *a) {
        if (a->any.sa_family == AF_INET)
                return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
        return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static ptrdiff_t last_colon(struct str s) {
        ptrdiff_t colon = -1;

        for (size_t i = 0; i < s.n; i++)
                colon = s.p[i] == ':' ? (ptrdiff_t)i : colon;
        return colon;
}

static int parse_listen(struct str text, enum listen_reach reach, union address *ret, struct err *err) {
        ptrdiff_t colon = last_colon(text);
        uint64_t port;

        if (colon < 0 || !str_to_u64(str_sub(text, (size_t)colon + 1, text.n), &port) || port > UINT16_MAX)
                return err_set(err, ERR_INVAL, "--listen %.*s: not HOST:PORT", STR_FMT(text));

        struct str name = without_brackets(str_sub(text, 0, (size_t)colon));
        if (!parse_address(name, htons((uint16_t)port), ret))
                return err_set(err, ERR_INVAL, "--listen %.*s: %.*s is no IP address", STR_FMT(text), STR_FMT(name));
        if (reach == LISTEN_LOOPBACK && !is_loopback(ret))
                return err_set(err, ERR_INVAL, "--listen %.*s: only on loopback (127.0.0.1:PORT, [::1]:PORT)",
                               STR_FMT(text));
        return 0;
}

bool listen_is_loopback(struct str host) {
        static const char localhost[] = "localhost";
        union address address;
        ptrdiff_t colon = last_colon(host);
        uint64_t port;

        /* "::1" has colons and no port; "[::1]:80" and "127.0.0.1:80" have one */
        if (colon >= 0 && (str_starts(host, STR("[")) ? host.p[colon - 1] == ']' : str_find(host, ':', 0) == colon)) {
                if (!str_to_u64(str_sub(host, (size_t)colon + 1, host.n), &port))
                        return false;
                host = str_sub(host, 0, (size_t)colon);
        }
        host = without_brackets(host);
        if (host.n == sizeof localhost - 1 && strncasecmp(host.p, localhost, host.n) == 0)
                return true;
        return host.n && parse_address(host, 0, &address) && is_loopback(&address);
}

/* ---- sockets ---- */

/* A socket of our own, so that "every address" is one dual-stack socket and the system's reason for a refusal is told.
 */
static int open_socket(const union address *address, struct str text, int backlog, int *ret_fd, struct err *err) {
        socklen_t size = address->any.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
        int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, off = 0;

        if (fd < 0 && errno == EAFNOSUPPORT && str_starts(text, STR(":"))) {
                union address v4 = { .v4 = { .sin_family = AF_INET, .sin_port = address->v6.sin6_port } };

                return open_socket(&v4, STR("0.0.0.0"), backlog, ret_fd, err); /* a machine without IPv6 */
        }
        if (fd < 0)
                return err_set_errno(err, errno, "--listen %.*s", STR_FMT(text));
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (address->any.sa_family == AF_INET6)
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        if (bind(fd, &address->any, size) < 0 || listen(fd, backlog) < 0) {
                int r = err_set_errno(err, errno, "--listen %.*s", STR_FMT(text));

                close(fd);
                return r;
        }
        *ret_fd = fd;
        return 0;
}

int listen_open(struct str text, enum listen_reach reach, int backlog, int *ret_fd, struct err *err) {
        union address address;
        int r = parse_listen(text, reach, &address, err);

        return r < 0 ? r : open_socket(&address, text, backlog, ret_fd, err);
}

unsigned listen_port(int fd) {
        union address address = { 0 };
        socklen_t size = sizeof address;

        if (getsockname(fd, &address.any, &size) < 0)
                return 0;
        return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}
