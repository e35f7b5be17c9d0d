/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions and ranges of versions, as an Application's targetRevision may name one: "1.2.*", ">=1.0.0 <2.0.0", "~1.2",
 * "^1 || 3.x", "1.0 - 1.4". What they mean is what Argo CD makes of them (Masterminds/semver v3):
 *
 *   1.2.3 v1.2.3     a version, and no range: it names a tag or branch; "=1.2.3" is a range with one version in it
 *   1 1.2 (with an operator), 1.x 1.2.* *   parts that are left out, or are x, X or *, are open
 *   = (none)         equal; with open parts, whatever they are
 *   !=               not equal; with open parts, none of those
 *   > >= < <=        by precedence; ">1.2" begins at 1.3.0, "<=1.2" ends before 1.3.0
 *   ~ ~>             the last part may grow: ~1.2.3 is >=1.2.3 <1.3.0, ~1 is 1.x; ~0.0.0 is all
 *   ^                the first part that is not 0 stays: ^1.2 is >=1.2.0 <2.0.0, ^0.2.3 is >=0.2.3 <0.3.0
 *   a - b            >=a <=b
 *   blank, comma     and
 *   ||               or
 *
 * A prerelease is in a range only where one of the terms that are joined by "and" names a prerelease ("*-0", ">=1.2.0-0"):
 * then by precedence, as any version. Build metadata ("+…") counts for nothing.
 *
 * Versions are read as people write tags: "v" in front or not, minor and patch may be missing, leading zeros do not
 * matter. Prerelease identifiers are semver.org's.
 *
 * Pure: one pass over the text, no memory but the caller's; prereleases are borrowed from the text.
 */
#ifndef TRUCE_GIT_SEMVER_H
#define TRUCE_GIT_SEMVER_H

#include "base/str.h"

#define SEMVER_MAX_TERMS 32 /* of one range */

struct semver {
        uint64_t major, minor, patch;
        struct str pre; /* "rc.1"; empty: a release */
};

enum semver_op { SEMVER_EQUAL, SEMVER_NOT, SEMVER_ABOVE, SEMVER_FROM, SEMVER_BELOW, SEMVER_TO, SEMVER_TILDE, SEMVER_CARET };

struct semver_term {
        enum semver_op op;
        struct semver version; /* open parts are 0 */
        unsigned parts;        /* how many are given, before the first open one: 0 to 3 */
        unsigned group;        /* terms of one group are joined by "and" */
};

struct semver_range {
        struct semver_term terms[SEMVER_MAX_TERMS];
        size_t count;
};

/* False for what is no version; numbers above 2^64-1 are none. */
bool semver_parse(struct str text, struct semver *ret);

/* Precedence (semver.org, 11): negative, 0 or positive. */
int semver_cmp(const struct semver *a, const struct semver *b);

/*
 * False for what is no range: text that cannot be read, more than SEMVER_MAX_TERMS terms, a plain version, and a lone "x",
 * which is a branch's name if anything.
 */
bool semver_range_parse(struct str text, struct semver_range *ret);

bool semver_range_has(const struct semver_range *range, const struct semver *version);

#endif
