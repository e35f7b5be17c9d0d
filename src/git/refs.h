/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a revision word means, given the refs of a repository. Pure: lists in, answer out.
 *
 * A word is, in this order: "" or "HEAD"; a full ref ("refs/heads/main"); 40 hex digits (a commit, always); a branch; a
 * tag; the short forms "heads/x" and "tags/x"; at least 7 hex digits of a commit. Branch beats tag of the same name, as
 * Argo CD does. Annotated tags stand for the commit they point to.
 *
 * A range of versions (git/semver.h) stands for the tag of the highest version in it, as in Argo CD: tags alone count, and
 * when none is in the range, a word that a ref may have for its name ("1.x") is that ref. Behind a prefix that ends in "/"
 * ("prod/v1.*") only tags with it count.
 *
 * Thread rule: plain data; strings are borrowed from the arena given.
 */
#ifndef TRUCE_GIT_REFS_H
#define TRUCE_GIT_REFS_H

#include "base/limits.h"
#include "git/source.h"

#define GIT_REVISION_MAX_BYTES 1024
#define GIT_SHORT_COMMIT_DIGITS 7

struct git_ref {
        struct str name;         /* "HEAD" or "refs/…" */
        struct git_id id;        /* what the ref holds: a commit or an annotated tag */
        struct git_id peeled;    /* the tagged object; zero when `id` is no annotated tag */
        struct str target;       /* the branch that a symbolic HEAD points to; empty otherwise */
};

struct git_ref_list {
        const struct git_ref *refs;
        size_t count;
};

enum git_word_kind {
        GIT_WORD_COMMIT, /* 40 hex digits */
        GIT_WORD_SHORT,  /* 7 to 39 hex digits: a branch or tag of that name comes first */
        GIT_WORD_RANGE,  /* of versions */
        GIT_WORD_NAME,   /* anything else */
};

/*
 * Checks a word before anything is asked. INVAL: too long, begins with "-", is no range and holds control characters,
 * blanks, "..", or what no ref name may hold (git-check-ref-format). `ret_id` is set for GIT_WORD_COMMIT only.
 */
int git_word_check(struct str word, enum git_word_kind *ret_kind, struct git_id *ret_id, struct err *err);

/*
 * The full names that a checked word may stand for, best first: what to ask a server for. Of a range, what they begin with.
 * Returns how many (at most GIT_WORD_MAX_NAMES).
 */
#define GIT_WORD_MAX_NAMES 4
size_t git_word_names(struct str word, struct arena *a, struct str ret_names[GIT_WORD_MAX_NAMES]);

/* The ref that a checked word names, or NULL. */
const struct git_ref *git_refs_find(struct git_ref_list list, struct str word, struct arena *a);

/* The commit a ref stands for. */
static inline struct git_id git_ref_commit(const struct git_ref *ref) {
        return git_id_is_zero(&ref->peeled) ? ref->id : ref->peeled;
}

/*
 * Looks for the one commit among the tips that begins with `hex`. 0 with *ret set; NOTFOUND; INVAL when there are
 * several (the message lists them).
 */
int git_refs_find_short(struct git_ref_list list, struct str hex, struct git_id *ret, struct err *err);

/*
 * NOTFOUND for a word that nothing matched; the message names the nearest branches and tags of a full list, for a range the
 * highest version there is.
 */
int git_refs_not_found(struct git_ref_list list, struct str word, struct err *err);

/* Parses hex digits (any case): false unless exactly GIT_OID_HEX_BYTES of them. */
bool git_id_from_hex(struct str hex, struct git_id *ret);

/* Does the id begin with these hex digits? */
bool git_id_has_prefix(const struct git_id *id, struct str hex);

#endif
