/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgit2's smart transport on our own HTTP: plug fetch_link_transport() into git_remote_callbacks.transport, with a
 * struct fetch_link as its payload. libgit2 then pulls bytes through smart.h, with the deadline, the rules for
 * redirects and the credentials of there.
 *
 * libgit2 cannot carry our errors: what went wrong is kept in link->err, and the caller prefers it to libgit2's own
 * words. One struct fetch_link serves one git_remote on one thread, and must outlive it.
 */
#ifndef TRUCE_GIT_HTTP_SUBTRANSPORT_H
#define TRUCE_GIT_HTTP_SUBTRANSPORT_H

#include <git2.h>
#include <git2/sys/transport.h>

#include "git/smart.h"

struct fetch_link {
        struct smart smart;
        struct err err; /* code 0: nothing went wrong on our side */
};

void fetch_link_init(struct fetch_link *link, const struct http_config *c, struct git_deadline d);
void fetch_link_done(struct fetch_link *link);

int fetch_link_transport(git_transport **out, git_remote *owner, void *link);

#endif
