/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of `truce sandbox`: the kubeconfig that it writes, the manifests and rules that it reads, its state's lock.
 *
 * Thread rule: loop thread only; reading manifests runs the loop while a CustomResourceDefinition becomes served.
 */
#ifndef TRUCE_CLI_SANDBOX_FILES_H
#define TRUCE_CLI_SANDBOX_FILES_H

#include "sandbox/http.h"

/* A secret for one user, in the arena. */
int sandbox_new_token(struct arena *a, struct str *ret_token, struct err *err);

/*
 * A kubeconfig for `server` with a context for each user, the first being current. Mode 0600, replaced whole. A file
 * that is there and was not written by this function is left alone: INVAL.
 */
int sandbox_write_kubeconfig(const char *path, struct str server, const struct sandbox_user *users, size_t count,
                             struct err *err);

/*
 * One process keeps a state: PATH.lock is locked as long as it runs, and goes with it (also at a sudden end: the lock is
 * the kernel's). CONFLICT when another one has it. Done takes one that was never taken.
 */
struct sandbox_lock {
        char *path; /* NULL: not taken */
        int fd;
};
int sandbox_lock_state(const char *path, struct sandbox_lock *ret, struct err *err);
void sandbox_lock_done(struct sandbox_lock *l);

/*
 * Adds the objects of a file, of standard input ("-"), or of all .yaml, .yml and .json files of a folder and those below: definitions first,
 * namespaces next, the rest in the order of the paths. Errors name the file and the object; CANCELLED when the loop was
 * stopped meanwhile.
 */
int sandbox_load_manifests(struct sandbox *s, struct str path, size_t *ret_count, struct err *err);

/*
 * Objects as they were on another cluster (sandbox_load_dump()), of all these files and folders at once; "-" is standard
 * input. What is to be told goes to standard error. INVAL when there is no object in them.
 */
int sandbox_load_dumps(struct sandbox *s, const struct str *paths, size_t path_count, size_t *ret_count, struct err *err);

/* Admission rules (sandbox_set_rules()). */
int sandbox_load_rules(struct sandbox *s, struct str path, struct err *err);

#endif
