/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two endpoints of Git's smart HTTP protocol (gitprotocol-http(5)): GET …/info/refs and POST …/git-upload-pack,
 * with the rules for redirects and credentials, and answers turned into errors a person can act on.
 *
 * Redirects: of the GET only, at most SMART_MAX_REDIRECTS, to the same host and port (or from http to https on their
 * usual ports), ending in the same "/info/refs?service=git-upload-pack"; the POST goes where the GET ended. Credentials
 * go to the scheme, host and port that the user wrote, and nowhere else. They are tried once.
 *
 * One struct smart serves one operation, on one thread.
 */
#ifndef TRUCE_GIT_SMART_H
#define TRUCE_GIT_SMART_H

#include "git/http.h"
#include "git/refs.h"

#define SMART_MAX_REDIRECTS 5

struct smart {
        const struct http_config *config;
        struct http_session *session; /* owned */
        struct arena *arena;          /* owned */
        struct git_url base;          /* where requests go: the URL, or where redirects led */
};

void smart_init(struct smart *s, const struct http_config *c, struct git_deadline d);
void smart_done(struct smart *s);

/*
 * GET info/refs; the whole body is appended to `body`. UNAUTH, FORBIDDEN, NOTFOUND, THROTTLED, UNREACHABLE, INTERNAL
 * after the status; INVAL for a redirect that is not followed; UNSUPPORTED for a dumb server; PARSE when a web page
 * answers; and the errors of http_send().
 */
int smart_get_refs(struct smart *s, bool v2, struct buf *body, struct err *err);

/* POST git-upload-pack; on 0 the answer is read with http_read(s->session). `body` must live until then. */
int smart_post(struct smart *s, bool v2, struct str body, struct err *err);

/*
 * The refs that begin with one of the prefixes (count ≤ 4, or 0 for all branches, tags and HEAD). With a v0 server
 * the list may hold more. Lives in `a`.
 */
int smart_list_refs(struct smart *s, const struct str *prefixes, size_t count, struct arena *a,
                    struct git_ref_list *ret, struct err *err);

#endif
