/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The desired objects of one application at one revision (a commit of each of its sources), in the form the loop thread keeps: one compact record each,
 * canonical text instead of trees. Made on a pool thread from a rendered and bound set.
 *
 * Invariants: immutable; records are sorted in apply order; ids are unique. Parked objects (kind not served) whose scope
 * is not known have no id; everything else has one.
 *
 * Thread rule: made on any thread, then readable from any; freed by its holder.
 */
#ifndef TRUCE_AGENT_DESIRED_H
#define TRUCE_AGENT_DESIRED_H

#include "base/map.h"
#include "git/source.h"
#include "kube/gvk.h"
#include "manifest/bind.h"

enum desired_state {
        DESIRED_OK,
        DESIRED_PARKED,  /* its kind is not served yet */
        DESIRED_REFUSED, /* wanted by Git, but not to be applied: see the render's problems */
        DESIRED_SKIPPED, /* skip-reconcile: wanted, never touched */
};

struct desired {
        struct str id;        /* "group/Kind/namespace/name"; empty: parked without a known scope */
        struct gvk gvk;
        struct str ns, name;
        struct str text;      /* canonical, as it is applied; empty when refused before binding */
        struct str file;
        uint32_t line;
        const struct value *source; /* as Git has it, with lines; NULL unless the set was made to keep them */
        int rank;             /* apply order */
        enum desired_state state;
        bool secret;
        bool kept;            /* protected from prune by its annotations */
        bool hook;            /* carries a hook annotation: its health is no matter */
        bool health_ignored;  /* its annotations say so, too */
        bool suspended_is_healthy; /* its annotations say so */
        bool along;           /* not from Git: what the application makes along with it, without marks, never pruned */
};

struct desired_set {
        const struct git_id *commits; /* one a source, in their order */
        size_t commit_count;
        struct str revision;  /* the same as text, see desired_revision_text() */
        struct desired *objects;
        size_t count;
        size_t from_git;      /* how many of them are */
        struct map *by_id;    /* id → struct desired */
        bool complete;        /* false: some document could not be read, nothing may be pruned */
        bool stands_in;       /* the newest commit is another one that cannot be read: nothing may be pruned */
        struct str empty_source; /* title of one of several sources that has no objects: nothing may be pruned; empty: none */
        struct manifest_problem *errors; /* the render's and the binding's, worst first; texts in the arena */
        size_t error_count;
        struct manifest_problem *warnings;
        size_t warning_count;
        struct arena *arena;
        bool keep_sources;
        struct manifest_set *kept_set;     /* what `source` points into; NULL: not kept */
        struct manifest_bound *kept_bound;
};

/*
 * Takes set and bound. With keep_sources they live as long as the result, for one-shot commands that show lines;
 * otherwise all that is needed is copied and they are freed.
 */
struct desired_set *desired_set_new(struct manifest_set *set, struct manifest_bound *bound, const struct git_id *commits,
                                    size_t commit_count, bool keep_sources);
void desired_set_free(struct desired_set *set);
DEFINE_CLEANUP(struct desired_set *, desired_set_free)

/*
 * A revision as inventories and logs have it: 40 hex digits a commit, with "+" between those of several sources. Reading is
 * false unless there are exactly `count`.
 */
struct str desired_revision_text(const struct git_id *commits, size_t count, struct arena *a);
bool desired_revision_read(struct str text, struct git_id *ret_commits, size_t count);

/* NULL: not desired. */
const struct desired *desired_find(const struct desired_set *set, struct str id);

/* "deploy/web" in people's words is the cli's business; this is "Deployment shop/web" with the group when it has one. */
struct str desired_title(const struct desired *d, struct arena *a);

#endif
