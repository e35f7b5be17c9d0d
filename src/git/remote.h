/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real Git repository as a struct git_source.
 *
 * http(s): refs are listed with protocol v2 `ls-refs` for just the names that matter (two small requests over one
 * connection; servers that speak only v0/v1 send their whole list). Objects are fetched by libgit2, incrementally, one
 * ref at a time, into a bare object store of one folder per URL and scope, over our own libcurl transport: every wait
 * has an end. file:// and plain paths (with allow_file) are read in place: nothing is copied.
 *
 * The store is shared: every source of one URL, scope and store_dir, also in other processes, uses the same folder; a
 * lock file lets one of them fetch at a time. A store with many packs or much garbage is fetched afresh beside the old
 * one, which stays readable as long as somebody has it open. A store that turned out damaged (list or read said
 * CORRUPT) is fetched afresh by the next fetch(), also of a commit that was fetched before. The folder may be deleted
 * at any time.
 *
 * Refused: ssh until it exists, servers of the "dumb" protocol, SHA-256 repositories (UNSUPPORTED); redirects that
 * leave the host or https (INVAL); credentials over plain http to another machine (INVAL).
 *
 * Not available in libgit2 1.5: shallow fetches. The whole history of a ref is fetched once.
 *
 * SIGPIPE must be ignored (loop_new() does it): libcurl is told to leave signals alone.
 *
 * Thread rule: as struct git_source. git_init_library() before the first git_remote_open(), before threads start.
 */
#ifndef TRUCE_GIT_REMOTE_H
#define TRUCE_GIT_REMOTE_H

#include "git/source.h"

#define GIT_CONNECT_TIMEOUT_MS 10000
#define GIT_STALL_TIMEOUT_MS 30000 /* no byte for so long is TIMEOUT, even before the deadline */
#define GIT_STORE_MAX_BYTES (UINT64_C(4) << 30)

/* Never printed. Basic authentication, or a bearer token; all empty: anonymous. Copied by git_remote_open(). */
struct git_credentials {
        struct str username;
        struct str password;
        struct str bearer_token; /* wins over username and password */
        /* A client certificate (others that led to it may follow) and its key, PEM, for https; both or none. */
        struct str certificate, key;
};

struct git_remote_options {
        struct str url;                     /* may hold user:password@, which then counts unless `credentials` is set */
        struct str store_dir;               /* absolute; made with mode 0700 when missing; unused for files */
        struct git_credentials credentials;
        struct str ca_file;                 /* PEM bundle; empty: the system's */
        struct str ca;                      /* the same as text: these authorities and no others; wins over ca_file */
        struct str scope;                   /* empty, or whose it is: others of that URL may not read what it fetches */
        struct str user_agent;              /* empty: "git/2.0 (truce/VERSION)": some hosts want "git/" in front */
        int64_t connect_timeout_ms;         /* 0: GIT_CONNECT_TIMEOUT_MS */
        int64_t stall_timeout_ms;           /* 0: GIT_STALL_TIMEOUT_MS; whole seconds */
        uint64_t max_store_bytes;           /* 0: GIT_STORE_MAX_BYTES; LIMIT beyond it */
        bool allow_file;                    /* file:// and plain paths */
        bool allow_plain_credentials;       /* send credentials over http:// to other machines */
        bool insecure_tls;                  /* do not check certificates: warn when you set it */
        bool no_proxy;                      /* whatever the environment says */
};

/*
 * Once per process, before threads: sets libgit2's caches, windows and checks, and empties its configuration search
 * paths, so that nobody's ~/.gitconfig has a say. Later calls do nothing. INTERNAL when a library does not start.
 */
int git_init_library(struct err *err);

/*
 * Makes a source; asks nothing of the network yet. INVAL or UNSUPPORTED for the URL; for files NOTFOUND when there is
 * no repository. Free with git_source_free() when no call on it is running.
 */
int git_remote_open(const struct git_remote_options *o, struct git_source **ret, struct err *err);

/*
 * The key under which applications share one source: the URL normalised, without credentials. Errors as
 * git_url_parse(). Lives in the arena.
 */
int git_remote_key(struct str url, struct arena *a, struct str *ret_key, struct err *err);

#endif
