/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repository addresses: parsed and checked once, at the door. Credentials inside an address are moved out of it, so
 * that no text made from a struct git_url can show them.
 *
 * Accepted: http and https URLs, file:// URLs, and plain paths. Known and refused: ssh://, scp-like user@host:path,
 * git:// and other schemes (UNSUPPORTED). Everything else is INVAL: control characters, blanks, a query or fragment,
 * ".." in the path, a host that begins with "-" or is not plain ASCII.
 *
 * Pure: no I/O. Limit: GIT_URL_MAX_BYTES. Thread rule: plain data.
 */
#ifndef TRUCE_GIT_URL_H
#define TRUCE_GIT_URL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define GIT_URL_MAX_BYTES 2048

enum git_url_scheme { GIT_URL_HTTP, GIT_URL_HTTPS, GIT_URL_FILE };

struct git_url {
        enum git_url_scheme scheme;
        struct str host;     /* lower case, without brackets; empty for files */
        uint16_t port;       /* the scheme's own when the URL names none; 0 for files */
        struct str path;     /* http(s): as written, without slashes at the end; files: decoded path */
        struct str text;     /* normalised, never with credentials: what is requested, shown and hashed */
        struct str username; /* percent-decoded userinfo; empty when the URL had none */
        struct str password;
};

/* INVAL or UNSUPPORTED; the message shows the URL without credentials. Everything in *ret lives in the arena. */
int git_url_parse(struct str text, struct arena *a, struct git_url *ret, struct err *err);

/* Does the host name this machine (localhost, 127.0.0.0/8, ::1)? Files do. */
bool git_url_is_loopback(const struct git_url *u);

/* Same scheme, host and port: where credentials may go. */
bool git_url_same_origin(const struct git_url *a, const struct git_url *b);

/*
 * For messages, from any text that may or may not be a URL: userinfo becomes "***@", control characters and bytes that
 * are no UTF-8 are escaped, long text is cut. Never fails.
 */
struct str git_url_redact(struct str text, struct arena *a);

#endif
