/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a repository with a working tree and writes commits into it: for `truce demo`, where no git need be installed.
 * An agent only ever reads (git/source.h).
 *
 * The branch is main. What is committed is exactly the files given: each is written into the working tree and into the
 * index, so that whoever has a git at hand goes on from there. Who commits is in the repository's own configuration.
 *
 * Thread rule: one thread at a time for one repository. Blocks for some ms. git_init_library() before.
 */
#ifndef TRUCE_GIT_AUTHOR_H
#define TRUCE_GIT_AUTHOR_H

#include "git/source.h"

struct git_author_file {
        struct str path; /* from the root, without folders: "web.yaml" */
        struct str content;
};

/* An empty repository in a folder that is made for it (its parent must be there): an errno's code when it cannot be,
 * also because something is there. */
int git_author_init(const char *dir, struct err *err);

/*
 * Commits `files` over what is there: other files stay. INVAL for a path that has a folder in it, an errno's code when
 * a file cannot be written.
 */
int git_author_commit(const char *dir, const char *subject, const struct git_author_file *files, size_t count,
                      struct git_id *ret_commit, struct err *err);

#endif
