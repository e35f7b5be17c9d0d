/* SPDX-License-Identifier: Apache-2.0 */
#include "git/lib.h"

#include <curl/curl.h>
#include <pthread.h>

#include "base/buf.h"
#include "base/limits.h"
#include "git/remote.h"

/* An agent reads each tree and blob about once: caches would only hold memory. */
#define CACHE_BYTES (1 * MIB)
#define WINDOW_BYTES (1 * MIB)
#define MAPPED_BYTES (32 * MIB)
/* Above what git itself stores as a delta (core.bigFileThreshold), so no sane repository is refused. */
#define PACK_OBJECT_BYTES (512u * MIB)
#define PACK_OBJECTS 20000000u
#define TEXT_BYTES 400

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct err start_err;

static void set_options(void) {
        static const int levels[] = {
                GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_GLOBAL, GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_PROGRAMDATA,
        };

        for (size_t i = 0; i < ARRAY_LEN(levels); i++)
                git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
        git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, (ssize_t)CACHE_BYTES);
        git_libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, (size_t)WINDOW_BYTES);
        git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, (size_t)MAPPED_BYTES);
#ifdef TRUCE_GIT2_OBJECT_SIZE
        git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECT_SIZE, (size_t)PACK_OBJECT_BYTES);
#endif
        git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECTS, (size_t)PACK_OBJECTS);
        git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
        git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
        /* Objects are only read, nothing of a repository is ever run; and a pod's user often owns no file. */
        git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
}

static void start(void) {
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                err_set(&start_err, ERR_INTERNAL, "libcurl does not start");
        else if (git_libgit2_init() < 0)
                err_set(&start_err, ERR_INTERNAL, "libgit2 does not start");
        else
                set_options();
}

int git_init_library(struct err *err) {
        pthread_once(&once, start);
        if (start_err.code != ERR_OK)
                return err_set(err, start_err.code, "%s", start_err.msg);
        return 0;
}

/* What libgit2's results mean; what is not listed is told by the class of the error. */
static const struct meaning {
        int result;
        enum err_code code;
} results[] = {
        { GIT_ENOTFOUND, ERR_NOTFOUND },   { GIT_EAMBIGUOUS, ERR_INVAL },   { GIT_EINVALIDSPEC, ERR_INVAL },
        { GIT_ELOCKED, ERR_CONFLICT },     { GIT_EMODIFIED, ERR_CONFLICT }, { GIT_EAUTH, ERR_UNAUTH },
        { GIT_ECERTIFICATE, ERR_UNREACHABLE }, { GIT_EEOF, ERR_UNREACHABLE }, { GIT_EMISMATCH, ERR_CORRUPT },
        { GIT_EUSER, ERR_CANCELLED },      { GIT_EPEEL, ERR_INVAL },
}, classes[] = {
        { GIT_ERROR_NET, ERR_UNREACHABLE }, { GIT_ERROR_INDEXER, ERR_PARSE }, { GIT_ERROR_ZLIB, ERR_CORRUPT },
        { GIT_ERROR_ODB, ERR_CORRUPT },     { GIT_ERROR_OBJECT, ERR_CORRUPT }, { GIT_ERROR_TREE, ERR_CORRUPT },
        { GIT_ERROR_TAG, ERR_CORRUPT },     { GIT_ERROR_NOMEMORY, ERR_LIMIT },
};

static enum err_code code_of(int result, const git_error *last) {
        for (size_t i = 0; i < ARRAY_LEN(results); i++) {
                if (results[i].result == result)
                        return results[i].code;
        }
        for (size_t i = 0; last && i < ARRAY_LEN(classes); i++) {
                if (classes[i].result == last->klass)
                        return classes[i].code;
        }
        return ERR_INTERNAL;
}

/* libgit2 quotes what servers and files say: one line, printable. */
static void add_printable(struct buf *b, const char *text) {
        for (; *text && b->n < TEXT_BYTES; text++) {
                unsigned char c = (unsigned char)*text;

                if (c < 0x20 || c >= 0x7f)
                        buf_addf(b, "\\x%02x", c);
                else
                        buf_addch(b, (char)c);
        }
}

int(lib_fail)(struct err *err, int result, const char *what) {
        _cleanup_(buf_done) struct buf text = buf_make(4 * TEXT_BYTES);
        const git_error *last = git_error_last();
        enum err_code code = code_of(result, last);

        add_printable(&text, last && last->message ? last->message : "no reason given");
        if (strstr(text.p, "objectformat"))
                return err_set(err, ERR_UNSUPPORTED,
                               "%s: the repository uses SHA-256 object names, which libgit2 cannot read: only SHA-1 "
                               "repositories work", what);
        if (strstr(text.p, "No space left on device"))
                code = ERR_LIMIT;
        return err_set(err, code, "%s: %s", what, text.p);
}
