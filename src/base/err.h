/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: what a caller can act on (a code), and what a person needs to read (a message).
 *
 * A function that can fail returns 0 or a negative `enum err_code` and takes `struct err *err` last; err may be NULL
 * when only the code matters. On failure outputs stay untouched and *err is filled; on success *err is untouched.
 * Messages start in lower case, have no full stop, never hold a secret, and are at most ERR_MSG_MAX_BYTES long
 * (longer ones are cut with "…"). Context is added on the way up with err_wrap().
 *
 * Thread rule: plain data.
 */
#ifndef TRUCE_BASE_ERR_H
#define TRUCE_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

#define ERR_MSG_MAX_BYTES 2048

/* Negative so that `r < 0` is the failure test. One code is one kind of reaction. */
enum err_code {
        ERR_OK = 0,
        ERR_INVAL = -1,        /* the user's input is wrong: no retry until it changes */
        ERR_NOTFOUND = -2,     /* the thing named does not exist */
        ERR_CONFLICT = -3,     /* somebody else changed or owns it: decide again */
        ERR_FORBIDDEN = -4,    /* authorization refused it */
        ERR_UNAUTH = -5,       /* authentication failed or is missing */
        ERR_DENIED = -6,       /* an admission policy refused this object: show its text, retry not before 60 s */
        ERR_GONE = -7,         /* 410: the history asked for is compacted; list again */
        ERR_THROTTLED = -8,    /* 429: wait retry_after_ms */
        ERR_TIMEOUT = -9,      /* a deadline of ours or of the server passed; the outcome is unknown */
        ERR_CANCELLED = -10,   /* we stopped it ourselves */
        ERR_UNREACHABLE = -11, /* no connection, or it broke; the outcome is unknown */
        ERR_LIMIT = -12,       /* a bound of base/limits.h was exceeded */
        ERR_PARSE = -13,       /* bytes from outside are not what they should be */
        ERR_CORRUPT = -14,     /* data of our own is damaged */
        ERR_UNSUPPORTED = -15, /* known, but not implemented */
        ERR_INTERNAL = -16,    /* a bug of ours or a server's unexplained 5xx */
};

struct err {
        enum err_code code;
        int sys_errno;          /* 0 when no system call was involved */
        int http_status;        /* 0 when no HTTP exchange was involved */
        int64_t retry_after_ms; /* 0 when the other side named no time */
        char msg[ERR_MSG_MAX_BYTES];
};

/* Fills *err (when not NULL) and returns code, so that `return err_set(err, ERR_INVAL, "…")` is one line. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* As err_set(), from a system errno; the code follows from it (ENOENT → NOTFOUND, EACCES → FORBIDDEN, …). */
int err_set_errno(struct err *err, int sys_errno, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts "context: " in front of the message; keeps the code. Returns err->code, or `code` when err is NULL. */
int err_wrap(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

#ifdef __clang_analyzer__
/* What clang's analyzer cannot see from a declaration: the result is the code, or at least some code. */
static inline int err_is(int result, int code) {
        (void)result;
        return code;
}
#define err_set(err, code, ...) err_is((err_set)(err, code, __VA_ARGS__), code)
#define err_set_errno(err, sys_errno, ...) err_is((err_set_errno)(err, sys_errno, __VA_ARGS__), ERR_INTERNAL)
#define err_wrap(err, code, ...) err_is((err_wrap)(err, code, __VA_ARGS__), code)
#endif

/* Is it worth trying the same thing again later without any change? The one place that decides it. */
bool err_is_transient(int code);

/* "INVAL", "NOTFOUND" …; never NULL. */
const char *err_code_name(int code);

#endif
