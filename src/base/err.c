/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>

static const char *const names[] = {
        "OK",        "INVAL",   "NOTFOUND",  "CONFLICT",    "FORBIDDEN", "UNAUTH", "DENIED",  "GONE",        "THROTTLED",
        "TIMEOUT",   "CANCELLED", "UNREACHABLE", "LIMIT",   "PARSE",     "CORRUPT", "UNSUPPORTED", "INTERNAL",
};

/* A message that was cut ends in "…" so that nobody takes the half for the whole. */
static void mark_cut(char *msg, int wanted) {
        static const char ellipsis[] = "\xe2\x80\xa6";

        if (wanted < ERR_MSG_MAX_BYTES)
                return;

        size_t at = ERR_MSG_MAX_BYTES - sizeof ellipsis;
        while (at > 0 && ((unsigned char)msg[at] & 0xc0) == 0x80)
                at--;
        memcpy(msg + at, ellipsis, sizeof ellipsis);
}

static int set_message(struct err *err, enum err_code code, const char *fmt, va_list ap) PRINTF_LIKE(3, 0);

static int set_message(struct err *err, enum err_code code, const char *fmt, va_list ap) {
        char msg[ERR_MSG_MAX_BYTES];

        mark_cut(msg, vsnprintf(msg, sizeof msg, fmt, ap));
        *err = (struct err){ .code = code };
        memcpy(err->msg, msg, sizeof msg);
        return code;
}

int(err_set)(struct err *err, enum err_code code, const char *fmt, ...) {
        va_list ap;

        if (!err)
                return code;

        va_start(ap, fmt);
        set_message(err, code, fmt, ap);
        va_end(ap);
        return code;
}

static enum err_code code_of_errno(int sys_errno) {
        switch (sys_errno) {
        case ENOENT:
        case ENOTDIR:
                return ERR_NOTFOUND;
        case EACCES:
        case EPERM:
                return ERR_FORBIDDEN;
        case EINVAL:
        case ENAMETOOLONG:
        case ELOOP:
                return ERR_INVAL;
        case ETIMEDOUT:
                return ERR_TIMEOUT;
        case ECANCELED:
                return ERR_CANCELLED;
        case ECONNREFUSED:
        case ECONNRESET:
        case EPIPE:
        case EHOSTUNREACH:
        case ENETUNREACH:
                return ERR_UNREACHABLE;
        case EMFILE:
        case ENFILE:
        case ENOSPC:
        case EFBIG:
                return ERR_LIMIT;
        default:
                return ERR_INTERNAL;
        }
}

int(err_set_errno)(struct err *err, int sys_errno, const char *fmt, ...) {
        enum err_code code = code_of_errno(sys_errno);
        char reason[128];
        va_list ap;

        if (!err)
                return code;

        va_start(ap, fmt);
        set_message(err, code, fmt, ap);
        va_end(ap);

        size_t n = strlen(err->msg);
        mark_cut(err->msg, (int)n + snprintf(err->msg + n, sizeof err->msg - n, ": %s",
                                             strerror_r(sys_errno, reason, sizeof reason)));
        err->sys_errno = sys_errno;
        return code;
}

int(err_wrap)(struct err *err, int code, const char *fmt, ...) {
        char msg[ERR_MSG_MAX_BYTES];
        va_list ap;

        if (!err)
                return code;

        va_start(ap, fmt);
        int n = vsnprintf(msg, sizeof msg, fmt, ap);
        va_end(ap);
        if (n < 0 || n >= (int)sizeof msg)
                n = sizeof msg - 1;
        mark_cut(msg, n + snprintf(msg + n, sizeof msg - (size_t)n, ": %s", err->msg));
        memcpy(err->msg, msg, sizeof msg);
        return err->code;
}

bool err_is_transient(int code) {
        switch (code) {
        case ERR_CONFLICT:
        case ERR_DENIED:
        case ERR_GONE:
        case ERR_THROTTLED:
        case ERR_TIMEOUT:
        case ERR_UNREACHABLE:
        case ERR_UNAUTH:
        case ERR_FORBIDDEN:
        case ERR_INTERNAL:
                return true;
        default:
                return false;
        }
}

const char *err_code_name(int code) {
        size_t i = (size_t)-code;

        return code <= 0 && i < ARRAY_LEN(names) ? names[i] : "UNKNOWN";
}
