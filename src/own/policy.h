/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do about another owner of a path we want: take it, yield it, or leave it and report.
 *
 * First the manager is classified (a table of names: people's tools, client-side leftovers, controllers, other GitOps
 * tools …), then rules are tried in order; the first that matches decides and names itself: the application's, the
 * agent's, the built-in ones (take from kubectl, people and `before-first-apply`; yield what a scaler scales; report the
 * rest).
 *
 * A rule that names no owner (manager, class, subresource) but a path, and yields, leaves the path out of what is applied
 * whoever owns it, also when that is truce alone: then it is handed over (own/decide.h). Rules with an owner speak of
 * that owner's paths only.
 */
#ifndef TRUCE_OWN_POLICY_H
#define TRUCE_OWN_POLICY_H

#include "own/managed.h"
#include "own/path_read.h"
#include "own/scaler.h"

enum policy_class {
        POLICY_OURS,       /* truce */
        POLICY_KEEPER,     /* truce-keeper */
        POLICY_PERSON,     /* a person's editing tool: kubectl edit/patch/scale, k9s, a dashboard */
        POLICY_CLIENT,     /* client-side apply and its leftovers: kubectl-client-side-apply, kubectl-create */
        POLICY_NOBODY,     /* before-first-apply */
        POLICY_ANCIENT,    /* ancient-changes: several forgotten writers */
        POLICY_SCALER,     /* wrote /scale, or scales this object */
        POLICY_CONTROLLER, /* a controller of Kubernetes itself */
        POLICY_GITOPS,     /* another deployer: Argo CD, Flux, Helm */
        POLICY_UNKNOWN,
};

enum policy_action {
        POLICY_REPORT, /* not ours to touch: leave the path and say so */
        POLICY_TAKE,   /* Git wins: force */
        POLICY_YIELD,  /* leave the path to its owner; no drift */
};

/*
 * NULL and zero fields match everything. Names are exact, or end in one '*' for any rest. Plain data so that
 * configuration can make more of them.
 */
struct policy_rule {
        const char *name;              /* shown to people */
        const char *place;             /* "agent.yaml:12"; NULL: built in */
        const char *group;             /* "" is the core group */
        const char *kind, *ns, *object, *application;
        const char *manager;
        const char *subresource;       /* "" only the object itself, NULL any */
        unsigned classes;              /* bits 1u << enum policy_class; 0: any */
        unsigned scale;                /* bits 1u << enum scale_verdict of a replicas path; 0: any path */
        const struct field_path *path; /* a pattern: what it covers (own/path_read.h); NULL: any */
        bool leftover;                 /* only what is left of an earlier deployer */
        enum policy_action action;
};

struct policy {
        const struct policy_rule *rules; /* tried before the built-in ones; may be NULL */
        size_t count;
};

/* The object that is asked about, as rules select it. */
struct policy_object {
        struct str group, kind, ns, name;
        struct str application; /* whose desired object it is */
};

struct policy_question {
        const struct policy_object *object; /* NULL: not known; only rules that select none match */
        struct str manager;
        struct str subresource;
        enum managed_operation operation;
        struct field_path path;
        bool leftover;                   /* the entry is left of an earlier deployer: nobody writes it any more */
        bool is_replicas;                /* the path is the object's replicas path, or holds it */
        const struct scale_state *scale; /* of the object; NULL: not judged */
};

struct policy_answer {
        enum policy_action action;
        enum policy_class class;
        const char *rule;  /* never NULL */
        const char *place; /* of a configured rule; NULL: built in */
};

/* `kube-controller-manager` is a controller, and a scaler where it wrote /scale. */
enum policy_class policy_classify(struct str manager, enum managed_operation operation, struct str subresource);
/* Is it a person at a keyboard (for scale entries: a manual scale)? */
bool policy_is_person(struct str manager);

/* `p` may be NULL: built-in rules only. Always answers. */
struct policy_answer policy_decide(const struct policy *p, const struct policy_question *q);

/* Is the name what a rule says, which may end in one '*'? */
bool policy_name_fits(const char *pattern, struct str name);
/* Can it fit more than itself only as it is meant: has it no '*' but one at the end? */
bool policy_is_name_pattern(struct str text);
/* truce or its keeper: no configured rule with a manager is about these, for what they have is Git's. */
bool policy_is_own_name(struct str manager);
/* Does the rule speak of a path whoever owns it? */
bool policy_rule_is_ownerless(const struct policy_rule *r);
/* Does it select the object? */
bool policy_rule_selects(const struct policy_rule *r, const struct policy_object *object);

/* "person", "client", "nobody", "ancient", "scaler", "controller", "gitops", "unknown": false for another word. */
bool policy_class_from_word(struct str word, enum policy_class *ret_class);
/* The words above, for hints and documentation; and those of actions. NULL when `i` is past the last. */
const char *policy_class_word(size_t i);
bool policy_action_from_word(struct str word, enum policy_action *ret_action);

const char *policy_class_name(enum policy_class class);
const char *policy_action_name(enum policy_action action);

#endif
