/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Git content may never touch: truce's own objects (design §9), and what an application's project forbids.
 *
 * Own objects are: the Namespace truce runs in, everything in it (unless it is shared, see `whole_namespace`), objects
 * named in `own`, and RoleBindings and ClusterRoleBindings that name a protected ServiceAccount as a subject, for whoever
 * can write those decides what truce may do.
 *
 * Thread rule: plain data, pure.
 */
#ifndef TRUCE_MANIFEST_PROTECT_H
#define TRUCE_MANIFEST_PROTECT_H

#include "manifest/object.h"

/* Globs (glob.h); an empty one matches anything, save that an empty `group` is the core group. */
struct manifest_rule {
        struct str group;
        struct str kind;
        struct str ns;
        struct str name;
};

struct manifest_rules {
        const struct manifest_rule *rules;
        size_t count;
};

/* Some kinds, as argocd-cm's resource.exclusions and .inclusions name them; of an empty list any is meant. */
struct manifest_kinds {
        const struct str *groups; /* globs */
        size_t group_count;
        const struct str *kinds;  /* names; "*" is any */
        size_t kind_count;
};

/* What truce keeps its hands off. An exclusion comes before an inclusion; with inclusions everything else is out. */
struct manifest_filter {
        const struct manifest_kinds *excluded;
        size_t excluded_count;
        const struct manifest_kinds *included;
        size_t included_count;
};

bool manifest_is_excluded(const struct manifest_filter *f, struct str group, struct str kind);

struct manifest_protection {
        struct str own_namespace;       /* empty: truce runs outside the cluster */
        bool whole_namespace;           /* nothing else lives there: every object in it is protected */
        struct manifest_rules own;      /* ClusterRoles and the like, by name */
        bool allow_own;                 /* Agent says that Git may manage truce itself */
        /* An AppProject's lists. For the allowing ones a NULL `rules` pointer allows all, a count of 0 nothing. */
        struct manifest_rules cluster_allow, cluster_deny;
        struct manifest_rules namespaced_allow, namespaced_deny;
        struct manifest_rules destinations; /* only `ns` counts; for namespaced objects */
        struct manifest_filter filter;
};

/* 0, or DENIED with the reason. The object must be bound. */
int manifest_check_protected(const struct manifest_object *o, const struct manifest_protection *p, struct err *err);

#endif
