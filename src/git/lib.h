/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgit2's house rules in one place: its errors as struct err, its ids as struct git_id, owned locals for its objects.
 * git_init_library() of remote.h lives here too.
 */
#ifndef TRUCE_GIT_LIB_H
#define TRUCE_GIT_LIB_H

#include <git2.h>

#include "base/macro.h"
#include "git/source.h"

/* Fills err from a libgit2 result (< 0) and the thread's last error, copied at once, with "what: " in front. */
int lib_fail(struct err *err, int result, const char *what);
#ifdef __clang_analyzer__
#define lib_fail(err, result, what) err_is((lib_fail)(err, result, what), ERR_CORRUPT) /* as err_set() */
#endif

static inline git_oid lib_oid(const struct git_id *id) {
        git_oid oid;

        memcpy(oid.id, id->bytes, GIT_OID_BYTES);
        return oid;
}

static inline struct git_id lib_id(const git_oid *oid) {
        struct git_id id;

        memcpy(id.bytes, oid->id, GIT_OID_BYTES);
        return id;
}

DEFINE_CLEANUP(git_repository *, git_repository_free)
DEFINE_CLEANUP(git_odb_object *, git_odb_object_free)
DEFINE_CLEANUP(git_object *, git_object_free)
DEFINE_CLEANUP(git_commit *, git_commit_free)
DEFINE_CLEANUP(git_tree *, git_tree_free)
DEFINE_CLEANUP(git_reference *, git_reference_free)
DEFINE_CLEANUP(git_reference_iterator *, git_reference_iterator_free)
DEFINE_CLEANUP(git_remote *, git_remote_free)

#endif
